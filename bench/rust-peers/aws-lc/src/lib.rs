//! Adapter of AWS-LC, through the C interface of the crate that aws-lc-rs stands on.

include!("../../abi.rs");

use aws_lc_sys as lc;
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// The crate; the library itself says no more than what it is compatible with.
const VERSION: &CStr = c"1.19.0";

/// Bytes of the tag.
const TAG_BYTES: usize = 16;

/// No result is longer than its input by more than the room behind it.
fn output_bytes(n_bytes: usize) -> usize {
    n_bytes
}

/// Opens an operation.
fn open(operation: &str, key: &[u8], iv: &[u8]) -> Option<Operation> {
    // SAFETY: these functions give pointers to constants.
    unsafe {
        match operation {
            "aes128 ecb-encrypt" => cipher(lc::EVP_aes_128_ecb(), true, key, iv),
            "aes128 ecb-decrypt" => cipher(lc::EVP_aes_128_ecb(), false, key, iv),
            "aes128 cbc-encrypt" => cipher(lc::EVP_aes_128_cbc(), true, key, iv),
            "aes128 cbc-decrypt" => cipher(lc::EVP_aes_128_cbc(), false, key, iv),
            "aes128 ctr" => cipher(lc::EVP_aes_128_ctr(), true, key, iv),
            "aes256 ecb-encrypt" => cipher(lc::EVP_aes_256_ecb(), true, key, iv),
            "aes256 ecb-decrypt" => cipher(lc::EVP_aes_256_ecb(), false, key, iv),
            "aes256 cbc-encrypt" => cipher(lc::EVP_aes_256_cbc(), true, key, iv),
            "aes256 cbc-decrypt" => cipher(lc::EVP_aes_256_cbc(), false, key, iv),
            "aes256 ctr" => cipher(lc::EVP_aes_256_ctr(), true, key, iv),
            "aes128-gcm aead-encrypt" => sealed(lc::EVP_aead_aes_128_gcm(), true, key, iv),
            "aes128-gcm aead-decrypt" => sealed(lc::EVP_aead_aes_128_gcm(), false, key, iv),
            "aes256-gcm aead-encrypt" => sealed(lc::EVP_aead_aes_256_gcm(), true, key, iv),
            "aes256-gcm aead-decrypt" => sealed(lc::EVP_aead_aes_256_gcm(), false, key, iv),
            "sha1 hash" => hash(lc::SHA1, 20),
            "sha256 hash" => hash(lc::SHA256, 32),
            "hmac-sha1 mac" => mac(lc::EVP_sha1(), key),
            "hmac-sha256 mac" => mac(lc::EVP_sha256(), key),
            _ => None,
        }
    }
}

fn cipher(algorithm: *const lc::EVP_CIPHER, encrypts: bool, key: &[u8], iv: &[u8]) -> Option<Operation> {
    let iv = iv.to_vec();
    // SAFETY: the key has the length that its set says; a context is never freed, it lives as long as the process.
    let context = unsafe {
        let context = lc::EVP_CIPHER_CTX_new();
        let given = lc::EVP_CipherInit_ex(context, algorithm, null_mut(), key.as_ptr(), iv.as_ptr(), encrypts.into());
        if given != 1 || lc::EVP_CIPHER_CTX_set_padding(context, 0) != 1 {
            return None;
        }
        context
    };
    Some(Box::new(move |input, output| {
        let mut n: c_int = 0;
        let n_bytes = c_int::try_from(input.len()).ok()?;
        // SAFETY: whole blocks come out, as many bytes as go in.
        let done = unsafe {
            lc::EVP_CipherInit_ex(context, null(), null_mut(), null(), iv.as_ptr(), -1) == 1
                && lc::EVP_CipherUpdate(context, output.as_mut_ptr(), &mut n, input.as_ptr(), n_bytes) == 1
        };
        if done { usize::try_from(n).ok() } else { None }
    }))
}

fn sealed(algorithm: *const lc::EVP_AEAD, encrypts: bool, key: &[u8], iv: &[u8]) -> Option<Operation> {
    let iv = iv.to_vec();
    // SAFETY: the key is as long as it says; a context is never freed, it lives as long as the process.
    let context = unsafe { lc::EVP_AEAD_CTX_new(algorithm, key.as_ptr(), key.len(), TAG_BYTES) };
    if context.is_null() {
        return None;
    }
    Some(Box::new(move |input, output| {
        let mut n = 0;
        let run = if encrypts { lc::EVP_AEAD_CTX_seal } else { lc::EVP_AEAD_CTX_open };
        // SAFETY: all lengths are those of the slices.
        let done = unsafe {
            run(
                context,
                output.as_mut_ptr(),
                &mut n,
                output.len(),
                iv.as_ptr(),
                iv.len(),
                input.as_ptr(),
                input.len(),
                null(),
                0,
            )
        };
        (done == 1).then_some(n)
    }))
}

fn hash(digest: unsafe extern "C" fn(*const u8, usize, *mut u8) -> *mut u8, n_bytes: usize) -> Option<Operation> {
    Some(Box::new(move |input, output| {
        // SAFETY: the room behind the output holds every digest.
        unsafe { digest(input.as_ptr(), input.len(), output.as_mut_ptr()) };
        Some(n_bytes)
    }))
}

fn mac(algorithm: *const lc::EVP_MD, key: &[u8]) -> Option<Operation> {
    // SAFETY: the key is as long as it says; a context is never freed, it lives as long as the process.
    let context = unsafe {
        let context = lc::HMAC_CTX_new();
        if lc::HMAC_Init_ex(context, key.as_ptr().cast(), key.len(), algorithm, null_mut()) != 1 {
            return None;
        }
        context
    };
    Some(Box::new(move |input, output| {
        let mut n = 0;
        // SAFETY: the room behind the output holds every tag.
        let done = unsafe {
            lc::HMAC_Init_ex(context, null(), 0, null(), null_mut()) == 1
                && lc::HMAC_Update(context, input.as_ptr(), input.len()) == 1
                && lc::HMAC_Final(context, output.as_mut_ptr(), &mut n) == 1
        };
        done.then_some(n as usize)
    }))
}
