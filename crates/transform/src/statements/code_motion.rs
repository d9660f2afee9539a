//! Code motion: the earliest point that dominates all uses. Where in a list of effects a node gets its local variable:
//! at the first place from which all that read it can see it.

use super::Together;
use super::bit_moves::{Outside, Place};
use crate::kernel::{Effect, Graph, NodeId, ObjectId, Op};
use headrace_source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// A step of a block: its scope and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Point {
    pub scope: usize,
    pub step: usize,
}

/// Something that is written where it is known when the text is made.
#[derive(Clone, Debug)]
pub enum Write {
    /// A token or an element.
    One {
        /// Where it goes.
        place: Place,
        /// Which token or element.
        index: u64,
        /// What.
        value: NodeId,
    },
    /// Neighbouring bytes, which are those of a value from bit `lo` on.
    Bytes {
        /// Where they go.
        place: Place,
        /// The first of them.
        first: u64,
        /// How many.
        n_bytes: u32,
        /// The first is the most significant.
        big: bool,
        /// The value.
        source: NodeId,
        /// Its lowest bit that is written; negative: so many zeros below it are written, too.
        lo: i32,
    },
    /// Neighbouring elements, which are bytes that lie side by side from `at` on where nothing is written: in one
    /// piece, so that who reads them in one piece finds them that way.
    Copy {
        /// Where they go.
        place: Place,
        /// The first of them.
        first: u64,
        /// How many.
        n_bytes: usize,
        /// Where they lie.
        from: Place,
        /// The first of them there.
        at: i64,
    },
    /// A part of a list: bytes of another list where nothing is written, of which some are known and others come in their
    /// place. One store, as copies are, so that it is forwarded to loads of as many bytes.
    Patched {
        /// Where they go.
        object: ObjectId,
        /// The first of [`PATCHED`] of them.
        first: u64,
        /// Where they lie.
        from: ObjectId,
        /// The first of them there.
        at: u64,
        /// Those that are known, as bits of the whole.
        known: u128,
        /// The bits of the others.
        kept: u128,
    },
    /// A part of a list: bytes that lie side by side where nothing is written, with known ones around them. One store, too.
    Filled {
        /// Where they go.
        object: ObjectId,
        /// The first of [`PATCHED`] of them.
        first: u64,
        /// Where those that are not known lie.
        from: Place,
        /// The first of them there.
        at: i64,
        /// How many: at least four.
        n_bytes: usize,
        /// Which of the whole is the first of them.
        skipped: usize,
        /// Those that are known, as bits of the whole.
        known: u128,
    },
}

impl Write {
    /// The value that must be known, if any.
    pub(super) fn source(&self) -> Option<NodeId> {
        match self {
            Write::One { value, .. } => Some(*value),
            Write::Bytes { source, .. } => Some(*source),
            Write::Copy { .. } | Write::Patched { .. } | Write::Filled { .. } => None,
        }
    }

    /// Where it is written.
    pub fn place(&self) -> Place {
        match self {
            Write::One { place, .. } | Write::Bytes { place, .. } | Write::Copy { place, .. } => *place,
            Write::Patched { object, .. } | Write::Filled { object, .. } => Place::Object(*object),
        }
    }
}

/// Bytes that are at least so many are copied in one piece.
const COPIED: usize = 4;

/// Bytes that are patched in one piece: what vectors of 128 bits hold, which block functions read their text in.
pub const PATCHED: usize = 16;

/// What a block does, one after the other.
#[derive(Debug)]
pub(super) enum Step {
    Load {
        id: u32,
        object: ObjectId,
        index: NodeId,
    },
    /// Objects that get constants only come last.
    Writes(Vec<Write>),
    Store {
        object: ObjectId,
        index: NodeId,
        value: NodeId,
    },
    /// Again and again, until a `Leave` in it.
    Loop(Block),
    /// Leaves the loop where the condition is 0.
    Leave(NodeId),
    If(NodeId, Block, Block),
    /// Ends the run where the condition is 0.
    Check {
        condition: NodeId,
        index: NodeId,
        length: usize,
        span: Span,
    },
}

