//! Adapter of the RustCrypto crates: block ciphers in their modes, stream ciphers, hashes, HMAC, authenticated encryption.

mod modes;
mod sealed;

include!("../../abi.rs");

use cipher::{KeyInit, KeyIvInit, StreamCipher};
use digest::Digest;
use hmac::Mac;

/// The crate that most is measured with; the others are those that Cargo.lock names.
const VERSION: &CStr = c"0.9.4";

/// No result is longer than its input by more than the room behind it.
fn output_bytes(n_bytes: usize) -> usize {
    n_bytes
}

/// Opens an operation.
fn open(operation: &str, key: &[u8], iv: &[u8]) -> Option<Operation> {
    let (set, operation) = operation.split_once(' ')?;
    match (set, operation) {
        (_, "hash") => hash(set),
        (_, "mac") => mac(set, key),
        (_, "stream") => stream(set, key, iv),
        (_, "aead-encrypt" | "aead-decrypt") => sealed::open(set, operation == "aead-encrypt", key, iv),
        _ => modes::open(set, operation, key, iv),
    }
}

fn hash(set: &str) -> Option<Operation> {
    fn with<D: Digest>() -> Option<Operation> {
        Some(Box::new(|input, output| {
            let digest = D::digest(input);
            output[..digest.len()].copy_from_slice(&digest);
            Some(digest.len())
        }))
    }
    match set {
        "sha1" => with::<sha1::Sha1>(),
        "sha256" => with::<sha2::Sha256>(),
        "sha512" => with::<sha2::Sha512>(),
        "whirlpool" => with::<whirlpool::Whirlpool>(),
        _ => None,
    }
}

fn mac(set: &str, key: &[u8]) -> Option<Operation> {
    fn with<M: Mac + KeyInit + Clone + 'static>(key: &[u8]) -> Option<Operation> {
        let keyed = <M as KeyInit>::new_from_slice(key).ok()?;
        Some(Box::new(move |input, output| {
            let tag = keyed.clone().chain_update(input).finalize().into_bytes();
            output[..tag.len()].copy_from_slice(&tag);
            Some(tag.len())
        }))
    }
    match set {
        "hmac-sha1" => with::<hmac::Hmac<sha1::Sha1>>(key),
        "hmac-sha256" => with::<hmac::Hmac<sha2::Sha256>>(key),
        _ => None,
    }
}

/// The crates cannot keep a state from before the first byte, so the key is part of each run.
fn stream(set: &str, key: &[u8], iv: &[u8]) -> Option<Operation> {
    fn with<C: StreamCipher + 'static>(
        key: &[u8],
        iv: &[u8],
        make: fn(&[u8], &[u8]) -> Option<C>,
    ) -> Option<Operation> {
        let (key, iv) = (key.to_vec(), iv.to_vec());
        make(&key, &iv)?;
        Some(Box::new(move |input, output| {
            make(&key, &iv)?.apply_keystream_b2b(input, output.get_mut(..input.len())?);
            Some(input.len())
        }))
    }
    match set {
        "arc4" => with(key, iv, |key, _| rc4::Rc4::new_from_slice(key).ok()),
        "chacha20" => with(key, iv, |key, iv| chacha20::ChaCha20::new_from_slices(key, iv).ok()),
        "rabbit-estream" => with(key, iv, |key, iv| rabbit::Rabbit::new_from_slices(key, iv).ok()),
        _ => None,
    }
}
