//! Determinacy: whether the streams depend on the order of firings.

use super::Analysis;
use headrace_analysis::order_dependence;
use headrace_source::Severity;
use serde_json::{Value, json};

/// The verdict.
pub fn text(analysis: &Analysis<'_>) -> String {
    let findings = order_dependence::diagnostics(analysis.network);
    let count = findings.iter().filter(|finding| finding.severity == Severity::Warning).count();
    if count == 0 {
        "no actor depends on the order of firings: the network is determinate\n".to_owned()
    } else {
        format!("{count} choices may depend on the order of firings\n")
    }
}

/// The findings.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let findings = order_dependence::diagnostics(analysis.network);
    let each = findings
        .iter()
        .map(|finding| json!({ "slug": finding.slug, "message": finding.message, "notes": finding.notes }));
    each.collect()
}
