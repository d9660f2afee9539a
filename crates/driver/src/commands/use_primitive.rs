//! `headrace use`.

use super::Context;
use crate::cli::UseArgs;
use crate::engines::{self, Machine, Settings};
use crate::failure::{Failure, Outcome, Status, describe};
use crate::feed::{End, Feed, Pending, Provider};
use crate::fusing::{self, Fusing, START_BYTES, Started};
use crate::message_input::{MessageInput, Piece, folder_of};
use crate::ports;
use crate::primitive::{self, Take, message_sinks, messages};
use crate::progress::{Progress, Unit};
use crate::release::Release;
use crate::shortcut::{Known, Memory};
use headrace_exchange::{SilentHost, check_ports, expected_output, input_named, why_stuck};
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
use std::sync::Arc;
use std::time::Instant;
use zeroize::Zeroizing;

/// What is read at once: little enough that it is still in the caches when it is written.
const PIECE_BYTES: usize = 1 << 18;

/// The same of what may be a pipe, which has no more.
const PIPE_BYTES: usize = 1 << 16;

/// Capacity of the FIFOs, in tokens: enough that a visit of the feeder moves many blocks.
pub const FIFO_TOKENS: u32 = 4096;

/// Longest key, nonce, tag or other string of the command line, in bytes.
const MAX_STRING_BYTES: u64 = 1 << 26;

/// Longest message from a pipe that is kept until it is verified, in bytes: what has no end must not fill the disk. Of a
/// file the length is known, and the disk has room for it or has not.
const MAX_WITHHELD_BYTES: u64 = 4 << 30;

/// Performs one operation on one message.
pub fn use_primitive(context: &mut Context, arguments: &UseArgs) -> Outcome {
    perform(context, arguments).map(|_| ())
}

/// How an operation was performed.
#[derive(Clone, Copy, Debug)]
pub struct Performed {
    /// Seconds from the first token to the last byte written.
    pub seconds: f64,
    /// Whether that was fused code.
    pub fused: bool,
}

/// Performs one operation on one message.
pub fn perform(context: &mut Context, arguments: &UseArgs) -> Outcome<Performed> {
    let found = Found::of(context, arguments)?;
    let spec = &found.spec.clone();
    if let Some((parameter, sizes)) = spec.forbidden_tag() {
        return Err(Failure::usage(format!("--set: `{parameter}` of `{}` must be {sizes}", spec.full_name())));
    }
    if let Some(parameter) = spec.unclear_limit() {
        return Err(Failure::usage(format!("--set: `{parameter}` of `{}` must be a plain number", spec.full_name())));
    }
    if spec.framing == Framing::Bare {
        return Err(Failure::usage(format!("`{}` has no messages; `headrace run` runs it", spec.full_name())));
    }
    let mut message = message(arguments)?;
    let destination =
        ports::destination(&arguments.output).map_err(|problem| Failure::usage(format!("--out: {problem}")))?;
    let beside = folder_of(&destination);
    let mut input = MessageInput::open(&arguments.input, spec)?;
    // What is wrong with the other strings is said before anything is read.
    let mut tagged = message.clone();
    if let Some(port) = spec.input(Role::TagIn).filter(|_| message.get(Role::TagIn).is_none()) {
        let most = port.sizes.max();
        if most > MAX_STRING_BYTES {
            return Err(Failure::usage(format!(
                "the tag of `{}` may have any length, so that what of the input would be the tag is not known; --tag gives it",
                spec.full_name()
            )));
        }
        tagged.set(Role::TagIn, vec![0; usize::try_from(most).unwrap_or(0)]);
    }
    let problems = tagged.check(spec, true);
    if !problems.is_empty() {
        return Err(Failure::usage(messages(&problems)));
    }
    input.prepare(spec, &mut message, beside.as_deref())?;
    let mut runner = found.start(context, arguments, input.length().unwrap_or(0))?;
    let release = Rc::new(RefCell::new(Release::open(&destination, spec, beside.as_deref())?));
    let mut progress = Progress::new(context.terminal, input.length().unwrap_or(0), Unit::Bytes);
    let began = Instant::now();
    let foreign = Rc::new(Cell::new(None));
    let watch = foreign.clone();
    let sent = Rc::new(Cell::new(0));
    let input = Sent { input, foreign: watch, bytes: sent.clone() };
    let (network, engine) = (&runner.network, runner.machine.engine());
    let came = transfer(spec, network, engine, &message, input, release.clone(), &mut progress);
    progress.finish();
    runner.counts.spent(sent.get());
    let came = came?;
    let Ok(release) = Rc::try_unwrap(release) else { return Err(Failure::wrong("the output is still being written")) };
    let mut release = release.into_inner();
    let Came::Accepted(strings) = came else {
        let why = match spec.shape {
            Shape::Codec => format!("the input is not well-formed{}", describe_foreign(spec, foreign.get())),
            Shape::Generator => "the generator refused the request".into(),
            _ => "verification failed: the message is not authentic".into(),
        };
        let end = if release.is_seen() { "what came before that was passed on" } else { "nothing was written" };
        return Err(Failure::wrong(format!("{why}; {end}")));
    };
    let of = |role: Role| strings.iter().filter(move |(other, _)| *other == role).map(|(_, bytes)| bytes);
    for bytes in of(Role::SecretNonceOut) {
        release.write_ahead(bytes)?;
    }
    release.release()?;
    for bytes in of(Role::Output).chain(of(Role::Tag)) {
        release.write(bytes)?;
    }
    release.finish()?;
    Ok(Performed { seconds: began.elapsed().as_secs_f64(), fused: runner.fused })
}

