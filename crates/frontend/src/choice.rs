//! Lowering of `if` expressions from the tree to typed form. Of a side that needs statements, only the one that is chosen runs.

use crate::body::{Operand, Typed};
use crate::builder::Builder;
use crate::operators::first_widened;
use crate::types::{Bounds, Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::{Expr, ExprKind, StmtKind};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast;

/// The largest number of `elsif` branches, which nest in the representation.
pub(crate) const MAX_BRANCHES: usize = 1000;

impl Builder<'_> {
    pub fn choice(&mut self, branches: &[(ast::Expr, ast::Expr)], otherwise: &ast::Expr, span: Span) -> Typed {
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
                Elem::Int(_) if bounds.width > ir::MAX_WIDTH => {
                    let message = format!("a value of {} bits must be kept while another is computed", bounds.width);
                    let label = format!("at most {} bits are possible", ir::MAX_WIDTH);
                    self.error("width-too-large", message, span, label);
                    return Typed::poison(span);
                }
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
