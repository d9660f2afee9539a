//! Loops as ciphers have them, made by hand: what the compiler finds in networks, without the networks.

use super::random::{Grower, Random};
use headrace_transform::kernel::{Carried, Carry, Counter, Graph, Loop, NodeId, Object, ObjectId, Table};

/// A loop over byte tokens of one port each way.
pub struct Bytes {
    pub graph: Graph,
    pub objects: Vec<Object>,
    outputs: Vec<NodeId>,
    pub n_input: u64,
    carried: Vec<Carried>,
    counters: Vec<Counter>,
}

impl Bytes {
    pub fn new(n_input: u64) -> Bytes {
        Bytes {
            graph: Graph::new(),
            objects: Vec::new(),
            outputs: Vec::new(),
            n_input,
            carried: Vec::new(),
            counters: Vec::new(),
        }
    }

    pub fn object(&mut self, name: &str, width: u32, length: usize) -> ObjectId {
        self.objects.push(Object { name: name.into(), width, length, persistent: true, residue: None });
        ObjectId(self.objects.len() as u32 - 1)
    }

    pub fn entry(&mut self, object: ObjectId, index: usize) -> NodeId {
        let width = self.objects[object.0 as usize].width;
        let index = self.graph.number(index as u128, 64);
        self.graph.entry(object, index, width)
    }

    pub fn byte(&mut self, offset: u64) -> NodeId {
        self.graph.input(0, offset as i64, 8)
    }

    /// Input bytes from an offset on as one value.
    pub fn word(&mut self, first: u64, n: u64, big: bool) -> NodeId {
        let mut parts: Vec<NodeId> = (0..n).map(|i| self.byte(first + i)).collect();
        if !big {
            parts.reverse();
        }
        self.graph.concat(&parts)
    }

    pub fn put(&mut self, value: NodeId, big: bool) {
        let n = self.graph.width(value) / 8;
        for i in 0..n {
            let lo = if big { n - 1 - i } else { i } * 8;
            let byte = self.graph.extract(value, lo, 8);
            self.outputs.push(byte);
        }
    }

    pub fn finish(self) -> Loop {
        let produces = vec![(self.outputs.len() as u64, 8)];
        let outputs = self.outputs.into_iter().enumerate().map(|(i, value)| (0, i as u64, value)).collect();
        Loop {
            graph: self.graph,
            objects: self.objects,
            consumes: vec![(self.n_input, 8)],
            produces,
            outputs,
            carried: self.carried,
            counters: self.counters,
        }
    }
}

/// A Feistel network whose four tables of words are known late, and one of bytes, with sums, differences and a rotation
/// by a bit.
pub fn late_tables(n_rounds: usize) -> Loop {
    let mut l = Bytes::new(8);
    let tables = l.object("late", 32, 1024);
    let bytes = l.object("late_bytes", 8, 256);
    let keys = l.object("keys", 32, n_rounds);
    let (mut left, mut right) = (l.word(0, 4, true), l.word(4, 4, false));
    for round in 0..n_rounds {
        let key = l.entry(keys, round);
        left = l.graph.xor(left, key);
        let looked: Vec<NodeId> = (0..4)
            .map(|at| {
                let byte = l.graph.extract(left, 24 - 8 * at, 8);
                let above = l.graph.number(u128::from(at), 2);
                let index = l.graph.concat(&[above, byte]);
                l.graph.entry(tables, index, 32)
            })
            .collect();
        let low = l.graph.extract(left, 3, 8);
        let first = l.graph.sum(looked[0], looked[1]);
        let second = l.graph.xor(first, looked[2]);
        let third = l.graph.difference(second, looked[3]);
        let turned = l.graph.rotate_left_by(third, 1);
        let direct = l.graph.entry(bytes, low, 8);
        let direct = l.graph.zero_extend(direct, 32);
        let all = l.graph.sum(turned, direct);
        let mixed = l.graph.xor(right, all);
        right = left;
        left = mixed;
    }
    l.put(left, true);
    l.put(right, false);
    l.finish()
}

