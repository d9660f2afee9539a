//! The command `headrace`: arguments, terminal and files around the library of that name.

pub mod cli;
pub mod commands;
pub mod failure;
pub mod output;
pub mod passphrase;
pub mod pictures;
pub mod ports;
pub mod program;
pub mod progress;
pub mod project_folder;
pub mod sealed;
pub mod sinks;
pub mod terminal;
pub mod trace;
pub mod whole_file;
pub mod wildcards;
pub mod workspaces;
