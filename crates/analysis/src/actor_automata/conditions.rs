//! Conditions that cannot be decided: their names, and what comparisons with numbers say of each other.

use super::execute::{Assumptions, Execution, Known};
use crate::ranges::root_type;
use headrace_ir::{Action, Argument, CompareOp, Expr, ExprKind, Int, LocalKind, Pattern, Place, Root, Scalar};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A condition that cannot be decided. Those of the same name are the same.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The condition in words, for readers.
    pub name: String,
    /// How something compares with a number, if it says that.
    comparison: Option<Comparison>,
}

impl Condition {
    /// One that compares nothing with a number.
    pub(super) fn named(name: String) -> Self {
        Self { name, comparison: None }
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Condition {}

impl PartialOrd for Condition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Condition {
    fn cmp(&self, other: &Self) -> Ordering {
        self.name.cmp(&other.name)
    }
}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// One side of a comparison.
#[derive(Clone)]
struct Side {
    name: String,
    /// Its value, where that is known and far from the limits of what is computed with.
    number: Option<i128>,
}

impl<'a> Execution<'a> {
    pub(super) fn is_bool(&self, place: &Place) -> bool {
        let locals = self.frame_locals().unwrap_or_default();
        root_type(self.actor, locals, place.root).element == Scalar::Bool
    }

    /// The value of a condition as it is assumed; notes the condition where nothing is.
    pub(super) fn ask(&mut self, expr: &'a Expr) -> Known {
        if !self.asking {
            return None;
        }
        self.asking = false;
        let depends = self.depends.take();
        let (condition, opposite) = self.condition(expr);
        let range = self.range_of_operands(expr);
        self.asking = true;
        self.depends = depends;
        match self.assumed.get(&condition).copied().or_else(|| implied(&condition, self.assumed, range)) {
            Some(value) => Some(Int::from(u64::from(value != opposite))),
            None => {
                self.depends.get_or_insert(condition);
                None
            }
        }
    }

    /// The least and the greatest value that the type of the unknown operand of a comparison has. That of a known one says
    /// nothing about the other.
    fn range_of_operands(&mut self, expr: &'a Expr) -> Option<(i128, i128)> {
        let ExprKind::Compare(_, a, b) = &expr.kind else { return None };
        let unknown = if self.expr(a).is_none() { a } else { b };
        let ty = match &unknown.kind {
            ExprKind::Load(place) => {
                root_type(self.actor, self.frame_locals().unwrap_or_default(), place.root).element.as_int()
            }
            ExprKind::Wrap(ty, _) => Some(*ty),
            _ => None,
        };
        let ty = ty.filter(|ty| ty.width < 100)?;
        Some(match ty.signed {
            true => (-(1 << (ty.width - 1)), (1 << (ty.width - 1)) - 1),
            false => (0, (1 << ty.width) - 1),
        })
    }

    /// A condition, and whether the expression is its opposite.
    fn condition(&mut self, expr: &'a Expr) -> (Condition, bool) {
        let ExprKind::Compare(op, a, b) = &expr.kind else { return (Condition::named(self.name(expr)), false) };
        let ordered = !self.is_real(a) && !self.is_real(b);
        let (a, b) = (self.side(a), self.side(b));
        match op {
            CompareOp::Equal => (equal(a, b), false),
            CompareOp::NotEqual => (equal(a, b), true),
            CompareOp::Less => (less(a, b), false),
            CompareOp::Greater => (less(b, a), false),
            CompareOp::GreaterEqual if ordered => (less(a, b), true),
            CompareOp::LessEqual if ordered => (less(b, a), true),
            // What is no number is neither less than another nor not less.
            CompareOp::GreaterEqual => (Condition::named(format!("{} <= {}", b.name, a.name)), false),
            CompareOp::LessEqual => (Condition::named(format!("{} <= {}", a.name, b.name)), false),
        }
    }

    fn side(&mut self, expr: &'a Expr) -> Side {
        let number = self.expr(expr).and_then(|value| i128::try_from(&value.to_big()).ok());
        Side { name: self.name(expr), number: number.filter(|number| number.unsigned_abs() < 1 << 120) }
    }

    /// Whether an expression may have a value that is no number.
    fn is_real(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Real(..)
            | ExprKind::IntToReal(..)
            | ExprKind::RealToReal(..)
            | ExprKind::RealBinary(..)
            | ExprKind::RealNegate(_) => true,
            ExprKind::Load(place) => {
                let locals = self.frame_locals().unwrap_or_default();
                matches!(root_type(self.actor, locals, place.root).element, Scalar::Real(_))
            }
            ExprKind::Call(procedure, _) => {
                let result = self.actor.procedures.get(procedure.index()).and_then(|called| called.result.as_ref());
                !matches!(result, Some((Scalar::Int(_) | Scalar::Bool, _)))
            }
            ExprKind::If(_, a, b) => self.is_real(a) || self.is_real(b),
            _ => false,
        }
    }

    /// An expression in words: what is known as its value, tokens by port and position.
    fn name(&mut self, expr: &'a Expr) -> String {
        if let Some(value) = self.expr(expr) {
            return value.to_string();
        }
        match &expr.kind {
            ExprKind::Load(place) => self.place_name(place),
            ExprKind::Call(procedure, arguments) => {
                let actor = self.actor;
                let function = actor.procedures.get(procedure.index()).map_or("?", |procedure| &procedure.name);
                let arguments: Vec<String> = arguments
                    .iter()
                    .map(|argument| match argument {
                        Argument::Value(value) => self.name(value),
                        Argument::List(place) => self.place_name(place),
                    })
                    .collect();
                format!("{function}({})", arguments.join(", "))
            }
            ExprKind::Compare(..) => {
                let (condition, opposite) = self.condition(expr);
                if opposite { format!("not ({condition})") } else { format!("({condition})") }
            }
            ExprKind::Binary(op, a, b) => format!("{op:?}({}, {})", self.name(a), self.name(b)),
            ExprKind::Wrap(ty, x) => format!("{ty}({})", self.name(x)),
            // Few guards have these: that they are the same form of the same operands is enough.
            kind => {
                let form = match kind {
                    ExprKind::ShiftLeft(ty, ..) => format!("shift {ty}"),
                    ExprKind::RealBinary(ty, op, ..) => format!("{op:?} {ty}"),
                    ExprKind::IntToReal(ty, _) | ExprKind::RealToReal(ty, _) => ty.to_string(),
                    ExprKind::Real(value, _) => value.to_string(),
                    ExprKind::String(text) => text.escape_default().to_string(),
                    ExprKind::Not(_) => "not".into(),
                    ExprKind::Negate(_) | ExprKind::RealNegate(_) => "minus".into(),
                    ExprKind::Complement(_) => "complement".into(),
                    ExprKind::And(..) => "and".into(),
                    ExprKind::Or(..) => "or".into(),
                    ExprKind::If(..) => "if".into(),
                    _ => "text".into(),
                };
                let parts: Vec<String> = expr.parts().into_iter().map(|part| self.name(part)).collect();
                format!("{form}({})", parts.join(", "))
            }
        }
    }

    fn place_name(&mut self, place: &'a Place) -> String {
        let mut name = match place.root {
            Root::Actor(variable) => self.actor.variables[variable.index()].name.clone(),
            Root::Local(local) => self.local_name(local.index()),
        };
        for index in &place.indices {
            let index = self.name(index);
            name.push_str(&format!("[{index}]"));
        }
        name
    }

    /// Pattern variables are named by their tokens, which all actions call the same; others are of their action.
    fn local_name(&self, local: usize) -> String {
        let Some(action) = self.action else { return format!("local {local}") };
        let position = |pattern: &Pattern| pattern.locals.iter().position(|name| name.index() == local);
        let found = action.consumes.iter().find_map(|pattern| Some((pattern, position(pattern)?)));
        match (found, action.locals.get(local).map(|local| local.kind)) {
            (Some((pattern, at)), Some(LocalKind::Pattern)) => {
                let port = &self.actor.inputs[pattern.port].name;
                let every = if pattern.repeat.is_some() { format!("/{}", pattern.locals.len()) } else { String::new() };
                // A variable of the actor may have the name of the port.
                let is_free = self.actor.variables.iter().all(|variable| variable.name != *port);
                match at == 0 && every.is_empty() && is_free {
                    true => port.clone(),
                    false => format!("{port}#{at}{every}"),
                }
            }
            _ => format!("{}.{}", self.action_name(action), action.locals.get(local).map_or("?", |local| &local.name)),
        }
    }

    /// The name of an action, with its number where others have the same.
    pub(super) fn action_name(&self, action: &Action) -> String {
        let actions = || self.actor.initializers.iter().chain(&self.actor.actions);
        let alike = actions().filter(|other| other.name == action.name).count();
        match actions().position(|other| std::ptr::eq(other, action)).filter(|_| alike > 1) {
            Some(at) => format!("{}/{at}", action.name),
            None => action.name.clone(),
        }
    }
}

fn equal(a: Side, b: Side) -> Condition {
    let (a, b) = if a.name <= b.name { (a, b) } else { (b, a) };
    let name = format!("{} = {}", a.name, b.name);
    let comparison = match (a.number, b.number) {
        (Some(number), None) => Some(Comparison { of: b.name, with: With::Is(number) }),
        (None, Some(number)) => Some(Comparison { of: a.name, with: With::Is(number) }),
        _ => None,
    };
    Condition { name, comparison }
}

fn less(a: Side, b: Side) -> Condition {
    let name = format!("{} < {}", a.name, b.name);
    let comparison = match (a.number, b.number) {
        (Some(number), None) => Some(Comparison { of: b.name, with: With::Above(number) }),
        (None, Some(number)) => Some(Comparison { of: a.name, with: With::Below(number) }),
        _ => None,
    };
    Condition { name, comparison }
}

/// A comparison of something with a number.
#[derive(Clone, Debug)]
struct Comparison {
    of: String,
    with: With,
}

/// How it compares.
#[derive(Clone, Copy, Debug)]
enum With {
    /// It is the number.
    Is(i128),
    /// It is less.
    Below(i128),
    /// It is more.
    Above(i128),
}

/// Whether a condition follows from others about the same thing, by the numbers that are left for it.
fn implied(condition: &Condition, assumed: &Assumptions, range: Option<(i128, i128)>) -> Option<bool> {
    let wanted = condition.comparison.as_ref()?;
    let (mut low, mut high) = range.unwrap_or((i128::MIN / 2, i128::MAX / 2));
    let mut not = Vec::new();
    for (known, &holds) in assumed {
        let Some(known) = known.comparison.as_ref().filter(|known| known.of == wanted.of) else { continue };
        match (known.with, holds) {
            (With::Is(n), true) => (low, high) = (low.max(n), high.min(n)),
            (With::Is(n), false) => not.push(n),
            (With::Below(n), true) => high = high.min(n - 1),
            (With::Below(n), false) => low = low.max(n),
            (With::Above(n), true) => low = low.max(n + 1),
            (With::Above(n), false) => high = high.min(n),
        }
    }
    while not.contains(&low) {
        low += 1;
    }
    while not.contains(&high) {
        high -= 1;
    }
    match wanted.with {
        With::Is(n) if low == n && high == n => Some(true),
        With::Is(n) if n < low || n > high || not.contains(&n) => Some(false),
        With::Below(n) if high < n => Some(true),
        With::Below(n) if low >= n => Some(false),
        With::Above(n) if low > n => Some(true),
        With::Above(n) if high <= n => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(text: &str) -> Side {
        Side { name: text.to_owned(), number: text.parse().ok() }
    }

    #[test]
    fn what_is_known_of_a_number_says_more_of_it() {
        let (is, below) = (|a: &str, b: &str| equal(side(a), side(b)), |a: &str, b: &str| less(side(a), side(b)));
        let assumed: Assumptions = [(below("0", "x"), false), (is("7", "y"), false), (below("y", "7"), false)].into();
        let byte = Some((0, 255));
        assert_eq!(implied(&is("0", "x"), &assumed, byte), Some(true));
        assert_eq!(implied(&is("0", "x"), &assumed, None), None);
        assert_eq!(implied(&below("x", "64"), &assumed, byte), Some(true));
        assert_eq!(implied(&below("7", "y"), &assumed, byte), Some(true));
        assert_eq!(implied(&is("8", "y"), &assumed, byte), None);
        assert_eq!(implied(&is("3", "y"), &assumed, byte), Some(false));
        assert_eq!(implied(&below("x", "y"), &assumed, byte), None);
        assert_eq!(implied(&is("0", "z"), &assumed, byte), None);
    }
}
