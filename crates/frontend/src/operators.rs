//! Operators: what they apply to, what their results are by the table, and what they need exactly.

use crate::body::{Operand, Typed};
use crate::builder::Builder;
use crate::fold::arithmetic_slug;
use crate::lists::short;
use crate::types::{Bounds, Elem, Ty, UNKNOWN, wider};
use headrace_ir as ir;
use headrace_ir::eval::{compare, int_binary, real_binary};
use headrace_ir::{BinaryOp, CompareOp, Expr, ExprKind, Int, PrintOperand, RealOp, RealType, StmtKind, Value};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

impl Builder<'_> {
    pub fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Typed {
        if op == ast::UnaryOp::Length {
            return self.length(operand, span);
        }
        let typed = self.expr(operand);
        if typed.ty.is_poison() {
            return Typed::poison(span);
        }
        if typed.ty.is_list() {
            self.mismatch(&typed, "a single value");
            return Typed::poison(span);
        }
        match (op, typed.ty.elem) {
            (ast::UnaryOp::Not, Elem::Bool) => {
                let expr = self.take(typed);
                let kind = match expr.kind {
                    ExprKind::Bool(value) => ExprKind::Bool(!value),
                    _ => ExprKind::Not(Box::new(expr)),
                };
                Typed::scalar(kind, Ty::BOOL, span)
            }
            (ast::UnaryOp::Minus, Elem::Int(table)) => {
                if let Some(value) = typed.as_int() {
                    return Typed::literal(value.neg(), table.table_neg(), span);
                }
                let (bounds, widened) = (typed.bounds.exact_neg(), typed.widened);
                let expr = self.take(typed);
                let result = Typed::int(ExprKind::Negate(Box::new(expr)), table.table_neg(), bounds, span);
                Typed { widened, ..result }
            }
            (ast::UnaryOp::Minus, Elem::Real(_)) => {
                let ty = typed.ty.clone();
                let expr = self.take(typed);
                let kind = match expr.kind {
                    ExprKind::Real(value, real) => ExprKind::Real(-value, real),
                    _ => ExprKind::RealNegate(Box::new(expr)),
                };
                Typed { value: Operand::Scalar(Expr { kind, span }), ..Typed::of_type(ty, span) }
            }
            (ast::UnaryOp::BitNot, Elem::Int(table)) => {
                if let Some(value) = typed.as_int() {
                    return Typed::literal(value.complement(), table, span);
                }
                let bounds = typed.bounds;
                let widened = if table.is_known() && !table.signed { Some((span, table.width)) } else { typed.widened };
                let expr = self.take(typed);
                let kind = ExprKind::Complement(Box::new(expr));
                Typed { widened, ..Typed::int(kind, table, bounds.exact_complement(), span) }
            }
            (ast::UnaryOp::Not, _) => self.mismatch(&typed, "a `bool`"),
            _ => {
                let wanted = if op == ast::UnaryOp::Minus { "a number" } else { "an integer" };
                self.mismatch(&typed, wanted)
            }
        }
    }

    fn length(&mut self, operand: &ast::Expr, span: Span) -> Typed {
        let ty = self.unreached(|this| this.expr(operand).ty);
        match ty.dims.first() {
            Some(&UNKNOWN) => {
                self.taint += 1;
                let mut typed = Typed::of_type(Ty::int(Bounds::UNKNOWN), span);
                typed.bounds = Bounds::UNKNOWN;
                typed
            }
            Some(&size) => {
                let value = Int::from(u64::from(size));
                let bounds = Bounds::of(&value);
                Typed::literal(value, bounds, span)
            }
            None => self.mismatch(&Typed { span: operand.span, ..Typed::of_type(ty, span) }, "a list"),
        }
    }

    /// As the direct left operand of `>>` and as an operand of a comparison, the complement of an unsigned variable,
    /// element or call has the width of what is complemented.
    fn complement_in_width(&mut self, operand: &ast::Expr) -> Typed {
        let typed = self.expr(operand);
        let ast::ExprKind::Unary { op: ast::UnaryOp::BitNot, operand: inner } = &operand.kind else {
            return typed;
        };
        let named =
            matches!(inner.kind, ast::ExprKind::Var(_) | ast::ExprKind::Index { .. } | ast::ExprKind::Call { .. });
        match typed.ty.elem {
            Elem::Int(bounds) if named && bounds.is_known() && !bounds.signed => {
                let (Some(int), span) = (bounds.int_type(), typed.span) else { return typed };
                if let Some(value) = typed.as_int() {
                    return Typed::literal(value.clone().wrap(int), bounds, span);
                }
                let expr = self.take(typed);
                Typed::int(crate::expr::wrap(expr, int).kind, bounds, bounds, span)
            }
            _ => typed,
        }
    }

    pub fn binary(&mut self, op: ast::BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Typed {
        use ast::BinaryOp as Op;
        match op {
            Op::And | Op::Or => return self.logical(op == Op::And, left, right, span),
            Op::Pow => {
                self.unreached(|this| {
                    this.expr(left);
                    this.expr(right);
                });
                self.report(
                    Diagnostic::error("power-unsupported", "`**` is not implemented")
                        .at(span, "has no meaning in RVC-CAL tools")
                        .help("multiply, or shift: `1 << n` is two to the power of n"),
                );
                return Typed::poison(span);
            }
            _ => {}
        }
        let comparison = comparison(op);
        let (l, r) = {
            let at = self.body.out.len();
            let effects = self.body.effects;
            let l =
                if comparison.is_some() || op == Op::Shr { self.complement_in_width(left) } else { self.expr(left) };
            let before_right = self.body.effects;
            let mark = self.body.out.len();
            let r = if comparison.is_some() { self.complement_in_width(right) } else { self.expr(right) };
            debug_assert!(at <= mark && effects <= before_right);
            let l = if self.body.effects != before_right { self.spill(l, mark) } else { l };
            (l, r)
        };
        if l.ty.is_poison() || r.ty.is_poison() {
            return Typed::poison(span);
        }
        for side in [&l, &r] {
            if side.ty.is_list() {
                let found = side.ty.to_string();
                self.error(
                    "type-mismatch",
                    format!("`{}` does not apply to whole lists", op.symbol()),
                    side.span,
                    format!("this is `{found}`"),
                );
                return Typed::poison(span);
            }
        }
        if let Some(comparison) = comparison {
            return self.compare(op, comparison, l, r, span);
        }
        match (l.ty.elem, r.ty.elem) {
            (Elem::Int(a), Elem::Int(b)) => self.int_operator(op, l, r, (a, b), span),
            (Elem::String, _) | (_, Elem::String) if op == Op::Add => self.concat(l, r, span),
            (Elem::Real(_) | Elem::Int(_), Elem::Real(_) | Elem::Int(_)) => self.real_operator(op, l, r, span),
            (Elem::Bool, Elem::Bool) if matches!(op, Op::BitAnd | Op::BitOr | Op::BitXor) => {
                let l = Box::new(self.take(l));
                let r = Box::new(self.take(r));
                let kind = match op {
                    Op::BitAnd => ExprKind::And(l, r),
                    Op::BitOr => ExprKind::Or(l, r),
                    _ => ExprKind::Compare(CompareOp::NotEqual, l, r),
                };
                Typed::scalar(kind, Ty::BOOL, span)
            }
            _ => self.operand_mismatch(op, &l, &r, span),
        }
    }

    fn operand_mismatch(&mut self, op: ast::BinaryOp, l: &Typed, r: &Typed, span: Span) -> Typed {
        let mut diagnostic = Diagnostic::error(
            "type-mismatch",
            format!("`{}` does not apply to `{}` and `{}`", op.symbol(), l.ty, r.ty),
        )
        .at(span, "")
        .also(l.span, format!("this is `{}`", l.ty))
        .also(r.span, format!("this is `{}`", r.ty));
        if matches!(op, ast::BinaryOp::BitAnd | ast::BinaryOp::BitOr | ast::BinaryOp::BitXor) {
            diagnostic = diagnostic.help(format!("`{}` binds weaker than comparisons: add parentheses", op.symbol()));
        }
        self.report(diagnostic);
        Typed::poison(span)
    }

    fn logical(&mut self, and: bool, left: &ast::Expr, right: &ast::Expr, span: Span) -> Typed {
        let left = self.condition(left);
        if let ExprKind::Bool(value) = left.kind
            && value != and
        {
            // The right operand is never evaluated.
            self.unreached(|this| this.condition(right));
            return Typed::scalar(ExprKind::Bool(value), Ty::BOOL, span);
        }
        let (stmts, right) = self.block(|this| this.condition(right));
        if let ExprKind::Bool(_) = left.kind {
            self.body.out.extend(stmts);
            return Typed::scalar(right.kind, Ty::BOOL, span);
        }
        if stmts.is_empty() {
            let (left, right) = (Box::new(left), Box::new(right));
            let kind = if and { ExprKind::And(left, right) } else { ExprKind::Or(left, right) };
            return Typed::scalar(kind, Ty::BOOL, span);
        }
        let result = self.temporary(Ty::BOOL);
        let place = Self::local_place(result, span);
        self.emit(StmtKind::Assign(place.clone(), left), span);
        let mut more = stmts;
        more.push(ir::Stmt { kind: StmtKind::Assign(place.clone(), right), span });
        let test = Expr { kind: ExprKind::Load(place.clone()), span };
        let choice = if and { StmtKind::If(test, more, Vec::new()) } else { StmtKind::If(test, Vec::new(), more) };
        self.emit(choice, span);
        Typed::scalar(ExprKind::Load(place), Ty::BOOL, span)
    }

    /// Keeps the value of an operand that was lowered before statements with effects: they must not change it.
    pub fn spill(&mut self, typed: Typed, mark: usize) -> Typed {
        let Typed { value: Operand::Scalar(expr), ty, bounds, widened, span } = typed else {
            return typed;
        };
        if crate::body::is_literal(&expr) {
            return Typed { value: Operand::Scalar(expr), ty, bounds, widened, span };
        }
        let storage = match ty.elem {
            Elem::Int(_) if bounds.width <= ir::MAX_WIDTH => Ty::int(bounds),
            // Wider than any variable: a value of such width cannot be kept, and its operands stay where they are.
            Elem::Int(_) => return Typed { value: Operand::Scalar(expr), ty, bounds, widened, span },
            elem => Ty::scalar(elem),
        };
        let local = self.temporary(storage);
        let place = Self::local_place(local, span);
        let stmt = ir::Stmt { kind: StmtKind::Assign(place.clone(), expr), span };
        self.body.out.insert(mark.min(self.body.out.len()), stmt);
        Typed { value: Operand::Scalar(Expr { kind: ExprKind::Load(place), span }), ty, bounds, widened, span }
    }

    fn compare(&mut self, op: ast::BinaryOp, comparison: CompareOp, l: Typed, r: Typed, span: Span) -> Typed {
        let equality = matches!(comparison, CompareOp::Equal | CompareOp::NotEqual);
        let (l, r) = match (l.ty.elem, r.ty.elem) {
            (Elem::Int(_), Elem::Int(_)) => {
                self.whole(&l);
                self.whole(&r);
                (self.take(l), self.take(r))
            }
            (Elem::Real(_) | Elem::Int(_), Elem::Real(_) | Elem::Int(_)) => {
                let real = real_type(&l, &r);
                (self.convert(l, Elem::Real(real), "the operand"), self.convert(r, Elem::Real(real), "the operand"))
            }
            (Elem::Bool, Elem::Bool) | (Elem::String, Elem::String) if equality => (self.take(l), self.take(r)),
            _ => return self.operand_mismatch(op, &l, &r, span),
        };
        if let (Some(a), Some(b)) = (value_of(&l), value_of(&r))
            && let Some(value) = compare(comparison, &a, &b)
        {
            return Typed::scalar(ExprKind::Bool(value), Ty::BOOL, span);
        }
        Typed::scalar(ExprKind::Compare(comparison, Box::new(l), Box::new(r)), Ty::BOOL, span)
    }

    fn int_operator(&mut self, op: ast::BinaryOp, l: Typed, r: Typed, (a, b): (Bounds, Bounds), span: Span) -> Typed {
        use ast::BinaryOp as Op;
        if matches!(op, Op::Shl | Op::Shr | Op::Div | Op::DivInt | Op::Mod) {
            self.whole(&r);
            if op != Op::Shl {
                self.whole(&l);
            }
            if let Some(count) = r.as_int()
                && self.dead == 0
            {
                if op == Op::Shl && count.is_negative() {
                    return self.shift_back(l, &count.clone(), r.span, a, span);
                }
                let error = match op {
                    Op::Shr if count.is_negative() => Some(ir::ArithmeticError::NegativeShift),
                    Op::Div | Op::DivInt if *count == Int::ZERO => Some(ir::ArithmeticError::DivisionByZero),
                    Op::Mod if *count <= Int::ZERO => Some(ir::ArithmeticError::ModulusNotPositive),
                    _ => None,
                };
                if let Some(error) = error {
                    let label = format!("this is {}", short(count));
                    self.error(arithmetic_slug(error), error.to_string(), r.span, label);
                    return Typed { ty: Ty::int(a), ..Typed::poison(span) };
                }
            }
        }
        let (x, y) = (l.bounds, r.bounds);
        let (ir_op, table, bounds) = match op {
            Op::Add => (BinaryOp::Add, a.table_add(b), x.exact_add(y)),
            Op::Sub => (BinaryOp::Sub, a.table_sub(b), x.exact_sub(y)),
            Op::Mul => (BinaryOp::Mul, a.table_mul(b), x.exact_mul(y)),
            Op::Div | Op::DivInt => (BinaryOp::Div, a, x.exact_div(y)),
            Op::Mod => (BinaryOp::Mod, b, y.exact_mod(y)),
            Op::Shr => (BinaryOp::ShiftRight, a, x),
            Op::BitAnd => (BinaryOp::And, a.glb(b), x.exact_and(y)),
            Op::BitOr => (BinaryOp::Or, a.lub(b), x.exact_union(y)),
            Op::BitXor => (BinaryOp::Xor, a.lub(b), x.exact_union(y)),
            Op::Shl => return self.shift_left(l, r, a.table_shl(b), span),
            _ => return Typed::poison(span),
        };
        let widened = match op {
            Op::Add | Op::Sub | Op::Mul | Op::BitOr | Op::BitXor => first_widened(&l, &r),
            // A mask that reaches no further than the operand leaves nothing of the sign.
            Op::BitAnd => first_widened(&l, &r).filter(|&(_, bits)| {
                let masked = |bounds: Bounds| bounds.is_known() && !bounds.signed && bounds.width <= bits;
                let literal = l.as_int().is_some() || r.as_int().is_some();
                !masked(x) && !masked(y) && !literal
            }),
            _ => None,
        };
        if let (Some(p), Some(q)) = (l.as_int(), r.as_int())
            && p.magnitude_bits() + q.magnitude_bits() < 1 << 20
        {
            // The operand that is at fault was looked at above.
            return match int_binary(ir_op, p, q) {
                Ok(value) => Typed::literal(value, table, span),
                Err(_) => Typed { ty: Ty::int(table), ..Typed::poison(span) },
            };
        }
        let l = Box::new(self.take(l));
        let r = Box::new(self.take(r));
        Typed { widened, ..Typed::int(ExprKind::Binary(ir_op, l, r), table, bounds, span) }
    }

    /// A left shift by a constant count below zero, which shifts to the right.
    fn shift_back(&mut self, l: Typed, count: &Int, at: Span, table: Bounds, span: Span) -> Typed {
        self.report(
            Diagnostic::warning("negative-shift", "left shift by a negative count")
                .at(
                    at,
                    format!("this is {}: the value is shifted to the right by {}", short(count), short(&count.neg())),
                )
                .help("write `>>` where that is meant"),
        );
        self.whole(&l);
        let count = count.neg();
        if let Some(value) = l.as_int() {
            return match value.shr(&count) {
                Ok(value) => Typed::literal(value, table, span),
                Err(_) => Typed { ty: Ty::int(table), ..Typed::poison(span) },
            };
        }
        let bounds = l.bounds;
        let l = Box::new(self.take(l));
        let count = Box::new(Expr { kind: ExprKind::Int(count), span: at });
        Typed::int(ExprKind::Binary(BinaryOp::ShiftRight, l, count), table, bounds, span)
    }

    fn shift_left(&mut self, l: Typed, r: Typed, table: Bounds, span: Span) -> Typed {
        let Some(int) = table.int_type() else {
            self.taint += 1;
            let mut typed = Typed::of_type(Ty::int(table), span);
            typed.bounds = table;
            return typed;
        };
        let bounds = l.bounds.exact_shl(r.bounds, r.as_int());
        if let (Some(p), Some(q)) = (l.as_int(), r.as_int())
            && let Ok(value) = p.shl(q, crate::shifts::whole(int, l.bounds))
        {
            let table = if Bounds::of(&value).fits(int) { table } else { table.lub(Bounds::of(&value)) };
            return Typed::literal(value, table, span);
        }
        if self.session.orcc_widths
            && l.as_int().is_none()
            && let Elem::Int(own) = l.ty.elem
            && let Some(kept) = crate::shifts::in_machine_type(own)
        {
            let widened = l.widened;
            let l = Box::new(self.take(l));
            let r = Box::new(self.take(r));
            return Typed { widened, ..Typed::int(ExprKind::ShiftLeft(kept, l, r), kept.into(), kept.into(), span) };
        }
        let widened = l.widened;
        let fits = bounds.fits(int) && r.as_int().is_none_or(|count| *count <= Int::from(i64::from(ir::MAX_SHIFT)));
        let ty = if fits { int } else { crate::shifts::whole(int, l.bounds) };
        let table = if fits || r.as_int().is_none() { table } else { table.lub(bounds) };
        let l = Box::new(self.take(l));
        let r = Box::new(self.take(r));
        Typed { widened, ..Typed::int(ExprKind::ShiftLeft(ty, l, r), table, bounds, span) }
    }

    fn real_operator(&mut self, op: ast::BinaryOp, l: Typed, r: Typed, span: Span) -> Typed {
        let op_real = match op {
            ast::BinaryOp::Add => RealOp::Add,
            ast::BinaryOp::Sub => RealOp::Sub,
            ast::BinaryOp::Mul => RealOp::Mul,
            ast::BinaryOp::Div => RealOp::Div,
            _ => return self.operand_mismatch(op, &l, &r, span),
        };
        let real = real_type(&l, &r);
        let ty = Ty::scalar(Elem::Real(real));
        // Two literals stay exact until something gives them a format.
        if let (Some(Value::Real(a)), Some(Value::Real(b))) = (real_literal(&l), real_literal(&r)) {
            let value = real_binary(RealType::Double, op_real, a, b);
            return Typed::scalar(ExprKind::Real(value, RealType::Double), ty, span);
        }
        let l = Box::new(self.convert(l, Elem::Real(real), "the operand"));
        let r = Box::new(self.convert(r, Elem::Real(real), "the operand"));
        Typed::scalar(ExprKind::RealBinary(real, op_real, l, r), ty, span)
    }

    fn concat(&mut self, l: Typed, r: Typed, span: Span) -> Typed {
        let mut pieces = Vec::new();
        for side in [l, r] {
            let elem = side.ty.elem;
            if let Some(piece) = self.piece(side) {
                match (piece, elem) {
                    (PrintOperand { value: Expr { kind: ExprKind::Concat(inner), .. }, .. }, Elem::String) => {
                        pieces.extend(inner);
                    }
                    (piece, _) => pieces.push(piece),
                }
            }
        }
        let texts: Option<Vec<String>> = pieces
            .iter()
            .map(|piece| value_of(&piece.value).and_then(|value| ir::eval::show(&value, piece.kind)))
            .collect();
        let kind = match texts {
            Some(texts) if texts.iter().map(String::len).sum::<usize>() <= 1 << 20 => ExprKind::String(texts.concat()),
            _ => ExprKind::Concat(pieces),
        };
        Typed::scalar(kind, Ty::STRING, span)
    }

    /// A scalar as something to print.
    pub fn piece(&mut self, typed: Typed) -> Option<PrintOperand> {
        if typed.ty.is_poison() {
            return None;
        }
        if typed.ty.is_list() {
            self.mismatch(&typed, "a single value");
            return None;
        }
        self.whole(&typed);
        let kind = match (typed.ty.elem, typed.bounds.int_type()) {
            (Elem::Int(_), Some(int)) => ir::Scalar::Int(int),
            (Elem::Int(_), None) => ir::Scalar::Int(ir::IntType::signed(32)),
            (Elem::Real(_), _) => match &typed.value {
                Operand::Scalar(Expr { kind: ExprKind::Real(_, real), .. }) => ir::Scalar::Real(*real),
                _ => typed.ty.elem.known()?,
            },
            (elem, _) => elem.known()?,
        };
        Some(PrintOperand { value: self.take(typed), kind })
    }
}

