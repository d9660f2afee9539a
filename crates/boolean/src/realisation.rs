//! Strategy of logic synthesis. The way from a table to a circuit: what is known is looked up first, then what is known but for
//! affine maps or the order of inputs and outputs, then what arithmetic in a composite field gives, and a search that begins
//! with nothing comes last.
//!
//! Before all that the table is made smaller: inputs that do not matter go, and outputs that are sums of other outputs, of
//! inputs and of a constant are made so. A table of 32 outputs that is an S-box with a linear layer behind it is thus the
//! S-box and some XOR gates.

use crate::affine_equivalence::{Affine, Reordering, equivalences, reordered};
use crate::basis::Basis;
use crate::circuit::lookup_tables::cover;
use crate::circuit::simplify::simplify;
use crate::circuit::{Circuit, Gate, Signal};
use crate::composite_field;
use crate::known::{self, Gates, Known};
use crate::linear_layer::push_sums;
use crate::synthesis::resubstitution::{Walk, shrink};
use crate::synthesis::synthesise;
use crate::truth_table::{Function, Table};

/// How long to look for a cheaper circuit. All are reproducible: what they bound is steps, not time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Effort {
    /// Some milliseconds.
    #[default]
    Quick,
    /// Up to a second or so for eight inputs.
    Normal,
    /// Minutes for eight inputs.
    Thorough,
}

impl Effort {
    /// How many steps a walk over circuits of so many inputs takes.
    fn steps(self, n_inputs: usize) -> u64 {
        let quick = if n_inputs <= 4 {
            400
        } else if n_inputs <= 6 {
            100
        } else {
            20
        };
        match self {
            Effort::Quick => quick,
            Effort::Normal => 40 * quick,
            Effort::Thorough => 4000 * quick,
        }
    }

    /// What `xor_network` may do for a linear layer.
    fn sum_work(self) -> u64 {
        match self {
            Effort::Quick => 20_000,
            Effort::Normal => 1_000_000,
            Effort::Thorough => 20_000_000,
        }
    }

    fn field_search(self) -> composite_field::Search {
        let (n_builds, n_kept) = match self {
            Effort::Quick => (16, 2),
            Effort::Normal => (300, 8),
            Effort::Thorough => (1200, 40),
        };
        composite_field::Search { n_builds, n_kept, work: self.sum_work() }
    }

    fn n_covers(self) -> usize {
        match self {
            Effort::Quick => 4,
            Effort::Normal => 30,
            Effort::Thorough => 100,
        }
    }
}

/// How a known function and the table that was asked for are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// They are the same.
    Itself,
    /// Inputs and outputs come in another order or complemented.
    Reordered,
    /// There are affine maps before and after it.
    Affine,
}

/// Where a circuit comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// All outputs are sums of inputs.
    Linear,
    /// From a circuit that is known.
    Known {
        /// The function it was known for.
        name: &'static str,
        /// Who found it, and where.
        source: String,
        /// What that function is to this one.
        relation: Relation,
    },
    /// By arithmetic in subfields of GF(2⁸).
    CompositeField,
    /// By search.
    Synthesised,
}

/// A circuit for a table, proved on every input.
#[derive(Clone, Debug)]
pub struct Realisation {
    /// The circuit.
    pub circuit: Circuit,
    /// Where it comes from.
    pub how: How,
    /// What it costs in the basis that was asked for.
    pub cost: u64,
    /// The most gates on a path through it.
    pub depth: usize,
}

/// A circuit for the core of a table.
struct Candidate {
    circuit: Circuit,
    /// What turns its outputs into those of the core; nothing if they are these.
    after: Option<Affine>,
    how: How,
    /// Whether it is made of the basis's gates and as small as is known.
    finished: bool,
}

