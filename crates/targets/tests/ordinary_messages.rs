//! Ordinary messages never leave the control automata of their operations: no program meets the run-time scheduler that does not cut
//! its messages in an unusual way.
//!
//! Messages under one key, with texts and associated data of any lengths, none of which is a sample. A few operations a day, all with
//! `HEADRACE_WHOLE=all`; `HEADRACE_OPERATIONS="aes128-gcm aead-encrypt …"` names them.

use headrace_frontend::{Session, Top, elaborate};
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_targets::automata::automaton_of_operation;
use headrace_transform::kernel::execute::{Bounds, Ended, Executor, beginning};
use std::time::SystemTime;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../library/tests/loading/mod.rs"]
mod loading;

/// Streams of messages of an operation.
const STREAMS: u64 = 24;

/// One in so many operations has its turn on a day.
const DAYS: u64 = 100;

/// Why messages of an operation would meet the scheduler.
fn left(spec: &OperationSpec) -> Option<String> {
    let text = spec.variant(None).expect("the first variant").network.to_string();
    let mut session = Session::new();
    let roots = folders::Folders(vec![loading::root()]);
    let network = elaborate(&mut session, &roots, &Top::Expression(text), &[]).expect("a network of the library");
    let automaton = match automaton_of_operation(spec, &network) {
        Ok(automaton) => automaton,
        Err(why) => return Some(why.reason),
    };
    let mut executor = Executor::new(&automaton);
    let ports = network.inputs.iter().map(|port| port.name.as_str());
    let streams = samples::ordinary_messages(spec, ports, 0..STREAMS);
    let mut n_left = 0;
    let mut first = None;
    for stream in &streams {
        let mut world = beginning(&automaton, vec![Vec::new(); network.inputs.len()], network.outputs.len());
        let mut at = 0;
        for (number, part) in stream.iter().enumerate() {
            world.inputs.iter_mut().zip(part).for_each(|(all, more)| all.extend(more));
            at = match executor.execute(at, &mut world, Bounds::default()).ended {
                Ended::Waits(at) | Ended::Ends(at) => at,
                Ended::Leaves(at) => {
                    n_left += 1;
                    let lengths: Vec<usize> = part.iter().map(Vec::len).collect();
                    let left: Vec<usize> =
                        world.inputs.iter().zip(&world.consumed).map(|(all, n)| all.len() - n).collect();
                    let state = &automaton.states[at].description;
                    first.get_or_insert(format!(
                        "part {number}, tokens {lengths:?}, left {left:?}, state {at}: {state}"
                    ));
                    break;
                }
                Ended::Fails(at) | Ended::Stopped(at) => return Some(format!("state {at} comes to no end")),
            };
        }
    }
    first.map(|first| format!("{n_left} of {} streams leave {} states; {first}", streams.len(), automaton.states.len()))
}

#[test]
fn ordinary_messages_stay_in_their_automata() {
    let library = loading::library(&[]);
    let all = std::env::var("HEADRACE_WHOLE").is_ok_and(|what| what == "all");
    let named = std::env::var("HEADRACE_OPERATIONS").unwrap_or_default();
    let days = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60));
    let mut wrong = Vec::new();
    let mut n = 0;
    for (at, spec) in library.operations().iter().enumerate() {
        let name = format!("{} {}", spec.set, spec.name);
        let wanted = if named.is_empty() { all || at as u64 % DAYS == days % DAYS } else { named.contains(&name) };
        if wanted {
            n += 1;
            if let Some(why) = left(spec) {
                println!("{name}: {why}");
                wrong.push(name);
            }
        }
    }
    println!("{n} operations");
    assert!(n > 0 && wrong.is_empty(), "ordinary messages leave the automata of {wrong:?}");
}
