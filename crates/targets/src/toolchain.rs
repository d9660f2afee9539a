//! How projects are built and tested on a machine, as data: which tools must be there, which commands build some projects
//! at once and run the test of each, and how what a test says is read. Those who start processes do what stands here.
//!
//! Each target has a `toolchain.rs` in its folder; [`crate::Target::toolchains`] lists what is in it. The test of every
//! project of operations says in the same words what came of each operation:
//!
//! ```text
//! operation ctr: 12 passed, 0 failed
//! ```

use crate::project::Files;
use std::collections::BTreeMap;

/// A tool that must be there.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// Commands of which one must be there, the best first.
    pub commands: &'static [&'static str],
    /// The first number of the oldest version that will do; 0 for any.
    pub oldest: u32,
    /// The package of Debian that has it; empty: it may be missing, and its command is empty then.
    pub package: &'static str,
}

/// What builds and runs projects of a target.
#[derive(Clone, Copy, Debug)]
pub struct Toolchain {
    /// What the command line calls it.
    pub name: &'static str,
    /// What must be there. The first makes of a project what runs, and may be replaced by another of its kind.
    pub tools: &'static [Tool],
    /// How many projects are best built at once.
    pub at_once: usize,
    /// What stands around projects that are built at once.
    pub join: fn(&[Member<'_>]) -> Files,
    /// What builds them, command by command, in the folder that they lie in.
    pub build: fn(&Batch<'_>) -> Vec<Step>,
    /// What runs the test of one of them, in the same folder.
    pub test: fn(&Batch<'_>, &Member<'_>) -> Step,
    /// What runs programs that are for another processor than this machine's.
    pub emulator: Option<Emulator>,
    /// Whether a network is one program or datapath where it can; else every actor stays by itself.
    pub fused: bool,
}

/// What runs programs for another processor.
#[derive(Clone, Copy, Debug)]
pub struct Emulator {
    /// Which tool it is, by its number.
    pub tool: usize,
    /// What it is given in front of the program.
    pub arguments: &'static [&'static str],
}

impl Toolchain {
    /// What runs a program that was built here, by the commands for the tools.
    pub fn running(&self, tools: &[String], program: &str) -> Step {
        let emulator = self.emulator.iter().flat_map(|emulator| {
            let command = tools.get(emulator.tool).map(String::as_str);
            command.into_iter().chain(emulator.arguments.iter().copied())
        });
        Step::new(emulator.chain([program]))
    }
}

/// One of the projects that are built at once. No two are of the same parameter set.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// Its folder.
    pub folder: String,
    /// Its parameter set.
    pub set: &'a str,
    /// Its files.
    pub files: &'a Files,
}

/// Projects that are built at once.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The toolchain.
    pub toolchain: &'a Toolchain,
    /// The projects.
    pub members: &'a [Member<'a>],
    /// The command for each tool of the toolchain.
    pub tools: &'a [String],
    /// How many processes a command may start at the same time.
    pub jobs: usize,
}

impl Batch<'_> {
    /// The command for a tool, by its number.
    pub fn tool(&self, number: usize) -> &str {
        self.tools.get(number).map_or("", String::as_str)
    }
}

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The program and what it is given.
    pub words: Vec<String>,
    /// Variables of its environment.
    pub variables: Vec<(&'static str, String)>,
}

impl Step {
    /// A command of these words.
    pub fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), variables: Vec::new() }
    }

    /// The same in an environment with this variable.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.push((name, value.into()));
        self
    }
}

/// Nothing around projects.
pub(crate) fn alone(_: &[Member<'_>]) -> Files {
    Files::new()
}

/// The command itself: whoever looks for tools is it.
pub const ITSELF: Tool = Tool { commands: &["headrace"], oldest: 0, package: "headrace" };

/// A C compiler, which several toolchains need.
pub(crate) const C_COMPILER: Tool = Tool { commands: &["gcc", "clang", "cc"], oldest: 0, package: "gcc libc6-dev" };

/// `make`, which several toolchains need.
pub(crate) const MAKE: Tool = Tool { commands: &["make"], oldest: 0, package: "make" };

/// Runs the test of a project whose Makefile builds what it needs.
pub(crate) fn make_test(batch: &Batch<'_>, member: &Member<'_>) -> Step {
    Step::new([batch.tool(1), "--no-print-directory", "-s", "-C", &member.folder, "test"])
}

/// What the test of a project said of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Attempts that gave what they must.
    pub passed: usize,
    /// Attempts that did not.
    pub failed: usize,
}

/// What the test of a project said of each operation.
pub fn read(said: &str) -> BTreeMap<String, Counts> {
    let line = |line: &str| -> Option<(String, Counts)> {
        let line = line.trim_start();
        // CTest puts the number of a test in front of all that it says.
        let line = line.split_once(": ").filter(|(at, _)| at.parse::<u32>().is_ok()).map_or(line, |(_, rest)| rest);
        let (operation, counts) = line.strip_prefix("operation ")?.split_once(": ")?;
        let (passed, failed) = counts.trim_end().strip_suffix(" failed")?.split_once(" passed, ")?;
        Some((operation.to_owned(), Counts { passed: passed.parse().ok()?, failed: failed.parse().ok()? }))
    };
    said.lines().filter_map(line).collect()
}

/// The toolchain of this name.
pub fn named(name: &str) -> Option<&'static Toolchain> {
    crate::ALL.iter().flat_map(|target| target.toolchains).find(|toolchain| toolchain.name == name)
}

/// The toolchains of all targets whose projects have a test on known answers of the library.
pub fn of_known_answers() -> impl Iterator<Item = &'static Toolchain> {
    crate::ALL.iter().filter(|target| target.known_answers).flat_map(|target| target.toolchains)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_tests_say_is_read_wherever_it_stands() {
        let said = "ctr: result 3, 16 bytes\noperation ctr: 11 passed, 1 failed\n1: operation cbc-encrypt: 4 passed, 0 failed\n\
                    operation x: many passed, 0 failed\naes128: 15 passed, 1 failed\n";
        let counts = |passed, failed| Counts { passed, failed };
        let wanted = [("cbc-encrypt".to_owned(), counts(4, 0)), ("ctr".to_owned(), counts(11, 1))];
        assert_eq!(read(said), BTreeMap::from(wanted));
    }

    #[test]
    fn every_target_has_a_toolchain_and_every_toolchain_a_name_of_its_own() {
        assert!(crate::ALL.iter().all(|target| target.toolchains.iter().any(|chain| chain.name == target.name)));
        let all = || crate::ALL.iter().flat_map(|target| target.toolchains);
        let names: BTreeSet<&str> = all().map(|chain| chain.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|chain| !chain.tools.is_empty() && chain.at_once > 0));
    }
}
