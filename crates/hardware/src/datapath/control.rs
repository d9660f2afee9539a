//! The control unit of a datapath: states that wait and decide, a counter of cycles, and what may begin when; and the module of both.
//!
//! A task that takes cycles begins in the cycle in which its tokens are there, and in which the one before is done or none is under way.
//! The state changes when a task begins, so what follows is decided while it is under way: tasks that take one cycle and put nothing
//! out, such as those that read how many blocks come, go on beside it, unless one of both stores what the other needs.

use super::Unit;
use super::choose::Chooser;
use super::plan::Plan;
use super::region::{Region, Task, Tree};
use super::streams::{BeatIn, BeatOut, add_input, add_output};
use super::values::{AtEnd, Builder, Datapath};
use headrace_ir::Network;
use headrace_kernel::{NodeId, ObjectId, Op};
use headrace_program::names::{Names, identifier};
use headrace_rtl::{Bits, Expr, Module, Process, SignalId, SignalKind, Stmt, Target, Timing, index_bits};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// A counter of cycles with more bits is not looked at by what a cycle waits for: bits beside it say what it would.
const FLAG_BITS: u32 = 2;

/// A way from a state to a task.
struct Leaf {
    state: usize,
    task: usize,
    /// Tasks that begin with it.
    beside: Vec<usize>,
    target: usize,
    /// What must hold, but for that of the task.
    condition: Expr,
    /// Objects that are read when it is decided.
    reads: FxHashSet<ObjectId>,
}

/// When a task can begin while another one is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// In each cycle of it.
    Free,
    /// In its last cycle, as soon as there is room for what it puts out: it stores what the other reads.
    FreeAtEnd,
    /// Behind it.
    Blocked,
}

/// Objects that a task touches after the cycle in which it begins.
#[derive(Clone, Debug, Default)]
struct Late {
    reads: FxHashSet<ObjectId>,
    writes: FxHashSet<ObjectId>,
}

/// What an element of an object becomes by a task, and when; whether that is the end of one that takes cycles.
struct Store {
    object: ObjectId,
    index: usize,
    when: Expr,
    value: Expr,
    task: usize,
    is_last: bool,
}

/// Tokens of a beat at each port: as many as all tasks that use the port move.
fn of_ports(
    counts: impl Iterator<Item = (usize, u64)>,
    n: usize,
    ports: &[headrace_ir::Port],
) -> Result<Vec<u64>, String> {
    let mut beats = vec![0u64; n];
    for (port, tokens) in counts.filter(|(_, tokens)| *tokens > 0) {
        let bits = tokens.saturating_mul(u64::from(ports[port].ty.width().max(1)));
        if bits > crate::actor::MAX_WINDOW_BITS {
            return Err(format!("port `{}` moves {bits} bits at once", ports[port].name));
        }
        let beat = &mut beats[port];
        if *beat != 0 && *beat != tokens {
            let name = &ports[port].name;
            return Err(format!("port `{name}` moves {beat} tokens at once in one place and {tokens} in another"));
        }
        *beat = tokens;
    }
    Ok(beats)
}

/// Tokens of a beat at each input and each output port.
///
/// # Errors
///
/// Where there is no such number, as a sentence without a full stop.
pub(crate) fn beats(network: &Network, region: &Region) -> Result<(Vec<u64>, Vec<u64>), String> {
    let mut awaited = Vec::new();
    for (tree, _) in &region.states {
        tree.for_each(&mut |tree| {
            if let Tree::Wait(all) = tree {
                awaited.extend(all.iter().map(|(port, tokens, _)| (*port, *tokens)));
            }
        });
    }
    let consumed = region.tasks.iter().flat_map(|task| task.consumes.iter().copied().enumerate());
    let taken = of_ports(consumed.chain(awaited), network.inputs.len(), &network.inputs)?;
    let produced = region.tasks.iter().flat_map(|task| task.produces.iter().copied().enumerate());
    let given = of_ports(produced, network.outputs.len(), &network.outputs)?;
    Ok((taken, given))
}

/// Whether tasks can be done as planned.
///
/// # Errors
///
/// Why not, as a sentence without a full stop.
pub(crate) fn check(region: &Region, plans: &[Plan]) -> Result<(), String> {
    for (task, plan) in region.tasks.iter().zip(plans) {
        if let Some(object) = reads_what_it_changes(region, task, plan) {
            let name = &region.objects[object.0 as usize].name;
            return Err(format!("`{name}` is read at computed places while it changes"));
        }
    }
    Ok(())
}

