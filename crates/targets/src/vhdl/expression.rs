//! Expressions in VHDL: one bit is a `std_logic`, several are an `unsigned`, whatever the operators take them for.

use super::names::Names;
use headrace_rtl::{BinaryOp, Bits, CompareOp, Expr, ExprKind, Module, ShiftOp, Signal, SignalId, SignalKind, UnaryOp};
use std::collections::HashSet;

/// What spells the things of a module.
pub(super) struct Printer<'a> {
    pub(super) module: &'a Module,
    pub(super) names: Names,
    /// Signals that are variables of the process that is printed.
    pub(super) variables: HashSet<SignalId>,
}

/// A constant.
pub(super) fn constant(value: &Bits) -> String {
    match value.width() {
        1 => format!("'{}'", u8::from(!value.is_zero())),
        width => format!("unsigned'({width}x\"{:x}\")", value.value()),
    }
}

/// The type of values of a width, inside a module.
pub(super) fn inner_type(width: u32) -> String {
    if width == 1 { "std_logic".to_owned() } else { format!("unsigned({} downto 0)", width - 1) }
}

/// The type of a port of a width.
pub(super) fn port_type(width: u32) -> String {
    if width == 1 { "std_logic".to_owned() } else { format!("std_logic_vector({} downto 0)", width - 1) }
}

