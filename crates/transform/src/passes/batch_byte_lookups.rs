//! Batching of byte look-ups into one vector look-up. Looks all bytes of a word up at once where several of them are
//! looked up in the same table.
//!
//! ```text
//! T[x >> 24] << 24 | T[x >> 16 & 255] << 16 | T[x >> 8 & 255] << 8 | T[x & 255]    =>    T(x)
//! ```
//!
//! where `T(x)` is [`Op::LookupBytes`]. What is made of the bytes is made of parts of that word then, so that a word
//! that they are put together to again is it, or a rotation of it.
//!
//! Requires a machine on which the bytes of a word are looked up together as fast as one. Result: the loop means
//! the same.

use super::pass::{Form, Pass};
use crate::kernel::{Loop, NodeId, Op, TableId};
use std::collections::BTreeMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "batch-byte-lookups",
    about: "Looks all bytes of a word up at once where several are looked up in one table",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Loop(batch_byte_lookups),
};

/// Bytes of a word that must be looked up in a table.
const LEAST_BYTES: usize = 2;

/// Bits of a word.
const MOST_BITS: u32 = 64;

/// Elements of a table of all bytes.
const ELEMENTS: usize = 256;

/// A loop in which bytes of words are looked up together; `None` where there are none.
pub fn batch_byte_lookups(body: &Loop) -> Option<Loop> {
    let mut found: BTreeMap<(TableId, NodeId), Vec<NodeId>> = BTreeMap::new();
    for id in body.needed() {
        if let Some((table, word, _)) = byte_of_word(body, id) {
            found.entry((table, word)).or_default().push(id);
        }
    }
    found.retain(|_, bytes| bytes.len() >= LEAST_BYTES);
    if found.is_empty() {
        return None;
    }
    body.rebuilt(|graph, new, id| {
        let together = byte_of_word(body, id).filter(|&(table, word, _)| found.contains_key(&(table, word)));
        let Some((table, word, lo)) = together else { return graph.copy(&body.graph, id, new) };
        let word = *new.get(&word)?;
        let all = graph.add(Op::LookupBytes(table, word), graph.width(word));
        Some(graph.extract(all, lo, body.graph.width(id)))
    })
}

/// The table, the word, and the lowest bit of the byte where a node is an element of a table of bytes at a byte of a
/// word.
fn byte_of_word(body: &Loop, id: NodeId) -> Option<(TableId, NodeId, u32)> {
    let graph = &body.graph;
    let Op::Lookup(table, index) = *graph.op(id) else { return None };
    if graph.table(table).elements.len() != ELEMENTS || graph.width(id) != 8 {
        return None;
    }
    let index = match graph.op(index) {
        Op::Concat(parts) => match parts[..] {
            [zeros, byte] if graph.constant(zeros) == Some(0) => byte,
            _ => index,
        },
        _ => index,
    };
    let Op::Extract(word, lo) = *graph.op(index) else { return None };
    let bits = graph.width(word);
    let whole = graph.width(index) == 8 && lo.is_multiple_of(8) && bits.is_multiple_of(8) && bits <= MOST_BITS;
    whole.then_some((table, word, lo))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::evaluate::{World, run_loop};
    use crate::kernel::{Graph, Table};

    #[test]
    fn a_word_of_looked_up_bytes_is_a_rotation_of_one_look_up() {
        let mut graph = Graph::new();
        let elements: Vec<u128> = (0..256_u128).map(|at| (at * 151 + 7) & 255).collect();
        let table = graph.add_table(Table { name: "t".to_owned(), width: 8, elements: elements.into() });
        let (x, y) = (graph.input(0, 0, 32), graph.input(0, 1, 32));
        // No part of what comes in, so that it does not fall into bytes.
        let x = graph.sum(x, y);
        let bytes: Vec<NodeId> = [0, 24, 16, 8]
            .into_iter()
            .map(|lo| {
                let byte = graph.extract(x, lo, 8);
                graph.lookup(table, byte)
            })
            .collect();
        let out = graph.concat(&bytes);
        let body = Loop {
            graph,
            objects: Vec::new(),
            consumes: vec![(2, 32)],
            produces: vec![(1, 32)],
            outputs: vec![(0, 0, out)],
            carried: Vec::new(),
            counters: Vec::new(),
        };
        let together = batch_byte_lookups(&body).unwrap();
        let count = |body: &Loop, wanted: fn(&Op) -> bool| {
            body.needed().into_iter().filter(|&id| wanted(body.graph.op(id))).count()
        };
        assert_eq!(count(&together, |op| matches!(op, Op::Lookup(..))), 0);
        assert_eq!(count(&together, |op| matches!(op, Op::LookupBytes(..))), 1);
        assert_eq!(count(&together, |op| matches!(op, Op::Concat(_))), 1);
        let run = |body: &Loop| {
            let mut world = World {
                inputs: vec![(0..64_u128).map(|at| (at * 0x9e37_79b9) & 0xffff_ffff).collect()],
                consumed: vec![0],
                outputs: vec![Vec::new()],
                objects: Vec::new(),
            };
            run_loop(body, &mut world, 32);
            world.outputs
        };
        assert_eq!(run(&together), run(&body));
    }
}
