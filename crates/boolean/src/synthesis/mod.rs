//! Logic synthesis. Circuits for any table, and smaller circuits from larger ones.

pub mod decision_diagram;
mod net;
pub mod normal_form;
pub mod recursive_selection;
pub mod resubstitution;

use crate::basis::Basis;
use crate::circuit::Circuit;
use crate::circuit::lookup_tables::cover;
use crate::truth_table::Table;
use recursive_selection::Selection;
use resubstitution::{Walk, shrink};

/// The cheapest circuit for a table that a search finds which begins with nothing but the table. `steps` bounds the walks at
/// the end of it; the answer depends on nothing but the arguments.
///
/// Circuits come from the decision diagram, the normal form and, up to six inputs, from recursive selection with as many
/// seeds as the steps allow. All walk a little; the better half goes on, until one is left.
pub fn synthesise(table: &Table, basis: &Basis, steps: u64) -> Circuit {
    let mut starts: Vec<Circuit> = vec![decision_diagram::decide(table)];
    starts.extend(normal_form::expand(table));
    let n_selections = match table.n_inputs() {
        0..=4 => (2 + steps / 500).min(60),
        5..=6 => (steps / 300).min(60),
        _ => 0,
    };
    for seed in 0..n_selections {
        let options = Selection { n_branches: 1 + (seed % 3) as usize / 2, n_pairs: 4 + (seed % 4 * 8) as usize, seed };
        starts.push(recursive_selection::select(table, basis, options));
    }
    let mut field: Vec<Circuit> = starts.iter().map(|c| cover(c, basis, 2)).collect();
    let n_rounds = u64::from(field.len().ilog2() + 1);
    for round in 0..n_rounds {
        let share = steps / n_rounds / field.len() as u64;
        for c in &mut field {
            *c = shrink(c, basis, Walk { steps: share, seed: round, slack: 1 });
        }
        field.sort_by_key(|c| basis.cost(c));
        field.truncate(field.len().div_ceil(2));
    }
    field.into_iter().next().unwrap_or_else(|| decision_diagram::decide(table))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    #[test]
    fn more_steps_give_circuits_that_are_not_larger_by_much_and_right() {
        for name in ["serpent_s0", "chi5", "gf16_inverse"] {
            let table = &known::all().iter().find(|k| k.name == name).expect("a known function").table;
            let few = synthesise(table, &Basis::THREE_INPUT, 0);
            let many = synthesise(table, &Basis::THREE_INPUT, 3000);
            assert_eq!(few.prove(table), Ok(()));
            assert_eq!(many.prove(table), Ok(()));
            assert!(many.counts().total() <= few.counts().total(), "{name}");
            assert!(many.counts().total() <= 9, "{name}: {}", many.counts().total());
        }
    }

    #[test]
    fn the_answer_is_the_same_each_time() {
        let table = &known::all().iter().find(|k| k.name == "whirlpool_r").expect("a known function").table;
        let run = || synthesise(table, &Basis::TWO_INPUT, 500);
        assert_eq!(run(), run());
    }
}
