//! Unrolling and if-conversion of loops in the source. Loops among statements: unrolled where they are known and short,
//! as choices inside of one another where they are few, and else structured.

use super::NotFused;
use super::explore::Unrolling;
use super::symbolic_execution::{Frame, LocalValue, State, Walk};
use super::symbolic_store::List;
use crate::kernel::Effect;
use crate::kernel::graph::MAX_BITS;
use headrace_ir::{Actor, Argument, Expr, ExprKind, LocalId, Root, Scalar, Stmt, StmtKind};

/// Operations of a loop from which on nobody asks how many they are.
const MANY_OPERATIONS: u64 = 40_000;

/// Iterations of a loop whose end is not known that may become choices.
const CHOSEN_ITERATIONS: u32 = 40;

impl Walk<'_, '_> {
    pub(super) fn while_loop(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        before: &[Stmt],
        condition: &Expr,
        body: &[Stmt],
    ) -> Result<(), NotFused> {
        let mut iterations = 0_u64;
        loop {
            let (saved, saved_frame) = (state.clone(), frame.clone());
            self.statements(state, frame, before)?;
            let holds = self.condition(state, frame, condition)?;
            match state.facts.decide(self.graph, holds) {
                Some(false) => return Ok(()),
                Some(true) if iterations < u64::from(self.unrolling.iterations) * 4 => {
                    iterations += 1;
                    self.statements(state, frame, body)?;
                }
                _ => {
                    *state = saved;
                    *frame = saved_frame;
                    break;
                }
            }
        }
        // The rest ends somewhere: iterations that may happen, one inside the other, if there are few.
        let (saved, saved_frame) = (state.clone(), frame.clone());
        if let Ok(true) = self.possible_iterations(state, frame, before, condition, body, CHOSEN_ITERATIONS) {
            return Ok(());
        }
        *state = saved;
        *frame = saved_frame;
        let cells = self.put_in_memory(state, frame, &[before, body])?;
        let (facts, lists) = (state.facts.clone(), state.lists.clone());
        state.effects.push(Vec::new());
        self.statements(state, frame, before)?;
        let holds = self.condition(state, frame, condition)?;
        let before = state.effects.pop().unwrap_or_default();
        state.effects.push(Vec::new());
        state.facts.assume(self.graph, holds, true);
        self.statements(state, frame, body)?;
        let body = state.effects.pop().unwrap_or_default();
        state.facts = facts;
        state.lists = lists;
        state.push(Effect::While { before, condition: holds, body, span: condition.span });
        self.take_from_memory(state, &cells);
        Ok(())
    }

    /// A loop as choices inside of one another; `Ok(false)` where there are too many or they have effects.
    fn possible_iterations(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        before: &[Stmt],
        condition: &Expr,
        body: &[Stmt],
        left: u32,
    ) -> Result<bool, NotFused> {
        if left == 0 || !before.is_empty() {
            return Ok(false);
        }
        let holds = self.condition(state, frame, condition)?;
        match state.facts.decide(self.graph, holds) {
            Some(false) => Ok(true),
            Some(true) => {
                self.statements(state, frame, body)?;
                self.possible_iterations(state, frame, before, condition, body, left - 1)
            }
            None => {
                let mut ended = true;
                let chosen = self.selected(
                    state,
                    frame,
                    holds,
                    |walk, state, frame| {
                        walk.statements(state, frame, body)?;
                        ended = walk.possible_iterations(state, frame, before, condition, body, left - 1)?;
                        Ok(())
                    },
                    |_, _, _| Ok(()),
                )?;
                Ok(chosen && ended)
            }
        }
    }

