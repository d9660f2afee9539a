//! Transfer function of one action: what a firing does to tokens and variables, as data flow, whatever the actor does before
//! and after it.
//!
//! Exploration follows whole networks from their beginning and knows what variables hold; here nothing is known of them. So the
//! action is put between two others, in an actor of its own. `begin` gives all variables values from tokens that nobody
//! knows, then the action fires when a token says so, and behind it comes a token, for which everybody waits for ever, that says
//! which of the actor's actions is next: it may be any, so that no store is dead. Example: of `action In:[x] ==> Out:[sum] do sum := sum + x; end`, the transition is
//! `o0[0] := o0[0] + in0[0]; out0[0] := o0[0] + in0[0]`.

use super::explore::{Limits, automaton_of};
use super::{NotFused, Step};
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Transition};
use headrace_ir::{
    Action, ActionId, Actor, ActorId, CompareOp, Connection, Endpoint, Expr, ExprKind, Guard, Instance, InstanceId,
    IntType, Local, LocalId, LocalKind, Network, Output, OutputValue, Pattern, Place, Port, Root, Scalar, Schedule,
    State, StateId, Stmt, StmtKind, Test, Type, Variable, VariableId,
};
use headrace_kernel::automaton::{Awaited, Holds};

/// What one firing of an action does.
#[derive(Clone, Debug)]
pub struct ActionTransition {
    /// Its values.
    pub graph: Graph,
    /// What it reads and writes.
    pub objects: Vec<Object>,
    /// The variable of the actor that each of these is; `None`: a list of the firing.
    pub variables: Vec<Option<VariableId>>,
    /// What it does, over the ports of the actor.
    pub transition: Transition,
    /// Whether its guard holds, 1 bit, over the same tokens and what variables held before; `None`: it has none.
    pub guard: Option<NodeId>,
}

/// What one firing of an action does. State, priorities and other actions say when it fires; they are not asked.
///
/// # Errors
///
/// Why it is no straight-line data flow: how often a loop runs, or how far it goes, depends on data; or there are values
/// that are no bits.
pub fn transition_of_action(actor: &Actor, action: ActionId) -> Result<ActionTransition, NotFused> {
    let span = actor.actions[action.index()].span;
    let alone = Alone::of(actor, action);
    let network = alone.network();
    // Zeros: nothing in it depends on what they are.
    let tokens = |from: &[Pattern]| {
        let n = |port: usize| from.iter().filter(|pattern| pattern.port == port).map(Pattern::tokens).sum::<u64>();
        (0..network.inputs.len()).map(|port| vec![0; n(port) as usize]).collect::<Vec<Vec<u128>>>()
    };
    let [begin, own, ..] = &alone.actor.actions[alone.first..] else { return Err(NotFused::new("no action", span)) };
    let sample = vec![tokens(&begin.consumes), tokens(&own.consumes)];
    let limits = Limits { states: 8, ..Limits::default() };
    let automaton = automaton_of(&network, &[sample], &limits)?;
    let of = |state: usize| {
        let mut step = automaton.states.get(state).map(|state| &state.step);
        while let Some(Step::Wait(awaited)) = step {
            step = awaited.first().map(|Awaited { step, .. }| step);
        }
        match step {
            Some(Step::Go { transition, target }) => Some((transition, *target)),
            _ => None,
        }
    };
    // The first gives variables their values.
    let found = of(0).and_then(|(_, target)| of(target));
    let Some((transition, _)) = found else {
        return Err(NotFused::new("what it does depends on more than which tokens it has", span));
    };
    let (mut transition, mut guard) = (transition.clone(), None);
    let has_guard = !actor.actions[action.index()].guard.conditions.is_empty();
    let n_own = actor.outputs.len();
    let mut known = Vec::new();
    transition.effects.retain(|effect| match effect {
        Effect::Output { port, value, .. } if has_guard && *port as usize == n_own => {
            guard = Some(*value);
            false
        }
        Effect::Output { port, offset, value } if *port as usize >= n_own => {
            let variable = alone.held[*port as usize - n_own - usize::from(has_guard)];
            known.push((variable, *offset, *value));
            false
        }
        _ => true,
    });
    transition.consumes.truncate(actor.inputs.len());
    transition.produces.truncate(actor.outputs.len());
    let variable = |holds: &Holds| match holds {
        Holds::Variable(_, variable) => Some(*variable),
        Holds::Fifo(_) | Holds::Local => None,
    };
    let mut variables: Vec<Option<VariableId>> = automaton.holds.iter().map(variable).collect();
    let (mut graph, mut objects) = (automaton.graph, automaton.objects);
    known.retain(|known| graph.constant(known.2).is_some());
    for (variable, place, value) in known {
        let at = variables.iter().position(|known| *known == Some(variable)).unwrap_or_else(|| {
            let Variable { name, ty, .. } = &actor.variables[variable.index()];
            let (width, length) = (graph.width(value), ty.len());
            objects.push(Object { name: name.clone(), width, length, persistent: true, residue: None });
            variables.push(Some(variable));
            objects.len() - 1
        });
        let index = graph.number(u128::from(place), 32);
        transition.effects.push(Effect::Store { object: ObjectId(at as u32), index, value });
    }
    Ok(ActionTransition { graph, objects, variables, transition, guard })
}

