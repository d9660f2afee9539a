//! The command that walks compiled code with secrets marked; what it does stands in `headrace-machine-code`.

use headrace_machine_code::{Image, Report, Scenario};
use std::path::PathBuf;

/// What the command line says.
#[derive(Debug, Default, Clone)]
pub struct Options {
    /// The shared object or object file.
    pub file: PathBuf,
    /// Regions, declarations and calls in the order in which they are given.
    pub steps: Vec<Step>,
    /// At most so many instructions are executed.
    pub budget: Option<u64>,
}

/// One part of a scenario, as [`Scenario`] reads it.
#[derive(Debug, Clone)]
pub enum Step {
    /// `NAME=CONTENTS`
    Region(String),
    /// `REGION[FROM..TO]` or `REGION:STRUCT.FIELD` is secret.
    Secret(String),
    /// The same is public.
    Public(String),
    /// `FUNCTION(ARGUMENT, …)`
    Call(String),
}

/// Walks what the options say.
///
/// # Errors
/// The file cannot be read or is no such file, or a step is not well written; with the reason.
pub fn walk(options: &Options) -> Result<Report, String> {
    let bytes = std::fs::read(&options.file).map_err(|error| format!("{}: {error}", options.file.display()))?;
    let image = Image::read(&bytes).map_err(|error| format!("{}: {error}", options.file.display()))?;
    let mut scenario = Scenario::new(&image);
    if let Some(budget) = options.budget {
        scenario.budget(budget);
    }
    for step in &options.steps {
        let done = match step {
            Step::Region(text) => scenario.region_text(text).map(drop),
            Step::Secret(text) => scenario.declare_text(text, true),
            Step::Public(text) => scenario.declare_text(text, false),
            Step::Call(text) => scenario.call_text(text),
        };
        done.map_err(|error| error.to_string())?;
    }
    Ok(scenario.walk())
}

/// The report as data.
#[must_use]
pub fn json(report: &Report) -> String {
    let findings: Vec<_> = report
        .findings
        .iter()
        .map(|finding| {
            let source: Vec<_> = finding
                .source
                .iter()
                .map(|place| serde_json::json!({"file": place.file, "line": place.line, "function": place.function}))
                .collect();
            serde_json::json!({
                "kind": finding.kind.slug(),
                "address": finding.address,
                "function": finding.function,
                "instruction": finding.instruction,
                "detail": finding.detail,
                "source": source,
            })
        })
        .collect();
    serde_json::json!({"findings": findings, "instructions": report.instructions}).to_string()
}
