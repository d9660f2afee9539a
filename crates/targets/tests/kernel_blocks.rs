//! Loops on blocks, printed with wide registers, compiled and run beside what they mean.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../transform/tests/blocks/mod.rs"]
mod ciphers;
#[path = "kernel/networks.rs"]
mod networks;
#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/compile.rs"]
mod program;

use ciphers::*;
use headrace_instructions::{choice, descriptions};
use headrace_targets::c::kernel::{Blocks, LoopNames, Names, blocks, prelude};
use headrace_transform::kernel::evaluate::{World, run_loop};
use headrace_transform::kernel::{Carried, Carry, Counter, Graph, Loop, NodeId, Object, ObjectId, TableId};
use headrace_transform::passes::select_instructions::select_in_loop;
use std::fmt::Write as _;

struct Elements;

impl Names for Elements {
    fn input(&self, _port: u32, _offset: i64) -> String {
        String::new()
    }
    fn output(&self, _port: u32, _offset: u64, _value: &str) -> String {
        String::new()
    }
    fn element(&self, object: &Object, index: &str) -> String {
        format!("s->{}[{index}]", object.name)
    }
    fn table(&self, table: TableId) -> String {
        format!("table{}", table.0)
    }
    fn check(&self, _condition: &str, _index: &str, _length: usize, _span: headrace_source::Span) -> String {
        String::new()
    }
}

fn object(name: &str, width: u32, length: usize) -> Object {
    Object { name: name.into(), width, length, persistent: true, residue: None }
}

fn bytes_of(graph: &mut Graph, object: u32, n: usize) -> Vec<NodeId> {
    let byte = |i: usize| {
        let at = graph.number(i as u128, 32);
        graph.entry(ObjectId(object), at, 8)
    };
    (0..n).map(byte).collect()
}

fn new_loop(graph: Graph, ports: usize, outputs: &[NodeId], words: bool) -> Loop {
    let keys = if words { object("keys", 32, 60) } else { object("keys", 8, 240) };
    Loop {
        graph,
        objects: vec![keys, object("kept", 8, 16)],
        consumes: vec![(16, 8); ports],
        produces: vec![(16, 8)],
        outputs: outputs.iter().enumerate().map(|(i, &node)| (0, i as u64, node)).collect(),
        carried: vec![],
        counters: vec![],
    }
}

fn carry(body: &mut Loop, next: &[NodeId], how: impl Fn(usize) -> Carry) {
    let carried = next.iter().enumerate();
    body.carried =
        carried.map(|(index, &next)| Carried { object: ObjectId(1), index, next, carry: how(index) }).collect();
}

/// Block after block for itself, in all ways of writing it.
fn simple(kind: usize) -> Loop {
    let mut graph = Graph::new();
    let block = tokens(&mut graph, 0);
    let result = match kind {
        0 => encrypt(&mut graph, &block, 10),
        1 => decrypt(&mut graph, &block, 14),
        2 => with_word_tables(&mut graph, &block, 12, false),
        _ => with_word_tables(&mut graph, &block, 10, true),
    };
    new_loop(graph, 1, &result, kind >= 2)
}

/// A counter of `n` bytes at the end of a block, the first byte the most significant.
fn counter(n: usize) -> Loop {
    let mut graph = Graph::new();
    let kept = bytes_of(&mut graph, 1, 16);
    let stream = encrypt(&mut graph, &kept, 10);
    let data = tokens(&mut graph, 0);
    let result = add(&mut graph, &stream, &data);
    let start = graph.concat(&kept[16 - n..]);
    let one = graph.number(1, 8 * n as u32);
    let next = graph.sum(start, one);
    let next: Vec<NodeId> = (0..n).map(|i| graph.extract(next, 8 * (n - 1 - i) as u32, 8)).collect();
    let mut body = new_loop(graph, 1, &result, false);
    body.carried = (next.iter().enumerate())
        .map(|(i, &next)| Carried {
            object: ObjectId(1),
            index: 16 - n + i,
            next,
            carry: Carry::Counter { counter: 0, lo: 8 * (n - 1 - i) as u32 },
        })
        .collect();
    body.counters = vec![Counter { start, step: 1 }];
    body
}

