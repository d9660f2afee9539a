//! Instruction selection for the part of a transition that has blocks. Transitions of which only a part is for
//! instructions that work on blocks.

use super::outlined_transitions::{Faster, KernelFunctions};
use super::{ASKED, Writer, local_name};
use crate::c::kernel::{self, Needs};
use headrace_transform::kernel::{Effect, NodeId, Transition};
use headrace_transform::statements::size;
use headrace_vectorize::staged::{Followed, Source};
use std::fmt::Write as _;

impl Writer<'_> {
    /// A transition in another way than as plain statements, if a part of it can be.
    pub(super) fn in_stages(
        &self,
        transition: &Transition,
        effects: &[Effect],
        name: &str,
        functions: &mut KernelFunctions,
    ) -> Option<Faster> {
        let source = Source::of(self.automaton, self.network, transition);
        let mut of = |gathered: bool| {
            let staged = source.staged(effects, gathered)?;
            if !functions.may_select() {
                return None;
            }
            let (_, blocks) = self.blocks(&staged.body, name, &[128]).pop()?;
            Some((staged, blocks))
        };
        let (staged, blocks) = of(false).or_else(|| of(true))?;
        let asked: Vec<(String, NodeId)> =
            staged.bytes.iter().enumerate().map(|(at, &value)| (format!("staged_[{at}]"), value)).collect();
        let mut call = format!("uint8_t staged_[{}];\n", asked.len());
        let outputs = staged.bytes.iter().map(|&value| Effect::Output { port: ASKED, offset: 0, value });
        let all: Vec<Effect> = staged.first.iter().cloned().chain(outputs).collect();
        self.pointers(&all, None, 2, &mut call);
        call.push_str(&self.statements(&staged.first, asked, 2));
        let stored: Vec<String> = staged.stored.into_iter().map(|place| self.place(place)).collect();
        let one_iteration = self.one_iteration(&blocks.function.name, &staged.body, &["staged_".to_owned()], &stored);
        let _ = write!(call, "        {one_iteration}");
        Some(Faster {
            needs: Needs::of(&blocks.features),
            call,
            behind: String::new(),
            cycles: blocks.function.cycles,
            function: blocks.function.with_evidence(),
            size: blocks.function.size,
            support: blocks.function.support,
        })
    }

    /// A transition of which the rest is short once its blocks are stored.
    pub(super) fn followed(
        &self,
        transition: &Transition,
        effects: &[Effect],
        name: &str,
        may_select: impl FnOnce() -> bool,
    ) -> Option<Faster> {
        let Followed { first, body, stored, handed, behind } =
            Source::of(self.automaton, self.network, transition).followed(effects)?;
        if !may_select() {
            return None;
        }
        let (_, blocks) = self.blocks(&body, name, &[128]).pop()?;
        let mut stored: Vec<String> = stored.into_iter().map(|place| self.place(place)).collect();
        let mut call = String::new();
        let mut names = self.names(Vec::new());
        if let Some(object) = &handed {
            stored.push(local_name(object));
            names.local.push(object.name.clone());
            let _ = write!(call, "uint8_t {}[{}];\n        ", local_name(object), object.length);
        }
        if !first.is_empty() {
            call.push_str("{\n");
            self.in_context().pointers(&first, None, 3, &mut call);
            call.push_str(&self.statements(&first, Vec::new(), 3));
            call.push_str("        }\n        ");
        }
        call.push_str(&self.one_iteration(&blocks.function.name, &body, &[], &stored));
        let rest = kernel::statements(&behind.graph, &behind.objects, &behind.effects, &names, 2);
        Some(Faster {
            needs: Needs::of(&blocks.features),
            call,
            behind: rest,
            cycles: blocks.function.cycles,
            size: blocks.function.size + size(&behind.graph, &behind.effects),
            function: blocks.function.with_evidence(),
            support: blocks.function.support,
        })
    }
}
