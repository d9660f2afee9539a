//! Modes of operation, a line each, over any block cipher.

use crate::block::{AnyCipher, Cipher, Rekey, cipher};
use crate::{Peer, input, key, output, string};
use cipher::block_padding::{NoPadding, Pkcs7};
use cipher::common::InnerInit;
use cipher::consts::{U4, U8, U16};
use cipher::{BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, StreamCipher, StreamCipherCoreWrapper};
use ctr::CtrFlavor;
use ctr::flavors::{Ctr32BE, Ctr64BE, Ctr128BE};
use digest::block_buffer::BlockSizes;
use headrace_library::Role;
use headrace_library::framing::{Message, Outcome};

/// A mode over a cipher that has its key.
type Mode<BS> = fn(AnyCipher<BS>, &Message) -> Option<Outcome>;

/// Sizes of blocks, with a counter that fills one.
trait Block: BlockSizes {
    type Counter: CtrFlavor<Self>;
}

impl Block for U4 {
    type Counter = Ctr32BE;
}

impl Block for U8 {
    type Counter = Ctr64BE;
}

impl Block for U16 {
    type Counter = Ctr128BE;
}

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    match cipher(set)? {
        Cipher::Bytes4(name, rekey) => over(name, rekey, operation),
        Cipher::Bytes8(name, rekey) => over(name, rekey, operation),
        Cipher::Bytes16(name, rekey) => over(name, rekey, operation),
    }
}

fn over<BS: Block>(name: &'static str, rekey: Rekey<BS>, operation: &str) -> Option<Peer> {
    let (by, mode) = mode(operation)?;
    Some(Peer::new(&[name, by], move |message| mode(rekey(key(message))?, message)))
}

/// Applies a mode that is made from a cipher and an IV.
fn with_iv<M: InnerIvInit>(
    cipher: M::Inner,
    message: &Message,
    apply: impl FnOnce(M, &[u8]) -> Option<Vec<u8>>,
) -> Option<Outcome> {
    let mode = M::inner_iv_slice_init(cipher, string(message, Role::Iv)).ok()?;
    output(apply(mode, input(message))?)
}

/// The crate and the mode of an operation.
fn mode<BS: Block>(operation: &str) -> Option<(&'static str, Mode<BS>)> {
    Some(match operation {
        "encrypt" | "ecb-encrypt" => ("ecb", |c, m| {
            let mode: ecb::Encryptor<_> = InnerInit::inner_init(c);
            output(mode.encrypt_padded_vec::<NoPadding>(input(m)))
        }),
        "decrypt" | "ecb-decrypt" => ("ecb", |c, m| {
            let mode: ecb::Decryptor<_> = InnerInit::inner_init(c);
            output(mode.decrypt_padded_vec::<NoPadding>(input(m)).ok()?)
        }),
        "cbc-encrypt" => {
            ("cbc", |c, m| with_iv(c, m, |mode: cbc::Encryptor<_>, x| Some(mode.encrypt_padded_vec::<NoPadding>(x))))
        }
        "cbc-decrypt" => {
            ("cbc", |c, m| with_iv(c, m, |mode: cbc::Decryptor<_>, x| mode.decrypt_padded_vec::<NoPadding>(x).ok()))
        }
        "cbc-pad-encrypt" => {
            ("cbc", |c, m| with_iv(c, m, |mode: cbc::Encryptor<_>, x| Some(mode.encrypt_padded_vec::<Pkcs7>(x))))
        }
        "cbc-pad-decrypt" => ("cbc", |c, m| {
            let accepted = with_iv(c, m, |mode: cbc::Decryptor<_>, x| mode.decrypt_padded_vec::<Pkcs7>(x).ok());
            accepted.or(Some(Outcome::Rejected))
        }),
        "cfb8-encrypt" => {
            ("cfb8", |c, m| with_iv(c, m, |mode: cfb8::Encryptor<_>, x| Some(mode.encrypt_padded_vec::<NoPadding>(x))))
        }
        "cfb8-decrypt" => {
            ("cfb8", |c, m| with_iv(c, m, |mode: cfb8::Decryptor<_>, x| mode.decrypt_padded_vec::<NoPadding>(x).ok()))
        }
        "cfb-encrypt" => ("cfb-mode", |c, m| {
            with_iv(c, m, |mut mode: cfb_mode::BufEncryptor<_>, x| {
                let mut bytes = x.to_vec();
                mode.encrypt(&mut bytes);
                Some(bytes)
            })
        }),
        "cfb-decrypt" => ("cfb-mode", |c, m| {
            with_iv(c, m, |mut mode: cfb_mode::BufDecryptor<_>, x| {
                let mut bytes = x.to_vec();
                mode.decrypt(&mut bytes);
                Some(bytes)
            })
        }),
        // The counter is the whole block, whatever its size.
        "ctr" => ("ctr", |c, m| {
            with_iv(c, m, |mode: ctr::CtrCore<_, BS::Counter>, x| {
                key_stream(StreamCipherCoreWrapper::from_core(mode), x)
            })
        }),
        "ofb" => ("ofb", |c, m| {
            with_iv(c, m, |mode: ofb::OfbCore<_>, x| key_stream(StreamCipherCoreWrapper::from_core(mode), x))
        }),
        _ => return None,
    })
}

fn key_stream(mut cipher: impl StreamCipher, input: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = input.to_vec();
    cipher.try_apply_keystream(&mut bytes).ok()?;
    Some(bytes)
}
