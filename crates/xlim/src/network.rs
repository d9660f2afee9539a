//! A simulator of networks of designs, connected as XDF says, as an engine.

use crate::design::Design;
use crate::machine::{Failed, Machine, Pins, Program, Turn, Waiting, wrapped};
use headrace_engine::{Blocked, Engine, Host, Leftover, Outcome, Report, Trap, Wait};
use headrace_ir::{
    Action, Actor, ActorId, Connection, DEFAULT_FIFO_TOKENS, Endpoint, Guard, Instance, InstanceId, Int, IntType,
    Lines, MAX_WIDTH, Network, Port, Scalar, Schedule, State, StateId,
};
use headrace_source::{Diagnostic, Span};
use headrace_syntax::ast::{self, AttributeValue, EntityExprKind, ExprKind, PortRef, StructureKind, TypeKind};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// A network of designs, with what its actors show to the outside as a network of the representation: ports, and an action
/// for each module that others call. It fires by [`XlimEngine`] only.
#[derive(Clone, Debug)]
pub struct XlimNetwork {
    /// Ports, instances and connections. Its actions do nothing.
    pub shown: Arc<Network>,
    programs: Vec<Arc<Program>>,
}

/// How a network runs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Capacity of FIFOs that ask for none, in tokens.
    pub fifo_tokens: u32,
    /// Most instructions.
    pub step_limit: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self { fifo_tokens: DEFAULT_FIFO_TOKENS, step_limit: None }
    }
}

/// Gives the design of a class that is named at a place, or says what is wrong with it.
pub type DesignOf<'a> = dyn FnMut(&str, Span) -> Result<Design, Vec<Diagnostic>> + 'a;

impl XlimNetwork {
    /// A network of one design, whose ports are those of the network.
    ///
    /// # Errors
    ///
    /// What the design says that no network takes.
    pub fn of_design(design: Design, span: Span) -> Result<Self, Vec<Diagnostic>> {
        let end = |instance: Option<&str>, port: &str| (instance.map(str::to_owned), port.to_owned());
        let wires: Vec<_> = design
            .pins
            .iter()
            .map(|pin| {
                let (inside, outside) = (end(Some("design"), &pin.name), end(None, &pin.name));
                let (from, to) = if pin.output { (inside, outside) } else { (outside, inside) };
                (from, to, None, pin.span)
            })
            .collect();
        let ports = |output| {
            let of = design.pins.iter().filter(move |pin| pin.output == output);
            of.map(|pin| Port { name: pin.name.clone(), ty: pin.ty, span: pin.span }).collect()
        };
        let (inputs, outputs) = (ports(false), ports(true));
        let name = design.name.clone();
        let instances = vec![("design".to_owned(), 0, span)];
        Self::connected(name, inputs, outputs, vec![design], instances, &wires, span)
    }

