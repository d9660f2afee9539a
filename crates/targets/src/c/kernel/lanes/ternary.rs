//! Technology mapping to three-input gates. Bitwise operations of a loop in gates of three operands.
//!
//! They form a circuit on whole lanes: what other operations give goes in, what other operations need comes out. It is
//! covered with as few gates as a search finds; compilers join two operations where one reads the other, but do not
//! look for other ways to say the same.

use super::super::vectors::gate_text;
use super::Printer;
use headrace_boolean::basis::Basis;
use headrace_boolean::circuit::lookup_tables::cover;
use headrace_boolean::circuit::{Circuit, Gate, Signal};
use headrace_transform::kernel::{Graph, NodeId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// Searches for few gates.
const SEARCHES: usize = 8;

/// The circuit, and what stands at its ends.
#[derive(Default)]
pub(super) struct Ternary {
    gates: Vec<Gate>,
    inputs: Vec<NodeId>,
    /// Nodes that come out.
    outputs: FxHashMap<NodeId, Signal>,
    /// Nodes that are inside: nothing but the circuit reads them.
    inside: FxHashSet<NodeId>,
}

impl Ternary {
    /// Of the nodes in `order`, those as wide as a lane; `values` and what the others read are read from outside too.
    pub fn new(
        graph: &Graph,
        order: &[NodeId],
        values: &[NodeId],
        lane: u32,
        reads: &dyn Fn(NodeId) -> Vec<NodeId>,
    ) -> Ternary {
        let is_bitwise = |id: &NodeId| {
            graph.width(*id) == lane && matches!(graph.op(*id), Op::And(..) | Op::Or(..) | Op::Xor(..) | Op::Not(_))
        };
        let inside: FxHashSet<NodeId> = order.iter().copied().filter(is_bitwise).collect();
        let mut inputs: Vec<NodeId> = Vec::new();
        let mut read_outside: FxHashSet<NodeId> = values.iter().copied().collect();
        for id in order {
            if inside.contains(id) {
                let operands = graph.op(*id).operands();
                inputs.extend(operands.into_iter().filter(|operand| !inside.contains(operand)));
            } else {
                read_outside.extend(reads(*id));
            }
        }
        inputs.sort_unstable();
        inputs.dedup();
        let mut circuit = Circuit::new(inputs.len());
        let mut signals: FxHashMap<NodeId, Signal> =
            inputs.iter().enumerate().map(|(at, &id)| (id, circuit.input(at))).collect();
        let mut listed: Vec<NodeId> = Vec::new();
        for &id in order.iter().filter(|id| inside.contains(id)) {
            let gate = match *graph.op(id) {
                Op::And(a, b) => Gate::And(signals[&a], signals[&b]),
                Op::Or(a, b) => Gate::Or(signals[&a], signals[&b]),
                Op::Xor(a, b) => Gate::Xor(signals[&a], signals[&b]),
                Op::Not(a) => Gate::Not(signals[&a]),
                _ => continue,
            };
            let signal = circuit.push(gate);
            signals.insert(id, signal);
            if read_outside.contains(&id) {
                circuit.push_output(signal);
                listed.push(id);
            }
        }
        let covered = cover(&circuit, &Basis::THREE_INPUT, SEARCHES);
        let outputs = listed.into_iter().zip(covered.outputs().iter().copied()).collect();
        Ternary { gates: covered.gates().to_vec(), inputs, outputs, inside }
    }

    /// Whether a node is computed here, and nowhere else.
    pub fn holds(&self, id: NodeId) -> bool {
        self.inside.contains(&id)
    }

    /// The signal of a node that comes out.
    pub fn output(&self, id: NodeId) -> Option<Signal> {
        self.outputs.get(&id).copied()
    }

    /// The node that is a signal, or the gate that makes it.
    pub fn source(&self, signal: Signal) -> Result<NodeId, Gate> {
        let at = signal.index();
        match self.inputs.get(at) {
            Some(&id) => Ok(id),
            None => Err(self.gates.get(at - self.inputs.len()).copied().unwrap_or(Gate::Constant(false))),
        }
    }
}

impl Printer<'_> {
    /// The variable of a signal, after the statements that it needs.
    pub(super) fn gate(&mut self, ternary: &Ternary, signal: Signal, known: &mut FxHashMap<Signal, String>) -> String {
        if let Some(name) = known.get(&signal) {
            return name.clone();
        }
        let gate = match ternary.source(signal) {
            Ok(id) => return self.vector(id),
            Err(gate) => gate,
        };
        let operands: FxHashMap<Signal, String> =
            gate.operands().map(|operand| (operand, self.gate(ternary, operand, known))).collect();
        self.count_gate(signal, gate.operands().map(|operand| (operand, ternary.source(operand).ok())));
        let text = gate_text(&gate, self.machine, self.lane(), &|operand| operands[&operand].clone());
        let name = format!("t{}_", signal.index());
        let v = self.v();
        self.support("#include <immintrin.h>\n");
        self.computed.gate(&v, &name, &text, operands.into_values().collect());
        known.insert(signal, name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_one_gate() {
        let mut graph = Graph::new();
        let [a, b, c] = [0, 1, 2].map(|at| graph.input(0, at, 32));
        let (ab, ac, bc) = (graph.and(a, b), graph.and(a, c), graph.and(b, c));
        let two = graph.xor(ab, ac);
        let majority = graph.xor(two, bc);
        let ternary =
            Ternary::new(&graph, &graph.reachable([majority]), &[majority], 32, &|id| graph.op(id).operands().to_vec());
        assert_eq!(ternary.gates.len(), 1);
        let signal = ternary.output(majority).expect("comes out");
        assert!(matches!(ternary.source(signal), Err(Gate::Lut3(..))));
        assert!(ternary.holds(ab) && ternary.output(ab).is_none());
    }
}
