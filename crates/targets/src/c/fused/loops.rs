//! Function multiversioning: variants of a loop for each feature set, and their run-time dispatch. Functions that run
//! iterations of loops: one for each level of a machine that does them in another way, and one that chooses when it is
//! called.

use super::distributed_loops;
use super::folded::MOST_FIELDS;
use super::merge_functions::{Unit, Units, parameters, pointers};
use super::multi_buffer::{ManyLoop, ManyLoops, ManyWays};
use super::outlined_transitions::{ARM, X86};
use super::parallel_for::Divided;
use super::report::{OnTrial, PrintedVariant};
use super::{KernelNames, Writer};
use crate::c::kernel::{
    self, Blocks, CFunction, Items, LoopNames, MOST_FUNCTION, Machine, Names, Needs, ON_TRIAL, Renamed, Shared,
    Strategy, Support, TabulatedFunction, Trials, machine, trial, trial_of_many,
};
use headrace_transform::control::CountedLoop;
use headrace_transform::kernel::{Loop, Object, ObjectId};
use headrace_transform::passes::canonical_form::Canonical;
use headrace_transform::passes::distribute_recurrence::{self, SplitLoop, distribute_recurrence};
use headrace_transform::passes::extract_reductions::{self, extract_reductions};
use headrace_transform::passes::sink_copies::{self, sink_copies};
use headrace_vectorize::selection::{self, instructions, selected};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Loops of an automaton that are printed for machines, those that move most first; the others run iteration after
/// iteration.
pub(super) const TUNED: usize = 4;

/// Nodes of a loop that is printed for vectors.
pub(super) const MOST_NODES: usize = selection::MOST_NODES;

/// Size of iterations in plain C that stand beside faster ones: without them transitions run one after another, and what
/// goes on between those does not count beside what is so long.
const MOST_PLAIN: usize = 5_800;

/// Size of iterations in plain C from which on products in them are looked for: one takes hundreds of values.
const WITH_PRODUCT: usize = 1_000;

/// Widths of registers that blocks are printed for, the widest first: those of 256 bits are for processors that have instructions
/// for ciphers in them and no wider ones.
pub(super) const BLOCK_WIDTHS: &[u32] = &[512, 256, 128];

/// Widest registers whose functions are one in all programs that have the same loop: wider ones are there for speed alone, and
/// going through a structure takes a few cycles.
const FOLDED: u32 = 256;

/// Narrowest width of blocks: what a product needs that is computed once, with no power kept.
const NARROWEST: u32 = 128;

/// Registers of which both parts of a loop that was taken apart are stitched together: there are enough of these for both.
const STITCHED: u32 = 512;

/// The way of iterations in plain C.
const PLAIN: &str = "plain";

/// The way in vectors of AArch64.
pub(super) const ON_ARM: &str = "neon";

/// Features of what runs on every machine.
const NOTHING: &[&str] = &[];

/// What is printed for the loops of an automaton.
pub(super) struct Loops<'a> {
    /// Those that are printed, each for one or several loops.
    pub units: Vec<PrintedUnit<'a>>,
    /// Loops that do the same as another one, and which.
    pub same: Vec<(usize, usize)>,
    /// Those that run for many messages at once.
    pub many: ManyLoops,
    /// All loops.
    pub bodies: Vec<&'a Loop>,
    /// Kernels of devices by the numbers of their loops, or why there is none.
    pub kernels: Vec<(usize, Result<Items, String>)>,
}

impl Loops<'_> {
    /// Whether a device may run some of them.
    pub fn has_kernels(&self) -> bool {
        self.kernels.iter().any(|(_, kernel)| kernel.is_ok())
    }

    /// What stands above their functions for them to use.
    pub fn support(&self) -> BTreeSet<Support> {
        let functions = self.units.iter().flat_map(PrintedUnit::functions);
        functions.flat_map(|function| &function.support).cloned().collect()
    }
}

