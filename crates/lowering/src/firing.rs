//! Lowering of guards and actions. What one firing does, as functions: whether the guard of an action holds, and the action
//! itself with the tokens that it moves.

use crate::building::Building;
use crate::code::Code;
use crate::machine::{wide_words, words};
use crate::place::Location;
use crate::plan::{Lowered, Need, Plan};
use crate::ring::{READ, Ring, Token, WRITTEN};
use headrace_analysis::assigned;
use headrace_analysis::ranges::Unit;
use headrace_ir::{self as ir, Action, Output, OutputValue, Pattern, Scalar};
use headrace_program::{Expr, Place, Stmt, Type};

/// A FIFO of an instance: its number among them, which is the same for one that comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wire {
    pub(crate) number: usize,
    pub(crate) ring: Ring,
    /// Types that tokens are converted to on their way to that of the FIFO.
    pub(crate) via: Vec<Scalar>,
}

/// How the ports of an instance are connected. Instances of one actor with equal wiring share their functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Wiring {
    /// For each input port its FIFO.
    pub(crate) inputs: Vec<Option<Wire>>,
    /// For each output port the FIFOs that get copies.
    pub(crate) outputs: Vec<Vec<Wire>>,
}

impl Code<'_, '_> {
    /// The FIFO of a wire.
    pub(crate) fn fifo(&mut self, wire: &Wire, port: &str) -> Place {
        Place::variable(self.need(Need::Fifo(wire.number), port, wire.ring.record))
    }

    /// Gives the variables of a pattern that are used the values of the tokens.
    fn bind(&mut self, action: &Action, pattern: &Pattern, wiring: &Wiring, used: &dyn Fn(usize) -> bool) {
        let Some(wire) = &wiring.inputs[pattern.port] else { return };
        let port = self.plan.actor.inputs[pattern.port].name.clone();
        let names = pattern.locals.len() as u32;
        let words = words(wire.ring.scalar);
        for (at, local) in pattern.locals.iter().enumerate() {
            if !used(local.index()) {
                continue;
            }
            let fifo = self.fifo(wire, &port);
            let (target, _) = self.root_place(ir::Root::Local(*local));
            let at = at as u32;
            match pattern.repeat {
                None => {
                    let token = self.ring_place(&wire.ring, &fifo, READ, Expr::u32(at));
                    if words == 1 {
                        let Token::Narrow(value) = self.token_at(&token, wire.ring.scalar) else { continue };
                        self.push(Stmt::Assign(target, value));
                    } else {
                        let from = token.offset();
                        let count = Expr::u32(words);
                        self.push(Stmt::Copy { target, at: Expr::u32(0), source: token.place, from, count });
                    }
                }
                Some(repeat) if names == 1 => {
                    let array = Location { place: target, at: None };
                    self.ring_copy(&wire.ring, &fifo, READ, &array, &Expr::u32(repeat));
                }
                Some(repeat) => {
                    let like = action.locals[local.index()].name.clone();
                    let index = self.f.scalar(&format!("{like}_i"), Type::U32);
                    self.f.assign(index, Expr::u32(0));
                    let i = self.f.read(index);
                    let ((), body) = self.inside(|code| {
                        let ahead = i.clone().times(Expr::u32(names)).plus(Expr::u32(at));
                        let token = code.ring_place(&wire.ring, &fifo, READ, ahead);
                        let to = i.clone().times(Expr::u32(words));
                        let count = Expr::u32(words);
                        let from = token.offset();
                        code.push(Stmt::Copy { target, at: to, source: token.place, from, count });
                        code.f.assign(index, i.clone().plus(Expr::u32(1)));
                    });
                    let label = self.f.label();
                    self.push(Stmt::While(label, i.less(Expr::u32(repeat)), body));
                }
            }
        }
    }

