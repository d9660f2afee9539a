//! Outlining of what exceeds the size of a method. Functions that are too large for one method: their variables become fields
//! of an object, and statements that are many become methods of their own, which say how they end: 0 where what follows is
//! next, else the number of a jump that the caller makes for them.

use super::size::{CALL, Size};
use headrace_program::{Label, Stmt};

/// A jump out of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    Break(Label),
    Continue(Label),
    Return,
}

/// The parts of a function.
pub(super) struct Parts {
    /// The name of its method.
    pub(super) function: String,
    /// Bytes of code that a part should have at most.
    pub(super) most: u32,
    /// What is printed of them.
    pub(super) text: String,
    /// The loops around what is printed now, in its part.
    pub(super) loops: Vec<Label>,
    /// Of each statement around what is printed now: all of its blocks are to be parts.
    pub(super) heavy: Vec<bool>,
    count: u32,
    /// Of the part that is printed now.
    exits: Option<Vec<Exit>>,
}

impl Parts {
    pub(super) fn new(function: &str, most: u32) -> Self {
        Self {
            function: function.to_owned(),
            most,
            text: String::new(),
            loops: Vec::new(),
            heavy: Vec::new(),
            count: 0,
            exits: None,
        }
    }

    /// The class of the variables of a function.
    pub(super) fn class(function: &str) -> String {
        format!("Variables_{function}__")
    }

    /// The name of the next part.
    pub(super) fn next(&mut self) -> String {
        self.count += 1;
        format!("{}_part_{}__", self.function, self.count)
    }

    /// Begins a part; gives what is kept of the one around it.
    pub(super) fn enter(&mut self) -> (Vec<Label>, Option<Vec<Exit>>) {
        (std::mem::take(&mut self.loops), self.exits.replace(Vec::new()))
    }

    /// Ends it; gives the jumps out of it.
    pub(super) fn leave(&mut self, (loops, exits): (Vec<Label>, Option<Vec<Exit>>)) -> Vec<Exit> {
        self.loops = loops;
        std::mem::replace(&mut self.exits, exits).unwrap_or_default()
    }

    /// Whether a part is printed, not the method that begins.
    pub(super) fn is_inside(&self) -> bool {
        self.exits.is_some()
    }

    /// What the part gives back for a jump, if that leaves it.
    pub(super) fn code(&mut self, exit: Exit) -> Option<usize> {
        let exits = self.exits.as_mut()?;
        if let Exit::Break(to) | Exit::Continue(to) = exit
            && self.loops.contains(&to)
        {
            return None;
        }
        let at = exits.iter().position(|known| *known == exit).unwrap_or_else(|| {
            exits.push(exit);
            exits.len() - 1
        });
        Some(at + 1)
    }
}

/// Bytes of a statement where blocks that are too large are parts.
fn rest(statement: &Stmt, most: u32) -> u32 {
    let blocks: Vec<u32> = statement.blocks().into_iter().map(|block| rest_of_block(block, most)).collect();
    let own = Size::IN_PARTS.own(statement);
    let here = blocks.iter().fold(own, |sum, size| sum.saturating_add(*size));
    if here <= most { here } else { blocks.iter().fold(own, |sum, size| sum.saturating_add((*size).min(CALL))) }
}

fn rest_of_block(block: &[Stmt], most: u32) -> u32 {
    let chunks = chunks(block, most, false);
    chunks.iter().map(|chunk| if chunk.apart { CALL } else { chunk.size }).fold(0, u32::saturating_add)
}

/// Whether the blocks of a statement are too large together.
pub(super) fn is_heavy(statement: &Stmt, most: u32) -> bool {
    let blocks = statement.blocks().into_iter().map(|block| rest_of_block(block, most));
    blocks.fold(Size::IN_PARTS.own(statement), u32::saturating_add) > most
}

/// A piece of a block.
pub(super) struct Chunk<'a> {
    pub(super) statements: &'a [Stmt],
    /// It is to be a part.
    pub(super) apart: bool,
    size: u32,
}

/// The pieces of a block: one where all fits into one method, which is a part only if the block is heavy.
pub(super) fn chunks(block: &[Stmt], most: u32, heavy: bool) -> Vec<Chunk<'_>> {
    let sizes: Vec<u32> = block.iter().map(|statement| rest(statement, most)).collect();
    let all = sizes.iter().fold(0, |sum: u32, size| sum.saturating_add(*size));
    let chunk = |statements, size, apart: bool| Chunk { statements, apart: apart && size > CALL, size };
    if all <= most {
        return vec![chunk(block, all, heavy)];
    }
    let mut pieces = Vec::new();
    let (mut from, mut filled) = (0, 0u32);
    for (at, size) in sizes.iter().enumerate() {
        if filled > 0 && filled.saturating_add(*size) > most {
            pieces.push(chunk(&block[from..at], filled, true));
            (from, filled) = (at, 0);
        }
        filled = filled.saturating_add(*size);
    }
    pieces.push(chunk(&block[from..], filled, true));
    pieces
}
