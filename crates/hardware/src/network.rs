//! The top module: instances of actors, a FIFO for each connection, forks where a port has several readers.

use crate::actor::{MAX_WINDOW_BITS, Wiring, port_names};
use crate::datapath::Unit;
use crate::{Options, actor, fifo, sizes};
use headrace_ir::{Endpoint, InstanceId, IntType, Network, Scalar};
use headrace_program::names::{Names, identifier};
use headrace_rtl::{Connection, Design, Expr, Instance, Module, SignalId, SignalKind};
use headrace_source::Diagnostic;
use std::collections::{BTreeMap, BTreeSet};

/// Data, valid and ready of a stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    data: SignalId,
    valid: SignalId,
    ready: SignalId,
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
    // One module for all instances of an actor that are connected alike.
    let lanes = lanes(network);
    let mut known: BTreeMap<(usize, Wiring), String> = BTreeMap::new();
    let mut actors = Vec::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let key = (instance.actor.index(), wiring(network, InstanceId(at as u32), &lanes));
        let one = &network.actors[key.0];
        let name = match known.get(&key) {
            Some(name) => name.clone(),
            None => {
                let name = module_names.fresh(one.class.rsplit('.').next().unwrap_or(&one.class));
                if let Some(unit) = units.get(&key.0) {
                    let lanes = |side: usize, port: usize, _| u64::from([&key.1.inputs, &key.1.outputs][side][port]);
                    design.modules.push(unit.module(&name, lanes));
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
    let capacities = sizes::capacities(network, options);
    let depths = capacities.iter().zip(&lanes).map(|(tokens, &lanes)| tokens.div_ceil(u64::from(lanes)));
    let depths: Vec<u64> = depths.map(|depth| depth.max(2).next_power_of_two()).collect();
    for ((connection, &capacity), lanes) in network.connections.iter().zip(&depths).zip(&lanes) {
        let width = network.target_port(connection).ty.width().max(1) * lanes;
        if design.module(&fifo::name(width, capacity)).is_none() {
            design.modules.push(fifo::module(width, capacity));
        }
    }
    let top = Top {
        network,
        lanes: &lanes,
        m: Module::new(top_name),
        names: Names::of(&headrace_program::language::VERILOG),
    };
    design.modules.push(top.build(&actors, &depths));
    for module in &mut design.modules {
        headrace_rtl::drop_unread(module);
    }
    Ok(design)
}

/// How an instance is connected.
fn wiring(network: &Network, instance: InstanceId, lanes: &[u32]) -> Wiring {
    let actor = network.actor_of(instance);
    let mut wiring =
        Wiring { own: BTreeSet::new(), inputs: vec![1; actor.inputs.len()], outputs: vec![1; actor.outputs.len()] };
    for (connection, &lanes) in network.connections.iter().zip(lanes) {
        let port_of = |end: Endpoint| match end {
            Endpoint::Instance(other, port) if other == instance => Some(port),
            _ => None,
        };
        let (from, to) = (port_of(connection.source), port_of(connection.target));
        if let Some(port) = from {
            wiring.outputs[port] = lanes;
        }
        if let Some(port) = to {
            wiring.inputs[port] = lanes;
            wiring.own.extend(from.map(|_| port));
        }
    }
    wiring
}

/// Most bits that are transferred at once.
const MAX_BEAT_BITS: u64 = 1024;

/// For each connection the tokens that are transferred at once: as many as all bursts at both ends are multiples of, so that
/// no burst waits for a part of another; one where a burst is too large to be kept. The boundary moves single tokens.
fn lanes(network: &Network) -> Vec<u32> {
    let mut of: BTreeMap<Endpoint, u64> = BTreeMap::new();
    let mut widest: BTreeMap<Endpoint, u64> = BTreeMap::new();
    for connection in &network.connections {
        let common = of.entry(connection.source).or_insert(0);
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
        let all = widest.entry(connection.source).or_insert(1);
        *all = (*all).max(u64::from(width));
    }
    let all = network.connections.iter().map(|connection| {
        let common = of.get(&connection.source).copied().unwrap_or(1).max(1);
        let width = widest.get(&connection.source).copied().unwrap_or(1);
        // The largest divisor that is not too wide.
        let fits = |lanes: &u64| common.is_multiple_of(*lanes) && lanes * width <= MAX_BEAT_BITS;
        (1..=common.min(MAX_BEAT_BITS)).rev().find(fits).unwrap_or(1) as u32
    });
    all.collect()
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
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
    /// For each connection the tokens that are transferred at once.
    lanes: &'a [u32],
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
        }
    }

    fn build(mut self, actors: &[String], capacities: &[u64]) -> Module {
        let network = self.network;
        self.m.about.push(format!("The network {}.", network.name));
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
                outside[side].push(Stream { data, valid, ready });
            }
        }
        // Instances with the streams at their ports.
        let mut inside: Vec<[Vec<Stream>; 2]> = Vec::new();
        for (at, instance) in network.instances.iter().enumerate() {
            let actor = &network.actors[instance.actor.index()];
            let name = identifier(&instance.name);
            let wiring = wiring(network, InstanceId(at as u32), self.lanes);
            let mut connections = Vec::new();
            let mut streams = [Vec::new(), Vec::new()];
            for (side, ports) in [&actor.inputs, &actor.outputs].into_iter().enumerate() {
                for (at, port) in ports.iter().enumerate() {
                    let lanes = if side == 0 { wiring.inputs[at] } else { wiring.outputs[at] };
                    let stream = self.stream(&format!("{name}_{}", port.name), port.ty.width().max(1) * lanes);
                    // An actor names its ports in the same order, which keeps names apart.
                    let names = port_names(&port.name, side == 0);
                    for (port, signal) in names.into_iter().zip([stream.data, stream.valid, stream.ready]) {
                        connections.push(Connection { port, signal });
                    }
                    streams[side].push(stream);
                }
            }
            let name = self.names.fresh(&format!("u_{name}"));
            self.m.instances.push(Instance { name, module: actors[at].clone(), connections });
            inside.push(streams);
        }
        self.connect(&outside, &inside, capacities);
        self.m
    }

    fn connect(&mut self, outside: &[Vec<Stream>; 2], inside: &[[Vec<Stream>; 2]], capacities: &[u64]) {
        let network = self.network;
        let stream_at = |end: Endpoint, is_source: bool| match end {
            Endpoint::Boundary(port) => outside[usize::from(!is_source)][port],
            Endpoint::Instance(instance, port) => inside[instance.index()][usize::from(is_source)][port],
        };
        // FIFOs, and their ends.
        let mut pushes = Vec::new();
        for ((connection, &capacity), &lanes) in network.connections.iter().zip(capacities).zip(self.lanes) {
            let (source, target) = network.describe(connection);
            let name = format!("{}_to_{}", identifier(&source), identifier(&target));
            let width = network.target_port(connection).ty.width().max(1) * lanes;
            let push = self.stream(&name, width);
            let pop = stream_at(connection.target, false);
            let ends = [
                ("data_i", push.data),
                ("valid_i", push.valid),
                ("ready_o", push.ready),
                ("data_o", pop.data),
                ("valid_o", pop.valid),
                ("ready_i", pop.ready),
            ];
            let connections = ends.map(|(port, signal)| Connection { port: port.into(), signal }).to_vec();
            let name = self.names.fresh(&format!("u_fifo_{name}"));
            self.m.instances.push(Instance { name, module: fifo::name(width, capacity), connections });
            pushes.push(push);
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
                // A token goes to all of its readers in one cycle.
                let mut valid = self.m.get(from.valid);
                for &other in readers.iter().filter(|&&other| other != reader) {
                    valid = valid.and(self.m.get(pushes[other].ready));
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
                    Expr::concat((0..self.lanes[reader]).rev().map(lane).collect())
                };
                self.m.assign(push.data, value);
                ready = ready.and(self.m.get(push.ready));
            }
            self.m.assign(from.ready, ready);
        }
        self.open_ends(outside, inside);
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
