//! Random networks with mappings of their instances to partitions, and what the whole does.

use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Mapping, Network, Port};
use headrace_testkit::differential::interpreted;
use headrace_testkit::differential::{Observed, program, storage};
use headrace_testkit::generate::{Cuts, Knobs, Stream, generate};
use std::sync::Arc;

/// A network that is cut.
pub struct Mapped {
    pub seed: u64,
    pub network: Arc<Network>,
    pub inputs: Vec<Stream>,
    /// What the interpreter says of the whole.
    pub wanted: Observed,
    pub n_partitions: usize,
    pub mapping: Mapping,
}

/// Networks of the seeds up to `n_seeds` that come to an end, in one up to `most` partitions.
pub fn mapped(n_seeds: u64, most: u64) -> impl Iterator<Item = Mapped> {
    (0..n_seeds).filter_map(move |seed| {
        let case = generate(seed, &Knobs::default());
        let network = Arc::new(program::elaborate(&case, &Cuts::default()).ok()?);
        let judged = interpreted::interpret(&network, &case.inputs, Order::RoundRobin, DEFAULT_FIFO_TOKENS, false);
        let wanted = judged.ok().filter(|wanted| !wanted.lacks_room)?;
        let n_partitions = (1 + seed % most) as usize;
        // Multiplicative hashing (Knuth) of the instance and the seed.
        let place =
            |at: usize| ((at as u64 + 31 * seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize % n_partitions;
        let mapping = Mapping::numbered(n_partitions, (0..network.instances.len()).map(place).collect());
        Some(Mapped { seed, network, inputs: case.inputs, wanted, n_partitions, mapping })
    })
}

/// The tokens of a stream for a port.
pub fn tokens(port: &Port, streams: &[Stream]) -> Vec<u8> {
    let stream = streams.iter().find(|stream| stream.port == port.name);
    stream.map_or(Vec::new(), |stream| stream.tokens.iter().flat_map(|value| storage(value, port.ty)).collect())
}
