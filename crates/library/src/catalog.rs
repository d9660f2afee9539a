//! All manifests together: every operation there is, with its network, its ports and its legal sizes.
//!
//! A set of a block cipher gets the operations of every mode, so that a new mode or a new cipher is one folder.

mod names;

use std::collections::BTreeMap;

use headrace_source::{Diagnostic, FileId, Slug, Span};

use crate::formula::{BLOCK, Formula, number};
use crate::instantiation::Instantiation;
use crate::manifest::{Blocks, Jca, Manifest, OpensslName, Operation, Set, Shape, is_core};
use crate::mapping::VectorMapping;
use crate::ports::{Class, PortSpec, Role};
use crate::sizes::{SizeRule, Sizes};
use crate::spelling::nearest;

/// Two things of the library have one name.
pub const DUPLICATE: Slug = "library-duplicate-name";
/// A manifest refers to something that is not there.
pub const REFERENCE: Slug = "manifest-reference";

/// How tokens are laid around the strings of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Bursts of `Blocks` whole blocks; no chunks.
    Core,
    /// One message after another, in chunks.
    Message,
    /// A seed and a number of words.
    Generator,
    /// The bare ports of a part.
    Bare,
}

/// A way of writing an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantSpec {
    /// Its name.
    pub name: String,
    /// Its network.
    pub network: Instantiation,
    /// Whether it claims to run in constant time.
    pub constant_time: bool,
}

/// An operation of a parameter set, with all that derives from the manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationSpec {
    /// Folder of the primitive, `ctl/block/aes`.
    pub folder: String,
    /// Name of the primitive, `aes`.
    pub primitive: String,
    /// Name of the parameter set, `aes128`.
    pub set: String,
    /// Name of the operation, `ctr`.
    pub name: String,
    /// Shape of the primitive.
    pub shape: Shape,
    /// How its strings are framed.
    pub framing: Framing,
    /// Title of the primitive; of the mode too, where it comes from one.
    pub title: String,
    /// All variants; the first is the default.
    pub variants: Vec<VariantSpec>,
    /// Ports that are fed, in the order of feeding. Bare ports are in [`OperationSpec::bare`].
    pub inputs: Vec<PortSpec>,
    /// Ports that deliver.
    pub outputs: Vec<PortSpec>,
    /// Names of input and output ports of a part.
    pub bare: (Vec<String>, Vec<String>),
    /// Size of a block of the cipher below, in bytes, where there is a cipher.
    pub block_bytes: Option<u64>,
    /// How many bytes the nonce and the number of input bytes share.
    pub nonce_and_length_bytes: Option<u64>,
    /// The network parameter that says how many bytes a tag has, and what it may be.
    pub tag_parameter: Option<(String, Sizes)>,
    /// The most bytes of input that there may be with the arguments of its networks; `None`: as many as one likes.
    pub input_limit: Option<Formula>,
    /// The bytes that its input is made of, where it decodes a text; empty where nothing is said.
    pub alphabet: Vec<u8>,
    /// The parameter set that passes over all other bytes, where there is one.
    pub tolerant: Option<String>,
    /// Whether the input must be one chunk.
    pub single_chunk: bool,
    /// The network that works on blocks in both directions, where there is one.
    pub blocks: Option<Blocks>,
    /// The token for `Decrypt`, where there is that port.
    pub decrypt: Option<bool>,
    /// The operation that undoes (or verifies) it.
    pub inverse: Option<String>,
    /// Whether a message can be refused: there is `Verified`.
    pub verifies: bool,
    /// Whether it turns ciphertext into plaintext.
    pub decrypts: bool,
    /// What OpenSSL calls it; both directions have the same names.
    pub openssl: Vec<OpensslName>,
    /// What programs in Java expect of its set beside what follows from the name of that.
    pub jca: Jca,
    /// Whether it stands among operations of other sets, which may have its name.
    pub among_sets: bool,
}