/// The cheapest circuit for a table that can be had with so much effort.
pub fn circuit_for(table: &Table, basis: &Basis, effort: Effort) -> Realisation {
    let reduced = Reduced::new(table);
    let candidates = if reduced.core.n_outputs() == 0 {
        let circuit = Circuit::new(reduced.core.n_inputs());
        vec![Candidate { circuit, after: None, how: How::Linear, finished: true }]
    } else {
        candidates(&reduced.core, basis, effort)
    };
    let mut best: Option<(u64, usize, Circuit, How)> = None;
    for c in candidates {
        let circuit = if c.finished && reduced.core == *table {
            c.circuit
        } else {
            fit(&reduced.whole(&c, table, effort), basis, effort, table)
        };
        let (cost, depth) = (basis.cost(&circuit), circuit.depth());
        if best.as_ref().is_none_or(|(n, d, ..)| (cost, depth) < (*n, *d)) && circuit.prove(table).is_ok() {
            best = Some((cost, depth, circuit, c.how));
        }
    }
    match best {
        Some((cost, depth, circuit, how)) => Realisation { circuit, how, cost, depth },
        None => {
            let circuit = synthesise(table, basis, 0);
            Realisation { cost: basis.cost(&circuit), depth: circuit.depth(), circuit, how: How::Synthesised }
        }
    }
}

/// A circuit in the gates of a basis, made smaller as far as the effort goes.
fn fit(circuit: &Circuit, basis: &Basis, effort: Effort, table: &Table) -> Circuit {
    let covered = cover(circuit, basis, effort.n_covers());
    let walk = Walk { steps: effort.steps(table.n_inputs()), seed: 1, slack: 1 };
    shrink(&covered, basis, walk)
}

/// Circuits for a table without idle inputs and dependent outputs.
fn candidates(table: &Table, basis: &Basis, effort: Effort) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    // Circuits of two-input gates need not be looked at where those of three are known.
    let fitting = |known: &'static Known| {
        let gates = if basis.lut3.is_some() { Gates::ThreeInput } else { Gates::TwoInput };
        let any = known.circuits.iter().any(|c| c.gates == gates);
        known.circuits.iter().filter(move |c| c.gates == gates || !any && basis.lut3.is_some()).map(move |c| (c, any))
    };
    for known in known::all().iter().filter(|k| k.table == *table) {
        for (c, finished) in fitting(known) {
            let how = How::Known { name: known.name, source: c.source.clone(), relation: Relation::Itself };
            found.push(Candidate { circuit: simplify(&c.circuit), after: None, how, finished });
        }
    }
    if !found.is_empty() {
        return found;
    }
    let invariant = table.affine_invariant();
    let alike = |k: &&Known| {
        k.table.n_inputs() == table.n_inputs()
            && k.table.n_outputs() == table.n_outputs()
            && k.affine_invariant() == invariant
    };
    let mut n_related = 0;
    for known in known::all().iter().filter(alike) {
        if let Some(r) = reordered(&known.table, table) {
            for (c, finished) in fitting(known) {
                let how = How::Known { name: known.name, source: c.source.clone(), relation: Relation::Reordered };
                // Complemented inputs and outputs may take gates that the walk can save.
                let plain = r.inputs.iter().chain(&r.outputs).all(|(_, inverted)| !inverted);
                let circuit = with_order(&c.circuit, &r);
                found.push(Candidate { circuit, after: None, how, finished: finished && plain });
            }
        } else if (effort != Effort::Quick || n_related == 0)
            && let Some(e) = equivalences(&known.table, table, 1).pop()
        {
            n_related += 1;
            // The smallest of each kind of gates that there may be.
            let cheapest = |gates: Gates| {
                let of_kind = known.circuits.iter().filter(|c| c.gates == gates);
                of_kind.min_by_key(|c| (basis.cost(&c.circuit), c.circuit.depth()))
            };
            let wide = basis.lut3.and_then(|_| cheapest(Gates::ThreeInput));
            for c in cheapest(Gates::TwoInput).into_iter().chain(wide) {
                let how = How::Known { name: known.name, source: c.source.clone(), relation: Relation::Affine };
                let circuit = behind(&e.before, &c.circuit, effort);
                found.push(Candidate { circuit, after: Some(e.after.clone()), how, finished: false });
            }
        }
    }
    if found.iter().any(|c| matches!(c.how, How::Known { relation: Relation::Reordered, .. })) {
        return found;
    }
    for circuit in composite_field::circuits(table, effort.field_search()) {
        found.push(Candidate { circuit, after: None, how: How::CompositeField, finished: false });
    }
    if found.is_empty() || table.n_inputs() <= 6 {
        let circuit = synthesise(table, basis, effort.steps(table.n_inputs()));
        found.push(Candidate { circuit, after: None, how: How::Synthesised, finished: true });
    }
    found
}

