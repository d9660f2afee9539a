//! Printer of functions in Java. Statements and functions.

use super::expression::{Scope, VARIABLES, element, offset, scalar, words, zero};
use super::parts::{Exit, Parts, chunks, is_heavy};
use super::size::Size;
use super::{name, reach};
use crate::braces::{Braces, Lines, sentence};
use crate::locals::Declared;
use headrace_program::{
    Argument, ByteOrder, Expr, FunctionId, Label, Module, NativeArgument, Place, Print, Stmt, Type, VariableId,
    VariableKind, VectorStmt,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

/// What functions work in: it is a part of the state, so that it can be cleared with it.
#[derive(Default)]
pub(super) struct Scratch {
    /// Type and length of each array.
    pub(super) arrays: Vec<(Type, u32)>,
    /// Classes of the variables of functions that are printed as several methods, with the names of their objects.
    pub(super) variables: Vec<(String, String)>,
}

impl Scratch {
    /// The name of an array.
    pub(super) fn name(at: usize) -> String {
        format!("scratch_{at}__")
    }
}

struct Printer<'a> {
    scope: Scope<'a>,
    lines: Lines,
    /// Of a function that is printed as several methods.
    parts: Option<Parts>,
}

/// What functions of a module are printed with.
pub(super) struct Functions<'a> {
    pub(super) module: &'a Module,
    /// What each works in.
    pub(super) scratch: Scratch,
    /// Bytes of code that a method should have at most.
    pub(super) most: u32,
    /// Types of reals that unsigned longs are converted to.
    pub(super) reals: RefCell<BTreeSet<&'static str>>,
}

/// A function, with its documentation. One that may be under way several times makes arrays of its own.
pub(super) fn function(all: &mut Functions<'_>, is_recursive: bool, id: FunctionId) -> String {
    let function = all.module.function(id);
    let in_parts = Size::whole(function) > all.most;
    let own = name(&function.name);
    // Shorter than they could be: HotSpot made slower code of straight methods of full length.
    let parts = in_parts.then(|| Parts::new(&own, all.most / 5));
    let declared = RefCell::new(if in_parts { Declared::none_of(function) } else { Declared::of(function) });
    let scope = Scope { module: all.module, function, in_parts, declared: &declared, reals: &all.reals };
    let mut printer = Printer { scope, lines: Lines::at(2), parts };
    // What parts keep to themselves is known when they are printed.
    printer.block(&function.body);
    let body = std::mem::replace(&mut printer.lines, Lines::at(1)).text;
    if !function.about.is_empty() {
        printer.lines.line(&format!("/** {}. */", sentence(&function.about)));
    }
    let result = function.result.map_or("void", scalar);
    let parameters: Vec<Declaration> =
        function.parameters.iter().flat_map(|&found| declarations(&scope, found)).collect();
    let listed: Vec<String> = parameters.iter().map(Declaration::to_string).collect();
    printer.lines.open(&format!("private {result} {own}({})", listed.join(", ")));
    if in_parts {
        let class = Parts::class(&own);
        let object = if is_recursive { format!("new {class}()") } else { format!("variables_{own}__") };
        printer.lines.line(&format!("{class} {VARIABLES} = {object};"));
        let mut fields: Vec<Declaration> = Vec::new();
        for variable in (0..function.variables.len()).map(|at| VariableId(at as u32)) {
            if !declared.borrow().is_inner(variable) {
                fields.extend(declarations(&scope, variable));
            }
        }
        fields.extend(function.result.map(|ty| Declaration::of_scalar(ty, "result__".to_owned())));
        let zeros = variables_class(&class, &fields);
        if !is_recursive {
            all.scratch.variables.push((class, object));
        }
        printer.parts.iter_mut().for_each(|parts| parts.text.insert_str(0, &zeros));
        for Declaration { name: parameter, .. } in &parameters {
            printer.lines.line(&format!("{VARIABLES}.{parameter} = {parameter};"));
        }
    }
    for (at, variable) in function.variables.iter().enumerate() {
        let id = VariableId(at as u32);
        if function.is_parameter(id) || declared.borrow().is_inner(id) {
            continue;
        }
        let place = scope.variable(id);
        let to = |ty: &str| if in_parts { place.clone() } else { format!("{ty} {place}") };
        match variable.kind {
            VariableKind::Scalar(ty) => printer.lines.line(&format!("{} = {};", to(scalar(ty)), zero(ty))),
            VariableKind::Array(ty, len) if is_recursive => {
                let ty = element(ty);
                printer.lines.line(&format!("{} = new {ty}[{len}];", to(&format!("{ty}[]"))));
            }
            VariableKind::Array(ty, len) => {
                let array = Scratch::name(all.scratch.arrays.len());
                printer.lines.line(&format!("{} = {array};", to(&format!("{}[]", element(ty)))));
                printer.lines.line(&format!("Arrays.fill({place}, {});", zero_element(ty)));
                all.scratch.arrays.push((ty, len));
            }
            _ => {}
        }
    }
    printer.lines.text.push_str(&body);
    if function.result.is_some() && reach::block_completes(&function.body) {
        printer.lines.line("throw new AssertionError();");
    }
    printer.lines.close("");
    printer.lines.text.push('\n');
    let parts = printer.parts.map_or(String::new(), |parts| parts.text);
    parts + &printer.lines.text
}

