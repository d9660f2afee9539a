//! How fast the interpreter is: firings of a tiny actor, and a network of small actors.

use super::Measured;
use super::blocks::{Burst, SET};
use crate::cli::BenchArgs;
use crate::commands::Context;
use crate::failure::Outcome;
use headrace::Error;
use headrace_bench::measure::{Contender, median, take_turns};
use headrace_bench::results::{Machine, Ratio, Row, Subject};
use headrace_engine::Engine;
use headrace_exchange::SilentHost;
use headrace_frontend::{SourceKind, SourceText, Top};
use headrace_interp::{Interpreter, Options};
use headrace_ir::Network;
use std::sync::Arc;

/// An actor that takes a byte, adds and emits it.
const ADD: &str = "actor Add() uint(size=8) In ==> uint(size=8) Out : action In:[x] ==> Out:[x + 1] end end";

/// Tokens of a run through it, and bytes of a run through the network.
const TOKENS: usize = 1 << 20;
const NETWORK_BYTES: usize = 1 << 15;

/// Goals: firings a second, and kilobytes a second.
const FIRINGS_GOAL: f64 = 2e6;
const KILOBYTES_GOAL: f64 = 100.0;

/// Measures both, with default FIFOs.
pub fn measure(context: &mut Context, arguments: &BenchArgs, machine: &Machine) -> Outcome<Measured> {
    let mut add = Adder::new(context)?;
    let library = context.library()?;
    let spec = library.operation(SET, "encrypt");
    let spec = spec.ok_or_else(|| Error::wrong(format!("the library has no `{SET} encrypt`")))?;
    let variant = spec.variant(None).ok_or_else(|| Error::wrong("the operation has no network"))?;
    let network = context.elaborate(&variant.network.to_string(), &[])?;
    let mut burst = Burst::new(spec, network.clone(), start(network)?).map_err(Error::wrong)?;
    let bytes = vec![0x5a; NETWORK_BYTES];
    let mut output = Vec::new();
    let mut contenders: Vec<Contender> = vec![Box::new(|| add.run()), Box::new(|| burst.encrypt(&bytes, &mut output))];
    let pairs = arguments.pairs as usize;
    let times = take_turns(&mut contenders, pairs).map_err(Error::wrong)?;
    drop(contenders);
    let (adding, encrypting) = (&times[0], &times[1]);
    let subject = |primitive: &str, operation: &str, variant: &str, bytes: usize, verified: &str| Subject {
        primitive: primitive.into(),
        operation: operation.into(),
        variant: variant.into(),
        implementation: "headrace".into(),
        engine: "interp".into(),
        bytes: bytes as u64,
        verified: Some(verified.into()),
    };
    let mut firings = Row::new(
        subject("add", "byte by byte", "one actor", TOKENS, "sum of the output"),
        adding.clone(),
        machine.clock_hz,
    );
    let firings_per_s = TOKENS as f64 / median(adding);
    firings.firings_per_s_median = Some(firings_per_s);
    let blocks =
        subject(SET, "encrypt", &variant.name, NETWORK_BYTES, "length of the output; known answers by headrace test");
    let network = Row::new(blocks, encrypting.clone(), machine.clock_hz);
    let ratio = |name: &str, value: f64, goal: f64, unit: &str| Ratio {
        name: name.into(),
        engine: "interp".into(),
        value,
        goal,
        at_most: false,
        unit: unit.into(),
        pairs,
    };
    let ratios = vec![
        ratio(
            "an actor that takes a byte, adds and emits it",
            firings_per_s / 1e6,
            FIRINGS_GOAL / 1e6,
            "million firings/s",
        ),
        ratio("FIPS 197 network", NETWORK_BYTES as f64 / median(encrypting) / 1e3, KILOBYTES_GOAL, "kB/s"),
    ];
    Ok(Measured { rows: vec![firings, network], ratios, ..Measured::default() })
}

fn start(network: Arc<Network>) -> Outcome<Box<dyn Engine>> {
    let started = Interpreter::new(network, Options::default());
    Ok(Box::new(started.map_err(|problems| Error::wrong(headrace::primitive::messages(&problems)))?))
}

/// The tiny actor, fed from memory.
struct Adder {
    engine: Box<dyn Engine>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Adder {
    fn new(context: &mut Context) -> Outcome<Self> {
        let source = SourceText { display: "Add.cal".into(), text: ADD.into(), kind: SourceKind::Cal };
        let top = Top::Source(source, None);
        let network = headrace_frontend::elaborate(&mut context.workspace.session, &context.workspace.roots, &top, &[]);
        let network = network.ok_or_else(|| Error::wrong("the measured actor has errors"))?;
        let input = (0..TOKENS).map(|at| at as u8).collect();
        Ok(Self { engine: start(Arc::new(network))?, input, output: Vec::new() })
    }

    fn run(&mut self) -> Result<(), String> {
        self.output.clear();
        let mut sent = 0;
        while self.output.len() < self.input.len() {
            sent += self.engine.write(0, &self.input[sent..]);
            self.engine.run(None, &mut SilentHost).map_err(|trap| trap.to_string())?;
            if self.engine.read(0, &mut self.output) == 0 {
                return Err("the actor is stuck".into());
            }
        }
        let is_right = self.output.iter().zip(&self.input).all(|(out, input)| *out == input.wrapping_add(1));
        if is_right { Ok(()) } else { Err("the actor adds wrongly".into()) }
    }
}
