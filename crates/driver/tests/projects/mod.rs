//! What tests of projects share that `headrace build` makes.

use std::path::{Path, PathBuf};
use std::process::Command;

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

    /// Runs a command in the folder, which must end well, and gives what it said on its standard output.
    pub fn run(&self, command: &mut Command) -> String {
        let output = command.current_dir(self.0.path()).output().expect("the command starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command:?}:\n{out}{err}");
        out.into_owned()
    }

    /// A file in the folder.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("the folder is writable");
    }
}

/// A program of the conformance tests.
pub fn conformance(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(name).display().to_string()
}

/// Whether a tool is there; says so where it is not.
pub fn is_here(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no {tool}");
    }
    found
}
