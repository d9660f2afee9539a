//! Buffer sizes: the FIFOs and how large they are.

use super::Analysis;
use headrace_ir::DEFAULT_FIFO_TOKENS;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// One line a FIFO.
pub fn text(analysis: &Analysis<'_>) -> String {
    let network = analysis.network;
    let mut bytes = 0;
    let mut text = String::from("FIFOs\n");
    for connection in &network.connections {
        let (source, target) = network.describe(connection);
        let capacity = network.capacity(connection, DEFAULT_FIFO_TOKENS);
        let ty = network.target_port(connection).ty;
        bytes += capacity.saturating_mul(ty.storage_bytes() as u64);
        let _ = writeln!(text, "  {source} --> {target}: {capacity} tokens of {ty}");
    }
    let _ = writeln!(text, "  {bytes} bytes in all");
    text
}

/// One object a FIFO.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let network = analysis.network;
    let each = network.connections.iter().map(|connection| {
        let (source, target) = network.describe(connection);
        json!({
            "source": source, "target": target, "type": network.target_port(connection).ty.to_string(),
            "capacity": network.capacity(connection, DEFAULT_FIFO_TOKENS),
            "largest_burst": network.largest_burst(connection),
        })
    });
    each.collect()
}
