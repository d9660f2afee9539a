//! Code generation for scalar expressions. Scalar expressions of up to 64 bits.
//!
//! Two questions decide what is printed. *Exact*: the C expression has the mathematical value; possible whenever the
//! interval of the expression fits 64 bits. *Low*: only the low n bits are demanded, since the value is about to be
//! wrapped to n bits; sums, products, left shifts and logic then need no more than n bits of their operands, so that
//! `x << (32 - n)` stored in 32 bits is one 32-bit shift however wide its type is.
//!
//! What an expression needs computed first (checks, integers beyond 64 bits) goes before it as statements; operands
//! that are only evaluated on a condition then become an `if`.

mod printed;

pub use printed::{Binding, Kind, Value, round_real, wrap_value};

use super::Code;
use super::node::{Node, decided};
use crate::c::ctype::{self, Repr};
use crate::c::text::{Declared, Lines, Name, text};
use headrace_ir::{BinaryOp, CompareOp, ExprKind, Int, IntType, MAX_SHIFT, RealType, Scalar};

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Mod => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::ShiftRight => ">>",
    }
}

fn width_class(bits: u64) -> Repr {
    if bits <= 32 { Repr::U32 } else { Repr::U64 }
}

fn power_of_two(value: &Int) -> Option<u64> {
    let value = value.to_u64()?;
    value.is_power_of_two().then(|| u64::from(value.trailing_zeros()))
}

