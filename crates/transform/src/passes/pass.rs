//! Passes as values: what each is called, what it requires and establishes, and what it makes.
//!
//! A pass rewrites loops or blocks of effects without a change of meaning. Three kinds of results are told apart: a loop or
//! a block in the place of the old one ([`Form::Loop`], [`Form::Block`]), and [`Parts`], where a loop becomes several, or a
//! loop and something beside it. Who prints parts calls the function of the pass itself, for the typed result; in
//! [`Parts`] there is what all have in common: a text, and whether they mean what the loop means.

use super::select_instructions::Choice;
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::evidence::{DRAWS, drawn};
use crate::kernel::text::{block_text, loop_text};
use crate::kernel::verify::{verify_block, verify_loop};
use crate::kernel::{Block, Carry, Effect, Graph, Loop, NodeId, Object, ObjectId, Op};
use std::fmt;

/// A pass: a constant of the file that it stands in, and a line of the registry.
pub struct Pass {
    /// The name of its file, with hyphens.
    pub name: &'static str,
    /// What it does, as a sentence without a full stop.
    pub about: &'static str,
    /// What must hold for it to be tried.
    pub requires: &'static [Property],
    /// What holds of its result.
    pub establishes: &'static [Property],
    /// What may not hold any more.
    pub gives_up: &'static [Property],
    /// The function.
    pub form: Form,
}

/// What a pass takes and makes.
#[derive(Clone, Copy)]
pub enum Form {
    /// A loop of a loop.
    Loop(fn(&Loop) -> Option<Loop>),
    /// Effects of effects.
    Block(fn(BlockRef<'_>) -> Option<Block>),
    /// Both.
    Either(fn(&Loop) -> Option<Loop>, fn(BlockRef<'_>) -> Option<Block>),
    /// Parts of a loop.
    Parts(fn(&Loop) -> Option<Box<dyn Parts>>),
    /// Parts of a loop, by instructions of a machine.
    Instructions(fn(&Loop, &Choice) -> Option<Box<dyn Parts>>),
}

/// What can be required of loops and effects, or established.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Iterations need nothing of each other but counters and delays.
    Independent,
    /// Iterations run one after the other.
    Dependent,
    /// No instruction of a machine stands in it.
    NoInstructions,
    /// There are no loops and choices among the effects.
    Straight,
    /// Fewer values are computed than before the pass.
    FewerValues,
    /// Sums are added in the order in which the network adds them. No look at the values tells: it holds in the beginning,
    /// until a pass gives it up.
    SumsAsWritten,
}

impl Property {
    /// Whether it is known from the passes that have run, and not from the values.
    pub fn is_tracked(self) -> bool {
        self == Property::SumsAsWritten
    }

    /// Whether it holds, as far as values tell; `before` is what the pass was given.
    pub(super) fn holds(self, now: Seen<'_>, before: Seen<'_>) -> bool {
        match (self, now) {
            (Property::Independent, Seen::Loop(body)) => body.is_independent(),
            (Property::Dependent, Seen::Loop(body)) => body.carried.iter().any(|one| one.carry == Carry::True),
            (Property::NoInstructions, now) => {
                let graph = now.graph();
                !now.needed().iter().any(|id| matches!(graph.op(*id), Op::Instruction { .. }))
            }
            (Property::Straight, Seen::Block(block)) => {
                !block.effects.iter().any(|effect| matches!(effect, Effect::While { .. } | Effect::If { .. }))
            }
            (Property::FewerValues, now) => now.needed().len() < before.needed().len(),
            (Property::Independent | Property::Dependent, Seen::Block(_)) => false,
            (Property::Straight, Seen::Loop(_)) | (Property::SumsAsWritten, _) => true,
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Property::Independent => "independent iterations",
            Property::Dependent => "iterations that run one after the other",
            Property::NoInstructions => "no instructions of a machine",
            Property::Straight => "effects without loops and choices",
            Property::FewerValues => "fewer values",
            Property::SumsAsWritten => "sums in the order of the network",
        })
    }
}

/// Effects that somebody holds, with what they speak of; see [`Block`].
#[derive(Clone, Copy)]
pub struct BlockRef<'a> {
    /// The values.
    pub graph: &'a Graph,
    /// The objects.
    pub objects: &'a [Object],
    /// The effects.
    pub effects: &'a [Effect],
    /// How many objects are lists.
    pub n_indexed: usize,
    /// Objects of which nothing that counts is read before it is stored.
    pub filled: &'a [ObjectId],
}

impl<'a> BlockRef<'a> {
    /// Those of a block.
    pub fn of(block: &'a Block) -> Self {
        let Block { graph, objects, effects, n_indexed, filled } = block;
        Self { graph, objects, effects, n_indexed: *n_indexed, filled }
    }

