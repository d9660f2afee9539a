//! `headrace prepare`: operations of the library compiled ahead of their first use.

use super::{Context, STATE_MIB};
use crate::cli::PrepareArgs;
use crate::failure::Outcome;
use crate::output::{TemporaryFolder, make_folder};
use headrace::Error;
use headrace::engines::c_compiler;
use headrace::engines::needed;
use headrace::operation::{FIFO_TOKENS, Use};
use headrace::shortcut::Memory;
use headrace::words::plural;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_native::{Fused, Options};
use headrace_private::trust;
use headrace_targets::automata::automaton_of_operation;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

/// Compiles operations as fused code.
pub fn prepare(context: &mut Context, arguments: &PrepareArgs) -> Outcome {
    let library = context.library()?;
    let words: Vec<&str> = arguments.operations.iter().map(String::as_str).collect();
    let specs = library.select(&words).map_err(|problem| Error::unknown(&problem))?;
    let specs: Vec<OperationSpec> = specs.into_iter().filter(|spec| spec.framing != Framing::Bare).cloned().collect();
    if specs.is_empty() {
        return Err(Error::usage("none of these operations has messages, so that `headrace use` runs none of them"));
    }
    if arguments.into.is_some() && !context.workspace.is_plain() {
        return Err(Error::usage(format!(
            "--into is for the library that the command carries, without -L, --orcc-widths and {STATE_MIB}"
        )));
    }
    c_compiler()?;
    // What is installed is for everybody, and must not depend on what one user has in a cache.
    let apart = arguments.into.as_ref().map(|_| TemporaryFolder::new()).transpose()?;
    if let Some(place) = &arguments.into {
        let is_new = !place.exists();
        make_folder(place)?;
        if is_new {
            // The umask of who installs must not close it to those who use it; a folder that was there is somebody's.
            let open = Permissions::from_mode(0o755);
            std::fs::set_permissions(place, open).map_err(|error| Error::io(place.display(), &error))?;
        }
        let whole = std::path::absolute(place).map_err(|error| Error::io(place.display(), &error))?;
        if let Err(why) = trust::is_unshared(&whole) {
            context.terminal.note(&format!("no command will take what is put there: {why}"));
        }
    }
    let cache = apart.as_ref().map(|apart| apart.path().join("cache"));
    let options = Options { fifo_tokens: FIFO_TOKENS, cache, ..Options::default() };
    let mut prepared = 0;
    for spec in &specs {
        context.terminal.status(&format!("compiling {}", spec.full_name()));
        let done = prepare_one(context, spec, &options, arguments.into.as_deref());
        context.terminal.status("");
        if done? {
            prepared += 1;
        } else {
            context.terminal.note(&format!("{} runs on its scheduler: no one program is made of it", spec.full_name()));
        }
    }
    context.terminal.say(&format!("{} ready", plural(prepared, "operation")));
    Ok(())
}

/// Compiles an operation, if one program is made of it, and writes down how it starts.
fn prepare_one(context: &mut Context, spec: &OperationSpec, options: &Options, into: Option<&Path>) -> Outcome<bool> {
    let variant = spec.variant(None).ok_or_else(|| Error::wrong(format!("`{}` has no variant", spec.full_name())))?;
    let network = context.elaborate(&variant.network.to_string(), &[])?;
    let fused = Fused::new(Arc::clone(&network), options).map_err(|problem| needed(&problem.into()))?;
    let name = fused.name();
    let engine = fused.engine(1, || automaton_of_operation(spec, &network).ok());
    let Some(engine) = engine.map_err(|problem| needed(&problem.into()))? else { return Ok(false) };
    if let Some(why) = engine.not_kept() {
        return Err(Error::wrong(format!("compiled code is not kept: {why}")));
    }
    // Without it `use` finds what was compiled by the text that is printed of the network.
    let wanted = Use::new(&spec.set, &spec.name);
    let workspace = &mut context.workspace;
    let Some(memory) = Memory::of(workspace, &wanted, options.clone()) else { return Ok(true) };
    match into {
        Some(place) => memory.install(workspace, place, spec, &network, &name).map_err(Error::wrong)?,
        None => memory.remember(workspace, spec, &network, &name),
    }
    Ok(true)
}
