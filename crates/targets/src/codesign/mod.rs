//! Hardware/software co-design: projects of networks that are cut into parts, some of them programs in C, others circuits in
//! Verilog.
//!
//! Every part is a `struct headrace_network`, as whole networks in C are: a program by what target `c` prints, a circuit by a
//! bridge to the model that Verilator makes of what target `verilog` prints. `runtime/parts` moves tokens between them, and the
//! program around is that of `--main`.
//!
//! | file | what is there |
//! | --- | --- |
//! | `bridge` | circuits behind the interface of networks in C, and what compiles them |
//! | `project` | folders: parts, bridge, program, test, build files |

mod bridge;
mod project;

pub use bridge::{Circuit, library};
pub use project::{Part, Whole, of_parts};
