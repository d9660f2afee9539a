//! Control and data: which variables and tokens of a network decide what happens, and which are only computed.
//!
//! A backward slice (Weiser 1981) over the whole flat network, from every place where a value decides something: what
//! reaches a guard, the choice of an action, a state of an FSM or the bound of a loop, through any number of variables,
//! actors and FIFOs, is *control*. Branches inside a firing and addresses are kept apart: a schedule does not depend on
//! them. Example: in a cipher the round number is control and an address (of a round constant), the block is an address
//! where an S-box is a table, and neither where it is Boolean operations.
//!
//! A variable or FIFO is one thing for all time here: if any token on a FIFO reaches a guard, all do.

use crate::flow::{self, Decides, Origin, Scope};
use headrace_ir::{InstanceId, Network, VariableId};

/// What a value reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses(u8);

impl Uses {
    /// A guard, the choice of an action, the rates that come with it, or a state.
    pub const CHOICE: Uses = Uses(1);
    /// The condition or the bounds of a loop.
    pub const LOOP: Uses = Uses(2);
    /// The condition of a branch, of a conditional expression, or an operand of `and` or `or`.
    pub const BRANCH: Uses = Uses(4);
    /// The index of a list.
    pub const ADDRESS: Uses = Uses(8);

    /// True when the schedule, or how long a firing is, depends on it.
    pub fn is_control(self) -> bool {
        self.0 & (Uses::CHOICE.0 | Uses::LOOP.0) != 0
    }

    /// True when it reaches something of the other.
    pub fn reaches(self, other: Uses) -> bool {
        self.0 & other.0 != 0
    }

    /// Both.
    pub fn with(self, other: Uses) -> Uses {
        Uses(self.0 | other.0)
    }

    /// Names of what it reaches, for reports.
    pub fn names(self) -> Vec<&'static str> {
        let all =
            [(Uses::CHOICE, "choice"), (Uses::LOOP, "loop"), (Uses::BRANCH, "branch"), (Uses::ADDRESS, "address")];
        all.into_iter().filter(|(uses, _)| self.reaches(*uses)).map(|(_, name)| name).collect()
    }
}

/// What the values of an instance reach. Lists are in the order of the actor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceSlice {
    /// Variables; constants reach nothing.
    pub variables: Vec<Uses>,
    /// Tokens of input ports.
    pub inputs: Vec<Uses>,
    /// Tokens of output ports.
    pub outputs: Vec<Uses>,
    /// The locals of each action.
    pub actions: Vec<Vec<Uses>>,
    /// The locals of each initializer.
    pub initializers: Vec<Vec<Uses>>,
    /// The locals of each procedure, over all its calls.
    pub procedures: Vec<Vec<Uses>>,
}

impl InstanceSlice {
    /// The variables that are control.
    pub fn control(&self) -> impl Iterator<Item = VariableId> + '_ {
        let ids = (0..).map(VariableId).zip(&self.variables);
        ids.filter(|(_, uses)| uses.is_control()).map(|(id, _)| id)
    }

    fn local(&mut self, scope: Scope, local: usize) -> Option<&mut Uses> {
        let locals = match scope {
            Scope::Action(id) => self.actions.get_mut(id.index()),
            Scope::Initializer(at) => self.initializers.get_mut(at),
            Scope::Procedure(id) => self.procedures.get_mut(id.index()),
        };
        locals?.get_mut(local)
    }
}

/// The slice of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlSlice {
    /// For each instance.
    pub instances: Vec<InstanceSlice>,
    /// For each connection: what its tokens reach.
    pub connections: Vec<Uses>,
}

/// Slices a network.
pub fn analyse(network: &Network) -> ControlSlice {
    of_flow(&flow::Network::of(network))
}

/// Slices a network whose graph is there already.
pub fn of_flow(graph: &flow::Network<'_>) -> ControlSlice {
    let network = graph.network;
    let uses = propagate(graph);
    let mut slice = ControlSlice::default();
    for (at, instance) in network.instances.iter().enumerate() {
        let actor = &network.actors[instance.actor.index()];
        let id = InstanceId(at as u32);
        let none = |locals: usize| vec![Uses::default(); locals];
        let mut found = InstanceSlice {
            variables: none(actor.variables.len()),
            inputs: none(actor.inputs.len()),
            outputs: none(actor.outputs.len()),
            actions: actor.actions.iter().map(|action| none(action.locals.len())).collect(),
            initializers: actor.initializers.iter().map(|action| none(action.locals.len())).collect(),
            procedures: actor.procedures.iter().map(|procedure| none(procedure.locals.len())).collect(),
        };
        for (node, origin) in (0..).zip(graph.flow_of(id).nodes.iter().map(|node| node.origin)) {
            let reached = uses[graph.global(id, node) as usize];
            let entry = match origin {
                Origin::Variable(variable) => found.variables.get_mut(variable.index()),
                Origin::Input(port) => found.inputs.get_mut(port),
                Origin::Output(port) => found.outputs.get_mut(port),
                Origin::Local(scope, local) => found.local(scope, local.index()),
                Origin::Assigned(_) | Origin::State | Origin::Choice(_) | Origin::Condition => None,
            };
            if let Some(entry) = entry {
                *entry = entry.with(reached);
            }
        }
        slice.instances.push(found);
    }
    for connection in &network.connections {
        let target = graph.ends(connection).1;
        slice.connections.push(target.map_or(Uses::default(), |node| uses[node as usize]));
    }
    slice
}

fn propagate(graph: &flow::Network<'_>) -> Vec<Uses> {
    let mut uses = vec![Uses::default(); graph.n_nodes()];
    let mut waiting = Vec::new();
    for at in 0..graph.network.instances.len() {
        let id = InstanceId(at as u32);
        for place in &graph.flow_of(id).places {
            let used = match place.decides {
                Decides::Choice => Uses::CHOICE,
                Decides::Loop => Uses::LOOP,
                Decides::Branch | Decides::Conditional | Decides::ShortCircuit | Decides::Logic => Uses::BRANCH,
                Decides::Address => Uses::ADDRESS,
                Decides::Unknown => Uses::CHOICE.with(Uses::LOOP).with(Uses::BRANCH).with(Uses::ADDRESS),
                Decides::Division | Decides::Shift => continue,
            };
            for &node in &place.nodes {
                let node = graph.global(id, node);
                uses[node as usize] = uses[node as usize].with(used);
                waiting.push(node);
            }
        }
    }
    while let Some(node) = waiting.pop() {
        let reached = uses[node as usize];
        for (reason, _) in graph.reasons(node) {
            let all = uses[reason as usize].with(reached);
            if all != uses[reason as usize] {
                uses[reason as usize] = all;
                waiting.push(reason);
            }
        }
    }
    uses
}
