//! Strength reduction of choices by the cycle: values that are chosen among many lie in registers that turn, so that each is where
//! it is needed in its cycle.
//!
//! A round key that is selected bits of a key is another selection in each round, and choosing each bit by the cycle is a
//! multiplexer as wide as there are rounds. Where it is one arrangement of the bits of the round before, as where halves of the key
//! are rotated, the bits move instead: there is a register for each value, and between two cycles all of them move by one of a few
//! permutations. These are found from what is needed in which cycle: a value is followed by the one that the same place needs next;
//! where that leaves open what follows a value, it is what lets permutations commute, for only then registers can stay wired to
//! each other.

use headrace_kernel::{Graph, NodeId};
use rustc_hash::FxHashMap;

/// Ways to turn, at most.
const MOST_TURNS: usize = 3;

/// Values that a place needs, at least, for its choice to be worth a look.
const LEAST: usize = 3;

/// The values that a place needs, cycle after cycle.
pub(crate) type Stream = Vec<(u32, NodeId)>;

/// Registers of one width that turn.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    /// What each of them holds in cycle 1.
    pub(crate) first: Vec<NodeId>,
    /// For each way to turn, the register that each one takes from.
    pub(crate) turns: Vec<Vec<usize>>,
    /// How they turn at the end of which cycle.
    pub(crate) steps: Vec<(u32, usize)>,
}

/// The rings of a plan, and which register of them a place looks at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rings {
    pub(crate) all: Vec<Ring>,
    places: FxHashMap<Stream, (usize, usize)>,
}

/// A permutation as far as it is known, with its inverse.
#[derive(Clone, Default)]
struct Partial {
    next: FxHashMap<usize, usize>,
    before: FxHashMap<usize, usize>,
}

impl Partial {
    /// Whether this is no contradiction.
    fn admits(&self, from: usize, to: usize) -> bool {
        self.next.get(&from).is_none_or(|known| *known == to) && self.before.get(&to).is_none_or(|known| *known == from)
    }

    /// Whether it was news.
    fn set(&mut self, from: usize, to: usize) -> bool {
        self.before.insert(to, from);
        self.next.insert(from, to).is_none()
    }
}

impl Ring {
    /// LUTs that move them, roughly: one a bit for each way, the load with the first.
    pub(crate) fn area(&self, graph: &Graph) -> u64 {
        self.first.len() as u64 * u64::from(graph.width(self.first[0])) * self.turns.len() as u64
    }

    /// The ring for these streams, with the register of each, where there is one.
    fn of(streams: &[&Stream]) -> Option<(Ring, Vec<usize>)> {
        let mut number: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut values: Vec<NodeId> = Vec::new();
        for &(_, id) in streams.iter().copied().flatten() {
            number.entry(id).or_insert_with(|| {
                values.push(id);
                values.len() - 1
            });
        }
        let from = streams.iter().map(|stream| stream[0].0).min()?;
        let to = streams.iter().map(|stream| stream[0].0 + stream.len() as u32 - 1).max()?;
        let at = |stream: &Stream, time: u32| -> Option<usize> {
            let index = time.checked_sub(stream[0].0)? as usize;
            stream.get(index).map(|one| number[&one.1])
        };
        let mut turns: Vec<Partial> = Vec::new();
        let mut steps = Vec::new();
        for time in from..to {
            let mut own = Partial::default();
            for stream in streams {
                let (Some(x), Some(y)) = (at(stream, time), at(stream, time + 1)) else { continue };
                if !own.admits(x, y) {
                    return None;
                }
                own.set(x, y);
            }
            let alike = |turn: &Partial| own.next.iter().filter(|(x, y)| turn.next.get(x) == Some(y)).count();
            let fits = |turn: &Partial| own.next.iter().all(|(x, y)| turn.admits(*x, *y));
            let found = (0..turns.len()).filter(|&turn| fits(&turns[turn])).max_by_key(|&turn| alike(&turns[turn]));
            let turn = found.unwrap_or(turns.len());
            if turn == turns.len() {
                turns.push(Partial::default());
            }
            own.next.iter().for_each(|(x, y)| _ = turns[turn].set(*x, *y));
            steps.push((time, turn));
            if turns.len() > MOST_TURNS {
                return None;
            }
        }
        complete(&mut turns, values.len());
        let n = values.len();
        let turns: Vec<Vec<usize>> =
            turns.iter().map(|turn| (0..n).map(|at| turn.next.get(&at).copied()).collect()).collect::<Option<_>>()?;
        // What was followed is what is needed.
        let mut held: Vec<usize> = (0..n).collect();
        let mut places: Vec<Option<usize>> = vec![None; streams.len()];
        for time in from..=to {
            for (place, stream) in places.iter_mut().zip(streams) {
                let Some(wanted) = at(stream, time) else { continue };
                let register = *place.get_or_insert(held.iter().position(|&value| value == wanted)?);
                if held[register] != wanted {
                    return None;
                }
            }
            if let Some((_, turn)) = steps.get((time - from) as usize) {
                held = (0..n).map(|register| held[turns[*turn][register]]).collect();
            }
        }
        // Before the first cycle in which one of them is needed they turn in one way.
        let mut first = vec![0; n];
        for register in 0..n {
            let source = (1..from).fold(register, |at, _| turns[0][at]);
            first[source] = register;
        }
        let steps = (1..from).map(|time| (time, 0)).chain(steps).collect();
        let first = first.into_iter().map(|value| values[value]).collect();
        Some((Ring { first, turns, steps }, places.into_iter().collect::<Option<_>>()?))
    }
}

