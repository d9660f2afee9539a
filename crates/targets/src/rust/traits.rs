//! Which traits of RustCrypto the operations of a crate have: types that programs written against these traits can take.
//!
//! Everything follows from what the catalogue says of an operation: its shape, its strings and their lengths. What no trait
//! can say is left out, with the reason.

use super::shape::type_name;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::manifest::Shape;
use headrace_library::sizes::Sizes;
use headrace_library::{PortSpec, Role};
use headrace_program::names::{camel_case, identifier};
use std::collections::BTreeSet;

/// A crate of traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TraitCrate {
    Aead,
    Cipher,
    Digest,
}

/// What a type takes one direction of what it does from: an operation, and what it is called in the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) field: &'static str,
    /// Position among the operations.
    pub(super) operation: usize,
}

/// How a type is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Init {
    /// From nothing.
    Default,
    /// From a key of this many bytes.
    Key(u64),
    /// From a key and a nonce or initial value of these many bytes.
    KeyAndString(u64, Role, u64),
}

/// What a type does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    /// Transforms blocks of this size, in the directions that it has.
    Blocks { size: u64 },
    /// Transforms the blocks of a message in a mode of operation.
    Mode { size: u64, decrypts: bool },
    /// Adds a key stream.
    Stream,
    /// Makes a digest of this size, and takes blocks of that one, if one is known.
    Digest { size: u64, block: Option<u64> },
    /// Makes a tag of this size.
    Tag { size: u64 },
    /// Encrypts and authenticates: the role of its nonce, sizes of nonce and tag.
    Authenticated { string: Role, nonce: u64, tag: u64 },
}

/// A type with traits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraitType {
    pub(super) name: String,
    /// What programs that ask for it call it.
    pub(super) called: String,
    pub(super) parts: Vec<Part>,
    pub(super) init: Init,
    pub(super) does: Does,
    /// What its traits cannot say, in sentences.
    pub(super) limits: Vec<String>,
}

/// What a crate offers to programs that are written against traits.
#[derive(Debug, Default)]
pub(super) struct Traits {
    pub(super) types: Vec<TraitType>,
    /// Names of operations without traits, with the reasons.
    pub(super) left_out: Vec<(String, String)>,
}

impl TraitType {
    pub(super) fn trait_crate(&self) -> TraitCrate {
        match self.does {
            Does::Blocks { .. } | Does::Mode { .. } | Does::Stream => TraitCrate::Cipher,
            Does::Digest { .. } | Does::Tag { .. } => TraitCrate::Digest,
            Does::Authenticated { .. } => TraitCrate::Aead,
        }
    }

    pub(super) fn part(&self, field: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.field == field)
    }

    /// Whether one key does for several messages.
    pub(super) fn goes_on(&self) -> bool {
        !matches!(self.init, Init::KeyAndString(..))
    }
}

impl Traits {
    /// The crates that they come from.
    pub(super) fn crates(&self) -> BTreeSet<TraitCrate> {
        self.types.iter().map(TraitType::trait_crate).collect()
    }
}

/// A nonce that may have several lengths has this one: what RFC 5116 (section 3.1) recommends.
const USUAL_NONCE: u64 = 12;

/// Keys up to this length are as long as they may be; longer ones are as long as what they protect is wide.
const LONG_KEY: u64 = 256;

/// Whether `hybrid-array` has arrays of this length.
fn is_array_size(size: u64) -> bool {
    matches!(size, 1..=512 | 2048 | 4096 | 8192) || (528..=1024).contains(&size) && size.is_multiple_of(16)
}

fn array_size(size: u64, of_what: &str) -> Result<u64, String> {
    if is_array_size(size) {
        Ok(size)
    } else {
        Err(format!("RustCrypto has no arrays as long as its {of_what}: {size}"))
    }
}

/// The traits of operations.
pub(super) fn traits(operations: &[&OperationSpec]) -> Traits {
    let mut traits = Traits::default();
    let mut taken: BTreeSet<String> = operations.iter().map(|spec| type_name(spec)).collect();
    taken.extend(["Error".to_owned(), "Result".to_owned()]);
    for (at, spec) in operations.iter().enumerate() {
        if partner(operations, at).is_some_and(|first| first < at) {
            // It stands in the type of the other direction.
            continue;
        }
        match classify(operations, at) {
            Ok(mut found) => {
                found.name = name(&mut taken, spec);
                found.called = if is_of_mode(spec) { spec.full_name() } else { spec.set.clone() };
                traits.types.push(found);
            }
            Err(reason) => {
                traits.left_out.push((spec.own_name(), reason.clone()));
                if let Some(other) = partner(operations, at) {
                    traits.left_out.push((operations[other].own_name(), reason));
                }
            }
        }
    }
    traits
}

