//! Storage allocation: what a complete automaton keeps from transition to transition takes as little memory as can be.
//!
//! Two iterations, both for automata that are never left, since a scheduler would want everything where its actors have
//! it:
//!
//! * copy coalescing (Chaitin and others, "Register allocation via coloring", 1981, with objects for registers). Tokens that
//!   wait in a FIFO until a transition copies them to a variable lie in the variable from the beginning, where nothing reads that
//!   as long as they wait:
//!
//!   ```text
//!   0: f[i] := key[i]; go 1        1: w[i] := f[i]; go 2      =>      0: w[i] := key[i]; go 1       1: go 2
//!   ```
//! * dead store elimination of whole elements: a list ends behind the last element that is ever read or written.

use crate::automaton::{Automaton, CountedLoop, Holds, Next, Step};
use crate::{Effect, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A FIFO whose tokens can lie in a variable.
struct Copy {
    fifo: ObjectId,
    connection: usize,
    variable: ObjectId,
    /// What is added to the place of a token for that in the variable.
    distance: i128,
    /// The places of the variable.
    range: Range<i128>,
}

impl Automaton {
    /// The same automaton with less memory; `None` where it may be left or nothing is gained.
    pub fn with_less_storage(&self) -> Option<Automaton> {
        if self.leaves() {
            return None;
        }
        let mut smaller = self.clone();
        let mut changed = false;
        for number in 0..smaller.objects.len() {
            let Some(copy) = smaller.copied(ObjectId(number as u32)) else { continue };
            if smaller.is_free(&copy) {
                changed |= smaller.coalesce(&copy).is_some();
            }
        }
        changed |= smaller.end_behind_the_last();
        changed.then_some(smaller)
    }

    /// Where the tokens of a FIFO are copied to, as one transition does it.
    fn copied(&self, fifo: ObjectId) -> Option<Copy> {
        let Holds::Fifo(connection) = *self.holds.get(fifo.0 as usize)? else { return None };
        let own = self.object(fifo);
        let mut found = None;
        for state in self.states.iter().filter(|state| state.fills.get(connection).is_some_and(|&fill| fill > 0)) {
            each_leaf(&state.step, &mut Vec::new(), &mut |effects, _| {
                for effect in effects {
                    let Effect::Store { object, index, value } = effect else { continue };
                    let Op::Entry { object: from, index: at } = self.graph.op(*value) else { continue };
                    let places = self.graph.constant(*index).zip(self.graph.constant(*at));
                    if let (true, Some((to, at))) = (*from == fifo, places)
                        && found.is_none()
                    {
                        found = Some((*object, to as i128 - at as i128));
                    }
                }
            });
        }
        let (variable, distance) = found?;
        let to = self.object(variable);
        let range = distance..distance + own.length as i128;
        let fits = range.start >= 0 && range.end <= to.length as i128 && own.width == to.width;
        let lives = to.persistent && matches!(self.holds.get(variable.0 as usize), Some(Holds::Variable(..)));
        (fits && lives).then_some(Copy { fifo, connection, variable, distance, range })
    }

    /// Whether nothing needs the variable as long as tokens wait, and what comes after them is their copy.
    fn is_free(&self, copy: &Copy) -> bool {
        let fill = |state: usize| self.states[state].fills.get(copy.connection).copied().unwrap_or(0);
        let mentions = |body: &Loop, object: ObjectId| {
            let reads = body
                .needed()
                .iter()
                .any(|&id| matches!(body.graph.op(id), Op::Entry { object: own, .. } if *own == object));
            reads || body.carried.iter().any(|one| one.object == object)
        };
        let has_window = |counted: &CountedLoop, object: ObjectId| {
            let entries = counted.body.graph.reachable(counted.before()).into_iter().filter_map(|id| {
                match counted.body.graph.op(id) {
                    Op::Entry { object, .. } => Some(*object),
                    _ => None,
                }
            });
            let windows = counted.read.iter().chain(&counted.written).map(|window| window.object);
            counted.has_windows() && entries.chain(windows).any(|own| own == object)
        };
        for (number, state) in self.states.iter().enumerate() {
            let waiting = fill(number);
            for counted in &state.loops {
                if mentions(&counted.body, copy.fifo) || (waiting > 0 && mentions(&counted.body, copy.variable)) {
                    return false;
                }
                if has_window(counted, copy.fifo) || (waiting > 0 && has_window(counted, copy.variable)) {
                    return false;
                }
                let mut updates = counted.rounds.iter().flat_map(|rounds| {
                    rounds.ways.iter().chain(rounds.last.iter().map(|last| &last.way)).flat_map(|way| &way.updates)
                });
                let touches = |object: ObjectId| object == copy.fifo || (waiting > 0 && object == copy.variable);
                if updates.any(|update| touches(update.object)) {
                    return false;
                }
            }
            if waiting > 0 && self.reads(&state.step, copy) {
                return false;
            }
            let mut is_free = true;
            each_leaf(&state.step, &mut Vec::new(), &mut |effects, target| {
                is_free &= self.goes_on(effects, copy, (waiting, fill(target)));
            });
            if !is_free {
                return false;
            }
        }
        true
    }

    /// Whether anything in a step reads the variable where tokens lie in it.
    fn reads(&self, step: &Step, copy: &Copy) -> bool {
        let mut roots = Vec::new();
        let mut loads = false;
        each_part(step, &mut |effects, condition| {
            roots.extend(condition);
            roots.extend(Effect::roots(effects));
            Effect::walk(effects, &mut |effect| {
                loads |=
                    matches!(effect, Effect::Load { object, .. } if *object == copy.variable || *object == copy.fifo);
            });
        });
        let in_range = |index: NodeId| match self.graph.constant(index) {
            Some(index) => copy.range.contains(&(index as i128)),
            None => true,
        };
        let reads = |id: NodeId| match self.graph.op(id) {
            Op::Entry { object, index } if *object == copy.variable => in_range(*index),
            Op::Entry { object, index } if *object == copy.fifo => self.graph.constant(*index).is_none(),
            _ => false,
        };
        loads || self.graph.reachable(roots).into_iter().any(reads)
    }

    /// Whether a transition leaves alone what waits before or after it, or copies it; `before` and `after` count
    /// tokens.
    fn goes_on(&self, effects: &[&Effect], copy: &Copy, (before, after): (usize, usize)) -> bool {
        let (mut to_fifo, mut to_variable) = (0, FxHashMap::default());
        for effect in effects {
            match effect {
                Effect::Store { object, index, .. } if *object == copy.fifo => {
                    let Some(index) = self.graph.constant(*index) else { return false };
                    if index as usize >= after {
                        return false;
                    }
                    to_fifo += 1;
                }
                Effect::Store { object, index, value } if *object == copy.variable => {
                    let Some(index) = self.graph.constant(*index) else { return false };
                    let index = index as i128;
                    if copy.range.contains(&index) && to_variable.insert(index, *value).is_some() {
                        return false;
                    }
                }
                Effect::Load { object, .. } if *object == copy.fifo => return false,
                Effect::While { .. } | Effect::If { .. } => {
                    let mut touches = false;
                    Effect::walk(std::slice::from_ref(*effect), &mut |inner| {
                        touches |= matches!(inner, Effect::Store { object, .. } | Effect::Load { object, .. }
                            if *object == copy.fifo || *object == copy.variable);
                    });
                    if touches {
                        return false;
                    }
                }
                _ => {}
            }
        }
        match (before, after) {
            (0, 0) => to_fifo == 0,
            (0, _) => to_variable.is_empty(),
            (before, 0) => {
                let is_copied = |token: usize| {
                    let value = to_variable.get(&(token as i128 + copy.distance)).map(|&value| self.graph.op(value));
                    matches!(value, Some(Op::Entry { object, index })
                        if *object == copy.fifo && self.graph.constant(*index) == Some(token as u128))
                };
                to_fifo == 0 && to_variable.len() == before && (0..before).all(is_copied)
            }
            (before, after) => before == after && to_fifo == 0 && to_variable.is_empty(),
        }
    }

    /// Puts the tokens of a FIFO into the variable.
    fn coalesce(&mut self, copy: &Copy) -> Option<()> {
        let mut graph = Graph::with_tables_of(&self.graph);
        let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        let mut roots = Vec::new();
        for state in &self.states {
            each_part(&state.step, &mut |effects, condition| {
                roots.extend(condition);
                roots.extend(Effect::roots(effects));
            });
        }
        let place =
            |graph: &mut Graph, index: u128, width: u32| graph.number((index as i128 + copy.distance) as u128, width);
        for id in self.graph.reachable(roots) {
            let value = match self.graph.op(id) {
                Op::Entry { object, index } if *object == copy.fifo => {
                    let index = place(&mut graph, self.graph.constant(*index)?, self.graph.width(*index));
                    graph.entry(copy.variable, index, self.graph.width(id))
                }
                _ => graph.copy(&self.graph, id, &new)?,
            };
            new.insert(id, value);
        }
        let mut steps = Vec::with_capacity(self.states.len());
        for state in &self.states {
            steps.push(moved(&state.step, &new, &mut |effect| match effect {
                Effect::Store { object, index, value } if object == copy.fifo => {
                    let (at, width) = (graph.constant(index)?, graph.width(index));
                    let index = place(&mut graph, at, width);
                    Some(Some(Effect::Store { object: copy.variable, index, value }))
                }
                Effect::Store { object, index, value } => {
                    let own = graph.constant(index);
                    let stays = matches!(graph.op(value), Op::Entry { object: from, index: at }
                        if *from == object && own.is_some() && graph.constant(*at) == own);
                    Some((!stays).then_some(Effect::Store { object, index, value }))
                }
                other => Some(Some(other)),
            })?);
        }
        self.graph = graph;
        for (state, step) in self.states.iter_mut().zip(steps) {
            state.step = step;
        }
        self.set_length(copy.fifo, 0);
        Some(())
    }

    /// Cuts off elements behind the last that is used; whether there were some.
    fn end_behind_the_last(&mut self) -> bool {
        let mut used: Vec<usize> = vec![0; self.objects.len()];
        let mut whole = vec![false; self.objects.len()];
        let mut uses = |object: ObjectId, index: Option<u128>| match index {
            Some(index) => used[object.0 as usize] = used[object.0 as usize].max(index as usize + 1),
            None => whole[object.0 as usize] = true,
        };
        let mut entries = |graph: &Graph, roots: Vec<NodeId>| {
            for id in graph.reachable(roots) {
                if let Op::Entry { object, index } = graph.op(id) {
                    uses(*object, graph.constant(*index));
                }
            }
        };
        let mut stored = Vec::new();
        for state in &self.states {
            each_part(&state.step, &mut |effects, condition| {
                let mut roots = Effect::roots(effects);
                roots.extend(condition);
                entries(&self.graph, roots);
                Effect::walk(effects, &mut |effect| {
                    if let Effect::Store { object, index, .. } | Effect::Load { object, index, .. } = effect {
                        stored.push((*object, self.graph.constant(*index)));
                    }
                });
            });
            for counted in &state.loops {
                let body = &counted.body;
                entries(&body.graph, body.needed());
                entries(&body.graph, counted.before().collect());
                stored.extend(counted.read.iter().chain(&counted.written).map(|window| (window.object, None)));
                stored.extend(body.carried.iter().map(|one| (one.object, Some(one.index as u128))));
                let Some(rounds) = &counted.rounds else { continue };
                for way in rounds.ways.iter().chain(rounds.last.iter().map(|last| &last.way)) {
                    let values = way.updates.iter().filter_map(|update| match update.next {
                        Next::Value(value) => Some(value),
                        Next::Step(_) => None,
                    });
                    entries(&rounds.graph, values.chain(way.trips.iter().map(|trip| trip.node())).collect());
                    stored.extend(way.updates.iter().map(|update| (update.object, Some(update.index as u128))));
                }
            }
        }
        stored.into_iter().for_each(|(object, index)| uses(object, index));
        let mut changed = false;
        for (number, (used, whole)) in used.into_iter().zip(whole).enumerate() {
            let object = &self.objects[number];
            if !whole && object.lives_on() && used < object.length {
                self.set_length(ObjectId(number as u32), used);
                changed = true;
            }
        }
        changed
    }

    fn set_length(&mut self, object: ObjectId, length: usize) {
        let number = object.0 as usize;
        self.objects[number].length = length;
        self.initial[number].truncate(length);
        for state in &mut self.states {
            state.known.retain(|known| known.0 != object || known.1 < length);
            for counted in &mut state.loops {
                if let Some(own) = counted.body.objects.get_mut(number) {
                    own.length = length;
                }
            }
        }
    }
}

/// Every list of effects of a step, with the condition that follows it, if one does.
fn each_part<'s>(step: &'s Step, visit: &mut dyn FnMut(&'s [Effect], Option<NodeId>)) {
    match step {
        Step::Branch { before, condition, then, otherwise } => {
            visit(before, Some(*condition));
            each_part(then, visit);
            each_part(otherwise, visit);
        }
        Step::Wait(awaited) => awaited.iter().for_each(|awaited| each_part(&awaited.step, visit)),
        Step::Go { transition, .. } => visit(&transition.effects, None),
        Step::End | Step::Deoptimize => {}
    }
}

/// All effects on the way to each transition of a step and of that, with the state that it leads to.
fn each_leaf<'s>(step: &'s Step, before: &mut Vec<&'s Effect>, visit: &mut dyn FnMut(&[&'s Effect], usize)) {
    let n = before.len();
    match step {
        Step::Branch { before: more, then, otherwise, .. } => {
            before.extend(more);
            each_leaf(then, before, visit);
            each_leaf(otherwise, before, visit);
        }
        Step::Wait(awaited) => awaited.iter().for_each(|awaited| each_leaf(&awaited.step, before, visit)),
        Step::Go { transition, target } => {
            before.extend(&transition.effects);
            visit(before, *target);
        }
        Step::End | Step::Deoptimize => {}
    }
    before.truncate(n);
}

