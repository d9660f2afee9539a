//! Target `vhdl`: the designs of target `verilog` in VHDL-2008, an entity a file, with a bench for GHDL.
//!
//! A bit is a `std_logic`, several are a `std_logic_vector` at ports and an `unsigned` inside. What `numeric_std` does not define
//! for every value stands in a package of functions, which every design has with it. Names that VHDL does not have, or takes for
//! another's, are extended identifiers.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `names` | identifiers |
//! | `expression`, `module` | what their names say |
//! | `bench` | test benches |
//! | `project` | folders: build files, README, FuseSoC core |

mod bench;
mod expression;
mod module;
mod names;
pub(crate) mod project;
pub(crate) mod toolchain;

use headrace_rtl::Design;
use std::collections::BTreeMap;

/// The functions that modules are made of.
pub(crate) const PACKAGE: &str = include_str!("package.vhd");

/// The entities of a design as files by path, `rtl/NAME.vhd` below the folder, but for [`PACKAGE`]. `head` says what made them.
pub fn modules(design: &Design, head: &str, folder: &str) -> BTreeMap<String, Vec<u8>> {
    let file = |one: &headrace_rtl::Module| {
        (format!("{folder}rtl/{}.vhd", one.name), module::module(design, one, head).into_bytes())
    };
    design.modules.iter().map(file).collect()
}
