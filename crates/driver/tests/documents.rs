//! What the documents say is held against what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What stands between back quotes, outside of code blocks.
fn quoted(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, block) in text.split("```").enumerate() {
        if at % 2 == 0 {
            found.extend(block.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

#[test]
fn every_path_in_the_documents_exists() {
    let folders = ["crates/", "ctl/", "std/", "docs/", "bench/", "tests/", "runtime/", "fuzz/", "scripts/"];
    let mut n_checked = 0;
    let measured = ["docs/measurements.md", "docs/hardware.md", "docs/authenticated-hardware.md"];
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].into_iter().chain(measured) {
        let text = read(document);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).map(str::to_owned);
        let quoted = quoted(&text).into_iter().filter(|path| folders.iter().any(|folder| path.starts_with(folder)));
        // Links are followed from where the document is.
        let beside = root().join(document).parent().expect("it lies in a folder").to_owned();
        let quoted = quoted.map(|path| (root(), path));
        let paths = quoted.chain(links.map(|path| (beside.clone(), path)));
        for (folder, path) in paths.filter(|(_, path)| !path.contains(['<', ' ']) && !path.contains("://")) {
            n_checked += 1;
            assert!(folder.join(&path).exists(), "{document} names `{path}`, which is not there");
        }
    }
    assert!(n_checked > 20, "only {n_checked} paths were found");
}

/// Direct dependencies of a crate on other parts, those of tests left out.
fn dependencies(part: &str) -> BTreeSet<String> {
    let manifest = read(&format!("crates/{part}/Cargo.toml"));
    let section =
        manifest.split("\n[").find(|section| section.starts_with("dependencies]")).unwrap_or_default().to_owned();
    let names = section.lines().filter_map(|line| line.split([' ', '.', '=']).next());
    // One part has the name of the whole.
    let named =
        |name: &str| if name == "headrace" { Some(name) } else { name.strip_prefix("headrace-") }.map(str::to_owned);
    names.filter_map(named).collect()
}

#[test]
fn parts_use_only_what_the_architecture_says() {
    let text = read("ARCHITECTURE.md");
    let mut allowed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>();
        let part = cells[0].trim_matches('`').to_owned();
        // A row that says `all` allows everything but what it excepts.
        let uses = if cells[2].starts_with("all") { BTreeSet::from(["*".to_owned()]) } else { names(cells[2]) };
        allowed.insert(part, uses);
    }
    let crates: BTreeSet<String> = fs::read_dir(root().join("crates"))
        .expect("the crates are there")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| root().join("crates").join(name).join("Cargo.toml").exists())
        .collect();
    assert_eq!(allowed.keys().cloned().collect::<BTreeSet<_>>(), crates, "the table lists the crates");
    for part in &crates {
        let mut reach = allowed[part].clone();
        if reach.contains("*") {
            assert!(!dependencies(part).contains("testkit"), "`{part}` must not use `testkit`");
            continue;
        }
        loop {
            let further: BTreeSet<String> = reach.iter().flat_map(|used| allowed[used].clone()).collect();
            let before = reach.len();
            reach.extend(further);
            if reach.len() == before {
                break;
            }
        }
        for used in dependencies(part) {
            assert!(reach.contains(&used), "`{part}` uses `{used}`, which ARCHITECTURE.md does not allow");
        }
    }
}

