//! Letters: fingerprints, seals, envelopes. Whose ciphers these are made with, the caller decides.

use aead::{Aead, AeadCore, Nonce, Payload};
use cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, InvalidLength, KeyInit, KeyIvInit, StreamCipher};
use digest::{Digest, FixedOutputReset, Mac};

/// Bytes as a hexadecimal number.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a letter is recognised by.
pub fn fingerprint<D: Digest>(letter: &[u8]) -> String {
    hexadecimal(&D::digest(letter))
}

/// Seals of several letters under one key.
pub fn seals<M: Mac + KeyInit + FixedOutputReset>(key: &[u8], letters: &[&[u8]]) -> Result<Vec<String>, InvalidLength> {
    let mut mac = <M as KeyInit>::new_from_slice(key)?;
    let sealed = letters.iter().map(|letter| {
        Mac::update(&mut mac, letter);
        hexadecimal(&mac.finalize_reset().into_bytes())
    });
    Ok(sealed.collect())
}

/// A letter in an envelope that shows an address.
pub fn enclose<A: Aead + KeyInit>(key: &[u8], nonce: &[u8], address: &[u8], letter: &[u8]) -> aead::Result<Vec<u8>> {
    let (cipher, nonce) = ready::<A>(key, nonce)?;
    cipher.encrypt(&nonce, Payload { msg: letter, aad: address })
}

/// The letter again, where nobody changed it or the address.
pub fn open<A: Aead + KeyInit>(key: &[u8], nonce: &[u8], address: &[u8], envelope: &[u8]) -> aead::Result<Vec<u8>> {
    let (cipher, nonce) = ready::<A>(key, nonce)?;
    cipher.decrypt(&nonce, Payload { msg: envelope, aad: address })
}

fn ready<A: AeadCore + KeyInit>(key: &[u8], nonce: &[u8]) -> aead::Result<(A, Nonce<A>)> {
    let cipher = A::new_from_slice(key).map_err(|_| aead::Error)?;
    Ok((cipher, Nonce::<A>::try_from(nonce).map_err(|_| aead::Error)?))
}

/// A line of as many letters as a block has, scrambled, and whether it can be read again.
pub fn scramble<C: BlockCipherEncrypt + BlockCipherDecrypt + KeyInit>(
    key: &[u8],
    line: &[u8],
) -> Result<(String, bool), InvalidLength> {
    let cipher = C::new_from_slice(key)?;
    let mut block = Block::<C>::try_from(line).map_err(|_| InvalidLength)?;
    cipher.encrypt_block(&mut block);
    let scrambled = hexadecimal(&block);
    cipher.decrypt_block(&mut block);
    Ok((scrambled, block[..] == *line))
}

/// Noise to write a letter into.
pub fn noise<S: StreamCipher + KeyIvInit>(key: &[u8], nonce: &[u8], n_bytes: usize) -> Result<String, InvalidLength> {
    let mut bytes = vec![0; n_bytes];
    S::new_from_slices(key, nonce)?.apply_keystream(&mut bytes);
    Ok(hexadecimal(&bytes))
}

/// What an envelope looks like.
pub fn look(envelope: &[u8]) -> String {
    hexadecimal(envelope)
}
