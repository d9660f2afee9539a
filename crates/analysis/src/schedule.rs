//! One period of what is static in a network: in which order actors can fire, how many tokens wait meanwhile, and
//! whether it stops.
//!
//! A period is simulated firing by firing, from empty FIFOs: if some instance has firings left and none can fire, no
//! order would have helped, because a firing never takes away what another needs (Karp and Miller 1966). Tokens from
//! outside the island are there whenever they are wanted. Two orders are tried:
//!
//! * *demand-driven*: of those that can fire the one nearest to the outputs, so that tokens leave as soon as they can;
//! * *small*: the one that adds the fewest bytes to what waits, with what it takes away counted against it (a greedy rule
//!   after Bhattacharyya, Murthy and Lee 1996; the smallest sum is NP-hard).
//!
//! Beside both stands for each FIFO what no order can do without: p + c - gcd(p, c) tokens when p are made and c taken a
//! firing.

use crate::balance::{Balance, Island, Link};
use headrace_ir::{InstanceId, Network};
use headrace_source::Diagnostic;
use std::collections::BTreeSet;

/// Periods with more firings than this are not simulated.
pub const MAX_FIRINGS: u64 = 1 << 16;

/// Periods that actors may run ahead, for others whose first firings need more.
const MAX_AHEAD: u64 = 4;

/// Names that a schedule is written with before it is cut.
const MAX_NAMES: usize = 40;

/// An order of firings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Instances with how often they fire in a row.
    pub firings: Vec<(InstanceId, u64)>,
    /// For each FIFO inside the island, in the order of [`Period::fifos`], the most tokens that wait in it.
    pub most: Vec<u64>,
}

/// A period of an island.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// FIFOs inside the island: positions among the connections of the network.
    pub fifos: Vec<usize>,
    /// What no order does without, for each of them.
    pub least: Vec<u64>,
    /// Tokens leave as soon as they can.
    pub demand_driven: Order,
    /// Few tokens wait.
    pub small: Order,
}

/// An instance that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Which.
    pub instance: InstanceId,
    /// The FIFO that has too few tokens.
    pub connection: usize,
    /// Tokens that are needed.
    pub needed: u64,
    /// Tokens that are there.
    pub there: u64,
}

/// What comes of a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It can run again and again.
    Runs(Period),
    /// It stops, whatever the order.
    Deadlock(Vec<Stuck>),
    /// It has more firings than are simulated.
    TooLong,
    /// There is no repetition vector.
    Unbalanced,
}

/// Simulates a period of each island.
pub fn analyse(network: &Network, balance: &Balance) -> Vec<Outcome> {
    let links = balance.links(network);
    let distance = distances(network, &links);
    let mut island_of = vec![0; network.instances.len()];
    for (at, island) in balance.islands.iter().enumerate() {
        island.instances.iter().for_each(|id| island_of[id.index()] = at);
    }
    let mut inside = vec![Vec::new(); balance.islands.len()];
    for link in &links {
        inside[island_of[link.source.0.index()]].push(link);
    }
    let islands = balance.islands.iter().zip(inside);
    islands.map(|(island, inside)| of_island(network, balance, island, inside, &distance)).collect()
}

/// For each instance how many FIFOs lead on from it at most, as far as they do not lead back.
fn distances(network: &Network, links: &[Link]) -> Vec<u64> {
    let ends = |link: &Link| (link.source.0.index(), link.target.0.index());
    let mut onward: Vec<(usize, usize)> = links.iter().map(ends).filter(|(source, target)| source < target).collect();
    // Whatever a FIFO leads to is settled before it.
    onward.sort_unstable_by_key(|(source, _)| std::cmp::Reverse(*source));
    let mut distance = vec![0u64; network.instances.len()];
    for (source, target) in onward {
        distance[source] = distance[source].max(distance[target] + 1);
    }
    distance
}

/// A period while it is simulated.
struct Simulation<'a> {
    network: &'a Network,
    balance: &'a Balance,
    members: &'a [InstanceId],
    links: &'a [&'a Link],
    /// For each member the FIFOs at it, in their order, and each once.
    at: &'a [Vec<usize>],
    tokens: Vec<u64>,
    fired: Vec<u64>,
    order: Order,
}

/// The position of an instance among the members, which are in their order.
fn position(members: &[InstanceId], id: InstanceId) -> usize {
    members.partition_point(|member| *member < id)
}

