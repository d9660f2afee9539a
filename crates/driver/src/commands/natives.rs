//! Natives of a network: those that the user supplies, those that nobody does, and how they are declared in C.

use super::Context;
use crate::failure::Outcome;
use crate::output;
use headrace::Error;
use headrace::engines::NotStarted;
use headrace_ir::Network;
use headrace_native::{NativeError, Supplied};
use headrace_targets::c::natives;
use std::path::PathBuf;
use std::sync::Arc;

/// Compiles and loads the files of the user, and holds what the network declares against them and what is built in: before
/// anything else is compiled.
///
/// # Errors
///
/// A file that cannot be had or loaded, and natives that nobody supplies, which were shown.
pub fn supplied(context: &Context, network: &Network, files: &[PathBuf]) -> Outcome<Option<Arc<Supplied>>> {
    let supplied = match files {
        [] => None,
        files => {
            let made = Supplied::new(network, files, None, None);
            let supplied = made.map_err(failure)?;
            if supplied.names().is_empty() {
                context.terminal.note("--natives: the files have none of the natives that the network declares");
            }
            Some(Arc::new(supplied))
        }
    };
    let names = supplied.as_ref().map_or_else(Vec::new, |supplied| supplied.names());
    let mut problems = headrace_natives::check(network, &names);
    for problem in problems.iter_mut().filter(|problem| problem.slug == "unknown-native") {
        let mut declared = network.actors.iter().flat_map(|actor| &actor.natives);
        let at = problem.primary.as_ref().map(|label| label.span);
        if let Some(native) = declared.find(|native| Some(native.span) == at) {
            problem.notes.push(format!("in C it is `{}`", natives::declaration(native)));
        }
    }
    if problems.is_empty() {
        return Ok(supplied);
    }
    Err(Error::Refused(problems))
}

/// Prints the header that declares the natives of a network.
///
/// # Errors
///
/// Natives that C cannot have.
pub fn print_header(network: &Network, name: &str) -> Outcome<u8> {
    let head = format!("/* Made by `headrace run {} --natives-header`. */\n", name.replace("*/", "* /"));
    let header = natives::header(network, &head).map_err(Error::Refused)?;
    output::print(header.as_bytes())?;
    output::flush_standard()?;
    Ok(0)
}

fn failure(problem: NativeError) -> Error {
    match NotStarted::from(problem) {
        NotStarted::Wrong(problems) => Error::Refused(problems),
        NotStarted::MissingTool(message) => Error::missing(format!("--natives: {message}")),
        NotStarted::Failed(message) | NotStarted::Unable(message) => Error::wrong(format!("--natives: {message}")),
    }
}