/// Additions, rotations by values to the left and to the right, two words of 32 bits.
pub fn rotating(n_rounds: usize) -> Loop {
    let mut l = Bytes::new(8);
    let keys = l.object("keys", 32, 2 * n_rounds + 2);
    let (mut a, mut b) = (l.word(0, 4, false), l.word(4, 4, false));
    let (k0, k1) = (l.entry(keys, 0), l.entry(keys, 1));
    a = l.graph.sum(a, k0);
    b = l.graph.sum(b, k1);
    for round in 1..=n_rounds {
        let k = (l.entry(keys, 2 * round), l.entry(keys, 2 * round + 1));
        let mixed = l.graph.xor(a, b);
        let turned = l.graph.rotate_left(mixed, b);
        a = l.graph.sum(turned, k.0);
        let mixed = l.graph.xor(b, a);
        let zero = l.graph.number(0, 32);
        let back = l.graph.difference(zero, a);
        let turned = l.graph.rotate_left(mixed, back);
        b = l.graph.sum(turned, k.1);
    }
    l.put(a, false);
    l.put(b, false);
    l.finish()
}

/// A Feistel network with tables of 64 entries and permutations of single bits. Only the shape is DES's; the tables and
/// permutations are random.
pub fn feistel(random: &mut Random, n_rounds: usize) -> Loop {
    let mut l = Bytes::new(8);
    let keys = l.object("keys", 48, n_rounds);
    let mut left = l.word(0, 4, true);
    let mut right = l.word(4, 4, true);
    let tables: Vec<_> = (0..8)
        .map(|i| {
            let elements: Vec<u128> = (0..64).map(|_| random.bits(4)).collect();
            l.graph.add_table(Table { name: format!("s{i}"), width: 4, elements: elements.into() })
        })
        .collect();
    let permutation: Vec<u32> = shuffled(random, 32);
    for round in 0..n_rounds {
        let mut parts = Vec::new();
        let key = l.entry(keys, round);
        for (i, &table) in tables.iter().enumerate() {
            let around = l.graph.rotate_left_by(right, (4 * i as u32 + 5) % 32);
            let six = l.graph.extract(around, 0, 6);
            let k = l.graph.extract(key, 42 - 6 * i as u32, 6);
            let index = l.graph.xor(six, k);
            parts.push(l.graph.lookup(table, index));
        }
        let boxed = l.graph.concat(&parts);
        let bits: Vec<NodeId> = permutation.iter().map(|&from| l.graph.extract(boxed, from, 1)).collect();
        let permuted = l.graph.concat(&bits);
        let mixed = l.graph.xor(left, permuted);
        left = right;
        right = mixed;
    }
    l.put(right, true);
    l.put(left, true);
    l.finish()
}

/// Bytes through a table, rows moved, columns mixed over GF(2^8): rounds of the shape of the AES.
pub fn substitution(n_rounds: usize, counter: bool) -> Loop {
    let mut l = Bytes::new(16);
    let keys = l.object("round_keys", 8, 16 * (n_rounds + 1));
    let elements: Vec<u128> = (0..256).map(inverted).collect();
    let table = l.graph.add_table(Table { name: "box".into(), width: 8, elements: elements.into() });
    let mut state: Vec<NodeId> = if counter { counter_bytes(&mut l) } else { (0..16).map(|i| l.byte(i)).collect() };
    for (i, byte) in state.iter_mut().enumerate() {
        let key = l.entry(keys, i);
        *byte = l.graph.xor(*byte, key);
    }
    for round in 1..=n_rounds {
        let moved: Vec<NodeId> = (0..16).map(|i| l.graph.lookup(table, state[(i * 5) % 16])).collect();
        for column in 0..4 {
            for row in 0..4 {
                let at = |i: usize| moved[4 * column + (row + i) % 4];
                let mut sum = at(2);
                if round < n_rounds {
                    let one = l.graph.xor(at(0), at(1));
                    let doubled = double(&mut l.graph, one);
                    sum = l.graph.xor(sum, doubled);
                    sum = l.graph.xor(sum, at(1));
                    sum = l.graph.xor(sum, at(3));
                }
                let key = l.entry(keys, 16 * round + 4 * column + row);
                state[4 * column + row] = l.graph.xor(sum, key);
            }
        }
    }
    for (i, byte) in state.into_iter().enumerate() {
        let token = l.byte(i as u64);
        let value = if counter { l.graph.xor(byte, token) } else { byte };
        l.put(value, true);
    }
    l.finish()
}

