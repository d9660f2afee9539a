//! One message of any length through an operation: its input as it comes, its output as soon as it may be released.

use crate::engines::Status;
use crate::error::{Error, Result};
use crate::feed::{End, Feed, Pending, Progress, Provider};
use crate::message_input::{MessageInput, Piece};
use crate::operation::{Found, Use};
use crate::primitive::{Take, exchange, message_sinks, messages, push};
use crate::release::{Receiver, Release};
use crate::workspace::Workspace;
use headrace_engine::Engine;
use headrace_exchange::{SilentHost, expected_output, input_named, why_stuck};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, MessageReader, MessageWriter, Outcome as Came};
use headrace_library::manifest::Shape;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Instant;
use zeroize::Zeroizing;

/// What is read at once: little enough that it is still in the caches when it is written.
const PIECE_BYTES: usize = 1 << 18;

/// The same of what may be a pipe, which has no more.
const PIPE_BYTES: usize = 1 << 16;

/// Longest tag that is taken from the end of an input, in bytes.
const MAX_TAG_BYTES: u64 = 1 << 26;

/// Longest message from a pipe that is kept until it is verified, in bytes: what has no end must not fill the disk. Of a
/// file the length is known, and the disk has room for it or has not.
const MAX_WITHHELD_BYTES: u64 = 4 << 30;

/// A message on its way.
pub struct Transfer<'a> {
    /// Its strings but the input; a tag that is not given ends the input.
    pub message: Message,
    /// Its input.
    pub input: MessageInput,
    /// Opens what takes its output, when nothing is in the way any more.
    pub output: &'a mut dyn FnMut() -> Result<Box<dyn Receiver>>,
    /// Folders for what must be withheld or known whole, in files without names, the best first.
    pub places: Vec<PathBuf>,
    /// Hears when something is compiled.
    pub status: Status<'a>,
    /// Hears how many bytes of stored tokens went in, and how many bytes the input has; 0 where nobody knows.
    pub progress: &'a mut dyn FnMut(u64, u64),
}

/// How an operation was performed.
#[derive(Clone, Copy, Debug)]
pub struct Performed {
    /// Seconds from the first token to the last byte written.
    pub seconds: f64,
    /// Whether that was fused code.
    pub fused: bool,
}

impl Found {
    /// Says what is wrong with the strings of a message but its input.
    ///
    /// # Errors
    ///
    /// What is missing or of a wrong size; that the length of the tag is not known.
    pub fn check(&self, message: &Message) -> Result {
        let spec = &self.spec;
        let mut tagged = message.clone();
        if let Some(port) = spec.input(Role::TagIn).filter(|_| message.get(Role::TagIn).is_none()) {
            let most = port.sizes.max();
            if most > MAX_TAG_BYTES {
                return Err(Error::usage(format!(
                    "the tag of `{}` may have any length, so that what of the input would be the tag is not known; --tag gives it",
                    spec.full_name()
                )));
            }
            tagged.set(Role::TagIn, vec![0; usize::try_from(most).unwrap_or(0)]);
        }
        let problems = tagged.check(spec, true);
        if problems.is_empty() { Ok(()) } else { Err(Error::usage(messages(&problems))) }
    }
}

impl Workspace {
    /// Performs an operation on one message of any length.
    ///
    /// # Errors
    ///
    /// What is wrong with the message; that it is refused; that its network or engine fails; what its output says.
    pub fn transfer(&mut self, found: Found, wanted: &Use, transfer: Transfer<'_>) -> Result<Performed> {
        let Transfer { mut message, mut input, output, places, status, progress } = transfer;
        // What is wrong with the other strings is said before anything is read.
        found.check(&message)?;
        let spec = &found.spec.clone();
        input.prepare(spec, &mut message, &places)?;
        let known_bytes = input.length().unwrap_or(0);
        let mut runner = self.ready(found, wanted, known_bytes, status)?;
        let release = Rc::new(RefCell::new(Release::new(output()?, spec, &places)));
        let began = Instant::now();
        let (foreign, sent) = (Foreign::default(), Rc::new(Cell::new(0)));
        let input = Sent { input, foreign: foreign.clone(), bytes: sent.clone() };
        let (network, engine) = (&runner.network, runner.machine.engine());
        let mut tell = |done| progress(done, known_bytes);
        let came = move_tokens(spec, network, engine, &message, input, release.clone(), &mut tell);
        runner.counts.spent(sent.get());
        let came = came?;
        let Ok(release) = Rc::try_unwrap(release) else {
            return Err(Error::wrong("the output is still being written"));
        };
        let mut release = release.into_inner();
        let Came::Accepted(strings) = came else {
            return Err(refused(spec, foreign.get(), release.is_seen()));
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
}

/// That a message is not accepted, and whether something of it was seen.
fn refused(spec: &OperationSpec, foreign: Option<(u64, u8)>, is_seen: bool) -> Error {
    let why = match spec.shape {
        Shape::Codec => format!("the input is not well-formed{}", describe_foreign(spec, foreign)),
        Shape::Generator => "the generator refused the request".into(),
        _ => "verification failed: the message is not authentic".into(),
    };
    let end = if is_seen { "what came before that was passed on" } else { "nothing was written" };
    Error::wrong(format!("{why}; {end}"))
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

/// Sends one message through the engine. Output that may be released is released as it comes.
fn move_tokens(
    spec: &OperationSpec,
    network: &Network,
    engine: &mut dyn Engine,
    message: &Message,
    Sent { input, foreign, bytes: sent }: Sent,
    release: Rc<RefCell<Release>>,
    progress: Progress<'_>,
) -> Result<Came> {
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
    let end = feed.drive(engine, &mut SilentHost, progress)?;
    let undelivered = feed.undelivered();
    drop(feed);
    match end {
        End::Idle => {}
        End::Trapped(trap) => return Err(Error::wrong(trap.to_string())),
        End::FiringLimit | End::Exited(_) => return Err(Error::wrong("the network ended before the message did")),
    }
    let is_whole = released.get() == expected_output(spec, message, sent.get());
    let came = if counted { is_whole.then(|| Came::Accepted(Vec::new())) } else { reader.finish() };
    match came {
        Some(came) if !undelivered => Ok(came),
        _ => Err(Error::Stopped(why_stuck(&reader.missing(), &engine.report()))),
    }
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

    fn provide(&mut self, pending: &mut [Pending]) -> Result<bool> {
        if let Some(message) = self.message.take() {
            let data = self.writer.begin(message).map_err(|problems| Error::usage(messages(&problems)))?;
            push(self.network, &Zeroizing::new(data), pending).map_err(Error::wrong)?;
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
            return Err(Error::wrong(format!(
                "{}: is longer than {MAX_WITHHELD_BYTES} bytes, the most that is kept until it is verified of what has no \
                 known length; from a file, any length is taken; nothing was written",
                self.input.name
            )));
        }
        if let Some(tag) = self.input.tag().filter(|_| last) {
            self.writer.set_tag(tag);
        }
        let data = self.writer.chunk_of(piece, last).map_err(|problem| self.input.wrong(&problem))?;
        exchange(self.network, data, pending, piece).map_err(Error::wrong)?;
        Ok(!last)
    }
}
