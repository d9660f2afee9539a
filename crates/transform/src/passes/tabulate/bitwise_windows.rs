//! Bitwise windows. Functions of one byte whose bits are spread over wider words.
//!
//! A word may hold bits of many bytes, one beside the other or in planes, and operations of the word work on all of
//! them at once. So every *bit* of a value has its own window: the byte through which all goes that the bit depends on.
//! Eight bits that come together again and have the same window are a function of it:
//!
//! ```text
//! p := a | b << 8;  q := p ^ p >> 4 & 0x0f0f;  y := q & 0xff;  z := q >> 8    =>    y := T[a];  z := T[b]
//! ```

use super::{AtPosition, INDEX_BITS, Window, Windows};
use crate::kernel::evaluate::Values;
use crate::kernel::graph::mask;
use crate::kernel::{Graph, Loop, NodeId, Op, Table};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 20_000;

/// Operations of a function that a table in registers is better than.
const LEAST_OPERATIONS: usize = 16;

/// Operations of a function that is written out for all values of a byte.
const MOST_OPERATIONS: usize = 4_000;

/// Bits of an element.
const MOST_BITS: u32 = 8;

/// Where a bit comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// From constants only.
    Constant,
    /// From constants and one window, by its number.
    Of(u32),
    /// From several, or from what no iteration changes.
    Mixed,
}

impl Origin {
    fn and(self, other: Origin) -> Origin {
        match (self, other) {
            (Origin::Constant, origin) | (origin, Origin::Constant) => origin,
            (a, b) if a == b => a,
            _ => Origin::Mixed,
        }
    }
}

/// A loop in which long functions of one byte, up to eight bits of its tokens or of what was computed from several, are
/// constant tables; `None` where there are none. Their indices may be secret: what reads them must not read memory at
/// an address that depends on the index.
pub fn tables_of_spread_bits(body: &Loop) -> Option<Loop> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let order = body.needed();
    let spread = Spread::new(body, &order);
    let found = spread.functions(&order);
    if found.is_empty() {
        return None;
    }
    let tables = spread.tables(&found);
    body.rebuilt(|graph, new, id| {
        let Some((table, lo)) = tables.iter().find_map(|table| Some((table, *table.parts.get(&id)?))) else {
            return graph.copy(&body.graph, id, new);
        };
        let index = table.window.index(graph, new)?;
        let elements = table.elements.clone().into();
        let table = graph.add_table(Table { name: "function".to_owned(), width: table.width, elements });
        let element = graph.lookup(table, index);
        Some(graph.extract(element, lo, body.graph.width(id)))
    })
}

/// Functions of one window, one beside the other in one element.
struct Joined {
    window: Window,
    elements: Vec<u128>,
    width: u32,
    /// Where each begins.
    parts: FxHashMap<NodeId, u32>,
}

impl Joined {
    /// Where a function lies that is there already.
    fn place(&self, function: &[u128], width: u32) -> Option<u32> {
        let last = self.width.checked_sub(width)?;
        let is_there = |lo: &u32| self.elements.iter().zip(function).all(|(all, one)| all >> lo & mask(width) == *one);
        (0..=last).find(is_there)
    }
}

/// The windows of all bits.
struct Spread<'a> {
    body: &'a Loop,
    windows: Vec<Window>,
    /// Where the bits of each node begin.
    starts: FxHashMap<NodeId, usize>,
    origins: Vec<Origin>,
}

