//! Stream ciphers.

use crate::{Peer, input, key, output, string};
use cipher::{KeyInit, KeyIvInit, StreamCipher};
use headrace_library::Role;
use headrace_library::framing::Outcome;

fn apply(mut cipher: impl StreamCipher, input: &[u8]) -> Option<Outcome> {
    let mut bytes = input.to_vec();
    cipher.try_apply_keystream(&mut bytes).ok()?;
    output(bytes)
}

/// The crate follows RFC 4503 in the order of key and IV, but delivers key stream as eSTREAM does; both orders differ in
/// nothing but the order of bytes in 16-byte strings (and 8-byte IVs).
fn rabbit(key: &[u8], iv: &[u8], input: &[u8], rfc: bool) -> Option<Outcome> {
    let order = |bytes: &[u8]| -> Vec<u8> { if rfc { bytes.iter().rev().copied().collect() } else { bytes.to_vec() } };
    let mut stream = vec![0; input.len().next_multiple_of(16)];
    if iv.is_empty() {
        rabbit::RabbitKeyOnly::new_from_slice(&order(key)).ok()?.try_apply_keystream(&mut stream).ok()?;
    } else {
        rabbit::Rabbit::new_from_slices(&order(key), &order(iv)).ok()?.try_apply_keystream(&mut stream).ok()?;
    }
    let stream = stream.chunks(16).flat_map(order);
    output(input.iter().zip(stream).map(|(byte, mask)| byte ^ mask).collect::<Vec<u8>>())
}

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    if operation != "stream" {
        return None;
    }
    Some(match set {
        "arc4" => Peer::new(&["rc4"], |m| apply(rc4::Rc4::new_from_slice(key(m)).ok()?, input(m))),
        "chacha20" => Peer::new(&["chacha20"], |m| {
            apply(chacha20::ChaCha20::new_from_slices(key(m), string(m, Role::Nonce)).ok()?, input(m))
        }),
        "rabbit" | "rabbit-no-iv" => Peer::new(&["rabbit"], |m| rabbit(key(m), string(m, Role::Iv), input(m), true)),
        "rabbit-estream" | "rabbit-estream-no-iv" => {
            Peer::new(&["rabbit"], |m| rabbit(key(m), string(m, Role::Iv), input(m), false))
        }
        _ => return None,
    })
}
