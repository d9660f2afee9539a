//! The native engine: generated C, compiled by the system's compiler, cached, loaded and run.
//!
//! This part reads and writes files and starts processes by its nature. What it compiles is kept in the cache folder
//! of the user (`$XDG_CACHE_HOME/headrace` or `~/.cache/headrace`), under the hash of source, flags and compiler, so
//! that a second run of the same network starts at once. Nothing is loaded from where another user could have put it:
//! `headrace_private::trust` says what a folder must be like, and without one what is compiled is not kept.

mod compiled;
mod compiler;
mod context;
mod crew;
mod engine;
mod fused;
mod host;
mod library;
mod shortcuts;
mod supplied;
mod trials;
mod verilated;

pub use compiler::Compiler;
pub use engine::{Batch, Member, NativeEngine, NativeError, Options};
pub use fused::{Fused, FusedName};
pub use shortcuts::{Shortcut, Shortcuts};
pub use supplied::Supplied;
pub use trials::LocalTrials;
pub use verilated::Verilator;
