//! Whether two guards can hold at once.
//!
//! A guard becomes a disjunction of conjunctions of *atoms*. An atom says that a boolean expression is true or false, that
//! an integer expression lies in an interval or differs from a number, or how two expressions compare. Expressions are
//! opaque, except that they are equal when they read the same variables, tokens and constants in the same way. Whatever does
//! not fit is left out, which only makes guards look weaker than they are.

use headrace_ir::{Action, Actor, BinaryOp, CompareOp, Expr, ExprKind, Int, LocalId, LocalKind, Root, Scalar, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Conjunctions that the guard of one action may split into.
const MAX_TERMS: usize = 32;

/// Expressions deeper than this are not looked into.
const MAX_DEPTH: usize = 200;

/// An outcome of comparing two expressions, as a set: bit 0 less, bit 1 equal, bit 2 greater.
type Outcomes = u8;

#[derive(Clone, Debug, PartialEq)]
enum Atom {
    Bool { expr: String, holds: bool },
    Number { expr: String, low: Option<Int>, high: Option<Int>, not: Option<Int> },
    Order { left: String, right: String, outcomes: Outcomes },
}

/// True when no state and no tokens satisfy both guards.
pub(super) fn exclusive(actor: &Actor, a: &Action, b: &Action) -> bool {
    let (a, b) = (terms(actor, a), terms(actor, b));
    a.iter().all(|a| b.iter().all(|b| contradicts(a, b)))
}

/// The guard of an action as a disjunction of conjunctions.
fn terms(actor: &Actor, action: &Action) -> Vec<Vec<Atom>> {
    let reader = Reader { actor, action };
    let mut terms = vec![Vec::new()];
    for condition in &action.guard.conditions {
        terms = conjunction(terms, reader.condition(condition, true, 0));
    }
    terms
}

/// All pairs of terms joined; the second is left out when that would be too many.
fn conjunction(a: Vec<Vec<Atom>>, b: Vec<Vec<Atom>>) -> Vec<Vec<Atom>> {
    if a.len() * b.len() > MAX_TERMS {
        return a;
    }
    a.iter().flat_map(|a| b.iter().map(|b| a.iter().chain(b).cloned().collect())).collect()
}

struct Reader<'a> {
    actor: &'a Actor,
    action: &'a Action,
}

