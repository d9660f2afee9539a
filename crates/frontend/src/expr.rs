//! Scalar expressions: types by the table, exact values in the representation.

use crate::body::{Binding, Operand, Typed};
use crate::builder::{Builder, Resolved, VarValue};
use crate::lists::short;
use crate::members::Member;
use crate::types::{Bounds, Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::eval::{int_to_real, round_real};
use headrace_ir::{Expr, ExprKind, Int, Place, RealType, Root, Value};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

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

    pub fn mismatch(&mut self, typed: &Typed, wanted: &str) -> Typed {
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
                    let given = match from {
                        Elem::Int(bounds) => Some(bounds),
                        _ => None,
                    };
                    self.check_fits(value, int, given, span);
                    *value = std::mem::replace(value, Int::ZERO).wrap(int);
                    expr
                } else if !self.narrow_shifts(&mut expr, self.stored_bits(int.width)) && bounds.fits(int) {
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
    pub fn whole(&mut self, typed: &Typed) {
        if let Some((at, bits)) = typed.widened {
            self.warn_widened(at, bits, typed.span);
        }
        if let Operand::Scalar(expr) = &typed.value {
            self.check_far_shifts(expr);
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
                    if !self.body.is_size {
                        self.not_constant(name, "a variable that the actor assigns to");
                        return None;
                    }
                    self.body.told.push(id);
                    self.warn_initial(&name.text, name.span);
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

    /// Warns that the initial value of a variable counts, which the actor assigns to.
    pub fn warn_initial(&mut self, name: &str, span: Span) {
        self.report(
            Diagnostic::warning("not-constant", format!("`{name}` is assigned to by the actor"))
                .at(span, "its initial value counts here")
                .help("declare a constant with `=` for what must be known before the program runs"),
        );
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
            && let Some(Binding::Constant { ty, value, span: declared }) = self.body.scope.get(&name.text)
        {
            let (ty, value, declared) = (ty.clone(), value.clone(), *declared);
            if self.changed_locals.contains(&declared) {
                self.used_changed = Some(crate::fits::Changed { name: name.text.to_string(), span: declared });
            }
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