/// A circuit with its inputs and outputs reordered and complemented.
fn with_order(circuit: &Circuit, r: &Reordering) -> Circuit {
    let mut result = Circuit::new(circuit.n_inputs());
    let inputs: Vec<Signal> = r
        .inputs
        .iter()
        .map(|(place, inverted)| {
            let s = Signal::from(*place);
            if *inverted { result.push(Gate::Not(s)) } else { s }
        })
        .collect();
    let outputs = result.append(circuit, &inputs);
    for (from, inverted) in &r.outputs {
        let s = outputs[*from];
        let s = if *inverted { result.push(Gate::Not(s)) } else { s };
        result.push_output(s);
    }
    simplify(&result)
}

/// A circuit that reads its inputs through an affine map.
fn behind(map: &Affine, circuit: &Circuit, effort: Effort) -> Circuit {
    let n = circuit.n_inputs();
    let mut result = Circuit::new(n);
    let rows: Vec<(u128, bool)> = (0..n).map(|j| (u128::from(map.row(j).0), map.row(j).1)).collect();
    let inputs: Vec<Signal> = (0..n).map(Signal::from).collect();
    let inner = push_sums(&mut result, &inputs, &rows, effort.sum_work());
    for s in result.append(circuit, &inner) {
        result.push_output(s);
    }
    simplify(&result)
}

/// A table without what affine maps can put back.
struct Reduced {
    /// Its inputs are those that matter, its outputs those that are not sums of the others.
    core: Table,
    /// Which inputs these are.
    inputs: Vec<usize>,
    /// Every output as a sum: of outputs of the core, of inputs, and a constant.
    outputs: Vec<(u64, u8, bool)>,
}

impl Reduced {
    fn new(table: &Table) -> Reduced {
        let functions = table.outputs();
        // Echelon form of the algebraic normal forms: constants and linear terms do not count.
        let affine_part = (0..8).fold(Function::constant(false), |mut f, i| {
            f.set(1 << i, true);
            f.set(0, true);
            f
        });
        let mut chosen: Vec<Function> = Vec::new();
        let mut rows: Vec<(Function, u64)> = Vec::new();
        let mut outputs = Vec::with_capacity(functions.len());
        for f in &functions {
            let mut rest = f.algebraic_normal_form() & !affine_part;
            let mut sum = 0u64;
            for (row, mask) in &rows {
                let pivot = (0..256).find(|x| row.at(*x)).unwrap_or(0);
                if rest.at(pivot) {
                    rest = rest ^ *row;
                    sum ^= mask;
                }
            }
            if !rest.is_zero() {
                let new = 1u64 << chosen.len();
                rows.push((rest, sum | new));
                chosen.push(*f);
                sum = new;
            }
            let linear = (0..chosen.len()).filter(|k| sum >> k & 1 == 1).fold(*f, |g, k| g ^ chosen[k]);
            let (mask, constant) = linear.as_affine().unwrap_or((0, false));
            outputs.push((sum, mask, constant));
        }
        let (core, inputs) = Table::from_functions(table.n_inputs(), &chosen).without_idle_inputs();
        Reduced { core, inputs, outputs }
    }

