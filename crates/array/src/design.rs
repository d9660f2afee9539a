//! Designs: a network that has been changed as a mapping says, with each task on a processor. Whatever is illegal about a
//! mapping is found here.

use crate::machine::Machine;
use crate::mapping::{Mapping, Problem, What};
use crate::tasks::{From, Tasks};
use crate::transform::{self, Along, Split};
use crate::values::TaskId;
use headrace_platform::Wrong;
use std::collections::{BTreeMap, BTreeSet};

/// A processor with what it does.
#[derive(Clone, Debug)]
pub struct Core {
    /// What it is called.
    pub name: String,
    /// Its tasks, in the order in which it does them for each message.
    pub tasks: Vec<TaskId>,
    /// For each of them a number: those of one number are done for a message before the next message in flight.
    pub groups: Vec<usize>,
    /// Column and row, where the mapping says so.
    pub place: Option<[u32; 2]>,
    /// Whether it only joins streams, where a processor has fewer ports than it takes streams.
    pub merges: bool,
    /// Its frequency as a part of the nominal one, above 0 and at most 1.
    pub clock: f64,
}

impl Core {
    /// What it does in a period, with the message in flight that it is done for.
    pub fn turns(&self, in_flight: usize) -> Vec<(TaskId, u32)> {
        let mut all = Vec::new();
        let both: Vec<(usize, TaskId)> = self.groups.iter().copied().zip(self.tasks.iter().copied()).collect();
        for group in both.chunk_by(|a, b| a.0 == b.0) {
            for message in 0..in_flight as u32 {
                all.extend(group.iter().map(|(_, task)| (*task, message)));
            }
        }
        all
    }
}

/// A network on processors.
#[derive(Clone, Debug)]
pub struct Design {
    /// The network, changed.
    pub tasks: Tasks,
    /// Processors.
    pub cores: Vec<Core>,
    /// Messages that are in a loop together.
    pub in_flight: usize,
    /// Rows of outputs that are written one after the other.
    pub interleave: Option<usize>,
    /// Which of several costs of a class is meant.
    pub style: BTreeMap<String, String>,
}

/// Ticks of a nominal cycle where processors have clocks of their own; parts of it by small numbers are whole.
const TICKS: u64 = 840;

