//! The top module: instances of actors, a FIFO for each connection, forks where a port has several readers.

use crate::actor::{Lanes, MAX_WINDOW_BITS, Wiring, port_names, signal_names};
use crate::alternatives::{self, Turn, Turns};
use crate::datapath::Unit;
use crate::feedback::{self, Way};
use crate::link::Link;
use crate::{Options, actor, fifo, sizes};
use headrace_ir::{Endpoint, InstanceId, IntType, Network, Port, Scalar};
use headrace_program::names::{Names, identifier};
use headrace_rtl::{Bits, Connection, Design, Expr, Instance, Module, SignalId, SignalKind, index_bits};
use headrace_source::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// Data, valid and ready of a stream; of an input of [`Lanes::UpTo`] tokens there and tokens taken instead of the two.
#[derive(Clone, Copy, Debug)]
struct Stream {
    data: SignalId,
    valid: SignalId,
    ready: SignalId,
    /// How many tokens a beat has, where that may vary.
    count: Option<SignalId>,
}

/// A token of one type as one of another, as by a store.
fn converted(value: Expr, from: Scalar, to: Scalar) -> Expr {
    let signed = matches!(from, Scalar::Int(IntType { signed: true, .. }));
    value.resized(signed, to.width().max(1))
}

/// Actors as modules; those of `units` are datapaths.
pub(crate) fn lower(
    network: &Network,
    units: &BTreeMap<usize, Unit>,
    options: &Options,
) -> Result<Design, Vec<Diagnostic>> {
    let mut diagnostics = Vec::new();
    let mut design = Design::default();
    let mut module_names = ModuleNames::default();
    let top_name = module_names.fresh(network.name.rsplit('.').next().unwrap_or(&network.name));
    let capacities = sizes::capacities(network, options);
    let at_once: Vec<u64> = network
        .connections
        .iter()
        .zip(beats(network))
        .map(|(connection, beat)| {
            u64::from(network.target_port(connection).ty.width().max(1)) * u64::from(beat.made().most())
        })
        .collect();
    let shared = alternatives::shared(network, |actor| units.contains_key(&actor), &at_once);
    let network = &shared.network;
    // One module for all instances of an actor that are connected alike.
    let beats = beats(network);
    let ways = feedback::ways(network, |actor| units.contains_key(&actor));
    let mut known: BTreeMap<(usize, Wiring), String> = BTreeMap::new();
    let mut actors = Vec::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let mut key = (instance.actor.index(), wiring(network, InstanceId(at as u32), &beats));
        if let Some(unit) = units.get(&key.0) {
            key.1.fix();
            key.1.direct = direct_outputs(network, at, unit, &ways);
        }
        let one = &network.actors[key.0];
        let name = match known.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = module_names.fresh(one.class.rsplit('.').next().unwrap_or(&one.class));
                if let Some(unit) = units.get(&key.0) {
                    let lanes =
                        |side: usize, port: usize, _| u64::from([&key.1.inputs, &key.1.outputs][side][port].most());
                    design.modules.push(unit.module(&name, lanes, &key.1.direct));
                } else if let Some(module) = actor::lower(one, &name, &key.1, options, &mut diagnostics) {
                    design.modules.push(module);
                }
                known.insert(key, name.clone());
                name
            }
        };
        actors.push(name);
    }
    for port in network.inputs.iter().chain(&network.outputs) {
        if let Scalar::Real(_) | Scalar::String = port.ty {
            let message = "hardware has no ports of reals or texts: convert to integers before".to_owned();
            diagnostics.push(Diagnostic::error("unsupported-by-target", message).at(port.span, "needed here"));
        }
    }
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let joints: Vec<Joint> = network
        .connections
        .iter()
        .zip(beats.iter().zip(&ways))
        .zip(&shared.origins)
        .map(|((connection, (beat, way)), &origin)| {
            Joint::of(network, connection, beat, capacities[origin], *way == Way::Direct)
        })
        .collect();
    for joint in &joints {
        if design.module(&joint.name()).is_none() {
            design.modules.push(joint.module());
        }
    }
    let top = Top {
        network,
        units,
        beats: &beats,
        joints: &joints,
        turns: &shared.turns,
        whose: Vec::new(),
        m: Module::new(top_name),
        names: Names::of(&headrace_program::language::VERILOG),
    };
    design.modules.push(top.build(&actors, &shared.parts));
    for module in &mut design.modules {
        headrace_rtl::drop_unread(module);
    }
    Ok(design)
}