    pub(super) fn foreach_loop(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        variable: LocalId,
        low: &Expr,
        high: &Expr,
        body: &[Stmt],
    ) -> Result<(), NotFused> {
        let low_bound = self.range_of_expression(state, frame, low)?;
        let high_bound = self.range_of_expression(state, frame, high)?;
        let ty = frame.types[variable.index()].element;
        let width = ty.width();
        let ((a, b), (c, d)) = (low_bound, high_bound);
        {
            if a == b && c == d {
                let assigns = assigns_local(body, variable);
                let iterations = (c - a + 1).max(0);
                let operations =
                    (iterations as u128).saturating_mul(u128::from(weight(self.actor(frame), body, &[variable], 0)));
                let fits = a >= 0 && c < 1 << (width - 1).min(64);
                let Unrolling { iterations: most, operations: most_operations } = self.unrolling;
                let is_short = iterations <= i128::from(most) && operations <= u128::from(most_operations);
                if !assigns && fits && is_short {
                    // The variable is known in each iteration, also where an outer loop keeps it in memory.
                    let place = frame.locals[variable.index()];
                    let mut last = None;
                    for at in a..=c {
                        let value = self.graph.number(at as u128, width);
                        frame.locals[variable.index()] = LocalValue::Scalar(value);
                        self.statements(state, frame, body)?;
                        last = Some(value);
                    }
                    if let (LocalValue::Cell(_), Some(last)) = (place, last) {
                        frame.locals[variable.index()] = place;
                        self.set_local(state, frame, variable, last);
                    }
                    return Ok(());
                }
                if iterations == 0 {
                    return Ok(());
                }
            }
        }
        let low_node = self.low_bits(state, frame, low, width)?;
        let bits = 64.max(width + 1).min(MAX_BITS);
        let signed = matches!(ty, Scalar::Int(int) if int.signed);
        let (low_wide, high_wide) = (self.low_bits(state, frame, low, bits)?, self.low_bits(state, frame, high, bits)?);
        let empty = self.graph.less_signed(high_wide, low_wide);

        let mut cells = self.put_in_memory(state, frame, &[body])?;
        // The variable, and whether there is another iteration.
        let one = self.graph.bit(true);
        let more = state.add_list(List::of_values(1, vec![one]));
        let place = match frame.locals[variable.index()] {
            LocalValue::Cell(list) => list,
            _ => {
                let list = state.add_list(List::of_values(width, vec![low_node]));
                frame.locals[variable.index()] = LocalValue::Cell(list);
                list
            }
        };
        self.write(state, place, 0, low_node);
        let there = self.graph.not(empty);
        self.write(state, more, 0, there);
        for list in [more, place] {
            if !state.list(list).in_memory {
                self.enter_memory(state, list);
                cells.push(list);
            }
        }

        let (facts, lists) = (state.facts.clone(), state.lists.clone());
        state.effects.push(Vec::new());
        let condition = self.read(state, more, 0);
        let before = state.effects.pop().unwrap_or_default();
        state.effects.push(Vec::new());
        // Unless the body says otherwise the variable stays between the bounds.
        let now = self.read(state, place, 0);
        if !assigns_local(body, variable) && low_bound.0 >= 0 && high_bound.1 < 1 << (width - 1).min(64) {
            let number = self.graph.number((high_bound.1.max(0) as u128) + 1, width);
            let below = self.graph.less(now, number);
            state.facts.assume(self.graph, below, true);
            if low_bound.0 > 0 {
                let least = self.graph.number(low_bound.0 as u128, width);
                let under = self.graph.less(now, least);
                state.facts.assume(self.graph, under, false);
            }
            if let Ok(high_here) = self.low_bits(state, frame, high, width) {
                let above = self.graph.less(high_here, now);
                state.facts.assume(self.graph, above, false);
            }
            // Every read in the body is this value.
            let list = state.list_mut(place);
            list.in_memory = false;
            list.elements[0] = Some(now);
            list.dirty[0] = false;
        }
        self.statements(state, frame, body)?;
        state.list_mut(place).in_memory = true;
        let after = self.read(state, place, 0);
        let wide = if signed { self.graph.sign_extend(after, bits) } else { self.graph.zero_extend(after, bits) };
        let again = self.graph.less_signed(wide, high_wide);
        self.write(state, more, 0, again);
        let step = self.graph.number(1, width);
        let next = self.graph.sum(after, step);
        let next = self.graph.select(again, next, after);
        self.write(state, place, 0, next);
        let body = state.effects.pop().unwrap_or_default();
        state.facts = facts;
        state.lists = lists;
        state.push(Effect::While { before, condition, body, span: low.span });
        self.take_from_memory(state, &cells);
        Ok(())
    }
}

