//! The way back to the run-time scheduler: the network is given the state that the automaton stands for.

use super::layout::element;
use super::value::word_type;
use super::{CONTEXT, Fused};
use crate::building::Building;
use crate::function::FunctionBuilder;
use crate::integer::wrap;
use crate::machine::{class, machine, words};
use crate::network::Scheduled;
use crate::plan::{Home, array_length};
use crate::ring::{READ, TOKENS, WRITTEN};
use headrace_ir::{IntType, Scalar};
use headrace_program::{Argument, CompareOp, Expr, FunctionId, Place, Root, Stmt, TableId, Type};
use headrace_transform::control::Holds;
use headrace_transform::kernel::{Object, ObjectId};

/// Numbers of the states that may be left, and what each knows.
struct Tables {
    /// States that are left, in order.
    states: Vec<usize>,
    /// Elements that some state knows: memory does not hold them there.
    slots: Vec<(ObjectId, usize)>,
    /// FIFOs that ever hold tokens.
    used: Vec<usize>,
}

impl Fused<'_> {
    /// A function that has the network with its scheduler go on from the state of the automaton.
    pub(super) fn leave(&self, scheduled: &Scheduled<'_>, place: &Place, building: &mut Building) -> FunctionId {
        let Scheduled { plans, layout, init, .. } = scheduled;
        let automaton = self.automaton;
        let mut f = FunctionBuilder::new();
        f.record("context", self.fields.context);
        let state = Expr::read(Place::field(CONTEXT, self.fields.state), Type::U32);
        f.call(None, *init, vec![Argument::Reference(place.clone())]);
        f.push(Stmt::Assign(Place::field(CONTEXT, self.fields.left), Expr::bool(true)));
        let tables = self.tables();
        self.known(&tables, &state, &mut f, building);
        // Which row of the tables is that of the state.
        let mut rows = vec![0; automaton.states.len()];
        tables.states.iter().enumerate().for_each(|(row, &state)| rows[state] = row as u64);
        let row = read_table(building, "leave_row", rows, state.clone());
        let row = f.named("row", row);
        let n_instances = self.network.instances.len();
        let actors =
            tables.states.iter().flat_map(|&state| automaton.states[state].fsm.iter().map(|fsm| u64::from(fsm.0)));
        let actors = actors.collect();
        let actors = building.table("leave_actors", Type::U32, actors);
        for (at, instance) in self.network.instances.iter().enumerate() {
            let plan = &plans[instance.actor.index()];
            let own = place.clone().then(layout.instances[at]);
            if let Some(fsm) = plan.fsm {
                let index = row.clone().times(Expr::u32(n_instances as u32)).plus(Expr::u32(at as u32));
                f.push(Stmt::Assign(own.clone().then(fsm), element_of(actors, index)));
            }
            if let Some(started) = plan.started {
                // Initialisers fire on the way out of the first state.
                let n = plan.actor.initializers.len() as u32;
                let first = state.clone().equals(Expr::u32(0));
                f.push(Stmt::Assign(own.then(started), Expr::select(first, Expr::u32(0), Expr::u32(n))));
            }
        }
        let n_used = tables.used.len();
        if n_used > 0 {
            let tokens = tables.states.iter().flat_map(|&state| {
                let state = &automaton.states[state];
                tables.used.iter().flat_map(move |&connection| {
                    let written = state.written(self.network, connection) as u64;
                    [written - state.fills[connection] as u64, written]
                })
            });
            let tokens = tokens.collect();
            let tokens = building.table("leave_tokens", Type::U32, tokens);
            for (number, &connection) in tables.used.iter().enumerate() {
                let fifo = place.clone().then(layout.fifos[connection].0);
                for (which, field) in [READ, WRITTEN].into_iter().enumerate() {
                    let at = Expr::u32((2 * number + which) as u32);
                    let index = row.clone().times(Expr::u32(2 * n_used as u32)).plus(at);
                    f.push(Stmt::Assign(fifo.clone().then(field), element_of(tokens, index)));
                }
            }
        }
        for (number, object) in automaton.objects.iter().enumerate() {
            let Some(from) = self.fields.objects[number] else { continue };
            let from = Place::field(CONTEXT, from);
            match automaton.holds[number] {
                Holds::Variable(instance, variable) => {
                    let plan = &plans[self.network.instances[instance.index()].actor.index()];
                    let Home::Field(field) = plan.homes[variable.index()] else { continue };
                    let ty = &plan.actor.variables[variable.index()].ty;
                    let target = place.clone().then(layout.instances[instance.index()]).then(field);
                    let is_scalar = array_length(ty).is_none();
                    move_elements(&mut f, object, &from, &target, ty.element, is_scalar);
                }
                Holds::Fifo(connection) => {
                    let (field, ring) = &layout.fifos[connection];
                    let fifo = place.clone().then(*field);
                    let index = |which: u32| Expr::read(fifo.clone().then(which), Type::U32);
                    let n = f.named("n", index(WRITTEN).minus(index(READ)));
                    let first = f.named("first", index(READ));
                    let n_words = words(ring.scalar);
                    f.count("i", n, |f, i| {
                        let at = first.plus(i.clone()).and(Expr::u32(ring.size - 1)).times(Expr::u32(n_words));
                        for word in 0..n_words {
                            let value = stored(object, &from, i.clone(), ring.scalar, word);
                            let at = at.clone().plus(Expr::u32(word));
                            f.push(Stmt::Store(fifo.clone().then(TOKENS), at, value));
                        }
                    });
                }
                Holds::Local => {}
            }
        }
        let name = building.names.fresh("leave");
        building.function(f.finish(name, "from here on the network with its scheduler goes on", None))
    }

    fn tables(&self) -> Tables {
        let states: Vec<usize> =
            (0..self.automaton.states.len()).filter(|&state| self.automaton.states[state].step.leaves()).collect();
        let mut slots: Vec<(ObjectId, usize)> = states
            .iter()
            .flat_map(|&state| self.automaton.states[state].known.iter().map(|&(object, index, _)| (object, index)))
            .filter(|&(object, index)| self.has_element(object, index))
            .collect();
        slots.sort_unstable();
        slots.dedup();
        let holds = |&connection: &usize| {
            states.iter().any(|&state| self.automaton.states[state].written(self.network, connection) > 0)
        };
        let used = (0..self.network.connections.len()).filter(holds).collect();
        Tables { states, slots, used }
    }

    fn has_element(&self, object: ObjectId, index: usize) -> bool {
        let own = self.automaton.object(object);
        own.lives_on() && index < own.length
    }

    /// Writes what the state knows to the elements.
    fn known(&self, tables: &Tables, state: &Expr, f: &mut FunctionBuilder, building: &mut Building) {
        let Tables { states, slots, .. } = tables;
        if slots.is_empty() {
            return;
        }
        // For all states, those that are not left too: where what it knows begins.
        let (mut first, mut of, mut low, mut high) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        for (at, own) in self.automaton.states.iter().enumerate() {
            if states.binary_search(&at).is_ok() {
                for &(object, index, value) in own.known.iter().filter(|known| self.has_element(known.0, known.1)) {
                    of.push(slots.binary_search(&(object, index)).unwrap_or(0) as u64);
                    low.push(value as u64);
                    high.push((value >> 64) as u64);
                }
            }
            first.push(of.len() as u64);
        }
        let at = f.scalar("at", Type::U32);
        let end = read_table(building, "known_first", first.clone(), state.clone().plus(Expr::u32(1)));
        let end = f.named("end", end);
        let begin = read_table(building, "known_first", first, state.clone());
        f.assign(at, begin);
        let now = f.read(at);
        let slot = read_table(building, "known_element", of, now.clone());
        let low = building.table("known_value", Type::U64, low);
        let is_wide = slots.iter().any(|slot| self.automaton.object(slot.0).width > 64);
        let high = is_wide.then(|| building.table("known_high", Type::U64, high));
        let value_of = |table| Expr::element(table_place(table), now.clone(), Type::U64);
        f.repeat_while(now.clone().less(end), |f| {
            let mut cases = Vec::new();
            for (number, &(object, index)) in slots.iter().enumerate() {
                let own = self.automaton.object(object);
                let Some(field) = self.fields.objects[object.0 as usize] else { continue };
                let place = Place::field(CONTEXT, field);
                let ty = element(own.width);
                let store =
                    |index: usize, value: Expr| Stmt::Store(place.clone(), Expr::u32(index as u32), value.to(ty));
                let block = match high.filter(|_| own.width > 64) {
                    Some(high) => vec![store(2 * index, value_of(low)), store(2 * index + 1, value_of(high))],
                    None => vec![store(index, value_of(low))],
                };
                cases.push((number as u32, block));
            }
            f.push(Stmt::Switch(slot.clone(), cases, Vec::new()));
            f.assign(at, now.clone().plus(Expr::u32(1)));
        });
    }
}

