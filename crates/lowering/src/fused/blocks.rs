//! Block loops in programs: registers of 128 bits, several iterations in a wide register. A function for machines with certain
//! features that runs iterations of a loop by the plan of [`headrace_vectorize::blocks`].
//!
//! What no iteration changes is loaded once a call. Counters are added to in two words of 64 bits at once, and number by number
//! in the rare group where the low word overflows. Iterations that do not fill a register go through arrays of the function.

use super::kernel::{KernelCode, Values};
use super::registers::{ARCHITECTURE, immediate, written};
use super::value::Value;
use super::{Functions, Fused};
use crate::building::Building;
use headrace_instructions::{Description, registers};
use headrace_program::{
    ByteOrder, CompareOp, Expr, FeatureSet, FeatureSetId, FunctionId, Place, Stmt, Type, VariableId, VectorOperand,
    VectorStmt,
};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Carry, Loop, NodeId, ObjectId, Op};
use headrace_vectorize::NotApplicable;
use headrace_vectorize::blocks::{BYTES, Block, Chain, Operand, Plan, WORDS};
use headrace_vectorize::packed_loads::PackedLoad;
use headrace_vectorize::selection::{MOST_NODES, instructions, selected};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// Widths of registers, the fastest first.
const WIDTHS: &[u32] = &[512, 256, 128];

/// Registers under way at once where iterations do not need each other: so many cover the time that an instruction takes.
const GROUPS: &[u32] = &[8, 1];

/// The same of the widest, each of which keeps its unit busy for two cycles on many machines.
const WIDE_GROUPS: &[u32] = &[4, 1];

/// A function for machines with features.
pub(super) struct ForFeatures {
    pub features: FeatureSetId,
    /// Takes the context and a number of iterations, at least one.
    pub iterations: FunctionId,
    /// Only behind another iteration: it reads tokens of the one before.
    pub not_first: bool,
}

