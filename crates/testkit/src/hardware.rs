//! Networks as hardware, as an engine: the cycle simulator of `rtl` behind the interface that the interpreter has.
//!
//! At every port tokens wait by chance, as in the benches of projects, so that what depends on time shows.

use crate::rng::Rng;
use headrace_engine::{Engine, Host, Outcome, Report, Trap};
use headrace_ir::{Int, Network, Scalar};
use headrace_rtl::{Bits, Design, simulate::Simulator};
use std::collections::VecDeque;
use std::sync::Arc;

/// Cycles after which a run is taken not to end.
const MOST_CYCLES: u64 = 20_000_000;

/// Names of the signals of a port, and its type.
struct Port {
    data: String,
    valid: String,
    ready: String,
    scalar: Scalar,
}

impl Port {
    fn all(ports: &[headrace_ir::Port], forth: &str, back: &str) -> Vec<Port> {
        let of = |port: &headrace_ir::Port| {
            let name = headrace_program::names::identifier(&port.name);
            Port {
                data: format!("{name}_data_{forth}"),
                valid: format!("{name}_valid_{forth}"),
                ready: format!("{name}_ready_{back}"),
                scalar: port.ty,
            }
        };
        ports.iter().map(of).collect()
    }
}

/// A design that runs.
pub struct HardwareEngine<'d> {
    simulator: Simulator<'d>,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    coming: Vec<VecDeque<Bits>>,
    gone: Vec<Vec<u8>>,
    rng: Rng,
    /// In how many of a hundred cycles a port moves.
    chance: u32,
    n_instances: usize,
}

impl<'d> HardwareEngine<'d> {
    /// A design that a network was lowered to, after a reset. The seed decides when tokens wait.
    ///
    /// # Errors
    ///
    /// What the verifier says of the design.
    pub fn new(network: &Arc<Network>, design: &'d Design, seed: u64) -> Result<Self, String> {
        Ok(Self {
            simulator: Simulator::new(design).map_err(|problems| problems.join("; "))?,
            inputs: Port::all(&network.inputs, "i", "o"),
            outputs: Port::all(&network.outputs, "o", "i"),
            coming: vec![VecDeque::new(); network.inputs.len()],
            gone: vec![Vec::new(); network.outputs.len()],
            rng: Rng::new(seed),
            chance: [100, 60, 30][(seed % 3) as usize],
            n_instances: network.instances.len(),
        })
    }

    fn bit(&self, name: &str) -> bool {
        self.simulator.get(name).is_some_and(|value| !value.is_zero())
    }

    /// A cycle; `open` where no port waits by chance. Gives whether anything happened.
    fn cycle(&mut self, open: bool) -> bool {
        let goes = |rng: &mut Rng, chance: u32| open || rng.chance(chance);
        for (port, tokens) in self.inputs.iter().zip(&self.coming) {
            let token = tokens.front().filter(|_| goes(&mut self.rng, self.chance));
            self.simulator.set(&port.valid, Bits::new(1, u8::from(token.is_some())));
            self.simulator.set(&port.data, token.cloned().unwrap_or(Bits::zero(port.scalar.width().max(1))));
        }
        for port in &self.outputs {
            let ready = goes(&mut self.rng, self.chance);
            self.simulator.set(&port.ready, Bits::new(1, u8::from(ready)));
        }
        self.simulator.settle();
        let mut moved = false;
        for at in 0..self.inputs.len() {
            let port = &self.inputs[at];
            if self.bit(&port.valid) && self.bit(&port.ready) {
                self.coming[at].pop_front();
                moved = true;
            }
        }
        for at in 0..self.outputs.len() {
            let port = &self.outputs[at];
            if self.bit(&port.valid)
                && self.bit(&port.ready)
                && let Some(value) = self.simulator.get(&port.data)
            {
                let signed = port.scalar.as_int().is_some_and(|ty| ty.signed);
                let number = if signed { value.signed() } else { value.value().clone().into() };
                let bytes = Int::from(number).to_le_bytes(port.scalar.storage_bytes());
                self.gone[at].extend(bytes);
                moved = true;
            }
        }
        self.simulator.clock() || moved
    }
}

impl Engine for HardwareEngine<'_> {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let scalar = self.inputs[input].scalar;
        let value = |token: &[u8]| Bits::of_signed(scalar.width().max(1), &Int::from_le_bytes(token, false).to_big());
        let before = self.coming[input].len();
        self.coming[input].extend(tokens.chunks_exact(scalar.storage_bytes()).map(value));
        self.coming[input].len() - before
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let n = self.gone[output].len() / self.outputs[output].scalar.storage_bytes();
        tokens.append(&mut self.gone[output]);
        n
    }

    fn run(&mut self, _: Option<u64>, _: &mut dyn Host) -> Result<Outcome, Trap> {
        let end = self.simulator.cycles() + MOST_CYCLES;
        // What does not change with everything open never does.
        while self.cycle(false) || self.cycle(true) {
            if self.simulator.cycles() > end {
                let message = format!("no end after {MOST_CYCLES} cycles");
                return Err(Trap { message, instance: String::new(), action: String::new(), span: None });
            }
        }
        Ok(Outcome::Idle)
    }

    fn report(&self) -> Report {
        Report { waits: Vec::new(), leftovers: Vec::new() }
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        vec![Vec::new(); self.n_instances]
    }
}
