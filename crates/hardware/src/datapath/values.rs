//! The datapath of a task: values of its plan as logic, with the registers between cycles.
//!
//! A value is asked for in a cycle. What an operator computes in it is a wire; what it computed so many cycles before lies so many
//! registers behind it; what was there once, such as a token, is held from then on.

use super::bind::{Binding, Operator};
use super::choose::Chooser;
use super::plan::{Class, Place, Plan, Source};
use super::region::Task;
use super::runs::is_source;
use super::streams::BeatIn;
use headrace_kernel::{Graph, NodeId, ObjectId, Op, TableId};
use headrace_program::names::Names;
use headrace_rtl::{
    BinaryOp, Bits, CompareOp, Expr, Module, Process, ShiftOp, SignalId, SignalKind, Stmt, Table, index_bits,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// The module under construction, and what tasks share.
pub(crate) struct Builder<'a> {
    pub(crate) m: Module,
    pub(crate) names: Names,
    pub(crate) graph: &'a Graph,
    /// The beat of each input port.
    pub(crate) inputs: Vec<BeatIn>,
    /// The register of each object that is read.
    pub(crate) objects: FxHashMap<ObjectId, SignalId>,
    /// The cycle of the task under way, 0 for none.
    pub(crate) cycle: Option<SignalId>,
    tables: FxHashMap<TableId, headrace_rtl::TableId>,
    roms: FxHashMap<Vec<u128>, headrace_rtl::TableId>,
    /// Values in the cycle in which a task begins: they are the same for all tasks.
    beginning: FxHashMap<NodeId, Expr>,
    /// Operators that several tasks use, and the registers behind them.
    binding: &'a Binding,
    shared: BTreeMap<Operator, SharedOperator>,
    shared_chains: BTreeMap<(Operator, i64), SharedChain>,
    /// Values that tasks hold from the cycle in which they begin, with their registers, where tasks share operators.
    shared_held: BTreeMap<NodeId, SharedHeld>,
}

/// An operator that several tasks use: its wire, the value whose operation it is, and for each task its operands.
struct SharedOperator {
    wire: SignalId,
    id: NodeId,
    operands: Vec<(usize, Vec<Expr>)>,
}

/// A register that holds a value from outside for several tasks: its next value, and when one of them begins.
struct SharedHeld {
    register: SignalId,
    next: SignalId,
    value: Expr,
    begins: Expr,
}

/// A register behind such an operator: what it takes in each cycle, and for each task, by when it begins and waits, what it
/// takes then.
struct SharedChain {
    register: SignalId,
    next: SignalId,
    moved: Expr,
    firsts: Vec<(Expr, Expr)>,
    stalls: Expr,
    /// The tasks.
    tasks: BTreeSet<usize>,
    /// Where it holds a variable between tasks, what it takes at the end of each task, and when it changes at all.
    kept: Option<Kept>,
}

struct Kept {
    lasts: Vec<(Expr, Expr)>,
    changes: Expr,
}

/// What an element of a variable becomes at the end of tasks: which these are, and what of each, by when it ends.
pub(crate) struct AtEnd {
    pub(crate) tasks: BTreeSet<usize>,
    pub(crate) values: Vec<(Expr, Expr)>,
    pub(crate) reset: Bits,
}

/// What is there of a task while its datapath is built.
pub(crate) struct Datapath<'a, 'b> {
    b: &'b mut Builder<'a>,
    plan: &'a Plan,
    number: usize,
    /// Whether the task begins in this cycle.
    start: SignalId,
    /// Whether it is under way.
    running: Expr,
    /// Whether it waits in its last cycle for room.
    stalls: Expr,
    /// Whether each stage behind the first has a block, where it is pipelined.
    stages: Vec<SignalId>,
    stored: FxHashSet<(ObjectId, usize)>,
    /// Objects that are read after the task has begun.
    pub(crate) late_reads: FxHashSet<ObjectId>,
    operators: FxHashMap<usize, SignalId>,
    chains: FxHashMap<(usize, i64), SignalId>,
    held: BTreeMap<NodeId, SignalId>,
    /// Values so many stages behind that in which they are computed.
    piped: FxHashMap<(NodeId, u32), SignalId>,
    rings: FxHashMap<usize, SignalId>,
    singles: FxHashMap<NodeId, Expr>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(m: Module, names: Names, graph: &'a Graph, binding: &'a Binding) -> Self {
        Self {
            m,
            names,
            graph,
            inputs: Vec::new(),
            objects: FxHashMap::default(),
            cycle: None,
            tables: FxHashMap::default(),
            roms: FxHashMap::default(),
            beginning: FxHashMap::default(),
            binding,
            shared: BTreeMap::new(),
            shared_chains: BTreeMap::new(),
            shared_held: BTreeMap::new(),
        }
    }

