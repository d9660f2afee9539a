//! The readable form of a module: for people, who compare what was lowered with what was printed.

use crate::{
    Argument, Expr, ExprKind, FeatureSetId, FieldType, Function, Module, NativeArgument, Place, Print, Root, Stmt,
    Type, UnaryOp, VariableKind, VectorOperand, VectorStmt,
};
use std::fmt::Write as _;

/// The whole module as text.
pub fn text(module: &Module) -> String {
    let mut out = format!("module {}\n", module.name);
    for table in &module.tables {
        let values: Vec<String> = table.values.iter().map(|&value| constant(value, table.element)).collect();
        let _ =
            write!(out, "\ntable {}: [{}; {}] = {}\n", table.name, table.element, table.values.len(), values.join(" "));
    }
    for (at, text) in module.texts.iter().enumerate() {
        let _ = write!(out, "\ntext {at} = {text:?}\n");
    }
    for record in &module.records {
        let _ = write!(out, "\nrecord {} # {}\n", record.name, record.about);
        for field in &record.fields {
            let ty = match field.ty {
                FieldType::Scalar(ty) => ty.to_string(),
                FieldType::Array(ty, len) => format!("[{ty}; {len}]"),
                FieldType::Record(id) => module.record(id).name.clone(),
            };
            let _ = writeln!(out, "    {}: {ty}", field.name);
        }
    }
    for function in &module.functions {
        out.push_str(&function_text(module, function));
    }
    out
}

/// One function.
fn function_text(module: &Module, function: &Function) -> String {
    let mut printer = Printer { module, function, out: String::new(), depth: 1 };
    let kind = |kind: VariableKind| match kind {
        VariableKind::Scalar(ty) => ty.to_string(),
        VariableKind::Array(ty, len) => format!("[{ty}; {len}]"),
        VariableKind::Vector(bits) => format!("v{bits}"),
        VariableKind::Record(id) => format!("&{}", module.record(id).name),
        VariableKind::Reference { element, len, mutable } => {
            format!("&{}[{element}; {len}]", if mutable { "mut " } else { "" })
        }
        VariableKind::Slice { element, mutable } => format!("&{}[{element}]", if mutable { "mut " } else { "" }),
    };
    let parameters: Vec<String> = function
        .parameters
        .iter()
        .map(|variable| &function.variables[variable.index()])
        .map(|variable| format!("{}: {}", variable.name, kind(variable.kind)))
        .collect();
    let result = function.result.map_or(String::new(), |ty| format!(" -> {ty}"));
    let needs =
        function.features.map_or(String::new(), |features| format!(" needs {}", feature_names(module, features)));
    let _ = write!(
        printer.out,
        "\nfunction {}({}){result}{needs} # {}\n",
        function.name,
        parameters.join(", "),
        function.about
    );
    for (at, variable) in function.variables.iter().enumerate() {
        if !function.parameters.iter().any(|parameter| parameter.index() == at) {
            let _ = writeln!(printer.out, "    var {}: {}", variable.name, kind(variable.kind));
        }
    }
    printer.block(&function.body);
    printer.out
}

fn feature_names(module: &Module, features: FeatureSetId) -> String {
    module.features.get(features.index()).map_or("?".to_owned(), |features| features.names.join("+"))
}

fn constant(value: u64, ty: Type) -> String {
    match ty {
        Type::Bool => (value != 0).to_string(),
        Type::F64 => format!("{:?}", f64::from_bits(value)),
        Type::F32 => format!("{:?}", f32::from_bits(value as u32)),
        ty if ty.is_signed() => (value as i64).to_string(),
        _ if value > 1024 => format!("{value:#x}"),
        _ => value.to_string(),
    }
}

