//! Target `xlim`: the interchange format of the OpenDF and OpenForge tools, a design for each actor and the network in XDF.
//!
//! The actors are printed as they are elaborated, before anything is lowered, since the format has what they need: integers
//! of any size, lists, values that are assigned once. What it lacks is said in a diagnostic: printing, natives, reals.
//!
//! How a design is written so that every reader takes it for the same:
//!
//! * Integers are exact in the source. Each operation is written in a type that holds its result, and its operands are cast
//!   to that type before, so that nothing depends on how a tool sizes operands. What only wraps at the end (sums, products,
//!   bits) is computed in the type to which it wraps.
//! * Every value has a name of its own. Branches give their own values to a `PHI`, by a `noop` where need be.
//! * Lists are state variables, those of actions and procedures too; an index goes over all dimensions. Procedures are
//!   written out where they are called.
//! * What can fail at run time (a division, an index, a call) stands in a module that is entered only where the program gets
//!   there; everything else of a lazy choice is computed and selected.
//! * The module `action-scheduler` looks, pass by pass, for the first action of the state whose tokens are there and whose
//!   guard holds, and calls it if there is room. Single tokens are asked for by `pinStatus`, several by `pinAvail`.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `value` | values, and operations as elements |
//! | `arithmetic` | integers: types that hold results |
//! | `expression` | places and expressions |
//! | `statement` | statements, calls written out |
//! | `action` | actions as modules |
//! | `scheduler` | the module that calls them |
//! | `design` | an actor as a whole |
//! | `network` | names of designs, conversions between ports, XDF |
//! | `project` | the files around them |

mod action;
mod arithmetic;
mod design;
mod expression;
mod network;
pub mod project;
mod scheduler;
mod statement;
pub(crate) mod toolchain;
mod value;
