//! The provider of a project: services of the JCA that are made of operations, under the names that programs ask for.
//!
//! Names follow from those of the parameter set and the operation, with those that its manifest gives the set for the JCA.
//! JCA compares them without regard to case.

use super::shape::class_name;
use crate::operation::streams;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::manifest::Shape;
use headrace_library::sizes::Sizes;
use headrace_program::names::{camel_case, identifier};
use std::fmt::Write as _;

/// A service.
pub(super) struct Service<'s> {
    pub(super) kind: Kind,
    /// Names under which it is found.
    pub(super) names: Vec<String>,
    pub(super) spec: &'s OperationSpec,
    /// The operation that undoes it, of a cipher.
    pub(super) inverse: &'s OperationSpec,
}

/// What a service is in the JCA.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Cipher,
    Digest,
    Mac,
    Random,
}

impl Kind {
    /// What the JCA calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Cipher => "Cipher",
            Kind::Digest => "MessageDigest",
            Kind::Mac => "Mac",
            Kind::Random => "SecureRandom",
        }
    }
}

fn exactly(spec: &OperationSpec, role: Role) -> Option<u64> {
    let port = if role.is_output() { spec.output(role) } else { spec.input(role) };
    match port.map(|port| &port.sizes) {
        Some(Sizes::OneOf(sizes)) if sizes.len() == 1 => sizes.first().copied(),
        Some(Sizes::Range { min, max, .. }) if min == max => Some(*min),
        _ => None,
    }
}

/// The name without the bits of its key, and these: `aes128` is `aes`, of 128.
fn without_key_bits(spec: &OperationSpec, name: &str) -> Option<(String, u64)> {
    let bits = 8 * exactly(spec, Role::Key)?;
    let base = name.strip_suffix(&bits.to_string())?.trim_end_matches('-');
    (!base.is_empty()).then(|| (base.to_owned(), bits))
}

/// A hyphen between digits is a slash in the names of NIST, and one between letters and digits is written there.
fn names_of_hash(set: &str) -> Vec<String> {
    let letters: Vec<char> = set.chars().collect();
    let digits = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let first = (1..letters.len()).find(|&at| digits(at) && letters[at - 1].is_ascii_alphabetic());
    let mut hyphened = String::new();
    let mut joined = String::new();
    for (at, &c) in letters.iter().enumerate() {
        if Some(at) == first {
            hyphened.push('-');
        }
        let c = if c == '-' && at > 0 && digits(at - 1) && digits(at + 1) { '/' } else { c };
        hyphened.push(c);
        joined.push(c);
    }
    vec![set.to_owned(), joined, hyphened]
}

fn names_of_mac(spec: &OperationSpec) -> Vec<String> {
    let set = &spec.set;
    let slashed = names_of_hash(set).swap_remove(1);
    let mut names = vec![set.clone(), slashed.replace('-', "")];
    if let Some((first, rest)) = set.split_once('-') {
        // A code of a hash keeps the hyphen of that.
        names.push(format!("{first}{rest}"));
        if let Some((base, _)) = without_key_bits(spec, first) {
            names.push(format!("{base}{}", rest.replace('-', "")));
        }
    }
    names
}

/// `aes128/CBC/PKCS5Padding`, and the same with other names of the cipher.
fn transformations(spec: &OperationSpec, cipher: &str, mode: &str) -> Vec<String> {
    let (mode, padding) = match mode.strip_suffix("-pad") {
        Some(mode) => (mode, "PKCS5Padding"),
        None => (mode, "NoPadding"),
    };
    let mut ciphers = vec![cipher.to_owned()];
    if let Some((base, bits)) = without_key_bits(spec, cipher) {
        ciphers.extend([format!("{base}_{bits}"), base]);
    }
    if spec.shape == Shape::BlockCipher {
        ciphers.extend(spec.jca.names.iter().cloned());
    }
    ciphers.iter().map(|cipher| format!("{cipher}/{}/{padding}", mode.to_uppercase())).collect()
}

