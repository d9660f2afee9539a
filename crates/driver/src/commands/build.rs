//! `headrace build`.

use super::Context;
use crate::cli::{BuildArgs, CoresName, ListArgs, Listing};
use crate::failure::Outcome;
use crate::progress::{Progress, Unit};
use crate::project_folder::{self, Beside};
use crate::workspaces;
use headrace::Error;
use headrace::build::{Build, Cores, OnArray, target};
use headrace::words::plural;
use headrace_array::machine::Machine;
use headrace_array::mapping::Mapping;
use headrace_transform::passes;
use headrace_transform::passes::manager::LeftOut;
use headrace_transform::passes::pass::Pass;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Writes a project for a network, or for the operations of a parameter set.
pub fn build(context: &mut Context, arguments: &BuildArgs) -> Outcome {
    if arguments.target == "list" {
        return super::list::list(context, &ListArgs { what: Listing::Targets, json: false });
    }
    let build = wanted(arguments)?;
    build.check()?;
    let folder = arguments.output.as_deref().ok_or_else(|| Error::usage("-o DIR is missing"))?;
    let beside = if arguments.force { Beside::Force } else { Beside::Nothing };
    project_folder::check(folder, beside)?;
    let progress = Mutex::new(None);
    let terminal = context.terminal;
    let told = |done: u64, total: u64| {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.get_or_insert_with(|| Progress::new(terminal, total, Unit::Steps)).tell(done);
    };
    let made = context.workspace.build(&build, &told);
    progress.into_inner().unwrap_or_else(PoisonError::into_inner).iter_mut().for_each(Progress::finish);
    let mut files = context.told(made)?;
    if let Some(manifest) = files.get_mut("Cargo.toml").filter(|_| workspaces::is_stranger(folder)) {
        manifest.extend_from_slice(workspaces::APART.as_bytes());
    }
    project_folder::write(folder, &files, beside)?;
    if let Some(limit) = arguments.pass_limit {
        let (n, last) = passes::manager::n_changes();
        let last = last.map_or(String::new(), |last| format!("; change {limit} is by {last}"));
        context.terminal.note(&format!("passes change something {} in all{last}", plural(n as usize, "time")));
    }
    context.terminal.say(&format!(
        "{} in {}; build and test with: {}",
        plural(files.len(), "file"),
        folder.display(),
        build.target.test.replace("{}", &folder.display().to_string())
    ));
    Ok(())
}

/// What the command line asks for.
fn wanted(arguments: &BuildArgs) -> Outcome<Build> {
    Ok(Build {
        networks: arguments.networks.clone(),
        parameters: Context::parameters(&arguments.parameters)?,
        fifo_tokens: arguments.fifo,
        variant: arguments.variant.clone(),
        operations: arguments.operations.clone(),
        prefix: arguments.prefix.clone(),
        name: arguments.name.clone(),
        fused: !arguments.unfused,
        small: arguments.small,
        main: arguments.main,
        tune: arguments.tune,
        hardware: arguments.hardware.options(),
        shape: arguments.shape.into(),
        word_bits: arguments.word_bits,
        mapping: on_array(arguments)?,
        partitions: partitions(arguments),
        left_out: left_out(arguments)?,
        ..Build::new(target(&arguments.target)?, &[])
    })
}

/// The mapping that says what becomes circuits, and what programs.
fn partitions(arguments: &BuildArgs) -> Option<PathBuf> {
    let path = arguments.mapping.as_ref().map(PathBuf::from);
    path.filter(|path| path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("xcf")))
}

/// The array that the network is put on.
fn on_array(arguments: &BuildArgs) -> Outcome<Option<OnArray>> {
    let Some(name) = arguments.mapping.as_ref().filter(|_| partitions(arguments).is_none()) else { return Ok(None) };
    let wrong = |wrong: headrace_platform::Wrong| Error::wrong(wrong.to_string());
    let machine = Machine::read(&super::map::platform(&arguments.platform)?).map_err(wrong)?;
    let mapping = Mapping::read(&super::map::mapping(name)?).map_err(wrong)?;
    let cores = match arguments.cores {
        CoresName::Soft => Cores::Programs,
        CoresName::StateMachines => Cores::StateMachines,
    };
    Ok(Some(OnArray { mapping, machine, cores }))
}

/// What the command line leaves out, each pass with a hyphen before its name.
fn left_out(arguments: &BuildArgs) -> Outcome<LeftOut> {
    let name = |word: &String| {
        let pass = word.strip_prefix('-').and_then(Pass::named).map(|pass| pass.name);
        pass.ok_or_else(|| {
            let wrong = word.escape_debug();
            Error::usage(format!(
                "--passes: `{wrong}` is no pass with a hyphen before it; `headrace list passes` lists them"
            ))
        })
    };
    let passes = arguments.passes.iter().map(name).collect::<Outcome<Vec<_>>>()?;
    Ok(LeftOut { passes, limit: arguments.pass_limit })
}
