//! Balanced graph partitioning. Instances of a network are divided among threads, so that no partition has much more to do
//! than another and few tokens go from one to another.
//!
//! What is one thing for this purpose: instances on a feedback cycle (a token would go back and forth between threads in
//! each round), and all that print or call natives (what they do outside has an order). These *groups* are found first.
//!
//! Then by the multilevel method (Hendrickson and Leland 1995; Karypis and Kumar 1998) in a small form: groups that exchange
//! most tokens are merged as long as what comes out is not too heavy, the merged ones are dealt out heaviest first, and
//! single moves and swaps that make the division better are made, first of merged groups, then of single ones (Kernighan
//! and Lin 1970, Fiduccia and Mattheyses 1982). Several limits of "too heavy" are tried and the best division is kept.
//!
//! A division is as good as its heaviest partition is light, since the others wait for it; what crosses counts as work
//! on both sides ([`CROSSING_BYTE`]). Example: four equal chains behind one actor that deals tokens to them go two by two.
//!
//! Limit: the weights are averages of a whole run. A chain whose parts are busy one after the other, with FIFOs between
//! them that do not hold what one makes before the next begins, gains nothing from any division.

use crate::work;
use headrace_ir::{Endpoint, Mapping, Network};
use std::time::Duration;

/// Operations that a byte takes on either side when it goes from one thread to another. A line of 64 bytes needs 100 to 250 ns
/// from core to core, in which a core does some thousand operations as they are counted here.
pub const CROSSING_BYTE: f64 = 16.0;

/// Operations, as they are counted here, that a core does in a nanosecond: what makes measured times comparable with
/// [`CROSSING_BYTE`].
const OPERATIONS_PER_NANOSECOND: u64 = 6;

/// Groups up to which swaps are tried; their number grows with the square.
const MOST_SWAPPED: usize = 300;

/// Changes that one improvement tries, divided by the number of partitions, which each of them looks at: some tenths of a
/// second.
const MOST_TRIES: usize = 20_000_000;

/// A division and what was known when it was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// Which instance runs where.
    pub mapping: Mapping,
    /// Work of each instance, in operations.
    pub work: Vec<u64>,
    /// Tokens through each connection.
    pub tokens: Vec<u64>,
}

impl Division {
    /// What a mapping comes to with these firings.
    pub fn of(network: &Network, mapping: Mapping, firings: &[Vec<u64>]) -> Division {
        let (work, tokens) = (work::of_instances(network, firings), work::of_connections(network, firings));
        Division { mapping, work, tokens }
    }

    /// Work of each partition, in operations, without what crossing costs.
    pub fn loads(&self) -> Vec<u64> {
        let mut loads = vec![0u64; self.mapping.partitions.len()];
        for (&partition, &work) in self.mapping.of.iter().zip(&self.work) {
            if let Some(load) = loads.get_mut(partition) {
                *load = load.saturating_add(work);
            }
        }
        loads
    }

    /// Tokens that go from one partition to another.
    pub fn crossing_tokens(&self, network: &Network) -> u64 {
        let inner = |connection: &headrace_ir::Connection| {
            let ends = (self.mapping.at(connection.source), self.mapping.at(connection.target));
            matches!(ends, (Some(a), Some(b)) if a != b)
        };
        let crossing = network.connections.iter().zip(&self.tokens).filter(|(connection, _)| inner(connection));
        crossing.map(|(_, &tokens)| tokens).fold(0, u64::saturating_add)
    }
}

/// Divides a network among at most `n` partitions; of which none is empty. `firings` says how often each
/// action of each instance fires, relative to the others; `times`, where a run was measured, how long each instance took in
/// all of these firings. Without times, operations are counted.
pub fn divide(network: &Network, n: usize, firings: &[Vec<u64>], times: Option<&[Duration]>) -> Division {
    let tokens = work::of_connections(network, firings);
    let work: Vec<u64> = match times {
        None => work::of_instances(network, firings),
        Some(times) => times.iter().map(|time| operations(*time)).collect(),
    };
    let (group_of, n_groups) = groups(network);
    let mut graph = Graph::new(n_groups);
    for (at, &work) in work.iter().enumerate() {
        graph.weights[group_of[at]] += work as f64;
    }
    for (connection, &tokens) in network.connections.iter().zip(&tokens) {
        if let (Endpoint::Instance(from, _), Endpoint::Instance(to, _)) = (connection.source, connection.target) {
            let bytes = network.target_port(connection).ty.storage_bytes() as f64;
            graph.connect(group_of[from.index()], group_of[to.index()], tokens as f64 * bytes * CROSSING_BYTE);
        }
    }
    let n = n.clamp(1, n_groups.max(1));
    let places = search(&graph, n);
    let of = in_order_of_use(group_of.iter().map(|&group| places[group]).collect(), n);
    let used = of.iter().max().map_or(1, |last| last + 1);
    Division { mapping: Mapping::numbered(used, of), work, tokens }
}

