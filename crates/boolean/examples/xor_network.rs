//! Looks for a short network of XORs for a linear map:
//!
//! ```sh
//! cargo run --release -p headrace-boolean --example xor_network -- 2 200000000 1 7 6 e
//! ```
//!
//! takes how many operands a XOR has (2 or 3), the work, how many seeds to try, and the matrix's rows in hexadecimal, column 0
//! in the lowest bit. It prints a line for `known.txt` whenever a seed gives a shorter network.

use headrace_boolean::matrix::{BitMatrix, BitVector};
use headrace_boolean::xor_network::{Arity, Options, search};
use std::process::ExitCode;

fn row(text: &str) -> Option<BitVector> {
    let mut bits = Vec::new();
    for digit in text.chars().rev() {
        let digit = digit.to_digit(16)?;
        bits.extend((0..4).map(|i| digit >> i & 1 != 0));
    }
    Some(BitVector::from_bits(bits))
}

fn options(arguments: &[String]) -> Option<(Options, u64, BitMatrix)> {
    let [arity, work, n_seeds, rows @ ..] = arguments else { return None };
    let arity = match arity.as_str() {
        "2" => Arity::Two,
        "3" => Arity::Three,
        _ => return None,
    };
    let rows: Vec<BitVector> = rows.iter().map(|text| row(text)).collect::<Option<_>>()?;
    let used = rows.iter().filter_map(|row| row.ones().last()).max()? + 1;
    let options = Options { arity, work: work.parse().ok()?, ..Options::default() };
    Some((options, n_seeds.parse().ok()?, BitMatrix::from_rows(used, &rows)))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((options, n_seeds, matrix)) = options(&arguments) else {
        eprintln!("xor_network <2|3> <work> <seeds> <row>...   rows in hexadecimal");
        return ExitCode::FAILURE;
    };
    let mut best = usize::MAX;
    for seed in 1..=n_seeds {
        if let Ok(network) = search(&matrix, &Options { seed, ..options.clone() })
            && network.steps().len() < best
        {
            best = network.steps().len();
            eprintln!("seed {seed}: {best} steps, depth {}", network.depth());
            println!("{}", network.to_line());
        }
    }
    ExitCode::SUCCESS
}
