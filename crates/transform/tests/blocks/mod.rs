//! Graphs of one block cipher (FIPS 197) in the shapes in which actors write it, and of instructions for it.

use headrace_transform::kernel::{Graph, NodeId, ObjectId, Table};
use headrace_transform::passes::select_instructions::Meaning;
use std::sync::Arc;

pub fn double(b: u8) -> u8 {
    b << 1 ^ if b >> 7 == 1 { 0x1b } else { 0 }
}

pub fn times(a: u8, mut b: u8) -> u8 {
    let (mut sum, mut power) = (0, a);
    while b > 0 {
        sum ^= if b & 1 == 1 { power } else { 0 };
        power = double(power);
        b >>= 1;
    }
    sum
}

/// Section 5.1.1.
pub fn s_box() -> [u8; 256] {
    let mut table = [0u8; 256];
    for x in 0..=255u8 {
        let inverse = (0..=255u8).find(|&y| times(x, y) == 1).unwrap_or(0);
        let turned = (0..5).fold(0, |sum, n| sum ^ inverse.rotate_left(n));
        table[x as usize] = turned ^ 0x63;
    }
    table
}

pub fn inverse(table: &[u8; 256]) -> [u8; 256] {
    let mut inverse = [0u8; 256];
    for (x, &y) in table.iter().enumerate() {
        inverse[y as usize] = x as u8;
    }
    inverse
}

fn byte_table(name: &str, elements: &[u8; 256]) -> Table {
    let elements: Arc<[u128]> = elements.iter().map(|&byte| u128::from(byte)).collect();
    Table { name: name.into(), width: 8, elements }
}

fn look_up(graph: &mut Graph, table: &Table, state: &[NodeId]) -> Vec<NodeId> {
    let table = graph.add_table(table.clone());
    state.iter().map(|&byte| graph.lookup(table, byte)).collect()
}

fn xtime(graph: &mut Graph, b: NodeId) -> NodeId {
    let doubled = graph.shift_left_by(b, 1);
    let top = graph.shift_right_by(b, 7);
    let top = graph.extract(top, 0, 1);
    let (polynomial, zero) = (graph.number(0x1b, 8), graph.number(0, 8));
    let chosen = graph.select(top, polynomial, zero);
    graph.xor(doubled, chosen)
}

pub fn shift_rows(state: &[NodeId], inverse: bool) -> Vec<NodeId> {
    let from = |i: usize| {
        let (r, c) = (i % 4, i / 4);
        r + 4 * ((if inverse { c + 4 - r } else { c + r }) % 4)
    };
    (0..16).map(|i| state[from(i)]).collect()
}

fn xor_all(graph: &mut Graph, nodes: &[NodeId]) -> NodeId {
    nodes[1..].iter().fold(nodes[0], |sum, &node| graph.xor(sum, node))
}

pub fn mix_columns(graph: &mut Graph, state: &[NodeId]) -> Vec<NodeId> {
    let mut mixed = Vec::new();
    for c in 0..4 {
        let s = &state[4 * c..4 * c + 4];
        let sum = xor_all(graph, s);
        for r in 0..4 {
            let both = graph.xor(s[r], s[(r + 1) % 4]);
            let doubled = xtime(graph, both);
            mixed.push(xor_all(graph, &[s[r], sum, doubled]));
        }
    }
    mixed
}

pub fn inverse_mix_columns(graph: &mut Graph, state: &[NodeId]) -> Vec<NodeId> {
    let mut mixed = Vec::new();
    for c in 0..4 {
        for r in 0..4 {
            let mut terms = Vec::new();
            for (j, factor) in [0x0eu32, 0x0b, 0x0d, 0x09].into_iter().enumerate() {
                let mut power = state[4 * c + (r + j) % 4];
                for bit in 0..4 {
                    if factor >> bit & 1 == 1 {
                        terms.push(power);
                    }
                    power = xtime(graph, power);
                }
            }
            mixed.push(xor_all(graph, &terms));
        }
    }
    mixed
}

pub fn tokens(graph: &mut Graph, port: u32) -> Vec<NodeId> {
    (0..16).map(|i| graph.input(port, i, 8)).collect()
}

/// Bytes 16 * round to 16 * round + 15 of object 0.
pub fn round_key(graph: &mut Graph, round: usize) -> Vec<NodeId> {
    let byte = |i: usize| {
        let at = graph.number((16 * round + i) as u128, 32);
        graph.entry(ObjectId(0), at, 8)
    };
    (0..16).map(byte).collect()
}

pub fn add(graph: &mut Graph, a: &[NodeId], b: &[NodeId]) -> Vec<NodeId> {
    a.iter().zip(b).map(|(&a, &b)| graph.xor(a, b)).collect()
}

/// Section 5.1, byte by byte.
pub fn encrypt(graph: &mut Graph, block: &[NodeId], rounds: usize) -> Vec<NodeId> {
    let table = byte_table("sbox", &s_box());
    let key = round_key(graph, 0);
    let mut state = add(graph, block, &key);
    for round in 1..=rounds {
        state = look_up(graph, &table, &state);
        state = shift_rows(&state, false);
        if round < rounds {
            state = mix_columns(graph, &state);
        }
        let key = round_key(graph, round);
        state = add(graph, &state, &key);
    }
    state
}

