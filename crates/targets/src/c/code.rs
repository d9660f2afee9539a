//! Function builder for C. The text of one C function as it grows: lines, temporaries, names of locals, checks, and the places
//! that expressions read.

pub mod node;
pub mod places;
pub mod value;
pub mod wide;

use super::ctype::{self, Repr};
use super::names::Names;
use super::plan::Plan;
use super::text::{Declared, Fixed, Line, Lines, Name, Part, Text, listed, text};
use headrace_analysis::ranges::{Interval, Unit};
use headrace_ir::{
    Argument, BinaryOp, Expr, Int, Local, LocalId, MAX_SHIFT, ProcedureId, RealType, Root, Scalar, Type,
};
use headrace_source::{Diagnostic, Span};
use node::Node;
use value::{Binding, Kind, Value};

/// The scalar state of an instance, in its functions.
pub const SCALARS: Fixed = Fixed("v");

/// Its lists.
pub const LISTS: Fixed = Fixed("lists");

/// What the network shares.
pub const CONTROL: Fixed = Fixed("control");

/// How a local is spelled.
#[derive(Clone, Debug)]
pub struct Slot {
    /// A C expression: the variable, or a pointer to its first element; empty before it is declared.
    pub text: Text,
    /// The C type in which a scalar integer is kept when that is not the one of its storage.
    pub repr: Option<Repr>,
    /// Values that it can have.
    pub range: Interval,
}

/// Where a name of a function is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declaration {
    /// Among its parameters.
    Parameter,
    /// In one of its lines.
    Local,
}

/// A function that is being written.
pub struct Code<'a> {
    /// The actor.
    pub plan: &'a Plan<'a>,
    /// Action or procedure.
    pub unit: Unit,
    /// Locals of the unit, and such as the emitter adds.
    pub locals: Vec<Local>,
    /// Their spelling.
    pub slots: Vec<Slot>,
    /// Names of this function.
    pub names: Names,
    /// Name for reports: of the action or procedure.
    pub name: String,
    /// What leaves the function after a stop.
    pub leave: Text,
    lines: Lines,
    depth: usize,
    /// Names of parameters and locals, in the order of their declarations.
    declared: Vec<(Name, Declaration)>,
    /// The scalar state is used.
    pub uses_scalars: bool,
    /// The lists of the state are used.
    pub uses_lists: bool,
    /// What the network shares is used.
    pub uses_control: bool,
    /// Something in it can stop the program.
    pub stops: bool,
}

impl<'a> Code<'a> {
    /// An empty function.
    pub fn new(plan: &'a Plan<'a>, unit: Unit, name: &str, locals: &[Local], leave: &str) -> Self {
        let slots = locals
            .iter()
            .enumerate()
            .map(|(at, local)| Slot {
                text: Text::default(),
                repr: None,
                range: plan.ranges.local(unit, at, local.ty.element),
            })
            .collect();
        Code {
            plan,
            unit,
            locals: locals.to_vec(),
            slots,
            names: Names::default(),
            name: name.to_owned(),
            leave: leave.into(),
            lines: Lines::default(),
            depth: 1,
            declared: Vec::new(),
            uses_scalars: false,
            uses_lists: false,
            uses_control: false,
            stops: false,
        }
    }

    /// True when run-time errors are reported.
    pub fn checked(&self) -> bool {
        self.plan.options.checked
    }

    /// True when an index outside its list is one of these.
    pub fn checked_indices(&self) -> bool {
        self.checked() && !self.plan.options.lenient_indices
    }

    /// Reports something that this target cannot do.
    pub fn unsupported(&self, span: Span, what: &str) {
        self.plan.diagnostics.borrow_mut().push(
            Diagnostic::error("unsupported-by-target", format!("target c cannot compile {what}"))
                .at(span, "needed here"),
        );
    }

    /// An expression that no checked program has.
    pub fn malformed(&self, node: &Node<'_>) -> Value {
        self.unsupported(node.expr.span, "an expression whose operands are of the wrong kind");
        Value::int(&Int::ZERO, Repr::I32)
    }

    // --- lines ---

    /// One line.
    pub fn line(&mut self, text: impl Into<Text>) {
        self.lines.0.push(Line { depth: self.depth, text: text.into() });
    }

