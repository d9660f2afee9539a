//! `headrace test --on` targets: projects are built and run, a target whose tool is missing says so, and what goes wrong is
//! seen, whichever tool does it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The answer of FIPS 180-4 to `abc`, and one that differs in its last bit.
const RIGHT: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const WRONG: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ac";

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(folder.path().join("work")).expect("the folder is writable");
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A known answer of SHA-256.
    fn answer(&self, digest: &str) {
        let record = format!("Count = 1\nMsg = 616263\nMD = {digest}\n");
        fs::write(self.path().join("sha256.rsp"), record).expect("the folder is writable");
    }

    /// A command that answers to the question for its version, and then does this.
    fn tool(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo v99.0 && exit 0\n{text}\n");
        fs::write(&path, script).expect("the folder is writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        path.display().to_string()
    }

    /// `headrace test` with temporary folders inside, which must be gone afterwards.
    fn test(&self, arguments: &[&str], path: Option<&Path>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
        command.arg("test").args(arguments).current_dir(self.path()).env("TMPDIR", self.path().join("work"));
        if let Some(path) = path {
            command.env("PATH", path);
        }
        let output = command.output().expect("it starts");
        let left: Vec<_> = fs::read_dir(self.path().join("work")).expect("the folder is there").flatten().collect();
        assert!(left.is_empty(), "{arguments:?} leaves {left:?}");
        output
    }

    /// The same for the one answer in WebAssembly, with this in the place of Node.js.
    fn on_node(&self, node: &str, more: &[&str]) -> (i32, String) {
        let arguments = ["sha256", "--vectors", "sha256.rsp", "--on", "wasm", "--compiler", node];
        let output = self.test(&[&arguments[..], more].concat(), None);
        (output.status.code().unwrap_or(-1), said(&output))
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn has(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("not run: no {tool}");
    }
    found
}

#[test]
fn a_target_whose_tool_is_missing_says_so_and_is_counted() {
    let place = Place::new();
    place.answer(RIGHT);
    let nothing = place.path().join("work");
    let arguments = ["sha256", "--vectors", "sha256.rsp", "--json", "r.json"];
    let output = place.test(&[&arguments[..], &["--on", "interp,java,wasm"]].concat(), Some(&nothing));
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let said_now = said(&output);
    assert!(
        said_now.contains("java: not run: no javac of version 17 or newer on the path (apt-get install "),
        "{said_now}"
    );
    assert!(said_now.contains("wasm: not run: no node or nodejs"), "{said_now}");
    assert!(said_now.contains("1 passed, 0 failed, 2 skipped\n"), "{said_now}");
    let rows = fs::read_to_string(place.path().join("r.json")).expect("it was written");
    assert!(rows.contains("\"engine\": \"java\"") && rows.contains("no javac of version 17 or newer"), "{rows}");
    // Where nothing is left to run, nothing has passed.
    let output = place.test(&["sha256", "--on", "java"], Some(&nothing));
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
}

#[test]
fn right_answers_pass_and_wrong_ones_fail() {
    let place = Place::new();
    let targets: Vec<&str> = [("wasm", "node"), ("rust", "cargo")]
        .into_iter()
        .filter_map(|(target, tool)| has(tool).then_some(target))
        .collect();
    if targets.is_empty() {
        return;
    }
    let (on, n) = (targets.join(","), targets.len());
    place.answer(RIGHT);
    let arguments = ["sha256", "--vectors", "sha256.rsp", "--on", &on];
    let output = place.test(&arguments, None);
    assert!(said(&output).contains(&format!("{n} passed, 0 failed, 0 skipped\n")), "{}", said(&output));
    place.answer(WRONG);
    let output = place.test(&arguments, None);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains(&format!("0 passed, {n} failed, 0 skipped\n")), "{}", said(&output));
}

#[test]
fn tools_that_do_not_do_what_they_should_are_found_out() {
    let place = Place::new();
    place.answer(RIGHT);
    let says = |name: &str, text: &str| place.tool(name, &format!("echo \"{text}\""));
    let (code, told) = place.on_node(&says("right", "operation hash: 2 passed, 0 failed"), &[]);
    assert!(code == 0 && told.contains("1 passed, 0 failed"), "{told}");
    for (name, text, why) in [
        ("silent", "", "says nothing of `hash`"),
        ("lazy", "operation hash: 0 passed, 0 failed", "tried 0 of 1 answers"),
        ("honest", "operation hash: 1 passed, 1 failed", "1 of 2 attempts fail"),
        ("other", "operation hash-not: 2 passed, 0 failed", "says nothing of `hash`"),
    ] {
        let (code, told) = place.on_node(&says(name, text), &[]);
        assert!(code == 1 && told.contains("0 passed, 1 failed") && told.contains(why), "{name}: {told}");
    }
    let (code, told) = place.on_node(&place.tool("dying", "echo operation hash: 2 passed, 0 failed; exit 7"), &[]);
    assert!(code == 1 && told.contains("exit status: 7"), "{told}");
    let (code, told) = place.on_node(&place.tool("slow", "sleep 100"), &["--timeout", "1"]);
    assert!(code == 1 && told.contains("took more than 1 s"), "{told}");
    let (code, told) = place.on_node("no-such-node", &[]);
    assert!(code == 4 && told.contains("no no-such-node"), "{told}");
}

