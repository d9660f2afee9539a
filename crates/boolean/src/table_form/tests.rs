use super::*;
use crate::random::Random;

/// The product in the field of X^8 + X^4 + X^3 + X + 1.
fn times(a: u8, b: u8) -> u8 {
    (0..8)
        .fold((0, a), |(sum, a), i| {
            (if b >> i & 1 != 0 { sum ^ a } else { sum }, a << 1 ^ if a & 0x80 != 0 { 0x1b } else { 0 })
        })
        .0
}

/// FIPS 197, section 5.1.1: the inverse in the field and an affine map.
fn substitution_box() -> Vec<u8> {
    let inverse = |x: u8| (0..=255).find(|&y| times(x, y) == 1).unwrap_or(0);
    (0..=255)
        .map(|x| {
            let y = inverse(x);
            y ^ y.rotate_left(1) ^ y.rotate_left(2) ^ y.rotate_left(3) ^ y.rotate_left(4) ^ 0x63
        })
        .collect()
}

/// The four tables of 32-bit entries that have the column map merged in.
fn merged_boxes() -> Vec<Vec<u128>> {
    (0..4)
        .map(|i| {
            let column = |s: &u8| u32::from_le_bytes([times(*s, 2), *s, *s, times(*s, 3)]).rotate_left(8 * i);
            substitution_box().iter().map(|s| u128::from(column(s))).collect()
        })
        .collect()
}

fn plain_box() -> TableForm {
    let entries: Vec<u128> = substitution_box().iter().map(|&s| u128::from(s)).collect();
    TableForm::of_entries(8, 8, &entries).unwrap()
}

fn random_entries(random: &mut Random, n_inputs: usize, n_outputs: usize) -> Vec<u128> {
    let mask = if n_outputs == 128 { u128::MAX } else { (1 << n_outputs) - 1 };
    (0..1 << n_inputs).map(|_| (u128::from(random.next()) << 64 | u128::from(random.next())) & mask).collect()
}

#[test]
fn every_entry_of_every_table_comes_back() {
    let mut random = Random::new(1);
    for (n_inputs, n_outputs) in [(0, 3), (1, 1), (2, 5), (4, 4), (5, 70), (6, 4), (8, 8), (8, 128), (10, 12)] {
        let entries = random_entries(&mut random, n_inputs, n_outputs);
        let form = TableForm::of_entries(n_inputs, n_outputs, &entries).unwrap();
        for (x, entry) in entries.iter().enumerate() {
            assert_eq!(form.at(x).to_u128(), *entry);
        }
        assert!(form.nonlinear().n_functions() <= n_outputs.min((1_usize << n_inputs) - n_inputs - 1));
        assert_eq!(form.output().rank(), form.nonlinear().n_functions());
        assert!(form.nonlinear().functions().iter().all(|f| {
            let terms = normal_form(f);
            terms.ones().all(|monomial| monomial.count_ones() > 1)
        }));
    }
    assert_eq!(TableForm::of_entries(2, 1, &[0, 1]), Err(FormError::Length { expected: 4, found: 2 }));
    assert_eq!(TableForm::of_entries(17, 1, &[]), Err(FormError::TooManyInputs(17)));
}

#[test]
fn the_nonlinear_part_does_not_see_affine_maps_behind_or_beside_the_table() {
    let mut random = Random::new(2);
    for _ in 0..50 {
        let (n, m) = (2 + random.below(6), 1 + random.below(8));
        let entries = random_entries(&mut random, n, m);
        let form = TableForm::of_entries(n, m, &entries).unwrap();
        let invertible = loop {
            let matrix = BitMatrix::from_fn(m, m, |_, _| random.below(2) == 1);
            if matrix.rank() == m {
                break matrix;
            }
        };
        let beside = BitMatrix::from_fn(m, n, |_, _| random.below(2) == 1);
        let constant = u128::from(random.next()) & ((1 << m) - 1);
        let changed: Vec<u128> = entries
            .iter()
            .enumerate()
            .map(|(x, &e)| invertible.apply_u128(e) ^ beside.apply_u128(x as u128) ^ constant)
            .collect();
        let changed = TableForm::of_entries(n, m, &changed).unwrap();
        assert_eq!(changed.nonlinear(), form.nonlinear());
        assert_eq!(changed.support(), form.support());
        let through = changed.through(&form).unwrap();
        for (x, &entry) in entries.iter().enumerate() {
            let again =
                through.output.apply_u128(entry) ^ through.linear.apply_u128(x as u128) ^ through.constant.to_u128();
            assert_eq!(changed.at(x).to_u128(), again);
        }
    }
}