/// The module of a unit; see [`Unit::module`].
pub(crate) fn module(
    unit: &Unit,
    name: &str,
    lanes: &dyn Fn(usize, usize, u64) -> u64,
    direct: &BTreeSet<usize>,
) -> Module {
    let Unit { network, region, plans, binding, taken, given } = unit;
    let mut names = Names::of(&headrace_program::language::VERILOG);
    let mut m = Module::new(name);
    let mut inputs = Vec::new();
    for (at, (port, &tokens)) in network.inputs.iter().zip(taken).enumerate() {
        let (width, name, lanes) = (port.ty.width().max(1), identifier(&port.name), lanes(0, at, tokens.max(1)));
        let tokens = if tokens == 0 { lanes } else { tokens };
        inputs.push(add_input(&mut m, &mut names, &name, width, tokens, lanes));
    }
    let mut outputs = Vec::new();
    for (at, (port, &tokens)) in network.outputs.iter().zip(given).enumerate() {
        let (width, name, lanes) = (port.ty.width().max(1), identifier(&port.name), lanes(1, at, tokens.max(1)));
        let tokens = if tokens == 0 { lanes } else { tokens };
        let is_direct = direct.contains(&at) && tokens == lanes;
        outputs.push(add_output(&mut m, &mut names, &name, width, (tokens, lanes), is_direct));
    }
    m.timing = timing(unit, lanes);
    m.about = about(network, plans, taken, given, m.timing.as_ref());
    let mut control = Control::new(region, plans, Builder::new(m, names, &region.graph, binding), inputs, outputs);
    control.build();
    control.b.m
}

/// An object that is read at computed places after the task that stores to it has begun.
fn reads_what_it_changes(region: &Region, task: &Task, plan: &Plan) -> Option<ObjectId> {
    let late = |id: NodeId| match region.graph.op(id) {
        Op::Entry { object, index } => {
            let is_late = region.graph.constant(*index).is_none() && plan.time(&region.graph, id) > 0;
            (is_late && task.stores.iter().any(|store| store.0 == *object)).then_some(*object)
        }
        _ => None,
    };
    region.graph.reachable(task.roots()).into_iter().find_map(late)
}

/// When blocks come out, where one task makes them of tokens of one port and no other task uses these ports.
fn timing(unit: &Unit, lanes: &dyn Fn(usize, usize, u64) -> u64) -> Option<Timing> {
    let Unit { network, region, plans, .. } = unit;
    let (at, plan) = plans.iter().enumerate().filter(|(_, plan)| plan.last > 0).max_by_key(|(_, plan)| plan.last)?;
    let task = &region.tasks[at];
    let others: Vec<&Task> =
        region.tasks.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, task)| task).collect();
    let is_own = |tokens: fn(&Task) -> &Vec<u64>, port: usize| others.iter().all(|task| tokens(task)[port] == 0);
    // Beats of a block at each port of the task, and its bits.
    let port = |side: usize, port: usize, tokens: u64, all: &[headrace_ir::Port]| {
        let beats = (tokens / lanes(side, port, tokens)) as u32;
        (tokens * u64::from(all[port].ty.width()), identifier(&all[port].name), beats)
    };
    let used = |tokens: &Vec<u64>| -> Vec<(usize, u64)> {
        tokens.iter().copied().enumerate().filter(|(_, tokens)| *tokens > 0).collect()
    };
    let inputs = used(&task.consumes);
    let inputs = inputs.into_iter().filter(|(at, _)| is_own(|task| &task.consumes, *at));
    let (_, input, beats_in) = inputs.map(|(at, tokens)| port(0, at, tokens, &network.inputs)).max()?;
    let outputs = used(&task.produces);
    let [(output, tokens)] = outputs[..] else { return None };
    if !is_own(|task| &task.produces, output) {
        return None;
    }
    let (_, output, beats_out) = port(1, output, tokens, &network.outputs);
    Some(Timing {
        interval: if plan.is_pipelined { 1 } else { plan.last }.max(beats_in).max(beats_out),
        // A beat that was collected lies in a register first.
        latency: plan.last + 1 + u32::from(beats_in > 1),
        input: (input, beats_in),
        output: (output, beats_out),
    })
}