    /// Joins operators that several tasks use, and the registers behind them, when the datapaths of all tasks are there.
    /// `is_current` is whether a task is the one under way, where one is.
    pub(crate) fn join(&mut self, is_current: impl Fn(&Module, usize) -> Expr) {
        let operators: Vec<SharedOperator> = std::mem::take(&mut self.shared).into_values().collect();
        let chooser = Chooser::of(&self.m);
        let chosen = operators.iter().map(|SharedOperator { operands, .. }| {
            let n = operands.first().map_or(0, |(_, operands)| operands.len());
            let column = |at: usize| -> Vec<(Expr, Expr)> {
                let of = |(task, operands): &(usize, Vec<Expr>)| (is_current(&self.m, *task), operands[at].clone());
                alike(operands.iter().map(of).collect())
            };
            (0..n).map(|at| chooser.one_of(column(at)).map_or_else(|| Expr::bit(false), |(_, value)| value)).collect()
        });
        let chosen: Vec<Vec<Expr>> = chosen.collect();
        let chains: Vec<SharedChain> = std::mem::take(&mut self.shared_chains).into_values().collect();
        let firsts = chains.iter().map(|chain| chooser.one_of(alike(chain.firsts.clone())));
        let firsts: Vec<Option<(Expr, Expr)>> = firsts.collect();
        let moved = chains.iter().map(|SharedChain { moved, kept, .. }| match kept {
            Some(kept) => chooser.one_of_or(alike(kept.lasts.clone()), moved.clone()),
            None => moved.clone(),
        });
        let moved: Vec<Expr> = moved.collect();
        for (SharedOperator { wire, id, .. }, operands) in operators.into_iter().zip(chosen) {
            let value = self.operation(id, operands);
            self.m.assign(wire, value);
        }
        for ((chain, first), moved) in chains.into_iter().zip(firsts).zip(moved) {
            let SharedChain { register, next, stalls, kept, .. } = chain;
            let value = match first {
                Some((when, first)) => Expr::select(when, first, moved),
                None => moved,
            };
            let stays = kept.map_or(stalls.clone(), |kept| stalls.or(kept.changes.inverted()));
            let value = Expr::select(stays, self.m.get(register), value);
            self.m.assign(next, value);
        }
        for SharedHeld { register, next, value, begins } in std::mem::take(&mut self.shared_held).into_values() {
            let kept = self.m.get(register);
            self.m.assign(next, Expr::select(begins, value, kept));
        }
    }

    /// Has registers behind shared operators keep the elements of a variable, which only matters while none of the tasks is under way
    /// that work in these registers, and which all of them give a new value at their end: for each element one of its own, into
    /// which goes almost what the variable becomes. `changes` says when any of some tasks begins or is under way. Gives the
    /// registers, if there are all.
    pub(crate) fn kept_in_rounds(
        &mut self,
        elements: Vec<AtEnd>,
        changes: impl Fn(&Module, &BTreeSet<usize>) -> Expr,
    ) -> Option<Vec<SignalId>> {
        let chooser = Chooser::of(&self.m);
        let mut found: Vec<(Operator, i64)> = Vec::new();
        for element in &elements {
            let fits = |key: &(Operator, i64), chain: &SharedChain| {
                chain.tasks == element.tasks
                    && chain.kept.is_none()
                    && self.m.signal(chain.register).width == element.reset.width()
                    && !found.contains(key)
                    && element.values.iter().all(|(_, value)| chooser.has_term(value, &chain.moved))
            };
            found.push(*self.shared_chains.iter().find(|(key, chain)| fits(key, chain))?.0);
        }
        let mut registers = Vec::new();
        for (element, key) in elements.into_iter().zip(found) {
            let chain = self.shared_chains.get_mut(&key)?;
            let changes = changes(&self.m, &chain.tasks);
            chain.kept = Some(Kept { lasts: element.values, changes });
            registers.push(chain.register);
            if let SignalKind::Register { reset, .. } = &mut self.m.signals[chain.register.index()].kind {
                *reset = element.reset;
            }
        }
        Some(registers)
    }

    /// Whether tasks share operators.
    pub(crate) fn shares(&self) -> bool {
        self.binding.saved > 0
    }

    /// A register with its next value.
    pub(crate) fn register(&mut self, like: &str, reset: Bits) -> (SignalId, SignalId) {
        let name = self.names.fresh_with(like, &["_d", "_q"]);
        self.m.add_register(&name, reset)
    }

    pub(crate) fn wire(&mut self, like: &str, value: Expr) -> SignalId {
        let name = self.names.fresh(like);
        let wire = self.m.add(name, value.width, SignalKind::Wire);
        self.m.assign(wire, value);
        wire
    }

