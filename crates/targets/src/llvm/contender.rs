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
    let mut sources = subject.sources("src/", &[".c", ".ll"]);
    // Of modules, those for this machine, as the Makefile of the project takes them.
    let (folder, own) = (format!("{PROJECT}/src/"), format!("{PROJECT}/src/{}/", std::env::consts::ARCH));
    let listed = sources.clone();
    sources.retain(|path| match path.rsplit_once('/') {
        Some((of, name)) if of.len() < folder.len() => !listed.contains(&format!("{own}{name}")),
        _ => path.starts_with(&own),
    });
    let rest = ["-o", "contender.so", "-lm", "-pthread"].map(str::to_owned);
    vec![Step::new(words.chain(sources).chain(rest))]
}
