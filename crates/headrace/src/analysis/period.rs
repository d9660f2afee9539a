//! The repetition vector, a period and its buffers, for what is static.

use super::Analysis;
use headrace_analysis::schedule::{Order, Outcome, Period, order_text};
use serde_json::{Value, json};
use std::fmt::Write as _;

fn bytes(analysis: &Analysis<'_>, period: &Period, tokens: &[u64]) -> u64 {
    let fifos = period.fifos.iter().zip(tokens);
    fifos.fold(0, |sum, (&fifo, &tokens)| {
        let ty = analysis.network.target_port(&analysis.network.connections[fifo]).ty;
        sum + tokens * ty.storage_bytes() as u64
    })
}

/// One paragraph an island of more than one instance.
pub fn text(analysis: &Analysis<'_>) -> String {
    let network = analysis.network;
    let mut text = String::new();
    for (island, outcome) in analysis.balance.islands.iter().zip(&analysis.periods) {
        if island.instances.len() < 2 && !matches!(outcome, Outcome::Deadlock(_) | Outcome::Unbalanced) {
            continue;
        }
        let name = |at: usize| network.instances[island.instances[at].index()].name.as_str();
        let counts: Vec<String> =
            island.cycles.iter().enumerate().map(|(at, cycles)| format!("{} {cycles}", name(at))).collect();
        if !counts.is_empty() {
            let _ = writeln!(text, "  repetition vector: {}", counts.join(", "));
        }
        match outcome {
            Outcome::Runs(period) => {
                let mut say = |what: &str, order: &Order| {
                    let bytes = bytes(analysis, period, &order.most);
                    let _ = writeln!(text, "  {what}: {}; {bytes} bytes of FIFOs", order_text(network, order));
                };
                say("demand-driven", &period.demand_driven);
                if period.small != period.demand_driven {
                    say("smallest found", &period.small);
                }
                let _ =
                    writeln!(text, "  no order does with less than {} bytes", bytes(analysis, period, &period.least));
            }
            Outcome::Deadlock(_) => text.push_str("  it stops in every order\n"),
            Outcome::TooLong => text.push_str("  the period is too long to be simulated\n"),
            Outcome::Unbalanced => text.push_str("  there is no repetition vector\n"),
        }
    }
    if text.is_empty() { text } else { format!("period of what is static\n{text}") }
}

/// One object an island.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let network = analysis.network;
    let islands = analysis.balance.islands.iter().zip(&analysis.periods).map(|(island, outcome)| {
        let name = |id: headrace_ir::InstanceId| network.instances[id.index()].name.clone();
        let instances: Vec<String> = island.instances.iter().map(|&id| name(id)).collect();
        let order = |period: &Period, order: &Order| {
            let firings: Vec<Value> = order.firings.iter().map(|&(id, n)| json!([name(id), n])).collect();
            json!({ "firings": firings, "most": order.most, "bytes": bytes(analysis, period, &order.most) })
        };
        let outcome = match outcome {
            Outcome::Runs(period) => {
                let fifos = period.fifos.iter().map(|&fifo| network.describe(&network.connections[fifo]));
                let fifos: Vec<Value> = fifos.map(|(source, target)| json!([source, target])).collect();
                json!({
                    "runs": true, "fifos": fifos, "least": period.least,
                    "demand_driven": order(period, &period.demand_driven), "small": order(period, &period.small),
                })
            }
            Outcome::Deadlock(stuck) => {
                let stuck: Vec<Value> = stuck
                    .iter()
                    .map(|stuck| json!({ "instance": name(stuck.instance), "needed": stuck.needed, "there": stuck.there }))
                    .collect();
                json!({ "runs": false, "deadlock": stuck })
            }
            Outcome::TooLong => json!({ "runs": null, "why": "too long" }),
            Outcome::Unbalanced => json!({ "runs": false, "why": "no repetition vector" }),
        };
        json!({ "instances": instances, "cycles": island.cycles, "period": outcome })
    });
    islands.collect()
}