    /// Makes the tokens of an output.
    fn emit(&mut self, output: &Output, wiring: &Wiring) {
        let port = &self.plan.actor.outputs[output.port];
        let (name, scalar) = (port.name.clone(), port.ty);
        let wires = &wiring.outputs[output.port];
        let names = output.values.len() as u32;
        for (at, value) in output.values.iter().enumerate() {
            let at = at as u32;
            match value {
                OutputValue::Scalar(value) => {
                    let node = self.node(value);
                    let token = match wide_words(scalar) {
                        Some(words) => Token::Wide(self.wide(&node, words)),
                        None => {
                            let value = self.stored_value(&node, scalar);
                            let several = wires.len() > 1;
                            Token::Narrow(if several { self.named("token", value) } else { value })
                        }
                    };
                    for wire in wires {
                        let fifo = self.fifo(wire, &name);
                        let token = self.converted_through(token.clone(), scalar, &wire.via, wire.ring.scalar);
                        let place = self.ring_place(&wire.ring, &fifo, WRITTEN, Expr::u32(at));
                        self.store_token(place, token, wire.ring.scalar);
                    }
                }
                OutputValue::List { place, convert } => {
                    let from_scalar = self.type_of(place.root).element;
                    let n = output.repeat.unwrap_or(1);
                    let list = self.locate(place);
                    let offset = list.offset();
                    let list = Location { at: Some(self.named("list_at", offset)), ..list };
                    for wire in wires {
                        let fifo = self.fifo(wire, &name);
                        let plain = convert.is_none() && wire.via.is_empty() && wire.ring.scalar == scalar;
                        if plain && names == 1 {
                            self.ring_copy(&wire.ring, &fifo, WRITTEN, &list, &Expr::u32(n));
                            continue;
                        }
                        self.emit_converted(&list, from_scalar, scalar, wire, &fifo, n, names, at);
                    }
                }
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn emit_converted(
        &mut self,
        list: &Location,
        from: Scalar,
        port: Scalar,
        wire: &Wire,
        fifo: &Place,
        n: u32,
        names: u32,
        name: u32,
    ) {
        let index = self.f.scalar("i", Type::U32);
        self.f.assign(index, Expr::u32(0));
        let i = self.f.read(index);
        let ((), body) = self.inside(|code| {
            let at = list.offset().plus(i.clone().times(Expr::u32(words(from))));
            let source = Location { place: list.place.clone(), at: Some(at) };
            let token = code.token_at(&source, from);
            let token = code.converted(token, from, port);
            let token = code.converted_through(token, port, &wire.via, wire.ring.scalar);
            let ahead = i.clone().times(Expr::u32(names)).plus(Expr::u32(name));
            let place = code.ring_place(&wire.ring, fifo, WRITTEN, ahead);
            code.store_token(place, token, wire.ring.scalar);
            code.f.assign(index, i.clone().plus(Expr::u32(1)));
        });
        let label = self.f.label();
        self.push(Stmt::While(label, i.less(Expr::u32(n)), body));
    }
}

/// A function that returns whether the guard of an action holds; nothing where it always does.
pub(crate) fn guard(
    plan: &Plan<'_>,
    building: &mut Building,
    unit: Unit,
    action: &Action,
    wiring: &Wiring,
    name: &str,
) -> Option<Lowered> {
    if action.guard.conditions.is_empty() {
        return None;
    }
    let name = building.names.fresh(&format!("{name}_guard"));
    let mut code = Code::new(plan, building, Some(unit), &action.name, &action.locals);
    code.leave = Some(Expr::bool(false));
    let after = |local: usize| {
        action.guard.conditions.iter().fold(assigned::Uses::default(), |all, condition| {
            let own = assigned::in_expr(condition, local);
            assigned::Uses { read: all.read || own.read, written: all.written || own.written }
        })
    };
    code.announce(&action.guard.before, &after);
    for pattern in &action.consumes {
        code.bind(action, pattern, wiring, &|local| assigned::in_guard(action, local).any());
    }
    code.block(&action.guard.before);
    let mut all = Expr::bool(true);
    for condition in &action.guard.conditions {
        let node = code.node(condition);
        let (value, before) = code.inside(|code| code.value(&node));
        if !before.is_empty() {
            // Conditions are evaluated in order: those before this one decide whether it is evaluated at all.
            let so_far = std::mem::replace(&mut all, Expr::bool(true));
            code.push_if(so_far.negated(), vec![Stmt::Return(Some(Expr::bool(false)))], Vec::new());
            code.extend(before);
        }
        all = all.and(value);
    }
    code.push(Stmt::Return(Some(all)));
    let about =
        format!("whether `{}` of {} may fire{}", action.name, plan.actor.class, plan.actor.lines.behind(action.span));
    Some(code.finish(name, &about, Some(Type::Bool)))
}

/// A function that fires an action: what it consumes is there, and room for what it produces.
pub(crate) fn fire(
    plan: &Plan<'_>,
    building: &mut Building,
    unit: Unit,
    action: &Action,
    wiring: &Wiring,
    name: &str,
) -> Lowered {
    let name = building.names.fresh(name);
    let mut code = Code::new(plan, building, Some(unit), &action.name, &action.locals);
    code.announce(&action.body, &|local| assigned::in_outputs(action, local));
    let used =
        |local: usize| assigned::in_block(&action.body, local).any() || assigned::in_outputs(action, local).any();
    for pattern in &action.consumes {
        code.bind(action, pattern, wiring, &used);
    }
    code.block(&action.body);
    for output in &action.produces {
        code.emit(output, wiring);
    }
    for pattern in &action.consumes {
        if let Some(wire) = &wiring.inputs[pattern.port] {
            let port = plan.actor.inputs[pattern.port].name.clone();
            let fifo = code.fifo(wire, &port);
            code.ring_advance(&fifo, READ, Expr::u32(pattern.tokens() as u32));
        }
    }
    for output in &action.produces {
        let port = plan.actor.outputs[output.port].name.clone();
        for wire in &wiring.outputs[output.port] {
            let fifo = code.fifo(wire, &port);
            code.ring_advance(&fifo, WRITTEN, Expr::u32(output.tokens() as u32));
        }
    }
    let about = format!("`{}` of {}{}", action.name, plan.actor.class, plan.actor.lines.behind(action.span));
    code.finish(name, &about, None)
}
