//! Vectorisation by blocks: 128-bit registers, several iterations in one wide register. A loop whose iterations work on
//! registers of 128 bits: one block of a cipher in each, several iterations in a wide register.
//!
//! After instruction selection a block stays in one value from its tokens to its tokens. Iterations that do not need
//! each other stand beside each other in the parts of a wide register, and several registers are under way at once so
//! that an instruction need not wait for the one before; iterations that need each other go one by one. What no
//! iteration changes is computed once a call and held in registers.
//!
//! Counters are added to as two words of 64 bits, and number by number in the rare group where the lower word
//! overflows.

mod epilogue;
mod hoisted_registers;
mod invariants;
mod multi_buffer;
mod powers;
mod previous_iteration;
mod support;

pub(super) use multi_buffer::many_blocks;

use super::Names;
use super::lanes;
use super::loop_frame::{CFunction, LoopNames, OPERATION, Support, counted_at_once, counter_start, element_of_its_own};
use super::machine::usual_costs;
use super::scalar::element_type;
use super::words::NotApplicable;
use super::work::{self, Trace, Work};
use headrace_instructions::{Description, registers};
use headrace_transform::kernel::{Carry, Evidence, Loop, ObjectId};
use headrace_vectorize::blocks::{BYTES, Block, Operand, Plan};
use headrace_vectorize::carried_reads::read_delays;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use support::{CLEAR_UPPER, TIED, support};

/// A printed function and what it needs.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// The function.
    pub function: CFunction,
    /// Registers that somebody else holds for it: see [`blocks_with_held`].
    pub held: usize,
    /// What the machine must have, by the names of `__attribute__((target))` and `__builtin_cpu_supports`.
    pub features: BTreeSet<String>,
}

/// What blocks are held to.
const TESTED: Evidence = Evidence::Test {
    what: "blocks in registers",
    test: "crates/targets/tests/kernel_blocks.rs networks_of_the_library",
};

/// Registers under way at once, the most first: the rest of a message takes the smaller ones.
const GROUPS: &[usize] = &[8, 4, 2, 1];

/// Bits of registers between the narrowest and the widest.
const HALFWAY: u32 = 256;

/// Bits of counters that stay below 2^64: blocks of memory are fewer than 2^60.
const NARROW: u32 = 32;

/// What the lowest byte of a counter can be at most.
const LOW_BYTE: u128 = 255;

/// As many always are, if there are iterations enough.
const FEW: usize = 4;

/// Prints a loop with registers of 128, 256 or 512 bits. [`headrace_transform::kernel::Op::Instruction`] holds
/// positions in `descriptions`.
///
/// # Errors
///
/// Why it cannot be: values that are no blocks, or an instruction without a form of this width.
pub fn blocks(
    body: &Loop,
    descriptions: &[Description],
    bits: u32,
    names: &LoopNames,
) -> Result<Blocks, NotApplicable> {
    print(body, descriptions, bits, names, None)
}

/// The same for who calls it many times. What no iteration and nobody between calls changes, who changes elements of
/// `changed` only, is computed by `NAME_held(s, held)`, and the function takes that behind `s`: as many registers as
/// [`Blocks::held`] says, if there are any.
///
/// # Errors
///
/// As [`blocks`].
pub fn blocks_with_held(
    body: &Loop,
    descriptions: &[Description],
    bits: u32,
    names: &LoopNames,
    changed: &BTreeSet<ObjectId>,
) -> Result<Blocks, NotApplicable> {
    print(body, descriptions, bits, names, Some(changed))
}

/// Another computation that goes along: its statements stand between those of a group of registers.
pub(super) struct Beside {
    /// Iterations of a group: there are never fewer.
    pub iterations: usize,
    /// What stands before the first group.
    pub before: String,
    /// What each group has, in this order; before pointers to tokens move on.
    pub statements: Vec<Statement>,
    /// What stands behind the last group.
    pub after: String,
    /// Features that it needs, by their names for compilers.
    pub features: BTreeSet<String>,
}

/// A statement, and the register that it defines.
pub(super) struct Statement {
    pub text: String,
    pub register: Option<String>,
}

/// As [`blocks`], beside something else. The number of iterations is a multiple of [`Beside::iterations`].
///
/// # Errors
///
/// As [`blocks`], and where iterations need each other or a group has no such number of them.
pub(super) fn blocks_beside(
    body: &Loop,
    descriptions: &[Description],
    bits: u32,
    names: &LoopNames,
    beside: &Beside,
) -> Result<Blocks, NotApplicable> {
    let plan = Plan::new(body)?;
    let group = beside.iterations / (bits as usize / 128);
    if plan.is_chained() || plan.reads_before() || !GROUPS.contains(&group) {
        return Err(NotApplicable("iterations need each other".into()));
    }
    let mut printer = Printer { beside: Some(beside), ..Printer::new(&plan, descriptions, bits, names) };
    printer.features.extend(beside.features.iter().cloned());
    finished(printer)
}

