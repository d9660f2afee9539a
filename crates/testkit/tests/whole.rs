//! Whole messages, which networks at rest take all at once: they give what the same messages give whose strings go in one
//! after another, whatever their lengths, where their bytes lie and what came before.

use headrace_native::Compiler;
use headrace_targets::c::{Options, project};
use headrace_testkit::peers::library::Shipped;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

/// The comparison: see there.
const MAIN: &str = include_str!("whole/main.c");

/// What it and the list of operations, which is written here, know of each other.
const CASES: &str = include_str!("whole/cases.h");

/// Operations, and the one that makes their messages where not every string is one; whether some are taken at once: the state that
/// most samples find must be one that messages of any lengths leave, too; and whether some pieces are.
const OPERATIONS: &[(&str, &str, Option<&str>, bool, bool)] = &[
    ("aes128", "ctr", None, true, true),
    ("aes128", "cbc-decrypt", None, true, false),
    ("aes128", "ecb-pad-encrypt", None, true, false),
    ("aes128", "ecb-pad-decrypt", Some("ecb-pad-encrypt"), false, false),
    ("aes128", "cfb-decrypt", None, false, false),
    ("aes128-gcm", "aead-encrypt", None, true, true),
    ("aes128-gcm", "aead-decrypt", Some("aead-encrypt"), true, false),
    ("aes128-ccm", "aead-encrypt", None, true, false),
    ("aes128-ocb3", "aead-decrypt", Some("aead-encrypt"), false, false),
    ("aes128-cmac", "mac", None, false, false),
    ("aes128-cmac", "verify", Some("mac"), false, false),
    ("des", "ctr", None, true, true),
    ("ascon-aead128", "aead-encrypt", None, true, false),
    ("chacha20", "stream", None, true, true),
];

/// Every other one, those that a day begins with or the others: all of them with `HEADRACE_WHOLE=all`.
fn operations() -> Vec<(&'static str, &'static str, Option<&'static str>, bool, bool)> {
    let all = std::env::var("HEADRACE_WHOLE").is_ok_and(|what| what == "all");
    let days = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60));
    let is_wanted = |at: usize| all || at as u64 % 2 == days % 2;
    OPERATIONS.iter().enumerate().filter(|(at, _)| is_wanted(*at)).map(|(_, one)| *one).collect()
}

/// Messages of an operation, unless `HEADRACE_WHOLE_MESSAGES` gives another number.
const MESSAGES: &str = "300";

