//! Networks as their control automata: transitions instead of firings.
//!
//! The context holds the state of the automaton, what its transitions keep, tokens that wait at the boundary, and,
//! where the automaton may come to something that nobody explored, the network with its scheduler: it is given the
//! state then, and goes on from there. Where an index would be outside of its list, which is an error of the program,
//! nothing happens any more.
//!
//! A state is a function that does what is to be done and gives the number of the next. What several states do, and
//! loops, are functions of their own, each there once.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `layout` | the fields of the context |
//! | `ports` | tokens over the boundary |
//! | `kernel` | effects as statements: variables, elements, tokens |
//! | `value`, `wide` | nodes as expressions, of up to 64 bits and of up to 128 |
//! | `loops` | iterations, and how many there are |
//! | `blocks` | iterations on vector registers, for machines that have them |
//! | `products` | product recurrences by powers of the multiplier |
//! | `distributed` | loops as two, one of which need not wait |
//! | `residues` | linear recurrences modulo a number, with powers in lanes |
//! | `registers` | the instructions of these by name |
//! | `lanes`, `lane_pieces`, `transposed` | iterations side by side |
//! | `states` | decisions, and which state is next |
//! | `streams` | loops on the arrays of the caller |
//! | `leave` | the state of the automaton as that of the network |

mod blocks;
mod distributed;
mod kernel;
mod lane_pieces;
mod lanes;
mod layout;
mod leave;
mod loops;
mod ports;
mod powers;
mod products;
mod registers;
mod residues;
mod states;
mod streams;
mod transposed;
mod value;
mod wide;

use crate::building::Building;
use crate::function::FunctionBuilder;
use crate::network::{Scheduled, scheduled};
use crate::{Options, Streams};
use headrace_ir::Network;
use headrace_program::{
    Argument, CompareOp, Expr, Function, FunctionId, Interface, Module, Place, Stmt, Type, VariableId,
};
use headrace_transform::control::{Automaton, Brevity, Holds};
use kernel::Bytes;
use layout::Fields;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The context, in functions that take it first.
const CONTEXT: VariableId = VariableId(0);

/// What the function of a state gives beside numbers of states: input is missing, room is missing, the network with its
/// scheduler goes on, or an index was outside of its list.
const DRY: u32 = u32::MAX;
const FULL: u32 = u32::MAX - 1;
const LEFT: u32 = u32::MAX - 2;
const FAILED: u32 = u32::MAX - 3;

/// Why an automaton is not lowered.
type Reason = String;

/// What all of it is lowered from.
struct Fused<'a> {
    network: &'a Network,
    automaton: &'a Automaton,
    /// Which transitions are better with loops for their rounds.
    brevity: Brevity<'a>,
    fields: Fields,
    bytes: Bytes,
    /// For each output, what makes room for its tokens.
    rooms: Vec<FunctionId>,
    tokens_in_place: bool,
    lanes: Option<crate::Lanes>,
    most_values: Option<usize>,
    nests_rotations: bool,
    vectors: bool,
    /// Fields of the context for slots of words of 32 bits and of 64, and how many elements of them are used.
    slots: RefCell<[Option<(u32, u32)>; 2]>,
    /// What runs the loops: by the number of a state and of a loop of it.
    runs: RefCell<Vec<(usize, usize, loops::Run)>>,
    /// The first thing that programs do not have.
    refused: RefCell<Option<Reason>>,
}

impl Fused<'_> {
    fn refuse(&self, reason: Reason) {
        self.refused.borrow_mut().get_or_insert(reason);
    }
}

/// Functions that have been lowered, by what they do.
#[derive(Default)]
struct Functions {
    known: FxHashMap<u64, Vec<FunctionId>>,
    /// What gives the network with its scheduler the state.
    leave: Option<FunctionId>,
}

