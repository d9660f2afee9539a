//! Height reduction of affine recurrences by back-substitution. A value that comes of another one by constant factors and
//! summands, step after step, is computed from that one at once.
//!
//! ```text
//! b := a * 5 + 3; c := b * 5 + 3; d := c * 5 + 3    =>    b := a * 5 + 3; c := a * 25 + 18; d := a * 125 + 93
//! ```
//!
//! All of them then wait for one multiplication and one addition, and not each for the one before: a generator that gives many
//! numbers in a transition, or in an iteration of a loop, computes these side by side. There are no more operations than before,
//! since each value still takes one of either kind at most. (Schlansker, Kathail, "Acceleration of first and higher order recurrences
//! on processors with instruction level parallelism", 1993.)
//!
//! Result: no product with a constant is a factor of another such product, but for sums with constants between them, where
//! values have at most 64 bits.

use super::pass::{Form, Pass, Property};
use crate::kernel::graph::mask;
use crate::kernel::{Effect, Graph, Loop, NodeId, Op};
use rustc_hash::FxHashMap;

/// The pass.
pub const PASS: Pass = Pass {
    name: "back-substitute-affine",
    about: "Computes what affine steps make of a value from that value at once",
    requires: &[],
    establishes: &[],
    // Constants differ from step to step then, so that nothing repeats itself.
    gives_up: &[Property::SumsAsWritten],
    form: Form::Either(back_substitute_affine, |block| {
        in_effects(block.graph, block.effects).map(|new| block.with(new))
    }),
};

/// Widest values: products with more bits take several multiplications, more of them the larger the constant is.
const MOST_BITS: u32 = 64;

/// Products one in the other from which on a value is computed at once.
const FEWEST_PRODUCTS: u32 = 2;

/// A value as `base * factor + summand`, modulo its width.
#[derive(Clone, Copy)]
struct Affine {
    base: NodeId,
    factor: u128,
    summand: u128,
    /// Products that it was computed by.
    n_products: u32,
}

impl Affine {
    /// A node of a graph, given those that it reads.
    fn of(graph: &Graph, id: NodeId, known: &FxHashMap<NodeId, Affine>) -> Option<Affine> {
        let (width, itself) = (graph.width(id), |base| Affine { base, factor: 1, summand: 0, n_products: 0 });
        let step = |a: NodeId, b: NodeId| {
            let (value, number) = match (graph.constant(a), graph.constant(b)) {
                (None, Some(number)) => (a, number),
                (Some(number), None) => (b, number),
                _ => return None,
            };
            Some((known.get(&value).copied().unwrap_or_else(|| itself(value)), number))
        };
        let all = mask(width);
        let (before, factor, summand) = match *graph.op(id) {
            Op::Mul(a, b) if width <= MOST_BITS => {
                let (before, number) = step(a, b)?;
                (Affine { n_products: before.n_products + 1, ..before }, number, 0)
            }
            Op::Add(a, b) if width <= MOST_BITS => {
                let (before, number) = step(a, b)?;
                (before, 1, number)
            }
            _ => return None,
        };
        let times = |value: u128| value.wrapping_mul(factor) & all;
        Some(Affine {
            factor: times(before.factor),
            summand: times(before.summand).wrapping_add(summand) & all,
            ..before
        })
    }
}

/// A loop in which affine steps are taken at once; `None` where there are no two in a row, or its iterations need not wait for
/// each other: then nothing waits for chains in them either.
pub fn back_substitute_affine(body: &Loop) -> Option<Loop> {
    if body.is_independent() {
        return None;
    }
    let (graph, new) = at_once(&body.graph, &body.needed())?;
    body.moved(graph, &new)
}

/// The same for effects.
fn in_effects(graph: &Graph, effects: &[Effect]) -> Option<(Graph, Vec<Effect>)> {
    let (graph, new) = at_once(graph, &Effect::needed(effects, graph))?;
    let effects = effects.iter().map(|effect| effect.moved(&new)).collect::<Option<_>>()?;
    Some((graph, effects))
}

/// A graph in which they are, and what stands for values there.
fn at_once(graph: &Graph, order: &[NodeId]) -> Option<(Graph, FxHashMap<NodeId, NodeId>)> {
    let mut affine: FxHashMap<NodeId, Affine> = FxHashMap::default();
    for &id in order {
        if let Some(found) = Affine::of(graph, id, &affine) {
            affine.insert(id, found);
        }
    }
    affine.retain(|_, value| value.n_products >= FEWEST_PRODUCTS);
    if affine.is_empty() {
        return None;
    }
    let mut made = Graph::with_tables_of(graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for &id in order {
        let value = match affine.get(&id) {
            Some(Affine { base, factor, summand, .. }) => {
                let (base, width) = (*new.get(base)?, graph.width(id));
                let (factor, summand) = (made.number(*factor, width), made.number(*summand, width));
                let product = made.product(base, factor);
                made.sum(product, summand)
            }
            None => made.copy(graph, id, &new)?,
        };
        new.insert(id, value);
    }
    Some((made, new))
}

#[cfg(test)]
mod tests {
    use super::super::test_loops::Token;
    use super::*;
    use crate::kernel::evaluate::values;

    /// Effects that put out every value of a chain of affine steps.
    fn chain(graph: &mut Graph, steps: &[(u128, u128)], width: u32) -> Vec<Effect> {
        let mut value = graph.input(0, 0, width);
        let put = |(offset, &(factor, summand)): (usize, &(u128, u128))| {
            let (factor, summand) = (graph.number(factor, width), graph.number(summand, width));
            let product = graph.product(value, factor);
            value = graph.sum(product, summand);
            Effect::Output { port: 0, offset: offset as u64, value }
        };
        steps.iter().enumerate().map(put).collect()
    }

    #[test]
    fn every_value_of_a_chain_is_two_operations_from_its_beginning() {
        let mut graph = Graph::new();
        let effects = chain(&mut graph, &[(0x19_660d, 0x3c6e_f35f); 8], 32);
        let (new, moved) = in_effects(&graph, &effects).expect("a chain");
        let (old_roots, new_roots) = (Effect::roots(&effects), Effect::roots(&moved));
        for token in [0, 1, 0x1234_5678, 0xffff_ffff] {
            let [old, new] = [(&graph, &old_roots), (&new, &new_roots)].map(|(graph, roots)| {
                let all = values(graph, roots, &Token(token));
                roots.iter().map(|root| all[root]).collect::<Vec<_>>()
            });
            assert_eq!(old, new);
        }
        let needed = Effect::needed(&moved, &new);
        let count = |of: fn(&Op) -> bool| needed.iter().filter(|id| of(new.op(**id))).count();
        assert_eq!((count(|op| matches!(op, Op::Mul(..))), count(|op| matches!(op, Op::Add(..)))), (8, 8));
        for root in new_roots {
            let Op::Add(product, _) = *new.op(root) else { panic!("no sum") };
            let Op::Mul(base, _) = *new.op(product) else { panic!("no product") };
            assert!(matches!(new.op(base), Op::Input { .. }));
        }
        assert!(in_effects(&new, &moved).is_none(), "nothing is left to do");
    }

    #[test]
    fn one_step_and_wide_values_stay() {
        let mut graph = Graph::new();
        let one = chain(&mut graph, &[(5, 3)], 32);
        assert!(in_effects(&graph, &one).is_none());
        let wide = chain(&mut graph, &[(5, 3); 4], 65);
        assert!(in_effects(&graph, &wide).is_none());
    }
}
