//! Logic depth: the longest chain of LUTs between registers and ports of a mapped core, and combinational loops, of which there
//! must be none.
//!
//! A topological walk over cells, the ones that keep something left out: a cell is as deep as the deepest that feeds it, and what
//! the way through it costs more. Wide multiplexers and the chain inside of carries are counted as nothing; entering a carry chain
//! is counted as a LUT, where cells of the device have one there.

use crate::device::{CARRIES, Device, EDGE_PINS, FREE, is_among, is_sequential};
use crate::netlist::{Bit, Cell, Module};
use std::collections::BTreeMap;

/// The number of LUTs on the longest chain.
///
/// # Errors
///
/// The cells of loops: signals that depend on themselves within a cycle.
pub fn levels(core: &Module, device: &Device) -> Result<u64, String> {
    let logic: Vec<&Cell> = core.cells.values().filter(|cell| !is_sequential(device, &cell.kind)).collect();
    let mut driver: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, cell) in logic.iter().enumerate() {
        for net in cell.ports("output").flat_map(|(_, bits)| bits).filter_map(Bit::net) {
            driver.insert(net, at);
        }
    }
    let mut feeds: Vec<Vec<(usize, u64)>> = vec![Vec::new(); logic.len()];
    let mut open = vec![0_usize; logic.len()];
    let mut depth = vec![0_u64; logic.len()];
    for (at, cell) in logic.iter().enumerate() {
        for (pin, bits) in cell.ports("input").filter(|(pin, _)| !is_of_a_clock_edge(&cell.kind, pin)) {
            let cost = cost(&cell.kind, pin);
            depth[at] = depth[at].max(cost);
            for from in bits.iter().filter_map(|bit| driver.get(&bit.net()?)) {
                feeds[*from].push((at, cost));
                open[at] += 1;
            }
        }
    }
    let mut ready: Vec<usize> = (0..logic.len()).filter(|&at| open[at] == 0).collect();
    let mut n_done = 0;
    while let Some(at) = ready.pop() {
        n_done += 1;
        for &(next, cost) in &feeds[at] {
            depth[next] = depth[next].max(depth[at] + cost);
            open[next] -= 1;
            if open[next] == 0 {
                ready.push(next);
            }
        }
    }
    if n_done < logic.len() {
        return Err(format!("a loop of logic without a register: {}", in_loop(core, &logic, &open)));
    }
    Ok(depth.into_iter().max().unwrap_or(0))
}

/// What it costs to go through a cell from a pin.
fn cost(kind: &str, pin: &str) -> u64 {
    if let Some((_, chain, has_lut)) = CARRIES.iter().find(|(carry, ..)| *carry == kind) {
        return u64::from(*has_lut && pin != *chain);
    }
    u64::from(!is_among(FREE, kind))
}

/// Pins of small memories that count at the next edge of the clock: what is written, and where.
fn is_of_a_clock_edge(kind: &str, pin: &str) -> bool {
    EDGE_PINS.iter().any(|(cells, pins)| is_among(cells, kind) && is_among(pins, pin))
}

/// Signals that a loop goes through, as far as they have names.
fn in_loop(core: &Module, logic: &[&Cell], open: &[usize]) -> String {
    let stuck = logic.iter().zip(open).filter(|(_, open)| **open > 0).map(|(cell, _)| *cell);
    let nets = stuck.flat_map(|cell| cell.ports("output")).flat_map(|(_, bits)| bits).filter_map(Bit::net);
    let mut names: Vec<String> = nets.filter_map(|net| core.name_of(net)).map(|name| format!("`{name}`")).collect();
    names.sort_unstable();
    names.dedup();
    let n = open.iter().filter(|open| **open > 0).count();
    match names.as_slice() {
        [] => format!("{n} cells whose signals have no names"),
        names if names.len() > MOST_NAMES => format!("{} and others, {n} cells", names[..MOST_NAMES].join(", ")),
        names => format!("{}, {n} cells", names.join(", ")),
    }
}

/// Signals of a loop that are named.
const MOST_NAMES: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::named;
    use crate::netlist::top;

    fn depth(cells: &[(&str, &str, u64, u64)]) -> Result<u64, String> {
        let cell = |(at, (kind, pin, from, to)): (usize, &(&str, &str, u64, u64))| {
            format!(
                r#""c{at}": {{"type": "{kind}", "port_directions": {{"{pin}": "input", "Z": "output"}}, "connections": {{"{pin}": [{from}], "Z": [{to}]}}}}"#
            )
        };
        let cells: Vec<String> = cells.iter().enumerate().map(cell).collect();
        let names = r#""x": {"hide_name": 0, "bits": [3]}"#;
        let text = format!(
            r#"{{"modules": {{"core": {{"ports": {{}}, "cells": {{{}}}, "netnames": {{{names}}}}}}}}}"#,
            cells.join(", ")
        );
        levels(&top(&text).expect("it is a netlist").1, named("ecp5").expect("it is there"))
    }

    #[test]
    fn chains_end_at_registers_and_carries_are_entered_once() {
        assert_eq!(depth(&[]), Ok(0));
        assert_eq!(depth(&[("LUT4", "A", 2, 3), ("LUT4", "B", 3, 4), ("PFUMX", "ALUT", 4, 5)]), Ok(2));
        assert_eq!(depth(&[("LUT4", "A", 2, 3), ("TRELLIS_FF", "DI", 3, 4), ("LUT4", "A", 4, 9)]), Ok(1));
        assert_eq!(depth(&[("CCU2C", "A0", 2, 3), ("CCU2C", "CIN", 3, 4), ("CCU2C", "CIN", 4, 5)]), Ok(1));
        // What is written into a memory comes out of it later.
        assert_eq!(depth(&[("LUT4", "A", 2, 3), ("TRELLIS_DPR16X4", "DI", 3, 4), ("LUT4", "A", 4, 2)]), Ok(2));
    }

    #[test]
    fn a_loop_is_named() {
        let found = depth(&[("LUT4", "A", 4, 3), ("LUT4", "B", 3, 4)]);
        assert_eq!(found, Err("a loop of logic without a register: `x`, 2 cells".into()));
    }
}