/// How many operations a core does in this time.
fn operations(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(OPERATIONS_PER_NANOSECOND)
}

/// Numbers partitions in the order in which instances use them, so that equal divisions look equal.
fn in_order_of_use(of: Vec<usize>, n: usize) -> Vec<usize> {
    let mut names = vec![None; n];
    let mut next = 0;
    let numbered = of.into_iter().map(|partition| {
        *names[partition].get_or_insert_with(|| {
            next += 1;
            next - 1
        })
    });
    numbered.collect()
}

/// For each instance its group, and the number of groups.
fn groups(network: &Network) -> (Vec<usize>, usize) {
    let n = network.instances.len();
    let mut successors = vec![Vec::new(); n];
    for connection in &network.connections {
        if let (Endpoint::Instance(from, _), Endpoint::Instance(to, _)) = (connection.source, connection.target) {
            successors[from.index()].push(to.index());
        }
    }
    let acting = Mapping::acting(network);
    for pair in acting.windows(2) {
        successors[pair[0].index()].push(pair[1].index());
        successors[pair[1].index()].push(pair[0].index());
    }
    strongly_connected(&successors)
}

/// The component of each node, and their number (Tarjan 1972, without recursion).
fn strongly_connected(successors: &[Vec<usize>]) -> (Vec<usize>, usize) {
    let n = successors.len();
    let mut index = vec![usize::MAX; n];
    let mut low = vec![0; n];
    let mut component = vec![usize::MAX; n];
    let (mut next, mut n_components) = (0, 0);
    let mut open = Vec::new();
    for start in 0..n {
        if index[start] != usize::MAX {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some((node, at)) = path.pop() {
            if at == 0 {
                index[node] = next;
                low[node] = next;
                next += 1;
                open.push(node);
            }
            if let Some(&successor) = successors[node].get(at) {
                path.push((node, at + 1));
                if index[successor] == usize::MAX {
                    path.push((successor, 0));
                } else if component[successor] == usize::MAX {
                    low[node] = low[node].min(index[successor]);
                }
                continue;
            }
            if low[node] == index[node] {
                while let Some(member) = open.pop() {
                    component[member] = n_components;
                    if member == node {
                        break;
                    }
                }
                n_components += 1;
            }
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
        }
    }
    (component, n_components)
}

/// Nodes with work, and edges with what they cost when they cross.
struct Graph {
    weights: Vec<f64>,
    edges: Vec<Vec<(usize, f64)>>,
}

impl Graph {
    fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn new(n: usize) -> Graph {
        Graph { weights: vec![0.0; n], edges: vec![Vec::new(); n] }
    }

    fn connect(&mut self, a: usize, b: usize, cost: f64) {
        if a == b {
            return;
        }
        for (from, to) in [(a, b), (b, a)] {
            match self.edges[from].iter_mut().find(|(other, _)| *other == to) {
                Some((_, known)) => *known += cost,
                None => self.edges[from].push((to, cost)),
            }
        }
    }

    /// Merges the ends of the costliest edges first, as long as nothing grows heavier than the limit. Gives the smaller
    /// graph, and for each node where it went.
    fn merged(&self, limit: f64) -> (Graph, Vec<usize>) {
        let mut edges: Vec<(f64, usize, usize)> = Vec::new();
        for (a, others) in self.edges.iter().enumerate() {
            edges.extend(others.iter().filter(|(b, _)| a < *b).map(|&(b, cost)| (cost, a, b)));
        }
        edges.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        let mut leader: Vec<usize> = (0..self.weights.len()).collect();
        let mut weights = self.weights.clone();
        let find = |leader: &mut Vec<usize>, mut node: usize| {
            while leader[node] != node {
                leader[node] = leader[leader[node]];
                node = leader[node];
            }
            node
        };
        for (_, a, b) in edges {
            let (a, b) = (find(&mut leader, a), find(&mut leader, b));
            if a != b && weights[a] + weights[b] <= limit {
                leader[b] = a;
                weights[a] += weights[b];
            }
        }
        let mut numbers = vec![usize::MAX; leader.len()];
        let mut n = 0;
        let mut to = Vec::with_capacity(leader.len());
        for node in 0..leader.len() {
            let root = find(&mut leader, node);
            if numbers[root] == usize::MAX {
                numbers[root] = n;
                n += 1;
            }
            to.push(numbers[root]);
        }
        let mut graph = Graph::new(n);
        for (node, &place) in to.iter().enumerate() {
            graph.weights[place] += self.weights[node];
            for &(other, cost) in self.edges[node].iter().filter(|(other, _)| node < *other) {
                graph.connect(place, to[other], cost);
            }
        }
        (graph, to)
    }
}

/// Where nodes are, and what that comes to.
struct Places<'a> {
    graph: &'a Graph,
    of: Vec<usize>,
    /// Work of each partition, what crosses included.
    loads: Vec<f64>,
}

