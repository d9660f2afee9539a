//! Symbolic execution: a network run along one message, with its control known and its data left open.
//!
//! Tokens of control ports are numbers; those of data ports stand for any number of their type. Everything that fires is
//! decided by what is known (an actor whose guards ask for data cannot be mapped), and what is computed of the rest is kept
//! as [`Values`]. Each firing becomes a task. State is transparent: a value that a firing keeps and a later one uses goes
//! from one to the other directly.

use crate::tasks::{From, Stream, Task, Tasks, Wire};
use crate::values::{Id, Op, TaskId, Values, bounds};
use headrace_ir::{
    Action, Actor, Argument, BinaryOp, CompareOp, Endpoint, Expr, ExprKind, Int, Local, Network, OutputValue, Place,
    ProcedureId, Root, Scalar, Stmt, StmtKind, Type, Value,
};
use headrace_source::Span;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What comes in on a port along the message.
#[derive(Clone, Debug)]
pub enum Feed {
    /// These tokens: they are control.
    Known(Vec<i128>),
    /// So many tokens: they are data.
    Data(usize),
}

/// Why a network cannot be unrolled.
#[derive(Clone, Debug)]
pub struct Unfit {
    /// What stands in the way, and what to do.
    pub problem: String,
    /// The instance in which it does.
    pub instance: String,
    /// Where.
    pub span: Option<Span>,
    /// Where the message is too long: how many tokens of each input are left at its end.
    pub left: Vec<usize>,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.instance.as_str() {
            "" => f.write_str(&self.problem),
            instance => write!(f, "{} (in {instance})", self.problem),
        }
    }
}

impl std::error::Error for Unfit {}

/// Most firings of a message.
const MOST_FIRINGS: usize = 200_000;
/// Most values of a message.
const MOST_VALUES: usize = 8_000_000;
/// Most steps of one firing.
const MOST_STEPS: u64 = 40_000_000;
/// Most elements of a list that is not known among which data may choose.
const MOST_CHOICES: usize = 16;
/// Deepest nesting of calls.
const MOST_CALLS: usize = 256;

/// Where a place is; for an index that depends on data, with it, the number of elements and what one takes; its type.
type Resolved = (usize, Option<(Id, usize, usize)>, Type);

/// Runs a network along a message and gives its tasks. `feeds` has what comes in on each input port.
///
/// # Errors
///
/// Where control depends on data, data addresses memory that is written, numbers are real or too wide, natives are called,
/// or the network does not come to rest.
pub fn unroll(network: &Network, feeds: &[Feed]) -> Result<Tasks, Unfit> {
    Run::new(network)?.all(feeds)
}

/// A scalar in memory or in a FIFO: what it is, and which task it comes from.
#[derive(Clone, Copy)]
struct Cell {
    id: Id,
    from: Option<From>,
}

struct Instance {
    actor: usize,
    state: usize,
    initialised: usize,
    /// Where its variables begin.
    variables: Vec<usize>,
    inputs: Vec<Option<usize>>,
    outputs: Vec<Vec<usize>>,
    counts: BTreeMap<String, usize>,
}

struct Run<'n> {
    network: &'n Network,
    values: Values,
    memory: Vec<Cell>,
    instances: Vec<Instance>,
    fifos: Vec<VecDeque<Cell>>,
    boundary_out: Vec<Option<usize>>,
    boundary_in: Vec<Vec<usize>>,
    tasks: Vec<Task>,
    // Of the firing that is going on.
    task: TaskId,
    reads: BTreeMap<Id, From>,
    read_order: Vec<Id>,
    steps: u64,
    depth: usize,
    /// Cells that were written since, with what was there, while both ways of a choice are tried.
    log: Option<Vec<(usize, Cell)>>,
}

/// What stands in the way, and where.
type Stop = (String, Option<Span>);

/// Where the locals of an action or procedure are.
struct Frame<'a> {
    actor: &'a Actor,
    instance: usize,
    locals: &'a [Local],
    at: Vec<usize>,
}

