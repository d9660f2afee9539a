//! Where the tokens of network outputs go: files, pipes, the terminal, as bytes, hexadecimal digits or numbers.

use crate::output::{self, Output};
use headrace::error::{Error, Result};
use headrace::feed::Sink;
use headrace::tokens::{Encoder, Encoding, show_number};
use headrace_ir::Scalar;
use std::cell::RefCell;
use std::rc::Rc;

/// An output that several parts hold; [`SharedOutput::commit`] makes it appear.
#[derive(Clone, Debug)]
pub struct SharedOutput(Rc<RefCell<Option<Output>>>);

impl SharedOutput {
    /// Shares an output.
    pub fn new(output: Output) -> Self {
        Self(Rc::new(RefCell::new(Some(output))))
    }

    /// Writes bytes; nothing once it was committed.
    pub fn write(&self, bytes: &[u8]) -> Result {
        self.0.borrow_mut().as_mut().map_or(Ok(()), |output| output.write(bytes))
    }

    /// Makes what was written appear.
    pub fn commit(&self) -> Result {
        self.0.borrow_mut().take().map_or(Ok(()), Output::commit)
    }

    /// True when what is written is seen at once.
    pub fn is_stream(&self) -> bool {
        self.0.borrow().as_ref().is_some_and(Output::is_stream)
    }
}

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 1 << 16;

/// Tokens as bytes to an output.
#[derive(Debug)]
pub struct ByteSink {
    output: SharedOutput,
    encoder: Encoder,
    buffer: Vec<u8>,
}

impl ByteSink {
    /// A sink for tokens of this encoding.
    pub fn new(output: SharedOutput, encoding: Encoding) -> Self {
        Self { output, encoder: Encoder::new(encoding), buffer: Vec::new() }
    }

    fn write(&mut self) -> Result {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written = self.output.write(&self.buffer);
        self.buffer.clear();
        written
    }
}

impl Sink for ByteSink {
    fn take(&mut self, tokens: &[u8]) -> Result {
        if tokens.len() >= BUFFER_BYTES && self.encoder.is_identity() {
            self.write()?;
            return self.output.write(tokens);
        }
        self.encoder.encode(tokens, &mut self.buffer);
        if self.buffer.len() >= BUFFER_BYTES { self.write() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result {
        self.write()?;
        if self.output.is_stream() { output::flush_standard() } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<Option<String>> {
        let filling = self.encoder.finish(&mut self.buffer);
        self.write()?;
        self.output.commit()?;
        Ok((filling > 0).then(|| format!("the last byte was filled up with {filling} zero bits")))
    }

    fn abandon(mut self: Box<Self>) -> Result {
        if self.output.is_stream() { self.flush() } else { Ok(()) }
    }
}

/// Tokens as a line of hexadecimal digits or numbers on standard output. A line alone is printed as the tokens come;
/// one of several, at the end.
#[derive(Debug)]
pub struct LineSink {
    encoder: Encoder,
    scalar: Scalar,
    numbers: bool,
    /// What stands before the line when there are several.
    label: Option<String>,
    text: String,
    n_tokens: u64,
}

/// Longest line that is kept until the end, in bytes.
const MAX_LINE_BYTES: usize = 1 << 28;

impl LineSink {
    /// A sink that prints numbers, or else hexadecimal digits, after a label if there is one.
    pub fn new(encoding: Encoding, numbers: bool, label: Option<String>) -> Self {
        let text = label.as_ref().map(|label| format!("{label}=")).unwrap_or_default();
        Self { encoder: Encoder::new(encoding), scalar: encoding.scalar(), numbers, label, text, n_tokens: 0 }
    }

    fn print(&mut self) -> Result {
        output::print(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}

impl Sink for LineSink {
    fn take(&mut self, tokens: &[u8]) -> Result {
        if self.numbers {
            for token in tokens.chunks_exact(self.scalar.storage_bytes().max(1)) {
                if self.n_tokens > 0 {
                    self.text.push(',');
                }
                self.text.push_str(&show_number(token, self.scalar));
                self.n_tokens += 1;
            }
        } else {
            let mut bytes = Vec::new();
            self.encoder.encode(tokens, &mut bytes);
            self.text.push_str(&hexadecimal(&bytes));
        }
        match &self.label {
            None if self.text.len() >= BUFFER_BYTES => self.print(),
            Some(label) if self.text.len() > MAX_LINE_BYTES => {
                Err(Error::wrong(format!("{label} gives too much for a line; `--out {label}=FILE` takes it")))
            }
            _ => Ok(()),
        }
    }

    fn flush(&mut self) -> Result {
        if self.label.is_some() {
            return Ok(());
        }
        self.print()?;
        output::flush_standard()
    }

    fn finish(mut self: Box<Self>) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let filling = self.encoder.finish(&mut bytes);
        self.text.push_str(&hexadecimal(&bytes));
        self.text.push('\n');
        self.print()?;
        Ok((filling > 0).then(|| format!("the last byte was filled up with {filling} zero bits")))
    }

    fn abandon(self: Box<Self>) -> Result {
        self.finish().map(|_| ())
    }
}

/// Lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|nibble| char::from(DIGITS[usize::from(nibble)])).collect()
}
