//! Control automata: finite state machines of the control of whole networks, with data flow on their transitions. A state is what
//! control depends on, a transition reads and writes tokens and memory, a counted loop is a cycle of transitions.

use crate::different::Different;
use crate::{Effect, Graph, Loop, NodeId, Object, ObjectId, Transition};
use headrace_ir::{InstanceId, StateId, VariableId};
use std::collections::BTreeSet;

/// What may happen in a state, as a tree of decisions with a transition at each leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A decision on values that are public, or else reported.
    Branch {
        /// What the condition needs, loads and checks, and tokens that ports of the network have passed on before it.
        before: Vec<Effect>,
        /// 1 bit.
        condition: NodeId,
        /// Where it is 1.
        then: Box<Step>,
        /// Where it is 0.
        otherwise: Box<Step>,
    },
    /// Input is needed: the first port that has enough tokens decides. When none has, the run ends here.
    Wait(Vec<Awaited>),
    /// A transition, and where it leads.
    Go {
        /// What is done.
        transition: Transition,
        /// Position in [`Automaton::states`].
        target: usize,
    },
    /// Nothing can ever fire again.
    End,
    /// What happens here has not been explored: the run-time scheduler goes on from the beginning of the state.
    Deoptimize,
}

/// Input that a state can go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Position in the network's input ports.
    pub port: usize,
    /// Tokens that must be there.
    pub tokens: u64,
    /// What then.
    pub step: Step,
}

/// A bound on the iterations of a loop that counters set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trips {
    /// None unless the condition (1 bit of the loop's graph, which no iteration changes) is as said.
    Unless(NodeId, bool),
    /// As many iterations as `value` can be made less by `step` and still be more than `limit`, counted from before the
    /// first iteration: `(value - limit - 1) / step + 1` where it is more, else none.
    Above {
        /// An unsigned number.
        value: NodeId,
        /// What it must be more than before each iteration.
        limit: u128,
        /// What each iteration takes away.
        step: u128,
    },
    /// As many iterations as `value` can be made more by `step` and still be less than `limit`.
    Below {
        /// An unsigned number.
        value: NodeId,
        /// What it must be less than before each iteration.
        limit: u128,
        /// What each iteration adds.
        step: u128,
    },
}

impl Trips {
    /// What is tested or counted.
    pub fn node(&self) -> NodeId {
        match *self {
            Trips::Unless(node, _) => node,
            Trips::Above { value, .. } | Trips::Below { value, .. } => value,
        }
    }

    /// The same with the node that stands for it in another graph.
    pub fn with(self, of: impl FnOnce(NodeId) -> NodeId) -> Trips {
        match self {
            Trips::Unless(node, holds) => Trips::Unless(of(node), holds),
            Trips::Above { value, limit, step } => Trips::Above { value: of(value), limit, step },
            Trips::Below { value, limit, step } => Trips::Below { value: of(value), limit, step },
        }
    }
}

/// How elements that only decisions read go on while a loop runs: one way after the other is taken as often as it can
/// be, and again from the first, until none can be taken.
#[derive(Clone, Debug)]
pub struct CountedPaths {
    /// The values of all of them. Objects are those of the automaton.
    pub graph: Graph,
    /// The ways.
    pub ways: Vec<CountedPath>,
    /// A way that begins like these and ends in another state.
    pub last: Option<LastIteration>,
}

/// A way that does with data what an iteration of a loop does, and then does not go round: the last block of a message.
/// It is taken when no other is, at most once, and the loop ends with it.
#[derive(Clone, Debug)]
pub struct LastIteration {
    /// Its bounds, and what else it does.
    pub way: CountedPath,
    /// The state that it leads to.
    pub target: usize,
}

/// A way on which a loop does the same with its data as on others.
#[derive(Clone, Debug)]
pub struct CountedPath {
    /// Iterations of the loop that one time is.
    pub iterations: u64,
    /// Whether the bounds are known for one time only.
    pub once: bool,
    /// Bounds on the number of times, as the elements are before the first.
    pub trips: Vec<Trips>,
    /// What becomes of the elements; values are those before the first time.
    pub updates: Vec<Update>,
}

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// The object.
    pub object: ObjectId,
    /// Which element.
    pub index: usize,
    /// How.
    pub next: Next,
}

/// How an element goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Each time so much is added, at most 64 bits.
    Step(u128),
    /// It has this value afterwards, however often.
    Value(NodeId),
}

/// Elements of a list at a place that goes on with the iterations of a loop: a strided access. They are tokens of a port that
/// the loop has beyond those of the network, one group of them behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The list.
    pub object: ObjectId,
    /// Its element that the first iteration begins with, as objects are before that; a value of the loop. Elements for all
    /// iterations are inside of the list: bounds of the loop see to that.
    pub start: NodeId,
}

