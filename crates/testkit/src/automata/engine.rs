//! Execution of a control automaton behind the interface of engines, with the interpreter for what nobody explored: there, the network begins anew with all that
//! came in, and what has come out already must come out once more.

use headrace_engine::{Engine, Host, Outcome, Report, Trap};
use headrace_interp::Interpreter;
use headrace_ir::Network;
use headrace_transform::control::Automaton;
use headrace_transform::kernel::evaluate::World;
use headrace_transform::kernel::execute::{Bounds, Ended, Executor, beginning};
use headrace_transform::kernel::graph::mask;
use std::cell::Cell;
use std::sync::Arc;

/// An automaton that runs, with the interpreter for what nobody explored.
pub struct AutomatonEngine<'a> {
    network: Arc<Network>,
    executor: Executor<'a>,
    bounds: Bounds,
    state: usize,
    world: World,
    /// Tokens of each output that were read.
    given: Vec<usize>,
    left: Option<Interpreter>,
    /// Set where the automaton was left.
    leaves: &'a Cell<bool>,
}

impl<'a> AutomatonEngine<'a> {
    /// At its beginning; `leaves` tells whether it was left.
    pub fn new(network: &Arc<Network>, automaton: &'a Automaton, bounds: Bounds, leaves: &'a Cell<bool>) -> Self {
        let world = beginning(automaton, vec![Vec::new(); network.inputs.len()], network.outputs.len());
        let given = vec![0; network.outputs.len()];
        let executor = Executor::new(automaton);
        Self { network: Arc::clone(network), executor, bounds, state: 0, world, given, left: None, leaves }
    }

    /// The network from its beginning, with all that came in.
    fn leave(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        self.leaves.set(true);
        let options = headrace_interp::Options::default();
        let mut engine = Interpreter::new(Network::clone(&self.network), options)
            .map_err(|problems| trap(format!("{problems:?}")))?;
        let stored = |(port, tokens): (usize, &Vec<u128>)| {
            let bytes = self.network.inputs[port].ty.storage_bytes();
            tokens.iter().flat_map(|token| token.to_le_bytes()[..bytes].to_vec()).collect::<Vec<u8>>()
        };
        let mut waiting: Vec<Vec<u8>> = self.world.inputs.iter().enumerate().map(stored).collect();
        let mut made: Vec<Vec<u8>> = vec![Vec::new(); self.network.outputs.len()];
        let outcome = loop {
            let mut moved = 0;
            for (port, tokens) in waiting.iter_mut().enumerate() {
                let written = engine.write(port, tokens);
                tokens.drain(..written * self.network.inputs[port].ty.storage_bytes());
                moved += written;
            }
            let outcome = engine.run(max_firings, host)?;
            for (port, all) in made.iter_mut().enumerate() {
                moved += engine.read(port, all);
            }
            if moved == 0 || outcome != Outcome::Idle {
                break outcome;
            }
        };
        for (port, bytes) in made.iter().enumerate() {
            let size = self.network.outputs[port].ty.storage_bytes();
            let keep = mask(self.network.outputs[port].ty.width());
            let tokens: Vec<u128> = bytes.chunks(size).map(|bytes| token(bytes) & keep).collect();
            if tokens.get(..self.world.outputs[port].len()) != Some(&self.world.outputs[port][..]) {
                let (automaton, network) = (&self.world.outputs[port], tokens.len());
                let at = tokens.iter().zip(automaton).take_while(|(one, other)| one == other).count();
                let n = automaton.len();
                return Err(trap(format!("port {port}: {n} tokens of the automaton differ from {network} at {at}")));
            }
            self.world.outputs[port] = tokens;
        }
        self.left = Some(engine);
        Ok(outcome)
    }
}

fn trap(message: String) -> Trap {
    Trap { message, instance: String::new(), action: String::new(), span: None }
}

/// A stored token.
fn token(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |value, &byte| value << 8 | u128::from(byte))
}

impl Engine for AutomatonEngine<'_> {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        if let Some(left) = &mut self.left {
            return left.write(input, tokens);
        }
        let port = self.network.inputs[input].ty;
        let keep = mask(port.width());
        let tokens = tokens.chunks(port.storage_bytes()).map(|bytes| token(bytes) & keep);
        let before = self.world.inputs[input].len();
        self.world.inputs[input].extend(tokens);
        self.world.inputs[input].len() - before
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        let port = self.network.outputs[output].ty;
        let new = &self.world.outputs[output][self.given[output]..];
        for &value in new {
            tokens.extend(stored(value, port));
        }
        let n = new.len();
        self.given[output] += n;
        n + self.left.as_mut().map_or(0, |left| left.read(output, tokens))
    }

    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap> {
        if let Some(left) = &mut self.left {
            return left.run(max_firings, host);
        }
        match self.executor.execute(self.state, &mut self.world, self.bounds).ended {
            Ended::Waits(at) | Ended::Ends(at) => {
                self.state = at;
                Ok(Outcome::Idle)
            }
            Ended::Leaves(_) | Ended::Stopped(_) => self.leave(max_firings, host),
            Ended::Fails(at) => Err(trap(format!("state {at} fails a check"))),
        }
    }

    fn report(&self) -> Report {
        self.left.as_ref().map_or_else(|| Report { waits: Vec::new(), leftovers: Vec::new() }, Interpreter::report)
    }

    fn firings(&self) -> Vec<Vec<u64>> {
        self.network.instances.iter().map(|_| Vec::new()).collect()
    }
}

/// The bytes that engines keep a token in: integers with sign are extended.
fn stored(value: u128, ty: headrace_ir::Scalar) -> Vec<u8> {
    let width = ty.width();
    let signed = matches!(ty, headrace_ir::Scalar::Int(int) if int.signed);
    let extended =
        if signed && width < 128 && value >> (width - 1) & 1 == 1 { value | u128::MAX << width } else { value };
    extended.to_le_bytes()[..ty.storage_bytes()].to_vec()
}
