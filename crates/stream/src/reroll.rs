//! Loop rerolling: rounds that stand one after the other in a record's code become an inner loop, with what comes before and after.
//!
//! Rounds are found from repetition: a stretch of operations that are the same so many operations further on, and whose operands lie
//! in the same round, in the one or two before, or are the same in all. What no record changes but each round has another of
//! (subkeys) lies in the scratchpad, where a counter of rounds points to it. Microcode has a round once then; for that, each round
//! waits until the one before has ended. This is how programs are written by hand, and what kernels of loops over rounds are
//! compared with; overlapped kernels, which are faster, have rounds one after the other.

use crate::choose::Way;
use crate::kernel::{self, Kernel, Scheduling};
use crate::legalize::NoForm;
use crate::machine::Machine;
use crate::place::Placed;
use crate::simulate::{self, Data, Fault, Outcome};
use crate::words::{Binary, Carried, First, Why, WordCode, WordId, WordOp};
use headrace_kernel::Loop;
use rustc_hash::FxHashMap;

/// Rounds at least.
const LEAST_ROUNDS: usize = 4;

/// Rounds before that a round reads at most.
const MOST_BACK: usize = 2;

/// Stretches that are looked at.
const MOST_STRETCHES: usize = 24;

/// A kernel whose rounds are an inner loop. Its phases run one after the other for each record of a cluster.
#[derive(Clone, Debug)]
pub struct Rolled {
    /// What comes before the rounds.
    pub before: Kernel,
    /// A round; its iterations are rounds.
    pub round: Kernel,
    /// How many rounds there are.
    pub rounds: usize,
    /// What comes after them.
    pub after: Kernel,
    /// Where what the phase behind the rounds is given comes from.
    given: Vec<Source>,
}

/// Where a value comes from that a phase is given: a position in what the phase before the rounds, or a round, hands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Before(usize),
    Round(usize),
}

impl Rolled {
    /// Cycles of a record of a cluster: one phase after the other.
    pub fn interval(&self) -> usize {
        self.before.schedule.ii + self.rounds * self.round.schedule.ii + self.after.schedule.ii
    }

    /// Instructions in microcode.
    pub fn microcode_words(&self) -> usize {
        [&self.before, &self.round, &self.after].map(Kernel::microcode_words).into_iter().sum()
    }

    /// Words of register files, where no phase takes those of another.
    pub fn registers(&self) -> usize {
        [&self.before, &self.round, &self.after].map(|phase| phase.registers.words).into_iter().sum()
    }

    /// Runs it, record after record.
    ///
    /// # Errors
    ///
    /// Those of [`simulate::run`].
    pub fn run(&self, machine: &Machine, body: &Loop, data: &Data) -> Result<Outcome, Fault> {
        let clusters = *machine.clusters as usize;
        let code = &self.before.placed.code;
        let mut all = Outcome { streams: vec![Vec::new(); code.outputs.len()], ..Outcome::default() };
        for first in (0..data.records).step_by(clusters) {
            let records = clusters.min(data.records - first);
            let of_records = |(words, stream): (&Vec<u32>, &crate::words::Stream)| {
                let n = stream.words as usize;
                words[(first * n).min(words.len())..((first + records) * n).min(words.len())].to_vec()
            };
            let own = Data {
                streams: data.streams.iter().zip(&code.inputs).map(of_records).collect(),
                records,
                objects: data.objects.clone(),
                given: Vec::new(),
            };
            let before = simulate::run(&self.before, machine, body, &own, false)?;
            let rounds = Data { records: self.rounds * clusters, given: before.carried.clone(), ..own.clone() };
            let round = simulate::run(&self.round, machine, body, &rounds, false)?;
            let given = self.given.iter().map(|source| match *source {
                Source::Before(at) => before.carried[at].clone(),
                Source::Round(at) => round.carried[at].clone(),
            });
            let after = simulate::run(&self.after, machine, body, &Data { given: given.collect(), ..own }, false)?;
            for (stream, words) in after.streams.iter().enumerate() {
                all.streams[stream].extend(words);
            }
            for phase in [before, round, after] {
                all.operations += phase.operations;
                all.register_words += phase.register_words;
            }
            all.cycles += self.interval() as u64;
        }
        Ok(all)
    }
}