/// Each result is added to the next block, or each block to the next result.
fn chained(decrypting: bool) -> Loop {
    let mut graph = Graph::new();
    let kept = bytes_of(&mut graph, 1, 16);
    let data = tokens(&mut graph, 0);
    if decrypting {
        let plain = decrypt(&mut graph, &data, 10);
        let result = add(&mut graph, &plain, &kept);
        let mut body = new_loop(graph, 1, &result, false);
        carry(&mut body, &data, |_| Carry::Delay);
        return body;
    }
    let mixed = add(&mut graph, &data, &kept);
    let result = encrypt(&mut graph, &mixed, 10);
    let mut body = new_loop(graph, 1, &result, false);
    carry(&mut body, &result, |_| Carry::True);
    body
}

/// A counter of which the stream is made an iteration before it is used.
fn ahead() -> Loop {
    let mut body = counter(16);
    let mut graph = body.graph.clone();
    let data = tokens(&mut graph, 0);
    let kept = bytes_of(&mut graph, 2, 16);
    // What was added to the data is carried; what was carried is added.
    let stream: Vec<NodeId> = body.outputs.iter().zip(&data).map(|(output, &data)| graph.xor(output.2, data)).collect();
    let result = add(&mut graph, &kept, &data);
    body.objects.push(object("stream", 8, 16));
    body.graph = graph;
    for (index, &next) in stream.iter().enumerate() {
        body.carried.push(Carried { object: ObjectId(2), index, next, carry: Carry::True });
    }
    for (output, value) in body.outputs.iter_mut().zip(result) {
        output.2 = value;
    }
    body
}

fn draw(seed: u64, n: usize, width: u32) -> Vec<u128> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        u128::from(state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) & ((1 << width) - 1)
    };
    (0..n).map(|_| next()).collect()
}

const ITERATIONS: &[u64] = &[1, 2, 3, 5, 7, 31, 33, 40, 77];

fn support(printed: &Blocks) -> String {
    printed.function.support.iter().map(|support| format!("{}\n", support.text())).collect()
}

fn is_there(features: &Blocks) -> bool {
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let has = |feature: &String| match feature.as_str() {
        "sse4.1" => flags.contains("sse4_1"),
        "pclmul" => flags.contains("pclmulqdq"),
        other => flags.contains(other),
    };
    features.features.iter().all(has)
}

