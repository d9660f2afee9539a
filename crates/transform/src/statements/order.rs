//! Linearisation of effects. A list of effects as statements.
//!
//! A value that is read more than once gets a variable, others stand where they are read. What an element held at the
//! beginning is read before anything is stored to its object; where no such place exists (an index that is loaded
//! later), the object is copied first.

use super::Together;
use super::bit_moves::{Outside, Place};
use super::code_motion::{Block, Plan, Point, Scopes, Step, Write};
use super::sink_for_pressure::late;
use crate::kernel::{Effect, Graph, NodeId, ObjectId, Op};
use headrace_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A statement. Each [`Statement::Define`] before it, in its block or one around it, says what has a variable there,
/// until [`Statement::Forget`]; a value that has one is read from it, any other where it is needed.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A list of this transition alone, of zeros.
    List(ObjectId),
    /// What an object holds, to be read from this copy.
    Copy(ObjectId),
    /// The variable of a load that is read outside of the block in which it is done; zero until then.
    Ahead(u32, ObjectId),
    /// A value gets a variable.
    Define {
        /// Which value.
        id: NodeId,
        /// How often it got one before.
        before: u32,
    },
    /// These values have no variables any more.
    Forget(Vec<NodeId>),
    /// Reads an element into the variable of a load.
    Load {
        /// The number of the load.
        id: u32,
        /// The object.
        object: ObjectId,
        /// Which element.
        index: NodeId,
        /// Whether there was a [`Statement::Ahead`].
        ahead: bool,
    },
    /// Writes an element at a place that is not known.
    Store {
        /// The object.
        object: ObjectId,
        /// Which element.
        index: NodeId,
        /// What.
        value: NodeId,
    },
    /// Writes where the place is known.
    Write(Write),
    /// Again and again, until a `Leave` in it.
    Loop(Vec<Statement>),
    /// Leaves the loop where the condition is 0.
    Leave(NodeId),
    /// The first block where the condition is 1, else the second.
    If(NodeId, Vec<Statement>, Vec<Statement>),
    /// Ends the run where the condition is 0: the index was not less than the length.
    Check {
        /// 1 bit.
        condition: NodeId,
        /// The index.
        index: NodeId,
        /// The number of elements.
        length: usize,
        /// Where the program says so.
        span: Span,
    },
}

/// Statements, and what holds for all of them.
#[derive(Clone, Debug)]
pub struct Ordered {
    /// One after the other.
    pub statements: Vec<Statement>,
    /// Objects of which what they held is read from a copy.
    pub copied: FxHashSet<ObjectId>,
    /// Nodes that may be computed where their index is not less than the length.
    pub guarded: FxHashSet<NodeId>,
}

/// When values are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// What a token or an element needs, in the order of the graph, for one after the other.
    ByEffect,
    /// What neighbouring tokens and elements need, in the order of the graph.
    ByNumber,
    /// Each right before what needs it first, where less is held then.
    Late,
}

/// Statements that do what a list of effects says.
pub fn ordered<N: Together + ?Sized>(outside: &mut Outside<'_, N>, effects: &[Effect], order: Order) -> Ordered {
    outside.stored = changing(outside.graph, effects);
    let outside = &*outside;
    let mut scopes = Scopes::default();
    let block = scopes.block(outside, effects, None);
    let plan = Plan::new(outside, &scopes, &block);
    let mut copied = FxHashSet::default();
    loop {
        let by_number = order == Order::ByNumber;
        let mut orderer = Orderer { by_number, ..Orderer::new(outside, &scopes, &plan, copied) };
        orderer.declare(&block);
        orderer.block(&block);
        if orderer.to_copy.is_empty() {
            let Orderer { out, copied, guarded, .. } = orderer;
            let statements = if order == Order::Late { late(outside, out, &FxHashSet::default()) } else { out };
            return Ordered { statements, copied, guarded };
        }
        // It turned out that contents must be kept: once more with copies.
        copied = orderer.copied;
        copied.extend(orderer.to_copy);
    }
}

