//! Logic synthesis and place-and-route for FPGAs: what Yosys and nextpnr are told, and what their netlists and reports say. It
//! turns Verilog of anybody into figures that can be compared: look-up tables, registers, levels of logic, clock frequency.
//!
//! Nothing is run here and no file is read: scripts go out as text, netlists and reports come in as text.
//!
//! # How a core is measured
//!
//! 1. The core is read, flattened by itself and looked at ([`checks`]): a design with a latch, a tri-state driver, a signal
//!    with two drivers, without a clock or with an output that is constant is not what its author means, and has no figures.
//! 2. It is mapped to the cells of a device as one module whose borders stay, so that nothing is optimised across its ports and
//!    what is counted is the core alone. Tables become logic. A loop of logic without a register shows there.
//! 3. Around it stands a wrapper of four pins ([`wrapper`]): a register before every input and behind every output, so that pins
//!    cost nothing and the clock frequency is that of paths between registers.
//! 4. nextpnr places and routes it once for each seed. The median counts; the spread says how much of a difference is chance.
//!
//! | file | what is there |
//! | --- | --- |
//! | `device` | devices, and what their cells are |
//! | `script` | scripts for Yosys |
//! | `wrapper` | the wrapper |
//! | `netlist` | netlists as Yosys writes them |
//! | `checks` | what is wrong with a core |
//! | `count` | cells of a mapped core |
//! | `levels` | the longest chain of logic in it; loops |
//! | `report` | what nextpnr says of timing |
//! | `liberty` | areas of cells of an ASIC library |
//! | `models` | cells as Verilog, to simulate what was mapped |

pub mod checks;
pub mod count;
pub mod device;
pub mod levels;
pub mod liberty;
pub mod models;
pub mod netlist;
pub mod report;
pub mod script;
pub mod wrapper;

/// What a core is called once it is read, and in netlists.
pub const CORE: &str = "core";
