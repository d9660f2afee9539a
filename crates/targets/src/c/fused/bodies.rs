//! What transitions do in the form that is printed: rewritten by passes for speed or for size, whichever a transition is worth.
//!
//! Nothing is printed to find out: how long statements would be is estimated from the values and effects
//! ([`headrace_transform::statements::size`]).

use super::folded::On;
use super::{KernelNames, Writer};
use crate::c::kernel;
use headrace_transform::control::Automaton;
use headrace_transform::kernel::{Block, Effect, TableId};
use headrace_transform::passes::canonical_form::Canonical;
use headrace_transform::passes::pass::BlockRef;
use headrace_transform::passes::pipelines::TRANSITION;
use headrace_transform::passes::reroll_loops;
use headrace_transform::statements::size;
use std::rc::Rc;

/// Size of a transition that typical messages seldom come through, from which on it is short where that makes it so many times
/// shorter.
const LONG: usize = 900;
const SHORTER: usize = 5;

/// Elements of a table that are as long as an operand.
const ELEMENTS: usize = 3;

/// A transition as it is printed.
#[derive(Clone)]
pub(super) struct Body<'e> {
    /// What passes have made of it; `None`: it is as it was.
    made: Option<Rc<Block>>,
    effects: &'e [Effect],
    /// The tables that stand above all functions, where others stand in the function.
    above: Option<Rc<[TableId]>>,
    /// How long it is.
    pub size: usize,
}

/// A transition that is short, not fast, where that makes a difference.
pub(super) type Short = Option<(Rc<Block>, Rc<[TableId]>)>;

impl<'e> Body<'e> {
    fn new(writer: &Writer, made: Option<Rc<Block>>, effects: &'e [Effect], above: Option<Rc<[TableId]>>) -> Body<'e> {
        let mut body = Body { made, effects, above, size: 0 };
        let block = body.block(writer);
        let own = |above: &Rc<[TableId]>| {
            let all = kernel::used_tables(block.graph, &Effect::roots(block.effects));
            let own = all.into_iter().filter(|table| !above.contains(table));
            own.map(|table| block.graph.table(table).elements.len() / ELEMENTS).sum::<usize>()
        };
        body.size = size(block.graph, block.effects) + body.above.as_ref().map_or(0, own);
        body
    }

    /// What is printed.
    pub(super) fn block<'b>(&'b self, writer: &'b Writer) -> BlockRef<'b> {
        match &self.made {
            Some(block) => BlockRef::of(block),
            None => writer.block(self.effects),
        }
    }

    /// What it was before passes.
    pub(super) fn effects(&self) -> &'e [Effect] {
        self.effects
    }

    /// Whether it stops the program where an index is wrong.
    pub(super) fn checks(&self, writer: &Writer) -> bool {
        let mut checks = false;
        Effect::walk(self.block(writer).effects, &mut |effect| checks |= matches!(effect, Effect::Check { .. }));
        checks
    }

    /// Its canonical form.
    pub(super) fn canonical(&self, writer: &Writer) -> Canonical {
        Canonical::of_block(self.block(writer))
    }

    /// The tables of the network that it reads.
    pub(super) fn tables(&self, writer: &Writer) -> Vec<TableId> {
        let block = self.block(writer);
        let mut used = kernel::used_tables(block.graph, &Effect::roots(block.effects));
        used.retain(|table| self.above.as_ref().is_none_or(|above| above.contains(table)));
        used
    }

    /// Its statements, below the definitions of tables that only it has; `on`: for contexts of any type.
    pub(super) fn statements(&self, writer: &Writer, on: Option<On>, depth: usize) -> String {
        let block = self.block(writer);
        let above = self.above.as_ref().map(|above| above.to_vec());
        let names = KernelNames { above, on, ..writer.names(Vec::new()) };
        let tables = match &self.above {
            Some(above) => kernel::tables_but(block.graph, &Effect::roots(block.effects), &names, above),
            None => String::new(),
        };
        tables + &kernel::statements(block.graph, block.objects, block.effects, &names, depth)
    }
}

impl Writer<'_> {
    /// The effects of a transition that leads from a state to another as they are printed.
    pub(super) fn body<'e>(&self, effects: &'e [Effect], (from, to): (usize, usize)) -> Body<'e> {
        if self.brief
            && !self.comes_again(from, to)
            && let Some(short) = self.short_body(effects)
        {
            return short;
        }
        if let Some(rolled) = self.brevity.rolled(effects, from, to) {
            return Body::new(self, Some(rolled), effects, None);
        }
        let fast = Body::new(self, TRANSITION.on_block(self.block(effects), &[]).map(Rc::new), effects, None);
        let is_seldom = self.hot.is_some_and(|hot| !hot[from] || !hot[to]) && !self.comes_again(from, to);
        let short = if is_seldom && fast.size >= LONG { self.short_body(effects) } else { None };
        short.filter(|short| short.size < fast.size / SHORTER).unwrap_or(fast)
    }

    /// Whether transitions lead back from a state to the one before it: at once, or by one other.
    fn comes_again(&self, from: usize, to: usize) -> bool {
        let mut found = from == to;
        self.automaton.states[to].step.transitions(&mut |_, target| found |= target == from);
        found
    }

    /// Effects over the objects of the automaton, all of which are lists.
    pub(super) fn block<'e>(&'e self, effects: &'e [Effect]) -> BlockRef<'e> {
        let Automaton { graph, objects, .. } = self.automaton;
        BlockRef { graph, objects, effects, n_indexed: objects.len(), filled: &[] }
    }

    /// The effects of a transition in a form that is short, not fast, where that makes a difference.
    pub(super) fn short_body<'e>(&self, effects: &'e [Effect]) -> Option<Body<'e>> {
        let known = self.short.borrow().get(effects).cloned();
        let found = known.unwrap_or_else(|| {
            let found = self.shortest(effects);
            self.short.borrow_mut().insert(effects.to_vec(), found.clone());
            found
        });
        let (block, above) = found?;
        Some(Body::new(self, Some(block), effects, Some(above)))
    }

    fn shortest(&self, effects: &[Effect]) -> Short {
        let shifted = TRANSITION.on_block(self.block(effects), &[]);
        let block = shifted.as_ref().map_or(self.block(effects), BlockRef::of);
        // What goes on far is shorter in registers now and then.
        let passes = [&reroll_loops::FOR_SIZE, &reroll_loops::PASS];
        let all = passes.into_iter().filter_map(|pass| pass.on_block(block));
        let shortest = all.min_by_key(|block| size(&block.graph, &block.effects))?;
        // Rerolled effects may have tables that transitions do not have.
        let above = kernel::used_tables(block.graph, &Effect::roots(block.effects));
        Some((Rc::new(shortest), above.into()))
    }
}
