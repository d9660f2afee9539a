//! Test reports, as lines and as JSON.

use super::campaign::{Report, Reports};
use headrace_library::Role;
use headrace_library::framing::Message;
use serde_json::{Value, json};

/// Bytes of a string that are shown.
const SHOWN_BYTES: usize = 80;

/// The strings of a message in hexadecimal.
pub fn describe(message: &Message) -> String {
    let hex = |bytes: &[u8]| -> String {
        let shown: String = bytes.iter().take(SHOWN_BYTES).map(|byte| format!("{byte:02x}")).collect();
        if bytes.len() > SHOWN_BYTES { format!("{shown}… ({} bytes)", bytes.len()) } else { shown }
    };
    let mut parts = vec![format!("Rekey={}", message.rekey)];
    for role in Role::ALL {
        if let Some(bytes) = message.get(role) {
            parts.push(format!("{}=hex:{}", role.name(), hex(bytes)));
        }
    }
    if message.words > 0 {
        parts.push(format!("words={}", message.words));
    }
    parts.join(" ")
}

impl Report {
    /// Whether the operation did what it must, as far as it was run.
    pub fn is_good(&self) -> bool {
        self.failure.is_none()
    }

    /// One line, or some more for a failure.
    pub fn line(&self, width: usize) -> String {
        let name = format!("{}-{} {}", self.set, self.operation, self.variant);
        let head = format!("{name:width$}  {:6} messages, {:7} blocks", self.messages, self.blocks);
        if let Some(failure) = &self.failure {
            return format!("{head}  FAILED\n  {failure}");
        }
        if let (Some(why), 0) = (&self.not_run, self.messages) {
            return format!("{head}  not run: {why}");
        }
        let mut text = match &self.peer {
            Some(peer) if self.alone > 0 => {
                format!("{head}  {} with {peer}, {} of the others alone", self.with_peer, self.alone)
            }
            Some(peer) => format!("{head}  with {peer}"),
            None => format!("{head}  no peer: {} of them alone", self.alone),
        };
        if self.rejected > 0 {
            text.push_str(&format!(", {} rejected by both", self.rejected));
        }
        if self.scheduled > 0 {
            text.push_str(&format!(", {} with the scheduler", self.scheduled));
        }
        if let Some(why) = &self.not_run {
            text.push_str(&format!("; not run: {why}"));
        }
        text.push_str(&format!("  {:.1} s", self.seconds));
        text
    }

    fn json(&self) -> Value {
        json!({
            "set": self.set,
            "operation": self.operation,
            "variant": self.variant,
            "messages": self.messages,
            "blocks": self.blocks,
            "rekeyed": self.rekeyed,
            "rejected": self.rejected,
            "with_peer": self.with_peer,
            "alone": self.alone,
            "scheduled": self.scheduled,
            "chunks": self.chunks,
            "peer": self.peer,
            "seconds": self.seconds,
            "not_run": self.not_run,
            "failure": self.failure,
        })
    }
}

impl Reports {
    /// The last line: how much there was of each kind.
    pub fn totals(&self) -> String {
        let count = |wanted: &dyn Fn(&Report) -> bool| self.0.iter().filter(|report| wanted(report)).count();
        let sum = |of: &dyn Fn(&Report) -> u64| self.0.iter().map(of).sum::<u64>();
        format!(
            "{} operations and variants, {} failed, {} not run to the end, {} without a peer; {} messages of {} blocks in {} chunks, {} \
             compared with a peer, {} with the message alone, {} left to the scheduler by fused code",
            self.0.len(),
            count(&|report| !report.is_good()),
            count(&|report| report.is_good() && report.not_run.is_some()),
            count(&|report| report.peer.is_none() && report.messages > 0),
            sum(&|report| report.messages),
            sum(&|report| report.blocks),
            sum(&|report| report.chunks),
            sum(&|report| report.with_peer),
            sum(&|report| report.alone),
            sum(&|report| report.scheduled),
        )
    }

    /// Whether nothing failed.
    pub fn are_good(&self) -> bool {
        self.0.iter().all(Report::is_good)
    }

    /// All of it.
    pub fn json(&self) -> String {
        let rows: Vec<Value> = self.0.iter().map(Report::json).collect();
        format!("{:#}\n", json!({ "operations": rows }))
    }
}
