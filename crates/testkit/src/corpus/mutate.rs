//! Mutation fuzzing of the command: programs of a tree are changed at random, and whatever comes out, `headrace check` and
//! `headrace run` end in time, in bounded memory and with a status that they document.

use super::Tree;
use super::outside::{self, End, Limits};
use crate::rng::Rng;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Largest file that is changed, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// What takes the place of a number.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "7",
    "8",
    "31",
    "32",
    "33",
    "64",
    "65",
    "127",
    "255",
    "4096",
    "65536",
    "4294967296",
    "340282366920938463463374607431768211456",
];

/// What takes the place of one another.
const FAMILIES: [&[&str]; 6] = [
    &["+", "-", "*", "/", "mod", "<<", ">>", "&", "|", "^"],
    &["=", "!=", "<", "<=", ">", ">="],
    &["and", "or"],
    &["int", "uint", "bool", "float", "String"],
    &["true", "false"],
    &["initialize", "action", "function", "procedure", "guard", "do", "begin", "end", "var", "repeat", "while", "if"],
];

/// What is done.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The command.
    pub headrace: PathBuf,
    /// The tree.
    pub folder: PathBuf,
    /// Seed of the first case; the others follow one by one.
    pub seed: u64,
    /// Number of cases.
    pub cases: u64,
    /// What one command may take.
    pub limits: Limits,
    /// Where programs go on which a command failed.
    pub out: PathBuf,
}

/// What a campaign came to.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Commands by their exit status.
    pub statuses: std::collections::BTreeMap<i32, u64>,
    /// Seeds and what went wrong.
    pub failures: Vec<(u64, String)>,
    /// The most memory that a command took, in bytes.
    pub memory: u64,
}

/// Changes programs and tries them.
///
/// # Errors
/// The tree has no programs, a file cannot be written, or the command does not start.
pub fn campaign(campaign: &Campaign) -> Result<Summary, String> {
    let mut tree = Tree::of(&campaign.folder);
    tree.files.retain(|file| file.metadata().is_ok_and(|data| data.len() <= MAX_BYTES));
    if tree.files.is_empty() {
        return Err(format!("there are no programs below {}", campaign.folder.display()));
    }
    let mut summary = Summary::default();
    for case in 0..campaign.cases {
        let seed = campaign.seed.wrapping_add(case);
        one(campaign, &tree, seed, &mut summary)?;
        if (case + 1) % 100 == 0 {
            let n = summary.failures.len();
            outside::progress(&format!("{} of {}, {n} failed", case + 1, campaign.cases));
        }
    }
    Ok(summary)
}

fn one(campaign: &Campaign, tree: &Tree, seed: u64, summary: &mut Summary) -> Result<(), String> {
    let mut rng = Rng::new(seed);
    let read = |file: &Path| std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let (Some(file), Some(other)) = (rng.pick(&tree.files).cloned(), rng.pick(&tree.files).cloned()) else {
        return Ok(());
    };
    let (Ok(text), Ok(other)) = (read(&file), read(&other)) else { return Ok(()) };
    let changed = mutate(&text, &other, &mut rng);
    // The changed file takes the place of the other one below a root of its own.
    let place = campaign.out.join(format!("case-{seed}"));
    let root = tree.roots.iter().filter(|root| file.starts_with(root)).max_by_key(|root| root.components().count());
    let below = match root {
        Some(root) => file.strip_prefix(root).unwrap_or(&file).to_owned(),
        None => PathBuf::from(file.file_name().unwrap_or_default()),
    };
    let target = place.join(&below);
    let failed = |error: std::io::Error| format!("{}: {error}", target.display());
    std::fs::create_dir_all(target.parent().unwrap_or(&place)).map_err(failed)?;
    std::fs::write(&target, &changed).map_err(failed)?;
    let tried: [&[&str]; 2] = [&["check"], &["run", "--engine", "interp", "--max-firings", "2000"]];
    let mut fine = true;
    for words in tried {
        let mut command = Command::new(&campaign.headrace);
        command.args(["--color", "never", "-L"]).arg(&place);
        for root in tree.roots_for(&file) {
            command.arg("-L").arg(root);
        }
        command.args(words).arg(&target).current_dir(&place);
        let outcome = outside::run(&mut command, campaign.limits)
            .map_err(|error| format!("{}: {error}", campaign.headrace.display()))?;
        summary.memory = summary.memory.max(outcome.memory);
        let wrong = match outcome.end {
            End::Status(101 | 70) => Some("panicked".to_owned()),
            // Besides those of the command, natives of the program may ask for any.
            End::Status(status) => {
                *summary.statuses.entry(status).or_default() += 1;
                None
            }
            End::Signal => Some("was killed".to_owned()),
            End::Time => Some(format!("took more than {} s", campaign.limits.time.as_secs())),
            End::Memory => Some(format!("took more than {} MiB", campaign.limits.memory >> 20)),
        };
        if let Some(wrong) = wrong {
            fine = false;
            let line = outcome.said.lines().find(|line| line.contains("panicked")).unwrap_or_default();
            let failure = format!("{} {wrong}: {} {line}", words[0], file.display());
            outside::progress(&format!("seed {seed}: {failure}"));
            summary.failures.push((seed, failure));
        }
    }
    if fine {
        std::fs::remove_dir_all(&place).map_err(failed)?;
    }
    Ok(())
}

