//! The problems found in one text, bounded in number: a text of a few megabytes can hold millions.

use headrace_source::{Diagnostic, FileId, Span};

/// The most problems that are kept while reading; more are counted only.
const MAX_KEPT: usize = 1000;

/// The most problems that are reported for one file.
const MAX_REPORTED: usize = 200;

/// Collects diagnostics.
#[derive(Default)]
pub(crate) struct Problems {
    kept: Vec<Diagnostic>,
    surplus: usize,
}

/// A point to go back to.
pub(crate) struct Mark {
    kept: usize,
    surplus: usize,
}

impl Problems {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.kept.len() < MAX_KEPT {
            self.kept.push(diagnostic);
        } else {
            self.surplus += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// First bytes of the primary places, in the order of pushing.
    pub(crate) fn starts(&self) -> Vec<u32> {
        let primaries = self.kept.iter().filter_map(|diagnostic| diagnostic.primary.as_ref());
        primaries.map(|label| label.span.start).collect()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { kept: self.kept.len(), surplus: self.surplus }
    }

    pub(crate) fn forget_since(&mut self, mark: Mark) {
        self.kept.truncate(mark.kept);
        self.surplus = mark.surplus;
    }

    /// The problems in the order of their places. When there are too many, the last one says how many are left out.
    pub(crate) fn into_diagnostics(mut self, file: FileId) -> Vec<Diagnostic> {
        self.kept.sort_by_key(|diagnostic| diagnostic.primary.as_ref().map(|label| label.span.start));
        let surplus = self.surplus + self.kept.len().saturating_sub(MAX_REPORTED);
        if surplus > 0 {
            self.kept.truncate(MAX_REPORTED);
            self.kept.push(
                Diagnostic::error("too-many-problems", format!("{surplus} more problems in this file are not shown"))
                    .at(Span::new(file, 0, 0), ""),
            );
        }
        self.kept
    }
}
