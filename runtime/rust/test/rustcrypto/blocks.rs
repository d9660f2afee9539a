//! Known answers through the traits of block ciphers and modes, by functions that know nothing but these.

#![allow(dead_code, unused_imports, reason = "each crate uses the part of it that its shapes need")]

use crate::Answer;
use cipher::{
    Block, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser, KeyInit,
    KeyIvInit,
};

const KEY: usize = 0;
const INPUT: usize = 7;
const OUTPUT: usize = 10;

/// More blocks than are done at once.
const MANY: usize = 40;

fn blocks<C: BlockSizeUser>(bytes: &[u8]) -> Vec<Block<C>> {
    assert!(bytes.len().is_multiple_of(C::block_size()));
    bytes.chunks(C::block_size()).map(|block| Block::<C>::try_from(block).unwrap()).collect()
}

fn accepted(answers: &[Answer]) -> impl Iterator<Item = &Answer> {
    answers.iter().filter(|answer| !answer.refused)
}

/// Blocks one by one in place, and many from one place to another.
fn core<C: BlockSizeUser>(answer: &Answer, one: impl Fn(&mut Block<C>), all: impl Fn(&[Block<C>], &mut [Block<C>])) {
    let input = blocks::<C>(answer.get(INPUT));
    let mut out = input.clone();
    out.iter_mut().for_each(one);
    assert_eq!(out.concat(), answer.get(OUTPUT), "one by one");
    let many = blocks::<C>(&answer.get(INPUT).repeat(MANY));
    let mut out = vec![Block::<C>::default(); many.len()];
    all(&many, &mut out);
    assert_eq!(out.concat(), answer.get(OUTPUT).repeat(MANY), "many at once");
}

pub fn encrypts<C: KeyInit + BlockCipherEncrypt>(answers: &[Answer]) {
    for answer in accepted(answers) {
        let cipher = C::new_from_slice(answer.get(KEY)).expect("the key is legal");
        core::<C>(answer, |block| cipher.encrypt_block(block), |from, to| cipher.encrypt_blocks_b2b(from, to).unwrap());
    }
}

pub fn decrypts<C: KeyInit + BlockCipherDecrypt>(answers: &[Answer]) {
    for answer in accepted(answers) {
        let cipher = C::new_from_slice(answer.get(KEY)).expect("the key is legal");
        core::<C>(answer, |block| cipher.decrypt_block(block), |from, to| cipher.decrypt_blocks_b2b(from, to).unwrap());
    }
}

/// Both directions of one type, which threads can share.
pub fn goes_back<C: KeyInit + BlockCipherEncrypt + BlockCipherDecrypt + Send + Sync>(answers: &[Answer]) {
    for answer in accepted(answers) {
        let cipher = C::new_from_slice(answer.get(KEY)).expect("the key is legal");
        let mut text = blocks::<C>(&answer.get(INPUT).repeat(MANY));
        cipher.encrypt_blocks(&mut text);
        cipher.decrypt_blocks(&mut text);
        assert_eq!(text.concat(), answer.get(INPUT).repeat(MANY));
    }
}

/// A message in a mode: the first block alone in place, then all others.
fn mode<C: BlockSizeUser>(answer: &Answer, mut next: impl FnMut(&mut [Block<C>])) {
    let mut text = blocks::<C>(answer.get(INPUT));
    let n_first = text.len().min(1);
    let (first, others) = text.split_at_mut(n_first);
    next(first);
    next(others);
    assert_eq!(text.concat(), answer.get(OUTPUT));
}

pub fn encrypts_by_mode<C: BlockModeEncrypt>(answers: &[Answer], new: impl Fn(&Answer) -> C) {
    for answer in accepted(answers) {
        let mut cipher = new(answer);
        mode::<C>(answer, |blocks| cipher.encrypt_blocks(blocks));
    }
}

pub fn decrypts_by_mode<C: BlockModeDecrypt>(answers: &[Answer], new: impl Fn(&Answer) -> C) {
    for answer in accepted(answers) {
        let mut cipher = new(answer);
        mode::<C>(answer, |blocks| cipher.decrypt_blocks(blocks));
    }
}
