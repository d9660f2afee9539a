//! A small pseudo-random generator whose sequence is part of a failure's address: the same seed must give the
//! same program on every machine and with every version of every dependency, so it is written out here.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Starts the sequence that belongs to `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `0 .. n`; 0 when `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        (self.bits() % n as u64) as usize
    }

    /// A number in `lo ..= hi`; `lo` when the interval is empty.
    pub fn range(&mut self, lo: i64, hi: i64) -> i64 {
        if hi <= lo {
            return lo;
        }
        let span = hi.wrapping_sub(lo) as u64;
        let step = if span == u64::MAX { self.bits() } else { self.bits() % (span + 1) };
        lo.wrapping_add(step as i64)
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of the items; `None` of an empty slice.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// An index, drawn in proportion to the weights.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u64 = weights.iter().map(|w| u64::from(*w)).sum();
        if total == 0 {
            return 0;
        }
        let mut at = self.bits() % total;
        for (i, w) in weights.iter().enumerate() {
            let w = u64::from(*w);
            if at < w {
                return i;
            }
            at -= w;
        }
        0
    }

    /// Puts items into any order (Fisher and Yates's way).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// An independent sequence, so that adding a draw in one part leaves the other parts' programs alone.
    pub fn fork(&mut self) -> Self {
        Self { state: self.bits() }
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let mut r = Rng::new(1);
        assert_eq!([r.bits(), r.bits()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
    }

    #[test]
    fn draws_stay_inside_their_bounds() {
        let mut r = Rng::new(7);
        for _ in 0..1000 {
            assert!(r.below(3) < 3);
            assert!((-2..=5).contains(&r.range(-2, 5)));
            assert_eq!(r.weighted(&[0, 4, 0]), 1);
        }
        assert_eq!(r.range(i64::MIN, i64::MIN), i64::MIN);
    }
}
