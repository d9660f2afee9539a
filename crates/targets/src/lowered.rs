//! Networks lowered to programs, for the targets that print these: with their control automata where they have one that
//! makes a program short enough, or with their schedulers.

use crate::automata::{NotFused, automaton};
use crate::options::Options;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_lowering::{Lanes, Options as Lowering, lower, lower_fused};
use headrace_program::Module;
use headrace_source::Diagnostic;
use headrace_transform::control::{Automaton, within};

/// A network lowered with its scheduler.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub(crate) fn lowered(network: &Network, options: &Options) -> Result<Module, Vec<Diagnostic>> {
    lower(network, &Lowering { fifo_tokens: options.fifo_tokens, ..Lowering::default() })
}

/// The network of an operation lowered with its control automaton; or with its scheduler, and the reason for that where
/// an automaton was wanted.
pub(crate) fn lowered_operation(
    spec: &OperationSpec,
    network: &Network,
    options: &Options,
    lowering: &Lowering,
) -> (Result<Module, Vec<Diagnostic>>, Option<NotFused>) {
    if !options.fused {
        return (lowered(network, options), None);
    }
    let fused = automaton(spec, network, options.automata.as_ref()).and_then(|automaton| {
        short(network, &automaton, options, lowering).map_err(|reason| NotFused { reason, span: None })
    });
    match fused {
        Ok(module) => (Ok(module), None),
        Err(refused) => (lowered(network, options), Some(refused)),
    }
}

/// For languages whose compilers put loops into vectors: as many as those of 256 bits have words.
pub(crate) const COMPILED_LANES: Lanes = Lanes { count: 8, longest: None };

/// Statements and expressions of a program with a control automaton: beyond, compilers take minutes.
const MOST_SIZE: usize = 400_000;

/// A network lowered with as much of its automaton as makes a program that is short enough for compilers.
fn short(network: &Network, automaton: &Automaton, options: &Options, lowering: &Lowering) -> Result<Module, String> {
    let own = Lowering { fifo_tokens: options.fifo_tokens, ..*lowering };
    let module = within(automaton, MOST_SIZE, |automaton| {
        let module = lower_fused(network, automaton, &own)?;
        let size = module.size();
        Ok::<_, String>((module, size))
    })?;
    module.ok_or_else(|| "its code would be too long for compilers".to_owned())
}
