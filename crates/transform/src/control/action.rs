//! Transfer function of one action: what a firing does to tokens and variables, as data flow, whatever the actor does before
//! and after it.
//!
//! Exploration follows whole networks from their beginning and knows what variables hold; here nothing is known of them. So the
//! action is put between two others, in an actor of its own. `begin` gives all variables values from tokens that nobody
//! knows, then the action fires when a token says so, and behind it `end` waits for ever, which may do all that the actor
//! can, so that no store is dead. Example: of `action In:[x] ==> Out:[sum] do sum := sum + x; end`, the transition is
//! `o0[0] := o0[0] + in0[0]; out0[0] := o0[0] + in0[0]`.

use super::explore::{Limits, automaton_of};
use super::{NotFused, Step};
use crate::kernel::{Effect, Graph, NodeId, Object, Transition};
use headrace_ir::{
    Action, ActionId, Actor, ActorId, Connection, Endpoint, Expr, ExprKind, Guard, Instance, InstanceId, Local,
    LocalId, LocalKind, Network, Output, OutputValue, Pattern, Place, Port, Root, Scalar, Schedule, State, StateId,
    Stmt, StmtKind, Test, Type, VariableId,
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
    let [begin, own, _] = &alone.actor.actions[alone.first..] else { return Err(NotFused::new("no action", span)) };
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
    transition.effects.retain(|effect| match effect {
        Effect::Output { port, value, .. } if *port as usize == actor.outputs.len() => {
            guard = Some(*value);
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
    let variables = automaton.holds.iter().map(variable).collect();
    Ok(ActionTransition { graph: automaton.graph, objects: automaton.objects, variables, transition, guard })
}

/// An actor in which an action is alone: behind its own actions there are the three that begin, fire and end.
struct Alone {
    actor: Actor,
    /// Position of the first of the three.
    first: usize,
}

impl Alone {
    fn of(actor: &Actor, action: ActionId) -> Alone {
        let mut own = actor.actions[action.index()].clone();
        let (span, first) = (own.span, actor.actions.len());
        let mut alone = Actor { initializers: Vec::new(), priorities: Vec::new(), ..actor.clone() };
        let port = |name: &str, ty| Port { name: name.to_owned(), ty, span };
        let mut begin = empty("begin", span);
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
        let mut waits = |action: &mut Action, name: &str| {
            let local = LocalId(action.locals.len() as u32);
            action.locals.push(Local { name: name.into(), ty: Type::scalar(Scalar::Bool), kind: LocalKind::Pattern });
            action.consumes.push(Pattern { port: alone.inputs.len(), locals: vec![local], repeat: None });
            alone.inputs.push(port(name, Scalar::Bool));
        };
        waits(&mut own, "go?");
        let mut end = empty("end", span);
        waits(&mut end, "never?");
        alone.actions.extend([begin, own, end]);
        let id = |at: usize| ActionId(at as u32);
        let after = |at: usize, next: u32| vec![Test { action: id(first + at), next: StateId(next) }];
        // What comes behind the end could be any of them.
        let any = (0..first).map(|at| Test { action: id(at), next: StateId(3) }).collect();
        let state = |(at, tests): (usize, Vec<Test>)| State { name: format!("{at}"), tests };
        let states = [after(0, 1), after(1, 2), after(2, 3), any].into_iter().enumerate().map(state).collect();
        alone.schedule = Schedule { states, initial: StateId(0) };
        Alone { actor: alone, first }
    }

    /// The actor with all its ports at the boundary.
    fn network(&self) -> Network {
        let (actor, span) = (&self.actor, self.actor.span);
        let instance = InstanceId(0);
        let connection = |source, target| Connection { source, target, via: Vec::new(), fifo_tokens: None, span };
        let inputs = (0..actor.inputs.len())
            .map(|port| connection(Endpoint::Boundary(port), Endpoint::Instance(instance, port)));
        let outputs = (0..actor.outputs.len())
            .map(|port| connection(Endpoint::Instance(instance, port), Endpoint::Boundary(port)));
        Network {
            name: actor.class.clone(),
            inputs: actor.inputs.clone(),
            outputs: actor.outputs.clone(),
            connections: inputs.chain(outputs).collect(),
            instances: vec![Instance { name: "action".into(), path: vec!["action".into()], actor: ActorId(0), span }],
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

/// Statements that give a variable the elements of a local, in their order.
fn given(variable: VariableId, local: LocalId, ty: &Type, span: headrace_source::Span) -> Vec<Stmt> {
    let number = |value: u32| Expr { kind: ExprKind::Int(headrace_ir::Int::from(i64::from(value))), span };
    let n: u32 = ty.dims.iter().product();
    let element = |at: u32| {
        let mut rest = at;
        let mut indices: Vec<Expr> = Vec::new();
        for &size in ty.dims.iter().rev() {
            indices.insert(0, number(rest % size));
            rest /= size;
        }
        let of = if ty.dims.is_empty() { Vec::new() } else { vec![number(at)] };
        let value = Expr { kind: ExprKind::Load(Place { indices: of, ..whole(Root::Local(local), span) }), span };
        let target = Place { indices, ..whole(Root::Actor(variable), span) };
        Stmt { kind: StmtKind::Assign(target, value), span }
    };
    (0..n.max(1)).map(element).collect()
}
