//! Simulation models of the cells of devices, as Verilog: with them a mapped core runs in the bench that it ran in before.
//!
//! They are written from what the makers of the devices document, and not those that Yosys maps with: a mistake in one of the two
//! shows.

use crate::device::Device;

/// The models of the cells of a device, where there are some. Block memories and multipliers have none.
pub fn models(device: &Device) -> Option<&'static str> {
    match device.name.as_str() {
        "ecp5" => Some(include_str!("../models/ecp5.v")),
        _ => None,
    }
}
