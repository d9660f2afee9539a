//! Expressions: which nodes a value is computed from, and which places it decides at on the way.

use super::body::Builder;
use super::slots::{View, add};
use super::{Decides, NodeId};
use headrace_ir::eval::{compare, int_binary};
use headrace_ir::{BinaryOp, Expr, ExprKind, Int, Place, Root, Value};

/// Expressions deeper than this have no known value.
const MAX_DEPTH: usize = 100;

impl Builder<'_> {
    /// The nodes that the value of an expression is computed from.
    pub(super) fn expr(&mut self, expr: &Expr) -> Vec<NodeId> {
        match &expr.kind {
            ExprKind::Load(place) => {
                let view = self.view(place);
                self.read(&view)
            }
            ExprKind::Binary(op, a, b) => {
                let (mut nodes, right) = (self.expr(a), self.expr(b));
                let is_constant = self.constant(b).is_some();
                match op {
                    BinaryOp::Div | BinaryOp::Mod if !is_constant => {
                        self.place(Decides::Division, expr.span, nodes.iter().chain(&right).copied().collect());
                    }
                    BinaryOp::ShiftRight if !is_constant => self.place(Decides::Shift, b.span, right.clone()),
                    _ => {}
                }
                add(&mut nodes, right);
                nodes
            }
            ExprKind::ShiftLeft(_, a, b) => {
                let (mut nodes, right) = (self.expr(a), self.expr(b));
                if self.constant(b).is_none() {
                    self.place(Decides::Shift, b.span, right.clone());
                }
                add(&mut nodes, right);
                nodes
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => self.short_circuit(expr, a, b),
            ExprKind::If(condition, a, b) => self.conditional(condition, a, b),
            ExprKind::Call(procedure, arguments) => self.call(*procedure, arguments, expr.span),
            _ => {
                let mut nodes = Vec::new();
                for part in expr.parts() {
                    let more = self.expr(part);
                    add(&mut nodes, more);
                }
                nodes
            }
        }
    }

    fn short_circuit(&mut self, expr: &Expr, a: &Expr, b: &Expr) -> Vec<NodeId> {
        let is_and = matches!(expr.kind, ExprKind::And(..));
        let decided = Int::from(i64::from(!is_and));
        match (self.constant(a), self.constant(b)) {
            (Some(left), _) if left == decided => return Vec::new(),
            (Some(_), _) => return self.expr(b),
            // Operands are pure, and what evaluating the left one reads does not show.
            (None, Some(right)) if right == decided && is_free(a) => return Vec::new(),
            (None, Some(_)) => return self.expr(a),
            (None, None) => {}
        }
        let mut nodes = self.expr(a);
        let decides = if is_free(b) { Decides::Logic } else { Decides::ShortCircuit };
        self.place(decides, a.span, nodes.clone());
        let right = self.expr(b);
        add(&mut nodes, right);
        nodes
    }

    fn conditional(&mut self, condition: &Expr, a: &Expr, b: &Expr) -> Vec<NodeId> {
        if let Some(known) = self.constant(condition) {
            return self.expr(if known == Int::ZERO { b } else { a });
        }
        let mut nodes = self.expr(condition);
        self.place(Decides::Conditional, condition.span, nodes.clone());
        for branch in [a, b] {
            let more = self.expr(branch);
            add(&mut nodes, more);
        }
        nodes
    }

    /// What a place denotes; its indices are addresses.
    pub(super) fn view(&mut self, place: &Place) -> View {
        let mut view = self.root(place.root);
        for index in &place.indices {
            let nodes = self.expr(index);
            let stride: usize = if view.dims.is_empty() {
                1
            } else {
                view.dims.remove(0);
                view.dims.iter().map(|&size| size as usize).product()
            };
            let constant = self.constant(index).and_then(|value| value.to_u64());
            view.start =
                view.start.zip(constant).map(|(start, at)| start.saturating_add((at as usize).saturating_mul(stride)));
            if constant.is_none() {
                self.place(Decides::Address, index.span, nodes.clone());
                add(&mut view.index, nodes);
            }
        }
        view
    }

    /// Nodes of what lies in a place.
    pub(super) fn read(&self, view: &View) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        let contents = &self.store.contents[view.slot];
        let len = view.dims.iter().map(|&size| size as usize).product();
        match view.start {
            Some(start) => add(&mut nodes, contents.range(start, len)),
            None => add(&mut nodes, contents.all()),
        }
        add(&mut nodes, view.index.iter().copied());
        nodes
    }

    /// The value of an expression that does not depend on anything that varies; 0 and 1 for booleans.
    pub(super) fn constant(&self, expr: &Expr) -> Option<Int> {
        self.known(expr, 0)
    }

    fn known(&self, expr: &Expr, depth: usize) -> Option<Int> {
        if depth > MAX_DEPTH {
            return None;
        }
        let known = |expr: &Expr| self.known(expr, depth + 1);
        let truth = |value: bool| Int::from(i64::from(value));
        Some(match &expr.kind {
            ExprKind::Int(value) => value.clone(),
            ExprKind::Bool(value) => truth(*value),
            ExprKind::Load(place) => match place.root {
                Root::Actor(id) if !self.actor.variables[id.index()].mutable => {
                    let variable = &self.actor.variables[id.index()];
                    scalar(element(&variable.whole_initial(), &variable.ty.dims, &place.indices, &known)?)?
                }
                root if place.indices.is_empty() => {
                    let view = self.root(root);
                    let contents = &self.store.contents[view.slot];
                    contents.known.clone().filter(|_| self.store.slots[view.slot].len == 1)?
                }
                _ => return None,
            },
            ExprKind::Negate(a) => known(a)?.neg(),
            ExprKind::Complement(a) => known(a)?.complement(),
            ExprKind::Not(a) => truth(known(a)? == Int::ZERO),
            ExprKind::Wrap(ty, a) => known(a)?.wrap(*ty),
            ExprKind::Binary(op, a, b) => int_binary(*op, &known(a)?, &known(b)?).ok()?,
            ExprKind::ShiftLeft(ty, a, b) => known(a)?.shl(&known(b)?, *ty).ok()?,
            ExprKind::Compare(op, a, b) => truth(compare(*op, &Value::Int(known(a)?), &Value::Int(known(b)?))?),
            ExprKind::And(a, b) => truth(known(a)? != Int::ZERO && known(b)? != Int::ZERO),
            ExprKind::Or(a, b) => truth(known(a)? != Int::ZERO || known(b)? != Int::ZERO),
            ExprKind::If(c, a, b) => known(if known(c)? == Int::ZERO { b } else { a })?,
            _ => return None,
        })
    }
}

