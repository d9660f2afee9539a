//! Random segmentation: where the strings of a message are cut into chunks.

use crate::rng::Rng;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{LAST_CHUNK, PortData, Tokens};
use headrace_library::manifest::Shape;

/// Cuts the strings of a message anew; the bytes stay as they are. Gives the number of chunks.
pub fn cut(spec: &OperationSpec, data: &mut [PortData], rng: &mut Rng) -> usize {
    let mut n_chunks = 0;
    for part in data {
        let port = spec.inputs.iter().find(|port| port.companion.as_deref() == Some(&part.port));
        if let (Some(port), Tokens::Words(words)) = (port, &mut part.tokens)
            && may_cut(spec, port.role)
        {
            let length = words.iter().map(|word| word & (LAST_CHUNK - 1)).sum();
            *words = pieces(length, rng);
            n_chunks += words.len();
        }
    }
    n_chunks
}

/// Whether a string may come in several chunks. What stands before the key of a block cipher, in modes and codes too, is its
/// length.
fn may_cut(spec: &OperationSpec, role: Role) -> bool {
    match role {
        Role::Key => spec.shape == Shape::StreamCipher || spec.key_sizes().is_some_and(|sizes| sizes.max() == u64::MAX),
        Role::Input | Role::Ad => !spec.single_chunk,
        _ => spec.framing != Framing::Core,
    }
}

/// Chunk tokens for a string: often one, sometimes many, some of them empty, the last one sometimes too.
fn pieces(length: u64, rng: &mut Rng) -> Vec<u64> {
    if rng.chance(40) {
        return vec![length | LAST_CHUNK];
    }
    let most = [1, 8, 17, 64, length.max(1) as usize][rng.below(5)];
    let empty = if rng.chance(50) { 15 } else { 0 };
    let mut words = Vec::new();
    let mut rest = length;
    while rest > 0 {
        if rng.chance(empty) {
            words.push(0);
        }
        let piece = (1 + rng.below(most) as u64).min(rest);
        words.push(piece);
        rest -= piece;
    }
    if words.is_empty() || rng.chance(empty) {
        words.push(0);
    }
    if let Some(last) = words.last_mut() {
        *last |= LAST_CHUNK;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_come_to_the_string() {
        let mut rng = Rng::new(3);
        let mut n_empty = 0;
        for length in 0..500 {
            let words = pieces(length, &mut rng);
            let (last, rest) = words.split_last().unwrap();
            assert!(last & LAST_CHUNK != 0 && rest.iter().all(|word| word & LAST_CHUNK == 0));
            assert_eq!(words.iter().map(|word| word & (LAST_CHUNK - 1)).sum::<u64>(), length);
            n_empty += rest.iter().filter(|word| **word == 0).count();
        }
        assert!(n_empty > 100);
    }
}
