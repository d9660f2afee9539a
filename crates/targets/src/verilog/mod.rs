//! Target `verilog`: designs in Verilog-2005, a file a module, with a bench that checks them against known answers.
//!
//! What is printed here is a design of `rtl`, which `hardware` makes of a network: actors as modules with valid/ready streams.
//! Names are those of CAL, with the endings that lowRISC's style has (`_i` and `_o` at ports, `_d` and `_q` at registers);
//! comments name the lines of actions. Icarus and Verilator have no warnings for it.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `legal` | signals for what Verilog cannot say in one expression |
//! | `expression`, `module` | what their names say |
//! | `bench` | test benches and the files that they read |
//! | `project` | folders: build files, README, FuseSoC core |

mod bench;
mod expression;
mod legal;
mod module;
pub(crate) mod project;
pub(crate) mod toolchain;

pub(crate) use legal::legalised;

use headrace_rtl::Design;
use std::collections::BTreeMap;

/// The modules of a design as files by path, `rtl/NAME.v` below the folder. `head` says what made them.
pub fn modules(design: &Design, head: &str, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let file = |one: &headrace_rtl::Module| {
        (format!("{folder}rtl/{}.v", one.name), module::module(design, one, head).into_bytes())
    };
    design.modules.iter().map(file).collect()
}
