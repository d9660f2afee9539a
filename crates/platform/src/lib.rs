//! Platform descriptions: the machines that networks are mapped to, as data.
//!
//! A platform is a file below `platforms/`, called after it, and read with the program; a new one is a new file, and a user
//! may name one by its path. `kind` says which part of the program reads the rest:
//!
//! | kind | what it is | read by |
//! | --- | --- | --- |
//! | `array` | many small processors in a grid, with FIFOs between them | `headrace-array` |
//! | `stream` | a stream processor: clusters of ALUs under one controller | `headrace-stream` |
//! | `crypto-processor` | several cores for cryptography behind one scheduler | |
//!
//! ```toml
//! # What it is and where its numbers are from, in a few words.
//! kind = "array"
//! about = "AsAP2: 164 processors, 65 nm"   # for lists
//! …
//! fifo_depth = { value = 64, source = "…" }
//! ```
//!
//! Fields of the types are the keys of the files, and say in which unit a number is. Every number stands with its source
//! ([`Figure`]). An unknown key is an error with file and line ([`Wrong`]). What all kinds share stands here; this part
//! knows no kind of machine from inside.

pub mod charts;
mod figure;
mod file;
mod wrong;

pub use figure::{Figure, Text};
pub use file::{File, Head, Kind, Mention, built_in, find, keys_of};
pub use wrong::Wrong;
