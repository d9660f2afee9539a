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
        (format!("{folder}rtl/{}.v", one.name), broken(&module::module(design, one, head)).into_bytes())
    };
    design.modules.iter().map(file).collect()
}

/// Columns beyond which a line is broken: Verilator takes some ten thousand tokens a line.
const LONGEST_LINE: usize = 4000;

/// The same text with lines that tools take, broken between tokens.
fn broken(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    for line in text.lines() {
        let mut column = 0;
        // Comments end with their line.
        let is_long = line.len() > LONGEST_LINE && !line.contains("//");
        for (at, word) in line.split(' ').enumerate() {
            let ends = is_long && column + word.len() > LONGEST_LINE;
            let between = if ends { "\n      " } else { " " };
            made.push_str(if at == 0 { "" } else { between });
            column = if ends { 0 } else { column } + word.len() + 1;
            made.push_str(word);
        }
        made.push('\n');
    }
    made
}
