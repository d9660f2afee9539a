//! Ready-to-build projects in C: what is printed for a network, with build files, a test and a README around it, and
//! for a primitive of the library the interface that its users expect.
//!
//! [`of_network`] wraps one network. [`of_operations`] wraps the operations of parameter sets in the functions that
//! their shapes ask for, with a test on known answers (`shape` prints the interface, `answers` the test).

pub(crate) mod answers;
mod answers_of_many;
mod answers_on_device;
pub(crate) mod build_files;
mod device;
mod held;
mod program;
pub(crate) mod shape;
mod small;

use super::{Emission, Options, emit, emit_with, file_of_many};
use crate::automata::{NotFused, automaton};
use crate::project::on_all_processors;
pub use crate::project::{Files, KnownAnswer, OnOperation, Recording, is_supported};
pub use device::Dialect;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_source::Diagnostic;
pub(crate) use program::Program;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

/// What projects of operations ship with beside the headers of every program.
pub(crate) const MESSAGES: &[(&str, &str)] = &[
    ("src/headrace_message.h", include_str!("../../../../../runtime/c/headrace_message.h")),
    ("src/headrace_whole.h", include_str!("../../../../../runtime/c/headrace_whole.h")),
    ("src/headrace_message.c", include_str!("../../../../../runtime/c/headrace_message.c")),
    ("src/headrace_helpers.h", include_str!("../../../../../runtime/c/headrace_helpers.h")),
    ("src/headrace_helpers.c", include_str!("../../../../../runtime/c/headrace_helpers.c")),
];

/// A project for a network.
///
/// # Errors
///
/// What the target cannot compile, with its place.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    // A program tells of run-time errors as `headrace run` does.
    let mut emission = emit(network, &Options { checked: options.checked || options.main, ..options.clone() })?;
    let name = emission.prefix.clone();
    let head = head(&options.command);
    add_kernels(&mut emission, options);
    let mut of_program = Files::new();
    if options.main {
        program::add(&mut of_program, network, &emission, &head)?;
    }
    let mut files = in_source_folder(emission.files);
    files.extend(options.device.iter().flat_map(|dialect| (dialect.runtime)()));
    files.insert("test/test.c".into(), answers::of_network(&head, &name, network, recording).into_bytes());
    build_files::add(
        &mut files,
        &name,
        &options.command,
        &format!("The network `{}` as a library in C.", network.name),
        options.device,
    );
    if options.main {
        files.extend(of_program);
        program::add_rules(&mut files, &name);
    }
    Ok(files)
}

/// A project for operations of parameter sets, each with its network. Operations that have no
/// interface in C must be left out; [`is_supported`] says which. They are compiled on all processors; `told` is called
/// after each, with the reason where it was to be fused and is not.
///
/// # Errors
///
/// What the target cannot compile, with its place.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    answers: &[KnownAnswer],
    options: &Options,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    if let Some(fills) = &options.small {
        return small::of_operations(name, title, operations, answers, options, fills.as_ref(), on_operation);
    }
    let name = identifier(name);
    let Networks { mut files, on_device, leaves } =
        networks(operations, options, on_operation, &network_prefix, &shape::source)?;
    files.extend(MESSAGES.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    files.extend(options.device.iter().flat_map(|dialect| (dialect.runtime)()));
    let head = head(&options.command);
    add_headers(&mut files, &head, &name, title, operations, &leaves);
    let test = answers::of_operations(
        &head,
        &name,
        operations,
        answers,
        if options.device.is_some() { answers::Kind::OnDevice } else { answers::Kind::Plain },
    );
    files.insert("test/test.c".into(), test.into_bytes());
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.own_name())).collect();
    let kernels = options.device.map_or(String::new(), |dialect| format!(", with kernels in {}", dialect.name));
    let mut about = format!("{title}: {} in C{kernels}.", listed.join(", "));
    if !on_device.is_empty() {
        let _ = write!(about, " A device runs\n\n{}\n\nand the processor everything else.", on_device.join("\n"));
    }
    build_files::add(&mut files, &name, &options.command, &about, options.device);
    Ok(files)
}

/// The networks of operations.
pub(crate) struct Networks {
    /// Their sources.
    pub(crate) files: Files,
    /// What a device runs of each, a line for readers, where there are kernels for one.
    pub(crate) on_device: Vec<String>,
    /// Whether each may leave its automaton.
    pub(crate) leaves: Vec<bool>,
}