/// Four bytes beside each other in a word, on which operations of the word compute the same function of each, and sums
/// of neighbours between such functions.
pub fn beside(n_rounds: usize, counter: bool) -> Loop {
    let mut l = Bytes::new(4);
    let keys = l.object("round_keys", 8, 4 * n_rounds);
    let counted = if counter { counter_bytes(&mut l)[12..].to_vec() } else { Vec::new() };
    let mut state: Vec<NodeId> = if counter { counted } else { (0..4).map(|i| l.byte(i)).collect() };
    for round in 0..n_rounds {
        for (i, byte) in state.iter_mut().enumerate() {
            let key = l.entry(keys, 4 * round + i);
            *byte = l.graph.xor(*byte, key);
        }
        let mut word = l.graph.concat(&state);
        for step in 0..5 {
            let (low, ones) = (l.graph.number(0x7f7f_7f7f, 32), l.graph.number(0x0101_0101, 32));
            let top = l.graph.shift_right_by(word, 7);
            let top = l.graph.and(top, ones);
            let rest = l.graph.and(word, low);
            let rest = l.graph.shift_left_by(rest, 1);
            let third = l.graph.shift_left_by(top, 3);
            let product = l.graph.and(rest, third);
            let constant = l.graph.number(0x6363_6363 + 0x0101_0101 * step, 32);
            for one in [rest, top, product, constant] {
                word = if one == rest { one } else { l.graph.xor(word, one) };
            }
        }
        let bytes: Vec<NodeId> = (0..4).map(|i| l.graph.extract(word, 24 - 8 * i, 8)).collect();
        for i in 0..4 {
            let doubled = double(&mut l.graph, bytes[(i + 1) % 4]);
            state[i] = l.graph.xor(bytes[i], doubled);
        }
    }
    for (i, byte) in state.into_iter().enumerate() {
        let token = l.byte(i as u64);
        let value = if counter { l.graph.xor(byte, token) } else { byte };
        l.put(value, true);
    }
    l.finish()
}

/// The inverse in GF(2^8) and an affine map behind it.
fn inverted(x: u128) -> u128 {
    let product = |a: u128, b: u128| {
        let mut sum = (0..8).filter(|i| b >> i & 1 == 1).fold(0, |sum, i| sum ^ a << i);
        (0..7).rev().for_each(|i| sum ^= if sum >> (i + 8) & 1 == 1 { 0x11b << i } else { 0 });
        sum
    };
    let inverse = (0..256).find(|&y| product(x, y) == 1).unwrap_or(0);
    (0..5).fold(0x63, |sum, i| sum ^ ((inverse << i | inverse >> (8 - i)) & 0xff))
}

fn double(graph: &mut Graph, a: NodeId) -> NodeId {
    let (up, top) = (graph.shift_left_by(a, 1), graph.extract(a, 7, 1));
    let (reduced, zero) = (graph.number(0x1b, 8), graph.number(0, 8));
    let carried = graph.select(top, reduced, zero);
    graph.xor(up, carried)
}

/// A counter of 128 bits in 16 bytes, the first the most significant; its bytes.
fn counter_bytes(l: &mut Bytes) -> Vec<NodeId> {
    let block = l.object("counter_block", 8, 16);
    let bytes: Vec<NodeId> = (0..16).map(|i| l.entry(block, i)).collect();
    let start = l.graph.concat(&bytes);
    let one = l.graph.number(1, 128);
    let next = l.graph.sum(start, one);
    l.counters.push(Counter { start, step: 1 });
    for index in 0..16 {
        let lo = 8 * (15 - index as u32);
        let next = l.graph.extract(next, lo, 8);
        l.carried.push(Carried { object: block, index, next, carry: Carry::Counter { counter: 0, lo } });
    }
    bytes
}

