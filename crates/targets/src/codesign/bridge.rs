//! Transactors: circuits behind the interface of networks in C, as models that Verilator makes. Each has its streams connected to
//! queues of tokens by `runtime/parts/headrace_circuit.hpp`.

use crate::c;
use crate::hdl::streams_of;
use crate::project::Files;
use crate::verilog;
use headrace_ir::{Network, Port};
use headrace_rtl::{Design, WORKS, with_activity};
use std::fmt::Write as _;

/// What every bridge includes.
const RUNTIME: (&str, &str) =
    ("bridge/headrace_circuit.hpp", include_str!("../../../../runtime/parts/headrace_circuit.hpp"));

/// A part in hardware.
#[derive(Clone, Copy, Debug)]
pub struct Circuit<'a> {
    /// What its functions and files are called: an identifier.
    pub prefix: &'a str,
    /// The part.
    pub network: &'a Network,
    /// What it was lowered to.
    pub design: &'a Design,
}

impl Circuit<'_> {
    fn top(&self) -> &str {
        self.design.modules.last().map_or("", |module| &module.name)
    }

    /// The streams of some ports as a table, and what connects them.
    fn streams(&self, ports: &[Port], is_input: bool) -> (String, String) {
        let Some(module) = self.design.modules.last() else { return Default::default() };
        let (inputs, outputs) = streams_of(module);
        let (streams, array, forth, back) =
            if is_input { (inputs, "in", "i", "o") } else { (outputs, "out", "o", "i") };
        let (mut table, mut connected) = (Vec::new(), String::new());
        for (at, (port, stream)) in ports.iter().zip(&streams).enumerate() {
            let width = port.ty.width().max(1);
            let signed = port.ty.as_int().is_some_and(|ty| ty.signed);
            let (storage, beat) = (port.ty.storage_bytes(), (stream.width / width).max(1));
            table.push(format!("{{{width}, {storage}, {beat}, {signed}}}"));
            let name = &stream.name;
            let _ = writeln!(
                connected,
                "        {array}[{at}] = headrace::wires_of(model.{name}_data_{forth}, model.{name}_valid_{forth}, model.{name}_ready_{back});"
            );
        }
        // No language has an array without elements.
        if table.is_empty() {
            table.push("{1, 1, 1, false}".to_owned());
            let _ = writeln!(connected, "        (void){array};");
        }
        (table.join(", "), connected)
    }

    /// The bridge in C++.
    fn source(&self, head: &str) -> String {
        let Circuit { prefix, network, design } = self;
        let (inputs, connected_inputs) = self.streams(&network.inputs, true);
        let (outputs, connected_outputs) = self.streams(&network.outputs, false);
        let is_clocked = design.modules.last().is_some_and(|module| module.has_state(design));
        let (clock, reset) = if is_clocked {
            ("model.clk_i = clock;", "model.rst_ni = is_off;")
        } else {
            ("(void)model, (void)clock;", "(void)model, (void)is_off;")
        };
        format!(
            "// {head}\n// The circuit {top} as a network.\n#include \"headrace_circuit.hpp\"\n#include \"V{prefix}.h\"\n\n\
             namespace {{\n\nstruct streams {{\n    using model = V{prefix};\n    \
             static constexpr uint32_t N_INPUTS = {n_inputs}, N_OUTPUTS = {n_outputs};\n    \
             static constexpr headrace::stream INPUTS[] = {{{inputs}}};\n    static constexpr headrace::stream OUTPUTS[] = {{{outputs}}};\n\n    \
             static void connect(model &model, headrace::wires *in, headrace::wires *out) {{\n{connected_inputs}{connected_outputs}    }}\n    \
             static void clock(model &model, CData clock) {{ {clock} }}\n    static void reset(model &model, CData is_off) {{ {reset} }}\n    static bool works(const model &model) {{ return model.{WORKS} != 0; }}\n}};\n\n}} // namespace\n\n\
             extern \"C\" {{\nextern const struct headrace_network {prefix}_network;\nconst struct headrace_network {prefix}_network = \
             headrace::circuit<streams>::network({name:?});\nuint64_t {prefix}_cycles(const void *context);\nuint64_t {prefix}_cycles(const void *context) \
             {{ return headrace::circuit<streams>::cycles(context); }}\n}}\n",
            top = self.top(),
            n_inputs = network.inputs.len(),
            n_outputs = network.outputs.len(),
            name = network.name,
        )
    }

    /// Rules of `make` that compile it: to `build/PREFIX.o`, with `build/PREFIX/VPREFIX__ALL.a` and what Verilator ships.
    pub(super) fn rules(&self) -> String {
        let prefix = self.prefix;
        let sources: Vec<String> =
            self.design.modules.iter().map(|module| format!("bridge/{prefix}/rtl/{}.v", module.name)).collect();
        let sources = sources.join(" ");
        format!(
            "build/{prefix}/V{prefix}__ALL.a: {sources}\n\t@mkdir -p build\n\t$(VERILATOR) --cc -O3 --flatten --x-assign fast --x-initial fast \
             -Wno-fatal -Wno-WIDTH -Wno-UNUSED -CFLAGS -fPIC --prefix V{prefix} --top-module {top} --Mdir build/{prefix} {sources} > build/{prefix}.log 2>&1 \
             || (cat build/{prefix}.log; false)\n\t@$(MAKE) --no-print-directory -C build/{prefix} -f V{prefix}.mk OPT_FAST=$(OPT) OPT_SLOW=$(OPT) \
             OPT_GLOBAL=$(OPT) V{prefix}__ALL.a verilated.o verilated_threads.o >> build/{prefix}.log 2>&1 || (cat build/{prefix}.log; false)\n\n\
             build/{prefix}.o: bridge/{prefix}.cpp bridge/headrace_circuit.hpp software/headrace.h build/{prefix}/V{prefix}__ALL.a\n\t\
             $(CXX) -std=gnu++17 -Wall -Wextra -fPIC $(OPT) -Isoftware -Ibridge -Ibuild/{prefix} \
             -isystem $(VERILATOR_ROOT)/include -isystem $(VERILATOR_ROOT)/include/vltstd -c $< -o $@\n\n",
            top = self.top(),
        )
    }

    /// The files of the bridge: C++, and the circuit with an output that says whether it has anything to do, of which Verilator makes
    /// the model.
    pub(super) fn files(&self, head: &str) -> Files {
        let prefix = self.prefix;
        let mut files = verilog::modules(&with_activity(self.design), head, &format!("bridge/{prefix}/"));
        files.insert(format!("bridge/{prefix}.cpp"), self.source(head).into_bytes());
        files
    }

    /// What a linker takes beside `build/PREFIX.o`.
    pub(super) fn archive(&self) -> String {
        format!("build/{0}/V{0}__ALL.a", self.prefix)
    }
}

