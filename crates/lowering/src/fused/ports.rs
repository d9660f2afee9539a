//! Tokens at the boundary: what the outside writes waits in buffers of the context, and so does what it is to read.

use super::layout::Buffer;
use super::{CONTEXT, Functions, Fused};
use crate::boundary::{full_width, read_tokens, waiting_tokens, write_tokens};
use crate::building::Building;
use crate::code::Code;
use crate::function::FunctionBuilder;
use crate::integer::wrap;
use crate::machine::class;
use crate::network::Scheduled;
use headrace_ir::{Port, Scalar};
use headrace_program::{
    Argument, CompareOp, Expr, FunctionId, Input, Output, Place, Stmt, Type, VariableId, VariableKind,
};

fn field(field: u32) -> Place {
    Place::field(CONTEXT, field)
}

fn index(at: u32) -> Expr {
    Expr::read(field(at), Type::U32)
}

/// Moves the tokens of a buffer to its beginning.
fn to_the_front(f: &mut FunctionBuilder, buffer: &Buffer) {
    let (source, from, count) = (field(buffer.tokens), index(buffer.first), index(buffer.there));
    f.push(Stmt::Copy { target: source.clone(), at: Expr::u32(0), source, from, count });
    f.push(Stmt::Assign(field(buffer.first), Expr::u32(0)));
}

/// Room behind the tokens of a buffer.
fn room(buffer: &Buffer) -> Expr {
    Expr::u32(buffer.size).minus(index(buffer.first)).minus(index(buffer.there))
}

/// Where nothing waits, what comes begins at the beginning.
fn rewind(f: &mut FunctionBuilder, buffer: &Buffer) {
    let empty = index(buffer.there).equals(Expr::u32(0));
    f.when(empty, |f| f.push(Stmt::Assign(field(buffer.first), Expr::u32(0))));
}