    /// A network of XDF. `design` gives the design of a class, which it is asked for once.
    ///
    /// # Errors
    ///
    /// What the network says that is wrong, or more than wires between designs; and whatever `design` says.
    pub fn of_xdf(network: &ast::Network, design: &mut DesignOf<'_>) -> Result<Self, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut designs = Vec::new();
        let mut classes: HashMap<String, usize> = HashMap::new();
        let mut instances = Vec::new();
        for entity in &network.entities {
            let EntityExprKind::Instance { class, args } = &entity.value.kind else {
                problems.push(plain(entity.span, "instances are written one by one"));
                continue;
            };
            if let Some(argument) = args.first() {
                problems.push(plain(argument.span, "designs have no parameters"));
            }
            let known = classes.get(class.text.as_str()).copied();
            let at = match known {
                Some(at) => at,
                None => match design(&class.text, class.span) {
                    Ok(design) => {
                        designs.push(design);
                        classes.insert(class.text.to_string(), designs.len() - 1);
                        designs.len() - 1
                    }
                    Err(found) => {
                        problems.extend(found);
                        continue;
                    }
                },
            };
            instances.push((entity.name.text.to_string(), at, entity.span));
        }
        let mut wires = Vec::new();
        for statement in &network.structure {
            let StructureKind::Connection { from, to, attributes } = &statement.kind else {
                problems.push(plain(statement.span, "connections are written one by one"));
                continue;
            };
            let end = |end: &PortRef| {
                (end.instance.as_ref().map(|instance| instance.name.text.to_string()), end.port.text.to_string())
            };
            let size = attributes.iter().find(|attribute| attribute.name.text == "bufferSize").map(|attribute| {
                let AttributeValue::Value(value) = &attribute.value else { return None };
                let ExprKind::Int(size) = &value.kind else { return None };
                Int::from(size.clone()).to_u64().and_then(|size| u32::try_from(size).ok()).filter(|size| *size > 0)
            });
            if size == Some(None) {
                problems.push(
                    Diagnostic::error("buffer-size", "the size of a FIFO is a positive number").at(statement.span, ""),
                );
            }
            wires.push((end(from), end(to), size.flatten(), statement.span));
        }
        let mut ports = |ports: &[ast::PortDecl]| -> Vec<Port> {
            let mut of = |port: &ast::PortDecl| {
                let ty = scalar(&port.ty).or_else(|| {
                    problems.push(plain(port.span, "ports are bool, int or uint of a literal size"));
                    None
                })?;
                Some(Port { name: port.name.text.to_string(), ty, span: port.span })
            };
            ports.iter().filter_map(&mut of).collect()
        };
        let (inputs, outputs) = (ports(&network.inputs), ports(&network.outputs));
        if !problems.is_empty() {
            return Err(problems);
        }
        Self::connected(network.name.text.to_string(), inputs, outputs, designs, instances, &wires, network.span)
    }

