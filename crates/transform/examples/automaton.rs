//! Prints the control automaton of networks of the library.

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_transform::control::{Limits, Step, automaton_of};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;

fn show(step: &Step, indent: usize) {
    let pad = "  ".repeat(indent);
    match step {
        Step::Branch { condition, then, otherwise, before } => {
            println!("{pad}if {condition:?} ({} before)", before.len());
            show(then, indent + 1);
            show(otherwise, indent + 1);
        }
        Step::Wait(awaited) => {
            for one in awaited {
                println!("{pad}wait {} x{}", one.port, one.tokens);
                show(&one.step, indent + 1);
            }
        }
        Step::Go { kernel, target } => println!(
            "{pad}go {target}: {} effects, in {:?} out {:?}",
            kernel.effects.len(),
            kernel.consumes,
            kernel.produces
        ),
        Step::End | Step::Leave => println!("{pad}{step:?}"),
    }
}

fn main() {
    let mut roots = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")];
    let mut verbose = false;
    for argument in std::env::args().skip(1) {
        if argument == "-v" {
            verbose = true;
            continue;
        }
        if argument.starts_with('/') {
            roots.insert(0, PathBuf::from(argument));
            continue;
        }
        let mut session = Session::new();
        let Some(network) = elaborate(&mut session, &Folders(roots.clone()), &Top::Expression(argument.clone()), &[]) else {
            println!("{argument}: {:?}", session.take_diagnostics().first());
            continue;
        };
        let start = Instant::now();
        match automaton_of(&network, &[], &Limits::default()) {
            Ok(automaton) => {
                println!(
                    "{argument}: {} states, {} kernels, {} effects, {} nodes, {:?}",
                    automaton.states.len(),
                    automaton.n_kernels(),
                    automaton.n_effects(),
                    automaton.graph.len(),
                    start.elapsed()
                );
                if verbose {
                    for (at, state) in automaton.states.iter().enumerate() {
                        println!("{at}: {}", state.description);
                        show(&state.step, 1);
                    }
                }
            }
            Err(reason) => println!("{argument}: {} {:?}, {:?}", reason.reason, reason.span, start.elapsed()),
        }
    }
}
