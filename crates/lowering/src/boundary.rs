//! Input and output of lowered networks. The functions that move tokens over the boundary of a network.

use crate::building::Building;
use crate::code::Code;
use crate::function::FunctionBuilder;
use crate::machine::{machine, words};
use crate::network::{Layout, with_context};
use crate::place::Location;
use crate::plan::Plan;
use crate::ring::{READ, Ring, TOKENS, Token, WRITTEN};
use headrace_ir::{Endpoint, IntType, Network, Port, Scalar};
use headrace_program::{self as program, CompareOp, Expr, Place, Stmt, Type, VariableId, VariableKind};

/// The type of the elements that tokens of a port are made of outside.
pub(crate) fn outside(scalar: Scalar) -> Type {
    if scalar == Scalar::Bool { Type::U8 } else { machine(scalar) }
}

/// True when every bit pattern of the storage is a value.
pub(crate) fn full_width(scalar: Scalar) -> bool {
    match scalar {
        Scalar::Bool => false,
        Scalar::Int(ty) => ty.width as usize == 8 * scalar.storage_bytes(),
        Scalar::Real(_) | Scalar::String => true,
    }
}

fn mark(f: &mut FunctionBuilder, context: &Place, layout: &Layout, end: Endpoint) {
    if let Endpoint::Instance(instance, _) = end {
        let place = context.clone().then(layout.news);
        f.push(Stmt::Store(place, Expr::u32(instance.index() as u32), Expr::bool(true)));
    }
}