impl Code<'_> {
    /// The mathematical value of an integer expression whose interval fits 64 bits.
    pub fn exact(&mut self, node: &Node<'_>) -> Value {
        let Some(result) = Repr::holding(&node.range) else {
            // Callers look first; what comes here all the same keeps its low bits.
            return self.low(node, 64);
        };
        if let Some(value) = node.range.single().filter(|_| !node.can_stop) {
            return Value::int(value, result);
        }
        match &node.expr.kind {
            ExprKind::Int(value) => Value::int(value, result),
            ExprKind::Load(place) => self.load_exact(place, result),
            ExprKind::Wrap(ty, _) => {
                let x = &node.kids[0];
                if x.range.fits(*ty) { self.exact(x) } else { self.wrapped(x, *ty) }
            }
            ExprKind::Negate(_) | ExprKind::Complement(_) => {
                let op = if matches!(node.expr.kind, ExprKind::Negate(_)) { "-" } else { "~" };
                match direct(node) {
                    Some(repr) => {
                        let x = self.exact(&node.kids[0]).to(repr);
                        Value::prefix(op, &x, Kind::Int(repr))
                    }
                    None => self.low_as(node, result),
                }
            }
            ExprKind::Binary(op, _, _) => self.exact_binary(node, *op, result),
            ExprKind::ShiftLeft(ty, _, _) => {
                let (x, count) = (&node.kids[0], &node.kids[1]);
                let overflows = !x.range.shift_left_fits(&count.range, *ty);
                if count.range.low.is_negative() {
                    let value = self.shifted_either_way(node);
                    return if overflows && ty.width <= 64 { wrap_value(&value, *ty) } else { value.to(result) };
                }
                if ty.width > 64 && (overflows || x.range.low.is_negative()) {
                    // The value fits where its type does not.
                    return self.low_shift_left(node, 64).to(result);
                }
                if overflows || x.range.low.is_negative() {
                    return self.wrapped_node(node, *ty);
                }
                let bits = u64::from(result.bits());
                let Some(repr) = Repr::holding(&x.range.join(&node.range)) else {
                    return self.low_shift_left(node, bits).to(result);
                };
                if count.range.high >= Int::from(i64::from(repr.bits())) {
                    return self.low_shift_left(node, bits).to(result);
                }
                let x = self.exact(x).to(repr);
                let count = self.exact(count);
                Value::infix("<<", &x, &count, Kind::Int(repr))
            }
            ExprKind::If(..) => self.choice(node, Kind::Int(result)),
            ExprKind::Call(procedure, arguments) => self.call_expression(*procedure, arguments),
            _ => self.malformed(node),
        }
    }

    fn low_as(&mut self, node: &Node<'_>, repr: Repr) -> Value {
        self.low(node, u64::from(repr.bits())).to(repr)
    }

    fn exact_binary(&mut self, node: &Node<'_>, op: BinaryOp, result: Repr) -> Value {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let common = Repr::holding(&a.range.join(&b.range).join(&node.range));
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                match direct(node) {
                    Some(common) => {
                        let natural = a.range.non_negative() && b.range.non_negative() && node.range.non_negative();
                        let (a, b) = (self.exact(a), self.exact(b));
                        let common = unsigned_if(natural, common, &a, &b);
                        let (a, b) = (a.to(common), b.to(common));
                        let value = Value::infix(symbol(op), &a, &b, Kind::Int(common));
                        if Repr::holding(&node.range).is_some_and(|needed| needed.bits() < common.bits()) {
                            value.to(result)
                        } else {
                            value
                        }
                    }
                    None => self.low_as(node, result),
                }
            }
            BinaryOp::ShiftRight => self.exact_shift_right(node, result),
            BinaryOp::Mod => {
                if let Some(bits) = b.range.single().and_then(power_of_two)
                    && bits <= 63
                {
                    let mask = Int::from((1u64 << bits) - 1);
                    let x = self.low(a, bits.max(1));
                    let repr = x.repr();
                    let mask = Value::int(&mask, repr);
                    return Value::infix("&", &x, &mask, Kind::Int(repr));
                }
                self.exact_division(node, op, common)
            }
            BinaryOp::Div => self.exact_division(node, op, common),
        }
    }

    fn exact_division(&mut self, node: &Node<'_>, op: BinaryOp, common: Option<Repr>) -> Value {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let Some(common) = common else {
            let result = Repr::holding(&node.range).unwrap_or(Repr::U64);
            return self.wide_low(node, result);
        };
        let x = self.exact(a).to(common);
        let mut y = self.exact(b).to(common);
        let positive = b.range.low > Int::ZERO;
        let proven = if op == BinaryOp::Div { positive || b.range.high.is_negative() } else { positive };
        if !proven && self.checked() {
            y = self.named(y, common.c());
            self.check_divisor(node.expr.span, op, &y);
        }
        let plain = proven || self.checked();
        let native = if op == BinaryOp::Div { plain } else { plain && a.range.non_negative() };
        if native {
            return Value::infix(symbol(op), &x, &y, Kind::Int(common));
        }
        let name = if op == BinaryOp::Div { "div" } else { "mod" };
        Value::primary(text!["hr_", name, "_", common.suffix(), "(", x.text, ", ", y.text, ")"], Kind::Int(common))
    }

    fn exact_shift_right(&mut self, node: &Node<'_>, result: Repr) -> Value {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let Some(repr) = Repr::holding(&x.range) else {
            // The value shifted does not fit, but what is left of it does.
            if let Some(by) = count.range.single().and_then(Int::to_u64)
                && node.range.non_negative()
            {
                let bits = node.range.high.magnitude_bits().max(1) + by;
                if bits <= 64 {
                    let x = self.low(x, bits).to(Repr::U64);
                    let x = if bits < 64 {
                        Value::infix("&", &x, &Value::int(&Int::from((1u64 << bits) - 1), Repr::U64), x.kind)
                    } else {
                        x
                    };
                    let by = Value::int(&Int::from(by), Repr::I32);
                    return Value::infix(">>", &x, &by, Kind::Int(Repr::U64)).to(result);
                }
            }
            return self.wide_low(node, result);
        };
        let value = self.exact(x);
        self.shifted_right(node, &value, repr, count)
    }

    /// The low bits of an operation on integers beyond 64 bits.
    fn wide_low(&mut self, node: &Node<'_>, result: Repr) -> Value {
        let mut small = |code: &mut Self, node: &Node<'_>| code.exact(node).to(result);
        let mut general = |code: &mut Self, node: &Node<'_>| {
            let words = code.wide_operation(node, 2);
            Value::primary(text!["hr_wide_low(", words, ", 2)"], Kind::Int(Repr::U64)).to(result)
        };
        self.by_counts(node, Kind::Int(result), &mut small, &mut general).unwrap_or_else(|| general(self, node))
    }

    fn shifted_right(&mut self, node: &Node<'_>, value: &Value, repr: Repr, count: &Node<'_>) -> Value {
        let limit = i64::from(repr.bits());
        let repr = match value.kind {
            Kind::Int(own) if own.bits() == repr.bits() && !own.is_signed() => own,
            _ => repr,
        };
        let value = value.to(repr);
        if let Some(by) = count.range.single().filter(|by| !by.is_negative() && !count.can_stop) {
            let by = by.clone().min(Int::from(limit - 1));
            let by = Value::int(&by, Repr::I32);
            return Value::infix(">>", &value, &by, Kind::Int(repr));
        }
        if !count.range.low.is_negative() && count.range.high < Int::from(limit) {
            let by = self.exact(count);
            return Value::infix(">>", &value, &by, Kind::Int(repr));
        }
        let by = self.shift_count(node, count);
        Value::primary(text!["hr_shr_", repr.suffix(), "(", value.text, ", ", by.text, ")"], Kind::Int(repr))
    }

    /// A shift count as `uint64_t`, negative ones checked or made huge.
    pub fn shift_count(&mut self, node: &Node<'_>, count: &Node<'_>) -> Value {
        if Repr::holding(&count.range).is_none() {
            let words = count.range.signed_bits().div_ceil(32) as u32;
            let name = self.wide(count, words);
            let value = Value::primary(text!["hr_wide_saturated(", name, ", ", words, ")"], Kind::Int(Repr::I64));
            if count.range.low.is_negative() && self.checked() {
                let value = self.named(value, "int64_t");
                self.check_shift(node.expr.span, &value);
                return value.to(Repr::U64);
            }
            return value.to(Repr::U64);
        }
        let mut by = self.exact(count);
        if count.range.low.is_negative() && self.checked() {
            by = self.named(by.clone(), by.repr().c());
            self.check_shift(node.expr.span, &by);
        }
        if by.repr() == Repr::I32 { by.to(Repr::I64).to(Repr::U64) } else { by.to(Repr::U64) }
    }

    /// A C integer whose low `bits` bits (1 to 64) are those of the expression.
    pub fn low(&mut self, node: &Node<'_>, bits: u64) -> Value {
        let class = width_class(bits);
        if let Some(repr) = Repr::holding(&node.range)
            && (repr.bits() <= class.bits())
            && (!is_ring(node) || direct(node).is_some_and(|repr| repr.bits() <= class.bits()))
        {
            return self.exact(node);
        }
        if node.range.single().is_some() && !node.can_stop {
            let value = node.range.single().cloned().unwrap_or(Int::ZERO);
            return Value::int(&value.wrap(IntType::unsigned(class.bits())), class);
        }
        match &node.expr.kind {
            ExprKind::Int(value) => Value::int(&value.clone().wrap(IntType::unsigned(class.bits())), class),
            ExprKind::Load(place) => self.load_low(place, class),
            ExprKind::Negate(_) | ExprKind::Complement(_) => {
                let op = if matches!(node.expr.kind, ExprKind::Negate(_)) { "-" } else { "~" };
                let x = self.low(&node.kids[0], bits).to(class);
                Value::prefix(op, &x, Kind::Int(class))
            }
            ExprKind::Binary(op, _, _) => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                    let a = self.low(&node.kids[0], bits).to(class);
                    let b = self.low(&node.kids[1], bits).to(class);
                    Value::infix(symbol(*op), &a, &b, Kind::Int(class))
                }
                BinaryOp::ShiftRight => self.low_shift_right(node, bits),
                BinaryOp::Div | BinaryOp::Mod => self.low_fallback(node, class),
            },
            ExprKind::ShiftLeft(ty, _, _) => {
                if node.kids[1].range.low.is_negative() {
                    let value = self.shifted_either_way(node);
                    return if bits > u64::from(ty.width) { wrap_value(&value, *ty) } else { value.to(class) };
                }
                if bits > u64::from(ty.width) {
                    return self.wrapped_node(node, *ty);
                }
                self.low_shift_left(node, bits)
            }
            ExprKind::Wrap(ty, _) => {
                let x = &node.kids[0];
                if bits <= u64::from(ty.width) || x.range.fits(*ty) {
                    return self.low(x, bits);
                }
                self.wrapped(x, *ty)
            }
            ExprKind::If(..) => self.choice_low(node, bits, class),
            _ => self.low_fallback(node, class),
        }
    }

    fn low_fallback(&mut self, node: &Node<'_>, class: Repr) -> Value {
        if Repr::holding(&node.range).is_some() {
            return self.exact(node);
        }
        let words = class.bits() / 32;
        let mut small = |code: &mut Self, node: &Node<'_>| code.exact(node).to(class);
        let mut general = |code: &mut Self, node: &Node<'_>| {
            let name = code.wide(node, words);
            Value::primary(text!["hr_wide_low(", name, ", ", words, ")"], Kind::Int(Repr::U64)).to(class)
        };
        self.by_counts(node, Kind::Int(class), &mut small, &mut general).unwrap_or_else(|| general(self, node))
    }

    fn low_shift_left(&mut self, node: &Node<'_>, bits: u64) -> Value {
        let class = width_class(bits);
        let (x, count) = (&node.kids[0], &node.kids[1]);
        if let Some(by) = count.range.single().filter(|by| !by.is_negative() && !count.can_stop) {
            let x = self.low(x, bits).to(class);
            let limit = Int::from(i64::from(class.bits()));
            if *by >= limit {
                return Value::int(&Int::ZERO, class);
            }
            let by = Value::int(by, Repr::I32);
            return Value::infix("<<", &x, &by, Kind::Int(class));
        }
        let x = self.low(x, bits).to(class);
        if !count.range.low.is_negative() && count.range.high < Int::from(i64::from(class.bits())) {
            let by = self.exact(count);
            return Value::infix("<<", &x, &by, Kind::Int(class));
        }
        let by = self.left_count(node);
        Value::primary(text!["hr_shl", class.bits(), "(", x.text, ", ", by.text, ")"], Kind::Int(class))
    }

    /// The low 64 bits of a left shift whose count may be negative, not yet wrapped to its type.
    fn shifted_either_way(&mut self, node: &Node<'_>) -> Value {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let unsigned = Kind::Int(Repr::U64);
        let Some(own) = Repr::holding(&x.range) else {
            let words = self.wide_operation(node, 2);
            return Value::primary(text!["hr_wide_low(", words, ", 2)"], unsigned);
        };
        let own = if own == Repr::U64 { own } else { Repr::I64 };
        let x = self.exact(x).to(own);
        let by = self.signed_count(node, count);
        Value::primary(text!["hr_shift_", own.suffix(), "(", x.text, ", ", by.text, ")"], unsigned)
    }

    /// A count as `int64_t`, held at the limits of that; of a left shift.
    pub fn signed_count(&mut self, node: &Node<'_>, count: &Node<'_>) -> Value {
        let value = match Repr::holding(&count.range) {
            // What may be negative is not unsigned.
            Some(_) => self.exact(count).to(Repr::I64),
            None => {
                let words = count.range.signed_bits().div_ceil(32) as u32;
                let name = self.wide(count, words);
                Value::primary(text!["hr_wide_saturated(", name, ", ", words, ")"], Kind::Int(Repr::I64))
            }
        };
        self.limited_count(node, value)
    }

    /// The count of a left shift, which is not negative, as `uint64_t`.
    pub fn left_count(&mut self, node: &Node<'_>) -> Value {
        let value = self.shift_count(node, &node.kids[1]);
        self.limited_count(node, value)
    }

    /// Where the value as a whole counts, no count is above the limit.
    fn limited_count(&mut self, node: &Node<'_>, value: Value) -> Value {
        if !node.shifts_too_far() {
            return value;
        }
        let value = self.named(value.clone(), value.repr().c());
        let limit = Int::from(i64::from(MAX_SHIFT));
        if self.checked() {
            self.check_far(node.expr.span, &value);
            return value;
        }
        let limit = Value::int(&limit, value.repr());
        let most = if value.repr().is_signed() { "INT64_MAX" } else { "UINT64_MAX" };
        let most = Value::primary(most, value.kind);
        let kind = value.kind;
        let far = Value::infix(">", &value, &limit, Kind::Bool);
        Value::choice(&far, &most, &value, kind)
    }

    fn low_shift_right(&mut self, node: &Node<'_>, bits: u64) -> Value {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let class = width_class(bits);
        if Repr::holding(&x.range).is_some() {
            return self.exact_shift_right_any(node);
        }
        if let Some(by) = count.range.single().filter(|_| !count.can_stop).and_then(Int::to_u64)
            && by + bits <= 64
        {
            let value = self.low(x, by + bits).to(Repr::U64);
            let by = Value::int(&Int::from(by), Repr::I32);
            return Value::infix(">>", &value, &by, Kind::Int(Repr::U64));
        }
        self.low_fallback(node, class)
    }

    fn exact_shift_right_any(&mut self, node: &Node<'_>) -> Value {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let repr = Repr::holding(&x.range).unwrap_or(Repr::U64);
        let value = self.exact(x);
        self.shifted_right(node, &value, repr, count)
    }

    fn wrapped_node(&mut self, node: &Node<'_>, ty: IntType) -> Value {
        let bits = u64::from(ty.width).min(64);
        let value = self.low_shift_left(node, bits);
        wrap_value(&value, ty)
    }

    /// The expression wrapped to a type of up to 64 bits.
    pub fn wrapped(&mut self, x: &Node<'_>, ty: IntType) -> Value {
        let bits = u64::from(ty.width).min(64);
        let value = self.low(x, bits);
        wrap_value(&value, ty)
    }

    fn choice(&mut self, node: &Node<'_>, kind: Kind) -> Value {
        let repr = match kind {
            Kind::Int(repr) => Some(repr),
            _ => None,
        };
        self.choose(node, kind, &mut |code, branch| match repr {
            Some(repr) => code.exact(branch).to(repr),
            None => code.value(branch),
        })
    }

    fn choice_low(&mut self, node: &Node<'_>, bits: u64, class: Repr) -> Value {
        self.choose(node, Kind::Int(class), &mut |code, branch| code.low(branch, bits).to(class))
    }

    fn choose(&mut self, node: &Node<'_>, kind: Kind, branch: &mut dyn FnMut(&mut Self, &Node<'_>) -> Value) -> Value {
        let condition = self.value(&node.kids[0]);
        let (yes, before_yes) = self.capture(|code| branch(code, &node.kids[1]));
        let (no, before_no) = self.capture(|code| branch(code, &node.kids[2]));
        if before_yes.is_empty() && before_no.is_empty() {
            return Value::choice(&condition, &yes, &no, kind);
        }
        let ty = match kind {
            Kind::Int(repr) => repr.c(),
            Kind::Bool => "bool",
            Kind::Real => "double",
            Kind::Text => "const char *",
        };
        let name = self.temporary("chosen");
        self.declare_temporary(&name, text![ty, " ", Declared(&name), ";"]);
        self.branches(&name, &condition, [(yes, before_yes), (no, before_no)]);
        Value::primary(name, kind)
    }

    /// Sets a variable to one of two values, by a condition that holds or does not, each with the statements before it.
    pub fn branches(&mut self, name: &Name, condition: &Value, [yes, no]: [(Value, Lines); 2]) {
        self.open(text!["if ", condition.in_parentheses(), " {"]);
        self.splice(yes.1);
        self.line(text![Declared(name), " = ", yes.0.text, ";"]);
        self.reopen("} else {");
        self.splice(no.1);
        self.line(text![Declared(name), " = ", no.0.text, ";"]);
        self.close("}");
    }

    /// Any scalar expression but a wide integer.
    pub fn value(&mut self, node: &Node<'_>) -> Value {
        match &node.expr.kind {
            ExprKind::Bool(value) => Value::bool(*value),
            ExprKind::Real(value, _) => Value::primary(ctype::real_literal(*value), Kind::Real),
            ExprKind::String(text) => Value::primary(ctype::text_literal(text), Kind::Text),
            ExprKind::Load(place) => self.load(place),
            ExprKind::Call(procedure, arguments) => self.call_expression(*procedure, arguments),
            ExprKind::Not(_) => {
                let x = self.value(&node.kids[0]);
                Value::prefix("!", &x, Kind::Bool)
            }
            ExprKind::And(..) | ExprKind::Or(..) => self.short_circuit(node),
            ExprKind::Compare(op, _, _) => self.compare(node, *op),
            ExprKind::If(..) => match self.scalar_of(&node.kids[1]) {
                Some(Scalar::Bool) => self.choice(node, Kind::Bool),
                Some(Scalar::Real(_)) => self.choice(node, Kind::Real),
                Some(Scalar::String) => self.choice(node, Kind::Text),
                _ => self.exact(node),
            },
            ExprKind::IntToReal(ty, _) => self.int_to_real(&node.kids[0], *ty),
            ExprKind::RealToReal(ty, _) => {
                let x = self.value(&node.kids[0]);
                round_real(&x, *ty)
            }
            ExprKind::RealNegate(_) => {
                let x = self.value(&node.kids[0]);
                Value::prefix("-", &x, Kind::Real)
            }
            ExprKind::RealBinary(ty, op, _, _) => {
                let a = self.value(&node.kids[0]);
                let b = self.value(&node.kids[1]);
                let op = match op {
                    headrace_ir::RealOp::Add => "+",
                    headrace_ir::RealOp::Sub => "-",
                    headrace_ir::RealOp::Mul => "*",
                    headrace_ir::RealOp::Div => "/",
                };
                round_real(&Value::infix(op, &a, &b, Kind::Real), *ty)
            }
            ExprKind::Concat(_) => {
                self.unsupported(node.expr.span, "a text put together while the program runs and not printed at once");
                Value::primary("\"\"", Kind::Text)
            }
            _ => self.exact(node),
        }
    }

    fn short_circuit(&mut self, node: &Node<'_>) -> Value {
        let is_and = matches!(node.expr.kind, ExprKind::And(..));
        let a = self.value(&node.kids[0]);
        let (b, before) = self.capture(|code| code.value(&node.kids[1]));
        if before.is_empty() {
            if a.truth == Some(is_and) {
                return b;
            }
            if b.truth == Some(is_and) || a.truth == Some(!is_and) {
                return a;
            }
            return Value::infix(if is_and { "&&" } else { "||" }, &a, &b, Kind::Bool);
        }
        let name = self.temporary("holds");
        self.declare_temporary(&name, text!["bool ", Declared(&name), " = ", a.text, ";"]);
        self.open(text!["if (", if is_and { "" } else { "!" }, name, ") {"]);
        self.splice(before);
        self.line(text![Declared(&name), " = ", b.text, ";"]);
        self.close("}");
        Value::primary(name, Kind::Bool)
    }

    fn compare(&mut self, node: &Node<'_>, op: CompareOp) -> Value {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let symbol = match op {
            CompareOp::Equal => "==",
            CompareOp::NotEqual => "!=",
            CompareOp::Less => "<",
            CompareOp::LessEqual => "<=",
            CompareOp::Greater => ">",
            CompareOp::GreaterEqual => ">=",
        };
        match self.scalar_of(a).or_else(|| self.scalar_of(b)) {
            Some(Scalar::String) => {
                let (x, y) = (self.value(a), self.value(b));
                let equal = Value::primary(text!["hr_text_equal(", x.text, ", ", y.text, ")"], Kind::Bool);
                return if op == CompareOp::NotEqual { Value::prefix("!", &equal, Kind::Bool) } else { equal };
            }
            Some(Scalar::Bool) => {
                let (x, y) = (self.value(a), self.value(b));
                if x.text == y.text {
                    return Value::bool(op == CompareOp::Equal);
                }
                return Value::infix(symbol, &x, &y, Kind::Bool);
            }
            Some(Scalar::Real(_)) => {
                let (x, y) = (self.value(a), self.value(b));
                return self.compared(symbol, &x, &y);
            }
            _ => {}
        }
        if !node.can_stop
            && let Some(known) = decided(&a.range, &b.range, op)
        {
            return Value::bool(known);
        }
        match Repr::holding(&a.range.join(&b.range)) {
            Some(repr) => {
                let natural = a.range.non_negative() && b.range.non_negative();
                let (x, y) = (self.exact(a), self.exact(b));
                let repr = unsigned_if(natural, repr, &x, &y);
                let (x, y) = (x.to(repr), y.to(repr));
                self.compared(symbol, &x, &y)
            }
            None => {
                let mut small = |code: &mut Self, node: &Node<'_>| code.compare(node, op);
                let mut general = |code: &mut Self, node: &Node<'_>| code.compare_wide(node, symbol);
                self.by_counts(node, Kind::Bool, &mut small, &mut general).unwrap_or_else(|| general(self, node))
            }
        }
    }

    fn compare_wide(&mut self, node: &Node<'_>, symbol: &'static str) -> Value {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let words = a.range.join(&b.range).signed_bits().div_ceil(32) as u32;
        let x = self.wide(a, words);
        let y = self.wide(b, words);
        let order = Value::primary(text!["hr_wide_compare(", x, ", ", y, ", ", words, ")"], Kind::Int(Repr::I32));
        Value::infix(symbol, &order, &Value::int(&Int::ZERO, Repr::I32), Kind::Bool)
    }

    /// Compilers warn of a variable compared with itself; a name of its own says that it is meant.
    fn compared(&mut self, symbol: &'static str, x: &Value, y: &Value) -> Value {
        if x.text == y.text && x.kind == Kind::Real {
            let name = self.named(x.clone(), "double");
            let other = self.named(y.clone(), "double");
            return Value::infix(symbol, &name, &other, Kind::Bool);
        }
        if x.text == y.text {
            return Value::bool(matches!(symbol, "==" | "<=" | ">="));
        }
        Value::infix(symbol, x, y, Kind::Bool)
    }

    fn int_to_real(&mut self, x: &Node<'_>, ty: RealType) -> Value {
        if Repr::holding(&x.range).is_some() {
            let value = self.exact(x);
            return match ty {
                // One rounding only, straight from the integer.
                RealType::Float => value.cast("float", Kind::Real).cast("double", Kind::Real),
                RealType::Double => value.cast("double", Kind::Real),
                RealType::Half => round_real(&value.cast("double", Kind::Real), ty),
            };
        }
        let words = x.range.signed_bits().div_ceil(32) as u32;
        let name = self.wide(x, words);
        let scratch = self.temporary("scratch");
        self.line(text!["uint32_t ", Declared(&scratch), "[", words, "];"]);
        let precision = if ty == RealType::Double { 53 } else { 24 };
        let value =
            Value::primary(text!["hr_wide_real(", name, ", ", words, ", ", precision, ", ", scratch, ")"], Kind::Real);
        round_real(&value, ty)
    }
}