impl Fused<'_> {
    /// The network with its scheduler, where there is one.
    fn scheduled_place(&self) -> Option<Place> {
        self.fields.scheduled.map(field)
    }

    /// Functions that make room for tokens at the end of the buffers of outputs, and say whether there is enough.
    pub(super) fn room_functions(&self, building: &mut Building) -> Vec<FunctionId> {
        let ports = self.network.outputs.iter().zip(&self.fields.outputs);
        let function = |(port, buffer): (&Port, &Buffer)| {
            let mut f = FunctionBuilder::new();
            f.record("context", self.fields.context);
            let n = f.scalar_parameter("n_tokens", Type::U32);
            let n = f.read(n);
            rewind(&mut f, buffer);
            let short = room(buffer).less(n.clone());
            f.when(short, |f| to_the_front(f, buffer));
            f.push(Stmt::Return(Some(room(buffer).at_least(n))));
            let name = building.names.fresh(&format!("room_{}", port.name));
            let about = format!("whether there is room for so many tokens at `{}`", port.name);
            building.function(f.finish(name, &about, Some(Type::Bool)))
        };
        ports.map(function).collect()
    }

    /// Makes room for tokens of an output: whether there is enough.
    pub(super) fn ask_for_room(&self, f: &mut FunctionBuilder, port: usize, n: u64) -> Expr {
        let has_room = f.scalar("has_room", Type::Bool);
        let arguments = vec![Argument::Reference(Place::variable(CONTEXT)), Argument::Value(Expr::u32(n as u32))];
        f.call(Some(has_room), self.rooms[port], arguments);
        f.read(has_room)
    }

    /// The function that writes tokens to an input.
    pub(super) fn input(&self, at: usize, scheduled: Option<&Scheduled<'_>>, building: &mut Building) -> Input {
        let (port, buffer) = (&self.network.inputs[at], &self.fields.inputs[at]);
        let name = building.names.fresh(&format!("write_{}", port.name));
        let about =
            format!("writes up to `n_tokens` tokens to `{}` and returns for how many there was room", port.name);
        let parameters = |f: &mut FunctionBuilder| {
            f.record("context", self.fields.context);
            let tokens = f.parameter("tokens", VariableKind::Slice { element: buffer.element, mutable: false });
            (tokens, f.scalar_parameter("n_tokens", Type::U32))
        };
        let function = match self.scheduled_place().zip(scheduled) {
            Some((place, Scheduled { plans, layout, .. })) => {
                let mut code = Code::new(&plans[0], building, None, "", &[]);
                let (tokens, n_tokens) = parameters(&mut code.f);
                let outer = code.f.take();
                let tokens_from = (tokens, Expr::u32(0));
                let n = write_tokens(&mut code, self.network, layout, &place, at, tokens_from, n_tokens);
                code.f.push(Stmt::Return(Some(n)));
                let direct = code.f.restore(outer);
                let left = Expr::read(field(self.fields.left), Type::Bool);
                let empty = index(buffer.there).equals(Expr::u32(0));
                code.f.push(Stmt::If(left.and(empty), direct, Vec::new()));
                append(&mut code.f, buffer, tokens, n_tokens);
                code.finish(name, &about, Some(Type::U32)).id
            }
            None => {
                let mut f = FunctionBuilder::new();
                let (tokens, n_tokens) = parameters(&mut f);
                append(&mut f, buffer, tokens, n_tokens);
                building.function(f.finish(name, &about, Some(Type::U32)))
            }
        };
        Input { name: port.name.clone(), element: buffer.element, words: 1, write: function }
    }

    /// The functions that take tokens from an output, and that count them.
    pub(super) fn output(&self, at: usize, scheduled: Option<&Scheduled<'_>>, building: &mut Building) -> Output {
        let (port, buffer) = (&self.network.outputs[at], &self.fields.outputs[at]);
        let left = Expr::read(field(self.fields.left), Type::Bool);
        let inner = self.scheduled_place().zip(scheduled);

        let mut f = FunctionBuilder::new();
        f.record("context", self.fields.context);
        if let Some((place, Scheduled { layout, .. })) = &inner {
            let more = waiting_tokens(self.network, layout, place, at);
            f.when(left.clone(), |f| f.push(Stmt::Return(Some(index(buffer.there).plus(more)))));
        }
        f.push(Stmt::Return(Some(index(buffer.there))));
        let name = building.names.fresh(&format!("waiting_{}", port.name));
        let about = format!("tokens that wait at `{}`", port.name);
        let waiting = building.function(f.finish(name, &about, Some(Type::U32)));

        let mut f = FunctionBuilder::new();
        f.record("context", self.fields.context);
        let tokens = f.parameter("tokens", VariableKind::Slice { element: buffer.element, mutable: true });
        let n_tokens = f.scalar_parameter("n_tokens", Type::U32);
        let wanted = f.read(n_tokens);
        let there = index(buffer.there);
        let taken = Expr::select(there.clone().less(wanted.clone()), there, wanted.clone());
        let taken = f.named("taken", taken);
        f.push(Stmt::Copy {
            target: Place::variable(tokens),
            at: Expr::u32(0),
            source: field(buffer.tokens),
            from: index(buffer.first),
            count: taken.clone(),
        });
        f.push(Stmt::Assign(field(buffer.first), index(buffer.first).plus(taken.clone())));
        f.push(Stmt::Assign(field(buffer.there), index(buffer.there).minus(taken.clone())));
        if let Some((place, Scheduled { layout, .. })) = &inner {
            f.when(left, |f| {
                f.assign(n_tokens, wanted.minus(taken.clone()));
                let n = read_tokens(f, self.network, layout, place, at, (tokens, taken.clone()), n_tokens);
                f.push(Stmt::Return(Some(taken.clone().plus(n))));
            });
        }
        f.push(Stmt::Return(Some(taken)));
        let name = building.names.fresh(&format!("read_{}", port.name));
        let about = format!("takes up to `n_tokens` tokens from `{}` and returns how many there were", port.name);
        let read = building.function(f.finish(name, &about, Some(Type::U32)));
        Output { name: port.name.clone(), element: buffer.element, words: 1, read, waiting }
    }

    /// A function that hands input which waits to the network with its scheduler, as much as it takes, and says how much.
    pub(super) fn hand_over(
        &self,
        Scheduled { plans, layout, .. }: &Scheduled<'_>,
        functions: &mut Functions,
        building: &mut Building,
    ) -> FunctionId {
        let mut own = Vec::new();
        for (at, (port, buffer)) in self.network.inputs.iter().zip(&self.fields.inputs).enumerate() {
            let mut code = Code::new(&plans[0], building, None, "", &[]);
            let context = code.f.record("scheduled", layout.context);
            let tokens = code.f.reference("tokens", buffer.element, buffer.size, false);
            let from = code.f.scalar_parameter("first", Type::U32);
            let n_tokens = code.f.scalar_parameter("n_tokens", Type::U32);
            let tokens_from = (tokens, code.f.read(from));
            let place = Place::variable(context);
            let n = write_tokens(&mut code, self.network, layout, &place, at, tokens_from, n_tokens);
            code.f.push(Stmt::Return(Some(n)));
            let name = code.building.names.fresh(&format!("hand_over_{}", port.name));
            let about = format!("hands tokens of `{}` to the scheduler, as many as there is room for", port.name);
            own.push(code.finish(name, &about, Some(Type::U32)).id);
        }
        let mut f = FunctionBuilder::new();
        f.record("context", self.fields.context);
        let all = f.scalar("all", Type::U32);
        let moved = f.scalar("moved", Type::U32);
        for (id, buffer) in own.into_iter().zip(&self.fields.inputs) {
            let arguments = vec![
                Argument::Reference(self.scheduled_place().unwrap_or_else(|| field(u32::MAX))),
                Argument::Reference(field(buffer.tokens)),
                Argument::Value(index(buffer.first)),
                Argument::Value(index(buffer.there)),
            ];
            f.call(Some(moved), id, arguments);
            let n = f.read(moved);
            f.push(Stmt::Assign(field(buffer.first), index(buffer.first).plus(n.clone())));
            f.push(Stmt::Assign(field(buffer.there), index(buffer.there).minus(n.clone())));
            let sum = f.read(all).plus(n);
            f.assign(all, sum);
        }
        let all = f.read(all);
        f.push(Stmt::Return(Some(all)));
        functions.add(building, f, "hand_over", "hands input that waits to the scheduler", Some(Type::U32))
    }
}

