//! Rematerialization: values that are kept are computed again from what they were made of, where that is less.
//!
//! A network that expands a key keeps all round keys. A datapath that computes the schedule beside the rounds keeps the key alone: what
//! a task stores, if it depends on tokens only and has more bits than these, is replaced by these, and who reads it computes it. Rounds
//! then find the key of the next round beside them ([`super::plan`]); where they do not, as in an order that cannot be computed
//! forwards, the plan is larger, and the values are kept.

use super::region::{Region, Task};
use headrace_kernel::{Graph, NodeId, Object, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// An object whose elements one task makes of tokens.
struct Candidate {
    object: ObjectId,
    writer: usize,
    /// Tokens that the elements are made of: port, number, bits.
    tokens: Vec<(u32, i64, u32)>,
    /// Whether an element may be read before the task was done.
    is_early: bool,
}

impl Region {
    /// The region with what is worth it computed again; `None` where nothing is.
    pub(crate) fn rematerialized(&self) -> Option<Region> {
        let mut region = self.clone();
        let mut any = false;
        for at in 0..self.objects.len() {
            if let Some(candidate) = region.candidate(ObjectId(at as u32)) {
                region = region.replaced(&candidate);
                any = true;
            }
        }
        any.then(|| region.without_dead_stores())
    }

    fn candidate(&self, object: ObjectId) -> Option<Candidate> {
        let writers: Vec<usize> =
            (0..self.tasks.len()).filter(|&at| self.tasks[at].stores.iter().any(|store| store.0 == object)).collect();
        let &[writer] = writers.as_slice() else { return None };
        let stored: Vec<NodeId> =
            self.tasks[writer].stores.iter().filter(|store| store.0 == object).map(|store| store.2).collect();
        let mut tokens = Vec::new();
        for id in self.graph.reachable(stored) {
            match self.graph.op(id) {
                Op::Input { port, offset } => tokens.push((*port, *offset, self.graph.width(id))),
                Op::Entry { .. } => return None,
                _ => {}
            }
        }
        // Who reads which elements.
        let mut bits = 0;
        let roots = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all());
        let mut elements = FxHashSet::default();
        for id in self.graph.reachable(roots) {
            if let Op::Entry { object: of, index } = self.graph.op(id)
                && *of == object
            {
                elements.insert(self.graph.constant(*index)?);
                bits += u64::from(self.graph.width(id));
            }
        }
        if self.objects_of(self.tasks[writer].roots()).contains(&object) {
            return None;
        }
        let held: u64 = tokens.iter().map(|token| u64::from(token.2)).sum();
        let is_early = self.is_read_without(object, writer);
        (bits * 2 > held * 3 && !tokens.is_empty()).then_some(Candidate { object, writer, tokens, is_early })
    }

    /// Whether a state comes in which an object is read, though a task was never done.
    fn is_read_without(&self, object: ObjectId, writer: usize) -> bool {
        let mut open = vec![0];
        let mut met = FxHashSet::default();
        while let Some(state) = open.pop() {
            if !met.insert(state) {
                continue;
            }
            let tree = &self.states[state].0;
            let mut roots = tree.conditions();
            for (task, target) in tree.leaves() {
                roots.extend(self.tasks[task].roots());
                if task != writer {
                    open.push(target);
                }
            }
            if self.objects_of(roots).contains(&object) {
                return true;
            }
        }
        false
    }

    fn replaced(&self, candidate: &Candidate) -> Region {
        let Candidate { object, writer, .. } = *candidate;
        let mut region = Region { graph: Graph::with_tables_of(&self.graph), ..self.clone() };
        let name = &self.objects[object.0 as usize].name;
        let add = |region: &mut Region, name: String, width: u32, length: usize| {
            region.objects.push(Object { name, width, length, persistent: true, residue: None });
            region.initial.push(Vec::new());
            ObjectId(region.objects.len() as u32 - 1)
        };
        // Tokens of one width are elements of one object.
        let mut places: FxHashMap<(u32, i64), (ObjectId, usize, u32)> = FxHashMap::default();
        let mut widths: Vec<u32> = candidate.tokens.iter().map(|token| token.2).collect();
        widths.sort_unstable();
        widths.dedup();
        for width in widths {
            let all: Vec<_> = candidate.tokens.iter().filter(|token| token.2 == width).collect();
            let of = add(&mut region, format!("{name}_from_{width}"), width, all.len());
            places.extend(all.iter().enumerate().map(|(at, token)| ((token.0, token.1), (of, at, width))));
        }
        let flag = candidate.is_early.then(|| add(&mut region, format!("{name}_is_there"), 1, 1));
        let is_zero_before = self.initial[object.0 as usize].iter().all(|value| *value == 0);
        let mut gate = flag.filter(|_| is_zero_before).map(|flag| Gate { flag, closed: FxHashSet::default() });
        // The values of elements, of the tokens that are kept, in the order in which they were computed.
        let stores: Vec<_> = self.tasks[writer].stores.iter().filter(|store| store.0 == object).collect();
        let mut derived: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let graph = &mut region.graph;
        for id in self.graph.reachable(stores.iter().map(|store| store.2)) {
            let value = match self.graph.op(id) {
                Op::Input { port, offset } => {
                    let (of, at, width) = places[&(*port, *offset)];
                    let index = graph.number(at as u128, 32);
                    graph.entry(of, index, width)
                }
                op => {
                    let mut operands: Vec<NodeId> =
                        op.operands().into_iter().map(|operand| derived[&operand]).collect();
                    if let Some(gate) = &mut gate {
                        gate.operands(graph, op, &mut operands);
                    }
                    graph.rebuild(op, self.graph.width(id), &operands)
                }
            };
            if let Some(gate) = &mut gate {
                gate.note(graph, value);
            }
            derived.insert(id, value);
        }
        let element: FxHashMap<u128, NodeId> =
            stores.iter().map(|store| (store.1 as u128, derived[&store.2])).collect();
        let roots = self.tasks.iter().flat_map(Task::roots).chain(self.conditions_of_all());
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let read = |graph: &mut Graph, new: &mut FxHashMap<NodeId, NodeId>, id: NodeId| {
            let Op::Entry { object: of, index } = self.graph.op(id) else { return };
            if *of != object || new.contains_key(&id) {
                return;
            }
            let (index, width) = (self.graph.constant(*index).unwrap_or(0), self.graph.width(id));
            let initial = self.initial[object.0 as usize].get(index as usize).copied().unwrap_or(0);
            let initial = graph.number(initial, width);
            let value = match (element.get(&index), flag) {
                (None, _) => initial,
                (Some(&value), None) => value,
                (Some(&value), Some(_)) if gate.as_ref().is_some_and(|gate| gate.closed.contains(&value)) => value,
                (Some(&value), Some(flag)) => {
                    let zero = graph.number(0, 32);
                    let is_there = graph.entry(flag, zero, 1);
                    graph.select(is_there, value, initial)
                }
            };
            new.insert(id, value);
        };
        // What is read stands right before what first needs it, so that rounds are alike in order, too.
        let mut late = Vec::new();
        for id in self.graph.reachable(roots) {
            let op = self.graph.op(id);
            if matches!(op, Op::Entry { object: of, .. } if *of == object) {
                late.push(id);
                continue;
            }
            let operands = op.operands().to_vec();
            operands.iter().for_each(|&operand| read(graph, &mut new, operand));
            let operands: Vec<NodeId> = operands.into_iter().map(|operand| new[&operand]).collect();
            let value = graph.rebuild(op, self.graph.width(id), &operands);
            new.insert(id, value);
        }
        late.into_iter().for_each(|id| read(graph, &mut new, id));
        region.substitute(&new);
        let task = &mut region.tasks[writer];
        task.stores.retain(|store| store.0 != object);
        for &(port, offset, width) in &candidate.tokens {
            let (of, at, _) = places[&(port, offset)];
            task.stores.push((of, at, region.graph.input(port, offset, width)));
        }
        task.stores.extend(flag.map(|flag| (flag, 0, region.graph.bit(true))));
        region
    }
}

