//! `headrace check`.

use super::Context;
use crate::cli::CheckArgs;
use crate::failure::Outcome;
use headrace::words::plural;

/// Checks files, folders and networks, and shows all problems at once.
pub fn check(context: &mut Context, arguments: &CheckArgs) -> Outcome {
    let inputs: Vec<&str> = arguments.inputs.iter().map(String::as_str).collect();
    let checked = context.workspace.check(&inputs);
    let checked = context.told(checked)?;
    let n_unreadable = checked.unreadable().count();
    context.tell(checked.found);
    let counts = context.counts();
    if !arguments.quiet || counts.errors > 0 {
        let found = counts.describe();
        let found = if found.is_empty() { "no problems".to_owned() } else { found };
        context.terminal.say(&format!("{found} in {}", plural(checked.n_files, "file")));
    }
    super::fail_if(counts.errors + n_unreadable > 0)
}
