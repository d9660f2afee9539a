//! The edges of an array: tokens of the network's ports to words in the order in which processors take them (feeders), and words
//! that leave to tokens in theirs (collectors).
//!
//! How words get to pins is not modelled by the simulator, for which all words are there from the beginning. A feeder holds the
//! tokens of two periods, so that words are there as long as tokens come as fast as they are taken; a collector holds those of
//! four, so that no processor waits for another's last word.

use headrace_rtl::{
    Bits, CompareOp, Expr, Memory, MemoryRead, MemoryWrite, Module, SignalId, SignalKind, Table, TableId, index_bits,
};

/// Periods that a collector holds.
const PERIODS: u64 = 4;

/// A token stream of the network into a feeder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FeedPort {
    /// Bits of a token.
    pub width: u32,
    /// Whether it has a sign.
    pub signed: bool,
    /// Tokens of a period.
    pub tokens: u64,
}

/// A word that a feeder gives: which of its ports, which token, from which bit on.
pub type Fed = (usize, u64, u32);

/// A token that a collector gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Collected {
    /// It is known.
    Known(u64),
    /// Words of one processor, by the number at which they leave, the lowest first; bits of the value, and whether it has a sign.
    Words(usize, Vec<u64>, u32, bool),
}

fn table(m: &mut Module, name: &str, width: u32, values: Vec<u64>) -> TableId {
    let index_width = index_bits(values.len() as u64).max(1);
    let values = values.into_iter().map(|value| Bits::new(width, value)).collect();
    m.tables.push(Table { name: name.into(), index_width, width, values });
    TableId(m.tables.len() as u32 - 1)
}

fn look(m: &Module, table: TableId, index: SignalId) -> Expr {
    Expr::lookup(table, m.get(index), m.tables[table.index()].width)
}

/// A register that counts to `n` and begins again: the register, and whether it is at its last.
fn counter(m: &mut Module, name: &str, n: u64, step: SignalId) -> (SignalId, Expr) {
    let width = index_bits(n).max(1);
    let (register, next) = m.add_register(name, Bits::zero(width));
    let is_last = m.get(register).is(n - 1);
    let further = Expr::select(is_last.clone(), Expr::number(width, 0), m.get(register).plus(Expr::number(width, 1)));
    let value = Expr::select(m.get(step), further, m.get(register));
    m.assign(next, value);
    (register, is_last)
}

/// Whether a count is more than a number of the same width.
fn more(count: Expr, than: Expr) -> Expr {
    Expr::compare(CompareOp::Less, than, count)
}