/// Objects that change while others may still read what they held. Where all is written at places that are known, those that
/// get constants only are written last.
fn changing(graph: &Graph, effects: &[Effect]) -> FxHashSet<ObjectId> {
    let (mut stored, mut computed) = (FxHashSet::default(), FxHashSet::default());
    let mut is_straight = true;
    Effect::walk(effects, &mut |effect| match effect {
        Effect::Store { object, index, value } => {
            stored.insert(*object);
            is_straight &= graph.constant(*index).is_some();
            if graph.constant(*value).is_none() {
                computed.insert(*object);
            }
        }
        Effect::Output { .. } => {}
        _ => is_straight = false,
    });
    if is_straight { computed } else { stored }
}

struct Orderer<'a, N: ?Sized> {
    outside: &'a Outside<'a, N>,
    scopes: &'a Scopes,
    plan: &'a Plan,
    /// Values that have a variable here.
    locals: FxHashSet<NodeId>,
    copied: FxHashSet<ObjectId>,
    guarded: FxHashSet<NodeId>,
    /// Variables of each open scope.
    defined: Vec<Vec<NodeId>>,
    /// How often each node has been given a variable.
    definitions: FxHashMap<NodeId, u32>,
    /// Nodes that stand at steps with scopes inside.
    at_points: FxHashMap<Point, Vec<NodeId>>,
    /// Elements at the beginning that are not read yet, of objects that are stored to.
    entries: FxHashMap<ObjectId, Vec<NodeId>>,
    /// Variables of loads that are declared at the top.
    shared_loads: FxHashSet<u32>,
    to_copy: FxHashSet<ObjectId>,
    out: Vec<Statement>,
    /// Whether values are computed in the order of the graph.
    by_number: bool,
}

