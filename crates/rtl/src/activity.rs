//! Activity detection: an output that says whether a design has anything to do in the next clock cycle.
//!
//! Registers that hold data may change for ever, as those of rounds do between two blocks. What counts is control: registers and
//! memories that handshakes of the module depend on, in any number of cycles. Where none of these takes another value at the
//! next edge, in no module, and no token moves, nothing will happen until somebody gives or takes one: the same follows again
//! from the same, as long as nobody looks at data that is not valid, which is what valid means.

use crate::depend::{self, Paths};
use crate::{Bits, CompareOp, Connection, Design, Expr, Module, SignalId, SignalKind};
use std::collections::{BTreeMap, BTreeSet};

/// The output that is added: 1 where control changes at the next edge.
pub const WORKS: &str = "works_o";

/// The design with [`WORKS`] at each of its modules. Outputs whose names end in `data_o` carry data, all others control.
pub fn with_activity(design: &Design) -> Design {
    let mut paths: Vec<Paths> = Vec::new();
    let mut new = design.clone();
    for (number, module) in design.modules.iter().enumerate() {
        let nodes = depend::nodes(module, design, &paths);
        let direct = depend::direct(&nodes);
        paths.push(depend::paths(module, &nodes).unwrap_or_default());
        let control = control(module, design, &direct);
        add(&mut new.modules[number], &control);
    }
    new
}

/// The signals that handshakes of a module depend on, from cycle to cycle.
fn control(module: &Module, design: &Design, direct: &BTreeMap<SignalId, BTreeSet<SignalId>>) -> BTreeSet<SignalId> {
    let outputs = module.ports().filter(|(_, port)| port.kind == SignalKind::Output && !port.name.ends_with("data_o"));
    let mut next: Vec<SignalId> = outputs.map(|(id, _)| id).collect();
    for instance in &module.instances {
        let inner = design.module(&instance.module).map(|(_, inner)| inner);
        let is_control = |connection: &&Connection| {
            let port = inner.and_then(|inner| inner.find(&connection.port).map(|id| inner.signal(id)));
            port.is_some_and(|port| port.kind == SignalKind::Input && !port.name.ends_with("data_i"))
        };
        next.extend(instance.connections.iter().filter(is_control).map(|connection| connection.signal));
    }
    let mut seen = BTreeSet::new();
    while let Some(signal) = next.pop() {
        if !seen.insert(signal) {
            continue;
        }
        next.extend(direct.get(&signal).into_iter().flatten());
        if let SignalKind::Register { next: after, .. } = &module.signal(signal).kind {
            next.push(*after);
        }
        for memory in module.memories.iter().filter(|memory| memory.reads.iter().any(|read| read.data == signal)) {
            next.extend(memory.writes.iter().flat_map(|write| [write.enable, write.address, write.data]));
        }
    }
    seen
}

/// Adds the output to a module, whose instances have it.
fn add(module: &mut Module, control: &BTreeSet<SignalId>) {
    let mut changes = Vec::new();
    for &id in control {
        if let SignalKind::Register { next, .. } = module.signal(id).kind {
            changes.push(Expr::compare(CompareOp::NotEqual, module.get(id), module.get(next)));
        }
    }
    for memory in module.memories.iter().filter(|memory| memory.reads.iter().any(|read| control.contains(&read.data))) {
        changes.extend(memory.writes.iter().map(|write| module.get(write.enable)));
    }
    for at in 0..module.instances.len() {
        let works = module.add(format!("{}_works", module.instances[at].name), 1, SignalKind::Wire);
        module.instances[at].connections.push(Connection { port: WORKS.to_owned(), signal: works });
        changes.push(module.get(works));
    }
    let width = changes.len() as u32;
    let any = match width {
        0 => Expr::bit(false),
        _ => Expr::compare(CompareOp::NotEqual, Expr::concat(changes), Expr::constant(Bits::zero(width))),
    };
    let output = module.add(WORKS, 1, SignalKind::Output);
    module.assign(output, any);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::Simulator;
    use crate::{read, verify};

    #[test]
    fn data_that_changes_for_ever_is_no_work() {
        // It takes a token, shows it for a cycle after a cycle of pause, and stirs its data meanwhile.
        let text = "module pause\n    input in_data_i: 8\n    input in_valid_i: 1\n    output in_ready_o: 1\n    output out_data_o: 8\n    \
                    output out_valid_o: 1\n    wire state_d: 2\n    register state_q: 2 = 2'h0 next state_d\n    wire data_d: 8\n    \
                    register data_q: 8 = 8'h0 next data_d\n    assign in_ready_o = eq(state_q, 2'h0)\n    assign out_valid_o = eq(state_q, 2'h2)\n    \
                    assign out_data_o = data_q\n    assign data_d = add(in_data_i, data_q)\n    \
                    assign state_d = select(eq(state_q, 2'h0), zext(in_valid_i, 2), select(eq(state_q, 2'h1), 2'h2, 2'h0))\n";
        let design = with_activity(&read(text).expect("it is right"));
        assert_eq!(verify(&design), Vec::<String>::new());
        let mut simulator = Simulator::new(&design).expect("it is right");
        let mut works = Vec::new();
        simulator.set("in_data_i", Bits::new(8, 3u8));
        for cycle in 0..8 {
            simulator.set("in_valid_i", Bits::new(1, u8::from(cycle == 2)));
            simulator.settle();
            works.push(simulator.get(WORKS).is_some_and(|bit| !bit.is_zero()));
            simulator.clock();
        }
        assert_eq!(works, [false, false, true, true, true, false, false, false]);
        assert_ne!(simulator.get("out_data_o"), Some(&Bits::zero(8)));
    }
}
