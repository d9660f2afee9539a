//! The results of a campaign over automata as a table in Markdown, by family of primitives, for a document; behind it, what
//! failed, and why operations have no automaton or none that is complete.

use super::campaign::Rows;
use headrace_library::catalog::OperationSpec;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What stands before the table in a document.
pub(super) const MARK: &str = "<!-- generated: automata -->";

/// What became of the operations of one kind.
#[derive(Debug, Default)]
struct Kind {
    operations: usize,
    done: usize,
    passed: usize,
    complete: usize,
    without: usize,
    failed: usize,
    fewest_states: Option<u64>,
    most_states: u64,
    answers: u64,
    messages: u64,
    left: u64,
    missing: u64,
}

impl Kind {
    fn add(&mut self, row: Option<&Value>) {
        self.operations += 1;
        let Some(row) = row else { return };
        self.done += 1;
        let count = |name: &str| row[name].as_u64().unwrap_or(0);
        match row["verdict"].as_str() {
            Some("passed") => {
                self.passed += 1;
                self.complete += usize::from(row["open"].is_null());
                self.fewest_states =
                    Some(self.fewest_states.map_or(count("states"), |fewest| fewest.min(count("states"))));
                self.most_states = self.most_states.max(count("states"));
                self.answers += count("answers");
                self.messages += count("messages");
                self.left += count("left");
                self.missing += count("missing");
            }
            Some("no automaton") => self.without += 1,
            _ => self.failed += 1,
        }
    }

    fn cells(&self) -> String {
        let states = match self.fewest_states {
            Some(fewest) => format!("{fewest}–{}", self.most_states),
            None => "–".into(),
        };
        let Kind { operations, done, passed, complete, without, failed, answers, messages, left, missing, .. } = self;
        format!(
            "{done} of {operations} | {passed} | {complete} | {without} | {failed} | {states} | {answers} | {messages} | \
             {left} | {missing}"
        )
    }
}

/// The folder of the library that a primitive stands in.
fn family(spec: &OperationSpec) -> &str {
    spec.folder.split('/').nth(1).unwrap_or(&spec.folder)
}

/// The table: a row for each family of primitives, then all of them, then what failed.
pub fn table(operations: &[OperationSpec], rows: &Rows) -> String {
    let mut kinds: BTreeMap<String, Kind> = BTreeMap::new();
    let mut all = Kind::default();
    for spec in operations {
        let row = rows.of(&spec.full_name());
        kinds.entry(family(spec).to_owned()).or_default().add(row);
        all.add(row);
    }
    let mut text = match rows.commit() {
        Some(commit) => format!("By the compiler of commit `{commit}`:\n\n"),
        None => String::new(),
    };
    text.push_str(
        "| family | compared | automata | complete | without | failed | states | answers | messages | of them left | no time |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for (name, kind) in &kinds {
        let _ = writeln!(text, "| {name} | {} |", kind.cells());
    }
    let _ = writeln!(text, "| all | {} |", all.cells());
    for spec in operations {
        let failed = rows.of(&spec.full_name()).filter(|row| row["verdict"] == "failed");
        if let Some(row) = failed {
            let _ = write!(text, "\n`{}`: {}\n", spec.full_name(), row["why"].as_str().unwrap_or_default());
        }
    }
    reasons(&mut text, "Without automaton", operations, rows, |row| match row["verdict"] == "no automaton" {
        true => row["why"].as_str(),
        false => None,
    });
    reasons(&mut text, "With an automaton that is not complete", operations, rows, |row| row["open"].as_str());
    text
}

/// A list of the operations for which there is a reason, by reason.
fn reasons(text: &mut String, title: &str, of: &[OperationSpec], rows: &Rows, why: impl Fn(&Value) -> Option<&str>) {
    let mut all: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for spec in of {
        // What stands behind a semicolon is of one operation alone.
        let why = rows.of(&spec.full_name()).and_then(&why).and_then(|why| why.split("; ").next());
        if let Some(why) = why {
            all.entry(why).or_default().entry(&spec.set).or_default().push(&spec.name);
        }
    }
    if all.is_empty() {
        return;
    }
    let _ = write!(text, "\n{title}:\n\n");
    for (why, by_set) in all {
        let n: usize = by_set.values().map(Vec::len).sum();
        let _ = writeln!(text, "* {why} ({n}): {}", named(by_set).join("; "));
    }
}

/// Operations by parameter set as few words: sets with the same operations stand together.
fn named(by_set: BTreeMap<&str, Vec<&str>>) -> Vec<String> {
    let mut sets_of: BTreeMap<Vec<&str>, Vec<&str>> = BTreeMap::new();
    for (set, operations) in by_set {
        sets_of.entry(operations).or_default().push(set);
    }
    let mut all: Vec<(Vec<&str>, Vec<&str>)> =
        sets_of.into_iter().map(|(operations, sets)| (sets, operations)).collect();
    all.sort();
    all.into_iter().map(|(sets, operations)| format!("{} `{}`", sets.join(", "), operations.join(" "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_are_counted_and_what_is_missing_shows() {
        let mut kind = Kind::default();
        kind.add(Some(
            &json!({ "verdict": "passed", "states": 9, "answers": 5, "messages": 3, "left": 2, "missing": 1 }),
        ));
        kind.add(Some(
            &json!({ "verdict": "passed", "states": 4, "open": "x", "answers": 6, "left": 0, "missing": 0 }),
        ));
        kind.add(Some(&json!({ "verdict": "no automaton" })));
        kind.add(Some(&json!({ "verdict": "failed", "why": "x" })));
        kind.add(None);
        assert_eq!(kind.cells(), "4 of 5 | 2 | 1 | 1 | 1 | 4–9 | 11 | 3 | 2 | 1");
    }

    #[test]
    fn sets_with_the_same_operations_stand_together() {
        let all = [("aes128", vec!["ctr", "ofb"]), ("aes192", vec!["ctr"]), ("des", vec!["ctr", "ofb"])];
        assert_eq!(named(all.into_iter().collect()), ["aes128, des `ctr ofb`", "aes192 `ctr`"]);
    }
}
