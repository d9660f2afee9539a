//! Packaging. Folders: what is printed for networks, with a script that tests it and a README.

use super::network::network as print;
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_ir::{Int, IntType, Network, Port};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message, MessageWriter, Tokens};
use headrace_program::names::identifier;
use headrace_source::Diagnostic;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The beginning of a script that tests: how a network is run and compared.
const SCRIPT: &str = r#"#!/bin/sh
# HEADRACE names the command, if it is not on the path.
set -u
cd "$(dirname "$0")" || exit 1
passed=0
failed=0
all_passed=0
all_failed=0

# operation NAME: says what came of its messages.
operation() {
    echo "operation $1: $passed passed, $failed failed"
    all_passed=$((all_passed + passed))
    all_failed=$((all_failed + failed))
    passed=0
    failed=0
}

# compare WHAT EXPECTED NETWORK OPTIONS...: what comes out of the network in numbers.
compare() {
    what=$1
    expected=$2
    shift 2
    found=$("${HEADRACE:-headrace}" run "$@" 2> test.log)
    # Of a tag the record may hold the first bytes only: a star stands for the others.
    # shellcheck disable=SC2254
    case $found in
    $expected) passed=$((passed + 1)) ;;
    *)
        failed=$((failed + 1))
        printf '%s: expected %s\nfound %s\n' "$what" "$expected" "$found"
        cat test.log
        ;;
    esac
}

"#;

const END: &str = "all_passed=$((all_passed + passed))
all_failed=$((all_failed + failed))
echo \"$all_passed passed, $all_failed failed\"
[ \"$all_failed\" -eq 0 ]
";

fn head(options: &Options) -> String {
    format!("Made by `{}`. Changes here will be lost.", options.command.replace('\n', " "))
}

fn readme(name: &str, about: &str, command: &str, networks: &[String]) -> Vec<u8> {
    let mut text = format!(
        "# {name}\n\n{about} Made by `{command}`.\n\n\
         XLIM is the format between the front ends and back ends of the OpenDF and OpenForge tools. Each file `*.xlim` is an actor:\n\
         its ports, its state, a module for each action, and the module `action-scheduler` that calls them. `network.xdf` connects\n\
         them. Integers are `int` and `uint` of any size; operands have the size of results, so that no tool has to widen them.\n\
         Single tokens are asked for by `pinStatus`, several by `pinAvail`, as OpenDF does.\n\n```\n"
    );
    for network in networks {
        let _ = writeln!(text, "headrace run {network}network.xdf --stats");
    }
    text.push_str("sh test.sh\n```\n");
    text.into_bytes()
}

/// Tokens as the numbers that `headrace run` takes and shows.
fn numbers(bytes: &[u8], port: &Port) -> String {
    let int = port.ty.as_int().unwrap_or(IntType::unsigned(1));
    let tokens = bytes.chunks_exact(port.ty.storage_bytes());
    let numbers: Vec<String> =
        tokens.map(|token| Int::from_le_bytes(token, int.signed).wrap(int).to_string()).collect();
    numbers.join(",")
}

/// What is shown of several outputs, a line each.
fn shown(outputs: &[(String, String)]) -> String {
    match outputs {
        [(_, numbers)] => numbers.clone(),
        _ => outputs.iter().map(|(name, numbers)| format!("{name}={numbers}")).collect::<Vec<_>>().join("\n"),
    }
}

/// A line of the script. Outputs of the network that are not compared go to files, out of the way.
fn comparison(out: &mut String, what: &str, folder: &str, network: &Network, (inputs, outputs): &Streams) {
    let _ = write!(out, "compare '{what}' '{}' {folder}network.xdf", shown(outputs));
    for (port, numbers) in inputs {
        let _ = write!(out, " --in '{port}=int:{numbers}'");
    }
    for (port, _) in outputs {
        let _ = write!(out, " --out '{port}=int:'");
    }
    for port in network.outputs.iter().filter(|port| outputs.iter().all(|(name, _)| *name != port.name)) {
        let _ = write!(out, " --out '{0}=test.{0}'", port.name);
    }
    out.push('\n');
}

/// A folder for a network.
///
/// # Errors
///
/// What the format cannot express, with its place.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    let head = head(options);
    let mut files = Files::new();
    print(network, "", &head, options.fifo_tokens, &mut files)?;
    let mut script = SCRIPT.to_owned();
    if let Some(Recording { inputs, outputs }) = recording {
        let pairs = |ports: &[Port], streams: &[Vec<u8>]| -> Vec<(String, String)> {
            let pairs = ports.iter().zip(streams).filter(|(_, stream)| !stream.is_empty());
            pairs.map(|(port, stream)| (port.name.clone(), numbers(stream, port))).collect()
        };
        let streams = (pairs(&network.inputs, inputs), pairs(&network.outputs, outputs));
        comparison(&mut script, "what the interpreter does", "", network, &streams);
    }
    script.push_str(END);
    files.insert("test.sh".into(), script.into_bytes());
    let about = format!("The network `{}` in XLIM.", network.name);
    let name = identifier(network.name.rsplit('.').next().unwrap_or(&network.name));
    files.insert("README.md".into(), readme(&name, &about, &options.command, &[String::new()]));
    Ok(files)
}

