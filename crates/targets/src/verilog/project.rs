//! Folders: modules and benches of networks, with what builds and tests them.

use super::bench::{Message, bench};
use super::modules;
use crate::c::Options;
use crate::project::{Files, KnownAnswer, Recording, Told, on_all_processors};
use headrace_hardware::lower;
use headrace_ir::{Int, Network, Port};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::framing::{Message as Strings, MessageWriter, Tokens};
use headrace_program::names::snake_case;
use headrace_rtl::{Bits, Design};
use headrace_source::Diagnostic;
use std::fmt::Write as _;

fn head(options: &Options) -> String {
    format!("Made by `{}`. Changes here will be lost.", options.command.replace('\n', " "))
}

/// Stored tokens of a port as values.
fn values(bytes: &[u8], port: &Port) -> Vec<Bits> {
    let width = port.ty.width().max(1);
    let value = |token: &[u8]| Bits::of_signed(width, &Int::from_le_bytes(token, false).to_big());
    bytes.chunks_exact(port.ty.storage_bytes()).map(value).collect()
}

fn design(network: &Network, options: &Options) -> Result<Design, Vec<Diagnostic>> {
    lower(network, &headrace_hardware::Options { fifo_tokens: options.fifo_tokens, ..Default::default() })
}

/// A design in a folder of its own, as build files know it.
struct Part {
    /// Its folder: empty, or with a slash behind.
    folder: String,
    /// Its top module.
    top: String,
    /// Its files in Verilog, each after those that it has instances of.
    sources: Vec<String>,
    about: String,
}

impl Part {
    fn of(design: &Design, folder: &str, about: String) -> Part {
        let top = design.modules.last().map_or(String::new(), |module| module.name.clone());
        let sources = design.modules.iter().map(|module| format!("{folder}rtl/{}.v", module.name)).collect();
        Part { folder: folder.to_owned(), top, sources, about }
    }

    /// What its targets in the Makefile and its core are called.
    fn name(&self) -> String {
        if self.folder.is_empty() { snake_case(&self.top) } else { self.folder.trim_end_matches('/').to_owned() }
    }
}

