//! Secret-dependent branches and addresses in networks: the constant-time report.

use super::Analysis;
use crate::words::plural;
use headrace_analysis::constant_time::{Finding, action_name, describe, name, shown_steps};
use headrace_source::Span;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Places that are drawn at once.
pub const MAX_SHOWN: usize = 20;

/// Places that the text has a line for.
const MAX_LINES: usize = 6;

fn place(analysis: &Analysis<'_>, span: Span) -> String {
    let (line, column) = analysis.sources.position(span);
    format!("{}:{line}:{column}", analysis.sources.name(span.file))
}

fn way(finding: &Finding) -> String {
    let steps = shown_steps(&finding.path).into_iter();
    let steps: Vec<&str> = steps.map(|step| step.map_or("…", |(_, step)| step.what.trim_matches('`'))).collect();
    steps.join(" → ")
}

/// What is secret, whether it shows, and where.
pub fn text(analysis: &Analysis<'_>) -> String {
    let report = &analysis.secrets;
    if report.secret.is_empty() {
        return "constant time: nothing that comes in is secret\n".to_owned();
    }
    let list = |names: &[String]| if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    let mut text = format!("constant time: secret {}; public {}\n", list(&report.secret), list(&report.public));
    for declassified in &report.declassified {
        let _ = writeln!(text, "  public because it leaves by {}: {}", declassified.port, declassified.source);
    }
    let own: Vec<&Finding> = report.findings.iter().filter(|f| !f.is_note() && !f.follows).collect();
    let notes = report.findings.iter().filter(|finding| finding.is_note()).count();
    let follow = report.findings.iter().filter(|finding| finding.follows && !finding.is_note()).count();
    if own.is_empty() {
        text.push_str("  no secret decides a branch, a bound, an action, an address or the time of a division\n");
    }
    for finding in own.iter().take(MAX_LINES) {
        let _ = writeln!(text, "  {}: {}", place(analysis, finding.span), describe(finding.decides));
        let _ = writeln!(text, "    {}", way(finding));
    }
    if own.len() > MAX_LINES {
        let _ = writeln!(text, "  and {} more", plural(own.len() - MAX_LINES, "place"));
    }
    if follow > 0 {
        let _ = writeln!(text, "  {} where something follows from these", plural(follow, "place"));
    }
    if notes > 0 {
        let _ = writeln!(
            text,
            "  {} where it is up to the machine or the compiler (shifts by secret counts, `and` and `or`)",
            plural(notes, "place")
        );
    }
    text
}

/// Everything, with whole paths.
pub fn json(analysis: &Analysis<'_>) -> Value {
    let report = &analysis.secrets;
    let instance = |id: headrace_ir::InstanceId| analysis.network.instances[id.index()].name.clone();
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let steps = finding.path.iter().map(|step| {
                json!({
                    "instance": step.instance.map(instance), "what": step.what.trim_matches('`'),
                    "place": place(analysis, step.span),
                })
            });
            let action = finding.instances.first().map(|&id| action_name(analysis.network, id, finding.scope));
            json!({
                "decides": name(finding.decides), "message": describe(finding.decides),
                "place": place(analysis, finding.span), "note": finding.is_note(), "follows": finding.follows,
                "instances": finding.instances.iter().map(|&id| instance(id)).collect::<Vec<_>>(), "action": action,
                "path": steps.collect::<Vec<_>>(),
            })
        })
        .collect();
    let declassified: Vec<Value> =
        report.declassified.iter().map(|d| json!({ "port": d.port, "source": d.source })).collect();
    json!({
        "constant_time": report.is_constant_time(), "secret": report.secret, "public": report.public,
        "declassified": declassified, "findings": findings,
    })
}
