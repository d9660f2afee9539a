//! Runs comparisons in child processes, because what is compared may crash, hang or be stopped by a sanitizer, and
//! shrinks what fails.

use super::verdict::{Kind, Verdict};
use crate::generate::{Knobs, generate};
use crate::shrink::shrink;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// What to compare, and how much of it.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// This program, which understands `judge`.
    pub program: PathBuf,
    /// Seed of the first case; the others follow one by one.
    pub first_seed: u64,
    /// Number of cases; without one, as many as there is time for.
    pub cases: Option<u64>,
    /// No new batch begins after this.
    pub time: Option<Duration>,
    /// Cases compiled into one library.
    pub batch: u64,
    /// Batches at a time.
    pub workers: usize,
    /// Options for `judge`: engines, compiler, sanitizers.
    pub judge_options: Vec<String>,
    /// Where shrunk programs go.
    pub out: Option<PathBuf>,
    /// Most programs tried while shrinking one.
    pub shrink_tries: usize,
    /// Failures after which no new batch begins.
    pub most_failures: usize,
}

/// What a campaign came to.
#[derive(Debug, Default)]
pub struct Summary {
    /// Cases by kind.
    pub kinds: BTreeMap<Kind, u64>,
    /// Seeds and verdicts of those that fail.
    pub failures: Vec<(u64, Verdict)>,
    /// Cases in which output tokens or printed lines were compared.
    pub telling: u64,
}

/// Longest silence of a child: a batch's compilation is the longest thing that it does without a word.
const SILENCE: Duration = Duration::from_secs(900);

/// A single program is done much faster.
const SILENCE_OF_ONE: Duration = Duration::from_secs(120);

