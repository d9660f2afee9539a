//! Window analysis: bottlenecks of the data flow. Which narrow value all that differs from iteration to iteration goes
//! through on its way to a node.

use crate::kernel::{Graph, Loop, NodeId, ObjectId, Op, TableId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Bits of the widest window.
const MOST_BITS: u32 = 8;

/// More operations than this are not counted.
const MOST_OPERATIONS: usize = 100;

/// Up to eight bits of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Window {
    pub node: NodeId,
    pub lo: u32,
    pub width: u32,
}

impl Window {
    fn whole(graph: &Graph, id: NodeId) -> Option<Window> {
        (graph.width(id) <= MOST_BITS).then(|| Window { node: id, lo: 0, width: graph.width(id) })
    }

    /// Whether a node is just these bits.
    pub fn is(&self, graph: &Graph, id: NodeId) -> bool {
        self.part(graph, id) == Some(0) && graph.width(id) == self.width
    }

    /// Where in the window a node lies that is just bits of it.
    pub fn part(&self, graph: &Graph, id: NodeId) -> Option<u32> {
        if id == self.node && self.lo == 0 && graph.width(id) == self.width {
            return Some(0);
        }
        match graph.op(id) {
            Op::Extract(from, lo) if *from == self.node => {
                let inside = *lo >= self.lo && lo + graph.width(id) <= self.lo + self.width;
                inside.then(|| lo - self.lo)
            }
            _ => None,
        }
    }

    /// The bits in another graph.
    pub fn index(&self, graph: &mut Graph, new: &FxHashMap<NodeId, NodeId>) -> Option<NodeId> {
        let node = *new.get(&self.node)?;
        Some(graph.extract(node, self.lo, self.width))
    }
}

/// The windows of a loop.
pub(super) struct Windows<'a> {
    body: &'a Loop,
    varying: FxHashSet<NodeId>,
    windows: FxHashMap<NodeId, Window>,
    /// Whether what no iteration changes may take part.
    held: bool,
    /// Tables of which an element is a window of its own.
    apart: &'a FxHashSet<TableId>,
}

