//! Boolean circuits: gates in an order in which each stands after what it reads, evaluated on every input at once.
//!
//! Submodules: `text` reads and writes them, `simplify` takes out what is not needed, `lookup_tables` covers them with
//! gates of three inputs, `registers` puts their gates in an order for which few registers are enough.

pub mod lookup_tables;
pub mod registers;
pub mod simplify;
pub mod text;

use crate::truth_table::{Function, Table};
use std::fmt;

/// What a gate reads: the inputs come first, in order, then the gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signal(pub u32);

impl Signal {
    /// Its place among the values of a circuit.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for Signal {
    fn from(index: usize) -> Signal {
        Signal(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// One gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// 0 or 1.
    Constant(bool),
    /// The complement.
    Not(Signal),
    /// Both.
    And(Signal, Signal),
    /// Either.
    Or(Signal, Signal),
    /// One of them but not both.
    Xor(Signal, Signal),
    /// The first and not the second.
    AndNot(Signal, Signal),
    /// Any function of three: bit `4a + 2b + c` of the table, as in x86's ternary logic and CUDA's `lop3`.
    Lut3(u8, Signal, Signal, Signal),
}

impl Gate {
    /// What it reads, in order.
    pub fn operands(&self) -> impl Iterator<Item = Signal> + use<> {
        let (list, n) = match *self {
            Gate::Constant(_) => ([Signal(0); 3], 0),
            Gate::Not(a) => ([a; 3], 1),
            Gate::And(a, b) | Gate::Or(a, b) | Gate::Xor(a, b) | Gate::AndNot(a, b) => ([a, b, b], 2),
            Gate::Lut3(_, a, b, c) => ([a, b, c], 3),
        };
        list.into_iter().take(n)
    }

    /// The same gate reading other signals.
    pub fn map(&self, mut f: impl FnMut(Signal) -> Signal) -> Gate {
        match *self {
            Gate::Constant(v) => Gate::Constant(v),
            Gate::Not(a) => Gate::Not(f(a)),
            Gate::And(a, b) => Gate::And(f(a), f(b)),
            Gate::Or(a, b) => Gate::Or(f(a), f(b)),
            Gate::Xor(a, b) => Gate::Xor(f(a), f(b)),
            Gate::AndNot(a, b) => Gate::AndNot(f(a), f(b)),
            Gate::Lut3(t, a, b, c) => Gate::Lut3(t, f(a), f(b), f(c)),
        }
    }

    /// What it computes, given the functions that its operands compute.
    pub fn apply(&self, value: impl Fn(Signal) -> Function) -> Function {
        match *self {
            Gate::Constant(v) => Function::constant(v),
            Gate::Not(a) => !value(a),
            Gate::And(a, b) => value(a) & value(b),
            Gate::Or(a, b) => value(a) | value(b),
            Gate::Xor(a, b) => value(a) ^ value(b),
            Gate::AndNot(a, b) => value(a) & !value(b),
            Gate::Lut3(t, a, b, c) => lut3(t, value(a), value(b), value(c)),
        }
    }
}

/// The function `table` of three functions: bit `4a + 2b + c` of it.
pub fn lut3(table: u8, a: Function, b: Function, c: Function) -> Function {
    let pick = |low: u8| -> Function {
        match low & 3 {
            0 => Function::ZERO,
            1 => !c,
            2 => c,
            _ => Function::ONE,
        }
    };
    let below = |bits: u8| (pick(bits) & !b) | (pick(bits >> 2) & b);
    (below(table) & !a) | (below(table >> 4) & a)
}

/// A circuit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Circuit {
    n_inputs: usize,
    gates: Vec<Gate>,
    outputs: Vec<Signal>,
}

/// Where a circuit and a table disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// They do not have as many inputs and outputs.
    Shape,
    /// This output differs at this input.
    Value {
        /// The input.
        input: usize,
        /// The output.
        output: usize,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Shape => write!(f, "circuit and table differ in how many inputs or outputs they have"),
            Difference::Value { input, output } => {
                write!(f, "circuit and table differ at input {input:#x} in output {output}")
            }
        }
    }
}

