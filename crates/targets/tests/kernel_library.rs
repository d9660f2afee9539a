//! Loops of the library's networks, printed in every way and held to what they mean.
//!
//! `HEADRACE_LOOPS="rc5 ecb-encrypt des ecb-encrypt"` names other operations (`aes128 ctr:boolean` a variant),
//! `HEADRACE_WAYS="bits"` other ways than all; `HEADRACE_ROOT` is one more source root with operations, and
//! `--nocapture` shows what each way takes.

#[path = "kernel/compile.rs"]
mod compile;
#[path = "kernel/operations.rs"]
mod operations;

use compile::{array, compilers, run};
use headrace_instructions::{choice, descriptions};
use headrace_source::Span;
use headrace_targets::c::kernel::{
    Alone, CFunction, LoopNames, Machine, Memo, Names, ON_TRIAL, POWERS_BYTES, Strategy, blocks_with_held,
    element_type, machine, portable_recurrence, prelude, print_loop, recurrence, sequential, short_trip, stitched,
    tables, with_sums,
};
use headrace_targets::c::{Emission, Options, emit_with};
use headrace_transform::kernel::evaluate::{World, run_loop};
use headrace_transform::kernel::{Loop, Object, TableId};
use headrace_transform::passes::distribute_recurrence::distribute_recurrence;
use headrace_transform::passes::extract_reductions::{Reductions, extract_reductions};
use headrace_transform::passes::select_instructions::select_in_loop;
use headrace_transform::passes::sink_copies::sink_copies;
use operations::{fused, loops};
use std::fmt::Write as _;