/// What a command line names.
pub struct Found {
    /// The operation, with the arguments of the command line.
    pub spec: OperationSpec,
    memory: Option<Memory>,
    /// What need not be made first.
    known: Option<(Arc<Network>, Machine)>,
}

impl Found {
    /// Looks for it where it was started before, else in the library.
    ///
    /// # Errors
    ///
    /// There is no such operation or variant.
    pub fn of(context: &mut Context, arguments: &UseArgs) -> Outcome<Self> {
        let memory = Memory::of_use(context, arguments, FIFO_TOKENS);
        let known = memory.as_ref().and_then(|memory| memory.find(context));
        let (spec, known) = match known {
            Some(Known { spec, ports, machine }) => (spec, Some((ports, machine))),
            None => {
                let library = context.library()?;
                let found = library.find(&arguments.primitive, Some(&arguments.operation));
                let all = "`headrace list primitives` has all there is";
                (found.map_err(|problem| context.usage(&problem.note(all)))?.clone(), None)
            }
        };
        let spec = spec.with_arguments(&Context::parameters(&arguments.parameters)?);
        if spec.variant(arguments.variant.as_deref()).is_none() {
            let known: Vec<&str> = spec.variants.iter().map(|variant| variant.name.as_str()).collect();
            let known = known.join(", ");
            return Err(Failure::usage(format!("`{}` has no such variant; there are {known}", spec.full_name())));
        }
        Ok(Self { spec, memory, known })
    }

