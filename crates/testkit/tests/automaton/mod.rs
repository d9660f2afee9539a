//! What a control automaton means: its kernels run one after the other, on exact numbers, without any program.

use headrace_transform::control::{Automaton, Step};
use headrace_transform::kernel::evaluate::{World, run};
use headrace_transform::kernel::{Effect, NodeId};

/// How a walk through an automaton ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Input is missing, or nothing can ever happen again.
    Rest,
    /// The network with its scheduler goes on.
    Left,
    /// An index was outside of its list.
    Failed,
    /// There were more kernels than a walk may have.
    RanAway,
}

/// Kernels of a walk.
const MOST_KERNELS: usize = 20_000;

/// Statements of a kernel.
const MOST_STATEMENTS: u64 = 1_000_000;

/// Tokens of each output for all tokens of each input, and how the walk ended.
pub fn walk(automaton: &Automaton, inputs: Vec<Vec<u128>>, n_outputs: usize) -> (Vec<Vec<u128>>, End) {
    let consumed = vec![0; inputs.len()];
    let mut objects = automaton.initial.clone();
    for (elements, object) in objects.iter_mut().zip(&automaton.objects) {
        elements.resize(object.length, 0);
    }
    let mut world = World { inputs, consumed, outputs: vec![Vec::new(); n_outputs], objects };
    let mut state = 0;
    for _ in 0..MOST_KERNELS {
        match step(automaton, &automaton.states[state].step, &[], &mut world) {
            Ok(next) => state = next,
            Err(end) => return (world.outputs, end),
        }
    }
    (world.outputs, End::RanAway)
}

/// The next state.
fn step(automaton: &Automaton, own: &Step, before: &[Effect], world: &mut World) -> Result<usize, End> {
    match own {
        Step::Branch { before: more, condition, then, otherwise } => {
            let all: Vec<Effect> = before.iter().chain(more).cloned().collect();
            let holds = decided(automaton, &all, *condition, world)?;
            step(automaton, if holds { then } else { otherwise }, &all, world)
        }
        Step::Wait(awaited) => {
            let there = |port: usize| (world.inputs[port].len() - world.consumed[port]) as u64;
            match awaited.iter().find(|one| there(one.port) >= one.tokens) {
                Some(one) => step(automaton, &one.step, before, world),
                None => Err(End::Rest),
            }
        }
        Step::Go { kernel, target } => {
            let all: Vec<Effect> = before.iter().chain(&kernel.effects).cloned().collect();
            done(automaton, &all, world)?;
            for (consumed, n) in world.consumed.iter_mut().zip(&kernel.consumes) {
                *consumed += *n as usize;
            }
            Ok(*target)
        }
        Step::End => Err(End::Rest),
        Step::Leave => Err(End::Left),
    }
}

fn done(automaton: &Automaton, effects: &[Effect], world: &mut World) -> Result<(), End> {
    // Lists of a kernel alone begin at zero.
    for (elements, object) in world.objects.iter_mut().zip(&automaton.objects) {
        if !object.persistent {
            elements.fill(0);
        }
    }
    let mut budget = MOST_STATEMENTS;
    if run(&automaton.graph, effects, world, &mut budget) { Ok(()) } else { Err(End::Failed) }
}

/// Whether a condition holds behind effects, of which nothing stays.
fn decided(automaton: &Automaton, effects: &[Effect], condition: NodeId, world: &World) -> Result<bool, End> {
    let mut aside = World {
        inputs: world.inputs.clone(),
        consumed: world.consumed.clone(),
        outputs: world.outputs.clone(),
        objects: world.objects.clone(),
    };
    let port = aside.outputs.len();
    aside.outputs.push(Vec::new());
    let mut effects = effects.to_vec();
    effects.push(Effect::Output { port: port as u32, offset: 0, value: condition });
    done(automaton, &effects, &mut aside)?;
    Ok(aside.outputs[port].first().is_some_and(|&value| value != 0))
}
