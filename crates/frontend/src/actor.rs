//! Instantiation of actors: an actor with its parameters bound, as a whole.

use crate::builder::{Builder, ParamValue, VarValue, check_imports};
use crate::members::Member;
use crate::session::{EntityId, Session, SourceProvider};
use crate::types::Ty;
use headrace_ir as ir;
use headrace_ir::Value;
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;
use std::collections::HashSet;
use std::sync::Arc;

/// Most scalars that initial values of all actors of a network may have together, where they are not zero throughout.
/// Each takes 32 bytes while a network is being made.
pub(crate) const MAX_SCALARS: u64 = 1 << 25;

/// Ports of an instantiated entity; a type is absent where it depends on something unknown.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub inputs: Vec<(String, Ty, Span)>,
    pub outputs: Vec<(String, Ty, Span)>,
}

/// An elaborated actor: what it looks like from outside and, when all went well, what it is.
pub(crate) struct Elaborated {
    pub signature: Signature,
    /// Positions of the parameters that something needs.
    pub used_params: HashSet<u32>,
    /// What the variables of an instance take in memory.
    pub state_bytes: u64,
    pub actor: Option<ir::Actor>,
}

/// Annotations as the representation keeps them.
pub(crate) fn annotations(annotations: &[ast::Annotation]) -> Vec<ir::Annotation> {
    let convert = |annotation: &ast::Annotation| ir::Annotation {
        name: annotation.name.text.to_string(),
        arguments: annotation
            .args
            .iter()
            .map(|arg| (arg.name.text.to_string(), arg.value.as_ref().map(ToString::to_string)))
            .collect(),
    };
    annotations.iter().map(convert).collect()
}

