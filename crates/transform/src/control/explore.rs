//! State-space exploration. From a network to its automaton: states are explored until there are no new ones.

use super::NotFused;
use super::automaton::{Automaton, Awaited, Holds, Part, Path, Step};
use super::expression::bits_of_value;
use super::follow_samples::{Kind, SAMPLED_VALUES};
use super::liveness::live;
use super::schedule::{Progress, Scheduler, token_width};
use super::state_identity::{General, Key, Shape};
use super::symbolic_execution::{State, Walk};
use super::symbolic_store::{List, ListId};
use super::wiring::Wiring;

use crate::kernel::graph::{MAX_BITS, mask};
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, TableId, Transition};
use headrace_analysis::control::{self, ControlSlice};
use headrace_analysis::order_dependence::{Dependence, findings};
use headrace_ir::{Endpoint, InstanceId, Network, Scalar, Value, VariableId};
use headrace_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Most elements of a list of state.
const MAX_ELEMENTS: usize = 1 << 22;

/// How far an exploration goes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// States of the automaton.
    pub states: usize,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Firings of one transition.
    pub firings: usize,
    /// Values that a variable may be known to have in otherwise equal states: more than most ciphers have rounds.
    pub values: usize,
    /// Which loops in actions are unrolled.
    pub unrolling: Unrolling,
    /// Tokens that a transition puts out at each output port, if there is more than one firing to it; none are said: as many as it
    /// comes to.
    pub outputs: Vec<Option<u64>>,
}

/// A policy of loop unrolling: which loops of actions, whose trip count is known, become straight-line code. The others stay loops
/// ([`Effect::While`](crate::kernel::Effect::While)), as those of which it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrolling {
    /// Iterations that a loop has at most.
    pub iterations: u32,
    /// Operations that it becomes at most, about.
    pub operations: u64,
}

impl Unrolling {
    /// Loops stay loops, rounds of a cipher among them.
    pub const NONE: Unrolling = Unrolling { iterations: 0, operations: 0 };
}

impl Default for Unrolling {
    fn default() -> Self {
        Unrolling { iterations: 300, operations: 40_000 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let unrolling = Unrolling::default();
        Limits { states: 2_000, nodes: 3_000_000, firings: 20_000, values: 12, unrolling, outputs: Vec::new() }
    }
}

/// What a network is given from its beginning: one part after another, each when nothing can be done with those before,
/// and of each the tokens of each input port.
pub type Sample = Vec<Vec<Vec<u128>>>;

/// The control automaton of a network.
///
/// With samples, it has the states that they go through: what no sample does is left to the run-time scheduler. That
/// two actors count the same blocks, each for itself, is not known to a state, so that without samples there are also
/// states that no run can reach, and mostly too many.
///
/// # Errors
///
/// Why the network cannot do without a run-time scheduler.
pub fn automaton_of(network: &Network, samples: &[Sample], limits: &Limits) -> Result<Automaton, NotFused> {
    let followed = Followed { samples, n_uncut: samples.len(), ..Followed::default() };
    automaton_along(network, &followed, limits)
}

/// Samples of different kinds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Followed<'a> {
    /// What most messages are.
    pub samples: &'a [Sample],
    /// In so many of them, the first, messages come at once; those of others are cut.
    pub n_uncut: usize,
    /// Messages that come at once, which tell what may come but not what comes most: [`Automaton::parts`] has none of them.
    pub rare: &'a [Sample],
    /// Messages in pieces of whole blocks, each a part of its sample.
    pub pieces: &'a [Sample],
    /// The same in pieces of other lengths. What may come is in them, not what comes most.
    pub apart: &'a [&'a [Sample]],
    /// Whether whole messages are enough, and others are followed as far as there is room.
    pub partly: bool,
}