/// Runs `n` iterations of a printed loop and prints tokens and elements; then measures.
fn check(name: &str, body: &Loop, machine: &Machine, strategy: &str, printed: &CFunction, compiler: &str) {
    let used: Vec<usize> = (0..body.consumes.len()).filter(|&port| body.consumes[port].0 > 0).collect();
    let made: Vec<usize> = (0..body.produces.len()).filter(|&port| body.produces[port].0 > 0).collect();
    let n = 2 * machine.vector_bits as usize + 3;
    let mut world = World {
        inputs: body.consumes.iter().map(|_| Vec::new()).collect(),
        consumed: vec![0; body.consumes.len()],
        outputs: vec![Vec::new(); body.produces.len()],
        objects: Vec::new(),
    };
    let mut seed = 1_u64;
    let mut next = |width: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (u128::from(seed >> 11) << 64 | u128::from(seed ^ seed >> 29)) & headrace_transform::kernel::graph::mask(width)
    };
    for &port in &used {
        let (tokens, width) = body.consumes[port];
        world.inputs[port] = (0..n * tokens as usize).map(|_| next(width)).collect();
    }
    world.objects = body.objects.iter().map(|o| (0..o.length).map(|_| next(o.width)).collect()).collect();
    let mut text = String::from("#include <stdio.h>\n#include <x86intrin.h>\n") + &prelude();
    printed.support.iter().for_each(|needed| text += needed.text());
    text.push_str("struct s {\n");
    for object in &body.objects {
        let _ = writeln!(text, "  {} {}[{}];", element_type(object.width), object.name, object.length);
    }
    let _ = writeln!(text, "  uint8_t kept_powers[{POWERS_BYTES}];\n  uint8_t n_kept[1];\n}};");
    text += &tables(&body.graph, &body.roots(), &Alone(0));
    text += &printed.text;
    text.push_str(
        "static void show(u128 v) { printf(\"%llx.%llx \", (unsigned long long)(v >> 64), (unsigned long long)v); }\n",
    );
    let mut arguments = String::from("&s");
    for &port in &used {
        let _ = writeln!(
            text,
            "static const {} in{port}[] = {};",
            element_type(body.consumes[port].1),
            array(&world.inputs[port])
        );
        let _ = write!(arguments, ", in{port}");
    }
    for &port in &made {
        let _ = writeln!(
            text,
            "static {} out{port}[{}];",
            element_type(body.produces[port].1),
            n * body.produces[port].0 as usize
        );
        let _ = write!(arguments, ", out{port}");
    }
    text.push_str("int main(void)\n{\n  static struct s s = {\n");
    for elements in &world.objects {
        let _ = writeln!(text, "    {},", array(elements));
    }
    text.push_str("  };\n");
    // Few iterations may go another way than many.
    let mut done = 0;
    for iterations in [n - 10, 4, 3, 2, 1] {
        let of_ports = |array: &str, ports: &[usize], tokens: &[(u64, u32)]| -> String {
            ports.iter().map(|&port| format!(", {array}{port} + {}", done as u64 * tokens[port].0)).collect()
        };
        let pointers = of_ports("in", &used, &body.consumes) + &of_ports("out", &made, &body.produces);
        let _ = writeln!(text, "  f(&s{pointers}, {iterations});");
        done += iterations;
    }
    for &port in &made {
        let _ =
            writeln!(text, "  for (size_t i = 0; i < {}; i++) show(out{port}[i]);", n * body.produces[port].0 as usize);
    }
    for object in &body.objects {
        let _ = writeln!(text, "  for (size_t i = 0; i < {}; i++) show(s.{}[i]);", object.length, object.name);
    }
    let even = n - 3;
    let _ = writeln!(
        text,
        "  puts(\"\");\n  unsigned long long best = ~0ull;\n  for (int i = 0; i < 300; i++) {{\n    unsigned long long t = __rdtsc();\n    \
         f({arguments}, {even});\n    t = __rdtsc() - t;\n    if (t < best) best = t;\n  }}\n  printf(\"%.3f\\n\", (double)best / {even});\n}}"
    );
    let started = std::time::Instant::now();
    let lines = run(compiler, &["-O2", "-std=gnu11", "-Wno-psabi"], &text);
    let seconds = started.elapsed().as_secs_f64();
    run_loop(body, &mut world, n as u64);
    let mut expected = String::new();
    for &port in &made {
        world.outputs[port].iter().for_each(|&token| expected += &(compile::shown(token) + " "));
    }
    for elements in &world.objects {
        elements.iter().for_each(|&element| expected += &(compile::shown(element) + " "));
    }
    let bytes: u64 = used.iter().map(|&port| bytes_of(body.consumes[port])).max().unwrap_or(0);
    let measured: f64 = lines[1].parse().unwrap();
    println!(
        "{name} on {}: {}, {} lines, {} bytes, {compiler} {seconds:.1} s, {measured:.1} cycles an iteration (estimated {:.1}), {:.3} a byte",
        machine.name,
        strategy,
        printed.text.lines().count(),
        printed.text.len(),
        printed.cycles,
        measured / bytes.max(1) as f64
    );
    assert!(lines[0] == expected, "{name} on {}: {strategy} differs, {compiler}", machine.name);
}

/// Bytes of what is in the tokens of an iteration.
fn bytes_of((tokens, width): (u64, u32)) -> u64 {
    (tokens * u64::from(width)).div_ceil(8)
}

#[test]
fn loops_of_networks_do_what_they_mean() {
    let wanted = std::env::var("HEADRACE_LOOPS").unwrap_or_else(|_| "rc5 ecb-encrypt base64 decode".to_owned());
    let wanted: Vec<&str> = wanted.split_whitespace().collect();
    let levels = std::env::var("HEADRACE_LEVELS").unwrap_or_else(|_| "v128 avx512".to_owned());
    let ways = std::env::var("HEADRACE_WAYS").unwrap_or_else(|_| "sequential lanes bits".to_owned());
    let is_wanted = |strategy: &&Strategy| ways.split_whitespace().any(|way| way == strategy.name());
    let has = |machine: &&Machine| match machine.name.as_str() {
        "v128" => true,
        "avx2" => std::is_x86_feature_detected!("avx2"),
        _ => std::is_x86_feature_detected!("avx512vbmi"),
    };
    let machines: Vec<&Machine> = machine::levels()
        .iter()
        .filter(|machine| levels.split_whitespace().any(|level| level == machine.name))
        .filter(has)
        .collect();
    for pair in wanted.chunks(2) {
        let found = loops(pair[0], pair[1]);
        println!("{} {}: {} loops", pair[0], pair[1], found.len());
        for (i, body) in found.iter().enumerate() {
            for machine in &machines {
                for &strategy in Strategy::ALL.iter().filter(is_wanted) {
                    let name = format!("{} {} {i}", pair[0], pair[1]);
                    let printed = match print_loop(body, machine, strategy, &ON_TRIAL) {
                        Ok(printed) => printed,
                        Err(error) => {
                            println!("{name} on {}: no {}: {}", machine.name, strategy.name(), error.0);
                            continue;
                        }
                    };
                    for compiler in compilers() {
                        check(&name, body, machine, strategy.name(), &printed, compiler);
                    }
                }
            }
        }
    }
}

