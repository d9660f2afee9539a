//! Guards in disjunctive normal form, and whether two of them can hold at once.
//!
//! A guard becomes a disjunction of conjunctions of *atoms*. An atom says that a boolean expression is true or false, that
//! an integer expression lies in an interval or differs from a number, what some of its bits are, or how two expressions
//! compare. Functions that are one expression are looked into; other expressions are opaque, except that they are equal when
//! they read the same variables, tokens and constants in the same way. Whatever does not fit is left out, which only makes
//! guards look weaker than they are.

use crate::inlining::expanded;
use headrace_ir::{
    Action, Actor, BinaryOp, CompareOp, Expr, ExprKind, Int, LocalId, LocalKind, Root, Scalar, Value, VariableId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Conjunctions that the guard of one action may split into.
const MAX_TERMS: usize = 32;

/// Expressions deeper than this are not looked into.
const MAX_DEPTH: usize = 200;

/// An outcome of comparing two expressions, as a set: bit 0 less, bit 1 equal, bit 2 greater.
type Outcomes = u8;

/// What an expression is computed from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reads {
    /// Variables of the actor, besides constants.
    pub variables: BTreeSet<VariableId>,
    /// Tokens of a firing, or variables that only a function knows.
    pub others: bool,
}

/// A simple condition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Atom {
    /// What it is computed from.
    pub reads: Reads,
    says: Says,
}

#[derive(Clone, Debug, PartialEq)]
enum Says {
    Bool { expr: String, holds: bool },
    Number { expr: String, low: Option<Int>, high: Option<Int>, not: Option<Int> },
    Bits { expr: String, mask: Int, value: Int },
    Order { left: String, right: String, outcomes: Outcomes },
}

/// Atoms that hold together.
pub(super) type Term = Vec<Atom>;

/// The guard of an action as a disjunction of conjunctions.
pub(super) fn terms(actor: &Actor, action: &Action) -> Vec<Term> {
    let reader = Reader { actor, action };
    let mut terms = vec![Vec::new()];
    for condition in &action.guard.conditions {
        terms = conjunction(terms, reader.condition(&expanded(actor, condition), true, 0));
    }
    terms
}

/// That a scalar variable has this value.
pub(super) fn equals(variable: VariableId, value: &Value) -> Option<Atom> {
    let expr = variable_key(variable, "");
    let says = match value {
        Value::Int(number) => Says::Number { expr, low: Some(number.clone()), high: Some(number.clone()), not: None },
        Value::Bool(holds) => Says::Bool { expr, holds: *holds },
        _ => return None,
    };
    Some(Atom { reads: Reads { variables: [variable].into(), others: false }, says })
}

/// How the value of a variable, or of an element of it, is written in a key.
fn variable_key(variable: VariableId, indices: &str) -> String {
    format!("(variable{}{indices})", variable.0)
}