impl std::error::Error for Difference {}

/// How many gates of each kind a circuit has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// AND gates.
    pub and: usize,
    /// OR gates.
    pub or: usize,
    /// XOR gates.
    pub xor: usize,
    /// Inverters.
    pub not: usize,
    /// AND gates with one operand complemented.
    pub and_not: usize,
    /// Gates of three inputs.
    pub lut3: usize,
}

impl Counts {
    /// All gates together.
    pub fn total(&self) -> usize {
        self.and + self.or + self.xor + self.not + self.and_not + self.lut3
    }
}

impl Circuit {
    /// A circuit without gates whose outputs are to be added.
    pub fn new(n_inputs: usize) -> Circuit {
        Circuit { n_inputs, gates: Vec::new(), outputs: Vec::new() }
    }

    /// Input `index`.
    pub fn input(&self, index: usize) -> Signal {
        Signal::from(index)
    }

    /// Adds a gate and returns what it computes. What it reads must stand before it.
    pub fn push(&mut self, gate: Gate) -> Signal {
        debug_assert!(gate.operands().all(|s| s.index() < self.n_inputs + self.gates.len()));
        self.gates.push(gate);
        Signal::from(self.n_inputs + self.gates.len() - 1)
    }

    /// Makes a signal the next output.
    pub fn push_output(&mut self, signal: Signal) {
        debug_assert!(signal.index() < self.n_inputs + self.gates.len());
        self.outputs.push(signal);
    }

    /// The same with its gates in another order, in which each stands after what it reads: the numbers that they have here.
    fn in_order(&self, order: &[usize]) -> Circuit {
        let mut result = Circuit::new(self.n_inputs);
        let mut map: Vec<Signal> = (0..self.n_inputs + self.gates.len()).map(Signal::from).collect();
        for &gate in order {
            map[self.n_inputs + gate] = result.push(self.gates[gate].map(|signal| map[signal.index()]));
        }
        result.outputs.extend(self.outputs.iter().map(|output| map[output.index()]));
        result
    }

    /// Replaces output `index`, if there is one.
    pub fn set_output(&mut self, index: usize, signal: Signal) {
        if let Some(slot) = self.outputs.get_mut(index) {
            *slot = signal;
        }
    }

    /// How many inputs it has.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// Its gates; gate `i` computes signal `n_inputs + i`.
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Its outputs.
    pub fn outputs(&self) -> &[Signal] {
        &self.outputs
    }

    /// The gate that computes a signal; none computes an input.
    pub fn gate(&self, signal: Signal) -> Option<Gate> {
        self.gates.get(signal.index().checked_sub(self.n_inputs)?).copied()
    }

    /// What every signal computes, given the functions at the inputs (missing ones are 0).
    pub fn signals_on(&self, inputs: &[Function]) -> Vec<Function> {
        let mut values: Vec<Function> =
            (0..self.n_inputs).map(|i| inputs.get(i).copied().unwrap_or_default()).collect();
        for gate in &self.gates {
            let f = gate.apply(|s| values[s.index()]);
            values.push(f);
        }
        values
    }

    /// What every signal computes as a function of the inputs, of which at most eight vary.
    pub fn signals(&self) -> Vec<Function> {
        let inputs: Vec<Function> = (0..self.n_inputs).map(Function::variable).collect();
        self.signals_on(&inputs)
    }

    /// What the outputs compute as functions of the inputs.
    pub fn functions(&self) -> Vec<Function> {
        let values = self.signals();
        self.outputs.iter().map(|o| values[o.index()]).collect()
    }

    /// The table of what it computes.
    pub fn table(&self) -> Table {
        Table::from_functions(self.n_inputs, &self.functions())
    }

