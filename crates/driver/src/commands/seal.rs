//! `headrace seal` and `headrace open`: files under a passphrase, by an AEAD of the library.

use super::Context;
use crate::cli::{OpenArgs, SealArgs, SealedArgs};
use crate::failure::Outcome;
use crate::output::Output;
use crate::passphrase::passphrase;
use crate::progress::{Progress, Unit};
use crate::sealed::{Cost, HEADER_BYTES, Header, Keys, Pieces, SEGMENT_BYTES, TAG_BYTES, Wrong, fill};
use headrace::Error;
use headrace::operation::{Runner, Use};
use headrace_exchange::Running;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message, Outcome as Came};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use zeroize::{Zeroize, Zeroizing};

/// The AEAD that the format has.
const SET: &str = "chacha20-poly1305";
const SEAL: &str = "aead-encrypt";
const OPEN: &str = "aead-decrypt";

/// What the names of sealed files end in.
const ENDING: &str = "sealed";

/// Seals a file.
pub fn seal(context: &mut Context, arguments: &SealArgs) -> Outcome {
    let input = Input::open(arguments.file.file.as_deref())?;
    let named = arguments.file.file.as_ref().filter(|_| input.length.is_some());
    let to = match (&arguments.file.output, named) {
        (Some(path), _) => path.clone(),
        (None, Some(file)) => appended(file),
        (None, None) => "-".into(),
    };
    if to == Path::new("-") && io::stdout().is_terminal() {
        return Err(Error::usage("what is sealed is no text for a terminal; --out names a file for it"));
    }
    let mut output = arguments.file.create(&to)?;
    let cost =
        Cost { memory_kib: arguments.memory.saturating_mul(1 << 10), passes: arguments.passes, ..Cost::default() };
    let mut random = [0; 23];
    getrandom::fill(&mut random).map_err(|error| Error::wrong(format!("the system gives no random bytes: {error}")))?;
    let mut header = Header { cost, salt: [0; 16], prefix: [0; 7] };
    header.salt.copy_from_slice(&random[..16]);
    header.prefix.copy_from_slice(&random[16..]);
    let passphrase = passphrase(arguments.file.passphrase_file.as_deref(), true)?;
    let keys = header.keys(&passphrase).map_err(|wrong| match wrong {
        Wrong::TooCostly(_) => Error::usage("--memory and --passes: no file whose key costs so much would be opened"),
        wrong => Error::wrong(wrong.to_string()),
    })?;
    let Aead { spec, runner } = Aead::start(context, &arguments.file, SEAL, input.length)?;
    let Runner { machine, network, counts, .. } = runner;
    let mut segments = Segments::new(&header, &keys, Running::new(&spec, &network, machine.into_engine()));
    let mut progress = Progress::new(context.terminal, input.length.unwrap_or(0), Unit::Bytes);
    let name = input.name.clone();
    let sealed =
        seal_stream(input.from, &mut segments, &mut |bytes| output.write(bytes), &mut |sent| progress.tell(sent));
    progress.finish();
    counts.spent(segments.done);
    sealed.map_err(|stopped| stopped.failure(&name, ""))?;
    output.commit()
}

/// Opens a sealed file.
pub fn open(context: &mut Context, arguments: &OpenArgs) -> Outcome {
    let mut input = Input::open(arguments.file.file.as_deref())?;
    let named = arguments.file.file.as_ref().filter(|_| input.length.is_some());
    let to = match (&arguments.file.output, named) {
        (Some(path), _) => path.clone(),
        (None, Some(file)) if file.extension().is_some_and(|ending| ending == ENDING) => file.with_extension(""),
        (None, Some(file)) => {
            return Err(Error::usage(format!(
                "{} does not end in .{ENDING}, so that --out must say where its content goes",
                file.display()
            )));
        }
        (None, None) => "-".into(),
    };
    let wrong = |name: &str, wrong: Wrong| Error::wrong(format!("{name}: {wrong}"));
    let mut bytes = Zeroizing::default();
    let read = fill(&mut input.from, &mut bytes, HEADER_BYTES);
    read.map_err(|error| Error::io(&input.name, &error))?;
    let (header, check) = Header::parse(&bytes).map_err(|problem| wrong(&input.name, problem))?;
    let mut output = arguments.file.create(&to)?;
    let passphrase = passphrase(arguments.file.passphrase_file.as_deref(), false)?;
    let keys = header.keys(&passphrase).map_err(|problem| wrong(&input.name, problem))?;
    if !keys.fit(&check) {
        return Err(wrong(&input.name, Wrong::Passphrase));
    }
    let Aead { spec, runner } = Aead::start(context, &arguments.file, OPEN, input.length)?;
    let Runner { machine, network, counts, .. } = runner;
    let mut segments = Segments::new(&header, &keys, Running::new(&spec, &network, machine.into_engine()));
    let mut progress = Progress::new(context.terminal, input.length.unwrap_or(0), Unit::Bytes);
    let name = input.name.clone();
    let mut seen = false;
    let is_stream = output.is_stream();
    let mut take = |bytes: &[u8]| {
        seen |= is_stream && !bytes.is_empty();
        output.write(bytes)
    };
    let opened = open_stream(input.from, &mut segments, &mut take, &mut |sent| progress.tell(sent));
    progress.finish();
    counts.spent(segments.done);
    let end = if seen { "; what came before that was passed on" } else { "; nothing was written" };
    opened.map_err(|stopped| stopped.failure(&name, end))?;
    output.commit()
}

