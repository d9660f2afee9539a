//! Printer of functions in C++. Statements and functions.

use super::expression::{Scope, ctype};
use super::name;
use crate::braces::{Braces, Lines, sentence};
use crate::locals::Declared;
use crate::vector;
use headrace_program::{
    Argument, ByteOrder, Expr, ExprKind, FunctionId, Label, Module, NativeArgument, Place, Print, RecordId, Root, Stmt,
    VariableId, VariableKind, VectorStmt,
};

/// Something that `break` leaves.
enum Around {
    Loop {
        label: Label,
        /// Tells loops of one label apart.
        number: u32,
        /// Something jumps to its end from further inside.
        ends: bool,
    },
    Switch,
}

struct Printer<'a> {
    scope: Scope<'a>,
    /// Which functions take the host.
    hosted: &'a [bool],
    /// The class around the functions.
    class: &'a str,
    lines: Lines,
    around: Vec<Around>,
    n_loops: u32,
    declared: Declared<'a>,
}

/// A function of a class, with its documentation.
pub(super) fn function(module: &Module, hosted: &[bool], class: &str, id: FunctionId) -> String {
    let function = module.function(id);
    let scope = Scope { module, function };
    let declared = Declared::of(function);
    let mut printer = Printer { scope, hosted, class, lines: Lines::at(1), around: Vec::new(), n_loops: 0, declared };
    let mut parameters: Vec<String> = Vec::new();
    for &parameter in &function.parameters {
        let variable = &function.variables[parameter.index()];
        let own = name(&variable.name);
        parameters.push(match variable.kind {
            VariableKind::Scalar(ty) => format!("{} {own}", ctype(ty)),
            VariableKind::Record(id) => format!("{}& {own}", printer.record(id)),
            VariableKind::Reference { element, len, mutable } => {
                format!("{}{}& {own}", if mutable { "" } else { "const " }, array(element, len))
            }
            VariableKind::Array(element, len) => format!("{} {own}", array(element, len)),
            VariableKind::Vector(bits) => format!("{} {own}", vector::register_type(bits)),
            VariableKind::Slice { element, mutable } => {
                format!("std::span<{}{}> {own}", if mutable { "" } else { "const " }, ctype(element))
            }
        });
    }
    if hosted[id.index()] {
        parameters.push("Host& host_x".to_owned());
    }
    if !function.about.is_empty() {
        printer.lines.line(&format!("/// {}.", sentence(&function.about)));
    }
    let result = function.result.map_or("void", ctype);
    let head = format!("{result} {}({})", name(&function.name), parameters.join(", "));
    let features = function.features.and_then(|features| module.features.get(features.index()));
    match features {
        None => printer.lines.open(&format!("static {head}")),
        Some(features) => {
            printer.lines.line(WITH_FEATURES);
            printer.lines.open(&format!("[[gnu::target(\"{}\")]] static {head}", features.names.join(",")));
        }
    }
    for (at, variable) in function.variables.iter().enumerate() {
        let id = VariableId(at as u32);
        if function.is_parameter(id) || printer.declared.is_inner(id) {
            continue;
        }
        let own = name(&variable.name);
        match variable.kind {
            VariableKind::Scalar(ty) => printer.lines.line(&format!("{} {own}{{}};", ctype(ty))),
            VariableKind::Array(ty, len) => printer.lines.line(&format!("{} {own}{{}};", array(ty, len))),
            // It is given a value before it is read.
            VariableKind::Vector(bits) => printer.lines.line(&format!("{} {own};", vector::register_type(bits))),
            _ => {}
        }
    }
    printer.block(&function.body);
    printer.lines.close("");
    if features.is_some() {
        printer.lines.line("#else");
        printer.lines.line(&format!("static {head} {{}}"));
        printer.lines.line("#endif");
    }
    printer.lines.text.push('\n');
    printer.lines.text
}

/// Where functions for machines with features are compiled: compilers that have a function of their own for each set of features.
const WITH_FEATURES: &str = "#if defined(HEADRACE_SIMD)";

/// The type of an array.
pub(super) fn array(element: headrace_program::Type, len: u32) -> String {
    format!("std::array<{}, {len}>", ctype(element))
}

impl Printer<'_> {
    fn own(&self, variable: VariableId) -> String {
        name(&self.scope.function.variables[variable.index()].name)
    }

    fn is_hidden(&self, text: &str) -> bool {
        self.scope.function.variables.iter().any(|variable| variable.name == text)
    }

    /// The type of a record, which a variable of its name may hide.
    fn record(&self, id: RecordId) -> String {
        let text = &self.scope.module.record(id).name;
        if self.is_hidden(text) { format!("struct {}", name(text)) } else { name(text) }
    }

    fn loop_around(&mut self, to: Label) -> Option<(bool, usize)> {
        let at = self.around.iter().rposition(|around| matches!(around, Around::Loop { label, .. } if *label == to))?;
        let no_loop_between = self.around[at + 1..].iter().all(|around| matches!(around, Around::Switch));
        Some((no_loop_between, at))
    }

    fn part(&self, place: &Place, from: &Expr, count: &Expr) -> String {
        format!("{{{}, {}}}", self.scope.pointer(place, from), self.scope.expr(count))
    }
}

