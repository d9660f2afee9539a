//! Functions that run passes of loops: one for each level of a machine that does them in another way, and one that chooses
//! when it is called.

use super::divided::Divided;
use super::kernels::{X86, way};
use super::many::{ManyLoop, ManyLoops};
use super::taken;
use super::{KernelNames, Writer};
use crate::c::kernel::{
    self, Blocks, CFunction, LoopNames, MOST_TEXT, Machine, Many, Names, ON_TRIAL, Renamed, Strategy,
    TabulatedFunction, Trials, element_type, trial,
};
use headrace_instructions::{Description, choice, descriptions};
use headrace_transform::control::CountedLoop;
use headrace_transform::kernel::{Loop, ObjectId};
use headrace_transform::passes::select_instructions::{SelectedLoop, select_in_loop};
use headrace_transform::passes::split_recurrence::split_recurrence;
use headrace_transform::passes::split_sums::split_sums;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Loops of an automaton that are printed for machines, those that move most first; the others run pass after pass.
const TUNED: usize = 4;

/// Nodes of a loop that instructions are looked for in, and that is printed for vectors.
pub(super) const MOST_NODES: usize = 20_000;

/// Bytes of text of passes in plain C that stand beside faster ones: without them kernels run one after another, and what
/// goes on between those does not count beside what is so long.
const MOST_PLAIN_TEXT: usize = 60_000;

/// Features of what runs on every machine.
const NOTHING: &[&str] = &[];

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
pub(super) struct Version {
    pub function: CFunction,
    /// When it can be called, as a condition of C; empty: always.
    pub supported: String,
    /// From how many passes on it is worth while.
    pub least_passes: u64,
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

/// What the functions of a loop are printed into.
#[derive(Clone, Copy)]
pub(super) struct Outside<'a> {
    /// Beginning of their names.
    pub base: &'a str,
    /// The type that `s` points to.
    pub state: &'a str,
    /// Elements and tables.
    pub names: &'a dyn Names,
}

