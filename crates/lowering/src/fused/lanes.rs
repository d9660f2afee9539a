//! Iterations side by side: three functions, one that fills the slots of all lanes, one that does the same for every
//! lane (or several, where a loop is to be short), and one that takes tokens from slots.

use super::kernel::{KernelCode, Values};
use super::lane_pieces::{Between, OneLane, by_depth, pieces};
use super::layout::{LaneSlots, SLOTS};
use super::value::Value;
use super::{CONTEXT, Functions, Fused};
use crate::building::Building;
use crate::function::FunctionBuilder;
use headrace_program::{
    Argument, BinaryOp, CompareOp, Expr, ExprKind, FeatureSetId, FieldType, FunctionId, Place, Root, Stmt, Type,
    VariableId,
};
use headrace_transform::kernel::{Effect, Loop, ObjectId};
use headrace_transform::statements::{Filled, Lanes, Place as Memory, Tokens};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// The functions that run iterations side by side.
pub(super) struct SideBySide {
    count: u32,
    fill: FunctionId,
    compute: Vec<FunctionId>,
    take: FunctionId,
}

/// What a function for all lanes is begun with.
pub(super) struct Own<'l> {
    pub lanes: &'l Lanes,
    pub slots: LaneSlots,
}

impl Fused<'_> {
    /// Functions for iterations side by side, where iterations of the loop may run so and gain from it; those that compute are for
    /// machines with features, if some are given: compilers take wider vectors for them then.
    pub(super) fn side_by_side(
        &self,
        options: crate::Lanes,
        features: Option<FeatureSetId>,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<SideBySide> {
        let lanes = Lanes::of(body)?;
        let count = options.count;
        let n_slots = |kind: usize| (lanes.slots[kind].filled.len() + lanes.slots[kind].taken.len()) as u32;
        let before = (*self.slots.borrow(), building.records[self.fields.context.index()].fields.len());
        let mut fields = [0, 1].map(|kind| self.slot_field(kind, count * n_slots(kind), building));
        let objects = [lanes.slots[0].object, lanes.slots[1].object];
        let slots = |fields| LaneSlots { objects, fields, lane: CONTEXT, count };
        let own = Own { lanes: &lanes, slots: slots(fields) };
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
        let own = Own { lanes: &lanes, slots: slots(fields) };
        let compute = pieces.iter().enumerate().map(|(number, piece)| {
            let mut f = between.function(number, piece, &lane, self.fields.context, &own.slots);
            f.features = features;
            functions.add(building, f, "lanes", "does the same for every lane", None)
        });
        let compute = compute.collect();
        let fill = self.fill(&own, body, building, functions);
        let in_registers =
            features.and_then(|features| self.take_transposed(&own, features, body, building, functions));
        let take = in_registers.unwrap_or_else(|| self.take(&own, body, building, functions));
        Some(SideBySide { count, fill, compute, take })
    }

    /// The field for slots of a kind, with room for so many elements at least.
    fn slot_field(&self, kind: usize, length: u32, building: &mut Building) -> Option<u32> {
        let slots = &mut self.slots.borrow_mut()[kind];
        if length == 0 {
            return slots.map(|(field, _)| field);
        }
        let (field, most) = slots.get_or_insert_with(|| {
            let about = "what iterations that run side by side have each of its own";
            let name = format!("slots_{}", SLOTS[kind].bits());
            (building.field(self.fields.context, &name, FieldType::Array(SLOTS[kind], 1), about), 1)
        });
        *most = (*most).max(length);
        Some(*field)
    }

    /// Makes the fields for slots as long as they were found to be.
    pub(super) fn size_slots(&self, building: &mut Building) {
        for (kind, slots) in self.slots.borrow().iter().enumerate() {
            if let Some((field, length)) = *slots {
                let record = &mut building.records[self.fields.context.index()];
                record.fields[field as usize].ty = FieldType::Array(SLOTS[kind], length);
            }
        }
    }

    /// What is done for a lane, and the function that has its variables; nothing where that is more than to assign and
    /// to store.
    fn one_lane(&self, own: &Own<'_>, building: &mut Building) -> Option<OneLane> {
        let values = Values { graph: &own.lanes.graph, objects: &own.lanes.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let lane = code.f.scalar("lane", Type::U32);
        code.lanes = Some(own.slots.of(lane));
        code.effects(&own.lanes.effects);
        let mut statements = code.f.take();
        // Each variable has one value only, which may go from piece to piece.
        let mut given = FxHashSet::default();
        let mut is_simple = |statement: &Stmt| match statement {
            Stmt::Assign(place, _) => place.path.is_empty() && given.insert(place.root),
            Stmt::Store(..) => true,
            _ => false,
        };
        if !statements.iter().all(&mut is_simple) {
            return None;
        }
        let mut elements = FxHashMap::default();
        statements.retain(|statement| match statement {
            Stmt::Assign(Place { root: Root::Variable(variable), .. }, value) if is_element(value) => {
                elements.insert(*variable, value.clone());
                false
            }
            _ => true,
        });
        Some(OneLane { f: code.f, lane, statements, elements })
    }

    /// The function that fills slots: it is given where the tokens of the first iteration begin, and leaves what is
    /// kept as it is before the iteration behind the last.
    fn fill(&self, own: &Own<'_>, body: &Loop, building: &mut Building, functions: &mut Functions) -> FunctionId {
        let iterations = &own.lanes.iterations;
        let values = Values { graph: &iterations.graph, objects: &iterations.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let cursors = parameters(&mut code.f, "in", &body.consumes);
        let lane = code.f.scalar("lane", Type::U32);
        let slots = own.slots.of(lane);
        let first_kept = iterations.first_kept();
        for (i, kept) in iterations.kept.iter().enumerate() {
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
                let store = Stmt::Store(code.field(field), index, value.low.to(SLOTS[kind]));
                code.f.push(store);
            }
        }
        code.effects(&own.lanes.updates);
        code.close();
        next_lane(&mut code.f, lane, &[(&cursors, &body.consumes)]);
        let block = code.f.restore(outer);
        until(&mut code.f, lane, own.slots.count, block);
        for (i, kept) in iterations.kept.iter().enumerate() {
            for word in kept.words() {
                code.store_kept_word(kept, ObjectId((first_kept + i) as u32), word);
            }
        }
        let KernelCode { f, building, .. } = code;
        functions.add(building, f, "fill_lanes", "puts into slots what lanes begin with", None)
    }

    /// The function that takes tokens from slots: it is given where tokens of the first iteration lie, and where they
    /// go.
    fn take(&self, own: &Own<'_>, body: &Loop, building: &mut Building, functions: &mut Functions) -> FunctionId {
        let iterations = &own.lanes.iterations;
        let values = Values { graph: &iterations.graph, objects: &iterations.objects };
        let mut code = KernelCode::new(self, building, values, None);
        let read = parameters(&mut code.f, "in", &body.consumes);
        let made = parameters(&mut code.f, "out", &body.produces);
        let lane = code.f.scalar("lane", Type::U32);
        let slots = own.slots.of(lane);
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
                let mut value = Expr::element(code.field(field), index, SLOTS[kind]);
                if let Some(plus) = &taken.plus {
                    let tokens = code.tokens(plus).low.to(SLOTS[kind]);
                    value = Expr::binary(BinaryOp::Xor, value, tokens);
                }
                code.put_tokens(&taken.tokens, value);
            }
        }
        code.close();
        next_lane(&mut code.f, lane, &[(&read, &body.consumes), (&made, &body.produces)]);
        let block = code.f.restore(outer);
        until(&mut code.f, lane, own.slots.count, block);
        let KernelCode { f, building, .. } = code;
        functions.add(building, f, "take_lanes", "makes tokens of what lanes have left in slots", None)
    }
}

