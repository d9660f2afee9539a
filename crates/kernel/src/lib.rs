//! Control automata, and their transitions and loops, as values and effects.
//!
//! A transition is what a network does between two decisions. FIFOs, guards and firings are gone. A transition reads
//! tokens of input ports ([`Op::Input`]) and objects ([`Op::Entry`]), computes ([`Graph`]), and has [`Effect`]s in
//! order: tokens of output ports, stores to objects, and, where a list is written at places that are not known, loads
//! and structured loops.

pub mod automaton;
pub mod different;
pub mod evaluate;
pub mod evidence;
pub mod execute;
mod fifo_positions;
pub mod graph;
mod prune_by_samples;
mod storage;
pub mod text;
pub mod verify;

pub use evidence::Evidence;
pub use graph::{Graph, Node, NodeId, ObjectId, Op, Table, TableId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Something in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Name for readers, unique in the transition's network: an identifier of C.
    pub name: String,
    /// Bits of an element.
    pub width: u32,
    /// Number of elements.
    pub length: usize,
    /// Whether it lives from transition to transition; the others are zero when a transition begins and end with it.
    pub persistent: bool,
    /// Where its elements are limbs of a number of which only the residue counts: anything of the same residue may take
    /// its place, in limbs of as many bits.
    pub residue: Option<Residue>,
}

/// A number modulo `2^bits - less`, in limbs of `limb_bits` bits, the least significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Residue {
    /// Bits from one limb to the next.
    pub limb_bits: u32,
    /// Bits of the modulus.
    pub bits: u32,
    /// What it is less than a power of two.
    pub less: u32,
}

impl Object {
    /// Whether it has memory from transition to transition.
    pub fn lives_on(&self) -> bool {
        self.persistent && self.length > 0
    }
}

/// What a transition does, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads an element: the value is [`Op::Loaded`] with this number.
    Load {
        /// Number, unique in the transition.
        id: u32,
        /// The object.
        object: ObjectId,
        /// Which element; less than the length.
        index: NodeId,
    },
    /// Writes an element.
    Store {
        /// The object.
        object: ObjectId,
        /// Which element; less than the length.
        index: NodeId,
        /// What, of the width of the object.
        value: NodeId,
    },
    /// A token of an output port, counted from the first that this run of the transition produces.
    Output {
        /// Position of the port in the network.
        port: u32,
        /// Which token.
        offset: u64,
        /// What.
        value: NodeId,
    },
    /// Ends the run with an error of the program if the condition is 0: an index was outside of its list.
    Check {
        /// 1 bit.
        condition: NodeId,
        /// The index.
        index: NodeId,
        /// The number of elements.
        length: usize,
        /// Where the program says so.
        span: headrace_source::Span,
    },
    /// Runs `before`, ends if the condition is 0, runs the body, and again. Nodes that hold [`Op::Loaded`] of a load
    /// inside have a new value in every iteration.
    While {
        /// What the condition needs.
        before: Vec<Effect>,
        /// 1 bit.
        condition: NodeId,
        /// The body.
        body: Vec<Effect>,
        /// Where it stands in the source.
        span: headrace_source::Span,
    },
    /// One of two lists.
    If {
        /// 1 bit.
        condition: NodeId,
        /// Where it is 1.
        then: Vec<Effect>,
        /// Where it is 0.
        otherwise: Vec<Effect>,
    },
}

impl Effect {
    /// Every effect of a list, those inside of loops and choices too, in the order of the text.
    pub fn walk<'a>(effects: &'a [Effect], visit: &mut dyn FnMut(&'a Effect)) {
        for effect in effects {
            visit(effect);
            match effect {
                Effect::While { before, body, .. } => {
                    Effect::walk(before, visit);
                    Effect::walk(body, visit);
                }
                Effect::If { then, otherwise, .. } => {
                    Effect::walk(then, visit);
                    Effect::walk(otherwise, visit);
                }
                Effect::Load { .. } | Effect::Store { .. } | Effect::Output { .. } | Effect::Check { .. } => {}
            }
        }
    }

    /// All values that a list of effects needs, operands first.
    pub fn needed(effects: &[Effect], graph: &Graph) -> Vec<NodeId> {
        graph.reachable(Effect::roots(effects))
    }