    /// A label.
    pub fn label(&mut self, name: &str) {
        self.lines.0.push(Line { depth: 0, text: text![name, ":"] });
    }

    /// A line that opens a block.
    pub fn open(&mut self, text: impl Into<Text>) {
        self.line(text);
        self.depth += 1;
    }

    /// A line that closes one block and opens another.
    pub fn reopen(&mut self, text: impl Into<Text>) {
        self.depth = self.depth.saturating_sub(1);
        self.open(text);
    }

    /// A line that closes a block.
    pub fn close(&mut self, text: impl Into<Text>) {
        self.depth = self.depth.saturating_sub(1);
        self.line(text);
    }

    /// Runs without lines, one level deeper, and gives those that it wrote.
    pub fn capture<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Lines) {
        let before = self.take();
        self.depth += 1;
        let result = write(self);
        self.depth -= 1;
        let written = std::mem::replace(&mut self.lines, before);
        (result, written)
    }

    /// Lines that were captured.
    pub fn splice(&mut self, lines: Lines) {
        self.lines.0.extend(lines.0);
    }

    /// True when a name is in the lines.
    pub fn mentions(&self, name: Fixed) -> bool {
        self.lines.mention(name.0)
    }

    /// Remembers a parameter or local, so that a compiler does not complain when nothing reads it.
    pub fn remember(&mut self, name: &Name, declaration: Declaration) {
        self.declared.push((name.clone(), declaration));
    }

    /// All lines so far. What is declared and never read, since what read it was folded, is marked.
    pub fn finish(self) -> Lines {
        let mut lines = self.lines;
        let read = lines.names_read();
        let mut unread: Vec<(usize, Name)> = Vec::new();
        for (name, declaration) in self.declared.into_iter().filter(|(name, _)| !read.contains(name)) {
            let behind = match declaration {
                Declaration::Parameter => Some(0),
                Declaration::Local => lines.declaration_of(&name).map(|at| at + 1),
            };
            unread.extend(behind.map(|at| (at, name)));
        }
        drop(read);
        // Parameters come first, in their order.
        unread.sort_by_key(|(at, _)| *at);
        for (at, name) in unread.into_iter().rev() {
            lines.0.insert(at, Line { depth: 1, text: text!["(void)", name, ";"] });
        }
        lines
    }

    /// All lines so far, taken away.
    pub fn take(&mut self) -> Lines {
        std::mem::take(&mut self.lines)
    }

    /// A name for a temporary.
    pub fn temporary(&mut self, like: &str) -> Name {
        self.names.fresh(like).into()
    }

    /// The value as a name or constant, so that it can be used several times.
    pub fn named(&mut self, value: Value, ty: &str) -> Value {
        if value.constant.is_some() || value.text.is_name() {
            return value;
        }
        let name = self.temporary("value");
        self.declare_temporary(&name, text!["const ", ty, " ", Declared(&name), " = ", value.text, ";"]);
        Value::primary(name, value.kind)
    }

    /// Writes the line that declares a temporary, which may turn out not to be needed.
    pub fn declare_temporary(&mut self, name: &Name, line: Text) {
        self.line(line);
        self.remember(name, Declaration::Local);
    }

    // --- what is known of variables ---

    /// Type of the variable at the root of a place.
    pub fn type_of(&self, root: Root) -> &Type {
        match root {
            Root::Actor(variable) => &self.plan.actor.variables[variable.index()].ty,
            Root::Local(local) => &self.locals[local.index()].ty,
        }
    }

    /// Values of a variable or of the elements of a list.
    pub fn root_range(&self, root: Root) -> Interval {
        match root {
            Root::Actor(variable) => {
                let ty = &self.plan.actor.variables[variable.index()].ty;
                self.plan.ranges.variable(variable.index(), ty.element)
            }
            Root::Local(local) => self.slots[local.index()].range.clone(),
        }
    }

    /// Values that a function returns.
    pub fn result_range(&self, procedure: usize) -> Interval {
        let scalar = self.plan.actor.procedures[procedure].result.as_ref().map_or(Scalar::Bool, |result| result.0);
        self.plan.ranges.result(procedure, scalar)
    }

    /// True when calling the procedure can stop the program.
    pub fn procedure_can_stop(&self, procedure: usize) -> bool {
        self.plan.procedure(procedure).stops
    }

    // --- stopping ---

    fn place_number(&self, span: Span) -> usize {
        self.plan.places.borrow_mut().number(span, &self.name)
    }

    fn stop(&mut self, condition: Text, code: &str, span: Span, a: impl Part, b: impl Part) {
        let place = self.place_number(span);
        self.uses_control = true;
        self.stops = true;
        self.open(text!["if (", condition, ") {"]);
        self.line(text!["hr_trap(", CONTROL, ", ", code, ", ", place, "u, ", a, ", ", b, ");"]);
        let leave = self.leave.clone();
        self.line(leave);
        self.close("}");
    }

    /// Leaves the function when what was called has stopped the program.
    pub fn stop_after_call(&mut self) {
        self.uses_control = true;
        self.stops = true;
        let leave = self.leave.clone();
        self.open(text!["if (", CONTROL, "->stopped != 0) {"]);
        self.line(leave);
        self.close("}");
    }

    /// Checks the divisor or modulus, whose value is a name.
    pub fn check_divisor(&mut self, span: Span, op: BinaryOp, divisor: &Value) {
        let zero = Value::int(&Int::ZERO, divisor.repr()).text;
        if op == BinaryOp::Div {
            self.stop(text![divisor.text, " == ", zero], "HEADRACE_TRAP_DIVISION", span, "0", "0");
        } else {
            let test = if divisor.repr().is_signed() { "<=" } else { "==" };
            let value = divisor.to(Repr::I64).text;
            self.stop(text![divisor.text, " ", test, " ", zero], "HEADRACE_TRAP_MODULUS", span, value, "0");
        }
    }

    /// Stops on a condition about integers beyond 64 bits.
    pub fn check_wide(&mut self, span: Span, op: BinaryOp, divisor: &Text, words: u32) {
        if op == BinaryOp::Div {
            self.stop(text!["hr_wide_zero(", divisor, ", ", words, ")"], "HEADRACE_TRAP_DIVISION", span, "0", "0");
        } else {
            let condition =
                text!["hr_wide_zero(", divisor, ", ", words, ") || hr_wide_negative(", divisor, ", ", words, ")"];
            let value = text!["hr_wide_saturated(", divisor, ", ", words, ")"];
            self.stop(condition, "HEADRACE_TRAP_MODULUS", span, value, "0");
        }
    }

    /// Checks a shift count, whose value is a name.
    pub fn check_shift(&mut self, span: Span, count: &Value) {
        let zero = Value::int(&Int::ZERO, count.repr()).text;
        let value = count.to(Repr::I64).text;
        self.stop(text![count.text, " < ", zero], "HEADRACE_TRAP_SHIFT", span, value, "0");
    }

    /// Checks the count of a left shift whose value as a whole counts; it has a name.
    pub fn check_far(&mut self, span: Span, count: &Value) {
        let limit = Value::int(&Int::from(i64::from(MAX_SHIFT)), count.repr()).text;
        let value = if count.repr().is_signed() { count.text.clone() } else { text![MAX_SHIFT] };
        self.stop(text![count.text, " > ", limit], "HEADRACE_TRAP_SHIFT", span, value, "0");
    }

    /// A call of a native: what stops it is known afterwards.
    pub fn native_place(&mut self, span: Span) -> usize {
        self.place_number(span)
    }

    /// Counts a nested call of a recursive procedure.
    pub fn check_depth(&mut self, span: Span, limit: u32) {
        self.stop(text![CONTROL, "->depth >= ", limit, "u"], "HEADRACE_TRAP_DEPTH", span, limit, "0");
    }

    // --- calls ---

    /// The arguments of a call of a procedure, with those that every function of the actor passes on.
    pub fn call_arguments(&mut self, procedure: usize, arguments: &[Argument]) -> Vec<Text> {
        let info = self.plan.procedure(procedure);
        let mut texts = Vec::new();
        if info.uses_scalars {
            self.uses_scalars = true;
            texts.push(text![SCALARS]);
        }
        if info.uses_lists {
            self.uses_lists = true;
            texts.push(text![LISTS]);
        }
        if info.uses_control {
            self.uses_control = true;
            texts.push(text![CONTROL]);
        }
        let callee = &self.plan.actor.procedures[procedure];
        for (argument, parameter) in arguments.iter().zip(&callee.locals) {
            let text = match argument {
                Argument::Value(value) => self.scalar_argument(value, parameter.ty.element),
                Argument::List(place) => self.list(place),
            };
            texts.push(text);
        }
        texts
    }

    /// A scalar as it is passed: wide integers by pointer to as many words as their type has.
    pub fn scalar_argument(&mut self, value: &Expr, scalar: Scalar) -> Text {
        let node = self.node(value);
        match scalar {
            Scalar::Int(ty) => match ctype::storage_words(ty) {
                Some(words) => self.wide(&node, words),
                None => stored(&self.exact(&node), scalar),
            },
            _ => stored(&self.value(&node), scalar),
        }
    }

    /// A call of a function in an expression. Wide results are read through [`Code::wide`].
    pub fn call_expression(&mut self, procedure: ProcedureId, arguments: &[Argument]) -> Value {
        let scalar = self.plan.actor.procedures[procedure.index()].result.as_ref().map_or(Scalar::Bool, |r| r.0);
        if let Scalar::Int(ty) = scalar
            && let Some(words) = ctype::storage_words(ty)
        {
            let name = self.call_wide(procedure.index(), arguments, words);
            return Value::primary(text!["hr_wide_low(", name, ", ", words, ")"], Kind::Int(Repr::U64));
        }
        let texts = self.call_arguments(procedure.index(), arguments);
        let info = self.plan.procedure(procedure.index());
        let call = text![info.name, "(", listed(&texts), ")"];
        let call = if info.stops {
            let name = self.temporary("returned");
            let element = ctype::element(scalar);
            self.declare_temporary(&name, text!["const ", element, " ", Declared(&name), " = ", call, ";"]);
            self.stop_after_call();
            text![name]
        } else {
            call
        };
        match scalar {
            Scalar::Bool => Value::primary(call, Kind::Bool),
            Scalar::String => Value::primary(call, Kind::Text),
            Scalar::Real(RealType::Half) => Value::primary(text!["hr_half_value(", call, ")"], Kind::Real),
            Scalar::Real(RealType::Float) => Value::primary(call, Kind::Real).cast("double", Kind::Real),
            Scalar::Real(RealType::Double) => Value::primary(call, Kind::Real),
            Scalar::Int(ty) => Value::primary(call, Kind::Int(Repr::of_storage(ty))),
        }
    }

    /// A call of a function with a wide result: the name of an array of `words` words that has it.
    pub fn call_wide(&mut self, procedure: usize, arguments: &[Argument], words: u32) -> Name {
        let mut texts = self.call_arguments(procedure, arguments);
        let name = self.temporary("returned");
        // A callee that stops leaves it as it is.
        let zero = if self.plan.procedure(procedure).stops { " = {0}" } else { "" };
        self.line(text!["uint32_t ", Declared(&name), "[", words, "]", zero, ";"]);
        texts.push(text![name]);
        let info = self.plan.procedure(procedure);
        self.line(text![info.name, "(", listed(&texts), ");"]);
        if info.stops {
            self.stop_after_call();
        }
        name
    }

    /// A local that the emitter adds.
    pub fn add_local(&mut self, like: &str, ty: Type, range: Interval) -> LocalId {
        let text = text![self.temporary(like)];
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local { name: like.to_owned(), ty, kind: headrace_ir::LocalKind::Plain });
        self.slots.push(Slot { text, repr: None, range });
        id
    }
}

/// A scalar as it is stored in a variable that is not a wide integer.
pub fn stored(value: &Value, scalar: Scalar) -> Text {
    match scalar {
        Scalar::Real(RealType::Half) => text!["hr_half_bits(", value.text, ")"],
        Scalar::Real(RealType::Float) => value.cast("float", Kind::Real).text,
        Scalar::Int(ty) if ty.width <= 64 && value.constant.is_none() => {
            let element = ctype::element(scalar);
            // Names and elements have their type, calls return theirs; the rest was computed in `int` or wider.
            match value.binding {
                Binding::Primary => value.text.clone(),
                Binding::Cast(ty) if ty == element => value.text.clone(),
                _ => value.cast(element, value.kind).text,
            }
        }
        _ => value.text.clone(),
    }
}
