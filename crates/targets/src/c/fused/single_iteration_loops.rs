//! Straight-line transitions turned into loops of trip count one, so that loop strategies serve them. Transitions as
//! loops of one iteration, for what is printed for loops only: with instructions, and with tables in registers.

use super::Writer;
use super::loops::MOST_NODES;
use super::outlined_transitions::{Faster, KernelFunctions};
use crate::c::kernel::{self, CFunction, LoopNames, Machine, Needs, Strategy, machine};
use headrace_transform::control::once;
use headrace_transform::kernel::{Effect, Loop, NodeId, ObjectId, Op, Transition};
use headrace_vectorize::single_iteration::{FEWEST_NODES, holding, stores_as_tokens};
use std::collections::BTreeSet;

/// Stores of constants from which on they are sunk behind the rest: those of a block.
const FEWEST_NUMBERS: usize = 16;

/// A loop of one iteration in which the bytes that are read of an object come as tokens of one more port, and the first
/// of them: then they are what differs from iteration to iteration. `None` where they do not lie side by side.
fn reads_as_tokens(body: &Loop, object: ObjectId) -> Option<(Loop, usize)> {
    let order = body.needed();
    let place = |id: NodeId| match body.graph.op(id) {
        Op::Entry { object: read, index } if *read == object => {
            Some(body.graph.constant(*index).and_then(|at| usize::try_from(at).ok()))
        }
        _ => None,
    };
    let places: BTreeSet<usize> = order.iter().filter_map(|&id| place(id)).collect::<Option<_>>()?;
    let (&first, &last) = (places.first()?, places.last()?);
    if last - first + 1 != places.len() || !body.carried.is_empty() {
        return None;
    }
    let mut turned = body.clone();
    let port = turned.consumes.len() as u32;
    turned.consumes.push((places.len() as u64, 8));
    let turned = turned.rebuilt(|graph, new, id| match place(id).flatten() {
        Some(at) => Some(graph.input(port, (at - first) as i64, body.graph.width(id))),
        None => graph.copy(&body.graph, id, new),
    })?;
    Some((turned, first))
}

/// Objects of bytes that a loop reads.
fn bytes_read(body: &Loop) -> BTreeSet<ObjectId> {
    let read = body.graph.reachable(body.roots()).into_iter().filter_map(|id| match body.graph.op(id) {
        Op::Entry { object, .. } => Some(*object),
        _ => None,
    });
    read.filter(|object| body.objects[object.0 as usize].width == 8).collect()
}

/// The function of a way, when it can be called, and the objects and first elements whose bytes it reads and writes.
type Way = (CFunction, Needs, Vec<(ObjectId, usize)>, Vec<(ObjectId, usize)>);