/// The functions of a unit.
pub(super) struct PrintedUnit<'a> {
    /// What they run.
    pub unit: Unit<'a>,
    /// For one message, the fastest first, and one that always works last, if there is one.
    pub variants: Vec<Variant>,
    /// For one message on AArch64, where it is better than what always works.
    pub arm: Option<CFunction>,
    /// For many.
    pub ways: ManyWays,
    /// What functions use that are left out.
    pub dropped: Vec<Support>,
    /// Whether there are some.
    pub shortened: bool,
}

impl PrintedUnit<'_> {
    /// Those for one message.
    pub fn functions(&self) -> impl Iterator<Item = &CFunction> {
        self.variants.iter().map(|variant| &variant.function)
    }

    /// What functions for one message use and nobody else, not even `others`: it is called after them.
    fn own_support(&self, others: &BTreeSet<Support>) -> Vec<&Support> {
        let mut own: Vec<&Support> = Vec::new();
        for support in self.variants.iter().flat_map(|variant| &variant.function.support) {
            let is_own = support.is_of_loop() && !others.contains(support);
            if is_own && !own.contains(&support) {
                own.push(support);
            }
        }
        own
    }
}

/// A way of running the iterations of a loop.
pub(super) struct Variant {
    /// What tells it from the others: the end of its name.
    pub way: String,
    pub function: CFunction,
    /// Where it can be called; nothing: what is taken where no other can be.
    pub needs: Needs,
    /// From how many iterations on it is worth while.
    pub least_iterations: u64,
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
    /// The name of the function that runs a loop in a way.
    pub fn way(self, way: &str) -> String {
        format!("{}_{way}", self.base)
    }

