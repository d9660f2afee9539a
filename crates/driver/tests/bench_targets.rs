//! `headrace bench targets`: projects of every target whose tools are here process a message, in turn with our C and with what
//! users of their languages have, and what came of it is data.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, is_here};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// A short operation with a key and a nonce, which has a place in the interfaces of all targets.
const OPERATION: &str = "chacha20 stream";

fn bench(folder: &Folder, arguments: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace"));
    // Peers that somebody has built here would take time, and are not what is tested.
    command.current_dir(folder.path()).env("HEADRACE_PEERS", folder.path()).args(["bench", "targets"]).args(arguments);
    command.output().expect("the command starts")
}

#[test]
fn every_target_takes_its_turn_and_gives_what_our_c_does() {
    if !is_here("gcc") {
        eprintln!("not run: no gcc");
        return;
    }
    let folder = Folder::new();
    let quick = ["--unfused", "--compiler", "gcc", "--pairs", "2", "--warm", "0", "--sizes", "1000"];
    let said = bench(&folder, &[&quick[..], &["--operations", OPERATION, "--json", "t.json"]].concat());
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let text = std::fs::read_to_string(folder.path().join("t.json")).expect("results were written");
    let results: Value = serde_json::from_str(&text).expect("results are JSON");
    let list = |name: &str| results[name].as_array().cloned().unwrap_or_default();
    let verdicts = list("verdicts");
    let mut n_measured = 0;
    for target in headrace_targets::ALL.iter().filter(|target| target.contender.is_some()) {
        let row = format!("{} beside our C", target.name);
        let verdict = verdicts.iter().find(|verdict| verdict["row"] == *row).unwrap_or_else(|| panic!("no {row}"));
        if verdict["status"] == "not-measured" {
            eprintln!("not run: {}", verdict["note"]);
            continue;
        }
        n_measured += 1;
        assert_ne!(verdict["status"], "error", "{verdict}");
        let figures = ["ours", "others", "ratio"].map(|name| verdict[name].as_f64().unwrap_or(0.0));
        assert!(figures.iter().all(|figure| *figure > 0.0), "{verdict}");
    }
    assert!(n_measured > 0, "{verdicts:?}");
    let rows = list("rows");
    for row in &rows {
        assert_eq!((&row["primitive"], &row["bytes"]), (&"chacha20".into(), &1000.into()));
        assert!(row["mb_per_s_median"].as_f64().is_some_and(|speed| speed > 0.0), "{row}");
        assert!(row["verified"].as_str().is_some_and(|how| how.contains("interpreter")), "{row}");
        assert_eq!(row["seconds"].as_array().map(Vec::len), Some(2));
    }
    let engines: BTreeSet<&str> = rows.iter().filter_map(|row| row["engine"].as_str()).collect();
    assert!(engines.iter().any(|engine| engine.contains("dispatch limited")), "{engines:?}");
    // Peers that have not been built say how they are had, and no row is made of them.
    let peer = verdicts.iter().find(|verdict| verdict["row"] == "rust beside RustCrypto");
    let (note, ratio) = peer.map_or((None, None), |verdict| (verdict["note"].as_str(), verdict["ratio"].as_f64()));
    let says_how = note.is_some_and(|note| note.contains("scripts/peers.sh"));
    assert!(says_how || ratio.is_some() || n_measured < 5, "{peer:?}");
}

#[test]
fn what_is_not_there_is_wrong_usage() {
    let folder = Folder::new();
    for (arguments, word) in [
        (&["--targets", "xlim"][..], "xlim"),
        (&["--targets", "rust", "--operations", "nothing"], "nothing"),
        (&["--targets", "rust", "--operations", "nothing at-all"], "nothing at-all"),
    ] {
        let said = bench(&folder, arguments);
        let complaint = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains(word), "{complaint}");
    }
}
