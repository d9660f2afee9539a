//! Instruction selection with all descriptions of instructions. A loop with the instructions of machines in the place of what
//! they compute; which of them a machine has is asked when the loop runs.

use headrace_instructions::{Description, choice, descriptions};
use headrace_transform::kernel::Loop;
use headrace_transform::passes::select_instructions::{self, Choice, SelectedLoop, select_in_loop};
use std::sync::OnceLock;

/// Nodes of a loop that instructions are looked for in.
pub const MOST_NODES: usize = 20_000;

/// What the instructions of machines mean, read once.
pub fn instructions() -> &'static [Description] {
    static ALL: OnceLock<Vec<Description>> = OnceLock::new();
    ALL.get_or_init(|| descriptions().unwrap_or_default())
}

/// A loop with instructions of machines, if there are some for it.
pub fn selected(body: &Loop) -> Option<SelectedLoop> {
    thread_local! {
        static CHOICE: Option<Choice> = choice(instructions(), |_| true).ok();
    }
    CHOICE.with(|choice| {
        let choice = choice.as_ref()?;
        select_instructions::PASS.tried(|| select_in_loop(body, &[], choice))
    })
}
