//! Zero-copy streaming: iterations of loops that take tokens where the caller has them and put tokens where the caller wants
//! them, instead of through the buffers of the context.
//!
//! Nothing of a loop is lowered anew: functions that run iterations are copied, with the caller's arrays in the place of the
//! buffers. A state that has a loop whose tokens all come from one input port of bytes, and all go to one output port of bytes or
//! are none, runs it so where nothing waits in the buffers of these ports. Everything else goes on as it does without.

use super::layout::Buffer;
use super::loops::{Limited, Run, variants};
use super::{CONTEXT, FAILED, FULL, Functions, Fused};
use crate::Streams;
use crate::boundary::full_width;
use crate::building::Building;
use crate::function::FunctionBuilder;
use headrace_program::{
    Argument, BinaryOp, CompareOp, Expr, ExprKind, FeatureSetId, Function, FunctionId, Place, Root, Stmt, Stream, Type,
    Variable, VariableId, VariableKind, VectorStmt,
};
use headrace_transform::control::CountedLoop;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The ports that a loop uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Ends {
    input: usize,
    output: Option<usize>,
}

/// What a copy of a function takes beside what the function takes, where it needs that: the array of the input and where tokens
/// begin in it, and the same of the output.
const MORE: [(&str, VariableKind); 4] = [
    ("from", VariableKind::Slice { element: Type::U8, mutable: false }),
    ("from_at", VariableKind::Scalar(Type::U32)),
    ("to", VariableKind::Slice { element: Type::U8, mutable: true }),
    ("to_at", VariableKind::Scalar(Type::U32)),
];

/// Positions there.
const FROM: usize = 0;
const FROM_AT: usize = 1;
const TO: usize = 2;
const TO_AT: usize = 3;

/// A copy of a function, and what it takes more.
#[derive(Clone, Copy)]
struct Copied {
    function: FunctionId,
    takes: [bool; 4],
}

/// What takes tokens of an input port: the functions that run loops of states.
pub(super) struct StatesOfStream {
    ends: Ends,
    states: BTreeMap<usize, Vec<FunctionId>>,
}

/// What functions of a pair of ports were copied to; nothing where one does more with the buffers than a copy can.
type Copies = FxHashMap<FunctionId, Option<Copied>>;

