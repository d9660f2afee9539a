//! Benchmark adapter for modules. Modules in measurements: a shared object over the functions of the project, which are those
//! of projects in C.

use crate::c::contender::{Help, shim};
use crate::contender::{Contender, Made, PROJECT, Subject, arguments};
use crate::project::Files;
use crate::toolchain::Step;

pub(crate) const CONTENDER: Contender = Contender { files, build, made: Made::Object("contender.so") };

fn files(subject: &Subject<'_>) -> Result<Files, String> {
    arguments(subject.spec)?;
    Ok(Files::from([("contender.c".to_owned(), shim(subject.spec, Help::Threads).into_bytes())]))
}

fn build(subject: &Subject<'_>) -> Vec<Step> {
    let include = format!("-I{PROJECT}/src");
    let flags = ["-O3", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-Wno-override-module", &include, "contender.c"];
    let words = [subject.tool(0)].into_iter().chain(flags).map(str::to_owned);
    let sources = subject.sources("src/", &[".c", ".ll"]);
    let rest = ["-o", "contender.so", "-lm", "-pthread"].map(str::to_owned);
    vec![Step::new(words.chain(sources).chain(rest))]
}
