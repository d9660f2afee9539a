//! Loop peeling of the first iteration. Iterations of a loop but the first, with what the first one settles.
//!
//! ```text
//! an iteration keeps tokens for the next          =>    the next reads them where they lie
//! an iteration keeps a value in two places        =>    it is kept in one, and read from there
//! ```
//!
//! Before the first iteration, anything may be in these places; so the first runs as it is.
//!
//! Result: no iteration keeps what can be read from tokens of the iteration before, or what another element is
//! given as well.

use super::pass::{BlockRef, Form, ITERATIONS, Parts, Pass, Seen, boxed, leaves_the_same};
use crate::kernel::evaluate::{run, run_loop};
use crate::kernel::{BYTES_OF_WORD, Carried, Carry, Effect, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "peel-first-iteration",
    about: "Runs the first iteration apart, so that the others need not keep what they can read again",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| peel_first_iteration(body).map(boxed)),
};

/// Bits that need not be kept, from which on it is worth while to have iterations twice.
const WORTH_BITS: u32 = 128;

/// Iterations but the first.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The iterations. Tokens of the iteration before are at negative offsets.
    pub body: Loop,
    /// What is stored behind the last of them, in elements that they do not change: tokens count from the first that
    /// the next iteration would consume, and entries are what elements hold by then.
    pub behind: Vec<Effect>,
}

/// Where an element's value can be read in iterations but the first.
#[derive(Clone, Copy)]
enum Instead {
    /// It is made of tokens of the iteration before alone.
    Tokens(NodeId),
    /// Another element is given the same.
    Element(ObjectId, usize),
}

/// The iterations of a loop but the first; `None` where they are as the first is, or hardly shorter.
pub fn peel_first_iteration(body: &Loop) -> Option<Settled> {
    let instead = instead(body);
    let bits = |(object, _): &(ObjectId, usize)| body.objects[object.0 as usize].width;
    if instead.keys().map(bits).sum::<u32>() < WORTH_BITS {
        return None;
    }
    let stays = |one: &&Carried| !instead.contains_key(&(one.object, one.index));
    let carried: Vec<Carried> = body.carried.iter().filter(stays).cloned().collect();
    let rest = Loop { carried, ..body.clone() };
    let mut iterations = rest.rebuilt(|graph, new, id| {
        let place = match *rest.graph.op(id) {
            Op::Entry { object, index } => rest.graph.constant(index).map(|index| (object, index as usize)),
            _ => None,
        };
        match place.and_then(|place| instead.get(&place)) {
            Some(instead) => Some(instead.read(&rest, graph, rest.graph.width(id))),
            None => graph.copy(&rest.graph, id, new),
        }
    })?;
    let mut places: Vec<(ObjectId, usize)> = instead.keys().copied().collect();
    places.sort_unstable();
    let mut stored = |(object, at): (ObjectId, usize)| {
        let width = rest.objects[object.0 as usize].width;
        let value = instead[&(object, at)].read(&rest, &mut iterations.graph, width);
        Effect::Store { object, index: iterations.graph.number(at as u128, 64), value }
    };
    let behind = places.into_iter().map(&mut stored).collect();
    Some(Settled { body: iterations.with_own_counters(), behind })
}

/// The elements that need not be kept.
fn instead(body: &Loop) -> FxHashMap<(ObjectId, usize), Instead> {
    let fixed = body.read_at_unknown_places();
    let mut first: FxHashMap<NodeId, (ObjectId, usize)> = FxHashMap::default();
    let mut instead: FxHashMap<(ObjectId, usize), Instead> = FxHashMap::default();
    for one in body.carried.iter().filter(|one| !fixed.contains(&one.object)) {
        let place = (one.object, one.index);
        if one.carry == Carry::Delay && is_of_tokens(&body.graph, one.next) {
            instead.insert(place, Instead::Tokens(one.next));
        } else if one.carry == Carry::True {
            let (object, index) = *first.entry(one.next).or_insert(place);
            if (object, index) != place {
                instead.insert(place, Instead::Element(object, index));
            }
        }
    }
    // Bytes that lie together are kept as words: all of a word, or none.
    let mut kept: FxHashSet<(ObjectId, usize)> = FxHashSet::default();
    for one in &body.carried {
        if !instead.contains_key(&(one.object, one.index)) {
            kept.insert((one.object, one.index / BYTES_OF_WORD));
        }
    }
    let is_byte = |object: ObjectId| body.objects[object.0 as usize].width == 8;
    instead.retain(|&(object, index), _| !(is_byte(object) && kept.contains(&(object, index / BYTES_OF_WORD))));
    instead
}

