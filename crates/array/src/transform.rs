//! Transformations of task graphs: each gives a network that computes the same, and is checked by running it.
//!
//! None knows what is computed. What makes one legal is said where it is done, and asked of the graph.

use crate::isa::lower::{Kind, Lowered, Word};
use crate::tasks::{From, Task, Tasks, Wire};
use crate::values::{Id, Op, TaskId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How a task is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Pieces that do not need each other: what several need, each computes for itself.
    Apart(usize),
    /// Pieces one after the other: what an earlier one computed, a later one takes from it.
    Chain(usize),
    /// Two pieces: what is looked up in tables with what is needed for that (`/tables`), and the rest (`/rest`).
    Tables,
}

/// Removes what nobody needs: outputs that no task takes, inputs that no output needs, tasks without outputs.
pub fn settle(tasks: &mut Tasks) {
    let n = tasks.tasks.len();
    let mut demanded: Vec<BTreeSet<Id>> = vec![BTreeSet::new(); n];
    let is_known = |tasks: &Tasks, id: Id| tasks.values.constant(id).is_some() || tasks.parameters.contains(&id);
    for wire in tasks.outputs.iter().flat_map(|stream| &stream.wires) {
        if let From::Task(from) = wire.from
            && !is_known(tasks, wire.value)
        {
            demanded[from.index()].insert(wire.value);
        }
    }
    for at in (0..n).rev() {
        let mut task = std::mem::replace(
            &mut tasks.tasks[at],
            Task { name: String::new(), class: String::new(), inputs: Vec::new(), outputs: Vec::new() },
        );
        task.outputs.retain(|id| demanded[at].contains(id));
        for &id in &demanded[at] {
            if !task.outputs.contains(&id) {
                task.outputs.push(id);
            }
        }
        let given: BTreeSet<Id> = task.inputs.iter().map(|wire| wire.value).collect();
        let needs: BTreeSet<Id> = tasks
            .needs(&task.outputs, &|id| given.contains(&id) || tasks.parameters.contains(&id))
            .into_iter()
            .collect();
        task.inputs.retain(|wire| needs.contains(&wire.value));
        for wire in &task.inputs {
            if let From::Task(from) = wire.from {
                demanded[from.index()].insert(wire.value);
            }
        }
        tasks.tasks[at] = task;
    }
    let replaced = std::mem::take(&mut tasks.tasks)
        .into_iter()
        .map(|task| if task.outputs.is_empty() { Vec::new() } else { vec![task] })
        .collect();
    rebuild(tasks, replaced);
}

/// Marks a task of the same replacement in [`rebuild`], by its position there.
const WITHIN: u32 = 1 << 31;

/// Puts tasks in the places of others. Wires of the new ones name old tasks, or such of the same replacement.
fn rebuild(tasks: &mut Tasks, replaced: Vec<Vec<Task>>) {
    let mut place: Vec<u32> = Vec::new();
    let mut next = 0;
    for new in &replaced {
        place.push(next);
        next += new.len() as u32;
    }
    // Who of the new ones gives a value of an old one: the first that has it.
    let mut giver: HashMap<(usize, Id), u32> = HashMap::new();
    for (old, new) in replaced.iter().enumerate() {
        for (at, task) in new.iter().enumerate() {
            for &id in &task.outputs {
                giver.entry((old, id)).or_insert(place[old] + at as u32);
            }
        }
    }
    let renamed = |wire: &mut Wire, old: usize| {
        if let From::Task(from) = wire.from {
            wire.from = From::Task(TaskId(match from.0 & WITHIN {
                0 => giver.get(&(from.index(), wire.value)).copied().unwrap_or(u32::MAX >> 1),
                _ => place[old] + (from.0 & !WITHIN),
            }));
        }
    };
    let mut all = Vec::new();
    for (old, new) in replaced.into_iter().enumerate() {
        for mut task in new {
            task.inputs.iter_mut().for_each(|wire| renamed(wire, old));
            all.push(task);
        }
    }
    tasks.tasks = all;
    let parameters = &tasks.parameters;
    for stream in &mut tasks.outputs {
        for wire in stream.wires.iter_mut().filter(|wire| !parameters.contains(&wire.value)) {
            if tasks.values.constant(wire.value).is_none() {
                renamed(wire, 0);
            }
        }
    }
}