/// The best of the first of some ways whose rounds become a loop; `None`: there are none.
pub fn rolled_of<'a>(ways: &'a [Way], machine: &Machine) -> Option<(Rolled, &'a Way)> {
    let pace = |rolled: &Rolled, way: &Way| rolled.interval() as f64 / way.bytes();
    let found = ways.iter().take(MOST_WAYS).filter_map(|way| Some((reroll(&way.placed, machine).ok()??, way)));
    found.min_by(|a, b| pace(&a.0, a.1).total_cmp(&pace(&b.0, b.1)))
}

/// Ways that are looked at.
const MOST_WAYS: usize = 4;

/// A kernel with a loop over rounds; `None` where no rounds are found.
///
/// # Errors
///
/// Why phases cannot be compiled.
pub fn reroll(placed: &Placed, machine: &Machine) -> Result<Option<Rolled>, NoForm> {
    let code = &placed.code;
    // What goes from record to record would go through all rounds of it.
    if !code.carried.is_empty() {
        return Ok(None);
    }
    let invariants = code.invariants();
    let order: Vec<WordId> = code.needed().into_iter().filter(|id| !invariants[id.index()]).collect();
    let mut why = None;
    let room = machine.scratchpad_words().saturating_sub(placed.scratchpad_words) as usize;
    let stretches = stretches(code, &order, &invariants);
    // Two halves that change places are one round, and nothing is only passed on, where that can be.
    for (most_back, stretch) in (1..=MOST_BACK).flat_map(|back| stretches.iter().map(move |one| (back, *one))) {
        let Some(phases) = Phases::of(placed, &order, &invariants, stretch, (room, most_back)) else { continue };
        match phases.compile(machine, stretch.rounds) {
            Ok(rolled) => return Ok(Some(rolled)),
            Err(reason) => why = Some(reason),
        }
    }
    why.map_or(Ok(None), Err)
}

/// Rounds in an order of operations: where the first begins, operations of each, how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: usize,
    period: usize,
    rounds: usize,
}

/// Stretches of equal operations, the one with the most operations first, and of these the one with the shortest rounds.
fn stretches(code: &WordCode, order: &[WordId], invariants: &[bool]) -> Vec<Stretch> {
    // Operations are equal when they differ in operands only.
    let mut shapes: FxHashMap<(WordOp, Vec<bool>), u32> = FxHashMap::default();
    let none = WordId(0);
    let mut shape_of = |id: &WordId| {
        let op = code.op(*id);
        let mut varies: Vec<bool> = op.operands().iter().map(|operand| invariants[operand.index()]).collect();
        if commutes(op) {
            varies.sort_unstable();
        }
        let n = shapes.len() as u32;
        match op {
            WordOp::Read { .. } => None,
            _ => Some(*shapes.entry((op.with(&mut |_| none), varies)).or_insert(n)),
        }
    };
    let shapes: Vec<Option<u32>> = order.iter().map(&mut shape_of).collect();
    let mut found = Vec::new();
    for period in 1..=order.len() / LEAST_ROUNDS {
        let mut length = 0;
        for at in 0..=order.len() - period {
            let is_equal = at + period < order.len() && shapes[at].is_some() && shapes[at] == shapes[at + period];
            if is_equal {
                length += 1;
                continue;
            }
            let rounds = length / period + 1;
            if rounds >= LEAST_ROUNDS {
                let first = at - length;
                // What is equal beyond whole rounds leaves a choice where they begin.
                let spare = length + period - rounds * period;
                found.extend((0..=spare).map(|more| Stretch { first: first + more, period, rounds }));
                // One round less, where the first or the last is a different one by its operands.
                if rounds > LEAST_ROUNDS {
                    found.extend((0..=spare + period).map(|more| Stretch {
                        first: first + more,
                        period,
                        rounds: rounds - 1,
                    }));
                }
            }
            length = 0;
        }
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.period * one.rounds), one.period, one.first));
    // All beginnings of the same rounds, of a few lengths of these.
    let mut lengths: Vec<(usize, usize)> = Vec::new();
    found.retain(|one| {
        let length = (one.period, one.rounds);
        if !lengths.contains(&length) {
            lengths.push(length);
        }
        lengths.len() <= MOST_STRETCHES
    });
    found
}

