//! The walk: states at the blocks of a program, until nothing is added.
//!
//! It executes on what is known and joins what is not. A state stands at a *position*: the path of calls that led to a block,
//! and for each loop around it the number of its round. As long as the known decides when a loop ends, its rounds stay apart,
//! so that counters, pointers and indices of tables are exact; where an end is not decided (a length that is not known), that
//! round and all after it are one, and what is known of numbers is widened there until nothing changes. Both ways of a branch
//! that is not decided are taken and joined where they meet again in the same round.

use crate::finding::{Findings, Kind};
use crate::graph::{Block, Graph};
use crate::image::Image;
use crate::registers::RSP;
use crate::state::{Learnt, State};
use crate::step::{Flow, Step};
use crate::value::{Numbers, Region, Value};
use iced_x86::InstructionInfoFactory;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// The round of a loop whose end is not decided.
const OPEN: u32 = u32::MAX;
/// More rounds than this are one, decided or not.
const MOST_ROUNDS: u32 = 1 << 16;
const MOST_CALLS: usize = 64;
/// An indirect jump that may go to more places is not understood.
const MOST_TARGETS: usize = 512;

/// One function that is being executed.
struct Frame {
    graph: Rc<Graph>,
    /// Where in the path of a position this frame's part begins.
    start: usize,
    depth: usize,
    caller: Option<Caller>,
    /// The stack pointer at its entry, where the return address stands.
    stack: Value,
}

struct Caller {
    frame: Rc<Frame>,
    /// The block that ends with the call, and its position.
    block: u64,
    path: Rc<[u32]>,
}

struct Node {
    frame: Rc<Frame>,
    block: u64,
    state: State,
    visits: u32,
    waiting: bool,
}

/// What can be told of a whole walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub instructions: u64,
}

