//! Folders: entities and benches of networks, with what builds and tests them.

use super::bench::bench;
use super::names::plain;
use super::{PACKAGE, modules};
use crate::c::Options;
use crate::hdl::{Part, Printer, core, head, ports_text};
use crate::project::{Files, KnownAnswer, Recording, Told};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_source::Diagnostic;
use std::fmt::Write as _;

const PRINTER: Printer = Printer { modules, bench };

/// Where the package of functions lies.
const PACKAGE_PATH: &str = "rtl/headrace_pkg.vhd";

/// A file of `make` that tests the designs with GHDL, each in a library of its own.
fn makefile(parts: &[Part], head: &str) -> String {
    let names: Vec<String> = parts.iter().map(Part::name).collect();
    let of = |what: &str| names.iter().map(|name| format!("{what}-{name}")).collect::<Vec<_>>().join(" ");
    let mut rules = String::new();
    for (part, name) in parts.iter().zip(&names) {
        let Part { folder, top, .. } = part;
        let sources = part.sources("vhd").join(" ");
        // An extended identifier keeps its backslashes on the command line, too.
        let bench = plain(&format!("{top}_tb")).replace('\\', "\\\\");
        let _ = write!(
            rules,
            "build/{name}/analysed: {PACKAGE_PATH} {sources} {folder}tb/{top}_tb.vhd\n\t@mkdir -p build/{name}\n\t\
             $(GHDL) -a --std=08 --workdir=build/{name} $^\n\t@touch $@\n\n\
             test-{name}: build/{name}/analysed\n\t@$(GHDL) --elab-run --std=08 --workdir=build/{name} {bench} \
             -gSEED=$(SEED) -gSTALL=$(STALL) --ieee-asserts=disable > build/{name}.log 2>&1; \
             grep -v ': finish\\|finished' build/{name}.log; grep -q ': [0-9]* passed, 0 failed' build/{name}.log\n\n"
        );
    }
    format!(
        "# {head}\n# make test: known answers, with stalls by chance; SEED=N and STALL=PERCENT choose the stalls.\n\n\
         GHDL ?= ghdl\nSEED ?= 1\nSTALL ?= 30\n\n.DEFAULT_GOAL := test\ntest: {test}\n\n{rules}clean:\n\trm -rf build\n\n\
         .PHONY: test clean {test}\n",
        test = of("test"),
    )
}

/// What FuseSoC can do with a design.
fn targets(part: &Part) -> String {
    format!(
        "  sim:\n    <<: *default\n    filesets: [rtl, tb]\n    toplevel: {}_tb\n    flow: sim\n    flow_options:\n      \
         tool: ghdl\n      analyze_options: [--std=08]\n",
        part.top
    )
}

fn files_of(parts: Vec<(Part, &Network)>, title: &str, options: &Options, files: &mut Files) {
    let head = head(options);
    for (part, _) in &parts {
        let core = core(part, &head, &[PACKAGE_PATH], "vhd", "vhdlSource-2008", &targets(part));
        files.insert(format!("{}.core", part.name()), core.into_bytes());
    }
    let readme = format!(
        "# {title}\n\nVHDL-2008, made by `{}`.\n\n```\nmake test   # known answers, with stalls by chance, on GHDL\n```\n\n{}",
        options.command.replace('\n', " "),
        ports_text(&parts, "vhd")
    );
    files.insert("README.md".into(), readme.into_bytes());
    files.insert(PACKAGE_PATH.into(), format!("-- {head}\n\n{PACKAGE}").into_bytes());
    let parts: Vec<Part> = parts.into_iter().map(|(part, _)| part).collect();
    files.insert("Makefile".into(), makefile(&parts, &head).into_bytes());
}

/// A folder for a network.
///
/// # Errors
///
/// What has no place in hardware, with where it stands.
pub fn of_network(
    network: &Network,
    recording: Option<&Recording>,
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    let mut files = Files::new();
    let parts = PRINTER.network(network, recording, options, &mut files)?;
    let title = parts.first().map_or(String::new(), |(part, _)| part.top.clone());
    files_of(parts, &title, options, &mut files);
    Ok(files)
}

/// A folder for operations of one parameter set, with one below it for each.
///
/// # Errors
///
/// What has no place in hardware, with where it stands.
pub fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    known: &[KnownAnswer],
    options: &Options,
    told: &Told<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let mut files = Files::new();
    let parts = PRINTER.operations(operations, known, options, told, &mut files)?;
    files_of(parts, &format!("{title} ({name})"), options, &mut files);
    Ok(files)
}