/// Steps that share a scope of C.
#[derive(Debug)]
pub(super) struct Block {
    pub scope: usize,
    pub steps: Vec<Step>,
}

impl Step {
    pub fn uses(&self) -> Vec<NodeId> {
        match self {
            Step::Load { index, .. } => vec![*index],
            Step::Writes(writes) => writes.iter().filter_map(Write::source).collect(),
            Step::Store { index, value, .. } => vec![*index, *value],
            Step::Loop(_) => Vec::new(),
            Step::Leave(condition) | Step::If(condition, ..) => vec![*condition],
            Step::Check { condition, index, .. } => vec![*condition, *index],
        }
    }

    /// Objects that the step may write, and loads that it may do.
    pub fn touches(&self) -> (FxHashSet<ObjectId>, Vec<u32>) {
        let (mut stored, mut loads) = (FxHashSet::default(), Vec::new());
        self.touch(&mut stored, &mut loads);
        (stored, loads)
    }

    fn touch(&self, stored: &mut FxHashSet<ObjectId>, loads: &mut Vec<u32>) {
        let mut inside = |block: &Block| block.steps.iter().for_each(|step| step.touch(stored, loads));
        match self {
            Step::Loop(block) => inside(block),
            Step::If(_, then, otherwise) => {
                inside(then);
                inside(otherwise);
            }
            Step::Load { id, .. } => loads.push(*id),
            Step::Store { object, .. } => {
                stored.insert(*object);
            }
            Step::Writes(writes) => stored.extend(writes.iter().filter_map(|write| match write.place() {
                Place::Object(object) => Some(object),
                Place::Port(_) => None,
            })),
            Step::Leave(_) | Step::Check { .. } => {}
        }
    }
}

/// Blocks and the scopes around them.
#[derive(Default)]
pub(super) struct Scopes {
    /// The step that each scope stands in; `None` for the outermost.
    around: Vec<Option<Point>>,
}

impl Scopes {
    /// Makes a block of effects that stands in a step.
    pub fn block<N: Together + ?Sized>(
        &mut self,
        outside: &Outside<'_, N>,
        effects: &[Effect],
        around: Option<Point>,
    ) -> Block {
        let mut block = self.open(around);
        self.add_steps(outside, effects, &mut block);
        block
    }

    fn open(&mut self, around: Option<Point>) -> Block {
        self.around.push(around);
        Block { scope: self.around.len() - 1, steps: Vec::new() }
    }

    fn add_steps<N: Together + ?Sized>(&mut self, outside: &Outside<'_, N>, effects: &[Effect], block: &mut Block) {
        let mut written: Vec<(Place, u64, NodeId)> = Vec::new();
        for effect in effects {
            match effect {
                Effect::Output { port, offset, value } => {
                    written.push((Place::Port(*port), *offset, *value));
                    continue;
                }
                Effect::Store { object, index, value } => {
                    if let Some(index) = outside.graph.constant(*index) {
                        written.push((Place::Object(*object), index as u64, *value));
                        continue;
                    }
                }
                _ => {}
            }
            flush(outside, &mut written, block);
            let here = Some(Point { scope: block.scope, step: block.steps.len() });
            let step = match effect {
                Effect::Load { id, object, index } => Step::Load { id: *id, object: *object, index: *index },
                Effect::Store { object, index, value } => Step::Store { object: *object, index: *index, value: *value },
                Effect::While { before, condition, body, .. } => {
                    let mut inner = self.open(here);
                    self.add_steps(outside, before, &mut inner);
                    inner.steps.push(Step::Leave(*condition));
                    self.add_steps(outside, body, &mut inner);
                    Step::Loop(inner)
                }
                Effect::If { condition, then, otherwise } => {
                    let then = self.block(outside, then, here);
                    Step::If(*condition, then, self.block(outside, otherwise, here))
                }
                Effect::Check { condition, index, length, span } => {
                    Step::Check { condition: *condition, index: *index, length: *length, span: *span }
                }
                Effect::Output { .. } => continue,
            };
            block.steps.push(step);
        }
        flush(outside, &mut written, block);
    }

