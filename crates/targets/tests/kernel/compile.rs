//! Programs in C that print what they computed.

use std::process::Command;
use std::time::SystemTime;

/// The compiler that a test uses: each in turn, a day each, or what `HEADRACE_COMPILERS` names; `all` are all that are there. A
/// test that finds none says so and fails: what it is for cannot be shown.
pub fn compilers() -> Vec<&'static str> {
    let there = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let mut found: Vec<&str> = ["gcc", "clang"].into_iter().filter(there).collect();
    assert!(!found.is_empty(), "not run: neither gcc nor clang");
    match std::env::var("HEADRACE_COMPILERS") {
        Ok(names) if names == "all" => found,
        Ok(names) => {
            found.retain(|name| names.split_whitespace().any(|wanted| wanted == *name));
            assert!(!found.is_empty(), "HEADRACE_COMPILERS: neither gcc nor clang, or not there");
            found
        }
        Err(_) => {
            let days = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() / (24 * 60 * 60));
            vec![found[days as usize % found.len()]]
        }
    }
}

/// Compiles a program, runs it and gives the lines that it printed.
pub fn run(compiler: &str, flags: &[&str], program: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("kernel.c"), folder.path().join("kernel"));
    std::fs::write(&source, program).unwrap();
    if let Ok(kept) = std::env::var("HEADRACE_KEEP_KERNEL") {
        std::fs::write(kept, program).unwrap();
    }
    let made = Command::new(compiler).args(flags).arg("-o").arg(&binary).arg(&source).output().unwrap();
    assert!(made.status.success(), "{compiler}:\n{}", String::from_utf8_lossy(&made.stderr));
    let ran = Command::new(&binary).output().unwrap();
    assert!(ran.status.success(), "{:?}\n{}", ran.status, String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A number as `printf` of the program shows it.
pub fn shown(value: u128) -> String {
    format!("{:x}.{:x}", value >> 64, value & u128::from(u64::MAX))
}

/// A number as C writes it.
pub fn number(value: u128) -> String {
    if value >> 64 == 0 {
        return format!("{value:#x}ull");
    }
    format!("((u128){:#x}ull << 64 | {:#x}ull)", value >> 64, value & u128::from(u64::MAX))
}

/// Numbers as an array initialiser.
pub fn array(values: &[u128]) -> String {
    let values: Vec<String> = values.iter().map(|&value| number(value)).collect();
    format!("{{{}}}", values.join(","))
}