/// The sources of the networks of operations, each under its prefix and with what is put behind it: where compilers see
/// through the functions of the network.
pub(crate) fn networks(
    operations: &[(&OperationSpec, &Network)],
    options: &Options,
    on_operation: &OnOperation<'_>,
    prefix: &(dyn Fn(&OperationSpec) -> String + Sync),
    behind: &dyn Fn(&OperationSpec, &Network, shape::CalledNetwork) -> String,
) -> Result<Networks, Vec<Diagnostic>> {
    let emitted = |(spec, network): &(&OperationSpec, &Network)| {
        let held = held::held(spec, network).map(Arc::new);
        let own = Options { prefix: Some(prefix(spec)), held, ..options.clone() };
        let found = options.fused.then(|| automaton(spec, network, options.automata.as_ref()));
        let emission = emit_with(network, found.as_ref().and_then(|found| found.as_deref().ok()), &own);
        let refused = match found {
            Some(Err(reason)) => Some(reason),
            Some(Ok(_)) if emission.as_ref().is_ok_and(|emission| !emission.fused) => {
                Some(NotFused { reason: "its code would be too long for compilers".into(), span: None })
            }
            _ => None,
        };
        on_operation(spec, refused);
        emission
    };
    let mut printed = Networks { files: Files::new(), on_device: Vec::new(), leaves: Vec::new() };
    let mut problems = Vec::new();
    for (emission, (spec, network)) in on_all_processors(operations, emitted).into_iter().zip(operations) {
        match emission {
            Ok(mut emission) => {
                let of_many = emission.files.get_mut(&file_of_many(&prefix(spec)));
                let part = if of_many.is_some() { shape::Part::OfOne } else { shape::Part::All };
                let called = shape::CalledNetwork { part, leaves: emission.leaves, one_shot: &emission.one_shot };
                if let Some(source) = of_many {
                    let called = shape::CalledNetwork { part: shape::Part::OfMany, ..called };
                    source.extend(behind(spec, network, called).into_bytes());
                }
                let source = emission.files.entry(format!("{}.c", prefix(spec))).or_default();
                source.extend(behind(spec, network, called).into_bytes());
                printed.leaves.push(emission.leaves);
                add_kernels(&mut emission, options);
                printed
                    .on_device
                    .extend(options.device.map(|_| format!("* `{}`: {}", spec.own_name(), runs_there(&emission))));
                printed.files.extend(in_source_folder(emission.files));
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(printed) } else { Err(problems) }
}

/// What of an operation runs on a device, for readers.
fn runs_there(emission: &Emission) -> String {
    let reasons: BTreeSet<&str> = emission.refused.iter().map(String::as_str).collect();
    let reasons: Vec<&str> = reasons.into_iter().collect();
    match (emission.kernels.len(), emission.fused, reasons.join("; ")) {
        (0, false, _) => "nothing: it keeps its scheduler".to_owned(),
        (0, true, reasons) if reasons.is_empty() => "nothing: it has no loop".to_owned(),
        (0, true, reasons) => format!("nothing, of its loops: {reasons}"),
        (n, _, _) => format!("{n} of {} loops", n + emission.refused.len()),
    }
}

/// Adds the kernels of a network, if there are some.
fn add_kernels(emission: &mut Emission, options: &Options) {
    if let Some(dialect) = options.device.filter(|_| !emission.kernels.is_empty()) {
        let (path, text) = (dialect.kernels)(&head(&options.command), &emission.prefix, &emission.kernels);
        emission.files.insert(path, text.into_bytes());
    }
}

pub(crate) fn head(command: &str) -> String {
    format!("/* Made by `{}`. Changes here will be lost. */\n", command.replace("*/", "* /"))
}

pub(crate) fn in_source_folder(files: Files) -> Files {
    files.into_iter().map(|(path, bytes)| (format!("src/{path}"), bytes)).collect()
}

/// Adds the headers that users of a project include.
pub(crate) fn add_headers(
    files: &mut Files,
    head: &str,
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    leaves: &[bool],
) {
    let headers = shape::headers(head, name, title, operations, leaves);
    files.extend(headers.into_iter().map(|(name, text)| (format!("src/{name}.h"), text.into_bytes())));
}

/// A name as C takes it.
pub(crate) fn identifier(name: &str) -> String {
    let replaced = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    let name: String = replaced.collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) { format!("n{name}") } else { name }
}

/// The name of a parameter set in C: that of its header and of what its functions begin with.
pub fn set_name(set: &str) -> String {
    identifier(set)
}

/// The prefix of the functions of an operation.
pub fn operation_prefix(spec: &OperationSpec) -> String {
    format!("{}_{}", set_name(&spec.set), identifier(&spec.name))
}

/// The prefix of the network of an operation.
pub(crate) fn network_prefix(spec: &OperationSpec) -> String {
    format!("{}_network", operation_prefix(spec))
}
