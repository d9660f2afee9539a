//! Cyclic scheduling problems: loops on machines with several kinds of units, their schedules, bounds on these, and what is
//! verified of them. An iteration begins every `ii` cycles, whether the one before it has ended or not.
//!
//! The terms are those of Rau (*Iterative modulo scheduling*, 1994): II is the initiation interval, ResMII the bound that units
//! set on it, RecMII that which recurrences set, MaxLive the most values that are held at once.

use std::fmt;

/// An operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// The kind of unit that it needs, a position in [`Problem::units`]; `None`: none.
    pub unit: Option<usize>,
    /// Cycles that the unit cannot begin anything else, from its beginning on: 1 where it is pipelined.
    pub busy: usize,
    /// What else it takes for one cycle, such as a port when its result is there: a kind of unit, and cycles from its beginning.
    pub also: Vec<(usize, usize)>,
}

impl Operation {
    /// Kinds of units that it takes, each with the first cycle from its beginning and the number of cycles.
    fn taken(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let own = self.unit.map(|unit| (unit, 0, self.busy.max(1)));
        own.into_iter().chain(self.also.iter().map(|&(unit, offset)| (unit, offset, 1)))
    }
}

/// An operation must begin so many cycles after another one's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// What comes first.
    pub from: usize,
    /// What waits.
    pub to: usize,
    /// Cycles between their beginnings at least.
    pub latency: usize,
    /// Iterations between them: `to` of iteration `i + distance` waits for `from` of iteration `i`.
    pub distance: usize,
    /// Whether it is a value that `to` reads, and which is held until then.
    pub is_value: bool,
}

/// Operations of an iteration, for a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// How many units there are of each kind, each at least 1.
    pub units: Vec<usize>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// What waits for what. Those of distance 0 make no circle.
    pub dependences: Vec<Dependence>,
}

/// When operations of iteration 0 begin; those of iteration `i` begin `i * ii` cycles later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The initiation interval in cycles, at least 1.
    pub ii: usize,
    /// The cycle in which each operation begins.
    pub begins: Vec<usize>,
}

/// What is wrong with a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// It does not have a beginning for every operation, or no interval.
    NotAll,
    /// A dependence is not kept.
    TooEarly(Dependence),
    /// More units of a kind are busy in a cycle of the interval than there are.
    TooMany {
        /// The kind.
        unit: usize,
        /// The cycle, less than the interval.
        cycle: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::NotAll => f.write_str("not every operation has a cycle"),
            Violation::TooEarly(Dependence { from, to, .. }) => {
                write!(f, "operation {to} begins too early after {from}")
            }
            Violation::TooMany { unit, cycle } => write!(f, "too many units of kind {unit} are busy in cycle {cycle}"),
        }
    }
}

impl std::error::Error for Violation {}

impl Problem {
    /// For each operation the dependences that lead to it.
    pub fn incoming(&self) -> Vec<Vec<Dependence>> {
        self.sorted_by(|one| one.to)
    }

    /// For each operation the dependences that lead from it.
    pub fn outgoing(&self) -> Vec<Vec<Dependence>> {
        self.sorted_by(|one| one.from)
    }

    fn sorted_by(&self, end: impl Fn(&Dependence) -> usize) -> Vec<Vec<Dependence>> {
        let mut lists = vec![Vec::new(); self.operations.len()];
        self.dependences.iter().for_each(|one| lists[end(one)].push(*one));
        lists
    }

    /// Cycles that units of each kind are busy in an iteration, all of them together.
    pub fn work(&self) -> Vec<usize> {
        let mut work = vec![0; self.units.len()];
        for operation in &self.operations {
            for (unit, _, busy) in operation.taken() {
                work[unit] += busy;
            }
        }
        work
    }

    /// The bound on the interval that each kind of unit sets; its maximum is ResMII.
    pub fn bounds_of_units(&self) -> Vec<usize> {
        self.work().iter().zip(&self.units).map(|(work, n)| work.div_ceil((*n).max(1))).collect()
    }

