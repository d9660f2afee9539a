//! Steps to states: a state machine in two processes, one that says what is next and the registers.
//!
//! What is simple stays in the state in which it is reached; whatever else takes a state of its own. The code of a state
//! ends on every path with the state that comes next, or stays where it is.

use crate::actor::{HandsIn, Ports, window_ready};
use crate::code::Code;
use crate::convert::converted;
use crate::overwritten::without_overwritten;
use crate::propagate::propagated;
use crate::registers::read_early;
use crate::sink::sunk;
use crate::step::{Step, is_nothing};
use headrace_program::names::identifier;
use headrace_rtl::{
    Bits, Expr, Memory, MemoryRead, MemoryWrite, Process, SignalId, SignalKind, Stmt, Target, index_bits,
};
use std::collections::{BTreeMap, BTreeSet};

/// What an actor does, in steps.
pub(crate) struct Machine<'s> {
    /// Once.
    pub(crate) prologue: &'s [Step],
    /// Again and again.
    pub(crate) select: &'s [Step],
    /// Blocks that several places jump to, behind which selection comes.
    pub(crate) blocks: &'s [Vec<Step>],
    /// In every cycle, behind everything else.
    pub(crate) epilogue: Vec<Stmt>,
    /// The state of the FSM of the actor.
    pub(crate) fsm: Option<SignalId>,
}

/// What comes behind a block of steps.
#[derive(Clone, Copy)]
enum Tail<'s, 't> {
    Goto(usize),
    /// The head of a loop again where the condition holds, else what comes behind the loop.
    Again {
        condition: &'s Expr,
        head: usize,
        rest: &'s [Step],
        tail: &'t Tail<'s, 't>,
    },
    /// The body of a loop where the condition holds, and its head again; else what comes behind.
    Enter {
        condition: &'s Expr,
        body: &'s [Step],
        head: usize,
        rest: &'s [Step],
        tail: &'t Tail<'s, 't>,
    },
}

struct Builder<'s, 'c, 'a> {
    code: &'c Code<'a>,
    ports: &'c Ports,
    blocks: &'s [Vec<Step>],
    block_states: Vec<Option<usize>>,
    states: Vec<Vec<Stmt>>,
    /// Beginnings of the names of states.
    names: Vec<String>,
    mark: String,
    select: usize,
    /// Memories that the state that is written writes already.
    written: BTreeSet<usize>,
}

/// A number that stands for the next state until all of them are known.
const WIDE: u32 = 32;

impl<'s> Builder<'s, '_, '_> {
    fn new_state(&mut self) -> usize {
        self.states.push(Vec::new());
        self.names.push(self.mark.clone());
        self.states.len() - 1
    }

    /// A state with steps of its own.
    fn state(&mut self, steps: &'s [Step], tail: &Tail<'s, '_>) -> usize {
        let state = self.new_state();
        self.fill(state, steps, tail);
        state
    }

    fn fill(&mut self, state: usize, steps: &'s [Step], tail: &Tail<'s, '_>) {
        let mark = self.mark.clone();
        let written = std::mem::take(&mut self.written);
        let mut out = Vec::new();
        self.emit(steps, tail, &mut out, Some(state));
        self.states[state] = out;
        self.written = written;
        self.mark = mark;
    }

    fn goto(state: usize) -> Stmt {
        // Replaced in the end, when the number of states is known.
        Stmt::assign(SignalId(u32::MAX), Expr::number(WIDE, state as u64))
    }

    fn end(&mut self, tail: &Tail<'s, '_>, out: &mut Vec<Stmt>) {
        match *tail {
            Tail::Goto(state) => out.push(Self::goto(state)),
            Tail::Again { condition, head, rest, tail } => {
                let mut behind = Vec::new();
                let written = self.written.clone();
                self.emit(rest, tail, &mut behind, None);
                self.written = written;
                out.push(Stmt::If(condition.clone(), vec![Self::goto(head)], behind));
            }
            Tail::Enter { condition, body, head, rest, tail } => {
                let (mut inner, mut behind) = (Vec::new(), Vec::new());
                let written = self.written.clone();
                self.emit(body, &Tail::Goto(head), &mut inner, None);
                self.written = written.clone();
                self.emit(rest, tail, &mut behind, None);
                self.written = written;
                out.push(Stmt::If(condition.clone(), inner, behind));
            }
        }
    }

