//! What `headrace check` says of every program of a tree, as data and as a table.

use super::outside::{self, End, Limits};
use super::{Tree, kind};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Survey {
    /// The command.
    pub headrace: PathBuf,
    /// The tree.
    pub folder: PathBuf,
    /// Further options of the command.
    pub options: Vec<String>,
    /// Where a line goes for each file; those that it has already are not asked for again.
    pub results: PathBuf,
    /// Time for one file.
    pub time: Duration,
}

/// Asks for every file, and gives the table.
///
/// # Errors
/// A file cannot be read or written, or the command does not start.
pub fn survey(survey: &Survey) -> Result<String, String> {
    let tree = Tree::of(&survey.folder);
    if tree.files.is_empty() {
        return Err(format!("there are no programs below {}", survey.folder.display()));
    }
    let failed = |error: std::io::Error| format!("{}: {error}", survey.results.display());
    let known = match std::fs::read_to_string(&survey.results) {
        Ok(text) => text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut rows: Vec<Value> = known;
    let done: HashSet<String> = rows.iter().filter_map(|row| row["file"].as_str().map(str::to_owned)).collect();
    let mut out = OpenOptions::new().create(true).append(true).open(&survey.results).map_err(failed)?;
    for (at, file) in tree.files.iter().enumerate() {
        let name = file.strip_prefix(&survey.folder).unwrap_or(file).display().to_string();
        if done.contains(&name) {
            continue;
        }
        let row = ask(survey, &tree, file, &name)?;
        writeln!(out, "{row}").map_err(failed)?;
        rows.push(row);
        if (at + 1) % 100 == 0 {
            outside::progress(&format!("{} of {}", at + 1, tree.files.len()));
        }
    }
    Ok(table(&rows))
}

fn ask(survey: &Survey, tree: &Tree, file: &Path, name: &str) -> Result<Value, String> {
    let mut command = Command::new(&survey.headrace);
    command.args(["--color", "never"]);
    for root in tree.roots_for(file) {
        command.arg("-L").arg(root);
    }
    command.arg("check").args(&survey.options).arg(file);
    let limits = Limits { time: survey.time, memory: 1 << 30 };
    let outcome =
        outside::run(&mut command, limits).map_err(|error| format!("{}: {error}", survey.headrace.display()))?;
    let problems = problems(&outcome.said);
    let errors: Vec<_> = problems.iter().filter(|(severity, ..)| severity == "error").collect();
    let verdict = match outcome.end {
        End::Status(0) if problems.is_empty() => "clean",
        End::Status(0) => "warned",
        End::Status(1) => "rejected",
        End::Status(_) | End::Signal => "failed",
        End::Time => "too long",
        End::Memory => "too large",
    };
    let mut slugs: BTreeMap<&str, u64> = BTreeMap::new();
    for (severity, slug, _) in &problems {
        if severity == "warning" {
            *slugs.entry(slug).or_default() += 1;
        }
    }
    Ok(json!({
        "file": name,
        "kind": kind(file),
        "verdict": verdict,
        "first": errors.first().map(|(_, slug, _)| slug),
        "errors": errors.iter().map(|(_, slug, message)| format!("{slug}: {message}")).collect::<Vec<_>>(),
        "warnings": slugs,
        "mebibytes": outcome.memory >> 20,
    }))
}

/// Severity, slug and message of the problems that were drawn.
fn problems(said: &str) -> Vec<(String, String, String)> {
    let problem = |line: &str| {
        let (severity, rest) = line.split_once('[')?;
        let (slug, message) = rest.split_once("]: ")?;
        ["error", "warning"].contains(&severity).then(|| (severity.to_owned(), slug.to_owned(), message.to_owned()))
    };
    said.lines().filter_map(problem).collect()
}

/// The table of results: how many were accepted, and for the others what is said first.
pub fn table(rows: &[Value]) -> String {
    let mut text = String::new();
    for (kinds, what) in [(["cal", ""], "actors and units"), (["xdf", "nl"], "networks")] {
        let of_kind: Vec<&Value> =
            rows.iter().filter(|row| row["kind"].as_str().is_some_and(|kind| kinds.contains(&kind))).collect();
        let count = |verdict: &str| of_kind.iter().filter(|row| row["verdict"] == verdict).count();
        let (clean, warned) = (count("clean"), count("warned"));
        let _ = writeln!(text, "| {what} | files |\n| --- | ---: |");
        let _ = writeln!(text, "| accepted | {} of {} |", clean + warned, of_kind.len());
        let _ = writeln!(text, "| of these with warnings | {warned} |");
        for verdict in ["failed", "too long", "too large"] {
            if count(verdict) > 0 {
                let _ = writeln!(text, "| {verdict} | {} |", count(verdict));
            }
        }
        let mut firsts: BTreeMap<&str, u64> = BTreeMap::new();
        for row in of_kind.iter().filter(|row| row["verdict"] == "rejected") {
            *firsts.entry(row["first"].as_str().unwrap_or("no slug")).or_default() += 1;
        }
        let mut firsts: Vec<_> = firsts.into_iter().collect();
        firsts.sort_by_key(|&(slug, n)| (std::cmp::Reverse(n), slug));
        for (slug, n) in firsts {
            let _ = writeln!(text, "| rejected, first for `{slug}` | {n} |");
        }
        text.push('\n');
    }
    let mut warnings: BTreeMap<&str, u64> = BTreeMap::new();
    for (slug, n) in rows.iter().filter_map(|row| row["warnings"].as_object()).flatten() {
        *warnings.entry(slug).or_default() += n.as_u64().unwrap_or(0);
    }
    let _ = writeln!(text, "| warnings | places |\n| --- | ---: |");
    let mut warnings: Vec<_> = warnings.into_iter().collect();
    warnings.sort_by_key(|&(slug, n)| (std::cmp::Reverse(n), slug));
    for (slug, n) in warnings {
        let _ = writeln!(text, "| `{slug}` | {n} |");
    }
    let mut refused: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "rejected").collect();
    refused.sort_by_key(|row| row["file"].as_str());
    if !refused.is_empty() {
        let _ = writeln!(text, "\n| refused | errors | the first |\n| --- | ---: | --- |");
    }
    for row in refused {
        let errors = row["errors"].as_array().map_or(&[][..], Vec::as_slice);
        let first = errors.first().and_then(Value::as_str).unwrap_or_default();
        // A bar would end the cell.
        let first = first.replace('|', "\\|");
        let _ = writeln!(text, "| {} | {} | {first} |", row["file"].as_str().unwrap_or_default(), errors.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{problems, table};
    use serde_json::json;

    #[test]
    fn results_become_a_table() {
        let said = "error[unknown-port]: `a` has no port\n  note\nwarning[narrowing-connection]: cut: down\n1 error";
        assert_eq!(
            problems(said),
            [
                ("error".into(), "unknown-port".into(), "`a` has no port".into()),
                ("warning".into(), "narrowing-connection".into(), "cut: down".into())
            ]
        );
        let rows = [
            json!({"kind": "cal", "verdict": "clean"}),
            json!({"kind": "xdf", "verdict": "warned", "warnings": {"impure-guard": 2}}),
            json!({"file": "a.nl", "kind": "nl", "verdict": "rejected", "first": "unknown-port",
                "errors": ["unknown-port: `a` has no port", "syntax-error: there"]}),
        ];
        let text = table(&rows);
        assert!(text.contains("| accepted | 1 of 1 |") && text.contains("| accepted | 1 of 2 |"), "{text}");
        assert!(text.contains("| rejected, first for `unknown-port` | 1 |"), "{text}");
        assert!(text.contains("| `impure-guard` | 2 |"), "{text}");
        assert!(text.ends_with("| a.nl | 2 | unknown-port: `a` has no port |\n"), "{text}");
    }
}