    /// Shows on every input that it computes a table, or where it does not.
    pub fn prove(&self, table: &Table) -> Result<(), Difference> {
        if self.n_inputs != table.n_inputs() || self.outputs.len() != table.n_outputs() {
            return Err(Difference::Shape);
        }
        for (output, (f, g)) in self.functions().iter().zip(table.outputs()).enumerate() {
            let wrong = *f ^ g;
            if !wrong.is_zero() {
                let input = (0..256).find(|x| wrong.at(*x)).unwrap_or(0);
                return Err(Difference::Value { input, output });
            }
        }
        Ok(())
    }

    /// How many gates of each kind it has. Constants are free.
    pub fn counts(&self) -> Counts {
        let mut c = Counts::default();
        for gate in &self.gates {
            match gate {
                Gate::Constant(_) => {}
                Gate::Not(_) => c.not += 1,
                Gate::And(..) => c.and += 1,
                Gate::Or(..) => c.or += 1,
                Gate::Xor(..) => c.xor += 1,
                Gate::AndNot(..) => c.and_not += 1,
                Gate::Lut3(..) => c.lut3 += 1,
            }
        }
        c
    }

    /// The most gates on a path from an input to an output.
    pub fn depth(&self) -> usize {
        let mut depths = vec![0usize; self.n_inputs];
        for gate in &self.gates {
            let below = gate.operands().map(|s| depths[s.index()] + 1).max().unwrap_or(0);
            depths.push(below);
        }
        self.outputs.iter().map(|o| depths[o.index()]).max().unwrap_or(0)
    }

    /// Adds the gates of another circuit, its inputs being these signals; returns what its outputs have become.
    pub fn append(&mut self, other: &Circuit, inputs: &[Signal]) -> Vec<Signal> {
        let mut map: Vec<Signal> = inputs[..other.n_inputs.min(inputs.len())].to_vec();
        while map.len() < other.n_inputs {
            let zero = self.push(Gate::Constant(false));
            map.push(zero);
        }
        for gate in &other.gates {
            let new = self.push(gate.map(|s| map[s.index()]));
            map.push(new);
        }
        other.outputs.iter().map(|o| map[o.index()]).collect()
    }

    /// Adds the XOR of some signals and a constant.
    pub fn push_xor(&mut self, signals: &[Signal], constant: bool) -> Signal {
        let Some((first, rest)) = signals.split_first() else { return self.push(Gate::Constant(constant)) };
        let mut sum = *first;
        for s in rest {
            sum = self.push(Gate::Xor(sum, *s));
        }
        if constant { self.push(Gate::Not(sum)) } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn majority() -> Circuit {
        let mut c = Circuit::new(3);
        let (x, y, z) = (c.input(0), c.input(1), c.input(2));
        let a = c.push(Gate::And(x, y));
        let o = c.push(Gate::Or(x, y));
        let b = c.push(Gate::And(o, z));
        let m = c.push(Gate::Or(a, b));
        c.push_output(m);
        c
    }

    #[test]
    fn majority_is_proved_and_a_wrong_table_refuted() {
        let c = majority();
        assert_eq!(c.prove(&Table::new(3, 1, &[0, 0, 0, 1, 0, 1, 1, 1]).expect("a table")), Ok(()));
        let wrong = Table::new(3, 1, &[0, 0, 0, 1, 0, 1, 0, 1]).expect("a table");
        assert_eq!(c.prove(&wrong), Err(Difference::Value { input: 6, output: 0 }));
        assert_eq!(c.counts().total(), 4);
        assert_eq!(c.depth(), 3);
    }

    #[test]
    fn lut3_takes_the_first_operand_as_its_highest_bit() {
        let (a, b, c) = (Function::variable(2), Function::variable(1), Function::variable(0));
        for table in 0..=255u8 {
            let f = lut3(table, a, b, c);
            for x in 0..8 {
                assert_eq!(f.at(x), table >> x & 1 == 1);
            }
        }
    }
}
