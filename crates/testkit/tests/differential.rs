//! Generated programs: the interpreter in several firing orders and FIFO sizes, and native code, have to show the same.
//! A small sample, as a test of the comparison itself; `make test` runs the command on two thousand, and
//! `headrace-testkit differential --hours 8 --out finds` goes on for as long as one likes.

use headrace_testkit::differential::supervise::{Campaign, run};
use std::path::PathBuf;

const CASES: u64 = 80;

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
    let campaign = Campaign {
        program: PathBuf::from(env!("CARGO_BIN_EXE_headrace-testkit")),
        first_seed: 0,
        cases: Some(CASES),
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
    assert_eq!(total, CASES);
    // A comparison of nothing would agree as well.
    assert!(summary.telling * 10 > total * 7, "only {} of {total} programs show anything", summary.telling);
}