    /// ResMII: no interval is shorter, for units are busy so long. At least 1.
    pub fn res_mii(&self) -> usize {
        // A unit that is busy beyond the interval would overlap with itself.
        let longest = self.operations.iter().filter(|one| one.unit.is_some()).map(|one| one.busy).max().unwrap_or(0);
        self.bounds_of_units().into_iter().max().unwrap_or(0).max(longest).max(1)
    }

    /// RecMII: no interval is shorter, for values come back so late. At least 1.
    pub fn rec_mii(&self) -> usize {
        let circles = self.on_circles();
        if circles.dependences.is_empty() {
            return 1;
        }
        circles.bound_of_circles()
    }

    /// The operations from which a way leads back through a dependence of a distance, roughly: what lies between the end of one and
    /// the beginning of one.
    fn on_circles(&self) -> Problem {
        let n = self.operations.len();
        let reach = |starts: Vec<usize>, lists: &[Vec<Dependence>], next: fn(&Dependence) -> usize| {
            let mut is_reached = vec![false; n];
            let mut open = starts;
            while let Some(at) = open.pop() {
                if !std::mem::replace(&mut is_reached[at], true) {
                    open.extend(lists[at].iter().map(next));
                }
            }
            is_reached
        };
        let carried = || self.dependences.iter().filter(|one| one.distance > 0);
        let after = reach(carried().map(|one| one.to).collect(), &self.outgoing(), |one| one.to);
        let before = reach(carried().map(|one| one.from).collect(), &self.incoming(), |one| one.from);
        let mut numbers = vec![None; n];
        let mut operations = Vec::new();
        for at in (0..n).filter(|&at| after[at] && before[at]) {
            numbers[at] = Some(operations.len());
            operations.push(self.operations[at].clone());
        }
        let dependences = self
            .dependences
            .iter()
            .filter_map(|one| Some(Dependence { from: numbers[one.from]?, to: numbers[one.to]?, ..*one }));
        Problem { units: self.units.clone(), dependences: dependences.collect(), operations }
    }

    fn bound_of_circles(&self) -> usize {
        let mut high = 1;
        while self.heights(high).is_none() {
            high *= 2;
        }
        let mut low = 1;
        while low < high {
            let middle = (low + high) / 2;
            match self.heights(middle) {
                Some(_) => high = middle,
                None => low = middle + 1,
            }
        }
        low
    }

    /// For each operation the cycles from its beginning to the beginning of the last that waits for it, where iterations begin
    /// every `ii` cycles; `None` where a recurrence is longer.
    pub fn heights(&self, ii: usize) -> Option<Vec<i64>> {
        let n = self.operations.len();
        let order = self.topological();
        let outgoing = self.outgoing();
        let mut heights = vec![0_i64; n];
        // A way without a circle has at most as many dependences of a distance as there are.
        let n_carried = self.dependences.iter().filter(|one| one.distance > 0).count();
        for _ in 0..=n_carried + 1 {
            let mut has_changed = false;
            for &at in order.iter().rev() {
                for one in &outgoing[at] {
                    let height = heights[one.to] + one.latency as i64 - (one.distance * ii) as i64;
                    if height > heights[at] {
                        heights[at] = height;
                        has_changed = true;
                    }
                }
            }
            if !has_changed {
                return Some(heights);
            }
        }
        None
    }

    /// The operations in an order in which what waits within an iteration stands behind.
    pub fn topological(&self) -> Vec<usize> {
        let outgoing = self.outgoing();
        let mut missing = vec![0; self.operations.len()];
        self.dependences.iter().filter(|one| one.distance == 0).for_each(|one| missing[one.to] += 1);
        let mut order: Vec<usize> = (0..missing.len()).filter(|&at| missing[at] == 0).collect();
        let mut next = 0;
        while let Some(&at) = order.get(next) {
            next += 1;
            for one in outgoing[at].iter().filter(|one| one.distance == 0) {
                missing[one.to] -= 1;
                if missing[one.to] == 0 {
                    order.push(one.to);
                }
            }
        }
        order
    }

