//! XDF, the XML network format of RVC: to the tree of a network and back.
//!
//! One tree serves XDF and NL, so converting between them is reading the one and writing the other. Both directions
//! keep everything that means something; the canonical form that [`write()`] gives orders the elements (ports, parameters,
//! variables, instances, connections), and writes a negated number as one literal. What XDF itself leaves open is settled
//! so:
//!
//! * A parameter's default is an `Expr` behind the `Type` of its `Decl`; Orcc reads such a file and ignores the default.
//! * `half`, `float` and `double` are names of types; `float` with a size of 16, 32 or 64 is read too.
//! * A port's annotation without arguments (`@native`) is written as a flag.
//! * Names are identifiers. Elements and attributes that XDF does not have are passed over with a warning.
//! * Documents with a DTD are rejected, which keeps entity expansion out.

mod read;
mod write;

pub use read::read;
pub use write::write;
