//! Function stitching: loop fusion whose two bodies are interleaved statement by statement. What a loop was taken apart
//! into runs as one loop again, and each part computes while the other waits for its results.
//!
//! Blocks that do not need each other keep the units for ciphers busy, sums of products those for multiplications, but
//! one after the other neither fills a processor: it looks only so far ahead. So statements of both alternate. Where
//! products are of blocks that the loop makes, they are those of the group before:
//!
//! ```text
//! first(s, in, out, n);  f_stitched(s, in + n, out + n, …);  recurrence(s, out + … - n, n);
//! ```

use super::blocks::{Beside, Blocks, blocks_beside};
use super::loop_frame::LoopNames;
use super::recurrence::{BYTES, Group, blocks_of, group_beside};
use super::words::NotApplicable;
use headrace_instructions::Description;
use headrace_transform::kernel::Loop;
use headrace_transform::passes::distribute_recurrence::SplitLoop;

/// Prints the groups of a loop that was taken apart, with `selected` as its independent part after instruction
/// selection. What is printed takes as many iterations as fill groups, at least one.
///
/// # Errors
///
/// Why it cannot be: powers that are not kept from call to call, or parts that go on in groups of different sizes.
pub fn stitched(
    split: &SplitLoop,
    selected: &Loop,
    descriptions: &[Description],
    bits: u32,
    names: &LoopNames,
) -> Result<Blocks, NotApplicable> {
    let tokens = blocks_of(split)?;
    let array = if tokens.is_output { "out" } else { "in" };
    let behind = if tokens.is_output { iterations(bits) * BYTES as usize } else { 0 };
    let read = format!("{array}{} - {behind}", tokens.port);
    let Group { before, statements, after, features, support } = group_beside(split, bits, &read, names)?;
    let beside = Beside { iterations: iterations(bits), before, statements, after, features };
    let mut blocks = blocks_beside(selected, descriptions, bits, names, &beside)?;
    blocks.function.support.extend(support);
    Ok(blocks)
}

/// Iterations of a group.
pub(super) fn iterations(bits: u32) -> usize {
    headrace_vectorize::products::REGISTERS as usize * bits as usize / 128
}
