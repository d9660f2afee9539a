//! Linear recurrences modulo a number, printed with powers, against the loops that they were.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "kernel/compile.rs"]
mod compile;
#[path = "kernel/operations.rs"]
mod operations;

use compile::{array, compilers, run};
use headrace_targets::c::kernel::{Machine, ON_TRIAL, Strategy, element_type, machine, prelude, print_loop};
use headrace_transform::kernel::evaluate::{World, run_loop};
use headrace_transform::kernel::{Loop, Residue};
use headrace_transform::passes::distribution::distribute;
use headrace_transform::passes::modular_recurrence::{ModularRecurrence, modular_recurrence};
use num_bigint::BigUint;
use std::fmt::Write as _;

/// Numbers of iterations: none, few, and around whole groups of lanes.
const ITERATIONS: [usize; 14] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 61];

fn machines() -> impl Iterator<Item = &'static Machine> {
    machine::levels().iter().filter(|machine| match machine.name.as_str() {
        "v128" => true,
        "avx2" => std::is_x86_feature_detected!("avx2"),
        "avx512" => std::is_x86_feature_detected!("avx512ifma") && std::is_x86_feature_detected!("avx512vbmi"),
        _ => false,
    })
}

fn number(limbs: &[u128], bits: u32) -> BigUint {
    limbs.iter().rev().fold(BigUint::ZERO, |sum, &limb| (sum << bits) + limb)
}

/// The loops of an operation that are recurrences, without what they make.
fn recurrences(set: &str, name: &str) -> Vec<(Loop, ModularRecurrence)> {
    let serial = |body: Loop| distribute(&body).map_or(body, |parts| parts.serial);
    let found = operations::loops(set, name).into_iter().map(serial);
    found.filter_map(|body| modular_recurrence(&body).map(|found| (body, found))).collect()
}

fn agrees(body: &Loop, recurrence: &ModularRecurrence, machine: &Machine, compiler: &str) {
    let Residue { limb_bits, bits, less } = recurrence.residue;
    let modulus = (BigUint::from(1u32) << bits) - less;
    let [state, factor] = [recurrence.state, recurrence.factor].map(|object| object.0 as usize);
    let printed = print_loop(body, machine, Strategy::Modular, &ON_TRIAL).unwrap_or_else(|error| panic!("{}", error.0));
    let mut seed = 7_u64;
    let mut word = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u128::from(seed >> 24)
    };
    let n_tokens = body.consumes[recurrence.port].0 as usize;
    let most = *ITERATIONS.iter().max().unwrap();
    let ones = (1_u128 << limb_bits) - 1;
    let mut text = String::from("#include <stdio.h>\n") + &prelude();
    text.extend(printed.support.iter().map(|support| support.text()));
    text.push_str("struct s {\n");
    for object in &body.objects {
        let _ = writeln!(text, "  {} {}[{}];", element_type(object.width), object.name, object.length);
    }
    let _ = writeln!(text, "}};\n{}int main(void)\n{{\n  static struct s s;", printed.text);
    let mut expected = Vec::new();
    for (case, &n) in ITERATIONS.iter().enumerate() {
        let mut world = World {
            inputs: vec![Vec::new(); body.consumes.len()],
            consumed: vec![0; body.consumes.len()],
            outputs: vec![Vec::new(); body.produces.len()],
            objects: body.objects.iter().map(|object| vec![0; object.length]).collect(),
        };
        // All bits of tokens, limbs and factors are 1 in some cases.
        let all_ones = case % 3 == 1;
        let mut limb = |most: u128| if all_ones { most } else { word() & most };
        world.inputs[recurrence.port] = (0..most * n_tokens).map(|_| limb(255)).collect();
        for object in [state, factor] {
            world.objects[object].iter_mut().for_each(|element| *element = limb(ones));
        }
        let _ = writeln!(text, "  {{\n    static const uint8_t in[] = {};", array(&world.inputs[recurrence.port]));
        for object in [state, factor] {
            for (at, value) in world.objects[object].iter().enumerate() {
                let _ = writeln!(text, "    s.{}[{at}] = {value}u;", body.objects[object].name);
            }
        }
        let _ = writeln!(text, "    f(&s, in, {n});");
        for at in 0..body.objects[state].length {
            let _ = writeln!(text, "    printf(\"%llu \", (unsigned long long)s.{}[{at}]);", body.objects[state].name);
        }
        text.push_str("    puts(\"\");\n  }\n");
        run_loop(body, &mut world, n as u64);
        expected.push(number(&world.objects[state], limb_bits) % &modulus);
    }
    text.push_str("}\n");
    let flags = ["-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-psabi"];
    for ((line, meant), n) in run(compiler, &flags, &text).iter().zip(expected).zip(ITERATIONS) {
        let limbs: Vec<u128> = line.split_whitespace().map(|limb| limb.parse().unwrap()).collect();
        assert_eq!(number(&limbs, limb_bits) % &modulus, meant, "{n} passes on {}, {compiler}", machine.name);
        assert!(limbs.iter().all(|&limb| limb <= ones), "{n} passes on {}, {compiler}: {limbs:x?}", machine.name);
    }
}

#[test]
fn recurrences_agree_with_their_loops() {
    for (set, name) in [("poly1305", "mac"), ("chacha20-poly1305", "aead-encrypt")] {
        let found = recurrences(set, name);
        assert!(!found.is_empty(), "{set} {name}");
        let longest = found.iter().max_by_key(|(_, found)| found.blocks).unwrap();
        assert_eq!(longest.1.residue, Residue { limb_bits: 26, bits: 130, less: 5 });
        for machine in machines() {
            for compiler in compilers() {
                agrees(&longest.0, &longest.1, machine, compiler);
            }
        }
    }
}

/// Where limbs are seen, they are those that the loop makes.
#[test]
fn numbers_are_residues_only_where_nobody_sees_their_limbs() {
    let (mut body, found) = recurrences("poly1305", "mac").into_iter().next().expect("it is a recurrence");
    let object = found.state.0 as usize;
    assert_eq!(body.objects[object].residue, Some(found.residue));
    body.objects[object].residue = None;
    assert!(print_loop(&body, machine::of_width(128).expect("there is one"), Strategy::Modular, &ON_TRIAL).is_err());
}
