//! Passes over transitions and loops, one file each, and what they need to know about them.
//!
//! [`pass`] says what a pass is, [`manager`] runs them, [`pipelines`] has the sequences that printers take. The registry
//! below is the list of all: a line for each file, with the constants in it that are passes.

pub mod canonical_form;
pub mod manager;
pub mod pass;
pub mod pipelines;

mod chains;
mod latency_bound;
pub mod linear;
#[cfg(test)]
mod test_loops;

use pass::Pass;

/// Declares the files of passes and lists the passes in them.
macro_rules! registry {
    ($($file:ident: $($pass:ident),+;)*) => {
        $(pub mod $file;)*

        /// All passes, in the order of their names.
        pub const ALL: &[&Pass] = &[$($(&$file::$pass,)+)*];
    };
}

registry! {
    back_substitute_affine: PASS;
    batch_byte_lookups: PASS;
    byte_layers: PASS;
    byte_planes: PASS;
    canonicalize_loop: PASS;
    coalesce_byte_writes: PASS;
    coalesce_token_loads: PASS;
    distribute_recurrence: PASS;
    distribution: PASS;
    extract_reductions: PASS;
    factor_rotations: PASS;
    majority_cse: PASS;
    merge_truncated_sums: PASS;
    modular_recurrence: PASS;
    peel_first_iteration: PASS;
    reassociate_by_arrival: PASS;
    reroll_loops: PASS, FOR_SIZE;
    select_instructions: PASS;
    shift_registers: PASS;
    sink_complements: PASS;
    sink_copies: PASS;
    split_iteration: PASS;
    tabulate: PASS, AFFINE_BYTES, BITWISE_WINDOWS, BUILT;
    unroll_and_interleave: PASS;
}

impl Pass {
    /// The pass of a name.
    pub fn named(name: &str) -> Option<&'static Pass> {
        ALL.iter().copied().find(|pass| pass.name == name)
    }
}
