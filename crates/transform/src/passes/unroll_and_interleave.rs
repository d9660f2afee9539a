//! Loop unrolling with interleaved bodies (unroll and jam). Several iterations of a loop as one, node by node side by
//! side, so that what is independent in them overlaps.
//!
//! ```text
//! y[0] := f(g(x[0]))    =>    a := g(x[0]); b := g(x[1]); y[0] := f(a); y[1] := f(b)
//! ```
//!
//! Result: `n` iterations of the loop are one of the new loop; what one of them carries goes to the next inside of
//! it.

use super::pass::{Form, Parts, Pass, boxed};
use crate::kernel::evidence::agree;
use crate::kernel::{Carried, Carry, Counter, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "unroll-and-interleave",
    about: "Makes one iteration of two, node by node side by side",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| unroll_and_interleave(body, TWICE).map(|body| boxed(Unrolled { body }))),
};

/// Iterations that are one, where nobody says how many.
const TWICE: u64 = 2;

/// `n` iterations as one; `None` where an iteration reads a list that iterations change at a place that is not known.
pub fn unroll_and_interleave(body: &Loop, n: u64) -> Option<Loop> {
    several(body, n, false)
}

/// The same, but every iteration has counters of its own: counter `c + p * counters` of the new loop is what counter
/// `c` is when iteration `p` of the `n` begins, and objects behind those of the loop, one for each of its own in every
/// iteration but the first, hold them.
pub fn unroll_and_interleave_counted(body: &Loop, n: u64) -> Option<Loop> {
    several(body, n, true)
}

fn several(body: &Loop, n: u64, count: bool) -> Option<Loop> {
    let counted = body.carried.iter().filter(|one| count && matches!(one.carry, Carry::Counter { .. }));
    let counted: FxHashSet<(ObjectId, usize)> = counted.map(|one| (one.object, one.index)).collect();
    let next = body.carried.iter().map(|one| ((one.object, one.index), one.next)).collect();
    let graph = Graph::with_tables_of(&body.graph);
    let mut copies = Copies { body, next, counted, graph, known: vec![FxHashMap::default(); usize::try_from(n).ok()?] };
    for id in body.needed() {
        for iteration in 0..copies.known.len() {
            copies.copy(id, iteration)?;
        }
    }
    let (first, last) = (copies.known.first()?, copies.known.last()?);
    let mut outputs = Vec::new();
    for (iteration, known) in copies.known.iter().enumerate() {
        for &(port, offset, value) in &body.outputs {
            outputs.push((port, offset + iteration as u64 * body.produces.get(port as usize)?.0, *known.get(&value)?));
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
    let mut carried: Vec<Carried> = carried.collect::<Option<_>>()?;
    let mut objects = body.objects.clone();
    if !copies.counted.is_empty() {
        let n_counters = counters.len();
        for iteration in 1..copies.known.len() {
            objects.extend_from_slice(&body.objects);
            let starts = body.counters.iter().map(|old| copies.known[iteration].get(&old.start));
            let starts: Vec<NodeId> = starts.map(Option::<&NodeId>::copied).collect::<Option<_>>()?;
            for (at, start) in starts.into_iter().enumerate() {
                counters.push(Counter { start, ..counters[at].clone() });
            }
            for one in &body.carried {
                if let Carry::Counter { counter, lo } = one.carry {
                    let carry = Carry::Counter { counter: counter + iteration * n_counters, lo };
                    let next = *last.get(&one.next)?;
                    carried.push(Carried { object: copies.own(one.object, iteration), next, carry, ..one.clone() });
                }
            }
        }
    }
    Some(Loop {
        carried,
        consumes: times(&body.consumes),
        produces: times(&body.produces),
        objects,
        outputs,
        counters,
        graph: copies.graph,
    })
}

struct Copies<'a> {
    body: &'a Loop,
    next: FxHashMap<(ObjectId, usize), NodeId>,
    /// Elements with bits of counters that every iteration has of its own.
    counted: FxHashSet<(ObjectId, usize)>,
    graph: Graph,
    /// New nodes by old ones, for each iteration.
    known: Vec<FxHashMap<NodeId, NodeId>>,
}

impl Copies<'_> {
    /// The object that stands for another in an iteration.
    fn own(&self, object: ObjectId, iteration: usize) -> ObjectId {
        ObjectId(object.0 + (iteration * self.body.objects.len()) as u32)
    }

    fn copy(&mut self, root: NodeId, iteration: usize) -> Option<NodeId> {
        if let Some(&known) = self.known[iteration].get(&root) {
            return Some(known);
        }
        // Operands have smaller numbers, so that all but the root are there unless it is the value of the iteration
        // before.
        for id in self.body.graph.reachable_but([root], |id| self.known[iteration].contains_key(&id)) {
            let new = self.node(id, iteration)?;
            self.known[iteration].insert(id, new);
        }
        self.known[iteration].get(&root).copied()
    }

    fn node(&mut self, id: NodeId, iteration: usize) -> Option<NodeId> {
        let body = self.body;
        let (op, width) = (body.graph.op(id), body.graph.width(id));
        Some(match op {
            Op::Input { port, offset } => {
                let tokens = i64::try_from(body.consumes.get(*port as usize)?.0).ok()?;
                self.graph.input(*port, offset + tokens * iteration as i64, width)
            }
            Op::Entry { object, index } if iteration > 0 => match body.graph.constant(*index) {
                Some(at) if self.counted.contains(&(*object, at as usize)) => {
                    let index = self.graph.number(at, 64);
                    self.graph.entry(self.own(*object, iteration), index, width)
                }
                Some(at) => match self.next.get(&(*object, at as usize)).copied() {
                    Some(next) => self.copy(next, iteration - 1)?,
                    None => self.copy(id, iteration - 1)?,
                },
                None if body.carried.iter().any(|one| one.object == *object) => return None,
                None => {
                    let index = *self.known[iteration].get(index)?;
                    self.graph.entry(*object, index, width)
                }
            },
            _ => self.graph.copy(&body.graph, id, &self.known[iteration])?,
        })
    }
}

/// A loop of which an iteration is [`TWICE`] one of another.
struct Unrolled {
    body: Loop,
}

impl Parts for Unrolled {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("unrolled", &self.body)]
    }

    fn beside(&self) -> Vec<String> {
        vec![format!("an iteration is {TWICE} of the loop")]
    }

    fn agree_with(&self, body: &Loop) -> bool {
        agree(body, &self.body, TWICE, &|_, _| 0, &|_| {})
    }
}
