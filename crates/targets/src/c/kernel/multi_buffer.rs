//! Multi-buffer loops: iterations of independent messages side by side. Loops of which the iterations need each other,
//! for many messages at once: one iteration of each.
//!
//! What the iterations of one message carry on stands in registers between them, a lane or a part of a register for
//! each message; what no iteration changes can still differ from message to message.
//!
//! A function is `static void NAME(STATE *const *states, const T *const *in0, …, U *const *out0, …, size_t count,
//! size_t iterations)`: pointers to `count` contexts, at least one and at most as many as there are lanes, and to their
//! tokens. Lanes for which there is no message do what the first does, and write the same to the same place.

use super::blocks::many_blocks;
use super::lanes::many_lanes;
use super::loop_frame::LoopNames;
use super::machine;
use super::messages::Many;
use headrace_instructions::Description;
use headrace_transform::kernel::Loop;

/// Widths of registers, and how many of them are under way at once, that are tried for blocks.
const REGISTERS: &[(u32, usize)] = &[(512, 4), (256, 8), (128, 8), (128, 4), (128, 2)];

/// What a way may take, of what the others take, to be worth its text.
const MOST_OF_OTHERS: f64 = 0.9;

/// The ways to run iterations of many messages, the best for many first, and what an iteration of one takes. `alone` is
/// what an iteration of one message takes, and `selected` the loop with instructions of machines, where there are some
/// for it.
pub fn many(
    body: &Loop,
    selected: Option<&Loop>,
    descriptions: &[Description],
    alone: f64,
    names: &LoopNames,
) -> (f64, Vec<Many>) {
    let mut ways = Vec::new();
    // What one message waits for is known better here.
    let function = format!("{}_alone", names.function);
    let one =
        selected.map(|body| many_blocks(body, descriptions, 128, 1, &LoopNames { function: &function, ..*names }));
    let alone = one.and_then(Result::ok).map_or(alone, |one| alone.min(one.function.cycles));
    for machine in machine::for_every_loop() {
        for n_groups in 1..=2 {
            let way = format!("{}x{n_groups}", machine.name);
            let function = format!("{}_{way}", names.function);
            let made = many_lanes(body, machine, n_groups, &LoopNames { function: &function, ..*names });
            ways.extend(made.map(|made| Many { way, ..made }));
        }
    }
    for &(bits, registers) in REGISTERS {
        let Some(body) = selected else { continue };
        let way = format!("{bits}x{registers}");
        let function = format!("{}_{way}", names.function);
        let made = many_blocks(body, descriptions, bits, registers, &LoopNames { function: &function, ..*names });
        ways.extend(made.map(|made| Many { way, ..made }));
    }
    ways.sort_by(|a, b| (a.function.cycles / a.lanes as f64).total_cmp(&(b.function.cycles / b.lanes as f64)));
    // One that takes more for each message is only worth its text where it takes fewer messages.
    let mut kept: Vec<Many> = Vec::new();
    for way in ways {
        let full = way.cycles_for(way.lanes) / way.lanes as f64;
        let others = kept.iter().map(|other| other.cycles_for(way.lanes) / way.lanes as f64).fold(alone, f64::min);
        if full < MOST_OF_OTHERS * others {
            kept.push(way);
        }
    }
    (alone, kept)
}
