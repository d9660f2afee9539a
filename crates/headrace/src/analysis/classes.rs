//! Security classes of ports, for taint analysis: which are secret, and which public.

use crate::error::{Error, Result};
use headrace_analysis::constant_time::Classes;
use headrace_ir::{Network, Port};
use headrace_library::Class;
use headrace_library::catalog::OperationSpec;

/// As the manifest of an operation says.
pub fn of_manifest(spec: &OperationSpec, network: &Network) -> Classes {
    let is = |class: Class| move |port: &Port| spec.class_of(&port.name).unwrap_or(Class::Secret) == class;
    Classes {
        secret_inputs: network.inputs.iter().map(is(Class::Secret)).collect(),
        public_outputs: network.outputs.iter().map(is(Class::Public)).collect(),
    }
}

/// By the names of ports, where no manifest speaks of them, but for those that are named here.
///
/// # Errors
///
/// A name is of no port.
pub fn of_names(network: &Network, secret: &[String], public: &[String]) -> Result<Classes> {
    let ports = || network.inputs.iter().chain(&network.outputs);
    for name in secret.iter().chain(public) {
        if !ports().any(|port| port.name == *name) {
            let known: Vec<&str> = ports().map(|port| port.name.as_str()).collect();
            let name = name.escape_debug();
            return Err(Error::usage(format!("`{name}` is no port; there are {}", known.join(", "))));
        }
    }
    let verifies = network.outputs.iter().any(|port| port.name == "Verified");
    let class = |port: &Port| match () {
        () if secret.contains(&port.name) => Class::Secret,
        () if public.contains(&port.name) => Class::Public,
        () => Class::of_name(&port.name, verifies),
    };
    Ok(Classes {
        secret_inputs: network.inputs.iter().map(|port| class(port) == Class::Secret).collect(),
        public_outputs: network.outputs.iter().map(|port| class(port) == Class::Public).collect(),
    })
}
