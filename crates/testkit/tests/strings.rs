//! Input that is shorter or longer than its sizes say, through every message operation of the library: what is missing is
//! waited for, and what is there beyond a message is the beginning of the next one.

mod support;

use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, Outcome, PortData, Tokens};
use headrace_testkit::peers::library::Shipped;
use headrace_testkit::peers::messages::length;
use headrace_testkit::rng::Rng;
use std::path::Path;
use std::sync::Arc;
use support::running;

/// A message with some input.
fn drawn(spec: &OperationSpec, rng: &mut Rng) -> Message {
    let mut message = Message::new();
    for port in spec.inputs.iter().filter(|port| !port.role.is_control()) {
        let mut n = length(&port.sizes, false, rng).min(port.sizes.min().max(100));
        while !port.sizes.allows(n) || (port.role == Role::Input && n == 0) {
            n += 1;
        }
        message.set(port.role, (0..n).map(|_| rng.below(256) as u8).collect::<Vec<u8>>());
    }
    message
}

/// The bytes of the input among the tokens of a message.
fn input<'d>(spec: &OperationSpec, data: &'d mut [PortData]) -> &'d mut Vec<u8> {
    let port = spec.input(Role::Input).unwrap();
    let part = data.iter_mut().find(|part| part.port == port.name).unwrap();
    let Tokens::Bytes(bytes) = &mut part.tokens else { panic!("{}: input is no bytes", spec.full_name()) };
    bytes
}

fn alone(spec: &OperationSpec, network: &Arc<Network>, message: &Message) -> Outcome {
    running(spec, network).perform(message).unwrap_or_else(|why| panic!("{}: {why}", spec.full_name()))
}

#[test]
fn missing_bytes_are_waited_for_and_further_ones_are_the_next_message() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shipped = Shipped::read(&root).unwrap();
    let mut rng = Rng::new(0x7374_7269_6e67);
    let mut n_operations = 0;
    for spec in shipped.library.operations() {
        let has_input = spec.input(Role::Input).is_some_and(|port| port.companion.is_some());
        if spec.framing != Framing::Message || !has_input {
            continue;
        }
        n_operations += 1;
        let name = spec.full_name();
        let network = shipped.network(spec, &spec.variants[0].name).unwrap_or_else(|why| panic!("{name}: {why}"));
        let (first, second) = (drawn(spec, &mut rng), drawn(spec, &mut rng));
        let mut running = running(spec, &network);
        let mut data = running.tokens(&first).unwrap();
        let last = input(spec, &mut data).pop().unwrap();
        running.send(&data).unwrap();
        running.run().unwrap_or_else(|why| panic!("{name}: {why}"));
        let why = running.next(&first).expect_err("a byte of its input is missing");
        assert!(why.starts_with("the message came to no end: "), "{name}: {why}");

        let mut data = running.tokens(&second).unwrap();
        let beginning = input(spec, &mut data).remove(0);
        let port = spec.input(Role::Input).unwrap().name.clone();
        running.send(&[PortData { port, tokens: Tokens::Bytes(vec![last, beginning]) }]).unwrap();
        running.run().unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(running.next(&first), Ok(alone(spec, &network, &first)), "{name}");
        running.next(&second).expect_err("most of it is missing");

        running.send(&data).unwrap();
        running.run().unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(running.next(&second), Ok(alone(spec, &network, &second)), "{name}");
        running.nothing_left().unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert!(n_operations > 100, "{n_operations}");
}
