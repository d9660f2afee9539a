//! Code generation for multi-word arithmetic. Integers beyond 64 bits: computed by the functions of `headrace_wide.h` on arrays
//! of words.

use super::Code;
use super::node::Node;
use super::value::{Kind, Value};
use crate::c::ctype::{self, Repr, words_of};
use crate::c::text::{Declared, Name, Text, text};
use headrace_ir::{BinaryOp, ExprKind, Int, IntType, Scalar};

/// Longest intermediate result, in words.
const MAX_WORDS: u32 = 2048;

/// Words of a constant that are written out even where most of them are zero.
const MAX_WRITTEN_WORDS: u32 = 16;

impl Code<'_> {
    /// A pointer to `words` words that are the expression modulo 2^(32 words): two's complement, so the exact value
    /// when it fits. What it points to must not be written.
    pub fn wide(&mut self, node: &Node<'_>, words: u32) -> Text {
        if words > MAX_WORDS {
            self.unsupported(node.expr.span, "integers of more than 65536 bits");
            return "NULL".into();
        }
        // A small number in many words is not written out.
        let many = words > MAX_WRITTEN_WORDS && Repr::holding(&node.range).is_some();
        if let Some(value) = node.range.single().filter(|_| !node.can_stop && !many) {
            return self.wide_constant(value, words);
        }
        if let Some(repr) = Repr::holding(&node.range) {
            let value = self.exact(node).to(repr);
            let (function, ty) = if repr.is_signed() { ("from_i64", Repr::I64) } else { ("from_u64", Repr::U64) };
            let name = self.array("wide", words);
            self.line(text!["hr_wide_", function, "(", name, ", ", words, ", ", value.to(ty).text, ");"]);
            return text![name];
        }
        self.wide_operation(node, words)
    }

    /// As [`Code::wide`], by the operation itself: what calls this could not compute the value in less, even where the
    /// value fits in less.
    pub fn wide_operation(&mut self, node: &Node<'_>, words: u32) -> Text {
        match &node.expr.kind {
            ExprKind::Int(value) => self.wide_constant(value, words),
            ExprKind::Load(place) => {
                let Scalar::Int(ty) = self.type_of(place.root).element else { return self.wide_malformed(node) };
                let text = self.place(place);
                self.resized(&text, ctype::storage_words(ty).unwrap_or(1), words, ty.signed)
            }
            ExprKind::Call(procedure, arguments) => {
                let Some(Scalar::Int(ty)) = self.scalar_of(node) else { return self.wide_malformed(node) };
                let have = ctype::storage_words(ty).unwrap_or(1);
                let text = self.call_wide(procedure.index(), arguments, have);
                self.resized(&text![text], have, words, ty.signed)
            }
            ExprKind::Negate(_) => self.wide_unary(node, "neg", words),
            ExprKind::Complement(_) => self.wide_unary(node, "not", words),
            ExprKind::Binary(op, _, _) => self.wide_binary(node, *op, words),
            ExprKind::Wrap(ty, _) => self.wide_wrapped(node, *ty, words),
            ExprKind::ShiftLeft(ty, _, _) => self.wide_shift_left(node, *ty, words),
            ExprKind::If(..) => {
                let condition = self.value(&node.kids[0]);
                let name = self.array("chosen", words);
                self.open(text!["if ", condition.in_parentheses(), " {"]);
                let yes = self.wide(&node.kids[1], words);
                self.line(text!["hr_wide_copy(", Declared(&name), ", ", yes, ", ", words, ");"]);
                self.reopen("} else {");
                let no = self.wide(&node.kids[2], words);
                self.line(text!["hr_wide_copy(", Declared(&name), ", ", no, ", ", words, ");"]);
                self.close("}");
                text![name]
            }
            _ => self.wide_malformed(node),
        }
    }

    fn wide_malformed(&mut self, node: &Node<'_>) -> Text {
        self.malformed(node);
        "NULL".into()
    }

    fn array(&mut self, like: &str, words: u32) -> Name {
        let name = self.temporary(like);
        self.declare_temporary(&name, text!["uint32_t ", Declared(&name), "[", words, "];"]);
        name
    }

    fn wide_constant(&mut self, value: &Int, words: u32) -> Text {
        let name = self.temporary("constant");
        self.declare_temporary(
            &name,
            text!["const uint32_t ", Declared(&name), "[", words, "] = {", words_of(value, words), "};"],
        );
        text![name]
    }

    fn resized(&mut self, text: &Text, have: u32, words: u32, signed: bool) -> Text {
        if have >= words {
            return text.clone();
        }
        let name = self.array("wide", words);
        self.line(text!["hr_wide_resize(", name, ", ", words, ", ", text, ", ", have, ", ", signed, ");"]);
        text![name]
    }

    fn wide_unary(&mut self, node: &Node<'_>, function: &str, words: u32) -> Text {
        let x = self.wide(&node.kids[0], words);
        let name = self.array("wide", words);
        self.line(text!["hr_wide_", function, "(", name, ", ", x, ", ", words, ");"]);
        text![name]
    }

    fn wide_binary(&mut self, node: &Node<'_>, op: BinaryOp, words: u32) -> Text {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let function = match op {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::And => "and",
            BinaryOp::Or => "or",
            BinaryOp::Xor => "xor",
            BinaryOp::Div | BinaryOp::Mod => return self.wide_division(node, op, words),
            BinaryOp::ShiftRight => {
                let have = exact_words(a).max(words);
                let x = self.wide(a, have);
                let count = self.shift_count(node, b);
                let name = self.array("wide", have);
                self.line(text!["hr_wide_shr(", name, ", ", x, ", ", have, ", ", count.text, ");"]);
                return text![name];
            }
        };
        let x = self.wide(a, words);
        let y = self.wide(b, words);
        let name = self.array("wide", words);
        self.line(text!["hr_wide_", function, "(", name, ", ", x, ", ", y, ", ", words, ");"]);
        text![name]
    }

    fn wide_division(&mut self, node: &Node<'_>, op: BinaryOp, words: u32) -> Text {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        // One bit more than the operands: the quotient of the least value by -1.
        let have = (exact_words(a).max(exact_words(b)) + 1).max(words);
        let x = self.wide(a, have);
        let y = self.wide(b, have);
        if self.checked() && b.range.low <= Int::ZERO && !(op == BinaryOp::Div && b.range.high.is_negative()) {
            self.check_wide(node.expr.span, op, &y, have);
        }
        let (function, factor) = if op == BinaryOp::Div { ("div", 3) } else { ("mod", 2) };
        let name = self.array("wide", have);
        let scratch = self.array("scratch", factor * have);
        self.line(text!["hr_wide_", function, "(", name, ", ", x, ", ", y, ", ", have, ", ", scratch, ");"]);
        text![name]
    }

    fn wide_wrapped(&mut self, node: &Node<'_>, ty: IntType, words: u32) -> Text {
        let x = &node.kids[0];
        if x.range.fits(ty) || words * 32 <= ty.width {
            return self.wide(x, words);
        }
        let own = ty.width.div_ceil(32);
        let have = own.max(words);
        let low = self.wide(x, own);
        let name = self.array("wide", have);
        self.line(text!["hr_wide_resize(", name, ", ", have, ", ", low, ", ", own, ", false);"]);
        self.line(text!["hr_wide_wrap(", name, ", ", have, ", ", ty.width, ", ", ty.signed, ");"]);
        text![name]
    }

    fn wide_shift_left(&mut self, node: &Node<'_>, ty: IntType, words: u32) -> Text {
        let (x, count) = (&node.kids[0], &node.kids[1]);
        let unwrapped = words * 32 <= ty.width || x.range.shift_left_fits(&count.range, ty);
        let mut have = if unwrapped { words } else { ty.width.div_ceil(32).max(words) };
        let either_way = count.range.low.is_negative();
        if either_way {
            // What is shifted out at the left may come back.
            have = have.max(exact_words(x));
        }
        let value = self.wide(x, have);
        let by = if either_way { self.signed_count(node, count) } else { self.left_count(node) };
        let name = self.array("wide", have);
        let function = if either_way { "shift" } else { "shl" };
        self.line(text!["hr_wide_", function, "(", name, ", ", value, ", ", have, ", ", by.text, ");"]);
        if !unwrapped {
            self.line(text!["hr_wide_wrap(", name, ", ", have, ", ", ty.width, ", ", ty.signed, ");"]);
        }
        text![name]
    }

    /// Stores a wide integer that the expression has: `target` points to the words of a variable of the type.
    pub fn store_wide(&mut self, target: &Text, node: &Node<'_>, ty: IntType) {
        let words = ctype::storage_words(ty).unwrap_or(1);
        let value = self.wide(node, words);
        if value != *target {
            self.line(text!["hr_wide_copy(", target.as_filled(), ", ", value, ", ", words, ");"]);
        }
    }

    /// A wide integer of a type as a [`Value`] of its low 64 bits, for narrowing conversions.
    pub fn low_of_words(pointer: &Text, words: u32) -> Value {
        Value::primary(text!["hr_wide_low(", pointer, ", ", words, ")"], Kind::Int(Repr::U64))
    }
}

/// Words that hold the exact value in two's complement.
pub fn exact_words(node: &Node<'_>) -> u32 {
    u32::try_from(node.range.signed_bits().div_ceil(32)).unwrap_or(u32::MAX).max(2)
}
