//! What an operation of the library offers in any language: the functions that it has, and the strings that these take.

use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::{PortSpec, Role};

/// The strings of a message, in the order in which they are given: role, its constant in C, its name in signatures.
pub(crate) const STRINGS: [(Role, &str, &str); 12] = [
    (Role::Key, "HEADRACE_KEY", "key"),
    (Role::Nonce, "HEADRACE_NONCE", "nonce"),
    (Role::Iv, "HEADRACE_IV", "iv"),
    (Role::SecretNonce, "HEADRACE_SECRET_NONCE", "secret_nonce"),
    (Role::Ad, "HEADRACE_AD", "ad"),
    (Role::Seed, "HEADRACE_SEED", "seed"),
    (Role::Entropy, "HEADRACE_ENTROPY", "entropy"),
    (Role::Input, "HEADRACE_INPUT", "in"),
    (Role::TagIn, "HEADRACE_TAG_IN", "tag"),
    (Role::SecretNonceOut, "HEADRACE_SECRET_NONCE_OUT", "secret_nonce_out"),
    (Role::Output, "HEADRACE_OUTPUT", "out"),
    (Role::Tag, "HEADRACE_TAG", "tag"),
];

/// A function of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// `key`
    Key,
    /// `blocks`
    Blocks,
    /// `generate`
    Generate,
    /// `init`
    Init,
    /// `update`
    Update,
    /// `final`
    Final,
    /// `message`
    Message,
    /// `message_helped`
    Helped,
    /// `many`
    Many,
}

/// A string in the signature of a function.
pub(crate) struct Parameter<'s> {
    /// The constant of its role in C.
    pub(crate) constant: &'static str,
    pub(crate) name: &'static str,
    pub(crate) port: &'s PortSpec,
}

/// The functions that an operation has, in the order in which they stand in its header.
pub(crate) fn functions(spec: &OperationSpec) -> Vec<Function> {
    let mut functions = Vec::new();
    functions.extend(spec.input(Role::Key).map(|_| Function::Key));
    match spec.framing {
        Framing::Core => functions.push(Function::Blocks),
        Framing::Generator => functions.push(Function::Generate),
        _ if withholds(spec) || spec.single_chunk => {
            functions.extend([Function::Message, Function::Helped, Function::Many]);
        }
        _ => functions.extend([
            Function::Init,
            Function::Update,
            Function::Final,
            Function::Message,
            Function::Helped,
            Function::Many,
        ]),
    }
    functions
}

/// The strings that a function takes and gives.
pub(crate) fn parameters(spec: &OperationSpec, function: Function) -> Vec<Parameter<'_>> {
    let wanted = |role: Role| match function {
        Function::Key => role == Role::Key,
        Function::Init => role < Role::Input && role != Role::Key,
        Function::Update => role == Role::Input || role == Role::Output && streams(spec),
        Function::Final => role > Role::Input,
        Function::Generate | Function::Message | Function::Helped | Function::Many => role != Role::Key,
        Function::Blocks => false,
    };
    let parameter = |(role, constant, name): (Role, &'static str, &'static str)| {
        let port = if role.is_output() { spec.output(role) } else { spec.input(role) };
        port.filter(|_| wanted(role)).map(|port| Parameter { constant, name, port })
    };
    STRINGS.into_iter().filter_map(parameter).collect()
}

/// Output of which the length can vary comes while input goes in; a digest comes at the end.
pub(crate) fn streams(spec: &OperationSpec) -> bool {
    spec.output(Role::Output).is_some_and(|port| port.companion.is_some())
}

/// Output that is for verified messages only.
pub(crate) fn withholds(spec: &OperationSpec) -> bool {
    spec.verifies && spec.output(Role::Output).is_some()
}
