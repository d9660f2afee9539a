//! The messages of a seed: message `n` of an operation is the same whatever came before it, but for the key that it
//! goes on with.

use crate::rng::Rng;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, Outcome};
use headrace_library::sizes::Sizes;
use headrace_library::{PortSpec, Role};

/// Makes valid messages for an operation that verifies: its inverse.
pub type Maker<'m> = dyn Fn(&Message) -> Option<Outcome> + 'm;

/// The messages of an operation.
pub struct Messages<'m> {
    spec: &'m OperationSpec,
    seed: u64,
    /// For an operation that verifies: the operation that it undoes.
    inverse: Option<(&'m OperationSpec, &'m Maker<'m>)>,
}

/// A message.
#[derive(Clone)]
pub struct Drawn {
    /// The message, with the key that holds even where it does not say it anew.
    pub message: Message,
    /// Whether it was changed after it had been made.
    pub forged: bool,
    /// What must come of it whoever judges: what was made is undone, and no changed bit is accepted. `None` where a
    /// message was not made, or was changed into one that chance may find right.
    pub must: Option<Outcome>,
    /// For what is left to chance in sending it.
    pub rng: Rng,
}

/// Lengths around which things change: words, blocks, rates.
const EDGES: [u64; 12] = [1, 2, 3, 4, 8, 16, 20, 32, 64, 128, 136, 168];

/// Greatest length of a string that is drawn.
const MAX_BYTES: u64 = 4096;

/// A legal length: many short ones, around the edges, and a long one now and then.
pub fn length(sizes: &Sizes, long: bool, rng: &mut Rng) -> u64 {
    let (min, max, multiple) = match sizes {
        Sizes::OneOf(sizes) => return rng.pick(sizes).copied().unwrap_or(0),
        Sizes::Range { min, max, multiple } => (*min, (*max).min(MAX_BYTES.max(*min)), (*multiple).max(1)),
    };
    let raw = match rng.weighted(&[8, 12, 35, 30, 12, 3]) {
        0 => min,
        1 => min.saturating_add(multiple * rng.below(5) as u64),
        2 => {
            let edge = rng.pick(&EDGES).copied().unwrap_or(1).max(multiple) * (1 + rng.below(4) as u64);
            (edge + multiple).saturating_sub(multiple * rng.below(3) as u64)
        }
        3 => rng.range(min as i64, max.min(min + 64) as i64) as u64,
        4 => rng.range(min as i64, max.min(min + 300) as i64) as u64,
        _ if max < 2 * EDGES[11] => max,
        _ if long => rng.range(min as i64, max as i64) as u64,
        _ => rng.range(min as i64, max.min(min + 600) as i64) as u64,
    };
    let raw = raw.clamp(min, max) / multiple * multiple;
    if raw < min { sizes.min() } else { raw }
}

/// What a string of an input port may have: of the input no more than its operation takes.
fn legal(spec: &OperationSpec, port: &PortSpec) -> Sizes {
    match (&port.sizes, spec.most_input()) {
        (&Sizes::Range { min, max, multiple }, Some(most)) if port.role == Role::Input => {
            Sizes::Range { min, max: max.min(most), multiple }
        }
        (sizes, _) => sizes.clone(),
    }
}

/// Bytes: most of them random, some all zeros or all ones.
fn bytes(n: u64, rng: &mut Rng) -> Vec<u8> {
    match rng.below(24) {
        0 => vec![0; n as usize],
        1 => vec![0xff; n as usize],
        _ => {
            let mut bytes = Vec::with_capacity(n as usize + 8);
            while bytes.len() < n as usize {
                bytes.extend(rng.bits().to_le_bytes());
            }
            bytes.truncate(n as usize);
            bytes
        }
    }
}

