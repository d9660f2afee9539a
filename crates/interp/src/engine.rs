//! Dynamic scheduling of a dataflow network. It is set up, and its instances are tried one after the other and fire what is
//! enabled, until nothing can fire.

use crate::code::{self, ActionCode, ActorCode, Home};
use crate::fifo::{Fifo, Outgoing, decode};
use crate::machine::{Extent, Fault, Machine, Memory, Stop};
use crate::order::Agenda;
use crate::setup::{check_positions, distances, initialise};
use crate::trace::{Firing, PortTokens, TraceSink};
use crate::{Options, trace};
use headrace_engine::{Engine, Host, Outcome, Profile, Report, Trap};
use headrace_ir::{Endpoint, Network};
use headrace_natives::Session;
use headrace_source::Diagnostic;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most scalars that all constants and state variables of a network may have together.
const MAX_STATE: usize = 1 << 32;

/// Most tokens that all FIFOs of a network may hold together.
const MAX_TOKENS: u64 = 1 << 28;

/// An instance: its state, and the FIFOs at its ports.
#[derive(Debug)]
pub(crate) struct Running {
    pub actor: usize,
    /// Position of the FSM state.
    pub state: usize,
    /// Initialisers that are done or were not enabled.
    pub initialised: usize,
    /// Where its state variables are.
    base: Extent,
    /// The FIFO of each input port.
    pub inputs: Vec<Option<usize>>,
    /// The FIFOs of each output port.
    pub outputs: Vec<Vec<usize>>,
    /// Instances at the other ends of its FIFOs.
    neighbours: Vec<usize>,
}

/// What became of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Try {
    Fired,
    /// An initialiser was passed over or fired; it does not count as a firing.
    Initialised,
    Waits,
}

/// Whether an action can fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enabled {
    Yes,
    LacksTokens,
    GuardFails,
}

/// A network and the state of its run.
pub struct Interpreter {
    pub(crate) network: Arc<Network>,
    code: Arc<Vec<ActorCode>>,
    pub(crate) instances: Vec<Running>,
    pub(crate) fifos: Vec<Fifo>,
    /// FIFOs that each input of the network writes, and the one that each output reads.
    boundary_in: Vec<Vec<usize>>,
    boundary_out: Vec<Option<usize>>,
    /// The instance that reads and the one that writes each FIFO.
    ends: Vec<(Option<usize>, Option<usize>)>,
    memory: Memory,
    /// End of constants and states, where the stack begins.
    base: Extent,
    session: Session,
    agenda: Agenda,
    counts: Vec<Vec<u64>>,
    time: u64,
    pub(crate) ended: Option<Result<Outcome, Trap>>,
    /// For each instance the tests whose guards did not hold when the run stopped.
    pub(crate) failed_guards: Vec<Vec<usize>>,
    trace: Option<Box<dyn TraceSink>>,
    trace_result: io::Result<()>,
    /// Time of each instance, where that is measured.
    times: Option<Vec<Duration>>,
    options: Options,
}

