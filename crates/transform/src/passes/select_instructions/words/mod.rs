//! Superword instruction selection. Instructions that work on words of 32 bits, four in a register.
//!
//! What such an instruction means is a pattern ([`pattern`]): words of the result as sums, bitwise functions and moves
//! of bits of words of the operands. [`matching`] finds patterns in a transition whatever way it was written: brackets and
//! order of sums, forms of bitwise functions and ways to rotate make no difference. [`registers`] starts from what goes
//! from iteration to iteration and asks, register by register, for what it needs: where four words are the result of an
//! instruction, its operands are asked for, down to tokens and to what the iteration before left. The order of words in
//! the registers that go from iteration to iteration follows from what the instructions need, and no word leaves them.
//!
//! Before: `e = d + (h + s1(e) + ch(e, f, g) + k + w)` and `a = …`, twice. After: one
//! [`crate::kernel::Op::Instruction`] whose operands are results of others like it, and a register of sums of words and
//! constants.

mod bits;
mod bitwise;
mod kernel;
mod matching;
mod pattern;
mod registers;

pub use pattern::Pattern;

use super::SelectedLoop;
use super::agreement::of_words;
use crate::kernel::{Carry, Graph, Loop, NodeId, ObjectId, Op};
use kernel::Transition;
use pattern::{LANES, WORD_BITS};
use registers::Registers;
use rustc_hash::{FxHashMap, FxHashSet};

/// Puts instructions into a loop whose iterations hand words on; `None` where they do not do all that these words need.
/// `others` are further nodes of the loop's graph that somebody holds; the names of instructions are those of `name`.
pub fn select(
    body: &Loop,
    others: &[NodeId],
    patterns: &[Pattern],
    name: impl Fn(u32) -> String,
) -> Option<SelectedLoop> {
    let carried: FxHashSet<(ObjectId, usize)> = body
        .carried
        .iter()
        .filter(|one| one.carry == Carry::True && body.objects[one.object.0 as usize].width == WORD_BITS)
        .map(|one| (one.object, one.index))
        .collect();
    if carried.is_empty() || patterns.is_empty() {
        return None;
    }
    let mut roots = body.roots();
    roots.extend(body.counters.iter().map(|counter| counter.start));
    roots.extend(others);
    let words: Vec<NodeId> = body
        .graph
        .reachable(roots.iter().copied())
        .into_iter()
        .filter(|&id| body.graph.width(id) == WORD_BITS && matches!(body.graph.op(id), Op::Add(..) | Op::Xor(..)))
        .collect();
    let mut registers = Registers::new(Transition::new(&body.graph, &roots), patterns, &carried);
    let top = registers.topmost(&words)?;
    registers.request(top)?;
    // Sums that are written come out in registers too, in the order in which they are.
    let mut written: Vec<NodeId> = Vec::new();
    for &(.., value) in &body.outputs {
        let word = match *body.graph.op(value) {
            Op::Extract(word, _) => word,
            _ => value,
        };
        if words.contains(&word) && !written.contains(&word) {
            written.push(word);
        }
    }
    for four in written.chunks_exact(LANES) {
        let mut lanes = [None; LANES];
        lanes.iter_mut().zip(four).for_each(|(lane, word)| *lane = Some(*word));
        let _ = registers.request(lanes);
    }
    let next: FxHashMap<(ObjectId, usize), NodeId> =
        body.carried.iter().map(|one| ((one.object, one.index), one.next)).collect();
    let mut ends: FxHashMap<(ObjectId, usize), (NodeId, usize)> = FxHashMap::default();
    let mut done = 0;
    while done < registers.chains.len() {
        let chain = registers.chains[done];
        let zero = registers.kernel.graph.number(0, WORD_BITS);
        let wanted = chain.map(|place| Some(place.and_then(|place| next.get(&place).copied()).unwrap_or(zero)));
        let register = registers.request(wanted)?;
        for (lane, place) in chain.into_iter().enumerate() {
            if let Some(place) = place {
                ends.insert(place, (register, lane));
            }
        }
        done += 1;
    }
    if carried.iter().any(|place| !ends.contains_key(place)) {
        return None;
    }
    let homes: FxHashMap<NodeId, (NodeId, usize)> = registers.homes().collect();
    let mut graph = registers.kernel.graph;
    let mut new = body.clone();
    let mut memo = FxHashMap::default();
    for one in &mut new.carried {
        one.next = match ends.get(&(one.object, one.index)) {
            Some(&(register, lane)) => word(&mut graph, register, lane),
            None => outside(&mut graph, one.next, &homes, &mut memo),
        };
    }
    for output in &mut new.outputs {
        output.2 = outside(&mut graph, output.2, &homes, &mut memo);
    }
    let mut instructions = std::collections::BTreeMap::new();
    let roots: Vec<NodeId> =
        new.carried.iter().map(|one| one.next).chain(new.outputs.iter().map(|one| one.2)).collect();
    for id in graph.reachable(roots) {
        if let Op::Instruction { description, .. } = graph.op(id) {
            *instructions.entry(name(*description)).or_insert(0) += 1;
        }
    }
    new.graph = graph;
    Some(SelectedLoop { body: new, others: others.to_vec(), instructions, evidence: of_words() })
}

fn word(graph: &mut Graph, register: NodeId, lane: usize) -> NodeId {
    debug_assert!(lane < LANES);
    graph.extract(register, WORD_BITS * lane as u32, WORD_BITS)
}

/// A value outside of registers, with words taken from them.
fn outside(
    graph: &mut Graph,
    root: NodeId,
    homes: &FxHashMap<NodeId, (NodeId, usize)>,
    memo: &mut FxHashMap<NodeId, NodeId>,
) -> NodeId {
    for id in graph.reachable_but([root], |id| memo.contains_key(&id)) {
        let node = graph.node(id).clone();
        let is_sum = matches!(node.op, Op::Add(..) | Op::Xor(..) | Op::And(..) | Op::Or(..));
        let new = match homes.get(&id) {
            Some(&(register, lane)) if is_sum => word(graph, register, lane),
            _ => {
                let old = node.op.operands();
                let operands: Vec<NodeId> = old.iter().map(|operand| memo[operand]).collect();
                if operands == *old { id } else { graph.rebuild(&node.op, node.width, &operands) }
            }
        };
        memo.insert(id, new);
    }
    memo[&root]
}