impl Reader<'_> {
    /// The terms of a condition, or of its negation. One empty term says nothing.
    fn condition(&self, expr: &Expr, holds: bool, depth: usize) -> Vec<Vec<Atom>> {
        if depth > MAX_DEPTH {
            return vec![Vec::new()];
        }
        match &expr.kind {
            ExprKind::Bool(value) if *value == holds => vec![Vec::new()],
            ExprKind::Bool(_) => Vec::new(),
            ExprKind::Not(operand) => self.condition(operand, !holds, depth + 1),
            ExprKind::And(left, right) | ExprKind::Or(left, right) => {
                let (left, right) = (self.condition(left, holds, depth + 1), self.condition(right, holds, depth + 1));
                if matches!(expr.kind, ExprKind::And(..)) == holds {
                    conjunction(left, right)
                } else if left.len() + right.len() <= MAX_TERMS {
                    left.into_iter().chain(right).collect()
                } else {
                    vec![Vec::new()]
                }
            }
            ExprKind::Compare(op, left, right) => {
                let op = if holds { *op } else { opposite(*op) };
                vec![self.comparison(op, left, right).into_iter().collect()]
            }
            _ => vec![self.key(expr).map(|expr| Atom::Bool { expr, holds }).into_iter().collect()],
        }
    }

    fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr) -> Option<Atom> {
        match (self.constant(left, 0), self.constant(right, 0)) {
            (_, Some(Value::Int(number))) => Some(bounded(self.key(left)?, op, number)),
            (Some(Value::Int(number)), _) => Some(bounded(self.key(right)?, mirrored(op), number)),
            (_, Some(Value::Bool(value))) => {
                Some(Atom::Bool { expr: self.key(left)?, holds: value == (op == CompareOp::Equal) })
            }
            (Some(Value::Bool(value)), _) => {
                Some(Atom::Bool { expr: self.key(right)?, holds: value == (op == CompareOp::Equal) })
            }
            _ if self.is_real(left) => None,
            _ => {
                let (left, right, op) = {
                    let (left, right) = (self.key(left)?, self.key(right)?);
                    if left <= right { (left, right, op) } else { (right, left, mirrored(op)) }
                };
                Some(Atom::Order { left, right, outcomes: outcomes(op) })
            }
        }
    }

    /// Comparisons of reals do not exclude each other as those of integers do, because of what is not a number.
    fn is_real(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Load(place) => {
                let element = match place.root {
                    Root::Actor(id) => self.actor.variables.get(id.index()).map(|variable| variable.ty.element),
                    Root::Local(id) => self.action.locals.get(id.index()).map(|local| local.ty.element),
                };
                matches!(element, Some(Scalar::Real(_)))
            }
            ExprKind::Call(procedure, _) => {
                let procedure = self.actor.procedures.get(procedure.index());
                matches!(procedure.and_then(|procedure| procedure.result.as_ref()), Some((Scalar::Real(_), _)))
            }
            ExprKind::If(_, then, _) => self.is_real(then),
            ExprKind::Real(..)
            | ExprKind::IntToReal(..)
            | ExprKind::RealToReal(..)
            | ExprKind::RealBinary(..)
            | ExprKind::RealNegate(_) => true,
            _ => false,
        }
    }

    /// The value of an expression that is a constant.
    fn constant(&self, expr: &Expr, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let int = |expr: &Expr| match self.constant(expr, depth + 1) {
            Some(Value::Int(value)) => Some(value),
            _ => None,
        };
        Some(match &expr.kind {
            ExprKind::Int(value) => Value::Int(value.clone()),
            ExprKind::Bool(value) => Value::Bool(*value),
            ExprKind::Load(place) => {
                let Root::Actor(id) = place.root else { return None };
                let variable = self.actor.variables.get(id.index())?;
                if variable.mutable || variable.ty.is_list() {
                    return None;
                }
                variable.initial.clone()
            }
            ExprKind::Negate(operand) => Value::Int(int(operand)?.neg()),
            ExprKind::Complement(operand) => Value::Int(int(operand)?.complement()),
            ExprKind::Wrap(ty, operand) => Value::Int(int(operand)?.wrap(*ty)),
            ExprKind::Binary(op, left, right) => {
                let (left, right) = (int(left)?, int(right)?);
                Value::Int(match op {
                    BinaryOp::Add => left.add(&right),
                    BinaryOp::Sub => left.sub(&right),
                    BinaryOp::Mul => left.mul(&right),
                    BinaryOp::Div => left.div(&right).ok()?,
                    BinaryOp::Mod => left.modulo(&right).ok()?,
                    BinaryOp::And => left.and(&right),
                    BinaryOp::Or => left.or(&right),
                    BinaryOp::Xor => left.xor(&right),
                    BinaryOp::ShiftRight => left.shr(&right).ok()?,
                })
            }
            ExprKind::ShiftLeft(ty, left, right) => Value::Int(int(left)?.shl(&int(right)?, *ty).ok()?),
            _ => return None,
        })
    }

    /// A text that is the same for expressions that always have the same value. `None` for those that read what the
    /// guard itself computes.
    fn key(&self, expr: &Expr) -> Option<String> {
        let mut text = String::new();
        self.write_key(expr, &mut text, 0)?;
        Some(text)
    }

    fn write_key(&self, expr: &Expr, text: &mut String, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.constant(expr, 0) {
            Some(Value::Int(value)) => {
                let _ = write!(text, "{value}");
                return Some(());
            }
            Some(Value::Bool(value)) => {
                let _ = write!(text, "{value}");
                return Some(());
            }
            _ => {}
        }
        let depth = depth + 1;
        let list = |text: &mut String, name: String, operands: &[&Expr]| {
            let _ = write!(text, "({name}");
            for operand in operands {
                text.push(' ');
                self.write_key(operand, text, depth)?;
            }
            text.push(')');
            Some(())
        };
        match &expr.kind {
            ExprKind::Load(place) => {
                let indices: Vec<&Expr> = place.indices.iter().collect();
                match place.root {
                    Root::Actor(id) => list(text, format!("variable{}", id.0), &indices),
                    Root::Local(id) => list(text, self.token(id)?, &indices),
                }
            }
            // Storing what already fits changes nothing, but which values fit is not known here: wraps stay.
            ExprKind::Wrap(ty, a) => list(text, format!("{ty}"), &[a]),
            ExprKind::Negate(a) => list(text, "-".into(), &[a]),
            ExprKind::Complement(a) => list(text, "~".into(), &[a]),
            ExprKind::Not(a) => list(text, "not".into(), &[a]),
            ExprKind::Binary(op, a, b) => list(text, format!("{op:?}"), &[a, b]),
            ExprKind::ShiftLeft(ty, a, b) => list(text, format!("<<{ty}"), &[a, b]),
            ExprKind::Compare(op, a, b) => list(text, format!("{op:?}"), &[a, b]),
            ExprKind::And(a, b) => list(text, "and".into(), &[a, b]),
            ExprKind::Or(a, b) => list(text, "or".into(), &[a, b]),
            ExprKind::If(a, b, c) => list(text, "if".into(), &[a, b, c]),
            ExprKind::Call(procedure, arguments) => {
                let mut operands = Vec::new();
                for argument in arguments {
                    match argument {
                        headrace_ir::Argument::Value(value) => operands.push(value),
                        headrace_ir::Argument::List(_) => return None,
                    }
                }
                list(text, format!("call{}", procedure.0), &operands)
            }
            _ => None,
        }
    }

    /// The tokens that a pattern variable stands for; the same tokens have other names in other actions.
    fn token(&self, id: LocalId) -> Option<String> {
        if self.action.locals.get(id.index())?.kind != LocalKind::Pattern {
            return None;
        }
        self.action.consumes.iter().find_map(|pattern| {
            let position = pattern.locals.iter().position(|&local| local == id)?;
            let step = pattern.locals.len();
            // A list is told by where it starts and how it steps through the tokens, not by its length.
            Some(match pattern.repeat {
                None => format!("token{}:{position}", pattern.port),
                Some(_) => format!("tokens{}:{position}+{step}", pattern.port),
            })
        })
    }
}

