//! Size rules of every operation that this repository ships: what lies just outside is refused before there is a token,
//! with the rule in the message; what lies just inside is taken.

// As the library itself: a diagnostic is made once, where something is refused.
#![allow(clippy::result_large_err)]

mod loading;

use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::framing::{Message, MessageWriter};
use headrace_library::sizes::Sizes;
use headrace_library::{PortSpec, Role};
use loading::library;

/// Longest string that is tried; rules without a limit have none to be tried.
const LONGEST: u64 = 70_000;

/// Lengths on both sides of every bound of a rule.
fn around(sizes: &Sizes) -> Vec<u64> {
    let bounds = match sizes {
        Sizes::OneOf(sizes) => sizes.clone(),
        Sizes::Range { min, max, multiple } => vec![*min, *max, min + multiple, min + 2 * multiple, sizes.min()],
    };
    let mut lengths: Vec<u64> = bounds
        .iter()
        .flat_map(|bound| [bound.saturating_sub(1), *bound, bound.saturating_add(1)])
        .filter(|length| *length <= LONGEST)
        .collect();
    lengths.push(0);
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

fn strings(spec: &OperationSpec) -> impl Iterator<Item = &PortSpec> {
    spec.inputs.iter().filter(|port| !port.role.is_control())
}

/// A message whose strings all have the least legal length.
fn least(spec: &OperationSpec) -> Message {
    let mut message = Message::new();
    for port in strings(spec) {
        message.set(port.role, vec![0; port.sizes.min() as usize]);
    }
    message
}

/// What is said of a message that is refused before any token; `None` if it is taken.
fn refusal(spec: &OperationSpec, message: &Message) -> Option<Vec<String>> {
    let refused = MessageWriter::new(spec).whole(message).err()?;
    Some(refused.into_iter().map(|problem| problem.message).collect())
}

/// A refusal is one sentence that names string, operation, length and rule.
fn assert_names_the_rule(spec: &OperationSpec, port: &PortSpec, length: u64, said: &[String]) {
    let name = spec.full_name();
    let expected = format!("`{}` of `{name}` has {length} bytes; it must have {}", port.role.name(), port.sizes);
    assert_eq!(said, [expected]);
}

#[test]
fn lengths_outside_the_rules_are_refused_before_a_token_is_made() {
    let library = library(&[]);
    let (mut n_refused, mut n_taken) = (0, 0);
    for spec in library.operations().iter().filter(|spec| spec.framing != Framing::Bare) {
        assert_eq!(refusal(spec, &least(spec)), None, "{}", spec.full_name());
        for port in strings(spec) {
            for length in around(&port.sizes) {
                let message = least(spec).with(port.role, vec![0; length as usize]);
                match refusal(spec, &message) {
                    None => {
                        assert!(port.sizes.allows(length), "{}: {} of {length}", spec.full_name(), port.role.name());
                        n_taken += 1;
                    }
                    Some(said) => {
                        assert!(!port.sizes.allows(length), "{said:?}");
                        assert_names_the_rule(spec, port, length, &said);
                        n_refused += 1;
                    }
                }
            }
        }
    }
    assert!(n_refused > 1000 && n_taken > 1000, "{n_refused} refused, {n_taken} taken");
}

#[test]
fn input_whose_length_is_not_known_ahead_is_refused_as_soon_as_it_is_wrong() {
    let library = library(&[]);
    for spec in library.operations().iter().filter(|spec| spec.framing == Framing::Message) {
        let Some(port) = spec.input(Role::Input) else { continue };
        for length in around(&port.sizes) {
            let mut writer = MessageWriter::new(spec);
            writer.begin(&least(spec)).unwrap_or_else(|problems| panic!("{}: {problems:?}", spec.full_name()));
            // One byte a time; the end alone in the last chunk.
            let mut came = Ok(Vec::new());
            for n in 0..length.min(300) {
                came = writer.chunk(&[0], false);
                assert!(came.is_ok() || n + 1 > port.sizes.max(), "{}", spec.full_name());
                if came.is_err() {
                    break;
                }
            }
            if length > 300 && came.is_ok() {
                came = writer.chunk(&vec![0; length as usize - 300], false);
            }
            let ended = came.and_then(|_| writer.chunk(&[], true));
            match ended {
                Ok(_) => assert!(port.sizes.allows(length), "{}: {length}", spec.full_name()),
                Err(problem) => {
                    assert!(!port.sizes.allows(length), "{}", problem.message);
                    assert_names_the_rule(
                        spec,
                        port,
                        length.min(port.sizes.max().saturating_add(1)),
                        &[problem.message],
                    );
                }
            }
        }
    }
}

#[test]
fn strings_that_are_missing_or_too_many_are_refused() {
    let library = library(&[]);
    for spec in library.operations().iter().filter(|spec| spec.framing != Framing::Bare) {
        let name = spec.full_name();
        for role in Role::ALL {
            if let Some(port) = strings(spec).find(|port| port.role == role) {
                let mut message = Message::new();
                for other in strings(spec).filter(|other| other.role != role) {
                    message.set(other.role, vec![0; other.sizes.min() as usize]);
                }
                // A string that may be empty need not be there.
                let said = refusal(spec, &message);
                let optional = port.sizes.allows(0) || role == Role::Entropy;
                let expected = format!("`{name}` needs `{}` ({})", role.name(), port.sizes);
                assert_eq!(said, (!optional).then(|| vec![expected]));
            } else {
                let said = refusal(spec, &least(spec).with(role, *b"x"));
                if spec.input(role).is_none() {
                    assert_eq!(said, Some(vec![format!("`{name}` takes no `{}`", role.name())]));
                }
            }
        }
    }
}
