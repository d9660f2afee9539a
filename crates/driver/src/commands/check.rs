//! `headrace check`.

use super::Context;
use crate::cli::CheckArgs;
use crate::failure::{Failure, Outcome};
use crate::roots::{MANIFEST, files_below, is_manifest, kind_of, read_source};
use crate::terminal::plural;
use headrace_frontend::Top;
use headrace_library::catalog::Library;
use headrace_source::{Diagnostic, FileId};
use std::path::Path;

/// Checks files, folders and networks, and shows all problems at once.
pub fn check(context: &mut Context, arguments: &CheckArgs) -> Outcome {
    let mut tops = Vec::new();
    let (mut unreadable, mut beside) = (0, 0);
    for input in &arguments.inputs {
        let path = Path::new(input);
        if path.is_dir() {
            let files =
                files_below(path, &["cal", "nl", "xdf"]).map_err(|error| Failure::io(path.display(), &error))?;
            for file in files {
                unreadable += usize::from(!add_file(context, &file, &mut tops));
            }
            let read = context.session.sources.len();
            let (own, failed) = check_manifests(context, path)?;
            beside += context.session.sources.len() - read - own;
            unreadable += failed;
        } else {
            tops.push(context.top(input)?);
        }
    }
    for top in &tops {
        let Some(network) = headrace_frontend::check(&mut context.session, &context.roots, top) else { continue };
        for problem in network.actors.iter().flat_map(headrace_analysis::narrowed::diagnostics) {
            context.session.report(problem);
        }
    }
    let problems = context.session.take_diagnostics();
    context.show(&problems);
    let counts = context.counts();
    if !arguments.quiet || counts.errors > 0 {
        let found = counts.describe();
        let found = if found.is_empty() { "no problems".to_owned() } else { found };
        context.terminal.say(&format!("{found} in {}", plural(context.session.sources.len() - beside, "file")));
    }
    super::fail_if(counts.errors + unreadable > 0)
}

/// Checks the manifests below a folder, together with those of the source roots, which have the modes and ciphers that they
/// may speak of; only their own problems are shown. Gives how many were read, and how many cannot be, which is said.
fn check_manifests(context: &mut Context, folder: &Path) -> Outcome<(usize, usize)> {
    let found = files_below(folder, &["toml"]).map_err(|error| Failure::io(folder.display(), &error))?;
    let found: Vec<_> =
        found.into_iter().filter(|file| file.file_name().is_some_and(|name| name == MANIFEST)).collect();
    if found.is_empty() {
        return Ok((0, 0));
    }
    let mut files = Vec::new();
    let mut unreadable = 0;
    for file in &found {
        match read_source(file) {
            Ok(text) => {
                let id = context.session.sources.add(file.display().to_string(), text);
                files.push((id, context.roots.below(file)));
            }
            Err(message) => {
                context.terminal.error(&message);
                unreadable += 1;
            }
        }
    }
    let own: Vec<FileId> = files.iter().map(|(id, _)| *id).collect();
    for (path, display, text) in context.roots.texts(is_manifest, &["toml"]) {
        // What stands below the folder may be what a root has, too.
        let here = files.iter().any(|(_, own)| *own == path || own.ends_with(&format!("/{path}")));
        if let (false, Ok(text)) = (here, text) {
            files.push((context.session.sources.add(display, text), path));
        }
    }
    let sources = &context.session.sources;
    let (_, problems) = Library::load(files.iter().map(|(id, path)| (*id, path.as_str(), sources.text(*id))));
    let of_own = |problem: &Diagnostic| problem.primary.as_ref().is_none_or(|label| own.contains(&label.span.file));
    let problems: Vec<Diagnostic> = problems.into_iter().filter(of_own).collect();
    context.show(&problems);
    Ok((own.len(), unreadable))
}

/// Adds a file of a folder; false when it cannot be read, which is said.
fn add_file(context: &mut Context, file: &Path, tops: &mut Vec<Top>) -> bool {
    let Some(kind) = kind_of(file) else { return true };
    match context.top_of_file(file, kind) {
        Ok(top) => {
            tops.push(top);
            true
        }
        Err(failure) => {
            context.terminal.error(&failure.message);
            false
        }
    }
}