impl<'n> Run<'n> {
    fn new(network: &'n Network) -> Result<Self, Unfit> {
        let mut run = Run {
            network,
            values: Values::default(),
            memory: Vec::new(),
            instances: Vec::new(),
            fifos: Vec::new(),
            boundary_out: vec![None; network.outputs.len()],
            boundary_in: vec![Vec::new(); network.inputs.len()],
            tasks: Vec::new(),
            task: TaskId(0),
            reads: BTreeMap::new(),
            read_order: Vec::new(),
            steps: 0,
            depth: 0,
            log: None,
        };
        for instance in &network.instances {
            let actor = &network.actors[instance.actor.index()];
            let mut variables = Vec::new();
            for variable in &actor.variables {
                variables.push(run.memory.len());
                let whole = variable.whole_initial();
                let unfit = |(problem, _)| Unfit {
                    problem,
                    instance: instance.name.clone(),
                    span: Some(variable.span),
                    left: Vec::new(),
                };
                run.place_value(&whole).map_err(unfit)?;
            }
            run.instances.push(Instance {
                actor: instance.actor.index(),
                state: actor.schedule.initial.index(),
                initialised: 0,
                variables,
                inputs: vec![None; actor.inputs.len()],
                outputs: vec![Vec::new(); actor.outputs.len()],
                counts: BTreeMap::new(),
            });
        }
        for (fifo, connection) in network.connections.iter().enumerate() {
            run.fifos.push(VecDeque::new());
            match connection.source {
                Endpoint::Boundary(port) => run.boundary_in[port].push(fifo),
                Endpoint::Instance(instance, port) => run.instances[instance.index()].outputs[port].push(fifo),
            }
            match connection.target {
                Endpoint::Boundary(port) => run.boundary_out[port] = Some(fifo),
                Endpoint::Instance(instance, port) => run.instances[instance.index()].inputs[port] = Some(fifo),
            }
        }
        Ok(run)
    }

    fn place_value(&mut self, value: &Value) -> Result<(), Stop> {
        let id = match value {
            Value::Bool(it) => self.values.known(i128::from(*it)),
            Value::Int(it) => self.number(it, None)?,
            // Reals and texts stand for nothing; who computes with them is told so.
            Value::Real(_) | Value::String(_) => self.values.known(0),
            Value::List(all) => return all.iter().try_for_each(|it| self.place_value(it)),
        };
        self.memory.push(Cell { id, from: None });
        Ok(())
    }

    fn number(&mut self, value: &Int, span: Option<Span>) -> Result<Id, Stop> {
        match i128::try_from(value.to_big()) {
            Ok(value) if value.unsigned_abs() < 1 << 120 => Ok(self.values.known(value)),
            _ => Err(("a number takes more than 120 bits".into(), span)),
        }
    }

    fn all(mut self, feeds: &[Feed]) -> Result<Tasks, Unfit> {
        let bare = |problem: String| Unfit { problem, instance: String::new(), span: None, left: Vec::new() };
        for (port, feed) in feeds.iter().enumerate() {
            let declared = &self.network.inputs[port];
            let (low, high) = scalar_bounds(declared.ty).ok_or_else(|| {
                bare(format!("input `{}` has tokens of {}; words are integers", declared.name, declared.ty))
            })?;
            let n = match feed {
                Feed::Known(tokens) => tokens.len(),
                Feed::Data(n) => *n,
            };
            for at in 0..n {
                let cell = match feed {
                    Feed::Known(tokens) => Cell { id: self.values.known(tokens[at]), from: None },
                    Feed::Data(_) => {
                        let id = self.values.input(port as u32, at as u32, low, high);
                        Cell { id, from: Some(From::Outside(port as u32)) }
                    }
                };
                for fifo in self.boundary_in[port].clone() {
                    let ty = self.network.target_port(&self.network.connections[fifo]).ty;
                    let cell = self.converted(cell, (low, high), ty, &declared.name).map_err(bare)?;
                    self.fifos[fifo].push_back(cell);
                }
            }
        }
        loop {
            let mut moved = false;
            for instance in 0..self.instances.len() {
                while self.attempt(instance)? {
                    moved = true;
                    if self.tasks.len() > MOST_FIRINGS || self.values.len() > MOST_VALUES {
                        return Err(bare("the message takes too many firings; take a shorter one".into()));
                    }
                }
            }
            if !moved {
                break;
            }
        }
        for (port, fifos) in self.boundary_in.iter().enumerate() {
            if let Some(&fifo) = fifos.iter().find(|&&fifo| !self.fifos[fifo].is_empty()) {
                let (name, n) = (&self.network.inputs[port].name, self.fifos[fifo].len());
                let left = |fifos: &Vec<usize>| fifos.iter().map(|&fifo| self.fifos[fifo].len()).min().unwrap_or(0);
                let left = self.boundary_in.iter().map(left).collect();
                let problem = format!("{n} tokens of input `{name}` are left: the message has the wrong length");
                return Err(Unfit { left, ..bare(problem) });
            }
        }
        let mut outputs = Vec::new();
        for (port, fifo) in self.boundary_out.iter().enumerate() {
            let cells: Vec<Cell> = fifo.map(|fifo| self.fifos[fifo].iter().copied().collect()).unwrap_or_default();
            // Numbers that are known (lengths, say) need no machine.
            let wires =
                cells.iter().map(|cell| Wire { value: cell.id, from: cell.from.unwrap_or(From::Outside(u32::MAX)) });
            outputs.push(Stream { port: self.network.outputs[port].name.clone(), wires: wires.collect() });
        }
        let inputs = self.network.inputs.iter().map(|port| port.name.clone()).collect();
        let mut tasks = Tasks { values: self.values, tasks: self.tasks, inputs, outputs, parameters: BTreeSet::new() };
        crate::transform::settle(&mut tasks);
        let leave: Vec<Id> = tasks.outputs.iter().flat_map(|stream| &stream.wires).map(|wire| wire.value).collect();
        tasks.values.narrow(&leave);
        Ok(tasks)
    }

