//! Elastic connections: between bursts of different sizes, so that a burst of each end moves in a cycle.
//!
//! Where one actor makes its tokens in bursts of one or of sixteen and another takes them in bursts of sixteen or of four, a FIFO of
//! single tokens would be the bottleneck. A link takes the tokens of a firing as one beat, with their number, and shows the next
//! tokens of all beats in a window, of which the reader takes as many as it likes. A beat goes to the window as a whole where its place
//! there is a multiple of the widest beat, or of what that and the most tokens that are taken have in common, else token by token: blocks
//! flow at full speed, and what is left of a string, for which that does not hold, needs no network of multiplexers that would
//! move anything anywhere.

use crate::network::greatest_common_divisor;
use headrace_rtl::{Bits, CompareOp, Expr, Memory, MemoryRead, MemoryWrite, Module, SignalId, SignalKind, index_bits};
use std::collections::BTreeSet;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// Bits of a token.
    pub(crate) width: u32,
    /// Numbers of tokens that come at once, ascending, none of them 0,
    pub(crate) made: Vec<u64>,
    /// and of those that are taken at once.
    pub(crate) taken: Vec<u64>,
    /// Beats that wait for the window, at most: a power of two, at least two.
    pub(crate) depth: u64,
    /// A beat is in the window in the cycle in which it comes, where there is room for it.
    pub(crate) is_direct: bool,
}

/// Beats that a place of the window may be part of, at most.
const MOST_CHOICES: u32 = 4;

impl Link {
    /// Tokens of a beat, at most.
    pub(crate) fn beat(&self) -> u32 {
        self.made.last().map_or(1, |&most| most as u32)
    }

    /// Tokens that its window shows.
    pub(crate) fn shown(&self) -> u32 {
        self.taken.last().map_or(1, |&most| most as u32)
    }

    /// The name of its module.
    pub(crate) fn name(&self) -> String {
        let [made, taken] =
            [&self.made, &self.taken].map(|all| all.iter().map(u64::to_string).collect::<Vec<_>>().join("_"));
        let kind = if self.is_direct { "direct_link" } else { "link" };
        format!("headrace_{kind}_{}x{made}to{taken}x{}", self.width, self.depth)
    }

    /// Its module. Beats come in as `data_i`, `count_i`, `valid_i`, `ready_o`; `data_o` and `there_o` are the next tokens and how many of
    /// them are there; `take_i` says how many go, of those that are there.
    pub(crate) fn module(&self) -> Module {
        let mut m = Module::new(self.name());
        let (when, latency) = if self.is_direct { ("this", 0) } else { ("the next", 1) };
        m.about.push(format!(
            "Takes up to {} tokens of {} bits at once and gives up to {}, in {when} cycle: latency {latency}, initiation interval 1.",
            self.beat(),
            self.width,
            self.shown()
        ));
        let (whole, unit) = self.in_units();
        let beat = whole.add_queue(&mut m, unit);
        whole.add_window(&mut m, &beat, unit);
        m
    }

    /// The same link for parts of which all bursts are multiples, and how many bits of numbers of tokens these leave out: counters are
    /// smaller then, and tokens move in fewer ways.
    fn in_units(&self) -> (Link, u32) {
        let common =
            self.made.iter().chain(&self.taken).fold(0, |common, &n| greatest_common_divisor(common, n)).max(1);
        let unit = common.trailing_zeros();
        let less = |all: &[u64]| all.iter().map(|n| n >> unit).collect();
        (Link { width: self.width << unit, made: less(&self.made), taken: less(&self.taken), ..self.clone() }, unit)
    }

    /// Whether a beat may find the window with so many tokens that it goes there token by token: not where all that can be there is a
    /// place of a whole beat, or so much that beats wait.
    fn has_singles(&self) -> bool {
        let starts: BTreeSet<u32> = self.starts().collect();
        let (mut seen, mut next) = (BTreeSet::from([0]), vec![0]);
        while let Some(fill) = next.pop() {
            let come = self.made.iter().filter(|_| starts.contains(&fill)).map(|&n| fill + n as u32);
            let taken = self.taken.iter().map(|&n| n as u32).filter(|n| *n <= fill).map(|n| fill - n);
            for other in come.chain(taken) {
                if seen.insert(other) {
                    next.push(other);
                }
            }
        }
        let waits = |fill: &u32| fill.is_multiple_of(self.step()) && *fill >= self.shown() || *fill == self.places();
        !seen.iter().all(|fill| starts.contains(fill) || waits(fill))
    }

    /// What places of whole beats in the window are multiples of: as little as is worth its multiplexers.
    fn step(&self) -> u32 {
        let common = greatest_common_divisor(u64::from(self.beat()), u64::from(self.shown())) as u32;
        let choices = (self.beat() / common).min(self.shown().div_ceil(common));
        if choices <= MOST_CHOICES { common } else { self.beat() }
    }