    /// The most values that are held at once: each from when its operation has it to the last that reads it.
    pub fn max_live(&self, schedule: &Schedule) -> usize {
        let mut live = vec![0_usize; schedule.ii];
        for (at, outgoing) in self.outgoing().iter().enumerate() {
            let reads = outgoing.iter().filter(|one| one.is_value);
            let ends = reads.clone().map(|one| schedule.begins[one.to] + one.distance * schedule.ii);
            let (Some(end), Some(latency)) = (ends.max(), reads.map(|one| one.latency).min()) else { continue };
            let begin = schedule.begins[at] + latency;
            let cycles = (end + 1).saturating_sub(begin);
            live.iter_mut().for_each(|live| *live += cycles / schedule.ii);
            for cycle in begin..begin + cycles % schedule.ii {
                live[cycle % schedule.ii] += 1;
            }
        }
        live.into_iter().max().unwrap_or(0)
    }

    /// Verifies a schedule:
    ///
    /// * every operation has a cycle, and the interval is not 0;
    /// * every dependence is kept, those from iteration to iteration too;
    /// * in no cycle of the interval more units of a kind are busy than there are, all iterations that overlap counted.
    ///
    /// # Errors
    ///
    /// The first that does not hold.
    pub fn verify(&self, schedule: &Schedule) -> Result<(), Violation> {
        if schedule.begins.len() != self.operations.len() || schedule.ii == 0 {
            return Err(Violation::NotAll);
        }
        let begins = &schedule.begins;
        let is_kept = |one: &Dependence| begins[one.to] + one.distance * schedule.ii >= begins[one.from] + one.latency;
        if let Some(one) = self.dependences.iter().find(|one| !is_kept(one)) {
            return Err(Violation::TooEarly(*one));
        }
        let mut busy = vec![vec![0; schedule.ii]; self.units.len()];
        for (operation, &begin) in self.operations.iter().zip(begins) {
            for (unit, offset, n) in operation.taken() {
                for cycle in begin + offset..begin + offset + n {
                    let cycle = cycle % schedule.ii;
                    busy[unit][cycle] += 1;
                    if busy[unit][cycle] > self.units[unit] {
                        return Err(Violation::TooMany { unit, cycle });
                    }
                }
            }
        }
        Ok(())
    }
}

/// What units are busy with in the cycles of an interval, while a schedule is made.
pub(crate) struct Reservations {
    ii: usize,
    /// Of each kind in each cycle, the operations that keep one busy.
    busy: Vec<Vec<Vec<u32>>>,
    units: Vec<usize>,
}

impl Reservations {
    pub(crate) fn new(problem: &Problem, ii: usize) -> Self {
        Self { ii, busy: vec![vec![Vec::new(); ii]; problem.units.len()], units: problem.units.clone() }
    }

    /// Cycles of the interval.
    pub(crate) fn interval(&self) -> usize {
        self.ii
    }

    pub(crate) fn fits(&self, operation: &Operation, begin: usize) -> bool {
        let mut own: Vec<(usize, usize)> = Vec::new();
        for (unit, offset, n) in operation.taken() {
            if n > self.ii {
                return false;
            }
            for cycle in begin + offset..begin + offset + n {
                let here = (unit, cycle % self.ii);
                let mine = own.iter().filter(|other| **other == here).count();
                if self.busy[unit][here.1].len() + mine >= self.units[unit] {
                    return false;
                }
                if !operation.also.is_empty() {
                    own.push(here);
                }
            }
        }
        true
    }

    pub(crate) fn take(&mut self, at: usize, operation: &Operation, begin: usize) {
        for (unit, offset, n) in operation.taken() {
            for cycle in begin + offset..begin + offset + n {
                self.busy[unit][cycle % self.ii].push(at as u32);
            }
        }
    }

    pub(crate) fn free(&mut self, at: usize, operation: &Operation, begin: usize) {
        for (unit, offset, n) in operation.taken() {
            for cycle in begin + offset..begin + offset + n {
                let here = &mut self.busy[unit][cycle % self.ii];
                if let Some(place) = here.iter().position(|&other| other as usize == at) {
                    here.remove(place);
                }
            }
        }
    }

