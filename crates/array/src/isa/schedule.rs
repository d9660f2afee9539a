//! List scheduling: instructions in an order in which results are there when they are needed, with NOPs where nothing fits.
//!
//! A result can be used by the next instruction over the bypass, or from memory some cycles later; pointers and flags take
//! longer, and there are few of them. Words of a port come in their order, words of a link go out in theirs. Among those that can be issued
//! the one with the longest way to the end goes first (critical-path scheduling).

use super::lower::{Group, Kind, Slot, Word};
use crate::machine::Machine;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number.
    Known(u64),
    /// The result before.
    Bypass,
    /// A word in memory.
    Memory(u32),
    /// The next word of a port, taken.
    Input(u8),
    /// The next word of a port, left.
    Peek(u8),
    /// What a pointer names.
    Through(u8),
}

/// An instruction with its operands' places, but for addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// NOPs before.
    pub nops: u8,
    /// What is done.
    pub slot: Slot,
    /// The operands.
    pub operands: [Operand; 2],
    /// The pointer or flag that it writes.
    pub register: Option<u8>,
    /// The flag that decides.
    pub condition: Option<(u8, bool)>,
}

/// What has been issued so far, for parts behind.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// When each word was written to memory, or computed.
    pub when: HashMap<u32, u64>,
    /// The cycle behind the last instruction.
    pub now: u64,
}

/// A part of a program before its order.
pub struct Part {
    /// Instructions.
    pub groups: Vec<Group>,
    /// Words that come in, in the order in which they do.
    pub comes: Vec<(u8, u32)>,
    /// Words that later parts need.
    pub later: BTreeSet<u32>,
}

/// How a word that comes in gets to those that need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Its only user takes it.
    Direct,
    /// Its users peek, and the last takes it.
    Peek,
    /// It goes to memory.
    Store,
}

/// How instructions are chosen among those that can be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    /// The one with the longest way to the end.
    LongestWay,
    /// As they come, which takes less memory.
    AsTheyCome,
    /// As they come, and none takes a pointer or a flag before all that stand in front of it are done. What takes one stands in
    /// front of what uses it, so that no more of them are in use than one use needs: this order is always found.
    OneByOne,
}

/// The order of a part's instructions: by the longest way to the end, or (`lean`) as they come, which takes less memory.
///
/// # Errors
///
/// There is none, which would be a mistake of instruction selection.
pub fn schedule(
    part: &Part,
    kinds: &[Kind],
    machine: &Machine,
    past: &mut Past,
    lean: bool,
) -> Result<Vec<Issue>, String> {
    // Words that must go to memory, for else instructions would wait for each other: as few as are found to be enough.
    let mut stored: BTreeSet<u32> = BTreeSet::new();
    let mut choice = if lean { Choice::AsTheyCome } else { Choice::LongestWay };
    loop {
        let kept = past.clone();
        match order(part, kinds, machine, past, &stored, choice) {
            Ok(issues) => return Ok(issues),
            Err(Stuck::On(words)) if words.iter().any(|word| !stored.contains(word)) => {
                *past = kept;
                stored.extend(words.into_iter().filter(|word| !stored.contains(word)).take(3).collect::<Vec<_>>());
            }
            Err(Stuck::On(_)) => return Err("instructions wait for each other".into()),
            // One lookup after the other needs the fewest.
            Err(Stuck::Registers) if choice == Choice::LongestWay => (*past, choice) = (kept, Choice::AsTheyCome),
            Err(Stuck::Registers) if choice == Choice::AsTheyCome => {
                // Words in memory keep nobody waiting for the order in which they come.
                stored.extend(part.comes.iter().map(|(_, word)| *word));
                (*past, choice) = (kept, Choice::OneByOne);
            }
            // Registers are enough in this order.
            Err(Stuck::Registers) => return Err("a word is needed that nothing makes".into()),
        }
    }
}

/// Groups in an order in which what takes a pointer or a flag stands right in front of the first that uses it.
fn sunk(groups: &[Group], kinds: &[Kind]) -> Vec<Group> {
    let is_register = |word: &u32| matches!(kinds[*word as usize], Kind::Pointer | Kind::Flag);
    let mut waiting: BTreeMap<u32, Group> = BTreeMap::new();
    let mut all = Vec::new();
    for group in groups {
        let used = group.slots.iter().flat_map(|slot| operands(slot).chain(slot.condition.map(|(flag, _)| flag)));
        all.extend(used.filter(is_register).filter_map(|word| waiting.remove(&word)).collect::<Vec<_>>());
        match group.slots[..] {
            [Slot { to: Some(word), .. }] if is_register(&word) => _ = waiting.insert(word, group.clone()),
            _ => all.push(group.clone()),
        }
    }
    all
}