impl<'a, N: Together + ?Sized> Orderer<'a, N> {
    fn new(
        outside: &'a Outside<'a, N>,
        scopes: &'a Scopes,
        plan: &'a Plan,
        copied: FxHashSet<ObjectId>,
    ) -> Orderer<'a, N> {
        let mut at_points: FxHashMap<Point, Vec<NodeId>> = FxHashMap::default();
        let mut entries: FxHashMap<ObjectId, Vec<NodeId>> = FxHashMap::default();
        for (&id, &point) in &plan.points {
            if let Op::Entry { object, .. } = outside.graph.op(id)
                && outside.objects[object.0 as usize].persistent
                && !copied.contains(object)
            {
                entries.entry(*object).or_default().push(id);
            }
            if plan.locals.contains(&id) && !plan.changing.contains(&id) {
                at_points.entry(point).or_default().push(id);
            }
        }
        at_points.values_mut().chain(entries.values_mut()).for_each(|ids| ids.sort_unstable());
        Orderer {
            outside,
            scopes,
            plan,
            locals: FxHashSet::default(),
            copied,
            guarded: plan.early.clone(),
            defined: Vec::new(),
            definitions: FxHashMap::default(),
            at_points,
            entries,
            shared_loads: FxHashSet::default(),
            to_copy: FxHashSet::default(),
            out: Vec::new(),
            by_number: false,
        }
    }

    /// What stands above the first statement: lists of this transition, copies, and variables of loads that are read
    /// outside of their scope.
    fn declare(&mut self, block: &Block) {
        let mut local = Vec::new();
        let mut loads = Vec::new();
        survey(block, &mut local, &mut loads);
        local.sort_unstable();
        local.dedup();
        local.retain(|object| !self.outside.objects[object.0 as usize].persistent);
        self.out.extend(local.into_iter().map(Statement::List));
        let mut copied: Vec<ObjectId> = self.copied.iter().copied().collect();
        copied.sort_unstable();
        self.out.extend(copied.into_iter().map(Statement::Copy));
        for (number, object, scope) in loads {
            let readers = self.plan.dependents.get(&number);
            let mut points = readers.into_iter().flatten().filter_map(|id| self.plan.points.get(id));
            if points.any(|&point| self.scopes.seen_from(point, scope).is_none()) {
                self.shared_loads.insert(number);
                self.out.push(Statement::Ahead(number, object));
            }
        }
    }

    fn block(&mut self, block: &Block) {
        self.defined.push(Vec::new());
        for (position, step) in block.steps.iter().enumerate() {
            let point = Point { scope: block.scope, step: position };
            if matches!(step, Step::Loop(_) | Step::If(..)) || self.by_number && matches!(step, Step::Writes(_)) {
                for id in self.at_points.get(&point).cloned().unwrap_or_default() {
                    self.need(id);
                }
            }
            self.read_entries(step, point);
            self.step(step);
        }
        let ended = self.defined.pop().unwrap_or_default();
        self.no_longer(ended);
    }

    /// Reads what elements held at the beginning, where the step may change them and somebody asks later.
    fn read_entries(&mut self, step: &Step, at: Point) {
        let (stored, _) = step.touches();
        let mut stored: Vec<ObjectId> = stored.intersection(&self.outside.stored).copied().collect();
        stored.sort_unstable();
        for object in stored {
            let Some(waiting) = self.entries.get(&object) else { continue };
            let (later, kept): (Vec<NodeId>, Vec<NodeId>) = waiting.iter().copied().partition(|id| {
                let point = self.plan.points.get(id).and_then(|&point| self.scopes.seen_from(point, at.scope));
                point.is_some_and(|point| match step {
                    Step::If(..) => point.step > at.step,
                    _ => point.step >= at.step,
                })
            });
            self.entries.insert(object, kept);
            for id in later {
                if self.locals.contains(&id) {
                    continue;
                }
                let Op::Entry { index, .. } = self.outside.graph.op(id) else { continue };
                let same_scope = self.plan.points.get(&id).is_some_and(|point| point.scope == at.scope);
                let constant = self.outside.graph.constant(*index).is_some();
                if constant || same_scope && !self.plan.changing.contains(&id) {
                    if !constant {
                        // It may stand before what makes sure that there is such an element.
                        self.guarded.insert(id);
                    }
                    self.need(id);
                } else {
                    self.to_copy.insert(object);
                }
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Load { id, .. } if !self.plan.dependents.contains_key(id) => {}
            Step::Load { id, object, index } => {
                self.need_place(*object, *index);
                let ahead = self.shared_loads.contains(id);
                self.out.push(Statement::Load { id: *id, object: *object, index: *index, ahead });
                self.forget(&[*id]);
            }
            Step::Store { object, index, value } => {
                self.need_place(*object, *index);
                self.need(*value);
                self.out.push(Statement::Store { object: *object, index: *index, value: *value });
            }
            Step::Writes(writes) => {
                for write in writes {
                    if let Some(source) = write.source() {
                        self.need(source);
                    }
                    self.out.push(Statement::Write(write.clone()));
                }
            }
            Step::Loop(inner) => {
                let (_, loads) = step.touches();
                self.forget(&loads);
                let inner = self.nested(inner);
                self.out.push(Statement::Loop(inner));
            }
            Step::Leave(condition) => {
                self.need(*condition);
                self.out.push(Statement::Leave(*condition));
            }
            Step::Check { condition, index, length, span } => {
                self.need(*condition);
                self.need(*index);
                let (condition, index, length, span) = (*condition, *index, *length, *span);
                self.out.push(Statement::Check { condition, index, length, span });
            }
            Step::If(condition, then, otherwise) => {
                self.need(*condition);
                let then = self.nested(then);
                let otherwise = if otherwise.steps.is_empty() { Vec::new() } else { self.nested(otherwise) };
                self.out.push(Statement::If(*condition, then, otherwise));
            }
        }
    }

    fn nested(&mut self, block: &Block) -> Vec<Statement> {
        let outer = std::mem::take(&mut self.out);
        self.block(block);
        std::mem::replace(&mut self.out, outer)
    }

    fn no_longer(&mut self, ids: Vec<NodeId>) {
        ids.iter().for_each(|id| {
            self.locals.remove(id);
        });
        if !ids.is_empty() {
            self.out.push(Statement::Forget(ids));
        }
    }

    /// Forgets variables that depend on loads which are done again.
    fn forget(&mut self, loads: &[u32]) {
        for number in loads {
            let Some(dependents) = self.plan.dependents.get(number) else { continue };
            let mut old: Vec<NodeId> = self.locals.iter().filter(|id| dependents.contains(id)).copied().collect();
            old.sort_unstable();
            self.no_longer(old);
        }
    }

    /// Defines the variables that an element at a place that is not known reads.
    fn need_place(&mut self, object: ObjectId, index: NodeId) {
        if !self.outside.names.is_near(object, index) {
            self.need(index);
        }
    }

    /// Defines the variables that an expression of the node reads.
    fn need(&mut self, root: NodeId) {
        let mut missing = Vec::new();
        let mut seen = FxHashSet::default();
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if self.locals.contains(&id) || !seen.insert(id) {
                continue;
            }
            if self.plan.locals.contains(&id) {
                missing.push(id);
            }
            open.extend(self.outside.reads(id));
        }
        missing.sort_unstable();
        for id in missing {
            if let Op::Entry { object, .. } = self.outside.graph.op(id)
                && self.copied.contains(object)
                && self.plan.locals.contains(&id)
            {
                // Reads of a copy can stand anywhere.
                continue;
            }
            let definitions = self.definitions.entry(id).or_default();
            self.out.push(Statement::Define { id, before: *definitions });
            *definitions += 1;
            self.locals.insert(id);
            if let Some(scope) = self.defined.last_mut() {
                scope.push(id);
            }
        }
    }
}

