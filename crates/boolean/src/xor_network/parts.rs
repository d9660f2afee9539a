//! A connected matrix: what is known, and inputs that only one row reads.
//!
//! An input of one row alone (a key bit that is added behind a linear layer) takes part in nothing that is shared. It is left
//! out, the network of the rest is looked for, and it is XORed to its row at the end. With XORs of two nothing is lost, since
//! such an input takes one XOR in any network. With XORs of three it may fit into a step that has room: the walk sees to it.

use super::{Arity, Options, TooShallow, XorNetwork, XorStep, components, improve, known, search, without_sharing};
use crate::matrix::BitMatrix;

/// A network for a connected matrix in the order of its part.
pub(crate) fn network(matrix: &BitMatrix, options: &Options) -> Result<XorNetwork, TooShallow> {
    if let Some(known) = known::network(matrix, options) {
        return Ok(known);
    }
    let transposed = matrix.transpose();
    let (own, shared): (Vec<usize>, Vec<usize>) =
        (0..matrix.n_columns()).partition(|&j| transposed.ones_in_row(j).count() < 2);
    if own.is_empty() || options.max_depth.is_some() {
        return search::network(matrix, options);
    }
    if shared.is_empty() {
        return Ok(without_sharing(matrix, options.arity));
    }
    let mut result =
        XorNetwork { n_inputs: matrix.n_columns(), steps: Vec::new(), outputs: vec![None; matrix.n_rows()] };
    let half = Options { work: options.work / 2, ..options.clone() };
    for part in components::components(&matrix.select_columns(&shared)) {
        let columns: Vec<usize> = part.columns.iter().map(|&j| shared[j]).collect();
        let found = match known::network(&part.matrix, &half) {
            Some(known) => known,
            None => search::network(&part.matrix, &half)?,
        };
        result.append(&found, &columns, &part.rows);
    }
    for i in 0..matrix.n_rows() {
        let mut sum: Vec<usize> = result.outputs[i].into_iter().collect();
        sum.extend(own.iter().filter(|&&j| matrix.get(i, j)));
        while sum.len() > 1 {
            let rest = match (sum[..].first_chunk::<3>(), options.arity) {
                (Some(&[a, b, c]), Arity::Three) => {
                    result.steps.push(XorStep::Three(a, b, c));
                    3
                }
                _ => {
                    result.steps.push(XorStep::Two(sum[0], sum[1]));
                    2
                }
            };
            sum.splice(..rest, [result.n_inputs + result.steps.len() - 1]);
        }
        result.outputs[i] = sum.first().copied();
    }
    Ok(if options.arity == Arity::Three { improve(&result, &half) } else { result })
}
