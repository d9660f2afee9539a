//! Hashes of nodes. A pass asks for each node that it makes whether it is there, mostly with a few small numbers; the hasher of
//! the standard library, which withstands who chooses keys, takes several times as long for these.

use std::hash::{BuildHasherDefault, Hasher};

/// What makes hashers of nodes.
pub(crate) type Mixed = BuildHasherDefault<Mixer>;

/// Exclusive or and a product whose halves are added for each number of 64 bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, value: u64) {
        // An odd number without a pattern: the fraction of the golden ratio.
        let product = u128::from(self.0.rotate_left(23) ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            self.mix(u64::from_le_bytes(whole));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_u128(&mut self, value: u128) {
        self.mix(value as u64);
        self.mix((value >> 64) as u64);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}