    /// A token of an input on its way to a port of another type: what may have to be cut goes through a task that does so.
    fn converted(&mut self, cell: Cell, from: (i128, i128), to: Scalar, port: &str) -> Result<Cell, String> {
        let (low, high) = scalar_bounds(to).ok_or_else(|| format!("{to} has no place on this machine"))?;
        if low <= from.0 && from.1 <= high {
            return Ok(cell);
        }
        self.task = TaskId(self.tasks.len() as u32);
        let id = match to {
            Scalar::Int(ty) => self.values.apply(Op::Wrap(ty), &[cell.id], self.task)?,
            _ => return Err(format!("input `{port}` is converted to {to} on its way to an actor")),
        };
        let Some(from) = cell.from.filter(|_| self.values.constant(id).is_none()) else {
            return Ok(Cell { id, from: None });
        };
        let task = self.task;
        let n = self.tasks.len();
        self.tasks.push(Task {
            name: format!("{port}.convert#{n}"),
            class: "convert".into(),
            inputs: vec![Wire { value: cell.id, from }],
            outputs: vec![id],
        });
        Ok(Cell { id, from: Some(From::Task(task)) })
    }

    fn unfit(&self, instance: usize, (problem, span): Stop) -> Unfit {
        Unfit { problem, instance: self.network.instances[instance].name.clone(), span, left: Vec::new() }
    }