impl<'a> Outside<'a> {
    pub fn named(self, function: &'a str) -> LoopNames<'a> {
        LoopNames { function, state: self.state, names: self.names }
    }
}

/// Ways to run a loop that some machines have, in no order; `all`: also those that are estimated to be slower than others.
fn ways(body: &Loop, all: bool, outside: Outside) -> Vec<Version> {
    let base = outside.base;
    let mut versions = Vec::new();
    let layers = with_layers(body, outside);
    // Of what is very long only tables can become something of a size that is worth printing.
    if body.graph.len() > MOST_NODES {
        versions.extend(with_tables(body, outside).into_iter().chain(layers));
        return versions;
    }
    for (_, blocks) in blocks(body, &[512, 128], outside) {
        let supported = kernel::supported(&blocks.features);
        versions.push(Version { supported, function: blocks.function, least_passes: 0 });
    }
    if let Some(split) = split_recurrence(body) {
        versions.extend(taken::recurrence(&split, outside));
    }
    if let Some(split) = split_sums(body) {
        versions.extend(taken::sums(&split, outside));
    }
    versions.extend(with_tables(body, outside));
    if let Some(machine) = Machine::named("avx512gfni")
        && let Ok(tabulated) = kernel::tabulated_lanes(body, machine, &outside.named(&format!("{base}_table_lanes")))
    {
        let TabulatedFunction { function, least_passes } = tabulated;
        versions.push(Version { function, supported: machine.supported(), least_passes });
    }
    for machine in ["avx512", "avx2"].into_iter().filter_map(Machine::named) {
        let mut print = |strategy: Option<Strategy>| {
            let function = strategy.map_or(String::new(), |strategy| format!("_{}", strategy.name()));
            let function = format!("{base}_{}{function}", machine.name);
            let named = outside.named(&function);
            let printed = match strategy {
                Some(strategy) => kernel::print_loop(body, machine, strategy, &named).ok(),
                None => Some(kernel::print_best(body, machine, &named).1),
            };
            let supported = machine.supported();
            versions.extend(printed.map(|function| Version { function, supported, least_passes: 0 }));
        };
        match all {
            true => Strategy::ALL.iter().for_each(|&strategy| print(Some(strategy))),
            false => print(None),
        }
    }
    // What permutes and maps bytes of registers has the instructions of the others, too.
    let is_best = |layers: &Version| versions.iter().all(|other| layers.function.cycles < other.function.cycles);
    versions.extend(layers.filter(|layers| all || is_best(layers)));
    versions
}

/// A loop as layers of bytes. Where passes do not need each other, lanes of passes do as well.
fn with_layers(body: &Loop, outside: Outside) -> Option<Version> {
    if body.is_independent() {
        return None;
    }
    let (function, machine) = (format!("{}_layers", outside.base), Machine::named("avx512gfni")?);
    let function = kernel::print_loop(body, machine, Strategy::Layers, &outside.named(&function)).ok()?;
    Some(Version { function, supported: machine.supported(), least_passes: 0 })
}

/// A loop with tables, where it gains from them.
fn with_tables(body: &Loop, outside: Outside) -> Option<Version> {
    let named = format!("{}_tables", outside.base);
    let TabulatedFunction { function, least_passes } = kernel::tabulated(body, &outside.named(&named)).ok()?;
    Some(Version { function, supported: kernel::supported(NOTHING), least_passes })
}

/// A loop with instructions that work on blocks, for registers of so many bits.
pub(super) fn blocks(body: &Loop, widths: &[u32], outside: Outside) -> Vec<(u32, Blocks)> {
    blocks_with_held(body, widths, outside, None)
}

/// The same, with registers held for it where `changed` says what changes between calls.
pub(super) fn blocks_with_held(
    body: &Loop,
    widths: &[u32],
    outside: Outside,
    changed: Option<&BTreeSet<ObjectId>>,
) -> Vec<(u32, Blocks)> {
    let Some(selected) = selected(body) else { return Vec::new() };
    let names = Renamed { names: outside.names, tables: format!("{}_selected_table_", outside.base), own: &[] };
    let tables = kernel::tables(&selected.body.graph, &selected.body.roots(), &names);
    let print = |bits: u32| {
        let function = format!("{}_blocks{bits}", outside.base);
        let named = LoopNames { function: &function, state: outside.state, names: &names };
        let blocks = match changed {
            Some(changed) => kernel::blocks_with_held(&selected.body, instructions(), bits, &named, changed),
            None => kernel::blocks(&selected.body, instructions(), bits, &named),
        };
        let mut blocks = blocks.ok()?;
        if !tables.is_empty() {
            blocks.function.support.insert(0, tables.clone());
        }
        Some((bits, blocks))
    };
    widths.iter().copied().filter_map(print).collect()
}

/// Puts what trials say in the place of estimates. What cannot be tried here keeps its estimate, as far off as that of the
/// plain passes is; where not even those can be tried, all do.
fn tune(trials: &dyn Trials, body: &Loop, versions: &mut [Version], plain: &mut CFunction) {
    let outside = Outside { base: "f", state: ON_TRIAL.state, names: ON_TRIAL.names };
    let Some(took) = trials.run(&trial(body, &kernel::passes(body, &ON_TRIAL), "1")) else { return };
    let error = took / plain.cycles.max(f64::MIN_POSITIVE);
    plain.cycles = took;
    // The same ways in the same order.
    for (version, alone) in versions.iter_mut().zip(ways(body, true, outside)) {
        let took = trials.run(&trial(body, &alone.function, &alone.supported));
        version.function.cycles = took.unwrap_or(version.function.cycles * error);
    }
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
        let mut chains = Vec::new();
        let mut many = ManyLoops { loops: Vec::new(), of_loop: vec![None; all.len()] };
        for number in by_size {
            let body = &all[number].body;
            let same = self.key(body);
            if let Some(&other) = known.get(&same) {
                texts[number] = format!(
                    "#define {0}_loop_{number} {0}_loop_{other}\n#define {0}_loop_{number}_divided {0}_loop_{other}_divided\n",
                    self.prefix
                );
                many.of_loop[number] = many.of_loop[other];
                continue;
            }
            known.insert(same, number);
            let is_tuned = tuned < TUNED;
            tuned += usize::from(is_tuned);
            let versions = self.versions(body, number, is_tuned);
            let cycles = versions.iter().map(|version| version.function.cycles).fold(f64::INFINITY, f64::min);
            let short = body.graph.len() <= MOST_NODES;
            let (alone, ways) =
                if is_tuned && short { self.many_ways(body, number, cycles) } else { (cycles, Vec::new()) };
            let functions = versions.iter().map(|version| &version.function);
            let functions = functions.chain(ways.iter().map(|way| &way.function));
            for text in functions.flat_map(|function| &function.support) {
                if support.insert(text.clone()) {
                    support_text.push_str(text);
                }
            }
            texts[number] = self.dispatched(body, number, &versions);
            let always = versions.last().is_some_and(|version| version.supported.is_empty());
            let divided = Divided { number, ways: (!always).then_some(versions.len()), cycles };
            if body.is_independent() {
                texts[number].push_str(&self.divided(body, &divided));
            } else {
                chains.push((body, divided));
            }
            if !ways.is_empty() {
                many.of_loop[number] = Some(many.loops.len());
                many.loops.push(ManyLoop { number, ways, alone });
            }
        }
        let bodies: Vec<&Loop> = all.iter().map(|counted| &counted.body).collect();
        let text = format!(
            "{X86}{support_text}#endif\n{}{}{}",
            texts.concat(),
            self.ahead(&chains),
            self.many_loops(&many, &bodies)
        );
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

    pub(super) fn loop_names(&self, tables: String) -> KernelNames<'_> {
        KernelNames { network: self.network, places: self.places, tables, asked: Vec::new() }
    }