/// Where an operand of a round comes from, the same in all of them.
enum From {
    /// From an operation of the same round.
    Own(usize),
    /// From an operation of rounds before, and so many.
    Back(usize, usize),
    /// What comes before the rounds.
    Before(WordId),
    /// What no record changes.
    Same(WordId),
    /// The same, another in each round.
    Other(Vec<WordId>),
}

/// The code of a phase while it is made.
struct Phase<'a> {
    from: &'a WordCode,
    code: WordCode,
    new: FxHashMap<WordId, WordId>,
}

impl<'a> Phase<'a> {
    fn new(from: &'a WordCode) -> Self {
        Phase { from, code: from.without_words(), new: FxHashMap::default() }
    }

    /// An operation as it is, after all that it reads and that is not there yet.
    fn copy(&mut self, id: WordId) -> WordId {
        if let Some(&known) = self.new.get(&id) {
            return known;
        }
        for operand in self.from.op(id).operands() {
            self.copy(operand);
        }
        let op = self.from.op(id).with(&mut |operand| self.new[&operand]);
        let made = self.code.add(op);
        self.new.insert(id, made);
        made
    }

    /// Hands a value on to what comes behind.
    fn hand_on(&mut self, value: WordId) -> usize {
        let found = self.code.carried.iter().position(|one| one.next == value);
        found.unwrap_or_else(|| {
            self.code.carried.push(Carried { first: First::Nothing, next: value, why: Why::Chain });
            self.code.carried.len() - 1
        })
    }
}

struct Phases {
    before: Placed,
    round: Placed,
    after: Placed,
    /// Words of the scratchpad in rounds: where, which word of the round's code.
    table: Vec<(u32, WordId)>,
    given: Vec<Source>,
}

