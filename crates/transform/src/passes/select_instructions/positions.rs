//! Lane assignment. Which lane of a register each byte of a state gets.
//!
//! A round in a transition and a round of an instruction are matrices of 8 x 8 blocks. The order of bytes in a register is
//! free, so the question is whether rows and columns of the one can be permuted to give the other, for a whole chain of
//! rounds at once: a byte leaves one round where it enters the next. Variables are the positions of atoms and of
//! results that are no atom's index, a domain is a set of lanes, and each row is a constraint. Sets are cut until
//! nothing changes; where more than one lane is left one is tried, the preferred first.

use super::meaning::{Block, Matrix};

/// A variable: the lane of an atom or of a result.
pub type Variable = usize;

/// What a result is made of: it stands at a lane of the matrix's result, and what enters at those of its operand.
#[derive(Clone, Debug)]
pub struct Constraint<'a> {
    /// The instruction.
    pub matrix: &'a Matrix,
    /// The result.
    pub result: Variable,
    /// What enters, and how.
    pub entering: Vec<(Variable, Block)>,
}

/// A question.
#[derive(Clone, Debug, Default)]
pub struct Puzzle<'a> {
    /// For each variable the number of lanes, and the lane that is tried first.
    pub variables: Vec<(usize, usize)>,
    /// Rows of rounds.
    pub constraints: Vec<Constraint<'a>>,
    /// Variables that stand at different lanes.
    pub different: Vec<Vec<Variable>>,
    /// The order in which variables are tried.
    pub order: Vec<Variable>,
}

/// Tries after which a search is given up.
const MOST_TRIES: usize = 4096;

impl Puzzle<'_> {
    /// Lanes at which a result could stand, whatever enters where.
    pub fn possible(matrix: &Matrix, blocks: &[Block]) -> bool {
        (0..matrix.lanes()).any(|p| fits(matrix, p, blocks))
    }

    /// A lane for each variable.
    pub fn solve(&self) -> Option<Vec<usize>> {
        let mut domains: Vec<u128> = self.variables.iter().map(|&(lanes, _)| ones(lanes)).collect();
        let watching = self.watching();
        let all: Vec<usize> = (0..self.constraints.len()).collect();
        self.cut(&mut domains, &watching, all)?;
        let mut tries = MOST_TRIES;
        let domains = self.search(domains, &watching, &mut tries)?;
        Some(domains.iter().map(|domain| domain.trailing_zeros() as usize).collect())
    }

    fn watching(&self) -> Vec<Vec<usize>> {
        let mut watching = vec![Vec::new(); self.variables.len()];
        for (number, constraint) in self.constraints.iter().enumerate() {
            watching[constraint.result].push(number);
            for (variable, _) in &constraint.entering {
                watching[*variable].push(number);
            }
        }
        watching
    }

    fn search(&self, domains: Vec<u128>, watching: &[Vec<usize>], tries: &mut usize) -> Option<Vec<u128>> {
        let Some(&open) = self.order.iter().find(|&&variable| domains[variable].count_ones() > 1) else {
            return Some(domains);
        };
        let (lanes, preferred) = self.variables[open];
        for lane in (0..lanes).map(|lane| (lane + preferred) % lanes) {
            if domains[open] >> lane & 1 == 0 {
                continue;
            }
            if *tries == 0 {
                return None;
            }
            *tries -= 1;
            let mut tried = domains.clone();
            tried[open] = 1 << lane;
            if self.cut(&mut tried, watching, watching[open].clone()).is_some()
                && let Some(found) = self.search(tried, watching, tries)
            {
                return Some(found);
            }
        }
        None
    }

    /// Cuts domains until nothing changes; `None` where one becomes empty.
    fn cut(&self, domains: &mut [u128], watching: &[Vec<usize>], mut open: Vec<usize>) -> Option<()> {
        loop {
            while let Some(number) = open.pop() {
                for variable in self.cut_one(&self.constraints[number], domains)? {
                    open.extend(watching[variable].iter().filter(|&&other| other != number));
                }
            }
            for group in &self.different {
                for variable in self.cut_different(group, domains)? {
                    open.extend(&watching[variable]);
                }
            }
            if open.is_empty() {
                return Some(());
            }
        }
    }

    fn cut_one(&self, constraint: &Constraint, domains: &mut [u128]) -> Option<Vec<Variable>> {
        let matrix = constraint.matrix;
        let mut allowed = vec![0u128; constraint.entering.len()];
        let mut lanes = 0u128;
        for p in (0..matrix.lanes()).filter(|p| domains[constraint.result] >> p & 1 == 1) {
            if matrix.entering(p).count() != constraint.entering.len() {
                continue;
            }
            let support: Vec<u128> = constraint
                .entering
                .iter()
                .map(|&(variable, block)| {
                    let same = matrix.entering(p).filter(|entering| entering.1 == block);
                    same.fold(0, |set, (q, _)| set | 1 << q) & domains[variable]
                })
                .collect();
            if support.iter().all(|set| *set != 0) {
                lanes |= 1 << p;
                for (all, set) in allowed.iter_mut().zip(support) {
                    *all |= set;
                }
            }
        }
        let mut changed = Vec::new();
        let entering = constraint.entering.iter().map(|entering| entering.0).zip(allowed);
        for (variable, set) in std::iter::once((constraint.result, lanes)).chain(entering) {
            let kept = domains[variable] & set;
            if kept == 0 {
                return None;
            }
            if kept != domains[variable] {
                domains[variable] = kept;
                changed.push(variable);
            }
        }
        Some(changed)
    }

    fn cut_different(&self, group: &[Variable], domains: &mut [u128]) -> Option<Vec<Variable>> {
        let mut changed = Vec::new();
        let mut taken = 0u128;
        for &variable in group.iter().filter(|&&variable| domains[variable].count_ones() == 1) {
            if taken & domains[variable] != 0 {
                return None;
            }
            taken |= domains[variable];
        }
        for &variable in group {
            if domains[variable].count_ones() > 1 && domains[variable] & taken != 0 {
                domains[variable] &= !taken;
                changed.push(variable);
                if domains[variable] == 0 {
                    return None;
                }
            }
        }
        Some(changed)
    }
}

