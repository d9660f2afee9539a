//! `headrace use`.

use super::Context;
use crate::cli::UseArgs;
use crate::engines::{self, Settings};
use crate::failure::{Failure, Outcome, Status, describe};
use crate::feed::{End, Feed, Pending, Provider};
use crate::fusing::{self, Fusing};
use crate::output::{self, Output};
use crate::ports::{self, Destination, Source};
use crate::primitive::{self, Release, message_sinks, messages};
use crate::progress::{Progress, Unit};
use crate::sinks::{SharedOutput, hexadecimal};
use headrace_exchange::{SilentHost, check_ports, expected_output, why_stuck};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, MessageReader, MessageWriter, Outcome as Came};
use headrace_library::manifest::Shape;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

/// What is read at once.
const PIECE_BYTES: usize = 1 << 20;

/// Capacity of the FIFOs, in tokens: enough that a visit of the feeder moves many blocks.
pub const FIFO_TOKENS: u32 = 4096;

/// Longest key, nonce, tag or other string of the command line, in bytes.
const MAX_STRING_BYTES: u64 = 1 << 26;

/// Longest message that is kept until it is verified, in bytes.
const MAX_WITHHELD_BYTES: u64 = 1 << 30;

/// Performs one operation on one message.
pub fn use_primitive(context: &mut Context, arguments: &UseArgs) -> Outcome {
    perform(context, arguments).map(|_| ())
}

/// Performs one operation on one message. Gives the seconds from the first token to the last byte written.
pub fn perform(context: &mut Context, arguments: &UseArgs) -> Outcome<f64> {
    let library = context.library()?;
    let found = library.find(&arguments.primitive, Some(&arguments.operation));
    let spec = found.map_err(|problem| context.usage(&problem))?;
    let spec = &spec.with_arguments(&Context::parameters(&arguments.parameters)?);
    if let Some((parameter, sizes)) = spec.forbidden_tag() {
        return Err(Failure::usage(format!("--set: `{parameter}` of `{}` must be {sizes}", spec.full_name())));
    }
    let variant = spec.variant(arguments.variant.as_deref()).ok_or_else(|| {
        let known: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
        Failure::usage(format!("`{}` has no such variant; there are {}", spec.full_name(), known.join(", ")))
    })?;
    if spec.framing == Framing::Bare {
        return Err(Failure::usage(format!("`{}` has no messages; `headrace run` runs it", spec.full_name())));
    }
    let mut message = message(arguments)?;
    let mut input = Input::open(&arguments.input, spec)?;
    input.cut_off_tag(spec, &mut message)?;
    let problems = message.check(spec, true);
    if !problems.is_empty() {
        return Err(Failure::usage(messages(&problems)));
    }
    input.check(spec)?;
    let network = context.elaborate(&variant.network.to_string(), &[])?;
    check_ports(spec, &network).map_err(Failure::wrong)?;
    let settings = Settings { fifo_tokens: FIFO_TOKENS, ..Settings::of(arguments.engine) };
    let fusing = Fusing {
        when: arguments.fused,
        known_bytes: input.known_bytes(),
        threads: 1,
        fifo_tokens: FIFO_TOKENS,
        native: fusing::is_native(arguments.fused, settings.choice),
    };
    let mut machine = match fusing.start(context, &network, |_| Ok(Some(spec.clone())))? {
        Some(machine) => machine,
        None => engines::start(context, &network, settings, Path::new(""))?,
    };
    let destination =
        ports::destination(&arguments.output).map_err(|problem| Failure::usage(format!("--out: {problem}")))?;
    let output = open_output(&destination)?;
    let written = Rc::new(RefCell::new(Writing { output: output.clone(), line: Vec::new() }));
    let mut progress = Progress::new(context.terminal, input.known_bytes(), Unit::Bytes);
    let began = Instant::now();
    let came = transfer(spec, &network, machine.engine(), &message, input, written.clone(), &mut progress);
    progress.finish();
    let Came::Accepted(strings) = came? else {
        let message = match spec.shape {
            Shape::Codec => "the input is not well-formed; nothing was written",
            Shape::Generator => "the generator refused the request; nothing was written",
            _ => "verification failed: the message is not authentic; nothing was written",
        };
        return Err(Failure { status: Status::Wrong, message: message.into() });
    };
    let mut writing = written.borrow_mut();
    for role in [Role::SecretNonceOut, Role::Output, Role::Tag] {
        for (_, bytes) in strings.iter().filter(|(other, _)| *other == role) {
            writing.write(bytes)?;
        }
    }
    writing.finish()?;
    Ok(began.elapsed().as_secs_f64())
}

fn open_output(destination: &Destination) -> Outcome<Option<SharedOutput>> {
    match destination {
        Destination::Path(path) => Ok(Some(SharedOutput::new(Output::create(path)?))),
        Destination::Hexadecimal => Ok(None),
        Destination::Numbers => Err(Failure::usage("--out: a byte string is written to a path, `-` or hex:")),
    }
}

