//! Files of traces: every firing and token, as JSON lines or as a value change dump.

use crate::output::Output;
use headrace::error::{Error, Result};
use headrace_interp::trace::{JsonLines, TraceSink, ValueChangeDump};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file of a trace.
#[derive(Debug)]
pub struct Trace {
    file: SharedFile,
    /// Its ending decides the form.
    path: PathBuf,
}

impl Trace {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<Self> {
        let output = Output::create(path)?;
        Ok(Self { file: SharedFile(Arc::new(Mutex::new(Some(output)))), path: path.to_owned() })
    }

    /// What hears of firings and writes to it.
    ///
    /// # Errors
    ///
    /// No form has that ending.
    pub fn sink(&self) -> Result<Box<dyn TraceSink>> {
        let out = BufWriter::new(self.file.clone());
        match self.path.extension().and_then(|ending| ending.to_str()) {
            Some("vcd") => Ok(Box::new(ValueChangeDump::new(out))),
            Some("json" | "jsonl") => Ok(Box::new(JsonLines::new(out))),
            _ => Err(Error::usage("--trace: the file must end in .json, .jsonl or .vcd")),
        }
    }

    /// Makes it appear.
    pub fn commit(&self) -> Result {
        let output = self.file.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        output.map_or(Ok(()), Output::commit)
    }
}

/// The file, held by the one who writes it and the one who makes it appear.
#[derive(Clone, Debug)]
struct SharedFile(Arc<Mutex<Option<Output>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut output = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match output.as_mut() {
            Some(output) => {
                output.write(bytes).map(|()| bytes.len()).map_err(|failure| io::Error::other(failure.to_string()))
            }
            None => Err(io::Error::other("the trace is complete already")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
