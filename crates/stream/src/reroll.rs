//! Loop rerolling: rounds that stand one after the other in a record's code become an inner loop, with what comes before and after.
//!
//! Rounds are found from repetition: a stretch of operations that are the same so many operations further on, and whose operands lie
//! in the same round, in the one or two before, or are the same in all. What no record changes but each round has another of
//! (subkeys) lies in the scratchpad, where a counter of rounds points to it. Microcode has a round once then; for that, each round
//! waits until the one before has ended, and each record until all that the one before hands on is there. This is how programs are
//! written by hand, and what is left where microcode has no room for all rounds; overlapped kernels, which are faster, have rounds
//! one after the other.

use crate::choose::Way;
use crate::kernel::{self, Kernel, Scheduling};
use crate::legalize::{NoForm, is_chain};
use crate::machine::Machine;
use crate::place::Placed;
use crate::program::Load;
use crate::simulate::{self, Data, Fault, Outcome};
use crate::words::{Binary, Carried, First, Why, WordCode, WordId, WordOp};
use headrace_kernel::Loop;
use rustc_hash::FxHashMap;

/// Rounds at least.
const LEAST_ROUNDS: usize = 4;

/// Rounds before that a round reads at most, in the order in which it is tried: two halves that change places are one round, and
/// little is only passed on, where that can be; sums over a window of words reach further.
const MOST_BACK: [usize; 3] = [1, 2, 16];

/// Operations of code in which rounds are looked for: the time for it is quadratic.
const LONGEST: usize = 30_000;

/// Stretches whose phases are compiled at most: what one lacks, others lack too.
const MOST_COMPILED: usize = 1;

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
    /// The code that phases were made of.
    pub placed: Placed,
    /// Where what the phase behind the rounds is given comes from.
    given: Vec<Source>,
    /// For each word that records hand on, the position in what the phase behind the rounds does.
    next: Vec<usize>,
}

/// Where a value comes from that a phase is given: a position in what records hand on, or in what the phase before the rounds, or a
/// round, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Record(usize),
    Before(usize),
    Round(usize),
}

impl Rolled {
    /// Cycles of a record of a cluster: one phase after the other.
    pub fn interval(&self) -> usize {
        self.before.schedule.ii + self.rounds * self.round.schedule.ii + self.after.schedule.ii
    }

    /// Its stream program on so many records.
    pub fn load(&self, records: u64) -> Load {
        Load { interval: self.interval() as u64, length: self.interval() as u64, ..Load::of(&self.after, records) }
    }

    /// Instructions in microcode.
    pub fn microcode_words(&self) -> usize {
        [&self.before, &self.round, &self.after].map(Kernel::microcode_words).into_iter().sum()
    }

    /// Words of register files: what stands in them for all phases, and what one phase after the other needs besides.
    pub fn registers(&self) -> usize {
        registers([&self.before, &self.round, &self.after])
    }

    /// Runs it, record after record. Where clusters have channels, records of all channels lie in turns.
    ///
    /// # Errors
    ///
    /// Those of [`simulate::run`].
    pub fn run(&self, machine: &Machine, body: &Loop, data: &Data) -> Result<Outcome, Fault> {
        let clusters = *machine.clusters as usize;
        let code = &self.placed.code;
        let channels = is_chain(body);
        let mut handed_on = simulate::firsts(code, machine, body, data, channels);
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
                given: handed_on.clone(),
            };
            let before = simulate::run(&self.before, machine, body, &own, channels)?;
            let given = [handed_on.clone(), before.carried.clone()].concat();
            let rounds = Data { records: self.rounds * clusters, given, ..own.clone() };
            let round = simulate::run(&self.round, machine, body, &rounds, channels)?;
            let given = self.given.iter().map(|source| match *source {
                Source::Record(at) => handed_on[at].clone(),
                Source::Before(at) => before.carried[at].clone(),
                Source::Round(at) => round.carried[at].clone(),
            });
            let given = given.collect();
            let after = simulate::run(&self.after, machine, body, &Data { given, ..own }, channels)?;
            handed_on = self.next.iter().map(|&at| after.carried[at].clone()).collect();
            for (stream, words) in after.streams.iter().enumerate() {
                all.streams[stream].extend(words);
            }
            for phase in [before, round, after] {
                all.operations += phase.operations;
                all.register_words += phase.register_words;
            }
            all.cycles += self.interval() as u64;
        }
        all.carried = handed_on;
        Ok(all)
    }
}