impl Fused<'_> {
    /// Functions that run iterations on blocks, the fastest first.
    pub(super) fn block_loops(
        &self,
        body: &Loop,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Vec<ForFeatures> {
        if !self.vectors || body.graph.len() > MOST_NODES {
            return Vec::new();
        }
        let Some(selected) = selected(body) else { return Vec::new() };
        let Ok(plan) = Plan::new(&selected.body) else { return Vec::new() };
        let of = |&bits: &u32| self.block_loop(&plan, bits, building, functions).ok();
        WIDTHS.iter().filter_map(of).collect()
    }

    /// The same for one width, of a loop that need not have anything for which instructions are selected.
    ///
    /// # Errors
    ///
    /// What is no block in it.
    pub(super) fn blocks_of_width(
        &self,
        body: &Loop,
        bits: u32,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Result<ForFeatures, NotApplicable> {
        let selected = selected(body);
        let body = selected.as_ref().map_or(body, |selected| &selected.body);
        self.block_loop(&Plan::new(body)?, bits, building, functions)
    }

    fn block_loop(
        &self,
        plan: &Plan<'_>,
        bits: u32,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Result<ForFeatures, NotApplicable> {
        self.possible(plan, bits)?;
        let values = Values { graph: &plan.graph, objects: &plan.body.objects };
        let mut printer = BlockCode::new(self, KernelCode::new(self, building, values, None), plan, bits);
        printer.function()?;
        let BlockCode { code, features, .. } = printer;
        let KernelCode { mut f, building, .. } = code;
        let set = FeatureSet { architecture: ARCHITECTURE, names: features.into_iter().collect() };
        let features = building.features(set);
        f.features = Some(features);
        let about = "runs iterations of a loop, a block in each 128 bits of a register";
        let iterations = functions.add(building, f, "blocks", about, None);
        Ok(ForFeatures { features, iterations, not_first: plan.reads_before() })
    }

    /// A function that does what a loop of one iteration does, which has more ports than the network: it takes the context, and an
    /// array if bytes are given in one.
    ///
    /// # Errors
    ///
    /// What is no block in it, or that it has nothing that instructions do.
    pub(super) fn one_iteration(
        &self,
        body: &Loop,
        more: MorePorts,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Result<(FeatureSetId, FunctionId), NotApplicable> {
        let selected = selected(body).ok_or_else(|| NotApplicable("no instruction does any of it".into()))?;
        let plan = Plan::new(&selected.body)?;
        self.possible(&plan, 128)?;
        if plan.reads_before() {
            return Err(NotApplicable("there is no iteration before".into()));
        }
        let values = Values { graph: &plan.graph, objects: &plan.body.objects };
        let mut printer = BlockCode::new(self, KernelCode::new(self, building, values, None), &plan, 128);
        printer.single(more)?;
        let BlockCode { code, features, .. } = printer;
        let KernelCode { mut f, building, .. } = code;
        let set = FeatureSet { architecture: ARCHITECTURE, names: features.into_iter().collect() };
        let features = building.features(set);
        f.features = Some(features);
        let about = "does what a transition does, with blocks in registers";
        Ok((features, functions.add(building, f, "block", about, None)))
    }

    /// Whether what is here can do all that a plan has.
    fn possible(&self, plan: &Plan<'_>, bits: u32) -> Result<(), NotApplicable> {
        let lives = |object: ObjectId| self.fields.objects.get(object.0 as usize).is_some_and(Option::is_some);
        let kept = plan.chains.iter().chain(&plan.delays).map(|chain| chain.object);
        let kept = kept.chain(plan.powers.iter().map(|power| power.object));
        let kept = kept.chain(plan.words.iter().flat_map(|words| words.places.iter().flatten().map(|place| place.0)));
        if !kept.chain(plan.body.carried.iter().map(|one| one.object)).all(lives) {
            return Err(NotApplicable("what goes from iteration to iteration is kept nowhere".into()));
        }
        possible(plan, bits)
    }
}

/// Whether what is here can do all that a plan has.
fn possible(plan: &Plan<'_>, bits: u32) -> Result<(), NotApplicable> {
    let refuse = |why: &str| Err(NotApplicable(why.to_owned()));
    if plan.is_chained() && bits != 128 {
        return refuse("iterations need each other");
    }
    if !plan.delays.is_empty() && bits != 128 {
        return refuse("a register is needed of the iteration before");
    }
    let whole = |ports: &[(u64, u32)]| ports.iter().all(|&(n, width)| n == 0 || width == 8);
    if !whole(&plan.body.consumes) || !whole(&plan.body.produces) {
        return refuse("tokens are not bytes");
    }
    let rows = plan.body.consumes.iter().chain(&plan.body.produces).any(|&(n, _)| n > 0 && n != BYTES as u64);
    if bits != 128 && rows {
        return refuse("an iteration has more than a block of tokens");
    }
    if !plan.powers.is_empty() && plan.reads_before() {
        return refuse("what is multiplied goes along with tokens of the iteration before");
    }
    if plan.body.counters.iter().any(|counter| counter.step >> 32 != 0) {
        return refuse("the step of a counter is too large");
    }
    let is_token = |id: NodeId| matches!(plan.body.graph.op(id), Op::Input { .. });
    if plan.body.carried.iter().any(|one| one.carry == Carry::Delay && !is_token(one.next)) && plan.delays.is_empty() {
        return refuse("what an iteration leaves for the next is no token");
    }
    Ok(())
}

/// A counter: its words, which go on from group to group, and what they were at first.
#[derive(Clone, Copy)]
struct Counter {
    low: VariableId,
    high: VariableId,
    /// Registers: how far the parts of one are from each other, and two registers of a group.
    spread: VariableId,
    next: VariableId,
    /// The numbers of the next iterations, as many as a register has parts, if no low word overflows among them: they go on in
    /// the register, so that no group waits for words to get there.
    ahead: VariableId,
}

/// Ports that a transition has beyond those of the network, where it is a loop of one iteration.
#[derive(Clone, Debug, Default)]
pub(super) struct MorePorts {
    /// Bytes that come in an array that the function is given; 0: none do.
    pub given: u32,
    /// Where bytes begin that are stored to objects.
    pub stored: Vec<(ObjectId, usize)>,
}

pub(super) struct BlockCode<'c, 'a, 'b> {
    pub(super) code: KernelCode<'a, 'b>,
    /// It is one iteration, with these ports, and the array that is given.
    more: Option<(MorePorts, Option<VariableId>)>,
    pub(super) fused: &'c Fused<'c>,
    pub(super) plan: &'a Plan<'a>,
    descriptions: &'static [Description],
    pub(super) bits: u32,
    pub(super) features: BTreeSet<String>,
    /// Registers of 128 bits that hold values.
    narrow: FxHashMap<NodeId, VariableId>,
    /// What no iteration changes: invariants and orders of bytes, by what they are.
    fixed: FxHashMap<Fixed, VariableId>,
    /// Those that blocks are made of.
    counters: Vec<Option<Counter>>,
    chains: Vec<VariableId>,
    words: Vec<VariableId>,
    delays: Vec<VariableId>,
    /// For each power, the registers of a group.
    pub(super) powers: Vec<Vec<VariableId>>,
    inputs: Vec<Option<VariableId>>,
    outputs: Vec<Option<VariableId>>,
}

/// What a register holds in all iterations.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Fixed {
    Block(usize),
    Bytes(Vec<u8>),
}

/// Where the tokens of a group lie.
#[derive(Clone, Copy)]
enum Tokens<'t> {
    /// At the cursors of ports.
    AtCursors,
    /// In arrays of the function, of those ports that take part; those that are read begin with the block before.
    Padded(&'t [Option<VariableId>], &'t [Option<VariableId>]),
}