impl Printer<'_> {
    /// The name of a signal: of the variable that a process has for it, where it gives it its value.
    pub(super) fn name(&self, id: SignalId) -> String {
        let name = &self.module.signal(id).name;
        if !self.variables.contains(&id) {
            return self.names.spelled(name);
        }
        self.names.variable(name)
    }

    fn signal(&self, id: SignalId) -> &Signal {
        self.module.signal(id)
    }

    /// A signal, or a part of it, as an `unsigned` where it has several bits: ports have another type.
    fn typed(&self, id: SignalId, text: String, width: u32) -> String {
        let is_port = matches!(self.signal(id).kind, SignalKind::Input | SignalKind::Output);
        if is_port && width > 1 && !self.variables.contains(&id) { format!("unsigned({text})") } else { text }
    }

    /// A part of a signal from a computed bit on.
    pub(super) fn part(&self, id: SignalId, at: &Expr, width: u32) -> String {
        let name = self.name(id);
        if self.signal(id).width == 1 {
            return name;
        }
        let at = match at.value().and_then(Bits::to_u64) {
            Some(at) => at.to_string(),
            None => format!("to_integer(vec({}))", self.expr(at)),
        };
        match (at.parse::<u32>(), width) {
            (_, 1) => format!("{name}({at})"),
            (Ok(at), _) => format!("{name}({} downto {at})", at + width - 1),
            _ => format!("{name}({at} + {} downto {at})", width - 1),
        }
    }

    /// A value of a signal, by its name where it has one.
    pub(super) fn named(&self, signal: &Signal, value: &Bits) -> String {
        let name = signal.names.iter().find(|(known, _)| known == value);
        name.map_or_else(|| constant(value), |(_, name)| self.names.spelled(name))
    }

    /// The register that holds a signal next, or the signal itself: who has names for its values.
    pub(super) fn with_names(&self, id: SignalId) -> &Signal {
        let holds = |signal: &&Signal| matches!(signal.kind, SignalKind::Register { next, .. } if next == id);
        self.module.signals.iter().find(holds).unwrap_or(self.signal(id))
    }

    /// Whether a bit is set, as a boolean.
    pub(super) fn holds(&self, value: &Expr) -> String {
        match &value.kind {
            ExprKind::Compare(op, a, b) if a.width > 1 => self.compared(*op, a, b),
            _ => format!("{} = '1'", self.expr(value)),
        }
    }

    fn compared(&self, op: CompareOp, a: &Expr, b: &Expr) -> String {
        let (a, b) = (self.expr(a), self.expr(b));
        let (symbol, signed) = match op {
            CompareOp::Equal => ("=", false),
            CompareOp::NotEqual => ("/=", false),
            CompareOp::Less => ("<", false),
            CompareOp::LessEqual => ("<=", false),
            CompareOp::LessSigned => ("<", true),
            CompareOp::LessEqualSigned => ("<=", true),
        };
        if signed { format!("signed({a}) {symbol} signed({b})") } else { format!("{a} {symbol} {b}") }
    }

    /// A value as an `unsigned`, of one bit too.
    fn vector(&self, value: &Expr) -> String {
        let text = self.expr(value);
        if value.width == 1 { format!("vec({text})") } else { text }
    }

    pub(super) fn expr(&self, value: &Expr) -> String {
        let width = value.width;
        match &value.kind {
            ExprKind::Constant(value) => constant(value),
            ExprKind::Signal(id) => self.typed(*id, self.name(*id), width),
            ExprKind::Lookup(table, index) => {
                let name = self.names.spelled(&self.module.tables[table.index()].name);
                format!("{name}({})", self.expr(index))
            }
            ExprKind::Unary(UnaryOp::Not, x) => format!("(not {})", self.expr(x)),
            ExprKind::Unary(UnaryOp::Negate, x) if width == 1 => self.expr(x),
            ExprKind::Unary(UnaryOp::Negate, x) => format!("(to_unsigned(0, {width}) - {})", self.expr(x)),
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::Shift(op, x, count) => {
                let name = match op {
                    ShiftOp::Left => "shifted_left",
                    ShiftOp::Right => "shifted_right",
                    ShiftOp::RightSigned => "shifted_right_signed",
                };
                let bit = if width == 1 { "(0)" } else { "" };
                format!("{name}({}, {}){bit}", self.vector(x), self.vector(count))
            }
            ExprKind::Compare(op, a, b) if a.width == 1 => {
                let (a, b) = (self.expr(a), self.expr(b));
                match op {
                    CompareOp::Equal => format!("({a} xnor {b})"),
                    CompareOp::NotEqual => format!("({a} xor {b})"),
                    CompareOp::Less => format!("((not {a}) and {b})"),
                    CompareOp::LessEqual => format!("((not {a}) or {b})"),
                    CompareOp::LessSigned => format!("({a} and (not {b}))"),
                    CompareOp::LessEqualSigned => format!("({a} or (not {b}))"),
                }
            }
            ExprKind::Compare(op, a, b) => format!("to_bit_of({})", self.compared(*op, a, b)),
            ExprKind::Select(condition, a, b) => {
                format!("choose({}, {}, {})", self.expr(condition), self.expr(a), self.expr(b))
            }
            ExprKind::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.expr(part)).collect();
                format!("unsigned'({})", parts.join(" & "))
            }
            ExprKind::Slice(x, low) => match x.kind {
                ExprKind::Signal(id) => {
                    let at = Expr::number(32, u64::from(*low));
                    self.typed(id, self.part(id, &at, width), width)
                }
                // Everything else was given a signal.
                _ => self.expr(x),
            },
            ExprKind::Part(id, at) => self.typed(*id, self.part(*id, at, width), width),
            ExprKind::Extend(true, x) if x.width == 1 => format!("fill({}, {width})", self.expr(x)),
            ExprKind::Extend(true, x) => format!("unsigned(resize(signed({}), {width}))", self.expr(x)),
            ExprKind::Extend(false, x) => format!("resize({}, {width})", self.vector(x)),
        }
    }

    fn binary(&self, op: BinaryOp, a: &Expr, b: &Expr) -> String {
        let one_bit = a.width == 1;
        let (x, y) = (self.expr(a), self.expr(b));
        match op {
            BinaryOp::And => format!("({x} and {y})"),
            BinaryOp::Or => format!("({x} or {y})"),
            BinaryOp::Xor => format!("({x} xor {y})"),
            BinaryOp::Add | BinaryOp::Sub if one_bit => format!("({x} xor {y})"),
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::DivSigned if one_bit => format!("({x} and {y})"),
            // Nothing is left of a bit that is divided by a bit.
            BinaryOp::Rem | BinaryOp::RemSigned if one_bit => "'0'".to_owned(),
            BinaryOp::Add => format!("({x} + {y})"),
            BinaryOp::Sub => format!("({x} - {y})"),
            BinaryOp::Mul => format!("product({x}, {y})"),
            BinaryOp::Div => format!("quotient({x}, {y})"),
            BinaryOp::Rem => format!("remainder({x}, {y})"),
            BinaryOp::DivSigned => format!("quotient_signed({x}, {y})"),
            BinaryOp::RemSigned => format!("remainder_signed({x}, {y})"),
        }
    }
}
