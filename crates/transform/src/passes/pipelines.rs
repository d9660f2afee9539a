//! Named pipelines: sequences of passes, and what of them depends on who prints.
//!
//! Every printer that does the same thing takes the same pipeline, and says with [`Demand`]s what is particular about its
//! language. Passes that make parts stand in none: who prints parts decides between ways to run a loop, and calls them.

use super::manager::Manager;
use super::pass::{BlockRef, Code, Pass, Seen};
use super::{
    back_substitute_affine, coalesce_byte_writes, factor_rotations, majority_cse, merge_truncated_sums,
    reassociate_by_arrival, reroll_loops, shift_registers, sink_complements,
};
use crate::kernel::{Block, Loop};
use std::fmt;

/// What a language or a loop in it asks for; its text is what command lines call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Code that repeats itself becomes a loop: it is long, and the compiler works while the program runs.
    Short,
    /// Majorities share differences. Measured on SHA-256, code of scalar iterations is faster with it by LLVM, and slower by gcc.
    SharedMajorities,
    /// Rotations are nested, because a rotated register is overwritten.
    NestedRotations,
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Demand::Short => "short",
            Demand::SharedMajorities => "shared-majorities",
            Demand::NestedRotations => "nested-rotations",
        })
    }
}

/// A pass of a pipeline.
#[derive(Clone, Copy)]
pub struct Stage {
    /// The pass.
    pub pass: &'static Pass,
    /// What must be asked for.
    pub only: Option<Demand>,
    /// What must not.
    pub unless: Option<Demand>,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.pass.name)?;
        self.only.map_or(Ok(()), |demand| write!(f, " if {demand}"))?;
        self.unless.map_or(Ok(()), |demand| write!(f, " unless {demand}"))
    }
}

/// Passes in order.
pub struct Pipeline {
    /// What command lines call it.
    pub name: &'static str,
    /// What it is for, as a sentence without a full stop.
    pub about: &'static str,
    /// The passes.
    pub stages: &'static [Stage],
}

const fn always(pass: &'static Pass) -> Stage {
    Stage { pass, only: None, unless: None }
}

const fn only(demand: Demand, pass: &'static Pass) -> Stage {
    Stage { pass, only: Some(demand), unless: None }
}

const fn unless(demand: Demand, pass: &'static Pass) -> Stage {
    Stage { pass, only: None, unless: Some(demand) }
}

/// Of a loop whose iterations run as scalar code, before they are effects.
pub const SCALAR_LOOP: Pipeline = Pipeline {
    name: "scalar-loop",
    about: "Loops that run iteration after iteration in scalar code",
    stages: &[
        only(Demand::SharedMajorities, &majority_cse::PASS),
        // Sums in another order hide what repeats itself, and so do steps that are taken at once.
        unless(Demand::Short, &back_substitute_affine::PASS),
        unless(Demand::Short, &reassociate_by_arrival::PASS),
    ],
};

/// Of the effects of such an iteration.
pub const SCALAR_ITERATION: Pipeline = Pipeline {
    name: "scalar-iteration",
    about: "Effects of an iteration in scalar code",
    stages: &[
        always(&shift_registers::PASS),
        only(Demand::Short, &reroll_loops::PASS),
        only(Demand::Short, &reassociate_by_arrival::PASS),
        only(Demand::NestedRotations, &factor_rotations::PASS),
    ],
};

/// Of the effects of a transition.
pub const TRANSITION: Pipeline = Pipeline {
    name: "transition",
    about: "Effects of a transition in scalar code",
    stages: &[
        unless(Demand::Short, &back_substitute_affine::PASS),
        always(&shift_registers::PASS),
        only(Demand::NestedRotations, &factor_rotations::PASS),
        // Last: whoever makes values anew takes its sums apart again, and words.
        always(&merge_truncated_sums::PASS),
        always(&coalesce_byte_writes::PASS),
    ],
};

/// Of a loop that runs for many messages, one lane each.
pub const MULTI_BUFFER: Pipeline = Pipeline {
    name: "multi-buffer",
    about: "Loops that run for many messages at once, a lane each",
    stages: &[always(&sink_complements::PASS), always(&reassociate_by_arrival::PASS)],
};

/// All of them.
pub const ALL: &[&Pipeline] = &[&SCALAR_LOOP, &SCALAR_ITERATION, &TRANSITION, &MULTI_BUFFER];

impl Demand {
    /// All of them.
    pub const ALL: [Demand; 3] = [Demand::Short, Demand::SharedMajorities, Demand::NestedRotations];
}

impl Pipeline {
    /// The pipeline of a name.
    pub fn named(name: &str) -> Option<&'static Pipeline> {
        ALL.iter().copied().find(|pipeline| pipeline.name == name)
    }

    /// The passes that run where so much is asked for.
    pub fn passes(&self, demands: &[Demand]) -> impl Iterator<Item = &'static Pass> {
        let asked = |demand: Option<Demand>| demand.map(|demand| demands.contains(&demand));
        let runs = move |stage: &&Stage| asked(stage.only) != Some(false) && asked(stage.unless) != Some(true);
        self.stages.iter().filter(runs).map(|stage| stage.pass)
    }

    /// A loop after all of them; `None` where it stays as it is.
    pub fn on_loop(&self, body: &Loop, demands: &[Demand]) -> Option<Loop> {
        self.on_loop_with(body, demands).0
    }

    /// The same, with the passes that changed it.
    pub fn on_loop_with(&self, body: &Loop, demands: &[Demand]) -> (Option<Loop>, Vec<&'static Pass>) {
        let (code, changed) = run(self.passes(demands), Seen::Loop(body));
        (code.and_then(loop_of), changed)
    }

    /// Effects after all of them; `None` where they stay as they are.
    pub fn on_block(&self, block: BlockRef<'_>, demands: &[Demand]) -> Option<Block> {
        block_of(run(self.passes(demands), Seen::Block(block)).0?)
    }
}

impl Pass {
    /// A loop after this pass alone; `None` where it stays as it is.
    pub fn on_loop(&'static self, body: &Loop) -> Option<Loop> {
        loop_of(run([self], Seen::Loop(body)).0?)
    }

    /// Effects after this pass alone; `None` where they stay as they are.
    pub fn on_block(&'static self, block: BlockRef<'_>) -> Option<Block> {
        block_of(run([self], Seen::Block(block)).0?)
    }
}

fn loop_of(code: Code) -> Option<Loop> {
    match code {
        Code::Loop(body) => Some(body),
        Code::Block(_) | Code::Parts(_) => None,
    }
}

fn block_of(code: Code) -> Option<Block> {
    match code {
        Code::Block(block) => Some(block),
        Code::Loop(_) | Code::Parts(_) => None,
    }
}

/// What passes make, verified where debug assertions are, and those that changed something.
fn run(passes: impl IntoIterator<Item = &'static Pass>, code: Seen<'_>) -> (Option<Code>, Vec<&'static Pass>) {
    let mut manager = Manager { verifies: cfg!(debug_assertions), ..Manager::default() };
    let made = manager.run(passes, code);
    debug_assert!(made.is_ok(), "{:?}", made.err());
    match made {
        Ok(code) => (code, manager.changed),
        Err(_) => (None, Vec::new()),
    }
}