/// What the module is, for readers.
fn about(network: &Network, plans: &[Plan], taken: &[u64], given: &[u64], timing: Option<&Timing>) -> Vec<String> {
    let mut about = vec![format!("The network {} as one datapath.", network.name)];
    let beats = |ports: &[headrace_ir::Port], tokens: &[u64]| {
        let all = ports.iter().zip(tokens).filter(|(_, tokens)| **tokens > 1);
        all.map(|(port, tokens)| format!("{tokens} tokens of {}", port.name)).collect::<Vec<_>>().join(", ")
    };
    let (into, out) = (beats(&network.inputs, taken), beats(&network.outputs, given));
    if !into.is_empty() || !out.is_empty() {
        about.extend((!into.is_empty()).then(|| format!("Takes at once: {into}.")));
        about.extend((!out.is_empty()).then(|| format!("Gives at once: {out}.")));
    }
    if let Some(timing) = timing {
        let Timing { interval, output, input, latency } = timing;
        let of = |beats: u32| if beats > 1 { format!(" of {beats} beats") } else { String::new() };
        about.push(format!(
            "Initiation interval: {interval} clock cycles, from a block{} of {} to the next.",
            of(output.1),
            output.0
        ));
        about.push(format!(
            "Latency: {latency} clock cycles, from the last beat of a block of {} to the first of that of {}{}.",
            input.0,
            output.0,
            if timing.is_exact() { "" } else { ", where it does not wait for the block before" }
        ));
    } else if let Some(last) =
        plans.iter().filter(|plan| !plan.is_pipelined).map(|plan| plan.last).filter(|last| *last > 0).max()
    {
        about.push(format!(
            "Initiation interval of its longest task: {last} clock cycles; ports that move single tokens may take longer."
        ));
        about.push(format!(
            "Latency of that: {} clock cycles, from all tokens of a block to the first that comes out.",
            last + 1
        ));
    } else {
        about.push(
            "Every task takes one clock cycle, which are its latency and its initiation interval; a block may be several tasks."
                .to_owned(),
        );
    }
    about
}

/// A word for a state of which this is known: `KEYED` where an actor's FSM is in its state keyed.
fn state_word(known: &str) -> String {
    let first = known.split(',').next().unwrap_or_default();
    let word = first.split_once(": ").map_or("", |(_, word)| word);
    let fits = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    Some(word).filter(fits).map_or_else(|| "STATE".to_owned(), str::to_ascii_uppercase)
}

struct Control<'a> {
    region: &'a Region,
    plans: &'a [Plan],
    b: Builder<'a>,
    outputs: Vec<BeatOut>,
    /// The state, where there are several.
    state: Option<(SignalId, SignalId)>,
    /// The cycle with its next value, where a task takes several.
    cycle: Option<(SignalId, SignalId)>,
    /// Whether a task is under way, and whether it is in cycle so many, each kept as a bit where the cycle has many.
    busy: Option<(SignalId, SignalId)>,
    at_cycle: BTreeMap<u32, (SignalId, SignalId)>,
    /// Whether each stage behind the first has a block, where a task is pipelined.
    stages: Vec<(SignalId, SignalId)>,
    /// Which of the tasks that take cycles is under way, where there are several.
    current: Option<(SignalId, SignalId)>,
    object_next: FxHashMap<ObjectId, SignalId>,
    /// Whether each task begins in this cycle.
    starts: Vec<SignalId>,
}