    /// A value from outside in the cycle in which a task begins.
    fn source(&self, id: NodeId) -> Expr {
        let width = self.graph.width(id);
        match self.graph.op(id) {
            Op::Const(value) => Expr::constant(Bits::new(width, *value)),
            Op::Input { port, offset } => {
                let beat = self.inputs[*port as usize];
                self.m.get(beat.data).slice(*offset as u32 * beat.width, beat.width).resized(false, width)
            }
            Op::Entry { object, index } => {
                let index = self.graph.constant(*index).unwrap_or(0) as u32;
                match self.objects.get(object) {
                    Some(&register) => self.m.get(register).slice(index * width, width),
                    None => Expr::number(width, 0),
                }
            }
            _ => Expr::number(width, 0),
        }
    }

    /// A value in the cycle in which a task begins.
    pub(crate) fn at_beginning(&mut self, id: NodeId) -> Expr {
        if let Some(known) = self.beginning.get(&id) {
            return known.clone();
        }
        let graph = self.graph;
        let value = if is_source(graph, id) {
            self.source(id)
        } else {
            let operands: Vec<NodeId> = graph.op(id).operands().to_vec();
            let operands = operands.into_iter().map(|operand| self.at_beginning(operand)).collect();
            let value = self.operation(id, operands);
            self.named(&word(graph.op(id)), value, graph.op(id))
        };
        self.beginning.insert(id, value.clone());
        value
    }

    /// A wire for what computes; what only arranges bits stands where it is used.
    fn named(&mut self, like: &str, value: Expr, op: &Op) -> Expr {
        if super::runs::is_wire(op) || value.value().is_some() {
            return value;
        }
        let wire = self.wire(like, value);
        self.m.get(wire)
    }

    fn table(&mut self, id: TableId, index_width: u32) -> headrace_rtl::TableId {
        if let Some(&known) = self.tables.get(&id) {
            return known;
        }
        let graph = self.graph;
        let table = graph.table(id);
        let index_width = index_bits(table.elements.len() as u64).max(1).min(index_width);
        let values = table.elements.iter().take(1usize << index_width.min(24));
        let name = self.names.fresh(&headrace_program::names::identifier(&table.name));
        let values = values.map(|&value| Bits::new(table.width, value)).collect();
        self.m.tables.push(Table { name, index_width, width: table.width, values });
        let new = headrace_rtl::TableId(self.m.tables.len() as u32 - 1);
        self.tables.insert(id, new);
        new
    }

    fn operation(&mut self, id: NodeId, mut x: Vec<Expr>) -> Expr {
        let width = self.graph.width(id);
        let graph = self.graph;
        let op = graph.op(id);
        let last = |x: &mut Vec<Expr>| x.pop().unwrap_or_else(|| Expr::number(width, 0));
        let binary = |kind: BinaryOp, x: &mut Vec<Expr>| {
            let b = last(x);
            let a = last(x);
            Expr::binary(kind, a, b)
        };
        match op {
            Op::Not(_) => last(&mut x).inverted(),
            Op::And(..) => binary(BinaryOp::And, &mut x),
            Op::Or(..) => binary(BinaryOp::Or, &mut x),
            Op::Xor(..) => binary(BinaryOp::Xor, &mut x),
            Op::Add(..) => binary(BinaryOp::Add, &mut x),
            Op::Sub(..) => binary(BinaryOp::Sub, &mut x),
            Op::Mul(..) => binary(BinaryOp::Mul, &mut x),
            Op::Divide(..) | Op::Remainder(..) => {
                let none = x[1].clone().is(0);
                let kind = if matches!(op, Op::Divide(..)) { BinaryOp::Div } else { BinaryOp::Rem };
                Expr::select(none, Expr::number(width, 0), binary(kind, &mut x))
            }
            Op::ShiftLeft(..) | Op::ShiftRight(..) | Op::ShiftRightSigned(..) => {
                let kind = match op {
                    Op::ShiftLeft(..) => ShiftOp::Left,
                    Op::ShiftRight(..) => ShiftOp::Right,
                    _ => ShiftOp::RightSigned,
                };
                let count = last(&mut x);
                Expr::shift(kind, last(&mut x), count)
            }
            Op::RotateLeft(..) => {
                let count = last(&mut x);
                let value = last(&mut x);
                let bits = index_bits(u64::from(width));
                let count = count.resized(false, bits + 1).slice(0, bits).resized(false, bits + 1);
                let rest = Expr::number(bits + 1, u64::from(width)).minus(count.clone());
                Expr::shift(ShiftOp::Left, value.clone(), count).or(Expr::shift(ShiftOp::Right, value, rest))
            }
            Op::Extract(_, lo) => last(&mut x).slice(*lo, width),
            Op::Concat(_) => Expr::concat(x),
            Op::SignExtend(_) => last(&mut x).extended(true, width),
            Op::Equal(..) | Op::Less(..) | Op::LessSigned(..) => {
                let kind = match op {
                    Op::Equal(..) => CompareOp::Equal,
                    Op::Less(..) => CompareOp::Less,
                    _ => CompareOp::LessSigned,
                };
                let b = last(&mut x);
                Expr::compare(kind, last(&mut x), b)
            }
            Op::Select(..) => {
                let no = last(&mut x);
                let yes = last(&mut x);
                Expr::select(last(&mut x), yes, no)
            }
            Op::Lookup(table, _) => {
                let index = last(&mut x);
                let table = self.table(*table, index.width);
                let bits = self.m.tables[table.index()].index_width;
                Expr::lookup(table, index.resized(false, bits), width)
            }
            Op::Entry { object, .. } => {
                let index = last(&mut x);
                match self.objects.get(object) {
                    None => Expr::number(width, 0),
                    Some(&register) => {
                        let whole = self.m.signal(register).width;
                        let bits = index_bits(u64::from(whole)).max(1);
                        let at = crate::place::times(index.resized(false, bits), u64::from(width));
                        Expr::part(register, whole, at, width)
                    }
                }
            }
            _ => self.source(id),
        }
    }

