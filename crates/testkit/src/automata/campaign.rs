//! A resumable campaign over the library's control automata: each operation's through text, reader and evaluator, with a
//! record that a later run goes on from.
//!
//! The results are a file of JSON, a line for each operation that is done; an operation that has a line is not compared again. They
//! are of the compiler that wrote them, whose commit the first line names where that is known: for another one, begin another
//! file. [`super::table`] makes a table of them.

use super::library::{Compared, Extent, NoAutomaton, operation};
use super::table::{MARK, table};
use crate::document::put_into;
use crate::peers::library::Shipped;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What is compared.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The parameter sets; none: all.
    pub sets: Vec<String>,
    /// How much of each operation.
    pub extent: Extent,
    /// Where a line goes for each operation; those that it has already are not compared again.
    pub results: Option<PathBuf>,
    /// The commit of the compiler, for the first line of results that begin.
    pub commit: Option<String>,
    /// A document for a table of the results; all operations that have a line are in it, whichever are asked for.
    pub into: Option<PathBuf>,
}

/// Results of operations.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    commit: Option<String>,
    of: HashMap<String, Value>,
}

impl Rows {
    /// The commit of the compiler that they are of.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// That of an operation, by its full name.
    pub fn of(&self, operation: &str) -> Option<&Value> {
        self.of.get(operation)
    }
}

/// What became of the operations of a campaign, those of earlier runs included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Operations whose automata are the same when they are read again.
    pub automata: usize,
    /// Known answers that the evaluator gave.
    pub answers: usize,
    /// Random messages for which it gave what the interpreter does.
    pub messages: usize,
    /// Of both, the ones for which a state was left.
    pub left: usize,
    /// Known answers that there was no time for.
    pub missing: usize,
    /// Operations without automaton.
    pub without: usize,
    /// Operations whose automata are wrong.
    pub failed: usize,
}

impl Summary {
    /// Whether something was compared, and nothing failed.
    pub fn passed(&self) -> bool {
        self.failed == 0 && self.answers + self.messages > 0
    }

    fn add(&mut self, row: &Value) {
        let count = |name: &str| row[name].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        self.automata += usize::from(row["verdict"] == "passed");
        self.without += usize::from(row["verdict"] == "no automaton");
        self.failed += usize::from(row["verdict"] == "failed");
        self.answers += count("answers");
        self.messages += count("messages");
        self.left += count("left");
        self.missing += count("missing");
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Summary { automata, answers, messages, left, missing, without, failed } = self;
        write!(
            f,
            "{automata} automata the same when they are read again, {answers} answers and {messages} random messages right, \
             {left} of them with states that are left, {missing} answers without time for them; {without} operations without \
             automaton, {failed} failed"
        )
    }
}

/// Compares the operations that have no result yet, and says one after the other what became of it. Gives the sum of all.
///
/// # Errors
///
/// A parameter set that there is none of, a library that cannot be read, results that cannot be read or written.
pub fn campaign(campaign: &Campaign, root: &Path, say: &mut dyn FnMut(&str)) -> Result<Summary, String> {
    let shipped = Shipped::read(root)?;
    let known = |set: &String| shipped.library.operations().iter().any(|spec| spec.set == *set);
    if let Some(set) = campaign.sets.iter().find(|set| !known(set)) {
        return Err(format!("no parameter set is called `{set}`; `headrace list primitives` shows them"));
    }
    let mut rows = campaign.results.as_deref().map_or_else(|| Ok(Rows::default()), read)?;
    if let (Some(results), Some(commit)) = (&campaign.results, &campaign.commit)
        && rows.commit.is_none()
        && rows.of.is_empty()
    {
        append(results, &json!({ "commit": commit }))?;
        rows.commit = Some(commit.clone());
    }
    let mut summary = Summary::default();
    let is_asked = |set: &String| campaign.sets.is_empty() || campaign.sets.contains(set);
    for spec in shipped.library.operations().iter().filter(|spec| is_asked(&spec.set)) {
        let name = spec.full_name();
        if rows.of(&name).is_none() {
            let row = row(&name, operation(&shipped, root, spec, campaign.extent));
            say(&sentence(&row));
            if let Some(results) = &campaign.results {
                append(results, &row)?;
            }
            rows.of.insert(name.clone(), row);
        }
        rows.of(&name).into_iter().for_each(|row| summary.add(row));
    }
    if let Some(path) = &campaign.into {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let document = std::fs::read_to_string(path).map_err(failed)?;
        let table = table(shipped.library.operations(), &rows);
        let document = put_into(&document, MARK, &table).map_err(|why| format!("{}: {why}", path.display()))?;
        std::fs::write(path, document).map_err(failed)?;
    }
    Ok(summary)
}

