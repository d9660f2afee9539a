//! Scheduling against spills. An order of operations for which few registers are enough.
//!
//! Compilers keep to the order of a long text more or less, and put on the stack what finds no register. Many orders are
//! made, each by taking next what frees registers or what most waits for, and the one is kept that takes the fewest stores
//! and loads when the value that is needed last leaves first (Belady 1966).

/// Orders that are tried.
const ORDERS: u32 = 64;

/// What a store and a load count: there is one of the one in a cycle, two of the other.
const STORE: u32 = 2;
const LOAD: u32 = 1;

/// Operations of one result each, and values that come from outside: those have the first numbers, then the results of
/// operations follow.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// Values from outside, which come into a register where they are first read.
    pub n_inputs: usize,
    /// The values that each operation reads, once each.
    pub operands: &'a [Vec<usize>],
    /// Registers, at least 2.
    pub n_registers: usize,
}

impl Values<'_> {
    /// What an order takes: a store for each value that is put aside, and a load for each time that it is read from there. One
    /// operand of an operation may lie in memory.
    pub fn cost(&self, order: &[usize]) -> u32 {
        Search::new(self).cost(order)
    }

    /// An order that takes less than the operations as they are numbered, if one of those that are tried does; `below` gives
    /// numbers by chance, less than its argument.
    pub fn better_order(&self, below: &mut dyn FnMut(usize) -> usize) -> Option<Vec<usize>> {
        let search = Search::new(self);
        let own: Vec<usize> = (0..self.operands.len()).collect();
        let own_cost = search.cost(&own);
        let (mut best, mut best_cost) = (own, own_cost);
        for number in 0..ORDERS {
            if best_cost == 0 {
                break;
            }
            let order = search.order(number, below);
            let cost = search.cost(&order);
            if cost < best_cost {
                (best, best_cost) = (order, cost);
            }
        }
        (best_cost < own_cost).then_some(best)
    }
}

struct Search<'a> {
    n_inputs: usize,
    n_registers: usize,
    operands: &'a [Vec<usize>],
    /// The operations that read each value.
    readers: Vec<Vec<usize>>,
    /// Operations from each to the end.
    ways: Vec<i64>,
}

