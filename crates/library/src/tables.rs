//! Reading TOML so that all problems are reported at once, each at its place.
//!
//! A [`Table`] remembers which keys were asked for; what is left at the end is unknown.

use headrace_source::{Diagnostic, FileId, Slug, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::spelling::{listing, nearest};

/// The text is not TOML.
pub(crate) const SYNTAX: Slug = "manifest-syntax";
/// A key that no code reads.
pub(crate) const UNKNOWN_KEY: Slug = "manifest-unknown-key";
/// A value of the wrong kind, a missing or contradictory one.
pub(crate) const VALUE: Slug = "manifest-value";

/// What was found wrong in one manifest.
pub(crate) struct Problems {
    file: FileId,
    pub(crate) list: Vec<Diagnostic>,
}

impl Problems {
    pub(crate) fn new(file: FileId) -> Self {
        Problems { file, list: Vec::new() }
    }

    pub(crate) fn span(&self, range: std::ops::Range<usize>) -> Span {
        Span::new(self.file, range.start, range.end)
    }

    pub(crate) fn value(&mut self, span: Span, message: impl Into<String>, label: &str) {
        self.list.push(Diagnostic::error(VALUE, message).at(span, label));
    }
}

/// A value with its place.
#[derive(Clone)]
pub(crate) struct Item<'t> {
    pub(crate) span: Span,
    value: &'t DeValue<'t>,
}

impl<'t> Item<'t> {
    fn new(spanned: &'t Spanned<DeValue<'t>>, problems: &Problems) -> Self {
        Item { span: problems.span(spanned.span()), value: spanned.get_ref() }
    }

    fn wrong(&self, problems: &mut Problems, key: &str, wanted: &str) {
        problems.value(
            self.span,
            format!("`{key}` must be {wanted}"),
            &format!("this is a TOML {}", self.value.type_str()),
        );
    }

    pub(crate) fn is_text(&self) -> bool {
        self.value.is_str()
    }

    pub(crate) fn is_integer(&self) -> bool {
        self.value.is_integer()
    }

    pub(crate) fn is_array(&self) -> bool {
        self.value.is_array()
    }

    pub(crate) fn as_boolean(&self) -> Option<bool> {
        self.value.as_bool()
    }

    pub(crate) fn text(&self, problems: &mut Problems, key: &str) -> Option<&'t str> {
        let found = self.value.as_str();
        if found.is_none() {
            self.wrong(problems, key, "a text in quotes");
        }
        found
    }

    pub(crate) fn boolean(&self, problems: &mut Problems, key: &str) -> Option<bool> {
        let found = self.value.as_bool();
        if found.is_none() {
            self.wrong(problems, key, "`true` or `false`");
        }
        found
    }

    /// A whole number from 0 to 2^32.
    pub(crate) fn count(&self, problems: &mut Problems, key: &str) -> Option<u64> {
        let Some(integer) = self.value.as_integer() else {
            self.wrong(problems, key, "a whole number");
            return None;
        };
        let found = u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|n| *n <= 1 << 32);
        if found.is_none() {
            problems.value(self.span, format!("`{key}` must be a whole number from 0 to 4294967296"), "out of range");
        }
        found
    }

    pub(crate) fn array(&self, problems: &mut Problems, key: &str) -> Option<Vec<Item<'t>>> {
        let Some(array) = self.value.as_array() else {
            self.wrong(problems, key, "a list in brackets");
            return None;
        };
        Some(array.iter().map(|element| Item::new(element, problems)).collect())
    }

    pub(crate) fn table(&self, problems: &mut Problems, key: &str) -> Option<Table<'t>> {
        let Some(table) = self.value.as_table() else {
            self.wrong(problems, key, "a table");
            return None;
        };
        Some(Table::new(table, self.span, problems))
    }
}

/// A key with its place, and its value.
pub(crate) struct Entry<'t> {
    pub(crate) key: &'t str,
    pub(crate) key_span: Span,
    pub(crate) item: Item<'t>,
}

/// A table of which every key must be asked for.
pub(crate) struct Table<'t> {
    pub(crate) span: Span,
    entries: Vec<Entry<'t>>,
    asked: Vec<&'static str>,
}

impl<'t> Table<'t> {
    pub(crate) fn new(table: &'t DeTable<'t>, span: Span, problems: &Problems) -> Self {
        let mut entries: Vec<Entry<'t>> = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().as_ref(),
                key_span: problems.span(key.span()),
                item: Item::new(value, problems),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_span.start);
        Table { span, entries, asked: Vec::new() }
    }

    /// Whether a key is there and was not taken yet.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key == key)
    }

    /// The value of a key, which is known from now on.
    pub(crate) fn take(&mut self, key: &'static str) -> Option<Item<'t>> {
        self.asked.push(key);
        let at = self.entries.iter().position(|entry| entry.key == key)?;
        Some(self.entries.remove(at).item)
    }

    /// Like [`Table::take`]; the key must be there.
    pub(crate) fn need(&mut self, key: &'static str, what: &str, problems: &mut Problems) -> Option<Item<'t>> {
        let found = self.take(key);
        if found.is_none() {
            problems.value(self.span, format!("{what} has no `{key}`"), "it must be given here");
        }
        found
    }

    /// All entries, of a table whose keys are names.
    pub(crate) fn into_entries(self) -> Vec<Entry<'t>> {
        self.entries
    }

    /// Reports every key that was not asked for.
    pub(crate) fn finish(self, what: &str, problems: &mut Problems) {
        for entry in &self.entries {
            let mut diagnostic =
                Diagnostic::error(UNKNOWN_KEY, format!("{what} has no key `{}`", entry.key.escape_debug()))
                    .at(entry.key_span, "unknown key");
            diagnostic = match nearest(entry.key, self.asked.iter().copied()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => {
                    let mut known = self.asked.clone();
                    known.sort_unstable();
                    diagnostic.note(format!("the keys are {}", listing(&known, "and")))
                }
            };
            problems.list.push(diagnostic);
        }
    }
}
