//! Scalar expressions: types by the table, exact values in the representation.

use crate::body::{Binding, Operand, Typed};
use crate::builder::{Builder, Resolved, VarValue};
use crate::fold::arithmetic_slug;
use crate::lists::short;
use crate::members::Member;
use crate::types::{Bounds, Elem, Ty, UNKNOWN, wider};
use headrace_ir as ir;
use headrace_ir::eval::{compare, int_binary, int_to_real, real_binary, round_real};
use headrace_ir::{
    BinaryOp, CompareOp, Expr, ExprKind, Int, Place, PrintOperand, RealOp, RealType, Root, StmtKind, Value,
};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

/// The largest number of `elsif` branches, which nest in the representation.
pub(crate) const MAX_BRANCHES: usize = 1000;

impl Builder<'_> {
    /// Lowers an expression. Lists that are not variables come back without a value: see [`Builder::assign_into`].
    pub fn expr(&mut self, expr: &ast::Expr) -> Typed {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.expr_here(expr))
    }

    fn expr_here(&mut self, expr: &ast::Expr) -> Typed {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::Bool(value) => Typed::scalar(ExprKind::Bool(*value), Ty::BOOL, span),
            ast::ExprKind::Int(value) => {
                let value = Int::from(value.clone());
                let bounds = Bounds::of(&value);
                Typed::literal(value, bounds, span)
            }
            ast::ExprKind::Real { value, .. } => {
                let ty = Ty::scalar(Elem::Real(RealType::Float));
                Typed::scalar(ExprKind::Real(*value, RealType::Double), ty, span)
            }
            ast::ExprKind::String(text) => Typed::scalar(ExprKind::String(text.to_string()), Ty::STRING, span),
            ast::ExprKind::Var(name) => self.load(name, &[], span),
            ast::ExprKind::Index { base, indices } => self.load(base, indices, span),
            ast::ExprKind::Call { function, args } => self.call_expr(function, args, span),
            ast::ExprKind::List { .. } => {
                let ty = self.unreached(|this| this.list_type(expr));
                Typed::of_type(ty, span)
            }
            ast::ExprKind::If { branches, otherwise } => self.choice(branches, otherwise, span),
            ast::ExprKind::Unary { op, operand } => self.unary(*op, operand, span),
            ast::ExprKind::Binary { op, left, right } => self.binary(*op, left, right, span),
            ast::ExprKind::Error => Typed::poison(span),
        }
    }

    /// The expression of a scalar; a stand-in where there is none, which is then never evaluated.
    pub fn take(&mut self, typed: Typed) -> Expr {
        match typed.value {
            Operand::Scalar(expr) => expr,
            Operand::List(_) | Operand::None => {
                self.taint += 1;
                let kind = match typed.ty.elem {
                    Elem::Bool => ExprKind::Bool(false),
                    Elem::Real(real) => ExprKind::Real(0.0, real),
                    Elem::String => ExprKind::String(String::new()),
                    _ => ExprKind::Int(Int::ZERO),
                };
                Expr { kind, span: typed.span }
            }
        }
    }

    fn mismatch(&mut self, typed: &Typed, wanted: &str) -> Typed {
        if !typed.ty.is_poison() {
            let found = typed.ty.to_string();
            self.error("type-mismatch", format!("{wanted} is needed here"), typed.span, format!("this is `{found}`"));
        }
        Typed::poison(typed.span)
    }

    /// Lowers a condition.
    pub fn condition(&mut self, expr: &ast::Expr) -> Expr {
        let typed = self.expr(expr);
        self.boolean(typed)
    }

    pub fn boolean(&mut self, typed: Typed) -> Expr {
        if typed.ty == Ty::BOOL {
            return self.take(typed);
        }
        let mut poison = self.mismatch(&typed, "a `bool`");
        poison.ty = Ty::BOOL;
        self.take(poison)
    }

    /// Lowers an expression that must be an integer.
    pub fn integer(&mut self, expr: &ast::Expr) -> Typed {
        let typed = self.expr(expr);
        match typed.ty {
            Ty { elem: Elem::Int(_), ref dims } if dims.is_empty() => typed,
            _ => self.mismatch(&typed, "an integer"),
        }
    }

    /// Converts a scalar as a store does, reporting where it cannot; `what` takes it.
    pub fn convert(&mut self, typed: Typed, target: Elem, what: &str) -> Expr {
        let span = typed.span;
        if typed.ty.is_poison() || target == Elem::Poison {
            return self.take(Typed::poison(span));
        }
        // A number that is written out has whatever precision is wanted.
        let written = matches!(typed.value, Operand::Scalar(Expr { kind: ExprKind::Real(..), .. }));
        let fits = typed.ty.elem.converts_to(target) || written && matches!(target, Elem::Real(_));
        if typed.ty.is_list() || !fits {
            let from = &typed.ty;
            let mut diagnostic =
                Diagnostic::error("type-mismatch", format!("{what} is `{target}`, but this is `{from}`"))
                    .at(span, format!("`{from}` does not convert to `{target}`"));
            if let (Elem::Int(_), Elem::Bool, false) = (from.elem, target, from.is_list()) {
                diagnostic = diagnostic.help("write the comparison that is meant, such as `x != 0`");
            }
            self.report(diagnostic);
            return self.take(Typed::poison(span));
        }
        let Some(scalar) = target.known() else {
            self.taint += 1;
            return self.take(typed);
        };
        self.lint_complement(&typed, scalar);
        let bounds = typed.bounds;
        let from = typed.ty.elem;
        let mut expr = self.take(typed);
        match (from, scalar) {
            (Elem::Int(_), ir::Scalar::Int(int)) => {
                if let ExprKind::Int(value) = &mut expr.kind {
                    *value = std::mem::replace(value, Int::ZERO).wrap(int);
                    expr
                } else if bounds.fits(int) {
                    expr
                } else {
                    wrap(expr, int)
                }
            }
            (Elem::Int(_), ir::Scalar::Real(real)) => match &expr.kind {
                ExprKind::Int(value) => Expr { kind: ExprKind::Real(int_to_real(value, real), real), span },
                _ => Expr { kind: ExprKind::IntToReal(real, Box::new(expr)), span },
            },
            (Elem::Real(from), ir::Scalar::Real(real)) => to_real(expr, from, real),
            _ => expr,
        }
    }

    /// Warns where bits are used that only the sign of a complemented unsigned value supplies.
    fn lint_complement(&mut self, typed: &Typed, target: ir::Scalar) {
        let Some((at, bits)) = typed.widened else { return };
        if let ir::Scalar::Int(int) = target
            && int.width <= bits
        {
            return;
        }
        self.warn_widened(at, bits, typed.span);
    }

    /// The value as a whole is used: its sign too.
    fn whole(&mut self, typed: &Typed) {
        if let Some((at, bits)) = typed.widened {
            self.warn_widened(at, bits, typed.span);
        }
    }

    fn warn_widened(&mut self, at: Span, bits: u32, used: Span) {
        let mut diagnostic = Diagnostic::warning(
            "complement-widened",
            "`~` of an unsigned value is negative, and more bits of it are used than the operand has",
        )
        .at(at, format!("is -x-1; the same as in {bits} bits only in the lowest {bits} bits"))
        .help("mask the result, as in `~x & 255`, or store it in a variable of the operand's width first");
        if used != at {
            diagnostic = diagnostic.also(used, "all bits are used here");
        }
        self.report(diagnostic);
    }

    // Variables

    /// The place that a name with indices denotes, its type, and whether it is a constant.
    pub fn place(&mut self, base: &ast::QualifiedName, indices: &[ast::Expr], span: Span) -> Option<(Place, Ty)> {
        let (root, ty) = self.root(base)?;
        self.index(root, ty, base, indices, span)
    }

    fn index(
        &mut self,
        root: Root,
        ty: Ty,
        base: &ast::QualifiedName,
        indices: &[ast::Expr],
        span: Span,
    ) -> Option<(Place, Ty)> {
        if ty.is_poison() && ty.dims.len() < indices.len() {
            return None;
        }
        if indices.len() > ty.dims.len() {
            let message = match ty.dims.len() {
                0 => format!("`{}` is no list", base.text),
                n => format!("`{}` has {n} dimension{}", base.text, if n == 1 { "" } else { "s" }),
            };
            let extra = indices.get(ty.dims.len()).map_or(span, |index| index.span);
            self.error("type-mismatch", message, extra, format!("one index too many; the type is `{ty}`"));
            return None;
        }
        let mut out = Vec::with_capacity(indices.len());
        for (index, &size) in indices.iter().zip(&ty.dims) {
            let index = self.integer(index);
            self.whole(&index);
            if let Some(value) = index.as_int()
                && size != UNKNOWN
                && self.dead == 0
                && (value.is_negative() || value.to_u64().is_none_or(|value| value >= u64::from(size)))
            {
                let message = format!("index {} of a list of {size} elements", short(value));
                self.error("index-out-of-range", message, index.span, format!("must lie in 0 .. {}", size - 1));
                self.taint += 1;
            }
            out.push(self.take(index));
        }
        Some((Place { root, indices: out, span }, ty.after_indices(indices.len())))
    }

    /// What a variable's name stands for, other than a local scalar constant.
    fn root(&mut self, name: &ast::QualifiedName) -> Option<(Root, Ty)> {
        match self.resolve(name) {
            Resolved::Local(Binding::Local { id, .. }) => {
                if self.body.constant_from.is_some_and(|from| id.index() < from) {
                    self.not_constant(name, "a local variable");
                    return None;
                }
                Some((Root::Local(id), self.body.types[id.index()].clone()))
            }
            Resolved::Local(Binding::Table { id, .. }) => {
                Some((Root::Actor(id), self.variables[id.index()].ty.clone()))
            }
            Resolved::Local(Binding::NotInGuard { span }) => {
                self.report(
                    Diagnostic::error("guard-uses-local", format!("the guard cannot use the local `{}`", name.text))
                        .at(name.span, "has no value before the action fires")
                        .also(span, "declared here"),
                );
                None
            }
            Resolved::Local(Binding::Constant { ty, .. }) => {
                self.error(
                    "type-mismatch",
                    format!("`{}` is no list", name.text),
                    name.span,
                    format!("this is `{ty}`"),
                );
                None
            }
            Resolved::Local(Binding::Poison { .. }) | Resolved::Nothing => None,
            Resolved::Member(entity, member @ (Member::Param(_) | Member::Var(_))) => {
                let id = self.variable(entity, member, name.span)?;
                let slot = &self.variables[id.index()];
                let (mutable, ty) = (slot.mutable, slot.ty.clone());
                if self.body.constant_from.is_some() && mutable && !self.body.initial {
                    self.not_constant(name, "a variable that the actor assigns to");
                    return None;
                }
                Some((Root::Actor(id), ty))
            }
            Resolved::Member(_, member) => {
                let what = match member {
                    Member::Function(_) => "a function",
                    Member::Procedure(_) => "a procedure",
                    _ => "an entity",
                };
                self.error("not-a-variable", format!("`{}` is {what}", name.text), name.span, "a value is needed here");
                None
            }
        }
    }

    fn not_constant(&mut self, name: &ast::QualifiedName, what: &str) {
        self.report(
            Diagnostic::error("not-constant", format!("`{}` is {what}, not a constant", name.text))
                .at(name.span, "must be known before the program runs"),
        );
    }

    fn load(&mut self, name: &ast::QualifiedName, indices: &[ast::Expr], span: Span) -> Typed {
        if indices.is_empty()
            && name.is_simple()
            && let Some(Binding::Constant { ty, value, .. }) = self.body.scope.get(&name.text)
        {
            let (ty, value) = (ty.clone(), value.clone());
            return self.constant(value.as_ref(), ty, span);
        }
        let Some((root, ty)) = self.root(name) else {
            return Typed::poison(span);
        };
        if let Root::Actor(id) = root {
            let slot = &self.variables[id.index()];
            if !slot.mutable && !ty.is_list() && indices.is_empty() {
                if ty.is_poison() {
                    return Typed::poison(span);
                }
                // A constant that is being computed has itself as its only user here; that is reported.
                let value = self.ensure_value(id, span);
                return self.constant(value.as_deref(), ty, span);
            }
        }
        let Some((place, ty)) = self.index(root, ty, name, indices, span) else {
            return Typed::poison(span);
        };
        if ty.is_list() {
            return Typed { value: Operand::List(place), ..Typed::of_type(ty, span) };
        }
        if ty.is_poison() {
            return Typed::poison(span);
        }
        if let Some(value) = self.constant_element(&place) {
            return self.constant(Some(&value), ty, span);
        }
        Typed::scalar(ExprKind::Load(place), ty, span)
    }

    /// The element of a constant list under constant indices.
    fn constant_element(&mut self, place: &Place) -> Option<Value> {
        let Root::Actor(id) = place.root else { return None };
        if self.variables[id.index()].mutable || !place.indices.iter().all(crate::body::is_literal) {
            return None;
        }
        if matches!(self.variables[id.index()].value, VarValue::InProgress) {
            return None;
        }
        let value = self.ensure_value(id, place.span)?;
        let Value::List(values) = &*value else { return None };
        let mut at: usize = 0;
        for (index, &size) in place.indices.iter().zip(&self.variables[id.index()].ir_ty.dims) {
            let ExprKind::Int(index) = &index.kind else { return None };
            let index = index.to_u64().filter(|&index| index < u64::from(size))?;
            at = at.checked_mul(size as usize)?.checked_add(index as usize)?;
        }
        values.get(at).cloned()
    }

    /// A constant scalar with its declared type.
    fn constant(&mut self, value: Option<&Value>, ty: Ty, span: Span) -> Typed {
        let expr = value.and_then(|value| {
            let scalar = ty.elem.known()?;
            crate::body::literal(value, scalar, span)
        });
        match expr {
            Some(Expr { kind: ExprKind::Int(value), .. }) => {
                let Elem::Int(table) = ty.elem else { return Typed::poison(span) };
                Typed::literal(value, table, span)
            }
            Some(expr) => Typed { value: Operand::Scalar(expr), ..Typed::of_type(ty, span) },
            None => {
                // Its type is known all the same, so that uses of it are still checked.
                self.taint += 1;
                let mut typed = Typed::of_type(ty, span);
                if let Elem::Int(bounds) = typed.ty.elem {
                    typed.bounds = bounds;
                }
                typed
            }
        }
    }

    // Operators

    fn unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr, span: Span) -> Typed {
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
                Typed::int(wrap(expr, int).kind, bounds, bounds, span)
            }
            _ => typed,
        }
    }

    fn binary(&mut self, op: ast::BinaryOp, left: &ast::Expr, right: &ast::Expr, span: Span) -> Typed {
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
                let error = match op {
                    Op::Shl | Op::Shr if count.is_negative() => Some(ir::ArithmeticError::NegativeShift),
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

    fn shift_left(&mut self, l: Typed, r: Typed, table: Bounds, span: Span) -> Typed {
        let Some(int) = table.int_type() else {
            self.taint += 1;
            let mut typed = Typed::of_type(Ty::int(table), span);
            typed.bounds = table;
            return typed;
        };
        if let (Some(p), Some(q)) = (l.as_int(), r.as_int()) {
            return match p.shl(q, int) {
                Ok(value) => Typed::literal(value, table, span),
                Err(_) => Typed { ty: Ty::int(table), ..Typed::poison(span) },
            };
        }
        let widened = l.widened;
        // A constant count says more of the value than the table does.
        let bounds = match r.as_int().and_then(Int::to_u64) {
            Some(count) if l.bounds.is_known() && count < u64::from(int.width) => {
                let width = u64::from(l.bounds.width) + count;
                match u32::try_from(width) {
                    Ok(width) if (Bounds { signed: l.bounds.signed, width }).fits(int) => {
                        Bounds { signed: l.bounds.signed, width }
                    }
                    _ => table,
                }
            }
            _ => table,
        };
        let l = Box::new(self.take(l));
        let r = Box::new(self.take(r));
        Typed { widened, ..Typed::int(ExprKind::ShiftLeft(int, l, r), table, bounds, span) }
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

    // Choice

    fn choice(&mut self, branches: &[(ast::Expr, ast::Expr)], otherwise: &ast::Expr, span: Span) -> Typed {
        if branches.len() > MAX_BRANCHES {
            self.too_many_branches(branches.len(), span);
            return Typed::poison(span);
        }
        self.choice_from(branches, otherwise, span)
    }

    pub fn too_many_branches(&mut self, n: usize, span: Span) {
        self.error(
            "too-deep",
            format!("{n} branches in one `if`"),
            span,
            format!("at most {MAX_BRANCHES} are possible"),
        );
    }

    fn choice_from(&mut self, branches: &[(ast::Expr, ast::Expr)], otherwise: &ast::Expr, span: Span) -> Typed {
        let Some(((condition, then), rest)) = branches.split_first() else {
            return self.expr(otherwise);
        };
        let condition = self.condition(condition);
        if let ExprKind::Bool(value) = condition.kind {
            let (chosen, other) = if value {
                let chosen = self.expr(then);
                (chosen, self.unreached(|this| this.nested_choice(rest, otherwise, span).ty))
            } else {
                let other = self.unreached(|this| this.expr(then).ty);
                (self.nested_choice(rest, otherwise, span), other)
            };
            return self.with_common_type(chosen, &other, span);
        }
        let (then_stmts, then) = self.block(|this| this.expr(then));
        let (else_stmts, other) = self.block(|this| this.nested_choice(rest, otherwise, span));
        if then.ty.is_poison() || other.ty.is_poison() {
            return Typed::poison(span);
        }
        if then.ty.is_list() || other.ty.is_list() {
            return self.list_choice_type(&then, &other, span);
        }
        let Some(elem) = then.ty.elem.lub(other.ty.elem) else {
            return self.branch_mismatch(&then, &other, span);
        };
        let widened = first_widened(&then, &other);
        let (then, other, bounds) = match elem {
            Elem::Int(_) => {
                let bounds = then.bounds.exact_union(other.bounds);
                (self.take(then), self.take(other), bounds)
            }
            elem => (
                self.convert(then, elem, "the value of the `if`"),
                self.convert(other, elem, "the value of the `if`"),
                Bounds::UNKNOWN,
            ),
        };
        let kind = if then_stmts.is_empty() && else_stmts.is_empty() {
            ExprKind::If(Box::new(condition), Box::new(then), Box::new(other))
        } else {
            let storage = match elem {
                Elem::Int(table) if bounds.width > ir::MAX_WIDTH => Ty::int(table),
                Elem::Int(_) => Ty::int(bounds),
                elem => Ty::scalar(elem),
            };
            let result = self.temporary(storage);
            let place = Self::local_place(result, span);
            let (mut then_stmts, mut else_stmts) = (then_stmts, else_stmts);
            then_stmts.push(ir::Stmt { kind: StmtKind::Assign(place.clone(), then), span });
            else_stmts.push(ir::Stmt { kind: StmtKind::Assign(place.clone(), other), span });
            self.emit(StmtKind::If(condition, then_stmts, else_stmts), span);
            ExprKind::Load(place)
        };
        let value = Operand::Scalar(Expr { kind, span });
        Typed { value, ty: Ty::scalar(elem), bounds, widened, span }
    }

    fn nested_choice(&mut self, rest: &[(ast::Expr, ast::Expr)], otherwise: &ast::Expr, span: Span) -> Typed {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.choice_from(rest, otherwise, span))
    }

    fn branch_mismatch(&mut self, then: &Typed, other: &Typed, span: Span) -> Typed {
        self.report(
            Diagnostic::error(
                "type-mismatch",
                format!("the branches of this `if` are `{}` and `{}`", then.ty, other.ty),
            )
            .at(span, "has no type")
            .also(then.span, format!("this is `{}`", then.ty))
            .also(other.span, format!("this is `{}`", other.ty)),
        );
        Typed::poison(span)
    }

    /// The value of a branch that a constant condition chose, with the type of the whole.
    fn with_common_type(&mut self, chosen: Typed, other: &Ty, span: Span) -> Typed {
        if chosen.ty.is_poison() || other.is_poison() {
            return Typed { span, ..chosen };
        }
        let other = Typed::of_type(other.clone(), span);
        if chosen.ty.is_list() || other.ty.is_list() {
            return self.list_choice_type(&chosen, &other, span);
        }
        let Some(elem) = chosen.ty.elem.lub(other.ty.elem) else {
            return self.branch_mismatch(&chosen, &other, span);
        };
        match elem {
            Elem::Int(_) | Elem::Bool | Elem::String | Elem::Poison => Typed { ty: Ty::scalar(elem), span, ..chosen },
            Elem::Real(_) if chosen.ty.elem == elem => Typed { span, ..chosen },
            Elem::Real(_) => {
                let expr = self.convert(chosen, elem, "the value of the `if`");
                Typed { value: Operand::Scalar(expr), ..Typed::of_type(Ty::scalar(elem), span) }
            }
        }
    }

    fn list_choice_type(&mut self, then: &Typed, other: &Typed, span: Span) -> Typed {
        if then.ty.dims.len() != other.ty.dims.len() {
            return self.branch_mismatch(then, other, span);
        }
        let Some(elem) = then.ty.elem.lub(other.ty.elem) else {
            return self.branch_mismatch(then, other, span);
        };
        let dims = then.ty.dims.iter().zip(&other.ty.dims);
        let dims = dims.map(|(&a, &b)| if a == UNKNOWN || b == UNKNOWN { UNKNOWN } else { a.max(b) }).collect();
        Typed::of_type(Ty { elem, dims }, span)
    }
}

/// The exact value of a store.
pub(crate) fn wrap(expr: Expr, int: ir::IntType) -> Expr {
    let span = expr.span;
    Expr { kind: ExprKind::Wrap(int, Box::new(expr)), span }
}

fn to_real(expr: Expr, from: RealType, to: RealType) -> Expr {
    let span = expr.span;
    match expr.kind {
        ExprKind::Real(value, _) => Expr { kind: ExprKind::Real(round_real(value, to), to), span },
        _ if from == to => expr,
        _ => Expr { kind: ExprKind::RealToReal(to, Box::new(expr)), span },
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

fn first_widened(l: &Typed, r: &Typed) -> Option<(Span, u32)> {
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