impl Functions {
    /// A function, or one that does the same.
    fn add(
        &mut self,
        building: &mut Building,
        f: FunctionBuilder,
        like: &str,
        about: &str,
        result: Option<Type>,
    ) -> FunctionId {
        let mut function = f.finish(String::new(), about, result);
        let does = |function: &Function| {
            let Function { variables, parameters, result, features, body, .. } = function;
            let mut hasher = DefaultHasher::new();
            (variables, parameters, result, features, body).hash(&mut hasher);
            hasher.finish()
        };
        let alike = self.known.entry(does(&function)).or_default();
        let is_same = |id: &&FunctionId| {
            let Function { variables, parameters, result, features, body, .. } = &building.functions[id.index()];
            (variables, parameters, result, features, body)
                == (&function.variables, &function.parameters, &function.result, &function.features, &function.body)
        };
        if let Some(&known) = alike.iter().find(is_same) {
            return known;
        }
        function.name = building.names.fresh(like);
        let id = building.function(function);
        alike.push(id);
        id
    }
}

/// Lowers a network with its control automaton.
///
/// # Errors
///
/// What an automaton has that is not lowered yet, as a sentence without a full stop.
pub(crate) fn lower(network: &Network, automaton: &Automaton, options: &Options) -> Result<Module, Reason> {
    let mut building = Building::new();
    let leaves = automaton.states.iter().any(|state| state.step.leaves());
    let scheduled = leaves.then(|| scheduled(network, options, &mut building)).transpose();
    let scheduled = scheduled.map_err(|_| "its scheduler cannot be lowered".to_owned())?;
    if scheduled.as_ref().is_some_and(|scheduled| scheduled.plans.is_empty()) {
        return Err("it has no actors".to_owned());
    }
    let record = scheduled.as_ref().map(|scheduled| scheduled.layout.context);
    let fields = Fields::new(network, automaton, record, options.boundary_tokens, &mut building)?;
    let is_byte = |ports: &[headrace_ir::Port]| ports.iter().map(|port| port.ty.width() == 8).collect();
    let read = network.inputs.iter().chain(&network.outputs).map(|port| port.ty.width() == 8).collect();
    let bytes = Bytes { inputs: read, outputs: is_byte(&network.outputs) };
    let refused = RefCell::default();
    let mut fused = Fused {
        network,
        automaton,
        brevity: Brevity::of(automaton, options.most_values),
        fields,
        bytes,
        rooms: Vec::new(),
        tokens_in_place: options.tokens_in_place,
        lanes: options.lanes,
        most_values: options.most_values,
        nests_rotations: options.factor_rotations,
        vectors: options.vectors,
        slots: RefCell::default(),
        runs: RefCell::default(),
        refused,
    };
    fused.rooms = fused.room_functions(&mut building);
    let mut functions = Functions::default();
    let place = fused.fields.scheduled.map(|field| Place::field(CONTEXT, field));
    let inner = scheduled.as_ref().zip(place.as_ref());
    functions.leave = inner.map(|(scheduled, place)| fused.leave(scheduled, place, &mut building));
    let states: Vec<FunctionId> =
        (0..automaton.states.len()).map(|number| fused.state(number, &mut building, &mut functions)).collect();
    if let Some(reason) = fused.refused.take() {
        return Err(reason);
    }
    fused.size_slots(&mut building);
    let init = fused.init(&mut building);
    let streams = if options.streams == Streams::None {
        Vec::new()
    } else {
        fused.streams(options.streams, &mut building, &mut functions)
    };
    let run = fused.run(&states, scheduled.as_ref(), &mut functions, &mut building);
    let lacks_room = fused.lacks_room(inner, &mut building);
    let inputs = (0..network.inputs.len()).map(|at| fused.input(at, scheduled.as_ref(), &mut building)).collect();
    let outputs = (0..network.outputs.len()).map(|at| fused.output(at, scheduled.as_ref(), &mut building)).collect();
    if !building.diagnostics.is_empty() {
        return Err("its boundary cannot be lowered".to_owned());
    }
    let streams = streams.into_iter().map(|stream| fused.of_states(stream, &states, &mut building)).collect();
    let interface = Interface { context: fused.fields.context, init, run, lacks_room, inputs, outputs, streams };
    Ok(building.module(network, interface))
}

