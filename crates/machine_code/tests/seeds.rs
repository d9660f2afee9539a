//! Leaks that were put into C code are found, whatever the compiler makes of them, and the same shapes without one are not.

use headrace_machine_code::{Contents, Finding, Image, Scenario};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the seeds use; nothing of it is executed.
const FEATURES: [&str; 18] = [
    "-mavx512f",
    "-mavx512bw",
    "-mavx512vl",
    "-mavx512dq",
    "-mavx512vbmi",
    "-mavx512vbmi2",
    "-mgfni",
    "-mvaes",
    "-mvpclmulqdq",
    "-mpclmul",
    "-msha",
    "-mbmi",
    "-mbmi2",
    "-madx",
    "-maes",
    "-mavx2",
    "-std=c11",
    "-g",
];

/// Calls of the leaking functions; what is public is so by the name of its parameter.
const LEAKS: [&str; 20] = [
    "table_by_secret_byte(*secret, *public, public)",
    "table_after_vector_work(*secret, *public)",
    "branch_on_vector_test(*secret, *public)",
    "branch_on_mask(*secret, *public)",
    "branch_on_avx_test(*secret, *public)",
    "gather(*secret, *public)",
    "gather_avx2(*secret, *public)",
    "scatter(*secret, *public)",
    "early_exit(*secret, *public)",
    "shift_loop(*secret, *public)",
    "division(*secret, public)",
    "remainder_by_secret(*secret, public)",
    "call_by_secret(*secret)",
    "masked_store(*secret, *public)",
    "through_the_stack(*secret, *public, public)",
    "from_a_context(&context)",
    "through_calls(*secret, *public)",
    "carries(*secret, *public)",
    "compare_by_library(*secret, *public, public)",
    "borrow(*secret, *public, public)",
];

const CLEAN: [&str; 15] = [
    "table_in_registers(*secret, *public, public)",
    "tail_by_mask(*secret, *public, public)",
    "scan(*secret)",
    "select(*secret, public, public)",
    "compare(*secret, *public)",
    "bitsliced(*secret, *public, public)",
    "aes_rounds(*secret, *public, public)",
    "carryless(*secret, *public)",
    "sha_rounds(*secret, *public)",
    "buffered(*secret, *public, public)",
    "from_a_context(&context)",
    "state_machine(*secret, *public, 0)",
    "state_machine(*secret, *public, public)",
    "many(&secrets, &outs, public)",
    "unless_it_failed(*secret, *public, 0)",
];

fn code(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/code").join(name)
}

/// The compilers that are here.
fn compilers() -> Vec<&'static str> {
    let here: Vec<_> =
        ["gcc", "clang"].into_iter().filter(|cc| Command::new(cc).arg("--version").output().is_ok()).collect();
    assert!(!here.is_empty(), "neither gcc nor clang is here");
    here
}

fn compile(cc: &str, file: &str, options: &[&str]) -> Image {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}", std::process::id()));
    let made = Command::new(cc).args(FEATURES).args(options).arg("-o").arg(&out).arg(code(file)).output().unwrap();
    assert!(made.status.success(), "{cc} {options:?} {file}:\n{}", String::from_utf8_lossy(&made.stderr));
    let image = Image::read(&std::fs::read(&out).unwrap()).unwrap();
    std::fs::remove_file(out).unwrap();
    image
}

/// Optimised in several ways, as a shared object and as an object file.
fn builds() -> Vec<(&'static str, Vec<&'static str>)> {
    let ways: [&[&str]; 5] = [
        &["-O1", "-fPIC", "-shared"],
        &["-O2", "-fPIC", "-shared"],
        &["-O3", "-fPIC", "-shared"],
        &["-O2", "-fPIC", "-c"],
        &["-O3", "-fno-pic", "-mcmodel=small", "-c"],
    ];
    compilers().into_iter().flat_map(|cc| ways.map(|way| (cc, way.to_vec()))).collect()
}

fn walk(image: &Image, call: &str) -> Vec<Finding> {
    let mut scenario = Scenario::new(image);
    let context = scenario.region("context", Contents::Public);
    if call.starts_with("from_a_context") {
        for field in ["key", "buffer"] {
            scenario.declare_field(context, "context", field, field == "key").unwrap();
        }
    }
    let secret = scenario.region("secret", Contents::Secret);
    let out = scenario.region("out", Contents::Public);
    scenario.region("secrets", Contents::PointersTo(secret));
    scenario.region("outs", Contents::PointersTo(out));
    scenario.call_text(call).unwrap();
    scenario.walk().findings
}

/// Name of a function of the seeds, kind of its leak and line.
fn marks() -> Vec<(String, String, u32)> {
    let text = std::fs::read_to_string(code("leaks.c")).unwrap();
    let mut function = String::new();
    let mut marks = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let head = text.strip_suffix(") {").filter(|text| !text.starts_with(' ')).and_then(|text| text.split_once('('));
        if let Some((head, _)) = head {
            function = head.rsplit([' ', '*']).next().unwrap_or_default().to_owned();
        }
        if let Some((_, kind)) = text.strip_suffix(" */").and_then(|text| text.split_once("/* leak: ")) {
            marks.push((function.clone(), kind.to_owned(), line));
        }
    }
    marks
}

#[test]
fn every_seeded_leak_is_found_at_its_line() {
    let marks = marks();
    assert_eq!(marks.len(), LEAKS.len());
    for (cc, options) in builds() {
        let image = compile(cc, "leaks.c", &options);
        for (call, (function, kind, line)) in LEAKS.iter().zip(&marks) {
            assert!(call.starts_with(function.as_str()), "{call} is not {function}");
            let findings = walk(&image, call);
            // A compiler may count what stands in the head of a loop to the line before.
            let there = |finding: &Finding| {
                let sources = finding.source.iter().filter(|source| source.file.ends_with("leaks.c"));
                finding.kind.slug() == kind && sources.clone().any(|source| (*line - 1..=*line).contains(&source.line))
            };
            let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
            assert!(
                findings.iter().any(there),
                "{cc} {options:?}: {call} has a leak ({kind}) at line {line}; found:\n{}",
                text.join("\n")
            );
            assert!(
                findings.iter().all(|finding| finding.function == *function),
                "{cc} {options:?}: {call}:\n{}",
                text.join("\n")
            );
        }
    }
}

#[test]
fn what_does_not_leak_is_clean() {
    for (cc, options) in builds() {
        let image = compile(cc, "clean.c", &options);
        for call in CLEAN {
            let findings: Vec<String> = walk(&image, call).iter().map(ToString::to_string).collect();
            assert!(findings.is_empty(), "{cc} {options:?}: {call} is clean, but\n{}", findings.join("\n"));
        }
    }
}

/// The same code leaks nothing when nothing is secret: no finding comes from the code alone.
#[test]
fn without_secrets_nothing_leaks() {
    for cc in compilers() {
        let image = compile(cc, "leaks.c", &["-O2", "-fPIC", "-shared"]);
        for call in LEAKS.iter().filter(|call| !call.starts_with("from_a_context")) {
            let findings = walk(&image, &call.replace("*secret", "*public"));
            let leaks: Vec<String> = findings
                .iter()
                .filter(|finding| finding.kind.slug() != "not-understood")
                .map(ToString::to_string)
                .collect();
            assert!(leaks.is_empty(), "{cc}: {call} without secrets:\n{}", leaks.join("\n"));
        }
    }
}
