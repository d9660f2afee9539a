//! Networks that are cut into parts do what the whole does, whoever moves the tokens between them.

#[path = "support/mapped.rs"]
mod support;

use headrace_analysis::cut::{Outside, Part, cut_network};
use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_interp::{Interpreter, Options, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Mapping, Network};
use headrace_testkit::generate::Stream;
use std::sync::Arc;
use support::{Mapped, mapped, tokens};

/// Random networks that are cut.
const CASES: u64 = 300;

/// A part that runs, and tokens that wait to go in at each of its inputs.
struct Running {
    part: Part,
    engine: Interpreter,
    waiting: Vec<Vec<u8>>,
}

/// What comes out of the whole when its parts run by turns and tokens go from part to part as they come.
fn run(whole: &Network, mapping: &Mapping, streams: &[Stream], fifo_tokens: u32) -> Result<Vec<Vec<u8>>, String> {
    let start = |part: Part| {
        let options = Options { fifo_tokens, order: Order::RoundRobin, ..Options::default() };
        let engine = Interpreter::new(Arc::new(part.network.clone()), options).map_err(|why| format!("{why:?}"))?;
        let waiting = part.inputs.iter().map(|input| match *input {
            Outside::Boundary(port) => tokens(&whole.inputs[port], streams),
            Outside::Crossing(_) => Vec::new(),
        });
        Ok(Running { waiting: waiting.collect(), engine, part })
    };
    let mut parts = cut_network(whole, mapping).into_iter().map(start).collect::<Result<Vec<Running>, String>>()?;
    let mut outputs = vec![Vec::new(); whole.outputs.len()];
    let mut host = CollectingHost::default();
    loop {
        let mut has_moved = false;
        for at in 0..parts.len() {
            let Running { part, engine, waiting } = &mut parts[at];
            for (port, tokens) in waiting.iter_mut().enumerate() {
                let written = engine.write(port, tokens) * part.network.inputs[port].ty.storage_bytes();
                tokens.drain(..written);
                has_moved |= written > 0;
            }
            match engine.run(Some(1_000_000), &mut host) {
                Ok(Outcome::Idle) => {}
                other => return Err(format!("{other:?}")),
            }
            let mut crossed = Vec::new();
            for (port, output) in part.outputs.iter().enumerate() {
                let mut tokens = Vec::new();
                engine.read(port, &mut tokens);
                has_moved |= !tokens.is_empty();
                match *output {
                    Outside::Boundary(port) => outputs[port].extend(tokens),
                    crossing => crossed.push((crossing, tokens)),
                }
            }
            for (crossing, tokens) in crossed {
                let to = parts.iter_mut().find_map(|other| {
                    let port = other.part.inputs.iter().position(|input| *input == crossing)?;
                    Some(&mut other.waiting[port])
                });
                to.ok_or("a connection leads nowhere")?.extend(tokens);
            }
        }
        if !has_moved {
            return Ok(outputs);
        }
    }
}

#[test]
fn parts_of_random_networks_do_what_the_whole_does() {
    let (mut n_crossing, mut n_compared) = (0, 0);
    for Mapped { seed, network, inputs, wanted, n_partitions: n, mapping } in mapped(CASES, 4) {
        n_crossing += network.connections.iter().filter(|connection| mapping.crosses(connection)).count();
        let outputs = run(&network, &mapping, &inputs, DEFAULT_FIFO_TOKENS);
        assert_eq!(outputs.as_ref(), Ok(&wanted.outputs), "seed {seed}, {n} parts");
        n_compared += 1;
    }
    assert!(n_compared > CASES / 2 && n_crossing > 100, "{n_compared} compared, {n_crossing} connections cut");
}
