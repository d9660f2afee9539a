//! Evaluator of data flow: what transitions and loops mean. It is the judge of every pass and printer.

use super::graph::{Graph, NodeId, ObjectId, Op, mask, signed};
use super::{Effect, Loop};
use on_demand::OnDemand;
use rustc_hash::FxHashMap;

mod on_demand;

/// What a transition reads.
pub trait Environment {
    /// A token of an input port; see [`Op::Input`].
    fn input(&self, port: u32, offset: i64) -> u128;
    /// What an element held when the transition began; 0 outside.
    fn entry(&self, object: ObjectId, index: u128) -> u128;
    /// What a load read.
    fn loaded(&self, _id: u32) -> u128 {
        0
    }
    /// What an instruction of a machine gives.
    fn instruction(&self, _description: u32, _operands: &[u128]) -> u128 {
        0
    }
}

/// The values of nodes, all that `roots` need, operands first.
pub fn values(graph: &Graph, roots: &[NodeId], environment: &dyn Environment) -> FxHashMap<NodeId, u128> {
    let mut values = Values::new(graph, roots.iter().copied());
    values.compute(environment);
    values.order.iter().map(|&id| (id, values.of(id))).collect()
}

/// Nodes of a graph whose values are computed again and again.
#[derive(Debug)]
pub struct Values<'a> {
    graph: &'a Graph,
    order: Vec<NodeId>,
    values: Vec<u128>,
}

impl<'a> Values<'a> {
    /// Those that `roots` need, not computed yet.
    pub fn new(graph: &'a Graph, roots: impl IntoIterator<Item = NodeId>) -> Values<'a> {
        let order = graph.reachable(roots);
        let length = order.last().map_or(0, |last| last.0 as usize + 1);
        Values { graph, order, values: vec![0; length] }
    }

    /// Computes all of them.
    pub fn compute(&mut self, environment: &dyn Environment) {
        for &id in &self.order {
            let now = value(self.graph, id, &|id| self.of(*id), environment);
            self.values[id.0 as usize] = now;
        }
    }

    /// What a node was when they were computed; 0 where it is not among them.
    pub fn of(&self, id: NodeId) -> u128 {
        self.values.get(id.0 as usize).copied().unwrap_or(0)
    }
}

/// What a node gives for these operands, in the order of [`Op::operands`]. It reads nothing from outside.
pub fn operation(graph: &Graph, id: NodeId, operands: &[u128]) -> u128 {
    struct Nothing;
    impl Environment for Nothing {
        fn input(&self, _port: u32, _offset: i64) -> u128 {
            0
        }
        fn entry(&self, _object: ObjectId, _index: u128) -> u128 {
            0
        }
    }
    let ids = graph.op(id).operands();
    let of = |wanted: &NodeId| ids.iter().zip(operands).find(|(id, _)| *id == wanted).map_or(0, |(_, value)| *value);
    value(graph, id, &of, &Nothing)
}

fn value(graph: &Graph, id: NodeId, of: &impl Fn(&NodeId) -> u128, environment: &dyn Environment) -> u128 {
    let node = graph.node(id);
    let width_of = |id: &NodeId| graph.width(*id);
    let amount = |id: &NodeId| of(id).min(255) as u32;
    let result = match &node.op {
        Op::Const(value) => *value,
        Op::Input { port, offset } => environment.input(*port, *offset),
        Op::Entry { object, index } => environment.entry(*object, of(index)),
        Op::Loaded(id) => environment.loaded(*id),
        Op::Not(a) => !of(a),
        Op::And(a, b) => of(a) & of(b),
        Op::Or(a, b) => of(a) | of(b),
        Op::Xor(a, b) => of(a) ^ of(b),
        Op::Add(a, b) => of(a).wrapping_add(of(b)),
        Op::Sub(a, b) => of(a).wrapping_sub(of(b)),
        Op::Mul(a, b) => of(a).wrapping_mul(of(b)),
        Op::Divide(a, b) => of(a).checked_div(of(b)).unwrap_or(0),
        Op::Remainder(a, b) => of(a).checked_rem(of(b)).unwrap_or(0),
        Op::ShiftLeft(a, b) => of(a).checked_shl(amount(b)).unwrap_or(0),
        Op::ShiftRight(a, b) => of(a).checked_shr(amount(b)).unwrap_or(0),
        Op::ShiftRightSigned(a, b) => (signed(of(a), width_of(a)) >> amount(b).min(127)) as u128,
        Op::RotateLeft(a, b) => {
            let count = (of(b) % u128::from(node.width)) as u32;
            let value = of(a);
            if count == 0 { value } else { value << count | value >> (node.width - count) }
        }
        Op::Extract(a, lo) => of(a) >> lo,
        Op::Concat(parts) => parts.iter().fold(0, |high, part| match width_of(part) {
            128.. => of(part),
            width => high << width | of(part),
        }),
        Op::SignExtend(a) => signed(of(a), width_of(a)) as u128,
        Op::Equal(a, b) => u128::from(of(a) == of(b)),
        Op::Less(a, b) => u128::from(of(a) < of(b)),
        Op::LessSigned(a, b) => u128::from(signed(of(a), width_of(a)) < signed(of(b), width_of(b))),
        Op::Select(c, a, b) => {
            if of(c) == 1 {
                of(a)
            } else {
                of(b)
            }
        }
        Op::Lookup(table, index) => graph.table(*table).elements.get(of(index) as usize).copied().unwrap_or(0),
        Op::LookupBytes(table, a) => (0..node.width.div_ceil(8)).fold(0, |all, byte| {
            let at = (of(a) >> (8 * byte) & 0xff) as usize;
            all | graph.table(*table).elements.get(at).copied().unwrap_or(0) << (8 * byte)
        }),
        Op::Instruction { description, operands } => {
            let operands: Vec<u128> = operands.iter().map(of).collect();
            environment.instruction(*description, &operands)
        }
    };
    result & mask(node.width)
}

/// What lies outside of a transition: tokens and memory.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Tokens of each input port, from the first one.
    pub inputs: Vec<Vec<u128>>,
    /// How many of them are consumed.
    pub consumed: Vec<usize>,
    /// Tokens of each output port.
    pub outputs: Vec<Vec<u128>>,
    /// Elements of each object.
    pub objects: Vec<Vec<u128>>,
}