/// The same, of samples of different kinds.
///
/// # Errors
///
/// As [`automaton_of`].
pub fn automaton_along(network: &Network, followed: &Followed, limits: &Limits) -> Result<Automaton, NotFused> {
    for (at, instance) in network.instances.iter().enumerate() {
        let actor = network.actor_of(InstanceId(at as u32));
        if findings(actor).iter().any(|finding| matches!(finding.dependence, Dependence::Time { .. })) {
            let reason = format!("what `{}` does depends on when tokens come", instance.name);
            return Err(NotFused::new(reason, instance.span));
        }
    }
    let slice = control::analyse(network);
    let wiring = Wiring::of(network, &slice);
    // Variables that are not known at some shape any more; each turn adds to them, so there is an end.
    let mut general: FxHashMap<Shape, General> = FxHashMap::default();
    // Input ports that are to be read last; each time one more, so there is an end here, too.
    let mut late: BTreeSet<usize> = BTreeSet::new();
    let mut turn = 0;
    loop {
        let mut explorer = Explorer::new(network, &slice, &wiring, limits, (general, late))?;
        let known_before = explorer.n_general();
        let n_late = explorer.late.len();
        explorer.explore(followed)?;
        if explorer.late.len() > n_late {
            (general, late) = (FxHashMap::default(), explorer.late);
            continue;
        }
        // What was found to vary was known in states that came before: they are not met the next time.
        if turn < TURNS && explorer.n_general() > known_before {
            (general, late) = (explorer.general, explorer.late);
            turn += 1;
            continue;
        }
        let samples_alone = explorer.clone();
        let known_before = samples_alone.n_general();
        let (explorer, open) = match explorer.completed() {
            Ok(complete) => (complete, None),
            Err(why) => (samples_alone, Some(why.reason)),
        };
        // What varies where samples do not go is not known there from the beginning, either.
        if turn < TURNS && explorer.n_general() > known_before {
            (general, late) = (explorer.general, explorer.late);
            turn += 1;
            continue;
        }
        let mut automaton = explorer.automaton();
        automaton.open = open.filter(|_| automaton.leaves());
        super::loops::find(&mut automaton, network);
        super::congruence::read_once(&mut automaton, super::congruence::sums_come_to_light);
        super::residues::find(&mut automaton);
        return Ok(automaton);
    }
}

/// Times that the exploration begins anew with what it has found to vary.
const TURNS: usize = 4;

/// States that there may be beside twice those of samples, for all that may happen to be known.
const MORE: usize = 16;

/// How a leaf goes on.
#[derive(Clone, Copy, Debug)]
pub(super) enum Begin {
    /// The initialisers fire.
    Initializers,
    /// The next firing.
    Firing,
    /// Tokens of an input port are read, then the next firing.
    Reading(usize, usize),
}

/// A [`Step`] that is not finished.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    Unexplored(Box<(State, Begin, u32)>),
    Branch {
        before: Vec<Effect>,
        condition: NodeId,
        then: Box<Tree>,
        otherwise: Box<Tree>,
    },
    Wait(Vec<(usize, u64, Tree)>),
    /// A transition, and what of it later decisions depend on.
    Go {
        transition: Transition,
        decisive: Vec<Effect>,
        target: usize,
    },
    End,
}

impl Tree {
    pub fn finished(self) -> Step {
        match self {
            Tree::Unexplored(_) => Step::Deoptimize,
            Tree::Branch { before, condition, then, otherwise } => Step::Branch {
                before,
                condition,
                then: Box::new(then.finished()),
                otherwise: Box::new(otherwise.finished()),
            },
            Tree::Wait(awaited) => Step::Wait(
                awaited
                    .into_iter()
                    .map(|(port, tokens, next)| Awaited { port, tokens, step: next.finished() })
                    .collect(),
            ),
            Tree::Go { transition, target, .. } => Step::Go { transition, target },
            Tree::End => Step::End,
        }
    }
}

#[derive(Clone)]
pub(super) struct Explorer<'a> {
    pub network: &'a Network,
    pub slice: &'a ControlSlice,
    pub wiring: &'a Wiring,
    pub limits: &'a Limits,
    pub general: FxHashMap<Shape, General>,
    /// Input ports that are read when an action lacks nothing else: had they been read first, a transition would have
    /// left their tokens where they were. Nobody waits for the tag that ends a message before he takes the message.
    pub late: BTreeSet<usize>,
    pub graph: Graph,
    pub objects: Vec<Object>,
    pub holds: Vec<Holds>,
    pub initial: Vec<Vec<u128>>,
    /// The list of each variable of each instance.
    pub variables: Vec<Vec<Option<ListId>>>,
    pub lists: Vec<std::rc::Rc<List>>,
    /// Scalar variables of control.
    pub scalars: Vec<ListId>,
    /// The object that holds the tokens of each connection between two transitions.
    pub fifos: Vec<Option<ObjectId>>,
    pub tables: FxHashMap<(usize, VariableId), TableId>,
    pub n_loads: u32,
    pub keys: FxHashMap<Key, usize>,
    pub order: Vec<Key>,
    pub by_shape: FxHashMap<Shape, Vec<usize>>,
    /// The variables of each instance that may still be read, for each state of its actor.
    pub live: Vec<Vec<Vec<bool>>>,
    /// The instance and the variable of each list.
    pub owners: Vec<(usize, usize)>,
    /// What is known of each state so far.
    pub trees: Vec<Tree>,
    /// What each sample comes through.
    pub paths: Vec<Path>,
    /// What each part of each sample comes through.
    pub parts: Vec<Part>,
    /// Values that were computed to follow samples.
    pub n_sampled_values: u64,
}

