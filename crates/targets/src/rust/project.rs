//! Packaging. Crates: what is printed for networks, with a manifest, a test and a README around it.

use super::traits::traits;
use super::{NO_LINTS, answers, module, rustcrypto, shape};
use crate::lowered::{COMPILED_LANES, lowered, lowered_operation};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_lowering::{Options as Lowering, Streams};
use headrace_program::effects;
use headrace_program::names::identifier;
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// How operations are lowered.
const LOWERING: Lowering =
    Lowering::of(8192, COMPILED_LANES).with_nested_rotations().with_vectors().with_streams(Streams::Fast);

/// The modules that crates ship with.
const HOST: &str = include_str!("../../../../runtime/rust/host.rs");
const MESSAGE: &str = include_str!("../../../../runtime/rust/message.rs");
const TEXT: &str = include_str!("../../../../runtime/rust/text.rs");

/// Loads and stores of vector registers, and calls of functions for processors with features, are the only unsafe code.
const UNSAFE: &str =
    "#![cfg_attr(not(feature = \"simd\"), forbid(unsafe_code))]\n#![cfg_attr(feature = \"simd\", deny(unsafe_code))]\n";

fn head(options: &Options) -> String {
    format!("// Made by `{}`. Changes here will be lost.\n\n", options.command.replace('\n', " "))
}

/// The name of a crate.
fn crate_name(name: &str) -> String {
    super::name(&identifier(name).to_lowercase())
}

/// The name of its package: crates.io has packages by other hands that are called as ciphers are.
fn package_name(name: &str, options: &Options) -> String {
    format!("{}{}", options.package_prefix, name.trim_end_matches('_').replace('_', "-"))
}

fn manifest(name: &str, package: &str, about: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\nrust-version = \"1.89\"\ndescription = {about:?}\npublish = false\n\n\
         [lib]\nname = \"{name}\"\ndoctest = false\n\n{dependencies}"
    )
}

/// How cargo builds tests when it is called in the folder of a crate; in the manifest of a member of a workspace a
/// profile would be warned of.
const CARGO_CONFIG: &str = "# Known answers are many.\n[profile.test]\nopt-level = 2\n";

/// What a crate is called, and what it is.
struct About<'a> {
    name: &'a str,
    package: &'a str,
    about: &'a str,
}

/// What a crate does without, and where it has instructions of processors, what follows from these.
fn manners(has_vectors: bool) -> &'static str {
    if has_vectors {
        "No standard library, no heap. Instructions for ciphers and vectors are used where the processor is found to have them; that is\n\
         the feature `simd`, whose loads, stores and calls are the only unsafe code, and it can be left out."
    } else {
        "No standard library, no heap, no unsafe code."
    }
}

fn readme(about: &About<'_>, command: &str, example: &str, more: &str, has_vectors: bool) -> String {
    let About { name, package, about } = about;
    let manners = manners(has_vectors);
    format!(
        "# {package}\n\n{about} Made by `{command}`.\n\n\
         {manners} Contexts clear themselves when they are dropped, as far as\n\
         safe Rust can: the zeros are shown to `core::hint::black_box`, so that compilers keep them; copies that moves leave\n\
         behind are not reached. A context is large: box it, or keep it where it is.\n\n\
         ```\ncargo test\ncargo doc --open\n```\n\nOther crates depend on the package by its path, `{package} = {{ path = \"…\" }}`, and call it `{name}`; a workspace may have it among\n\
         its members:\n\n\
         ```rust\n{example}```\n{more}"
    )
}

