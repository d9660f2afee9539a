//! `headrace explain`.

use super::Context;
use crate::cli::ExplainArgs;
use crate::failure::Outcome;
use crate::output::print;
use headrace::Error;
use headrace::embedded;
use headrace::roots::edit_distance;
use headrace_source::{SLUGS, describe};

/// Prints the page of a diagnostic, or all slugs with a line each.
pub fn explain(_context: &Context, arguments: &ExplainArgs) -> Outcome {
    let Some(slug) = &arguments.slug else {
        let width = SLUGS.iter().map(|(slug, _)| slug.len()).max().unwrap_or(0);
        return SLUGS.iter().try_for_each(|(slug, line)| print(format!("{slug:width$}  {line}\n").as_bytes()));
    };
    let Some(line) = describe(slug) else {
        let near = SLUGS.iter().filter_map(|(known, _)| Some((edit_distance(slug, known, 4)?, known))).min();
        let hint = near.map(|(_, known)| format!("; did you mean `{known}`?")).unwrap_or_default();
        return Err(Error::usage(format!("there is no diagnostic `{}`{hint}", slug.escape_debug())));
    };
    match embedded::file(&format!("docs/diagnostics/{slug}.md")) {
        Some(page) => print(page),
        None => print(format!("{slug}: {line}\n").as_bytes()),
    }
}
