//! The verifier: whether an automaton keeps to what passes and printers rely on.
//!
//! Verified:
//!
//! 1. Every value has 1 to 128 bits, operands that stand before it, and the width that its operation gives to them; indices of
//!    tables and objects that are constants are inside, and elements fit their width.
//! 2. Objects begin with no more elements than they have, each of their width (the others are 0); a residue has limbs for all
//!    its bits.
//! 3. Effects: stores have the width of their object, checks, choices and loops conditions of one bit; a loaded value is that
//!    of a load before it in the same transition, and no two loads have one number.
//! 4. Transitions: consume and produce tokens of all ports, write no token beyond those, and lead to a state that is there.
//! 5. States: states of all actors, tokens of all FIFOs; known elements are inside of their objects and fit them.
//! 6. Decisions wait for tokens of ports that are there, one at least, and no port twice in one place.
//! 7. Loops: have the objects of the automaton; no element is carried twice, and each gets a value of its width; counters of
//!    carried elements are there and have their bits; each token that an iteration makes is made once. Bounds are values of the
//!    loop, steps are not 0; paths of counted loops take one iteration at least and do not update an element twice. Windows have
//!    ports of their width behind those of the network; a list that is written through one is touched by nothing else.
//! 8. Loops and blocks by themselves ([`verify_loop`], [`verify_block`]) keep to what is said of values, effects and loops.
//! 9. Samples lead through states that are there.

use crate::automaton::{Automaton, ControlState, CountedLoop, CountedPath, CountedPaths, Next, Step, Trips};
use crate::graph::{MAX_BITS, mask};
use crate::{Block, Carry, Effect, Graph, Loop, NodeId, Object, ObjectId, Op};
use rustc_hash::FxHashSet;

/// Everything in an automaton that is not as it must be; empty when all is well.
pub fn verify(automaton: &Automaton) -> Vec<String> {
    let mut verifier = Verifier { objects: &automaton.objects, problems: Vec::new() };
    verifier.graph("the automaton", &automaton.graph);
    verifier.memory(automaton);
    let first = automaton.states.first();
    let (n_actors, n_fifos) = first.map_or((0, 0), |state| (state.fsm.len(), state.fills.len()));
    let ports = automaton.states.iter().find_map(|state| ports(&state.step));
    for (number, state) in automaton.states.iter().enumerate() {
        let place = format!("state {number}");
        if (state.fsm.len(), state.fills.len()) != (n_actors, n_fifos) {
            verifier.problem(&place, "has other numbers of actors or FIFOs than the first");
        }
        verifier.known(&place, state);
        let mut path = Path { place: &place, graph: &automaton.graph, ports, n_states: automaton.states.len() };
        verifier.step(&mut path, &state.step, &mut FxHashSet::default());
        for (at, counted) in state.loops.iter().enumerate() {
            verifier.counted(&format!("{place}, loop {at}"), counted, automaton.states.len());
        }
    }
    let n = automaton.states.len();
    let of_paths = automaton.paths.iter().flat_map(|path| &path.states);
    let of_parts = automaton.parts.iter().flat_map(|part| part.states.iter().chain([&part.from, &part.to]));
    if of_paths.chain(of_parts).any(|state| *state >= n) {
        verifier.problem("samples", "lead through a state that is not there");
    }
    verifier.problems
}

/// Everything in a loop by itself that is not as it must be; empty when all is well.
pub fn verify_loop(body: &Loop) -> Vec<String> {
    let mut verifier = Verifier { objects: &body.objects, problems: Vec::new() };
    verifier.iteration("the loop", body);
    verifier.problems
}

/// Everything in effects by themselves that is not as it must be; empty when all is well.
pub fn verify_block(block: &Block) -> Vec<String> {
    let mut verifier = Verifier { objects: &block.objects, problems: Vec::new() };
    verifier.graph("the block", &block.graph);
    let mut path = Path { place: "the block", graph: &block.graph, ports: None, n_states: 0 };
    verifier.effects(&mut path, &block.effects, &mut FxHashSet::default());
    let n = block.objects.len();
    if block.n_indexed > n || block.filled.iter().any(|object| object.0 as usize >= n) {
        verifier.problem("the block", "speaks of objects that are not there");
    }
    verifier.problems
}

/// Numbers of input and output ports, as the first transition has them.
fn ports(step: &Step) -> Option<(usize, usize)> {
    let mut found = None;
    step.transitions(&mut |transition, _| {
        found.get_or_insert((transition.consumes.len(), transition.produces.len()));
    });
    found
}