/// Values that must be 0 until a task was done once: what it keeps is 0 until then, and so is what is made of that alone. Only where
/// something else is added it is held back, so that a schedule of many words is held back in one of them.
struct Gate {
    /// Whether the task was done.
    flag: ObjectId,
    /// Values that are 0 before.
    closed: FxHashSet<NodeId>,
}

impl Gate {
    fn is_closed(&self, graph: &Graph, id: NodeId) -> bool {
        self.closed.contains(&id) || graph.constant(id) == Some(0)
    }

    /// Notes whether a value is 0 before the task was done.
    fn note(&mut self, graph: &Graph, id: NodeId) {
        let op = graph.op(id);
        let mut operands = op.operands().into_iter();
        let is_closed = match op {
            Op::Entry { .. } => true,
            Op::And(..) => operands.any(|operand| self.is_closed(graph, operand)),
            Op::Xor(..) | Op::Or(..) | Op::Extract(..) | Op::Concat(_) | Op::SignExtend(_) => {
                operands.all(|operand| self.is_closed(graph, operand))
            }
            _ => false,
        };
        if is_closed {
            self.closed.insert(id);
        }
    }

    /// Holds back what is added to a value that is 0.
    fn operands(&mut self, graph: &mut Graph, op: &Op, operands: &mut [NodeId]) {
        let &mut [a, b] = operands else { return };
        let other = match (self.is_closed(graph, a), self.is_closed(graph, b)) {
            (true, false) => 1,
            (false, true) => 0,
            _ => return,
        };
        if !matches!(op, Op::Xor(..) | Op::Or(..)) {
            return;
        }
        let index = graph.number(0, 32);
        let is_there = graph.entry(self.flag, index, 1);
        let zero = graph.number(0, graph.width(operands[other]));
        operands[other] = graph.select(is_there, operands[other], zero);
        self.closed.insert(operands[other]);
    }
}
