//! Prints how many gates the known functions take in both bases: `cargo run --release --example gate_counts`.

use headrace_boolean::basis::Basis;
use headrace_boolean::circuit::lookup_tables::cover;
use headrace_boolean::known::{self, Gates};

fn main() {
    for known in known::all() {
        for c in &known.circuits {
            let simple = headrace_boolean::circuit::simplify::simplify(&c.circuit);
            let covered = cover(&c.circuit, &Basis::THREE_INPUT, 20);
            println!(
                "{:22} {:5} {:4} simplified {:4} covered {:4} depth {:3}",
                known.name,
                if c.gates == Gates::TwoInput { "two" } else { "three" },
                c.circuit.counts().total(),
                simple.counts().total(),
                covered.counts().total(),
                covered.depth()
            );
        }
    }
}
