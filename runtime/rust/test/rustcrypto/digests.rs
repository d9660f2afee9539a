//! Known answers through the traits of hashes, by functions that know nothing but these.

use crate::Answer;
use digest::{Digest, FixedOutputReset, Reset};

const INPUT: usize = 7;
const OUTPUT: usize = 10;

/// Calls a function with pieces of 0, 1, 2, … bytes.
fn pieces(mut rest: &[u8], mut update: impl FnMut(&[u8])) {
    let mut piece = 0;
    while !rest.is_empty() {
        let (now, more) = rest.split_at(rest.len().min(piece));
        update(now);
        rest = more;
        piece += 1;
    }
}

pub fn digests<D: Digest + FixedOutputReset + Reset + Clone>(answers: &[Answer]) {
    for answer in answers.iter().filter(|answer| !answer.refused) {
        let (input, wanted) = (answer.get(INPUT), answer.get(OUTPUT));
        assert_eq!(D::digest(input)[..], *wanted, "whole");
        let mut hasher = D::new_with_prefix("not this");
        Digest::reset(&mut hasher);
        pieces(input, |piece| Digest::update(&mut hasher, piece));
        let copy = hasher.clone();
        assert_eq!(hasher.finalize_reset()[..], *wanted, "in pieces");
        Digest::update(&mut hasher, input);
        assert_eq!(hasher.finalize()[..], *wanted, "again");
        assert_eq!(copy.finalize()[..], *wanted, "a copy");
    }
}
