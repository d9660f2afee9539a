//! Messages of the library's primitives through an engine: strings to tokens, tokens to strings.

use crate::failure::{Failure, Outcome};
use crate::feed::{End, Feed, Pending, Provider, Sink};
use headrace_engine::{Engine, Host, Report};
use headrace_ir::{Network, Scalar};
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, MessageReader, MessageWriter, Outcome as Came, PortData, Tokens};
use headrace_library::known_answers::{Answer, CallInput};
use headrace_source::Diagnostic;
use std::cell::RefCell;
use std::rc::Rc;

/// A host for primitives, which neither print nor read files.
pub struct SilentHost;

impl Host for SilentHost {
    fn print(&mut self, _bytes: &[u8]) {}

    fn source(&mut self) -> Result<&[u8], String> {
        Err("a primitive of the library reads no file".into())
    }

    fn writer_write(&mut self, _byte: u8) -> Result<(), String> {
        Err("a primitive of the library writes no file".into())
    }

    fn golden(&mut self) -> Result<&[u8], String> {
        Err("a primitive of the library compares with no file".into())
    }

    fn complain(&mut self, _message: &str) {}
}

/// The position of a network port by its name.
pub fn input_named(network: &Network, name: &str) -> Option<usize> {
    network.inputs.iter().position(|port| port.name == name)
}

/// Checks that a network has the ports that the manifest says.
pub fn check_ports(spec: &OperationSpec, network: &Network) -> Result<(), String> {
    let inputs = spec.inputs.iter().flat_map(|port| std::iter::once(&port.name).chain(&port.companion));
    let outputs = spec.outputs.iter().flat_map(|port| std::iter::once(&port.name).chain(&port.companion));
    let (bare_inputs, bare_outputs) = &spec.bare;
    for name in inputs.chain(bare_inputs) {
        if input_named(network, name).is_none() {
            return Err(format!(
                "network `{}` has no input `{name}`, which `{}` needs",
                network.name,
                spec.full_name()
            ));
        }
    }
    for name in outputs.chain(bare_outputs) {
        if !network.outputs.iter().any(|port| port.name == *name) {
            return Err(format!(
                "network `{}` has no output `{name}`, which `{}` needs",
                network.name,
                spec.full_name()
            ));
        }
    }
    Ok(())
}

/// Appends tokens of the framing in stored form.
fn store(tokens: &Tokens, scalar: Scalar, out: &mut Vec<u8>) {
    match tokens {
        Tokens::Bytes(bytes) if scalar.storage_bytes() == 1 => out.extend_from_slice(bytes),
        Tokens::Bytes(bytes) => bytes.iter().for_each(|byte| store_word(u64::from(*byte), scalar, out)),
        Tokens::Words(words) => words.iter().for_each(|word| store_word(*word, scalar, out)),
    }
}

fn store_word(word: u64, scalar: Scalar, out: &mut Vec<u8>) {
    let start = out.len();
    let size = scalar.storage_bytes();
    out.extend(word.to_le_bytes().into_iter().take(size));
    out.resize(start + size, 0);
}

/// Stored tokens as the framing takes them.
fn load(tokens: &[u8], scalar: Scalar) -> Tokens {
    if scalar.storage_bytes() == 1 && scalar.width() == 8 {
        return Tokens::Bytes(tokens.to_vec());
    }
    let word = |token: &[u8]| token.iter().take(8).rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    Tokens::Words(tokens.chunks_exact(scalar.storage_bytes()).map(word).collect())
}

/// Pushes tokens to the inputs that they are for.
pub fn push(network: &Network, data: &[PortData], pending: &mut [Pending]) -> Result<(), String> {
    for part in data {
        let input = input_named(network, &part.port).ok_or_else(|| format!("there is no input `{}`", part.port))?;
        store(&part.tokens, network.inputs[input].ty, pending[input].buffer());
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
    /// Takes the output as it comes, where it may be released.
    release: Option<Release<'r>>,
}

/// Takes output as it comes.
pub type Release<'r> = Rc<RefCell<dyn FnMut(&[u8]) -> Outcome + 'r>>;

impl Sink for MessageSink<'_, '_> {
    fn take(&mut self, tokens: &[u8]) -> Outcome {
        let mut reader = self.reader.borrow_mut();
        reader.push(&self.port, &load(tokens, self.scalar)).map_err(|problem| Failure::wrong(problem.message))?;
        if let Some(release) = &self.release {
            let bytes = reader.take();
            if !bytes.is_empty() {
                (release.borrow_mut())(&bytes)?;
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
    release: Option<Release<'r>>,
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
                release: release.clone(),
            }));
        } else {
            sinks.push(Box::new(crate::feed::Dropped::default()));
        }
    }
    sinks
}

/// Tokens that are all known, for several inputs at once.
struct Known<'a> {
    network: &'a Network,
    data: Vec<PortData>,
}

impl Provider for Known<'_> {
    fn inputs(&self) -> &[usize] {
        &[]
    }

    fn provide(&mut self, pending: &mut [Pending]) -> Outcome<bool> {
        push(self.network, &self.data, pending).map_err(Failure::wrong)?;
        Ok(false)
    }
}

