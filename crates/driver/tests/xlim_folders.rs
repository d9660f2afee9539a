//! Folders that `headrace build --target xlim` makes: their tests pass, run by the command itself; what the format lacks is said.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::Folder;
use std::process::Command;

fn tested(folder: &Folder, what: &[&str]) -> String {
    let project = folder.build("xlim", what);
    let mut test = Command::new("sh");
    test.arg(project.join("test.sh")).env("HEADRACE", env!("CARGO_BIN_EXE_headrace"));
    folder.run(&mut test)
}

#[test]
fn operations_give_known_answers() {
    let folder = Folder::new();
    for what in [&["hex"][..], &["chacha20", "--operation", "stream"]] {
        let said = tested(&folder, what);
        assert!(said.contains(" passed, 0 failed") && !said.contains(": 0 passed"), "{what:?}:\n{said}");
    }
}

#[test]
fn networks_do_what_the_interpreter_does() {
    let folder = Folder::new();
    let wide = folder.write_wide();
    assert!(tested(&folder, &wide).contains("1 passed, 0 failed"));
}

#[test]
fn what_the_format_lacks_is_said() {
    let folder = Folder::new();
    let tells = folder.write_tells();
    let mut build = headrace();
    let output = build.current_dir(folder.path()).args(["build", tells[0], "--target", "xlim", "-o", "tells"]).output();
    let output = output.expect("the command starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("XLIM cannot express printing") && said.contains("Tells.cal:2:"), "{said}");
    assert!(said.contains("take `print` out"), "{said}");
    assert!(!folder.path().join("tells").exists(), "something was written");
}

fn headrace() -> Command {
    Command::new(env!("CARGO_BIN_EXE_headrace"))
}

/// A design that somebody wrote by hand.
fn sums() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/xlim/Sums.xlim");
    path.display().to_string()
}

#[test]
fn designs_run_and_wrong_ones_are_shown_with_their_place() {
    let folder = Folder::new();
    let run = |path: &str| {
        let mut run = headrace();
        run.args(["run", path, "--in", "Count=int:2", "--in", "In=int:5,6", "--out", "Out=int:"]);
        let output = run.current_dir(folder.path()).output().expect("the command starts");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let (status, shown, said) = run(&sums());
    assert_eq!((status, shown.as_str()), (Some(0), "11\n"), "{said}");
    let wrong = std::fs::read_to_string(sums()).expect("it is there").replace("kind=\"$gt\"", "kind=\"$greater\"");
    folder.write("Wrong.xlim", &wrong);
    let (status, _, said) = run("Wrong.xlim");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("Wrong.xlim:") && said.contains("`$greater` is no operation"), "{said}");
    let (status, _, said) = run("Missing.xlim");
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("Missing.xlim"), "{said}");
}

#[test]
fn options_that_mean_nothing_to_designs_are_refused() {
    let folder = Folder::new();
    for (option, named) in [
        (&["--profile"][..], "--profile"),
        (&["--natives", "mine.c"], "--natives"),
        (&["--write-fifos", "sizes.xcf"], "--write-fifos"),
        (&["--lenient-indices"], "--lenient-indices"),
        (&["--set", "N=1"], "--set"),
        (&["--engine", "interp"], "--engine"),
    ] {
        let mut run = headrace();
        run.args(["run", &sums(), "--in", "Count=int:2", "--in", "In=int:5,6", "--out", "Out=int:"]).args(option);
        let output = run.current_dir(folder.path()).output().expect("the command starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{option:?}: {said}");
        assert!(said.contains(named) && said.contains("designs of XLIM"), "{option:?}: {said}");
    }
}
