//! Packaging. Folders: modules and benches of networks, with what builds and tests them.

use super::bench::bench;
use super::modules;
use crate::hdl::{Language, LwcTexts, Part};
use crate::project::Files;
use std::fmt::Write as _;

pub(crate) const VERILOG: Language = Language {
    name: "Verilog-2005",
    ending: "v",
    file_type: "verilogSource-2005",
    modules,
    bench,
    shared: |_| Files::new(),
    makefile,
    commands: "make test                 # known answers, with stalls by chance, on Icarus\n\
               make test SIM=verilator   # the same on Verilator\n\
               make lint                 # Verilator with all warnings\n\
               make wave                 # a waveform in build/, with names of states, by Icarus; STALL=0 is without stalls\n\
               headrace synth FOLDER     # LUTs and clock frequency of what lies in FOLDER/rtl, by Yosys and nextpnr\n",
    targets,
    comment: "//",
    lwc: LwcTexts {
        top: include_str!("../../../../runtime/verilog/LWC.v"),
        bench: include_str!("../../../../runtime/verilog/LWC_tb.v"),
        cocotb: include_str!("../../../../runtime/verilog/lwc_cocotb.py"),
        with_keys: ["    .Sdi_data_i(sdi_data),\n    .Sdi_valid_i(sdi_valid),\n    .Sdi_ready_o(sdi_ready),\n", ""],
        without_keys: [
            "",
            "  // There are no keys.\n  wire unused = &{1'b0, sdi_data, sdi_valid};\n  assign sdi_ready = 1'b0 & unused;\n",
        ],
    },
};

/// A file of `make` that tests the designs with Icarus or Verilator.
fn makefile(parts: &[Part], head: &str) -> String {
    let names: Vec<String> = parts.iter().map(Part::name).collect();
    let of = |what: &str| names.iter().map(|name| format!("{what}-{name}")).collect::<Vec<_>>().join(" ");
    let mut rules = String::new();
    for (part, name) in parts.iter().zip(&names) {
        let Part { folder, top, .. } = part;
        let sources = part.sources("v").join(" ");
        // Without stalls first, when blocks come out as the head of the module says.
        let timing = if part.is_timed {
            format!(
                "\t@$(call run,{name}) +seed=$(SEED) +stall=0 +timing=1 > build/{name}.timing.log; \
                 grep -q ': [0-9]* passed, 0 failed' build/{name}.timing.log || (cat build/{name}.timing.log; false)\n"
            )
        } else {
            String::new()
        };
        let _ = write!(
            rules,
            "build/{name}.vvp: {sources} {folder}tb/{top}_tb.v\n\t@mkdir -p build\n\t\
             $(IVERILOG) -g2005 -Wall -s {top}_tb -o $@ $^\n\n\
             build/{name}_verilated/sim: {sources} {folder}tb/{top}_tb.v\n\t@mkdir -p build\n\t\
             @($(VERILATOR) --cc --main --exe --timing -O3 -Wno-fatal -Wno-WIDTH -Wno-STMTDLY --top-module {top}_tb \
             --Mdir build/{name}_verilated -o sim $^ && $(MAKE) --no-print-directory -C build/{name}_verilated -f V{top}_tb.mk \
             OPT_FAST=$(OPT) OPT_SLOW=$(OPT) OPT_GLOBAL=$(OPT)) > build/{name}_verilated.log 2>&1 || (cat build/{name}_verilated.log; false)\n\n\
             wave-{name}: {sources} {folder}tb/{top}_tb.v\n\t@mkdir -p build\n\t\
             $(IVERILOG) -g2005 -DWAVE -s {top}_tb -o build/{name}_wave.vvp $^\n\t\
             $(VVP) -n build/{name}_wave.vvp +seed=$(SEED) +stall=$(STALL) > build/{name}_wave.log; ls build/*.vcd\n\n\
             lint-{name}:\n\t$(VERILATOR) --lint-only -Wall --top-module {top} {sources}\n\n\
             test-{name}: $(call program,{name})\n{timing}\t@$(call run,{name}) +seed=$(SEED) +stall=$(STALL) > build/{name}.log; \
             grep -v '^message [0-9]*: [0-9]* cycles' build/{name}.log; grep -q ': [0-9]* passed, 0 failed' build/{name}.log\n\n"
        );
    }
    format!(
        "# {head}\n# make test: known answers, with stalls by chance, and latency and initiation interval without. SIM=verilator takes Verilator (5 or later) instead of Icarus;\n\
         # SEED=N and STALL=PERCENT choose the stalls. OPT=-O2 has what Verilator writes optimised, for long simulations. make lint:\n\
         # Verilator with all warnings. make wave: a waveform, by Icarus.\n\n\
         SIM ?= iverilog\nOPT ?= -O0\nIVERILOG ?= iverilog\nVERILATOR ?= verilator\nVVP ?= vvp\nSEED ?= 1\nSTALL ?= 30\n\n\
         ifneq (,$(findstring verilator,$(SIM)))\nVERILATOR := $(SIM)\nprogram = build/$(1)_verilated/sim\nrun = ./build/$(1)_verilated/sim\n\
         else\nIVERILOG := $(SIM)\nprogram = build/$(1).vvp\nrun = $(VVP) -n build/$(1).vvp\nendif\n\n\
         .DEFAULT_GOAL := test\ntest: {test}\nlint: {lint}\nwave: {wave}\n\n{rules}clean:\n\trm -rf build\n\n.PHONY: test lint wave clean {test} {lint} {wave}\n",
        test = of("test"),
        lint = of("lint"),
        wave = of("wave"),
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
