//! Loops over machine words: tokens are coalesced to words, iterations are independent. A loop whose iterations run
//! side by side, as values of whole machine words.
//!
//! Tokens lie in memory one beside the other, so that what an iteration reads is a row of words, whatever tokens are in
//! them. Here each token becomes bits of such a word, what an iteration writes becomes words too, and what goes from
//! iteration to iteration becomes something that every iteration has at once: bits of a counter, or the words of the
//! iteration before. In the graph of the result, [`Op::Input`] means:
//!
//! | port | offset | is |
//! | --- | --- | --- |
//! | of the loop | word; negative ones belong to the iteration before | bits of tokens |
//! | `n_ports` + counter | word, the least significant first | the counter at the beginning of the iteration |
//! | `n_ports` + number of counters | 0 | one bit: the iteration is the first of the call |

use super::scalar::element_type;
use super::translation_validation::words_agree;
use headrace_transform::kernel::{Carry, Graph, Loop, NodeId, ObjectId, Op};
use headrace_transform::statements::join_loads;
use rustc_hash::{FxHashMap, FxHashSet};

pub use headrace_vectorize::NotApplicable;

/// How the tokens of an iteration lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Tokens of an iteration.
    pub tokens: u64,
    /// Bits of a token.
    pub width: u32,
    /// Bytes of the type of a token.
    pub token_bytes: u32,
}

impl Layout {
    pub fn new((tokens, width): (u64, u32)) -> Layout {
        let token_bytes = match element_type(width) {
            "uint8_t" => 1,
            "uint16_t" => 2,
            "uint32_t" => 4,
            "uint64_t" => 8,
            _ => 16,
        };
        Layout { tokens, width, token_bytes }
    }

    /// Bytes of an iteration.
    pub fn bytes(&self) -> u64 {
        self.tokens * u64::from(self.token_bytes)
    }

    /// Words of an iteration; the last may lack bytes.
    pub fn words(&self, word_bits: u32) -> u64 {
        self.bytes().div_ceil(u64::from(word_bits / 8))
    }
}

/// The loop in words.
pub(super) struct WordLoop<'a> {
    pub body: &'a Loop,
    pub graph: Graph,
    /// Bits of a word.
    pub bits: u32,
    pub inputs: Vec<Layout>,
    pub outputs: Vec<Layout>,
    /// Port, word and value of what is written; words that are not there are zero.
    pub written: Vec<(u32, u64, NodeId)>,
    /// Nodes that differ from iteration to iteration.
    pub varying: FxHashSet<NodeId>,
    /// Whether the first of the bytes that a word is read from are its most significant ones.
    pub big: bool,
}