/// GHASH, written as 128 conditional steps, over blocks that it reads and over blocks that the loop makes.
#[test]
fn product_recurrences_are_taken_apart() {
    for (set, name) in [("ghash", "mac"), ("aes128-gcm", "aead-encrypt")] {
        let found = loops(set, name);
        let split: Vec<_> = found.iter().filter_map(|body| Some((body, distribute_recurrence(body)?))).collect();
        let most = split.iter().max_by_key(|(body, _)| body.produces.iter().map(|port| port.0).sum::<u64>());
        let Some((body, split)) = most else { panic!("{set} {name}: {} loops, none is split", found.len()) };
        let names = LoopNames { function: "first", ..ON_TRIAL };
        let first = sequential(&split.independent, &names);
        let Some(machine) = machine::named("v128") else { panic!("no machine v128") };
        let printed = portable_recurrence(split, &first, &ON_TRIAL).unwrap_or_else(|error| panic!("{}", error.0));
        for compiler in compilers() {
            check(&format!("{set} {name}"), body, machine, "portable", &printed, compiler);
        }
        for (bits, feature) in [(128, "v128"), (256, "avx2"), (512, "avx512")] {
            let wide = std::is_x86_feature_detected!("vpclmulqdq");
            let has_it = match bits {
                128 => std::is_x86_feature_detected!("pclmulqdq"),
                256 => wide && std::is_x86_feature_detected!("avx2"),
                _ => wide && std::is_x86_feature_detected!("avx512bw") && std::is_x86_feature_detected!("gfni"),
            };
            if !has_it {
                println!("not run: no carry-less multiplication of {bits} bits");
                continue;
            }
            let Some(machine) = machine::named(feature) else { panic!("no machine {feature}") };
            let (printed, _) =
                recurrence(split, &first, None, None, bits, &ON_TRIAL).unwrap_or_else(|error| panic!("{}", error.0));
            for compiler in compilers() {
                check(&format!("{set} {name}"), body, machine, "split", &printed, compiler);
            }
        }
    }
}

/// Both parts of a loop that was taken apart as one loop again, over blocks that it reads and over blocks that it makes.
#[test]
fn loops_taken_apart_are_stitched_together() {
    if !["vaes", "vpclmulqdq", "gfni", "avx512bw"].iter().all(|feature| has_feature(feature)) {
        println!("not run: no wide instructions");
        return;
    }
    let descriptions = descriptions().expect("all are usable");
    let choice = choice(&descriptions, |_| true).expect("all are taken");
    let Some(machine) = machine::named("avx512") else { panic!("no machine") };
    for name in ["aead-encrypt", "aead-decrypt"] {
        let found = loops("aes128-gcm", name);
        let split: Vec<_> = found.iter().filter_map(|body| Some((body, distribute_recurrence(body)?))).collect();
        let most = split.iter().max_by_key(|(body, _)| body.produces.iter().map(|port| port.0).sum::<u64>());
        let Some((body, split)) = most else { panic!("{name}: none is split") };
        let selected = select_in_loop(&split.independent, &[], &choice).expect("instructions are found").body;
        let named = |function| LoopNames { function, names: &WithPowers, ..ON_TRIAL };
        let first = sequential(&split.independent, &named("first"));
        let groups = stitched(split, &selected, &descriptions, 512, &named("groups"));
        let groups = groups.unwrap_or_else(|why| panic!("{name}: {}", why.0));
        assert!(groups.function.text.contains("HR_TIED("), "statements stand side by side");
        let few = short_trip(split, &selected, &descriptions, &named("few"));
        let few = few.unwrap_or_else(|why| panic!("{name}: {}", why.0));
        let parts = [&groups, &few].map(|part| Some(&part.function));
        let printed = recurrence(split, &first, parts[0], parts[1], 512, &named("f"));
        let (printed, _) = printed.unwrap_or_else(|why| panic!("{name}: {}", why.0));
        for compiler in compilers() {
            check(&format!("aes128-gcm {name}"), body, machine, "stitched", &printed, compiler);
        }
    }
}

