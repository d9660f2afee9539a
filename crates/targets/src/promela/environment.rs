//! Environment model. What comes in: messages of an operation, or any number of tokens.
//!
//! Messages are short ones of the shape that the manifest says, around the edges of blocks, whole and cut, with keys renewed
//! and kept, one after another in any order and any number. A network that no manifest speaks of has them where its ports
//! follow the conventions of the library (`X` with `XSize`, `Rekey`); any number of arbitrary tokens comes in at all
//! other ports.

pub use headrace_analysis::actor_automata::environment::{Environment, Message};
use headrace_analysis::actor_automata::execute::Known;
use headrace_ir::{Int, IntType, Network, Scalar};
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{LAST_CHUNK, Message as Strings, MessageWriter, PortData, Tokens};
use headrace_library::{Role, samples};

/// Most messages between which the environment chooses, keys kept not counted.
const MAX_MESSAGES: usize = 8;

/// Blocks that the strings of a message have together, as long as there are such messages.
const MAX_BLOCKS: u64 = 4;

/// Bytes of a block where an operation says nothing.
const USUAL_BLOCK: u64 = 16;

/// Lengths of the strings of a network that no manifest speaks of.
const LENGTHS: [u64; 6] = [0, 1, 15, 16, 17, 33];

fn token(ty: Scalar, value: u64) -> Int {
    match ty {
        Scalar::Int(ty) => Int::from(value).wrap(ty),
        _ => Int::from(value),
    }
}

/// What comes in at the network of an operation.
pub fn of_operation(spec: &OperationSpec, network: &Network) -> Environment {
    let strings = |message: &Strings| -> u64 {
        let roles = spec.inputs.iter().filter(|port| port.role != Role::Key);
        roles.filter_map(|port| message.get(port.role)).map(|bytes| bytes.len() as u64).sum::<u64>() + message.words
    };
    let mut samples = samples::messages(spec);
    samples.sort_by_key(strings);
    samples.dedup_by_key(|message| strings(message));
    let most = MAX_BLOCKS * spec.block_bytes.unwrap_or(USUAL_BLOCK);
    let n_short = samples.iter().filter(|message| strings(message) <= most).count();
    samples.truncate(n_short.clamp(1, MAX_MESSAGES));
    let mut messages = Vec::new();
    let renews = spec.input(Role::Rekey).is_some() || spec.framing == Framing::Core;
    for keep in [false, true] {
        for sample in &samples {
            let mut sample = sample.clone();
            sample.rekey = !keep;
            let size = strings(&sample);
            let mut add = |data: Vec<PortData>, cut: &str| {
                let key = match (renews, keep) {
                    (false, _) => "",
                    (true, false) => ", a new key",
                    (true, true) => ", the key kept",
                };
                let about = format!("{size} bytes{key}{cut}");
                messages.push(Message { about, can_be_first: !keep, tokens: of_ports(network, data) });
            };
            if let Ok(data) = MessageWriter::new(spec).whole(&sample) {
                add(data, "");
            }
            if !keep && let Some(data) = in_chunks(spec, &sample) {
                add(data, ", in chunks");
            }
        }
        if !renews {
            break;
        }
    }
    let unlimited = vec![false; network.inputs.len()];
    Environment { messages, unlimited }
}

/// A message whose input comes in two chunks and an empty one between them.
fn in_chunks(spec: &OperationSpec, message: &Strings) -> Option<Vec<PortData>> {
    let input = message.get(Role::Input).filter(|input| input.len() > 1)?;
    if spec.framing != Framing::Message || spec.single_chunk {
        return None;
    }
    let (first, rest) = input.split_at(input.len() / 3);
    let mut writer = MessageWriter::new(spec);
    let mut data = writer.begin(message).ok()?;
    for (bytes, last) in [(first, false), (&[][..], false), (rest, true)] {
        data.extend(writer.chunk(bytes, last).ok()?);
    }
    Some(data)
}

fn of_ports(network: &Network, data: Vec<PortData>) -> Vec<Vec<Known>> {
    let mut tokens = vec![Vec::new(); network.inputs.len()];
    for PortData { port, tokens: data } in data {
        let Some(at) = network.inputs.iter().position(|input| input.name == port) else { continue };
        let ty = network.inputs[at].ty;
        match data {
            Tokens::Bytes(bytes) => tokens[at].extend(bytes.iter().map(|_| None)),
            Tokens::Words(words) => tokens[at].extend(words.into_iter().map(|word| Some(token(ty, word)))),
        }
    }
    tokens
}

/// What comes in at a network that no manifest speaks of.
pub fn of_network(network: &Network) -> Environment {
    let position = |name: &str| network.inputs.iter().position(|port| port.name == name);
    let is = |at: usize, ty: Scalar| network.inputs[at].ty == ty;
    let rekey = position("Rekey").filter(|&at| is(at, Scalar::Bool));
    let sized: Vec<(usize, usize)> = (0..network.inputs.len())
        .filter(|&at| is(at, Scalar::Int(IntType::unsigned(8))))
        .filter_map(|at| Some((at, position(&format!("{}Size", network.inputs[at].name))?)))
        .filter(|&(_, size)| is(size, Scalar::Int(IntType::unsigned(32))))
        .collect();
    let mut unlimited = vec![true; network.inputs.len()];
    for at in sized.iter().flat_map(|&(string, size)| [string, size]).chain(rekey) {
        unlimited[at] = false;
    }
    let mut messages = Vec::new();
    if !sized.is_empty() || rekey.is_some() {
        let lengths = if sized.is_empty() { &LENGTHS[..1] } else { &LENGTHS[..] };
        for keep in [false, true].into_iter().filter(|keep| !keep || rekey.is_some()) {
            for (at, &length) in lengths.iter().enumerate() {
                let mut tokens = vec![Vec::new(); network.inputs.len()];
                for (number, &(string, size)) in sized.iter().enumerate() {
                    // Strings of one message have different lengths.
                    let length = if number == 0 { length } else { LENGTHS[(at + number) % LENGTHS.len()] };
                    tokens[size] = vec![Some(Int::from(LAST_CHUNK | length))];
                    tokens[string] = vec![None; length as usize];
                }
                let mut about = if sized.is_empty() { String::new() } else { format!("{length} bytes") };
                if let Some(rekey) = rekey {
                    tokens[rekey] = vec![Some(Int::from(u64::from(!keep)))];
                    let key = if keep { "the key kept" } else { "a new key" };
                    about = if about.is_empty() { key.into() } else { format!("{about}, {key}") };
                }
                messages.push(Message { about, can_be_first: !keep, tokens });
            }
        }
    }
    Environment { messages, unlimited }
}
