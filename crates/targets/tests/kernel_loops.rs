//! Loops printed for vectors, against what they mean: any number of iterations, pointers that are not aligned.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/compile.rs"]
mod compile;
#[path = "kernel/loops.rs"]
mod loops;
#[path = "kernel/random.rs"]
mod random;

use compile::{array, compilers, run};
use headrace_targets::c::kernel::{
    Alone, CFunction, LoopNames, Machine, NotApplicable, Strategy, Support, bitslice, element_type, lanes, machine,
    prelude, print_best, print_loop, sequential, tables, with_copies, with_sums,
};
use headrace_transform::kernel::Loop;
use headrace_transform::kernel::evaluate::{World, run_loop};
use headrace_transform::passes::extract_reductions::extract_reductions;
use headrace_transform::passes::sink_copies::sink_copies;
use random::Random;
use std::fmt::Write as _;

struct Case {
    name: String,
    body: Loop,
}

/// The cases that can be printed for a machine, with their functions.
fn printed<'a>(cases: &'a [Case], machine: &Machine, print: Print) -> Vec<(usize, &'a Case, CFunction)> {
    let mut all = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let (function, state) = (format!("f{i}"), format!("struct s{i}"));
        match print(&case.body, machine, &LoopNames { function: &function, state: &state, names: &Alone(i) }) {
            Ok(function) => all.push((i, case, function)),
            Err(error) => println!("{} on {}: {}", case.name, machine.name, error.0),
        }
    }
    assert!(all.len() + 4 >= cases.len(), "{} of {} cases can be printed", all.len(), cases.len());
    all
}

const MOST: usize = 1100;

fn numbers_of_iterations(n_lanes: usize) -> Vec<usize> {
    vec![0, 1, 2, n_lanes - 1, n_lanes, n_lanes + 1, 2 * n_lanes + 3]
}