struct At<'a> {
    world: &'a World,
    /// What elements held when the transition began, of those that it has written.
    before: &'a Elements,
    loaded: &'a FxHashMap<u32, u128>,
    instruction: &'a dyn Fn(u32, &[u128]) -> u128,
}

impl Environment for At<'_> {
    fn instruction(&self, description: u32, operands: &[u128]) -> u128 {
        (self.instruction)(description, operands)
    }

    fn input(&self, port: u32, offset: i64) -> u128 {
        let from = self.world.consumed.get(port as usize).copied().unwrap_or(0) as i64;
        let tokens = self.world.inputs.get(port as usize);
        let at = usize::try_from(from + offset).ok();
        at.and_then(|at| tokens.and_then(|tokens| tokens.get(at))).copied().unwrap_or(0)
    }

    fn entry(&self, object: ObjectId, index: u128) -> u128 {
        let at = index as usize;
        let now = || self.world.objects.get(object.0 as usize).and_then(|elements| elements.get(at)).copied();
        self.before.get(&(object, at)).copied().or_else(now).unwrap_or(0)
    }

    fn loaded(&self, id: u32) -> u128 {
        self.loaded.get(&id).copied().unwrap_or(0)
    }
}

/// Does what a list of effects says; tokens consumed are counted by the caller. At most `budget` effects; `false` when
/// that is spent or a check fails.
pub fn run(graph: &Graph, effects: &[Effect], world: &mut World, budget: &mut u64) -> bool {
    Run::begin(world).list(graph, effects, world, budget)
}

/// Values of some elements of objects.
type Elements = FxHashMap<(ObjectId, usize), u128>;

/// A transition under way: what it found when it began, what it has loaded and computed.
///
/// The graph may grow in between, and so may objects, by zeros.
#[derive(Debug, Default)]
pub struct Run {
    /// What the elements that it has written held when it began.
    before: Elements,
    starts: Vec<usize>,
    loaded: FxHashMap<u32, u128>,
    values: OnDemand,
}

impl Run {
    /// Begins a transition.
    pub fn begin(world: &World) -> Run {
        let mut run = Run::default();
        run.restart(world);
        run
    }

    /// Begins another transition in the memory of this one, which has ended: of a graph of any number of nodes, that takes
    /// no longer than the transition.
    pub fn restart(&mut self, world: &World) {
        self.before.clear();
        self.starts.clear();
        self.starts.extend(world.outputs.iter().map(Vec::len));
        self.loaded.clear();
        self.values.restart();
    }

    /// How many values it has computed so far.
    pub fn n_computed(&self) -> u64 {
        self.values.n_computed()
    }