impl<'a> Control<'a> {
    fn new(
        region: &'a Region,
        plans: &'a [Plan],
        mut b: Builder<'a>,
        inputs: Vec<BeatIn>,
        outputs: Vec<BeatOut>,
    ) -> Self {
        b.inputs = inputs;
        let state = (region.states.len() > 1).then(|| {
            let bits = index_bits(region.states.len() as u64);
            let (state, next) = b.register("state", Bits::zero(bits));
            for (number, (_, known)) in region.states.iter().enumerate() {
                let name = b.names.fresh(&format!("{}_{number}", state_word(known)));
                b.m.signals[state.index()].names.push((Bits::new(bits, number as u64), name));
                b.m.about.push(format!("State {number}: {known}."));
            }
            (state, next)
        });
        let last = plans.iter().filter(|plan| !plan.is_pipelined).map(|plan| plan.last).max().unwrap_or(0);
        // Where a bit says whether a task is under way, its last cycle may look like none.
        let has_flags = last >= 1 << FLAG_BITS;
        let cycle = (last > 0).then(|| {
            let bits = index_bits(u64::from(last) + u64::from(!has_flags));
            b.register("cycle", Bits::zero(bits))
        });
        b.cycle = cycle.map(|(cycle, _)| cycle);
        let busy = has_flags.then(|| b.register("busy", Bits::zero(1)));
        let lasts: BTreeSet<u32> = plans.iter().map(|plan| plan.last).filter(|last| has_flags && *last > 1).collect();
        let pipeline = plans.iter().position(|plan| plan.is_pipelined && plan.last > 0);
        let stages = pipeline.map_or(0, |task| plans[task].last);
        let stages =
            (0..stages).map(|stage| b.register(&format!("stage_{}_valid", stage + 1), Bits::zero(1))).collect();
        let at_cycle = lasts.into_iter().map(|last| (last, b.register(&format!("at_cycle_{last}"), Bits::zero(1))));
        let at_cycle = at_cycle.collect();
        let long = plans.iter().filter(|plan| plan.last > 0).count();
        let current = (long > 1).then(|| {
            let bits = index_bits(plans.len() as u64);
            b.register("task", Bits::zero(bits))
        });
        let starts: Vec<SignalId> = (0..region.tasks.len())
            .map(|at| {
                let name = b.names.fresh(&format!("t{at}_begins"));
                b.m.add(name, 1, SignalKind::Wire)
            })
            .collect();
        let mut object_next = FxHashMap::default();
        for id in region.used_objects() {
            if let Some(task) = region.begins.get(&id) {
                b.objects.insert(id, starts[*task]);
                continue;
            }
            let object = &region.objects[id.0 as usize];
            let initial = &region.initial[id.0 as usize];
            let mut reset = Bits::zero(object.width * object.length as u32);
            for (at, &value) in initial.iter().take(object.length).enumerate() {
                reset = reset.replaced(at as u64 * u64::from(object.width), &Bits::new(object.width, value));
            }
            let (register, next) = b.register(&identifier(&object.name), reset);
            b.objects.insert(id, register);
            object_next.insert(id, next);
        }
        Self { region, plans, b, outputs, state, cycle, busy, at_cycle, stages, current, object_next, starts }
    }

    fn get(&self, id: SignalId) -> Expr {
        self.b.m.get(id)
    }

    /// Whether a task is under way in this cycle.
    fn running(&self, task: usize) -> Expr {
        if self.plans[task].last == 0 {
            return Expr::bit(false);
        }
        let busy = self.idle().inverted();
        match self.current {
            Some((current, _)) => busy.and(self.get(current).is(task as u64)),
            None => busy,
        }
    }

    /// Whether no task that takes cycles is under way.
    fn idle(&self) -> Expr {
        if !self.stages.is_empty() {
            return self.stages.iter().fold(Expr::bit(true), |all, stage| all.and(self.get(stage.0).inverted()));
        }
        match (self.busy, self.cycle) {
            (Some((busy, _)), _) => self.get(busy).inverted(),
            (None, Some((cycle, _))) => self.get(cycle).is(0),
            (None, None) => Expr::bit(true),
        }
    }

    /// Whether the task under way is in this cycle.
    fn is_at(&self, time: u32) -> Expr {
        match (self.at_cycle.get(&time), self.cycle) {
            (Some((flag, _)), _) => self.get(*flag),
            (None, Some((cycle, _))) => self.get(cycle).is(u64::from(time)),
            (None, None) => Expr::bit(false),
        }
    }

    /// Whether a task is in its last cycle.
    fn at_end(&self, task: usize) -> Expr {
        if let Some((last, _)) = self.stages.last() {
            return self.get(*last);
        }
        let at_last = self.is_at(self.plans[task].last);
        match self.current {
            Some((current, _)) => at_last.and(self.get(current).is(task as u64)),
            None => at_last,
        }
    }

    /// Whether there is room for what a task puts out.
    fn room(&self, task: &Task) -> Expr {
        let ports = self.outputs.iter().zip(&task.produces).filter(|(_, n)| **n > 0);
        ports.fold(Expr::bit(true), |all, (port, _)| all.and(self.get(port.room)))
    }

