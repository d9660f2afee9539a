//! Boolean functions of a few bits as tables, as circuits and as matrices, and the ways between them. Nothing here knows
//! what a function is used for: a circuit is found by what it computes, and it is proved to compute it.

pub mod basis;
pub mod circuit;
pub mod known;
pub mod matrix;
mod random;
pub mod synthesis;
pub mod truth_table;
