//! Mapping search: all mappings of a family, for any network.
//!
//! Tasks of one class that follow each other (the rounds of a cipher, say) are what can be unrolled. The family is: how many
//! of them share a processor; into how many pieces each class is split, and whether the pieces work side by side or one behind
//! the other, passing words through; whether a class that follows another is fused with it; whether what only passes on is
//! absorbed or stays with its source; how many messages are in a loop together. The family of a network with few
//! classes has some hundred members, each of which is simulated in milliseconds: it is gone through as a whole, so what is best of it is
//! known and not guessed. With generated programs there are pipelines beside it, of the network as a whole and of each of its
//! tasks, for more and more processors. What comes out are mapping files.

use crate::tasks::{From, Tasks};
use crate::transform::{Along, only_passes, pieces_for};
use crate::values::{Id, TaskId};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Pieces that classes are split into.
const PIECES: [usize; 4] = [1, 2, 4, 8];
/// Classes beyond which there is no family.
const MOST_CLASSES: usize = 6;
/// Most messages in a loop together.
pub const MOST_IN_FLIGHT: usize = 4;

/// A member of the family.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Changes and processors, as they stand in a mapping file.
    pub text: String,
    /// What it is, in a few words.
    pub about: String,
    /// Whether several tasks share a processor, so that more messages in flight may help.
    pub loops: bool,
    /// Processors, before streams are joined.
    pub n_cores: usize,
}

/// A class of tasks.
struct Class {
    name: String,
    tasks: Vec<usize>,
    /// Pieces that it can be split into.
    pieces: Vec<usize>,
}

/// Members of the family for a network whose known inputs have been folded, each once.
pub fn candidates(tasks: &Tasks) -> Vec<Candidate> {
    let classes = classes(tasks);
    // With many classes the family is too large, and networks of many small actors are no chain of rounds.
    if classes.len() > MOST_CLASSES {
        return Vec::new();
    }
    let passing: Vec<usize> = (0..tasks.tasks.len()).filter(|&at| only_passes(tasks, &tasks.tasks[at])).collect();
    // A class whose tasks each follow one of another class, and nothing else.
    let follows: Vec<(usize, usize)> = (0..classes.len())
        .flat_map(|after| (0..classes.len()).map(move |before| (before, after)))
        .filter(|&(before, after)| before != after && is_followed(tasks, &classes[before], &classes[after]))
        .collect();
    let longest = classes.iter().map(|class| class.tasks.len()).max().unwrap_or(1);
    let shorter = classes.iter().map(|class| class.tasks.len()).filter(|n| *n > 1).min().unwrap_or(1);
    let mut shared: BTreeSet<usize> = [1, longest].into();
    shared.extend((2..=shorter).filter(|n| shorter.is_multiple_of(*n)));
    let mut all = Vec::new();
    let mut seen = BTreeSet::new();
    for &share in &shared {
        for fused in std::iter::once(None).chain(follows.iter().map(Some)) {
            for with_source in [false, true] {
                if with_source && passing.is_empty() {
                    continue;
                }
                let mut choices: Vec<Vec<usize>> = vec![Vec::new()];
                for (at, class) in classes.iter().enumerate() {
                    let pieces = match fused {
                        // Who follows is split as the one that it follows.
                        Some(&(_, after)) if at == after => vec![0],
                        _ => class.pieces.clone(),
                    };
                    choices = choices
                        .iter()
                        .flat_map(|choice| pieces.iter().map(move |&n| [choice.as_slice(), &[n]].concat()))
                        .collect();
                    choices.truncate(4096);
                }
                for mut pieces in choices {
                    if let Some(&(before, after)) = fused {
                        if !classes[after].pieces.contains(&pieces[before]) {
                            continue;
                        }
                        pieces[after] = pieces[before];
                    }
                    let most = pieces.iter().copied().max().unwrap_or(1);
                    for depth in PIECES.into_iter().filter(|depth| most.is_multiple_of(*depth)) {
                        let plan = Plan { share, fused: fused.copied(), with_source, pieces: &pieces, depth };
                        if let Some(candidate) = write(tasks, &classes, &passing, &plan)
                            && seen.insert(candidate.text.clone())
                        {
                            all.push(candidate);
                        }
                    }
                }
            }
        }
    }
    all
}

fn classes(tasks: &Tasks) -> Vec<Class> {
    let mut all: Vec<Class> = Vec::new();
    for (at, task) in tasks.tasks.iter().enumerate() {
        if only_passes(tasks, task) {
            continue;
        }
        match all.iter_mut().find(|class| class.name == task.class) {
            Some(class) => class.tasks.push(at),
            None => all.push(Class { name: task.class.clone(), tasks: vec![at], pieces: Vec::new() }),
        }
    }
    for class in &mut all {
        // What happens once is left whole.
        let splits =
            |n: &usize| *n == 1 || class.tasks.len() > 1 && class.tasks.iter().all(|&at| falls_apart(tasks, at, *n));
        class.pieces = PIECES.into_iter().filter(splits).collect();
    }
    all
}

