//! Known answers through the traits of message authentication codes, by functions that know nothing but these.

#![allow(dead_code, reason = "not every type takes several messages")]

use crate::Answer;
use digest::{FixedOutputReset, Mac, Reset};

const INPUT: usize = 7;
const TAG: usize = 11;

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

/// Those that `new` gives nothing for have what traits cannot say.
pub fn authenticates<M: Mac>(answers: &[Answer], new: impl Fn(&Answer) -> Option<M>) {
    for answer in answers.iter().filter(|answer| !answer.refused) {
        let Some(mut mac) = new(answer) else { continue };
        let (input, wanted) = (answer.get(INPUT), answer.get(TAG));
        pieces(input, |piece| mac.update(piece));
        let tag = mac.finalize().into_bytes();
        assert_eq!(tag[..wanted.len()], *wanted);
        let again = || new(answer).unwrap().chain_update(input);
        again().verify_slice(&tag).expect("it is authentic");
        again().verify_truncated_left(wanted).expect("so is its beginning");
        let mut forged = tag.clone();
        forged[0] ^= 1;
        again().verify(&forged).expect_err("it is forged");
    }
}

/// One key for several messages.
pub fn goes_on<M: Mac + FixedOutputReset + Reset>(answers: &[Answer], new: impl Fn(&Answer) -> Option<M>) {
    for answer in answers.iter().filter(|answer| !answer.refused) {
        let Some(mut mac) = new(answer) else { continue };
        let wanted = answer.get(TAG);
        Mac::update(&mut mac, b"not this");
        Mac::reset(&mut mac);
        for _ in 0..2 {
            Mac::update(&mut mac, answer.get(INPUT));
            assert_eq!(Mac::finalize_reset(&mut mac).into_bytes()[..wanted.len()], *wanted);
        }
    }
}
