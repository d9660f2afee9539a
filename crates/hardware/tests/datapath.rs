//! Networks as one datapath: they do what the interpreter does, whenever tokens come and go, in as many clock cycles as is said.

use folders::Folders;
use headrace_engine::{CollectingHost, exhaust};
use headrace_frontend::{Session, Top, elaborate};
use headrace_hardware::{Datapath, Options, lower};
use headrace_interp::Interpreter;
use headrace_ir::Network;
use headrace_rtl::simulate::Simulator;
use headrace_rtl::{Bits, Design, Timing, verify};
use std::path::Path;

#[path = "../../frontend/tests/support/folders.rs"]
mod folders;

/// Tokens of each port.
type Streams = Vec<Vec<u64>>;

fn network(text: &str) -> Network {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut session = Session::new();
    let network = elaborate(&mut session, &Folders(vec![root]), &Top::Expression(text.to_owned()), &[]);
    network.unwrap_or_else(|| panic!("{:?}", session.take_diagnostics()))
}

fn design(network: &Network, options: Options) -> Design {
    let design = lower(network, &Options { datapath: Datapath::Always, ..options });
    let design = design.unwrap_or_else(|problems| panic!("{:?}", problems[0].message));
    assert_eq!(verify(&design), Vec::<String>::new());
    design
}

/// What the interpreter makes of these tokens.
fn interpreted(network: &Network, inputs: &Streams) -> Streams {
    let mut engine = Interpreter::new(network.clone(), headrace_interp::Options::default()).expect("it starts");
    let mut host = CollectingHost::default();
    let store = |(tokens, port): (&Vec<u64>, &headrace_ir::Port)| -> Vec<u8> {
        tokens.iter().flat_map(|token| token.to_le_bytes()[..port.ty.storage_bytes()].to_vec()).collect()
    };
    let mut waiting: Vec<Vec<u8>> = inputs.iter().zip(&network.inputs).map(store).collect();
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    exhaust(&mut engine, network, &mut waiting, &mut outputs, &mut host).expect("it has no errors");
    let token = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
    let of =
        |(stored, port): (&Vec<u8>, &headrace_ir::Port)| stored.chunks(port.ty.storage_bytes()).map(token).collect();
    outputs.iter().zip(&network.outputs).map(of).collect()
}

/// What a design makes of these tokens, and the cycles in which beats of the first output came; in so many of a hundred cycles a port
/// does not move.
fn simulated(design: &Design, network: &Network, inputs: &Streams, n_out: usize, stall: u64) -> (Streams, Vec<u64>) {
    let mut simulator = Simulator::new(design).expect("it is right");
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut moves = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % 100 >= stall
    };
    let width = |simulator: &Simulator, name: &str| simulator.get(name).map_or(1, Bits::width);
    let mut at = vec![0; inputs.len()];
    let mut offered = vec![false; inputs.len()];
    let mut outputs: Streams = vec![Vec::new(); network.outputs.len()];
    let mut times = Vec::new();
    while outputs.iter().map(Vec::len).sum::<usize>() < n_out {
        assert!(simulator.cycles() < 60_000, "only {} of {n_out} tokens came", outputs[0].len());
        for (number, port) in network.inputs.iter().enumerate() {
            let (name, bits, at) = (format!("{}_data_i", port.name), port.ty.width().max(1), at[number]);
            let lanes = (width(&simulator, &name) / bits) as usize;
            let tokens = inputs[number].get(at..at + lanes);
            offered[number] = tokens.is_some() && (offered[number] || moves());
            let all = tokens.into_iter().flatten().map(|&token| Bits::new(bits, token));
            let beat = all.reduce(|beat, token| token.concat(&beat)).unwrap_or(Bits::zero(bits * lanes as u32));
            assert!(simulator.set(&name, beat));
            assert!(simulator.set(&format!("{}_valid_i", port.name), Bits::new(1, u8::from(offered[number]))));
        }
        for port in &network.outputs {
            assert!(simulator.set(&format!("{}_ready_i", port.name), Bits::new(1, u8::from(moves()))));
        }
        simulator.settle();
        let bit = |name: String| simulator.get(&name).is_some_and(|bit| !bit.is_zero());
        for (number, port) in network.inputs.iter().enumerate() {
            if offered[number] && bit(format!("{}_ready_o", port.name)) {
                let bits = port.ty.width().max(1);
                at[number] += (width(&simulator, &format!("{}_data_i", port.name)) / bits) as usize;
                offered[number] = false;
            }
        }
        for (number, port) in network.outputs.iter().enumerate() {
            let valid = bit(format!("{}_valid_o", port.name));
            let ready = simulator.get(&format!("{}_ready_i", port.name)).is_some_and(|bit| !bit.is_zero());
            if valid && ready {
                let bits = port.ty.width().max(1);
                let beat = simulator.get(&format!("{}_data_o", port.name)).expect("it is there").clone();
                for lane in 0..beat.width() / bits {
                    outputs[number].push(beat.slice(u64::from(lane * bits), bits).to_u64().expect("small"));
                }
                if number == 0 {
                    times.push(simulator.cycles());
                }
            }
        }
        simulator.clock();
    }
    (outputs, times)
}