impl<'c, 'a, 'b> BlockCode<'c, 'a, 'b> {
    fn new(fused: &'c Fused<'c>, code: KernelCode<'a, 'b>, plan: &'a Plan<'a>, bits: u32) -> Self {
        BlockCode {
            code,
            more: None,
            fused,
            plan,
            descriptions: instructions(),
            bits,
            features: registers::features(bits).iter().map(|&name| name.to_owned()).collect(),
            narrow: FxHashMap::default(),
            fixed: FxHashMap::default(),
            counters: Vec::new(),
            chains: Vec::new(),
            words: Vec::new(),
            delays: Vec::new(),
            powers: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// Iterations in a register.
    pub(super) fn iterations(&self) -> u32 {
        self.bits / 128
    }

    /// Bytes before those of the first iteration that are read with them.
    fn before(&self) -> usize {
        if self.plan.reads_before() { BYTES } else { 0 }
    }

    fn function(&mut self) -> Result<(), NotApplicable> {
        let plan = self.plan;
        let body = plan.body;
        let n = self.code.f.scalar_parameter("n_iterations", Type::U32);
        let inputs = super::loops::cursors(&mut self.code, "in", &body.consumes, |code, port| {
            code.index(self.fused.fields.inputs[port].first)
        });
        let outputs = super::loops::cursors(&mut self.code, "out", &body.produces, |code, port| {
            let buffer = &self.fused.fields.outputs[port];
            code.index(buffer.first).plus(code.index(buffer.there))
        });
        (self.inputs, self.outputs) = (inputs, outputs);
        let all = self.code.f.read(n);
        let all = self.code.f.named("all", all);
        let ends = self.counters(&all)?;
        self.prepare()?;
        let groups = match (plan.is_chained() || !plan.delays.is_empty(), self.bits) {
            (true, _) => &[1],
            (false, 128 | 256) => GROUPS,
            (false, _) => WIDE_GROUPS,
        };
        self.powers_start(groups[0])?;
        for &group in groups {
            let n_done = group * self.iterations();
            let outer = self.code.f.take();
            self.group(group, Tokens::AtCursors)?;
            self.powers_go_on(group)?;
            let (inputs, outputs) = (self.inputs.clone(), self.outputs.clone());
            self.code.go_on(n, n_done, body, &inputs, &outputs);
            self.count_on(&Expr::u32(n_done));
            let block = self.code.f.restore(outer);
            let (label, left) = (self.code.f.label(), self.code.f.read(n));
            self.code.f.push(Stmt::While(label, left.at_least(Expr::u32(n_done)), block));
        }
        if self.iterations() > 1 {
            self.rest(n)?;
        }
        self.powers_end(&all);
        self.ends(&ends);
        Ok(())
    }

    /// One iteration.
    fn single(&mut self, more: MorePorts) -> Result<(), NotApplicable> {
        let body = self.plan.body;
        let fields = &self.fused.fields;
        let given = (more.given > 0).then(|| self.code.f.reference("given", Type::U8, more.given, false));
        self.more = Some((more, given));
        let (inputs, outputs) = (fields.inputs.len(), fields.outputs.len());
        self.inputs = super::loops::cursors(&mut self.code, "in", &body.consumes[..inputs], |code, port| {
            code.index(fields.inputs[port].first)
        });
        self.outputs = super::loops::cursors(&mut self.code, "out", &body.produces[..outputs], |code, port| {
            let buffer = &fields.outputs[port];
            code.index(buffer.first).plus(code.index(buffer.there))
        });
        let ends = self.counters(&Expr::u32(1))?;
        self.prepare()?;
        self.powers_start(1)?;
        self.group(1, Tokens::AtCursors)?;
        self.powers_go_on(1)?;
        self.powers_end(&Expr::u32(1));
        for (&cursor, &(tokens, _)) in self.inputs.clone().iter().zip(&body.consumes) {
            if let Some(cursor) = cursor {
                let next = self.code.f.read(cursor).plus(Expr::u32(tokens as u32));
                self.code.f.assign(cursor, next);
            }
        }
        self.ends(&ends);
        Ok(())
    }

    /// Registers that hold the same in all iterations, and those that go on from one to the next.
    fn prepare(&mut self) -> Result<(), NotApplicable> {
        let plan = self.plan;
        self.carried_registers();
        for (number, block) in plan.blocks.iter().enumerate().filter(|(number, _)| plan.live[*number]) {
            match block {
                Block::Invariant(node) => {
                    let wide = match self.loaded(*node, self.bits)? {
                        Some(wide) => wide,
                        None => {
                            let narrow = self.narrow(*node)?;
                            self.widened("fixed", narrow)
                        }
                    };
                    self.fixed.insert(Fixed::Block(number), wide);
                }
                Block::Shuffle { bytes, .. } => _ = self.bytes("order", order(bytes)),
                Block::Not(_) => _ = self.bytes("ones", vec![0xff; BYTES]),
                _ => {}
            }
        }
        Ok(())
    }

    /// The iterations that are fewer than those of a register.
    fn rest(&mut self, n: VariableId) -> Result<(), NotApplicable> {
        let body = self.plan.body;
        let room = (self.bits / 8) as usize;
        let outer = self.code.f.take();
        let left = self.code.f.read(n);
        let part = left.clone().times(Expr::u32(BYTES as u32));
        let part = self.code.f.named("part", part);
        let mut arrays = [Vec::new(), Vec::new()];
        for (kind, ports) in [&body.consumes, &body.produces].into_iter().enumerate() {
            for &(tokens, _) in ports {
                let length = room + if kind == 0 { self.before() } else { 0 };
                let array = (tokens > 0).then(|| self.code.f.array("padded", Type::U8, length as u32));
                arrays[kind].push(array);
            }
        }
        let zero = || Expr::u32(0);
        for (port, array) in arrays[0].iter().enumerate() {
            let (Some(array), Some(cursor)) = (*array, self.inputs[port]) else { continue };
            let source = self.code.field(self.fused.fields.inputs[port].tokens);
            let before = Expr::u32(self.before() as u32);
            let from = self.code.f.read(cursor).minus(before.clone());
            let target = Place::variable(array);
            self.code.f.push(Stmt::Copy { target, at: zero(), source, from, count: part.clone().plus(before) });
        }
        self.group(1, Tokens::Padded(&arrays[0], &arrays[1]))?;
        for (port, array) in arrays[1].iter().enumerate() {
            let (Some(array), Some(cursor)) = (*array, self.outputs[port]) else { continue };
            let target = self.code.field(self.fused.fields.outputs[port].tokens);
            let at = self.code.f.read(cursor);
            let source = Place::variable(array);
            self.code.f.push(Stmt::Copy { target, at, source, from: zero(), count: part.clone() });
        }
        for cursor in self.inputs.iter().chain(&self.outputs).flatten() {
            let next = self.code.f.read(*cursor).plus(part.clone());
            self.code.f.assign(*cursor, next);
        }
        self.count_on(&left.clone());
        let block = self.code.f.restore(outer);
        let some = Expr::compare(CompareOp::NotEqual, left, zero());
        self.code.f.push(Stmt::If(some, block, Vec::new()));
        Ok(())
    }

    // --- counters ---

    /// Reads counters, and gives what they are after all iterations.
    fn counters(&mut self, all: &Expr) -> Result<Vec<[Expr; 2]>, NotApplicable> {
        let body = self.plan.body;
        let counted = |n: usize| {
            let mut live = self.plan.blocks.iter().zip(&self.plan.live).filter(|(_, live)| **live);
            live.any(|(block, _)| *block == Block::Counter(n))
        };
        let counted: Vec<bool> = (0..body.counters.len()).map(counted).collect();
        let mut ends = Vec::new();
        for (number, counter) in body.counters.iter().enumerate() {
            let value = self.code.value_after(&[], counter.start);
            let width = self.plan.graph.width(counter.start);
            let value = if value.clean { value } else { value.masked(mask(width)) };
            let f = &mut self.code.f;
            let low = f.scalar("low", Type::U64);
            let high = f.scalar("high", Type::U64);
            let upper = value.upper();
            f.assign(low, value.low.to(Type::U64));
            f.assign(high, upper);
            let before = [f.read(low), f.read(high)];
            let (low_end, high_end) = (f.scalar("low_end", Type::U64), f.scalar("high_end", Type::U64));
            // Below 2^62: there are fewer than 2^30 iterations.
            let steps = all.clone().to(Type::U64).times(Expr::int(Type::U64, counter.step as u64));
            f.assign(low_end, before[0].clone().plus(steps));
            let end = f.read(low_end);
            let carry = end.clone().less(before[0].clone()).to(Type::U64);
            f.assign(high_end, before[1].clone().plus(carry));
            let end = Value::two(end, f.read(high_end), false).masked(mask(width));
            ends.push([end.low.clone(), end.upper()]);
            let mut registers = None;
            if counted[number] {
                let n = u64::from(self.iterations());
                let step = counter.step as u64;
                let spread = (0..n).flat_map(|i| [i * step, 0]).collect();
                let spread = self.quads("spread", spread);
                let next = self.quads("next", (0..n).flat_map(|_| [n * step, 0]).collect());
                let ahead = self.code.f.register("ahead", self.bits);
                self.spread_from(ahead, &before, spread)?;
                registers = Some(Counter { low, high, spread, next, ahead });
            }
            self.counters.push(registers);
        }
        Ok(ends)
    }

    /// A number of two words and those that follow it, in the parts of a register.
    fn spread_from(&mut self, to: VariableId, words: &[Expr; 2], spread: VariableId) -> Result<(), NotApplicable> {
        let narrow = self.code.f.register("count", 128);
        let [low, high] = words.clone();
        self.vector(VectorStmt::Set { to: narrow, low, high });
        let wide = self.widened("count", narrow);
        self.operation("add64", to, &[wide, spread])
    }

    /// Counters after so many iterations.
    fn count_on(&mut self, n_done: &Expr) {
        for (number, counter) in self.counters.iter().enumerate() {
            let Some(Counter { low, high, .. }) = counter else { continue };
            let step = Expr::int(Type::U64, self.plan.body.counters[number].step as u64);
            let f = &mut self.code.f;
            let before = f.read(*low);
            let sum = before.clone().plus(n_done.clone().to(Type::U64).times(step));
            let sum = f.named("sum", sum);
            let carry = sum.clone().less(before).to(Type::U64);
            let upper = f.read(*high).plus(carry);
            f.assign(*high, upper);
            f.assign(*low, sum);
        }
    }

    /// The registers of a counter in a group.
    fn counted(&mut self, number: usize, group: u32) -> Result<Vec<VariableId>, NotApplicable> {
        let Some(Counter { low, high, spread, next, ahead }) = self.counters[number] else { return Ok(Vec::new()) };
        let step = self.plan.body.counters[number].step as u64;
        let n = group * self.iterations();
        let registers: Vec<VariableId> = (0..group).map(|_| self.code.f.register("count", self.bits)).collect();
        let (words, upper) = (self.code.f.read(low), self.code.f.read(high));
        let outer = self.code.f.take();
        self.vector(VectorStmt::Move { to: registers[0], from: ahead });
        for pair in registers.windows(2) {
            self.operation("add64", pair[1], &[pair[0], next])?;
        }
        self.operation("add64", ahead, &[registers[registers.len() - 1], next])?;
        let fast = self.code.f.take();
        let array = self.code.f.array("numbers", Type::U8, n * BYTES as u32);
        let place = Place::variable(array);
        for i in 0..n {
            let number = self.code.f.named("number", words.clone().plus(Expr::int(Type::U64, u64::from(i) * step)));
            let carry = number.clone().less(words.clone()).to(Type::U64);
            let at = i * BYTES as u32;
            for (at, word) in [(at, number), (at + 8, upper.clone().plus(carry))] {
                self.code.f.push(Stmt::StoreWord(place.clone(), Expr::u32(at), word, ByteOrder::Little));
            }
        }
        for (i, &to) in registers.iter().enumerate() {
            let index = Expr::u32(i as u32 * self.bits / 8);
            self.vector(VectorStmt::Load { to, place: place.clone(), index });
        }
        let behind = words.clone().plus(Expr::int(Type::U64, u64::from(n) * step));
        let behind = self.code.f.named("behind", behind);
        let carry = behind.clone().less(words.clone()).to(Type::U64);
        self.spread_from(ahead, &[behind, upper.plus(carry)], spread)?;
        let slow = self.code.f.restore(outer);
        let most = u64::MAX - u64::from(n) * step;
        let fits = Expr::compare(CompareOp::LessEqual, words, Expr::int(Type::U64, most));
        self.code.f.push(Stmt::If(fits, fast, slow));
        Ok(registers)
    }

    // --- registers ---

    pub(super) fn vector(&mut self, statement: VectorStmt) {
        self.code.vector(statement);
    }

    pub(super) fn operation(
        &mut self,
        name: &str,
        to: VariableId,
        operands: &[VariableId],
    ) -> Result<(), NotApplicable> {
        self.code.of_registers(name, self.bits, to, operands)
    }

    /// An instruction that was selected, in the form of some width.
    fn instruction(
        &mut self,
        description: u32,
        bits: u32,
        to: VariableId,
        operands: Vec<VectorOperand>,
    ) -> Result<(), NotApplicable> {
        let described = self.descriptions.get(description as usize);
        let described = described.ok_or_else(|| NotApplicable("an instruction has no description".into()))?;
        let form = described.forms.iter().find(|form| form.bits == bits);
        let form = form.ok_or_else(|| NotApplicable(format!("{} has no form of {bits} bits", described.name)))?;
        self.features.extend(form.features.iter().cloned());
        let instruction = self.code.building.instruction(written(&described.name, form));
        self.vector(VectorStmt::Apply { to, instruction, operands });
        Ok(())
    }

    /// A register of 128 bits in each part of a wide one.
    pub(super) fn widened(&mut self, like: &str, narrow: VariableId) -> VariableId {
        self.code.repeated(like, self.bits, narrow)
    }

    /// A register with the same sixteen bytes in each part.
    pub(super) fn bytes(&mut self, like: &str, bytes: Vec<u8>) -> VariableId {
        let key = Fixed::Bytes(bytes.clone());
        if let Some(&known) = self.fixed.get(&key) {
            return known;
        }
        let narrow = self.narrow_bytes(like, &bytes);
        let wide = self.widened(like, narrow);
        self.fixed.insert(key, wide);
        wide
    }

    /// A register of these sixteen bytes.
    fn narrow_bytes(&mut self, like: &str, bytes: &[u8]) -> VariableId {
        let to = self.code.f.register(like, 128);
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        let [low, high] = [0, 8].map(|at| Expr::int(Type::U64, word(&bytes[at..at + 8])));
        self.vector(VectorStmt::Set { to, low, high });
        to
    }

    /// A register of these words of 64 bits.
    pub(super) fn quads(&mut self, like: &str, words: Vec<u64>) -> VariableId {
        let to = self.code.f.register(like, self.bits);
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).map(u64::from).collect();
        let table = self.code.building.table(like, Type::U8, bytes);
        self.vector(VectorStmt::Load { to, place: Place::table(table), index: Expr::u32(0) });
        to
    }

    /// The register of 128 bits that holds a value which no iteration changes.
    fn narrow(&mut self, id: NodeId) -> Result<VariableId, NotApplicable> {
        if let Some(&known) = self.narrow.get(&id) {
            return Ok(known);
        }
        if let Some(loaded) = self.loaded(id, 128)? {
            self.narrow.insert(id, loaded);
            return Ok(loaded);
        }
        let to = self.code.f.register("key", 128);
        let graph = &self.plan.graph;
        match graph.op(id).clone() {
            Op::Instruction { description, operands } => {
                let described = self.descriptions.get(description as usize);
                let described = described.ok_or_else(|| NotApplicable("an instruction has no description".into()))?;
                let mut taken = Vec::new();
                for (&operand, of) in operands.iter().zip(&described.operands) {
                    taken.push(match of.immediate {
                        true => immediate(graph.constant(operand).unwrap_or(u128::MAX))?,
                        false => VectorOperand::Register(self.narrow(operand)?),
                    });
                }
                self.instruction(description, 128, to, taken)?;
            }
            _ => self.set(to, id)?,
        }
        self.narrow.insert(id, to);
        Ok(to)
    }

    /// Computes a value in words.
    fn set(&mut self, to: VariableId, id: NodeId) -> Result<(), NotApplicable> {
        let graph = &self.plan.graph;
        if graph.reachable([id]).into_iter().any(|id| matches!(graph.op(id), Op::Instruction { .. })) {
            return Err(NotApplicable("what instructions give is needed in words".into()));
        }
        let value = self.code.value_after(&[], id);
        let high = value.upper();
        self.vector(VectorStmt::Set { to, low: value.low.to(Type::U64), high });
        Ok(())
    }

    /// Sixteen neighbouring bytes of an object in each part of a register of so many bits, if a value is that.
    fn loaded(&mut self, id: NodeId, bits: u32) -> Result<Option<VariableId>, NotApplicable> {
        let Op::Concat(parts) = self.plan.graph.op(id) else { return Ok(None) };
        let load = PackedLoad::of(&self.plan.graph, &self.plan.body.objects, parts);
        let Some(PackedLoad { object, first, order }) = load else { return Ok(None) };
        let Some(&Some(field)) = self.fused.fields.objects.get(object.0 as usize) else { return Ok(None) };
        let (place, narrow) = (self.code.field(field), self.code.f.register("key", 128));
        self.vector(VectorStmt::Load { to: narrow, place, index: Expr::u32(first as u32) });
        let wide = if bits == 128 { narrow } else { self.widened("fixed", narrow) };
        let Some(order) = order.map(|order| order.to_vec()) else { return Ok(Some(wide)) };
        let order = if bits == self.bits { self.bytes("order", order) } else { self.narrow_bytes("order", &order) };
        let to = self.code.f.register("fixed", bits);
        self.code.of_registers("shuffle", bits, to, &[wide, order])?;
        Ok(Some(to))
    }

    /// Registers that go from iteration to iteration.
    fn carried_registers(&mut self) {
        let plan = self.plan;
        for chain in &plan.chains {
            let to = self.code.f.register("chain", self.bits);
            self.load_block(to, chain.object.0, chain.first);
            self.chains.push(to);
        }
        for words in &plan.words {
            let to = self.code.f.register("words", self.bits);
            let mut halves = [0, 2].map(|at| {
                let half = [words.places[at], words.places[at + 1]];
                half.map(|place| match place {
                    Some((object, index)) => self.code.element(object, Expr::u32(index as u32)).low.to(Type::U64),
                    None => Expr::int(Type::U64, 0),
                })
            });
            let mut half = |at: usize| {
                let [low, high] = std::mem::replace(&mut halves[at], [0, 0].map(|n| Expr::int(Type::U64, n)));
                super::value::or(low, high.shifted_left(32))
            };
            let (low, high) = (half(0), half(1));
            self.vector(VectorStmt::Set { to, low, high });
            self.words.push(to);
        }
        for delay in &plan.delays {
            let to = self.code.f.register("ahead", self.bits);
            self.load_block(to, delay.object.0, delay.first);
            self.delays.push(to);
        }
    }

    pub(super) fn load_block(&mut self, to: VariableId, object: u32, first: usize) {
        match self.fused.fields.objects.get(object as usize) {
            Some(&Some(field)) => {
                let place = self.code.field(field);
                self.vector(VectorStmt::Load { to, place, index: Expr::u32(first as u32) });
            }
            _ => self.code.refuse("what goes from iteration to iteration is kept nowhere"),
        }
    }

    // --- iterations ---

    /// So many registers of iterations, side by side.
    fn group(&mut self, group: u32, tokens: Tokens<'_>) -> Result<(), NotApplicable> {
        let plan = self.plan;
        let mut counts = Vec::new();
        for number in 0..plan.body.counters.len() {
            counts.push(self.counted(number, group)?);
        }
        let mut found: FxHashMap<(usize, u32), VariableId> = FxHashMap::default();
        for (number, block) in plan.blocks.iter().enumerate().filter(|(number, _)| plan.live[*number]) {
            for turn in 0..group {
                let r = |found: &FxHashMap<(usize, u32), VariableId>, other: usize| found[&(other, turn)];
                let known = match block {
                    Block::Invariant(_) => Some(self.fixed[&Fixed::Block(number)]),
                    Block::Counter(n) => Some(counts[*n][turn as usize]),
                    Block::Chain(k) => Some(self.chains[*k]),
                    Block::Words(k) => Some(self.words[*k]),
                    Block::Delay(k) => Some(self.delays[*k]),
                    Block::Power(k) => Some(self.powers[*k][turn as usize]),
                    _ => None,
                };
                if let Some(known) = known {
                    found.insert((number, turn), known);
                    continue;
                }
                let to = self.code.f.register("r", self.bits);
                match block {
                    Block::Load { port, first } => self.load(to, *port as usize, *first, turn, tokens),
                    Block::Shuffle { from, bytes } => {
                        let order = self.bytes("order", order(bytes));
                        self.operation("shuffle", to, &[r(&found, *from), order])?;
                    }
                    Block::Not(a) => {
                        let ones = self.bytes("ones", vec![0xff; BYTES]);
                        self.operation("xor", to, &[r(&found, *a), ones])?;
                    }
                    Block::And(a, b) => self.operation("and", to, &[r(&found, *a), r(&found, *b)])?,
                    Block::Or(a, b) => self.operation("or", to, &[r(&found, *a), r(&found, *b)])?,
                    Block::Xor(a, b) => self.operation("xor", to, &[r(&found, *a), r(&found, *b)])?,
                    Block::Instruction { description, operands } => {
                        let mut taken = Vec::new();
                        for operand in operands {
                            taken.push(match operand {
                                Operand::Block(block) => VectorOperand::Register(r(&found, *block)),
                                Operand::Immediate(value) => immediate(*value)?,
                            });
                        }
                        self.instruction(*description, self.bits, to, taken)?;
                    }
                    Block::Invariant(_)
                    | Block::Counter(_)
                    | Block::Chain(_)
                    | Block::Words(_)
                    | Block::Delay(_)
                    | Block::Power(_) => {}
                }
                found.insert((number, turn), to);
            }
        }
        for &(port, first, block) in &plan.outputs {
            for turn in 0..group {
                self.store(found[&(block, turn)], port as usize, first, turn, tokens);
            }
        }
        // All of them change at once.
        let chains = plan.chains.iter().map(|chain| chain.next).zip(self.chains.clone());
        let words = plan.words.iter().map(|words| words.next).zip(self.words.clone());
        let delays = plan.delays.iter().map(|delay| delay.next).zip(self.delays.clone());
        let moves: Vec<(VariableId, VariableId)> =
            chains.chain(words).chain(delays).map(|(next, to)| (found[&(next, group - 1)], to)).collect();
        let is_carried = |register: VariableId| moves.iter().any(|(_, to)| *to == register);
        let mut apart = Vec::new();
        for &(from, to) in &moves {
            let from = if is_carried(from) && from != to {
                let copy = self.code.f.register("copy", self.bits);
                self.vector(VectorStmt::Move { to: copy, from });
                copy
            } else {
                from
            };
            apart.push((from, to));
        }
        for (from, to) in apart.into_iter().filter(|(from, to)| from != to) {
            self.vector(VectorStmt::Move { to, from });
        }
        Ok(())
    }

    fn load(&mut self, to: VariableId, port: usize, first: i64, turn: u32, tokens: Tokens<'_>) {
        let row = self.plan.body.consumes[port].0 as i64;
        let at = row * i64::from(turn * self.iterations()) + first;
        if port >= self.fused.fields.inputs.len() {
            let Some((_, Some(given))) = self.more else { return };
            let place = Place::variable(given);
            return self.vector(VectorStmt::Load { to, place, index: Expr::u32(at as u32) });
        }
        let (place, index) = match tokens {
            Tokens::Padded(arrays, _) => match arrays[port] {
                Some(array) => (Place::variable(array), Expr::u32((at + self.before() as i64) as u32)),
                None => return,
            },
            Tokens::AtCursors => {
                let cursor = self.inputs[port].map_or(Expr::u32(0), |cursor| self.code.f.read(cursor));
                let index = match at < 0 {
                    true => cursor.minus(Expr::u32(at.unsigned_abs() as u32)),
                    false => cursor.plus(Expr::u32(at as u32)),
                };
                (self.code.field(self.fused.fields.inputs[port].tokens), index)
            }
        };
        self.vector(VectorStmt::Load { to, place, index });
    }

    fn store(&mut self, from: VariableId, port: usize, first: u64, turn: u32, tokens: Tokens<'_>) {
        let row = self.plan.body.produces[port].0;
        let at = Expr::u32((row * u64::from(turn * self.iterations()) + first) as u32);
        if let Some(further) = port.checked_sub(self.fused.fields.outputs.len()) {
            let stored = self.more.as_ref().and_then(|(more, _)| more.stored.get(further)).copied();
            let Some((object, begin)) = stored else { return };
            let Some(&Some(field)) = self.fused.fields.objects.get(object.0 as usize) else { return };
            let place = self.code.field(field);
            return self.vector(VectorStmt::Store { place, index: at.plus(Expr::u32(begin as u32)), from });
        }
        let (place, index) = match tokens {
            Tokens::Padded(_, arrays) => match arrays[port] {
                Some(array) => (Place::variable(array), at),
                None => return,
            },
            Tokens::AtCursors => {
                let cursor = self.outputs[port].map_or(Expr::u32(0), |cursor| self.code.f.read(cursor));
                (self.code.field(self.fused.fields.outputs[port].tokens), cursor.plus(at))
            }
        };
        self.vector(VectorStmt::Store { place, index, from });
    }

    // --- what is left for the next call ---

    fn ends(&mut self, ends: &[[Expr; 2]]) {
        let plan = self.plan;
        let body = plan.body;
        for one in &body.carried {
            let Carry::Counter { counter, lo } = one.carry else { continue };
            let width = self.code.object(one.object).width;
            let value = bits_of(&ends[counter], lo, width);
            let object = one.object;
            self.code.store(object, Expr::u32(one.index as u32), Value::one(value, false).masked(mask(width)));
        }
        for (k, chain) in plan.chains.iter().enumerate() {
            self.store_block(self.chains[k], chain.object.0, chain.first);
        }
        for (k, delay) in plan.delays.iter().enumerate() {
            self.store_block(self.delays[k], delay.object.0, delay.first);
        }
        for (k, words) in plan.words.iter().enumerate() {
            let array = self.code.f.array("left", Type::U8, BYTES as u32);
            let place = Place::variable(array);
            self.vector(VectorStmt::Store { place: place.clone(), index: Expr::u32(0), from: self.words[k] });
            for (lane, at) in words.places.iter().enumerate().take(WORDS) {
                let Some((object, index)) = *at else { continue };
                let word = Expr::word(place.clone(), Expr::u32(4 * lane as u32), ByteOrder::Little, Type::U32);
                self.code.store(object, Expr::u32(index as u32), Value::one(word, true));
            }
        }
        self.last_tokens();
    }

    /// Stores what the last iteration leaves of its tokens: cursors stand behind these.
    fn last_tokens(&mut self) {
        let plan = self.plan;
        for one in plan.body.carried.iter().filter(|one| one.carry == Carry::Delay) {
            let in_register =
                |delay: &Chain| delay.object == one.object && (delay.first..delay.first + BYTES).contains(&one.index);
            if plan.delays.iter().any(in_register) {
                continue;
            }
            let Op::Input { port, offset } = *plan.body.graph.op(one.next) else { continue };
            let port = port as usize;
            let Some(cursor) = self.inputs[port] else { continue };
            let behind = plan.body.consumes[port].0 as i64 - offset;
            let at = self.code.f.read(cursor).minus(Expr::u32(behind as u32));
            let place = self.code.field(self.fused.fields.inputs[port].tokens);
            let token = Expr::element(place, at, Type::U8).to(Type::U32);
            self.code.store(one.object, Expr::u32(one.index as u32), Value::one(token, true));
        }
    }

    pub(super) fn store_block(&mut self, from: VariableId, object: u32, first: usize) {
        if let Some(&Some(field)) = self.fused.fields.objects.get(object as usize) {
            let place = self.code.field(field);
            self.vector(VectorStmt::Store { place, index: Expr::u32(first as u32), from });
        }
    }
}

/// Which bytes go where, as an instruction takes it: from 128 on a byte is 0.
fn order(bytes: &[Option<u8>; BYTES]) -> Vec<u8> {
    bytes.iter().map(|at| at.unwrap_or(128)).collect()
}

/// Some bits of two words, in the type that values of so many are computed in.
fn bits_of(words: &[Expr; 2], lo: u32, width: u32) -> Expr {
    let [low, high] = words.clone();
    let word = match lo {
        0 => low,
        64.. => high.shifted_right(lo - 64),
        _ if lo + width <= 64 => low.shifted_right(lo),
        _ => super::value::or(low.shifted_right(lo), high.shifted_left(64 - lo)),
    };
    word.to(super::value::word_type(width))
}
