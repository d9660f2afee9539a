//! Stream processors: networks as streams and kernels, for machines whose clusters all do the same to records of their own.
//!
//! | file | what is there |
//! | --- | --- |
//! | `machine` | machines as data |
//! | `words` | kernels as operations on words |
//! | `legalize` | iterations of loops as word code |
//! | `merge_tables` | linear layers put into tables |
//! | `place` | tables: where they are, and how they are reached |
//! | `multiply` | shifts as multiplications, where multipliers are idle |
//! | `choose` | which form of a loop, which places of tables |
//! | `kernel` | operations of a machine, scheduled |
//! | `reroll` | rounds as an inner loop |
//! | `registers` | units and local register files |
//! | `text` | listings, and texts in the manner of KernelC and StreamC |
//! | `trial` | kernels held to their loops on random tokens |
//! | `program` | strips that are loaded, worked on and stored |
//! | `suits` | the checking model |
//! | `processor` | the same for processors that execute out of order |
//! | `simulate` | kernels, cycle by cycle, with their values |

pub mod choose;
pub mod kernel;
pub mod legalize;
pub mod machine;
pub mod merge_tables;
pub mod multiply;
pub mod place;
pub mod processor;
pub mod program;
pub mod registers;
pub mod reroll;
pub mod simulate;
pub mod suits;
pub mod text;
pub mod trial;
pub mod words;