/// Section 5.3, byte by byte: the round keys as they are.
pub fn decrypt(graph: &mut Graph, block: &[NodeId], rounds: usize) -> Vec<NodeId> {
    let table = byte_table("inv_sbox", &inverse(&s_box()));
    let key = round_key(graph, rounds);
    let mut state = add(graph, block, &key);
    for round in (0..rounds).rev() {
        state = shift_rows(&state, true);
        state = look_up(graph, &table, &state);
        let key = round_key(graph, round);
        state = add(graph, &state, &key);
        if round > 0 {
            state = inverse_mix_columns(graph, &state);
        }
    }
    state
}

/// With four tables of words, the round keys as words of object 0, the first byte in the most significant bits. For decryption the
/// keys are those of the equivalent inverse cipher (section 5.3.5).
pub fn with_word_tables(graph: &mut Graph, block: &[NodeId], rounds: usize, decrypting: bool) -> Vec<NodeId> {
    let plain = if decrypting { inverse(&s_box()) } else { s_box() };
    let column: [u8; 4] = if decrypting { [14, 9, 13, 11] } else { [2, 1, 1, 3] };
    let mut tables = Vec::new();
    for r in 0..4 {
        let word = |&byte: &u8| {
            let mixed = column.map(|factor| times(byte, factor));
            u128::from(u32::from_be_bytes(mixed).rotate_right(8 * r))
        };
        let elements: Arc<[u128]> = plain.iter().map(word).collect();
        tables.push(graph.add_table(Table { name: format!("T{r}"), width: 32, elements }));
    }
    let last = graph.add_table(byte_table("last", &plain));
    let step = if decrypting { 3 } else { 1 };
    let key = |graph: &mut Graph, n: usize| {
        let at = graph.number(n as u128, 32);
        graph.entry(ObjectId(0), at, 32)
    };
    let mut s = Vec::new();
    for c in 0..4 {
        let word = graph.concat(&block[4 * c..4 * c + 4]);
        let key = key(graph, c);
        s.push(graph.xor(word, key));
    }
    let index = |graph: &mut Graph, s: &[NodeId], c: usize, r: usize| {
        let word = s[(c + step * r) % 4];
        let shifted = graph.shift_right_by(word, 24 - 8 * r as u32);
        let low = graph.number(0xff, 32);
        graph.and(shifted, low)
    };
    for round in 1..rounds {
        let mut t = Vec::new();
        for c in 0..4 {
            let mut sum = key(graph, 4 * round + c);
            for (r, &table) in tables.iter().enumerate() {
                let at = index(graph, &s, c, r);
                let term = graph.lookup(table, at);
                sum = graph.xor(sum, term);
            }
            t.push(sum);
        }
        s = t;
    }
    let mut bytes = Vec::new();
    for c in 0..4 {
        let mut word = graph.number(0, 32);
        for r in 0..4 {
            let at = index(graph, &s, c, r);
            let byte = graph.lookup(last, at);
            let byte = graph.zero_extend(byte, 32);
            let byte = graph.shift_left_by(byte, 24 - 8 * r as u32);
            word = graph.or(word, byte);
        }
        let key = key(graph, 4 * rounds + c);
        let word = graph.xor(word, key);
        bytes.extend((0..4).map(|r| graph.extract(word, 24 - 8 * r, 8)));
    }
    bytes
}

fn round_meaning(name: &str, inverse_cipher: bool, mixed: bool) -> Meaning {
    let mut graph = Graph::new();
    let (state, key) = (graph.input(0, 0, 128), graph.input(1, 0, 128));
    let bytes: Vec<NodeId> = (0..16).map(|i| graph.extract(state, 8 * i, 8)).collect();
    let plain = if inverse_cipher { inverse(&s_box()) } else { s_box() };
    let bytes = look_up(&mut graph, &byte_table("sbox", &plain), &bytes);
    let mut bytes = shift_rows(&bytes, inverse_cipher);
    if mixed {
        bytes = if inverse_cipher { inverse_mix_columns(&mut graph, &bytes) } else { mix_columns(&mut graph, &bytes) };
    }
    bytes.reverse();
    let state = graph.concat(&bytes);
    let result = graph.xor(state, key);
    Meaning { name: name.into(), graph, operands: vec![128, 128], result }
}

fn mix_meaning() -> Meaning {
    let mut graph = Graph::new();
    let state = graph.input(0, 0, 128);
    let bytes: Vec<NodeId> = (0..16).map(|i| graph.extract(state, 8 * i, 8)).collect();
    let mut bytes = inverse_mix_columns(&mut graph, &bytes);
    bytes.reverse();
    let result = graph.concat(&bytes);
    Meaning { name: "unmix".into(), graph, operands: vec![128], result }
}

/// A machine with a whole round of either direction.
pub fn meanings() -> Vec<Meaning> {
    vec![
        round_meaning("round", false, true),
        round_meaning("last_round", false, false),
        round_meaning("back_round", true, true),
        round_meaning("last_back_round", true, false),
        mix_meaning(),
    ]
}