/// Rounds of a table, a permutation and sums of doubled bytes, over a state of `n` bytes in elements of `width` bits
/// that goes from iteration to iteration; keys that stay, tokens of this iteration and of the one before, which is also
/// put out, and a counter that nothing reads.
pub fn in_layers(random: &mut Random, n: usize, width: u32, n_rounds: usize) -> Loop {
    let mut l = Bytes::new(n as u64);
    let each = width as usize / 8;
    let state = l.object("state", width, n / each);
    let last = l.object("last", 8, n);
    let keys = l.object("keys", 8, n);
    counter_bytes(&mut l);
    let mut elements: Vec<u128> = (0..256).collect();
    (1..256).rev().for_each(|i| elements.swap(i, random.below(i as u64 + 1) as usize));
    if n_rounds > 2 {
        elements = (0..256).map(inverted).collect();
    }
    let table = l.graph.add_table(Table { name: "box".into(), width: 8, elements: elements.into() });
    let from_state = |l: &mut Bytes, i: usize| {
        let element = l.entry(state, i / each);
        l.graph.extract(element, 8 * (i % each) as u32, 8)
    };
    let mut bytes: Vec<NodeId> = (0..n)
        .map(|i| {
            let (old, token) = (from_state(&mut l, i), l.byte(i as u64));
            l.graph.xor(old, token)
        })
        .collect();
    for round in 0..n_rounds {
        let (turn, step) = (random.below(n as u64) as usize, 2 * random.below(n as u64 / 2) as usize + 1);
        let moved: Vec<NodeId> = (0..n).map(|i| l.graph.lookup(table, bytes[(i * step + turn) % n])).collect();
        for (i, byte) in bytes.iter_mut().enumerate() {
            let (next, key) = (moved[(i + 1) % n], l.entry(keys, i));
            let (doubled, constant) = (double(&mut l.graph, next), l.graph.number((round * 37 + i % 3) as u128, 8));
            *byte = [doubled, moved[(i + 2) % n], next, key, constant].iter().fold(moved[i], |a, b| l.graph.xor(a, *b));
        }
    }
    let (mut next, mut puts) = (Vec::new(), Vec::new());
    for (i, byte) in bytes.into_iter().enumerate() {
        let (old, before, token) = (from_state(&mut l, i), l.entry(last, i), l.byte(i as u64));
        let sum = [old, before].iter().fold(byte, |a, b| l.graph.xor(a, *b));
        l.carried.push(Carried { object: last, index: i, next: token, carry: Carry::Delay });
        next.push(sum);
        puts.extend([(i, sum), (n + i, before)]);
    }
    puts.sort_by_key(|put| put.0);
    puts.into_iter().for_each(|(_, byte)| l.put(byte, true));
    for (index, bytes) in next.chunks(each).enumerate() {
        let bytes: Vec<NodeId> = bytes.iter().rev().copied().collect();
        let next = l.graph.concat(&bytes);
        l.carried.push(Carried { object: state, index, next, carry: Carry::True });
    }
    l.finish()
}

/// Words of a counter, mixed by rotations and by what is left of rotated words that are shifted, one after the other.
pub fn waiting(n_rounds: usize) -> Loop {
    let mut l = Bytes::new(16);
    let bytes = counter_bytes(&mut l);
    let mut words: Vec<NodeId> = bytes.chunks(4).map(|four| l.graph.concat(four)).collect();
    for round in 0..n_rounds {
        let (from, to) = (words[round % 4], (round + 1) % 4);
        let (low, high) = (l.graph.extract(from, 0, 19), l.graph.extract(from, 19, 13));
        let turned = l.graph.concat(&[low, high]);
        let (kept, zeros) = (l.graph.extract(turned, 0, 29), l.graph.number(0, 3));
        let shifted = l.graph.concat(&[kept, zeros]);
        let mixed = l.graph.xor(words[to], shifted);
        words[to] = l.graph.sum(mixed, turned);
    }
    for (i, word) in words.into_iter().enumerate() {
        let data = l.word(4 * i as u64, 4, true);
        let mixed = l.graph.xor(word, data);
        l.put(mixed, true);
    }
    l.finish()
}

/// What comes out is mixed with the block before: decryption in CBC mode.
pub fn delayed(n_rounds: usize) -> Loop {
    let mut l = Bytes::new(8);
    let before = l.object("before", 8, 8);
    let key = l.object("key", 32, 1);
    let (mut a, mut b) = (l.word(0, 4, true), l.word(4, 4, true));
    let k = l.entry(key, 0);
    for _ in 0..n_rounds {
        let mixed = l.graph.sum(a, k);
        a = l.graph.rotate_left_by(mixed, 7);
        b = l.graph.xor(a, b);
        std::mem::swap(&mut a, &mut b);
    }
    let bytes: Vec<NodeId> = (0..8).map(|i| l.entry(before, i)).collect();
    for (i, word) in [b, a].into_iter().enumerate() {
        for at in 0..4 {
            let byte = l.graph.extract(word, 24 - 8 * at, 8);
            let value = l.graph.xor(byte, bytes[4 * i + at as usize]);
            l.put(value, true);
        }
    }
    for index in 0..8 {
        let next = l.byte(index as u64);
        l.carried.push(Carried { object: before, index, next, carry: Carry::Delay });
    }
    l.finish()
}