    /// A constant for each cycle.
    fn rom(&mut self, like: &str, values: &[(u32, u128)], width: u32) -> Expr {
        let Some(cycle) = self.cycle else { return Expr::number(width, 0) };
        let bits = self.m.signal(cycle).width;
        // The counter may be back at 0 in the last cycle of a task (see `Control`); in cycle 0 itself nothing is chosen.
        let place = |at: u32| at as usize & ((1 << bits) - 1);
        let n = values.iter().map(|&(at, _)| place(at) + 1).max().unwrap_or(1);
        let mut all = vec![values[0].1; n];
        values.iter().for_each(|&(at, value)| all[place(at)] = value);
        let known = self.roms.get(&all).copied().filter(|table| self.m.tables[table.index()].width == width);
        let table = known.unwrap_or_else(|| {
            let name = self.names.fresh(like);
            let values = all.iter().map(|&value| Bits::new(width, value)).collect();
            self.m.tables.push(Table { name, index_width: bits, width, values });
            headrace_rtl::TableId(self.m.tables.len() as u32 - 1)
        });
        self.roms.insert(all, table);
        Expr::lookup(table, self.m.get(cycle), width)
    }

    /// One of several values, by the cycle; the last one in all cycles that none is for.
    fn chosen(&mut self, like: &str, cases: Vec<(u32, Expr)>, rest: Option<Expr>) -> Expr {
        let Some(cycle) = self.cycle else { return cases[0].1.clone() };
        let bits = self.m.signal(cycle).width;
        // What is there in most cycles needs no choice.
        let rest = rest.unwrap_or_else(|| {
            let often = |value: &Expr| cases.iter().filter(|(_, other)| other == value).count();
            let most = cases.iter().max_by_key(|(_, value)| often(value));
            most.map_or_else(|| Expr::bit(false), |(_, value)| value.clone())
        });
        let cases: Vec<(u32, Expr)> = cases.into_iter().filter(|(_, value)| *value != rest).collect();
        if cases.is_empty() {
            return rest;
        }
        let name = self.names.fresh(like);
        let wire = self.m.add(name.clone(), rest.width, SignalKind::Wire);
        let arms =
            cases.into_iter().map(|(at, value)| (Bits::new(bits, at), vec![Stmt::assign(wire, value)])).collect();
        let body = vec![Stmt::Case(self.m.get(cycle), arms, vec![Stmt::assign(wire, rest)])];
        let name = self.names.fresh(&format!("choose_{name}"));
        self.m.processes.push(Process { name, body });
        self.m.get(wire)
    }
}

/// Values by when they are meant: those that are equal once.
fn alike(all: Vec<(Expr, Expr)>) -> Vec<(Expr, Expr)> {
    let mut found: Vec<(Expr, Expr)> = Vec::new();
    for (when, value) in all {
        match found.iter_mut().find(|(_, known)| *known == value) {
            Some((known, _)) => *known = known.clone().or(when),
            None => found.push((when, value)),
        }
    }
    found
}

