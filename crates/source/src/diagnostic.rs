//! Diagnostics: errors and warnings as data, with the places that they are about.

use crate::{Slug, Span};

/// How bad it is. Only `Error` makes a command fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something worth knowing.
    Note,
    /// Probably not what was meant; the program still has a meaning.
    Warning,
    /// The program has no meaning.
    Error,
}

/// A place in the source and what is to be said there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is there; may be empty.
    pub text: String,
}

/// One problem: slug, severity, message, primary place, further places, notes and help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable identity, listed in [`crate::SLUGS`].
    pub slug: Slug,
    /// How bad it is.
    pub severity: Severity,
    /// One line that stands alone.
    pub message: String,
    /// The place of the problem, where there is one in a source text.
    pub primary: Option<Label>,
    /// Further places that explain it.
    pub secondary: Vec<Label>,
    /// Arithmetic and reasons.
    pub notes: Vec<String>,
    /// What to do, only where there is something to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place; add one with [`Diagnostic::at`].
    pub fn error(slug: Slug, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, slug, message)
    }

    /// A warning without a place; add one with [`Diagnostic::at`].
    pub fn warning(slug: Slug, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, slug, message)
    }

    fn new(severity: Severity, slug: Slug, message: impl Into<String>) -> Self {
        Self {
            slug,
            severity,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
        }
    }

    /// Sets the primary place.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Self {
        self.primary = Some(Label { span, text: text.into() });
        self
    }

    /// Adds a further place.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Sets the help line.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}