/// Words of register files that stand in a phase from record to record; what it is given is there for one record.
fn standing(phase: &Kernel) -> usize {
    let is_given = |word: &WordId| matches!(phase.placed.code.op(*word), WordOp::Given(_));
    let words = phase.standing.iter().zip(&phase.registers.standing).filter(|(word, _)| !is_given(word));
    words.map(|(_, files)| files.len()).sum()
}

/// See [`Rolled::registers`].
fn registers<'a>(phases: impl IntoIterator<Item = &'a Kernel> + Clone) -> usize {
    let others = phases.clone().into_iter().map(|phase| phase.registers.words - standing(phase));
    others.max().unwrap_or(0) + phases.into_iter().map(standing).sum::<usize>()
}

fn too_many_registers(words: usize, most: usize) -> NoForm {
    NoForm::new(format!("with rounds as a loop it needs {words} registers in a cluster, of which there are {most}"))
}

/// How often phases are compiled with fewer registers, and registers that remain then.
const ATTEMPTS: usize = 2;
const SPARE: usize = 4;

/// The best of the first of some ways whose rounds become a loop.
///
/// # Errors
///
/// Why there is none: no way has rounds, or their phases cannot be compiled.
pub fn rolled_of<'a>(ways: &'a [Way], machine: &Machine) -> Result<(Rolled, &'a Way), NoForm> {
    let pace = |rolled: &Rolled, way: &Way| rolled.interval() as f64 / way.bytes();
    let mut why = None;
    let mut best: Option<(Rolled, &Way)> = None;
    for way in ways.iter().take(MOST_WAYS) {
        match reroll(&way.placed, machine) {
            Ok(Some(rolled)) => {
                if best.as_ref().is_none_or(|(other, its)| pace(&rolled, way) < pace(other, its)) {
                    best = Some((rolled, way));
                }
            }
            Ok(None) => {}
            // What one way lacks, others lack too.
            Err(reason) => {
                why = Some(reason);
                break;
            }
        }
    }
    best.ok_or_else(|| why.unwrap_or_else(|| NoForm::new("no rounds are found in it that could be a loop")))
}

/// Ways that are looked at.
const MOST_WAYS: usize = 3;

