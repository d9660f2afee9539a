//! What tests of projects share that `headrace build` makes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

/// All blocks of commands of a README.
pub fn commands(readme: &str) -> String {
    let mut blocks = String::new();
    let mut inside = false;
    for line in readme.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            _ if inside => blocks.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    blocks
}

/// Where projects are made.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder can be made"))
    }

    /// A project for a target.
    pub fn build(&self, target: &str, what: &[&str]) -> PathBuf {
        let name = Path::new(what[0]).file_stem().expect("a name");
        let project = self.0.path().join("projects").join(name);
        let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
        self.run(build.arg("build").args(what).args(["--target", target, "-o"]).arg(&project));
        project
    }

    /// Runs a command in the folder, which must end well, and gives all that it said.
    pub fn run(&self, command: &mut Command) -> String {
        self.run_in(self.0.path(), command)
    }

    /// The same in a project.
    pub fn run_in(&self, project: &Path, command: &mut Command) -> String {
        let output = command.current_dir(project).output().expect("the command starts");
        let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command:?}:\n{said}");
        said
    }

    /// An actor with wide and narrow numbers.
    pub fn write_wide(&self) -> [&'static str; 1] {
        let wide = "actor Wide() uint(size=100) In, int(size=7) Small ==> uint(size=100) Out, bool Odd:
            int(size=130) sum := -1;
            action In:[x], Small:[y] ==> Out:[sum / 3], Odd:[(sum & 1) = 1]
            do sum := sum * 5 + (x << 9) - y; end
        end";
        self.write("Wide.cal", wide);
        ["Wide.cal"]
    }

    /// An actor that prints.
    pub fn write_tells(&self) -> [&'static str; 1] {
        let tells = "actor Tells() uint(size=8) In ==> uint(size=8) Out:
            action In:[x] ==> Out:[x + 1] do println(x); end
        end";
        self.write("Tells.cal", tells);
        ["Tells.cal"]
    }

    /// Where it is.
    #[allow(dead_code, reason = "not each test needs it")]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// A file in the folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("the folder is writable");
    }
}

/// As many of these as there is time for, one at least, from a place on that `TARGET_SEED` chooses, else the day, so that each
/// comes first in turn. `make matrix` has them all.
#[allow(dead_code, reason = "not each test needs it")]
pub fn sample<T: Copy>(all: &[T]) -> impl Iterator<Item = T> {
    let number = |name: &str, usual: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let today = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60));
    let (first, seconds) = (number("TARGET_SEED", today) as usize % all.len(), number("SAMPLE_SECONDS", 8));
    eprintln!("a sample, repeated with TARGET_SEED={first}");
    let began = Instant::now();
    (0..all.len())
        .map(move |at| all[(first + at) % all.len()])
        .enumerate()
        .take_while(move |(at, _)| *at == 0 || began.elapsed() < Duration::from_secs(seconds))
        .map(|(_, one)| one)
}

/// Programs of the conformance tests that print and call natives.
pub fn conformance() -> [String; 3] {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance");
    ["CopiesInput.cal", "NativeInGuard.cal", "Halves.cal"].map(|name| programs.join(name).display().to_string())
}

/// `headrace build` with these arguments: it must say that they are wrong, for this reason, and make nothing.
#[allow(dead_code, reason = "not each test needs it")]
pub fn refused(arguments: &[&str], why: &str) {
    let folder = Folder::new();
    let mut build = Command::new(env!("CARGO_BIN_EXE_headrace"));
    build.arg("build").args(arguments).args(["-o", "nowhere"]).current_dir(folder.path());
    let output = build.output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}:\n{said}");
    assert!(said.contains(why), "{arguments:?}:\n{said}");
    assert!(!folder.path().join("nowhere").exists(), "{arguments:?}");
}

/// Whether a tool is there; says so where it is not.
pub fn is_here(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no {tool}");
    }
    found
}
