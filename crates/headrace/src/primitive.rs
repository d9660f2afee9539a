//! Messages of the library's primitives through an engine: strings to tokens, tokens to strings.

use crate::error::{Error, Result};
use crate::feed::{Dropped, End, Pending, Sink};
use crate::run::stream;
use headrace_engine::Engine;
use headrace_exchange::{Running, SilentHost, input_named, load, store};
use headrace_ir::{Network, Scalar};
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{MessageReader, PortData, Tokens};
use headrace_library::known_answers::{Answer, CallInput};
use headrace_source::Diagnostic;
use std::cell::RefCell;
use std::rc::Rc;
use zeroize::Zeroizing;

/// Pushes tokens to the inputs that they are for.
pub fn push(network: &Network, data: &[PortData], pending: &mut [Pending]) -> std::result::Result<(), String> {
    for part in data {
        let input = input_named(network, &part.port).ok_or_else(|| format!("there is no input `{}`", part.port))?;
        store(&part.tokens, network.inputs[input].ty, pending[input].buffer());
    }
    Ok(())
}

/// The same without a copy of what was made of the memory of `spare`, where nothing waits; `spare` then has memory again.
pub fn exchange(
    network: &Network,
    data: Vec<PortData>,
    pending: &mut [Pending],
    spare: &mut Vec<u8>,
) -> std::result::Result<(), String> {
    for part in data {
        let input = input_named(network, &part.port).ok_or_else(|| format!("there is no input `{}`", part.port))?;
        let scalar = network.inputs[input].ty;
        match part.tokens {
            Tokens::Bytes(mut bytes) if scalar.storage_bytes() == 1 && spare.capacity() == 0 => {
                pending[input].exchange(&mut bytes);
                *spare = bytes;
            }
            tokens => store(&Zeroizing::new(tokens), scalar, pending[input].buffer()),
        }
    }
    Ok(())
}

/// The text of diagnostics that have no place in a source.
pub fn messages(problems: &[Diagnostic]) -> String {
    let lines: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
    lines.join("\n")
}

/// Puts the tokens of one output where all outputs of the message are put together.
struct MessageSink<'r, 's> {
    reader: Rc<RefCell<&'r mut MessageReader<'s>>>,
    port: String,
    scalar: Scalar,
    /// Takes the output as it comes, where somebody does.
    take: Option<Take<'r>>,
}

/// Takes output as it comes; what must be verified first, it withholds.
pub type Take<'r> = Rc<RefCell<dyn FnMut(&[u8]) -> Result + 'r>>;

impl Sink for MessageSink<'_, '_> {
    fn take(&mut self, tokens: &[u8]) -> Result {
        let mut reader = self.reader.borrow_mut();
        let mut tokens = tokens;
        if let Some(take) = self.take.as_ref().filter(|_| self.scalar.storage_bytes() == 1) {
            // What is already as it will be needs no copy.
            let (passed, rest) = tokens.split_at(reader.pass(&self.port, tokens));
            if !passed.is_empty() {
                (take.borrow_mut())(passed)?;
            }
            tokens = rest;
        }
        if tokens.is_empty() {
            return Ok(());
        }
        let tokens = Zeroizing::new(load(tokens, self.scalar));
        reader.push(&self.port, &tokens).map_err(|problem| Error::Wrong(problem.message))?;
        if let Some(take) = &self.take {
            let bytes = Zeroizing::new(reader.take_unverified());
            if !bytes.is_empty() {
                (take.borrow_mut())(&bytes)?;
            }
        }
        Ok(())
    }
}

/// Sinks for all outputs of a network that put a message together.
pub fn message_sinks<'r, 's: 'r>(
    network: &Network,
    spec: &OperationSpec,
    reader: &'r mut MessageReader<'s>,
    take: Option<Take<'r>>,
) -> Vec<Box<dyn Sink + 'r>> {
    let reader = Rc::new(RefCell::new(reader));
    let is_known =
        |name: &str| spec.outputs.iter().any(|port| port.name == name || port.companion.as_deref() == Some(name));
    let mut sinks: Vec<Box<dyn Sink + 'r>> = Vec::new();
    for port in &network.outputs {
        if is_known(&port.name) {
            sinks.push(Box::new(MessageSink {
                reader: reader.clone(),
                port: port.name.clone(),
                scalar: port.ty,
                take: take.clone(),
            }));
        } else {
            sinks.push(Box::new(Dropped::default()));
        }
    }
    sinks
}

/// One operation on one engine, which is kept from message to message.
pub struct Runner<'a> {
    network: &'a Network,
    running: Running<'a>,
}

impl<'a> Runner<'a> {
    /// A runner over a fresh engine.
    pub fn new(spec: &'a OperationSpec, network: &'a Network, engine: Box<dyn Engine + 'a>) -> Self {
        Self { network, running: Running::new(spec, network, engine) }
    }

    /// Performs one call. After an error the engine is in no defined state and the runner must be dropped.
    pub fn perform(&mut self, input: &CallInput) -> std::result::Result<Answer, String> {
        match input {
            CallInput::Message(message) => self.running.perform(message).map(Answer::Message),
            CallInput::Ports(ports) => self.ports(ports).map(Answer::Ports),
        }
    }

    fn ports(&mut self, ports: &[(String, Vec<u8>)]) -> std::result::Result<Vec<(String, Vec<u8>)>, String> {
        let streams = stream(self.network, self.running.engine(), ports, &mut SilentHost);
        let streams = streams.map_err(|error| error.to_string())?;
        ended(&streams.end)?;
        if streams.is_undelivered {
            return Err("a part of the input was not taken".into());
        }
        Ok(streams.outputs)
    }
}

fn ended(end: &End) -> std::result::Result<(), String> {
    match end {
        End::Idle => Ok(()),
        End::FiringLimit => Err("the limit on firings was reached".into()),
        End::Exited(status) => Err(format!("the program ended itself with status {status}")),
        End::Trapped(trap) => Err(trap.to_string()),
    }
}