/// Why there is no order.
enum Stuck {
    /// Instructions wait for each other, among them those that take these words.
    On(Vec<u32>),
    /// There are too few pointers or flags.
    Registers,
}

fn operands(slot: &Slot) -> impl Iterator<Item = u32> {
    [slot.a, slot.b].into_iter().filter_map(|word| match word {
        Word::Of(word) => Some(word),
        Word::Known(_) => None,
    })
}

fn order(
    part: &Part,
    kinds: &[Kind],
    machine: &Machine,
    past: &mut Past,
    stored: &BTreeSet<u32>,
    choice: Choice,
) -> Result<Vec<Issue>, Stuck> {
    let mut groups = if choice == Choice::OneByOne { sunk(&part.groups, kinds) } else { part.groups.clone() };
    let n_own = groups.len();
    // Who uses each word that comes in.
    let mut users: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        for word in group.slots.iter().flat_map(operands) {
            users.entry(word).or_default().push(at);
        }
    }
    let coming: BTreeMap<u32, u8> = part.comes.iter().map(|&(port, word)| (word, port)).collect();
    let mut modes: BTreeMap<u32, Mode> = BTreeMap::new();
    for &(port, word) in &part.comes {
        let used = users.get(&word).map_or(&[][..], Vec::as_slice);
        let alone = |at: &usize| {
            let slots = &groups[*at].slots;
            slots.len() == 1 && operands(&slots[0]).filter(|other| coming.get(other) == Some(&port)).count() == 1
        };
        let mode = match used {
            _ if stored.contains(&word) || part.later.contains(&word) => Mode::Store,
            [one] if alone(one) => Mode::Direct,
            several @ [_, _, ..] if several.windows(2).all(|two| two[0] != two[1]) && several.iter().all(alone) => {
                Mode::Peek
            }
            _ => Mode::Store,
        };
        modes.insert(word, mode);
    }
    for &(_, word) in part.comes.iter().filter(|(_, word)| modes[word] == Mode::Store) {
        let slot = Slot {
            op: super::Opcode::Mov,
            a: Word::Of(word),
            b: Word::Known(0),
            to: Some(word),
            through: false,
            condition: None,
            links: 0,
        };
        groups.push(Group { slots: vec![slot] });
    }
    let n = groups.len();
    // Who produces each word.
    let mut maker: HashMap<u32, usize> = HashMap::new();
    for (at, group) in groups.iter().enumerate() {
        for word in group.slots.iter().filter_map(|slot| slot.to) {
            maker.insert(word, at);
        }
    }
    let mut before: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
    let mut after: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); n];
    let mut edge = |from: usize, to: usize| {
        if from != to {
            before[to].insert(from);
            after[from].insert(to);
        }
    };
    for (at, group) in groups.iter().enumerate() {
        for slot in &group.slots {
            let flags = slot.condition.map(|(flag, _)| flag);
            for word in operands(slot).chain(flags) {
                if let Some(&from) = maker.get(&word) {
                    edge(from, at);
                }
            }
        }
    }
    // Words of a port in their order.
    let mut last_taker: BTreeMap<u8, usize> = BTreeMap::new();
    // Who takes each word that comes in.
    let mut takers: BTreeMap<u32, usize> = BTreeMap::new();
    for &(port, word) in &part.comes {
        let looking = match modes[&word] {
            Mode::Store => vec![maker[&word]],
            Mode::Direct | Mode::Peek => users[&word].clone(),
        };
        let taker = looking[looking.len() - 1];
        for &first in &looking {
            edge(first, taker);
            if let Some(&last) = last_taker.get(&port) {
                if last == first {
                    return Err(Stuck::On(vec![word]));
                }
                edge(last, first);
            }
        }
        last_taker.insert(port, taker);
        takers.insert(word, taker);
    }
    let mut last_send = None;
    for (at, group) in groups.iter().enumerate() {
        if group.slots.iter().any(|slot| slot.links != 0) {
            if let Some(last) = last_send {
                edge(last, at);
            }
            last_send = Some(at);
        }
    }
    // The longest way to the end of each group, and whether there is an order at all.
    let latency = |slot: &Slot| match slot.to.map(|word| kinds[word as usize]) {
        Some(Kind::Pointer) => u64::from(*machine.latency.pointer),
        Some(Kind::Flag) => u64::from(*machine.latency.flag),
        _ => 1,
    };
    let mut open: Vec<usize> = after.iter().map(BTreeSet::len).collect();
    let mut way = vec![0u64; n];
    let mut stack: Vec<usize> = (0..n).filter(|&at| open[at] == 0).collect();
    let mut n_seen = 0;
    while let Some(at) = stack.pop() {
        n_seen += 1;
        let slots = &groups[at].slots;
        let own = slots.iter().map(latency).max().unwrap_or(1).max(slots.len() as u64);
        way[at] = own + after[at].iter().map(|&next| way[next]).max().unwrap_or(0);
        for &from in &before[at] {
            open[from] -= 1;
            if open[from] == 0 {
                stack.push(from);
            }
        }
    }
    if n_seen < n {
        // Those that were not reached, in the order in which words come.
        let stuck = |word: &u32| open[takers[word]] > 0 && modes[word] != Mode::Store;
        let mut words: Vec<u32> = part.comes.iter().map(|(_, word)| *word).filter(stuck).collect();
        // Rather those that are computed with than those that only go through.
        words.sort_by_key(|word| groups[takers[word]].slots.iter().all(|slot| slot.links != 0));
        return Err(Stuck::On(words));
    }
    if choice != Choice::LongestWay {
        // As they come: those that are stored as they are needed.
        let first_use = |at: usize| {
            groups[at]
                .slots
                .iter()
                .filter_map(|slot| slot.to)
                .filter_map(|word| users.get(&word))
                .flatten()
                .copied()
                .min()
        };
        let rank = |at: usize| if at < n_own { 2 * at as u64 + 1 } else { 2 * first_use(at).unwrap_or(at) as u64 };
        way = (0..n).map(|at| u64::MAX / 2 - rank(at)).collect();
    }
    let mut waits: Vec<usize> = before.iter().map(BTreeSet::len).collect();
    let mut ready: BTreeSet<(std::cmp::Reverse<u64>, usize)> =
        (0..n).filter(|&at| waits[at] == 0).map(|at| (std::cmp::Reverse(way[at]), at)).collect();
    let mut pointers: Registers = Registers::new(*machine.core.pointers as usize);
    let mut flags: Registers = Registers::new(2);
    // How often pointers and flags are still used.
    let mut left: HashMap<u32, usize> = HashMap::new();
    for slot in groups.iter().flat_map(|group| &group.slots) {
        for word in operands(slot).chain(slot.condition.map(|(flag, _)| flag)) {
            if matches!(kinds[word as usize], Kind::Pointer | Kind::Flag) {
                *left.entry(word).or_default() += 1;
            }
        }
    }
    let mut issues: Vec<Issue> = Vec::new();
    let mut last_result: Option<u32> = None;
    let mut now = past.now;
    let mut idle = 0u64;
    // Groups in front of this one are issued.
    let mut n_done = 0;
    let mut is_issued = vec![false; n];
    while !ready.is_empty() {
        let fits = |&(_, at): &(std::cmp::Reverse<u64>, usize)| -> Option<Vec<[Operand; 2]>> {
            let takes_register = || {
                let mut words = groups[at].slots.iter().filter_map(|slot| slot.to);
                words.any(|word| matches!(kinds[word as usize], Kind::Pointer | Kind::Flag))
            };
            if choice == Choice::OneByOne && at > n_done && at < n_own && takes_register() {
                return None;
            }
            let mut all = Vec::new();
            let mut bypass = last_result;
            let mut here: HashMap<u32, u64> = HashMap::new();
            for (position, slot) in groups[at].slots.iter().enumerate() {
                let time = now + position as u64;
                let mut places = [Operand::Known(0); 2];
                for (place, word) in places.iter_mut().zip([slot.a, slot.b]) {
                    *place = match word {
                        Word::Known(number) => Operand::Known(number),
                        Word::Of(word) => {
                            let when = here.get(&word).or_else(|| past.when.get(&word)).copied();
                            match kinds[word as usize] {
                                Kind::Pointer => {
                                    let when = when.filter(|it| time >= it + u64::from(*machine.latency.pointer))?;
                                    let _ = when;
                                    Operand::Through(pointers.of(word)?)
                                }
                                Kind::Input(port)
                                    if coming.contains_key(&word)
                                        && takers[&word] == at
                                        && modes[&word] != Mode::Store =>
                                {
                                    Operand::Input(port)
                                }
                                Kind::Input(port)
                                    if coming.contains_key(&word) && takers[&word] == at && slot.to == Some(word) =>
                                {
                                    Operand::Input(port)
                                }
                                Kind::Input(port) if modes.get(&word) == Some(&Mode::Peek) => Operand::Peek(port),
                                Kind::Parameter(_) => Operand::Memory(word),
                                _ if bypass == Some(word) => Operand::Bypass,
                                _ => {
                                    when.filter(|it| time >= it + u64::from(*machine.latency.data_memory))?;
                                    Operand::Memory(word)
                                }
                            }
                        }
                    };
                }
                if let Some((flag, _)) = slot.condition {
                    past.when.get(&flag).filter(|it| time >= *it + u64::from(*machine.latency.flag))?;
                }
                match slot.to.map(|word| (word, kinds[word as usize])) {
                    Some((_, Kind::Pointer)) if pointers.is_full() => return None,
                    Some((_, Kind::Flag)) if flags.is_full() => return None,
                    Some((word, Kind::Result | Kind::Input(_))) => {
                        here.insert(word, time);
                        if slot.condition.is_none() {
                            bypass = Some(word);
                        }
                    }
                    // Where it is nobody's result, what was there before is gone; of two that exclude each other the second
                    // still finds it.
                    _ if slot.condition.is_none() => bypass = None,
                    _ => {}
                }
                all.push(places);
            }
            Some(all)
        };
        let chosen = ready.iter().find_map(|entry| fits(entry).map(|places| (*entry, places)));
        let Some((entry, places)) = chosen else {
            now += 1;
            idle += 1;
            if idle > 64 {
                return Err(Stuck::Registers);
            }
            continue;
        };
        ready.remove(&entry);
        let at = entry.1;
        is_issued[at] = true;
        n_done += is_issued[n_done..].iter().take_while(|it| **it).count();
        for (slot, operands_here) in groups[at].slots.clone().into_iter().zip(places) {
            let mut register = None;
            match slot.to.map(|word| (word, kinds[word as usize])) {
                Some((word, Kind::Pointer)) => register = pointers.take(word),
                Some((word, Kind::Flag)) => register = flags.take(word),
                _ => {}
            }
            let condition = slot.condition.and_then(|(flag, is_set)| Some((flags.of(flag)?, is_set)));
            for word in operands(&slot).chain(slot.condition.map(|(flag, _)| flag)) {
                if let Some(left) = left.get_mut(&word) {
                    *left -= 1;
                    if *left == 0 {
                        pointers.free(word);
                        flags.free(word);
                    }
                }
            }
            if let Some(word) = slot.to {
                past.when.insert(word, now);
            }
            // What is done on a condition may have put its result there.
            last_result = match slot.to.map(|word| kinds[word as usize]) {
                Some(Kind::Result | Kind::Input(_)) => slot.to,
                _ => None,
            };
            issues.push(Issue { nops: idle.min(255) as u8, slot, operands: operands_here, register, condition });
            idle = 0;
            now += 1;
        }
        for &next in &after[at] {
            waits[next] -= 1;
            if waits[next] == 0 {
                ready.insert((std::cmp::Reverse(way[next]), next));
            }
        }
    }
    past.now = now;
    Ok(issues)
}

/// A few registers.
struct Registers {
    who: Vec<Option<u32>>,
}

impl Registers {
    fn new(n: usize) -> Self {
        Self { who: vec![None; n] }
    }

    fn is_full(&self) -> bool {
        self.who.iter().all(Option::is_some)
    }

    fn of(&self, word: u32) -> Option<u8> {
        self.who.iter().position(|who| *who == Some(word)).map(|at| at as u8)
    }

    fn take(&mut self, word: u32) -> Option<u8> {
        let at = self.who.iter().position(Option::is_none)?;
        self.who[at] = Some(word);
        Some(at as u8)
    }

    fn free(&mut self, word: u32) {
        self.who.iter_mut().filter(|who| **who == Some(word)).for_each(|who| *who = None);
    }
}