impl Interpreter {
    /// Compiles a network and puts it into its initial state.
    ///
    /// # Errors
    ///
    /// Natives that no platform supplies or that are declared otherwise, and a state too large for memory.
    pub fn new(network: impl Into<Arc<Network>>, mut options: Options) -> Result<Self, Vec<Diagnostic>> {
        let network: Arc<Network> = network.into();
        let problems = headrace_natives::check(&network, &options.supplied);
        if !problems.is_empty() {
            return Err(problems);
        }
        check_positions(&network).map_err(|message| vec![Diagnostic::error("malformed-network", message)])?;
        let mut fixed = Extent::default();
        let mut actors = Vec::new();
        let mut homes = Vec::new();
        for actor in &network.actors {
            homes.push(code::homes(actor, &mut fixed.clone()));
            let compiled = code::compile(actor, &mut fixed, options.arbitrary_precision, &options.supplied).map_err(
                |problem| {
                    vec![
                        Diagnostic::error("malformed-network", format!("`{}` has {}", actor.class, problem.message))
                            .at(problem.span, ""),
                    ]
                },
            )?;
            actors.push(compiled);
        }
        let mut base = fixed;
        let mut instances = Vec::new();
        for instance in &network.instances {
            let actor = instance.actor.index();
            let ports = &network.actors[actor];
            instances.push(Running {
                actor,
                state: ports.schedule.initial.index(),
                initialised: 0,
                base,
                inputs: vec![None; ports.inputs.len()],
                outputs: vec![Vec::new(); ports.outputs.len()],
                neighbours: Vec::new(),
            });
            base = base.plus(actors[actor].state);
        }
        if base.total() > MAX_STATE {
            return Err(vec![
                Diagnostic::error(
                    "state-too-large",
                    "the constants and variables of all instances need too much memory",
                )
                .note(format!("{} words of 64 bits, of at most {MAX_STATE}", base.total())),
            ]);
        }
        let mut memory = Memory::default();
        memory.reserve(base);
        for (actor, homes) in network.actors.iter().zip(&homes) {
            for (variable, home) in actor.variables.iter().zip(homes) {
                if let Home::Fixed(at) = home {
                    initialise(&mut memory, *at, variable);
                }
            }
        }
        for running in &instances {
            let actor = &network.actors[running.actor];
            for (variable, home) in actor.variables.iter().zip(&homes[running.actor]) {
                if let Home::State(at) = home {
                    initialise(&mut memory, running.base.of(&variable.ty) + at, variable);
                }
            }
        }
        let mut boundary_in = vec![Vec::new(); network.inputs.len()];
        let mut boundary_out = vec![None; network.outputs.len()];
        let mut fifos = Vec::new();
        let mut ends = Vec::new();
        let mut all_tokens = 0u64;
        for (at, connection) in network.connections.iter().enumerate() {
            let source = network.source_port(connection).ty;
            let target = network.target_port(connection).ty;
            let given = options.capacities.as_ref().and_then(|capacities| capacities.get(at).copied());
            let capacity = given.unwrap_or_else(|| network.capacity(connection, options.fifo_tokens));
            all_tokens = all_tokens.saturating_add(capacity);
            if all_tokens > MAX_TOKENS {
                return Err(vec![
                    Diagnostic::error("state-too-large", "the FIFOs of the network need too much memory")
                        .at(connection.span, format!("this one may hold {capacity} tokens"))
                        .note(format!("all together may hold {MAX_TOKENS}")),
                ]);
            }
            let fifo = fifos.len();
            fifos.push(Fifo::new(source, &connection.via, target, capacity));
            let writer = match connection.source {
                Endpoint::Boundary(port) => {
                    boundary_in[port].push(fifo);
                    None
                }
                Endpoint::Instance(instance, port) => {
                    instances[instance.index()].outputs[port].push(fifo);
                    Some(instance.index())
                }
            };
            let reader = match connection.target {
                Endpoint::Boundary(port) => {
                    boundary_out[port] = Some(fifo);
                    None
                }
                Endpoint::Instance(instance, port) => {
                    instances[instance.index()].inputs[port] = Some(fifo);
                    Some(instance.index())
                }
            };
            if let (Some(writer), Some(reader)) = (writer, reader) {
                instances[writer].neighbours.push(reader);
                instances[reader].neighbours.push(writer);
            }
            ends.push((reader, writer));
        }
        for running in &mut instances {
            running.neighbours.sort_unstable();
            running.neighbours.dedup();
        }
        let agenda = Agenda::new(options.order, &distances(&instances, &ends));
        let counts = instances.iter().map(|running| vec![0; actors[running.actor].actions.len()]).collect();
        let mut trace = options.trace.take();
        let trace_result = trace.as_mut().map_or(Ok(()), |sink| sink.start(&network));
        Ok(Interpreter {
            failed_guards: vec![Vec::new(); instances.len()],
            times: options.profile.then(|| vec![Duration::ZERO; instances.len()]),
            network,
            code: Arc::new(actors),
            instances,
            fifos,
            boundary_in,
            boundary_out,
            ends,
            memory,
            base,
            session: Session::default(),
            agenda,
            counts,
            time: 0,
            ended: None,
            trace,
            trace_result,
            options,
        })
    }