/// The module that gives the words of a link from outside, of so many bits, from tokens of ports.
pub fn feeder(name: &str, bits: u32, ports: &[FeedPort], words: &[Fed]) -> Module {
    let mut m = Module::new(name);
    m.about.push(format!(
        "Words of {bits} bits in the order in which a processor takes them, from tokens of two periods."
    ));
    let streams: Vec<[SignalId; 3]> = (0..ports.len())
        .map(|at| {
            [
                m.add(format!("port{at}_data_i"), ports[at].width, SignalKind::Input),
                m.add(format!("port{at}_valid_i"), 1, SignalKind::Input),
                m.add(format!("port{at}_ready_o"), 1, SignalKind::Output),
            ]
        })
        .collect();
    let data = m.add("data_o", bits, SignalKind::Output);
    let valid = m.add("valid_o", 1, SignalKind::Output);
    let take = m.add("take_i", 1, SignalKind::Input);
    let (word, is_last) = counter(&mut m, "word", words.len() as u64, take);
    let done = m.add("done", 1, SignalKind::Wire);
    let value = m.get(take).and(is_last.clone());
    m.assign(done, value);
    let (bank, bank_next) = m.add_register("bank", Bits::zero(1));
    let value = Expr::binary(headrace_rtl::BinaryOp::Xor, m.get(bank), m.get(done));
    m.assign(bank_next, value);
    let most = ports.iter().map(|port| port.tokens).max().unwrap_or(1);
    let token_bits = index_bits(most).max(1);
    let token = table(&mut m, "tokens", token_bits, words.iter().map(|word| word.1).collect());
    let token = look(&m, token, word);
    let port_bits = index_bits(ports.len() as u64).max(1);
    let which = table(&mut m, "ports", port_bits, words.iter().map(|word| word.0 as u64).collect());
    let which = look(&m, which, word);
    let mut shifts: Vec<u32> = words.iter().map(|word| word.2).collect();
    shifts.sort_unstable();
    shifts.dedup();
    let shift_of = |word: &Fed| shifts.iter().position(|shift| *shift == word.2).unwrap_or(0) as u64;
    let shift_bits = index_bits(shifts.len() as u64).max(1);
    let shift = table(&mut m, "shifts", shift_bits, words.iter().map(shift_of).collect());
    let shift = look(&m, shift, word);
    let (mut shown, mut can, mut whole) = (Expr::number(bits, 0), Expr::bit(false), Expr::bit(true));
    for (at, (port, [input, comes, ready])) in ports.iter().zip(streams).enumerate() {
        let n = port.tokens;
        let count_bits = index_bits(2 * n + 1);
        let (there, there_next) = m.add_register(&format!("there{at}"), Bits::zero(count_bits));
        let full = Expr::compare(CompareOp::Equal, m.get(there), Expr::number(count_bits, 2 * n));
        m.assign(ready, full.inverted());
        let fill = m.add(format!("fill{at}"), 1, SignalKind::Wire);
        let value = m.get(comes).and(m.get(ready));
        m.assign(fill, value);
        // Where the next token goes: in the two periods.
        let (place, _) = counter(&mut m, &format!("place{at}"), n, fill);
        let own_bits = index_bits(n);
        let wrapped = m.get(place).is(n - 1).and(m.get(fill));
        let (half, half_next) = m.add_register(&format!("half{at}"), Bits::zero(1));
        let value = Expr::binary(headrace_rtl::BinaryOp::Xor, m.get(half), wrapped);
        m.assign(half_next, value);
        let less = Expr::select(m.get(done), Expr::number(count_bits, n), Expr::number(count_bits, 0));
        let value = m.get(there).plus(m.get(fill).resized(false, count_bits)).minus(less);
        m.assign(there_next, value);
        let address_bits = own_bits + 1;
        let address = |m: &Module, half: SignalId, place: Expr| match own_bits {
            0 => m.get(half),
            _ => Expr::concat(vec![m.get(half), place.resized(false, own_bits)]),
        };
        let read = m.add(format!("read{at}"), address_bits, SignalKind::Wire);
        let value = address(&m, bank, token.clone());
        m.assign(read, value);
        let write = m.add(format!("write{at}"), address_bits, SignalKind::Wire);
        let value = address(&m, half, m.get(place));
        m.assign(write, value);
        let found = m.add(format!("found{at}"), port.width, SignalKind::Wire);
        m.memories.push(Memory {
            name: format!("tokens{at}"),
            width: port.width,
            depth: 1 << address_bits,
            reads: vec![MemoryRead { address: read, data: found }],
            writes: vec![MemoryWrite { enable: fill, address: write, data: input }],
            about: "tokens of two periods".into(),
        });
        let is_own = if ports.len() == 1 { Expr::bit(true) } else { which.clone().is(at as u64) };
        let wide = (shifts.last().copied().unwrap_or(0) + bits).max(port.width);
        let extended = m.get(found).resized(port.signed, wide);
        let mut part = Expr::number(bits, 0);
        for (number, &by) in shifts.iter().enumerate() {
            part = Expr::select(shift.clone().is(number as u64), extended.clone().slice(by, bits), part);
        }
        shown = Expr::select(is_own.clone(), part, shown);
        let wide = count_bits.max(token_bits) + 1;
        let is_there = more(m.get(there).resized(false, wide), token.clone().resized(false, wide));
        can = Expr::select(is_own, is_there, can);
        let is_whole = more(m.get(there).resized(false, wide), Expr::number(wide, n - 1));
        whole = whole.and(is_whole);
    }
    m.assign(data, shown);
    // With the last word the period's tokens are let go, all of them.
    m.assign(valid, can.and(is_last.inverted().or(whole)));
    headrace_rtl::drop_unread(&mut m);
    m
}