    fn connected(
        name: String,
        inputs: Vec<Port>,
        outputs: Vec<Port>,
        designs: Vec<Design>,
        instances: Vec<(String, usize, Span)>,
        wires: &[Wire],
        span: Span,
    ) -> Result<Self, Vec<Diagnostic>> {
        let actors: Vec<Actor> = designs.iter().map(shown).collect();
        let mut problems = Vec::new();
        let too_wide = |port: &&Port| port.ty.width() > MAX_WIDTH;
        let all_ports = actors.iter().flat_map(|actor| actor.inputs.iter().chain(&actor.outputs));
        for port in all_ports.chain(&inputs).chain(&outputs).filter(too_wide) {
            problems.push(problem(port.span, format!("the port `{}` has more than {MAX_WIDTH} bits", port.name)));
        }
        let mut names = HashMap::new();
        for (at, (name, _, span)) in instances.iter().enumerate() {
            if names.insert(name.as_str(), at).is_some() {
                problems.push(problem(*span, format!("there are two instances `{name}`")));
            }
        }
        let find = |(instance, port): &End, source: bool| -> Result<(Endpoint, Scalar), String> {
            let ports = match instance {
                None if source => &inputs,
                None => &outputs,
                Some(name) => {
                    let at = *names.get(name.as_str()).ok_or_else(|| format!("there is no instance `{name}`"))?;
                    let actor = &actors[instances[at].1];
                    let ports = if source { &actor.outputs } else { &actor.inputs };
                    let found = position(ports, port)?;
                    return Ok((Endpoint::Instance(InstanceId(at as u32), found), ports[found].ty));
                }
            };
            let found = position(ports, port)?;
            Ok((Endpoint::Boundary(found), ports[found].ty))
        };
        let mut connections: Vec<Connection> = Vec::new();
        for (from, to, fifo_tokens, span) in wires {
            match (find(from, true), find(to, false)) {
                (Ok((source, from)), Ok((target, to))) => {
                    if (from == Scalar::Bool) != (to == Scalar::Bool) {
                        problems.push(problem(*span, format!("{from} does not convert to {to}")));
                    }
                    if connections.iter().any(|other| other.target == target) {
                        problems.push(problem(*span, "a second connection to one port".into()));
                    }
                    connections.push(Connection {
                        source,
                        target,
                        via: Vec::new(),
                        fifo_tokens: *fifo_tokens,
                        is_registered: false,
                        span: *span,
                    });
                }
                (first, second) => {
                    let wrong = first.err().or(second.err()).unwrap_or_default();
                    problems.push(problem(*span, wrong));
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let of = |(name, actor, span): (String, usize, Span)| Instance {
            path: vec![name.clone()],
            name,
            actor: ActorId(actor as u32),
            alternative: None,
            span,
        };
        let instances = instances.into_iter().map(of).collect();
        let programs = designs.into_iter().map(|design| Arc::new(Program::new(design))).collect();
        let shown = Arc::new(Network { name, inputs, outputs, actors, instances, connections, span });
        Ok(Self { shown, programs })
    }
}

/// An instance, or none at the boundary, and a port.
type End = (Option<String>, String);

/// A connection with the capacity that it asks for.
type Wire = (End, End, Option<u32>, Span);

fn problem(span: Span, message: String) -> Diagnostic {
    Diagnostic::error("xlim-error", message).at(span, "")
}

fn plain(span: Span, what: &str) -> Diagnostic {
    problem(span, format!("in a network of designs of XLIM {what}"))
        .help("`headrace build --target xlim` writes networks in this form")
}

fn position(ports: &[Port], name: &str) -> Result<usize, String> {
    ports.iter().position(|port| port.name == name).ok_or_else(|| format!("there is no port `{name}` there"))
}

fn scalar(ty: &ast::Type) -> Option<Scalar> {
    let size = |size: &Option<Box<ast::Expr>>| match size.as_ref().map(|size| &size.kind) {
        None => Some(32),
        Some(ExprKind::Int(size)) => {
            Int::from(size.clone()).to_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=MAX_WIDTH).contains(n))
        }
        _ => None,
    };
    Some(match &ty.kind {
        TypeKind::Bool => Scalar::Bool,
        TypeKind::Int(width) => Scalar::Int(IntType::signed(size(width)?)),
        TypeKind::Uint(width) => Scalar::Int(IntType::unsigned(size(width)?)),
        _ => return None,
    })
}

/// What a design shows to the outside.
fn shown(design: &Design) -> Actor {
    let span = design.pins.first().map_or(Span::default(), |pin| pin.span);
    let ports = |output| {
        let of = design.pins.iter().filter(move |pin| pin.output == output);
        of.map(|pin| Port { name: pin.name.clone(), ty: pin.ty, span: pin.span }).collect()
    };
    let action = |name: &str| Action {
        name: name.to_owned(),
        tag: None,
        consumes: Vec::new(),
        produces: Vec::new(),
        guard: Guard::default(),
        locals: Vec::new(),
        body: Vec::new(),
        annotations: Vec::new(),
        span,
    };
    Actor {
        class: design.name.clone(),
        parameters: Vec::new(),
        inputs: ports(false),
        outputs: ports(true),
        variables: Vec::new(),
        procedures: Vec::new(),
        natives: Vec::new(),
        initializers: Vec::new(),
        actions: design.tasks.iter().filter(|task| !task.autostart).map(|task| action(&task.name)).collect(),
        schedule: Schedule { states: vec![State { name: String::new(), tests: Vec::new() }], initial: StateId(0) },
        priorities: Vec::new(),
        annotations: Vec::new(),
        lines: Lines::default(),
        span,
    }
}

/// Tokens on their way along a connection.
#[derive(Debug)]
struct Fifo {
    tokens: VecDeque<Int>,
    capacity: u64,
    ty: Scalar,
}

impl Fifo {
    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.tokens.len() as u64)
    }
}

/// The FIFOs at each port of an instance: one at most at an input, any number at an output.
#[derive(Debug, Default)]
struct Ends {
    outputs: Vec<bool>,
    fifos: Vec<Vec<usize>>,
}

struct View<'a> {
    ends: &'a Ends,
    fifos: &'a mut [Fifo],
}

impl Pins for View<'_> {
    fn available(&self, pin: usize) -> u64 {
        let mine = self.ends.fifos[pin].iter().map(|&at| &self.fifos[at]);
        if self.ends.outputs[pin] {
            // As much as a counter of 32 bits shows where nobody reads.
            mine.map(Fifo::room).min().unwrap_or(i32::MAX as u64)
        } else {
            mine.map(|fifo| fifo.tokens.len() as u64).next().unwrap_or(0)
        }
    }

    fn peek(&self, pin: usize, at: u64) -> Option<Int> {
        let fifo = &self.fifos[*self.ends.fifos[pin].first()?];
        fifo.tokens.get(usize::try_from(at).ok()?).cloned()
    }

    fn take(&mut self, pin: usize) -> Int {
        let fifo = self.ends.fifos[pin].first().map(|&at| &mut self.fifos[at]);
        fifo.and_then(|fifo| fifo.tokens.pop_front()).unwrap_or(Int::ZERO)
    }

    fn give(&mut self, pin: usize, token: &Int) {
        for &at in &self.ends.fifos[pin] {
            let ty = self.fifos[at].ty;
            self.fifos[at].tokens.push_back(wrapped(token.clone(), ty));
        }
    }
}