    /// Where a block goes on behind one of its steps: a state, made once for all that go there.
    fn join(&mut self, rest: &'s [Step], tail: &Tail<'s, '_>) -> usize {
        match tail {
            Tail::Goto(state) if is_nothing(rest) => *state,
            _ => self.state(rest, tail),
        }
    }

    /// Writes steps to the state that `out` belongs to. `here` is that state, as long as nothing is in it.
    fn emit(&mut self, steps: &'s [Step], tail: &Tail<'s, '_>, out: &mut Vec<Stmt>, here: Option<usize>) {
        let mut here = here;
        for (at, step) in steps.iter().enumerate() {
            let rest = &steps[at + 1..];
            match step {
                Step::Mark(mark) => {
                    self.mark = identifier(mark).to_ascii_uppercase();
                    continue;
                }
                Step::Comment(text) => {
                    out.push(Stmt::Comment(text.clone()));
                    continue;
                }
                step if step.is_simple() => {
                    out.push(self.simple(step));
                    here = None;
                    continue;
                }
                _ => {}
            }
            match step {
                Step::Write(memory, address, value) => {
                    if self.written.contains(memory) {
                        let next = self.state(&steps[at..], tail);
                        return out.push(Self::goto(next));
                    }
                    self.written.insert(*memory);
                    let plan = &self.code.memories[*memory];
                    out.push(Stmt::assign(plan.write_enable, Expr::bit(true)));
                    out.push(Stmt::assign(plan.write_address, address.clone()));
                    out.push(Stmt::assign(plan.write_data, value.clone()));
                    here = None;
                }
                Step::If(condition, yes, no) => {
                    let join = self.join(rest, tail);
                    let goto = Tail::Goto(join);
                    let written = self.written.clone();
                    let (mut then, mut other) = (Vec::new(), Vec::new());
                    self.emit(yes, &goto, &mut then, None);
                    self.written = written.clone();
                    self.emit(no, &goto, &mut other, None);
                    self.written = written;
                    return out.push(Stmt::If(condition.clone(), then, other));
                }
                Step::Case(value, arms, default) => {
                    let join = self.join(rest, tail);
                    let goto = Tail::Goto(join);
                    let written = self.written.clone();
                    let width = self.code.module.signal(*value).width;
                    let mut all = Vec::new();
                    for (number, steps) in arms {
                        let mut arm = Vec::new();
                        self.emit(steps, &goto, &mut arm, None);
                        self.written = written.clone();
                        all.push((Bits::new(width, *number), arm));
                    }
                    let mut other = Vec::new();
                    self.emit(default, &goto, &mut other, None);
                    self.written = written;
                    return out.push(Stmt::Case(self.code.get(*value), all, other));
                }
                Step::While { before, condition, body } => {
                    let head = here.unwrap_or_else(|| self.new_state());
                    let enter = Tail::Enter { condition, body, head, rest, tail };
                    match here {
                        Some(_) => self.emit(before, &enter, out, None),
                        None => {
                            self.fill(head, before, &enter);
                            out.push(Self::goto(head));
                        }
                    }
                    return;
                }
                Step::Repeat { body, again } => {
                    let head = here.unwrap_or_else(|| self.new_state());
                    let tail = Tail::Again { condition: again, head, rest, tail };
                    match here {
                        Some(_) => self.emit(body, &tail, out, None),
                        None => {
                            self.fill(head, body, &tail);
                            out.push(Self::goto(head));
                        }
                    }
                    return;
                }
                Step::Read(memory, address, target) => {
                    let plan = &self.code.memories[*memory];
                    out.push(Stmt::assign(plan.read_address, address.clone()));
                    let data = plan.read_data;
                    // The word is there in the next cycle, as soon as its address is in a register.
                    let next = self.new_state();
                    let mark = self.mark.clone();
                    let written = std::mem::take(&mut self.written);
                    let mut then = vec![Stmt::assign(*target, self.code.get(data))];
                    self.emit(rest, tail, &mut then, None);
                    self.states[next] = then;
                    self.written = written;
                    self.mark = mark;
                    return out.push(Self::goto(next));
                }
                Step::Emit(..) | Step::EmitAll { .. } => {
                    let Some(_) = here else {
                        let next = self.state(&steps[at..], tail);
                        return out.push(Self::goto(next));
                    };
                    return self.send(step, rest, tail, out);
                }
                Step::Jump(block) => {
                    let state = match self.block_states[*block] {
                        Some(state) => state,
                        None => {
                            let state = self.new_state();
                            self.block_states[*block] = Some(state);
                            let blocks = self.blocks;
                            self.fill(state, &blocks[*block], &Tail::Goto(self.select));
                            state
                        }
                    };
                    return out.push(Self::goto(state));
                }
                // The simple ones are written above.
                Step::Set(..) | Step::SetPart(..) | Step::Mark(_) | Step::Comment(_) => {}
            }
        }
        self.end(tail, out);
    }

