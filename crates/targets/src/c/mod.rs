//! Target `c`: C11 for gcc and clang, without heap or undefined behaviour, and with nothing global but what the
//! processor was found to have.
//!
//! | file | what is settled there |
//! | --- | --- |
//! | `ctype` | how values lie in memory, in which C types integers are computed |
//! | `plan` | where the variables of an actor lie, what its procedures need |
//! | `code` | a function as it grows; expressions, up to 64 bits and beyond |
//! | `statement`, `functions` | functions: procedures, guards, actions |
//! | `inlined` | what small C repeats |
//! | `scheduler` | what fires when, for one actor |
//! | `project` | build files, interface and test around what is printed |
//! | `network` | the context, its FIFOs, and the functions that move tokens and run it, on one thread or on several |
//! | `small` | the same for microcontrollers |

mod code;
pub mod contender;
mod ctype;
mod functions;
pub mod fused;
mod inlined;
pub mod kernel;
mod layout;
mod names;
pub mod natives;
mod network;
mod plan;
pub mod project;
mod scheduler;
pub mod small;
mod statement;
mod text;
pub(crate) mod toolchain;
mod usual;

pub use fused::{OnTrial, PrintedLoop, PrintedVariant, on_trial};
pub use network::is_profiled;
pub use project::Dialect;

use crate::automata::Automata;
use crate::project::Notes;
use headrace_ir::{Mapping, Network};
use headrace_source::{Diagnostic, Span};
use headrace_transform::control::Automaton;
use network::PrintedNetwork;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The headers that generated programs ship with: name and text.
pub const RUNTIME: &[(&str, &str)] = &[
    ("headrace.h", include_str!("../../../../runtime/c/headrace.h")),
    ("headrace_wide.h", include_str!("../../../../runtime/c/headrace_wide.h")),
];

/// The header of programs with a mapping.
pub const RUNTIME_PARALLEL: (&str, &str) =
    ("headrace_parallel.h", include_str!("../../../../runtime/c/headrace_parallel.h"));

/// Switches off the warnings about comparisons that always come out the same, values that nothing reads, and what gcc
/// suspects after folding them. The program may say such things, and its ranges are exact: they are no slips of the
/// code that is generated from it.
const QUIET: &str = "\
#if defined(__GNUC__)
#pragma GCC diagnostic ignored \"-Wtype-limits\"
#pragma GCC diagnostic ignored \"-Wsign-compare\"
#pragma GCC diagnostic ignored \"-Wtautological-compare\"
#if !defined(__clang__)
#pragma GCC diagnostic ignored \"-Wbool-compare\"
#pragma GCC diagnostic ignored \"-Woverflow\"
#pragma GCC diagnostic ignored \"-Wunused-but-set-variable\"
#endif
#endif

";

/// Where a command line allows AVX-512, gcc 12 with its tuning for AMD's Zen keeps words that have no general register in
/// vector registers: moving them there and back makes SHA-512 three times as slow. It has to come before all functions, or
/// those of headers, with another tuning, would not be inlined.
const TUNING: &str = "\
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__AVX512F__)
#pragma GCC target(\"tune=generic\")
#endif

";

/// POSIX threads for programs with a mapping, for those who have none of their own.
pub const RUNTIME_THREADS: &[(&str, &str)] = &[
    ("headrace_threads.h", include_str!("../../../../runtime/c/headrace_threads.h")),
    ("headrace_threads.c", include_str!("../../../../runtime/c/headrace_threads.c")),
];

/// POSIX threads as helpers of one message.
pub const RUNTIME_HELPERS: &[(&str, &str)] = &[
    ("headrace_helpers.h", include_str!("../../../../runtime/c/headrace_helpers.h")),
    ("headrace_helpers.c", include_str!("../../../../runtime/c/headrace_helpers.c")),
];