    pub fn named(self, function: &'a str) -> LoopNames<'a> {
        LoopNames { function, state: self.state, names: self.names }
    }
}

/// Ways to run a loop that some machines have, in no order; `all`: also those that are estimated to be slower than
/// others.
pub(super) fn ways(body: &Loop, all: bool, outside: Outside) -> Vec<Variant> {
    if let Some(split) = sink_copies::PASS.tried(|| sink_copies(body)) {
        return distributed_loops::copied(&split, all, outside);
    }
    let mut variants = Vec::new();
    let layers = with_layers(body, outside);
    // Of what is very long only tables can become something of a size that is worth printing.
    if body.graph.len() > MOST_NODES {
        variants.extend(with_tables(body, outside).into_iter().chain(layers));
        return variants;
    }
    for (bits, blocks) in blocks(body, BLOCK_WIDTHS, outside) {
        let (way, needs) = (format!("blocks{bits}"), Needs::of(&blocks.features));
        variants.push(Variant { way, needs, function: blocks.function, least_iterations: 0 });
    }
    if let Some(split) = distribute_recurrence::PASS.tried(|| distribute_recurrence(body)) {
        variants.extend(distributed_loops::recurrence(&split, outside));
    }
    if let Some(split) = extract_reductions::PASS.tried(|| extract_reductions(body)) {
        variants.extend(distributed_loops::sums(&split, outside));
    }
    variants.extend(with_tables(body, outside));
    let way = "table_lanes";
    if let Some(machine) = machine::for_affine_maps()
        && let Ok(tabulated) = kernel::tabulated_lanes(body, machine, &outside.named(&outside.way(way)))
    {
        let TabulatedFunction { function, least_iterations } = tabulated;
        let needs = Needs::of(&machine.features);
        variants.push(Variant { way: way.to_owned(), function, needs, least_iterations });
    }
    variants.extend(with_byte_planes(body, outside));
    for machine in machine::for_every_loop() {
        let mut print = |strategy: Option<Strategy>| {
            let way = strategy.map_or(String::new(), |strategy| format!("_{}", strategy.name()));
            let way = format!("{}{way}", machine.name);
            let function = outside.way(&way);
            let named = outside.named(&function);
            let printed = match strategy {
                Some(strategy) => kernel::print_loop(body, machine, strategy, &named).ok(),
                None => Some(kernel::print_best(body, machine, &named).1),
            };
            let needs = Needs::of(&machine.features);
            variants.extend(printed.map(|function| Variant { way, function, needs, least_iterations: 0 }));
        };
        match all {
            true => Strategy::ALL.iter().for_each(|&strategy| print(Some(strategy))),
            false => print(None),
        }
    }
    // What permutes and maps bytes of registers has the instructions of the others, too.
    let is_best = |layers: &Variant| variants.iter().all(|other| layers.function.cycles < other.function.cycles);
    variants.extend(layers.filter(|layers| all || is_best(layers)));
    variants
}

/// Iterations that run on every machine.
pub(super) fn plain(body: &Loop, function: &str, outside: Outside) -> CFunction {
    let whole = kernel::sequential(body, &outside.named(function));
    if !(WITH_PRODUCT..=MOST_PLAIN).contains(&whole.size) {
        return whole;
    }
    let split = distribute_recurrence::PASS.tried(|| distribute_recurrence(body));
    let apart = split.and_then(|split| distributed_loops::portable(&split, function, outside));
    apart.filter(|apart| apart.size < whole.size).unwrap_or(whole)
}

/// A loop as layers of bytes. Where iterations do not need each other, lanes of iterations do as well.
fn with_layers(body: &Loop, outside: Outside) -> Option<Variant> {
    if body.is_independent() {
        return None;
    }
    let (way, machine) = ("layers".to_owned(), machine::for_affine_maps()?);
    let function = kernel::print_loop(body, machine, Strategy::Layers, &outside.named(&outside.way(&way))).ok()?;
    Some(Variant { way, function, needs: Needs::of(&machine.features), least_iterations: 0 })
}

/// A loop with a register for each byte of its words, for the levels that choose bytes from registers. Of those with the
/// widest registers only the one that maps bytes counts: processors have both or none.
fn with_byte_planes(body: &Loop, outside: Outside) -> Vec<Variant> {
    let widest = machine::for_affine_maps();
    let narrower = machine::for_every_loop()
        .filter(|machine| widest.is_none_or(|widest| machine.vector_bits < widest.vector_bits));
    let print = |machine: &Machine| {
        let way = format!("{}_{}", machine.name, Strategy::BytePlanes.name().replace('-', "_"));
        let named = outside.way(&way);
        let TabulatedFunction { function, least_iterations } =
            kernel::in_byte_planes(body, machine, &outside.named(&named)).ok()?;
        Some(Variant { way, function, needs: Needs::of(&machine.features), least_iterations })
    };
    widest.into_iter().chain(narrower).filter_map(print).collect()
}

/// A loop with tables, where it gains from them.
fn with_tables(body: &Loop, outside: Outside) -> Option<Variant> {
    let way = "tables".to_owned();
    let tabulated = kernel::tabulated(body, &outside.named(&outside.way(&way))).ok()?;
    let TabulatedFunction { function, least_iterations } = tabulated;
    Some(Variant { way, function, needs: Needs::of(NOTHING), least_iterations })
}

/// A loop with instructions that work on blocks, for registers of so many bits.
pub(super) fn blocks(body: &Loop, widths: &[u32], outside: Outside) -> Vec<(u32, Blocks)> {
    blocks_of(body, widths, outside, None, "iterations")
}

/// A function of registers for all programs that have the same loop.
fn folded<'n>(body: &Loop, bits: u32, iterations: &str, names: &'n dyn Names) -> Option<Shared<'n>> {
    let form = Canonical::of_loop(body);
    let objects: Vec<&Object> = form.objects.iter().map(|object| &body.objects[object.0 as usize]).collect();
    let fits = objects.len() <= MOST_FIELDS && objects.iter().all(|object| object.lives_on());
    fits.then(|| names.shared(&format!("blocks {bits} {iterations} {:?}", form.key), &objects)).flatten()
}

/// The same, with registers held for it where `changed` says what changes between calls.
pub(super) fn blocks_with_held(
    body: &Loop,
    widths: &[u32],
    outside: Outside,
    changed: Option<&BTreeSet<ObjectId>>,
) -> Vec<(u32, Blocks)> {
    blocks_of(body, widths, outside, changed, "iterations")
}

