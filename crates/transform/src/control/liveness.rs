//! Liveness of variables over the states of an FSM. Which variables an actor may still read, for each state of its FSM.
//!
//! What nobody reads before it is written again tells nothing: a state of the automaton neither knows nor keeps it.
//! Example: `last`, which a message ends with, is dead until the next message sets it, so that it does not matter
//! whether the message before ended in one chunk or in many. Backwards over the actions, as for the blocks of a
//! program (Aho, Lam, Sethi, Ullman, "Compilers", section 9.2.5), with the states of the FSM as the points between.

use headrace_ir::{
    Action, Actor, Argument, Expr, ExprKind, OutputValue, Place, ProcedureId, Root, StateId, Stmt, StmtKind, VariableId,
};
use std::collections::BTreeSet;

/// Calls inside of one another that are followed; beyond, everything is taken to be read.
const CALL_DEPTH: u32 = 16;

/// Variables of an actor that are read before they are written, for each state of its FSM.
pub(crate) fn live(actor: &Actor) -> Vec<Vec<bool>> {
    let flow = Flow { actor };
    let mut live: Vec<BTreeSet<VariableId>> = vec![BTreeSet::new(); actor.schedule.states.len()];
    loop {
        let mut changed = false;
        for state in (0..live.len()).rev() {
            let mut here = live[state].clone();
            for test in &actor.schedule.states[state].tests {
                let mut before = live[test.next.index()].clone();
                flow.action(&actor.actions[test.action.index()], &mut before);
                here.extend(before);
            }
            changed |= here.len() > live[state].len();
            live[state] = here;
        }
        if !changed {
            break;
        }
    }
    // What initialisers set is there in the first state, whoever reads it.
    live.iter()
        .map(|live| (0..actor.variables.len()).map(|at| live.contains(&VariableId(at as u32))).collect())
        .collect()
}

struct Flow<'a> {
    actor: &'a Actor,
}

/// Going backwards, variables that are read from here on.
type Live = BTreeSet<VariableId>;

impl Flow<'_> {
    fn action(&self, action: &Action, live: &mut Live) {
        for value in action.produces.iter().flat_map(|output| &output.values) {
            match value {
                OutputValue::Scalar(value) => self.reads(value, live, 0),
                OutputValue::List { place, .. } => self.reads_place(place, live, 0),
            }
        }
        self.statements(&action.body, live, 0);
        for condition in &action.guard.conditions {
            self.reads(condition, live, 0);
        }
        self.statements(&action.guard.before, live, 0);
    }

    fn statements(&self, statements: &[Stmt], live: &mut Live, depth: u32) {
        for statement in statements.iter().rev() {
            match &statement.kind {
                StmtKind::Assign(place, value) => {
                    self.writes(place, live, depth);
                    self.reads(value, live, depth);
                }
                StmtKind::Copy { target, source, .. } => {
                    self.writes(target, live, depth);
                    self.reads_place(source, live, depth);
                }
                StmtKind::If(condition, then, otherwise) => {
                    let mut other = live.clone();
                    self.statements(otherwise, &mut other, depth);
                    self.statements(then, live, depth);
                    live.extend(other);
                    self.reads(condition, live, depth);
                }
                StmtKind::While { before, condition, body } => {
                    self.repeated(live, |live| {
                        self.statements(body, live, depth);
                        self.reads(condition, live, depth);
                        self.statements(before, live, depth);
                    });
                    self.reads(condition, live, depth);
                    self.statements(before, live, depth);
                }
                StmtKind::Foreach { low, high, body, .. } => {
                    self.repeated(live, |live| self.statements(body, live, depth));
                    self.reads(low, live, depth);
                    self.reads(high, live, depth);
                }
                StmtKind::Call { procedure, arguments, .. } => self.call(*procedure, arguments, live, depth),
                StmtKind::CallNative { arguments, .. } => self.arguments(arguments, live, depth),
                StmtKind::Print { pieces, .. } => {
                    pieces.iter().for_each(|piece| self.reads(&piece.value, live, depth));
                }
            }
        }
    }

    /// What may run any number of times.
    fn repeated(&self, live: &mut Live, iteration: impl Fn(&mut Live)) {
        loop {
            let mut before = live.clone();
            iteration(&mut before);
            let n = live.len();
            live.extend(before);
            if live.len() == n {
                return;
            }
        }
    }

    fn writes(&self, place: &Place, live: &mut Live, depth: u32) {
        if let Root::Actor(variable) = place.root
            && place.indices.is_empty()
        {
            live.remove(&variable);
        }
        place.indices.iter().for_each(|index| self.reads(index, live, depth));
    }

    fn reads_place(&self, place: &Place, live: &mut Live, depth: u32) {
        if let Root::Actor(variable) = place.root {
            live.insert(variable);
        }
        place.indices.iter().for_each(|index| self.reads(index, live, depth));
    }

    /// A list that is passed is taken to be read.
    fn arguments(&self, arguments: &[Argument], live: &mut Live, depth: u32) {
        for argument in arguments {
            match argument {
                Argument::Value(value) => self.reads(value, live, depth),
                Argument::List(place) => self.reads_place(place, live, depth),
            }
        }
    }

    fn call(&self, procedure: ProcedureId, arguments: &[Argument], live: &mut Live, depth: u32) {
        if depth >= CALL_DEPTH {
            live.extend((0..self.actor.variables.len()).map(|at| VariableId(at as u32)));
            return;
        }
        let callee = &self.actor.procedures[procedure.index()];
        if let Some((_, value)) = &callee.result {
            self.reads(value, live, depth + 1);
        }
        self.statements(&callee.body, live, depth + 1);
        self.arguments(arguments, live, depth);
    }

    fn reads(&self, expr: &Expr, live: &mut Live, depth: u32) {
        match &expr.kind {
            ExprKind::Load(place) => self.reads_place(place, live, depth),
            // A function may not be called, as in the side of a choice: it writes nothing that can be counted on.
            ExprKind::Call(procedure, arguments) => {
                let mut inside = live.clone();
                self.call(*procedure, arguments, &mut inside, depth);
                live.extend(inside);
            }
            _ => expr.parts().into_iter().for_each(|part| self.reads(part, live, depth)),
        }
    }
}

/// Whether a variable may still be read in a state.
pub(crate) fn is_live(live: &[Vec<bool>], state: StateId, variable: usize) -> bool {
    live.get(state.index()).and_then(|variables| variables.get(variable)).copied().unwrap_or(true)
}
