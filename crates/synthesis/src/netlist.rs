//! Netlists in the JSON form of Yosys (`write_json`): modules with ports, cells and names of nets, bits as numbers.

use crate::wrapper::Pin;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A bit: a net by its number, or a constant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Bit {
    /// The number of a net within its module.
    Net(u64),
    /// `0`, `1`, `x` or `z`.
    Constant(String),
}

impl Bit {
    /// The number of the net, where it is one.
    pub fn net(&self) -> Option<u64> {
        match self {
            Bit::Net(net) => Some(*net),
            Bit::Constant(_) => None,
        }
    }
}

/// A port of a module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Port {
    /// `input`, `output` or `inout`.
    pub direction: String,
    /// Its bits, the lowest first.
    pub bits: Vec<Bit>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Cell {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Directions of its ports, where the type is known.
    #[serde(default)]
    pub port_directions: BTreeMap<String, String>,
    /// What its ports are connected to.
    #[serde(default)]
    pub connections: BTreeMap<String, Vec<Bit>>,
}

impl Cell {
    /// Its ports of a direction with what they are connected to.
    pub fn ports<'c>(&'c self, direction: &'c str) -> impl Iterator<Item = (&'c str, &'c [Bit])> {
        let is_meant = move |name: &str| self.port_directions.get(name).is_some_and(|found| found == direction);
        self.connections.iter().filter(move |(name, _)| is_meant(name)).map(|(name, bits)| (name.as_str(), &bits[..]))
    }
}

/// A name of a net.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Name {
    /// 1 for a name that Yosys gave.
    pub hide_name: u8,
    /// What is called so.
    pub bits: Vec<Bit>,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Module {
    /// Its attributes, which are numbers and texts.
    #[serde(default)]
    pub attributes: BTreeMap<String, serde_json::Value>,
    /// Its ports, in their order.
    #[serde(deserialize_with = "in_order")]
    pub ports: Vec<(String, Port)>,
    /// Its cells.
    pub cells: BTreeMap<String, Cell>,
    /// Names of nets.
    #[serde(default)]
    pub netnames: BTreeMap<String, Name>,
}

impl Module {
    /// Its ports for a wrapper.
    pub fn pins(&self) -> Vec<Pin> {
        let pin = |(name, port): &(String, Port)| Pin {
            name: name.clone(),
            is_output: port.direction == "output",
            width: port.bits.len(),
        };
        self.ports.iter().map(pin).collect()
    }

    /// What a user calls a net: the shortest of its names that are not made up.
    pub fn name_of(&self, net: u64) -> Option<String> {
        let named = self.netnames.iter().filter(|(_, name)| name.hide_name == 0);
        let of_net = named.filter_map(|(text, name)| {
            let at = name.bits.iter().position(|bit| bit.net() == Some(net))?;
            Some(if name.bits.len() == 1 { text.clone() } else { format!("{text}[{at}]") })
        });
        of_net.min_by_key(String::len)
    }
}

/// All modules of a design.
#[derive(Clone, Debug, Deserialize)]
struct Design {
    modules: BTreeMap<String, Module>,
}

/// The top of what was read, by its name. Where only one module is left, that is the top.
///
/// # Errors
///
/// That the text is no netlist, or that it has no top.
pub fn top(json: &str) -> Result<(String, Module), String> {
    let Design { mut modules } = read(json)?;
    let is_top = |module: &Module| module.attributes.contains_key("top");
    let only = modules.len() == 1;
    let name = modules.iter().find(|(_, module)| only || is_top(module)).map(|(name, _)| name.clone());
    let name = name.ok_or("the netlist has no top module")?;
    let module = modules.remove(&name).ok_or("the netlist has no top module")?;
    Ok((name, module))
}

/// The module of this name.
///
/// # Errors
///
/// That the text is no netlist, or that it has no such module.
pub fn module(json: &str, name: &str) -> Result<Module, String> {
    let Design { mut modules } = read(json)?;
    modules.remove(name).ok_or_else(|| format!("the netlist has no module `{name}`"))
}

fn read(json: &str) -> Result<Design, String> {
    serde_json::from_str(json).map_err(|error| format!("this is no netlist of Yosys: {error}"))
}

/// A map as a list, in the order of the text.
fn in_order<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<(String, T)>, D::Error> {
    struct InOrder<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a map")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut all = Vec::new();
            while let Some(entry) = map.next_entry()? {
                all.push(entry);
            }
            Ok(all)
        }
    }
    from.deserialize_map(InOrder(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_keep_their_order_and_nets_their_names() {
        let text = r#"{"modules": {"m": {"attributes": {"top": "1"},
            "ports": {"z": {"direction": "input", "bits": [2]}, "a": {"direction": "output", "bits": [3, "1"]}},
            "cells": {"c": {"type": "$not", "port_directions": {"A": "input", "Y": "output"}, "connections": {"A": [2], "Y": [3]}}},
            "netnames": {"z": {"hide_name": 0, "bits": [2]}, "$x": {"hide_name": 1, "bits": [3]}, "long": {"hide_name": 0, "bits": [9, 3]}}}}}"#;
        let (name, module) = top(text).expect("it is a netlist");
        assert_eq!(name, "m");
        let names: Vec<String> = module.pins().into_iter().map(|pin| pin.name).collect();
        assert_eq!(names, ["z", "a"]);
        assert_eq!((module.name_of(3).as_deref(), module.name_of(2).as_deref()), (Some("long[1]"), Some("z")));
        assert_eq!(module.cells["c"].ports("output").next(), Some(("Y", &[Bit::Net(3)][..])));
        assert!(super::module(text, "n").is_err() && top("{}").is_err());
    }
}
