//! A processor as one state machine: words moved one a cycle, tasks as logic between registers (a transport-triggered processor).
//!
//! In each of its states a word goes from a link, a register, a number or the outputs of a task's logic to registers, links or
//! the outside; the next state follows when it could. What a task computes is there as soon as the last of its inputs is. Tasks that
//! compute the same share their logic and the registers in front of it.

use super::body::Body;
use crate::design::{Design, Source};
use crate::machine::Machine;
use crate::program::{Arrivals, Links, Orders, Word};
use crate::tasks::Wire;
use crate::values::Id;
use headrace_rtl::{Bits, Connection, Expr, Instance, Module, SignalId, SignalKind, Table, TableId, index_bits};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Where a word comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum From {
    /// An input port.
    Port(usize),
    /// A word that is kept.
    Kept(Word),
    /// A number.
    Known(u64),
    /// A body's output, and which part of it.
    Body(usize, usize, u32),
}

/// What a state does.
#[derive(Clone, Debug)]
struct Move {
    from: From,
    /// The register in front of a body: which input, which part of it.
    window: Option<(usize, usize, u32)>,
    /// What is kept.
    keeps: Option<Word>,
    /// Links, a bit each; the highest of `n_links + 1` is the outside.
    links: u64,
}

/// A processor as a state machine, with what is around it.
pub struct Made {
    /// The module.
    pub module: Module,
    /// The link at each input port.
    pub inputs: Vec<u32>,
    /// Links that it writes.
    pub outputs: Vec<u32>,
    /// Words that leave in a period: message, positions, and which word of the value.
    pub leaves: Vec<(u32, Vec<u32>, u32)>,
    /// Words that come from outside, by link.
    pub outside: BTreeMap<usize, Vec<Word>>,
}

/// Bodies of all processors, by their forms.
#[derive(Default)]
pub struct Bodies {
    by_form: HashMap<String, String>,
    /// Their modules.
    pub modules: Vec<Module>,
}

impl Bodies {
    fn named(&mut self, design: &Design, body: &Body, about: &str) -> Result<String, String> {
        if let Some(known) = self.by_form.get(&body.form) {
            return Ok(known.clone());
        }
        let name = format!("task_{}", self.modules.len());
        self.modules.push(body.module(&design.tasks, &name, about)?);
        self.by_form.insert(body.form.clone(), name.clone());
        Ok(name)
    }
}

