//! Operations of the library as their automata, for tests of what is printed of them.

use headrace_frontend::{Session, Top, elaborate};
use headrace_ir::Network;
use headrace_library::samples;
use headrace_transform::control::{Automaton, Limits, automaton_of};
use headrace_transform::kernel::Loop;
use std::path::PathBuf;

#[path = "../../../frontend/tests/support/folders.rs"]
mod folders;
#[path = "../../../library/tests/loading/mod.rs"]
mod loading;

/// An operation of the library, or a variant: `ctr:boolean`.
pub fn fused(set: &str, name: &str) -> (Network, Automaton) {
    let mut roots: Vec<PathBuf> = std::env::var_os("HEADRACE_ROOT").map(PathBuf::from).into_iter().collect();
    let library = loading::library(&roots);
    roots.push(loading::root());
    let (name, variant) = name.split_once(':').map_or((name, None), |(name, variant)| (name, Some(variant)));
    let found = library.operations().iter().find(|operation| operation.set == set && operation.name == name);
    let operation = found.unwrap_or_else(|| panic!("no operation {set} {name}"));
    let variant = operation.variant(variant).unwrap_or_else(|| panic!("no variant {variant:?} of {set} {name}"));
    let text = variant.network.to_string();
    let mut session = Session::new();
    let network = elaborate(&mut session, &folders::Folders(roots), &Top::Expression(text), &[]);
    let network = network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics().first()));
    let samples = samples::streams(operation, network.inputs.iter().map(|port| port.name.as_str()));
    let automaton =
        automaton_of(&network, &samples, &Limits::default()).unwrap_or_else(|error| panic!("{}", error.reason));
    (network, automaton)
}

/// Its loops.
pub fn loops(set: &str, name: &str) -> Vec<Loop> {
    let states = fused(set, name).1.states;
    states.into_iter().flat_map(|state| state.loops).map(|counted| counted.body).collect()
}