/// Output ports of a datapath that show what is given at once: all connections there are part of a feedback, and no way of logic
/// closes.
fn direct_outputs(network: &Network, instance: usize, unit: &Unit, ways: &[Way]) -> BTreeSet<usize> {
    let at_port = |port: usize| {
        let source = Endpoint::Instance(InstanceId(instance as u32), port);
        let all = network.connections.iter().zip(ways).filter(move |(connection, _)| connection.source == source);
        all.map(|(_, way)| *way != Way::Clocked)
    };
    let n = network.actor_of(InstanceId(instance as u32)).outputs.len();
    (0..n)
        .filter(|&port| at_port(port).any(|one| one) && at_port(port).all(|one| one) && unit.gives_blindly(port))
        .collect()
}

/// The module of a connection.
enum Joint {
    /// A FIFO of beats of so many bits, how many it holds, and whether it is direct.
    Fifo(u32, u64, bool),
    Link(Link),
}

impl Joint {
    fn of(network: &Network, connection: &headrace_ir::Connection, beat: &Beat, tokens: u64, is_direct: bool) -> Self {
        let width = network.target_port(connection).ty.width().max(1);
        match beat {
            Beat::Fixed(lanes) => {
                let beats = |tokens: u64| tokens.div_ceil(u64::from(*lanes));
                // A beat that is followed at once needs room for a second one, unless the source asks for less and a firing
                // at either end moves a beat.
                let asked = connection.fifo_tokens.filter(|_| network.largest_burst(connection) == u64::from(*lanes));
                let depth = asked.map_or_else(|| beats(tokens).max(2), |asked| beats(u64::from(asked)).max(1));
                let depth = depth.next_power_of_two();
                Joint::Fifo(width * lanes, depth, is_direct)
            }
            Beat::Elastic { made, taken } => {
                let least = made.first().copied().unwrap_or(1);
                let link = Link { width, made: made.clone(), taken: taken.clone(), depth: 2, is_direct };
                // A beat waits only where the window has all that it shows.
                let waiting = tokens.saturating_sub(u64::from(link.shown())).div_ceil(least);
                Joint::Link(Link { depth: waiting.max(2).next_power_of_two(), ..link })
            }
        }
    }

    fn name(&self) -> String {
        match self {
            Joint::Fifo(width, depth, is_direct) => fifo::name(*width, *depth, *is_direct),
            Joint::Link(link) => link.name(),
        }
    }

    fn module(&self) -> Module {
        match self {
            Joint::Fifo(width, depth, is_direct) => fifo::module(*width, *depth, *is_direct),
            Joint::Link(link) => link.module(),
        }
    }
}

/// How an instance is connected.
fn wiring(network: &Network, instance: InstanceId, beats: &[Beat]) -> Wiring {
    let actor = network.actor_of(instance);
    let mut wiring = Wiring {
        own: BTreeSet::new(),
        direct: BTreeSet::new(),
        inputs: vec![Lanes::default(); actor.inputs.len()],
        outputs: vec![Lanes::default(); actor.outputs.len()],
    };
    for (connection, beat) in network.connections.iter().zip(beats) {
        let port_of = |end: Endpoint| match end {
            Endpoint::Instance(other, port) if other == instance => Some(port),
            _ => None,
        };
        let (from, to) = (port_of(connection.source), port_of(connection.target));
        if let Some(port) = from {
            wiring.outputs[port] = beat.made();
        }
        if let Some(port) = to {
            wiring.inputs[port] = beat.taken();
            wiring.own.extend(from.map(|_| port));
        }
    }
    wiring
}

/// Most bits that are transferred at once.
const MAX_BEAT_BITS: u64 = 2048;

/// What moves at once at the ends of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Beat {
    /// So many tokens at both ends.
    Fixed(u32),
    /// Bursts of one of these numbers where they are made, and of one of those where they are taken; ascending, none of them 0.
    Elastic { made: Vec<u64>, taken: Vec<u64> },
}

