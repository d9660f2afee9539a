//! Multi-buffer block loops: the parts of a wide register belong to different messages. One part of a register for each
//! message, and several registers under way at once: an instruction need not wait for the one before, as it must where
//! the iterations of one message go one by one.

use super::super::loop_frame::{CFunction, LoopNames, OPERATION};
use super::super::machine::{Needs, of_width, usual_costs};
use super::super::messages::{Gathered, Many, head, leftovers};
use super::super::words::NotApplicable;
use super::invariants::Once;
use super::{Access, Printer};
use headrace_instructions::Description;
use headrace_transform::kernel::{Carry, Evidence, Loop, Op};
use headrace_vectorize::blocks::{BYTES, Block, Plan};
use std::fmt::Write as _;

/// Prints a loop of which iterations need each other, with so many registers of 128, 256 or 512 bits side by side.
///
/// # Errors
///
/// Why it cannot be.
pub(in crate::c::kernel) fn many_blocks(
    body: &Loop,
    descriptions: &[Description],
    bits: u32,
    registers: usize,
    names: &LoopNames,
) -> Result<Many, NotApplicable> {
    let plan = Plan::without_powers(body)?;
    let mut printer = Printer::new(&plan, descriptions, bits, names);
    let counted = (0..body.counters.len()).any(|counter| printer.counted(counter));
    if !plan.is_chained() || counted || !plan.delays.is_empty() {
        return Err(NotApplicable("more than blocks and words goes from iteration to iteration".into()));
    }
    let delays = body.carried.iter().filter(|one| one.carry == Carry::Delay).map(|one| one.next);
    if body.graph.reachable(delays).into_iter().any(|id| matches!(body.graph.op(id), Op::Instruction { .. })) {
        return Err(NotApplicable("what instructions give is left for the next call in words".into()));
    }
    printer.many = true;
    if bits == 256 {
        // Half of the registers would not hold what is under way and what is loaded for it.
        printer.features.extend(["avx512f", "avx512vl"].map(str::to_owned));
    }
    let text = printer.messages(registers)?;
    let work = printer.work(registers);
    let support = printer.support();
    let features = printer.features;
    let function = CFunction {
        name: names.function.to_owned(),
        support,
        text,
        cycles: cycles(&plan, descriptions, bits, registers),
        size: OPERATION * plan.live.iter().filter(|live| **live).count() * registers,
        evidence: vec![MANY],
        work,
    };
    let lanes = registers * bits as usize / 128;
    Ok(Many { way: String::new(), function, lanes, needs: Needs::of(&features) })
}

/// What blocks of several messages are held to.
const MANY: Evidence =
    Evidence::Test { what: "blocks of messages in registers", test: "known answers of the project, test/test.c" };

/// How many of the values that no iteration changes stay in registers, if each takes so many: the rest is for what goes
/// from iteration to iteration and what is being computed.
fn kept_in_registers(bits: u32, registers: usize) -> usize {
    // What is narrower than the widest asks for their encoding, too.
    let level = of_width(if bits == 128 { 128 } else { 512 });
    let all = level.map_or(0, |level| level.vector_registers as usize);
    all.saturating_sub(2 * registers) / registers
}

