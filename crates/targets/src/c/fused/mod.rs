//! Code generation for control automata. A network as its control automaton: transitions instead of firings, and the
//! network with its scheduler behind it for what the automaton leaves.
//!
//! The context holds the state of the automaton, tokens that wait at the boundary, and the network as
//! [`super::network`] prints it. Tokens of byte ports can also be taken from and put to the memory of the caller
//! (`headrace_network.stream`). When the automaton comes to something that nobody explored, the network is given the
//! state and goes on from there; of an automaton that is complete there is no network, and nothing in the context for
//! it.
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `ports` | tokens at the boundary: buffers, the caller's memory, which of them a transition sees |
//! | `states` | the automaton: decisions and transitions |
//! | `steps` | which states stand in which function, and which share their text |
//! | `template` | code whose ways to other states are left open until that is settled |
//! | `suspension_points` | where a run may stop and begin |
//! | `bodies` | transitions as they are printed: fast, or short |
//! | `outlined_transitions` | long transitions as functions, which states share |
//! | `single_iteration_loops` | transitions with instructions |
//! | `partial_selection` | transitions of which a part is with instructions |
//! | `layered` | transitions of bytes in wide registers |
//! | `loops` | what is repeated |
//! | `merge_functions` | loops of like parts of a network as one |
//! | `memoized_powers` | what loops multiply by, once for a key |
//! | `folded` | functions of the same text as one, in all networks of a program |
//! | `budget` | ways of running loops that are left out of code that is too long |
//! | `distributed_loops` | loops taken apart into some that instructions serve |
//! | `counted` | how often it is |
//! | `block_copies` | transitions that copy byte after byte, as one copy |
//! | `lists_in_registers` | transitions that change lists at places which they compute, iteration after iteration |
//! | `parallel_for` | loops that several threads run |
//! | `offload` | loops that a device runs |
//! | `speculative_threads` | loops that other threads run before it is their turn |
//! | `multi_buffer` | loops of many messages at once, in a second source file |
//! | `report` | what was printed for loops, for readers |
//! | `one_shot` | whole messages, with the boundary in registers |
//! | `superblock` | the way of the plainest of them once more, in one piece |
//! | `deoptimize` | the state of the automaton as that of the network |
//! | `tiers` | which of both runs |

mod block_copies;
mod bodies;
mod budget;
mod copy;
mod counted;
mod deoptimize;
mod distributed_loops;
mod folded;
mod layered;
mod lists_in_registers;
mod loops;
mod memoized_powers;
mod merge_functions;
mod multi_buffer;
mod offload;
mod one_shot;
mod outlined_transitions;
mod parallel_for;
mod partial_selection;
mod ports;
mod report;
mod single_iteration_loops;
mod speculative_threads;
mod state_form;
mod states;
mod steps;
mod superblock;
mod suspension_points;
mod template;
mod tiers;

pub use loops::on_trial;
pub use report::{OnTrial, PrintedLoop, PrintedVariant};

use self::bodies::Short;
use self::folded::On;
use super::kernel::{self, Names};
use super::network::{OneShot, PrintedNetwork};
use super::{Options, PlaceTable};
use headrace_ir::Network;
use headrace_source::{Diagnostic, Span};
use headrace_transform::control::{Automaton, Brevity, Step, within};
use headrace_transform::kernel::{Effect, Object, TableId};
use rustc_hash::FxHashMap;
use states::PrintedStates;
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt::Write as _;

/// The size of a network in operands, as [`headrace_transform::statements::size`] counts: beyond, compilers take minutes.
pub const MOST_NETWORK_SIZE: usize = 498_000;

/// The size of what stands above the code of any automaton, and of what surrounds a state: where it begins, what it is, which
/// values are known there.
const PRELUDE: usize = 8_000;
const STATE: usize = 80;

/// A port number that stands for a value which the printer asks for, numbered by the offset.
const ASKED: u32 = u32::MAX;

