//! Cycle simulation: a circuit of a network behind the interface that every engine has. Tokens go in and out at its streams, and
//! the clock ticks until control rests.

use headrace_engine::{Engine, Host, Leftover, Outcome, Report, Trap};
use headrace_ir::{Int, Network, Scalar};
use headrace_rtl::simulate::Simulator;
use headrace_rtl::{Bits, Design, WORKS, with_activity};
use std::collections::VecDeque;

/// Tokens that wait at a port at most: beyond that an input takes none, and an output stalls the circuit.
const ROOM: usize = 1 << 16;

/// Chance at the ports, so that what depends on time shows.
pub struct Stalls {
    /// Whether a port moves in a cycle.
    pub goes: Box<dyn FnMut() -> bool + Send>,
    /// Cycles after which a run is taken not to end.
    pub most_cycles: u64,
}

/// The signals of a port, and what a beat of it carries.
struct Port {
    name: String,
    data: String,
    valid: String,
    ready: String,
    scalar: Scalar,
    /// Tokens that move at once.
    beat: usize,
}

impl Port {
    fn all(design: &Design, ports: &[headrace_ir::Port], forth: &str, back: &str) -> Vec<Port> {
        // The streams of a design have the order of the network's ports.
        let ending = format!("_data_{forth}");
        let signals = design.modules.last().into_iter().flat_map(|top| top.ports());
        let streams =
            signals.filter_map(|(_, signal)| Some((signal.name.strip_suffix(&ending)?.to_owned(), signal.width)));
        let of = |((name, width), port): ((String, u32), &headrace_ir::Port)| Port {
            data: format!("{name}_data_{forth}"),
            valid: format!("{name}_valid_{forth}"),
            ready: format!("{name}_ready_{back}"),
            beat: (width / port.ty.width().max(1)).max(1) as usize,
            scalar: port.ty,
            name: port.name.clone(),
        };
        streams.zip(ports).map(of).collect()
    }

    /// Stored tokens as one beat, the first in the lowest bits.
    fn packed<'t>(&self, tokens: impl Iterator<Item = &'t Bits>) -> Bits {
        tokens.cloned().reduce(|beat, token| token.concat(&beat)).unwrap_or(Bits::zero(1))
    }

    /// The stored tokens of a beat.
    fn unpacked(&self, beat: &Bits, tokens: &mut Vec<u8>) {
        let width = self.scalar.width().max(1);
        let signed = self.scalar.as_int().is_some_and(|ty| ty.signed);
        for at in 0..self.beat {
            let value = beat.slice(at as u64 * u64::from(width), width);
            let number = if signed { value.signed() } else { value.value().clone().into() };
            tokens.extend(Int::from(number).to_le_bytes(self.scalar.storage_bytes()));
        }
    }
}

/// A circuit that runs.
pub struct Simulated {
    simulator: Simulator,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    coming: Vec<VecDeque<Bits>>,
    gone: Vec<Vec<u8>>,
    stalls: Option<Stalls>,
    /// Cycles in which control changed or a token moved.
    worked: u64,
    n_instances: usize,
}

impl Simulated {
    /// A design that a network was lowered to, after a reset.
    ///
    /// # Errors
    ///
    /// What the verifier says of the design.
    pub fn new(network: &Network, design: &Design, stalls: Option<Stalls>) -> Result<Self, String> {
        Ok(Self {
            simulator: Simulator::new(&with_activity(design)).map_err(|problems| problems.join("; "))?,
            inputs: Port::all(design, &network.inputs, "i", "o"),
            outputs: Port::all(design, &network.outputs, "o", "i"),
            coming: vec![VecDeque::new(); network.inputs.len()],
            gone: vec![Vec::new(); network.outputs.len()],
            stalls,
            worked: 0,
            n_instances: network.instances.len(),
        })
    }

    /// Clock cycles in which control changed or a token moved.
    pub fn cycles(&self) -> u64 {
        self.worked
    }

    fn bit(&self, name: &str) -> bool {
        self.simulator.get(name).is_some_and(|value| !value.is_zero())
    }

    /// A cycle; `open` where no port waits by chance. Gives whether anything happens in it.
    fn cycle(&mut self, open: bool) -> bool {
        let goes = |stalls: &mut Option<Stalls>| open || stalls.as_mut().is_none_or(|stalls| (stalls.goes)());
        for (port, tokens) in self.inputs.iter().zip(&self.coming) {
            let there = tokens.len() >= port.beat && goes(&mut self.stalls);
            self.simulator.set(&port.valid, Bits::new(1, u8::from(there)));
            let width = port.scalar.width().max(1) * port.beat as u32;
            let beat = if there { port.packed(tokens.iter().take(port.beat)) } else { Bits::zero(width) };
            self.simulator.set(&port.data, beat);
        }
        for (port, gone) in self.outputs.iter().zip(&self.gone) {
            let ready = gone.len() < ROOM * port.scalar.storage_bytes() && goes(&mut self.stalls);
            self.simulator.set(&port.ready, Bits::new(1, u8::from(ready)));
        }
        self.simulator.settle();
        let mut moved = false;
        for at in 0..self.inputs.len() {
            let port = &self.inputs[at];
            if self.bit(&port.valid) && self.bit(&port.ready) {
                self.coming[at].drain(..port.beat);
                moved = true;
            }
        }
        for at in 0..self.outputs.len() {
            let port = &self.outputs[at];
            if self.bit(&port.valid)
                && self.bit(&port.ready)
                && let Some(beat) = self.simulator.get(&port.data)
            {
                port.unpacked(beat, &mut self.gone[at]);
                moved = true;
            }
        }
        let happens = self.bit(WORKS) || moved;
        if happens {
            self.simulator.clock();
            self.worked += 1;
        }
        happens
    }
}

impl Engine for Simulated {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        let scalar = self.inputs[input].scalar;
        let value = |token: &[u8]| Bits::of_signed(scalar.width().max(1), &Int::from_le_bytes(token, false).to_big());
        let before = self.coming[input].len();
        let room = ROOM.saturating_sub(before);
        self.coming[input].extend(tokens.chunks_exact(scalar.storage_bytes()).take(room).map(value));
        self.coming[input].len() - before
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let n = self.gone[output].len() / self.outputs[output].scalar.storage_bytes();
        tokens.append(&mut self.gone[output]);
        n
    }

    fn run(&mut self, _: Option<u64>, _: &mut dyn Host) -> Result<Outcome, Trap> {
        let most = self.stalls.as_ref().map(|stalls| stalls.most_cycles);
        let end = most.map(|most| self.worked + most);
        // What does nothing with everything open never does.
        while self.cycle(false) || self.cycle(true) {
            if end.is_some_and(|end| self.worked > end) {
                let message = format!("no end after {} cycles", most.unwrap_or_default());
                return Err(Trap { message, instance: String::new(), action: String::new(), span: None });
            }
        }
        Ok(Outcome::Idle)
    }

    fn report(&self) -> Report {
        let waiting = self.inputs.iter().zip(&self.coming).filter(|(_, tokens)| !tokens.is_empty());
        let leftovers = waiting.map(|(port, tokens)| Leftover {
            source: port.name.clone(),
            target: "the circuit".to_owned(),
            tokens: tokens.len() as u64,
            capacity: ROOM as u64,
        });
        Report { waits: Vec::new(), leftovers: leftovers.collect() }
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        vec![Vec::new(); self.n_instances]
    }
}
