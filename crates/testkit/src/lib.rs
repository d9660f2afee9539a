//! Test machinery that no user of Headrace needs: a seeded generator of random programs, a shrinker for the
//! ones that fail, and the comparison of engines, firing orders and FIFO sizes on them.
//!
//! Beside programs it generates messages: [`peers`] sends them through every primitive of the crypto library and compares
//! with independent implementations.
//!
//! Engines and generators are kept apart: `generate` knows the language and no engine, so what it writes
//! judges all of them alike.

pub mod automata;
pub mod benchmark_source;
pub mod corpus;
pub mod differential;
pub mod document;
pub mod generate;
pub mod hardware;
pub mod lowered;
pub mod mapped;
pub mod peers;
pub mod printed;
pub mod rng;
pub mod shrink;
pub mod taint;
