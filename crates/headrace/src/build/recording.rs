//! Recorded runs of networks, for tests of projects that have no published answers.

use headrace_engine::{CollectingHost, Engine, Outcome as Stop};
use headrace_interp::Interpreter;
use headrace_ir::{Int, IntType, Network, Scalar};
use headrace_targets::project::Recording;

/// Tokens for each input of a network whose run is recorded.
const RECORDED_TOKENS: usize = 256;

/// Most firings of a recorded run.
const RECORDED_FIRINGS: u64 = 1 << 20;

/// Most bytes of output of a recorded run; a source without end makes more.
const RECORDED_BYTES: usize = 1 << 20;

/// A run on the interpreter with arbitrary tokens, the same each time. None where the streams would not tell: when they
/// may depend on the order of firings or on the outside, when nothing comes out, or when the run does not come to rest.
pub fn record(network: &Network, fifo_tokens: u32) -> Option<Recording> {
    let is_real = |ty: Scalar| matches!(ty, Scalar::Real(_) | Scalar::String);
    if network.inputs.iter().chain(&network.outputs).any(|port| is_real(port.ty))
        || network.actors.iter().any(|actor| !actor.natives.is_empty())
        || !headrace_analysis::order_dependence::diagnostics(network).is_empty()
    {
        return None;
    }
    // A linear congruential generator modulo 2^64 (Knuth's MMIX constants); its upper bits are the arbitrary ones.
    let mut state = 0x0123_4567_89ab_cdef_u64;
    let mut arbitrary = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut token = |ty: Scalar| {
        // Counts and sizes stand in wide tokens; small ones let more happen.
        let most = if ty.width() > 16 { 32 } else { u64::MAX };
        let wrapped = Int::from(arbitrary() % most).wrap(ty.as_int().unwrap_or(IntType::unsigned(1)));
        wrapped.to_le_bytes(ty.storage_bytes())
    };
    let inputs: Vec<Vec<u8>> =
        network.inputs.iter().map(|port| (0..RECORDED_TOKENS).flat_map(|_| token(port.ty)).collect()).collect();
    recorded(network, fifo_tokens, inputs)
}

/// A run on the interpreter with these tokens, as they are stored. None where nothing comes out, or too much.
pub fn recorded(network: &Network, fifo_tokens: u32, inputs: Vec<Vec<u8>>) -> Option<Recording> {
    let options = headrace_interp::Options { fifo_tokens, ..headrace_interp::Options::default() };
    let mut engine = Interpreter::new(network.clone(), options).ok()?;
    let mut host = CollectingHost::default();
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    let mut left = inputs.clone();
    loop {
        let mut moved = 0;
        for (at, (port, tokens)) in network.inputs.iter().zip(&mut left).enumerate() {
            let n = engine.write(at, tokens);
            tokens.drain(..n * port.ty.storage_bytes());
            moved += n;
        }
        if engine.run(Some(RECORDED_FIRINGS), &mut host) != Ok(Stop::Idle) {
            return None;
        }
        moved += outputs.iter_mut().enumerate().map(|(at, stream)| engine.read(at, stream)).sum::<usize>();
        if outputs.iter().map(Vec::len).sum::<usize>() > RECORDED_BYTES {
            return None;
        }
        if moved == 0 {
            break;
        }
    }
    outputs.iter().any(|stream| !stream.is_empty()).then_some(Recording { inputs, outputs })
}