#[test]
fn tables_have_every_parameter_set() {
    let (readme, details) = (read("README.md"), read("docs/known-answers.md"));
    let works = details.split("<!-- generated: known-answers -->").next().unwrap_or_default();
    let listed = Command::new(env!("CARGO_BIN_EXE_headrace")).args(["list", "primitives", "--json"]).output();
    let listed: serde_json::Value = serde_json::from_slice(&listed.expect("it runs").stdout).expect("it is JSON");
    let rows = listed.as_array().expect("it is a list");
    let operations: Vec<(&str, &str)> = rows
        .iter()
        .flat_map(|row| row["details"]["operations"].as_array().expect("primitives have operations"))
        .map(|row| (row["set"].as_str().expect("a set"), row["operation"].as_str().expect("an operation")))
        .collect();
    assert!(!operations.is_empty());
    for (set, operation) in operations {
        for (document, table) in [("README.md", readme.as_str()), ("docs/known-answers.md", works)] {
            assert!(table.contains(&format!("`{set}`")), "{document} has no row for `{set}`; run `make docs`");
        }
        let row = format!("| `{set}` | {operation} |");
        assert!(details.contains(&row), "docs/known-answers.md has no row for `{set} {operation}`; run `make docs`");
    }
}

/// A document whose tables of measurements are renewed from these results.
fn renewed(document: &str, results: &[PathBuf]) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let copy = folder.path().join("document.md");
    fs::write(&copy, read(document)).expect("the folder is writable");
    let mut bench = Command::new(env!("CARGO_BIN_EXE_headrace"));
    bench.arg("bench").args(results.iter().flat_map(|path| [Path::new("--table"), path])).arg("--into").arg(&copy);
    assert!(bench.status().expect("it runs").success());
    fs::read_to_string(&copy).expect("it was written")
}

#[test]
fn measurements_are_what_the_results_say() {
    let results = fs::read_dir(root().join("bench/results")).expect("there are results");
    let mut results: Vec<_> = results.filter_map(|entry| Some(entry.ok()?.path())).collect();
    results.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    results.sort();
    let [referee, hardware] = ["referee", "hardware"].map(|name| root().join(format!("bench/results/{name}.json")));
    // Hardware has a document of its own, and so have simulated machines.
    let [array, stream, studied] =
        ["array", "stream", "caesar-hardware"].map(|name| root().join(format!("bench/results/{name}.json")));
    results.retain(|path| ![&hardware, &array, &stream, &studied].contains(&path));
    let documents = [
        ("docs/measurements.md", results),
        ("README.md", vec![referee]),
        ("docs/hardware.md", vec![hardware]),
        ("docs/authenticated-hardware.md", vec![studied]),
        ("docs/array.md", vec![array]),
        ("docs/stream-processors.md", vec![stream]),
    ];
    for (document, results) in documents {
        let is_same = renewed(document, &results) == read(document);
        assert!(is_same, "{document} is not what bench/results say; run `make docs`");
    }
}

/// What the public bench said of cores with the LWC hardware API, as scripts/lwc.sh writes it down.
#[test]
fn cores_pass_the_public_bench_and_their_mutants_do_not() {
    let text = read("docs/authenticated-hardware.md");
    let table = text.split("<!-- generated: public bench -->").nth(1).and_then(|rest| rest.split("<!-- end").next());
    let cells =
        |line: &str| -> Vec<String> { line.trim_matches('|').split('|').map(|one| one.trim().into()).collect() };
    let mut lines = table.expect("it has the table").lines().filter(|line| line.starts_with('|')).map(cells);
    let head = lines.next().expect("it has a head");
    let at = |name: &str| head.iter().position(|cell| cell == name).unwrap_or_else(|| panic!("a column `{name}`"));
    let studied: toml::Value = toml::from_str(&read("bench/caesar.toml")).expect("it is TOML");
    let studied: BTreeSet<&str> =
        studied["core"].as_array().into_iter().flatten().filter_map(|core| core["set"].as_str()).collect();
    let mut cores = BTreeSet::new();
    for row in lines.filter(|row| row[0].starts_with('`')) {
        let (ran, wanted) = row[at("run")].split_once(" of ").expect("so many of so many");
        assert!(ran == wanted && ran.parse::<u64>().is_ok_and(|n| n > 0), "{row:?}");
        let settings = [at("no stalls"), at("stalls at all ports"), at("stalls at inputs"), at("stalls at the output")];
        assert!(settings.into_iter().chain([at("cycles measured")]).all(|setting| row[setting] == "PASS"), "{row:?}");
        assert_eq!(row[at("an answer changed")], "FAIL", "{row:?}");
        let mutants = [at("mutant: any-tag"), at("mutant: last-byte")].map(|mutant| row[mutant].as_str());
        let has_tag = row[at("to be refused")] != "0";
        assert_eq!(mutants, if has_tag { ["FAIL"; 2] } else { ["–"; 2] }, "{row:?}");
        assert!(!row[at("bench")].contains("changed"), "{row:?}");
        cores.insert(row[0].trim_matches('`').to_owned());
    }
    for core in ["aes128-gcm", "ascon-aead128", "sha256"] {
        assert!(cores.contains(core), "{core}");
    }
    assert!(studied.iter().filter(|core| cores.contains(**core)).count() >= 6, "{cores:?}");
}

