//! What setting a network up takes: initial values, distances, and that every position exists.

use crate::engine::Running;
use crate::fifo::low_word;
use crate::machine::{Class, Element, Memory};
use headrace_ir::{Endpoint, Network, Scalar, Value, Variable};
use std::collections::VecDeque;

/// Stores the initial value of a variable.
pub(crate) fn initialise(memory: &mut Memory, at: usize, variable: &Variable) {
    let values = match &variable.initial {
        Value::List(values) => values.as_slice(),
        scalar => std::slice::from_ref(scalar),
    };
    for (offset, value) in values.iter().take(variable.ty.len()).enumerate() {
        if let (Class::Word, true) = (Class::of(variable.ty.element), variable.ty.is_list()) {
            let element = Element::of(variable.ty.element);
            memory.set_element(element, at + offset * element.bytes(), word(variable.ty.element, value));
            continue;
        }
        let at = at + offset;
        match (variable.ty.element, value) {
            (Scalar::Int(int), Value::Int(value)) if int.width > 64 => memory.wides[at] = value.clone().wrap(int),
            (Scalar::String, Value::String(value)) => memory.texts[at].clone_from(value),
            (scalar, value) => memory.words[at] = word(scalar, value),
        }
    }
}

/// The word of a scalar whose class is [`Class::Word`].
fn word(scalar: Scalar, value: &Value) -> i64 {
    match (scalar, value) {
        (Scalar::Int(int), Value::Int(value)) => crate::fifo::wrap_word(int, low_word(value)),
        (Scalar::Bool, Value::Bool(value)) => i64::from(*value),
        (Scalar::Real(_), Value::Real(value)) => value.to_bits() as i64,
        _ => 0,
    }
}

/// How many FIFOs lie between each instance and the nearest output of the network, or an instance without readers.
pub(crate) fn distances(instances: &[Running], ends: &[(Option<usize>, Option<usize>)]) -> Vec<usize> {
    let mut distance = vec![usize::MAX; instances.len()];
    let mut queue = VecDeque::new();
    let has_reader: Vec<bool> =
        instances.iter().map(|running| running.outputs.iter().flatten().any(|&fifo| ends[fifo].0.is_some())).collect();
    let writes_boundary = |running: &Running| running.outputs.iter().flatten().any(|&fifo| ends[fifo].0.is_none());
    for (at, running) in instances.iter().enumerate() {
        if !has_reader[at] || writes_boundary(running) {
            distance[at] = 0;
            queue.push_back(at);
        }
    }
    while let Some(at) = queue.pop_front() {
        for writer in instances[at].inputs.iter().flatten().filter_map(|&fifo| ends[fifo].1) {
            if distance[writer] == usize::MAX {
                distance[writer] = distance[at] + 1;
                queue.push_back(writer);
            }
        }
    }
    distance
}

/// Every position that the network names exists.
pub(crate) fn check_positions(network: &Network) -> Result<(), String> {
    let fail = |what: &str| Err(format!("the network names {what} that does not exist"));
    for instance in &network.instances {
        if instance.actor.index() >= network.actors.len() {
            return fail("an actor");
        }
    }
    for actor in &network.actors {
        let n_states = actor.schedule.states.len();
        if actor.schedule.initial.index() >= n_states {
            return fail("a state");
        }
        for test in actor.schedule.states.iter().flat_map(|state| &state.tests) {
            if test.action.index() >= actor.actions.len() || test.next.index() >= n_states {
                return fail("an action or state");
            }
        }
    }
    for connection in &network.connections {
        let instance_ports = |endpoint: Endpoint, source: bool| match endpoint {
            Endpoint::Boundary(port) => port < if source { network.inputs.len() } else { network.outputs.len() },
            Endpoint::Instance(instance, port) => network.instances.get(instance.index()).is_some_and(|instance| {
                let actor = &network.actors[instance.actor.index()];
                port < if source { actor.outputs.len() } else { actor.inputs.len() }
            }),
        };
        if !instance_ports(connection.source, true) || !instance_ports(connection.target, false) {
            return fail("a port");
        }
    }
    Ok(())
}