/// A cycle of transitions that leads back to its state.
#[derive(Clone, Debug)]
pub struct CountedLoop {
    /// One time round. Its objects are those of the automaton. Behind ports of the network come those of windows.
    pub body: Loop,
    /// Lists that are read, the last input ports of the body. Nothing in the loop writes them.
    pub read: Vec<Window>,
    /// Lists that are written, the last output ports of the body. Nothing in the loop reads them.
    pub written: Vec<Window>,
    /// Bounds on the number of iterations, where there are `rounds` beyond those of these; nodes are of the body's graph.
    /// Tokens and room are bounds too.
    pub trips: Vec<Trips>,
    /// How many transitions one time round is.
    pub transitions: usize,
    /// Where several cycles do this with data: what else they do, and the bounds of each.
    pub rounds: Option<CountedPaths>,
}

impl CountedLoop {
    /// A loop that one transition is, with its tokens and room as the only bounds.
    pub fn of(body: Loop) -> CountedLoop {
        CountedLoop { body, read: Vec::new(), written: Vec::new(), trips: Vec::new(), transitions: 1, rounds: None }
    }

    /// Nodes that a call needs beyond the iterations of its body: bounds, and where windows begin.
    pub fn before(&self) -> impl Iterator<Item = NodeId> + '_ {
        let windows = self.read.iter().chain(&self.written).map(|window| window.start);
        self.trips.iter().map(Trips::node).chain(windows)
    }

    /// Input ports of the body that are ports of the network.
    pub fn n_inputs(&self) -> usize {
        self.body.consumes.len().saturating_sub(self.read.len())
    }

    /// Output ports of the body that are ports of the network.
    pub fn n_outputs(&self) -> usize {
        self.body.produces.len().saturating_sub(self.written.len())
    }

    /// Whether it works on lists beside its ports.
    pub fn has_windows(&self) -> bool {
        !self.read.is_empty() || !self.written.is_empty()
    }
}

/// A state of the control.
#[derive(Clone, Debug)]
pub struct ControlState {
    /// What may happen in it.
    pub step: Step,
    /// What is repeated here as often as tokens and counters allow, before anything else: the more an iteration does
    /// the earlier.
    pub loops: Vec<CountedLoop>,
    /// What is known in it, for readers: states of actors, tokens in FIFOs, values.
    pub description: String,
    /// States of the actors.
    pub fsm: Vec<StateId>,
    /// Tokens in each FIFO of the network; 0 for those that end at the boundary.
    pub fills: Vec<usize>,
    /// Elements of objects that memory does not hold, because they are the same whenever the state is reached.
    pub known: Vec<(ObjectId, usize, u128)>,
}

/// What an object of an automaton holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A state variable.
    Variable(InstanceId, VariableId),
    /// Tokens of a FIFO, by its position in the network's connections.
    Fifo(usize),
    /// A list of a firing.
    Local,
}

/// The control automaton: state 0 is the first.
#[derive(Clone, Debug, Default)]
pub struct Automaton {
    /// The values of all transitions.
    pub graph: Graph,
    /// Memory. Persistent objects of variables begin with the initial values in `initial`.
    pub objects: Vec<Object>,
    /// What each object holds.
    pub holds: Vec<Holds>,
    /// Elements of each persistent object before the first transition.
    pub initial: Vec<Vec<u128>>,
    /// The states.
    pub states: Vec<ControlState>,
    /// Why there are states that may come to something that nobody explored, as a sentence without a full stop.
    pub open: Option<String>,
    /// What each sample came through, if there were samples.
    pub paths: Vec<Path>,
    /// What each part of each sample came through.
    pub parts: Vec<Part>,
}

/// What a part of a sample, such as a message, came through: from where the automaton rested to where it rested again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The state that it began in.
    pub from: usize,
    /// The state that it ended in.
    pub to: usize,
    /// All states between, with both: positions in [`Automaton::states`].
    pub states: BTreeSet<usize>,
    /// Whether it is a piece of a message, or the beginning or the end of one that came in pieces.
    pub is_piece: bool,
}

/// How messages of a sample come, the most usual way first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// Each at once.
    #[default]
    AtOnce,
    /// In pieces, each of which comes when nothing can be done with those before.
    InPieces,
    /// In chunks that are all there from the beginning.
    InChunks,
}

impl Arrival {
    /// All of them, in their order.
    pub const ALL: [Arrival; 3] = [Arrival::AtOnce, Arrival::InPieces, Arrival::InChunks];
}

/// What a sample came through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// Parts of the sample, such as messages.
    pub n_parts: usize,
    /// Whether these are all parts of it, not only the first ones.
    pub is_whole: bool,
    /// How messages of it come.
    pub arrival: Arrival,
    /// Positions in [`Automaton::states`].
    pub states: BTreeSet<usize>,
}

