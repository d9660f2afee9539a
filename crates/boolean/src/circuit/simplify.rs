//! Logic simplification: constant propagation, elimination of common and dead gates, absorption of inverters. Takes out of a
//! circuit what it does not need: constants, gates that compute what is there already, inverters that the gate behind them can
//! absorb, and gates that no output reads.
//!
//! `t0 = not a; t1 = and t0 b; t2 = andnot b a; out t1 t2` becomes `t0 = andnot b a; out t0 t0`. With at most eight inputs
//! two gates are the same when they compute the same function, otherwise when they are the same gate of the same signals.
//! An inverter is absorbed by whatever reads it, so that what remains of them stands at outputs; where one further up does
//! for several outputs it is put there.

use super::{Circuit, Gate, Signal};
use crate::basis::{depends, two_input_gate};
use crate::truth_table::{Function, MAX_INPUTS};
use std::collections::HashMap;

/// A signal or its complement, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Literal {
    Constant(bool),
    Of(Signal, bool),
}

impl Literal {
    fn inverted_if(self, inverted: bool) -> Literal {
        match self {
            Literal::Constant(v) => Literal::Constant(v ^ inverted),
            Literal::Of(s, i) => Literal::Of(s, i ^ inverted),
        }
    }
}

struct Builder {
    circuit: Circuit,
    known: HashMap<Gate, Signal>,
    functions: Option<(Vec<Function>, HashMap<Function, Signal>)>,
}

impl Builder {
    fn new(n_inputs: usize) -> Builder {
        let functions = (n_inputs <= MAX_INPUTS).then(|| {
            let list: Vec<Function> = (0..n_inputs).map(Function::variable).collect();
            let known = list.iter().enumerate().map(|(i, f)| (*f, Signal::from(i))).collect();
            (list, known)
        });
        Builder { circuit: Circuit::new(n_inputs), known: HashMap::new(), functions }
    }

    /// Adds a gate unless its value is there already.
    fn gate(&mut self, gate: Gate) -> Literal {
        if let Some(signal) = self.known.get(&gate) {
            return Literal::Of(*signal, false);
        }
        if let Some((list, known)) = &mut self.functions {
            let f = gate.apply(|s| list[s.index()]);
            if f == Function::ZERO || f == Function::ONE {
                return Literal::Constant(f == Function::ONE);
            }
            for (g, inverted) in [(f, false), (!f, true)] {
                if let Some(signal) = known.get(&g)
                    && !(inverted && matches!(gate, Gate::Not(_)))
                {
                    return Literal::Of(*signal, inverted);
                }
            }
            known.entry(f).or_insert(Signal::from(list.len()));
            list.push(f);
        }
        let signal = self.circuit.push(gate);
        self.known.insert(gate, signal);
        Literal::Of(signal, false)
    }

    /// The conjunction of two literals.
    fn and(&mut self, x: Literal, y: Literal) -> Literal {
        let (a, i, b, j) = match (x, y) {
            (Literal::Constant(false), _) | (_, Literal::Constant(false)) => return Literal::Constant(false),
            (Literal::Constant(true), z) | (z, Literal::Constant(true)) => return z,
            (Literal::Of(a, i), Literal::Of(b, j)) if a == b => {
                return if i == j { x } else { Literal::Constant(false) };
            }
            (Literal::Of(a, i), Literal::Of(b, j)) => (a, i, b, j),
        };
        let (low, high) = (a.min(b), a.max(b));
        match (i, j) {
            (false, false) => self.gate(Gate::And(low, high)),
            (false, true) => self.gate(Gate::AndNot(a, b)),
            (true, false) => self.gate(Gate::AndNot(b, a)),
            (true, true) => self.gate(Gate::Or(low, high)).inverted_if(true),
        }
    }

    fn xor(&mut self, x: Literal, y: Literal) -> Literal {
        match (x, y) {
            (Literal::Constant(v), z) | (z, Literal::Constant(v)) => z.inverted_if(v),
            (Literal::Of(a, i), Literal::Of(b, j)) if a == b => Literal::Constant(i ^ j),
            (Literal::Of(a, i), Literal::Of(b, j)) => self.gate(Gate::Xor(a.min(b), a.max(b))).inverted_if(i ^ j),
        }
    }