impl<'a> Explorer<'a> {
    fn new(
        network: &'a Network,
        slice: &'a ControlSlice,
        wiring: &'a Wiring,
        limits: &'a Limits,
        (general, late): (FxHashMap<Shape, General>, BTreeSet<usize>),
    ) -> Result<Self, NotFused> {
        let mut explorer = Explorer {
            network,
            slice,
            wiring,
            limits,
            general,
            late,
            graph: Graph::new(),
            objects: Vec::new(),
            holds: Vec::new(),
            initial: Vec::new(),
            variables: Vec::new(),
            lists: Vec::new(),
            scalars: Vec::new(),
            fifos: Vec::new(),
            tables: FxHashMap::default(),
            n_loads: 0,
            keys: FxHashMap::default(),
            order: Vec::new(),
            by_shape: FxHashMap::default(),
            live: Vec::new(),
            owners: Vec::new(),
            trees: Vec::new(),
            paths: Vec::new(),
            parts: Vec::new(),
            n_sampled_values: 0,
        };
        for at in 0..network.instances.len() {
            explorer.add_variables(at)?;
            explorer.live.push(live(network.actor_of(InstanceId(at as u32))));
        }
        for (at, connection) in network.connections.iter().enumerate() {
            let port = network.target_port(connection);
            let Some(width) = token_width(port.ty) else {
                return Err(NotFused::new("a port is of a type that transitions do not have", port.span));
            };
            let object = matches!(connection.target, Endpoint::Instance(..)).then(|| {
                let (_, target) = network.describe(connection);
                let name = format!("fifo_{}", target.replace('.', "_"));
                explorer.add_object(name, width, 0, Holds::Fifo(at), Vec::new())
            });
            explorer.fifos.push(object);
        }
        Ok(explorer)
    }

    fn add_object(&mut self, name: String, width: u32, length: usize, holds: Holds, initial: Vec<u128>) -> ObjectId {
        let name = if self.objects.iter().any(|object| object.name == name) {
            format!("{name}_{}", self.objects.len())
        } else {
            name
        };
        self.objects.push(Object { name, width, length, persistent: true, residue: None });
        self.holds.push(holds);
        self.initial.push(initial);
        ObjectId(self.objects.len() as u32 - 1)
    }

    fn add_variables(&mut self, at: usize) -> Result<(), NotFused> {
        let instance = &self.network.instances[at];
        let actor = self.network.actor_of(InstanceId(at as u32));
        let mut lists = Vec::with_capacity(actor.variables.len());
        for (number, variable) in actor.variables.iter().enumerate() {
            if !variable.mutable {
                lists.push(None);
                continue;
            }
            let width = variable.ty.element.width();
            if width == 0 || width > MAX_BITS || matches!(variable.ty.element, Scalar::Real(_)) {
                return Err(NotFused::new("a variable is of a type that transitions do not have", variable.span));
            }
            if variable.ty.len() > MAX_ELEMENTS {
                return Err(NotFused::new("a list is larger than transitions take", variable.span));
            }
            let initial: Vec<u128> = match &variable.initial {
                Value::List(elements) if elements.is_empty() => vec![0; variable.ty.len()],
                Value::List(elements) => elements.iter().map(|value| bits_of_value(value) & mask(width)).collect(),
                value => vec![bits_of_value(value) & mask(width)],
            };
            let name = format!("{}_{}", instance.name, variable.name.replace('.', "_"));
            let length = variable.ty.len();
            let holds = Holds::Variable(InstanceId(at as u32), VariableId(number as u32));
            let object = self.add_object(name, width, length, holds, initial);
            let list = ListId(self.lists.len() as u32);
            self.lists.push(List::in_object(object, width, length));
            self.owners.push((at, number));
            if !variable.ty.is_list() && self.slice.instances[at].variables[number].is_control() {
                self.scalars.push(list);
            }
            lists.push(Some(list));
        }
        self.variables.push(lists);
        Ok(())
    }

