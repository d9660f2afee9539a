//! The control automata of operations, which most targets print.

use crate::memo::Memo;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_source::Span;
use headrace_transform::control::{Automaton, Samples, search};
pub use headrace_transform::control::{Hindrance, hindrances};
use std::sync::Arc;

/// Why the code of an operation keeps the scheduler, which fires actor after actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFused {
    /// The reason, as a sentence without a full stop.
    pub reason: String,
    /// What is to blame, if that is one place.
    pub span: Option<Span>,
}

/// The control automaton of an operation, as far as typical messages go.
///
/// # Errors
///
/// Why there is none that is worth printing.
pub fn automaton_of_operation(spec: &OperationSpec, network: &Network) -> Result<Automaton, NotFused> {
    let ports = || network.inputs.iter().map(|port| port.name.as_str());
    let samples = Samples {
        usual: samples::streams(spec, ports()),
        n_uncut: samples::uncut_streams(spec, ports()).len(),
        thorough: samples::thorough_streams(spec, ports()),
        rare: samples::kept_streams(spec, ports()),
        pieces: samples::pieces_of_blocks(spec, ports()),
        half_blocks: samples::pieces_of_half_blocks(spec, ports()),
        any_length: samples::pieces_of_any_length(spec, ports()),
    };
    let found =
        search(network, &samples).map_err(|refused| NotFused { reason: refused.reason, span: Some(refused.span) })?;
    found.ok_or_else(|| NotFused { reason: "its control has too many states and effects".into(), span: None })
}

/// Automata that were searched for, each once however many targets print it: clones share what they find. An operation
/// is known by its parameter set and its name: there is one variant of each, with the same arguments.
#[derive(Clone, Debug, Default)]
pub struct Automata(Memo<(String, String), Result<Arc<Automaton>, NotFused>>);

/// The automaton of an operation: of those that are kept, where some are.
///
/// # Errors
///
/// Why there is none that is worth printing.
pub(crate) fn automaton(
    spec: &OperationSpec,
    network: &Network,
    kept: Option<&Automata>,
) -> Result<Arc<Automaton>, NotFused> {
    let search = || automaton_of_operation(spec, network).map(Arc::new);
    match kept {
        Some(Automata(kept)) => kept.get((spec.set.clone(), spec.name.clone()), search),
        None => search(),
    }
}