/// Runs a loop as it was written by its meaning, and as it is printed by the machine, call after call.
fn same(name: &str, body: &Loop, wide: bool) {
    let descriptions = descriptions().expect("all are usable");
    let choice = choice(&descriptions, |_| true).expect("all are taken");
    let selected = select_in_loop(body, &[], &choice).expect("instructions are found").body;
    let widths: &[u32] = if wide { &[128, 256, 512] } else { &[128] };
    for &bits in widths {
        let names = LoopNames { function: "kernel", state: "STATE", names: &Elements };
        let printed = blocks(&selected, &descriptions, bits, &names).unwrap_or_else(|why| panic!("{name}: {}", why.0));
        if !is_there(&printed) {
            eprintln!("not run: {bits} bits of {:?}", printed.features);
            continue;
        }
        let key_width = body.objects[0].width;
        let mut world = World {
            inputs: vec![draw(7, 16 * ITERATIONS.iter().sum::<u64>() as usize, 8)],
            consumed: vec![0],
            outputs: vec![vec![]],
            objects: vec![draw(1, body.objects[0].length, key_width), draw(2, 16, 8), draw(3, 16, 8)],
        };
        // So that counters overflow on the way.
        for byte in &mut world.objects[1][8..] {
            *byte = 0xff;
        }
        world.objects[1][15] = 0xf0;
        let list = |values: &[u128]| values.iter().map(u128::to_string).collect::<Vec<_>>().join(",");
        let mut text = prelude() + &support(&printed);
        let _ = writeln!(
            text,
            "#include <stdio.h>\ntypedef struct {{ uint{key_width}_t keys[{}]; uint8_t kept[16], stream[16]; }} STATE;",
            body.objects[0].length
        );
        text.push_str(&printed.function.text);
        let _ = writeln!(
            text,
            "static STATE s = {{{{{}}}, {{{}}}, {{{}}}}};",
            list(&world.objects[0]),
            list(&world.objects[1]),
            list(&world.objects[2])
        );
        let _ = writeln!(text, "static uint8_t in[] = {{{}}}, out[sizeof in];", list(&world.inputs[0]));
        text.push_str("int main(void) {\n  size_t at = 0;\n");
        for iterations in ITERATIONS {
            let _ = writeln!(text, "  kernel(&s, in + at, out + at, {iterations}); at += 16 * {iterations};");
            let _ = writeln!(text, "  for (int i = 0; i < 16; i++) printf(\"%d %d \", s.kept[i], s.stream[i]);");
            text.push_str("  puts(\"\");\n");
        }
        text.push_str("  for (size_t i = 0; i < sizeof out; i++) printf(\"%d\\n\", out[i]);\n}\n");
        let mut expected = Vec::new();
        for &iterations in ITERATIONS {
            run_loop(body, &mut world, iterations);
            let both = world.objects[1].iter().zip(&world.objects[2]);
            let kept: String = both.map(|(kept, stream)| format!("{kept} {stream} ")).collect();
            expected.push(kept);
        }
        expected.extend(world.outputs[0].iter().map(u128::to_string));
        for compiler in program::compilers() {
            let lines = program::run(compiler, &["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"], &text);
            assert!(lines == expected, "{name}, {bits} bits, {compiler}");
        }
    }
}

#[test]
fn blocks_for_themselves() {
    for kind in 0..4 {
        same(&format!("kind {kind}"), &simple(kind), true);
    }
}

#[test]
fn counters_of_all_sizes() {
    for n in [1, 4, 8, 12, 16] {
        same(&format!("counter of {n} bytes"), &counter(n), true);
    }
}

/// Bytes of which most are made of bytes of several registers, bit by bit.
fn gated() -> Loop {
    let mut graph = Graph::new();
    let (kept, block) = (bytes_of(&mut graph, 1, 16), tokens(&mut graph, 0));
    let stream = encrypt(&mut graph, &block, 10);
    let result: Vec<NodeId> = (0..16)
        .map(|i| {
            let both = graph.and(stream[i], block[(i + 3) % 16]);
            let either = graph.or(both, kept[15 - i]);
            let other = graph.and(kept[i], stream[i]);
            match i % 5 {
                0 => stream[i],
                1 => graph.xor(either, stream[i]),
                _ => graph.xor(either, other),
            }
        })
        .collect();
    new_loop(graph, 1, &result, false)
}

#[test]
fn registers_of_gates_of_bytes() {
    same("gated", &gated(), true);
}

#[test]
fn chains() {
    same("ahead", &ahead(), true);
    same("back", &chained(true), true);
    same("forth", &chained(false), false);
}

/// Each block between sums with a mask that is doubled in a field for the next one; `moved` by bytes instead, with sums.
fn multiplied(moved: bool) -> Loop {
    let mut graph = Graph::new();
    let (kept, data) = (bytes_of(&mut graph, 1, 16), tokens(&mut graph, 0));
    let masked = add(&mut graph, &data, &kept);
    let stream = encrypt(&mut graph, &masked, 10);
    let result = add(&mut graph, &stream, &kept);
    let next: Vec<NodeId> = if moved {
        (0..16)
            .map(|i| match i % 4 {
                3 => kept[i - 3],
                _ => graph.xor(kept[i + 1], kept[(5 * i) % 16]),
            })
            .collect()
    } else {
        let highest_first: Vec<NodeId> = kept.iter().rev().copied().collect();
        let whole = graph.concat(&highest_first);
        let top = graph.extract(whole, 127, 1);
        let (mask, polynomial) = (graph.sign_extend(top, 128), graph.number(0x87, 128));
        let (shifted, added) = (graph.shift_left_by(whole, 1), graph.and(mask, polynomial));
        let sum = graph.xor(shifted, added);
        (0..16).map(|at| graph.extract(sum, 8 * at, 8)).collect()
    };
    let mut body = new_loop(graph, 1, &result, false);
    carry(&mut body, &next, |_| Carry::True);
    body
}

