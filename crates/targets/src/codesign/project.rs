//! Packaging of a network in parts: programs, circuits, what moves tokens between them, a program around all of it, and a test.

use super::bridge::{self, Circuit};
use crate::c;
use crate::c::project::{Program, answers, head};
use crate::options::Options;
use crate::project::{Files, Recording};
use crate::verilog::project::VERILOG;
use headrace_analysis::cut::{self, Outside};
use headrace_ir::{Network, Port};
use headrace_program::names::identifier;
use headrace_rtl::Design;
use headrace_source::Diagnostic;
use std::fmt::Write as _;

/// What moves tokens between parts.
const RUNTIME: &[(&str, &str)] = &[
    ("bridge/headrace_parts.h", include_str!("../../../../runtime/parts/headrace_parts.h")),
    ("bridge/headrace_parts.c", include_str!("../../../../runtime/parts/headrace_parts.c")),
];

/// A part of a network.
#[derive(Debug)]
pub struct Part<'a> {
    /// What its partition is called.
    pub name: &'a str,
    /// What of the whole it has.
    pub cut: &'a cut::Part,
    /// A circuit, where it is hardware.
    pub design: Option<Design>,
    /// A run for the bench of a circuit.
    pub recording: Option<Recording>,
}

/// A network in parts.
#[derive(Debug)]
pub struct Whole<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its parts.
    pub parts: &'a [Part<'a>],
    /// A run for the test.
    pub recording: Option<Recording>,
    /// The mapping that the parts follow from, as its file has it.
    pub mapping: &'a str,
}

/// A folder for a network in parts: `software/`, `hardware/PART/`, `bridge/`, `main/`, `test/`.
///
/// # Errors
///
/// What target `c` cannot compile, with its place.
pub fn of_parts(whole: &Whole<'_>, options: &Options) -> Result<Files, Vec<Diagnostic>> {
    let Whole { network, parts, recording, mapping } = whole;
    let name = c::prefix_for(network);
    let head = head(&options.command);
    let made = format!("Made by `{}`. Changes here will be lost.", options.command.replace('\n', " "));
    let mut files = bridge::runtime();
    files.extend(RUNTIME.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    files.insert("mapping.xcf".to_owned(), mapping.as_bytes().to_vec());
    let mut places = Vec::new();
    let mut rows = Vec::new();
    let mut makes = Makes::default();
    for part in *parts {
        let prefix = format!("{name}_{}", identifier(part.name));
        rows.push(Row { prefix: prefix.clone(), part, first_place: places.len() });
        if let Some(design) = &part.design {
            let circuit = Circuit { prefix: &prefix, network: &part.cut.network, design };
            let folder = format!("hardware/{prefix}/");
            let own = VERILOG.of_part(&part.cut.network, design, part.recording.as_ref(), options);
            files.extend(own.into_iter().map(|(path, bytes)| (format!("{folder}{path}"), bytes)));
            files.extend(circuit.files(&made));
            makes.add_circuit(&circuit);
        } else {
            let own = c::Options { prefix: Some(prefix.clone()), checked: true, main: true, ..options.of_c() };
            let emission = c::emit(&part.cut.network, &own)?;
            files.extend(emission.files.into_iter().map(|(path, bytes)| (format!("software/{path}"), bytes)));
            places.extend(emission.places);
            makes.add_program(&prefix);
        }
    }
    files.insert(format!("bridge/{name}.h"), header(&head, &name).into_bytes());
    files.insert(format!("bridge/{name}.c"), tables(&head, &name, network, &rows).into_bytes());
    let program = Program { network, prefix: &name, places: &places, tell: Some("headrace_parts_tell") };
    program.add(&mut files, &head)?;
    files.insert("test/test.c".into(), answers::of_network(&head, &name, network, recording.as_ref()).into_bytes());
    files.insert("Makefile".to_owned(), makes.makefile(&made, &name, &files).into_bytes());
    files.insert("README.md".to_owned(), readme(whole, &name, &rows, options).into_bytes());
    Ok(files)
}

/// A part, as the tables have it.
struct Row<'a> {
    prefix: String,
    part: &'a Part<'a>,
    first_place: usize,
}

/// The type of the whole, and its table.
fn header(head: &str, name: &str) -> String {
    format!(
        "{head}#ifndef {guard}_H\n#define {guard}_H\n\n#include \"headrace_parts.h\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         /* The network, with parts in software and in hardware. */\nstruct {name} {{\n    struct headrace_together together;\n}};\n\n\
         extern const struct headrace_network {name}_network;\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        guard = name.to_uppercase()
    )
}

