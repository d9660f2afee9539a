//! Classification of actors: model of computation and rates of each, and why.

use super::Analysis;
use headrace_analysis::rates::{Choice, Class, Rates, Reason};
use headrace_ir::{ActionId, Actor, Port};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn name(class: &Class) -> &'static str {
    match class {
        Class::Static(_) => "static",
        Class::CycloStatic { cycle, .. } if cycle.is_empty() => "ends",
        Class::CycloStatic { .. } => "cyclo-static",
        Class::QuasiStatic { .. } => "quasi-static",
        Class::Dynamic { .. } => "dynamic",
    }
}

fn rates_text(actor: &Actor, rates: &Rates) -> String {
    let side = |ports: &[Port], counts: &[u64]| {
        let parts = ports.iter().zip(counts).filter(|(_, count)| **count > 0);
        parts.map(|(port, count)| format!("{} {count}", port.name)).collect::<Vec<_>>().join(", ")
    };
    format!("{} ==> {}", side(&actor.inputs, &rates.consumes), side(&actor.outputs, &rates.produces))
}

fn ports(actor: &Actor, positions: &[usize]) -> Vec<String> {
    positions.iter().filter_map(|&at| actor.inputs.get(at)).map(|port| port.name.clone()).collect()
}

fn control_names(actor: &Actor, class: &Class) -> Vec<String> {
    let Class::QuasiStatic { control, .. } = class else { return Vec::new() };
    let variables = control.variables.iter().filter_map(|id| actor.variables.get(id.index()));
    variables.map(|variable| variable.name.clone()).chain(ports(actor, &control.ports)).collect()
}

fn choice_text(actor: &Actor, choice: &Choice) -> String {
    let name = |at: ActionId| actor.actions.get(at.index()).map_or("", |action| &action.name);
    let state = actor.schedule.states.get(choice.state.index()).map_or("", |state| &state.name);
    let state = if state.is_empty() { String::new() } else { format!("in state {state} ") };
    format!("{state}it may choose {} or {}", name(choice.actions.0), name(choice.actions.1))
}

fn reason(actor: &Actor, class: &Class) -> String {
    match class {
        Class::Static(rates) => rates_text(actor, rates),
        Class::CycloStatic { prefix, cycle } if cycle.is_empty() => format!("{} firings", prefix.len()),
        Class::CycloStatic { prefix, cycle } => {
            let start = if prefix.is_empty() { String::new() } else { format!("after {}: ", prefix.len()) };
            let shown: Vec<String> =
                cycle.iter().take(4).map(|rates| format!("({})", rates_text(actor, rates))).collect();
            let more = if cycle.len() > 4 { format!(" … {} firings a cycle", cycle.len()) } else { String::new() };
            format!("{start}{}{more}", shown.join(" "))
        }
        Class::QuasiStatic { choice, .. } => {
            format!("by {}: {}", control_names(actor, class).join(", "), choice_text(actor, choice))
        }
        Class::Dynamic { choice, reason } => {
            let why = match reason {
                Reason::Data(port) => {
                    format!("tokens on {} choose and are computed with", ports(actor, &[*port]).join(""))
                }
                Reason::Native => "a guard asks the platform".to_owned(),
                Reason::Time(at) => format!("when tokens come on {} decides", ports(actor, at).join(", ")),
            };
            format!("{why}: {}", choice_text(actor, choice))
        }
    }
}

/// One line an instance.
pub fn text(analysis: &Analysis<'_>) -> String {
    let network = analysis.network;
    let width = network.instances.iter().map(|instance| instance.name.len()).max().unwrap_or(0);
    let mut text = String::from("actors\n");
    for instance in &network.instances {
        let (actor, class) = (&network.actors[instance.actor.index()], &analysis.classes[instance.actor.index()]);
        let _ = writeln!(text, "  {:width$}  {:12}  {}", instance.name, name(class), reason(actor, class));
    }
    text
}

/// One object an instance.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let network = analysis.network;
    let each = network.instances.iter().map(|instance| {
        let (actor, class) = (&network.actors[instance.actor.index()], &analysis.classes[instance.actor.index()]);
        json!({
            "instance": instance.name, "class": actor.class, "model": name(class), "rates": reason(actor, class),
            "control": control_names(actor, class), "actions": actor.actions.len(),
            "states": actor.schedule.states.len(),
        })
    });
    each.collect()
}