    /// A circuit for the table from one for the core.
    fn whole(&self, core: &Candidate, table: &Table, effort: Effort) -> Circuit {
        let n = table.n_inputs();
        let mut result = Circuit::new(n);
        let inputs: Vec<Signal> = self.inputs.iter().map(|i| Signal::from(*i)).collect();
        let mut signals = result.append(&core.circuit, &inputs);
        let n_core = signals.len();
        signals.extend((0..n).map(Signal::from));
        // Output k of the core as a sum of what the circuit computes.
        let parts: Vec<(u64, bool)> = match &core.after {
            None => (0..n_core).map(|k| (1 << k, false)).collect(),
            Some(map) => (0..n_core).map(|k| map.row(k)).collect(),
        };
        let rows: Vec<(u128, bool)> = self
            .outputs
            .iter()
            .map(|(sum, mask, constant)| {
                let chosen = (0..n_core).filter(|k| sum >> k & 1 == 1).map(|k| parts[k]);
                let (sum, constant) = chosen.fold((0, *constant), |(s, c), (m, d)| (s ^ m, c ^ d));
                (u128::from(sum) | u128::from(*mask) << n_core, constant)
            })
            .collect();
        for s in push_sums(&mut result, &signals, &rows, effort.sum_work()) {
            result.push_output(s);
        }
        simplify(&result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> &'static Known {
        known::all().iter().find(|k| k.name == name).expect("a known function")
    }

    #[test]
    fn known_functions_are_looked_up() {
        for k in known::all().iter().filter(|k| !k.circuits.is_empty()) {
            for basis in [Basis::TWO_INPUT, Basis::THREE_INPUT] {
                let r = circuit_for(&k.table, &basis, Effort::Quick);
                assert_eq!(r.circuit.prove(&k.table), Ok(()));
                let found = matches!(&r.how, How::Known { name, relation: Relation::Itself, .. } if *name == k.name);
                assert!(found, "{}: {:?}", k.name, r.how);
                assert_eq!(r.cost, basis.cost(&r.circuit));
            }
        }
    }

    #[test]
    fn a_table_with_its_linear_layer_is_its_box_and_sums() {
        let s = &known("aes_s").table;
        let double = |x: u64| (x << 1) ^ if x >> 7 == 1 { 0x11b } else { 0 };
        let merged: Vec<u64> =
            s.entries().iter().map(|y| double(*y) | *y << 8 | *y << 16 | (double(*y) ^ y) << 24).collect();
        let table = Table::new(8, 32, &merged).expect("a table");
        let r = circuit_for(&table, &Basis::TWO_INPUT, Effort::Quick);
        assert_eq!(r.circuit.prove(&table), Ok(()));
        assert!(matches!(r.how, How::Known { .. }), "{:?}", r.how);
        assert!(r.cost < 200, "{}", r.cost);
    }

    #[test]
    fn an_unknown_inversion_is_found_by_arithmetic_or_by_what_is_known() {
        let s = &known("aes_s").table;
        let turn = |x: u64| (x << 3 | x >> 5) & 0xff;
        let entries: Vec<u64> = (0..256u64).map(|x| turn(s.entries()[(turn(x) ^ 0x35) as usize])).collect();
        let table = Table::new(8, 8, &entries).expect("a table");
        for basis in [Basis::TWO_INPUT, Basis::THREE_INPUT] {
            let r = circuit_for(&table, &basis, Effort::Quick);
            assert_eq!(r.circuit.prove(&table), Ok(()));
            assert!(r.cost <= if basis.lut3.is_some() { 100 } else { 160 }, "{}: {:?}", r.cost, r.how);
        }
    }

    #[test]
    fn linear_tables_take_sums_only() {
        let entries: Vec<u64> = (0..64u64).map(|x| x ^ x >> 1 ^ 0x15).collect();
        let table = Table::new(6, 6, &entries).expect("a table");
        let r = circuit_for(&table, &Basis::TWO_INPUT, Effort::Quick);
        assert_eq!(r.how, How::Linear);
        assert!(r.cost <= 8);
    }

    #[test]
    fn idle_inputs_do_not_disturb() {
        let s = &known("des_s4").table;
        let entries: Vec<u64> = (0..256usize).map(|x| s.entries()[x >> 1 & 0x3f] ^ 5).collect();
        let table = Table::new(8, 4, &entries).expect("a table");
        let r = circuit_for(&table, &Basis::THREE_INPUT, Effort::Quick);
        assert!(matches!(r.how, How::Known { name: "des_s4", .. }), "{:?}", r.how);
        assert!(r.cost <= 18, "{}", r.cost);
    }
}