/// What the JCA calls the parameters of a cipher: the cipher's name, or that of a mode that has more of them.
fn parameters_of(spec: &OperationSpec) -> String {
    let split = if spec.shape == Shape::Aead { spec.set.split_once('-') } else { None };
    match split {
        Some((cipher, mode)) if without_key_bits(spec, cipher).is_some() => mode.to_uppercase(),
        _ => {
            let own = || without_key_bits(spec, &spec.set).map_or_else(|| spec.set.clone(), |(base, _)| base);
            spec.jca.names.first().cloned().unwrap_or_else(own)
        }
    }
}

/// The service that an operation is, with what the JCA can say of it.
fn service<'s>(spec: &'s OperationSpec, all: &[&'s OperationSpec]) -> Option<Service<'s>> {
    let find = |name: &str| all.iter().copied().find(|other| other.set == spec.set && other.name == name);
    if spec.framing == Framing::Core || spec.input(Role::SecretNonce).is_some() {
        return None;
    }
    // Only ciphers and generators are told something beside their messages.
    let has_ad = spec.input(Role::Ad).is_some();
    let made = |kind: Kind, names: Vec<String>| Some(Service { kind, names, spec, inverse: spec });
    match spec.shape {
        Shape::Hash if !has_ad && !spec.single_chunk => {
            exactly(spec, Role::Output)?;
            made(Kind::Digest, names_of_hash(&spec.set))
        }
        Shape::Mac if spec.output(Role::Tag).is_some() && !spec.single_chunk && !has_ad => {
            exactly(spec, Role::Tag)?;
            made(Kind::Mac, names_of_mac(spec))
        }
        Shape::Generator => {
            // Only those that take in entropy are what programs expect.
            spec.input(Role::Reseed)?;
            made(Kind::Random, vec![spec.set.clone(), spec.set.replace('-', "_")])
        }
        Shape::StreamCipher if streams(spec) && !has_ad => made(Kind::Cipher, vec![spec.set.clone()]),
        Shape::Aead => {
            let inverse = find(spec.inverse.as_deref()?)?;
            spec.output(Role::Tag)?;
            exactly(spec, Role::Tag)?;
            let mut names = vec![spec.set.clone()];
            if let Some((cipher, mode)) = spec.set.split_once('-') {
                names.extend(transformations(spec, cipher, mode));
            }
            Some(Service { kind: Kind::Cipher, names, spec, inverse })
        }
        Shape::BlockCipher if !spec.decrypts => {
            let (mode, inverse) = match spec.name.strip_suffix("-encrypt") {
                Some(mode) => (mode, find(spec.inverse.as_deref()?)?),
                // A mode without directions undoes itself.
                None if spec.inverse.as_ref().is_none_or(|inverse| *inverse == spec.name) => (spec.name.as_str(), spec),
                None => return None,
            };
            let mut names = vec![format!("{}-{mode}", spec.set)];
            names.extend(transformations(spec, &spec.set, mode));
            Some(Service { kind: Kind::Cipher, names, spec, inverse })
        }
        _ => None,
    }
}

/// All services that can be made of operations.
pub(super) fn services<'s>(all: &[&'s OperationSpec]) -> Vec<Service<'s>> {
    let mut services: Vec<Service<'s>> = all.iter().filter_map(|spec| service(spec, all)).collect();
    // A name is that of one service: the first, where several sets would have it.
    let mut seen = Vec::new();
    for service in &mut services {
        // Of a block cipher they are parts of names.
        if service.spec.shape != Shape::BlockCipher {
            service.names.extend(service.spec.jca.names.iter().cloned());
        }
        let kind = service.kind.name();
        service.names.retain(|name| {
            let own = (kind, name.to_lowercase());
            let new = !seen.contains(&own);
            seen.push(own);
            new
        });
    }
    services
}

/// The name of the class of the provider.
pub(super) fn provider_class(set: &str) -> String {
    format!("{}Provider", camel_case(&identifier(set).to_lowercase()))
}

/// What the provider is called.
pub(super) fn provider_name(set: &str) -> String {
    format!("Headrace-{set}")
}

/// The name of the constant that says what a cipher is.
fn kind_name(spec: &OperationSpec) -> String {
    identifier(&spec.own_name()).to_uppercase()
}