/// A text that is hashed as it comes out of its key stream, though what is made of the hash is wanted last: no block of it
/// waits on its way, which would be a recurrence of its own.
#[test]
fn texts_do_not_wait_for_those_who_want_their_hash_last() {
    let found = loops("aes128-gcm-siv", "aead-decrypt");
    let mut texts = found.iter().filter(|body| body.produces.iter().any(|port| port.0 == 16));
    let split = texts.find_map(distribute_recurrence);
    assert!(split.is_some_and(|split| split.independent.is_independent()), "of {} loops", found.len());
}

/// Keys of messages are made of blocks that share nothing, and stolen ciphertext goes from block to block in a list: these
/// blocks, too, go through instructions.
#[test]
fn blocks_beside_long_texts_are_made_by_instructions() {
    for (set, operation, blocks) in [("aes128-gcm-siv", "aead-encrypt", 8), ("aes128-xts", "xts-encrypt", 3)] {
        let code = code_of(set, operation);
        let is_of_one = |line: &&str| line.trim_start().starts_with("const __m128i k");
        let last_rounds = code.lines().filter(is_of_one).filter(|line| line.contains("_mm_aesenclast_si128(")).count();
        assert!(last_rounds >= blocks, "{set} {operation}: {last_rounds}");
    }
}

/// Whether the processor has a feature.
fn has_feature(name: &str) -> bool {
    match name {
        "vaes" => std::is_x86_feature_detected!("vaes"),
        "vpclmulqdq" => std::is_x86_feature_detected!("vpclmulqdq"),
        "gfni" => std::is_x86_feature_detected!("gfni"),
        _ => std::is_x86_feature_detected!("avx512bw"),
    }
}

/// Names of a loop that stands alone, with powers that are kept: [`check`] has room for them.
struct WithPowers;

impl Names for WithPowers {
    fn input(&self, port: u32, offset: i64) -> String {
        Alone(0).input(port, offset)
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        Alone(0).output(port, offset, value)
    }
    fn element(&self, object: &Object, index: &str) -> String {
        Alone(0).element(object, index)
    }
    fn memo(&self, _multiplier: &Object) -> Option<Memo> {
        let object =
            |name: &str, length| Object { name: name.into(), width: 8, length, persistent: true, residue: None };
        Some(Memo { powers: object("kept_powers", POWERS_BYTES), known: object("n_kept", 1) })
    }
    fn table(&self, table: TableId) -> String {
        Alone(0).table(table)
    }
    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String {
        Alone(0).check(condition, index, length, span)
    }
}

