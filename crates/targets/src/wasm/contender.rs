//! Benchmark adapter for packages. Packages in measurements: a program for Node.js over the class of an operation.

use super::shape::{class_name, methods};
use crate::contender::{Argument, Contender, Made, PROJECT, Subject, arguments};
use crate::operation::Function;
use crate::project::Files;
use crate::toolchain::Step;
use headrace_library::Role;

pub(crate) const CONTENDER: Contender = Contender { files, build: |_| Vec::new(), made: Made::Program(run) };

fn files(subject: &Subject<'_>) -> Result<Files, String> {
    let spec = subject.spec;
    let kinds: Vec<Argument> = arguments(spec)?.into_iter().map(|(kind, _)| kind).collect();
    let method = methods(spec).into_iter().find(|method| method.function == Function::Message);
    let method = method.ok_or_else(|| format!("`{}` has no whole messages", spec.full_name()))?;
    let value = |kind: &Argument| if *kind == Argument::Iv { "iv" } else { "input" };
    let given: Vec<String> = if method.is_plain() {
        kinds.iter().filter(|kind| **kind != Argument::Output).map(|kind| value(kind).to_owned()).collect()
    } else {
        let named = method.given.iter().zip(&kinds).map(|(string, kind)| format!("{}: {}", string.name, value(kind)));
        vec![format!("{{ {} }}", named.collect::<Vec<_>>().join(", "))]
    };
    let key = spec.input(Role::Key).map_or("", |_| "  context.key(key);\n");
    let own = class_name(spec);
    let text = format!(
        "import {{ {own} }} from './{PROJECT}/index.js';\nimport {{ serve }} from './serve.mjs';\n\n\
         serve((key, iv) => {{\n  const context = new {own}();\n{key}  return (input) => context.message({});\n}});\n",
        given.join(", ")
    );
    Ok(Files::from([("contender.mjs".to_owned(), text.into_bytes())]))
}

fn run(subject: &Subject<'_>) -> Step {
    Step::new([subject.tool(0), "contender.mjs"])
}