/// Stays unsigned where an operand is and nothing is negative: no conversion, and no sign to extend in an index.
fn unsigned_if(non_negative: bool, common: Repr, a: &Value, b: &Value) -> Repr {
    let unsigned = common.unsigned();
    let has = |value: &Value| value.constant.is_none() && value.kind == Kind::Int(unsigned);
    if non_negative && (has(a) || has(b)) { unsigned } else { common }
}

/// True for the operators whose low bits depend on the low bits of their operands alone.
fn is_ring(node: &Node<'_>) -> bool {
    use BinaryOp::{Add, And, Mul, Or, Sub, Xor};
    matches!(
        node.expr.kind,
        ExprKind::Binary(Add | Sub | Mul | And | Or | Xor, ..) | ExprKind::Negate(_) | ExprKind::Complement(_)
    )
}

/// The type in which such an operator can be computed on the exact values of its operands; `None` when its low bits
/// are the better or the only way.
fn direct(node: &Node<'_>) -> Option<Repr> {
    let all = node.kids.iter().fold(node.range.clone(), |all, kid| all.join(&kid.range));
    let common = Repr::holding(&all)?;
    let result = Repr::holding(&node.range)?;
    match node.expr.kind {
        ExprKind::Negate(_) | ExprKind::Complement(_) => common.is_signed().then_some(common),
        ExprKind::Binary(BinaryOp::And, ..) => (common.bits() == result.bits()).then_some(common),
        _ => Some(common),
    }
}
