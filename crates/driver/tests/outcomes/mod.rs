//! What tests of the command from outside share: a folder with files, a run in it, and what came of that.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Where a test works.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder can be made")
}

/// A file in the folder.
pub fn write(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.path().join(name), text).expect("the folder is writable");
}

/// Runs the command in a folder, with `input` on a pipe as its standard input.
pub fn headrace(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_headrace"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("it was asked for");
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || {
        // A command that does not want the input closes it.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    feeder.join().expect("feeding does not panic");
    output
}

/// Its exit status; -1 where a signal ended it.
pub fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// What it printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it said.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
