//! A contest: contenders that process the same message take turns, and every turn is timed in cycles of the core.

use crate::contender::{Buffer, PAGE, Prepared, ROOM_BYTES};
use crate::program::Program;
use crate::{cycles, measure};
use std::time::Instant;

/// How long a turn should take at least, in seconds: long enough for the clock, short enough to fit between interruptions.
const TURN_SECONDS: f64 = 100e-6;
/// Attempts of a turn, of which the fastest counts; one that takes longer than [`LONG_TURN_SECONDS`] is timed once more, by
/// the time of the processor.
const ATTEMPTS: usize = 3;
/// See [`ATTEMPTS`].
const LONG_TURN_SECONDS: f64 = 2e-3;
/// What all turns of a contender may take, in seconds: slower ones have fewer, but not fewer than [`LEAST_PAIRS`].
const CONTENDER_SECONDS: f64 = 0.5;
/// See [`CONTENDER_SECONDS`].
const LEAST_PAIRS: usize = 5;
/// How far the output of a message lies behind its input, in bytes of a page. The same for all: where the two are at about the same
/// place of a page, loads wait for stores that have nothing to do with them, one contender's more than another's.
pub const APART: usize = PAGE / 2;

/// Where in a page the input of a message begins: side by side, so that the same places of many messages are in different sets of
/// the cache.
fn place(message: usize) -> usize {
    message * 64 % APART
}

/// What a contender processes in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Bytes of a message.
    pub bytes: usize,
    /// Messages at once; 1 takes the way for one message.
    pub messages: usize,
    /// Bytes of the pieces that one message is given in; 0: it is given whole.
    pub piece: usize,
}

/// Times of a contender.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// Seconds of a run, by pair.
    pub seconds: Vec<f64>,
    /// Cycles of a run, by pair.
    pub cycles: Vec<f64>,
}

/// One of those who take turns.
#[derive(Debug)]
pub struct Entrant {
    /// The operation with its key.
    pub prepared: Prepared,
    outputs: Vec<Buffer>,
    output_pointers: Vec<*mut u8>,
}

impl Entrant {
    /// One with room for results of `output_bytes`.
    pub fn new(prepared: Prepared, output_bytes: usize, messages: usize) -> Self {
        let mut outputs: Vec<Buffer> =
            (0..messages).map(|message| Buffer::new(output_bytes + ROOM_BYTES, APART + place(message))).collect();
        let output_pointers = outputs.iter_mut().map(|buffer| buffer.bytes_mut().as_mut_ptr()).collect();
        Self { prepared, outputs, output_pointers }
    }

    /// One run. Gives the bytes that came out of each message.
    fn run(&mut self, inputs: &Inputs, load: Load) -> Option<usize> {
        match (load.messages, self.outputs.as_mut_slice()) {
            (1, [output, ..]) if load.piece > 0 => {
                self.prepared.run_pieces(inputs.first(load.bytes)?, output.bytes_mut(), load.piece)
            }
            (1, [output, ..]) => self.prepared.run(inputs.first(load.bytes)?, output.bytes_mut()),
            // SAFETY: the inputs have that many bytes each, and the outputs were made with the room for it.
            (_, _) => unsafe { self.prepared.run_many(&inputs.pointers, &self.output_pointers, load.bytes) },
        }
    }

    /// One run; the results of all messages.
    pub fn results(&mut self, inputs: &Inputs, load: Load) -> Option<Vec<Vec<u8>>> {
        let n = self.run(inputs, load)?;
        self.outputs.iter().map(|output| output.bytes().get(..n).map(<[u8]>::to_vec)).collect()
    }
}

/// The messages that all contenders process.
#[derive(Debug)]
pub struct Inputs {
    buffers: Vec<Buffer>,
    pointers: Vec<*const u8>,
}

impl Inputs {
    /// These messages, each in a buffer of its own.
    pub fn new(messages: &[Vec<u8>]) -> Self {
        let buffers: Vec<Buffer> = messages
            .iter()
            .enumerate()
            .map(|(at, message)| {
                let mut buffer = Buffer::new(message.len(), place(at));
                buffer.bytes_mut().copy_from_slice(message);
                buffer
            })
            .collect();
        let pointers = buffers.iter().map(|buffer| buffer.bytes().as_ptr()).collect();
        Self { buffers, pointers }
    }

    /// The first `n_bytes` of the first message.
    pub fn first(&self, n_bytes: usize) -> Option<&[u8]> {
        self.buffers.first()?.bytes().get(..n_bytes)
    }
}

/// Seconds and cycles of one run with one message, after another that is not counted.
pub fn timed_once(prepared: Prepared, message: &[u8]) -> Option<(f64, f64)> {
    let load = Load { bytes: message.len(), messages: 1, piece: 0 };
    let inputs = Inputs::new(&[message.to_vec()]);
    let mut entrant = Entrant::new(prepared, 2 * message.len(), 1);
    batch(&mut entrant, &inputs, load, 1)?;
    batch(&mut entrant, &inputs, load, 1)
}

