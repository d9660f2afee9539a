//! The measuring wrapper: a core between shift registers, so that it has four pins however many ports it has.
//!
//! Placement decides ties by the names of cells, and those come from names here: other names give other frequencies, within the
//! spread of seeds. They stay as they are, so that figures stay comparable with those that were measured before.
//!
//! Every input comes from a bit of one shift register, every output is caught by a register of its own and copied to a second
//! shift register when that is loaded. Paths into the core and out of it therefore begin and end in registers, as in a design
//! that uses it, and none goes through a pin.

use crate::CORE;
use serde::{Deserialize, Serialize};

/// A port of a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// Its name, as the source has it.
    pub name: String,
    /// Whether it is an output.
    pub is_output: bool,
    /// Its bits.
    pub width: usize,
}

/// The wrapper of a core with these ports, of which `clock` is the clock. Its module is called `wrap`.
pub fn wrapper(ports: &[Pin], clock: &str) -> String {
    let (inputs, in_connections) = packed(ports.iter().filter(|port| !port.is_output && port.name != clock), "i");
    let (outputs, out_connections) = packed(ports.iter().filter(|port| port.is_output), "o");
    let connections = std::iter::once(format!(".{}(clk)", escaped(clock)));
    let connections: Vec<String> = connections.chain(in_connections).chain(out_connections).collect();
    let (last_in, last_out) = (inputs.max(1) - 1, outputs.max(1) - 1);
    format!(
        "module wrap(input clk, input si, input ld, output so);\n  \
         // What is given to the core, what it gave, that on its way out, and what comes in by pins.\n  \
         (* keep *) reg [{last_in}:0] i;\n  reg [{last_out}:0] c, s;\n  reg l, b;\n  wire [{last_out}:0] o;\n\n  \
         always @(posedge clk) begin\n    b <= si;\n    l <= ld;\n    i <= {{i, b}};\n    c <= o;\n    \
         s <= l ? c : {{s, 1'b0}};\n  end\n\n  \
         assign so = s[{last_out}];\n\n  {CORE} {CORE} (\n    {}\n  );\nendmodule\n",
        connections.join(",\n    ")
    )
}

/// Bits of all ports, and how each is connected to its part of a vector.
fn packed<'p>(ports: impl Iterator<Item = &'p Pin>, vector: &str) -> (usize, Vec<String>) {
    let mut at = 0;
    let mut connections = Vec::new();
    for Pin { name, width, .. } in ports {
        connections.push(format!(".{}({vector}[{}:{at}])", escaped(name), at + width - 1));
        at += width;
    }
    (at, connections)
}

/// A name that may be a keyword or have any characters: an escaped identifier, which a space ends.
fn escaped(name: &str) -> String {
    format!("\\{name} ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_port_has_a_register() {
        let pin = |name: &str, is_output, width| Pin { name: name.into(), is_output, width };
        let ports = [pin("clk_i", false, 1), pin("a", false, 8), pin("do", true, 4), pin("b", false, 1)];
        let text = wrapper(&ports, "clk_i");
        for part in [".\\clk_i (clk)", ".\\a (i[7:0])", ".\\b (i[8:8])", ".\\do (o[3:0])", "reg [8:0] i;"] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }
}
