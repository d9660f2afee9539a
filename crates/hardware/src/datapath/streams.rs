//! Width converters: beats of several tokens made of the tokens of a stream, and taken apart again.
//!
//! A datapath takes what a task needs of a port at once. Where the stream at the port moves fewer tokens, a shift register collects a
//! beat while the datapath works on the one before, and takes one apart while it works on the next; no cycle is lost by either.

use crate::actor::port_names;
use headrace_program::names::Names;
use headrace_rtl::{Bits, Expr, Module, SignalId, SignalKind, index_bits};

/// An input port from inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeatIn {
    /// All tokens of a beat, the first in the lowest bits.
    pub(crate) data: SignalId,
    pub(crate) valid: SignalId,
    /// To be assigned: whether the beat is taken in this cycle.
    pub(crate) taken: SignalId,
    /// Bits of a token.
    pub(crate) width: u32,
}

/// An output port from inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BeatOut {
    /// To be assigned: all tokens of a beat.
    pub(crate) data: SignalId,
    /// To be assigned: whether a beat is given in this cycle; only where there is room.
    pub(crate) given: SignalId,
    pub(crate) room: SignalId,
    /// Bits of a token.
    pub(crate) width: u32,
    /// Tokens of a beat.
    pub(crate) tokens: u64,
}

/// Adds an input port whose stream moves `lanes` tokens at once, a divisor of the tokens of a beat.
pub(crate) fn add_input(m: &mut Module, names: &mut Names, port: &str, width: u32, tokens: u64, lanes: u64) -> BeatIn {
    let [data, valid, ready] = port_names(port, true).map(|name| names.fresh(&name));
    let (stream_bits, beat_bits) = (width * lanes as u32, width * tokens as u32);
    let stream = m.add(data, stream_bits, SignalKind::Input);
    let stream_valid = m.add(valid, 1, SignalKind::Input);
    let ready = m.add(ready, 1, SignalKind::Output);
    let mut wire = |m: &mut Module, what: &str, width: u32| {
        let name = names.fresh(&format!("{port}_{what}"));
        m.add(name, width, SignalKind::Wire)
    };
    let taken = wire(m, "taken", 1);
    if lanes == tokens {
        m.assign(ready, m.get(taken));
        return BeatIn { data: stream, valid: stream_valid, taken, width };
    }
    let n = tokens / lanes;
    let bits = index_bits(n + 1);
    let beat_valid = wire(m, "beat_valid", 1);
    let (beat, beat_next) =
        m.add_register(&names.fresh_with(&format!("{port}_beat"), &["_d", "_q"]), Bits::zero(beat_bits));
    let (count, count_next) =
        m.add_register(&names.fresh_with(&format!("{port}_count"), &["_d", "_q"]), Bits::zero(bits));
    m.assign(beat_valid, m.get(count).is(n));
    m.assign(ready, m.get(beat_valid).inverted().or(m.get(taken)));
    let comes = m.get(stream_valid).and(m.get(ready));
    let shifted = Expr::concat(vec![m.get(stream), m.get(beat).slice(stream_bits, beat_bits - stream_bits)]);
    m.assign(beat_next, Expr::select(comes.clone(), shifted, m.get(beat)));
    let kept = Expr::select(m.get(taken), Expr::number(bits, 0), m.get(count));
    m.assign(count_next, kept.plus(comes.resized(false, bits)));
    BeatIn { data: beat, valid: beat_valid, taken, width }
}

/// Adds an output port whose stream moves `lanes` tokens at once, a divisor of the tokens of a beat. One that is direct, which moves
/// whole beats, shows a beat in the cycle in which it is given, and keeps it where nobody takes it.
pub(crate) fn add_output(
    m: &mut Module,
    names: &mut Names,
    port: &str,
    width: u32,
    (tokens, lanes): (u64, u64),
    is_direct: bool,
) -> BeatOut {
    let [data, valid, ready] = port_names(port, false).map(|name| names.fresh(&name));
    let (stream_bits, beat_bits) = (width * lanes as u32, width * tokens as u32);
    let stream = m.add(data, stream_bits, SignalKind::Output);
    let stream_valid = m.add(valid, 1, SignalKind::Output);
    let ready = m.add(ready, 1, SignalKind::Input);
    let mut wire = |m: &mut Module, what: &str, width: u32| {
        let name = names.fresh(&format!("{port}_{what}"));
        m.add(name, width, SignalKind::Wire)
    };
    let (next, given, room) = (wire(m, "next", beat_bits), wire(m, "given", 1), wire(m, "room", 1));
    let n = tokens / lanes;
    let bits = index_bits(n + 1);
    let (beat, beat_next) =
        m.add_register(&names.fresh_with(&format!("{port}_beat"), &["_d", "_q"]), Bits::zero(beat_bits));
    let (count, count_next) =
        m.add_register(&names.fresh_with(&format!("{port}_count"), &["_d", "_q"]), Bits::zero(bits));
    if is_direct {
        let is_kept = m.get(count).is(0).inverted();
        m.assign(stream, Expr::select(is_kept.clone(), m.get(beat), m.get(next)));
        m.assign(stream_valid, is_kept.clone().or(m.get(given)));
        m.assign(room, is_kept.inverted());
        m.assign(beat_next, Expr::select(m.get(given), m.get(next), m.get(beat)));
        let stays = m.get(stream_valid).and(m.get(ready).inverted());
        m.assign(count_next, stays.resized(false, bits));
        return BeatOut { data: next, given, room, width, tokens };
    }
    m.assign(stream, m.get(beat).slice(0, stream_bits));
    m.assign(stream_valid, m.get(count).is(0).inverted());
    m.assign(room, m.get(count).is(0).or(m.get(count).is(1).and(m.get(ready))));
    let goes = m.get(stream_valid).and(m.get(ready));
    let rest = if n == 1 {
        m.get(beat)
    } else {
        let more = Expr::number(stream_bits, 0);
        let shifted = Expr::concat(vec![more, m.get(beat).slice(stream_bits, beat_bits - stream_bits)]);
        Expr::select(goes.clone(), shifted, m.get(beat))
    };
    m.assign(beat_next, Expr::select(m.get(given), m.get(next), rest));
    let left = m.get(count).minus(goes.resized(false, bits));
    m.assign(count_next, Expr::select(m.get(given), Expr::number(bits, n), left));
    BeatOut { data: next, given, room, width, tokens }
}
