//! Lowering of statements and local declarations from the tree to typed form.

use crate::body::{Binding, Operand, Typed};
use crate::builder::{Builder, Resolved};
use crate::effects::children;
use crate::members::Member;
use crate::types::{Bounds, Elem, Ty};
use headrace_ir as ir;
use headrace_ir::{ExprKind, Int, LocalKind, Root, StmtKind, Value};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

impl Builder<'_> {
    /// Declares a local variable and gives it its initial value.
    pub fn declare_local(&mut self, decl: &ast::VarDecl) {
        let ty = self.decl_type(decl);
        let span = decl.name.span;
        self.check_hidden(&decl.name);
        if ty.is_poison() && decl.value.is_none() {
            self.bind(&decl.name, Binding::Poison { span });
            return;
        }
        if decl.constant
            && !ty.is_list()
            && let Some(value) = &decl.value
        {
            let (n_changed, outer) = (self.n_changed, self.used_changed.take());
            let typed = self.expr(value);
            let value = self.convert(typed, ty.elem, "the constant");
            if self.n_changed != n_changed || self.used_changed.is_some() {
                self.changed_locals.insert(span);
            }
            self.used_changed = outer;
            if let Some(value) = scalar_value(&value) {
                self.bind(&decl.name, Binding::Constant { ty, value: Some(value), span });
                return;
            }
            let id = self.add_local(&decl.name.text, ty, LocalKind::Plain);
            let place = Self::local_place(id, span);
            self.emit(StmtKind::Assign(place, value), decl.span);
            self.bind(&decl.name, Binding::Local { id, assignable: false, span });
            return;
        }
        if decl.constant
            && let Some(value) = &decl.value
            && let Some(values) = self.table(value, &ty)
        {
            let id = self.add_table(&decl.name.text, ty, values, span);
            self.bind(&decl.name, Binding::Table { id, span });
            return;
        }
        let id = self.add_local(&decl.name.text, ty.clone(), LocalKind::Plain);
        if let Some(value) = &decl.value {
            self.assign_into(Self::local_place(id, span), &ty, value);
        }
        self.bind(&decl.name, Binding::Local { id, assignable: !decl.constant, span });
    }

    /// Lowers statements into the current block.
    pub fn stmts(&mut self, stmts: &[ast::Stmt]) {
        for stmt in stmts {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.stmt(stmt));
        }
    }

    fn stmt(&mut self, stmt: &ast::Stmt) {
        let span = stmt.span;
        match &stmt.kind {
            ast::StmtKind::Assign { target, indices, value } => self.assign(target, indices, value, span),
            ast::StmtKind::Call { procedure, args } => self.call_stmt(procedure, args, span),
            ast::StmtKind::If { branches, otherwise } => {
                if branches.len() > crate::choice::MAX_BRANCHES {
                    self.too_many_branches(branches.len(), span);
                    return;
                }
                self.if_stmt(branches, otherwise, span);
            }
            ast::StmtKind::While { condition, body } => {
                let (before, condition) = self.block(|this| this.condition(condition));
                if let ExprKind::Bool(false) = condition.kind {
                    self.body.out.extend(before);
                    self.unreached(|this| this.stmts(body));
                    return;
                }
                let (body, ()) = self.block(|this| this.stmts(body));
                self.emit(StmtKind::While { before, condition, body }, span);
            }
            ast::StmtKind::Foreach { generator, body } => self.foreach(generator, body, span),
        }
    }

    fn if_stmt(&mut self, branches: &[(ast::Expr, Vec<ast::Stmt>)], otherwise: &[ast::Stmt], span: Span) {
        let Some(((condition, then), rest)) = branches.split_first() else {
            return self.stmts(otherwise);
        };
        let condition = self.condition(condition);
        match condition.kind {
            ExprKind::Bool(true) => {
                self.stmts(then);
                self.unreached(|this| this.nested_if(rest, otherwise, span));
            }
            ExprKind::Bool(false) => {
                self.unreached(|this| this.stmts(then));
                self.nested_if(rest, otherwise, span);
            }
            _ => {
                let (then, ()) = self.block(|this| this.stmts(then));
                let (other, ()) = self.block(|this| this.nested_if(rest, otherwise, span));
                self.emit(StmtKind::If(condition, then, other), span);
            }
        }
    }

    /// The last value of a loop, or, where that needs many bits, a nearer one that the variable does not reach either.
    fn near_bound(&mut self, high: Typed, low: Bounds, variable: &Ty) -> ir::Expr {
        let Elem::Int(own) = variable.elem else { return self.take(high) };
        let bits = own.width.max(low.width) + 1;
        let near = high.as_int().is_none() && high.bounds.width > 64 && own.is_known() && low.is_known() && bits < 62;
        let (span, signed) = (high.span, high.bounds.signed);
        let high = self.take(high);
        if !near {
            return high;
        }
        let expr = |kind| ir::Expr { kind, span };
        let limit = Int::from(1i64 << bits);
        let mut bound = crate::expr::wrap(high.clone(), ir::IntType::signed(bits + 2));
        if let ExprKind::Wrap(ty, value) = &mut bound.kind {
            let width = ty.width;
            self.narrow_shifts(value, width);
        }
        let mut clamp = |op, limit: Int| {
            let limit = Box::new(expr(ExprKind::Int(limit)));
            let beyond = Box::new(expr(ExprKind::Compare(op, Box::new(high.clone()), limit.clone())));
            let inner = std::mem::replace(&mut bound, expr(ExprKind::Bool(false)));
            bound = expr(ExprKind::If(beyond, limit, Box::new(inner)));
        };
        clamp(ir::CompareOp::Greater, limit.clone());
        if signed {
            clamp(ir::CompareOp::Less, limit.neg());
        }
        bound
    }

    fn nested_if(&mut self, rest: &[(ast::Expr, Vec<ast::Stmt>)], otherwise: &[ast::Stmt], span: Span) {
        stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.if_stmt(rest, otherwise, span));
    }

    fn foreach(&mut self, generator: &ast::Generator, body: &[ast::Stmt], span: Span) {
        let low = self.integer(&generator.lower);
        let before_high = (self.body.effects, self.body.out.len());
        let high = self.integer(&generator.upper);
        let low = if self.body.effects != before_high.0 { self.spill(low, before_high.1) } else { low };
        let ty = self.generator_type(generator);
        if let (Elem::Int(bounds), Some(last)) = (ty.elem, high.as_int())
            && let Some(int) = bounds.int_type()
            && low.as_int().is_none_or(|low| low <= last)
            && !last.fits(int)
            && self.dead == 0
        {
            self.report(
                Diagnostic::warning(
                    "loop-bound-out-of-range",
                    format!("the loop variable `{}` never reaches {}", generator.name.text, crate::lists::short(last)),
                )
                .at(generator.upper.span, format!("does not fit into `{ty}`: the loop does not end"))
                .help("give the variable a wider type"),
            );
        }
        let variable = self.add_local(&generator.name.text, ty, LocalKind::Plain);
        let span_of_name = generator.name.span;
        self.check_hidden(&generator.name);
        let hidden =
            self.bind_nested(&generator.name, Binding::Local { id: variable, assignable: true, span: span_of_name });
        let ty = self.body.types[variable.index()].clone();
        let mut low_bounds = low.bounds;
        let mut low = self.take(low);
        if self.session.orcc_widths
            && let Elem::Int(bounds) = ty.elem
            && let Some(int) = bounds.int_type()
            && !low_bounds.fits(int)
        {
            // In C the variable is set before it is compared: one of 16 bits goes from -1 where 65535 is written.
            (low, low_bounds) = (crate::expr::wrap(low, int), bounds);
        }
        let high = self.near_bound(high, low_bounds, &ty);
        let (body, ()) = self.block(|this| this.stmts(body));
        match hidden {
            Some(hidden) => self.body.scope.insert(generator.name.text.clone(), hidden),
            None => self.body.scope.remove(&generator.name.text),
        };
        self.emit(StmtKind::Foreach { variable, low, high, body }, span);
    }

    /// Why a variable cannot be written to, if it cannot.
    pub fn not_assignable(&mut self, name: &ast::QualifiedName) -> Option<&'static str> {
        match self.resolve(name) {
            Resolved::Local(Binding::Local { assignable: true, .. } | Binding::Poison { .. }) => None,
            Resolved::Local(_) => Some("a constant"),
            Resolved::Member(_, Member::Param(_)) => Some("a parameter of the actor"),
            Resolved::Member(entity, member @ Member::Var(_)) => {
                let file = self.file(entity);
                if file.actor().is_none() {
                    return Some("a constant of a unit");
                }
                file.var(member).is_some_and(|decl| decl.constant).then_some("a constant")
            }
            Resolved::Member(..) => Some("no variable"),
            Resolved::Nothing => None,
        }
    }

    fn assign(&mut self, target: &ast::QualifiedName, indices: &[ast::Expr], value: &ast::Expr, span: Span) {
        if let Resolved::Member(_, member) = self.resolve(target)
            && !matches!(member, Member::Param(_) | Member::Var(_))
        {
            let message = format!("`{}` is no variable", target.text);
            self.error("not-a-variable", message, target.span, "cannot be assigned to");
            self.unreached(|this| this.expr(value));
            return;
        }
        if let Some(why) = self.not_assignable(target) {
            let mut diagnostic = Diagnostic::error("assign-to-constant", format!("`{}` is {why}", target.text))
                .at(target.span, "cannot be assigned to");
            if let Resolved::Local(binding) = self.resolve(target) {
                diagnostic = diagnostic.also(binding.span(), "declared here");
            } else if let Resolved::Member(entity, member) = self.resolve(target)
                && let Some(decl) = self.file(entity).var(member)
            {
                diagnostic = diagnostic.also(decl.name.span, "declared here");
                if decl.constant && matches!(member, Member::Var(_)) {
                    diagnostic = diagnostic.help("declare it with `:=` to make it a variable");
                }
            }
            self.report(diagnostic);
            self.unreached(|this| this.expr(value));
            return;
        }
        let before_place = (self.body.effects, self.body.out.len());
        let Some((place, ty)) = self.place(target, indices, target.span) else {
            self.unreached(|this| this.expr(value));
            return;
        };
        debug_assert!(before_place.1 <= self.body.out.len());
        if !ty.is_list() {
            let typed = self.expr(value);
            let value = self.convert(typed, ty.elem, "the variable");
            self.emit(StmtKind::Assign(place, value), span);
            return;
        }
        let plain = matches!(value.kind, ast::ExprKind::Var(_) | ast::ExprKind::Index { .. });
        if plain || !may_read(value, &target.text, matches!(place.root, Root::Actor(_))) {
            self.assign_into(place, &ty, value);
            return;
        }
        // The value reads what would be overwritten.
        let mut dims = self.list_shape(value);
        if dims.len() != ty.dims.len() {
            dims = ty.dims.clone();
        }
        let own = Ty { elem: ty.elem, dims };
        if !self.check_list_fits(&own, &ty, value.span) {
            return;
        }
        let local = self.temporary(own.clone());
        let source = Self::local_place(local, span);
        self.assign_into(source.clone(), &own, value);
        let typed = Typed { value: Operand::List(source), ..Typed::of_type(own, value.span) };
        self.copy_into(place, &ty, typed);
    }

    /// `print` and `println`.
    pub fn print(&mut self, newline: bool, args: &[ast::Expr], span: Span) {
        if args.len() > 1 {
            let name = if newline { "println" } else { "print" };
            self.report(
                Diagnostic::error("wrong-argument-count", format!("`{name}` takes at most one argument"))
                    .at(span, format!("{} arguments", args.len()))
                    .help("join the parts with `+`"),
            );
        }
        // The outermost chain of `+` is printed operand by operand.
        let mut operands = Vec::new();
        if let Some(first) = args.first() {
            let mut rest = first;
            while let ast::ExprKind::Binary { op: ast::BinaryOp::Add, left, right } = &rest.kind {
                operands.push(&**right);
                rest = left;
            }
            operands.push(rest);
            operands.reverse();
        }
        let mut pieces: Vec<ir::PrintPiece> = Vec::with_capacity(operands.len());
        for operand in operands {
            let (effects, mark) = (self.body.effects, self.body.out.len());
            let typed = self.expr(operand);
            if self.body.effects != effects {
                for piece in &mut pieces {
                    let span = piece.value.span;
                    let bounds = match piece.kind {
                        ir::Scalar::Int(int) => int.into(),
                        _ => crate::types::Bounds::UNKNOWN,
                    };
                    let value = std::mem::replace(&mut piece.value, crate::lists::int_expr(0, span));
                    let ty = Ty::scalar(piece.kind.into());
                    let kept =
                        self.spill(Typed { value: Operand::Scalar(value), bounds, ..Typed::of_type(ty, span) }, mark);
                    piece.value = self.take(kept);
                }
            }
            if let Some(piece) = self.piece(typed) {
                match piece.value.kind {
                    ExprKind::Concat(inner) => pieces.extend(inner),
                    _ => pieces.push(piece),
                }
            }
        }
        self.emit(StmtKind::Print { pieces, newline }, span);
    }
}

/// True when computing the expression may read the variable: it is named, or, for state, a function may read it.
fn may_read(expr: &ast::Expr, name: &str, state: bool) -> bool {
    let mut queue = vec![expr];
    while let Some(expr) = queue.pop() {
        match &expr.kind {
            ast::ExprKind::Var(base) | ast::ExprKind::Index { base, .. } if base.text == name => return true,
            ast::ExprKind::Call { .. } if state => return true,
            _ => {}
        }
        children(expr, &mut queue);
    }
    false
}

fn scalar_value(expr: &ir::Expr) -> Option<Value> {
    Some(match &expr.kind {
        ExprKind::Int(value) => Value::Int(value.clone()),
        ExprKind::Bool(value) => Value::Bool(*value),
        ExprKind::Real(value, _) => Value::Real(*value),
        ExprKind::String(text) => Value::String(text.clone()),
        _ => return None,
    })
}
