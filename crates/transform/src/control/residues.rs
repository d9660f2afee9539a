//! Residues: objects whose elements are limbs of a number of which only the residue modulo another counts.
//!
//! A loop may be a linear recurrence modulo `m` ([`modular_recurrence`]). Who computes it in another way ends with the
//! same residue, but not with the same limbs: `x` and `x + m`, and limbs with and without a carry, are the same number.
//! That is allowed where nobody sees a difference, which is tried here: each loop, each transition and each decision of
//! the automaton that reads the object is given pairs of states that are congruent; what they make of both must be
//! equal, except for the object itself, which must be congruent again. What neither depends on the state nor on the
//! factor of the recurrence has any value that its form allows, the same for both.
//!
//! Requires: no transition reads or writes the object at places that are not known. Establishes: [`Object::residue`].
//!
//! [`Object::residue`]: crate::kernel::Object::residue

use super::automaton::{Automaton, CountedLoop, Next, Step};
use crate::kernel::evaluate::operation;
use crate::kernel::graph::mask;
use crate::kernel::{Effect, Graph, Loop, NodeId, ObjectId, Op, Residue};
use crate::passes::distribution::distribute;
use crate::passes::modular_recurrence::{Drawn, modular_recurrence, number};
use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

/// Pairs of congruent states that each reader is tried on.
const DRAWS: u64 = 24;

/// How often a modulus may be added to a number.
const MOST_TIMES: u32 = 3;

/// Marks the objects of recurrences that may be computed in other limbs.
pub(super) fn find(automaton: &mut Automaton) {
    let mut met: Vec<Candidate> = Vec::new();
    for counted in automaton.states.iter().flat_map(|state| &state.loops) {
        let is_known = |one: &crate::kernel::Carried| met.iter().any(|known| known.object == one.object);
        if counted.body.carried.iter().any(is_known) {
            continue;
        }
        met.extend(Candidate::of(&counted.body));
    }
    let found: Vec<Candidate> = met.into_iter().filter(|one| one.is_only_a_residue(automaton).is_some()).collect();
    let all = automaton.states.iter_mut().flat_map(|state| &mut state.loops).map(|counted| &mut counted.body.objects);
    for objects in all.chain([&mut automaton.objects]) {
        for one in &found {
            if let Some(object) = objects.get_mut(one.object.0 as usize) {
                object.residue = Some(one.residue);
            }
        }
    }
}

/// An object that may hold a residue.
struct Candidate {
    object: ObjectId,
    factor: ObjectId,
    residue: Residue,
}

impl Candidate {
    fn of(body: &Loop) -> Option<Candidate> {
        let serial = distribute(body).map(|parts| parts.serial);
        let found = modular_recurrence(serial.as_ref().unwrap_or(body))?;
        Some(Candidate { object: found.state, factor: found.factor, residue: found.residue })
    }

    fn modulus(&self) -> BigUint {
        (BigUint::from(1u32) << self.residue.bits) - self.residue.less
    }

    /// Whether nobody sees more of the object; `None` where somebody does.
    fn is_only_a_residue(&self, automaton: &Automaton) -> Option<()> {
        let Residue { limb_bits, bits, .. } = self.residue;
        let most = largest(automaton, self.object)?;
        // Where the limbs of any number fit; and what readers are tried with are all factors that there are.
        let fits = |(at, most): (usize, &u128)| *most >= mask((bits - at as u32 * limb_bits).min(limb_bits));
        let factors = largest(automaton, self.factor)?;
        if !most.iter().enumerate().all(fits) || factors.iter().any(|&factor| factor > mask(limb_bits)) {
            return None;
        }
        let mut tried = Tried { candidate: self, most: &most, done: FxHashSet::default() };
        let dependence = Dependence::of(&automaton.graph, self);
        for state in &automaton.states {
            tried.step(&automaton.graph, &dependence, &state.step)?;
            for counted in &state.loops {
                tried.counted(counted)?;
            }
        }
        Some(())
    }

    /// Two states of one residue within bounds.
    fn congruent(&self, most: &[u128], drawn: &mut Drawn) -> [Vec<u128>; 2] {
        let bits = self.residue.limb_bits;
        let x: Vec<u128> = most.iter().map(|&most| drawn.at_most(most)).collect();
        let modulus = self.modulus();
        // The least number of this residue, and some times the modulus more, in limbs without a carry.
        let mut least = number(&x, bits) % &modulus;
        if drawn.word().is_multiple_of(4) {
            // There are few numbers of which one and another that is so much larger have as many limbs.
            least = BigUint::from(drawn.word() % (2 * u64::from(self.residue.less)));
        }
        let mut others: Vec<Vec<u128>> = (0..=MOST_TIMES)
            .map(|times| limbs_of(&(&least + &modulus * times), most.len(), bits))
            .filter(|limbs| limbs.iter().zip(most).all(|(limb, most)| limb <= most))
            .collect();
        // A carry that was not passed on.
        for at in 0..most.len() - 1 {
            let mut limbs = limbs_of(&least, most.len(), bits);
            if limbs[at + 1] > 0 && limbs[at] + (1 << bits) <= most[at] {
                limbs[at + 1] -= 1;
                limbs[at] += 1 << bits;
                others.push(limbs);
            }
        }
        let mut take = || match others.len() {
            0 => x.clone(),
            n => others[drawn.word() as usize % n].clone(),
        };
        [take(), take()]
    }
}