    /// A token out, in a state of its own: it stays until there is room.
    fn send(&mut self, step: &'s Step, rest: &'s [Step], tail: &Tail<'s, '_>, out: &mut Vec<Stmt>) {
        let mut then = Vec::new();
        let (port, value) = match step {
            Step::Emit(port, value) => {
                self.emit(rest, tail, &mut then, None);
                (*port, value.clone())
            }
            Step::EmitAll { port, counter, turn, rounds, values } => {
                let now = self.code.get(*counter);
                let is_last = now.clone().is(u64::from(*rounds) - 1);
                let mut next = vec![Stmt::assign(*counter, now.clone().plus(Expr::number(now.width, 1)))];
                let mut behind = Vec::new();
                self.emit(rest, tail, &mut behind, None);
                let mut round = vec![Stmt::If(is_last, behind, std::mem::take(&mut next))];
                let mut all = values.iter().cloned();
                let mut value = all.next().unwrap_or(Expr::bit(false));
                if let Some(turn) = turn {
                    let turn_now = self.code.get(*turn);
                    let width = turn_now.width;
                    for (number, other) in all.enumerate() {
                        value = Expr::select(turn_now.clone().is(number as u64 + 1), other, value);
                    }
                    let last = turn_now.clone().is(values.len() as u64 - 1);
                    round.insert(0, Stmt::assign(*turn, Expr::number(width, 0)));
                    let step = Stmt::assign(*turn, turn_now.plus(Expr::number(width, 1)));
                    round = vec![Stmt::If(last, round, vec![step])];
                }
                then.extend(round);
                (*port, value)
            }
            _ => return,
        };
        let port = &self.ports.outputs[port];
        out.extend(port.beat(self.code, value).into_iter().map(|(signal, value)| Stmt::assign(signal, value)));
        out.push(Stmt::If(self.code.get(port.ready), then, Vec::new()));
    }

    /// A step that takes no cycle.
    fn simple(&self, step: &Step) -> Stmt {
        let block = |steps: &[Step]| -> Vec<Stmt> {
            let real = steps.iter().filter(|step| !matches!(step, Step::Mark(_)));
            real.map(|step| self.simple(step)).collect()
        };
        match step {
            Step::Set(signal, value) => Stmt::assign(*signal, value.clone()),
            Step::SetPart(signal, at, width, value) => {
                Stmt::Assign(Target { signal: *signal, part: Some((at.clone(), *width)) }, value.clone())
            }
            Step::If(condition, yes, no) => Stmt::If(condition.clone(), block(yes), block(no)),
            Step::Case(value, arms, rest) => {
                let width = self.code.module.signal(*value).width;
                let arms = arms.iter().map(|(number, steps)| (Bits::new(width, *number), block(steps)));
                Stmt::Case(self.code.get(*value), arms.collect(), block(rest))
            }
            Step::Comment(text) => Stmt::Comment(text.clone()),
            // None of these is simple.
            _ => Stmt::Comment(String::new()),
        }
    }
}

