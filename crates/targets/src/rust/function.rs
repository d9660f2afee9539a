//! Printer of functions in Rust. Statements and functions.

use super::expression::{Scope, order_name};
use super::name;
use crate::locals::Declared;
use crate::vector;
use headrace_program::{
    Argument, Expr, FeatureSet, Function, FunctionId, Label, Module, NativeArgument, Place, Print, Root, Stmt, Type,
    VariableId, VariableKind, VectorStmt,
};
use std::fmt::Write as _;

struct Printer<'a> {
    scope: Scope<'a>,
    /// Which functions take the host.
    hosted: &'a [bool],
    declared: Declared<'a>,
    out: String,
    depth: usize,
}

/// A function, with its documentation.
pub(super) fn function(module: &Module, hosted: &[bool], id: FunctionId) -> String {
    let function = module.function(id);
    let scope = Scope { module, function };
    let mut printer = Printer { scope, hosted, declared: Declared::of(function), out: String::new(), depth: 1 };
    let mut parameters: Vec<String> = function
        .parameters
        .iter()
        .map(|variable| {
            let variable = &function.variables[variable.index()];
            let own = name(&variable.name);
            match variable.kind {
                VariableKind::Scalar(ty) => format!("mut {own}: {ty}"),
                VariableKind::Record(id) => format!("{own}: &mut {}", name(&module.record(id).name)),
                VariableKind::Reference { element, len, mutable } => {
                    format!("{own}: &{}[{element}; {len}]", if mutable { "mut " } else { "" })
                }
                VariableKind::Slice { element, mutable } => {
                    format!("{own}: &{}[{element}]", if mutable { "mut " } else { "" })
                }
                VariableKind::Array(ty, len) => format!("mut {own}: [{ty}; {len}]"),
                VariableKind::Vector(bits) => format!("{own}: {}", vector::register_type(bits)),
            }
        })
        .collect();
    if hosted[id.index()] {
        parameters.push("host: &mut dyn Host".to_owned());
    }
    let result = function.result.map_or(String::new(), |ty| format!(" -> {ty}"));
    let mut text = String::new();
    if !function.about.is_empty() {
        let _ = writeln!(text, "/// {}.", capitalised(&function.about));
    }
    let own = name(&function.name);
    let parameters = parameters.join(", ");
    match function.features.and_then(|features| module.features.get(features.index())) {
        None => _ = writeln!(text, "fn {own}({parameters}){result} {{"),
        Some(features) => {
            text.push_str(&for_features(function, features, &own, &parameters, &result));
            let has_registers = |function: &Function| {
                function.variables.iter().any(|variable| matches!(variable.kind, VariableKind::Vector(_)))
            };
            if has_registers(function) {
                printer.line("use core::arch::x86_64::*;");
            }
        }
    }
    for (at, variable) in function.variables.iter().enumerate() {
        let id = VariableId(at as u32);
        if function.is_parameter(id) || printer.declared.is_inner(id) {
            continue;
        }
        let own = name(&variable.name);
        match variable.kind {
            VariableKind::Scalar(ty) => printer.line(&format!("let mut {own}: {ty} = {};", zero(ty))),
            VariableKind::Array(ty, len) => printer.line(&format!("let mut {own} = [{}; {len}];", zero(ty))),
            // It is given a value before it is read.
            VariableKind::Vector(bits) => printer.line(&format!("let mut {own}: {};", vector::register_type(bits))),
            _ => {}
        }
    }
    printer.block(&function.body);
    text.push_str(&printer.out);
    text.push_str("}\n\n");
    text
}

/// Where functions for machines with features are compiled.
pub(super) const WITH_FEATURES: &str = "all(feature = \"simd\", target_arch = \"x86_64\")";

/// What stands around a function for machines with features: one that any code of the module calls behind a question for them,
/// the same where there are no such machines, and the head of the function itself.
fn for_features(function: &Function, features: &FeatureSet, own: &str, parameters: &str, result: &str) -> String {
    let arguments: Vec<String> =
        function.parameters.iter().map(|parameter| name(&function.variables[parameter.index()].name)).collect();
    let enabled: Vec<&str> = features.names.iter().map(|name| feature_name(name)).collect();
    let arguments = arguments.join(", ");
    format!(
        "#[cfg({WITH_FEATURES})]\n#[allow(unsafe_code)]\nfn {own}({parameters}){result} {{\n    \
         // SAFETY: it is called where the processor was found to have the features.\n    \
         unsafe {{ {own}_of_features({arguments}) }}\n}}\n\n\
         #[cfg(not({WITH_FEATURES}))]\nfn {own}({parameters}){result} {{\n    unreachable!()\n}}\n\n\
         #[cfg({WITH_FEATURES})]\n#[allow(unsafe_code)]\n#[target_feature(enable = \"{}\")]\n\
         fn {own}_of_features({parameters}){result} {{\n",
        enabled.join(",")
    )
}

