//! Several passes of a loop as one, node by node side by side, so that what is independent in them overlaps.
//!
//! ```text
//! y[0] := f(g(x[0]))    =>    a := g(x[0]); b := g(x[1]); y[0] := f(a); y[1] := f(b)
//! ```
//!
//! Establishes: `n` passes of the loop are one of the new loop; what one of them carries goes to the next inside of it.

use crate::kernel::{Carried, Graph, Loop, NodeId, ObjectId, Op};
use std::collections::HashMap;

/// `n` passes as one; `None` where a pass reads a list that passes change at a place that is not known.
pub fn several_passes(body: &Loop, n: u64) -> Option<Loop> {
    let next = body.carried.iter().map(|one| ((one.object, one.index), one.next)).collect();
    let mut graph = Graph::new();
    for table in body.graph.tables() {
        graph.add_table(table.clone());
    }
    let mut copies = Copies { body, next, graph, known: vec![HashMap::new(); usize::try_from(n).ok()?] };
    let starts = body.counters.iter().map(|counter| counter.start);
    for id in body.graph.reachable(body.roots().into_iter().chain(starts)) {
        for pass in 0..copies.known.len() {
            copies.copy(id, pass)?;
        }
    }
    let (first, last) = (copies.known.first()?, copies.known.last()?);
    let mut outputs = Vec::new();
    for (pass, known) in copies.known.iter().enumerate() {
        for &(port, offset, value) in &body.outputs {
            outputs.push((port, offset + pass as u64 * body.produces.get(port as usize)?.0, *known.get(&value)?));
        }
    }
    let times = |ports: &[(u64, u32)]| ports.iter().map(|&(tokens, width)| (tokens * n, width)).collect();
    // What was a step of a counter is n of them; the entry of one is still where it began.
    let mut counters = body.counters.clone();
    for (counter, old) in counters.iter_mut().zip(&body.counters) {
        counter.start = *first.get(&old.start)?;
        let width = body.graph.width(old.start);
        counter.step = old.step.wrapping_mul(u128::from(n)) & crate::kernel::graph::mask(width);
    }
    let carried = body.carried.iter().map(|one| Some(Carried { next: *last.get(&one.next)?, ..one.clone() }));
    Some(Loop {
        carried: carried.collect::<Option<_>>()?,
        consumes: times(&body.consumes),
        produces: times(&body.produces),
        objects: body.objects.clone(),
        outputs,
        counters,
        graph: copies.graph,
    })
}

struct Copies<'a> {
    body: &'a Loop,
    next: HashMap<(ObjectId, usize), NodeId>,
    graph: Graph,
    /// New nodes by old ones, for each pass.
    known: Vec<HashMap<NodeId, NodeId>>,
}

impl Copies<'_> {
    fn copy(&mut self, root: NodeId, pass: usize) -> Option<NodeId> {
        if let Some(&known) = self.known[pass].get(&root) {
            return Some(known);
        }
        // Operands have smaller numbers, so that all but the root are there unless it is the value of the pass before.
        for id in self.body.graph.reachable([root]) {
            if !self.known[pass].contains_key(&id) {
                let new = self.node(id, pass)?;
                self.known[pass].insert(id, new);
            }
        }
        self.known[pass].get(&root).copied()
    }

    fn node(&mut self, id: NodeId, pass: usize) -> Option<NodeId> {
        let body = self.body;
        let (op, width) = (body.graph.op(id), body.graph.width(id));
        Some(match op {
            Op::Input { port, offset } => {
                let tokens = i64::try_from(body.consumes.get(*port as usize)?.0).ok()?;
                self.graph.input(*port, offset + tokens * pass as i64, width)
            }
            Op::Entry { object, index } if pass > 0 => match body.graph.constant(*index) {
                Some(at) => match self.next.get(&(*object, at as usize)).copied() {
                    Some(next) => self.copy(next, pass - 1)?,
                    None => self.copy(id, pass - 1)?,
                },
                None if body.carried.iter().any(|one| one.object == *object) => return None,
                None => {
                    let index = *self.known[pass].get(index)?;
                    self.graph.entry(*object, index, width)
                }
            },
            op => {
                let operands: Option<Vec<NodeId>> =
                    op.operands().iter().map(|operand| self.known[pass].get(operand).copied()).collect();
                self.graph.rebuild(op, width, &operands?)
            }
        })
    }
}
