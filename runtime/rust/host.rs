//! The world outside of a network.

#![allow(dead_code, reason = "each network uses the part of it that its actors need")]

/// Why a run returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing can fire until tokens come or are taken.
    Idle,
    /// The limit was reached.
    Limit,
    /// The host stopped the program.
    Stopped,
    /// Calls nest too deep.
    TooDeep,
}

impl Status {
    pub(crate) fn of(number: u32) -> Self {
        match number {
            0 => Status::Idle,
            1 => Status::Limit,
            2 => Status::Stopped,
            _ => Status::TooDeep,
        }
    }
}

/// An argument of a native procedure.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A number.
    Value(i64),
    /// A list of bytes, which the native may change.
    Bytes(&'a mut [u8]),
}

/// What networks that print or call native procedures need.
pub trait Host {
    /// Shows bytes.
    fn print(&mut self, bytes: &[u8]);

    /// Shows the shortest decimal that reads back the same in a format of 16, 32 or 64 bits.
    fn print_real(&mut self, value: f64, bits: u32);

    /// A native procedure: its result, or nothing when the program is to stop.
    fn native(&mut self, name: &str, arguments: &mut [Argument<'_>]) -> Option<i64>;
}
