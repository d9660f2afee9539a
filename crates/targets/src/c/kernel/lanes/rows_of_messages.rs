//! Transposition of rows from scattered addresses. Rows of several messages, each of which lies somewhere else.
//!
//! Vectors that hold no more than one row are read and written straight where it lies. Those of a few short rows are
//! put together from registers and taken apart into them: what is stored in pieces and loaded as a whole waits until
//! all pieces have left the processor. Other rows go through a pad.

use super::super::vectors::{behind, lie_together, load_words, store_words, vector_support};
use super::super::words::Layout;
use super::Printer;
use std::fmt::Write as _;

/// Bytes of the shortest register.
const SHORTEST: u64 = 16;

/// How rows of messages become vectors.
enum Way {
    /// Vectors hold one row at most.
    Straight,
    /// Vectors hold several rows, and registers one.
    Joined,
    Pad,
}

/// The vector that rows become, and in which they stand before they are written; `word` is the first.
fn whole(word: &str, vector: u64) -> String {
    format!("{word}g{vector}")
}

/// Where byte `at` of rows one after the other lies, from the row of message `first` on; `side` is `i` or `o`.
fn straight(side: char, port: usize, row: u64, first: u64, at: u64) -> String {
    format!("{side}{port}_[{}] + at_ * {row} + {}", first + at / row, at % row)
}

/// Numbers of `n` messages from `first` on, and where their rows begin.
fn rows(side: char, port: usize, row: u64, first: u64, n: u64) -> Vec<(u64, String)> {
    (first..first + n).map(|message| (message, format!("{side}{port}_[{message}] + at_ * {row}"))).collect()
}

