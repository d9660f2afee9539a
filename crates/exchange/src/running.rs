//! One operation on one engine, which is kept from message to message.

use crate::{SilentHost, expected_output, input_named, is_counted, load, store, why_stuck};
use headrace_engine::{Engine, Outcome as Stop};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message, MessageReader, MessageWriter, Outcome, PortData};
use headrace_source::Diagnostic;
use zeroize::Zeroizing;

/// A network that takes one message after another. Messages may be sent before those ahead of them have come out.
///
/// After an error the engine is in no defined state, and what runs it must be dropped.
pub struct Running<'a> {
    spec: &'a OperationSpec,
    network: &'a Network,
    engine: Box<dyn Engine + 'a>,
    writer: MessageWriter<'a>,
    reader: MessageReader<'a>,
    /// Stored tokens on their way into each input, and how many bytes of them are in. They are wiped at the end.
    pending: Vec<(Zeroizing<Vec<u8>>, usize)>,
}

impl<'a> Running<'a> {
    /// An operation over a fresh engine.
    pub fn new(spec: &'a OperationSpec, network: &'a Network, engine: Box<dyn Engine + 'a>) -> Self {
        Self {
            spec,
            network,
            engine,
            writer: MessageWriter::new(spec),
            reader: MessageReader::new(spec),
            pending: network.inputs.iter().map(|_| (Zeroizing::default(), 0)).collect(),
        }
    }

    /// The engine, to be used for something else in between.
    pub fn engine(&mut self) -> &mut dyn Engine {
        self.engine.as_mut()
    }

    /// All tokens of a message, or everything wrong with its sizes.
    pub fn tokens(&mut self, message: &Message) -> Result<Vec<PortData>, Vec<Diagnostic>> {
        self.writer.whole(message)
    }

    /// Sends tokens on their way.
    pub fn send(&mut self, data: &[PortData]) -> Result<(), String> {
        for part in data {
            let input =
                input_named(self.network, &part.port).ok_or_else(|| format!("there is no input `{}`", part.port))?;
            store(&part.tokens, self.network.inputs[input].ty, &mut self.pending[input].0);
        }
        Ok(())
    }

    /// Runs until nothing moves any more.
    pub fn run(&mut self) -> Result<(), String> {
        let mut taken = Zeroizing::new(Vec::new());
        loop {
            let mut moved = false;
            for (input, (tokens, at)) in self.pending.iter_mut().enumerate() {
                if *at < tokens.len() {
                    let size = self.network.inputs[input].ty.storage_bytes();
                    let n_bytes = self.engine.write(input, &tokens[*at..]) * size;
                    *at += n_bytes;
                    moved |= n_bytes > 0;
                    if *at == tokens.len() {
                        tokens.clear();
                        *at = 0;
                    }
                }
            }
            match self.engine.run(None, &mut SilentHost) {
                Ok(Stop::Idle | Stop::FiringLimit) => {}
                Ok(Stop::Exited(status)) => return Err(format!("the program ended itself with status {status}")),
                Err(trap) => return Err(trap.to_string()),
            }
            for (output, port) in self.network.outputs.iter().enumerate() {
                taken.clear();
                if self.engine.read(output, &mut taken) > 0 {
                    moved = true;
                    if self.is_known(&port.name) {
                        let tokens = Zeroizing::new(load(&taken, port.ty));
                        self.reader.push(&port.name, &tokens).map_err(|problem| problem.message)?;
                    }
                }
            }
            if !moved {
                return Ok(());
            }
        }
    }

    fn is_known(&self, name: &str) -> bool {
        self.spec.outputs.iter().any(|port| port.name == name || port.companion.as_deref() == Some(name))
    }

    /// What the next message came to, when it has come out whole; `message` says how much comes out where the output
    /// does not.
    pub fn next(&mut self, message: &Message) -> Result<Outcome, String> {
        if is_counted(self.spec) {
            let input_bytes = message.get(Role::Input).map_or(0, |input| input.len() as u64);
            self.reader.expect(expected_output(self.spec, message, input_bytes));
        }
        let came = self.reader.finish();
        came.ok_or_else(|| why_stuck(&self.reader.missing(), &self.engine.report()))
    }

    /// Makes sure that all that was sent went in, and that nothing came out beyond the messages.
    pub fn nothing_left(&self) -> Result<(), String> {
        if self.pending.iter().any(|(tokens, _)| !tokens.is_empty()) {
            return Err("a part of the message was not taken".into());
        }
        if !self.reader.is_empty() {
            return Err("more came out than belongs to the message".into());
        }
        Ok(())
    }

    /// Performs one message from its first token to its last.
    pub fn perform(&mut self, message: &Message) -> Result<Outcome, String> {
        let data = self.tokens(message).map_err(|problems| {
            let lines: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
            lines.join("\n")
        })?;
        let data = Zeroizing::new(data);
        self.send(&data)?;
        self.run()?;
        let came = self.next(message)?;
        self.nothing_left()?;
        Ok(came)
    }
}
