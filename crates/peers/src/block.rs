//! Block ciphers by the names of their parameter sets, all with one type for a block size.

use cipher::array::{Array, ArraySize};
use cipher::consts::{U1, U2, U4, U8, U16, U32};
use cipher::{
    BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend, BlockCipherEncClosure,
    BlockCipherEncrypt, BlockSizeUser, InOut, KeyInit, ParBlocksSizeUser,
};
use std::sync::Arc;

/// Both directions of a cipher with its key.
trait Keyed<BS: ArraySize>: Send + Sync {
    fn encrypt(&self, block: &mut Array<u8, BS>);
    fn decrypt(&self, block: &mut Array<u8, BS>);
}

impl<BS: ArraySize, C> Keyed<BS> for C
where
    C: BlockCipherEncrypt + BlockCipherDecrypt + BlockSizeUser<BlockSize = BS> + Send + Sync,
{
    fn encrypt(&self, block: &mut Array<u8, BS>) {
        self.encrypt_block(block);
    }

    fn decrypt(&self, block: &mut Array<u8, BS>) {
        self.decrypt_block(block);
    }
}

/// Any block cipher with its key. One type, so that what is built over it is compiled once a block size.
#[derive(Clone)]
pub struct AnyCipher<BS: ArraySize>(Arc<dyn Keyed<BS>>);

struct Backend<'c, BS: ArraySize>(&'c dyn Keyed<BS>);

impl<BS: ArraySize> BlockSizeUser for AnyCipher<BS> {
    type BlockSize = BS;
}

impl<BS: ArraySize> BlockSizeUser for Backend<'_, BS> {
    type BlockSize = BS;
}

impl<BS: ArraySize> ParBlocksSizeUser for Backend<'_, BS> {
    type ParBlocksSize = U1;
}

impl<BS: ArraySize> BlockCipherEncBackend for Backend<'_, BS> {
    fn encrypt_block(&self, mut block: InOut<'_, '_, Array<u8, BS>>) {
        let mut bytes = block.clone_in();
        self.0.encrypt(&mut bytes);
        *block.get_out() = bytes;
    }
}

impl<BS: ArraySize> BlockCipherDecBackend for Backend<'_, BS> {
    fn decrypt_block(&self, mut block: InOut<'_, '_, Array<u8, BS>>) {
        let mut bytes = block.clone_in();
        self.0.decrypt(&mut bytes);
        *block.get_out() = bytes;
    }
}

impl<BS: ArraySize> BlockCipherEncrypt for AnyCipher<BS> {
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = BS>) {
        f.call(&Backend(self.0.as_ref()));
    }
}

impl<BS: ArraySize> BlockCipherDecrypt for AnyCipher<BS> {
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = BS>) {
        f.call(&Backend(self.0.as_ref()));
    }
}

/// Gives a cipher its key; `None` for a length that it does not take.
pub type Rekey<BS> = fn(&[u8]) -> Option<AnyCipher<BS>>;

/// A block cipher without a key, by the size of its blocks.
#[derive(Clone, Copy)]
pub enum Cipher {
    Bytes2(&'static str, Rekey<U2>),
    Bytes4(&'static str, Rekey<U4>),
    Bytes8(&'static str, Rekey<U8>),
    Bytes16(&'static str, Rekey<U16>),
    Bytes32(&'static str, Rekey<U32>),
}

fn of<C>(key: &[u8]) -> Option<AnyCipher<C::BlockSize>>
where
    C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + Send + Sync + 'static,
{
    Some(AnyCipher(Arc::new(C::new_from_slice(key).ok()?)))
}

/// Two keys or three (SP 800-67, section 3).
fn triple_des(key: &[u8]) -> Option<AnyCipher<U8>> {
    if key.len() == 16 { of::<des::TdesEde2>(key) } else { of::<des::TdesEde3>(key) }
}

/// The crate takes four bytes or more; a shorter key is used over and over, which is what repeating it does too.
fn blowfish(key: &[u8]) -> Option<AnyCipher<U8>> {
    if (1..4).contains(&key.len()) { of::<blowfish::Blowfish>(&key.repeat(4)) } else { of::<blowfish::Blowfish>(key) }
}

/// The crate has the length of the key in its type. Keys are zero-padded to whole words (RFC 2040, section 5), so one
/// type serves all lengths that come to as many words; an empty key comes to one.
macro_rules! rc5 {
    ($word:ty, $rounds:ident, $key:ident, $($bytes:ident)*) => {{
        let word = size_of::<$word>();
        let mut padded = $key.to_vec();
        padded.resize($key.len().next_multiple_of(word).max(word), 0);
        match padded.len() {
            $(n if n == <cipher::consts::$bytes as cipher::typenum::Unsigned>::USIZE => {
                of::<rc5::RC5<$word, cipher::consts::$rounds, cipher::consts::$bytes>>(&padded)
            })*
            _ => None,
        }
    }};
}

fn rc5_8(key: &[u8]) -> Option<AnyCipher<U2>> {
    rc5!(u8, U12, key, U1 U2 U3 U4 U5 U8 U16 U32 U64)
}

fn rc5_128(key: &[u8]) -> Option<AnyCipher<U32>> {
    rc5!(u128, U28, key, U16 U32 U48 U64 U128)
}

fn rc5_16(key: &[u8]) -> Option<AnyCipher<U4>> {
    rc5!(u16, U16, key, U2 U4 U6 U8 U10 U12 U14 U16 U24 U32 U64)
}

fn rc5_32(key: &[u8]) -> Option<AnyCipher<U8>> {
    rc5!(u32, U12, key, U4 U8 U12 U16 U20 U24 U28 U32 U64 U128)
}

fn rc5_64(key: &[u8]) -> Option<AnyCipher<U16>> {
    rc5!(u64, U24, key, U8 U16 U24 U32 U64 U128)
}

/// The block cipher of a parameter set.
pub fn cipher(set: &str) -> Option<Cipher> {
    Some(match set {
        "aes128" => Cipher::Bytes16("aes", of::<aes::Aes128>),
        "aes192" => Cipher::Bytes16("aes", of::<aes::Aes192>),
        "aes256" => Cipher::Bytes16("aes", of::<aes::Aes256>),
        "des" => Cipher::Bytes8("des", of::<des::Des>),
        "tdes" => Cipher::Bytes8("des", triple_des),
        "blowfish" => Cipher::Bytes8("blowfish", blowfish),
        "rc5" => Cipher::Bytes8("rc5", rc5_32),
        "rc5-16" => Cipher::Bytes4("rc5", rc5_16),
        "rc5-8" => Cipher::Bytes2("rc5", rc5_8),
        "rc5-128" => Cipher::Bytes32("rc5", rc5_128),
        "rc5-64" => Cipher::Bytes16("rc5", rc5_64),
        "twofish128" | "twofish192" | "twofish256" | "twofish" => Cipher::Bytes16("twofish", of::<twofish::Twofish>),
        "serpent128" | "serpent192" | "serpent256" | "serpent" => Cipher::Bytes16("serpent", of::<serpent::Serpent>),
        _ => return None,
    })
}