/// Tokens without a pattern.
fn some(n: usize, seed: u64, bits: u32) -> Vec<u64> {
    let mut x = seed | 1;
    let mut next = || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (x >> 20) ^ (x << 31)
    };
    (0..n).map(|_| if bits >= 64 { next() } else { next() % (1 << bits) }).collect()
}

/// Holds a network to the interpreter, with narrow ports and with wide ones, with stalls and without; gives the clock cycles from one
/// beat of the first output to the next, at the end, with wide ports and no stalls.
fn cycles_per_block(text: &str, inputs: &Streams) -> u64 {
    let network = network(text);
    let wanted = interpreted(&network, inputs);
    let n = wanted.iter().map(Vec::len).sum();
    assert!(n > 0, "nothing comes out of {text}");
    let wide = design(&network, Options { wide_ports: true, ..Options::default() });
    let (found, times) = simulated(&wide, &network, inputs, n, 0);
    assert!(found == wanted, "{text} with wide ports: {:x?} and not {:x?}", found[0], wanted[0]);
    let (found, _) = simulated(&wide, &network, inputs, n, 40);
    assert!(found == wanted, "{text} with wide ports and stalls: {:x?} and not {:x?}", found[0], wanted[0]);
    let narrow = design(&network, Options::default());
    let (found, _) = simulated(&narrow, &network, inputs, n, 25);
    assert!(found == wanted, "{text} with stalls: {:x?} and not {:x?}", found[0], wanted[0]);
    let last = times.len() - 1;
    times[last] - times[last - 1]
}

/// A burst of blocks with a new key, two of them with the same key, and again with a new one.
fn bursts(key: usize, block: usize, blocks: &[u64]) -> Streams {
    let n: u64 = blocks.iter().sum();
    let rekey: Vec<u64> = (0..blocks.len()).map(|burst| u64::from(burst != 1)).collect();
    let keys = rekey.iter().sum::<u64>() as usize;
    vec![rekey, some(keys * key, 5, 8), blocks.to_vec(), some(n as usize * block, 7, 8)]
}

#[test]
fn a_block_cipher_takes_a_cycle_a_round_with_its_key_schedule_beside() {
    assert_eq!(cycles_per_block("ctl.block.aes.AesEncrypt(NK = 4)", &bursts(16, 16, &[1, 2, 3])), 10);
    // What is kept of the key is the key.
    let network = network("ctl.block.aes.AesEncrypt(NK = 4)");
    let design = design(&network, Options::default());
    let bits: u32 = design.modules[0].signals.iter().filter(|one| one.name.ends_with("_q")).map(|one| one.width).sum();
    assert!(bits < 1000, "{bits} bits of registers");
    // Before a first key comes all round keys are 0: that holds back a word of the schedule, not each of its uses.
    let used = headrace_rtl::text(&design).matches("is_there_q").count();
    assert!((1..=8).contains(&used), "whether there is a key is asked in {used} places");
}

