//! Early scheduling of outputs. Tokens that are put out as soon as what they are made of has been read.
//!
//! An actor that reads a list at places which depend on it, and puts out what it read when all of it is there, leaves a
//! transition with many values that wait. Compilers keep those in memory: they cannot know that output lies apart from
//! the list.

use crate::kernel::{Effect, Graph, NodeId, Op};
use rustc_hash::FxHashMap;

/// The same effects with outputs moved up, behind the last element that they need. Nothing iterations what may end the
/// run or is not done each time; outputs that need no element stay where they are.
pub fn outputs_early(graph: &Graph, effects: &[Effect]) -> Vec<Effect> {
    let mut result = Vec::with_capacity(effects.len());
    let stays = |effect: &Effect| matches!(effect, Effect::Check { .. } | Effect::While { .. } | Effect::If { .. });
    for stretch in effects.split_inclusive(stays) {
        let loads: FxHashMap<u32, usize> = stretch
            .iter()
            .enumerate()
            .filter_map(|(at, effect)| if let Effect::Load { id, .. } = effect { Some((*id, at)) } else { None })
            .collect();
        let last = last_loads(graph, stretch, &loads);
        // For each effect, the outputs that come directly behind it.
        let mut behind: Vec<Vec<&Effect>> = vec![Vec::new(); stretch.len()];
        for (at, effect) in stretch.iter().enumerate() {
            match effect {
                Effect::Output { value, .. } => behind[last.get(value).map_or(at, |load| at.min(*load))].push(effect),
                _ => behind[at].insert(0, effect),
            }
        }
        result.extend(behind.into_iter().flatten().cloned());
    }
    result
}

/// For each value that is put out, where the last element is read that it needs, if it needs one.
fn last_loads(graph: &Graph, effects: &[Effect], loads: &FxHashMap<u32, usize>) -> FxHashMap<NodeId, usize> {
    let mut last: FxHashMap<NodeId, usize> = FxHashMap::default();
    if loads.is_empty() {
        return last;
    }
    let values = effects.iter().filter_map(|effect| match effect {
        Effect::Output { value, .. } => Some(*value),
        _ => None,
    });
    for id in graph.reachable(values) {
        let op = graph.op(id);
        let own = if let Op::Loaded(load) = op { loads.get(load).copied() } else { None };
        let needed = op.operands().iter().filter_map(|operand| last.get(operand).copied()).chain(own).max();
        last.extend(needed.map(|at| (id, at)));
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::ObjectId;
    use headrace_source::Span;

    /// Two elements are read and stored over, then three tokens put out: of each of them, and of neither.
    fn effects(graph: &mut Graph) -> Vec<Effect> {
        let index = graph.add(Op::Const(3), 8);
        let values = [0, 1].map(|load| graph.add(Op::Loaded(load), 8));
        let read = |id| {
            [
                Effect::Load { id, object: ObjectId(0), index },
                Effect::Store { object: ObjectId(0), index, value: index },
            ]
        };
        let put = |offset, value| Effect::Output { port: 0, offset, value };
        let mut effects: Vec<Effect> = [read(0), read(1)].concat();
        effects.extend([put(0, index), put(1, values[0]), put(2, values[1])]);
        effects
    }

    fn words(effects: &[Effect]) -> Vec<String> {
        let word = |effect: &Effect| match effect {
            Effect::Load { id, .. } => format!("load {id}"),
            Effect::Output { offset, .. } => format!("put {offset}"),
            Effect::Check { .. } => "check".to_owned(),
            _ => "store".to_owned(),
        };
        effects.iter().map(word).collect()
    }

    #[test]
    fn tokens_come_behind_what_they_need() {
        let mut graph = Graph::default();
        let effects = effects(&mut graph);
        let early = outputs_early(&graph, &effects);
        assert_eq!(words(&early), ["load 0", "put 1", "store", "load 1", "put 2", "store", "put 0"]);
    }

    #[test]
    fn nothing_comes_before_what_may_end_the_run() {
        let mut graph = Graph::default();
        let mut effects = effects(&mut graph);
        let condition = graph.add(Op::Const(1), 1);
        effects.insert(4, Effect::Check { condition, index: condition, length: 1, span: Span::default() });
        assert_eq!(outputs_early(&graph, &effects), effects);
    }
}
