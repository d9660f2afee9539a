//! Benchmark adapter for projects in Java. Projects in measurements: a program that asks the JCA for what their provider has.

use super::provider::{provider_class, services};
use super::shape::package;
use crate::contender::{Contender, Made, PROJECT, Subject, arguments};
use crate::project::Files;
use crate::toolchain::Step;

pub(crate) const CONTENDER: Contender = Contender { files, build, made: Made::Program(run) };

fn files(subject: &Subject<'_>) -> Result<Files, String> {
    arguments(subject.spec)?;
    if services(&[subject.spec]).is_empty() {
        return Err(format!("the JCA has no service for `{}`", subject.spec.full_name()));
    }
    Ok(Files::new())
}

fn build(subject: &Subject<'_>) -> Vec<Step> {
    let words = [subject.tool(0), "--release", "17", "-encoding", "UTF-8", "-d", "classes", "Jca.java"];
    vec![Step::new(words.into_iter().map(str::to_owned).chain(subject.sources("src/main/java/", &[".java"])))]
}

fn run(subject: &Subject<'_>) -> Step {
    let path = format!("classes:{PROJECT}/src/main/resources");
    let provider = format!("{}.{}", package(&subject.spec.set), provider_class(&subject.spec.set));
    let found = services(&[subject.spec]);
    let service = found.first().map(|service| (service.kind.name(), service.names.last().map_or("", String::as_str)));
    let (kind, name) = service.unwrap_or_default();
    Step::new([subject.tool(1), "-cp", &path, "Jca", &provider, kind, name])
}