struct Printer<'a> {
    module: &'a Module,
    function: &'a Function,
    out: String,
    depth: usize,
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

    fn inside(&mut self, block: &[Stmt]) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }

    fn place(&self, place: &Place) -> String {
        let root = match place.root {
            Root::Table(table) => &self.module.tables[table.index()].name,
            Root::Variable(variable) => self.name(variable),
        };
        let fields = self.module.fields(self.function, place).into_iter();
        fields.fold(root.to_owned(), |text, field| format!("{text}.{}", field.map_or("?", |field| &field.name)))
    }

    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Constant(value) => constant(*value, expr.ty),
            ExprKind::Read(place) => self.place(place),
            ExprKind::Element(place, index) => format!("{}[{}]", self.place(place), self.expr(index)),
            ExprKind::Word(place, index, order) => {
                format!("{}.{}({}[{}..])", expr.ty, order.name(), self.place(place), self.expr(index))
            }
            ExprKind::Unary(UnaryOp::Negate, x) => format!("-{}", self.operand(x)),
            ExprKind::Unary(UnaryOp::Not, x) => format!("!{}", self.operand(x)),
            ExprKind::Binary(op, a, b) => format!("{} {} {}", self.operand(a), op.symbol(), self.operand(b)),
            ExprKind::Compare(op, a, b) => format!("{} {} {}", self.operand(a), op.symbol(), self.operand(b)),
            ExprKind::Convert(x) => format!("{}({})", expr.ty, self.expr(x)),
            ExprKind::Reinterpret(x) => format!("{}.bits({})", expr.ty, self.expr(x)),
            ExprKind::Has(features) => format!("has {}", feature_names(self.module, *features)),
            ExprKind::Select(c, a, b) => {
                format!("if {} then {} else {} end", self.expr(c), self.expr(a), self.expr(b))
            }
        }
    }

    fn operand(&self, expr: &Expr) -> String {
        match expr.kind {
            ExprKind::Binary(..) | ExprKind::Compare(..) => format!("({})", self.expr(expr)),
            _ => self.expr(expr),
        }
    }

    fn name(&self, variable: crate::VariableId) -> &str {
        &self.function.variables[variable.index()].name
    }

    fn vector(&mut self, statement: &VectorStmt) {
        let text = match statement {
            VectorStmt::Load { to, place, index } => {
                format!("{} = {}[{}..]", self.name(*to), self.place(place), self.expr(index))
            }
            VectorStmt::Store { place, index, from } => {
                format!("{}[{}..] = {}", self.place(place), self.expr(index), self.name(*from))
            }
            VectorStmt::Set { to, low, high } => {
                format!("{} = v128({}, {})", self.name(*to), self.expr(low), self.expr(high))
            }
            VectorStmt::Repeat { to, from } => format!("{} = repeat {}", self.name(*to), self.name(*from)),
            VectorStmt::Part { to, from, part } => format!("{} = part {part} of {}", self.name(*to), self.name(*from)),
            VectorStmt::Move { to, from } => format!("{} = {}", self.name(*to), self.name(*from)),
            VectorStmt::Apply { to, instruction, operands } => {
                let operands: Vec<String> = operands
                    .iter()
                    .map(|operand| match operand {
                        VectorOperand::Register(register) => self.name(*register).to_owned(),
                        VectorOperand::Immediate(value) => value.to_string(),
                    })
                    .collect();
                let name = self.module.instructions.get(*instruction as usize).map_or("?", |found| &found.name);
                format!("{} = {name}({})", self.name(*to), operands.join(", "))
            }
        };
        self.line(&text);
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Assign(place, value) => {
                let text = format!("{} = {}", self.place(place), self.expr(value));
                self.line(&text);
            }
            Stmt::Store(place, index, value) => {
                let text = format!("{}[{}] = {}", self.place(place), self.expr(index), self.expr(value));
                self.line(&text);
            }
            Stmt::StoreWord(place, index, value, order) => {
                let (place, index) = (self.place(place), self.expr(index));
                let text = format!("{place}[{index}..] = {}.{}({})", value.ty, order.name(), self.expr(value));
                self.line(&text);
            }
            Stmt::Lanes { lane, count, body } => {
                let text = format!("for each {} below {count}", self.name(*lane));
                self.line(&text);
                self.inside(body);
            }
            Stmt::Copy { target, at, source, from, count } => {
                let text = format!(
                    "{}[{}..] = {}[{}..] * {}",
                    self.place(target),
                    self.expr(at),
                    self.place(source),
                    self.expr(from),
                    self.expr(count)
                );
                self.line(&text);
            }
            Stmt::Fill { target, at, count, value } => {
                let text = format!(
                    "{}[{}..] = {} * {}",
                    self.place(target),
                    self.expr(at),
                    self.expr(value),
                    self.expr(count)
                );
                self.line(&text);
            }
            Stmt::If(condition, yes, no) => {
                let text = format!("if {}", self.expr(condition));
                self.line(&text);
                self.inside(yes);
                if !no.is_empty() {
                    self.line("else");
                    self.inside(no);
                }
            }
            Stmt::While(label, condition, body) => {
                let text = format!("while {} # loop {}", self.expr(condition), label.0);
                self.line(&text);
                self.inside(body);
            }
            Stmt::Loop(label, body) => {
                self.line(&format!("loop # {}", label.0));
                self.inside(body);
            }
            Stmt::Break(label) => self.line(&format!("break {}", label.0)),
            Stmt::Continue(label) => self.line(&format!("continue {}", label.0)),
            Stmt::Switch(value, cases, rest) => {
                let text = format!("switch {}", self.expr(value));
                self.line(&text);
                for (case, block) in cases {
                    self.line(&format!("case {case}"));
                    self.inside(block);
                }
                self.line("default");
                self.inside(rest);
            }
            Stmt::Call { result, function, arguments } => {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|argument| match argument {
                        Argument::Value(value) => self.expr(value),
                        Argument::Reference(place) => format!("&{}", self.place(place)),
                    })
                    .collect();
                let result = result.map_or(String::new(), |result| format!("{} = ", self.name(result)));
                let name = &self.module.function(*function).name;
                self.line(&format!("{result}{name}({})", arguments.join(", ")));
            }
            Stmt::Vector(statement) => self.vector(statement),
            Stmt::Return(None) => self.line("return"),
            Stmt::Return(Some(value)) => {
                let text = format!("return {}", self.expr(value));
                self.line(&text);
            }
            Stmt::Print(print) => {
                let text = match print {
                    Print::Text(text) => format!("print text {}", self.expr(text)),
                    Print::Bytes(place, from, count) => {
                        format!("print {}[{}..] * {}", self.place(place), self.expr(from), self.expr(count))
                    }
                    Print::Real(value, format) => format!("print real {} as {format:?}", self.expr(value)),
                };
                self.line(&text);
            }
            Stmt::Native { native, arguments, result, stopped } => {
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|argument| match argument {
                        NativeArgument::Value(value) => self.expr(value),
                        NativeArgument::Bytes(place, from, count) => {
                            format!("{}[{}..] * {}", self.place(place), self.expr(from), self.expr(count))
                        }
                    })
                    .collect();
                let result = result.map_or(String::new(), |result| format!("{}, ", self.name(result)));
                let name = &self.module.natives[*native as usize].name;
                let text = format!("{result}{} = native {name}({})", self.name(*stopped), arguments.join(", "));
                self.line(&text);
            }
        }
    }
}