/// A parameter or a field.
struct Declaration {
    ty: String,
    name: String,
    /// What fields hold that hold nothing.
    zero: &'static str,
}

impl Declaration {
    fn of_scalar(ty: Type, name: String) -> Declaration {
        let zero = if ty == Type::Bool { "false" } else { "0" };
        Declaration { ty: scalar(ty).to_owned(), name, zero }
    }

    fn of_object(ty: String, name: String) -> Declaration {
        Declaration { ty, name, zero: "null" }
    }
}

impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty, self.name)
    }
}

/// Declarations of a variable: a slice has two.
fn declarations(scope: &Scope<'_>, variable: VariableId) -> Vec<Declaration> {
    let variable = &scope.function.variables[variable.index()];
    let own = name(&variable.name);
    match variable.kind {
        VariableKind::Scalar(ty) => vec![Declaration::of_scalar(ty, own)],
        VariableKind::Record(id) => vec![Declaration::of_object(name(&scope.module.record(id).name), own)],
        VariableKind::Reference { element: ty, .. } | VariableKind::Array(ty, _) => {
            vec![Declaration::of_object(format!("{}[]", element(ty)), own)]
        }
        VariableKind::Vector(_) => Vec::new(),
        VariableKind::Slice { element: ty, .. } => {
            let place = Declaration { ty: "int".to_owned(), name: offset(&variable.name), zero: "0" };
            vec![Declaration::of_object(format!("{}[]", element(ty)), own), place]
        }
    }
}

/// The class of the variables of a function that is printed as several methods.
fn variables_class(class: &str, fields: &[Declaration]) -> String {
    let mut lines = Lines::at(1);
    lines.open(&format!("private static final class {class}"));
    for field in fields {
        lines.line(&format!("{field};"));
    }
    lines.text.push('\n');
    lines.open("void clear()");
    for Declaration { name, zero, .. } in fields {
        lines.line(&format!("{name} = {zero};"));
    }
    lines.close("");
    lines.close("");
    lines.text.push('\n');
    lines.text
}

/// Zero as an element of arrays.
pub(super) fn zero_element(ty: Type) -> String {
    if element(ty) == scalar(ty) { zero(ty).to_owned() } else { format!("({}) 0", element(ty)) }
}

fn label(label: Label) -> String {
    format!("loop_{}__", label.0)
}