/// Why a stream did not come to its end.
enum Stopped {
    Wrong(Wrong),
    Read(io::Error),
    Failed(Error),
}

impl From<Wrong> for Stopped {
    fn from(wrong: Wrong) -> Self {
        Stopped::Wrong(wrong)
    }
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Stopped::Read(error)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Stopped::Failed(error)
    }
}

impl Stopped {
    fn failure(self, name: &str, end: &str) -> Error {
        match self {
            Stopped::Wrong(wrong) => Error::wrong(format!("{name}: {wrong}{end}")),
            Stopped::Read(error) => Error::io(name, &error),
            Stopped::Failed(error) => error,
        }
    }
}

type Take<'a> = &'a mut dyn FnMut(&[u8]) -> headrace::Result;
type Tell<'a> = &'a mut dyn FnMut(u64);

/// Seals a stream, header first.
fn seal_stream(from: impl Read, segments: &mut Segments<'_>, take: Take<'_>, tell: Tell<'_>) -> Result<(), Stopped> {
    take(&segments.header_bytes)?;
    let mut pieces = Pieces::new(from, SEGMENT_BYTES);
    let mut piece = Zeroizing::default();
    for number in 0.. {
        let last = pieces.next(&mut piece)?;
        let nonce = segments.header.nonce(number, last)?;
        let strings =
            segments.perform(&nonce, &piece, None)?.ok_or_else(|| Error::wrong("an AEAD has refused to encrypt"))?;
        for bytes in strings.of(Role::Output).chain(strings.of(Role::Tag)) {
            take(bytes)?;
        }
        tell(segments.done);
        if last {
            break;
        }
    }
    Ok(())
}

/// Opens a stream behind its header. Nothing of a segment is passed on before its tag was verified.
fn open_stream(from: impl Read, segments: &mut Segments<'_>, take: Take<'_>, tell: Tell<'_>) -> Result<(), Stopped> {
    let mut pieces = Pieces::new(from, SEGMENT_BYTES + TAG_BYTES);
    let mut piece = Zeroizing::default();
    for number in 0.. {
        let last = pieces.next(&mut piece)?;
        let Some(n_bytes) = piece.len().checked_sub(TAG_BYTES) else {
            return Err(if piece.is_empty() { Wrong::NoEnd } else { Wrong::Segment(number + 1) }.into());
        };
        // Only a file without content has a segment without.
        if n_bytes == 0 && number > 0 {
            return Err(Wrong::Segment(number + 1).into());
        }
        let nonce = segments.header.nonce(number, last)?;
        let (sealed, tag) = piece.split_at(n_bytes);
        let strings = segments.perform(&nonce, sealed, Some(tag))?.ok_or(Wrong::Segment(number + 1))?;
        for bytes in strings.of(Role::Output) {
            take(bytes)?;
        }
        tell(segments.done);
        if last {
            break;
        }
    }
    Ok(())
}

/// One AEAD with the key of one file.
struct Segments<'a> {
    header: &'a Header,
    header_bytes: [u8; HEADER_BYTES],
    keys: &'a Keys,
    running: Running<'a>,
    /// Bytes so far.
    done: u64,
}

impl<'a> Segments<'a> {
    fn new(header: &'a Header, keys: &'a Keys, running: Running<'a>) -> Self {
        Self { header, header_bytes: header.bytes(keys), keys, running, done: 0 }
    }

