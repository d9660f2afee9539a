use super::*;
use crate::kernel::evaluate::{World, run};
use crate::kernel::graph::mask;
use crate::kernel::{NodeId, ObjectId, Op};

const WIDTH: u32 = 32;
const KEYS: usize = 200;

/// Numbers that look random (xorshift, Marsaglia 2003).
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

fn objects() -> Vec<Object> {
    let object =
        |name: &str, width, length| Object { name: name.into(), width, length, persistent: true, residue: None };
    vec![object("keys", WIDTH, KEYS), object("state", WIDTH, 16), object("rounds_0_done", 8, 4)]
}

fn element(graph: &mut Graph, object: u32, index: usize) -> NodeId {
    let index = graph.number(index as u128, 8);
    graph.entry(ObjectId(object), index, WIDTH)
}

fn store(graph: &mut Graph, index: usize, value: NodeId) -> Effect {
    Effect::Store { object: ObjectId(1), index: graph.number(index as u128, 8), value }
}

/// For registers, where all objects but the last are in memory.
const REGISTERS: Aim = Aim::Registers { n_indexed: 2 };

/// The same with short loops, after both have been run; `None` where there are none.
fn rolled(graph: &Graph, effects: &[Effect], draw: &mut Draw) -> Option<Block> {
    rolled_for(Aim::Brevity, graph, effects, draw)
}

fn rolled_for(aim: Aim, graph: &Graph, effects: &[Effect], draw: &mut Draw) -> Option<Block> {
    let objects = objects();
    let rolled = reroll_loops(graph, &objects, effects, aim)?;
    for _ in 0..3 {
        let mut elements =
            |object: &Object| (0..object.length).map(|_| draw.below(1 << object.width) as u128).collect();
        let mut world = World {
            inputs: vec![(0..300).map(|at| at * 0x0123_4567 % (1 << WIDTH)).collect()],
            consumed: vec![0],
            outputs: vec![Vec::new()],
            objects: objects.iter().map(&mut elements).collect(),
        };
        let mut other = world.clone();
        // What is filled before it is read may begin with anything.
        other.objects.extend((objects.len()..rolled.objects.len()).map(|at| {
            let Object { width, length, .. } = rolled.objects[at];
            let is_filled = rolled.filled.contains(&ObjectId(at as u32));
            vec![if is_filled { mask(width) } else { 0 }; length]
        }));
        let mut budget = 1 << 30;
        assert!(run(graph, effects, &mut world, &mut budget));
        assert!(run(&rolled.graph, &rolled.effects, &mut other, &mut budget));
        other.objects.truncate(objects.len());
        assert_eq!((world.outputs, world.objects), (other.outputs, other.objects));
    }
    Some(rolled)
}

fn loops(rolled: &Block) -> usize {
    rolled.effects.iter().filter(|effect| matches!(effect, Effect::While { .. })).count()
}

fn n_values(graph: &Graph, effects: &[Effect]) -> usize {
    Effect::needed(effects, graph).len()
}

/// A value: its number, and how many rounds before.
type Operand = (usize, usize);

/// What each round does with values of earlier rounds, drawn once.
struct Form {
    /// Operation, two operands, and what is mixed with them.
    steps: Vec<(usize, [Operand; 2], usize)>,
}

impl Form {
    fn drawn(draw: &mut Draw, n_steps: usize, most_before: usize) -> Self {
        let step = |at: usize, draw: &mut Draw| {
            let operand = |draw: &mut Draw| match draw.below(8) {
                _ if at == 0 => (n_steps - 1, 1),
                0 if most_before > 0 => (n_steps - 1 - draw.below(3), 1 + draw.below(most_before)),
                _ => (at - 1 - draw.below(at.min(6)), 0),
            };
            (draw.below(6), [operand(draw), operand(draw)], draw.below(24))
        };
        Self { steps: (0..n_steps).map(|at| step(at, draw)).collect() }
    }