    /// The nodes that a list of effects uses, also those inside of others, as often as they are used.
    pub fn roots(effects: &[Effect]) -> Vec<NodeId> {
        let mut roots = Vec::new();
        Effect::walk(effects, &mut |effect| roots.extend(effect.uses()));
        roots
    }

    /// The nodes that this effect itself uses, without those of effects inside it.
    pub fn uses(&self) -> Vec<NodeId> {
        match self {
            Effect::Load { index, .. } => vec![*index],
            Effect::Store { index, value, .. } => vec![*index, *value],
            Effect::Output { value, .. } => vec![*value],
            Effect::Check { condition, index, .. } => vec![*condition, *index],
            Effect::While { condition, .. } | Effect::If { condition, .. } => vec![*condition],
        }
    }

    /// The same on other values; `None` where one has none.
    pub fn moved(&self, new: &FxHashMap<NodeId, NodeId>) -> Option<Effect> {
        let of = |id: &NodeId| new.get(id).copied();
        let all = |effects: &[Effect]| effects.iter().map(|effect| effect.moved(new)).collect::<Option<Vec<_>>>();
        Some(match self {
            Effect::Load { id, object, index } => Effect::Load { id: *id, object: *object, index: of(index)? },
            Effect::Store { object, index, value } => {
                Effect::Store { object: *object, index: of(index)?, value: of(value)? }
            }
            Effect::Output { port, offset, value } => {
                Effect::Output { port: *port, offset: *offset, value: of(value)? }
            }
            Effect::Check { condition, index, length, span } => {
                Effect::Check { condition: of(condition)?, index: of(index)?, length: *length, span: *span }
            }
            Effect::While { before, condition, body, span } => {
                Effect::While { before: all(before)?, condition: of(condition)?, body: all(body)?, span: *span }
            }
            Effect::If { condition, then, otherwise } => {
                Effect::If { condition: of(condition)?, then: all(then)?, otherwise: all(otherwise)? }
            }
        })
    }
}

/// A transition without decisions about tokens: fixed numbers of tokens in and out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transition {
    /// What it does. Values are nodes of the graph that it was made in.
    pub effects: Vec<Effect>,
    /// Tokens consumed, for each input port of the network.
    pub consumes: Vec<u64>,
    /// Tokens produced, for each output port of the network.
    pub produces: Vec<u64>,
}

/// What a transition or an iteration does, apart from the automaton that it belongs to: effects in order, with all that
/// they speak of.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The values.
    pub graph: Graph,
    /// What [`ObjectId`]s are.
    pub objects: Vec<Object>,
    /// What is done, one after the other.
    pub effects: Vec<Effect>,
    /// Elements of so many objects, the first ones, can be read at any place; of the others places are constants.
    pub n_indexed: usize,
    /// Objects of which nothing that counts is read before it is stored.
    pub filled: Vec<ObjectId>,
}

/// How a value goes from one iteration of a loop to the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Carry {
    /// Bits of a counter: iteration p begins with bits `lo` to `lo + width - 1` of [`Counter`] `counter`.
    Counter {
        /// Position in [`Loop::counters`].
        counter: usize,
        /// Least significant bit.
        lo: u32,
    },
    /// The next value depends on tokens of this iteration and on what no iteration changes only: any iteration but the
    /// first can compute it from the tokens of the iteration before.
    Delay,
    /// Anything else: iterations must run one after the other.
    True,
}

/// A number to which each iteration adds the same, modulo 2^width. It may be kept in several elements, such as the
/// bytes of a counter block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// What it was when the loop began: a `Concat` of [`Op::Entry`]s, or one.
    pub start: NodeId,
    /// What is added in each iteration, less than 2^width.
    pub step: u128,
}

/// Bytes of an object that iterations keep as one word, where they change all of them.
pub const BYTES_OF_WORD: usize = 4;

/// An element of an object that iterations of a loop change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The object.
    pub object: ObjectId,
    /// Which element.
    pub index: usize,
    /// What it holds at the end of an iteration; [`Op::Entry`] of it is what it held at the beginning.
    pub next: NodeId,
    /// How.
    pub carry: Carry,
}