impl<'a> Windows<'a> {
    /// Looks at `order`, operands first. With `held`, functions may read what no iteration changes, else constants
    /// only. No function goes through an element of a table that stands in `apart`.
    pub fn new(body: &'a Loop, order: &[NodeId], held: bool, apart: &'a FxHashSet<TableId>) -> Windows<'a> {
        let carried: FxHashSet<(ObjectId, usize)> = body.carried.iter().map(|one| (one.object, one.index)).collect();
        let changing: FxHashSet<ObjectId> = body.carried.iter().map(|one| one.object).collect();
        let (varying, windows) = (FxHashSet::default(), FxHashMap::default());
        let mut found = Windows { body, varying, windows, held, apart };
        for &id in order {
            let op = body.graph.op(id);
            let (differs, is_source) = match op {
                Op::Input { .. } | Op::Loaded(_) => (true, true),
                Op::Entry { object, index } => match body.graph.constant(*index) {
                    Some(at) => (carried.contains(&(*object, at as usize)), true),
                    None => (changing.contains(object) || found.varying.contains(index), changing.contains(object)),
                },
                Op::Instruction { .. } => (true, true),
                op => (op.operands().iter().any(|operand| found.varying.contains(operand)), false),
            };
            if differs {
                found.varying.insert(id);
                if let Some(window) = found.window(id, is_source) {
                    found.windows.insert(id, window);
                }
            }
        }
        found
    }

    fn window(&self, id: NodeId, is_source: bool) -> Option<Window> {
        let graph = &self.body.graph;
        let own = Window::whole(graph, id);
        if is_source {
            return own;
        }
        if let Op::Extract(from, lo) = *graph.op(id) {
            if let Some(&window) = self.windows.get(&from) {
                return Some(window);
            }
            let start = lo & !7;
            let fits = lo + graph.width(id) <= start + MOST_BITS && start + MOST_BITS <= graph.width(from);
            return if fits { Some(Window { node: from, lo: start, width: MOST_BITS }) } else { own };
        }
        if matches!(graph.op(id), Op::Lookup(table, _) if self.apart.contains(table)) {
            return own;
        }
        // Bytes to which different constants are added can share their tables.
        if let Op::Xor(a, b) = *graph.op(id)
            && !self.held
            && [(a, b), (b, a)].iter().any(|&(bits, constant)| {
                graph.constant(constant).is_some()
                    && self.windows.get(&bits).is_some_and(|window| window.is(graph, bits))
            })
        {
            return own;
        }
        let mut common: Option<Window> = None;
        if matches!(graph.op(id), Op::Entry { .. }) && !self.held {
            return own;
        }
        for operand in graph.op(id).operands() {
            if !self.varying.contains(&operand) {
                if graph.constant(operand).is_none() && !self.held {
                    return own;
                }
                continue;
            }
            match (self.windows.get(&operand), common) {
                (Some(&window), None) => common = Some(window),
                (Some(&window), Some(known)) if window == known => {}
                _ => return own,
            }
        }
        common
    }

    pub fn graph(&self) -> &'a Graph {
        &self.body.graph
    }

    /// Whether a node differs from iteration to iteration.
    pub fn varies(&self, id: NodeId) -> bool {
        self.varying.contains(&id)
    }

    /// What a node is a function of.
    pub fn of(&self, id: NodeId) -> Option<Window> {
        self.windows.get(&id).copied()
    }

    /// Whether a node is a function of a window, and not bits of it.
    fn is_function(&self, id: NodeId) -> bool {
        self.of(id).is_some_and(|window| window.part(self.graph(), id).is_none())
    }

    /// The operations between the window of a node and the node.
    pub fn cone(&self, id: NodeId) -> Vec<NodeId> {
        let mut seen = FxHashSet::default();
        let mut open = vec![id];
        let mut cone = Vec::new();
        while let Some(id) = open.pop() {
            if !self.is_function(id) || !seen.insert(id) || seen.len() > MOST_OPERATIONS {
                continue;
            }
            let op = self.graph().op(id);
            if !matches!(op, Op::Extract(..) | Op::Concat(_)) {
                cone.push(id);
            }
            open.extend(op.operands());
        }
        cone
    }

    /// How many they are.
    pub fn operations(&self, id: NodeId) -> usize {
        self.cone(id).len()
    }

    /// Whether the window decides where a function reads memory or a table.
    pub fn addresses(&self, id: NodeId) -> bool {
        self.cone(id).iter().any(|&id| match self.graph().op(id) {
            Op::Lookup(..) => true,
            Op::Entry { index, .. } => self.varies(*index),
            _ => false,
        })
    }

    /// Whether what no iteration changes takes part in a function.
    pub fn reads_held(&self, id: NodeId) -> bool {
        let graph = self.graph();
        self.cone(id).iter().any(|&id| {
            let of_memory = matches!(graph.op(id), Op::Entry { .. });
            of_memory
                || graph
                    .op(id)
                    .operands()
                    .iter()
                    .any(|&operand| !self.varies(operand) && graph.constant(operand).is_none())
        })
    }

    fn users(&self, order: &[NodeId]) -> FxHashMap<NodeId, Vec<NodeId>> {
        let mut users: FxHashMap<NodeId, Vec<NodeId>> = FxHashMap::default();
        for &id in order {
            for operand in self.graph().op(id).operands() {
                users.entry(operand).or_default().push(id);
            }
        }
        users
    }

    /// Functions of a window that something else reads; what only sums of `taken` read is none.
    pub fn exits(&self, order: &[NodeId], roots: &[NodeId], taken: &FxHashSet<NodeId>) -> Vec<NodeId> {
        let users = self.users(order);
        let roots: FxHashSet<NodeId> = roots.iter().copied().collect();
        // Sums inside of sums that are taken.
        let mut inside: FxHashSet<NodeId> = taken.clone();
        for &id in order.iter().rev() {
            let of_users = users.get(&id).map(Vec::as_slice).unwrap_or_default();
            let is_inside = !of_users.is_empty() && of_users.iter().all(|user| inside.contains(user));
            if self.is_sum(id) && is_inside && !roots.contains(&id) {
                inside.insert(id);
            }
        }
        let leaves = |id: NodeId| {
            let of_users = users.get(&id).map(Vec::as_slice).unwrap_or_default();
            let outside = |user: &NodeId| self.of(*user) != self.of(id) && !inside.contains(user);
            roots.contains(&id) || of_users.iter().any(outside)
        };
        order.iter().copied().filter(|&id| self.is_function(id) && leaves(id)).collect()
    }

    /// Functions of a window that something else reads, or that are put beside others.
    pub fn parts(&self, order: &[NodeId], roots: &[NodeId]) -> FxHashSet<NodeId> {
        let users = self.users(order);
        let roots: FxHashSet<NodeId> = roots.iter().copied().collect();
        let is_part = |id: &NodeId| {
            let of_users = users.get(id).map(Vec::as_slice).unwrap_or_default();
            let outside =
                |user: &NodeId| self.of(*user) != self.of(*id) || matches!(self.graph().op(*user), Op::Concat(_));
            self.is_function(*id) && (roots.contains(id) || of_users.iter().any(outside))
        };
        order.iter().copied().filter(is_part).collect()
    }

    /// Whether a node is a sum of what depends on different windows.
    fn is_sum(&self, id: NodeId) -> bool {
        matches!(self.graph().op(id), Op::Xor(..)) && self.varies(id) && !self.is_function(id)
    }

    /// Sums that something else than a sum reads, with their terms.
    pub fn sums(&self, order: &[NodeId], roots: &[NodeId]) -> Vec<(NodeId, Vec<NodeId>)> {
        let users = self.users(order);
        let roots: FxHashSet<NodeId> = roots.iter().copied().collect();
        let tops: FxHashSet<NodeId> = (order.iter().copied())
            .filter(|&id| self.is_sum(id))
            .filter(|id| {
                roots.contains(id) || users.get(id).is_some_and(|users| users.iter().any(|&user| !self.is_sum(user)))
            })
            .collect();
        let mut sums = Vec::new();
        for &top in order.iter().filter(|id| tops.contains(id)) {
            let mut terms: BTreeSet<NodeId> = BTreeSet::new();
            let mut open = self.graph().op(top).operands().to_vec();
            while let Some(id) = open.pop() {
                if self.is_sum(id) && !tops.contains(&id) {
                    open.extend(self.graph().op(id).operands());
                } else if !terms.remove(&id) {
                    terms.insert(id);
                }
            }
            sums.push((top, terms.into_iter().collect()));
        }
        sums
    }
}