/// Values of transitions that nothing reads, and functions of ports that no state uses, are left to the compiler to
/// drop.
const UNUSED: &str = "\
#if defined(__GNUC__)
#pragma GCC diagnostic ignored \"-Wunused-function\"
#pragma GCC diagnostic ignored \"-Wunused-variable\"
#pragma GCC diagnostic ignored \"-Wunused-const-variable\"
#pragma GCC diagnostic ignored \"-Wunused-parameter\"
#pragma GCC diagnostic ignored \"-Wunused-but-set-parameter\"
#pragma GCC diagnostic ignored \"-Wunused-label\"
#define HR_APART __attribute__((noinline))
#define HR_PART static inline __attribute__((always_inline))
#else
#define HR_APART
#define HR_PART static inline
#endif
/* Linkers keep one of several of the same name: they have the same text. */
#if defined(__GNUC__) && defined(__ELF__)
#define HR_SAME __attribute__((noinline, weak, visibility(\"hidden\")))
#else
#define HR_SAME static
#endif
/* What functions of states return when a state of another function comes. */
#define HR_OTHER UINT32_MAX

/* Word by word: a vector would cost more around it than it saves, and who asks may need no other. */
static inline bool hr_any(const size_t *of, size_t n) {
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        all |= of[i];
#if defined(__GNUC__)
        __asm__(\"\" : \"+r\"(all));
#endif
    }
    return all != 0;
}

";

/// What is seldom called is made small.
const COLD: &str = "\
#if defined(__GNUC__)
#define HR_COLD __attribute__((cold))
#else
#define HR_COLD
#endif

";

/// Prints a network with as much of its automaton as makes code that is short enough for compilers; `None` where that
/// is nothing. What is missing then is least valuable: ways of running loops first, and then states that few samples
/// come through.
pub fn print_short(
    network: &Network,
    automaton: &Automaton,
    prefix: &str,
    options: &Options,
    places: &RefCell<PlaceTable>,
    diagnostics: &RefCell<Vec<Diagnostic>>,
) -> Option<PrintedNetwork> {
    let attempt = |automaton: &Automaton| {
        // What an attempt said that is not taken does not count.
        places.take();
        diagnostics.take();
        let printed = print(network, automaton, prefix, options, places, diagnostics);
        let size = printed.size;
        Ok::<_, Infallible>((printed, size))
    };
    let Ok(printed) = within(automaton, options.most_size, attempt);
    printed
}

/// Tokens for FIFOs of a network that only goes on where its automaton leaves it, where no burst is longer: it is
/// seldom needed and not fast, and contexts should be small. A network that is determinate does the same with any FIFOs
/// that take its bursts twice.
const BEHIND_TOKENS: u32 = 4;

/// A network with FIFOs for what goes on where its automaton leaves it: of states that may be left, tokens are put into
/// FIFOs from their first place on.
fn behind(network: &Network, automaton: &Automaton, options: &Options) -> Network {
    let mut behind = network.clone();
    let left: Vec<_> = automaton.states.iter().filter(|state| state.step.leaves()).collect();
    for (at, connection) in behind.connections.iter_mut().enumerate() {
        let most = left.iter().map(|state| state.written(network, at)).max().unwrap_or(0);
        let most = u32::try_from(most).unwrap_or(u32::MAX).max(BEHIND_TOKENS);
        connection.fifo_tokens.get_or_insert(options.fifo_tokens.min(most));
    }
    behind
}

