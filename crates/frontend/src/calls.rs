//! Calls of functions, procedures and natives, and their arguments.

use crate::body::{Operand, Typed};
use crate::builder::{Builder, Resolved};
use crate::members::Member;
use crate::procedure::Signature;
use crate::session::EntityId;
use crate::types::{Bounds, Elem, Ty, UNKNOWN};
use headrace_ir as ir;
use headrace_ir::{Argument, Expr, ExprKind, Place, Root, StmtKind};
use headrace_source::{Diagnostic, Severity, Span};
use headrace_syntax::ast;
use std::rc::Rc;

/// The arguments of a call.
struct Arguments {
    list: Vec<Argument>,
    /// Sizes of the lists among them.
    shapes: Vec<Vec<u32>>,
    /// What to do after the call: lists that went in as converted copies come back.
    after: Vec<StmtKind>,
}

impl Builder<'_> {
    /// A call in an expression that wants a scalar.
    pub fn call_expr(&mut self, function: &ast::QualifiedName, args: &[ast::Expr], span: Span) -> Typed {
        let Some((entity, member, signature)) = self.callee(function, args, true) else {
            return Typed::poison(span);
        };
        let result = signature.result.clone().unwrap_or(Ty::POISON);
        if result.is_list() {
            return Typed::of_type(result, span);
        }
        let Some(arguments) = self.arguments(&signature, (entity, member), args, span) else {
            return Typed { ty: result, ..Typed::poison(span) };
        };
        let bounds = match result.elem {
            Elem::Int(bounds) => bounds,
            _ => Bounds::UNKNOWN,
        };
        if result.is_poison() {
            return Typed::poison(span);
        }
        let value = if signature.impure {
            if !self.may_have_effects(&signature.name, span) {
                return Typed { ty: result, ..Typed::poison(span) };
            }
            let local = self.temporary(result.clone());
            self.emit_call(entity, member, &signature, arguments, Some(local), span);
            self.body.effects += 1;
            Expr { kind: ExprKind::Load(Self::local_place(local, span)), span }
        } else {
            let Some(id) = self.procedure(entity, member, arguments.shapes, span) else {
                return Typed { ty: result, ..Typed::poison(span) };
            };
            Expr { kind: ExprKind::Call(id, arguments.list), span }
        };
        Typed { value: Operand::Scalar(value), ty: result, bounds, widened: None, span }
    }

    /// Whether a call that reaches a native may stand here. Programs ask the platform in guards, for the size of a file or
    /// whether a connection is open, so that a guard only warns.
    fn may_have_effects(&mut self, name: &str, span: Span) -> bool {
        if self.body.constant_from.is_some() {
            self.error("not-constant", "a constant calls a native function", span, format!("`{name}` has effects"));
            return false;
        }
        if self.body.guard {
            self.report(
                Diagnostic::warning("impure-guard", "a guard calls a native function")
                    .at(span, format!("`{name}` is called whenever the guard is tested, not once for each firing")),
            );
        }
        true
    }

    /// A call whose list result goes to a place.
    pub fn call_into(&mut self, place: Place, ty: &Ty, function: &ast::QualifiedName, args: &[ast::Expr], span: Span) {
        let Some((entity, member, signature)) = self.callee(function, args, true) else {
            self.taint += 1;
            return;
        };
        let result = signature.result.clone().unwrap_or(Ty::POISON);
        if !self.check_list_fits(&result, ty, span) {
            return;
        }
        let Some(mut arguments) = self.arguments(&signature, (entity, member), args, span) else {
            return;
        };
        if signature.impure && !self.may_have_effects(&signature.name, span) {
            return;
        }
        // The function may read what it would write to: it fills a list of its own unless the place is a local.
        let direct = result == *ty && matches!(place.root, Root::Local(_));
        let target = if direct {
            place.clone()
        } else {
            let local = self.temporary(result.clone());
            Self::local_place(local, span)
        };
        arguments.list.push(Argument::List(target.clone()));
        self.emit_call(entity, member, &signature, arguments, None, span);
        if signature.impure {
            self.body.effects += 1;
        }
        if !direct {
            let source = Typed { value: Operand::List(target), ..Typed::of_type(result, span) };
            self.copy_into(place, ty, source);
        }
    }

    /// A call statement.
    pub fn call_stmt(&mut self, procedure: &ast::QualifiedName, args: &[ast::Expr], span: Span) {
        if procedure.is_simple() && matches!(procedure.text.as_str(), "print" | "println") {
            let home = self.body.home;
            if self.find_callable(home, procedure).is_none() {
                self.print(procedure.text == "println", args, span);
                return;
            }
        }
        let Some((entity, member, signature)) = self.callee(procedure, args, false) else { return };
        let Some(arguments) = self.arguments(&signature, (entity, member), args, span) else { return };
        self.emit_call(entity, member, &signature, arguments, None, span);
        self.body.effects += 1;
    }

    fn emit_call(
        &mut self,
        entity: EntityId,
        member: Member,
        signature: &Signature,
        arguments: Arguments,
        result: Option<ir::LocalId>,
        span: Span,
    ) {
        let Arguments { list: arguments, shapes, after } = arguments;
        if signature.native {
            let native = self.native(entity, member, signature, shapes);
            self.emit(StmtKind::CallNative { result, native, arguments }, span);
        } else if let Some(procedure) = self.procedure(entity, member, shapes, span) {
            self.emit(StmtKind::Call { result, procedure, arguments }, span);
        }
        for copy in after {
            self.emit(copy, span);
        }
    }

    /// What a call calls; its arguments are looked at even when there is nothing to call.
    fn callee(
        &mut self,
        name: &ast::QualifiedName,
        args: &[ast::Expr],
        function: bool,
    ) -> Option<(EntityId, Member, Rc<Signature>)> {
        let found = self.resolve_callable(name);
        let problem = match found {
            Resolved::Member(entity, member @ Member::Function(_)) if function => {
                let signature = self.signature(entity, member);
                return Some((entity, member, signature));
            }
            Resolved::Member(entity, member @ Member::Procedure(_)) if !function => {
                let signature = self.signature(entity, member);
                return Some((entity, member, signature));
            }
            Resolved::Member(_, Member::Function(_)) => Some(("function", "a function; use its value")),
            Resolved::Member(_, Member::Procedure(_)) => {
                Some(("procedure", "a procedure, which has no value; call it in a statement"))
            }
            Resolved::Member(..) | Resolved::Local(_) => Some(("variable", "a variable and cannot be called")),
            Resolved::Nothing => None,
        };
        if let Some((_, what)) = problem {
            let wanted = if function { "a function is needed here" } else { "a procedure is needed here" };
            self.error("not-callable", format!("`{}` is {what}", name.text), name.span, wanted);
        }
        for arg in args {
            self.unreached(|this| this.expr(arg));
        }
        None
    }

    /// The arguments of a call.
    fn arguments(
        &mut self,
        signature: &Signature,
        callable: (EntityId, Member),
        args: &[ast::Expr],
        span: Span,
    ) -> Option<Arguments> {
        if args.len() != signature.params.len() {
            let (wanted, given) = (signature.params.len(), args.len());
            self.report(
                Diagnostic::error(
                    "wrong-argument-count",
                    format!(
                        "`{}` takes {wanted} argument{}, not {given}",
                        signature.name,
                        if wanted == 1 { "" } else { "s" }
                    ),
                )
                .at(span, "")
                .also(signature.span, "declared here"),
            );
            for arg in args {
                self.unreached(|this| this.expr(arg));
            }
            return None;
        }
        let mut arguments = Vec::with_capacity(args.len() + 1);
        let mut shapes = Vec::new();
        let mut after = Vec::new();
        let mut complete = true;
        for (at, (arg, ty)) in args.iter().zip(&signature.params).enumerate() {
            let effects = self.body.effects;
            let mark = self.body.out.len();
            let argument = if ty.is_list() {
                self.list_argument(signature, callable, at, arg, &mut after).map(|(place, dims)| {
                    shapes.push(dims);
                    Argument::List(place)
                })
            } else {
                let typed = self.expr(arg);
                let what = format!("the parameter `{}`", signature.param_names[at]);
                Some(Argument::Value(self.convert(typed, ty.elem, &what)))
            };
            if self.body.effects != effects {
                self.keep_arguments(&mut arguments, &signature.params, mark);
            }
            match argument {
                Some(argument) => arguments.push(argument),
                None => complete = false,
            }
        }
        complete.then_some(Arguments { list: arguments, shapes, after })
    }

    /// Keeps the values of arguments that were lowered before statements with effects.
    fn keep_arguments(&mut self, arguments: &mut [Argument], params: &[Ty], mark: usize) {
        for (argument, ty) in arguments.iter_mut().zip(params) {
            if let Argument::Value(expr) = argument {
                let span = expr.span;
                let expr_out = std::mem::replace(expr, Expr { kind: ExprKind::Bool(false), span });
                let typed = Typed { value: Operand::Scalar(expr_out), ..Typed::of_type(ty.clone(), span) };
                let bounds = match ty.elem {
                    Elem::Int(bounds) => bounds,
                    _ => Bounds::UNKNOWN,
                };
                let kept = self.spill(Typed { bounds, ..typed }, mark);
                *expr = self.take(kept);
            }
        }
    }

    fn list_argument(
        &mut self,
        signature: &Signature,
        callable: (EntityId, Member),
        at: usize,
        arg: &ast::Expr,
        after: &mut Vec<StmtKind>,
    ) -> Option<(Place, Vec<u32>)> {
        let span = arg.span;
        let ty = &signature.params[at];
        let name = match &arg.kind {
            ast::ExprKind::Var(name) | ast::ExprKind::Index { base: name, .. } => name,
            _ => {
                // A list without a name: made in a list of the parameter's elements and its own length.
                let dims = self.list_shape(arg);
                if dims.len() != ty.dims.len() {
                    let typed = self.unreached(|this| this.expr(arg));
                    if !typed.ty.is_poison() {
                        self.check_list_fits(&typed.ty, ty, span);
                    }
                    return None;
                }
                let own = Ty { elem: ty.elem, dims: dims.clone() };
                if !self.check_argument_fits(&own, ty, span) {
                    return None;
                }
                let local = self.temporary(own.clone());
                let place = Self::local_place(local, span);
                self.assign_into(place.clone(), &own, arg);
                return Some((place, dims));
            }
        };
        let typed = self.expr(arg);
        if typed.ty.is_poison() || ty.is_poison() {
            return None;
        }
        let Operand::List(place) = typed.value else {
            self.check_list_fits(&typed.ty, ty, span);
            return None;
        };
        if !self.check_argument_fits(&typed.ty, ty, span) {
            return None;
        }
        let same = same_elements(typed.ty.elem, ty.elem);
        let written = self.effects.writes_param(self.session, self.provider, callable, at);
        if written
            && (same || !signature.native)
            && let Some(why) = self.not_assignable(name)
        {
            if signature.native {
                // A native may but need not write: it gets a copy.
                let local = self.temporary(typed.ty.clone());
                let copy = Self::local_place(local, span);
                self.emit(StmtKind::Copy { target: copy.clone(), source: place, convert: None }, span);
                return Some((copy, typed.ty.dims));
            }
            self.error(
                "assign-to-constant",
                format!("`{}` writes to this list, but `{}` is {why}", signature.name, name.text),
                span,
                "cannot be written to",
            );
            return None;
        }
        if !same {
            let back = written && self.not_assignable(name).is_none();
            return self.converted_list(signature, ty, place, typed.ty, back.then_some(after), span);
        }
        Some((place, typed.ty.dims))
    }

    /// A list whose elements are not those of the parameter: a converted copy goes in and, where it may be written to,
    /// comes back.
    fn converted_list(
        &mut self,
        signature: &Signature,
        ty: &Ty,
        place: Place,
        own: Ty,
        after: Option<&mut Vec<StmtKind>>,
        span: Span,
    ) -> Option<(Place, Vec<u32>)> {
        let message = format!("`{}` takes a list of `{}`, but this one is of `{}`", signature.name, ty.elem, own.elem);
        let moving = !place.indices.iter().all(crate::body::is_literal);
        let note = match &after {
            Some(_) if moving => "the elements must be the same where the list is written to",
            Some(_) => "a converted copy goes in, and comes back converted",
            None => "a converted copy goes in",
        };
        let diagnostic = if after.is_some() && moving {
            Diagnostic::error("list-element-width", message)
        } else {
            Diagnostic::warning("list-element-width", message)
        };
        let refused = diagnostic.severity == Severity::Error;
        self.report(diagnostic.at(span, note).also(signature.span, "declared here"));
        if refused {
            return None;
        }
        let copy = self.temporary(Ty { elem: ty.elem, dims: own.dims.clone() });
        let copy = Self::local_place(copy, span);
        let (to, from) = (self.ir_type(ty).element, self.ir_type(&own).element);
        self.emit(StmtKind::Copy { target: copy.clone(), source: place.clone(), convert: Some(to) }, span);
        if let Some(after) = after {
            after.push(StmtKind::Copy { target: place, source: copy.clone(), convert: Some(from) });
        }
        Some((copy, own.dims))
    }
}

fn same_elements(a: Elem, b: Elem) -> bool {
    match (a, b) {
        (Elem::Int(a), Elem::Int(b)) => {
            a.signed == b.signed && (a.width == b.width || a.width == UNKNOWN || b.width == UNKNOWN)
        }
        _ => a == b,
    }
}