impl Phases {
    /// The phases of a stretch, if its operands are those of rounds.
    fn of(
        placed: &Placed,
        order: &[WordId],
        invariants: &[bool],
        stretch: Stretch,
        (room, most_back): (usize, usize),
    ) -> Option<Phases> {
        let code = &placed.code;
        let Stretch { first, period, rounds } = stretch;
        let end = first + period * rounds;
        let places: FxHashMap<WordId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
        let all = operands_of_rounds(code, order, invariants, &places, stretch);
        let mut operands: Vec<Vec<From>> = Vec::with_capacity(period);
        for rounds in &all {
            let each =
                (0..rounds[0].len()).map(|number| from(rounds, number, invariants, &places, (stretch, most_back)));
            operands.push(each.collect::<Option<Vec<From>>>()?);
        }
        // Before the rounds: what they and what comes behind need of it.
        let mut before = Phase::new(code);
        let mut round = Phase::new(code);
        let mut after = Phase::new(code);
        let mut table = Vec::new();
        // Values of rounds before: of which operation, how many rounds, what it is in the first.
        let mut carried: FxHashMap<(usize, usize, Vec<WordId>), u32> = FxHashMap::default();
        let mut own: Vec<WordId> = Vec::with_capacity(period);
        // Carried words whose operation comes later.
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut others: FxHashMap<Vec<WordId>, WordId> = FxHashMap::default();
        let mut counter = None;
        for (at, operands) in operands.iter().enumerate() {
            let mut new = Vec::with_capacity(operands.len());
            for (number, operand) in operands.iter().enumerate() {
                new.push(match operand {
                    From::Own(other) => own[*other],
                    From::Same(id) => round.copy(*id),
                    From::Before(id) => {
                        let value = before.copy(*id);
                        let given = before.hand_on(value);
                        round.code.add(WordOp::Given(given as u32))
                    }
                    From::Back(other, back) => {
                        let firsts: Vec<WordId> = all[at][..*back].iter().map(|of_round| of_round[number]).collect();
                        // Of the round before, then of the one before that.
                        let mut last = None;
                        for distance in 1..=*back {
                            let its = firsts[*back - distance..].to_vec();
                            let known = carried.get(&(*other, distance, its.clone())).copied();
                            let carried_at = known.unwrap_or_else(|| {
                                let value = before.copy(its[0]);
                                let given = before.hand_on(value);
                                let next = match last {
                                    None => {
                                        open.push((round.code.carried.len(), *other));
                                        WordId(0)
                                    }
                                    // A copy, or it would be gone.
                                    Some(nearer) => {
                                        let nearer = round.code.add(WordOp::Carried(nearer));
                                        let zero = round.code.number(0);
                                        round.code.add(WordOp::Binary(Binary::Or, nearer, zero))
                                    }
                                };
                                let first = First::Given(given as u32);
                                round.code.carried.push(Carried { first, next, why: Why::Chain });
                                let made = round.code.carried.len() as u32 - 1;
                                carried.insert((*other, distance, its), made);
                                made
                            });
                            last = Some(carried_at);
                        }
                        round.code.add(WordOp::Carried(last?))
                    }
                    From::Other(all) => match others.get(all) {
                        Some(&known) => known,
                        None => {
                            let count = *counter.get_or_insert_with(|| {
                                let made = round.code.carried.len();
                                round.code.carried.push(Carried {
                                    first: First::Nothing,
                                    next: WordId(0),
                                    why: Why::Counts,
                                });
                                let count = round.code.add(WordOp::Carried(made as u32));
                                round.code.carried[made].next = round.code.binary_with(Binary::Add, count, 1);
                                count
                            });
                            let base = placed.scratchpad_words + table.len() as u32;
                            for (word, &id) in all.iter().enumerate() {
                                table.push((base + word as u32, round.copy(id)));
                            }
                            let read = round.code.add(WordOp::Scratchpad { base, index: Some(count) });
                            others.insert(all.clone(), read);
                            read
                        }
                    },
                });
            }
            if table.len() > room {
                return None;
            }
            let mut new = new.into_iter();
            let op = code.op(order[first + at]).with(&mut |_| new.next().unwrap_or(WordId(0)));
            own.push(round.code.add(op));
        }
        for (at, operation) in open {
            round.code.carried[at].next = own[operation];
        }
        // Behind the rounds.
        let mut given = Vec::new();
        let mut sources: FxHashMap<WordId, WordId> = FxHashMap::default();
        let mut needs: Vec<WordId> = order[end..].iter().flat_map(|id| code.op(*id).operands()).collect();
        needs.extend(code.writes.iter().map(|write| write.2));
        for id in needs {
            let Some(&place) = places.get(&id).filter(|place| **place < end) else { continue };
            if sources.contains_key(&id) {
                continue;
            }
            // Reads may as well come when they are needed.
            if place < first && matches!(code.op(id), WordOp::Read { .. }) {
                continue;
            }
            let source = if place < first {
                let value = before.copy(id);
                Source::Before(before.hand_on(value))
            } else {
                let (in_round, at) = ((place - first) / period, (place - first) % period);
                let back = rounds - 1 - in_round;
                let value = match back {
                    0 => own[at],
                    // What rounds hand on to the one after the next is there.
                    back => {
                        let mut known = carried.iter();
                        let (_, known) = known.find(|((of, distance, _), _)| (*of, *distance) == (at, back + 1))?;
                        round.code.carried[*known as usize].next
                    }
                };
                Source::Round(round.hand_on(value))
            };
            let word = after.code.add(WordOp::Given(given.len() as u32));
            given.push(source);
            after.new.insert(id, word);
            sources.insert(id, word);
        }
        for &id in &order[end..] {
            after.copy(id);
        }
        after.code.writes = code.writes.iter().map(|&(stream, word, id)| (stream, word, after.copy(id))).collect();
        let with = |code: WordCode, more: usize| Placed {
            code,
            scratchpad_words: placed.scratchpad_words + more as u32,
            ..placed.clone()
        };
        let n = table.len();
        Some(Phases {
            before: with(before.code, n),
            round: with(round.code, n),
            after: with(after.code, n),
            table,
            given,
        })
    }

    fn compile(self, machine: &Machine, rounds: usize) -> Result<Rolled, NoForm> {
        let before = kernel::compile(&self.before, machine, Scheduling::List)?;
        let mut round = kernel::compile(&self.round, machine, Scheduling::List)?;
        let after = kernel::compile(&self.after, machine, Scheduling::List)?;
        round.spilled.extend(self.table);
        let rolled = Rolled { before, round, rounds, after, given: self.given };
        if let Some(most) = &machine.microcode_words
            && rolled.microcode_words() > most.value
        {
            let (words, most) = (rolled.microcode_words(), most.value);
            return Err(NoForm::new(format!("it takes {words} words of microcode, of which there are {most}")));
        }
        Ok(rolled)
    }
}

