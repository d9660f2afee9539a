//! Simulation of cores in the bench of a project: how many cycles messages take, and that what comes out is right, of the Verilog
//! and of what it was mapped to.

use super::steps::{Steps, digest};
use crate::failure::Outcome;
use headrace::Error;
use headrace_bench::hardware::Cycles;
use headrace_bench::machine::version_of;
use headrace_targets::project::Files;
use headrace_targets::toolchain;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A bench with the files that it reads.
#[derive(Clone, Debug)]
pub(super) struct TestBench {
    /// The module that it tests, as its text says.
    pub(super) dut: String,
    /// The module that it is.
    module: String,
    /// Files by the path at which it looks for them; that of the bench itself is first.
    pub(super) files: Vec<(String, Vec<u8>)>,
    /// Blocks of its messages, where they are known.
    blocks: Vec<Option<u64>>,
    /// The same of messages that are decrypted, of a core that does both.
    inverse_blocks: Vec<Option<u64>>,
    /// It runs again with stalls by chance at all ports.
    stalls: bool,
    /// Bits of a block.
    block_bits: u64,
    /// The Verilog that it tests is newer than of 2005.
    pub(super) is_new_verilog: bool,
}

/// Messages that netlists are held to.
const MOST_OF_NETLISTS: usize = 3;

/// Bits of a block, at most, with which a simulator that interprets is soon done: all of a state changes in each cycle.
const MOST_INTERPRETED: u64 = 1024;

/// How a bench waits for tokens that must not come, in cycles; and how it does so for netlists.
const PATIENCE: &str = "(idle > 1000 && ";
const LESS_PATIENCE: &str = "(idle > 50 && ";

/// What a bench has before the number of its messages.
const COUNT: &str = "localparam MESSAGES = ";

/// What a simulator is, and what it says of itself.
#[derive(Clone, Debug)]
pub(super) struct Simulator {
    command: &'static str,
    pub(super) version: String,
}

/// What a simulation gave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Simulated {
    /// Messages whose answers were right, and those whose were not.
    pub(super) passed: usize,
    pub(super) failed: usize,
    /// Cycles by message, of those that passed.
    cycles: Vec<(usize, u64)>,
    /// What was said of those that failed.
    pub(super) said: String,
    /// Messages whose answers were right with stalls at all ports, too, where that was tried.
    #[serde(default)]
    pub(super) stalled: usize,
}

impl Simulator {
    /// Those that are installed: Icarus, which has the shortest way from Verilog to a result, and Verilator, which takes longer to
    /// begin and is faster then.
    pub(super) fn find() -> Vec<Self> {
        let all = ["iverilog", "verilator"].into_iter();
        all.filter_map(|command| Some(Simulator { command, version: version_of(command)? })).collect()
    }
}

