//! Utilisation: what a mapped core is made of, in LUTs of the device, registers, memories and multipliers.

use crate::device::{Device, MULTIPLIERS, RAMS, is_among};
use crate::netlist::Module;
use std::collections::BTreeMap;

/// What a core takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// LUTs of the device that are taken, those of carry chains and small memories too.
    pub luts: u64,
    /// Cells that are a LUT and nothing else.
    pub lut_cells: u64,
    /// Registers, in bits.
    pub registers: u64,
    /// Block memories.
    pub rams: u64,
    /// Multipliers.
    pub multipliers: u64,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
}

/// Counts the cells of a mapped core.
pub fn count(core: &Module, device: &Device) -> Counts {
    let mut cells: BTreeMap<String, u64> = BTreeMap::new();
    for cell in core.cells.values().filter(|cell| cell.kind != "$scopeinfo") {
        *cells.entry(cell.kind.clone()).or_default() += 1;
    }
    let sum = |is: &dyn Fn(&str) -> bool| cells.iter().filter(|(kind, _)| is(kind)).map(|(_, n)| n).sum();
    let taken = device.luts.iter().map(|(kind, luts)| luts * cells.get(kind).copied().unwrap_or(0));
    Counts {
        luts: taken.sum(),
        lut_cells: sum(&|kind| is_among(&device.plain_luts, kind)),
        registers: sum(&|kind| is_among(&device.registers, kind)),
        rams: sum(&|kind| is_among(RAMS, kind)),
        multipliers: sum(&|kind| is_among(MULTIPLIERS, kind)),
        cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::named;
    use crate::netlist::top;

    #[test]
    fn carry_chains_and_small_memories_take_luts() {
        let cells = ["LUT4", "LUT4", "CCU2C", "TRELLIS_DPR16X4", "TRELLIS_FF", "DP16KD", "PFUMX", "$scopeinfo"];
        let cells: Vec<String> =
            cells.iter().enumerate().map(|(at, kind)| format!(r#""c{at}": {{"type": "{kind}"}}"#)).collect();
        let text = format!(r#"{{"modules": {{"core": {{"ports": {{}}, "cells": {{{}}}}}}}}}"#, cells.join(", "));
        let (_, core) = top(&text).expect("it is a netlist");
        let counts = count(&core, named("ecp5").expect("it is there"));
        assert_eq!((counts.luts, counts.lut_cells, counts.registers, counts.rams), (2 + 2 + 6, 2, 1, 1));
        assert_eq!(counts.cells.len(), 6);
    }
}
