//! Data-flow graph of an action in XLIM. Values, and operations as elements.

use headrace_ir::{Actor, Int, IntType, Local, LocalId, ProcedureId, Scalar, VariableId};
use headrace_source::{Diagnostic, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Most values of one design: procedures that are written out where they are called can grow without bound.
const MAX_VALUES: usize = 4_000_000;

/// Most elements within one another, which readers take.
const MAX_DEPTH: usize = 600;

/// A value that was computed, or a constant that is written where it is needed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Val {
    pub(super) source: Source,
    pub(super) ty: Scalar,
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source {
    /// The value of this number, with the rest of its name.
    Named(usize, String),
    /// A constant.
    Constant(Int),
}

impl Val {
    pub(super) fn constant(value: Int, ty: Scalar) -> Self {
        Self { source: Source::Constant(value), ty }
    }

    /// A constant in the smallest type that holds it.
    pub(super) fn int(value: Int) -> Self {
        let bits = |value: &Int| (value.magnitude_bits() as u32).max(1);
        let ty = match value.is_negative() {
            true => IntType::signed(value.complement().magnitude_bits() as u32 + 1),
            false => IntType::unsigned(bits(&value)),
        };
        Self::constant(value, Scalar::Int(ty))
    }

    pub(super) fn bool(value: bool) -> Self {
        Self::constant(Int::from(i64::from(value)), Scalar::Bool)
    }

    pub(super) fn known(&self) -> Option<&Int> {
        match &self.source {
            Source::Constant(value) => Some(value),
            Source::Named(..) => None,
        }
    }

    /// The integer type. Whoever asks has an integer.
    pub(super) fn int_type(&self) -> IntType {
        self.ty.as_int().unwrap_or(IntType::unsigned(1))
    }
}

/// A list, or a part of one: a state variable and where the part begins.
#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) state: String,
    pub(super) offset: Val,
    pub(super) dims: Vec<u32>,
    pub(super) element: Scalar,
    /// Values that never change.
    pub(super) constant: Option<VariableId>,
}

impl List {
    pub(super) fn len(&self) -> u64 {
        self.dims.iter().map(|&size| u64::from(size)).product()
    }
}

/// What a local means.
#[derive(Clone, Debug)]
pub(super) enum Binding {
    Scalar(Val),
    List(List),
}

/// The locals of what is being written.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) owner: Owner,
    pub(super) locals: &'a [Local],
    pub(super) bindings: Vec<Binding>,
}

/// Whose locals they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owner {
    Initializer(usize),
    Action(usize),
    GuardOfInitializer(usize),
    Guard(usize),
    Procedure(ProcedureId),
}

/// State variables of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StateKey {
    Variable(VariableId),
    Local(Owner, LocalId),
    Fsm,
}

/// A design while it is written.
pub(super) struct Printer<'a> {
    pub(super) actor: &'a Actor,
    /// Text of the module being written.
    pub(super) out: String,
    pub(super) depth: usize,
    /// Values so far.
    pub(super) next: usize,
    pub(super) frames: Vec<Frame<'a>>,
    /// Names of the state variables that were asked for.
    pub(super) states: BTreeMap<StateKey, String>,
    /// Those that operations read or change: of a list that never changes, elements may all be known.
    pub(super) used: BTreeSet<String>,
    pub(super) problems: Vec<Diagnostic>,
}

/// A text as the value of an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Unescaped, these three would be read as blanks.
            '\t' | '\n' | '\r' => _ = write!(out, "&#{};", c as u32),
            // XML has no way to write these.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

/// The attributes that say a type.
pub(super) fn type_attributes(ty: Scalar) -> String {
    match ty {
        Scalar::Int(IntType { signed, width }) => {
            format!("typeName=\"{}\" size=\"{width}\"", if signed { "int" } else { "uint" })
        }
        _ => "typeName=\"bool\" size=\"1\"".to_owned(),
    }
}