#[test]
fn tables_that_happen_to_be_affine_are_seen() {
    let mut random = Random::new(3);
    let matrix = BitMatrix::from_fn(20, 8, |_, _| random.below(2) == 1);
    let entries: Vec<u128> = (0..256).map(|x| matrix.apply_u128(x) ^ 0x5a5a5).collect();
    let form = TableForm::of_entries(8, 20, &entries).unwrap();
    let affine = form.as_affine().unwrap();
    assert_eq!(*affine.matrix(), matrix);
    assert_eq!(affine.constant().to_u128(), 0x5a5a5);
    let mut spoilt = entries;
    spoilt[77] ^= 1;
    let form = TableForm::of_entries(8, 20, &spoilt).unwrap();
    assert!(form.as_affine().is_none());
    assert_eq!(form.nonlinear().n_functions(), 1);
    // A table of a bit permutation.
    let reversed: Vec<u128> = (0..256_u32).map(|x| u128::from((x as u8).reverse_bits())).collect();
    let affine = TableForm::of_entries(8, 8, &reversed).unwrap().as_affine().unwrap();
    assert_eq!(affine.matrix().as_permutation().unwrap(), [7, 6, 5, 4, 3, 2, 1, 0]);
}

#[test]
fn idle_inputs_do_not_matter() {
    let mut random = Random::new(4);
    let small = random_entries(&mut random, 4, 4);
    let pick = |x: usize| x >> 1 & 1 | (x >> 2 & 1) << 1 | (x >> 5 & 1) << 2 | (x >> 6 & 1) << 3;
    let wide: Vec<u128> = (0..256).map(|x| small[pick(x)] ^ (x as u128 >> 3 & 1)).collect();
    let (small, wide) = (TableForm::of_entries(4, 4, &small).unwrap(), TableForm::of_entries(8, 4, &wide).unwrap());
    assert_eq!(small.nonlinear(), wide.nonlinear());
    assert_eq!(wide.support(), [1, 2, 5, 6]);
    assert_eq!(wide.used_inputs(), [1, 2, 3, 5, 6]);
    let through = wide.through(&small).unwrap();
    for x in 0..256 {
        let again = through.output.apply(&small.at(pick(x))).unwrap();
        let input = BitVector::from_u128(8, x as u128);
        assert_eq!(wide.at(x), again.xor(&through.linear.apply(&input).unwrap()).xor(&through.constant));
    }
}

#[test]
fn merged_tables_have_the_nonlinear_part_of_their_box_and_lead_back_to_it() {
    let plain = plain_box();
    assert_eq!(plain.nonlinear().n_functions(), 8);
    assert_eq!(plain.nonlinear().degree(), 7);
    let forms: Vec<TableForm> =
        merged_boxes().iter().map(|entries| TableForm::of_entries(8, 32, entries).unwrap()).collect();
    let by = |c: u8| BitMatrix::from_u128_map(8, 8, |x| u128::from(times(x as u8, c)));
    for (i, form) in forms.iter().enumerate() {
        assert_eq!(form.nonlinear(), plain.nonlinear());
        let through = form.through(&plain).unwrap();
        assert!(through.linear.is_zero() && through.constant.is_zero());
        for (byte, c) in [2, 1, 1, 3].into_iter().enumerate() {
            assert_eq!(through.output.block((byte + i) % 4 * 8, 0, 8, 8), by(c));
        }
        // The other way round too: the box from one of its tables.
        assert!(plain.through(form).is_some());
    }
    let mut all: Vec<&TableForm> = forms.iter().collect();
    all.push(&plain);
    let joined = TableForm::join(&all).unwrap();
    assert_eq!(joined.nonlinear(), plain.nonlinear());
    assert_eq!(joined.n_outputs(), 136);
    for x in 0..256 {
        assert_eq!(joined.at(x).slice(128, 8), plain.at(x));
        assert_eq!(joined.at(x).slice(32, 32), forms[1].at(x));
    }
    // A table of something else does not lead to it.
    let entries: Vec<u128> =
        (0..256_u32).map(|x| u128::from(times(x as u8, x as u8) & (x as u8).rotate_left(3))).collect();
    let other = TableForm::of_entries(8, 8, &entries).unwrap();
    assert!(other.through(&plain).is_none());
}

