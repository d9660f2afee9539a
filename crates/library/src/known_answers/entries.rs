//! From a known-answer file to cases: which `[[vectors]]` entries are for which record.

use headrace_source::Diagnostic;

use super::build::Builder;
use super::{Case, MAPPING};
use crate::catalog::{Library, OperationSpec, stem};
use crate::manifest::{Manifest, Shape};
use crate::mapping::{Condition, Feedback, Kind, VectorMapping, default_fields};
use crate::spelling::listing;
use crate::vectors::{Record, VectorFile};

/// Later problems of a file are only counted.
const MAX_PROBLEMS: usize = 100;

/// What a file says.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    /// All cases, by record.
    pub cases: Vec<Case>,
    /// Records that do not fit.
    pub problems: Vec<Diagnostic>,
}

/// The cases of a known-answer file. `name` is the name of the file, by which the manifests know it; `scope` are the
/// operations that are to be tested (from [`Library::select`]): records of others are passed over. A file that no
/// manifest names is read as one for the operation in the scope, or for that one of them which its name mentions.
pub fn cases(library: &Library, name: &str, file: &VectorFile, scope: &[&OperationSpec]) -> Cases {
    let mut result = Cases::default();
    let mut entries: Vec<(&Manifest, &VectorMapping)> = library
        .mappings(name)
        .into_iter()
        .filter(|(manifest, _)| scope.iter().any(|spec| spec.folder == manifest.folder))
        .collect();
    let made;
    if entries.is_empty() {
        match unlisted(library, name, scope) {
            Ok(found) => {
                made = found;
                entries = made.iter().map(|(manifest, entry)| (*manifest, entry)).collect();
            }
            Err(problem) => {
                result.problems.push(problem);
                return result;
            }
        }
    }
    let elsewhere = library.mappings(name);
    let mut n_problems = 0;
    let mut problem = |list: &mut Vec<Diagnostic>, problem: Diagnostic| {
        n_problems += 1;
        if n_problems <= MAX_PROBLEMS {
            list.push(problem);
        } else if let Some(last) = list.last_mut() {
            last.notes = vec![format!("{} more records do not fit", n_problems - MAX_PROBLEMS)];
        }
    };
    for (index, record) in file.records.iter().enumerate() {
        let mut fitting = entries.iter().filter(|(_, entry)| holds(entry, record)).peekable();
        if fitting.peek().is_none() {
            if !elsewhere.iter().any(|(_, entry)| holds(entry, record)) {
                let message = format!(
                    "record {} fits no entry of the manifest for `{}`",
                    record.count,
                    stem(name).escape_debug()
                );
                problem(&mut result.problems, Diagnostic::error(MAPPING, message).at(record.span, "this record"));
            }
            continue;
        }
        for (manifest, entry) in fitting {
            let builder = Builder { library, manifest, entry, record, index, stem: stem(name) };
            match builder.build() {
                Ok(cases) => result.cases.extend(
                    cases
                        .into_iter()
                        .filter(|case| scope.iter().any(|spec| spec.set == case.set && spec.name == case.operation)),
                ),
                Err(found) => problem(&mut result.problems, found),
            }
        }
    }
    result
}

/// Whether all conditions of an entry hold for a record.
fn holds(entry: &VectorMapping, record: &Record) -> bool {
    entry.conditions.iter().all(|(name, condition)| {
        let field = record.field(name);
        match condition {
            Condition::Is(text) => field.is_some_and(|field| field.text == *text),
            Condition::Present(present) => field.is_some() == *present,
        }
    })
}

/// An entry for a file that no manifest names.
fn unlisted<'l>(
    library: &'l Library,
    name: &str,
    scope: &[&OperationSpec],
) -> Result<Vec<(&'l Manifest, VectorMapping)>, Diagnostic> {
    let forward = |spec: &&&OperationSpec| {
        let undoes = spec.decrypts || spec.verifies;
        !undoes || spec.inverse.is_none()
    };
    let base = |spec: &OperationSpec| -> String { spec.name.strip_suffix("-encrypt").unwrap_or(&spec.name).to_owned() };
    let mut candidates: Vec<&&OperationSpec> = scope.iter().filter(forward).collect();
    if candidates.is_empty() {
        candidates = scope.iter().collect();
    }
    let tokens: Vec<&str> = stem(name).split(['_', '-', '.']).collect();
    let operations = |list: &[&&OperationSpec]| {
        let mut names: Vec<(String, String)> =
            list.iter().map(|spec| (spec.folder.clone(), spec.name.clone())).collect();
        names.sort();
        names.dedup();
        names
    };
    if operations(&candidates).len() > 1 {
        let mentioned: Vec<&&OperationSpec> =
            candidates.iter().copied().filter(|spec| tokens.contains(&base(spec).as_str())).collect();
        if !mentioned.is_empty() {
            candidates = mentioned;
        }
    }
    let found = operations(&candidates);
    let [(folder, operation)] = found.as_slice() else {
        let names: Vec<&str> = found.iter().map(|(_, name)| name.as_str()).take(16).collect();
        let problem = Diagnostic::error(
            MAPPING,
            format!(
                "no manifest names the known-answer file `{}`, and its name does not say which operation it is for",
                stem(name).escape_debug()
            ),
        );
        return Err(if names.is_empty() {
            problem.help("name the primitive too")
        } else {
            problem
                .note(format!("it could be {}", listing(&names, "or")))
                .help("name the parameter set and the operation too, as in `test aes128 cbc --vectors FILE`")
        });
    };
    let Some(manifest) = library.manifests().iter().find(|m| m.folder == *folder) else {
        return Err(Diagnostic::error(MAPPING, format!("there is no manifest in `{}`", folder.escape_debug())));
    };
    let mut sets: Vec<String> = candidates.iter().map(|spec| spec.set.clone()).collect();
    sets.sort();
    sets.dedup();
    if manifest.shape == Shape::Part {
        sets.clear();
    }
    Ok(vec![(
        manifest,
        VectorMapping {
            span: headrace_source::Span::new(manifest.file, 0, 0),
            file: name.to_owned(),
            operation: operation.clone(),
            sets,
            conditions: Vec::new(),
            direction: None,
            kind: Kind::Single,
            feedback: Feedback::Ciphertext,
            fields: match manifest.shape {
                Shape::Part => Vec::new(),
                shape => default_fields(shape),
            },
            arguments: Vec::new(),
            conversions: Vec::new(),
            ignored: Vec::new(),
        },
    )])
}