    /// Ends the trace and tells whether all of it could be written.
    pub fn finish_trace(&mut self) -> io::Result<()> {
        let result = std::mem::replace(&mut self.trace_result, Ok(()));
        match self.trace.take() {
            Some(mut sink) => result.and_then(|()| sink.finish()),
            None => result,
        }
    }

    /// Runs until something stops it.
    fn go_on<'c>(
        &mut self,
        m: &mut Machine<'c>,
        codes: &'c [ActorCode],
        max_firings: Option<u64>,
    ) -> Result<Outcome, Trap> {
        let network = Arc::clone(&self.network);
        let mut left = max_firings.unwrap_or(u64::MAX);
        let mut tries = 0u32;
        while let Some((at, burst)) = self.agenda.next() {
            let actor = &codes[self.instances[at].actor];
            // The state of the instance is where the fixed part of the machine points for all of the burst.
            m.state = self.instances[at].base;
            m.procedures = &actor.procedures;
            let mut fired = false;
            let mut in_burst = 0;
            let began = self.times.is_some().then(Instant::now);
            let waits = loop {
                tries = tries.wrapping_add(1);
                if tries.is_multiple_of(1024) && m.interrupted() {
                    return Err(self.trap(at, String::new(), interrupted()));
                }
                if left == 0 {
                    self.wake_neighbours(at, fired);
                    return Ok(Outcome::FiringLimit);
                }
                match self.attempt(m, &network, actor, at) {
                    Ok(Try::Fired) => {
                        fired = true;
                        left -= 1;
                        in_burst += 1;
                        if in_burst == burst {
                            break false;
                        }
                    }
                    Ok(Try::Initialised) => fired = true,
                    Ok(Try::Waits) => break true,
                    Err((action, fault)) => {
                        self.wake_neighbours(at, fired);
                        return match *fault {
                            Stop::Exit(status) => Ok(Outcome::Exited(status)),
                            stop => Err(self.trap(at, action, stop)),
                        };
                    }
                }
            };
            if let (Some(times), Some(began)) = (&mut self.times, began) {
                times[at] += began.elapsed();
            }
            if waits {
                self.agenda.sleep(at);
            }
            self.wake_neighbours(at, fired);
        }
        Ok(Outcome::Idle)
    }

    fn wake_neighbours(&mut self, instance: usize, fired: bool) {
        if fired {
            for &neighbour in &self.instances[instance].neighbours {
                if neighbour != instance {
                    self.agenda.wake(neighbour);
                }
            }
        }
    }

    /// Tries the actions of an instance in order and fires the first that is enabled, if its outputs have room.
    fn attempt(
        &mut self,
        m: &mut Machine<'_>,
        network: &Network,
        actor: &ActorCode,
        at: usize,
    ) -> Result<Try, (String, Fault)> {
        let declared = &network.actors[self.instances[at].actor];
        if let Some(action) = actor.initializers.get(self.instances[at].initialised) {
            let name = |fault| (declared.initializers[self.instances[at].initialised].name.clone(), fault);
            if self.enabled(m, action, at).map_err(name)? == Enabled::Yes {
                if !self.has_room(action, at) {
                    return Ok(Try::Waits);
                }
                let action_name = &declared.initializers[self.instances[at].initialised].name;
                let state = self.instances[at].state;
                self.fire(m, action, at, action_name, state).map_err(|fault| (action_name.clone(), fault))?;
            }
            self.instances[at].initialised += 1;
            return Ok(Try::Initialised);
        }
        let state = self.instances[at].state;
        for test in &declared.schedule.states[state].tests {
            let position = test.action.index();
            let action = &actor.actions[position];
            let name = |fault| (declared.actions[position].name.clone(), fault);
            if self.enabled(m, action, at).map_err(name)? != Enabled::Yes {
                continue;
            }
            if !self.has_room(action, at) {
                return Ok(Try::Waits);
            }
            let next = test.next.index();
            self.fire(m, action, at, &declared.actions[position].name, next).map_err(name)?;
            self.instances[at].state = next;
            self.counts[at][position] += 1;
            return Ok(Try::Fired);
        }
        Ok(Try::Waits)
    }

    /// Whether the tokens of an action are there and its guard holds.
    #[inline]
    pub(crate) fn enabled(&self, m: &mut Machine<'_>, action: &ActionCode, at: usize) -> Result<Enabled, Fault> {
        let running = &self.instances[at];
        for consume in &action.consumes {
            match running.inputs[consume.port] {
                Some(fifo) if self.fifos[fifo].len() >= consume.tokens => {}
                _ => return Ok(Enabled::LacksTokens),
            }
        }
        let Some(guard) = &action.guard else {
            return Ok(Enabled::Yes);
        };
        self.open(m, action)?;
        for &position in &guard.peeks {
            let consume = &action.consumes[position];
            if let Some(fifo) = running.inputs[consume.port] {
                consume.bind(m, &self.fifos[fifo]);
            }
        }
        Ok(if guard.holds(m)? { Enabled::Yes } else { Enabled::GuardFails })
    }

    /// Opens the frame of an action at the start of the stack, with all but the pattern variables zero.
    #[inline]
    fn open(&self, m: &mut Machine<'_>, action: &ActionCode) -> Result<(), Fault> {
        m.begin(self.base);
        m.open(action.size, Default::default())?;
        m.memory.clear(self.base.plus(action.filled), self.base.plus(action.size));
        Ok(())
    }

    #[inline]
    fn has_room(&self, action: &ActionCode, at: usize) -> bool {
        action.produces.iter().all(|produce| {
            self.instances[at].outputs[produce.port].iter().all(|&fifo| self.fifos[fifo].room() >= produce.tokens)
        })
    }

    fn fire(
        &mut self,
        m: &mut Machine<'_>,
        action: &ActionCode,
        at: usize,
        name: &str,
        next: usize,
    ) -> Result<(), Fault> {
        self.open(m, action)?;
        let traced = self.trace.is_some() && self.options.traced.as_ref().is_none_or(|traced| traced[at]);
        let mut firing = traced.then(|| Firing {
            time: self.time,
            instance: at,
            action: name.to_owned(),
            from: self.instances[at].state,
            to: next,
            consumed: Vec::new(),
            produced: Vec::new(),
        });
        self.time += 1;
        for consume in &action.consumes {
            if let Some(fifo) = self.instances[at].inputs[consume.port] {
                let fifo = &mut self.fifos[fifo];
                consume.bind(m, fifo);
                let n = consume.tokens as usize;
                if let Some(firing) = &mut firing {
                    let values = fifo.first(n).iter().map(|cell| trace::value(fifo.ty, cell)).collect();
                    firing.consumed.push(PortTokens { port: consume.port, values });
                }
                fifo.discard(n);
            }
        }
        action.body.run(m)?;
        m.outgoing.words.clear();
        m.outgoing.wides.clear();
        // Nothing is written before everything is computed, so that a firing that traps has written nothing.
        for produce in &action.produces {
            produce.compute(m)?;
        }
        let Outgoing { words, wides } = &m.outgoing;
        let (mut words, mut wides) = (words.as_slice(), wides.as_slice());
        for produce in &action.produces {
            let n = produce.tokens as usize;
            if produce.is_wide() {
                let (now, later) = wides.split_at(n.min(wides.len()));
                wides = later;
                for &fifo in &self.instances[at].outputs[produce.port] {
                    self.fifos[fifo].write_wides(now);
                }
                if let Some(firing) = &mut firing {
                    let values = now.iter().map(|wide| trace::TokenValue::Int(wide.clone())).collect();
                    firing.produced.push(PortTokens { port: produce.port, values });
                }
            } else {
                let (now, later) = words.split_at(n.min(words.len()));
                words = later;
                for &fifo in &self.instances[at].outputs[produce.port] {
                    self.fifos[fifo].write_words(now);
                }
                if let Some(firing) = &mut firing {
                    let ty = self.network.actors[self.instances[at].actor].outputs[produce.port].ty;
                    let cell = |&word: &i64| trace::value(ty, &crate::fifo::Cell::Word(word));
                    firing.produced.push(PortTokens { port: produce.port, values: now.iter().map(cell).collect() });
                }
            }
        }
        if let (Some(sink), Some(firing), Ok(())) = (&mut self.trace, firing, &self.trace_result) {
            self.trace_result = sink.firing(&self.network, &firing);
        }
        Ok(())
    }

    fn trap(&self, at: usize, action: String, stop: Stop) -> Trap {
        let instance = self.network.instances[at].name.clone();
        match stop {
            Stop::Trap { message, span, procedure } => {
                Trap { message, instance, action: procedure.unwrap_or(action), span }
            }
            Stop::Exit(status) => Trap { message: format!("exit {status}"), instance, action, span: None },
        }
    }

    /// Remembers which guards do not hold, for the report.
    fn note_guards<'c>(&mut self, m: &mut Machine<'c>, codes: &'c [ActorCode]) {
        for at in 0..self.instances.len() {
            self.failed_guards[at].clear();
            let running = &self.instances[at];
            let actor = &codes[running.actor];
            if running.initialised < actor.initializers.len() {
                continue;
            }
            m.state = running.base;
            m.procedures = &actor.procedures;
            let tests = &self.network.actors[running.actor].schedule.states[running.state].tests;
            let mut failed = Vec::new();
            for (position, test) in tests.iter().enumerate() {
                if let Ok(Enabled::GuardFails) = self.enabled(m, &actor.actions[test.action.index()], at) {
                    failed.push(position);
                }
            }
            self.failed_guards[at] = failed;
        }
    }
}

