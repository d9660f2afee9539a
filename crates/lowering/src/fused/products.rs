//! Parallel evaluation of GF(2) product recurrences, by powers of the multiplier. A loop that ends in `x := (x ^ a) ∘ h` over
//! blocks, as what is independent of `x` first, and then many products at once.
//!
//! ```text
//! x' = (x ^ a1) ∘ h^n  ^  a2 ∘ h^(n-1)  ^ … ^  an ∘ h
//! ```
//!
//! Each part of a register has its block and its power; what comes of them is added before it is reduced, once for all of a
//! group. Blocks that do not fill a group begin with zeros, which add nothing. How one product is computed, and that it is the
//! right one, is settled and proved by [`headrace_boolean::bilinear::carryless`].

use super::blocks::ForFeatures;
use super::kernel::{KernelCode, Values};
use super::registers::ARCHITECTURE;
use super::value::{Value, or};
use super::{CONTEXT, Functions, Fused};
use crate::building::Building;
use headrace_boolean::bilinear::carryless::{Half, Op as Step, Plan, Program};
use headrace_program::{
    Argument, CompareOp, Expr, FeatureSet, FeatureSetId, FunctionId, Place, Stmt, Type, VariableId, VectorOperand,
    VectorStmt,
};
use headrace_transform::kernel::{Graph, Loop, NodeId, Object, ObjectId, Op};
use headrace_transform::passes::distribute_recurrence::{
    self, Added, ElementByte, Recurrence, SplitLoop, Tokens, distribute_recurrence,
};
use headrace_vectorize::NotApplicable;
use headrace_vectorize::products::{REGISTERS, features, of_bytes, plan, turns_bits};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of a block.
const BYTES: u32 = 16;

/// Widths of registers, the fastest first.
const WIDTHS: &[u32] = &[512, 256, 128];

/// The matrix that turns the bits of a byte round.
const REVERSED: u128 = 0x8040_2010_0804_0201_8040_2010_0804_0201;

