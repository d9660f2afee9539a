//! Comparison of engines, firing orders and FIFO sizes on generated programs.

mod observe;

pub use observe::{Observed, Stopped, difference, observe, storage};
