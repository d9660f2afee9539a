//! Known answers through the traits of authenticated encryption, by functions that know nothing but these.

#![allow(dead_code, reason = "not every direction has known answers")]

use crate::Answer;
use aead::inout::InOutBuf;
use aead::{AeadInOut, KeyInit, Nonce, Tag};

const KEY: usize = 0;
const AD: usize = 4;
const INPUT: usize = 7;
const TAG_IN: usize = 8;
const OUTPUT: usize = 10;
const TAG: usize = 11;

/// The nonce of an answer, and whether it has the length that the type has.
fn nonce<A: AeadInOut>(given: &[u8]) -> (Nonce<A>, bool) {
    let mut nonce = Nonce::<A>::default();
    let n = given.len().min(nonce.len());
    nonce[..n].copy_from_slice(&given[..n]);
    (nonce.clone(), given.len() == nonce.len())
}

/// Messages there and back, by a type that threads can share; `string` is the number of their nonce.
pub fn encrypts<A: KeyInit + AeadInOut + Send + Sync>(answers: &[Answer], string: usize) {
    for answer in answers.iter().filter(|answer| !answer.refused) {
        let cipher = A::new_from_slice(answer.get(KEY)).expect("the key is legal");
        let (nonce, is_whole) = nonce::<A>(answer.get(string));
        let (ad, input) = (answer.get(AD), answer.get(INPUT));
        let mut text = input.to_vec();
        let tag = cipher.encrypt_inout_detached(&nonce, ad, (&mut text[..]).into()).expect("it encrypts");
        if is_whole {
            assert_eq!(text, answer.get(OUTPUT));
            assert_eq!(tag[..], *answer.get(TAG));
        }
        let mut back = vec![0xa5; text.len()];
        let apart = InOutBuf::new(&text, &mut back).unwrap();
        cipher.decrypt_inout_detached(&nonce, ad, apart, &tag).expect("it is authentic");
        assert_eq!(back, input);
        let mut forged = tag.clone();
        forged[0] ^= 1;
        let apart = InOutBuf::new(&text, &mut back).unwrap();
        cipher.decrypt_inout_detached(&nonce, ad, apart, &forged).expect_err("it is forged");
        assert!(back.iter().all(|&byte| byte == 0), "something is left of a forged message");
        cipher.decrypt_inout_detached(&nonce, ad, (&mut text[..]).into(), &tag).expect("it is authentic in place");
        assert_eq!(text, input);
    }
}

/// Messages that must be what they were, or be refused.
pub fn decrypts<A: KeyInit + AeadInOut>(answers: &[Answer], string: usize) {
    for answer in answers {
        let Ok(cipher) = A::new_from_slice(answer.get(KEY)) else {
            assert!(answer.refused);
            continue;
        };
        let ((nonce, true), Ok(tag)) = (nonce::<A>(answer.get(string)), Tag::<A>::try_from(answer.get(TAG_IN))) else {
            continue;
        };
        let mut text = answer.get(INPUT).to_vec();
        let result = cipher.decrypt_inout_detached(&nonce, answer.get(AD), (&mut text[..]).into(), &tag);
        assert_eq!(result.is_err(), answer.refused);
        if !answer.refused {
            assert_eq!(text, answer.get(OUTPUT));
        }
    }
}
