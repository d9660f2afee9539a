//! From a network to its automaton: states are explored until there are no new ones.

use super::NotFused;
use super::automaton::{Automaton, Awaited, ControlState, Holds, Step};
use super::execute::{State, Walk};
use super::expression::bits_of_value;
use super::lists::{List, ListId};
use super::schedule::{Progress, Scheduler, Wiring, token_width};
use crate::kernel::evaluate::{Run, World, run};
use crate::kernel::graph::{MAX_BITS, mask};
use crate::kernel::{Effect, Graph, Kernel, NodeId, Object, ObjectId, Op, TableId};
use headrace_analysis::control::{self, ControlSlice};
use headrace_analysis::order_dependence::{Dependence, findings};
use headrace_ir::{Endpoint, InstanceId, Network, Scalar, StateId, Value, VariableId};
use headrace_source::Span;
use std::collections::{HashMap, HashSet};

/// How far an exploration goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// States of the automaton.
    pub states: usize,
    /// Nodes of the graph.
    pub nodes: usize,
    /// Firings of one kernel.
    pub firings: usize,
    /// Values that a variable may be known to have in otherwise equal states.
    pub values: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { states: 2_000, nodes: 3_000_000, firings: 20_000, values: 8 }
    }
}

/// Kernels that a sample may run.
const SAMPLED_STEPS: usize = 100_000;

/// Effects that a sample may have.
const SAMPLED_EFFECTS: u64 = 3_000_000;

/// What tells one state from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    shape: Shape,
    /// Values of scalar variables of control, where they are known, then of tokens of control.
    known: Vec<Option<u128>>,
}

/// What is always known of a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    fsm: Vec<StateId>,
    fills: Vec<usize>,
}

/// What a network is given from its beginning: one part after another, each when nothing can be done with those before,
/// and of each the tokens of each input port.
pub type Sample = Vec<Vec<Vec<u128>>>;

/// The control automaton of a network.
///
/// With samples, it has the states that they go through: what no sample does is left to the run-time scheduler. That two
/// actors count the same blocks, each for itself, is not known to a state, so that without samples there are also states
/// that no run can reach, and mostly too many.
///
/// # Errors
///
/// Why the network cannot do without a run-time scheduler.
pub fn automaton_of(network: &Network, samples: &[Sample], limits: &Limits) -> Result<Automaton, NotFused> {
    for (at, instance) in network.instances.iter().enumerate() {
        let actor = network.actor_of(InstanceId(at as u32));
        if findings(actor).iter().any(|finding| matches!(finding.dependence, Dependence::Time { .. })) {
            let reason = format!("what `{}` does depends on when tokens come", instance.name);
            return Err(NotFused::new(reason, instance.span));
        }
    }
    let slice = control::analyse(network);
    let wiring = Wiring::of(network);
    // Variables that are not known at some shape any more; each turn adds to them, so there is an end.
    let mut general: HashMap<Shape, General> = HashMap::new();
    loop {
        let explorer = Explorer::new(network, &slice, &wiring, limits, &general)?;
        match explorer.explore(samples)? {
            Explored::Automaton(mut automaton) => {
                super::loops::find(&mut automaton, network);
                return Ok(*automaton);
            }
            Explored::TooManyValues(shape, slots, keep) => {
                let entry = general.entry(shape).or_default();
                entry.slots.extend(slots);
                if entry.keep.is_empty() {
                    entry.keep = keep;
                }
            }
        }
    }
}

enum Explored {
    Automaton(Box<Automaton>),
    /// At this shape these values vary too much; those that were met first.
    TooManyValues(Shape, Vec<usize>, Vec<Vec<Option<u128>>>),
}

/// What is not known at a shape.
#[derive(Clone, Debug, Default)]
struct General {
    /// Control slots.
    slots: HashSet<usize>,
    /// Values with which the shape stays a state of its own: those that typical runs come to first.
    keep: Vec<Vec<Option<u128>>>,
}

/// A shape at which values vary too much, which, and what was met first.
type TooMany = (Shape, Vec<usize>, Vec<Vec<Option<u128>>>);

/// How many such values there are.
const KEPT: usize = 2;

/// How a leaf goes on.
#[derive(Clone, Copy, Debug)]
enum Begin {
    /// The initialisers fire.
    Initializers,
    /// The next firing.
    Firing,
    /// Tokens of an input port are read, then the next firing.
    Reading(usize, usize),
}

