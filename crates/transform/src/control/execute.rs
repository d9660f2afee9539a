//! Statements on nodes: bodies of actions, executed with values that need not be known.
//!
//! What is known is computed; a choice that is not known becomes a [`Op::Select`](crate::kernel::Op::Select) of what both
//! sides do, or, where a side has effects, a structured choice; a loop whose end is not known a structured loop.

use super::NotFused;
use super::expression::{Part, bits_of_value};
use super::facts::Facts;
use super::lists::{List, ListId};
use crate::kernel::graph::MAX_BITS;
use crate::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, Table, TableId};
use headrace_ir::{
    Action, Actor, Argument, Expr, ExprKind, Local, LocalId, LocalKind, Network, Place, ProcedureId, Root, Scalar,
    StateId, Stmt, StmtKind, Type, Value, VariableId,
};
use headrace_source::Span;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// Operations that a loop may become when it is unrolled.
const UNROLLED_OPERATIONS: u64 = 40_000;

/// Passes of a loop that is unrolled, if its body is short.
const UNROLLED_PASSES: i128 = 300;

/// Passes of a loop whose end is not known that may become choices.
const CHOSEN_PASSES: u32 = 40;

/// Calls inside of one another.
const CALL_DEPTH: u32 = 64;

/// What a path has come to.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Of each instance.
    pub fsm: Vec<StateId>,
    /// Tokens of each connection that does not end at the boundary, first to be read first.
    pub queues: Vec<VecDeque<NodeId>>,
    pub lists: Vec<Rc<List>>,
    /// Effects, the innermost list last.
    pub effects: Vec<Vec<Effect>>,
    n_effects: usize,
    pub consumed: Vec<u64>,
    pub produced: Vec<u64>,
    pub facts: Facts,
}

impl State {
    pub fn new(fsm: Vec<StateId>, n_connections: usize, lists: Vec<Rc<List>>, ports: (usize, usize)) -> State {
        State {
            fsm,
            queues: vec![VecDeque::new(); n_connections],
            lists,
            effects: vec![Vec::new()],
            n_effects: 0,
            consumed: vec![0; ports.0],
            produced: vec![0; ports.1],
            facts: Facts::default(),
        }
    }

    pub fn list(&self, id: ListId) -> &List {
        &self.lists[id.0 as usize]
    }

    pub fn list_mut(&mut self, id: ListId) -> &mut List {
        Rc::make_mut(&mut self.lists[id.0 as usize])
    }

    fn add_list(&mut self, list: Rc<List>) -> ListId {
        self.lists.push(list);
        ListId(self.lists.len() as u32 - 1)
    }

    pub fn push(&mut self, effect: Effect) {
        self.n_effects += 1;
        if let Some(list) = self.effects.last_mut() {
            list.push(effect);
        }
    }
}

/// Where a local is.
#[derive(Clone, Copy, Debug)]
enum LocalValue {
    Scalar(NodeId),
    /// A scalar in memory, a list of one.
    Cell(ListId),
    List(Part),
}

/// An activation of an action or a procedure.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub instance: usize,
    depth: u32,
    locals: Vec<LocalValue>,
    types: Rc<[Type]>,
}

/// What executing needs to know, and what it adds to.
pub(crate) struct Walk<'n, 'g> {
    pub network: &'n Network,
    pub graph: &'g mut Graph,
    pub objects: &'g mut Vec<Object>,
    /// The list of each variable of each instance; `None` for constants.
    pub variables: &'g [Vec<Option<ListId>>],
    pub tables: &'g mut HashMap<(usize, VariableId), TableId>,
    pub n_loads: &'g mut u32,
    /// Most nodes that the graph may have.
    pub budget: usize,
    /// The statement that is executed.
    pub span: Span,
}

