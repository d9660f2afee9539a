//! Authenticated encryption with associated data: one type for both directions.

use super::in_place::InPlace;
use super::inout::InOutBuf;
use crate::message::{AD, Flows, Given, TAG_IN};
use crate::text::Room;

/// The strings of a message beside its text.
pub(crate) fn strings<'a>(
    string: usize,
    nonce: &'a [u8],
    associated_data: &'a [u8],
    tag: Option<&'a [u8]>,
) -> Given<'a> {
    let mut strings: Given<'_> = [None; 9];
    strings[string] = Some(nonce);
    strings[AD] = Some(associated_data);
    strings[TAG_IN] = tag;
    strings
}

/// A whole message through a copy of what was keyed, which is cleared afterwards: traits change nothing that they are
/// called on. Of a message that is refused nothing is left.
pub(crate) fn whole<F: Flows + Clone>(
    keyed: &F,
    strings: &Given<'_>,
    buffer: InOutBuf<'_, '_, u8>,
    tag: &mut [u8],
) -> aead::Result<()> {
    let mut copy = keyed.clone();
    let mut text = InPlace::new(buffer);
    let n_bytes = text.len();
    let result = copy.flow().whole_text(strings, &mut text, n_bytes, &mut Room::default(), &mut Room::new(tag));
    if result.is_ok() && text.is_whole() { Ok(()) } else { Err(aead::Error) }
}

/// A type that encrypts by one operation and decrypts by another.
macro_rules! authenticates {
    ($own:ident { $encrypt:ident, $decrypt:ident }, $string:ident: $nonce:ident, $tag:ident) => {
        impl aead::AeadCore for $own {
            type NonceSize = aead::consts::$nonce;
            type TagSize = aead::consts::$tag;
            const TAG_POSITION: aead::TagPosition = aead::TagPosition::Postfix;
        }

        impl aead::AeadInOut for $own {
            fn encrypt_inout_detached(
                &self,
                nonce: &aead::Nonce<Self>,
                associated_data: &[u8],
                buffer: aead::inout::InOutBuf<'_, '_, u8>,
            ) -> aead::Result<aead::Tag<Self>> {
                use $crate::rustcrypto::authenticated::{strings, whole};
                let mut tag = aead::Tag::<Self>::default();
                let given = strings($crate::message::$string, nonce, associated_data, None);
                whole(&self.$encrypt, &given, buffer, &mut tag)?;
                Ok(tag)
            }

            fn decrypt_inout_detached(
                &self,
                nonce: &aead::Nonce<Self>,
                associated_data: &[u8],
                buffer: aead::inout::InOutBuf<'_, '_, u8>,
                tag: &aead::Tag<Self>,
            ) -> aead::Result<()> {
                use $crate::rustcrypto::authenticated::{strings, whole};
                let given = strings($crate::message::$string, nonce, associated_data, Some(tag));
                whole(&self.$decrypt, &given, buffer, &mut [])
            }
        }
    };
}

pub(crate) use authenticates;
