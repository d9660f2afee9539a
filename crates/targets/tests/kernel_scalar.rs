//! Lists of effects printed as statements, against what kernels mean.

#[path = "kernel/compile.rs"]
mod compile;
#[path = "kernel/effects.rs"]
mod effects;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/random.rs"]
mod random;

use compile::{array, compilers, run, shown};
use effects::{Case, case, objects};
use headrace_targets::c::kernel::{Names, element_type, prelude, statements, tables};
use headrace_transform::kernel::evaluate::{self, World};
use headrace_transform::kernel::{Effect, Graph, Object, ObjectId, TableId};
use random::Random;
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

const OUTPUTS: usize = 24;

/// Numbers of a width as an array initialiser, also for compilers without integers of 128 bits.
fn initial(values: &[u128], width: u32) -> String {
    if width <= 64 {
        return array(values);
    }
    let pair = |value: &u128| format!("HR_PAIR128({:#x}ull, {:#x}ull)", value >> 64, *value as u64);
    format!("{{{}}}", values.iter().map(pair).collect::<Vec<_>>().join(","))
}

/// A value of a width as one of 128 bits.
fn wide(width: u32, text: &str) -> String {
    if width > 64 { text.to_owned() } else { format!("hr_wide128({text})") }
}

/// One function a case, and a line of numbers for each: tokens of all outputs, then elements that live on.
fn program(cases: &[(Case, World)]) -> String {
    let mut text = prelude();
    text.insert_str(0, "#include <stdio.h>\n");
    text.push_str("static void show(u128 v)\n{\n  printf(\"%llx.%llx \", (unsigned long long)hr_bits128(v, 64), (unsigned long long)hr_bits128(v, 0));\n}\n");
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
        let tables = tables(&case.graph, &Effect::roots(&case.effects), &Plain);
        text.push_str(&tables);
        text.push_str(&statements(&case.graph, &case.objects, &case.effects, &Plain, 1));
        text.push_str("}\n");
        let _ = writeln!(main, "  {{\n    struct s{i} s = {{");
        for (at, _) in &kept {
            let _ = writeln!(main, "      {},", initial(&world.objects[*at], case.objects[*at].width));
        }
        main.push_str("    };\n");
        let mut arguments = String::from("&s");
        for (port, &width) in PORTS.iter().enumerate() {
            let name = element_type(width);
            let _ = writeln!(main, "    static const {name} in{port}[] = {};", initial(&world.inputs[port], width));
            let _ = writeln!(main, "    static {name} out{port}[{OUTPUTS}];");
            let _ = write!(arguments, ", in{port}, out{port}");
        }
        let _ = writeln!(main, "    f{i}({arguments});");
        for (port, &width) in PORTS.iter().enumerate() {
            let shown = wide(width, &format!("out{port}[i]"));
            let _ = writeln!(main, "    for (int i = 0; i < {OUTPUTS}; i++) show({shown});");
        }
        for (_, object) in &kept {
            let shown = wide(object.width, &format!("s.{}[i]", object.name));
            let _ = writeln!(main, "    for (int i = 0; i < {}; i++) show({shown});", object.length);
        }
        main.push_str("    puts(\"\");\n  }\n");
    }
    text + &main + "}\n"
}

/// Some numbers in all ports and elements.
fn world(random: &mut Random, objects: &[Object]) -> World {
    let mut world = World {
        inputs: PORTS.iter().map(|&width| (0..20).map(|_| random.bits(width)).collect()).collect(),
        consumed: vec![0; PORTS.len()],
        outputs: vec![Vec::new(); PORTS.len()],
        objects: Vec::new(),
    };
    for object in objects {
        let elements = (0..object.length).map(|_| if object.persistent { random.bits(object.width) } else { 0 });
        world.objects.push(elements.collect());
    }
    world
}

/// Holds what is printed for cases against what they mean.
fn check(cases: &[(Case, World)], batch: &str) {
    let program = program(cases);
    // The second time as for processors whose compilers have no integers of 128 bits.
    let halves = |compiler| [(compiler, "-DWITH"), (compiler, "-U__SIZEOF_INT128__")];
    for (compiler, halves) in compilers().into_iter().flat_map(halves) {
        let flags = [
            halves,
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
                "{batch}, case {i}, {compiler} {halves}\n{}",
                statements(&case.graph, &case.objects, &case.effects, &Plain, 1)
            );
        }
    }
}

#[test]
fn random_effects_do_what_they_mean() {
    for batch in 0..2_u64 {
        let mut random = Random::new(batch + 1);
        let mut cases = Vec::new();
        while cases.len() < 80 {
            let case = case(&mut random, PORTS);
            let world = world(&mut random, &case.objects);
            cases.push((case, world));
        }
        check(&cases, &format!("batch {batch}"));
    }
}

/// A block of sixteen bytes, of which `n_bytes` come from a port, behind `skipped` known ones.
fn filled(random: &mut Random, skipped: u8, n_bytes: u8) -> Case {
    let mut graph = Graph::new();
    let stores = (0..16_u8).map(|at| {
        let index = graph.number(u128::from(at), 32);
        let value = match (skipped..skipped + n_bytes).contains(&at) {
            true => graph.input(0, 3 + i64::from(at - skipped), 8),
            false => graph.number(random.bits(8), 8),
        };
        Effect::Store { object: ObjectId(0), index, value }
    });
    let effects: Vec<Effect> = stores.collect();
    Case { graph, objects: objects(), effects }
}

#[test]
fn bytes_with_known_ones_around_are_one_store() {
    let mut random = Random::new(7);
    let mut cases = Vec::new();
    for n_bytes in 4..16 {
        for skipped in 0..=16 - n_bytes {
            let case = filled(&mut random, skipped, n_bytes);
            let text = statements(&case.graph, &case.objects, &case.effects, &Plain, 0);
            assert_eq!(text.lines().count(), 1, "{text}");
            let world = world(&mut random, &case.objects);
            cases.push((case, world));
        }
    }
    check(&cases, "filled blocks");
}