/// Prints a network with its automaton: the context is `struct PREFIX`, the table of functions `PREFIX_network`.
fn print(
    network: &Network,
    automaton: &Automaton,
    prefix: &str,
    options: &Options,
    places: &RefCell<PlaceTable>,
    diagnostics: &RefCell<Vec<Diagnostic>>,
) -> PrintedNetwork {
    let smaller = automaton.with_less_storage();
    let automaton = smaller.as_ref().unwrap_or(automaton);
    let with_powers = memoized_powers::with_powers(automaton);
    let automaton = with_powers.as_ref().unwrap_or(automaton);
    let inner = format!("{prefix}_scheduled");
    let print_behind = || {
        let behind = behind(network, automaton, options);
        super::network::print(&behind, &inner, &Options { cold: true, ..options.clone() }, places, diagnostics)
    };
    let scheduled = automaton.leaves().then(print_behind);
    let trials = options.trials.as_deref();
    let brevity = Brevity::of(automaton, None);
    let short = RefCell::default();
    let writer = Writer {
        network,
        automaton,
        brevity: &brevity,
        prefix,
        behind: scheduled.as_ref().map(|scheduled| Behind { inner: &inner, fields: &scheduled.fields }),
        places,
        trials,
        held: options.held.as_deref(),
        whole: None,
        device: options.device.is_some(),
        many: options.many,
        brief: options.brief,
        hot: None,
        short: &short,
    };
    let (mut declarations, mut definitions) = match &scheduled {
        Some(scheduled) => (scheduled.declarations.clone(), format!("{COLD}{}", scheduled.definitions)),
        None => (String::new(), COLD.to_owned()),
    };
    declarations.push_str(&writer.context());
    definitions.push_str(UNUSED);
    definitions.push_str(&kernel::prelude());
    definitions.push_str(&writer.tables());
    definitions.push_str(&writer.ports());
    definitions.push_str(&writer.leave());
    let mut loops = writer.loops();
    if loops.has_kernels() {
        let _ = write!(definitions, "extern const struct headrace_kernels {prefix}_kernels;\n\n");
    }
    let PrintedStates { transitions, states, whole, piece, ends, found, size: of_states } = writer.states(&loops);
    let (has_whole, has_piece) = (!whole.is_empty(), !piece.is_empty());
    let functions = writer.functions();
    let of_scheduled = scheduled.as_ref().map_or(0, |scheduled| scheduled.size);
    let of_others = PRELUDE + of_scheduled + STATE * automaton.states.len() + of_states;
    let size = of_others + loops.size();
    if size > options.most_size {
        loops.shorten(size - options.most_size);
    }
    let size = of_others + loops.size();
    definitions.push_str(&writer.loops_text(&loops, &found));
    let of_many = writer.of_many(&loops);
    [transitions, states, whole, piece, functions].iter().for_each(|text| definitions.push_str(text));
    let (mut kernels, mut refused) = (Vec::new(), Vec::new());
    for (_, kernel) in loops.kernels.drain(..) {
        match kernel {
            Ok(kernel) => kernels.push(kernel),
            Err(reason) => refused.push(reason),
        }
    }
    let loops = report::of(&loops);
    PrintedNetwork {
        declarations,
        definitions,
        of_many,
        fields: Default::default(),
        loops,
        kernels,
        refused,
        size,
        leaves: scheduled.is_some(),
        one_shot: OneShot {
            whole: has_whole.then(|| format!("{prefix}_any_whole")),
            piece: has_piece.then(|| format!("{prefix}_any_piece")),
            ends,
        },
    }
}

/// What all of it is printed from.
#[derive(Clone, Copy)]
struct Writer<'a> {
    network: &'a Network,
    automaton: &'a Automaton,
    /// Which transitions are better short than fast.
    brevity: &'a Brevity<'a>,
    prefix: &'a str,
    /// The network with its scheduler; `None`: the automaton is complete.
    behind: Option<Behind<'a>>,
    places: &'a RefCell<PlaceTable>,
    /// Where loops are tried.
    trials: Option<&'a dyn kernel::Trials>,
    /// Tokens of each port that the context must be able to hold, where that is known.
    held: Option<&'a super::Held>,
    /// The states of whole messages, where those are printed: windows are local variables.
    whole: Option<&'a BTreeSet<usize>>,
    /// Whether loops may run on a device.
    device: bool,
    /// Whether loops are printed for many messages at once.
    many: bool,
    /// Whether transitions that do not come again are short, not fast.
    brief: bool,
    /// Which states typical messages come through often, where that has been found.
    hot: Option<&'a [bool]>,
    /// Short forms of effects: many states have the same.
    short: &'a RefCell<FxHashMap<Vec<Effect>, Short>>,
}

/// The network with its scheduler, which goes on where an automaton is left.
#[derive(Clone, Copy)]
struct Behind<'a> {
    /// Beginning of its names.
    inner: &'a str,
    /// Where its state lies.
    fields: &'a super::network::Fields,
}

