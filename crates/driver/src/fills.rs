//! How full the FIFOs of an operation get, found by letting the interpreter run typical messages, in the pieces in which users
//! of small C hand them over.

use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{Endpoint, Network};
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, MessageWriter, PortData, Tokens};
use headrace_library::samples;
use headrace_targets::c::small::{Fill, Fills};
use std::collections::BTreeMap;

/// The interpreter as who knows.
#[derive(Debug)]
pub struct Interpreted;

/// Bytes of the pieces of input in which messages go, in turn; none: a message goes whole.
const PIECES: &[&[usize]] = &[&[], &[1, 2, 3, 5, 0, 8, 13, 21, 34], &[7, 16, 64, 9], &[64, 1, 63, 65, 128]];

/// Tokens that wait at an input at most.
const MOST_WAITING: u32 = 1 << 20;

impl Fills for Interpreted {
    fn of_operation(&self, spec: &OperationSpec, network: &Network) -> Result<Vec<Fill>, String> {
        let mut network = network.clone();
        for connection in &mut network.connections {
            let is_boundary = matches!(connection.source, Endpoint::Boundary(_))
                || matches!(connection.target, Endpoint::Boundary(_));
            if is_boundary {
                connection.fifo_tokens = Some(MOST_WAITING);
            }
        }
        let mut fills = vec![Fill::default(); network.connections.len()];
        let messages = samples::messages(spec);
        if messages.is_empty() {
            return Err("there are no typical messages of it".into());
        }
        for pieces in PIECES {
            let mut run = Run::new(&network, &mut fills)?;
            let mut writer = MessageWriter::new(spec);
            for (at, message) in messages.iter().enumerate() {
                let mut message = message.clone();
                // Every third goes under the key of the one before.
                message.rekey = at % 3 != 2;
                let keeps = spec.input(Role::Key).is_some() || spec.input(Role::Rekey).is_some();
                for call in calls(spec, &mut writer, &message, keeps, pieces) {
                    run.call(&call)?;
                }
            }
            run.finish();
        }
        Ok(fills)
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
    fills: &'a mut [Fill],
    /// Positions of connections by what is at their ends.
    connections: BTreeMap<(String, String), usize>,
}

impl<'a> Run<'a> {
    fn new(network: &'a Network, fills: &'a mut [Fill]) -> Result<Run<'a>, String> {
        let options = Options { fifo_tokens: 1, order: Order::DemandDriven, profile: true, ..Options::default() };
        let engine = Interpreter::new(network.clone(), options)
            .map_err(|_| "the interpreter does not run its network".to_owned())?;
        let connections = network.connections.iter().enumerate();
        let connections = connections.map(|(at, connection)| (network.describe(connection), at)).collect();
        Ok(Run { network, engine, fills, connections })
    }

    /// Gives tokens, runs until nothing moves, and looks at what is left.
    fn call(&mut self, given: &[PortData]) -> Result<(), String> {
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
        loop {
            match self.engine.run(None, &mut CollectingHost::default()) {
                Ok(Outcome::Idle) => {}
                Ok(_) => return Err("its network ends".into()),
                Err(trap) => return Err(format!("its network has a run-time error: {trap}")),
            }
            let mut moved = 0;
            for port in 0..self.network.outputs.len() {
                let mut out = Vec::new();
                moved += self.engine.read(port, &mut out);
            }
            if moved == 0 {
                break;
            }
        }
        for leftover in self.engine.report().leftovers {
            if let Some(&at) = self.connections.get(&(leftover.source, leftover.target)) {
                self.fills[at].at_rest = self.fills[at].at_rest.max(leftover.tokens);
            }
        }
        Ok(())
    }

    fn finish(self) {
        let most = self.engine.profile().map_or_else(Vec::new, |profile| profile.most_tokens);
        for (fill, most) in self.fills.iter_mut().zip(most) {
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