/// Makes the state machine of a processor.
///
/// # Errors
///
/// A word is needed that never comes, or a value is too wide.
pub fn module(
    design: &Design,
    machine: &Machine,
    (orders, links): (&Orders, &Links),
    parameters: &HashMap<Id, i128>,
    (core, name): (usize, &str),
    bodies: &mut Bodies,
) -> Result<Made, String> {
    let bits = *machine.core.word_bits;
    let homes = design.homes();
    let tasks = &design.tasks;
    let values = &tasks.values;
    let n_words = |id: Id| values.n_words(id, bits) as u32;
    let mut arrivals = Arrivals::of(links, core);
    let inputs: Vec<u32> = arrivals.links.values().map(|&link| link as u32).collect();
    let port_of = |link: usize| inputs.iter().position(|known| *known as usize == link).unwrap_or(0);
    let outputs: Vec<u32> = links
        .by_ends
        .iter()
        .filter(|((source, _), _)| *source == Source::Core(core))
        .map(|(_, &link)| link as u32)
        .collect();
    let outside_bit = 1u64 << outputs.len();
    if outputs.len() > 62 {
        return Err("a processor has more than 62 links that go out".into());
    }
    let mut moves: Vec<Move> = Vec::new();
    let mut own: Vec<(String, Body)> = Vec::new();
    let mut leaves = Vec::new();
    // Words that are somewhere on the processor: taken and kept, or made and kept.
    let mut there: BTreeSet<Word> = BTreeSet::new();
    for (task, message) in design.cores[core].turns(design.in_flight) {
        let one = &tasks.tasks[task.index()];
        let given: BTreeMap<Id, Wire> = one.inputs.iter().map(|wire| (wire.value, *wire)).collect();
        let sequence = &orders.sequences[task.index()];
        let body = Body::of(tasks, sequence, &given.keys().copied().collect());
        let module = bodies.named(design, &body, &format!("What `{}` computes, and others as it does.", one.name))?;
        let number = own.iter().position(|(known, _)| *known == module).unwrap_or_else(|| {
            own.push((module.clone(), body.clone()));
            own.len() - 1
        });
        let slot_of: HashMap<Id, usize> = body.inputs.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let mut filled: BTreeSet<(usize, u32)> = BTreeSet::new();
        for (slot, &id) in body.inputs.iter().enumerate() {
            for limb in 0..n_words(id) {
                if filled.contains(&(slot, limb)) {
                    continue;
                }
                let word = (message, id, limb);
                let window = Some((number, slot, limb));
                if let Some(&known) = parameters.get(&id) {
                    let part = (known >> (limb * bits)) as u64 & (u64::MAX >> (64 - bits));
                    moves.push(Move { from: From::Known(part), window, keeps: None, links: 0 });
                    filled.insert((slot, limb));
                    continue;
                }
                let link = given.get(&id).and_then(|wire| arrivals.link(wire, &homes));
                match link {
                    Some(link) if !arrivals.taken.contains(&(link, word)) => {
                        // Up to this word; what comes before it and is needed now goes to its place at once.
                        loop {
                            let came = arrivals.next(link, word)?;
                            let place = match slot_of.get(&came.1).filter(|_| came.0 == message) {
                                Some(&slot) if filled.insert((slot, came.2)) => Some((number, slot, came.2)),
                                _ => None,
                            };
                            there.insert(came);
                            moves.push(Move {
                                from: From::Port(port_of(link)),
                                window: place,
                                keeps: Some(came),
                                links: 0,
                            });
                            if came == word {
                                break;
                            }
                        }
                    }
                    _ => {
                        moves.push(Move { from: From::Kept(word), window, keeps: None, links: 0 });
                        filled.insert((slot, limb));
                    }
                }
            }
        }
        for (at, &id) in sequence.iter().enumerate() {
            let (to, positions) = orders.takers(task, id, core);
            let mut set = 0;
            for to in to {
                let link = links.by_ends.get(&(Source::Core(core), to));
                let known = link.and_then(|link| outputs.iter().position(|known| *known as usize == *link));
                set |= known.map_or(0, |number| 1 << number);
            }
            let stays = orders.stays(task, id, core);
            for limb in 0..n_words(id) {
                let mut links = set;
                if !positions.is_empty() {
                    links |= outside_bit;
                    leaves.push((message, positions.clone(), limb));
                }
                let word = (message, id, limb);
                let keeps = (stays && there.insert(word)).then_some(word);
                if links != 0 || keeps.is_some() {
                    moves.push(Move { from: From::Body(number, at, limb), window: None, keeps, links });
                }
            }
        }
    }
    if moves.is_empty() {
        return Err("it has nothing to do".into());
    }
    let module = Writer {
        bits,
        design,
        m: Module::new(name),
        inputs: &inputs,
        outputs: &outputs,
        own: &own,
        leaves: leaves.len(),
    };
    let module = module.written(core, &moves);
    Ok(Made { module, inputs, outputs, leaves, outside: arrivals.outside })
}

struct Writer<'a> {
    bits: u32,
    design: &'a Design,
    m: Module,
    inputs: &'a [u32],
    outputs: &'a [u32],
    own: &'a [(String, Body)],
    leaves: usize,
}

