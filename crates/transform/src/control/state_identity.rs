//! State identity and state merging. What tells one state from another, what is in memory when a transition ends, and
//! what the next one finds there.

use super::automaton::ControlState;
use super::explore::{Begin, Explorer, Tree};
use super::liveness::is_live;
use super::symbolic_execution::State;
use super::symbolic_store::ListId;
use crate::kernel::{Effect, Graph, NodeId, Op, Transition};
use headrace_ir::{InstanceId, StateId};
use rustc_hash::{FxHashMap, FxHashSet};

/// What tells one state from another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub shape: Shape,
    /// Values of scalar variables of control, where they are known, then of tokens of control.
    pub known: Vec<Option<u128>>,
}

/// What is always known of a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub fsm: Vec<StateId>,
    pub fills: Vec<usize>,
}

/// What is not known at a shape.
#[derive(Clone, Debug, Default)]
pub(super) struct General {
    /// Control slots.
    pub slots: FxHashSet<usize>,
    /// Values with which the shape stays a state of its own: those that typical runs come to first.
    pub keep: Vec<Vec<Option<u128>>>,
}

/// Values with which a shape stays a state of its own.
const KEPT: usize = 2;

impl Explorer<'_> {
    pub(super) fn finished(&self, at: usize, tree: Tree) -> ControlState {
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

    /// The position of a state, a new one if it has not been met.
    pub(super) fn state_of(&mut self, key: Key) -> usize {
        if let Some(&known) = self.keys.get(&key) {
            return known;
        }
        let at = self.order.len();
        let same = self.by_shape.entry(key.shape.clone()).or_default();
        same.push(at);
        if same.len() > self.limits.values {
            // The values of each slot, if all are known: what is not known does not tell states apart for long.
            let varies: Vec<usize> = (0..key.known.len())
                .filter(|&slot| {
                    let values: Option<FxHashSet<u128>> = same
                        .iter()
                        .map(|&other| self.order.get(other).map_or(key.known[slot], |other| other.known[slot]))
                        .collect();
                    values.is_some_and(|values| values.len() > 1)
                })
                .collect();
            let general = self.general.entry(key.shape.clone()).or_default();
            general.slots.extend(varies);
            if general.keep.is_empty() {
                let keep = same.iter().take(KEPT).filter_map(|&other| self.order.get(other));
                general.keep = keep.map(|other| other.known.clone()).collect();
            }
        }
        let state = self.begin(&key);
        let first = at == 0 && self.network.actors.iter().any(|actor| !actor.initializers.is_empty());
        let begin = if first { Begin::Initializers } else { Begin::Firing };
        self.trees.push(Tree::Unexplored(Box::new((state, begin, 0))));
        // Where initialisers fire first, a state that is the same but for that is another.
        if !first {
            self.keys.insert(key.clone(), at);
        }
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

    /// Values of control slots, where they are known.
    pub(super) fn key_of(&mut self, state: &State) -> Key {
        let shape = Shape { fsm: state.fsm.clone(), fills: state.queues.iter().map(|queue| queue.len()).collect() };
        let mut known = Vec::with_capacity(self.scalars.len());
        let value_of = |graph: &Graph, node: NodeId| {
            let (low, high) = state.facts.range(graph, node);
            (low == high).then_some(low)
        };
        for &list in &self.scalars {
            let node = state.list(list).elements[0].filter(|_| self.is_live(&shape, list));
            known.push(node.and_then(|node| value_of(&self.graph, node)));
        }
        for (connection, queue) in state.queues.iter().enumerate() {
            if self.slice.connections[connection].is_control() && self.fifos[connection].is_some() {
                known.extend(queue.iter().map(|&token| value_of(&self.graph, token)));
            }
        }
        if let Some(general) = self.general.get(&shape).filter(|general| !general.keep.contains(&known)) {
            for &slot in &general.slots {
                known[slot] = None;
            }
        }
        Key { shape, known }
    }

    /// Whether a variable may still be read.
    fn is_live(&self, shape: &Shape, list: ListId) -> bool {
        let (instance, variable) = self.owners[list.0 as usize];
        is_live(&self.live[instance], shape.fsm[instance], variable)
    }

    /// Marks the input ports that a transition has read for nothing: of their tokens all are still in FIFOs.
    fn find_late(&mut self, state: &State) {
        for (port, connections) in self.wiring.boundary.iter().enumerate() {
            let read = state.consumed[port] as usize;
            let mut held = connections.iter().filter(|&&at| self.fifos[at].is_some()).peekable();
            if read > 0 && held.peek().is_some() && held.all(|&at| state.queues[at].len() >= read) {
                self.late.insert(port);
            }
        }
    }

    /// Ends a transition: what the next one finds goes into memory.
    pub(super) fn arrive(&mut self, mut state: State) -> Tree {
        self.find_late(&state);
        let key = self.key_of(&state);
        let lists = self.lists.len();
        let known: FxHashMap<ListId, bool> =
            self.scalars.iter().enumerate().map(|(slot, &list)| (list, key.known[slot].is_some())).collect();
        for at in 0..lists {
            let list = ListId(at as u32);
            if known.get(&list) != Some(&true) && self.is_live(&key.shape, list) {
                self.scheduler().walk.flush(&mut state, list);
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
        let transition = Transition { effects, consumes: state.consumed, produces: state.produced };
        let decisive = self.decisive(&transition.effects);
        Tree::Go { transition, decisive, target }
    }

    pub(super) fn describe(&self, key: &Key) -> String {
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
