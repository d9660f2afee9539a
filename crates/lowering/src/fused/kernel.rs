//! A list of effects as statements of a function that takes the context.
//!
//! Tokens that are read are copied to an array of the function first, and those that are made are copied from one at
//! the end: languages that check indices do so once for all, and no store can be taken to change what is read. For
//! languages that check none, or in which copies cost more than checks, they stay where they lie
//! (`Options::tokens_in_place`).

use super::layout::{LaneSlots, element};
use super::value::{Value, word_type};
use super::{Fused, Reason};
use crate::building::Building;
use crate::function::FunctionBuilder;
use crate::integer::wrap;
use crate::machine::class;
use headrace_ir::{IntType, Scalar};
use headrace_program::{ByteOrder, Expr, Label, Place, Root, Stmt, Type, VariableId};
use headrace_transform::control::Automaton;
use headrace_transform::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, TableId, graph};
use headrace_transform::passes::coalesce_token_loads::TokenWords;
use headrace_transform::statements::{
    Order, Ordered, Outside, PATCHED, Piece, Place as Memory, Statement, Together, Write, ordered,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A port number that stands for a value which is asked for.
const ASKED: u32 = u32::MAX;

/// Elements of a list that are variables, at most.
const MOST_SCATTERED: usize = 32;

/// Which ports carry bytes.
pub(super) struct Bytes {
    /// Input ports of the network, and behind them the output ports, of which loops may read what was just made.
    pub inputs: Vec<bool>,
    pub outputs: Vec<bool>,
}

impl Together for Bytes {
    fn input_bytes(&self, port: u32, _offset: i64, _n: u32) -> bool {
        self.inputs[port as usize]
    }

    fn output_bytes(&self, port: u32, _offset: u64, _n: u32) -> bool {
        self.outputs.get(port as usize) == Some(&true)
    }
}

/// The type of numbers of so many bytes, where memory has such.
fn word_of(n_bytes: usize) -> Option<Type> {
    match n_bytes {
        4 => Some(Type::U32),
        8 => Some(Type::U64),
        _ => None,
    }
}

/// Tokens of a port that a transition reads or makes.
#[derive(Clone)]
struct Window {
    /// Where in the buffer the origin is.
    at: Expr,
    /// The offset from which places are counted: that of the first token, or zero where that is less.
    origin: i64,
    /// The array of the function that they are in, and the place of the first of them; nothing where there is one only.
    array: Option<(VariableId, u64)>,
    /// Runs of them: the place of the first, and how many.
    runs: Vec<(u64, u64)>,
}

impl Window {
    /// The place of a token that it has.
    fn place(&self, offset: i64) -> u64 {
        offset.abs_diff(self.origin)
    }
}

/// The graph of a transition and what its objects are.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub graph: &'a Graph,
    pub objects: &'a [Object],
}

impl<'a> Values<'a> {
    /// Those of the transitions of an automaton.
    pub fn of(automaton: &'a Automaton) -> Self {
        Self { graph: &automaton.graph, objects: &automaton.objects }
    }
}

/// A function as it grows.
pub(super) struct KernelCode<'a, 'b> {
    pub f: FunctionBuilder,
    pub building: &'b mut Building,
    fused: &'a Fused<'a>,
    context: VariableId,
    values: Values<'a>,
    /// Values that have variables here.
    variables: FxHashMap<NodeId, Value>,
    loaded: FxHashMap<u32, Value>,
    /// Arrays of this function for objects, and for what objects held at the beginning.
    lists: FxHashMap<ObjectId, VariableId>,
    copies: FxHashMap<ObjectId, VariableId>,
    /// Objects that are slots of lanes.
    pub lanes: Option<LaneSlots>,
    /// Objects whose elements are words of tokens.
    pub token_words: Vec<TokenWords>,
    /// Elements that are variables: while iterations of a loop run, or of lists.
    kept: FxHashMap<(ObjectId, u64), Vec<VariableId>>,
    /// Lists that have no elements but at these places, which are variables.
    scattered: FxHashMap<ObjectId, BTreeSet<u64>>,
    guarded: FxHashSet<NodeId>,
    /// Objects that effects store to.
    stored: FxHashSet<ObjectId>,
    inputs: FxHashMap<u32, Window>,
    outputs: FxHashMap<u32, Window>,
    /// The loops around.
    loops: Vec<Label>,
    /// The value that was asked for.
    asked: Option<Value>,
    /// Where values that are asked for go, if there are several: bytes of an array.
    staged: Option<VariableId>,
    /// What is returned where an index is outside of its list.
    failed: Option<Expr>,
    /// An index may be.
    pub checks: bool,
    /// What is lowered stands in a loop: what begins at zero is set to zero each time.
    pub repeats: bool,
    /// But for these lists, of which nothing is read before it is stored.
    pub filled: Vec<ObjectId>,
}