/// Makes what follows from some inputs alone known when the machine is loaded, such as what is made of a key.
///
/// # Errors
///
/// There is no input of a name.
pub fn fold(tasks: &mut Tasks, ports: &[String]) -> Result<(), String> {
    let mut folded = BTreeSet::new();
    for port in ports {
        let at = tasks.inputs.iter().position(|name| name == port);
        folded.insert(
            at.ok_or_else(|| format!("there is no input `{port}`; there are {}", tasks.inputs.join(", ")))? as u32
        );
    }
    // Whether a value follows from the folded ports alone; constants follow from nothing.
    let mut follows: Vec<Option<bool>> = Vec::with_capacity(tasks.values.len());
    for at in 0..tasks.values.len() as u32 {
        let node = tasks.values.node(Id(at));
        follows.push(match node.op {
            Op::Constant(_) => None,
            Op::Input(port, _) => Some(folded.contains(&port)),
            _ => node.args.iter().filter_map(|arg| follows[arg.0 as usize]).reduce(|a, b| a && b),
        });
    }
    tasks.parameters.extend((0..tasks.values.len() as u32).map(Id).filter(|id| follows[id.0 as usize] == Some(true)));
    settle(tasks);
    Ok(())
}

/// Whether a task only passes on what it takes.
pub fn only_passes(tasks: &Tasks, task: &Task) -> bool {
    tasks.body(task).is_empty()
}

/// Takes a task out that only passes on: whoever took a value from it takes it from where it came from.
///
/// # Errors
///
/// It computes something.
pub fn absorb(tasks: &mut Tasks, at: TaskId) -> Result<(), String> {
    let task = tasks.tasks[at.index()].clone();
    if !only_passes(tasks, &task) {
        return Err(format!("`{}` computes something and cannot be absorbed", task.name));
    }
    let from: BTreeMap<Id, From> = task.inputs.iter().map(|wire| (wire.value, wire.from)).collect();
    let inside = tasks.tasks.iter_mut().flat_map(|task| &mut task.inputs);
    let outside = tasks.outputs.iter_mut().flat_map(|stream| &mut stream.wires);
    for wire in inside.chain(outside).filter(|wire| wire.from == From::Task(at)) {
        if let Some(&from) = from.get(&wire.value) {
            wire.from = from;
        }
    }
    settle(tasks);
    Ok(())
}

