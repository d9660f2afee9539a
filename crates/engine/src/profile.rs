//! A profile of a run: the time of each instance and the high-water mark of each FIFO.

use std::time::Duration;

/// What a run cost, measured while it ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Time in the firings of each instance and in the tests before them, in the order of the network.
    pub times: Vec<Duration>,
    /// Most tokens that lay in each FIFO at once; `None` where the engine did not see it: native code looks between the turns
    /// of instances, so not at the FIFOs from an actor to itself.
    pub most_tokens: Vec<Option<u64>>,
}