/// Makes a design of a network (its tasks along one message) as a mapping says.
///
/// # Errors
///
/// What is illegal about the mapping, with its place.
pub fn design(network: &Tasks, mapping: &Mapping, machine: &Machine) -> Result<Design, Wrong> {
    let file = &mapping.file;
    let mut tasks = network.clone();
    let fold: Vec<String> = mapping.written.fold.iter().map(|port| port.get_ref().clone()).collect();
    for (port, name) in mapping.written.fold.iter().zip(&fold) {
        if !tasks.inputs.contains(name) {
            let problem = format!("the network has no input `{name}`; it has {}", tasks.inputs.join(", "));
            return Err(file.wrong_at(port, problem));
        }
    }
    transform::fold(&mut tasks, &fold).map_err(|why| Wrong::new(&file.path, why))?;
    for step in &mapping.steps {
        let wrong = |why: String| file.wrong_at(&step.at, why);
        let named = |tasks: &Tasks, name: &str| tasks.find(name).ok_or_else(|| wrong(unknown(tasks, name)));
        if step.what == What::Gather {
            transform::gather(&mut tasks, &step.task).map_err(wrong)?;
            continue;
        }
        let at = named(&tasks, &step.task)?;
        let bits = *machine.core.word_bits;
        match step.what {
            What::Gather => Ok(()),
            What::Pipeline => transform::pipeline(&mut tasks, at, step.into, Along::Program, bits),
            What::PipelineByDemand => transform::pipeline(&mut tasks, at, step.into, Along::Demand, bits),
            What::Split => transform::split(&mut tasks, at, Split::Apart(step.into)),
            What::Chain => transform::split(&mut tasks, at, Split::Chain(step.into)),
            What::Tables => transform::split(&mut tasks, at, Split::Tables),
            What::Absorb => transform::absorb(&mut tasks, at),
            What::Before => {
                let from: Vec<From> = tasks.tasks[at.index()].inputs.iter().map(|wire| wire.from).collect();
                transform::pass(&mut tasks, &from, at, &step.name, "pass")
            }
            What::Behind => transform::behind(&mut tasks, at, &step.name),
            What::Commute => {
                let passing = named(&tasks, &step.to)?;
                transform::commute(&mut tasks, at, passing)
            }
            What::Pass => {
                let to = named(&tasks, &step.to)?;
                transform::pass(&mut tasks, &[From::Task(at)], to, &step.name, "pass")
            }
        }
        .map_err(wrong)?;
    }
    // Fused tasks, with the processor and the position that each task has.
    let mut placed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (at, core) in mapping.cores.iter().enumerate() {
        for (position, (names, mention)) in core.tasks.iter().enumerate() {
            let ids: Vec<TaskId> = names
                .iter()
                .map(|name| tasks.find(name).ok_or_else(|| file.wrong_at(mention, unknown(&tasks, name))))
                .collect::<Result<_, Wrong>>()?;
            let name = if ids.len() > 1 {
                let id = transform::fuse(&mut tasks, &ids).map_err(|why| file.wrong_at(mention, why))?;
                tasks.tasks[id.index()].name.clone()
            } else {
                names[0].clone()
            };
            if let Some((other, _)) = placed.insert(name.clone(), (at, position)) {
                let problem = format!("`{name}` is on `{}` already", mapping.cores[other].name);
                return Err(file.wrong_at(mention, problem));
            }
        }
    }
    // What only passes on and has no place is taken out.
    while let Some(at) =
        tasks.tasks.iter().position(|task| !placed.contains_key(&task.name) && transform::only_passes(&tasks, task))
    {
        transform::absorb(&mut tasks, TaskId(at as u32)).map_err(|why| Wrong::new(&file.path, why))?;
    }
    let homeless: Vec<&str> =
        tasks.tasks.iter().map(|task| task.name.as_str()).filter(|name| !placed.contains_key(*name)).collect();
    if !homeless.is_empty() {
        let shown = homeless.iter().take(6).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let more = if homeless.len() > 6 { format!(" and {} more", homeless.len() - 6) } else { String::new() };
        return Err(Wrong::new(&file.path, format!("no processor does {shown}{more}; name each in a `[[core]]`")));
    }
    let mut cores: Vec<Core> = Vec::new();
    for (at, core) in mapping.cores.iter().enumerate() {
        let mut own: Vec<(usize, TaskId)> = Vec::new();
        for (id, task) in tasks.tasks.iter().enumerate() {
            if let Some(&(on, position)) = placed.get(&task.name)
                && on == at
            {
                own.push((position, TaskId(id as u32)));
            }
        }
        own.sort_unstable();
        let groups = own.iter().map(|(position, _)| core.groups[*position]).collect();
        if own.is_empty() {
            return Err(file.wrong_at(&core.at, format!("`{}` has no task that anything needs", core.name)));
        }
        let own = own.into_iter().map(|(_, id)| id).collect();
        cores.push(Core {
            name: core.name.clone(),
            tasks: own,
            groups,
            place: core.place,
            merges: false,
            clock: core.clock,
        });
    }
    let mut design = Design {
        tasks,
        cores,
        in_flight: mapping.written.in_flight,
        interleave: mapping.written.interleave,
        style: mapping.written.style.clone(),
    };
    design.join(*machine.core.input_ports as usize).map_err(|why| mapping.wrong_of(&why.into()))?;
    design.fits(machine).map_err(|why| mapping.wrong_of(&why))?;
    Ok(design)
}