impl<'a> Places<'a> {
    fn new(graph: &'a Graph, of: Vec<usize>, n: usize) -> Self {
        let mut loads = vec![0.0; n];
        for (node, &place) in of.iter().enumerate() {
            let crossing = graph.edges[node].iter().filter(|(other, _)| of[*other] != place);
            loads[place] += graph.weights[node] + crossing.map(|(_, cost)| cost).sum::<f64>();
        }
        Places { graph, of, loads }
    }

    /// Less is better: the heaviest partition, and a little of the sum, which prefers less crossing among equals, and of
    /// the squares, which prefers steps toward balance that do not yet touch the heaviest.
    fn cost(&self) -> f64 {
        let heaviest = self.loads.iter().copied().fold(0.0, f64::max);
        let sum: f64 = self.loads.iter().sum();
        let squares: f64 = self.loads.iter().map(|load| load * load).sum();
        heaviest + 0.05 * sum + 0.05 * (squares / self.loads.len() as f64).sqrt()
    }

    fn shift(&mut self, node: usize, to: usize) {
        let from = self.of[node];
        if from == to {
            return;
        }
        self.loads[from] -= self.graph.weights[node];
        self.loads[to] += self.graph.weights[node];
        for &(other, cost) in &self.graph.edges[node] {
            let place = self.of[other];
            if place == from {
                // It did not cross and now does.
                self.loads[from] += cost;
                self.loads[to] += cost;
            } else if place == to {
                self.loads[from] -= cost;
                self.loads[to] -= cost;
            } else {
                self.loads[from] -= cost;
                self.loads[to] += cost;
            }
        }
        self.of[node] = to;
    }

    /// Makes the best single move, or else the best swap, as long as there is one that helps.
    fn improve(&mut self) {
        let nodes = self.of.len();
        let mut tries = MOST_TRIES / self.loads.len();
        loop {
            let mut best = Best { cost: self.cost() - 1e-9 * self.graph.total(), moves: Vec::new() };
            for node in 0..nodes {
                let from = self.of[node];
                for to in (0..self.loads.len()).filter(|&to| to != from) {
                    self.shift(node, to);
                    best.consider(self.cost(), &[(node, to)]);
                    self.shift(node, from);
                }
            }
            tries = tries.saturating_sub(nodes * self.loads.len());
            if best.moves.is_empty() && nodes <= MOST_SWAPPED {
                for a in 0..nodes {
                    for b in a + 1..nodes {
                        let (at_a, at_b) = (self.of[a], self.of[b]);
                        if at_a != at_b {
                            self.shift(a, at_b);
                            self.shift(b, at_a);
                            best.consider(self.cost(), &[(a, at_b), (b, at_a)]);
                            self.shift(b, at_b);
                            self.shift(a, at_a);
                        }
                    }
                }
                tries = tries.saturating_sub(nodes * nodes / 2);
            }
            for &(node, to) in &best.moves {
                self.shift(node, to);
            }
            if best.moves.is_empty() || tries == 0 {
                return;
            }
        }
    }
}

/// The best change found so far.
struct Best {
    cost: f64,
    /// Nodes and where they go.
    moves: Vec<(usize, usize)>,
}

impl Best {
    fn consider(&mut self, cost: f64, moves: &[(usize, usize)]) {
        if cost < self.cost {
            self.cost = cost;
            self.moves = moves.to_vec();
        }
    }
}

/// The heaviest first, each to the lightest partition.
fn dealt(graph: &Graph, n: usize) -> Vec<usize> {
    let mut nodes: Vec<usize> = (0..graph.weights.len()).collect();
    nodes.sort_by(|&a, &b| graph.weights[b].total_cmp(&graph.weights[a]).then(a.cmp(&b)));
    let mut loads = vec![0.0; n];
    let mut of = vec![0; nodes.len()];
    for node in nodes {
        let lightest = (0..n).min_by(|&a, &b| f64::total_cmp(&loads[a], &loads[b])).unwrap_or(0);
        of[node] = lightest;
        loads[lightest] += graph.weights[node];
    }
    of
}

fn search(graph: &Graph, n: usize) -> Vec<usize> {
    let share = graph.total() / n as f64;
    let mut best: Option<(f64, Vec<usize>)> = None;
    for limit in [0.0, 0.05, 0.1, 0.2, 0.34, 0.5, 0.7, 1.0, 1.05] {
        let (small, to) = graph.merged(limit * share);
        let mut coarse = Places::new(&small, dealt(&small, n), n);
        coarse.improve();
        let of = to.iter().map(|&node| coarse.of[node]).collect();
        let mut fine = Places::new(graph, of, n);
        fine.improve();
        let cost = fine.cost();
        if best.as_ref().is_none_or(|(known, _)| cost < *known) {
            best = Some((cost, fine.of));
        }
    }
    // One partition is a division too.
    let together = Places::new(graph, vec![0; graph.weights.len()], n);
    match best {
        Some((cost, of)) if cost < together.cost() => of,
        _ => together.of,
    }
}
