//! Lists of effects printed as statements, against what kernels mean.

#[path = "kernel/compile.rs"]
mod compile;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/random.rs"]
mod random;

use compile::{array, compilers, run, shown};
use headrace_targets::c::kernel::{Names, element_type, prelude, statements, tables};
use headrace_transform::kernel::evaluate::{self, World};
use headrace_transform::kernel::{Effect, Graph, NodeId, Object, ObjectId, TableId};
use random::{Grower, Random};
use std::fmt::Write as _;

/// Bits of tokens of the input ports; the first lies in memory as bytes.
const PORTS: &[u32] = &[8, 1, 32, 64, 128];

struct Plain;

impl Names for Plain {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("in{port}[{offset}]")
    }
    fn input_bytes(&self, port: u32, offset: i64, _n: u32) -> Option<String> {
        (port == 0).then(|| format!("in{port} + {offset}"))
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        format!("out{port}[{offset}] = {value};")
    }
    fn output_bytes(&self, port: u32, offset: u64, _n: u32) -> Option<String> {
        (port == 0).then(|| format!("out{port} + {offset}"))
    }
    fn element(&self, object: &Object, index: &str) -> String {
        format!("s->{}[{index}]", object.name)
    }
    fn check(&self, condition: &str, _index: &str, _length: usize, _span: headrace_source::Span) -> String {
        format!("if (!({condition})) return;")
    }
    fn table(&self, table: TableId) -> String {
        format!("table{}", table.0)
    }
}

struct Case {
    graph: Graph,
    objects: Vec<Object>,
    effects: Vec<Effect>,
}

fn objects() -> Vec<Object> {
    let object = |name: &str, width, length, persistent| Object { name: name.into(), width, length, persistent };
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
                let port = random.below(PORTS.len() as u64) as u32;
                let value = grower.some(random, PORTS[port as usize]);
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
                effects.push(Effect::While { before, condition, body });
            }
            _ => {}
        }
    }
    effects
}

fn effects_inside(random: &mut Random, grower: &mut Grower, depth: u32, next_load: &mut u32, n: u64) -> Vec<Effect> {
    effects(random, grower, depth + 1, next_load, n)
}

