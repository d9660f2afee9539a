//! Predicate abstraction over the states of an FSM: where a term of a guard can hold between two firings.
//!
//! For each term (a conjunction over state variables alone) one bit is kept for each state of the FSM: whether the term may
//! hold while the actor waits there. It is the least solution, found by a work list, of: the term holds at first if the
//! initial values allow it; it holds after a firing if that may have written what the term reads, or if it held before and the
//! guard of what fired did not rule it out. Example: with `take: action In:[x] ==> guard left > 0 do left := left - 1; end`
//! outside of the FSM and `done: action ==> guard left = 0 end` on every way into state `t`, `left > 0` never holds in `t`,
//! unless something in `t` sets `left`.

use super::guards::{Atom, Term, contradicts, equals, terms};
use crate::effects::{self, Effects, written};
use crate::rates::reachable_states;
use headrace_ir::{Action, ActionId, Actor, Expr, ExprKind, Root, Stmt, StmtKind, Test, Value, VariableId};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the guards of an actor.
pub(super) struct Invariants<'a> {
    actor: &'a Actor,
    guards: Vec<Vec<Term>>,
    /// What a firing may write, with the values that it surely leaves.
    writes: Vec<BTreeMap<VariableId, Option<Value>>>,
    /// What initialisers may write.
    initialised: BTreeSet<VariableId>,
    /// For an action, in which states each term of its guard may hold.
    holding: BTreeMap<ActionId, Vec<BTreeSet<usize>>>,
}

impl<'a> Invariants<'a> {
    pub fn of(actor: &'a Actor) -> Self {
        let known = effects::of_procedures(actor);
        let mut initialised = BTreeSet::new();
        for initializer in &actor.initializers {
            initialised.extend(writes(initializer, &known).into_keys());
        }
        Self {
            actor,
            guards: actor.actions.iter().map(|action| terms(actor, action)).collect(),
            writes: actor.actions.iter().map(|action| writes(action, &known)).collect(),
            initialised,
            holding: BTreeMap::new(),
        }
    }

    /// True when no tokens and nothing that can be so in this state satisfy both guards.
    pub fn exclusive(&mut self, state: usize, a: ActionId, b: ActionId) -> bool {
        let apart = |a: &Term, b: &Term| contradicts(a, b);
        if self.guards[a.index()].iter().all(|a| self.guards[b.index()].iter().all(|b| apart(a, b))) {
            return true;
        }
        for id in [a, b] {
            if !self.holding.contains_key(&id) {
                let states = self.guards[id.index()].iter().map(|term| self.states(term)).collect();
                self.holding.insert(id, states);
            }
        }
        let possible = |id: ActionId| {
            let terms = self.guards[id.index()].iter().zip(&self.holding[&id]);
            terms.filter(move |(_, states)| states.contains(&state)).map(|(term, _)| term)
        };
        possible(a).all(|a| possible(b).all(|b| apart(a, b)))
    }

    /// In which states a term may hold.
    fn states(&self, term: &[Atom]) -> BTreeSet<usize> {
        let term: Term = term.iter().filter(|atom| !atom.reads.others).cloned().collect();
        let reads: BTreeSet<VariableId> = term.iter().flat_map(|atom| atom.reads.variables.iter().copied()).collect();
        let reachable: Vec<usize> = reachable_states(self.actor).into_iter().map(|state| state.index()).collect();
        if reads.is_empty() {
            return reachable.into_iter().collect();
        }
        let first: Term = (reads.iter().filter(|variable| !self.initialised.contains(variable)))
            .filter_map(|&variable| equals(variable, &self.actor.variables.get(variable.index())?.initial))
            .collect();
        let mut todo = Vec::new();
        if !contradicts(&first, &term) {
            todo.push(self.actor.schedule.initial.index());
        }
        let tests = |state: usize| &self.actor.schedule.states[state].tests;
        let made = |test: &&Test| self.holds_after(test.action, &term, &reads, false);
        todo.extend(reachable.iter().flat_map(|&state| tests(state).iter().filter(made).map(|test| test.next.index())));
        let mut holding = BTreeSet::new();
        while let Some(state) = todo.pop() {
            if holding.insert(state) {
                let kept = |test: &&Test| self.holds_after(test.action, &term, &reads, true);
                todo.extend(tests(state).iter().filter(kept).map(|test| test.next.index()));
            }
        }
        holding
    }

    /// Whether a term may hold after a firing, before which it `held` or not.
    fn holds_after(&self, action: ActionId, term: &[Atom], reads: &BTreeSet<VariableId>, held: bool) -> bool {
        let writes = &self.writes[action.index()];
        // A guard that says what the term says lets nothing fire where the term does not hold.
        let fires = |guard: &&Term| held || !term.iter().all(|atom| guard.contains(atom));
        let mut guards = self.guards[action.index()].iter().filter(fires);
        if reads.iter().all(|variable| !writes.contains_key(variable)) {
            return held && guards.any(|guard| !contradicts(guard, term));
        }
        let left: Term =
            reads.iter().filter_map(|variable| equals(*variable, writes.get(variable)?.as_ref()?)).collect();
        // What the guard says of variables that are not written is true afterwards, too.
        guards.any(|guard| {
            let stays = |atom: &&Atom| atom.reads.variables.iter().all(|variable| !writes.contains_key(variable));
            let known: Term = guard.iter().filter(stays).chain(&left).cloned().collect();
            !contradicts(&known, term)
        })
    }
}

/// The variables that a firing may write, with what the last statement leaves there where that is a constant.
fn writes(action: &Action, known: &[Effects]) -> BTreeMap<VariableId, Option<Value>> {
    let mut writes = BTreeMap::new();
    for statement in &action.body {
        written(std::slice::from_ref(statement), known, &mut |root| {
            if let Root::Actor(variable) = root {
                writes.insert(variable, None);
            }
        });
        if let Some((variable, value)) = constant_store(statement) {
            writes.insert(variable, Some(value));
        }
    }
    writes
}

fn constant_store(statement: &Stmt) -> Option<(VariableId, Value)> {
    let StmtKind::Assign(place, value) = &statement.kind else { return None };
    let Root::Actor(variable) = place.root else { return None };
    let number = |expr: &Expr| match &expr.kind {
        ExprKind::Int(number) => Some(Value::Int(number.clone())),
        ExprKind::Bool(value) => Some(Value::Bool(*value)),
        _ => None,
    };
    let value = match &value.kind {
        ExprKind::Wrap(ty, operand) => match number(operand)? {
            Value::Int(number) => Value::Int(number.wrap(*ty)),
            _ => return None,
        },
        _ => number(value)?,
    };
    place.indices.is_empty().then_some((variable, value))
}
