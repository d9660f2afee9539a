//! Consistency and repetition vector of what is static in a network.
//!
//! For a FIFO from `a`, which makes p tokens, to `b`, which takes c, as many have to be made as are taken:
//! p·r(a) = c·r(b) (Lee and Messerschmitt 1987; for cyclo-static actors p and c are the sums over a cycle, Bilsen et al.
//! 1996). The smallest positive whole numbers r with that for all FIFOs are the *repetition vector*; without any, tokens
//! pile up or run out whatever the order of firings.
//!
//! Actors whose rates depend on values are left out, and the rest falls into *islands* that FIFOs connect. Example: `a`
//! makes 2 tokens a firing and `b` takes 3: r = (3, 2).

use crate::rates::{Class, Rates, classify};
use headrace_ir::{Connection, Endpoint, InstanceId, Network};
use headrace_source::Diagnostic;
use num_integer::gcd;
use std::collections::VecDeque;

/// The largest repetition count that is computed with.
const MAX_REPETITIONS: u128 = 1 << 60;

/// The firings of a static or cyclo-static instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firings {
    /// Rates of the firings before the cycle.
    pub prefix: Vec<Rates>,
    /// Rates of the firings of a cycle; at least one.
    pub cycle: Vec<Rates>,
}

impl Firings {
    /// Of an instance, if its rates do not depend on values and it does not end.
    pub fn of(class: &Class) -> Option<Self> {
        match class {
            Class::Static(rates) => Some(Firings { prefix: Vec::new(), cycle: vec![rates.clone()] }),
            Class::CycloStatic { prefix, cycle } if !cycle.is_empty() => {
                Some(Firings { prefix: prefix.clone(), cycle: cycle.clone() })
            }
            _ => None,
        }
    }

    /// Rates of a firing.
    pub fn at(&self, firing: u64) -> &Rates {
        let at = usize::try_from(firing).unwrap_or(usize::MAX);
        match self.prefix.get(at) {
            Some(rates) => rates,
            None => &self.cycle[(at - self.prefix.len()) % self.cycle.len()],
        }
    }

    fn total(&self, tokens: impl Fn(&Rates) -> u64) -> u64 {
        self.cycle.iter().map(tokens).sum()
    }
}

/// Instances with fixed rates that FIFOs connect, directly or through one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Island {
    /// The instances, in the order of the network.
    pub instances: Vec<InstanceId>,
    /// For each of them, how many cycles one period has; empty when there is no repetition vector.
    pub cycles: Vec<u64>,
    /// The FIFO by which that shows.
    pub mismatch: Option<Mismatch>,
}

/// A FIFO that cannot be balanced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Its position among the connections of the network.
    pub connection: usize,
    /// The other FIFOs on the way between its ends.
    pub others: Vec<usize>,
}

/// What is static in a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Balance {
    /// For each instance, its firings if they are fixed.
    pub firings: Vec<Option<Firings>>,
    /// The islands, by their first instances.
    pub islands: Vec<Island>,
}

/// A positive fraction in lowest terms.
#[derive(Clone, Copy, PartialEq)]
struct Fraction(u128, u128);

impl Fraction {
    fn times(self, by: u64, over: u64) -> Option<Fraction> {
        let (n, d) = (self.0.checked_mul(by.into())?, self.1.checked_mul(over.into())?);
        let common = gcd(n, d);
        Some(Fraction(n / common, d / common)).filter(|f| f.0 < MAX_REPETITIONS && f.1 < MAX_REPETITIONS)
    }
}

/// A FIFO between two instances with fixed rates.
pub(crate) struct Link {
    pub connection: usize,
    pub source: (InstanceId, usize),
    pub target: (InstanceId, usize),
}

/// The ends of a FIFO that lies between two instances.
pub(crate) fn between(connection: &Connection) -> Option<((InstanceId, usize), (InstanceId, usize))> {
    match (connection.source, connection.target) {
        (Endpoint::Instance(a, p), Endpoint::Instance(b, q)) => Some(((a, p), (b, q))),
        _ => None,
    }
}

impl Balance {
    /// FIFOs between instances with fixed rates.
    pub(crate) fn links(&self, network: &Network) -> Vec<Link> {
        let links = network.connections.iter().enumerate().filter_map(|(connection, fifo)| {
            let (source, target) = between(fifo)?;
            Some(Link { connection, source, target })
        });
        let fixed = |id: InstanceId| self.firings[id.index()].is_some();
        links.filter(|link| fixed(link.source.0) && fixed(link.target.0)).collect()
    }

    /// Tokens that a cycle of the source makes, and one of the target takes.
    pub(crate) fn per_cycle(&self, link: &Link) -> (u64, u64) {
        let firings = |id: InstanceId| self.firings[id.index()].as_ref();
        let made = firings(link.source.0).map_or(0, |f| f.total(|rates| rates.produces[link.source.1]));
        let taken = firings(link.target.0).map_or(0, |f| f.total(|rates| rates.consumes[link.target.1]));
        (made, taken)
    }
}

/// Balances a network.
pub fn analyse(network: &Network) -> Balance {
    let classes: Vec<Class> = network.actors.iter().map(classify).collect();
    let firings = network.instances.iter().map(|instance| Firings::of(&classes[instance.actor.index()])).collect();
    let mut balance = Balance { firings, islands: Vec::new() };
    let links = balance.links(network);
    let n = network.instances.len();
    let mut search =
        Search { seen: vec![false; n], counts: vec![None; n], parents: vec![None; n], at: vec![Vec::new(); n] };
    for (position, link) in links.iter().enumerate() {
        search.at[link.source.0.index()].push(position);
        if link.target.0 != link.source.0 {
            search.at[link.target.0.index()].push(position);
        }
    }
    for start in 0..network.instances.len() {
        if !search.seen[start] && balance.firings[start].is_some() {
            let island = island(&balance, &links, start, &mut search);
            balance.islands.push(island);
        }
    }
    balance
}

