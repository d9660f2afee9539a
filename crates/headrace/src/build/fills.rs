//! How full the FIFOs of an operation get, found by letting the interpreter run typical messages, in the pieces in which users
//! of small C hand them over.

use headrace_engine::{Blocked, CollectingHost, Engine, Outcome};
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{Connection, Endpoint, Network};
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, MessageWriter, PortData, Tokens};
use headrace_library::samples;
use headrace_targets::c::small::{Fill, Fills, Occupancy};
use std::collections::BTreeMap;

/// The interpreter as who knows.
#[derive(Debug)]
pub struct Interpreted;

/// Bytes of the pieces of input in which messages go, in turn; none: a message goes whole.
const PIECES: &[&[usize]] = &[&[], &[1, 2, 3, 5, 0, 8, 13, 21, 34], &[7, 16, 64, 9], &[64, 1, 63, 65, 128]];

/// Tokens that wait at an input at most.
const MOST_WAITING: u32 = 1 << 20;

/// Attempts to do with the least that bursts need.
const ATTEMPTS: usize = 16;

impl Fills for Interpreted {
    fn of_operation(&self, spec: &OperationSpec, network: &Network) -> Result<Occupancy, String> {
        let mut network = network.clone();
        for connection in network.connections.iter_mut().filter(|connection| is_boundary(connection)) {
            connection.fifo_tokens = Some(MOST_WAITING);
        }
        if samples::messages(spec).is_empty() {
            return Err("there are no typical messages of it".into());
        }
        let usual = seen(spec, &network, None)?;
        // A network that is determinate does the same with any FIFOs that do not stop it, so the shortest ones are tried.
        let mut capacities: Vec<u64> = network
            .connections
            .iter()
            .zip(&usual.fills)
            .map(|(connection, fill)| match is_boundary(connection) {
                true => u64::from(MOST_WAITING),
                false => least(&network, connection).min(fill.most.max(network.largest_burst(connection))),
            })
            .collect();
        for _ in 0..ATTEMPTS {
            let now = seen(spec, &network, Some(capacities.clone()))?;
            if now.out == usual.out {
                let capacity = |at: usize, fill: &Fill| match is_boundary(&network.connections[at]) {
                    true => fill.most,
                    false => capacities[at],
                };
                let fills = now.fills.iter().enumerate();
                let fifos = fills.map(|(at, fill)| Fill { most: capacity(at, fill), at_rest: fill.at_rest }).collect();
                return Ok(Occupancy { fifos, held_back: now.held_back });
            }
            let lacking = now.lacking.into_iter().filter(|&at| capacities[at] < usual.fills[at].most);
            let lacking: Vec<usize> = lacking.collect();
            if lacking.is_empty() {
                break;
            }
            lacking.into_iter().for_each(|at| capacities[at] = usual.fills[at].most);
        }
        Ok(Occupancy { fifos: usual.fills, held_back: usual.held_back })
    }
}

fn is_boundary(connection: &Connection) -> bool {
    matches!(connection.source, Endpoint::Boundary(_)) || matches!(connection.target, Endpoint::Boundary(_))
}

/// Tokens that a FIFO must hold for the bursts at its ends to go through it.
fn least(network: &Network, connection: &Connection) -> u64 {
    let (Endpoint::Instance(source, out), Endpoint::Instance(target, into)) = (connection.source, connection.target)
    else {
        return 1;
    };
    let (source, target) = (network.actor_of(source), network.actor_of(target));
    let written = source.actions.iter().chain(&source.initializers).map(|action| action.produced(out));
    let read = target.actions.iter().map(|action| action.consumed(into));
    let (written, read) = (written.max().unwrap_or(1).max(1), read.max().unwrap_or(1).max(1));
    let most = written.max(read);
    if most.is_multiple_of(written.min(read)) { most } else { written + read - 1 }
}

