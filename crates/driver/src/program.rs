//! The world of a program that `headrace run` runs: standard output, and the files of the published natives.

use crate::cli::RunArgs;
use crate::failure::Outcome;
use crate::output::{self, Output};
use crate::pictures::Pictures;
use headrace::Error;
use headrace::reading::read_at_most;
use headrace_engine::{Argument, Host, Picture};
use headrace_native::Supplied;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the written file that are kept back.
const BUFFER_BYTES: usize = 1 << 16;

/// Largest file that the natives of published programs read.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// Most complaints that are kept.
const MAX_COMPLAINTS: usize = 100;

/// A file that is read when it is first asked for.
#[derive(Debug)]
struct Lazy {
    path: Option<PathBuf>,
    option: &'static str,
    content: Option<Vec<u8>>,
}

impl Lazy {
    fn new(path: Option<&Path>, option: &'static str) -> Self {
        Self { path: path.map(Path::to_owned), option, content: None }
    }

    fn get(&mut self) -> Result<&[u8], String> {
        let path = self.path.as_ref().ok_or_else(|| format!("the program reads a file; {} names it", self.option))?;
        if self.content.is_none() {
            self.content = Some(read_at_most(path, MAX_FILE_BYTES)?);
        }
        Ok(self.content.as_deref().unwrap_or_default())
    }
}

/// The host of `headrace run`.
#[derive(Debug)]
pub struct ProgramHost {
    source: Lazy,
    loops: u32,
    golden: Lazy,
    writer: Option<Output>,
    written: Vec<u8>,
    pictures: Option<Pictures>,
    n_pictures: Option<u32>,
    supplied: Option<Arc<Supplied>>,
    complaints: RefCell<Vec<String>>,
    n_complaints: Cell<usize>,
}

impl ProgramHost {
    /// The host for a command line.
    pub fn open(arguments: &RunArgs) -> Outcome<Self> {
        Ok(Self {
            source: Lazy::new(arguments.source.as_deref(), "--source FILE"),
            loops: arguments.loops,
            golden: Lazy::new(arguments.golden.as_deref(), "--golden FILE"),
            writer: arguments.writer.as_deref().map(Output::create).transpose()?,
            written: Vec::new(),
            pictures: arguments.video.as_deref().map(Pictures::create).transpose()?,
            n_pictures: arguments.frames,
            supplied: None,
            complaints: RefCell::default(),
            n_complaints: Cell::new(0),
        })
    }

    /// Natives of the user, which are called through this host.
    pub fn supply(&mut self, supplied: Arc<Supplied>) {
        self.supplied = Some(supplied);
    }

    /// Takes the complaints so far.
    pub fn complaints(&self) -> Vec<String> {
        let mut taken = std::mem::take(&mut *self.complaints.borrow_mut());
        let more = self.n_complaints.get().saturating_sub(MAX_COMPLAINTS);
        if more > 0 {
            taken.push(format!("… and {more} more"));
        }
        taken
    }

    /// Makes the written file appear. True when there were complaints: a comparison failed.
    pub fn finish(mut self) -> Outcome<bool> {
        self.pass_on().map_err(Error::wrong)?;
        if let Some(writer) = self.writer.take() {
            writer.commit()?;
        }
        if let Some(pictures) = self.pictures.take() {
            pictures.finish()?;
        }
        Ok(self.n_complaints.get() > 0)
    }

    /// Makes what was printed visible.
    fn show(&mut self) {
        end_unless(output::flush_standard().is_ok());
    }

    fn pass_on(&mut self) -> Result<(), String> {
        if let Some(writer) = &mut self.writer {
            writer.write(&self.written).map_err(|error| error.to_string())?;
        }
        self.written.clear();
        Ok(())
    }
}

/// Ends the command when nobody reads what the program prints any more: there is no reason to go on.
fn end_unless(is_read: bool) {
    if !is_read {
        output::remove_unfinished();
        std::process::exit(1);
    }
}

impl Host for ProgramHost {
    fn print(&mut self, bytes: &[u8]) {
        // Whoever reads along sees it at once; of a file, nobody expects it before the end.
        let printed = output::print(bytes);
        let printed = if output::prints_to_file() { printed } else { printed.and_then(|()| output::flush_standard()) };
        end_unless(printed.is_ok());
    }

    fn source(&mut self) -> Result<&[u8], String> {
        self.source.get()
    }

    fn source_loops(&self) -> u32 {
        self.loops
    }

    fn has_writer(&self) -> bool {
        self.writer.is_some()
    }

    fn picture(&mut self, picture: &Picture<'_>) -> Result<(), String> {
        self.pictures.as_mut().map_or(Ok(()), |pictures| pictures.add(picture))
    }

    fn n_pictures(&self) -> Option<u32> {
        self.n_pictures
    }

    fn before_supplied(&mut self) {
        self.show();
    }

    fn call_supplied(&mut self, name: &str, arguments: &mut [Argument<'_>]) -> Result<Argument<'static>, String> {
        self.show();
        let supplied = self.supplied.clone().ok_or_else(|| format!("nobody supplies the native `{name}`"))?;
        supplied.call(name, arguments)
    }

    fn writer_write(&mut self, byte: u8) -> Result<(), String> {
        if self.writer.is_none() {
            return Err("the program writes a file; --writer FILE names it".into());
        }
        self.written.push(byte);
        if self.written.len() >= BUFFER_BYTES { self.pass_on() } else { Ok(()) }
    }

    fn golden(&mut self) -> Result<&[u8], String> {
        self.golden.get()
    }

    fn complain(&mut self, message: &str) {
        self.n_complaints.set(self.n_complaints.get() + 1);
        let mut complaints = self.complaints.borrow_mut();
        if complaints.len() < MAX_COMPLAINTS {
            complaints.push(message.to_owned());
        }
    }
}
