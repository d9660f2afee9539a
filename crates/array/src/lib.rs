//! Many-core arrays (GALS arrays of small processors): networks mapped to them, and simulated to the cycle.
//!
//! | file | what it is |
//! | --- | --- |
//! | `machine` | the description of an array, as data |
//! | `values`, `tasks`, `unroll` | a network along one message, as tasks with wires between them |
//! | `transform` | what may be done to such a network: split, commute, absorb, fold |
//! | `mapping` | which task is where, as data; legality |
//! | `program`, `isa` | what each processor does, cycle by cycle |
//! | `simulate`, `vcd` | all of them at once, with values; what they do when, for viewers of waveforms |
//! | `rtl` | all of them as a clocked design |

pub mod atomic;
pub mod design;
pub mod energy;
pub mod isa;
pub mod machine;
pub mod mapping;
pub mod place;
pub mod program;
pub mod rtl;
pub mod search;
pub mod simulate;
pub mod tasks;
pub mod transform;
pub mod unroll;
pub mod values;
pub mod vcd;
