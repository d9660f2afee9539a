//! Release of what an operation gives: at once, or when the message has been verified.

use crate::failure::{Failure, Outcome};
use crate::output::{self, Output};
use crate::ports::Destination;
use crate::sinks::hexadecimal;
use crate::spool::{IN_MEMORY_BYTES, Spool};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::manifest::Shape;
use std::path::Path;

/// The output of one message.
pub struct Release {
    to: To,
    held: Spool,
    hold: Hold,
}

/// Where it goes.
enum To {
    Output(Output),
    /// Hexadecimal digits on standard output.
    Line,
}

/// Until when it is kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// It is passed on as it comes.
    No,
    /// It is passed on as soon as it is more than a little, so that most wrong inputs yield nothing at all.
    Little,
    /// It is passed on when the message turns out to be right.
    All,
}

impl Release {
    /// The output of an operation, which has still to be verified where the operation does so. What is decoded holds no
    /// secret of anybody who could forge it, so a pipe gets it before its end is there, as from other decoders.
    pub fn open(destination: &Destination, spec: &OperationSpec, beside: Option<&Path>) -> Outcome<Self> {
        let to = match destination {
            Destination::Path(path) => To::Output(Output::create(path)?),
            Destination::Hexadecimal => To::Line,
            Destination::Numbers => {
                return Err(Failure::usage("--out: a byte string is written to a path, `-` or hex:"));
            }
        };
        let decodes = spec.shape == Shape::Codec;
        // A file appears when it is whole; what has no name until then can have in it what is not verified yet. What comes
        // before the output in it must be known before it, though.
        let unseen = |file: &crate::whole_file::WholeFile| {
            (decodes || file.is_nameless()) && spec.output(Role::SecretNonceOut).is_none()
        };
        let hold = match &to {
            To::Output(Output::File(file)) if !spec.verifies || unseen(file) => Hold::No,
            To::Output(Output::Stream(..) | Output::Standard) if !spec.verifies => Hold::No,
            _ if spec.verifies && !decodes => Hold::All,
            _ => Hold::Little,
        };
        Ok(Self { to, held: Spool::new(beside), hold })
    }

    /// Takes what comes.
    pub fn write(&mut self, bytes: &[u8]) -> Outcome {
        match self.hold {
            Hold::No => self.to.write(bytes),
            Hold::All => self.held.write(bytes),
            Hold::Little if self.held.len() + (bytes.len() as u64) <= IN_MEMORY_BYTES as u64 => self.held.write(bytes),
            Hold::Little => {
                self.release()?;
                self.to.write(bytes)
            }
        }
    }

    /// Passes on what was kept back; what comes then is passed on at once. What goes before it can be written now.
    pub fn release(&mut self) -> Outcome {
        self.hold = Hold::No;
        let to = &mut self.to;
        self.held.release(|bytes| to.write(bytes))
    }

    /// Writes before what is kept back.
    pub fn write_ahead(&mut self, bytes: &[u8]) -> Outcome {
        self.to.write(bytes)
    }

    /// Whether anything may have been seen already.
    pub fn is_seen(&self) -> bool {
        self.hold == Hold::No && !matches!(self.to, To::Output(Output::File(_)))
    }

    /// Completes it.
    pub fn finish(mut self) -> Outcome {
        self.release()?;
        match self.to {
            To::Output(output) => output.commit(),
            To::Line => output::print(b"\n"),
        }
    }
}

impl To {
    fn write(&mut self, bytes: &[u8]) -> Outcome {
        match self {
            To::Output(output) => output.write(bytes),
            To::Line => output::print(hexadecimal(bytes).as_bytes()),
        }
    }
}