impl<'a> WordLoop<'a> {
    /// # Errors
    ///
    /// Iterations that need each other, tokens wider than a word, tokens of iterations before.
    pub fn new(body: &'a Loop, bits: u32) -> Result<WordLoop<'a>, NotApplicable> {
        WordLoop::with_order(body, bits, false)
    }

    /// The same, but `big`: words of ports of bytes are read with the first byte as the most significant one.
    pub fn with_order(body: &'a Loop, bits: u32, big: bool) -> Result<WordLoop<'a>, NotApplicable> {
        if !body.is_independent() {
            return Err(NotApplicable("iterations need each other".into()));
        }
        let layouts = |ports: &[(u64, u32)]| ports.iter().map(|&port| Layout::new(port)).collect::<Vec<_>>();
        let (inputs, outputs) = (layouts(&body.consumes), layouts(&body.produces));
        let used = inputs.iter().chain(&outputs).filter(|layout| layout.tokens > 0);
        if used.into_iter().any(|layout| layout.token_bytes * 8 > bits) {
            return Err(NotApplicable("tokens are wider than words".into()));
        }
        let mut importer = Importer {
            body,
            bits,
            big,
            inputs: &inputs,
            graph: Graph::with_tables_of(&body.graph),
            carried: body.carried.iter().map(|one| ((one.object, one.index), &one.carry)).collect(),
            next: body.carried.iter().map(|one| ((one.object, one.index), one.next)).collect(),
            known: [FxHashMap::default(), FxHashMap::default()],
        };
        let mut tokens: FxHashMap<(u32, u64), NodeId> = FxHashMap::default();
        for &(port, offset, value) in &body.outputs {
            let value = importer.import(value, false)?;
            tokens.insert((port, offset), value);
        }
        let mut graph = importer.graph;
        let mut written = Vec::new();
        for (port, layout) in outputs.iter().enumerate() {
            let in_word = u64::from(bits / 8 / layout.token_bytes);
            for word in 0..layout.words(bits) {
                let parts: Vec<NodeId> = (0..in_word)
                    .rev()
                    .map(|i| match tokens.get(&(port as u32, word * in_word + i)) {
                        Some(&value) => graph.zero_extend(value, layout.token_bytes * 8),
                        None => graph.number(0, layout.token_bytes * 8),
                    })
                    .collect();
                written.push((port as u32, word, join_loads(&mut graph, &parts)));
            }
        }
        let roots: Vec<NodeId> = written.iter().map(|one| one.2).collect();
        let mut varying = FxHashSet::default();
        for id in graph.reachable(roots) {
            let op = graph.op(id);
            if matches!(op, Op::Input { .. }) || op.operands().iter().any(|operand| varying.contains(operand)) {
                varying.insert(id);
            }
        }
        Ok(WordLoop { body, graph, bits, inputs, outputs, written, varying, big })
    }

    /// The same, tried against the loop.
    ///
    /// # Errors
    ///
    /// It means something else.
    pub fn held(self) -> Result<WordLoop<'a>, NotApplicable> {
        self.held_of(None)
    }

    /// The same, where an iteration is several of another loop that count for themselves.
    ///
    /// # Errors
    ///
    /// It means something else.
    pub fn held_of(self, of: Option<(&Loop, u64)>) -> Result<WordLoop<'a>, NotApplicable> {
        if words_agree(&self, of) {
            Ok(self)
        } else {
            Err(NotApplicable("words are something else than the loop".into()))
        }
    }

    /// The port of a counter.
    pub fn counter_port(&self, counter: usize) -> u32 {
        (self.inputs.len() + counter) as u32
    }

    /// The port of the flag of the first iteration.
    pub fn first_port(&self) -> u32 {
        self.counter_port(self.body.counters.len())
    }

    /// Whether words of a port are read in that order.
    pub fn is_big(&self, port: usize) -> bool {
        self.big && self.bits > 8 && self.inputs.get(port).is_some_and(|layout| layout.token_bytes == 1)
    }

    /// Everything that is written, and what it needs.
    pub fn reachable(&self) -> Vec<NodeId> {
        self.graph.reachable(self.written.iter().map(|one| one.2))
    }

    /// Ports and words that are read, in order.
    pub fn read(&self) -> Vec<(u32, i64)> {
        let mut read: Vec<(u32, i64)> = (self.reachable().into_iter())
            .filter_map(|id| match self.graph.op(id) {
                Op::Input { port, offset } => Some((*port, *offset)),
                _ => None,
            })
            .collect();
        read.sort_unstable();
        read
    }
}

struct Importer<'a> {
    body: &'a Loop,
    bits: u32,
    big: bool,
    inputs: &'a [Layout],
    graph: Graph,
    carried: FxHashMap<(ObjectId, usize), &'a Carry>,
    next: FxHashMap<(ObjectId, usize), NodeId>,
    /// New nodes by old ones: of an iteration, and of the iteration before.
    known: [FxHashMap<NodeId, NodeId>; 2],
}