    fn attempt(&mut self, at: usize) -> Result<bool, Unfit> {
        let network = self.network;
        let actor = &network.actors[self.instances[at].actor];
        if let Some(action) = actor.initializers.get(self.instances[at].initialised) {
            self.instances[at].initialised += 1;
            if self.enabled(at, actor, action).map_err(|stop| self.unfit(at, stop))? {
                self.fire(at, actor, action).map_err(|stop| self.unfit(at, stop))?;
            }
            return Ok(true);
        }
        for test in &actor.schedule.states[self.instances[at].state].tests {
            let action = &actor.actions[test.action.index()];
            if self.enabled(at, actor, action).map_err(|stop| self.unfit(at, stop))? {
                self.fire(at, actor, action).map_err(|stop| self.unfit(at, stop))?;
                self.instances[at].state = test.next.index();
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn enabled(&mut self, at: usize, actor: &'n Actor, action: &'n Action) -> Result<bool, Stop> {
        for pattern in &action.consumes {
            let fifo = self.instances[at].inputs[pattern.port];
            if fifo.is_none_or(|fifo| (self.fifos[fifo].len() as u64) < pattern.tokens()) {
                return Ok(false);
            }
        }
        if action.guard.conditions.is_empty() {
            return Ok(true);
        }
        let begin = self.memory.len();
        let frame = self.open(at, actor, action)?;
        self.statements(&frame, &action.guard.before)?;
        let mut holds = true;
        for condition in &action.guard.conditions {
            let id = self.expression(&frame, condition)?;
            match self.values.constant(id) {
                Some(0) => {
                    holds = false;
                    break;
                }
                Some(_) => {}
                None => {
                    let problem = format!("the guard of `{}` depends on data: what fires must be known", action.name);
                    return Err((problem, Some(condition.span)));
                }
            }
        }
        self.memory.truncate(begin);
        Ok(holds)
    }

    /// A frame with the pattern variables bound to the first tokens, all else zero.
    fn open(&mut self, at: usize, actor: &'n Actor, action: &'n Action) -> Result<Frame<'n>, Stop> {
        self.steps = 0;
        self.reads.clear();
        self.read_order.clear();
        self.task = TaskId(self.tasks.len() as u32);
        let mut frame = Frame { actor, instance: at, locals: &action.locals, at: Vec::new() };
        for local in &action.locals {
            frame.at.push(self.allocate(&local.ty)?);
        }
        for pattern in &action.consumes {
            let Some(fifo) = self.instances[at].inputs[pattern.port] else { continue };
            let n_names = pattern.locals.len();
            for token in 0..pattern.tokens() as usize {
                let to = frame.at[pattern.locals[token % n_names].index()] + token / n_names;
                self.memory[to] = self.fifos[fifo][token];
            }
        }
        Ok(frame)
    }

    fn allocate(&mut self, ty: &Type) -> Result<usize, Stop> {
        let (at, zero) = (self.memory.len(), self.values.known(0));
        if self.memory.len() + ty.len() > 1 << 27 {
            return Err(("lists are too long".into(), None));
        }
        self.memory.extend(std::iter::repeat_n(Cell { id: zero, from: None }, ty.len()));
        Ok(at)
    }

    fn fire(&mut self, at: usize, actor: &'n Actor, action: &'n Action) -> Result<(), Stop> {
        let begin = self.memory.len();
        let frame = self.open(at, actor, action)?;
        for pattern in &action.consumes {
            if let Some(fifo) = self.instances[at].inputs[pattern.port] {
                self.fifos[fifo].drain(..pattern.tokens() as usize);
            }
        }
        self.statements(&frame, &action.body)?;
        let task = self.task;
        let mut outputs = Vec::new();
        for output in &action.produces {
            let repeat = output.repeat.map_or(1, |repeat| repeat as usize);
            let ty = actor.outputs[output.port].ty;
            let mut tokens = vec![None; output.tokens() as usize];
            for (position, value) in output.values.iter().enumerate() {
                match value {
                    OutputValue::Scalar(value) => {
                        let cell = self.cell(&frame, value)?;
                        tokens[position] = Some(cell);
                    }
                    OutputValue::List { place, convert } => {
                        let (from, _) = self.address(&frame, place)?;
                        for n in 0..repeat {
                            let cell = self.memory[from + n];
                            let cell = match convert {
                                Some(to) => {
                                    let id = self.load(cell);
                                    Cell { id: self.convert(id, *to, place.span)?, from: None }.of(self)
                                }
                                None => cell,
                            };
                            tokens[n * output.values.len() + position] = Some(cell);
                        }
                    }
                }
            }
            for cell in tokens.into_iter().flatten() {
                let is_known = self.values.constant(cell.id).is_some();
                if !is_known {
                    self.load(cell);
                    outputs.push(cell.id);
                }
                for fifo in self.instances[at].outputs[output.port].clone() {
                    let to = self.network.target_port(&self.network.connections[fifo]).ty;
                    let id = if to == ty { cell.id } else { self.convert(cell.id, to, action.span)? };
                    if id != cell.id && self.values.constant(id).is_none() {
                        outputs.push(id);
                    }
                    let from = self.values.constant(id).is_none().then_some(From::Task(task));
                    self.fifos[fifo].push_back(Cell { id, from });
                }
            }
        }
        self.memory.truncate(begin);
        // What was computed and is kept in the state comes from this task.
        let base = self.instances[at].variables.first().copied();
        if let Some(base) = base {
            let end = base + actor.variables.iter().map(|variable| variable.ty.len()).sum::<usize>();
            for cell in &mut self.memory[base..end] {
                if cell.from.is_none() && self.values.node(cell.id).task == Some(task) {
                    cell.from = Some(From::Task(task));
                }
            }
        }
        let count = self.instances[at].counts.entry(action.name.clone()).or_default();
        let instance = &self.network.instances[at].name;
        let (name, class) = match actor.actions.len() {
            1 => (format!("{instance}#{count}"), actor.class.clone()),
            _ => (format!("{instance}.{}#{count}", action.name), format!("{}.{}", actor.class, action.name)),
        };
        *count += 1;
        let mut inputs = Vec::new();
        for id in &self.read_order {
            inputs.push(Wire { value: *id, from: self.reads[id] });
        }
        outputs.retain({
            let mut seen = BTreeSet::new();
            move |id| seen.insert(*id)
        });
        self.tasks.push(Task { name, class, inputs, outputs });
        Ok(())
    }

    /// The value of a cell; where it comes from is remembered.
    fn load(&mut self, cell: Cell) -> Id {
        if let Some(from) = cell.from
            && from != From::Task(self.task)
            && !self.reads.contains_key(&cell.id)
        {
            self.reads.insert(cell.id, from);
            self.read_order.push(cell.id);
        }
        cell.id
    }

    fn store(&mut self, at: usize, cell: Cell) {
        if let Some(log) = &mut self.log {
            log.push((at, self.memory[at]));
        }
        self.memory[at] = cell;
    }

    fn step(&mut self, span: Span) -> Result<(), Stop> {
        self.steps += 1;
        match self.steps < MOST_STEPS && self.values.len() < MOST_VALUES {
            true => Ok(()),
            false => Err(("a firing takes too many steps".into(), Some(span))),
        }
    }

    fn statements(&mut self, frame: &Frame<'n>, statements: &'n [Stmt]) -> Result<(), Stop> {
        for statement in statements {
            self.statement(frame, statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, frame: &Frame<'n>, statement: &'n Stmt) -> Result<(), Stop> {
        self.step(statement.span)?;
        match &statement.kind {
            StmtKind::Assign(place, value) => {
                let cell = self.cell(frame, value)?;
                self.assign(frame, place, cell)
            }
            StmtKind::Copy { target, source, convert } => {
                let (from, from_ty) = self.address(frame, source)?;
                let (to, _) = self.address(frame, target)?;
                for n in 0..from_ty.len() {
                    let mut cell = self.memory[from + n];
                    if let Some(ty) = convert {
                        let id = self.load(cell);
                        cell = Cell { id: self.convert(id, *ty, source.span)?, from: None }.of(self);
                    }
                    self.store(to + n, cell);
                }
                Ok(())
            }
            StmtKind::If(condition, yes, no) => {
                let id = self.expression(frame, condition)?;
                match self.values.constant(id) {
                    Some(0) => self.statements(frame, no),
                    Some(_) => self.statements(frame, yes),
                    None => self.both(frame, id, yes, no, statement.span),
                }
            }
            StmtKind::While { before, condition, body } => loop {
                self.step(statement.span)?;
                self.statements(frame, before)?;
                let id = self.expression(frame, condition)?;
                match self.values.constant(id) {
                    Some(0) => return Ok(()),
                    Some(_) => self.statements(frame, body)?,
                    None => return Err(("how often a loop runs depends on data".into(), Some(condition.span))),
                }
            },
            StmtKind::Foreach { variable, low, high, body } => {
                let mut bound = |it: &'n Expr| -> Result<i128, Stop> {
                    let id = self.expression(frame, it)?;
                    self.values.constant(id).ok_or(("the bound of a loop depends on data".into(), Some(it.span)))
                };
                let (low, high) = (bound(low)?, bound(high)?);
                if high < low {
                    return Ok(());
                }
                let (at, ty) = (frame.at[variable.index()], frame.locals[variable.index()].ty.element);
                let first = self.values.known(low);
                let first = self.convert(first, ty, statement.span)?;
                self.store(at, Cell { id: first, from: None }.of(self));
                loop {
                    self.step(statement.span)?;
                    self.statements(frame, body)?;
                    let now = self.values.constant(self.memory[at].id);
                    let now = now.ok_or(("the variable of a loop depends on data".into(), Some(statement.span)))?;
                    if now >= high {
                        return Ok(());
                    }
                    let next = self.values.known(now + 1);
                    let next = self.convert(next, ty, statement.span)?;
                    self.store(at, Cell { id: next, from: None }.of(self));
                }
            }
            StmtKind::Call { result, procedure, arguments } => {
                let value = self.call(frame, *procedure, arguments, statement.span)?;
                if let (Some(local), Some(cell)) = (result, value) {
                    self.store(frame.at[local.index()], cell);
                }
                Ok(())
            }
            StmtKind::CallNative { .. } => {
                Err(("a native procedure has no place on this machine".into(), Some(statement.span)))
            }
            StmtKind::Print { .. } => Ok(()),
        }
    }

    /// Both ways of a choice that data makes: what either writes becomes a selection.
    fn both(&mut self, frame: &Frame<'n>, id: Id, yes: &'n [Stmt], no: &'n [Stmt], span: Span) -> Result<(), Stop> {
        let outer = self.log.take();
        let mut ways: Vec<BTreeMap<usize, Cell>> = Vec::new();
        let mut before: BTreeMap<usize, Cell> = BTreeMap::new();
        for way in [yes, no] {
            let begin = self.memory.len();
            self.log = Some(Vec::new());
            let done = self.statements(frame, way);
            let log = self.log.take().unwrap_or_default();
            done?;
            let written = log.iter().filter(|(at, _)| *at < begin).map(|&(at, _)| (at, self.memory[at])).collect();
            ways.push(written);
            for (at, old) in log.into_iter().rev().filter(|(at, _)| *at < begin) {
                self.memory[at] = old;
                before.insert(at, old);
            }
            self.memory.truncate(begin);
        }
        self.log = outer;
        for (at, old) in before {
            let [yes, no] = [0, 1].map(|way| ways[way].get(&at).copied().unwrap_or(old));
            let (yes, no) = (self.load(yes), self.load(no));
            let chosen = self.apply(Op::Select, &[id, yes, no], span)?;
            self.store(at, Cell { id: chosen, from: None }.of(self));
        }
        Ok(())
    }

    fn assign(&mut self, frame: &Frame<'n>, place: &'n Place, cell: Cell) -> Result<(), Stop> {
        let (at, indices, ty) = self.resolve(frame, place)?;
        match indices {
            None => self.store(at, cell),
            Some((index, n, stride)) => {
                debug_assert!(ty.dims.is_empty() && stride == 1);
                let new = self.load(cell);
                for k in 0..n {
                    let k_id = self.values.known(k as i128);
                    let here = self.apply(Op::Compare(CompareOp::Equal), &[index, k_id], place.span)?;
                    let old = self.load(self.memory[at + k]);
                    let chosen = self.apply(Op::Select, &[here, new, old], place.span)?;
                    self.store(at + k, Cell { id: chosen, from: None }.of(self));
                }
            }
        }
        Ok(())
    }

    /// Where a place is. An index that depends on data is left over, with the number of elements and what one takes: it may
    /// be the last alone.
    fn resolve(&mut self, frame: &Frame<'n>, place: &'n Place) -> Result<Resolved, Stop> {
        let (mut at, ty) = match place.root {
            Root::Actor(id) => {
                (self.instances[frame.instance].variables[id.index()], &frame.actor.variables[id.index()].ty)
            }
            Root::Local(id) => (frame.at[id.index()], &frame.locals[id.index()].ty),
        };
        let mut open = None;
        for (depth, index) in place.indices.iter().enumerate() {
            let (size, stride) = (ty.dims[depth] as usize, ty.after_indices(depth + 1).len());
            let id = self.expression(frame, index)?;
            match self.values.constant(id) {
                Some(known) => match usize::try_from(known).ok().filter(|it| *it < size) {
                    Some(known) => at += known * stride,
                    None => return Err((format!("index {known} is outside 0..{}", size - 1), Some(index.span))),
                },
                None if open.is_none() && depth + 1 == place.indices.len() => open = Some((id, size, stride)),
                None => {
                    // Several dimensions of which data chooses one before the last: one index over all of them.
                    let flat = ty.after_indices(depth).len();
                    let rest = self.flat_index(frame, ty, depth, id, &place.indices[depth + 1..])?;
                    if ty.after_indices(place.indices.len()).is_list() {
                        return Err(("data chooses among lists".into(), Some(index.span)));
                    }
                    open = Some((rest, flat, 1));
                    break;
                }
            }
        }
        Ok((at, open, ty.after_indices(place.indices.len())))
    }

    fn flat_index(
        &mut self,
        frame: &Frame<'n>,
        ty: &Type,
        depth: usize,
        first: Id,
        rest: &'n [Expr],
    ) -> Result<Id, Stop> {
        let mut sum = None;
        for n in 0..=rest.len() {
            let (id, span) = match n {
                0 => (first, None),
                n => (self.expression(frame, &rest[n - 1])?, Some(rest[n - 1].span)),
            };
            let size = i128::from(ty.dims[depth + n]);
            let node = self.values.node(id);
            if node.low < 0 || node.high >= size {
                return Err((format!("an index may be {}, outside 0..{}", node.high, size - 1), span));
            }
            let stride = self.values.known(ty.after_indices(depth + n + 1).len() as i128);
            let part = self.values.apply(Op::Mul, &[id, stride], self.task).map_err(|why| (why, span))?;
            sum = Some(match sum {
                None => part,
                Some(sum) => self.values.apply(Op::Add, &[sum, part], self.task).map_err(|why| (why, span))?,
            });
        }
        Ok(sum.unwrap_or(first))
    }

    /// Where a list or scalar is whose place is known.
    fn address(&mut self, frame: &Frame<'n>, place: &'n Place) -> Result<(usize, Type), Stop> {
        let (at, open, ty) = self.resolve(frame, place)?;
        match open {
            None => Ok((at, ty)),
            Some(_) => Err(("data chooses among lists".into(), Some(place.span))),
        }
    }

    fn apply(&mut self, op: Op, args: &[Id], span: Span) -> Result<Id, Stop> {
        let id = self.values.apply(op, args, self.task).map_err(|why| (why, Some(span)))?;
        // What it is made of inside another firing has not come here.
        let node = self.values.node(id);
        let is_here = node.task == Some(self.task) || self.values.constant(id).is_some();
        match is_here || args.contains(&id) || self.reads.contains_key(&id) {
            true => Ok(id),
            false => self.values.plain(op, args, self.task).map_err(|why| (why, Some(span))),
        }
    }

    fn convert(&mut self, id: Id, to: Scalar, span: Span) -> Result<Id, Stop> {
        match to {
            Scalar::Bool => Ok(id),
            Scalar::Int(ty) if ty.width <= 120 => self.apply(Op::Wrap(ty), &[id], span),
            // What is known keeps to its own range.
            Scalar::Int(_) if self.values.constant(id).is_some() => Ok(id),
            other => Err((format!("{other} has no place on this machine"), Some(span))),
        }
    }

    fn cell(&mut self, frame: &Frame<'n>, value: &'n Expr) -> Result<Cell, Stop> {
        // A load that goes nowhere else keeps where its value comes from.
        if let ExprKind::Load(place) = &value.kind {
            let (at, open, _) = self.resolve(frame, place)?;
            if open.is_none() {
                return Ok(self.memory[at]);
            }
        }
        if let ExprKind::Wrap(ty, inner) = &value.kind {
            let cell = self.cell(frame, inner)?;
            let (node, (low, high)) = (self.values.node(cell.id), bounds(*ty));
            if node.low >= low && node.high <= high && ty.width <= 120 {
                return Ok(cell);
            }
        }
        Ok(Cell { id: self.expression(frame, value)?, from: None }.of(self))
    }

    fn expression(&mut self, frame: &Frame<'n>, expr: &'n Expr) -> Result<Id, Stop> {
        self.step(expr.span)?;
        let span = expr.span;
        Ok(match &expr.kind {
            ExprKind::Int(value) => self.number(value, Some(span))?,
            ExprKind::Bool(value) => self.values.known(i128::from(*value)),
            ExprKind::Load(place) => {
                let (at, open, ty) = self.resolve(frame, place)?;
                match open {
                    None => self.load(self.memory[at]),
                    Some((index, n, _)) => {
                        debug_assert!(!ty.is_list());
                        self.choose(index, at, n, span)?
                    }
                }
            }
            ExprKind::Negate(a) => {
                let a = self.expression(frame, a)?;
                self.apply(Op::Negate, &[a], span)?
            }
            ExprKind::Complement(a) => {
                let a = self.expression(frame, a)?;
                self.apply(Op::Complement, &[a], span)?
            }
            ExprKind::Not(a) => {
                let (a, one) = (self.expression(frame, a)?, self.values.known(1));
                self.apply(Op::Xor, &[a, one], span)?
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expression(frame, a)?, self.expression(frame, b)?);
                let op = match op {
                    BinaryOp::Add => Op::Add,
                    BinaryOp::Sub => Op::Sub,
                    BinaryOp::Mul => Op::Mul,
                    BinaryOp::Div => Op::Div,
                    BinaryOp::Mod => Op::Mod,
                    BinaryOp::And => Op::And,
                    BinaryOp::Or => Op::Or,
                    BinaryOp::Xor => Op::Xor,
                    BinaryOp::ShiftRight => Op::ShiftRight,
                };
                self.apply(op, &[a, b], span)?
            }
            ExprKind::ShiftLeft(ty, a, b) => {
                let (a, b) = (self.expression(frame, a)?, self.expression(frame, b)?);
                if ty.width <= 120 {
                    self.apply(Op::ShiftLeft(*ty), &[a, b], span)?
                } else {
                    // The type holds every value: a product.
                    let count = self.values.constant(b).filter(|count| (0..100).contains(count));
                    let count = count.ok_or(("a shift may leave more than 120 bits".to_owned(), Some(span)))?;
                    let power = self.values.known(1 << count);
                    self.apply(Op::Mul, &[a, power], span)?
                }
            }
            ExprKind::Wrap(ty, a) => {
                let a = self.expression(frame, a)?;
                self.convert(a, Scalar::Int(*ty), span)?
            }
            ExprKind::Compare(op, a, b) => {
                let (a, b) = (self.expression(frame, a)?, self.expression(frame, b)?);
                self.apply(Op::Compare(*op), &[a, b], span)?
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let is_and = matches!(expr.kind, ExprKind::And(..));
                let a = self.expression(frame, a)?;
                match self.values.constant(a) {
                    Some(known) if (known != 0) != is_and => a,
                    Some(_) => self.expression(frame, b)?,
                    None => {
                        let b = self.expression(frame, b)?;
                        self.apply(if is_and { Op::And } else { Op::Or }, &[a, b], span)?
                    }
                }
            }
            ExprKind::If(c, a, b) => {
                let c = self.expression(frame, c)?;
                match self.values.constant(c) {
                    Some(0) => self.expression(frame, b)?,
                    Some(_) => self.expression(frame, a)?,
                    None => {
                        let (a, b) = (self.expression(frame, a)?, self.expression(frame, b)?);
                        self.apply(Op::Select, &[c, a, b], span)?
                    }
                }
            }
            ExprKind::Call(procedure, arguments) => {
                let cell = self.call(frame, *procedure, arguments, span)?;
                let cell = cell.ok_or(("a procedure has no value".to_owned(), Some(span)))?;
                // What it was given it may give back.
                self.load(cell)
            }
            ExprKind::Real(..)
            | ExprKind::IntToReal(..)
            | ExprKind::RealToReal(..)
            | ExprKind::RealBinary(..)
            | ExprKind::RealNegate(_) => return Err(("reals have no place on this machine".into(), Some(span))),
            ExprKind::String(_) | ExprKind::Concat(_) => {
                return Err(("texts have no place on this machine".into(), Some(span)));
            }
        })
    }

    /// The element of a list that data chooses: of a table where all are known, else one of a few.
    fn choose(&mut self, index: Id, at: usize, n: usize, span: Span) -> Result<Id, Stop> {
        let known: Option<Vec<i128>> = (at..at + n).map(|at| self.values.constant(self.memory[at].id)).collect();
        if let Some(known) = known {
            let table = self.values.table_of(known);
            return self.apply(Op::Table(table), &[index], span);
        }
        if n > MOST_CHOICES {
            return Err((format!("data addresses a list of {n} that is not known beforehand"), Some(span)));
        }
        let (low, high) = (self.values.node(index).low, self.values.node(index).high);
        if low < 0 || high >= n as i128 {
            return Err((format!("an index may be {high}, outside 0..{}", n - 1), Some(span)));
        }
        let mut chosen = self.load(self.memory[at + n - 1]);
        for k in (0..n - 1).rev() {
            let k_id = self.values.known(k as i128);
            let here = self.apply(Op::Compare(CompareOp::Equal), &[index, k_id], span)?;
            let element = self.load(self.memory[at + k]);
            chosen = self.apply(Op::Select, &[here, element, chosen], span)?;
        }
        Ok(chosen)
    }

    fn call(
        &mut self,
        frame: &Frame<'n>,
        procedure: ProcedureId,
        arguments: &'n [Argument],
        span: Span,
    ) -> Result<Option<Cell>, Stop> {
        let procedure = &frame.actor.procedures[procedure.index()];
        if self.depth == MOST_CALLS {
            return Err(("calls nest too deep".into(), Some(span)));
        }
        let begin = self.memory.len();
        let mut inner =
            Frame { actor: frame.actor, instance: frame.instance, locals: &procedure.locals, at: Vec::new() };
        for argument in arguments {
            let at = match argument {
                Argument::Value(value) => {
                    let cell = self.cell(frame, value)?;
                    self.memory.push(cell);
                    self.memory.len() - 1
                }
                Argument::List(place) => self.address(frame, place)?.0,
            };
            inner.at.push(at);
        }
        for local in &procedure.locals[procedure.n_parameters..] {
            inner.at.push(self.allocate(&local.ty)?);
        }
        self.depth += 1;
        let done = self.statements(&inner, &procedure.body);
        self.depth -= 1;
        done?;
        let result = match &procedure.result {
            Some((_, value)) => Some(self.cell(&inner, value)?),
            None => None,
        };
        self.memory.truncate(begin);
        Ok(result)
    }
}

impl Cell {
    /// The cell with where its value comes from, which is known of those that were read.
    fn of(self, run: &Run<'_>) -> Self {
        match (self.from, run.reads.get(&self.id)) {
            (None, Some(&from)) => Cell { from: Some(from), ..self },
            _ => self,
        }
    }
}

fn scalar_bounds(ty: Scalar) -> Option<(i128, i128)> {
    match ty {
        Scalar::Bool => Some((0, 1)),
        Scalar::Int(int) if int.width <= 64 => Some(bounds(int)),
        _ => None,
    }
}