/// Cycles of an iteration of all messages, roughly: what a message waits for, or all there is to do.
fn cycles(plan: &Plan, descriptions: &[Description], bits: u32, registers: usize) -> f64 {
    let costs = usual_costs();
    let parts = costs.block_parts(bits);
    let mut work = 0.0;
    let mut ready = vec![0.0_f64; plan.blocks.len()];
    for (number, block) in plan.blocks.iter().enumerate().filter(|(number, _)| plan.live[*number]) {
        let (latency, cycles) = match block {
            Block::Invariant(_) | Block::Chain(_) | Block::Words(_) | Block::Power(_) => (0.0, 0.0),
            Block::Instruction { description, .. } => {
                let name = descriptions.get(*description as usize).map(|description| description.name.as_str());
                let known = name.and_then(|name| costs.instruction(name));
                let usual = (costs.blocks.instruction_latency.value, costs.blocks.cycles.value);
                known.map_or(usual, |cost| (cost.latency, cost.cycles))
            }
            _ => (costs.blocks.latency.value, costs.blocks.cycles.value),
        };
        let apart = if matches!(block, Block::Load { .. }) { costs.blocks_apart(bits) } else { 0.0 };
        work += (cycles + apart) * parts;
        // What is loaded does not wait for the iteration before.
        let waits = plan.operands(number).into_iter().map(|operand| ready[operand]).fold(0.0, f64::max);
        ready[number] = if matches!(block, Block::Load { .. }) { 0.0 } else { waits + latency };
    }
    work += plan.outputs.len() as f64 * costs.blocks_apart(bits) * parts;
    let ends = plan.chains.iter().map(|chain| chain.next).chain(plan.words.iter().map(|words| words.next));
    let latency = ends.map(|end| ready[end]).fold(0.0, f64::max);
    latency.max(work * registers as f64)
}

