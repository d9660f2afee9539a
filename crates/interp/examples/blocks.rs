//! Bytes a second of a block cipher core of the library, by its qualified name:
//! `cargo run --release -p headrace-interp --example blocks -- NETWORK PARAMETER=VALUE KEY=32`
//! The key is sent once, zero, with as many bytes as `KEY` says (16); blocks of 16 bytes are zero.

use headrace_engine::{CollectingHost, Engine};
use headrace_interp::{Interpreter, Options};
use std::time::Instant;

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../tests/text/mod.rs"]
mod text;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(name) = arguments.next() else {
        return eprintln!("a network is wanted");
    };
    let mut key_bytes = 16;
    let mut parameters = Vec::new();
    for argument in arguments {
        match argument.split_once('=') {
            Some(("KEY", bytes)) => key_bytes = bytes.parse().unwrap_or(key_bytes),
            Some((name, value)) => parameters.push((name.to_owned(), value.to_owned())),
            None => {}
        }
    }
    let parameters: Vec<(&str, &str)> =
        parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let network = match text::network(vec![text::repository()], &name, &parameters) {
        Ok(network) => network,
        Err(problems) => return eprintln!("{problems}"),
    };
    let port = |name: &str| network.inputs.iter().position(|port| port.name == name);
    let (Some(rekey), Some(key), Some(blocks), Some(input)) =
        (port("Rekey"), port("Key"), port("Blocks"), port("Input"))
    else {
        return eprintln!("`{name}` is not a core");
    };
    let Ok(mut engine) = Interpreter::new(network, Options::default()) else {
        return eprintln!("`{name}` cannot be run");
    };
    let mut host = CollectingHost::default();
    engine.write(rekey, &[1]);
    engine.write(key, &vec![0; key_bytes]);
    let mut left = 16 << 20;
    engine.write(blocks, &(left as u32 / 16).to_le_bytes());
    let mut output = Vec::new();
    let start = Instant::now();
    let mut n = 0;
    while start.elapsed().as_secs_f64() < 3.0 && left > 0 {
        left -= engine.write(input, &[0; 512]);
        if let Err(trap) = engine.run(None, &mut host) {
            return eprintln!("{} in {}", trap.message, trap.instance);
        }
        output.clear();
        n += engine.read(0, &mut output);
    }
    let firings: u64 = engine.firings().iter().flatten().sum();
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.1} kB/s, {:.2} million firings a second", n as f64 / seconds / 1e3, firings as f64 / seconds / 1e6);
}