    /// The values of rounds, of which the first begin with elements of the state.
    fn rounds(&self, graph: &mut Graph, n: usize, first: &[NodeId]) -> Vec<Vec<NodeId>> {
        let mut all: Vec<Vec<NodeId>> = Vec::new();
        for round in 0..n {
            let mut values: Vec<NodeId> = Vec::new();
            for &(operation, operands, more) in &self.steps {
                let [a, b] = operands.map(|(value, before)| match before {
                    0 => values[value],
                    _ if before > round => first[(value + before - round) % first.len()],
                    _ => all[round - before][value],
                });
                let more = match more {
                    0 => graph.number((round * round * 77 + 5) as u128, WIDTH),
                    1 => element(graph, 0, KEYS - 1 - 2 * round),
                    2 => graph.input(0, (round * round) as i64, WIDTH),
                    3 => element(graph, 0, round * 31 % KEYS),
                    4 => element(graph, 0, 7),
                    _ => a,
                };
                let turned = graph.rotate_left_by(b, 5);
                let mixed = match operation {
                    0 => graph.xor(turned, more),
                    // A constant would be a mask, and masks are other operations.
                    1 if graph.constant(more).is_none() => graph.and(turned, more),
                    2 => graph.difference(more, turned),
                    _ => graph.sum(turned, more),
                };
                values.push(graph.xor(mixed, a));
            }
            all.push(values);
        }
        all
    }
}