/// Four boxes and the column map behind them.
fn column_layer() -> SubstitutionLayer {
    let entries: Vec<u64> = substitution_box().iter().map(|&s| u64::from(s)).collect();
    let table = Table::new(8, 8, &entries).unwrap();
    let by = |c: u8| BitMatrix::from_u128_map(8, 8, |x| u128::from(times(x as u8, c)));
    let mut layer = BitMatrix::zero(32, 32);
    for row in 0..4 {
        for (i, c) in [2, 3, 1, 1].into_iter().enumerate() {
            layer.place(8 * row, (row + i) % 4 * 8, &by(c));
        }
    }
    SubstitutionLayer::new(vec![table], vec![0; 4], layer).unwrap()
}

#[test]
fn merging_makes_the_tables_that_people_write() {
    let layer = column_layer();
    let merged = layer.merge(32, 1, 0).unwrap();
    assert_eq!(merged.cost(), MergeCost { n_lookups: 4, n_xors: 3, n_rotations: 0, table_bytes: 4096 });
    for (table, expected) in merged.tables.iter().zip(merged_boxes()) {
        assert!(table.entries().iter().zip(&expected).all(|(a, b)| u128::from(*a) == *b));
    }
    let one_table = layer.merge(32, 1, 8).unwrap();
    assert_eq!(one_table.cost(), MergeCost { n_lookups: 4, n_xors: 3, n_rotations: 3, table_bytes: 1024 });
    let bytes = layer.merge(8, 1, 0).unwrap();
    assert_eq!(bytes.cost(), MergeCost { n_lookups: 16, n_xors: 12, n_rotations: 0, table_bytes: 768 });
    assert!(layer.merge(32, 2, 0).is_none(), "an index of 16 bits is too wide");
    assert!(layer.merge(24, 1, 0).is_none());
    let prices = Prices { lookup: 1.0, xor: 0.5, rotation: 0.5, cache_bytes: 1 << 15, miss: 10.0 };
    assert_eq!(layer.plans(&prices)[0], merged);
    let small_cache = Prices { cache_bytes: 1024, ..prices };
    assert_eq!(layer.plans(&small_cache)[0], one_table);
}

#[test]
fn every_plan_computes_the_layer() {
    let mut random = Random::new(5);
    let four = |random: &mut Random| {
        let entries: Vec<u64> = (0..16).map(|_| random.next() & 15).collect();
        Table::new(4, 4, &entries).unwrap()
    };
    let tables = vec![four(&mut random), four(&mut random)];
    let layer = BitMatrix::from_fn(64, 64, |_, _| random.below(4) == 0);
    let nibbles = SubstitutionLayer::new(tables, (0..16).map(|i| i % 2).collect(), layer).unwrap();
    let prices = Prices { lookup: 1.0, xor: 0.5, rotation: 0.5, cache_bytes: 1 << 15, miss: 10.0 };
    for (layer, n_bits) in [(nibbles, 4), (column_layer(), 8)] {
        let plans = layer.plans(&prices);
        assert!(plans.len() >= 4);
        for _ in 0..50 {
            let inputs: Vec<usize> = (0..layer.n_positions()).map(|_| random.below(1 << n_bits)).collect();
            let expected = layer.at(&inputs);
            for plan in &plans {
                let join = |group: &[usize]| group.iter().rev().fold(0, |index, x| index << n_bits | x);
                let indices: Vec<usize> = inputs.chunks(plan.group_size).map(join).collect();
                for (w, word) in plan.at(&indices).into_iter().enumerate() {
                    let part = expected.slice(w * plan.word_bits, plan.word_bits);
                    assert_eq!(u128::from(word), part.to_u128());
                }
            }
        }
    }
    assert!(SubstitutionLayer::new(Vec::new(), vec![0], BitMatrix::zero(1, 1)).is_none());
}
