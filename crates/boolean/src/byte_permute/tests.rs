use super::*;
use crate::bilinear::Modulus;
use crate::matrix::{AffineMap, BitVector};
use crate::random::Random;

/// SSSE3's `pshufb` in every lane, by its definition.
fn shuffle_in_lanes(bytes: &[u8], control: &[[u8; 16]]) -> Vec<u8> {
    let lane = |(lane, control): (usize, &[u8; 16])| {
        let from = &bytes[16 * lane..16 * lane + 16];
        control.map(|c| if c & 0x80 != 0 { 0 } else { from[usize::from(c & 15)] })
    };
    control.iter().enumerate().flat_map(lane).collect()
}

/// VBMI's `vpermi2b` with a zeroing mask, by its definition.
fn choose_from_two(low: &[u8; 64], high: &[u8; 64], control: &[u8; 64], mask: u64) -> [u8; 64] {
    std::array::from_fn(|i| {
        let from = if control[i] & 64 != 0 { high } else { low };
        if mask >> i & 1 != 0 { from[usize::from(control[i] & 63)] } else { 0 }
    })
}

fn random_bytes<const N: usize>(random: &mut Random) -> [u8; N] {
    std::array::from_fn(|_| random.next() as u8)
}

#[test]
fn controls_do_what_the_shuffle_does() {
    let mut random = Random::new(1);
    for _ in 0..200 {
        let bytes: [u8; 64] = random_bytes(&mut random);
        let within: Vec<Option<usize>> =
            (0..64).map(|i| (random.below(8) != 0).then(|| i / 16 * 16 + random.below(16))).collect();
        let across: Vec<Option<usize>> = (0..64).map(|_| (random.below(8) != 0).then(|| random.below(64))).collect();
        let (within, across) = (ByteShuffle::new(64, within).unwrap(), ByteShuffle::new(64, across).unwrap());
        assert_eq!(shuffle_in_lanes(&bytes, &within.in_lanes().unwrap()), within.apply(&bytes));
        assert_eq!(across.in_lanes(), None);
        for shuffle in [&within, &across] {
            let (control, mask) = shuffle.in_64().unwrap();
            assert_eq!(choose_from_two(&bytes, &[0; 64], &control, mask).to_vec(), shuffle.apply(&bytes));
            assert_eq!(ByteShuffle::of_matrix(&shuffle.matrix()).as_ref(), Some(shuffle));
        }
        let both = across.after(&within).unwrap();
        assert_eq!(both.apply(&bytes), across.apply(&within.apply(&bytes)));

        let two: [u8; 128] = random_bytes(&mut random);
        let wide = ByteShuffle::new(128, (0..50).map(|_| Some(random.below(128))).collect()).unwrap();
        let (control, mask) = wide.in_128().unwrap();
        let (low, high) = (two[..64].try_into().unwrap(), two[64..].try_into().unwrap());
        assert_eq!(choose_from_two(low, high, &control, mask)[..50], wide.apply(&two));
        assert_eq!(wide.in_64(), None);
    }
    assert_eq!(ByteShuffle::new(4, vec![Some(4)]), None);
    assert_eq!(ByteShuffle::of_matrix(&BitMatrix::rotation(32, 4)), None);
}

#[test]
fn shuffles_with_cheaper_names_are_named() {
    let shuffle = |from: &dyn Fn(usize) -> Option<usize>| ByteShuffle::new(16, (0..16).map(from).collect()).unwrap();
    // pshufd 0x39: words 1, 2, 3, 0.
    assert_eq!(shuffle(&|i| Some((i + 4) % 16)).as_word_shuffle(), Some(0x39));
    assert_eq!(shuffle(&|i| Some((i + 3) % 16)).as_word_shuffle(), None);
    assert_eq!(shuffle(&|i| i.checked_sub(3)).as_byte_shift(), Some(3));
    assert_eq!(shuffle(&|i| Some(i + 5).filter(|i| *i < 16)).as_byte_shift(), Some(-5));
    assert_eq!(shuffle(&|i| Some((i + 5) % 16)).as_byte_shift(), None);
}

#[test]
fn word_operations_are_recognised_on_the_smallest_words() {
    let mut operations = vec![WordOperation::Identity, WordOperation::ReverseBits { word_bits: 8 }];
    for word_bits in [16, 32, 64] {
        operations.push(WordOperation::SwapBytes { word_bits });
        operations.push(WordOperation::ReverseBits { word_bits });
        for amount in 1..word_bits {
            operations.push(WordOperation::RotateLeft { word_bits, amount });
            operations.push(WordOperation::ShiftLeft { word_bits, amount });
            operations.push(WordOperation::ShiftRight { word_bits, amount });
        }
    }
    for operation in operations {
        let found = WordOperation::of_matrix(&operation.matrix(128)).unwrap();
        assert_eq!(found.matrix(128), operation.matrix(128));
        // The bytes of 16 bits the other way round is a rotation too; everything else is only itself.
        if operation != (WordOperation::SwapBytes { word_bits: 16 }) {
            assert_eq!(found, operation);
        }
    }
    let rotate = |x: u128| {
        let words = [x as u32, (x >> 32) as u32, (x >> 64) as u32, (x >> 96) as u32];
        words.iter().rev().fold(0, |all, word| all << 32 | u128::from(word.rotate_left(7)))
    };
    assert_eq!(
        WordOperation::of_matrix(&BitMatrix::from_u128_map(128, 128, rotate)),
        Some(WordOperation::RotateLeft { word_bits: 32, amount: 7 })
    );
    let uneven = BitMatrix::block_diagonal(&[BitMatrix::rotation(32, 7), BitMatrix::rotation(32, 8)]);
    assert_eq!(WordOperation::of_matrix(&uneven), None);
    assert_eq!(WordOperation::of_matrix(&BitMatrix::zero(8, 16)), None);
}