/// Splits a task by its outputs, in their order.
///
/// # Errors
///
/// The pieces would not be equally long, or a chain would pass on what is no word.
pub fn split(tasks: &mut Tasks, at: TaskId, how: Split) -> Result<(), String> {
    let task = tasks.tasks[at.index()].clone();
    let given: BTreeMap<Id, From> = task.inputs.iter().map(|wire| (wire.value, wire.from)).collect();
    let known = |id: Id| given.contains_key(&id) || tasks.parameters.contains(&id);
    let piece = |name: String, class: String, outputs: Vec<Id>, before: &[(Id, usize)]| -> Task {
        let earlier: BTreeMap<Id, usize> = before.iter().copied().collect();
        let needs = tasks.needs(&outputs, &|id| known(id) || earlier.contains_key(&id));
        let wire = |value: Id| match earlier.get(&value) {
            Some(&piece) => Wire { value, from: From::Task(TaskId(piece as u32 | WITHIN)) },
            None => Wire { value, from: given.get(&value).copied().unwrap_or(From::Outside(u32::MAX)) },
        };
        Task { name, class, inputs: needs.into_iter().map(wire).collect(), outputs }
    };
    let mut pieces: Vec<Task> = Vec::new();
    match how {
        Split::Apart(n) | Split::Chain(n) => {
            if n == 0 || !task.outputs.len().is_multiple_of(n) {
                let problem =
                    format!("`{}` has {} outputs, which are not {n} equal parts", task.name, task.outputs.len());
                return Err(problem);
            }
            let mut owner: Vec<(Id, usize)> = Vec::new();
            let mut owned: BTreeSet<Id> = BTreeSet::new();
            for (number, outputs) in task.outputs.chunks(task.outputs.len() / n).enumerate() {
                let earlier = if matches!(how, Split::Chain(_)) { &owner[..] } else { &[] };
                let new = piece(format!("{}/{number}", task.name), task.class.clone(), outputs.to_vec(), earlier);
                if matches!(how, Split::Chain(_)) {
                    for id in tasks.cone(outputs, &|id| known(id) || owned.contains(&id)) {
                        owner.push((id, number));
                    }
                    owned.extend(owner.iter().map(|(id, _)| *id));
                }
                pieces.push(new);
            }
        }
        Split::Tables => {
            let body = tasks.body(&task);
            let tables: Vec<Id> =
                body.iter().copied().filter(|&id| matches!(tasks.values.node(id).op, Op::Table(_))).collect();
            if tables.is_empty() {
                return Err(format!("`{}` looks nothing up in a table", task.name));
            }
            let before: Vec<(Id, usize)> = tables.iter().map(|&id| (id, 0)).collect();
            pieces.push(piece(format!("{}/tables", task.name), format!("{}/tables", task.class), tables, &[]));
            pieces.push(piece(
                format!("{}/rest", task.name),
                format!("{}/rest", task.class),
                task.outputs.clone(),
                &before,
            ));
        }
    }
    // What a later piece takes, an earlier one gives.
    for at in 0..pieces.len() {
        for wire in pieces[at].inputs.clone() {
            if let From::Task(from) = wire.from
                && from.0 & WITHIN != 0
            {
                let giver = &mut pieces[(from.0 & !WITHIN) as usize];
                if !giver.outputs.contains(&wire.value) {
                    giver.outputs.push(wire.value);
                }
            }
        }
    }
    let replaced = std::mem::take(&mut tasks.tasks);
    let replaced =
        replaced.into_iter().enumerate().map(|(old, task)| if old == at.index() { pieces.clone() } else { vec![task] });
    let replaced = replaced.collect();
    rebuild(tasks, replaced);
    settle(tasks);
    Ok(())
}

/// In which order a pipeline goes through what is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// As the program does.
    Program,
    /// As outputs need it: each value as late as can be.
    Demand,
}

/// How classes of pieces of pipelines end.
pub const PIECE: &str = "/piece";

/// A task's operations in an order, and what pieces of them take.
struct Cutting<'t> {
    tasks: &'t Tasks,
    word_bits: u32,
    given: BTreeMap<Id, From>,
    body: Vec<Id>,
    place: HashMap<Id, usize>,
    /// Until where each value is needed.
    last: HashMap<Id, usize>,
    /// Words alive behind each place.
    alive: Vec<i64>,
    sums: Vec<u64>,
}

impl<'t> Cutting<'t> {
    fn of(tasks: &'t Tasks, at: TaskId, along: Along, word_bits: u32) -> Self {
        let task = &tasks.tasks[at.index()];
        let given: BTreeMap<Id, From> = task.inputs.iter().map(|wire| (wire.value, wire.from)).collect();
        let mut body = tasks.body(task);
        if along == Along::Program {
            body.sort_unstable();
        }
        let place: HashMap<Id, usize> = body.iter().enumerate().map(|(place, id)| (*id, place)).collect();
        let mut last: HashMap<Id, usize> = HashMap::new();
        for (place, id) in body.iter().enumerate() {
            for arg in &tasks.values.node(*id).args {
                last.insert(*arg, place);
            }
        }
        let n_words = |id: Id| tasks.values.n_words(id, word_bits);
        let mut change = vec![0i64; body.len() + 1];
        for (&id, &until) in &last {
            if let Some(&from) = place.get(&id)
                && until > from
            {
                change[from] += n_words(id) as i64;
                change[until] -= n_words(id) as i64;
            }
        }
        let mut alive = 0;
        let alive: Vec<i64> = change
            .iter()
            .map(|by| {
                alive += by;
                alive
            })
            .collect();
        let mut cutting = Self { tasks, word_bits, given, body, place, last, alive, sums: vec![0] };
        for at in 0..cutting.body.len() {
            cutting.sums.push(cutting.sums[at] + cutting.weight(cutting.body[at]));
        }
        cutting
    }

