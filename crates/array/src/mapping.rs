//! Mapping files: which task is on which processor, and what is done to the network before.
//!
//! ```toml
//! about = "One task, one processor"
//! network = "a.package.Network(N = 4)"
//! message = { Rekey = [1], Key = 16, Blocks = [1], Input = 16 }  # tokens that are control; how many there are of data
//! fold = ["Key"]             # what follows from these alone is known when the machine is loaded
//! in_flight = 1              # messages that are in a loop together
//! interleave = 4             # outputs are written in the order 0, 4, 8, …, 1, 5, …
//!
//! [[change]]                 # done in their order
//! what = "split"             # or "chain", "tables", "commute", "absorb", "pass", "before", "behind", "gather", "pipeline"
//! task = "mix#{r}"
//! into = 4
//! for = { r = [0, 8] }       # for r from 0 to 8
//!
//! [[core]]
//! name = "S{r}"
//! tasks = ["sub#{r} + shift#{r}"]   # fused; "sub#0..8" are nine tasks, one after the other; what stands in one entry with
//!                                   # ` ; ` between is done for a message before the next message in flight
//! place = [0, 1]             # column and row; chosen where nothing is said
//! clock = 0.5                # its frequency as a part of the nominal one, which it has where nothing is said
//! for = { r = [0, 8] }
//! ```
//!
//! In braces stand numbers made of the variables of `for`: `{r}`, `{3*s+2}`. Tasks that only pass words on and are on no
//! processor are absorbed: who needs the words takes them from where they come from.

use headrace_platform::{File, Mention, Wrong};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// A mapping as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// What it is, for readers.
    #[serde(default)]
    pub about: String,
    /// The network, where the user names none.
    pub network: Option<String>,
    /// What comes in along a message, by port.
    pub message: Option<BTreeMap<String, Tokens>>,
    /// Input ports of which all is known beforehand.
    #[serde(default)]
    pub fold: Vec<Mention>,
    /// Messages that are in a loop together.
    #[serde(default = "one")]
    pub in_flight: usize,
    /// Rows of outputs that are written one after the other, instead of columns.
    pub interleave: Option<usize>,
    /// Which of several costs of a class is meant, by class.
    #[serde(default)]
    pub style: BTreeMap<String, String>,
    /// What is done to the network.
    #[serde(default)]
    pub change: Vec<Change>,
    /// Processors with their tasks.
    #[serde(default)]
    pub core: Vec<CoreTasks>,
    /// Known answers that what is mapped must give.
    #[serde(default)]
    pub answer: Vec<Answer>,
}

/// A known answer: tokens of one message.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Where it is from.
    pub source: Mention,
    /// What goes in on each data port, in hexadecimal: as many digits a token as its type takes.
    #[serde(rename = "in")]
    pub inputs: BTreeMap<String, String>,
    /// What comes out on each output port.
    #[serde(rename = "out")]
    pub outputs: BTreeMap<String, String>,
}

fn one() -> usize {
    1
}

/// What comes in on a port.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Tokens {
    /// These: they are control.
    Known(Vec<i64>),
    /// So many: they are data.
    Data(usize),
}

/// What can be done to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// A task into pieces that do not need each other.
    Split,
    /// A task into pieces one after the other.
    Chain,
    /// A task into what is looked up in tables and the rest.
    Tables,
    /// A task behind which another only passes on: the other way round.
    Commute,
    /// A task that only passes on is taken out.
    Absorb,
    /// What goes from a task to another goes through a new one, which passes it on.
    Pass,
    /// What a task takes from outside of its own goes through a new one first.
    Before,
    /// What a task gives goes through a new one.
    Behind,
    /// All tasks become one, which is called so.
    Gather,
    /// A task into pieces one after the other, each of which takes all from the one before; in the order of the program.
    Pipeline,
    /// The same in the order in which outputs need what is computed.
    PipelineByDemand,
}

