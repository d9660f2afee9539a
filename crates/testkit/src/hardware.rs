//! Networks as hardware, as an engine: the cycle simulator of `rtl` behind the interface that the interpreter has.
//!
//! At every port tokens wait by chance, as in the benches of projects, so that what depends on time shows.

use crate::rng::Rng;
use headrace::codesign::{Simulated, Stalls};
use headrace_ir::Network;
use headrace_rtl::Design;
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