impl Fused<'_> {
    /// Functions that run a loop with a product recurrence, the fastest first.
    pub(super) fn product_loops(
        &self,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Vec<ForFeatures> {
        let Some(split) = distribute_recurrence::PASS.tried(|| distribute_recurrence(body)) else { return Vec::new() };
        let of = |&bits: &u32| self.product_loop(&split, bits, building, functions).ok();
        WIDTHS.iter().filter_map(of).collect()
    }

    fn product_loop(
        &self,
        split: &SplitLoop,
        bits: u32,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Result<ForFeatures, NotApplicable> {
        let body = &split.independent;
        let Added::Tokens(tokens) = split.recurrence.added else {
            return Err(NotApplicable("what is added is the same in each iteration".into()));
        };
        let ports = if tokens.is_output { &body.produces } else { &body.consumes };
        if ports.get(tokens.port).is_none_or(|port| port.0 != u64::from(BYTES)) || tokens.first != 0 {
            return Err(NotApplicable("an iteration has more than the blocks of its recurrence".into()));
        }
        let plan = plan(&split.recurrence, bits)?;
        let mut names: Vec<String> = features(bits).iter().map(|&name| name.to_owned()).collect();
        let mut not_first = false;
        let first = match self.blocks_of_width(body, bits, building, functions) {
            Ok(blocks) => {
                names.extend(building.features[blocks.features.index()].names.iter().cloned());
                not_first = blocks.not_first;
                blocks.iterations
            }
            Err(_) => self.iterations(body, &[], None, building, functions),
        };
        names.sort_unstable();
        names.dedup();
        let features = building.features(FeatureSet { architecture: ARCHITECTURE, names });
        let products = self.products(split, (&plan, bits), tokens, features, building, functions)?;
        let mut f = self.begin();
        let n = f.scalar_parameter("n_iterations", Type::U32);
        for function in [first, products] {
            let arguments = vec![Argument::Reference(Place::variable(CONTEXT)), Argument::Value(f.read(n))];
            f.call(None, function, arguments);
        }
        f.features = Some(features);
        let about = "runs iterations of a loop: what is independent in them, then the products of all";
        let iterations = functions.add(building, f, "split", about, None);
        Ok(ForFeatures { features, iterations, not_first })
    }

    /// A function that does a recurrence once, with elements that are added, where there is nothing else in a loop.
    pub(super) fn product_once(
        &self,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Option<(FeatureSetId, FunctionId)> {
        let split = distribute_recurrence::PASS.tried(|| distribute_recurrence(body))?;
        let (body, recurrence) = (&split.independent, &split.recurrence);
        let Added::Elements(added) = &recurrence.added else { return None };
        if !body.carried.is_empty() || !body.outputs.is_empty() {
            return None;
        }
        let plan = plan(recurrence, 128).ok()?;
        let mut graph = body.graph.clone();
        let [x, a, h] =
            [&recurrence.state, added, &recurrence.factor].map(|bytes| block_of(&mut graph, &body.objects, bytes));
        let mut printer = Products {
            code: KernelCode::new(self, building, Values { graph: &graph, objects: &body.objects }, None),
            fused: self,
            plan: &plan,
            bits: 128,
            constants: FxHashMap::default(),
            before: Vec::new(),
        };
        let [x, a, h] = [("x", x), ("a", a), ("h", h)].map(|(name, id)| printer.set(name, id));
        let sum = printer.code.f.register("sum", 128);
        printer.code.of_registers("xor", 128, sum, &[x, a]).ok()?;
        let result = printer.product(sum, h, 128).ok()?;
        printer.store(result, &recurrence.state, &body.objects);
        let Products { code, before, .. } = printer;
        let KernelCode { mut f, building, .. } = code;
        f.prepend(before);
        let names = features(128).iter().map(|&name| name.to_owned()).collect();
        let features = building.features(FeatureSet { architecture: ARCHITECTURE, names });
        f.features = Some(features);
        let about = "adds a block to a recurrence and multiplies";
        Some((features, functions.add(building, f, "product", about, None)))
    }

    /// A function that goes over the blocks of so many iterations, by a plan for registers of so many bits.
    fn products(
        &self,
        split: &SplitLoop,
        (plan, bits): (&Plan, u32),
        tokens: Tokens,
        features: FeatureSetId,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Result<FunctionId, NotApplicable> {
        let Recurrence { state, factor, .. } = &split.recurrence;
        let mut graph = split.independent.graph.clone();
        let objects = &split.independent.objects;
        let [x, h] = [state, factor].map(|bytes| block_of(&mut graph, objects, bytes));
        let mut printer = Products {
            code: KernelCode::new(self, building, Values { graph: &graph, objects }, None),
            fused: self,
            plan,
            bits,
            constants: FxHashMap::default(),
            before: Vec::new(),
        };
        printer.function(tokens, x, h, state, objects)?;
        let Products { code, before, .. } = printer;
        let KernelCode { mut f, building, .. } = code;
        f.prepend(before);
        f.features = Some(features);
        let about = "adds blocks to a recurrence and multiplies, many of them at once";
        Ok(functions.add(building, f, "products", about, None))
    }
}

/// Sixteen bytes of elements as a number, the first one the least significant.
fn block_of(graph: &mut Graph, objects: &[Object], bytes: &[ElementByte]) -> NodeId {
    let mut parts: Vec<NodeId> = Vec::new();
    for byte in bytes.iter().rev() {
        let width = objects[byte.object.0 as usize].width;
        let index = graph.number(byte.index as u128, 32);
        let element = graph.entry(byte.object, index, width);
        parts.push(if width == 8 { element } else { graph.add(Op::Extract(element, byte.lo), 8) });
    }
    graph.add(Op::Concat(parts.into()), 128)
}

struct Products<'c, 'a, 'b> {
    code: KernelCode<'a, 'b>,
    fused: &'c Fused<'c>,
    plan: &'c Plan,
    bits: u32,
    /// Registers that hold a constant in each part, by it and their width.
    constants: FxHashMap<(u128, u32), VariableId>,
    /// What gives them their values.
    before: Vec<Stmt>,
}

impl Products<'_, '_, '_> {
    /// Parts of a register.
    fn parts(&self) -> u32 {
        self.bits / 128
    }

    /// Bytes of a register.
    fn bytes(&self) -> u32 {
        self.bits / 8
    }

    fn function(
        &mut self,
        tokens: Tokens,
        x: NodeId,
        h: NodeId,
        state: &[ElementByte],
        objects: &[Object],
    ) -> Result<(), NotApplicable> {
        let n = self.code.f.scalar_parameter("n_iterations", Type::U32);
        let fields = &self.fused.fields;
        let (tokens, begin) = if tokens.is_output {
            let buffer = &fields.outputs[tokens.port];
            (buffer.tokens, self.code.index(buffer.first).plus(self.code.index(buffer.there)))
        } else {
            let buffer = &fields.inputs[tokens.port];
            (buffer.tokens, self.code.index(buffer.first))
        };
        let blocks = self.code.field(tokens);
        let cursor = self.code.f.scalar("cursor", Type::U32);
        self.code.f.assign(cursor, begin);
        let x = self.set("x", x);
        let h = self.set("h", h);
        let n_keys = self.plan.prepare_y.outputs().len() as u32;
        let keys = self.code.f.array("keys", Type::U8, REGISTERS * n_keys * self.bytes());
        let keys = Place::variable(keys);
        self.powers(n, h, &keys)?;
        let whole = REGISTERS * self.parts();
        // Whole groups.
        let outer = self.code.f.take();
        let at = self.code.f.read(cursor);
        self.sum_up(x, &blocks, &at, &keys, None)?;
        self.code.f.assign(cursor, at.plus(Expr::u32(whole * BYTES)));
        let left = self.code.f.read(n);
        self.code.f.assign(n, left.clone().minus(Expr::u32(whole)));
        let block = self.code.f.restore(outer);
        let label = self.code.f.label();
        self.code.f.push(Stmt::While(label, left.clone().at_least(Expr::u32(whole)), block));
        // The others, behind zeros.
        let outer = self.code.f.take();
        let registers = self.registers_of(left.clone());
        let registers = self.code.f.named("registers", registers);
        let zeros = registers.clone().times(Expr::u32(self.parts())).minus(left.clone());
        let zeros = self.code.f.named("zeros", zeros.times(Expr::u32(BYTES)));
        let rest = self.code.f.array("rest", Type::U8, whole * BYTES);
        let rest = Place::variable(rest);
        self.code.f.push(Stmt::Fill {
            target: rest.clone(),
            at: Expr::u32(0),
            count: zeros.clone(),
            value: Expr::int(Type::U8, 0),
        });
        let from = self.code.f.read(cursor);
        self.code.f.push(Stmt::Copy {
            target: rest.clone(),
            at: zeros.clone(),
            source: blocks,
            from,
            count: left.clone().times(Expr::u32(BYTES)),
        });
        let first = self.code.f.register("first", 128);
        self.code.vector(VectorStmt::Load { to: first, place: rest.clone(), index: zeros.clone() });
        let sum = self.code.f.register("first", 128);
        self.code.of_registers("xor", 128, sum, &[first, x])?;
        self.code.vector(VectorStmt::Store { place: rest.clone(), index: zeros, from: sum });
        self.sum_up(x, &rest, &Expr::u32(0), &keys, Some(registers))?;
        let block = self.code.f.restore(outer);
        let some = Expr::compare(CompareOp::NotEqual, left, Expr::u32(0));
        self.code.f.push(Stmt::If(some, block, Vec::new()));
        self.store(x, state, objects);
        Ok(())
    }

    /// How many registers so many blocks fill.
    fn registers_of(&self, blocks: Expr) -> Expr {
        let parts = self.parts();
        let up = blocks.plus(Expr::u32(parts - 1));
        Expr::binary(headrace_program::BinaryOp::Div, up, Expr::u32(parts))
    }

    fn set(&mut self, like: &str, id: NodeId) -> VariableId {
        let value = self.code.value_after(&[], id);
        let to = self.code.f.register(like, 128);
        let high = value.upper();
        self.code.vector(VectorStmt::Set { to, low: value.low.to(Type::U64), high });
        to
    }

    /// A constant in each part of a register.
    fn constant(&mut self, value: u128, bits: u32) -> VariableId {
        if let Some(&known) = self.constants.get(&(value, bits)) {
            return known;
        }
        let outer = self.code.f.take();
        let narrow = self.code.f.register("constant", 128);
        let [low, high] = [value as u64, (value >> 64) as u64].map(|word| Expr::int(Type::U64, word));
        self.code.vector(VectorStmt::Set { to: narrow, low, high });
        let wide = self.code.repeated("constant", bits, narrow);
        let statements = self.code.f.restore(outer);
        self.before.extend(statements);
        self.constants.insert((value, bits), wide);
        wide
    }

    /// A program on registers of so many bits; gives its results.
    fn program(
        &mut self,
        program: &Program,
        inputs: &[VariableId],
        bits: u32,
    ) -> Result<Vec<VariableId>, NotApplicable> {
        let mut registers = inputs.to_vec();
        let n = |count: u32| VectorOperand::Immediate(count as u8);
        for step in program.ops() {
            let of = |at: usize| VectorOperand::Register(registers[at]);
            let (name, operands) = match *step {
                Step::Constant(value) => {
                    let constant = self.constant(value, bits);
                    registers.push(constant);
                    continue;
                }
                Step::Xor(a, b) => ("xor", vec![of(a), of(b)]),
                Step::Multiply(a, i, b, j) => {
                    let halves = u32::from(i == Half::High) | u32::from(j == Half::High) << 4;
                    ("multiply", vec![of(a), of(b), n(halves)])
                }
                Step::ShiftHalvesLeft(a, count) => ("left64", vec![of(a), n(count)]),
                Step::ShiftHalvesRight(a, count) => ("right64", vec![of(a), n(count)]),
                Step::LowToHigh(a) => ("left_bytes", vec![of(a), n(8)]),
                Step::HighToLow(a) => ("right_bytes", vec![of(a), n(8)]),
                Step::SwapHalves(a) => ("align", vec![of(a), of(a), n(8)]),
                Step::KeepLow(a) => {
                    let low = self.constant(u128::from(u64::MAX), bits);
                    ("and", vec![of(a), VectorOperand::Register(low)])
                }
                Step::ReverseBytes(a) => {
                    let order = self.constant(of_bytes(|at| 15 - at as u8), bits);
                    ("shuffle", vec![of(a), VectorOperand::Register(order)])
                }
                Step::ReverseBitsInBytes(a) if turns_bits(self.bits) => {
                    let matrix = self.constant(REVERSED, bits);
                    ("affine", vec![of(a), VectorOperand::Register(matrix), n(0)])
                }
                Step::ReverseBitsInBytes(a) => {
                    let reversed = self.reversed_by_nibbles(registers[a], bits)?;
                    registers.push(reversed);
                    continue;
                }
            };
            let to = self.code.f.register("t", bits);
            self.code.operation(name, bits, to, operands)?;
            registers.push(to);
        }
        Ok(program.outputs().iter().map(|&at| registers[at]).collect())
    }

    /// Bits of bytes the other way round, without an instruction for it: by tables of sixteen bytes for halves of bytes.
    fn reversed_by_nibbles(&mut self, from: VariableId, bits: u32) -> Result<VariableId, NotApplicable> {
        let nibbles = self.constant(of_bytes(|_| 15), bits);
        let low = self.constant(of_bytes(|at| (at as u8).reverse_bits()), bits);
        let high = self.constant(of_bytes(|at| (at as u8).reverse_bits() >> 4), bits);
        let [lower, shifted, upper, left, right, to] = [(); 6].map(|()| self.code.f.register("t", bits));
        self.code.of_registers("and", bits, lower, &[from, nibbles])?;
        let operands = vec![VectorOperand::Register(from), VectorOperand::Immediate(4)];
        self.code.operation("right64", bits, shifted, operands)?;
        self.code.of_registers("and", bits, upper, &[shifted, nibbles])?;
        self.code.of_registers("shuffle", bits, left, &[low, lower])?;
        self.code.of_registers("shuffle", bits, right, &[high, upper])?;
        self.code.of_registers("xor", bits, to, &[left, right])?;
        Ok(to)
    }

    fn product(&mut self, x: VariableId, y: VariableId, bits: u32) -> Result<VariableId, NotApplicable> {
        let whole = self.plan.program();
        Ok(self.program(&whole, &[x, y], bits)?[0])
    }

    /// Makes the powers that so many blocks are multiplied with: the lowest stand in the last register, the lowest of them in
    /// its last part.
    fn powers(&mut self, n: VariableId, h: VariableId, keys: &Place) -> Result<(), NotApplicable> {
        let (parts, bytes) = (self.parts(), self.bytes());
        let array = self.code.f.array("powers", Type::U8, REGISTERS * bytes);
        let powers = Place::variable(array);
        let mut own = vec![h];
        for part in 2..=parts as usize {
            let (a, b) = (own[part / 2 - 1], own[part - part / 2 - 1]);
            let power = self.product(a, b, 128)?;
            own.push(power);
        }
        let last = (REGISTERS - 1) * bytes;
        for (part, &power) in own.iter().rev().enumerate() {
            let index = Expr::u32(last + BYTES * part as u32);
            self.code.vector(VectorStmt::Store { place: powers.clone(), index, from: power });
        }
        let wanted = self.registers_of(self.code.f.read(n));
        let many = Expr::u32(REGISTERS);
        let wanted = Expr::select(wanted.clone().less(many.clone()), wanted, many);
        let wanted = self.code.f.named("wanted", wanted);
        // Each step makes as many as there are, so that few products wait for one another.
        let stride = self.code.f.register("stride", 128);
        self.code.vector(VectorStmt::Move { to: stride, from: own[parts as usize - 1] });
        let have = self.code.f.scalar("have", Type::U32);
        self.code.f.assign(have, Expr::u32(1));
        let had = self.code.f.read(have);
        let outer = self.code.f.take();
        let strides = self.code.repeated("strides", self.bits, stride);
        let at = self.code.f.scalar("at", Type::U32);
        self.code.f.assign(at, had.clone());
        let now = self.code.f.read(at);
        let inner = self.code.f.take();
        let place = |number: Expr| Expr::u32(last).minus(number.times(Expr::u32(bytes)));
        let before = self.code.f.register("power", self.bits);
        let index = place(now.clone().minus(had.clone()));
        self.code.vector(VectorStmt::Load { to: before, place: powers.clone(), index });
        let power = self.product(before, strides, self.bits)?;
        self.code.vector(VectorStmt::Store { place: powers.clone(), index: place(now.clone()), from: power });
        self.code.f.assign(at, now.clone().plus(Expr::u32(1)));
        let block = self.code.f.restore(inner);
        let label = self.code.f.label();
        let some = now.clone().less(had.clone().shifted_left(1)).and(now.less(wanted.clone()));
        self.code.f.push(Stmt::While(label, some, block));
        let square = self.product(stride, stride, 128)?;
        self.code.vector(VectorStmt::Move { to: stride, from: square });
        self.code.f.assign(have, had.clone().shifted_left(1));
        let block = self.code.f.restore(outer);
        let label = self.code.f.label();
        self.code.f.push(Stmt::While(label, had.less(wanted.clone()), block));
        // What products take of them.
        let at = self.code.f.scalar("at", Type::U32);
        self.code.f.assign(at, Expr::u32(REGISTERS).minus(wanted));
        let now = self.code.f.read(at);
        let outer = self.code.f.take();
        let power = self.code.f.register("power", self.bits);
        self.code.vector(VectorStmt::Load { to: power, place: powers, index: now.clone().times(Expr::u32(bytes)) });
        let plan = self.plan;
        let made = self.program(&plan.prepare_y, &[power], self.bits)?;
        let n_keys = made.len() as u32;
        for (key, from) in made.into_iter().enumerate() {
            let index = now.clone().times(Expr::u32(n_keys * bytes)).plus(Expr::u32(key as u32 * bytes));
            self.code.vector(VectorStmt::Store { place: keys.clone(), index, from });
        }
        self.code.f.assign(at, now.clone().plus(Expr::u32(1)));
        let block = self.code.f.restore(outer);
        let label = self.code.f.label();
        self.code.f.push(Stmt::While(label, now.less(Expr::u32(REGISTERS)), block));
        Ok(())
    }

    /// Adds a group of blocks to `x`: all registers of one, or so many with the last powers, before which `x` was added.
    fn sum_up(
        &mut self,
        x: VariableId,
        blocks: &Place,
        at: &Expr,
        keys: &Place,
        some: Option<Expr>,
    ) -> Result<(), NotApplicable> {
        let (bits, bytes) = (self.bits, self.bytes());
        let plan = self.plan;
        let zero = self.constant(0, bits);
        let sums: Vec<VariableId> = plan.multiply.outputs().iter().map(|_| self.code.f.register("sum", bits)).collect();
        for &sum in &sums {
            self.code.vector(VectorStmt::Move { to: sum, from: zero });
        }
        match some {
            // What comes of the group before is added last, so that the processor need not wait for it.
            None => {
                for number in (1..REGISTERS).chain([0]) {
                    let index = at.clone().plus(Expr::u32(number * bytes));
                    let added = (number == 0).then_some(x);
                    self.multiplied(blocks, index, keys, &Expr::u32(number), added, &sums)?;
                }
            }
            Some(registers) => {
                let number = self.code.f.scalar("number", Type::U32);
                self.code.f.assign(number, Expr::u32(0));
                let now = self.code.f.read(number);
                let outer = self.code.f.take();
                let index = at.clone().plus(now.clone().times(Expr::u32(bytes)));
                let key = Expr::u32(REGISTERS).minus(registers.clone()).plus(now.clone());
                self.multiplied(blocks, index, keys, &key, None, &sums)?;
                self.code.f.assign(number, now.clone().plus(Expr::u32(1)));
                let block = self.code.f.restore(outer);
                let label = self.code.f.label();
                self.code.f.push(Stmt::While(label, now.less(registers), block));
            }
        }
        let mut whole = Vec::new();
        for sum in sums {
            let folded = self.folded(sum)?;
            whole.push(folded);
        }
        let reduced = self.program(&plan.reduce, &whole, 128)?[0];
        self.code.vector(VectorStmt::Move { to: x, from: reduced });
        Ok(())
    }

    /// A register of blocks, and what was added to the first of them, times a register of powers, added to sums.
    fn multiplied(
        &mut self,
        blocks: &Place,
        index: Expr,
        keys: &Place,
        number: &Expr,
        added: Option<VariableId>,
        sums: &[VariableId],
    ) -> Result<(), NotApplicable> {
        let (bits, bytes) = (self.bits, self.bytes());
        let plan = self.plan;
        let mut block = self.code.f.register("block", bits);
        self.code.vector(VectorStmt::Load { to: block, place: blocks.clone(), index });
        if let Some(x) = added {
            let mut first = x;
            if bits != 128 {
                first = self.code.f.register("first", bits);
                self.code.vector(VectorStmt::Part { to: first, from: x, part: 0 });
            }
            let sum = self.code.f.register("block", bits);
            self.code.of_registers("xor", bits, sum, &[block, first])?;
            block = sum;
        }
        let mut factors = self.program(&plan.prepare_x, &[block], bits)?;
        let n_keys = plan.prepare_y.outputs().len() as u32;
        for key in 0..n_keys {
            let to = self.code.f.register("key", bits);
            let index = number.clone().times(Expr::u32(n_keys * bytes)).plus(Expr::u32(key * bytes));
            self.code.vector(VectorStmt::Load { to, place: keys.clone(), index });
            factors.push(to);
        }
        for (product, &sum) in self.program(&plan.multiply, &factors, bits)?.into_iter().zip(sums) {
            self.code.of_registers("xor", bits, sum, &[sum, product])?;
        }
        Ok(())
    }

    /// The sum of all parts of a register.
    fn folded(&mut self, from: VariableId) -> Result<VariableId, NotApplicable> {
        if self.bits == 128 {
            return Ok(from);
        }
        let mut sum = None;
        for part in 0..self.parts() {
            let own = self.code.f.register("part", 128);
            self.code.vector(VectorStmt::Part { to: own, from, part: part as u8 });
            sum = Some(match sum {
                None => own,
                Some(before) => {
                    let to = self.code.f.register("whole", 128);
                    self.code.of_registers("xor", 128, to, &[before, own])?;
                    to
                }
            });
        }
        sum.ok_or_else(|| NotApplicable("a register has no parts".into()))
    }

    /// Stores `x` to the elements that it came from.
    fn store(&mut self, x: VariableId, state: &[ElementByte], objects: &[Object]) {
        let array = self.code.f.array("bytes", Type::U8, BYTES);
        let place = Place::variable(array);
        self.code.vector(VectorStmt::Store { place: place.clone(), index: Expr::u32(0), from: x });
        let mut done: FxHashSet<(ObjectId, usize)> = FxHashSet::default();
        for byte in state {
            if !done.insert((byte.object, byte.index)) {
                continue;
            }
            let width = objects[byte.object.0 as usize].width;
            let ty = super::value::word_type(width);
            let own =
                state.iter().enumerate().filter(|(_, other)| (other.object, other.index) == (byte.object, byte.index));
            let value = own.fold(Expr::int(ty, 0), |value, (at, other)| {
                let part = Expr::element(place.clone(), Expr::u32(at as u32), Type::U8).to(ty);
                or(value, part.shifted_left(other.lo))
            });
            self.code.store(byte.object, Expr::u32(byte.index as u32), Value::one(value, true));
        }
    }
}