/// Runs a command, which must end well, and gives what it said.
fn run(folder: &Path, command: &mut Command) -> String {
    let output = command.current_dir(folder).output().expect("the command starts");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// The name of the table of an operation, after compiling it into the folder.
fn compiled(folder: &Path, compiler: &str, shipped: &Shipped, set: &str, operation: &str) -> String {
    let spec = shipped.library.operation(set, operation).expect("the library has it");
    let network =
        shipped.network(spec, &spec.variants[0].name).unwrap_or_else(|why| panic!("{set} {operation}: {why}"));
    let project = project::of_operations(set, &spec.title, &[(spec, &network)], &[], &Options::default(), &|_, _| ());
    let prefix = project::operation_prefix(spec);
    let own = folder.join(&prefix);
    std::fs::create_dir(&own).expect("the folder is writable");
    for (name, mut text) in project.unwrap_or_else(|problems| panic!("{set} {operation}: {problems:?}")) {
        let Some(name) = name.strip_prefix("src/") else { continue };
        if name == format!("{prefix}_network.c") {
            let source = String::from_utf8_lossy(&text).into_owned();
            let taken = |what: &str| {
                let take = format!("{prefix}_network_any_{what}");
                if source.contains(&take) { take } else { "NULL".to_owned() }
            };
            let (whole, piece) = (taken("whole"), taken("piece"));
            let shown = format!(
                "const struct headrace_operation *const {prefix}_shown = &{prefix}_operation;\n\
                 headrace_take_whole *const {prefix}_take = {whole};\n\
                 headrace_take_whole *const {prefix}_take_piece = {piece};\n"
            );
            text.extend(shown.into_bytes());
        }
        std::fs::write(own.join(name), text).expect("the folder is writable");
    }
    let (source, object) = (format!("{prefix}_network.c"), format!("../{prefix}.o"));
    run(
        &own,
        Command::new(compiler).args(["-std=c11", "-O0", "-w", "-ffp-contract=off", "-c", &source, "-o", &object]),
    );
    prefix
}

#[test]
fn messages_at_once_are_what_they_are_string_by_string() {
    let Some(compiler) = ["clang", "gcc", "cc"].into_iter().find(|name| Compiler::named(name).is_some()) else {
        eprintln!("not run: no compiler");
        return;
    };
    let shipped = Shipped::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the library is right");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let operations = operations();
    let mut wanted: Vec<(&str, &str)> = operations.iter().map(|(set, operation, ..)| (*set, *operation)).collect();
    wanted.extend(operations.iter().filter_map(|(set, _, maker, ..)| Some((*set, (*maker)?))));
    wanted.sort_unstable();
    wanted.dedup();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((set, operation)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    compiled(folder.path(), compiler, &shipped, set, operation);
                }
            });
        }
    });
    let prefix = |set: &str, operation: &str| {
        let spec = shipped.library.operation(set, operation).expect("the library has it");
        project::operation_prefix(spec)
    };
    let (mut cases, mut listed) = ("#include \"cases.h\"\n".to_owned(), String::new());
    for (set, operation) in &wanted {
        let prefix = prefix(set, operation);
        let _ = writeln!(cases, "extern const struct headrace_operation *const {prefix}_shown;");
        let _ = writeln!(cases, "extern headrace_take_whole *const {prefix}_take, *const {prefix}_take_piece;");
    }
    for (set, operation, maker, ..) in &operations {
        let maker = maker.map_or("NULL".to_owned(), |maker| format!("&{}_shown", prefix(set, maker)));
        let own = prefix(set, operation);
        let _ =
            writeln!(listed, "    {{\"{set} {operation}\", &{own}_take, &{own}_take_piece, &{own}_shown, {maker}}},");
    }
    let n = operations.len();
    let _ = write!(cases, "const struct one_case cases[] = {{\n{listed}}};\nconst size_t n_cases = {n};\n");
    for (name, text) in [("main.c", MAIN), ("cases.h", CASES), ("cases.c", &cases)] {
        std::fs::write(folder.path().join(name), text).expect("the folder is writable");
    }
    let first = prefix(operations[0].0, operations[0].1);
    let mut command = Command::new(compiler);
    command.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-I", &first, "main.c", "cases.c"]);
    command.arg(format!("{first}/headrace_message.c")).args(["-o", "both", "-lm"]);
    command.args(wanted.iter().map(|(set, operation)| format!("{}.o", prefix(set, operation))));
    run(folder.path(), &mut command);
    let n_messages = std::env::var("HEADRACE_WHOLE_MESSAGES").unwrap_or(MESSAGES.to_owned());
    let said = run(folder.path(), Command::new(folder.path().join("both")).args(["1", &n_messages]));
    println!("{said}");
    for (line, (set, operation, _, at_once, in_pieces)) in said.lines().zip(&operations) {
        let (_, counts) = line.split_once(": ").unwrap_or_else(|| panic!("no counts: {line}"));
        let numbers: Vec<u32> = counts.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [ok, _, _, done, _, _, pieces, begun, _] = numbers[..] else { panic!("{set} {operation}: {line}") };
        assert!(ok > 50, "{line}");
        assert!(!at_once || done > 0, "{line}");
        assert!(!in_pieces || pieces + begun > 0, "{line}");
    }
    assert_eq!(said.lines().count(), operations.len(), "{said}");
}