/// The function that writes tokens to an input.
pub(crate) fn input(
    network: &Network,
    plans: &[Plan<'_>],
    layout: &Layout,
    at: usize,
    port: &Port,
    building: &mut Building,
) -> program::Input {
    let (element, words) = (outside(port.ty), words(port.ty));
    let name = building.names.fresh(&format!("write_{}", port.name));
    let targets: Vec<usize> = (0..network.connections.len())
        .filter(|&connection| network.connections[connection].source == Endpoint::Boundary(at))
        .collect();
    let about = format!("writes up to `n_tokens` tokens to `{}` and returns for how many there was room", port.name);
    let function = match plans.first() {
        // An input that nothing reads takes all.
        Some(plan) if !targets.is_empty() => {
            let mut code = Code::new(plan, building, None, "", &[]);
            let context = code.f.record("context", layout.context);
            let tokens = code.f.parameter("tokens", VariableKind::Slice { element, mutable: false });
            let n_tokens = code.f.scalar_parameter("n_tokens", Type::U32);
            let context = Place::variable(context);
            let n = write_tokens(&mut code, network, layout, &context, at, (tokens, Expr::u32(0)), n_tokens);
            code.push(Stmt::Return(Some(n)));
            code.finish(name, &about, Some(Type::U32)).id
        }
        _ => {
            let (mut f, _) = with_context(layout);
            f.parameter("tokens", VariableKind::Slice { element, mutable: false });
            let n_tokens = f.scalar_parameter("n_tokens", Type::U32);
            let n = f.read(n_tokens);
            f.push(Stmt::Return(Some(n)));
            building.function(f.finish(name, &about, Some(Type::U32)))
        }
    };
    program::Input { name: port.name.clone(), element, words, write: function }
}

/// Writes tokens of an array, from one on, to an input port of the network whose context lies there, as many as there is room
/// for; gives how many that was.
pub(crate) fn write_tokens(
    code: &mut Code<'_, '_>,
    network: &Network,
    layout: &Layout,
    context: &Place,
    at: usize,
    (tokens, from): (VariableId, Expr),
    n_tokens: VariableId,
) -> Expr {
    let scalar = network.inputs[at].ty;
    let targets = (0..network.connections.len())
        .filter(|&connection| network.connections[connection].source == Endpoint::Boundary(at));
    let targets: Vec<usize> = targets.collect();
    for &connection in &targets {
        let (field, ring) = &layout.fifos[connection];
        let fifo = context.clone().then(*field);
        let room = Expr::u32(ring.capacity).minus(code.ring_fill(&fifo));
        let room = code.named("room", room);
        let wanted = code.f.read(n_tokens);
        let less = Expr::compare(CompareOp::Less, room.clone(), wanted);
        code.push(Stmt::If(less, vec![Stmt::Assign(Place::variable(n_tokens), room)], Vec::new()));
    }
    let n = code.f.read(n_tokens);
    for &connection in &targets {
        let (field, ring) = &layout.fifos[connection];
        let fifo = context.clone().then(*field);
        let via = &network.connections[connection].via;
        let plain = ring.scalar == scalar && via.is_empty() && full_width(scalar);
        let source =
            Location { place: Place::variable(tokens), at: Some(from.clone().times(Expr::u32(words(scalar)))) };
        if plain {
            // A burst of any size: what is known of the writer does not count.
            let ring = Ring { write_aligned: false, ..ring.clone() };
            code.ring_copy(&ring, &fifo, WRITTEN, &source, &n);
        } else {
            write_converted(code, ring, &fifo, (tokens, &from), &n, scalar, via);
        }
        code.ring_advance(&fifo, WRITTEN, n.clone());
        mark(&mut code.f, context, layout, network.connections[connection].target);
    }
    n
}

/// Token by token: what comes from outside may have bits beyond its width, which are cut off as by a store.
fn write_converted(
    code: &mut Code<'_, '_>,
    ring: &Ring,
    fifo: &Place,
    (tokens, from): (VariableId, &Expr),
    n: &Expr,
    scalar: Scalar,
    via: &[Scalar],
) {
    let index = code.f.scalar("i", Type::U32);
    code.f.assign(index, Expr::u32(0));
    let i = code.f.read(index);
    let ((), body) = code.inside(|code| {
        let at = Some(from.clone().plus(i.clone()).times(Expr::u32(words(scalar))));
        let source = Location { place: Place::variable(tokens), at };
        let token = match scalar {
            Scalar::Bool => {
                let raw = Expr::element(source.place.clone(), source.offset(), Type::U8);
                Token::Narrow(Expr::compare(CompareOp::NotEqual, raw.to(Type::U32), Expr::u32(0)))
            }
            Scalar::Int(ty) if !full_width(scalar) => {
                let width = 8 * scalar.storage_bytes() as u32;
                let raw = IntType { signed: ty.signed, width };
                let token = code.token_at(&source, Scalar::Int(raw));
                code.converted(token, Scalar::Int(raw), scalar)
            }
            _ => code.token_at(&source, scalar),
        };
        let token = code.converted_through(token, scalar, via, ring.scalar);
        let target = code.ring_place(ring, fifo, WRITTEN, i.clone());
        code.store_token(target, token, ring.scalar);
        code.f.assign(index, i.clone().plus(Expr::u32(1)));
    });
    let label = code.f.label();
    code.push(Stmt::While(label, i.less(n.clone()), body));
}

/// The functions that take tokens from an output, and that count them.
pub(crate) fn output(
    network: &Network,
    layout: &Layout,
    at: usize,
    port: &Port,
    building: &mut Building,
) -> program::Output {
    let (element, words) = (outside(port.ty), words(port.ty));
    let (mut f, context) = with_context(layout);
    f.push(Stmt::Return(Some(waiting_tokens(network, layout, &Place::variable(context), at))));
    let name = building.names.fresh(&format!("waiting_{}", port.name));
    let about = format!("tokens that wait at `{}`", port.name);
    let waiting = building.function(f.finish(name, &about, Some(Type::U32)));

    let (mut f, context) = with_context(layout);
    let tokens = f.parameter("tokens", VariableKind::Slice { element, mutable: true });
    let n_tokens = f.scalar_parameter("n_tokens", Type::U32);
    let context = Place::variable(context);
    let n = read_tokens(&mut f, network, layout, &context, at, (tokens, Expr::u32(0)), n_tokens);
    f.push(Stmt::Return(Some(n)));
    let name = building.names.fresh(&format!("read_{}", port.name));
    let about = format!("takes up to `n_tokens` tokens from `{}` and returns how many there were", port.name);
    let read = building.function(f.finish(name, &about, Some(Type::U32)));
    program::Output { name: port.name.clone(), element, words, read, waiting }
}

/// How many tokens wait at an output port of the network whose context lies there.
pub(crate) fn waiting_tokens(network: &Network, layout: &Layout, context: &Place, at: usize) -> Expr {
    let found = network.connections.iter().position(|connection| connection.target == Endpoint::Boundary(at));
    found.map_or(Expr::u32(0), |connection| {
        let fifo = context.clone().then(layout.fifos[connection].0);
        let index = |which: u32| Expr::read(fifo.clone().then(which), Type::U32);
        index(WRITTEN).minus(index(READ))
    })
}

/// Takes tokens from an output port of the network whose context lies there to an array, from one on, as many as there are;
/// gives how many that was.
pub(crate) fn read_tokens(
    f: &mut FunctionBuilder,
    network: &Network,
    layout: &Layout,
    context: &Place,
    at: usize,
    (tokens, to): (VariableId, Expr),
    n_tokens: VariableId,
) -> Expr {
    let found = network.connections.iter().position(|connection| connection.target == Endpoint::Boundary(at));
    let Some(connection) = found else { return Expr::u32(0) };
    let scalar = network.outputs[at].ty;
    let words = words(scalar);
    let (field, ring) = &layout.fifos[connection];
    let fifo = context.clone().then(*field);
    let there = f.named("there", waiting_tokens(network, layout, context, at));
    let wanted = f.read(n_tokens);
    f.when(there.clone().less(wanted.clone()), |f| f.assign(n_tokens, there.clone()));
    f.count("i", wanted.clone(), |f, i| {
        let position = Expr::read(fifo.clone().then(READ), Type::U32).plus(i.clone());
        let position = position.and(Expr::u32(ring.size - 1)).times(Expr::u32(words));
        let ring_place = fifo.clone().then(TOKENS);
        let to = to.clone().plus(i).times(Expr::u32(words));
        let target = Place::variable(tokens);
        if scalar == Scalar::Bool {
            let value = Expr::element(ring_place, position, Type::Bool).to(Type::U8);
            f.push(Stmt::Store(target, to, value));
        } else {
            let count = Expr::u32(words);
            f.push(Stmt::Copy { target, at: to, source: ring_place, from: position, count });
        }
    });
    let next = Expr::read(fifo.clone().then(READ), Type::U32).plus(wanted.clone());
    f.push(Stmt::Assign(fifo.then(READ), next));
    mark(f, context, layout, network.connections[connection].source);
    wanted
}
