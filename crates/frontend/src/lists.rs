//! Lists: written into a place element by element, copied, or generated.

use crate::body::{Binding, Folded, Operand, Typed};
use crate::builder::{Builder, Resolved};
use crate::members::Member;
use crate::types::{Bounds, Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::{BinaryOp, Expr, ExprKind, Int, LocalId, LocalKind, Place, Stmt, StmtKind};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

/// Steps of a comprehension that initialises a variable.
const MAX_INITIAL_STEPS: u64 = 65536;

/// A generator with known bounds.
struct Range {
    low: Int,
    steps: u64,
    high: Int,
}

/// A number for a message, in a length that a reader can take in.
pub(crate) fn short(value: &Int) -> String {
    if value.magnitude_bits() > 128 { format!("about 2^{}", value.magnitude_bits()) } else { value.to_string() }
}

impl Builder<'_> {
    /// Lowers `place := expr`, `ty` being the type of the place.
    pub fn assign_into(&mut self, place: Place, ty: &Ty, expr: &ast::Expr) {
        if ty.is_list() {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || self.list_into(place, ty, expr));
        } else {
            let typed = self.expr(expr);
            let value = self.convert(typed, ty.elem, "the variable");
            self.emit(StmtKind::Assign(place, value), expr.span);
        }
    }

    fn list_into(&mut self, place: Place, ty: &Ty, expr: &ast::Expr) {
        let span = expr.span;
        match &expr.kind {
            ast::ExprKind::List { items, generators } => self.fill(place, ty, items, generators, span),
            ast::ExprKind::If { branches, otherwise } => {
                if branches.len() > crate::choice::MAX_BRANCHES {
                    self.too_many_branches(branches.len(), span);
                    return;
                }
                self.choose_into(place, ty, branches, otherwise, span);
            }
            ast::ExprKind::Call { function, args } => self.call_into(place, ty, function, args, span),
            _ => {
                let typed = self.expr(expr);
                self.copy_into(place, ty, typed);
            }
        }
    }

    fn choose_into(
        &mut self,
        place: Place,
        ty: &Ty,
        branches: &[(ast::Expr, ast::Expr)],
        otherwise: &ast::Expr,
        span: Span,
    ) {
        let Some(((condition, then), rest)) = branches.split_first() else {
            return self.list_into(place, ty, otherwise);
        };
        let condition = self.condition(condition);
        if let ExprKind::Bool(value) = condition.kind {
            let (mut then_place, mut else_place) = (Some(place.clone()), Some(place));
            if value {
                self.list_into(then_place.take().unwrap_or_else(unplaced), ty, then);
                let other = else_place.take().unwrap_or_else(unplaced);
                self.unreached(|this| this.choose_into(other, ty, rest, otherwise, span));
            } else {
                let other = then_place.take().unwrap_or_else(unplaced);
                self.unreached(|this| this.list_into(other, ty, then));
                self.choose_into(else_place.take().unwrap_or_else(unplaced), ty, rest, otherwise, span);
            }
            return;
        }
        let (then_stmts, ()) = self.block(|this| this.list_into(place.clone(), ty, then));
        let (else_stmts, ()) = self.block(|this| {
            stacker::maybe_grow(128 * 1024, 1024 * 1024, || this.choose_into(place, ty, rest, otherwise, span));
        });
        self.emit(StmtKind::If(condition, then_stmts, else_stmts), span);
    }

    fn fill(&mut self, place: Place, ty: &Ty, items: &[ast::Expr], generators: &[ast::Generator], span: Span) {
        let ranges = self.ranges(generators);
        let steps = ranges
            .iter()
            .try_fold(1u64, |product, range| range.as_ref().map(|range| product.saturating_mul(range.steps)));
        let length = steps.map(|steps| steps.saturating_mul(items.len() as u64));
        if let Some(length) = length
            && !self.check_length(length, ty, span)
        {
            return;
        }
        if self.body.initial && steps.is_some_and(|steps| steps > MAX_INITIAL_STEPS) {
            self.report(
                Diagnostic::error(
                    "comprehension-too-long",
                    format!("a comprehension of {} steps initialises a variable", steps.unwrap_or(0)),
                )
                .at(span, format!("at most {MAX_INITIAL_STEPS} steps are possible here"))
                .help("fill the list in an `initialize` action"),
            );
            return;
        }
        let inner = ty.after_indices(1);
        if generators.is_empty() {
            for (at, item) in items.iter().enumerate() {
                let mut element = place.clone();
                element.indices.push(int_expr(at as i64, item.span));
                element.span = item.span;
                self.assign_into(element, &inner, item);
            }
            return;
        }
        let outer = self.bindings(generators);
        let mut counters = Vec::with_capacity(generators.len());
        for (generator, range) in generators.iter().zip(&ranges) {
            counters.push(self.bind_generator(generator, range.as_ref()));
        }
        let (stmts, ()) = self.block(|this| {
            for counter in counters.iter().flatten() {
                if let Some((variable, ty)) = counter.copy {
                    let load = load(counter.id, span);
                    let target = Self::local_place(variable, span);
                    this.emit(StmtKind::Assign(target, crate::expr::wrap(load, ty)), span);
                }
            }
            for (at, item) in items.iter().enumerate() {
                let mut element = place.clone();
                element.indices.push(element_index(&counters, &ranges, items.len(), at, item.span));
                element.span = item.span;
                this.assign_into(element, &inner, item);
            }
        });
        self.unbind(generators, outer);
        let mut body = stmts;
        for (counter, range) in counters.iter().zip(&ranges).rev() {
            let (Some(counter), Some(range)) = (counter, range) else {
                self.taint += 1;
                return;
            };
            let stmt = StmtKind::Foreach {
                variable: counter.id,
                low: Expr { kind: ExprKind::Int(range.low.clone()), span },
                high: Expr { kind: ExprKind::Int(range.high.clone()), span },
                body,
            };
            body = vec![Stmt { kind: stmt, span }];
        }
        self.body.out.append(&mut body);
    }

    fn check_length(&mut self, length: u64, ty: &Ty, span: Span) -> bool {
        if length > ir::MAX_LIST_ELEMENTS {
            self.report(
                Diagnostic::error("list-too-large", format!("a list of {length} elements is too large"))
                    .at(span, "generated here")
                    .note(format!("at most {} elements are possible", ir::MAX_LIST_ELEMENTS)),
            );
            return false;
        }
        match ty.dims.first() {
            Some(&size) if size != UNKNOWN && length > u64::from(size) => {
                self.error_if_reached(
                    "list-too-long",
                    format!("{length} elements do not fit into a list of {size}"),
                    span,
                    format!("the list has {length} elements"),
                );
                false
            }
            _ => true,
        }
    }

    fn ranges(&mut self, generators: &[ast::Generator]) -> Vec<Option<Range>> {
        generators.iter().map(|generator| self.range(generator)).collect()
    }

    fn range(&mut self, generator: &ast::Generator) -> Option<Range> {
        let low = self.fold_int(&generator.lower, "the bound of a generator");
        let high = self.fold_int(&generator.upper, "the bound of a generator");
        let (Folded::Known(low), Folded::Known(high)) = (low, high) else {
            self.taint += 1;
            return None;
        };
        if high < low {
            self.error_if_reached(
                "empty-range",
                format!("the range {} .. {} is empty", short(&low), short(&high)),
                generator.span,
                "the upper bound must be at least the lower one".to_string(),
            );
            return None;
        }
        let steps = high.sub(&low).add(&Int::Small(1)).to_u64().unwrap_or(u64::MAX);
        Some(Range { low, steps, high })
    }

    /// Brings the variable of a generator into scope.
    fn bind_generator(&mut self, generator: &ast::Generator, range: Option<&Range>) -> Option<Counter> {
        let ty = self.generator_type(generator);
        let declared = match ty.elem {
            Elem::Int(bounds) => bounds.int_type(),
            _ => None,
        };
        let variable = self.add_local(&generator.name.text, ty, LocalKind::Plain);
        let binding = Binding::Local { id: variable, assignable: false, span: generator.name.span };
        self.check_hidden(&generator.name);
        self.bind_nested(&generator.name, binding);
        let range = range?;
        let fits = declared.is_none_or(|int| range.low.fits(int) && range.high.fits(int));
        if fits {
            return Some(Counter { id: variable, copy: None });
        }
        let needed = Bounds::of(&range.low).exact_union(Bounds::of(&range.high));
        let id = self.temporary(Ty::int(needed));
        Some(Counter { id, copy: declared.map(|int| (variable, int)) })
    }

    /// What the names of generators stand for outside of them.
    fn bindings(&self, generators: &[ast::Generator]) -> Vec<Option<Binding>> {
        generators.iter().map(|generator| self.body.scope.get(&generator.name.text).cloned()).collect()
    }

    /// Gives the names of generators back what they stood for.
    fn unbind(&mut self, generators: &[ast::Generator], outer: Vec<Option<Binding>>) {
        for (generator, binding) in generators.iter().zip(outer) {
            match binding {
                Some(binding) => self.body.scope.insert(generator.name.text.clone(), binding),
                None => self.body.scope.remove(&generator.name.text),
            };
        }
    }

    /// The type of a generator's variable, which must be an integer.
    pub fn generator_type(&mut self, generator: &ast::Generator) -> Ty {
        let ty = match &generator.ty {
            Some(ty) => self.ast_type(ty),
            None => Ty::int(Bounds::signed(32)),
        };
        if !matches!(ty.elem, Elem::Int(_) | Elem::Poison) || ty.is_list() {
            let span = generator.ty.as_ref().map_or(generator.span, |ty| ty.span);
            self.error("type-mismatch", "a generator counts with integers", span, format!("this is `{ty}`"));
            return Ty::POISON;
        }
        ty
    }

    /// Copies the list that an expression denotes.
    pub fn copy_into(&mut self, place: Place, ty: &Ty, source: Typed) {
        let span = source.span;
        if source.ty.is_poison() || ty.is_poison() {
            self.taint += 1;
            return;
        }
        if !self.check_list_fits(&source.ty, ty, span) {
            return;
        }
        let Operand::List(from) = source.value else {
            self.taint += 1;
            return;
        };
        let convert = if source.ty.elem == ty.elem { None } else { ty.elem.known() };
        self.copy_places(place, &ty.dims, from, &source.ty.dims, convert, span);
    }

    /// Reports a list that does not convert to a type.
    pub fn check_list_fits(&mut self, from: &Ty, to: &Ty, span: Span) -> bool {
        if from.dims.len() != to.dims.len() || !from.elem.converts_to(to.elem) {
            self.error(
                "type-mismatch",
                format!("`{to}` is needed, but this is `{from}`"),
                span,
                format!("`{from}` does not convert to `{to}`"),
            );
            return false;
        }
        for (&a, &b) in from.dims.iter().zip(&to.dims) {
            if a != UNKNOWN && b != UNKNOWN && a > b {
                self.error_if_reached(
                    "list-too-long",
                    format!("{a} elements do not fit into a list of {b}"),
                    span,
                    format!("this is `{from}`, needed is `{to}`"),
                );
                return false;
            }
        }
        true
    }

    /// Reports a list that a parameter does not take. Orcc passes lists as they are, whatever size the parameter has: with its
    /// widths, the procedure gets the whole list.
    pub fn check_argument_fits(&mut self, from: &Ty, to: &Ty, span: Span) -> bool {
        let longer = from.dims.len() == to.dims.len()
            && from.dims.iter().zip(&to.dims).any(|(&a, &b)| a != UNKNOWN && b != UNKNOWN && a > b);
        if !longer {
            return self.check_list_fits(from, to, span);
        }
        if self.session.orcc_widths {
            if self.dead == 0 {
                self.report(
                    Diagnostic::warning("list-too-long", "a list that is longer than the parameter")
                        .at(span, format!("this is `{from}`, declared is `{to}`: all of it is passed")),
                );
            }
            return true;
        }
        self.taint += 1;
        if self.dead == 0 {
            self.report(
                Diagnostic::error("list-too-long", "a list that is longer than the parameter")
                    .at(span, format!("this is `{from}`, needed is `{to}`"))
                    .help("a program written for Orcc, which passes lists whole: add the option --orcc-widths"),
            );
        }
        false
    }

    fn copy_places(
        &mut self,
        target: Place,
        to: &[u32],
        source: Place,
        from: &[u32],
        convert: Option<ir::Scalar>,
        span: Span,
    ) {
        if to.len() <= 1 || to[1..] == from[1..] {
            self.emit(StmtKind::Copy { target, source, convert }, span);
            return;
        }
        // Inner sizes differ: one row after the other.
        let ty = ir::IntType::unsigned(32);
        let row = self.temporary(Ty::int(ty.into()));
        let index = load(row, span);
        let (mut target, mut source) = (target, source);
        target.indices.push(index.clone());
        source.indices.push(index);
        let (body, ()) = self.block(|this| this.copy_places(target, &to[1..], source, &from[1..], convert, span));
        let low = int_expr(0, span);
        let high = int_expr(i64::from(from[0]) - 1, span);
        self.emit(StmtKind::Foreach { variable: row, low, high, body }, span);
    }

    /// The type of a list expression, for its diagnostics and its length. To be called where nothing is emitted.
    pub fn list_type(&mut self, expr: &ast::Expr) -> Ty {
        let ast::ExprKind::List { items, generators } = &expr.kind else {
            return self.expr(expr).ty;
        };
        let ranges = self.ranges(generators);
        let outer = self.bindings(generators);
        for (generator, range) in generators.iter().zip(&ranges) {
            self.bind_generator(generator, range.as_ref());
        }
        let mut ty: Option<Ty> = None;
        for item in items {
            let next = self.expr(item).ty;
            ty = Some(match ty {
                None => next,
                Some(ty) if ty.is_poison() || next.is_poison() => Ty::POISON,
                Some(ty) => match ty.elem.lub(next.elem) {
                    Some(elem) if ty.dims.len() == next.dims.len() => Ty { elem, dims: ty.dims },
                    _ => {
                        self.error(
                            "type-mismatch",
                            format!("a list cannot hold both `{ty}` and `{next}`"),
                            item.span,
                            format!("this is `{next}`"),
                        );
                        Ty::POISON
                    }
                },
            });
        }
        self.unbind(generators, outer);
        let mut ty = ty.unwrap_or(Ty::POISON);
        ty.dims.insert(0, length_of(items.len(), &ranges));
        ty
    }

    /// The sizes of a list expression, without lowering it; empty for what is no list.
    pub fn list_shape(&mut self, expr: &ast::Expr) -> Vec<u32> {
        self.shape_below(expr, &mut Vec::new())
    }

    /// As [`Self::list_shape`] below generators of these names, which are scalars.
    fn shape_below(&mut self, expr: &ast::Expr, bound: &mut Vec<ast::Text>) -> Vec<u32> {
        match &expr.kind {
            ast::ExprKind::List { items, generators } => {
                let ranges = self.ranges(generators);
                let mut dims = vec![length_of(items.len(), &ranges)];
                if let Some(first) = items.first() {
                    let n_outer = bound.len();
                    bound.extend(generators.iter().map(|generator| generator.name.text.clone()));
                    dims.extend(self.shape_below(first, bound));
                    bound.truncate(n_outer);
                }
                dims
            }
            ast::ExprKind::If { branches, otherwise } => {
                let mut dims = self.shape_below(otherwise, bound);
                for (_, value) in branches {
                    let other = self.shape_below(value, bound);
                    for (size, other) in dims.iter_mut().zip(other) {
                        *size = if *size == UNKNOWN || other == UNKNOWN { UNKNOWN } else { (*size).max(other) };
                    }
                }
                dims
            }
            ast::ExprKind::Call { function, .. } => {
                let home = self.body.home;
                match self.find_callable(home, function) {
                    Some((entity, member @ Member::Function(_))) => {
                        let signature = self.signature(entity, member);
                        signature.result.as_ref().map_or(Vec::new(), |ty| ty.dims.clone())
                    }
                    _ => Vec::new(),
                }
            }
            ast::ExprKind::Var(name) | ast::ExprKind::Index { base: name, .. } if bound.contains(&name.text) => {
                Vec::new()
            }
            ast::ExprKind::Var(name) => self.name_shape(name),
            ast::ExprKind::Index { base, indices } => {
                let dims = self.name_shape(base);
                dims.get(indices.len()..).unwrap_or(&[]).to_vec()
            }
            _ => Vec::new(),
        }
    }

    fn name_shape(&mut self, name: &ast::QualifiedName) -> Vec<u32> {
        match self.resolve(name) {
            Resolved::Local(Binding::Local { id, .. }) => self.body.types[id.index()].dims.clone(),
            Resolved::Local(Binding::Table { id, .. }) => self.variables[id.index()].ty.dims.clone(),
            Resolved::Member(entity, member @ (Member::Param(_) | Member::Var(_))) => {
                match self.variable(entity, member, name.span) {
                    Some(id) => self.variables[id.index()].ty.dims.clone(),
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }
}

/// The loop variable of a generator and, where the declared one does not hold all its values, the declared one.
struct Counter {
    id: LocalId,
    copy: Option<(LocalId, ir::IntType)>,
}

fn unplaced() -> Place {
    Place { root: ir::Root::Local(LocalId(0)), indices: Vec::new(), span: Span::default() }
}

fn length_of(n_items: usize, ranges: &[Option<Range>]) -> u32 {
    let mut length = n_items as u64;
    for range in ranges {
        match range {
            Some(range) => length = length.saturating_mul(range.steps),
            None => return UNKNOWN,
        }
    }
    u32::try_from(length).ok().filter(|&length| u64::from(length) <= ir::MAX_LIST_ELEMENTS).unwrap_or(UNKNOWN)
}

pub(crate) fn load(local: LocalId, span: Span) -> Expr {
    Expr { kind: ExprKind::Load(Builder::local_place(local, span)), span }
}

pub(crate) fn int_expr(value: i64, span: Span) -> Expr {
    Expr { kind: ExprKind::Int(Int::Small(value)), span }
}

fn binary(op: BinaryOp, left: Expr, right: Expr, span: Span) -> Expr {
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), span }
}

/// The index of the element that item `at` gives in the current step of the generators.
fn element_index(
    counters: &[Option<Counter>],
    ranges: &[Option<Range>],
    n_items: usize,
    at: usize,
    span: Span,
) -> Expr {
    let mut index: Option<Expr> = None;
    for (counter, range) in counters.iter().zip(ranges) {
        let (Some(counter), Some(range)) = (counter, range) else {
            return int_expr(0, span);
        };
        let mut step = load(counter.id, span);
        if range.low != Int::ZERO {
            let low = Expr { kind: ExprKind::Int(range.low.clone()), span };
            step = binary(BinaryOp::Sub, step, low, span);
        }
        index = Some(match index {
            None => step,
            Some(outer) => {
                let scaled = binary(BinaryOp::Mul, outer, int_expr(range.steps as i64, span), span);
                binary(BinaryOp::Add, scaled, step, span)
            }
        });
    }
    let mut index = index.unwrap_or_else(|| int_expr(0, span));
    if n_items > 1 {
        index = binary(BinaryOp::Mul, index, int_expr(n_items as i64, span), span);
        if at > 0 {
            index = binary(BinaryOp::Add, index, int_expr(at as i64, span), span);
        }
    }
    index
}
