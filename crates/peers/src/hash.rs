//! Hashes, HMAC over them, and trees of them.

use crate::{Peer, input, key, output, tag};
use digest::common::KeyInit;
use digest::{Digest, ExtendableOutput, Mac, Update};
use headrace_library::framing::Message;
use hmac::{Hmac, SimpleHmac};

/// The digest of a string.
type Hash = fn(&[u8]) -> Vec<u8>;
/// The code of a string under a key.
type Code = fn(&[u8], &[u8]) -> Option<Vec<u8>>;

fn of<D: Digest>(bytes: &[u8]) -> Vec<u8> {
    D::digest(bytes).to_vec()
}

fn xof<D: Default + Update + ExtendableOutput, const N: usize>(bytes: &[u8]) -> Vec<u8> {
    let mut state = D::default();
    state.update(bytes);
    state.finalize_boxed(N).into_vec()
}

fn code<M: Mac + KeyInit>(key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
    Mac::update(&mut mac, bytes);
    Some(mac.finalize().into_bytes().to_vec())
}

/// The crate of a hash, and the hash.
fn hash(name: &str) -> Option<(&'static str, Hash)> {
    Some(match name {
        "sha1" => ("sha1", of::<sha1::Sha1>),
        "sha224" => ("sha2", of::<sha2::Sha224>),
        "sha256" => ("sha2", of::<sha2::Sha256>),
        "sha384" => ("sha2", of::<sha2::Sha384>),
        "sha512" => ("sha2", of::<sha2::Sha512>),
        "sha512-224" => ("sha2", of::<sha2::Sha512_224>),
        "sha512-256" => ("sha2", of::<sha2::Sha512_256>),
        "sha3-224" => ("sha3", of::<sha3::Sha3_224>),
        "sha3-256" => ("sha3", of::<sha3::Sha3_256>),
        "sha3-384" => ("sha3", of::<sha3::Sha3_384>),
        "sha3-512" => ("sha3", of::<sha3::Sha3_512>),
        "shake128" => ("sha3", xof::<sha3::Shake128, 16>),
        "shake256" => ("sha3", xof::<sha3::Shake256, 32>),
        "whirlpool" => ("whirlpool", of::<whirlpool::Whirlpool>),
        "ascon-hash256" => ("ascon-hash256", of::<ascon_hash256::AsconHash256>),
        _ => return None,
    })
}

/// The crate of the hash below an HMAC, and the HMAC.
fn hmac(name: &str) -> Option<(&'static str, Code)> {
    Some(match name {
        "sha1" => ("sha1", code::<Hmac<sha1::Sha1>>),
        "sha224" => ("sha2", code::<Hmac<sha2::Sha224>>),
        "sha256" => ("sha2", code::<Hmac<sha2::Sha256>>),
        "sha384" => ("sha2", code::<Hmac<sha2::Sha384>>),
        "sha512" => ("sha2", code::<Hmac<sha2::Sha512>>),
        "sha512-224" => ("sha2", code::<Hmac<sha2::Sha512_224>>),
        "sha512-256" => ("sha2", code::<Hmac<sha2::Sha512_256>>),
        "sha3-224" => ("sha3", code::<SimpleHmac<sha3::Sha3_224>>),
        "sha3-256" => ("sha3", code::<SimpleHmac<sha3::Sha3_256>>),
        "sha3-384" => ("sha3", code::<SimpleHmac<sha3::Sha3_384>>),
        "sha3-512" => ("sha3", code::<SimpleHmac<sha3::Sha3_512>>),
        "whirlpool" => ("whirlpool", code::<Hmac<whirlpool::Whirlpool>>),
        _ => return None,
    })
}

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    if let Some((by, hash)) = hash(set)
        && operation == "hash"
    {
        return Some(Peer::new(&[by], move |m| output(hash(input(m)))));
    }
    if let Some(tree) = tree(set)
        && operation == "hash"
    {
        return Some(tree);
    }
    let (by, code) = hmac(set.strip_prefix("hmac-")?)?;
    let operation: &'static str = match operation {
        "mac" => "mac",
        "verify" => "verify",
        _ => return None,
    };
    Some(Peer::new(&[by, "hmac"], move |m: &Message| tag(m, operation, &code(key(m), input(m))?)))
}

/// `sha256-tree4`, `sha256-tree4-depth2`, `sha256-tree4-stripes`: H(H(x₁) ‖ … ‖ H(x_k)), the parts being equal and the
/// longer ones first, or dealt in stripes.
fn tree(set: &str) -> Option<Peer> {
    let (name, shape) = set.split_once("-tree")?;
    let mut words = shape.split('-');
    let arity: usize = words.next()?.parse().ok()?;
    let (mut depth, mut stripe_bytes) = (1, None);
    for word in words {
        match word.strip_prefix("depth") {
            Some(levels) => depth = levels.parse().ok()?,
            None if word == "stripes" => stripe_bytes = Some(if name == "sha1" { 20 } else { 64 }),
            None => return None,
        }
    }
    let (by, hash) = hash(name)?;
    Some(Peer::new(&[by], move |m| output(root(hash, arity, depth, stripe_bytes, input(m)))))
}

fn root(hash: Hash, arity: usize, depth: u32, stripe_bytes: Option<usize>, bytes: &[u8]) -> Vec<u8> {
    if depth == 0 {
        return hash(bytes);
    }
    let mut parts = vec![Vec::new(); arity];
    match stripe_bytes {
        Some(size) => {
            for (at, stripe) in bytes.chunks(size).enumerate() {
                parts[at % arity].extend_from_slice(stripe);
            }
        }
        None => {
            let mut rest = bytes;
            for (at, part) in parts.iter_mut().enumerate() {
                let (first, after) = rest.split_at(rest.len().div_ceil(arity - at));
                part.extend_from_slice(first);
                rest = after;
            }
        }
    }
    let digests: Vec<u8> = parts.iter().flat_map(|part| root(hash, arity, depth - 1, stripe_bytes, part)).collect();
    hash(&digests)
}