    /// Starts it, with so many bytes that are known to come.
    ///
    /// # Errors
    ///
    /// What is wrong with its network, or why the engine that is asked for cannot run.
    pub fn start(self, context: &mut Context, arguments: &UseArgs, known_bytes: u64) -> Outcome<Runner> {
        let Self { spec, memory, known } = self;
        if let Some((network, machine)) = known {
            return Ok(Runner { machine, network, fused: true, counts: Counts(None) });
        }
        let variant = spec.variant(arguments.variant.as_deref());
        let variant = variant.ok_or_else(|| Failure::wrong(format!("`{}` has no variant", spec.full_name())))?;
        let network = context.elaborate(&variant.network.to_string(), &[])?;
        check_ports(&spec, &network).map_err(Failure::wrong)?;
        let settings = Settings { fifo_tokens: FIFO_TOKENS, ..Settings::of(arguments.engine) };
        let fusing = Fusing {
            when: arguments.fused,
            known_bytes,
            spent_bytes: memory.as_ref().map_or(0, Memory::spent),
            threads: 1,
            fifo_tokens: FIFO_TOKENS,
            native: fusing::is_native(arguments.fused, settings.choice),
        };
        let counts = match fusing.start(context, &network, |_| Ok(Some(spec.clone())))? {
            Started::Fused(machine, name) => {
                if let Some(memory) = memory {
                    memory.remember(context, &spec, &network, &name);
                }
                return Ok(Runner { machine, network, fused: true, counts: Counts(None) });
            }
            Started::NotYet => memory,
            Started::Failed => {
                // As often as it came to that again, compilers would be asked in vain.
                memory.iter().for_each(|memory| memory.spend(u64::MAX));
                None
            }
            Started::No => None,
        };
        let machine = engines::start(context, &network, settings, Path::new(""))?;
        Ok(Runner { machine, network, fused: false, counts: Counts(counts) })
    }
}

/// What runs an operation.
pub struct Runner {
    /// The engine.
    pub machine: Machine,
    /// The network, or as much of it as its ports.
    pub network: Arc<Network>,
    /// Whether that is fused code.
    pub fused: bool,
    /// What is to be told when it has run.
    pub counts: Counts,
}

/// Where it is written down what was done in want of fused code, where that counts.
pub struct Counts(Option<Memory>);

impl Counts {
    /// So many bytes went through.
    pub fn spent(&self, bytes: u64) {
        if let Some(memory) = &self.0 {
            memory.spend(START_BYTES.saturating_add(bytes));
        }
    }
}

/// Place and value of the first byte that no text of a codec has.
type Foreign = Rc<Cell<Option<(u64, u8)>>>;

fn alphabet_of(spec: &OperationSpec) -> Option<Box<[bool; 256]>> {
    let mut known = Box::new([false; 256]);
    spec.alphabet.iter().for_each(|byte| known[usize::from(*byte)] = true);
    (!spec.alphabet.is_empty()).then_some(known)
}

fn describe_foreign(spec: &OperationSpec, foreign: Option<(u64, u8)>) -> String {
    let Some((at, byte)) = foreign else { return String::new() };
    let shown = match byte {
        b'\n' => "a line feed".to_owned(),
        b'\r' => "a carriage return".to_owned(),
        b' ' => "a blank".to_owned(),
        0x21..=0x7e => format!("`{}`", char::from(byte)),
        _ => format!("0x{byte:02x}"),
    };
    let other = spec.tolerant.as_ref();
    let other = other.map_or(String::new(), |set| format!("; `{set}` passes over what is none of its characters"));
    format!(": byte {} is {shown}, which `{}` does not have{other}", at + 1, spec.set)
}

/// The input, and what is seen of it on its way.
struct Sent {
    input: MessageInput,
    foreign: Foreign,
    bytes: Rc<Cell<u64>>,
}

