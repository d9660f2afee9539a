//! Circuits for any table, and smaller circuits from larger ones.

pub mod resubstitution;