fn assigns_local(body: &[Stmt], local: LocalId) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StmtKind::Assign(place, _) => place.root == Root::Local(local),
        StmtKind::Copy { .. } | StmtKind::CallNative { .. } | StmtKind::Print { .. } => false,
        StmtKind::If(_, then, otherwise) => assigns_local(then, local) || assigns_local(otherwise, local),
        StmtKind::While { before, body, .. } => assigns_local(before, local) || assigns_local(body, local),
        StmtKind::Foreach { variable, body, .. } => *variable == local || assigns_local(body, local),
        StmtKind::Call { result, .. } => *result == Some(local),
    })
}

/// About how many operations statements become when loops are unrolled. `known` are variables of loops around them,
/// whose values are known in each iteration: what is computed of them alone is computed now.
pub(super) fn weight(actor: &Actor, body: &[Stmt], known: &[LocalId], depth: u32) -> u64 {
    if depth > 8 {
        return MANY_OPERATIONS;
    }
    let of = |body: &[Stmt]| weight(actor, body, known, depth);
    let mut sum = 0_u64;
    for statement in body {
        sum = sum.saturating_add(match &statement.kind {
            // What only moves is computed nowhere.
            StmtKind::Assign(_, value) if moves(value) => 0,
            StmtKind::Assign(_, value) => 2 + expression_weight(actor, value, known, depth),
            StmtKind::Copy { .. } => 8,
            StmtKind::If(condition, then, otherwise) if is_known(condition, known) => of(then).max(of(otherwise)),
            StmtKind::If(_, then, otherwise) => 1 + of(then).saturating_add(of(otherwise)),
            StmtKind::While { body, .. } => 8_u64.saturating_mul(of(body)),
            StmtKind::Foreach { variable, low, high, body } => match (&low.kind, &high.kind) {
                (ExprKind::Int(low), ExprKind::Int(high)) => {
                    let iterations = high.to_i64().unwrap_or(8) - low.to_i64().unwrap_or(0) + 1;
                    let inside = [known, &[*variable]].concat();
                    (iterations.clamp(0, 1 << 20) as u64).saturating_mul(weight(actor, body, &inside, depth) + 1)
                }
                _ => 8_u64.saturating_mul(of(body) + 1),
            },
            StmtKind::Call { procedure, .. } => {
                let callee = &actor.procedures[procedure.index()];
                weight(actor, &callee.body, &[], depth + 1)
            }
            StmtKind::CallNative { .. } | StmtKind::Print { .. } => 1,
        });
    }
    sum
}

/// Whether an expression is made of numbers and of variables that are known.
fn is_known(expr: &Expr, known: &[LocalId]) -> bool {
    match &expr.kind {
        ExprKind::Load(place) => {
            place.indices.is_empty() && matches!(place.root, Root::Local(local) if known.contains(&local))
        }
        ExprKind::Call(..) => false,
        _ => expr.parts().into_iter().all(|part| is_known(part, known)),
    }
}

/// Whether a value is an element of something, at a place that loops tell.
fn moves(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Wrap(_, a) => moves(a),
        ExprKind::Load(_) | ExprKind::Int(_) | ExprKind::Bool(_) => true,
        _ => false,
    }
}

fn expression_weight(actor: &Actor, expr: &Expr, known: &[LocalId], depth: u32) -> u64 {
    if is_known(expr, known) {
        return 0;
    }
    let of = |expr: &Expr| expression_weight(actor, expr, known, depth);
    match &expr.kind {
        ExprKind::Negate(a) | ExprKind::Complement(a) | ExprKind::Not(a) | ExprKind::Wrap(_, a) => of(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::ShiftLeft(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b) => 1 + of(a) + of(b),
        ExprKind::If(c, a, b) if is_known(c, known) => of(a).max(of(b)),
        ExprKind::If(c, a, b) => 1 + of(c) + of(a) + of(b),
        ExprKind::Load(place) => 1 + place.indices.iter().map(of).sum::<u64>(),
        ExprKind::Call(procedure, arguments) if depth < 8 => {
            let callee = &actor.procedures[procedure.index()];
            let values: u64 = arguments
                .iter()
                .map(|argument| match argument {
                    Argument::Value(value) => of(value),
                    Argument::List(_) => 1,
                })
                .sum();
            let result = callee.result.as_ref().map_or(0, |(_, value)| expression_weight(actor, value, &[], depth + 1));
            values + weight(actor, &callee.body, &[], depth + 1) + result
        }
        _ => 1,
    }
}
