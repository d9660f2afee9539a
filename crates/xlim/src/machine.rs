//! One actor while it runs: its state, where it stands, and what each instruction does.

use crate::code::{Instruction, instructions};
use crate::design::{Design, Kind, Operation, Source};
use headrace_ir::{CompareOp, Int, IntType, Scalar};
use headrace_source::Span;
use std::cmp::Ordering;
use std::collections::HashMap;

/// Why an actor cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The program is wrong.
    Trapped(String, Span),
    /// The limit on steps was reached.
    OutOfSteps,
}

/// How a turn of an actor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Something happened, and more may.
    Went,
    /// It waits for the outside.
    Waits,
}

/// A port for which an actor waits, with how many tokens or places it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) pin: usize,
    pub(crate) needed: u64,
}

/// The FIFOs at the ports of an actor.
pub(crate) trait Pins {
    /// Tokens at an input, or room at an output.
    fn available(&self, pin: usize) -> u64;
    /// A token ahead of an input.
    fn peek(&self, pin: usize, at: u64) -> Option<Int>;
    /// Takes a token, which must be there.
    fn take(&mut self, pin: usize) -> Int;
    /// Gives a token, for which there must be room.
    fn give(&mut self, pin: usize, token: &Int);
}

/// The code of a design, which its instances share.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) design: Design,
    code: Vec<Vec<Instruction>>,
    /// For each value of each task the port that it is an answer of `pinAvail` about.
    about: Vec<Vec<Option<usize>>>,
}

impl Program {
    pub(crate) fn new(design: Design) -> Self {
        let code: Vec<_> = design.tasks.iter().map(instructions).collect();
        let about = design.tasks.iter().zip(&code).map(|(task, code)| {
            let mut about = vec![None; task.values.len()];
            for instruction in code {
                if let Instruction::Operation(Operation { kind: Kind::PinAvail(pin), value: Some(value), .. }) =
                    instruction
                {
                    about[*value] = Some(*pin);
                }
            }
            about
        });
        let about = about.collect();
        Self { design, code, about }
    }
}

/// A thread of a task that runs from the start.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// Task and next instruction, the innermost call last.
    calls: Vec<(usize, usize)>,
    /// Whether anything happened since its last iteration began.
    active: bool,
}

/// An actor while it runs.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Values of state variables.
    variables: Vec<Vec<Int>>,
    /// Values of tasks.
    values: Vec<Vec<Int>>,
    threads: Vec<Thread>,
    /// What elements of variables were when the iteration began, as far as they changed: a guard that computes a list
    /// anew has done nothing.
    before: HashMap<(usize, usize), Int>,
    /// How often each task was called.
    pub(crate) called: Vec<u64>,
    /// What was missing in the last turn.
    pub(crate) waiting: Vec<Waiting>,
}

/// What one instruction led to.
enum Step {
    Next,
    Happened,
    Iteration,
    Waits,
    Ended,
}

impl Machine {
    pub(crate) fn new(program: &Program) -> Self {
        let Design { variables, tasks, .. } = &program.design;
        let starts = tasks.iter().enumerate().filter(|(_, task)| task.autostart);
        Self {
            variables: variables.iter().map(|variable| variable.initial.clone()).collect(),
            values: tasks.iter().map(|task| vec![Int::ZERO; task.values.len()]).collect(),
            threads: starts.map(|(at, _)| Thread { calls: vec![(at, 0)], active: true }).collect(),
            before: HashMap::new(),
            called: vec![0; tasks.len()],
            waiting: Vec::new(),
        }
    }

    /// Goes on until every thread waits or has gone through one iteration. `steps` counts down.
    pub(crate) fn turn(&mut self, program: &Program, pins: &mut dyn Pins, steps: &mut u64) -> Result<Turn, Failed> {
        self.waiting.clear();
        let mut went = Turn::Waits;
        for at in 0..self.threads.len() {
            let mut thread = std::mem::take(&mut self.threads[at]);
            let turned = self.thread(&mut thread, program, pins, steps);
            self.threads[at] = thread;
            if turned? == Turn::Went {
                went = Turn::Went;
            }
        }
        Ok(went)
    }

    fn thread(
        &mut self,
        thread: &mut Thread,
        program: &Program,
        pins: &mut dyn Pins,
        steps: &mut u64,
    ) -> Result<Turn, Failed> {
        let mut went = false;
        loop {
            *steps = steps.checked_sub(1).ok_or(Failed::OutOfSteps)?;
            match self.step(thread, program, pins)? {
                Step::Next => {}
                Step::Happened => (went, thread.active) = (true, true),
                Step::Waits | Step::Ended => return Ok(if went { Turn::Went } else { Turn::Waits }),
                Step::Iteration => {
                    let changed = self.before.drain().any(|((variable, at), old)| self.variables[variable][at] != old);
                    let active = std::mem::take(&mut thread.active);
                    return Ok(if active || went || changed { Turn::Went } else { Turn::Waits });
                }
            }
        }
    }