/// A hash of bytes, the same in C.
fn hash(value: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(value, |h, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

type Print = fn(&Loop, &Machine, &LoopNames) -> Result<CFunction, NotApplicable>;

/// Compares all cases on a machine; the lanes that a group may have.
fn compare(cases: &[(usize, &Case, CFunction)], machine: &Machine, group: usize, compiler: &str) {
    let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\n") + &prelude();
    text.push_str(
        "static unsigned long long hash(unsigned long long h, const void *p, size_t n)\n{\n  const unsigned char *c = p;\n  \
         while (n--) h = (h ^ *c++) * 0x100000001b3ull;\n  return h;\n}\n",
    );
    let mut support: Vec<Support> = Vec::new();
    let mut functions = String::new();
    let mut main = String::from("int main(void)\n{\n");
    let mut expected: Vec<(String, u64)> = Vec::new();
    let mut random = Random::new(77);
    for (i, case, printed) in cases {
        let body = &case.body;
        let state = format!("struct s{i}");
        let names = Alone(*i);
        for needed in &printed.support {
            if !support.contains(needed) {
                support.push(needed.clone());
            }
        }
        let _ = writeln!(functions, "{state} {{");
        for object in &body.objects {
            let _ = writeln!(functions, "  {} {}[{}];", element_type(object.width), object.name, object.length);
        }
        let _ = writeln!(functions, "}};");
        functions += &tables(&body.graph, &body.roots(), &names);
        functions += &printed.text;
        let elements: Vec<Vec<u128>> =
            body.objects.iter().map(|o| (0..o.length).map(|_| random.bits(o.width)).collect()).collect();
        let (n_in, n_out) = (body.consumes[0].0 as usize, body.produces[0].0 as usize);
        let tokens: Vec<u128> = (0..n_in * MOST).map(|i| (i * 7 + i / 256 * 3 + i / 9) as u128 & 255).collect();
        let initial: Vec<String> = elements.iter().map(|values| array(values)).collect();
        for n in numbers_of_iterations(group) {
            let mut world = World {
                inputs: vec![tokens.clone()],
                consumed: vec![0],
                outputs: vec![Vec::new()],
                objects: elements.clone(),
            };
            // What a call leaves behind is what the next one begins with.
            run_loop(body, &mut world, n as u64);
            run_loop(body, &mut world, 3);
            let mut h = hash(0xcbf2_9ce4_8422_2325, &world.outputs[0].iter().map(|&t| t as u8).collect::<Vec<_>>());
            for (object, values) in body.objects.iter().zip(&world.objects) {
                let bytes = match element_type(object.width) {
                    "uint8_t" => 1,
                    "uint16_t" => 2,
                    "uint32_t" => 4,
                    "uint64_t" => 8,
                    _ => 16,
                };
                for value in values {
                    h = hash(h, &value.to_le_bytes()[..bytes]);
                }
            }
            expected.push((format!("{} on {}, {n} iterations, {compiler}", case.name, machine.name), h));
            let _ = writeln!(
                main,
                "  {{ {state} s = {{{}}}; static unsigned char in[{}], out[{}]; size_t n = {n};\n    \
                 for (size_t i = 0; i < sizeof in - 1; i++) in[i + 1] = (unsigned char)(i * 7 + i / 256 * 3 + i / 9);\n    \
                 f{i}(&s, in + 1, out + 1, n); f{i}(&s, in + 1 + n * {n_in}, out + 1 + n * {n_out}, 3);\n    \
                 unsigned long long h = hash(0xcbf29ce484222325ull, out + 1, (n + 3) * {n_out});",
                initial.join(","),
                n_in * MOST + 1,
                n_out * MOST + 1
            );
            for object in &body.objects {
                let _ = writeln!(main, "    h = hash(h, s.{0}, sizeof s.{0});", object.name);
            }
            main.push_str("    printf(\"%llx\\n\", h); }\n");
        }
    }
    text.extend(support.iter().map(Support::text));
    text += &functions;
    text += &main;
    text.push_str("}\n");
    let flags =
        ["-O1", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-parameter", "-Wno-psabi"];
    let lines = run(compiler, &flags, &text);
    assert_eq!(lines.len(), expected.len());
    for ((name, hash), line) in expected.iter().zip(lines) {
        assert_eq!(line, format!("{hash:x}"), "{name}");
    }
}

/// Levels that this computer has.
fn machines() -> Vec<&'static Machine> {
    let has = |machine: &&Machine| {
        machine.features.iter().all(|feature| match feature.as_str() {
            "avx2" => std::is_x86_feature_detected!("avx2"),
            "bmi" => std::is_x86_feature_detected!("bmi1"),
            "bmi2" => std::is_x86_feature_detected!("bmi2"),
            "avx512f" => std::is_x86_feature_detected!("avx512f"),
            "avx512bw" => std::is_x86_feature_detected!("avx512bw"),
            "avx512vl" => std::is_x86_feature_detected!("avx512vl"),
            "avx512dq" => std::is_x86_feature_detected!("avx512dq"),
            "avx512vbmi" => std::is_x86_feature_detected!("avx512vbmi"),
            "avx512ifma" => std::is_x86_feature_detected!("avx512ifma"),
            "gfni" => std::is_x86_feature_detected!("gfni"),
            _ => false,
        })
    };
    machine::levels().iter().filter(has).collect()
}

fn shapes(random: &mut Random) -> Vec<Case> {
    let case = |name: &str, body| Case { name: name.into(), body };
    vec![
        case("rotating", loops::rotating(4)),
        case("feistel", loops::feistel(random, 3)),
        case("substitution", loops::substitution(2, false)),
        case("substitution in counter mode", loops::substitution(2, true)),
        case("waiting", loops::waiting(24)),
        case("delayed", loops::delayed(1)),
        case("counting", loops::counting()),
        case("overflowing", loops::overflowing()),
    ]
}

#[test]
fn lanes_do_what_loops_mean() {
    let mut random = Random::new(5);
    let mut cases = shapes(&mut random);
    for i in 0..10 {
        let n_input = random.of(&[1, 4, 8, 12, 16, 64]);
        cases.push(Case { name: format!("random {i}"), body: loops::random_loop(&mut random, n_input, 64, 256) });
    }
    for machine in machines() {
        let cases = printed(&cases, machine, lanes);
        for compiler in compilers() {
            compare(&cases, machine, 16, compiler);
        }
    }
}

#[test]
fn bits_do_what_loops_mean() {
    let mut random = Random::new(6);
    let mut cases = shapes(&mut random);
    cases.remove(0);
    for i in 0..4 {
        let n_input = random.of(&[1, 4, 8, 12, 16]);
        cases.push(Case { name: format!("random {i}"), body: loops::random_loop(&mut random, n_input, 48, 16) });
    }
    for machine in machines() {
        let cases = printed(&cases, machine, bitslice);
        for compiler in compilers() {
            compare(&cases, machine, machine.vector_bits as usize, compiler);
        }
    }
}

#[test]
fn pieces_do_what_loops_mean() {
    let pieces = [(16, 3, 4), (16, 4, 3), (2, 5, 5), (7, 1, 1), (4, 6, 2), (3, 8, 9)];
    let case = |(n, from, to)| Case { name: format!("{n} times {from} to {to}"), body: loops::in_pieces(n, from, to) };
    let cases = pieces.map(case);
    for machine in machines() {
        let cases = printed(&cases, machine, |body, machine, names| {
            let printed = print_loop(body, machine, Strategy::Pieces, names);
            Ok(printed.unwrap_or_else(|error| panic!("{}", error.0)))
        });
        for compiler in compilers() {
            compare(&cases, machine, machine.vector_bits as usize / 8, compiler);
        }
    }
}

#[test]
fn sums_that_were_taken_out_do_what_loops_mean() {
    let bits = [(64, true), (6, true), (12, false)]
        .into_iter()
        .flat_map(|(bits, periodic)| [false, true].map(|before| (bits, periodic, before)));
    let cases: Vec<Case> = bits
        .map(|(bits, periodic, before)| {
            let body = loops::summed(bits, periodic, before);
            let copied = sink_copies(&body);
            assert_eq!(copied.as_ref().map_or(0, |split| split.copied.len()), usize::from(before));
            let split = extract_reductions(copied.as_ref().map_or(&body, |split| &split.body))
                .expect("all that is carried is a sum");
            assert_eq!(split.running[0].before, before);
            assert_eq!((split.running.len(), split.totals.len()), (1, 1));
            assert_eq!(split.running[0].period.is_some(), periodic, "{bits} bits");
            Case { name: format!("sums by a counter of {bits} bits, {before}"), body }
        })
        .collect();
    // Totals are wider on machines of 512 bits; all others are the same.
    for machine in machines().into_iter().filter(|machine| ["v128", "avx512"].contains(&machine.name.as_str())) {
        let cases = printed(&cases, machine, |body, machine, names| {
            let copied = sink_copies(body);
            let left = copied.as_ref().map_or(body, |copied| &copied.body);
            let split = extract_reductions(left).ok_or_else(|| NotApplicable("no sums".into()))?;
            let [first, sums] = ["first", "sums"].map(|name| format!("{}_{name}", names.function));
            let first = sequential(&split.independent, &LoopNames { function: &first, ..*names });
            match copied {
                None => Ok(with_sums(&split, &first, None, machine, names)),
                Some(copied) => {
                    let sums = with_sums(&split, &first, None, machine, &LoopNames { function: &sums, ..*names });
                    Ok(with_copies(&copied, &sums, names))
                }
            }
        });
        for compiler in compilers() {
            compare(&cases, machine, 300, compiler);
        }
    }
}

#[test]
fn iterations_that_differ_from_piece_to_piece_stay_whole() {
    let machine = machine::of_width(128).expect("there is one");
    let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
    let splits = |body: &Loop| print_loop(body, machine, Strategy::Pieces, &names).is_ok();
    assert!(splits(&loops::in_pieces(4, 3, 4)));
    // The last token of a piece changed, and a value that is kept of it in another way.
    let mut other = loops::in_pieces(4, 3, 4);
    let last = other.outputs.len() - 1;
    other.outputs[last].2 = other.graph.not(other.outputs[last].2);
    assert!(!splits(&other));
    let mut other = loops::in_pieces(4, 3, 4);
    other.carried[0].next = other.graph.not(other.carried[0].next);
    assert!(!splits(&other));
    assert!(!splits(&loops::chained()) && !splits(&loops::counting()) && !splits(&loops::delayed(1)));
}

#[test]
fn distributed_loops_do_what_loops_mean() {
    let cases = [1, 8].map(|rounds| {
        let body = loops::masked_and_summed(rounds);
        Case { name: format!("{rounds} rounds beside sums"), body }
    });
    for machine in machines() {
        let cases = printed(&cases, machine, |body, machine, names| {
            let printed = print_loop(body, machine, Strategy::Distributed, names);
            Ok(printed.unwrap_or_else(|error| panic!("{}", error.0)))
        });
        for compiler in compilers() {
            compare(&cases, machine, 520, compiler);
        }
    }
    let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
    assert!(
        print_loop(&loops::chained(), machine::of_width(128).expect("there is one"), Strategy::Distributed, &names)
            .is_err()
    );
    assert_eq!(
        print_best(
            &loops::masked_and_summed(20),
            machine::named("avx2").unwrap_or(machine::of_width(128).expect("there is one")),
            &names
        )
        .0,
        Strategy::Distributed
    );
}

#[test]
fn tables_in_registers_do_what_loops_mean() {
    let cases = [(1, false), (3, false), (3, true)].map(|(rounds, counter)| {
        let body = loops::beside(rounds, counter);
        Case { name: format!("{rounds} rounds of bytes beside each other"), body }
    });
    for machine in machines().into_iter().filter(|machine| machine.chooses_bytes()) {
        let cases = printed(&cases, machine, |body, machine, names| {
            let printed = print_loop(body, machine, Strategy::Registers, names);
            Ok(printed.unwrap_or_else(|error| panic!("{}", error.0)))
        });
        for compiler in compilers() {
            compare(&cases, machine, 64, compiler);
        }
    }
}

#[test]
fn byte_planes_do_what_loops_mean() {
    let cases = [1, 4].map(|rounds| {
        let name = format!("{rounds} rounds with tables that are known late");
        Case { name, body: loops::late_tables(rounds) }
    });
    for machine in machines().into_iter().filter(|machine| machine.chooses_bytes()) {
        let cases = printed(&cases, machine, |body, machine, names| {
            let printed = print_loop(body, machine, Strategy::BytePlanes, names);
            Ok(printed.unwrap_or_else(|error| panic!("{}", error.0)))
        });
        for compiler in compilers() {
            compare(&cases, machine, 64, compiler);
        }
    }
}

/// What lanes do one by one stands in loops over their number; tables are read where they are filled, and whole.
#[test]
fn byte_planes_read_no_memory_at_their_indices() {
    let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
    let body = loops::late_tables(4);
    for machine in machine::levels() {
        match print_loop(&body, machine, Strategy::BytePlanes, &names) {
            Ok(printed) => {
                let n_lanes = machine.vector_bits / 8;
                assert!(machine.chooses_bytes() && !printed.text.contains(&format!("i < {n_lanes};")));
            }
            Err(_) => assert!(!machine.chooses_bytes()),
        }
    }
    // Where nothing is known late, nothing is filled.
    let avx2 = machine::named("avx2").unwrap_or_else(|| panic!("there is one"));
    assert!(print_loop(&loops::substitution(2, false), avx2, Strategy::BytePlanes, &names).is_err());
}

#[test]
fn tables_in_registers_read_no_memory_at_their_indices() {
    let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
    let body = loops::beside(3, false);
    for machine in machine::levels() {
        match print_loop(&body, machine, Strategy::Registers, &names) {
            // Elements of tables are named where they are defined, and where registers are loaded with whole tables.
            Ok(printed) => assert!(machine.chooses_bytes() && !printed.text.contains("table0[v")),
            Err(_) => assert!(!machine.chooses_bytes()),
        }
    }
    // Inversion is found in its table, and takes shuffles of nibbles.
    let avx2 = machine::named("avx2").unwrap_or(machine::of_width(128).expect("there is one"));
    let printed = lanes(&loops::substitution(2, false), avx2, &names);
    let printed = printed.unwrap_or_else(|error| panic!("{}", error.0));
    assert!(
        printed
            .support
            .iter()
            .any(|support| ["inverse", "_mm256_shuffle_epi8"].iter().all(|part| support.text().contains(part)))
    );
}

#[test]
fn layers_do_what_loops_mean() {
    let mut random = Random::new(8);
    let shapes = [(64, 8, 2), (64, 64, 3), (16, 8, 3), (40, 32, 1), (32, 16, 2), (8, 8, 10)];
    let mut case = |(n, width, n_rounds)| Case {
        name: format!("{n_rounds} rounds of {n} bytes in {width} bits"),
        body: loops::in_layers(&mut random, n, width, n_rounds),
    };
    let cases = shapes.map(&mut case);
    for machine in machines().into_iter().filter(|machine| machine.byte_permute && machine.affine) {
        let cases = printed(&cases, machine, |body, machine, names| {
            let printed = print_loop(body, machine, Strategy::Layers, names);
            Ok(printed.unwrap_or_else(|error| panic!("{}", error.0)))
        });
        for compiler in compilers() {
            compare(&cases, machine, 3, compiler);
        }
    }
}

#[test]
fn layers_are_of_bytes() {
    let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
    let can = |body: &Loop| {
        print_loop(body, machine::for_affine_maps().expect("there is one"), Strategy::Layers, &names).is_ok()
    };
    let mut random = Random::new(9);
    assert!(can(&loops::in_layers(&mut random, 16, 8, 2)));
    // Sums with carries, and bytes beyond a register.
    assert!(!can(&loops::chained()) && !can(&loops::in_layers(&mut random, 72, 8, 2)));
    // Doubled bytes are mapped and not looked up another time.
    let printed = print_loop(
        &loops::in_layers(&mut random, 16, 8, 2),
        machine::for_affine_maps().expect("there is one"),
        Strategy::Layers,
        &names,
    );
    assert_eq!(printed.map_or(0, |printed| printed.text.matches("HR_BYTES_OF").count()), 2);
}

#[test]
fn iterations_do_what_loops_mean() {
    let mut random = Random::new(7);
    let mut cases = shapes(&mut random);
    cases.push(Case { name: "chained".into(), body: loops::chained() });
    for i in 0..10 {
        let n_input = random.of(&[1, 4, 8, 12, 16]);
        cases.push(Case { name: format!("random {i}"), body: loops::random_loop(&mut random, n_input, 128, 256) });
    }
    let machine = machine::of_width(128).expect("there is one");
    let cases = printed(&cases, machine, |body, _, names| Ok(sequential(body, names)));
    for compiler in compilers() {
        compare(&cases, machine, 4, compiler);
    }
}

#[test]
fn the_best_way_is_one_that_can_be_taken() {
    let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
    let best = |body: &Loop, level: &str| {
        print_best(body, machine::named(level).unwrap_or(machine::of_width(128).expect("there is one")), &names).0
    };
    assert_eq!(best(&loops::rotating(12), "avx512"), Strategy::Lanes);
    // Where bytes are chosen from whole tables in registers, that is faster than circuits for them.
    assert_eq!(best(&loops::substitution(10, true), "avx2"), Strategy::Bits);
    assert_eq!(best(&loops::substitution(10, true), "avx512"), Strategy::Lanes);
    assert_eq!(best(&loops::chained(), "avx512"), Strategy::Sequential);
    assert_eq!(best(&loops::in_pieces(16, 3, 4), "avx512"), Strategy::Pieces);
}

/// Cycles per byte of some loops, for those who work on them: `cargo test --release -- --ignored --nocapture cycles`.
#[test]
#[ignore = "a measurement"]
fn cycles() {
    let mut random = Random::new(9);
    let cases: Vec<(&str, Loop, Print)> = vec![
        ("rotating, 12 rounds", loops::rotating(12), lanes as Print),
        ("feistel, 16 rounds", loops::feistel(&mut random, 16), bitslice),
        ("substitution, 10 rounds", loops::substitution(10, false), bitslice),
        ("the same, counters", loops::substitution(10, true), bitslice),
        ("the same, counters, in lanes", loops::substitution(10, true), lanes),
    ];
    for machine in machines() {
        for (name, body, print) in &cases {
            for compiler in compilers() {
                let names = LoopNames { function: "f", state: "struct s", names: &Alone(0) };
                let started = std::time::Instant::now();
                let printed = match print(body, machine, &names) {
                    Ok(printed) => printed,
                    Err(error) => {
                        println!("{name:28} {:10} {}", machine.name, error.0);
                        continue;
                    }
                };
                let took = started.elapsed();
                let mut text = String::from("#include <stdio.h>\n#include <x86intrin.h>\n") + &prelude();
                text.extend(printed.support.iter().map(Support::text));
                text.push_str("struct s {\n");
                for object in &body.objects {
                    let _ = writeln!(text, "  {} {}[{}];", element_type(object.width), object.name, object.length);
                }
                text.push_str("};\n");
                text += &tables(&body.graph, &body.roots(), &Alone(0));
                text += &printed.text;
                let (n_in, n_out) = (body.consumes[0].0 as usize, body.produces[0].0 as usize);
                let n = 16384 / n_in;
                let _ = writeln!(
                    text,
                    "static unsigned char in[16384] __attribute__((aligned(64))), out[{}] __attribute__((aligned(64)));\n\
                     int main(void) {{ struct s s = {{0}}; unsigned long long best = ~0ull;\n\
                     for (int i = 0; i < 16384; i++) in[i] = (unsigned char)(i * 7);\n\
                     for (int i = 0; i < 2000; i++) {{ unsigned long long t = __rdtsc(); f(&s, in, out, {n}); \
                     t = __rdtsc() - t; if (t < best) best = t; }}\n\
                     printf(\"%.3f\\n\", best / 16384.0); }}",
                    n * n_out + 64
                );
                let lines_of_text = printed.text.lines().count();
                let started = std::time::Instant::now();
                let lines = run(compiler, &["-O2", "-std=gnu11", "-Wno-psabi"], &text);
                println!(
                    "{name:28} {:10} {compiler:6} {} cycles/byte; {lines_of_text} lines, printed in {:.2} s, compiled and run in {:.2} s",
                    machine.name,
                    lines[0],
                    took.as_secs_f64(),
                    started.elapsed().as_secs_f64()
                );
            }
        }
    }
    let _ = random.next();
}
