//! Prints a circuit for a table: `cargo run --release --example realise -- two|three quick|normal|thorough INPUTS OUTPUTS ENTRY…`,
//! the entries in decimal or, after 0x, in hexadecimal.

use headrace_boolean::basis::Basis;
use headrace_boolean::circuit::text;
use headrace_boolean::realisation::{Effort, circuit_for};
use headrace_boolean::truth_table::Table;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |s: &String| match s.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => s.parse().ok(),
    };
    let [basis, effort, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: realise two|three quick|normal|thorough INPUTS OUTPUTS ENTRY…");
        return;
    };
    let basis = if basis == "three" { Basis::THREE_INPUT } else { Basis::TWO_INPUT };
    let effort = match effort.as_str() {
        "thorough" => Effort::Thorough,
        "normal" => Effort::Normal,
        _ => Effort::Quick,
    };
    let Some([n_inputs, n_outputs, entries @ ..]) =
        rest.iter().map(number).collect::<Option<Vec<u64>>>().map(Vec::leak).map(|v| &*v)
    else {
        eprintln!("numbers are missing or not numbers");
        return;
    };
    match Table::new(*n_inputs as usize, *n_outputs as usize, entries) {
        Err(problem) => eprintln!("{problem}"),
        Ok(table) => {
            let r = circuit_for(&table, &basis, effort);
            println!("# {} gates, {} deep: {:?}\n{}", r.cost, r.depth, r.how, text::write(&r.circuit));
        }
    }
}
