//! `headrace use`.

use super::Context;
use crate::cli::UseArgs;
use crate::failure::Outcome;
use crate::output::{self, Output};
use crate::ports::{self, Destination, Source};
use crate::progress::{Progress, Unit};
use crate::sinks::hexadecimal;
use crate::whole_file;
use headrace::Error;
use headrace::error::describe;
use headrace::message_input::MessageInput;
use headrace::operation::Use;
use headrace::release::{Receiver, Seen};
use headrace::transfer::{Performed, Transfer};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::Message;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

/// Longest key, nonce, tag or other string of the command line, in bytes.
const MAX_STRING_BYTES: u64 = 1 << 26;

/// Performs one operation on one message.
pub fn use_primitive(context: &mut Context, arguments: &UseArgs) -> Outcome {
    perform(context, arguments).map(|_| ())
}

/// Performs one operation on one message, and says how.
pub fn perform(context: &mut Context, arguments: &UseArgs) -> Outcome<Performed> {
    let wanted = wanted(arguments)?;
    let found = context.workspace.find(&wanted);
    let found = context.told(found)?;
    found.takes_messages()?;
    let message = message(arguments)?;
    let destination =
        ports::destination(&arguments.output).map_err(|problem| Error::usage(format!("--out: {problem}")))?;
    let input = open_input(&arguments.input, &found.spec)?;
    let terminal = context.terminal;
    let mut progress = None;
    let transfer = Transfer {
        message,
        input,
        output: &mut || receiver(&destination),
        places: folder_of(&destination).into_iter().chain([std::env::temp_dir()]).collect(),
        status: &mut |text| terminal.status(text),
        progress: &mut |done, total| {
            progress.get_or_insert_with(|| Progress::new(terminal, total, Unit::Bytes)).tell(done);
        },
    };
    let performed = context.workspace.transfer(found, &wanted, transfer);
    progress.iter_mut().for_each(Progress::finish);
    context.told(performed)
}

/// Which operation the command line names.
fn wanted(arguments: &UseArgs) -> Outcome<Use> {
    Ok(Use {
        primitive: arguments.primitive.clone(),
        operation: arguments.operation.clone(),
        variant: arguments.variant.clone(),
        parameters: Context::parameters(&arguments.parameters)?,
        engine: arguments.engine.map(Into::into),
        fused: arguments.fused.into(),
    })
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
            let bytes = string(text).map_err(|problem| Error::usage(format!("{option}: {problem}")))?;
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

/// Opens what `--in` says; an operation without an input has an empty one.
fn open_input(text: &str, spec: &OperationSpec) -> Outcome<MessageInput> {
    if spec.input(Role::Input).is_none() {
        return Ok(MessageInput::of_bytes("--in", Vec::new()));
    }
    match ports::source(text).map_err(|problem| Error::usage(format!("--in: {problem}")))? {
        Source::Bytes(given) => Ok(MessageInput::of_bytes("--in", given)),
        Source::Numbers(_) => Err(Error::usage("--in: a byte string comes from a path, `-`, hex: or text:")),
        Source::Standard => Ok(match standard_file() {
            Some((file, length)) => MessageInput::of_known("standard input", Box::new(file), length),
            None => MessageInput::of_unknown("standard input", Box::new(io::stdin())),
        }),
        Source::Path(path) => {
            let failed = |error: io::Error| Error::io(path.display(), &error);
            let file = File::open(&path).map_err(failed)?;
            let metadata = file.metadata().map_err(failed)?;
            if metadata.is_dir() {
                return Err(Error::wrong(format!("{}: is a folder", path.display())));
            }
            let name = path.display().to_string();
            // Files below /proc say that they are empty.
            Ok(match metadata.is_file() && metadata.len() > 0 {
                true => MessageInput::of_known(&name, Box::new(file), metadata.len()),
                false => MessageInput::of_unknown(&name, Box::new(file)),
            })
        }
    }
}

/// Standard input as a file with its length from here on, where it is a regular file.
#[cfg(unix)]
fn standard_file() -> Option<(File, u64)> {
    use std::os::fd::AsFd;
    let mut file = File::from(io::stdin().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() > 0)?;
    let at = file.stream_position().ok()?;
    Some((file, metadata.len().saturating_sub(at)))
}

#[cfg(not(unix))]
fn standard_file() -> Option<(File, u64)> {
    None
}

/// The folder in which an output will be, for what must be kept until then.
fn folder_of(destination: &Destination) -> Option<PathBuf> {
    match destination {
        Destination::Path(path) if path.as_os_str() != "-" && (path.is_file() || !path.exists()) => {
            Some(whole_file::folder_of(path).to_owned())
        }
        _ => None,
    }
}

/// Opens what takes the output.
fn receiver(destination: &Destination) -> headrace::Result<Box<dyn Receiver>> {
    match destination {
        Destination::Path(path) => Ok(Box::new(Output::create(path)?)),
        Destination::Hexadecimal => Ok(Box::new(HexadecimalLine)),
        Destination::Numbers => Err(headrace::Error::usage("--out: a byte string is written to a path, `-` or hex:")),
    }
}

impl Receiver for Output {
    fn seen(&self) -> Seen {
        match self {
            Output::File(file) if file.is_nameless() => Seen::Complete,
            Output::File(_) => Seen::UnderAnotherName,
            Output::Stream(..) | Output::Standard => Seen::AtOnce,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> headrace::Result {
        Output::write(self, bytes)
    }

    fn finish(self: Box<Self>) -> headrace::Result {
        self.commit()
    }
}

/// Hexadecimal digits on standard output.
struct HexadecimalLine;

impl Receiver for HexadecimalLine {
    fn seen(&self) -> Seen {
        Seen::AtOnceByAPerson
    }

    fn write(&mut self, bytes: &[u8]) -> headrace::Result {
        output::print(hexadecimal(bytes).as_bytes())
    }

    fn finish(self: Box<Self>) -> headrace::Result {
        output::print(b"\n")
    }
}
