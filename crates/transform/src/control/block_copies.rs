//! Loop idiom recognition: a loop that stores token after token is a block copy. Transitions that lead back to their state
//! and put a token into a list, each behind the one before, can be taken many at a time.
//!
//! That is how bytes wait that fill no block: without this the end of a message takes longer than many blocks of it.
//!
//! ```text
//! while (used < 15 && left > 0) { block[used] = in[0]; used += 1; left -= 1; }
//! ```
//!
//! Such a transition is taken as often as tokens are there, as its decisions come out the same, and as the list goes on;
//! what counters are afterwards follows from how often that is.

use super::automaton::{Automaton, Trips};
use super::compose_transitions::{Way, ways};
use crate::kernel::graph::mask;
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, Transition};

/// Bits of what is copied: a token is a byte.
const BYTE: u32 = 8;

/// A transition that stores one token and counts.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockCopy<'a> {
    /// One iteration.
    pub transition: &'a Transition,
    /// The list.
    pub list: ObjectId,
    /// The place of the first token in it.
    pub at: NodeId,
    /// The place from which on counting reaches none.
    pub end: usize,
    /// The input port of the tokens.
    pub port: usize,
    /// What is counted.
    pub counters: Vec<CountedElement>,
    /// Bounds on the number of iterations; nodes are of the automaton's graph. Tokens and places are bounds too.
    pub trips: Vec<Trips>,
}

/// An element to which an iteration adds a number modulo `2^width`.
#[derive(Debug, PartialEq, Eq)]
pub struct CountedElement {
    /// The object.
    pub object: ObjectId,
    /// Which element.
    pub index: u128,
    /// What is added.
    pub step: u128,
    /// Bits that are kept of the sum.
    pub width: u32,
}

/// The block copies of each state.
pub fn block_copies(automaton: &Automaton) -> Vec<Vec<BlockCopy<'_>>> {
    let (graph, objects) = (&automaton.graph, &automaton.objects);
    let states = automaton.states.iter().enumerate().map(|(number, state)| {
        let mut back = Vec::new();
        ways(&state.step, only_stores, &mut Vec::new(), &mut back);
        let back = back.iter().filter(|way| way.target == number);
        back.filter_map(|way| BlockCopy::of(graph, objects, way)).collect()
    });
    states.collect()
}

fn only_stores(transition: &Transition) -> bool {
    transition.effects.iter().all(|effect| matches!(effect, Effect::Store { .. }))
}

impl<'a> BlockCopy<'a> {
    fn of(graph: &Graph, objects: &[Object], way: &Way<'a>) -> Option<BlockCopy<'a>> {
        let transition = way.transition;
        let mut stored = None;
        let mut counters: Vec<CountedElement> = Vec::new();
        for effect in &transition.effects {
            let Effect::Store { object, index, value } = *effect else { return None };
            match graph.constant(index) {
                None if stored.is_none() => stored = Some((object, index, value)),
                None => return None,
                Some(at) => counters.push(CountedElement::of(graph, object, at, value)?),
            }
        }
        let (list, at, value) = stored?;
        let Op::Input { port, offset: 0 } = *graph.op(value) else { return None };
        let port = port as usize;
        let is_alone = transition.consumes.iter().enumerate().all(|(other, n)| *n == u64::from(other == port));
        let is_quiet = transition.produces.iter().all(|n| *n == 0);
        let Object { length, width, persistent, .. } = objects[list.0 as usize];
        let (place, bits) = low_bits(graph, at);
        let leads = |one: &CountedElement| one.step == 1 && one.width >= bits && one.is(graph, place);
        let fits = width == BYTE && graph.width(value) == BYTE && persistent && is_alone && is_quiet;
        if !fits || !counters.iter().any(leads) || counters.iter().any(|one| one.object == list) {
            return None;
        }
        let mut trips = Vec::new();
        for &(condition, holds) in &way.decisions {
            trips.extend(kept(graph, list, &counters, condition, holds)?);
        }
        let reach = 1_usize.checked_shl(bits).unwrap_or(usize::MAX);
        Some(BlockCopy { transition, list, at, end: length.min(reach), port, counters, trips })
    }
}

impl CountedElement {
    /// What a store adds to the element that it stores to.
    fn of(graph: &Graph, object: ObjectId, index: u128, value: NodeId) -> Option<CountedElement> {
        let sum = without_zeros(graph, value);
        let Op::Add(before, step) = *graph.op(sum) else { return None };
        let (before, _) = low_bits(graph, before);
        let one = CountedElement { object, index, step: graph.constant(step)?, width: graph.width(sum) };
        one.is(graph, before).then_some(one)
    }

