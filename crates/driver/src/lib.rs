//! The command `headrace` and the library interface behind it: the only part that reads and writes files.

pub mod cli;
pub mod commands;
pub mod embedded;
pub mod engines;
pub mod failure;
pub mod feed;
pub mod fusing;
pub mod inputs;
pub mod mapping;
pub mod output;
pub mod picture;
pub mod ports;
pub mod primitive;
pub mod profile;
pub mod program;
pub mod progress;
pub mod projects;
pub mod reading;
pub mod roots;
pub mod silence;
pub mod sinks;
pub mod terminal;
pub mod tokens;
pub mod toolchains;
pub mod waiting;
pub mod xlim;