/// Runs the campaign; `tell` hears of progress.
pub fn run(campaign: &Campaign, tell: &(dyn Fn(&str) + Sync)) -> Summary {
    let started = Instant::now();
    let next = Mutex::new(0u64);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..campaign.workers.max(1) {
            scope.spawn(|| {
                loop {
                    if campaign.time.is_some_and(|limit| started.elapsed() >= limit) || enough(&summary, campaign) {
                        return;
                    }
                    let Some((first, n)) = take(&next, campaign) else { return };
                    let verdicts = batch(campaign, first, n);
                    record(&summary, verdicts, campaign, tell);
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    summary.failures.sort_by_key(|(seed, _)| *seed);
    summary
}

fn enough(summary: &Mutex<Summary>, campaign: &Campaign) -> bool {
    summary.lock().is_ok_and(|s| s.failures.len() >= campaign.most_failures)
}

fn take(next: &Mutex<u64>, campaign: &Campaign) -> Option<(u64, u64)> {
    let mut next = next.lock().ok()?;
    let left = campaign.cases.map_or(u64::MAX, |cases| cases.saturating_sub(*next));
    let n = campaign.batch.min(left);
    if n == 0 {
        return None;
    }
    let first = campaign.first_seed.wrapping_add(*next);
    *next += n;
    Some((first, n))
}

fn record(
    summary: &Mutex<Summary>,
    verdicts: BTreeMap<u64, Verdict>,
    campaign: &Campaign,
    tell: &(dyn Fn(&str) + Sync),
) {
    let mut failed = Vec::new();
    {
        let Ok(mut summary) = summary.lock() else { return };
        for (seed, verdict) in verdicts {
            *summary.kinds.entry(verdict.kind).or_default() += 1;
            summary.telling += u64::from(verdict.detail == "telling");
            if verdict.fails() {
                summary.failures.push((seed, verdict.clone()));
                failed.push((seed, verdict));
            }
        }
        let counts: Vec<String> = summary.kinds.iter().map(|(kind, n)| format!("{n} {}", kind.name())).collect();
        tell(&format!("{} ({} with output)", counts.join(", "), summary.telling));
    }
    for (seed, verdict) in failed {
        tell(&format!("seed {seed}: {verdict}"));
        tell(&format!("  repeat: {}", repeat(campaign, seed)));
        if campaign.out.is_some() {
            match keep(campaign, seed, &verdict) {
                Ok(place) => tell(&format!("  shrunk: {}", place.display())),
                Err(message) => tell(&format!("  not written: {message}")),
            }
        }
    }
}

fn repeat(campaign: &Campaign, seed: u64) -> String {
    let options = campaign.judge_options.join(" ");
    format!("cargo run -p headrace-testkit -- judge --seed {seed} {options}").trim_end().to_owned()
}

/// Verdicts of `n` cases. A case that kills the process gets a verdict of its own, and the rest another process.
fn batch(campaign: &Campaign, first: u64, n: u64) -> BTreeMap<u64, Verdict> {
    let mut verdicts = BTreeMap::new();
    let mut left: VecDeque<(u64, u64)> = VecDeque::from([(first, n)]);
    while let Some((first, n)) = left.pop_front() {
        let silence = if n == 1 { SILENCE_OF_ONE } else { SILENCE };
        let heard = child(campaign, first, n, None, silence);
        verdicts.extend(heard.verdicts);
        let missing: Vec<u64> =
            (0..n).map(|i| first.wrapping_add(i)).filter(|seed| !verdicts.contains_key(seed)).collect();
        let Some(death) = heard.death else { continue };
        match heard.current {
            Some(seed) if missing.contains(&seed) => {
                verdicts.insert(seed, death);
                left.extend(missing.into_iter().filter(|s| *s != seed).map(|seed| (seed, 1)));
            }
            _ if n == 1 => {
                verdicts.insert(first, death);
            }
            _ => left.extend(missing.into_iter().map(|seed| (seed, 1))),
        }
    }
    verdicts
}

struct Heard {
    verdicts: BTreeMap<u64, Verdict>,
    /// The case that was being run when the process ended.
    current: Option<u64>,
    /// How the process ended, if not by itself.
    death: Option<Verdict>,
}

fn child(campaign: &Campaign, first: u64, n: u64, cuts: Option<&Path>, silence: Duration) -> Heard {
    let mut heard = Heard { verdicts: BTreeMap::new(), current: None, death: None };
    let crashed = |detail: String| Some(Verdict::new(Kind::Crashed, "-", detail));
    let mut command = Command::new(&campaign.program);
    command.args(["judge", "--seed", &first.to_string(), "--cases", &n.to_string()]).args(&campaign.judge_options);
    if let Some(cuts) = cuts {
        command.arg("--cuts").arg(cuts);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = match command.spawn() {
        Ok(process) => process,
        Err(error) => {
            heard.death = crashed(format!("cannot start: {error}"));
            return heard;
        }
    };
    let (send, receive) = channel();
    let stdout = process.stdout.take();
    let lines = std::thread::spawn(move || {
        let Some(stdout) = stdout else { return };
        for line in BufReader::new(stdout).lines() {
            let Ok(line) = line else { return };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    let stderr = process.stderr.take();
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut stderr) = stderr {
            // What does not fit is read and dropped, or the child would wait for ever.
            let _ = stderr.by_ref().take(1 << 16).read_to_end(&mut text);
            let _ = std::io::copy(&mut stderr, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let silent = loop {
        match receive.recv_timeout(silence) {
            Ok(line) => {
                if let Some(seed) = line.strip_prefix("start ").and_then(|s| s.parse().ok()) {
                    heard.current = Some(seed);
                } else if let Some((seed, text)) = line.strip_prefix("verdict ").and_then(|l| l.split_once(' '))
                    && let (Ok(seed), Some(verdict)) = (seed.parse(), Verdict::parse(text))
                {
                    heard.verdicts.insert(seed, verdict);
                }
            }
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    if silent {
        // A process that is gone already is as good.
        let _ = process.kill();
    }
    let status = process.wait();
    drop(receive);
    let _ = lines.join();
    let text = errors.join().unwrap_or_default();
    if silent {
        heard.death = Some(Verdict::new(Kind::TimedOut, "-", format!("silent for {} s", silence.as_secs())));
    } else if !status.as_ref().is_ok_and(std::process::ExitStatus::success) {
        let status = status.map_or_else(|e| e.to_string(), |s| s.to_string());
        heard.death = crashed(format!("{status}: {}", telling_line(&text)));
    }
    heard
}

/// The line of standard error that says most.
fn telling_line(text: &str) -> &str {
    let says = |line: &&str| ["panicked", "runtime error", "ERROR:"].iter().any(|word| line.contains(word));
    text.lines().find(says).or_else(|| text.lines().last()).unwrap_or("no message")
}

/// Shrinks a failing case and writes what is left below the output folder.
fn keep(campaign: &Campaign, seed: u64, verdict: &Verdict) -> Result<PathBuf, String> {
    let Some(out) = &campaign.out else { return Err("no output folder".into()) };
    let place = out.join(format!("{}-{seed}", verdict.kind.name()));
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let case = generate(seed, &Knobs::default());
    let file = place.join("cuts");
    let mut last = verdict.clone();
    let cuts = shrink(&case, campaign.shrink_tries, &mut |cuts| {
        if std::fs::write(&file, cuts.to_text()).is_err() {
            return false;
        }
        let heard = child(campaign, seed, 1, Some(&file), SILENCE_OF_ONE);
        let found = heard.death.or_else(|| heard.verdicts.get(&seed).cloned());
        let like = found.as_ref().is_some_and(|found| found.is_like(verdict));
        if let (true, Some(found)) = (like, found) {
            last = found;
        }
        like
    });
    let write = |path: &Path, text: &str| -> Result<(), String> {
        let parent = path.parent().unwrap_or(&place);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::File::create(path))
            .and_then(|mut f| f.write_all(text.as_bytes()))
            .map_err(|e| format!("{}: {e}", path.display()))
    };
    write(&file, &cuts.to_text())?;
    for (path, text) in case.texts(&cuts) {
        write(&place.join("src").join(path), &text)?;
    }
    let mut readme = format!("{last}\nwhole program: {verdict}\nrepeat: {}\n", repeat(campaign, seed));
    readme.push_str(&format!("repeat this one: add --cuts {}\ntop: {}\n", file.display(), case.top));
    for stream in &case.inputs {
        let tokens: Vec<String> = stream.tokens.iter().map(ToString::to_string).collect();
        readme.push_str(&format!("--in {}=int:{}\n", stream.port, tokens.join(",")));
    }
    write(&place.join("verdict"), &readme)?;
    Ok(place)
}
