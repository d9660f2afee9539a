//! Functions that run passes of loops.

use super::{KernelNames, Writer};
use crate::c::kernel::{self, element_type};
use headrace_transform::control::CountedLoop;
use headrace_transform::kernel::{Effect, Graph, Loop};
use std::fmt::Write as _;

impl Writer<'_> {
    /// A function for each loop: `void PREFIX_loop_N(s, in…, out…, passes)`, pointers for the ports that it uses.
    pub(super) fn loops(&self) -> String {
        let mut text = String::new();
        let all = self.automaton.states.iter().flat_map(|state| &state.loops);
        for (number, counted) in all.enumerate() {
            text.push_str(&self.plain_loop(counted, number));
        }
        text
    }

    /// One pass after the other.
    fn plain_loop(&self, counted: &CountedLoop, number: usize) -> String {
        let prefix = self.prefix;
        let body = &counted.body;
        let names = KernelNames {
            network: self.network,
            places: self.places,
            tables: format!("{prefix}_loop_{number}_table"),
            asked: Vec::new(),
        };
        let mut graph = body.graph.clone();
        let effects = effects_of(body, &mut graph);
        let roots: Vec<_> = effects.iter().flat_map(Effect::uses).collect();
        let mut text = kernel::tables(&graph, &roots, &names);
        let _ = write!(text, "static void {prefix}_loop_{number}(struct {prefix} *restrict s");
        let (mut advance, mut unused) = (String::new(), String::new());
        for ((n, width), port) in body.consumes.iter().zip(&self.network.inputs).filter(|(consumes, _)| consumes.0 > 0)
        {
            let _ = write!(text, ", const {} *restrict in_{}", element_type(*width), port.name);
            let _ = writeln!(advance, "        in_{} += {n};", port.name);
            let _ = writeln!(unused, "    (void)in_{};", port.name);
        }
        for ((n, width), port) in body.produces.iter().zip(&self.network.outputs).filter(|(produces, _)| produces.0 > 0)
        {
            let _ = write!(text, ", {} *restrict out_{}", element_type(*width), port.name);
            let _ = writeln!(advance, "        out_{} += {n};", port.name);
            let _ = writeln!(unused, "    (void)out_{};", port.name);
        }
        let _ = write!(text, ", size_t passes) {{\n{unused}    do {{\n");
        text.push_str(&kernel::statements(&graph, &body.objects, &effects, &names, 2));
        let _ = write!(text, "{advance}    }} while (--passes != 0);\n}}\n\n");
        text
    }
}

/// A pass as effects.
fn effects_of(body: &Loop, graph: &mut Graph) -> Vec<Effect> {
    let outputs = body.outputs.iter().map(|&(port, offset, value)| Effect::Output { port, offset, value });
    let mut effects: Vec<Effect> = outputs.collect();
    for carried in &body.carried {
        let index = graph.number(carried.index as u128, 32);
        effects.push(Effect::Store { object: carried.object, index, value: carried.next });
    }
    effects
}
