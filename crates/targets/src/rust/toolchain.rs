//! Toolchain of target `rust`. Crates: cargo, which needs nothing from elsewhere.

use crate::toolchain::{Batch, Member, Step, Tool, Toolchain, alone};

pub(crate) const CARGO: Toolchain = Toolchain {
    name: "rust",
    tools: &[Tool { commands: &["cargo"], oldest: 0, package: "cargo-web rustc-web" }],
    // A crate belongs to no workspace, so that each is built by itself.
    at_once: 1,
    join: alone,
    build: |batch| batch.members.iter().map(|member| cargo(batch, member, &["--no-run"])).collect(),
    test: |batch, member| cargo(batch, member, &["--", "--show-output"]),
    emulator: None,
    fused: true,
};

fn cargo(batch: &Batch<'_>, member: &Member<'_>, more: &[&str]) -> Step {
    let (manifest, jobs) = (format!("{}/Cargo.toml", member.folder), batch.jobs.to_string());
    let words = [batch.tool(0), "test", "--offline", "--quiet", "--jobs", &jobs, "--manifest-path", &manifest];
    let words = words.into_iter().chain(["--test", "known_answers"]).chain(more.iter().copied());
    // Most of the time is the compiler's. Warnings are what printed code promises not to draw.
    Step::new(words)
        .with("CARGO_TARGET_DIR", "target")
        .with("CARGO_INCREMENTAL", "0")
        .with("CARGO_PROFILE_TEST_OPT_LEVEL", "0")
        .with("CARGO_PROFILE_TEST_DEBUG", "false")
        .with("RUSTFLAGS", "-D warnings")
}
