//! The runs of the interpreter: one to judge by, and others that must show the same.

use super::observe::{Observed, Stopped, difference, observe};
use super::verdict::{Kind, Verdict};
use crate::generate::Stream;
use crate::rng::Rng;
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use std::sync::Arc;

/// Steps of one firing after which it is taken not to end.
const MOST_STEPS: u64 = 50_000_000;

/// Runs the network once.
pub fn interpret(
    network: &Arc<Network>,
    streams: &[Stream],
    order: Order,
    fifo_tokens: u32,
    arbitrary_precision: bool,
) -> Result<Observed, Verdict> {
    let options =
        Options { fifo_tokens, order, arbitrary_precision, step_limit: Some(MOST_STEPS), ..Options::default() };
    let mut engine = Interpreter::new(network.clone(), options).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(|p| format!("{}: {}", p.slug, p.message)).collect();
        Verdict::new(Kind::Malformed, "-", texts.join("; "))
    })?;
    observe(&mut engine, network, streams).map_err(|stopped| match stopped {
        Stopped::Trapped(message) => Verdict::new(Kind::InterpreterTrap, "-", message),
        Stopped::RanAway => Verdict::new(Kind::InterpreterRunaway, "-", format!("{order:?}, {fifo_tokens} tokens")),
    })
}

/// What the network shows with FIFOs of the default size, after other orders, sizes and arithmetic showed the same.
/// The seed decides which others.
pub fn judge(network: &Arc<Network>, streams: &[Stream], seed: u64) -> Result<Observed, Verdict> {
    let reference = interpret(network, streams, Order::RoundRobin, DEFAULT_FIFO_TOKENS, false)?;
    let mut rng = Rng::new(seed);
    let small = [1, 1, 2, 3, 5, 8, 16][rng.below(7)];
    let runs = [
        (Order::DemandDriven, DEFAULT_FIFO_TOKENS),
        (Order::Random(rng.bits()), 1),
        (Order::Random(rng.bits()), small),
        (Order::RoundRobin, small),
    ];
    let mut at_small: Option<Observed> = None;
    for (order, fifo_tokens) in runs {
        let other = interpret(network, streams, order, fifo_tokens, false)?;
        let same_sizes = fifo_tokens == DEFAULT_FIFO_TOKENS;
        let mut found = difference(&reference, &other, same_sizes);
        if fifo_tokens == small {
            if let Some(before) = &at_small {
                found = found.or_else(|| difference(before, &other, true));
            }
            at_small = Some(other);
        }
        if let Some(text) = found {
            let text = format!("round robin, 512 tokens, and {order:?}, {fifo_tokens} tokens: {text}");
            return Err(Verdict::new(Kind::OrdersDiffer, "-", text));
        }
    }
    let exact = interpret(network, streams, Order::RoundRobin, DEFAULT_FIFO_TOKENS, true)?;
    match difference(&reference, &exact, true) {
        Some(text) => Err(Verdict::new(Kind::PrecisionDiffers, "-", text)),
        None => Ok(reference),
    }
}
