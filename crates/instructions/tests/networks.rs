//! Loops of networks of the library: written as a standard says or with tables, a block becomes the same instructions.

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_instructions::{choice, descriptions};
use headrace_library::samples;
use headrace_transform::control::{Limits, automaton_of};
use headrace_transform::kernel::{Loop, NodeId, Op};
use headrace_transform::passes::select_instructions::{Choice, check, select_in_loop};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The loops of an operation, for each way in which the library has it.
fn loops(set: &str, name: &str) -> Vec<(String, Vec<Loop>)> {
    let library = loading::library(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let operations = library.operations();
    let operation = operations.iter().find(|operation| operation.set == set && operation.name == name);
    let operation = operation.expect("the library has it");
    let mut all = Vec::new();
    // S-boxes that are formulas are not looked for.
    for variant in operation.variants.iter().filter(|one| !one.network.to_string().contains("TABLES = false")) {
        let mut session = Session::new();
        let top = Top::Expression(variant.network.to_string());
        let network = elaborate(&mut session, &Folders(vec![root.clone()]), &top, &[]).expect("it elaborates");
        let samples = samples::streams(operation, network.inputs.iter().map(|port| port.name.as_str()));
        let automaton = match automaton_of(&network, &samples, &Limits::default()) {
            Ok(automaton) => automaton,
            Err(why) => {
                println!("{set} {name}, {}: {}", variant.network, why.reason);
                continue;
            }
        };
        let loops = automaton.states.into_iter().flat_map(|state| state.loops).map(|counted| counted.body);
        all.push((variant.network.to_string(), loops.collect()));
    }
    all
}

fn roots(body: &Loop) -> Vec<NodeId> {
    let carried = body.carried.iter().map(|carried| carried.next);
    carried.chain(body.outputs.iter().map(|output| output.2)).collect()
}

/// What is left beside instructions: operations and how many.
fn left(body: &Loop) -> BTreeMap<String, usize> {
    let mut left = BTreeMap::new();
    for id in body.graph.reachable(roots(body)) {
        let text = format!("{:?}", body.graph.op(id));
        let name = text.split(['(', ' ']).next().unwrap_or_default().to_owned();
        if !matches!(body.graph.op(id), Op::Const(_) | Op::Input { .. } | Op::Entry { .. }) {
            *left.entry(format!("{name} {}", body.graph.width(id))).or_insert(0) += 1;
        }
    }
    left
}

fn machine() -> Choice {
    choice(&descriptions().expect("all are usable"), |_| true).expect("all are taken")
}

fn every_variant_has(set: &str, name: &str, expected: &[(&str, usize)]) {
    let choice = machine();
    for (variant, loops) in loops(set, name) {
        let mut found = BTreeSet::new();
        for body in &loops {
            let start = std::time::Instant::now();
            let Some(selected) = select_in_loop(body, &[], &choice) else {
                println!("{set} {name}: none in a loop of {} nodes, {:?}", body.graph.len(), left(body));
                continue;
            };
            println!(
                "{set} {name}: {} nodes, {:?}, {:?}: {:?}",
                body.graph.len(),
                start.elapsed(),
                selected.instructions,
                left(&selected.body)
            );
            let (old, new) = (roots(body), roots(&selected.body));
            assert!(check((&body.graph, &old), (&selected.body.graph, &new), &choice, 10));
            found.insert(selected.instructions.into_iter().collect::<Vec<_>>());
        }
        let expected: Vec<(String, usize)> = expected.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        assert!(found.contains(&expected), "{set} {name}, {variant}: {found:?}");
    }
}

#[test]
fn modes_of_a_block_cipher() {
    let forth = [("aesenc", 9), ("aesenclast", 1)];
    for name in ["ecb-encrypt", "ctr", "cbc-encrypt"] {
        every_variant_has("aes128", name, &forth);
    }
}

#[test]
fn backwards_round_keys_are_mixed_where_the_cipher_does_not() {
    let choice = machine();
    for name in ["ecb-decrypt", "cbc-decrypt"] {
        for (variant, loops) in loops("aes128", name) {
            for body in loops {
                let found = select_in_loop(&body, &[], &choice).expect("instructions are found").instructions;
                let found: Vec<usize> =
                    ["aesdec", "aesdeclast", "aesimc"].map(|name| found.get(name).copied().unwrap_or(0)).into();
                // With tables of words the keys are mixed when they are made.
                let mixed = if variant.contains("Lut") { 0 } else { 9 };
                assert_eq!(found, [9, 1, mixed], "{name}, {variant}");
            }
        }
    }
}

#[test]
fn rounds_on_words() {
    every_variant_has("sha256", "hash", &[("paddd", 46), ("sha256msg1", 12), ("sha256msg2", 12), ("sha256rnds2", 32)]);
}

#[test]
fn rounds_on_words_with_a_constant_operand() {
    let expected = [("paddd", 2), ("sha1msg1", 16), ("sha1msg2", 16), ("sha1nexte", 20), ("sha1rnds4", 20)];
    every_variant_has("sha1", "hash", &expected);
}
