//! Errors as values: why something could not be done, and whose turn it is.

pub use headrace_private::describe;

use headrace_source::{Diagnostic, Severity};
use std::fmt;

/// Why something could not be done. What there is to do depends on the kind, not on the words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What is asked for is not there, or contradicts itself: ask for something else.
    Usage(String),
    /// What is given, a file or a message, is wrong, or cannot be read: mend it.
    Wrong(String),
    /// Sources have errors: mend them. Warnings about them come along. Empty where a workspace has told of all before.
    Sources(Vec<Diagnostic>),
    /// Sound sources that an engine or a target does not take, with the places: ask another one.
    Refused(Vec<Diagnostic>),
    /// A run stopped with input undelivered, or where an action waits for room: the text says what waits for what.
    Stopped(String),
    /// Nothing is left to say: the caller, whose sink or host ended it, knows why.
    Told,
    /// A tool is missing or does not work: the text names it and says how to get it.
    MissingTool(String),
}

/// What comes of what may fail.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// What is given is wrong.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self::Wrong(message.into())
    }

    /// What is asked for is not there.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// A tool is missing.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::MissingTool(message.into())
    }

    /// A file could not be read or written.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::Wrong(format!("{what}: {}", describe(error)))
    }

    /// A problem of what is asked for, which has no place in a source.
    pub fn unknown(problem: &Diagnostic) -> Self {
        let lines = std::iter::once(&problem.message).chain(&problem.notes).chain(&problem.help);
        Self::Usage(lines.map(String::as_str).collect::<Vec<_>>().join("\n  "))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Wrong(text) | Self::Stopped(text) | Self::MissingTool(text) => f.write_str(text),
            Self::Told => f.write_str("ended by its caller, or by whoever reads its output"),
            Self::Sources(problems) if problems.is_empty() => {
                f.write_str("sources have errors, which were told before")
            }
            Self::Sources(problems) | Self::Refused(problems) => {
                let errors = problems.iter().filter(|problem| problem.severity == Severity::Error);
                f.write_str(&errors.map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("\n"))
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_before_is_an_error_still() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("Wrong.cal");
        std::fs::write(&file, "actor Wrong() int A ==> int B : action A:[x] ==> B:[y] end end")
            .expect("it can be written");
        let mut workspace = crate::Workspace::default();
        let mut network = || workspace.network(&file.display().to_string(), &[]).expect_err("there is no `y`");
        assert!(matches!(network(), Error::Sources(problems) if !problems.is_empty()));
        let again = network();
        assert!(matches!(&again, Error::Sources(problems) if problems.is_empty()), "{again:?}");
        assert!(again.to_string().contains("told before"));
    }

    #[test]
    fn reasons_are_shown_without_error_numbers() {
        let error = std::fs::read("no/such/file").expect_err("the file does not exist");
        assert_eq!(Error::io("no/such/file", &error).to_string(), "no/such/file: No such file or directory");
    }
}