/// What a Makefile with circuits begins with.
pub(super) const MAKE: &str = "CC ?= cc\nCXX ?= c++\nVERILATOR ?= verilator\nOPT ?= -O2\n\
    VERILATOR_ROOT := $(shell $(VERILATOR) --getenv VERILATOR_ROOT)\n\n";

/// What Verilator ships, as one of the models has it compiled.
pub(super) fn shipped(prefix: &str) -> String {
    format!("build/{prefix}/verilated.o build/{prefix}/verilated_threads.o")
}

/// What every bridge is made of beside its own source.
pub(super) fn runtime() -> Files {
    let mut files: Files =
        c::RUNTIME.iter().map(|(name, text)| (format!("software/{name}"), text.as_bytes().to_vec())).collect();
    files.insert(RUNTIME.0.to_owned(), RUNTIME.1.as_bytes().to_vec());
    files
}

/// A folder in which `make` makes a shared library of a circuit, `build/PREFIX.so`, with its `PREFIX_network` and `PREFIX_cycles`.
pub fn library(circuit: &Circuit<'_>, command: &str) -> Files {
    let head = format!("Made by `{command}`.");
    let mut files = runtime();
    files.extend(circuit.files(&head));
    let prefix = circuit.prefix;
    let makefile = format!(
        "{MAKE}build/{prefix}.so: build/{prefix}.o\n\t$(CXX) -shared -o $@ build/{prefix}.o {} {} -lpthread\n\n{}",
        circuit.archive(),
        shipped(prefix),
        circuit.rules()
    );
    files.insert("Makefile".to_owned(), makefile.into_bytes());
    files
}
