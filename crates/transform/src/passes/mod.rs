//! Passes on kernels and what they need to know about them, one file each.

pub mod batch_byte_lookups;
pub mod byte_layers;
pub mod canonicalize_loop;
mod chains;
pub mod coalesce_token_loads;
pub mod distribute_recurrence;
pub mod distribution;
pub mod extract_reductions;
pub mod factor_rotations;
mod latency_bound;
pub mod linear;
pub mod majority_cse;
pub mod merge_truncated_sums;
pub mod modular_recurrence;
pub mod peel_first_iteration;
pub mod reassociate_by_arrival;
pub mod reroll_loops;
pub mod select_instructions;
pub mod shift_registers;
pub mod sink_complements;
pub mod sink_copies;
pub mod split_iteration;
pub mod tabulate;
#[cfg(test)]
mod test_loops;
pub mod unroll_and_interleave;
