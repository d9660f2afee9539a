//! Functions that run passes of loops: one for each level of a machine that does them in another way, and one that chooses
//! when it is called.

use super::kernels::{X86, way};
use super::many::{ManyLoop, ManyLoops};
use super::{KernelNames, Writer};
use crate::c::kernel::{self, Blocks, CFunction, LoopNames, Machine, Many, element_type};
use headrace_instructions::{Description, choice, descriptions};
use headrace_transform::control::CountedLoop;
use headrace_transform::kernel::Loop;
use headrace_transform::passes::select_instructions::{SelectedLoop, select_in_loop};
use headrace_transform::passes::split_recurrence::{SplitLoop, split_recurrence};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Loops of an automaton that are printed for machines, those that move most first; the others run pass after pass.
const TUNED: usize = 3;

/// Nodes of a loop that instructions are looked for in, and that is printed for vectors.
pub(super) const MOST_NODES: usize = 20_000;

/// Bytes of text of a function: larger ones do not fit the instruction cache, and take compilers long.
const MOST_TEXT: usize = 300_000;

/// Bytes of text of passes in plain C that stand beside faster ones: without them kernels run one after another, and what
/// goes on between those does not count beside what is so long.
const MOST_PLAIN_TEXT: usize = 60_000;

/// Beginning of the condition of what is worth while for many passes.
const PASSES: &str = "passes >= ";

/// What is printed for the loops of an automaton.
pub(super) struct Loops {
    /// The functions.
    pub text: String,
    /// What has been printed for them to use.
    pub support: BTreeSet<String>,
    /// Those that run for many messages at once.
    pub many: ManyLoops,
}

/// A way of running the passes of a loop.
struct Version {
    function: CFunction,
    /// When it can be called, as a condition of C; empty: always.
    supported: String,
}

/// What the instructions of machines mean, read once.
fn instructions() -> &'static [Description] {
    static ALL: OnceLock<Vec<Description>> = OnceLock::new();
    ALL.get_or_init(|| descriptions().unwrap_or_default())
}

/// A loop with instructions of machines, if there are some for it.
fn selected(body: &Loop) -> Option<SelectedLoop> {
    choice(instructions(), |_| true).ok().and_then(|choice| select_in_loop(body, &[], &choice))
}

