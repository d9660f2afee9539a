//! Modes of operation, a line each, over any block cipher.

use crate::block::{AnyCipher, Cipher, Rekey, cipher};
use crate::{Peer, input, key, output, string};
use cipher::block_padding::{NoPadding, Pkcs7};
use cipher::common::InnerInit;
use cipher::consts::{U2, U4, U8, U16, U32};
use cipher::{BlockModeDecrypt, BlockModeEncrypt, InnerIvInit, StreamCipher, StreamCipherCoreWrapper};
use ctr::CtrFlavor;
use ctr::flavors::{Ctr32BE, Ctr64BE, Ctr128BE};
use cts::{CbcCs1, CbcCs2, CbcCs3};
use digest::block_buffer::BlockSizes;
use headrace_library::Role;
use headrace_library::framing::{Message, Outcome};

/// A mode over a cipher that has its key.
type Mode<BS> = fn(AnyCipher<BS>, &Message) -> Option<Outcome>;

/// Sizes of blocks.
trait Block: BlockSizes {
    /// Counter mode, in which the counter is the whole block. The crate has no counter of two bytes, and none of more than
    /// sixteen, which is told apart when these overflow.
    fn counter_mode() -> Option<Mode<Self>>;
}

fn counter<BS: BlockSizes, F: CtrFlavor<BS>>(cipher: AnyCipher<BS>, message: &Message) -> Option<Outcome> {
    with_iv(cipher, message, |mode: ctr::CtrCore<_, F>, x| key_stream(StreamCipherCoreWrapper::from_core(mode), x))
}

macro_rules! blocks {
    ($($size:ty, $counter:expr;)*) => {
        $(impl Block for $size {
            fn counter_mode() -> Option<Mode<Self>> {
                $counter
            }
        })*
    };
}

blocks! {
    U2, None;
    U4, Some(counter::<_, Ctr32BE>);
    U8, Some(counter::<_, Ctr64BE>);
    U16, Some(counter::<_, Ctr128BE>);
    U32, Some(|cipher, message| {
        let overflows = string(message, Role::Iv).get(16..28) == Some(&[0xff; 12]);
        if overflows { None } else { counter::<_, Ctr128BE>(cipher, message) }
    });
}

pub fn peer(set: &str, operation: &str) -> Option<Peer> {
    match cipher(set)? {
        Cipher::Bytes2(name, rekey) => over(name, rekey, operation),
        Cipher::Bytes32(name, rekey) => over(name, rekey, operation),
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

fn steal<M: InnerIvInit + cts::Encrypt>(cipher: M::Inner, message: &Message) -> Option<Outcome> {
    with_iv(cipher, message, |mode: M, x| {
        let mut bytes = x.to_vec();
        mode.encrypt(&mut bytes).ok()?;
        Some(bytes)
    })
}

fn give_back<M: InnerIvInit + cts::Decrypt>(cipher: M::Inner, message: &Message) -> Option<Outcome> {
    with_iv(cipher, message, |mode: M, x| {
        let mut bytes = x.to_vec();
        mode.decrypt(&mut bytes).ok()?;
        Some(bytes)
    })
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
        "ecb-pad-encrypt" => ("ecb", |c, m| {
            let mode: ecb::Encryptor<_> = InnerInit::inner_init(c);
            output(mode.encrypt_padded_vec::<Pkcs7>(input(m)))
        }),
        "ecb-pad-decrypt" => ("ecb", |c, m| {
            let mode: ecb::Decryptor<_> = InnerInit::inner_init(c);
            Some(mode.decrypt_padded_vec::<Pkcs7>(input(m)).ok().and_then(output).unwrap_or(Outcome::Rejected))
        }),
        "cbc-cs1-encrypt" => ("cts", steal::<CbcCs1<_>>),
        "cbc-cs2-encrypt" => ("cts", steal::<CbcCs2<_>>),
        // cts 0.7 enciphers a message of one block twice in this form; in all forms it is plain CBC.
        "cbc-cs3-encrypt" => {
            (
                "cts",
                |c, m| {
                    if input(m).len() == BS::USIZE { steal::<CbcCs1<_>>(c, m) } else { steal::<CbcCs3<_>>(c, m) }
                },
            )
        }
        "cbc-cs1-decrypt" => ("cts", give_back::<CbcCs1<_>>),
        "cbc-cs2-decrypt" => ("cts", give_back::<CbcCs2<_>>),
        "cbc-cs3-decrypt" => ("cts", |c, m| {
            if input(m).len() == BS::USIZE { give_back::<CbcCs1<_>>(c, m) } else { give_back::<CbcCs3<_>>(c, m) }
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
        "ctr" => ("ctr", BS::counter_mode()?),
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
