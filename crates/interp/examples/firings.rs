//! Firings a second of an actor that takes a byte, adds, emits it: `cargo run --release -p headrace-interp --example firings`

use headrace_engine::{CollectingHost, Engine};
use headrace_interp::{Interpreter, Options};
use std::time::Instant;

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../tests/build/mod.rs"]
mod build;

fn main() {
    use build::*;
    use headrace_ir::{BinaryOp, Type};
    let mut add = action("add");
    add.locals = vec![pattern_local("x", Type::scalar(uint(8)))];
    add.consumes = vec![take(0, &[0])];
    add.produces = vec![give(0, vec![wrap(uint(8), binary(BinaryOp::Add, local(0), lit(1)))])];
    let network = single(actor(vec![port("In", uint(8))], vec![port("Out", uint(8))], vec![add]));
    let Ok(mut engine) = Interpreter::new(network, Options::default()) else {
        eprintln!("the network cannot be run");
        return;
    };
    let mut host = CollectingHost::default();
    let input = [0u8; 512];
    let mut output = Vec::new();
    let start = Instant::now();
    let mut n = 0;
    while start.elapsed().as_secs_f64() < 2.0 {
        engine.write(0, &input);
        if engine.run(None, &mut host).is_err() {
            return;
        }
        output.clear();
        n += engine.read(0, &mut output);
    }
    println!("{:.2} million firings a second", n as f64 / start.elapsed().as_secs_f64() / 1e6);
}