    fn build(&mut self) {
        let long: Vec<usize> = (0..self.plans.len()).filter(|&at| self.plans[at].last > 0).collect();
        // Whether a task is done in this cycle, or waits in its last for room.
        let mut done: FxHashMap<usize, SignalId> = FxHashMap::default();
        let mut stalls: FxHashMap<usize, SignalId> = FxHashMap::default();
        for &task in &long {
            let room = self.room(&self.region.tasks[task]);
            let end = self.at_end(task);
            let is_done = end.clone().and(room.clone());
            done.insert(task, self.b.wire(&format!("t{task}_done"), is_done));
            stalls.insert(task, self.b.wire(&format!("t{task}_stalls"), end.and(room.inverted())));
        }
        let any_done = done.values().copied().collect::<BTreeSet<_>>();
        let any_done = any_done.into_iter().fold(Expr::bit(false), |all, one| all.or(self.get(one)));
        let idle = self.idle();
        // A pipeline waits as a whole for room at its end.
        let stalled = stalls.values().copied().collect::<BTreeSet<_>>();
        let stalled = stalled.into_iter().fold(Expr::bit(false), |all, one| all.or(self.get(one)));
        let free = if self.stages.is_empty() { idle.clone().or(any_done.clone()) } else { stalled.clone().inverted() };
        let lates = self.datapaths(&done, &stalls);
        let leaves = self.all_leaves();
        let under_way = self.under_way(&leaves);
        let mut fires = Vec::new();
        for leaf in &leaves {
            let may_run = &under_way[leaf.state];
            let mut condition = leaf.condition.clone();
            let task = &self.region.tasks[leaf.task];
            let is_long = self.plans[leaf.task].last > 0;
            let gives = task.produces.iter().any(|n| *n > 0);
            if is_long && !may_run.is_empty() {
                condition = condition.and(free.clone());
            } else if !is_long && gives {
                let idle = if may_run.is_empty() { Expr::bit(true) } else { idle.clone() };
                condition = condition.and(idle).and(self.room(task));
            }
            for &other in may_run {
                let begun = leaf.beside.iter().chain([&leaf.task]);
                let way = begun.map(|&task| self.way_of(task, &leaf.reads, &lates[other])).max();
                let over = match way {
                    Some(Way::Blocked) => self.running(other).inverted(),
                    // In its last cycle it reads what the registers hold before the next edge.
                    Some(Way::FreeAtEnd) if !self.plans[other].is_pipelined => {
                        self.running(other).inverted().or(self.get(done[&other]))
                    }
                    Some(Way::FreeAtEnd) => self.running(other).inverted(),
                    Some(Way::Free) | None => continue,
                };
                condition = condition.and(over);
            }
            if let Some((state, _)) = self.state {
                condition = condition.and(self.get(state).is(leaf.state as u64));
            }
            fires.push(self.b.wire(&format!("s{}_to_t{}", leaf.state, leaf.task), condition));
        }
        self.next_state(&leaves, &fires);
        for task in 0..self.region.tasks.len() {
            let own = leaves.iter().zip(&fires).filter(|(leaf, _)| leaf.task == task || leaf.beside.contains(&task));
            let any = own.fold(Expr::bit(false), |all, (_, &fire)| all.or(self.get(fire)));
            self.b.m.assign(self.starts[task], any);
        }
        for at in 0..self.region.tasks[0].consumes.len() {
            let takes = (0..self.region.tasks.len()).filter(|&task| self.region.tasks[task].consumes[at] > 0);
            let any = takes.fold(Expr::bit(false), |all, task| all.or(self.get(self.starts[task])));
            self.b.m.assign(self.b.inputs[at].taken, any);
        }
        self.next_cycle(&long, &stalls, any_done);
        let mut before = long.first().map_or(Expr::bit(false), |&task| self.get(self.starts[task]));
        for (stage, next) in self.stages.clone() {
            let moved = Expr::select(stalled.clone(), self.get(stage), before);
            self.b.m.assign(next, moved);
            before = self.get(stage);
        }
    }

    /// For each state the tasks that take cycles which may be under way in it. One that begins waits for those before it, and so does
    /// one of a cycle that puts something out.
    fn under_way(&self, leaves: &[Leaf]) -> Vec<BTreeSet<usize>> {
        let is_long = |task: usize| self.plans[task].last > 0;
        let n = self.region.states.len();
        if !self.stages.is_empty() {
            return vec![(0..self.plans.len()).filter(|&task| is_long(task)).collect(); n];
        }
        let mut found = vec![BTreeSet::new(); n];
        loop {
            let before: usize = found.iter().map(BTreeSet::len).sum();
            for leaf in leaves {
                let gives = self.region.tasks[leaf.task].produces.iter().any(|n| *n > 0);
                let more = match (is_long(leaf.task), gives) {
                    (true, _) => BTreeSet::from([leaf.task]),
                    (false, true) => BTreeSet::new(),
                    (false, false) => found[leaf.state].clone(),
                };
                found[leaf.target].extend(more);
            }
            if found.iter().map(BTreeSet::len).sum::<usize>() == before {
                return found;
            }
        }
    }

