//! Toolchain of target `java`. Projects in Java: a JDK compiles some of them at once, as classes of packages of their own.

use super::shape::package;
use crate::project::Files;
use crate::toolchain::{Batch, Member, Step, Tool, Toolchain};
use std::fmt::Write as _;

pub(crate) const JDK: Toolchain = Toolchain {
    name: "java",
    tools: &[
        Tool { commands: &["javac"], oldest: 17, package: "openjdk-17-jdk-headless" },
        Tool { commands: &["java"], oldest: 17, package: "openjdk-17-jdk-headless" },
    ],
    at_once: 6,
    join,
    build: |batch| {
        // It ends before a second compilation of itself would pay.
        let quick = ["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"];
        let flags = ["--release", "17", "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-d", "classes", "@sources"];
        vec![Step::new([batch.tool(0)].into_iter().chain(quick).chain(flags))]
    },
    test,
    emulator: None,
    fused: true,
};

/// The names of all sources, for the compiler.
fn join(members: &[Member<'_>]) -> Files {
    let mut sources = String::new();
    for member in members {
        for path in member.files.keys().filter(|path| path.ends_with(".java")) {
            let _ = writeln!(sources, "{}/{path}", member.folder);
        }
    }
    Files::from([("sources".to_owned(), sources.into_bytes())])
}

fn test(batch: &Batch<'_>, member: &Member<'_>) -> Step {
    let folder = &member.folder;
    let path = format!("classes:{folder}/src/main/resources:{folder}/src/test/resources");
    let class = format!("{}.KnownAnswersTest", package(member.set));
    // No test waits for the virtual machine to warm up.
    Step::new([batch.tool(1), "-XX:TieredStopAtLevel=1", "-cp", &path, &class])
}
