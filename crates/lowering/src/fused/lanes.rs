//! Passes side by side: three functions, one that fills the slots of all lanes, one that does the same for every lane (or
//! several, where a loop is to be short), and one that takes tokens from slots.

use super::kernel::{KernelCode, Values};
use super::value::Value;
use super::{CONTEXT, Functions, Fused};
use crate::building::Building;
use crate::function::FunctionBuilder;
use headrace_program::{
    Argument, BinaryOp, ByteOrder, Expr, ExprKind, FieldType, FunctionId, Place, Root, Stmt, Type, VariableId,
};
use headrace_transform::kernel::{Effect, Loop, ObjectId};
use headrace_transform::statements::{Filled, Lanes, Place as Memory, Tokens};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The types of slots.
const TYPES: [Type; 2] = [Type::U32, Type::U64];

/// Where the slots of a lane lie.
#[derive(Clone, Debug)]
pub(super) struct LaneSlots {
    /// The objects that stand for them.
    pub objects: [ObjectId; 2],
    /// The fields that they are elements of.
    pub fields: [Option<u32>; 2],
    /// Which lane it is.
    pub lane: VariableId,
    /// How many there are.
    pub count: u32,
}

impl LaneSlots {
    /// Where the lane has its own of a slot.
    pub fn index(&self, slot: Expr) -> Expr {
        slot.times(Expr::u32(self.count)).plus(Expr::read(Place::variable(self.lane), Type::U32))
    }
}

/// The functions that run passes side by side.
pub(super) struct SideBySide {
    count: u32,
    fill: FunctionId,
    compute: Vec<FunctionId>,
    take: FunctionId,
}

/// What is done for a lane.
struct OneLane {
    /// Has its variables.
    f: FunctionBuilder,
    /// The one that says which lane it is.
    lane: VariableId,
    /// What it computes.
    statements: Vec<Stmt>,
    /// Variables that are elements which no lane changes: whoever reads one reads the element.
    elements: HashMap<VariableId, Expr>,
}

/// What a function for all lanes is begun with.
struct Own<'l> {
    lanes: &'l Lanes,
    count: u32,
    fields: [Option<u32>; 2],
}

impl Own<'_> {
    fn slots(&self, lane: VariableId) -> LaneSlots {
        let objects = [self.lanes.slots[0].object, self.lanes.slots[1].object];
        LaneSlots { objects, fields: self.fields, lane, count: self.count }
    }
}

