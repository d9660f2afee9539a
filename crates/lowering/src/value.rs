//! Lowering of scalar expressions. Scalar expressions of all kinds but wide integers: booleans, reals, texts, choices.
//!
//! What an expression needs first (calls, integers beyond 64 bits) goes before it as statements; where it is evaluated on a
//! condition only, these stand inside an `If`. Everything else is total, so it may be evaluated anyway.

use crate::annotated::Node;
use crate::annotated::decided;
use crate::code::Code;
use crate::machine::{holding, machine};
use headrace_ir::{self as ir, ExprKind, RealOp, RealType, Scalar};
use headrace_program::{BinaryOp, CompareOp, Expr, ExprKind as ProgramKind, Place, Stmt, Type, UnaryOp};

fn comparison(op: ir::CompareOp) -> CompareOp {
    match op {
        ir::CompareOp::Equal => CompareOp::Equal,
        ir::CompareOp::NotEqual => CompareOp::NotEqual,
        ir::CompareOp::Less => CompareOp::Less,
        ir::CompareOp::LessEqual => CompareOp::LessEqual,
        ir::CompareOp::Greater => CompareOp::Greater,
        ir::CompareOp::GreaterEqual => CompareOp::GreaterEqual,
    }
}

impl Code<'_, '_> {
    /// A boolean, real (as `F64`) or text expression; an integer in a type that holds it.
    pub(crate) fn value(&mut self, node: &Node<'_>) -> Expr {
        match &node.expr.kind {
            ExprKind::Bool(value) => Expr::bool(*value),
            ExprKind::Real(value, _) => Expr::real(*value),
            ExprKind::String(text) => Expr::u32(self.building.text(text)),
            ExprKind::Load(place) => match self.type_of(place.root).element {
                Scalar::Int(_) => self.exact(node),
                scalar => {
                    let kept = self.load(place);
                    self.unstored(kept, scalar)
                }
            },
            ExprKind::Call(procedure, arguments) => match self.scalar_of(node.expr) {
                Some(scalar @ (Scalar::Bool | Scalar::Real(_) | Scalar::String)) => {
                    let returned = self.call_expression(*procedure, arguments);
                    self.unstored(returned, scalar)
                }
                _ => self.exact(node),
            },
            ExprKind::Not(_) => self.value(&node.kids[0]).negated(),
            ExprKind::And(..) | ExprKind::Or(..) => self.short_circuit(node),
            ExprKind::Compare(op, _, _) => self.compare(node, *op),
            ExprKind::If(..) => match self.scalar_of(node.expr) {
                Some(Scalar::Bool) => self.choose(node, Type::Bool, &mut |code, branch| code.value(branch)),
                Some(Scalar::Real(_)) => self.choose(node, Type::F64, &mut |code, branch| code.value(branch)),
                Some(Scalar::String) => self.choose(node, Type::U32, &mut |code, branch| code.value(branch)),
                _ => self.exact(node),
            },
            ExprKind::IntToReal(ty, _) => self.int_to_real(&node.kids[0], *ty),
            ExprKind::RealToReal(ty, _) => {
                let x = self.value(&node.kids[0]);
                self.rounded(x, *ty)
            }
            ExprKind::RealNegate(_) => Expr::unary(UnaryOp::Negate, self.value(&node.kids[0])),
            ExprKind::RealBinary(ty, op, _, _) => {
                let a = self.value(&node.kids[0]);
                let b = self.value(&node.kids[1]);
                let op = match op {
                    RealOp::Add => BinaryOp::Add,
                    RealOp::Sub => BinaryOp::Sub,
                    RealOp::Mul => BinaryOp::Mul,
                    RealOp::Div => BinaryOp::Div,
                };
                self.rounded(Expr::binary(op, a, b), *ty)
            }
            ExprKind::Concat(_) => {
                let what = "a text put together while the program runs and not printed at once";
                self.building.unsupported(node.expr.span, what);
                Expr::u32(0)
            }
            _ => self.exact(node),
        }
    }

