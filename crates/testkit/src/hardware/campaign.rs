//! A resumable campaign of differential tests: random networks as hardware against the interpreter, until so many actors were
//! compared. What was compared is written to a file in lines of JSON, and a later run goes on behind it.
//!
//! The results are of the compiler that wrote them: for another one, begin another file.

use super::random_case;
use serde_json::{Value, json};
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seeds that a line of results stands for.
const SEEDS_OF_A_LINE: u64 = 50;

/// What compares the network of a seed: its actors; none where hardware lacks something of it.
type Compared<'a> = dyn Fn(u64) -> Result<Option<usize>, String> + 'a;

/// What stands before the table in a document.
pub const MARK: &str = "<!-- generated: random hardware -->";

/// What is compared.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// Actors that are compared at least, those of earlier runs included.
    pub actors: u64,
    /// The first seed, where there are no results yet.
    pub seed: u64,
    /// No further networks are begun after so long.
    pub time: Option<Duration>,
    /// Where results are kept; none: nowhere.
    pub results: Option<PathBuf>,
}

/// What became of all networks, those of earlier runs included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Networks that were generated.
    pub networks: u64,
    /// Those that were compared; hardware lacks something of the others.
    pub compared: u64,
    /// The actors of these.
    pub actors: u64,
    /// For each network that failed its seed and why.
    pub failures: Vec<String>,
    /// The seed that comes next.
    next: Option<u64>,
}

impl Summary {
    /// The table of a document; `commit` is that of the compiler.
    pub fn table(&self, commit: Option<&str>) -> String {
        let Summary { networks, compared, actors, failures, .. } = self;
        let by = commit.map(|commit| format!("By the compiler of commit `{commit}`:\n\n")).unwrap_or_default();
        let rows = format!(
            "{by}| random networks | compared | actors in them | hardware lacks something of | failed |\n|--:|--:|--:|--:|--:|\n\
             | {networks} | {compared} | {actors} | {} | {} |\n",
            networks - compared - failures.len() as u64,
            failures.len()
        );
        failures.iter().fold(rows, |rows, why| format!("{rows}\n{why}\n"))
    }

    /// Whether something was compared, and nothing failed.
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && self.compared > 0
    }

    /// That of networks from a seed on.
    fn of(first: u64, seeds: u64, compared: &Compared<'_>) -> Self {
        let mut summary = Summary { next: first.checked_add(seeds), ..Summary::default() };
        for seed in first..first.saturating_add(seeds) {
            summary.networks += 1;
            match compared(seed) {
                Ok(Some(actors)) => {
                    summary.compared += 1;
                    summary.actors += actors as u64;
                }
                Ok(None) => {}
                Err(why) => summary.failures.push(format!("seed {seed}: {why}")),
            }
        }
        summary
    }

    fn add(&mut self, other: Summary) {
        self.networks += other.networks;
        self.compared += other.compared;
        self.actors += other.actors;
        self.failures.extend(other.failures);
        self.next = other.next;
    }

    fn to_json(&self) -> Value {
        let Summary { networks, compared, actors, failures, next } = self;
        json!({ "networks": networks, "compared": compared, "actors": actors, "failures": failures, "next": next })
    }

    fn from_json(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let failures = value["failures"].as_array()?.iter().map(|why| why.as_str().map(str::to_owned));
        Some(Self {
            networks: value["networks"].as_u64()?,
            compared: value["compared"].as_u64()?,
            actors: value["actors"].as_u64()?,
            failures: failures.collect::<Option<_>>()?,
            next: Some(value["next"].as_u64()?),
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Summary { networks, compared, actors, failures, .. } = self;
        write!(f, "{networks} networks, {compared} compared with {actors} actors in them, {} failed", failures.len())
    }
}

/// Compares networks, and says of each that fails why. Gives the sum of all, those of earlier runs included.
///
/// # Errors
///
/// Results that cannot be read or written.
pub fn campaign(campaign: &Campaign, say: &mut dyn FnMut(&str)) -> Result<Summary, String> {
    campaign_of(campaign, &random_case, say)
}

fn campaign_of(campaign: &Campaign, compared: &Compared<'_>, say: &mut dyn FnMut(&str)) -> Result<Summary, String> {
    let mut all = campaign.results.as_deref().map_or_else(|| Ok(Summary::default()), known)?;
    let began = Instant::now();
    let mut seed = all.next.unwrap_or(campaign.seed);
    while all.actors < campaign.actors && campaign.time.is_none_or(|time| began.elapsed() < time) {
        let some = Summary::of(seed, SEEDS_OF_A_LINE, compared);
        some.failures.iter().for_each(|why| say(why));
        let Some(next) = some.next else { break };
        seed = next;
        if let Some(results) = &campaign.results {
            append(results, &some.to_json())?;
        }
        all.add(some);
    }
    Ok(all)
}

/// What results say; nothing where there are none. A last line without its end was being written when a run was ended.
fn known(path: &Path) -> Result<Summary, String> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let mut all = Summary::default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (at, line) in whole.lines().enumerate() {
        let one = Summary::from_json(line).ok_or_else(|| {
            format!("{}:{}: this is no line of such results: move the file away", path.display(), at + 1)
        })?;
        all.add(one);
    }
    if whole.len() + 1 < text.len() {
        let kept = if whole.is_empty() { String::new() } else { format!("{whole}\n") };
        std::fs::write(path, kept).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(all)
}

fn append(path: &Path, line: &Value) -> Result<(), String> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| writeln!(file, "{line}")).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_goes_on_where_it_was_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("results.jsonl");
        let some = |actors| Campaign { actors, seed: 7, time: None, results: Some(results.clone()) };
        // Every third network has something that hardware lacks, and one fails.
        let compared = |seed: u64| match seed % 3 {
            0 => Ok(None),
            _ if seed == 8 => Err("other tokens".to_owned()),
            _ => Ok(Some(2)),
        };
        let campaign = |wanted: &Campaign, said: &mut Vec<String>| {
            campaign_of(wanted, &compared, &mut |line| said.push(line.to_owned()))
        };
        let mut said = Vec::new();
        let first = campaign(&some(1), &mut said).expect("it runs");
        assert_eq!((first.networks, first.next), (SEEDS_OF_A_LINE, Some(7 + SEEDS_OF_A_LINE)));
        assert_eq!((&said, &first.failures), (&vec!["seed 8: other tokens".to_owned()], &said));
        let rows = format!("| {SEEDS_OF_A_LINE} | {} | {} | ", first.compared, first.actors);
        let table = first.table(Some("12ab"));
        assert!(
            table.contains("commit `12ab`")
                && table.contains(&rows)
                && table.ends_with("| 1 |\n\nseed 8: other tokens\n"),
            "{table}"
        );
        assert!(!first.passed() && first.compared < first.networks && first.actors == 2 * first.compared);
        // What was being written does not count.
        std::fs::write(&results, format!("{}\n{{\"netw", first.to_json())).expect("it is written");
        assert_eq!(campaign(&some(1), &mut said), Ok(first.clone()));
        let second = campaign(&some(first.actors + 1), &mut said).expect("it runs");
        assert_eq!((second.networks, second.next), (2 * SEEDS_OF_A_LINE, Some(7 + 2 * SEEDS_OF_A_LINE)));
        assert_eq!(known(&results), Ok(second));
        std::fs::write(&results, "something\n").expect("it is written");
        assert!(campaign(&some(1), &mut said).is_err());
    }
}
