//! Which list locals are filled before anything reads them, so that they need no zeros at first.
//!
//! The beginning of the body is run on indices alone: loops with constant bounds are gone through, elements that are
//! assigned are marked, what reads marked ones only does no harm, and the answer is yes once all are marked.

use crate::assigned;
use headrace_ir::{Argument, BinaryOp, Expr, ExprKind, Int, LocalId, Place, Root, Stmt, StmtKind};
use std::collections::HashMap;

/// Steps after which the answer is no.
const MAX_STEPS: usize = 1 << 16;

struct Filling<'a> {
    local: usize,
    dims: &'a [u32],
    marked: Vec<bool>,
    missing: usize,
    steps: usize,
    loops: HashMap<LocalId, Int>,
    n_elements: &'a dyn Fn(&Place) -> usize,
}

enum Progress {
    /// Not all yet, and nothing was read.
    Going,
    /// All elements are assigned.
    Full,
    /// Something may be read too early, or it is too hard to say.
    Unknown,
}

/// True when every element of the list local is assigned before it is read. `n_elements` says of the source of a copy how many
/// elements it has.
pub fn filled_first(statements: &[Stmt], local: usize, dims: &[u32], n_elements: &dyn Fn(&Place) -> usize) -> bool {
    let len: usize = dims.iter().map(|&size| size as usize).product();
    if len > MAX_STEPS {
        return false;
    }
    let mut filling =
        Filling { local, dims, marked: vec![false; len], missing: len, steps: 0, loops: HashMap::new(), n_elements };
    matches!(filling.block(statements), Progress::Full)
}

impl Filling<'_> {
    fn block(&mut self, statements: &[Stmt]) -> Progress {
        for statement in statements {
            match self.statement(statement) {
                Progress::Going => {}
                other => return other,
            }
        }
        Progress::Going
    }

    fn statement(&mut self, statement: &Stmt) -> Progress {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Progress::Unknown;
        }
        if !assigned::in_statement(statement, self.local).any() {
            return Progress::Going;
        }
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                if !place.indices.iter().chain([value]).all(|expr| self.reads_marked(expr)) {
                    return Progress::Unknown;
                }
                self.mark(place)
            }
            StmtKind::Copy { target, source, .. } => {
                let source_read = matches!(source.root, Root::Local(local) if local.index() == self.local);
                let mut indices = source.indices.iter().chain(&target.indices);
                if source_read || !indices.all(|index| self.reads_marked(index)) {
                    return Progress::Unknown;
                }
                // A shorter source leaves the rest as it was, and of parts it is not said which they are.
                let n = (self.n_elements)(source);
                if !target.indices.is_empty() || (n != self.marked.len() && self.dims.len() != 1) {
                    return Progress::Unknown;
                }
                for marked in self.marked.iter_mut().take(n) {
                    self.missing -= usize::from(!std::mem::replace(marked, true));
                }
                if self.missing == 0 { Progress::Full } else { Progress::Going }
            }
            StmtKind::Foreach { variable, low, high, body } => {
                let (Some(low), Some(high)) = (self.constant(low), self.constant(high)) else {
                    return Progress::Unknown;
                };
                if assigned::in_block(body, variable.index()).written {
                    return Progress::Unknown;
                }
                let one = Int::from(1i64);
                let mut value = low;
                while value <= high {
                    self.loops.insert(*variable, value.clone());
                    match self.block(body) {
                        Progress::Going => {}
                        other => return other,
                    }
                    value = value.add(&one);
                }
                self.loops.remove(variable);
                Progress::Going
            }
            _ => Progress::Unknown,
        }
    }

    /// Whether nothing of the list is read in an expression but what is assigned by now.
    fn reads_marked(&self, expr: &Expr) -> bool {
        if !assigned::in_expr(expr, self.local).any() {
            return true;
        }
        match &expr.kind {
            ExprKind::Load(place) => {
                let is_own = matches!(place.root, Root::Local(local) if local.index() == self.local);
                let is_marked = !is_own || self.element(place).is_some_and(|element| self.marked[element]);
                is_marked && place.indices.iter().all(|index| self.reads_marked(index))
            }
            ExprKind::Call(_, arguments) => arguments.iter().all(|argument| match argument {
                Argument::Value(value) => self.reads_marked(value),
                Argument::List(_) => !assigned::in_arguments(std::slice::from_ref(argument), self.local).any(),
            }),
            _ => expr.parts().into_iter().all(|part| self.reads_marked(part)),
        }
    }

    /// The position of an element whose indices are constants.
    fn element(&self, place: &Place) -> Option<usize> {
        if place.indices.len() != self.dims.len() {
            return None;
        }
        let mut flat = 0usize;
        for (index, &size) in place.indices.iter().zip(self.dims) {
            let index = self.constant(index)?.to_u64().filter(|&index| index < u64::from(size))?;
            flat = flat * size as usize + index as usize;
        }
        Some(flat)
    }

    fn mark(&mut self, place: &Place) -> Progress {
        let Some(flat) = self.element(place) else { return Progress::Unknown };
        if !std::mem::replace(&mut self.marked[flat], true) {
            self.missing -= 1;
        }
        if self.missing == 0 { Progress::Full } else { Progress::Going }
    }

    fn constant(&self, expr: &Expr) -> Option<Int> {
        Some(match &expr.kind {
            ExprKind::Int(value) => value.clone(),
            ExprKind::Load(place) => match place.root {
                Root::Local(local) if place.indices.is_empty() => self.loops.get(&local)?.clone(),
                _ => return None,
            },
            ExprKind::Wrap(ty, x) => self.constant(x)?.wrap(*ty),
            ExprKind::Negate(x) => self.constant(x)?.neg(),
            ExprKind::ShiftLeft(ty, a, b) => self.constant(a)?.shl(&self.constant(b)?, *ty).ok()?,
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.constant(a)?, self.constant(b)?);
                match op {
                    BinaryOp::Add => a.add(&b),
                    BinaryOp::Sub => a.sub(&b),
                    BinaryOp::Mul => a.mul(&b),
                    BinaryOp::Div => a.div(&b).ok()?,
                    BinaryOp::Mod => a.modulo(&b).ok()?,
                    BinaryOp::And => a.and(&b),
                    BinaryOp::Or => a.or(&b),
                    BinaryOp::Xor => a.xor(&b),
                    BinaryOp::ShiftRight => a.shr(&b).ok()?,
                }
            }
            _ => return None,
        })
    }
}
