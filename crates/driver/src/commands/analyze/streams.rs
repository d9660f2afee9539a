//! `headrace analyze --streams` and `--suits`.

use crate::cli::AnalyzeArgs;
use crate::failure::Outcome;
use headrace::Error;
use headrace::analysis::streams::stream::machine::Machine;
use headrace::analysis::streams::{self, Shown};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use serde_json::{Map, Value, json};

/// What is said of an operation.
pub struct Said {
    /// For readers; empty where JSON is asked for.
    pub text: String,
    /// For programs; empty where it is not.
    pub json: Map<String, Value>,
}

fn machine(name: &str) -> Outcome<Machine> {
    streams::machine(name, |path| std::fs::read_to_string(path).ok()).map_err(|wrong| Error::wrong(wrong.to_string()))
}

/// The view of a network, which an operation of the library may have, or the verdicts on it.
pub fn show(arguments: &AnalyzeArgs, spec: Option<&OperationSpec>, network: &Network) -> Outcome<Said> {
    let loops = match spec {
        Some(spec) => streams::loops_of(spec, network),
        None => streams::loops_of_network(network),
    };
    let mut said = Said { text: String::new(), json: Map::new() };
    if arguments.streams {
        let machine = machine(&arguments.stream_platform)?;
        match arguments.json {
            true => drop(said.json.insert("streams".into(), streams::json(network, &loops, &machine))),
            false => said.text = streams::text(network, &loops, &machine, Shown { listing: arguments.listing }),
        }
        return Ok(said);
    }
    let machines = arguments.suits.iter().map(|name| machine(name)).collect::<Outcome<Vec<_>>>()?;
    let host = machine(&arguments.host)?;
    let (cycles, verdicts) = streams::suits(&loops, &machines, &host);
    match arguments.json {
        true => drop(said.json.insert("suits".into(), json!(streams::suits_json(cycles, &verdicts)))),
        false => said.text = streams::suits_text(&loops, &host, cycles, &verdicts),
    }
    Ok(said)
}
