//! Networks of which some partitions are circuits do what the whole does in software, whatever is cut where.

#[path = "support/mapped.rs"]
mod support;

use headrace::Workspace;
use headrace::codesign::Simulator;
use headrace::engines::{EngineName, Settings};
use headrace_engine::{CollectingHost, Engine, Outcome, exhaust};
use headrace_frontend::mapping::Partitioning;
use headrace_interp::{Interpreter, Options};
use headrace_ir::{Mapping, Network, Port};
use std::path::Path;
use std::sync::Arc;
use support::{Mapped, mapped, tokens};

/// Random networks that are cut.
const CASES: u64 = 120;

/// What an engine gives for these tokens.
fn outputs(engine: &mut dyn Engine, network: &Network, mut inputs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    let mut host = CollectingHost::default();
    let ended = exhaust(engine, network, &mut inputs, &mut outputs, &mut host);
    assert_eq!(ended, Ok(Outcome::Idle), "{}", network.name);
    outputs
}

#[test]
fn random_networks_with_parts_in_hardware_do_what_the_whole_does() {
    let mut workspace = Workspace::default();
    let (mut n_compared, mut n_refused) = (0, 0);
    for Mapped { seed, network, inputs, wanted, n_partitions: n, mapping } in mapped(CASES, 3) {
        // What acts on the world is in software, and so are partitions without instances.
        let acting = Mapping::acting(&network);
        let in_hardware = (0..n).map(|partition| {
            (n == 1 || partition > 0)
                && mapping.of.contains(&partition)
                && acting.iter().all(|instance| mapping.partition(*instance) != partition)
        });
        let parts = Partitioning { in_hardware: in_hardware.collect(), mapping };
        let settings = Settings::of(Some(EngineName::Interp));
        let started = workspace.start_together(&network, &parts, &settings, Simulator::BuiltIn, &mut |_| {});
        let Ok(mut machine) = started else {
            n_refused += 1;
            continue;
        };
        let inputs = network.inputs.iter().map(|port| tokens(port, &inputs)).collect();
        assert_eq!(outputs(machine.engine(), &network, inputs), wanted.outputs, "seed {seed}, {n} parts");
        n_compared += usize::from(parts.has_hardware());
    }
    assert!(n_compared > 30, "{n_compared} compared, {n_refused} refused");
}

#[test]
fn a_mode_in_software_with_its_cipher_in_hardware_gives_the_same_bytes() {
    let mut workspace = Workspace::default();
    let network = "ctl.mode.ctr.Ctr(Cipher = ctl.block.aes.AesEncrypt(NK = 4))";
    let network = Arc::new(workspace.network(network, &[]).expect("it is in the library"));
    let mapping = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/codesign/aes-ctr.xcf");
    let (parts, network) = workspace.mapping(&network, &mapping).expect("it fits");
    let network = Arc::new(network);
    // Two messages, the first with a key, of three blocks and a half and of no byte.
    let inputs = |port: &Port| -> Vec<u8> {
        let bytes = |n: u32| (0..n).map(|i| (i * 151 + 7) as u8).collect();
        match port.name.as_str() {
            "Rekey" => vec![1, 0],
            "Key" => bytes(16),
            "IV" => bytes(32),
            "InputSize" => [1 << 31 | 56, 1u32 << 31].iter().flat_map(|size| size.to_le_bytes()).collect(),
            _ => bytes(56),
        }
    };
    let inputs: Vec<Vec<u8>> = network.inputs.iter().map(inputs).collect();
    let mut judge = Interpreter::new(Arc::clone(&network), Options::default()).expect("it runs");
    let wanted = outputs(&mut judge, &network, inputs.clone());
    let settings = Settings::of(Some(EngineName::Interp));
    let mut machine =
        workspace.start_together(&network, &parts, &settings, Simulator::BuiltIn, &mut |_| {}).expect("it starts");
    assert_eq!(outputs(machine.engine(), &network, inputs), wanted);
    let clocked = machine.clocked();
    assert_eq!(clocked.iter().map(|part| part.partition.as_str()).collect::<Vec<_>>(), ["cipher"]);
    // Four blocks of ten rounds, and what stands before the first and behind the last.
    assert!((40..80).contains(&clocked[0].cycles), "{}", clocked[0]);
    let keystream: u64 = clocked[0].outputs.iter().map(|(_, tokens)| tokens).sum();
    assert_eq!(keystream, 64);
}
