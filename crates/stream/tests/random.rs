//! Kernels of random static networks: expressions on tokens of several widths, tables, state that is carried, chains of actors.

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_stream::choose::{kernel_of, ways};
use headrace_stream::kernel::Scheduling;
use headrace_stream::machine::Machine;
use headrace_stream::trial::trial;
use headrace_transform::control::{Limits, automaton_of};
use std::fmt::Write as _;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;

/// Random numbers less than their argument (Knuth's MMIX constants).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

const WIDTHS: [u32; 5] = [8, 16, 32, 7, 64];

/// An expression of unsigned numbers.
fn expression(numbers: &mut Numbers, names: &[String], depth: usize) -> String {
    if depth == 0 || numbers.below(6) == 0 {
        return match numbers.below(4) {
            0 => numbers.below(1 << 16).to_string(),
            _ => names[numbers.below(names.len())].clone(),
        };
    }
    let mut operand = || expression(numbers, names, depth - 1);
    let (a, b) = (operand(), operand());
    match numbers.below(11) {
        0 => format!("({a} + {b})"),
        1 => format!("(({a} & 0xffff) * ({b} & 0xffff))"),
        2 | 3 => format!("({a} ^ {b})"),
        4 => format!("({a} & {b})"),
        5 => format!("({a} | {b})"),
        6 => format!("(({a} & 0xffffffff) << {})", numbers.below(12)),
        7 => format!("(({a} & 0xffffffffffff) >> {})", numbers.below(40)),
        8 => format!("TABLE[({a}) & 15]"),
        9 => format!("(if ({a} & 255) < ({b} & 255) then {a} else {b} end)"),
        _ => format!("((({a} & 0xffffffff) << ({b} & 7)) ^ {b})"),
    }
}

/// An actor that takes some tokens and makes some, and what it carries.
fn actor(numbers: &mut Numbers, name: &str, bits_in: u32, bits_out: u32) -> String {
    let n_in = 1 + numbers.below(4);
    let n_out = 1 + numbers.below(3);
    let mut names: Vec<String> = (0..n_in).map(|at| format!("x{at}")).collect();
    let carries = numbers.below(3) == 0;
    let state_bits = WIDTHS[numbers.below(3)];
    if carries {
        names.push("held".into());
    }
    let table: Vec<String> = (0..16).map(|_| numbers.below(1 << 20).to_string()).collect();
    let outputs: Vec<String> = (0..n_out).map(|_| expression(numbers, &names, 3)).collect();
    let next = expression(numbers, &names, 2);
    let mut text = format!(
        "actor {name}() uint(size={bits_in}) In ==> uint(size={bits_out}) Out :\n    \
         List(type:uint(size=24), size=16) TABLE = [{}];\n",
        table.join(", ")
    );
    if carries {
        let _ = writeln!(text, "    uint(size={state_bits}) held := {};", numbers.below(256));
    }
    let inputs = names[..n_in].join(", ");
    let _ = writeln!(text, "    step: action In:[{inputs}] ==> Out:[{}]", outputs.join(", "));
    if carries {
        let _ = writeln!(text, "    do\n        held := {next};");
    }
    text.push_str("    end\nend\n");
    text
}

#[test]
fn three_hundred_networks() {
    let machines = ["imagine", "imagine-indexed-srf", "merrimac"]
        .map(|name| Machine::read(headrace_platform::find(name).expect("a platform")).expect("a machine"));
    let (mut n_kernels, mut n_none) = (0, 0);
    let folder = std::env::temp_dir().join(format!("headrace-stream-random-{}", std::process::id()));
    for case in 0..300 {
        let mut numbers = Numbers(case * 977 + 5);
        let n_actors = 1 + numbers.below(3);
        let mut bits = WIDTHS[numbers.below(4)];
        let mut network = format!("network Random() uint(size={bits}) In ==> ");
        let mut files = Vec::new();
        for at in 0..n_actors {
            let next = WIDTHS[numbers.below(4)];
            let name = format!("A{at}");
            files.push((format!("{name}.cal"), actor(&mut numbers, &name, bits, next)));
            bits = next;
        }
        let _ = writeln!(network, "uint(size={bits}) Out :\nentities");
        for at in 0..n_actors {
            let _ = writeln!(network, "    a{at} = A{at}();");
        }
        network.push_str("structure\n    In --> a0.In;\n");
        for at in 1..n_actors {
            let _ = writeln!(network, "    a{}.Out --> a{at}.In;", at - 1);
        }
        let _ = writeln!(network, "    a{}.Out --> Out;\nend", n_actors - 1);
        files.push(("Random.nl".into(), network));
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, text) in &files {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        let mut session = Session::new();
        let found = elaborate(&mut session, &Folders(vec![folder.clone()]), &Top::Expression("Random()".into()), &[]);
        let found = found.unwrap_or_else(|| panic!("case {case}: {:?}\n{files:?}", session.take_diagnostics().first()));
        let tokens = (0..600).map(|at| at * 0x9e37_79b9 % 127).collect();
        let Ok(automaton) = automaton_of(&found, &[vec![vec![tokens]]], &Limits::default()) else {
            n_none += 1;
            continue;
        };
        let machine = &machines[numbers.below(machines.len())];
        for one in automaton.states.iter().flat_map(|state| &state.loops) {
            let Ok(all) = ways(&one.body, machine, false) else {
                n_none += 1;
                continue;
            };
            let scheduling = if numbers.below(4) == 0 { Scheduling::List } else { Scheduling::Modulo };
            match kernel_of(&all, machine, scheduling) {
                Err(_) => n_none += 1,
                Ok((kernel, way)) => {
                    let held = trial(&kernel, machine, &way.form.body, 6, case);
                    held.unwrap_or_else(|problem| panic!("case {case} on {}: {problem}\n{files:?}", machine.name));
                    n_kernels += 1;
                }
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(n_kernels > 150, "{n_kernels} kernels, {n_none} without");
}
