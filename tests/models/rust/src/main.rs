//! Random sequences of calls of traits of RustCrypto: generated types and those of its own crates side by side must show the
//! same of every call, errors included.
//!
//! `--seed N --sequences N --seconds N`; the last line says «N sequences, M differences».

use aead::{Aead, AeadInOut, KeyInit, Payload};
use cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser, KeyIvInit,
    StreamCipher,
};
use digest::{Digest, FixedOutput, FixedOutputReset, Mac, Reset, Update};
use std::time::{Duration, Instant};

struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as usize % most
    }

    fn bytes(&mut self, n: usize) -> Vec<u8> {
        (0..n).map(|_| self.below(256) as u8).collect()
    }

    /// So many bytes, or one or two more.
    fn bytes_about(&mut self, n: usize) -> Vec<u8> {
        let n = n + self.below(3);
        self.bytes(n)
    }

    /// Most pieces are short, some empty, some so long that whole groups of wide registers are in them.
    fn piece(&mut self) -> Vec<u8> {
        let most = [1, 4, 70, 400, 2500][self.below(5)];
        let n = self.below(most);
        self.bytes(n)
    }
}

type Shown = Result<(), String>;

fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: T, theirs: T) -> Shown {
    if ours == theirs { Ok(()) } else { Err(format!("{what}: {ours:02x?} and not {theirs:02x?}")) }
}

/// Whether a secret shows in what programs print while they look for mistakes: a context says nothing.
fn is_silent(shown: &str) -> Shown {
    if shown.chars().filter(char::is_ascii_digit).count() < 12 { Ok(()) } else { Err(format!("Debug shows {shown}")) }
}

fn digests<A, B>(chance: &mut Chance) -> Shown
where
    A: Digest + Reset + FixedOutputReset + Clone + std::fmt::Debug,
    B: Digest + Reset + FixedOutputReset + Clone,
{
    let (mut ours, mut theirs) = (<A as Digest>::new(), <B as Digest>::new());
    for _ in 0..chance.below(30) {
        match chance.below(8) {
            0 => same("finalize_reset", ours.finalize_reset().to_vec(), theirs.finalize_reset().to_vec())?,
            1 => (Digest::reset(&mut ours), Digest::reset(&mut theirs)).1,
            2 => same("a copy", ours.clone().finalize().to_vec(), theirs.clone().finalize().to_vec())?,
            3 => {
                let all = chance.piece();
                same("digest", A::digest(&all).to_vec(), B::digest(&all).to_vec())?;
            }
            _ => {
                let piece = chance.piece();
                Digest::update(&mut ours, &piece);
                Digest::update(&mut theirs, &piece);
            }
        }
    }
    is_silent(&format!("{ours:?}"))?;
    same("finalize", ours.finalize().to_vec(), theirs.finalize().to_vec())
}

fn macs<A, B>(chance: &mut Chance) -> Shown
where
    A: Mac + digest::common::KeyInit + Clone + std::fmt::Debug + Update + FixedOutput,
    B: Mac + digest::common::KeyInit + Clone + Update + FixedOutput,
{
    let n = chance.below(100);
    let key = chance.bytes(n);
    let ours = <A as digest::common::KeyInit>::new_from_slice(&key);
    let theirs = <B as digest::common::KeyInit>::new_from_slice(&key);
    let (Ok(mut ours), Ok(mut theirs)) = (ours, theirs) else { return Err(format!("a key of {n} bytes")) };
    is_silent(&format!("{ours:?}"))?;
    for _ in 0..chance.below(20) {
        let tag = theirs.clone().finalize_fixed().to_vec();
        match chance.below(6) {
            0 => same("a copy", ours.clone().finalize_fixed().to_vec(), tag)?,
            1 => {
                let mut forged = tag.clone();
                forged[chance.below(tag.len())] ^= 1 << chance.below(8);
                same("verify", ours.clone().verify_slice(&tag).is_ok(), true)?;
                same("verify a forged tag", ours.clone().verify_slice(&forged).is_ok(), false)?;
                same("verify a short tag", ours.clone().verify_slice(&tag[1..]).is_ok(), false)?;
                same("verify a beginning", ours.clone().verify_truncated_left(&tag[..10]).is_ok(), true)?;
            }
            _ => {
                let piece = chance.piece();
                Mac::update(&mut ours, &piece);
                Mac::update(&mut theirs, &piece);
            }
        }
    }
    same("finalize", ours.finalize().into_bytes().to_vec(), theirs.finalize().into_bytes().to_vec())
}

/// Lengths of keys and initial values, legal and not.
fn lengths<A: KeyIvInit, B: KeyIvInit>(chance: &mut Chance) -> Shown {
    let (key, iv) = (chance.bytes_about(15), chance.bytes_about(15));
    same("new_from_slices", A::new_from_slices(&key, &iv).is_ok(), B::new_from_slices(&key, &iv).is_ok())
}

