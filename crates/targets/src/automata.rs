//! The control automata of operations, which most targets print.

use crate::c::fused;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_library::samples;
use headrace_source::Span;
use headrace_transform::control::{Automaton, Limits, automaton_of};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    let found = |samples: &[samples::Stream]| {
        automaton_of(network, samples, &Limits::default())
            .map_err(|refused| NotFused { reason: refused.reason, span: Some(refused.span) })
    };
    // Every length is worth its states where there is room for all of them.
    if let Some(whole) = found(&samples::thorough_streams(spec, ports())).ok().filter(fused::fits) {
        return Ok(whole);
    }
    fused::fitting(found(&samples::streams(spec, ports()))?)
        .ok_or_else(|| NotFused { reason: "its control has too many states and effects".into(), span: None })
}

/// What a search came to.
type Found = Result<Arc<Automaton>, NotFused>;

/// The automata of the operations of one parameter set in one variant, each searched for once however many targets print
/// it: clones share what they find.
#[derive(Clone, Default)]
pub struct Automata {
    /// By the name of the operation.
    found: Arc<Mutex<HashMap<String, Arc<OnceLock<Found>>>>>,
}

impl Automata {
    /// The automaton of an operation, whose network must be the same each time.
    ///
    /// # Errors
    ///
    /// Why there is none that is worth printing.
    pub fn of(&self, spec: &OperationSpec, network: &Network) -> Result<Arc<Automaton>, NotFused> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Arc::clone(found.entry(spec.name.clone()).or_default());
        // Searches for other operations go on meanwhile.
        drop(found);
        place.get_or_init(|| automaton_of_operation(spec, network).map(Arc::new)).clone()
    }
}

impl fmt::Debug for Automata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(found.keys()).finish()
    }
}