    /// Values that are not known any more, over all shapes.
    fn n_general(&self) -> usize {
        self.general.values().map(|general| general.slots.len()).sum()
    }

    fn explore(&mut self, followed: &Followed) -> Result<(), NotFused> {
        let Followed { samples, n_uncut, rare, pieces, apart, partly } = *followed;
        // The first state knows what the variables of control begin with.
        let known = self
            .scalars
            .iter()
            .map(|list| {
                let object = self.lists[list.0 as usize].object;
                object.and_then(|object| self.initial[object.0 as usize].first().copied())
            })
            .collect();
        let shape = Shape {
            fsm: (0..self.network.instances.len())
                .map(|at| self.network.actor_of(InstanceId(at as u32)).schedule.initial)
                .collect(),
            fills: vec![0; self.network.connections.len()],
        };
        self.state_of(Key { shape, known });
        if samples.is_empty() {
            let mut next = 0;
            while next < self.trees.len() {
                let mut tree = std::mem::replace(&mut self.trees[next], Tree::End);
                self.grow_all(&mut tree)?;
                self.trees[next] = tree;
                next += 1;
            }
        }
        let (uncut, cut) = samples.split_at(n_uncut);
        // What comes most comes first: where there is no room for all, chunks that come at once are left out before pieces that
        // programs give one by one.
        let first = [(uncut, Kind::Message), (rare, Kind::Rare), (pieces, Kind::Piece)].into_iter();
        let apart = apart.iter().map(|apart| (*apart, Kind::Apart));
        let kinds = first.chain(apart).chain([(cut, Kind::Cut)]);
        for (sample, kind) in kinds.flat_map(|(all, kind)| all.iter().map(move |sample| (sample, kind))) {
            match self.follow(sample, kind) {
                Err(_) if partly && kind != Kind::Message => break,
                followed => followed?,
            }
            if self.n_sampled_values > SAMPLED_VALUES {
                break;
            }
        }
        Ok(())
    }

    /// With all that samples leave open, where few states come of it: no scheduler is needed behind what is complete.
    /// Where actors count the same, each for itself, and no state knows of it, states would come that no run can reach.
    ///
    /// # Errors
    ///
    /// Why it stays open.
    fn completed(mut self) -> Result<Self, NotFused> {
        let most = 2 * self.trees.len() + MORE;
        let mut next = 0;
        while next < self.trees.len() {
            let mut tree = std::mem::replace(&mut self.trees[next], Tree::End);
            self.grow_all(&mut tree)?;
            self.trees[next] = tree;
            next += 1;
            if self.trees.len() > most {
                let reason = "with all that no sample does it would have more than twice its states";
                return Err(NotFused::new(reason, self.network.span));
            }
        }
        Ok(self)
    }

    /// What has been explored.
    fn automaton(mut self) -> Automaton {
        // Objects that transitions added live in one transition only.
        while self.holds.len() < self.objects.len() {
            self.holds.push(Holds::Local);
            self.initial.push(Vec::new());
        }
        let trees = std::mem::take(&mut self.trees);
        let states = trees.into_iter().enumerate().map(|(at, tree)| self.finished(at, tree)).collect();
        Automaton {
            graph: self.graph,
            objects: self.objects,
            holds: self.holds,
            initial: self.initial,
            states,
            open: None,
            paths: self.paths,
            parts: self.parts,
        }
    }

    /// Explores everything below, without samples.
    fn grow_all(&mut self, tree: &mut Tree) -> Result<(), NotFused> {
        self.grow(tree)?;
        match tree {
            Tree::Branch { then, otherwise, .. } => {
                self.grow_all(then)?;
                self.grow_all(otherwise)
            }
            Tree::Wait(awaited) => awaited.iter_mut().try_for_each(|(_, _, next)| self.grow_all(next)),
            Tree::Go { .. } | Tree::End | Tree::Unexplored(..) => Ok(()),
        }
    }