impl Importer<'_> {
    fn import(&mut self, root: NodeId, before: bool) -> Result<NodeId, NotApplicable> {
        let known = &self.known[usize::from(before)];
        for id in self.body.graph.reachable_but([root], |id| known.contains_key(&id)) {
            let new = self.node(id, before)?;
            self.known[usize::from(before)].insert(id, new);
        }
        self.known[usize::from(before)].get(&root).copied().ok_or_else(|| NotApplicable("a node is missing".into()))
    }

    fn node(&mut self, id: NodeId, before: bool) -> Result<NodeId, NotApplicable> {
        let body = self.body;
        let (op, width) = (body.graph.op(id), body.graph.width(id));
        match op {
            Op::Input { port, offset } => {
                let layout = self.inputs[*port as usize];
                let offset = u64::try_from(*offset).ok().filter(|&offset| offset < layout.tokens);
                let Some(offset) = offset else {
                    return Err(NotApplicable("an iteration reads tokens of other iterations".into()));
                };
                let bit = offset * u64::from(layout.token_bytes) * 8;
                let word = (bit / u64::from(self.bits)) as i64;
                let word = if before { word - layout.words(self.bits) as i64 } else { word };
                let word = self.graph.input(*port, word, self.bits);
                let bit = (bit % u64::from(self.bits)) as u32;
                let bit = if self.big && layout.token_bytes == 1 { self.bits - 8 - bit } else { bit };
                Ok(self.graph.extract(word, bit, width))
            }
            Op::Entry { object, index } => {
                if let Some(index) = body.graph.constant(*index) {
                    if let Some(&carry) = self.carried.get(&(*object, index as usize)) {
                        return self.carried(id, *object, index as usize, carry, before);
                    }
                } else if body.carried.iter().any(|one| one.object == *object) {
                    return Err(NotApplicable(
                        "an iteration reads a list that iterations change, at a place that is not known".into(),
                    ));
                }
                let index = self.known[usize::from(before)][index];
                Ok(self.graph.entry(*object, index, width))
            }
            Op::Concat(parts) => {
                let parts: Vec<NodeId> = parts.iter().map(|part| self.known[usize::from(before)][part]).collect();
                Ok(join_loads(&mut self.graph, &parts))
            }
            Op::Loaded(_) => Err(NotApplicable("an iteration reads a list that it writes".into())),
            _ => {
                let operands: Vec<NodeId> =
                    op.operands().iter().map(|operand| self.known[usize::from(before)][operand]).collect();
                Ok(self.graph.rebuild(op, width, &operands))
            }
        }
    }

    fn carried(
        &mut self,
        id: NodeId,
        object: ObjectId,
        index: usize,
        carry: &Carry,
        before: bool,
    ) -> Result<NodeId, NotApplicable> {
        let width = self.body.graph.width(id);
        match *carry {
            Carry::Counter { counter, lo } => {
                let whole = self.body.graph.width(self.body.counters[counter].start);
                let port = (self.inputs.len() + counter) as u32;
                let mut parts = Vec::new();
                for word in 0..whole.div_ceil(self.bits) {
                    let taken = (whole - word * self.bits).min(self.bits);
                    parts.push(self.graph.input(port, i64::from(word), taken));
                }
                parts.reverse();
                let counter = self.graph.concat(&parts);
                Ok(self.graph.extract(counter, lo, width))
            }
            Carry::Delay if !before => {
                let next = self.import(self.next[&(object, index)], true)?;
                let port = (self.inputs.len() + self.body.counters.len()) as u32;
                let first = self.graph.input(port, 0, 1);
                let index = self.graph.number(index as u128, 64);
                let entry = self.graph.entry(object, index, width);
                Ok(self.graph.select(first, entry, next))
            }
            Carry::Delay => Err(NotApplicable("a value goes on for more than one iteration".into())),
            Carry::True => Err(NotApplicable("iterations need each other".into())),
        }
    }
}

/// An output word: a value, and a word that is mixed into it as it lies in memory.
pub(super) struct Late {
    pub value: NodeId,
    /// Port and word, and what stands there in the first iteration, if that is something else.
    pub mixed: Option<(u32, i64, Option<NodeId>)>,
}

impl Late {
    pub fn new(words: &WordLoop, value: NodeId) -> Late {
        let graph = &words.graph;
        let token = |id: NodeId| match graph.op(id) {
            Op::Input { port, offset } if (*port as usize) < words.inputs.len() => Some((*port, *offset)),
            _ => None,
        };
        if let Op::Xor(a, b) = *graph.op(value) {
            for (value, side) in [(a, b), (b, a)] {
                if let Some((port, word)) = token(side) {
                    return Late { value, mixed: Some((port, word, None)) };
                }
                let Op::Select(condition, first, rest) = *graph.op(side) else { continue };
                let flag = matches!(graph.op(condition), Op::Input { port, .. } if *port == words.first_port());
                if let (true, Some((port, word)), false) = (flag, token(rest), words.varying.contains(&first)) {
                    return Late { value, mixed: Some((port, word, Some(first))) };
                }
            }
        }
        Late { value, mixed: None }
    }
}
