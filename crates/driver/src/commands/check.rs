//! `headrace check`.

use super::Context;
use crate::cli::CheckArgs;
use crate::failure::{Failure, Outcome};
use crate::roots::{files_below, kind_of};
use crate::terminal::plural;
use headrace_frontend::Top;
use std::path::Path;

/// Checks files, folders and networks, and shows all problems at once.
pub fn check(context: &mut Context, arguments: &CheckArgs) -> Outcome {
    let mut tops = Vec::new();
    let mut unreadable = 0;
    for input in &arguments.inputs {
        let path = Path::new(input);
        if path.is_dir() {
            let files =
                files_below(path, &["cal", "nl", "xdf"]).map_err(|error| Failure::io(path.display(), &error))?;
            for file in files {
                unreadable += usize::from(!add_file(context, &file, &mut tops));
            }
        } else {
            tops.push(context.top(input)?);
        }
    }
    for top in &tops {
        headrace_frontend::check(&mut context.session, &context.roots, top);
    }
    let problems = context.session.take_diagnostics();
    context.show(&problems);
    let counts = context.counts();
    if !arguments.quiet || counts.errors > 0 {
        let found = counts.describe();
        let found = if found.is_empty() { "no problems".to_owned() } else { found };
        context.terminal.say(&format!("{found} in {}", plural(context.session.sources.len(), "file")));
    }
    super::fail_if(counts.errors + unreadable > 0)
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
