//! Shifts by constants as multiplications (strength reduction backwards): where the units that shift have the most to do and
//! multipliers are idle, some of what the first have to do goes to the second.
//!
//! `x << 8` is `x * 256`. It is longer until that is there, which overlapped iterations do not feel; kernels whose records wait for
//! each other are left as they are.

use crate::machine::Machine;
use crate::place::Placed;
use crate::words::{Binary, Carried, Why, WordId, WordOp};
use std::collections::BTreeMap;

/// The same code with so many multiplications that both kinds of units have about as much to do; `None`: there is nothing to move,
/// or the machine's schedules are not made here.
pub fn with_multiplications(placed: &Placed, machine: &Machine, bounds: &[usize]) -> Option<Placed> {
    let code = &placed.code;
    machine.microcode_words.as_ref()?;
    if code.carried.iter().any(|one| one.why == Why::Chain) {
        return None;
    }
    let (shifts, _, _) = machine.operation("shl")?;
    let (multiplies, _, busy) = machine.operation("mul")?;
    let units: Vec<usize> = machine.unit.values().map(|unit| *unit.count).collect();
    let most = bounds.iter().copied().max()?;
    if shifts == multiplies || bounds[shifts] < most {
        return None;
    }
    let invariants = code.invariants();
    let amount = |id: WordId| match *code.op(id) {
        WordOp::Binary(Binary::Shl, _, by) if !invariants[id.index()] => code.constant(by).filter(|by| *by < 32),
        _ => None,
    };
    let all: Vec<WordId> = code.needed().into_iter().filter(|id| amount(*id).is_some()).collect();
    // As many as leave the multipliers less to do than the others.
    let (from, to) = (bounds[shifts] * units[shifts], bounds[multiplies] * units[multiplies]);
    let fair = (from * units[multiplies]).saturating_sub(to * units[shifts])
        / (units[multiplies] + units[shifts] * busy.max(1)).max(1);
    let n = fair.min(all.len());
    if n < units[shifts] {
        return None;
    }
    // Spread over the code, so that neither kind waits for the other.
    let chosen = |at: usize| (at + 1) * n / all.len() > at * n / all.len();
    let moved: std::collections::BTreeSet<WordId> =
        all.iter().enumerate().filter(|(at, _)| chosen(*at)).map(|(_, id)| *id).collect();
    let mut made = code.without_words();
    let mut new: BTreeMap<WordId, WordId> = BTreeMap::new();
    for id in code.needed() {
        let op = code.op(id).with(&mut |operand| new[&operand]);
        let word = match op {
            WordOp::Binary(Binary::Shl, x, _) if moved.contains(&id) => {
                let factor = made.number(1 << amount(id)?);
                made.add(WordOp::Binary(Binary::Mul, x, factor))
            }
            WordOp::Const(value) => made.number(value),
            op => made.add(op),
        };
        new.insert(id, word);
    }
    made.writes = code.writes.iter().map(|&(stream, word, value)| (stream, word, new[&value])).collect();
    made.carried = code.carried.iter().map(|one| Carried { next: new[&one.next], ..one.clone() }).collect();
    Some(Placed { code: made, ..placed.clone() })
}
