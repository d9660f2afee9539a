//! Distributed loops: what loop distribution has made independent is vectorised. Loops that were taken apart, with what
//! is independent in them in wide registers.

use super::loops::{BLOCK_WIDTHS, Outside, Variant, blocks, blocks_with_held, few, stitched, ways};
use crate::c::kernel::{self, CFunction, Needs, machine};
use headrace_transform::passes::distribute_recurrence::SplitLoop;
use headrace_transform::passes::extract_reductions::Reductions;
use headrace_transform::passes::sink_copies::SunkCopies;
use std::collections::BTreeSet;

/// A loop without what is copied after all iterations, in all ways.
pub(super) fn copied(split: &SunkCopies, all: bool, outside: Outside) -> Vec<Variant> {
    let base = format!("{}_kept", outside.base);
    let print = |(at, variant): (usize, Variant)| {
        let way = format!("copied{at}");
        let function = kernel::with_copies(split, &variant.function, &outside.named(&outside.way(&way)));
        Variant { way, function, ..variant }
    };
    ways(&split.body, all, Outside { base: &base, ..outside }).into_iter().enumerate().map(print).collect()
}

/// A loop that was taken apart: what is independent of it, and what goes on.
pub(super) fn recurrence(split: &SplitLoop, outside: Outside) -> Vec<Variant> {
    let first = format!("{}_first", outside.base);
    let mut parts: Vec<(u32, CFunction, BTreeSet<String>)> =
        blocks(&split.independent, BLOCK_WIDTHS, Outside { base: &first, ..outside })
            .into_iter()
            .map(|(bits, blocks)| (bits, blocks.function, blocks.features))
            .collect();
    if parts.is_empty() {
        parts.extend(BLOCK_WIDTHS.iter().map(|&bits| {
            let function = kernel::sequential(&split.independent, &outside.named(&format!("{first}{bits}")));
            (bits, function, BTreeSet::new())
        }));
    }
    let print = |(bits, first, features): (u32, CFunction, BTreeSet<String>)| {
        let way = format!("split{bits}");
        let beside = outside.way(&format!("stitched{bits}"));
        let groups = stitched(split, bits, Outside { base: &beside, ..outside }).filter(|_| !features.is_empty());
        let few = few(split, bits, Outside { base: &outside.way(&format!("few{bits}")), ..outside });
        let few = few.filter(|_| !features.is_empty());
        let [stitched, printed] = [&groups, &few].map(|one| one.as_ref().map(|one| &one.function));
        let named = outside.way(&way);
        let (function, more) =
            kernel::recurrence(split, &first, stitched, printed, bits, &outside.named(&named)).ok()?;
        let mut features: BTreeSet<String> = features.union(&more).cloned().collect();
        features.extend(groups.into_iter().chain(few).flat_map(|one| one.features));
        Some(Variant { way, function, needs: Needs::of(&features), least_iterations: 0 })
    };
    parts.into_iter().filter_map(print).collect()
}

/// The same for any machine.
pub(super) fn portable(split: &SplitLoop, function: &str, outside: Outside) -> Option<CFunction> {
    let first = format!("{function}_first");
    let first = kernel::sequential(&split.independent, &outside.named(&first));
    kernel::portable_recurrence(split, &first, &outside.named(function)).ok()
}

/// A loop whose sums were taken out: what is independent of them in blocks, for machines that have instructions for it.
pub(super) fn sums(split: &Reductions, outside: Outside) -> Vec<Variant> {
    let first = format!("{}_first", outside.base);
    let changed = split.running.iter().map(|running| running.sum.object).collect();
    let outside_first = Outside { base: &first, ..outside };
    let blocks = blocks_with_held(&split.independent, BLOCK_WIDTHS, outside_first, Some(&changed));
    let print = |(bits, blocks): (u32, kernel::Blocks)| {
        let machine = machine::of_width(bits)?;
        let way = format!("sums{bits}");
        let named = outside.way(&way);
        let function =
            kernel::with_sums(split, &blocks.function, Some((bits, blocks.held)), machine, &outside.named(&named));
        let mut features = blocks.features;
        features.extend(machine.features.iter().cloned());
        Some(Variant { way, function, needs: Needs::of(&features), least_iterations: 0 })
    };
    blocks.into_iter().filter_map(print).collect()
}
