//! Networks in parts, some of them hardware: what `examples/codesign` tells users to do, whole messages beside pure software, and
//! what is refused.

#[expect(dead_code, reason = "each test uses a part of it")]
mod projects;

use projects::{Folder, commands, is_here, refused};
use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/codesign")
}

/// Cycles that the notes of a run say.
fn cycles(said: &str) -> Vec<u64> {
    let notes = said.lines().filter(|line| line.contains("in hardware"));
    let number = |line: &str| {
        let before = line.split(" clock cycles").next()?;
        before.rsplit(' ').next()?.parse().ok()
    };
    notes.filter_map(number).collect()
}

#[test]
fn what_the_example_says_gives_the_bytes_of_software() {
    if !is_here("verilator") {
        return;
    }
    let folder = Folder::new();
    for file in ["aes-ctr.xcf", "hash-tree.xcf"] {
        std::fs::copy(examples().join(file), folder.path().join(file)).expect("the folder is writable");
    }
    let readme = std::fs::read_to_string(examples().join("README.md")).expect("it is there");
    let bin = Path::new(env!("CARGO_BIN_EXE_headrace")).parent().expect("it is in a folder").to_owned();
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let script = format!("set -e\n{}", commands(&readme)).replace("make -C", "make OPT=-O0 CFLAGS=-O1 -C");
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("PATH", path.expect("a path"))
        .output()
        .expect("there is a shell");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let cycles = cycles(&said);
    // Run and program are one circuit: they count the same clock cycles.
    assert_eq!(cycles.len(), 4, "{said}");
    assert!(cycles[0] == cycles[1] && cycles[2] == cycles[3], "{said}");
    // 108,894 bytes are 6,806 blocks, each of which takes ten rounds at least.
    assert!(cycles[0] > 68_060, "{said}");
}

#[test]
fn what_cannot_be_in_parts_is_refused() {
    let mapping = examples().join("aes-ctr.xcf");
    let mapping = mapping.to_str().expect("a path in UTF-8");
    let ctr = "ctl.mode.ctr.Ctr(Cipher = ctl.block.aes.AesEncrypt(NK = 4))";
    refused(&[ctr, "--mapping", mapping, "--target", "rust"], "--target c makes both");
    refused(&["aes128", "--mapping", mapping, "--target", "c"], "is a parameter set");
    refused(&[ctr, "--mapping", mapping, "--target", "c", "--small"], "a network in parts has none of them");
    let folder = Folder::new();
    let soft = std::fs::read_to_string(mapping).expect("it is there").replace("verilog", "c");
    let path = folder.path().join("soft.xcf");
    std::fs::write(&path, soft).expect("the folder is writable");
    let path = path.to_str().expect("a path in UTF-8");
    refused(
        &[ctr, "--mapping", path, "--target", "c"],
        "becomes hardware; `<partition id=\"…\" code-generator=\"verilog\">` says which",
    );
}