/// The output: a file, a pipe, or a line of hexadecimal digits.
struct Writing {
    output: Option<SharedOutput>,
    line: Vec<u8>,
}

impl Writing {
    fn write(&mut self, bytes: &[u8]) -> Outcome {
        match &self.output {
            Some(output) => output.write(bytes),
            None => {
                self.line.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    fn finish(&mut self) -> Outcome {
        match &self.output {
            Some(output) => output.commit(),
            None => output::print(format!("{}\n", hexadecimal(&self.line)).as_bytes()),
        }
    }
}

/// Sends one message through the engine. Output that may be released goes to `written` as it comes.
fn transfer(
    spec: &OperationSpec,
    network: &Network,
    engine: &mut dyn headrace_engine::Engine,
    message: &Message,
    input: Input,
    written: Rc<RefCell<Writing>>,
    progress: &mut Progress,
) -> Outcome<Came> {
    let mut reader = MessageReader::new(spec);
    let sent = Rc::new(Cell::new(0));
    let counted = spec.framing == Framing::Core;
    match spec.framing {
        // How long the output will be is known only at the end of the input; until then nothing ends the message.
        Framing::Core => reader.expect(u64::MAX),
        Framing::Generator => reader.expect(expected_output(spec, message, 0)),
        _ => {}
    }
    let released = Rc::new(Cell::new(0));
    let count = released.clone();
    let release: Release = Rc::new(RefCell::new(move |bytes: &[u8]| {
        count.set(count.get() + bytes.len() as u64);
        written.borrow_mut().write(bytes)
    }));
    let mut feed = Feed::new(network);
    feed.sinks = message_sinks(network, spec, &mut reader, (!spec.verifies).then_some(release));
    feed.providers.push(Box::new(MessageProvider {
        network,
        writer: MessageWriter::new(spec),
        message: Some(message),
        has_input: spec.input(Role::Input).is_some(),
        // What must know its input whole may want to before it takes the strings ahead of it.
        awaited: if spec.single_chunk { Vec::new() } else { (0..network.inputs.len()).collect() },
        input,
        sent: sent.clone(),
    }));
    let end = feed.drive(engine, &mut SilentHost, &mut |delivered| progress.tell(delivered))?;
    let undelivered = feed.undelivered();
    drop(feed);
    match end {
        End::Idle => {}
        End::Trapped(trap) => return Err(Failure::wrong(trap.to_string())),
        End::FiringLimit | End::Exited(_) => return Err(Failure::wrong("the network ended before the message did")),
    }
    let is_whole = released.get() == expected_output(spec, message, sent.get());
    let came = if counted { is_whole.then(|| Came::Accepted(Vec::new())) } else { reader.finish() };
    match came {
        Some(came) if !undelivered => Ok(came),
        _ => Err(Failure { status: Status::Stopped, message: why_stuck(&reader.missing(), &engine.report()) }),
    }
}

/// The message of the command line, without its input.
fn message(arguments: &UseArgs) -> Outcome<Message> {
    let mut message = Message::new();
    message.words = arguments.words;
    let strings = [
        (Role::Key, "--key", &arguments.key),
        (Role::Iv, "--iv", &arguments.iv),
        (Role::Nonce, "--nonce", &arguments.nonce),
        (Role::SecretNonce, "--secret-nonce", &arguments.secret_nonce),
        (Role::Ad, "--ad", &arguments.ad),
        (Role::TagIn, "--tag", &arguments.tag),
        (Role::Seed, "--seed", &arguments.seed),
        (Role::Entropy, "--entropy", &arguments.entropy),
    ];
    for (role, option, text) in strings {
        if let Some(text) = text {
            let bytes = string(text).map_err(|problem| Failure::usage(format!("{option}: {problem}")))?;
            message.set(role, bytes);
        }
    }
    Ok(message)
}

/// The bytes that `hex:…`, `text:…`, `file:PATH` or `env:NAME` stand for.
fn string(text: &str) -> Result<Vec<u8>, String> {
    if let Some(digits) = text.strip_prefix("hex:") {
        return ports::hexadecimal(digits);
    }
    if let Some(text) = text.strip_prefix("text:") {
        return Ok(text.as_bytes().to_vec());
    }
    if let Some(path) = text.strip_prefix("file:") {
        let named = |error: io::Error| format!("{path}: {}", describe(&error));
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(named)?;
        file.take(MAX_STRING_BYTES + 1).read_to_end(&mut bytes).map_err(named)?;
        if bytes.len() as u64 > MAX_STRING_BYTES {
            return Err(format!("{path}: longer than {MAX_STRING_BYTES} bytes"));
        }
        return Ok(bytes);
    }
    if let Some(name) = text.strip_prefix("env:") {
        let value =
            std::env::var(name).map_err(|_| format!("the environment has no variable `{}`", name.escape_debug()))?;
        return ports::hexadecimal(&value).map_err(|problem| format!("variable {name}: {problem}"));
    }
    Err("hex:…, text:…, file:PATH or env:NAME is wanted".into())
}

/// The input of the message.
struct Input {
    stream: Box<dyn Read>,
    name: String,
    /// Its length, where that is known.
    length: Option<u64>,
}

impl Input {
    fn open(text: &str, spec: &OperationSpec) -> Outcome<Self> {
        let bytes = |bytes: Vec<u8>| {
            let length = Some(bytes.len() as u64);
            Self { stream: Box::new(io::Cursor::new(bytes)), name: "--in".into(), length }
        };
        if spec.input(Role::Input).is_none() {
            return Ok(bytes(Vec::new()));
        }
        match ports::source(text).map_err(|problem| Failure::usage(format!("--in: {problem}")))? {
            Source::Bytes(given) => Ok(bytes(given)),
            Source::Numbers(_) => Err(Failure::usage("--in: a byte string comes from a path, `-`, hex: or text:")),
            Source::Standard => Ok(Self { stream: Box::new(io::stdin()), name: "standard input".into(), length: None }),
            Source::Path(path) => {
                let failed = |error: io::Error| Failure::io(path.display(), &error);
                let file = File::open(&path).map_err(failed)?;
                let metadata = file.metadata().map_err(failed)?;
                if metadata.is_dir() {
                    return Err(Failure::wrong(format!("{}: is a folder", path.display())));
                }
                let length = (metadata.is_file() && metadata.len() > 0).then_some(metadata.len());
                Ok(Self { stream: Box::new(file), name: path.display().to_string(), length })
            }
        }
    }

    fn known_bytes(&self) -> u64 {
        self.length.unwrap_or(0)
    }

    /// Takes the tag from the end of the input, where the operation wants one that was not given.
    fn cut_off_tag(&mut self, spec: &OperationSpec, message: &mut Message) -> Outcome {
        let Some(port) = spec.input(Role::TagIn) else { return Ok(()) };
        if message.get(Role::TagIn).is_some() {
            return Ok(());
        }
        let tag_bytes = usize::try_from(port.sizes.max()).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        let limited = (&mut self.stream).take(MAX_WITHHELD_BYTES + 1).read_to_end(&mut bytes);
        limited.map_err(|error| Failure::io(&self.name, &error))?;
        if bytes.len() as u64 > MAX_WITHHELD_BYTES {
            let most = MAX_WITHHELD_BYTES;
            return Err(Failure::wrong(format!(
                "{}: longer than {most} bytes, which cannot be kept until verified",
                self.name
            )));
        }
        let Some(at) = bytes.len().checked_sub(tag_bytes) else {
            return Err(Failure::wrong(format!(
                "{}: has {} bytes; the tag at its end alone has {}",
                self.name,
                bytes.len(),
                port.sizes
            )));
        };
        message.set(Role::TagIn, bytes.split_off(at));
        self.length = Some(bytes.len() as u64);
        self.stream = Box::new(io::Cursor::new(bytes));
        Ok(())
    }

    /// Refuses a length that the operation does not take, where it is known before anything is sent.
    fn check(&self, spec: &OperationSpec) -> Outcome {
        let (Some(port), Some(length)) = (spec.input(Role::Input), self.length) else { return Ok(()) };
        if port.sizes.allows(length) {
            return Ok(());
        }
        let name = spec.full_name();
        Err(Failure::wrong(format!(
            "{}: has {length} bytes; the input of `{name}` must have {}",
            self.name, port.sizes
        )))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Outcome<usize> {
        loop {
            match self.stream.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(|error| Failure::io(&self.name, &error)),
            }
        }
    }
}

/// Feeds a message as it is read.
struct MessageProvider<'a> {
    network: &'a Network,
    writer: MessageWriter<'a>,
    /// The message, until what comes before its input was sent.
    message: Option<&'a Message>,
    has_input: bool,
    /// Network inputs that must be empty before more is sent.
    awaited: Vec<usize>,
    input: Input,
    /// Input bytes so far.
    sent: Rc<Cell<u64>>,
}

impl Provider for MessageProvider<'_> {
    fn inputs(&self) -> &[usize] {
        &self.awaited
    }

    fn may_wait(&self) -> bool {
        self.input.length.is_none()
    }

    fn provide(&mut self, pending: &mut [Pending]) -> Outcome<bool> {
        if let Some(message) = self.message.take() {
            let data = self.writer.begin(message).map_err(|problems| Failure::usage(messages(&problems)))?;
            primitive::push(self.network, &data, pending).map_err(Failure::wrong)?;
            return Ok(self.has_input);
        }
        let mut piece = vec![0; PIECE_BYTES];
        let n_bytes = self.input.read(&mut piece)?;
        self.sent.set(self.sent.get() + n_bytes as u64);
        let known_end = self.input.length == Some(self.sent.get());
        let last = n_bytes == 0 || known_end;
        let data = self.writer.chunk(&piece[..n_bytes], last);
        let data = data.map_err(|problem| Failure::wrong(format!("{}: {}", self.input.name, problem.message)))?;
        primitive::push(self.network, &data, pending).map_err(Failure::wrong)?;
        Ok(!last)
    }
}