impl TestBench {
    /// Which of these simulates it: for many messages, each of them twice, one that compiles, too.
    pub(super) fn simulator<'a>(&self, all: &'a [Simulator]) -> Option<&'a Simulator> {
        if self.stalls || self.block_bits > MOST_INTERPRETED { all.last() } else { all.first() }
    }

    /// The bench of a project in a folder of it, with the blocks of its messages.
    pub(super) fn of_project(files: &Files, folder: &str, blocks: Vec<Option<u64>>, block_bits: u64) -> Option<Self> {
        let place = format!("{folder}tb/");
        let is_bench = |path: &&String| path.starts_with(&place) && path.ends_with("_tb.v");
        let path = files.keys().find(is_bench)?;
        let dut = path.strip_prefix(&place)?.strip_suffix("_tb.v")?.to_owned();
        let answers = format!("{folder}kat/");
        let is_token = |path: &str| path.ends_with(".hex") || path.starts_with(&answers) && path.ends_with(".txt");
        let tokens = files.iter().filter(|(path, _)| is_token(path));
        let all = std::iter::once((path, &files[path])).chain(tokens);
        Some(Self {
            module: format!("{dut}_tb"),
            dut,
            files: all.map(|(path, bytes)| (path.clone(), bytes.clone())).collect(),
            blocks,
            inverse_blocks: Vec::new(),
            stalls: false,
            block_bits,
            is_new_verilog: false,
        })
    }

    /// The bench of a core with the LWC hardware API, whose messages are these: their numbers from 0 on, whether they are
    /// decrypted, and their blocks.
    pub(super) fn of_lwc(files: &Files, measured: &[(usize, bool, u64)], block_bits: u64) -> Option<Self> {
        let mut bench = Self::of_project(files, "", Vec::new(), block_bits)?;
        // That bench counts from 1 on.
        for (at, decrypts, n) in measured {
            let blocks = if *decrypts { &mut bench.inverse_blocks } else { &mut bench.blocks };
            blocks.resize(blocks.len().max(at + 2), None);
            blocks[at + 1] = Some(*n);
        }
        bench.stalls = true;
        Some(bench)
    }

    /// The bench in a folder of a project that was written, if it has one.
    pub(super) fn of_folder(folder: &Path) -> Outcome<Option<Self>> {
        let mut files = Files::new();
        for inner in ["tb", "kat"] {
            let Ok(listed) = std::fs::read_dir(folder.join(inner)) else { return Ok(None) };
            for path in listed.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                let bytes = std::fs::read(&path).map_err(|error| Error::io(path.display(), &error))?;
                files.insert(format!("{inner}/{name}"), bytes);
            }
        }
        let Some(mut bench) = Self::of_project(&files, "", Vec::new(), 0) else { return Ok(None) };
        // The bench of an operation looks for its files below a folder of that name.
        let text = String::from_utf8_lossy(&bench.files[0].1).into_owned();
        let named = text.split_once("$readmemh(\"").and_then(|(_, rest)| Some(rest.split_once('"')?.0));
        let prefix = named.and_then(|path| Some(path.split_once("kat/")?.0)).unwrap_or_default();
        if Path::new(prefix).components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
            return Err(Error::wrong(format!("{}: its bench reads files outside of it", folder.display())));
        }
        for (path, _) in &mut bench.files {
            *path = format!("{prefix}{path}");
        }
        Ok(Some(bench))
    }

    /// The same with its first messages only, which are known answers where there are some, and with less patience for tokens
    /// that must not come: simulating netlists takes long.
    pub(super) fn shortened(&self) -> Self {
        let mut bench = self.clone();
        if let Some((_, text)) = bench.files.first_mut() {
            let whole = String::from_utf8_lossy(text).into_owned();
            let n = whole.split(COUNT).nth(1).and_then(|rest| rest.split(';').next()?.parse::<usize>().ok());
            if let Some(n) = n.filter(|n| *n > MOST_OF_NETLISTS) {
                let [long, short] = [n, MOST_OF_NETLISTS].map(|n| format!("{COUNT}{n};"));
                *text = whole.replacen(&long, &short, 1).into_bytes();
            }
            *text = String::from_utf8_lossy(text).replacen(PATIENCE, LESS_PATIENCE, 1).into_bytes();
        }
        bench
    }

    /// Runs a core of this name in the bench, without stalls.
    ///
    /// # Errors
    ///
    /// What the simulator says.
    pub(super) fn run(
        &self,
        steps: &Steps,
        simulator: &Simulator,
        top: &str,
        verilog: &[(String, Vec<u8>)],
    ) -> Result<Simulated, String> {
        let mut files: Vec<(String, Vec<u8>)> = self.files.clone();
        if let Some((_, text)) = files.first_mut() {
            let [ours, theirs] = [self.dut.as_str(), top].map(|name| format!("\n  {name} dut ("));
            *text = String::from_utf8_lossy(text).replacen(&ours, &theirs, 1).into_bytes();
        }
        let digests: Vec<(&str, String)> =
            files.iter().chain(verilog).map(|(path, bytes)| (path.as_str(), digest(bytes))).collect();
        let version = if self.is_new_verilog { "2012" } else { "2005" };
        let mut parts = vec![simulator.version.as_str(), version];
        parts.extend(digests.iter().flat_map(|(path, digest)| [*path, digest.as_str()]));
        parts.extend(self.stalls.then_some("stalls"));
        let (simulated, _) = steps.once("simulate", &parts, |bench| {
            for (path, bytes) in files.iter().chain(verilog) {
                bench.write(path, bytes)?;
            }
            let sources = files.iter().take(1).chain(verilog).map(|(path, _)| path.as_str());
            let sources = sources.filter(|path| path.ends_with(".v") || path.ends_with(".sv"));
            let ran: &[&str] = if simulator.command == "iverilog" {
                let dialect = format!("-g{version}");
                let words = ["iverilog", &dialect, "-s", &self.module, "-o", "sim.vvp"];
                bench.run(words.into_iter().chain(sources))?;
                &["vvp", "-n", "sim.vvp"]
            } else {
                let words = ["verilator", "--binary", "-j", "1", "-Wno-fatal", "-Wno-WIDTH", "-Wno-STMTDLY"];
                let own = ["--top-module", &self.module, "--Mdir", "verilated", "-o", "sim"];
                bench.run(words.into_iter().chain(own).chain(sources))?;
                &["./verilated/sim"]
            };
            let run = |settings: &[&str]| read(&bench.run(ran.iter().chain(settings).copied())?.text);
            let mut simulated = run(&["+seed=1", "+stall=0", "+cycles=1"])?;
            if self.stalls {
                let stalled = run(&["+seed=1", "+stall=30"])?;
                simulated.stalled = stalled.passed;
                simulated.failed += stalled.failed;
                simulated.said = [simulated.said, stalled.said].concat();
            }
            Ok(simulated)
        })?;
        Ok(simulated)
    }

    /// The cycles that messages took; and those that decrypted ones took, in a core that does both.
    pub(super) fn cycles(&self, simulated: &Simulated, simulator: &Simulator) -> [Option<Cycles>; 2] {
        [&self.blocks, &self.inverse_blocks].map(|blocks| {
            let known = simulated.cycles.iter();
            let messages = known.filter_map(|(at, cycles)| Some(((*blocks.get(*at)?)?, *cycles)));
            let source = format!("simulated by {}, without stalls", simulator.version);
            Cycles::measured(self.block_bits, messages.collect(), source)
        })
    }

    /// What a simulation held a core to, where it was with stalls, too.
    pub(super) fn verified(&self, simulated: &Simulated, simulator: &Simulator) -> Option<String> {
        let Simulated { passed, stalled, .. } = simulated;
        self.stalls.then(|| {
            format!(
                "{passed} messages without stalls and {stalled} with stalls at all ports, simulated by {}",
                simulator.version
            )
        })
    }
}

