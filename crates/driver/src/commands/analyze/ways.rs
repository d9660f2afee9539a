//! How the loops of an operation are printed in C: the ways to run each, where they run, and how each was shown to do what the
//! loop means.

use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_targets::automata::automaton_of_operation;
use headrace_targets::c::{Options, PrintedLoop, PrintedWay, emit_with};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// What is printed for an operation; nothing where its network runs on its scheduler.
pub fn of_operation(spec: &OperationSpec, network: &Network) -> Vec<PrintedLoop> {
    let automaton = automaton_of_operation(spec, network).ok();
    // What the target cannot compile has no loops.
    emit_with(network, automaton.as_ref(), &Options::default()).map(|emission| emission.loops).unwrap_or_default()
}

fn tokens(counts: &[u64], ports: &[headrace_ir::Port]) -> Vec<String> {
    let used = counts.iter().zip(ports).filter(|(count, _)| **count > 0);
    used.map(|(count, port)| format!("{count} {}", port.name)).collect()
}

fn ways(text: &mut String, said: &str, ways: &[PrintedWay]) {
    for way in ways {
        let needs = if way.features.is_empty() { "everywhere".to_owned() } else { way.features.join(" ") };
        let _ = writeln!(text, "    {said}{}: {needs}", way.name);
        for evidence in &way.evidence {
            let _ = writeln!(text, "      {evidence}");
        }
    }
}

/// The loops, a line for each way and for each thing that was shown of it.
pub fn text(network: &Network, loops: &[PrintedLoop]) -> String {
    if loops.is_empty() {
        return "loops in C: none; the network runs on its scheduler, or kernel after kernel\n".to_owned();
    }
    let mut text = String::from("loops in C\n");
    for one in loops {
        let (takes, gives) = (tokens(&one.consumes, &network.inputs), tokens(&one.produces, &network.outputs));
        let order = if one.is_independent { "in any order" } else { "one after the other" };
        let _ = writeln!(text, "  loop {}, passes {order}: {} ==> {}", one.number, takes.join(", "), gives.join(", "));
        ways(&mut text, "", &one.ways);
        ways(&mut text, "many messages, ", &one.many);
    }
    text
}

/// The same for programs.
pub fn json(network: &Network, loops: &[PrintedLoop]) -> Value {
    let of_way = |way: &PrintedWay| {
        let evidence: Vec<Value> = way
            .evidence
            .iter()
            .map(|one| json!({ "kind": one.kind(), "what": one.what(), "text": one.to_string() }))
            .collect();
        json!({ "name": way.name, "features": way.features, "evidence": evidence })
    };
    let ports = |counts: &[u64], ports: &[headrace_ir::Port]| -> Value {
        let used = counts.iter().zip(ports).filter(|(count, _)| **count > 0);
        used.map(|(count, port)| (port.name.to_string(), json!(count))).collect::<serde_json::Map<_, _>>().into()
    };
    let all: Vec<Value> = loops
        .iter()
        .map(|one| {
            json!({
                "number": one.number,
                "consumes": ports(&one.consumes, &network.inputs),
                "produces": ports(&one.produces, &network.outputs),
                "independent": one.is_independent,
                "ways": one.ways.iter().map(of_way).collect::<Vec<_>>(),
                "many": one.many.iter().map(of_way).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!(all)
}
