//! Random lists of effects: loads and stores at places that are not known, choices, loops.

use super::random::{Grower, Random};
use headrace_source::Span;
use headrace_transform::kernel::{Effect, Graph, Object, ObjectId};

/// Effects and what they are about.
pub struct Case {
    pub graph: Graph,
    pub objects: Vec<Object>,
    pub effects: Vec<Effect>,
}

/// Objects of several widths, of which some are of the kernel alone.
pub fn objects() -> Vec<Object> {
    let object =
        |name: &str, width, length, persistent| Object { name: name.into(), width, length, persistent, residue: None };
    vec![
        object("bytes", 8, 16, true),
        object("bits", 1, 5, true),
        object("words", 32, 4, true),
        object("wide", 100, 3, true),
        object("list", 16, 8, false),
        object("counter", 32, 1, false),
    ]
}

/// Random effects; loops count to a small number.
fn effects(random: &mut Random, grower: &mut Grower, depth: u32, next_load: &mut u32, n: u64) -> Vec<Effect> {
    let mut effects = Vec::new();
    for _ in 0..n {
        for _ in 0..random.below(8) {
            grower.grow(random);
        }
        let object = ObjectId(random.below(grower.objects.len() as u64 - 1) as u32);
        let (width, length) = (grower.objects[object.0 as usize].width, grower.objects[object.0 as usize].length);
        match random.below(12) {
            0..=2 => {
                let port = random.below(grower.ports.len() as u64) as u32;
                let value = grower.some(random, grower.ports[port as usize]);
                effects.push(Effect::Output { port, offset: random.below(16), value });
            }
            3 => {
                let n = random.of(&[2, 4, 8, 16]);
                let source = grower.some(random, 128);
                let (first, down, lo) = (random.below(4), random.below(2) == 0, random.below(3) as u32 * 3);
                for i in 0..n {
                    let byte = if down { n - 1 - i } else { i } as u32;
                    let value = grower.graph.extract(source, (lo + byte * 8).min(120), 8);
                    effects.push(Effect::Output { port: 0, offset: first + i, value });
                }
            }
            4..=6 => {
                let index = grower.index(random, length);
                let value = grower.some(random, width);
                effects.push(Effect::Store { object, index, value });
            }
            7 | 8 => {
                let index = grower.index(random, length);
                let id = *next_load;
                *next_load += 1;
                effects.push(Effect::Load { id, object, index });
                let loaded = grower.graph.add(headrace_transform::kernel::Op::Loaded(id), width);
                grower.known.push(loaded);
            }
            9 | 10 if depth < 3 => {
                let condition = grower.some(random, 1);
                let inside = random.below(4);
                // What is loaded in one branch has no meaning outside.
                let known = grower.known.len();
                let then = effects_inside(random, grower, depth, next_load, inside);
                let otherwise = effects_inside(random, grower, depth, next_load, inside);
                grower.known.truncate(known);
                effects.push(Effect::If { condition, then, otherwise });
            }
            11 if depth == 0 => {
                // The counter runs to 3.
                let counter = ObjectId(grower.objects.len() as u32 - 1);
                let zero = grower.graph.number(0, 1);
                let start = grower.graph.number(0, 32);
                effects.push(Effect::Store { object: counter, index: zero, value: start });
                let id = *next_load;
                *next_load += 1;
                let count = grower.graph.add(headrace_transform::kernel::Op::Loaded(id), 32);
                let (three, one) = (grower.graph.number(3, 32), grower.graph.number(1, 32));
                let condition = grower.graph.less(count, three);
                let known = grower.known.len();
                grower.known.push(count);
                let mut before = vec![Effect::Load { id, object: counter, index: zero }];
                before.extend(effects_inside(random, grower, depth, next_load, 1));
                let more = random.below(5);
                let mut body = effects_inside(random, grower, depth, next_load, more);
                let value = grower.graph.sum(count, one);
                body.push(Effect::Store { object: counter, index: zero, value });
                grower.known.truncate(known);
                // The count stays readable.
                grower.known.push(count);
                effects.push(Effect::While { before, condition, body, span: Span::default() });
            }
            _ => {}
        }
    }
    effects
}

fn effects_inside(random: &mut Random, grower: &mut Grower, depth: u32, next_load: &mut u32, n: u64) -> Vec<Effect> {
    effects(random, grower, depth + 1, next_load, n)
}

/// A random case for ports with tokens of these bits, of which the first has bytes.
pub fn case(random: &mut Random, ports: &[u32]) -> Case {
    let objects = objects();
    let mut graph = Graph::new();
    let mut grower = Grower { graph: &mut graph, objects: &objects, ports, known: Vec::new(), tables: Vec::new() };
    grower.add_tables(random);
    for _ in 0..random.below(40) {
        grower.grow(random);
    }
    let n = 1 + random.below(12);
    let mut effects = effects(random, &mut grower, 0, &mut 0, n);
    if random.below(4) == 0 {
        effects.extend(moved_on(&mut graph, random));
    }
    Case { graph, objects, effects }
}

/// Bytes that lie one beside the other get new contents, and only then what they held is put together and given away.
fn moved_on(graph: &mut Graph, random: &mut Random) -> Vec<Effect> {
    let bytes = ObjectId(0);
    let copies = random.below(2) == 0;
    let mut held = Vec::new();
    let mut effects = Vec::new();
    for at in 0..4 {
        let index = graph.number(at, 32);
        held.push(graph.entry(bytes, index, 8));
        let from_memory = graph.input(0, 2 + at as i64, 8);
        let value = if copies { from_memory } else { graph.number(random.bits(8), 8) };
        effects.push(Effect::Store { object: bytes, index, value });
    }
    let word = graph.concat(&held);
    let index = graph.number(0, 32);
    effects.push(Effect::Store { object: ObjectId(2), index, value: word });
    effects
}
