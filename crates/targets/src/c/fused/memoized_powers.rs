//! Memoisation across calls: the powers of a recurrence's multiplier stay in the context. A loop that multiplies by the
//! same element again and again needs its powers, and so do all messages under one key: they are computed once for it.
//!
//! An object beside that of the multiplier holds the powers as the loop uses them, and another says how many there are; a
//! transition that stores the multiplier says that there are none. What a context begins with is zero, so it has none
//! either. Both are of the automaton: where the scheduler goes on they are in nobody's way.

use crate::c::kernel::{Memo, POWERS_BYTES, RESIDUE_POWERS_BYTES};
use headrace_transform::control::{Automaton, Holds, Step};
use headrace_transform::kernel::{Effect, Loop, Object, ObjectId};
use headrace_transform::passes::distribute_recurrence::{self, Added, distribute_recurrence};
use headrace_transform::passes::distribution::{self, distribute};
use headrace_transform::passes::modular_recurrence::{self, modular_recurrence};
use std::collections::{BTreeMap, BTreeSet};

/// The objects of a multiplier whose powers have so many bytes.
fn memo(multiplier: &Object, bytes: usize) -> Memo {
    let object = |what: &str, length: usize| Object {
        name: format!("{}_{what}", multiplier.name),
        width: 8,
        length,
        persistent: true,
        residue: None,
    };
    Memo { powers: object("powers", bytes), known: object("n_powers", 1) }
}

/// What an automaton with [`with_powers`] keeps of an object, if it keeps something.
pub(super) fn kept(automaton: &Automaton, object: &Object) -> Option<Memo> {
    let memos = [POWERS_BYTES, RESIDUE_POWERS_BYTES].map(|bytes| memo(object, bytes));
    memos.into_iter().find(|memo| automaton.objects.contains(&memo.powers))
}

/// Whether a loop is one of products in GF(2).
pub(super) fn is_product(body: &Loop) -> bool {
    distribute_recurrence::PASS.tried(|| distribute_recurrence(body)).is_some()
}

/// Whether a loop of products has powers that are kept.
pub(super) fn multiplies(automaton: &Automaton, body: &Loop) -> bool {
    of_product(body).is_some_and(|multiplier| kept(automaton, automaton.object(multiplier)).is_some())
}

/// An automaton with objects for the powers of multipliers; `None` where there are none.
pub(super) fn with_powers(automaton: &Automaton) -> Option<Automaton> {
    let multipliers = multipliers(automaton);
    if multipliers.is_empty() {
        return None;
    }
    let mut new = automaton.clone();
    for (multiplier, bytes) in multipliers {
        let Memo { powers, known } = memo(automaton.object(multiplier), bytes);
        for object in [powers, known] {
            new.objects.push(object);
            new.holds.push(Holds::Local);
            new.initial.push(Vec::new());
        }
        let zero = new.graph.number(0, 32);
        let none = new.graph.number(0, 8);
        let known = ObjectId(new.objects.len() as u32 - 1);
        let forget = Effect::Store { object: known, index: zero, value: none };
        for state in &mut new.states {
            forget_in(&mut state.step, multiplier, &forget);
        }
    }
    Some(new)
}

/// Objects that loops multiply by and that no loop changes, with the bytes of their powers.
fn multipliers(automaton: &Automaton) -> BTreeMap<ObjectId, usize> {
    let loops = || automaton.states.iter().flat_map(|state| &state.loops);
    let changed: BTreeSet<ObjectId> = loops().flat_map(|one| one.body.carried.iter().map(|one| one.object)).collect();
    let found = loops().filter_map(|one| {
        of_product(&one.body)
            .map(|object| (object, POWERS_BYTES))
            .or_else(|| of_residue(&one.body).map(|object| (object, RESIDUE_POWERS_BYTES)))
    });
    found.filter(|(object, _)| !changed.contains(object) && automaton.object(*object).persistent).collect()
}

/// What a recurrence of products in GF(2) multiplies by.
fn of_product(body: &Loop) -> Option<ObjectId> {
    let split = distribute_recurrence::PASS.tried(|| distribute_recurrence(body))?;
    let object = split.recurrence.factor.first()?.object;
    let is_one = split.recurrence.factor.iter().all(|byte| byte.object == object);
    (is_one && matches!(split.recurrence.added, Added::Tokens(_))).then_some(object)
}

/// What a recurrence modulo a number multiplies by, be it the loop or what is left of it behind its independent part.
fn of_residue(body: &Loop) -> Option<ObjectId> {
    // Nothing else is worth the search.
    if !body.carried.iter().any(|one| body.objects[one.object.0 as usize].residue.is_some()) {
        return None;
    }
    let whole = modular_recurrence::PASS.tried(|| modular_recurrence(body));
    let rest = || {
        let parts = distribution::PASS.tried(|| distribute(body))?;
        modular_recurrence::PASS.tried(|| modular_recurrence(&parts.serial))
    };
    Some(whole.or_else(rest)?.factor)
}

fn forget_in(step: &mut Step, multiplier: ObjectId, forget: &Effect) {
    match step {
        Step::Branch { before, then, otherwise, .. } => {
            if stores(before, multiplier) {
                before.push(forget.clone());
            }
            forget_in(then, multiplier, forget);
            forget_in(otherwise, multiplier, forget);
        }
        Step::Wait(awaited) => awaited.iter_mut().for_each(|one| forget_in(&mut one.step, multiplier, forget)),
        Step::Go { transition, .. } => {
            if stores(&transition.effects, multiplier) {
                transition.effects.push(forget.clone());
            }
        }
        Step::End | Step::Deoptimize => {}
    }
}

fn stores(effects: &[Effect], multiplier: ObjectId) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Store { object, .. } => *object == multiplier,
        Effect::While { before, body, .. } => stores(before, multiplier) || stores(body, multiplier),
        Effect::If { then, otherwise, .. } => stores(then, multiplier) || stores(otherwise, multiplier),
        _ => false,
    })
}
