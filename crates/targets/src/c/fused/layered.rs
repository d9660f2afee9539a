//! Superword-level parallelism over bytes, in straight-line transitions. Transitions of bytes as layers of registers.

use super::Writer;
use super::outlined_transitions::Faster;
use crate::c::kernel::{self, LoopNames, Needs, Strategy, machine};
use headrace_transform::control::once;
use headrace_transform::kernel::{Effect, Transition};

/// Values of a transition from which on it is looked at.
const FEWEST_NODES: usize = 64;

impl Writer<'_> {
    /// Effects of a transition as layers of bytes, if those are faster than plain statements.
    pub(super) fn layered(&self, transition: &Transition, effects: &[Effect], name: &str) -> Option<Faster> {
        let body = once(self.automaton, self.network, transition, effects)?;
        if body.graph.len() < FEWEST_NODES {
            return None;
        }
        let function = format!("{name}_layers");
        let (state, tables) = (format!("struct {}", self.prefix), self.loop_names(String::new()));
        let names = LoopNames { function: &function, state: &state, names: &tables };
        let machine = machine::for_affine_maps()?;
        let printed = kernel::print_loop(&body, machine, Strategy::Layers, &names).ok()?;
        if printed.cycles >= kernel::sequential(&body, &names).cycles {
            return None;
        }
        Some(Faster {
            needs: Needs::of(&machine.features),
            call: self.one_iteration(&function, &body, &[], &[]),
            behind: String::new(),
            cycles: printed.cycles,
            function: printed.with_evidence(),
            size: printed.size,
            support: printed.support,
        })
    }
}