    fn n_words(&self, id: Id) -> usize {
        self.tasks.values.n_words(id, self.word_bits)
    }

    fn weight(&self, id: Id) -> u64 {
        let node = self.tasks.values.node(id);
        let known = |at: usize| node.args.get(at).and_then(|&arg| self.tasks.values.constant(arg));
        let n = self.n_words(id) as u64;
        // Words from outside are moved where they are first needed.
        let outside = node.args.iter().filter(|arg| self.given.contains_key(arg)).map(|&arg| self.n_words(arg) as u64);
        outside.sum::<u64>()
            + match node.op {
                Op::ShiftLeft(_) | Op::ShiftRight
                    if known(1).is_some_and(|by| by % i128::from(self.word_bits) == 0) =>
                {
                    0
                }
                Op::ShiftLeft(_) | Op::ShiftRight => 3 * n - 1,
                Op::Wrap(ty) if ty.width % self.word_bits == 0 => 0,
                Op::Wrap(_) => 1,
                Op::Select => 3 * n + 1,
                Op::Table(_) => 5 * n,
                _ => n,
            }
    }

    fn words_at(&self, cut: usize) -> u64 {
        if cut == 0 || cut >= self.body.len() { 0 } else { self.alive[cut - 1].max(0) as u64 }
    }

    /// What pieces take that begin at a place: their instructions as they are selected, a move for each word that comes and is
    /// used, and one for each that goes on. Up to those that take more than `limit` by themselves, or end at `until`.
    fn sizes(&self, from: usize, limit: u64, until: usize) -> Vec<(usize, u64)> {
        let values = &self.tasks.values;
        let mut lowered = Lowered::new(self.word_bits);
        let (mut used, mut through) = (0u64, self.words_at(from));
        let mut seen: BTreeSet<Id> = BTreeSet::new();
        let mut all = Vec::new();
        let (mut n_groups, mut n_slots) = (0, 0);
        for (to, &id) in self.body.iter().enumerate().take(until).skip(from) {
            for &arg in &values.node(id).args {
                if !lowered.known.contains_key(&(0, arg)) && values.constant(arg).is_none() {
                    let n = self.n_words(arg);
                    let words = (0..n).map(|_| Word::Of(lowered.word(Kind::Input(0)))).collect();
                    lowered.known.insert((0, arg), words);
                    if !self.tasks.parameters.contains(&arg) {
                        used += n as u64;
                    }
                }
                let is_early = self.place.get(&arg).is_some_and(|&place| place < from);
                if is_early && self.last.get(&arg) == Some(&to) && seen.insert(arg) {
                    through = through.saturating_sub(self.n_words(arg) as u64);
                }
            }
            if lowered.value(values, 0, id).is_err() {
                break;
            }
            n_slots += lowered.groups[n_groups..].iter().map(|group| group.slots.len()).sum::<usize>();
            n_groups = lowered.groups.len();
            let own = n_slots as u64 + used;
            all.push((to + 1, own + through.max(self.words_at(to + 1))));
            if own > limit {
                break;
            }
        }
        all
    }

    fn size(&self, from: usize, to: usize) -> u64 {
        let all = self.sizes(from, u64::MAX, to);
        all.iter().find(|(place, _)| *place == to).map_or(self.sums[to] - self.sums[from], |(_, size)| *size)
    }

