//! Authenticated encryption.

use crate::block::{AnyCipher, Cipher, cipher};
use crate::{Peer, input, key, string};
use aead::{AeadInOut, KeyInit};
use cipher::array::Array;
use cipher::consts::{self, U16};
use cipher::{BlockCipherEncrypt, InnerIvInit, StreamCipher, StreamCipherCoreWrapper};
use ghash::GHash;
use ghash::universal_hash::UniversalHash;
use headrace_library::Role;
use headrace_library::framing::{Message, Outcome};

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    match set {
        "chacha20-poly1305" => return Some(whole::<chacha20poly1305::ChaCha20Poly1305>("chacha20poly1305", operation)),
        "ascon-aead128" => return Some(whole::<ascon_aead::AsconAead128>("ascon-aead", operation)),
        _ => {}
    }
    let (name, mode) = set.split_once('-')?;
    let Cipher::Bytes16(by, rekey) = cipher(name)? else { return None };
    let encrypts = match operation {
        "aead-encrypt" => true,
        "aead-decrypt" => false,
        _ => return None,
    };
    match mode {
        "gcm" => Some(Peer::new(&[by, "ctr", "ghash"], move |m| {
            let made = gcm(&rekey(key(m))?, nonce(m), string(m, Role::Ad), input(m), encrypts);
            verified(m, encrypts, made)
        })),
        "ccm" => Some(Peer::new(&[by, "ccm"], move |m| ccm(rekey(key(m))?, m, encrypts))),
        "ocb3" => Some(Peer::new(&[by, "ocb3"], move |m| ocb3(rekey(key(m))?, m, encrypts))),
        _ => None,
    }
}

fn nonce(message: &Message) -> &[u8] {
    string(message, Role::Nonce)
}

/// A crate that is a whole AEAD.
fn whole<A: AeadInOut + KeyInit + 'static>(by: &'static str, operation: &str) -> Peer {
    let encrypts = operation == "aead-encrypt";
    Peer::new(&[by], move |m| apply(&A::new_from_slice(key(m)).ok()?, m, encrypts))
}

/// What an AEAD with its key makes of a message. It must be made for the sizes of nonce and tag.
fn apply<A: AeadInOut>(aead: &A, message: &Message, encrypts: bool) -> Option<Outcome> {
    let nonce = Array::try_from(nonce(message)).ok()?;
    let ad = string(message, Role::Ad);
    let mut bytes = input(message).to_vec();
    if encrypts {
        let tag = aead.encrypt_inout_detached(&nonce, ad, bytes.as_mut_slice().into()).ok()?;
        return Some(Outcome::Accepted(vec![(Role::Output, bytes), (Role::Tag, tag.to_vec())]));
    }
    let tag = Array::try_from(string(message, Role::TagIn)).ok()?;
    Some(match aead.decrypt_inout_detached(&nonce, ad, bytes.as_mut_slice().into(), &tag) {
        Ok(()) => Outcome::Accepted(vec![(Role::Output, bytes)]),
        Err(_) => Outcome::Rejected,
    })
}

/// Text and tag as the outcome of a message. Only a whole tag is right: the networks that the sets name have tags of 16
/// bytes, and shorter ones only where their argument says so.
fn verified(message: &Message, encrypts: bool, (text, tag): (Vec<u8>, Vec<u8>)) -> Option<Outcome> {
    if encrypts {
        return Some(Outcome::Accepted(vec![(Role::Output, text), (Role::Tag, tag)]));
    }
    Some(match tag == string(message, Role::TagIn) {
        true => Outcome::Accepted(vec![(Role::Output, text)]),
        false => Outcome::Rejected,
    })
}