impl Fused<'_> {
    fn begin(&self) -> FunctionBuilder {
        let mut f = FunctionBuilder::new();
        f.record("context", self.fields.context);
        f
    }

    /// Back to the first state. What is written before it is read stays as it is: tokens, and the network with its
    /// scheduler, which begins when it is left to.
    fn init(&self, building: &mut Building) -> FunctionId {
        let mut f = self.begin();
        let (automaton, fields) = (self.automaton, &self.fields);
        for (field, ty) in [
            (fields.state, Type::U32),
            (fields.budget, Type::U64),
            (fields.full, Type::Bool),
            (fields.failed, Type::Bool),
            (fields.left, Type::Bool),
        ] {
            f.push(Stmt::Assign(Place::field(CONTEXT, field), Expr::int(ty, 0)));
        }
        for buffer in fields.inputs.iter().chain(&fields.outputs) {
            for index in [buffer.first, buffer.there] {
                f.push(Stmt::Assign(Place::field(CONTEXT, index), Expr::u32(0)));
            }
        }
        for (number, object) in automaton.objects.iter().enumerate() {
            let Some(field) = fields.objects[number] else { continue };
            // Tokens are written before they are read.
            if matches!(automaton.holds[number], Holds::Fifo(_)) {
                continue;
            }
            let place = Place::field(CONTEXT, field);
            let ty = layout::element(object.width);
            let words = automaton.initial[number].iter().flat_map(|&value| {
                let words = [value as u64, (value >> 64) as u64];
                words.into_iter().take(if object.width > 64 { 2 } else { 1 })
            });
            let words: Vec<u64> = words.collect();
            let Some(&first) = words.first() else { continue };
            let count = Expr::u32(words.len() as u32);
            if words.iter().all(|&word| word == first) {
                let value = Expr::int(ty, first);
                f.push(Stmt::Fill { target: place, at: Expr::u32(0), count, value });
            } else {
                let table = building.table(&format!("initial_{}", object.name), ty, words);
                let source = Place::table(table);
                f.push(Stmt::Copy { target: place, at: Expr::u32(0), source, from: Expr::u32(0), count });
            }
        }
        let name = building.names.fresh("begin");
        building.function(f.finish(name, "begins the network, whatever it was", None))
    }

    /// Goes from state to state until input or room is missing, or so many steps were done.
    fn run(
        &self,
        states: &[FunctionId],
        scheduled: Option<&Scheduled<'_>>,
        functions: &mut Functions,
        building: &mut Building,
    ) -> FunctionId {
        let hand_over = scheduled.map(|scheduled| (self.hand_over(scheduled, functions, building), scheduled.run));
        let mut f = self.begin();
        let most = f.scalar_parameter("max_steps", Type::U64);
        let most = f.read(most);
        let field = |field: u32| Place::field(CONTEXT, field);
        let flag = |at: u32| Expr::read(field(at), Type::Bool);
        let idle = || Stmt::Return(Some(Expr::u32(Interface::IDLE)));
        let fields = &self.fields;
        f.when(flag(fields.failed), |f| f.push(idle()));
        f.push(Stmt::Assign(field(fields.budget), most.clone()));
        f.push(Stmt::Assign(field(fields.full), Expr::bool(false)));
        let next = f.scalar("next", Type::U32);
        let now = f.read(next);
        let label = f.label();
        let outer = f.take();
        let budget = Expr::read(field(fields.budget), Type::U64);
        let none = budget.clone().equals(Expr::int(Type::U64, 0));
        f.when(none, |f| f.push(Stmt::Return(Some(Expr::u32(Interface::LIMIT)))));
        f.push(Stmt::Assign(field(fields.budget), budget.minus(Expr::int(Type::U64, 1))));
        self.next_state(&mut f, next, states);
        f.when(now.clone().at_least(Expr::u32(FAILED)), |f| {
            if hand_over.is_some() {
                f.when(now.clone().equals(Expr::u32(LEFT)), |f| f.push(Stmt::Break(label)));
            }
            f.push(Stmt::Assign(field(fields.full), now.clone().equals(Expr::u32(FULL))));
            f.push(Stmt::Assign(field(fields.failed), now.clone().equals(Expr::u32(FAILED))));
            f.push(idle());
        });
        f.push(Stmt::Assign(field(fields.state), now));
        let body = f.restore(outer);
        match hand_over {
            None => f.push(Stmt::Loop(label, body)),
            Some((hand_over, run)) => {
                f.when(flag(fields.left).negated(), |f| f.push(Stmt::Loop(label, body)));
                let moved = f.scalar("moved", Type::U32);
                let status = f.scalar("status", Type::U32);
                let label = f.label();
                let outer = f.take();
                let context = || Argument::Reference(Place::variable(CONTEXT));
                let inner = fields.scheduled.map_or_else(context, |at| Argument::Reference(field(at)));
                f.call(Some(moved), hand_over, vec![context()]);
                f.call(Some(status), run, vec![inner, Argument::Value(most)]);
                let ended = f.read(status);
                let ends = Expr::compare(CompareOp::NotEqual, ended.clone(), Expr::u32(Interface::IDLE));
                f.when(ends, |f| f.push(Stmt::Return(Some(ended))));
                f.call(Some(moved), hand_over, vec![context()]);
                let all = f.read(moved).equals(Expr::u32(0));
                f.when(all, |f| f.push(idle()));
                let body = f.restore(outer);
                f.push(Stmt::Loop(label, body));
            }
        }
        let name = building.names.fresh("steps");
        building.function(f.finish(name, "goes on until nothing can", Some(Type::U32)))
    }

    /// Does what is to be done in the state that control is in, and assigns which comes next. Whoever goes from state to
    /// state has it where it stands: a state is often less than the call of a function that looks for it.
    fn next_state(&self, f: &mut FunctionBuilder, next: VariableId, states: &[FunctionId]) {
        f.assign(next, Expr::u32(DRY));
        let call = |(number, &function): (usize, &FunctionId)| {
            let context = vec![Argument::Reference(Place::variable(CONTEXT))];
            (number as u32, vec![Stmt::Call { result: Some(next), function, arguments: context }])
        };
        let cases = states.iter().enumerate().map(call).collect();
        let state = Expr::read(Place::field(CONTEXT, self.fields.state), Type::U32);
        f.push(Stmt::Switch(state, cases, Vec::new()));
    }

    fn lacks_room(&self, inner: Option<(&Scheduled<'_>, &Place)>, building: &mut Building) -> FunctionId {
        let mut f = self.begin();
        if let Some((scheduled, place)) = inner {
            let lacks = f.scalar("lacks", Type::Bool);
            let left = Expr::read(Place::field(CONTEXT, self.fields.left), Type::Bool);
            f.when(left, |f| {
                f.call(Some(lacks), scheduled.lacks_room, vec![Argument::Reference(place.clone())]);
                // Input that waits here has no room there.
                let waits = |buffer: &layout::Buffer| Expr::read(Place::field(CONTEXT, buffer.there), Type::U32);
                let none = |buffer| waits(buffer).equals(Expr::u32(0));
                let all = self.fields.inputs.iter().map(none).fold(Expr::bool(true), Expr::and);
                f.when(all.negated(), |f| f.push(Stmt::Return(Some(Expr::bool(true)))));
                let lacks = f.read(lacks);
                f.push(Stmt::Return(Some(lacks)));
            });
        }
        let full = Expr::read(Place::field(CONTEXT, self.fields.full), Type::Bool);
        f.push(Stmt::Return(Some(full)));
        let name = building.names.fresh("waits_for_room");
        building.function(f.finish(name, "whether what can be done waits for room", Some(Type::Bool)))
    }
}