impl Printer<'_> {
    fn way(&self, layout: &Layout) -> Way {
        let (row, vector) = (layout.bytes(), u64::from(self.machine.vector_bits / 8));
        match lie_together(layout, self.lane()) {
            true if row.is_multiple_of(vector) => Way::Straight,
            true if row.is_power_of_two() && row >= SHORTEST => Way::Joined,
            _ => Way::Pad,
        }
    }

    /// Statements that make words of a row of each message from the first of a group on.
    pub(super) fn rows_in(
        &mut self,
        (port, layout): (usize, &Layout),
        first: u64,
        name: &dyn Fn(u64) -> String,
    ) -> String {
        let (bits, lane, row) = (self.machine.vector_bits, self.lane(), layout.bytes());
        let lanes = u64::from(bits / lane);
        match self.way(layout) {
            Way::Straight => {
                let from = |at: u64| straight('i', port, row, first, at);
                load_words(layout, bits, lane, &from, name, "    ")
            }
            Way::Joined => {
                let bytes = u64::from(bits / 8);
                let mut text = String::new();
                for vector in 0..lanes * row / bytes {
                    let rows = rows('i', port, row, first + vector * (bytes / row), bytes / row);
                    text.push_str(&self.joined(rows, row, &whole(&name(0), vector)));
                }
                let from = |at: u64| format!("&{}", whole(&name(0), at / bytes));
                text + &load_words(layout, bits, lane, &from, name, "    ")
            }
            Way::Pad => {
                let pad = format!("pad_in{port}_{first}_");
                let text = format!(
                    "    uint8_t {pad}[{}];\n    for (size_t i = 0; i < {lanes}; i++) memcpy({pad} + i * {row}, i{port}_[{first} + i] + at_ * {row}, {row});\n",
                    row * lanes
                );
                text + &load_words(layout, bits, lane, &behind(&pad), name, "    ")
            }
        }
    }

    /// Statements that write words as a row of each message from the first of a group on.
    pub(super) fn rows_out(
        &mut self,
        (port, layout): (usize, &Layout),
        first: u64,
        name: &dyn Fn(u64) -> String,
    ) -> String {
        let (bits, lane, row) = (self.machine.vector_bits, self.lane(), layout.bytes());
        let lanes = u64::from(bits / lane);
        match self.way(layout) {
            Way::Straight => {
                let to = |at: u64| straight('o', port, row, first, at);
                store_words(layout, bits, lane, &to, None, name, "    ")
            }
            Way::Joined => {
                let bytes = u64::from(bits / 8);
                let vectors = lanes * row / bytes;
                let mut text = String::new();
                for vector in 0..vectors {
                    let _ = writeln!(text, "    {} {};", self.v(), whole(&name(0), vector));
                }
                let to = |at: u64| format!("&{}", whole(&name(0), at / bytes));
                text.push_str(&store_words(layout, bits, lane, &to, None, name, "    "));
                for vector in 0..vectors {
                    let rows = rows('o', port, row, first + vector * (bytes / row), bytes / row);
                    text.push_str(&self.apart(rows, row, &whole(&name(0), vector)));
                }
                text
            }
            Way::Pad => {
                let pad = format!("pad_out{port}_{first}_");
                let text = format!("    uint8_t {pad}[{}];\n", row * lanes);
                let text = text + &store_words(layout, bits, lane, &behind(&pad), None, name, "    ");
                format!(
                    "{text}    for (size_t i = 0; i < {lanes}; i++) memcpy(o{port}_[{first} + i] + at_ * {row}, {pad} + i * {row}, {row});\n"
                )
            }
        }
    }

    /// The type of a register of some bytes.
    fn register(&mut self, bytes: u64) -> String {
        let lane = self.lane();
        self.support(vector_support(bytes as u32 * 8, lane));
        format!("hr_v{}x{lane}", bytes * 8)
    }

    /// Statements that make a vector of rows, each with its number and where it lies.
    fn joined(&mut self, rows: Vec<(u64, String)>, row: u64, name: &str) -> String {
        let mut text = String::new();
        let mut kind = self.register(row);
        let mut parts: Vec<String> = Vec::new();
        for (number, from) in rows {
            let part = format!("{name}r{number}");
            let _ = writeln!(text, "    {kind} {part}; memcpy(&{part}, {from}, {row});");
            parts.push(part);
        }
        let mut bytes = row;
        while parts.len() > 1 {
            bytes *= 2;
            kind = self.register(bytes);
            let all = places(0, bytes, self.lane());
            let last = parts.len() == 2;
            let mut longer = Vec::new();
            for (at, pair) in parts.chunks(2).enumerate() {
                let part = if last { name.to_owned() } else { format!("{name}j{bytes}_{at}") };
                let _ =
                    writeln!(text, "    const {kind} {part} = __builtin_shufflevector({}, {all});", pair.join(", "));
                longer.push(part);
            }
            parts = longer;
        }
        text
    }

    /// Statements that write a vector as rows, each where it belongs.
    fn apart(&mut self, rows: Vec<(u64, String)>, row: u64, name: &str) -> String {
        let mut text = String::new();
        let mut parts = vec![name.to_owned()];
        let mut bytes = u64::from(self.machine.vector_bits / 8);
        while bytes > row {
            bytes /= 2;
            let kind = self.register(bytes);
            let lane = self.lane();
            let halves = [places(0, bytes, lane), places(bytes, bytes, lane)];
            let mut shorter = Vec::new();
            for part in parts {
                for (at, half) in halves.iter().enumerate() {
                    let own = format!("{part}h{at}");
                    let _ = writeln!(text, "    const {kind} {own} = __builtin_shufflevector({part}, {part}, {half});");
                    shorter.push(own);
                }
            }
            parts = shorter;
        }
        for (part, (_, to)) in parts.iter().zip(rows) {
            let _ = writeln!(text, "    memcpy({to}, &{part}, {row});");
        }
        text
    }
}

/// Numbers of the lanes that some bytes hold.
fn places(first: u64, bytes: u64, lane: u32) -> String {
    let lane = u64::from(lane / 8);
    (first / lane..(first + bytes) / lane).map(|place| place.to_string()).collect::<Vec<_>>().join(",")
}
