//! How the loops of an operation are printed in C: the ways to run each, where they run, and how each was shown to do
//! what the loop means.

use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_source::SourceMap;
use headrace_targets::automata::{Hindrance, NotFused, automaton_of_operation, hindrances};
use headrace_targets::c::{Options, PrintedLoop, PrintedVariant, emit_with};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The loops of an operation.
pub struct Found {
    /// What is printed for them.
    loops: Vec<PrintedLoop>,
    /// Why there are no others, or none.
    hindrances: Vec<Hindrance>,
    /// Whether the network keeps its scheduler.
    is_scheduled: bool,
}

/// What is printed for an operation; no loops where its network runs on its scheduler.
pub fn of_operation(spec: &OperationSpec, network: &Network) -> Found {
    let automaton = automaton_of_operation(spec, network);
    // What the target cannot compute has no loops.
    let emission = emit_with(network, automaton.as_ref().ok(), &Options::default());
    let loops = emission.map(|emission| emission.loops).unwrap_or_default();
    let is_scheduled = automaton.is_err();
    let hindrances = match automaton {
        Ok(automaton) => hindrances(&automaton),
        Err(NotFused { reason, span }) => vec![Hindrance { reason, span }],
    };
    Found { loops, hindrances, is_scheduled }
}

/// The file, the line and the column of a hindrance.
fn place<'a>(sources: &'a SourceMap, hindrance: &Hindrance) -> Option<(&'a str, usize, usize)> {
    let span = hindrance.span?;
    let (line, column) = sources.position(span);
    Some((sources.name(span.file), line, column))
}

fn tokens(counts: &[u64], ports: &[headrace_ir::Port]) -> Vec<String> {
    let used = counts.iter().zip(ports).filter(|(count, _)| **count > 0);
    used.map(|(count, port)| format!("{count} {}", port.name)).collect()
}

fn ways(text: &mut String, said: &str, ways: &[PrintedVariant]) {
    for way in ways {
        let needs = if way.features.is_empty() { "everywhere".to_owned() } else { way.features.join(" ") };
        let _ = writeln!(text, "    {said}{}, {:.1} cycles by estimate: {needs}", way.name, way.cycles);
        for evidence in &way.evidence {
            let _ = writeln!(text, "      {evidence}");
        }
    }
}

/// The loops, a line for each way and for each thing that was shown of it.
pub fn text(network: &Network, sources: &SourceMap, found: &Found) -> String {
    let mut text = String::from(match (found.loops.is_empty(), found.is_scheduled) {
        (false, _) => "loops in C\n",
        (true, true) => "loops in C: none; the network runs on its scheduler, actor after actor\n",
        (true, false) => "loops in C: none; the network runs kernel after kernel\n",
    });
    for one in &found.loops {
        let (takes, gives) = (tokens(&one.consumes, &network.inputs), tokens(&one.produces, &network.outputs));
        let order = if one.is_independent { "in any order" } else { "one after the other" };
        let _ =
            writeln!(text, "  loop {}, iterations {order}: {} ==> {}", one.number, takes.join(", "), gives.join(", "));
        ways(&mut text, "", &one.ways);
        ways(&mut text, "many messages, ", &one.many);
    }
    for hindrance in &found.hindrances {
        let place = place(sources, hindrance);
        let place = place.map_or(String::new(), |(file, line, column)| format!(" ({file}:{line}:{column})"));
        let _ = writeln!(text, "  no loop: {}{place}", hindrance.reason);
    }
    text
}

/// The same for programs: the loops, and why there are no others.
pub fn json(network: &Network, sources: &SourceMap, found: &Found) -> (Value, Value) {
    let of_way = |way: &PrintedVariant| {
        let evidence: Vec<Value> = way
            .evidence
            .iter()
            .map(|one| json!({ "kind": one.kind(), "what": one.what(), "text": one.to_string() }))
            .collect();
        let work = json!({
            "operations": way.work.operations,
            "chain": way.work.chain,
            "beside_the_chain": way.work.beside,
            "iterations": way.work.group,
            "one_after_the_other": way.work.is_carried,
        });
        let cycles = way.cycles;
        json!({ "name": way.name, "features": way.features, "estimated_cycles": cycles, "work": work, "evidence": evidence })
    };
    let ports = |counts: &[u64], ports: &[headrace_ir::Port]| -> Value {
        let used = counts.iter().zip(ports).filter(|(count, _)| **count > 0);
        used.map(|(count, port)| (port.name.to_string(), json!(count))).collect::<serde_json::Map<_, _>>().into()
    };
    let all: Vec<Value> = found
        .loops
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
    let hindrances = found.hindrances.iter().map(|hindrance| {
        let place = place(sources, hindrance);
        let place = place.map(|(file, line, column)| json!({ "file": file, "line": line, "column": column }));
        json!({ "reason": hindrance.reason, "place": place })
    });
    (Value::Array(all), Value::Array(hindrances.collect()))
}