impl Beat {
    fn made(&self) -> Lanes {
        match self {
            Beat::Fixed(lanes) => Lanes::Fixed(*lanes),
            Beat::Elastic { made, .. } => Lanes::UpTo(made.last().map_or(1, |&most| most as u32)),
        }
    }

    fn taken(&self) -> Lanes {
        match self {
            Beat::Fixed(lanes) => Lanes::Fixed(*lanes),
            Beat::Elastic { taken, .. } => Lanes::UpTo(taken.last().map_or(1, |&most| most as u32)),
        }
    }
}

/// For each connection what moves at once: a fixed number of tokens where this is all that its writer makes at once, else bursts as
/// they come, where all of its ends are actors and none of them is an actor with itself.
fn beats(network: &Network) -> Vec<Beat> {
    let fixed = lanes(network);
    let mut beats: Vec<Beat> = fixed.iter().map(|&lanes| Beat::Fixed(lanes)).collect();
    let mut readers: BTreeMap<Endpoint, BTreeMap<Endpoint, Vec<usize>>> = BTreeMap::new();
    for (connection, at) in together(network).into_iter().zip(0..).zip(&network.connections) {
        readers.entry(connection.0).or_default().entry(at.source).or_default().push(connection.1);
    }
    for sources in readers.into_values() {
        let of = |least: u32| -> Option<Vec<(&Vec<usize>, Vec<Beat>)>> {
            let all = sources.iter().map(|(source, at)| Some((at, elastic(network, *source, at, least)?)));
            all.collect()
        };
        // Where one of several sources has bursts, the others are taken for some, too.
        let any = sources.iter().any(|(source, at)| elastic(network, *source, at, fixed[at[0]]).is_some());
        for (at, elastic) in any.then(|| of(0)).flatten().into_iter().flatten() {
            at.iter().zip(elastic).for_each(|(&at, beat)| beats[at] = beat);
        }
    }
    beats
}

/// For each connection a source that stands for its own and all that move as many tokens at once: those that lead to the same port
/// of a shared instance.
fn together(network: &Network) -> Vec<Endpoint> {
    let mut of: BTreeMap<Endpoint, Endpoint> = BTreeMap::new();
    let mut at_port: BTreeMap<Endpoint, Endpoint> = BTreeMap::new();
    let find = |of: &BTreeMap<Endpoint, Endpoint>, mut end: Endpoint| {
        while let Some(&next) = of.get(&end) {
            end = next;
        }
        end
    };
    for connection in &network.connections {
        let first = *at_port.entry(connection.target).or_insert(connection.source);
        let (a, b) = (find(&of, first), find(&of, connection.source));
        if a != b {
            of.insert(b, a);
        }
    }
    network.connections.iter().map(|connection| find(&of, connection.source)).collect()
}

/// Beats of the connections of a source as bursts come; `fixed` tokens could always move at once.
fn elastic(network: &Network, source: Endpoint, readers: &[usize], fixed: u32) -> Option<Vec<Beat>> {
    let Endpoint::Instance(writer, out) = source else { return None };
    let actor = network.actor_of(writer);
    let all = actor.actions.iter().chain(&actor.initializers).map(|action| action.produced(out));
    let made: BTreeSet<u64> = all.filter(|&tokens| tokens > 0).collect();
    let most = *made.last()?;
    if most <= u64::from(fixed) {
        return None;
    }
    let beat = |&at: &usize| {
        let connection = &network.connections[at];
        let Endpoint::Instance(reader, port) = connection.target else { return None };
        let width = network.source_port(connection).ty.width().max(network.target_port(connection).ty.width()).max(1);
        let all = network.actor_of(reader).actions.iter().map(|action| action.consumed(port));
        let taken: BTreeSet<u64> = all.filter(|&tokens| tokens > 0).collect();
        let widest = most.max(*taken.last()?).checked_mul(u64::from(width))?;
        let taken = taken.into_iter().collect();
        let made = made.iter().copied().collect();
        (reader != writer && widest <= MAX_BEAT_BITS).then_some(Beat::Elastic { made, taken })
    };
    readers.iter().map(beat).collect()
}

