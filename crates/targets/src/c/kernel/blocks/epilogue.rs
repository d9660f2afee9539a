//! Epilogue of a block loop: carried values are stored for the next call. What a call leaves for the next one.

use super::{Names, NotApplicable, Printer};
use crate::c::kernel::loop_frame::counter_ends;
use crate::c::kernel::scalar::statements;
use headrace_source::Span;
use headrace_transform::kernel::{Carry, Effect, Graph, NodeId, Object, TableId};
use headrace_vectorize::blocks::{BYTES, Chain};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// The last iteration, for what goes on to the next call.
struct LastIteration<'a> {
    names: &'a dyn Names,
    /// Input ports; behind them come registers that are left in memory.
    n_ports: usize,
    /// Iterations of a register.
    lanes: usize,
}

impl Names for LastIteration<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        match (port as usize).checked_sub(self.n_ports) {
            None => format!("last{port}_[{offset}]"),
            Some(left) if self.lanes == 1 => format!("left{left}_[{offset}]"),
            Some(left) => format!("left{left}_[{BYTES} * last_ + {offset}]"),
        }
    }
    fn output(&self, _port: u32, _offset: u64, _value: &str) -> String {
        String::new()
    }
    fn check(&self, _condition: &str, _index: &str, _length: usize, _span: Span) -> String {
        String::new()
    }
    fn element(&self, object: &Object, index: &str) -> String {
        self.names.element(object, index)
    }
    fn table(&self, table: TableId) -> String {
        self.names.table(table)
    }
}

/// A node with others in the place of those that it needs.
fn replaced(graph: &mut Graph, id: NodeId, instead: &mut FxHashMap<NodeId, NodeId>) -> NodeId {
    if instead.is_empty() {
        return id;
    }
    let mut open = vec![id];
    while let Some(&next) = open.last() {
        if instead.contains_key(&next) {
            open.pop();
            continue;
        }
        let node = graph.node(next).clone();
        let operands = node.op.operands();
        let missing: Vec<NodeId> = operands.iter().copied().filter(|operand| !instead.contains_key(operand)).collect();
        if !missing.is_empty() {
            open.extend(missing);
            continue;
        }
        let new: Vec<NodeId> = operands.iter().map(|operand| instead[operand]).collect();
        let made = if new.iter().eq(operands.iter()) { next } else { graph.rebuild(&node.op, node.width, &new) };
        instead.insert(next, made);
    }
    instead[&id]
}

impl Printer<'_> {
    /// What is left for the next call.
    pub(super) fn end(&self, text: &mut String) -> Result<(), NotApplicable> {
        let (body, bits) = (self.plan.body, self.bits);
        text.push_str(&counter_ends(body, self.names.names));
        for (k, chain) in self.plan.chains.iter().enumerate() {
            let element = self.names.names.element(&body.objects[chain.object.0 as usize], &chain.first.to_string());
            let _ = writeln!(text, "  HR_STORE{bits}(&{element}, chain{k}_);");
        }
        for (k, words) in self.plan.words.iter().enumerate() {
            for (lane, place) in words.places.iter().enumerate() {
                if let Some(place) = *place {
                    let element = self.element(place);
                    let _ = writeln!(text, "  {element} = (uint32_t)_mm_extract_epi32(words{k}_, {lane});");
                }
            }
        }
        self.powers_end(text);
        for (k, delay) in self.plan.delays.iter().enumerate() {
            let element = self.names.names.element(&body.objects[delay.object.0 as usize], &delay.first.to_string());
            let _ = writeln!(text, "  {{ uint8_t all_[{}]; HR_STORE{bits}(all_, ahead{k}_);", bits / 8);
            let _ = writeln!(text, "    memcpy(&{element}, all_ + 16 * last_, 16); }}");
        }
        let delayed = |one: &&headrace_transform::kernel::Carried| {
            let own =
                |delay: &Chain| delay.object == one.object && (delay.first..delay.first + BYTES).contains(&one.index);
            self.plan.delays.iter().any(own)
        };
        // What instructions give is there as bytes.
        let n_ports = body.consumes.len();
        let alone = || body.carried.iter().filter(|one| one.carry == Carry::Delay && !delayed(one));
        let mut graph = body.graph.clone();
        let mut instead: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for (k, &(id, _)) in self.plan.left.iter().enumerate() {
            let byte = |at: usize| graph.input((n_ports + k) as u32, at as i64, 8);
            let bytes: Vec<NodeId> = (0..BYTES).rev().map(byte).collect();
            instead.insert(id, graph.concat(&bytes));
        }
        let mut stores = Vec::new();
        for one in alone() {
            let value = replaced(&mut graph, one.next, &mut instead);
            let index = graph.number(one.index as u128, 64);
            stores.push(Effect::Store { object: one.object, index, value });
        }
        let last = LastIteration { names: self.names.names, n_ports, lanes: self.iterations() };
        if !stores.is_empty() {
            text.push_str(&statements(&graph, &body.objects, &stores, &last, 1));
        }
        Ok(())
    }
}