/// What the caller wants of code in C.
#[derive(Clone, Debug)]
pub struct Options {
    /// The command and version that make the files, for their first line.
    pub command: String,
    /// Beginning of all names; `None`: made from the name of the network.
    pub prefix: Option<String>,
    /// Capacity of FIFOs whose source does not say one, in tokens.
    pub fifo_tokens: u32,
    /// Report run-time errors of the program. Otherwise what is not proven is kept in bounds.
    pub checked: bool,
    /// Where errors are reported, an index outside its list is none: it stands for what lies there in the whole list,
    /// row after row, and beside that for the first element.
    pub lenient_indices: bool,
    /// A project has a program, too, which reports run-time errors.
    pub main: bool,
    /// Count the firings of each action, and keep exactly to the limit of a run.
    pub count_firings: bool,
    /// Measure the time of each instance and how full FIFOs get; for networks that one thread runs on their scheduler.
    pub profile: bool,
    /// Which instance runs in which partition; `None`: one thread runs them all.
    pub mapping: Option<Arc<Mapping>>,
    /// Operations of the library run as control automata where they can.
    pub fused: bool,
    /// Where automata that were found are kept for other targets; `None`: nowhere.
    pub automata: Option<Automata>,
    /// Where what there is to say about a project goes.
    pub notes: Notes,
    /// Where loops are tried before it is settled how they are printed; `None`: estimates settle it.
    pub trials: Option<Arc<dyn kernel::Trials>>,
    /// The size of a network that runs as its control automaton, in operands: of what makes it faster, as much is printed.
    pub most_size: usize,
    /// The language of kernels for loops that a device runs; `None`: none does.
    pub device: Option<&'static Dialect>,
    /// As little code and memory as there can be, for microcontrollers, with FIFOs as long as this says they get;
    /// `None`: as fast as there can be.
    pub small: Option<Arc<dyn small::Fills>>,
    /// Loops whose iterations need each other are printed for many messages at once, too.
    pub many: bool,
    /// Kernels of an automaton that come once in a message are short, not fast, however short the automaton is.
    pub brief: bool,
    /// Functions of the run-time scheduler are made small, not fast: it is seldom needed. `HR_COLD` must stand for that above
    /// them.
    pub cold: bool,
    /// Tokens of each port that a context must be able to hold while its network runs as an automaton, beside those
    /// that the automaton moves at once; `None`: as many as suits any host.
    pub held: Option<Arc<Held>>,
}

/// Tokens of each input and output port, in the order of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// That wait to be read.
    pub inputs: Vec<u64>,
    /// That wait to be taken.
    pub outputs: Vec<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            command: format!("headrace {}", env!("CARGO_PKG_VERSION")),
            prefix: None,
            fifo_tokens: headrace_ir::DEFAULT_FIFO_TOKENS,
            checked: false,
            lenient_indices: false,
            main: false,
            count_firings: false,
            profile: false,
            mapping: None,
            fused: true,
            automata: None,
            notes: Notes::default(),
            trials: None,
            most_size: fused::MOST_NETWORK_SIZE,
            device: None,
            small: None,
            many: true,
            brief: false,
            cold: false,
            held: None,
        }
    }
}

impl Options {
    /// What stands in front of functions of the run-time scheduler.
    fn attribute(&self) -> &'static str {
        if self.cold { "HR_COLD " } else { "" }
    }
}

/// A place that can report a run-time error.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TrapPlace {
    /// Where it stands in the source.
    pub span: Span,
    /// The action or procedure.
    pub name: String,
}

/// Places by their numbers in generated code.
#[derive(Debug, Default)]
pub struct PlaceTable {
    places: Vec<TrapPlace>,
    numbers: FxHashMap<TrapPlace, usize>,
}

impl PlaceTable {
    fn number(&mut self, span: Span, name: &str) -> usize {
        let place = TrapPlace { span, name: name.to_owned() };
        if let Some(&number) = self.numbers.get(&place) {
            return number;
        }
        let number = self.places.len();
        self.places.push(place.clone());
        self.numbers.insert(place, number);
        number
    }
}

/// Generated files, and what is needed to understand what the program reports.
#[derive(Debug)]
pub struct Emission {
    /// Files by path.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Places of run-time errors, by the number in the trap record.
    pub places: Vec<TrapPlace>,
    /// The prefix of all names.
    pub prefix: String,
    /// Whether it runs as a control automaton.
    pub fused: bool,
    /// What was printed for the loops of that.
    pub loops: Vec<PrintedLoop>,
    /// Kernels of devices that run some of them.
    pub kernels: Vec<kernel::Items>,
    /// Why the others have none, where devices were asked for.
    pub refused: Vec<String>,
    /// How long its code is, in operands.
    pub size: usize,
    /// Whether it may leave its automaton.
    pub(crate) leaves: bool,
    /// Functions for whole messages and pieces: they stand in the source file of the network alone.
    pub(crate) one_shot: network::OneShot,
}

/// The prefix for a network: its name without the package.
pub fn prefix_for(network: &Network) -> String {
    let short = network.name.rsplit('.').next().unwrap_or(&network.name);
    let mut names = names::Names::default();
    names.fresh(&headrace_program::names::identifier(short))
}

/// The source file of what a network needs for many messages at once.
pub(crate) fn file_of_many(prefix: &str) -> String {
    format!("{prefix}_many.c")
}

/// Prints a network as one header and one source file, `PREFIX.h` and `PREFIX.c`, and the runtime next to them.
///
/// # Errors
///
/// What the target cannot compile, with its place.
pub fn emit(network: &Network, options: &Options) -> Result<Emission, Vec<Diagnostic>> {
    emit_with(network, None, options)
}

