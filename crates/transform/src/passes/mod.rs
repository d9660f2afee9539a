//! Passes on kernels and what they need to know about them, one file each.

pub mod byte_layers;
pub mod byte_tables;
pub mod bytes_together;
mod chains;
pub mod copied_last;
pub mod distribution;
pub mod late_terms_last;
pub mod linear;
pub mod modular_recurrence;
pub mod nested_rotations;
pub mod outer_complements;
pub mod rolled_rounds;
pub mod select_instructions;
pub mod settled_passes;
pub mod several_passes;
pub mod shape;
pub mod shared_majorities;
pub mod shift_registers;
pub mod split_passes;
pub mod split_recurrence;
pub mod split_sums;
#[cfg(test)]
mod trial;
mod waiting;
pub mod words_of_tokens;