/// What goes on with the blocks of a group that need not be full.
pub(super) struct Onward<'a> {
    /// The port that the blocks come from or go to.
    pub port: usize,
    /// Whether they go there.
    pub is_output: bool,
    /// What stands behind the group, where the blocks are in a register whose other parts are zero.
    pub statements: &'a dyn Fn(&str) -> String,
    /// Features that it needs, by their names for compilers.
    pub features: BTreeSet<String>,
}

/// Prints one group of a loop with registers of 512 bits, for no more iterations than a register has parts, at least one.
///
/// # Errors
///
/// As [`blocks_beside`], and where a block does not lie in memory as it is in a register.
pub(super) fn few_blocks(
    body: &Loop,
    descriptions: &[Description],
    names: &LoopNames,
    onward: &Onward,
) -> Result<Blocks, NotApplicable> {
    let plan = Plan::without_powers(body)?;
    if plan.is_chained() || plan.reads_before() || !plan.delays.is_empty() {
        return Err(NotApplicable("iterations need each other".into()));
    }
    let mut printer = Printer { onward: Some(onward), ..Printer::new(&plan, descriptions, 512, names) };
    printer.features.extend(onward.features.iter().cloned());
    finished(printer)
}

fn print(
    body: &Loop,
    descriptions: &[Description],
    bits: u32,
    names: &LoopNames,
    changed: Option<&BTreeSet<ObjectId>>,
) -> Result<Blocks, NotApplicable> {
    let plan = Plan::new(body)?;
    let mut delayed = FxHashSet::default();
    if !read_delays(body).into_iter().all(|(port, offset, _)| delayed.insert((port, offset))) {
        return Err(NotApplicable("two elements hold the same token of the iteration before".into()));
    }
    if plan.is_chained() && bits != 128 {
        return Err(NotApplicable("iterations need each other".into()));
    }
    if !plan.powers.is_empty() && plan.reads_before() {
        return Err(NotApplicable("what is multiplied goes along with tokens of the iteration before".into()));
    }
    if plan.blocks.iter().any(|block| matches!(block, Block::Counter(n) if body.counters[*n].step >> 56 != 0)) {
        return Err(NotApplicable("the step of a counter is too large".into()));
    }
    let mut printer = Printer::new(&plan, descriptions, bits, names);
    if let Some(changed) = changed {
        printer.hold(changed);
    }
    finished(printer)
}

fn finished(mut printer: Printer) -> Result<Blocks, NotApplicable> {
    let before = printer.held_function()?;
    printer.function()?;
    let support = printer.support();
    let groups = printer.groups().iter().sum::<usize>();
    let work = printer.work(printer.groups().iter().copied().max().unwrap_or(1));
    let Printer { plan, names, bits, text, features, held, .. } = printer;
    let size = OPERATION * plan.live.iter().filter(|live| **live).count() * groups;
    let cycles = cycles(plan, bits);
    let (name, text) = (names.function.to_owned(), before + &text);
    let function = CFunction { name, support, text, cycles, size, evidence: vec![TESTED], work };
    Ok(Blocks { function, held: held.len(), features })
}

/// Cycles of an iteration, roughly: several registers a cycle, or one after the other where iterations need each other.
fn cycles(plan: &Plan, bits: u32) -> f64 {
    let costs = usual_costs();
    let live = plan.blocks.iter().zip(&plan.live).filter(|(_, live)| **live).map(|(block, _)| block);
    let work: f64 = live
        .map(|block| match block {
            Block::Invariant(_) | Block::Chain(_) | Block::Words(_) | Block::Power(_) => 0.0,
            Block::Instruction { .. } if plan.is_chained() => costs.blocks.instruction_latency.value,
            _ if plan.is_chained() => costs.blocks.latency.value,
            _ => costs.blocks.cycles.value,
        })
        .sum();
    let powers: f64 = powers::work(plan, bits, 1).into_iter().map(|(_, n)| n * costs.blocks.cycles.value).sum();
    if plan.is_chained() { work + powers } else { (work + powers) / costs.blocks_at_once(bits) }
}

fn base_features(bits: u32) -> BTreeSet<String> {
    registers::features(bits).iter().map(|&name| name.to_owned()).collect()
}

/// How memory is reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    /// Whole registers.
    All,
    /// The parts of registers for which there are iterations.
    First,
}

struct Printer<'a> {
    plan: &'a Plan<'a>,
    descriptions: &'a [Description],
    bits: u32,
    names: &'a LoopNames<'a>,
    features: BTreeSet<String>,
    text: String,
    /// Registers of [`Plan::blocks`] that no iteration changes, and that differ from message to message where each turn
    /// belongs to others.
    own: FxHashSet<usize>,
    /// Whether each turn has messages of its own.
    many: bool,
    /// Of [`Plan::blocks`], those that somebody else holds: where.
    held: BTreeMap<usize, usize>,
    /// What goes along.
    beside: Option<&'a Beside>,
    /// What goes on behind one group.
    onward: Option<&'a Onward<'a>>,
}

