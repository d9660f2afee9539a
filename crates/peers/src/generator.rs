//! Generators: nobody else has these, but their definitions are a line each.

use crate::{Peer, output, string};
use headrace_library::Role;
use headrace_library::framing::{Message, Outcome};

/// A generator that makes the next state of `bytes` bytes from the last; its words are its states.
fn words(bytes: usize, message: &Message, next: impl Fn(u128) -> u128) -> Option<Outcome> {
    let seed = string(message, Role::Seed);
    let mut state = seed.iter().fold(0, |state, byte| state << 8 | u128::from(*byte));
    let mut out = Vec::new();
    for _ in 0..message.words {
        state = next(state);
        out.extend(state.to_be_bytes().iter().skip(16 - bytes));
    }
    output(out)
}

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    if operation != "generate" {
        return None;
    }
    match set {
        "lcg32" => Some(Peer::new(&[], |m| {
            words(4, m, |x| u128::from((x as u32).wrapping_mul(1_664_525).wrapping_add(1_013_904_223)))
        })),
        "lcg64" => Some(Peer::new(&[], |m| {
            words(8, m, |x| {
                u128::from((x as u64).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
            })
        })),
        _ => lfsr(set),
    }
}

/// `lfsr16-galois`: shift to the right, and add the mask where a one came out.
fn lfsr(set: &str) -> Option<Peer> {
    let (width, form) = set.strip_prefix("lfsr")?.split_once('-')?;
    let width: usize = width.parse().ok()?;
    let mask: u128 = match width {
        8 => 0xb8,
        16 => 0xb400,
        32 => 0x8020_0003,
        64 => 0xd800_0000_0000_0000,
        128 => 0xa000_0014_0000_0000_0000_0000_0000_0000,
        _ => return None,
    };
    match form {
        "galois" => Some(Peer::new(&[], move |m| words(width / 8, m, |x| (x >> 1) ^ (mask * (x & 1))))),
        _ => None,
    }
}