/// The results of earlier runs by operation. A line that was cut off is none.
fn read(results: &Path) -> Result<Rows, String> {
    let text = match std::fs::read_to_string(results) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Rows::default()),
        Err(error) => return Err(format!("{}: {error}", results.display())),
    };
    let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let commit = rows.iter().find_map(|row| Some(row["commit"].as_str()?.to_owned()));
    let of = rows.into_iter().filter_map(|row| Some((row["operation"].as_str()?.to_owned(), row))).collect();
    Ok(Rows { commit, of })
}

fn append(results: &Path, row: &Value) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", results.display());
    let mut out = OpenOptions::new().create(true).append(true).open(results).map_err(failed)?;
    // Behind a line that was cut off, on one of its own.
    let is_cut = std::fs::read(results).map_err(failed)?.last().is_some_and(|&last| last != b'\n');
    writeln!(out, "{}{row}", if is_cut { "\n" } else { "" }).map_err(failed)
}

/// The result of an operation as data.
fn row(name: &str, outcome: Result<Result<Compared, NoAutomaton>, String>) -> Value {
    match outcome {
        Ok(Ok(Compared { states, open, answers, messages, left, missing })) => json!({
            "operation": name, "verdict": "passed", "states": states, "open": open, "answers": answers, "messages": messages,
            "left": left, "missing": missing,
        }),
        Ok(Err(NoAutomaton(why))) => json!({ "operation": name, "verdict": "no automaton", "why": why }),
        Err(why) => json!({ "operation": name, "verdict": "failed", "why": why }),
    }
}

/// And in words.
fn sentence(row: &Value) -> String {
    let name = row["operation"].as_str().unwrap_or_default();
    match row["verdict"].as_str() {
        Some("passed") => {
            let missing = match row["missing"].as_u64() {
                None | Some(0) => String::new(),
                Some(missing) => format!(", no time for {missing}"),
            };
            let (states, answers, messages, left) = (&row["states"], &row["answers"], &row["messages"], &row["left"]);
            format!("{name}: {states} states, {answers} answers, {messages} random messages, left in {left}{missing}")
        }
        Some("no automaton") => format!("{name}: no automaton: {}", row["why"].as_str().unwrap_or_default()),
        _ => format!("{name}: FAILED: {}", row["why"].as_str().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_earlier_runs_count_and_are_not_compared_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("results.jsonl");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let extent = Extent { bytes: 64, answers: 3, ..Extent::default() };
        let document = folder.path().join("table.md");
        std::fs::write(&document, "<!-- generated: automata -->\n<!-- end of generated -->\n").expect("a document");
        let asked = Campaign {
            sets: vec!["hex".to_owned()],
            extent,
            results: Some(results.clone()),
            commit: Some("12ab".to_owned()),
            into: Some(document.clone()),
        };
        let mut said = Vec::new();
        let first = campaign(&asked, &root, &mut |line| said.push(line.to_owned())).expect("it runs");
        assert!(first.passed() && said.len() == 2, "{said:?}");
        // Stopped while a line was written: that operation is compared again.
        let text = std::fs::read_to_string(&results).expect("results");
        std::fs::write(&results, &text[..text.len() - 10]).expect("results");
        let mut again = Vec::new();
        let second = campaign(&asked, &root, &mut |line| again.push(line.to_owned())).expect("it goes on");
        assert_eq!((&again[..], second.answers), (&said[1..], first.answers));
        let third = campaign(&asked, &root, &mut |line| panic!("{line} again")).expect("it has all");
        assert_eq!(third.answers, first.answers);
        let table = std::fs::read_to_string(&document).expect("a table");
        assert!(table.contains("commit `12ab`") && table.contains("| codec | 2 of "), "{table}");
    }
}