/// An actor in which an action is alone: behind its own actions there are those that begin, fire and end.
struct Alone {
    actor: Actor,
    /// Position of the first of these.
    first: usize,
    /// Variables whose elements come out behind the firing, on the last ports.
    held: Vec<VariableId>,
}

/// Elements of a variable that come out at most.
const MOST_ELEMENTS: usize = 4096;

/// The token that says which action is next.
const NEXT: Scalar = Scalar::Int(IntType { signed: false, width: 32 });

impl Alone {
    fn of(actor: &Actor, action: ActionId) -> Alone {
        let mut own = actor.actions[action.index()].clone();
        let (span, first) = (own.span, actor.actions.len());
        let mut alone = Actor { initializers: Vec::new(), priorities: Vec::new(), ..actor.clone() };
        let port = |name: &str, ty| Port { name: name.to_owned(), ty, span };
        let mut begin = empty("begin", span);
        let is_held = |(_, variable): &(usize, &Variable)| variable.mutable && variable.ty.len() <= MOST_ELEMENTS;
        let held = actor.variables.iter().enumerate().filter(is_held).map(|(at, _)| VariableId(at as u32));
        let held: Vec<VariableId> = held.collect();
        for (at, variable) in actor.variables.iter().enumerate().filter(|(_, variable)| variable.mutable) {
            let local = LocalId(begin.locals.len() as u32);
            let ty = Type { dims: variable.ty.dims.clone(), ..variable.ty.clone() };
            let n: u32 = ty.dims.iter().product();
            // A token for each element.
            let flat = Type { dims: if ty.dims.is_empty() { Vec::new() } else { vec![n] }, ..ty.clone() };
            begin.locals.push(Local { name: variable.name.clone(), ty: flat.clone(), kind: LocalKind::Pattern });
            let repeat = (!ty.dims.is_empty()).then_some(n);
            begin.consumes.push(Pattern { port: alone.inputs.len(), locals: vec![local], repeat });
            alone.inputs.push(port(&format!("{}?", variable.name), ty.element));
            begin.body.extend(given(VariableId(at as u32), local, &ty, span));
        }
        let mut guard = std::mem::replace(&mut own.guard, empty("", span).guard);
        let condition = guard
            .conditions
            .drain(..)
            .reduce(|all, next| Expr { kind: ExprKind::And(Box::new(all), Box::new(next)), span });
        if let Some(condition) = condition {
            let local = LocalId(own.locals.len() as u32);
            own.locals.push(Local { name: "guard".into(), ty: Type::scalar(Scalar::Bool), kind: LocalKind::Plain });
            let kept = Stmt { kind: StmtKind::Assign(whole(Root::Local(local), span), condition), span };
            let body = std::mem::take(&mut own.body);
            own.body = guard.before.into_iter().chain([kept]).chain(body).collect();
            let value = Expr { kind: ExprKind::Load(whole(Root::Local(local), span)), span };
            own.produces.push(Output {
                port: alone.outputs.len(),
                values: vec![OutputValue::Scalar(value)],
                repeat: None,
            });
            alone.outputs.push(port("guard?", Scalar::Bool));
        }
        // What is known of variables behind it stands in no store.
        for &variable in &held {
            let ty = &actor.variables[variable.index()].ty;
            let value = |place| OutputValue::Scalar(Expr { kind: ExprKind::Load(place), span });
            let values = places(variable, ty, span).into_iter().map(value).collect();
            own.produces.push(Output { port: alone.outputs.len(), values, repeat: None });
            alone.outputs.push(port("held?", ty.element));
        }
        let waits = |action: &mut Action, port: usize, ty: Scalar| {
            let local = LocalId(action.locals.len() as u32);
            action.locals.push(Local { name: "token".into(), ty: Type::scalar(ty), kind: LocalKind::Pattern });
            action.consumes.push(Pattern { port, locals: vec![local], repeat: None });
            local
        };
        waits(&mut own, alone.inputs.len(), Scalar::Bool);
        alone.inputs.push(port("go?", Scalar::Bool));
        alone.actions.extend([begin, own]);
        for at in 0..first {
            let mut end = empty("end", span);
            let local = waits(&mut end, alone.inputs.len(), NEXT);
            let is = |kind| Box::new(Expr { kind, span });
            let next = is(ExprKind::Load(whole(Root::Local(local), span)));
            let number = is(ExprKind::Int(headrace_ir::Int::from(at as i64)));
            end.guard.conditions.push(Expr { kind: ExprKind::Compare(CompareOp::Equal, next, number), span });
            end.guard.peeks.push(local);
            alone.actions.push(end);
        }
        alone.inputs.push(port("next?", NEXT));
        let test = |action: usize, next: usize| Test { action: ActionId(action as u32), next: StateId(next as u32) };
        let ends = (0..first).map(|at| test(first + 2 + at, 3 + at)).collect();
        let any = (0..first).map(|at| vec![test(at, 3 + at)]);
        let tests = [vec![test(first, 1)], vec![test(first + 1, 2)], ends].into_iter().chain(any);
        let state = |(at, tests): (usize, Vec<Test>)| State { name: format!("{at}"), tests };
        let states = tests.enumerate().map(state).collect();
        alone.schedule = Schedule { states, initial: StateId(0) };
        Alone { actor: alone, first, held }
    }

