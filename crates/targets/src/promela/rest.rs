//! Deadlock classification. What it means that nothing goes on.
//!
//! A network that nothing comes in to any more may rest. It must not rest while
//!
//! * something that is to come in finds no room (an input with any number of tokens always has another),
//! * an action that is enabled waits for room, or
//! * instances wait for each other in a cycle: the largest set of instances each of which has actions that lack tokens, all of
//!   them tokens that another of the set would have to make.

use super::model::Model;
use super::names::one_of;
use super::rules::{Does, Rule, needs};
use headrace_ir::{Endpoint, InstanceId};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// An action that can lack tokens, in a state of the FSM.
struct Waiting {
    instance: usize,
    /// The states of the instance.
    when: String,
    action: String,
    /// FIFO, tokens needed.
    needs: Vec<(usize, u64)>,
}

impl Waiting {
    fn lacks(&self, model: &Model<'_>) -> String {
        let lacks: Vec<String> =
            self.needs.iter().map(|(fifo, n)| format!("n_{} < {n}", model.named.fifos[*fifo])).collect();
        let when = if self.when.is_empty() { String::new() } else { format!("{} && ", self.when) };
        format!("({when}({}))", lacks.join(" || "))
    }

    /// It lacks tokens, but none that an instance of the cycle would have to make.
    fn may_go_on(&self, model: &Model<'_>) -> String {
        let in_cycle: Vec<String> = self
            .needs
            .iter()
            .filter_map(|(fifo, n)| match model.network.connections[*fifo].source {
                Endpoint::Instance(writer, _) => {
                    Some(format!("(n_{} < {n} && cycle[{}])", model.named.fifos[*fifo], writer.index()))
                }
                Endpoint::Boundary(_) => None,
            })
            .collect();
        if in_cycle.is_empty() {
            self.lacks(model)
        } else {
            format!("({} && !({}))", self.lacks(model), in_cycle.join(" || "))
        }
    }
}

fn waiting(model: &Model<'_>) -> Vec<Waiting> {
    let mut all = Vec::new();
    for at in 0..model.network.instances.len() {
        let actor = model.network.actor_of(InstanceId(at as u32));
        let behaviour = &model.abstraction.behaviours[at];
        let mut by_fsm: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (number, state) in behaviour.states.iter().enumerate() {
            if state.initialised == actor.initializers.len() {
                by_fsm.entry(state.fsm).or_default().push(number);
            }
        }
        let numbers: Vec<usize> = (0..behaviour.states.len()).collect();
        for (fsm, states) in by_fsm {
            let when = one_of(&format!("at_{}", model.named.instances[at]), &states, &numbers);
            for test in &actor.schedule.states[fsm].tests {
                let action = &actor.actions[test.action.index()];
                let needs = needs(action, &model.wires[at]);
                if !needs.is_empty() && needs.len() == action.consumes.len() {
                    all.push(Waiting { instance: at, when: when.clone(), action: action.name.clone(), needs });
                }
            }
        }
    }
    all
}

/// The process that looks what waits for what when nothing goes on.
pub(super) fn print(model: &Model<'_>, text: &mut String, rules: &[Vec<Rule>]) {
    let network = model.network;
    let n = network.instances.len();
    let waiting = waiting(model);
    let _ = write!(
        text,
        "/* Nothing goes on: whether that is a deadlock, and what waits for what. */\nbit deadlock;\nbit cycle[{}];\n\
         active proctype rest() {{\n  timeout ->\n#ifndef OVERFLOW\n  d_step {{\n    printf(\"> rest\\n\");\n",
        n.max(1)
    );
    for (at, connection) in network.connections.iter().enumerate() {
        let Some(fifo) = &model.abstraction.fifos[at] else { continue };
        let (source, target) = network.describe(connection);
        let name = &model.named.fifos[at];
        let _ = writeln!(
            text,
            "    if :: n_{name} > 0 -> printf(\"> left {source} --> {target}: %d of {}\\n\", n_{name}) :: else fi;",
            fifo.capacity
        );
    }
    for (port, input) in network.inputs.iter().enumerate() {
        let behind = |connection: &headrace_ir::Connection| {
            connection.source == Endpoint::Boundary(port) && matches!(connection.target, Endpoint::Instance(..))
        };
        if model.environment.feeds(port) && network.connections.iter().any(behind) {
            let _ = writeln!(
                text,
                "    if :: MORE_{} -> deadlock = 1; printf(\"> undelivered {}\\n\") :: else fi;",
                model.named.inputs[port], input.name
            );
        }
    }
    for (at, rules) in rules.iter().enumerate() {
        let (name, shown) = (&model.named.instances[at], &network.instances[at].name);
        let actor = network.actor_of(InstanceId(at as u32));
        let mut by_action: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (number, rule) in rules.iter().enumerate() {
            let action = match &rule.effect.does {
                Does::Fires(action) => &actor.actions[*action].name,
                Does::Initialises(action) => &actor.initializers[*action].name,
                Does::Finds { .. } => continue,
            };
            if !rule.effect.puts.is_empty() {
                by_action.entry(action.clone()).or_default().push(format!("can_{name}_{number}"));
            }
        }
        for (action, can) in by_action {
            let _ = writeln!(
                text,
                "    if :: {} -> deadlock = 1; printf(\"> room {shown}.{}\\n\") :: else fi;",
                can.join(" || "),
                action.escape_default()
            );
        }
    }
    for wait in &waiting {
        let shown = &network.instances[wait.instance].name;
        for (fifo, tokens) in &wait.needs {
            let name = &model.named.fifos[*fifo];
            let (_, target) = network.describe(&network.connections[*fifo]);
            let port = target.rsplit('.').next().unwrap_or(&target).to_owned();
            let when = if wait.when.is_empty() { String::new() } else { format!("{} && ", wait.when) };
            let _ = writeln!(
                text,
                "    if :: {when}n_{name} < {tokens} -> printf(\"> wait {shown}.{} {port} %d of {tokens}\\n\", n_{name}) :: else fi;",
                wait.action.escape_default()
            );
        }
    }
    let of = |at: usize| waiting.iter().filter(move |wait| wait.instance == at);
    for at in 0..n {
        let lacks: Vec<String> = of(at).map(|wait| wait.lacks(model)).collect();
        if !lacks.is_empty() {
            let _ = writeln!(text, "    cycle[{at}] = {};", lacks.join(" || "));
        }
    }
    text.push_str("    i = 1;\n    do\n    :: i > 0 -> i = 0;\n");
    for at in 0..n {
        let may: Vec<String> = of(at).map(|wait| wait.may_go_on(model)).collect();
        if !may.is_empty() {
            let _ = writeln!(
                text,
                "      if :: cycle[{at}] && ({}) -> cycle[{at}] = 0; i = 1 :: else fi;",
                may.join(" || ")
            );
        }
    }
    text.push_str("      skip\n    :: else -> break\n    od;\n");
    for (at, instance) in network.instances.iter().enumerate() {
        let _ = writeln!(
            text,
            "    if :: cycle[{at}] -> deadlock = 1; printf(\"> cycle {}\\n\") :: else fi;",
            instance.name
        );
    }
    text.push_str("    skip\n  };\n  assert(!deadlock)\n#else\n  skip\n#endif\n}\n");
}
