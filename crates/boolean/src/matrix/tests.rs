use super::*;
use crate::random::Random;

fn random(rng: &mut Random, n_rows: usize, n_columns: usize) -> BitMatrix {
    BitMatrix::from_fn(n_rows, n_columns, |_, _| rng.below(2) == 1)
}

fn random_vector(rng: &mut Random, n: usize) -> BitVector {
    BitVector::from_bits((0..n).map(|_| rng.below(2) == 1))
}

/// Sizes on both sides of the word boundaries.
const SIZES: [usize; 9] = [1, 2, 7, 8, 63, 64, 65, 128, 200];

#[test]
fn products_transposes_and_application_agree_with_their_definitions() {
    let mut rng = Random::new(1);
    for &rows in &SIZES {
        for &inner in &SIZES {
            let (a, b) = (random(&mut rng, rows, inner), random(&mut rng, inner, rows));
            let product = a.multiply(&b).unwrap();
            for i in 0..rows {
                for j in [0, rows / 2, rows - 1] {
                    let sum = (0..inner).filter(|&k| a.get(i, k) && b.get(k, j)).count() % 2 == 1;
                    assert_eq!(product.get(i, j), sum);
                }
            }
            assert_eq!(a.transpose(), BitMatrix::from_fn(inner, rows, |i, j| a.get(j, i)));
            let x = random_vector(&mut rng, rows);
            assert_eq!(a.apply(&b.apply(&x).unwrap()).unwrap(), product.apply(&x).unwrap());
            assert_eq!(a.block(0, 0, rows, inner), a);
        }
    }
    assert!(BitMatrix::identity(3).multiply(&BitMatrix::identity(4)).is_err());
}

#[test]
fn blocks_can_be_cut_and_placed_at_any_bit() {
    let mut rng = Random::new(2);
    let m = random(&mut rng, 150, 190);
    for (top, left, rows, columns) in [(0, 0, 150, 190), (3, 61, 70, 129), (149, 189, 1, 1), (100, 64, 90, 126)] {
        let cut = m.block(top, left, rows, columns);
        assert_eq!(cut, BitMatrix::from_fn(rows, columns, |i, j| m.get(top + i, left + j)));
        let mut target = BitMatrix::zero(150, 190);
        target.place(top, left, &cut);
        let inside = |i: usize, j: usize| i >= top && i < top + rows && j >= left && j < left + columns;
        assert_eq!(target, BitMatrix::from_fn(150, 190, |i, j| inside(i, j) && m.get(i, j)));
    }
}

#[test]
fn inverses_ranks_kernels_and_solutions_fit_together() {
    let mut rng = Random::new(3);
    let mut n_inverted = 0;
    for &n in &SIZES {
        for _ in 0..8 {
            let a = random(&mut rng, n, n);
            let kernel = a.kernel();
            assert_eq!(a.rank() + kernel.len(), n);
            assert_eq!(a.rank(), a.transpose().rank());
            assert!(kernel.iter().all(|v| a.apply(v).unwrap().is_zero() && !v.is_zero()));
            match a.inverse() {
                Some(inverse) => {
                    n_inverted += 1;
                    assert_eq!(a.rank(), n);
                    assert!(a.multiply(&inverse).unwrap().is_identity());
                }
                None => assert!(a.rank() < n),
            }
            let echelon = a.echelon();
            assert_eq!(echelon.transform.multiply(&a).unwrap(), echelon.reduced);
            assert!(echelon.transform.inverse().is_some());
            let wide = random(&mut rng, n, n + 3);
            let x = random_vector(&mut rng, n + 3);
            let b = wide.apply(&x).unwrap();
            assert_eq!(wide.apply(&wide.solve(&b).unwrap()).unwrap(), b);
        }
    }
    assert!(n_inverted > 10);
    let m = BitMatrix::from_u128_rows(2, &[0b01, 0b01]);
    assert_eq!(m.solve(&BitVector::from_u128(2, 0b01)), None);
}