/// Whether a value is tokens of the iteration put together, or bits of them.
fn is_of_tokens(graph: &Graph, id: NodeId) -> bool {
    graph.reachable([id]).into_iter().all(|id| match graph.op(id) {
        Op::Input { offset, .. } => *offset >= 0,
        Op::Const(_) | Op::Concat(_) | Op::Extract(..) => true,
        _ => false,
    })
}

impl Instead {
    /// The value in a graph of iterations but the first.
    fn read(self, body: &Loop, graph: &mut Graph, width: u32) -> NodeId {
        match self {
            Self::Tokens(value) => {
                let mut before: FxHashMap<NodeId, NodeId> = FxHashMap::default();
                for id in body.graph.reachable([value]) {
                    let (op, width) = (body.graph.op(id), body.graph.width(id));
                    let new = match *op {
                        Op::Input { port, offset } => {
                            let (consumed, _) = body.consumes[port as usize];
                            graph.input(port, offset - consumed as i64, width)
                        }
                        _ => {
                            let operands: Vec<NodeId> = op.operands().iter().map(|operand| before[operand]).collect();
                            graph.rebuild(op, width, &operands)
                        }
                    };
                    before.insert(id, new);
                }
                before[&value]
            }
            Self::Element(object, index) => {
                let index = graph.number(index as u128, 64);
                graph.entry(object, index, width)
            }
        }
    }
}