/// What comes out goes into the next iteration: encryption in CBC mode, little endian; and a list that is read
/// anywhere.
pub fn chained() -> Loop {
    let mut l = Bytes::new(8);
    let before = l.object("before", 8, 8);
    let sum = l.object("sum", 24, 3);
    let list = l.object("list", 16, 4);
    let mut bytes: Vec<NodeId> = (0..8).map(|i| l.entry(before, i)).collect();
    for (i, byte) in bytes.iter_mut().enumerate() {
        let token = l.byte(i as u64);
        *byte = l.graph.xor(*byte, token);
    }
    bytes.reverse();
    let whole = l.graph.concat(&bytes);
    let (low, high) = (l.graph.extract(whole, 0, 32), l.graph.extract(whole, 32, 32));
    let mixed = l.graph.sum(low, high);
    let turned = l.graph.rotate_left_by(mixed, 9);
    let low = l.graph.xor(turned, high);
    let at = l.graph.extract(low, 3, 2);
    let picked = l.graph.entry(list, at, 16);
    let picked = l.graph.zero_extend(picked, 32);
    let high = l.graph.sum(turned, picked);
    l.put(low, false);
    l.put(high, false);
    for index in 0..8 {
        let next = l.graph.extract(if index < 4 { low } else { high }, 8 * (index as u32 % 4), 8);
        l.carried.push(Carried { object: before, index, next, carry: Carry::True });
    }
    let old = l.entry(sum, 1);
    let added = l.graph.extract(high, 0, 24);
    let next = l.graph.sum(old, added);
    l.carried.push(Carried { object: sum, index: 1, next, carry: Carry::True });
    let (three, low) = (l.entry(list, 3), l.graph.extract(low, 0, 16));
    let next = l.graph.xor(three, low);
    l.carried.push(Carried { object: list, index: 3, next, carry: Carry::True });
    l.finish()
}

/// A counter of 40 bits in one element, seven an iteration, and rows of three words.
pub fn counting() -> Loop {
    let mut l = Bytes::new(12);
    let count = l.object("count", 40, 1);
    let start = l.entry(count, 0);
    let seven = l.graph.number(7, 40);
    let next = l.graph.sum(start, seven);
    l.counters.push(Counter { start, step: 7 });
    l.carried.push(Carried { object: count, index: 0, next, carry: Carry::Counter { counter: 0, lo: 0 } });
    let low = l.graph.extract(start, 8, 32);
    for i in 0..3 {
        let word = l.word(4 * i, 4, i == 1);
        let value = l.graph.sum(word, low);
        l.put(value, i != 2);
    }
    let top = l.graph.extract(start, 32, 8);
    l.put(top, true);
    l.finish()
}

/// Narrow elements that overflow from iteration to iteration; what they have become is compared, and says what is read
/// of a table.
pub fn overflowing() -> Loop {
    let mut l = Bytes::new(4);
    let (byte, word) = (l.object("byte", 8, 1), l.object("word", 16, 1));
    let elements: Vec<u128> = (0..256).map(|at| at * 7 % 256).collect();
    let table = l.graph.add_table(Table { name: "steps".into(), width: 8, elements: elements.into() });
    let (x, y) = (l.entry(byte, 0), l.entry(word, 0));
    let (limit, step) = (l.graph.number(100, 8), l.graph.number(201, 8));
    let far = l.graph.number(60_001, 16);
    let small = l.graph.less(x, limit);
    let flag = l.graph.zero_extend(small, 8);
    let looked_up = l.graph.lookup(table, x);
    let top = l.graph.extract(y, 8, 8);
    for (i, value) in [flag, looked_up, top, x].into_iter().enumerate() {
        let token = l.byte(i as u64);
        let value = l.graph.sum(value, token);
        l.put(value, true);
    }
    let (next_byte, next_word) = (l.graph.sum(x, step), l.graph.sum(y, far));
    for (object, next) in [(byte, next_byte), (word, next_word)] {
        l.carried.push(Carried { object, index: 0, next, carry: Carry::True });
    }
    l.finish()
}