/// Whether the pieces of a task have nothing in common.
fn falls_apart(tasks: &Tasks, at: usize, n: usize) -> bool {
    let task = &tasks.tasks[at];
    if !task.outputs.len().is_multiple_of(n) {
        return false;
    }
    let given: BTreeSet<Id> = task.inputs.iter().map(|wire| wire.value).collect();
    let stop = |id: Id| given.contains(&id) || tasks.parameters.contains(&id);
    let mut owner: BTreeMap<Id, usize> = BTreeMap::new();
    for (piece, outputs) in task.outputs.chunks(task.outputs.len() / n).enumerate() {
        for id in tasks.cone(outputs, &stop).into_iter().chain(tasks.needs(outputs, &stop)) {
            if *owner.entry(id).or_insert(piece) != piece {
                return false;
            }
        }
    }
    true
}

fn is_followed(tasks: &Tasks, before: &Class, after: &Class) -> bool {
    before.tasks.len() == after.tasks.len()
        && before.tasks.len() > 1
        && before.tasks.iter().zip(&after.tasks).all(|(&before, &after)| {
            let from = From::Task(TaskId(before as u32));
            let (first, second) = (&tasks.tasks[before], &tasks.tasks[after]);
            // Output for output: pieces go with pieces.
            second.outputs.len() == first.outputs.len()
                && second.inputs.iter().all(|wire| wire.from == from || matches!(wire.from, From::Outside(_)))
                && second.inputs.iter().any(|wire| wire.from == from)
        })
}

struct Plan<'p> {
    share: usize,
    fused: Option<(usize, usize)>,
    with_source: bool,
    pieces: &'p [usize],
    depth: usize,
}

fn write(tasks: &Tasks, classes: &[Class], passing: &[usize], plan: &Plan<'_>) -> Option<Candidate> {
    let mut changes = String::new();
    let mut cores: BTreeMap<(usize, usize, usize), Vec<String>> = BTreeMap::new();
    let name = |at: usize| tasks.tasks[at].name.as_str();
    let mut about: Vec<String> = Vec::new();
    let mut change = |what: &str, task: &str, more: &str| {
        let _ = write!(changes, "\n[[change]]\nwhat = \"{what}\"\ntask = \"{task}\"\n{more}");
    };
    // Who only passes on what one task gives goes with it, where that is whole.
    let mut behind: BTreeMap<usize, usize> = BTreeMap::new();
    if plan.with_source {
        for &at in passing {
            if let [first, rest @ ..] = &tasks.tasks[at].inputs[..]
                && let From::Task(from) = first.from
                && rest.iter().all(|wire| wire.from == first.from)
            {
                behind.insert(from.index(), at);
            }
        }
        if behind.is_empty() {
            return None;
        }
    }
    for (number, class) in classes.iter().enumerate() {
        let n = plan.pieces[number];
        if plan.fused.is_some_and(|(_, after)| after == number) {
            continue;
        }
        let fused = plan.fused.filter(|(before, _)| *before == number).map(|(_, after)| after);
        if class.tasks.len() > 1 {
            let plus = fused.map_or_else(String::new, |after| format!(" with {}", short(&classes[after].name)));
            let depth =
                if plan.depth > 1 && n > 1 { format!(" in chains of {}", plan.depth.min(n)) } else { String::new() };
            about.push(format!("{}{plus} on {n}{depth}", short(&class.name)));
        }
        let depth = if n.is_multiple_of(plan.depth) { plan.depth } else { 1 };
        if depth > 1 && n == 1 {
            continue;
        }
        for (turn, &at) in class.tasks.iter().enumerate() {
            let partner = fused.map(|after| classes[after].tasks[turn]);
            if behind.contains_key(&at) && (n > 1 || partner.is_some()) {
                return None;
            }
            if n > 1 {
                let into = format!("into = {n}\n");
                change("split", name(at), &into);
                if let Some(partner) = partner {
                    change("split", name(partner), &into);
                }
            }
            for piece in 0..n {
                let end = if n > 1 { format!("/{piece}") } else { String::new() };
                let own = format!("{}{end}", name(at));
                let last = partner.map_or_else(|| own.clone(), |partner| format!("{}{end}", name(partner)));
                let mut parts = vec![own.clone()];
                parts.extend(partner.map(|_| last.clone()));
                parts.extend(behind.get(&at).map(|&passing| name(passing).to_owned()));
                let place = (number, turn / plan.share, piece);
                let in_chain = piece % depth;
                // Words for those behind in the chain go through; words of those before, too.
                let before = (piece - in_chain..piece).map(|other| format!("{other}.behind.{piece}.{}", name(at)));
                let after = piece + 1..piece - in_chain + depth;
                let after = after.map(|other| format!("{other}.through.{piece}.{}", name(at)));
                let entry: Vec<String> = before.chain([parts.join(" + ")]).chain(after).collect();
                cores.entry(place).or_default().push(entry.join(" ; "));
            }
            // A word for a piece goes through all before it, a word of a piece through all behind it.
            for begin in (0..n).step_by(depth) {
                for piece in begin..begin + depth {
                    let own = format!("{}/{piece}", name(at));
                    let last = partner.map_or_else(|| own.clone(), |partner| format!("{}/{piece}", name(partner)));
                    let mut before = own.clone();
                    for through in (begin..piece).rev() {
                        let new = format!("{piece}.through.{through}.{}", name(at));
                        change("before", &before, &format!("name = \"{new}\"\n"));
                        before = new;
                    }
                    let mut after = last;
                    for through in piece + 1..begin + depth {
                        let new = format!("{piece}.behind.{through}.{}", name(at));
                        change("behind", &after, &format!("name = \"{new}\"\n"));
                        after = new;
                    }
                }
            }
        }
    }
    let mut text = changes;
    for ((class, stage, piece), tasks) in &cores {
        let list: Vec<String> = tasks.iter().map(|task| format!("{task:?}")).collect();
        let own = short(&classes[*class].name);
        let _ = write!(text, "\n[[core]]\nname = \"{own}{class}.{stage}.{piece}\"\ntasks = [{}]\n", list.join(", "));
    }
    let loops = plan.share > 1;
    about.push(format!("{} to a processor", plan.share));
    if plan.with_source {
        about.push("what passes on stays with its source".into());
    }
    Some(Candidate { text, about: about.join(", "), loops, n_cores: cores.len() })
}