/// Makes the state machine of an actor, and everything else that its module needs.
pub(crate) fn build(code: &mut Code<'_>, ports: &Ports, machine: &Machine<'_>) {
    let mut builder = Builder {
        code,
        ports,
        blocks: machine.blocks,
        block_states: vec![None; machine.blocks.len()],
        states: Vec::new(),
        names: Vec::new(),
        mark: "SELECT".to_owned(),
        select: 0,
        written: BTreeSet::new(),
    };
    let select = builder.new_state();
    builder.select = select;
    let mut first = select;
    if !is_nothing(machine.prologue) {
        builder.mark = "START".to_owned();
        first = builder.state(machine.prologue, &Tail::Goto(select));
        builder.mark = "SELECT".to_owned();
    }
    builder.fill(select, machine.select, &Tail::Goto(select));
    let Builder { states, names, .. } = builder;
    let line = cycles(&names, select);
    code.module.about.push(line);
    finish(code, ports, machine, states, &names, first);
}

/// How many clock cycles actions take, for readers.
fn cycles(names: &[String], select: usize) -> String {
    let mut longer: Vec<(&str, usize)> = Vec::new();
    for name in names.iter().enumerate().filter(|(at, name)| *at != select && *name != "START").map(|(_, name)| name) {
        match longer.iter_mut().find(|(known, _)| known == name) {
            Some((_, n)) => *n += 1,
            None => longer.push((name, 1)),
        }
    }
    let usual = "Latency and initiation interval of an action: 1 clock cycle";
    if longer.is_empty() {
        return format!("{usual}.");
    }
    let longer = longer.iter().map(|(name, n)| format!("{name} ({n})")).collect::<Vec<_>>().join(", ");
    format!(
        "{usual}, and one more in each of its states, in those of loops for each iteration. Actions with states: {longer}."
    )
}

/// Puts the number of the next state where a jump stands; nothing where a state stays.
fn settle(block: Vec<Stmt>, own: usize, next: Option<SignalId>, width: u32) -> Vec<Stmt> {
    let each = |statement: Stmt| -> Option<Stmt> {
        Some(match statement {
            Stmt::Assign(target, value) if target.signal == SignalId(u32::MAX) => {
                let state = value.value().and_then(Bits::to_u64).unwrap_or(0);
                match next {
                    Some(next) if state as usize != own => Stmt::assign(next, Expr::number(width, state)),
                    _ => return None,
                }
            }
            Stmt::If(condition, yes, no) => {
                let (yes, no) = (settle(yes, own, next, width), settle(no, own, next, width));
                match (yes.is_empty(), no.is_empty()) {
                    (true, true) => return None,
                    (true, false) => Stmt::If(condition.inverted(), no, yes),
                    _ => Stmt::If(condition, yes, no),
                }
            }
            Stmt::Case(value, arms, rest) => {
                let arms = arms.into_iter().map(|(number, arm)| (number, settle(arm, own, next, width)));
                Stmt::Case(value, arms.collect(), settle(rest, own, next, width))
            }
            other => other,
        })
    };
    block.into_iter().filter_map(each).collect()
}