/// A network of designs while it runs.
#[derive(Debug)]
pub struct XlimEngine {
    network: XlimNetwork,
    machines: Vec<Machine>,
    ends: Vec<Ends>,
    fifos: Vec<Fifo>,
    /// FIFOs that each network input writes, and the one that each output reads.
    inputs: Vec<Vec<usize>>,
    outputs: Vec<Option<usize>>,
    steps: u64,
}

impl XlimEngine {
    /// A network at its beginning.
    pub fn new(network: XlimNetwork, options: Options) -> Self {
        let shown = &network.shown;
        let design = |instance: InstanceId| &network.programs[shown.instances[instance.index()].actor.index()].design;
        let pin = |endpoint: Endpoint, output: bool| match endpoint {
            Endpoint::Boundary(_) => None,
            Endpoint::Instance(instance, port) => {
                let mut pins = design(instance).pins.iter().enumerate().filter(|(_, pin)| pin.output == output);
                pins.nth(port).map(|(at, pin)| (instance.index(), at, pin.burst))
            }
        };
        let ends_of = |at: usize| {
            let pins = &design(InstanceId(at as u32)).pins;
            Ends { outputs: pins.iter().map(|pin| pin.output).collect(), fifos: vec![Vec::new(); pins.len()] }
        };
        let mut ends: Vec<Ends> = (0..shown.instances.len()).map(ends_of).collect();
        let mut inputs = vec![Vec::new(); shown.inputs.len()];
        let mut outputs = vec![None; shown.outputs.len()];
        let mut fifos = Vec::new();
        for (at, connection) in shown.connections.iter().enumerate() {
            let mut burst = 1;
            match (connection.source, pin(connection.source, true)) {
                (_, Some((instance, pin, most))) => {
                    ends[instance].fifos[pin].push(at);
                    burst = burst.max(most);
                }
                (Endpoint::Boundary(port) | Endpoint::Instance(_, port), None) => inputs[port].push(at),
            }
            match (connection.target, pin(connection.target, false)) {
                (_, Some((instance, pin, most))) => {
                    ends[instance].fifos[pin].push(at);
                    burst = burst.max(most);
                }
                (Endpoint::Boundary(port) | Endpoint::Instance(_, port), None) => outputs[port] = Some(at),
            }
            let capacity = u64::from(connection.fifo_tokens.unwrap_or(options.fifo_tokens)).max(2 * burst);
            fifos.push(Fifo { tokens: VecDeque::new(), capacity, ty: shown.target_port(connection).ty });
        }
        let machines =
            shown.instances.iter().map(|instance| Machine::new(&network.programs[instance.actor.index()])).collect();
        let steps = options.step_limit.unwrap_or(u64::MAX);
        Self { machines, ends, fifos, inputs, outputs, steps, network }
    }

    fn trap(&self, instance: usize, failed: Failed) -> Trap {
        let instance = &self.network.shown.instances[instance];
        let design = &self.network.programs[instance.actor.index()].design;
        let (message, span) = match failed {
            Failed::Trapped(message, span) => (message, Some(span)),
            Failed::OutOfSteps => ("the limit on steps was reached".to_owned(), None),
        };
        Trap { message, instance: instance.name.clone(), action: design.name.clone(), span }
    }

    fn n_fired(&self) -> u64 {
        self.machines.iter().flat_map(|machine| &machine.called).sum()
    }