/// What Rust calls a feature, where C compilers call it something else.
pub(super) fn feature_name(name: &str) -> &str {
    match name {
        "pclmul" => "pclmulqdq",
        _ => name,
    }
}

/// The value that variables of a type begin with.
pub(super) fn zero(ty: Type) -> String {
    match ty {
        Type::Bool => "false".to_owned(),
        Type::F32 | Type::F64 => format!("0.0{ty}"),
        _ => format!("0{ty}"),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |first| first.to_uppercase().to_string());
    (first + letters.as_str()).replace('[', "\\[").replace('\n', " ")
}

fn label(label: Label) -> String {
    format!("'loop_{}", label.0)
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(&"    ".repeat(self.depth));
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn block(&mut self, block: &[Stmt]) {
        for statement in block {
            self.statement(statement);
        }
    }

    fn braced(&mut self, head: &str, block: &[Stmt]) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
        self.line("}");
    }

    fn statement(&mut self, statement: &Stmt) {
        let scope = self.scope;
        match statement {
            Stmt::Assign(place, value) => {
                let target = match place.root {
                    Root::Variable(variable) if place.path.is_empty() => self.given(variable),
                    _ => scope.place(place),
                };
                self.line(&format!("{target} = {};", scope.expr(value)));
            }
            Stmt::Store(place, index, value) => {
                let (target, index) = (scope.place(place), scope.index(index));
                self.line(&format!("{target}[{index}] = {};", scope.expr(value)));
            }
            Stmt::StoreWord(place, index, value, order) => {
                let (target, at, n_bytes) = (scope.place(place), scope.index(index), value.ty.bytes());
                let bytes = format!("{}.to_{}_bytes()", scope.operand(value), order_name(*order));
                // What is read of something that is borrowed then, is read first.
                if scope.reads_memory(value) || scope.reads_memory(index) {
                    self.line(&format!("let (at__, word__) = ({at}, {bytes});"));
                    return self.line(&format!("{target}[at__..][..{n_bytes}].copy_from_slice(&word__);"));
                }
                self.line(&format!("{target}[{at}..][..{n_bytes}].copy_from_slice(&{bytes});"));
            }
            Stmt::Lanes { lane, count, body } => {
                let lane = name(&scope.function.variables[lane.index()].name);
                self.line(&format!("{lane} = 0;"));
                self.line(&format!("while {lane} < {count}u32 {{"));
                self.depth += 1;
                self.block(body);
                self.line(&format!("{lane} += 1;"));
                self.depth -= 1;
                self.line("}");
                self.line(&format!("{lane} = 0;"));
            }
            Stmt::Copy { target, at, source, from, count } => self.copy(target, at, source, from, count),
            Stmt::Fill { target, at, count, value } => {
                let (place, value) = (scope.place(target), scope.expr(value));
                if self.is_whole(target, at, count) {
                    return self.line(&format!("{place}.fill({value});"));
                }
                let (at, count) = (scope.index(at), scope.index(count));
                self.line(&format!("{place}[{at}..][..{count}].fill({value});"));
            }
            Stmt::If(condition, yes, no) => {
                let head = format!("if {}", scope.expr(condition));
                if no.is_empty() {
                    return self.braced(&head, yes);
                }
                self.line(&format!("{head} {{"));
                self.depth += 1;
                self.block(yes);
                self.depth -= 1;
                self.braced("} else", no);
            }
            Stmt::While(own, condition, body) => {
                let head = format!("{}while {}", self.label_of(*own, body), scope.expr(condition));
                self.braced(&head, body);
            }
            Stmt::Loop(own, body) => {
                let head = format!("{}: loop", label(*own));
                self.braced(&head, body);
            }
            Stmt::Break(to) => self.line(&format!("break {};", label(*to))),
            Stmt::Continue(to) => self.line(&format!("continue {};", label(*to))),
            Stmt::Switch(value, cases, rest) => {
                self.line(&format!("match {} {{", scope.expr(value)));
                self.depth += 1;
                for (case, block) in cases {
                    self.braced(&format!("{case} =>"), block);
                }
                self.braced("_ =>", rest);
                self.depth -= 1;
                self.line("}");
            }
            Stmt::Call { result, function, arguments } => self.call(*result, *function, arguments),
            Stmt::Vector(statement) => self.vector(statement),
            Stmt::Return(None) => self.line("return;"),
            Stmt::Return(Some(value)) => self.line(&format!("return {};", scope.expr(value))),
            Stmt::Print(print) => self.print(print),
            Stmt::Native { native, arguments, result, stopped } => {
                self.native(*native, arguments, *result, *stopped);
            }
        }
    }

    fn vector(&mut self, statement: &VectorStmt) {
        let scope = self.scope;
        let bits = |register: VariableId| vector::width(scope.function, register);
        // Elements that a register has room for.
        let count = |place: &Place, bits: u32| {
            bits / scope.module.element(scope.function, place).map_or(8, |ty| 8 * ty.bytes())
        };
        let value = match statement {
            VectorStmt::Store { place, index, from } => {
                let (bits, count) = (bits(*from), count(place, bits(*from)));
                let (place, at) = (scope.place(place), scope.index(index));
                let (store, from) = (vector::store(bits), name(&scope.function.variables[from.index()].name));
                let bytes = format!("{place}[{at}..][..{count}].as_mut_ptr().cast()");
                return self.line(&format!("unsafe {{ {store}({bytes}, {from}) }};"));
            }
            VectorStmt::Load { to, place, index } => {
                let (bits, count) = (bits(*to), count(place, bits(*to)));
                let (place, at) = (scope.place(place), scope.index(index));
                format!("unsafe {{ {}({place}[{at}..][..{count}].as_ptr().cast()) }}", vector::load(bits))
            }
            VectorStmt::Set { low, high, .. } => {
                format!("_mm_set_epi64x({} as i64, {} as i64)", scope.operand(high), scope.operand(low))
            }
            _ => vector::from_registers(scope.module, scope.function, statement, name).unwrap_or_default(),
        };
        if let Some(to) = statement.target() {
            let to = self.given(to);
            self.line(&format!("{to} = {value};"));
        }
    }

    /// The label of a loop, where something jumps to it.
    fn label_of(&self, own: Label, body: &[Stmt]) -> String {
        fn jumps(block: &[Stmt], own: Label) -> bool {
            block.iter().any(|statement| match statement {
                Stmt::Break(to) | Stmt::Continue(to) => *to == own,
                _ => statement.blocks().into_iter().any(|block| jumps(block, own)),
            })
        }
        if jumps(body, own) { format!("{}: ", label(own)) } else { String::new() }
    }

    fn length(&self, place: &Place) -> Option<u32> {
        match place.root {
            Root::Table(table) => Some(self.scope.module.tables[table.index()].values.len() as u32),
            Root::Variable(variable) if place.path.is_empty() => {
                match self.scope.function.variables[variable.index()].kind {
                    VariableKind::Array(_, len) | VariableKind::Reference { len, .. } => Some(len),
                    _ => None,
                }
            }
            Root::Variable(_) => None,
        }
    }

    fn is_whole(&self, place: &Place, at: &Expr, count: &Expr) -> bool {
        let length = self.length(place).map(u64::from);
        at.constant() == Some(0) && length.is_some() && count.constant() == length
    }

    fn copy(&mut self, target: &Place, at: &Expr, source: &Place, from: &Expr, count: &Expr) {
        let scope = self.scope;
        let (to_place, from_place) = (scope.place(target), scope.place(source));
        if count.constant() == Some(1) {
            let (at, from) = (scope.index(at), scope.index(from));
            return self.line(&format!("{to_place}[{at}] = {from_place}[{from}];"));
        }
        let is_parameter = |place: &Place| match place.root {
            Root::Variable(variable) => {
                !matches!(scope.function.variables[variable.index()].kind, VariableKind::Array(..))
            }
            Root::Table(_) => false,
        };
        if self.is_whole(target, at, count) && self.is_whole(source, from, count) && target != source {
            let star = if is_parameter(target) { "*" } else { "" };
            let other = if is_parameter(source) { "*" } else { "" };
            return self.line(&format!("{star}{to_place} = {other}{from_place};"));
        }
        // Offsets first: they may be read from what is borrowed then.
        let hoisted = [at, from, count].iter().any(|expr| scope.reads_memory(expr));
        let (mut at, mut from, mut count) = (scope.index(at), scope.index(from), scope.index(count));
        if hoisted {
            self.line("{");
            self.depth += 1;
            self.line(&format!("let (at__, from__, n__): (usize, usize, usize) = ({at}, {from}, {count});"));
            (at, from, count) = ("at__".to_owned(), "from__".to_owned(), "n__".to_owned());
        }
        if target == source {
            let end = format!("({from}) + ({count})");
            self.line(&format!("{to_place}.copy_within({from}..{end}, {at});"));
        } else {
            self.line(&format!("{to_place}[{at}..][..{count}].copy_from_slice(&{from_place}[{from}..][..{count}]);"));
        }
        if hoisted {
            self.depth -= 1;
            self.line("}");
        }
    }

    fn call(&mut self, result: Option<VariableId>, id: FunctionId, arguments: &[Argument]) {
        let scope = self.scope;
        let callee = scope.module.function(id);
        let mut texts = Vec::new();
        let mut before = Vec::new();
        for (argument, kind) in arguments.iter().zip(callee.parameter_kinds()) {
            texts.push(match argument {
                Argument::Value(value) if scope.reads_memory(value) => {
                    let own = format!("argument_{}__", before.len());
                    before.push(format!("let {own} = {};", scope.expr(value)));
                    own
                }
                Argument::Value(value) => scope.expr(value),
                Argument::Reference(place) => {
                    let mutable = match kind {
                        VariableKind::Reference { mutable, .. } | VariableKind::Slice { mutable, .. } => mutable,
                        _ => true,
                    };
                    self.reference(place, mutable)
                }
            });
        }
        if self.hosted[id.index()] {
            texts.push("host".to_owned());
        }
        let target = result.map_or(String::new(), |variable| format!("{} = ", self.given(variable)));
        let call = format!("self::{}({})", name(&callee.name), texts.join(", "));
        if before.is_empty() {
            return self.line(&format!("{target}{call};"));
        }
        self.line(&format!("{target}{{"));
        self.depth += 1;
        before.iter().for_each(|line| self.line(line));
        self.line(&call);
        self.depth -= 1;
        self.line("};");
    }

    /// A variable where it is given a value: with its declaration, where that is here.
    fn given(&mut self, variable: VariableId) -> String {
        let found = &self.scope.function.variables[variable.index()];
        let own = name(&found.name);
        match found.kind {
            VariableKind::Scalar(ty) if self.declared.here(variable) => {
                let mutable = if self.declared.is_given_once(variable) { "" } else { "mut " };
                format!("let {mutable}{own}: {ty}")
            }
            VariableKind::Vector(bits) if self.declared.here(variable) => {
                let mutable = if self.declared.is_given_once(variable) { "" } else { "mut " };
                format!("let {mutable}{own}: {}", vector::register_type(bits))
            }
            _ => own,
        }
    }

    /// What a parameter that is a reference is given.
    fn reference(&self, place: &Place, mutable: bool) -> String {
        let text = self.scope.place(place);
        let is_reference = match place.root {
            Root::Variable(variable) if place.path.is_empty() => !matches!(
                self.scope.function.variables[variable.index()].kind,
                VariableKind::Array(..) | VariableKind::Scalar(_)
            ),
            _ => false,
        };
        match (is_reference, mutable) {
            (true, _) => text,
            (false, true) => format!("&mut {text}"),
            (false, false) => format!("&{text}"),
        }
    }

    fn part(&self, place: &Place, from: &Expr, count: &Expr) -> String {
        let scope = self.scope;
        format!("{}[{}..][..{}]", scope.place(place), scope.index(from), scope.index(count))
    }

    fn print(&mut self, print: &Print) {
        let scope = self.scope;
        let text = match print {
            Print::Text(text) => format!("host.print(TEXTS[{}].as_bytes());", scope.index(text)),
            Print::Bytes(place, from, count) => format!("host.print(&{});", self.part(place, from, count)),
            Print::Real(value, format) => {
                let bits = format.bits();
                format!("host.print_real({}, {bits});", scope.expr(value))
            }
        };
        self.line(&text);
    }

    fn native(&mut self, native: u32, arguments: &[NativeArgument], result: Option<VariableId>, stopped: VariableId) {
        let scope = self.scope;
        let own = |variable: VariableId| name(&scope.function.variables[variable.index()].name);
        let items: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                NativeArgument::Value(value) => format!("Argument::Value({})", scope.expr(value)),
                NativeArgument::Bytes(place, from, count) => {
                    format!("Argument::Bytes(&mut {})", self.part(place, from, count))
                }
            })
            .collect();
        let native = &scope.module.natives[native as usize].name;
        self.line("{");
        self.depth += 1;
        self.line(&format!("let given__ = host.native({native:?}, &mut [{}]);", items.join(", ")));
        self.line(&format!("{} = given__.is_none();", own(stopped)));
        if let Some(result) = result {
            self.line(&format!("{} = given__.unwrap_or(0);", own(result)));
        }
        self.depth -= 1;
        self.line("}");
    }
}