impl Printer<'_> {
    fn own(&self, variable: VariableId) -> String {
        self.scope.variable(variable)
    }

    /// Statements as a method of their own, and what follows from how it ends.
    fn outlined(&mut self, block: &[Stmt]) {
        let Some(parts) = &mut self.parts else { return };
        let (own, class, most) = (parts.next(), Parts::class(&parts.function), parts.most);
        let around = parts.enter();
        let here = std::mem::replace(&mut self.lines, Lines::at(1));
        self.lines.open(&format!("private int {own}({class} {VARIABLES})"));
        if Size::IN_PARTS.block(block) <= most {
            // Nothing in it is a part of its own.
            self.scope.declared.borrow_mut().within(block);
        }
        self.in_turn(block);
        let completes = reach::block_completes(block);
        if completes {
            self.lines.line("return 0;");
        }
        self.lines.close("");
        let made = std::mem::replace(&mut self.lines, here);
        let Some(parts) = &mut self.parts else { return };
        parts.text.push_str(&made.text);
        parts.text.push('\n');
        let exits = parts.leave(around);
        self.ended(&format!("{own}({VARIABLES})"), &exits, completes);
    }

    /// A call of a part, and where that goes on.
    fn ended(&mut self, call: &str, exits: &[Exit], completes: bool) {
        match exits {
            [] => {
                self.lines.line(&format!("{call};"));
                if !completes {
                    self.lines.line("throw new AssertionError();");
                }
            }
            [exit] if !completes => {
                self.lines.line(&format!("{call};"));
                self.exit(*exit);
            }
            exits => {
                self.lines.open(&format!("switch ({call})"));
                for (at, exit) in exits.iter().enumerate() {
                    let last = !completes && at + 1 == exits.len();
                    let case = if last { "default".to_owned() } else { format!("case {}", at + 1) };
                    self.lines.open(&format!("{case} ->"));
                    self.exit(*exit);
                    self.lines.close("");
                }
                if completes {
                    self.lines.line("default -> {}");
                }
                self.lines.close("");
            }
        }
    }

    fn exit(&mut self, exit: Exit) {
        match exit {
            Exit::Break(to) => self.leave(to),
            Exit::Continue(to) => self.again(to),
            Exit::Return => self.end_with(None),
        }
    }

    /// Leaves the part, where what it jumps to is outside.
    fn leaves_part(&mut self, exit: Exit) -> bool {
        let code = self.parts.as_mut().and_then(|parts| parts.code(exit));
        if let Some(code) = code {
            self.lines.line(&format!("return {code};"));
        }
        code.is_some()
    }

    /// Returns what was said, or what a part has left.
    fn end_with(&mut self, value: Option<String>) {
        let has_result = self.scope.function.result.is_some();
        let kept = format!("{VARIABLES}.result__");
        if let (Some(value), true) = (&value, self.parts.as_ref().is_some_and(Parts::is_inside)) {
            self.lines.line(&format!("{kept} = {value};"));
        }
        if !self.leaves_part(Exit::Return) {
            let value = value.or_else(|| has_result.then_some(kept));
            self.lines.line(&value.map_or("return;".to_owned(), |value| format!("return {value};")));
        }
    }

    /// An array, where a part of it begins, and how many elements that has.
    fn part(&self, place: &Place, from: &Expr, count: &Expr) -> String {
        let scope = self.scope;
        format!("{}, {}, {}", scope.place(place), scope.index(place, from), scope.expr(count))
    }

    fn is_slice(&self, place: &Place) -> bool {
        let kind = match place.root {
            headrace_program::Root::Variable(variable) if place.path.is_empty() => {
                Some(self.scope.function.variables[variable.index()].kind)
            }
            _ => None,
        };
        matches!(kind, Some(VariableKind::Slice { .. }))
    }
}

