//! How little of a campaign shows its failure: the message alone, whole or in chunks, or how many messages before it.

use super::campaign::{Judge, Ready, differs};
use super::chunks::cut;
use super::messages::Messages;
use super::summary::describe;
use headrace_library::framing::Message;

/// Most messages before a failure that are tried.
const MOST_BEFORE: u64 = 16;

/// Lines about what suffices for message `n` to fail.
pub fn narrow(ready: &Ready, judge: &Judge, messages: &Messages, n: u64) -> String {
    let Some(drawn) = messages.draw(n) else { return String::new() };
    if fails(ready, judge, &drawn.message) {
        let small = smaller(ready, judge, drawn.message);
        return format!("\n  it fails alone and in one chunk; so does {}", describe(&small));
    }
    for before in 0..=MOST_BEFORE.min(n) {
        for whole in [true, false] {
            if sequence_fails(ready, judge, messages, n - before, n, whole) == Some(true) {
                let cuts = if whole { "in one chunk" } else { "cut into chunks" };
                return match before {
                    0 => format!("\n  it fails alone, {cuts}"),
                    _ => format!("\n  it fails after the {before} messages before it, {cuts}"),
                };
            }
        }
    }
    format!("\n  it does not fail alone, nor after the {MOST_BEFORE} messages before it one at a time")
}

fn fails(ready: &Ready, judge: &Judge, message: &Message) -> bool {
    let Ok(Some((expected, _))) = judge.expect(message, true) else { return false };
    match ready.alone(message) {
        Ok(came) => differs(&came, &expected).is_some(),
        Err(_) => true,
    }
}

/// Shortens one string after another as long as the failure stays.
fn smaller(ready: &Ready, judge: &Judge, mut message: Message) -> Message {
    for port in ready.spec.inputs.iter().filter(|port| !port.role.is_control()) {
        let mut step = message.get(port.role).map_or(0, <[u8]>::len);
        while step > 0 {
            let string = message.get(port.role).unwrap_or_default();
            let shorter = string.len().saturating_sub(step);
            if step <= string.len() && port.sizes.allows(shorter as u64) {
                let mut tried = message.clone();
                tried.set(port.role, &string[..shorter]);
                if fails(ready, judge, &tried) {
                    message = tried;
                    continue;
                }
            }
            step /= 2;
        }
    }
    message
}

/// Whether message `to` fails in a fresh network after those from `from`, one at a time; `None` if it cannot be known.
fn sequence_fails(ready: &Ready, judge: &Judge, messages: &Messages, from: u64, to: u64, whole: bool) -> Option<bool> {
    let mut running = ready.start().ok()?;
    for n in from..=to {
        let mut drawn = messages.draw(n)?;
        drawn.message.rekey |= n == from;
        let mut data = running.tokens(&drawn.message).ok()?;
        if !whole {
            cut(ready.spec, &mut data, &mut drawn.rng);
        }
        let came = running.send(&data).and_then(|()| running.run()).and_then(|()| running.next(&drawn.message));
        if n < to {
            came.ok()?;
            continue;
        }
        let Ok(came) = came else { return Some(true) };
        let (expected, _) = judge.expect(&drawn.message, true).ok()??;
        return Some(differs(&came, &expected).is_some());
    }
    None
}