fn survey(block: &Block, objects: &mut Vec<ObjectId>, loads: &mut Vec<(u32, ObjectId, usize)>) {
    for step in &block.steps {
        match step {
            Step::Load { id, object, .. } => {
                objects.push(*object);
                loads.push((*id, *object, block.scope));
            }
            Step::Store { object, .. } => objects.push(*object),
            Step::Writes(writes) => objects.extend(writes.iter().filter_map(|write| match write.place() {
                Place::Object(object) => Some(object),
                Place::Port(_) => None,
            })),
            Step::Loop(inner) => survey(inner, objects, loads),
            Step::If(_, then, otherwise) => {
                survey(then, objects, loads);
                survey(otherwise, objects, loads);
            }
            Step::Leave(_) | Step::Check { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Apart;
    use super::super::code_motion::PATCHED;
    use super::*;
    use crate::kernel::Object;

    fn list(name: &str) -> Object {
        Object { name: name.into(), width: 8, length: 32, persistent: true, residue: None }
    }

    /// A block is filled up from a buffer, whose bytes are then `cleared` by constants, or by others.
    fn padded(clear: impl Fn(&mut Graph, u64) -> NodeId) -> Vec<Statement> {
        let (buffer, block) = (ObjectId(0), ObjectId(1));
        let mut graph = Graph::new();
        let mut effects = Vec::new();
        for i in 0..32 {
            let index = graph.number(i.into(), 8);
            let held = graph.add(Op::Entry { object: buffer, index }, 8);
            let value = if i == 3 { graph.number(0x80, 8) } else { held };
            let cleared = clear(&mut graph, i);
            effects.push(Effect::Store { object: buffer, index, value: cleared });
            effects.push(Effect::Store { object: block, index, value });
        }
        let objects = [list("buffer"), list("block")];
        let mut outside = Outside { graph: &graph, objects: &objects, names: &Apart, stored: FxHashSet::default() };
        ordered(&mut outside, &effects, Order::ByEffect).statements
    }

    #[test]
    fn what_is_cleared_is_read_where_it_lies_in_one_piece_with_what_is_put_between() {
        let statements = padded(|graph, _| graph.number(0, 8));
        let kept = !(0xff_u128 << 24);
        let is_patched = |statement: &Statement| {
            matches!(statement, Statement::Write(Write::Patched {
                object: ObjectId(1), first: 0, from: ObjectId(0), at: 0, known, kept: others,
            }) if (*known, *others) == (0x80 << 24, kept))
        };
        assert!(is_patched(&statements[0]), "{:?}", statements[0]);
        let is_rest = |statement: &Statement| {
            matches!(statement, Statement::Write(Write::Copy { first: 16, n_bytes: PATCHED, at: 16, .. }))
        };
        assert!(is_rest(&statements[1]), "{:?}", statements[1]);
        // Only then is the buffer written.
        let buffer = Place::Object(ObjectId(0));
        assert!(
            statements[2..]
                .iter()
                .all(|statement| matches!(statement, Statement::Write(write) if write.place() == buffer))
        );
    }

    #[test]
    fn what_changes_otherwise_is_read_before() {
        let statements = padded(|graph, i| graph.input(0, i as i64, 8));
        let first = statements.iter().position(|statement| matches!(statement, Statement::Write(_)));
        let reads = statements.iter().filter(|statement| matches!(statement, Statement::Define { .. })).count();
        assert_eq!((first, reads), (Some(31), 31));
    }
}