    /// Cuts between pieces that take no more than a limit, the beginning and the end among them; none where there would be
    /// more than `most` pieces.
    fn fill(&self, limit: u64, most: usize) -> Option<Vec<usize>> {
        let mut cuts = vec![0];
        while cuts[cuts.len() - 1] < self.body.len() {
            if cuts.len() > most {
                return None;
            }
            let from = cuts[cuts.len() - 1];
            let all = self.sizes(from, limit, self.body.len());
            let fitting: Vec<usize> = all.iter().filter(|(_, size)| *size <= limit).map(|(to, _)| *to).collect();
            let to = fitting.last().copied().unwrap_or(from + 1);
            // Rather where fewer words are alive: what a later cut computes more must pay for its words.
            let gain = |cut: usize| (self.sums[cut] - self.sums[from]) as i64 - 2 * self.words_at(cut) as i64;
            let least = from + 1 + (to - from - 1) / 2;
            let good = fitting.iter().copied().filter(|cut| *cut >= least);
            let best = if to == self.body.len() { to } else { good.max_by_key(|&cut| (gain(cut), cut)).unwrap_or(to) };
            cuts.push(best);
        }
        Some(cuts)
    }
}

/// Pieces of a pipeline of a task that take no more than so many instructions each; none where there would be more than `most`
/// of them.
pub fn pieces_for(tasks: &Tasks, at: TaskId, limit: u64, most: usize, along: Along, word_bits: u32) -> Option<usize> {
    Cutting::of(tasks, at, along, word_bits).fill(limit, most).map(|cuts| cuts.len() - 1)
}

