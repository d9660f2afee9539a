//! Moves tokens between an engine and the world outside until nothing moves any more.
//!
//! Boundary FIFOs are finite, so feeding alternates: write what there is room for, run, take what came out. Something
//! that may have to wait for others, such as a pipe, is only asked when nothing else can move, and whatever came out
//! until then is passed on first.

use crate::error::Result;
use crate::silence::Silence;
use headrace_engine::{Between, Boundary, Engine, Fed, Host, Outcome as Stop, Trap, alternate};
use headrace_ir::Network;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Stored tokens on their way into one network input. They are wiped at the end.
#[derive(Debug)]
pub struct Pending {
    tokens: Zeroizing<Vec<u8>>,
    at: usize,
    token_bytes: usize,
    /// True when a port was filled in beside what was given: what then remains undelivered is no one's loss.
    pub filled_in: bool,
}

impl Pending {
    /// Nothing waits yet; a stored token takes `token_bytes`.
    pub fn new(token_bytes: usize) -> Self {
        Self { tokens: Zeroizing::default(), at: 0, token_bytes, filled_in: false }
    }

    /// Appends stored tokens.
    pub fn push(&mut self, tokens: &[u8]) {
        self.buffer().extend_from_slice(tokens);
    }

    /// Appends stored tokens without a copy where nothing waits: `tokens` gets the memory that was here before. What is in it
    /// then says nothing.
    pub fn exchange(&mut self, tokens: &mut Vec<u8>) {
        if self.is_empty() {
            std::mem::swap(&mut *self.tokens, tokens);
            self.at = 0;
        } else {
            self.push(tokens);
        }
    }

    /// The buffer to append stored tokens to.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        if self.at == self.tokens.len() {
            self.tokens.clear();
            self.at = 0;
        } else if self.at > self.tokens.len() / 2 {
            self.tokens.drain(..self.at);
            self.at = 0;
        }
        &mut self.tokens
    }

    /// Bytes of stored tokens that wait.
    pub fn len(&self) -> usize {
        self.tokens.len() - self.at
    }

    /// True when nothing waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where the tokens of one or several network inputs come from.
pub trait Provider {
    /// The network inputs that it feeds. It is asked for more when nothing waits at any of them.
    fn inputs(&self) -> &[usize];

    /// True when asking may have to wait for someone outside.
    fn may_wait(&self) -> bool {
        false
    }

    /// Appends tokens to the inputs; false when there are no more.
    fn provide(&mut self, pending: &mut [Pending]) -> Result<bool>;
}

/// Where the tokens of a network output go.
pub trait Sink {
    /// Takes stored tokens.
    fn take(&mut self, tokens: &[u8]) -> Result;

    /// Makes what was taken visible, where that is possible before the end.
    fn flush(&mut self) -> Result {
        Ok(())
    }

    /// Completes what was taken after a run that ended well; gives a note, if there is something to say.
    fn finish(self: Box<Self>) -> Result<Option<String>> {
        Ok(None)
    }

    /// Shows what was taken after a run that did not end well, where that leaves no partial file.
    fn abandon(self: Box<Self>) -> Result {
        Ok(())
    }
}

/// Tokens that are known from the start.
#[derive(Debug)]
pub struct Fixed {
    input: [usize; 1],
    tokens: Vec<u8>,
}

impl Fixed {
    /// Stored tokens for a network input.
    pub fn new(input: usize, tokens: Vec<u8>) -> Self {
        Self { input: [input], tokens }
    }
}

impl Provider for Fixed {
    fn inputs(&self) -> &[usize] {
        &self.input
    }

    fn provide(&mut self, pending: &mut [Pending]) -> Result<bool> {
        pending[self.input[0]].push(&self.tokens);
        Ok(false)
    }
}

/// A sink that drops everything and counts it.
#[derive(Debug, Default)]
pub struct Dropped {
    /// Bytes of stored tokens.
    pub bytes: u64,
}

impl Sink for Dropped {
    fn take(&mut self, tokens: &[u8]) -> Result {
        self.bytes += tokens.len() as u64;
        Ok(())
    }
}

impl Sink for Vec<u8> {
    fn take(&mut self, tokens: &[u8]) -> Result {
        self.extend_from_slice(tokens);
        Ok(())
    }
}

/// How feeding ended.
#[derive(Debug)]
pub enum End {
    /// Nothing moves any more.
    Idle,
    /// The limit on firings was reached.
    FiringLimit,
    /// The program ended itself, with this status.
    Exited(i32),
    /// A run-time error of the program.
    Trapped(Trap),
}

/// What there is to say while tokens move: bytes of stored tokens delivered so far.
pub type Progress<'a> = &'a mut dyn FnMut(u64);