/// The word for an operation, for names.
fn word(op: &Op) -> String {
    let word = match op {
        Op::Not(_) => "not",
        Op::And(..) => "and",
        Op::Or(..) => "or",
        Op::Xor(..) => "xor",
        Op::Add(..) => "sum",
        Op::Sub(..) => "difference",
        Op::Mul(..) => "product",
        Op::Lookup(..) => "lookup",
        Op::Select(..) => "choice",
        Op::Equal(..) | Op::Less(..) | Op::LessSigned(..) => "test",
        Op::Entry { .. } => "element",
        _ => "value",
    };
    format!("x_{word}")
}

impl<'a, 'b> Datapath<'a, 'b> {
    /// The datapath of a task that begins, is under way and waits when these say so.
    pub(crate) fn new(
        b: &'b mut Builder<'a>,
        (number, task, plan): (usize, &'a Task, &'a Plan),
        start: SignalId,
        running: Expr,
        stalls: Expr,
        stages: Vec<SignalId>,
    ) -> Self {
        let stored = task.stores.iter().map(|store| (store.0, store.1)).collect();
        Self {
            b,
            plan,
            number,
            start,
            running,
            stalls,
            stages,
            piped: FxHashMap::default(),
            stored,
            late_reads: FxHashSet::default(),
            operators: FxHashMap::default(),
            chains: FxHashMap::default(),
            held: BTreeMap::new(),
            rings: FxHashMap::default(),
            singles: FxHashMap::default(),
        }
    }

    /// The cycle in which a value is there.
    pub(crate) fn time(&self, id: NodeId) -> u32 {
        self.plan.time(self.b.graph, id)
    }

    /// Whether it is a cycle of the task.
    pub(crate) fn is_cycle(&self, time: u32) -> Expr {
        if let Some(&stage) = (time as usize).checked_sub(1).and_then(|stage| self.stages.get(stage)) {
            return self.b.m.get(stage);
        }
        match (time, self.b.cycle) {
            (0, _) | (_, None) => self.b.m.get(self.start),
            (_, Some(cycle)) => self.running.clone().and(self.b.m.get(cycle).is(u64::from(time))),
        }
    }

    /// A value in a cycle that is not before it is there.
    pub(crate) fn at(&mut self, id: NodeId, time: u32) -> Expr {
        let graph = self.b.graph;
        if time == 0 {
            return self.b.at_beginning(id);
        }
        if self.plan.is_pipelined {
            return self.at_stage(id, time);
        }
        if is_source(graph, id) {
            return self.later_source(id);
        }
        match self.plan.place.get(&id).copied() {
            Some(Place::Instance(class, index)) => {
                let there = i64::from(self.plan.classes[class].time) + index as i64;
                match i64::from(time) - there {
                    0 => self.operator(class),
                    stage if stage <= self.depth(class).max(2) => self.chain(class, stage),
                    _ => self.hold(id),
                }
            }
            Some(Place::Single(there)) if there == time => self.single(id, time),
            Some(Place::Single(_)) => self.hold(id),
            None => {
                let operands = graph.op(id).operands().to_vec();
                let operands = operands.into_iter().map(|operand| self.at(operand, time)).collect();
                self.b.operation(id, operands)
            }
        }
    }

    /// A value in a stage behind the first.
    fn at_stage(&mut self, id: NodeId, stage: u32) -> Expr {
        let graph = self.b.graph;
        if graph.constant(id).is_some() {
            return self.b.source(id);
        }
        if super::runs::is_wire(graph.op(id)) {
            let operands = graph.op(id).operands().to_vec();
            let operands = operands.into_iter().map(|operand| self.at(operand, stage)).collect();
            return self.b.operation(id, operands);
        }
        let behind = stage - self.time(id);
        if behind == 0 {
            return self.single(id, stage);
        }
        if let Some(&known) = self.piped.get(&(id, behind)) {
            return self.b.m.get(known);
        }
        let like = format!("t{}_stage_{stage}", self.number);
        let (register, next) = self.b.register(&like, Bits::zero(graph.width(id)));
        self.piped.insert((id, behind), register);
        let before = self.at(id, stage - 1);
        let kept = self.b.m.get(register);
        self.b.m.assign(next, Expr::select(self.stalls.clone(), kept.clone(), before));
        kept
    }

    fn later_source(&mut self, id: NodeId) -> Expr {
        let graph = self.b.graph;
        match graph.op(id) {
            Op::Const(_) => self.b.source(id),
            Op::Entry { object, index } => {
                let index = graph.constant(*index).unwrap_or(0) as usize;
                // What the task itself changes is needed as it was.
                if self.stored.contains(&(*object, index)) {
                    return self.hold(id);
                }
                self.late_reads.insert(*object);
                self.b.source(id)
            }
            _ => self.hold(id),
        }
    }

    fn read_late(&mut self, op: &Op) {
        if let Op::Entry { object, .. } = op {
            self.late_reads.insert(*object);
        }
    }