/// Bytes without a pattern, the same each time.
pub fn noise(n_bytes: usize, seed: u64) -> Vec<u8> {
    // Marsaglia's xorshift of 64 bits.
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n_bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// Seconds and cycles of one run, from a batch of them.
fn batch(entrant: &mut Entrant, inputs: &Inputs, load: Load, n_runs: usize) -> Option<(f64, f64)> {
    let start = Instant::now();
    for _ in 0..n_runs {
        entrant.run(inputs, load)?;
    }
    let seconds = start.elapsed().as_secs_f64() / n_runs as f64;
    Some((seconds, seconds * cycles::hertz()))
}

/// The same for batches that are longer than the system leaves a thread alone: only what it ran counts.
fn long_batch(entrant: &mut Entrant, inputs: &Inputs, load: Load) -> Option<(f64, f64)> {
    let before = cycles::hertz();
    let start = measure::seconds();
    entrant.run(inputs, load)?;
    let seconds = (measure::seconds() - start).max(f64::MIN_POSITIVE);
    Some((seconds, seconds * before.max(cycles::hertz())))
}

/// One of those who take turns, loaded or a program of its own.
#[derive(Debug)]
pub enum Side {
    /// In this process, with the message that it is given.
    Loaded(Entrant, Inputs, Load),
    /// A program, which has the message.
    Program(Program),
}

impl Side {
    /// Seconds of so many runs; `None` when one fails.
    fn seconds(&mut self, n_runs: usize) -> Option<f64> {
        match self {
            Side::Loaded(entrant, inputs, load) => {
                batch(entrant, inputs, *load, n_runs).map(|(seconds, _)| seconds * n_runs as f64)
            }
            Side::Program(program) => program.seconds(n_runs).ok(),
        }
    }

    /// What comes of the message; `None` when it fails.
    pub fn result(&mut self) -> Option<Vec<u8>> {
        match self {
            Side::Loaded(entrant, inputs, load) => entrant.results(inputs, *load)?.into_iter().next(),
            Side::Program(program) => program.result().ok(),
        }
    }
}

/// How long a turn should take where programs take part, in seconds: what they do beside their work, to free memory, is part
/// of most turns.
const LONG_TURN: f64 = 5e-3;

/// Lets sides of both kinds take turns, `pairs` times, each turn the fastest of some attempts. Programs are warm already. One
/// that fails has no times.
pub fn hold_sides(sides: &mut [&mut Side], pairs: usize) -> Vec<Times> {
    let mut times = vec![Times::default(); sides.len()];
    let needed = |side: &mut &mut Side| {
        let seconds = side.seconds(1).and_then(|_| side.seconds(1))?;
        Some((LONG_TURN / seconds.max(1e-9)).ceil().clamp(1.0, 1e6) as usize)
    };
    let mut n_runs: Vec<Option<usize>> = sides.iter_mut().map(needed).collect();
    for _ in 0..pairs {
        for ((side, times), n_runs) in sides.iter_mut().zip(&mut times).zip(&mut n_runs) {
            let Some(n) = *n_runs else { continue };
            let attempts: Option<Vec<f64>> = (0..ATTEMPTS).map(|_| side.seconds(n)).collect();
            match attempts {
                Some(attempts) => {
                    let seconds = measure::least(&attempts) / n as f64;
                    times.seconds.push(seconds);
                    times.cycles.push(seconds * cycles::hertz());
                }
                None => {
                    *times = Times::default();
                    *n_runs = None;
                }
            }
        }
    }
    times
}

/// Lets all take turns, `pairs` times where they are fast enough; every one has as many turns. One that fails has no times.
pub fn hold(entrants: &mut [Entrant], inputs: &Inputs, load: Load, pairs: usize) -> Vec<Times> {
    let mut slowest = 0.0_f64;
    let mut times = vec![Times::default(); entrants.len()];
    let mut running: Vec<(usize, usize)> = Vec::with_capacity(entrants.len());
    for (at, entrant) in entrants.iter_mut().enumerate() {
        // Once to be warm, once to know how long it takes.
        let warm = batch(entrant, inputs, load, 1).and_then(|_| batch(entrant, inputs, load, 1));
        let Some((seconds, _)) = warm else { continue };
        running.push((at, (TURN_SECONDS / seconds.max(1e-9)).ceil().clamp(1.0, 1e6) as usize));
        slowest = slowest.max(seconds);
    }
    let affordable = (CONTENDER_SECONDS / slowest.max(1e-9)) as usize;
    for _ in 0..pairs.min(affordable.max(LEAST_PAIRS)) {
        running.retain(|(at, n_runs)| {
            let (Some(entrant), Some(times)) = (entrants.get_mut(*at), times.get_mut(*at)) else { return false };
            let Some((seconds, cycles)) = turn(entrant, inputs, load, *n_runs) else {
                *times = Times::default();
                return false;
            };
            times.seconds.push(seconds);
            times.cycles.push(cycles);
            true
        });
    }
    times
}

/// The fastest of some attempts.
fn turn(entrant: &mut Entrant, inputs: &Inputs, load: Load, n_runs: usize) -> Option<(f64, f64)> {
    let first = batch(entrant, inputs, load, n_runs)?;
    if first.0 * n_runs as f64 > LONG_TURN_SECONDS {
        return long_batch(entrant, inputs, load);
    }
    let mut best = first;
    for _ in 1..ATTEMPTS {
        let time = batch(entrant, inputs, load, n_runs)?;
        if time.1 < best.1 {
            best = time;
        }
    }
    Some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_the_same_each_time_and_differs_by_seed() {
        assert_eq!(noise(100, 1), noise(100, 1));
        assert_ne!(noise(100, 1), noise(100, 2));
        assert_eq!(noise(200, 5)[..100], noise(100, 5));
    }
}
