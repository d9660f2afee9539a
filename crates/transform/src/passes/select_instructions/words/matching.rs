//! Pattern matching on data-flow graphs. Where a pattern is in a transition.
//!
//! Words of the result are compared with words of the transition from the top down. Sums are compared as what they are sums
//! of, whatever the brackets; bitwise functions of few words by their truth tables; moves of bits by where each bit
//! comes from. A bare operand of a sum can be any part of it: such parts are left open ([`Equation`]) until all words
//! are compared, and then every way to close them is listed.

use super::bits::Bit;
use super::bitwise::{leaves, truth};
use super::kernel::{Gather, Transition};
use super::pattern::{Bitwise, LANES, Moved, Pattern, WORD_BITS};
use crate::kernel::{NodeId, Op};
use rustc_hash::FxHashMap;

/// Words of a register; `None` where any will do.
pub type Lanes = [Option<NodeId>; LANES];

/// Nodes of nested sums that are looked through for an operand.
const MOST_LOOKED_THROUGH: usize = 48;

/// Ways to compare two values that are followed.
const MOST_STATES: usize = 64;

/// Ways to close what is open that are listed.
const MOST_SOLUTIONS: usize = 1_000;

/// A sum of bare operands, and what it must be.
#[derive(Clone, Debug)]
struct Equation {
    variables: Vec<NodeId>,
    nodes: Vec<NodeId>,
    gather: Gather,
    /// The word of the result to which something else may still be added.
    spare: Option<usize>,
}

/// What is known while values are compared.
#[derive(Clone, Debug, Default)]
struct State {
    /// Values of the pattern and what they stand for. They are few, and copied with every way that is followed.
    bound: Vec<(NodeId, NodeId)>,
    equations: Vec<Equation>,
}

impl State {
    fn bound(&self, pattern: NodeId) -> Option<NodeId> {
        self.bound.iter().find(|(known, _)| *known == pattern).map(|&(_, node)| node)
    }

    fn bind(&mut self, pattern: NodeId, node: NodeId) {
        match self.bound.iter_mut().find(|(known, _)| *known == pattern) {
            Some(known) => known.1 = node,
            None => self.bound.push((pattern, node)),
        }
    }
}

/// A way in which a pattern gives words.
#[derive(Clone, Debug)]
pub struct Found {
    /// All words of the result that are known.
    pub lanes: Lanes,
    /// What each variable stands for, as operands of a sum.
    pub values: FxHashMap<NodeId, Vec<NodeId>>,
    /// What must still be added to each word of the result.
    pub rest: [Vec<NodeId>; LANES],
    /// How things are added.
    pub gather: Gather,
    /// For each word of the result that is not known, a value that it is a sum of.
    pub inside: [Option<NodeId>; LANES],
}

/// Where in a pattern a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is a word of the result.
    Lane(usize),
    /// It is a word of the result but for a move of bits.
    Moved,
    Inside,
}

/// Compares a pattern with words of a transition.
pub struct Matcher<'a> {
    /// The pattern.
    pub pattern: &'a Pattern,
    /// The transition.
    pub kernel: &'a Transition,
}

