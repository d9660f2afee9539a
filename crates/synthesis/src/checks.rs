//! Design rule checks on a core that was read: latches, tri-state drivers, several drivers of one net, constant outputs, a clock
//! that is not there. Loops of logic show in what is mapped ([`crate::levels`]), where every bit stands for itself.
//!
//! What is found here is nearly always a mistake of who wrote the core, and makes its figures those of another design.

use crate::netlist::{Bit, Module};
use crate::wrapper::Pin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names that clocks usually have, for cores that do not say theirs.
const CLOCKS: [&str; 8] = ["clk_i", "clk", "clock", "aclk", "i_clk", "CLK", "CLOCK", "clock_i"];

/// The clock of a core.
///
/// # Errors
///
/// That there is none, with the ports that there are.
pub fn clock(ports: &[Pin], named: Option<&str>) -> Result<String, String> {
    let is_clock = |name: &&str| ports.iter().any(|port| port.name == **name && !port.is_output && port.width == 1);
    let usual = CLOCKS.into_iter().filter(|_| named.is_none());
    if let Some(found) = named.into_iter().chain(usual).find(is_clock) {
        return Ok(found.to_owned());
    }
    let ports: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    let missing = named.map_or("no clock of a usual name".to_owned(), |name| format!("no input `{name}` of one bit"));
    Err(format!("there is {missing}; --clock names one of: {}", ports.join(", ")))
}

/// Something that is wrong with a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What it is, as a sentence.
    pub what: String,
    /// That an output is constant, which who measures may know.
    pub is_constant: bool,
}

/// What is wrong with a core. `said` is what Yosys said while it was read.
pub fn problems(core: &Module, said: &str) -> Vec<Problem> {
    let mut all = Vec::new();
    let problem = |what: String| Problem { what, is_constant: false };
    for (name, port) in &core.ports {
        if port.direction == "inout" {
            all.push(problem(format!("port `{name}` goes both ways: only inputs and outputs have a place in a core")));
        }
        if port.direction == "output" && port.bits.iter().all(|bit| bit.net().is_none()) {
            let value: String = port.bits.iter().rev().map(shown).collect();
            let what = format!("output `{name}` is constant, {value}: the core is not what it seems");
            all.push(Problem { what, is_constant: true });
        }
    }
    for cell in core.cells.values() {
        let (what, mend) = match cell.kind.as_str() {
            "$tribuf" | "$_TBUF_" => ("a tri-state driver", "choose between its drivers by a multiplexer"),
            kind if is_latch(kind) => ("a latch", "give it a value on every path through its process"),
            _ => continue,
        };
        let net = cell.ports("output").flat_map(|(_, bits)| bits).find_map(Bit::net);
        let name = net.and_then(|net| core.name_of(net)).unwrap_or_else(|| "a signal without a name".to_owned());
        all.push(problem(format!("`{name}` is {what}: {mend}")));
    }
    let mut drivers: BTreeMap<u64, usize> = BTreeMap::new();
    let inputs = core.ports.iter().filter(|(_, port)| port.direction == "input").flat_map(|(_, port)| &port.bits);
    let outputs = core.cells.values().flat_map(|cell| cell.ports("output")).flat_map(|(_, bits)| bits);
    for net in inputs.chain(outputs).filter_map(Bit::net) {
        *drivers.entry(net).or_default() += 1;
    }
    for (net, _) in drivers.into_iter().filter(|(_, n)| *n > 1) {
        let name = core.name_of(net).unwrap_or_else(|| format!("net {net}"));
        all.push(problem(format!("`{name}` has several drivers")));
    }
    // A constant among the drivers is no cell any more.
    if all.is_empty() {
        let conflicts = said.lines().filter(|line| line.contains("multiple conflicting drivers"));
        all.extend(conflicts.map(|line| {
            let what = line.trim_start_matches("Warning: ").trim_end_matches(':');
            problem(format!("a signal has several drivers: {what}"))
        }));
    }
    all.dedup();
    all
}

fn shown(bit: &Bit) -> &str {
    match bit {
        Bit::Constant(value) => value,
        Bit::Net(_) => "?",
    }
}

fn is_latch(kind: &str) -> bool {
    matches!(kind, "$dlatch" | "$adlatch" | "$dlatchsr" | "$sr")
        || kind.starts_with("$_DLATCH")
        || kind.starts_with("$_SR_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlist::top;

    fn core(ports: &str, cells: &str) -> Module {
        let names = r#""latched": {"hide_name": 0, "bits": [5]}, "twice": {"hide_name": 0, "bits": [6]}"#;
        let text = format!(
            r#"{{"modules": {{"m": {{"ports": {{{ports}}}, "cells": {{{cells}}}, "netnames": {{{names}}}}}}}}}"#
        );
        top(&text).expect("it is a netlist").1
    }

    const GOOD: &str = r#""clk": {"direction": "input", "bits": [2]}, "o": {"direction": "output", "bits": [6, "0"]}"#;

    fn cell(name: &str, kind: &str, output: u64) -> String {
        format!(
            r#""{name}": {{"type": "{kind}", "port_directions": {{"A": "input", "Y": "output"}}, "connections": {{"A": [2], "Y": [{output}]}}}}"#
        )
    }

    #[test]
    fn each_mistake_is_found_by_its_name() {
        let good = core(GOOD, &cell("a", "$not", 6));
        assert_eq!(problems(&good, "Warning: something else"), []);
        let found = |ports: &str, cells: &str, said: &str| {
            let all = problems(&core(ports, cells), said);
            all.into_iter().map(|problem| problem.what).collect::<Vec<_>>().join("; ")
        };
        let latch = format!("{}, {}", cell("a", "$not", 6), cell("b", "$dlatch", 5));
        assert!(found(GOOD, &latch, "").contains("`latched` is a latch"));
        let tri = format!("{}, {}", cell("a", "$not", 6), cell("b", "$tribuf", 5));
        assert!(found(GOOD, &tri, "").contains("tri-state"));
        let twice = format!("{}, {}", cell("a", "$not", 6), cell("b", "$not", 6));
        assert_eq!(found(GOOD, &twice, ""), "`twice` has several drivers");
        let constant =
            r#""clk": {"direction": "input", "bits": [2]}, "o": {"direction": "output", "bits": ["1", "0"]}"#;
        assert!(found(constant, "", "").contains("`o` is constant, 01"));
        let both = r#""clk": {"direction": "inout", "bits": [2]}"#;
        assert!(found(both, "", "").contains("both ways"));
        let said = "Warning: multiple conflicting drivers for m.\\x:\n    port Y[0] of cell a";
        assert!(
            found(GOOD, &cell("a", "$not", 6), said)
                .contains("several drivers: multiple conflicting drivers for m.\\x")
        );
    }

    #[test]
    fn a_clock_is_named_or_has_a_usual_name() {
        let good = core(GOOD, "").pins();
        assert_eq!(clock(&good, None).as_deref(), Ok("clk"));
        assert!(clock(&good, Some("o")).is_err_and(|why| why.contains("no input `o`") && why.contains("clk, o")));
        assert!(clock(&[], None).is_err());
    }
}