    fn lut3(&mut self, table: u8, operands: [Literal; 3]) -> Literal {
        // Values of the table after constants and complements have gone into it; equal operands are made one.
        let mut signals: Vec<Signal> = Vec::with_capacity(3);
        for literal in operands {
            if let Literal::Of(s, _) = literal
                && !signals.contains(&s)
            {
                signals.push(s);
            }
        }
        signals.sort_unstable();
        let value_at = |x: usize| {
            let at = operands.iter().fold(0usize, |at, literal| {
                let bit = match literal {
                    Literal::Constant(v) => *v,
                    Literal::Of(s, i) => {
                        let k = signals.iter().position(|t| t == s).unwrap_or(0);
                        (x >> (2 - k) & 1 == 1) ^ i
                    }
                };
                at << 1 | usize::from(bit)
            });
            table >> at & 1
        };
        let new = (0..8).fold(0u8, |t, x| t | value_at(x) << x);
        let used = depends(new);
        let spare = (0..signals.len()).find(|k| used[*k]).map(|k| signals[k]);
        let Some(spare) = spare else { return Literal::Constant(new & 1 == 1) };
        let at = |k: usize| if used[k] { signals[k] } else { spare };
        let triple = [at(0), at(1), at(2)];
        match used.iter().filter(|u| **u).count() {
            1 => Literal::Of(spare, new & 1 == 1),
            _ => match two_input_gate(new, triple) {
                Some(gate) => self.gate(gate),
                None => self.gate(Gate::Lut3(new, triple[0], triple[1], triple[2])),
            },
        }
    }
}

/// A circuit with the same outputs and at most as many gates.
pub fn simplify(circuit: &Circuit) -> Circuit {
    let best = rebuild(circuit, None);
    if best.counts().total() <= circuit.counts().total() { best } else { without_dead_gates(circuit) }
}

/// A simplified circuit in which, as long as that helps, an inverter stands right behind a gate and so serves several
/// outputs. This tries every signal of a circuit of up to 300 gates.
pub fn with_fewer_inverters(circuit: &Circuit) -> Circuit {
    let mut best = simplify(circuit);
    while best.counts().not > 1 && best.gates().len() <= 300 {
        let total = best.counts().total();
        let n = best.n_inputs() + best.gates().len();
        let better = (0..n).map(|i| rebuild(&best, Some(Signal::from(i)))).find(|c| c.counts().total() < total);
        match better {
            Some(c) => best = c,
            None => break,
        }
    }
    best
}

fn rebuild(circuit: &Circuit, invert: Option<Signal>) -> Circuit {
    let mut b = Builder::new(circuit.n_inputs());
    let mut map: Vec<Literal> = Vec::with_capacity(circuit.n_inputs() + circuit.gates().len());
    let place = |b: &mut Builder, index: usize, literal: Literal| -> Literal {
        match literal {
            Literal::Of(s, i) if invert == Some(Signal::from(index)) => {
                let not = match b.known.get(&Gate::Not(s)) {
                    Some(n) => *n,
                    None => {
                        let n = b.circuit.push(Gate::Not(s));
                        if let Some((list, known)) = &mut b.functions {
                            let f = !list[s.index()];
                            known.entry(f).or_insert(n);
                            list.push(f);
                        }
                        b.known.insert(Gate::Not(s), n);
                        n
                    }
                };
                Literal::Of(not, !i)
            }
            _ => literal,
        }
    };
    for i in 0..circuit.n_inputs() {
        let literal = place(&mut b, i, Literal::Of(Signal::from(i), false));
        map.push(literal);
    }
    for gate in circuit.gates() {
        let at = |s: Signal| map[s.index()];
        let literal = match *gate {
            Gate::Constant(v) => Literal::Constant(v),
            Gate::Not(x) => at(x).inverted_if(true),
            Gate::And(x, y) => b.and(at(x), at(y)),
            Gate::Or(x, y) => b.and(at(x).inverted_if(true), at(y).inverted_if(true)).inverted_if(true),
            Gate::AndNot(x, y) => b.and(at(x), at(y).inverted_if(true)),
            Gate::Xor(x, y) => b.xor(at(x), at(y)),
            Gate::Lut3(t, x, y, z) => b.lut3(t, [at(x), at(y), at(z)]),
        };
        let literal = place(&mut b, map.len(), literal);
        map.push(literal);
    }
    let mut result = b.circuit;
    let mut inverters: HashMap<Signal, Signal> = HashMap::new();
    for (i, gate) in result.gates().iter().enumerate() {
        if let Gate::Not(s) = gate {
            inverters.insert(*s, Signal::from(result.n_inputs() + i));
            inverters.insert(Signal::from(result.n_inputs() + i), *s);
        }
    }
    for o in circuit.outputs() {
        let signal = match map[o.index()] {
            Literal::Constant(v) => result.push(Gate::Constant(v)),
            Literal::Of(s, false) => s,
            Literal::Of(s, true) => match inverters.get(&s) {
                Some(n) => *n,
                None => {
                    let n = result.push(Gate::Not(s));
                    inverters.insert(s, n);
                    n
                }
            },
        };
        result.push_output(signal);
    }
    absorb_output_inverters(without_dead_gates(&result))
}