    /// Places of whole beats: from any of them on the reader has not all that it may take.
    fn starts(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.shown()).step_by(self.step() as usize)
    }

    /// Places of tokens in the window: up to the end of the last beat.
    fn places(&self) -> u32 {
        self.starts().next_back().unwrap_or(0) + self.beat()
    }

    /// The beats that wait; one that comes goes by where none does.
    /// `unit` bits of numbers of tokens are left out.
    fn add_queue(&self, m: &mut Module, unit: u32) -> Beat {
        let bits = self.width * self.beat();
        let count_bits = index_bits(u64::from(self.beat()) + 1);
        let pointer = index_bits(self.depth);
        let data_in = m.add("data_i", bits, SignalKind::Input);
        let all = index_bits((u64::from(self.beat()) << unit) + 1);
        let count_in = m.add("count_i", all, SignalKind::Input);
        let valid_in = m.add("valid_i", 1, SignalKind::Input);
        let ready = m.add("ready_o", 1, SignalKind::Output);
        let wire = |m: &mut Module, name: &str, width: u32| m.add(name, width, SignalKind::Wire);
        let (first, come) = (wire(m, "first", bits + count_bits), wire(m, "come", bits + count_bits));
        let beat = Beat {
            data: wire(m, "beat_data", bits),
            count: wire(m, "beat_count", count_bits),
            valid: wire(m, "beat_valid", 1),
            done: wire(m, "beat_done", 1),
        };
        let (push, pop) = (wire(m, "push", 1), wire(m, "pop", 1));
        let (head, head_next) = m.add_register("head", Bits::zero(pointer));
        let (tail, tail_next) = m.add_register("tail", Bits::zero(pointer));
        let (count, count_next) = m.add_register("waiting", Bits::zero(pointer + 1));
        let is_empty = m.get(count).is(0);
        m.assign(ready, m.get(count).is(self.depth).inverted());
        // Where all bursts are alike, it is known how many tokens they are.
        let count_come = match self.made.as_slice() {
            [only] => Expr::number(count_bits, *only),
            _ => m.get(count_in).slice(unit, count_bits),
        };
        m.assign(come, Expr::concat(vec![count_come, m.get(data_in)]));
        let now = Expr::select(is_empty.clone(), m.get(come), m.get(first));
        m.assign(beat.data, now.clone().slice(0, bits));
        let count_now = match self.made.as_slice() {
            [only] => Expr::number(count_bits, *only),
            _ => now.slice(bits, count_bits),
        };
        m.assign(beat.count, count_now);
        m.assign(beat.valid, is_empty.clone().inverted().or(m.get(valid_in)));
        m.assign(pop, m.get(beat.done).and(is_empty.clone().inverted()));
        let goes_by = is_empty.and(m.get(beat.done));
        m.assign(push, m.get(valid_in).and(m.get(ready)).and(goes_by.inverted()));
        m.assign(head_next, m.get(head).plus(m.get(pop).resized(false, pointer)));
        m.assign(tail_next, m.get(tail).plus(m.get(push).resized(false, pointer)));
        let wide = |bit: Expr| bit.resized(false, pointer + 1);
        m.assign(count_next, m.get(count).plus(wide(m.get(push))).minus(wide(m.get(pop))));
        m.memories.push(Memory {
            name: "beats".into(),
            width: bits + count_bits,
            depth: self.depth as u32,
            reads: vec![MemoryRead { address: head, data: first }],
            writes: vec![MemoryWrite { enable: push, address: tail, data: come }],
            about: "Tokens, and how many they are.".into(),
        });
        beat
    }

    /// The window, which beats are moved to.
    fn add_window(&self, m: &mut Module, beat: &Beat, unit: u32) {
        let (width, places, shown) = (self.width, self.places(), self.shown());
        let fill_bits = index_bits(u64::from(places) + 1);
        let there_bits = index_bits(u64::from(shown) + 1);
        let data = m.add("data_o", width * shown, SignalKind::Output);
        let all_bits = index_bits((u64::from(shown) << unit) + 1);
        let there = m.add("there_o", all_bits, SignalKind::Output);
        let take_in = m.add("take_i", all_bits, SignalKind::Input);
        let take = m.add("take", there_bits, SignalKind::Wire);
        m.assign(take, m.get(take_in).slice(unit, there_bits));
        let (tokens, tokens_next) = m.add_register("tokens", Bits::zero(width * places));
        let (fill, fill_next) = m.add_register("fill", Bits::zero(fill_bits));
        let wire = |m: &mut Module, name: &str, width: u32| m.add(name, width, SignalKind::Wire);
        // What the window holds where a beat is added to it, and with that beat. The reader takes before that, or if the link is
        // direct behind it.
        let (left, rest) = (wire(m, "left", fill_bits), wire(m, "rest", width * places));
        let (more, all) = (wire(m, "more", fill_bits), wire(m, "all", width * places));
        self.add_beat(m, beat, (left, rest), (more, all));
        let ((from, held), (shown_fill, shown_tokens)) =
            if self.is_direct { ((more, all), (more, all)) } else { ((fill, tokens), (fill, tokens)) };
        m.assign(data, m.get(shown_tokens).slice(0, width * shown));
        let most = Expr::number(fill_bits, u64::from(shown));
        let is_more = Expr::compare(CompareOp::Less, most.clone(), m.get(shown_fill));
        let visible = match shown == places {
            true => m.get(shown_fill),
            false => Expr::select(is_more, most, m.get(shown_fill)),
        };
        let visible = visible.resized(false, there_bits);
        let none = (unit > 0).then(|| Expr::number(unit, 0));
        m.assign(there, Expr::concat(std::iter::once(visible).chain(none).collect()));
        let kept = m.get(from).minus(m.get(take).resized(false, fill_bits));
        let moved = self.taken.iter().filter(|&&n| n < u64::from(places)).fold(m.get(held), |otherwise, &n| {
            let bits = width * n as u32;
            let rest = m.get(held).slice(bits, width * places - bits).resized(false, width * places);
            Expr::select(m.get(take).is(n), rest, otherwise)
        });
        let ends = if self.is_direct {
            m.assign(left, m.get(fill));
            m.assign(rest, m.get(tokens));
            [(fill_next, kept), (tokens_next, moved)]
        } else {
            m.assign(left, kept);
            m.assign(rest, moved);
            [(fill_next, m.get(more)), (tokens_next, m.get(all))]
        };
        for (signal, value) in ends {
            m.assign(signal, value);
        }
    }

    /// Adds a beat, or a token of it, to so many tokens: how many there are then, and which.
    fn add_beat(&self, m: &mut Module, beat: &Beat, (left, rest): Held, (more, all): Held) {
        let (width, places) = (self.width, self.places());
        let fill_bits = m.signal(left).width;
        let wire = |m: &mut Module, name: &str| m.add(name, 1, SignalKind::Wire);
        let whole = wire(m, "whole");
        let at = |m: &Module, place: u32| m.get(left).is(u64::from(place));
        let any_of = |m: &Module, places: &mut dyn Iterator<Item = u32>| {
            places.fold(Expr::bit(false), |any, place| any.or(at(m, place)))
        };
        let is_start = any_of(m, &mut self.starts());
        // Beats do not fall apart where they only wait for the reader, who has all that it may take.
        let is_behind =
            any_of(m, &mut (0..places).step_by(self.step() as usize).filter(|&place| place >= self.shown()));
        let singles = self.has_singles().then(|| self.add_singles(m, beat, whole));
        let is_first = singles.as_ref().map_or(Expr::bit(true), |singles| m.get(singles.skipped).is(0));
        m.assign(whole, m.get(beat.valid).and(is_first.clone()).and(is_start));
        match &singles {
            Some(singles) => {
                let waits = at(m, places).or(is_first.and(is_behind));
                m.assign(singles.goes, m.get(beat.valid).and(m.get(whole).inverted()).and(waits.inverted()));
            }
            None => m.assign(beat.done, m.get(whole)),
        }
        let next = (0..places).rev().map(|place| {
            let kept = m.get(rest).slice(place * width, width);
            let kept = match &singles {
                Some(singles) => Expr::select(m.get(singles.goes).and(at(m, place)), singles.next.clone(), kept),
                None => kept,
            };
            let starts = self.starts().filter(|&start| start <= place && place < start + self.beat());
            starts.fold(kept, |kept, start| {
                let of_beat = m.get(beat.data).slice((place - start) * width, width);
                Expr::select(m.get(whole).and(at(m, start)), of_beat, kept)
            })
        });
        let next = Expr::concat(next.collect());
        m.assign(all, next);
        let otherwise = singles.map_or(Expr::number(fill_bits, 0), |one| m.get(one.goes).resized(false, fill_bits));
        let come = Expr::select(m.get(whole), m.get(beat.count).resized(false, fill_bits), otherwise);
        m.assign(more, m.get(left).plus(come));
    }

    /// What a beat needs that goes to the window token by token; and when it is done.
    fn add_singles(&self, m: &mut Module, beat: &Beat, whole: SignalId) -> Singles {
        let goes = m.add("single", 1, SignalKind::Wire);
        let bits = index_bits(u64::from(self.beat()) + 1);
        let (skipped, skipped_next) = m.add_register("skipped", Bits::zero(bits));
        let more = m.get(skipped).plus(Expr::number(bits, 1));
        let is_last = Expr::compare(CompareOp::Equal, more.clone(), m.get(beat.count));
        let is_done = m.get(whole).or(m.get(goes).and(is_last));
        m.assign(beat.done, is_done);
        let none = Expr::number(bits, 0);
        let kept = Expr::select(m.get(goes), more, m.get(skipped));
        m.assign(skipped_next, Expr::select(m.get(beat.done), none, kept));
        let next = (1..self.beat()).fold(m.get(beat.data).slice(0, self.width), |otherwise, n| {
            let token = m.get(beat.data).slice(n * self.width, self.width);
            Expr::select(m.get(skipped).is(u64::from(n)), token, otherwise)
        });
        Singles { goes, skipped, next }
    }
}