fn of_island(network: &Network, balance: &Balance, island: &Island, inside: Vec<&Link>, distance: &[u64]) -> Outcome {
    if island.cycles.is_empty() {
        return Outcome::Unbalanced;
    }
    let firings = |id: &InstanceId| balance.firings[id.index()].as_ref();
    let n_firings = |(id, cycles): (&InstanceId, &u64)| {
        firings(id).map_or(0, |f| cycles.saturating_mul(f.cycle.len() as u64).saturating_add(f.prefix.len() as u64))
    };
    let targets: Vec<u64> = island.instances.iter().zip(&island.cycles).map(n_firings).collect();
    if targets.iter().fold(0u64, |sum, &n| sum.saturating_add(n)) > MAX_FIRINGS {
        return Outcome::TooLong;
    }
    let mut at = vec![Vec::new(); island.instances.len()];
    for (fifo, link) in inside.iter().enumerate() {
        at[position(&island.instances, link.source.0)].push(fifo);
        if link.target.0 != link.source.0 {
            at[position(&island.instances, link.target.0)].push(fifo);
        }
    }
    let run = |grows: bool| {
        let mut simulation = Simulation {
            network,
            balance,
            members: &island.instances,
            tokens: vec![0; inside.len()],
            fired: vec![0; island.instances.len()],
            order: Order { firings: Vec::new(), most: vec![0; inside.len()] },
            links: &inside,
            at: &at,
        };
        let cost = |simulation: &Simulation<'_>, at: usize| {
            let growth = if grows { simulation.growth(at) } else { 0 };
            (growth, distance[island.instances[at].index()])
        };
        simulation.run(targets.clone(), &island.cycles, &cost).map(|()| simulation.order)
    };
    let (demand_driven, small) = match (run(false), run(true)) {
        (Ok(demand_driven), Ok(small)) => (demand_driven, small),
        (Err(stuck), _) | (_, Err(stuck)) => return Outcome::Deadlock(stuck),
    };
    let least = inside.iter().map(|link| least(balance, link)).collect();
    Outcome::Runs(Period { fifos: inside.iter().map(|link| link.connection).collect(), least, demand_driven, small })
}

/// Tokens that a FIFO needs in any order.
fn least(balance: &Balance, link: &Link) -> u64 {
    let single =
        |id: InstanceId| balance.firings[id.index()].as_ref().filter(|f| f.cycle.len() == 1 && f.prefix.is_empty());
    match (single(link.source.0), single(link.target.0)) {
        (Some(source), Some(target)) => {
            let (made, taken) = (source.at(0).produces[link.source.1], target.at(0).consumes[link.target.1]);
            let common = num_integer::gcd(made, taken);
            (made + taken).saturating_sub(common)
        }
        // The largest firing has to fit.
        _ => {
            let all = |id: InstanceId| balance.firings[id.index()].iter().flat_map(|f| f.prefix.iter().chain(&f.cycle));
            let made = all(link.source.0).map(|rates| rates.produces[link.source.1]).max();
            let taken = all(link.target.0).map(|rates| rates.consumes[link.target.1]).max();
            made.max(taken).unwrap_or(0)
        }
    }
}