/// The offsets of tokens, port by port.
fn offsets(tokens: impl Iterator<Item = Tokens>) -> BTreeMap<u32, BTreeSet<i64>> {
    let mut offsets: BTreeMap<u32, BTreeSet<i64>> = BTreeMap::new();
    for Tokens { port, first, n, .. } in tokens {
        offsets.entry(port).or_default().extend(first as i64..(first + n) as i64);
    }
    offsets
}

/// Whether a value is an element, in whatever type: what lanes store to, they do not read.
fn is_element(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Element(..) => true,
        ExprKind::Convert(x) => is_element(x),
        _ => false,
    }
}

/// Parameters for where tokens of ports that iterations use lie.
pub(super) fn parameters(f: &mut FunctionBuilder, like: &str, ports: &[(u64, u32)]) -> Vec<Option<VariableId>> {
    ports.iter().map(|port| (port.0 > 0).then(|| f.scalar_parameter(like, Type::U32))).collect()
}

/// Cursors, and tokens of an iteration and their widths, for each port.
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
    // Compilers know loops best that count with signs.
    let signed = |n: Expr| n.to(Type::I32);
    let more = Expr::compare(CompareOp::Less, signed(f.read(lane)), signed(Expr::u32(count)));
    let label = f.label();
    f.push(Stmt::While(label, more, block));
}

impl KernelCode<'_, '_> {
    /// Runs iterations side by side as long as there are enough of them.
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
        self.put_bytes(Memory::Port(port), first, n as u32, big, Value::one(value, true));
    }
}
