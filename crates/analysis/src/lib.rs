//! Analyses of the representation, one a file. They read and never change it.

pub mod order_dependence;
pub mod rates;