    /// What a variable or element of the type keeps, as it is computed with.
    pub(crate) fn unstored(&mut self, kept: Expr, scalar: Scalar) -> Expr {
        match scalar {
            Scalar::Real(RealType::Half) => self.half_value(kept),
            Scalar::Real(RealType::Float) => kept.to(Type::F64),
            _ => kept,
        }
    }

    /// The value of an expression as a variable of the type keeps it; not for wide integers.
    pub(crate) fn stored_value(&mut self, node: &Node<'_>, scalar: Scalar) -> Expr {
        match scalar {
            Scalar::Int(ty) if holding(&node.range).is_none_or(|own| own.bits() > machine(scalar).bits().max(32)) => {
                // It fits the type, so its low bits are all of it.
                let class = crate::machine::class(ty.width);
                self.low(node, class).to(machine(scalar))
            }
            Scalar::Int(_) => self.exact(node).to(machine(scalar)),
            _ => {
                let value = self.value(node);
                self.stored(value, scalar)
            }
        }
    }

    fn short_circuit(&mut self, node: &Node<'_>) -> Expr {
        let is_and = matches!(node.expr.kind, ExprKind::And(..));
        let a = self.value(&node.kids[0]);
        let (b, before) = self.inside(|code| code.value(&node.kids[1]));
        if before.is_empty() {
            return if is_and { a.and(b) } else { a.or(b) };
        }
        let holds = self.f.scalar("holds", Type::Bool);
        self.f.assign(holds, a);
        let holds_now = self.f.read(holds);
        let mut block = before;
        block.push(Stmt::Assign(Place::variable(holds), b));
        let condition = if is_and { holds_now.clone() } else { holds_now.clone().negated() };
        self.push(Stmt::If(condition, block, Vec::new()));
        holds_now
    }

    /// One of two branches, each made by `branch` in the type.
    pub(crate) fn choose(
        &mut self,
        node: &Node<'_>,
        ty: Type,
        branch: &mut dyn FnMut(&mut Self, &Node<'_>) -> Expr,
    ) -> Expr {
        let condition = self.value(&node.kids[0]);
        let (yes, mut before_yes) = self.inside(|code| branch(code, &node.kids[1]));
        let (no, mut before_no) = self.inside(|code| branch(code, &node.kids[2]));
        if before_yes.is_empty() && before_no.is_empty() {
            return Expr::select(condition, yes, no);
        }
        let chosen = self.f.scalar("chosen", ty);
        before_yes.push(Stmt::Assign(Place::variable(chosen), yes));
        before_no.push(Stmt::Assign(Place::variable(chosen), no));
        self.push_if(condition, before_yes, before_no);
        self.f.read(chosen)
    }

    fn compare(&mut self, node: &Node<'_>, op: ir::CompareOp) -> Expr {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let kind = self.scalar_of(a.expr).or_else(|| self.scalar_of(b.expr));
        if let Some(Scalar::String | Scalar::Bool | Scalar::Real(_)) = kind {
            let (x, y) = (self.value(a), self.value(b));
            return Expr::compare(comparison(op), x, y);
        }
        if let Some(known) = decided(&a.range, &b.range, op) {
            return Expr::bool(known);
        }
        let both = a.range.join(&b.range);
        match holding(&both) {
            Some(ty) => {
                let (x, y) = (self.low(a, ty), self.low(b, ty));
                Expr::compare(comparison(op), x, y)
            }
            None => {
                let mut small = |code: &mut Self, node: &Node<'_>| code.compare(node, op);
                let mut general = |code: &mut Self, node: &Node<'_>| code.compare_wide(node, op);
                self.by_counts(node, Type::Bool, &mut small, &mut general).unwrap_or_else(|| general(self, node))
            }
        }
    }

    fn compare_wide(&mut self, node: &Node<'_>, op: ir::CompareOp) -> Expr {
        let (a, b) = (&node.kids[0], &node.kids[1]);
        let words = u32::try_from(a.range.join(&b.range).signed_bits().div_ceil(32)).unwrap_or(u32::MAX);
        let x = self.wide(a, words);
        let y = self.wide(b, words);
        let order = self.wide_compare(x, y, words);
        Expr::compare(comparison(op), order, Expr { kind: ProgramKind::Constant(0), ty: Type::I32 })
    }
}
