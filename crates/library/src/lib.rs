//! The crypto library as data: what its manifests, known-answer files and message framing mean.
//!
//! Text and bytes in, data out; no part of it reads a file, runs a network or knows a primitive by name. The
//! conventions it implements are those that every primitive of the library keeps: byte strings with chunk
//! companions, cores and message primitives, one `primitive.toml` per folder.
//!
//! | module | holds |
//! | --- | --- |
//! | [`manifest`] | the typed model of `primitive.toml` |
//! | [`catalog`] | all manifests together: names, derived operations, vectors by file name |
//! | [`vectors`] | the reader of known-answer files |
//! | [`framing`] | messages to tokens and back |
//! | [`known_answers`] | records to calls and expectations |
//! | [`lwc`] | cores with the LWC hardware API: which operations make one, messages as words at its ports |

// A diagnostic is made once, where something is refused, and moved a few times: boxing it would only cost clarity.
#![allow(clippy::result_large_err)]

pub mod catalog;
pub mod formula;
pub mod framing;
pub mod instantiation;
pub mod known_answers;
pub mod lwc;
pub mod manifest;
pub mod mapping;
mod monte_carlo;
mod ports;
pub mod samples;
mod select;
pub mod sizes;
mod spelling;
mod tables;
pub mod vectors;

pub use ports::{Class, PortSpec, Role};