/// A loop whose sums were taken out, with the rest in plain code and with instructions, in every compiler that is there.
fn check_sums(name: &str, body: &Loop, split: &Reductions) {
    assert!(split.independent.is_independent() && !body.is_independent());
    assert_eq!((split.running.len(), split.totals.len()), (1, 1), "{name}");
    let first = sequential(&split.independent, &LoopNames { function: "first", ..ON_TRIAL });
    for (level, feature) in [("v128", true), ("avx512", std::is_x86_feature_detected!("avx512vbmi"))] {
        if !feature {
            println!("not run: no {level}");
            continue;
        }
        let Some(machine) = machine::named(level) else { panic!("no machine {level}") };
        let printed = with_sums(split, &first, None, machine, &ON_TRIAL);
        for compiler in compilers() {
            check(&format!("aes128-ocb3 {name}"), body, machine, "sums", &printed, compiler);
        }
    }
    // Keys are made ready once for all steps; the sum that a step begins with is not.
    let descriptions = descriptions().expect("all are usable");
    let choice = choice(&descriptions, |_| true).expect("all are taken");
    let selected = select_in_loop(&split.independent, &[], &choice).expect("instructions are found").body;
    let changed = split.running.iter().map(|running| running.sum.object).collect();
    let named = LoopNames { function: "first", ..ON_TRIAL };
    for (bits, level) in [(256, "avx2"), (512, "avx512")] {
        let first = blocks_with_held(&selected, &descriptions, bits, &named, &changed);
        let first = first.unwrap_or_else(|why| panic!("{name}: {}", why.0));
        assert!(first.held > 0 && first.function.text.contains("= held_[0];"));
        let wide = bits == 256 || std::is_x86_feature_detected!("avx512vbmi");
        if !(std::is_x86_feature_detected!("vaes") && std::is_x86_feature_detected!("avx2") && wide) {
            println!("not run: no instructions of {bits} bits");
            continue;
        }
        let Some(machine) = machine::named(level) else { panic!("no machine {level}") };
        let printed = with_sums(split, &first.function, Some((bits, first.held)), machine, &ON_TRIAL);
        for compiler in compilers() {
            check(&format!("aes128-ocb3 {name}"), body, machine, "held", &printed, compiler);
        }
    }
}

/// The first of some loops whose sums can be taken out.
fn with_sums_out<'a>(mut some: impl Iterator<Item = &'a Loop>) -> (&'a Loop, Reductions) {
    some.find_map(|body| Some((body, extract_reductions(body)?))).expect("sums are taken out")
}

/// Sums of masks and of blocks, which are all that goes on from block to block, over blocks that are read and that are
/// made.
#[test]
fn sums_are_taken_apart() {
    for name in ["aead-encrypt", "aead-decrypt"] {
        let found = loops("aes128-ocb3", name);
        let texts = found.iter().filter(|body| body.produces.iter().any(|port| port.0 == 16));
        let (body, split) = with_sums_out(texts);
        assert_eq!(split.totals[0].is_output, name == "aead-decrypt");
        check_sums(name, body, &split);
    }
}

/// A sum of what is made of associated data, which are no tokens of the network: the independent part puts them out for the sum.
#[test]
fn sums_of_what_is_no_token_are_taken_apart() {
    let found = loops("aes128-ocb3", "aead-encrypt");
    let (body, split) = with_sums_out(found.iter().filter(|body| body.produces.iter().all(|port| port.0 == 0)));
    assert_eq!((split.n_outputs, split.totals[0].port), (body.produces.len(), body.produces.len()));
    check_sums("associated data", body, &split);
}

/// What is left over behind the last block moves where loops over whole blocks begin: offsets wait for an iteration in
/// FIFOs, and are still those that the actor that made them has.
#[test]
fn sums_that_wait_in_fifos_are_taken_apart() {
    let found = loops("aes128-ocb3", "aead-decrypt");
    let sums = found.iter().filter_map(|body| extract_reductions(&sink_copies(body)?.body)).collect::<Vec<_>>();
    assert!(sums.iter().any(|split| split.running[0].before && split.running[0].period.is_some()), "{}", sums.len());
}

/// S-boxes that depend on the key, and a matrix behind them, written byte by byte.
#[test]
fn functions_of_bytes_become_tables() {
    let found = loops("twofish128", "ecb-encrypt");
    let ways = [
        (Strategy::Tables, "v128"),
        (Strategy::BytePlanes, "avx2"),
        (Strategy::TableLanes, "avx512gfni"),
        (Strategy::BytePlanes, "avx512gfni"),
    ];
    for (strategy, level) in ways {
        let has_it = std::is_x86_feature_detected!("avx512vbmi") && std::is_x86_feature_detected!("gfni");
        if level == "avx512gfni" && !has_it {
            println!("not run: no permutations and affine maps of bytes");
            continue;
        }
        let Some(machine) = machine::named(level) else { panic!("no machine {level}") };
        for body in &found {
            let printed = print_loop(body, machine, strategy, &ON_TRIAL).unwrap_or_else(|error| panic!("{}", error.0));
            for compiler in compilers() {
                check("twofish128 ecb-encrypt", body, machine, strategy.name(), &printed, compiler);
            }
        }
    }
}