impl Writer<'_> {
    /// Effects of a transition in other ways than as plain statements, the best first.
    pub(super) fn faster(
        &self,
        transition: &Transition,
        effects: &[Effect],
        name: &str,
        functions: &mut KernelFunctions,
    ) -> Vec<Faster> {
        let mut ways = self.as_loop(transition, effects, name, functions);
        if ways.is_empty() {
            ways = self.cleared_behind(transition, effects, name, functions);
        }
        if !ways.is_empty() {
            return ways;
        }
        let in_parts = self
            .followed(transition, effects, name, || functions.may_select())
            .or_else(|| self.in_stages(transition, effects, name, functions));
        // Processors with what layers need have the instructions for blocks, too.
        let is_best = |layers: &Faster| in_parts.as_ref().is_none_or(|parts| layers.cycles < parts.cycles);
        let layers = self.layered(transition, effects, name).filter(is_best);
        layers.into_iter().chain(in_parts).collect()
    }

    /// As a loop of one iteration, with its stores of constants sunk behind it: a list that is cleared is no block that goes on.
    fn cleared_behind(
        &self,
        transition: &Transition,
        effects: &[Effect],
        name: &str,
        functions: &mut KernelFunctions,
    ) -> Vec<Faster> {
        let graph = &self.automaton.graph;
        let is_number = |effect: &Effect| match effect {
            Effect::Store { index, value, .. } => graph.constant(*index).is_some() && graph.constant(*value).is_some(),
            _ => false,
        };
        let (numbers, rest): (Vec<Effect>, Vec<Effect>) = effects.iter().cloned().partition(is_number);
        let place = |effect: &Effect| match effect {
            Effect::Store { object, index, .. } => Some((*object, graph.constant(*index))),
            _ => None,
        };
        let places: BTreeSet<_> = numbers.iter().filter_map(place).collect();
        let is_apart =
            |effect: &Effect| place(effect).is_none_or(|(object, at)| at.is_some() && !places.contains(&(object, at)));
        if places.len() < FEWEST_NUMBERS || !rest.iter().all(is_apart) {
            return Vec::new();
        }
        let mut behind = String::new();
        self.pointers(&numbers, None, 2, &mut behind);
        behind.push_str(&self.statements(&numbers, Vec::new(), 2));
        let with_numbers = |way: Faster| Faster { behind: behind.clone(), size: way.size + numbers.len(), ..way };
        self.as_loop(transition, &rest, name, functions).into_iter().map(with_numbers).collect()
    }

    /// As a loop of one iteration.
    fn as_loop(
        &self,
        transition: &Transition,
        effects: &[Effect],
        name: &str,
        functions: &mut KernelFunctions,
    ) -> Vec<Faster> {
        let Some(body) = once(self.automaton, self.network, transition, effects) else { return Vec::new() };
        if !(FEWEST_NODES..=MOST_NODES).contains(&body.graph.len()) || !functions.may_select() {
            return Vec::new();
        }
        let (with_tokens, written) = match stores_as_tokens(&body) {
            Some(turned) => turned,
            None => (body.clone(), Vec::new()),
        };
        let other = |body: &Loop| {
            let (_, blocks) = self.blocks(body, name, &[128]).pop()?;
            Some((blocks.function, Needs::of(&blocks.features)))
        };
        // What reads elements only differs from iteration to iteration where these go on.
        let selected = other(&with_tokens)
            .or_else(|| other(&holding(&with_tokens).filter(|_| !written.is_empty())?))
            .map(|(function, needs)| (function, needs, Vec::new(), written.clone()));
        let product = || {
            let (fast, portable) = self.product(&body, name)?;
            let fast = fast.into_iter().map(|(function, features)| (function, Needs::of(&features)));
            // The last is for all machines.
            let all = fast.chain(portable.map(|function| (function, Needs::Nothing)));
            Some(all.map(|(function, needs)| (function, needs, Vec::new(), Vec::new())).collect())
        };
        let alone = || {
            let (function, needs) = other(&holding(&body)?)?;
            Some(vec![(function, needs, Vec::new(), Vec::new())])
        };
        let ways = match selected.map(|way| vec![way]).or_else(product).or_else(alone) {
            Some(ways) => ways,
            None => {
                let in_registers = self.in_registers(&with_tokens, name).into_iter();
                in_registers.map(|(function, when, read)| (function, when, vec![read], written.clone())).collect()
            }
        };
        ways.into_iter().map(|way| self.called(&body, way)).collect()
    }

    /// A way with its call.
    fn called(&self, body: &Loop, (function, needs, read, written): Way) -> Faster {
        let places = |all: Vec<_>| all.into_iter().map(|place| self.place(place)).collect::<Vec<_>>();
        let call = self.one_iteration(&function.name, body, &places(read), &places(written));
        Faster {
            needs,
            call,
            behind: String::new(),
            cycles: function.cycles,
            function: function.with_evidence(),
            size: function.size,
            support: function.support,
        }
    }

    /// An iteration whose long functions of the bytes of an object are tables in registers, for each machine that has
    /// them: the function, when it can be called, and the object with the first element.
    fn in_registers(&self, body: &Loop, name: &str) -> Vec<(CFunction, Needs, (ObjectId, usize))> {
        let (state, tables) = (format!("struct {}", self.prefix), self.loop_names(String::new()));
        let of_machine = |machine: &Machine| {
            let function = format!("{name}_registers_{}", machine.name);
            let names = LoopNames { function: &function, state: &state, names: &tables };
            let plain = kernel::sequential(body, &names).cycles;
            bytes_read(body).into_iter().find_map(|object| {
                let (turned, first) = reads_as_tokens(body, object)?;
                let printed = kernel::print_loop(&turned, machine, Strategy::Registers, &names).ok()?;
                // All lanes for one iteration.
                let cycles = printed.cycles * f64::from(machine.vector_bits / 8);
                (cycles < plain).then(|| (printed, Needs::of(&machine.features), (object, first)))
            })
        };
        machine::for_every_loop().filter_map(of_machine).collect()
    }
}