    /// The next value of the state: that behind the task that begins.
    fn next_state(&mut self, leaves: &[Leaf], fires: &[SignalId]) {
        let Some((state, next)) = self.state else { return };
        let bits = self.b.m.signal(state).width;
        let mut body = vec![Stmt::assign(next, self.get(state))];
        for (leaf, &fire) in leaves.iter().zip(fires).filter(|(leaf, _)| leaf.target != leaf.state) {
            let to = Stmt::assign(next, Expr::number(bits, leaf.target as u64));
            body.push(Stmt::If(self.get(fire), vec![to], Vec::new()));
        }
        let name = self.b.names.fresh("next_state");
        self.b.m.processes.push(Process { name, body });
    }

    fn next_cycle(&mut self, long: &[usize], stalls: &FxHashMap<usize, SignalId>, any_done: Expr) {
        let Some((cycle, next)) = self.cycle else { return };
        let bits = self.b.m.signal(cycle).width;
        let begins = long.iter().fold(Expr::bit(false), |all, &task| all.or(self.get(self.starts[task])));
        let stall = long.iter().fold(Expr::bit(false), |all, task| all.or(self.get(stalls[task])));
        if let Some((busy, next)) = self.busy {
            let stays = self.get(busy).and(any_done.clone().inverted());
            self.b.m.assign(next, begins.clone().or(stays));
        }
        for (last, (flag, next)) in self.at_cycle.clone() {
            let comes = self.get(cycle).is(u64::from(last) - 1).and(any_done.clone().inverted());
            let on = Expr::select(stall.clone(), self.get(flag), comes);
            self.b.m.assign(next, begins.clone().inverted().and(on));
        }
        let waits = self.idle().or(stall);
        let one_more = self.get(cycle).plus(Expr::number(bits, 1));
        let on = Expr::select(any_done, Expr::number(bits, 0), one_more);
        let value = Expr::select(waits, self.get(cycle), on);
        self.b.m.assign(next, Expr::select(begins, Expr::number(bits, 1), value));
        if let Some((current, next)) = self.current {
            let bits = self.b.m.signal(current).width;
            let value = long.iter().fold(self.get(current), |rest, &task| {
                Expr::select(self.get(self.starts[task]), Expr::number(bits, task as u64), rest)
            });
            self.b.m.assign(next, value);
        }
    }

    fn all_leaves(&mut self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        let region = self.region;
        for (state, (tree, _)) in region.states.iter().enumerate() {
            self.leaves_of(state, tree, Expr::bit(true), &FxHashSet::default(), &mut leaves);
        }
        leaves
    }

    fn leaves_of(
        &mut self,
        state: usize,
        tree: &'a Tree,
        condition: Expr,
        reads: &FxHashSet<ObjectId>,
        leaves: &mut Vec<Leaf>,
    ) {
        match tree {
            Tree::Branch { condition: decision, then, otherwise } => {
                let mut reads = reads.clone();
                reads.extend(self.region.objects_of([*decision]));
                let value = self.b.at_beginning(*decision);
                self.leaves_of(state, then, condition.clone().and(value.clone()), &reads, leaves);
                self.leaves_of(state, otherwise, condition.and(value.inverted()), &reads, leaves);
            }
            Tree::Wait(all) => {
                let mut none = condition;
                for (port, _, next) in all {
                    let there = self.get(self.b.inputs[*port].valid);
                    self.leaves_of(state, next, none.clone().and(there.clone()), reads, leaves);
                    none = none.and(there.inverted());
                }
            }
            Tree::Else(first, second) => {
                let from = leaves.len();
                self.leaves_of(state, first, condition.clone(), reads, leaves);
                let any = leaves[from..].iter().fold(Expr::bit(false), |any, leaf| any.or(leaf.condition.clone()));
                self.leaves_of(state, second, condition.and(any.inverted()), reads, leaves);
            }
            Tree::Go { task, target, beside } => {
                let (beside, reads) = (beside.clone(), reads.clone());
                leaves.push(Leaf { state, task: *task, beside, target: *target, condition, reads });
            }
            Tree::End => {}
        }
    }

