//! Validation of instruction selection. A loop with instructions, tried against the loop without: their descriptions
//! say what they give.

use super::Choice;
use super::meaning::Operands;
use crate::kernel::evaluate::Values;
use crate::kernel::evidence::{DRAWS, ITERATIONS, agree};
use crate::kernel::{Evidence, Loop};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// What both kinds of selection are held to.
const TRIED: [Evidence; 2] = [
    Evidence::Trial { what: "the loop with instructions against the loop", iterations: DRAWS * ITERATIONS },
    Evidence::Test {
        what: "descriptions of instructions against the processor",
        test: "crates/instructions/tests/machine.rs meanings_are_what_the_machine_does",
    },
];

/// Of instructions that compute layers of bytes.
pub(super) fn of_layers() -> Vec<Evidence> {
    let forms = [
        Evidence::Exhaustive { what: "functions of bytes against those of instructions", cases: 256 },
        Evidence::Basis { what: "linear maps of bytes against those of instructions", vectors: 8 },
    ];
    forms.into_iter().chain(TRIED).collect()
}

/// Of instructions on words.
pub(super) fn of_words() -> Vec<Evidence> {
    let forms = [
        Evidence::Identity { what: "sums of words in another order" },
        Evidence::Exhaustive { what: "bitwise functions of three words, bit by bit", cases: 8 },
    ];
    forms.into_iter().chain(TRIED).collect()
}

/// Whether both loops leave the same behind.
pub(super) fn loops_agree(old: &Loop, new: &Loop, choice: &Choice) -> bool {
    let meanings: RefCell<FxHashMap<u32, Values>> = RefCell::new(FxHashMap::default());
    let instruction = |description: u32, operands: &[u128]| {
        let Some(meaning) = choice.meanings.get(description as usize) else { return 0 };
        let mut known = meanings.borrow_mut();
        let values = known.entry(description).or_insert_with(|| Values::new(&meaning.graph, [meaning.result]));
        values.compute(&Operands(operands));
        values.of(meaning.result)
    };
    agree(old, new, 1, &instruction, &|_| {})
}
