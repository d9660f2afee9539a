//! A random network, and what programs show of it: lines that are held to what the interpreter shows.
//!
//! A line is `NETWORK OUTPUT BYTES` or `NETWORK printed BYTES`, with the bytes in hexadecimal digits, or `NETWORK ended STATUS`
//! where a program says it. Networks are numbered in the order in which the program has them.

use crate::differential::{Observed, difference, interpreted, lines, program, storage};
use crate::generate::{Cuts, Knobs, Stream, generate};
use headrace_interp::Order;
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_program::Module;
use headrace_targets::Options;
use std::sync::Arc;

/// A network, random or not.
pub struct One {
    /// What it is made from, or its number.
    pub seed: u64,
    inputs: Vec<Stream>,
    /// The network.
    pub network: Arc<Network>,
    /// Tokens of the FIFOs that ask for none.
    pub fifo_tokens: u32,
    /// What it is lowered to.
    pub module: Module,
    expected: Observed,
}

impl One {
    /// The network of a seed.
    ///
    /// # Errors
    ///
    /// Why there is nothing to compare with.
    pub fn new(seed: u64) -> Result<Self, String> {
        let case = generate(seed, &Knobs::default());
        let network = program::elaborate(&case, &Cuts::default()).map_err(|verdict| verdict.to_string())?;
        // Small FIFOs are full more often.
        let fifo_tokens = if seed.is_multiple_of(2) { DEFAULT_FIFO_TOKENS } else { 1 + (seed % 8) as u32 };
        Self::of(seed, network, case.inputs, fifo_tokens)
    }

    /// A network and what goes into it, with FIFOs of so many tokens where they ask for none.
    ///
    /// # Errors
    ///
    /// Why there is nothing to compare with.
    pub fn of(seed: u64, network: Network, inputs: Vec<Stream>, fifo_tokens: u32) -> Result<Self, String> {
        let network = Arc::new(network);
        let expected = interpreted::interpret(&network, &inputs, Order::RoundRobin, fifo_tokens, false)
            .map_err(|verdict| verdict.to_string())?;
        let lowered =
            headrace_lowering::lower(&network, &headrace_lowering::Options { fifo_tokens, ..Default::default() });
        let module = lowered.map_err(|problems| {
            problems.first().map_or_else(|| "it cannot be lowered".to_owned(), |problem| problem.message.clone())
        })?;
        Ok(Self { seed, inputs, network, fifo_tokens, module, expected })
    }

    /// The options that it is printed with.
    pub fn options(&self) -> Options {
        Options { fifo_tokens: self.fifo_tokens, ..Options::default() }
    }

    /// The stored tokens that go into an input.
    pub fn input(&self, number: usize) -> Vec<u8> {
        let declared = &self.network.inputs[number];
        let stream = self.inputs.iter().find(|stream| stream.port == declared.name);
        stream.map_or(Vec::new(), |stream| stream.tokens.iter().flat_map(|v| storage(v, declared.ty)).collect())
    }

    /// Whether there is anything to compare.
    pub fn is_telling(&self) -> bool {
        self.expected.outputs.iter().any(|output| !output.is_empty()) || !self.expected.printed.is_empty()
    }
}

/// Holds what a program showed of each network to what the interpreter shows: what is wrong, in the order of the networks.
pub fn judge(all: &[One], said: &str) -> Vec<Option<String>> {
    let mut outputs: Vec<Vec<Option<Vec<u8>>>> = all.iter().map(|one| vec![None; one.network.outputs.len()]).collect();
    let mut printed: Vec<Option<Vec<u8>>> = vec![None; all.len()];
    let mut wrong: Vec<Option<String>> = vec![None; all.len()];
    for line in said.lines() {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (Ok(at), what, shown) = (word().parse::<usize>(), word(), word()) else { continue };
        if at >= all.len() {
            continue;
        }
        match (what, what.parse::<usize>()) {
            (_, Ok(port)) if port < outputs[at].len() => outputs[at][port] = bytes(shown),
            ("printed", _) => printed[at] = bytes(shown),
            ("ended", _) if shown != "0" => wrong[at] = Some(format!("it ended with status {shown}")),
            _ => {}
        }
    }
    for (at, one) in all.iter().enumerate() {
        if wrong[at].is_some() {
            continue;
        }
        let outputs: Option<Vec<Vec<u8>>> = outputs[at].iter().cloned().collect();
        wrong[at] = match (outputs, &printed[at]) {
            (Some(outputs), Some(printed)) => {
                // What else the interpreter knows, programs do not say.
                let shown = Observed { outputs, printed: lines(printed), ..one.expected.clone() };
                difference(&one.expected, &shown, true)
            }
            _ => Some("the program does not say all of what came out".to_owned()),
        };
    }
    wrong
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    (0..hex.len().div_ceil(2)).map(|at| u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first network of which an output and a print are known.
    fn one() -> One {
        let telling = |one: &One| one.expected.outputs.iter().any(|output| !output.is_empty());
        (0..100).filter_map(|seed| One::new(seed).ok()).find(telling).expect("one of a hundred")
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn what_differs_or_is_missing_is_seen() {
        let all = [one()];
        let printed: String = all[0].expected.printed.iter().fold(String::new(), |mut text, (actor, lines)| {
            lines.iter().for_each(|line| text += &format!("{actor}:{line}\n"));
            text
        });
        let line = |(port, bytes): (usize, &Vec<u8>)| format!("0 {port} {}\n", hex(bytes));
        let outputs: String = all[0].expected.outputs.iter().enumerate().map(line).collect();
        let said = format!("{outputs}0 printed {}\n0 ended 0\n", hex(printed.as_bytes()));
        assert_eq!(judge(&all, &said), [None]);
        assert!(judge(&all, "")[0].is_some());
        assert!(judge(&all, &outputs)[0].is_some());
        assert!(judge(&all, &said.replace("ended 0", "ended 3"))[0].is_some());
        let port = all[0].expected.outputs.iter().position(|output| !output.is_empty()).expect("an output");
        let mut other = all[0].expected.outputs[port].clone();
        other[0] ^= 1;
        assert!(judge(&all, &format!("{said}0 {port} {}\n", hex(&other)))[0].is_some());
    }
}
