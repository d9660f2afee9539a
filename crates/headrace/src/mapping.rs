//! Which instance runs on which thread: named in a file, or chosen here from a trial run.

use crate::error::{Error, Result};
use crate::profile::Measured;
use crate::roots::read_source;
use crate::workspace::Workspace;
use headrace_analysis::partition::{self, Division};
use headrace_engine::Engine;
use headrace_exchange::{SilentHost, input_named};
use headrace_frontend::mapping::Partitioning;
use headrace_interp::{Interpreter, Options};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Endpoint, IntType, Network, Port, Scalar};
use headrace_source::Severity;
use headrace_syntax::xcf;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// Firings of the trial run.
const TRIAL_FIRINGS: u64 = 10_000;

/// Bytes of the first message of the trial run, where messages have lengths; each is twice as long as the one before.
const TRIAL_BYTES: usize = 256;

/// Bytes that a FIFO between two threads holds when nobody says a capacity, nor the source. One that is filled
/// before the next gets anything, as where a message is cut into parts, must hold all of a part, or the threads
/// work by turns.
const SHARED_BYTES: u64 = 1 << 21;

/// An instance that does less than this part of the work of a network, and whose tokens other threads wait for, is not to be
/// stopped by a full FIFO of its own thread.
const LIGHT: u64 = 50;

/// The same for a FIFO at the boundary: all threads rest when it runs dry.
const BOUNDARY_BYTES: u64 = 1 << 20;

/// How often each action of each instance fires in a trial run with made-up tokens: any byte strings, whole messages, one
/// key. What matters is what happens again and again, and that shows in such a run as well as in any other, as long as it
/// does not end where only the first part of a message has been seen.
pub fn trial(network: &Arc<Network>) -> Vec<Vec<u64>> {
    let options = Options { fifo_tokens: DEFAULT_FIFO_TOKENS, ..Options::default() };
    let Ok(mut engine) = Interpreter::new(network.clone(), options) else { return Vec::new() };
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |bytes: usize| -> Vec<u8> {
        // xorshift64* (Vigna 2016): the same tokens in every trial.
        let mut next = || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d) as u8
        };
        (0..bytes).map(|_| next()).collect()
    };
    let roles: Vec<Role> = (0..network.inputs.len()).map(|input| role(network, input)).collect();
    let mut of_whole_messages = None;
    let mut message_bytes = TRIAL_BYTES;
    let mut done = 0;
    let mut dropped = Vec::new();
    while done < TRIAL_FIRINGS {
        let mut message: Vec<Vec<u8>> = roles
            .iter()
            .map(|role| match role {
                Role::Size => (1u32 << 31 | message_bytes as u32).to_le_bytes().to_vec(),
                Role::Rekey => vec![u8::from(done == 0)],
                Role::String => random(message_bytes),
                Role::Data => Vec::new(),
            })
            .collect();
        let began = done;
        loop {
            for (input, (role, port)) in roles.iter().zip(&network.inputs).enumerate() {
                let size = port.ty.storage_bytes();
                if let Role::Data = role {
                    engine.write(input, &random(256 * size));
                } else {
                    let written = engine.write(input, &message[input]);
                    message[input].drain(..written * size);
                }
            }
            let stopped = engine.run(Some(TRIAL_FIRINGS - done), &mut SilentHost);
            for output in 0..network.outputs.len() {
                dropped.clear();
                engine.read(output, &mut dropped);
            }
            let now = engine.firings().iter().flatten().sum();
            // Made-up tokens may make a program fail; what it did until then counts.
            if stopped.is_err() {
                return of_whole_messages.unwrap_or_else(|| engine.firings());
            }
            if now == done {
                break;
            }
            done = now;
        }
        if done == began || message.iter().any(|tokens| !tokens.is_empty()) {
            break;
        }
        if done < TRIAL_FIRINGS {
            of_whole_messages = Some(engine.firings());
        }
        message_bytes *= 2;
    }
    of_whole_messages.unwrap_or_else(|| engine.firings())
}

/// What an input is by the conventions of the library.
enum Role {
    /// Chunk sizes of a byte string.
    Size,
    /// A byte string that has them.
    String,
    /// Whether a new key comes with the message.
    Rekey,
    /// Anything else.
    Data,
}

fn role(network: &Network, input: usize) -> Role {
    let port = &network.inputs[input];
    let string = port.name.strip_suffix("Size").and_then(|name| input_named(network, name));
    let bytes = string.is_some_and(|string| network.inputs[string].ty == Scalar::Int(IntType::unsigned(8)));
    let is_size = |port: &Port| port.ty == Scalar::Int(IntType::unsigned(32));
    let sizes = input_named(network, &format!("{}Size", port.name));
    match port.ty {
        Scalar::Int(ty) if ty == IntType::unsigned(8) && sizes.is_some_and(|at| is_size(&network.inputs[at])) => {
            Role::String
        }
        _ if bytes && is_size(port) => Role::Size,
        Scalar::Bool if port.name == "Rekey" => Role::Rekey,
        _ => Role::Data,
    }
}

/// The division of a network among threads that its work suggests: that of a profile, or of a trial.
///
/// # Errors
///
/// A profile of another network.
pub fn automatic(network: &Arc<Network>, threads: u32, profile: Option<&Measured>) -> Result<Division> {
    let Some(profile) = profile else {
        return Ok(partition::divide(network, threads as usize, &trial(network), None));
    };
    let (firings, times) = profile.weights(network)?;
    Ok(partition::divide(network, threads as usize, &firings, Some(&times)))
}

