//! What every engine offers: tokens in, run until nothing can fire, tokens out, and why it stopped.
//!
//! The interpreter and the native engine implement [`Engine`]; commands and tests drive either through it. What a
//! program does besides moving tokens (printing, the file natives of published programs) goes through a [`Host`], so
//! engines do no IO of their own.

mod host;
mod profile;
mod report;

pub use host::{Argument, CollectingHost, Host, Layout, Picture};
pub use profile::Profile;
pub use report::{Blocked, Leftover, Report, Wait};

pub mod texts;

use headrace_ir::Network;
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

    /// Feeds and fires until `feed` has nothing to move and nothing can fire. `feed` is called again and again, by this
    /// thread; an engine with threads of its own fires meanwhile.
    fn run_fed(
        &mut self,
        host: &mut dyn Host,
        feed: &mut dyn FnMut(&mut dyn Boundary) -> Fed,
    ) -> Result<Outcome, Trap> {
        alternate(self, None, host, feed)
    }

    /// What waits, for what, and which tokens are left.
    fn report(&self) -> Report;

    /// Firings so far: for each instance, for each action of its actor (initialisers not counted).
    fn firings(&self) -> Vec<Vec<u64>>;

    /// What was measured so far, where the engine was started to measure.
    fn profile(&self) -> Option<Profile> {
        None
    }
}

/// The inputs and outputs of a network, for whoever feeds it while it runs.
pub trait Boundary {
    /// As [`Engine::write`].
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize;

    /// As [`Engine::read`].
    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize;
}

/// What whoever feeds a network has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fed {
    /// Tokens were moved, or there are new ones to move.
    Something,
    /// There is nothing to move: no tokens, no room, or only tokens that others have to bring first.
    Nothing,
    /// The run is to end now.
    Stop,
}

/// Feeds and fires by turns: [`Engine::run_fed`] in one thread, with at most so many firings in all since the beginning.
///
/// # Errors
///
/// As [`Engine::run`].
pub fn alternate<E: Engine + ?Sized>(
    engine: &mut E,
    max_firings: Option<u64>,
    host: &mut dyn Host,
    feed: &mut dyn FnMut(&mut dyn Boundary) -> Fed,
) -> Result<Outcome, Trap> {
    let mut first = true;
    loop {
        match feed(&mut Between(engine)) {
            Fed::Stop => return Ok(Outcome::Idle),
            // What the last run left to take has been taken.
            Fed::Nothing if !first => return Ok(Outcome::Idle),
            Fed::Nothing | Fed::Something => {}
        }
        first = false;
        let done = || engine.firings().iter().flatten().sum();
        let left = max_firings.map(|most| most.saturating_sub(done()));
        match engine.run(left, host)? {
            Outcome::Idle => {}
            other => return Ok(other),
        }
    }
}

/// Gives a network all tokens that wait at its inputs, in storage form, and appends what comes out at its outputs, until nothing
/// moves any more. What is left in `waiting` found no room.
///
/// # Errors
///
/// As [`Engine::run`].
pub fn exhaust<E: Engine + ?Sized>(
    engine: &mut E,
    network: &Network,
    waiting: &mut [Vec<u8>],
    outputs: &mut [Vec<u8>],
    host: &mut dyn Host,
) -> Result<Outcome, Trap> {
    engine.run_fed(host, &mut |boundary| {
        let mut moved = 0;
        for (port, tokens) in waiting.iter_mut().enumerate() {
            let written = boundary.write(port, tokens);
            tokens.drain(..written * network.inputs[port].ty.storage_bytes());
            moved += written;
        }
        moved += outputs.iter_mut().enumerate().map(|(port, all)| boundary.read(port, all)).sum::<usize>();
        if moved == 0 { Fed::Nothing } else { Fed::Something }
    })
}

/// An engine that is fed between runs.
#[derive(Debug)]
pub struct Between<'a, E: ?Sized>(pub &'a mut E);

impl<E: Engine + ?Sized> Boundary for Between<'_, E> {
    fn write(&mut self, input: usize, tokens: &[u8]) -> usize {
        self.0.write(input, tokens)
    }

    fn read(&mut self, output: usize, tokens: &mut Vec<u8>) -> usize {
        self.0.read(output, tokens)
    }
}
