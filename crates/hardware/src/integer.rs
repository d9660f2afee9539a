//! Integer expressions of any width.
//!
//! Two questions decide what is made of one. *Exact*: the value itself, in as many bits as all values need that the expression
//! can have. *Low*: so many bits that agree with it, since the value is about to be cut; sums, products, left shifts and logic
//! need no more bits of their operands than are wanted of them.

use crate::code::Code;
use crate::node::Node;
use headrace_analysis::ranges::Interval;
use headrace_ir::{BinaryOp, CompareOp, ExprKind, Int, IntType, Scalar};
use headrace_rtl::{self as rtl, Bits, Expr, ShiftOp};

/// Most bits of a value. Beyond, no tool is of use.
const MAX_BITS: u32 = 1 << 14;

/// The operator for one whose low bits depend on the low bits of its operands alone.
fn ring(op: BinaryOp) -> Option<rtl::BinaryOp> {
    Some(match op {
        BinaryOp::Add => rtl::BinaryOp::Add,
        BinaryOp::Sub => rtl::BinaryOp::Sub,
        BinaryOp::Mul => rtl::BinaryOp::Mul,
        BinaryOp::And => rtl::BinaryOp::And,
        BinaryOp::Or => rtl::BinaryOp::Or,
        BinaryOp::Xor => rtl::BinaryOp::Xor,
        BinaryOp::Div | BinaryOp::Mod | BinaryOp::ShiftRight => return None,
    })
}

/// Whether a comparison is decided by what its operands can be.
fn decided(a: &Interval, b: &Interval, op: CompareOp) -> Option<bool> {
    let (below, not_above) = (a.high < b.low, a.high <= b.low);
    let (above, not_below) = (a.low > b.high, a.low >= b.high);
    match op {
        CompareOp::Equal if below || above => Some(false),
        CompareOp::NotEqual if below || above => Some(true),
        CompareOp::Less if below => Some(true),
        CompareOp::Less if not_below => Some(false),
        CompareOp::LessEqual if not_above => Some(true),
        CompareOp::LessEqual if above => Some(false),
        CompareOp::Greater if above => Some(true),
        CompareOp::Greater if not_above => Some(false),
        CompareOp::GreaterEqual if not_below => Some(true),
        CompareOp::GreaterEqual if below => Some(false),
        _ => None,
    }
}

/// The bits that a number is a power of two of.
fn power_of_two(value: &Int) -> Option<u32> {
    let bits = value.magnitude_bits();
    let is_power = !value.is_negative() && bits > 0 && value.and(&value.sub(&Int::from(1i64))) == Int::ZERO;
    is_power.then_some(bits as u32 - 1)
}

impl<'a> Code<'a> {
    /// So many bits that agree with the expression.
    pub(crate) fn low(&mut self, node: &Node<'_>, width: u32) -> Expr {
        if let Some(value) = node.single() {
            return Expr::constant(Bits::of_signed(width.min(MAX_BITS), &value.to_big())).resized(false, width);
        }
        let (own, signed) = node.bits();
        if width > MAX_BITS && own > MAX_BITS {
            let what = format!("values of up to {own} bits");
            self.unsupported(node.expr.span, &what, "bound the count of the shift, by its type or by a mask");
            return Expr::number(width, 0);
        }
        if own < width && !matches!(node.expr.kind, ExprKind::Load(_) | ExprKind::Call(..)) {
            return self.low(node, own).extended(signed, width);
        }
        match &node.expr.kind {
            ExprKind::Load(place) => {
                let location = self.locate(place);
                let Scalar::Int(ty) = location.home.element else { return self.malformed(node, width) };
                self.load(&location).resized(ty.signed, width)
            }
            ExprKind::Negate(_) => self.low(&node.kids[0], width).negated(),
            ExprKind::Complement(_) => self.low(&node.kids[0], width).inverted(),
            ExprKind::Binary(op, _, _) => match ring(*op) {
                Some(op) => {
                    let a = self.low(&node.kids[0], width);
                    let b = self.low(&node.kids[1], width);
                    Expr::binary(op, a, b)
                }
                None if *op == BinaryOp::ShiftRight => self.shift_right(node, width),
                None => self.division(node, *op, width),
            },
            ExprKind::ShiftLeft(ty, _, _) => self.shift_left(node, *ty, width),
            ExprKind::Wrap(ty, _) => {
                let x = &node.kids[0];
                if width <= ty.width || x.range.fits(*ty) {
                    return self.low(x, width);
                }
                self.low(x, ty.width).extended(ty.signed, width)
            }
            ExprKind::If(..) => self.choose(node, width, &mut |code, branch| code.low(branch, width)),
            ExprKind::Call(procedure, arguments) => {
                let Some(Scalar::Int(ty)) = self.result_of(*procedure) else { return self.malformed(node, width) };
                self.call_expression(*procedure, arguments, node.expr.span).resized(ty.signed, width)
            }
            _ => self.malformed(node, width),
        }
    }

    /// Reports something that is in no checked program.
    fn malformed(&mut self, node: &Node<'_>, width: u32) -> Expr {
        self.unsupported(node.expr.span, "operands of the wrong kind", "check the program first");
        Expr::number(width, 0)
    }

    /// Two integers in one width that holds both, and whether its highest bit is a sign.
    fn common(&mut self, a: &Node<'_>, b: &Node<'_>, more: u32) -> (Expr, Expr, bool) {
        let both = a.range.join(&b.range);
        let (width, signed) = crate::node::bits_of(&both);
        let width = width.saturating_add(more);
        (self.low(a, width), self.low(b, width), signed)
    }