impl Parts for Settled {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("others", &self.body)]
    }

    fn beside(&self) -> Vec<String> {
        let Loop { graph, objects, .. } = &self.body;
        let behind = BlockRef { graph, objects, effects: &self.behind, n_indexed: objects.len(), filled: &[] };
        vec![format!("after them: {}", Seen::Block(behind).text().trim_end())]
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            run_loop(body, world, 1);
            run_loop(&self.body, world, ITERATIONS - 1);
            let mut budget = self.behind.len() as u64;
            run(&self.body.graph, &self.behind, world, &mut budget).then_some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Object;
    use crate::kernel::evaluate::{Environment, values};

    const TOKENS: u64 = 16;

    type Memory = FxHashMap<(u32, u128), u128>;

    /// Tokens from some place on, and what elements hold.
    struct Now<'a> {
        first: u64,
        memory: &'a Memory,
    }

    impl Environment for Now<'_> {
        fn input(&self, _port: u32, offset: i64) -> u128 {
            let at = self.first.checked_add_signed(offset).expect("tokens that were there");
            u128::from(at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56)
        }
        fn entry(&self, object: ObjectId, index: u128) -> u128 {
            self.memory[&(object.0, index)]
        }
    }

    /// What an iteration makes, and what elements hold behind it.
    fn iteration(body: &Loop, number: u64, memory: &mut Memory) -> Vec<u128> {
        let all = values(&body.graph, &body.roots(), &Now { first: number * TOKENS, memory });
        memory.extend(body.carried.iter().map(|one| ((one.object.0, one.index as u128), all[&one.next])));
        body.outputs.iter().map(|output| all[&output.2]).collect()
    }

    fn carried(object: ObjectId, index: usize, next: NodeId, carry: Carry) -> Carried {
        Carried { object, index, next, carry }
    }

    /// Bytes of the iteration before are mixed into four words, of which there are two copies; each iteration makes the
    /// second.
    fn mixer() -> Loop {
        let objects = [("block", 8, 16), ("state", 32, 4), ("output", 32, 4)];
        let objects = objects.map(|(name, width, length)| Object {
            name: String::from(name),
            width,
            length,
            persistent: true,
            residue: None,
        });
        let [block, state, output] = [0, 1, 2].map(ObjectId);
        let mut graph = Graph::new();
        let mut all = Vec::new();
        let mut outputs = Vec::new();
        for word in 0..4 {
            let at = graph.number(word, 32);
            let (mixed, made) = (graph.entry(state, at, 32), graph.entry(output, at, 32));
            let bytes: Vec<NodeId> = (0..4)
                .map(|byte| {
                    let at = graph.number(4 * word + byte, 32);
                    graph.entry(block, at, 8)
                })
                .collect();
            let bytes = graph.concat(&bytes);
            let (turned, with) = (graph.rotate_left_by(mixed, 7), graph.sum(mixed, bytes));
            let next = graph.xor(turned, with);
            outputs.push((0, word as u64, graph.xor(made, mixed)));
            all.push(carried(state, word as usize, next, Carry::True));
            all.push(carried(output, word as usize, next, Carry::True));
        }
        for at in 0..TOKENS {
            let token = graph.input(0, at as i64, 8);
            all.push(carried(block, at as usize, token, Carry::Delay));
        }
        let (consumes, produces) = (vec![(TOKENS, 8)], vec![(4, 32)]);
        Loop { graph, objects: objects.into(), consumes, produces, outputs, carried: all, counters: Vec::new() }
    }

    fn begun(body: &Loop) -> Memory {
        let places =
            (0..).zip(&body.objects).flat_map(|(number, object)| (0..object.length).map(move |at| (number, at)));
        places.map(|(number, at)| ((number, at as u128), u128::from(number) * 31 + at as u128 * 7 + 1)).collect()
    }

    #[test]
    fn all_iterations_make_the_same_and_leave_the_same() {
        let body = mixer();
        let settled = peel_first_iteration(&body).expect("blocks need not be kept");
        for n in 1..5 {
            let (mut memory, mut other) = (begun(&body), begun(&body));
            let made: Vec<_> = (0..n).map(|number| iteration(&body, number, &mut memory)).collect();
            let mut others = vec![iteration(&body, 0, &mut other)];
            others.extend((1..n).map(|number| iteration(&settled.body, number, &mut other)));
            assert_eq!(made, others);
            if n > 1 {
                let uses: Vec<NodeId> = settled.behind.iter().flat_map(Effect::uses).collect();
                let all = values(&settled.body.graph, &uses, &Now { first: n * TOKENS, memory: &other });
                for effect in &settled.behind {
                    let Effect::Store { object, index, value } = effect else { panic!("{effect:?} is no store") };
                    other.insert((object.0, all[index]), all[value]);
                }
            }
            assert_eq!(memory, other, "behind {n} iterations");
        }
    }

    #[test]
    fn blocks_and_copies_are_not_kept() {
        let settled = peel_first_iteration(&mixer()).expect("blocks need not be kept");
        let kept: Vec<(ObjectId, usize)> = settled.body.carried.iter().map(|one| (one.object, one.index)).collect();
        assert_eq!(kept, [0, 1, 2, 3].map(|at| (ObjectId(1), at)));
    }

    #[test]
    fn what_is_read_at_unknown_places_or_hardly_worth_it_is_kept() {
        let mut body = mixer();
        let token = body.graph.input(0, 0, 8);
        let at = body.graph.rebuild(&Op::SignExtend(token), 32, &[token]);
        let chosen = body.graph.entry(ObjectId(0), at, 8);
        body.outputs.push((0, 4, chosen));
        let settled = peel_first_iteration(&body).expect("copies need not be kept");
        assert_eq!(settled.body.carried.iter().filter(|one| one.object == ObjectId(0)).count(), 16);
        assert_eq!(settled.body.carried.iter().filter(|one| one.object == ObjectId(2)).count(), 0);
        body.carried.retain(|one| one.object != ObjectId(2));
        assert!(peel_first_iteration(&body).is_none());
    }

    #[test]
    fn bytes_of_a_word_are_kept_together() {
        let mut body = mixer();
        // One byte of a block is something else.
        let token = body.graph.input(0, 3, 8);
        body.carried.iter_mut().filter(|one| one.object == ObjectId(0) && one.index == 3).for_each(|one| {
            one.next = body.graph.not(token);
        });
        let settled = peel_first_iteration(&body).expect("most need not be kept");
        let kept: Vec<usize> =
            settled.body.carried.iter().filter(|one| one.object == ObjectId(0)).map(|one| one.index).collect();
        assert_eq!(kept, [0, 1, 2, 3]);
    }
}
