//! A program around a network, beside the library: its command line is that of `headrace run`.

use super::super::{Emission, TrapPlace, ctype, natives};
use super::build_files::README_PROGRAM;
use crate::project::Files;
use headrace_ir::{Native, Network, Port, Scalar};
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// What every program is made of.
const RUNTIME: &[(&str, &str)] = &[
    ("main/headrace_main.h", include_str!("../../../../../runtime/c/headrace_main.h")),
    ("main/headrace_main.c", include_str!("../../../../../runtime/c/headrace_main.c")),
    ("main/headrace_main_files.c", include_str!("../../../../../runtime/c/headrace_main_files.c")),
    ("main/headrace_main_tokens.c", include_str!("../../../../../runtime/c/headrace_main_tokens.c")),
    ("main/headrace_main_natives.c", include_str!("../../../../../runtime/c/headrace_main_natives.c")),
];

/// Adds the sources of the program around a network that is printed.
///
/// # Errors
///
/// As [`Program::add`].
pub(super) fn add(
    files: &mut Files,
    network: &Network,
    emission: &Emission,
    head: &str,
) -> Result<(), Vec<Diagnostic>> {
    let Emission { prefix, places, .. } = emission;
    Program { network, prefix, places, tell: None }.add(files, head)
}

/// A program around a network that has a table in C.
pub(crate) struct Program<'a> {
    /// The network.
    pub(crate) network: &'a Network,
    /// Its table is `PREFIX_network`, declared in `PREFIX.h`.
    pub(crate) prefix: &'a str,
    /// Places of run-time errors, by the number in the trap record.
    pub(crate) places: &'a [TrapPlace],
    /// The function that says more at the end, if there is one.
    pub(crate) tell: Option<&'static str>,
}

impl Program<'_> {
    /// Adds its sources.
    ///
    /// # Errors
    ///
    /// Ports that carry text, and natives that C cannot have.
    pub(crate) fn add(&self, files: &mut Files, head: &str) -> Result<(), Vec<Diagnostic>> {
        added(files, self, head)
    }
}

