//! `headrace completions`.

use crate::cli::{Cli, CompletionsArgs};
use crate::failure::Outcome;
use crate::output;
use clap::CommandFactory;

/// Prints the completion script of a shell.
pub fn completions(arguments: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "headrace", &mut script);
    output::print(&script)
}
