//! Packaging. Projects: modules, with what C programmers need to call them around each.
//!
//! The interface of operations, its test and the build files are those of the C target: only the networks are not in C.

use super::{glue, module};
use crate::c::project::{
    MESSAGES, add_headers, answers, build_files, head, identifier, in_source_folder, network_prefix, shape,
};
use crate::c::{RUNTIME, prefix_for};
use crate::lowered::{COMPILED_LANES, lowered, lowered_operation};
use crate::options::Options;
use crate::project::{Files, KnownAnswer, OnOperation, Recording, on_all_processors};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_lowering::{Options as Lowering, Streams};
use headrace_program::{Function, Module};
use headrace_source::Diagnostic;

/// How operations are lowered.
const LOWERING: Lowering =
    Lowering::of(4096, COMPILED_LANES).in_place().with_nested_rotations().with_vectors().with_streams(Streams::Fast);

/// Architectures that modules of their own are printed for, where functions need their features.
const ARCHITECTURES: [&str; 1] = ["x86_64"];

/// What modules call, in C.
pub const CALLS: &[(&str, &str)] = &[
    ("headrace_calls.h", include_str!("../../../../runtime/llvm/headrace_calls.h")),
    ("headrace_calls.c", include_str!("../../../../runtime/llvm/headrace_calls.c")),
];

/// The files of a network: its module `PREFIX.ll`, `ARCHITECTURE/PREFIX.ll` with functions for features of machines where it has
/// some, its header and its table, without the runtime.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn emit(network: &Network, prefix: &str, options: &Options) -> Result<Files, Vec<Diagnostic>> {
    Ok(printed(&lowered(network, options)?, prefix, options))
}

fn printed(lowered: &Module, prefix: &str, options: &Options) -> Files {
    let head = head(&options.command);
    let line = format!("; Made by `{}`. Changes here will be lost.\n", options.command.replace('\n', " "));
    let mut files = Files::new();
    files.insert(format!("{prefix}.ll"), module::module(&line, lowered, prefix, None).into_bytes());
    for architecture in ARCHITECTURES {
        let own = |function: &Function| {
            function.features.is_some_and(|set| lowered.features[set.index()].architecture == architecture)
        };
        if lowered.functions.iter().any(own) {
            let text = module::module(&line, lowered, prefix, Some(architecture));
            files.insert(format!("{architecture}/{prefix}.ll"), text.into_bytes());
        }
    }
    files.insert(format!("{prefix}.h"), glue::header(&head, lowered, prefix).into_bytes());
    files.insert(format!("{prefix}.c"), glue::table(&head, lowered, prefix).into_bytes());
    files
}

fn runtime() -> impl Iterator<Item = (String, Vec<u8>)> {
    let wanted = RUNTIME.iter().filter(|(name, _)| *name == "headrace.h").chain(CALLS);
    wanted.map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
}

/// A project for a network.
///
/// # Errors
///
/// What cannot be lowered, with its place.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    let name = options.prefix.clone().unwrap_or_else(|| prefix_for(network));
    let mut files = emit(network, &name, options)?;
    files.extend(runtime());
    let mut files = in_source_folder(files);
    let test = answers::of_network(&head(&options.command), &name, network, recording);
    files.insert("test/test.c".into(), test.into_bytes());
    let about = format!("The network `{}` as a module in LLVM IR.", network.name);
    build_files::add(&mut files, &name, &options.command, &about, None);
    Ok(files)
}

/// A project for operations of parameter sets, each with its network: the functions that C programmers expect.
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
    let name = identifier(name);
    let mut files: Files = runtime().collect();
    let mut problems = Vec::new();
    let emitted = on_all_processors(operations, |(spec, network)| {
        let (module, refused) = lowered_operation(spec, network, options, &LOWERING);
        on_operation(spec, refused);
        module.map(|module| printed(&module, &network_prefix(spec), options))
    });
    for (emitted, (spec, network)) in emitted.into_iter().zip(operations) {
        let prefix = network_prefix(spec);
        match emitted {
            Ok(mut emitted) => {
                // What calls a network stands where compilers see through its table.
                let source = emitted.entry(format!("{prefix}.c")).or_default();
                source.extend(shape::source(spec, network, shape::CalledNetwork::PLAIN).into_bytes());
                files.extend(emitted);
            }
            Err(found) => problems.extend(found),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut files = in_source_folder(files);
    files.extend(MESSAGES.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    let head = head(&options.command);
    add_headers(&mut files, &head, &name, title, operations, &vec![false; operations.len()]);
    files.insert(
        "test/test.c".into(),
        answers::of_operations(&head, &name, operations, known, answers::Kind::Plain).into_bytes(),
    );
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.own_name())).collect();
    let about = format!("{title}: {} in LLVM IR, with an interface in C.", listed.join(", "));
    build_files::add(&mut files, &name, &options.command, &about, None);
    Ok(files)
}
