//! Analyses of the representation, one a file. They read and never change it.

pub mod constant_time;
pub mod control;
pub mod flow;
pub mod order_dependence;
pub mod partition;
pub mod rates;
pub mod work;
