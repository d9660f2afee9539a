//! Reassociation by arrival time, to shorten the critical path. Sums whose terms are added in the order in which they
//! are there.
//!
//! ```text
//! ((rotate(a) + f) + e) + w    =>    ((e + w) + f) + rotate(a)        where a is computed last
//! ```
//!
//! What waits for the sum then waits for one addition behind its last term, and not for all of them. As few terms as
//! before are added: sums that something else reads stay whole.
//!
//! Where a machine has more to do than one operation of a chain after the other, nothing waits for sums, and any order
//! is as good.
//!
//! Result: of every sum, the two terms or parts that are there first are added first.

use super::chains::Chains;
use super::latency_bound::{may_wait, takes};
use super::pass::{Form, Pass, Property};
use crate::kernel::{Effect, Graph, Loop, NodeId, Op};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "reassociate-by-arrival",
    about: "Adds late terms last where the longest chain is what takes the time",
    requires: &[],
    establishes: &[],
    gives_up: &[Property::SumsAsWritten],
    form: Form::Either(reassociate_by_arrival, |block| {
        late_terms_last_in(block.graph, block.effects).map(|new| block.with(new))
    }),
};

/// A loop in which late terms are added last; `None` where no sum has more than two terms, or the longest chain is not
/// what takes its time.
pub fn reassociate_by_arrival(body: &Loop) -> Option<Loop> {
    let starts = body.counters.iter().map(|counter| counter.start);
    let roots = body.roots().into_iter().chain(starts).collect();
    let order = body.needed();
    if !may_wait(&body.graph, &order) {
        return None;
    }
    let (graph, new) = added_in_time(&body.graph, roots, &order)?;
    body.moved(graph, &new)
}

/// The same for effects with loops: what they take from the iteration before is there when an iteration begins, and
/// iterations wait for each other.
pub fn late_terms_last_in(graph: &Graph, effects: &[Effect]) -> Option<(Graph, Vec<Effect>)> {
    let (graph, new) = added_in_time(graph, Effect::roots(effects), &Effect::needed(effects, graph))?;
    let effects = effects.iter().map(|effect| effect.moved(&new)).collect::<Option<_>>()?;
    Some((graph, effects))
}

/// A graph in which late terms are added last, and what stands for values there: what roots need, in its order.
fn added_in_time(graph: &Graph, roots: Vec<NodeId>, order: &[NodeId]) -> Option<(Graph, FxHashMap<NodeId, NodeId>)> {
    let chains = Chains::of(graph, roots, order, |op| match *op {
        Op::Add(a, b) => Some([a, b]),
        _ => None,
    });
    if chains.are_short() {
        return None;
    }
    let mut sums = Sums { graph: Graph::with_tables_of(graph), times: Vec::new() };
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in order.iter().filter(|id| !chains.is_part(**id)) {
        let value = match graph.op(id) {
            Op::Add(..) => {
                let terms = chains.terms(id).into_iter().map(|term| new.get(&term).copied());
                sums.sum(terms.collect::<Option<_>>()?)?
            }
            _ => sums.graph.copy(graph, id, &new)?,
        };
        new.insert(id, value);
    }
    Some((sums.graph, new))
}

/// The new graph, and when its values are there.
struct Sums {
    graph: Graph,
    times: Vec<u64>,
}

impl Sums {
    /// The sum of some terms.
    fn sum(&mut self, terms: Vec<NodeId>) -> Option<NodeId> {
        // Of terms that are there at the same time, those that were added first.
        let mut open: BinaryHeap<Reverse<(u64, usize, NodeId)>> = BinaryHeap::new();
        for (at, term) in terms.into_iter().enumerate() {
            open.push(Reverse((self.time(term), at, term)));
        }
        let mut at = open.len();
        loop {
            let Reverse((_, _, first)) = open.pop()?;
            let Some(Reverse((_, _, second))) = open.pop() else { return Some(first) };
            let sum = self.graph.sum(first, second);
            open.push(Reverse((self.time(sum), at, sum)));
            at += 1;
        }
    }

    /// When a value is there.
    fn time(&mut self, id: NodeId) -> u64 {
        // Nodes stand behind their operands.
        for at in self.times.len()..self.graph.len() {
            let op = self.graph.op(NodeId(at as u32));
            let operands = op.operands().into_iter().map(|operand| self.times[operand.index()]).max();
            self.times.push(operands.unwrap_or(0) + takes(op));
        }
        self.times[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::super::latency_bound::latency;
    use super::super::test_loops::{Words, made, of_words};
    use super::*;

    /// A loop whose iterations give what `f` makes of four tokens.
    fn body(f: impl Fn(&mut Graph, [NodeId; 4]) -> Vec<NodeId>) -> Loop {
        of_words(4, |graph, tokens| f(graph, [tokens[0], tokens[1], tokens[2], tokens[3]]))
    }

    #[test]
    fn a_chain_waits_for_one_addition_a_step() {
        let steps = 5;
        let old = body(|graph, [a, b, c, d]| {
            let mut state = a;
            for step in 0..steps {
                let turned = graph.rotate_left_by(state, 5);
                let with_b = graph.sum(turned, b);
                let with_c = graph.sum(with_b, c);
                let number = graph.number(0x5a82_7999 + step, 32);
                let with_number = graph.sum(with_c, number);
                state = graph.sum(with_number, d);
            }
            vec![state]
        });
        let new = reassociate_by_arrival(&old).expect("sums of several terms");
        assert_eq!(made(&old, &Words), made(&new, &Words));
        let time = |body: &Loop| {
            let mut sums = Sums { graph: body.graph.clone(), times: Vec::new() };
            sums.time(body.outputs[0].2)
        };
        // The first state comes as soon as all four terms can be added; each further one, a rotation and an addition
        // later.
        let operation = u64::from(latency().operation.value);
        let first = 3 * operation;
        assert_eq!(time(&new), first + (steps as u64 - 1) * 2 * operation);
        assert!(time(&old) > 2 * time(&new));
    }

    #[test]
    fn what_is_read_elsewhere_is_still_one_sum() {
        let old = body(|graph, [a, b, c, d]| {
            let shared = graph.sum(a, b);
            let more = graph.sum(shared, c);
            let one = graph.sum(more, d);
            let other = graph.xor(shared, d);
            vec![one, other]
        });
        let new = reassociate_by_arrival(&old).expect("sums of several terms");
        assert_eq!(made(&old, &Words), made(&new, &Words));
        let sums =
            |body: &Loop| body.needed().into_iter().filter(|&id| matches!(body.graph.op(id), Op::Add(..))).count();
        assert_eq!(sums(&old), sums(&new));
    }

    #[test]
    fn sums_that_nothing_waits_for_stay() {
        let wide = body(|graph, [a, b, c, d]| {
            let of = |graph: &mut Graph, [x, y, z]: [NodeId; 3]| {
                let two = graph.xor(x, y);
                let two = graph.sum(two, x);
                graph.sum(two, z)
            };
            let terms = [[a, b, c], [a, b, d], [a, c, d], [b, c, d], [b, a, c], [d, b, a], [c, a, d], [d, c, b]];
            terms.into_iter().map(|terms| of(graph, terms)).collect()
        });
        assert!(reassociate_by_arrival(&wide).is_none());
    }

    #[test]
    fn sums_of_two_terms_stay() {
        assert!(reassociate_by_arrival(&body(|graph, [a, b, ..]| vec![graph.sum(a, b)])).is_none());
    }
}