impl<'a> Printer<'a> {
    pub(super) fn new(actor: &'a Actor) -> Self {
        Self {
            actor,
            out: String::new(),
            depth: 1,
            next: 0,
            frames: Vec::new(),
            states: BTreeMap::new(),
            used: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Says that the format has no way to express something.
    pub(super) fn unsupported(&mut self, span: Span, what: &str, help: &str) {
        let message = format!("XLIM cannot express {what}");
        // One place once: procedures are written out again and again.
        if !self.problems.iter().any(|problem| problem.message == message) {
            self.problems.push(
                Diagnostic::error("unsupported-by-target", message).at(span, "needed here").help(help.to_owned()),
            );
        }
    }

    /// Whether so much has been written that more is refused.
    pub(super) fn is_too_long(&mut self, span: Span) -> bool {
        if self.next < MAX_VALUES && self.depth < MAX_DEPTH {
            return false;
        }
        self.unsupported(
            span,
            "an actor this long: procedures are written out where they are called",
            "use another target",
        );
        true
    }

    pub(super) fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    pub(super) fn open(&mut self, text: &str) {
        self.line(text);
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    /// A fresh value.
    pub(super) fn fresh(&mut self, hint: &str, ty: Scalar) -> Val {
        self.next += 1;
        Val { source: Source::Named(self.next, hint.replace('$', "_")), ty }
    }

    /// The name of a value, after a constant was written as an operation.
    pub(super) fn name(&mut self, val: &Val) -> String {
        match &val.source {
            Source::Named(number, hint) => format!("{}${number}", escaped(hint)),
            Source::Constant(value) => {
                let literal = self.fresh("c", val.ty);
                let name = self.name(&literal);
                let (value, ty) = (value.to_string(), type_attributes(val.ty));
                self.line(&format!(
                    "<operation kind=\"$literal_Integer\" value=\"{value}\"><port dir=\"out\" source=\"{name}\" {ty}/></operation>"
                ));
                name
            }
        }
    }

    /// An operation. `attributes` begins with a blank, if there are any.
    pub(super) fn operation(
        &mut self,
        kind: &str,
        attributes: &str,
        inputs: &[&Val],
        output: Option<(&str, Scalar)>,
    ) -> Val {
        let names: Vec<String> = inputs.iter().map(|input| self.name(input)).collect();
        self.operation_on(kind, attributes, &names, output)
    }

    /// The same with the names of sources, which may be those of scalar state variables.
    pub(super) fn operation_on(
        &mut self,
        kind: &str,
        attributes: &str,
        sources: &[String],
        output: Option<(&str, Scalar)>,
    ) -> Val {
        let mut ports = String::new();
        for source in sources {
            let _ = write!(ports, "<port dir=\"in\" source=\"{source}\"/>");
        }
        let value = output.map(|(hint, ty)| self.fresh(hint, ty));
        if let Some(value) = &value {
            let (name, ty) = (self.name(value), type_attributes(value.ty));
            let _ = write!(ports, "<port dir=\"out\" source=\"{name}\" {ty}/>");
        }
        self.line(&match ports.is_empty() {
            true => format!("<operation kind=\"{kind}\"{attributes}/>"),
            false => format!("<operation kind=\"{kind}\"{attributes}>{ports}</operation>"),
        });
        value.unwrap_or_else(|| Val::bool(false))
    }

    /// A value that is defined in the module being written, after `began` values.
    fn own(&mut self, val: &Val, began: usize, hint: &str) -> String {
        match &val.source {
            Source::Named(number, _) if *number > began => self.name(val),
            Source::Named(..) => {
                let copied = self.operation("noop", "", &[val], Some((hint, val.ty)));
                self.name(&copied)
            }
            Source::Constant(_) => self.name(val),
        }
    }

    /// Writes into a text of its own.
    pub(super) fn aside<T>(&mut self, depth: usize, write: impl FnOnce(&mut Self) -> T) -> (String, T) {
        let (out, before) = (std::mem::take(&mut self.out), self.depth);
        self.depth = depth;
        let done = write(self);
        self.depth = before;
        (std::mem::replace(&mut self.out, out), done)
    }

    /// The module that tests.
    pub(super) fn test(&mut self, decide: impl FnOnce(&mut Self) -> Val) {
        let began = self.next;
        let (text, decision) = self.aside(self.depth + 1, |printer| {
            let decision = decide(printer);
            printer.own(&decision, began, "decision")
        });
        self.line(&format!("<module kind=\"test\" decision=\"{decision}\">"));
        self.out.push_str(&text);
        self.line("</module>");
    }

    /// A choice. Each branch gives as many values, which are joined.
    pub(super) fn choose(
        &mut self,
        decision: &Val,
        then: impl FnOnce(&mut Self) -> Vec<Val>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Val>,
        hints: &dyn Fn(usize) -> String,
    ) -> Vec<Val> {
        if let Some(known) = decision.known() {
            return if *known == Int::ZERO { otherwise(self) } else { then(self) };
        }
        self.open("<module kind=\"if\">");
        self.test(|_| decision.clone());
        let inner = self.depth + 1;
        let before_then = self.next;
        let (mut then_text, then_vals) = self.aside(inner, then);
        let before_else = self.next;
        let (mut else_text, else_vals) = self.aside(inner, otherwise);
        let after_else = self.next;
        let mut joined = Vec::new();
        let mut phis = Vec::new();
        for (at, (first, second)) in then_vals.iter().zip(&else_vals).enumerate() {
            if first == second {
                joined.push(first.clone());
                continue;
            }
            let hint = hints(at);
            let ty = super::arithmetic::join_types(first.ty, second.ty);
            // What a branch did not compute itself, or not in the common type, it passes on.
            let of = |printer: &mut Self, val: &Val, text: &mut String, from: usize, to: usize| {
                if val.ty == ty && matches!(val.source, Source::Named(number, _) if number > from && number <= to) {
                    return printer.name(val);
                }
                let (more, name) = printer.aside(inner, |printer| {
                    let began = printer.next;
                    let cast = printer.cast(val.clone(), ty);
                    printer.own(&cast, began, &hint)
                });
                text.push_str(&more);
                name
            };
            let first_name = of(self, first, &mut then_text, before_then, before_else);
            let second_name = of(self, second, &mut else_text, before_else, after_else);
            let out = self.fresh(&hint, ty);
            phis.push((first_name, second_name, self.name(&out), ty));
            joined.push(out);
        }
        self.open("<module kind=\"then\">");
        self.out.push_str(&then_text);
        self.close("module");
        if !else_text.is_empty() {
            self.open("<module kind=\"else\">");
            self.out.push_str(&else_text);
            self.close("module");
        }
        for (first, second, out, ty) in phis {
            self.line(&format!(
                "<PHI><port dir=\"in\" qualifier=\"then\" source=\"{first}\"/><port dir=\"in\" qualifier=\"else\" source=\"{second}\"/>\
                 <port dir=\"out\" source=\"{out}\" {}/></PHI>",
                type_attributes(ty)
            ));
        }
        self.close("module");
        joined
    }

    /// A loop with values that go from iteration to iteration. `decide` and `body` see them as they are at the
    /// beginning of an iteration; `body` gives what they are at its end. Gives what they are behind the loop.
    pub(super) fn repeat(
        &mut self,
        carried: &[(String, Val)],
        decide: impl FnOnce(&mut Self, &[Val]) -> Val,
        body: impl FnOnce(&mut Self, &[Val]) -> Vec<Val>,
    ) -> Vec<Val> {
        let first: Vec<String> = carried.iter().map(|(_, val)| self.name(val)).collect();
        let vals: Vec<Val> = carried.iter().map(|(hint, val)| self.fresh(hint, val.ty)).collect();
        self.open("<module kind=\"loop\">");
        let depth = self.depth;
        let (test, ()) = self.aside(depth, |printer| printer.test(|printer| decide(printer, &vals)));
        let began = self.next;
        let (body, second) = self.aside(depth + 1, |printer| {
            let ends = body(printer, &vals);
            let all = ends.iter().zip(carried);
            all.map(|(end, (hint, _))| printer.own(end, began, hint)).collect::<Vec<String>>()
        });
        for ((first, second), val) in first.iter().zip(&second).zip(&vals) {
            let (out, ty) = (self.name(val), type_attributes(val.ty));
            self.line(&format!(
                "<PHI><port dir=\"in\" source=\"{first}\"/><port dir=\"in\" source=\"{second}\"/><port dir=\"out\" source=\"{out}\" {ty}/></PHI>"
            ));
        }
        self.out.push_str(&test);
        self.open("<module kind=\"body\">");
        self.out.push_str(&body);
        self.close("module");
        self.close("module");
        vals
    }

    /// A loop from 0 to `n` - 1.
    pub(super) fn counted(&mut self, n: u64, body: impl FnOnce(&mut Self, &Val)) {
        if n == 1 {
            return body(self, &Val::int(Int::ZERO));
        }
        let end = Val::int(Int::from(n));
        let ty = end.ty;
        let carried = [("i".to_owned(), Val::constant(Int::ZERO, ty))];
        self.repeat(
            &carried,
            |printer, vals| printer.operation("$lt", "", &[&vals[0], &end], Some(("more", Scalar::Bool))),
            |printer, vals| {
                body(printer, &vals[0]);
                let one = Val::constant(Int::from(1i64), ty);
                vec![printer.operation("$add", "", &[&vals[0], &one], Some(("i", ty)))]
            },
        );
    }
}