/// Everything that takes part.
pub struct Feed<'a> {
    /// One for each network input.
    pub pending: Vec<Pending>,
    /// Where tokens come from.
    pub providers: Vec<Box<dyn Provider + 'a>>,
    /// One for each network output.
    pub sinks: Vec<Box<dyn Sink + 'a>>,
    /// Most firings.
    pub max_firings: Option<u64>,
    /// Called before waiting for someone outside, after the sinks were flushed.
    pub before_waiting: Option<Box<dyn FnMut() -> Result + 'a>>,
    /// Told when the engine runs and when it returns.
    pub silence: Option<Silence>,
}

/// How often progress is told.
const PROGRESS_STEP: Duration = Duration::from_millis(100);

impl<'a> Feed<'a> {
    /// Nothing to feed yet; a sink is needed for each output.
    pub fn new(network: &Network) -> Self {
        let pending = network.inputs.iter().map(|port| Pending::new(port.ty.storage_bytes())).collect();
        Self {
            pending,
            providers: Vec::new(),
            sinks: Vec::new(),
            max_firings: None,
            before_waiting: None,
            silence: None,
        }
    }

    /// True when tokens that were given wait at an input.
    pub fn undelivered(&self) -> bool {
        self.pending.iter().any(|pending| !pending.filled_in && !pending.is_empty())
    }

    /// Feeds until nothing moves.
    pub fn drive(&mut self, engine: &mut dyn Engine, host: &mut dyn Host, progress: Progress) -> Result<End> {
        let mut waiting: Vec<usize> = (0..self.providers.len()).collect();
        let mut taken = Zeroizing::new(Vec::<u8>::new());
        let mut delivered = 0;
        let mut told = Instant::now();
        let max_firings = self.max_firings;
        loop {
            let mut failed = None;
            self.turn();
            let mut feed = |boundary: &mut dyn Boundary| {
                self.turn();
                let moved = self.exchange(boundary, &mut waiting, &mut delivered, &mut taken);
                if told.elapsed() > PROGRESS_STEP {
                    told = Instant::now();
                    progress(delivered);
                }
                self.turn();
                match moved {
                    Ok(true) => Fed::Something,
                    Ok(false) => Fed::Nothing,
                    Err(failure) => {
                        failed = Some(failure);
                        Fed::Stop
                    }
                }
            };
            let stop = match max_firings {
                None => engine.run_fed(host, &mut feed),
                Some(_) => alternate(engine, max_firings, host, &mut feed),
            };
            self.turn();
            if let Some(failure) = failed {
                return Err(failure);
            }
            let moved = self.take_all(&mut Between(engine), &mut taken)?;
            match stop {
                Err(trap) => return Ok(End::Trapped(trap)),
                Ok(Stop::Exited(status)) => return Ok(End::Exited(status)),
                Ok(Stop::FiringLimit) => return Ok(End::FiringLimit),
                Ok(Stop::Idle) => {}
            }
            if moved {
                continue;
            }
            let ready = |at: &usize| is_due(self.providers[*at].as_ref(), &self.pending);
            let Some(position) = waiting.iter().position(ready) else { return Ok(End::Idle) };
            for sink in &mut self.sinks {
                sink.flush()?;
            }
            if let Some(before_waiting) = &mut self.before_waiting {
                before_waiting()?;
            }
            if !self.providers[waiting[position]].provide(&mut self.pending)? {
                waiting.remove(position);
            }
        }
    }

    fn turn(&self) {
        self.silence.iter().for_each(Silence::turn);
    }

    /// Writes as much as there is room for, so that whoever fires has enough to do, and takes what came out. True when
    /// something moved.
    fn exchange(
        &mut self,
        boundary: &mut dyn Boundary,
        waiting: &mut Vec<usize>,
        delivered: &mut u64,
        taken: &mut Vec<u8>,
    ) -> Result<bool> {
        let mut moved = false;
        while self.give(boundary, waiting, delivered)? {
            moved = true;
        }
        Ok(self.take_all(boundary, taken)? || moved)
    }

    /// Asks whoever need not wait for others, and writes what there is room for. True when something moved.
    fn give(&mut self, boundary: &mut dyn Boundary, waiting: &mut Vec<usize>, delivered: &mut u64) -> Result<bool> {
        let mut moved = false;
        let mut failed = None;
        waiting.retain(|&at| {
            let provider = &mut self.providers[at];
            if failed.is_some() || provider.may_wait() || !is_due(provider.as_ref(), &self.pending) {
                return true;
            }
            match provider.provide(&mut self.pending) {
                Ok(more) => {
                    moved = true;
                    more
                }
                Err(failure) => {
                    failed = Some(failure);
                    false
                }
            }
        });
        if let Some(failure) = failed {
            return Err(failure);
        }
        for (input, pending) in self.pending.iter_mut().enumerate() {
            if !pending.is_empty() {
                let n_bytes = boundary.write(input, &pending.tokens[pending.at..]) * pending.token_bytes;
                pending.at += n_bytes;
                *delivered += n_bytes as u64;
                moved |= n_bytes > 0;
            }
        }
        Ok(moved)
    }

