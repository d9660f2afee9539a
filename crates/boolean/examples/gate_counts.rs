//! Prints what every known function costs in both bases and how long the answer took:
//! `cargo run --release --example gate_counts [quick|normal|thorough]`.

use headrace_boolean::basis::Basis;
use headrace_boolean::known;
use headrace_boolean::realisation::{Effort, How, circuit_for};
use std::time::Instant;

fn main() {
    let effort = match std::env::args().nth(1).as_deref() {
        Some("normal") => Effort::Normal,
        Some("thorough") => Effort::Thorough,
        _ => Effort::Quick,
    };
    let begin = Instant::now();
    let n_known = known::all().len();
    println!("{n_known} functions, read in {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    println!("{:22} {:>30} {:>30}", "function", "two inputs: gates, depth, time", "three inputs: gates, depth, time");
    for known in known::all() {
        print!("{:22}", known.name);
        for basis in [Basis::TWO_INPUT, Basis::THREE_INPUT] {
            let begin = Instant::now();
            let r = circuit_for(&known.table, &basis, effort);
            let how = match r.how {
                How::Linear => "linear",
                How::Known { .. } => "known",
                How::CompositeField => "field",
                How::Synthesised => "search",
            };
            print!(" {:>6} {:>3} {:>8.1} ms {:8}", r.cost, r.depth, begin.elapsed().as_secs_f64() * 1e3, how);
        }
        println!();
    }
}