    fn single(&mut self, id: NodeId, time: u32) -> Expr {
        if let Some(known) = self.singles.get(&id) {
            return known.clone();
        }
        let operands = self.b.graph.op(id).operands().to_vec();
        let operands = operands.into_iter().map(|operand| self.at(operand, time)).collect();
        let value = self.b.operation(id, operands);
        let graph = self.b.graph;
        let op = graph.op(id);
        self.read_late(op);
        let value = self.b.named(&format!("t{}_{}", self.number, &word(op)[2..]), value, op);
        self.singles.insert(id, value.clone());
        value
    }

    /// A value in all cycles after the one in which it is there.
    fn hold(&mut self, id: NodeId) -> Expr {
        if let Some(&known) = self.held.get(&id) {
            return self.b.m.get(known);
        }
        let width = self.b.graph.width(id);
        let time = self.time(id);
        // Only one task that takes cycles is under way, and what it begins with is the same value for all.
        if time == 0 && self.b.binding.is_shared(self.number) {
            let value = self.b.at_beginning(id);
            let start = self.b.m.get(self.start);
            if !self.b.shared_held.contains_key(&id) {
                let (register, next) = self.b.register("held", Bits::zero(width));
                let begins = Expr::bit(false);
                self.b.shared_held.insert(id, SharedHeld { register, next, value, begins });
            }
            let Some(held) = self.b.shared_held.get_mut(&id) else { return Expr::number(width, 0) };
            held.begins = held.begins.clone().or(start);
            let register = held.register;
            self.held.insert(id, register);
            return self.b.m.get(register);
        }
        let (register, next) = self.b.register(&format!("t{}_held", self.number), Bits::zero(width));
        self.held.insert(id, register);
        let value = self.at(id, time);
        let kept = self.b.m.get(register);
        let is_there = self.is_cycle(time);
        self.b.m.assign(next, Expr::select(is_there, value, kept.clone()));
        kept
    }

    /// How many registers behind an operator its users in runs ask for.
    fn depth(&self, class: usize) -> i64 {
        fn of(plan: &Plan, user: &Class, source: &Source, class: usize) -> i64 {
            match source {
                Source::Value(other, delta) if *other == class => plan.stage(user, class, *delta),
                Source::Wire(_, parts) => parts.iter().map(|part| of(plan, user, part, class)).max().unwrap_or(0),
                Source::But(rule, _) => of(plan, user, rule, class),
                _ => 0,
            }
        }
        let users = self.plan.classes.iter();
        let all = users.flat_map(|user| user.operands.iter().map(|source| of(self.plan, user, source, class)));
        all.max().unwrap_or(0)
    }

    /// What an operator computes in this cycle.
    fn operator(&mut self, class: usize) -> Expr {
        if let Some(&known) = self.operators.get(&class) {
            return self.b.m.get(known);
        }
        let plan = self.plan;
        let own = &plan.classes[class];
        let id = own.nodes[0];
        let graph = self.b.graph;
        let op = graph.op(id);
        self.read_late(op);
        if let Some((one, swapped)) = self.b.binding.shared((self.number, class)) {
            return self.shared_operator(class, one, swapped);
        }
        let name = self.b.names.fresh(&format!("t{}_{}", self.number, &word(op)[2..]));
        let wire = self.b.m.add(name, self.b.graph.width(id), SignalKind::Wire);
        self.operators.insert(class, wire);
        let operands = match plan.computed_first(class) {
            Some(first) => self.operands_from_first(own, first),
            None => own.operands.iter().map(|source| self.operand(own, source)).collect(),
        };
        let value = self.b.operation(id, operands);
        self.b.m.assign(wire, value);
        self.b.m.get(wire)
    }

    /// The same of an operator that several tasks use.
    fn shared_operator(&mut self, class: usize, one: Operator, swapped: bool) -> Expr {
        let plan = self.plan;
        let own = &plan.classes[class];
        let id = own.nodes[0];
        let wire = match self.b.shared.get(&one) {
            Some(known) => known.wire,
            None => {
                let name = self.b.names.fresh(&format!("rounds_{}", &word(self.b.graph.op(id))[2..]));
                let wire = self.b.m.add(name, self.b.graph.width(id), SignalKind::Wire);
                self.b.shared.insert(one, SharedOperator { wire, id, operands: Vec::new() });
                wire
            }
        };
        self.operators.insert(class, wire);
        let mut operands: Vec<Expr> = own.operands.iter().map(|source| self.operand(own, source)).collect();
        if swapped {
            operands.swap(0, 1);
        }
        if let Some(shared) = self.b.shared.get_mut(&one) {
            shared.operands.push((self.number, operands));
        }
        self.b.m.get(wire)
    }

