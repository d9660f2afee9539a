//! Source text to tree and back: lexer, parser and formatter of RVC-CAL and NL, reader and writer of XDF.
//!
//! Pure: text comes in, a tree and diagnostics go out. Reading never fails and never panics; whatever the text, the
//! result is the part of it that could be understood and a list of everything that is wrong with it. What a name or a
//! type means belongs to the front end.
//!
//! * [`parse`] reads `.cal` and `.nl`: one grammar, the keyword decides.
//! * [`xdf::read`] and [`xdf::write`] convert the XML network format to and from the same tree; [`nl::write`] prints a
//!   network as NL text.
//! * [`xcf::read`] and [`xcf::write`] are for mappings of networks to partitions.
//! * [`format::format`] lays out a `.cal` or `.nl` text anew and keeps its comments.
//!
//! Memory and time grow linearly with a text of at most [`MAX_FILE_BYTES`]. Nesting is limited to [`MAX_NESTING`] and the
//! height of a tree to about [`ast::MAX_HEIGHT`], so that recursion over a tree fits into a stack of a few megabytes.

pub mod ast;
pub mod format;
mod lexer;
pub mod nl;
mod parser;
mod problems;
mod spans;
pub mod xcf;
pub mod xdf;
pub mod xml;

pub use lexer::{MAX_FILE_BYTES, is_name};
pub use parser::{MAX_NESTING, parse};
pub use spans::erase_spans;