/// What the search for islands knows of each instance.
struct Search {
    seen: Vec<bool>,
    counts: Vec<Option<Fraction>>,
    /// The FIFO by which it was found.
    parents: Vec<Option<usize>>,
    /// The FIFOs at it, in their order.
    at: Vec<Vec<usize>>,
}

fn island(balance: &Balance, links: &[Link], start: usize, search: &mut Search) -> Island {
    let Search { seen, counts, parents, at: fifos } = search;
    let mut members = vec![start];
    let mut waiting = VecDeque::from([start]);
    let mut mismatch = None;
    counts[start] = Some(Fraction(1, 1));
    seen[start] = true;
    while let Some(at) = waiting.pop_front() {
        for &position in &fifos[at] {
            let link = &links[position];
            let (source, target) = (link.source.0.index(), link.target.0.index());
            let (made, taken) = balance.per_cycle(link);
            let (other, by, over) = match at {
                _ if at == source => (target, made, taken),
                _ if at == target => (source, taken, made),
                _ => continue,
            };
            // A FIFO that neither uses says nothing.
            if made == 0 && taken == 0 {
                continue;
            }
            let count = counts[at].filter(|_| made > 0 && taken > 0).and_then(|count| count.times(by, over));
            if !seen[other] {
                seen[other] = true;
                members.push(other);
                waiting.push_back(other);
                parents[other] = Some(position);
                counts[other] = count.or(Some(Fraction(1, 1)));
            }
            if count.is_none() || counts[other] != count {
                mismatch.get_or_insert(position);
            }
        }
    }
    members.sort_unstable();
    let ids = members.iter().map(|&at| InstanceId(at as u32)).collect();
    let cycles = if mismatch.is_none() { whole(&members, counts) } else { None };
    let mismatch = mismatch.map(|at| {
        let mut others = Vec::new();
        for end in [links[at].source.0, links[at].target.0] {
            let mut end = end.index();
            while let Some(parent) = parents[end] {
                if parent != at {
                    match others.iter().position(|&other| other == parent) {
                        // What both ways have in common is on neither.
                        Some(known) => drop(others.remove(known)),
                        None => others.push(parent),
                    }
                }
                let link = &links[parent];
                end = if link.source.0.index() == end { link.target.0.index() } else { link.source.0.index() };
            }
        }
        Mismatch { connection: links[at].connection, others: others.iter().map(|&at| links[at].connection).collect() }
    });
    Island { instances: ids, cycles: cycles.unwrap_or_default(), mismatch }
}

/// The smallest whole numbers in the proportion of the counts.
fn whole(members: &[usize], counts: &[Option<Fraction>]) -> Option<Vec<u64>> {
    let counts: Vec<Fraction> = members.iter().filter_map(|&at| counts[at]).collect();
    let mut common = 1u128;
    for Fraction(_, d) in &counts {
        common = (common / gcd(common, *d)).checked_mul(*d).filter(|common| *common < MAX_REPETITIONS)?;
    }
    let scaled: Option<Vec<u128>> = counts.iter().map(|Fraction(n, d)| n.checked_mul(common / d)).collect();
    let scaled = scaled?;
    let divisor = scaled.iter().fold(0, |divisor, &n| gcd(divisor, n)).max(1);
    scaled.into_iter().map(|n| u64::try_from(n / divisor).ok()).collect()
}

/// An error for each island without a repetition vector.
pub fn diagnostics(network: &Network, balance: &Balance) -> Vec<Diagnostic> {
    let links = balance.links(network);
    let mut found = Vec::new();
    for mismatch in balance.islands.iter().filter_map(|island| island.mismatch.as_ref()) {
        let link = |connection: usize| links.iter().find(|link| link.connection == connection);
        let name = |id: InstanceId| network.instances[id.index()].name.as_str();
        let mut equations = Vec::new();
        let mut say = |connection: usize| {
            let link = link(connection)?;
            let (made, taken) = balance.per_cycle(link);
            let (source, target) = (name(link.source.0), name(link.target.0));
            let factor = |n: u64| if n == 1 { String::new() } else { format!("{n}·") };
            equations.push(format!("{}r({source}) = {}r({target})", factor(made), factor(taken)));
            Some(format!(
                "`{source}` makes {made} {} a {}, `{target}` takes {taken}",
                tokens(made),
                unit(balance, link.source.0)
            ))
        };
        let mut diagnostic =
            Diagnostic::error("rate-mismatch", format!("network `{}` has no repetition vector", network.name));
        diagnostic =
            diagnostic.at(network.connections[mismatch.connection].span, say(mismatch.connection).unwrap_or_default());
        for &other in &mismatch.others {
            diagnostic = diagnostic.also(network.connections[other].span, say(other).unwrap_or_default());
        }
        let have = if equations.len() == 1 { "has" } else { "have" };
        found.push(diagnostic.note(format!("{} {have} only the zero solution", equations.join(" and "))));
    }
    found
}

fn tokens(n: u64) -> &'static str {
    if n == 1 { "token" } else { "tokens" }
}

/// What rates are given per.
fn unit(balance: &Balance, id: InstanceId) -> &'static str {
    match &balance.firings[id.index()] {
        Some(firings) if firings.cycle.len() > 1 => "cycle",
        _ => "firing",
    }
}
