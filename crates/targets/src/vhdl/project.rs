//! Packaging. Folders: entities and benches of networks, with what builds and tests them.

use super::bench::bench;
use super::names::plain;
use super::{PACKAGE, modules};
use crate::hdl::{Language, LwcTexts, Part};
use crate::project::Files;
use std::fmt::Write as _;

pub(crate) const VHDL: Language = Language {
    name: "VHDL-2008",
    ending: "vhd",
    file_type: "vhdlSource-2008",
    modules,
    bench,
    shared: |head| Files::from([(PACKAGE_PATH.into(), format!("-- {head}\n\n{PACKAGE}").into_bytes())]),
    makefile,
    commands: "make test   # known answers, with stalls by chance, on GHDL\n",
    targets,
    comment: "--",
    lwc: LwcTexts {
        top: include_str!("../../../../runtime/vhdl/LWC.vhd"),
        bench: include_str!("../../../../runtime/vhdl/LWC_tb.vhd"),
        cocotb: "",
        with_keys: [
            "      Sdi_data_i => sdi_data,\n      Sdi_valid_i => sdi_valid,\n      Sdi_ready_o => sdi_ready,\n",
            "",
        ],
        without_keys: ["", "  -- There are no keys.\n  sdi_ready <= '0';\n"],
    },
};

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
        // Without stalls first, when blocks come out as the head of the entity says.
        let timing = if part.is_timed {
            format!(
                "\t@$(GHDL) --elab-run --std=08 --workdir=build/{name} {bench} -gSEED=$(SEED) -gSTALL=0 -gTIMING=1 \
                 --ieee-asserts=disable > build/{name}.timing.log 2>&1; \
                 grep -q ': [0-9]* passed, 0 failed' build/{name}.timing.log || (cat build/{name}.timing.log; false)\n"
            )
        } else {
            String::new()
        };
        let _ = write!(
            rules,
            "build/{name}/analysed: {PACKAGE_PATH} {sources} {folder}tb/{top}_tb.vhd\n\t@mkdir -p build/{name}\n\t\
             $(GHDL) -a --std=08 --workdir=build/{name} $^\n\t@touch $@\n\n\
             test-{name}: build/{name}/analysed\n{timing}\t@$(GHDL) --elab-run --std=08 --workdir=build/{name} {bench} \
             -gSEED=$(SEED) -gSTALL=$(STALL) --ieee-asserts=disable > build/{name}.log 2>&1; \
             grep -v ': finish\\|finished' build/{name}.log; grep -q ': [0-9]* passed, 0 failed' build/{name}.log\n\n"
        );
    }
    format!(
        "# {head}\n# make test: known answers, with stalls by chance, and latency and initiation interval without; SEED=N and STALL=PERCENT choose the stalls.\n\n\
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