/// The same; `iterations`: how many there are, for compilers that know what few need.
fn blocks_of(
    body: &Loop,
    widths: &[u32],
    outside: Outside,
    changed: Option<&BTreeSet<ObjectId>>,
    iterations: &str,
) -> Vec<(u32, Blocks)> {
    let Some(selected) = selected(body) else { return Vec::new() };
    let print = |bits: u32| {
        let (base, state) = (outside.base, outside.state);
        let print = |base: &str, function: &str, outside: Outside| {
            let names = Renamed { names: outside.names, tables: format!("{base}_selected_table_"), own: &[] };
            let tables = kernel::tables(&selected.body.graph, &selected.body.roots(), &names);
            let named = LoopNames { function, state: outside.state, names: &names };
            let blocks = match changed {
                Some(changed) => kernel::blocks_with_held(&selected.body, instructions(), bits, &named, changed),
                None => kernel::blocks(&selected.body, instructions(), bits, &named),
            };
            Some((tables, blocks.ok()?))
        };
        let function = format!("{base}_blocks{bits}");
        let shared =
            if changed.is_none() && bits <= FOLDED { folded(body, bits, iterations, outside.names) } else { None };
        let mut blocks = match shared {
            None => {
                let (tables, mut blocks) = print(base, &function, outside)?;
                if !tables.is_empty() {
                    blocks.function.support.insert(0, Support::of_loop(tables));
                }
                blocks
            }
            Some(shared) => {
                let (name, own) = (&shared.name, format!("{}_blocks", shared.name));
                let on = format!("const struct {name}_on");
                let (tables, blocks) = print(name, &own, Outside { base: name, state: &on, names: &*shared.names })?;
                let (parameters, arguments) = parameters(body);
                let target: Vec<&str> = blocks.features.iter().map(String::as_str).collect();
                // Pointers are arguments: what went through memory would be waited for.
                let fields = shared.fields.iter().enumerate();
                let taken_places: String = fields.map(|(at, (ty, _))| format!("{ty} *o{at}, ")).collect();
                let all: Vec<String> = (0..shared.fields.len()).map(|at| format!("o{at}")).collect();
                let all = if all.is_empty() { "0".to_owned() } else { all.join(", ") };
                let places: String = shared.fields.iter().map(|(_, place)| format!("{place}, ")).collect();
                let tokens = pointers(body);
                let taken: String = tokens.iter().map(|(parameter, _)| format!("{parameter}, ")).collect();
                let given: String = tokens.iter().map(|(_, argument)| format!("{argument}, ")).collect();
                let target = format!("__attribute__((target(\"{}\")))", target.join(","));
                // Inlined, so that the structure of the pointers is never made; compilers leave it where it is long.
                let whole = shared.guarded(&format!(
                    "{}{tables}{target} static inline HR_INLINED void {own}({on} *s{parameters}, size_t iterations);\n\
                     {}{target} HR_SAME void {name}({taken_places}{taken}size_t iterations) {{\n    (void)iterations;\n    {on} on = {{{}}};\n    {own}(&on{arguments}, {iterations});\n}}\n",
                    shared.above, blocks.function.text, all
                ));
                let text = format!(
                    "{whole}static void {function}({state} *s{parameters}, size_t iterations) {{\n    {name}({places}{given}iterations);\n}}\n"
                );
                Blocks { function: CFunction { name: function, text, ..blocks.function }, ..blocks }
            }
        };
        blocks.function = blocks.function.shown_by(selected.evidence.iter().cloned());
        Some((bits, blocks))
    };
    widths.iter().copied().filter_map(print).collect()
}

/// Whole groups of a loop that was taken apart, both parts at once, in registers wide enough to gain from it.
pub(super) fn stitched(split: &SplitLoop, bits: u32, outside: Outside) -> Option<Blocks> {
    both(split, bits, outside, |selected, named| kernel::stitched(split, selected, instructions(), bits, named).ok())
}

/// Few iterations of a loop that was taken apart, both parts in the same registers, wide enough to gain from it.
pub(super) fn few(split: &SplitLoop, bits: u32, outside: Outside) -> Option<Blocks> {
    both(split, bits, outside, |selected, named| kernel::short_trip(split, selected, instructions(), named).ok())
}

