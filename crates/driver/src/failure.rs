//! How commands fail: what the library's errors come to as exit statuses, which the documentation of the command fixes.

use headrace::{Error, Result};

/// What commands return.
pub type Outcome<T = ()> = Result<T>;

/// The input is wrong, or a check failed.
pub const WRONG: u8 = 1;

/// The exit status of a command that failed so.
pub fn status(error: &Error) -> u8 {
    match error {
        Error::Wrong(_) | Error::Sources(_) | Error::Refused(_) | Error::Told => WRONG,
        Error::Usage(_) => 2,
        // With input undelivered, or with an enabled action that waits for room.
        Error::Stopped(_) => 3,
        Error::MissingTool(_) => 4,
    }
}

/// What is left to say of it.
pub fn message(error: &Error) -> Option<String> {
    let is_told = matches!(error, Error::Told) || matches!(error, Error::Sources(problems) if problems.is_empty());
    Some(error.to_string()).filter(|message| !message.is_empty() && !is_told)
}