    /// The elements that it has written.
    pub fn written(&self) -> impl Iterator<Item = (ObjectId, usize)> {
        self.before.keys().copied()
    }

    /// Takes back all effects, as if the transition had not begun. Nothing but another one may be begun with it then.
    pub fn undo(&mut self, world: &mut World) {
        for ((object, at), value) in self.before.drain() {
            world.objects[object.0 as usize][at] = value;
        }
        world.outputs.iter_mut().zip(&self.starts).for_each(|(tokens, start)| tokens.truncate(*start));
    }

    /// The value of a node now.
    pub fn value(&mut self, graph: &Graph, world: &World, node: NodeId) -> u128 {
        let at = At { world, before: &self.before, loaded: &self.loaded, instruction: &|_, _| 0 };
        self.values.value(graph, node, &at)
    }

    /// Does effects in order.
    pub fn list(&mut self, graph: &Graph, effects: &[Effect], world: &mut World, budget: &mut u64) -> bool {
        for effect in effects {
            if *budget == 0 {
                return false;
            }
            *budget -= 1;
            match effect {
                Effect::Load { id, object, index } => {
                    let at = self.value(graph, world, *index) as usize;
                    let element = world.objects[object.0 as usize].get(at).copied().unwrap_or(0);
                    self.loaded.insert(*id, element);
                }
                Effect::Store { object, index, value } => {
                    let (at, value) = (self.value(graph, world, *index) as usize, self.value(graph, world, *value));
                    if let Some(element) = world.objects[object.0 as usize].get_mut(at) {
                        self.before.entry((*object, at)).or_insert(*element);
                        *element = value;
                    }
                }
                Effect::Output { port, offset, value } => {
                    let value = self.value(graph, world, *value);
                    let at = self.starts[*port as usize] + *offset as usize;
                    let tokens = &mut world.outputs[*port as usize];
                    if tokens.len() <= at {
                        tokens.resize(at + 1, 0);
                    }
                    tokens[at] = value;
                }
                Effect::Check { condition, .. } => {
                    if self.value(graph, world, *condition) == 0 {
                        return false;
                    }
                }
                Effect::If { condition, then, otherwise } => {
                    let chosen = if self.value(graph, world, *condition) == 1 { then } else { otherwise };
                    if !self.list(graph, chosen, world, budget) {
                        return false;
                    }
                }
                Effect::While { before, condition, body, .. } => {
                    loop {
                        // What was loaded in the last iteration is loaded anew.
                        self.values.forget();
                        if *budget == 0 || !self.list(graph, before, world, budget) {
                            return false;
                        }
                        *budget -= 1;
                        if self.value(graph, world, *condition) == 0 {
                            break;
                        }
                        if !self.list(graph, body, world, budget) {
                            return false;
                        }
                    }
                    self.values.forget();
                }
            }
        }
        true
    }
}

/// Runs iterations of a loop. The tokens are there.
pub fn run_loop(body: &Loop, world: &mut World, iterations: u64) {
    run_loop_with(body, world, iterations, &|_, _| 0);
}

/// The same for a loop with instructions of a machine, whose results `instruction` says.
pub fn run_loop_with(body: &Loop, world: &mut World, iterations: u64, instruction: &dyn Fn(u32, &[u128]) -> u128) {
    iterate(body, &mut Values::new(&body.graph, body.roots()), world, iterations, instruction);
}

/// The same with the memory for the values of its roots, which other calls may have used.
pub(crate) fn iterate(
    body: &Loop,
    now: &mut Values,
    world: &mut World,
    iterations: u64,
    instruction: &dyn Fn(u32, &[u128]) -> u128,
) {
    let (before, loaded) = (Elements::default(), FxHashMap::default());
    for _ in 0..iterations {
        now.compute(&At { world, before: &before, loaded: &loaded, instruction });
        for (port, tokens) in world.outputs.iter_mut().enumerate() {
            let n = body.produces.get(port).map_or(0, |produces| produces.0) as usize;
            let start = tokens.len();
            tokens.resize(start + n, 0);
            for (_, offset, value) in body.outputs.iter().filter(|output| output.0 as usize == port) {
                tokens[start + *offset as usize] = now.of(*value);
            }
        }
        for carried in &body.carried {
            world.objects[carried.object.0 as usize][carried.index] = now.of(carried.next);
        }
        for (port, consumed) in world.consumed.iter_mut().enumerate() {
            *consumed += body.consumes.get(port).map_or(0, |consumes| consumes.0) as usize;
        }
    }
}