impl Writer<'_> {
    fn table(&mut self, name: &str, width: u32, values: Vec<u64>) -> TableId {
        let index_width = index_bits(values.len() as u64).max(1);
        let values = values.into_iter().map(|value| Bits::new(width, value)).collect();
        self.m.tables.push(Table { name: name.into(), index_width, width, values });
        TableId(self.m.tables.len() as u32 - 1)
    }

    /// Numbers of a list, one a state, on a wire.
    fn per_state(&mut self, name: &str, width: u32, state: SignalId, values: Vec<u64>) -> Expr {
        let table = self.table(&format!("{name}s"), width, values);
        let value = Expr::lookup(table, self.m.get(state), width);
        let wire = self.m.add(name, width, SignalKind::Wire);
        self.m.assign(wire, value);
        self.m.get(wire)
    }

    fn written(mut self, core: usize, moves: &[Move]) -> Module {
        let bits = self.bits;
        let names: Vec<&str> = self.design.cores[core]
            .tasks
            .iter()
            .map(|task| self.design.tasks.tasks[task.index()].name.as_str())
            .collect();
        self.m.about.push(format!(
            "Processor `{}`: {}; {} states.",
            self.design.cores[core].name,
            names.join(", "),
            moves.len()
        ));
        self.m.add("load_i", 1, SignalKind::Input);
        let run = self.m.add("run_i", 1, SignalKind::Input);
        let mut ports = Vec::new();
        for port in 0..self.inputs.len() {
            let data = self.m.add(format!("in{port}_data_i"), bits, SignalKind::Input);
            let valid = self.m.add(format!("in{port}_valid_i"), 1, SignalKind::Input);
            ports.push((data, valid, self.m.add(format!("in{port}_take_o"), 1, SignalKind::Output)));
        }
        let data_out = self.m.add("data_o", bits, SignalKind::Output);
        let mut outs = Vec::new();
        for link in 0..self.outputs.len() {
            let put = self.m.add(format!("out{link}_put_o"), 1, SignalKind::Output);
            outs.push((put, self.m.add(format!("out{link}_room_i"), 1, SignalKind::Input)));
        }
        let outside = (self.leaves > 0).then(|| {
            let leave = self.m.add("leave_o", 1, SignalKind::Output);
            let at = self.m.add("leave_at_o", index_bits(self.leaves as u64).max(1), SignalKind::Output);
            (leave, at, self.m.add("leave_room_i", 1, SignalKind::Input))
        });
        // Registers for what is kept: as few as are in use at once. What is kept and never needed again is not.
        let mut last: BTreeMap<Word, usize> = BTreeMap::new();
        for (at, one) in moves.iter().enumerate() {
            if let From::Kept(word) = one.from {
                last.insert(word, at);
            }
        }
        let mut free: BTreeSet<usize> = BTreeSet::new();
        let mut n_registers = 0;
        let mut place: BTreeMap<Word, usize> = BTreeMap::new();
        let (mut reads, mut writes) = (vec![None; moves.len()], vec![None; moves.len()]);
        for (at, one) in moves.iter().enumerate() {
            if let From::Kept(word) = one.from {
                reads[at] = place.get(&word).copied();
                if last.get(&word) == Some(&at) {
                    free.extend(place.remove(&word));
                }
            }
            if let Some(word) = one.keeps.filter(|word| last.get(word).is_some_and(|last| *last > at)) {
                let register = free.pop_first().unwrap_or_else(|| {
                    n_registers += 1;
                    n_registers - 1
                });
                free.extend(place.insert(word, register));
                writes[at] = Some(register);
            }
        }
        // The state, and what it says.
        let n = moves.len() as u64;
        let state_bits = index_bits(n).max(1);
        let (state, state_next) = self.m.add_register("state", Bits::zero(state_bits));
        // Where words come from: ports, then parts of bodies' outputs, then the memory of what is kept, then numbers.
        let mut parts: Vec<(usize, usize, u32)> = moves
            .iter()
            .filter_map(|one| match one.from {
                From::Body(body, output, limb) => Some((body, output, limb)),
                _ => None,
            })
            .collect();
        parts.sort_unstable();
        parts.dedup();
        let n_ports = ports.len();
        let (kept_at, known_at) = (n_ports + parts.len(), n_ports + parts.len() + 1);
        let source = |one: &Move| match one.from {
            From::Port(port) => port,
            From::Body(body, output, limb) => n_ports + parts.binary_search(&(body, output, limb)).unwrap_or(0),
            From::Kept(_) => kept_at,
            From::Known(_) => known_at,
        } as u64;
        let source_bits = index_bits(known_at as u64 + 1).max(1);
        let from = self.per_state("from", source_bits, state, moves.iter().map(source).collect());
        let known = |one: &Move| match one.from {
            From::Known(number) => number,
            _ => 0,
        };
        let number = self.per_state("number", bits, state, moves.iter().map(known).collect());
        let mut slots: Vec<(usize, usize, u32)> = moves.iter().filter_map(|one| one.window).collect();
        slots.sort_unstable();
        slots.dedup();
        // 0 is no register.
        let slot = |one: &Move| one.window.and_then(|it| slots.binary_search(&it).ok()).map_or(0, |at| at as u64 + 1);
        let window = self.per_state(
            "window",
            index_bits(slots.len() as u64 + 1).max(1),
            state,
            moves.iter().map(slot).collect(),
        );
        let set = self.per_state("link_set", outs.len() as u32 + 1, state, moves.iter().map(|one| one.links).collect());
        // When it goes on.
        let comes = ports.iter().enumerate().fold(Expr::bit(true), |all, (at, (_, valid, _))| {
            all.and(from.clone().is(at as u64).inverted().or(self.m.get(*valid)))
        });
        let mut can = outs.iter().enumerate().fold(comes, |all, (at, (_, room))| {
            all.and(set.clone().slice(at as u32, 1).inverted().or(self.m.get(*room)))
        });
        if let Some((_, _, room)) = outside {
            can = can.and(set.clone().slice(outs.len() as u32, 1).inverted().or(self.m.get(room)));
        }
        let goes = self.m.add("goes", 1, SignalKind::Wire);
        let value = self.m.get(run).and(can);
        self.m.assign(goes, value);
        let goes = self.m.get(goes);
        let further = self.m.get(state).plus(Expr::number(state_bits, 1));
        let further = Expr::select(self.m.get(state).is(n - 1), Expr::number(state_bits, 0), further);
        let value = Expr::select(goes.clone(), further, self.m.get(state));
        self.m.assign(state_next, value);
        // The word that moves.
        let word = self.m.add("word", bits, SignalKind::Wire);
        let mut value = number;
        // Bodies, each behind its registers.
        let mut outputs_of: HashMap<(usize, usize), Expr> = HashMap::new();
        for (which, (module, body)) in self.own.iter().enumerate() {
            let mut connections = Vec::new();
            for (input, &id) in body.inputs.iter().enumerate() {
                let (width, _) = self.design.tasks.values.width(id);
                let mut limbs = Vec::new();
                for limb in 0..width.div_ceil(bits) {
                    let own = slots.binary_search(&(which, input, limb)).map_or(u64::MAX, |at| at as u64 + 1);
                    let (register, next) =
                        self.m.add_register(&format!("task{which}_in{input}_{limb}"), Bits::zero(bits));
                    let takes =
                        goes.clone().and(if own == u64::MAX { Expr::bit(false) } else { window.clone().is(own) });
                    let value = Expr::select(takes, self.m.get(word), self.m.get(register));
                    self.m.assign(next, value);
                    limbs.push(self.m.get(register));
                }
                limbs.reverse();
                let whole = Expr::concat(limbs);
                let signal = self.m.add(format!("task{which}_in{input}"), width, SignalKind::Wire);
                self.m.assign(signal, whole.slice(0, width));
                connections.push(Connection { port: format!("in{input}_i"), signal });
            }
            for (output, &id) in body.outputs.iter().enumerate() {
                let (width, signed) = self.design.tasks.values.width(id);
                let signal = self.m.add(format!("task{which}_out{output}"), width, SignalKind::Wire);
                connections.push(Connection { port: format!("out{output}_o"), signal });
                outputs_of.insert((which, output), self.m.get(signal).resized(signed, width.div_ceil(bits) * bits));
            }
            self.m.instances.push(Instance { name: format!("i_task{which}"), module: module.clone(), connections });
        }
        if n_registers > 0 {
            let index = |all: &[Option<usize>]| all.iter().map(|at| at.unwrap_or(0) as u64).collect::<Vec<_>>();
            let width = index_bits(n_registers as u64).max(1);
            let read = self.per_state("kept_from", width, state, index(&reads));
            let write = self.per_state("kept_to", width, state, index(&writes));
            let keeps = self.per_state("keep", 1, state, writes.iter().map(|at| u64::from(at.is_some())).collect());
            let mut kept = Expr::number(bits, 0);
            for register in 0..n_registers {
                let (own, next) = self.m.add_register(&format!("kept{register}"), Bits::zero(bits));
                let takes = goes.clone().and(keeps.clone()).and(write.clone().is(register as u64));
                let value = Expr::select(takes, self.m.get(word), self.m.get(own));
                self.m.assign(next, value);
                kept = Expr::select(read.clone().is(register as u64), self.m.get(own), kept);
            }
            value = Expr::select(from.clone().is(kept_at as u64), kept, value);
        }
        for (at, (body, output, limb)) in parts.iter().enumerate() {
            let whole = outputs_of.get(&(*body, *output)).cloned().unwrap_or(Expr::number(bits, 0));
            value = Expr::select(from.clone().is((n_ports + at) as u64), whole.slice(limb * bits, bits), value);
        }
        for (at, (data, _, take)) in ports.iter().enumerate() {
            let own = from.clone().is(at as u64);
            value = Expr::select(own.clone(), self.m.get(*data), value);
            self.m.assign(*take, goes.clone().and(own));
        }
        self.m.assign(word, value);
        let value = self.m.get(word);
        self.m.assign(data_out, value);
        for (at, (put, _)) in outs.iter().enumerate() {
            self.m.assign(*put, goes.clone().and(set.clone().slice(at as u32, 1)));
        }
        if let Some((leave, at, _)) = outside {
            let value = goes.and(set.slice(outs.len() as u32, 1));
            self.m.assign(leave, value.clone());
            let width = index_bits(self.leaves as u64).max(1);
            let (position, next) = self.m.add_register("leaf", Bits::zero(width));
            let now = self.m.get(position);
            self.m.assign(at, now.clone());
            let further = now.clone().plus(Expr::number(width, 1));
            let further = Expr::select(now.clone().is(self.leaves as u64 - 1), Expr::number(width, 0), further);
            self.m.assign(next, Expr::select(value, further, now));
        }
        headrace_rtl::drop_unread(&mut self.m);
        self.m
    }
}