/// Whether something in a block goes on with the loop of a label from another loop in it, which it stands in already where
/// it is `inside`.
fn jumps_on(block: &[Stmt], to: Label, inside: bool) -> bool {
    block.iter().any(|statement| match statement {
        Stmt::Continue(label) => inside && *label == to,
        Stmt::If(_, yes, no) => jumps_on(yes, to, inside) || jumps_on(no, to, inside),
        Stmt::Switch(_, cases, rest) => {
            cases.iter().any(|(_, case)| jumps_on(case, to, inside)) || jumps_on(rest, to, inside)
        }
        // A loop of the same label is what is meant in it.
        Stmt::While(own, _, body) | Stmt::Loop(own, body) => *own != to && jumps_on(body, to, true),
        _ => false,
    })
}

/// Whether compilers know the value of an expression.
fn is_known(expr: &Expr) -> bool {
    let is_table = |place: &Place| matches!(place.root, Root::Table(_));
    let here = match &expr.kind {
        ExprKind::Read(_) => false,
        ExprKind::Element(place, _) | ExprKind::Word(place, ..) => is_table(place),
        _ => true,
    };
    here && expr.parts().into_iter().all(is_known)
}

impl Braces for Printer<'_> {
    fn lines(&mut self) -> &mut Lines {
        &mut self.lines
    }

    fn place(&self, place: &Place) -> String {
        self.scope.place(place)
    }

    fn given(&mut self, variable: VariableId, value: Option<&Expr>) -> String {
        let own = self.own(variable);
        match self.scope.function.variables[variable.index()].kind {
            VariableKind::Scalar(ty) if self.declared.here(variable) => {
                // gcc computes with signed constants where they are read, and warns of what its own conversions lose.
                let is_known = ty.is_signed() && value.is_some_and(is_known);
                let constant = if self.declared.is_given_once(variable) && !is_known { "const " } else { "" };
                format!("{constant}{} {own}", ctype(ty))
            }
            VariableKind::Vector(bits) if self.declared.here(variable) => {
                let constant = if self.declared.is_given_once(variable) { "const " } else { "" };
                format!("{constant}{} {own}", vector::register_type(bits))
            }
            _ => own,
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        self.scope.expr(expr)
    }

    fn store(&mut self, target: &Place, index: &Expr, value: &Expr) {
        let text = format!("{} = {};", self.scope.element(target, index), self.scope.expr(value));
        self.lines.line(&text);
    }

    fn store_word(&mut self, target: &Place, index: &Expr, value: &Expr, order: ByteOrder) {
        let (to, value) = (self.scope.pointer(target, index), self.scope.expr(value));
        self.lines.line(&format!("store_{}({to}, {value});", order.name()));
    }

    fn lanes(&mut self, lane: VariableId, count: u32, body: &[Stmt]) {
        let lane = self.own(lane);
        self.braced(&format!("for ({lane} = 0; {lane} < {count}u; {lane}++)"), body);
        self.lines.line(&format!("{lane} = 0;"));
    }

    fn copy(&mut self, (target, at): (&Place, &Expr), (source, from): (&Place, &Expr), count: &Expr) {
        let scope = self.scope;
        let text = if count.constant() == Some(1) {
            format!("{} = {};", scope.element(target, at), scope.element(source, from))
        } else {
            let (to, from) = (scope.pointer(target, at), scope.pointer(source, from));
            format!("copy_elements({to}, {from}, {});", scope.expr(count))
        };
        self.lines.line(&text);
    }

    fn fill(&mut self, (target, at): (&Place, &Expr), count: &Expr, value: &Expr) {
        let scope = self.scope;
        let text = format!("std::fill_n({}, {}, {});", scope.pointer(target, at), scope.expr(count), scope.expr(value));
        self.lines.line(&text);
    }

    fn repeat(&mut self, own: Label, condition: Option<&Expr>, body: &[Stmt]) {
        let number = self.n_loops;
        self.n_loops += 1;
        let head = condition.map_or("for (;;)".to_owned(), |condition| format!("while ({})", self.expr(condition)));
        self.lines.open(&head);
        self.around.push(Around::Loop { label: own, number, ends: false });
        let nexts = jumps_on(body, own, false);
        if nexts {
            // No jump goes past a declaration: those of the body are in a block of their own.
            self.lines.open("");
        }
        self.block(body);
        let Some(Around::Loop { ends, .. }) = self.around.pop() else { return };
        if nexts {
            self.lines.close("");
            self.lines.line(&format!("next_{number}_x:;"));
        }
        self.lines.close("");
        if ends {
            self.lines.line(&format!("end_{number}_x:;"));
        }
    }

    fn leave(&mut self, to: Label) {
        let Some((_, at)) = self.loop_around(to) else { return };
        let innermost = at + 1 == self.around.len();
        let Some(Around::Loop { number, ends, .. }) = self.around.get_mut(at) else { return };
        *ends |= !innermost;
        let text = if innermost { "break;".to_owned() } else { format!("goto end_{number}_x;") };
        self.lines.line(&text);
    }

    fn again(&mut self, to: Label) {
        let Some((innermost, at)) = self.loop_around(to) else { return };
        let Some(Around::Loop { number, .. }) = self.around.get(at) else { return };
        let text = if innermost { "continue;".to_owned() } else { format!("goto next_{number}_x;") };
        self.lines.line(&text);
    }

    fn switch(&mut self, value: &Expr, cases: &[(u32, Vec<Stmt>)], rest: &[Stmt]) {
        let head = format!("switch ({})", self.expr(value));
        self.lines.open(&head);
        self.around.push(Around::Switch);
        for (case, block) in cases {
            self.lines.open(&format!("case {case}u:"));
            self.block(block);
            self.lines.line("break;");
            self.lines.close("");
        }
        self.lines.open("default:");
        self.block(rest);
        self.lines.line("break;");
        self.lines.close("");
        self.around.pop();
        self.lines.close("");
    }

    fn call(&mut self, result: Option<VariableId>, id: FunctionId, arguments: &[Argument]) {
        let callee = &self.scope.module.function(id).name;
        let mut texts: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Value(value) => self.expr(value),
                Argument::Reference(place) => self.scope.place(place),
            })
            .collect();
        if self.hosted[id.index()] {
            texts.push("host_x".to_owned());
        }
        let target = result.map_or(String::new(), |variable| format!("{} = ", self.given(variable, None)));
        let class = if self.is_hidden(callee) { format!("{}::", self.class) } else { String::new() };
        self.lines.line(&format!("{target}{class}{}({});", name(callee), texts.join(", ")));
    }

    fn vector(&mut self, statement: &VectorStmt) {
        let scope = self.scope;
        let bits = |register: VariableId| vector::width(scope.function, register);
        let value = match statement {
            VectorStmt::Store { place, index, from } => {
                let (ty, at) = (vector::register_type(bits(*from)), scope.pointer(place, index));
                let (store, from) = (vector::store(bits(*from)), self.own(*from));
                return self.lines.line(&format!("{store}(reinterpret_cast<{ty}*>({at}), {from});"));
            }
            VectorStmt::Load { to, place, index } => {
                let (ty, at) = (vector::register_type(bits(*to)), scope.pointer(place, index));
                format!("{}(reinterpret_cast<const {ty}*>({at}))", vector::load(bits(*to)))
            }
            VectorStmt::Set { low, high, .. } => {
                let word = |word: &Expr| format!("static_cast<std::int64_t>({})", scope.expr(word));
                format!("_mm_set_epi64x({}, {})", word(high), word(low))
            }
            _ => vector::from_registers(scope.module, scope.function, statement, name).unwrap_or_default(),
        };
        if let Some(to) = statement.target() {
            let to = self.given(to, None);
            self.lines.line(&format!("{to} = {value};"));
        }
    }

    fn print(&mut self, print: &Print) {
        let scope = self.scope;
        let text = match print {
            Print::Text(text) => format!("host_x.print(bytes_of(TEXTS_x[{}]));", scope.expr(text)),
            Print::Bytes(place, from, count) => format!("host_x.print({});", self.part(place, from, count)),
            Print::Real(value, format) => {
                let bits = format.bits();
                format!("host_x.print_real({}, {bits});", scope.expr(value))
            }
        };
        self.lines.line(&text);
    }

    fn native(&mut self, native: u32, arguments: &[NativeArgument], result: Option<VariableId>, stopped: VariableId) {
        let items: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                NativeArgument::Value(value) => format!("Argument{{{}}}", self.expr(value)),
                NativeArgument::Bytes(place, from, count) => {
                    format!("Argument{{std::span<std::uint8_t>{}}}", self.part(place, from, count))
                }
            })
            .collect();
        let native = super::literal(&self.scope.module.natives[native as usize].name);
        self.lines.open("");
        self.lines.line(&format!("std::array<Argument, {}> arguments_x{{{}}};", items.len(), items.join(", ")));
        self.lines.line(&format!("const std::optional<std::int64_t> given_x = host_x.native({native}, arguments_x);"));
        let stopped = self.own(stopped);
        self.lines.line(&format!("{stopped} = !given_x.has_value();"));
        if let Some(result) = result {
            let result = self.own(result);
            self.lines.line(&format!("{result} = given_x.value_or(0);"));
        }
        self.lines.close("");
    }
}
