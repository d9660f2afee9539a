//! Prints the control automata of operations of the library: `automaton [-v] [-L ROOT] SET OPERATION[:VARIANT] …`.

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_library::samples;
use headrace_transform::control::{Automaton, Limits, Step, automaton_of};
use headrace_transform::kernel::{Carry, Effect};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

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
        Step::Go { transition, target } => println!(
            "{pad}go {target}: {} effects, in {:?} out {:?}",
            transition.effects.len(),
            transition.consumes,
            transition.produces
        ),
        Step::End | Step::Deoptimize => println!("{pad}{step:?}"),
    }
}

/// How much code the transitions are, all of them and those that differ.
fn sizes(automaton: &Automaton) {
    let (mut all, mut different) = (0, 0);
    let mut met: Vec<&[Effect]> = Vec::new();
    for state in &automaton.states {
        state.step.transitions(&mut |transition, _| {
            let n = Effect::needed(&transition.effects, &automaton.graph).len();
            all += n;
            if !met.contains(&transition.effects.as_slice()) {
                met.push(&transition.effects);
                different += n;
            }
        });
    }
    println!("  {all} nodes in transitions, {different} in {} different ones", met.len());
}

fn print(automaton: &Automaton) {
    for (at, state) in automaton.states.iter().enumerate() {
        println!("{at}: {}", state.description);
        for counted in &state.loops {
            println!(
                "  loop of {} transitions, {} trips: in {:?} out {:?}, carried {:?}, {} nodes, independent {}",
                counted.transitions,
                counted.trips.len(),
                counted.body.consumes,
                counted.body.produces,
                counted.body.carried.iter().map(|carried| &carried.carry).collect::<std::collections::HashSet<_>>(),
                counted.body.graph.len(),
                counted.body.is_independent()
            );
            for way in counted.rounds.iter().flat_map(|rounds| &rounds.ways) {
                println!(
                    "    round of {} iterations, once: {}, {} trips, {} updates",
                    way.iterations,
                    way.once,
                    way.trips.len(),
                    way.updates.len()
                );
            }
            for carried in counted.body.carried.iter().filter(|carried| !matches!(carried.carry, Carry::Counter { .. }))
            {
                println!(
                    "    {:?} {}[{}] := {:?}",
                    carried.carry,
                    counted.body.objects[carried.object.0 as usize].name,
                    carried.index,
                    counted.body.graph.node(carried.next)
                );
            }
        }
        show(&state.step, 1);
    }
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.first().is_some_and(|first| first == "-v");
    if verbose {
        arguments.remove(0);
    }
    let mut roots = Vec::new();
    if arguments.first().is_some_and(|first| first == "-L") {
        roots.extend(arguments.drain(..2).skip(1).map(PathBuf::from));
    }
    let library = loading::library(&roots);
    roots.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    for operation in library.operations() {
        let wanted = |pair: &[String]| {
            let name = pair.get(1).map_or(operation.name.as_str(), String::as_str);
            let (name, variant) = name.split_once(':').map_or((name, None), |(name, it)| (name, Some(it)));
            (operation.set == pair[0] && operation.name == name).then(|| operation.variant(variant))
        };
        let Some(Some(variant)) = arguments.chunks(2).find_map(wanted) else { continue };
        let text = variant.network.to_string();
        let mut session = Session::new();
        let Some(network) = elaborate(&mut session, &Folders(roots.clone()), &Top::Expression(text), &[]) else {
            println!("{}: {:?}", operation.full_name(), session.take_diagnostics().first());
            continue;
        };
        let samples = samples::streams(operation, network.inputs.iter().map(|port| port.name.as_str()));
        let start = Instant::now();
        match automaton_of(&network, &samples, &Limits::default()) {
            Ok(automaton) => {
                println!(
                    "{}: {} states, {} transitions, {} effects, {} nodes, {:?}",
                    operation.full_name(),
                    automaton.states.len(),
                    automaton.n_kernels(),
                    automaton.n_effects(),
                    automaton.graph.len(),
                    start.elapsed()
                );
                sizes(&automaton);
                if verbose {
                    print(&automaton);
                }
            }
            Err(reason) => println!("{}: {}, {:?}", operation.full_name(), reason.reason, start.elapsed()),
        }
    }
}