/// Elaborates an actor with the given parameters, by position. When only `checking`, the actor has its ports and nothing
/// else. `room` is the number of scalars that initial values of this and later actors may have together.
pub(crate) fn elaborate(
    session: &mut Session,
    provider: &dyn SourceProvider,
    home: EntityId,
    params: Vec<Option<ParamValue>>,
    checking: bool,
    room: &mut u64,
) -> Option<Elaborated> {
    let file = session.file(home);
    let actor = file.actor()?;
    check_imports(session, provider, &file);
    let mut builder = Builder::new(session, provider, home, params);
    let inputs = builder.ports(&actor.inputs);
    let outputs = builder.ports(&actor.outputs);
    let slots = |ports: &crate::action::Ports| {
        ports.list.iter().map(|port| (port.name.clone(), port.ty.clone(), port.span)).collect::<Vec<_>>()
    };
    let signature = Signature { inputs: slots(&inputs), outputs: slots(&outputs) };
    check_tags(&mut builder, actor, &file);

    let mut parameters: Vec<(String, Value)> = Vec::with_capacity(actor.params.len());
    for (at, param) in actor.params.iter().enumerate() {
        let id = builder.variable(home, Member::Param(at as u32), param.name.span);
        let value = id.and_then(|id| builder.ensure_value(id, param.name.span));
        if let Some(value) = value {
            parameters.push((param.name.text.to_string(), (*value).clone()));
        }
    }
    for (at, var) in actor.vars.iter().enumerate() {
        if let Some(id) = builder.variable(home, Member::Var(at as u32), var.name.span)
            && var.value.is_some()
        {
            builder.ensure_value(id, var.name.span);
        }
    }
    let lower = |builder: &mut Builder, list: &[ast::Action], initialize| {
        list.iter()
            .map(|action| builder.action(home, action, initialize, &inputs, &outputs))
            .collect::<Vec<ir::Action>>()
    };
    let initializers = lower(&mut builder, &actor.initializes, true);
    let actions = lower(&mut builder, &actor.actions, false);
    for at in 0..actor.functions.len() {
        builder.check_callable(home, Member::Function(at as u32));
    }
    for at in 0..actor.procedures.len() {
        builder.check_callable(home, Member::Procedure(at as u32));
    }
    let mut at = 0;
    while at < builder.variables.len() {
        let slot = &builder.variables[at];
        let (span, member) = (slot.span, slot.member);
        // A large list of zeros need not be there before it has to.
        if builder.file(slot.home).var(member).is_some_and(|decl| decl.value.is_some()) {
            builder.ensure_value(ir::VariableId(at as u32), span);
        }
        at += 1;
    }
    let scheduled = crate::schedule::schedule(actor, &actions);
    for problem in scheduled.problems {
        builder.report(problem);
    }
    let unknown = actor
        .params
        .iter()
        .enumerate()
        .filter(|(_, param)| !parameters.iter().any(|(name, _)| *name == param.name.text.as_str()));
    let mut unknown = unknown.map(|(at, _)| at as u32);
    let complete = unknown.all(|at| {
        matches!(builder.params.get(at as usize), Some(Some(ParamValue::Unknown))) && !builder.used_params.contains(&at)
    });
    let ports = |ports: crate::action::Ports| -> Option<Vec<ir::Port>> {
        let port = |port: crate::action::PortSlot| {
            Some(ir::Port { name: port.name, ty: port.ty.elem.known()?, span: port.span })
        };
        ports.list.into_iter().map(port).collect()
    };
    let (inputs, outputs) = (ports(inputs), ports(outputs));
    let Builder { variables, procedures, natives, used_params, .. } = builder;
    if !complete || session.has_errors() {
        return Some(Elaborated { signature, used_params, state_bytes: 0, actor: None });
    }
    let (Some(inputs), Some(outputs)) = (inputs, outputs) else {
        return Some(Elaborated { signature, used_params, state_bytes: 0, actor: None });
    };
    let variables: Option<Vec<ir::Variable>> = variables
        .into_iter()
        .map(|slot| {
            let initial = match slot.value {
                VarValue::Known(value) => Arc::try_unwrap(value).unwrap_or_else(|shared| (*shared).clone()),
                // Without an initial value, or never read: zero, once it is known that there is room for it.
                _ => Value::Bool(false),
            };
            Some(ir::Variable { name: slot.name, ty: slot.ir_ty, mutable: slot.mutable, initial, span: slot.span })
        })
        .collect();
    let procedures: Option<Vec<ir::Procedure>> = procedures.into_iter().map(|slot| slot.ir).collect();
    let (Some(variables), Some(procedures)) = (variables, procedures) else {
        return Some(Elaborated { signature, used_params, state_bytes: 0, actor: None });
    };
    let mut actor = ir::Actor {
        class: file.name.clone(),
        parameters,
        inputs,
        outputs,
        variables,
        procedures,
        natives,
        initializers,
        actions,
        schedule: scheduled.schedule,
        priorities: scheduled.priorities,
        annotations: annotations(&file.tree.annotations),
        lines: ir::Lines::default(),
        span: actor.name.span,
    };
    crate::prune::prune(&mut actor);
    let actions = actor.initializers.iter().chain(&actor.actions).map(|action| action.span);
    let places = actions.chain(actor.procedures.iter().map(|procedure| procedure.span));
    actor.lines = ir::Lines::of(&session.sources, actor.span, places);
    let is_zero = |variable: &ir::Variable| variable.initial == Value::Bool(false) && variable.mutable;
    let listed = actor.variables.iter().filter(|variable| !is_zero(variable));
    let n_scalars: u64 = listed.map(|variable| variable.ty.len() as u64).sum();
    match room.checked_sub(n_scalars) {
        Some(rest) => *room = rest,
        None => {
            let message = format!("the initial values of `{}` and of the actors before it are too long", actor.class);
            session.report(
                Diagnostic::error("list-too-large", message)
                    .at(actor.span, format!("{n_scalars} values in this actor"))
                    .note(format!("a network can have {MAX_SCALARS} in all, besides lists that begin with zeros"))
                    .help("fill lists in an `initialize` action"),
            );
            return Some(Elaborated { signature, used_params, state_bytes: 0, actor: None });
        }
    }
    let state_bytes = actor.variables.iter().map(|variable| variable.ty.storage_bytes()).fold(0, u64::saturating_add);
    if checking {
        let actor = ports_only(actor.class, actor.inputs, actor.outputs, actor.span);
        return Some(Elaborated { signature, used_params, state_bytes, actor: Some(actor) });
    }
    for variable in &mut actor.variables {
        if variable.initial == Value::Bool(false) {
            variable.initial = match variable.mutable && variable.ty.is_list() {
                true => Value::List(Vec::new()),
                false => Value::zero(&variable.ty),
            };
        }
    }
    Some(Elaborated { signature, used_params, state_bytes, actor: Some(actor) })
}

fn ports_only(class: String, inputs: Vec<ir::Port>, outputs: Vec<ir::Port>, span: Span) -> ir::Actor {
    ir::Actor {
        class,
        parameters: Vec::new(),
        inputs,
        outputs,
        variables: Vec::new(),
        procedures: Vec::new(),
        natives: Vec::new(),
        initializers: Vec::new(),
        actions: Vec::new(),
        schedule: ir::Schedule { states: Vec::new(), initial: ir::StateId(0) },
        priorities: Vec::new(),
        annotations: Vec::new(),
        lines: ir::Lines::default(),
        span,
    }
}

/// A tag must not be the name of a port or of a state variable.
fn check_tags(builder: &mut Builder, actor: &ast::Actor, file: &crate::members::Loaded) {
    for action in actor.actions.iter().chain(&actor.initializes) {
        let Some(tag) = &action.tag else { continue };
        let taken = match file.members.get(&tag.text) {
            Some(Member::Var(at)) => actor.vars.get(*at as usize).map(|var| ("a state variable", var.name.span)),
            _ => {
                let mut ports = actor.inputs.iter().chain(&actor.outputs);
                ports.find(|port| port.name.text == tag.text).map(|port| ("a port", port.name.span))
            }
        };
        if let Some((what, span)) = taken {
            builder.report(
                Diagnostic::error("duplicate-name", format!("`{}` is {what} and the tag of an action", tag.text))
                    .at(tag.span, "the tag")
                    .also(span, "first declared here"),
            );
        }
    }
}