fn real_type(l: &Typed, r: &Typed) -> RealType {
    match (l.ty.elem, r.ty.elem) {
        // A literal takes the format of the other side.
        (Elem::Real(a), Elem::Real(b)) => match (real_literal(l), real_literal(r)) {
            (Some(_), None) => b,
            (None, Some(_)) => a,
            _ => wider(a, b),
        },
        (Elem::Real(a), _) | (_, Elem::Real(a)) => a,
        _ => RealType::Double,
    }
}

fn real_literal(typed: &Typed) -> Option<Value> {
    match &typed.value {
        Operand::Scalar(Expr { kind: ExprKind::Real(value, RealType::Double), .. })
            if typed.ty.elem == Elem::Real(RealType::Float) =>
        {
            Some(Value::Real(*value))
        }
        _ => None,
    }
}

pub(crate) fn first_widened(l: &Typed, r: &Typed) -> Option<(Span, u32)> {
    match (l.widened, r.widened) {
        (Some(a), Some(b)) => Some(if a.1 <= b.1 { a } else { b }),
        (a, b) => a.or(b),
    }
}

fn value_of(expr: &Expr) -> Option<Value> {
    Some(match &expr.kind {
        ExprKind::Int(value) => Value::Int(value.clone()),
        ExprKind::Bool(value) => Value::Bool(*value),
        ExprKind::Real(value, _) => Value::Real(*value),
        ExprKind::String(text) => Value::String(text.clone()),
        _ => return None,
    })
}

fn comparison(op: ast::BinaryOp) -> Option<CompareOp> {
    Some(match op {
        ast::BinaryOp::Eq => CompareOp::Equal,
        ast::BinaryOp::Ne => CompareOp::NotEqual,
        ast::BinaryOp::Lt => CompareOp::Less,
        ast::BinaryOp::Le => CompareOp::LessEqual,
        ast::BinaryOp::Gt => CompareOp::Greater,
        ast::BinaryOp::Ge => CompareOp::GreaterEqual,
        _ => return None,
    })
}