/// An inverter behind a gate of three inputs goes into that gate's table when only the inverter reads the gate.
fn absorb_output_inverters(circuit: Circuit) -> Circuit {
    let n = circuit.n_inputs();
    let mut readers = vec![0usize; n + circuit.gates().len()];
    circuit.gates().iter().flat_map(Gate::operands).chain(circuit.outputs().iter().copied()).for_each(|s| {
        readers[s.index()] += 1;
    });
    let mut result = Circuit::new(n);
    for gate in circuit.gates() {
        let gate = match gate {
            Gate::Not(s) if readers[s.index()] == 1 => match circuit.gate(*s) {
                Some(Gate::Lut3(t, a, b, c)) => Gate::Lut3(!t, a, b, c),
                _ => *gate,
            },
            _ => *gate,
        };
        result.push(gate);
    }
    circuit.outputs().iter().for_each(|o| result.push_output(*o));
    without_dead_gates(&result)
}

/// The same circuit without the gates that no output depends on.
pub fn without_dead_gates(circuit: &Circuit) -> Circuit {
    let n = circuit.n_inputs();
    let mut live = vec![false; n + circuit.gates().len()];
    circuit.outputs().iter().for_each(|o| live[o.index()] = true);
    for (i, gate) in circuit.gates().iter().enumerate().rev() {
        if live[n + i] {
            gate.operands().for_each(|s| live[s.index()] = true);
        }
    }
    let mut result = Circuit::new(n);
    let mut map: Vec<Signal> = (0..n).map(Signal::from).collect();
    for (i, gate) in circuit.gates().iter().enumerate() {
        let new = if live[n + i] { result.push(gate.map(|s| map[s.index()])) } else { Signal(0) };
        map.push(new);
    }
    circuit.outputs().iter().for_each(|o| result.push_output(map[o.index()]));
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuit::text;

    fn simplified(source: &str) -> Circuit {
        let before = text::read(source).expect("a circuit");
        let after = simplify(&before);
        assert_eq!(before.functions(), after.functions());
        after
    }

    #[test]
    fn an_inverter_is_absorbed() {
        let c = simplified("in a b\nt0 = not a\nt1 = and t0 b\nt2 = andnot b a\nout t1 t2");
        assert_eq!(text::write(&c), "in x0 x1\nt0 = andnot x1 x0\nout t0 t0\n");
    }

    #[test]
    fn constants_and_copies_go() {
        let c = simplified("in a b\nz = 0\no = or a z\nx = xor o a\ny = or x b\nl = lut3 f0 b a z\nout y l z");
        assert_eq!(c.counts().total(), 0);
        assert_eq!(c.outputs()[0], Signal(1));
        assert_eq!(c.outputs()[1], Signal(1));
    }

    #[test]
    fn one_inverter_serves_several_outputs() {
        let source = "in a b c d\np = and a b\nn = not p\nx = xor n c\ny = xor n d\nz = xor n a\nout x y z";
        let c = with_fewer_inverters(&simplified(source));
        assert_eq!(c.counts().not, 1);
        assert_eq!(c.counts().total(), 5);
    }

    #[test]
    fn a_table_swallows_an_inverter() {
        let c = simplified("in a b c\nm = lut3 e8 a b c\nn = not m\nout n");
        assert_eq!(c.gates(), [Gate::Lut3(0x17, Signal(0), Signal(1), Signal(2))]);
    }

    #[test]
    fn more_than_eight_inputs_are_compared_by_structure() {
        let c = simplified("in a b c d e f g h i j\np = and i j\nq = and j i\nr = xor p q\ns = or p h\nout r s");
        assert_eq!(c.counts().total(), 2);
    }
}
