//! The interpreter: the executable definition of the language, against which everything else is judged.
//!
//! It runs the representation as it stands: bit-exact, bounds-checked, with finite FIFOs. It uses no analysis,
//! pass or target, so it cannot share their bugs. Actors are compiled to closures once ([`code`]), expression by
//! expression, without looking across statements.
//!
//! * [`Interpreter`] implements [`headrace_engine::Engine`].
//! * [`Order`] says which instance is tried next. A determinate network gives the same streams in every order.
//! * [`trace::TraceSink`] hears of every firing.

mod code;
mod engine;
mod fifo;
mod machine;
mod order;
mod range;
mod report;
mod setup;
pub mod trace;

pub use engine::Interpreter;
pub use order::Order;

use headrace_ir::DEFAULT_FIFO_TOKENS;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How to run.
pub struct Options {
    /// Capacity of FIFOs for which the source asks nothing, in tokens.
    pub fifo_tokens: u32,
    /// Capacities of all FIFOs in the order of the connections, whatever the source asks; `None`: as usual. One that is
    /// smaller than a burst stops its network.
    pub capacities: Option<Vec<u64>>,
    /// Which instance is tried next.
    pub order: Order,
    /// Hears of every firing.
    pub trace: Option<Box<dyn trace::TraceSink>>,
    /// The instances whose firings the trace has, by position; `None`: all.
    pub traced: Option<Vec<bool>>,
    /// Measures the time of instances and how full FIFOs get.
    pub profile: bool,
    /// When it becomes true, the run ends with a trap that says "interrupted".
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Loop iterations and calls after which a firing is taken not to end and the run traps; looked at now and then, so
    /// somewhat more may be done.
    pub step_limit: Option<u64>,
    /// Computes every integer in arbitrary precision, far slower: a check of the interpreter on itself.
    pub arbitrary_precision: bool,
    /// An index outside its list stands for what lies there in the whole list, row after row, and beside that for the
    /// first element, instead of ending the run.
    pub lenient_indices: bool,
    /// Bare names of the natives that the host supplies ([`headrace_engine::Host::call_supplied`]), before those of the
    /// table.
    pub supplied: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fifo_tokens: DEFAULT_FIFO_TOKENS,
            capacities: None,
            order: Order::RoundRobin,
            trace: None,
            traced: None,
            profile: false,
            interrupt: None,
            step_limit: None,
            arbitrary_precision: false,
            lenient_indices: false,
            supplied: Vec::new(),
        }
    }
}