/// The same for each piece of the tokens; what all pieces have in common is kept in elements, and iterations are
/// counted.
pub fn in_pieces(n_pieces: u64, bytes_in: u64, bytes_out: u64) -> Loop {
    let mut l = Bytes::new(n_pieces * bytes_in);
    let key = l.object("key", 8, 2);
    let (any, all) = (l.object("any", 8, 1), l.object("all", 8, 1));
    let (odd, sum) = (l.object("odd", 8, 3), l.object("sum", 24, 1));
    let count = l.object("count", 32, 1);
    let mut kept = [l.entry(any, 0), l.entry(all, 0), l.entry(odd, 2), l.entry(sum, 0)];
    let key = l.entry(key, 1);
    for piece in 0..n_pieces {
        let bytes: Vec<NodeId> = (0..bytes_in).map(|i| l.byte(piece * bytes_in + i)).collect();
        for i in 0..bytes_out {
            let (a, b) = (bytes[(i % bytes_in) as usize], bytes[((i + 1) % bytes_in) as usize]);
            let turned = l.graph.rotate_left_by(b, i as u32 % 7 + 1);
            let mixed = l.graph.sum(a, turned);
            let value = l.graph.xor(mixed, key);
            l.put(value, false);
            let wide = l.graph.zero_extend(a, 24);
            let square = l.graph.product(wide, wide);
            kept[0] = if i == 0 { l.graph.or(kept[0], mixed) } else { kept[0] };
            kept[1] = l.graph.and(kept[1], turned);
            kept[2] = l.graph.xor(mixed, kept[2]);
            kept[3] = l.graph.sum(kept[3], square);
        }
    }
    for (next, (object, index)) in kept.into_iter().zip([(any, 0), (all, 0), (odd, 2), (sum, 0)]) {
        l.carried.push(Carried { object, index, next, carry: Carry::True });
    }
    let start = l.entry(count, 0);
    let step = l.graph.number(n_pieces.into(), 32);
    let next = l.graph.sum(start, step);
    l.counters.push(Counter { start, step: n_pieces.into() });
    l.carried.push(Carried { object: count, index: 0, next, carry: Carry::Counter { counter: 0, lo: 0 } });
    l.finish()
}

/// Random values of one input block, and some of what no iteration changes.
pub fn random_loop(random: &mut Random, n_input: u64, widest: u32, longest: usize) -> Loop {
    let mut l = Bytes::new(n_input);
    l.object("bytes", 8, 16);
    l.object("words", 32, 4);
    let objects = l.objects.clone();
    let mut known: Vec<NodeId> = (0..n_input).map(|i| l.byte(i)).collect();
    for first in 0..n_input / 4 {
        known.push(l.word(4 * first, 4, first % 2 == 0));
    }
    let mut grower = Grower { graph: &mut l.graph, objects: &objects, ports: &[8], known, tables: Vec::new() };
    grower.add_tables(random);
    grower.tables.retain(|&table| grower.graph.table(table).elements.len() <= longest);
    let mut wide: Vec<NodeId> = Vec::new();
    for _ in 0..40 {
        let id = grower.grow_within(random, n_input, widest);
        if grower.graph.width(id).is_multiple_of(8) {
            wide.push(id);
        }
    }
    for id in wide.into_iter().rev().take(4) {
        l.put(id, random.below(2) == 0);
    }
    let last = l.byte(0);
    l.put(last, true);
    l.finish()
}

pub fn shuffled(random: &mut Random, n: u32) -> Vec<u32> {
    let mut items: Vec<u32> = (0..n).collect();
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
    items
}

