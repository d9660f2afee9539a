//! Target languages: a network in, the files of a program out.
//!
//! One folder a language, all of one shape: options, what is settled before anything is printed, and printing. Pure: a
//! target returns a map from path to bytes and does no IO. [`ALL`] is the list of them; what projects have in common
//! stands in `project`, what an operation offers in any language in `operation`, what builds and tests them in
//! [`toolchain`], how they are measured in [`contender`].

mod answers;
pub mod automata;
mod braces;
pub mod c;
pub mod codesign;
pub mod contender;
pub mod cpp;
pub mod cuda;
mod descriptions;
mod device;
mod hdl;
pub mod java;
mod layout;
pub mod llvm;
mod locals;
mod lowered;
pub mod memo;
pub mod opencl;
pub mod openssl;
mod operation;
mod options;
pub mod project;
pub mod promela;
pub mod rust;
pub mod toolchain;
mod vector;
pub mod verilog;
pub mod vhdl;
pub mod wasm;
pub mod xlim;

use contender::Contender;
pub use hdl::MadeDesign;
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_library::lwc::{Core, Script};
use headrace_source::Diagnostic;
pub use options::Options;
use project::{Files, KnownAnswer, OnOperation, Recording};
use toolchain::Toolchain;

/// A folder with a network in Verilog, whose bench has a message for each of these runs.
///
/// # Errors
///
/// What has no place in hardware, with where it stands.
pub fn verilog_of_network(
    network: &Network,
    recordings: &[&Recording],
    options: &Options,
) -> Result<Files, Vec<Diagnostic>> {
    verilog::project::VERILOG.of_network(network, recordings, options)
}

/// A project for a network, with a recorded run for its test.
pub type OfNetwork = fn(&Network, Option<&Recording>, &Options) -> Result<Files, Vec<Diagnostic>>;