/// Who describes an array has but its page: that has every key of its file and no other.
#[test]
fn every_key_of_an_array_is_explained() {
    let listed = Command::new(env!("CARGO_BIN_EXE_headrace")).args(["list", "platforms", "--json"]).output();
    let listed: serde_json::Value = serde_json::from_slice(&listed.expect("it runs").stdout).expect("it is JSON");
    let row = listed.as_array().expect("it is a list").iter().find(|row| row["name"] == "asap2").expect("it is there");
    fn keys(value: &serde_json::Value, before: &str, all: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(inner) if !inner.contains_key("value") => {
                let join = |key: &str| if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
                inner.iter().for_each(|(key, value)| keys(value, &join(key), all));
            }
            serde_json::Value::Array(several) => several.iter().for_each(|one| keys(one, before, all)),
            _ => _ = all.insert(before.to_owned()),
        }
    }
    let mut there = BTreeSet::new();
    keys(&row["details"], "", &mut there);
    // That follows from the name of the file.
    there.remove("name");
    let text = read("docs/array.md");
    let section = text.split("\n## ").find(|section| section.starts_with("An array\n")).expect("it is there");
    let explained: BTreeSet<String> =
        section.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.to_owned())).collect();
    assert_eq!(explained, there, "the keys that docs/array.md explains, and those of `asap2`");
}

/// What documents show of the library stands there.
#[test]
fn excerpts_are_of_the_files_that_are_named() {
    let text = read("README.md");
    let parts: Vec<&str> = text.split("```").collect();
    let mut n_excerpts = 0;
    for (at, block) in parts.iter().enumerate().skip(1).step_by(2) {
        let Some(excerpt) = block.strip_prefix("cal library\n") else { continue };
        let path = parts[at - 1].rsplit('`').nth(1).expect("the text before names the file");
        assert!(read(path).contains(excerpt), "README.md shows what `{path}` does not have");
        n_excerpts += 1;
    }
    assert!(n_excerpts > 0);
}

/// What READMEs of primitives say of the time of variants is what their manifests say.
#[test]
fn readmes_call_those_variants_constant_time_that_are() {
    let listed = Command::new(env!("CARGO_BIN_EXE_headrace")).args(["list", "primitives", "--json"]).output();
    let listed: serde_json::Value = serde_json::from_slice(&listed.expect("it runs").stdout).expect("it is JSON");
    let mut n_claims = 0;
    for row in listed.as_array().expect("it is a list") {
        let (folder, operations) = (row["name"].as_str().expect("a folder"), &row["details"]["operations"]);
        let variants: Vec<&serde_json::Value> = operations
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["variants"].as_array())
            .flatten()
            .collect();
        let text = fs::read_to_string(root().join(folder).join("README.md")).unwrap_or_default();
        // `boolean` (constant-time), or a row of a table of variants.
        let named = text.match_indices("` (constant-time)").filter_map(|(end, _)| text[..end].rsplit('`').next());
        let rows = text.lines().filter(|line| line.starts_with("| `") && line.contains(", constant-time |"));
        for claimed in named.chain(rows.filter_map(|line| line.split('`').nth(1))) {
            n_claims += 1;
            // Modes have exceptions that are not of the cipher.
            let is = variants.iter().any(|variant| variant["name"] == claimed && variant["constant_time"] == true);
            assert!(is, "{folder}/README.md calls `{claimed}` constant-time, its manifest does not");
        }
    }
    assert!(n_claims > 3, "only {n_claims} claims were found");
}