/// The same with the control automaton of the network, which then runs instead of the scheduler wherever it can. Where
/// that has loops for many messages at once, they are in a second source file, `PREFIX_many.c`.
///
/// What is too long for compilers as an automaton is printed with its run-time scheduler.
///
/// # Errors
///
/// What the target cannot compile, with its place.
pub fn emit_with(
    network: &Network,
    automaton: Option<&Automaton>,
    options: &Options,
) -> Result<Emission, Vec<Diagnostic>> {
    let prefix = options.prefix.clone().unwrap_or_else(|| prefix_for(network));
    let network = &*names::with_port_names(network);
    let places = RefCell::new(PlaceTable::default());
    let diagnostics = RefCell::new(Vec::new());
    let fused =
        automaton.and_then(|automaton| fused::print_short(network, automaton, &prefix, options, &places, &diagnostics));
    let is_fused = fused.is_some();
    let printed = fused.unwrap_or_else(|| {
        places.take();
        diagnostics.take();
        network::print(network, &prefix, options, &places, &diagnostics)
    });
    let diagnostics = diagnostics.into_inner();
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let head = format!("/* Made by `{}`. Changes here will be lost. */\n", options.command.replace("*/", "* /"));
    let guard = format!("{}_H", prefix.to_uppercase());
    let runtime = if options.mapping.is_some() { RUNTIME_PARALLEL.0 } else { "headrace.h" };
    let header = format!(
        "{head}#ifndef {guard}\n#define {guard}\n\n#include \"{runtime}\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n{}#ifdef __cplusplus\n}}\n#endif\n\n#endif\n",
        printed.declarations
    );
    let device = if printed.kernels.is_empty() { "" } else { "#include \"headrace_device.h\"\n" };
    let source = |device: &str, definitions: &str| {
        format!(
            "{head}{TUNING}#include \"{prefix}.h\"\n#include \"headrace_wide.h\"\n{device}\n#if __STDC_HOSTED__\n#include <math.h>\n#endif\n\n{QUIET}{definitions}"
        )
        .into_bytes()
    };
    let mut files: BTreeMap<String, Vec<u8>> =
        RUNTIME.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect();
    if options.mapping.is_some() {
        files.insert(RUNTIME_PARALLEL.0.to_owned(), RUNTIME_PARALLEL.1.as_bytes().to_vec());
    }
    files.insert(format!("{prefix}.h"), header.into_bytes());
    files.insert(format!("{prefix}.c"), source(device, &printed.definitions));
    if !printed.of_many.is_empty() {
        files.insert(file_of_many(&prefix), source("", &printed.of_many));
    }
    let PrintedNetwork { loops, kernels, refused, size, leaves, one_shot, .. } = printed;
    let places = places.into_inner().places;
    Ok(Emission { files, places, prefix, fused: is_fused, loops, kernels, refused, size, leaves, one_shot })
}

/// Several networks in one source text.
#[derive(Debug)]
pub struct Together {
    /// The source text; it includes the headers of [`RUNTIME`].
    pub source: String,
    /// For each network, places of run-time errors, by the number in the trap record.
    pub places: Vec<Vec<TrapPlace>>,
}

/// One of several networks in a source text.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// Beginning of its names.
    pub prefix: &'a str,
    /// The network.
    pub network: &'a Network,
    /// Capacity of FIFOs whose source does not say one, in tokens.
    pub fifo_tokens: u32,
    /// Which instance runs in which partition.
    pub mapping: Option<&'a Arc<Mapping>>,
}

/// One source text with several networks, each under its own prefix and with its own capacity of FIFOs, for those who
/// compile many at once.
///
/// # Errors
///
/// What the target cannot compile, with the position of the network.
pub fn emit_together(networks: &[Member<'_>], options: &Options) -> Result<Together, Vec<(usize, Vec<Diagnostic>)>> {
    let parallel = if networks.iter().any(|member| member.mapping.is_some()) {
        format!("#include \"{}\"\n", RUNTIME_PARALLEL.0)
    } else {
        String::new()
    };
    let mut text = format!(
        "/* Made by `{}`. */\n{parallel}#include \"headrace.h\"\n#include \"headrace_wide.h\"\n\n#if __STDC_HOSTED__\n#include <math.h>\n#endif\n\n{QUIET}",
        options.command.replace("*/", "* /")
    );
    let mut all_places = Vec::new();
    let mut errors = Vec::new();
    for (at, &Member { prefix, network, fifo_tokens, mapping }) in networks.iter().enumerate() {
        let places = RefCell::new(PlaceTable::default());
        let diagnostics = RefCell::new(Vec::new());
        let own = Options { fifo_tokens, mapping: mapping.cloned(), ..options.clone() };
        let printed = network::print(&names::with_port_names(network), prefix, &own, &places, &diagnostics);
        let diagnostics = diagnostics.into_inner();
        if !diagnostics.is_empty() {
            errors.push((at, diagnostics));
        }
        text.push_str(&printed.declarations);
        text.push_str(&printed.definitions);
        all_places.push(places.into_inner().places);
    }
    if errors.is_empty() { Ok(Together { source: text, places: all_places }) } else { Err(errors) }
}