impl Printer<'_> {
    fn messages(&mut self, registers: usize) -> Result<String, NotApplicable> {
        let (plan, bits) = (self.plan, self.bits);
        let (body, lanes) = (plan.body, registers * self.iterations());
        self.find_own();
        // What contexts hold goes to lists, message after message.
        let mut once = Once::new(plan, self.descriptions, self.names.names);
        let (mut lists, mut filled) = (String::new(), String::new());
        let mut list = |name: &str, value: &str| {
            let _ = writeln!(lists, "  uint8_t {name}[{}] __attribute__((aligned(64)));", BYTES * lanes);
            let _ = writeln!(filled, "    HR_STORE128({name} + {BYTES} * i, {value});");
        };
        let mut own: Vec<usize> = self.own.iter().copied().collect();
        own.sort_unstable();
        for &number in &own {
            if let Block::Invariant(node) = plan.blocks[number] {
                let register = once.register(node);
                list(&format!("all{number}_"), &register);
            }
        }
        for (k, chain) in plan.chains.iter().enumerate() {
            let element = self.element((chain.object, chain.first));
            list(&format!("all_chain{k}_"), &format!("HR_LOAD128(&{element})"));
        }
        for k in 0..plan.words.len() {
            list(&format!("all_words{k}_"), &self.words(k));
        }
        // Tokens of the iteration before: of the first one, contexts hold them.
        let mut ahead = String::new();
        for (port, &(tokens, _)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let before = self.delayed(port);
            if before.is_empty() {
                continue;
            }
            let _ = writeln!(
                lists,
                "  const uint8_t *b{port}_[{lanes}];\n  uint8_t before{port}_[{}];",
                tokens as usize * lanes
            );
            for (at, element) in before {
                let _ = writeln!(filled, "    before{port}_[{tokens} * i + {at}] = {element};");
            }
            let _ = writeln!(filled, "    b{port}_[i] = before{port}_ + {tokens} * i + {tokens};");
            let _ = writeln!(ahead, "    if (at_ == 0) memcpy(b{port}_, i{port}_, sizeof b{port}_);");
        }
        let (each, features) = once.finish()?;
        self.features.extend(features);
        let mut shared = String::new();
        self.once(&mut shared)?;
        // An iteration of each. What is loaded in every iteration holds it up, so as much as there are registers for
        // stays in them.
        let (mut inner, mut kept) = (self.cleared().to_owned(), String::new());
        for (place, &number) in own.iter().enumerate() {
            for turn in 0..registers {
                let at = turn * self.iterations() * BYTES;
                let loaded = format!("HR_V{bits} r{number}_{turn} = HR_LOAD{bits}(all{number}_ + {at});");
                let _ = match place < kept_in_registers(bits, registers) {
                    true => writeln!(kept, "  {loaded}\n  HR_KEEP{bits}(r{number}_{turn});"),
                    false => writeln!(inner, "      const {loaded}"),
                };
            }
        }
        let mut statements = Vec::new();
        self.registers(registers, Access::All, &mut statements, &|_| String::new())?;
        inner.extend(statements.into_iter().map(|statement| statement.text));
        for &(port, first, block) in &plan.outputs {
            let row = body.produces[port as usize].0;
            for turn in 0..registers {
                let value = self.register(block, turn);
                let to = |i| format!("o{port}_[{i}] + at_ * {row} + {first}");
                inner.push_str(&self.to_messages(turn, &value, &to));
            }
        }
        let ends = plan.chains.iter().enumerate().map(|(k, chain)| (format!("chain{k}_"), chain.next));
        let ends = ends.chain(plan.words.iter().enumerate().map(|(k, words)| (format!("words{k}_"), words.next)));
        let ends: Vec<(String, usize)> = ends.collect();
        let (mut start, mut end) = (String::new(), String::new());
        for (name, next) in &ends {
            for turn in 0..registers {
                let at = turn * self.iterations() * BYTES;
                let _ = writeln!(start, "  HR_V{bits} {name}{turn} = HR_LOAD{bits}(all_{name} + {at});");
                let _ = writeln!(inner, "      const HR_V{bits} new_{name}{turn} = {};", self.register(*next, turn));
                let _ = writeln!(end, "  HR_STORE{bits}(all_{name} + {at}, {name}{turn});");
            }
        }
        for (name, _) in &ends {
            for turn in 0..registers {
                let _ = writeln!(inner, "      {name}{turn} = new_{name}{turn};");
            }
        }
        // What iterations left goes back to contexts.
        let _ =
            writeln!(end, "  for (size_t i = 0; i < count; i++) {{\n    {} *const s = states[i];", self.names.state);
        end.push_str(&leftovers(body, self.names));
        for (k, chain) in plan.chains.iter().enumerate() {
            let element = self.element((chain.object, chain.first));
            let _ = writeln!(end, "    memcpy(&{element}, all_chain{k}_ + {BYTES} * i, {BYTES});");
        }
        for (k, words) in plan.words.iter().enumerate() {
            for (lane, place) in words.places.iter().enumerate() {
                if let Some(place) = *place {
                    let element = self.element(place);
                    let _ = writeln!(end, "    memcpy(&{element}, all_words{k}_ + {BYTES} * i + 4 * {lane}, 4);");
                }
            }
        }
        end.push_str("  }\n");
        let target: Vec<&str> = self.features.iter().map(String::as_str).collect();
        let attribute = format!("__attribute__((target(\"{}\"))) ", target.join(","));
        let gathered = Gathered { once: lists + &shared, each: each + &filled };
        let head = head(body, &attribute, self.names, lanes, &gathered);
        Ok(format!(
            "{head}{kept}{start}  for (size_t at_ = 0; at_ < iterations; at_++) {{\n{inner}{ahead}  }}\n{end}}}\n"
        ))
    }

    /// What no iteration changes and contexts hold.
    fn find_own(&mut self) {
        let plan = self.plan;
        let reads = |node| {
            let found = plan.graph.reachable([node]);
            found.into_iter().any(|id| matches!(plan.graph.op(id), Op::Entry { .. }))
        };
        let own =
            plan.blocks.iter().enumerate().filter(|(number, block)| {
                plan.live[*number] && matches!(block, Block::Invariant(node) if reads(*node))
            });
        self.own = own.map(|(number, _)| number).collect();
    }

    /// The messages of a turn.
    fn of_turn(&self, turn: usize) -> std::ops::Range<usize> {
        turn * self.iterations()..(turn + 1) * self.iterations()
    }

    /// A register of blocks of the messages of a turn.
    pub(super) fn rows_of_messages(&self, turn: usize, from: &dyn Fn(usize) -> String) -> String {
        let blocks: Vec<String> = self.of_turn(turn).map(from).collect();
        format!("HR_TOGETHER{}({})", self.bits, blocks.join(", "))
    }

    /// A statement that gives each message of a turn its block.
    fn to_messages(&self, turn: usize, value: &str, to: &dyn Fn(usize) -> String) -> String {
        let places: Vec<String> = self.of_turn(turn).map(to).collect();
        format!("      HR_APART{}({value}, {});\n", self.bits, places.join(", "))
    }
}