impl Writer<'_> {
    /// A function for each loop: `bool PREFIX_loop_N(s, in…, out…, passes)`, pointers for the ports that it uses, which says
    /// whether this machine can.
    pub(super) fn loops(&self) -> Loops {
        let all: Vec<&CountedLoop> = self.automaton.states.iter().flat_map(|state| &state.loops).collect();
        let mut by_size: Vec<usize> = (0..all.len()).collect();
        by_size.sort_by_key(|&at| {
            let body = &all[at].body;
            let tokens: u64 = body.consumes.iter().chain(&body.produces).map(|port| port.0).sum();
            std::cmp::Reverse(tokens)
        });
        // Loops of several states that do the same are one.
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut tuned = 0;
        let mut texts = vec![String::new(); all.len()];
        let mut support: BTreeSet<String> = BTreeSet::new();
        let mut support_text = String::new();
        let mut many = ManyLoops { loops: Vec::new(), of_loop: vec![None; all.len()] };
        for number in by_size {
            let body = &all[number].body;
            let same = self.key(body);
            if let Some(&other) = known.get(&same) {
                texts[number] = format!("#define {0}_loop_{number} {0}_loop_{other}\n", self.prefix);
                many.of_loop[number] = many.of_loop[other];
                continue;
            }
            known.insert(same, number);
            let is_tuned = tuned < TUNED && body.graph.len() <= MOST_NODES;
            tuned += usize::from(is_tuned);
            let versions = self.versions(body, number, is_tuned);
            let alone = versions.iter().map(|version| version.function.cycles).fold(f64::INFINITY, f64::min);
            let (alone, ways) = if is_tuned { self.many_ways(body, number, alone) } else { (alone, Vec::new()) };
            let functions = versions.iter().map(|version| &version.function);
            let functions = functions.chain(ways.iter().map(|way| &way.function));
            for text in functions.flat_map(|function| &function.support) {
                if support.insert(text.clone()) {
                    support_text.push_str(text);
                }
            }
            texts[number] = self.dispatched(body, number, &versions);
            if !ways.is_empty() {
                many.of_loop[number] = Some(many.loops.len());
                many.loops.push(ManyLoop { number, ways, alone });
            }
        }
        let bodies: Vec<&Loop> = all.iter().map(|counted| &counted.body).collect();
        let text = format!("{X86}{support_text}#endif\n{}{}", texts.concat(), self.many_loops(&many, &bodies));
        Loops { text, support, many }
    }

    /// The ways to run a loop for many messages at once: only where the passes of one need each other.
    fn many_ways(&self, body: &Loop, number: usize, alone: f64) -> (f64, Vec<Many>) {
        if body.is_independent() {
            return (alone, Vec::new());
        }
        let (state, function) = (format!("struct {}", self.prefix), format!("{}_loop_{number}_many", self.prefix));
        let names = self.loop_names(format!("{}_loop_{number}_table", self.prefix));
        let outside = LoopNames { function: &function, state: &state, names: &names };
        let selected = selected(body);
        let (alone, mut ways) =
            kernel::many(body, selected.as_ref().map(|selected| &selected.body), instructions(), alone, &outside);
        ways.retain(|way| way.function.text.len() <= MOST_TEXT);
        (alone, ways)
    }

    /// A text that is equal for loops that do the same.
    fn key(&self, body: &Loop) -> String {
        let names = self.loop_names("same".to_owned());
        kernel::passes(body, &LoopNames { function: "same", state: self.prefix, names: &names }).text
    }

    fn loop_names(&self, tables: String) -> KernelNames<'_> {
        KernelNames { network: self.network, places: self.places, tables, asked: Vec::new() }
    }

    /// The ways to run a loop, the fastest first, and last one that always works unless it is very long.
    fn versions(&self, body: &Loop, number: usize, is_tuned: bool) -> Vec<Version> {
        let prefix = self.prefix;
        let state = format!("struct {prefix}");
        let mut versions = Vec::new();
        let base = format!("{prefix}_loop_{number}");
        if is_tuned {
            for (_, blocks) in self.blocks(body, &base, &[512, 128]) {
                versions.push(Version { supported: kernel::supported(&blocks.features), function: blocks.function });
            }
            if let Some(split) = split_recurrence(body) {
                versions.extend(self.split(&split, &base));
            }
            let names = self.loop_names(String::new());
            let function = format!("{base}_tables");
            let outside = LoopNames { function: &function, state: &state, names: &names };
            if let Ok(tabulated) = kernel::tabulated(body, &outside) {
                let supported = format!("{PASSES}{}", tabulated.least_passes);
                versions.push(Version { function: tabulated.function, supported });
            }
            if let Some(machine) = Machine::named("avx512gfni") {
                let function = format!("{base}_table_lanes");
                let outside = LoopNames { function: &function, state: &state, names: &names };
                if let Ok(tabulated) = kernel::tabulated_lanes(body, machine, &outside) {
                    let supported = format!("{} && {PASSES}{}", machine.supported(), tabulated.least_passes);
                    versions.push(Version { function: tabulated.function, supported });
                }
            }
            for level in ["avx512", "avx2"] {
                let Some(machine) = Machine::named(level) else { continue };
                let names = self.loop_names(format!("{base}_table"));
                let function = format!("{base}_{level}");
                let outside = LoopNames { function: &function, state: &state, names: &names };
                let (_, printed) = kernel::print_best(body, machine, &outside);
                versions.push(Version { function: printed, supported: machine.supported() });
            }
            versions.sort_by(|a, b| a.function.cycles.total_cmp(&b.function.cycles));
            // What needs nothing of the machine makes slower ones needless.
            let needs_nothing = |version: &Version| version.supported.starts_with(PASSES);
            let n = versions.iter().position(needs_nothing).map_or(versions.len(), |at| at + 1);
            versions.truncate(n);
        }
        let names = self.loop_names(format!("{base}_table"));
        let function = format!("{base}_plain");
        let outside = LoopNames { function: &function, state: &state, names: &names };
        let plain = kernel::passes(body, &outside);
        versions.retain(|version| version.function.cycles < plain.cycles && version.function.text.len() <= MOST_TEXT);
        // Rounds have counted by the time that the loop is called.
        let always = self.automaton.states.iter().flat_map(|state| &state.loops).any(|one| one.rounds.is_some());
        if versions.is_empty() || always || plain.text.len() <= MOST_PLAIN_TEXT {
            versions.push(Version { function: plain, supported: String::new() });
        }
        versions
    }

    /// A loop with instructions that work on blocks, in wide registers and narrow ones.
    pub(super) fn blocks(&self, body: &Loop, base: &str, widths: &[u32]) -> Vec<(u32, Blocks)> {
        let all = instructions();
        let Some(selected) = selected(body) else { return Vec::new() };
        let state = format!("struct {}", self.prefix);
        let print = |bits: u32| {
            let names = self.loop_names(format!("{base}_selected_table"));
            let function = format!("{base}_blocks{bits}");
            let outside = LoopNames { function: &function, state: &state, names: &names };
            kernel::blocks(&selected.body, all, bits, &outside).ok().map(|blocks| (bits, blocks))
        };
        widths.iter().copied().filter_map(print).collect()
    }

    /// A pass that multiplies, with instructions for it.
    pub(super) fn product(&self, body: &Loop, base: &str) -> Option<(CFunction, BTreeSet<String>)> {
        let split = split_recurrence(body)?;
        let function = &format!("{base}_product");
        let state = format!("struct {}", self.prefix);
        let names = self.loop_names(String::new());
        kernel::product_once(&split, &LoopNames { function, state: &state, names: &names }).ok()
    }

    /// A loop that was taken apart: what is independent of it, and what goes on.
    fn split(&self, split: &SplitLoop, base: &str) -> Vec<Version> {
        let state = format!("struct {}", self.prefix);
        let names = self.loop_names(format!("{base}_table"));
        let first = format!("{base}_first");
        let mut parts: Vec<(u32, CFunction, BTreeSet<String>)> = self
            .blocks(&split.independent, &first, &[512, 128])
            .into_iter()
            .map(|(bits, blocks)| (bits, blocks.function, blocks.features))
            .collect();
        if parts.is_empty() {
            let function =
                kernel::passes(&split.independent, &LoopNames { function: &first, state: &state, names: &names });
            parts.extend([512, 128].map(|bits| {
                let name = format!("{first}{bits}");
                let text = function.text.replace(&first, &name);
                (bits, CFunction { name, text, ..function.clone() }, BTreeSet::new())
            }));
        }
        let print = |(bits, first, features): (u32, CFunction, BTreeSet<String>)| {
            let function = format!("{base}_split{bits}");
            let outside = LoopNames { function: &function, state: &state, names: &names };
            let (function, more) = kernel::recurrence(split, &first, bits, &outside).ok()?;
            let features: BTreeSet<String> = features.union(&more).cloned().collect();
            Some(Version { function, supported: kernel::supported(&features) })
        };
        parts.into_iter().filter_map(print).collect()
    }

    /// The functions, and the one that chooses among them.
    fn dispatched(&self, body: &Loop, number: usize, versions: &[Version]) -> String {
        let prefix = self.prefix;
        let names = self.loop_names(format!("{prefix}_loop_{number}_table"));
        let mut text = kernel::tables(&body.graph, &body.roots(), &names);
        text.push_str(X86);
        let others: Vec<&Version> = versions.iter().filter(|version| !version.supported.is_empty()).collect();
        let last = versions.last().filter(|version| version.supported.is_empty());
        for version in &others {
            text.push_str(&version.function.text);
            text.push('\n');
        }
        let own = format!("{prefix}_loop_{number}");
        if !others.is_empty() {
            let supported: Vec<&str> = others.iter().map(|version| version.supported.as_str()).collect();
            text.push_str(&way(&own, &supported));
        }
        text.push_str("#endif\n");
        text.push_str(last.map_or("", |version| &version.function.text));
        let _ = write!(text, "\nHR_APART static bool {prefix}_loop_{number}(struct {prefix} *s");
        let mut arguments = String::from("s");
        for (at, (_, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = write!(text, ", const {} *in{at}", element_type(*width));
            let _ = write!(arguments, ", in{at}");
        }
        for (at, (_, width)) in body.produces.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = write!(text, ", {} *out{at}", element_type(*width));
            let _ = write!(arguments, ", out{at}");
        }
        let _ = write!(text, ", size_t passes) {{\n{X86}");
        if !others.is_empty() {
            let _ = writeln!(text, "    switch ({own}_way()) {{");
            for (at, version) in others.iter().enumerate() {
                let name = &version.function.name;
                let _ =
                    writeln!(text, "    case {}:\n        {name}({arguments}, passes);\n        return true;", at + 1);
            }
            text.push_str("    default:\n        break;\n    }\n");
        }
        match last {
            Some(last) => {
                let _ =
                    write!(text, "#endif\n    {}({arguments}, passes);\n    return true;\n}}\n\n", last.function.name);
            }
            None => text.push_str("#endif\n    return false;\n}\n\n"),
        }
        text
    }
}
