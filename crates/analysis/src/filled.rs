//! Which list locals are filled before anything reads them, so that they need no zeros at first.
//!
//! The beginning of the body is run on indices alone: loops with constant bounds are gone through, elements that are
//! assigned are marked, and the answer is yes once all are marked.

use crate::assigned;
use headrace_ir::{BinaryOp, Expr, ExprKind, Int, LocalId, Place, Root, Stmt, StmtKind};
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
}

enum Progress {
    /// Not all yet, and nothing was read.
    Going,
    /// All elements are assigned.
    Full,
    /// Something may be read too early, or it is too hard to say.
    Unknown,
}

/// True when every element of the list local is assigned before any is read.
pub fn filled_first(statements: &[Stmt], local: usize, dims: &[u32]) -> bool {
    let len: usize = dims.iter().map(|&size| size as usize).product();
    if len > MAX_STEPS {
        return false;
    }
    let mut filling = Filling { local, dims, marked: vec![false; len], missing: len, steps: 0, loops: HashMap::new() };
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
                let indices_read = place.indices.iter().any(|index| assigned::in_expr(index, self.local).any());
                if assigned::in_expr(value, self.local).any() || indices_read {
                    return Progress::Unknown;
                }
                self.mark(place)
            }
            StmtKind::Copy { target, source, .. } => {
                let source_read = matches!(source.root, Root::Local(local) if local.index() == self.local);
                let indices = source.indices.iter().chain(&target.indices);
                if source_read || indices.into_iter().any(|index| assigned::in_expr(index, self.local).any()) {
                    return Progress::Unknown;
                }
                // A shorter source leaves the rest as it was, so only lists of the same size count, which the caller
                // cannot see here: the target must be one of several sub-lists, or be filled otherwise.
                Progress::Unknown
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

    fn mark(&mut self, place: &Place) -> Progress {
        if place.indices.len() != self.dims.len() {
            return Progress::Unknown;
        }
        let mut flat = 0usize;
        for (index, &size) in place.indices.iter().zip(self.dims) {
            let index = self.constant(index).and_then(|index| index.to_u64());
            let Some(index) = index.filter(|&index| index < u64::from(size)) else { return Progress::Unknown };
            flat = flat * size as usize + index as usize;
        }
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