#[test]
fn files_say_when_blocks_come_out_at_their_ports() {
    let network = network("ctl.block.aes.AesEncrypt(NK = 4)");
    for (wide_ports, interval, latency, beats) in [(true, 10, 11, 1), (false, 16, 12, 16)] {
        let design = design(&network, Options { wide_ports, ..Options::default() });
        let timing = Timing { interval, output: ("Output".into(), beats), input: ("Input".into(), beats), latency };
        assert_eq!(design.modules[0].timing, Some(timing));
        let head = &design.modules[0].about;
        assert!(head.iter().any(|line| line.starts_with(&format!("Initiation interval: {interval} clock cycles"))));
        assert_eq!(headrace_rtl::read(&headrace_rtl::text(&design)), Ok(design));
    }
}

#[test]
fn round_keys_that_are_needed_backwards_are_kept() {
    assert_eq!(cycles_per_block("ctl.block.aes.AesDecrypt(NK = 4)", &bursts(16, 16, &[1, 2, 3])), 10);
}

#[test]
fn several_rounds_take_one_cycle_where_that_is_wanted() {
    let network = network("ctl.block.aes.AesEncrypt(NK = 4)");
    let inputs = bursts(16, 16, &[3]);
    let wanted = interpreted(&network, &inputs);
    for (rounds_per_cycle, cycles) in [(2, 5), (0, 1)] {
        let design = design(&network, Options { wide_ports: true, rounds_per_cycle, ..Options::default() });
        let (found, times) = simulated(&design, &network, &inputs, 48, 0);
        assert_eq!((found, times[2] - times[1]), (wanted.clone(), cycles));
    }
}

#[test]
fn a_compression_function_has_its_message_schedule_beside() {
    let inputs = vec![some(24, 3, 32), some(3 * 64, 4, 8)];
    assert_eq!(cycles_per_block("ctl.hash.sha2.Sha2Compression(WORD_BITS = 32)", &inputs), 65);
    // All words of the schedule come from one operator, all variables from a row of registers, and h + K + W is summed a round ahead,
    // by the operators that sum it in rounds.
    let design = design(&network("ctl.hash.sha2.Sha2Compression(WORD_BITS = 32)"), Options::default());
    let named = |part: &str| design.modules[0].signals.iter().filter(|one| one.name.contains(part)).count();
    assert_eq!((named("operand"), named("x_sum")), (0, 0));
    let text = headrace_rtl::text(&design);
    let early = text.lines().filter(|line| line.trim().starts_with("assign") && line.contains("t0_constants")).count();
    assert_eq!(early, 1, "K is added in one place");
}

#[test]
fn a_feistel_network_takes_a_cycle_a_round() {
    assert_eq!(cycles_per_block("ctl.block.des.DesEncrypt()", &bursts(8, 8, &[1, 2, 3])), 16);
}

#[test]
fn rounds_that_differ_in_their_formulas_take_a_cycle_each() {
    let inputs = bursts(16, 16, &[2, 1, 2]);
    assert_eq!(cycles_per_block("ctl.block.serpent.SerpentEncrypt(KEY_BYTES = 16)", &inputs), 32);
}

#[test]
fn a_ring_of_as_many_rounds_as_a_token_says_takes_a_cycle_for_each() {
    let inputs = vec![vec![24, 24, 12], some(75, 3, 64)];
    assert_eq!(cycles_per_block("ctl.parts.keccak.KeccakP()", &inputs), 12);
    let inputs = vec![vec![12, 8, 8], some(15, 3, 64)];
    assert_eq!(cycles_per_block("ctl.parts.ascon.AsconP()", &inputs), 8);
}

#[test]
fn what_repeats_within_a_round_takes_no_cycles() {
    // Seven rows, one behind the other.
    let inputs = vec![vec![1, 3, 3], some(21, 3, 40)];
    assert_eq!(cycles_per_block("ctl.aead.primates.Primate()", &inputs), 6);
}

/// The same for a tweakable block cipher.
fn tweaked_bursts(block: usize, blocks: &[u64]) -> Streams {
    let mut all = bursts(16, block, blocks);
    let n: u64 = blocks.iter().sum();
    all.insert(3, some(n as usize * block, 9, 8));
    all
}

#[test]
fn rounds_with_images_of_bits_and_constants_before_them_are_found() {
    // Products that are wires; constants that were added bit by bit, of which that of the first round is 0. A tweakey comes before the
    // first step and behind the last one; the inverse needs the last one's tweak first.
    assert_eq!(cycles_per_block("ctl.block.scream_bc.ScreamBcEncrypt()", &tweaked_bursts(16, &[1, 2, 3])), 10);
    assert_eq!(cycles_per_block("ctl.block.scream_bc.ScreamBcDecrypt()", &tweaked_bursts(16, &[1, 2, 3])), 11);
}

