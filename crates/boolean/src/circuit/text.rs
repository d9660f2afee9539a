//! The textual form of a circuit, one gate a line.
//!
//! ```text
//! in  x0 x1 x2
//! t0 = and x0 x1
//! t1 = lut3 e8 x2 x1 x0
//! out t0 t1
//! ```
//!
//! The names after `in` are the inputs, lowest first, those after `out` the outputs. The gates are `and`, `or`, `xor`, `not`,
//! `andnot` (the first and not the second), `nand`, `nor`, `xnor` (which are read as a gate and an inverter), `0`, `1` and
//! `lut3` with its table in hexadecimal, the first operand being the highest bit of the place in it. A name may be any word
//! and may be given anew; `#` begins a comment.

use super::{Circuit, Gate, Signal};
use std::collections::HashMap;
use std::fmt::{self, Write};

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for TextError {}

/// Reads a circuit.
pub fn read(text: &str) -> Result<Circuit, TextError> {
    let mut circuit: Option<Circuit> = None;
    let mut names: HashMap<&str, Signal> = HashMap::new();
    let mut n_out_lines = 0;
    for (number, line) in text.lines().enumerate() {
        let fail = |problem: String| TextError { line: number + 1, problem };
        let line = line.split('#').next().unwrap_or("");
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["in", inputs @ ..] => {
                if circuit.is_some() {
                    return Err(fail("the inputs are already given".into()));
                }
                names.extend(inputs.iter().enumerate().map(|(i, name)| (*name, Signal::from(i))));
                circuit = Some(Circuit::new(inputs.len()));
            }
            ["out", outputs @ ..] => {
                let circuit = circuit.as_mut().ok_or_else(|| fail("no inputs are given yet".into()))?;
                for name in outputs {
                    let signal = names.get(name).ok_or_else(|| fail(format!("`{name}` is not defined")))?;
                    circuit.push_output(*signal);
                }
                n_out_lines += 1;
            }
            [name, "=", gate, operands @ ..] => {
                let circuit = circuit.as_mut().ok_or_else(|| fail("no inputs are given yet".into()))?;
                let signal = read_gate(circuit, &names, gate, operands).map_err(fail)?;
                names.insert(name, signal);
            }
            _ => return Err(fail(format!("`{}` is no gate", line.trim()))),
        }
    }
    match circuit {
        Some(circuit) if n_out_lines > 0 => Ok(circuit),
        _ => Err(TextError { line: 1, problem: "inputs or outputs are missing".into() }),
    }
}

fn read_gate(
    circuit: &mut Circuit,
    names: &HashMap<&str, Signal>,
    gate: &str,
    operands: &[&str],
) -> Result<Signal, String> {
    let (table, operands) = match (gate, operands) {
        ("lut3", [table, rest @ ..]) => {
            let table = u8::from_str_radix(table, 16).map_err(|_| format!("`{table}` is no table of eight bits"))?;
            (table, rest)
        }
        _ => (0, operands),
    };
    let mut signals = Vec::with_capacity(3);
    for name in operands {
        signals.push(*names.get(name).ok_or_else(|| format!("`{name}` is not defined"))?);
    }
    let (gate, inverted) = match (gate, signals.as_slice()) {
        ("0", []) => (Gate::Constant(false), false),
        ("1", []) => (Gate::Constant(true), false),
        ("not", [a]) => (Gate::Not(*a), false),
        ("and", [a, b]) => (Gate::And(*a, *b), false),
        ("or", [a, b]) => (Gate::Or(*a, *b), false),
        ("xor", [a, b]) => (Gate::Xor(*a, *b), false),
        ("andnot", [a, b]) => (Gate::AndNot(*a, *b), false),
        ("nand", [a, b]) => (Gate::And(*a, *b), true),
        ("nor", [a, b]) => (Gate::Or(*a, *b), true),
        ("xnor", [a, b]) => (Gate::Xor(*a, *b), true),
        ("lut3", [a, b, c]) => (Gate::Lut3(table, *a, *b, *c), false),
        _ => return Err(format!("there is no gate `{gate}` of {} operands", signals.len())),
    };
    let signal = circuit.push(gate);
    Ok(if inverted { circuit.push(Gate::Not(signal)) } else { signal })
}

/// Writes a circuit; reading the text gives the same one.
pub fn write(circuit: &Circuit) -> String {
    let n = circuit.n_inputs();
    let name = |s: Signal| if s.index() < n { format!("x{}", s.index()) } else { format!("t{}", s.index() - n) };
    let mut text = String::from("in");
    for i in 0..n {
        let _ = write!(text, " x{i}");
    }
    text.push('\n');
    for (i, gate) in circuit.gates().iter().enumerate() {
        let word = match gate {
            Gate::Constant(v) => if *v { "1" } else { "0" }.to_string(),
            Gate::Not(_) => "not".into(),
            Gate::And(..) => "and".into(),
            Gate::Or(..) => "or".into(),
            Gate::Xor(..) => "xor".into(),
            Gate::AndNot(..) => "andnot".into(),
            Gate::Lut3(t, ..) => format!("lut3 {t:02x}"),
        };
        let _ = write!(text, "t{i} = {word}");
        for s in gate.operands() {
            let _ = write!(text, " {}", name(s));
        }
        text.push('\n');
    }
    text.push_str("out");
    for o in circuit.outputs() {
        let _ = write!(text, " {}", name(*o));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let text = "in x0 x1 x2\nt0 = and x0 x1\nt1 = lut3 e8 x2 x1 t0\nt2 = not t1\nt3 = 1\nout t2 t3 x0\n";
        let circuit = read(text).expect("a circuit");
        assert_eq!(write(&circuit), text);
    }

    #[test]
    fn names_and_inverted_gates() {
        let circuit = read("in b a  # lowest first\nq = xnor a b\nq = nor q a\nout q").expect("a circuit");
        assert_eq!(circuit.counts().not, 2);
        assert_eq!(circuit.table().entries(), [0, 1, 0, 0]);
    }

    #[test]
    fn wrong_texts_say_where() {
        assert_eq!(read("in a\nb = and a c\nout b").expect_err("undefined").line, 2);
        assert_eq!(read("in a\nb = and a\nout b").expect_err("operands").line, 2);
        assert!(read("b = not a").is_err());
        assert!(read("in a").is_err());
    }
}
