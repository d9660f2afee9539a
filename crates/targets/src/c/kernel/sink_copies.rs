//! Copies sunk below a loop. A loop without elements that become what others are, and their copies after all
//! iterations.

use super::loop_frame::{CFunction, LoopNames};
use super::scalar::element_type;
use headrace_transform::kernel::Evidence;
use headrace_transform::passes::sink_copies::{Copied, SunkCopies};
use std::fmt::Write as _;

/// What copies are held to.
const EVIDENCE: Evidence =
    Evidence::Identity { what: "elements that become what others are, copied from these after all iterations" };

/// Prints it: `iterations` runs what is left of the loop.
pub fn with_copies(split: &SunkCopies, iterations: &CFunction, names: &LoopNames) -> CFunction {
    let body = &split.body;
    let mut made = iterations.clone().shown_by([EVIDENCE]);
    names.function.clone_into(&mut made.name);
    let (mut parameters, mut arguments) = (String::new(), String::new());
    for (ports, array, qualifier) in [(&body.consumes, "in", "const "), (&body.produces, "out", "")] {
        for (port, &(_, width)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = write!(parameters, ", {qualifier}{} *restrict {array}{port}", element_type(width));
            let _ = write!(arguments, ", {array}{port}");
        }
    }
    let _ = write!(
        made.text,
        "static void {}({} *s{parameters}, size_t iterations)\n{{\n{}  if (iterations == 0) return;\n  {}(s{arguments}, iterations);\n",
        names.function,
        names.state,
        names.names.entered(),
        iterations.name
    );
    for Copied { object, first, from, from_first, n } in &split.copied {
        let (object, from) = (&body.objects[object.0 as usize], &body.objects[from.0 as usize]);
        let to = names.names.element(object, &first.to_string());
        let from = names.names.element(from, &from_first.to_string());
        let _ = writeln!(made.text, "  memcpy(&{to}, &{from}, {n} * sizeof({}));", element_type(object.width));
    }
    made.text.push_str("}\n");
    made
}