/// How many of the drawn networks of rounds have loops.
fn n_rolled(aim: Aim) -> usize {
    let mut n_rolled = 0;
    for seed in 1..=150 {
        let mut draw = Draw(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let mut graph = Graph::new();
        let first: Vec<NodeId> = (0..8).map(|at| element(&mut graph, 1, at)).collect();
        let (n_steps, most_before, n) = (20 + draw.below(40), draw.below(3), 8 + draw.below(12));
        let form = Form::drawn(&mut draw, n_steps, most_before);
        let all = form.rounds(&mut graph, n, &first);
        let mut effects = Vec::new();
        // The last values, and some on the way.
        for (offset, _) in (0..4).enumerate() {
            let value = all[n - 1][n_steps - 1 - offset];
            effects.push(Effect::Output { port: 0, offset: offset as u64, value });
        }
        for at in 0..draw.below(12) {
            let value = all[draw.below(n)][draw.below(n_steps)];
            effects.push(store(&mut graph, at, value));
        }
        if let Some(rolled) = rolled_for(aim, &graph, &effects, &mut draw) {
            let (before, after) = (n_values(&graph, &effects), n_values(&rolled.graph, &rolled.effects));
            assert!(after < before, "seed {seed}: {before} values became {after}");
            n_rolled += 1;
        }
    }
    n_rolled
}

#[test]
fn loops_do_what_rounds_did() {
    for aim in [Aim::Brevity, REGISTERS] {
        let n = n_rolled(aim);
        assert!(n > 75, "{aim:?}: {n}");
    }
}

/// What hash functions do with a block: words that are made of earlier ones, and rounds with a word and a constant
/// each.
fn schedule_and_rounds(graph: &mut Graph) -> Vec<Effect> {
    let mut words: Vec<NodeId> = (0..16).map(|at| graph.input(0, 3 * at, WIDTH)).collect();
    for at in 16..64 {
        let (near, far) = (words[at - 2], words[at - 15]);
        let [a, b, c] = [graph.rotate_left_by(near, 15), graph.rotate_left_by(near, 13), graph.rotate_left_by(far, 25)];
        let (mixed, more) = (graph.xor(a, b), graph.xor(c, far));
        let (one, other) = (graph.sum(mixed, words[at - 7]), graph.sum(more, words[at - 16]));
        words.push(graph.sum(one, other));
    }
    let first: Vec<NodeId> = (0..4).map(|at| element(graph, 1, at)).collect();
    let mut state = first.clone();
    for (round, &word) in words.iter().enumerate() {
        let constant = graph.number((round * round * 77 + 5) as u128, WIDTH);
        let (turned, chosen) = (graph.rotate_left_by(state[3], 7), graph.and(state[1], state[2]));
        let (one, other) = (graph.sum(word, constant), graph.xor(turned, chosen));
        let (one, other) = (graph.sum(one, other), graph.xor(state[0], turned));
        let (mixed, more) = (graph.sum(one, other), graph.rotate_left_by(state[2], 11));
        let next = graph.xor(mixed, more);
        state = vec![state[1], state[2], state[3], next];
    }
    (0..4)
        .map(|at| {
            let sum = graph.sum(first[at], state[at]);
            store(graph, at, sum)
        })
        .collect()
}

#[test]
fn what_goes_on_far_is_in_a_list_that_other_loops_read() {
    let mut graph = Graph::new();
    let effects = schedule_and_rounds(&mut graph);
    let rolled = rolled_for(REGISTERS, &graph, &effects, &mut Draw(9)).expect("there are rounds");
    assert_eq!(loops(&rolled), 2);
    // All words are in one list, and constants in a table.
    let lengths: Vec<usize> = rolled.objects[objects().len()..].iter().map(|object| object.length).collect();
    assert_eq!(lengths.iter().filter(|length| **length > 4).collect::<Vec<_>>(), [&64]);
    assert!(matches!(rolled.graph.tables(), [table] if table.elements.len() > 50));
    assert!(n_values(&rolled.graph, &rolled.effects) * 3 < n_values(&graph, &effects));
}

#[test]
fn rounds_on_what_rounds_gave_are_another_loop() {
    let mut draw = Draw(78);
    let mut graph = Graph::new();
    let first: Vec<NodeId> = (0..8).map(|at| element(&mut graph, 1, at)).collect();
    let (one, other) = (Form::drawn(&mut draw, 60, 1), Form::drawn(&mut draw, 47, 1));
    let middle = one.rounds(&mut graph, 12, &first);
    let last = other.rounds(&mut graph, 12, &middle[11][50..]);
    let effects = [store(&mut graph, 0, last[11][46]), store(&mut graph, 1, middle[11][59])];
    let rolled = rolled(&graph, &effects, &mut draw).expect("there are rounds");
    assert_eq!(loops(&rolled), 2);
    assert!(n_values(&rolled.graph, &rolled.effects) * 3 < n_values(&graph, &effects));
    // The names of objects stay different ones.
    let names: rustc_hash::FxHashSet<&str> = rolled.objects.iter().map(|object| object.name.as_str()).collect();
    assert_eq!(names.len(), rolled.objects.len());
}

#[test]
fn what_is_short_or_waits_for_a_load_stays() {
    let mut draw = Draw(5);
    let form = Form::drawn(&mut draw, 40, 1);
    let mut graph = Graph::new();
    let first: Vec<NodeId> = (0..8).map(|at| element(&mut graph, 1, at)).collect();
    let few = form.rounds(&mut graph, 3, &first);
    let effects = [store(&mut graph, 0, few[2][39])];
    assert!(reroll_loops(&graph, &objects(), &effects, Aim::Brevity).is_none());
    let loaded = graph.add(Op::Loaded(0), WIDTH);
    let many = form.rounds(&mut graph, 30, &[loaded]);
    let index = graph.number(0, 8);
    let load = Effect::Load { id: 0, object: ObjectId(1), index };
    let effects = [load, store(&mut graph, 0, many[29][39])];
    assert!(reroll_loops(&graph, &objects(), &effects, Aim::Brevity).is_none());
    // And beside it what does not.
    let many = form.rounds(&mut graph, 30, &first);
    let effects = [effects[0].clone(), effects[1].clone(), store(&mut graph, 1, many[29][39])];
    assert_eq!(rolled(&graph, &effects, &mut draw).as_ref().map(loops), Some(1));
}

#[test]
fn a_last_round_that_takes_something_else_comes_after_the_loop() {
    const STEPS: usize = 40;
    let mut graph = Graph::new();
    let mut values: Vec<NodeId> = (0..3).map(|at| element(&mut graph, 1, at)).collect();
    for round in 0..12 {
        // The last one takes what the round before took.
        let ago = if round == 11 { 3 } else { 2 };
        let (last, before) = (values[values.len() - 1], values[values.len() - ago]);
        let key = element(&mut graph, 0, round);
        let mixed = (0..STEPS).fold(last, |value, step| {
            // No part of a round is like another.
            let turned = graph.rotate_left_by(value, 1 + (step * step % 31) as u32);
            let other = if step == STEPS / 2 { before } else { key };
            if step * step % 7 < 3 { graph.xor(turned, other) } else { graph.sum(turned, other) }
        });
        values.push(mixed);
    }
    let effects = [store(&mut graph, 0, values[values.len() - 1])];
    let rolled = rolled_for(REGISTERS, &graph, &effects, &mut Draw(3)).expect("there are rounds");
    let whiles: Vec<Effect> =
        rolled.effects.iter().filter(|effect| matches!(effect, Effect::While { .. })).cloned().collect();
    assert_eq!(whiles.len(), 1);
    // An iteration is one round: two would be two sums more for each step.
    let (round, all) = (n_values(&rolled.graph, &whiles), n_values(&graph, &effects) / 12);
    assert!(round < all * 3 / 2, "an iteration has {round} values, a round {all}");
}
