//! What every engine offers: tokens in, run until nothing can fire, tokens out, and why it stopped.
//!
//! The interpreter and the native engine implement [`Engine`]; commands and tests drive either through it. What a
//! program does besides moving tokens (printing, the file natives of published programs) goes through a [`Host`], so
//! engines do no IO of their own.

mod host;
mod report;

pub use host::{CollectingHost, Host};
pub use report::{Blocked, Leftover, Report, Wait};

use headrace_source::Span;

/// A run-time error of the program: an index out of range, a division by zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trap {
    /// What happened, with the values: "index 16 is outside 0..15".
    pub message: String,
    /// Flat name of the instance.
    pub instance: String,
    /// Name of the action, or of the procedure that it called.
    pub action: String,
    /// The expression or statement, where the engine knows it.
    pub span: Option<Span>,
}

/// In one line.
impl std::fmt::Display for Trap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (in {}, {})", self.message, self.instance, self.action)
    }
}

/// Why `run` returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing can fire until tokens are written to inputs or taken from outputs.
    Idle,
    /// The limit on firings was reached.
    FiringLimit,
    /// The program called a native that ends it, with this status.
    Exited(i32),
}

/// A network that can be run.
///
/// Tokens cross the boundary in storage form, [`headrace_ir::Scalar::storage_bytes`] bytes each. Boundary FIFOs are
/// finite like all others, so a caller alternates `write`, `run` and `read` until nothing moves any more.
pub trait Engine {
    /// Writes as many of the tokens as there is room for to a network input and returns how many that was. An input that nothing
    /// reads takes all.
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize;

    /// Appends the tokens that wait at a network output to `tokens`, removes them, and returns how many that was.
    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize;

    /// Fires until nothing can fire or the limit is reached. After a trap the engine only reports.
    fn run(&mut self, max_firings: Option<u64>, host: &mut dyn Host) -> Result<Outcome, Trap>;

    /// What waits, for what, and which tokens are left.
    fn report(&self) -> Report;

    /// Firings so far: for each instance, for each action of its actor (initialisers not counted).
    fn firings(&self) -> Vec<Vec<u64>>;
}
