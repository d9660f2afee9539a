//! The middle end. From networks to code without FIFOs, guards and firings.
//!
//! [`control`] executes the control of a network and makes an automaton of what it may do; its edges are transitions,
//! which [`statements`] puts in order for printers.

pub use headrace_kernel as kernel;

pub mod control;
pub mod passes;
pub mod statements;