/// The length of the output of a core or a generator, which does not say it itself.
pub fn expected_output(spec: &OperationSpec, message: &Message, input_bytes: u64) -> u64 {
    match spec.framing {
        Framing::Generator => {
            let word_bytes = spec.output(Role::Output).map_or(1, |port| u64::from(port.bits.div_ceil(8)));
            message.words.saturating_mul(word_bytes)
        }
        _ => input_bytes,
    }
}

/// One operation on one engine, which is kept from message to message.
pub struct Runner<'a> {
    spec: &'a OperationSpec,
    network: &'a Network,
    engine: Box<dyn Engine + 'a>,
    writer: MessageWriter<'a>,
    reader: MessageReader<'a>,
}

/// Why a message came to no end, in one line, from the report of an engine.
pub fn why_stuck(missing: &[String], report: &Report) -> String {
    let waits: Vec<String> = report.waits.iter().take(3).map(crate::waiting::describe).collect();
    format!("the message came to no end: {}; {}", missing.join(", "), waits.join("; "))
}

impl<'a> Runner<'a> {
    /// A runner over a fresh engine.
    pub fn new(spec: &'a OperationSpec, network: &'a Network, engine: Box<dyn Engine + 'a>) -> Self {
        Self { spec, network, engine, writer: MessageWriter::new(spec), reader: MessageReader::new(spec) }
    }

    /// Performs one call. After an error the engine is in no defined state and the runner must be dropped.
    pub fn perform(&mut self, input: &CallInput) -> Result<Answer, String> {
        match input {
            CallInput::Message(message) => self.message(message).map(Answer::Message),
            CallInput::Ports(ports) => self.ports(ports).map(Answer::Ports),
        }
    }

    fn message(&mut self, message: &Message) -> Result<Came, String> {
        let data = self.writer.whole(message).map_err(|problems| messages(&problems))?;
        let input_bytes = message.get(Role::Input).map_or(0, |input| input.len() as u64);
        if matches!(self.spec.framing, Framing::Core | Framing::Generator) {
            self.reader.expect(expected_output(self.spec, message, input_bytes));
        }
        let mut feed = Feed::new(self.network);
        feed.providers.push(Box::new(Known { network: self.network, data }));
        feed.sinks = message_sinks(self.network, self.spec, &mut self.reader, None);
        let end = feed.drive(self.engine.as_mut(), &mut SilentHost, &mut |_| {}).map_err(|failure| failure.message)?;
        let undelivered = feed.undelivered();
        drop(feed);
        ended(&end)?;
        let came = self.reader.finish();
        let came = came.ok_or_else(|| why_stuck(&self.reader.missing(), &self.engine.report()))?;
        if undelivered {
            return Err("a part of the message was not taken".into());
        }
        if !self.reader.is_empty() {
            return Err("more came out than belongs to the message".into());
        }
        Ok(came)
    }

    fn ports(&mut self, ports: &[(String, Vec<u8>)]) -> Result<Vec<(String, Vec<u8>)>, String> {
        use crate::tokens::{Decoder, Encoder, Encoding};
        let mut feed = Feed::new(self.network);
        for (name, bytes) in ports {
            let input = input_named(self.network, name).ok_or_else(|| format!("there is no input `{name}`"))?;
            let mut decoder = Decoder::new(Encoding::new(self.network.inputs[input].ty, false));
            let mut tokens = Vec::new();
            decoder
                .decode(bytes, &mut tokens)
                .and_then(|()| decoder.finish())
                .map_err(|problem| format!("{name}: {problem}"))?;
            feed.providers.push(Box::new(crate::inputs::Fixed::new(input, tokens)));
        }
        let collected: Vec<_> = self.network.outputs.iter().map(|_| Rc::new(RefCell::new(Vec::new()))).collect();
        feed.sinks = collected.iter().map(|tokens| Box::new(Collect(tokens.clone())) as Box<dyn Sink>).collect();
        let end = feed.drive(self.engine.as_mut(), &mut SilentHost, &mut |_| {}).map_err(|failure| failure.message)?;
        ended(&end)?;
        if feed.undelivered() {
            return Err("a part of the input was not taken".into());
        }
        let encode = |(port, tokens): (&headrace_ir::Port, &Rc<RefCell<Vec<u8>>>)| {
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(Encoding::new(port.ty, false));
            encoder.encode(&tokens.borrow(), &mut bytes);
            encoder.finish(&mut bytes);
            (port.name.clone(), bytes)
        };
        Ok(self.network.outputs.iter().zip(&collected).map(encode).collect())
    }
}

/// Collects stored tokens.
struct Collect(Rc<RefCell<Vec<u8>>>);

impl Sink for Collect {
    fn take(&mut self, tokens: &[u8]) -> Outcome {
        self.0.borrow_mut().extend_from_slice(tokens);
        Ok(())
    }
}

fn ended(end: &End) -> Result<(), String> {
    match end {
        End::Idle => Ok(()),
        End::FiringLimit => Err("the limit on firings was reached".into()),
        End::Exited(status) => Err(format!("the program ended itself with status {status}")),
        End::Trapped(trap) => Err(crate::waiting::describe_trap(trap)),
    }
}