fn commutes(op: &WordOp) -> bool {
    matches!(op, WordOp::Binary(op, ..) if op.commutes())
}

/// The operands of each operation of a round in each round. Those that may change places stand in the same order in all rounds.
fn operands_of_rounds(
    code: &WordCode,
    order: &[WordId],
    invariants: &[bool],
    places: &FxHashMap<WordId, usize>,
    stretch: Stretch,
) -> Vec<Vec<Vec<WordId>>> {
    let Stretch { first, period, rounds } = stretch;
    let of = |own: usize, round: usize| {
        let op = code.op(order[first + round * period + own]);
        let mut operands = op.operands();
        if commutes(op) {
            let place = |id: &WordId| places.get(id).map_or(0, |&place| place as i64 - (round * period) as i64);
            operands.sort_by_key(|id| (invariants[id.index()], place(id)));
        }
        operands
    };
    let mut all: Vec<Vec<Vec<WordId>>> =
        (0..period).map(|own| (0..rounds).map(|round| of(own, round)).collect()).collect();
    // Of two from the round before, where they come from says nothing of which is which in the first round: another operation that
    // reads one of them does.
    let back = |id: WordId| {
        let place = places.get(&id).copied().filter(|place| (first..first + period).contains(place));
        place.map(|place| place - first)
    };
    let is_before = |id: WordId| places.get(&id).is_some_and(|place| *place < first);
    let is_open = |own: usize, of_rounds: &[Vec<WordId>]| {
        commutes(code.op(order[first + own]))
            && of_rounds[0].iter().all(|id| is_before(*id))
            && of_rounds[0].len() == 2
            && of_rounds[0][0] != of_rounds[0][1]
    };
    let mut known: FxHashMap<usize, WordId> = FxHashMap::default();
    for (own, of_rounds) in all.iter().enumerate() {
        if is_open(own, of_rounds) {
            continue;
        }
        for (number, id) in of_rounds[1].iter().enumerate() {
            if let Some(of) = back(*id).filter(|_| is_before(of_rounds[0][number])) {
                known.entry(of).or_insert(of_rounds[0][number]);
            }
        }
    }
    for (own, of_rounds) in all.iter_mut().enumerate() {
        if !is_open(own, of_rounds) {
            continue;
        }
        let is_other = (0..2).any(|number| {
            let of = back(of_rounds[1][number]);
            of.is_some_and(|of| known.get(&of) == Some(&of_rounds[0][1 - number]))
        });
        if is_other {
            of_rounds[0].swap(0, 1);
        }
    }
    all
}

/// Where an operand of an operation comes from, the operands of which in all rounds are given; `None`: it is not the same.
fn from(
    all: &[Vec<WordId>],
    number: usize,
    invariants: &[bool],
    places: &FxHashMap<WordId, usize>,
    (stretch, most_back): (Stretch, usize),
) -> Option<From> {
    let Stretch { first, period, rounds } = stretch;
    let ids: Vec<WordId> = all.iter().map(|operands| operands[number]).collect();
    if ids.iter().all(|id| invariants[id.index()]) {
        return Some(if ids.iter().all(|id| *id == ids[0]) { From::Same(ids[0]) } else { From::Other(ids) });
    }
    // The last round has all others before it.
    let last = *places.get(&ids[rounds - 1])?;
    if last < first {
        return ids.iter().all(|id| *id == ids[0]).then_some(From::Before(ids[0]));
    }
    let (in_round, of) = ((last - first) / period, (last - first) % period);
    let back = (rounds - 1).checked_sub(in_round).filter(|back| *back <= most_back)?;
    let is_same = (back..rounds).all(|round| places.get(&ids[round]) == Some(&(first + (round - back) * period + of)));
    let is_before = ids[..back].iter().all(|id| places.get(id).is_some_and(|place| *place < first));
    (is_same && is_before).then_some(if back == 0 { From::Own(of) } else { From::Back(of, back) })
}
