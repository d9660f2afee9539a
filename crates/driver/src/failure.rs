//! How a command fails: the exit status and what is left to say.

use std::fmt;

/// Exit status of the command; `interface` in the documentation fixes the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The input is wrong, or a check failed.
    Wrong = 1,
    /// Wrong usage.
    Usage = 2,
    /// The run stopped with input undelivered, or with an enabled action that waits for room.
    Stopped = 3,
    /// A needed tool is missing.
    MissingTool = 4,
}

/// Why a command ended early. An empty message means that all was said already.
#[derive(Debug)]
pub struct Failure {
    /// Exit status.
    pub status: Status,
    /// One or more lines for standard error, without the leading `error: `.
    pub message: String,
}

/// What commands return.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// The input is wrong.
    pub fn wrong(message: impl Into<String>) -> Self {
        Self { status: Status::Wrong, message: message.into() }
    }

    /// The command line is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { status: Status::Usage, message: message.into() }
    }

    /// A tool is missing; the message names it and says how to get it.
    pub fn missing(message: impl Into<String>) -> Self {
        Self { status: Status::MissingTool, message: message.into() }
    }

    /// The input is wrong or a check failed, and everything about it has been printed.
    pub fn said() -> Self {
        Self::wrong("")
    }

    /// A file could not be read or written.
    pub fn io(what: impl fmt::Display, error: &std::io::Error) -> Self {
        Self::wrong(format!("{what}: {}", describe(error)))
    }
}

/// The reason without Rust's `(os error N)`.
pub fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_shown_without_error_numbers() {
        let error = std::fs::read("no/such/file").expect_err("the file does not exist");
        assert_eq!(Failure::io("no/such/file", &error).message, "no/such/file: No such file or directory");
    }
}
