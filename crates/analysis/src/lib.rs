//! Analyses of the representation, one a file. They read and never change it.

pub mod actor_automata;
pub mod assigned;
pub mod balance;
pub mod calls;
pub mod carried;
pub mod constant_time;
mod constants;
pub mod control;
pub mod cut;
mod effects;
pub mod filled;
pub mod flow;
mod inlining;
pub mod narrowed;
pub mod operations;
pub mod order_dependence;
pub mod partition;
pub mod ranges;
pub mod rates;
pub mod schedule;
pub mod topology;
pub mod work;
