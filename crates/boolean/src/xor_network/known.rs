//! Networks that longer searches found, as data: `known.txt` has one a line. A network is found by its matrix, up to the order
//! of rows and columns; that it computes this matrix is checked by multiplying it out when it is read.
//!
//! A line is what [`XorNetwork::to_line`] writes for the result of
//! `cargo run --release -p headrace-boolean --example xor_network` on the matrix's rows.

use super::components::order;
use super::{Arity, Options, XorNetwork, XorStep};
use crate::matrix::BitMatrix;
use std::collections::HashMap;
use std::sync::OnceLock;

/// The networks for each matrix, in its own order.
type Known = HashMap<BitMatrix, Vec<XorNetwork>>;

fn all() -> &'static Known {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut known = Known::new();
        for network in lines().filter_map(|line| line.parse::<XorNetwork>().ok()) {
            let matrix = network.matrix();
            let (rows, columns) = order(&matrix);
            let mut places = vec![0; columns.len()];
            columns.iter().enumerate().for_each(|(to, &from)| places[from] = to);
            let mut moved =
                XorNetwork { n_inputs: network.n_inputs, steps: Vec::new(), outputs: vec![None; rows.len()] };
            let mut row_places = vec![0; rows.len()];
            rows.iter().enumerate().for_each(|(to, &from)| row_places[from] = to);
            moved.append(&network, &places, &row_places);
            known.entry(matrix.select_rows(&rows).select_columns(&columns)).or_default().push(moved);
        }
        known
    })
}

/// The lines of the data that are networks.
pub(super) fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("known.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The shortest known network for a matrix in the order of its parts, that has no more operands and depth than asked.
pub(super) fn network(matrix: &BitMatrix, options: &Options) -> Option<XorNetwork> {
    let fits = |network: &&XorNetwork| {
        let two = network.steps.iter().all(|step| matches!(step, XorStep::Two(..)));
        (two || options.arity == Arity::Three) && network.depth() <= options.max_depth.unwrap_or(usize::MAX)
    };
    all().get(matrix)?.iter().filter(fits).min_by_key(|network| network.steps.len()).cloned()
}