/// Where a step stands.
struct Path<'a> {
    place: &'a str,
    graph: &'a Graph,
    ports: Option<(usize, usize)>,
    n_states: usize,
}

struct Verifier<'a> {
    objects: &'a [Object],
    problems: Vec<String>,
}

impl Verifier<'_> {
    fn problem(&mut self, place: &str, what: &str) {
        self.problems.push(format!("{place}: {what}"));
    }

    fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get(id.0 as usize)
    }

    fn graph(&mut self, place: &str, graph: &Graph) {
        for table in graph.tables() {
            if table.elements.is_empty() || table.elements.iter().any(|&element| element > mask(table.width)) {
                self.problem(place, &format!("table {:?} has no elements, or some that do not fit", table.name));
            }
        }
        for at in 0..graph.len() {
            let id = NodeId(at as u32);
            let width = graph.width(id);
            let before = graph.op(id).operands().iter().all(|operand| operand.index() < at);
            if !(1..=MAX_BITS).contains(&width) || !before || !self.fits(graph, id) {
                self.problem(
                    place,
                    &format!("value {at}, {:?} of {width} bits, does not fit its operands", graph.op(id)),
                );
            }
        }
    }

    /// Whether a value has the width that its operation gives.
    fn fits(&self, graph: &Graph, id: NodeId) -> bool {
        let width = graph.width(id);
        let of = |id: &NodeId| graph.width(*id);
        let inside = |length: usize, index: &NodeId| graph.constant(*index).is_none_or(|index| index < length as u128);
        match graph.op(id) {
            Op::Const(value) => *value <= mask(width),
            Op::Input { .. } | Op::Loaded(_) | Op::Instruction { .. } => true,
            Op::Entry { object, index } => {
                self.object(*object).is_some_and(|object| object.width == width && inside(object.length, index))
            }
            Op::Not(a) => of(a) == width,
            Op::And(a, b)
            | Op::Or(a, b)
            | Op::Xor(a, b)
            | Op::Add(a, b)
            | Op::Sub(a, b)
            | Op::Mul(a, b)
            | Op::Divide(a, b)
            | Op::Remainder(a, b) => of(a) == width && of(b) == width,
            Op::ShiftLeft(a, _) | Op::ShiftRight(a, _) | Op::ShiftRightSigned(a, _) => of(a) == width,
            Op::RotateLeft(a, _) => of(a) == width && width.is_power_of_two(),
            Op::Extract(a, lo) => lo.checked_add(width).is_some_and(|end| end <= of(a)),
            Op::Concat(parts) => {
                let is_flat = parts.iter().all(|part| !matches!(graph.op(*part), Op::Concat(_)));
                is_flat && parts.iter().map(of).sum::<u32>() == width
            }
            Op::SignExtend(a) => of(a) <= width,
            Op::Equal(a, b) | Op::Less(a, b) | Op::LessSigned(a, b) => width == 1 && of(a) == of(b),
            Op::Select(c, a, b) => of(c) == 1 && of(a) == width && of(b) == width,
            Op::Lookup(table, index) => {
                let table = graph.tables().get(table.0 as usize);
                table.is_some_and(|table| table.width == width && inside(table.elements.len(), index))
            }
            Op::LookupBytes(table, a) => {
                let table = graph.tables().get(table.0 as usize);
                of(a) == width && table.is_some_and(|table| table.width == 8 && table.elements.len() == 256)
            }
        }
    }

    fn memory(&mut self, automaton: &Automaton) {
        if automaton.holds.len() != self.objects.len() || automaton.initial.len() != self.objects.len() {
            self.problem("objects", "what they hold and begin with is not said of all");
        }
        for (at, object) in self.objects.iter().enumerate() {
            let initial = automaton.initial.get(at).map_or(&[][..], Vec::as_slice);
            let is_whole = initial.len() <= object.length;
            let fits =
                (1..=MAX_BITS).contains(&object.width) && initial.iter().all(|&value| value <= mask(object.width));
            let limbs = object.residue.is_none_or(|residue| {
                residue.limb_bits > 0
                    && residue.limb_bits <= object.width
                    && u64::from(residue.bits) <= u64::from(residue.limb_bits) * object.length as u64
            });
            if !is_whole || !fits || !limbs {
                self.problem(
                    "objects",
                    &format!("{:?} does not begin with elements that fit, or is no number", object.name),
                );
            }
        }
    }

    fn known(&mut self, place: &str, state: &ControlState) {
        for &(object, index, value) in &state.known {
            let fits = self.object(object).is_some_and(|object| index < object.length && value <= mask(object.width));
            if !fits {
                self.problem(place, &format!("what is known of o{} is not inside or does not fit", object.0));
            }
        }
    }

    fn step(&mut self, path: &mut Path, step: &Step, loads: &mut FxHashSet<u32>) {
        match step {
            Step::Branch { before, condition, then, otherwise } => {
                self.effects(path, before, loads);
                self.value(path, *condition, Some(1), loads);
                self.step(path, then, &mut loads.clone());
                self.step(path, otherwise, &mut loads.clone());
            }
            Step::Wait(awaited) => {
                let mut met = FxHashSet::default();
                for one in awaited {
                    let is_there = path.ports.is_none_or(|ports| one.port < ports.0);
                    if !is_there || one.tokens == 0 || !met.insert(one.port) {
                        self.problem(path.place, &format!("waits for no tokens of port {}, or twice", one.port));
                    }
                    self.step(path, &one.step, &mut loads.clone());
                }
            }
            Step::Go { transition, target } => {
                self.effects(path, &transition.effects, loads);
                if path.ports.is_some_and(|ports| ports != (transition.consumes.len(), transition.produces.len())) {
                    self.problem(path.place, "a transition has other numbers of ports than the first");
                }
                Effect::walk(&transition.effects, &mut |effect| {
                    if let Effect::Output { port, offset, .. } = effect
                        && transition.produces.get(*port as usize).is_none_or(|n| offset >= n)
                    {
                        self.problem(path.place, &format!("token {offset} of port {port} is not among those produced"));
                    }
                });
                if *target >= path.n_states {
                    self.problem(path.place, &format!("leads to state {target}, which is not there"));
                }
            }
            Step::End | Step::Deoptimize => {}
        }
    }

    /// A value of so many bits, all loads of which were done.
    fn value(&mut self, path: &Path, id: NodeId, width: Option<u32>, loads: &FxHashSet<u32>) {
        if id.index() >= path.graph.len() {
            self.problem(path.place, &format!("value {} is not there", id.0));
            return;
        }
        if width.is_some_and(|width| path.graph.width(id) != width) {
            self.problem(path.place, &format!("value {} has {} bits", id.0, path.graph.width(id)));
        }
        for id in path.graph.reachable([id]) {
            if let Op::Loaded(load) = path.graph.op(id)
                && !loads.contains(load)
            {
                self.problem(path.place, &format!("load {load} comes behind what needs it"));
            }
        }
    }

    fn effects(&mut self, path: &mut Path, effects: &[Effect], loads: &mut FxHashSet<u32>) {
        for effect in effects {
            let bits = |verifier: &Self, object: ObjectId| verifier.object(object).map(|object| object.width);
            match effect {
                Effect::Load { id, object, index } => {
                    self.value(path, *index, None, loads);
                    if bits(self, *object).is_none() || !loads.insert(*id) {
                        self.problem(path.place, &format!("load {id} is there twice, or of nothing"));
                    }
                }
                Effect::Store { object, index, value } => {
                    self.value(path, *index, None, loads);
                    match bits(self, *object) {
                        Some(width) => self.value(path, *value, Some(width), loads),
                        None => self.problem(path.place, &format!("o{} is not there", object.0)),
                    }
                }
                Effect::Output { value, .. } => self.value(path, *value, None, loads),
                Effect::Check { condition, index, .. } => {
                    self.value(path, *condition, Some(1), loads);
                    self.value(path, *index, None, loads);
                }
                Effect::While { before, condition, body, .. } => {
                    self.effects(path, before, loads);
                    self.value(path, *condition, Some(1), loads);
                    // It may not run at all.
                    self.effects(path, body, &mut loads.clone());
                }
                Effect::If { condition, then, otherwise } => {
                    self.value(path, *condition, Some(1), loads);
                    self.effects(path, then, &mut loads.clone());
                    self.effects(path, otherwise, &mut loads.clone());
                }
            }
        }
    }

    fn counted(&mut self, place: &str, counted: &CountedLoop, n_states: usize) {
        let body = &counted.body;
        if body.objects != self.objects {
            self.problem(place, "has other objects than the automaton");
        }
        self.iteration(place, body);
        self.windows(place, counted);
        self.trips(place, &body.graph, &counted.trips);
        if let Some(rounds) = &counted.rounds {
            self.paths(place, rounds, n_states);
        }
    }

    fn windows(&mut self, place: &str, counted: &CountedLoop) {
        let CountedLoop { body, read, written, .. } = counted;
        let reads = |object: ObjectId| {
            let mut needed = body.graph.reachable(body.roots()).into_iter();
            needed.any(|id| matches!(body.graph.op(id), Op::Entry { object: own, .. } if *own == object))
        };
        let carries = |object: ObjectId| body.carried.iter().any(|one| one.object == object);
        for (windows, ports) in [(read, &body.consumes), (written, &body.produces)] {
            let first = ports.len().checked_sub(windows.len());
            let ports = first.and_then(|first| ports.get(first..)).unwrap_or_default();
            for (at, window) in windows.iter().enumerate() {
                let object = self.object(window.object);
                let fits = ports.get(at).zip(object).is_some_and(|(&(n, width), object)| {
                    n > 0 && width == object.width && window.start.index() < body.graph.len()
                });
                if !fits {
                    self.problem(place, &format!("a window of o{} does not fit its port", window.object.0));
                }
            }
        }
        let twice = |object: ObjectId| {
            let both = read.iter().chain(written).filter(|window| window.object == object).count();
            both > 1 && written.iter().any(|window| window.object == object)
        };
        for window in read.iter().chain(written) {
            let object = window.object;
            let is_written = written.iter().any(|window| window.object == object);
            if twice(object) || carries(object) || is_written && reads(object) {
                self.problem(place, &format!("o{} is written and has another window, or is read too", object.0));
            }
        }
    }

    fn iteration(&mut self, place: &str, body: &Loop) {
        self.graph(place, &body.graph);
        let mut tokens = FxHashSet::default();
        for &(port, offset, value) in &body.outputs {
            let fits = body.produces.get(port as usize).is_some_and(|&(n, width)| {
                offset < n && value.index() < body.graph.len() && body.graph.width(value) == width
            });
            if !fits || !tokens.insert((port, offset)) {
                self.problem(place, &format!("token {offset} of port {port} does not fit, or is made twice"));
            }
        }
        let mut elements = FxHashSet::default();
        for one in &body.carried {
            let fits = self.object(one.object).is_some_and(|object| {
                one.index < object.length
                    && one.next.index() < body.graph.len()
                    && body.graph.width(one.next) == object.width
            });
            let counts = match one.carry {
                Carry::Counter { counter, lo } => body.counters.get(counter).is_some_and(|counter| {
                    let width = self.object(one.object).map_or(0, |object| object.width);
                    counter.start.index() < body.graph.len()
                        && lo.checked_add(width).is_some_and(|end| end <= body.graph.width(counter.start))
                }),
                Carry::Delay | Carry::True => true,
            };
            if !fits || !counts || !elements.insert((one.object, one.index)) {
                self.problem(place, &format!("o{} {} does not fit, or is carried twice", one.object.0, one.index));
            }
        }
    }

    fn trips(&mut self, place: &str, graph: &Graph, trips: &[Trips]) {
        for trip in trips {
            let node = trip.node();
            let fits = node.index() < graph.len()
                && match *trip {
                    Trips::Unless(node, _) => graph.width(node) == 1,
                    Trips::Above { step, .. } | Trips::Below { step, .. } => step > 0,
                };
            if !fits {
                self.problem(place, "a bound is no value of the loop, or does not come nearer");
            }
        }
    }

    fn paths(&mut self, place: &str, rounds: &CountedPaths, n_states: usize) {
        self.graph(place, &rounds.graph);
        for way in rounds.ways.iter().chain(rounds.last.as_ref().map(|last| &last.way)) {
            self.path(place, &rounds.graph, way);
        }
        if rounds.last.as_ref().is_some_and(|last| last.target >= n_states) {
            self.problem(place, "its last iteration leads to a state that is not there");
        }
    }

    fn path(&mut self, place: &str, graph: &Graph, way: &CountedPath) {
        self.trips(place, graph, &way.trips);
        let mut elements = FxHashSet::default();
        for update in &way.updates {
            let fits = self.object(update.object).is_some_and(|object| {
                update.index < object.length
                    && match update.next {
                        Next::Step(_) => true,
                        Next::Value(node) => node.index() < graph.len() && graph.width(node) == object.width,
                    }
            });
            if !fits || !elements.insert((update.object, update.index)) {
                self.problem(
                    place,
                    &format!("o{} {} does not fit, or is updated twice", update.object.0, update.index),
                );
            }
        }
        if way.iterations == 0 {
            self.problem(place, "a path takes no iteration");
        }
    }
}