fn streams<A, B>(chance: &mut Chance) -> Shown
where
    A: StreamCipher + KeyIvInit + Clone,
    B: StreamCipher + KeyIvInit,
{
    lengths::<A, B>(chance)?;
    let (key, iv) = (chance.bytes(A::key_size()), chance.bytes(A::iv_size()));
    let (Ok(mut ours), Ok(mut theirs)) = (A::new_from_slices(&key, &iv), B::new_from_slices(&key, &iv)) else {
        return Err("a key".into());
    };
    for _ in 0..chance.below(20) {
        let text = chance.piece();
        let (mut a, mut b) = (text.clone(), text.clone());
        match chance.below(5) {
            0 => {
                let copy = ours.clone();
                ours = copy;
            }
            1 => {
                let done = (ours.try_apply_keystream_b2b(&text, &mut a), theirs.try_apply_keystream_b2b(&text, &mut b));
                same("try_apply_keystream_b2b", done.0.is_ok(), done.1.is_ok())?;
            }
            2 => {
                // Rooms of another length are refused, and nothing of the key stream is used.
                let mut long = vec![0; text.len() + 1];
                same("another length", ours.try_apply_keystream_b2b(&text, &mut long).is_err(), true)?;
                same("another length", theirs.try_apply_keystream_b2b(&text, &mut long).is_err(), true)?;
            }
            3 => same(
                "try_apply_keystream",
                ours.try_apply_keystream(&mut a).is_ok(),
                theirs.try_apply_keystream(&mut b).is_ok(),
            )?,
            _ => {
                ours.write_keystream(&mut a);
                theirs.write_keystream(&mut b);
            }
        }
        same("key stream", a, b)?;
    }
    Ok(())
}

fn blocks<A, B>(chance: &mut Chance) -> Shown
where
    A: BlockCipherEncrypt + BlockCipherDecrypt + cipher::KeyInit + Clone,
    B: BlockCipherEncrypt + BlockCipherDecrypt + cipher::KeyInit + BlockSizeUser<BlockSize = A::BlockSize>,
{
    let key = chance.bytes_about(15);
    let (ours, theirs) = (<A as cipher::KeyInit>::new_from_slice(&key), <B as cipher::KeyInit>::new_from_slice(&key));
    same("new_from_slice", ours.is_ok(), theirs.is_ok())?;
    let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(()) };
    for _ in 0..chance.below(6) {
        let n = chance.below(20);
        let text: Vec<Array<u8, A::BlockSize>> = (0..n).map(|_| Array::from_fn(|_| chance.below(256) as u8)).collect();
        let (mut a, mut b) = (text.clone(), text.clone());
        match chance.below(4) {
            0 => (ours.encrypt_blocks(&mut a), theirs.encrypt_blocks(&mut b)).1,
            1 => (ours.decrypt_blocks(&mut a), theirs.decrypt_blocks(&mut b)).1,
            2 => {
                let done = (ours.encrypt_blocks_b2b(&text, &mut a), theirs.encrypt_blocks_b2b(&text, &mut b));
                same("encrypt_blocks_b2b", done.0.is_ok(), done.1.is_ok())?;
            }
            _ => {
                a.iter_mut().for_each(|block| ours.clone().decrypt_block(block));
                b.iter_mut().for_each(|block| theirs.decrypt_block(block));
            }
        }
        same("blocks", a, b)?;
    }
    Ok(())
}

fn modes<A, B, C, D>(chance: &mut Chance) -> Shown
where
    A: BlockModeEncrypt + KeyIvInit + Clone,
    B: BlockModeEncrypt + KeyIvInit + BlockSizeUser<BlockSize = A::BlockSize>,
    C: BlockModeDecrypt + KeyIvInit + BlockSizeUser<BlockSize = A::BlockSize>,
    D: BlockModeDecrypt + KeyIvInit + BlockSizeUser<BlockSize = A::BlockSize>,
{
    lengths::<A, B>(chance)?;
    lengths::<C, D>(chance)?;
    let (key, iv) = (chance.bytes(A::key_size()), chance.bytes(A::iv_size()));
    let made = (A::new_from_slices(&key, &iv), B::new_from_slices(&key, &iv));
    let back = (C::new_from_slices(&key, &iv), D::new_from_slices(&key, &iv));
    let ((Ok(mut ours), Ok(mut theirs)), (Ok(mut our_back), Ok(mut their_back))) = (made, back) else {
        return Err("a key".into());
    };
    for _ in 0..chance.below(8) {
        let n = chance.below(20);
        let text: Vec<Array<u8, A::BlockSize>> = (0..n).map(|_| Array::from_fn(|_| chance.below(256) as u8)).collect();
        let (mut a, mut b) = (text.clone(), text.clone());
        match chance.below(3) {
            0 => {
                let copy = ours.clone();
                ours = copy;
            }
            1 => (our_back.decrypt_blocks(&mut a), their_back.decrypt_blocks(&mut b)).1,
            _ => (ours.encrypt_blocks(&mut a), theirs.encrypt_blocks(&mut b)).1,
        }
        same("blocks", a, b)?;
    }
    Ok(())
}

