//! `headrace analyze`.

use super::Context;
use crate::cli::AnalyzeArgs;
use crate::failure::Outcome;
use crate::output;
use headrace_analysis::order_dependence;
use headrace_analysis::rates::{Class, Rates, classify};
use headrace_ir::{Actor, DEFAULT_FIFO_TOKENS, Network};
use headrace_source::Severity;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Says of each actor which model of computation it follows, of each FIFO how large it is, and of the network whether
/// its streams may depend on the order of firings.
pub fn analyze(context: &mut Context, arguments: &AnalyzeArgs) -> Outcome {
    let network = context.elaborate(&arguments.network, &arguments.parameters)?;
    if arguments.json {
        let text = serde_json::to_string_pretty(&as_json(&network)).unwrap_or_default();
        return output::print(format!("{text}\n").as_bytes());
    }
    output::print(as_text(&network).as_bytes())?;
    let findings = order_dependence::diagnostics(&network);
    context.show(&findings);
    let count = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    let verdict = if count == 0 {
        "no actor depends on the order of firings: the network is determinate".to_owned()
    } else {
        format!("{count} choices may depend on the order of firings")
    };
    output::print(format!("{verdict}\n").as_bytes())
}

fn class_name(class: &Class) -> &'static str {
    match class {
        Class::Static(_) => "static",
        Class::CycloStatic { cycle, .. } if cycle.is_empty() => "ends",
        Class::CycloStatic { .. } => "cyclo-static",
        Class::Dynamic { .. } => "dynamic",
    }
}

fn rates_text(actor: &Actor, rates: &Rates) -> String {
    let side = |ports: &[headrace_ir::Port], counts: &[u64]| {
        let parts = ports.iter().zip(counts).filter(|(_, count)| **count > 0);
        parts.map(|(port, count)| format!("{} {count}", port.name)).collect::<Vec<_>>().join(", ")
    };
    format!("{} ==> {}", side(&actor.inputs, &rates.consumes), side(&actor.outputs, &rates.produces))
}

fn class_text(actor: &Actor, class: &Class) -> String {
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
        Class::Dynamic { state, actions } => {
            let name = |at: headrace_ir::ActionId| actor.actions.get(at.index()).map_or("", |action| &action.name);
            let state = actor.schedule.states.get(state.index()).map_or("", |state| &state.name);
            let state = if state.is_empty() { String::new() } else { format!("in state {state} ") };
            format!("{state}it may choose {} or {}", name(actions.0), name(actions.1))
        }
    }
}

fn as_text(network: &Network) -> String {
    let classes: Vec<Class> = network.actors.iter().map(classify).collect();
    let width = network.instances.iter().map(|instance| instance.name.len()).max().unwrap_or(0);
    let mut text = format!("network {}\n\nactors\n", network.name);
    for instance in &network.instances {
        let (actor, class) = (&network.actors[instance.actor.index()], &classes[instance.actor.index()]);
        let _ = writeln!(text, "  {:width$}  {:12}  {}", instance.name, class_name(class), class_text(actor, class));
    }
    let mut bytes = 0;
    text.push_str("\nFIFOs\n");
    for connection in &network.connections {
        let (source, target) = network.describe(connection);
        let capacity = network.capacity(connection, DEFAULT_FIFO_TOKENS);
        let ty = network.target_port(connection).ty;
        bytes += capacity.saturating_mul(ty.storage_bytes() as u64);
        let _ = writeln!(text, "  {source} --> {target}: {capacity} tokens of {ty}");
    }
    let _ = writeln!(text, "  {bytes} bytes in all\n");
    text
}

fn as_json(network: &Network) -> Value {
    let actors: Vec<Value> = network
        .instances
        .iter()
        .map(|instance| {
            let actor = &network.actors[instance.actor.index()];
            let class = classify(actor);
            json!({
                "instance": instance.name, "class": actor.class, "model": class_name(&class), "rates": class_text(actor, &class),
                "actions": actor.actions.len(), "states": actor.schedule.states.len(),
            })
        })
        .collect();
    let fifos: Vec<Value> = network
        .connections
        .iter()
        .map(|connection| {
            let (source, target) = network.describe(connection);
            json!({
                "source": source, "target": target, "type": network.target_port(connection).ty.to_string(),
                "capacity": network.capacity(connection, DEFAULT_FIFO_TOKENS), "largest_burst": network.largest_burst(connection),
            })
        })
        .collect();
    let findings: Vec<Value> = order_dependence::diagnostics(network)
        .iter()
        .map(|finding| json!({ "slug": finding.slug, "message": finding.message, "notes": finding.notes }))
        .collect();
    json!({ "network": network.name, "actors": actors, "fifos": fifos, "order_dependence": findings })
}
