//! Name mangling. C identifiers for CAL names: kept as they are where C allows it, changed where it does not or where they
//! would clash.

use headrace_ir::{Network, Port};
use headrace_program::language::C;
use headrace_program::names;
use std::borrow::Cow;

/// What printed names of a boundary port end in.
const OF_PORTS: [&str; 9] =
    ["_buffer", "_bytes", "_first", "_from", "_rest", "_rest_there", "_room", "_there", "_windows"];

/// What printed names of an actor end in beside those of its own functions.
const OF_ACTORS: [&str; 3] = ["_init", "_lists", "_scalars"];

/// A set of names of one scope.
#[derive(Clone, Debug)]
pub struct Names(names::Names);

impl Default for Names {
    fn default() -> Self {
        Self(names::Names::of(&C))
    }
}

impl Names {
    /// A name like `name` that C allows and that was not given before.
    pub fn fresh(&mut self, name: &str) -> String {
        self.0.fresh(name)
    }

    /// The same for an actor, with what belongs to each.
    pub fn fresh_actor(&mut self, name: &str) -> String {
        self.0.fresh_with(name, &OF_ACTORS)
    }
}

/// The network with boundary ports whose names are identifiers, and different ones also with what is printed behind them.
pub fn with_port_names(network: &Network) -> Cow<'_, Network> {
    let named = |ports: &[Port]| {
        // They stand behind a word, so that no word of C is in the way.
        let mut names = names::Names::default();
        ports.iter().map(|port| names.fresh_with(&port.name, &OF_PORTS)).collect::<Vec<_>>()
    };
    let (inputs, outputs) = (named(&network.inputs), named(&network.outputs));
    let are = |ports: &[Port], names: &[String]| ports.iter().zip(names).all(|(port, name)| port.name == *name);
    if are(&network.inputs, &inputs) && are(&network.outputs, &outputs) {
        return Cow::Borrowed(network);
    }
    let mut network = network.clone();
    for (port, name) in network.inputs.iter_mut().zip(inputs).chain(network.outputs.iter_mut().zip(outputs)) {
        port.name = name;
    }
    Cow::Owned(network)
}
