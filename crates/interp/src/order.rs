//! Scheduling policies of the interpreter: which instance is tried next.

/// An order in which instances are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One instance after the other, each as long as it can fire, and some thousand times at most.
    #[default]
    RoundRobin,
    /// After each firing, the instance closest to the outputs that can fire: tokens move on as far as they can before
    /// new ones come in.
    DemandDriven,
    /// Any instance, for a few firings.
    Random(u64),
}

/// SplitMix64: small, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z % bound as u64) as usize
    }
}

/// Firings of an instance in its round: one that can always fire does not keep the others from their turn for ever.
const TURN: u64 = 1 << 12;

/// Which instances are worth trying, and which comes next.
#[derive(Debug)]
pub(crate) struct Agenda {
    order: Order,
    random: Random,
    /// Instances in the order of preference: that of the network, or from the outputs to the inputs.
    preference: Vec<usize>,
    /// False for instances that could not fire and whose FIFOs have not changed since.
    awake: Vec<bool>,
    n_awake: usize,
    /// Position in `preference` at which the round goes on.
    next: usize,
}

impl Agenda {
    /// `rank` gives for each instance how far it is from the outputs.
    pub fn new(order: Order, rank: &[usize]) -> Self {
        let mut preference: Vec<usize> = (0..rank.len()).collect();
        if order == Order::DemandDriven {
            preference.sort_by_key(|&instance| rank[instance]);
        }
        let seed = if let Order::Random(seed) = order { seed } else { 0 };
        Agenda {
            order,
            random: Random::new(seed),
            preference,
            awake: vec![true; rank.len()],
            n_awake: rank.len(),
            next: 0,
        }
    }

    pub fn wake(&mut self, instance: usize) {
        if !self.awake[instance] {
            self.awake[instance] = true;
            self.n_awake += 1;
        }
    }

    pub fn sleep(&mut self, instance: usize) {
        if self.awake[instance] {
            self.awake[instance] = false;
            self.n_awake -= 1;
        }
    }

    /// The next instance to try and how many firings it may do in a row.
    pub fn next(&mut self) -> Option<(usize, u64)> {
        if self.n_awake == 0 {
            return None;
        }
        let n = self.preference.len();
        match self.order {
            Order::RoundRobin => {
                let start = self.next;
                let position = (start..n).chain(0..start).find(|&at| self.awake[self.preference[at]])?;
                self.next = (position + 1) % n;
                Some((self.preference[position], TURN))
            }
            Order::DemandDriven => {
                self.preference.iter().find(|&&instance| self.awake[instance]).map(|&instance| (instance, 1))
            }
            Order::Random(_) => {
                let start = self.random.below(n);
                let position = (start..n).chain(0..start).find(|&at| self.awake[at])?;
                Some((position, 1 + self.random.below(8) as u64))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_go_on_where_they_stopped() {
        let mut agenda = Agenda::new(Order::RoundRobin, &[0, 0, 0]);
        assert_eq!(agenda.next(), Some((0, TURN)));
        agenda.sleep(1);
        assert_eq!(agenda.next(), Some((2, TURN)));
        assert_eq!(agenda.next(), Some((0, TURN)));
        agenda.sleep(0);
        agenda.sleep(2);
        assert_eq!(agenda.next(), None);
        agenda.wake(1);
        assert_eq!(agenda.next(), Some((1, TURN)));
    }

    #[test]
    fn demand_starts_at_the_outputs() {
        let mut agenda = Agenda::new(Order::DemandDriven, &[2, 0, 1]);
        assert_eq!(agenda.next(), Some((1, 1)));
        agenda.sleep(1);
        assert_eq!(agenda.next(), Some((2, 1)));
    }

    #[test]
    fn random_depends_on_the_seed_alone() {
        let walk = |seed| {
            let mut agenda = Agenda::new(Order::Random(seed), &[0; 5]);
            (0..20).filter_map(|_| agenda.next()).collect::<Vec<_>>()
        };
        assert_eq!(walk(1), walk(1));
        assert_ne!(walk(1), walk(2));
    }
}
