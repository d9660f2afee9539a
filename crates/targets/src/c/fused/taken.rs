//! Loops that were taken apart, with what is independent in them in wide registers.

use super::loops::{Outside, Version, blocks, blocks_with_held, ways};
use crate::c::kernel::{self, CFunction, Machine};
use headrace_transform::passes::copied_last::CopiedLast;
use headrace_transform::passes::split_recurrence::SplitLoop;
use headrace_transform::passes::split_sums::SplitSums;
use std::collections::BTreeSet;

/// A loop without what is copied after all passes, in all ways.
pub(super) fn copied(split: &CopiedLast, all: bool, outside: Outside) -> Vec<Version> {
    let base = format!("{}_kept", outside.base);
    let print = |(at, version): (usize, Version)| {
        let function = format!("{}_copied{at}", outside.base);
        let function = kernel::with_copies(split, &version.function, &outside.named(&function));
        Version { function, ..version }
    };
    ways(&split.body, all, Outside { base: &base, ..outside }).into_iter().enumerate().map(print).collect()
}

/// A loop that was taken apart: what is independent of it, and what goes on.
pub(super) fn recurrence(split: &SplitLoop, outside: Outside) -> Vec<Version> {
    let first = format!("{}_first", outside.base);
    let mut parts: Vec<(u32, CFunction, BTreeSet<String>)> =
        blocks(&split.independent, &[512, 128], Outside { base: &first, ..outside })
            .into_iter()
            .map(|(bits, blocks)| (bits, blocks.function, blocks.features))
            .collect();
    if parts.is_empty() {
        let function = kernel::passes(&split.independent, &outside.named(&first));
        parts.extend([512, 128].map(|bits| {
            let name = format!("{first}{bits}");
            let text = function.text.replace(&first, &name);
            (bits, CFunction { name, text, ..function.clone() }, BTreeSet::new())
        }));
    }
    let print = |(bits, first, features): (u32, CFunction, BTreeSet<String>)| {
        let function = format!("{}_split{bits}", outside.base);
        let (function, more) = kernel::recurrence(split, &first, bits, &outside.named(&function)).ok()?;
        let features: BTreeSet<String> = features.union(&more).cloned().collect();
        Some(Version { function, supported: kernel::supported(&features), least_passes: 0 })
    };
    parts.into_iter().filter_map(print).collect()
}

/// A loop whose sums were taken out: what is independent of them in blocks, for machines that have instructions for it.
pub(super) fn sums(split: &SplitSums, outside: Outside) -> Vec<Version> {
    let first = format!("{}_first", outside.base);
    let changed = split.running.iter().map(|running| running.sum.object).collect();
    let outside_first = Outside { base: &first, ..outside };
    let blocks = blocks_with_held(&split.independent, &[512, 128], outside_first, Some(&changed));
    let print = |(bits, blocks): (u32, kernel::Blocks)| {
        let machine = Machine::named(if bits == 512 { "avx512" } else { "v128" })?;
        let function = format!("{}_sums{bits}", outside.base);
        let function =
            kernel::with_sums(split, &blocks.function, Some((bits, blocks.held)), machine, &outside.named(&function));
        let mut features = blocks.features;
        features.extend(machine.needs.iter().map(|&need| need.to_owned()));
        Some(Version { function, supported: kernel::supported(&features), least_passes: 0 })
    };
    blocks.into_iter().filter_map(print).collect()
}
