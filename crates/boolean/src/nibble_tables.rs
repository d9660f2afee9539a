//! Vector-permute inversion. Permutations of bytes that are inversion in GF(2⁸) between affine maps, by tables of sixteen
//! elements, which shuffles of bytes look up without an address (Hamburg, «Accelerating AES with vector permute instructions»,
//! CHES 2009).
//!
//! Write F for GF(2⁴) inside GF(2⁸) and z = k + iβ with k, i in F, for a β with β + β¹⁶ = β¹⁷ = a. The norm of z is
//! N = k² + aik + ai², and its inverse is (k + ai)/N + (i/N)β. With j = i + k,
//!
//! ```text
//! u := 1/(1/i + a/k) + j = N/(k + ai)      w := 1/(1/j + a/k) + i = N/(k + aj)
//! ```
//!
//! so that 1/z is a sum of linear maps of 1/u and 1/w: tables of u and of w. Where something is divided by zero the
//! result is [`NONE`], whose inverse is 0, whatever is added to it; twice that is 0 again, as it must be.

use crate::affine_equivalence::Affine;
use crate::composite_field::{Field, inversion_between};
use crate::truth_table::Table;

/// What division by zero gives: shuffles give 0 for such an index.
pub const NONE: u8 = 0x80;

/// Sixteen elements.
pub type Nibbles = [u8; 16];

/// A table as tables of sixteen elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NibbleTables {
    /// What the low and the high four bits of the input add to k.
    pub k: [Nibbles; 2],
    /// The same for i.
    pub i: [Nibbles; 2],
    /// 1/x.
    pub inverse: Nibbles,
    /// a/x.
    pub quotient: Nibbles,
    /// What u and w add to the output.
    pub output: [Nibbles; 2],
    /// What else is added to the output.
    pub constant: u8,
}

impl NibbleTables {
    /// A table of 256 bytes; `None` where it is something else than inversion between affine maps.
    pub fn of(table: &Table) -> Option<NibbleTables> {
        let found = inversion_between(table)?;
        let tables = NibbleTables::between(&found.before, &found.after)?;
        (0..=255u8).all(|x| u64::from(tables.value(x)) == table.entries()[usize::from(x)]).then_some(tables)
    }

    fn between(before: &Affine, after: &Affine) -> Option<NibbleTables> {
        let f = Field::get();
        let beta = (2..=255u8).find(|&beta| {
            let conjugate = f.to_the(beta, 16);
            conjugate != beta && conjugate ^ beta == f.product(conjugate, beta)
        })?;
        let a = beta ^ f.to_the(beta, 16);
        // F by four bits: sums of four of its elements.
        let elements: Vec<u8> = (0..15).map(|e| f.small(e)).collect();
        let mut element = [0_u8; 16];
        for (bit, &one) in elements.iter().take(4).enumerate() {
            for at in 0..1 << bit {
                element[at | 1 << bit] = element[at] ^ one;
            }
        }
        let nibble = |x: u8| element.iter().position(|&other| other == x).map(|at| at as u8);
        let scale = f.inverse(a);
        let coordinates = |z: u8| {
            // z + z¹⁶ = ia.
            let i = f.product(z ^ f.to_the(z, 16), scale);
            (z ^ f.product(i, beta), i)
        };
        let mut tables = NibbleTables {
            k: [[0; 16]; 2],
            i: [[0; 16]; 2],
            inverse: [NONE; 16],
            quotient: [NONE; 16],
            output: [[0; 16]; 2],
            constant: after.constant as u8,
        };
        for at in 0..16_u8 {
            let place = usize::from(at);
            for (half, x) in [at, at << 4].into_iter().enumerate() {
                let z = before.apply(u64::from(x)) as u8;
                // The constant comes in once.
                let z = if half == 0 { z } else { z ^ before.constant as u8 };
                let (k, i) = coordinates(z);
                (tables.k[half][place], tables.i[half][place]) = (nibble(k)?, nibble(i)?);
            }
            let x = element[place];
            if x == 0 {
                continue;
            }
            let inverse = f.inverse(x);
            tables.inverse[place] = nibble(inverse)?;
            tables.quotient[place] = nibble(f.product(a, inverse))?;
            // k/N = (1/u + 1/w)/a and i/N = (1/u + k/N)/a.
            let both = f.product(inverse, scale);
            let of_u = inverse ^ f.product(beta, f.product(inverse ^ both, scale));
            let of_w = f.product(beta, f.product(both, scale));
            for (half, z) in [of_u, of_w].into_iter().enumerate() {
                tables.output[half][place] = after.apply(u64::from(z)) as u8 ^ after.constant as u8;
            }
        }
        Some(tables)
    }

    /// The value at x, as shuffles compute it.
    pub fn value(&self, x: u8) -> u8 {
        let both = |tables: &[Nibbles; 2]| tables[0][usize::from(x & 15)] ^ tables[1][usize::from(x >> 4)];
        let (k, i) = (both(&self.k), both(&self.i));
        let j = i ^ k;
        let quotient = shuffled(&self.quotient, k);
        let part = |x: u8, y: u8| shuffled(&self.inverse, shuffled(&self.inverse, x) ^ quotient) ^ y;
        let (u, w) = (part(i, j), part(j, i));
        shuffled(&self.output[0], u) ^ shuffled(&self.output[1], w) ^ self.constant
    }
}

/// An element as shuffles choose it: 0 where the index has its top bit set.
pub fn shuffled(table: &Nibbles, index: u8) -> u8 {
    if index & NONE != 0 { 0 } else { table[usize::from(index & 15)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    fn table(name: &str) -> &'static Table {
        &known::all().iter().find(|k| k.name == name).expect("a known function").table
    }

    #[test]
    fn inversions_between_affine_maps_are_tables_of_nibbles() {
        for name in ["gf256_inverse", "aes_s", "aes_s_inverse"] {
            let found = NibbleTables::of(table(name)).expect("tables of nibbles");
            assert!((0..=255u8).all(|x| u64::from(found.value(x)) == table(name).entries()[usize::from(x)]), "{name}");
        }
    }

    #[test]
    fn other_permutations_are_not() {
        assert!(NibbleTables::of(table("whirlpool_s")).is_none());
    }
}
