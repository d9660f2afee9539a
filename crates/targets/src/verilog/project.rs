//! Folders: modules and benches of networks, with what builds and tests them.

use super::bench::bench;
use super::modules;
use crate::c::Options;
use crate::hdl::{Part, Printer, core, head, ports_text};
use crate::project::{Files, KnownAnswer, Recording, Told};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_source::Diagnostic;
use std::fmt::Write as _;

const PRINTER: Printer = Printer { modules, bench };

/// A file of `make` that tests the designs with Icarus or Verilator.
fn makefile(parts: &[Part], head: &str) -> String {
    let names: Vec<String> = parts.iter().map(Part::name).collect();
    let of = |what: &str| names.iter().map(|name| format!("{what}-{name}")).collect::<Vec<_>>().join(" ");
    let mut rules = String::new();
    for (part, name) in parts.iter().zip(&names) {
        let Part { folder, top, .. } = part;
        let sources = part.sources("v").join(" ");
        let _ = write!(
            rules,
            "build/{name}.vvp: {sources} {folder}tb/{top}_tb.v\n\t@mkdir -p build\n\t\
             $(IVERILOG) -g2005 -Wall -s {top}_tb -o $@ $^\n\n\
             build/{name}_verilated/sim: {sources} {folder}tb/{top}_tb.v\n\t@mkdir -p build\n\t\
             $(VERILATOR) --binary -j 1 -O3 -Wno-fatal -Wno-WIDTH -Wno-STMTDLY --top-module {top}_tb \
             --Mdir build/{name}_verilated -o sim $^ > build/{name}_verilated.log 2>&1 || (cat build/{name}_verilated.log; false)\n\n\
             lint-{name}:\n\t$(VERILATOR) --lint-only -Wall --top-module {top} {sources}\n\n\
             test-{name}: $(call program,{name})\n\t@$(call run,{name}) +seed=$(SEED) +stall=$(STALL) > build/{name}.log; \
             grep -v '^message [0-9]*: [0-9]* cycles' build/{name}.log; grep -q ': [0-9]* passed, 0 failed' build/{name}.log\n\n"
        );
    }
    format!(
        "# {head}\n# make test: known answers, with stalls by chance. SIM=verilator takes Verilator (5 or later) instead of Icarus;\n\
         # SEED=N and STALL=PERCENT choose the stalls. make lint: Verilator with all warnings.\n\n\
         SIM ?= iverilog\nIVERILOG ?= iverilog\nVERILATOR ?= verilator\nVVP ?= vvp\nSEED ?= 1\nSTALL ?= 30\n\n\
         ifneq (,$(findstring verilator,$(SIM)))\nVERILATOR := $(SIM)\nprogram = build/$(1)_verilated/sim\nrun = ./build/$(1)_verilated/sim\n\
         else\nIVERILOG := $(SIM)\nprogram = build/$(1).vvp\nrun = $(VVP) -n build/$(1).vvp\nendif\n\n\
         .DEFAULT_GOAL := test\ntest: {test}\nlint: {lint}\n\n{rules}clean:\n\trm -rf build\n\n.PHONY: test lint clean {test} {lint}\n",
        test = of("test"),
        lint = of("lint"),
    )
}

/// What FuseSoC can do with a design.
fn targets(part: &Part) -> String {
    format!(
        "  lint:\n    <<: *default\n    flow: lint\n    flow_options:\n      tool: verilator\n      verilator_options: [-Wall]\n  \
         sim:\n    <<: *default\n    filesets: [rtl, tb]\n    toplevel: {}_tb\n    flow: sim\n    flow_options:\n      \
         tool: icarus\n      iverilog_options: [-g2005]\n",
        part.top
    )
}

fn readme(title: &str, parts: &[(Part, &Network)], options: &Options) -> String {
    format!(
        "# {title}\n\nVerilog-2005, made by `{}`.\n\n```\nmake test                 # known answers, with stalls by chance, on Icarus\n\
         make test SIM=verilator   # the same on Verilator\nmake lint                 # Verilator with all warnings\n```\n\n{}",
        options.command.replace('\n', " "),
        ports_text(parts, "v")
    )
}

fn files_of(parts: Vec<(Part, &Network)>, title: &str, options: &Options, files: &mut Files) {
    let head = head(options);
    let only: Vec<&Part> = parts.iter().map(|(part, _)| part).collect();
    for part in &only {
        files.insert(
            format!("{}.core", part.name()),
            core(part, &head, &[], "v", "verilogSource-2005", &targets(part)).into_bytes(),
        );
    }
    files.insert("README.md".into(), readme(title, &parts, options).into_bytes());
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
