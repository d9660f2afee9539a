//! Every mode of operation with every block cipher of the library: what one operation makes of a message, its inverse
//! undoes. Known answers and peers say that the bytes are the right ones where there are any; this holds for every block
//! size and every length of key, also of ciphers that nobody else has.

mod support;

use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, Outcome};
use headrace_library::manifest::Shape;
use headrace_testkit::peers::library::Shipped;
use headrace_testkit::peers::messages::length;
use headrace_testkit::rng::Rng;
use std::collections::BTreeSet;
use std::path::Path;
use support::running;

/// Messages through each pair of networks, which run on from one to the next.
const MESSAGES: usize = 4;

fn drawn(spec: &OperationSpec, rng: &mut Rng) -> Message {
    let mut message = Message::new();
    for port in spec.inputs.iter().filter(|port| !port.role.is_control()) {
        let n = length(&port.sizes, false, rng);
        message.set(port.role, (0..n).map(|_| rng.below(256) as u8).collect::<Vec<u8>>());
    }
    message
}

#[test]
fn what_a_mode_makes_of_a_message_its_inverse_undoes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shipped = Shipped::read(&root).unwrap();
    let mut rng = Rng::new(0x6d6f_6465);
    let mut modes = BTreeSet::new();
    let mut blocks = BTreeSet::new();
    for spec in shipped.library.operations() {
        let ours =
            spec.shape == Shape::BlockCipher && spec.framing == Framing::Message && !spec.name.ends_with("decrypt");
        let Some(inverse) = spec.inverse.as_deref().filter(|_| ours) else { continue };
        let inverse = shipped.library.operation(&spec.set, inverse).unwrap();
        let network = |spec: &OperationSpec| {
            let variant = &spec.variants[0].name;
            shipped.network(spec, variant).unwrap_or_else(|why| panic!("{}: {why}", spec.full_name()))
        };
        let (there, back) = (network(spec), network(inverse));
        let (mut there, mut back) = (running(spec, &there), running(inverse, &back));
        let mut key = Vec::new();
        for at in 0..MESSAGES {
            let mut message = drawn(spec, &mut rng);
            message.rekey = at == 0 || rng.chance(50);
            if message.rekey {
                key = message.get(Role::Key).unwrap().to_vec();
            } else {
                message.set(Role::Key, key.clone());
            }
            let input = message.get(Role::Input).unwrap().to_vec();
            let about = format!("{}, {} bytes, key of {}", spec.full_name(), input.len(), key.len());
            let made = there.perform(&message).unwrap_or_else(|why| panic!("{about}: {why}"));
            message.set(Role::Input, made.get(Role::Output).unwrap());
            let came = back.perform(&message).unwrap_or_else(|why| panic!("{about}, undone: {why}"));
            assert_ne!(came, Outcome::Rejected, "{about}");
            assert_eq!(came.get(Role::Output), Some(input.as_slice()), "{about}");
        }
        modes.insert(spec.name.clone());
        blocks.insert(spec.block_bytes);
    }
    assert!(modes.len() >= 11, "{modes:?}");
    assert!(blocks.len() >= 6, "{blocks:?}");
}