#[test]
fn masks_that_are_multiplied_are_there_for_a_group() {
    same("doubled", &multiplied(false), true);
    same("moved", &multiplied(true), true);
}

#[test]
fn what_needs_the_pass_before_goes_one_by_one() {
    let descriptions = descriptions().expect("all are usable");
    let choice = choice(&descriptions, |_| true).expect("all are taken");
    let selected = select_in_loop(&chained(false), &[], &choice).expect("instructions are found").body;
    let names = LoopNames { function: "kernel", state: "STATE", names: &Elements };
    assert!(blocks(&selected, &descriptions, 512, &names).is_err());
}

/// Loops of the library's networks, written as the standard says, on one block an iteration.
#[test]
fn networks_of_the_library() {
    let descriptions = descriptions().expect("all are usable");
    let choice = choice(&descriptions, |_| true).expect("all are taken");
    for (set, name, bits) in [
        ("aes128", "ecb-encrypt", 512),
        ("aes128", "ecb-decrypt", 512),
        ("aes128", "ctr", 512),
        ("aes128", "cbc-decrypt", 512),
        ("aes128", "cbc-encrypt", 128),
        // Both loops: that of associated data, and that of the text, where what is deciphered changes the state.
        ("aegis-128l", "aead-decrypt", 128),
        ("deoxys-neq-128-128-v1", "aead-encrypt", 128),
    ] {
        let mut reasons = Vec::new();
        let loops = networks::loops(set, name);
        let printed = loops.iter().filter_map(|body| {
            let selected = select_in_loop(body, &[], &choice)?;
            let names = LoopNames { function: "kernel", state: "STATE", names: &Elements };
            match blocks(&selected.body, &descriptions, bits, &names) {
                Ok(printed) => Some(printed),
                Err(why) => {
                    reasons.push(why.0);
                    None
                }
            }
        });
        let printed: Vec<Blocks> = printed.collect();
        println!("{set} {name}: {} of {} loops, {reasons:?}", printed.len(), loops.len());
        assert!(!printed.is_empty(), "{set} {name}: {reasons:?}");
        assert!(set == "aes128" || reasons.is_empty(), "{set} {name}: {reasons:?}");
    }
}

/// Sums of sums of blocks: written out in full they have more terms than there are atoms.
#[test]
fn sums_with_many_terms_are_no_blocks() {
    let mut graph = Graph::new();
    let block: [Vec<NodeId>; 3] = [0, 1, 2].map(|port| tokens(&mut graph, port).to_vec());
    let whole = block.clone().map(|bytes| graph.concat(&bytes));
    let names = LoopNames { function: "f", state: "struct s", names: &Elements };
    let turns = |graph: &mut Graph, [a, b, c]: [NodeId; 3]| {
        [(b, c), (c, a), (a, b)].map(|(x, y)| graph.add(headrace_transform::kernel::Op::Xor(x, y), graph.width(x)))
    };
    let by_bytes: Vec<NodeId> = (0..16)
        .map(|at| (0..80).fold([block[0][at], block[1][at], block[2][at]], |all, _| turns(&mut graph, all))[0])
        .collect();
    let registers = (0..80).fold(whole, |all, _| turns(&mut graph, all));
    let bytes: Vec<NodeId> = (0..16).rev().map(|at| graph.extract(registers[0], 8 * at, 8)).collect();
    for result in [by_bytes, bytes] {
        let body = new_loop(graph.clone(), 3, &result, false);
        assert!(blocks(&body, &[], 128, &names).is_err());
    }
}