/// A change of the network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// What is done.
    pub what: What,
    /// To which task.
    pub task: Mention,
    /// Into how many pieces.
    pub into: Option<usize>,
    /// The other task: what passes on, for `commute`; who takes, for `pass`.
    pub to: Option<Mention>,
    /// What the new task is called, for `pass`.
    pub name: Option<Mention>,
    /// For which numbers; the first and the last of each variable.
    #[serde(default, rename = "for")]
    pub variables: BTreeMap<String, [i64; 2]>,
}

/// A processor with its tasks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreTasks {
    /// What it is called.
    pub name: Mention,
    /// What it does for each message, in this order.
    pub tasks: Vec<Mention>,
    /// Column and row.
    pub place: Option<toml::Spanned<[u32; 2]>>,
    /// Its frequency as a part of the nominal one; the nominal one where nothing is said.
    pub clock: Option<toml::Spanned<f64>>,
    /// For which numbers; the first and the last of each variable.
    #[serde(default, rename = "for")]
    pub variables: BTreeMap<String, [i64; 2]>,
}

/// A step that is done to the network, with its numbers filled in and where it is written.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done.
    pub what: What,
    /// To which task.
    pub task: String,
    /// Into how many pieces.
    pub into: usize,
    /// The other task.
    pub to: String,
    /// The name of the new one.
    pub name: String,
    /// Where it is written.
    pub at: Mention,
}

/// A processor with its tasks, with their numbers filled in.
#[derive(Clone, Debug)]
pub struct Placed {
    /// What it is called.
    pub name: String,
    /// Its tasks: in each entry those that are fused, with where they are written.
    pub tasks: Vec<(Vec<String>, Mention)>,
    /// For each entry, which are done together for a message before the next.
    pub groups: Vec<usize>,
    /// Column and row.
    pub place: Option<[u32; 2]>,
    /// Its frequency as a part of the nominal one.
    pub clock: f64,
    /// Where it is written.
    pub at: Mention,
}

/// A mapping.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The file, for diagnostics.
    pub file: File,
    /// As it is written.
    pub written: Written,
    /// What is done to the network, in this order.
    pub steps: Vec<Step>,
    /// Processors.
    pub cores: Vec<Placed>,
}

/// The lowest frequency of a processor, as a part of the nominal one.
const SLOWEST: f64 = 0.01;

/// Most processors or steps that one entry may stand for.
const MOST: usize = 100_000;

/// What is wrong with a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is, for users.
    pub text: String,
    /// The name of the processor that it is about, if it is about one.
    pub core: Option<String>,
}

