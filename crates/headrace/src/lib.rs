//! The compiler and the Crypto Tools Library as a library: values in, values out.
//!
//! A [`Workspace`] says where sources are looked for and keeps what was read; everything else is asked of it:
//!
//! | to | ask | gives |
//! |---|---|---|
//! | check sources | [`Workspace::check`] | problems with their places |
//! | open a network | [`Workspace::network`], [`Workspace::hierarchy`] | the representation, its levels |
//! | run it | [`Workspace::start`], then [`engines::Machine::run`] or a [`feed::Feed`] | outputs, and why it came to rest |
//! | use an operation | [`Workspace::perform`]; [`Workspace::transfer`] for messages of any length | bytes |
//! | analyse | [`analysis::Analysis`] | results, as values, text and JSON |
//! | build | [`Workspace::build`] | files by their paths |
//! | test | [`Workspace::test`] | what came of known answers |
//! | draw | [`picture::draw`] | SVG |
//!
//! Nothing here prints, ends the process, or looks into its environment by itself, but for the working folder, from which relative
//! paths go on; files are read where a path or a source root names them, and none are written but those of tools, in folders that
//! go with them, and what is withheld, without a name, in folders that a [`transfer::Transfer`] names. Compiled code runs only where an engine or
//! a test asks for it: `headrace-native` says what compilers it takes and where it keeps what they make. What goes wrong is an
//! [`Error`], what there is to say beside a result, a [`Remark`], and how far something is, a callback hears.
//!
//! ```
//! # fn main() -> headrace::Result {
//! let mut workspace = headrace::Workspace::default();
//! let checked = workspace.check(&["ctl.block.aes.AesEncrypt"])?;
//! assert_eq!(checked.problems().count(), 0);
//! # Ok(())
//! # }
//! ```

pub mod analysis;
pub mod array;
pub mod build;
pub mod check;
pub mod clocked;
pub mod codesign;
pub mod embedded;
pub mod engines;
pub mod error;
pub mod feed;
pub mod fusing;
pub mod inputs;
pub mod known_answers;
pub mod mapping;
pub mod message_input;
pub mod operation;
pub mod picture;
pub mod primitive;
pub mod profile;
pub mod reading;
pub mod release;
pub mod roots;
pub mod run;
pub mod shortcut;
pub mod silence;
pub mod spool;
pub mod stopping;
pub mod tokens;
pub mod toolchains;
pub mod transfer;
pub mod waiting;
pub mod words;
pub mod workspace;
pub mod xlim;

pub use check::Checked;
pub use error::{Error, Result};
pub use headrace_engine as engine;
pub use headrace_ir as ir;
pub use headrace_library as library;
pub use headrace_source as source;
pub use workspace::{Remark, Settings, Workspace};