#[test]
fn the_readme_asks_for_the_rust_that_the_workspace_needs() {
    let manifest = read("Cargo.toml");
    let version = manifest.split("rust-version = \"").nth(1).and_then(|rest| rest.split('"').next());
    let version = version.expect("the workspace says its version of Rust");
    assert!(read("README.md").contains(&format!("Rust {version} or newer")), "README.md asks for another Rust");
}

/// Runs the commands of the README in a folder that holds the files it tells to write, and compares what they print.
#[test]
fn the_walk_through_of_the_readme_works() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let text = read("README.md");
    let command = Path::new(env!("CARGO_BIN_EXE_headrace"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", command.parent().expect("it lies in a folder").display());
    let parts: Vec<&str> = text.split("```").collect();
    let mut n_commands = 0;
    for (at, block) in parts.iter().enumerate().skip(1).step_by(2) {
        if let Some(source) = block.strip_prefix("cal\n") {
            let name = parts[at - 1].rsplit('`').nth(1).expect("the text before names the file");
            fs::write(folder.path().join(name), source).expect("the folder is writable");
        } else if let Some(session) = block.strip_prefix("console\n") {
            for step in session.split("$ ").skip(1) {
                let (line, expected) = step.split_once('\n').expect("a command ends its line");
                let ran = Command::new("sh")
                    .args(["-c", &format!("{line} 2>&1")])
                    .current_dir(folder.path())
                    .env("PATH", &path)
                    .output()
                    .expect("there is a shell");
                let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
                let trimmed =
                    |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned();
                assert_eq!(trimmed(&printed), trimmed(expected), "$ {line}");
                n_commands += 1;
            }
        }
    }
    assert!(n_commands >= 6, "only {n_commands} commands were found");
}

#[test]
fn a_library_that_runs_no_tests_has_none() {
    let crates = std::fs::read_dir(root().join("crates")).expect("the crates are there");
    for part in crates.map(|entry| entry.expect("an entry").path()).filter(|path| path.join("Cargo.toml").is_file()) {
        let manifest = std::fs::read_to_string(part.join("Cargo.toml")).expect("it can be read");
        let has_none = |line: &str| manifest.lines().any(|it| it.split('#').next().is_some_and(|it| it.trim() == line));
        for (line, shows) in [("test = false", has_unit_test as fn(&str) -> bool), ("doctest = false", has_example)] {
            if has_none(line) {
                let with = sources(&part.join("src"))
                    .into_iter()
                    .find(|path| shows(&std::fs::read_to_string(path).expect("it can be read")));
                assert_eq!(with, None, "{}: `{line}`", part.display());
            }
        }
    }
    assert!(has_example("//! ```\n//! run()\n//! ```\n") && has_example("    /// ```rust,no_run\n"));
    assert!(!has_example("/// ```text\n/// picture\n/// ```\n"));
}

fn has_unit_test(text: &str) -> bool {
    text.contains("#[test]")
}

/// Whether a comment has a block that rustdoc would run: one without a language, or of Rust.
fn has_example(text: &str) -> bool {
    let mut inside = false;
    text.lines().any(|line| {
        let line = line.trim_start();
        let Some(comment) = line.strip_prefix("//!").or_else(|| line.strip_prefix("///")) else { return false };
        let Some(language) = comment.trim_start().strip_prefix("```") else { return false };
        inside = !inside;
        inside && (language.is_empty() || language.starts_with("rust"))
    })
}

/// All files of Rust below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}
