//! Stream processors: networks as streams and kernels, for machines whose clusters all do the same to records of their own.
//!
//! | file | what is there |
//! | --- | --- |
//! | `machine` | machines as data |
//! | `words` | kernels as operations on words |
//! | `legalize` | iterations of loops as word code |
//! | `place` | tables: where they are, and how they are reached |
//! | `choose` | which form of a loop, which places of tables |
//! | `kernel` | operations of a machine, scheduled |
//! | `registers` | units and local register files |
//! | `text` | listings, and texts in the manner of KernelC and StreamC |
//! | `trial` | kernels held to their loops on random tokens |
//! | `simulate` | kernels, cycle by cycle, with their values |

pub mod choose;
pub mod kernel;
pub mod legalize;
pub mod machine;
pub mod place;
pub mod registers;
pub mod simulate;
pub mod text;
pub mod trial;
pub mod words;