/// The same step on other values, with each effect that is not inside of others as `changed` says: another one or none.
fn moved(
    step: &Step,
    new: &FxHashMap<NodeId, NodeId>,
    changed: &mut dyn FnMut(Effect) -> Option<Option<Effect>>,
) -> Option<Step> {
    let mut all = |effects: &[Effect]| -> Option<Vec<Effect>> {
        let mut kept = Vec::with_capacity(effects.len());
        for effect in effects {
            kept.extend(changed(effect.moved(new)?)?);
        }
        Some(kept)
    };
    Some(match step {
        Step::Branch { before, condition, then, otherwise } => Step::Branch {
            before: all(before)?,
            condition: *new.get(condition)?,
            then: Box::new(moved(then, new, changed)?),
            otherwise: Box::new(moved(otherwise, new, changed)?),
        },
        Step::Wait(awaited) => {
            let mut steps = Vec::with_capacity(awaited.len());
            for one in awaited {
                steps.push(crate::automaton::Awaited { step: moved(&one.step, new, changed)?, ..one.clone() });
            }
            Step::Wait(steps)
        }
        Step::Go { transition, target } => {
            let transition = crate::Transition { effects: all(&transition.effects)?, ..transition.clone() };
            Step::Go { transition, target: *target }
        }
        Step::End => Step::End,
        Step::Deoptimize => Step::Deoptimize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::automaton::ControlState;
    use crate::{Object, Transition};
    use headrace_ir::{InstanceId, VariableId};

    /// 0 puts two tokens into a FIFO, 1 copies them to a variable of four elements, 2 gives them out; `early` reads the
    /// variable while they wait.
    fn copying(early: bool) -> Automaton {
        let (fifo, variable) = (ObjectId(0), ObjectId(1));
        let mut graph = Graph::new();
        let at: Vec<NodeId> = (0..2).map(|at| graph.number(at, 32)).collect();
        let input: Vec<NodeId> = (0..2).map(|offset| graph.input(0, offset, 8)).collect();
        let waiting: Vec<NodeId> = at.iter().map(|&at| graph.entry(fifo, at, 8)).collect();
        let kept: Vec<NodeId> = at.iter().map(|&at| graph.entry(variable, at, 8)).collect();
        let store = |object: ObjectId, values: &[NodeId]| -> Vec<Effect> {
            at.iter().zip(values).map(|(&index, &value)| Effect::Store { object, index, value }).collect()
        };
        let give = |values: &[NodeId]| -> Vec<Effect> {
            values.iter().zip(0..).map(|(&value, offset)| Effect::Output { port: 0, offset, value }).collect()
        };
        let mut copies = store(variable, &waiting);
        copies.extend(give(if early { &kept[..1] } else { &waiting[..1] }));
        let go = |effects: Vec<Effect>, target: usize, fill: usize| ControlState {
            step: Step::Go { transition: Transition { effects, consumes: vec![0], produces: vec![0] }, target },
            loops: Vec::new(),
            description: String::new(),
            fsm: Vec::new(),
            fills: vec![fill],
            known: Vec::new(),
        };
        let object =
            |name: &str, length| Object { name: name.into(), width: 8, length, persistent: true, residue: None };
        Automaton {
            states: vec![go(store(fifo, &input), 1, 0), go(copies, 2, 2), go(give(&kept), 0, 0)],
            objects: vec![object("fifo", 2), object("variable", 4)],
            holds: vec![Holds::Fifo(0), Holds::Variable(InstanceId(0), VariableId(0))],
            initial: vec![Vec::new(), vec![0; 4]],
            graph,
            ..Automaton::default()
        }
    }

    fn lengths(automaton: &Automaton) -> Vec<usize> {
        automaton.objects.iter().map(|object| object.length).collect()
    }

    #[test]
    fn tokens_wait_in_the_variable_and_are_not_copied() {
        let smaller = copying(false).with_less_storage().expect("it can be smaller");
        assert_eq!(lengths(&smaller), [0, 2]);
        let Step::Go { transition, .. } = &smaller.states[1].step else { panic!("no transition") };
        assert!(matches!(transition.effects[..], [Effect::Output { .. }]), "{:?}", transition.effects);
    }

    #[test]
    fn tokens_wait_elsewhere_while_the_variable_is_read() {
        let smaller = copying(true).with_less_storage().expect("the variable ends earlier");
        assert_eq!(lengths(&smaller), [2, 2]);
    }

    #[test]
    fn what_may_be_left_keeps_everything() {
        let mut left = copying(false);
        left.states[2].step = Step::Deoptimize;
        assert!(left.with_less_storage().is_none());
    }
}