fn case(random: &mut Random) -> Case {
    let objects = objects();
    let mut graph = Graph::new();
    let mut grower =
        Grower { graph: &mut graph, objects: &objects, ports: PORTS, known: Vec::new(), tables: Vec::new() };
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

#[test]
fn bytes_that_move_together_are_copied_in_one_piece() {
    let mut graph = Graph::new();
    let stores = (0..9_u8).map(|at| {
        let index = graph.number(u128::from(at), 32);
        let value = graph.input(0, i64::from(at + at / 8), 8);
        Effect::Store { object: ObjectId(0), index, value }
    });
    let effects: Vec<Effect> = stores.collect();
    let text = statements(&graph, &objects(), &effects, &Plain, 0);
    assert_eq!(text, "memcpy(&s->bytes[0], in0 + 0, 8);\ns->bytes[8] = (uint8_t)in0[9];\n");
}

fn roots(effects: &[Effect]) -> Vec<NodeId> {
    let mut roots = Vec::new();
    Effect::walk(effects, &mut |effect| roots.extend(effect.uses()));
    roots
}

const OUTPUTS: usize = 24;

/// One function a case, and a line of numbers for each: tokens of all outputs, then elements that live on.
fn program(cases: &[(Case, World)]) -> String {
    let mut text = prelude();
    text.insert_str(0, "#include <stdio.h>\n");
    text.push_str("static void show(u128 v)\n{\n  printf(\"%llx.%llx \", (unsigned long long)(v >> 64), (unsigned long long)v);\n}\n");
    let mut main = String::from("int main(void)\n{\n");
    for (i, (case, world)) in cases.iter().enumerate() {
        let _ = writeln!(text, "struct s{i} {{");
        let kept: Vec<(usize, &Object)> = case.objects.iter().enumerate().filter(|pair| pair.1.persistent).collect();
        for (_, object) in &kept {
            let _ = writeln!(text, "  {} {}[{}];", element_type(object.width), object.name, object.length);
        }
        let _ = writeln!(text, "}};");
        let _ = write!(text, "static void f{i}(struct s{i} *s");
        for (port, &width) in PORTS.iter().enumerate() {
            let _ = write!(text, ", const {0} *in{port}, {0} *out{port}", element_type(width));
        }
        text.push_str(")\n{\n");
        let tables = tables(&case.graph, &roots(&case.effects), &Plain);
        text.push_str(&tables);
        text.push_str(&statements(&case.graph, &case.objects, &case.effects, &Plain, 1));
        text.push_str("}\n");
        let _ = writeln!(main, "  {{\n    struct s{i} s = {{");
        for (at, _) in &kept {
            let _ = writeln!(main, "      {},", array(&world.objects[*at]));
        }
        main.push_str("    };\n");
        let mut arguments = String::from("&s");
        for (port, &width) in PORTS.iter().enumerate() {
            let name = element_type(width);
            let _ = writeln!(main, "    static const {name} in{port}[] = {};", array(&world.inputs[port]));
            let _ = writeln!(main, "    static {name} out{port}[{OUTPUTS}];");
            let _ = write!(arguments, ", in{port}, out{port}");
        }
        let _ = writeln!(main, "    f{i}({arguments});");
        for port in 0..PORTS.len() {
            let _ = writeln!(main, "    for (int i = 0; i < {OUTPUTS}; i++) show(out{port}[i]);");
        }
        for (_, object) in &kept {
            let _ = writeln!(main, "    for (int i = 0; i < {}; i++) show(s.{}[i]);", object.length, object.name);
        }
        main.push_str("    puts(\"\");\n  }\n");
    }
    text + &main + "}\n"
}

#[test]
fn random_effects_do_what_they_mean() {
    for batch in 0..2_u64 {
        let mut random = Random::new(batch + 1);
        let mut cases = Vec::new();
        while cases.len() < 80 {
            let case = case(&mut random);
            let mut world = World {
                inputs: PORTS.iter().map(|&width| (0..20).map(|_| random.bits(width)).collect()).collect(),
                consumed: vec![0; PORTS.len()],
                outputs: vec![Vec::new(); PORTS.len()],
                objects: Vec::new(),
            };
            for object in &case.objects {
                let elements =
                    (0..object.length).map(|_| if object.persistent { random.bits(object.width) } else { 0 });
                world.objects.push(elements.collect());
            }
            cases.push((case, world));
        }
        let program = program(&cases);
        for compiler in compilers() {
            let flags = [
                "-O0",
                "-std=c11",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-Wno-unused",
                "-Wno-unused-parameter",
                "-Wno-tautological-compare",
                "-Wno-type-limits",
                "-fsanitize=undefined",
                "-fsanitize-undefined-trap-on-error",
            ];
            let lines = run(compiler, &flags, &program);
            assert_eq!(lines.len(), cases.len());
            for (i, ((case, world), line)) in cases.iter().zip(lines).enumerate() {
                let mut world = world.clone();
                assert!(evaluate::run(&case.graph, &case.effects, &mut world, &mut 100_000));
                let mut expected = String::new();
                for tokens in &world.outputs {
                    for at in 0..OUTPUTS {
                        expected += &(shown(tokens.get(at).copied().unwrap_or(0)) + " ");
                    }
                }
                for (object, elements) in case.objects.iter().zip(&world.objects) {
                    if object.persistent {
                        elements.iter().for_each(|&element| expected += &(shown(element) + " "));
                    }
                }
                assert_eq!(
                    line,
                    expected,
                    "batch {batch}, case {i}, {compiler}\n{}",
                    statements(&case.graph, &case.objects, &case.effects, &Plain, 1)
                );
            }
        }
    }
}
