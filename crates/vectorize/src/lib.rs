//! Vectorisation: loops on vector registers of machines, in no language. Which registers an iteration computes, with which
//! instructions and from what, is settled here; printers of languages, and the lowering to programs, write it down.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `blocks` | iterations that work on registers of 128 bits, a block of a cipher in each |
//! | `carried_reads` | tokens of the iteration before that an iteration reads |
//! | `packed_loads` | values put together of neighbouring bytes, as one load |
//! | `products` | product recurrences: the plan of a product, groups |
//! | `residues` | recurrences modulo a number: limbs |
//! | `selection` | loops with the instructions of machines in the place of what these compute |
//! | `single_iteration` | transitions as loops of one iteration |
//! | `staged` | transitions of which a part is one |

pub mod blocks;
pub mod carried_reads;
pub mod packed_loads;
pub mod products;
pub mod residues;
pub mod selection;
pub mod single_iteration;
pub mod staged;

/// Why a loop cannot be done in some way, for readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotApplicable(pub String);