impl<'n> Walk<'n, '_> {
    pub fn actor(&self, frame: &Frame) -> &'n Actor {
        let network: &'n Network = self.network;
        &network.actors[network.instances[frame.instance].actor.index()]
    }

    fn zero(&mut self, ty: &Type, span: Span) -> Result<(u32, NodeId), NotFused> {
        let width = ty.element.width();
        if width == 0 || width > MAX_BITS || matches!(ty.element, Scalar::Real(_)) {
            return Err(NotFused::new("a variable is of a type that kernels do not have", span));
        }
        Ok((width, self.graph.number(0, width)))
    }

    /// A frame whose plain locals are zero.
    pub fn frame(
        &mut self,
        state: &mut State,
        instance: usize,
        locals: &[Local],
        span: Span,
    ) -> Result<Frame, NotFused> {
        let mut values = Vec::with_capacity(locals.len());
        for local in locals {
            let (width, zero) = self.zero(&local.ty, span)?;
            values.push(if local.ty.is_list() {
                let list = state.add_list(List::of_values(width, vec![zero; local.ty.len()]));
                LocalValue::List(Part { list, start: 0 })
            } else {
                LocalValue::Scalar(zero)
            });
        }
        let types = locals.iter().map(|local| local.ty.clone()).collect();
        Ok(Frame { instance, depth: 0, locals: values, types })
    }

    /// Gives a pattern's tokens to a local.
    pub fn bind(&mut self, state: &mut State, frame: &mut Frame, local: LocalId, tokens: &[NodeId]) {
        match frame.locals[local.index()] {
            LocalValue::List(part) => {
                for (at, &token) in tokens.iter().enumerate() {
                    self.write(state, part.list, part.start + at, token);
                }
            }
            _ => {
                if let Some(&token) = tokens.first() {
                    frame.locals[local.index()] = LocalValue::Scalar(token);
                }
            }
        }
    }

    // --- lists ------------------------------------------------------------------------------------------------------

    fn object_of(&mut self, state: &mut State, list: ListId) -> ObjectId {
        if let Some(object) = state.list(list).object {
            return object;
        }
        let object = ObjectId(self.objects.len() as u32);
        let (width, length) = (state.list(list).width, state.list(list).elements.len());
        let name = format!("local{}", self.objects.len());
        self.objects.push(Object { name, width, length, persistent: false });
        state.list_mut(list).object = Some(object);
        object
    }

    /// Stores what is not in memory yet.
    pub fn flush(&mut self, state: &mut State, list: ListId) -> ObjectId {
        let object = self.object_of(state, list);
        for at in 0..state.list(list).elements.len() {
            if !state.list(list).dirty[at] {
                continue;
            }
            state.list_mut(list).dirty[at] = false;
            let Some(value) = state.list(list).elements[at] else { continue };
            let index = self.graph.number(at as u128, 32);
            // Memory that no kernel has written yet is zero, and what is there need not be written again.
            let width = self.graph.width(value);
            let there = !state.list(list).stored
                && (if self.objects[object.0 as usize].persistent {
                    *self.graph.op(value) == Op::Entry { object, index }
                } else {
                    // A pass of a loop may have left something.
                    state.effects.len() == 1 && self.graph.constant(value) == Some(0)
                });
            debug_assert_eq!(width, self.objects[object.0 as usize].width);
            if !there {
                state.push(Effect::Store { object, index, value });
                state.list_mut(list).stored = true;
            }
        }
        object
    }

    /// A scalar that lives in one kernel.
    pub fn add_cell(&mut self, width: u32) -> ObjectId {
        let name = format!("local{}", self.objects.len());
        self.objects.push(Object { name, width, length: 1, persistent: false });
        ObjectId(self.objects.len() as u32 - 1)
    }

    pub fn load_effect(&mut self, state: &mut State, object: ObjectId, index: NodeId) -> NodeId {
        let id = *self.n_loads;
        *self.n_loads += 1;
        state.push(Effect::Load { id, object, index });
        let width = self.objects[object.0 as usize].width;
        self.graph.add(Op::Loaded(id), width)
    }

    /// The current value of an element.
    pub fn read(&mut self, state: &mut State, list: ListId, at: usize) -> NodeId {
        let entry = state.list(list);
        if let (false, Some(node)) = (entry.in_memory, entry.elements[at]) {
            let (low, high) = state.facts.range(self.graph, node);
            return if low == high { self.graph.number(low, self.graph.width(node)) } else { node };
        }
        let (in_memory, stored) = (entry.in_memory, entry.stored);
        let object = self.object_of(state, list);
        let index = self.graph.number(at as u128, 32);
        if in_memory {
            return self.load_effect(state, object, index);
        }
        let node = if stored {
            self.load_effect(state, object, index)
        } else {
            let width = state.list(list).width;
            self.graph.entry(object, index, width)
        };
        state.list_mut(list).elements[at] = Some(node);
        node
    }

    /// The current value of an element at a place that is not known.
    pub fn read_somewhere(&mut self, state: &mut State, list: ListId, index: NodeId) -> NodeId {
        let entry = state.list(list);
        let constants: Option<Vec<u128>> = match entry.in_memory {
            true => None,
            false => entry.elements.iter().map(|element| element.and_then(|node| self.graph.constant(node))).collect(),
        };
        if let Some(elements) = constants {
            let width = entry.width;
            let table = Table { name: "constants".to_owned(), width, elements: elements.into() };
            let table = self.graph.add_table(table);
            return self.graph.lookup(table, index);
        }
        let object = self.flush(state, list);
        let entry = state.list(list);
        if entry.in_memory || entry.stored || !self.objects[object.0 as usize].persistent {
            return self.load_effect(state, object, index);
        }
        let width = entry.width;
        self.graph.entry(object, index, width)
    }

    /// Sets an element.
    pub fn write(&mut self, state: &mut State, list: ListId, at: usize, value: NodeId) {
        if state.list(list).in_memory {
            let object = self.object_of(state, list);
            let index = self.graph.number(at as u128, 32);
            state.push(Effect::Store { object, index, value });
            return;
        }
        let list = state.list_mut(list);
        list.elements[at] = Some(value);
        list.dirty[at] = true;
    }

    fn write_somewhere(&mut self, state: &mut State, list: ListId, index: NodeId, value: NodeId) {
        let object = self.flush(state, list);
        state.push(Effect::Store { object, index, value });
        let list = state.list_mut(list);
        list.stored = true;
        list.forget();
    }

    /// The table of a constant list.
    pub fn constant_table(&mut self, frame: &Frame, root: Root, elements: &[Value], width: u32) -> TableId {
        let Root::Actor(variable) = root else { return TableId(0) };
        let actor = self.network.instances[frame.instance].actor.index();
        if let Some(&known) = self.tables.get(&(actor, variable)) {
            return known;
        }
        let name = self.actor(frame).variables[variable.index()].name.clone();
        let keep = crate::kernel::graph::mask(width);
        let elements = elements.iter().map(|value| bits_of_value(value) & keep).collect();
        let table = self.graph.add_table(Table { name, width, elements });
        self.tables.insert((actor, variable), table);
        table
    }

    // --- places -----------------------------------------------------------------------------------------------------

    /// The list at the root of a place, and its type.
    pub fn root(&mut self, state: &mut State, frame: &Frame, root: Root, span: Span) -> Result<(Part, Type), NotFused> {
        match root {
            Root::Actor(variable) => {
                let declared = &self.actor(frame).variables[variable.index()];
                let ty = declared.ty.clone();
                if let Some(list) = self.variables[frame.instance][variable.index()] {
                    return Ok((Part { list, start: 0 }, ty));
                }
                // A constant list as a whole: a copy.
                let Value::List(elements) = &declared.initial else {
                    return Err(NotFused::new("a constant is used as a list", span));
                };
                let (width, _) = self.zero(&ty, span)?;
                let nodes = elements.iter().map(|value| self.graph.number(bits_of_value(value), width)).collect();
                let list = state.add_list(List::of_values(width, nodes));
                Ok((Part { list, start: 0 }, ty))
            }
            Root::Local(local) => {
                let ty = frame.types[local.index()].clone();
                match frame.locals[local.index()] {
                    LocalValue::List(part) => Ok((part, ty)),
                    LocalValue::Cell(list) => Ok((Part { list, start: 0 }, ty)),
                    LocalValue::Scalar(_) => Err(NotFused::new("a scalar is used as a list", span)),
                }
            }
        }
    }

    /// The value of a scalar local that is a node.
    pub fn scalar_local(&mut self, state: &mut State, frame: &Frame, local: LocalId) -> Option<(NodeId, Scalar)> {
        let ty = frame.types[local.index()].element;
        match frame.locals[local.index()] {
            LocalValue::Scalar(node) => {
                let (low, high) = state.facts.range(self.graph, node);
                Some((if low == high { self.graph.number(low, self.graph.width(node)) } else { node }, ty))
            }
            LocalValue::Cell(list) => Some((self.read(state, list, 0), ty)),
            LocalValue::List(_) => None,
        }
    }

    fn set_local(&mut self, state: &mut State, frame: &mut Frame, local: LocalId, value: NodeId) {
        match frame.locals[local.index()] {
            LocalValue::Cell(list) => self.write(state, list, 0, value),
            _ => frame.locals[local.index()] = LocalValue::Scalar(value),
        }
    }

    // --- calls ------------------------------------------------------------------------------------------------------

    /// Executes a function or procedure in place.
    pub fn call(
        &mut self,
        state: &mut State,
        frame: &Frame,
        procedure: ProcedureId,
        arguments: &[Argument],
        span: Span,
    ) -> Result<Option<NodeId>, NotFused> {
        let actor = self.actor(frame);
        let callee = &actor.procedures[procedure.index()];
        if frame.depth >= CALL_DEPTH {
            return Err(NotFused::new("calls nest too deeply", span));
        }
        let mut locals = Vec::with_capacity(callee.locals.len());
        for (local, argument) in callee.locals.iter().zip(arguments) {
            locals.push(match argument {
                Argument::Value(value) => LocalValue::Scalar(self.scalar(state, frame, value, local.ty.element)?),
                Argument::List(place) => {
                    let (list, at, _, _) = self.find(state, frame, place)?;
                    let Ok(start) = at else {
                        return Err(NotFused::new("a part of a list at a place that is not known", place.span));
                    };
                    LocalValue::List(Part { list, start })
                }
            });
        }
        for local in callee.locals.iter().skip(arguments.len()) {
            debug_assert!(local.kind != LocalKind::Parameter);
            let (width, zero) = self.zero(&local.ty, span)?;
            locals.push(if local.ty.is_list() {
                let list = state.add_list(List::of_values(width, vec![zero; local.ty.len()]));
                LocalValue::List(Part { list, start: 0 })
            } else {
                LocalValue::Scalar(zero)
            });
        }
        let types = callee.locals.iter().map(|local| local.ty.clone()).collect();
        let mut inner = Frame { instance: frame.instance, depth: frame.depth + 1, locals, types };
        self.statements(state, &mut inner, &callee.body)?;
        match &callee.result {
            Some((ty, value)) => Ok(Some(self.scalar(state, &inner, value, *ty)?)),
            None => Ok(None),
        }
    }

    // --- statements -------------------------------------------------------------------------------------------------

    pub fn statements(&mut self, state: &mut State, frame: &mut Frame, body: &[Stmt]) -> Result<(), NotFused> {
        for statement in body {
            self.statement(state, frame, statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, state: &mut State, frame: &mut Frame, statement: &Stmt) -> Result<(), NotFused> {
        if self.graph.len() > self.budget {
            return Err(NotFused::new("the code that a firing becomes is too long", statement.span));
        }
        self.span = statement.span;
        match &statement.kind {
            StmtKind::Assign(place, value) => self.assign(state, frame, place, value),
            StmtKind::Copy { target, source, convert } => self.copy(state, frame, target, source, *convert),
            StmtKind::If(condition, then, otherwise) => {
                let condition = self.condition(state, frame, condition)?;
                match state.facts.decide(self.graph, condition) {
                    Some(true) => self.statements(state, frame, then),
                    Some(false) => self.statements(state, frame, otherwise),
                    None => self.choose(state, frame, condition, then, otherwise),
                }
            }
            StmtKind::While { before, condition, body } => self.while_loop(state, frame, before, condition, body),
            StmtKind::Foreach { variable, low, high, body } => {
                self.foreach_loop(state, frame, *variable, low, high, body)
            }
            StmtKind::Call { result, procedure, arguments } => {
                let value = self.call(state, frame, *procedure, arguments, statement.span)?;
                if let (Some(local), Some(value)) = (result, value) {
                    self.set_local(state, frame, *local, value);
                }
                Ok(())
            }
            StmtKind::CallNative { .. } => Err(NotFused::new("an actor calls a native procedure", statement.span)),
            StmtKind::Print { .. } => Err(NotFused::new("an actor prints", statement.span)),
        }
    }

    fn assign(&mut self, state: &mut State, frame: &mut Frame, place: &Place, value: &Expr) -> Result<(), NotFused> {
        let ty = match place.root {
            Root::Actor(variable) => self.actor(frame).variables[variable.index()].ty.element,
            Root::Local(local) => frame.types[local.index()].element,
        };
        let value = self.scalar(state, frame, value, ty)?;
        if let (Root::Local(local), true) = (place.root, place.indices.is_empty()) {
            self.set_local(state, frame, local, value);
            return Ok(());
        }
        let (list, at, _, _) = self.find(state, frame, place)?;
        match at {
            Ok(at) => self.write(state, list, at, value),
            Err((index, _)) => self.write_somewhere(state, list, index, value),
        }
        Ok(())
    }

    fn copy(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        target: &Place,
        source: &Place,
        convert: Option<Scalar>,
    ) -> Result<(), NotFused> {
        let (from, from_at, length, from_type) = self.find(state, frame, source)?;
        let (to, to_at, to_length, _) = self.find(state, frame, target)?;
        for at in 0..length.min(to_length) {
            let value = match from_at {
                Ok(start) => self.read(state, from, start + at),
                Err((index, _)) => {
                    let index = self.offset(index, at);
                    self.read_somewhere(state, from, index)
                }
            };
            let value = match convert {
                Some(ty) => self.convert(state, value, from_type, ty, source.span)?,
                None => value,
            };
            match to_at {
                Ok(start) => self.write(state, to, start + at, value),
                Err((index, _)) => {
                    let index = self.offset(index, at);
                    self.write_somewhere(state, to, index, value);
                }
            }
        }
        Ok(())
    }

    fn offset(&mut self, index: NodeId, more: usize) -> NodeId {
        let width = self.graph.width(index);
        let more = self.graph.number(more as u128, width);
        self.graph.sum(index, more)
    }

    /// A value of one type as a store to another makes it.
    pub fn convert(
        &mut self,
        state: &State,
        value: NodeId,
        from: Scalar,
        to: Scalar,
        span: Span,
    ) -> Result<NodeId, NotFused> {
        let number = self.of_type(state, value, from);
        match to {
            Scalar::Bool if from == Scalar::Bool => Ok(value),
            Scalar::Int(int) if int.width <= MAX_BITS => Ok(self.in_bits(number, int.width)),
            _ => Err(NotFused::new("a conversion that kernels do not have", span)),
        }
    }

    // --- choices ----------------------------------------------------------------------------------------------------

    /// Both sides of a choice: as selections where neither has effects, else as a structured choice.
    fn choose(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        condition: NodeId,
        then: &[Stmt],
        otherwise: &[Stmt],
    ) -> Result<(), NotFused> {
        let chosen = self.selected(
            state,
            frame,
            condition,
            |walk, state, frame| walk.statements(state, frame, then),
            |walk, state, frame| walk.statements(state, frame, otherwise),
        )?;
        if chosen {
            return Ok(());
        }
        let cells = self.put_in_memory(state, frame, &[then, otherwise])?;
        // Nothing else changes; what a side loads or flushes for itself the other side does not have.
        let (facts, lists) = (state.facts.clone(), state.lists.clone());
        let mut sides = Vec::with_capacity(2);
        for (side, holds) in [(then, true), (otherwise, false)] {
            state.effects.push(Vec::new());
            state.facts.assume(self.graph, condition, holds);
            self.statements(state, frame, side)?;
            state.facts = facts.clone();
            state.lists.clone_from(&lists);
            sides.push(state.effects.pop().unwrap_or_default());
        }
        let otherwise = sides.pop().unwrap_or_default();
        let then = sides.pop().unwrap_or_default();
        state.push(Effect::If { condition, then, otherwise });
        self.take_from_memory(state, &cells);
        Ok(())
    }

    /// Does both of two things and selects their results; `false`, with nothing done, where one has effects.
    fn selected(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        condition: NodeId,
        then: impl FnOnce(&mut Self, &mut State, &mut Frame) -> Result<(), NotFused>,
        otherwise: impl FnOnce(&mut Self, &mut State, &mut Frame) -> Result<(), NotFused>,
    ) -> Result<bool, NotFused> {
        let effects = std::mem::replace(&mut state.effects, vec![Vec::new()]);
        let n_effects = state.n_effects;
        let mut other = state.clone();
        let mut other_frame = frame.clone();
        let (base, base_frame) = (state.clone(), frame.clone());

        state.facts.assume(self.graph, condition, true);
        then(self, state, frame)?;
        other.facts.assume(self.graph, condition, false);
        otherwise(self, &mut other, &mut other_frame)?;

        let mut pure = state.n_effects == n_effects && other.n_effects == n_effects;
        // A list that got an object on one side only is not the same list on both.
        for (a, b) in state.lists.iter().zip(&other.lists) {
            pure &= a.object == b.object && a.stored == b.stored;
        }
        if !pure {
            *state = base;
            *frame = base_frame;
            state.effects = effects;
            return Ok(false);
        }
        for at in 0..base.lists.len() {
            if Rc::ptr_eq(&state.lists[at], &other.lists[at]) {
                continue;
            }
            let id = ListId(at as u32);
            for element in 0..state.lists[at].elements.len() {
                let (a, b) = (state.lists[at].elements[element], other.lists[at].elements[element]);
                if a == b {
                    continue;
                }
                // What one side has not touched is what it was before.
                let a = self.read(state, id, element);
                let b = self.read(&mut other, id, element);
                let value = self.graph.select(condition, a, b);
                let list = state.list_mut(id);
                list.elements[element] = Some(value);
                list.dirty[element] |= other.lists[at].dirty[element];
            }
        }
        for (a, b) in frame.locals.iter_mut().zip(&other_frame.locals) {
            if let (LocalValue::Scalar(x), LocalValue::Scalar(y)) = (&*a, b) {
                *a = LocalValue::Scalar(self.graph.select(condition, *x, *y));
            }
        }
        state.lists.truncate(base.lists.len());
        state.facts = base.facts;
        state.effects = effects;
        Ok(true)
    }

    // --- loops ------------------------------------------------------------------------------------------------------

    fn while_loop(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        before: &[Stmt],
        condition: &Expr,
        body: &[Stmt],
    ) -> Result<(), NotFused> {
        let mut passes = 0_u64;
        loop {
            let (saved, saved_frame) = (state.clone(), frame.clone());
            self.statements(state, frame, before)?;
            let holds = self.condition(state, frame, condition)?;
            match state.facts.decide(self.graph, holds) {
                Some(false) => return Ok(()),
                Some(true) if passes < UNROLLED_PASSES as u64 * 4 => {
                    passes += 1;
                    self.statements(state, frame, body)?;
                }
                _ => {
                    *state = saved;
                    *frame = saved_frame;
                    break;
                }
            }
        }
        // The rest ends somewhere: passes that may happen, one inside the other, if there are few.
        let (saved, saved_frame) = (state.clone(), frame.clone());
        if let Ok(true) = self.possible_passes(state, frame, before, condition, body, CHOSEN_PASSES) {
            return Ok(());
        }
        *state = saved;
        *frame = saved_frame;
        let cells = self.put_in_memory(state, frame, &[before, body])?;
        let (facts, lists) = (state.facts.clone(), state.lists.clone());
        state.effects.push(Vec::new());
        self.statements(state, frame, before)?;
        let holds = self.condition(state, frame, condition)?;
        let before = state.effects.pop().unwrap_or_default();
        state.effects.push(Vec::new());
        state.facts.assume(self.graph, holds, true);
        self.statements(state, frame, body)?;
        let body = state.effects.pop().unwrap_or_default();
        state.facts = facts;
        state.lists = lists;
        state.push(Effect::While { before, condition: holds, body });
        self.take_from_memory(state, &cells);
        Ok(())
    }

    /// A loop as choices inside of one another; `Ok(false)` where there are too many or they have effects.
    fn possible_passes(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        before: &[Stmt],
        condition: &Expr,
        body: &[Stmt],
        left: u32,
    ) -> Result<bool, NotFused> {
        if left == 0 || !before.is_empty() {
            return Ok(false);
        }
        let holds = self.condition(state, frame, condition)?;
        match state.facts.decide(self.graph, holds) {
            Some(false) => Ok(true),
            Some(true) => {
                self.statements(state, frame, body)?;
                self.possible_passes(state, frame, before, condition, body, left - 1)
            }
            None => {
                let mut ended = true;
                let chosen = self.selected(
                    state,
                    frame,
                    holds,
                    |walk, state, frame| {
                        walk.statements(state, frame, body)?;
                        ended = walk.possible_passes(state, frame, before, condition, body, left - 1)?;
                        Ok(())
                    },
                    |_, _, _| Ok(()),
                )?;
                Ok(chosen && ended)
            }
        }
    }

    fn foreach_loop(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        variable: LocalId,
        low: &Expr,
        high: &Expr,
        body: &[Stmt],
    ) -> Result<(), NotFused> {
        let low_bound = self.range_of_expression(state, frame, low)?;
        let high_bound = self.range_of_expression(state, frame, high)?;
        let ty = frame.types[variable.index()].element;
        let width = ty.width();
        let ((a, b), (c, d)) = (low_bound, high_bound);
        {
            if a == b && c == d {
                let assigns = assigns_local(body, variable);
                let passes = (c - a + 1).max(0);
                let operations = (passes as u128).saturating_mul(u128::from(weight(self.actor(frame), body, 0)));
                let fits = a >= 0 && c < 1 << (width - 1).min(64);
                if !assigns && fits && passes <= UNROLLED_PASSES && operations <= u128::from(UNROLLED_OPERATIONS) {
                    // The variable is known in each pass, also where an outer loop keeps it in memory.
                    let place = frame.locals[variable.index()];
                    let mut last = None;
                    for at in a..=c {
                        let value = self.graph.number(at as u128, width);
                        frame.locals[variable.index()] = LocalValue::Scalar(value);
                        self.statements(state, frame, body)?;
                        last = Some(value);
                    }
                    if let (LocalValue::Cell(_), Some(last)) = (place, last) {
                        frame.locals[variable.index()] = place;
                        self.set_local(state, frame, variable, last);
                    }
                    return Ok(());
                }
                if passes == 0 {
                    return Ok(());
                }
            }
        }
        let low_node = self.low_bits(state, frame, low, width)?;
        let bits = 64.max(width + 1).min(MAX_BITS);
        let signed = matches!(ty, Scalar::Int(int) if int.signed);
        let (low_wide, high_wide) = (self.low_bits(state, frame, low, bits)?, self.low_bits(state, frame, high, bits)?);
        let empty = self.graph.less_signed(high_wide, low_wide);

        let mut cells = self.put_in_memory(state, frame, &[body])?;
        // The variable, and whether there is another pass.
        let one = self.graph.bit(true);
        let more = state.add_list(List::of_values(1, vec![one]));
        let place = match frame.locals[variable.index()] {
            LocalValue::Cell(list) => list,
            _ => {
                let list = state.add_list(List::of_values(width, vec![low_node]));
                frame.locals[variable.index()] = LocalValue::Cell(list);
                list
            }
        };
        self.write(state, place, 0, low_node);
        let there = self.graph.not(empty);
        self.write(state, more, 0, there);
        for list in [more, place] {
            if !state.list(list).in_memory {
                self.enter_memory(state, list);
                cells.push(list);
            }
        }

        let (facts, lists) = (state.facts.clone(), state.lists.clone());
        state.effects.push(Vec::new());
        let condition = self.read(state, more, 0);
        let before = state.effects.pop().unwrap_or_default();
        state.effects.push(Vec::new());
        // Unless the body says otherwise the variable stays between the bounds.
        let now = self.read(state, place, 0);
        if !assigns_local(body, variable) && low_bound.0 >= 0 && high_bound.1 < 1 << (width - 1).min(64) {
            let number = self.graph.number((high_bound.1.max(0) as u128) + 1, width);
            let below = self.graph.less(now, number);
            state.facts.assume(self.graph, below, true);
            if low_bound.0 > 0 {
                let least = self.graph.number(low_bound.0 as u128, width);
                let under = self.graph.less(now, least);
                state.facts.assume(self.graph, under, false);
            }
            if let Ok(high_here) = self.low_bits(state, frame, high, width) {
                let above = self.graph.less(high_here, now);
                state.facts.assume(self.graph, above, false);
            }
            // Every read in the body is this value.
            let list = state.list_mut(place);
            list.in_memory = false;
            list.elements[0] = Some(now);
            list.dirty[0] = false;
        }
        self.statements(state, frame, body)?;
        state.list_mut(place).in_memory = true;
        let after = self.read(state, place, 0);
        let wide = if signed { self.graph.sign_extend(after, bits) } else { self.graph.zero_extend(after, bits) };
        let again = self.graph.less_signed(wide, high_wide);
        self.write(state, more, 0, again);
        let step = self.graph.number(1, width);
        let next = self.graph.sum(after, step);
        let next = self.graph.select(again, next, after);
        self.write(state, place, 0, next);
        let body = state.effects.pop().unwrap_or_default();
        state.facts = facts;
        state.lists = lists;
        state.push(Effect::While { before, condition, body });
        self.take_from_memory(state, &cells);
        Ok(())
    }

    /// Puts everything that statements may write into memory, where each pass or side finds it.
    fn put_in_memory(
        &mut self,
        state: &mut State,
        frame: &mut Frame,
        bodies: &[&[Stmt]],
    ) -> Result<Vec<ListId>, NotFused> {
        let mut written = Written::default();
        for body in bodies {
            written.statements(self.actor(frame), body);
        }
        let mut lists = BTreeSet::new();
        for root in &written.roots {
            match *root {
                Root::Actor(variable) => lists.extend(self.variables[frame.instance][variable.index()]),
                Root::Local(local) => match frame.locals[local.index()] {
                    LocalValue::List(part) => {
                        lists.insert(part.list);
                    }
                    LocalValue::Cell(list) => {
                        lists.insert(list);
                    }
                    LocalValue::Scalar(node) => {
                        let width = self.graph.width(node);
                        let list = state.add_list(List::of_values(width, vec![node]));
                        frame.locals[local.index()] = LocalValue::Cell(list);
                        lists.insert(list);
                    }
                },
            }
        }
        let mut entered = Vec::new();
        for list in lists {
            if !state.list(list).in_memory {
                self.enter_memory(state, list);
                entered.push(list);
            }
        }
        Ok(entered)
    }

    fn enter_memory(&mut self, state: &mut State, list: ListId) {
        self.flush(state, list);
        let list = state.list_mut(list);
        list.forget();
        list.stored = true;
        list.in_memory = true;
    }

    fn take_from_memory(&mut self, state: &mut State, lists: &[ListId]) {
        for &list in lists {
            let list = state.list_mut(list);
            list.in_memory = false;
            list.forget();
        }
    }

    /// Fires an action whose tokens and guard have been seen to: gives the frame after its body.
    pub fn body(&mut self, state: &mut State, frame: &mut Frame, action: &Action) -> Result<(), NotFused> {
        self.statements(state, frame, &action.body)
    }
}

/// Variables that statements write, also through calls.
#[derive(Default)]
struct Written {
    roots: HashSet<Root>,
}

impl Written {
    fn statements(&mut self, actor: &Actor, body: &[Stmt]) {
        for statement in body {
            match &statement.kind {
                StmtKind::Assign(place, _) => {
                    self.roots.insert(place.root);
                }
                StmtKind::Copy { target, .. } => {
                    self.roots.insert(target.root);
                }
                StmtKind::If(_, then, otherwise) => {
                    self.statements(actor, then);
                    self.statements(actor, otherwise);
                }
                StmtKind::While { before, body, .. } => {
                    self.statements(actor, before);
                    self.statements(actor, body);
                }
                StmtKind::Foreach { variable, body, .. } => {
                    self.roots.insert(Root::Local(*variable));
                    self.statements(actor, body);
                }
                StmtKind::Call { result, procedure, arguments } => {
                    self.roots.extend(result.map(Root::Local));
                    self.callee(actor, *procedure, arguments, 0);
                }
                StmtKind::CallNative { .. } | StmtKind::Print { .. } => {}
            }
        }
    }

    /// A callee writes its list parameters, as far as its text says so, and variables of the actor.
    fn callee(&mut self, actor: &Actor, procedure: ProcedureId, arguments: &[Argument], depth: u32) {
        if depth > CALL_DEPTH {
            return;
        }
        let callee = &actor.procedures[procedure.index()];
        let mut inner = Written::default();
        inner.statements(actor, &callee.body);
        for root in inner.roots {
            match root {
                Root::Actor(_) => {
                    self.roots.insert(root);
                }
                Root::Local(local) => {
                    if let Some(Argument::List(place)) = arguments.get(local.index()) {
                        self.roots.insert(place.root);
                    }
                }
            }
        }
    }
}

fn assigns_local(body: &[Stmt], local: LocalId) -> bool {
    body.iter().any(|statement| match &statement.kind {
        StmtKind::Assign(place, _) => place.root == Root::Local(local),
        StmtKind::Copy { .. } | StmtKind::CallNative { .. } | StmtKind::Print { .. } => false,
        StmtKind::If(_, then, otherwise) => assigns_local(then, local) || assigns_local(otherwise, local),
        StmtKind::While { before, body, .. } => assigns_local(before, local) || assigns_local(body, local),
        StmtKind::Foreach { variable, body, .. } => *variable == local || assigns_local(body, local),
        StmtKind::Call { result, .. } => *result == Some(local),
    })
}

/// About how many operations statements become when loops are unrolled.
fn weight(actor: &Actor, body: &[Stmt], depth: u32) -> u64 {
    if depth > 8 {
        return UNROLLED_OPERATIONS;
    }
    let of = |body: &[Stmt]| weight(actor, body, depth);
    let mut sum = 0_u64;
    for statement in body {
        sum = sum.saturating_add(match &statement.kind {
            StmtKind::Assign(_, value) => 2 + expression_weight(actor, value, depth),
            StmtKind::Copy { .. } => 8,
            StmtKind::If(_, then, otherwise) => 1 + of(then).saturating_add(of(otherwise)),
            StmtKind::While { body, .. } => 8_u64.saturating_mul(of(body)),
            StmtKind::Foreach { low, high, body, .. } => {
                let passes = match (&low.kind, &high.kind) {
                    (ExprKind::Int(low), ExprKind::Int(high)) => {
                        (high.to_i64().unwrap_or(8) - low.to_i64().unwrap_or(0) + 1).clamp(0, 1 << 20) as u64
                    }
                    _ => 8,
                };
                passes.saturating_mul(of(body) + 1)
            }
            StmtKind::Call { procedure, .. } => {
                let callee = &actor.procedures[procedure.index()];
                weight(actor, &callee.body, depth + 1)
            }
            StmtKind::CallNative { .. } | StmtKind::Print { .. } => 1,
        });
    }
    sum
}

fn expression_weight(actor: &Actor, expr: &Expr, depth: u32) -> u64 {
    let of = |expr: &Expr| expression_weight(actor, expr, depth);
    match &expr.kind {
        ExprKind::Negate(a) | ExprKind::Complement(a) | ExprKind::Not(a) | ExprKind::Wrap(_, a) => of(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::ShiftLeft(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b) => 1 + of(a) + of(b),
        ExprKind::If(c, a, b) => 1 + of(c) + of(a) + of(b),
        ExprKind::Load(place) => 1 + place.indices.iter().map(of).sum::<u64>(),
        ExprKind::Call(procedure, arguments) if depth < 8 => {
            let callee = &actor.procedures[procedure.index()];
            let values: u64 = arguments
                .iter()
                .map(|argument| match argument {
                    Argument::Value(value) => of(value),
                    Argument::List(_) => 1,
                })
                .sum();
            let result = callee.result.as_ref().map_or(0, |(_, value)| expression_weight(actor, value, depth + 1));
            values + weight(actor, &callee.body, depth + 1) + result
        }
        _ => 1,
    }
}
