//! From the actor of a description to the graph that kernels are searched for.

use crate::{Description, Unusable};
use headrace_ir::ActionId;
use headrace_transform::control::{ActionTransition, transition_of_action};
use headrace_transform::kernel::{Effect, Graph, NodeId, Op};
use headrace_transform::passes::select_instructions::{Choice, Meaning};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Bits of a constant operand of which every value is looked for.
const FEW_BITS: u32 = 4;

/// The instructions of a machine that has some features, all descriptions keeping their positions. What the iteration
/// does not look for is never chosen: instructions with a long constant operand, and those whose meaning is no graph
/// (elements of a register by index).
///
/// # Errors
///
/// A description that the front end or the transformer does not take; tests see to it that there is none.
pub fn choice(descriptions: &[Description], has: impl Fn(&str) -> bool) -> Result<Choice, Unusable> {
    let mut meanings = Vec::new();
    let mut there = Vec::new();
    for description in descriptions {
        let searched = description.operands.iter().all(|operand| !operand.immediate || operand.bits() <= FEW_BITS);
        let usable = searched && description.forms.iter().any(|form| form.features.iter().all(|feature| has(feature)));
        let graph = if usable { graph(description)? } else { None };
        there.push(graph.is_some());
        meanings.push(graph.unwrap_or_else(|| nothing(&description.name)));
    }
    let names: Vec<String> = meanings.iter().map(|meaning| meaning.name.clone()).collect();
    let position = |name: &str| names.iter().position(|other| other == name);
    Ok(Choice::new(meanings, |name| position(name).is_some_and(|at| there[at])))
}

fn nothing(name: &str) -> Meaning {
    let mut graph = Graph::new();
    let result = graph.number(0, 1);
    Meaning { name: name.to_owned(), graph, operands: Vec::new(), result }
}

/// The meaning as a graph, if it is one.
///
/// # Errors
///
/// What the transformer said.
pub fn graph(description: &Description) -> Result<Option<Meaning>, Unusable> {
    let wrong = |problem: &str| Unusable { name: description.name.clone(), problem: problem.to_owned() };
    let [actor] = &description.meaning.actors[..] else { return Err(wrong("its meaning is not one actor")) };
    let [_] = &actor.actions[..] else { return Err(wrong("its meaning is not one action")) };
    let firing = transition_of_action(actor, ActionId(0)).map_err(|why| wrong(&why.reason))?;
    let ActionTransition { graph: own, transition, .. } = &firing;
    let mut tokens: BTreeMap<u64, NodeId> = BTreeMap::new();
    for effect in &transition.effects {
        match effect {
            Effect::Output { offset, value, .. } => {
                tokens.insert(*offset, *value);
            }
            _ => return Ok(None),
        }
    }
    let wide = description.result.bits() > 128 || description.operands.iter().any(|operand| operand.bits() > 128);
    if wide || tokens.len() != description.result.n_tokens as usize {
        return Ok(None);
    }
    let mut graph = Graph::new();
    let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for id in own.reachable(tokens.values().copied()) {
        let node = own.node(id);
        let operands: Vec<NodeId> = node.op.operands().iter().map(|operand| known[operand]).collect();
        let new = match node.op {
            Op::Input { port, offset } => {
                let operand = &description.operands[port as usize];
                let whole = graph.input(port, 0, operand.bits());
                graph.extract(whole, offset as u32 * operand.token_bits, operand.token_bits)
            }
            Op::Lookup(table, _) => {
                let table = graph.add_table(own.table(table).clone());
                graph.lookup(table, operands[0])
            }
            Op::Entry { .. } | Op::Loaded(_) => return Ok(None),
            _ => graph.rebuild(&node.op, node.width, &operands),
        };
        known.insert(id, new);
    }
    let parts: Vec<NodeId> = tokens.values().rev().map(|token| known[token]).collect();
    let result = graph.concat(&parts);
    let operands = description.operands.iter().map(|operand| operand.bits()).collect();
    Ok(Some(Meaning { name: description.name.clone(), graph, operands, result }))
}