/// That there is no such task, with those whose names are alike.
fn unknown(tasks: &Tasks, name: &str) -> String {
    let stem = name.split(['#', '.']).next().unwrap_or(name);
    let alike: Vec<&str> =
        tasks.tasks.iter().map(|task| task.name.as_str()).filter(|other| other.starts_with(stem)).take(4).collect();
    let stems: BTreeSet<&str> =
        tasks.tasks.iter().map(|task| task.name.split('#').next().unwrap_or_default()).collect();
    match alike.is_empty() {
        false => format!("there is no task `{name}`; there are {} and others", alike.join(", ")),
        true => format!(
            "there is no task `{name}`; there are {}",
            stems.into_iter().take(12).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Where a processor's words come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// An input port of the network.
    Outside(u32),
    /// Another processor.
    Core(usize),
}

impl Design {
    /// The processor of each task.
    pub fn homes(&self) -> Vec<usize> {
        let mut homes = vec![usize::MAX; self.tasks.tasks.len()];
        for (at, core) in self.cores.iter().enumerate() {
            for task in &core.tasks {
                homes[task.index()] = at;
            }
        }
        homes
    }

    /// Ticks of a cycle at the nominal frequency: 1 where no processor has a clock of its own.
    pub fn ticks(&self) -> u64 {
        if self.cores.iter().all(|core| core.clock == 1.0) { 1 } else { TICKS }
    }

    /// Ticks of a cycle of each processor.
    pub fn periods(&self) -> Vec<u64> {
        let ticks = self.ticks();
        self.cores.iter().map(|core| ((ticks as f64 / core.clock).round() as u64).max(1)).collect()
    }

    /// From where a processor takes words, in the order in which it first does, and how many values in a message.
    pub fn sources(&self, core: usize, homes: &[usize]) -> Vec<(Source, usize)> {
        let mut sources: Vec<(Source, usize)> = Vec::new();
        let mut seen = BTreeSet::new();
        for task in &self.cores[core].tasks {
            for wire in &self.tasks.tasks[task.index()].inputs {
                let source = match wire.from {
                    From::Outside(port) => Source::Outside(port),
                    From::Task(from) => Source::Core(homes[from.index()]),
                };
                if source == Source::Core(core) || !seen.insert((source, wire.value)) {
                    continue;
                }
                match sources.iter_mut().find(|(known, _)| *known == source) {
                    Some((_, n)) => *n += 1,
                    None => sources.push((source, 1)),
                }
            }
        }
        sources
    }

    /// Puts processors that join streams in front of those that take more streams than they have ports: always those two
    /// that have the fewest words.
    ///
    /// # Errors
    ///
    /// A task is on no processor.
    pub fn join(&mut self, ports: usize) -> Result<(), String> {
        for core in 0..self.cores.len() {
            let mut n_merges = 0;
            loop {
                let homes = self.homes();
                let mut sources = self.sources(core, &homes);
                if sources.len() <= ports {
                    break;
                }
                sources.sort_by_key(|(_, n)| *n);
                let joined = [sources[0].0, sources[1].0];
                let name = format!("{}.merge{n_merges}", self.cores[core].name);
                n_merges += 1;
                // The tasks by name: positions change as tasks are put in.
                let names: Vec<Vec<String>> = self.cores.iter().map(|core| self.names(&core.tasks)).collect();
                let mut merging = Vec::new();
                let mut groups = Vec::new();
                for (task, group) in names[core].clone().into_iter().zip(self.cores[core].groups.clone()) {
                    let id = self.tasks.find(&task).ok_or("a task is gone")?;
                    let homes = self.homes_by_name(&names);
                    let from: Vec<From> = self.tasks.tasks[id.index()]
                        .inputs
                        .iter()
                        .map(|wire| wire.from)
                        .filter(|from| match from {
                            From::Outside(port) => joined.contains(&Source::Outside(*port)),
                            From::Task(from) => joined.contains(&Source::Core(homes[from.index()])),
                        })
                        .collect();
                    if from.is_empty() {
                        continue;
                    }
                    let merge = format!("{name}({task})");
                    transform::pass(&mut self.tasks, &from, id, &merge, "merge")?;
                    merging.push(merge);
                    groups.push(group);
                }
                self.cores.push(Core { name, tasks: Vec::new(), groups, place: None, merges: true, clock: 1.0 });
                let mut names = names;
                names.push(merging);
                for (core, names) in self.cores.iter_mut().zip(&names) {
                    let ids = names.iter().map(|name| self.tasks.find(name).ok_or("a task is gone"));
                    core.tasks = ids.collect::<Result<_, &str>>()?;
                }
            }
        }
        Ok(())
    }

    fn names(&self, tasks: &[TaskId]) -> Vec<String> {
        tasks.iter().map(|task| self.tasks.tasks[task.index()].name.clone()).collect()
    }

    fn homes_by_name(&self, names: &[Vec<String>]) -> Vec<usize> {
        let mut home: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, names) in names.iter().enumerate() {
            home.extend(names.iter().map(|name| (name.as_str(), at)));
        }
        self.tasks.tasks.iter().map(|task| home.get(task.name.as_str()).copied().unwrap_or(usize::MAX)).collect()
    }

    fn fits(&self, machine: &Machine) -> Result<(), Problem> {
        let (has, grid) = (self.cores.len(), &machine.grid);
        if has > *grid.cores as usize {
            let problem = format!("the mapping takes {has} processors, and `{}` has {}", machine.name, *grid.cores);
            return Err(problem.into());
        }
        for core in &self.cores {
            if let Some([x, y]) = core.place
                && (x >= *grid.columns || y >= *grid.rows)
            {
                let (columns, rows) = (*grid.columns, *grid.rows);
                let text = format!(
                    "`{}` is at column {x}, row {y}; the grid has {columns} columns and {rows} rows",
                    core.name
                );
                return Err(Problem { text, core: Some(core.name.clone()) });
            }
        }
        Ok(())
    }
}