#[test]
fn a_matrix_of_2048_bits_is_inverted_and_multiplied() {
    let mut rng = Random::new(4);
    let n = 2048;
    // Lower and upper triangles with ones in the diagonal always have inverses.
    let lower = BitMatrix::from_fn(n, n, |i, j| i == j || (i > j && rng.below(2) == 1));
    let upper = BitMatrix::from_fn(n, n, |i, j| i == j || (i < j && rng.below(2) == 1));
    let m = lower.multiply(&upper).unwrap();
    assert!(m.multiply(&m.inverse().unwrap()).unwrap().is_identity());
}

#[test]
fn structure_is_found_where_it_is_and_only_there() {
    let mut rng = Random::new(5);
    let rotation = BitMatrix::rotation(32, 8);
    assert_eq!(rotation.apply_u128(0x8000_00ff), 0x0000_ff80);
    assert_eq!(rotation.as_words(8).unwrap().as_permutation().unwrap(), [3, 0, 1, 2]);
    assert_eq!(rotation.word_bits(), 8);
    assert_eq!(BitMatrix::rotation(32, 4).word_bits(), 4);
    assert!(BitMatrix::rotation(32, 4).as_words(8).is_none());
    assert!(rotation.is_circulant());
    assert_eq!(rotation.power(4).unwrap(), BitMatrix::identity(32));

    let shift = BitMatrix::from_u128_map(8, 8, |x| x << 1);
    assert_eq!(shift.as_selection().unwrap()[..3], [None, Some(0), Some(1)]);
    assert!(shift.as_permutation().is_none());
    assert!(BitMatrix::from_u128_rows(2, &[1, 1]).as_permutation().is_none());

    let block = BitMatrix::from_u128_rows(3, &[0b011, 0b110, 0b111]);
    let four = BitMatrix::identity(4).expand(&block);
    assert_eq!(four.repeated_block().unwrap(), block);
    let mut spoilt = four.clone();
    spoilt.set(0, 11, true);
    assert_eq!(spoilt.repeated_block().unwrap(), spoilt);
    assert!(spoilt.as_block_diagonal(3).is_none());
    let mut unequal = four;
    unequal.set(0, 0, false);
    assert_eq!(unequal.as_block_diagonal(3).unwrap().len(), 4);
    assert_eq!(unequal.repeated_block().unwrap(), unequal);

    let first: Vec<BitMatrix> = (0..4).map(|_| random(&mut rng, 8, 8)).collect();
    let mut circulant = BitMatrix::zero(32, 32);
    for i in 0..4 {
        for (j, block) in first.iter().enumerate() {
            circulant.place(8 * i, (i + j) % 4 * 8, block);
        }
    }
    assert_eq!(circulant.as_block_circulant(8).unwrap(), first);
    circulant.set(31, 0, !circulant.get(31, 0));
    assert!(circulant.as_block_circulant(8).is_none());
}

#[test]
fn affine_maps_compose_and_invert() {
    let mut rng = Random::new(6);
    let lower = BitMatrix::from_fn(70, 70, |i, j| i == j || (i > j && rng.below(2) == 1));
    let a = AffineMap::new(lower, random_vector(&mut rng, 70)).unwrap();
    let b = AffineMap::new(random(&mut rng, 33, 70), random_vector(&mut rng, 33)).unwrap();
    let x = random_vector(&mut rng, 70);
    assert_eq!(b.after(&a).unwrap().apply(&x).unwrap(), b.apply(&a.apply(&x).unwrap()).unwrap());
    assert_eq!(a.inverse().unwrap().after(&a).unwrap(), AffineMap::identity(70));
    assert_eq!(AffineMap::from_map(70, 33, |x| b.apply(x).unwrap()), b);
    assert!(AffineMap::new(BitMatrix::identity(3), BitVector::zero(4)).is_err());
}