/// A project for operations of one parameter set or of several: its name and title, the operations with their networks,
/// and known answers.
pub type OfOperations = fn(
    &str,
    &str,
    &[(&OperationSpec, &Network)],
    &[KnownAnswer],
    &Options,
    &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>>;

/// A project for a core with the LWC hardware API: its title, the core, its network, and messages for its test.
pub type OfLwc = fn(&str, &Core<'_>, &Network, &Script, &Options) -> Result<Files, Vec<Diagnostic>>;

/// A project for a design in hardware that was made elsewhere.
pub type OfDesign = fn(&MadeDesign<'_>, &Options) -> Files;

/// A target language, for those who list and choose.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What the command line calls it.
    pub name: &'static str,
    /// What it makes.
    pub about: &'static str,
    /// What builds and tests what it makes; the first has the name of the target.
    pub toolchains: &'static [Toolchain],
    /// What builds and tests a project; `{}` stands for its folder.
    pub test: &'static str,
    /// Several ways of running loops are printed, which can be tuned.
    pub tunes: bool,
    /// Operations of several parameter sets make one project.
    pub gathers: bool,
    /// A primitive that is named stands for all of its parameter sets, and what is not named for everything that has a
    /// place.
    pub takes_all: bool,
    /// Projects have a test on known answers of the library.
    pub known_answers: bool,
    /// Whether that test can try an answer: not where something beside the network would have to refuse it.
    pub holds: fn(&OperationSpec, &Network, &KnownAnswer) -> bool,
    /// What an operation is in the target: itself, nothing, or several with other arguments and names.
    pub offers: fn(&OperationSpec) -> Vec<OperationSpec>,
    /// Makes a project for a network, where networks by themselves have a place.
    pub of_network: Option<OfNetwork>,
    /// Makes a project for a design in hardware that was made elsewhere.
    pub of_design: Option<OfDesign>,
    /// Makes a project for operations.
    pub of_operations: OfOperations,
    /// Makes a project for a core with the LWC hardware API.
    pub of_lwc: Option<OfLwc>,
    /// How its projects take part in measurements beside what users of its language have.
    pub contender: Option<Contender>,
}

/// What a project in C is asked for whose wide loops a device runs.
fn with_kernels(options: &Options, dialect: &'static c::Dialect) -> c::Options {
    c::Options { device: Some(dialect), ..options.of_c() }
}

/// All targets.
pub const ALL: &[Target] = &[
    Target {
        name: "c",
        about: "C11 without heap, globals or undefined behaviour; make, CMake and pkg-config",
        toolchains: &[c::toolchain::HERE, c::toolchain::AARCH64, c::toolchain::ARM, c::toolchain::RISCV64],
        test: "make -C {} test",
        tunes: true,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(|network, recording, options| c::project::of_network(network, recording, &options.of_c())),
        of_operations: |name, title, operations, known, options, on_operation| {
            c::project::of_operations(name, title, operations, known, &options.of_c(), on_operation)
        },
        of_design: None,
        of_lwc: None,
        contender: None,
    },
    Target {
        name: "llvm",
        about: "textual LLVM IR of version 15 and later, one module a network, with an interface in C",
        toolchains: &[llvm::toolchain::CLANG],
        test: "make -C {} test",
        tunes: false,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(llvm::project::of_network),
        of_operations: llvm::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: Some(llvm::contender::CONTENDER),
    },
    Target {
        name: "rust",
        about: "a crate without the standard library, heap or unsafe code, with the traits of RustCrypto",
        toolchains: &[rust::toolchain::CARGO],
        test: "cargo test --manifest-path {}/Cargo.toml",
        tunes: false,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(rust::project::of_network),
        of_operations: rust::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: Some(rust::contender::CONTENDER),
    },
    Target {
        name: "wasm",
        about: "WebAssembly modules with classes and types around them, as an npm package without dependencies",
        toolchains: &[wasm::toolchain::NODE],
        test: "npm --prefix {} test",
        tunes: false,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(wasm::project::of_network),
        of_operations: wasm::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: Some(wasm::contender::CONTENDER),
    },
    Target {
        name: "cpp",
        about: "headers for C++20 without dependencies, and a CMake package",
        toolchains: &[cpp::toolchain::CMAKE],
        test: "cmake -S {} -B {}/build && cmake --build {}/build && ctest --test-dir {}/build",
        tunes: false,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(cpp::project::of_network),
        of_operations: cpp::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: Some(cpp::contender::CONTENDER),
    },
    Target {
        name: "java",
        about: "a Maven project for Java 17 without dependencies, and a provider of the JCA",
        toolchains: &[java::toolchain::JDK],
        test: "make -C {} test",
        tunes: false,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(java::project::of_network),
        of_operations: java::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: Some(java::contender::CONTENDER),
    },
    Target {
        name: "openssl",
        about: "a provider for OpenSSL 3, of all that has a name there: one shared object that programs and the command load",
        toolchains: &[openssl::toolchain::CC],
        test: "make -C {} test",
        tunes: true,
        gathers: true,
        takes_all: true,
        known_answers: false,
        holds: project::any_answer,
        offers: openssl::offers,
        of_network: None,
        of_operations: |name, title, operations, known, options, on_operation| {
            openssl::of_operations(name, title, operations, known, &options.of_c(), on_operation)
        },
        of_design: None,
        of_lwc: None,
        contender: None,
    },
    Target {
        name: "promela",
        about: "models for Spin: whether a network can come to a deadlock, and whether FIFOs overflow; data have no values",
        toolchains: &[promela::toolchain::SPIN],
        test: "make -C {} test",
        tunes: false,
        gathers: false,
        takes_all: false,
        known_answers: false,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(promela::project::of_network),
        of_operations: promela::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: None,
    },
    Target {
        name: "xlim",
        about: "XLIM, the format between the OpenDF and OpenForge tools: a design for each actor, and the network in XDF",
        toolchains: &[xlim::toolchain::HEADRACE],
        test: "sh {}/test.sh",
        tunes: false,
        gathers: false,
        takes_all: false,
        known_answers: true,
        holds: xlim::project::holds,
        offers: project::itself,
        of_network: Some(xlim::project::of_network),
        of_operations: xlim::project::of_operations,
        of_design: None,
        of_lwc: None,
        contender: None,
    },
    Target {
        name: "verilog",
        about: "Verilog-2005: cores as datapaths, other actors as modules, with valid/ready streams; bench, Makefile, FuseSoC core",
        toolchains: &[verilog::toolchain::SIMULATOR, verilog::toolchain::ICARUS, verilog::toolchain::ACTORS],
        test: "make -C {} test",
        tunes: false,
        gathers: false,
        takes_all: false,
        known_answers: true,
        holds: hdl::holds,
        offers: project::itself,
        of_network: Some(|network, recording, options| verilog_of_network(network, recording.as_slice(), options)),
        of_operations: |name, title, operations, known, options, on_operation| {
            let title = format!("{title} ({name})");
            verilog::project::VERILOG.of_operations(&title, operations, known, options, on_operation)
        },
        of_design: Some(|made, options| verilog::project::VERILOG.of_design(made, options)),
        of_lwc: Some(|title, core, network, script, options| {
            verilog::project::VERILOG.of_lwc(title, core, network, script, options)
        }),
        contender: None,
    },
    Target {
        name: "vhdl",
        about: "VHDL-2008: the same modules as those of verilog, with a bench for GHDL",
        toolchains: &[vhdl::toolchain::GHDL],
        test: "make -C {} test",
        tunes: false,
        gathers: false,
        takes_all: false,
        known_answers: true,
        holds: hdl::holds,
        offers: project::itself,
        of_network: Some(|network, recording, options| {
            vhdl::project::VHDL.of_network(network, recording.as_slice(), options)
        }),
        of_operations: |name, title, operations, known, options, on_operation| {
            let title = format!("{title} ({name})");
            vhdl::project::VHDL.of_operations(&title, operations, known, options, on_operation)
        },
        of_design: Some(|made, options| vhdl::project::VHDL.of_design(made, options)),
        of_lwc: Some(|title, core, network, script, options| {
            vhdl::project::VHDL.of_lwc(title, core, network, script, options)
        }),
        contender: None,
    },
    Target {
        name: "opencl",
        about: "the project in C with kernels in OpenCL C, which run the wide loops of long messages on any device",
        toolchains: &[opencl::toolchain::OPENCL],
        test: "make -C {} test",
        tunes: true,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(|network, recording, options| {
            c::project::of_network(network, recording, &with_kernels(options, &opencl::DIALECT))
        }),
        of_operations: |name, title, operations, known, options, on_operation| {
            let options = with_kernels(options, &opencl::DIALECT);
            c::project::of_operations(name, title, operations, known, &options, on_operation)
        },
        of_design: None,
        of_lwc: None,
        contender: Some(opencl::contender::CONTENDER),
    },
    Target {
        name: "cuda",
        about: "the project in C with kernels in CUDA, which run the wide loops of long messages on a GPU, or on the processor without nvcc",
        toolchains: &[cuda::toolchain::CUDA],
        test: "make -C {} test",
        tunes: true,
        gathers: true,
        takes_all: false,
        known_answers: true,
        holds: project::any_answer,
        offers: project::itself,
        of_network: Some(|network, recording, options| {
            c::project::of_network(network, recording, &with_kernels(options, &cuda::DIALECT))
        }),
        of_operations: |name, title, operations, known, options, on_operation| {
            let options = with_kernels(options, &cuda::DIALECT);
            c::project::of_operations(name, title, operations, known, &options, on_operation)
        },
        of_design: None,
        of_lwc: None,
        contender: Some(cuda::contender::CONTENDER),
    },
];