impl Simulation<'_> {
    fn rates(&self, at: usize) -> Option<&crate::rates::Rates> {
        let firings = self.balance.firings[self.members[at].index()].as_ref();
        firings.map(|firings| firings.at(self.fired[at]))
    }

    /// The FIFO, if the instance that reads it lacks tokens there.
    fn lacks_on(&self, fifo: usize) -> Option<Stuck> {
        let (link, there) = (self.links[fifo], self.tokens[fifo]);
        let rates = self.rates(position(self.members, link.target.0))?;
        let needed = rates.consumes[link.target.1];
        (needed > there).then_some(Stuck { instance: link.target.0, connection: link.connection, needed, there })
    }

    /// The first FIFO on which an instance lacks tokens.
    fn lacks(&self, at: usize) -> Option<Stuck> {
        let read = |fifo: &&usize| self.links[**fifo].target.0 == self.members[at];
        self.at[at].iter().filter(read).find_map(|&fifo| self.lacks_on(fifo))
    }

    /// Bytes that a firing adds to what waits, as a number that is smaller for less.
    fn growth(&self, at: usize) -> i64 {
        let Some(rates) = self.rates(at) else { return 0 };
        let bytes = |link: &Link| {
            let connection = &self.network.connections[link.connection];
            self.network.target_port(connection).ty.storage_bytes() as i64
        };
        self.at[at].iter().map(|&fifo| self.links[fifo]).fold(0, |growth, link| {
            let made = if link.source.0 == self.members[at] { rates.produces[link.source.1] as i64 } else { 0 };
            let taken = if link.target.0 == self.members[at] { rates.consumes[link.target.1] as i64 } else { 0 };
            growth + (made - taken) * bytes(link)
        })
    }

    fn fire(&mut self, at: usize) {
        let id = self.members[at];
        let Some(rates) = self.rates(at).cloned() else { return };
        for &fifo in &self.at[at] {
            let link = self.links[fifo];
            // What is made lies in the FIFO while what is taken still does.
            if link.source.0 == id {
                self.tokens[fifo] += rates.produces[link.source.1];
                self.order.most[fifo] = self.order.most[fifo].max(self.tokens[fifo]);
            }
            if link.target.0 == id {
                self.tokens[fifo] -= rates.consumes[link.target.1];
            }
        }
        self.fired[at] += 1;
        match self.order.firings.last_mut() {
            Some((last, n)) if *last == id => *n += 1,
            _ => self.order.firings.push((id, 1)),
        }
    }

    fn run(
        &mut self,
        mut targets: Vec<u64>,
        cycles: &[u64],
        cost: &dyn Fn(&Self, usize) -> (i64, u64),
    ) -> Result<(), Vec<Stuck>> {
        // How many FIFOs keep each member from firing, and which they are: a firing changes that only at its own FIFOs.
        let mut lacking: Vec<bool> = (0..self.links.len()).map(|fifo| self.lacks_on(fifo).is_some()).collect();
        let mut n_lacking = vec![0usize; self.members.len()];
        for (fifo, _) in lacking.iter().enumerate().filter(|(_, lacking)| **lacking) {
            n_lacking[position(self.members, self.links[fifo].target.0)] += 1;
        }
        let mut ahead = 0;
        loop {
            // Those that can fire and have to, by what they cost.
            let key = |own: &Self, at: usize| (cost(own, at), at);
            let may = |own: &Self, n_lacking: &[usize], targets: &[u64], at: usize| {
                own.fired[at] < targets[at] && n_lacking[at] == 0 && own.rates(at).is_some()
            };
            let all = 0..self.members.len();
            let mut ready: BTreeSet<((i64, u64), usize)> =
                all.clone().filter(|&at| may(self, &n_lacking, &targets, at)).map(|at| key(self, at)).collect();
            while let Some((_, next)) = ready.pop_first() {
                self.fire(next);
                for &fifo in &self.at[next] {
                    let target = position(self.members, self.links[fifo].target.0);
                    let lacks = self.lacks_on(fifo).is_some();
                    if lacks != std::mem::replace(&mut lacking[fifo], lacks) {
                        n_lacking[target] = if lacks { n_lacking[target] + 1 } else { n_lacking[target] - 1 };
                        // Only a firing of its own takes tokens from a member.
                        if target != next && may(self, &n_lacking, &targets, target) {
                            ready.insert(key(self, target));
                        }
                    }
                }
                if may(self, &n_lacking, &targets, next) {
                    ready.insert(key(self, next));
                }
            }
            let waiting: Vec<usize> = all.clone().filter(|&at| self.fired[at] < targets[at]).collect();
            if waiting.is_empty() {
                return Ok(());
            }
            let others = all.into_iter().any(|at| self.fired[at] >= targets[at] && self.lacks(at).is_none());
            if !others || ahead == MAX_AHEAD {
                return Err(waiting.into_iter().filter_map(|at| self.lacks(at)).collect());
            }
            ahead += 1;
            for (at, (target, cycles)) in targets.iter_mut().zip(cycles).enumerate() {
                let firings = self.balance.firings[self.members[at].index()].as_ref();
                *target += cycles * firings.map_or(0, |firings| firings.cycle.len() as u64);
            }
        }
    }
}

/// An order as text: `3 a, b, 2 c`.
pub fn order_text(network: &Network, order: &Order) -> String {
    let name = |&(id, n): &(InstanceId, u64)| {
        let name = &network.instances[id.index()].name;
        if n == 1 { name.clone() } else { format!("{n} {name}") }
    };
    let mut names: Vec<String> = order.firings.iter().take(MAX_NAMES).map(name).collect();
    if order.firings.len() > MAX_NAMES {
        names.push(format!("… {} more", order.firings.len() - MAX_NAMES));
    }
    names.join(", ")
}

/// An error for each island that stops.
pub fn diagnostics(network: &Network, outcomes: &[Outcome]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for outcome in outcomes {
        let Outcome::Deadlock(stuck) = outcome else { continue };
        let mut diagnostic =
            Diagnostic::error("deadlock", format!("network `{}` stops in every order of firings", network.name));
        for (at, stuck) in stuck.iter().enumerate() {
            let connection = &network.connections[stuck.connection];
            let name = &network.instances[stuck.instance.index()].name;
            let text = format!("`{name}` needs {} here and has {}", stuck.needed, stuck.there);
            diagnostic =
                if at == 0 { diagnostic.at(connection.span, text) } else { diagnostic.also(connection.span, text) };
        }
        found.push(diagnostic.help("let one of them make tokens before it needs any, by an action that fires first"));
    }
    found
}
