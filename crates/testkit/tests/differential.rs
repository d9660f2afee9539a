//! Generated programs: the interpreter in several firing orders and FIFO sizes, and native code, have to show the same.
//! A small sample, as a test of the comparison itself; `make test` runs the command on two thousand, and
//! `headrace-testkit differential --hours 8 --out finds` goes on for as long as one likes.

use headrace_testkit::differential::supervise::{Campaign, run};
use std::path::PathBuf;

const CASES: u64 = 40;

/// Of these, every network on two to four threads.
const THREADED_CASES: u64 = 20;

fn compiler_answers() -> bool {
    headrace_native::Compiler::find().is_some()
}

#[test]
fn engines_orders_and_sizes_agree_on_generated_programs() {
    let mut judge_options = Vec::new();
    if !compiler_answers() {
        eprintln!("not run: native code (no C compiler)");
        judge_options.push("--interp".to_owned());
    }
    all_agree(0, CASES, judge_options);
}

#[test]
fn threads_show_what_the_interpreter_shows() {
    if !compiler_answers() {
        eprintln!("not run: native code (no C compiler)");
        return;
    }
    all_agree(20_000, THREADED_CASES, vec!["--threads".to_owned()]);
}

fn all_agree(first_seed: u64, cases: u64, judge_options: Vec<String>) {
    let campaign = Campaign {
        program: PathBuf::from(env!("CARGO_BIN_EXE_headrace-testkit")),
        first_seed,
        cases: Some(cases),
        time: None,
        batch: 40,
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        judge_options,
        out: None,
        shrink_tries: 0,
        most_failures: 10,
    };
    let summary = run(&campaign, &|line| eprintln!("{line}"));
    assert!(summary.failures.is_empty(), "{} failed, see above for how to repeat each", summary.failures.len());
    let total: u64 = summary.kinds.values().sum();
    assert_eq!(total, cases);
    // A comparison of nothing would agree as well.
    assert!(summary.telling * 10 > total * 7, "only {} of {total} programs show anything", summary.telling);
}