/// Splits a task into pieces one after the other that take about equally long, each of which takes all that it and later
/// ones need from the one before. Cuts are where the fewest words are alive, near where they would be equal.
///
/// # Errors
///
/// There are fewer operations than pieces, some of them have no instructions, or a value that would have to be passed on is
/// wider than 64 bits.
pub fn pipeline(tasks: &mut Tasks, at: TaskId, n: usize, along: Along, word_bits: u32) -> Result<(), String> {
    let task = tasks.tasks[at.index()].clone();
    let cutting = Cutting::of(tasks, at, along, word_bits);
    let n_operations = cutting.body.len();
    if n_operations < n || n == 0 {
        return Err(format!("`{}` has {n_operations} operations, too few for {n} pieces", task.name));
    }
    // The least limit with which there are no more pieces than wanted.
    let most_alive = cutting.alive.iter().copied().max().unwrap_or(0) as u64;
    let (mut low, mut high) = (1, 2 * cutting.sums[n_operations] + most_alive * 2 + 1);
    let mut best = None;
    while low < high {
        let middle = (low + high) / 2;
        match cutting.fill(middle, n) {
            Some(cuts) => (high, best) = (middle, Some(cuts)),
            None => low = middle + 1,
        }
    }
    let Some(mut cuts) = best.or_else(|| cutting.fill(high, n)) else {
        return Err(format!(
            "`{}` does not fall into {n} pieces: some of its operations have no instructions",
            task.name
        ));
    };
    // Pieces that are left over take the largest ones apart.
    let mut taken: Vec<u64> = cuts.windows(2).map(|two| cutting.size(two[0], two[1])).collect();
    while cuts.len() - 1 < n {
        let can = |at: &usize| cuts[at + 1] - cuts[*at] > 1;
        let Some(largest) = (0..taken.len()).filter(can).max_by_key(|&at| taken[at]) else { break };
        let (from, to) = (cuts[largest], cuts[largest + 1]);
        // What a piece takes grows with its end and falls with its beginning: the middle is found by halving.
        let (mut low, mut high) = (from + 1, to - 1);
        while low < high {
            let middle = (low + high) / 2;
            match cutting.size(from, middle) < cutting.size(middle, to) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let half = low;
        cuts.insert(largest + 1, half);
        taken[largest] = cutting.size(from, half);
        taken.insert(largest + 1, cutting.size(half, to));
    }
    let Cutting { given, body, place, last, .. } = cutting;
    let n = cuts.len() - 1;
    let piece_of = |place: usize| cuts.partition_point(|cut| *cut <= place) - 1;
    // The last piece that needs each value.
    let mut wanted: BTreeMap<Id, usize> = BTreeMap::new();
    for (&id, &until) in &last {
        wanted.insert(id, piece_of(until));
    }
    let outputs: BTreeSet<Id> = task.outputs.iter().copied().collect();
    let mut pieces = Vec::new();
    let mut given_before: Vec<Id> = Vec::new();
    for number in 0..n {
        let own = &body[cuts[number]..cuts[number + 1]];
        let mut inputs: Vec<Wire> = Vec::new();
        let mut given_here: Vec<Id> = Vec::new();
        // What comes from before: computed in an earlier piece, needed here or later.
        if number > 0 {
            let before = WITHIN | (number as u32 - 1);
            // In the order in which they come: what goes through need not be kept.
            for &id in &given_before {
                let until = wanted.get(&id).copied().unwrap_or(0);
                if until >= number {
                    inputs.push(Wire { value: id, from: From::Task(TaskId(before)) });
                    if until > number {
                        given_here.push(id);
                    }
                }
            }
        }
        // What comes from outside of the pipeline, to where it is needed.
        let mut seen = BTreeSet::new();
        for arg in own.iter().flat_map(|id| &tasks.values.node(*id).args) {
            if let Some(&from) = given.get(arg)
                && seen.insert(*arg)
            {
                inputs.push(Wire { value: *arg, from });
            }
        }
        let computed = own.iter().copied();
        given_here
            .extend(computed.filter(|id| outputs.contains(id) || wanted.get(id).is_some_and(|&until| until > number)));
        if number + 1 == n {
            given_here.extend(outputs.iter().copied().filter(|id| !place.contains_key(id)));
        }
        if let Some(&wide) = given_here.iter().find(|&&id| tasks.values.width(id).0 > 64) {
            return Err(format!("a value of {} bits would have to be passed on", tasks.values.width(wide).0));
        }
        for id in &given_here {
            if let Some(&from) = given.get(id)
                && !inputs.iter().any(|wire| wire.value == *id)
            {
                inputs.push(Wire { value: *id, from });
            }
        }
        given_before.clone_from(&given_here);
        pieces.push(Task {
            name: format!("{}/{number}", task.name),
            class: format!("{}{PIECE}", task.class),
            inputs,
            outputs: given_here,
        });
    }
    // An output is given by the piece that computes it, and by nobody behind.
    let replaced = std::mem::take(&mut tasks.tasks);
    let replaced: Vec<Vec<Task>> = replaced
        .into_iter()
        .enumerate()
        .map(|(old, task)| if old == at.index() { pieces.clone() } else { vec![task] })
        .collect();
    rebuild(tasks, replaced);
    settle(tasks);
    Ok(())
}

/// Makes one task of all.
///
/// # Errors
///
/// Nothing is left to be computed.
pub fn gather(tasks: &mut Tasks, name: &str) -> Result<(), String> {
    let all: Vec<TaskId> = (0..tasks.tasks.len() as u32).map(TaskId).collect();
    let at = fuse(tasks, &all)?;
    let task = &mut tasks.tasks[at.index()];
    (task.name, task.class) = (name.to_owned(), name.to_owned());
    Ok(())
}

/// Exchanges a task with the one behind it that only passes its outputs on: that passes on what the first takes, instead.
/// Legal where each output of the first needs one input of its own.
///
/// # Errors
///
/// It is not so.
pub fn commute(tasks: &mut Tasks, first: TaskId, passing: TaskId) -> Result<(), String> {
    let (a, b) = (tasks.tasks[first.index()].clone(), tasks.tasks[passing.index()].clone());
    if !only_passes(tasks, &b) {
        return Err(format!("`{}` computes something; only what passes on can be put before another task", b.name));
    }
    if b.inputs.iter().any(|wire| wire.from != From::Task(first)) {
        return Err(format!("`{}` does not take all that it passes on from `{}`", b.name, a.name));
    }
    let taken_by_others = tasks.tasks.iter().enumerate().filter(|(at, _)| *at != passing.index());
    let mut taken_by_others = taken_by_others.flat_map(|(_, task)| &task.inputs);
    if taken_by_others.any(|wire| wire.from == From::Task(first)) {
        return Err(format!("others than `{}` take from `{}`, too", b.name, a.name));
    }
    let given: BTreeMap<Id, From> = a.inputs.iter().map(|wire| (wire.value, wire.from)).collect();
    let known = |id: Id| given.contains_key(&id) || tasks.parameters.contains(&id);
    let mut passed = Vec::new();
    for &id in &b.outputs {
        match tasks.needs(&[id], &known)[..] {
            [one] if !passed.contains(&one) => passed.push(one),
            _ => return Err(format!("an output of `{}` needs more than one input, or one that another needs", a.name)),
        }
    }
    let inputs = passed.iter().map(|&value| Wire { value, from: given[&value] }).collect();
    let before = Task { name: b.name, class: b.class, inputs, outputs: passed.clone() };
    let after_inputs = passed.iter().map(|&value| Wire { value, from: From::Task(first) }).collect();
    let after = Task { name: a.name, class: a.class, inputs: after_inputs, outputs: b.outputs };
    // What passes on stands where the first stood, and what was taken from it is taken from the place behind as before.
    tasks.tasks[first.index()] = before;
    tasks.tasks[passing.index()] = after;
    Ok(())
}

/// Makes one task of several, which are done one after the other on the same processor.
///
/// # Errors
///
/// Another task would stand between them: one that needs the first and that the last needs.
pub fn fuse(tasks: &mut Tasks, which: &[TaskId]) -> Result<TaskId, String> {
    let all: BTreeSet<TaskId> = which.iter().copied().collect();
    let (Some(&first), Some(&last)) = (all.first(), all.last()) else { return Err("nothing is fused".into()) };
    if all.len() != which.len() {
        return Err("a task is fused with itself".into());
    }
    // Who depends on one of them, of those in between.
    let mut behind: BTreeSet<usize> = BTreeSet::new();
    for at in first.index()..=last.index() {
        let id = TaskId(at as u32);
        let after = |wire: &Wire| match wire.from {
            From::Task(from) => all.contains(&from) || behind.contains(&from.index()),
            From::Outside(_) => false,
        };
        let through = |wire: &Wire| matches!(wire.from, From::Task(from) if behind.contains(&from.index()));
        if all.contains(&id) {
            if tasks.tasks[at].inputs.iter().any(through) {
                return Err(format!(
                    "`{}` needs a task that needs `{}`",
                    tasks.tasks[at].name,
                    tasks.tasks[first.index()].name
                ));
            }
        } else if tasks.tasks[at].inputs.iter().any(after) {
            behind.insert(at);
        }
    }
    let mut fused = Task {
        name: which.iter().map(|id| tasks.tasks[id.index()].name.as_str()).collect::<Vec<_>>().join(" + "),
        class: which.iter().map(|id| tasks.tasks[id.index()].class.as_str()).collect::<Vec<_>>().join(" + "),
        inputs: Vec::new(),
        outputs: Vec::new(),
    };
    for id in &all {
        for wire in &tasks.tasks[id.index()].inputs {
            let inside = matches!(wire.from, From::Task(from) if all.contains(&from));
            if !inside && !fused.inputs.contains(wire) {
                fused.inputs.push(*wire);
            }
        }
    }
    // Outputs in the order of the last that has them: what it passes on, it passes on in its order.
    for id in all.iter().rev() {
        for output in &tasks.tasks[id.index()].outputs {
            if !fused.outputs.contains(output) {
                fused.outputs.push(*output);
            }
        }
    }
    // Those that depend on one of them go behind the new one, in their order; the new one stands where the first stood, with
    // what it needs from in between before it.
    let old = std::mem::take(&mut tasks.tasks);
    let mut order: Vec<usize> = (0..first.index()).collect();
    let between = |at: &usize| !all.contains(&TaskId(*at as u32));
    order.extend((first.index()..=last.index()).filter(between).filter(|at| !behind.contains(at)));
    let new_place = order.len();
    order.push(usize::MAX);
    order.extend((first.index()..=last.index()).filter(between).filter(|at| behind.contains(at)));
    order.extend(last.index() + 1..old.len());
    let mut renamed: HashMap<usize, u32> = order.iter().enumerate().map(|(new, &old)| (old, new as u32)).collect();
    for id in &all {
        renamed.insert(id.index(), new_place as u32);
    }
    tasks.tasks = order.iter().map(|&at| if at == usize::MAX { fused.clone() } else { old[at].clone() }).collect();
    let inside = tasks.tasks.iter_mut().flat_map(|task| &mut task.inputs);
    let outside = tasks.outputs.iter_mut().flat_map(|stream| &mut stream.wires);
    for wire in inside.chain(outside) {
        if let From::Task(from) = wire.from {
            wire.from = From::Task(TaskId(renamed.get(&from.index()).copied().unwrap_or(u32::MAX >> 1)));
        }
    }
    settle(tasks);
    tasks.find(&fused.name).ok_or_else(|| format!("nobody needs `{}`", fused.name))
}

/// Tasks are told apart by their names.
fn is_new(tasks: &Tasks, name: &str) -> Result<(), String> {
    match tasks.find(name) {
        Some(_) => Err(format!("there is a task `{name}` already")),
        None => Ok(()),
    }
}

/// Puts a task that only passes on between senders and one that takes from them.
///
/// # Errors
///
/// Nothing goes from one to the other, or there is a task of that name.
pub fn pass(tasks: &mut Tasks, from: &[From], to: TaskId, name: &str, class: &str) -> Result<(), String> {
    let wires: Vec<Wire> =
        tasks.tasks[to.index()].inputs.iter().copied().filter(|wire| from.contains(&wire.from)).collect();
    if wires.is_empty() {
        return Err(format!("nothing goes to `{}` from there", tasks.tasks[to.index()].name));
    }
    is_new(tasks, name)?;
    let outputs = wires.iter().map(|wire| wire.value).collect();
    let passing = Task { name: name.to_owned(), class: class.to_owned(), inputs: wires, outputs };
    let old = std::mem::take(&mut tasks.tasks);
    let replaced = old.into_iter().enumerate().map(|(at, mut task)| {
        if at != to.index() {
            return vec![task];
        }
        for wire in
            task.inputs.iter_mut().filter(|wire| passing.outputs.contains(&wire.value) && from.contains(&wire.from))
        {
            wire.from = From::Task(TaskId(WITHIN));
        }
        vec![passing.clone(), task]
    });
    let replaced = replaced.collect();
    rebuild_passing(tasks, replaced, to);
    Ok(())
}

/// Puts a task that only passes on behind another: whoever took from that takes from the new one.
///
/// # Errors
///
/// Nobody takes anything, or there is a task of that name.
pub fn behind(tasks: &mut Tasks, at: TaskId, name: &str) -> Result<(), String> {
    let outputs = tasks.tasks[at.index()].outputs.clone();
    if outputs.is_empty() {
        return Err(format!("nobody takes anything from `{}`", tasks.tasks[at.index()].name));
    }
    is_new(tasks, name)?;
    let shifted = |from: From| match from {
        From::Task(id) if id >= at => From::Task(TaskId(id.0 + 1)),
        other => other,
    };
    let inside = tasks.tasks.iter_mut().flat_map(|task| &mut task.inputs);
    let outside = tasks.outputs.iter_mut().flat_map(|stream| &mut stream.wires);
    inside.chain(outside).for_each(|wire| wire.from = shifted(wire.from));
    let inputs = outputs.iter().map(|&value| Wire { value, from: From::Task(at) }).collect();
    let passing = Task { name: name.to_owned(), class: "pass".into(), inputs, outputs };
    tasks.tasks.insert(at.index() + 1, passing);
    Ok(())
}

/// As [`rebuild`], where one of the new tasks only passes to the other of its pair: others take from that.
fn rebuild_passing(tasks: &mut Tasks, replaced: Vec<Vec<Task>>, to: TaskId) {
    let shift = |from: &mut From| {
        if let From::Task(id) = from {
            *id = match id.0 {
                marked if marked & WITHIN != 0 => TaskId(to.0),
                old if old >= to.0 => TaskId(old + 1),
                old => TaskId(old),
            };
        }
    };
    tasks.tasks = replaced.into_iter().flatten().collect();
    let inside = tasks.tasks.iter_mut().flat_map(|task| &mut task.inputs);
    let outside = tasks.outputs.iter_mut().flat_map(|stream| &mut stream.wires);
    inside.chain(outside).for_each(|wire| shift(&mut wire.from));
}