/// For each connection the tokens that are transferred at once, where that is a fixed number: as many as all bursts at both ends are multiples of, so that
/// no burst waits for a part of another; one where a burst is too large to be kept. The boundary moves single tokens.
fn lanes(network: &Network) -> Vec<u32> {
    let mut of: BTreeMap<Endpoint, u64> = BTreeMap::new();
    let mut widest: BTreeMap<Endpoint, u64> = BTreeMap::new();
    let together = together(network);
    for (connection, source) in network.connections.iter().zip(&together) {
        let common = of.entry(*source).or_insert(0);
        let (Endpoint::Instance(from, out), Endpoint::Instance(to, port)) = (connection.source, connection.target)
        else {
            *common = 1;
            continue;
        };
        let (writer, reader) = (network.actor_of(from), network.actor_of(to));
        let made = writer.actions.iter().chain(&writer.initializers).map(|action| action.produced(out));
        let taken = reader.actions.iter().map(|action| action.consumed(port));
        let width = network.source_port(connection).ty.width().max(network.target_port(connection).ty.width());
        if made.clone().any(|tokens| tokens.saturating_mul(u64::from(width)) > MAX_WINDOW_BITS) {
            *common = 1;
            continue;
        }
        *common = made.chain(taken).fold(*common, greatest_common_divisor);
        let all = widest.entry(*source).or_insert(1);
        *all = (*all).max(u64::from(width));
    }
    let all = together.iter().map(|source| {
        let common = of.get(source).copied().unwrap_or(1).max(1);
        let width = widest.get(source).copied().unwrap_or(1);
        // The largest divisor that is not too wide.
        let fits = |lanes: &u64| common.is_multiple_of(*lanes) && lanes * width <= MAX_BEAT_BITS;
        (1..=common.min(MAX_BEAT_BITS)).rev().find(fits).unwrap_or(1) as u32
    });
    all.collect()
}

/// The greatest number that divides both.
pub(crate) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Names of modules: no two of them differ by capital letters alone, which neither VHDL nor every file system tells apart, and
/// none begins as those of FIFOs and of packages do.
pub(crate) struct ModuleNames {
    names: Names,
    small: BTreeSet<String>,
}

impl Default for ModuleNames {
    fn default() -> Self {
        Self { names: Names::of(&headrace_program::language::VERILOG), small: BTreeSet::new() }
    }
}

impl ModuleNames {
    /// A name like this one that no module has yet.
    pub(crate) fn fresh(&mut self, like: &str) -> String {
        let is_kept = like.to_ascii_lowercase().starts_with("headrace_");
        let like = if is_kept { &format!("x_{like}") } else { like };
        loop {
            let name = self.names.fresh(like);
            if self.small.insert(name.to_ascii_lowercase()) {
                return name;
            }
        }
    }
}

struct Top<'a> {
    network: &'a Network,
    /// Those of its actors that are datapaths.
    units: &'a BTreeMap<usize, Unit>,
    /// For each connection what moves at once,
    beats: &'a [Beat],
    /// what stands between its ends,
    joints: &'a [Joint],
    /// and when tokens move there, where instances are shared.
    turns: &'a [Turns],
    /// For each family of alternatives how many parts it has, and the register that says whose turn it is.
    whose: Vec<(usize, SignalId)>,
    m: Module,
    names: Names,
}