    /// Whether a value is what the element held.
    fn is(&self, graph: &Graph, id: NodeId) -> bool {
        match *graph.op(id) {
            Op::Entry { object, index } => object == self.object && graph.constant(index) == Some(self.index),
            _ => false,
        }
    }
}

/// For how many iterations a condition comes out as it does before the first one; `None` if nobody can say.
fn kept(
    graph: &Graph,
    list: ObjectId,
    counters: &[CountedElement],
    condition: NodeId,
    holds: bool,
) -> Option<Vec<Trips>> {
    let reads = graph.reachable([condition]);
    let changes = |id: NodeId| match graph.op(id) {
        Op::Entry { object, .. } => *object == list || counters.iter().any(|one| one.object == *object),
        Op::Input { .. } | Op::Loaded(_) => true,
        _ => false,
    };
    if !reads.into_iter().any(changes) {
        return Some(vec![Trips::Unless(condition, holds)]);
    }
    // Whether it holds because the value is less than the limit, or because it is not.
    let (value, limit, is_less) = match (graph.op(condition).clone(), holds) {
        (Op::Not(inner), _) => return kept(graph, list, counters, inner, !holds),
        (Op::Equal(x, k), false) if graph.constant(k) == Some(0) => (x, 1, false),
        (Op::Less(x, k), _) if graph.constant(k).is_some() => (x, graph.constant(k)?, holds),
        (Op::Less(k, x), _) if graph.constant(k).is_some() => (x, graph.constant(k)? + 1, !holds),
        _ => return None,
    };
    let (element, bits) = low_bits(graph, value);
    let counter = counters.iter().find(|one| one.is(graph, element))?;
    let is_up = counter.step == 1;
    if !is_up && (counter.step != mask(counter.width) || bits > counter.width) {
        return None;
    }
    // Values that are not kept are none, and no value comes round.
    let below = |limit: u128| Trips::Below { value, limit: limit.min(1 << bits.min(counter.width)), step: 1 };
    let above = |limit: u128| Trips::Above { value, limit, step: 1 };
    let once = Trips::Unless(condition, holds);
    Some(match (is_up, is_less) {
        (true, true) => vec![below(limit)],
        (true, false) => vec![once, below(u128::MAX)],
        (false, false) => vec![above(limit.saturating_sub(1))],
        (false, true) => vec![once, above(0)],
    })
}

/// A value without zeros above it.
fn without_zeros(graph: &Graph, id: NodeId) -> NodeId {
    match graph.op(id) {
        Op::Concat(parts) => match parts[..] {
            [above, low] if graph.constant(above) == Some(0) => low,
            _ => id,
        },
        _ => id,
    }
}

/// The value of which a value is the low bits, and how many.
fn low_bits(graph: &Graph, id: NodeId) -> (NodeId, u32) {
    let low = without_zeros(graph, id);
    match *graph.op(low) {
        Op::Extract(whole, 0) => (whole, graph.width(low)),
        _ => (low, graph.width(low)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: ObjectId = ObjectId(0);
    const USED: ObjectId = ObjectId(1);
    const LEFT: ObjectId = ObjectId(2);

    fn objects() -> [Object; 3] {
        let object =
            |name: &str, width, length| Object { name: name.into(), width, length, persistent: true, residue: None };
        [object("list", 8, 16), object("used", 16, 1), object("left", 32, 1)]
    }

    /// A byte goes to `list[used]`; `used` of four bits and `left` are counted. What is decided: there is something left, and
    /// `used` is neither 0 nor 15.
    fn filling(graph: &mut Graph, step: u128) -> (Transition, Vec<(NodeId, bool)>) {
        let zero = graph.number(0, 32);
        let (used, left) = (graph.entry(USED, zero, 16), graph.entry(LEFT, zero, 32));
        let low = graph.extract(used, 0, 4);
        let at = graph.zero_extend(low, 32);
        let (one, minus) = (graph.number(step, 4), graph.number(mask(32), 32));
        let next = graph.sum(low, one);
        let next = graph.zero_extend(next, 16);
        let fewer = graph.sum(left, minus);
        let token = graph.input(0, 0, 8);
        let store = |object, index, value| Effect::Store { object, index, value };
        let effects = vec![store(LIST, at, token), store(LEFT, zero, fewer), store(USED, zero, next)];
        let (none, most) = (graph.number(0, 16), graph.number(15, 16));
        let is_empty = graph.equal(used, none);
        let is_left = graph.less(zero, left);
        let is_less = graph.less(used, most);
        let transition = Transition { effects, consumes: vec![1], produces: vec![0] };
        (transition, vec![(is_empty, false), (is_left, true), (is_less, true)])
    }

    #[test]
    fn bytes_behind_one_another_are_copied() {
        let mut graph = Graph::new();
        let (transition, decisions) = filling(&mut graph, 1);
        let way = Way { decisions: decisions.clone(), transition: &transition, target: 0 };
        let Some(copy) = BlockCopy::of(&graph, &objects(), &way) else { panic!("is a copy") };
        assert_eq!((copy.list, copy.end, copy.port), (LIST, 16, 0));
        let left = CountedElement { object: LEFT, index: 0, step: mask(32), width: 32 };
        let used = CountedElement { object: USED, index: 0, step: 1, width: 4 };
        assert_eq!(copy.counters, [left, used]);
        // `used` has sixteen bits, of which four are counted: none of the others may be there.
        let zero = graph.number(0, 32);
        let (value, of_left) = (graph.entry(USED, zero, 16), graph.entry(LEFT, zero, 32));
        let expected = [
            Trips::Unless(decisions[0].0, false),
            Trips::Below { value, limit: 16, step: 1 },
            Trips::Above { value: of_left, limit: 0, step: 1 },
            Trips::Below { value, limit: 15, step: 1 },
        ];
        assert_eq!(copy.trips, expected);
    }

    #[test]
    fn other_stores_are_none() {
        let mut graph = Graph::new();
        let is_copy = |graph: &Graph, transition: &Transition, decisions: &[(NodeId, bool)]| {
            let way = Way { decisions: decisions.to_vec(), transition, target: 0 };
            BlockCopy::of(graph, &objects(), &way).is_some()
        };
        let (transition, decisions) = filling(&mut graph, 1);
        assert!(is_copy(&graph, &transition, &decisions));
        // Every second place.
        let (other, _) = filling(&mut graph, 2);
        assert!(!is_copy(&graph, &other, &decisions));
        // What is stored is not the token.
        let (mut other, _) = filling(&mut graph, 1);
        let token = graph.input(0, 0, 8);
        let changed = graph.not(token);
        if let Effect::Store { value, .. } = &mut other.effects[0] {
            *value = changed;
        }
        assert!(!is_copy(&graph, &other, &decisions));
        // Something comes out, too.
        let other = Transition { produces: vec![1], ..transition.clone() };
        assert!(!is_copy(&graph, &other, &decisions));
        // It is decided by the token.
        let zero = graph.number(0, 8);
        let by_token = graph.equal(token, zero);
        assert!(!is_copy(&graph, &transition, &[(by_token, false)]));
    }
}