fn scalar(value: &Value) -> Option<Int> {
    match value {
        Value::Int(value) => Some(value.clone()),
        Value::Bool(value) => Some(Int::from(i64::from(*value))),
        _ => None,
    }
}

/// The element of a constant at known indices.
fn element<'v>(
    value: &'v Value,
    dims: &[u32],
    indices: &[Expr],
    known: &dyn Fn(&Expr) -> Option<Int>,
) -> Option<&'v Value> {
    let mut at = 0usize;
    for (index, size) in indices.iter().zip(dims) {
        let index = known(index)?.to_u64().filter(|index| *index < u64::from(*size))?;
        at = at * *size as usize + index as usize;
    }
    match value {
        Value::List(elements) if indices.len() == dims.len() => elements.get(at),
        Value::List(_) => None,
        scalar => Some(scalar),
    }
}

/// True when an expression costs next to nothing and cannot fail, so that evaluating it or not does not show: it has no
/// look-up, no call, no choice and no division.
fn is_free(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Bool(_) | ExprKind::Real(..) | ExprKind::String(_) => true,
        ExprKind::Load(place) => place.indices.iter().all(|index| matches!(index.kind, ExprKind::Int(_))),
        ExprKind::Negate(a) | ExprKind::Complement(a) | ExprKind::Not(a) | ExprKind::Wrap(_, a) => is_free(a),
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Mod, ..) => false,
        ExprKind::Binary(_, a, b) | ExprKind::ShiftLeft(_, a, b) | ExprKind::Compare(_, a, b) => {
            is_free(a) && is_free(b)
        }
        ExprKind::And(a, b) | ExprKind::Or(a, b) => is_free(a) && is_free(b),
        _ => false,
    }
}
