//! Release of what an operation gives: at once, or when the message has been verified.

use crate::error::Result;
use crate::spool::{IN_MEMORY_BYTES, Spool};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::manifest::Shape;
use std::path::PathBuf;

/// When somebody sees what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// When it is complete: until then it has no name.
    Complete,
    /// When it is complete, but whoever looks finds it before under another name.
    UnderAnotherName,
    /// At once, by a program.
    AtOnce,
    /// At once, by a person.
    AtOnceByAPerson,
}

/// Where the output of a message goes.
pub trait Receiver {
    /// When somebody sees it.
    fn seen(&self) -> Seen;

    /// Takes further bytes.
    ///
    /// # Errors
    ///
    /// They cannot be written, or nobody wants them any more.
    fn write(&mut self, bytes: &[u8]) -> Result;

    /// Completes it. A message that came to no good end is never completed.
    ///
    /// # Errors
    ///
    /// As of [`Receiver::write`].
    fn finish(self: Box<Self>) -> Result;
}

/// The output of one message.
pub struct Release {
    to: Box<dyn Receiver>,
    held: Spool,
    hold: Hold,
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
    /// The output of an operation, which has still to be verified where the operation does so; what is kept back goes to a
    /// file in one of `places` if it is much. What is decoded holds no secret of anybody who could forge it, so a pipe gets
    /// it before its end is there, as from other decoders.
    pub fn new(to: Box<dyn Receiver>, spec: &OperationSpec, places: &[PathBuf]) -> Self {
        let decodes = spec.shape == Shape::Codec;
        // What comes before the output must be known before it.
        let ahead = spec.output(Role::SecretNonceOut).is_some();
        let hold = match to.seen() {
            Seen::Complete if !spec.verifies || !ahead => Hold::No,
            Seen::UnderAnotherName if !spec.verifies || (decodes && !ahead) => Hold::No,
            Seen::AtOnce if !spec.verifies => Hold::No,
            _ if spec.verifies && !decodes => Hold::All,
            _ => Hold::Little,
        };
        Self { to, held: Spool::new(places), hold }
    }

    /// Takes what comes.
    pub fn write(&mut self, bytes: &[u8]) -> Result {
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
    pub fn release(&mut self) -> Result {
        self.hold = Hold::No;
        let to = &mut self.to;
        self.held.release(|bytes| to.write(bytes))
    }

    /// Writes before what is kept back.
    pub fn write_ahead(&mut self, bytes: &[u8]) -> Result {
        self.to.write(bytes)
    }

    /// Whether anything may have been seen already.
    pub fn is_seen(&self) -> bool {
        self.hold == Hold::No && matches!(self.to.seen(), Seen::AtOnce | Seen::AtOnceByAPerson)
    }

    /// Completes it.
    pub fn finish(mut self) -> Result {
        self.release()?;
        self.to.finish()
    }
}