#[test]
fn affine_constants_mean_what_the_instruction_says() {
    let mut random = Random::new(2);
    assert_eq!(AffineByte::of_matrix(&BitMatrix::identity(8)), Some(AffineByte::IDENTITY));
    for _ in 0..100 {
        let matrix = BitMatrix::from_fn(8, 8, |_, _| random.below(2) == 1);
        let constant = random.next() as u8;
        let map = AffineMap::new(matrix.clone(), BitVector::from_u128(8, u128::from(constant))).unwrap();
        let affine = AffineByte::of_map(&map).unwrap();
        assert_eq!(affine.map().unwrap(), map);
        let mut table: [u8; 256] = std::array::from_fn(|x| matrix.apply_u128(x as u128) as u8 ^ constant);
        for x in 0..=255_u8 {
            assert_eq!(affine.apply(x), table[usize::from(x)]);
        }
        assert_eq!(AffineByte::of_table(&table), Some(affine));
        let inverted = std::array::from_fn(|x| table[usize::from(inverse_in_field(x as u8))]);
        assert_eq!(AffineByte::of_table_of_inverses(&inverted), Some(affine));
        assert!((0..=255).all(|x| affine.apply_to_inverse(x) == inverted[usize::from(x)]));
        table[random.below(256)] ^= 1 << random.below(8);
        assert_eq!(AffineByte::of_table(&table), None);
    }
    assert_eq!(AffineByte::of_matrix(&BitMatrix::identity(4)), None);
    // FIPS 197's S-box: the inverse, each bit XORed with those 4, 5, 6 and 7 above it, and 0x63.
    let rotations = |y: u8| y ^ y.rotate_left(1) ^ y.rotate_left(2) ^ y.rotate_left(3) ^ y.rotate_left(4);
    let table = std::array::from_fn(|x| rotations(inverse_in_field(x as u8)) ^ 0x63);
    let affine = AffineByte::of_table_of_inverses(&table).unwrap();
    assert_eq!(affine, AffineByte { matrix: 0xf1e3_c78f_1f3e_7cf8, constant: 0x63 });
    assert_eq!((table[0], table[0x53]), (0x63, 0xed));
}

#[test]
fn multiplication_in_the_field_of_the_instruction_is_seen() {
    let field = Modulus::new(8, 0x1b).unwrap();
    let other = Modulus::new(8, 0x1d).unwrap();
    for constant in 0..=255_u8 {
        let by = |modulus: Modulus| BitMatrix::from_u128_map(8, 8, move |x| modulus.multiply(x, u128::from(constant)));
        assert_eq!(field_constant(&by(field)), Some(constant));
        assert_eq!(field_constant(&by(other)).is_some(), constant < 2);
        assert_eq!(
            field.multiply(u128::from(constant), u128::from(inverse_in_field(constant))),
            u128::from(constant != 0)
        );
    }
}

#[test]
fn any_map_of_bytes_has_a_program() {
    let mut random = Random::new(3);
    for (n_outputs, n_inputs) in [(1, 1), (4, 4), (16, 16), (4, 16), (16, 4), (3, 5)] {
        for one_in in [1, 3] {
            let blocks: Vec<BitMatrix> =
                (0..3).map(|_| BitMatrix::from_fn(8, 8, |_, _| random.below(2) == 1)).collect();
            let mut matrix = BitMatrix::zero(8 * n_outputs, 8 * n_inputs);
            for i in 0..n_outputs {
                for j in 0..n_inputs {
                    if random.below(one_in) == 0 {
                        matrix.place(8 * i, 8 * j, &blocks[random.below(3)]);
                    }
                }
            }
            let programs = byte_programs(&matrix, &BytePrices::default());
            assert!(!programs.is_empty());
            for program in programs {
                assert_eq!(program.matrix(), matrix);
            }
        }
    }
    let zero = byte_programs(&BitMatrix::zero(16, 8), &BytePrices::default());
    assert_eq!(zero[0].evaluate(&[7]), [0, 0]);
    let identity = byte_programs(&BitMatrix::identity(32), &BytePrices::default());
    assert!(identity[0].ops().is_empty());
    assert!(byte_programs(&BitMatrix::zero(12, 8), &BytePrices::default()).is_empty());
}

#[test]
fn a_column_map_takes_three_shuffles_and_one_affine_map() {
    let field = Modulus::new(8, 0x1b).unwrap();
    let by = |c: u128| BitMatrix::from_u128_map(8, 8, move |x| field.multiply(x, c));
    let mut column = BitMatrix::zero(32, 32);
    for i in 0..4 {
        for (j, c) in [2, 3, 1, 1].into_iter().enumerate() {
            column.place(8 * i, (i + j) % 4 * 8, &by(c));
        }
    }
    let four = BitMatrix::identity(4).expand(&column);
    let programs = byte_programs(&four, &BytePrices::default());
    let count = |kind: fn(&ByteOp) -> bool| programs[0].ops().iter().filter(|op| kind(op)).count();
    assert_eq!(count(|op| matches!(op, ByteOp::Shuffle(..))), 3);
    assert_eq!(count(|op| matches!(op, ByteOp::Affine(..))), 1);
    assert_eq!(count(|op| matches!(op, ByteOp::Xor(..))), 4);
    for op in programs[0].ops() {
        if let ByteOp::Shuffle(_, shuffle) = op {
            assert!(shuffle.in_lanes().is_some());
        }
    }
}
