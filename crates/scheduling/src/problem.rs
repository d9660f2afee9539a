//! Resource-constrained acyclic scheduling problems, their solutions, and what is verified of these.

use std::fmt;

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Cycles from its beginning until its result is there; an operation of none takes no place in a cycle.
    pub latency: usize,
    /// Operations whose results it reads, each once. They have smaller numbers.
    pub reads: Vec<usize>,
}

/// Operations for a machine that begins so many in a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Each after those that it reads.
    pub operations: Vec<Operation>,
    /// Operations that begin in a cycle at most, at least 1.
    pub issued: usize,
}

/// When operations begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The operations in the order in which they begin.
    pub order: Vec<usize>,
    /// The cycle in which each begins, by the number of the operation.
    pub begins: Vec<usize>,
}

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The order does not have every operation once.
    NotAll,
    /// An operation does not stand behind the one before it in time.
    OutOfOrder(usize),
    /// An operation begins before a result is there that it reads.
    TooEarly {
        /// Which.
        operation: usize,
        /// Whose result.
        reads: usize,
    },
    /// More operations begin in a cycle than the machine begins.
    TooMany {
        /// Which.
        cycle: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::NotAll => f.write_str("not every operation has one place in the order"),
            Violation::OutOfOrder(operation) => write!(f, "operation {operation} begins before the one in front of it"),
            Violation::TooEarly { operation, reads } => {
                write!(f, "operation {operation} begins before the result of {reads} is there")
            }
            Violation::TooMany { cycle } => write!(f, "too many operations begin in cycle {cycle}"),
        }
    }
}

impl std::error::Error for Violation {}

impl Problem {
    /// For each operation those that read its result.
    pub fn readers(&self) -> Vec<Vec<usize>> {
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); self.operations.len()];
        for (at, operation) in self.operations.iter().enumerate() {
            operation.reads.iter().for_each(|&read| readers[read].push(at));
        }
        readers
    }

    /// For each operation the cycles from its beginning to the end of all that waits for it.
    pub fn ways(&self, readers: &[Vec<usize>]) -> Vec<usize> {
        let mut ways = vec![0; self.operations.len()];
        for at in (0..self.operations.len()).rev() {
            let after = readers[at].iter().map(|&reader| ways[reader]).max().unwrap_or(0);
            ways[at] = self.operations[at].latency + after;
        }
        ways
    }

    /// Verifies a schedule:
    ///
    /// * its order has every operation once, and their cycles do not become less along it;
    /// * an operation begins when the results that it reads are there, and stands behind them;
    /// * no more operations begin in a cycle than the machine begins; those of no latency do not count.
    ///
    /// # Errors
    ///
    /// The first that does not hold.
    pub fn verify(&self, schedule: &Schedule) -> Result<(), Violation> {
        let n = self.operations.len();
        let mut places = vec![None; n];
        for (place, &at) in schedule.order.iter().enumerate() {
            match places.get_mut(at) {
                Some(free @ None) => *free = Some(place),
                _ => return Err(Violation::NotAll),
            }
        }
        if schedule.order.len() != n || schedule.begins.len() != n {
            return Err(Violation::NotAll);
        }
        let begins = &schedule.begins;
        if let Some(pair) = schedule.order.windows(2).find(|pair| begins[pair[0]] > begins[pair[1]]) {
            return Err(Violation::OutOfOrder(pair[1]));
        }
        let mut in_cycle = std::collections::BTreeMap::new();
        for (operation, one) in self.operations.iter().enumerate() {
            for &reads in &one.reads {
                let is_there = begins[reads] + self.operations[reads].latency <= begins[operation];
                if !is_there || places[reads] > places[operation] {
                    return Err(Violation::TooEarly { operation, reads });
                }
            }
            if one.latency > 0 {
                *in_cycle.entry(begins[operation]).or_insert(0) += 1;
            }
        }
        match in_cycle.into_iter().find(|&(_, begun)| begun > self.issued) {
            Some((cycle, _)) => Err(Violation::TooMany { cycle }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> Problem {
        let of = |latency, reads: &[usize]| Operation { latency, reads: reads.to_vec() };
        Problem { operations: vec![of(2, &[]), of(1, &[]), of(1, &[0, 1])], issued: 1 }
    }

    #[test]
    fn what_is_wrong_with_a_schedule_is_said() {
        let of = |order: &[usize], begins: &[usize]| {
            problem().verify(&Schedule { order: order.to_vec(), begins: begins.to_vec() })
        };
        assert_eq!(of(&[0, 1, 2], &[0, 1, 2]), Ok(()));
        assert_eq!(of(&[0, 2], &[0, 1, 2]), Err(Violation::NotAll));
        assert_eq!(of(&[0, 0, 2], &[0, 1, 2]), Err(Violation::NotAll));
        assert_eq!(of(&[1, 0, 2], &[0, 1, 2]), Err(Violation::OutOfOrder(0)));
        assert_eq!(of(&[0, 1, 2], &[0, 1, 1]), Err(Violation::TooEarly { operation: 2, reads: 0 }));
        assert_eq!(of(&[0, 1, 2], &[0, 0, 2]), Err(Violation::TooMany { cycle: 0 }));
    }
}