impl<'a> Spread<'a> {
    fn new(body: &'a Loop, order: &[NodeId]) -> Spread<'a> {
        let none = FxHashSet::default();
        let varying = Windows::new(body, order, false, &none);
        let graph = &body.graph;
        let mut found = Spread { body, windows: Vec::new(), starts: FxHashMap::default(), origins: Vec::new() };
        for &id in order {
            let width = graph.width(id);
            let mut bits = match graph.op(id) {
                Op::Const(_) => vec![Origin::Constant; width as usize],
                _ if varying.varies(id) => found.bits(id),
                _ => vec![Origin::Mixed; width as usize],
            };
            // What several windows are mixed into begins new ones.
            if varying.varies(id) {
                for (group, bits) in bits.chunks_mut(MOST_BITS as usize).enumerate() {
                    if bits.contains(&Origin::Mixed) {
                        bits.fill(Origin::Of(found.windows.len() as u32));
                        let (lo, width) = (group as u32 * MOST_BITS, bits.len() as u32);
                        found.windows.push(Window { node: id, lo, width });
                    }
                }
            }
            found.starts.insert(id, found.origins.len());
            found.origins.append(&mut bits);
        }
        found
    }

    fn of(&self, id: NodeId) -> &[Origin] {
        let start = self.starts.get(&id).copied().unwrap_or(0);
        self.origins.get(start..start + self.body.graph.width(id) as usize).unwrap_or(&[])
    }

    /// Where all bits of a node come from.
    fn whole(&self, id: NodeId) -> Origin {
        self.of(id).iter().fold(Origin::Constant, |all, &bit| all.and(bit))
    }

    /// Bits of a node that differs from iteration to iteration.
    fn bits(&self, id: NodeId) -> Vec<Origin> {
        let graph = &self.body.graph;
        let width = graph.width(id) as usize;
        let op = graph.op(id);
        let both = |a: &NodeId, b: &NodeId| -> Vec<Origin> {
            self.of(*a).iter().zip(self.of(*b)).map(|(a, b)| a.and(*b)).collect()
        };
        // Bits that a constant decides.
        let decided = |a: &NodeId, b: &NodeId, by: bool| -> Vec<Origin> {
            let decides =
                |id: &NodeId, bit: usize| graph.constant(*id).is_some_and(|value| (value >> bit & 1 != 0) == by);
            let bits = both(a, b).into_iter().enumerate();
            bits.map(|(i, bit)| if decides(a, i) || decides(b, i) { Origin::Constant } else { bit }).collect()
        };
        let count = |n: &NodeId| graph.constant(*n).map(|n| n.min(width as u128) as usize);
        match op {
            Op::Not(a) => self.of(*a).to_vec(),
            Op::And(a, b) => decided(a, b, false),
            Op::Or(a, b) => decided(a, b, true),
            Op::Xor(a, b) => both(a, b),
            Op::Extract(a, lo) => self.of(*a).iter().skip(*lo as usize).take(width).copied().collect(),
            Op::Concat(parts) => parts.iter().rev().flat_map(|part| self.of(*part)).copied().collect(),
            Op::SignExtend(a) => {
                let bits = self.of(*a);
                let top = bits.last().copied().unwrap_or(Origin::Mixed);
                bits.iter().copied().chain(std::iter::repeat(top)).take(width).collect()
            }
            Op::ShiftLeft(a, n) if count(n).is_some() => {
                let zeros = std::iter::repeat_n(Origin::Constant, count(n).unwrap_or(0));
                zeros.chain(self.of(*a).iter().copied()).take(width).collect()
            }
            Op::ShiftRight(a, n) if count(n).is_some() => {
                let bits = self.of(*a).iter().skip(count(n).unwrap_or(0)).copied();
                bits.chain(std::iter::repeat(Origin::Constant)).take(width).collect()
            }
            Op::RotateLeft(a, n) if graph.constant(*n).is_some() => {
                let n = (graph.constant(*n).unwrap_or(0) % width as u128) as usize;
                (0..width).map(|bit| self.of(*a)[(bit + width - n) % width]).collect()
            }
            Op::Select(c, a, b) => {
                let condition = self.whole(*c);
                both(a, b).into_iter().map(|bit| bit.and(condition)).collect()
            }
            Op::Input { .. } | Op::Entry { .. } | Op::Loaded(_) | Op::Instruction { .. } => vec![Origin::Mixed; width],
            op => {
                let all = op.operands().iter().fold(Origin::Constant, |all, operand| all.and(self.whole(*operand)));
                vec![all; width]
            }
        }
    }

    /// Whether bits of a node come from a window.
    fn reads(&self, id: NodeId, window: u32) -> bool {
        self.of(id).contains(&Origin::Of(window))
    }

    /// Whether a node lies behind a window: neither the window nor in front of it.
    fn is_behind(&self, id: NodeId, window: u32) -> bool {
        let at = &self.windows[window as usize];
        self.reads(id, window) && at.node != id && at.part(&self.body.graph, id).is_none()
    }

    /// Nodes that are long functions of a window and that others read, each with the number of the window. What little
    /// is computed from shorter ones stays computed from them.
    fn functions(&self, order: &[NodeId]) -> BTreeMap<NodeId, u32> {
        let graph = &self.body.graph;
        let mut exits: FxHashSet<NodeId> = self.body.roots().into_iter().collect();
        for &id in order {
            let whole = self.whole(id);
            exits.extend(graph.op(id).operands().into_iter().filter(|operand| self.whole(*operand) != whole));
        }
        let mut found: BTreeMap<NodeId, u32> = BTreeMap::new();
        let mut candidates: Vec<(usize, NodeId, u32)> = Vec::new();
        for &id in order.iter().filter(|id| exits.contains(id) && graph.width(**id) <= MOST_BITS) {
            let Origin::Of(number) = self.whole(id) else { continue };
            if *INDEX_BITS.start() <= self.windows[number as usize].width && self.is_behind(id, number) {
                candidates.push((self.operations(id, number, &found), id, number));
            }
        }
        candidates.retain(|one| (LEAST_OPERATIONS..=MOST_OPERATIONS).contains(&one.0));
        candidates.sort_unstable();
        for (_, id, number) in candidates {
            if self.operations(id, number, &found) >= LEAST_OPERATIONS {
                found.insert(id, number);
            }
        }
        found
    }

    /// The functions as tables: those of a window that fit into one element share a table.
    fn tables(&self, found: &BTreeMap<NodeId, u32>) -> Vec<Joined> {
        let mut scratch = Graph::new();
        for table in self.body.graph.tables() {
            scratch.add_table(table.clone());
        }
        let mut known: FxHashMap<NodeId, Vec<u128>> = FxHashMap::default();
        let mut of_windows: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        found.iter().for_each(|(&id, &number)| of_windows.entry(number).or_default().push(id));
        let mut tables: Vec<Joined> = Vec::new();
        for (number, mut functions) in of_windows {
            let window = self.windows[number as usize];
            let first = tables.len();
            functions.sort_by_key(|&id| std::cmp::Reverse(self.body.graph.width(id)));
            for id in functions {
                let width = self.body.graph.width(id);
                let function = self.copy(&mut scratch, id, number);
                let elements = known.entry(function).or_insert_with(|| {
                    let mut values = Values::new(&scratch, [function]);
                    let at = |index: u128| {
                        values.compute(&AtPosition(index));
                        values.of(function)
                    };
                    (0..1 << window.width).map(at).collect()
                });
                let own = &mut tables[first..];
                let there = own.iter().enumerate().find_map(|(at, table)| Some((at, table.place(elements, width)?)));
                let (at, lo) = match there.or_else(|| {
                    let with_room = own.iter().position(|table| table.width + width <= MOST_BITS)?;
                    let table = &mut own[with_room];
                    let lo = table.width;
                    table.elements.iter_mut().zip(&*elements).for_each(|(all, one)| *all |= one << lo);
                    table.width += width;
                    Some((with_room, lo))
                }) {
                    Some(place) => place,
                    None => {
                        let (elements, parts) = (elements.clone(), FxHashMap::default());
                        tables.push(Joined { window, elements, width, parts });
                        (tables.len() - 1 - first, 0)
                    }
                };
                tables[first + at].parts.insert(id, lo);
            }
        }
        tables
    }

    /// Operations between a window, or functions that are known, and a node.
    fn operations(&self, id: NodeId, window: u32, known: &BTreeMap<NodeId, u32>) -> usize {
        let (mut open, mut seen, mut count) = (vec![id], FxHashSet::default(), 0);
        while let Some(id) = open.pop() {
            if !self.is_behind(id, window) || known.contains_key(&id) || !seen.insert(id) {
                continue;
            }
            let op = self.body.graph.op(id);
            count += usize::from(!matches!(op, Op::Extract(..) | Op::Concat(_)));
            if count > MOST_OPERATIONS {
                break;
            }
            open.extend(op.operands());
        }
        count
    }

    /// A node as a function of [`AtPosition`], in another graph with the same tables. Bits of other windows do not
    /// matter.
    fn copy(&self, to: &mut Graph, id: NodeId, window: u32) -> NodeId {
        let from = &self.body.graph;
        let at = self.windows[window as usize];
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut open = vec![id];
        while let Some(&id) = open.last() {
            let (op, width) = (from.op(id), from.width(id));
            let value = if known.contains_key(&id) {
                None
            } else if id == at.node {
                let position = to.input(0, 0, at.width);
                let position = to.zero_extend(position, width);
                Some(to.shift_left_by(position, at.lo))
            } else if let Op::Const(value) = op {
                Some(to.number(*value, width))
            } else if !self.reads(id, window) && !self.of(id).contains(&Origin::Constant) {
                Some(to.number(0, width))
            } else {
                let operands = op.operands();
                let missing = operands.iter().copied().filter(|operand| !known.contains_key(operand));
                let n_open = open.len();
                open.extend(missing);
                if open.len() > n_open {
                    continue;
                }
                let operands: Vec<NodeId> = operands.iter().map(|operand| known[operand]).collect();
                Some(to.rebuild(op, width, &operands))
            };
            if let Some(value) = value {
                known.insert(id, value);
            }
            open.pop();
        }
        known[&id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ObjectId;
    use crate::kernel::evaluate::{Environment, values};

    struct Tokens([u128; 4]);

    impl Environment for Tokens {
        fn input(&self, _port: u32, offset: i64) -> u128 {
            self.0[offset as usize]
        }
        fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
            0
        }
    }

    /// Four bytes beside each other in a word; `rounds` multiplications of all of them by x and sums with a constant,
    /// then what `last` makes of the word.
    fn beside(rounds: usize, last: impl Fn(&mut Graph, NodeId) -> NodeId) -> Loop {
        let mut graph = Graph::new();
        let bytes: Vec<NodeId> = (0..4).map(|i| graph.input(0, i, 8)).collect();
        let mut word = graph.concat(&bytes);
        for round in 0..rounds {
            let ones = graph.number(0x0101_0101, 32);
            let top = graph.shift_right_by(word, 7);
            let top = graph.and(top, ones);
            let low = graph.number(0x7f7f_7f7f, 32);
            let rest = graph.and(word, low);
            let rest = graph.shift_left_by(rest, 1);
            let high = graph.shift_left_by(top, 3);
            let product = graph.and(rest, high);
            let sum = graph.xor(rest, top);
            let sum = graph.xor(sum, product);
            let constant = graph.number(0x1122_3344 + round as u128, 32);
            word = graph.xor(sum, constant);
        }
        word = last(&mut graph, word);
        let outputs = (0..4).map(|i| (0, i, graph.extract(word, 24 - 8 * i as u32, 8))).collect();
        let tokens = vec![(4, 8)];
        let (objects, carried, counters) = (Vec::new(), Vec::new(), Vec::new());
        Loop { graph, objects, consumes: tokens.clone(), produces: tokens, outputs, carried, counters }
    }

    fn same(a: &Loop, b: &Loop) {
        for seed in 0..64_u128 {
            let tokens = Tokens([seed * 3, (seed * 7 + 1) & 255, 255 - seed, (seed * seed) & 255]);
            for (one, other) in a.outputs.iter().zip(&b.outputs) {
                let value = |body: &Loop, id: NodeId| values(&body.graph, &[id], &tokens)[&id];
                assert_eq!(value(a, one.2), value(b, other.2));
            }
        }
    }

    #[test]
    fn bytes_that_lie_in_one_word_are_looked_up() {
        let body = beside(5, |_, word| word);
        let tables = tables_of_spread_bits(&body).expect("tables");
        same(&body, &tables);
        assert!(tables.outputs.iter().all(|output| matches!(tables.graph.op(output.2), Op::Lookup(..))));
    }

    #[test]
    fn carries_from_byte_to_byte_are_no_function_of_one() {
        let body = beside(0, |graph, word| {
            (0..20).fold(word, |word, _| {
                let around = graph.rotate_left_by(word, 3);
                graph.sum(word, around)
            })
        });
        assert!(tables_of_spread_bits(&body).is_none());
    }

    #[test]
    fn short_functions_stay() {
        assert!(tables_of_spread_bits(&beside(1, |_, word| word)).is_none());
    }

    #[test]
    fn parts_of_a_function_are_bits_of_its_table() {
        // The top bit of each byte goes on alone.
        let mut body = beside(5, |_, word| word);
        let bytes: Vec<NodeId> = body.outputs.iter().map(|output| output.2).collect();
        let tops: Vec<NodeId> = bytes.iter().map(|&byte| body.graph.extract(byte, 7, 1)).collect();
        for at in 0..4 {
            let sum = body.graph.xor(tops[at], tops[(at + 1) % 4]);
            let wide = body.graph.zero_extend(sum, 8);
            body.outputs.push((0, 4 + at as u64, wide));
        }
        let tables = tables_of_spread_bits(&body).expect("tables");
        same(&body, &tables);
        let order = tables.needed();
        assert_eq!(order.iter().filter(|&&id| matches!(tables.graph.op(id), Op::Lookup(..))).count(), 4);
    }

    #[test]
    fn what_follows_a_long_function_is_computed_from_it() {
        // Twice what the function gives, and the sum of neighbours.
        let mut body = beside(5, |_, word| word);
        let bytes: Vec<NodeId> = body.outputs.iter().map(|output| output.2).collect();
        for at in 0..4 {
            let double = body.graph.sum(bytes[at], bytes[at]);
            body.outputs[at].2 = body.graph.xor(double, bytes[(at + 1) % 4]);
        }
        let tables = tables_of_spread_bits(&body).expect("tables");
        same(&body, &tables);
        let order = tables.needed();
        assert_eq!(order.iter().filter(|&&id| matches!(tables.graph.op(id), Op::Lookup(..))).count(), 4);
    }
}