/// Names in the transitions of an automaton and in its loops.
struct KernelNames<'a> {
    network: &'a Network,
    automaton: &'a Automaton,
    places: &'a RefCell<PlaceTable>,
    /// Beginning of the names of tables.
    tables: String,
    /// Those that alone stand above all functions, where others are in the functions that use them.
    above: Option<Vec<TableId>>,
    /// What is done with values that the printer asks for, by their numbers.
    asked: Vec<String>,
    /// Objects of one element that are in local variables.
    local: Vec<String>,
    /// What the function works on, where that is not the context.
    on: Option<On>,
    /// Whether parts of functions may be shared with other programs.
    shares: bool,
}

/// The local variable, or list, of an object.
fn local_name(object: &Object) -> String {
    format!("r_{}", object.name)
}

impl Names for KernelNames<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("{}[{offset}]", self.window(port))
    }

    fn input_bytes(&self, port: u32, offset: i64, _n: u32) -> Option<String> {
        let is_bytes = self.network.inputs[port as usize].ty.width() == 8;
        is_bytes.then(|| format!("({} + {offset})", self.window(port)))
    }

    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        if port == ASKED {
            let target = self.asked.get(offset as usize).map_or("", String::as_str);
            return format!("{target} = {value};");
        }
        format!("{}[{offset}] = {value};", self.target(port))
    }

    fn output_bytes(&self, port: u32, offset: u64, _n: u32) -> Option<String> {
        let is_bytes = self.network.outputs.get(port as usize)?.ty.width() == 8;
        is_bytes.then(|| format!("({} + {offset})", self.target(port)))
    }

    fn element(&self, object: &Object, index: &str) -> String {
        if let Some(element) = self.on.as_ref().and_then(|on| on.element(object, index)) {
            return element;
        }
        if self.local.contains(&object.name) {
            return match object.length {
                1 => local_name(object),
                _ => format!("{}[{index}]", local_name(object)),
            };
        }
        format!("s->{}[{index}]", object.name)
    }

    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String {
        let place = self.places.borrow_mut().number(span, "");
        format!(
            "if (!({condition})) {{ hr_trap(&s->control, HEADRACE_TRAP_INDEX, {place}, (int64_t)({index}), {length}); return HEADRACE_TRAPPED; }}"
        )
    }

    fn entered(&self) -> String {
        self.on.as_ref().map_or_else(String::new, On::entered)
    }

    fn shared(&self, identity: &str, objects: &[&Object]) -> Option<kernel::Shared<'_>> {
        self.shared_function(identity, objects)
    }

    fn memo(&self, multiplier: &Object) -> Option<kernel::Memo> {
        memoized_powers::kept(self.automaton, multiplier)
    }

    fn table(&self, table: TableId) -> String {
        if let Some(table) = self.on.as_ref().and_then(|on| on.table(table)) {
            return table.clone();
        }
        let inside = self.above.as_ref().is_some_and(|above| !above.contains(&table));
        format!("{}_{}", if inside { "table" } else { &self.tables }, table.0)
    }
}

impl KernelNames<'_> {
    /// The window of an input port.
    fn window(&self, port: u32) -> String {
        let own = || format!("in_{}", self.network.inputs[port as usize].name);
        self.on.as_ref().and_then(|on| on.input(port)).unwrap_or_else(own)
    }

    /// Where tokens of an output port go.
    fn target(&self, port: u32) -> String {
        let own = || format!("out_{}", self.network.outputs[port as usize].name);
        self.on.as_ref().and_then(|on| on.output(port)).unwrap_or_else(own)
    }

    /// The same for functions that work on something else than the context.
    fn working_on(&self, on: On) -> KernelNames<'_> {
        let (tables, above) = (self.tables.clone(), self.above.clone());
        KernelNames { tables, above, asked: Vec::new(), local: Vec::new(), on: Some(on), ..*self }
    }
}

