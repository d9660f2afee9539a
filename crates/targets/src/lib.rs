//! Target languages: a network in, the files of a program out.
//!
//! One folder a language, all of one shape: options, what is settled before anything is printed, and printing. Pure: a
//! target returns a map from path to bytes and does no IO.

pub mod c;
