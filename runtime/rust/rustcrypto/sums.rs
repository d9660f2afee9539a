//! Digests and tags of messages that come in pieces.

#![allow(unused_imports, unused_macros, dead_code, reason = "each operation uses the part of it that its shape needs")]

use super::shared::{begin_bare, made};
use crate::message::Flows;
use crate::text::Room;

/// Begins a message where none was begun.
fn open(of: &mut impl Flows) {
    if !of.flow().is_open() {
        made(begin_bare(of));
    }
}

/// Takes a piece of the message.
pub(crate) fn absorb(of: &mut impl Flows, data: &[u8]) {
    open(of);
    made(of.flow().update(data, &mut Room::default()));
}

/// Ends the message in a digest.
pub(crate) fn digest(of: &mut impl Flows, out: &mut [u8]) {
    open(of);
    made(of.flow().finalize(&[None; 9], &mut [Room::default(), Room::new(out), Room::default()]));
}

/// Ends the message in a tag.
pub(crate) fn tag(of: &mut impl Flows, out: &mut [u8]) {
    open(of);
    made(of.flow().finalize(&[None; 9], &mut [Room::default(), Room::default(), Room::new(out)]));
}

/// A type that takes messages of any length and ends them in an output, by `digest` or `tag`.
macro_rules! sums {
    ($own:ident.$operation:ident, $end:ident: $size:ident) => {
        impl digest::OutputSizeUser for $own {
            type OutputSize = digest::consts::$size;
        }

        impl digest::Update for $own {
            fn update(&mut self, data: &[u8]) {
                $crate::rustcrypto::sums::absorb(&mut self.$operation, data);
            }
        }

        impl digest::FixedOutput for $own {
            fn finalize_into(mut self, out: &mut digest::Output<Self>) {
                $crate::rustcrypto::sums::$end(&mut self.$operation, out);
            }
        }
    };
}

/// A type that takes so many bytes at once, which `hmac::SimpleHmac` asks for.
macro_rules! takes_blocks {
    ($own:ident, $size:ident) => {
        impl digest::common::BlockSizeUser for $own {
            type BlockSize = digest::consts::$size;
        }
    };
}

/// A type that can begin anew, under the same key if it has one.
macro_rules! begins_anew {
    ($own:ident.$operation:ident, $end:ident) => {
        impl digest::Reset for $own {
            fn reset(&mut self) {
                let mut nobodys = digest::Output::<Self>::default();
                let mut flow = $crate::message::Flows::flow(&mut self.$operation);
                $crate::rustcrypto::shared::made(flow.abandon(&mut nobodys));
            }
        }

        impl digest::FixedOutputReset for $own {
            fn finalize_into_reset(&mut self, out: &mut digest::Output<Self>) {
                $crate::rustcrypto::sums::$end(&mut self.$operation, out);
            }
        }
    };
}

pub(crate) use {begins_anew, sums, takes_blocks};
