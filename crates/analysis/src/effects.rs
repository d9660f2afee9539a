//! What calls may write, so that a loop knows its variables before its body has been looked at.

use headrace_ir::{Actor, Argument, Place, Procedure, Root, Stmt, StmtKind, VariableId};
use std::collections::BTreeSet;

/// What a procedure may write besides its own locals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// Positions of list parameters.
    pub parameters: BTreeSet<usize>,
    /// Variables of the actor.
    pub variables: BTreeSet<VariableId>,
}

/// The effects of all procedures of an actor.
pub(crate) fn of_procedures(actor: &Actor) -> Vec<Effects> {
    let mut all = vec![Effects::default(); actor.procedures.len()];
    loop {
        let next: Vec<Effects> = actor.procedures.iter().map(|procedure| of_body(procedure, &all)).collect();
        if next == all {
            return all;
        }
        all = next;
    }
}

fn of_body(procedure: &Procedure, known: &[Effects]) -> Effects {
    let mut effects = Effects::default();
    written(&procedure.body, known, &mut |root| match root {
        Root::Actor(variable) => {
            effects.variables.insert(variable);
        }
        Root::Local(local) if local.index() < procedure.n_parameters => {
            effects.parameters.insert(local.index());
        }
        Root::Local(_) => {}
    });
    effects
}

/// Calls `write` with everything that the statements may write.
pub(crate) fn written(statements: &[Stmt], known: &[Effects], write: &mut dyn FnMut(Root)) {
    for statement in statements {
        match &statement.kind {
            StmtKind::Assign(place, _) => write(place.root),
            StmtKind::Copy { target, .. } => write(target.root),
            StmtKind::If(_, then, otherwise) => {
                written(then, known, write);
                written(otherwise, known, write);
            }
            StmtKind::While { before, body, .. } => {
                written(before, known, write);
                written(body, known, write);
            }
            StmtKind::Foreach { variable, body, .. } => {
                write(Root::Local(*variable));
                written(body, known, write);
            }
            StmtKind::Call { result, procedure, arguments } => {
                result.iter().for_each(|local| write(Root::Local(*local)));
                let Some(effects) = known.get(procedure.index()) else { continue };
                effects.variables.iter().for_each(|variable| write(Root::Actor(*variable)));
                lists(arguments)
                    .filter(|(at, _)| effects.parameters.contains(at))
                    .for_each(|(_, place)| write(place.root));
            }
            StmtKind::CallNative { result, arguments, .. } => {
                result.iter().for_each(|local| write(Root::Local(*local)));
                lists(arguments).for_each(|(_, place)| write(place.root));
            }
            StmtKind::Print { .. } => {}
        }
    }
}

/// The lists among the arguments, with their positions.
pub(crate) fn lists(arguments: &[Argument]) -> impl Iterator<Item = (usize, &Place)> {
    arguments.iter().enumerate().filter_map(|(at, argument)| match argument {
        Argument::List(place) => Some((at, place)),
        Argument::Value(_) => None,
    })
}