    /// The operands of an operator that computes this value when the task begins.
    fn operands_from_first(&mut self, own: &'a Class, first: NodeId) -> Vec<Expr> {
        let graph = self.b.graph;
        let plan = self.plan;
        // Where an operand comes from the same place then as later.
        let is_same = |source: &Source, id: NodeId| match source {
            Source::Value(of, delta) => plan.stage(own, *of, *delta) == 0 && plan.computed_first(*of) == Some(id),
            Source::Constants(_) => graph.constant(id).is_some(),
            _ => false,
        };
        let mut of_first: Vec<NodeId> = graph.op(first).operands().to_vec();
        if let ([a, b], &[x, y]) = (own.operands.as_slice(), of_first.as_slice()) {
            let fits = |x: NodeId, y: NodeId| usize::from(is_same(a, x)) + usize::from(is_same(b, y));
            if graph.op(first).commutes() && fits(y, x) > fits(x, y) {
                of_first.swap(0, 1);
            }
        }
        let mut operands = Vec::new();
        for (source, id) in own.operands.iter().zip(of_first) {
            let later = match (source, graph.constant(id)) {
                (Source::Constants(all), Some(value)) => {
                    // In the cycle before the first, and in that in which the task before may end.
                    let at = |index: usize| own.time + index as u32;
                    let mut values: Vec<(u32, u128)> = all.iter().map(|&(index, value)| (at(index), value)).collect();
                    values.extend([(0, value), (plan.last, value)]);
                    self.b.rom(&format!("t{}_constants", self.number), &values, graph.width(id))
                }
                _ => self.operand(own, source),
            };
            operands.push(if is_same(source, id) {
                later
            } else {
                let value = self.b.at_beginning(id);
                Expr::select(self.b.m.get(self.start), value, later)
            });
        }
        operands
    }

    /// What an operator computed so many cycles ago.
    fn chain(&mut self, class: usize, stage: i64) -> Expr {
        if stage <= 0 {
            return self.operator(class);
        }
        if let Some(&known) = self.chains.get(&(class, stage)) {
            return self.b.m.get(known);
        }
        let plan = self.plan;
        let own = &plan.classes[class];
        let width = self.b.graph.width(own.nodes[0]);
        let graph = self.b.graph;
        let op = graph.op(own.nodes[0]);
        let shared = self.b.binding.shared((self.number, class)).map(|(one, _)| (one, stage));
        let known = shared.and_then(|key| self.b.shared_chains.get(&key)).map(|known| (known.register, known.next));
        let (register, next) = known.unwrap_or_else(|| {
            let of = if shared.is_some() { "rounds".to_owned() } else { format!("t{}", self.number) };
            self.b.register(&format!("{of}_{}_before", &word(op)[2..]), Bits::zero(width))
        });
        self.chains.insert((class, stage), register);
        if let Some(key) = shared {
            let none = || SharedChain {
                register,
                next,
                moved: Expr::number(width, 0),
                firsts: Vec::new(),
                stalls: Expr::bit(false),
                tasks: BTreeSet::new(),
                kept: None,
            };
            self.b.shared_chains.entry(key).or_insert_with(none);
        }
        let moved = self.chain(class, stage - 1);
        // In cycle 1 it holds what the operator computed so many cycles before that.
        // The operator itself computes it where it can.
        let first = own.before.get(&(1 - i64::from(own.time) - stage)).copied();
        let first = first.filter(|_| stage > 1 || plan.computed_first(class).is_none());
        let kept = self.b.m.get(register);
        if let Some(key) = shared {
            let first = first.map(|id| (self.b.m.get(self.start), self.b.at_beginning(id)));
            if let Some(chain) = self.b.shared_chains.get_mut(&key) {
                chain.moved = moved;
                chain.firsts.extend(first);
                chain.tasks.insert(self.number);
                chain.stalls = chain.stalls.clone().or(self.stalls.clone());
            }
            return kept;
        }
        let value = match first {
            Some(id) => {
                let first = self.b.at_beginning(id);
                Expr::select(self.b.m.get(self.start), first, moved)
            }
            None => moved,
        };
        let value = Expr::select(self.stalls.clone(), kept.clone(), value);
        self.b.m.assign(next, value);
        kept
    }

