//! Authenticated encryption.

use crate::Operation;
use aead::inout::InOutBuf;
use aead::{AeadInOut, KeyInit, Nonce, Tag};
use cipher::consts::{U12, U16};

/// Bytes of the tag.
const TAG_BYTES: usize = 16;

/// Opens an AEAD in one direction.
pub fn open(set: &str, encrypts: bool, key: &[u8], iv: &[u8]) -> Option<Operation> {
    match set {
        "aes128-gcm" => with::<aes_gcm::Aes128Gcm>(encrypts, key, iv),
        "aes256-gcm" => with::<aes_gcm::Aes256Gcm>(encrypts, key, iv),
        "aes128-ccm" => with::<ccm::Ccm<aes::Aes128, U16, U12>>(encrypts, key, iv),
        "aes128-ocb3" => with::<ocb3::Ocb3<aes::Aes128, U12>>(encrypts, key, iv),
        "aes128-gcm-siv" => with::<aes_gcm_siv::Aes128GcmSiv>(encrypts, key, iv),
        "aes256-gcm-siv" => with::<aes_gcm_siv::Aes256GcmSiv>(encrypts, key, iv),
        "aegis-128l" => aegis_128l(encrypts, key, iv),
        "ascon-aead128" => with::<ascon_aead::AsconAead128>(encrypts, key, iv),
        _ => None,
    }
}

/// The crate of AEGIS has an interface of its own: text is changed in place.
fn aegis_128l(encrypts: bool, key: &[u8], iv: &[u8]) -> Option<Operation> {
    let (key, nonce): ([u8; 16], [u8; 16]) = (key.try_into().ok()?, iv.try_into().ok()?);
    let aead = move || aegis::aegis128l::Aegis128L::<TAG_BYTES>::new(&key, &nonce);
    if encrypts {
        return Some(Box::new(move |input, output| {
            let (text, rest) = output.split_at_mut(input.len());
            text.copy_from_slice(input);
            rest.get_mut(..TAG_BYTES)?.copy_from_slice(&aead().encrypt_in_place(text, &[]));
            Some(input.len() + TAG_BYTES)
        }));
    }
    Some(Box::new(move |input, output| {
        let (text, tag) = input.split_at(input.len().checked_sub(TAG_BYTES)?);
        let output = output.get_mut(..text.len())?;
        output.copy_from_slice(text);
        aead().decrypt_in_place(output, tag.try_into().ok()?, &[]).ok()?;
        Some(text.len())
    }))
}

fn with<A: AeadInOut + KeyInit + 'static>(encrypts: bool, key: &[u8], iv: &[u8]) -> Option<Operation> {
    let aead = A::new_from_slice(key).ok()?;
    let nonce = Nonce::<A>::try_from(iv).ok()?;
    if encrypts {
        return Some(Box::new(move |input, output| {
            let (text, rest) = output.split_at_mut(input.len());
            let tag = aead.encrypt_inout_detached(&nonce, &[], InOutBuf::new(input, text).ok()?).ok()?;
            rest.get_mut(..tag.len())?.copy_from_slice(&tag);
            Some(input.len() + tag.len())
        }));
    }
    Some(Box::new(move |input, output| {
        let (text, tag) = input.split_at(input.len().checked_sub(TAG_BYTES)?);
        let tag = Tag::<A>::try_from(tag).ok()?;
        let bytes = InOutBuf::new(text, output.get_mut(..text.len())?).ok()?;
        aead.decrypt_inout_detached(&nonce, &[], bytes, &tag).ok()?;
        Some(text.len())
    }))
}
