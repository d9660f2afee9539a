//! Tables of what passed, for documents: rows and columns of what is not run now stay as they stand.

use crate::commands::summary::unique;
use headrace::known_answers::{Place, Tally, Variants};
use headrace::words::plural;
use headrace_library::catalog::{Framing, Library, OperationSpec};
use std::collections::BTreeSet;

/// What is tried of the library.
pub(super) struct Scope<'l> {
    pub operations: &'l [&'l OperationSpec],
    pub variants: &'l Variants,
}

impl Scope<'_> {
    /// Whether an operation is tried in a place in the variant of this number.
    fn has(&self, spec: &OperationSpec, at: usize, place: Place) -> bool {
        self.variants.has(place, at, &spec.variants[at].name)
            && self.operations.iter().any(|own| own.set == spec.set && own.name == spec.name)
    }

    /// Whether it is tried there in all variants that usually are.
    fn has_usual(&self, spec: &OperationSpec, place: Place) -> bool {
        let mut variants = spec.variants.iter().enumerate();
        variants.all(|(at, variant)| !Variants::Usual.has(place, at, &variant.name) || self.has(spec, at, place))
    }
}

/// What came of a test, to be put into tables.
pub(super) struct Tables<'t> {
    pub tally: &'t Tally,
}

impl Tables<'_> {
    /// Places in which something was run or should have been.
    fn places(&self) -> BTreeSet<&'static str> {
        self.tally.lines.keys().map(|(_, place, _)| *place).collect()
    }

    /// What passed in some lines in one place: records, all variants and directions together.
    fn cell(&self, place: &str, is_wanted: impl Fn(&str, &str) -> bool) -> String {
        let lines = self.tally.lines.iter().filter(|((name, on, variant), _)| *on == place && is_wanted(name, variant));
        let mut records: BTreeSet<&(usize, u64)> = BTreeSet::new();
        let mut failed: BTreeSet<&(usize, u64)> = BTreeSet::new();
        for (_, line) in lines {
            records.extend(&line.records);
            failed.extend(&line.failed_records);
        }
        match (records.len(), failed.len()) {
            (0, 0) => "–".to_owned(),
            (records, 0) => records.to_string(),
            (records, failed) => format!("{records}, **{failed} failed**"),
        }
    }

    /// The columns of a table: what was run now or stands there from before.
    fn columns(&self, before: &Table) -> Vec<Place> {
        let now = self.places();
        Place::all().filter(|place| now.contains(place.name()) || before.has(place.name())).collect()
    }

    /// A row for each family of primitives: its parameter sets, and how many records passed in each place, all operations
    /// and variants together. Of families of which not all is tried that usually is, what stands there stays.
    pub(super) fn overview(&self, library: &Library, scope: &Scope<'_>, before: &Table) -> String {
        let columns = self.columns(before);
        let (now, (head, rules)) = (self.places(), heads(&columns));
        let mut text = format!("| family | parameter sets | {head} |\n|---|---|{rules}\n");
        for (family, what, specs) in families(library) {
            let names: BTreeSet<String> = specs.iter().map(|spec| format!("{} {}", spec.set, spec.name)).collect();
            let is_whole = |place: Place| specs.iter().all(|spec| scope.has_usual(spec, place));
            let cells = columns.iter().map(|place| match now.contains(place.name()) && is_whole(*place) {
                true => self.cell(place.name(), |name, _| names.contains(name)),
                false => before.cell(&[&family], place.name()),
            });
            text.push_str(&format!("| {family} | {what} | {} |\n", cells.collect::<Vec<_>>().join(" | ")));
        }
        text
    }

    /// A row for each operation of each parameter set in each variant: how many records passed in each place. What has
    /// no records stands there too, and what is not tried as it stood.
    pub(super) fn details(&self, library: &Library, scope: &Scope<'_>, before: &Table) -> String {
        let columns = self.columns(before);
        let (now, (head, rules)) = (self.places(), heads(&columns));
        let mut text = format!("| set | operation | variant | {head} |\n|---|---|---|{rules}\n");
        for spec in library.operations() {
            let wanted = format!("{} {}", spec.set, spec.name);
            for (at, variant) in spec.variants.iter().enumerate() {
                let set = format!("`{}`", spec.set);
                let cells =
                    columns.iter().map(|place| match now.contains(place.name()) && scope.has(spec, at, *place) {
                        true => self.cell(place.name(), |name, written| name == wanted && written == variant.name),
                        false => before.cell(&[&set, &spec.name, &variant.name], place.name()),
                    });
                let cells: Vec<String> = cells.collect();
                text.push_str(&format!("| {set} | {} | {} | {} |\n", spec.name, variant.name, cells.join(" | ")));
            }
        }
        text
    }
}

