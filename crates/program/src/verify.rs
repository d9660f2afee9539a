//! The verifier: whether a module keeps to what printers rely on.
//!
//! Verified:
//!
//! 1. Names: of records and functions, of fields, of tables, of variables of a function are identifiers, and unique.
//! 2. Records have only records before them as fields; arrays and tables have elements, and table values fit their type.
//! 3. Parameters are variables, none twice, and none is an array; locals are scalars or arrays.
//! 4. Every place exists; a table is only read, and so is what a parameter refers to that is not for writing.
//! 5. Every expression has the type that its operands give; arithmetic is done in the types that allow it; constants fit
//!    their type; indices, offsets and counts of shifts are `U32`.
//! 6. Conditions are `Bool`; what is assigned has the type of the place.
//! 7. `Break` and `Continue` name a loop around them, and no loop has the label of one around it.
//! 8. Calls have one argument for each parameter, of its type or kind; what one call takes for writing (records always)
//!    overlaps with nothing else that it takes by reference.
//! 9. Cases of a switch differ. Results are returned on every path of a function that has one, and by no other.
//! 10. The functions of the interface take and give what [`crate::Interface`] says; other functions have slices from callers that
//!     have them.
//! 11. Vector registers are locals of functions with features, of 128, 256 or 512 bits; statements on them agree in width.
//! 12. A function with features is called where the machine has them: below an `if` of `Has`, or from one with as many.

use crate::names::identifier;
use crate::{
    Argument, BinaryOp, CompareOp, Expr, ExprKind, FeatureSetId, FieldType, Function, FunctionId, Label, Module,
    NativeArgument, Place, Print, RecordId, Root, Stmt, Type, UnaryOp, VariableId, VariableKind, VectorOperand,
    VectorStmt,
};
use std::collections::HashSet;

/// Everything in a module that is not as it must be; empty when all is well.
pub fn verify(module: &Module) -> Vec<String> {
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    for (at, record) in module.records.iter().enumerate() {
        name(&record.name, &mut names, &mut problems);
        let mut fields = HashSet::new();
        for field in &record.fields {
            name(&field.name, &mut fields, &mut problems);
            match field.ty {
                FieldType::Array(_, 0) => problems.push(format!("{}.{} has no elements", record.name, field.name)),
                FieldType::Record(RecordId(id)) if id as usize >= at => {
                    problems.push(format!("{}.{} is a record that comes later", record.name, field.name));
                }
                _ => {}
            }
        }
    }
    let mut tables = HashSet::new();
    for table in &module.tables {
        name(&table.name, &mut tables, &mut problems);
        if table.values.is_empty() || table.values.iter().any(|&value| table.element.extend(value) != value) {
            problems.push(format!("table {} has no elements, or some that do not fit", table.name));
        }
    }
    for function in &module.functions {
        name(&function.name, &mut names, &mut problems);
        let known = function.features.iter().copied().collect();
        let mut checker = Checker { module, function, labels: Vec::new(), known, problems: Vec::new() };
        checker.function();
        problems.extend(checker.problems.into_iter().map(|problem| format!("{}: {problem}", function.name)));
    }
    interface(module, &mut problems);
    problems
}

fn name(text: &str, names: &mut HashSet<String>, problems: &mut Vec<String>) {
    if text != identifier(text) {
        problems.push(format!("`{text}` is no identifier"));
    }
    if !names.insert(text.to_owned()) {
        problems.push(format!("`{text}` is there twice"));
    }
}