fn interrupted() -> Stop {
    Stop::Trap { message: "interrupted".to_owned(), span: None, procedure: None }
}

impl Engine for Interpreter {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let Some(port) = self.network.inputs.get(input) else {
            return 0;
        };
        let size = port.ty.storage_bytes();
        let offered = tokens.len() / size;
        let fifos = &self.boundary_in[input];
        let room = fifos.iter().map(|&fifo| self.fifos[fifo].room()).min().unwrap_or(u64::MAX);
        let n = offered.min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut decoded = Outgoing::default();
        decode(port.ty, &tokens[..n * size], &mut decoded);
        for &fifo in fifos {
            self.fifos[fifo].write_words(&decoded.words);
            self.fifos[fifo].write_wides(&decoded.wides);
            if let Some(reader) = self.ends[fifo].0 {
                self.agenda.wake(reader);
            }
        }
        n
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let Some(fifo) = self.boundary_out.get(output).copied().flatten() else {
            return 0;
        };
        if let Some(writer) = self.ends[fifo].1 {
            self.agenda.wake(writer);
        }
        self.fifos[fifo].take_storage(tokens)
    }

    /// The limit counts the firings of this call.
    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        let codes = Arc::clone(&self.code);
        let memory = std::mem::take(&mut self.memory);
        let session = std::mem::take(&mut self.session);
        let interrupt = self.options.interrupt.clone();
        let mut m = Machine::new(memory, self.base, host, session, self.options.step_limit, interrupt.as_deref());
        m.lenient_indices = self.options.lenient_indices;
        let result = self.go_on(&mut m, &codes, max_firings);
        if matches!(result, Err(_) | Ok(Outcome::Exited(_))) {
            self.ended = Some(result.clone());
        } else {
            self.note_guards(&mut m, &codes);
        }
        self.memory = m.memory;
        self.session = m.session;
        result
    }

    fn report(&self) -> Report {
        crate::report::report(self)
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        self.counts.clone()
    }

    fn profile(&self) -> Option<Profile> {
        let most_tokens = self.fifos.iter().map(|fifo| Some(fifo.most)).collect();
        Some(Profile { times: self.times.clone()?, most_tokens })
    }
}

impl std::fmt::Debug for Interpreter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interpreter").field("network", &self.network.name).field("time", &self.time).finish()
    }
}