    /// The ways to run a loop, the fastest first, and last one that always works unless it is very long: there may be none.
    fn versions(&self, body: &Loop, number: usize, is_tuned: bool) -> Vec<Version> {
        let base = format!("{}_loop_{number}", self.prefix);
        let (state, names) = (format!("struct {}", self.prefix), self.loop_names(format!("{base}_table")));
        let outside = Outside { base: &base, state: &state, names: &names };
        let trials = self.trials.filter(|_| is_tuned);
        let mut versions = if is_tuned { ways(body, trials.is_some(), outside) } else { Vec::new() };
        let mut plain = kernel::passes(body, &outside.named(&format!("{base}_plain")));
        if let Some(trials) = trials {
            tune(trials, body, &mut versions, &mut plain);
        }
        versions.sort_by(|a, b| a.function.cycles.total_cmp(&b.function.cycles));
        // What needs nothing of the machine makes slower ones needless, and of those that need the same one is enough.
        let needs_nothing = |version: &Version| version.supported == kernel::supported(NOTHING);
        let n = versions.iter().position(needs_nothing).map_or(versions.len(), |at| at + 1);
        versions.truncate(n);
        let mut conditions = HashSet::new();
        versions.retain(|version| conditions.insert((version.supported.clone(), version.least_passes)));
        versions.retain(|version| version.function.cycles < plain.cycles && version.function.text.len() <= MOST_TEXT);
        // Rounds have counted by the time that the loop is called.
        let always = self.automaton.states.iter().flat_map(|state| &state.loops).any(|one| one.rounds.is_some());
        let most = if versions.is_empty() { MOST_TEXT } else { MOST_PLAIN_TEXT };
        if always || plain.text.len() <= most {
            versions.push(Version { function: plain, supported: String::new(), least_passes: 0 });
        }
        versions
    }

    /// A loop with instructions that work on blocks, in wide registers and narrow ones.
    pub(super) fn blocks(&self, body: &Loop, base: &str, widths: &[u32]) -> Vec<(u32, Blocks)> {
        let (state, names) = (format!("struct {}", self.prefix), self.loop_names(format!("{base}_table")));
        blocks(body, widths, Outside { base, state: &state, names: &names })
    }

    /// A pass that multiplies, with instructions for it.
    pub(super) fn product(&self, body: &Loop, base: &str) -> Option<(CFunction, BTreeSet<String>)> {
        let split = split_recurrence(body)?;
        let function = &format!("{base}_product");
        let state = format!("struct {}", self.prefix);
        let names = self.loop_names(String::new());
        kernel::product_once(&split, &LoopNames { function, state: &state, names: &names }).ok()
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
        // What few passes take is another way, where some are worth while for many only.
        let least = others.iter().map(|version| version.least_passes).max().unwrap_or(0);
        let mut chosen = format!("{own}_way()");
        if !others.is_empty() {
            let supported: Vec<&str> = others.iter().map(|version| version.supported.as_str()).collect();
            text.push_str(&way(&own, &supported));
        }
        if least > 0 {
            let supported = others.iter().map(|version| match version.least_passes {
                0 => version.supported.as_str(),
                _ => "0",
            });
            let supported: Vec<&str> = supported.collect();
            text.push_str(&way(&format!("{own}_of_few"), &supported));
            chosen = format!("passes < {least} ? {own}_of_few_way() : {chosen}");
        }
        text.push_str("#endif\n");
        // Apart from the function that chooses, whose own frame would otherwise be theirs.
        let apart = |function: &CFunction| {
            let head = format!("static void {}(", function.name);
            function.text.replacen(&head, &format!("HR_APART {head}"), usize::from(!others.is_empty()))
        };
        text.push_str(&last.map_or(String::new(), |version| apart(&version.function)));
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
            let _ = writeln!(text, "    switch ({chosen}) {{");
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
            None => {
                let unused: Vec<String> =
                    arguments.split(", ").chain(["passes"]).map(|name| format!("    (void){name};\n")).collect();
                let _ = write!(text, "#endif\n{}    return false;\n}}\n\n", unused.concat());
            }
        }
        text
    }
}
