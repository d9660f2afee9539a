//! The command `headrace` and the library interface behind it: the only part that reads and writes files.

pub mod cli;
pub mod embedded;
pub mod failure;
pub mod feed;
pub mod inputs;
pub mod output;
pub mod ports;
pub mod roots;
pub mod terminal;
pub mod tokens;
