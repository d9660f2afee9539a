//! Code-size budget: variants are dropped, the least profitable first, until the code fits. Which ways of running loops
//! are left out where the code would be too long for compilers: those first that gain least for their length, so that a
//! network becomes a little slower with its length and is not given up as a whole.

use super::loops::{Loops, PrintedUnit};
use crate::c::kernel::Needs;

/// What transitions take that run one after another, for each cycle of the slowest way of running them as a loop.
const TRANSITIONS_PER_LOOP: f64 = 2.0;

/// What a gain for many messages counts, for one message 1: those come one at a time more often.
const WEIGHT_OF_MANY: f64 = 0.5;

/// One that could be left out.
#[derive(Clone, Copy)]
enum Way {
    /// Of the ways for one message.
    One(usize),
    /// Of those for many.
    Many(usize),
}

impl PrintedUnit<'_> {
    /// Tokens that an iteration moves.
    fn tokens(&self) -> u64 {
        let body = &self.unit.body;
        body.consumes.iter().chain(&body.produces).map(|port| port.0).sum()
    }

    /// What could be left out, each with its size and the part of the time that it saves.
    fn optional(&self) -> Vec<(Way, usize, f64)> {
        let gain = |own: f64, next: f64| 1.0 - (own / next.max(f64::MIN_POSITIVE)).min(1.0);
        let cycles: Vec<f64> = self.variants.iter().map(|variant| variant.function.cycles).collect();
        let ones = self.variants.iter().enumerate().filter(|(_, variant)| variant.needs != Needs::Nothing);
        let ones = ones.map(|(at, variant)| {
            let next = cycles.get(at + 1).copied().unwrap_or(TRANSITIONS_PER_LOOP * cycles[at]);
            (Way::One(at), variant.function.size, gain(cycles[at], next))
        });
        let each: Vec<f64> = self.ways.ways.iter().map(|way| way.cycles_for(way.lanes) / way.lanes as f64).collect();
        let many = self.ways.ways.iter().enumerate().map(|(at, way)| {
            let next = each.get(at + 1).copied().unwrap_or(self.ways.alone);
            (Way::Many(at), way.function.size, WEIGHT_OF_MANY * gain(each[at], next))
        });
        ones.chain(many).collect()
    }

    /// Leaves one out.
    fn drop_way(&mut self, way: Way) {
        let function = match way {
            Way::One(at) => self.variants.remove(at).function,
            Way::Many(at) => self.ways.ways.remove(at).function,
        };
        self.shortened = true;
        self.dropped.extend(function.support);
    }
}

impl Loops<'_> {
    /// The size of all functions, in operands.
    pub fn size(&self) -> usize {
        let of_unit = |unit: &PrintedUnit| {
            let many = unit.ways.ways.iter().map(|way| &way.function);
            unit.functions().chain(&unit.arm).chain(many).map(|function| function.size).sum::<usize>()
        };
        self.units.iter().map(of_unit).sum()
    }

    /// Leaves out ways until about so much is gone, or there is none any more. Loops that move more count more.
    pub fn shorten(&mut self, size: usize) {
        let most = self.units.iter().map(PrintedUnit::tokens).max().unwrap_or(0).max(1) as f64;
        let mut gone = 0;
        while gone < size {
            let all = self.units.iter().enumerate().flat_map(|(unit, printed)| {
                let weight = printed.tokens() as f64 / most;
                printed.optional().into_iter().map(move |(way, length, gain)| (unit, way, length, weight * gain))
            });
            let value = |&(_, _, length, gain): &(usize, Way, usize, f64)| gain / length.max(1) as f64;
            let Some((unit, way, length, _)) = all.min_by(|a, b| value(a).total_cmp(&value(b))) else { return };
            self.units[unit].drop_way(way);
            gone += length;
        }
    }
}