    pub fn scheduler<'s>(&'s mut self) -> Scheduler<'s, 'a, 's> {
        let walk = Walk {
            network: self.network,
            graph: &mut self.graph,
            objects: &mut self.objects,
            variables: &self.variables,
            tables: &mut self.tables,
            n_loads: &mut self.n_loads,
            budget: self.limits.nodes,
            unrolling: self.limits.unrolling,
            span: Span::default(),
        };
        Scheduler::new(walk, self.wiring, &self.late)
    }

    /// Explores a leaf: what may happen before the first firing, and the transition that the first firing begins.
    pub fn grow(&mut self, tree: &mut Tree) -> Result<(), NotFused> {
        if self.order.len() > self.limits.states {
            let last = self.order.last().map(|key| self.describe(key)).unwrap_or_default();
            let reason = format!("the control has more than {} states; the last one was: {last}", self.limits.states);
            return Err(NotFused::new(reason, self.network.span));
        }
        let Tree::Unexplored(leaf) = tree else { return Ok(()) };
        let (mut state, begin, depth) = (**leaf).clone();
        if depth > 64 {
            return Err(NotFused::new("too many decisions before a firing", self.network.span));
        }
        let network = self.network;
        let mut scheduler = self.scheduler();
        match begin {
            Begin::Initializers => {
                for at in 0..network.instances.len() {
                    for action in &network.actor_of(InstanceId(at as u32)).initializers {
                        scheduler.initialize(&mut state, at, action)?;
                    }
                }
                *tree = self.arrive(state);
                return Ok(());
            }
            Begin::Firing => {}
            Begin::Reading(port, tokens) => scheduler.reading = Some((port, tokens)),
        }
        let mut wanted = Vec::new();
        let progress = scheduler.step(&mut state, &mut wanted)?;
        let long = scheduler.long.take().unwrap_or_default();
        *tree = match progress {
            Progress::Fired => self.go_on(state, long)?,
            Progress::Fork(condition) => {
                let before = std::mem::take(&mut state.effects[0]);
                let mut other = state.clone();
                state.facts.assume(&self.graph, condition, true);
                other.facts.assume(&self.graph, condition, false);
                let leaf = |state| Box::new(Tree::Unexplored(Box::new((state, Begin::Firing, depth + 1))));
                Tree::Branch { before, condition, then: leaf(state), otherwise: leaf(other) }
            }
            Progress::Input { .. } => Tree::Wait(
                wanted
                    .into_iter()
                    .map(|(port, tokens)| {
                        let begin = Begin::Reading(port, tokens);
                        let next = Tree::Unexplored(Box::new((state.clone(), begin, depth + 1)));
                        (port, state.consumed[port] + tokens as u64, next)
                    })
                    .collect(),
            ),
            Progress::Blocked | Progress::Long => Tree::End,
        };
        Ok(())
    }

    /// Whether more tokens have been put out at a port than limits say.
    fn puts_out_too_much(&self, state: &State) -> bool {
        let limits = state.produced.iter().zip(&self.limits.outputs);
        limits.into_iter().any(|(produced, most)| most.is_some_and(|most| *produced > most))
    }

    /// After the first firing, with actions that are long if it was one: on until something must be decided.
    fn go_on(&mut self, mut state: State, mut long: Vec<(usize, usize)>) -> Result<Tree, NotFused> {
        let mut wanted = Vec::new();
        let mut firings = 1;
        let mut met: FxHashSet<Key> = FxHashSet::default();
        let mut visits: FxHashMap<Shape, usize> = FxHashMap::default();
        loop {
            // A state that comes again without a decision is a loop without an end but that of room for output.
            let key = self.key_of(&state);
            let count = visits.entry(key.shape.clone()).or_default();
            *count += 1;
            if *count > 300 || firings > self.limits.firings || !met.insert(key) {
                return Ok(self.arrive(state));
            }
            let shorter = (!self.limits.outputs.is_empty()).then(|| state.clone());
            let mut scheduler = self.scheduler();
            // An action that is long is a transition by itself, or with others that are long and all that follows them.
            let alone = (long.len() == 1).then(|| state.clone());
            scheduler.long = Some(long);
            let progress = scheduler.step(&mut state, &mut wanted)?;
            long = scheduler.long.take().unwrap_or_default();
            if let Some(alone) = alone.filter(|_| long.len() == 1) {
                return Ok(self.arrive(alone));
            }
            if let Some(shorter) = shorter.filter(|_| self.puts_out_too_much(&state)) {
                return Ok(self.arrive(shorter));
            }
            match progress {
                Progress::Fired => firings += 1,
                _ => return Ok(self.arrive(state)),
            }
        }
    }
}