    /// The point of `scope` that a point stands in or is; `None` where it stands outside of that scope.
    pub fn seen_from(&self, mut point: Point, scope: usize) -> Option<Point> {
        while point.scope != scope {
            point = self.around[point.scope]?;
        }
        Some(point)
    }

    fn depth(&self, scope: usize) -> usize {
        std::iter::successors(self.around[scope], |point| self.around[point.scope]).count()
    }

    /// The latest point that comes before both or is one of them.
    fn join(&self, mut a: Point, mut b: Point) -> Point {
        while a.scope != b.scope {
            let deeper = if self.depth(a.scope) >= self.depth(b.scope) { &mut a } else { &mut b };
            match self.around[deeper.scope] {
                Some(point) => *deeper = point,
                None => break,
            }
        }
        Point { scope: a.scope, step: a.step.min(b.step) }
    }
}

/// Ends a run of writes: the last to each place counts, and neighbouring bytes of one value go together.
fn flush<N: Together + ?Sized>(outside: &Outside<'_, N>, written: &mut Vec<(Place, u64, NodeId)>, block: &mut Block) {
    if written.is_empty() {
        return;
    }
    let mut run = std::mem::take(written);
    let order = |place: Place| match place {
        Place::Port(port) => (0, port),
        Place::Object(object) => (1, object.0),
    };
    run.reverse();
    let computed: FxHashSet<Place> =
        run.iter().filter(|write| outside.graph.constant(write.2).is_none()).map(|write| write.0).collect();
    run.sort_by_key(|&(place, index, _)| (!computed.contains(&place), order(place), index));
    run.dedup_by_key(|write| (write.0, write.1));
    let mut writes = Vec::new();
    let mut rest = &run[..];
    while let Some((&(place, index, value), after)) = rest.split_first() {
        let joined = patched(outside, rest)
            .or_else(|| filled(outside, rest))
            .or_else(|| copied(outside, rest))
            .or_else(|| together(outside, rest));
        if let Some((n, write)) = joined {
            rest = &rest[n..];
            writes.push(write);
        } else {
            rest = after;
            writes.push(Write::One { place, index, value });
        }
    }
    block.steps.push(Step::Writes(writes));
}

fn copied<N: Together + ?Sized>(outside: &Outside<'_, N>, run: &[(Place, u64, NodeId)]) -> Option<(usize, Write)> {
    let &(place, first, value) = run.first()?;
    let Place::Object(object) = place else { return None };
    let (from, at) = outside.byte(value)?;
    let follows = |(i, &(other, index, value)): (usize, &(Place, u64, NodeId))| {
        other == place && index == first + i as u64 && outside.byte(value) == Some((from, at + i as i64))
    };
    let n_bytes = run.iter().enumerate().take_while(|&pair| follows(pair)).count();
    let whole = outside.objects[object.0 as usize].width == 8 && outside.lie_together(from, at, n_bytes as u32);
    (n_bytes >= COPIED && whole).then_some((n_bytes, Write::Copy { place, first, n_bytes, from, at }))
}

/// A part of a list of bytes that are bytes of another one at the same distance, or known.
fn patched<N: Together + ?Sized>(outside: &Outside<'_, N>, run: &[(Place, u64, NodeId)]) -> Option<(usize, Write)> {
    let (part, graph) = (run.get(..PATCHED)?, outside.graph);
    let (place, first, _) = part[0];
    let Place::Object(object) = place else { return None };
    let width = |object: ObjectId| outside.objects[object.0 as usize].width;
    if !first.is_multiple_of(PATCHED as u64) || width(object) != 8 {
        return None;
    }
    let (mut known, mut kept, mut begin) = (0_u128, 0_u128, None);
    for (i, &(other, index, value)) in part.iter().enumerate() {
        if other != place || index != first + i as u64 {
            return None;
        }
        match (graph.constant(value), outside.byte(value)) {
            (Some(byte), _) => known |= byte << (8 * i),
            (None, Some((Place::Object(from), at))) => {
                let at = (from, at - i as i64);
                if *begin.get_or_insert(at) != at {
                    return None;
                }
                kept |= 0xff << (8 * i);
            }
            _ => return None,
        }
    }
    let (from, at) = begin.filter(|_| kept != u128::MAX)?;
    let at = u64::try_from(at).ok()?;
    let is_there = at + PATCHED as u64 <= outside.objects[from.0 as usize].length as u64;
    is_there.then_some((PATCHED, Write::Patched { object, first, from, at, known, kept }))
}

