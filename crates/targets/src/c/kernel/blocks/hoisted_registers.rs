//! Loop-invariant registers, hoisted out of the calls of a loop. What no iteration changes: computed when a call
//! begins, or before many calls by a function of its own.

use super::invariants::Once;
use super::{NotApplicable, Printer, shuffle_name};
use headrace_transform::kernel::{ObjectId, Op};
use headrace_vectorize::blocks::{BYTES, Block};
use std::collections::BTreeSet;
use std::fmt::Write as _;

impl Printer<'_> {
    /// Has somebody else hold what depends on none of these objects.
    pub(super) fn hold(&mut self, changed: &BTreeSet<ObjectId>) {
        let graph = &self.plan.graph;
        let is_changed = |id| matches!(graph.op(id), Op::Entry { object, .. } if changed.contains(object));
        let live = self.plan.blocks.iter().enumerate().filter(|(number, _)| self.plan.live[*number]);
        let stays = live.filter(|(_, block)| match block {
            Block::Invariant(node) => !graph.reachable([*node]).into_iter().any(is_changed),
            _ => false,
        });
        self.held = stays.enumerate().map(|(at, (number, _))| (number, at)).collect();
    }

    /// The function that computes what is held, if anything is.
    pub(super) fn held_function(&mut self) -> Result<String, NotApplicable> {
        if self.held.is_empty() {
            return Ok(String::new());
        }
        let bits = self.bits;
        let mut once = Once::new(self.plan, self.descriptions, self.names.names);
        let mut stores = String::new();
        for (&number, at) in &self.held {
            if let Block::Invariant(node) = self.plan.blocks[number] {
                let _ = writeln!(stores, "  held_[{at}] = {};", once.spread(node, bits));
            }
        }
        let (before, features) = once.finish()?;
        self.features.extend(features);
        let (attribute, function, state) = (self.attribute(), self.names.function, self.names.state);
        let entered = self.names.names.entered();
        Ok(format!(
            "{attribute}static void {function}_held({state} *s, HR_V{bits} *held_)\n{{\n{entered}{before}{stores}}}\n\n"
        ))
    }

    /// The attribute of functions with all features that have been asked for.
    pub(super) fn attribute(&self) -> String {
        let target: Vec<&str> = self.features.iter().map(String::as_str).collect();
        format!("__attribute__((target(\"{}\"))) ", target.join(","))
    }

    /// What no iteration changes, and masks of shuffles.
    pub(super) fn once(&mut self, text: &mut String) -> Result<(), NotApplicable> {
        let bits = self.bits;
        let mut once = Once::new(self.plan, self.descriptions, self.names.names);
        let (mut registers, mut has_ones) = (String::new(), false);
        let own = |number: &usize| self.own.contains(number);
        let mut shuffles: Vec<[Option<u8>; BYTES]> = Vec::new();
        for (number, block) in self.plan.blocks.iter().enumerate().filter(|(number, _)| self.plan.live[*number]) {
            match block {
                Block::Invariant(_) if own(&number) => {}
                Block::Invariant(node) => {
                    let value = match self.held.get(&number) {
                        Some(at) => format!("held_[{at}]"),
                        None => once.spread(*node, bits),
                    };
                    let _ = writeln!(registers, "  const HR_V{bits} r{number} = {value};");
                }
                Block::Shuffle { bytes, .. } if !shuffles.contains(bytes) => {
                    let places: Vec<String> =
                        bytes.iter().map(|at| at.map_or("128".into(), |at| at.to_string())).collect();
                    let name = shuffle_name(bytes);
                    let _ = writeln!(registers, "  static const uint8_t {name}_[16] = {{{}}};", places.join(","));
                    let _ = writeln!(registers, "  const HR_V{bits} {name} = HR_ALL{bits}({name}_);");
                    shuffles.push(*bytes);
                }
                Block::Not(_) if !std::mem::replace(&mut has_ones, true) => {
                    let _ = writeln!(registers, "  const HR_V{bits} ones_ = HR_SPREAD{bits}(_mm_set1_epi32(-1));");
                }
                _ => {}
            }
        }
        let (before, features) = once.finish()?;
        self.features.extend(features);
        text.push_str(&before);
        text.push_str(&registers);
        Ok(())
    }
}