fn finish(
    code: &mut Code<'_>,
    ports: &Ports,
    machine: &Machine<'_>,
    states: Vec<Vec<Stmt>>,
    names: &[String],
    first: usize,
) {
    let width = index_bits(states.len() as u64);
    let state = (states.len() > 1).then(|| {
        let base = code.names.fresh_with("state", &["_d", "_q"]);
        code.module.add_register(&base, Bits::new(width, first as u64))
    });
    let next = state.map(|(_, next)| next);
    let mut states: Vec<Vec<Stmt>> =
        states.into_iter().enumerate().map(|(own, block)| settle(block, own, next, width)).collect();
    let mut early = BTreeSet::new();
    states.iter().for_each(|block| read_early(block, &mut early));
    // Windows keep what they have; an address of a memory counts in the cycle after it was given.
    early.extend(ports.inputs.iter().filter_map(|port| port.window.as_ref()).flat_map(|one| [one.tokens, one.count]));
    early.extend(code.memories.iter().map(|memory| memory.read_address));
    early.extend(machine.fsm);
    let addresses = add_registers(code, &early);
    let given = in_front(code, ports, &addresses, next, &machine.epilogue, &mut states);
    let is_given = |signal: SignalId| given.iter().any(|(other, _)| *other == signal);
    let mut body = Vec::new();
    if let Some((register, next)) = state {
        body.push(Stmt::assign(next, code.get(register)));
    }
    for (variable, _) in std::mem::take(&mut code.variables) {
        let width = code.module.signal(variable).width;
        match addresses.get(&variable) {
            Some(&register) => body.push(Stmt::assign(variable, code.get(register))),
            None => body.extend((!is_given(variable)).then(|| Stmt::assign(variable, Expr::number(width, 0)))),
        }
    }
    name_states(code, machine.fsm.and_then(|fsm| addresses.get(&fsm).copied()), state.map(|one| one.0), names);
    for memory in std::mem::take(&mut code.memories) {
        for signal in [memory.write_enable, memory.write_address, memory.write_data] {
            let width = code.module.signal(signal).width;
            body.extend((!is_given(signal)).then(|| Stmt::assign(signal, Expr::number(width, 0))));
        }
        let address = addresses.get(&memory.read_address).copied().unwrap_or(memory.read_address);
        code.module.memories.push(Memory {
            name: memory.name,
            width: memory.width,
            depth: memory.depth,
            reads: vec![MemoryRead { address, data: memory.read_data }],
            writes: vec![MemoryWrite {
                enable: memory.write_enable,
                address: memory.write_address,
                data: memory.write_data,
            }],
            about: String::new(),
        });
    }
    for port in &ports.inputs {
        let (back, value) = match (port.hands, &port.window) {
            (HandsIn::Valid { ready, .. }, Some(window)) => (ready, window_ready(code, window)),
            (HandsIn::Valid { ready, .. }, None) => (ready, Expr::bit(false)),
            (HandsIn::Counts { take, .. }, _) => (take, Expr::number(code.module.signal(take).width, 0)),
        };
        body.push(Stmt::assign(back, value));
    }
    for port in &ports.outputs {
        for signal in [Some(port.data), Some(port.valid), port.count].into_iter().flatten() {
            let width = code.module.signal(signal).width;
            body.extend((!is_given(signal)).then(|| Stmt::assign(signal, Expr::number(width, 0))));
        }
    }
    body.extend(given.into_iter().flat_map(|(_, statements)| statements));
    let choices = match state {
        None => states.into_iter().flatten().collect(),
        Some((register, _)) => {
            let arms = states.into_iter().enumerate().map(|(number, block)| (Bits::new(width, number as u64), block));
            vec![Stmt::Case(code.get(register), arms.collect(), Vec::new())]
        }
    };
    let Code { module, names, .. } = code;
    body.extend(sunk(choices, module, &mut |base| names.fresh(base)));
    body.extend(machine.epilogue.iter().cloned());
    let name = code.names.fresh("control");
    code.module.processes.push(Process { name, body });
}