impl<'a> Search<'a> {
    fn new(values: &Values<'a>) -> Search<'a> {
        let Values { n_inputs, operands, n_registers } = *values;
        let mut readers = vec![Vec::new(); n_inputs + operands.len()];
        for (operation, list) in operands.iter().enumerate() {
            list.iter().for_each(|&value| readers[value].push(operation));
        }
        let mut ways: Vec<i64> = vec![0; operands.len()];
        for operation in (0..operands.len()).rev() {
            let after = readers[n_inputs + operation].iter().map(|&reader| ways[reader]).max();
            ways[operation] = 1 + after.unwrap_or(0);
        }
        Search { n_inputs, n_registers: n_registers.max(2), operands, readers, ways }
    }

    /// An order: next is always what frees the most registers, or what the longest way to the end begins with.
    fn order(&self, number: u32, below: &mut dyn FnMut(usize) -> usize) -> Vec<usize> {
        // What a register counts against an operation of the way, and chance against both.
        let (register, way, chance) = (200, i64::from(number % 16) * 2, [1, 30, 100, 100][number as usize / 16 % 4]);
        let n_inputs = self.n_inputs;
        let mut unread: Vec<usize> = self.readers.iter().map(Vec::len).collect();
        let mut is_held = vec![false; n_inputs];
        let mut missing: Vec<usize> =
            self.operands.iter().map(|list| list.iter().filter(|&&value| value >= n_inputs).count()).collect();
        let mut ready: Vec<usize> = (0..missing.len()).filter(|&operation| missing[operation] == 0).collect();
        let mut order = Vec::with_capacity(missing.len());
        loop {
            let mut best: Option<(i64, usize)> = None;
            for (at, &operation) in ready.iter().enumerate() {
                let list = &self.operands[operation];
                let freed = list.iter().filter(|&&value| unread[value] == 1).count() as i64;
                let read = list.iter().filter(|&&value| value < n_inputs && !is_held[value]).count() as i64;
                let kept = i64::from(unread[n_inputs + operation] > 0);
                let worth = register * (freed - read - kept) + way * self.ways[operation] + below(chance) as i64;
                if best.is_none_or(|(most, _)| worth > most) {
                    best = Some((worth, at));
                }
            }
            let Some((_, at)) = best else { return order };
            let operation = ready.swap_remove(at);
            for &value in &self.operands[operation] {
                unread[value] -= 1;
                if value < n_inputs {
                    is_held[value] = true;
                }
            }
            order.push(operation);
            for &reader in &self.readers[n_inputs + operation] {
                missing[reader] -= 1;
                if missing[reader] == 0 {
                    ready.push(reader);
                }
            }
        }
    }

    fn cost(&self, order: &[usize]) -> u32 {
        const NEVER: usize = usize::MAX;
        let n_values = self.readers.len();
        // Where each operand of each operation is read next, and in the end where each value is read first.
        let mut next = vec![NEVER; n_values];
        let mut after: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (at, &operation) in order.iter().enumerate().rev() {
            after[at] = self.operands[operation].iter().map(|&value| next[value]).collect();
            self.operands[operation].iter().for_each(|&value| next[value] = at);
        }
        let mut is_stored = vec![false; n_values];
        let mut is_known: Vec<bool> = vec![false; n_values];
        // Values in registers, and where they are read next.
        let mut held: Vec<(usize, usize)> = Vec::new();
        let mut cost = 0;
        for (at, &operation) in order.iter().enumerate() {
            let mut in_memory = 0;
            for (&value, &then) in self.operands[operation].iter().zip(&after[at]) {
                if !std::mem::replace(&mut is_known[value], true) {
                    held.push((value, at));
                }
                match held.iter().position(|one| one.0 == value) {
                    Some(place) if then == NEVER => drop(held.swap_remove(place)),
                    Some(place) => held[place].1 = then,
                    None => {
                        cost += LOAD;
                        in_memory += 1;
                        if in_memory > 1 && then != NEVER {
                            held.push((value, then));
                        }
                    }
                }
            }
            let result = self.n_inputs + operation;
            is_known[result] = true;
            if next[result] != NEVER {
                held.push((result, next[result]));
            }
            while held.len() > self.n_registers {
                // Of those that are read at the same time what lies in memory already goes first.
                let others = held.iter().enumerate().filter(|(_, one)| one.0 != result);
                let last = others.max_by_key(|(_, one)| (one.1, is_stored[one.0])).map(|(place, _)| place);
                let (value, _) = held.swap_remove(last.unwrap_or(0));
                if !std::mem::replace(&mut is_stored[value], true) {
                    cost += STORE;
                }
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_find_no_register_are_stored_once_and_loaded_where_they_are_read() {
        // Values 0 and 1 come from outside. Of three registers these have two when operation 1 comes: the result of
        // operation 0 goes, and both of the last operations read it.
        let operands = [vec![0, 1], vec![0, 1], vec![0, 1], vec![3, 4], vec![2, 5], vec![2, 6]];
        let own: Vec<usize> = (0..operands.len()).collect();
        let cost = |n_registers| Values { n_inputs: 2, operands: &operands, n_registers }.cost(&own);
        assert_eq!(cost(4), 0);
        assert_eq!(cost(3), STORE + 2 * LOAD);
    }

    #[test]
    fn an_order_is_better_or_none() {
        // All sums of neighbours, then their sums from the last on.
        let n = 12;
        let mut operands: Vec<Vec<usize>> = (0..n - 1).map(|at| vec![at, at + 1]).collect();
        for at in 0..n - 2 {
            operands.push(vec![n + n - 3 - at, if at == 0 { n + n - 2 } else { n + operands.len() - 1 }]);
        }
        let values = |n_registers| Values { n_inputs: n, operands: &operands, n_registers };
        let own: Vec<usize> = (0..operands.len()).collect();
        let mut chance = 0;
        let mut below = |most: usize| {
            chance = (chance * 5 + 3) % 8192;
            chance % most.max(1)
        };
        let order = values(6).better_order(&mut below).expect("one that takes less");
        assert!(values(6).cost(&order) < values(6).cost(&own));
        assert_eq!(values(64).better_order(&mut below), None);
    }
}