pub(crate) struct Walk<'a> {
    image: &'a Image,
    findings: &'a mut Findings,
    work: &'a mut Work,
    /// As many instructions are executed at most, over the whole scenario.
    budget: u64,
    factory: InstructionInfoFactory,
    graphs: HashMap<u64, Rc<Graph>>,
    indirect: &'a mut BTreeMap<u64, BTreeSet<u64>>,
    discovered: bool,
    nodes: BTreeMap<Rc<[u32]>, Node>,
    waiting: BTreeSet<Rc<[u32]>>,
    functions: HashMap<u64, u32>,
    returned: Option<State>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        image: &'a Image,
        findings: &'a mut Findings,
        work: &'a mut Work,
        budget: u64,
        indirect: &'a mut BTreeMap<u64, BTreeSet<u64>>,
    ) -> Self {
        Self {
            image,
            findings,
            work,
            budget,
            factory: InstructionInfoFactory::new(),
            graphs: HashMap::new(),
            indirect,
            discovered: false,
            nodes: BTreeMap::new(),
            waiting: BTreeSet::new(),
            functions: HashMap::new(),
            returned: None,
        }
    }

    /// Walks a function from a state, in which the stack pointer points at the return address. Gives what holds afterwards,
    /// if it returns, and whether indirect jumps were found to go where they were not known to: then what was found is
    /// incomplete, and the walk has to be repeated.
    pub(crate) fn run(mut self, entry: u64, state: State) -> (Option<State>, bool) {
        self.enter(entry, state, None, &Rc::from([]), 0);
        while let Some(path) = self.waiting.pop_first() {
            let open = path.contains(&OPEN);
            // Nothing leads back to a position outside of open loops.
            let taken = if open {
                self.nodes.get_mut(&path).map(|node| {
                    node.waiting = false;
                    (Rc::clone(&node.frame), node.block, node.state.clone())
                })
            } else {
                self.nodes.remove(&path).map(|node| (node.frame, node.block, node.state))
            };
            let Some((frame, block, state)) = taken else { continue };
            self.block(&frame, block, &path, state);
            if self.work.instructions > self.budget {
                self.findings.add(
                    Kind::NotUnderstood,
                    block,
                    "the walk takes too long; nothing is said about what follows",
                );
                break;
            }
        }
        (self.returned, self.discovered)
    }

    fn graph(&mut self, entry: u64) -> Rc<Graph> {
        let (image, indirect) = (self.image, &*self.indirect);
        Rc::clone(self.graphs.entry(entry).or_insert_with(|| Rc::new(Graph::read(image, entry, indirect))))
    }

    /// Begins a function.
    fn enter(&mut self, entry: u64, state: State, caller: Option<Caller>, prefix: &Rc<[u32]>, depth: usize) {
        let graph = self.graph(entry);
        let next = u32::try_from(self.functions.len()).unwrap_or(OPEN - 1);
        let number = *self.functions.entry(entry).or_insert(next);
        let mut path = prefix.to_vec();
        path.push(number);
        let frame = Rc::new(Frame { graph, start: path.len(), depth, caller, stack: state.general[RSP].value.clone() });
        let Some(block) = frame.graph.blocks.get(&entry) else { return };
        for head in &block.loops {
            path.extend([*head, 0]);
        }
        path.push(block.order);
        self.arrive(path.into(), &frame, entry, state, false);
    }

    /// Adds a state to a position.
    fn arrive(&mut self, path: Rc<[u32]>, frame: &Rc<Frame>, block: u64, state: State, widens: bool) {
        match self.nodes.get_mut(&path) {
            None => {
                let node = Node { frame: Rc::clone(frame), block, state, visits: 0, waiting: true };
                self.nodes.insert(Rc::clone(&path), node);
                self.waiting.insert(path);
            }
            Some(node) => {
                node.visits += 1;
                // A few rounds tell whether a number moves at all.
                let widen = widens && node.visits > 2;
                if node.state.join(&state, widen, self.image) && !node.waiting {
                    node.waiting = true;
                    self.waiting.insert(path);
                }
            }
        }
    }

    /// Goes from a block to another of the same frame. `undecided` says that the other way out of the block is open too, and
    /// to where.
    fn go(&mut self, frame: &Rc<Frame>, from: u64, path: &[u32], to: u64, state: State, undecided: Option<u64>) {
        let graph = Rc::clone(&frame.graph);
        let (Some(source), Some(target)) = (graph.blocks.get(&from), graph.blocks.get(&to)) else {
            self.findings.add(Kind::NotUnderstood, from, "control goes to a place without instructions");
            return;
        };
        let other = undecided.and_then(|other| graph.blocks.get(&other));
        let outside = Block { instructions: Vec::new(), order: 0, loops: Vec::new() };
        let left_by = |head: &u32| undecided.is_some() && !other.unwrap_or(&outside).loops.contains(head);
        let mut next = path[..frame.start].to_vec();
        let mut widens = false;
        let mut same = true;
        for (at, head) in target.loops.iter().enumerate() {
            same &= source.loops.get(at) == Some(head);
            let mut round = if same { path[frame.start + 2 * at + 1] } else { 0 };
            if same && left_by(head) {
                round = OPEN;
            }
            // Back to the head: the next round.
            if same && *head == target.order {
                round = if round >= MOST_ROUNDS { OPEN } else { round + 1 };
            }
            widens |= round == OPEN && *head == target.order;
            next.extend([*head, round]);
        }
        next.push(target.order);
        self.arrive(next.into(), frame, to, state, widens);
    }

    fn block(&mut self, frame: &Rc<Frame>, start: u64, path: &Rc<[u32]>, mut state: State) {
        let graph = Rc::clone(&frame.graph);
        let Some(block) = graph.blocks.get(&start) else { return };
        for instruction in &block.instructions {
            self.work.instructions += 1;
            let mut step =
                Step { image: self.image, state: &mut state, findings: self.findings, instruction: *instruction };
            let flow = step.execute(&mut self.factory);
            let next = instruction.next_ip();
            match flow {
                Flow::Next => {}
                Flow::Branch(condition, target) => {
                    let assume = |holds: bool| match condition {
                        Some(condition) => state.assume(condition, holds),
                        None => Some(Learnt::default()),
                    };
                    match (assume(true), assume(false)) {
                        (Some(taken), Some(passed)) => {
                            let undecided = |learnt: &Learnt, other: u64| (!learnt.shrunk).then_some(other);
                            let (first, second) = (undecided(&taken, next), undecided(&passed, target));
                            let mut other = state.clone();
                            other.learn(taken, self.image);
                            self.jump(frame, start, path, target, other, first);
                            state.learn(passed, self.image);
                            self.jump(frame, start, path, next, state, second);
                        }
                        (Some(taken), None) => {
                            state.learn(taken, self.image);
                            self.jump(frame, start, path, target, state, None);
                        }
                        (None, Some(passed)) => {
                            state.learn(passed, self.image);
                            self.jump(frame, start, path, next, state, None);
                        }
                        (None, None) => {}
                    }
                    return;
                }
                Flow::Jump(target) => {
                    let direct = instruction.flow_control() == iced_x86::FlowControl::UnconditionalBranch;
                    self.jump_anywhere(frame, start, path, &target, state, instruction.ip(), direct);
                    return;
                }
                Flow::Call(target) => {
                    self.call(frame, start, path, &target, state, instruction.ip(), next);
                    return;
                }
                Flow::Return => {
                    self.leave(frame, state, instruction.ip());
                    return;
                }
                Flow::Stop => return,
            }
        }
        if let Some(last) = block.instructions.last() {
            self.jump(frame, start, path, last.next_ip(), state, None);
        }
    }

    /// A jump to a known place: in this function, or to the beginning of another, whose return is then this one's.
    fn jump(&mut self, frame: &Rc<Frame>, from: u64, path: &Rc<[u32]>, to: u64, state: State, undecided: Option<u64>) {
        if to != frame.graph.entry && self.image.begins_function(to) {
            self.begin(frame, from, path, to, state, None);
        } else {
            self.go(frame, from, path, to, state, undecided);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a place has four parts")]
    fn jump_anywhere(
        &mut self,
        frame: &Rc<Frame>,
        from: u64,
        path: &Rc<[u32]>,
        target: &Value,
        state: State,
        at: u64,
        direct: bool,
    ) {
        for (to, state) in each(self.code(target, at), state) {
            let elsewhere = to != frame.graph.entry && self.image.begins_function(to);
            if !direct && !elsewhere && self.indirect.entry(at).or_default().insert(to) {
                self.discovered = true;
            }
            // What was just discovered has no blocks before the walk is repeated.
            if direct || elsewhere || frame.graph.blocks.contains_key(&to) {
                self.jump(frame, from, path, to, state, None);
            }
        }
    }

    /// The places that a target can be.
    fn code(&mut self, target: &Value, at: u64) -> Vec<u64> {
        let image = matches!(target.base, None | Some(Region::Image));
        match target.numbers.list() {
            Some(list) if image && list.len() <= MOST_TARGETS => list.iter().map(|to| to.cast_unsigned()).collect(),
            _ => {
                self.findings.add(Kind::NotUnderstood, at, "it is not known where this goes");
                Vec::new()
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a place has four parts")]
    fn call(
        &mut self,
        frame: &Rc<Frame>,
        from: u64,
        path: &Rc<[u32]>,
        target: &Value,
        state: State,
        at: u64,
        next: u64,
    ) {
        let targets = self.code(target, at);
        if targets.is_empty() {
            self.go(frame, from, path, next, state, None);
            return;
        }
        for (to, mut state) in each(targets, state) {
            let stack = state.general[RSP].value.add(&Value::number(-8));
            state.set(RSP, stack.clone());
            if let (Some(Region::Stack), Numbers::One(offset)) = (stack.base, &stack.numbers) {
                let what = crate::memory::Loaded {
                    lanes: None,
                    secret: 0,
                    value: Value::pointer(Region::Image, next.cast_signed()),
                    known: None,
                };
                state.stack.store(&Numbers::One(*offset), 8, &what, None);
            }
            let caller = Caller { frame: Rc::clone(frame), block: from, path: Rc::clone(path) };
            self.begin(frame, from, path, to, state, Some(caller));
        }
    }

    /// Begins a function that is called, or jumped to in the place of the running one.
    fn begin(
        &mut self,
        frame: &Rc<Frame>,
        from: u64,
        path: &Rc<[u32]>,
        to: u64,
        mut state: State,
        caller: Option<Caller>,
    ) {
        let last = frame.graph.blocks.get(&from).and_then(|block| block.instructions.last().copied());
        let at = last.map_or(from, |last| last.ip());
        let caller = caller.or_else(|| {
            let caller = frame.caller.as_ref()?;
            Some(Caller { frame: Rc::clone(&caller.frame), block: caller.block, path: Rc::clone(&caller.path) })
        });
        if let Some(name) = self.image.import(to) {
            // A stub that leads out of the file is nobody's code; the call of it is.
            let mut place = frame;
            let mut instruction = last.unwrap_or_default();
            while let (None, Some(caller)) = (self.image.function_at(instruction.ip()), &place.caller) {
                let block = caller.frame.graph.blocks.get(&caller.block);
                instruction = block.and_then(|block| block.instructions.last().copied()).unwrap_or_default();
                place = &caller.frame;
            }
            let name = name.to_owned();
            let stack = state.general[RSP].value.clone();
            let mut step = Step { image: self.image, state: &mut state, findings: self.findings, instruction };
            if step.call_library(&name) {
                state.set(RSP, stack.add(&Value::number(8)));
                self.come_back(caller, state);
            }
        } else if !self.image.holds(to) {
            self.findings.add(Kind::NotUnderstood, at, format!("there is no code at {to:#x}"));
        } else if frame.depth >= MOST_CALLS {
            self.findings.add(Kind::NotUnderstood, at, "calls nest too deeply");
        } else {
            self.enter(to, state, caller, path, frame.depth + 1);
        }
    }

    fn leave(&mut self, frame: &Rc<Frame>, mut state: State, at: u64) {
        let stack = &state.general[RSP].value;
        if *stack != frame.stack {
            self.findings.add(Kind::NotUnderstood, at, "the stack pointer is not where the function found it");
        }
        state.set(RSP, frame.stack.add(&Value::number(8)));
        let caller = frame.caller.as_ref();
        let caller = caller.map(|caller| Caller {
            frame: Rc::clone(&caller.frame),
            block: caller.block,
            path: Rc::clone(&caller.path),
        });
        self.come_back(caller, state);
    }

    /// Goes on behind a call.
    fn come_back(&mut self, caller: Option<Caller>, state: State) {
        let Some(caller) = caller else {
            match &mut self.returned {
                None => self.returned = Some(state),
                Some(returned) => {
                    returned.join(&state, false, self.image);
                }
            }
            return;
        };
        let last = caller.frame.graph.blocks.get(&caller.block).and_then(|block| block.instructions.last());
        let Some(next) = last.map(|last| last.next_ip()) else { return };
        let frame = Rc::clone(&caller.frame);
        self.go(&frame, caller.block, &caller.path, next, state, None);
    }
}

/// Each place with a state of its own.
fn each(places: Vec<u64>, state: State) -> Vec<(u64, State)> {
    let mut left = Some(state);
    let last = places.len().wrapping_sub(1);
    let own = |(at, place): (usize, u64)| {
        let state = if at == last { left.take() } else { left.clone() };
        state.map(|state| (place, state))
    };
    places.into_iter().enumerate().filter_map(own).collect()
}