/// Registers of the variables that keep what they have until the next cycle, by variable.
fn add_registers(code: &mut Code<'_>, early: &BTreeSet<SignalId>) -> BTreeMap<SignalId, SignalId> {
    let kept: Vec<(SignalId, String)> =
        code.variables.iter().filter(|(variable, _)| early.contains(variable)).cloned().collect();
    let each = |(variable, base): (SignalId, String)| {
        let width = code.module.signal(variable).width;
        code.module.signals[variable.index()].name = format!("{base}_d");
        let reset = code.resets.get(&variable).cloned().unwrap_or(Bits::zero(width));
        let register = code.module.add(format!("{base}_q"), width, SignalKind::Register { reset, next: variable });
        (variable, register)
    };
    kept.into_iter().map(each).collect()
}

/// What stands in front of the states instead of zeros: values of signals at which nobody looks where no state gives them one.
fn in_front(
    code: &Code<'_>,
    ports: &Ports,
    registers: &BTreeMap<SignalId, SignalId>,
    next: Option<SignalId>,
    epilogue: &[Stmt],
    states: &mut [Vec<Stmt>],
) -> Vec<(SignalId, Vec<Stmt>)> {
    let variables = code.variables.iter().map(|(variable, _)| *variable);
    let mut free: Vec<SignalId> = variables.clone().filter(|variable| !registers.contains_key(variable)).collect();
    free.extend(code.memories.iter().flat_map(|memory| [memory.write_address, memory.write_data]));
    free.extend(ports.outputs.iter().flat_map(|port| [Some(port.data), port.count]).flatten());
    let mut late = BTreeSet::new();
    epilogue.iter().for_each(|statement| assigned(statement, &mut late));
    free.retain(|signal| !late.contains(signal));
    let mut changed: BTreeSet<SignalId> = variables.chain(next).chain(late).collect();
    states.iter().flatten().for_each(|statement| assigned(statement, &mut changed));
    let known = registers.iter().map(|(&variable, &register)| (variable, code.get(register))).collect();
    let not_kept = free.iter().copied().collect();
    for block in states.iter_mut() {
        let known = propagated(std::mem::take(block), &code.module, &changed, &known);
        *block = without_overwritten(converted(known, &not_kept), &code.module);
    }
    let free = free.into_iter().map(|signal| (signal, code.module.signal(signal).width)).collect();
    crate::defaults::hoisted(&free, changed, states)
}

/// The signals that a statement assigns to.
fn assigned(statement: &Stmt, signals: &mut BTreeSet<SignalId>) {
    if let Stmt::Assign(target, _) = statement {
        signals.insert(target.signal);
    }
    statement.blocks().into_iter().flatten().for_each(|inner| assigned(inner, signals));
}

/// Names for the values of the state registers.
fn name_states(code: &mut Code<'_>, fsm: Option<SignalId>, state: Option<SignalId>, names: &[String]) {
    if let Some(fsm) = fsm {
        let width = code.module.signal(fsm).width;
        let all = code.actor.schedule.states.iter().enumerate();
        let own: Vec<(Bits, String)> = all
            .map(|(at, one)| {
                let like = if one.name.is_empty() { "FSM" } else { &one.name };
                (
                    Bits::new(width, at as u64),
                    code.names.fresh(&format!("FSM_{}", identifier(like).to_ascii_uppercase())),
                )
            })
            .collect();
        code.module.signals[fsm.index()].names = own;
    }
    if let Some(state) = state {
        let width = code.module.signal(state).width;
        let all = names.iter().enumerate();
        let own = all.map(|(at, name)| (Bits::new(width, at as u64), code.names.fresh(name))).collect();
        code.module.signals[state.index()].names = own;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_nothing_is_left_out() {
        let goto = Stmt::assign(SignalId(u32::MAX), Expr::number(WIDE, 3));
        let condition = Expr::signal(SignalId(0), 1);
        let block = vec![Stmt::If(condition.clone(), vec![goto.clone()], vec![])];
        assert_eq!(settle(block.clone(), 3, Some(SignalId(1)), 2), Vec::new());
        let wanted = vec![Stmt::If(condition, vec![Stmt::assign(SignalId(1), Expr::number(2, 3))], vec![])];
        assert_eq!(settle(block, 0, Some(SignalId(1)), 2), wanted);
    }
}