/// A [`Step`] that is not finished.
#[derive(Debug)]
enum Tree {
    Unexplored(Box<(State, Begin, u32)>),
    Branch { before: Vec<Effect>, condition: NodeId, then: Box<Tree>, otherwise: Box<Tree> },
    Wait(Vec<(usize, u64, Tree)>),
    Go { kernel: Kernel, target: usize },
    End,
}

impl Tree {
    fn finished(self) -> Step {
        match self {
            Tree::Unexplored(_) => Step::Leave,
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
            Tree::Go { kernel, target } => Step::Go { kernel, target },
            Tree::End => Step::End,
        }
    }
}

struct Explorer<'a> {
    network: &'a Network,
    slice: &'a ControlSlice,
    wiring: &'a Wiring,
    limits: &'a Limits,
    general: &'a HashMap<Shape, General>,
    graph: Graph,
    objects: Vec<Object>,
    holds: Vec<Holds>,
    initial: Vec<Vec<u128>>,
    /// The list of each variable of each instance.
    variables: Vec<Vec<Option<ListId>>>,
    lists: Vec<std::rc::Rc<List>>,
    /// Scalar variables of control.
    scalars: Vec<ListId>,
    /// The object that holds the tokens of each connection between two kernels.
    fifos: Vec<Option<ObjectId>>,
    tables: HashMap<(usize, VariableId), TableId>,
    n_loads: u32,
    keys: HashMap<Key, usize>,
    order: Vec<Key>,
    by_shape: HashMap<Shape, Vec<usize>>,
    too_many: Option<TooMany>,
    /// What is known of each state so far.
    trees: Vec<Tree>,
}

impl<'a> Explorer<'a> {
    fn new(
        network: &'a Network,
        slice: &'a ControlSlice,
        wiring: &'a Wiring,
        limits: &'a Limits,
        general: &'a HashMap<Shape, General>,
    ) -> Result<Self, NotFused> {
        let mut explorer = Explorer {
            network,
            slice,
            wiring,
            limits,
            general,
            graph: Graph::new(),
            objects: Vec::new(),
            holds: Vec::new(),
            initial: Vec::new(),
            variables: Vec::new(),
            lists: Vec::new(),
            scalars: Vec::new(),
            fifos: Vec::new(),
            tables: HashMap::new(),
            n_loads: 0,
            keys: HashMap::new(),
            order: Vec::new(),
            by_shape: HashMap::new(),
            too_many: None,
            trees: Vec::new(),
        };
        for at in 0..network.instances.len() {
            explorer.add_variables(at)?;
        }
        for (at, connection) in network.connections.iter().enumerate() {
            let port = network.target_port(connection);
            let Some(width) = token_width(port.ty) else {
                return Err(NotFused::new("a port is of a type that kernels do not have", port.span));
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
        self.objects.push(Object { name, width, length, persistent: true });
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
                return Err(NotFused::new("a variable is of a type that kernels do not have", variable.span));
            }
            let initial: Vec<u128> = match &variable.initial {
                Value::List(elements) => elements.iter().map(|value| bits_of_value(value) & mask(width)).collect(),
                value => vec![bits_of_value(value) & mask(width)],
            };
            let name = format!("{}_{}", instance.name, variable.name.replace('.', "_"));
            let length = variable.ty.len();
            let holds = Holds::Variable(InstanceId(at as u32), VariableId(number as u32));
            let object = self.add_object(name, width, length, holds, initial);
            let list = ListId(self.lists.len() as u32);
            self.lists.push(List::in_object(object, width, length));
            if !variable.ty.is_list() && self.slice.instances[at].variables[number].is_control() {
                self.scalars.push(list);
            }
            lists.push(Some(list));
        }
        self.variables.push(lists);
        Ok(())
    }