/// Sends one message through the engine. Output that may be released goes to `written` as it comes.
fn transfer(
    spec: &OperationSpec,
    network: &Network,
    engine: &mut dyn headrace_engine::Engine,
    message: &Message,
    Sent { input, foreign, bytes: sent }: Sent,
    release: Rc<RefCell<Release>>,
    progress: &mut Progress,
) -> Outcome<Came> {
    let mut reader = MessageReader::new(spec);
    let counted = spec.framing == Framing::Core;
    match spec.framing {
        // How long the output will be is known only at the end of the input; until then nothing ends the message.
        Framing::Core => reader.expect(u64::MAX),
        Framing::Generator => reader.expect(expected_output(spec, message, 0)),
        _ => {}
    }
    let released = Rc::new(Cell::new(0));
    let count = released.clone();
    let take: Take = Rc::new(RefCell::new(move |bytes: &[u8]| {
        count.set(count.get() + bytes.len() as u64);
        release.borrow_mut().write(bytes)
    }));
    let mut feed = Feed::new(network);
    feed.sinks = message_sinks(network, spec, &mut reader, Some(take));
    feed.providers.push(Box::new(MessageProvider {
        network,
        spec,
        writer: MessageWriter::new(spec),
        message: Some(message),
        has_input: spec.input(Role::Input).is_some(),
        // What must know its input whole may want to before it takes the strings ahead of it.
        awaited: match spec.input(Role::Input).filter(|_| spec.single_chunk) {
            Some(port) => input_named(network, &port.name).into_iter().collect(),
            None => (0..network.inputs.len()).collect(),
        },
        input,
        piece: Zeroizing::default(),
        foreign,
        alphabet: alphabet_of(spec),
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

/// Feeds a message as it is read.
struct MessageProvider<'a> {
    network: &'a Network,
    spec: &'a OperationSpec,
    writer: MessageWriter<'a>,
    /// The message, until what comes before its input was sent.
    message: Option<&'a Message>,
    has_input: bool,
    /// Network inputs that must be empty before more is sent.
    awaited: Vec<usize>,
    input: MessageInput,
    /// Memory for what is read: it changes places with that of what waits for the network.
    piece: Zeroizing<Vec<u8>>,
    foreign: Foreign,
    /// Which bytes texts are made of, where that is said.
    alphabet: Option<Box<[bool; 256]>>,
    /// Input bytes so far.
    sent: Rc<Cell<u64>>,
}

impl Provider for MessageProvider<'_> {
    fn inputs(&self) -> &[usize] {
        &self.awaited
    }

    fn may_wait(&self) -> bool {
        self.input.length().is_none()
    }

    fn provide(&mut self, pending: &mut [Pending]) -> Outcome<bool> {
        if let Some(message) = self.message.take() {
            let data = self.writer.begin(message).map_err(|problems| Failure::usage(messages(&problems)))?;
            primitive::push(self.network, &Zeroizing::new(data), pending).map_err(Failure::wrong)?;
            if let Some(length) = self.input.length() {
                self.writer.announce(length);
            }
            return Ok(self.has_input);
        }
        let room = if self.input.length().is_some() { PIECE_BYTES } else { PIPE_BYTES };
        if self.piece.capacity() < room {
            // Growing would leave copies that are not wiped.
            self.piece = Zeroizing::new(Vec::with_capacity(room));
        }
        let piece = &mut *self.piece;
        piece.resize(room, 0);
        let Piece { n_bytes, last } = self.input.read(piece)?;
        piece.truncate(n_bytes);
        if let (None, Some(known)) = (self.foreign.get(), &self.alphabet) {
            let at = piece.iter().position(|byte| !known[usize::from(*byte)]);
            self.foreign.set(at.map(|at| (self.sent.get() + at as u64, piece[at])));
        }
        self.sent.set(self.sent.get() + n_bytes as u64);
        let withheld = self.spec.verifies && self.spec.shape != Shape::Codec && self.input.length().is_none();
        if withheld && self.sent.get() > MAX_WITHHELD_BYTES {
            return Err(Failure::wrong(format!(
                "{}: is longer than {MAX_WITHHELD_BYTES} bytes, the most that is kept until it is verified of what has no \
                 known length; from a file, any length is taken; nothing was written",
                self.input.name
            )));
        }
        if let Some(tag) = self.input.tag().filter(|_| last) {
            self.writer.set_tag(tag);
        }
        let data = self.writer.chunk_of(piece, last).map_err(|problem| self.input.wrong(&problem))?;
        primitive::exchange(self.network, data, pending, piece).map_err(Failure::wrong)?;
        Ok(!last)
    }
}