fn fits(matrix: &Matrix, p: usize, blocks: &[Block]) -> bool {
    let mut there: Vec<Block> = matrix.entering(p).map(|entering| entering.1).collect();
    let mut wanted = blocks.to_vec();
    there.sort_unstable();
    wanted.sort_unstable();
    there == wanted
}

fn ones(n: usize) -> u128 {
    if n >= 128 { u128::MAX } else { (1 << n) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four lanes, each result of two neighbours with different blocks.
    fn ring() -> Matrix {
        let blocks = (0..4).map(|p| {
            let mut row = vec![0; 4];
            row[p] = 1;
            row[(p + 1) % 4] = 2;
            row
        });
        Matrix { blocks: blocks.collect(), constants: vec![0; 4] }
    }

    #[test]
    fn a_permuted_matrix_is_put_back() {
        let matrix = ring();
        // Variables 0..4 enter, 4..8 are results; entering variable i truly stands at lane of[i].
        let of = [2, 0, 3, 1];
        let results = [1, 3, 0, 2];
        let constraints = results.iter().enumerate().map(|(r, &p)| {
            let at = |q: usize| of.iter().position(|&lane| lane == q).unwrap_or(0);
            Constraint { matrix: &matrix, result: 4 + r, entering: vec![(at((p + 1) % 4), 2), (at(p), 1)] }
        });
        let mut puzzle = Puzzle {
            variables: vec![(4, 0); 8],
            constraints: constraints.collect(),
            different: vec![vec![0, 1, 2, 3]],
            order: (0..8).collect(),
        };
        puzzle.variables[0].1 = 2;
        assert_eq!(puzzle.solve(), Some([of, results].concat()));
        // Another block does not fit anywhere.
        puzzle.constraints[0].entering[0].1 = 3;
        assert_eq!(puzzle.solve(), None);
    }
}