#[test]
fn code_that_is_too_long_loses_what_gains_least() {
    let (network, automaton) = fused("sha256", "hash");
    let made = |most_size: usize| {
        let options = Options { prefix: Some("x".into()), most_size, ..Options::default() };
        let emission = emit_with(&network, Some(&automaton), &options).unwrap_or_else(|all| panic!("{all:?}"));
        (emission.fused, emission.size, sources(&emission))
    };
    let has = |text: &str| ["_many_avx512x1(", "_blocks128(", "_steps_0("].map(|name| text.contains(name));
    let (is_fused, size, all) = made(usize::MAX);
    assert_eq!((is_fused, has(&all)), (true, [true; 3]));
    // Lanes of messages are long, and instructions for hashes short.
    let most = size - size / 4;
    let (is_fused, less, rest) = made(most);
    assert!(less <= most, "{less} of {most}");
    assert_eq!((is_fused, has(&rest)), (true, [false, true, true]));
}

/// The most values of the last function of a text that are there at once.
fn most_values(text: &str) -> usize {
    let start = text.rfind("static void f_call").unwrap_or_else(|| panic!("no calls"));
    let body = text[start..].split("\n}\n").next().unwrap_or_default();
    let lines: Vec<Vec<&str>> = body
        .lines()
        .map(|line| {
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| is_value(word)).collect()
        })
        .collect();
    let lasts = |value: &str, at: usize| lines[at + 1..].iter().any(|line| line.contains(&value));
    let mut most = 0;
    let mut values: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        values.extend(line.first());
        values.sort_unstable();
        values.dedup();
        values.retain(|value| lasts(value, at));
        most = most.max(values.len());
    }
    most
}

/// An input or a gate of a function: `x5_`, `g27_`.
fn is_value(word: &str) -> bool {
    let number = word.strip_prefix(['x', 'g']).and_then(|rest| rest.strip_suffix('_'));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit()))
}

/// The S-box of AES as it was found has 31 values at once.
#[test]
fn gates_stand_in_an_order_for_the_registers_that_there_are() {
    let found = loops("aes128", "ctr:boolean");
    let Some(machine) = machine::named("avx2") else { panic!("no machine avx2") };
    let printed = found.iter().filter_map(|body| print_loop(body, machine, Strategy::Bits, &ON_TRIAL).ok());
    let texts: Vec<String> = printed.map(|function| function.text).filter(|text| text.contains("f_call")).collect();
    assert!(!texts.is_empty());
    for text in texts {
        assert!(most_values(&text) < 28, "{}", most_values(&text));
    }
}

/// A counter makes what is mixed into the input: rows of it need not be taken apart.
#[test]
fn bits_mix_rows_as_they_lie() {
    let Some(machine) = machine::named("avx2") else { panic!("no machine avx2") };
    let body = loops("aes128", "ctr:boolean").into_iter().find(|body| body.counters.len() > 1);
    let body = body.unwrap_or_else(|| panic!("no loop with a counter"));
    let printed = print_loop(&body, machine, Strategy::Bits, &ON_TRIAL).unwrap_or_else(|error| panic!("{}", error.0));
    assert!(printed.text.contains("= HR_LOW_256x64("));
    assert!(!printed.text.contains("= HR_EVEN_256x64("));
}

