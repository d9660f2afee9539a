//! The control automaton of a network as text: what iterations and targets start from.
//!
//! Of an operation of the library it is the one that typical messages lead through; of any other network, which has
//! none, all that it may come to is explored.

use crate::failure::{Failure, Outcome};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_targets::automata::automaton_of_operation;
use headrace_transform::control::{Limits, automaton_of};
use headrace_transform::kernel::text;

/// The automaton of an operation.
///
/// # Errors
///
/// Why there is none.
pub fn of_operation(spec: &OperationSpec, network: &Network) -> Outcome<String> {
    let found = automaton_of_operation(spec, network);
    found.map(|automaton| text::text(&automaton)).map_err(|refused| without(&refused.reason))
}

/// The automaton of a network.
///
/// # Errors
///
/// Why there is none.
pub fn of_network(network: &Network) -> Outcome<String> {
    let found = automaton_of(network, &[], &Limits::default());
    found.map(|automaton| text::text(&automaton)).map_err(|refused| without(&refused.reason))
}

fn without(reason: &str) -> Failure {
    Failure::wrong(format!("it has no control automaton and runs on its scheduler: {reason}"))
}