impl Braces for Printer<'_> {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn place(&self, place: &Place) -> String {
        self.scope.place(place)
    }

    fn given(&mut self, variable: VariableId, _value: Option<&Expr>) -> String {
        // Names are found by what is declared, so that it is not kept for itself any longer than this.
        let here = self.scope.declared.borrow_mut().here(variable);
        if here {
            declarations(&self.scope, variable).iter().map(Declaration::to_string).collect()
        } else {
            self.own(variable)
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        self.scope.expr(expr)
    }

    fn goes_on(&self, statement: &Stmt) -> bool {
        reach::completes(statement)
    }

    fn block(&mut self, block: &[Stmt]) {
        let Some(parts) = &self.parts else { return self.in_turn(block) };
        let heavy = parts.heavy.last().is_some_and(|heavy| *heavy);
        for chunk in chunks(block, parts.most, heavy) {
            if chunk.apart {
                self.outlined(chunk.statements);
            } else {
                self.in_turn(chunk.statements);
            }
            if !reach::block_completes(chunk.statements) {
                break;
            }
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        let own = match statement {
            Stmt::While(own, ..) | Stmt::Loop(own, _) => Some(*own),
            _ => None,
        };
        if let Some(parts) = &mut self.parts {
            parts.heavy.push(is_heavy(statement, parts.most));
            parts.loops.extend(own);
        }
        self.plain(statement);
        if let Some(parts) = &mut self.parts {
            parts.heavy.pop();
            own.and_then(|_| parts.loops.pop());
        }
    }

    fn end(&mut self, value: Option<&Expr>) {
        let value = value.map(|value| self.expr(value));
        self.end_with(value);
    }

    fn store(&mut self, target: &Place, index: &Expr, value: &Expr) {
        let text = format!("{} = {};", self.scope.raw(target, index), self.scope.stored(value));
        self.lines.line(&text);
    }

    fn store_word(&mut self, target: &Place, index: &Expr, value: &Expr, order: ByteOrder) {
        let scope = self.scope;
        let (words, place, index) = (words(value.ty, order), scope.place(target), scope.index(target, index));
        self.lines.line(&format!("{words}.set({place}, {index}, {});", scope.expr(value)));
    }

    fn lanes(&mut self, lane: VariableId, count: u32, body: &[Stmt]) {
        let lane = self.own(lane);
        self.braced(&format!("for ({lane} = 0; {lane} < {count}; {lane}++)"), body);
        self.lines.line(&format!("{lane} = 0;"));
    }

    fn copy(&mut self, (target, at): (&Place, &Expr), (source, from): (&Place, &Expr), count: &Expr) {
        let scope = self.scope;
        let text = if count.constant() == Some(1) {
            format!("{} = {};", scope.raw(target, at), scope.raw(source, from))
        } else {
            format!(
                "System.arraycopy({}, {}, {});",
                part(scope, source, from),
                part(scope, target, at),
                scope.expr(count)
            )
        };
        self.lines.line(&text);
    }

    fn fill(&mut self, (target, at): (&Place, &Expr), count: &Expr, value: &Expr) {
        let scope = self.scope;
        let first = scope.index(target, at);
        let end = if first == "0" { scope.expr(count) } else { format!("{first} + {}", scope.operand(count)) };
        let text = format!("Arrays.fill({}, {first}, {end}, {});", scope.place(target), cast(scope, value));
        self.lines.line(&text);
    }

    fn repeat(&mut self, own: Label, condition: Option<&Expr>, body: &[Stmt]) {
        let label = if jumps(body, own) { format!("{}: ", label(own)) } else { String::new() };
        match condition {
            Some(condition) if condition.constant() == Some(0) => {}
            Some(condition) if !reach::is_fixed(condition) => {
                let head = format!("{label}while ({})", self.expr(condition));
                self.braced(&head, body);
            }
            condition => {
                self.lines.open(&format!("{label}for (;;)"));
                if let Some(condition) = condition.filter(|condition| condition.constant().is_none()) {
                    let text = format!("if (!({})) {{", self.expr(condition));
                    self.lines.line(&text);
                    self.lines.line("    break;");
                    self.lines.line("}");
                }
                self.block(body);
                self.lines.close("");
            }
        }
    }

    fn leave(&mut self, to: Label) {
        if !self.leaves_part(Exit::Break(to)) {
            self.lines.line(&format!("break {};", label(to)));
        }
    }

    fn again(&mut self, to: Label) {
        if !self.leaves_part(Exit::Continue(to)) {
            self.lines.line(&format!("continue {};", label(to)));
        }
    }

    fn switch(&mut self, value: &Expr, cases: &[(u32, Vec<Stmt>)], rest: &[Stmt]) {
        let head = format!("switch ({})", self.expr(value));
        self.lines.open(&head);
        for (case, block) in cases {
            self.braced(&format!("case {} ->", *case as i32), block);
        }
        self.braced("default ->", rest);
        self.lines.close("");
    }

    fn call(&mut self, result: Option<VariableId>, id: FunctionId, arguments: &[Argument]) {
        let callee = self.scope.module.function(id);
        let mut texts = Vec::new();
        for argument in arguments {
            match argument {
                Argument::Value(value) => texts.push(self.expr(value)),
                Argument::Reference(place) if self.is_slice(place) => {
                    texts.extend([self.scope.place(place), self.scope.index(place, &Expr::u32(0))]);
                }
                Argument::Reference(place) => texts.push(self.scope.place(place)),
            }
        }
        let target = result.map_or(String::new(), |variable| format!("{} = ", self.given(variable, None)));
        self.lines.line(&format!("{target}{}({});", name(&callee.name), texts.join(", ")));
    }

    fn vector(&mut self, _: &VectorStmt) {}

    fn print(&mut self, print: &Print) {
        let text = match print {
            Print::Text(text) => {
                let text = format!("TEXTS__[{}]", self.expr(text));
                format!("host__.print({text}, 0, {text}.length);")
            }
            Print::Bytes(place, from, count) => format!("host__.print({});", self.part(place, from, count)),
            Print::Real(value, format) => {
                let bits = format.bits();
                format!("host__.printReal({}, {bits});", self.expr(value))
            }
        };
        self.lines.line(&text);
    }

    fn native(&mut self, native: u32, arguments: &[NativeArgument], result: Option<VariableId>, stopped: VariableId) {
        let items: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                NativeArgument::Value(value) => format!("new Host.Value({})", self.expr(value)),
                NativeArgument::Bytes(place, from, count) => {
                    format!("new Host.Bytes({})", self.part(place, from, count))
                }
            })
            .collect();
        let native = super::literal(&self.scope.module.natives[native as usize].name);
        self.lines.open("");
        self.lines.line(&format!(
            "OptionalLong given__ = host__.call({native}, new Host.Argument[] {{{}}});",
            items.join(", ")
        ));
        let stopped = self.own(stopped);
        self.lines.line(&format!("{stopped} = given__.isEmpty();"));
        if let Some(result) = result {
            let result = self.own(result);
            self.lines.line(&format!("{result} = given__.orElse(0L);"));
        }
        self.lines.close("");
    }
}

fn part(scope: Scope<'_>, place: &Place, at: &Expr) -> String {
    format!("{}, {}", scope.place(place), scope.index(place, at))
}

/// A value as methods of the library take it that are chosen by the type of the element.
fn cast(scope: Scope<'_>, value: &Expr) -> String {
    let narrow = element(value.ty);
    if narrow == scalar(value.ty) { scope.expr(value) } else { format!("({narrow}) {}", scope.operand(value)) }
}

/// Whether a statement jumps to the loop.
fn jumps(block: &[Stmt], own: Label) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Break(to) | Stmt::Continue(to) => *to == own,
        _ => statement.blocks().into_iter().any(|block| jumps(block, own)),
    })
}