impl Matcher<'_> {
    /// All ways in which the pattern gives these words.
    pub fn find(&self, lanes: &Lanes) -> Vec<Found> {
        self.some(lanes, MOST_SOLUTIONS)
    }

    /// One way in which the pattern gives these words.
    pub fn find_one(&self, lanes: &Lanes) -> Option<Found> {
        self.some(lanes, 1).pop()
    }

    fn some(&self, lanes: &Lanes, most: usize) -> Vec<Found> {
        let mut found = Vec::new();
        for state in self.compare(lanes) {
            if found.len() < most {
                self.solutions(lanes, state, most, &mut found);
            }
        }
        found
    }

    fn compare(&self, lanes: &Lanes) -> Vec<State> {
        let mut state = State::default();
        for (&pattern, lane) in self.pattern.lanes.iter().zip(lanes) {
            if let Some(lane) = lane {
                state.bind(pattern, *lane);
            }
        }
        let mut states = vec![state];
        for (at, (&pattern, lane)) in self.pattern.lanes.iter().zip(lanes).enumerate() {
            if let Some(lane) = *lane {
                states = self.each(states, |state| self.structure(pattern, lane, state, Place::Lane(at)));
            }
        }
        states
    }

    fn each(&self, states: Vec<State>, step: impl Fn(State) -> Vec<State>) -> Vec<State> {
        let mut all: Vec<State> = states.into_iter().flat_map(step).collect();
        all.truncate(MOST_STATES);
        all
    }

    fn unify(&self, pattern: NodeId, node: NodeId, state: State, place: Place) -> Vec<State> {
        if let Some(bound) = state.bound(pattern) {
            return if bound == node { vec![state] } else { Vec::new() };
        }
        let mut states = self.structure(pattern, node, state, place);
        for state in &mut states {
            state.bind(pattern, node);
        }
        states
    }

    /// Compares two values by what they are made of.
    fn structure(&self, pattern: NodeId, node: NodeId, state: State, place: Place) -> Vec<State> {
        match self.pattern.graph.op(pattern) {
            Op::Input { .. } => vec![state],
            Op::Const(value) if self.kernel.graph.constant(node) == Some(*value) => vec![state],
            Op::Concat(_) => self.moves(pattern, node, state, place),
            Op::Add(..) => self.sum(pattern, node, state, place),
            Op::Xor(..) if place != Place::Inside && self.is_open(pattern, &state) => {
                self.open(pattern, node, state, place)
            }
            Op::Xor(..) | Op::And(..) | Op::Or(..) | Op::Not(_) => self.bitwise(pattern, node, state),
            _ => Vec::new(),
        }
    }

    fn moves(&self, pattern: NodeId, node: NodeId, state: State, place: Place) -> Vec<State> {
        let Some(Moved { source, bits: wanted }) = self.pattern.moved(pattern) else { return Vec::new() };
        let source = *source;
        let there = self.kernel.bits(node);
        if wanted.len() != there.len() {
            return Vec::new();
        }
        let known = state.bound(source).map(|known| self.kernel.bits(known));
        let mut of_source = [None; WORD_BITS as usize];
        for (wanted, &there) in wanted.iter().zip(there.iter()) {
            let fits = match wanted {
                Bit::Constant(_) => *wanted == there,
                Bit::Of(_, at) => {
                    of_source[*at as usize] = Some(there);
                    known.as_ref().is_none_or(|known| known[*at as usize] == there)
                }
            };
            if !fits {
                return Vec::new();
            }
        }
        if known.is_some() {
            return vec![state];
        }
        let place = if place == Place::Inside { place } else { Place::Moved };
        match self.kernel.word_of(&of_source) {
            Some(word) => self.unify(source, word, state, place),
            None => Vec::new(),
        }
    }

    /// Operands of a nested sum of the pattern.
    fn terms(&self, pattern: NodeId, gather: Gather, terms: &mut Vec<NodeId>) {
        match (self.pattern.graph.op(pattern), gather) {
            (Op::Add(a, b), Gather::Add) | (Op::Xor(a, b), Gather::Xor) => {
                self.terms(*a, gather, terms);
                self.terms(*b, gather, terms);
            }
            _ => terms.push(pattern),
        }
    }

    fn is_variable(&self, pattern: NodeId) -> bool {
        matches!(self.pattern.graph.op(pattern), Op::Input { .. })
    }

    fn sum(&self, pattern: NodeId, node: NodeId, state: State, place: Place) -> Vec<State> {
        let mut terms = Vec::new();
        self.terms(pattern, Gather::Add, &mut terms);
        self.gather(terms, state, place, Gather::Add, vec![node])
    }

    /// Whether an exclusive or is one of bare operands, with others that are words of the result.
    fn is_open(&self, pattern: NodeId, state: &State) -> bool {
        let mut terms = Vec::new();
        self.terms(pattern, Gather::Xor, &mut terms);
        let bare = |term: &NodeId| {
            self.is_variable(*term) || state.bound(*term).is_some() || self.pattern.lanes.contains(term)
        };
        terms.iter().all(bare)
    }

    fn open(&self, pattern: NodeId, node: NodeId, state: State, place: Place) -> Vec<State> {
        let mut terms = Vec::new();
        self.terms(pattern, Gather::Xor, &mut terms);
        let there = self.kernel.flat(Gather::Xor, node);
        if there.len() < 2 {
            return Vec::new();
        }
        self.gather(terms, state, place, Gather::Xor, there)
    }

    /// Finds operands in a sum, those that say most first, and leaves bare ones open.
    fn gather(&self, terms: Vec<NodeId>, state: State, place: Place, gather: Gather, there: Vec<NodeId>) -> Vec<State> {
        let (variables, mut others): (Vec<NodeId>, Vec<NodeId>) =
            terms.into_iter().partition(|term| self.is_variable(*term) && state.bound(*term).is_none());
        others.sort_by_key(|term| state.bound(*term).is_none());
        let mut ways: Vec<(Vec<NodeId>, State)> = vec![(there, state)];
        for term in others {
            let mut next = Vec::new();
            for (cut, state) in ways {
                next.extend(self.place(term, &cut, &state, gather));
            }
            next.truncate(MOST_STATES);
            ways = next;
        }
        let spare = match place {
            Place::Lane(lane) => Some(lane),
            _ => None,
        };
        let mut states = Vec::new();
        for (nodes, mut state) in ways {
            // An operand that only now is known is no longer bare; the solutions see to it.
            if variables.is_empty() && !nodes.is_empty() && spare.is_none() {
                continue;
            }
            if !variables.is_empty() && nodes.is_empty() {
                continue;
            }
            if !variables.is_empty() || !nodes.is_empty() {
                state.equations.push(Equation { variables: variables.clone(), nodes, gather, spare });
            }
            states.push(state);
        }
        states
    }

    /// Finds an operand among those of a nested sum, opening as few brackets as possible.
    fn place(&self, term: NodeId, cut: &[NodeId], state: &State, gather: Gather) -> Vec<(Vec<NodeId>, State)> {
        let mut open: std::collections::VecDeque<(NodeId, Vec<NodeId>)> = cut
            .iter()
            .enumerate()
            .map(|(at, &node)| {
                let others = cut.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, &node)| node);
                (node, others.collect())
            })
            .collect();
        let mut found = Vec::new();
        // Where an operand is not known yet, an exclusive or may have it in several places.
        let all = gather == Gather::Xor;
        let place = if all { Place::Moved } else { Place::Inside };
        let mut looked_through = 0;
        while let Some((node, others)) = open.pop_front() {
            looked_through += 1;
            if looked_through > MOST_LOOKED_THROUGH {
                break;
            }
            let states = self.unify(term, node, state.clone(), place);
            found.extend(states.into_iter().map(|state| (others.clone(), state)));
            if !found.is_empty() && !all {
                break;
            }
            // Words that are used for more than sums stay whole.
            if gather == Gather::Add && (cut.len() > 1 || looked_through > 1) && !self.kernel.is_inner(node) {
                continue;
            }
            let parts = self.kernel.parts(gather, node).unwrap_or_default();
            for (at, &part) in parts.iter().enumerate() {
                let siblings = parts.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, &node)| node);
                let siblings: Vec<NodeId> = others.iter().copied().chain(siblings).collect();
                open.push_back((part, siblings));
            }
        }
        found
    }

    fn bitwise(&self, pattern: NodeId, node: NodeId, state: State) -> Vec<State> {
        let Some(Bitwise { leaves: wanted, truth: function }) = self.pattern.bitwise(pattern) else {
            return Vec::new();
        };
        let mut there = Vec::new();
        let is_bound = |id: NodeId| id != node && state.bound.iter().any(|&(_, bound)| bound == id);
        leaves(&self.kernel.graph, node, &is_bound, &mut there);
        if there == [node] || wanted.len() != there.len() {
            return Vec::new();
        }
        let mut states = Vec::new();
        for order in orders(wanted.len()) {
            let ordered: Vec<NodeId> = order.iter().map(|&at| there[at]).collect();
            if truth(&self.kernel.graph, node, &ordered) != Some(*function) {
                continue;
            }
            let mut pairs: Vec<((NodeId, usize), NodeId)> = wanted.iter().copied().zip(ordered).collect();
            // A rotation says what is rotated, a shift less.
            pairs.sort_by_key(|&((_, n_constant), _)| n_constant);
            let mut own = vec![state.clone()];
            for ((pattern, _), node) in pairs {
                own = self.each(own, |state| self.unify(pattern, node, state, Place::Inside));
            }
            states.extend(own);
        }
        states.truncate(MOST_STATES);
        states
    }

    /// Closes what is open in all ways.
    fn solutions(&self, lanes: &Lanes, state: State, most: usize, found: &mut Vec<Found>) {
        let mut values = FxHashMap::default();
        for &(pattern, node) in &state.bound {
            if self.is_variable(pattern) {
                values.insert(pattern, vec![node]);
            }
        }
        let gather = state.equations.first().map_or(Gather::Add, |equation| equation.gather);
        if state.equations.iter().any(|equation| equation.gather != gather) {
            return;
        }
        let mut closed = Vec::new();
        close(&state.equations, values, Default::default(), most, &mut closed);
        for (values, rest) in closed {
            let mut known = *lanes;
            for (lane, &pattern) in known.iter_mut().zip(&self.pattern.lanes) {
                if lane.is_none() {
                    *lane = self.inferred(pattern, &state, &values);
                }
            }
            let mut inside = [None; LANES];
            for ((inside, &pattern), lane) in inside.iter_mut().zip(&self.pattern.lanes).zip(&known) {
                let mut terms = Vec::new();
                self.terms(pattern, Gather::Add, &mut terms);
                if lane.is_none() && terms.len() > 1 {
                    let telling = terms.iter().filter(|term| !self.is_variable(**term));
                    *inside = telling.filter_map(|term| state.bound(*term)).next();
                }
            }
            found.push(Found { lanes: known, values, rest, gather, inside });
        }
    }

    /// A word of the result that follows from the others.
    fn inferred(&self, pattern: NodeId, state: &State, values: &FxHashMap<NodeId, Vec<NodeId>>) -> Option<NodeId> {
        if let Some(bound) = state.bound(pattern) {
            return Some(bound);
        }
        let single = |variable: NodeId| match values.get(&variable).map(Vec::as_slice) {
            Some(&[one]) => Some(one),
            _ => None,
        };
        if self.is_variable(pattern) {
            return single(pattern);
        }
        let Moved { source, bits: wanted } = self.pattern.moved(pattern)?;
        let from = state.bound(*source).or_else(|| single(*source))?;
        let from = self.kernel.bits(from);
        let wanted: Vec<Option<Bit>> = (wanted.iter())
            .map(|bit| match bit {
                Bit::Constant(_) => Some(*bit),
                Bit::Of(_, at) => from.get(*at as usize).copied(),
            })
            .collect();
        self.kernel.word_of(&wanted)
    }
}

