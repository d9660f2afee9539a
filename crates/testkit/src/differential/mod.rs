//! Comparison of engines, firing orders and FIFO sizes on generated programs.
//!
//! [`supervise`] hands batches of seeds to child processes; in a child, [`judge`] generates the programs,
//! [`program`] elaborates them, [`interpreted`] runs them in several firing orders and FIFO sizes, and [`native`]
//! compiles a whole batch into one library, on request for threads by a [`mapping`] of its own each. What may not differ is what [`observe()`] writes down.

pub mod interpreted;
pub mod judge;
pub mod mapping;
pub mod native;
mod observe;
pub mod program;
pub mod supervise;
mod verdict;

pub use observe::{Observed, Stopped, difference, lines, observe, storage};
pub use verdict::{Kind, Verdict};