/// Completes permutations of so many values: one alone by leading each end back to its beginning, several so that they commute.
fn complete(turns: &mut [Partial], n: usize) {
    if let [turn] = turns {
        for end in 0..n {
            if !turn.next.contains_key(&end) {
                let mut at = end;
                while let Some(&before) = turn.before.get(&at) {
                    at = before;
                }
                turn.set(end, at);
            }
        }
        return;
    }
    let mut is_news = true;
    while is_news {
        is_news = false;
        for a in 0..turns.len() {
            for b in (0..turns.len()).filter(|&b| b != a) {
                for x in 0..n {
                    // From x to y by one, to z by the other: what follows z by the one is what follows y by the other.
                    let (Some(&y), Some(&z)) = (turns[a].next.get(&x), turns[b].next.get(&x)) else { continue };
                    if let Some(&end) = turns[b].next.get(&y)
                        && !turns[a].next.contains_key(&z)
                        && !turns[a].before.contains_key(&end)
                    {
                        is_news |= turns[a].set(z, end);
                    }
                }
            }
        }
    }
}

impl Rings {
    /// The rings that are worth it, for places that need these values; `is_there` says whether a value is there in cycle 0.
    /// `choice` is what it costs to choose among so many bits, in LUTs.
    pub(crate) fn of(
        graph: &Graph,
        mut streams: Vec<Stream>,
        is_there: impl Fn(NodeId) -> bool,
        choice: impl Fn(u64) -> u64,
    ) -> Rings {
        streams.retain(|stream| {
            let is_in_a_row = stream.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0);
            stream.len() >= LEAST && is_in_a_row && stream.iter().all(|&(_, id)| is_there(id))
        });
        streams.sort_unstable();
        streams.dedup();
        let mut rings = Rings::default();
        let mut open: Vec<&Stream> = streams.iter().collect();
        while let Some(&seed) = open.first() {
            let width = graph.width(seed[0].1);
            // What shares values with the first one.
            let mut group: Vec<&Stream> = vec![seed];
            let mut rest: Vec<&Stream> = Vec::new();
            let mut values: rustc_hash::FxHashSet<NodeId> = seed.iter().map(|one| one.1).collect();
            let mut others: Vec<&Stream> = open[1..].to_vec();
            loop {
                let n = group.len();
                for stream in others {
                    if graph.width(stream[0].1) == width && stream.iter().any(|one| values.contains(&one.1)) {
                        values.extend(stream.iter().map(|one| one.1));
                        group.push(stream);
                    } else {
                        rest.push(stream);
                    }
                }
                others = std::mem::take(&mut rest);
                if group.len() == n {
                    break;
                }
            }
            open = others;
            rings.add(graph, group, &choice);
        }
        rings
    }

    /// Adds a ring for these streams, or several, as far as they are worth it.
    fn add(&mut self, graph: &Graph, mut group: Vec<&Stream>, choice: &impl Fn(u64) -> u64) {
        while !group.is_empty() {
            let mut left: Vec<&Stream> = Vec::new();
            let mut found = Ring::of(&group);
            while found.is_none() {
                let Some(last) = group.pop() else { break };
                left.push(last);
                // Halves, while nothing fits together.
                while group.len() > 2 && left.len() < group.len() {
                    left.extend(group.pop());
                }
                found = Ring::of(&group);
            }
            let Some((ring, places)) = found else { return };
            let chosen: u64 =
                group.iter().map(|stream| choice(stream.len() as u64 * u64::from(graph.width(stream[0].1)))).sum();
            if ring.area(graph) < chosen {
                let number = self.all.len();
                self.all.push(ring);
                self.places.extend(group.into_iter().cloned().zip(places.into_iter().map(|place| (number, place))));
            }
            group = left;
        }
    }

    /// The ring and the register that a place looks at.
    pub(crate) fn place(&self, stream: &Stream) -> Option<(usize, usize)> {
        self.places.get(stream).copied()
    }
}