/// A kernel with a loop over rounds; `None` where no rounds are found.
///
/// # Errors
///
/// Why phases cannot be compiled.
pub fn reroll(placed: &Placed, machine: &Machine) -> Result<Option<Rolled>, NoForm> {
    let code = &placed.code;
    let invariants = code.invariants();
    let mut order: Vec<WordId> = code.needed().into_iter().filter(|id| !invariants[id.index()]).collect();
    if order.len() > LONGEST {
        return Err(NoForm::new(format!(
            "rounds are looked for in {LONGEST} operations at most, it has {}",
            order.len()
        )));
    }
    // What records hand on is there before all else.
    order.sort_by_key(|id| !matches!(code.op(*id), WordOp::Carried(_)));
    let mut why = None;
    let mut n_compiled = 0;
    let room = machine.scratchpad_words().saturating_sub(placed.scratchpad_words) as usize;
    let places: FxHashMap<WordId, usize> = order.iter().enumerate().map(|(at, &id)| (id, at)).collect();
    let mut stretches = stretches(code, &order, &invariants);
    stretches.retain(|stretch| ends_alike(code, &order, &invariants, &places, *stretch));
    for (most_back, stretch) in MOST_BACK.into_iter().flat_map(|back| stretches.iter().map(move |one| (back, *one))) {
        let Some(phases) = Phases::of(placed, (&order, &places), &invariants, stretch, (room, most_back)) else {
            continue;
        };
        match phases.compile(placed, machine, stretch.rounds) {
            Ok(rolled) => return Ok(Some(rolled)),
            Err(reason) => why = why.or(Some(reason)),
        }
        n_compiled += 1;
        if n_compiled == MOST_COMPILED {
            break;
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
            WordOp::Read { .. } | WordOp::Carried(_) => None,
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

/// Whether operands of the last round are those of the one before, a round further on: most stretches are no rounds, and this is
/// soon seen.
fn ends_alike(
    code: &WordCode,
    order: &[WordId],
    invariants: &[bool],
    places: &FxHashMap<WordId, usize>,
    stretch: Stretch,
) -> bool {
    let Stretch { first, period, rounds } = stretch;
    let is_next = |last: &WordId, before: &WordId| {
        if invariants[last.index()] || invariants[before.index()] {
            return invariants[last.index()] == invariants[before.index()];
        }
        match (places[last], places[before]) {
            (last_place, _) if last_place < first => last == before,
            (_, before_place) if before_place < first => true,
            (last_place, before_place) => last_place == before_place + period,
        }
    };
    (0..period).all(|own| {
        let [before, last] =
            [rounds - 2, rounds - 1].map(|round| operands_in(code, order, invariants, places, stretch, (own, round)));
        last.iter().zip(&before).all(|(last, before)| is_next(last, before))
    })
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
        let op = match *self.from.op(id) {
            // The record before has handed it on.
            WordOp::Carried(at) => WordOp::Given(at),
            ref op => op.with(&mut |operand| self.new[&operand]),
        };
        let made = self.code.add(op);
        self.new.insert(id, made);
        made
    }

    /// Where the phase of rounds finds a value of the phase before them, or of the record before.
    fn given(&mut self, id: WordId) -> u32 {
        if let WordOp::Carried(at) = *self.from.op(id) {
            return at;
        }
        let value = self.copy(id);
        (self.from.carried.len() + self.hand_on(value)) as u32
    }

    /// Hands a value on to what comes behind.
    fn hand_on(&mut self, value: WordId) -> usize {
        // What the phase is given itself is no result of it: a copy is.
        let value = match self.code.op(value) {
            WordOp::Given(_) => {
                let zero = self.code.number(0);
                self.code.add(WordOp::Binary(Binary::Or, value, zero))
            }
            _ => value,
        };
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
    /// For each word that records hand on, the position in what the last phase does.
    next: Vec<usize>,
}

impl Phases {
    /// The phases of a stretch, if its operands are those of rounds.
    fn of(
        placed: &Placed,
        (order, places): (&[WordId], &FxHashMap<WordId, usize>),
        invariants: &[bool],
        stretch: Stretch,
        (room, most_back): (usize, usize),
    ) -> Option<Phases> {
        let code = &placed.code;
        let Stretch { first, period, rounds } = stretch;
        let end = first + period * rounds;
        let all = operands_of_rounds(code, order, invariants, places, stretch);
        let mut operands: Vec<Vec<From>> = Vec::with_capacity(period);
        for rounds in &all {
            let each =
                (0..rounds[0].len()).map(|number| from(rounds, number, invariants, places, (stretch, most_back)));
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
                        let given = before.given(*id);
                        round.code.add(WordOp::Given(given))
                    }
                    From::Back(other, back) => {
                        let firsts: Vec<WordId> = all[at][..*back].iter().map(|of_round| of_round[number]).collect();
                        // Of the round before, then of the one before that.
                        let mut last = None;
                        for distance in 1..=*back {
                            let its = firsts[*back - distance..].to_vec();
                            let known = carried.get(&(*other, distance, its.clone())).copied();
                            let carried_at = known.unwrap_or_else(|| {
                                let given = before.given(its[0]);
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
                                let first = First::Given(given);
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
        needs.extend(code.carried.iter().map(|one| one.next));
        for id in needs {
            let Some(&place) = places.get(&id).filter(|place| **place < end) else { continue };
            if sources.contains_key(&id) {
                continue;
            }
            // Reads may as well come when they are needed.
            if place < first && matches!(code.op(id), WordOp::Read { .. }) {
                continue;
            }
            let source = if let WordOp::Carried(at) = *code.op(id) {
                Source::Record(at as usize)
            } else if place < first {
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
        // What the next record finds: it is no result of the phase where no record changes it.
        if code.carried.iter().any(|one| invariants[one.next.index()]) {
            return None;
        }
        let next = code.carried.iter().map(|one| {
            let value = after.copy(one.next);
            after.hand_on(value)
        });
        let next = next.collect();
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
            next,
        })
    }

    fn compile(self, placed: &Placed, machine: &Machine, rounds: usize) -> Result<Rolled, NoForm> {
        let most = *machine.registers.words;
        // Words of registers that each phase may take; what stands in those of one is there in the others, too.
        let mut shares = [most; 3];
        let mut phases: Vec<Kernel> = Vec::new();
        for _ in 0..ATTEMPTS {
            // What a phase keeps in the scratchpad is there in the next record, too.
            let mut taken = 0;
            let mut made = Vec::new();
            for (phase, share) in [&self.before, &self.round, &self.after].into_iter().zip(shares) {
                let phase = Placed { scratchpad_words: phase.scratchpad_words + taken, ..phase.clone() };
                let mut machine = machine.clone();
                machine.registers.words.value = share;
                let kernel =
                    kernel::compile(&phase, &machine, Scheduling::List).map_err(|reason| match phases.as_slice() {
                        [] => NoForm::new(format!("with rounds as a loop, {reason}")),
                        phases => too_many_registers(registers(phases), most),
                    })?;
                taken += kernel.spilled.len() as u32;
                made.push(kernel);
            }
            phases = made;
            let excess = registers(&phases).saturating_sub(most);
            if excess == 0 {
                break;
            }
            // The one in which most stands puts that to the scratchpad.
            let most_standing = (0..phases.len()).max_by_key(|&at| standing(&phases[at])).unwrap_or(0);
            shares[most_standing] = phases[most_standing].registers.words.saturating_sub(excess + SPARE);
        }
        let Ok([before, mut round, after]) = <[Kernel; 3]>::try_from(phases) else {
            return Err(NoForm::new("there are no phases"));
        };
        round.spilled.extend(self.table);
        let rolled =
            Rolled { before, round, rounds, after, placed: placed.clone(), given: self.given, next: self.next };
        if let Some(most) = &machine.microcode_words
            && rolled.microcode_words() > most.value
        {
            let (words, most) = (rolled.microcode_words(), most.value);
            return Err(NoForm::new(format!(
                "with rounds as a loop it takes {words} words of microcode, of which there are {most}"
            )));
        }
        let words = rolled.registers();
        if words > most {
            return Err(too_many_registers(words, most));
        }
        Ok(rolled)
    }
}

fn commutes(op: &WordOp) -> bool {
    matches!(op, WordOp::Binary(op, ..) if op.commutes())
}

/// The operands of an operation in a round; of those that may change places the one first that comes first.
fn operands_in(
    code: &WordCode,
    order: &[WordId],
    invariants: &[bool],
    places: &FxHashMap<WordId, usize>,
    Stretch { first, period, .. }: Stretch,
    (own, round): (usize, usize),
) -> Vec<WordId> {
    let op = code.op(order[first + round * period + own]);
    let mut operands = op.operands();
    if commutes(op) {
        let place = |id: &WordId| places.get(id).map_or(0, |&place| place as i64 - (round * period) as i64);
        operands.sort_by_key(|id| (invariants[id.index()], place(id)));
    }
    operands
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
    let of = |own: usize, round: usize| operands_in(code, order, invariants, places, stretch, (own, round));
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