/// The tokens of a beat one by one.
struct Singles {
    /// One of them goes in this cycle.
    goes: SignalId,
    /// How many have gone,
    skipped: SignalId,
    /// and the next one.
    next: Expr,
}

/// How many tokens there are, and the tokens.
type Held = (SignalId, SignalId);

/// The beat that is to go to the window.
struct Beat {
    data: SignalId,
    count: SignalId,
    valid: SignalId,
    /// All of it is in the window after this cycle.
    done: SignalId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_rtl::{Design, simulate::Simulator};
    use std::collections::VecDeque;

    /// Bursts at random go through a link, and come out as the same tokens.
    fn keeps_order(link: &Link) {
        let design = Design { modules: vec![link.module()] };
        let mut simulator = Simulator::new(&design).expect("is right");
        let (mut wanted, mut next) = (VecDeque::new(), 0u32);
        let mut state = 12345u32;
        let mut random = |n: u32| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            (state >> 16) % n
        };
        let number = |simulator: &Simulator, name: &str| simulator.get(name).and_then(Bits::to_u64).unwrap_or(0);
        let (mut n_taken, beat_bits) = (0, index_bits(u64::from(link.beat()) + 1));
        for _ in 0..3000 {
            let count = link.made[random(link.made.len() as u32) as usize] as u32;
            let valid = random(4) > 0;
            let tokens: Vec<u32> = (0..count).map(|at| next.wrapping_add(at) & 0xff).collect();
            let data = tokens.iter().rev().fold(Bits::zero(8), |all, &token| all.concat(&Bits::new(8, token)));
            simulator.set("data_i", data.resized(8 * link.beat(), false));
            simulator.set("count_i", Bits::new(beat_bits, count));
            simulator.set("valid_i", Bits::new(1, u32::from(valid)));
            // A direct link shows what comes.
            simulator.settle();
            if valid && number(&simulator, "ready_o") == 1 {
                wanted.extend(tokens);
                next = next.wrapping_add(count);
            }
            let takes: Vec<u64> = link.taken.iter().copied().chain([0]).collect();
            let there = number(&simulator, "there_o");
            let take = takes[random(takes.len() as u32) as usize];
            let take = if take <= there { take } else { 0 };
            simulator.set("take_i", Bits::new(index_bits(u64::from(link.shown()) + 1), take));
            simulator.settle();
            let data = simulator.get("data_o").expect("is there").clone();
            for at in 0..take as u32 {
                assert_eq!(
                    Some(data.slice(8 * u64::from(at), 8)),
                    wanted.pop_front().map(|token: u32| Bits::new(8, token))
                );
                n_taken += 1;
            }
            simulator.clock();
            simulator.settle();
        }
        assert!(n_taken > 500, "{n_taken} tokens went through");
    }

    #[test]
    fn bursts_of_all_sizes_come_out_as_they_went_in() {
        for (made, taken) in [
            (vec![1], vec![1, 4]),
            (vec![1, 2, 3, 4], vec![1, 8]),
            (vec![1, 8], vec![1, 2, 4]),
            (vec![1, 3], vec![1, 4, 7]),
            (vec![6], vec![1]),
            (vec![2, 6], vec![1, 15]),
            (vec![1, 7, 15], vec![1, 6]),
            (vec![1, 2, 4], vec![5]),
            (vec![8], vec![8, 16]),
            (vec![8, 16], vec![8]),
            (vec![4, 16], vec![4, 8]),
            (vec![6, 12], vec![6]),
            (vec![5], vec![5, 10]),
        ] {
            for (depth, is_direct) in [(2, false), (8, false), (2, true), (4, true)] {
                keeps_order(&Link { width: 8, made: made.clone(), taken: taken.clone(), depth, is_direct });
            }
        }
    }
}
