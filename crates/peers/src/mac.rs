//! Message authentication codes.

use crate::aead::gcm;
use crate::block::{AnyCipher, Cipher, Rekey, cipher};
use crate::{Peer, input, key, string, tag};
use cipher::KeyInit;
use cipher::array::Array;
use cipher::common::InnerInit;
use digest::Mac;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use headrace_library::Role;
use headrace_library::framing::{Message, Outcome};

/// The code of a message under a cipher that has its key.
type Code<BS> = fn(AnyCipher<BS>, &Message) -> Vec<u8>;

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    let operation: &'static str = match operation {
        "mac" => "mac",
        "verify" => "verify",
        _ => return None,
    };
    match set {
        "ghash" => {
            return Some(Peer::new(&["ghash"], move |m| {
                let mut ghash = GHash::new(&Array::try_from(key(m)).ok()?);
                ghash.update_padded(input(m));
                tag(m, operation, &ghash.finalize())
            }));
        }
        "poly1305" => {
            return Some(Peer::new(&["poly1305"], move |m| {
                let key = Array::try_from(key(m)).ok()?;
                tag(m, operation, &poly1305::Poly1305::new(&key).compute_unpadded(input(m)))
            }));
        }
        _ => {}
    }
    let (name, code) = set
        .split_once("-cbc-mac")
        .map(|(name, padding)| (name, format!("cbc-mac{padding}")))
        .or_else(|| set.rsplit_once('-').map(|(name, code)| (name, code.to_owned())))?;
    match cipher(name)? {
        Cipher::Bytes8(by, rekey) => over(
            by,
            rekey,
            operation,
            match &*code {
                "cmac" => ("cmac", |c, m| of::<cmac::Cmac<_>>(c, input(m))),
                "cbc-mac" => ("cbc-mac", |c, m| of::<cbc_mac::CbcMac<_>>(c, &zero_padded(m, 8))),
                "cbc-mac-blocks" => ("cbc-mac", |c, m| of::<cbc_mac::CbcMac<_>>(c, input(m))),
                "cbc-mac-pad2" => ("cbc-mac", |c, m| of::<cbc_mac::CbcMac<_>>(c, &one_padded(m, 8))),
                _ => return None,
            },
        ),
        Cipher::Bytes16(by, rekey) => over(
            by,
            rekey,
            operation,
            match &*code {
                "cmac" => ("cmac", |c, m| of::<cmac::Cmac<_>>(c, input(m))),
                "cbc-mac" => ("cbc-mac", |c, m| of::<cbc_mac::CbcMac<_>>(c, &zero_padded(m, 16))),
                "cbc-mac-blocks" => ("cbc-mac", |c, m| of::<cbc_mac::CbcMac<_>>(c, input(m))),
                "cbc-mac-pad2" => ("cbc-mac", |c, m| of::<cbc_mac::CbcMac<_>>(c, &one_padded(m, 16))),
                "gmac" => {
                    return Some(Peer::new(&[by, "ctr", "ghash"], move |m| {
                        let (_, made) = gcm(&rekey(key(m))?, string(m, Role::Nonce), input(m), &[], true);
                        // As in GCM, a shorter tag is not right.
                        let whole = operation == "mac" || string(m, Role::TagIn).len() == made.len();
                        if whole { tag(m, operation, &made) } else { Some(Outcome::Rejected) }
                    }));
                }
                _ => return None,
            },
        ),
        _ => None,
    }
}

/// ISO/IEC 9797-1, padding method 1: the crate has it, but for the block of zeros that stands for an empty message.
fn zero_padded(message: &Message, block_bytes: usize) -> Vec<u8> {
    let mut bytes = input(message).to_vec();
    if bytes.is_empty() {
        bytes.resize(block_bytes, 0);
    }
    bytes
}

/// ISO/IEC 9797-1, padding method 2.
fn one_padded(message: &Message, block_bytes: usize) -> Vec<u8> {
    let mut bytes = input(message).to_vec();
    bytes.push(0x80);
    bytes.resize(bytes.len().next_multiple_of(block_bytes), 0);
    bytes
}

fn over<BS: cipher::array::ArraySize>(
    cipher: &'static str,
    rekey: Rekey<BS>,
    operation: &'static str,
    (by, code): (&'static str, Code<BS>),
) -> Option<Peer> {
    Some(Peer::new(&[cipher, by], move |m: &Message| -> Option<Outcome> {
        tag(m, operation, &code(rekey(key(m))?, m))
    }))
}

fn of<M: Mac + InnerInit>(cipher: M::Inner, bytes: &[u8]) -> Vec<u8> {
    let mut mac = M::inner_init(cipher);
    mac.update(bytes);
    mac.finalize().into_bytes().to_vec()
}