impl Fused<'_> {
    /// Functions for passes side by side, where passes of the loop may run so and gain from it.
    pub(super) fn side_by_side(
        &self,
        options: crate::Lanes,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<SideBySide> {
        let lanes = Lanes::of(body)?;
        let count = options.count;
        let n_slots = |kind: usize| (lanes.slots[kind].filled.len() + lanes.slots[kind].taken.len()) as u32;
        let before = (*self.slots.borrow(), building.records[self.fields.context.index()].fields.len());
        let mut fields = [0, 1].map(|kind| self.slot_field(kind, count * n_slots(kind), building));
        let own = Own { lanes: &lanes, count, fields };
        let Some(mut lane) = self.one_lane(&own, building) else {
            // No slots for nothing.
            *self.slots.borrow_mut() = before.0;
            building.records[self.fields.context.index()].fields.truncate(before.1);
            return None;
        };
        if options.longest.is_none() {
            lane.statements = by_depth(lane.statements);
        }
        let pieces = pieces(&lane.statements, options.longest.unwrap_or(usize::MAX));
        let between = Between::of(&pieces, [n_slots(0), n_slots(1)]);
        // What goes from piece to piece has slots behind the others.
        fields = [0, 1].map(|kind| self.slot_field(kind, count * between.n_slots[kind], building));
        let own = Own { lanes: &lanes, count, fields };
        let compute = pieces.iter().enumerate().map(|(number, piece)| {
            let f = between.function(number, piece, &lane, self.fields.context, &own);
            functions.add(building, f, "lanes", "does the same for every lane", None)
        });
        let compute = compute.collect();
        let fill = self.fill(&own, body, building, functions);
        let take = self.take(&own, body, building, functions);
        Some(SideBySide { count, fill, compute, take })
    }

    /// The field for slots of a kind, with room for so many elements at least.
    fn slot_field(&self, kind: usize, length: u32, building: &mut Building) -> Option<u32> {
        let slots = &mut self.slots.borrow_mut()[kind];
        if length == 0 {
            return slots.map(|(field, _)| field);
        }
        let (field, most) = slots.get_or_insert_with(|| {
            let about = "what passes that run side by side have each of its own";
            let name = format!("slots_{}", TYPES[kind].bits());
            (building.field(self.fields.context, &name, FieldType::Array(TYPES[kind], 1), about), 1)
        });
        *most = (*most).max(length);
        Some(*field)
    }

    /// Makes the fields for slots as long as they were found to be.
    pub(super) fn size_slots(&self, building: &mut Building) {
        for (kind, slots) in self.slots.borrow().iter().enumerate() {
            if let Some((field, length)) = *slots {
                let record = &mut building.records[self.fields.context.index()];
                record.fields[field as usize].ty = FieldType::Array(TYPES[kind], length);
            }
        }
    }

    /// What is done for a lane, and the function that has its variables; nothing where that is more than to assign and to
    /// store.
    fn one_lane(&self, own: &Own<'_>, building: &mut Building) -> Option<OneLane> {
        let values = Values { graph: &own.lanes.graph, objects: &own.lanes.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let lane = code.f.scalar("lane", Type::U32);
        code.lanes = Some(own.slots(lane));
        code.effects(&own.lanes.effects);
        let mut statements = code.f.take();
        // Each variable has one value only, which may go from piece to piece.
        let mut given = HashSet::new();
        let mut is_simple = |statement: &Stmt| match statement {
            Stmt::Assign(place, _) => place.path.is_empty() && given.insert(place.root),
            Stmt::Store(..) => true,
            _ => false,
        };
        if !statements.iter().all(&mut is_simple) {
            return None;
        }
        let mut elements = HashMap::new();
        statements.retain(|statement| match statement {
            Stmt::Assign(Place { root: Root::Variable(variable), .. }, value) if is_element(value) => {
                elements.insert(*variable, value.clone());
                false
            }
            _ => true,
        });
        Some(OneLane { f: code.f, lane, statements, elements })
    }

    /// The function that fills slots: it is given where the tokens of the first pass begin, and leaves what is kept as it is
    /// before the pass behind the last.
    fn fill(&self, own: &Own<'_>, body: &Loop, building: &mut Building, functions: &mut Functions) -> FunctionId {
        let passes = &own.lanes.passes;
        let values = Values { graph: &passes.graph, objects: &passes.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let cursors = parameters(&mut code.f, "in", &body.consumes);
        let lane = code.f.scalar("lane", Type::U32);
        let slots = own.slots(lane);
        let first_kept = passes.first_kept();
        for (i, kept) in passes.kept.iter().enumerate() {
            for word in kept.words() {
                let value = code.kept_word(kept, word);
                code.keep(ObjectId((first_kept + i) as u32), word as u64, value);
            }
        }
        let at = |code: &KernelCode<'_, '_>, port: usize| cursors[port].map_or(Expr::u32(0), |own| code.f.read(own));
        let outer = code.f.take();
        code.repeats = true;
        let mut read = code.offsets_read(own.lanes.updates.iter().flat_map(Effect::uses).collect());
        let filled = own.lanes.slots.iter().flat_map(|slots| &slots.filled);
        let tokens = filled.filter_map(|filled| match filled {
            Filled::Tokens(tokens) => Some(*tokens),
            Filled::Kept(..) => None,
        });
        for (port, offsets) in offsets(tokens) {
            read.entry(port).or_default().extend(offsets);
        }
        code.open_inputs(read, &at);
        for (kind, own) in own.lanes.slots.iter().enumerate() {
            let Some(field) = slots.fields[kind] else { continue };
            for (slot, filled) in (0..).zip(&own.filled) {
                let value = match *filled {
                    Filled::Kept(i, word) => code.element(ObjectId((first_kept + i) as u32), Expr::u32(word as u32)),
                    Filled::Tokens(tokens) => code.tokens(&tokens),
                };
                let index = slots.index(Expr::u32(slot));
                let store = Stmt::Store(code.field(field), index, value.low.to(TYPES[kind]));
                code.f.push(store);
            }
        }
        code.effects(&own.lanes.updates);
        code.close();
        next_lane(&mut code.f, lane, &[(&cursors, &body.consumes)]);
        let block = code.f.restore(outer);
        until(&mut code.f, lane, own.count, block);
        for (i, kept) in passes.kept.iter().enumerate() {
            for word in kept.words() {
                code.store_kept_word(kept, ObjectId((first_kept + i) as u32), word);
            }
        }
        let KernelCode { f, building, .. } = code;
        functions.add(building, f, "fill_lanes", "puts into slots what lanes begin with", None)
    }

    /// The function that takes tokens from slots: it is given where tokens of the first pass lie, and where they go.
    fn take(&self, own: &Own<'_>, body: &Loop, building: &mut Building, functions: &mut Functions) -> FunctionId {
        let passes = &own.lanes.passes;
        let values = Values { graph: &passes.graph, objects: &passes.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let read = parameters(&mut code.f, "in", &body.consumes);
        let made = parameters(&mut code.f, "out", &body.produces);
        let lane = code.f.scalar("lane", Type::U32);
        let slots = own.slots(lane);
        let taken = || own.lanes.slots.iter().flat_map(|slots| &slots.taken);
        let at = |cursors: &[Option<VariableId>], code: &KernelCode<'_, '_>, port: usize| {
            cursors[port].map_or(Expr::u32(0), |own| code.f.read(own))
        };
        let outer = code.f.take();
        code.open_inputs(offsets(taken().filter_map(|taken| taken.plus)), &|code, port| at(&read, code, port));
        code.open_outputs(offsets(taken().map(|taken| taken.tokens)), &|code, port| at(&made, code, port));
        for (kind, own) in own.lanes.slots.iter().enumerate() {
            let Some(field) = slots.fields[kind] else { continue };
            for (slot, taken) in (own.filled.len() as u32..).zip(&own.taken) {
                let index = slots.index(Expr::u32(slot));
                let mut value = Expr::element(code.field(field), index, TYPES[kind]);
                if let Some(plus) = &taken.plus {
                    let tokens = code.tokens(plus).low.to(TYPES[kind]);
                    value = Expr::binary(BinaryOp::Xor, value, tokens);
                }
                code.put_tokens(&taken.tokens, value);
            }
        }
        code.close();
        next_lane(&mut code.f, lane, &[(&read, &body.consumes), (&made, &body.produces)]);
        let block = code.f.restore(outer);
        until(&mut code.f, lane, own.count, block);
        let KernelCode { f, building, .. } = code;
        functions.add(building, f, "take_lanes", "makes tokens of what lanes have left in slots", None)
    }
}

/// The offsets of tokens, port by port.
fn offsets(tokens: impl Iterator<Item = Tokens>) -> BTreeMap<u32, BTreeSet<u64>> {
    let mut offsets: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    tokens.for_each(|tokens| offsets.entry(tokens.port).or_default().extend(tokens.first..tokens.first + tokens.n));
    offsets
}

/// Statements by how many come before them at least: what is independent stands together.
fn by_depth(statements: Vec<Stmt>) -> Vec<Stmt> {
    let mut depths: HashMap<VariableId, usize> = HashMap::new();
    let mut all: Vec<(usize, Stmt)> = Vec::new();
    for statement in statements {
        let mut depth = 0;
        if let Stmt::Assign(_, value) | Stmt::Store(_, _, value) = &statement {
            variables(value, &mut |variable| depth = depth.max(depths.get(&variable).map_or(0, |depth| depth + 1)));
        }
        if let Stmt::Assign(Place { root: Root::Variable(variable), .. }, _) = &statement {
            depths.insert(*variable, depth);
        }
        all.push((depth, statement));
    }
    all.sort_by_key(|one| one.0);
    all.into_iter().map(|one| one.1).collect()
}

/// Whether a value is an element, in whatever type: what lanes store to, they do not read.
fn is_element(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Element(..) => true,
        ExprKind::Convert(x) => is_element(x),
        _ => false,
    }
}

/// Parameters for where tokens of ports that passes use lie.
fn parameters(f: &mut FunctionBuilder, like: &str, ports: &[(u64, u32)]) -> Vec<Option<VariableId>> {
    ports.iter().map(|port| (port.0 > 0).then(|| f.scalar_parameter(like, Type::U32))).collect()
}

/// Cursors, and tokens of a pass and their widths, for each port.
type CursorsOf<'a> = (&'a [Option<VariableId>], &'a [(u64, u32)]);

/// Goes on to the next lane, whose tokens are behind those of this one.
fn next_lane(f: &mut FunctionBuilder, lane: VariableId, ports: &[CursorsOf<'_>]) {
    for (&cursor, &(tokens, _)) in ports.iter().flat_map(|(cursors, ports)| cursors.iter().zip(*ports)) {
        if let Some(cursor) = cursor {
            let next = f.read(cursor).plus(Expr::u32(tokens as u32));
            f.assign(cursor, next);
        }
    }
    let next = f.read(lane).plus(Expr::u32(1));
    f.assign(lane, next);
}

/// A block for each lane.
fn until(f: &mut FunctionBuilder, lane: VariableId, count: u32, block: Vec<Stmt>) {
    let (label, more) = (f.label(), f.read(lane).less(Expr::u32(count)));
    f.push(Stmt::While(label, more, block));
}

impl KernelCode<'_, '_> {
    /// Runs passes side by side as long as there are enough of them.
    pub(super) fn run_lanes(
        &mut self,
        lanes: &SideBySide,
        n: VariableId,
        body: &Loop,
        inputs: &[Option<VariableId>],
        outputs: &[Option<VariableId>],
    ) {
        let call = |code: &mut Self, function: FunctionId, cursors: &[&[Option<VariableId>]]| {
            let cursors =
                cursors.iter().copied().flatten().flatten().map(|&cursor| Argument::Value(code.f.read(cursor)));
            let arguments = [Argument::Reference(Place::variable(CONTEXT))].into_iter().chain(cursors).collect();
            code.f.call(None, function, arguments);
        };
        let outer = self.f.take();
        call(self, lanes.fill, &[inputs]);
        lanes.compute.iter().for_each(|&function| call(self, function, &[]));
        call(self, lanes.take, &[inputs, outputs]);
        self.go_on(n, lanes.count, body, inputs, outputs);
        let block = self.f.restore(outer);
        let (label, enough) = (self.f.label(), self.f.read(n).at_least(Expr::u32(lanes.count)));
        self.f.push(Stmt::While(label, enough, block));
    }

    /// Tokens as the value of a slot.
    fn tokens(&mut self, tokens: &Tokens) -> Value {
        let Tokens { port, first, n, big } = *tokens;
        if n == 1 {
            return self.token(port, first as i64);
        }
        let bytes: Vec<i64> = (first..first + n).map(|byte| byte as i64).collect();
        self.bytes(Memory::Port(port), &bytes, big)
    }

    /// Makes tokens of the value of a slot.
    fn put_tokens(&mut self, tokens: &Tokens, value: Expr) {
        let Tokens { port, first, n, big } = *tokens;
        if n == 1 {
            return self.put(port, first, value);
        }
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        if self.put_word(Memory::Port(port), first, value.clone(), order) {
            return;
        }
        let value = self.named(value);
        for i in 0..n {
            let byte = value.clone().shifted_right(order.shift(i as u32, n as u32));
            let byte = Value::one(byte, false).masked(255).low;
            self.put(port, first + i, byte);
        }
    }
}

// --- pieces ---

/// Statements in pieces of not more than so many, where they are as many as that: each is a loop over the lanes.
fn pieces(statements: &[Stmt], longest: usize) -> Vec<&[Stmt]> {
    let n_pieces = statements.len().div_ceil(longest).max(1);
    statements.chunks(statements.len().div_ceil(n_pieces).max(1)).collect()
}

/// What goes from piece to piece.
struct Between {
    /// The slot of each variable that is read in a piece behind the one that gives it its value.
    slots: HashMap<VariableId, (Type, u32)>,
    /// Slots of each kind, with those that pieces have between them.
    n_slots: [u32; 2],
    /// Of each piece, the variables that are read from slots before, and stored to slots behind.
    reads: Vec<BTreeSet<VariableId>>,
    stores: Vec<BTreeSet<VariableId>>,
}

impl Between {
    fn of(pieces: &[&[Stmt]], n_slots: [u32; 2]) -> Self {
        let mut given: HashMap<VariableId, (usize, Type)> = HashMap::new();
        let mut last: HashMap<VariableId, usize> = HashMap::new();
        let mut between =
            Between { slots: HashMap::new(), n_slots, reads: Vec::new(), stores: vec![BTreeSet::new(); pieces.len()] };
        for (number, piece) in pieces.iter().enumerate() {
            let mut reads = BTreeSet::new();
            for statement in *piece {
                let (Stmt::Assign(_, value) | Stmt::Store(_, _, value)) = statement else { continue };
                variables(value, &mut |variable| {
                    if given.get(&variable).is_some_and(|&(at, _)| at < number) {
                        reads.insert(variable);
                        last.insert(variable, number);
                    }
                });
                if let Stmt::Assign(Place { root: Root::Variable(variable), .. }, value) = statement {
                    given.insert(*variable, (number, value.ty));
                }
            }
            between.reads.push(reads);
        }
        for (&variable, (number, _)) in given.iter().filter(|(variable, _)| last.contains_key(variable)) {
            between.stores[*number].insert(variable);
        }
        // A slot is free again in the last piece that reads it: each lane does so before it stores.
        let mut free: [Vec<u32>; 2] = Default::default();
        for number in 0..pieces.len() {
            for variable in between.reads[number].iter().filter(|variable| last[variable] == number) {
                let (ty, slot) = between.slots[variable];
                free[usize::from(ty == Type::U64)].push(slot);
            }
            for variable in &between.stores[number] {
                let kind = usize::from(given[variable].1.bits() == 64);
                let slot = free[kind].pop().unwrap_or_else(|| {
                    between.n_slots[kind] += 1;
                    between.n_slots[kind] - 1
                });
                between.slots.insert(*variable, (TYPES[kind], slot));
            }
        }
        between
    }

    /// The function of a piece.
    fn function(
        &self,
        number: usize,
        piece: &[Stmt],
        of: &OneLane,
        context: headrace_program::RecordId,
        own: &Own<'_>,
    ) -> FunctionBuilder {
        let mut f = FunctionBuilder::new();
        f.record("context", context);
        let lane = f.scalar("lane", Type::U32);
        let slots = own.slots(lane);
        let place = |ty: Type| slots.fields[usize::from(ty == Type::U64)].map(|field| Place::field(CONTEXT, field));
        let mut renaming = Renaming { known: HashMap::from([(CONTEXT, CONTEXT), (of.lane, lane)]), of: &of.f };
        let mut body = Vec::new();
        let mut read = BTreeSet::new();
        for statement in piece {
            if let Stmt::Assign(_, value) | Stmt::Store(_, _, value) = statement {
                variables(value, &mut |variable| _ = read.insert(variable));
            }
        }
        for (variable, value) in read.iter().filter_map(|variable| Some((variable, of.elements.get(variable)?))) {
            let mut differs = false;
            variables(value, &mut |variable| differs |= variable == of.lane);
            let new = renaming.variable(*variable, &mut f);
            let statement = Stmt::Assign(Place::variable(new), renaming.expr(value, &mut f));
            // What is the same for all lanes is read once.
            if differs { body.push(statement) } else { f.push(statement) }
        }
        for variable in &self.reads[number] {
            let (ty, slot) = self.slots[variable];
            let Some(place) = place(ty) else { continue };
            let value = Expr::element(place, slots.index(Expr::u32(slot)), ty);
            let new = renaming.variable(*variable, &mut f);
            let value = value.to(of.f.type_of(*variable));
            body.push(Stmt::Assign(Place::variable(new), value));
        }
        for statement in piece {
            body.push(match statement {
                Stmt::Assign(target, value) => {
                    let value = renaming.expr(value, &mut f);
                    Stmt::Assign(renaming.place(target, &mut f), value)
                }
                Stmt::Store(target, index, value) => {
                    let (target, index) = (renaming.place(target, &mut f), renaming.expr(index, &mut f));
                    Stmt::Store(target, index, renaming.expr(value, &mut f))
                }
                other => other.clone(),
            });
        }
        for variable in &self.stores[number] {
            let (ty, slot) = self.slots[variable];
            let Some(place) = place(ty) else { continue };
            let new = renaming.variable(*variable, &mut f);
            let value = f.read(new).to(ty);
            body.push(Stmt::Store(place, slots.index(Expr::u32(slot)), value));
        }
        f.push(Stmt::Lanes { lane, count: own.count, body });
        f
    }
}

/// The variables that an expression reads.
fn variables(expr: &Expr, visit: &mut impl FnMut(VariableId)) {
    if let ExprKind::Read(Place { root: Root::Variable(variable), path }) = &expr.kind
        && path.is_empty()
    {
        visit(*variable);
    }
    expr.parts().into_iter().for_each(|part| variables(part, visit));
}

/// Variables of one function as those of another.
struct Renaming<'f> {
    known: HashMap<VariableId, VariableId>,
    of: &'f FunctionBuilder,
}

impl Renaming<'_> {
    fn variable(&mut self, variable: VariableId, f: &mut FunctionBuilder) -> VariableId {
        let ty = self.of.type_of(variable);
        *self.known.entry(variable).or_insert_with(|| f.scalar("v", ty))
    }

    fn place(&mut self, place: &Place, f: &mut FunctionBuilder) -> Place {
        let root = match place.root {
            Root::Variable(variable) => Root::Variable(self.variable(variable, f)),
            root @ Root::Table(_) => root,
        };
        Place { root, path: place.path.clone() }
    }

    fn expr(&mut self, expr: &Expr, f: &mut FunctionBuilder) -> Expr {
        let kind = match &expr.kind {
            ExprKind::Constant(value) => ExprKind::Constant(*value),
            ExprKind::Read(place) => ExprKind::Read(self.place(place, f)),
            ExprKind::Element(place, index) => ExprKind::Element(self.place(place, f), Box::new(self.expr(index, f))),
            ExprKind::Word(place, index, order) => {
                ExprKind::Word(self.place(place, f), Box::new(self.expr(index, f)), *order)
            }
            ExprKind::Unary(op, x) => ExprKind::Unary(*op, Box::new(self.expr(x, f))),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, Box::new(self.expr(a, f)), Box::new(self.expr(b, f))),
            ExprKind::Compare(op, a, b) => ExprKind::Compare(*op, Box::new(self.expr(a, f)), Box::new(self.expr(b, f))),
            ExprKind::Convert(x) => ExprKind::Convert(Box::new(self.expr(x, f))),
            ExprKind::Reinterpret(x) => ExprKind::Reinterpret(Box::new(self.expr(x, f))),
            ExprKind::Select(c, a, b) => {
                ExprKind::Select(Box::new(self.expr(c, f)), Box::new(self.expr(a, f)), Box::new(self.expr(b, f)))
            }
        };
        Expr { kind, ty: expr.ty }
    }
}