fn aeads<A, B>(chance: &mut Chance) -> Shown
where
    A: AeadInOut + KeyInit + Clone,
    B: AeadInOut + KeyInit + aead::AeadCore<NonceSize = A::NonceSize, TagSize = A::TagSize>,
{
    let key = chance.bytes_about(A::key_size() - 1);
    let (ours, theirs) = (A::new_from_slice(&key), B::new_from_slice(&key));
    same("new_from_slice", ours.is_ok(), theirs.is_ok())?;
    let (Ok(ours), Ok(theirs)) = (ours, theirs) else { return Ok(()) };
    for _ in 0..chance.below(6) {
        let nonce = Array::from_fn(|_| chance.below(256) as u8);
        let (msg, aad) = (chance.piece(), chance.piece());
        let payload = || Payload { msg: &msg, aad: &aad };
        let (a, b) = (ours.clone().encrypt(&nonce, payload()), theirs.encrypt(&nonce, payload()));
        let (Ok(mut a), Ok(b)) = (a, b) else { return Err("encrypt".into()) };
        same("encrypt", &a, &b)?;
        let is_forged = chance.below(3) == 0;
        if is_forged {
            let at = chance.below(a.len());
            a[at] ^= 1 << chance.below(8);
        }
        let opened = ours.decrypt(&nonce, Payload { msg: &a, aad: &aad });
        same("decrypt", opened.ok(), (!is_forged).then(|| msg.clone()))?;
        let short = chance.below(16);
        same("too short", ours.decrypt(&nonce, &b[..short]).is_err(), true)?;
        let mut detached = msg.clone();
        let (Ok(tag), Ok(other)) = (
            ours.encrypt_inout_detached(&nonce, &aad, detached.as_mut_slice().into()),
            theirs.encrypt_inout_detached(&nonce, &aad, msg.clone().as_mut_slice().into()),
        ) else {
            return Err("detached".into());
        };
        same("tag", tag, other)?;
        same("detached", &detached[..], &b[..msg.len()])?;
    }
    Ok(())
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let value = |name: &str| {
        let at = words.iter().position(|word| word == name)?;
        let number = words.get(at + 1).and_then(|word| word.parse::<u64>().ok());
        Some(number.unwrap_or_else(|| refused(&format!("{name} takes a number"))))
    };
    let (first, most) = (value("--seed").unwrap_or(1), value("--sequences").unwrap_or(1000));
    let until = Instant::now() + Duration::from_secs(value("--seconds").unwrap_or(1 << 20));
    type Test = fn(&mut Chance) -> Shown;
    let tests: [(&str, Test); 8] = [
        ("Sha256", digests::<sha256::Sha256, sha2::Sha256>),
        ("HmacSha256", macs::<hmac_sha256::HmacSha256, hmac::Hmac<sha2::Sha256>>),
        ("SimpleHmac<Sha256>", macs::<hmac::SimpleHmac<sha256::Sha256>, hmac::Hmac<sha2::Sha256>>),
        ("Aes128Ctr", streams::<aes128::Aes128Ctr, ctr::Ctr128BE<aes::Aes128>>),
        ("Aes128", blocks::<aes128::Aes128, aes::Aes128>),
        (
            "Aes128Cbc",
            modes::<
                aes128::Aes128CbcEncrypt,
                cbc::Encryptor<aes::Aes128>,
                aes128::Aes128CbcDecrypt,
                cbc::Decryptor<aes::Aes128>,
            >,
        ),
        ("Aes128Gcm", aeads::<aes128_gcm::Aes128Gcm, aes_gcm::Aes128Gcm>),
        ("Chacha20Poly1305", aeads::<chacha20_poly1305::Chacha20Poly1305, chacha20poly1305::ChaCha20Poly1305>),
    ];
    let (mut n, mut differences) = (0, 0);
    while n < most && Instant::now() < until {
        let seed = first + n;
        let (name, test) = tests[seed as usize % tests.len()];
        n += 1;
        if let Err(why) = test(&mut Chance(seed)) {
            differences += 1;
            if differences <= 5 {
                println!("--seed {seed}: {name}: {why}");
            }
        }
    }
    if n == 0 {
        refused("no sequence was run, which proves nothing");
    }
    println!("{n} sequences, {differences} differences");
    std::process::exit(i32::from(differences != 0));
}

/// Says why it cannot be run so, and ends.
fn refused(why: &str) -> ! {
    eprintln!("{why}");
    std::process::exit(2)
}