/// A transition that is repeated as often as tokens and counters allow, without a decision in between.
///
/// [`Op::Input`] offsets count from the first token of the iteration; [`Op::Entry`] of a carried element is its value
/// at the beginning of the iteration, of anything else what no iteration changes. There are no loads and stores but
/// those of `carried`.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The values.
    pub graph: Graph,
    /// What [`ObjectId`]s are.
    pub objects: Vec<Object>,
    /// Tokens consumed in an iteration, for each input port of the network, and bits of a token.
    pub consumes: Vec<(u64, u32)>,
    /// Tokens produced in an iteration, for each output port of the network, and bits of a token.
    pub produces: Vec<(u64, u32)>,
    /// Port, offset and value of each token produced.
    pub outputs: Vec<(u32, u64, NodeId)>,
    /// What goes from iteration to iteration.
    pub carried: Vec<Carried>,
    /// Numbers that go on by a constant.
    pub counters: Vec<Counter>,
}

impl Loop {
    /// Whether iterations can run in any order, or at once.
    pub fn is_independent(&self) -> bool {
        self.carried.iter().all(|carried| carried.carry != Carry::True)
    }

    /// Values that the loop is there for: tokens and what is carried on.
    pub fn roots(&self) -> Vec<NodeId> {
        let outputs = self.outputs.iter().map(|output| output.2);
        outputs.chain(self.carried.iter().map(|carried| carried.next)).collect()
    }

    /// All that a call of the loop needs, operands first: what leads to its roots, and where its counters start.
    pub fn needed(&self) -> Vec<NodeId> {
        let starts = self.counters.iter().map(|counter| counter.start);
        self.graph.reachable(self.roots().into_iter().chain(starts))
    }

    /// Objects that are read at places that are not known.
    pub fn read_at_unknown_places(&self) -> FxHashSet<ObjectId> {
        let unknown = |id: NodeId| match *self.graph.op(id) {
            Op::Entry { object, index } => self.graph.constant(index).is_none().then_some(object),
            _ => None,
        };
        self.graph.reachable(self.roots()).into_iter().filter_map(unknown).collect()
    }

    /// The loop with those counters only that its elements have.
    pub fn with_own_counters(mut self) -> Self {
        let mut numbers: FxHashMap<usize, usize> = FxHashMap::default();
        let mut counters: Vec<Counter> = Vec::new();
        for one in &mut self.carried {
            if let Carry::Counter { counter, .. } = &mut one.carry {
                *counter = *numbers.entry(*counter).or_insert_with(|| {
                    counters.push(self.counters[*counter].clone());
                    counters.len() - 1
                });
            }
        }
        self.counters = counters;
        self
    }

    /// The loop in a graph of its own with the same tables. `node` makes what stands for a node, of the new graph and
    /// what stands for nodes before it, operands first; `None` from it is `None` of the whole.
    pub fn rebuilt(
        &self,
        mut node: impl FnMut(&mut Graph, &FxHashMap<NodeId, NodeId>, NodeId) -> Option<NodeId>,
    ) -> Option<Self> {
        let mut graph = Graph::with_tables_of(&self.graph);
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in self.needed() {
            let value = node(&mut graph, &new, id)?;
            new.insert(id, value);
        }
        self.moved(graph, &new)
    }

    /// The loop with its nodes in another graph; `None` where not all that it is there for has a node in that.
    pub fn moved(&self, graph: Graph, new: &FxHashMap<NodeId, NodeId>) -> Option<Self> {
        let of = |id: NodeId| new.get(&id).copied();
        let outputs = self.outputs.iter().map(|&(port, offset, value)| Some((port, offset, of(value)?)));
        let carried = self.carried.iter().map(|one| Some(Carried { next: of(one.next)?, ..one.clone() }));
        let counters = self.counters.iter().map(|one| Some(Counter { start: of(one.start)?, ..one.clone() }));
        Some(Self {
            outputs: outputs.collect::<Option<_>>()?,
            carried: carried.collect::<Option<_>>()?,
            counters: counters.collect::<Option<_>>()?,
            graph,
            ..self.clone()
        })
    }
}