impl<'a> Printer<'a> {
    fn new(plan: &'a Plan<'a>, descriptions: &'a [Description], bits: u32, names: &'a LoopNames<'a>) -> Printer<'a> {
        let features = base_features(bits);
        Printer {
            plan,
            descriptions,
            bits,
            names,
            features,
            text: String::new(),
            own: FxHashSet::default(),
            many: false,
            held: BTreeMap::new(),
            beside: None,
            onward: None,
        }
    }

    fn iterations(&self) -> usize {
        self.bits as usize / 128
    }

    /// Whether an iteration has instructions that have only an encoding from before AVX.
    fn has_legacy(&self) -> bool {
        let is_legacy = |number: u32| {
            let forms = self.descriptions.get(number as usize).map(|description| description.forms.as_slice());
            forms.unwrap_or_default().iter().any(|form| form.bits == self.bits && form.legacy)
        };
        let mut live = self.plan.blocks.iter().zip(&self.plan.live).filter(|(_, live)| **live);
        live.any(|(block, _)| matches!(block, Block::Instruction { description, .. } if is_legacy(*description)))
    }

    /// What an iteration begins with once its tokens are there.
    fn cleared(&self) -> &'static str {
        if self.has_legacy() { "      HR_CLEAR_UPPER();\n" } else { "" }
    }

    /// What so many registers side by side have to do.
    fn work(&self, registers: usize) -> Work {
        let plan = self.plan;
        // What differs from message to message differs from register to register.
        let value = |number: usize, turn: usize| {
            let is_shared = matches!(plan.blocks[number], Block::Invariant(_)) && !self.many;
            (number * (registers + 1) + if is_shared { registers } else { turn }) as u64
        };
        // Blocks of several messages are brought to one register, and taken apart again.
        let apart = if self.many { self.iterations() as f64 - 1.0 } else { 0.0 };
        let mut trace = Trace::default();
        for (number, block) in plan.blocks.iter().enumerate().filter(|(number, _)| plan.live[*number]) {
            let name = |description: u32| self.descriptions.get(description as usize).map(|one| one.name.as_str());
            let kinds = match block {
                Block::Invariant(_) | Block::Chain(_) | Block::Words(_) | Block::Delay(_) | Block::Power(_) => continue,
                Block::Load { .. } => vec![(work::LOAD, 1.0 + apart), (work::PERMUTE, apart)],
                Block::Counter(_) => vec![(work::ADD, 1.0), (work::SHUFFLE, 1.0)],
                Block::Shuffle { .. } => vec![(work::SHUFFLE, 1.0)],
                Block::Not(_) | Block::And(..) | Block::Or(..) | Block::Xor(..) => vec![(work::LOGIC, 1.0)],
                Block::Instruction { description, .. } => vec![(name(*description).unwrap_or(work::LOGIC), 1.0)],
            };
            for turn in 0..registers {
                let operands = plan.operands(number).into_iter().map(|operand| value(operand, turn));
                trace.value(value(number, turn), kinds.clone(), operands);
            }
        }
        let all = lanes::registers_of(self.bits);
        let mut work = trace.work(all, work::usual_weight);
        powers::work(plan, self.bits, registers).into_iter().for_each(|(kind, n)| work.add(kind, n));
        let stored = (plan.outputs.len() * registers) as f64;
        work.add(work::STORE, stored * (1.0 + apart));
        work.add(work::PERMUTE, stored * apart);
        work.add(work::WORD, 3.0);
        let iterations = if self.many { 1 } else { registers * self.iterations() };
        Work { is_carried: plan.is_chained(), ..work.of_group(iterations as f64) }
    }

    /// The definitions that the text uses.
    fn support(&self) -> Vec<Support> {
        let clear_upper = self.has_legacy().then(|| CLEAR_UPPER.to_owned());
        let tied = self.beside.map(|_| TIED.to_owned());
        let powers = (!self.plan.powers.is_empty()).then(|| powers::support(self.bits));
        let own = [support(self.bits)].into_iter();
        own.chain(clear_upper).chain(tied).chain(powers).map(Support::of_all).collect()
    }

    /// Registers that keep the machine busy while each waits for its result. More would not make it faster: they fill
    /// the queues of instructions that wait, and what else could begin beside them does not.
    fn in_flight(&self) -> usize {
        let costs = usual_costs();
        let parts = costs.block_parts(self.bits);
        let live = self.plan.blocks.iter().zip(&self.plan.live).filter(|(_, live)| **live);
        let most = live.filter_map(|(block, _)| match block {
            Block::Instruction { description, .. } => {
                let cost = costs.instruction(&self.descriptions.get(*description as usize)?.name)?;
                Some((cost.latency / (cost.cycles * parts)).ceil() as usize)
            }
            _ => None,
        });
        most.max().unwrap_or(FEW).max(FEW).next_power_of_two()
    }