/// What a bench says at its end.
fn read(said: &str) -> Result<Simulated, String> {
    let cycles = said.lines().filter_map(|line| {
        let (at, cycles) = line.strip_prefix("message ")?.split_once(": ")?;
        Some((at.parse().ok()?, cycles.strip_suffix(" cycles")?.parse().ok()?))
    });
    let cycles: Vec<(usize, u64)> = cycles.collect();
    let counts = toolchain::read(said);
    let [counts] = counts.values().copied().collect::<Vec<_>>()[..] else {
        return Err("the bench does not say how many messages passed".into());
    };
    let is_complaint =
        |line: &&str| !line.ends_with(" cycles") && !line.starts_with("operation ") && !line.trim().is_empty();
    let said: Vec<&str> = said.lines().filter(is_complaint).take(MOST_LINES).collect();
    Ok(Simulated { passed: counts.passed, failed: counts.failed, cycles, said: said.join("\n  "), stalled: 0 })
}

/// Lines of what a bench says of what is wrong.
const MOST_LINES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn benches_for_netlists_are_short() {
        let text = format!("  {COUNT}12;\n  if ({PATIENCE}1'b1)) begin\n");
        let files = Files::from([("tb/x_tb.v".to_owned(), text.into_bytes())]);
        let bench = TestBench::of_project(&files, "", Vec::new(), 0).expect("it is a bench");
        let short = String::from_utf8_lossy(&bench.shortened().files[0].1).into_owned();
        assert_eq!(short, format!("  {COUNT}{MOST_OF_NETLISTS};\n  if ({LESS_PATIENCE}1'b1)) begin\n"));
    }

    #[test]
    fn large_blocks_are_simulated_by_what_compiles() {
        let files = Files::from([("tb/x_tb.v".to_owned(), Vec::new())]);
        let simulators = ["iverilog", "verilator"].map(|command| Simulator { command, version: String::new() });
        for (bits, command) in [(MOST_INTERPRETED, "iverilog"), (MOST_INTERPRETED + 1, "verilator")] {
            let bench = TestBench::of_project(&files, "", Vec::new(), bits).expect("it is a bench");
            assert_eq!(bench.simulator(&simulators).map(|it| it.command), Some(command));
            assert_eq!(bench.simulator(&simulators[..1]).map(|it| it.command), Some("iverilog"));
            assert!(bench.simulator(&[]).is_none());
        }
    }

    #[test]
    fn what_a_bench_says_is_read() {
        let said = "message 0: 40 cycles\nmessage 1: token 3 of Output is 00 and not 01\nmessage 2: 60 cycles\noperation encrypt: 2 passed, 1 failed\n";
        let found = read(said).expect("it is complete");
        assert_eq!((found.passed, found.failed, found.cycles.as_slice()), (2, 1, &[(0, 40), (2, 60)][..]));
        assert_eq!(found.said, "message 1: token 3 of Output is 00 and not 01");
        assert!(read("message 0: 40 cycles\n").is_err());
    }
}