/// The network with larger FIFOs where threads meet, and behind those who deal tokens to several, unless
/// their capacities were asked for.
pub fn with_room(network: &Network, division: &Division) -> Network {
    let mapping = &division.mapping;
    let dealers = dealers(network, division);
    let mut network = network.clone();
    let types: Vec<Scalar> = network.connections.iter().map(|connection| network.target_port(connection).ty).collect();
    for (connection, ty) in network.connections.iter_mut().zip(types) {
        let dealt = matches!(connection.source, Endpoint::Instance(from, _) if dealers[from.index()]);
        if connection.fifo_tokens.is_none() && (dealt || mapping.crosses(connection)) {
            let inner = mapping.at(connection.source).is_some() && mapping.at(connection.target).is_some();
            let bytes = if inner { SHARED_BYTES } else { BOUNDARY_BYTES };
            connection.fifo_tokens = u32::try_from(bytes / ty.storage_bytes() as u64).ok();
        }
    }
    network
}

/// Instances with little work whose tokens get to another thread through others with little work at most.
fn dealers(network: &Network, division: &Division) -> Vec<bool> {
    let total = division.work.iter().fold(0, |sum: u64, &work| sum.saturating_add(work));
    let light = |at: usize| division.work.get(at).is_some_and(|&work| work < total / LIGHT);
    let mut dealers = vec![false; network.instances.len()];
    loop {
        let mut changed = false;
        for connection in &network.connections {
            let (Endpoint::Instance(from, _), Endpoint::Instance(to, _)) = (connection.source, connection.target)
            else {
                continue;
            };
            let leads = dealers[to.index()] || division.mapping.crosses(connection);
            if leads && !dealers[from.index()] && light(from.index()) {
                dealers[from.index()] = true;
                changed = true;
            }
        }
        if !changed {
            return dealers;
        }
    }
}

/// A division as text: partitions, their shares of the work, their instances.
pub fn describe(network: &Network, division: &Division) -> String {
    let loads = division.loads();
    let total: u64 = loads.iter().sum::<u64>().max(1);
    let mut text = String::new();
    for (at, name) in division.mapping.partitions.iter().enumerate() {
        let share = 100.0 * loads[at] as f64 / total as f64;
        let members = division.mapping.of.iter().zip(&network.instances).filter(|(partition, _)| **partition == at);
        let members: Vec<&str> = members.map(|(_, instance)| instance.name.as_str()).collect();
        let members = if members.is_empty() { "nothing".to_owned() } else { members.join(", ") };
        let _ = writeln!(text, "  {name}  {share:5.1} % of the work: {members}");
    }
    let crossing = division.crossing_tokens(network);
    let all: u64 = division.tokens.iter().fold(0, |sum, &tokens| sum.saturating_add(tokens));
    let share = 100.0 * crossing as f64 / all.max(1) as f64;
    let _ = write!(text, "  {share:.1} % of the tokens go from one partition to another");
    text
}

impl Workspace {
    /// The partitions that a file in XCF describes, and the network with the capacities that it gives.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is wrong for this network.
    pub fn mapping(&mut self, network: &Network, path: &Path) -> Result<(Partitioning, Network)> {
        let text = read_source(path).map_err(Error::Wrong)?;
        let file = self.session.sources.add(path.display().to_string(), text);
        let (configuration, mut problems) = xcf::read(file, self.session.sources.text(file));
        let mut network = network.clone();
        let sound = problems.iter().all(|problem| problem.severity != Severity::Error);
        let mapping = configuration
            .filter(|_| sound)
            .and_then(|it| headrace_frontend::mapping::apply(&it, &mut network, file, &mut problems));
        match mapping {
            Some(mapping) => {
                self.remark_problems(problems);
                Ok((mapping, network))
            }
            None => Err(Error::Refused(problems)),
        }
    }
}

/// The XCF text of a division, with the capacities of FIFOs between threads.
pub fn to_text(network: &Network, division: &Division) -> String {
    xcf::write(&headrace_frontend::mapping::describe(&with_room(network, division), &division.mapping))
}

/// A division as data.
pub fn as_json(network: &Network, division: &Division) -> serde_json::Value {
    let loads = division.loads();
    let partitions = division.mapping.partitions.iter().enumerate().map(|(at, name)| {
        let own = network.instances.iter().zip(&division.mapping.of).zip(&division.work);
        let own = own.filter(|((_, of), _)| **of == at);
        let instances: Vec<serde_json::Value> = own
            .map(|((instance, _), work)| serde_json::json!({ "instance": instance.name, "operations": work }))
            .collect();
        serde_json::json!({ "partition": name, "operations": loads[at], "instances": instances })
    });
    let crossing = network.connections.iter().zip(&division.tokens);
    let crossing = crossing.filter(|(connection, _)| division.mapping.crosses(connection));
    let fifos: Vec<serde_json::Value> = crossing
        .map(|(connection, tokens)| {
            let (source, target) = network.describe(connection);
            serde_json::json!({ "source": source, "target": target, "tokens": tokens })
        })
        .collect();
    let partitions: Vec<serde_json::Value> = partitions.collect();
    serde_json::json!({ "network": network.name, "partitions": partitions, "crossing": fifos })
}
