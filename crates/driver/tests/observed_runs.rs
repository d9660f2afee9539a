//! What a run tells of itself: profiles, FIFO sizes that suffice, traces of some instances.

use std::path::Path;
use std::process::Command;

const NETWORK: &str = "network Sums() uint(size=8) In ==> uint(size=16) Out :
entities two = Pairs(); again = Pairs(); show = Pass();
structure In --> two.X; two.Y --> again.X; again.Y --> show.X; show.Y --> Out;
end
";

const PAIRS: &str = "actor Pairs() uint(size=8) X ==> uint(size=16) Y :
    sum: action X:[a, b] ==> Y:[a + b] end
end
";

const PASS: &str = "actor Pass() uint(size=16) X ==> uint(size=16) Y :
    on: action X:[a] ==> Y:[a] end
end
";

/// Runs the command in a folder that has the network; what it wrote to standard output and to standard error.
fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    for (name, text) in [("Sums.nl", NETWORK), ("Pairs.cal", PAIRS), ("Pass.cal", PASS)] {
        std::fs::write(folder.join(name), text).expect("the folder is writable");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
    let output = command.current_dir(folder).args(arguments).output().expect("the command starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("what is said is text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

const INPUT: &str = "In=int:1,2,3,4,5,6,7,8";

fn compiler_is_here() -> bool {
    ["gcc", "clang", "cc"].iter().any(|name| Command::new(name).arg("--version").output().is_ok())
}

#[test]
fn a_profile_counts_firings_and_tokens_on_each_engine() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for engine in ["interp", "native"] {
        if engine == "native" && !compiler_is_here() {
            continue;
        }
        let arguments = ["run", "Sums.nl", "--in", INPUT, "--out", "Out=int:", "--engine", engine, "--profile=p.json"];
        let (status, out, error) = run(folder.path(), &arguments);
        assert_eq!((status, out.as_str()), (Some(0), "10,26\n"), "{error}");
        let text = std::fs::read_to_string(folder.path().join("p.json")).expect("the profile was written");
        let profile: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        let firings: Vec<_> = ["sum", "sum", "on"]
            .iter()
            .zip(profile["instances"].as_array().expect("instances"))
            .map(|(action, instance)| instance["firings"][action].as_u64())
            .collect();
        assert_eq!(firings, [Some(4), Some(2), Some(2)]);
        let most: Vec<_> =
            profile["fifos"].as_array().expect("FIFOs").iter().map(|fifo| fifo["most"].as_u64()).collect();
        assert_eq!(most, [Some(8), Some(4), Some(2), Some(2)], "{engine}");
        assert!(profile["instances"][0]["nanoseconds"].as_u64().is_some_and(|time| time > 0));
    }
    let (_, _, table) = run(folder.path(), &["run", "Sums.nl", "--in", INPUT, "--out", "Out=int:", "--profile"]);
    assert!(table.contains("  two.Y --> again.X") && table.contains("  show"), "{table}");
}

#[test]
fn fifo_sizes_that_suffice_are_small_and_do() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (status, _, error) = run(folder.path(), &["run", "Sums.nl", "--in", INPUT, "--write-fifos", "f.xcf"]);
    assert_eq!(status, Some(0), "{error}");
    let sizes = std::fs::read_to_string(folder.path().join("f.xcf")).expect("the sizes were written");
    assert!(sizes.contains(r#"source="two" source-port="Y" target="again" target-port="X" size="2""#), "{sizes}");
    for engine in ["interp", "native"].into_iter().filter(|engine| *engine == "interp" || compiler_is_here()) {
        let arguments =
            ["run", "Sums.nl", "--in", INPUT, "--out", "Out=int:", "--mapping", "f.xcf", "--engine", engine];
        let (status, out, error) = run(folder.path(), &arguments);
        assert_eq!((status, out.as_str()), (Some(0), "10,26\n"), "{error}");
    }
}

#[test]
fn a_division_takes_weights_from_a_profile_of_the_same_network() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    run(folder.path(), &["run", "Sums.nl", "--in", INPUT, "--engine", "interp", "--profile=p.json"]);
    let text = std::fs::read_to_string(folder.path().join("p.json")).expect("the profile was written");
    let mut profile: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    for (instance, nanoseconds) in [(0, 1_000_000_000u64), (1, 500_000_000), (2, 500_000_000)] {
        profile["instances"][instance]["nanoseconds"] = nanoseconds.into();
    }
    std::fs::write(folder.path().join("p.json"), profile.to_string()).expect("the folder is writable");
    let (status, out, error) = run(folder.path(), &["analyze", "Sums.nl", "--partitions", "2", "--weights", "p.json"]);
    assert_eq!(status, Some(0), "{error}");
    assert!(out.contains("p0   50.0 % of the work: two\n  p1   50.0 % of the work: again, show\n"), "{out}");
    let (status, _, error) = run(folder.path(), &["analyze", "Pass.cal", "--partitions", "2", "--weights", "p.json"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("the profile is of `Sums`, not of `Pass`: 3 instances there, 1 here"), "{error}");
    std::fs::write(folder.path().join("p.json"), "{}").expect("the folder is writable");
    let (status, _, error) = run(folder.path(), &["analyze", "Sums.nl", "--partitions", "2", "--weights", "p.json"]);
    assert_eq!(status, Some(1));
    assert!(error.contains("p.json: no profile as `run --profile=FILE` writes it"), "{error}");
}

#[test]
fn a_trace_has_the_instances_that_it_is_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let traced = |pattern: &str| {
        let arguments = ["run", "Sums.nl", "--in", INPUT, "--trace", "t.jsonl", "--trace-only", pattern];
        let (status, _, error) = run(folder.path(), &arguments);
        let lines = std::fs::read_to_string(folder.path().join("t.jsonl")).unwrap_or_default();
        (status, lines.lines().count(), error)
    };
    for (pattern, lines) in [("two", 4), ("*", 8), ("a*n", 2), ("*o*", 6), ("again", 2), ("t??", 4)] {
        let (status, found, error) = traced(pattern);
        assert_eq!((status, found), (Some(0), lines), "{pattern}: {error}");
    }
    let (status, _, error) = traced("tow*");
    assert_eq!(status, Some(2));
    assert!(error.contains("there is no instance `tow*`; instances are two, again, show"), "{error}");
}
