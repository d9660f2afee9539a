//! Operations and the longest chain of them, of each action and of a period.

use super::Analysis;
use crate::words::plural;
use headrace_analysis::operations::{KINDS, Operations, Work, of_actor};
use headrace_analysis::schedule::Outcome;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Actions that the text has a line for, of each actor.
const MAX_ACTIONS: usize = 4;

fn kinds(operations: &Operations) -> String {
    let parts = KINDS.iter().zip(operations.counts).filter(|(_, n)| *n > 0);
    parts.map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ")
}

fn describe(work: &Work) -> String {
    let least = if work.at_least { "at least " } else { "" };
    let total = plural(usize::try_from(work.operations.total()).unwrap_or(usize::MAX), "operation");
    format!("{least}{total}, depth {} ({})", work.depth, kinds(&work.operations))
}

/// The actions with the most work of each actor, and the work of each island's period.
pub fn text(analysis: &Analysis<'_>) -> String {
    let network = analysis.network;
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for instance in &network.instances {
        let actor = &network.actors[instance.actor.index()];
        // Instances of one actor do the same.
        if !seen.insert(instance.actor) {
            continue;
        }
        let mut all: Vec<_> = actor.actions.iter().zip(of_actor(actor)).collect();
        all.retain(|(_, work)| work.operations.total() > 0);
        all.sort_by_key(|(_, work)| std::cmp::Reverse(work.operations.total()));
        for (action, work) in all.iter().take(MAX_ACTIONS) {
            let _ = writeln!(text, "  {}.{}: {}", instance.name, action.name, describe(work));
        }
        if all.len() > MAX_ACTIONS {
            let _ = writeln!(text, "  {}: {} actions with less", instance.name, all.len() - MAX_ACTIONS);
        }
    }
    for (names, operations) in periods(analysis).iter().filter(|(names, _)| names.len() > 1) {
        let _ = writeln!(text, "  a period of {} and {} more: {operations} operations", names[0], names.len() - 1);
    }
    if text.is_empty() { text } else { format!("work of a firing\n{text}") }
}

/// Operations of a period of each island that has one action for each instance.
fn periods(analysis: &Analysis<'_>) -> Vec<(Vec<String>, u64)> {
    let network = analysis.network;
    let mut found = Vec::new();
    for (island, outcome) in analysis.balance.islands.iter().zip(&analysis.periods) {
        if !matches!(outcome, Outcome::Runs(_)) {
            continue;
        }
        let mut total = 0u64;
        let mut names = Vec::new();
        for (id, cycles) in island.instances.iter().zip(&island.cycles) {
            let actor = network.actor_of(*id);
            // Of several actions of one rate values choose: the largest is taken.
            let most = of_actor(actor).iter().map(|work| work.operations.total()).max().unwrap_or(0);
            let firings = analysis.balance.firings[id.index()].as_ref().map_or(0, |firings| firings.cycle.len() as u64);
            total = total.saturating_add(most.saturating_mul(cycles.saturating_mul(firings)));
            names.push(network.instances[id.index()].name.clone());
        }
        found.push((names, total));
    }
    found
}

/// Each action of each actor.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let actors: Vec<Value> = analysis
        .network
        .actors
        .iter()
        .map(|actor| {
            let actions: Vec<Value> = actor
                .actions
                .iter()
                .zip(of_actor(actor))
                .map(|(action, work)| {
                    let counts: Map<String, Value> = KINDS
                        .iter()
                        .zip(work.operations.counts)
                        .map(|(kind, n)| ((*kind).to_owned(), json!(n)))
                        .collect();
                    json!({
                        "action": action.name, "operations": counts, "total": work.operations.total(),
                        "depth": work.depth, "at_least": work.at_least,
                    })
                })
                .collect();
            json!({ "class": actor.class, "actions": actions })
        })
        .collect();
    let periods: Vec<Value> =
        periods(analysis).iter().map(|(names, n)| json!({ "instances": names, "at_most": n })).collect();
    json!({ "actors": actors, "periods": periods })
}