/// Both parts of a loop that was taken apart, as `print` has them after instruction selection.
fn both(
    split: &SplitLoop,
    bits: u32,
    outside: Outside,
    print: impl FnOnce(&Loop, &LoopNames) -> Option<Blocks>,
) -> Option<Blocks> {
    let selected = selected(&split.independent).filter(|_| bits == STITCHED)?;
    let names = Renamed { names: outside.names, tables: format!("{}_selected_table_", outside.base), own: &[] };
    let tables = kernel::tables(&selected.body.graph, &selected.body.roots(), &names);
    let named = LoopNames { function: outside.base, state: outside.state, names: &names };
    let mut blocks = print(&selected.body, &named)?;
    if !tables.is_empty() {
        blocks.function.support.insert(0, Support::of_loop(tables));
    }
    blocks.function = blocks.function.shown_by(selected.evidence.iter().cloned());
    Some(blocks)
}

/// Functions of an iteration that multiplies with the features that they need, and one that needs none.
pub(super) type Product = (Vec<(CFunction, BTreeSet<String>)>, Option<CFunction>);

/// The ways to run a loop on x86-64, each in a program that times it alone; `many`: for many messages at once.
pub fn on_trial(body: &Loop, many: bool) -> Vec<OnTrial> {
    if many {
        let selected = selected(body);
        let selected = selected.as_ref().map(|selected| &selected.body);
        let (_, ways) = kernel::many(body, selected, instructions(), f64::INFINITY, &ON_TRIAL);
        return ways.iter().map(|way| OnTrial::of_many(way, trial_of_many(body, way))).collect();
    }
    let outside = Outside { base: "f", state: ON_TRIAL.state, names: ON_TRIAL.names };
    let of = |way: Variant| OnTrial {
        source: trial(body, &way.function, &way.needs),
        variant: PrintedVariant::new(&way.function, &way.way, way.needs.features(), 1),
        messages: 1,
    };
    ways(body, false, outside).into_iter().map(of).collect()
}

/// Puts what trials say in the place of estimates. What cannot be tried here keeps its estimate, as far off as that of
/// the plain iterations is; where not even those can be tried, all do.
fn tune(trials: &dyn Trials, body: &Loop, variants: &mut [Variant], plain: &mut CFunction) {
    let outside = Outside { base: "f", state: ON_TRIAL.state, names: ON_TRIAL.names };
    let plain_trial = trial(body, &kernel::sequential(body, &ON_TRIAL), &Needs::Nothing);
    let Some(took) = trials.run(&plain_trial) else { return };
    let error = took / plain.cycles.max(f64::MIN_POSITIVE);
    plain.cycles = took;
    // The same ways in the same order.
    for (variant, alone) in variants.iter_mut().zip(ways(body, true, outside)) {
        let took = trials.run(&trial(body, &alone.function, &alone.needs));
        variant.function.cycles = took.unwrap_or(variant.function.cycles * error);
    }
}