    fn take_all(&mut self, boundary: &mut dyn Boundary, taken: &mut Vec<u8>) -> Result<bool> {
        let mut moved = false;
        for (output, sink) in self.sinks.iter_mut().enumerate() {
            taken.clear();
            if boundary.read(output, taken) > 0 {
                moved = true;
                sink.take(taken)?;
            }
        }
        Ok(moved)
    }
}

fn is_due(provider: &dyn Provider, pending: &[Pending]) -> bool {
    provider.inputs().iter().all(|input| pending.get(*input).is_none_or(Pending::is_empty))
}

/// Firings of all actions so far.
pub fn count_firings(engine: &dyn Engine) -> u64 {
    engine.firings().iter().flatten().fold(0u64, |sum, n| sum.saturating_add(*n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::Report;
    use headrace_exchange::SilentHost;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Passes bytes on, four at a time, until it has passed `limit`.
    struct Pipe {
        waiting: Vec<u8>,
        ready: Vec<u8>,
        limit: usize,
    }

    impl Engine for Pipe {
        fn write(&mut self, _input: usize, tokens: &[u8]) -> usize {
            let room = 4 - self.waiting.len();
            let n = tokens.len().min(room);
            self.waiting.extend_from_slice(&tokens[..n]);
            n
        }

        fn read(&mut self, _output: usize, tokens: &mut Vec<u8>) -> usize {
            let n = self.ready.len();
            tokens.append(&mut self.ready);
            n
        }

        fn run(&mut self, _max_firings: Option<u64>, _host: &mut dyn Host) -> std::result::Result<Stop, Trap> {
            let n = self.waiting.len().min(4 - self.ready.len()).min(self.limit);
            self.limit -= n;
            self.ready.extend(self.waiting.drain(..n));
            Ok(Stop::Idle)
        }

        fn report(&self) -> Report {
            Report::default()
        }

        fn firings(&self) -> Vec<Vec<u64>> {
            Vec::new()
        }
    }

    /// Gives one byte a time, like a slow pipe, and notes how much had come out when it was asked.
    struct Slow {
        bytes: Vec<u8>,
        out: Rc<RefCell<Vec<u8>>>,
        seen: Rc<RefCell<Vec<usize>>>,
    }

    impl Provider for Slow {
        fn inputs(&self) -> &[usize] {
            &[0]
        }

        fn may_wait(&self) -> bool {
            true
        }

        fn provide(&mut self, pending: &mut [Pending]) -> Result<bool> {
            self.seen.borrow_mut().push(self.out.borrow().len());
            let Some(byte) = self.bytes.pop() else { return Ok(false) };
            pending[0].push(&[byte]);
            Ok(true)
        }
    }

    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Sink for Shared {
        fn take(&mut self, tokens: &[u8]) -> Result {
            self.0.borrow_mut().extend_from_slice(tokens);
            Ok(())
        }
    }

    fn feed<'a>(out: &Rc<RefCell<Vec<u8>>>) -> Feed<'a> {
        Feed {
            pending: vec![Pending::new(1)],
            providers: Vec::new(),
            sinks: vec![Box::new(Shared(out.clone()))],
            max_firings: None,
            before_waiting: None,
            silence: None,
        }
    }

    fn drive(feed: &mut Feed, limit: usize) -> End {
        let mut pipe = Pipe { waiting: Vec::new(), ready: Vec::new(), limit };
        feed.drive(&mut pipe, &mut SilentHost, &mut |_| {}).expect("nothing fails")
    }

    #[test]
    fn everything_passes_small_fifos() {
        let out = Rc::default();
        let mut feed = feed(&out);
        let bytes: Vec<u8> = (0..=255).collect();
        feed.providers.push(Box::new(Fixed::new(0, bytes.clone())));
        assert!(matches!(drive(&mut feed, usize::MAX), End::Idle));
        assert_eq!(*out.borrow(), bytes);
        assert!(!feed.undelivered());
    }

    #[test]
    fn what_is_not_taken_is_undelivered() {
        let out = Rc::default();
        let mut feed = feed(&out);
        feed.providers.push(Box::new(Fixed::new(0, vec![7; 100])));
        drive(&mut feed, 10);
        assert_eq!(out.borrow().len(), 10);
        assert!(feed.undelivered());
        feed.pending[0].filled_in = true;
        assert!(!feed.undelivered());
    }

    #[test]
    fn a_pipe_is_asked_only_when_all_has_come_out() {
        let out: Rc<RefCell<Vec<u8>>> = Rc::default();
        let seen = Rc::default();
        let mut feed = feed(&out);
        feed.providers.push(Box::new(Slow { bytes: vec![3, 2, 1], out: out.clone(), seen: Rc::clone(&seen) }));
        drive(&mut feed, usize::MAX);
        assert_eq!(*out.borrow(), [1, 2, 3]);
        assert_eq!(*seen.borrow(), [0, 1, 2, 3]);
    }
}
