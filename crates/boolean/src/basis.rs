//! Gate bases. Which gates a machine has and what each costs.

use crate::circuit::{Circuit, Gate, Signal};

/// What each gate costs, in a unit of the caller's choice (instructions, say).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// Both.
    pub and: u32,
    /// Either.
    pub or: u32,
    /// One but not both.
    pub xor: u32,
    /// The complement.
    pub not: u32,
    /// The first and not the second.
    pub and_not: u32,
    /// Any function of three, where there are such gates.
    pub lut3: Option<u32>,
}

impl Basis {
    /// AND, OR, XOR, NOT and AND-NOT, each of cost 1.
    pub const TWO_INPUT: Basis = Basis { and: 1, or: 1, xor: 1, not: 1, and_not: 1, lut3: None };
    /// The same and every gate of three inputs, each of cost 1.
    pub const THREE_INPUT: Basis = Basis { and: 1, or: 1, xor: 1, not: 1, and_not: 1, lut3: Some(1) };

    /// What one gate costs. A gate of three inputs in a basis without them counts as the four gates it may take.
    pub fn gate_cost(&self, gate: &Gate) -> u64 {
        u64::from(match gate {
            Gate::Constant(_) => 0,
            Gate::Not(_) => self.not,
            Gate::And(..) => self.and,
            Gate::Or(..) => self.or,
            Gate::Xor(..) => self.xor,
            Gate::AndNot(..) => self.and_not,
            Gate::Lut3(..) => self.lut3.unwrap_or(4 * self.and.max(self.xor)),
        })
    }

    /// What a circuit costs.
    pub fn cost(&self, circuit: &Circuit) -> u64 {
        circuit.gates().iter().map(|g| self.gate_cost(g)).sum()
    }

    /// The cheapest single gate for a function of three signals (bit `4a + 2b + c` of the table), or none: it is then one
    /// of the signals, or the basis has no gate for it.
    pub fn gate(&self, table: u8, operands: [Signal; 3]) -> Option<Gate> {
        let simple = two_input_gate(table, operands);
        let wide = self.lut3.map(|_| Gate::Lut3(table, operands[0], operands[1], operands[2]));
        match (simple, wide) {
            (Some(s), Some(w)) => Some(if self.gate_cost(&s) <= self.gate_cost(&w) { s } else { w }),
            (s, w) => s.or(w),
        }
    }
}

/// Whether a table of three depends on each of its operands.
pub(crate) fn depends(table: u8) -> [bool; 3] {
    [table >> 4 != table & 15, (table >> 2 ^ table) & 0x33 != 0, (table >> 1 ^ table) & 0x55 != 0]
}

/// The gate of at most two inputs that computes a table of three, if there is one.
pub(crate) fn two_input_gate(table: u8, [a, b, c]: [Signal; 3]) -> Option<Gate> {
    // The table of the two operands that matter, at the places 2p + q.
    let pick = |at: [u8; 4]| at.iter().enumerate().fold(0u8, |t, (i, x)| t | (table >> x & 1) << i);
    let (t, p, q) = match depends(table) {
        [false, false, false] => return Some(Gate::Constant(table & 1 == 1)),
        [true, false, false] => return (table & 1 == 1).then_some(Gate::Not(a)),
        [false, true, false] => return (table & 1 == 1).then_some(Gate::Not(b)),
        [false, false, true] => return (table & 1 == 1).then_some(Gate::Not(c)),
        [true, true, false] => (pick([0, 2, 4, 6]), a, b),
        [true, false, true] => (pick([0, 1, 4, 5]), a, c),
        [false, true, true] => (pick([0, 1, 2, 3]), b, c),
        [true, true, true] => return None,
    };
    match t {
        0b1000 => Some(Gate::And(p, q)),
        0b1110 => Some(Gate::Or(p, q)),
        0b0110 => Some(Gate::Xor(p, q)),
        0b0100 => Some(Gate::AndNot(p, q)),
        0b0010 => Some(Gate::AndNot(q, p)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::lut3;
    use crate::truth_table::Function;

    #[test]
    fn gates_of_two_inputs_compute_their_tables() {
        let signals = [Signal(2), Signal(1), Signal(0)];
        let value = |s: Signal| Function::variable(s.index());
        let mut n = 0;
        for table in 0..=255u8 {
            if let Some(gate) = two_input_gate(table, signals) {
                assert_eq!(gate.apply(value), lut3(table, value(signals[0]), value(signals[1]), value(signals[2])));
                n += 1;
            }
        }
        assert_eq!(n, 2 + 3 + 3 * 5);
    }
}