impl Writer<'_> {
    /// What is printed for the loops.
    pub(super) fn loops(&self) -> Loops<'_> {
        let all = || self.automaton.states.iter().flat_map(|state| &state.loops);
        let bodies: Vec<&Loop> = all().map(|counted| &counted.body).collect();
        // Those that work on lists of the context beside their ports.
        let apart: Vec<bool> = all().map(CountedLoop::has_windows).collect();
        let Units { units, same } = self.units(&bodies);
        let mut many = ManyLoops { loops: Vec::new(), of_loop: vec![None; bodies.len()] };
        let mut printed = Vec::new();
        for (at, unit) in units.into_iter().enumerate() {
            let is_tuned = at < TUNED;
            let variants = self.variants(&unit, is_tuned);
            let cycles = variants.iter().map(|variant| variant.function.cycles).fold(f64::INFINITY, f64::min);
            let short = unit.body.graph.len() <= MOST_NODES;
            let has_ports_only = unit.members.iter().all(|&number| !apart[number]);
            let ways = match self.many && is_tuned && short && has_ports_only {
                true => self.many_ways(&unit, cycles),
                false => ManyWays { ways: Vec::new(), alone: cycles },
            };
            if !ways.ways.is_empty() {
                for &number in &unit.members {
                    many.of_loop[number] = Some(many.loops.len());
                    many.loops.push(ManyLoop { number, unit: at });
                }
            }
            let arm = if is_tuned { self.on_arm(&unit) } else { None };
            printed.push(PrintedUnit { unit, variants, arm, ways, dropped: Vec::new(), shortened: false });
        }
        for &(number, other) in &same {
            many.of_loop[number] = many.of_loop[other];
        }
        let mut loops = Loops { units: printed, same, many, bodies, kernels: Vec::new() };
        loops.kernels = self.kernels_elsewhere(&loops);
        loops
    }

    /// A function for each loop: `bool PREFIX_loop_N(s, in…, out…, iterations)`, pointers for the ports that it uses,
    /// which says whether this machine can. `others` is what functions of others need and found here before some were
    /// dropped.
    pub(super) fn loops_text(&self, loops: &Loops, others: &BTreeSet<Support>) -> String {
        let mut seen: BTreeSet<&Support> = BTreeSet::new();
        let mut text = String::from(X86);
        let own: Vec<Vec<&Support>> = loops.units.iter().map(|unit| unit.own_support(others)).collect();
        for (unit, own) in loops.units.iter().zip(&own) {
            let kept = unit.functions().flat_map(|function| &function.support).filter(|support| !own.contains(support));
            for support in kept.chain(unit.dropped.iter().filter(|support| others.contains(*support))) {
                if seen.insert(support) {
                    text.push_str(support.text());
                }
            }
        }
        text.push_str("#endif\n");
        let of_arm = loops.units.iter().flat_map(|unit| &unit.arm).flat_map(|function| &function.support);
        let of_arm: Vec<&Support> = of_arm.collect();
        if !of_arm.is_empty() {
            text.push_str(ARM);
            let mut seen = BTreeSet::new();
            let new = of_arm.into_iter().filter(|support| seen.insert(*support));
            new.for_each(|support| text.push_str(support.text()));
            text.push_str("#endif\n");
        }
        let mut chains = Vec::new();
        for (PrintedUnit { unit, variants, arm, shortened, .. }, own) in loops.units.iter().zip(&own) {
            text.push_str(&self.dispatched(unit, variants, arm.as_ref(), own, *shortened));
            let cycles = variants.iter().map(|variant| variant.function.cycles).fold(f64::INFINITY, f64::min);
            let always = variants.last().is_some_and(|variant| variant.needs == Needs::Nothing);
            let n_ways = variants.len();
            for &number in &unit.members {
                text.push_str(&self.framed(unit, number, loops.bodies[number]));
                let chooses = unit.base.clone();
                let ways = (!always).then_some(n_ways);
                let divided = Divided { number, chooses, ways, on_arm: arm.is_some(), cycles };
                if unit.body.is_independent() {
                    let elsewhere = self.elsewhere(loops.bodies[number], number, loops);
                    text.push_str(&self.divided(loops.bodies[number], &divided, elsewhere));
                } else {
                    chains.push((loops.bodies[number], divided));
                }
            }
        }
        for (number, other) in &loops.same {
            let prefix = self.prefix;
            let _ = write!(
                text,
                "#define {prefix}_loop_{number} {prefix}_loop_{other}\n#define {prefix}_loop_{number}_divided {prefix}_loop_{other}_divided\n"
            );
        }
        text.push_str(&self.ahead(&chains));
        text
    }

    /// The best way to run a loop in vectors of AArch64, if that is better than iteration after
    /// iteration.
    fn on_arm(&self, unit: &Unit) -> Option<CFunction> {
        let (base, body) = (&unit.base, unit.body.as_ref());
        if body.graph.len() > MOST_NODES {
            return None;
        }
        let (name, names) = (format!("{base}_{ON_ARM}"), self.unit_names(unit));
        let named = LoopNames { function: &name, state: &unit.state, names: &names };
        let (strategy, function) = kernel::print_best(body, machine::arm()?, &named);
        (strategy != Strategy::Sequential).then_some(function)
    }

    /// The ways to run a loop for many messages at once: only where the iterations of one need each other.
    fn many_ways(&self, unit: &Unit, alone: f64) -> ManyWays {
        let body = unit.body.as_ref();
        if body.is_independent() {
            return ManyWays { ways: Vec::new(), alone };
        }
        let function = format!("{}_many", unit.base);
        let names = self.loop_names(format!("{}_table", unit.base));
        let outside = LoopNames { function: &function, state: &unit.state, names: &names };
        let selected = selected(body);
        let (alone, mut ways) =
            kernel::many(body, selected.as_ref().map(|selected| &selected.body), instructions(), alone, &outside);
        ways.retain(|way| way.function.size <= MOST_FUNCTION);
        ManyWays { ways, alone }
    }

    /// Whether iterations in plain C stand beside all others: counted paths have counted by the time that the loop is called.
    pub(super) fn always_plain(&self) -> bool {
        self.automaton.states.iter().flat_map(|state| &state.loops).any(|one| one.rounds.is_some())
    }

    pub(super) fn loop_names(&self, tables: String) -> KernelNames<'_> {
        KernelNames { tables, ..self.names(Vec::new()) }
    }

    /// The ways to run a loop, the fastest first, and last one that always works unless it is very long: there may be
    /// none.
    fn variants(&self, unit: &Unit, is_tuned: bool) -> Vec<Variant> {
        let (base, body) = (&unit.base, unit.body.as_ref());
        let names = self.unit_names(unit);
        let outside = Outside { base, state: &unit.state, names: &names };
        let trials = self.trials.filter(|_| is_tuned);
        let mut variants = if is_tuned { ways(body, trials.is_some(), outside) } else { Vec::new() };
        let mut plain = plain(body, &outside.way(PLAIN), outside);
        if let Some(trials) = trials {
            tune(trials, body, &mut variants, &mut plain);
        }
        variants.sort_by(|a, b| a.function.cycles.total_cmp(&b.function.cycles));
        // What needs nothing of the machine makes slower ones needless, and of those that need the same one is enough.
        let needs_nothing = |variant: &Variant| variant.needs == Needs::of(NOTHING);
        let n = variants.iter().position(needs_nothing).map_or(variants.len(), |at| at + 1);
        variants.truncate(n);
        let mut conditions = FxHashSet::default();
        variants.retain(|variant| conditions.insert((variant.needs.clone(), variant.least_iterations)));
        variants.retain(|variant| variant.function.cycles < plain.cycles && variant.function.size <= MOST_FUNCTION);
        let most = if variants.is_empty() { MOST_FUNCTION } else { MOST_PLAIN };
        if self.always_plain() || plain.size <= most {
            let way = PLAIN.to_owned();
            variants.push(Variant { way, function: plain, needs: Needs::Nothing, least_iterations: 0 });
        }
        variants
    }

    /// A loop of one iteration with instructions that work on blocks, in wide registers and narrow ones.
    pub(super) fn blocks(&self, body: &Loop, base: &str, widths: &[u32]) -> Vec<(u32, Blocks)> {
        let state = format!("struct {}", self.prefix);
        let names = KernelNames { shares: self.trials.is_none(), ..self.loop_names(format!("{base}_table")) };
        blocks_of(body, widths, Outside { base, state: &state, names: &names }, None, "1")
    }

    /// An iteration that multiplies: with instructions for it and what these need, the fastest first, and without.
    pub(super) fn product(&self, body: &Loop, base: &str) -> Option<Product> {
        let split = distribute_recurrence::PASS.tried(|| distribute_recurrence(body))?;
        let state = format!("struct {}", self.prefix);
        let names = KernelNames { shares: self.trials.is_none(), ..self.loop_names(String::new()) };
        let outside = Outside { base, state: &state, names: &names };
        let [product, portable] = ["product", "portable"].map(|way| format!("{base}_{way}"));
        let once = kernel::product_once(&split, &outside.named(&product)).ok()?;
        let kept = |&bits: &u32| {
            let kept = format!("{base}_kept{bits}");
            kernel::product_kept(&split, (&once.0, &once.1), bits, &outside.named(&kept)).ok()
        };
        let kept: Vec<_> = BLOCK_WIDTHS.iter().filter(|&&bits| bits != NARROWEST).filter_map(kept).collect();
        let portable = kernel::portable_product(&split, &outside.named(&portable)).ok();
        Some((kept.into_iter().chain([once]).collect(), portable))
    }
}