    /// The operations that keep units of a kind busy in a cycle.
    pub(crate) fn of(&self, unit: usize, cycle: usize) -> Vec<usize> {
        self.busy[unit][cycle % self.ii].iter().map(|&at| at as usize).collect()
    }

    /// The operations that are in the way of one in some cycle.
    pub(crate) fn in_the_way(&self, operation: &Operation, begin: usize) -> Vec<usize> {
        let mut all = Vec::new();
        for (unit, offset, n) in operation.taken() {
            for cycle in begin + offset..begin + offset + n {
                let here = &self.busy[unit][cycle % self.ii];
                if here.len() >= self.units[unit] {
                    all.extend(here.first().map(|&at| at as usize));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Numbers by chance, less than the argument.
    pub(crate) fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = crate::chance::states(seed);
        move |n| (state() >> 33) as usize % n
    }

    pub(crate) fn random(below: &mut impl FnMut(usize) -> usize) -> Problem {
        let units: Vec<usize> = (0..1 + below(3)).map(|_| 1 + below(3)).collect();
        let n = 1 + below(30);
        let mut operations = Vec::new();
        let mut dependences = Vec::new();
        for to in 0..n {
            let unit = (below(8) > 0).then(|| below(units.len()));
            // Of kinds of which there are several: an operation that takes the only one twice has no schedule.
            let several: Vec<usize> = (0..units.len()).filter(|&unit| units[unit] > 1).collect();
            let n_also = if several.is_empty() { 0 } else { below(8) / 7 };
            let also = (0..n_also).map(|_| (several[below(several.len())], below(4))).collect();
            operations.push(Operation { unit, busy: if below(10) == 0 { 1 + below(4) } else { 1 }, also });
            for _ in 0..below(4) {
                let distance = if to == 0 || below(6) == 0 { 1 + below(2) } else { 0 };
                let from = if distance > 0 { below(n) } else { below(to) };
                dependences.push(Dependence { from, to, latency: below(5), distance, is_value: true });
            }
        }
        Problem { units, operations, dependences }
    }

    /// Two operations of one unit, of which the second gives the first of the next iteration a value after 3 cycles.
    fn chain() -> Problem {
        let value = |from, to, latency, distance| Dependence { from, to, latency, distance, is_value: true };
        Problem {
            units: vec![1],
            operations: vec![Operation { unit: Some(0), busy: 1, also: Vec::new() }; 2],
            dependences: vec![value(0, 1, 2, 0), value(1, 0, 3, 1)],
        }
    }

    #[test]
    fn bounds_are_those_of_units_and_recurrences() {
        assert_eq!((chain().res_mii(), chain().rec_mii()), (2, 5));
        let mut far = chain();
        far.dependences[1].distance = 2;
        assert_eq!(far.rec_mii(), 3);
    }

    #[test]
    fn what_is_wrong_with_a_schedule_is_said() {
        let of = |ii, begins: &[usize]| chain().verify(&Schedule { ii, begins: begins.to_vec() });
        assert_eq!(of(5, &[0, 2]), Ok(()));
        assert_eq!(of(4, &[0, 2]), Err(Violation::TooEarly(chain().dependences[1])));
        assert_eq!(of(5, &[0, 1]), Err(Violation::TooEarly(chain().dependences[0])));
        assert_eq!(of(5, &[0, 5]), Err(Violation::TooEarly(chain().dependences[1])));
        assert_eq!(of(5, &[0]), Err(Violation::NotAll));
        let mut apart = chain();
        apart.dependences.clear();
        assert_eq!(
            apart.verify(&Schedule { ii: 3, begins: vec![0, 3] }),
            Err(Violation::TooMany { unit: 0, cycle: 0 })
        );
    }

    #[test]
    fn values_are_counted_where_iterations_overlap() {
        let schedule = Schedule { ii: 5, begins: vec![0, 2] };
        assert_eq!(chain().max_live(&schedule), 1);
        let mut long = chain();
        long.dependences.truncate(1);
        // From cycle 2 to cycle 11: eleven values of one in each cycle of an interval of 5, or two.
        assert_eq!(long.max_live(&Schedule { ii: 5, begins: vec![0, 11] }), 2);
    }
}
