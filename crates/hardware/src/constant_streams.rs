//! Constant propagation through streams: where whatever is written to a connection is one number, its reader knows it.
//!
//! Parts that are written for any number take it from a stream; a network that always sends the same one needs none of the
//! counters and comparisons for the others. The tokens still move: they say when.

use headrace_ir::{
    Action, Actor, ActorId, Connection, Endpoint, Expr, ExprKind, Guard, Int, Local, LocalId, LocalKind, Network,
    OutputValue, Place, Root, Scalar, Stmt, StmtKind, Type,
};

/// Input ports that always read the same number, and that number.
type Known = Vec<(usize, Int)>;

/// The network with a copy of each actor that reads constant streams, in which these are numbers.
pub(crate) fn with_constants(network: &Network) -> Network {
    let mut out = network.clone();
    // Actors that were copied, with what is known of their ports, and the copies.
    let mut copies: Vec<(ActorId, Known, ActorId)> = Vec::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let mut known = Known::new();
        for connection in &network.connections {
            let Endpoint::Instance(reader, port) = connection.target else { continue };
            if reader.index() == at
                && let Some(value) = constant(network, connection)
            {
                known.push((port, value));
            }
        }
        if known.is_empty() {
            continue;
        }
        known.sort_by_key(|(port, _)| *port);
        let made = copies.iter().find(|(actor, ports, _)| *actor == instance.actor && *ports == known);
        let copy = made.map(|(_, _, copy)| *copy).unwrap_or_else(|| {
            let copy = ActorId(out.actors.len() as u32);
            out.actors.push(specialised(&network.actors[instance.actor.index()], &known));
            copies.push((instance.actor, known, copy));
            copy
        });
        out.instances[at].actor = copy;
    }
    out
}

/// The number that all tokens of a connection are, as its reader gets them.
fn constant(network: &Network, connection: &Connection) -> Option<Int> {
    let (Endpoint::Instance(from, port), []) = (connection.source, &connection.via[..]) else { return None };
    let (Scalar::Int(_), Scalar::Int(ty)) = (network.source_port(connection).ty, network.target_port(connection).ty)
    else {
        return None;
    };
    let actor = network.actor_of(from);
    let outputs = actor.actions.iter().chain(&actor.initializers).flat_map(|action| &action.produces);
    let mut values =
        outputs.filter(|output| output.port == port).flat_map(|output| &output.values).map(|value| match value {
            OutputValue::Scalar(Expr { kind: ExprKind::Int(value), .. }) => Some(value),
            _ => None,
        });
    let first = values.next()??;
    values.all(|value| value == Some(first)).then(|| first.clone().wrap(ty))
}

/// An actor that reads these numbers from these ports.
fn specialised(actor: &Actor, known: &[(usize, Int)]) -> Actor {
    let mut actor = actor.clone();
    for action in &mut actor.actions {
        for (port, value) in known {
            specialise(action, *port, value);
        }
    }
    actor
}

/// What was bound to tokens of the port becomes a variable that is the number; the tokens are bound to others, which nobody reads.
fn specialise(action: &mut Action, port: usize, value: &Int) {
    let Action { consumes, locals, guard, body, span, .. } = action;
    for pattern in consumes.iter_mut().filter(|pattern| pattern.port == port && pattern.repeat.is_none()) {
        for bound in &mut pattern.locals {
            let unread = LocalId(locals.len() as u32);
            let local = &mut locals[bound.index()];
            local.kind = LocalKind::Plain;
            let Local { name, ty: Type { element, .. }, .. } = local.clone();
            locals.push(Local { name, ty: Type { element, dims: Vec::new() }, kind: LocalKind::Pattern });
            let place = Place { root: Root::Local(*bound), indices: Vec::new(), span: *span };
            let number = Expr { kind: ExprKind::Int(value.clone()), span: *span };
            let assign = Stmt { kind: StmtKind::Assign(place, number), span: *span };
            let Guard { before, peeks, .. } = guard;
            if peeks.contains(bound) {
                peeks.retain(|peeked| peeked != bound);
                before.insert(0, assign.clone());
            }
            body.insert(0, assign);
            *bound = unread;
        }
    }
}