    /// When a task can begin on this way while another one is under way.
    fn way_of(&self, task: usize, decided_by: &FxHashSet<ObjectId>, other: &Late) -> Way {
        let plan = &self.plans[task];
        let task = &self.region.tasks[task];
        let reads = self.region.objects_of(task.roots());
        let writes = || task.stores.iter().map(|store| store.0);
        if decided_by.iter().chain(&reads).any(|object| other.writes.contains(object))
            || writes().any(|object| other.writes.contains(&object))
        {
            Way::Blocked
        } else if plan.last == 0 && writes().any(|object| other.reads.contains(&object)) {
            Way::FreeAtEnd
        } else {
            Way::Free
        }
    }

    /// What tasks compute, and where it goes; gives what each of them touches after the cycle in which it begins.
    fn datapaths(&mut self, done: &FxHashMap<usize, SignalId>, stalls: &FxHashMap<usize, SignalId>) -> Vec<Late> {
        let (region, plans) = (self.region, self.plans);
        let mut lates = Vec::new();
        // For each object and each port, what goes there when.
        let mut stores: Vec<Store> = Vec::new();
        let mut given: Vec<Vec<(Expr, Vec<Expr>)>> = vec![Vec::new(); self.outputs.len()];
        for (number, task) in region.tasks.iter().enumerate() {
            let plan = &plans[number];
            let (start, running) = (self.starts[number], self.running(number));
            let stall = stalls.get(&number).map_or(Expr::bit(false), |&stall| self.get(stall));
            let at_end = done.get(&number).map_or_else(|| self.get(start), |&done| self.get(done));
            let widths: Vec<u32> = self.outputs.iter().map(|port| port.width).collect();
            let mut late = Late::default();
            let stages = self.stages.iter().filter(|_| plan.is_pipelined).map(|stage| stage.0).collect();
            let mut datapath = Datapath::new(&mut self.b, (number, task, plan), start, running, stall, stages);
            for &(object, index, value) in &task.stores {
                let time = datapath.time(value);
                if time > 0 {
                    late.writes.insert(object);
                }
                let when = if time == plan.last { at_end.clone() } else { datapath.is_cycle(time) };
                let is_last = plan.last > 0 && time == plan.last;
                stores.push(Store { object, index, when, value: datapath.at(value, time), task: number, is_last });
            }
            for (port, &n) in task.produces.iter().enumerate().filter(|(_, n)| **n > 0) {
                let mut tokens = vec![Expr::number(widths[port], 0); n as usize];
                for &(_, offset, value) in task.outputs.iter().filter(|one| one.0 == port) {
                    tokens[offset as usize] = datapath.at(value, plan.last).resized(false, widths[port]);
                }
                tokens.reverse();
                given[port].push((at_end.clone(), tokens));
            }
            late.reads = datapath.late_reads;
            lates.push(late);
        }
        self.keep_in_rounds(&mut stores, &lates);
        let current = self.current.map(|(current, _)| current);
        self.b.join(|m, task| current.map_or(Expr::bit(true), |current| m.get(current).is(task as u64)));
        self.objects(stores);
        for (port, given) in given.into_iter().enumerate() {
            let BeatOut { data, given: any, width, tokens, .. } = self.outputs[port];
            let mut value = Expr::number(width * tokens as u32, 0);
            let mut is_given = Expr::bit(false);
            for (number, (when, tokens)) in given.into_iter().enumerate() {
                let beat = Expr::concat(tokens);
                let is_same = number == 0 || beat == value;
                value = if is_same { beat } else { Expr::select(when.clone(), beat, value) };
                is_given = is_given.or(when);
            }
            self.b.m.assign(data, value);
            self.b.m.assign(any, is_given);
        }
        lates
    }

    /// Variables that lie in the registers of rounds between tasks: what they were is nothing that anybody reads while rounds are done,
    /// since these work with it from their first cycle on.
    fn keep_in_rounds(&mut self, stores: &mut Vec<Store>, lates: &[Late]) {
        for id in self.region.used_objects() {
            let (register, true) = (self.b.objects[&id], self.object_next.contains_key(&id)) else { continue };
            let object = &self.region.objects[id.0 as usize];
            let own: Vec<&Store> = stores.iter().filter(|store| store.object == id).collect();
            if own.iter().any(|store| !store.is_last || lates[store.task].reads.contains(&id)) {
                continue;
            }
            let SignalKind::Register { reset, .. } = self.b.m.signal(register).kind.clone() else { continue };
            let element = |index: usize| {
                let of = own.iter().copied().filter(|store| store.index == index);
                AtEnd {
                    tasks: of.clone().map(|store| store.task).collect(),
                    values: of.map(|store| (store.when.clone(), store.value.clone())).collect(),
                    reset: reset.slice((index * object.width as usize) as u64, object.width),
                }
            };
            let elements: Vec<AtEnd> = (0..object.length).map(element).collect();
            if elements.iter().any(|element| element.tasks.is_empty()) {
                continue;
            }
            let starts = self.starts.clone();
            let running: Vec<Expr> = (0..starts.len()).map(|task| self.running(task)).collect();
            let changes = |m: &Module, tasks: &BTreeSet<usize>| {
                let each = tasks.iter().map(|&task| m.get(starts[task]).or(running[task].clone()));
                each.reduce(Expr::or).unwrap_or_else(|| Expr::bit(false))
            };
            let Some(registers) = self.b.kept_in_rounds(elements, changes) else { continue };
            self.object_next.remove(&id);
            stores.retain(|store| store.object != id);
            let whole = Expr::concat(registers.iter().rev().map(|&register| self.get(register)).collect());
            let name = self.b.names.fresh(&identifier(&object.name));
            let signal = &mut self.b.m.signals[register.index()];
            (signal.name, signal.kind) = (name, SignalKind::Wire);
            self.b.m.assign(register, whole);
        }
    }

