//! Demanded-bits narrowing of left shifts. Each is made only as wide as its value is needed.
//!
//! A shift is exact. What is stored keeps only the lowest bits of it, whatever the count is; so a shift under sums, products
//! and logic that go to a store is made as wide as that store. Everywhere else the value as a whole counts, and a count above
//! [`MAX_SHIFT`] has no result: the representation has a type for it that is wider than every variable.

use crate::builder::Builder;
use crate::types::Bounds;
use headrace_ir::{BinaryOp, Expr, ExprKind, Int, IntType, MAX_SHIFT, MAX_WIDTH, Root};
use headrace_source::{Diagnostic, Span};

/// Bits by which the language's table of result types widens a left shift at most.
const TABLE_BITS: u32 = 63;

/// The type of a shift whose value as a whole counts. Its width tells how wide the shifted value is, which can be negative where
/// the table's type cannot: a quotient has the type of what is divided.
pub(crate) fn whole(table: IntType, shifted: Bounds) -> IntType {
    IntType { signed: table.signed || shifted.signed, width: MAX_WIDTH.saturating_add(shifted.width) }
}

/// The type that C code of Orcc shifts a value in where that has more than 32 bits. `None` for less, of which programs shift bits
/// up to where they store 64, as to the sign of a real, though C has no value for that.
pub(crate) fn in_machine_type(shifted: Bounds) -> Option<IntType> {
    matches!(shifted.width, 33..=64).then_some(IntType { signed: shifted.signed, width: 64 })
}

impl Builder<'_> {
    /// How many bits shifts need to have for a store of so many. While a constant is computed it is all that any store has:
    /// what does not fit into the type is to be seen.
    pub fn stored_bits(&self, bits: u32) -> u32 {
        if self.body.constant_from.is_some() { MAX_WIDTH } else { bits }
    }

    /// Makes shifts only as wide as a store of so many bits needs them; true when there were any that are wider.
    pub fn narrow_shifts(&self, expr: &mut Expr, bits: u32) -> bool {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match &mut expr.kind {
            ExprKind::Negate(x) | ExprKind::Complement(x) => self.narrow_shifts(x, bits),
            ExprKind::Binary(op, x, y) => match op {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                    let first = self.narrow_shifts(x, bits);
                    self.narrow_shifts(y, bits) || first
                }
                BinaryOp::Div | BinaryOp::Mod | BinaryOp::ShiftRight => false,
            },
            ExprKind::If(_, x, y) => {
                let first = self.narrow_shifts(x, bits);
                self.narrow_shifts(y, bits) || first
            }
            ExprKind::ShiftLeft(ty, x, count) => {
                let wide = ty.width > MAX_WIDTH;
                if wide {
                    ty.width = (ty.width - MAX_WIDTH + TABLE_BITS).clamp(bits, MAX_WIDTH);
                }
                // By a negative count, upper bits of what is shifted come down.
                let inner = self.is_non_negative(count) && self.narrow_shifts(x, bits);
                wide || inner
            }
            _ => false,
        })
    }

    /// True when an expression is surely not below zero.
    fn is_non_negative(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Int(value) => !value.is_negative(),
            ExprKind::Wrap(ty, _) => !ty.signed,
            ExprKind::Load(place) => {
                let ty = match place.root {
                    Root::Local(id) => self.body.locals.get(id.index()).map(|local| &local.ty),
                    Root::Actor(id) => self.variables.get(id.index()).map(|slot| &slot.ir_ty),
                };
                ty.and_then(|ty| ty.element.as_int()).is_some_and(|ty| !ty.signed)
            }
            ExprKind::Binary(BinaryOp::Mod, ..) => true,
            ExprKind::Binary(BinaryOp::And, x, y) => self.is_non_negative(x) || self.is_non_negative(y),
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Or, x, y) => {
                self.is_non_negative(x) && self.is_non_negative(y)
            }
            ExprKind::Binary(BinaryOp::ShiftRight, x, _) => self.is_non_negative(x),
            _ => false,
        }
    }

    /// Reports a shift by a constant count that has no result, where the value as a whole is used.
    pub fn check_far_shifts(&mut self, expr: &Expr) {
        let mut queue = vec![expr];
        let mut far: Option<(Span, Int)> = None;
        while let Some(expr) = queue.pop() {
            if let ExprKind::ShiftLeft(ty, _, count) = &expr.kind
                && let ExprKind::Int(count) = &count.kind
                && ty.width > MAX_WIDTH
                && *count > Int::from(i64::from(MAX_SHIFT))
            {
                far = Some((expr.span, count.clone()));
            }
            queue.extend(expr.parts());
        }
        if let Some((span, count)) = far
            && self.dead == 0
        {
            self.report(
                Diagnostic::error(
                    "shift-too-far",
                    "left shift by too large a count, of which the value as a whole is used",
                )
                .at(span, format!("shifted by {}, and at most {MAX_SHIFT} are possible", crate::lists::short(&count)))
                .help("store the value first: a variable keeps the lowest bits, whatever the count is"),
            );
        }
    }
}