#[test]
fn a_test_goes_on_where_it_was_cut_off() {
    let place = Place::new();
    place.answer(RIGHT);
    let good = place.tool("good", "echo operation hash: 2 passed, 0 failed");
    let bad = place.tool("bad", "echo operation hash: 1 passed, 1 failed");
    let with = |node: &str| place.on_node(node, &["--resume", "passed"]);
    let journal = place.path().join("passed");
    let lines = || fs::read_to_string(&journal).expect("it was written");
    // What fails is not written down, and tried again; what passed is not.
    let (code, told) = with(&bad);
    assert!(code == 1 && lines().lines().count() == 1, "{told}{}", lines());
    let (code, told) = with(&good);
    assert!(code == 0 && told.contains("1 passed, 0 failed") && !told.contains("passed before"), "{told}");
    let whole = lines();
    let (code, told) = with(&bad);
    assert!(code == 0 && told.contains("passed before") && told.contains("1 passed, 0 failed"), "{told}");
    assert_eq!(lines(), whole);
    // A line that is cut off is no line.
    fs::write(&journal, &whole[..whole.len() - 9]).expect("the folder is writable");
    let (code, told) = with(&bad);
    assert!(code == 1 && !told.contains("passed before"), "{told}");
    assert_eq!(with(&good).0, 0);
    let (code, told) = with(&bad);
    assert!(code == 0 && told.contains("passed before"), "{told}");
    // A file of somebody else stays what it is.
    fs::write(&journal, "mine\n").expect("the folder is writable");
    let (code, told) = with(&good);
    assert!(code == 1 && told.contains("was not written by `headrace test`"), "{told}");
    assert_eq!(lines(), "mine\n");
}

#[test]
fn what_a_corrupting_compiler_makes_fails() {
    if !has("gcc") || !has("make") {
        return;
    }
    let place = Place::new();
    // What is compiled is another program: bytes that are copied change.
    let corrupting = place.tool("corrupting", "exec gcc \"$@\" -include \"$0.h\"");
    let header = "#include <string.h>\n#undef memcpy\nstatic inline void *changed_copy(void *to, const void *from, size_t n) {\n\
                  unsigned char *byte = memmove(to, from, n);\nif (n > 3) byte[0] ^= 1;\nreturn to;\n}\n#define memcpy changed_copy\n";
    fs::write(format!("{corrupting}.h"), header).expect("the folder is writable");
    let output = place.test(&["hex", "--on", "c", "--compiler", &corrupting], None);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("attempts fail"), "{}", said(&output));
}

#[test]
fn documents_keep_the_rows_and_columns_of_what_is_not_run() {
    let place = Place::new();
    place.answer(RIGHT);
    let document = "<!-- generated: known-answers -->\n| set | operation | variant | interp | java |\n|---|---|---|--:|--:|\n\
                    | `sha256` | hash | standard | 0 | 17 |\n| `sha1` | hash | standard | 5 | 6 |\n<!-- end of generated -->\n";
    fs::write(place.path().join("table.md"), document).expect("the folder is writable");
    let arguments = ["sha256", "--vectors", "sha256.rsp", "--on", "interp", "--into", "table.md"];
    assert_eq!(place.test(&arguments, None).status.code(), Some(0));
    let table = fs::read_to_string(place.path().join("table.md")).expect("it is there");
    assert!(table.contains("| `sha256` | hash | standard | 1 | 17 |"), "{}", &table[..400]);
    assert!(table.contains("| `sha1` | hash | standard | 5 | 6 |"), "{}", &table[..400]);
    assert!(table.contains("| set | operation | variant | interp | java |"));
}

#[test]
fn names_of_targets_and_compilers_are_checked() {
    let place = Place::new();
    for (arguments, why) in [
        (&["sha256", "--on", "cobol"][..], "`cobol` is no engine or target; all, interp, native, c, "),
        (&["sha256", "--on", "promela"], "`headrace build --target promela` writes them"),
        (&["sha256", "--on", "wasm,java", "--compiler", "node"], "--compiler is for one target"),
        (&["sha256", "--compiler", "gcc"], "--compiler is for one target"),
    ] {
        let output = place.test(arguments, None);
        assert!(output.status.code() == Some(2) && said(&output).contains(why), "{}", said(&output));
    }
}

#[test]
fn projects_are_of_the_first_variant_unless_all_are_asked_for() {
    let place = Place::new();
    let variants = |more: &[&str]| {
        let output = place.test(&[&["ascon-xof128", "--on", "interp,xlim"], more].concat(), None);
        let told = said(&output);
        assert!(output.status.success() && told.contains(" 0 failed, 0 skipped\n"), "{told}");
        ["interp", "xlim"].map(|on| {
            let words = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let lines = words.filter(|words| words.get(2) == Some(&on));
            lines.map(|words| words[3].to_owned()).collect::<Vec<_>>()
        })
    };
    let (standard, both) = (vec!["standard"], vec!["folded", "standard"]);
    assert_eq!(variants(&[]), [both.clone(), standard]);
    assert_eq!(variants(&["--variant", "all"]), [both.clone(), both]);
    assert_eq!(variants(&["--variant", "folded"]), [["folded"], ["folded"]]);
}
