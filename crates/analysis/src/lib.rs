//! Analyses of the representation, one a file. They read and never change it.

pub mod balance;
pub mod carried;
pub mod constant_time;
mod constants;
pub mod control;
pub mod flow;
pub mod operations;
pub mod order_dependence;
pub mod partition;
pub mod rates;
pub mod schedule;
pub mod work;