    /// So many iterations are printed side by side, each in turn.
    fn groups(&self) -> Vec<usize> {
        if let Some(beside) = self.beside {
            return vec![beside.iterations / self.iterations()];
        }
        if self.onward.is_some() {
            return vec![1];
        }
        let most = self.in_flight();
        match self.plan.is_chained() {
            true => vec![1],
            // Few processors have no wider registers than these, and half a group of theirs is soon done.
            false if self.bits == HALFWAY => GROUPS.iter().copied().filter(|&n| n <= most && n != most / 2).collect(),
            false => GROUPS.iter().copied().filter(|&group| group <= most).collect(),
        }
    }

    fn function(&mut self) -> Result<(), NotApplicable> {
        let body = self.plan.body;
        let before = self.plan.reads_before() && !self.behind();
        let groups = self.groups();
        let mut inner = String::new();
        for &group in &groups {
            inner.push_str(&self.group(group, before)?);
        }
        let mut once = String::new();
        self.once(&mut once)?;
        self.powers_start(&mut once);
        let mut text = String::new();
        let _ = write!(text, "{}static void {}({} *s", self.attribute(), self.names.function, self.names.state);
        if !self.held.is_empty() {
            let _ = write!(text, ", const HR_V{} *held_", self.bits);
        }
        for (port, &(tokens, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = (tokens, write!(text, ", const {} *restrict in{port}", element_type(width)));
        }
        for (port, &(tokens, width)) in body.produces.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = (tokens, write!(text, ", {} *restrict out{port}", element_type(width)));
        }
        text.push_str(", size_t iterations)\n{\n");
        text.push_str(&self.names.names.entered());
        text.push_str("  if (iterations == 0) return;\n");
        text.push_str(&once);
        self.start(&mut text);
        match self.beside {
            Some(beside) => text.extend([&beside.before, &inner, &beside.after].map(String::as_str)),
            None if self.onward.is_some() => text.push_str(&inner),
            None => text.extend(["  while (iterations) {\n", &inner, "  }\n"]),
        }
        self.end(&mut text)?;
        text.push_str("}\n");
        self.text = text;
        Ok(())
    }