/// All pairs of terms joined; the second is left out when that would be too many.
fn conjunction(a: Vec<Term>, b: Vec<Term>) -> Vec<Term> {
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
    fn condition(&self, expr: &Expr, holds: bool, depth: usize) -> Vec<Term> {
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
                vec![self.comparison(op, left, right)]
            }
            _ => vec![self.boolean(expr, holds).into_iter().collect()],
        }
    }

    fn boolean(&self, expr: &Expr, holds: bool) -> Option<Atom> {
        let (expr, reads) = self.key(expr)?;
        Some(Atom { reads, says: Says::Bool { expr, holds } })
    }

    fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr) -> Term {
        match (self.constant(left, 0), self.constant(right, 0)) {
            (_, Some(Value::Int(number))) => self.with_number(left, op, number),
            (Some(Value::Int(number)), _) => self.with_number(right, op.mirrored(), number),
            (_, Some(Value::Bool(value))) => {
                self.boolean(left, value == (op == CompareOp::Equal)).into_iter().collect()
            }
            (Some(Value::Bool(value)), _) => {
                self.boolean(right, value == (op == CompareOp::Equal)).into_iter().collect()
            }
            _ if self.is_real(left) => Vec::new(),
            _ => self.order(op, left, right).into_iter().collect(),
        }
    }

    fn order(&self, op: CompareOp, left: &Expr, right: &Expr) -> Option<Atom> {
        let ((left, mut reads), (right, others)) = (self.key(left)?, self.key(right)?);
        let (left, right, op) = if left <= right { (left, right, op) } else { (right, left, op.mirrored()) };
        reads.variables.extend(others.variables);
        reads.others |= others.others;
        Some(Atom { reads, says: Says::Order { left, right, outcomes: outcomes(op) } })
    }

    /// What a comparison with a number says of the expression, and of the bits of what is masked in it.
    fn with_number(&self, expr: &Expr, op: CompareOp, number: Int) -> Term {
        let mut atoms = Vec::new();
        if let Some((value, mask)) = self.masked(expr)
            && let Some((expr, reads)) = self.key(value)
        {
            let is_bit = mask.to_u64().is_some_and(u64::is_power_of_two);
            let value = match op {
                CompareOp::Equal if number.and(&mask) == number => Some(number.clone()),
                CompareOp::NotEqual if is_bit && number == Int::ZERO => Some(mask.clone()),
                CompareOp::NotEqual if is_bit && number == mask => Some(Int::ZERO),
                _ => None,
            };
            atoms.extend(value.map(|value| Atom { reads, says: Says::Bits { expr, mask, value } }));
        }
        if let Some((expr, reads)) = self.key(expr) {
            atoms.push(Atom { reads, says: bounded(expr, op, number) });
        }
        atoms
    }

    /// Value and mask of `value & mask`, also where the result is stored in a type that has room for the mask.
    fn masked<'e>(&self, expr: &'e Expr) -> Option<(&'e Expr, Int)> {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And, a, b) => match (self.constant(a, 0), self.constant(b, 0)) {
                (None, Some(Value::Int(mask))) => Some((a, mask)),
                (Some(Value::Int(mask)), None) => Some((b, mask)),
                _ => None,
            },
            ExprKind::Wrap(ty, operand) => {
                self.masked(operand).filter(|(_, mask)| !mask.is_negative() && mask.fits(*ty))
            }
            _ => None,
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
    fn key(&self, expr: &Expr) -> Option<(String, Reads)> {
        let (mut text, mut reads) = (String::new(), Reads::default());
        self.write_key(expr, &mut text, &mut reads, 0)?;
        Some((text, reads))
    }

    fn write_key(&self, expr: &Expr, text: &mut String, reads: &mut Reads, depth: usize) -> Option<()> {
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
        let operands = |text: &mut String, reads: &mut Reads, operands: &[&Expr]| {
            for operand in operands {
                text.push(' ');
                self.write_key(operand, text, reads, depth)?;
            }
            Some(())
        };
        let list = |text: &mut String, reads: &mut Reads, name: String, of: &[&Expr]| {
            let _ = write!(text, "({name}");
            operands(text, reads, of)?;
            text.push(')');
            Some(())
        };
        match &expr.kind {
            ExprKind::Load(place) => {
                let indices: Vec<&Expr> = place.indices.iter().collect();
                match place.root {
                    Root::Actor(id) => {
                        if self.actor.variables.get(id.index())?.mutable {
                            reads.variables.insert(id);
                        }
                        let mut within = String::new();
                        operands(&mut within, reads, &indices)?;
                        text.push_str(&variable_key(id, &within));
                        Some(())
                    }
                    Root::Local(id) => {
                        reads.others = true;
                        list(text, reads, self.token(id)?, &indices)
                    }
                }
            }
            // Storing what already fits changes nothing, but which values fit is not known here: wraps stay.
            ExprKind::Wrap(ty, a) => list(text, reads, format!("{ty}"), &[a]),
            ExprKind::Negate(a) => list(text, reads, "-".into(), &[a]),
            ExprKind::Complement(a) => list(text, reads, "~".into(), &[a]),
            ExprKind::Not(a) => list(text, reads, "not".into(), &[a]),
            ExprKind::Binary(op, a, b) => list(text, reads, format!("{op:?}"), &[a, b]),
            ExprKind::ShiftLeft(ty, a, b) => list(text, reads, format!("<<{ty}"), &[a, b]),
            ExprKind::Compare(op, a, b) => list(text, reads, format!("{op:?}"), &[a, b]),
            ExprKind::And(a, b) => list(text, reads, "and".into(), &[a, b]),
            ExprKind::Or(a, b) => list(text, reads, "or".into(), &[a, b]),
            ExprKind::If(a, b, c) => list(text, reads, "if".into(), &[a, b, c]),
            ExprKind::Call(procedure, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    match argument {
                        headrace_ir::Argument::Value(value) => values.push(value),
                        headrace_ir::Argument::List(_) => return None,
                    }
                }
                reads.others = true;
                list(text, reads, format!("call{}", procedure.0), &values)
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

fn bounded(expr: String, op: CompareOp, number: Int) -> Says {
    let one = Int::from(1i64);
    let (low, high, not) = match op {
        CompareOp::Equal => (Some(number.clone()), Some(number), None),
        CompareOp::NotEqual => (None, None, Some(number)),
        CompareOp::Less => (None, Some(number.sub(&one)), None),
        CompareOp::LessEqual => (None, Some(number), None),
        CompareOp::Greater => (Some(number.add(&one)), None, None),
        CompareOp::GreaterEqual => (Some(number), None, None),
    };
    Says::Number { expr, low, high, not }
}

/// What two conjunctions say together of one integer expression.
#[derive(Default)]
struct Bounds<'a> {
    low: Option<&'a Int>,
    high: Option<&'a Int>,
    not: Vec<&'a Int>,
    bits: Vec<(&'a Int, &'a Int)>,
}

impl Bounds<'_> {
    fn is_empty(&self) -> bool {
        let differ = |(at, (mask, value)): (usize, &(&Int, &Int))| {
            self.bits[..at].iter().any(|(other, bits)| value.xor(bits).and(mask).and(other) != Int::ZERO)
        };
        if self.bits.iter().enumerate().any(differ) {
            return true;
        }
        let (Some(low), Some(high)) = (self.low, self.high) else { return false };
        let one = Int::from(1i64);
        let mut value = low.clone();
        // Each number that is ruled out can take away one end at a time, and bits are asked of a single number alone.
        for _ in 0..=self.not.len() {
            if value > *high {
                return true;
            }
            if !self.not.contains(&&value) {
                return low == high && self.bits.iter().any(|(mask, bits)| value.and(mask) != **bits);
            }
            value = value.add(&one);
        }
        value > *high
    }
}

/// True when no state and no tokens satisfy both conjunctions.
pub(super) fn contradicts(a: &[Atom], b: &[Atom]) -> bool {
    let mut truths: BTreeMap<&str, bool> = BTreeMap::new();
    let mut bounds: BTreeMap<&str, Bounds<'_>> = BTreeMap::new();
    let mut orders: BTreeMap<(&str, &str), Outcomes> = BTreeMap::new();
    for atom in a.iter().chain(b) {
        match &atom.says {
            Says::Bool { expr, holds } => {
                if *truths.entry(expr).or_insert(*holds) != *holds {
                    return true;
                }
            }
            Says::Number { expr, low, high, not } => {
                let entry = bounds.entry(expr).or_default();
                entry.low = entry.low.max(low.as_ref());
                entry.high = match (entry.high, high.as_ref()) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                entry.not.extend(not);
            }
            Says::Bits { expr, mask, value } => bounds.entry(expr).or_default().bits.push((mask, value)),
            Says::Order { left, right, outcomes } => {
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