/// The largest value that each element of an object can have; `None` where it is read or written at places that are not
/// known.
fn largest(automaton: &Automaton, id: ObjectId) -> Option<Vec<u128>> {
    let at = id.0 as usize;
    let length = automaton.objects.get(at)?.length;
    let mut most: Vec<u128> = automaton.initial.get(at).cloned().unwrap_or_default();
    most.resize(length, 0);
    let mut is_plain = true;
    let mut store = |graph: &Graph, effect: &Effect| match effect {
        Effect::Store { object, index, value } if *object == id => {
            let element = graph.constant(*index).and_then(|index| most.get_mut(index as usize));
            match element {
                Some(element) => *element = (*element).max(graph.bounds(*value).1),
                None => is_plain = false,
            }
        }
        Effect::Load { object, .. } if *object == id => is_plain = false,
        _ => {}
    };
    for state in &automaton.states {
        state.step.effects(&mut |effects| Effect::walk(effects, &mut |effect| store(&automaton.graph, effect)));
    }
    for body in automaton.states.iter().flat_map(|state| &state.loops).map(|counted| &counted.body) {
        for one in body.carried.iter().filter(|one| one.object == id) {
            let element = most.get_mut(one.index)?;
            *element = (*element).max(body.graph.bounds(one.next).1);
        }
    }
    is_plain.then_some(most)
}

/// The limbs of a number; what is beyond the last one stands in it, too.
fn limbs_of(number: &BigUint, n: usize, bits: u32) -> Vec<u128> {
    let limb = |at: usize| {
        let rest = number >> (bits as usize * at);
        let rest = if at + 1 < n { rest % (BigUint::from(1u32) << bits) } else { rest };
        u128::try_from(rest).unwrap_or(u128::MAX)
    };
    (0..n).map(limb).collect()
}

/// Which nodes of a graph depend on the object, and which on it or the factor. Operands stand before what needs them.
struct Dependence {
    on_object: Vec<bool>,
    on_either: Vec<bool>,
}

impl Dependence {
    fn of(graph: &Graph, candidate: &Candidate) -> Dependence {
        let (mut on_object, mut on_either) = (vec![false; graph.len()], vec![false; graph.len()]);
        for at in 0..graph.len() {
            let id = NodeId(at as u32);
            let operands = graph.op(id).operands();
            let reads = |object: ObjectId| matches!(graph.op(id), Op::Entry { object: read, .. } if *read == object);
            on_object[at] = reads(candidate.object) || operands.iter().any(|operand| on_object[operand.index()]);
            on_either[at] =
                on_object[at] || reads(candidate.factor) || operands.iter().any(|operand| on_either[operand.index()]);
        }
        Dependence { on_object, on_either }
    }
}

/// What a reader makes of the object: values that must be equal, and the elements that it writes.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Reader {
    equal: Vec<NodeId>,
    written: Vec<(usize, NodeId)>,
}

/// Readers that were tried.
struct Tried<'a> {
    candidate: &'a Candidate,
    most: &'a [u128],
    /// Those of the automaton's graph: many transitions do the same with an object.
    done: FxHashSet<Reader>,
}

