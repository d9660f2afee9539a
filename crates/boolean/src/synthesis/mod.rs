//! Circuits for any table, and smaller circuits from larger ones.

pub mod decision_diagram;
pub mod normal_form;
pub mod resubstitution;

use crate::basis::Basis;
use crate::circuit::Circuit;
use crate::circuit::lookup_tables::cover;
use crate::truth_table::Table;
use resubstitution::{Walk, shrink};

/// The cheapest circuit for a table that a search finds which begins with nothing but the table. `steps` bounds the walks at
/// the end of it; the answer depends on nothing but the arguments.
pub fn synthesise(table: &Table, basis: &Basis, steps: u64) -> Circuit {
    let mut starts: Vec<Circuit> = vec![decision_diagram::decide(table)];
    starts.extend(normal_form::expand(table));
    let mut starts: Vec<Circuit> = starts.iter().map(|c| cover(c, basis, 2)).collect();
    starts.sort_by_key(|c| basis.cost(c));
    let n = starts.len() as u64;
    let walked = starts.iter().enumerate().map(|(i, c)| {
        let walk = Walk { steps: steps / n, seed: i as u64, slack: 1 };
        shrink(c, basis, walk)
    });
    walked.min_by_key(|c| basis.cost(c)).unwrap_or_else(|| decision_diagram::decide(table))
}
