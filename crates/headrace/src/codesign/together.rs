//! Co-simulation by turns: the parts of a network behind the interface of one engine. Each part runs until it rests, then tokens go
//! where their connections lead, until nothing moves any more.
//!
//! What runs when decides nothing: the tokens of a determinate network are the same in every order.

use super::simulated::Simulated;
use crate::engines::Machine;
use headrace_analysis::cut::{self, Outside};
use headrace_engine::{Engine, Host, Outcome, Report, Trap};
use headrace_ir::Network;
use headrace_native::NativeEngine;
use std::sync::Arc;

/// Bytes that wait in front of an input at most.
const ROOM: usize = 1 << 20;

/// What runs a part.
enum Runs {
    Software(Machine),
    Simulated(Box<Simulated>),
    Verilated(Box<NativeEngine>),
}

/// A part that runs.
pub(super) struct Part {
    cut: cut::Part,
    /// What it is called, where it is hardware.
    name: String,
    runs: Runs,
    /// Stored tokens on their way to each input.
    waiting: Vec<Vec<u8>>,
    /// Tokens that went in at each input and came out of each output.
    taken: Vec<u64>,
    given: Vec<u64>,
}

impl Part {
    fn new(cut: cut::Part, name: String, runs: Runs) -> Self {
        let (n_inputs, n_outputs) = (cut.network.inputs.len(), cut.network.outputs.len());
        Self {
            cut,
            name,
            runs,
            waiting: vec![Vec::new(); n_inputs],
            taken: vec![0; n_inputs],
            given: vec![0; n_outputs],
        }
    }

    pub(super) fn software(cut: cut::Part, machine: Machine) -> Self {
        Self::new(cut, String::new(), Runs::Software(machine))
    }

    pub(super) fn simulated(cut: cut::Part, name: String, circuit: Simulated) -> Self {
        Self::new(cut, name, Runs::Simulated(Box::new(circuit)))
    }

    pub(super) fn verilated(cut: cut::Part, name: String, circuit: NativeEngine) -> Self {
        Self::new(cut, name, Runs::Verilated(Box::new(circuit)))
    }

    fn engine(&mut self) -> &mut dyn Engine {
        match &mut self.runs {
            Runs::Software(machine) => machine.engine(),
            Runs::Simulated(circuit) => circuit.as_mut(),
            Runs::Verilated(circuit) => circuit.as_mut(),
        }
    }

    fn shown(&self) -> &dyn Engine {
        match &self.runs {
            Runs::Software(machine) => machine.shown(),
            Runs::Simulated(circuit) => circuit.as_ref(),
            Runs::Verilated(circuit) => circuit.as_ref(),
        }
    }

    fn storage(&self, input: usize) -> usize {
        self.cut.network.inputs[input].ty.storage_bytes()
    }

    /// Gives its engine what waits, as there is room. Whether anything moved.
    fn feed(&mut self) -> bool {
        let mut moved = false;
        for input in 0..self.waiting.len() {
            let tokens = std::mem::take(&mut self.waiting[input]);
            let n = if tokens.is_empty() { 0 } else { self.engine().write(input, &tokens) };
            self.waiting[input] = tokens;
            let bytes = n * self.storage(input);
            self.waiting[input].drain(..bytes);
            self.taken[input] += n as u64;
            moved |= n > 0;
        }
        moved
    }
}

/// What a part in hardware did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clocked {
    /// Its partition.
    pub partition: String,
    /// What simulated it.
    pub simulator: &'static str,
    /// Clock cycles in which it did something: took or gave a token, or went on in its control.
    pub cycles: u64,
    /// Its inputs with the tokens that each took, and its outputs with those that each gave.
    pub inputs: Vec<(String, u64)>,
    /// The same of outputs.
    pub outputs: Vec<(String, u64)>,
}

impl std::fmt::Display for Clocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Clocked { partition, simulator, cycles, inputs, outputs } = self;
        let all = |ports: &[(String, u64)]| {
            let texts: Vec<String> = ports.iter().map(|(name, tokens)| format!("{tokens} {name}")).collect();
            texts.join(", ")
        };
        let (inputs, outputs) = (all(inputs), all(outputs));
        write!(f, "`{partition}` in hardware ({simulator}): {cycles} clock cycles; tokens in: {inputs}; out: {outputs}")
    }
}

/// A network whose parts run side by side.
pub struct Together {
    network: Arc<Network>,
    parts: Vec<Part>,
    /// For each connection between parts the part and its input that it leads to.
    leads_to: Vec<Option<(usize, usize)>>,
}

