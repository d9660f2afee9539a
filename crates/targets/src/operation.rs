//! What an operation of the library offers in any language: the functions that it has, the strings that these take, and
//! what the run time that processes messages has to know of its ports.

use headrace_ir::Network;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::sizes::Sizes;
use headrace_library::{PortSpec, Role};

/// The strings of a message, in the order in which they are given: role, its constant, its name in signatures.
pub(crate) const STRINGS: [(Role, &str, &str); 12] = [
    (Role::Key, "KEY", "key"),
    (Role::Nonce, "NONCE", "nonce"),
    (Role::Iv, "IV", "iv"),
    (Role::SecretNonce, "SECRET_NONCE", "secret_nonce"),
    (Role::Ad, "AD", "ad"),
    (Role::Seed, "SEED", "seed"),
    (Role::Entropy, "ENTROPY", "entropy"),
    (Role::Input, "INPUT", "in"),
    (Role::TagIn, "TAG_IN", "tag"),
    (Role::SecretNonceOut, "SECRET_NONCE_OUT", "secret_nonce_out"),
    (Role::Output, "OUTPUT", "out"),
    (Role::Tag, "TAG", "tag"),
];

/// The place of a string in [`STRINGS`]. Panics for roles that are not strings.
pub(crate) fn string_number(role: Role) -> usize {
    STRINGS.iter().position(|(known, ..)| *known == role).expect("ports that control messages are no strings")
}

/// The constant of a string. Panics for roles that are not strings.
pub(crate) fn string_constant(role: Role) -> &'static str {
    STRINGS[string_number(role)].1
}

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
    /// The constant of its role.
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

/// Of these, what languages have that do not share one message among processors, nor process several at once.
pub(crate) fn methods(spec: &OperationSpec) -> Vec<Function> {
    functions(spec).into_iter().filter(|function| !matches!(function, Function::Helped | Function::Many)).collect()
}

/// The name of a string in signatures, where `in` is a word of the language.
pub(crate) fn string_name(name: &str) -> &str {
    if name == "in" { "input" } else { name }
}

/// A generator that goes on may be given neither seed nor entropy.
pub(crate) fn is_optional(spec: &OperationSpec, role: Role) -> bool {
    spec.input(Role::Reseed).is_some() && matches!(role, Role::Seed | Role::Entropy)
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

/// What a run time has to know of an operation: the numbers of its ports among the inputs or outputs of its network, and
/// how messages are framed there.
pub(crate) struct Operation {
    /// In the order of [`STRINGS`]; `None` for those that it does not have.
    pub(crate) strings: [Option<StringPort>; STRINGS.len()],
    /// The ports that control messages.
    pub(crate) rekey: Option<usize>,
    pub(crate) decrypt: Option<usize>,
    pub(crate) reseed: Option<usize>,
    pub(crate) blocks: Option<usize>,
    pub(crate) verified: Option<usize>,
    /// Words that a generator makes at once.
    pub(crate) most_words: u64,
    /// Bytes of a block of a core; 0 for what processes messages.
    pub(crate) block_bytes: u64,
    /// What the port `decrypt` is told.
    pub(crate) decrypts: bool,
    /// The input must be one chunk.
    pub(crate) single_chunk: bool,
    /// Output is for verified messages only.
    pub(crate) withholds: bool,
}

/// A string at the edge of a network.
pub(crate) struct StringPort {
    pub(crate) port: usize,
    /// The port where the sizes of its chunks go, when its length can vary.
    pub(crate) sizes: Option<usize>,
    /// A length must be in one of these.
    pub(crate) lengths: Vec<Lengths>,
}

/// Lengths from `min` to `max` bytes, in multiples of `multiple`.
pub(crate) struct Lengths {
    pub(crate) min: u64,
    /// `u64::MAX` where nothing bounds it.
    pub(crate) max: u64,
    pub(crate) multiple: u64,
}

impl Operation {
    pub(crate) fn of(spec: &OperationSpec, network: &Network) -> Self {
        let number = |is_output: bool, wanted: &str| {
            let ports = if is_output { &network.outputs } else { &network.inputs };
            ports.iter().position(|port| port.name == wanted)
        };
        let port_of = |role: Role| if role.is_output() { spec.output(role) } else { spec.input(role) };
        let control = |role: Role| port_of(role).and_then(|port| number(role.is_output(), &port.name));
        let string = |(role, ..): (Role, &str, &str)| {
            let port = port_of(role)?;
            Some(StringPort {
                port: number(role.is_output(), &port.name)?,
                sizes: port.companion.as_deref().and_then(|companion| number(role.is_output(), companion)),
                lengths: lengths(&port.sizes),
            })
        };
        Self {
            strings: STRINGS.map(string),
            rekey: control(Role::Rekey),
            decrypt: control(Role::Decrypt),
            reseed: control(Role::Reseed),
            blocks: control(Role::Blocks),
            verified: control(Role::Verified),
            most_words: spec.input(Role::Blocks).map_or(0, |port| port.sizes.max().min(u32::MAX.into())),
            block_bytes: if spec.framing == Framing::Core { spec.block_bytes.unwrap_or(0) } else { 0 },
            decrypts: spec.decrypt.unwrap_or(false),
            single_chunk: spec.single_chunk,
            withholds: withholds(spec),
        }
    }
}

/// The ranges that make up the legal lengths of a string.
fn lengths(sizes: &Sizes) -> Vec<Lengths> {
    match sizes {
        Sizes::OneOf(sizes) => sizes.iter().map(|&size| Lengths { min: size, max: size, multiple: 1 }).collect(),
        Sizes::Range { min, max, multiple } => vec![Lengths { min: *min, max: *max, multiple: *multiple }],
    }
}