impl Top<'_> {
    fn wire(&mut self, like: &str, width: u32) -> SignalId {
        let name = self.names.fresh(like);
        self.m.add(name, width, SignalKind::Wire)
    }

    fn stream(&mut self, like: &str, width: u32) -> Stream {
        Stream {
            data: self.wire(&format!("{like}_data"), width),
            valid: self.wire(&format!("{like}_valid"), 1),
            ready: self.wire(&format!("{like}_ready"), 1),
            count: None,
        }
    }

    /// The stream at a port of an instance, and what its signals are connected to.
    fn port(&mut self, instance: &str, port: &Port, is_input: bool, lanes: Lanes) -> (Stream, Vec<Connection>) {
        let like = format!("{instance}_{}", port.name);
        let mut stream = self.stream(&like, port.ty.width().max(1) * lanes.most());
        if let Lanes::UpTo(most) = lanes {
            let bits = index_bits(u64::from(most) + 1);
            if is_input {
                stream.valid = self.wire(&format!("{like}_there"), bits);
                stream.ready = self.wire(&format!("{like}_take"), bits);
            } else {
                stream.count = Some(self.wire(&format!("{like}_count"), bits));
            }
        }
        let signals = [Some(stream.data), Some(stream.valid), Some(stream.ready), stream.count];
        let names = signal_names(&port.name, is_input, lanes);
        let connections = names.into_iter().zip(signals.into_iter().flatten());
        (stream, connections.map(|(port, signal)| Connection { port, signal }).collect())
    }

    fn build(mut self, actors: &[String], parts: &[usize]) -> Module {
        let network = self.network;
        self.m.about.push(format!("The network {}.", network.name));
        let next: Vec<SignalId> = parts.iter().map(|&parts| self.add_turn(parts)).collect();
        // The boundary.
        let mut outside: [Vec<Stream>; 2] = [Vec::new(), Vec::new()];
        for (side, ports) in [&network.inputs, &network.outputs].into_iter().enumerate() {
            for port in ports {
                let [data, valid, ready] = port_names(&port.name, side == 0).map(|name| self.names.fresh(&name));
                let (forth, back) = if side == 0 {
                    (SignalKind::Input, SignalKind::Output)
                } else {
                    (SignalKind::Output, SignalKind::Input)
                };
                let data = self.m.add(data, port.ty.width().max(1), forth.clone());
                let valid = self.m.add(valid, 1, forth);
                let ready = self.m.add(ready, 1, back);
                outside[side].push(Stream { data, valid, ready, count: None });
            }
        }
        // Instances with the streams at their ports.
        let mut inside: Vec<[Vec<Stream>; 2]> = Vec::new();
        for (at, instance) in network.instances.iter().enumerate() {
            let actor = &network.actors[instance.actor.index()];
            let name = identifier(&instance.name);
            let mut wiring = wiring(network, InstanceId(at as u32), self.beats);
            if self.units.contains_key(&instance.actor.index()) {
                wiring.fix();
            }
            let mut connections = Vec::new();
            let mut streams = [Vec::new(), Vec::new()];
            for (side, ports) in [&actor.inputs, &actor.outputs].into_iter().enumerate() {
                for (at, port) in ports.iter().enumerate() {
                    let lanes = if side == 0 { wiring.inputs[at] } else { wiring.outputs[at] };
                    // An actor names its ports in the same order, which keeps names apart.
                    let (stream, ends) = self.port(&name, port, side == 0, lanes);
                    connections.extend(ends);
                    streams[side].push(stream);
                }
            }
            let name = self.names.fresh(&format!("u_{name}"));
            self.m.instances.push(Instance { name, module: actors[at].clone(), connections });
            inside.push(streams);
        }
        self.connect(&outside, &inside, &next);
        self.m
    }

    /// The register that says whose turn it is, of so many parts; what it becomes.
    fn add_turn(&mut self, parts: usize) -> SignalId {
        let name = self.names.fresh("turn");
        let (turn, next) = self.m.add_register(&name, Bits::zero(index_bits(parts as u64)));
        self.whose.push((parts, turn));
        next
    }

    fn is_turn(&self, turn: Turn) -> Expr {
        self.m.get(self.whose[turn.family].1).is(turn.part as u64)
    }

    /// A value in a turn, else 0.
    fn in_turn(&self, turn: Option<Turn>, value: SignalId) -> Expr {
        let width = self.m.signal(value).width;
        let value = self.m.get(value);
        turn.map_or(value.clone(), |turn| Expr::select(self.is_turn(turn), value, Expr::number(width, 0)))
    }

    /// The streams of connections that lead to one port of a shared instance, each in its turn.
    fn choose(&mut self, sides: &[(Turn, Stream)], to: Stream) {
        let Some((first, _)) = sides.first() else { return };
        let is_whole = sides.len() == self.whose[first.family].0;
        let chosen = |signal: fn(&Stream) -> SignalId, is_whole: bool| {
            let value = |(_, stream): &(Turn, Stream)| self.m.get(signal(stream));
            let none = Expr::number(self.m.signal(signal(&to)).width, 0);
            let (last, rest) = if is_whole { (value(&sides[0]), &sides[1..]) } else { (none, sides) };
            rest.iter().fold(last, |otherwise, side| Expr::select(self.is_turn(side.0), value(side), otherwise))
        };
        // Nobody looks at data without valid.
        let (data, valid) = (chosen(|stream| stream.data, true), chosen(|stream| stream.valid, is_whole));
        self.m.assign(to.data, data);
        self.m.assign(to.valid, valid);
        for (turn, stream) in sides {
            let ready = self.in_turn(Some(*turn), to.ready);
            self.m.assign(stream.ready, ready);
        }
    }

    fn connect(&mut self, outside: &[Vec<Stream>; 2], inside: &[[Vec<Stream>; 2]], next_turns: &[SignalId]) {
        let network = self.network;
        let stream_at = |end: Endpoint, is_source: bool| match end {
            Endpoint::Boundary(port) => outside[usize::from(!is_source)][port],
            Endpoint::Instance(instance, port) => inside[instance.index()][usize::from(is_source)][port],
        };
        // What stands between, and its ends.
        let mut pushes = Vec::new();
        let mut sides: BTreeMap<Endpoint, Vec<(Turn, Stream)>> = BTreeMap::new();
        for (at, connection) in network.connections.iter().enumerate() {
            let to = stream_at(connection.target, false);
            let pop = match self.turns[at].leaves {
                Some(turn) => {
                    let pop = self.side(connection, to);
                    sides.entry(connection.target).or_default().push((turn, pop));
                    pop
                }
                None => to,
            };
            pushes.push(self.join(at, connection, pop));
        }
        for (target, sides) in sides {
            self.choose(&sides, stream_at(target, false));
        }
        for (family, &next) in next_turns.iter().enumerate() {
            let (_, register) = self.whose[family];
            let mut turn = self.m.get(register);
            let bits = self.m.signal(register).width;
            for (push, turns) in pushes.iter().zip(self.turns) {
                let Some(begins) = turns.begins.filter(|begins| begins.family == family) else { continue };
                turn = Expr::select(self.m.get(push.valid), Expr::number(bits, begins.part as u64), turn);
            }
            self.m.assign(next, turn);
        }
        let instances = network.instances.iter().enumerate();
        let inner = instances.flat_map(|(at, instance)| {
            let n = network.actors[instance.actor.index()].outputs.len();
            (0..n).map(move |port| Endpoint::Instance(InstanceId(at as u32), port))
        });
        let sources: Vec<Endpoint> = (0..network.inputs.len()).map(Endpoint::Boundary).chain(inner).collect();
        for source in sources {
            let from = stream_at(source, true);
            let readers: Vec<usize> =
                (0..network.connections.len()).filter(|&at| network.connections[at].source == source).collect();
            let mut ready = Expr::bit(true);
            for &reader in &readers {
                let connection = &network.connections[reader];
                let push = pushes[reader];
                let turn = self.turns[reader].enters;
                // A token goes to all of its readers in one cycle: those of its turn.
                let mut valid = self.in_turn(turn, from.valid);
                for &other in readers.iter().filter(|&&other| other != reader) {
                    match self.turns[other].enters {
                        Some(of_other) if turn.is_some_and(|turn| turn != of_other) => {}
                        of_other => valid = valid.and(self.accepts(pushes[other], of_other)),
                    }
                }
                self.m.assign(push.valid, valid);
                let all = self.m.get(from.data);
                let first = network.source_port(connection).ty;
                let width = first.width().max(1);
                let lane = |lane: u32| {
                    let mut value = all.clone().slice(lane * width, width);
                    let mut scalar = first;
                    for &next in connection.via.iter().chain([&network.target_port(connection).ty]) {
                        value = converted(value, scalar, next);
                        scalar = next;
                    }
                    value
                };
                let value = if connection.via.is_empty() && first == network.target_port(connection).ty {
                    all.clone()
                } else {
                    Expr::concat((0..self.beats[reader].made().most()).rev().map(lane).collect())
                };
                self.m.assign(push.data, value);
                if let Some(count) = push.count {
                    let bits = self.m.signal(count).width;
                    // A datapath always makes as many.
                    let all = u64::from(self.beats[reader].made().most());
                    let value = from.count.map_or(Expr::number(bits, all), |count| self.m.get(count));
                    self.m.assign(count, value);
                }
                ready = ready.and(self.accepts(push, turn));
            }
            self.m.assign(from.ready, ready);
        }
        self.open_ends(outside, inside);
    }

    /// Whether there is room in a connection, or it has not its turn.
    fn accepts(&self, push: Stream, turn: Option<Turn>) -> Expr {
        let ready = self.m.get(push.ready);
        turn.map_or(ready.clone(), |turn| self.is_turn(turn).inverted().or(ready))
    }

    /// A stream like that at a port of a shared instance, for one connection of several that lead there.
    fn side(&mut self, connection: &headrace_ir::Connection, to: Stream) -> Stream {
        let (source, target) = self.network.describe(connection);
        let like = format!("{}_from_{}", identifier(&target), identifier(&source));
        let width = |m: &Module, signal: SignalId| m.signal(signal).width;
        let [data, valid, ready] = [to.data, to.valid, to.ready].map(|signal| width(&self.m, signal));
        Stream {
            data: self.wire(&format!("{like}_data"), data),
            valid: self.wire(&format!("{like}_valid"), valid),
            ready: self.wire(&format!("{like}_ready"), ready),
            count: None,
        }
    }

    /// The module of a connection, in front of a stream; the stream that leads to it.
    fn join(&mut self, at: usize, connection: &headrace_ir::Connection, pop: Stream) -> Stream {
        let network = self.network;
        let (source, target) = network.describe(connection);
        let name = format!("{}_to_{}", identifier(&source), identifier(&target));
        let width = network.target_port(connection).ty.width().max(1) * self.beats[at].made().most();
        let mut push = self.stream(&name, width);
        let mut ends =
            vec![("data_i", push.data), ("valid_i", push.valid), ("ready_o", push.ready), ("data_o", pop.data)];
        match &self.joints[at] {
            Joint::Fifo(..) => ends.extend([("valid_o", pop.valid), ("ready_i", pop.ready)]),
            Joint::Link(link) => {
                let count = self.wire(&format!("{name}_count"), index_bits(u64::from(link.beat()) + 1));
                push.count = Some(count);
                let (there, take) = self.counts(connection, link, pop);
                ends.extend([("count_i", count), ("there_o", there), ("take_i", take)]);
            }
        }
        let connections = ends.into_iter().map(|(port, signal)| Connection { port: port.into(), signal }).collect();
        let name = self.names.fresh(&format!("u_fifo_{name}"));
        self.m.instances.push(Instance { name, module: self.joints[at].name(), connections });
        push
    }

    /// Tokens there and tokens taken at the end of a link: those of the reader, or where that is a datapath, which takes always as
    /// many, made of its valid and ready.
    fn counts(&mut self, connection: &headrace_ir::Connection, link: &Link, pop: Stream) -> (SignalId, SignalId) {
        let is_unit = match connection.target {
            Endpoint::Instance(reader, _) => {
                self.units.contains_key(&self.network.instances[reader.index()].actor.index())
            }
            Endpoint::Boundary(_) => false,
        };
        if !is_unit {
            return (pop.valid, pop.ready);
        }
        let most = u64::from(link.shown());
        let bits = index_bits(most + 1);
        let (there, take) = (self.wire("there", bits), self.wire("take", bits));
        self.m.assign(pop.valid, self.m.get(there).is(most));
        let goes = self.m.get(pop.valid).and(self.m.get(pop.ready));
        self.m.assign(take, Expr::select(goes, Expr::number(bits, most), Expr::number(bits, 0)));
        (there, take)
    }

    /// Nothing comes to what is not connected.
    fn open_ends(&mut self, outside: &[Vec<Stream>; 2], inside: &[[Vec<Stream>; 2]]) {
        let network = self.network;
        let mut ends: Vec<(Endpoint, Stream)> = Vec::new();
        for (port, stream) in outside[1].iter().enumerate() {
            ends.push((Endpoint::Boundary(port), *stream));
        }
        for (at, streams) in inside.iter().enumerate() {
            for (port, stream) in streams[0].iter().enumerate() {
                ends.push((Endpoint::Instance(InstanceId(at as u32), port), *stream));
            }
        }
        for (end, stream) in ends {
            if network.connections.iter().all(|connection| connection.target != end) {
                let width = self.m.signal(stream.data).width;
                self.m.assign(stream.data, Expr::number(width, 0));
                self.m.assign(stream.valid, Expr::bit(false));
            }
        }
    }
}