impl Step {
    /// Whether it may come to something that nobody explored.
    pub fn leaves(&self) -> bool {
        match self {
            Step::Branch { then, otherwise, .. } => then.leaves() || otherwise.leaves(),
            Step::Wait(awaited) => awaited.iter().any(|awaited| awaited.step.leaves()),
            Step::Go { .. } | Step::End => false,
            Step::Deoptimize => true,
        }
    }

    fn most_awaited(&self, most: &mut [u64]) {
        match self {
            Step::Branch { then, otherwise, .. } => {
                then.most_awaited(most);
                otherwise.most_awaited(most);
            }
            Step::Wait(awaited) => {
                for one in awaited {
                    most[one.port] = most[one.port].max(one.tokens);
                    one.step.most_awaited(most);
                }
            }
            Step::Go { .. } | Step::End | Step::Deoptimize => {}
        }
    }

    /// Every list of effects of the tree.
    pub fn effects<'a>(&'a self, visit: &mut dyn FnMut(&'a [Effect])) {
        match self {
            Step::Branch { before, then, otherwise, .. } => {
                visit(before);
                then.effects(visit);
                otherwise.effects(visit);
            }
            Step::Wait(awaited) => awaited.iter().for_each(|awaited| awaited.step.effects(visit)),
            Step::Go { transition, .. } => visit(&transition.effects),
            Step::End | Step::Deoptimize => {}
        }
    }

    /// Every transition of the tree with its target.
    pub fn transitions<'a>(&'a self, visit: &mut dyn FnMut(&'a Transition, usize)) {
        match self {
            Step::Branch { then, otherwise, .. } => {
                then.transitions(visit);
                otherwise.transitions(visit);
            }
            Step::Wait(awaited) => awaited.iter().for_each(|awaited| awaited.step.transitions(visit)),
            Step::Go { transition, target } => visit(transition, *target),
            Step::End | Step::Deoptimize => {}
        }
    }
}

impl Automaton {
    /// The object that a number stands for.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.objects[id.0 as usize]
    }

    /// Whether it may come to something that nobody explored; otherwise it is complete.
    pub fn leaves(&self) -> bool {
        self.states.iter().any(|state| state.step.leaves())
    }

    /// The largest number of tokens that must be there at once, for each of so many input ports.
    pub fn most_awaited(&self, n_inputs: usize) -> Vec<u64> {
        let mut most = vec![0; n_inputs];
        self.states.iter().for_each(|state| state.step.most_awaited(&mut most));
        most
    }

    /// The largest number of tokens that a transition makes, for each of so many output ports.
    pub fn most_produced(&self, n_outputs: usize) -> Vec<u64> {
        let mut most = vec![0; n_outputs];
        for state in &self.states {
            state.step.transitions(&mut |transition, _| {
                for (most, &n) in most.iter_mut().zip(&transition.produces) {
                    *most = (*most).max(n);
                }
            });
        }
        most
    }

    /// For each of so many input and output ports, whether what leads back to its state moves tokens of it: those that
    /// come in bulk.
    pub fn in_bulk(&self, n_inputs: usize, n_outputs: usize) -> (Vec<bool>, Vec<bool>) {
        fn mark(bulk: &mut [bool], tokens: impl Iterator<Item = u64>) {
            bulk.iter_mut().zip(tokens).for_each(|(bulk, n)| *bulk |= n > 0);
        }
        let (mut read, mut written) = (vec![false; n_inputs], vec![false; n_outputs]);
        for (number, state) in self.states.iter().enumerate() {
            for counted in &state.loops {
                mark(&mut read, counted.body.consumes.iter().map(|(n, _)| *n));
                mark(&mut written, counted.body.produces.iter().map(|(n, _)| *n));
            }
            state.step.transitions(&mut |transition, target| {
                if target == number {
                    mark(&mut read, transition.consumes.iter().copied());
                    mark(&mut written, transition.produces.iter().copied());
                }
            });
        }
        (read, written)
    }

    /// Number of transitions.
    pub fn n_kernels(&self) -> usize {
        let mut n = 0;
        for state in &self.states {
            state.step.transitions(&mut |_, _| n += 1);
        }
        n
    }

    /// Number of effects of all transitions; those that do the same count once.
    pub fn n_effects(&self) -> usize {
        let mut met = Different::of(self);
        self.states.iter().map(|state| met.meet(&state.step)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_what_leads_back_to_its_state_are_in_bulk() {
        let go = |consumes: Vec<u64>, produces: Vec<u64>, target: usize| ControlState {
            step: Step::Go { transition: Transition { effects: Vec::new(), consumes, produces }, target },
            loops: Vec::new(),
            description: String::new(),
            fsm: Vec::new(),
            fills: Vec::new(),
            known: Vec::new(),
        };
        let automaton = Automaton {
            states: vec![go(vec![16, 0], vec![0, 1], 1), go(vec![0, 4], vec![4, 0], 1)],
            ..Automaton::default()
        };
        assert_eq!(automaton.in_bulk(2, 2), (vec![false, true], vec![true, false]));
    }
}
