//! State that is carried from firing to firing, and loops of FIFOs.

use super::Analysis;
use headrace_analysis::carried::{Kind, loops, of_actor};
use headrace_ir::Actor;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Kinds with what the text says of them.
const SAID: [(Kind, &str); 5] = [
    (Kind::True, "truly, one firing after the other"),
    (Kind::Linear, "GF(2)-linear, can be split"),
    (Kind::Affine, "affine, can be split"),
    (Kind::Counter, "counters"),
    (Kind::Held, "held from when they are set"),
];

fn variables(actor: &Actor) -> Vec<(&str, Kind)> {
    let kinds = of_actor(actor);
    let all = actor.variables.iter().zip(kinds).filter(|(variable, _)| variable.mutable);
    all.map(|(variable, kind)| (variable.name.as_str(), kind)).collect()
}

/// The variables of each kind.
pub fn text(analysis: &Analysis<'_>) -> String {
    let network = analysis.network;
    let mut text = String::new();
    for (wanted, said) in SAID {
        let mut names = Vec::new();
        for instance in &network.instances {
            let found = variables(&network.actors[instance.actor.index()]);
            let of_kind = found.into_iter().filter(|(_, kind)| *kind == wanted);
            names.extend(of_kind.map(|(name, _)| format!("{}.{name}", instance.name)));
        }
        if !names.is_empty() {
            let _ = writeln!(text, "  {said}: {}", names.join(", "));
        }
    }
    for group in loops(network) {
        let names: Vec<&str> = group.iter().map(|id| network.instances[id.index()].name.as_str()).collect();
        let _ = writeln!(text, "  by tokens around {}", names.join(", "));
    }
    if text.is_empty() {
        "carried from firing to firing: nothing, all are independent\n".to_owned()
    } else {
        format!("carried from firing to firing\n{text}")
    }
}

/// The kind of each variable, and the loops.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let network = analysis.network;
    let instances: Vec<Value> = network
        .instances
        .iter()
        .map(|instance| {
            let variables: Vec<Value> = variables(&network.actors[instance.actor.index()])
                .into_iter()
                .map(|(name, kind)| json!({ "name": name, "kind": kind.name() }))
                .collect();
            json!({ "instance": instance.name, "variables": variables })
        })
        .collect();
    let loops: Vec<Vec<&str>> = loops(network)
        .iter()
        .map(|group| group.iter().map(|id| network.instances[id.index()].name.as_str()).collect())
        .collect();
    json!({ "instances": instances, "loops": loops })
}
