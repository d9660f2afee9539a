//! Resource sharing between mutually exclusive parts of a network: what several of them need stands once.
//!
//! A core that encrypts and decrypts has the same permutation in both directions, and does one message after another: the source says
//! that the two parts are alternatives ([`headrace_ir::Alternative`]). An instance in one of them and its like in another one become one
//! instance here, which takes tokens from the part whose turn it is, and gives what it makes to it. It is the turn of the part that
//! tokens came to last from outside of all of them; the network sees to it that nothing is under way in others then.
//!
//! What is shared must be worth the multiplexers in front of it: bits that are held twice otherwise are weighed against bits that come
//! from several sides.

use headrace_ir::{Endpoint, InstanceId, Network};
use std::collections::{BTreeMap, BTreeSet};

/// One of the parts of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) family: usize,
    pub(crate) part: usize,
}

/// What a connection has to do with turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turns {
    /// It takes tokens of a shared instance in this turn only,
    pub(crate) enters: Option<Turn>,
    /// and gives tokens to one in this turn only.
    pub(crate) leaves: Option<Turn>,
    /// A token that enters it begins this turn.
    pub(crate) begins: Option<Turn>,
}

/// A network in which instances of alternatives are shared. An input port of a shared instance may have a connection for each of them.
pub(crate) struct Shared {
    pub(crate) network: Network,
    /// For each connection its turns,
    pub(crate) turns: Vec<Turns>,
    /// and the connection of the network before that it was.
    pub(crate) origins: Vec<usize>,
    /// For each family in which something is shared how many parts it has.
    pub(crate) parts: Vec<usize>,
}

/// Parts that exclude each other, with their instances.
struct Family {
    parts: Vec<Vec<usize>>,
    /// Names of an instance that say where it stands, and are the same for all parts.
    depth: usize,
}

/// Shares what alternatives have in common. `always` says of an actor that it is worth it; `bits` is what moves at once at a connection.
pub(crate) fn shared(network: &Network, always: impl Fn(usize) -> bool, bits: &[u64]) -> Shared {
    let families = families(network);
    let mut pairs = Pairs { network, same: (0..network.instances.len()).collect(), part_of: BTreeMap::new() };
    for (number, family) in families.iter().enumerate() {
        for (part, members) in family.parts.iter().enumerate() {
            members.iter().for_each(|&at| {
                pairs.part_of.insert(at, Turn { family: number, part });
            });
        }
        pairs.pair(family);
    }
    while let Some(worst) = pairs.worst(&always, bits) {
        pairs.same.iter_mut().enumerate().for_each(|(at, same)| {
            if *same == worst {
                *same = at;
            }
        });
    }
    pairs.shared(&families)
}

/// The families of a network, each with two parts at least.
fn families(network: &Network) -> Vec<Family> {
    let mut found: BTreeMap<&str, Vec<(&str, Vec<usize>)>> = BTreeMap::new();
    for (at, instance) in network.instances.iter().enumerate() {
        let Some(own) = &instance.alternative else { continue };
        let parts = found.entry(&own.family).or_default();
        match parts.iter_mut().find(|(name, _)| *name == own.name) {
            Some((_, members)) => members.push(at),
            None => parts.push((&own.name, vec![at])),
        }
    }
    let several = found.into_iter().filter(|(_, parts)| parts.len() > 1);
    let family = |(name, parts): (&str, Vec<(&str, Vec<usize>)>)| Family {
        parts: parts.into_iter().map(|(_, members)| members).collect(),
        depth: if name.is_empty() { 0 } else { name.split('.').count() },
    };
    several.map(family).collect()
}

/// Instances that become one.
struct Pairs<'a> {
    network: &'a Network,
    /// For each instance the one that it becomes: itself, or one of the first part of its family.
    same: Vec<usize>,
    part_of: BTreeMap<usize, Turn>,
}