/// What was seen while messages went through a network.
struct Seen {
    fills: Vec<Fill>,
    /// Tokens that came out in each call.
    out: Vec<usize>,
    /// FIFOs for which something waited while the network rested, because they were full.
    lacking: Vec<usize>,
    /// The most bytes of a message that had gone in and not come out between two calls.
    held_back: u64,
}

/// Lets messages go through a network with FIFOs of the given capacities, or with those that bursts ask for usually.
fn seen(spec: &OperationSpec, network: &Network, capacities: Option<Vec<u64>>) -> Result<Seen, String> {
    let mut seen = Seen {
        fills: vec![Fill::default(); network.connections.len()],
        out: Vec::new(),
        lacking: Vec::new(),
        held_back: 0,
    };
    let input = spec.input(Role::Input).map(|port| port.name.as_str());
    let output = spec.output(Role::Output).map(|port| port.name.as_str());
    for pieces in PIECES {
        let mut run = Run::new(network, capacities.clone(), &mut seen)?;
        let mut writer = MessageWriter::new(spec);
        for (at, message) in samples::messages(spec).into_iter().enumerate() {
            let mut message = message;
            // Every third goes under the key of the one before.
            message.rekey = at % 3 != 2;
            let keeps = spec.input(Role::Key).is_some() || spec.input(Role::Rekey).is_some();
            let calls = calls(spec, &mut writer, &message, keeps, pieces);
            let (mut n_in, mut n_out) = (0, 0);
            for (number, call) in calls.iter().enumerate() {
                let made = run.call(call)?;
                n_in += call.iter().filter(|data| Some(data.port.as_str()) == input).map(n_tokens).sum::<usize>();
                n_out += made.into_iter().filter(|(port, _)| Some(*port) == output).map(|(_, n)| n).sum::<usize>();
                if number + 1 < calls.len() {
                    run.seen.held_back = run.seen.held_back.max(n_in.saturating_sub(n_out) as u64);
                }
            }
        }
        run.finish();
    }
    Ok(seen)
}

fn n_tokens(data: &PortData) -> usize {
    match &data.tokens {
        Tokens::Bytes(tokens) => tokens.len(),
        Tokens::Words(tokens) => tokens.len(),
    }
}

/// What the calls of the functions of an operation give its network for a message.
fn calls(
    spec: &OperationSpec,
    writer: &mut MessageWriter<'_>,
    message: &Message,
    keeps: bool,
    pieces: &[usize],
) -> Vec<Vec<PortData>> {
    let input = message.get(Role::Input).unwrap_or_default().to_vec();
    let mut calls = Vec::new();
    if spec.framing == Framing::Core {
        // The key comes with a burst of no blocks.
        let mut blocks = message.clone();
        if message.rekey {
            calls.extend(writer.begin(message).ok().and_then(|_| writer.chunk(&[], true).ok()));
        }
        blocks.rekey = false;
        calls.extend(writer.begin(&blocks).ok().and_then(|_| writer.chunk(&input, true).ok()));
        return calls;
    }
    let mut message = message.clone();
    message.rekey |= !keeps;
    let Ok(begin) = writer.begin(&message) else { return calls };
    let key = spec.input(Role::Key);
    let of_key = |data: &PortData| {
        let rekey = spec.input(Role::Rekey).is_some_and(|port| port.name == data.port);
        rekey || key.is_some_and(|key| key.name == data.port || key.companion.as_deref() == Some(&data.port))
    };
    let (keyed, mut rest): (Vec<PortData>, Vec<PortData>) =
        begin.into_iter().partition(|data| key.is_some() && message.rekey && of_key(data));
    if !keyed.is_empty() {
        calls.push(keyed);
    }
    let withholds = spec.verifies && spec.output(Role::Output).is_some();
    let whole = pieces.is_empty() || spec.single_chunk || withholds || spec.input(Role::Input).is_none();
    if whole {
        if spec.input(Role::Input).is_some() {
            rest.extend(writer.chunk(&input, true).unwrap_or_default());
        }
        calls.push(rest);
        return calls;
    }
    calls.push(rest);
    let mut left = input.as_slice();
    for &piece in pieces.iter().cycle() {
        if left.is_empty() {
            break;
        }
        let (now, later) = left.split_at(piece.min(left.len()));
        left = later;
        if !now.is_empty() {
            calls.extend(writer.chunk(now, false).ok());
        }
    }
    calls.extend(writer.chunk(&[], true).ok());
    calls
}

