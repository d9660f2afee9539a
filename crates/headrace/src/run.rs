//! Runs of networks from recorded inputs to outputs, on an engine that was started.

use crate::engines::Machine;
use crate::error::{Error, Result};
use crate::feed::{End, Feed, Fixed, Sink};
use crate::inputs::Input;
use crate::stopping;
use crate::tokens::{Decoder, Encoder, Encoding};
use headrace_engine::{Engine, Host, Report};
use headrace_exchange::input_named;
use headrace_ir::{Network, Port};
use std::cell::RefCell;
use std::rc::Rc;

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// What came out of each output, in the order of the network, as bytes of [`crate::tokens`].
    pub outputs: Vec<(String, Vec<u8>)>,
    /// How it ended.
    pub end: End,
    /// What waits, for what, and which tokens are left.
    pub report: Report,
    /// Firings of each action of each instance.
    pub firings: Vec<Vec<u64>>,
    /// Whether input was not taken, or an actor waits for room while somebody waits for its tokens.
    pub is_stuck: bool,
}

impl Machine {
    /// Runs a network on this engine until nothing can fire, or so many firings at most. A port that is not named has no
    /// tokens, but for what [`Feed::bind`] fills in. What the program prints and reads beside that is the host's.
    ///
    /// ```
    /// # fn main() -> headrace::Result {
    /// use headrace::engine::CollectingHost;
    /// use headrace::engines::{EngineName, Settings};
    /// use headrace::inputs::{Input, Source};
    /// let mut workspace = headrace::Workspace::default();
    /// let network = workspace.network("ctl.parts.ascon.AsconP", &[])?;
    /// let mut machine = workspace.start(&network, Settings::of(Some(EngineName::Interp)), &mut |_| {})?;
    /// let bytes = |port: &str, bytes| Input { port: port.into(), big_endian: false, source: Source::Bytes(bytes) };
    /// let inputs = vec![bytes("Rounds", vec![12]), bytes("Input", vec![0; 40])];
    /// let ran = machine.run(&network, inputs, Some(1_000_000), &mut CollectingHost::default())?;
    /// assert!(!ran.is_stuck && ran.outputs[0].1.len() == 40);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such input, or what comes is no tokens of it. How the program ends is no error.
    pub fn run(
        &mut self,
        network: &Network,
        inputs: Vec<Input>,
        max_firings: Option<u64>,
        host: &mut dyn Host,
    ) -> Result<Ran> {
        let threads = u32::try_from(self.threads()).unwrap_or(u32::MAX);
        let engine = self.engine();
        let mut feed = Feed::new(network);
        feed.max_firings = max_firings;
        feed.bind(network, inputs, threads)?;
        let Streams { outputs, end, is_undelivered } = collected(network, engine, feed, host)?;
        let report = engine.report();
        let is_undelivered = is_undelivered || stopping::has_kept(&report);
        let is_stuck = matches!(end, End::Idle) && (is_undelivered || stopping::lacks(network, &report));
        Ok(Ran { outputs, end, firings: engine.firings(), report, is_stuck })
    }
}

/// What came of tokens that were fed to an engine.
pub(crate) struct Streams {
    /// The bytes of each output.
    pub outputs: Vec<(String, Vec<u8>)>,
    /// How it ended.
    pub end: End,
    /// Whether a part of the input was not taken.
    pub is_undelivered: bool,
}

/// Feeds byte strings to an engine, nothing filled in, and collects what comes out.
pub(crate) fn stream(
    network: &Network,
    engine: &mut dyn Engine,
    inputs: &[(String, Vec<u8>)],
    host: &mut dyn Host,
) -> Result<Streams> {
    let mut feed = Feed::new(network);
    for (name, bytes) in inputs {
        let input = input_named(network, name).ok_or_else(|| Error::usage(format!("there is no input `{name}`")))?;
        let tokens = decoded(&network.inputs[input], bytes)?;
        feed.providers.push(Box::new(Fixed::new(input, tokens)));
    }
    collected(network, engine, feed, host)
}

/// Drives what is fed and collects what comes out.
fn collected(network: &Network, engine: &mut dyn Engine, mut feed: Feed<'_>, host: &mut dyn Host) -> Result<Streams> {
    let collected: Vec<Collected> = network.outputs.iter().map(|_| Collected::default()).collect();
    feed.sinks = collected.iter().map(|tokens| Box::new(tokens.clone()) as Box<dyn Sink>).collect();
    let end = feed.drive(engine, host, &mut |_| {})?;
    let outputs = network.outputs.iter().zip(&collected).map(|(port, tokens)| encoded(port, &tokens.0.borrow()));
    Ok(Streams { outputs: outputs.collect(), end, is_undelivered: feed.undelivered() })
}

/// The stored tokens that bytes are.
fn decoded(port: &Port, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = Decoder::new(Encoding::new(port.ty, false));
    let mut tokens = Vec::new();
    let decoded = decoder.decode(bytes, &mut tokens).and_then(|()| decoder.finish(&mut tokens));
    decoded.map_err(|problem| Error::wrong(format!("{}: {problem}", port.name)))?;
    Ok(tokens)
}

/// The bytes that stored tokens are, under the name of their port.
fn encoded(port: &Port, tokens: &[u8]) -> (String, Vec<u8>) {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(Encoding::new(port.ty, false));
    encoder.encode(tokens, &mut bytes);
    encoder.finish(&mut bytes);
    (port.name.clone(), bytes)
}

/// Collects stored tokens.
#[derive(Clone, Default)]
struct Collected(Rc<RefCell<Vec<u8>>>);

impl Sink for Collected {
    fn take(&mut self, tokens: &[u8]) -> Result {
        self.0.borrow_mut().extend_from_slice(tokens);
        Ok(())
    }
}