    /// Counters, chains, the last iteration.
    fn start(&self, text: &mut String) {
        let (body, bits) = (self.plan.body, self.bits);
        for (n, counter) in body.counters.iter().enumerate() {
            if element_of_its_own(body, n).is_some() {
                continue;
            }
            text.push_str(&counter_start(body, n, self.names.names));
            let _ = writeln!(text, "  const u128 end{n}_ = c{n}_ + (u128){}u * iterations;", counter.step);
            if self.counted(n) {
                let steps = (0..self.iterations() as u128).map(|i| format!("{}u,0", i * counter.step));
                let steps: Vec<String> = steps.collect();
                let _ = writeln!(text, "  static const uint64_t steps{n}_[] = {{{}}};", steps.join(","));
                let _ = writeln!(text, "  const HR_V{bits} spread{n}_ = HR_LOAD{bits}(steps{n}_);");
                let _ = writeln!(
                    text,
                    "  const u128 stride{n}_ = {}u; const HR_V{bits} next{n}_ = HR_ALL{bits}(&stride{n}_);",
                    self.iterations() as u128 * counter.step
                );
            }
        }
        for (k, chain) in self.plan.chains.iter().enumerate() {
            let element = self.names.names.element(&body.objects[chain.object.0 as usize], &chain.first.to_string());
            let _ = writeln!(text, "  HR_V{bits} chain{k}_ = HR_LOAD{bits}(&{element});");
        }
        for k in 0..self.plan.words.len() {
            let _ = writeln!(text, "  HR_V{bits} words{k}_ = {};", self.words(k));
        }
        for (k, delay) in self.plan.delays.iter().enumerate() {
            let element = self.names.names.element(&body.objects[delay.object.0 as usize], &delay.first.to_string());
            let _ = writeln!(text, "  HR_V{bits} ahead{k}_ = HR_ALL{bits}(&{element});");
        }
        if !self.plan.delays.is_empty() {
            text.push_str("  size_t last_ = 0;\n");
        }
        text.push_str(&counted_at_once(body, self.names.names));
        if body.carried.iter().any(|one| one.carry == Carry::Delay) {
            for (port, &(tokens, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
                let _ = writeln!(
                    text,
                    "  const {} *const last{port}_ = in{port} + (iterations - 1) * {tokens};",
                    element_type(width)
                );
            }
        }
        if self.behind() {
            text.push_str(&self.before_first());
        } else if self.plan.reads_before() {
            text.push_str("  int first_ = 1;\n");
        }
    }

    /// Words that the iteration before the first one left, in a register of 128 bits.
    fn words(&self, k: usize) -> String {
        let places = self.plan.words[k].places.iter().rev();
        let elements: Vec<String> = places
            .map(|place| place.map_or("0".to_owned(), |place| format!("(int32_t){}", self.element(place))))
            .collect();
        format!("_mm_set_epi32({})", elements.join(", "))
    }

    fn element(&self, (object, index): (ObjectId, usize)) -> String {
        self.names.names.element(&self.plan.body.objects[object.0 as usize], &index.to_string())
    }

    /// Whether the lower word of a counter may overflow: not that of a narrow one in as many iterations as memory has bytes.
    fn overflows(&self, counter: usize) -> bool {
        let body = self.plan.body;
        let counter = &body.counters[counter];
        body.graph.width(counter.start) > NARROW || counter.step >= BYTES as u128 / 2
    }

    fn counted(&self, counter: usize) -> bool {
        let mut live = self.plan.blocks.iter().zip(&self.plan.live).filter(|(_, live)| **live);
        live.any(|(block, _)| *block == Block::Counter(counter))
    }

    /// A group of registers; the last kind also takes iterations that do not fill a register, and those before which
    /// there are no tokens in memory.
    fn group(&mut self, group: usize, before: bool) -> Result<String, NotApplicable> {
        let body = self.plan.body;
        let n_iterations = group * self.iterations();
        let chained = self.plan.is_chained();
        let mut text = String::new();
        let inputs: Vec<(usize, u64)> = ports(&body.consumes);
        let outputs: Vec<(usize, u64)> = ports(&body.produces);
        let part = group == 1 && self.iterations() > 1;
        let whole_blocks = inputs.iter().chain(&outputs).all(|(_, bytes)| *bytes as usize == BYTES);
        let access = match part && self.bits == 512 && !before && whole_blocks {
            true => Access::First,
            false => Access::All,
        };
        let padded = access == Access::All && (part || before && group == 1);
        if self.onward.is_some() {
            if access == Access::All {
                return Err(NotApplicable("blocks do not lie in memory as they are in registers".into()));
            }
            text.push_str("    {\n");
        } else if group > 1 || chained && !before {
            let first = if before { " && !first_" } else { "" };
            let _ = writeln!(text, "    while (iterations >= {n_iterations}{first}) {{");
        } else {
            text.push_str("    if (iterations) {\n");
        }
        let mut from: Vec<String> = inputs.iter().map(|(port, _)| format!("in{port}")).collect();
        let mut to: Vec<String> = outputs.iter().map(|(port, _)| format!("out{port}")).collect();
        if padded {
            let _ =
                writeln!(text, "      const size_t n_ = iterations < {n_iterations} ? iterations : {n_iterations};");
            let first = if before { " || first_" } else { "" };
            for (&(port, bytes), from) in inputs.iter().zip(&mut from) {
                let extra = if before { bytes } else { 0 };
                let _ = writeln!(text, "      uint8_t pad_in{port}_[{}];", bytes * n_iterations as u64 + extra);
                let _ = writeln!(text, "      const uint8_t *i{port}_ = in{port};");
                let _ = writeln!(text, "      if (n_ < {n_iterations}{first}) {{");
                let _ = writeln!(text, "        memset(pad_in{port}_, 0, sizeof pad_in{port}_);");
                let _ = writeln!(text, "        memcpy(pad_in{port}_ + {extra}, in{port}, n_ * {bytes});");
                if before {
                    let _ = writeln!(text, "        if (first_) {{");
                    for (at, element) in self.delayed(port) {
                        let _ = writeln!(text, "          pad_in{port}_[{at}] = {element};");
                    }
                    let _ = writeln!(text, "        }} else memcpy(pad_in{port}_, in{port} - {bytes}, {bytes});");
                }
                let _ = writeln!(text, "        i{port}_ = pad_in{port}_ + {extra};\n      }}");
                *from = format!("i{port}_");
            }
            for (&(port, bytes), to) in outputs.iter().zip(&mut to) {
                let _ = writeln!(text, "      uint8_t pad_out{port}_[{}];", bytes * n_iterations as u64);
                let _ = writeln!(text, "      uint8_t *o{port}_ = n_ < {n_iterations} ? pad_out{port}_ : out{port};");
                *to = format!("o{port}_");
            }
        } else if access == Access::First {
            match self.onward {
                Some(_) => text.push_str("      const size_t n_ = iterations;\n"),
                None => {
                    let least = format!("iterations < {n_iterations} ? iterations : {n_iterations}");
                    let _ = writeln!(text, "      const size_t n_ = {least};");
                }
            }
            text.push_str("      const __mmask8 first_ = HR_FIRST512(n_);\n");
        } else {
            let _ = writeln!(text, "      const size_t n_ = {n_iterations};");
        }
        let name_of = |ports: &[(usize, u64)], texts: &[String], port: u32| {
            ports.iter().position(|one| one.0 == port as usize).map_or(String::new(), |at| texts[at].clone())
        };
        text.push_str(self.cleared());
        self.counters(group, &mut text);
        let mut statements = Vec::new();
        self.registers(group, access, &mut statements, &|port| name_of(&inputs, &from, port))?;
        self.writes(group, access, &mut statements, &|port| name_of(&outputs, &to, port));
        let others = self.beside.map_or(&[][..], |beside| &beside.statements);
        interleaved(&statements, others, group, &mut text);
        if let Some(onward) = self.onward {
            text.push_str(&(onward.statements)(&self.first_parts(onward)?));
            text.push_str("    }\n");
            return Ok(text);
        }
        for (k, chain) in self.plan.chains.iter().enumerate() {
            let _ = writeln!(text, "      const __m128i new{k}_ = {};", self.register(chain.next, 0));
        }
        for (k, words) in self.plan.words.iter().enumerate() {
            let _ = writeln!(text, "      const __m128i new_words{k}_ = {};", self.register(words.next, 0));
        }
        for k in 0..self.plan.chains.len() {
            let _ = writeln!(text, "      chain{k}_ = new{k}_;");
        }
        for k in 0..self.plan.words.len() {
            let _ = writeln!(text, "      words{k}_ = new_words{k}_;");
        }
        for (k, delay) in self.plan.delays.iter().enumerate() {
            let _ = writeln!(text, "      ahead{k}_ = {};", self.register(delay.next, group - 1));
        }
        self.powers_go_on(group, &mut text);
        if !self.plan.delays.is_empty() {
            let _ = writeln!(text, "      last_ = (n_ - 1) % {};", self.iterations());
        }
        if padded {
            for &(port, bytes) in &outputs {
                let _ =
                    writeln!(text, "      if (n_ < {n_iterations}) memcpy(out{port}, pad_out{port}_, n_ * {bytes});");
            }
        }
        for &(port, bytes) in &inputs {
            let _ = writeln!(text, "      in{port} += n_ * {bytes};");
        }
        for &(port, bytes) in &outputs {
            let _ = writeln!(text, "      out{port} += n_ * {bytes};");
        }
        for (n, counter) in body.counters.iter().enumerate().filter(|(n, _)| self.counted(*n)) {
            let _ = writeln!(text, "      c{n}_ += (u128){}u * n_;", counter.step);
        }
        if before && group == 1 {
            text.push_str("      first_ = 0;\n");
        }
        if self.behind() {
            text.push_str("      behind_ = 255;\n");
        }
        text.push_str("      iterations -= n_;\n    }\n");
        Ok(text)
    }

    /// The blocks of a port, in a register whose other parts are zero.
    fn first_parts(&self, onward: &Onward) -> Result<String, NotApplicable> {
        let plan = self.plan;
        let is_read = |block: &Block| matches!(block, Block::Load { port, first: 0 } if *port as usize == onward.port);
        let register = match onward.is_output {
            true => plan.outputs.iter().find(|output| output.0 as usize == onward.port).map(|output| output.2),
            false => (0..plan.blocks.len()).find(|&number| plan.live[number] && is_read(&plan.blocks[number])),
        };
        let register = register.ok_or_else(|| NotApplicable("no register has the blocks".into()))?;
        let register = self.register(register, 0);
        Ok(if onward.is_output { format!("HR_ONLY512(first_, {register})") } else { register })
    }

    /// Strength reduction of counters with swapped bytes. Of a counter that only comes as its bytes in another order, where it goes on beside other statements: the register of these and
    /// the place of its lowest byte. A group that does not carry out of that byte adds to it alone.
    fn low_byte(&self, counter: usize, group: usize) -> Option<(usize, usize)> {
        let plan = self.plan;
        let is_counter = |&number: &usize| plan.blocks[number] == Block::Counter(counter);
        let reads = |&number: &usize| plan.live[number] && plan.operands(number).iter().any(is_counter);
        let mut readers = (0..plan.blocks.len()).filter(reads);
        let (reader, None) = (readers.next()?, readers.next()) else { return None };
        let Block::Shuffle { bytes, .. } = &plan.blocks[reader] else { return None };
        let mut places = (0..BYTES).filter(|&place| bytes[place] == Some(0));
        let (place, None) = (places.next()?, places.next()) else { return None };
        let comes_out = plan.outputs.iter().any(|output| is_counter(&output.2));
        let fits = self.counts(counter, group) <= LOW_BYTE && !self.overflows(counter);
        (self.beside.is_some() && fits && !comes_out).then_some((reader, place))
    }

    /// How far a counter goes in a group.
    fn counts(&self, counter: usize, group: usize) -> u128 {
        self.plan.body.counters[counter].step * (group * self.iterations()) as u128
    }

    /// The registers of a counter's bytes in another order: each from the one before where nothing is carried out of the lowest byte, as
    /// is nearly always so, and orders nothing then.
    fn counters_by_byte(
        &self,
        n: usize,
        (reader, place): (usize, usize),
        group: usize,
        on: &dyn Fn(&mut String),
        text: &mut String,
    ) {
        let bits = self.bits;
        let Block::Shuffle { bytes, .. } = &self.plan.blocks[reader] else { return };
        let order = shuffle_name(bytes);
        let stride = self.counts(n, 1);
        let bytes: Vec<String> =
            (0..BYTES).map(|at| if at == place { stride.to_string() } else { "0".to_owned() }).collect();
        let registers: Vec<String> = (0..group).map(|turn| format!("r{reader}_{turn}")).collect();
        let _ = write!(
            text,
            "      static const uint8_t bytes{n}_[16] = {{{}}};\n      HR_V{bits} {};\n      {} = HR_SHUFFLE{bits}(count{n}_0, {order});\n      if ((uint8_t)c{n}_ <= {}) {{\n",
            bytes.join(","),
            registers.join(", "),
            registers[0],
            LOW_BYTE + 1 - self.counts(n, group)
        );
        for pair in registers.windows(2) {
            let _ = writeln!(text, "        {} = HR_SUM8_{bits}({}, HR_ALL{bits}(bytes{n}_));", pair[1], pair[0]);
        }
        text.push_str("      } else {\n");
        on(text);
        for (turn, register) in (1..).zip(&registers[1..]) {
            let _ = writeln!(text, "        {register} = HR_SHUFFLE{bits}(count{n}_{turn}, {order});");
        }
        text.push_str("      }\n");
    }

    fn counters(&self, group: usize, text: &mut String) {
        let bits = self.bits;
        for n in (0..self.plan.body.counters.len()).filter(|&n| self.counted(n)) {
            let step = self.plan.body.counters[n].step;
            let n_iterations = group * self.iterations();
            let most = step * n_iterations as u128;
            let registers: Vec<String> = (0..group).map(|i| format!("count{n}_{i}")).collect();
            let _ = writeln!(text, "      HR_V{bits} {};", registers.join(", "));
            let overflows = self.overflows(n);
            if overflows {
                let _ = writeln!(text, "      if ((uint64_t)c{n}_ <= UINT64_MAX - {most}u) {{");
            }
            let _ = writeln!(
                text,
                "        {} = HR_SUM64_{bits}(HR_SPREAD{bits}(_mm_set_epi64x((int64_t)(c{n}_ >> 64), (int64_t)c{n}_)), spread{n}_);",
                registers[0]
            );
            let on = |text: &mut String| {
                for pair in registers.windows(2) {
                    let _ = writeln!(text, "        {} = HR_SUM64_{bits}({}, next{n}_);", pair[1], pair[0]);
                }
            };
            if let Some(low) = self.low_byte(n, group) {
                self.counters_by_byte(n, low, group, &on, text);
                continue;
            }
            on(text);
            if !overflows {
                continue;
            }
            let _ = writeln!(text, "      }} else {{\n        u128 all_[{n_iterations}];");
            let _ = writeln!(
                text,
                "        for (unsigned i = 0; i < {n_iterations}; i++) all_[i] = c{n}_ + (u128){step}u * i;"
            );
            for (i, register) in registers.iter().enumerate() {
                let _ = writeln!(text, "        {register} = HR_LOAD{bits}(all_ + {});", i * self.iterations());
            }
            text.push_str("      }\n");
        }
    }

    fn register(&self, number: usize, turn: usize) -> String {
        match self.plan.blocks[number] {
            Block::Invariant(_) if self.own.contains(&number) => format!("r{number}_{turn}"),
            Block::Invariant(_) => format!("r{number}"),
            Block::Counter(n) => format!("count{n}_{turn}"),
            Block::Chain(k) if self.many => format!("chain{k}_{turn}"),
            Block::Chain(k) => format!("chain{k}_"),
            Block::Words(k) if self.many => format!("words{k}_{turn}"),
            Block::Words(k) => format!("words{k}_"),
            Block::Delay(k) => format!("delayed{k}_{turn}"),
            Block::Power(k) => format!("power{k}_{turn}"),
            _ => format!("r{number}_{turn}"),
        }
    }

    fn registers(
        &mut self,
        group: usize,
        access: Access,
        statements: &mut Vec<Statement>,
        from: &dyn Fn(u32) -> String,
    ) -> Result<(), NotApplicable> {
        let bits = self.bits;
        let plan = self.plan;
        let constant = if self.beside.is_some() { "" } else { "const " };
        let counted = (0..plan.body.counters.len()).filter(|&n| self.counted(n));
        let counted: Vec<usize> = counted.filter_map(|n| Some(self.low_byte(n, group)?.0)).collect();
        let live = |number: &usize| plan.live[*number] && !counted.contains(number);
        for (number, block) in plan.blocks.iter().enumerate().filter(|(number, _)| live(number)) {
            for turn in 0..group {
                let r = |other: usize| self.register(other, turn);
                let value = match block {
                    Block::Invariant(_) | Block::Counter(_) | Block::Chain(_) | Block::Words(_) | Block::Power(_) => {
                        continue;
                    }
                    Block::Delay(k) => {
                        let next = plan.delays[*k].next;
                        let before = match turn {
                            0 => format!("ahead{k}_"),
                            _ => self.register(next, turn - 1),
                        };
                        let this = self.register(next, turn);
                        let text =
                            format!("      const HR_V{bits} delayed{k}_{turn} = HR_DELAYED{bits}({this}, {before});\n");
                        statements.push(Statement { text, register: None });
                        continue;
                    }
                    Block::Load { port, first } if self.many => {
                        let row = plan.body.consumes[*port as usize].0;
                        let from = if *first < 0 { 'b' } else { 'i' };
                        self.rows_of_messages(turn, &|i| format!("{from}{port}_[{i}] + at_ * {row} + {first}"))
                    }
                    Block::Load { port, first } => {
                        let row = plan.body.consumes[*port as usize].0;
                        let at = row as i64 * (turn * self.iterations()) as i64 + first;
                        let from = from(*port);
                        match row as usize == BYTES {
                            true if *first < 0 && turn == 0 && self.behind() => {
                                let behind = if access == Access::First { "behind_ & first_" } else { "behind_" };
                                format!("HR_LOAD_BEHIND{bits}({from} + {at}, before{port}_, {behind})")
                            }
                            true if access == Access::First => format!("HR_LOAD_FIRST{bits}({from} + {at}, first_)"),
                            true => format!("HR_LOAD{bits}({from} + {at})"),
                            false => format!("HR_ROWS{bits}({from} + {at}, {row})"),
                        }
                    }
                    Block::Shuffle { from, bytes } => {
                        format!("HR_SHUFFLE{bits}({}, {})", r(*from), shuffle_name(bytes))
                    }
                    Block::Not(a) => format!("HR_XOR{bits}({}, ones_)", r(*a)),
                    Block::And(a, b) => format!("HR_AND{bits}({}, {})", r(*a), r(*b)),
                    Block::Or(a, b) => format!("HR_OR{bits}({}, {})", r(*a), r(*b)),
                    Block::Xor(a, b) => format!("HR_XOR{bits}({}, {})", r(*a), r(*b)),
                    Block::Instruction { description, operands } => {
                        let description = self
                            .descriptions
                            .get(*description as usize)
                            .ok_or_else(|| NotApplicable("an instruction has no description".into()))?;
                        let form =
                            description.forms.iter().find(|form| form.bits == bits).ok_or_else(|| {
                                NotApplicable(format!("{} has no form of {bits} bits", description.name))
                            })?;
                        let operands: Vec<String> = operands
                            .iter()
                            .map(|operand| match operand {
                                Operand::Block(block) => r(*block),
                                Operand::Immediate(value) => value.to_string(),
                            })
                            .collect();
                        let value = format!("{}({})", form.intrinsic, operands.join(", "));
                        self.features.extend(form.features.iter().cloned());
                        value
                    }
                };
                let register = format!("r{number}_{turn}");
                let text = format!("      {constant}HR_V{bits} {register} = {value};\n");
                statements.push(Statement { text, register: Some(register) });
            }
        }
        Ok(())
    }

    fn writes(&self, group: usize, access: Access, statements: &mut Vec<Statement>, to: &dyn Fn(u32) -> String) {
        let bits = self.bits;
        for &(port, first, block) in &self.plan.outputs {
            let row = self.plan.body.produces[port as usize].0;
            for turn in 0..group {
                let at = row * (turn * self.iterations()) as u64 + first;
                let (to, value) = (to(port), self.register(block, turn));
                let text = match row as usize == BYTES {
                    true if access == Access::First => {
                        format!("      HR_STORE_FIRST{bits}({to} + {at}, first_, {value});\n")
                    }
                    true => format!("      HR_STORE{bits}({to} + {at}, {value});\n"),
                    false => format!("      HR_PUT_ROWS{bits}({to} + {at}, {row}, {value});\n"),
                };
                statements.push(Statement { text, register: None });
            }
        }
    }
}

/// Statements with others between them, spread evenly. After `group` registers one of each is tied to one of the others,
/// so that compilers do not take them apart again.
fn interleaved(own: &[Statement], others: &[Statement], group: usize, text: &mut String) {
    let mut done = 0;
    let mut newest = None;
    for (at, statement) in own.iter().enumerate() {
        text.push_str(&statement.text);
        let due = (at + 1) * others.len() / own.len();
        for other in &others[done..due] {
            let _ = writeln!(text, "      {}", other.text);
            newest = other.register.as_ref().or(newest);
        }
        done = due;
        if (at + 1) % group == 0
            && let (Some(register), Some(other)) = (&statement.register, newest.take())
        {
            let _ = writeln!(text, "      HR_TIED({register}, {other});");
        }
    }
}

fn shuffle_name(bytes: &[Option<u8>; BYTES]) -> String {
    let digits: String = bytes.iter().map(|at| at.map_or("z".to_owned(), |at| format!("{at:x}"))).collect();
    format!("order_{digits}")
}

/// Ports that take part, and their bytes of an iteration.
fn ports(ports: &[(u64, u32)]) -> Vec<(usize, u64)> {
    let used = ports.iter().enumerate().filter(|(_, port)| port.0 > 0);
    used.map(|(port, &(tokens, width))| {
        let bytes = match element_type(width) {
            "uint8_t" => 1,
            "uint16_t" => 2,
            "uint32_t" => 4,
            "uint64_t" => 8,
            _ => 16,
        };
        (port, tokens * bytes)
    })
    .collect()
}
