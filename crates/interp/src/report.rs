//! Deadlock analysis after a run: what waits at its end, and for what.

use crate::Interpreter;
use crate::engine::Running;
use headrace_engine::{Blocked, Leftover, Report, Wait};
use headrace_ir::{Action, Actor};

/// The report on the state as it is.
pub(crate) fn report(interpreter: &Interpreter) -> Report {
    let network = &interpreter.network;
    let mut waits = Vec::new();
    // Where a program trapped or ended itself, nothing waits.
    let waiting = if interpreter.ended.is_some() { &[][..] } else { &interpreter.instances };
    for (at, running) in waiting.iter().enumerate() {
        let actor = &network.actors[running.actor];
        let Some(state) = actor.schedule.states.get(running.state) else { continue };
        let mut wait = |action: &Action, blocked| {
            waits.push(Wait {
                instance: network.instances[at].name.clone(),
                state: state.name.clone(),
                action: action.name.clone(),
                blocked,
            });
        };
        if let Some(action) = actor.initializers.get(running.initialised) {
            if let Some(blocked) = lack_of_room(interpreter, running, actor, action) {
                wait(action, blocked);
            }
            continue;
        }
        for (position, test) in state.tests.iter().enumerate() {
            let action = &actor.actions[test.action.index()];
            if let Some(blocked) = lack_of_tokens(interpreter, running, actor, action) {
                wait(action, blocked);
            } else if interpreter.failed_guards[at].contains(&position) {
                wait(action, Blocked::Guard);
            } else {
                // It is the one that fires next: those after it are not in question.
                if let Some(blocked) = lack_of_room(interpreter, running, actor, action) {
                    wait(action, blocked);
                }
                break;
            }
        }
    }
    let mut leftovers = Vec::new();
    for (connection, fifo) in network.connections.iter().zip(&interpreter.fifos) {
        if fifo.len() > 0 {
            let (source, target) = network.describe(connection);
            leftovers.push(Leftover { source, target, tokens: fifo.len(), capacity: fifo.capacity });
        }
    }
    Report { waits, leftovers }
}

fn lack_of_tokens(interpreter: &Interpreter, running: &Running, actor: &Actor, action: &Action) -> Option<Blocked> {
    action.consumes.iter().find_map(|pattern| {
        let there = running.inputs[pattern.port].map_or(0, |fifo| interpreter.fifos[fifo].len());
        let needed = pattern.tokens();
        (there < needed).then(|| Blocked::Tokens { port: actor.inputs[pattern.port].name.clone(), needed, there })
    })
}

fn lack_of_room(interpreter: &Interpreter, running: &Running, actor: &Actor, action: &Action) -> Option<Blocked> {
    action.produces.iter().find_map(|output| {
        let fullest =
            running.outputs[output.port].iter().copied().min_by_key(|&fifo| interpreter.fifos[fifo].room())?;
        let room = interpreter.fifos[fullest].room();
        let needed = output.tokens();
        (room < needed).then(|| Blocked::Room {
            port: actor.outputs[output.port].name.clone(),
            needed,
            room,
            reader: interpreter.network.describe(&interpreter.network.connections[fullest]).1,
        })
    })
}
