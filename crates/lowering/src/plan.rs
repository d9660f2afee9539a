//! Storage layout of actors. What is settled about an actor before its functions are lowered: where its variables lie, which of
//! its procedures call themselves.

use crate::building::{Building, MAX_ELEMENTS};
use crate::machine::{elements, machine, words};
use headrace_analysis::calls::Calls;
use headrace_analysis::ranges::Ranges;
use headrace_ir::{Actor, Place, Root, Type, Value};
use headrace_program::names::identifier;
use headrace_program::{FieldType, FunctionId, RecordId, TableId};
use rustc_hash::FxHashMap;
use std::cell::RefCell;

/// Where a variable of an actor lies.
#[derive(Clone, Debug)]
pub(crate) enum Home {
    /// In this field of the state.
    Field(u32),
    /// In a constant table.
    Table(TableId),
    /// Nowhere: it is a scalar of up to 64 bits that never changes.
    Constant(Value),
}

/// What a function of an actor takes besides its own arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Need {
    /// The state of the instance.
    State,
    /// What all actors share.
    Control,
    /// The FIFO of this number of the instance.
    Fifo(usize),
}

/// A lowered function of an actor.
#[derive(Clone, Debug)]
pub(crate) struct Lowered {
    pub(crate) id: FunctionId,
    /// What it takes first, in this order.
    pub(crate) needs: Vec<Need>,
    /// It can stop the program.
    pub(crate) stops: bool,
}

/// What a list argument of a procedure begins with: one copy of the procedure is lowered for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ListRoot {
    /// A field of the state, which the procedure reaches itself.
    Field(u32),
    /// A table.
    Table(TableId),
    /// An array that the caller passes: the how manieth of those, its type and length.
    Passed(usize, headrace_program::Type, u32),
}

/// A list argument: what it begins with, and whether it is just that from the beginning.
pub(crate) type ListKey = (ListRoot, bool);

/// A procedure, and how its lists are passed.
pub(crate) type ProcedureKey = (usize, Vec<ListKey>);

/// An actor, ready to be lowered.
pub(crate) struct Plan<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) ranges: Ranges,
    /// Beginning of the names of its functions.
    pub(crate) prefix: String,
    pub(crate) state: RecordId,
    pub(crate) homes: Vec<Home>,
    /// Field of the state of the FSM, of the initialisers that are done, and of the action that lacked room.
    pub(crate) fsm: Option<u32>,
    pub(crate) started: Option<u32>,
    pub(crate) blocked: u32,
    pub(crate) calls: Calls,
    pub(crate) procedures: RefCell<FxHashMap<ProcedureKey, Lowered>>,
}

impl<'a> Plan<'a> {
    pub(crate) fn new(actor: &'a Actor, building: &mut Building) -> Self {
        let short = identifier(actor.class.rsplit('.').next().unwrap_or(&actor.class));
        let state = building.record(&short, &format!("the state of an instance of {}", actor.class), Vec::new());
        let prefix = building.records[state.index()].name.clone();
        let scalar = FieldType::Scalar(headrace_program::Type::U32);
        let fsm = (actor.schedule.states.len() > 1).then(|| building.field(state, "fsm_state", scalar, "state"));
        let started = (!actor.initializers.is_empty())
            .then(|| building.field(state, "started", scalar, "initialisers that are done"));
        let blocked = building.field(state, "blocked", scalar, "the action that lacked room, counted from 1, or 0");
        let homes = actor
            .variables
            .iter()
            .map(|variable| {
                let name = variable.name.rsplit('.').next().unwrap_or(&variable.name);
                let ty = field_type(&variable.ty);
                if let FieldType::Scalar(_) = ty
                    && !variable.mutable
                {
                    return Home::Constant(variable.whole_initial().into_owned());
                }
                if array_length(&variable.ty).is_some_and(|length| length > MAX_ELEMENTS) {
                    building.unsupported(variable.span, "a list as large as this");
                    return Home::Constant(Value::Bool(false));
                }
                if variable.mutable {
                    return Home::Field(building.field(state, name, ty, &variable.ty.to_string()));
                }
                let scalar = variable.ty.element;
                let values = elements(&variable.whole_initial(), scalar, &mut |text| building.text(text));
                Home::Table(building.table(&format!("{prefix}_{name}"), machine(scalar), values))
            })
            .collect();
        Plan {
            actor,
            ranges: Ranges::of(actor),
            prefix,
            state,
            homes,
            fsm,
            started,
            blocked,
            calls: Calls::of(actor),
            procedures: RefCell::default(),
        }
    }

    /// The value of a scalar that never changes.
    pub(crate) fn folded(&self, place: &Place) -> Option<&Value> {
        match place.root {
            Root::Actor(variable) if place.indices.is_empty() => match &self.homes[variable.index()] {
                Home::Constant(value) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Elements of the array that a variable takes; nothing for plain scalars.
pub(crate) fn array_length(ty: &Type) -> Option<u64> {
    let words = words(ty.element);
    (ty.is_list() || words > 1).then(|| ty.len() as u64 * u64::from(words))
}

/// What a variable of the type is as a field.
pub(crate) fn field_type(ty: &Type) -> FieldType {
    let element = machine(ty.element);
    match array_length(ty) {
        Some(length) => FieldType::Array(element, u32::try_from(length).unwrap_or(u32::MAX)),
        None => FieldType::Scalar(element),
    }
}