impl Fused<'_> {
    /// The only ports that a loop uses, where those carry bytes.
    fn ends(&self, counted: &CountedLoop) -> Option<Ends> {
        let used = |ports: &[(u64, u32)]| -> Vec<usize> {
            ports.iter().enumerate().filter(|(_, port)| port.0 > 0).map(|(at, _)| at).collect()
        };
        let is_bytes = |buffer: &Buffer| buffer.element == Type::U8 && full_width(buffer.scalar);
        let (inputs, outputs) = (used(&counted.body.consumes), used(&counted.body.produces));
        let [input] = inputs[..] else { return None };
        let output = match outputs[..] {
            [] => None,
            [output] => Some(output),
            _ => return None,
        };
        let is_carried = is_bytes(self.fields.inputs.get(input)?)
            && output.is_none_or(|output| self.fields.outputs.get(output).is_some_and(is_bytes));
        is_carried.then_some(Ends { input, output })
    }

    /// The functions that run loops so, by input ports.
    pub(super) fn streams(
        &self,
        which: Streams,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Vec<StatesOfStream> {
        let mut copies: FxHashMap<Ends, Copies> = FxHashMap::default();
        let mut found: BTreeMap<usize, StatesOfStream> = BTreeMap::new();
        for (state, at, run) in self.runs.borrow().iter() {
            let counted = &self.automaton.states[*state].loops[*at];
            let Some(ends) = self.ends(counted) else { continue };
            let none = StatesOfStream { ends: Ends { output: None, ..ends }, states: BTreeMap::new() };
            let stream = found.entry(ends.input).or_insert(none);
            let output = stream.ends.output.or(ends.output);
            if ends.output.is_some() && ends.output != output {
                continue;
            }
            let copies = copies.entry(ends).or_default();
            if let Some(function) = self.streamed((counted, *state, run), ends, which, copies, building, functions) {
                stream.ends.output = output;
                stream.states.entry(*state).or_default().push(function);
            }
        }
        found.into_values().filter(|stream| !stream.states.is_empty()).collect()
    }

    /// The function of an input port: it goes from state to state, as [`Fused::run`] does, and runs a loop where it comes to one.
    pub(super) fn of_states(&self, stream: StatesOfStream, all: &[FunctionId], building: &mut Building) -> Stream {
        let StatesOfStream { ends, states } = stream;
        let mut f = self.begin();
        let (from, n_from, to, n_to) = arrays(&mut f, ends);
        let fields = &self.fields;
        let context = |field: u32| Place::field(CONTEXT, field);
        let nothing = || Stmt::Return(Some(Expr::int(Type::U64, 0)));
        let is = |field: u32| Expr::read(context(field), Type::Bool);
        f.when(is(fields.failed).or(is(fields.left)), |f| f.push(nothing()));
        f.push(Stmt::Assign(context(fields.budget), Expr::int(Type::U64, u64::MAX)));
        f.push(Stmt::Assign(context(fields.full), Expr::bool(false)));
        let moved = f.scalar("moved", Type::U64);
        let next = f.scalar("next", Type::U32);
        let around = f.take();
        let buffers = [Some(&fields.inputs[ends.input]), ends.output.map(|output| &fields.outputs[output])];
        let empty = |buffer: &Buffer| Expr::read(context(buffer.there), Type::U32).equals(Expr::u32(0));
        let are_empty = buffers.into_iter().flatten().map(empty).fold(Expr::bool(true), Expr::and);
        let mut cases = Vec::new();
        for (state, loops) in states {
            let outer = f.take();
            for function in loops {
                let mut arguments = vec![Argument::Reference(Place::variable(CONTEXT))];
                arguments.extend([Argument::Reference(Place::variable(from)), Argument::Value(f.read(n_from))]);
                // A loop that makes nothing takes no room.
                let takes_room = building.functions[function.index()].parameters.len() > arguments.len();
                if let Some((to, n_to)) = to.zip(n_to).filter(|_| takes_room) {
                    arguments.extend([Argument::Reference(Place::variable(to)), Argument::Value(f.read(n_to))]);
                }
                f.call(Some(moved), function, arguments);
                let all = f.read(moved);
                let any = Expr::compare(CompareOp::NotEqual, all.clone(), Expr::int(Type::U64, 0));
                f.when(any, |f| f.push(Stmt::Return(Some(all))));
            }
            cases.push((state as u32, f.restore(outer)));
        }
        let state = Expr::read(context(fields.state), Type::U32);
        f.when(are_empty, |f| f.push(Stmt::Switch(state, cases, Vec::new())));
        self.next_state(&mut f, next, all);
        let now = f.read(next);
        f.when(now.clone().at_least(Expr::u32(FAILED)), |f| {
            f.push(Stmt::Assign(context(fields.full), now.clone().equals(Expr::u32(FULL))));
            f.push(Stmt::Assign(context(fields.failed), now.clone().equals(Expr::u32(FAILED))));
            f.push(nothing());
        });
        f.push(Stmt::Assign(context(fields.state), now));
        let body = f.restore(around);
        let label = f.label();
        f.push(Stmt::Loop(label, body));
        let port = &self.network.inputs[ends.input].name;
        let name = building.names.fresh(&format!("stream_{port}"));
        let about = match ends.output {
            None => format!("takes tokens of `{port}` where they lie and returns how many it took"),
            Some(output) => format!(
                "takes tokens of `{port}` where they lie and puts tokens of `{}` where they are wanted; returns how many it took, and \
                 how many it made in the upper 32 bits",
                self.network.outputs[output].name
            ),
        };
        let function = building.function(f.finish(name, &about, Some(Type::U64)));
        Stream { input: ends.input, output: ends.output, function }
    }

    /// A function that runs a loop of a state as often as tokens, room and counters allow, and says how many were taken and made.
    fn streamed(
        &self,
        (counted, state, run): (&CountedLoop, usize, &Run),
        ends: Ends,
        which: Streams,
        copies: &mut Copies,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<FunctionId> {
        let body = &counted.body;
        let mut copied = |function: FunctionId| self.copy(function, ends, copies, building);
        let mut for_features = Vec::new();
        for variant in &run.for_features {
            for_features.extend(copied(variant.iterations).map(|copy| (variant, copy)));
        }
        let is_plain = which == Streams::All;
        if for_features.is_empty() && !is_plain {
            return None;
        }
        let begins_plain = is_plain || for_features.iter().any(|(variant, _)| variant.not_first);
        let iterations = begins_plain.then(|| copied(run.iterations)).flatten();
        if begins_plain && iterations.is_none() {
            return None;
        }
        let others = match run.others.filter(|_| is_plain) {
            Some((others, behind)) => Some((copied(others)?, copied(behind)?)),
            None => None,
        };
        let mut f = self.begin();
        let (from, n_from, to, n_to) = arrays(&mut f, ends);
        let limits = |f: &FunctionBuilder| {
            let bytes = [
                Some((n_from, body.consumes[ends.input].0)),
                n_to.zip(ends.output).map(|(n_to, output)| (n_to, body.produces[output].0)),
            ];
            let bound = |(n, per_iteration): (VariableId, u64)| {
                Expr::binary(BinaryOp::Div, f.read(n), Expr::u32(per_iteration as u32))
            };
            bytes.into_iter().flatten().map(bound).collect::<Vec<Expr>>()
        };
        let limits = limits(&f);
        let features: Vec<_> = for_features.iter().map(|(variant, _)| variant.features).collect();
        if !is_plain {
            // Counters have not gone on yet.
            let has = |&features: &FeatureSetId| Expr { kind: ExprKind::Has(features), ty: Type::Bool };
            let any = features.iter().map(has).reduce(Expr::or);
            let none = any.map_or(Expr::bool(true), Expr::negated);
            f.when(none, |f| f.push(Stmt::Return(Some(Expr::int(Type::U64, 0)))));
        }
        let Limited { iterations: all, fewest, ends: last } =
            self.limited(counted, &limits, &mut f, building, functions);
        let read = f.read(all);
        let n_in = Expr::u32(body.consumes[ends.input].0 as u32);
        let n_out = ends.output.map(|output| Expr::u32(body.produces[output].0 as u32));
        let count = read.clone().to(Type::U32);
        f.when(Expr::compare(CompareOp::Greater, read.clone(), Expr::int(Type::U64, fewest)), |f| {
            // `done` iterations are behind.
            let runs = |f: &mut FunctionBuilder, copy: &Copied, more: Option<Expr>, done: Expr| {
                let array = |array: VariableId| Argument::Reference(Place::variable(array));
                let at = |per_iteration: &Expr| Argument::Value(done.clone().times(per_iteration.clone()));
                let all = [Some(array(from)), Some(at(&n_in)), to.map(array), n_out.as_ref().map(at)];
                let mut arguments = vec![Argument::Reference(Place::variable(CONTEXT))];
                arguments.extend(more.map(Argument::Value));
                let taken = all.into_iter().zip(copy.takes).filter(|(_, takes)| *takes);
                arguments.extend(taken.filter_map(|(argument, _)| argument));
                f.call(None, copy.function, arguments);
            };
            let (zero, one) = (|| Expr::u32(0), || Expr::u32(1));
            let plain = |f: &mut FunctionBuilder, count: Expr| {
                if let Some(iterations) = &iterations {
                    runs(f, iterations, Some(count), zero());
                }
            };
            let without = |f: &mut FunctionBuilder| match &others {
                None => plain(f, count.clone()),
                Some((others, behind)) => {
                    plain(f, one());
                    f.when(one().less(count.clone()), |f| {
                        runs(f, others, Some(count.clone().minus(one())), one());
                        runs(f, behind, None, count.clone());
                    });
                }
            };
            let with = |f: &mut FunctionBuilder, at: usize| {
                let (variant, copy) = &for_features[at];
                match variant.not_first {
                    false => runs(f, copy, Some(count.clone()), zero()),
                    true => {
                        plain(f, one());
                        f.when(one().less(count.clone()), |f| runs(f, copy, Some(count.clone().minus(one())), one()));
                    }
                }
            };
            variants(f, &features, 0, &with, &without);
            if let Some((target, ended)) = last {
                let ended = f.read(ended);
                f.when(ended, |f| f.push(Stmt::Assign(Place::field(CONTEXT, self.fields.state), Expr::u32(target))));
            }
            let taken = count.clone().times(n_in.clone()).to(Type::U64);
            let moved = match n_out.clone() {
                None => taken,
                Some(n_out) => super::value::or(taken, count.clone().times(n_out).to(Type::U64).shifted_left(32)),
            };
            f.push(Stmt::Return(Some(moved)));
        });
        f.push(Stmt::Return(Some(Expr::int(Type::U64, 0))));
        let about = format!("runs a loop of state {state} on the caller's arrays");
        Some(functions.add(building, f, "streamed", &about, Some(Type::U64)))
    }

    // --- copies ---

    /// A copy of a function that has the caller's arrays in the place of buffers; nothing where it does more with these than that.
    fn copy(&self, id: FunctionId, ends: Ends, copies: &mut Copies, building: &mut Building) -> Option<Copied> {
        if let Some(known) = copies.get(&id) {
            return *known;
        }
        let copy = self.copy_anew(id, ends, copies, building);
        copies.insert(id, copy);
        copy
    }

    fn copy_anew(&self, id: FunctionId, ends: Ends, copies: &mut Copies, building: &mut Building) -> Option<Copied> {
        let mut function = building.functions[id.index()].clone();
        let context = function.variables.first().map(|variable| variable.kind);
        if context != Some(VariableKind::Record(self.fields.context)) {
            return Some(Copied { function: id, takes: [false; 4] });
        }
        let body = std::mem::take(&mut function.body);
        let mut copying = Copying {
            fused: self,
            input: &self.fields.inputs[ends.input],
            output: ends.output.map(|output| &self.fields.outputs[output]),
            ends,
            function: &mut function,
            more: [None; 4],
            copies,
            building,
        };
        let body = copying.block(body)?;
        let more = copying.more;
        let takes = more.map(|variable| variable.is_some());
        if takes == [false; 4] {
            return Some(Copied { function: id, takes });
        }
        function.body = body;
        function.parameters.extend(more.into_iter().flatten());
        function.name = building.names.fresh(&format!("{}_of_caller", function.name));
        Some(Copied { function: building.function(function), takes })
    }
}

/// The arrays of the caller as parameters, each with how many tokens it has or has room for.
fn arrays(f: &mut FunctionBuilder, ends: Ends) -> (VariableId, VariableId, Option<VariableId>, Option<VariableId>) {
    let slice = |mutable: bool| VariableKind::Slice { element: Type::U8, mutable };
    let from = f.parameter("from", slice(false));
    let n_from = f.scalar_parameter("n_from", Type::U32);
    let to = ends.output.map(|_| (f.parameter("to", slice(true)), f.scalar_parameter("n_to", Type::U32)));
    let (to, n_to) = to.unzip();
    (from, n_from, to, n_to)
}

/// A function that is being copied.
struct Copying<'c, 'a> {
    fused: &'c Fused<'a>,
    input: &'c Buffer,
    output: Option<&'c Buffer>,
    ends: Ends,
    /// The copy, without statements.
    function: &'c mut Function,
    /// What it takes more.
    more: [Option<VariableId>; 4],
    copies: &'c mut Copies,
    building: &'c mut Building,
}

impl Copying<'_, '_> {
    /// Something that the copy takes more.
    fn more(&mut self, what: usize) -> Place {
        let variables = &mut self.function.variables;
        let variable = *self.more[what].get_or_insert_with(|| {
            let (like, kind) = MORE[what];
            let is_taken = |name: &String| variables.iter().any(|variable| variable.name == *name);
            let mut name = format!("caller_{like}");
            while is_taken(&name) {
                name.push('_');
            }
            variables.push(Variable { name, kind });
            VariableId(variables.len() as u32 - 1)
        });
        Place::variable(variable)
    }

    fn block(&mut self, block: Vec<Stmt>) -> Option<Vec<Stmt>> {
        block.into_iter().map(|statement| self.statement(statement)).collect()
    }

    /// Nothing where a statement does something that an array of the caller cannot have done.
    fn statement(&mut self, statement: Stmt) -> Option<Stmt> {
        Some(match statement {
            Stmt::Assign(place, value) => Stmt::Assign(self.untouched(place)?, self.expr(value)?),
            Stmt::Store(place, index, value) => {
                Stmt::Store(self.array(place, true)?, self.expr(index)?, self.expr(value)?)
            }
            Stmt::StoreWord(place, index, value, order) => {
                Stmt::StoreWord(self.array(place, true)?, self.expr(index)?, self.expr(value)?, order)
            }
            Stmt::Copy { target, at, source, from, count } => Stmt::Copy {
                target: self.array(target, true)?,
                at: self.expr(at)?,
                source: self.array(source, false)?,
                from: self.expr(from)?,
                count: self.expr(count)?,
            },
            Stmt::Fill { target, at, count, value } => Stmt::Fill {
                target: self.array(target, true)?,
                at: self.expr(at)?,
                count: self.expr(count)?,
                value: self.expr(value)?,
            },
            Stmt::If(condition, yes, no) => Stmt::If(self.expr(condition)?, self.block(yes)?, self.block(no)?),
            Stmt::While(label, condition, body) => Stmt::While(label, self.expr(condition)?, self.block(body)?),
            Stmt::Lanes { lane, count, body } => Stmt::Lanes { lane, count, body: self.block(body)? },
            Stmt::Loop(label, body) => Stmt::Loop(label, self.block(body)?),
            Stmt::Switch(value, cases, rest) => {
                let value = self.expr(value)?;
                let cases = cases.into_iter().map(|(case, block)| Some((case, self.block(block)?)));
                let cases = cases.collect::<Option<Vec<_>>>()?;
                Stmt::Switch(value, cases, self.block(rest)?)
            }
            Stmt::Call { result, function, arguments } => self.call(result, function, arguments)?,
            Stmt::Vector(statement) => Stmt::Vector(self.vector(statement)?),
            Stmt::Return(Some(value)) => Stmt::Return(Some(self.expr(value)?)),
            Stmt::Return(None) | Stmt::Break(_) | Stmt::Continue(_) => statement,
            // Nothing that runs iterations does that.
            Stmt::Print(_) | Stmt::Native { .. } => return None,
        })
    }

    fn call(&mut self, result: Option<VariableId>, function: FunctionId, arguments: Vec<Argument>) -> Option<Stmt> {
        let mut given = Vec::new();
        for argument in arguments {
            given.push(match argument {
                Argument::Value(value) => Argument::Value(self.expr(value)?),
                Argument::Reference(place) => Argument::Reference(self.untouched(place)?),
            });
        }
        let is_on_context = given.first() == Some(&Argument::Reference(Place::variable(CONTEXT)));
        if !is_on_context {
            return Some(Stmt::Call { result, function, arguments: given });
        }
        let Copied { function, takes } = self.fused.copy(function, self.ends, self.copies, self.building)?;
        for (what, _) in takes.into_iter().enumerate().filter(|(_, takes)| *takes) {
            let place = self.more(what);
            given.push(match what {
                FROM | TO => Argument::Reference(place),
                _ => Argument::Value(Expr::read(place, Type::U32)),
            });
        }
        Some(Stmt::Call { result, function, arguments: given })
    }

    fn vector(&mut self, statement: VectorStmt) -> Option<VectorStmt> {
        Some(match statement {
            VectorStmt::Load { to, place, index } => {
                VectorStmt::Load { to, place: self.array(place, false)?, index: self.expr(index)? }
            }
            VectorStmt::Store { place, index, from } => {
                VectorStmt::Store { place: self.array(place, true)?, index: self.expr(index)?, from }
            }
            VectorStmt::Set { to, low, high } => VectorStmt::Set { to, low: self.expr(low)?, high: self.expr(high)? },
            VectorStmt::Repeat { .. }
            | VectorStmt::Part { .. }
            | VectorStmt::Move { .. }
            | VectorStmt::Apply { .. } => statement,
        })
    }

    /// The field of the context that a place is.
    fn field(place: &Place) -> Option<u32> {
        match (place.root, &place.path[..]) {
            (Root::Variable(CONTEXT), [field]) => Some(*field),
            _ => None,
        }
    }

    /// An array, which may be that of the caller.
    fn array(&mut self, place: Place, is_written: bool) -> Option<Place> {
        let field = Self::field(&place);
        if field == Some(self.input.tokens) {
            return (!is_written).then(|| self.more(FROM));
        }
        if field.is_some() && field == self.output.map(|output| output.tokens) {
            return Some(self.more(TO));
        }
        Some(place)
    }

    /// A place that is nothing of the ports.
    fn untouched(&self, place: Place) -> Option<Place> {
        let field = Self::field(&place);
        let of = |buffer: &Buffer| [buffer.tokens, buffer.first, buffer.there].map(Some).contains(&field);
        (!of(self.input) && !self.output.is_some_and(of)).then_some(place)
    }

    fn expr(&mut self, expr: Expr) -> Option<Expr> {
        let ty = expr.ty;
        let kind = match expr.kind {
            ExprKind::Constant(_) | ExprKind::Has(_) => expr.kind,
            ExprKind::Read(place) => match Self::field(&place) {
                Some(field) if field == self.input.first => ExprKind::Read(self.more(FROM_AT)),
                Some(field) if Some(field) == self.output.map(|output| output.first) => {
                    ExprKind::Read(self.more(TO_AT))
                }
                // Nothing was made before.
                Some(field) if Some(field) == self.output.map(|output| output.there) => ExprKind::Constant(0),
                _ => ExprKind::Read(self.untouched(place)?),
            },
            ExprKind::Element(place, index) => {
                ExprKind::Element(self.array(place, false)?, Box::new(self.expr(*index)?))
            }
            ExprKind::Word(place, index, order) => {
                ExprKind::Word(self.array(place, false)?, Box::new(self.expr(*index)?), order)
            }
            ExprKind::Unary(op, x) => ExprKind::Unary(op, Box::new(self.expr(*x)?)),
            ExprKind::Convert(x) => ExprKind::Convert(Box::new(self.expr(*x)?)),
            ExprKind::Reinterpret(x) => ExprKind::Reinterpret(Box::new(self.expr(*x)?)),
            // Sums with nothing become simpler.
            ExprKind::Binary(op, a, b) => return Some(Expr::binary(op, self.expr(*a)?, self.expr(*b)?)),
            ExprKind::Compare(op, a, b) => ExprKind::Compare(op, Box::new(self.expr(*a)?), Box::new(self.expr(*b)?)),
            ExprKind::Select(c, a, b) => {
                ExprKind::Select(Box::new(self.expr(*c)?), Box::new(self.expr(*a)?), Box::new(self.expr(*b)?))
            }
        };
        Some(Expr { kind, ty })
    }
}
