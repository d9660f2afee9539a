//! Sinking of complements through rotations. Complements of values that are rotated.
//!
//! ```text
//! rotate(~a)    =>    ~rotate(a)
//! ```
//!
//! Behind the rotation it is part of whatever gate comes next, and what else reads `a` needs it in one form only.

use super::pass::{Form, Pass};
use crate::kernel::{Graph, Loop, NodeId, Op};

/// The pass.
pub const PASS: Pass = Pass {
    name: "sink-complements",
    about: "Puts complements behind rotations",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Loop(sink_complements),
};

/// A loop in which complements stand behind rotations; `None` where none stands before one.
pub fn sink_complements(body: &Loop) -> Option<Loop> {
    if !body.needed().into_iter().any(|id| rotated_complement(&body.graph, id).is_some()) {
        return None;
    }
    body.rebuilt(|graph, new, id| {
        let value = graph.copy(&body.graph, id, new)?;
        // What was turned round before may have become a complement that is rotated.
        Some(match rotated_complement(graph, value) {
            Some((inner, count)) => {
                let rotated = graph.rotate_left_by(inner, count);
                graph.not(rotated)
            }
            None => value,
        })
    })
}

/// The value of which a node is the complement rotated, and by how far to the left.
fn rotated_complement(graph: &Graph, id: NodeId) -> Option<(NodeId, u32)> {
    let (value, count) = graph.rotated(id)?;
    let Op::Not(inner) = *graph.op(value) else { return None };
    Some((inner, count))
}

#[cfg(test)]
mod tests {
    use super::super::test_loops::Token;
    use super::*;
    use crate::kernel::evaluate::values;

    /// A loop whose iterations give what `f` makes of a token.
    fn body(f: impl Fn(&mut Graph, NodeId) -> NodeId) -> Loop {
        let mut graph = Graph::new();
        let token = graph.input(0, 0, 32);
        let value = f(&mut graph, token);
        let (objects, carried, counters) = (Vec::new(), Vec::new(), Vec::new());
        let (consumes, produces) = (vec![(1, 32)], vec![(1, 32)]);
        Loop { graph, objects, consumes, produces, outputs: vec![(0, 0, value)], carried, counters }
    }

    #[test]
    fn complements_move_behind_all_rotations() {
        let old = body(|graph, token| {
            let not = graph.not(token);
            let once = graph.rotate_left_by(not, 7);
            let sum = graph.sum(once, token);
            let not = graph.not(sum);
            let twice = graph.rotate_left_by(not, 31);
            graph.xor(twice, once)
        });
        let new = sink_complements(&old).expect("complements");
        let of = |body: &Loop| body.outputs[0].2;
        for token in [0, 1, 0x1234_5678, 0xffff_ffff, 0x8000_0001] {
            let value = |body: &Loop| values(&body.graph, &[of(body)], &Token(token))[&of(body)];
            assert_eq!(value(&old), value(&new));
        }
        assert!(sink_complements(&new).is_none());
    }

    #[test]
    fn what_is_only_cut_stays() {
        let shifted = body(|graph, token| {
            let not = graph.not(token);
            graph.shift_right_by(not, 3)
        });
        assert!(sink_complements(&shifted).is_none());
        assert!(sink_complements(&body(|graph, token| graph.rotate_left_by(token, 3))).is_none());
    }
}