/// GCM for nonces of every length (SP 800-38D, section 7), from GHASH and counter mode: the crate has the length of the
/// nonce in its type. The text and the whole tag.
pub fn gcm(cipher: &AnyCipher<U16>, nonce: &[u8], ad: &[u8], input: &[u8], encrypts: bool) -> (Vec<u8>, Vec<u8>) {
    let mut subkey = Array::default();
    cipher.encrypt_block(&mut subkey);
    let hash = |first: &[u8], second: &[u8]| {
        let mut ghash = GHash::new(&subkey);
        ghash.update_padded(first);
        ghash.update_padded(second);
        let bits = |bytes: &[u8]| (bytes.len() as u64 * 8).to_be_bytes();
        ghash.update(&[Array([bits(first), bits(second)].concat().try_into().expect("two words of eight bytes"))]);
        ghash.finalize()
    };
    let counter: Array<u8, U16> = if nonce.len() == 12 {
        let mut counter = Array::default();
        counter[..12].copy_from_slice(nonce);
        counter[15] = 1;
        counter
    } else {
        hash(&[], nonce)
    };
    let mode: ctr::CtrCore<_, ctr::flavors::Ctr32BE> = InnerIvInit::inner_iv_init(cipher.clone(), &counter);
    let mut mode = StreamCipherCoreWrapper::from_core(mode);
    let mut mask = [0; 16];
    mode.apply_keystream(&mut mask);
    let mut text = input.to_vec();
    mode.apply_keystream(&mut text);
    let ciphertext = if encrypts { &text } else { input };
    let tag = hash(ad, ciphertext).iter().zip(mask).map(|(hash, mask)| hash ^ mask).collect();
    (text, tag)
}

/// Tries each pair of sizes that stand for those of a message.
macro_rules! sizes {
    ($tag:expr, $nonce:expr, $apply:ident, [$($t:ident)*], $n:tt) => {{
        $(if $tag == <consts::$t as cipher::typenum::Unsigned>::USIZE {
            sizes!(@ $t, $nonce, $apply, $n);
        })*
        None
    }};
    (@ $t:ident, $nonce:expr, $apply:ident, [$($n:ident)*]) => {
        $(if $nonce == <consts::$n as cipher::typenum::Unsigned>::USIZE {
            return $apply!($t, $n);
        })*
    };
}

/// The tag that is given says how long tags are; one that is made has all bytes of a block.
fn tag_bytes(message: &Message, encrypts: bool) -> usize {
    if encrypts { 16 } else { string(message, Role::TagIn).len() }
}

fn ccm(cipher: AnyCipher<U16>, message: &Message, encrypts: bool) -> Option<Outcome> {
    macro_rules! apply {
        ($t:ident, $n:ident) => {
            apply(&ccm::Ccm::<_, consts::$t, consts::$n>::from(cipher), message, encrypts)
        };
    }
    sizes!(tag_bytes(message, encrypts), nonce(message).len(), apply,
        [U4 U6 U8 U10 U12 U14 U16], [U7 U8 U9 U10 U11 U12 U13])
}

fn ocb3(cipher: AnyCipher<U16>, message: &Message, encrypts: bool) -> Option<Outcome> {
    macro_rules! apply {
        ($t:ident, $n:ident) => {
            apply(&ocb3::Ocb3::<_, consts::$n, consts::$t>::from(cipher), message, encrypts)
        };
    }
    sizes!(tag_bytes(message, encrypts), nonce(message).len(), apply,
        [U8 U12 U16], [U6 U7 U8 U9 U10 U11 U12 U13 U14 U15])
}

#[cfg(test)]
mod tests {
    use super::*;
    use aes_gcm::AesGcm;

    /// The composition is what the crate for GCM makes, for the nonces that have a type.
    #[test]
    fn gcm_is_that_of_its_crate() {
        let Some(Cipher::Bytes16(_, rekey)) = cipher("aes128") else { panic!() };
        let cipher = rekey(&[7; 16]).unwrap();
        let bytes: Vec<u8> = (0..=255).collect();
        for (at, length) in [0, 1, 15, 16, 17, 200].into_iter().enumerate() {
            let (ad, text) = (&bytes[..at * 13], &bytes[..length]);
            let message =
                |nonce: &[u8]| Message::new().with(Role::Nonce, nonce).with(Role::Ad, ad).with(Role::Input, text);
            let made = |nonce: &[u8]| verified(&message(nonce), true, gcm(&cipher, nonce, ad, text, true));
            let crates = [
                (12, apply(&AesGcm::<_, consts::U12>::from(cipher.clone()), &message(&bytes[3..15]), true)),
                (16, apply(&AesGcm::<_, consts::U16>::from(cipher.clone()), &message(&bytes[3..19]), true)),
                (1, apply(&AesGcm::<_, consts::U1>::from(cipher.clone()), &message(&bytes[3..4]), true)),
            ];
            for (n, theirs) in crates {
                assert!(theirs.is_some());
                assert_eq!(made(&bytes[3..3 + n]), theirs, "{n} bytes of nonce, {length} of text");
            }
        }
    }
}
