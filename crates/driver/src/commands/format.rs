//! `headrace fmt`.

use super::Context;
use crate::cli::FmtArgs;
use crate::failure::Outcome;
use crate::output::{self, write_file};
use headrace::Error;
use headrace::roots::{files_below, read_source};
use headrace::words::plural;
use headrace_source::SourceMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Formats all files, or none when one of them cannot be.
pub fn format(context: &Context, arguments: &FmtArgs) -> Outcome {
    let mut paths = BTreeSet::new();
    for path in &arguments.paths {
        if path.is_dir() {
            let found = files_below(path, &["cal", "nl"]).map_err(|error| Error::io(path.display(), &error))?;
            paths.extend(found);
        } else if path.extension().is_some_and(|ending| ending == "cal" || ending == "nl") {
            paths.insert(path.clone());
        } else {
            return Err(Error::usage(format!("{}: only .cal and .nl files are formatted", path.display())));
        }
    }
    let mut sources = SourceMap::default();
    let mut problems = Vec::new();
    let mut unreadable = Vec::new();
    let mut changed: Vec<(PathBuf, String)> = Vec::new();
    for path in &paths {
        let text = match read_source(path) {
            Ok(text) => text,
            Err(message) => {
                unreadable.push(message);
                continue;
            }
        };
        let file = sources.add(path.display().to_string(), text);
        match headrace_syntax::format::format(file, sources.text(file)) {
            Ok(formatted) if formatted == sources.text(file) => {}
            Ok(formatted) => changed.push((path.clone(), formatted)),
            Err(found) => problems.extend(found),
        }
    }
    let counts = context.terminal.show(&sources, &problems);
    for message in &unreadable {
        context.terminal.error(message);
    }
    if counts.errors > 0 || !unreadable.is_empty() {
        let n = counts.errors + unreadable.len();
        return Err(Error::wrong(format!("nothing was changed: {}", plural(n, "error"))));
    }
    if arguments.check {
        for (path, _) in &changed {
            output::print(format!("{}\n", path.display()).as_bytes())?;
        }
        if changed.is_empty() {
            return Ok(());
        }
        return Err(Error::wrong(format!("{} would change", plural(changed.len(), "file"))));
    }
    for (path, text) in &changed {
        write_file(path, text.as_bytes())?;
    }
    context.terminal.say(&format!("{} of {} changed", changed.len(), plural(paths.len(), "file")));
    Ok(())
}
