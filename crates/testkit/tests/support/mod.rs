//! What tests that run operations of the library share.

use headrace_exchange::Running;
use headrace_interp::{Interpreter, Options};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use std::sync::Arc;

/// An operation on a fresh interpreter.
pub fn running<'a>(spec: &'a OperationSpec, network: &'a Arc<Network>) -> Running<'a> {
    let interpreter = Interpreter::new(network.clone(), Options::default());
    let interpreter = interpreter.unwrap_or_else(|problems| panic!("{}: {problems:?}", spec.full_name()));
    Running::new(spec, network, Box::new(interpreter))
}