    /// A block with other values and effects over the same objects.
    pub fn with(self, (graph, effects): (Graph, Vec<Effect>)) -> Block {
        let (objects, filled) = (self.objects.to_vec(), self.filled.to_vec());
        Block { graph, objects, effects, n_indexed: self.n_indexed, filled }
    }
}

/// What passes are given.
#[derive(Clone, Copy)]
pub enum Seen<'a> {
    /// A loop.
    Loop(&'a Loop),
    /// Effects.
    Block(BlockRef<'a>),
}

impl<'a> Seen<'a> {
    fn graph(self) -> &'a Graph {
        match self {
            Seen::Loop(body) => &body.graph,
            Seen::Block(block) => block.graph,
        }
    }

    fn needed(self) -> Vec<NodeId> {
        match self {
            Seen::Loop(body) => body.needed(),
            Seen::Block(block) => Effect::needed(block.effects, block.graph),
        }
    }

    /// Values that it needs.
    pub fn n_values(self) -> usize {
        self.needed().len()
    }

    /// As text.
    pub fn text(self) -> String {
        match self {
            Seen::Loop(body) => loop_text(body),
            Seen::Block(block) => block_text(&block.with((block.graph.clone(), block.effects.to_vec()))),
        }
    }
}

/// What passes make.
pub enum Code {
    /// A loop.
    Loop(Loop),
    /// Effects.
    Block(Block),
    /// A loop in parts. No pass takes those.
    Parts(Box<dyn Parts>),
}

impl Code {
    /// What the next pass is given; `None` of parts.
    pub fn seen(&self) -> Option<Seen<'_>> {
        match self {
            Code::Loop(body) => Some(Seen::Loop(body)),
            Code::Block(block) => Some(Seen::Block(BlockRef::of(block))),
            Code::Parts(_) => None,
        }
    }

    /// As text.
    pub fn text(&self) -> String {
        match self {
            Code::Loop(body) => loop_text(body),
            Code::Block(block) => block_text(block),
            Code::Parts(parts) => {
                let loops = parts.loops().into_iter().map(|(name, body)| format!("{name}: {}", loop_text(body)));
                loops.chain(parts.beside().into_iter().map(|line| line + "\n")).collect()
            }
        }
    }

    /// Everything in it that is not as it must be.
    pub fn problems(&self) -> Vec<String> {
        match self {
            Code::Loop(body) => verify_loop(body),
            Code::Block(block) => verify_block(block),
            Code::Parts(parts) => parts.loops().into_iter().flat_map(|(_, body)| verify_loop(body)).collect(),
        }
    }
}

/// A loop in parts: several loops, or a loop and what comes before or after it.
pub trait Parts {
    /// The loops, and what each is for.
    fn loops(&self) -> Vec<(&'static str, &Loop)>;

    /// What stands beside them, a line each.
    fn beside(&self) -> Vec<String>;

    /// Whether the parts leave behind what the loop leaves that they were made of, on random tokens and elements.
    fn agree_with(&self, body: &Loop) -> bool;
}

/// Parts, as all that makes parts gives them.
pub(super) fn boxed(parts: impl Parts + 'static) -> Box<dyn Parts> {
    Box::new(parts)
}

/// Iterations that parts are tried on.
pub(super) const ITERATIONS: u64 = 5;

/// Whether `run` leaves behind what [`ITERATIONS`] iterations of a loop do, on random tokens and elements.
pub(super) fn leaves_the_same(body: &Loop, run: impl Fn(&mut World) -> Option<()>) -> bool {
    (0..DRAWS).all(|seed| {
        let mut meant = drawn(body, ITERATIONS, seed);
        let mut made = meant.clone();
        run_loop(body, &mut meant, ITERATIONS);
        let is_done = run(&mut made).is_some();
        is_done
            && meant.outputs == made.outputs
            && meant.objects.iter().zip(&made.objects).all(|(one, other)| one == other)
    })
}