impl Together {
    pub(super) fn new(network: &Arc<Network>, parts: Vec<Part>) -> Self {
        let mut leads_to = vec![None; network.connections.len()];
        for (at, part) in parts.iter().enumerate() {
            for (input, outside) in part.cut.inputs.iter().enumerate() {
                if let Outside::Crossing(connection) = *outside {
                    leads_to[connection] = Some((at, input));
                }
            }
        }
        Self { network: Arc::clone(network), parts, leads_to }
    }

    /// What the parts in hardware did so far.
    pub fn clocked(&self) -> Vec<Clocked> {
        let named = |ports: &[headrace_ir::Port], tokens: &[u64]| {
            ports.iter().zip(tokens).map(|(port, tokens)| (port.name.clone(), *tokens)).collect()
        };
        let of = |part: &Part| {
            let (simulator, cycles) = match &part.runs {
                Runs::Software(_) => return None,
                Runs::Simulated(circuit) => ("the simulator of designs", circuit.cycles()),
                Runs::Verilated(circuit) => ("Verilator", circuit.counted("circuit_cycles").unwrap_or_default()),
            };
            Some(Clocked {
                partition: part.name.clone(),
                simulator,
                cycles,
                inputs: named(&part.cut.network.inputs, &part.taken),
                outputs: named(&part.cut.network.outputs, &part.given),
            })
        };
        self.parts.iter().filter_map(of).collect()
    }

    /// Moves what came out of a part to those that read it. Whether anything moved.
    fn deliver(&mut self, from: usize) -> bool {
        let mut moved = false;
        for output in 0..self.parts[from].cut.outputs.len() {
            let Outside::Crossing(connection) = self.parts[from].cut.outputs[output] else { continue };
            let Some((to, input)) = self.leads_to[connection] else { continue };
            if self.parts[to].waiting[input].len() >= ROOM {
                continue;
            }
            let mut tokens = std::mem::take(&mut self.parts[to].waiting[input]);
            let n = self.parts[from].engine().read(output, &mut tokens);
            self.parts[to].waiting[input] = tokens;
            self.parts[from].given[output] += n as u64;
            moved |= n > 0;
        }
        moved
    }
}

impl Engine for Together {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let storage = self.network.inputs[input].ty.storage_bytes();
        let mut readers: Vec<(usize, usize)> = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let own = part.cut.inputs.iter().position(|outside| *outside == Outside::Boundary(input));
            readers.extend(own.map(|own| (at, own)));
        }
        let longest = readers.iter().map(|&(at, own)| self.parts[at].waiting[own].len()).max();
        // What nothing reads takes all.
        let room = longest.map_or(usize::MAX, |longest| ROOM.saturating_sub(longest) / storage);
        let n = (tokens.len() / storage).min(room);
        for (at, own) in readers {
            self.parts[at].waiting[own].extend_from_slice(&tokens[..n * storage]);
        }
        n
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let mut n = 0;
        for part in &mut self.parts {
            if let Some(own) = part.cut.outputs.iter().position(|outside| *outside == Outside::Boundary(output)) {
                let read = part.engine().read(own, tokens);
                part.given[own] += read as u64;
                n += read;
            }
        }
        n
    }

    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        let fired = |parts: &[Part]| -> u64 { parts.iter().flat_map(|part| part.shown().firings()).flatten().sum() };
        let before = if max_firings.is_some() { fired(&self.parts) } else { 0 };
        loop {
            let mut moved = false;
            for at in 0..self.parts.len() {
                moved |= self.parts[at].feed();
                let left = max_firings.map(|most| most.saturating_sub(fired(&self.parts) - before));
                match self.parts[at].engine().run(left, host)? {
                    Outcome::Idle => {}
                    other => return Ok(other),
                }
                moved |= self.deliver(at);
            }
            if !moved {
                return Ok(Outcome::Idle);
            }
        }
    }

    fn report(&self) -> Report {
        let mut report = Report::default();
        for part in &self.parts {
            let own = part.shown().report();
            report.waits.extend(own.waits);
            report.leftovers.extend(own.leftovers);
        }
        report
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        let mut firings = vec![Vec::new(); self.network.instances.len()];
        for part in &self.parts {
            for (instance, own) in part.cut.instances.iter().zip(part.shown().firings()) {
                firings[instance.index()] = own;
            }
        }
        firings
    }
}
