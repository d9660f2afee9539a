//! Networks as hardware, as an engine: the cycle simulator of `rtl` behind the interface that the interpreter has.
//!
//! At every port tokens wait by chance, as in the benches of projects, so that what depends on time shows.

pub mod campaign;

use crate::differential::{Observed, Stopped, difference, interpreted, observe, program};
use crate::generate::{Case, Cuts, Knobs, generate};
use crate::rng::Rng;
use headrace::codesign::{Simulated, Stalls};
use headrace_hardware::{Options, lower};
use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_rtl::Design;
use headrace_source::Diagnostic;
use std::sync::Arc;

/// Cycles after which a run is taken not to end.
const MOST_CYCLES: u64 = 20_000_000;

/// A design that a network was lowered to, after a reset. The seed decides when tokens wait.
///
/// # Errors
///
/// What the verifier says of the design.
pub fn engine(network: &Arc<Network>, design: &Design, seed: u64) -> Result<Simulated, String> {
    let mut rng = Rng::new(seed);
    // In how many of a hundred cycles a port moves.
    let chance = [100, 60, 30][(seed % 3) as usize];
    let goes = Box::new(move || rng.chance(chance));
    Simulated::new(network, design, Some(Stalls { goes, most_cycles: MOST_CYCLES }))
}

/// A random network, what goes into it and what comes out on the interpreter.
pub struct RandomNetwork {
    /// What it was generated from.
    pub seed: u64,
    /// Its sources and its input.
    pub case: Case,
    /// The network, elaborated.
    pub network: Arc<Network>,
    /// The capacity of FIFOs of which the source says none, in tokens.
    pub fifo_tokens: u32,
    /// What the interpreter shows.
    pub expected: Observed,
}

impl RandomNetwork {
    /// The network of a seed. It does not print, which hardware leaves out.
    ///
    /// # Errors
    ///
    /// What elaboration or the interpreter says of it.
    pub fn new(seed: u64) -> Result<Self, String> {
        let knobs = Knobs { prints: false, ..Knobs::default() };
        let case = generate(seed, &knobs);
        let network = Arc::new(program::elaborate(&case, &Cuts::default()).map_err(|verdict| verdict.to_string())?);
        let fifo_tokens = if seed.is_multiple_of(2) { DEFAULT_FIFO_TOKENS } else { 1 + (seed / 2 % 8) as u32 };
        let expected = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, fifo_tokens, false)
            .map_err(|verdict| verdict.to_string())?;
        Ok(Self { seed, case, network, fifo_tokens, expected })
    }

    /// How it becomes hardware. Every fourth has small registers, so that lists lie in memories and loops stay loops.
    pub fn options(&self) -> Options {
        let usual = Options { fifo_tokens: self.fifo_tokens, ..Options::default() };
        if self.seed % 4 == 3 { Options { register_bits: 64, unrolled_iterations: 1, ..usual } } else { usual }
    }
}

/// Whether hardware lacks something that a network has, which is no failure.
pub fn lacks_something(problems: &[Diagnostic]) -> bool {
    problems.iter().all(|problem| problem.message.starts_with("hardware has no"))
}

/// The messages of diagnostics in a line.
pub fn messages(problems: &[Diagnostic]) -> String {
    problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>().join("; ")
}

/// The design of a network, through its text; nothing where hardware lacks something.
///
/// # Errors
///
/// What lowering says of it; that the text of the design is read as another one.
pub fn design(network: &Network, options: &Options) -> Result<Option<Design>, String> {
    let design = match lower(network, options) {
        Ok(design) => design,
        Err(problems) if lacks_something(&problems) => return Ok(None),
        Err(problems) => return Err(messages(&problems)),
    };
    let text = headrace_rtl::text(&design);
    let again = headrace_rtl::read(&text)?;
    if again != design {
        return Err("what is read is not what was written".to_owned());
    }
    Ok(Some(again))
}

/// Compares what the hardware of a random network shows, simulated with stalls, with what the interpreter shows. Gives the number
/// of its actors; nothing where hardware lacks something.
///
/// # Errors
///
/// The difference, or what fails before there can be one.
pub fn random_case(seed: u64) -> Result<Option<usize>, String> {
    let one = RandomNetwork::new(seed)?;
    let Some(design) = design(&one.network, &one.options())? else { return Ok(None) };
    let mut engine = engine(&one.network, &design, seed)?;
    let mut shown = observe(&mut engine, &one.network, &one.case.inputs).map_err(|stopped| match stopped {
        Stopped::Trapped(message) => message,
        Stopped::RanAway => "ran away".to_owned(),
    })?;
    let mut expected = one.expected;
    shown.firings.clear();
    expected.firings.clear();
    // How far a run gets that lacks room is up to the sizes of all FIFOs.
    shown.lacks_room = expected.lacks_room;
    let n_actors = one.network.actors.len();
    difference(&expected, &shown, !expected.lacks_room).map_or(Ok(Some(n_actors)), Err)
}