/// A mode gives a block cipher operations beside its own.
fn is_of_mode(spec: &OperationSpec) -> bool {
    spec.shape == Shape::BlockCipher && spec.framing == Framing::Message
}

/// A name of its own: that of the parameter set for what it is for, longer ones for modes of operation.
fn name(taken: &mut BTreeSet<String>, spec: &OperationSpec) -> String {
    let set = camel_case(&identifier(&spec.set).to_lowercase());
    let long = format!("{set}{}", camel_case(&identifier(&spec.name).to_lowercase()));
    let own = if is_of_mode(spec) { long.clone() } else { set };
    // Among several sets the operation itself has the long name.
    let last = if spec.among_sets { format!("{long}Type") } else { long.clone() };
    let mut candidates = [own, long, last.clone()].into_iter().chain((2..).map(|number| format!("{last}{number}")));
    let name = candidates.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// The operation that shares a type with this one: the other direction of blocks, or of authenticated encryption.
fn partner(operations: &[&OperationSpec], at: usize) -> Option<usize> {
    let spec = operations[at];
    operations.iter().enumerate().position(|(other_at, other)| {
        let apart = other_at != at && other.set == spec.set && other.decrypts != spec.decrypts;
        apart
            && match (spec.framing, other.framing) {
                (Framing::Core, Framing::Core) => true,
                (Framing::Message, Framing::Message) if spec.shape == Shape::Aead => {
                    spec.inverse.as_ref() == Some(&other.name) && other.inverse.as_ref() == Some(&spec.name)
                }
                _ => false,
            }
    })
}

fn classify(operations: &[&OperationSpec], at: usize) -> Result<TraitType, String> {
    let spec = operations[at];
    let part = |field| Part { field, operation: at };
    let mut limits = Vec::new();
    let (parts, init, does) = match (spec.framing, spec.shape) {
        (Framing::Core, _) => {
            known_strings(spec, &[Role::Blocks])?;
            let size = array_size(spec.block_bytes.unwrap_or(0), "blocks")?;
            let init = Init::Key(key(spec, &mut limits)?);
            let of =
                |at: usize| Part { field: if operations[at].decrypts { "decrypt" } else { "encrypt" }, operation: at };
            let mut parts = vec![of(at)];
            parts.extend(partner(operations, at).map(of));
            parts.sort_by_key(|part| part.field != "encrypt");
            (parts, init, Does::Blocks { size })
        }
        (Framing::Message, Shape::BlockCipher | Shape::StreamCipher) => {
            let does = ciphers(spec)?;
            known_strings(spec, &[])?;
            (vec![part("cipher")], init(spec, &mut limits)?, does)
        }
        (Framing::Message, Shape::Hash) => {
            pieces(spec)?;
            known_strings(spec, &[])?;
            if spec.input(Role::Key).or(string(spec)?).is_some() {
                return Err("`Digest` takes nothing but a message".into());
            }
            let size = fixed(spec.output(Role::Output), "the length of its output is a parameter, and no more comes")?;
            let block = spec.openssl.iter().find_map(|name| name.block_bytes).filter(|&block| is_array_size(block));
            if block.is_none() {
                limits.push("`BlockSizeUser` is not there: no standard makes an HMAC of it".to_owned());
            }
            (vec![part("hash")], Init::Default, Does::Digest { size: array_size(size, "digests")?, block })
        }
        (Framing::Message, Shape::Mac) => {
            if spec.verifies {
                return Err("`Mac` compares tags itself, in constant time".into());
            }
            pieces(spec)?;
            known_strings(spec, &[])?;
            let size = fixed(spec.output(Role::Tag), "the length of its tag is not settled")?;
            (vec![part("mac")], init(spec, &mut limits)?, Does::Tag { size: array_size(size, "tags")? })
        }
        (Framing::Message, Shape::Aead) => {
            let other = partner(operations, at).ok_or("the crate has only one of its directions")?;
            let (encrypt, decrypt) = if spec.decrypts { (other, at) } else { (at, other) };
            let (spec, back) = (operations[encrypt], operations[decrypt]);
            known_strings(back, &[Role::Ad, Role::TagIn])?;
            known_strings(spec, &[Role::Ad])?;
            let string = string(spec)?.ok_or("`AeadCore` has a nonce, and it has none")?;
            let nonce = string_length(string, &mut limits)?;
            let tag = fixed(spec.output(Role::Tag), "the length of its tag is not settled")?;
            if !back.input(Role::TagIn).is_some_and(|port| port.sizes.allows(tag)) {
                return Err("its directions have tags of different lengths".into());
            }
            let parts =
                vec![Part { field: "encrypt", operation: encrypt }, Part { field: "decrypt", operation: decrypt }];
            let does = Does::Authenticated { string: string.role, nonce, tag: array_size(tag, "tags")? };
            (parts, Init::Key(key(spec, &mut limits)?), does)
        }
        _ => return Err("there is no trait for its shape".into()),
    };
    Ok(TraitType { name: String::new(), called: String::new(), parts, init, does, limits })
}

/// A stream cipher, or a mode of operation.
fn ciphers(spec: &OperationSpec) -> Result<Does, String> {
    let (Some(input), Some(output)) = (spec.input(Role::Input), spec.output(Role::Output)) else {
        return Err("it has no text".into());
    };
    let is_plain = !spec.verifies && !spec.single_chunk && output.sizes == Sizes::any();
    // What undoes itself on messages of any length adds a key stream.
    if is_plain && input.sizes == Sizes::any() && spec.inverse.as_ref() == Some(&spec.name) {
        return Ok(Does::Stream);
    }
    let whole_blocks = |&size: &u64| input.sizes == Sizes::Range { min: 0, max: u64::MAX, multiple: size };
    match spec.block_bytes.filter(whole_blocks) {
        Some(size) if is_plain => Ok(Does::Mode { size: array_size(size, "blocks")?, decrypts: spec.decrypts }),
        _ => Err(
            "its messages are neither whole blocks nor summands of a key stream, and there are no traits for others"
                .into(),
        ),
    }
}

/// How what is made from a key, and maybe a nonce or initial value, is made.
fn init(spec: &OperationSpec, limits: &mut Vec<String>) -> Result<Init, String> {
    let key = key(spec, limits)?;
    match string(spec)? {
        None => Ok(Init::Key(key)),
        Some(string) if string.sizes.fixed().is_none() && string.sizes.min() == 0 => {
            limits.push(format!("`{}` is empty", string.name));
            Ok(Init::Key(key))
        }
        Some(string) => Ok(Init::KeyAndString(key, string.role, string_length(string, limits)?)),
    }
}

/// Whether it is given nothing but what every operation can be given, and these.
fn known_strings(spec: &OperationSpec, more: &[Role]) -> Result<(), String> {
    let usual = [Role::Rekey, Role::Decrypt, Role::Key, Role::Nonce, Role::Iv, Role::Input];
    match spec.inputs.iter().find(|port| !usual.contains(&port.role) && !more.contains(&port.role)) {
        Some(port) => Err(format!("no trait of its shape has `{}`", port.name)),
        None => Ok(()),
    }
}

/// Its only string beside key and text, if it has one.
fn string(spec: &OperationSpec) -> Result<Option<&PortSpec>, String> {
    match (spec.input(Role::Nonce), spec.input(Role::Iv)) {
        (Some(_), Some(_)) => Err("no trait has both a nonce and an initial value".into()),
        (one, other) => Ok(one.or(other)),
    }
}

fn fixed(port: Option<&PortSpec>, reason: &str) -> Result<u64, String> {
    port.and_then(|port| port.sizes.fixed()).ok_or_else(|| reason.to_owned())
}

fn string_length(port: &PortSpec, limits: &mut Vec<String>) -> Result<u64, String> {
    if let Some(length) = port.sizes.fixed() {
        return array_size(length, "nonces");
    }
    if !port.sizes.allows(USUAL_NONCE) {
        return Err(format!("`{}` has {}, and traits have one length", port.name, port.sizes));
    }
    limits.push(format!("`{}` has {USUAL_NONCE} bytes; the operation takes {}", port.name, port.sizes));
    Ok(USUAL_NONCE)
}

/// The length of arrays that are keys; slices may have every legal length.
fn key(spec: &OperationSpec, limits: &mut Vec<String>) -> Result<u64, String> {
    let port = spec.input(Role::Key).ok_or("it has no key")?;
    if let Some(length) = port.sizes.fixed() {
        return array_size(length, "keys");
    }
    let result = spec.output(Role::Tag).and_then(|port| port.sizes.fixed());
    let length = Some(port.sizes.max()).filter(|&max| max <= LONG_KEY).or(result).unwrap_or(port.sizes.min());
    if !port.sizes.allows(length) {
        return Err(format!("`{}` has {}, and traits have one length", port.name, port.sizes));
    }
    limits.push(format!("keys that are arrays have {length} bytes; `new_from_slice` takes {}", port.sizes));
    array_size(length, "keys")
}

/// Traits take messages in pieces, of any length.
fn pieces(spec: &OperationSpec) -> Result<(), String> {
    let Some(input) = spec.input(Role::Input) else { return Err("it has no message".into()) };
    if spec.single_chunk {
        return Err("its message must be there as a whole, and traits give it in pieces".into());
    }
    if input.sizes != Sizes::any() {
        return Err(format!("its message has {}, and traits cannot refuse others", input.sizes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_library::catalog::Library;

    /// The traits of a parameter set `odd` of some shape, in which this stands.
    fn traits_of(shape: &str, set: &str) -> Traits {
        let text = format!("title = \"Odd\"\nshape = \"{shape}\"\nstandard = \"none\"\n[sets.odd]\n{set}\n");
        let (library, problems) = Library::load([(Default::default(), "ctl/odd/primitive.toml", text.as_str())]);
        assert!(problems.is_empty(), "{problems:#?}");
        traits(&library.operations().iter().collect::<Vec<_>>())
    }

    const AEAD: &str = "operations.aead-encrypt.network = \"E\"\noperations.aead-decrypt.network = \"D\"";

    #[test]
    fn both_directions_are_one_type() {
        let found = traits_of("aead", &format!("key = 24\nnonce = {{ min = 7, max = 13 }}\ntag = 10\n{AEAD}"));
        assert!(found.left_out.is_empty(), "{found:#?}");
        let [only] = found.types.as_slice() else { panic!("{found:#?}") };
        assert_eq!((only.name.as_str(), only.init), ("Odd", Init::Key(24)));
        assert_eq!(only.does, Does::Authenticated { string: Role::Nonce, nonce: USUAL_NONCE, tag: 10 });
        assert_eq!(only.limits, ["`Nonce` has 12 bytes; the operation takes 7 to 13 bytes"]);
        assert_eq!(only.part("decrypt").map(|part| part.operation), Some(1));
    }

    #[test]
    fn what_traits_cannot_say_is_left_out_with_both_directions() {
        for strings in ["nonce = { min = 16 }\ntag = 10", "nonce = 12\ntag = { min = 4 }"] {
            let found = traits_of("aead", &format!("key = 24\n{strings}\n{AEAD}"));
            let names: Vec<&str> = found.left_out.iter().map(|(name, _)| name.as_str()).collect();
            assert!(found.types.is_empty() && names == ["aead-encrypt", "aead-decrypt"], "{strings}: {found:#?}");
        }
    }

    #[test]
    fn keys_of_several_lengths_are_arrays_of_one() {
        let mac = "operations.mac.network = \"M\"";
        for (key, length) in
            [("[16, 24]", 24), ("{ min = 4, max = 56 }", 56), ("{ min = 0 }", 20), ("{ min = 32 }", 32)]
        {
            let found = traits_of("mac", &format!("key = {key}\ntag = 20\n{mac}"));
            let inits: Vec<Init> = found.types.iter().map(|of| of.init).collect();
            if length == 32 {
                // No key of the length of the tag is legal.
                assert!(inits.is_empty(), "{key}: {found:#?}");
            } else {
                assert_eq!(inits, [Init::Key(length)], "{key}");
            }
        }
    }

    #[test]
    fn streams_undo_themselves_on_any_length() {
        let of =
            |more: &str| traits_of("stream-cipher", &format!("key = 16\niv = 8\noperations.x.network = \"X\"\n{more}"));
        let found = of("operations.x.inverse = \"x\"");
        let found: Vec<(Init, Does)> = found.types.iter().map(|of| (of.init, of.does)).collect();
        assert_eq!(found, [(Init::KeyAndString(16, Role::Iv, 8), Does::Stream)]);
        assert!(of("").types.is_empty());
        assert!(of("operations.x.inverse = \"x\"\ninput = { multiple = 2 }").types.is_empty());
    }

    #[test]
    fn names_are_given_once() {
        let text = "[sets.hash]\noutput = 20\noperations.hash.network = \"H\"\noperations.other.network = \"O\"";
        let text = format!("title = \"Odd\"\nshape = \"hash\"\nstandard = \"none\"\n{text}\n");
        let (library, problems) = Library::load([(Default::default(), "ctl/odd/primitive.toml", text.as_str())]);
        assert!(problems.is_empty(), "{problems:#?}");
        let found = traits(&library.operations().iter().collect::<Vec<_>>());
        let names: Vec<&str> = found.types.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["HashHash", "HashOther"]);
    }
}