/// The families of primitives, with what they have: their parameter sets, or how many actors; and the operations of these.
fn families(library: &Library) -> Vec<(String, String, Vec<&OperationSpec>)> {
    let names = unique(library.manifests().iter().map(|manifest| manifest.family.clone()));
    let of_family = |family: String| {
        let folders: Vec<&str> =
            library.manifests().iter().filter(|m| m.family == family).map(|m| m.folder.as_str()).collect();
        let specs: Vec<&OperationSpec> =
            library.operations().iter().filter(|spec| folders.contains(&spec.folder.as_str())).collect();
        let what = match specs.iter().all(|spec| spec.framing == Framing::Bare) {
            true => plural(specs.len(), "actor"),
            false => unique(specs.iter().map(|spec| format!("`{}`", spec.set))).join(" "),
        };
        (family, what, specs)
    };
    names.into_iter().map(of_family).filter(|(_, _, specs)| !specs.is_empty()).collect()
}

/// A row for each family of primitives that has parameter sets, and these.
pub(super) fn members(library: &Library) -> String {
    let mut text = String::from("| family | parameter sets |\n|---|---|\n");
    for (family, what, specs) in families(library) {
        if specs.iter().any(|spec| spec.framing != Framing::Bare) {
            text.push_str(&format!("| {family} | {what} |\n"));
        }
    }
    text
}

/// The columns of places.
fn heads(columns: &[Place]) -> (String, String) {
    let names: Vec<&str> = columns.iter().map(|place| place.name()).collect();
    (names.join(" | "), "--:|".repeat(columns.len()))
}

/// A table as it stands in a document.
#[derive(Default)]
pub(super) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn read(text: &str) -> Self {
        let cells = |line: &str| -> Vec<String> {
            line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
        };
        let mut lines = text.lines().filter(|line| line.starts_with('|')).map(cells);
        // After the head comes the line of rules.
        Self { head: lines.next().unwrap_or_default(), rows: lines.skip(1).collect() }
    }

    fn has(&self, column: &str) -> bool {
        self.head.iter().any(|head| head == column)
    }

    /// The cell of a column in the row that begins with these; a row that is new was not run there.
    fn cell(&self, row: &[&str], column: &str) -> String {
        let at = self.head.iter().position(|head| head == column);
        let found = self.rows.iter().find(|cells| row.iter().zip(*cells).all(|(wanted, cell)| wanted == cell));
        let cell = at.and_then(|at| found?.get(at));
        cell.map_or_else(|| "not run".to_owned(), Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_source::FileId;

    #[test]
    fn columns_that_are_not_run_keep_what_stands_there() {
        let text = "\n| set | operation | variant | interp | java |\n|---|---|---|--:|--:|\n| `a` | x | y | 3 | 2 |\n";
        let table = Table::read(text);
        assert!(table.has("java") && !table.has("rust"));
        assert_eq!(table.cell(&["`a`", "x", "y"], "java"), "2");
        assert_eq!(table.cell(&["`a`", "x", "new"], "java"), "not run");
        assert_eq!(Table::read("").cell(&["`a`"], "java"), "not run");
    }

    #[test]
    fn what_is_usually_tried_is_all_on_engines_and_the_first_variant_in_projects() {
        let manifest = r#"
            title = "One"
            shape = "hash"
            standard = "none"
            [sets.one]
            output = 32
            [sets.one.operations.hash]
            network = "One"
            [sets.one.operations.hash.variants]
            first = { constant_time = true }
            second = { network = "One(n = 2)", constant_time = true }
        "#;
        let (library, problems) = Library::load([(FileId(0), "ctl/hash/one/primitive.toml", manifest)]);
        assert!(problems.is_empty(), "{problems:?}");
        let spec = &library.operations()[0];
        let is_project = |place: &Place| matches!(place, Place::Project(_));
        let project = Place::all().find(is_project).expect("there are targets");
        let engine = Place::all().find(|place| !is_project(place)).expect("there are engines");
        let usual = |operations: &[&OperationSpec], variants: &Variants| {
            let scope = Scope { operations, variants };
            [engine, project].map(|place| scope.has_usual(spec, place))
        };
        let only = |name: &str| Variants::Only(name.to_owned());
        assert_eq!(usual(&[spec], &Variants::Usual), [true, true]);
        assert_eq!(usual(&[spec], &Variants::All), [true, true]);
        assert_eq!(usual(&[spec], &only("first")), [false, true]);
        assert_eq!(usual(&[spec], &only("second")), [false, false]);
        assert_eq!(usual(&[], &Variants::All), [false, false]);
    }
}
