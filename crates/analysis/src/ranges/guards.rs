//! Guards in value-range analysis: what a condition says of a variable holds until the action changes it.
//!
//! A counter that goes up only where it is below 15 never is more than 15, whatever its type could hold. What an action with this guard
//! reads of it is narrowed to what the guard lets through, and where the interval still grows it goes to the next number that some
//! guard compares with, not to the end of its type at once (widening with thresholds: Halbwachs, Proy and Roumanoff, "Verification of
//! real-time systems using linear relation analysis", Formal Methods in System Design 1997).

use super::Interval;
use headrace_ir::{Action, Actor, Argument, CompareOp, Expr, ExprKind, Int, Root, Stmt, StmtKind};
use std::collections::{BTreeMap, BTreeSet};

/// What guards say of variables of the actor, by their positions.
pub(super) type Bounds = BTreeMap<usize, Vec<(CompareOp, Int)>>;

/// What the guard of an action says.
pub(super) fn bounds(action: &Action) -> Bounds {
    let mut bounds = Bounds::new();
    action.guard.conditions.iter().for_each(|condition| add(condition, &mut bounds));
    bounds
}

fn add(condition: &Expr, bounds: &mut Bounds) {
    match &condition.kind {
        ExprKind::And(a, b) => {
            add(a, bounds);
            add(b, bounds);
        }
        ExprKind::Compare(op, a, b) => {
            let (variable, op, value) = match (variable(a), number(b), variable(b), number(a)) {
                (Some(variable), Some(value), ..) => (variable, *op, value),
                (_, _, Some(variable), Some(value)) => (variable, op.mirrored(), value),
                _ => return,
            };
            bounds.entry(variable).or_default().push((op, value.clone()));
        }
        _ => {}
    }
}

/// The variable of the actor that an expression is.
fn variable(expr: &Expr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Load(place) if place.indices.is_empty() => match place.root {
            Root::Actor(variable) => Some(variable.index()),
            Root::Local(_) => None,
        },
        _ => None,
    }
}

fn number(expr: &Expr) -> Option<&Int> {
    match &expr.kind {
        ExprKind::Int(value) => Some(value),
        _ => None,
    }
}

/// The values of an interval of which all of this holds; `None` where there are none.
pub(super) fn narrowed(interval: &Interval, bounds: &[(CompareOp, Int)]) -> Option<Interval> {
    let one = Int::from(1i64);
    let (mut low, mut high) = (interval.low.clone(), interval.high.clone());
    for (op, value) in bounds {
        let (least, most) = match op {
            CompareOp::Equal => (Some(value.clone()), Some(value.clone())),
            CompareOp::NotEqual if *value == low => (Some(value.add(&one)), None),
            CompareOp::NotEqual if *value == high => (None, Some(value.sub(&one))),
            CompareOp::NotEqual => (None, None),
            CompareOp::Less => (None, Some(value.sub(&one))),
            CompareOp::LessEqual => (None, Some(value.clone())),
            CompareOp::Greater => (Some(value.add(&one)), None),
            CompareOp::GreaterEqual => (Some(value.clone()), None),
        };
        low = least.map_or(low.clone(), |least| least.max(low));
        high = most.map_or(high.clone(), |most| most.min(high));
    }
    (low <= high).then(|| Interval::new(low, high))
}

/// Numbers next to those that guards compare each variable with.
pub(super) fn thresholds(actor: &Actor) -> Vec<BTreeSet<Int>> {
    let mut all = vec![BTreeSet::new(); actor.variables.len()];
    let one = Int::from(1i64);
    for action in &actor.actions {
        for (variable, bounds) in bounds(action) {
            for (_, value) in bounds {
                all[variable].extend([value.sub(&one), value.add(&one), value]);
            }
        }
    }
    all
}

/// An interval that still grows, up to the next thresholds within its type.
pub(super) fn widened(interval: &Interval, thresholds: &BTreeSet<Int>, of_type: &Interval) -> Interval {
    let low = thresholds.iter().rev().find(|&value| *value <= interval.low && *value >= of_type.low);
    let high = thresholds.iter().find(|&value| *value >= interval.high && *value <= of_type.high);
    Interval::new(low.unwrap_or(&of_type.low).clone(), high.unwrap_or(&of_type.high).clone())
}

/// Variables of the actor that statements may assign; `None` where any may be, since a procedure is called.
pub(super) fn assigned(statements: &[Stmt]) -> Option<BTreeSet<usize>> {
    let mut all = BTreeSet::new();
    for statement in statements {
        let inner: &[&[Stmt]] = match &statement.kind {
            StmtKind::Assign(place, _) | StmtKind::Copy { target: place, .. } => {
                if let Root::Actor(variable) = place.root {
                    all.insert(variable.index());
                }
                &[]
            }
            StmtKind::If(_, yes, no) => &[yes, no],
            StmtKind::While { before, body, .. } => &[before, body],
            StmtKind::Foreach { body, .. } => &[body],
            StmtKind::Call { .. } => return None,
            StmtKind::CallNative { arguments, .. } => {
                for argument in arguments {
                    if let Argument::List(place) = argument
                        && let Root::Actor(variable) = place.root
                    {
                        all.insert(variable.index());
                    }
                }
                &[]
            }
            StmtKind::Print { .. } => &[],
        };
        for block in inner {
            all.extend(assigned(block)?);
        }
    }
    Some(all)
}
