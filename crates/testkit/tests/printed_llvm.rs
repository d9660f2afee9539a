//! Networks printed as LLVM IR: compiled by every clang found here, conformance programs and random networks must show what
//! the interpreter shows.

#[expect(dead_code, reason = "each test uses a part of it")]
#[path = "../../interp/tests/text/mod.rs"]
mod text;

#[expect(dead_code, reason = "each test uses a part of it")]
mod sidecar;

#[path = "support/conformance.rs"]
mod conformance;

use conformance::Program;
use headrace_interp::{Interpreter, Order};
use headrace_ir::{DEFAULT_FIFO_TOKENS, Network};
use headrace_native::Batch;
use headrace_targets::Options;
use headrace_targets::c::RUNTIME;
use headrace_targets::llvm::project::{CALLS, emit};
use headrace_testkit::differential::{Stopped, difference, interpreted, observe, program};
use headrace_testkit::generate::{Case, Cuts, Knobs, generate};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::SystemTime;

/// Random networks, unless `HEADRACE_PRINTED_CASES` asks for more.
const CASES: u64 = 15;

/// The oldest and the newest that Debian has, and what else may be there.
const CLANGS: [&str; 3] = ["clang-16", "clang-19", "clang"];

/// A compiler that takes opaque pointers: each in turn, a day each, or all with `HEADRACE_COMPILERS=all`.
fn clangs() -> Vec<&'static str> {
    let version = |clang: &&str| -> Option<u32> {
        let output = Command::new(clang).arg("-dumpversion").output().ok()?;
        String::from_utf8_lossy(&output.stdout).split('.').next()?.trim().parse().ok()
    };
    let found: Vec<&str> = CLANGS.into_iter().filter(|clang| version(clang).is_some_and(|found| found >= 15)).collect();
    if found.is_empty() {
        eprintln!("not run: no clang of version 15 or newer (on Debian: apt-get install clang-16 llvm-16)");
    }
    if std::env::var("HEADRACE_COMPILERS").is_ok_and(|names| names == "all") {
        return found;
    }
    let days = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60)) as usize;
    found.get(days % found.len().max(1)).copied().into_iter().collect()
}

fn prefix(at: usize) -> String {
    format!("case_{at}")
}

/// A library of these networks, each with the capacity of its FIFOs.
fn compiled(clang: &str, networks: &[(Arc<Network>, u32)], folder: &Path) -> Batch {
    let write = |name: &str, text: &[u8]| std::fs::write(folder.join(name), text).expect("it is writable");
    RUNTIME.iter().chain(CALLS).for_each(|(name, text)| write(name, text.as_bytes()));
    let mut sources = vec!["headrace_calls.c".to_owned()];
    for (at, (network, fifo_tokens)) in networks.iter().enumerate() {
        let options = Options { fifo_tokens: *fifo_tokens, ..Options::default() };
        let files = emit(network, &prefix(at), &options).unwrap_or_else(|problems| panic!("{problems:?}"));
        for (name, text) in &files {
            write(name, text);
            sources.extend((!name.ends_with(".h")).then(|| name.clone()));
        }
    }
    let mut compile = Command::new(clang);
    compile.current_dir(folder).args([
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-override-module",
    ]);
    let output = compile.args(["-o", "cases.so"]).args(&sources).output().expect("clang starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{clang}: {said}");
    let prefixes: Vec<String> = (0..networks.len()).map(prefix).collect();
    let wanted: Vec<(&str, u32)> =
        prefixes.iter().map(String::as_str).zip(networks.iter().map(|(_, fifo_tokens)| *fifo_tokens)).collect();
    // SAFETY: it was made of what the target prints.
    unsafe { Batch::load(&folder.join("cases.so"), &wanted) }.expect("the library can be loaded")
}

/// For each compiler, what is wrong with which network.
fn failures(networks: &[(Arc<Network>, u32)], judge: impl Fn(usize, &Batch) -> Result<(), String>) -> Vec<String> {
    let mut failures = Vec::new();
    for clang in clangs() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let batch = compiled(clang, networks, folder.path());
        let wrong = (0..networks.len()).filter_map(|at| judge(at, &batch).err().map(|why| format!("{clang}, {why}")));
        failures.extend(wrong);
    }
    failures
}

#[test]
fn random_networks_show_what_the_interpreter_shows() {
    let asked = std::env::var("HEADRACE_PRINTED_CASES").ok().and_then(|text| text.parse().ok());
    let first: u64 = std::env::var("HEADRACE_PRINTED_FIRST").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let cases: Vec<(u64, Case)> =
        (first..first + asked.unwrap_or(CASES)).map(|seed| (seed, generate(seed, &Knobs::default()))).collect();
    let networks: Vec<(Arc<Network>, u32)> = cases
        .iter()
        .map(|(seed, case)| {
            let network = program::elaborate(case, &Cuts::default()).unwrap_or_else(|why| panic!("{seed}: {why}"));
            // Small FIFOs are full more often.
            (Arc::new(network), if seed % 2 == 0 { DEFAULT_FIFO_TOKENS } else { 1 + (seed % 8) as u32 })
        })
        .collect();
    let failures = failures(&networks, |at, batch| {
        let ((seed, case), (network, fifo_tokens)) = (&cases[at], &networks[at]);
        let wrong = |why: String| format!("seed {seed}: {why}");
        let mut engine = batch.engine(at, network.clone()).map_err(|error| wrong(error.to_string()))?;
        let mut shown = observe(&mut engine, network, &case.inputs).map_err(|stopped| match stopped {
            Stopped::Trapped(message) => wrong(message),
            Stopped::RanAway => wrong("ran away".to_owned()),
        })?;
        let expected = interpreted::interpret(network, &case.inputs, Order::RoundRobin, *fifo_tokens, false)
            .map_err(|verdict| wrong(verdict.to_string()))?;
        shown.firings.clear();
        // Modules keep no record of it.
        shown.lacks_room = expected.lacks_room;
        difference(&expected, &shown, true).map_or(Ok(()), |text| Err(wrong(text)))
    });
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn conformance_programs_show_what_the_interpreter_shows() {
    let programs: Vec<Program> = conformance::programs();
    let networks: Vec<(Arc<Network>, u32)> =
        programs.iter().map(|program| (program.network.clone(), program.fifo_tokens)).collect();
    let failures = failures(&networks, |at, batch| {
        let program = &programs[at];
        let engine = batch.engine(at, program.network.clone());
        let mut engine = engine.map_err(|error| format!("{}: {error}", program.name))?;
        let shown = program.show(&mut engine);
        let options = headrace_interp::Options { fifo_tokens: program.fifo_tokens, ..Default::default() };
        let mut judge =
            Interpreter::new(program.network.clone(), options).map_err(|problems| format!("{problems:?}"))?;
        let wanted = program.show(&mut judge);
        if shown == wanted { Ok(()) } else { Err(format!("{}: {shown:?} and not {wanted:?}", program.name)) }
    });
    assert!(failures.is_empty(), "{} fail:\n{}", failures.len(), failures.join("\n"));
    assert!(programs.len() > 50, "only {} programs", programs.len());
}