/// The limits of [`Campaign::limits`] unless somebody asks for others.
pub const LIMITS: Limits = Limits { time: Duration::from_secs(60), memory: 1 << 30 };

/// A text with one to four changes: coarse ones to any word of it, or ones that keep the kind of what they change.
pub fn mutate(text: &str, other: &str, rng: &mut Rng) -> String {
    let mut words: Vec<String> = words(text).into_iter().map(str::to_owned).collect();
    let foreign = self::words(other);
    let keeps_kind = rng.chance(50);
    for _ in 0..rng.range(1, 4) {
        let solid: Vec<usize> = (0..words.len()).filter(|&at| !words[at].trim().is_empty()).collect();
        let Some(&at) = rng.pick(&solid) else { break };
        if keeps_kind {
            like_for_like(&mut words, at, rng);
            continue;
        }
        match rng.below(5) {
            0 => {
                let n = if rng.chance(70) { 1 } else { rng.below(20) };
                words.drain(at..(at + n).min(words.len()));
            }
            1 => {
                let copied: Vec<String> = words[at..(at + 1 + rng.below(12)).min(words.len())].to_vec();
                words.splice(at..at, copied);
            }
            2 => {
                let with = *rng.pick(&solid).unwrap_or(&at);
                words.swap(at, with);
            }
            3 => {
                let from = rng.below(foreign.len());
                let taken = &foreign[from..(from + 1 + rng.below(30)).min(foreign.len())];
                words.splice(at..at, taken.iter().map(|word| (*word).to_owned()));
            }
            _ => like_for_like(&mut words, at, rng),
        }
    }
    words.concat()
}

/// Puts something of the same kind in the place of a word near a position.
fn like_for_like(words: &mut [String], from: usize, rng: &mut Rng) {
    for at in (from..words.len()).chain(0..from) {
        let word = words[at].as_str();
        let family = FAMILIES.iter().find(|family| family.contains(&word));
        let new = if word.starts_with(|c: char| c.is_ascii_digit()) {
            rng.pick(&NUMBERS).map(|number| (*number).to_owned())
        } else if let Some(family) = family {
            rng.pick(family).map(|word| (*word).to_owned())
        } else if word.starts_with(|c: char| c.is_ascii_alphabetic()) && rng.chance(30) {
            let names = words.iter().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
            let names: Vec<&String> = names.collect();
            rng.pick(&names).map(|name| (*name).clone())
        } else {
            None
        };
        if let Some(new) = new {
            words[at] = new;
            return;
        }
    }
}

/// Words, numbers, signs, and what stands between them; joined, they are the text.
fn words(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' => 0,
        _ if c.is_whitespace() => 1,
        '<' | '>' | '=' | ':' | '!' | '.' | '-' => 2,
        _ => 3,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before: Option<u8> = None;
    for (at, c) in text.char_indices() {
        let now = class(c);
        if before.is_some_and(|before| before != now || now == 3) {
            words.push(&text[start..at]);
            start = at;
        }
        before = Some(now);
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::{mutate, words};
    use crate::rng::Rng;

    const TEXT: &str = "actor A() uint(size=8) In ==> uint(size=8) Out : action In:[x] ==> Out:[x + 1] end end";

    #[test]
    fn words_are_all_of_the_text() {
        assert_eq!(words("a:=b+1; // é\n"), ["a", ":=", "b", "+", "1", ";", " ", "/", "/", " ", "é", "\n"]);
        assert_eq!(words(TEXT).concat(), TEXT);
    }

    #[test]
    fn a_seed_gives_the_same_text_again() {
        let text = |seed| mutate(TEXT, "network N() ==> : end", &mut Rng::new(seed));
        assert_eq!(text(3), text(3));
        assert!((0..50).filter(|&seed| text(seed) != TEXT).count() > 45);
    }
}