/// Appends tokens to a buffer, as many as there is room for, and returns how many that was.
fn append(f: &mut FunctionBuilder, buffer: &Buffer, tokens: VariableId, n_tokens: VariableId) {
    let n = f.read(n_tokens);
    rewind(f, buffer);
    f.when(room(buffer).less(n.clone()), |f| to_the_front(f, buffer));
    f.when(room(buffer).less(n.clone()), |f| f.assign(n_tokens, room(buffer)));
    let end = f.named("end", index(buffer.first).plus(index(buffer.there)));
    if full_width(buffer.scalar) {
        let (target, source) = (field(buffer.tokens), Place::variable(tokens));
        f.push(Stmt::Copy { target, at: end, source, from: Expr::u32(0), count: n.clone() });
    } else {
        f.count("i", n.clone(), |f, i| {
            let raw = f.at(tokens, i.clone());
            let value = match buffer.scalar {
                Scalar::Int(ty) => wrap(raw.to(class(ty.width)), ty).to(buffer.element),
                _ => Expr::compare(CompareOp::NotEqual, raw.to(Type::U32), Expr::u32(0)).to(buffer.element),
            };
            f.push(Stmt::Store(field(buffer.tokens), end.plus(i), value));
        });
    }
    f.push(Stmt::Assign(field(buffer.there), index(buffer.there).plus(n.clone())));
    f.push(Stmt::Return(Some(n)));
}
