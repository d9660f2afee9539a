//! Load coalescing of byte tokens. Bytes that come in as words, and are then cut elsewhere than between bytes.
//!
//! ```text
//! Concat[in0[6..0], in1, in2, in3, in0[7]]      =>    a rotation of words[0], in which tokens 0 to 3 are
//! ```
//!
//! Movements of bits follow bytes to where they came from. A word of tokens that is rotated would be put together once
//! more from its bytes, for each rotation in another way; as an element it is one value, which is read and then
//! rotated.
//!
//! Result: words of tokens that are cut are elements of objects of their own, which nothing is stored in.

use super::pass::{Form, ITERATIONS, Parts, Pass, boxed, leaves_the_same};
use crate::kernel::evaluate::run_loop;
use crate::kernel::{Graph, Loop, NodeId, Object, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Range;

/// The pass.
pub const PASS: Pass = Pass {
    name: "coalesce-token-loads",
    about: "Reads bytes of tokens as words where these are cut elsewhere than between bytes",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| coalesce_token_loads(body).map(|(body, words)| boxed(Coalesced { body, words }))),
};

/// Bytes of a word, longest first.
const SIZES: [usize; 2] = [8, 4];

/// An object whose elements are words of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenWords {
    /// The object: elements of 32 or 64 bits.
    pub object: ObjectId,
    /// The input port.
    pub port: u32,
    /// Where the tokens of each element begin; they lie one behind the other.
    pub first: Vec<i64>,
    /// Tokens of an element.
    pub bytes: usize,
    /// The first token of an element is its most significant byte.
    pub big: bool,
}

impl TokenWords {
    /// The tokens of an element.
    pub fn tokens(&self, index: usize) -> Option<Range<i64>> {
        self.first.get(index).map(|&first| first..first + self.bytes as i64)
    }
}

/// A word: where its tokens begin, how many they are, and whether the first is the most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    port: u32,
    bytes: usize,
    big: bool,
    first: i64,
}

impl Word {
    fn tokens(self) -> impl Iterator<Item = (u32, i64)> {
        (0..self.bytes as i64).map(move |at| (self.port, self.first + at))
    }
}

/// The loop with words that are cut as elements of objects; `None` where there are none.
pub fn coalesce_token_loads(body: &Loop) -> Option<(Loop, Vec<TokenWords>)> {
    let order = body.needed();
    let cut = cut_tokens(&body.graph, &order);
    let words = words(&body.graph, &order, &cut);
    if words.is_empty() {
        return None;
    }
    let mut objects = body.objects.clone();
    let mut all: BTreeMap<(u32, usize, bool), TokenWords> = BTreeMap::new();
    let mut elements: FxHashMap<(u32, i64), (ObjectId, usize, u32)> = FxHashMap::default();
    for word in words {
        let next = ObjectId((body.objects.len() + all.len()) as u32);
        let Word { port, bytes, big, first } = word;
        let empty = || TokenWords { object: next, port, first: Vec::new(), bytes, big };
        let own = all.entry((port, bytes, big)).or_insert_with(empty);
        for (place, token) in word.tokens().enumerate() {
            let lo = 8 * if big { bytes - 1 - place } else { place };
            elements.insert(token, (own.object, own.first.len(), lo as u32));
        }
        own.first.push(first);
    }
    let mut all: Vec<TokenWords> = all.into_values().collect();
    all.sort_by_key(|words| words.object);
    for words in &all {
        let (name, width) = (format!("words_of_input_{}", words.port), 8 * words.bytes as u32);
        objects.push(Object { name, width, length: words.first.len(), persistent: true, residue: None });
    }
    let body = Loop { objects, ..body.clone() };
    let body = body.rebuilt(|graph, new, id| match *body.graph.op(id) {
        Op::Input { port, offset } => match elements.get(&(port, offset)) {
            Some(&(object, at, lo)) => {
                let at = graph.number(at as u128, 64);
                let word = graph.entry(object, at, body.objects[object.0 as usize].width);
                Some(graph.extract(word, lo, 8))
            }
            None => graph.copy(&body.graph, id, new),
        },
        _ => graph.copy(&body.graph, id, new),
    })?;
    Some((body, all))
}

/// Tokens of eight bits of which some are read alone.
fn cut_tokens(graph: &Graph, order: &[NodeId]) -> FxHashSet<(u32, i64)> {
    let token = |id: &NodeId| match *graph.op(*id) {
        Op::Extract(from, _) if graph.width(from) == 8 => token(graph, from),
        _ => None,
    };
    order.iter().filter_map(token).collect()
}

fn token(graph: &Graph, id: NodeId) -> Option<(u32, i64)> {
    match *graph.op(id) {
        Op::Input { port, offset } => Some((port, offset)),
        _ => None,
    }
}

