//! Projects of networks in parts: an XCF mapping says which partitions become circuits, and software calls these.

use super::recording;
use crate::codesign::of_partition;
use crate::error::{Error, Result};
use crate::roots::read_source;
use crate::workspace::Workspace;
use headrace_analysis::cut::cut_network;
use headrace_ir::Network;
use headrace_targets::Options;
use headrace_targets::codesign::{Part, Whole, of_parts};
use headrace_targets::project::Files;
use std::path::Path;

impl Workspace {
    /// The folder of a network whose partitions a mapping names.
    ///
    /// # Errors
    ///
    /// The mapping does not fit, or makes nothing hardware; what has no place in hardware, or none in C.
    pub(super) fn build_parts(&mut self, network: &Network, path: &Path, options: &Options) -> Result<Files> {
        let (partitioning, network) = self.mapping(network, path)?;
        if !partitioning.has_hardware() {
            return Err(Error::usage(format!(
                "--mapping: no partition of {} becomes hardware; `<partition id=\"…\" code-generator=\"verilog\">` says which",
                path.display()
            )));
        }
        let cuts = cut_network(&network, &partitioning.mapping);
        let mut parts = Vec::new();
        for (at, cut) in cuts.iter().enumerate() {
            let (mut design, mut run) = (None, None);
            if partitioning.in_hardware[at] {
                let hardware = of_partition(options.of_hardware());
                design = Some(headrace_hardware::lower(&cut.network, &hardware).map_err(Error::Refused)?);
                run = recording::record(&cut.network, options.fifo_tokens);
            }
            parts.push(Part { name: &partitioning.mapping.partitions[at], cut, design, recording: run });
        }
        let recording = recording::record(&network, options.fifo_tokens);
        let mapping = read_source(path).map_err(Error::Wrong)?;
        of_parts(&Whole { network: &network, parts: &parts, recording, mapping: &mapping }, options)
            .map_err(Error::Refused)
    }
}