    fn objects(&mut self, stores: Vec<Store>) {
        for id in self.region.used_objects() {
            let (register, Some(&next)) = (self.b.objects[&id], self.object_next.get(&id)) else { continue };
            let width = self.region.objects[id.0 as usize].width;
            let mut body = vec![Stmt::assign(next, self.get(register))];
            // Elements that are stored at the same time are one statement.
            let own = stores.iter().filter(|store| store.object == id);
            let mut joined: Vec<(usize, Expr, Expr)> = Vec::new();
            for Store { index, when, value, .. } in own {
                match joined.iter_mut().find(|(known, _, other)| known == index && other == value) {
                    Some((_, all, _)) => *all = all.clone().or(when.clone()),
                    None => joined.push((*index, when.clone(), value.clone())),
                }
            }
            if self.b.shares() {
                let chooser = Chooser::of(&self.b.m);
                let indices: BTreeSet<usize> = joined.iter().map(|(index, ..)| *index).collect();
                let all = indices.into_iter().flat_map(|index| {
                    let of_index = joined.iter().filter(|(other, ..)| *other == index);
                    let values = of_index.map(|(_, when, value)| (when.clone(), value.clone())).collect();
                    chooser.joined(values).into_iter().map(move |(when, value)| (index, when, value))
                });
                joined = all.collect();
            }
            let mut whens: Vec<((usize, &Expr), Expr)> =
                joined.iter().map(|(index, when, value)| ((*index, value), when.clone())).collect();
            // All elements at once are one value.
            let n = self.b.m.signal(register).width / width;
            let mut at_once: Vec<(&Expr, Vec<Option<&Expr>>)> = Vec::new();
            for ((index, value), when) in &whens {
                let found = at_once.iter().position(|(known, _)| *known == when).unwrap_or_else(|| {
                    at_once.push((when, vec![None; n as usize]));
                    at_once.len() - 1
                });
                at_once[found].1[*index] = Some(*value);
            }
            let whole: Vec<(Expr, Expr)> = (at_once.into_iter())
                .filter(|_| n > 1)
                .filter_map(|(when, values)| {
                    let parts: Vec<Expr> =
                        values.into_iter().rev().map(|value| value.cloned()).collect::<Option<_>>()?;
                    Some((when.clone(), Expr::concat(parts)))
                })
                .collect();
            whens.retain(|(_, when)| whole.iter().all(|(known, _)| known != when));
            body.extend(
                whole.into_iter().map(|(when, value)| Stmt::If(when, vec![Stmt::assign(next, value)], Vec::new())),
            );
            let mut groups: Vec<(Expr, Vec<Stmt>)> = Vec::new();
            for ((index, value), when) in whens {
                let at = Expr::number(32, u64::from(width) * index as u64);
                let whole = self.b.m.signal(register).width;
                let part = (whole != width).then_some((at, width));
                let statement = Stmt::Assign(Target { signal: next, part }, value.clone());
                match groups.iter_mut().find(|(known, _)| *known == when) {
                    Some((_, all)) => all.push(statement),
                    None => groups.push((when, vec![statement])),
                }
            }
            body.extend(groups.into_iter().map(|(when, all)| Stmt::If(when, all, Vec::new())));
            let name = self.b.names.fresh(&format!("next_{}", identifier(&self.region.objects[id.0 as usize].name)));
            self.b.m.processes.push(Process { name, body });
        }
    }
}