fn added(files: &mut Files, program: &Program<'_>, head: &str) -> Result<(), Vec<Diagnostic>> {
    let Program { network, prefix, places, tell } = *program;
    let texts = network.inputs.iter().chain(&network.outputs).filter(|port| port.ty == Scalar::String);
    let refused: Vec<Diagnostic> = texts
        .map(|port| {
            let what = format!("a program has no form for the text that port `{}` carries", port.name);
            Diagnostic::error("unsupported-by-target", what).at(port.span, "declared here")
        })
        .collect();
    if !refused.is_empty() {
        return Err(refused);
    }
    let all = natives::of_network(network)?;
    // What the runtime has, as the platform supplies it, needs nobody else.
    let others: Vec<&Native> = all
        .values()
        .copied()
        .filter(|native| {
            let row = headrace_natives::find(&native.name);
            !row.is_some_and(|row| row.accepts(&native.parameters, native.result))
        })
        .collect();
    files.extend(RUNTIME.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    let mut text = format!("{head}#include \"headrace_main.h\"\n#include \"{prefix}.h\"\n");
    let mut native = "NULL";
    if !others.is_empty() {
        files.insert(format!("main/{prefix}_natives.h"), natives::header_of(&network.name, &others, head).into_bytes());
        let _ = write!(
            text,
            "#include \"{prefix}_natives.h\"\n\n/* Natives of whoever links the program. */\n{}",
            natives::dispatcher(others.iter().copied())
        );
        native = "headrace_native";
    }
    let inputs = ports(&mut text, "headrace_inputs", &network.inputs);
    let outputs = ports(&mut text, "headrace_outputs", &network.outputs);
    let instances =
        names(&mut text, "headrace_instances", network.instances.iter().map(|instance| instance.name.as_str()));
    let n_places = places.len();
    let places = names(&mut text, "headrace_places", places.iter().map(|place| place.name.as_str()));
    let _ = write!(
        text,
        "\nint main(int argc, char **argv) {{\n    static const struct headrace_main PROGRAM = {{\n        {}, &{prefix}_network,\n        {inputs}, {},\n        {outputs}, {},\n        {instances}, {},\n        {places}, {n_places},\n        {native}, {},\n    }};\n    return headrace_main(argc, argv, &PROGRAM);\n}}\n",
        ctype::text_literal(&network.name),
        network.inputs.len(),
        network.outputs.len(),
        network.instances.len(),
        tell.unwrap_or("NULL"),
    );
    files.insert(format!("main/{prefix}_main.c"), text.into_bytes());
    Ok(())
}

/// Adds what builds and explains the program to the files of the library.
pub(super) fn add_rules(files: &mut Files, name: &str) {
    let needs_natives = files.contains_key(&format!("main/{name}_natives.h"));
    let runtime: Vec<&str> = RUNTIME.iter().map(|(path, _)| *path).filter(|path| path.ends_with(".c")).collect();
    let sources = format!("main/{name}_main.c {}", runtime.join(" "));
    let makefile = format!(
        "\n# The program. NATIVES: files in C that have natives of the network, such as NATIVES=mine.c\n.PHONY: main\nmain: bin/{name}\n\nbin/{name}: {sources} main/headrace_main.h lib{name}.a $(NATIVES) $(HEADERS)\n\tmkdir -p bin\n\t$(CC) -std=gnu11 -Isrc -Imain $(CFLAGS) {sources} $(NATIVES) lib{name}.a -lm -o $@\n\nclean: clean-main\n.PHONY: clean-main\nclean-main:\n\trm -f bin/{name}\n"
    );
    let natives = if needs_natives {
        format!(
            "\n`main/{name}_natives.h` declares the natives that the program needs beside those that are built in: `make main\nNATIVES=mine.c` links them.\n"
        )
    } else {
        String::new()
    };
    let readme = format!("{}{natives}", README_PROGRAM.replace("NAME", name));
    for (path, more) in [("Makefile", makefile), ("README.md", readme)] {
        files.entry(path.to_owned()).or_default().extend(more.into_bytes());
    }
}

/// Prints a table of ports and gives its name; there is none of nothing.
fn ports(text: &mut String, table: &'static str, ports: &[Port]) -> &'static str {
    if ports.is_empty() {
        return "NULL";
    }
    let _ = write!(text, "\nstatic const struct headrace_main_port {table}[] = {{\n");
    for port in ports {
        let kind = match port.ty {
            Scalar::Bool => "HEADRACE_BOOL",
            Scalar::Int(int) if int.signed => "HEADRACE_SIGNED",
            Scalar::Int(_) | Scalar::String => "HEADRACE_UNSIGNED",
            Scalar::Real(_) => "HEADRACE_REAL",
        };
        let (name, width, storage) = (ctype::text_literal(&port.name), port.ty.width(), port.ty.storage_bytes());
        let _ = writeln!(text, "    {{{name}, {width}, {storage}, {kind}}},");
    }
    text.push_str("};\n");
    table
}

fn names<'n>(text: &mut String, table: &'static str, names: impl Iterator<Item = &'n str>) -> &'static str {
    let lines: Vec<String> = names.map(|name| format!("    {},\n", ctype::text_literal(name))).collect();
    if lines.is_empty() {
        return "NULL";
    }
    let _ = write!(text, "\nstatic const char *const {table}[] = {{\n{}}};\n", lines.concat());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_every_native_of_the_platform() {
        let text = RUNTIME.iter().map(|(_, text)| *text).collect::<String>();
        for native in headrace_natives::table() {
            // Those of the source are told apart behind their common beginning.
            let name = native.name.strip_prefix("source_").unwrap_or(native.name);
            assert!(text.contains(&format!("\"{name}\"")), "{}", native.name);
        }
    }
}
