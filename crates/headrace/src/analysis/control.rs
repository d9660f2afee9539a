//! Control slice: which variables and FIFOs decide what happens.

use super::Analysis;
use headrace_analysis::control::Uses;
use headrace_ir::Actor;
use serde_json::{Value, json};
use std::fmt::Write as _;

fn named<'a>(actor: &'a Actor, uses: &'a [Uses]) -> impl Iterator<Item = (&'a str, Uses)> {
    let variables = actor.variables.iter().zip(uses).filter(|(variable, _)| variable.mutable);
    variables.map(|(variable, uses)| (variable.name.as_str(), *uses))
}

/// The state variables that are control, and the FIFOs that carry it.
pub fn text(analysis: &Analysis<'_>) -> String {
    let network = analysis.network;
    let mut text = String::new();
    let (mut n_variables, mut n_control) = (0, 0);
    for (instance, slice) in network.instances.iter().zip(&analysis.control.instances) {
        let actor = &network.actors[instance.actor.index()];
        let all = || named(actor, &slice.variables);
        let names: Vec<&str> = all().filter(|(_, uses)| uses.is_control()).map(|(name, _)| name).collect();
        n_variables += all().count();
        n_control += names.len();
        if !names.is_empty() {
            let _ = writeln!(text, "  in {}: {}", instance.name, names.join(", "));
        }
    }
    let carried = network.connections.iter().zip(&analysis.control.connections).filter(|(_, uses)| uses.is_control());
    let names: Vec<String> = carried.map(|(connection, _)| network.describe(connection).1).collect();
    if !names.is_empty() {
        let _ = writeln!(text, "  on the way to: {}", names.join(", "));
    }
    let (of, all) = (network.connections.len(), names.len());
    format!("control: {n_control} of {n_variables} state variables, {all} of {of} FIFOs\n{text}")
}

/// What everything reaches.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let network = analysis.network;
    let names = |uses: Uses| json!(uses.names());
    let instances: Vec<Value> = network
        .instances
        .iter()
        .zip(&analysis.control.instances)
        .map(|(instance, slice)| {
            let actor = &network.actors[instance.actor.index()];
            let variables: Vec<Value> = named(actor, &slice.variables)
                .map(|(name, uses)| json!({ "name": name, "control": uses.is_control(), "reaches": names(uses) }))
                .collect();
            json!({ "instance": instance.name, "variables": variables })
        })
        .collect();
    let fifos: Vec<Value> = network
        .connections
        .iter()
        .zip(&analysis.control.connections)
        .map(|(connection, uses)| {
            let (source, target) = network.describe(connection);
            json!({ "source": source, "target": target, "control": uses.is_control(), "reaches": names(*uses) })
        })
        .collect();
    json!({ "instances": instances, "fifos": fifos })
}
