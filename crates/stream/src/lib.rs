//! Stream processors: networks as streams and kernels, for machines whose clusters all do the same to records of their own.
//!
//! | file | what is there |
//! | --- | --- |
//! | `machine` | machines as data |
//! | `words` | kernels as operations on words |
//! | `legalize` | iterations of loops as word code |
//! | `place` | tables: where they are, and how they are reached |
//! | `kernel` | operations of a machine, scheduled |
//! | `registers` | units and local register files |
//! | `simulate` | kernels, cycle by cycle, with their values |

pub mod kernel;
pub mod legalize;
pub mod machine;
pub mod place;
pub mod registers;
pub mod simulate;
pub mod words;