impl OperationSpec {
    /// The input port of a role.
    pub fn input(&self, role: Role) -> Option<&PortSpec> {
        self.inputs.iter().find(|port| port.role == role)
    }

    /// The output port of a role.
    pub fn output(&self, role: Role) -> Option<&PortSpec> {
        self.outputs.iter().find(|port| port.role == role)
    }

    /// The variant of that name, or the default.
    pub fn variant(&self, name: Option<&str>) -> Option<&VariantSpec> {
        match name {
            None => self.variants.first(),
            Some(name) => self.variants.iter().find(|variant| variant.name == name),
        }
    }

    /// The same operation with arguments of its networks set or replaced. Where one of them says how long a tag is, the
    /// tag is as long as that, and no tag is legal where it may not be so long.
    pub fn with_arguments(&self, arguments: &[(String, String)]) -> OperationSpec {
        let mut spec = self.clone();
        for (name, value) in arguments {
            for variant in &mut spec.variants {
                variant.network = variant.network.clone().with_from_record(name, value.clone());
            }
        }
        spec.settle_tag();
        spec
    }

    /// Of an operation that verifies: takes tags of `least` bytes up to those that it has, by the parameter
    /// `LEAST_TAG_BYTES` of its networks.
    pub fn accept_tags_from(&mut self, least: u64) {
        for port in self.inputs.iter_mut().filter(|port| port.role == Role::TagIn) {
            let Some(max) = port.sizes.fixed() else { continue };
            port.sizes = Sizes::Range { min: least, max, multiple: 1 };
            for variant in &mut self.variants {
                variant.network = variant.network.clone().with("LEAST_TAG_BYTES", least.to_string());
            }
        }
    }

    /// The most bytes of input that there may be with the arguments of the default network, where there is a limit.
    pub fn most_input(&self) -> Option<u64> {
        let network = &self.variants.first()?.network;
        self.input_limit.as_ref()?.value(|name| match name {
            BLOCK => self.block_bytes.map(|bytes| bytes.to_string()),
            _ => network.arguments.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone()),
        })
    }

    /// A parameter that bounds the input and is not given as a plain number, so that nobody knows the bound.
    pub fn unclear_limit(&self) -> Option<&str> {
        let network = &self.variants.first()?.network;
        let names = self.input_limit.as_ref()?.names();
        let unclear = |(name, value): &&(String, String)| names.contains(&name.as_str()) && number(value).is_none();
        network.arguments.iter().find(unclear).map(|(name, _)| name.as_str())
    }

    /// The parameter that says how long a tag is and what it may be, where it says something else.
    pub fn forbidden_tag(&self) -> Option<(&str, &Sizes)> {
        let port = self.output(Role::Tag).or(self.input(Role::TagIn))?;
        let (parameter, sizes) = self.tag_parameter.as_ref()?;
        (port.sizes == Sizes::OneOf(Vec::new())).then_some((parameter, sizes))
    }

    /// Takes the length of a tag from the argument of the default network that says it.
    fn settle_tag(&mut self) {
        let (Some((parameter, sizes)), Some(variant)) = (&self.tag_parameter, self.variants.first()) else {
            return;
        };
        let argument = variant.network.arguments.iter().find(|(name, _)| name == parameter);
        let Some((_, text)) = argument else { return };
        let length = number(text).and_then(|length| u64::try_from(length).ok()).filter(|length| sizes.allows(*length));
        let settled = length.map_or(Sizes::OneOf(Vec::new()), Sizes::exactly);
        for port in self.inputs.iter_mut().chain(&mut self.outputs) {
            if matches!(port.role, Role::Tag | Role::TagIn) {
                port.sizes = settled.clone();
            }
        }
    }

    /// The class of a port of its network: what the manifest says, and that sizes are public. `None`: it is none of the
    /// ports of this operation.
    pub fn class_of(&self, port: &str) -> Option<Class> {
        let mut ports = self.inputs.iter().chain(&self.outputs);
        ports.find_map(|spec| match spec.companion.as_deref() {
            _ if spec.name == port => Some(spec.class),
            Some(companion) if companion == port => Some(Class::Public),
            _ => None,
        })
    }

    /// `aes128-ctr`: how commands and reports call it.
    pub fn full_name(&self) -> String {
        format!("{}-{}", self.set, self.name)
    }

    /// How a project calls it: by its name, and by that of its set too where there are several.
    pub fn own_name(&self) -> String {
        if self.among_sets { self.full_name() } else { self.name.clone() }
    }

    /// The size rules for the key, where there is one.
    pub fn key_sizes(&self) -> Option<&Sizes> {
        self.input(Role::Key).map(|port| &port.sizes)
    }
}

