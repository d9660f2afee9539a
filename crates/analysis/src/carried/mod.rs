//! What state is carried from one firing to the next, and how: which iterations are independent.
//!
//! Each action is walked over values that say how they depend on what the variables held before ([`value`]). A variable
//! is carried only if what it becomes depends, perhaps by way of others, on what it was:
//!
//! | kind | what a firing does | what follows |
//! | --- | --- | --- |
//! | unused | nothing reads it before it is written | iterations are independent |
//! | held | sets it from tokens or constants, or leaves it | independent between two such firings, as with a key |
//! | counter | adds a constant to it | iteration n is known beforehand |
//! | affine | x := a·x + b, where a and b do not depend on state | can be split: n steps are one of the same form |
//! | linear | XORs of bits of the state and of tokens | likewise, with matrices over GF(2) |
//! | true | anything else | one after the other |
//!
//! Example: `x := x ^ t` is linear, `x := (x ^ t) + 1` is true, `i := if i = 9 then 0 else i + 1 end` a counter.
//! Tokens that go around a loop of FIFOs carry state too; those loops are listed by their instances.

mod value;
mod walk;

use crate::balance::between;
use headrace_ir::{Actor, InstanceId, Network, VariableId};
use std::collections::BTreeSet;
use value::Form;

/// How a variable is carried. Later ones are harder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// No action reads it before it writes it, or no action writes it.
    Unused,
    /// Set by some firings, only read by others.
    Held,
    /// Increased by constants.
    Counter,
    /// A multiple of itself plus something.
    Affine,
    /// Sums modulo 2 of bits of the state.
    Linear,
    /// In another way.
    True,
}

impl Kind {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unused => "unused",
            Kind::Held => "held",
            Kind::Counter => "counter",
            Kind::Affine => "affine",
            Kind::Linear => "linear",
            Kind::True => "true",
        }
    }
}

/// For each variable of an actor how it is carried; constants are unused.
pub fn of_actor(actor: &Actor) -> Vec<Kind> {
    let is_read = read_before_written(actor);
    let mut held = vec![false; actor.variables.len()];
    loop {
        // What is held does not change while others are carried: for them it is as a token is.
        let kinds = kinds(actor, &is_read, &held);
        let now: Vec<bool> = kinds.iter().zip(&held).map(|(kind, held)| *held || *kind <= Kind::Held).collect();
        if now == held {
            return kinds;
        }
        held = now;
    }
}

fn kinds(actor: &Actor, is_read: &[bool], held: &[bool]) -> Vec<Kind> {
    let n = actor.variables.len();
    let mut kinds = vec![Kind::Unused; n];
    // For each variable what writes made of it, and on which variables that depends.
    let mut on: Vec<BTreeSet<VariableId>> = vec![BTreeSet::new(); n];
    let mut steps: Vec<Vec<(Kind, BTreeSet<VariableId>)>> = vec![Vec::new(); n];
    for action in &actor.actions {
        let after = walk::after(actor, action, held);
        for (at, variable) in actor.variables.iter().enumerate() {
            if !variable.mutable {
                continue;
            }
            let id = VariableId(at as u32);
            let Some(after) = after.as_ref().and_then(|after| after.get(at)) else {
                let all: BTreeSet<VariableId> = (0..n as u32).map(VariableId).collect();
                on[at].extend(&all);
                steps[at].push((Kind::True, all));
                continue;
            };
            let kind = match &after.form {
                Form::Plus(same, step) if *same == id && *step == headrace_ir::Int::ZERO => continue,
                Form::Free => Kind::Held,
                Form::Kept(same) if *same == id => Kind::Held,
                Form::Plus(same, _) if *same == id => Kind::Counter,
                Form::Affine(same) if *same == id => Kind::Affine,
                // A copy of another one.
                Form::Plus(_, step) if *step == headrace_ir::Int::ZERO => Kind::Linear,
                Form::Linear | Form::Kept(_) => Kind::Linear,
                Form::Plus(..) | Form::Affine(_) | Form::Any => Kind::True,
            };
            on[at].extend(&after.on);
            steps[at].push((kind, after.on.clone()));
        }
    }
    let reaches = closure(&on);
    for (at, steps) in steps.iter().enumerate() {
        if !actor.variables[at].mutable || !is_read[at] {
            continue;
        }
        let id = VariableId(at as u32);
        for (kind, on) in steps {
            // What does not come back to the variable is no recurrence.
            let comes_back = on.iter().any(|other| *other == id || reaches[other.index()].contains(&id));
            let kind = if comes_back { *kind } else { Kind::Held };
            kinds[at] = kinds[at].max(kind);
        }
        // Sums of integers and sums of bits do not go together.
        let has = |wanted: &[Kind]| steps.iter().any(|(kind, _)| wanted.contains(kind));
        if kinds[at] == Kind::Linear && has(&[Kind::Counter, Kind::Affine]) {
            kinds[at] = Kind::True;
        }
    }
    // Variables that depend on each other are as hard as the hardest.
    let alone = kinds.clone();
    for at in 0..n {
        let id = VariableId(at as u32);
        for other in reaches[at].iter().filter(|other| reaches[other.index()].contains(&id)) {
            if alone[at] > Kind::Held && alone[other.index()] > Kind::Held {
                let mixed = alone[at] != alone[other.index()];
                let both = alone[at].max(alone[other.index()]);
                kinds[at] = kinds[at].max(if mixed { Kind::True } else { both });
            }
        }
    }
    kinds
}

fn closure(on: &[BTreeSet<VariableId>]) -> Vec<BTreeSet<VariableId>> {
    let reach = |start: &BTreeSet<VariableId>| {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<VariableId> = start.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            if found.insert(id) {
                waiting.extend(&on[id.index()]);
            }
        }
        found
    };
    on.iter().map(reach).collect()
}

/// For each variable whether some firing may use what an earlier one left in it.
fn read_before_written(actor: &Actor) -> Vec<bool> {
    let flow = crate::flow::ActorFlow::of(actor);
    let mut is_read = vec![false; actor.variables.len()];
    let mut mark = |node: crate::flow::NodeId| {
        if let Some(read) = is_read.get_mut(node as usize) {
            *read = true;
        }
    };
    flow.edges.iter().filter(|edge| edge.from != edge.to).for_each(|edge| mark(edge.from));
    flow.places.iter().flat_map(|place| &place.nodes).for_each(|&node| mark(node));
    is_read
}

/// Instances around which tokens can go, each group once; every instance of a group leads to every other.
pub fn loops(network: &Network) -> Vec<Vec<InstanceId>> {
    let n = network.instances.len();
    let mut next = vec![Vec::new(); n];
    for (source, target) in network.connections.iter().filter_map(between) {
        next[source.0.index()].push(target.0.index());
    }
    let reach = |start: usize| {
        let mut found = vec![false; n];
        let mut waiting = next[start].clone();
        while let Some(at) = waiting.pop() {
            if !std::mem::replace(&mut found[at], true) {
                waiting.extend(&next[at]);
            }
        }
        found
    };
    let reached: Vec<Vec<bool>> = (0..n).map(reach).collect();
    let mut grouped = vec![false; n];
    let mut groups = Vec::new();
    for start in 0..n {
        if grouped[start] || !reached[start][start] {
            continue;
        }
        let group: Vec<usize> =
            (0..n).filter(|&at| at == start || (reached[start][at] && reached[at][start])).collect();
        group.iter().for_each(|&at| grouped[at] = true);
        groups.push(group.into_iter().map(|at| InstanceId(at as u32)).collect());
    }
    groups
}
