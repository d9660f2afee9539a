//! Symbolic execution of statements. Statements on nodes: bodies of actions, executed with values that need not be
//! known.
//!
//! What is known is computed; a choice that is not known becomes a [`Op::Select`](crate::kernel::Op::Select) of what
//! both sides do, or, where a side has effects, a structured choice; a loop whose end is not known a structured loop.

use super::NotFused;
use super::explore::Unrolling;
use super::expression::Part;
use super::facts::Facts;
use super::symbolic_store::{List, ListId};
use crate::kernel::graph::MAX_BITS;
use crate::kernel::{Effect, Graph, NodeId, Object, TableId};
use headrace_ir::{
    Action, Actor, Argument, Expr, Local, LocalId, LocalKind, Network, Place, ProcedureId, Root, Scalar, StateId, Stmt,
    StmtKind, Type, VariableId,
};
use headrace_source::Span;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::rc::Rc;

/// Calls inside of one another.
pub(super) const CALL_DEPTH: u32 = 64;

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

    pub(super) fn add_list(&mut self, list: Rc<List>) -> ListId {
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
pub(super) enum LocalValue {
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
    pub(super) locals: Vec<LocalValue>,
    pub(super) types: Rc<[Type]>,
}

/// What executing needs to know, and what it adds to.
pub(crate) struct Walk<'n, 'g> {
    pub network: &'n Network,
    pub graph: &'g mut Graph,
    pub objects: &'g mut Vec<Object>,
    /// The list of each variable of each instance; `None` for constants.
    pub variables: &'g [Vec<Option<ListId>>],
    pub tables: &'g mut FxHashMap<(usize, VariableId), TableId>,
    pub n_loads: &'g mut u32,
    /// Most nodes that the graph may have.
    pub budget: usize,
    /// Which loops are unrolled.
    pub unrolling: Unrolling,
    /// The statement that is executed.
    pub span: Span,
}

impl<'n> Walk<'n, '_> {
    pub fn actor(&self, frame: &Frame) -> &'n Actor {
        let network: &'n Network = self.network;
        &network.actors[network.instances[frame.instance].actor.index()]
    }

    pub(super) fn zero(&mut self, ty: &Type, span: Span) -> Result<(u32, NodeId), NotFused> {
        let width = ty.element.width();
        if width == 0 || width > MAX_BITS || matches!(ty.element, Scalar::Real(_)) {
            return Err(NotFused::new("a variable is of a type that transitions do not have", span));
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
            _ => Err(NotFused::new("a conversion that transitions do not have", span)),
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
    pub(super) fn selected(
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

    /// Fires an action whose tokens and guard have been seen to: gives the frame after its body.
    pub fn body(&mut self, state: &mut State, frame: &mut Frame, action: &Action) -> Result<(), NotFused> {
        self.statements(state, frame, &action.body)
    }
}
