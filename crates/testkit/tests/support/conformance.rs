//! The conformance programs, for tests of what they are compiled to.

use crate::sidecar::{self, Seen};
use crate::text;
use headrace_engine::Engine;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use std::sync::Arc;

/// A program, with what its sidecar says.
pub struct Program {
    pub name: String,
    pub network: Arc<Network>,
    pub fifo_tokens: u32,
    /// What goes into each input, in storage form.
    pub inputs: Vec<Vec<u8>>,
    sidecar: toml::Table,
}

/// What engines must agree on: streams, prints, what was written, how it ended.
pub type Shown = (Vec<Vec<u8>>, Vec<u8>, Vec<u8>, String);

/// All programs but those whose errors are reported, which compiled code does not do, and those with a limit of firings, which
/// it counts otherwise.
pub fn programs() -> Vec<Program> {
    let folder = text::repository().join("tests/conformance");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder of programs")
        .flatten()
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        .collect();
    names.sort();
    let program = |name: String| -> Option<Program> {
        let sidecar = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("a readable sidecar");
        let sidecar: toml::Table = sidecar.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        if sidecar.contains_key("trap") || sidecar.contains_key("max_firings") {
            return None;
        }
        let network = text::network(vec![folder.clone(), text::repository()], &name, &[]);
        let network = Arc::new(network.unwrap_or_else(|why| panic!("{name}: {why}")));
        let inputs = sidecar::inputs(&network, &sidecar).unwrap_or_else(|why| panic!("{name}: {why}"));
        let fifo_tokens = sidecar.get("fifo").and_then(toml::Value::as_integer);
        let fifo_tokens = fifo_tokens.map_or(DEFAULT_FIFO_TOKENS, |n| n as u32);
        Some(Program { name, network, fifo_tokens, inputs, sidecar })
    };
    names.into_iter().filter_map(program).collect()
}

impl Program {
    /// Runs it to its end.
    pub fn show(&self, engine: &mut dyn Engine) -> Shown {
        let Seen { streams, host, outcome, .. } = sidecar::run(&self.network, &self.inputs, &self.sidecar, engine);
        let end = match outcome {
            Err(trap) => trap.message,
            Ok(outcome) => format!("{outcome:?}"),
        };
        (streams, host.printed, host.written, end)
    }
}