    fn source(&self, task: usize, source: Source) -> &Int {
        match source {
            Source::Value(value) => &self.values[task][value],
            Source::Variable(variable) => &self.variables[variable][0],
        }
    }

    fn step(&mut self, thread: &mut Thread, program: &Program, pins: &mut dyn Pins) -> Result<Step, Failed> {
        let Some((task, next)) = thread.calls.last_mut() else { return Ok(Step::Ended) };
        let task = *task;
        let Some(instruction) = program.code[task].get(*next) else {
            thread.calls.pop();
            return Ok(if thread.calls.is_empty() { Step::Ended } else { Step::Next });
        };
        let here = *next;
        *next += 1;
        match instruction {
            Instruction::Jump(target) => *next = *target,
            Instruction::Unless(source, target) => {
                if *self.source(task, *source) == Int::ZERO {
                    *next = *target;
                }
            }
            Instruction::Iteration(target) => {
                *next = *target;
                // Loops of tasks that are called are theirs.
                return Ok(if thread.calls.len() == 1 { Step::Iteration } else { Step::Next });
            }
            Instruction::Phis(phis, which) => {
                let types = &program.design.tasks[task].values;
                let all =
                    phis.iter().map(|phi| wrapped(self.source(task, phi.sources[*which]).clone(), types[phi.value]));
                let all: Vec<Int> = all.collect();
                let mut changed = false;
                for (phi, value) in phis.iter().zip(all) {
                    changed |= self.values[task][phi.value] != value;
                    self.values[task][phi.value] = value;
                }
                // What goes from iteration to iteration of an outermost loop is state.
                let carried = matches!(program.code[task].get(here + 1), Some(Instruction::Iteration(_)));
                if changed && carried && thread.calls.len() == 1 {
                    return Ok(Step::Happened);
                }
            }
            Instruction::Operation(operation) => {
                let step = self.operation(task, operation, program, pins)?;
                match step {
                    Step::Waits => *next = here,
                    Step::Happened => {
                        if let Kind::TaskCall(called) = operation.kind {
                            thread.calls.push((called, 0));
                        }
                    }
                    _ => {}
                }
                return Ok(step);
            }
        }
        Ok(Step::Next)
    }

    fn operation(
        &mut self,
        task: usize,
        operation: &Operation,
        program: &Program,
        pins: &mut dyn Pins,
    ) -> Result<Step, Failed> {
        let Design { pins: declared, variables, tasks, .. } = &program.design;
        let operand = |at: usize| self.source(task, operation.sources[at]);
        let trapped = |message: String| Failed::Trapped(message, operation.span);
        let mut step = Step::Next;
        let value = match &operation.kind {
            Kind::PinRead(pin) => {
                if pins.available(*pin) == 0 {
                    self.waiting.push(Waiting { pin: *pin, needed: 1 });
                    return Ok(Step::Waits);
                }
                step = Step::Happened;
                pins.take(*pin)
            }
            Kind::PinWrite(pin) => {
                if pins.available(*pin) == 0 {
                    self.waiting.push(Waiting { pin: *pin, needed: 1 });
                    return Ok(Step::Waits);
                }
                pins.give(*pin, &wrapped(operand(0).clone(), declared[*pin].ty));
                return Ok(Step::Happened);
            }
            Kind::PinPeek(pin) => {
                let index = operand(0);
                match index.to_u64().and_then(|at| pins.peek(*pin, at)) {
                    Some(token) => token,
                    None => {
                        let there = pins.available(*pin);
                        return Err(trapped(format!(
                            "token {index} of {} is peeked at, {there} there",
                            declared[*pin].name
                        )));
                    }
                }
            }
            Kind::PinStatus(pin) => {
                let there = pins.available(*pin) > 0;
                if !there {
                    self.waiting.push(Waiting { pin: *pin, needed: 1 });
                }
                Int::from(i64::from(there))
            }
            Kind::PinAvail(pin) => Int::from(pins.available(*pin)),
            Kind::Load(variable) => {
                let (index, list) = (operand(0), &self.variables[*variable]);
                let element = index.to_u64().and_then(|at| list.get(usize::try_from(at).ok()?));
                element.ok_or_else(|| trapped(outside(index, list.len())))?.clone()
            }
            Kind::Store(variable) => {
                let value = wrapped(operand(0).clone(), variables[*variable].ty);
                self.store(*variable, 0, value);
                return Ok(Step::Next);
            }
            Kind::StoreElement(variable) => {
                let value = wrapped(operand(1).clone(), variables[*variable].ty);
                let (index, n) = (operand(0).clone(), self.variables[*variable].len());
                let Some(at) = index.to_u64().and_then(|at| usize::try_from(at).ok()).filter(|&at| at < n) else {
                    return Err(trapped(outside(&index, n)));
                };
                self.store(*variable, at, value);
                return Ok(Step::Next);
            }
            Kind::TaskCall(called) => {
                self.called[*called] += 1;
                return Ok(Step::Happened);
            }
            Kind::Yield => return Ok(Step::Iteration),
            kind => {
                let sources: Vec<&Int> = (0..operation.sources.len()).map(operand).collect();
                let ty = |source: &Source| match source {
                    Source::Value(value) => tasks[task].values[*value],
                    Source::Variable(variable) => variables[*variable].ty,
                };
                let first = operation.sources.first().map_or(Scalar::Bool, ty);
                let result = operation.value.map_or(Scalar::Bool, |value| tasks[task].values[value]);
                let computed = compute(kind, &sources, first, result).map_err(trapped)?;
                self.note_missing(task, operation, &computed, program);
                computed
            }
        };
        if let Some(at) = operation.value {
            self.values[task][at] = wrapped(value, tasks[task].values[at]);
        }
        Ok(step)
    }