fn opposite(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Equal => CompareOp::NotEqual,
        CompareOp::NotEqual => CompareOp::Equal,
        CompareOp::Less => CompareOp::GreaterEqual,
        CompareOp::LessEqual => CompareOp::Greater,
        CompareOp::Greater => CompareOp::LessEqual,
        CompareOp::GreaterEqual => CompareOp::Less,
    }
}

fn mirrored(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Less => CompareOp::Greater,
        CompareOp::LessEqual => CompareOp::GreaterEqual,
        CompareOp::Greater => CompareOp::Less,
        CompareOp::GreaterEqual => CompareOp::LessEqual,
        same => same,
    }
}

fn outcomes(op: CompareOp) -> Outcomes {
    match op {
        CompareOp::Less => 0b001,
        CompareOp::Equal => 0b010,
        CompareOp::Greater => 0b100,
        CompareOp::LessEqual => 0b011,
        CompareOp::GreaterEqual => 0b110,
        CompareOp::NotEqual => 0b101,
    }
}

fn bounded(expr: String, op: CompareOp, number: Int) -> Atom {
    let one = Int::from(1i64);
    let (low, high, not) = match op {
        CompareOp::Equal => (Some(number.clone()), Some(number), None),
        CompareOp::NotEqual => (None, None, Some(number)),
        CompareOp::Less => (None, Some(number.sub(&one)), None),
        CompareOp::LessEqual => (None, Some(number), None),
        CompareOp::Greater => (Some(number.add(&one)), None, None),
        CompareOp::GreaterEqual => (Some(number), None, None),
    };
    Atom::Number { expr, low, high, not }
}

/// What two conjunctions say together of one integer expression.
#[derive(Default)]
struct Bounds<'a> {
    low: Option<&'a Int>,
    high: Option<&'a Int>,
    not: Vec<&'a Int>,
}

impl Bounds<'_> {
    fn is_empty(&self) -> bool {
        let (Some(low), Some(high)) = (self.low, self.high) else { return false };
        let one = Int::from(1i64);
        let mut value = low.clone();
        // Each number that is ruled out can take away one end at a time.
        for _ in 0..=self.not.len() {
            if value > *high {
                return true;
            }
            if !self.not.contains(&&value) {
                return false;
            }
            value = value.add(&one);
        }
        value > *high
    }
}

fn contradicts(a: &[Atom], b: &[Atom]) -> bool {
    let mut truths: BTreeMap<&str, bool> = BTreeMap::new();
    let mut bounds: BTreeMap<&str, Bounds<'_>> = BTreeMap::new();
    let mut orders: BTreeMap<(&str, &str), Outcomes> = BTreeMap::new();
    for atom in a.iter().chain(b) {
        match atom {
            Atom::Bool { expr, holds } => {
                if *truths.entry(expr).or_insert(*holds) != *holds {
                    return true;
                }
            }
            Atom::Number { expr, low, high, not } => {
                let entry = bounds.entry(expr).or_default();
                entry.low = entry.low.max(low.as_ref());
                entry.high = match (entry.high, high.as_ref()) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                entry.not.extend(not);
            }
            Atom::Order { left, right, outcomes } => {
                let entry = orders.entry((left, right)).or_insert(0b111);
                *entry &= outcomes;
                if *entry == 0 || (left == right && *entry & 0b010 == 0) {
                    return true;
                }
            }
        }
    }
    bounds.values().any(Bounds::is_empty)
}