impl<'m> Messages<'m> {
    /// The messages of a seed.
    pub fn new(spec: &'m OperationSpec, seed: u64, inverse: Option<(&'m OperationSpec, &'m Maker<'m>)>) -> Self {
        Messages { spec, seed, inverse }
    }

    fn rng(&self, n: u64) -> Rng {
        // FNV-1a, so that each operation has messages of its own.
        let name = self.spec.full_name();
        let own = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        Rng::new(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ own ^ n.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The key that message `n` says, or none if it goes on with the one before.
    fn own_key(&self, n: u64, rng: &mut Rng) -> Option<Vec<u8>> {
        let sizes = self.spec.key_sizes()?;
        let says = rng.chance(40) || n == 0;
        let length = length(sizes, false, rng);
        let key = bytes(length, rng);
        says.then_some(key)
    }

    /// Message `n`; `None` when the operation that it undoes could not make it.
    pub fn draw(&self, n: u64) -> Option<Drawn> {
        let mut rng = self.rng(n);
        let own = self.own_key(n, &mut rng);
        let rekey = own.is_some();
        let mut key = own;
        if self.spec.key_sizes().is_some() {
            let mut before = n;
            while key.is_none() {
                before = before.checked_sub(1)?;
                key = self.own_key(before, &mut self.rng(before));
            }
        }
        let drawn = match self.inverse {
            None => {
                let message = strings(self.spec, key, &mut rng);
                Drawn { message, forged: false, must: None, rng }
            }
            Some((inverse, make)) => {
                let made = strings(inverse, key, &mut rng);
                let message = undoing(self.spec, &made, &make(&made)?);
                let forged = rng.chance(40);
                if forged {
                    let forgery = forge(self.spec, message.clone(), &mut rng);
                    let must = is_found_out(&message, &forgery).then_some(Outcome::Rejected);
                    Drawn { message: forgery, forged, must, rng }
                } else {
                    Drawn { message, forged, must: Some(undone(self.spec, &made)), rng }
                }
            }
        };
        let mut drawn = drawn;
        // A generator that goes on begins anew with every message, because no message may depend on those before it.
        drawn.message.rekey = rekey || self.spec.input(Role::Entropy).is_some();
        Some(drawn)
    }
}

/// Random strings for every input of an operation.
fn strings(spec: &OperationSpec, key: Option<Vec<u8>>, rng: &mut Rng) -> Message {
    let mut message = Message::new();
    if spec.framing == Framing::Generator {
        message.words = match rng.below(4) {
            0 => rng.below(4) as u64,
            1 => rng.below(200) as u64,
            _ => rng.below(20) as u64,
        };
    }
    for port in spec.inputs.iter().filter(|port| !port.role.is_control()) {
        let string = match (&key, port.role) {
            (Some(key), Role::Key) => key.clone(),
            (_, role) => {
                let length = length(&legal(spec, port), role == Role::Input, rng);
                bytes(length, rng)
            }
        };
        message.set(port.role, string);
    }
    message
}

/// The message for an operation that undoes what `made` came to.
fn undoing(spec: &OperationSpec, made: &Message, came: &Outcome) -> Message {
    let mut message = Message::new();
    for port in spec.inputs.iter().filter(|port| !port.role.is_control()) {
        let from = match port.role {
            Role::TagIn => came.get(Role::Tag),
            Role::SecretNonce => came.get(Role::SecretNonceOut),
            Role::Input => came.get(Role::Output).or(made.get(Role::Input)),
            role => made.get(role),
        };
        message.set(port.role, from.unwrap_or_default());
    }
    message
}

/// What undoing must give back: the strings that it puts out, as they were before.
fn undone(spec: &OperationSpec, made: &Message) -> Outcome {
    let before = |role| match role {
        Role::Output => made.get(Role::Input),
        Role::SecretNonceOut => made.get(Role::SecretNonce),
        _ => None,
    };
    let strings = spec.outputs.iter().filter_map(|port| Some((port.role, before(port.role)?.to_vec())));
    Outcome::Accepted(strings.collect())
}

/// Whether a forgery cannot be right by chance: a string has its old length, so that no tag was only cut short, and the tag
/// is long. The nonce of a message without text need not enter its tag (PAEQ).
fn is_found_out(message: &Message, forgery: &Message) -> bool {
    let strings = || Role::ALL.iter().map(|role| (message.get(*role), forgery.get(*role)));
    let has_old_lengths = strings().all(|(old, new)| old.map(<[u8]>::len) == new.map(<[u8]>::len));
    let has_long_tag = message.get(Role::TagIn).is_some_and(|tag| tag.len() >= 8);
    let has_text = message.get(Role::Input).is_some_and(|text| !text.is_empty());
    let has_old_nonce = message.get(Role::Nonce) == forgery.get(Role::Nonce);
    has_old_lengths && has_long_tag && (has_text || has_old_nonce) && strings().any(|(old, new)| old != new)
}

/// The message with one thing changed, of legal size. The key stays, since later messages go on with it.
fn forge(spec: &OperationSpec, message: Message, rng: &mut Rng) -> Message {
    let roles: Vec<Role> =
        spec.inputs.iter().map(|port| port.role).filter(|role| !role.is_control() && *role != Role::Key).collect();
    let mut forged = message.clone();
    let Some(role) = rng.pick(&roles).copied() else { return message };
    let Some(port) = spec.input(role) else { return message };
    let mut string = message.get(role).unwrap_or_default().to_vec();
    match rng.below(6) {
        // Longer, shorter, or something else altogether.
        0 => {
            let more = 1 + rng.below(17) as u64;
            string.extend(bytes(more, rng));
        }
        1 => string.truncate(rng.below(string.len() + 1)),
        2 => {
            let n = length(&legal(spec, port), false, rng);
            string = bytes(n, rng);
        }
        _ => flip(&mut string, rng),
    }
    if !legal(spec, port).allows(string.len() as u64) {
        string = message.get(role).unwrap_or_default().to_vec();
        flip(&mut string, rng);
    }
    forged.set(role, string);
    forged
}

fn flip(string: &mut [u8], rng: &mut Rng) {
    let at = match rng.below(4) {
        0 => 0,
        1 => string.len().saturating_sub(1),
        _ => rng.below(string.len()),
    };
    if let Some(byte) = string.get_mut(at) {
        *byte ^= 1 << rng.below(8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_keeps_its_length_and_has_a_long_tag_is_found_out_for_sure() {
        let message = |tag: &[u8], text: &[u8]| Message::new().with(Role::TagIn, tag).with(Role::Input, text);
        let made = message(&[1; 8], b"text");
        assert!(is_found_out(&made, &message(&[1; 8], b"tuxt")));
        assert!(!is_found_out(&made, &made));
        assert!(!is_found_out(&made, &message(&[1; 4], b"text")));
        assert!(!is_found_out(&message(&[1; 4], b"text"), &message(&[1; 4], b"tuxt")));
    }
}
