//! What types of every shape have: names, keys, initial values.

#![allow(unused_imports, unused_macros, dead_code, reason = "each operation uses the part of it that its shape needs")]

use crate::message::{Flows, Given, Result};

/// What traits have no error for: networks that were tested do not stop.
pub(crate) fn made<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| panic!("{error}: a mistake of the network"))
}

/// Takes a key and does with it what can be done before there is a message.
pub(crate) fn take_key(of: &mut impl Flows, key: &[u8]) -> Result<()> {
    let mut flow = of.flow();
    flow.key(key)?;
    flow.settle()
}

/// Begins a message whose only string beside its input is this one.
pub(crate) fn begin(of: &mut impl Flows, string: usize, bytes: &[u8]) -> Result<()> {
    let mut strings: Given<'_> = [None; 9];
    strings[string] = Some(bytes);
    of.flow().begin(&strings, 0)
}

/// Begins a message that has nothing beside its input.
pub(crate) fn begin_bare(of: &mut impl Flows) -> Result<()> {
    of.flow().begin(&[None; 9], 0)
}

/// What a type is called.
macro_rules! named {
    ($own:ident, $name:literal) => {
        impl $crate::rustcrypto::common::AlgorithmName for $own {
            fn write_alg_name(f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str($name)
            }
        }

        #[cfg(feature = "zeroize")]
        impl zeroize::ZeroizeOnDrop for $own {}
    };
}

/// The traits of a type that takes a key. It is large, and without optimising a compiler copies what functions hand on: it
/// takes its key where it lies.
macro_rules! made_from_key {
    ($own:ident, $key:ident) => {
        impl $crate::rustcrypto::common::KeySizeUser for $own {
            type KeySize = $crate::rustcrypto::common::typenum::consts::$key;
        }

        impl $crate::rustcrypto::common::KeyInit for $own {
            fn new(key: &$crate::rustcrypto::common::Key<Self>) -> Self {
                let mut own = Self::empty();
                $crate::rustcrypto::shared::made(own.take(key));
                own
            }

            fn new_from_slice(key: &[u8]) -> Result<Self, $crate::rustcrypto::common::InvalidLength> {
                let mut own = Self::empty();
                match own.take(key) {
                    Ok(()) => Ok(own),
                    Err(_) => Err($crate::rustcrypto::common::InvalidLength),
                }
            }
        }
    };
}

/// A type that is made from a key.
macro_rules! keyed {
    ($own:ident { $($operation:ident),+ }, $key:ident) => {
        impl $own {
            fn empty() -> Self {
                Self { $($operation: Default::default()),+ }
            }

            fn take(&mut self, key: &[u8]) -> crate::Result<()> {
                $($crate::rustcrypto::shared::take_key(&mut self.$operation, key)?;)+
                Ok(())
            }
        }

        $crate::rustcrypto::shared::made_from_key!($own, $key);
    };
}

/// A type that is made from a key, and begins a message at once.
macro_rules! keyed_and_begun {
    ($own:ident.$operation:ident, $key:ident) => {
        impl $own {
            fn empty() -> Self {
                Self { $operation: Default::default() }
            }

            fn take(&mut self, key: &[u8]) -> crate::Result<()> {
                $crate::rustcrypto::shared::take_key(&mut self.$operation, key)?;
                $crate::rustcrypto::shared::begin_bare(&mut self.$operation)
            }
        }

        $crate::rustcrypto::shared::made_from_key!($own, $key);
    };
}

/// A type that is made from a key and an initial value or nonce.
macro_rules! keyed_with {
    ($own:ident.$operation:ident, $key:ident, $string:ident: $iv:ident) => {
        impl $crate::rustcrypto::common::KeySizeUser for $own {
            type KeySize = $crate::rustcrypto::common::typenum::consts::$key;
        }

        impl $crate::rustcrypto::common::IvSizeUser for $own {
            type IvSize = $crate::rustcrypto::common::typenum::consts::$iv;
        }

        impl $own {
            fn empty() -> Self {
                Self { $operation: Default::default() }
            }

            fn take(&mut self, key: &[u8], iv: &[u8]) -> crate::Result<()> {
                $crate::rustcrypto::shared::take_key(&mut self.$operation, key)?;
                $crate::rustcrypto::shared::begin(&mut self.$operation, $crate::message::$string, iv)
            }
        }

        impl $crate::rustcrypto::common::KeyIvInit for $own {
            fn new(key: &$crate::rustcrypto::common::Key<Self>, iv: &$crate::rustcrypto::common::Iv<Self>) -> Self {
                let mut own = Self::empty();
                $crate::rustcrypto::shared::made(own.take(key, iv));
                own
            }

            fn new_from_slices(key: &[u8], iv: &[u8]) -> Result<Self, $crate::rustcrypto::common::InvalidLength> {
                let mut own = Self::empty();
                match own.take(key, iv) {
                    Ok(()) => Ok(own),
                    Err(_) => Err($crate::rustcrypto::common::InvalidLength),
                }
            }
        }
    };
}

pub(crate) use {keyed, keyed_and_begun, keyed_with, made_from_key, named};