    /// What comes of a segment; `None`: its tag is not the right one.
    fn perform(&mut self, nonce: &[u8], input: &[u8], tag: Option<&[u8]>) -> headrace::Result<Option<Strings>> {
        let mut message = Message::new()
            .with(Role::Key, self.keys.key.as_slice())
            .with(Role::Nonce, nonce)
            .with(Role::Ad, self.header_bytes)
            .with(Role::Input, input);
        if let Some(tag) = tag {
            message.set(Role::TagIn, tag);
        }
        self.done += input.len() as u64;
        match self.running.perform(&message).map_err(Error::Wrong)? {
            Came::Accepted(strings) => Ok(Some(Strings(strings))),
            Came::Rejected => Ok(None),
        }
    }
}

/// Strings of a message, wiped when they go.
struct Strings(Vec<(Role, Vec<u8>)>);

impl Strings {
    /// Those of a role, in the order in which they came.
    fn of(&self, wanted: Role) -> impl Iterator<Item = &[u8]> {
        self.0.iter().filter(move |(role, _)| *role == wanted).map(|(_, bytes)| bytes.as_slice())
    }
}

impl Drop for Strings {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|(_, bytes)| bytes.zeroize());
    }
}

/// The AEAD, ready to run.
struct Aead {
    spec: OperationSpec,
    runner: Runner,
}

impl Aead {
    fn start(context: &mut Context, arguments: &SealedArgs, operation: &str, length: Option<u64>) -> Outcome<Self> {
        let wanted =
            Use { engine: arguments.engine.map(Into::into), fused: arguments.fused.into(), ..Use::new(SET, operation) };
        let found = context.workspace.find(&wanted);
        let found = context.told(found)?;
        let (spec, terminal) = (found.spec.clone(), context.terminal);
        let status = &mut |text: &str| terminal.status(text);
        let runner = context.workspace.ready(found, &wanted, length.unwrap_or(0), status);
        Ok(Self { spec, runner: context.told(runner)? })
    }
}

/// What is sealed or opened.
struct Input {
    from: Box<dyn Read>,
    name: String,
    /// Of a file.
    length: Option<u64>,
}

impl Input {
    fn open(path: Option<&Path>) -> Outcome<Self> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Self { from: Box::new(io::stdin()), name: "standard input".into(), length: None });
        };
        let failed = |error: io::Error| Error::io(path.display(), &error);
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(Error::wrong(format!("{}: is a folder; `tar` makes a file of it", path.display())));
        }
        let length = about.is_file().then_some(about.len());
        Ok(Self { from: Box::new(file), name: path.display().to_string(), length })
    }
}

impl SealedArgs {
    /// Where the output goes, which replaces nothing unless that is wanted.
    fn create(&self, to: &Path) -> Outcome<Output> {
        if self.force {
            return Output::create(to);
        }
        Output::create_new(to).map_err(|error| {
            if fs::symlink_metadata(to).is_ok() {
                Error::wrong(format!("{} is there already; --force replaces it", to.display()))
            } else {
                error
            }
        })
    }
}

/// The name with the ending of sealed files.
fn appended(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".");
    name.push(ENDING);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Colour;
    use crate::terminal::Terminal;
    use headrace::Workspace;

    /// The test vector of docs/sealed-files.md, by the interpreter.
    #[test]
    fn the_documented_file_comes_out_and_opens() {
        let text = include_str!("../../../../docs/sealed-files.md");
        let digits = text.split_once("`sealed`:").and_then(|(_, rest)| rest.split("```").nth(1)).expect("it is there");
        let sealed = crate::ports::hexadecimal(digits).expect("digits");
        let (header, check) = Header::parse(&sealed[..HEADER_BYTES]).expect("it is a header");
        let keys = header.keys(b"correct horse battery staple").expect("that costs little");
        assert!(keys.fit(&check));
        let mut context = Context::new(Terminal::new(Colour::Never), Workspace::default());
        let arguments = SealedArgs { engine: Some(crate::cli::EngineName::Interp), ..SealedArgs::default() };
        let mut through = |operation: &str, input: &[u8]| {
            let aead = Aead::start(&mut context, &arguments, operation, None).expect("the library has it");
            let Aead { spec, runner: Runner { machine, network, .. } } = aead;
            let mut segments = Segments::new(&header, &keys, Running::new(&spec, &network, machine.into_engine()));
            let mut out = Vec::new();
            let mut take = |bytes: &[u8]| {
                out.extend_from_slice(bytes);
                Ok(())
            };
            let came = match operation {
                SEAL => seal_stream(input, &mut segments, &mut take, &mut |_| {}),
                _ => open_stream(input, &mut segments, &mut take, &mut |_| {}),
            };
            assert!(came.is_ok());
            out
        };
        assert_eq!(through(OPEN, &sealed[HEADER_BYTES..]), b"One file, one key.\n");
        assert_eq!(through(SEAL, b"One file, one key.\n"), sealed);
    }
}