impl Problem {
    /// A problem of a processor, which its text begins with.
    pub fn of(core: &str, why: &str) -> Problem {
        Problem { text: format!("`{core}`: {why}"), core: Some(core.to_owned()) }
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Problem {
        Problem { text, core: None }
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Problem {
        text.to_owned().into()
    }
}

/// For those who know no mapping.
impl From<Problem> for String {
    fn from(problem: Problem) -> String {
        problem.text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Mapping {
    /// A problem of the mapping, at the place of its processor if it is about one.
    pub fn wrong_of(&self, problem: &Problem) -> Wrong {
        // Those that join streams are called after the processor that they stand before.
        let is_of = |core: &&Placed, name: &str| core.name == name || name.starts_with(&format!("{}.merge", core.name));
        let placed = problem.core.as_deref().and_then(|name| self.cores.iter().find(|core| is_of(core, name)));
        match placed {
            Some(core) => self.file.wrong_at(&core.at, &problem.text),
            None => Wrong::new(&self.file.path, &problem.text),
        }
    }

    /// A mapping from its file.
    ///
    /// # Errors
    ///
    /// Where it is not written as it must be.
    pub fn read(file: &File) -> Result<Self, Wrong> {
        let written: Written = file.parse()?;
        if written.in_flight == 0 || written.in_flight > 64 {
            return Err(Wrong::new(
                &file.path,
                format!("`in_flight` is {}; it must be from 1 to 64", written.in_flight),
            ));
        }
        if written.interleave == Some(0) {
            return Err(Wrong::new(&file.path, "`interleave` is 0; it must be 1 or more"));
        }
        let mut steps = Vec::new();
        for change in &written.change {
            for numbers in all_numbers(&change.variables, file, &change.task)? {
                let fill =
                    |mention: &Mention| filled(mention.get_ref(), &numbers).map_err(|why| file.wrong_at(mention, why));
                let other = |mention: &Option<Mention>, key: &str| match mention {
                    Some(mention) => fill(mention),
                    None => Err(file.wrong_at(&change.task, format!("`{key}` is missing"))),
                };
                let needs_count =
                    matches!(change.what, What::Split | What::Chain | What::Pipeline | What::PipelineByDemand);
                let needs_other = matches!(change.what, What::Commute | What::Pass);
                let into = match change.into {
                    Some(into) if needs_count && into > 0 => into,
                    None if !needs_count => 0,
                    _ => {
                        return Err(file.wrong_at(
                            &change.task,
                            "`into` says how many pieces, of `split`, `chain` and pipelines only",
                        ));
                    }
                };
                steps.push(Step {
                    what: change.what,
                    task: fill(&change.task)?,
                    into,
                    to: if needs_other { other(&change.to, "to")? } else { String::new() },
                    name: if matches!(change.what, What::Pass | What::Before | What::Behind) {
                        other(&change.name, "name")?
                    } else {
                        String::new()
                    },
                    at: change.task.clone(),
                });
            }
        }
        let mut cores: Vec<Placed> = Vec::new();
        for core in &written.core {
            for numbers in all_numbers(&core.variables, file, &core.name)? {
                let name = filled(core.name.get_ref(), &numbers).map_err(|why| file.wrong_at(&core.name, why))?;
                if cores.iter().any(|other| other.name == name) {
                    return Err(file.wrong_at(&core.name, format!("there are two processors `{name}`")));
                }
                let mut tasks = Vec::new();
                let mut groups: Vec<usize> = Vec::new();
                for mention in &core.tasks {
                    let text = filled(mention.get_ref(), &numbers).map_err(|why| file.wrong_at(mention, why))?;
                    let parts = text.split(" ; ").map(sequence).collect::<Result<Vec<_>, String>>();
                    let parts = parts.map_err(|why| file.wrong_at(mention, why))?;
                    if parts.iter().any(|part| part.len() != parts[0].len()) {
                        return Err(file.wrong_at(mention, format!("the ranges in `{text}` are not equally long")));
                    }
                    for turn in 0..parts[0].len() {
                        let group = groups.last().map_or(0, |last| last + 1);
                        for part in &parts {
                            tasks.push((part[turn].clone(), mention.clone()));
                            groups.push(group);
                        }
                    }
                }
                if tasks.is_empty() {
                    return Err(file.wrong_at(&core.name, format!("`{name}` has no tasks")));
                }
                let place = core.place.as_ref().map(|place| *place.get_ref());
                let clock = core.clock.as_ref().map_or(1.0, |clock| *clock.get_ref());
                if let Some(written) = &core.clock
                    && !(SLOWEST..=1.0).contains(&clock)
                {
                    let problem =
                        format!("`clock` is {clock}; it is a part of the nominal frequency, from {SLOWEST} to 1");
                    return Err(file.wrong(written.span(), problem));
                }
                if let (Some(place), Some(written)) = (place, &core.place)
                    && let Some(other) = cores.iter().find(|other| other.place == Some(place))
                {
                    let problem =
                        format!("`{name}` and `{}` are both at column {}, row {}", other.name, place[0], place[1]);
                    return Err(file.wrong(written.span(), problem));
                }
                cores.push(Placed { name, tasks, groups, place, clock, at: core.name.clone() });
            }
        }
        Ok(Self { file: file.clone(), written, steps, cores })
    }
}

/// All numbers that the variables of an entry stand for, the last variable changing first.
fn all_numbers(
    variables: &BTreeMap<String, [i64; 2]>,
    file: &File,
    at: &Mention,
) -> Result<Vec<BTreeMap<String, i64>>, Wrong> {
    let mut all = vec![BTreeMap::new()];
    for (name, [first, last]) in variables {
        let n = last.saturating_sub(*first).saturating_add(1).max(0) as u64;
        if n.saturating_mul(all.len() as u64) > MOST as u64 {
            return Err(file.wrong_at(at, format!("`for` stands for more than {MOST} entries")));
        }
        let with = |numbers: &BTreeMap<String, i64>, value: i64| {
            let mut numbers = numbers.clone();
            numbers.insert(name.clone(), value);
            numbers
        };
        all = all.iter().flat_map(|numbers| (*first..=*last).map(move |value| with(numbers, value))).collect();
    }
    Ok(all)
}

/// A text with the numbers in its braces filled in.
fn filled(text: &str, numbers: &BTreeMap<String, i64>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, behind) = after.split_once('}').ok_or("a brace is not closed")?;
        out.push_str(before);
        out.push_str(&sum(inside, numbers)?.to_string());
        rest = behind;
    }
    out.push_str(rest);
    Ok(out)
}

/// A sum of products of numbers and variables: `3*s+2`.
fn sum(text: &str, numbers: &BTreeMap<String, i64>) -> Result<i64, String> {
    let factor = |word: &str| -> Result<i64, String> {
        let word = word.trim();
        match (word.parse(), numbers.get(word)) {
            (Ok(number), _) => Ok(number),
            (_, Some(&number)) => Ok(number),
            _ => Err(format!("`{word}` is neither a number nor a variable of `for`")),
        }
    };
    let too_large = || format!("`{text}` is too large");
    let mut total = 0i64;
    for (at, term) in text.split('+').enumerate() {
        for (n, part) in term.split('-').enumerate() {
            let mut product = 1i64;
            for word in part.split('*') {
                product = product.checked_mul(factor(word)?).ok_or_else(too_large)?;
            }
            let signed = if n == 0 { product } else { -product };
            total = total.checked_add(signed).ok_or_else(too_large)?;
        }
        let _ = at;
    }
    Ok(total)
}

/// The tasks that a text names: fused ones between ` + `, ranges of numbers one after the other.
fn sequence(text: &str) -> Result<Vec<Vec<String>>, String> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    for name in text.split(" + ") {
        let name = name.trim();
        let Some((before, after)) = name.split_once("..") else {
            columns.push(vec![name.to_owned()]);
            continue;
        };
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
        let begin = before.len() - digits(&before.chars().rev().collect::<String>());
        let end = digits(after);
        let (first, last) = (before[begin..].parse::<i64>(), after[..end].parse::<i64>());
        let (Ok(first), Ok(last)) = (first, last) else {
            return Err(format!("`{name}` has no numbers around `..`"));
        };
        if last < first || (last - first) as usize > MOST {
            return Err(format!("`{name}` goes from {first} to {last}"));
        }
        columns.push((first..=last).map(|n| format!("{}{n}{}", &before[..begin], &after[end..])).collect());
    }
    let n = columns.iter().map(Vec::len).max().unwrap_or(0);
    if columns.iter().any(|column| column.len() != n) {
        return Err(format!("the ranges in `{text}` are not equally long"));
    }
    Ok((0..n).map(|at| columns.iter().map(|column| column[at].clone()).collect()).collect())
}

static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The mappings that the program comes with, by name.
pub fn built_in() -> &'static [File] {
    static ALL: std::sync::LazyLock<Vec<File>> = std::sync::LazyLock::new(|| {
        let file = |(name, text): &(&str, &str)| File::new(format!("mappings/{name}.toml"), *text);
        FILES.iter().map(file).collect()
    });
    &ALL
}
