//! Offloading of parallel loops to a device. Loops whose iterations do not need each other, run by a device: a kernel
//! for each (`kernel/items.rs`), and a function that hands it what it needs.
//!
//! A device comes as helpers do, and is asked first (`runtime/device/headrace_device.h`). Where it takes a loop, the
//! context goes on without running anything, as after helpers; where it does not, nothing has happened.

use super::Writer;
use super::loops::Loops;
use super::parallel_for::pointers;
use crate::c::kernel::{Items, LoopNames, items};
use headrace_transform::kernel::Loop;
use std::fmt::Write as _;

impl Writer<'_> {
    /// Transitions by the numbers of their loops; of a loop that cannot have one, why not.
    pub(super) fn kernels_elsewhere(&self, loops: &Loops) -> Vec<(usize, Result<Items, String>)> {
        if !self.device {
            return Vec::new();
        }
        let mut numbers: Vec<usize> = loops.units.iter().flat_map(|printed| &printed.unit.members).copied().collect();
        numbers.sort_unstable();
        let kernel = |number: usize| {
            let function = format!("{}_loop_{number}_kernel", self.prefix);
            let names = self.loop_names(format!("{function}_table"));
            let state = format!("struct {}", self.prefix);
            let named = LoopNames { function: &function, state: &state, names: &names };
            (number, items(loops.bodies[number], &named).map_err(|unsuited| unsuited.0))
        };
        numbers.into_iter().map(kernel).collect()
    }

    /// `PREFIX_loop_N_elsewhere`, which says whether a device has run the iterations, and its call before `otherwise`.
    pub(super) fn elsewhere(&self, body: &Loop, number: usize, loops: &Loops) -> Option<(String, String)> {
        let kernels = loops.kernels.iter().filter_map(|(number, kernel)| Some((*number, kernel.as_ref().ok()?)));
        let (at, (_, kernel)) = kernels.enumerate().find(|(_, (own, _))| *own == number)?;
        let prefix = self.prefix;
        let own = format!("{prefix}_loop_{number}");
        let (mut parameters, mut given) = (String::new(), String::new());
        for (ty, name, _) in pointers(body) {
            let _ = write!(parameters, ", {ty}{name}");
            let _ = write!(given, ", {name}");
        }
        let ports: Vec<String> = kernel
            .ports
            .iter()
            .map(|port| match port.is_input {
                true => format!("{{{}, NULL, {}}}", port.name, port.bytes),
                false => format!("{{NULL, {}, {}}}", port.name, port.bytes),
            })
            .collect();
        let (n_ports, ports) = (ports.len(), ports.join(", "));
        let Items { name, given: definition, fill, .. } = kernel;
        let text = format!(
            "/* What a device is given for iterations of loop {number}. */
{definition}
HR_APART static bool {own}_elsewhere(struct {prefix} *s{parameters}, size_t iterations) {{
  const struct headrace_iterations all = {{&{prefix}_kernels, {at}, {n_ports}, iterations, {{{ports}}}}};
  struct {name}_given given;
  bool done;
  if (!headrace_device_takes(s->helpers, &all)) {{
    return false;
  }}
  memset(&given, 0, sizeof given);
{fill}  done = headrace_device_runs(s->helpers, &all, &given, sizeof given);
  hr_wipe(&given, sizeof given);
  if (done) {{
    {own}_skipped(s{given}, iterations);
  }}
  return done;
}}

"
        );
        Some((text, format!("{own}_elsewhere(s{given}, iterations) || ")))
    }
}
