//! Key streams added to messages.

use super::in_place::InPlace;
use super::shared::made;
use crate::message::Flows;
use cipher::InOutBuf;

/// Adds the next of the key stream to a text.
pub(crate) fn apply(cipher: &mut impl Flows, buffer: InOutBuf<'_, '_, u8>) {
    let mut text = InPlace::new(buffer);
    let n_bytes = text.len();
    made(cipher.flow().update_text(&mut text, n_bytes));
    assert!(text.is_whole(), "the cipher keeps bytes back");
}

/// A type that adds a key stream to messages of any length.
macro_rules! adds_stream {
    ($own:ident.$cipher:ident) => {
        impl cipher::StreamCipher for $own {
            fn check_remaining(&self, _: usize) -> Result<(), cipher::StreamCipherError> {
                Ok(())
            }

            fn unchecked_apply_keystream_inout(&mut self, buffer: cipher::InOutBuf<'_, '_, u8>) {
                $crate::rustcrypto::stream::apply(&mut self.$cipher, buffer);
            }

            fn unchecked_write_keystream(&mut self, buffer: &mut [u8]) {
                buffer.fill(0);
                $crate::rustcrypto::stream::apply(&mut self.$cipher, buffer.into());
            }
        }
    };
}

pub(crate) use adds_stream;