impl Pairs<'_> {
    /// Finds for each instance of the first part those of others that are the same actor: first those that have the same place.
    fn pair(&mut self, family: &Family) {
        let network = self.network;
        let Some((first, others)) = family.parts.split_first() else { return };
        let place = |at: usize| network.instances[at].path.get(family.depth + 1..).unwrap_or_default();
        // A token that an instance puts out at the beginning belongs to its part alone.
        let is_still = |at: usize| network.actor_of(InstanceId(at as u32)).initializers.is_empty();
        // What not every part has stays apart, so that shared instances have the same neighbours in all turns.
        let mut likes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for members in others {
            let mut taken: BTreeSet<usize> = BTreeSet::new();
            for by_place in [true, false] {
                for &own in first {
                    let is_paired = likes.get(&own).is_some_and(|all| all.iter().any(|like| members.contains(like)));
                    if is_paired || !is_still(own) {
                        continue;
                    }
                    let is_like = |other: &&usize| {
                        network.instances[**other].actor == network.instances[own].actor
                            && !taken.contains(*other)
                            && (!by_place || place(**other) == place(own))
                    };
                    if let Some(&like) = members.iter().find(is_like) {
                        taken.insert(like);
                        likes.entry(own).or_default().push(like);
                    }
                }
            }
        }
        for (own, all) in likes {
            if all.len() == others.len() {
                all.into_iter().for_each(|like| self.same[like] = own);
            }
        }
    }

    fn moved(&self, end: Endpoint) -> Endpoint {
        match end {
            Endpoint::Instance(at, port) => Endpoint::Instance(InstanceId(self.same[at.index()] as u32), port),
            end => end,
        }
    }

    /// Connections by what they become, with their positions.
    fn merged(&self) -> BTreeMap<(Endpoint, Endpoint), Vec<usize>> {
        let mut all: BTreeMap<(Endpoint, Endpoint), Vec<usize>> = BTreeMap::new();
        for (at, connection) in self.network.connections.iter().enumerate() {
            all.entry((self.moved(connection.source), self.moved(connection.target))).or_default().push(at);
        }
        all
    }

    /// The shared instance that costs most more than it saves.
    fn worst(&self, always: &impl Fn(usize) -> bool, bits: &[u64]) -> Option<usize> {
        let mut gains: BTreeMap<usize, i64> = BTreeMap::new();
        for (at, &same) in self.same.iter().enumerate() {
            if at != same && !always(self.network.instances[at].actor.index()) {
                *gains.entry(same).or_insert(0) += HELD_BIT * self.held_bits(at) as i64;
            }
        }
        for ((_, target), connections) in self.merged() {
            let Endpoint::Instance(to, _) = target else { continue };
            let Some(gain) = gains.get_mut(&to.index()) else { continue };
            // What is one FIFO for all parts saves those of the others; a connection of one part is one side of a multiplexer.
            let Some((first, others)) = connections.split_first() else { continue };
            let saved: u64 = others.iter().map(|&at| bits[at]).sum();
            *gain += if others.is_empty() { -(bits[*first] as i64) / 2 } else { HELD_BIT * saved as i64 };
        }
        gains.into_iter().filter(|(_, gain)| *gain < 0).min_by_key(|(_, gain)| *gain).map(|(at, _)| at)
    }

    /// Bits that an instance keeps, in variables and in windows in front of its actions.
    fn held_bits(&self, at: usize) -> u64 {
        let actor = self.network.actor_of(InstanceId(at as u32));
        let variables = actor.variables.iter().filter(|one| one.mutable);
        let kept: u64 = variables.map(|one| u64::from(one.ty.element.width().max(1)) * one.ty.len() as u64).sum();
        let window = |(port, input): (usize, &headrace_ir::Port)| {
            let most = actor.actions.iter().map(|action| action.consumed(port)).max().unwrap_or(0);
            if most > 1 { most * u64::from(input.ty.width().max(1)) } else { 0 }
        };
        kept + actor.inputs.iter().enumerate().map(window).sum::<u64>()
    }

    fn shared(&self, families: &[Family]) -> Shared {
        let network = self.network;
        let mut new = network.clone();
        let firsts: BTreeSet<usize> =
            self.same.iter().enumerate().filter(|(at, same)| at != *same).map(|(_, &same)| same).collect();
        let is_shared = |at: usize| firsts.contains(&self.same[at]);
        // Families in which nothing is shared have no turns.
        let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, turn) in &self.part_of {
            if is_shared(*at) {
                let next = numbers.len();
                numbers.entry(turn.family).or_insert(next);
            }
        }
        let turn_of = |end: Endpoint| match end {
            Endpoint::Instance(at, _) => {
                let turn = self.part_of.get(&at.index())?;
                Some(Turn { family: *numbers.get(&turn.family)?, part: turn.part })
            }
            Endpoint::Boundary(_) => None,
        };
        let kept: Vec<usize> = (0..network.instances.len()).filter(|&at| self.same[at] == at).collect();
        let position: BTreeMap<usize, usize> = kept.iter().enumerate().map(|(new, &old)| (old, new)).collect();
        new.instances = kept.iter().map(|&at| network.instances[at].clone()).collect();
        for (instance, &old) in new.instances.iter_mut().zip(&kept) {
            // What belongs to several parts has the name of none.
            let depth = self.part_of.get(&old).map_or(0, |turn| families[turn.family].depth);
            let (around, inside) = (instance.path.get(..depth), instance.path.get(depth + 1..));
            let path = [around.unwrap_or_default(), inside.unwrap_or_default()].concat();
            if is_shared(old) && path.len() > depth {
                instance.name = path.join("_");
            }
        }
        let placed = |end: Endpoint| match self.moved(end) {
            Endpoint::Instance(at, port) => Endpoint::Instance(InstanceId(position[&at.index()] as u32), port),
            end => end,
        };
        let has_shared = |end: Endpoint| matches!(end, Endpoint::Instance(at, _) if is_shared(at.index()));
        let merged = self.merged();
        let (mut turns, mut origins) = (Vec::new(), Vec::new());
        new.connections = Vec::new();
        for (at, connection) in network.connections.iter().enumerate() {
            let all = &merged[&(self.moved(connection.source), self.moved(connection.target))];
            if all[0] != at {
                continue;
            }
            let (from, to) = (turn_of(connection.source), turn_of(connection.target));
            let parts = from.or(to).and_then(|turn| {
                let family = numbers.iter().find(|(_, number)| **number == turn.family)?;
                Some(families[*family.0].parts.len())
            });
            let is_common = parts.is_none_or(|parts| all.len() == parts);
            let own = |end: Endpoint, turn: Option<Turn>| turn.filter(|_| has_shared(end) && !is_common);
            turns.push(Turns {
                enters: own(connection.source, from),
                leaves: own(connection.target, to),
                begins: to.filter(|to| !is_common && from.is_none_or(|from| from.family != to.family)),
            });
            origins.push(at);
            let fifo_tokens = all.iter().filter_map(|&one| network.connections[one].fifo_tokens).max();
            let (source, target) = (placed(connection.source), placed(connection.target));
            new.connections.push(headrace_ir::Connection { source, target, fifo_tokens, ..connection.clone() });
        }
        let parts = |number: usize| {
            let family = numbers.iter().find(|(_, own)| **own == number).map(|(family, _)| *family);
            family.map_or(0, |family| families[family].parts.len())
        };
        Shared { network: new, turns, origins, parts: (0..numbers.len()).map(parts).collect() }
    }
}

/// What a bit that is held twice costs, in bits of a multiplexer: a register and what writes it.
const HELD_BIT: i64 = 2;