impl Tried<'_> {
    fn step(&mut self, graph: &Graph, dependence: &Dependence, step: &Step) -> Option<()> {
        match step {
            Step::Branch { before, condition, then, otherwise } => {
                let mut reader = self.reader(dependence, graph, before)?;
                reader.equal.extend(dependence.on_object[condition.index()].then_some(*condition));
                self.on_automaton(graph, dependence, reader)?;
                self.step(graph, dependence, then)?;
                self.step(graph, dependence, otherwise)
            }
            Step::Wait(awaited) => awaited.iter().try_for_each(|one| self.step(graph, dependence, &one.step)),
            Step::Go { transition, .. } => {
                let reader = self.reader(dependence, graph, &transition.effects)?;
                self.on_automaton(graph, dependence, reader)
            }
            Step::End | Step::Deoptimize => Some(()),
        }
    }

    fn on_automaton(&mut self, graph: &Graph, dependence: &Dependence, reader: Reader) -> Option<()> {
        let is_new = !reader.equal.is_empty() || reader.written.iter().any(|one| dependence.on_object[one.1.index()]);
        if is_new && self.done.insert(reader.clone()) {
            self.sees_residues(graph, dependence, &reader)
        } else {
            Some(())
        }
    }

    /// What effects read of the object; `None` where they write it under a condition.
    fn reader(&self, dependence: &Dependence, graph: &Graph, effects: &[Effect]) -> Option<Reader> {
        let mut reader = Reader::default();
        let depends = |id: &NodeId| dependence.on_object[id.index()];
        for effect in effects {
            match effect {
                Effect::Store { object, index, value } if *object == self.candidate.object => {
                    let index = graph.constant(*index)? as usize;
                    reader.written.retain(|one| one.0 != index);
                    reader.written.push((index, *value));
                }
                Effect::If { .. } | Effect::While { .. } => {
                    let mut is_written = false;
                    Effect::walk(std::slice::from_ref(effect), &mut |inner| {
                        is_written |= matches!(inner, Effect::Store { object, .. } if *object == self.candidate.object);
                        reader.equal.extend(inner.uses().into_iter().filter(depends));
                    });
                    if is_written {
                        return None;
                    }
                }
                other => reader.equal.extend(other.uses().into_iter().filter(depends)),
            }
        }
        reader.equal.sort_unstable();
        reader.equal.dedup();
        reader.written.sort_unstable();
        Some(reader)
    }

    fn counted(&mut self, counted: &CountedLoop) -> Option<()> {
        let body = &counted.body;
        let dependence = Dependence::of(&body.graph, self.candidate);
        let depends = |id: &NodeId| dependence.on_object[id.index()];
        let (own, others): (Vec<_>, Vec<_>) = body.carried.iter().partition(|one| one.object == self.candidate.object);
        let values = body.outputs.iter().map(|output| output.2).chain(others.iter().map(|one| one.next));
        let values = values.chain(body.counters.iter().map(|counter| counter.start));
        let values = values.chain(counted.before());
        let equal = values.filter(depends).collect();
        let written = own.iter().map(|one| (one.index, one.next)).collect();
        self.sees_residues(&body.graph, &dependence, &Reader { equal, written })?;
        let Some(rounds) = &counted.rounds else { return Some(()) };
        let dependence = Dependence::of(&rounds.graph, self.candidate);
        for way in rounds.ways.iter().chain(rounds.last.as_ref().map(|last| &last.way)) {
            let values = way.updates.iter().filter_map(|update| match update.next {
                Next::Value(node) => Some(node),
                Next::Step(_) => None,
            });
            let mut nodes = values.chain(way.trips.iter().map(super::automaton::Trips::node));
            let is_read = nodes.any(|node| dependence.on_object[node.index()]);
            if is_read || way.updates.iter().any(|update| update.object == self.candidate.object) {
                return None;
            }
        }
        Some(())
    }

    /// Tries a reader on pairs of congruent states.
    fn sees_residues(&self, graph: &Graph, dependence: &Dependence, reader: &Reader) -> Option<()> {
        let (bits, modulus) = (self.candidate.residue.limb_bits, self.candidate.modulus());
        let roots = reader.equal.iter().copied().chain(reader.written.iter().map(|one| one.1));
        let order = graph.reachable_but(roots, |id| !dependence.on_either[id.index()]);
        for seed in 0..DRAWS {
            let mut drawn = Drawn::of(seed);
            let states = self.candidate.congruent(self.most, &mut drawn);
            let [one, other] = states.each_ref().map(|state| {
                let values = self.values(graph, &order, dependence, state, seed);
                let value = |id: NodeId| values.get(&id).copied().unwrap_or_else(|| free(graph, id, seed));
                let mut after = state.clone();
                for &(index, next) in &reader.written {
                    if let Some(element) = after.get_mut(index) {
                        *element = value(next);
                    }
                }
                (reader.equal.iter().map(|&id| value(id)).collect::<Vec<u128>>(), number(&after, bits) % &modulus)
            });
            if one != other {
                return None;
            }
        }
        Some(())
    }

    fn values(
        &self,
        graph: &Graph,
        order: &[NodeId],
        dependence: &Dependence,
        state: &[u128],
        seed: u64,
    ) -> FxHashMap<NodeId, u128> {
        let mut values: FxHashMap<NodeId, u128> = FxHashMap::default();
        for &id in order {
            let of = |id: &NodeId| match dependence.on_either[id.index()] {
                true => values.get(id).copied().unwrap_or(0),
                false => free(graph, *id, seed),
            };
            let value = match graph.op(id) {
                Op::Entry { object, index } if *object == self.candidate.object => {
                    state.get(of(index) as usize).copied().unwrap_or(0)
                }
                // Limbs of the factor are as wide as those of the state.
                Op::Entry { index, .. } => {
                    Drawn::of(seed ^ 1 << 40 ^ of(index) as u64).at_most(mask(self.candidate.residue.limb_bits))
                }
                op => {
                    let operands: Vec<u128> = op.operands().iter().map(of).collect();
                    operation(graph, id, &operands)
                }
            };
            values.insert(id, value);
        }
        values
    }
}

/// Any value of a node, the same for the same seed.
fn free(graph: &Graph, id: NodeId, seed: u64) -> u128 {
    let (least, most) = graph.bounds(id);
    least + Drawn::of(seed << 32 | u64::from(id.0)).at_most(most - least)
}
