//! The body that is being lowered: its locals, the names in scope, and the statements so far.

use crate::builder::Builder;
use crate::fits::machine_width;
use crate::members::Member;
use crate::session::EntityId;
use crate::types::{Bounds, Elem, Ty};
use headrace_ir as ir;
use headrace_ir::{Expr, ExprKind, Int, LocalId, LocalKind, Place, Root, Stmt, StmtKind, Value, VariableId};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, Text};
use std::collections::{HashMap, HashSet};

/// What a name of the body stands for.
#[derive(Clone)]
pub(crate) enum Binding {
    /// A local of the body.
    Local { id: LocalId, assignable: bool, span: Span },
    /// A scalar constant, or, without a value, one whose value is not known.
    Constant { ty: Ty, value: Option<Value>, span: Span },
    /// A constant list, which became a variable of the actor so that it is not made anew each time.
    Table { id: VariableId, span: Span },
    /// An own local of an action, seen from its guard.
    NotInGuard { span: Span },
    /// Declared wrongly, and reported.
    Poison { span: Span },
}

impl Binding {
    pub fn span(&self) -> Span {
        match self {
            Binding::Local { span, .. }
            | Binding::Constant { span, .. }
            | Binding::Table { span, .. }
            | Binding::NotInGuard { span }
            | Binding::Poison { span } => *span,
        }
    }
}

/// The body that is being lowered.
pub(crate) struct Body {
    /// In whose scope names are looked up.
    pub home: EntityId,
    pub locals: Vec<ir::Local>,
    pub types: Vec<Ty>,
    pub scope: HashMap<Text, Binding>,
    /// Names of tokens and parameters that no local has hidden yet.
    outer: HashSet<Text>,
    /// Statements of the innermost block so far.
    pub out: Vec<Stmt>,
    /// Set where only constants are allowed: locals from this one on belong to the constant expression itself.
    pub constant_from: Option<usize>,
    /// The initial value of a variable: initial values of others may be used.
    pub initial: bool,
    /// A width, a size, a count or a bound: of a variable that is assigned to, its initial value counts.
    pub is_size: bool,
    /// Variables that are assigned to and that the size names itself, which was told where it does.
    pub told: Vec<VariableId>,
    /// Set in guards, which must be free of effects.
    pub guard: bool,
    /// Number of statements with effects that were hoisted out of expressions.
    pub effects: u32,
}

impl Body {
    pub fn new(home: EntityId) -> Self {
        Self {
            home,
            locals: Vec::new(),
            types: Vec::new(),
            scope: HashMap::new(),
            outer: HashSet::new(),
            out: Vec::new(),
            constant_from: None,
            initial: false,
            is_size: false,
            told: Vec::new(),
            guard: false,
            effects: 0,
        }
    }

    /// A body in which only constants are allowed.
    pub fn constant(home: EntityId) -> Self {
        Self { constant_from: Some(0), ..Self::new(home) }
    }
}

/// A lowered expression.
pub(crate) struct Typed {
    pub value: Operand,
    /// Type by the table of the language.
    pub ty: Ty,
    /// What an integer value needs.
    pub bounds: Bounds,
    /// Set where the value has its sign from the `~` of an unsigned operand: where that stands, and the lowest bits that
    /// are the same for every reading of it.
    pub widened: Option<(Span, u32)>,
    pub span: Span,
}

/// Where the value of a lowered expression is.
pub(crate) enum Operand {
    Scalar(Expr),
    List(Place),
    /// There is none: something was wrong, or only the type was asked for.
    None,
}

impl Typed {
    pub fn poison(span: Span) -> Self {
        Self { value: Operand::None, ty: Ty::POISON, bounds: Bounds::UNKNOWN, widened: None, span }
    }

    pub fn scalar(kind: ExprKind, ty: Ty, span: Span) -> Self {
        let bounds = match ty.elem {
            Elem::Int(bounds) => bounds,
            _ => Bounds::UNKNOWN,
        };
        Self { value: Operand::Scalar(Expr { kind, span }), ty, bounds, widened: None, span }
    }

    /// An integer with its type by the table and what it really needs.
    pub fn int(kind: ExprKind, table: Bounds, bounds: Bounds, span: Span) -> Self {
        Self { value: Operand::Scalar(Expr { kind, span }), ty: Ty::int(table), bounds, widened: None, span }
    }

    /// A known integer.
    pub fn literal(value: Int, table: Bounds, span: Span) -> Self {
        let bounds = Bounds::of(&value);
        Self::int(ExprKind::Int(value), table, bounds, span)
    }

    /// A value of a type without an expression for it.
    pub fn of_type(ty: Ty, span: Span) -> Self {
        Self { value: Operand::None, ty, bounds: Bounds::UNKNOWN, widened: None, span }
    }

    pub fn as_int(&self) -> Option<&Int> {
        match &self.value {
            Operand::Scalar(Expr { kind: ExprKind::Int(value), .. }) => Some(value),
            _ => None,
        }
    }
}