#[test]
fn a_long_key_schedule_is_beside_its_rounds() {
    assert_eq!(cycles_per_block("ctl.block.joltik_bc.JoltikBcEncrypt()", &tweaked_bursts(8, &[1, 2, 3])), 33);
}

#[test]
fn rounds_that_take_turns_are_one() {
    let inputs = vec![vec![1], some(32, 3, 8), some(12, 4, 8), vec![0x8000_0003]];
    assert_eq!(cycles_per_block("ctl.stream.chacha20.ChaCha20Block(STAGES = 1)", &inputs), 21);
}

#[test]
fn rings_beside_each_other_turn_in_the_same_cycles() {
    let network = network("ctl.hash.whirlpool.WhirlpoolCompression(Substitution = ctl.hash.whirlpool.SubBytes)");
    let inputs = vec![some(2 * 64, 3, 8), some(2 * 64, 4, 8)];
    let design = design(&network, Options { wide_ports: true, ..Options::default() });
    let (found, times) = simulated(&design, &network, &inputs, 128, 0);
    assert_eq!((found, times[1] - times[0]), (interpreted(&network, &inputs), 10));
}

#[test]
fn a_pipeline_takes_a_block_in_each_cycle() {
    // A new key comes while blocks with the one before are under way.
    let network = network("ctl.block.aes.AesEncrypt(NK = 4)");
    let inputs = bursts(16, 16, &[4, 1, 0, 5]);
    let wanted = interpreted(&network, &inputs);
    for stages in [3, 10, 40] {
        let design = design(&network, Options { wide_ports: true, stages, ..Options::default() });
        let timing = design.modules[0].timing.clone().expect("blocks come out at regular times");
        // A table cannot be cut, so that there are thirty stages at most.
        assert!((timing.interval, timing.latency) == (1, stages.min(30)), "{timing:?}");
        let (found, times) = simulated(&design, &network, &inputs, 160, 0);
        assert_eq!((found, times[9] - times[8]), (wanted.clone(), 1));
        let (found, _) = simulated(&design, &network, &inputs, 160, 40);
        assert_eq!(found, wanted);
    }
}

#[test]
fn what_is_selected_in_each_round_lies_in_registers_that_turn() {
    let design = design(&network("ctl.block.des.DesEncrypt()"), Options::default());
    let rings = design.modules[0].signals.iter().filter(|one| one.name.contains("ring") && one.name.ends_with("_q"));
    assert_eq!(rings.map(|one| one.width).collect::<Vec<_>>(), [28, 28], "halves of the key, which rotate");
    let named = |part: &str| design.modules[0].signals.iter().filter(|one| one.name.contains(part)).count();
    assert_eq!(named("operand"), 0, "nothing is chosen by the cycle");
}

#[test]
fn a_core_becomes_a_datapath_among_actors() {
    let network = network("ctl.block.aes.Aes128Ctr()");
    let inputs = vec![vec![1, 0], some(16, 5, 8), some(32, 6, 8), vec![0x8000_0023, 0x8000_0011], some(0x34, 7, 8)];
    let wanted = interpreted(&network, &inputs);
    let design = lower(&network, &Options::default()).expect("all of it has a place in hardware");
    assert_eq!(verify(&design), Vec::<String>::new());
    assert!(design.modules.iter().any(|module| module.about.iter().any(|line| line.contains("as one datapath"))));
    let n = wanted.iter().map(Vec::len).sum();
    assert!(n > 0x34, "{wanted:?}");
    assert_eq!(simulated(&design, &network, &inputs, n, 25).0, wanted);
}

#[test]
fn what_cannot_be_one_datapath_is_refused_with_the_reason() {
    let network = network("ctl.stream.arc4.Arc4()");
    let problems = lower(&network, &Options { datapath: Datapath::Always, ..Options::default() });
    let problems = problems.expect_err("its state is written at computed places");
    assert!(problems[0].message.contains("is no datapath"), "{problems:?}");
}
