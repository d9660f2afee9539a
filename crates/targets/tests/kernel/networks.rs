//! Loops of networks of the library.

#[path = "../../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../../library/tests/loading/mod.rs"]
mod loading;

use folders::Folders;
use headrace_frontend::{Session, Top, elaborate};
use headrace_library::samples;
use headrace_transform::control::{Limits, automaton_of};
use headrace_transform::kernel::Loop;
use std::path::Path;

/// The loops of an operation in the first of its variants that has an automaton.
pub fn loops(set: &str, name: &str) -> Vec<Loop> {
    let library = loading::library(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let operations = library.operations();
    let operation = operations.iter().find(|operation| operation.set == set && operation.name == name);
    let operation = operation.expect("the library has it");
    for variant in &operation.variants {
        let mut session = Session::new();
        let top = Top::Expression(variant.network.to_string());
        let network = elaborate(&mut session, &Folders(vec![root.clone()]), &top, &[]).expect("it elaborates");
        let samples = samples::streams(operation, network.inputs.iter().map(|port| port.name.as_str()));
        if let Ok(automaton) = automaton_of(&network, &samples, &Limits::default()) {
            let loops = automaton.states.into_iter().flat_map(|state| state.loops).map(|counted| counted.body);
            return loops.collect();
        }
    }
    Vec::new()
}