fn interface(module: &Module, problems: &mut Vec<String>) {
    let interface = &module.interface;
    let context = VariableKind::Record(interface.context);
    let count = VariableKind::Scalar(Type::U32);
    let mut check = |id: FunctionId, what: &str, parameters: &[VariableKind], result: Option<Type>| {
        let fits = module.functions.get(id.index()).is_some_and(|function| {
            function.parameter_kinds().eq(parameters.iter().copied()) && function.result == result
        });
        if !fits {
            problems.push(format!("the interface has no {what} as it should be"));
        }
    };
    check(interface.init, "init", &[context], None);
    check(interface.run, "run", &[context, VariableKind::Scalar(Type::U64)], Some(Type::U32));
    check(interface.lacks_room, "lacks_room", &[context], Some(Type::Bool));
    for input in &interface.inputs {
        let slice = VariableKind::Slice { element: input.element, mutable: false };
        check(input.write, "write", &[context, slice, count], Some(Type::U32));
    }
    for output in &interface.outputs {
        let slice = VariableKind::Slice { element: output.element, mutable: true };
        check(output.read, "read", &[context, slice, count], Some(Type::U32));
        check(output.waiting, "waiting", &[context], Some(Type::U32));
    }
    for stream in &interface.streams {
        let slice = |mutable: bool| VariableKind::Slice { element: Type::U8, mutable };
        let room = stream.output.map(|_| [slice(true), count]);
        let parameters: Vec<VariableKind> =
            [context, slice(false), count].into_iter().chain(room.into_iter().flatten()).collect();
        check(stream.function, "stream", &parameters, Some(Type::U64));
    }
    for stream in &interface.streams {
        let output = stream.output.map(|output| interface.outputs.get(output).map(|port| (port.element, port.words)));
        let input = interface.inputs.get(stream.input).map(|port| (port.element, port.words));
        if input != Some((Type::U8, 1)) || !matches!(output, None | Some(Some((Type::U8, 1)))) {
            problems.push("a stream is not of ports of bytes".to_owned());
        }
    }
}

/// What a place is.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Scalar(Type),
    /// Elements, their number where it is known, whether they may be written.
    Array(Type, Option<u32>, bool),
    Record(RecordId),
    Wrong,
}

struct Checker<'a> {
    module: &'a Module,
    function: &'a Function,
    labels: Vec<Label>,
    /// What the machine is known to have.
    known: Vec<FeatureSetId>,
    problems: Vec<String>,
}