/// Takes nodes out of a list that must have them.
fn without(nodes: &[NodeId], taken: &[NodeId]) -> Option<Vec<NodeId>> {
    let mut left = nodes.to_vec();
    for one in taken {
        let at = left.iter().position(|node| node == one)?;
        left.remove(at);
    }
    Some(left)
}

type Closed = (FxHashMap<NodeId, Vec<NodeId>>, [Vec<NodeId>; LANES]);

fn close(
    equations: &[Equation],
    values: FxHashMap<NodeId, Vec<NodeId>>,
    mut rest: [Vec<NodeId>; LANES],
    most: usize,
    out: &mut Vec<Closed>,
) {
    if out.len() >= most {
        return;
    }
    let mut left: Vec<Equation> = Vec::new();
    for equation in equations {
        let mut own = equation.clone();
        own.variables.retain(|variable| !values.contains_key(variable));
        for variable in &equation.variables {
            if let Some(value) = values.get(variable) {
                match without(&own.nodes, value) {
                    Some(nodes) => own.nodes = nodes,
                    None => return,
                }
            }
        }
        match (own.variables.is_empty(), own.spare) {
            (false, _) if own.nodes.is_empty() => return,
            (false, _) => left.push(own),
            (true, Some(lane)) => rest[lane] = own.nodes,
            (true, None) if own.nodes.is_empty() => {}
            (true, None) => return,
        }
    }
    let Some(next) = (0..left.len()).min_by_key(|&at| left[at].variables.len()) else {
        out.push((values, rest));
        return;
    };
    let equation = left[next].clone();
    // One takes whatever the others do not.
    let n = equation.variables.len();
    let takers = n + usize::from(equation.spare.is_some());
    for taker in 0..takers {
        let singles: Vec<usize> = (0..n).filter(|&at| at != taker).collect();
        for chosen in choices(equation.nodes.len(), singles.len()) {
            let taken: Vec<NodeId> = chosen.iter().map(|&at| equation.nodes[at]).collect();
            let Some(remaining) = without(&equation.nodes, &taken) else { continue };
            if taker < n && remaining.is_empty() {
                continue;
            }
            // All but one taken: who takes it does not matter.
            if remaining.len() == 1 && taker > 0 && taker < n {
                continue;
            }
            let mut values = values.clone();
            for (&at, &node) in singles.iter().zip(&taken) {
                values.insert(equation.variables[at], vec![node]);
            }
            if taker < n {
                values.insert(equation.variables[taker], remaining);
            }
            close(&left, values, rest.clone(), most, out);
        }
    }
}

/// Ways to choose `k` different of `n` places, in order.
fn choices(n: usize, k: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..k {
        all = all
            .into_iter()
            .flat_map(|chosen: Vec<usize>| {
                let free = (0..n).filter(|at| !chosen.contains(at)).collect::<Vec<_>>();
                free.into_iter().map(move |at| [&chosen[..], &[at]].concat())
            })
            .collect();
    }
    all
}

fn orders(n: usize) -> Vec<Vec<usize>> {
    choices(n, n)
}
