//! Runs a network on an engine to its end and writes down everything that must not depend on the engine.

use crate::generate::Stream;
use headrace_engine::{CollectingHost, Engine, Outcome};
use headrace_ir::{Network, Scalar};
use num_bigint::{BigInt, Sign};
use std::collections::BTreeMap;

/// What a run showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Tokens of each output, in storage form.
    pub outputs: Vec<Vec<u8>>,
    /// Printed lines by what stands before their first colon, which names the actor: only the order of one actor's
    /// lines is determined.
    pub printed: BTreeMap<String, Vec<String>>,
    /// Firings of each action of each instance; empty where they are not counted.
    pub firings: Vec<Vec<u64>>,
    /// At the end an enabled action or an input waited for room: with larger FIFOs the run would have gone on.
    pub lacks_room: bool,
}

/// Why a run showed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// A run-time error, which generated programs cannot have.
    Trapped(String),
    /// More firings than any generated program needs.
    RanAway,
}

/// More firings than generated programs need by a factor of ten and more.
const MOST_FIRINGS: u64 = 2_000_000;

/// A token in storage form: little-endian, sign-extended to the storage size.
pub fn storage(value: &BigInt, scalar: Scalar) -> Vec<u8> {
    let size = scalar.storage_bytes();
    let mut bytes = value.to_signed_bytes_le();
    let fill = if value.sign() == Sign::Minus { 0xff } else { 0 };
    bytes.resize(bytes.len().max(size), fill);
    bytes.truncate(size);
    bytes
}

/// Runs until nothing moves any more. Streams are matched to input ports by name; ports without one get no tokens.
pub fn observe(engine: &mut dyn Engine, network: &Network, streams: &[Stream]) -> Result<Observed, Stopped> {
    let inputs: Vec<(usize, Vec<u8>)> = network
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(i, port)| {
            let stream = streams.iter().find(|s| s.port == port.name)?;
            Some((i, stream.tokens.iter().flat_map(|v| storage(v, port.ty)).collect()))
        })
        .collect();
    let mut written = vec![0; inputs.len()];
    let mut outputs = vec![Vec::new(); network.outputs.len()];
    let mut host = CollectingHost::default();
    loop {
        let mut moved = false;
        for (k, (port, tokens)) in inputs.iter().enumerate() {
            let size = network.inputs[*port].ty.storage_bytes();
            let n = engine.write(*port, &tokens[written[k]..]);
            written[k] += n * size;
            moved |= n > 0;
        }
        let before: u64 = engine.firings().iter().flatten().sum();
        match engine.run(Some(MOST_FIRINGS), &mut host) {
            Ok(Outcome::Idle) => {}
            Ok(_) => return Err(Stopped::RanAway),
            Err(trap) => {
                return Err(Stopped::Trapped(format!("{} in {}.{}", trap.message, trap.instance, trap.action)));
            }
        }
        let firings = engine.firings();
        let after: u64 = firings.iter().flatten().sum();
        moved |= after > before;
        for (port, tokens) in outputs.iter_mut().enumerate() {
            moved |= engine.read(port, tokens) > 0;
        }
        if after > MOST_FIRINGS {
            return Err(Stopped::RanAway);
        }
        if !moved {
            // Input that was not taken waits for room like an action does.
            let undelivered = inputs.iter().zip(&written).any(|((_, tokens), done)| *done < tokens.len());
            let lacks_room = undelivered || engine.report().lacks_room();
            return Ok(Observed { outputs, printed: lines(&host.printed), firings, lacks_room });
        }
    }
}

/// Printed lines by the actor that printed them: what stands before the first colon.
pub fn lines(printed: &[u8]) -> BTreeMap<String, Vec<String>> {
    let text = String::from_utf8_lossy(printed);
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let (actor, rest) = line.split_once(':').unwrap_or(("", line));
        out.entry(actor.to_owned()).or_default().push(rest.to_owned());
    }
    out
}

/// Says how two runs differ, or nothing. With `same_sizes` of all FIFOs everything must be equal. Otherwise a run that
/// lacked room may have stopped early, so that one stream only has to begin with the other.
pub fn difference(a: &Observed, b: &Observed, same_sizes: bool) -> Option<String> {
    let prefix = !same_sizes && (a.lacks_room || b.lacks_room);
    for (port, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        let n = x.len().min(y.len());
        if x[..n] != y[..n] || (!prefix && x.len() != y.len()) {
            let at = x.iter().zip(y).take_while(|(p, q)| p == q).count();
            return Some(format!(
                "output {port}: {} and {} bytes, different from byte {at}: {} and {}",
                x.len(),
                y.len(),
                excerpt(x, at),
                excerpt(y, at)
            ));
        }
    }
    for actor in a.printed.keys().chain(b.printed.keys()) {
        let none = Vec::new();
        let x = a.printed.get(actor).unwrap_or(&none);
        let y = b.printed.get(actor).unwrap_or(&none);
        let n = x.len().min(y.len());
        if x[..n] != y[..n] || (!prefix && x.len() != y.len()) {
            let at = x.iter().zip(y).take_while(|(p, q)| p == q).count();
            return Some(format!("line {at} printed by {actor}: {:?} and {:?}", x.get(at), y.get(at)));
        }
    }
    let counted = !a.firings.is_empty() && !b.firings.is_empty();
    if counted && !prefix && a.firings != b.firings {
        return Some(format!("firings: {:?} and {:?}", a.firings, b.firings));
    }
    if same_sizes && a.lacks_room != b.lacks_room {
        return Some(format!("lack of room at the end: {} and {}", a.lacks_room, b.lacks_room));
    }
    None
}

fn excerpt(bytes: &[u8], at: usize) -> String {
    let start = at.saturating_sub(4).min(bytes.len());
    let shown = &bytes[start..bytes.len().min(start + 16)];
    let hex: Vec<String> = shown.iter().map(|b| format!("{b:02x}")).collect();
    format!("[{start}] {}", hex.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_ir::IntType;

    #[test]
    fn storage_extends_the_sign_to_the_storage_size() {
        let int = |width, value: i64| storage(&value.into(), Scalar::Int(IntType::signed(width)));
        assert_eq!(int(5, -2), [0xfe]);
        assert_eq!(int(17, -2), [0xfe, 0xff, 0xff, 0xff]);
        assert_eq!(int(65, 1), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(storage(&255.into(), Scalar::Int(IntType::unsigned(8))), [255]);
        assert_eq!(storage(&1.into(), Scalar::Bool), [1]);
    }

    #[test]
    fn a_run_that_lacked_room_may_be_shorter_and_nothing_else() {
        let run = |bytes: &[u8], lacks_room| Observed {
            outputs: vec![bytes.to_vec()],
            printed: BTreeMap::new(),
            firings: vec![vec![bytes.len() as u64]],
            lacks_room,
        };
        assert_eq!(difference(&run(&[1, 2], false), &run(&[1, 2], false), false), None);
        assert_eq!(difference(&run(&[1, 2], false), &run(&[1], true), false), None);
        assert!(difference(&run(&[1, 2], false), &run(&[1], false), false).is_some());
        assert!(difference(&run(&[1, 2], false), &run(&[1], true), true).is_some());
        assert!(difference(&run(&[1, 2], false), &run(&[2], true), false).is_some());
    }

    #[test]
    fn lines_are_told_apart_by_actor() {
        let printed = lines(b"A:x=1\nB:2\nA:3:4\n");
        assert_eq!(printed["A"], ["x=1", "3:4"]);
        assert_eq!(printed["B"], ["2"]);
    }
}