/// What the parts are, and where their ports lead.
fn tables(head: &str, name: &str, network: &Network, rows: &[Row<'_>]) -> String {
    let mut text = format!("{head}#include \"{name}.h\"\n");
    for Row { prefix, part, .. } in rows.iter().filter(|row| row.part.design.is_none()) {
        let _ = writeln!(text, "#include \"{prefix}.h\" /* {} */", part.name);
    }
    text.push('\n');
    for Row { prefix, .. } in rows.iter().filter(|row| row.part.design.is_some()) {
        let _ = writeln!(
            text,
            "extern const struct headrace_network {prefix}_network;\nuint64_t {prefix}_cycles(const void *context);"
        );
    }
    let mut listed = String::new();
    for Row { prefix, part, first_place } in rows {
        let cut = part.cut;
        let mut ports = |what: &str, ports: &[Port], outside: &[Outside]| {
            if ports.is_empty() {
                return "NULL".to_owned();
            }
            let _ = writeln!(text, "\nstatic const struct headrace_part_port {prefix}_{what}[] = {{");
            for (port, outside) in ports.iter().zip(outside) {
                let (crosses, number) = match outside {
                    Outside::Boundary(number) => (false, number),
                    Outside::Crossing(number) => (true, number),
                };
                let storage = port.ty.storage_bytes();
                let _ = writeln!(text, "    {{{storage}, {crosses}, {number}}}, /* {} */", port.name);
            }
            text.push_str("};\n");
            format!("{prefix}_{what}")
        };
        let inputs = ports("inputs", &cut.network.inputs, &cut.inputs);
        let outputs = ports("outputs", &cut.network.outputs, &cut.outputs);
        let instances: Vec<String> = cut.instances.iter().map(|instance| instance.index().to_string()).collect();
        let instances = if instances.is_empty() { "0".to_owned() } else { instances.join(", ") };
        let _ = writeln!(text, "\nstatic const uint32_t {prefix}_instances[] = {{{instances}}};");
        let cycles = if part.design.is_some() { format!("{prefix}_cycles") } else { "NULL".to_owned() };
        let _ = writeln!(
            listed,
            "    {{\"{}\", &{prefix}_network, {inputs}, {}, {outputs}, {}, {prefix}_instances, {first_place}, {cycles}}},",
            part.name.escape_default(),
            cut.network.inputs.len(),
            cut.network.outputs.len(),
        );
    }
    let storage: Vec<String> = network.inputs.iter().map(|port| port.ty.storage_bytes().to_string()).collect();
    let storage = if storage.is_empty() { "0".to_owned() } else { storage.join(", ") };
    let _ = write!(
        text,
        "\nstatic const struct headrace_part parts[] = {{\n{listed}}};\n\nstatic const uint32_t storage[] = {{{storage}}};\n\n\
         static const struct headrace_parts whole = {{parts, {n}, storage}};\n\n\
         static void init(void *context, const struct headrace_host *host) {{\n    headrace_parts_init(context, host, &whole);\n}}\n\n\
         const struct headrace_network {name}_network = {{\n    \"{name}\", sizeof(struct {name}), _Alignof(struct {name}), init,\n    \
         headrace_parts_write, headrace_parts_read, headrace_parts_run, headrace_parts_clear,\n    headrace_parts_inspect, \
         headrace_parts_firings, headrace_parts_control, NULL,\n    NULL, NULL, headrace_parts_copy,\n}};\n",
        n = rows.len(),
    );
    text
}

/// What `make` makes.
#[derive(Default)]
struct Makes {
    rules: String,
    objects: Vec<String>,
    archives: Vec<String>,
    circuits: Vec<String>,
}

impl Makes {
    fn add_circuit(&mut self, circuit: &Circuit<'_>) {
        self.rules.push_str(&circuit.rules());
        self.objects.push(format!("build/{}.o", circuit.prefix));
        self.archives.push(circuit.archive());
        self.circuits.push(circuit.prefix.to_owned());
    }

    fn add_program(&mut self, prefix: &str) {
        self.objects.push(format!("build/{prefix}.o"));
        let _ = write!(
            self.rules,
            "build/{prefix}.o: software/{prefix}.c software/{prefix}.h software/headrace.h software/headrace_wide.h\n\t@mkdir -p build\n\t\
             $(CC) $(ALL_CFLAGS) -c $< -o $@\n\n"
        );
    }

    fn makefile(&self, made: &str, name: &str, files: &Files) -> String {
        let of_main: Vec<&str> =
            files.keys().map(String::as_str).filter(|path| path.starts_with("main/") && path.ends_with(".c")).collect();
        let (objects, archives) = (self.objects.join(" "), self.archives.join(" "));
        let shipped = self.circuits.first().map_or(String::new(), |first| bridge::shipped(first));
        let link = format!("build/{name}.parts.o build/headrace_parts.o {objects}");
        let libraries = format!("{archives} {shipped} -lpthread -lm");
        let circuits: Vec<String> = self.circuits.iter().map(|prefix| format!("hardware/{prefix}")).collect();
        let each = |target: &str| -> String {
            circuits.iter().map(|folder| format!("\t$(MAKE) -C {folder} {target}\n")).collect()
        };
        format!(
            "# {made}\n# make: the program bin/{name}, with the parts in hardware as Verilator (5 or later) makes models of them. make test: a run of the\n\
             # interpreter again. make hardware: the benches of the circuits by themselves; make lint: Verilator with all warnings.\n\
             CFLAGS ?= -O3\n{mk}ALL_CFLAGS = -std=c11 -Wall -Wextra -fPIC -Isoftware -Ibridge $(CFLAGS)\n\n.DEFAULT_GOAL := main\n.PHONY: main test hardware lint clean\nmain: bin/{name}\n\n\
             # NATIVES: files in C that have natives of the network, such as NATIVES=mine.c\n\
             bin/{name}: {link} {mains} main/headrace_main.h $(NATIVES)\n\t@mkdir -p bin\n\t@mkdir -p build/main\n\t\
             for file in {mains} $(NATIVES); do $(CC) -std=gnu11 -Isoftware -Ibridge -Imain $(CFLAGS) -c $$file -o build/main/$$(basename $$file .c).o || exit 1; done\n\t\
             $(CXX) -o $@ build/main/*.o {link} {libraries}\n\n\
             build/test: test/test.c {link}\n\t$(CC) $(ALL_CFLAGS) -c test/test.c -o build/test.o\n\t$(CXX) -o $@ build/test.o {link} {libraries}\n\n\
             test: build/test\n\t./build/test\n\nhardware:\n{benches}\nlint:\n{lints}\n\
             build/{name}.parts.o: bridge/{name}.c bridge/{name}.h bridge/headrace_parts.h\n\t@mkdir -p build\n\t$(CC) $(ALL_CFLAGS) -c $< -o $@\n\n\
             build/headrace_parts.o: bridge/headrace_parts.c bridge/headrace_parts.h\n\t@mkdir -p build\n\t$(CC) $(ALL_CFLAGS) -c $< -o $@\n\n{rules}\
             clean:\n\trm -rf build bin\n",
            mk = bridge::MAKE,
            mains = of_main.join(" "),
            benches = each("test"),
            lints = each("lint"),
            rules = self.rules,
        )
    }
}

/// What users want to know.
fn readme(whole: &Whole<'_>, name: &str, rows: &[Row<'_>], options: &Options) -> String {
    let mut text = format!(
        "# {name}\n\nThe network `{}` in parts, as `mapping.xcf` says, made by `{}`.\n\n| part | is | instances | where |\n| --- | --- | --: | --- |\n",
        whole.network.name,
        options.command.replace('\n', " ")
    );
    for Row { prefix, part, .. } in rows {
        let n = part.cut.instances.len();
        let (what, place) = match part.design {
            Some(_) => ("a circuit", format!("`hardware/{prefix}`, with a bench of its own and a README")),
            None => ("a program", format!("`software/{prefix}.c`")),
        };
        let _ = writeln!(text, "| `{}` | {what} | {n} | {place} |", part.name);
    }
    text.push_str("\nWhat crosses from part to part, each a stream:\n\n| stream | bits of a token | from | to |\n| --- | --: | --- | --- |\n");
    for (at, connection) in whole.network.connections.iter().enumerate() {
        let has = |ends: &[Outside]| ends.contains(&Outside::Crossing(at));
        let from = rows.iter().find(|row| has(&row.part.cut.outputs));
        let to = rows.iter().find(|row| has(&row.part.cut.inputs));
        if let (Some(from), Some(to)) = (from, to) {
            let (source, target) = whole.network.describe(connection);
            let bits = whole.network.target_port(connection).ty.width();
            let _ = writeln!(text, "| `{source}` to `{target}` | {bits} | `{}` | `{}` |", from.part.name, to.part.name);
        }
    }
    let _ = write!(
        text,
        "\n```\nmake             # bin/{name}: circuits as models that Verilator makes, in one process with the programs\n\
         make test        # a run that the interpreter has made before\nmake hardware    # the benches of the circuits by themselves, with stalls by chance\n\
         make lint        # the circuits in Verilator with all warnings\n```\n\n\
         `bin/{name}` takes files as `headrace run` does: `--in PORT=FILE` and `--out PORT=FILE` for the ports of the network; a pipe or a device may be one. At the end it says\n\
         how many clock cycles the circuits worked. `--help` lists everything.\n\n\
         `bridge/headrace_parts.c` moves tokens between parts, each of which is a `struct headrace_network`. To put a circuit on a chip, give its part another\n\
         such table: `write` and `read` move tokens to and from its streams, `run` has nothing to do but wait.\n"
    );
    text
}