/// A crate for a network: its type is `Context`.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    let lowered = lowered(network, options)?;
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let name = crate_name(short);
    let package = package_name(&name, options);
    let about = format!("The network `{}` as a crate.", network.name);
    let head = head(options);
    let lib = format!(
        "{head}//! {about}\n//!\n//! [`Context`] is its whole state: write tokens, run it, read tokens.\n\n\
         #![no_std]\n#![forbid(unsafe_code)]\n{NO_LINTS}\nmod host;\nmod network;\n\npub use host::{{Argument, Host, Status}};\npub use network::Context;\n"
    );
    let mut files = Files::new();
    files.insert("src/lib.rs".into(), lib.into_bytes());
    files.insert("src/host.rs".into(), HOST.into());
    files.insert("src/network.rs".into(), module::module(&head, &lowered, false).into_bytes());
    let test = answers::of_network(&head, &name, &lowered, recording);
    let host = effects::reach_host(&lowered)[lowered.interface.run.index()];
    let host = if host { ", &mut host" } else { "" };
    let example = format!(
        "use {name}::Context;\n\nlet mut network = Box::new(Context::new());\nlet status = network.run(u64::MAX{host});\n"
    );
    files.insert(".cargo/config.toml".into(), CARGO_CONFIG.into());
    files.insert("tests/recorded.rs".into(), test.into_bytes());
    files.insert("Cargo.toml".into(), manifest(&name, &package, &about, "[dependencies]\n").into_bytes());
    let named = About { name: &name, package: &package, about: &about };
    files.insert("README.md".into(), readme(&named, &options.command, &example, "", false).into_bytes());
    Ok(files)
}

/// A crate for operations of parameter sets, each with its network: a type for each.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    known: &[KnownAnswer],
    options: &Options,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let name = crate_name(name);
    let package = package_name(&name, options);
    let head = head(options);
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.own_name())).collect();
    let about = format!("{title}: {} in Rust.", listed.join(", "));
    let specs: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    let traits = traits(&specs);
    let mut files = Files::new();
    let mut problems = Vec::new();
    let mut modules = String::from("mod host;\nmod message;\nmod text;\n");
    let mut types = String::from("\npub use message::{Error, Result};\n");
    let lowered = on_all_processors(operations, |(spec, network)| {
        let (module, refused) = lowered_operation(spec, network, options, &LOWERING);
        on_operation(spec, refused);
        module.map(|module| (module::module(&head, &module, true), !module.features.is_empty()))
    });
    let mut has_vectors = false;
    for (printed, (spec, network)) in lowered.into_iter().zip(operations) {
        let own = shape::module_name(spec);
        let file = identifier(&spec.own_name()).to_lowercase();
        match printed {
            Ok((text, vectors)) => {
                has_vectors |= vectors;
                files.insert(format!("src/{file}_network.rs"), text.into_bytes());
            }
            Err(found) => problems.extend(found),
        }
        files.insert(format!("src/{own}.rs"), shape::operation(&head, spec, network).into_bytes());
        let _ = write!(modules, "mod {own};\nmod {file}_network;\n");
        let _ = writeln!(types, "pub use {own}::{};", shape::type_name(spec));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let lib = format!(
        "{head}//! {about}\n\n#![no_std]\n{}{NO_LINTS}\n{modules}{types}{}",
        if has_vectors { UNSAFE } else { "#![forbid(unsafe_code)]\n" },
        rustcrypto::root(&traits)
    );
    files.insert("src/lib.rs".into(), lib.into_bytes());
    files.insert("src/host.rs".into(), HOST.into());
    files.insert("src/message.rs".into(), MESSAGE.into());
    files.insert("src/text.rs".into(), TEXT.into());
    let tested = known.iter().map(|answer| answer.operation).collect();
    rustcrypto::add(&mut files, &head, &specs, &traits, &tested);
    let through_traits = rustcrypto::tests(&specs, &traits, &tested);
    let test = answers::of_operations(&head, &name, operations, known) + &through_traits;
    files.insert("tests/known_answers.rs".into(), test.into_bytes());
    files.insert(
        "Cargo.toml".into(),
        manifest(&name, &package, &about, &rustcrypto::manifest(&traits, has_vectors)).into_bytes(),
    );
    let more = rustcrypto::readme(&name, &specs, &traits);
    let types: Vec<String> = specs.iter().map(|spec| shape::type_name(spec)).collect();
    let braces = if let [one] = &types[..] { one.clone() } else { format!("{{{}}}", types.join(", ")) };
    let made = types.first().map_or(String::new(), |own| {
        format!("\n// Its methods: `cargo doc --open`.\nlet mut context = Box::new({own}::new());\n")
    });
    let example = format!("use {name}::{braces};\n{made}");
    files.insert(".cargo/config.toml".into(), CARGO_CONFIG.into());
    let named = About { name: &name, package: &package, about: &about };
    files.insert("README.md".into(), readme(&named, &options.command, &example, &more, has_vectors).into_bytes());
    Ok(files)
}