    /// The actor with all its ports at the boundary.
    fn network(&self) -> Network {
        let (actor, span) = (&self.actor, self.actor.span);
        let instance = InstanceId(0);
        let connection = |source, target| Connection {
            source,
            target,
            via: Vec::new(),
            fifo_tokens: None,
            is_registered: false,
            span,
        };
        let inputs = (0..actor.inputs.len())
            .map(|port| connection(Endpoint::Boundary(port), Endpoint::Instance(instance, port)));
        let outputs = (0..actor.outputs.len())
            .map(|port| connection(Endpoint::Instance(instance, port), Endpoint::Boundary(port)));
        Network {
            name: actor.class.clone(),
            inputs: actor.inputs.clone(),
            outputs: actor.outputs.clone(),
            connections: inputs.chain(outputs).collect(),
            instances: vec![Instance {
                name: "action".into(),
                path: vec!["action".into()],
                actor: ActorId(0),
                alternative: None,
                span,
            }],
            actors: vec![actor.clone()],
            span,
        }
    }
}

fn whole(root: Root, span: headrace_source::Span) -> Place {
    Place { root, indices: Vec::new(), span }
}

/// An action that does nothing.
fn empty(name: &str, span: headrace_source::Span) -> Action {
    Action {
        name: name.to_owned(),
        tag: None,
        consumes: Vec::new(),
        produces: Vec::new(),
        guard: Guard { before: Vec::new(), conditions: Vec::new(), peeks: Vec::new() },
        locals: Vec::new(),
        body: Vec::new(),
        annotations: Vec::new(),
        span,
    }
}

fn number(value: u32, span: headrace_source::Span) -> Expr {
    Expr { kind: ExprKind::Int(headrace_ir::Int::from(i64::from(value))), span }
}

/// The elements of a variable, in their order.
fn places(variable: VariableId, ty: &Type, span: headrace_source::Span) -> Vec<Place> {
    let place = |at: usize| {
        let mut rest = at as u32;
        let mut indices: Vec<Expr> = Vec::new();
        for &size in ty.dims.iter().rev() {
            indices.insert(0, number(rest % size, span));
            rest /= size;
        }
        Place { indices, ..whole(Root::Actor(variable), span) }
    };
    (0..ty.len()).map(place).collect()
}

/// Statements that give a variable the elements of a local, in their order.
fn given(variable: VariableId, local: LocalId, ty: &Type, span: headrace_source::Span) -> Vec<Stmt> {
    let assign = |(at, target): (usize, Place)| {
        let indices = if ty.dims.is_empty() { Vec::new() } else { vec![number(at as u32, span)] };
        let value = Expr { kind: ExprKind::Load(Place { indices, ..whole(Root::Local(local), span) }), span };
        Stmt { kind: StmtKind::Assign(target, value), span }
    };
    places(variable, ty, span).into_iter().enumerate().map(assign).collect()
}
