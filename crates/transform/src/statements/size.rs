//! Code size of transitions, estimated before anything is printed.
//!
//! It is counted in operands, which is what statements of any language mostly are: a value that is an operation of two others
//! counts two, a constant or a token nothing where it stands, an effect [`EFFECT`]. In C one is about eleven bytes.

use crate::kernel::{Effect, Graph, NodeId};

/// What an effect counts beside its values: it names an object or a port and a place in it, and is a statement of its own.
pub const EFFECT: usize = 4;

/// How much there is of effects: operands of all values that they need, and the effects themselves.
pub fn size(graph: &Graph, effects: &[Effect]) -> usize {
    let mut n_effects = 0;
    Effect::walk(effects, &mut |_| n_effects += 1);
    let operands = |id: NodeId| graph.op(id).operands().len();
    EFFECT * n_effects + Effect::needed(effects, graph).into_iter().map(operands).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_and_effects_count() {
        let mut graph = Graph::new();
        let (a, b) = (graph.input(0, 0, 8), graph.input(0, 1, 8));
        let sum = graph.sum(a, b);
        let value = graph.xor(sum, a);
        let output = |offset, value| Effect::Output { port: 0, offset, value };
        assert_eq!(size(&graph, &[output(0, a)]), EFFECT);
        assert_eq!(size(&graph, &[output(0, value), output(1, sum)]), 2 * EFFECT + 4);
        let both = Effect::If { condition: a, then: vec![output(0, sum)], otherwise: vec![output(0, b)] };
        assert_eq!(size(&graph, &[both]), 3 * EFFECT + 2);
    }
}
