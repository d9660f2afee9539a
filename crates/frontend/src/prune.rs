//! Leaves out of an actor what nothing in it refers to: constants that were folded, functions that are never called.

use crate::visit::{self, Ids};
use headrace_ir::{Action, Actor, NativeId, OutputValue, ProcedureId, Root, VariableId};

struct Used {
    variables: Vec<bool>,
    procedures: Vec<bool>,
    natives: Vec<bool>,
    queue: Vec<usize>,
}

impl Ids for Used {
    fn root(&mut self, root: &mut Root) {
        if let Root::Actor(id) = root {
            self.variables[id.index()] = true;
        }
    }

    fn procedure(&mut self, id: &mut ProcedureId) {
        if !std::mem::replace(&mut self.procedures[id.index()], true) {
            self.queue.push(id.index());
        }
    }

    fn native(&mut self, id: &mut NativeId) {
        self.natives[id.index()] = true;
    }
}

struct Renumber {
    variables: Vec<u32>,
    procedures: Vec<u32>,
    natives: Vec<u32>,
}

impl Ids for Renumber {
    fn root(&mut self, root: &mut Root) {
        if let Root::Actor(id) = root {
            *id = VariableId(self.variables[id.index()]);
        }
    }

    fn procedure(&mut self, id: &mut ProcedureId) {
        *id = ProcedureId(self.procedures[id.index()]);
    }

    fn native(&mut self, id: &mut NativeId) {
        *id = NativeId(self.natives[id.index()]);
    }
}

fn action(action: &mut Action, ids: &mut dyn Ids) {
    visit::stmts(&mut action.guard.before, ids);
    action.guard.conditions.iter_mut().for_each(|condition| visit::expr(condition, ids));
    visit::stmts(&mut action.body, ids);
    for output in &mut action.produces {
        for value in &mut output.values {
            match value {
                OutputValue::Scalar(value) => visit::expr(value, ids),
                OutputValue::List { place, .. } => visit::place(place, ids),
            }
        }
    }
}

fn procedure(actor: &mut Actor, at: usize, ids: &mut dyn Ids) {
    let procedure = &mut actor.procedures[at];
    visit::stmts(&mut procedure.body, ids);
    if let Some((_, result)) = &mut procedure.result {
        visit::expr(result, ids);
    }
}

fn numbers(used: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let number = |&used: &bool| {
        let number = next;
        next += u32::from(used);
        number
    };
    used.iter().map(number).collect()
}

fn keep<T>(list: &mut Vec<T>, used: &[bool]) {
    let mut used = used.iter();
    list.retain(|_| used.next().copied().unwrap_or(false));
}

/// Drops what nothing refers to and renumbers the rest.
pub(crate) fn prune(actor: &mut Actor) {
    let mut used = Used {
        variables: vec![false; actor.variables.len()],
        procedures: vec![false; actor.procedures.len()],
        natives: vec![false; actor.natives.len()],
        queue: Vec::new(),
    };
    for each in actor.actions.iter_mut().chain(&mut actor.initializers) {
        action(each, &mut used);
    }
    while let Some(at) = used.queue.pop() {
        procedure(actor, at, &mut used);
    }
    let mut renumber = Renumber {
        variables: numbers(&used.variables),
        procedures: numbers(&used.procedures),
        natives: numbers(&used.natives),
    };
    keep(&mut actor.variables, &used.variables);
    keep(&mut actor.procedures, &used.procedures);
    keep(&mut actor.natives, &used.natives);
    for each in actor.actions.iter_mut().chain(&mut actor.initializers) {
        action(each, &mut renumber);
    }
    for at in 0..actor.procedures.len() {
        procedure(actor, at, &mut renumber);
    }
}