/// A network that runs, and what is seen of it.
struct Run<'a> {
    network: &'a Network,
    engine: Interpreter,
    seen: &'a mut Seen,
    /// Positions of connections by what is at their ends.
    connections: BTreeMap<(String, String), usize>,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, capacities: Option<Vec<u64>>, seen: &'a mut Seen) -> Result<Run<'a>, String> {
        let order = Order::DemandDriven;
        let options = Options { fifo_tokens: 1, capacities, order, profile: true, ..Options::default() };
        let engine = Interpreter::new(network.clone(), options)
            .map_err(|_| "the interpreter does not run its network".to_owned())?;
        let connections = network.connections.iter().enumerate();
        let connections = connections.map(|(at, connection)| (network.describe(connection), at)).collect();
        Ok(Run { network, engine, seen, connections })
    }

    /// Gives tokens, runs until nothing moves, and looks at what is left; gives how many tokens came out of each port.
    fn call(&mut self, given: &[PortData]) -> Result<Vec<(&'a str, usize)>, String> {
        for PortData { port, tokens } in given {
            let Some(at) = self.network.inputs.iter().position(|known| known.name == *port) else { continue };
            let bytes = self.network.inputs[at].ty.storage_bytes();
            let stored: Vec<u8> = match tokens {
                Tokens::Bytes(tokens) => tokens.iter().flat_map(|token| stored((*token).into(), bytes)).collect(),
                Tokens::Words(tokens) => tokens.iter().flat_map(|token| stored(*token, bytes)).collect(),
            };
            if self.engine.write(at, &stored) * bytes != stored.len() {
                return Err(format!("there is no room for a message at its input `{port}`"));
            }
        }
        let mut made: Vec<(&str, usize)> = self.network.outputs.iter().map(|port| (port.name.as_str(), 0)).collect();
        loop {
            match self.engine.run(None, &mut CollectingHost::default()) {
                Ok(Outcome::Idle) => {}
                Ok(_) => return Err("its network ends".into()),
                Err(trap) => return Err(format!("its network has a run-time error: {trap}")),
            }
            let mut moved = 0;
            for (port, (_, made)) in made.iter_mut().enumerate() {
                let n = self.engine.read(port, &mut Vec::new());
                *made += n;
                moved += n;
            }
            if moved == 0 {
                break;
            }
        }
        self.seen.out.push(made.iter().map(|(_, n)| n).sum());
        let report = self.engine.report();
        for leftover in report.leftovers {
            if let Some(&at) = self.connections.get(&(leftover.source, leftover.target)) {
                let fill = &mut self.seen.fills[at];
                fill.at_rest = fill.at_rest.max(leftover.tokens);
            }
        }
        for wait in report.waits {
            if let Blocked::Room { reader, .. } = wait.blocked {
                let full = self.connections.iter().filter(|((_, target), _)| *target == reader).map(|(_, &at)| at);
                self.seen.lacking.extend(full);
            }
        }
        Ok(made)
    }

    fn finish(self) {
        let most = self.engine.profile().map_or_else(Vec::new, |profile| profile.most_tokens);
        for (fill, most) in self.seen.fills.iter_mut().zip(most) {
            fill.most = fill.most.max(most.unwrap_or(0));
        }
    }
}

/// A token as it is stored.
fn stored(value: u64, bytes: usize) -> Vec<u8> {
    let mut all = value.to_le_bytes().to_vec();
    all.resize(bytes, 0);
    all
}
