//! The native engine: generated C, compiled by the system's compiler, cached, loaded and run.
//!
//! This part reads and writes files and starts processes by its nature. What it compiles is kept in the cache folder
//! of the user (`$XDG_CACHE_HOME/headrace` or `~/.cache/headrace`), under the hash of source, flags and compiler, so
//! that a second run of the same network starts at once.

mod compiler;
mod context;
mod crew;
mod engine;
mod fused;
mod host;
mod trials;

pub use compiler::{Compiler, default_cache};
pub use engine::{Batch, Member, NativeEngine, NativeError, Options};
pub use fused::Fused;
pub use trials::LocalTrials;