/// Words that are put together from tokens of which some are cut; no token is in two of them.
fn words(graph: &Graph, order: &[NodeId], cut: &FxHashSet<(u32, i64)>) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut taken: FxHashSet<(u32, i64)> = FxHashSet::default();
    for bytes in SIZES {
        for &id in order {
            let Op::Concat(parts) = graph.op(id) else { continue };
            for parts in parts.chunks_exact(bytes).filter(|_| parts.len() % bytes == 0) {
                let Some(word) = word(graph, parts) else { continue };
                if word.tokens().any(|token| cut.contains(&token)) && !word.tokens().any(|token| taken.contains(&token))
                {
                    taken.extend(word.tokens());
                    found.push(word);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

/// The word that parts are, the most significant first.
fn word(graph: &Graph, parts: &[NodeId]) -> Option<Word> {
    let bytes = parts.len();
    let tokens: Vec<(u32, i64)> =
        parts.iter().map(|&part| token(graph, part).filter(|_| graph.width(part) == 8)).collect::<Option<_>>()?;
    let (&(port, highest), &(_, lowest)) = (tokens.first()?, tokens.last()?);
    let big = highest < lowest;
    let first = highest.min(lowest);
    let word = Word { port, bytes, big, first };
    let mut expected: Vec<(u32, i64)> = word.tokens().collect();
    if !big {
        expected.reverse();
    }
    (tokens == expected).then_some(word)
}

/// A loop, and the words that it reads.
struct Coalesced {
    body: Loop,
    words: Vec<TokenWords>,
}

impl Parts for Coalesced {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("coalesced", &self.body)]
    }

    fn beside(&self) -> Vec<String> {
        let line = |words: &TokenWords| {
            let TokenWords { object, port, first, bytes, big } = words;
            let order = if *big { "big-endian" } else { "little-endian" };
            format!("o{}: {bytes} bytes of input {port} in each element, {order}, from tokens {first:?} on", object.0)
        };
        self.words.iter().map(line).collect()
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            let own = self.body.objects.get(body.objects.len()..)?;
            world.objects.extend(own.iter().map(|object| vec![0; object.length]));
            for _ in 0..ITERATIONS {
                for words in &self.words {
                    let begin = *world.consumed.get(words.port as usize)? as i64;
                    for at in 0..words.first.len() {
                        let mut bytes: Vec<u128> = Vec::new();
                        for token in words.tokens(at)? {
                            let token = usize::try_from(begin + token).ok()?;
                            bytes.push(*world.inputs.get(words.port as usize)?.get(token)?);
                        }
                        if !words.big {
                            bytes.reverse();
                        }
                        let word = bytes.into_iter().fold(0, |word, byte| word << 8 | byte);
                        world.objects[words.object.0 as usize][at] = word;
                    }
                }
                run_loop(&self.body, world, 1);
            }
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_loops::{iterations, made};
    use super::*;
    use crate::kernel::evaluate::Environment;

    fn token_at(offset: i64) -> u128 {
        u128::from((offset as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56)
    }

    /// Tokens, and the words of them.
    struct Tokens<'a>(&'a [TokenWords]);

    impl Environment for Tokens<'_> {
        fn input(&self, _port: u32, offset: i64) -> u128 {
            token_at(offset)
        }
        fn entry(&self, object: ObjectId, index: u128) -> u128 {
            let words = self.0.iter().find(|words| words.object == object).expect("no other objects");
            let tokens = words.tokens(index as usize).expect("an element");
            tokens.enumerate().fold(0, |word, (at, token)| {
                let place = if words.big { words.bytes - 1 - at } else { at };
                word | token_at(token) << (8 * place)
            })
        }
    }

    fn word_of(graph: &mut Graph, first: i64, bytes: i64, big: bool) -> NodeId {
        let mut tokens: Vec<NodeId> = (first..first + bytes).map(|at| graph.input(0, at, 8)).collect();
        if !big {
            tokens.reverse();
        }
        graph.concat(&tokens)
    }

    #[test]
    fn rotated_words_are_rotations_of_elements() {
        for (bytes, big) in [(4, true), (4, false), (8, true), (8, false)] {
            let old = iterations(&[(4 * bytes as u64, 8)], |graph| {
                let words: Vec<NodeId> = (0..4).map(|at| word_of(graph, at * bytes, bytes, big)).collect();
                words.into_iter().flat_map(|word| [word, graph.rotate_left_by(word, 5)]).collect()
            });
            let (new, words) = coalesce_token_loads(&old).expect("words are rotated");
            assert_eq!(made(&old, &Tokens(&[])), made(&new, &Tokens(&words)));
            let first = (0..4).map(|at| at * bytes).collect();
            assert_eq!(words, [TokenWords { object: ObjectId(0), port: 0, first, bytes: bytes as usize, big }]);
            let is_input = |id: &NodeId| matches!(new.graph.op(*id), Op::Input { .. });
            assert!(!new.needed().iter().any(is_input), "{bytes} bytes");
        }
    }

    #[test]
    fn words_of_which_only_bytes_are_read_stay() {
        let old = iterations(&[(4, 8)], |graph| {
            let word = word_of(graph, 0, 4, true);
            let turned = graph.rotate_left_by(word, 8);
            let byte = graph.extract(word, 16, 8);
            vec![word, turned, byte]
        });
        assert!(coalesce_token_loads(&old).is_none());
        let bits = iterations(&[(4, 8)], |graph| {
            let token = graph.input(0, 0, 8);
            vec![graph.extract(token, 3, 2)]
        });
        assert!(coalesce_token_loads(&bits).is_none());
    }
}