    fn blocked(&self, instance: usize, waiting: &Waiting) -> Blocked {
        let design = &self.network.programs[self.network.shown.instances[instance].actor.index()].design;
        let pin = &design.pins[waiting.pin];
        let fifos = &self.ends[instance].fifos[waiting.pin];
        let (port, needed) = (pin.name.clone(), waiting.needed);
        if !pin.output {
            let there = fifos.first().map_or(0, |&at| self.fifos[at].tokens.len() as u64);
            return Blocked::Tokens { port, needed, there };
        }
        let fullest = fifos.iter().min_by_key(|&&at| self.fifos[at].room());
        let reader =
            fullest.map_or(String::new(), |&at| self.network.shown.describe(&self.network.shown.connections[at]).1);
        Blocked::Room { port, needed, room: fullest.map_or(0, |&at| self.fifos[at].room()), reader }
    }
}

impl Engine for XlimEngine {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let Some(port) = self.network.shown.inputs.get(input) else { return 0 };
        let ty = port.ty;
        let size = ty.storage_bytes();
        let room = self.inputs[input].iter().map(|&at| self.fifos[at].room()).min().unwrap_or(u64::MAX);
        let n = (tokens.len() / size).min(usize::try_from(room).unwrap_or(usize::MAX));
        for token in tokens.chunks_exact(size).take(n) {
            let int = ty.as_int().unwrap_or(IntType::unsigned(1));
            let value = Int::from_le_bytes(token, int.signed).wrap(int);
            for &at in &self.inputs[input] {
                let fifo = &mut self.fifos[at];
                fifo.tokens.push_back(wrapped(value.clone(), fifo.ty));
            }
        }
        n
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let Some(at) = self.outputs.get(output).copied().flatten() else { return 0 };
        let fifo = &mut self.fifos[at];
        let n = fifo.tokens.len();
        for token in fifo.tokens.drain(..) {
            tokens.extend(token.to_le_bytes(fifo.ty.storage_bytes()));
        }
        n
    }

    fn run(&mut self, max_firings: Option<u64>, _host: &mut dyn Host) -> Result<Outcome, Trap> {
        let limit = max_firings.map(|most| self.n_fired().saturating_add(most));
        loop {
            let mut went = false;
            for at in 0..self.machines.len() {
                let program = &self.network.programs[self.network.shown.instances[at].actor.index()];
                let mut view = View { ends: &self.ends[at], fifos: &mut self.fifos };
                loop {
                    if limit.is_some_and(|limit| {
                        self.machines.iter().flat_map(|machine| &machine.called).sum::<u64>() >= limit
                    }) {
                        return Ok(Outcome::FiringLimit);
                    }
                    let turned = self.machines[at].turn(program, &mut view, &mut self.steps);
                    match turned {
                        Ok(Turn::Went) => went = true,
                        Ok(Turn::Waits) => break,
                        Err(failed) => return Err(self.trap(at, failed)),
                    }
                }
            }
            if !went {
                return Ok(Outcome::Idle);
            }
        }
    }

    fn report(&self) -> Report {
        let shown = &self.network.shown;
        let mut waits = Vec::new();
        for (at, machine) in self.machines.iter().enumerate() {
            let mut told: Vec<&Waiting> = Vec::new();
            for waiting in &machine.waiting {
                if told.contains(&waiting) {
                    continue;
                }
                told.push(waiting);
                let instance = &shown.instances[at];
                let action = self.network.programs[instance.actor.index()].design.name.clone();
                let blocked = self.blocked(at, waiting);
                waits.push(Wait { instance: instance.name.clone(), state: String::new(), action, blocked });
            }
        }
        let leftover = |(at, fifo): (usize, &Fifo)| {
            let (source, target) = shown.describe(&shown.connections[at]);
            Leftover { source, target, tokens: fifo.tokens.len() as u64, capacity: fifo.capacity }
        };
        let leftovers =
            self.fifos.iter().enumerate().filter(|(_, fifo)| !fifo.tokens.is_empty()).map(leftover).collect();
        Report { waits, leftovers }
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        let of = |(machine, instance): (&Machine, &Instance)| {
            let tasks = &self.network.programs[instance.actor.index()].design.tasks;
            machine.called.iter().zip(tasks).filter(|(_, task)| !task.autostart).map(|(called, _)| *called).collect()
        };
        self.machines.iter().zip(&self.network.shown.instances).map(of).collect()
    }
}
