//! Search of the automaton of a network along samples, and how much of it is worth generating code for.
//!
//! An automaton may have more states than compilers can take. Then it is made again along fewer samples, or pruned to the
//! states that whole samples come through; what generates code says how long its code is, and no more.

use super::{Automaton, Followed, Limits, NotFused, Sample, automaton_along};

/// Effects of an automaton that code is generated for: beyond, it takes too long to compile.
const MOST_EFFECTS: usize = 16_000;

/// States of it.
const MOST_STATES: usize = 2_000;

/// States that are kept of a larger one: what goes beyond is rare, and fewer compile faster.
const TYPICAL_STATES: usize = 1_500;

/// How often code is generated, each time for fewer states, until it is short enough.
const ATTEMPTS: usize = 4;

/// Samples of what a network is used for, from the usual ones to more and to fewer.
#[derive(Debug)]
pub struct Samples {
    /// What whoever uses it usually does.
    pub usual: Vec<Sample>,
    /// In so many of the usual samples each message comes at once: the first of them.
    pub n_uncut: usize,
    /// The same and all lengths, where there is room for the states of them.
    pub thorough: Vec<Sample>,
    /// Whole messages that are not what most are, and must not be slow for that.
    pub rare: Vec<Sample>,
    /// Messages in pieces of whole blocks, each of which comes when nothing can be done with those before.
    pub pieces: Vec<Sample>,
    /// The same in a few pieces that end within blocks.
    pub half_blocks: Vec<Sample>,
    /// The same in pieces that end anywhere.
    pub any_length: Vec<Sample>,
}

/// The control automaton of a network along as many samples as there is room for, no larger than code is generated for.
///
/// # Errors
///
/// Why there is no automaton along whole messages; `Ok(None)`: nothing of it that has room is worth it.
pub fn search(network: &headrace_ir::Network, samples: &Samples) -> Result<Option<Automaton>, NotFused> {
    let along = |all: &[Sample], apart: &[&[Sample]], partly: bool| {
        let n_uncut = samples.n_uncut.min(all.len());
        let Samples { rare, pieces, .. } = samples;
        automaton_along(network, &Followed { samples: all, n_uncut, rare, pieces, apart, partly }, &Limits::default())
    };
    let all_pieces = [&samples.half_blocks[..], &samples.any_length[..]];
    let automaton = match along(&samples.usual, &all_pieces, false) {
        // Every length is worth its states where there is room for all of them. The usual ones come first: what has no room
        // with those has none with more, and searching for that takes longest.
        Ok(usual) if samples.thorough != samples.usual && fits(&usual) => {
            along(&samples.thorough, &all_pieces, false).ok().filter(fits).unwrap_or(usual)
        }
        Ok(usual) => usual,
        // Where pieces lead through too much, whole messages are still fast, and some pieces if there is room for them.
        Err(_) => along(&samples.usual, &all_pieces[..1], false)
            .or_else(|_| along(&samples.usual, &[], false))
            .or_else(|_| along(&samples.usual, &[], true))?,
    };
    Ok(if fits(&automaton) { Some(automaton) } else { automaton.typical(TYPICAL_STATES, MOST_EFFECTS) })
}

/// Whether code is generated for all of an automaton, unless it turns out too long.
fn fits(automaton: &Automaton) -> bool {
    automaton.states.len() <= MOST_STATES && automaton.n_effects() <= MOST_EFFECTS
}

/// What is generated for as many states of an automaton as make it no larger than `most`, which is in the unit of the sizes
/// that `generate` gives beside what it makes; `None`: nothing worth it is that small. States that few samples come
/// through are left out first.
///
/// # Errors
///
/// Those of `generate`.
pub fn within<T, E>(
    automaton: &Automaton,
    most: usize,
    mut generate: impl FnMut(&Automaton) -> Result<(T, usize), E>,
) -> Result<Option<T>, E> {
    let mut fewer: Option<Automaton> = None;
    for _ in 0..ATTEMPTS {
        let now = fewer.as_ref().unwrap_or(automaton);
        let (made, size) = generate(now)?;
        if size <= most {
            return Ok(Some(made));
        }
        // A little fewer than in proportion, because the rest stays as it is.
        let n_states = now.states.len() as u128 * most as u128 * 9 / (size as u128 * 10);
        let Some(next) = now.clone().typical(n_states as usize, MOST_EFFECTS) else { break };
        fewer = Some(next);
    }
    Ok(None)
}