/// The last part of a class's name that says something.
fn short(class: &str) -> String {
    let parts: Vec<&str> = class.split('.').collect();
    let from = parts.iter().rposition(|part| part.starts_with(char::is_uppercase)).unwrap_or(0);
    parts[from..].join(".")
}

/// How what is said of pipelines of whole networks begins.
pub const PIPELINE: &str = "a pipeline";

/// A pipeline of so many pieces, as it stands in a mapping file.
pub fn pipeline(n: usize, by_demand: bool) -> Candidate {
    let how = if by_demand { "pipeline-by-demand" } else { "pipeline" };
    let text = format!(
        "\n[[change]]\nwhat = \"gather\"\ntask = \"all\"\n\n[[change]]\nwhat = \"{how}\"\ntask = \"all\"\ninto = {n}\n\n\
         [[core]]\nname = \"P{{k}}\"\ntasks = [\"all/{{k}}\"]\nfor = {{ k = [0, {}] }}\n",
        n - 1
    );
    let order = if by_demand { "as outputs need it" } else { "in the order of the program" };
    Candidate { text, about: format!("{PIPELINE} of {n}, {order}"), loops: false, n_cores: n }
}

/// Each task as a pipeline of its own whose pieces take no more than so many instructions, so that what one task gives goes
/// straight to the piece of another that needs it; what only passes on is absorbed. None where it takes more processors than
/// `most`, or is no pipeline.
pub fn pipelines(tasks: &Tasks, limit: u64, by_demand: bool, most: usize, word_bits: u32) -> Option<Candidate> {
    let along = if by_demand { Along::Demand } else { Along::Program };
    let how = if by_demand { "pipeline-by-demand" } else { "pipeline" };
    let (mut changes, mut cores, mut n_cores, mut longest) = (String::new(), String::new(), 0, 0);
    for (at, task) in tasks.tasks.iter().enumerate().filter(|(_, task)| !only_passes(tasks, task)) {
        let n = pieces_for(tasks, TaskId(at as u32), limit, most.checked_sub(n_cores)?, along, word_bits)?;
        let name = &task.name;
        if n > 1 {
            let _ = write!(changes, "\n[[change]]\nwhat = \"{how}\"\ntask = \"{name}\"\ninto = {n}\n");
        }
        let (task, numbers) = match n {
            1 => (name.clone(), String::new()),
            n => (format!("{name}/{{k}}"), format!("for = {{ k = [0, {}] }}\n", n - 1)),
        };
        let number = if n == 1 { "0" } else { "{k}" };
        let _ = write!(cores, "\n[[core]]\nname = \"T{at}.{number}\"\ntasks = [\"{task}\"]\n{numbers}");
        n_cores += n;
        longest = longest.max(n);
    }
    let order = if by_demand { "as outputs need it" } else { "in the order of the program" };
    let about = format!("each task a pipeline, {order}, of {n_cores} in all");
    (longest > 1).then(|| Candidate { text: changes + &cores, about, loops: false, n_cores })
}

/// What matters of a mapping that was simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Processors.
    pub cores: usize,
    /// Cycles a message.
    pub cycles: f64,
    /// Nanojoules a message.
    pub energy: f64,
}

/// Positions of those of which no other has as few processors and as few cycles, by processors.
pub fn pareto(scores: &[Score]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].cores.cmp(&scores[b].cores).then(scores[a].cycles.total_cmp(&scores[b].cycles)));
    let mut best = f64::INFINITY;
    order.retain(|&at| {
        let is_better = scores[at].cycles < best - 1e-9;
        best = best.min(scores[at].cycles);
        is_better
    });
    order
}