impl<'a, 'b> KernelCode<'a, 'b> {
    /// A function without statements; what it returns where an index is outside of its list.
    pub fn new(fused: &'a Fused<'a>, building: &'b mut Building, values: Values<'a>, failed: Option<Expr>) -> Self {
        let mut f = FunctionBuilder::new();
        let context = f.record("context", fused.fields.context);
        Self {
            f,
            building,
            fused,
            context,
            values,
            variables: FxHashMap::default(),
            loaded: FxHashMap::default(),
            lists: FxHashMap::default(),
            copies: FxHashMap::default(),
            lanes: None,
            token_words: Vec::new(),
            kept: FxHashMap::default(),
            scattered: FxHashMap::default(),
            guarded: FxHashSet::default(),
            stored: FxHashSet::default(),
            inputs: FxHashMap::default(),
            outputs: FxHashMap::default(),
            loops: Vec::new(),
            asked: None,
            staged: None,
            failed,
            checks: false,
            repeats: false,
            filled: Vec::new(),
        }
    }

    pub(super) fn graph(&self) -> &'a Graph {
        self.values.graph
    }

    pub(super) fn object(&self, object: ObjectId) -> &'a Object {
        &self.values.objects[object.0 as usize]
    }

    pub(super) fn refuse(&self, what: &str) {
        self.fused.refuse(Reason::from(what));
    }

    pub(super) fn field(&self, field: u32) -> Place {
        Place::field(self.context, field)
    }

    /// Where the tokens of an input port of a loop begin.
    pub(super) fn begin_of(&self, port: usize) -> Expr {
        let buffer = self.fused.fields.read(port);
        let first = self.index(buffer.first);
        if port < self.fused.fields.inputs.len() { first } else { first.plus(self.index(buffer.there)) }
    }

    /// The field that has them.
    pub(super) fn buffer_of(&self, port: usize) -> u32 {
        self.fused.fields.read(port).tokens
    }

    /// The value of a field that is an index of a buffer.
    pub(super) fn index(&self, field: u32) -> Expr {
        Expr::read(self.field(field), Type::U32)
    }

    pub(super) fn named(&mut self, value: Expr) -> Expr {
        self.f.named("v", value)
    }

    pub(super) fn has_variable(&self, id: NodeId) -> bool {
        self.variables.contains_key(&id)
    }

    pub(super) fn variable_of(&self, id: NodeId) -> Option<Value> {
        self.variables.get(&id).cloned()
    }

    pub(super) fn may_be_outside(&self, id: NodeId) -> bool {
        self.guarded.contains(&id)
    }

    pub(super) fn loaded(&mut self, number: u32, width: u32) -> Value {
        self.loaded.get(&number).cloned().unwrap_or_else(|| Value::number(0, width))
    }

    fn outside(&self) -> Outside<'a, Bytes> {
        let Values { graph, objects } = self.values;
        Outside { graph, objects, names: &self.fused.bytes, stored: FxHashSet::default() }
    }

    /// The pieces of a `Concat`.
    pub(super) fn pieces(&self, parts: &[NodeId]) -> Vec<Piece> {
        let mut outside = self.outside();
        // What is stored to is never read where it lies.
        outside.stored.clone_from(&self.stored);
        outside.pieces(parts)
    }

    // --- variables ---

    /// New variables for the words of a value of a width.
    fn words(&mut self, like: &str, width: u32) -> Vec<VariableId> {
        let ty = word_type(width);
        (0..if width > 64 { 2 } else { 1 }).map(|_| self.f.scalar(like, ty)).collect()
    }

    fn read_words(&self, words: &[VariableId]) -> Value {
        let low = self.f.read(words[0]);
        Value { low, high: words.get(1).map(|&high| self.f.read(high)), clean: true }
    }

    fn assign_words(&mut self, words: &[VariableId], value: Value) {
        let upper = value.upper();
        self.f.assign(words[0], value.low);
        if let Some(&high) = words.get(1) {
            self.f.assign(high, upper);
        }
    }

    /// A variable for a value.
    fn define(&mut self, id: NodeId) {
        let value = self.clean(id);
        let constant = |word: &Expr| word.constant().is_some();
        if constant(&value.low) && value.high.as_ref().is_none_or(constant) {
            self.variables.insert(id, value);
            return;
        }
        let words = self.words("v", self.graph().width(id));
        self.assign_words(&words, value);
        let value = self.read_words(&words);
        self.variables.insert(id, value);
    }

    /// Lets elements be variables from here on: their values, and later what these have become.
    pub(super) fn keep(&mut self, object: ObjectId, index: u64, value: Value) {
        let words = self.words("kept", self.object(object).width);
        self.assign_words(&words, value);
        self.kept.insert((object, index), words);
    }

    // --- memory ---

    fn place(&self, object: ObjectId) -> Place {
        if let Some((_, field)) = self.slots(object) {
            return self.field(field);
        }
        match (self.lists.get(&object), self.fused.fields.objects.get(object.0 as usize)) {
            (Some(&list), _) => Place::variable(list),
            (None, Some(&Some(field))) => self.field(field),
            // Nothing has elements there.
            (None, _) => self.field(u32::MAX),
        }
    }

    fn read_place(&self, place: &Place, object: ObjectId, index: Expr) -> Value {
        let width = self.object(object).width;
        let ty = element(width);
        if width > 64 {
            let at = index.times(Expr::u32(2));
            let low = Expr::element(place.clone(), at.clone(), ty);
            return Value::two(low, Expr::element(place.clone(), at.plus(Expr::u32(1)), ty), true);
        }
        Value::one(Expr::element(place.clone(), index, ty).to(word_type(width)), true)
    }

    /// Where the lane has its own of the slots that an object stands for.
    fn slots(&self, object: ObjectId) -> Option<(&LaneSlots, u32)> {
        let lanes = self.lanes.as_ref()?;
        let kind = lanes.objects.iter().position(|slots| *slots == object)?;
        Some((lanes, lanes.fields[kind]?))
    }

    /// The index of an element where it lies: of slots, those of all lanes lie together.
    fn lane_index(&self, object: ObjectId, index: Expr) -> Expr {
        match self.slots(object) {
            Some((lanes, _)) => lanes.index(index),
            None => index,
        }
    }

    /// An element as it is now.
    pub(super) fn element(&mut self, object: ObjectId, index: Expr) -> Value {
        let index = self.lane_index(object, index);
        let kept = index.constant().and_then(|index| self.kept.get(&(object, index)));
        match kept {
            Some(words) => self.read_words(words),
            None => match self.word_of_tokens(object, &index) {
                Some(word) => word,
                None => self.read_place(&self.place(object), object, index),
            },
        }
    }

    /// An element of which the bytes are tokens.
    fn word_of_tokens(&mut self, object: ObjectId, index: &Expr) -> Option<Value> {
        let words = self.token_words.iter().find(|words| words.object == object)?;
        let bytes: Vec<i64> = words.tokens(index.constant()? as usize)?.collect();
        let (port, big) = (words.port, words.big);
        Some(self.bytes(Memory::Port(port), &bytes, big))
    }

    /// An element as it was when the transition began.
    pub(super) fn element_at_beginning(&mut self, object: ObjectId, index: Expr) -> Value {
        match self.copies.get(&object) {
            Some(&copy) => self.read_place(&Place::variable(copy), object, index),
            None => self.element(object, index),
        }
    }

    /// Writes an element.
    pub(super) fn store(&mut self, object: ObjectId, index: Expr, value: Value) {
        let index = self.lane_index(object, index);
        if let Some(words) = index.constant().and_then(|index| self.kept.get(&(object, index))).cloned() {
            // What reads it takes it as it is.
            let width = self.object(object).width;
            let value = if value.clean { value } else { value.masked(graph::mask(width)) };
            return self.assign_words(&words, value);
        }
        let width = self.object(object).width;
        let (place, ty) = (self.place(object), element(width));
        if width <= 64 {
            return self.f.push(Stmt::Store(place, index, value.low.to(ty)));
        }
        let at = self.once(index.times(Expr::u32(2)));
        let upper = value.upper();
        self.f.push(Stmt::Store(place.clone(), at.clone(), value.low.to(ty)));
        self.f.push(Stmt::Store(place, at.plus(Expr::u32(1)), upper));
    }

    /// A value as an element of a width keeps it.
    fn stored(&mut self, value: NodeId, width: u32) -> Value {
        if matches!(width, 8 | 16 | 32 | 64 | 128) && self.graph().width(value) == width {
            self.node(value)
        } else {
            self.clean(value)
        }
    }

    /// An element of a constant table.
    pub(super) fn element_of_table(&mut self, table: TableId, index: Expr) -> Value {
        let table = self.graph().table(table);
        let (width, ty) = (table.width, element(table.width));
        let words = table.elements.iter().flat_map(|&value| {
            let words = [value as u64, (value >> 64) as u64];
            words.into_iter().take(if width > 64 { 2 } else { 1 })
        });
        let own = self.building.table(&table.name, ty, words.collect());
        let place = Place { root: Root::Table(own), path: Vec::new() };
        if width > 64 {
            let at = index.times(Expr::u32(2));
            let low = Expr::element(place.clone(), at.clone(), ty);
            return Value::two(low, Expr::element(place, at.plus(Expr::u32(1)), ty), true);
        }
        Value::one(Expr::element(place, index, ty).to(word_type(width)), true)
    }

    // --- tokens ---

    /// Begins to read and to make the tokens that effects and values need: `inputs` and `outputs` say where offsets are
    /// counted from in the buffers.
    pub(super) fn open(
        &mut self,
        effects: &[Effect],
        more: &[NodeId],
        inputs: &dyn Fn(&Self, usize) -> Expr,
        outputs: &dyn Fn(&Self, usize) -> Expr,
    ) {
        let mut roots = more.to_vec();
        let mut made: BTreeMap<u32, BTreeSet<i64>> = BTreeMap::new();
        Effect::walk(effects, &mut |effect| {
            roots.extend(effect.uses());
            if let Effect::Output { port, offset, .. } = effect {
                made.entry(*port).or_default().insert(*offset as i64);
            }
        });
        self.open_inputs(self.offsets_read(roots), inputs);
        self.open_outputs(made, outputs);
    }

    /// The offsets of the tokens that values need, port by port.
    pub(super) fn offsets_read(&self, roots: Vec<NodeId>) -> BTreeMap<u32, BTreeSet<i64>> {
        let mut read: BTreeMap<u32, BTreeSet<i64>> = BTreeMap::new();
        for id in self.graph().reachable(roots) {
            match *self.graph().op(id) {
                Op::Input { port, offset } => _ = read.entry(port).or_default().insert(offset),
                Op::Entry { object, .. } => {
                    if let Some(words) = self.token_words.iter().find(|words| words.object == object) {
                        let tokens = (0..words.first.len()).filter_map(|index| words.tokens(index)).flatten();
                        read.entry(words.port).or_default().extend(tokens);
                    }
                }
                _ => {}
            }
        }
        read
    }

    /// Begins to read tokens at offsets.
    pub(super) fn open_inputs(&mut self, read: BTreeMap<u32, BTreeSet<i64>>, inputs: &dyn Fn(&Self, usize) -> Expr) {
        for (port, offsets) in read {
            let at = inputs(self, port as usize);
            let ty = self.fused.fields.read(port as usize).element;
            let window = self.window(["from", "tokens"], ty, at, &offsets);
            if let Some((array, first)) = window.array {
                let source = self.field(self.fused.fields.read(port as usize).tokens);
                for &(run, n) in &window.runs {
                    self.f.push(Stmt::Copy {
                        target: Place::variable(array),
                        at: Expr::u32((run - first) as u32),
                        source: source.clone(),
                        from: window.at.clone().plus(Expr::u32(run as u32)),
                        count: Expr::u32(n as u32),
                    });
                }
            }
            self.inputs.insert(port, window);
        }
    }

    /// Begins to make tokens at offsets.
    pub(super) fn open_outputs(&mut self, made: BTreeMap<u32, BTreeSet<i64>>, outputs: &dyn Fn(&Self, usize) -> Expr) {
        for (port, offsets) in made {
            let at = outputs(self, port as usize);
            let ty = self.fused.fields.outputs[port as usize].element;
            let window = self.window(["to", "made"], ty, at, &offsets);
            self.outputs.insert(port, window);
        }
    }

    /// A window on tokens; `at` is where in the buffer offset 0 is.
    fn window(&mut self, [begin, like]: [&str; 2], ty: Type, at: Expr, offsets: &BTreeSet<i64>) -> Window {
        let origin = offsets.first().map_or(0, |&first| first.min(0));
        let at = self.f.named(begin, at.minus(Expr::u32(origin.unsigned_abs() as u32)));
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for offset in offsets {
            let place = offset.abs_diff(origin);
            match runs.last_mut() {
                Some((first, n)) if *first + *n == place => *n += 1,
                _ => runs.push((place, 1)),
            }
        }
        let (first, end) = (runs.first().map_or(0, |run| run.0), runs.last().map_or(0, |run| run.0 + run.1));
        let array = (end - first > 1 && !self.fused.tokens_in_place)
            .then(|| (self.f.array(like, ty, (end - first) as u32), first));
        Window { at, origin, array, runs }
    }

    /// Hands on the tokens that were made.
    pub(super) fn close(&mut self) {
        let mut outputs: Vec<(u32, Window)> = self.outputs.drain().collect();
        outputs.sort_by_key(|output| output.0);
        for (port, window) in outputs {
            let Some((array, first)) = window.array else { continue };
            let target = self.field(self.fused.fields.outputs[port as usize].tokens);
            for (run, n) in window.runs {
                self.f.push(Stmt::Copy {
                    target: target.clone(),
                    at: window.at.clone().plus(Expr::u32(run as u32)),
                    source: Place::variable(array),
                    from: Expr::u32((run - first) as u32),
                    count: Expr::u32(n as u32),
                });
            }
        }
        self.inputs.clear();
    }

    /// A token of an input port.
    pub(super) fn token(&mut self, port: u32, offset: i64) -> Value {
        let buffer = self.fused.fields.read(port as usize);
        let (scalar, width) = (buffer.scalar, buffer.scalar.width());
        let token = match self.inputs.get(&port) {
            Some(window @ Window { array: Some((array, first)), .. }) => {
                self.f.at(*array, Expr::u32((window.place(offset) - first) as u32))
            }
            Some(window) => {
                let at = window.at.clone().plus(Expr::u32(window.place(offset) as u32));
                Expr::element(self.field(buffer.tokens), at, buffer.element)
            }
            None => Expr::int(buffer.element, 0),
        };
        let value = Value::one(token.to(word_type(width)), true);
        match scalar {
            Scalar::Int(IntType { signed: true, .. }) => value.masked(graph::mask(width)),
            _ => value,
        }
    }

    pub(super) fn put(&mut self, port: u32, offset: u64, value: Expr) {
        let buffer = &self.fused.fields.outputs[port as usize];
        let value = match buffer.scalar {
            Scalar::Int(ty @ IntType { signed: true, .. }) => wrap(value.to(class(ty.width)), ty).to(buffer.element),
            _ => value.to(buffer.element),
        };
        match self.outputs.get(&port) {
            Some(window @ Window { array: Some((array, first)), .. }) => {
                let (array, at) = (*array, Expr::u32((window.place(offset as i64) - first) as u32));
                self.f.store(array, at, value);
            }
            Some(window) => {
                let at = window.at.clone().plus(Expr::u32(window.place(offset as i64) as u32));
                self.f.push(Stmt::Store(self.field(buffer.tokens), at, value));
            }
            None => {}
        }
    }

    /// Where bytes lie that are elements of one array: nothing where they do not, or where one of them is a variable.
    fn bytes_at(
        &self,
        place: Memory,
        first: i64,
        n_bytes: u64,
        windows: &FxHashMap<u32, Window>,
        buffer: impl Fn(usize) -> u32,
    ) -> Option<(Place, Expr)> {
        match place {
            Memory::Port(port) => {
                let window = windows.get(&port)?;
                let at = window.place(first);
                Some(match window.array {
                    Some((array, least)) => (Place::variable(array), Expr::u32((at - least) as u32)),
                    None => (self.field(buffer(port as usize)), window.at.clone().plus(Expr::u32(at as u32))),
                })
            }
            Memory::Object(object) => {
                let first = u64::try_from(first).ok()?;
                let is_variable = (first..first + n_bytes).any(|index| self.kept.contains_key(&(object, index)));
                (!is_variable && self.object(object).width == 8).then(|| (self.place(object), Expr::u32(first as u32)))
            }
        }
    }

    /// Bytes that lie together as a number, if it is one of those that can be read at once.
    pub(super) fn word(&self, place: Memory, bytes: &[i64], order: ByteOrder) -> Option<Expr> {
        let ty = word_of(bytes.len())?;
        if let Memory::Port(port) = place
            && self.fused.fields.read(port as usize).element != Type::U8
        {
            return None;
        }
        let (first, n_bytes) = (*bytes.first()?, bytes.len() as u64);
        let (place, at) =
            self.bytes_at(place, first, n_bytes, &self.inputs, |port| self.fused.fields.read(port).tokens)?;
        Some(Expr::word(place, at, order, ty))
    }

    /// Stores bytes that lie together, if that can be done at once.
    fn put_word(&mut self, place: Memory, first: u64, word: Expr, order: ByteOrder) -> bool {
        if let Memory::Port(port) = place
            && self.fused.fields.outputs[port as usize].element != Type::U8
        {
            return false;
        }
        let n_bytes = u64::from(word.ty.bytes());
        let buffer = |port: usize| self.fused.fields.outputs[port].tokens;
        let Some((place, at)) = self.bytes_at(place, first as i64, n_bytes, &self.outputs, buffer) else {
            return false;
        };
        self.f.push(Stmt::StoreWord(place, at, word, order));
        true
    }

    // --- statements ---

    /// Does what effects say.
    pub(super) fn effects(&mut self, effects: &[Effect]) {
        let mut outside = self.outside();
        let Ordered { statements, copied: _, guarded } = ordered(&mut outside, effects, Order::Late);
        self.stored = outside.stored;
        self.guarded = guarded;
        self.scattered = self.scattered(effects);
        self.block(&statements);
    }

    /// Lists of which few elements are read and stored, all at places that are known, and which these are.
    fn scattered(&self, effects: &[Effect]) -> FxHashMap<ObjectId, BTreeSet<u64>> {
        let graph = self.graph();
        let mut places: FxHashMap<ObjectId, Option<BTreeSet<u64>>> = FxHashMap::default();
        let mut uses = Vec::new();
        let mut touch = |object: ObjectId, index: NodeId| {
            if self.object(object).persistent {
                return;
            }
            let all = places.entry(object).or_insert_with(|| Some(BTreeSet::new()));
            match graph.constant(index) {
                Some(index) => _ = all.as_mut().map(|all| all.insert(index as u64)),
                None => *all = None,
            }
        };
        Effect::walk(effects, &mut |effect| {
            uses.extend(effect.uses());
            if let Effect::Load { object, index, .. } | Effect::Store { object, index, .. } = effect {
                touch(*object, *index);
            }
        });
        for id in graph.reachable(uses) {
            if let Op::Entry { object, index } = graph.op(id) {
                touch(*object, *index);
            }
        }
        let known = places.into_iter().filter_map(|(object, places)| Some((object, places?)));
        known.filter(|(_, places)| places.len() <= MOST_SCATTERED).collect()
    }

    fn block(&mut self, block: &[Statement]) {
        block.iter().for_each(|statement| self.statement(statement));
    }

    fn nested(&mut self, block: &[Statement]) -> Vec<Stmt> {
        let outer = self.f.take();
        self.block(block);
        self.f.restore(outer)
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::List(object) if self.scattered.contains_key(object) => {
                let width = self.object(*object).width;
                for place in self.scattered[object].clone() {
                    self.keep(*object, place, Value::number(0, width));
                }
            }
            Statement::List(object) => {
                let own = self.object(*object);
                let (ty, length) = (element(own.width), super::layout::stored_length(own).max(1) as u32);
                let list = self.f.array("list", ty, length);
                if self.repeats && !self.filled.contains(object) {
                    let (target, count) = (Place::variable(list), Expr::u32(length));
                    self.f.push(Stmt::Fill { target, at: Expr::u32(0), count, value: Expr::int(ty, 0) });
                }
                self.lists.insert(*object, list);
            }
            Statement::Copy(object) => {
                let own = self.object(*object);
                let length = super::layout::stored_length(own) as u32;
                let copy = self.f.array("copy", element(own.width), length);
                self.f.push(Stmt::Copy {
                    target: Place::variable(copy),
                    at: Expr::u32(0),
                    source: self.place(*object),
                    from: Expr::u32(0),
                    count: Expr::u32(length),
                });
                self.copies.insert(*object, copy);
            }
            Statement::Ahead(number, object) => {
                let width = self.object(*object).width;
                let words = self.words("loaded", width);
                if self.repeats {
                    self.assign_words(&words, Value::number(0, width));
                }
                let value = self.read_words(&words);
                self.loaded.insert(*number, value);
            }
            Statement::Define { id, .. } => self.define(*id),
            Statement::Forget(ids) => ids.iter().for_each(|id| {
                self.variables.remove(id);
            }),
            Statement::Load { id, object, index, .. } => self.load(*id, *object, *index),
            Statement::Store { object, index, value } => {
                let index = self.position(*index);
                let index = self.once(index);
                let value = self.stored(*value, self.object(*object).width);
                self.store(*object, index, value);
            }
            Statement::Write(write) => self.write(write),
            Statement::Loop(inner) => {
                let label = self.f.label();
                self.loops.push(label);
                let body = self.nested(inner);
                self.loops.pop();
                self.f.push(Stmt::Loop(label, body));
            }
            Statement::Leave(condition) => {
                let condition = self.condition(*condition).negated();
                if let Some(&label) = self.loops.last() {
                    self.f.when(condition, |f| f.push(Stmt::Break(label)));
                }
            }
            Statement::Check { condition, .. } => {
                let condition = self.condition(*condition).negated();
                self.checks = true;
                let failed = self.failed.clone();
                self.f.when(condition, |f| f.push(Stmt::Return(failed)));
            }
            Statement::If(condition, then, otherwise) => {
                let condition = self.condition(*condition);
                let (then, otherwise) = (self.nested(then), self.nested(otherwise));
                match (then.is_empty(), otherwise.is_empty()) {
                    (true, true) => {}
                    (true, false) => self.f.push(Stmt::If(condition.negated(), otherwise, then)),
                    _ => self.f.push(Stmt::If(condition, then, otherwise)),
                }
            }
        }
    }

    fn load(&mut self, id: u32, object: ObjectId, index: NodeId) {
        let index = self.position(index);
        let index = self.once(index);
        let value = self.element(object, index);
        let known = self.loaded.get(&id).cloned();
        let value = match known {
            Some(ahead) => {
                let words = [Some(ahead.low.clone()), ahead.high.clone()];
                for (word, value) in
                    words.into_iter().flatten().zip([Some(value.low), value.high].into_iter().flatten())
                {
                    if let headrace_program::ExprKind::Read(place) = word.kind {
                        self.f.push(Stmt::Assign(place, value));
                    }
                }
                ahead
            }
            None => {
                let words = self.words("loaded", self.object(object).width);
                self.assign_words(&words, value);
                self.read_words(&words)
            }
        };
        self.loaded.insert(id, value);
    }

    fn write(&mut self, write: &Write) {
        match *write {
            Write::One { place: Memory::Port(ASKED), index, value } if self.staged.is_some() => {
                let value = self.clean(value).low.to(Type::U8);
                if let Some(array) = self.staged {
                    self.f.store(array, Expr::u32(index as u32), value);
                }
            }
            Write::One { place: Memory::Port(ASKED), value, .. } => {
                let value = self.clean(value);
                self.asked = Some(self.plain(value));
            }
            Write::One { place: Memory::Port(port), index, value } => {
                let value = self.clean(value).low;
                self.put(port, index, value);
            }
            Write::One { place: Memory::Object(object), index, value } => {
                let value = self.stored(value, self.object(object).width);
                self.store(object, Expr::u32(index as u32), value);
            }
            Write::Copy { place, first, n_bytes, from, at } => self.copy(place, first, n_bytes as u64, from, at),
            Write::Patched { object, first, from, at, known, kept } => {
                for word in 0..PATCHED as u64 / 8 {
                    let [known, kept] = [known, kept].map(|all| (all >> (64 * word)) as u64);
                    self.patch(object, first + 8 * word, (from, at + 8 * word), known, kept);
                }
            }
            Write::Filled { object, first, from, at, n_bytes, skipped, known } => {
                let (begin, n) = (skipped as u64, n_bytes as u64);
                self.copy(Memory::Object(object), first + begin, n, from, at);
                self.put_known(object, first, known, 0..begin);
                self.put_known(object, first, known, begin + n..PATCHED as u64);
            }
            Write::Bytes { place, first, n_bytes, big, source, lo } => {
                let value = match u32::try_from(lo) {
                    Ok(lo) => self.bits_from(source, lo, 8 * n_bytes),
                    Err(_) => self.above_zeros(source, lo.unsigned_abs(), 8 * n_bytes),
                };
                let value = self.plain(value);
                self.put_bytes(place, first, n_bytes, big, value);
            }
        }
    }

    /// Stores a value as bytes that lie together: at once where that can be done.
    pub(super) fn put_bytes(&mut self, place: Memory, first: u64, n_bytes: u32, big: bool, value: Value) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let words = match (word_of(n_bytes as usize), order) {
            (Some(ty), _) => vec![value.low.clone().to(ty)],
            (None, ByteOrder::Big) if n_bytes == 16 => vec![value.upper(), value.low.clone()],
            (None, ByteOrder::Little) if n_bytes == 16 => vec![value.low.clone(), value.upper()],
            _ => Vec::new(),
        };
        if !words.is_empty() && (0..).zip(words).all(|(at, word)| self.put_word(place, first + 8 * at, word, order)) {
            return;
        }
        let value = self.plain(value);
        for i in 0..n_bytes {
            let at = order.shift(i, n_bytes);
            let word = if at < 64 { value.low.clone() } else { value.upper() };
            let byte = word.shifted_right(at % 64);
            let index = first + u64::from(i);
            match place {
                Memory::Port(port) => self.put(port, index, byte),
                Memory::Object(object) => self.store(object, Expr::u32(index as u32), Value::one(byte, false)),
            }
        }
    }

    /// Eight bytes of an object, of which some bits are those of another one.
    fn patch(&mut self, object: ObjectId, first: u64, (from, at): (ObjectId, u64), known: u64, kept: u64) {
        let to = Memory::Object(object);
        let bytes: Vec<i64> = (0..8).map(|i| at as i64 + i).collect();
        if let Some(word) = self.word(Memory::Object(from), &bytes, ByteOrder::Little) {
            let number = |value: u64| Expr::int(Type::U64, value);
            let word = word.and(number(kept)).or(number(known));
            if self.put_word(to, first, word, ByteOrder::Little) {
                return;
            }
        }
        for i in 0..8 {
            let value = match (kept >> (8 * i)) & 0xff {
                0 => Value::number(u128::from((known >> (8 * i)) & 0xff), 8),
                _ => self.element(from, Expr::u32((at + i) as u32)),
            };
            self.store(object, Expr::u32((first + i) as u32), value);
        }
    }

    /// Stores known bytes, which are some of those from `first` on, as the longest words that they fill.
    fn put_known(&mut self, object: ObjectId, first: u64, known: u128, mut bytes: Range<u64>) {
        while !bytes.is_empty() {
            let n = [8, 4].into_iter().find(|&n| n <= bytes.end - bytes.start).unwrap_or(1);
            let value = known >> (8 * bytes.start);
            let at = first + bytes.start;
            let word = word_of(n as usize).map(|ty| Expr::int(ty, value as u64 & graph::mask(8 * n as u32) as u64));
            if !word.is_some_and(|word| self.put_word(Memory::Object(object), at, word, ByteOrder::Little)) {
                for i in 0..n {
                    let byte = Value::number((value >> (8 * i)) & 0xff, 8);
                    self.store(object, Expr::u32((at + i) as u32), byte);
                }
            }
            bytes.start += n;
        }
    }

    /// Copies bytes that lie together.
    fn copy(&mut self, place: Memory, first: u64, n: u64, from: Memory, at: i64) {
        let buffer = |port: usize| self.fused.fields.read(port).tokens;
        let array = self.bytes_at(from, at, n, &self.inputs, buffer);
        if let (Memory::Object(object), Some((source, from))) = (place, array)
            && !(first..first + n).any(|index| self.kept.contains_key(&(object, index)))
        {
            let (at, count) = (Expr::u32(first as u32), Expr::u32(n as u32));
            return self.f.push(Stmt::Copy { target: self.place(object), at, source, from, count });
        }
        for i in 0..n {
            let value = match from {
                Memory::Port(port) => self.token(port, at + i as i64),
                Memory::Object(object) => self.element(object, Expr::u32((at as u64 + i) as u32)),
            };
            match place {
                Memory::Port(port) => self.put(port, first + i, value.low),
                Memory::Object(object) => self.store(object, Expr::u32((first + i) as u32), value),
            }
        }
    }

    /// Effects, and behind them bytes that are written down in an array of the function.
    pub(super) fn effects_and_bytes(&mut self, effects: &[Effect], bytes: &[NodeId], array: VariableId) {
        let outputs = (0..).zip(bytes).map(|(offset, &value)| Effect::Output { port: ASKED, offset, value });
        let all: Vec<Effect> = effects.iter().cloned().chain(outputs).collect();
        self.staged = Some(array);
        self.effects(&all);
        self.staged = None;
    }

    /// The value of a node behind effects: its words can be read more than once.
    pub(super) fn value_after(&mut self, effects: &[Effect], id: NodeId) -> Value {
        let mut effects = effects.to_vec();
        effects.push(Effect::Output { port: ASKED, offset: 0, value: id });
        self.effects(&effects);
        self.asked.take().unwrap_or_else(|| Value::number(0, self.graph().width(id)))
    }
}