#[test]
fn what_messages_touch_lies_together_and_ways_of_loops_stand_apart() {
    let (network, automaton) = fused("aes128", "cbc-decrypt");
    let options = Options { prefix: Some("x".into()), ..Options::default() };
    let emission = emit_with(&network, Some(&automaton), &options).unwrap_or_else(|all| panic!("{all:?}"));
    let text = |file: &str| String::from_utf8_lossy(&emission.files[file]).into_owned();
    let header = text("x.h");
    let (_, fields) = header.split_once("\nstruct x {\n").expect("a context");
    let (fields, _) = fields.split_once("\n};").expect("its end");
    let is_buffer: Vec<bool> = fields.lines().map(|field| field.contains("_buffer[")).collect();
    // Five inputs and two outputs: nothing stands behind their buffers or between them.
    assert_eq!(is_buffer.iter().filter(|is| **is).count(), 7);
    assert!(is_buffer.is_sorted(), "{fields}");
    let code = text("x.c");
    let is_way = |line: &&str| line.contains("target(") && line.contains(" x_loop_0_") && line.contains("(struct x *s");
    let heads: Vec<&str> = code.lines().filter(is_way).collect();
    // Their declarations say so.
    let name =
        |head: &str| head.split_once("static void ").and_then(|(_, rest)| Some(rest.split_once('(')?.0.to_owned()));
    let is_apart = |head: &&str| name(head).is_some_and(|name| code.contains(&format!("HR_APART static void {name}(")));
    assert!(heads.len() > 2 && heads.iter().all(is_apart), "{heads:?}");
    // Who writes strings of a known length needs no call for them.
    assert!(
        code.contains("static inline size_t x_keep_IV(") && code.contains("if (n_tokens > 32 || s->in_IV_there != 0)")
    );
}

/// The C of an operation.
fn code_of(set: &str, operation: &str) -> String {
    let (network, automaton) = fused(set, operation);
    let options = Options { prefix: Some("x".into()), ..Options::default() };
    let emission = emit_with(&network, Some(&automaton), &options).unwrap_or_else(|all| panic!("{all:?}"));
    sources(&emission)
}

/// What was printed for one message and for many.
fn sources(emission: &Emission) -> String {
    let sources = ["x.c", "x_many.c"].into_iter().filter_map(|file| emission.files.get(file));
    sources.map(|source| String::from_utf8_lossy(source)).collect()
}

/// Functions of headers that are tuned otherwise would not be inlined.
#[test]
fn compilers_are_told_what_to_tune_for_before_there_is_a_function() {
    let code = code_of("sha512", "hash");
    let before = code.split("#include").next().unwrap_or_default();
    assert!(before.contains("defined(__AVX512F__)\n#pragma GCC target(\"tune=generic\")\n#endif\n"), "{before}");
}

/// On some machines they take hundreds of cycles each while upper halves of registers are in use.
#[test]
fn instructions_from_before_avx_come_after_the_upper_halves_of_registers_are_cleared() {
    let (with, without) = (code_of("sha256", "hash"), code_of("aes128", "cbc-encrypt"));
    // Every function with such instructions, for one message and for many.
    let functions =
        with.split("\n}\n").filter_map(|function| Some((function, function.find("_mm_sha256rnds2_epu32(")?)));
    let first_rounds: Vec<&str> = functions.map(|(function, first)| &function[..first]).collect();
    assert!(first_rounds.len() > 1 && first_rounds.iter().all(|before| before.contains("      HR_CLEAR_UPPER();\n")));
    assert!(without.contains("_mm_aesenc_si128(") && !without.contains("HR_CLEAR_UPPER"));
}

#[test]
fn many_messages_go_on_in_the_registers_and_sums_that_suit_them() {
    // Blocks of two messages are put together with less than those of four.
    let blocks = code_of("aes128", "cbc-encrypt");
    assert!(blocks.contains("_many_256x8(") && !blocks.contains("_many_512x4("));
    // Rounds wait for sums. Few numbers are kept from compilers by themselves; where each round has its own, the sums that
    // these go into are.
    let kept = |text: &str, what: &str| {
        let many = text.split_once("_many_avx512x1(").map_or("", |(_, rest)| rest);
        many.split("\n}\n").next().unwrap_or_default().matches(what).count()
    };
    let (sha1, sha256) = (code_of("sha1", "hash"), code_of("sha256", "hash"));
    assert!(kept(&sha1, "_ = HR_KEPT_512x32(HR_ALL_512x32(") == 4 && kept(&sha1, " = HR_KEPT_512x32(") > 2 * 80);
    assert!(kept(&sha256, "_ = HR_KEPT_512x32(HR_ALL_512x32(") == 0 && kept(&sha256, " = HR_KEPT_512x32(") > 2 * 64);
}
