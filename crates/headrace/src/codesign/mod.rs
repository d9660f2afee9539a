//! Hardware/software co-simulation: a network of which some partitions are circuits and the others programs.
//!
//! A mapping says which instances are in which partition, and which partitions become hardware. Each is cut out as a network of its
//! own: software starts on an engine like any other, hardware is lowered to `rtl` and runs in Verilator, or in the simulator
//! of `rtl` where that is not installed. [`Together`] moves tokens between them.
//!
//! | file | what is there |
//! | --- | --- |
//! | `together` | all parts behind the interface of one engine |
//! | `simulated` | a circuit in the simulator of `rtl` |

mod simulated;
mod together;

pub use simulated::{Simulated, Stalls};
pub use together::{Clocked, Together};

use crate::engines::{Machine, Settings, Status};
use crate::error::{Error, Result};
use crate::workspace::{Remark, Workspace};
use headrace_analysis::cut::cut_network;
use headrace_frontend::mapping::Partitioning;
use headrace_ir::Network;
use headrace_native::Verilator;
use headrace_rtl::Design;
use std::sync::Arc;
use together::Part;

/// What simulates the parts in hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulator {
    /// Verilator where it is installed, and else what is built in.
    Best,
    /// What is built in: it needs no tools, and is slow.
    BuiltIn,
}

/// How a partition becomes a circuit, for what a whole network would be asked for: its ports move whole blocks, as no wires leave
/// the chip there.
pub(crate) fn of_partition(whole: headrace_hardware::Options) -> headrace_hardware::Options {
    headrace_hardware::Options { wide_ports: true, ..whole }
}

/// The circuit of a part in hardware.
///
/// # Errors
///
/// What has no place in hardware, with where it stands.
pub(crate) fn design(part: &Network, fifo_tokens: u32) -> Result<Design> {
    let options = headrace_hardware::Options { fifo_tokens, ..headrace_hardware::Options::default() };
    headrace_hardware::lower(part, &of_partition(options)).map_err(Error::Refused)
}

impl Workspace {
    /// Starts the parts of a network, each where its partition says.
    ///
    /// # Errors
    ///
    /// What has no place in hardware; an engine that is named and does not take the software.
    pub fn start_together(
        &mut self,
        network: &Arc<Network>,
        partitioning: &Partitioning,
        settings: &Settings,
        simulator: Simulator,
        status: Status<'_>,
    ) -> Result<Machine> {
        let mut parts = Vec::new();
        for (cut, &in_hardware) in
            cut_network(network, &partitioning.mapping).into_iter().zip(&partitioning.in_hardware)
        {
            let own = Arc::new(cut.network.clone());
            let part = if in_hardware {
                let design = design(&own, settings.fifo_tokens)?;
                let name = partitioning.mapping.partitions[parts.len()].clone();
                match (simulator == Simulator::Best).then(Verilator::find).flatten() {
                    Some(tool) => {
                        status(&format!("compiling {name} by Verilator"));
                        let verilated = tool.engine(&own, &design);
                        status("");
                        Part::verilated(
                            cut,
                            name,
                            verilated.map_err(|problem| Error::MissingTool(problem.to_string()))?,
                        )
                    }
                    None => {
                        if simulator == Simulator::Best {
                            let why = "Verilator 5 is not found (on Debian: apt-get install verilator g++ make)";
                            self.remark(Remark::Note(format!(
                                "`{name}` runs in the simulator of designs, slowly: {why}"
                            )));
                        }
                        Part::simulated(cut, name, Simulated::new(&own, &design, None).map_err(Error::wrong)?)
                    }
                }
            } else {
                let own_settings = Settings {
                    choice: settings.choice,
                    fifo_tokens: settings.fifo_tokens,
                    lenient_indices: settings.lenient_indices,
                    supplied: settings.supplied.clone(),
                    ..Settings::default()
                };
                Part::software(cut, self.start(&own, own_settings, status)?)
            };
            parts.push(part);
        }
        Ok(Machine::Together(Box::new(Together::new(network, parts))))
    }
}
