//! Expressions in Verilog. Operands are as wide as results, so that no rule of the language widens or cuts anything.

use super::module::named;
use headrace_rtl::{BinaryOp, Bits, CompareOp, Expr, ExprKind, Module, ShiftOp, SignalId, SignalKind, Target, UnaryOp};

/// What spells the things of a module.
pub(super) struct Printer<'a> {
    pub(super) module: &'a Module,
}

/// The range of a signal, nothing for one bit.
pub(super) fn range(width: u32) -> String {
    if width == 1 { String::new() } else { format!("[{}:0]", width - 1) }
}

/// A constant.
pub(super) fn constant(value: &Bits) -> String {
    match value.width() {
        1 => format!("1'b{}", u8::from(!value.is_zero())),
        _ => value.to_string(),
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div | BinaryOp::DivSigned => "/",
        BinaryOp::Rem | BinaryOp::RemSigned => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
    }
}

impl Printer<'_> {
    pub(super) fn name(&self, id: SignalId) -> &str {
        &self.module.signal(id).name
    }

    /// What is assigned, by name where the target has names for its values.
    pub(super) fn assigned(&self, target: &Target, value: &Expr) -> String {
        if let (ExprKind::Constant(bits), None) = (&value.kind, &target.part) {
            let register = self
                .module
                .signals
                .iter()
                .find(|signal| matches!(signal.kind, SignalKind::Register { next, .. } if next == target.signal));
            if let Some(register) = register {
                return named(register, bits);
            }
        }
        self.root(value)
    }

    /// A value of a case.
    pub(super) fn case(&self, value: &Expr, case: &Bits) -> String {
        let ExprKind::Signal(id) = value.kind else { return constant(case) };
        let own = self.module.signal(id);
        if !own.names.is_empty() {
            return named(own, case);
        }
        // The next value of a register has the names of the register.
        let register = self
            .module
            .signals
            .iter()
            .find(|signal| matches!(signal.kind, SignalKind::Register { next, .. } if next == id));
        register.map_or_else(|| constant(case), |register| named(register, case))
    }

    /// A part of a signal from a computed bit on.
    pub(super) fn part(&self, name: &str, whole: u32, at: &Expr, width: u32) -> String {
        match at.value().and_then(Bits::to_u64) {
            Some(at) if whole > 1 => select(name, at as u32, width),
            Some(_) => name.to_owned(),
            None if width == 1 => format!("{name}[{}]", self.root(at)),
            None => format!("{name}[{} +: {width}]", self.root(at)),
        }
    }

    /// An operand: in parentheses, where it has operators.
    fn expr(&self, value: &Expr) -> String {
        let text = self.root(value);
        match &value.kind {
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Shift(..)
            | ExprKind::Compare(..)
            | ExprKind::Select(..) => format!("({text})"),
            _ => text,
        }
    }

    /// An expression without parentheses around it.
    pub(super) fn root(&self, value: &Expr) -> String {
        match &value.kind {
            ExprKind::Constant(value) => constant(value),
            ExprKind::Signal(id) => self.name(*id).to_owned(),
            ExprKind::Lookup(table, index) => {
                format!("{}({})", self.module.tables[table.index()].name, self.root(index))
            }
            ExprKind::Unary(UnaryOp::Not, x) => format!("~{}", self.expr(x)),
            ExprKind::Unary(UnaryOp::Negate, x) => format!("-{}", self.expr(x)),
            ExprKind::Binary(op @ (BinaryOp::DivSigned | BinaryOp::RemSigned), a, b) => {
                format!("$signed({}) {} $signed({})", self.root(a), binary(*op), self.root(b))
            }
            ExprKind::Binary(op, a, b) => format!("{} {} {}", self.expr(a), binary(*op), self.expr(b)),
            ExprKind::Shift(ShiftOp::Left, x, count) => format!("{} << {}", self.expr(x), self.expr(count)),
            ExprKind::Shift(ShiftOp::Right, x, count) => format!("{} >> {}", self.expr(x), self.expr(count)),
            ExprKind::Shift(ShiftOp::RightSigned, x, count) => {
                format!("$signed({}) >>> {}", self.root(x), self.expr(count))
            }
            ExprKind::Compare(op, a, b) => {
                let (symbol, signed) = match op {
                    CompareOp::Equal => ("==", false),
                    CompareOp::NotEqual => ("!=", false),
                    CompareOp::Less => ("<", false),
                    CompareOp::LessEqual => ("<=", false),
                    CompareOp::LessSigned => ("<", true),
                    CompareOp::LessEqualSigned => ("<=", true),
                };
                if signed {
                    format!("$signed({}) {symbol} $signed({})", self.root(a), self.root(b))
                } else {
                    format!("{} {symbol} {}", self.expr(a), self.expr(b))
                }
            }
            ExprKind::Select(condition, a, b) => {
                format!("{} ? {} : {}", self.expr(condition), self.expr(a), self.expr(b))
            }
            ExprKind::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.root(part)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            ExprKind::Slice(x, low) => select(&self.expr(x), *low, value.width),
            ExprKind::Part(id, at) => self.part(self.name(*id), self.module.signal(*id).width, at, value.width),
            ExprKind::Extend(signed, x) => {
                let more = value.width - x.width;
                let text = self.root(x);
                if *signed {
                    let sign = if x.width == 1 { text.clone() } else { format!("{text}[{}]", x.width - 1) };
                    format!("{{{{{more}{{{sign}}}}}, {text}}}")
                } else {
                    format!("{{{}, {text}}}", constant(&Bits::zero(more)))
                }
            }
        }
    }
}

/// So many bits of a signal from one on.
fn select(name: &str, low: u32, width: u32) -> String {
    if width == 1 { format!("{name}[{low}]") } else { format!("{name}[{}:{low}]", low + width - 1) }
}
