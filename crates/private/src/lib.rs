//! Places that nobody else can change, what is kept there, and processes with limits: what running compiled code is safe by.
//!
//! Code is compiled in a [`PrivateFolder`] by a process that [`processes`] stops when it takes too long, and loaded only from
//! where [`trust`] finds that no other user could have put something else. What took long to make is kept in a [`cache`] that is
//! held to the same.

pub mod cache;
mod folder;
pub mod limits;
pub mod processes;
pub mod trust;

pub use folder::{PrivateFolder, forget, places, remove_unfinished, remove_when_interrupted};

/// The reason of an error, without the number that Rust adds.
pub fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