/// True for an expression that is a value.
pub(crate) fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_))
}

/// A scalar value as an expression.
pub(crate) fn literal(value: &Value, ty: ir::Scalar, span: Span) -> Option<Expr> {
    let kind = match (value, ty) {
        (Value::Bool(value), _) => ExprKind::Bool(*value),
        (Value::Int(value), _) => ExprKind::Int(value.clone()),
        (Value::Real(value), ir::Scalar::Real(real)) => ExprKind::Real(*value, real),
        (Value::Real(value), _) => ExprKind::Real(*value, ir::RealType::Double),
        (Value::String(text), _) => ExprKind::String(text.clone()),
        (Value::List(_), _) => return None,
    };
    Some(Expr { kind, span })
}

impl Builder<'_> {
    /// A new local.
    pub fn add_local(&mut self, name: &str, ty: Ty, kind: LocalKind) -> LocalId {
        let ir_ty = self.ir_type(&ty);
        let id = LocalId(self.body.locals.len() as u32);
        self.body.locals.push(ir::Local { name: name.to_string(), ty: ir_ty, kind });
        self.body.types.push(ty);
        id
    }

    /// A new local for a value of the front end's own.
    pub fn temporary(&mut self, ty: Ty) -> LocalId {
        self.add_local("t", ty, LocalKind::Plain)
    }

    pub fn local_place(id: LocalId, span: Span) -> Place {
        Place { root: Root::Local(id), indices: Vec::new(), span }
    }

    pub fn emit(&mut self, kind: StmtKind, span: Span) {
        self.body.out.push(Stmt { kind, span });
    }

    /// Brings a name of the body into scope; a name that this level of the body already has is an error.
    pub fn bind(&mut self, name: &ast::Name, binding: Binding) {
        if self.body.outer.remove(&name.text) {
            self.bind_nested(name, binding);
            return;
        }
        if let Some(first) = self.body.scope.get(&name.text)
            && !matches!(first, Binding::NotInGuard { .. })
        {
            let diagnostic = crate::members::duplicate(name, Some(first.span()));
            self.report(diagnostic);
            return;
        }
        self.body.scope.insert(name.text.clone(), binding);
    }

    /// Brings a name into an inner scope and returns what it stood for outside of that.
    pub fn bind_nested(&mut self, name: &ast::Name, binding: Binding) -> Option<Binding> {
        let hidden = self.body.scope.insert(name.text.clone(), binding);
        if let Some(hidden) = &hidden
            && !matches!(hidden, Binding::NotInGuard { .. })
        {
            self.report(
                Diagnostic::warning("duplicate-name", format!("`{}` hides another `{}`", name.text, name.text))
                    .at(name.span, "means this one from here on")
                    .also(hidden.span(), "the hidden one"),
            );
        }
        hidden
    }

    /// Warns of a name of an action, function or procedure that hides a variable, parameter or port of the actor.
    pub fn check_hidden(&mut self, name: &ast::Name) {
        let file = self.file(self.body.home);
        let Some(actor) = file.actor() else { return };
        let port = || actor.inputs.iter().chain(&actor.outputs).find(|port| port.name.text == name.text);
        let (what, span) = match file.members.get(&name.text).copied() {
            Some(member @ Member::Var(_)) => ("a variable", file.var(member).map(|decl| decl.name.span)),
            Some(member @ Member::Param(_)) => ("a parameter", file.var(member).map(|decl| decl.name.span)),
            _ => ("a port", port().map(|port| port.name.span)),
        };
        let Some(span) = span else { return };
        self.report(
            Diagnostic::warning("hidden-variable", format!("`{}` hides {what} of the actor", name.text))
                .at(name.span, "means this one from here on")
                .also(span, "the hidden one")
                .help("give it a name of its own"),
        );
    }

    /// The names that are in scope now belong to a level of their own: tokens or parameters, which locals may hide.
    pub fn enter_locals(&mut self) {
        self.body.outer = self.body.scope.keys().cloned().collect();
    }

    /// Runs `f` with a fresh list of statements and returns what it emitted.
    pub fn block<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> (Vec<Stmt>, T) {
        let outer = std::mem::take(&mut self.body.out);
        let result = f(self);
        (std::mem::replace(&mut self.body.out, outer), result)
    }

    /// Runs `f` for its diagnostics and types only; values that are wrong there are not.
    pub fn unreached<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let locals = self.body.locals.len();
        let (taint, effects) = (self.taint, self.body.effects);
        self.dead += 1;
        let (_, result) = self.block(f);
        self.dead -= 1;
        self.taint = taint;
        self.body.effects = effects;
        self.body.locals.truncate(locals);
        self.body.types.truncate(locals);
        result
    }

    /// The declared type of a variable, in the current scope.
    pub fn decl_type(&mut self, decl: &ast::VarDecl) -> Ty {
        let mut ty = self.ast_type(&decl.ty);
        if !decl.dims.is_empty() {
            let mut dims = Vec::with_capacity(decl.dims.len() + ty.dims.len());
            for dim in &decl.dims {
                dims.push(self.list_size(dim));
            }
            dims.append(&mut ty.dims);
            ty.dims = dims;
        }
        self.check_total_size(&mut ty, decl.ty.span);
        ty
    }

    /// A type as written.
    pub fn ast_type(&mut self, ty: &ast::Type) -> Ty {
        let mut dims = Vec::new();
        let mut inner = ty;
        while let ast::TypeKind::List { element, size } = &inner.kind {
            dims.push(self.list_size(size));
            inner = element;
        }
        let elem = match &inner.kind {
            ast::TypeKind::Bool => Elem::Bool,
            ast::TypeKind::Int(size) => self.int_elem(true, size.as_deref()),
            ast::TypeKind::Uint(size) => self.int_elem(false, size.as_deref()),
            ast::TypeKind::Half => Elem::Real(ir::RealType::Half),
            ast::TypeKind::Float => Elem::Real(ir::RealType::Float),
            ast::TypeKind::Double => Elem::Real(ir::RealType::Double),
            ast::TypeKind::String => Elem::String,
            ast::TypeKind::List { .. } | ast::TypeKind::Error => Elem::Poison,
        };
        let mut ty = Ty { elem, dims };
        self.check_total_size(&mut ty, inner.span);
        ty
    }

    fn check_total_size(&mut self, ty: &mut Ty, span: Span) {
        let mut total: u64 = 1;
        for &dim in &ty.dims {
            total = total.saturating_mul(u64::from(dim.max(1)));
        }
        if total > ir::MAX_LIST_ELEMENTS {
            let message = format!("a list of {total} elements is more than any engine or target can hold");
            let diagnostic = Diagnostic::error("list-too-large", message)
                .at(span, "in this type")
                .note(format!("at most {} elements are possible", ir::MAX_LIST_ELEMENTS));
            self.report(diagnostic);
            *ty = Ty { elem: Elem::Poison, dims: vec![crate::types::UNKNOWN; ty.dims.len()] };
        }
    }

    fn int_elem(&mut self, signed: bool, size: Option<&ast::Expr>) -> Elem {
        let Some(size) = size else {
            return Elem::Int(Bounds { signed, width: 32 });
        };
        match self.fold_int(size, "the width of an integer") {
            Folded::Known(width) => {
                if width <= Int::ZERO {
                    self.error(
                        "width-not-positive",
                        format!("an integer of {width} bits does not exist"),
                        size.span,
                        "must be at least 1",
                    );
                    return Elem::Poison;
                }
                match width.to_u64() {
                    Some(width) if width <= u64::from(ir::MAX_WIDTH) => {
                        let width = width as u32;
                        let width = if self.session.orcc_widths { machine_width(width) } else { width };
                        Elem::Int(Bounds { signed, width })
                    }
                    _ => {
                        let message = format!("an integer of {} bits is too wide", crate::lists::short(&width));
                        let mut diagnostic = Diagnostic::error("width-too-large", message)
                            .at(size.span, format!("at most {} bits are possible", ir::MAX_WIDTH));
                        if let ast::ExprKind::Binary { op: ast::BinaryOp::Shl | ast::BinaryOp::Pow, .. } = size.kind {
                            diagnostic =
                                diagnostic.help("a width is a number of bits: `n` of them hold `1 << n` values");
                        }
                        self.report(diagnostic);
                        Elem::Poison
                    }
                }
            }
            Folded::Unknown => Elem::Int(Bounds { signed, width: crate::types::UNKNOWN }),
            Folded::Wrong => Elem::Poison,
        }
    }

    /// A size of a list; [`crate::types::UNKNOWN`] also where it is wrong.
    pub fn list_size(&mut self, size: &ast::Expr) -> u32 {
        match self.fold_int(size, "the size of a list") {
            Folded::Known(value) if value <= Int::ZERO => {
                self.error(
                    "list-size-not-positive",
                    format!("a list of {} elements does not exist", crate::lists::short(&value)),
                    size.span,
                    "must be at least 1",
                );
                self.taint += 1;
                crate::types::UNKNOWN
            }
            Folded::Known(value) => match value.to_u64() {
                Some(value) if value <= ir::MAX_LIST_ELEMENTS => value as u32,
                _ => {
                    self.report(
                        headrace_source::Diagnostic::error(
                            "list-too-large",
                            format!(
                                "a list of {} elements is more than any engine or target can hold",
                                crate::lists::short(&value)
                            ),
                        )
                        .at(size.span, "too large")
                        .note(format!("at most {} elements are possible", ir::MAX_LIST_ELEMENTS)),
                    );
                    crate::types::UNKNOWN
                }
            },
            Folded::Unknown | Folded::Wrong => crate::types::UNKNOWN,
        }
    }
}

/// What a constant expression came to.
pub(crate) enum Folded<T> {
    Known(T),
    /// Depends on something that is not known in this check.
    Unknown,
    /// Wrong, and reported.
    Wrong,
}