    fn division(&mut self, node: &Node<'_>, op: BinaryOp, width: u32) -> Expr {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        if let Some(bits) = b.single().and_then(power_of_two) {
            if op == BinaryOp::Mod {
                return if bits == 0 { Expr::number(width, 0) } else { self.low(a, bits).resized(false, width) };
            }
            let (own, signed) = a.bits();
            if !signed {
                let value = self.low(a, own);
                let quotient = if bits >= own { Expr::number(1, 0) } else { value.slice(bits, own - bits) };
                return quotient.resized(false, width);
            }
        }
        // A bit more: the quotient of the least number by -1.
        let signed = !a.range.non_negative() || !b.range.non_negative();
        let (x, y, _) = self.common(a, b, u32::from(signed));
        let own = x.width;
        let y = self.named("divisor", y);
        let zero = Expr::number(own, 0);
        let value = match (op, signed) {
            (BinaryOp::Div, false) => Expr::binary(rtl::BinaryOp::Div, x, y.clone()),
            (BinaryOp::Div, true) => Expr::binary(rtl::BinaryOp::DivSigned, x, y.clone()),
            (_, false) => Expr::binary(rtl::BinaryOp::Rem, x, y.clone()),
            (_, true) => {
                let rest = self.named("rest", Expr::binary(rtl::BinaryOp::RemSigned, x, y.clone()));
                let negative = rest.clone().slice(own - 1, 1);
                Expr::select(negative, rest.clone().plus(y.clone()), rest)
            }
        };
        // An error gives 0.
        let is_error = match op {
            BinaryOp::Mod if signed => Expr::compare(rtl::CompareOp::LessEqualSigned, y, zero.clone()),
            _ => Expr::compare(rtl::CompareOp::Equal, y, zero.clone()),
        };
        let never = if op == BinaryOp::Div {
            b.range.low > Int::ZERO || b.range.high.is_negative()
        } else {
            b.range.low > Int::ZERO
        };
        let value = if never { value } else { Expr::select(is_error, zero, value) };
        value.resized(signed, width)
    }

    fn shift_right(&mut self, node: &Node<'_>, width: u32) -> Expr {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let (own, signed) = x.bits();
        let value = self.low(x, own);
        if let Some(by) = count.single() {
            let by = by.to_u64().filter(|&by| by < u64::from(own));
            return match by {
                Some(by) => value.slice(by as u32, own - by as u32).resized(signed, width),
                None if signed => value.slice(own - 1, 1).resized(true, width),
                None => Expr::number(width, 0),
            };
        }
        let (bits, _) = count.bits();
        let count = self.low(count, bits);
        let op = if signed { ShiftOp::RightSigned } else { ShiftOp::Right };
        Expr::shift(op, value, count).resized(signed, width)
    }

    fn shift_left(&mut self, node: &Node<'_>, ty: IntType, width: u32) -> Expr {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let fits = x.range.shift_left_fits(&count.range, ty);
        let own = if width <= ty.width || fits { width } else { ty.width };
        let value = if count.range.low.is_negative() {
            let (bits, signed) = x.bits();
            let exact = self.low(x, bits);
            let exact = self.named("value", exact);
            let (count_bits, _) = count.bits();
            let by = self.low(count, count_bits);
            let by = self.named("count", by);
            let negative = by.clone().slice(count_bits - 1, 1);
            let up = Expr::shift(ShiftOp::Left, exact.clone().resized(signed, own), by.clone());
            let op = if signed { ShiftOp::RightSigned } else { ShiftOp::Right };
            let down = Expr::shift(op, exact, by.negated()).resized(signed, own);
            Expr::select(negative, down, up)
        } else if let Some(by) = count.single() {
            match by.to_u64().filter(|&by| by < u64::from(own)) {
                Some(0) => self.low(x, own),
                Some(by) => {
                    let by = by as u32;
                    Expr::concat(vec![self.low(x, own - by), Expr::number(by, 0)])
                }
                None => Expr::number(own, 0),
            }
        } else {
            let (bits, _) = count.bits();
            let value = self.low(x, own);
            let by = self.low(count, bits);
            Expr::shift(ShiftOp::Left, value, by)
        };
        value.resized(ty.signed, width)
    }

    /// A comparison of integers.
    pub(crate) fn compare_integers(&mut self, a: &Node<'_>, b: &Node<'_>, op: CompareOp) -> Expr {
        if let Some(known) = decided(&a.range, &b.range, op) {
            return Expr::bit(known);
        }
        let (x, y, signed) = self.common(a, b, 0);
        let (op, x, y) = match (op, signed) {
            (CompareOp::Equal, _) => (rtl::CompareOp::Equal, x, y),
            (CompareOp::NotEqual, _) => (rtl::CompareOp::NotEqual, x, y),
            (CompareOp::Less, false) => (rtl::CompareOp::Less, x, y),
            (CompareOp::LessEqual, false) => (rtl::CompareOp::LessEqual, x, y),
            (CompareOp::Greater, false) => (rtl::CompareOp::Less, y, x),
            (CompareOp::GreaterEqual, false) => (rtl::CompareOp::LessEqual, y, x),
            (CompareOp::Less, true) => (rtl::CompareOp::LessSigned, x, y),
            (CompareOp::LessEqual, true) => (rtl::CompareOp::LessEqualSigned, x, y),
            (CompareOp::Greater, true) => (rtl::CompareOp::LessSigned, y, x),
            (CompareOp::GreaterEqual, true) => (rtl::CompareOp::LessEqualSigned, y, x),
        };
        Expr::compare(op, x, y)
    }
}
