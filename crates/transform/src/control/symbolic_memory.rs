//! Symbolic memory: store-to-load forwarding in lists. Lists in memory: what is known of an element, and the loads and
//! stores where it is not.

use super::NotFused;
use super::symbolic_execution::{CALL_DEPTH, Frame, LocalValue, State, Walk};
use super::symbolic_store::{List, ListId};
use crate::kernel::{Effect, NodeId, Object, ObjectId, Op, Table};
use headrace_ir::{Actor, Argument, ProcedureId, Root, Stmt, StmtKind};
use std::collections::BTreeSet;

impl Walk<'_, '_> {
    pub(super) fn object_of(&mut self, state: &mut State, list: ListId) -> ObjectId {
        if let Some(object) = state.list(list).object {
            return object;
        }
        let object = ObjectId(self.objects.len() as u32);
        let (width, length) = (state.list(list).width, state.list(list).elements.len());
        let name = format!("local{}", self.objects.len());
        self.objects.push(Object { name, width, length, persistent: false, residue: None });
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
            // Memory that no transition has written yet is zero, and what is there need not be written again.
            let width = self.graph.width(value);
            let there = !state.list(list).stored
                && (if self.objects[object.0 as usize].persistent {
                    *self.graph.op(value) == Op::Entry { object, index }
                } else {
                    // An iteration of a loop may have left something.
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

    /// A scalar that lives in one transition.
    pub fn add_cell(&mut self, width: u32) -> ObjectId {
        let name = format!("local{}", self.objects.len());
        self.objects.push(Object { name, width, length: 1, persistent: false, residue: None });
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

    pub(super) fn write_somewhere(&mut self, state: &mut State, list: ListId, index: NodeId, value: NodeId) {
        let object = self.flush(state, list);
        state.push(Effect::Store { object, index, value });
        let list = state.list_mut(list);
        list.stored = true;
        list.forget();
    }

    /// Puts everything that statements may write into memory, where each iteration or side finds it.
    pub(super) fn put_in_memory(
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

    pub(super) fn enter_memory(&mut self, state: &mut State, list: ListId) {
        self.flush(state, list);
        let list = state.list_mut(list);
        list.forget();
        list.stored = true;
        list.in_memory = true;
    }

    pub(super) fn take_from_memory(&mut self, state: &mut State, lists: &[ListId]) {
        for &list in lists {
            let list = state.list_mut(list);
            list.in_memory = false;
            list.forget();
        }
    }
}

/// Variables that statements write, also through calls.
#[derive(Default)]
struct Written {
    /// Each once, in the order of the text: lists of a transition have their numbers in this order.
    roots: Vec<Root>,
}

impl Written {
    fn add(&mut self, root: Root) {
        if !self.roots.contains(&root) {
            self.roots.push(root);
        }
    }

    fn statements(&mut self, actor: &Actor, body: &[Stmt]) {
        for statement in body {
            match &statement.kind {
                StmtKind::Assign(place, _) => {
                    self.add(place.root);
                }
                StmtKind::Copy { target, .. } => {
                    self.add(target.root);
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
                    self.add(Root::Local(*variable));
                    self.statements(actor, body);
                }
                StmtKind::Call { result, procedure, arguments } => {
                    result.iter().for_each(|&local| self.add(Root::Local(local)));
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
                    self.add(root);
                }
                Root::Local(local) => {
                    if let Some(Argument::List(place)) = arguments.get(local.index()) {
                        self.add(place.root);
                    }
                }
            }
        }
    }
}