impl Checker<'_> {
    fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    fn function(&mut self) {
        let function = self.function;
        let mut names = HashSet::new();
        for variable in &function.variables {
            name(&variable.name, &mut names, &mut self.problems);
        }
        let mut seen = HashSet::new();
        for parameter in &function.parameters {
            match function.variables.get(parameter.index()).map(|variable| variable.kind) {
                None => self.problem("a parameter is no variable"),
                Some(VariableKind::Array(..) | VariableKind::Vector(_)) => {
                    self.problem("a parameter is an array or a vector register");
                }
                Some(_) => {}
            }
            if !seen.insert(*parameter) {
                self.problem("a variable is two parameters");
            }
        }
        for (at, variable) in function.variables.iter().enumerate() {
            if seen.contains(&VariableId(at as u32)) {
                continue;
            }
            match variable.kind {
                VariableKind::Scalar(_) => {}
                VariableKind::Array(_, len) if len > 0 => {}
                VariableKind::Vector(128 | 256 | 512) if function.features.is_some() => {}
                VariableKind::Vector(_) => self.problem(format!("{} is no register of the machine", variable.name)),
                _ => self.problem(format!("{} is neither a scalar nor an array with elements", variable.name)),
            }
        }
        self.block(&function.body);
        if function.result.is_some() && !returns(&function.body) {
            self.problem("a path returns nothing");
        }
    }

    fn shape(&mut self, place: &Place) -> Shape {
        let mut shape = match place.root {
            Root::Table(table) => match self.module.tables.get(table.index()) {
                Some(table) => Shape::Array(table.element, Some(table.values.len() as u32), false),
                None => Shape::Wrong,
            },
            Root::Variable(variable) => match self.function.variables.get(variable.index()).map(|own| own.kind) {
                Some(VariableKind::Scalar(ty)) => Shape::Scalar(ty),
                Some(VariableKind::Array(ty, len)) => Shape::Array(ty, Some(len), true),
                Some(VariableKind::Vector(_)) => {
                    self.problem("a vector register is used as a value");
                    return Shape::Wrong;
                }
                Some(VariableKind::Record(id)) => Shape::Record(id),
                Some(VariableKind::Reference { element, len, mutable }) => Shape::Array(element, Some(len), mutable),
                Some(VariableKind::Slice { element, mutable }) => Shape::Array(element, None, mutable),
                None => Shape::Wrong,
            },
        };
        for &field in &place.path {
            shape = match shape {
                Shape::Record(id) => match self.module.record(id).fields.get(field as usize).map(|field| field.ty) {
                    Some(FieldType::Scalar(ty)) => Shape::Scalar(ty),
                    Some(FieldType::Array(ty, len)) => Shape::Array(ty, Some(len), true),
                    Some(FieldType::Record(id)) => Shape::Record(id),
                    None => Shape::Wrong,
                },
                _ => Shape::Wrong,
            };
        }
        if shape == Shape::Wrong {
            self.problem("a place does not exist");
        }
        shape
    }

    fn elements(&mut self, place: &Place, written: bool) -> Option<Type> {
        match self.shape(place) {
            Shape::Array(_, _, false) if written => {
                self.problem("something is written that is only read");
                None
            }
            Shape::Array(ty, _, _) => Some(ty),
            Shape::Wrong => None,
            _ => {
                self.problem("a place is no array");
                None
            }
        }
    }

    fn expect(&mut self, expr: &Expr, ty: Type, what: &str) {
        self.expr(expr);
        if expr.ty != ty {
            self.problem(format!("{what} is {} and not {ty}", expr.ty));
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let ty = expr.ty;
        match &expr.kind {
            ExprKind::Constant(value) => {
                if ty.extend(*value) != *value {
                    self.problem(format!("{value} is no {ty}"));
                }
            }
            ExprKind::Read(place) => match self.shape(place) {
                Shape::Scalar(own) if own == ty => {}
                Shape::Wrong => {}
                _ => self.problem(format!("what is read is no {ty}")),
            },
            ExprKind::Element(place, index) => {
                self.expect(index, Type::U32, "an index");
                if self.elements(place, false).is_some_and(|own| own != ty) {
                    self.problem(format!("an element is no {ty}"));
                }
            }
            ExprKind::Word(place, index, _) => {
                self.expect(index, Type::U32, "an index");
                self.word(place, ty, false);
            }
            ExprKind::Unary(op, x) => {
                self.expect(x, ty, "an operand");
                let allowed = match op {
                    UnaryOp::Negate => ty.is_computed() || ty == Type::F64,
                    UnaryOp::Not => ty.is_computed() || ty == Type::Bool,
                };
                if !allowed {
                    self.problem(format!("{op:?} of {ty}"));
                }
            }
            ExprKind::Binary(op, a, b) => {
                self.expect(a, ty, "an operand");
                let shift = matches!(op, BinaryOp::ShiftLeft | BinaryOp::ShiftRight);
                self.expect(b, if shift { Type::U32 } else { ty }, "an operand");
                let allowed = match op {
                    BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div => {
                        ty.is_computed() || ty == Type::F64
                    }
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => ty.is_computed() || ty == Type::Bool,
                    BinaryOp::Rem | BinaryOp::ShiftLeft | BinaryOp::ShiftRight => ty.is_computed(),
                };
                if !allowed {
                    self.problem(format!("{op:?} of {ty}"));
                }
            }
            ExprKind::Compare(op, a, b) => {
                self.expr(a);
                self.expect(b, a.ty, "an operand");
                let equality = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
                let allowed = a.ty.is_computed() || a.ty == Type::F64 || (a.ty == Type::Bool && equality);
                if ty != Type::Bool || !allowed {
                    self.problem(format!("{op:?} of {} as {ty}", a.ty));
                }
            }
            ExprKind::Convert(x) => {
                self.expr(x);
                let allowed = if x.ty.is_real() { ty.is_real() } else { ty != Type::Bool };
                if !allowed || x.ty == ty {
                    self.problem(format!("{} does not become {ty}", x.ty));
                }
            }
            ExprKind::Reinterpret(x) => {
                self.expr(x);
                let pairs = [(Type::U32, Type::F32), (Type::U64, Type::F64)];
                if !pairs.contains(&(x.ty, ty)) && !pairs.contains(&(ty, x.ty)) {
                    self.problem(format!("bits of {} are not {ty}", x.ty));
                }
            }
            ExprKind::Has(features) => {
                if ty != Type::Bool || features.index() >= self.module.features.len() {
                    self.problem("features that do not exist");
                }
            }
            ExprKind::Select(condition, yes, no) => {
                self.expect(condition, Type::Bool, "a condition");
                self.expect(yes, ty, "an operand");
                self.expect(no, ty, "an operand");
            }
        }
    }

    fn block(&mut self, block: &[Stmt]) {
        block.iter().for_each(|statement| self.statement(statement));
    }

    fn looped(&mut self, label: Label, body: &[Stmt]) {
        if self.labels.contains(&label) {
            self.problem("two loops of one label are in each other");
        }
        self.labels.push(label);
        self.block(body);
        self.labels.pop();
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(place, value) => {
                self.expr(value);
                match self.shape(place) {
                    Shape::Scalar(ty) if ty == value.ty => {}
                    Shape::Wrong => {}
                    _ => self.problem(format!("a {} is assigned to something else", value.ty)),
                }
            }
            Stmt::Store(place, index, value) => {
                self.expect(index, Type::U32, "an index");
                if let Some(ty) = self.elements(place, true) {
                    self.expect(value, ty, "what is stored");
                }
            }
            Stmt::StoreWord(place, index, value, _) => {
                self.expect(index, Type::U32, "an index");
                self.expr(value);
                self.word(place, value.ty, true);
            }
            Stmt::Lanes { lane, count, body } => {
                if *count == 0 {
                    self.problem("no lanes");
                }
                self.own_to_lanes(body);
                self.receives(*lane, Type::U32);
                let own = Place::variable(*lane);
                for statement in body {
                    match statement {
                        Stmt::Assign(place, _) if !place.path.is_empty() => self.problem("lanes assign to a field"),
                        Stmt::Assign(place, _) if *place == own => self.problem("lanes assign to their number"),
                        Stmt::Assign(..) | Stmt::Store(..) => {}
                        _ => self.problem("lanes do more than to assign and to store"),
                    }
                }
                self.block(body);
            }
            Stmt::Copy { target, at, source, from, count } => {
                for expr in [at, from, count] {
                    self.expect(expr, Type::U32, "an offset or count");
                }
                if self.elements(target, true) != self.elements(source, false) {
                    self.problem("a copy changes types");
                }
            }
            Stmt::Fill { target, at, count, value } => {
                self.expect(at, Type::U32, "an offset");
                self.expect(count, Type::U32, "a count");
                if let Some(ty) = self.elements(target, true) {
                    self.expect(value, ty, "what is stored");
                }
            }
            Stmt::If(condition, yes, no) => {
                self.expect(condition, Type::Bool, "a condition");
                let before = self.known.len();
                self.known.extend(asked(condition));
                self.block(yes);
                self.known.truncate(before);
                self.block(no);
            }
            Stmt::While(label, condition, body) => {
                self.expect(condition, Type::Bool, "a condition");
                self.looped(*label, body);
            }
            Stmt::Loop(label, body) => self.looped(*label, body),
            Stmt::Break(label) | Stmt::Continue(label) => {
                if !self.labels.contains(label) {
                    self.problem("a jump to a loop that is not around it");
                }
            }
            Stmt::Switch(value, cases, rest) => {
                self.expect(value, Type::U32, "what is switched over");
                let mut seen = HashSet::new();
                for (case, block) in cases {
                    if !seen.insert(case) {
                        self.problem("a case is there twice");
                    }
                    self.block(block);
                }
                self.block(rest);
            }
            Stmt::Call { result, function, arguments } => self.call(*result, *function, arguments),
            Stmt::Vector(statement) => self.vector(statement),
            Stmt::Return(value) => match (value, self.function.result) {
                (None, None) => {}
                (Some(value), Some(ty)) => self.expect(value, ty, "a result"),
                _ => self.problem("a result is missing, or there is one too many"),
            },
            Stmt::Print(print) => match print {
                Print::Text(text) => self.expect(text, Type::U32, "a text"),
                Print::Bytes(place, from, count) => self.bytes(place, from, count, false),
                Print::Real(value, _) => self.expect(value, Type::F64, "a real"),
            },
            Stmt::Native { native, arguments, result, stopped } => {
                let known = self.module.natives.get(*native as usize);
                if known.is_none_or(|known| known.n_arguments != arguments.len()) {
                    self.problem("a native does not take this");
                }
                for argument in arguments {
                    match argument {
                        NativeArgument::Value(value) => self.expect(value, Type::I64, "an argument"),
                        NativeArgument::Bytes(place, from, count) => self.bytes(place, from, count, true),
                    }
                }
                self.receives(*stopped, Type::Bool);
                if let Some(result) = result {
                    self.receives(*result, Type::I64);
                }
            }
        }
    }

    fn bytes(&mut self, place: &Place, from: &Expr, count: &Expr, written: bool) {
        self.expect(from, Type::U32, "an offset");
        self.expect(count, Type::U32, "a count");
        if self.elements(place, written).is_some_and(|ty| ty != Type::U8) {
            self.problem("bytes are no bytes");
        }
    }

    /// What lanes assign is read by them only.
    fn own_to_lanes(&mut self, body: &[Stmt]) {
        for statement in body {
            let Stmt::Assign(place, _) = statement else { continue };
            if reads(&self.function.body, place) != reads(body, place) {
                self.problem("what lanes assign is read elsewhere");
            }
        }
    }

    /// A number that is several elements of an array.
    fn word(&mut self, place: &Place, ty: Type, written: bool) {
        let bytes = self.elements(place, written).is_none_or(|element| element == Type::U8);
        if !bytes || !matches!(ty, Type::U32 | Type::U64) {
            self.problem(format!("a word of {ty}"));
        }
    }

    /// Whether the machine is known to have all that is needed.
    fn has(&self, needed: FeatureSetId) -> bool {
        let set = |id: FeatureSetId| self.module.features.get(id.index());
        let Some(needed) = set(needed) else { return false };
        let known: Vec<_> = self.known.iter().filter_map(|&known| set(known)).collect();
        let is_known =
            |name| known.iter().any(|set| set.architecture == needed.architecture && set.names.contains(name));
        needed.names.iter().all(is_known)
    }

    fn width(&mut self, register: VariableId) -> u32 {
        match self.function.variables.get(register.index()).map(|own| own.kind) {
            Some(VariableKind::Vector(bits)) => bits,
            _ => {
                self.problem("what is used as a vector register is none");
                0
            }
        }
    }

    fn vector(&mut self, statement: &VectorStmt) {
        let words = if matches!(statement, VectorStmt::Set { .. }) { Type::U64 } else { Type::U32 };
        for expr in statement.exprs() {
            self.expect(expr, words, "an index, or a word of a register,");
        }
        if let Some(place) = statement.place()
            && self.elements(place, matches!(statement, VectorStmt::Store { .. })).is_some_and(|ty| !ty.is_int())
        {
            self.problem("a vector is made of what are no integers");
        }
        match statement {
            VectorStmt::Load { to: register, .. } | VectorStmt::Store { from: register, .. } => {
                _ = self.width(*register)
            }
            VectorStmt::Set { to, .. } => {
                if self.width(*to) != 128 {
                    self.problem("two words are not 128 bits");
                }
            }
            VectorStmt::Repeat { to, from } => {
                if self.width(*from) != 128 || self.width(*to) < 128 {
                    self.problem("what is repeated is not of 128 bits");
                }
            }
            VectorStmt::Part { to, from, part } => {
                let (to, from) = (self.width(*to), self.width(*from));
                let is_part = to == 128 && u32::from(*part) * 128 < from || from == 128 && to > 128 && *part == 0;
                if !is_part {
                    self.problem("a part of a register is none");
                }
            }
            VectorStmt::Move { to, from } => {
                if self.width(*from) != self.width(*to) {
                    self.problem("a move changes the width");
                }
            }
            VectorStmt::Apply { to, instruction, operands } => {
                let Some(bits) = self.module.instructions.get(*instruction as usize).map(|found| found.bits) else {
                    return self.problem("an instruction does not exist");
                };
                let registers = operands.iter().filter_map(|operand| match operand {
                    VectorOperand::Register(register) => Some(*register),
                    VectorOperand::Immediate(_) => None,
                });
                for register in registers.chain([*to]) {
                    if self.width(register) != bits {
                        self.problem("an instruction has a register of another width");
                    }
                }
            }
        }
    }

    fn receives(&mut self, variable: VariableId, ty: Type) {
        if self.function.variables.get(variable.index()).map(|own| own.kind) != Some(VariableKind::Scalar(ty)) {
            self.problem(format!("what a result goes to is no {ty}"));
        }
    }

    fn call(&mut self, result: Option<VariableId>, id: FunctionId, arguments: &[Argument]) {
        let Some(callee) = self.module.functions.get(id.index()) else {
            return self.problem("a function does not exist");
        };
        if let Some(needed) = callee.features
            && !self.has(needed)
        {
            self.problem(format!("{} is called where the machine may lack what it needs", callee.name));
        }
        match (result, callee.result) {
            (Some(variable), Some(ty)) => self.receives(variable, ty),
            (None, _) => {}
            (Some(_), None) => self.problem(format!("{} has no result", callee.name)),
        }
        if arguments.len() != callee.parameters.len() {
            return self.problem(format!("{} takes another number of arguments", callee.name));
        }
        let mut taken: Vec<(&Place, bool)> = Vec::new();
        for (argument, parameter) in arguments.iter().zip(callee.parameter_kinds()) {
            match (argument, parameter) {
                (Argument::Value(value), VariableKind::Scalar(ty)) => self.expect(value, ty, "an argument"),
                (Argument::Reference(place), parameter) => {
                    let shape = self.shape(place);
                    let (fits, mutable) = match (shape, parameter) {
                        (Shape::Record(own), VariableKind::Record(wanted)) => (own == wanted, true),
                        (Shape::Array(ty, own, written), VariableKind::Reference { element, len, mutable }) => {
                            (ty == element && own == Some(len) && (written || !mutable), mutable)
                        }
                        (Shape::Array(ty, None, written), VariableKind::Slice { element, mutable }) => {
                            (ty == element && (written || !mutable), mutable)
                        }
                        _ => (false, true),
                    };
                    if !fits {
                        self.problem(format!("{} takes another reference", callee.name));
                    }
                    if taken.iter().any(|(other, written)| (mutable || *written) && place.overlaps(other)) {
                        self.problem(format!("arguments of {} overlap", callee.name));
                    }
                    taken.push((place, mutable));
                }
                _ => self.problem(format!("{} takes another argument", callee.name)),
            }
        }
    }
}