/// The module that gives the tokens of an output port, of so many bits, from words of processors; `leaves` says how many each lets
/// go in a period.
pub fn collector(name: &str, bits: u32, width: u32, leaves: &[u64], tokens: &[Collected]) -> Module {
    let mut m = Module::new(name);
    m.about
        .push(format!("Tokens of {width} bits in their order, from words that leave the array, of {PERIODS} periods."));
    let cores: Vec<[SignalId; 4]> = (0..leaves.len())
        .map(|at| {
            [
                m.add(format!("core{at}_data_i"), bits, SignalKind::Input),
                m.add(format!("core{at}_leave_i"), 1, SignalKind::Input),
                m.add(format!("core{at}_at_i"), index_bits(leaves[at]).max(1), SignalKind::Input),
                m.add(format!("core{at}_room_o"), 1, SignalKind::Output),
            ]
        })
        .collect();
    let data = m.add("data_o", width, SignalKind::Output);
    let valid = m.add("valid_o", 1, SignalKind::Output);
    let ready = m.add("ready_i", 1, SignalKind::Input);
    let goes = m.add("goes", 1, SignalKind::Wire);
    let value = m.get(valid).and(m.get(ready));
    m.assign(goes, value);
    let (token, is_last) = counter(&mut m, "token", tokens.len() as u64, goes);
    let done = m.add("done", 1, SignalKind::Wire);
    let value = m.get(goes).and(is_last.clone());
    m.assign(done, value);
    let period_bits = index_bits(PERIODS);
    let (period, period_next) = m.add_register("period", Bits::zero(period_bits));
    let value = m.get(period).plus(m.get(done).resized(false, period_bits));
    m.assign(period_next, value);
    // What each token is: known, or words of a processor in one of a few forms.
    let known = |it: &Collected| match it {
        Collected::Known(value) => *value,
        Collected::Words(..) => 0,
    };
    let value = table(&mut m, "known", width, tokens.iter().map(known).collect());
    let value = look(&m, value, token);
    let is_known =
        table(&mut m, "is_known", 1, tokens.iter().map(|it| u64::from(matches!(it, Collected::Known(_)))).collect());
    let is_known = look(&m, is_known, token);
    let of_core = |it: &Collected| match it {
        Collected::Words(core, ..) => *core as u64,
        Collected::Known(_) => 0,
    };
    let core_bits = index_bits(leaves.len() as u64).max(1);
    let which = table(&mut m, "cores", core_bits, tokens.iter().map(of_core).collect());
    let which = look(&m, which, token);
    let mut forms: Vec<(usize, u32, bool)> = Vec::new();
    let mut form_of = Vec::new();
    for it in tokens {
        let form = match it {
            Collected::Words(_, words, value_bits, signed) => (words.len(), *value_bits, *signed),
            Collected::Known(_) => (0, 0, false),
        };
        let at = forms.iter().position(|known| *known == form).unwrap_or_else(|| {
            forms.push(form);
            forms.len() - 1
        });
        form_of.push(at as u64);
    }
    let form = table(&mut m, "forms", index_bits(forms.len() as u64).max(1), form_of);
    let form = look(&m, form, token);
    let n_limbs = forms.iter().map(|form| form.0).max().unwrap_or(0).max(1);
    let leaf_bits = leaves.iter().map(|n| index_bits(*n)).max().unwrap_or(1).max(1);
    let limb = |at: usize| {
        move |it: &Collected| match it {
            Collected::Words(_, words, ..) => words.get(at).or(words.last()).copied().unwrap_or(0),
            Collected::Known(_) => 0,
        }
    };
    let mut places = Vec::new();
    for at in 0..n_limbs {
        let place = table(&mut m, &format!("words{at}"), leaf_bits, tokens.iter().map(limb(at)).collect());
        places.push(look(&m, place, token));
    }
    let last = |it: &Collected| match it {
        Collected::Words(_, words, ..) => words.iter().copied().max().unwrap_or(0),
        Collected::Known(_) => 0,
    };
    let last = table(&mut m, "last", leaf_bits, tokens.iter().map(last).collect());
    let last = look(&m, last, token);
    // What is known comes when the first word of its period has left.
    let mut can = if leaves.is_empty() { is_known.clone() } else { Expr::bit(false) };
    let mut whole = Expr::bit(true);
    let mut limbs = vec![Expr::number(bits, 0); n_limbs];
    for (at, (&n, [word, leave, leaf, room])) in leaves.iter().zip(cores).enumerate() {
        let count_bits = index_bits(PERIODS * n + 1);
        let (there, there_next) = m.add_register(&format!("there{at}"), Bits::zero(count_bits));
        let full = Expr::compare(CompareOp::Equal, m.get(there), Expr::number(count_bits, PERIODS * n));
        m.assign(room, full.inverted());
        let less = Expr::select(m.get(done), Expr::number(count_bits, n), Expr::number(count_bits, 0));
        let value = m.get(there).plus(m.get(leave).resized(false, count_bits)).minus(less);
        m.assign(there_next, value);
        let (writes, writes_next) = m.add_register(&format!("period{at}"), Bits::zero(period_bits));
        let ends = m.get(leave).and(m.get(leaf).is(n - 1));
        let value = m.get(writes).plus(ends.resized(false, period_bits));
        m.assign(writes_next, value);
        let own_bits = index_bits(n);
        let address = |m: &Module, period: SignalId, place: Expr| match own_bits {
            0 => m.get(period),
            _ => Expr::concat(vec![m.get(period), place.resized(false, own_bits)]),
        };
        let write = m.add(format!("write{at}"), own_bits + period_bits, SignalKind::Wire);
        let value = address(&m, writes, m.get(leaf));
        m.assign(write, value);
        let is_own = if leaves.len() == 1 { Expr::bit(true) } else { which.clone().is(at as u64) };
        let mut reads = Vec::new();
        for (number, (place, shown)) in places.iter().zip(&mut limbs).enumerate() {
            let read = m.add(format!("read{at}_{number}"), own_bits + period_bits, SignalKind::Wire);
            let value = address(&m, period, place.clone());
            m.assign(read, value);
            let found = m.add(format!("found{at}_{number}"), bits, SignalKind::Wire);
            reads.push(MemoryRead { address: read, data: found });
            *shown = Expr::select(is_own.clone(), m.get(found), shown.clone());
        }
        m.memories.push(Memory {
            name: format!("words_of{at}"),
            width: bits,
            depth: 1 << (own_bits + period_bits),
            reads,
            writes: vec![MemoryWrite { enable: leave, address: write, data: word }],
            about: "words of some periods".into(),
        });
        let wide = count_bits.max(leaf_bits) + 1;
        let is_there = more(m.get(there).resized(false, wide), last.clone().resized(false, wide));
        let is_there = Expr::select(is_known.clone(), m.get(there).is(0).inverted(), is_there);
        can = can.or(is_own.and(is_there));
        whole = whole.and(more(m.get(there).resized(false, wide), Expr::number(wide, n - 1)));
    }
    let mut shown = value;
    for (number, (n, value_bits, signed)) in forms.iter().enumerate().filter(|(_, form)| form.0 > 0) {
        let words: Vec<Expr> = limbs[..*n].iter().rev().cloned().collect();
        let whole = Expr::concat(words);
        let value = if *value_bits < whole.width { whole.slice(0, *value_bits) } else { whole };
        let value = value.resized(*signed, width);
        let own = form.clone().is(number as u64).and(is_known.clone().inverted());
        shown = Expr::select(own, value, shown);
    }
    m.assign(data, shown);
    m.assign(valid, can.and(is_last.inverted().or(whole)));
    headrace_rtl::drop_unread(&mut m);
    m
}