/// The whole library.
#[derive(Clone, Debug, Default)]
pub struct Library {
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) operations: Vec<OperationSpec>,
}

impl Library {
    /// Reads all manifests, given as file, path below its source root and text. All problems are reported; what is
    /// sound can be used in spite of them. Of two manifests at one path the first counts, so that a source root can
    /// replace a primitive of a later one.
    pub fn load<'t>(texts: impl IntoIterator<Item = (FileId, &'t str, &'t str)>) -> (Library, Vec<Diagnostic>) {
        let mut problems = Vec::new();
        let mut manifests: Vec<Manifest> = Vec::new();
        for (file, path, text) in texts {
            let (manifest, found) = Manifest::parse(file, path, text);
            problems.extend(found);
            manifests.extend(manifest.filter(|new| !manifests.iter().any(|old| old.folder == new.folder)));
        }
        manifests.sort_by(|a, b| a.folder.cmp(&b.folder));
        let mut library = Library { manifests, operations: Vec::new() };
        // What a broken manifest seems to refer to, or to lack, is no further problem.
        let broken: Vec<FileId> =
            problems.iter().filter_map(|problem| problem.primary.as_ref()).map(|label| label.span.file).collect();
        let mut further = Vec::new();
        library.derive(&mut further);
        library.check_names(&mut further);
        library.check_references(&mut further);
        further.retain(|problem| {
            let mut labels = problem.primary.iter().chain(&problem.secondary);
            !labels.any(|label| broken.contains(&label.span.file))
        });
        problems.extend(further);
        (library, problems)
    }

    /// All manifests, by folder.
    pub fn manifests(&self) -> &[Manifest] {
        &self.manifests
    }

    /// Every operation of every parameter set, by folder, in the order of the manifests.
    pub fn operations(&self) -> &[OperationSpec] {
        &self.operations
    }

    /// The operation of exactly that name in exactly that set.
    pub fn operation(&self, set: &str, name: &str) -> Option<&OperationSpec> {
        self.operations.iter().find(|spec| spec.set == set && spec.name == name)
    }

    /// All `[[vectors]]` entries for the known-answer file of that name (`aes_mct.rsp`, or without its ending), each
    /// with its manifest.
    pub fn mappings(&self, file: &str) -> Vec<(&Manifest, &VectorMapping)> {
        let stem = stem(file);
        self.manifests
            .iter()
            .flat_map(|manifest| manifest.vectors.iter().map(move |entry| (manifest, entry)))
            .filter(|(_, entry)| self::stem(&entry.file) == stem)
            .collect()
    }

    /// The known-answer files of a primitive, each once, as paths below the source root
    /// (`ctl/block/aes/vectors/aes128_ecb.rsp`).
    pub fn vector_files(&self, manifest: &Manifest) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for entry in &manifest.vectors {
            let path = if manifest.folder.is_empty() {
                format!("vectors/{}", entry.file)
            } else {
                format!("{}/vectors/{}", manifest.folder, entry.file)
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    fn derive(&mut self, problems: &mut Vec<Diagnostic>) {
        let mut operations = Vec::new();
        for manifest in &self.manifests {
            if manifest.shape == Shape::Part {
                operations.extend(manifest.operations.iter().map(|op| bare(manifest, op)));
            }
            for set in &manifest.sets {
                for operation in &set.operations {
                    operations.extend(own(manifest, set, operation, problems));
                }
                if manifest.shape != Shape::BlockCipher {
                    continue;
                }
                for mode in self.manifests.iter().filter(|m| m.shape == Shape::Mode) {
                    for operation in &mode.operations {
                        if set.operations.iter().all(|own| own.name != operation.name) {
                            operations.extend(of_mode(manifest, set, mode, operation, problems));
                        }
                    }
                }
            }
        }
        let names: BTreeMap<(String, String), ()> =
            operations.iter().map(|spec| ((spec.set.clone(), spec.name.clone()), ())).collect();
        for spec in &mut operations {
            if spec.inverse.is_none() {
                spec.inverse =
                    inverse_by_name(&spec.name).filter(|name| names.contains_key(&(spec.set.clone(), name.clone())));
            }
        }
        self.operations = operations;
    }

    /// Names of sets are unique, and so are operations in a set.
    fn check_names(&self, problems: &mut Vec<Diagnostic>) {
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for set in self.manifests.iter().flat_map(|manifest| &manifest.sets) {
            if let Some(first) = seen.insert(&set.name, set.span) {
                problems.push(
                    Diagnostic::error(DUPLICATE, format!("there are two parameter sets `{}`", set.name))
                        .at(set.span, "the second")
                        .also(first, "the first"),
                );
            }
        }
        let mut seen: BTreeMap<&str, Span> = BTreeMap::new();
        for operation in self
            .manifests
            .iter()
            .filter(|manifest| manifest.shape == Shape::Mode)
            .flat_map(|manifest| &manifest.operations)
        {
            if let Some(first) = seen.insert(&operation.name, operation.span) {
                problems.push(
                    Diagnostic::error(DUPLICATE, format!("two modes have the operation `{}`", operation.name))
                        .at(operation.span, "the second")
                        .also(first, "the first"),
                );
            }
        }
    }

    /// What `inverse`, `openssl` and `[[vectors]]` refer to is there.
    fn check_references(&self, problems: &mut Vec<Diagnostic>) {
        for manifest in &self.manifests {
            let operations = manifest.operations.iter().chain(manifest.sets.iter().flat_map(|set| &set.operations));
            for operation in operations {
                let Some(inverse) = &operation.inverse else {
                    continue;
                };
                let known = self.operations.iter().any(|spec| spec.name == *inverse);
                // Without any block cipher a mode has no operations to find.
                let any = self.operations.iter().any(|spec| spec.name == operation.name);
                if any && !known {
                    problems.push(
                        Diagnostic::error(
                            REFERENCE,
                            format!("the inverse `{}` of `{}` is no operation", inverse.escape_debug(), operation.name),
                        )
                        .at(operation.span, "this operation"),
                    );
                }
            }
            let own: Vec<&OperationSpec> =
                self.operations.iter().filter(|spec| spec.folder == manifest.folder).collect();
            names::check(manifest, &own, problems);
            for mapping in &manifest.vectors {
                if own.iter().any(|spec| spec.name == mapping.operation) {
                    continue;
                }
                let mut diagnostic = Diagnostic::error(
                    REFERENCE,
                    format!("`{}` has no operation `{}`", manifest.primitive, mapping.operation.escape_debug()),
                )
                .at(mapping.span, "this entry needs it");
                if let Some(near) = nearest(&mapping.operation, own.iter().map(|spec| &*spec.name)) {
                    diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
                }
                problems.push(diagnostic);
            }
        }
    }
}

/// The name of a file without its folders and its ending.
pub(crate) fn stem(file: &str) -> &str {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// `x-encrypt` and `x-decrypt`, `mac` and `verify`, `encode` and `decode` undo each other.
fn inverse_by_name(name: &str) -> Option<String> {
    for (one, other) in [("encrypt", "decrypt"), ("mac", "verify"), ("encode", "decode")] {
        for (from, to) in [(one, other), (other, one)] {
            if let Some(stem) = name.strip_suffix(from)
                && (stem.is_empty() || stem.ends_with('-'))
            {
                return Some(format!("{stem}{to}"));
            }
        }
    }
    None
}

fn variants(operation: &Operation) -> Vec<VariantSpec> {
    let mut variants: Vec<VariantSpec> = operation
        .variants
        .iter()
        .map(|variant| VariantSpec {
            name: variant.name.clone(),
            network: variant.network.clone().unwrap_or_else(|| operation.network.clone()),
            constant_time: variant.constant_time,
        })
        .collect();
    if let Some(default) = operation.variants.iter().position(|variant| variant.network.is_none()) {
        variants.swap(0, default);
    }
    variants
}

fn bare(manifest: &Manifest, operation: &Operation) -> OperationSpec {
    OperationSpec {
        folder: manifest.folder.clone(),
        primitive: manifest.primitive.clone(),
        set: manifest.primitive.clone(),
        name: operation.name.clone(),
        shape: manifest.shape,
        framing: Framing::Bare,
        title: manifest.title.clone(),
        variants: variants(operation),
        inputs: Vec::new(),
        outputs: Vec::new(),
        bare: (operation.inputs.clone(), operation.outputs.clone()),
        block_bytes: None,
        nonce_and_length_bytes: None,
        tag_parameter: None,
        input_limit: None,
        alphabet: Vec::new(),
        tolerant: None,
        single_chunk: false,
        blocks: None,
        decrypt: None,
        inverse: None,
        verifies: false,
        decrypts: false,
        openssl: Vec::new(),
        jca: Jca::default(),
        among_sets: false,
    }
}

/// An operation that a set names itself.
fn own(manifest: &Manifest, set: &Set, operation: &Operation, problems: &mut Vec<Diagnostic>) -> Option<OperationSpec> {
    let core = manifest.shape == Shape::BlockCipher && is_core(&operation.name);
    let framing = match manifest.shape {
        Shape::Generator => Framing::Generator,
        _ if core => Framing::Core,
        _ => Framing::Message,
    };
    build(Parts {
        manifest,
        set,
        operation,
        framing,
        title: manifest.title.clone(),
        variants: variants(operation),
        overrides: &[&manifest.ports],
        problems,
    })
}

/// An operation that a set has through a mode; `None` when the mode is not for this cipher. A cipher that only encrypts
/// has the modes that ask for nothing else; an operation that nobody calls as it is called is taken for a slip.
fn of_mode(
    manifest: &Manifest,
    set: &Set,
    mode: &Manifest,
    operation: &Operation,
    problems: &mut Vec<Diagnostic>,
) -> Option<OperationSpec> {
    let block_bytes = set.block_bytes?;
    if let Some(rule) = &operation.block_bytes
        && !rule.resolve(None)?.allows(block_bytes)
    {
        return None;
    }
    let wanted = operation.cipher.as_deref()?;
    let Some(cipher) = set.operations.iter().find(|own| own.name == wanted) else {
        if set.operations.iter().all(|own| own.name == "encrypt" || own.name == "decrypt") {
            return None;
        }
        problems.push(
            Diagnostic::error(
                REFERENCE,
                format!(
                    "the set `{}` has no operation `{}`, which the mode operation `{}` asks for",
                    set.name,
                    wanted.escape_debug(),
                    operation.name
                ),
            )
            .at(operation.span, "asked for here")
            .also(set.span, "not there"),
        );
        return None;
    };
    // A combined network has one port more than the modes know.
    if cipher.decrypt.is_some() {
        return None;
    }
    let key_varies = set
        .sizes
        .iter()
        .find(|(role, _)| *role == Role::Key)
        .and_then(|(_, rule)| rule.resolve(Some(block_bytes)))
        .is_some_and(|sizes| sizes.fixed().is_none());
    let variants = variants(cipher)
        .into_iter()
        .map(|variant| {
            let mut network = operation
                .network
                .clone()
                .with("Cipher", variant.network.to_string())
                .with("BLOCK_BYTES", block_bytes.to_string());
            if key_varies {
                network = network.with("KEY_SIZE", "true");
            }
            // How much comes out, and whether it is right, depends on the plaintext.
            let constant_time = variant.constant_time && !operation.verifies;
            VariantSpec { network, constant_time, ..variant }
        })
        .collect();
    build(Parts {
        manifest,
        set,
        operation,
        framing: Framing::Message,
        title: format!("{}, {}", manifest.title, mode.title),
        variants,
        overrides: &[&mode.ports],
        problems,
    })
}

struct Parts<'a, 'p> {
    manifest: &'a Manifest,
    set: &'a Set,
    operation: &'a Operation,
    framing: Framing,
    title: String,
    variants: Vec<VariantSpec>,
    overrides: &'a [&'a [crate::manifest::PortOverride]],
    problems: &'p mut Vec<Diagnostic>,
}

fn build(parts: Parts<'_, '_>) -> Option<OperationSpec> {
    let Parts { manifest, set, operation, framing, title, variants, overrides, problems } = parts;
    let name = operation.name.as_str();
    let mode = operation.cipher.is_some();
    let ends = |end: &str| name == end || name.ends_with(&format!("-{end}"));
    let decrypts = ends("decrypt");
    // A generator that goes on from request to request can refuse one.
    let goes_on = set.sizes.iter().any(|(role, _)| *role == Role::Entropy);
    let verifies = operation.verifies
        || goes_on
        || (manifest.shape == Shape::Aead && decrypts)
        || (!mode && (ends("verify") || ends("decode")));
    let rule = |role: Role| -> Option<&SizeRule> {
        let own = operation.sizes.iter().find(|(given, _)| *given == role);
        let of_set = set.sizes.iter().find(|(given, _)| *given == role);
        // A mode decides alone what it wants beside the key.
        let found = if mode && role != Role::Key { own } else { own.or(of_set) };
        found.map(|(_, rule)| rule)
    };
    let mut sizes = |role: Role, default: Option<SizeRule>| -> Option<Sizes> {
        let rule = rule(role).cloned().or(default)?;
        let resolved = rule.resolve(set.block_bytes);
        if resolved.is_none() {
            problems.push(
                Diagnostic::error(
                    REFERENCE,
                    format!("the size of `{}` is a block, and `{}` has no `block_bytes`", role.name(), set.name),
                )
                .at(operation.span, "in this operation"),
            );
        }
        resolved
    };
    let mut input_roles: Vec<(Role, Sizes)> = Vec::new();
    let mut output_roles: Vec<(Role, Sizes)> = Vec::new();
    let key = sizes(Role::Key, None);
    if key.is_some() || goes_on {
        input_roles.push((Role::Rekey, Sizes::any()));
    }
    if operation.decrypt.is_some() {
        input_roles.push((Role::Decrypt, Sizes::any()));
    }
    let core = framing == Framing::Core;
    input_roles.extend(key.map(|sizes| (Role::Key, sizes)));
    for role in [Role::Nonce, Role::Iv, Role::SecretNonce] {
        input_roles.extend(sizes(role, None).map(|sizes| (role, sizes)));
    }
    let ad = (manifest.shape == Shape::Aead).then(SizeRule::any);
    input_roles.extend(sizes(Role::Ad, ad).map(|sizes| (Role::Ad, sizes)));
    if framing == Framing::Generator {
        input_roles.extend(sizes(Role::Seed, None).map(|sizes| (Role::Seed, sizes)));
        if let Some(entropy) = sizes(Role::Entropy, None) {
            input_roles.push((Role::Reseed, Sizes::any()));
            input_roles.push((Role::Entropy, entropy));
        }
        input_roles.extend(sizes(Role::Blocks, Some(SizeRule::any())).map(|sizes| (Role::Blocks, sizes)));
    }
    if core {
        input_roles.push((Role::Blocks, Sizes::any()));
    }
    let input_sizes = match framing {
        Framing::Core => set.block_bytes.map(|multiple| Sizes::Range { min: 0, max: u64::MAX, multiple }),
        Framing::Generator => None,
        _ => sizes(Role::Input, Some(SizeRule::any())),
    };
    input_roles.extend(input_sizes.clone().map(|sizes| (Role::Input, sizes)));
    let tag = sizes(Role::Tag, None);
    let tag_parameter = set.tag_parameter.clone().zip(tag.clone());
    if verifies {
        input_roles.extend(tag.clone().map(|sizes| (Role::TagIn, sizes)));
    }
    if let Some(sizes) = sizes(Role::SecretNonce, None) {
        output_roles.push((Role::SecretNonceOut, sizes));
    }
    let no_output = manifest.shape == Shape::Mac;
    if !no_output {
        let output = match framing {
            Framing::Core => Some(Sizes::any()),
            _ => sizes(Role::Output, Some(SizeRule::any())),
        };
        output_roles.extend(output.map(|sizes| (Role::Output, sizes)));
    }
    if verifies {
        output_roles.push((Role::Verified, Sizes::any()));
    } else {
        output_roles.extend(tag.map(|sizes| (Role::Tag, sizes)));
    }
    let port = |(role, sizes): (Role, Sizes)| -> PortSpec {
        let given = overrides.iter().flat_map(|list| list.iter()).find(|port| port.role == role);
        let name = given.map_or(role.name(), |port| &port.name).to_owned();
        let streamed = (core && matches!(role, Role::Input | Role::Output))
            || (framing == Framing::Generator && role == Role::Output);
        let companion = (!role.is_control() && !streamed && sizes.fixed().is_none()).then(|| format!("{name}Size"));
        PortSpec {
            role,
            bits: given.and_then(|port| port.bits).unwrap_or(match role {
                Role::Rekey | Role::Decrypt | Role::Reseed | Role::Verified => 1,
                Role::Blocks => 32,
                _ => 8,
            }),
            class: given.and_then(|port| port.class).unwrap_or_else(|| Class::of_role(role, decrypts)),
            name,
            sizes,
            companion,
        }
    };
    let mut spec = OperationSpec {
        folder: manifest.folder.clone(),
        primitive: manifest.primitive.clone(),
        set: set.name.clone(),
        name: name.to_owned(),
        shape: manifest.shape,
        framing,
        title,
        variants,
        inputs: input_roles.into_iter().map(port).collect(),
        outputs: output_roles.into_iter().map(port).collect(),
        bare: (Vec::new(), Vec::new()),
        block_bytes: set.block_bytes,
        nonce_and_length_bytes: set.nonce_and_length_bytes,
        tag_parameter,
        alphabet: if verifies { set.alphabet.clone() } else { Vec::new() },
        tolerant: set.tolerant.clone().filter(|_| verifies),
        input_limit: if mode {
            operation.input_limit.clone()
        } else {
            operation.input_limit.clone().or(set.input_limit.clone())
        },
        single_chunk: operation.single_chunk,
        blocks: operation.blocks.clone(),
        decrypt: operation.decrypt,
        inverse: operation.inverse.clone(),
        verifies,
        decrypts,
        openssl: names::of_operation(set, name),
        jca: set.jca.clone(),
        among_sets: false,
    };
    spec.settle_tag();
    Some(spec)
}

#[cfg(test)]
pub(crate) mod tests;