/// A file of `make` that tests the designs with Icarus or Verilator.
fn makefile(parts: &[Part], head: &str) -> String {
    let names: Vec<String> = parts.iter().map(Part::name).collect();
    let of = |what: &str| names.iter().map(|name| format!("{what}-{name}")).collect::<Vec<_>>().join(" ");
    let mut rules = String::new();
    for (part, name) in parts.iter().zip(&names) {
        let Part { folder, top, sources, .. } = part;
        let sources = sources.join(" ");
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

/// A description for FuseSoC.
fn core(part: &Part, head: &str) -> String {
    let list = |files: &[String]| files.iter().map(|file| format!("      - {file}\n")).collect::<String>();
    let Part { folder, top, sources, about } = part;
    format!(
        "CAPI=2:\n# {head}\nname: headrace:generated:{name}:0.1.0\ndescription: \"{about}\"\n\nfilesets:\n  rtl:\n    files:\n{rtl}    \
         file_type: verilogSource-2005\n  tb:\n    files:\n      - {folder}tb/{top}_tb.v\n    file_type: verilogSource-2005\n\n\
         targets:\n  default: &default\n    filesets: [rtl]\n    toplevel: {top}\n  lint:\n    <<: *default\n    flow: lint\n    \
         flow_options:\n      tool: verilator\n      verilator_options: [-Wall]\n  sim:\n    <<: *default\n    filesets: [rtl, tb]\n    toplevel: {top}_tb\n    \
         flow: sim\n    flow_options:\n      tool: icarus\n      iverilog_options: [-g2005]\n",
        name = part.name().replace('-', "_"),
        about = about.replace('"', "'"),
        rtl = list(sources),
    )
}

fn readme(title: &str, parts: &[(Part, &Network)], options: &Options) -> String {
    let mut text = format!(
        "# {title}\n\nVerilog-2005, made by `{}`.\n\n```\nmake test                 # known answers, with stalls by chance, on Icarus\n\
         make test SIM=verilator   # the same on Verilator\nmake lint                 # Verilator with all warnings\n```\n\n",
        options.command.replace('\n', " ")
    );
    for (part, network) in parts {
        let _ = write!(
            text,
            "## `{}`\n\n{} The module is in `{}rtl/{}.v`; `{}.core` describes it to FuseSoC.\n\n| port | bits | direction |\n| --- | ---: | --- |\n",
            part.top,
            part.about,
            part.folder,
            part.top,
            part.name()
        );
        for (ports, direction) in [(&network.inputs, "in"), (&network.outputs, "out")] {
            for port in ports {
                let _ = writeln!(text, "| `{}` | {} | {direction} |", port.name, port.ty.width());
            }
        }
        text.push('\n');
    }
    text.push_str(
        "## Streams\n\nEach port of the network is a stream: `PORT_data`, `PORT_valid` and `PORT_ready`, with `_i` or `_o` behind. A token moves at\n\
         a rising edge of `clk_i` at which both valid and ready are set. Valid does not wait for ready, and stays until the token has\n\
         moved. `rst_ni` is active low and may come at any time; it must go at a rising edge. After it nothing has happened yet.\n\n\
         Each actor is a module, each connection a FIFO. What actors print is left out. Errors of a program, as an index outside\n\
         its list, are not reported.\n",
    );
    text
}

fn files_of(parts: Vec<(Part, &Network)>, title: &str, options: &Options, files: &mut Files) {
    let head = head(options);
    let only: Vec<&Part> = parts.iter().map(|(part, _)| part).collect();
    for part in &only {
        files.insert(format!("{}.core", part.name()), core(part, &head).into_bytes());
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
    let head = head(options);
    let design = design(network, options)?;
    let mut files = modules(&design, &head, "");
    let message = recording.map(|Recording { inputs, outputs }| Message {
        inputs: network.inputs.iter().zip(inputs).map(|(port, stream)| values(stream, port)).collect(),
        outputs: network.outputs.iter().zip(outputs).map(|(port, stream)| (values(stream, port), false)).collect(),
    });
    // Without a run that tells anything it is only begun.
    let message = message.unwrap_or_else(|| Message {
        inputs: vec![Vec::new(); network.inputs.len()],
        outputs: vec![(Vec::new(), true); network.outputs.len()],
    });
    let part = Part::of(&design, "", format!("The network `{}`.", network.name));
    if let Some(top) = design.modules.last() {
        files.extend(bench(top, &head, "", &part.name(), &[message]));
    }
    let title = part.top.clone();
    files_of(vec![(part, network)], &title, options, &mut files);
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
    let head = head(options);
    let designs = on_all_processors(operations, |(spec, network)| {
        told(spec, None);
        design(network, options)
    });
    let (mut files, mut problems, mut parts) = (Files::new(), Vec::new(), Vec::new());
    for (at, (design, (spec, network))) in designs.into_iter().zip(operations).enumerate() {
        let design = match design {
            Ok(design) => design,
            Err(found) => {
                problems.extend(found);
                continue;
            }
        };
        let folder = format!("{}/", spec.name);
        files.extend(modules(&design, &head, &folder));
        let own = known.iter().filter(|answer| answer.operation == at);
        let messages: Vec<Message> = own.filter_map(|answer| streams(spec, network, answer)).collect();
        if let Some(top) = design.modules.last() {
            files.extend(bench(top, &head, &folder, &spec.name, &messages));
        }
        let about = format!("`{}`, the network `{}`.", spec.full_name(), network.name);
        parts.push((Part::of(&design, &folder, about), *network));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    files_of(parts, &format!("{title} ({name})"), options, &mut files);
    Ok(files)
}

/// Whether the bench can try an answer: what the framing of messages refuses never comes to the network.
pub(crate) fn holds(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> bool {
    streams(spec, network, answer).is_some()
}

/// The tokens of a known answer. None for messages that the framing does not take, and where nothing is compared.
fn streams(spec: &OperationSpec, network: &Network, answer: &KnownAnswer) -> Option<Message> {
    let mut strings = Strings::new();
    strings.words = u64::from(answer.words);
    answer.strings.iter().for_each(|(role, bytes)| strings.set(*role, bytes.clone()));
    let mut message = Message {
        inputs: vec![Vec::new(); network.inputs.len()],
        outputs: vec![(Vec::new(), true); network.outputs.len()],
    };
    for part in MessageWriter::new(spec).whole(&strings).ok()? {
        let at = network.inputs.iter().position(|port| port.name == part.port)?;
        let width = network.inputs[at].ty.width().max(1);
        match part.tokens {
            Tokens::Bytes(bytes) => message.inputs[at].extend(bytes.iter().map(|&byte| Bits::new(width, byte))),
            Tokens::Words(words) => message.inputs[at].extend(words.iter().map(|&word| Bits::new(width, word))),
        }
    }
    let mut compared = false;
    match &answer.expected {
        Some(expected) => {
            for port in spec.outputs.iter().filter(|port| port.bits == 8) {
                let found = network.outputs.iter().position(|own| own.name == port.name);
                let Some((at, bytes)) = found.zip(expected.get(&port.role)) else { continue };
                // Of a tag the record may hold the first bytes only.
                let more = port.role == Role::Tag && port.sizes.fixed() != Some(bytes.len() as u64);
                message.outputs[at] = (values(bytes, &network.outputs[at]), more);
                compared = true;
            }
        }
        // What is refused says so.
        None => {
            let verified = spec.outputs.iter().find(|port| port.role == Role::Verified)?;
            let at = network.outputs.iter().position(|port| port.name == verified.name)?;
            message.outputs[at] = (vec![Bits::zero(network.outputs[at].ty.width().max(1))], false);
            compared = true;
        }
    }
    compared.then_some(message)
}