impl Writer<'_> {
    fn names(&self, asked: Vec<String>) -> KernelNames<'_> {
        let tables = format!("{}_table", self.prefix);
        KernelNames {
            network: self.network,
            automaton: self.automaton,
            places: self.places,
            tables,
            above: None,
            asked,
            local: Vec::new(),
            on: None,
            shares: false,
        }
    }

    /// A list of effects as statements, with values that are asked for after them.
    fn statements(
        &self,
        effects: &[Effect],
        asked: Vec<(String, headrace_transform::kernel::NodeId)>,
        depth: usize,
    ) -> String {
        let mut effects = effects.to_vec();
        for (number, (_, value)) in asked.iter().enumerate() {
            effects.push(Effect::Output { port: ASKED, offset: number as u64, value: *value });
        }
        let names = self.names(asked.into_iter().map(|(target, _)| target).collect());
        kernel::statements(&self.automaton.graph, &self.automaton.objects, &effects, &names, depth)
    }

    /// Whether something may stop a run: an error, or what the scheduler runs.
    fn has_control(&self) -> bool {
        self.behind.is_some() || self.automaton.states.iter().any(|state| suspension_points::may_trap(&state.step))
    }

    /// Tables of all transitions; loops have their own.
    fn tables(&self) -> String {
        let mut roots = Vec::new();
        for state in &self.automaton.states {
            collect_roots(&state.step, &mut roots);
        }
        kernel::tables(&self.automaton.graph, &roots, &self.names(Vec::new()))
    }

    /// The context.
    fn context(&self) -> String {
        let prefix = self.prefix;
        let mut text = format!(
            "/* The whole state of a network. Its fields are not part of the interface. */\nstruct {prefix} {{\n"
        );
        if self.has_control() {
            text.push_str("    struct headrace_control control;\n");
        }
        let mut lives_on: Vec<&Object> = self.automaton.objects.iter().filter(|object| object.lives_on()).collect();
        // Registers of 64 bytes come first, at a multiple of that from the beginning behind what has 64, then narrower ones, so
        // that no load goes over lines of the cache in a context that begins with one.
        lives_on
            .sort_by_key(|object| Reverse((object_bytes(object) * object.length).trailing_zeros().min(LINE.ilog2())));
        let objects = lives_on.iter().fold(String::new(), |mut objects, object| {
            let _ = writeln!(objects, "    {} {}[{}];", object_type(object), object.name, object.length);
            objects
        });
        match self.behind {
            // Either of them, and never both.
            Some(Behind { inner, .. }) => {
                let _ = write!(
                    text,
                    "    HEADRACE_EXTENSION union {{\n    HEADRACE_EXTENSION struct {{\n{objects}    uint8_t none; /* C has no empty structures */\n    }};\n    struct {inner} scheduled; /* goes on when `left` */\n    }};\n"
                );
            }
            None => text.push_str(&objects),
        }
        if self.behind.is_some() {
            text.push_str("    uint32_t left;\n");
        }
        text.push_str("    uint32_t state;\n    const struct headrace_helpers *helpers; /* null: none */\n");
        text.push_str(Self::many_fields());
        text.push_str(&self.ahead_fields());
        text.push_str(&self.port_fields());
        let _ = write!(text, "}};\n\nextern const struct headrace_network {prefix}_network;\n\n");
        text
    }
}

/// Bytes of a line of a cache.
const LINE: usize = 64;

/// Bytes of an element of an object.
fn object_bytes(object: &Object) -> usize {
    (object.width as usize).div_ceil(8).next_power_of_two()
}

/// The type of an object's elements in a declaration.
fn object_type(object: &Object) -> &'static str {
    if object.width > 64 { "hr_u128" } else { kernel::element_type(object.width) }
}

fn collect_roots(step: &Step, roots: &mut Vec<headrace_transform::kernel::NodeId>) {
    match step {
        Step::Branch { before, condition, then, otherwise } => {
            roots.extend(Effect::roots(before));
            roots.push(*condition);
            collect_roots(then, roots);
            collect_roots(otherwise, roots);
        }
        Step::Wait(awaited) => awaited.iter().for_each(|awaited| collect_roots(&awaited.step, roots)),
        Step::Go { transition, .. } => roots.extend(Effect::roots(&transition.effects)),
        Step::End | Step::Deoptimize => {}
    }
}