/// A folder for operations of one parameter set, with one below it for each.
///
/// # Errors
///
/// What the format cannot express, with its place.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    known: &[KnownAnswer],
    options: &Options,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let head = head(options);
    let folder = |spec: &OperationSpec| format!("{}/", spec.name);
    let printed = on_all_processors(operations, |(spec, network)| {
        on_operation(spec, None);
        let mut files = Files::new();
        print(network, &folder(spec), &head, options.fifo_tokens, &mut files).map(|()| files)
    });
    let (mut files, mut problems) = (Files::new(), Vec::new());
    for printed in printed {
        match printed {
            Ok(more) => files.extend(more),
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut script = SCRIPT.to_owned();
    for (at, (spec, network)) in operations.iter().enumerate() {
        for (number, answer) in known.iter().filter(|answer| answer.operation == at).enumerate() {
            if let Some(streams) = streams(spec, network, answer) {
                comparison(&mut script, &format!("{} {}", spec.name, number + 1), &folder(spec), network, &streams);
            }
        }
        let _ = writeln!(script, "operation '{}'", spec.name);
    }
    script.push_str(END);
    files.insert("test.sh".into(), script.into_bytes());
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.name)).collect();
    let about = format!("{title}: {} in XLIM.", listed.join(", "));
    let folders: Vec<String> = operations.iter().map(|(spec, _)| folder(spec)).collect();
    files.insert("README.md".into(), readme(name, &about, &options.command, &folders));
    Ok(files)
}

/// Whether the test of a folder can try an answer: what the framing of messages refuses never comes to the network.
pub(crate) fn holds(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> bool {
    streams(spec, network, answer).is_some()
}

/// Numbers by port, of inputs and of outputs.
type Streams = (Vec<(String, String)>, Vec<(String, String)>);

/// The tokens of a known answer. None for messages that the framing does not take, and where nothing is compared.
fn streams(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> Option<Streams> {
    let mut message = Message::new();
    message.words = u64::from(answer.words);
    answer.strings.iter().for_each(|(role, bytes)| message.set(*role, bytes.clone()));
    let mut inputs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in MessageWriter::new(spec).whole(&message).ok()? {
        let tokens = inputs.entry(part.port).or_default();
        match part.tokens {
            Tokens::Bytes(bytes) => tokens.extend(bytes.iter().map(u8::to_string)),
            Tokens::Words(words) => tokens.extend(words.iter().map(u64::to_string)),
        }
    }
    let inputs = inputs.into_iter().filter(|(_, tokens)| !tokens.is_empty());
    let inputs: Vec<_> = inputs.map(|(port, tokens)| (port, tokens.join(","))).collect();
    let port_of = |name: &str| network.outputs.iter().find(|port| port.name == name);
    let mut outputs = Vec::new();
    match &answer.expected {
        Some(expected) => {
            for port in spec.outputs.iter().filter(|port| port.bits == 8) {
                let Some((own, bytes)) = port_of(&port.name).zip(expected.get(&port.role)) else { continue };
                let rest = match port.sizes.fixed() {
                    _ if port.role != Role::Tag => "",
                    Some(whole) if whole == bytes.len() as u64 => "",
                    Some(_) => ",*",
                    None => "*",
                };
                outputs.push((port.name.clone(), format!("{}{rest}", numbers(bytes, own))));
            }
        }
        // What is refused says so.
        None => {
            let verified = spec.outputs.iter().find(|port| port.role == Role::Verified)?;
            outputs.push((verified.name.clone(), "0".to_owned()));
        }
    }
    // In the order in which they are shown.
    outputs.sort_by_key(|(name, _)| network.outputs.iter().position(|port| port.name == *name));
    (!outputs.is_empty()).then_some((inputs, outputs))
}
