//! Source text to tree and back: lexer, parser and formatter of RVC-CAL and NL, reader and writer of XDF.
//!
//! Pure: text comes in, a tree and diagnostics go out. Reading never fails and never panics; whatever the text, the
//! result is the part of it that could be understood and a list of everything that is wrong with it. What a name or a
//! type means belongs to the front end.
//!
//! * [`parse`] reads `.cal` and `.nl`: one grammar, the keyword decides.

pub mod ast;
pub mod format;
mod lexer;
pub mod nl;
mod parser;
mod problems;
mod spans;
pub mod xdf;

pub use lexer::MAX_FILE_BYTES;
pub use parser::{MAX_NESTING, parse};
pub use spans::erase_spans;