    fn store(&mut self, variable: usize, at: usize, value: Int) {
        let place = &mut self.variables[variable][at];
        if *place != value {
            let old = std::mem::replace(place, value);
            self.before.entry((variable, at)).or_insert(old);
        }
    }

    /// Remembers what `pinAvail(port) >= n` found missing.
    fn note_missing(&mut self, task: usize, operation: &Operation, computed: &Int, program: &Program) {
        if operation.kind != Kind::Compare(CompareOp::GreaterEqual) || *computed != Int::ZERO {
            return;
        }
        if let Source::Value(value) = operation.sources[0]
            && let Some(pin) = program.about[task][value]
            && let Some(needed) = self.source(task, operation.sources[1]).to_u64()
        {
            self.waiting.push(Waiting { pin, needed });
        }
    }
}

fn outside(index: &Int, n: usize) -> String {
    format!("index {index} is outside 0..{}", n.saturating_sub(1))
}

/// A value as a place of this type holds it.
pub(crate) fn wrapped(value: Int, ty: Scalar) -> Int {
    ty.as_int().map_or_else(|| value.clone(), |int| value.clone().wrap(int))
}

/// The result of an operation that only computes.
fn compute(kind: &Kind, sources: &[&Int], first: Scalar, result: Scalar) -> Result<Int, String> {
    let truth = |holds: bool| Int::from(i64::from(holds));
    let int = result.as_int().unwrap_or(IntType::unsigned(1));
    let fold = |with: fn(&Int, &Int) -> Int| {
        let (first, rest) = sources.split_first().expect("checked when it was read");
        rest.iter().fold((*first).clone(), |so_far, next| with(&so_far, next))
    };
    let size = first.width();
    let count = |count: &Int| match count.to_u64() {
        Some(n) if n <= u64::from(size.max(result.width())) => Ok(()),
        _ => Err(format!("shift of {size} bits by {count}")),
    };
    let failed = |error: headrace_ir::ArithmeticError| error.to_string();
    Ok(match kind {
        Kind::Literal(value) => value.clone(),
        Kind::Convert => sources[0].clone(),
        Kind::SignExtend(size) => sources[0].clone().wrap(IntType::signed(*size)),
        Kind::Add => sources[0].add(sources[1]),
        Kind::Sub => sources[0].sub(sources[1]),
        Kind::Mul => sources[0].mul(sources[1]),
        Kind::Div => sources[0].div(sources[1]).map_err(failed)?,
        Kind::Mod => {
            let quotient = sources[0].div(sources[1]).map_err(failed)?;
            sources[0].sub(&quotient.mul(sources[1]))
        }
        Kind::Negate => sources[0].neg(),
        Kind::And => fold(Int::and),
        Kind::Or => fold(Int::or),
        Kind::Xor => fold(Int::xor),
        Kind::Complement => sources[0].complement(),
        Kind::Not => truth(*sources[0] == Int::ZERO),
        Kind::ShiftLeft => {
            count(sources[1])?;
            sources[0].shl(sources[1], int).map_err(failed)?
        }
        Kind::ShiftRight => {
            count(sources[1])?;
            sources[0].shr(sources[1]).map_err(failed)?
        }
        Kind::ShiftRightBits => {
            count(sources[1])?;
            sources[0].clone().wrap(IntType::unsigned(size)).shr(sources[1]).map_err(failed)?
        }
        Kind::Compare(op) => {
            let order = sources[0].cmp(sources[1]);
            truth(match op {
                CompareOp::Equal => order == Ordering::Equal,
                CompareOp::NotEqual => order != Ordering::Equal,
                CompareOp::Less => order == Ordering::Less,
                CompareOp::LessEqual => order != Ordering::Greater,
                CompareOp::Greater => order == Ordering::Greater,
                CompareOp::GreaterEqual => order != Ordering::Less,
            })
        }
        Kind::Select => if *sources[0] == Int::ZERO { sources[2] } else { sources[1] }.clone(),
        _ => return Err("an operation that does not compute".to_owned()),
    })
}
