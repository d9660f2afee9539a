//! Names, imports, types, constants, instantiation and flattening: from the tree to the representation.
//!
//! Pure: source texts come from a [`SourceProvider`], diagnostics collect in a [`Session`]. [`elaborate`] makes a flat
//! [`headrace_ir::Network`] of an entity with its parameters, [`hierarchy`] its levels, [`expand`] networks in which lists,
//! choices and entity parameters are resolved, and [`check`] looks for problems in an entity whose parameters are not
//! known.
//!
//! An actor is lowered once for each set of parameters, by one walk that types, folds and emits at the same time
//! (`builder` and what hangs on it). What depends on an unknown parameter gets a stand-in and is never evaluated; what
//! was wrong is poison, about which nothing more is said.

mod action;
mod actor;
mod body;
mod builder;
mod calls;
mod choice;
mod effects;
mod elaborate;
mod expand;
mod expr;
mod fits;
mod flatten;
mod fold;
mod hierarchy;
mod lists;
pub mod mapping;
mod members;
mod names;
mod network;
mod network_scope;
mod operators;
mod procedure;
mod prune;
mod schedule;
mod session;
mod shifts;
mod stmt;
mod types;
mod visit;

pub use elaborate::{Top, check, elaborate, hierarchy};
pub use expand::{Expanded, expand};
pub use hierarchy::{ActorNode, Child, End, Link, NetworkNode, Node, PortType};
pub use session::{DEFAULT_STATE_BYTES, Session, SourceKind, SourceProvider, SourceText};