/// Blocks masked with a running sum of entries, at places that a counter of some bits tells, and a sum of the blocks.
/// Places come again every 32 iterations, or not. Blocks are masked with the sum before their entry is added, which is
/// also sent on, or after it.
pub fn summed(counter_bits: u32, periodic: bool, before: bool) -> Loop {
    const ENTRIES: usize = 24;
    let mut l = Bytes::new(16);
    let n = l.object("n", counter_bits, 1);
    let list = l.object("list", 8, 16 * ENTRIES);
    let (sum, total) = (l.object("sum", 8, 16), l.object("total", 8, 16));
    let sent = l.object("sent", 8, 20);
    let start = l.entry(n, 0);
    let one = l.graph.number(1, counter_bits);
    let count = l.graph.sum(start, one);
    let zero = l.graph.number(0, counter_bits);
    let negative = l.graph.difference(zero, count);
    let lowest = l.graph.and(count, negative);
    let lowest = l.graph.extract(lowest, 0, 5);
    let other = l.graph.extract(count, 5, 1);
    let none = l.graph.number(0, 5);
    let is_open = l.graph.equal(lowest, none);
    // 1, 2, 4, 8, 16; where the five bits are none, the sixth tells.
    let (lowest, other) = (l.graph.zero_extend(lowest, 16), l.graph.zero_extend(other, 16));
    let seventeen = l.graph.number(17, 16);
    let other = l.graph.sum(other, seventeen);
    let mut place = l.graph.select(is_open, other, lowest);
    if !periodic {
        place = l.graph.extract(count, 2, 4);
        place = l.graph.zero_extend(place, 16);
    }
    let place = l.graph.shift_left_by(place, 4);
    for at in 0..16 {
        let number = l.graph.number(at as u128, 16);
        let index = l.graph.sum(place, number);
        let entry = l.graph.entry(list, index, 8);
        let mask = l.entry(sum, at);
        let next = l.graph.xor(mask, entry);
        l.carried.push(Carried { object: sum, index: at, next, carry: Carry::True });
        if before {
            l.carried.push(Carried { object: sent, index: at + 4, next, carry: Carry::True });
        }
        let token = l.byte(at as u64);
        let kept = l.entry(total, at);
        let added = l.graph.xor(kept, token);
        l.carried.push(Carried { object: total, index: at, next: added, carry: Carry::True });
        let masked = l.graph.xor(token, if before { mask } else { next });
        let masked = l.graph.sum(masked, token);
        l.put(masked, false);
    }
    l.carried.push(Carried { object: n, index: 0, next: count, carry: Carry::Counter { counter: 0, lo: 0 } });
    l.counters.push(Counter { start, step: 1 });
    l.finish()
}

/// Words of a stream cipher of sorts, and two sums of what comes out that go on from iteration to iteration: one loop
/// that can be two.
pub fn masked_and_summed(n_rounds: usize) -> Loop {
    let mut l = Bytes::new(16);
    let (position, key, sums) = (l.object("position", 32, 1), l.object("key", 32, 4), l.object("sums", 32, 2));
    let counter = l.entry(position, 0);
    let mut mask: Vec<NodeId> = (0..4).map(|at| l.entry(key, at)).collect();
    mask[0] = l.graph.xor(mask[0], counter);
    for round in 0..n_rounds {
        for at in 0..4 {
            let other = mask[(at + 1) % 4];
            let sum = l.graph.sum(mask[at], other);
            let turned = l.graph.rotate_left_by(sum, 7 + (round % 5) as u32);
            mask[at] = l.graph.xor(turned, other);
        }
    }
    let (mut low, mut high) = (l.entry(sums, 0), l.entry(sums, 1));
    let factor = l.graph.number(0x9e37_79b1, 32);
    for (at, mask) in mask.into_iter().enumerate() {
        let word = l.word(4 * at as u64, 4, false);
        let out = l.graph.xor(word, mask);
        l.put(out, false);
        // Bytes of the output, as tokens are.
        let bytes: Vec<NodeId> = (0..4).map(|byte| l.graph.extract(out, 24 - 8 * byte, 8)).collect();
        let again = l.graph.concat(&bytes);
        let added = l.graph.sum(low, again);
        low = l.graph.product(added, factor);
        high = l.graph.sum(high, low);
    }
    let one = l.graph.number(1, 32);
    let next = l.graph.sum(counter, one);
    l.counters.push(Counter { start: counter, step: 1 });
    l.carried.push(Carried { object: position, index: 0, next, carry: Carry::Counter { counter: 0, lo: 0 } });
    l.carried.push(Carried { object: sums, index: 0, next: low, carry: Carry::True });
    l.carried.push(Carried { object: sums, index: 1, next: high, carry: Carry::True });
    l.finish()
}
