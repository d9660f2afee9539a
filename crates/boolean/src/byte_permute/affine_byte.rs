//! The affine map of each byte, as x86's GFNI instructions take it.
//!
//! Intel's manual defines `gf2p8affineqb` for every byte `x` of the first operand, with the matching 64 bits `A` of the second
//! and the immediate `b`: bit `i` of the result is the parity of `A.byte[7-i] & x`, XORed with bit `i` of `b`. So row 0 of
//! the matrix, which makes the lowest bit, stands in the *highest* byte of `A`. The identity is 0x0102040810204080.
//!
//! `gf2p8affineinvqb` takes the inverse of `x` first, in the field of X^8 + X^4 + X^3 + X + 1, where zero stays zero.

use crate::bilinear::{BitOrder, Modulus, constant_of};
use crate::matrix::{AffineMap, BitMatrix, BitVector};

/// The low part of the polynomial that GFNI's multiplication and inversion are defined with.
const FIELD: u8 = 0x1b;

/// An affine map of a byte, in the instruction's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AffineByte {
    /// The matrix: row `i` in byte `7 - i`.
    pub matrix: u64,
    /// The immediate.
    pub constant: u8,
}

impl AffineByte {
    /// The map that changes nothing.
    pub const IDENTITY: AffineByte = AffineByte { matrix: 0x0102_0408_1020_4080, constant: 0 };

    /// The encoding of an 8 × 8 matrix without a constant. None when it has another size.
    pub fn of_matrix(matrix: &BitMatrix) -> Option<AffineByte> {
        if (matrix.n_rows(), matrix.n_columns()) != (8, 8) {
            return None;
        }
        let row = |i: usize| matrix.row(i).to_u128() as u64;
        Some(AffineByte { matrix: (0..8).fold(0, |all, i| all | row(i) << (8 * (7 - i))), constant: 0 })
    }

    /// The encoding of an affine map of 8 bits to 8.
    pub fn of_map(map: &AffineMap) -> Option<AffineByte> {
        let constant = map.constant().to_u128() as u8;
        AffineByte::of_matrix(map.matrix()).map(|affine| AffineByte { constant, ..affine })
    }

    /// The encoding of a table of 256 bytes that is affine. All entries are compared.
    pub fn of_table(table: &[u8; 256]) -> Option<AffineByte> {
        let constant = table[0];
        let matrix = BitMatrix::from_u128_map(8, 8, |x| u128::from(table[x as usize & 255] ^ constant));
        let affine = AffineByte { constant, ..AffineByte::of_matrix(&matrix)? };
        (0..=255).all(|x: u8| affine.apply(x) == table[usize::from(x)]).then_some(affine)
    }

    /// The encoding for the instruction that inverts first, of a table of 256 bytes that is an affine map of the inverse. All
    /// entries are compared.
    pub fn of_table_of_inverses(table: &[u8; 256]) -> Option<AffineByte> {
        let mut inner = [0; 256];
        for x in 0..=255_u8 {
            inner[usize::from(inverse_in_field(x))] = table[usize::from(x)];
        }
        AffineByte::of_table(&inner)
    }

    /// The map that it encodes.
    pub fn map(&self) -> Option<AffineMap> {
        let rows: Vec<u128> = (0..8).map(|i| u128::from(self.matrix >> (8 * (7 - i)) & 255)).collect();
        let constant = BitVector::from_u128(8, u128::from(self.constant));
        AffineMap::new(BitMatrix::from_u128_rows(8, &rows), constant).ok()
    }

    /// What `gf2p8affineqb` makes of a byte, by the instruction's definition.
    pub fn apply(&self, x: u8) -> u8 {
        let bit = |i: u32| ((self.matrix >> (8 * (7 - i))) as u8 & x).count_ones() as u8 & 1;
        (0..8).fold(self.constant, |result, i| result ^ bit(i) << i)
    }

    /// What `gf2p8affineinvqb` makes of a byte, by the instruction's definition.
    pub fn apply_to_inverse(&self, x: u8) -> u8 {
        self.apply(inverse_in_field(x))
    }
}

/// The inverse in GFNI's field, and zero for zero: the power 254.
pub fn inverse_in_field(x: u8) -> u8 {
    let Some(field) = Modulus::new(8, u128::from(FIELD)) else { return 0 };
    let x = u128::from(x);
    let mut power = 1;
    for bit in (0..8).rev() {
        power = field.multiply(power, power);
        if 254 >> bit & 1 != 0 {
            power = field.multiply(power, x);
        }
    }
    power as u8
}

/// The constant that an 8 × 8 matrix multiplies by in GFNI's field (`gf2p8mulb`), when it does.
pub fn field_constant(matrix: &BitMatrix) -> Option<u8> {
    let field = Modulus::new(8, u128::from(FIELD))?;
    constant_of(matrix, &field, BitOrder::Identity, BitOrder::Identity).map(|constant| constant as u8)
}