/// The features that a machine has where a condition holds.
fn asked(condition: &Expr) -> Vec<FeatureSetId> {
    match &condition.kind {
        ExprKind::Has(features) => vec![*features],
        ExprKind::Binary(BinaryOp::And, a, b) => [asked(a), asked(b)].concat(),
        _ => Vec::new(),
    }
}

/// How often statements read a scalar.
fn reads(block: &[Stmt], place: &Place) -> usize {
    fn of_expr(expr: &Expr, place: &Place) -> usize {
        let own = usize::from(matches!(&expr.kind, ExprKind::Read(other) if other == place));
        own + expr.parts().into_iter().map(|part| of_expr(part, place)).sum::<usize>()
    }
    let of = |statement: &Stmt| {
        let own: usize = statement.exprs().into_iter().map(|expr| of_expr(expr, place)).sum();
        own + statement.blocks().into_iter().map(|block| reads(block, place)).sum::<usize>()
    };
    block.iter().map(of).sum()
}

/// True when every way through the block ends in a return, or never ends.
fn returns(block: &[Stmt]) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Return(_) => true,
        Stmt::If(_, yes, no) => returns(yes) && returns(no),
        Stmt::Switch(_, cases, rest) => cases.iter().all(|(_, block)| returns(block)) && returns(rest),
        Stmt::Loop(label, body) => !breaks(body, *label),
        _ => false,
    })
}

fn breaks(block: &[Stmt], label: Label) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Break(to) => *to == label,
        _ => statement.blocks().into_iter().any(|block| breaks(block, label)),
    })
}