/// A part of a list of bytes, of which some that lie side by side elsewhere have known ones before or behind them.
fn filled<N: Together + ?Sized>(outside: &Outside<'_, N>, run: &[(Place, u64, NodeId)]) -> Option<(usize, Write)> {
    let part = run.get(..PATCHED)?;
    let (place, first, _) = part[0];
    let Place::Object(object) = place else { return None };
    if !first.is_multiple_of(PATCHED as u64) || outside.objects[object.0 as usize].width != 8 {
        return None;
    }
    let (mut known, mut copied) = (0_u128, Vec::new());
    for (i, &(other, index, value)) in part.iter().enumerate() {
        if other != place || index != first + i as u64 {
            return None;
        }
        match outside.graph.constant(value) {
            Some(byte) => known |= byte << (8 * i),
            None => copied.push((i, outside.byte(value)?)),
        }
    }
    let &(skipped, (from, at)) = copied.first()?;
    let n_bytes = copied.len();
    let is_side_by_side = copied.iter().enumerate().all(|(i, &byte)| byte == (skipped + i, (from, at + i as i64)));
    let is_one = is_side_by_side && outside.lie_together(from, at, n_bytes as u32);
    let is_filled = (COPIED..PATCHED).contains(&n_bytes) && is_one;
    is_filled.then_some((PATCHED, Write::Filled { object, first, from, at, n_bytes, skipped, known }))
}

