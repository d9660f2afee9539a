//! Placement: a column and a row for each processor, by simulated annealing.
//!
//! What is made small is the sum over all links of their words times the tiles between their ends (Kirkpatrick, Gelatt and
//! Vecchi 1983): a grid of some hundred places has too many placements to try, the cost is cheap to change, and a good one is
//! enough. The same seed gives the same placement.

use crate::design::Design;
use crate::machine::Machine;
use crate::program::Links;

/// Swaps that are tried for each processor.
const TRIES: usize = 4000;

/// Column and row of each processor; those that the mapping says stay where they are.
///
/// # Errors
///
/// There are fewer places than processors.
pub fn place(design: &Design, machine: &Machine, links: &Links, seed: u64) -> Result<Vec<[u32; 2]>, String> {
    let (columns, rows) = (*machine.grid.columns, *machine.grid.rows);
    let n = design.cores.len();
    let n_places = (columns * rows) as usize;
    if n > n_places {
        return Err(format!("{n} processors do not fit {columns} columns and {rows} rows"));
    }
    let at = |place: usize| [place as u32 % columns, place as u32 / columns];
    // Who is at each place, and where each is.
    let mut who: Vec<Option<usize>> = vec![None; n_places];
    let mut where_is: Vec<usize> = vec![usize::MAX; n];
    for (core, place) in design.cores.iter().map(|core| core.place).enumerate() {
        if let Some([x, y]) = place {
            let place = (y * columns + x) as usize;
            (who[place], where_is[core]) = (Some(core), place);
        }
    }
    // The others along a snake through the grid, in the order in which words reach them.
    let snake = (0..rows)
        .flat_map(|y| (0..columns).map(move |x| (y * columns + if y % 2 == 0 { x } else { columns - 1 - x }) as usize));
    let mut free = snake.filter(|place| who[*place].is_none()).collect::<Vec<_>>().into_iter();
    for core in in_order(design, links) {
        if where_is[core] == usize::MAX
            && let Some(place) = free.next()
        {
            (who[place], where_is[core]) = (Some(core), place);
        }
    }
    let mut by_core: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
    for (channel, words) in links.channels.iter().zip(&links.words) {
        if let Some(from) = channel.from {
            let weight = words.len() as f64;
            by_core[from].push((channel.to, weight));
            by_core[channel.to].push((from, weight));
        }
    }
    let distance = |a: usize, b: usize| {
        let (a, b) = (at(a), at(b));
        f64::from(a[0].abs_diff(b[0]) + a[1].abs_diff(b[1]))
    };
    let cost = |core: usize, where_is: &[usize]| -> f64 {
        by_core[core].iter().map(|&(other, weight)| weight * distance(where_is[core], where_is[other])).sum()
    };
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    };
    let movable: Vec<usize> = (0..n).filter(|&core| design.cores[core].place.is_none()).collect();
    let n_tries = TRIES * movable.len().min(200);
    let hot = 40.0;
    for step in 0..n_tries {
        let heat = hot * (1.0 - step as f64 / n_tries as f64).powi(3) + 0.01;
        let core = movable[next() as usize % movable.len()];
        // Near where it belongs: beside one of those that it talks to, or anywhere.
        let to = match by_core[core].len() {
            len if len > 0 && next() % 4 > 0 => {
                let other = at(where_is[by_core[core][next() as usize % len].0]);
                let step =
                    |it: u32, most: u32, by: u64| (i64::from(it) + by as i64 - 1).clamp(0, i64::from(most) - 1) as u32;
                (step(other[1], rows, next() % 3) * columns + step(other[0], columns, next() % 3)) as usize
            }
            _ => next() as usize % n_places,
        };
        let from = where_is[core];
        let other = who[to];
        if to == from || other.is_some_and(|other| design.cores[other].place.is_some()) {
            continue;
        }
        let both = |where_is: &[usize]| cost(core, where_is) + other.map_or(0.0, |other| cost(other, where_is));
        let before = both(&where_is);
        where_is[core] = to;
        if let Some(other) = other {
            where_is[other] = from;
        }
        let worse = both(&where_is) - before;
        let keep = worse <= 0.0 || ((next() % (1 << 30)) as f64 / f64::from(1 << 30)) < (-worse / heat).exp();
        if keep {
            (who[to], who[from]) = (Some(core), other);
        } else {
            where_is[core] = from;
            if let Some(other) = other {
                where_is[other] = to;
            }
        }
    }
    Ok(where_is.into_iter().map(at).collect())
}

/// Processors in the order in which words from outside reach them.
fn in_order(design: &Design, links: &Links) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut seen = vec![false; design.cores.len()];
    let starts = links.channels.iter().filter(|channel| channel.from.is_none()).map(|channel| channel.to);
    let mut queue: std::collections::VecDeque<usize> = starts.chain(0..design.cores.len()).collect();
    while let Some(core) = queue.pop_front() {
        if !std::mem::replace(&mut seen[core], true) {
            order.push(core);
            for channel in links.channels.iter().filter(|channel| channel.from == Some(core)).rev() {
                queue.push_front(channel.to);
            }
        }
    }
    order
}
