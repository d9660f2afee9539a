//! Arrays in RTL, simulated cycle by cycle with the messages of a network.

use crate::array::Message;
use headrace_ir::Network;
use headrace_rtl::Bits;
use headrace_rtl::simulate::Simulator;

/// An array as RTL that is given messages without a pause, and from which all is taken at once.
pub struct Clocked {
    simulator: Simulator,
}

/// What came out of an array as RTL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Came {
    /// Tokens by output port, as bits.
    pub tokens: Vec<Vec<Bits>>,
    /// For each cycle in which words left, counted from the first in which the array ran, how many.
    pub left: Vec<(u64, u32)>,
}

impl Came {
    /// Whether these are the tokens of messages, by the network's ports.
    ///
    /// # Errors
    ///
    /// What differs.
    pub fn gives(&self, network: &Network, want: &[Message]) -> Result<(), String> {
        for (port, tokens) in self.tokens.iter().enumerate() {
            let width = network.outputs[port].ty.width().max(1);
            let right = want.iter().flat_map(|message| &message[port]);
            let right: Vec<Bits> = right.map(|token| Bits::of_signed(width, &(*token).into())).collect();
            if right != *tokens {
                return Err(format!("output {port}: {tokens:?} for {right:?}"));
            }
        }
        Ok(())
    }
}

impl Clocked {
    /// A design after its reset.
    ///
    /// # Errors
    ///
    /// What the verifier says of it.
    pub fn new(design: &headrace_rtl::Design) -> Result<Self, String> {
        Ok(Self { simulator: Simulator::new(design).map_err(|problems| problems.join("; "))? })
    }

    fn bit(&self, name: &str) -> bool {
        self.simulator.get(name).is_some_and(|value| !value.is_zero())
    }

    /// Runs until so many tokens have come of each output, or for so many cycles.
    pub fn run(&mut self, network: &Network, messages: &[Message], wanted: &[usize], most: u64) -> Came {
        let mut came = Came { tokens: vec![Vec::new(); network.outputs.len()], left: Vec::new() };
        let inputs: Vec<Vec<Bits>> = (0..network.inputs.len())
            .map(|port| {
                let width = network.inputs[port].ty.width().max(1);
                let tokens = messages.iter().flat_map(|message| &message[port]);
                tokens.map(|token| Bits::of_signed(width, &(*token).into())).collect()
            })
            .collect();
        let mut at = vec![0; inputs.len()];
        let mut began = None;
        for port in &network.outputs {
            self.simulator.set(&format!("{}_ready_i", port.name), Bits::new(1, 1u8));
        }
        for cycle in 0..most {
            for (port, (tokens, at)) in network.inputs.iter().zip(inputs.iter().zip(&at)) {
                let token = tokens.get(*at);
                self.simulator.set(&format!("{}_valid_i", port.name), Bits::new(1, u8::from(token.is_some())));
                if let Some(token) = token {
                    self.simulator.set(&format!("{}_data_i", port.name), token.clone());
                }
            }
            self.simulator.settle();
            for (port, at) in network.inputs.iter().zip(&mut at) {
                let name = &port.name;
                *at += usize::from(self.bit(&format!("{name}_valid_i")) && self.bit(&format!("{name}_ready_o")));
            }
            for ((port, tokens), wanted) in network.outputs.iter().zip(&mut came.tokens).zip(wanted) {
                // What is known comes as often as it is asked for.
                if tokens.len() < *wanted && self.bit(&format!("{}_valid_o", port.name)) {
                    tokens.extend(self.simulator.get(&format!("{}_data_o", port.name)).cloned());
                }
            }
            if self.bit("running_o") {
                let began = *began.get_or_insert(cycle);
                let left = self.simulator.get("leaves_o").map_or(0, |bits| bits.value().count_ones() as u32);
                if left > 0 {
                    came.left.push((cycle - began, left));
                }
            }
            self.simulator.clock();
            if came.tokens.iter().zip(wanted).all(|(tokens, wanted)| tokens.len() >= *wanted) {
                break;
            }
        }
        came
    }
}