/// What a cipher is, for the class of the run time that has all of them.
fn cipher_kind(spec: &OperationSpec, inverse: &OperationSpec) -> String {
    let of_blocks = spec.shape == Shape::BlockCipher;
    // What is no mode of a block cipher tells nobody of blocks.
    let block = if of_blocks { spec.block_bytes } else { spec.jca.block_bytes }.unwrap_or(0);
    // Only padding is verified that is no tag.
    let pads = of_blocks && inverse.verifies;
    let mut arguments = vec![
        format!("{}.OPERATION", class_name(spec)),
        block.to_string(),
        unit(spec, block, pads).to_string(),
        pads.to_string(),
        of_blocks.to_string(),
        super::literal(&parameters_of(spec)),
        super::literal(spec.jca.parameters.as_deref().unwrap_or_default()),
    ];
    arguments.extend(spec.jca.keys.iter().map(|name| super::literal(name)));
    format!("new CipherKind({})", arguments.join(", "))
}

/// How many bytes come out together: whole blocks, where blocks alone go in or a mode works on these. The JCA's names of
/// modes that can work on less say how many bits they work on, as CFB8 does, if it is not a whole block.
fn unit(spec: &OperationSpec, block: u64, pads: bool) -> u64 {
    let mode = spec.name.strip_suffix("-encrypt").unwrap_or(&spec.name);
    let is_feedback = spec.shape == Shape::BlockCipher && matches!(mode, "cfb" | "ofb");
    let takes_all = spec.shape == Shape::BlockCipher
        && spec.input(Role::Input).is_some_and(|port| port.sizes.allows(block + 1) || port.sizes.allows(2 * block + 1));
    if block > 0 && (pads || is_feedback || !takes_all) { block } else { 1 }
}

/// The class of the provider.
pub(super) fn provider(head: &str, set: &str, title: &str, services: &[Service<'_>]) -> String {
    let own = provider_class(set);
    let (mut lines, mut listed, mut kinds) = (String::new(), String::new(), String::new());
    for Service { kind, names, spec, inverse } in services {
        let (class, other) = (class_name(spec), class_name(inverse));
        let make = match kind {
            Kind::Cipher => {
                let _ = writeln!(
                    kinds,
                    "    private static final CipherKind {} = {};\n",
                    kind_name(spec),
                    cipher_kind(spec, inverse)
                );
                format!("new CipherService({class}::flow, {other}::flow, {})", kind_name(spec))
            }
            Kind::Digest => format!("new DigestService({class}.flow())"),
            Kind::Mac => format!("new MacService({class}.flow())"),
            Kind::Random => format!("new RandomService(this, {class}.flow())"),
        };
        // Not as aliases: the JCA asks services whose own names lack mode and padding to set them.
        for name in names {
            let (kind, name) = (kind.name(), super::literal(name));
            let _ = writeln!(lines, "        putService(new Services(this, \"{kind}\", () -> {make}, {name}));");
        }
        let named: Vec<String> = names.iter().map(|name| format!("{{@code {name}}}")).collect();
        let _ = writeln!(listed, " *   <li>{}: {}", kind.name(), named.join(", "));
    }
    format!(
        "{head}import java.security.Provider;\n\n/**\n * {title}, for programs that ask the JCA for it by name.\n *\n * <ul>\n{listed} * </ul>\n */\n\
         public final class {own} extends Provider {{\n    private static final long serialVersionUID = 1L;\n\n{kinds}    \
         /** A provider, to be given to {{@link java.security.Security#insertProviderAt}} or with a name that is asked for. */\n    \
         public {own}() {{\n        super(\"{}\", \"{}\", {});\n{lines}    }}\n\n    \
         /** Found by all names that the JDK has for a service, too. */\n    @Override\n    \
         public Service getService(String type, String algorithm) {{\n        \
         Service own = super.getService(type, algorithm);\n        \
         return own != null ? own : super.getService(type, Services.nameInTheJdk(type, algorithm));\n    }}\n}}\n",
        provider_name(set),
        env!("CARGO_PKG_VERSION"),
        super::literal(title)
    )
}

#[cfg(test)]
mod tests {
    use super::names_of_hash;

    #[test]
    fn hashes_are_found_under_the_names_of_nist() {
        assert_eq!(names_of_hash("sha256")[2], "sha-256");
        assert_eq!(names_of_hash("sha512-256")[2], "sha-512/256");
        assert_eq!(names_of_hash("sha3-256"), ["sha3-256", "sha3/256", "sha-3/256"]);
    }
}
