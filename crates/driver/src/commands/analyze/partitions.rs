//! Graph partitioning: a division of the network among threads, by its work.

use crate::cli::AnalyzeArgs;
use crate::failure::Outcome;
use crate::output;
use headrace::mapping;
use headrace::profile::Measured;
use headrace_ir::Network;
use std::sync::Arc;

/// Divides the network among `n` threads, shows the division and writes it down if asked to.
pub fn show(arguments: &AnalyzeArgs, network: &Arc<Network>, n: u32) -> Outcome {
    let weights = arguments.weights.as_deref().map(Measured::read).transpose()?;
    let division = mapping::automatic(network, n, weights.as_ref())?;
    if let Some(path) = &arguments.write_mapping {
        output::write_file(path, mapping::to_text(network, &division).as_bytes())?;
    }
    let text = if arguments.json {
        serde_json::to_string_pretty(&mapping::as_json(network, &division)).unwrap_or_default()
    } else {
        format!("network {}\n\npartitions\n{}", network.name, mapping::describe(network, &division))
    };
    output::print(format!("{text}\n").as_bytes())
}
