//! The way from a table to a circuit: what is known is looked up first, then what is known but for affine maps or the order
//! of inputs and outputs, then what arithmetic in a composite field gives, and a search that begins with nothing comes last.
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

/// The cheapest circuit for a table that can be had with so much effort.
pub fn circuit_for(table: &Table, basis: &Basis, effort: Effort) -> Realisation {
    let reduced = Reduced::new(table);
    let mut candidates: Vec<(Circuit, How)> = Vec::new();
    if reduced.core.n_outputs() == 0 {
        candidates.push((reduced.whole(&Circuit::new(reduced.core.n_inputs()), table), How::Linear));
    } else {
        for (core, how) in cores(&reduced.core, basis, effort) {
            candidates.push((reduced.whole(&core, table), how));
        }
    }
    let plain = |c: &Circuit| if reduced.is_trivial(table) { c.clone() } else { fit(c, basis, effort, table) };
    let best = candidates
        .iter()
        .map(|(circuit, how)| (plain(circuit), how))
        .filter(|(circuit, _)| circuit.prove(table).is_ok())
        .min_by_key(|(circuit, _)| (basis.cost(circuit), circuit.depth()));
    let (circuit, how) = match best {
        Some((circuit, how)) => (circuit, how.clone()),
        None => (synthesise(table, basis, 0), How::Synthesised),
    };
    Realisation { cost: basis.cost(&circuit), depth: circuit.depth(), circuit, how }
}

/// A circuit in the gates of a basis, made smaller as far as the effort goes.
fn fit(circuit: &Circuit, basis: &Basis, effort: Effort, table: &Table) -> Circuit {
    let covered = cover(circuit, basis, effort.n_covers());
    let walk = Walk { steps: effort.steps(table.n_inputs()), seed: 1, slack: 1 };
    shrink(&covered, basis, walk)
}

/// Circuits for a table without idle inputs and dependent outputs.
fn cores(table: &Table, basis: &Basis, effort: Effort) -> Vec<(Circuit, How)> {
    let mut found: Vec<(Circuit, How)> = Vec::new();
    let from = |known: &Known, relation: Relation, wrap: &dyn Fn(&Circuit) -> Circuit| {
        let mut list: Vec<(Circuit, How)> = Vec::new();
        for c in &known.circuits {
            let how = How::Known { name: known.name, source: c.source.clone(), relation };
            let circuit = wrap(&c.circuit);
            let as_it_is = relation != Relation::Affine && (c.gates == Gates::TwoInput) == basis.lut3.is_none();
            list.push((if as_it_is { circuit } else { fit(&circuit, basis, effort, table) }, how));
        }
        list
    };
    for known in known::all().iter().filter(|k| k.table == *table) {
        found.extend(from(known, Relation::Itself, &|c| simplify(c)));
    }
    if found.is_empty() {
        let invariant = table.affine_invariant();
        let alike = |k: &&Known| {
            k.table.n_inputs() == table.n_inputs()
                && k.table.n_outputs() == table.n_outputs()
                && k.table.affine_invariant() == invariant
        };
        for known in known::all().iter().filter(alike) {
            if let Some(r) = reordered(&known.table, table) {
                found.extend(from(known, Relation::Reordered, &|c| with_order(c, &r)));
            } else if let Some(e) = equivalences(&known.table, table, 1).first() {
                found.extend(from(known, Relation::Affine, &|c| between(c, &e.before, &e.after)));
            }
        }
    }
    let exact = found.iter().any(|(_, how)| !matches!(how, How::Known { relation: Relation::Affine, .. }));
    if !exact {
        let (n_builds, n_kept) = match effort {
            Effort::Quick => (12, 2),
            Effort::Normal => (200, 6),
            Effort::Thorough => (1200, 30),
        };
        for c in composite_field::circuits(table, n_builds).iter().take(n_kept) {
            found.push((fit(c, basis, effort, table), How::CompositeField));
        }
    }
    if found.is_empty() || !exact && table.n_inputs() <= 6 {
        found.push((synthesise(table, basis, effort.steps(table.n_inputs())), How::Synthesised));
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

/// A circuit with affine maps before and after it.
fn between(circuit: &Circuit, before: &Affine, after: &Affine) -> Circuit {
    let n = circuit.n_inputs();
    let mut result = Circuit::new(n);
    let rows = |map: &Affine, n_rows: usize| -> Vec<(u128, bool)> {
        (0..n_rows).map(|j| (u128::from(map.row(j).0), map.row(j).1)).collect()
    };
    let inputs: Vec<Signal> = (0..n).map(Signal::from).collect();
    let inner = push_sums(&mut result, &inputs, &rows(before, n), None);
    let outputs = result.append(circuit, &inner);
    for s in push_sums(&mut result, &outputs, &rows(after, outputs.len()), None) {
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

    /// Whether there was nothing to reduce.
    fn is_trivial(&self, table: &Table) -> bool {
        self.core == *table
    }

    /// A circuit for the table from one for the core.
    fn whole(&self, core: &Circuit, table: &Table) -> Circuit {
        let n = table.n_inputs();
        let mut result = Circuit::new(n);
        let inputs: Vec<Signal> = self.inputs.iter().map(|i| Signal::from(*i)).collect();
        let mut signals = result.append(core, &inputs);
        let n_core = signals.len();
        signals.extend((0..n).map(Signal::from));
        let rows: Vec<(u128, bool)> = self
            .outputs
            .iter()
            .map(|(sum, mask, constant)| (u128::from(*sum) | u128::from(*mask) << n_core, *constant))
            .collect();
        for s in push_sums(&mut result, &signals, &rows, None) {
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