fn table_place(table: TableId) -> Place {
    Place { root: Root::Table(table), path: Vec::new() }
}

fn element_of(table: TableId, index: Expr) -> Expr {
    Expr::element(table_place(table), index, Type::U32)
}

fn read_table(building: &mut Building, like: &str, values: Vec<u64>, index: Expr) -> Expr {
    let table = building.table(like, Type::U32, values);
    element_of(table, index)
}

/// Elements of an object as those of a variable of an actor.
fn move_elements(
    f: &mut FunctionBuilder,
    object: &Object,
    from: &Place,
    target: &Place,
    scalar: Scalar,
    is_scalar: bool,
) {
    if is_scalar {
        let value = stored(object, from, Expr::u32(0), scalar, 0);
        return f.push(Stmt::Assign(target.clone(), value));
    }
    let n_words = words(scalar);
    f.count("i", Expr::u32(object.length as u32), |f, i| {
        for word in 0..n_words {
            let at = i.clone().times(Expr::u32(n_words)).plus(Expr::u32(word));
            let value = stored(object, from, i.clone(), scalar, word);
            f.push(Stmt::Store(target.clone(), at, value));
        }
    });
}

/// A word of an element of an object, as something of the scalar type is stored.
fn stored(object: &Object, from: &Place, index: Expr, scalar: Scalar, word: u32) -> Expr {
    let ty = element(object.width);
    if object.width > 64 {
        let half = Expr::element(from.clone(), index.times(Expr::u32(2)).plus(Expr::u32(word / 2)), ty);
        let value = half.shifted_right(32 * (word % 2)).to(Type::U32);
        return match scalar {
            // The last word is filled with the sign.
            Scalar::Int(IntType { signed: true, width }) if word + 1 == width.div_ceil(32) && width % 32 != 0 => {
                wrap(value, IntType { signed: true, width: width % 32 }).to(Type::U32)
            }
            _ => value,
        };
    }
    let value = Expr::element(from.clone(), index, ty).to(word_type(object.width));
    match scalar {
        Scalar::Bool => {
            let zero = Expr::int(value.ty, 0);
            Expr::compare(CompareOp::NotEqual, value, zero)
        }
        Scalar::Int(own @ IntType { signed: true, width }) => wrap(value.to(class(width)), own).to(machine(scalar)),
        _ => value.to(machine(scalar)),
    }
}