    fn explore(mut self, samples: &[Sample]) -> Result<Explored, NotFused> {
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
            while next < self.trees.len() && self.too_many.is_none() {
                let mut tree = std::mem::replace(&mut self.trees[next], Tree::End);
                self.grow_all(&mut tree)?;
                self.trees[next] = tree;
                next += 1;
            }
        }
        for sample in samples {
            if self.too_many.is_none() {
                self.follow(sample)?;
            }
        }
        if let Some((shape, slots, keep)) = self.too_many {
            return Ok(Explored::TooManyValues(shape, slots, keep));
        }
        // Objects that kernels added live in one kernel only.
        while self.holds.len() < self.objects.len() {
            self.holds.push(Holds::Local);
            self.initial.push(Vec::new());
        }
        let trees = std::mem::take(&mut self.trees);
        let states = trees.into_iter().enumerate().map(|(at, tree)| self.finished(at, tree)).collect();
        Ok(Explored::Automaton(Box::new(Automaton {
            graph: self.graph,
            objects: self.objects,
            holds: self.holds,
            initial: self.initial,
            states,
        })))
    }

    fn finished(&self, at: usize, tree: Tree) -> ControlState {
        let key = &self.order[at];
        let mut known = Vec::new();
        for (slot, list) in self.scalars.iter().enumerate() {
            if let (Some(value), Some(object)) = (key.known[slot], self.lists[list.0 as usize].object) {
                known.push((object, 0, value));
            }
        }
        let mut slot = self.scalars.len();
        for (connection, &fill) in key.shape.fills.iter().enumerate() {
            let Some(object) = self.fifos[connection].filter(|_| self.slice.connections[connection].is_control())
            else {
                continue;
            };
            for token in 0..fill {
                if let Some(value) = key.known[slot] {
                    known.push((object, token, value));
                }
                slot += 1;
            }
        }
        ControlState {
            step: tree.finished(),
            loops: Vec::new(),
            description: self.describe(key),
            fsm: key.shape.fsm.clone(),
            fills: key.shape.fills.clone(),
            known,
        }
    }

    /// Explores what a sample does.
    fn follow(&mut self, sample: &Sample) -> Result<(), NotFused> {
        let mut parts = sample.iter();
        let mut world = World {
            inputs: vec![Vec::new(); self.network.inputs.len()],
            consumed: vec![0; self.network.inputs.len()],
            outputs: vec![Vec::new(); self.network.outputs.len()],
            objects: self.initial.clone(),
        };
        let mut at = 0;
        let mut budget = SAMPLED_EFFECTS;
        for _ in 0..SAMPLED_STEPS {
            // Objects of firings are zero when a kernel begins.
            for (number, object) in self.objects.iter().enumerate() {
                if number >= world.objects.len() {
                    world.objects.push(Vec::new());
                }
                if !object.persistent {
                    world.objects[number].clear();
                }
                world.objects[number].resize(object.length, 0);
            }
            let mut tree = std::mem::replace(&mut self.trees[at], Tree::End);
            let next = self.follow_tree(&mut tree, &mut world, &mut budget);
            self.trees[at] = tree;
            match next? {
                _ if self.too_many.is_some() => break,
                Some(target) => at = target,
                None => match parts.next() {
                    Some(part) => world.inputs.iter_mut().zip(part).for_each(|(all, more)| all.extend(more)),
                    None => break,
                },
            }
        }
        Ok(())
    }

    /// One kernel of a sample; `None` where it ends.
    fn follow_tree(&mut self, tree: &mut Tree, world: &mut World, budget: &mut u64) -> Result<Option<usize>, NotFused> {
        // Nodes are added while the tree grows, so what the run knows is kept apart from the graph.
        let mut tree = tree;
        let mut path: Vec<Effect> = Vec::new();
        loop {
            self.grow(tree)?;
            match tree {
                Tree::Branch { before, condition, then, otherwise } => {
                    path.extend(before.iter().cloned());
                    let mut scratch = world.clone();
                    scratch.objects.iter_mut().zip(&self.objects).for_each(|(elements, object)| {
                        elements.resize(object.length, 0);
                    });
                    for object in &self.objects[scratch.objects.len()..] {
                        scratch.objects.push(vec![0; object.length]);
                    }
                    let mut run = Run::begin(&self.graph, &scratch);
                    if !run.list(&path, &mut scratch, budget) {
                        return Ok(None);
                    }
                    tree = if run.value(&scratch, *condition) == 1 { then } else { otherwise };
                }
                Tree::Wait(awaited) => {
                    let there = |port: usize| (world.inputs[port].len() - world.consumed[port]) as u64;
                    match awaited.iter_mut().find(|awaited| there(awaited.0) >= awaited.1) {
                        Some((_, _, next)) => tree = next,
                        None => return Ok(None),
                    }
                }
                Tree::Go { kernel, target } => {
                    for object in &self.objects[world.objects.len()..] {
                        world.objects.push(vec![0; object.length]);
                    }
                    world.objects.iter_mut().zip(&self.objects).for_each(|(elements, object)| {
                        elements.resize(object.length, 0);
                    });
                    path.extend(kernel.effects.iter().cloned());
                    if !run(&self.graph, &path, world, budget) {
                        return Ok(None);
                    }
                    for (port, consumed) in world.consumed.iter_mut().enumerate() {
                        *consumed += kernel.consumes[port] as usize;
                    }
                    return Ok(Some(*target));
                }
                Tree::End | Tree::Unexplored(..) => return Ok(None),
            }
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

    /// The position of a state, a new one if it has not been met.
    fn state_of(&mut self, key: Key) -> usize {
        if let Some(&known) = self.keys.get(&key) {
            return known;
        }
        let at = self.order.len();
        let same = self.by_shape.entry(key.shape.clone()).or_default();
        same.push(at);
        if same.len() > self.limits.values && self.too_many.is_none() {
            let varies: Vec<usize> = (0..key.known.len())
                .filter(|&slot| {
                    let values: HashSet<_> = same
                        .iter()
                        .map(|&other| self.order.get(other).map_or(key.known[slot], |other| other.known[slot]))
                        .collect();
                    values.len() > 1 && !values.contains(&None) || values.len() > 2
                })
                .collect();
            if !varies.is_empty() {
                let keep = same.iter().take(KEPT).filter_map(|&other| self.order.get(other));
                self.too_many = Some((key.shape.clone(), varies, keep.map(|other| other.known.clone()).collect()));
            }
        }
        let state = self.begin(&key);
        let first = at == 0 && self.network.actors.iter().any(|actor| !actor.initializers.is_empty());
        let begin = if first { Begin::Initializers } else { Begin::Firing };
        self.trees.push(Tree::Unexplored(Box::new((state, begin, 0))));
        self.keys.insert(key.clone(), at);
        self.order.push(key);
        at
    }

    /// What is there when a state begins.
    fn begin(&mut self, key: &Key) -> State {
        let ports = (self.network.inputs.len(), self.network.outputs.len());
        let mut state = State::new(key.shape.fsm.clone(), self.network.connections.len(), self.lists.clone(), ports);
        for (slot, &list) in self.scalars.iter().enumerate() {
            if let Some(value) = key.known[slot] {
                let width = state.list(list).width;
                let node = self.graph.number(value, width);
                let list = state.list_mut(list);
                list.elements[0] = Some(node);
                // Memory does not hold what the state knows.
                list.dirty[0] = true;
            }
        }
        let mut slot = self.scalars.len();
        for (connection, &fill) in key.shape.fills.iter().enumerate() {
            let Some(object) = self.fifos[connection] else { continue };
            let width = self.objects[object.0 as usize].width;
            for at in 0..fill {
                let known = match self.slice.connections[connection].is_control() {
                    true => {
                        slot += 1;
                        key.known[slot - 1]
                    }
                    false => None,
                };
                let token = match known {
                    Some(value) => self.graph.number(value, width),
                    None => {
                        let index = self.graph.number(at as u128, 32);
                        self.graph.entry(object, index, width)
                    }
                };
                state.queues[connection].push_back(token);
            }
        }
        state
    }

    fn scheduler<'s>(&'s mut self) -> Scheduler<'s, 'a, 's> {
        let walk = Walk {
            network: self.network,
            graph: &mut self.graph,
            objects: &mut self.objects,
            variables: &self.variables,
            tables: &mut self.tables,
            n_loads: &mut self.n_loads,
            budget: self.limits.nodes,
            span: Span::default(),
        };
        Scheduler::new(walk, self.wiring)
    }

    /// Explores a leaf: what may happen before the first firing, and the kernel that the first firing begins.
    fn grow(&mut self, tree: &mut Tree) -> Result<(), NotFused> {
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
        *tree = match scheduler.step(&mut state, &mut wanted)? {
            Progress::Fired => self.go_on(state)?,
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
            Progress::Blocked => Tree::End,
        };
        Ok(())
    }

    /// After the first firing: on until something must be decided.
    fn go_on(&mut self, mut state: State) -> Result<Tree, NotFused> {
        let mut wanted = Vec::new();
        let mut firings = 1;
        let mut met: HashSet<Key> = HashSet::new();
        let mut visits: HashMap<Shape, usize> = HashMap::new();
        loop {
            // A state that comes again without a decision is a loop without an end but that of room for output.
            let key = self.key_of(&state);
            let count = visits.entry(key.shape.clone()).or_default();
            *count += 1;
            if *count > 300 || firings > self.limits.firings || !met.insert(key) {
                return Ok(self.arrive(state));
            }
            let mut scheduler = self.scheduler();
            match scheduler.step(&mut state, &mut wanted)? {
                Progress::Fired => firings += 1,
                _ => return Ok(self.arrive(state)),
            }
        }
    }

    /// Values of control slots, where they are known.
    fn key_of(&mut self, state: &State) -> Key {
        let shape = Shape { fsm: state.fsm.clone(), fills: state.queues.iter().map(|queue| queue.len()).collect() };
        let general = self.general.get(&shape);
        let mut known = Vec::with_capacity(self.scalars.len());
        let value_of = |graph: &Graph, node: NodeId| {
            let (low, high) = state.facts.range(graph, node);
            (low == high).then_some(low)
        };
        for &list in &self.scalars {
            let node = state.list(list).elements[0];
            known.push(node.and_then(|node| value_of(&self.graph, node)));
        }
        for (connection, queue) in state.queues.iter().enumerate() {
            if self.slice.connections[connection].is_control() && self.fifos[connection].is_some() {
                known.extend(queue.iter().map(|&token| value_of(&self.graph, token)));
            }
        }
        if let Some(general) = general.filter(|general| !general.keep.contains(&known)) {
            for &slot in &general.slots {
                known[slot] = None;
            }
        }
        Key { shape, known }
    }

    /// Ends a kernel: what the next one finds goes into memory.
    fn arrive(&mut self, mut state: State) -> Tree {
        let key = self.key_of(&state);
        let lists = self.lists.len();
        let known: HashMap<ListId, bool> =
            self.scalars.iter().enumerate().map(|(slot, &list)| (list, key.known[slot].is_some())).collect();
        {
            let mut scheduler = self.scheduler();
            for at in 0..lists {
                let list = ListId(at as u32);
                if known.get(&list) != Some(&true) {
                    scheduler.walk.flush(&mut state, list);
                }
            }
        }
        let mut slot = self.scalars.len();
        for connection in 0..state.queues.len() {
            let Some(object) = self.fifos[connection] else { continue };
            let tokens: Vec<NodeId> = state.queues[connection].iter().copied().collect();
            let length = &mut self.objects[object.0 as usize].length;
            *length = (*length).max(tokens.len());
            for (at, value) in tokens.into_iter().enumerate() {
                if self.slice.connections[connection].is_control() {
                    slot += 1;
                    if key.known[slot - 1].is_some() {
                        continue;
                    }
                }
                let index = self.graph.number(at as u128, 32);
                if *self.graph.op(value) != (Op::Entry { object, index }) {
                    state.push(Effect::Store { object, index, value });
                }
            }
        }
        let target = self.state_of(key);
        let effects = std::mem::take(&mut state.effects[0]);
        let kernel = Kernel { effects, consumes: state.consumed, produces: state.produced };
        Tree::Go { kernel, target }
    }

    fn describe(&self, key: &Key) -> String {
        let mut parts = Vec::new();
        for (at, instance) in self.network.instances.iter().enumerate() {
            let actor = self.network.actor_of(InstanceId(at as u32));
            if actor.schedule.states.len() > 1 {
                parts.push(format!("{}: {}", instance.name, actor.schedule.states[key.shape.fsm[at].index()].name));
            }
        }
        for (slot, list) in self.scalars.iter().enumerate() {
            if let (Some(value), Some(object)) = (key.known[slot], self.lists[list.0 as usize].object) {
                parts.push(format!("{} = {value}", self.objects[object.0 as usize].name));
            }
        }
        for (connection, &fill) in key.shape.fills.iter().enumerate() {
            if fill > 0 {
                let (_, target) = self.network.describe(&self.network.connections[connection]);
                parts.push(format!("{fill} in {target}"));
            }
        }
        parts.join(", ")
    }
}