/// The value that a byte is bits of, and the lowest of these; negative where so many zeros are below the value's lowest bit.
fn byte_of(graph: &Graph, value: NodeId) -> Option<(NodeId, i32)> {
    match graph.op(value) {
        _ if graph.width(value) != 8 => None,
        Op::Extract(source, lo) => Some((*source, *lo as i32)),
        Op::Concat(parts) => match parts[..] {
            [above, below] if graph.constant(below) == Some(0) => match graph.op(above) {
                Op::Extract(source, 0) => Some((*source, -(graph.width(below) as i32))),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn together<N: Together + ?Sized>(outside: &Outside<'_, N>, run: &[(Place, u64, NodeId)]) -> Option<(usize, Write)> {
    let graph = outside.graph;
    let byte = |value: NodeId| byte_of(graph, value);
    let &(place, first, value) = run.first()?;
    let (source, lo) = byte(value)?;
    if let Place::Object(object) = place {
        let object = &outside.objects[object.0 as usize];
        if object.width != 8 {
            return None;
        }
    }
    let follows = |step: i64| {
        let same = |(i, &(other, index, value)): (usize, &(Place, u64, NodeId))| {
            let at = i64::from(lo) + 8 * step * i as i64;
            let next = byte(value).is_some_and(|(from, lo)| from == source && i64::from(lo) == at);
            other == place && index == first + i as u64 && next
        };
        run.iter().enumerate().take_while(|&pair| same(pair)).count()
    };
    let (down, up) = (follows(-1), follows(1));
    let (big, n) = (down >= up, down.max(up));
    // What zeros are shifted into is a word.
    let ends_in_zeros = lo < 0 || (big && lo + 8 < 8 * n as i32);
    for size in [16_u32, 8, 4, 2].into_iter().filter(|&size| size <= 8 || !ends_in_zeros) {
        let lie_together = match place {
            Place::Port(port) => outside.names.output_bytes(port, first, size),
            Place::Object(_) => true,
        };
        if size as usize <= n && lie_together {
            let lo = if big { lo + 8 - 8 * size as i32 } else { lo };
            return Some((size as usize, Write::Bytes { place, first, n_bytes: size, big, source, lo }));
        }
    }
    None
}

/// What is known of the nodes of a transition before it is printed.
#[derive(Default)]
pub(super) struct Plan {
    /// Where each node is first needed.
    pub points: FxHashMap<NodeId, Point>,
    /// Nodes that get a variable.
    pub locals: FxHashSet<NodeId>,
    /// Nodes that depend on each load.
    pub dependents: FxHashMap<u32, FxHashSet<NodeId>>,
    /// Nodes that depend on some load.
    pub changing: FxHashSet<NodeId>,
    /// Nodes that are computed although it may turn out that nobody reads them.
    pub early: FxHashSet<NodeId>,
}

/// More nodes than this are not printed as one expression.
const LARGEST_EXPRESSION: u32 = 24;

impl Plan {
    pub fn new<N: Together + ?Sized>(outside: &Outside<'_, N>, scopes: &Scopes, block: &Block) -> Plan {
        let graph = outside.graph;
        let mut uses: Vec<(Point, NodeId)> = Vec::new();
        collect(block, &mut uses);
        let mut plan = Plan::default();
        let mut needed: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut open: Vec<NodeId> = Vec::new();
        let mut reads: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for &(_, id) in &uses {
            *needed.entry(id).or_default() += 1;
            open.push(id);
        }
        while let Some(id) = open.pop() {
            if reads.contains_key(&id) {
                continue;
            }
            let read = outside.reads(id);
            for &operand in &read {
                *needed.entry(operand).or_default() += 1;
                open.push(operand);
            }
            reads.insert(id, read);
        }
        let mut order: Vec<NodeId> = needed.keys().copied().collect();
        order.sort_unstable();
        // From operands to results: what depends on loads, how large expressions become.
        let mut size: FxHashMap<NodeId, u32> = FxHashMap::default();
        for &id in &order {
            let mut total = 1;
            let mut loads: FxHashSet<u32> = FxHashSet::default();
            if let Op::Loaded(number) = graph.op(id) {
                loads.insert(*number);
            }
            for operand in &reads[&id] {
                total += if plan.locals.contains(operand) { 1 } else { size[operand] };
                if plan.changing.contains(operand) {
                    loads.extend(plan.dependents.iter().filter(|pair| pair.1.contains(operand)).map(|pair| *pair.0));
                }
            }
            if !loads.is_empty() {
                plan.changing.insert(id);
            }
            for number in loads {
                plan.dependents.entry(number).or_default().insert(id);
            }
            let moves = match graph.op(id) {
                Op::Const(_) | Op::Loaded(_) => false,
                Op::Entry { object, .. } => {
                    outside.objects[object.0 as usize].persistent
                        && (needed[&id] > 1 || outside.stored.contains(object))
                }
                _ => needed[&id] > 1 || total > LARGEST_EXPRESSION,
            };
            if moves {
                plan.locals.insert(id);
            }
            size.insert(id, total);
        }
        // From results to operands: where they are needed first.
        let mut wanted: FxHashMap<NodeId, Vec<(Point, bool)>> = FxHashMap::default();
        for &(point, id) in &uses {
            wanted.entry(id).or_default().push((point, false));
        }
        for &id in order.iter().rev() {
            let wanted_here = wanted.remove(&id).unwrap_or_default();
            let points = wanted_here.iter().map(|use_| use_.0);
            let Some(point) = points.reduce(|a, b| scopes.join(a, b)) else { continue };
            let certain = wanted_here.iter().any(|&(at, early)| at.scope == point.scope && !early);
            plan.points.insert(id, point);
            if !certain {
                plan.early.insert(id);
            }
            for operand in &reads[&id] {
                wanted.entry(*operand).or_default().push((point, !certain));
            }
        }
        plan
    }
}

fn collect(block: &Block, uses: &mut Vec<(Point, NodeId)>) {
    for (step, what) in block.steps.iter().enumerate() {
        let point = Point { scope: block.scope, step };
        uses.extend(what.uses().into_iter().map(|id| (point, id)));
        match what {
            Step::Loop(inner) => collect(inner, uses),
            Step::If(_, then, otherwise) => {
                collect(then, uses);
                collect(otherwise, uses);
            }
            _ => {}
        }
    }
}
