//! Inline expansion of functions whose value is one expression.
//!
//! A call of `function done() --> bool : left < 0 end` becomes `left < 0`, so that who compares expressions sees what the
//! function reads. Functions that compute something in statements first, that take lists, or that are recursive stay calls.

use headrace_ir::{Actor, Argument, Expr, ExprKind, Place, PrintOperand, Procedure, Root};

/// Calls inside calls that are expanded; deeper ones stay, which ends recursion.
const MAX_CALLS: usize = 8;

/// Nodes that an expression may grow to; behind that calls stay.
const MAX_NODES: usize = 4096;

/// The expression, which stands in an action, with calls replaced by what they compute.
pub(crate) fn expanded(actor: &Actor, expr: &Expr) -> Expr {
    Expansion { actor, nodes: 0 }.expr(expr, None, 0)
}

struct Expansion<'a> {
    actor: &'a Actor,
    nodes: usize,
}

impl Expansion<'_> {
    /// `arguments`, already expanded, stand for the parameters of the function that the expression is taken from.
    fn expr(&mut self, expr: &Expr, arguments: Option<&[Expr]>, calls: usize) -> Expr {
        self.nodes += 1;
        let mut of = |operand: &Expr| Box::new(self.expr(operand, arguments, calls));
        let kind = match &expr.kind {
            ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_) => expr.kind.clone(),
            ExprKind::Load(place) => match (place.root, arguments) {
                (Root::Local(parameter), Some(arguments)) if place.indices.is_empty() => {
                    let argument = &arguments[parameter.index()];
                    self.nodes += size(argument);
                    return argument.clone();
                }
                _ => ExprKind::Load(Place {
                    root: place.root,
                    indices: place.indices.iter().map(|index| *of(index)).collect(),
                    span: place.span,
                }),
            },
            ExprKind::Negate(a) => ExprKind::Negate(of(a)),
            ExprKind::Complement(a) => ExprKind::Complement(of(a)),
            ExprKind::Not(a) => ExprKind::Not(of(a)),
            ExprKind::Wrap(ty, a) => ExprKind::Wrap(*ty, of(a)),
            ExprKind::IntToReal(ty, a) => ExprKind::IntToReal(*ty, of(a)),
            ExprKind::RealToReal(ty, a) => ExprKind::RealToReal(*ty, of(a)),
            ExprKind::RealNegate(a) => ExprKind::RealNegate(of(a)),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, of(a), of(b)),
            ExprKind::ShiftLeft(ty, a, b) => ExprKind::ShiftLeft(*ty, of(a), of(b)),
            ExprKind::Compare(op, a, b) => ExprKind::Compare(*op, of(a), of(b)),
            ExprKind::And(a, b) => ExprKind::And(of(a), of(b)),
            ExprKind::Or(a, b) => ExprKind::Or(of(a), of(b)),
            ExprKind::RealBinary(ty, op, a, b) => ExprKind::RealBinary(*ty, *op, of(a), of(b)),
            ExprKind::If(c, a, b) => ExprKind::If(of(c), of(a), of(b)),
            ExprKind::Concat(operands) => ExprKind::Concat(
                operands
                    .iter()
                    .map(|operand| PrintOperand { value: *of(&operand.value), kind: operand.kind })
                    .collect(),
            ),
            ExprKind::Call(id, passed) => {
                let values: Option<Vec<Expr>> = passed
                    .iter()
                    .map(|argument| match argument {
                        Argument::Value(value) => Some(*of(value)),
                        Argument::List(_) => None,
                    })
                    .collect();
                let function = self.actor.procedures.get(id.index());
                match (values, function.and_then(value_of)) {
                    (Some(values), Some(value)) if calls < MAX_CALLS && self.nodes < MAX_NODES => {
                        return self.expr(value, Some(&values), calls + 1);
                    }
                    (Some(values), _) => ExprKind::Call(*id, values.into_iter().map(Argument::Value).collect()),
                    // A list that a function hands on is one of its parameters, so the function is none that is expanded.
                    (None, _) => expr.kind.clone(),
                }
            }
        };
        Expr { kind, span: expr.span }
    }
}

/// Nodes of an expression: a function that uses its argument twice doubles it.
fn size(expr: &Expr) -> usize {
    let within: Vec<&Expr> = match &expr.kind {
        ExprKind::Load(place) => place.indices.iter().collect(),
        ExprKind::Call(_, arguments) => arguments
            .iter()
            .flat_map(|argument| match argument {
                Argument::Value(value) => std::slice::from_ref(value),
                Argument::List(place) => &place.indices,
            })
            .collect(),
        _ => expr.parts(),
    };
    within.into_iter().fold(1, |sum, expr| sum + size(expr))
}

/// The expression that a function is, if it is one over scalars.
fn value_of(function: &Procedure) -> Option<&Expr> {
    let (_, value) = function.result.as_ref()?;
    let scalars = function.locals.iter().all(|local| !local.ty.is_list());
    (function.pure_function && function.body.is_empty() && function.locals.len() == function.n_parameters && scalars)
        .then_some(value)
}
