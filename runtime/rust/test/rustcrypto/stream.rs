//! Known answers through the traits of stream ciphers, by functions that know nothing but these.

use crate::Answer;
use cipher::StreamCipher;

const INPUT: usize = 7;
const OUTPUT: usize = 10;

pub fn adds_stream<C: StreamCipher>(answers: &[Answer], new: impl Fn(&Answer) -> C) {
    for answer in answers.iter().filter(|answer| !answer.refused) {
        let (input, wanted) = (answer.get(INPUT), answer.get(OUTPUT));
        let mut out = vec![0xa5; input.len()];
        new(answer).apply_keystream_b2b(input, &mut out);
        assert_eq!(out, wanted, "whole");
        let mut out = input.to_vec();
        let (mut cipher, mut rest, mut piece) = (new(answer), &mut out[..], 0);
        while !rest.is_empty() {
            let (now, more) = rest.split_at_mut(rest.len().min(piece));
            cipher.apply_keystream(now);
            rest = more;
            piece += 1;
        }
        assert_eq!(out, wanted, "in pieces");
        let mut out = vec![0xa5; input.len()];
        new(answer).write_keystream(&mut out);
        out.iter_mut().zip(input).for_each(|(byte, input)| *byte ^= input);
        assert_eq!(out, wanted, "as a key stream");
    }
}