    /// The registers of a ring, the first in the lowest bits.
    fn ring(&mut self, number: usize) -> Expr {
        if let Some(&known) = self.rings.get(&number) {
            return self.b.m.get(known);
        }
        let ring = &self.plan.rings.all[number];
        let width = self.b.graph.width(ring.first[0]);
        let (register, next) =
            self.b.register(&format!("t{}_ring", self.number), Bits::zero(width * ring.first.len() as u32));
        self.rings.insert(number, register);
        let kept = self.b.m.get(register);
        let turned = |turn: &Vec<usize>| {
            let parts = turn.iter().rev().map(|&source| kept.clone().slice(source as u32 * width, width));
            Expr::concat(parts.collect())
        };
        // The first way is taken where no other one is.
        let mut ways = ring.turns.iter().enumerate();
        let mut value = ways.next().map_or_else(|| kept.clone(), |(_, turn)| turned(turn));
        for (way, turn) in ways {
            let is_it: Vec<(u32, u128)> =
                ring.steps.iter().map(|&(time, other)| (time, u128::from(other == way))).collect();
            let is_it = self.b.rom(&format!("t{}_turn", self.number), &is_it, 1);
            value = Expr::select(is_it, turned(turn), value);
        }
        let value = Expr::select(self.stalls.clone(), kept.clone(), value);
        let first = ring.first.iter().rev().map(|&id| self.b.at_beginning(id)).collect();
        let value = Expr::select(self.b.m.get(self.start), Expr::concat(first), value);
        self.b.m.assign(next, value);
        kept
    }

    fn operand(&mut self, user: &'a Class, source: &'a Source) -> Expr {
        let like = format!("t{}_operand", self.number);
        match source {
            Source::Same(id) => self.throughout(*id),
            Source::Value(class, delta) => {
                let stage = self.plan.stage(user, *class, *delta);
                let rule = self.chain(*class, stage);
                let missed = self.plan.missed(user, *class, *delta);
                let mut cases = Vec::new();
                for index in missed {
                    let before = self.plan.classes[*class].before.get(&(index as i64 + delta)).copied();
                    if let Some(id) = before {
                        let value = self.at(id, user.time + index as u32);
                        cases.push((user.time + index as u32, value));
                    }
                }
                if cases.is_empty() { rule } else { self.b.chosen(&like, cases, Some(rule)) }
            }
            Source::Constants(all) => {
                let width = self.b.graph.width(user.nodes[0]);
                let values: Vec<(u32, u128)> =
                    all.iter().map(|&(index, value)| (user.time + index as u32, value)).collect();
                let width = self.constant_width(user, source).unwrap_or(width);
                self.b.rom(&format!("t{}_constants", self.number), &values, width)
            }
            Source::Wire(id, parts) => {
                let parts = parts.iter().map(|part| self.operand(user, part)).collect();
                self.b.operation(*id, parts)
            }
            Source::Varying(all) => match self.plan.rings.place(&Plan::stream(user, all)) {
                Some((ring, register)) => {
                    let width = self.b.graph.width(all[0].1);
                    self.ring(ring).slice(register as u32 * width, width)
                }
                None => {
                    let cases = self.cases(user, all);
                    self.b.chosen(&like, cases, None)
                }
            },
            Source::But(rule, others) => {
                let rule = self.operand(user, rule);
                let cases = self.cases(user, others);
                self.b.chosen(&like, cases, Some(rule))
            }
        }
    }

    fn cases(&mut self, user: &Class, all: &[(usize, NodeId)]) -> Vec<(u32, Expr)> {
        all.iter()
            .map(|&(index, id)| {
                let time = user.time + index as u32;
                (time, self.at(id, time))
            })
            .collect()
    }

    /// Bits of the constants of an operand: those of the operand that has them.
    fn constant_width(&self, user: &Class, wanted: &Source) -> Option<u32> {
        fn find(graph: &Graph, source: &Source, wanted: &Source, id: NodeId) -> Option<u32> {
            if std::ptr::eq(source, wanted) {
                return Some(graph.width(id));
            }
            match source {
                Source::Wire(like, parts) => {
                    let operands = graph.op(*like).operands().to_vec();
                    parts.iter().zip(operands).find_map(|(part, operand)| find(graph, part, wanted, operand))
                }
                Source::But(rule, others) => find(graph, rule, wanted, others[0].1),
                _ => None,
            }
        }
        let operands = self.b.graph.op(user.nodes[0]).operands().to_vec();
        user.operands.iter().zip(operands).find_map(|(source, id)| find(self.b.graph, source, wanted, id))
    }

    /// A value that is the same in all iterations.
    fn throughout(&mut self, id: NodeId) -> Expr {
        if is_source(self.b.graph, id) {
            return self.later_source(id);
        }
        if super::runs::is_wire(self.b.graph.op(id)) {
            let operands = self.b.graph.op(id).operands().to_vec();
            let operands = operands.into_iter().map(|operand| self.throughout(operand)).collect();
            return self.b.operation(id, operands);
        }
        self.hold(id)
    }
}
