//! Sequential loops: scalar code, carried values in registers. A loop whose iterations run one after the other, each as
//! scalar statements.
//!
//! What goes from iteration to iteration is kept in local arrays, which compilers turn into registers. Before that the passes
//! run that all languages have (`scalar-loop`, `scalar-iteration`), bytes of tokens that are rotated are read as words, and
//! where the other iterations need less than the first, they are printed apart.

use super::loop_frame::{CFunction, LoopNames, head};
use super::machine::usual_costs;
use super::scalar::{as_element, element_type, statements, statements_in_order};
use super::work::{self, Trace, Work};
use super::{Names, Outside};
use headrace_source::Span;
use headrace_transform::kernel::{self, Effect, Evidence, Loop, NodeId, Object, Op, TableId};
use headrace_transform::passes::coalesce_token_loads::{self, TokenWords, coalesce_token_loads};
use headrace_transform::passes::pass::BlockRef;
use headrace_transform::passes::peel_first_iteration::{self, Settled, peel_first_iteration};
use headrace_transform::passes::pipelines::{SCALAR_ITERATION, SCALAR_LOOP};
use headrace_transform::statements::{Iterations, Kept, Piece, size};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

/// Size of an iteration from which on compilers are told to leave iterations one by one: putting those side by side takes
/// them minutes, and nothing is gained by it.
const UNROLLED: usize = 5_800;

/// What iterations are held to.
const TESTED: Evidence =
    Evidence::Test { what: "statements", test: "crates/targets/tests/kernel_loops.rs iterations_do_what_loops_mean" };

/// Prints a loop iteration after iteration.
pub fn sequential(body: &Loop, names: &LoopNames) -> CFunction {
    let better = SCALAR_LOOP.on_loop(body, &[]);
    let body = better.as_ref().unwrap_or(body);
    let whole = iterations_block(body, names.names, "iterations", false);
    let own = if whole.size > UNROLLED { "HR_SCALAR " } else { "" };
    // Two of them must not be long, either.
    let apart = if 2 * whole.size <= UNROLLED { peeled(body, names) } else { None };
    let Block { text: block, cycles, size, work } = apart.unwrap_or(whole);
    let work = Work { is_carried: !body.is_independent(), ..work.of_group(1.0) };
    let text = format!("{own}{}{block}}}\n", head(body, None, names));
    CFunction { name: names.function.to_owned(), support: Vec::new(), text, cycles, size, evidence: vec![TESTED], work }
}

/// Statements of the first iteration, of the others, and of what is stored behind these, where the others need less; and
/// estimated cycles of one of them. Of a loop that makes no tokens only: where output takes the place of input, the tokens of
/// the iteration before are not there any more.
fn peeled(body: &Loop, names: &LoopNames) -> Option<Block> {
    if !body.outputs.is_empty() {
        return None;
    }
    let Settled { body: others, behind } = peel_first_iteration::PASS.tried(|| peel_first_iteration(body))?;
    let first = iterations_block(body, names.names, "1", false);
    let rest = iterations_block(&others, names.names, "iterations - 1", false);
    let size = first.size + rest.size + size(&others.graph, &behind);
    let outside = IterationNames { names: names.names, body: &others, kept: &[], token_words: &[] };
    let behind = statements(&others.graph, &others.objects, &behind, &outside, 1);
    let text = format!(
        "  if (iterations == 0) return;\n  {{\n{}  }}\n  if (iterations == 1) return;\n  {{\n{}  }}\n{behind}",
        first.text, rest.text
    );
    Some(Block { text, cycles: rest.cycles, size, work: rest.work })
}

/// Statements that run iterations.
pub(super) struct Block {
    pub text: String,
    /// Estimated cycles of an iteration.
    pub cycles: f64,
    /// How long it is.
    pub size: usize,
    /// What an iteration has to do.
    pub work: Work,
}

/// Statements that do as many iterations as an expression says and leave pointers behind them, and estimated cycles of
/// an iteration; `by_number`: values are computed in the order of the graph.
pub(super) fn iterations_block(body: &Loop, names: &dyn Names, n_iterations: &str, by_number: bool) -> Block {
    let n_indexed = body.objects.len();
    let coalesced = || coalesce_token_loads::PASS.tried(|| coalesce_token_loads(body));
    let (cut, token_words) = if by_number { None } else { coalesced() }.unzip();
    let token_words = token_words.unwrap_or_default();
    let cut = cut.map(|cut| with_own_names(cut, &token_words));
    let body = cut.as_ref().unwrap_or(body);
    let Iterations { graph, kept: all_kept, objects, effects } = Iterations::of(body);
    let block = kernel::Block { graph, objects, effects, n_indexed, filled: Vec::new() };
    let better = SCALAR_ITERATION.on_block(BlockRef::of(&block), &[]);
    let kernel::Block { graph, objects, effects, .. } = better.unwrap_or(block);
    let size = size(&graph, &effects);
    let outside = IterationNames { names, body, kept: &all_kept, token_words: &token_words };
    let mut text = String::new();
    for kept in &all_kept {
        text.push_str(&declaration(kept, body, names));
    }
    let statements = statements_in_order(&graph, &objects, &effects, &outside, 2, by_number);
    if size > UNROLLED {
        text.push_str("  HR_ONE_BY_ONE\n");
    }
    let _ = writeln!(text, "  for (size_t n_ = {n_iterations}; n_ != 0; n_--) {{");
    token_words.iter().for_each(|words| text.push_str(&read_words(words, body)));
    text.push_str(&statements);
    for (letter, ports) in [("in", &body.consumes), ("out", &body.produces)] {
        for (port, &(tokens, _)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = writeln!(text, "    {letter}{port} += {tokens};");
        }
    }
    text.push_str("  }\n");
    for kept in &all_kept {
        text.push_str(&store(kept, body, names));
    }
    let printing = Outside { graph: &graph, objects: &objects, names: &outside, stored: FxHashSet::default() };
    let needed = Effect::needed(&effects, &graph);
    let operations: usize = needed.iter().map(|&id| printing.reads(id).len()).sum();
    let work = work_of_words(body, &needed, &printing);
    Block { text, cycles: usual_costs().scalar(operations), size, work }
}

/// Bits of words in which tokens go out.
const WORD_BITS: u64 = 64;

/// Registers of words that compilers have for values.
const WORD_REGISTERS: usize = 14;

/// What an iteration in words has to do: tokens go in and out by words.
fn work_of_words(body: &Loop, needed: &[NodeId], printing: &Outside) -> Work {
    let graph = printing.graph;
    let is_token = |id: &NodeId| matches!(graph.op(*id), Op::Input { .. });
    let mut trace = Trace::default();
    for &id in needed {
        let reads = printing.reads(id);
        let operations = match graph.op(id) {
            Op::Const(_) | Op::Input { .. } => continue,
            Op::Lookup(..) | Op::LookupBytes(..) | Op::Entry { .. } | Op::Loaded(_) => vec![(work::WORD_LOAD, 1.0)],
            Op::Concat(parts) if parts.iter().all(is_token) => vec![(work::WORD_LOAD, 1.0)],
            // Constants are the places of tables, which addresses have anyway.
            Op::Concat(parts) => {
                let pieces = printing.pieces(parts);
                let moved = pieces.iter().filter(|piece| !matches!(piece, Piece::Const(_)));
                let shifted = pieces.iter().filter(|piece| matches!(piece, Piece::Moved { shift, .. } if *shift != 0));
                vec![(work::WORD, shifted.count() as f64 + (moved.count() as f64 - 1.0).max(0.0))]
            }
            // The top of a word is shifted, its lowest bytes are moved, others both.
            Op::Extract(of, lo) => {
                let (width, whole) = (graph.width(id), graph.width(*of));
                let at_once = *lo == 0 || lo + width == whole || (*lo, width) == (8, 8);
                vec![(work::WORD, if at_once { 1.0 } else { 2.0 })]
            }
            _ => vec![(work::WORD, (reads.len() as f64 - 1.0).max(1.0))],
        };
        let operands = reads.into_iter().filter(|id| !matches!(graph.op(*id), Op::Const(_) | Op::Input { .. }));
        trace.value(u64::from(id.0), operations, operands.map(|id| u64::from(id.0)));
    }
    let mut work = trace.work(WORD_REGISTERS, work::usual_weight);
    // Values of words that find no register are words.
    for (vector, word) in [(work::LOAD, work::WORD_LOAD), (work::STORE, work::WORD_STORE)] {
        if let Some(count) = work.operations.remove(vector) {
            work.add(word, count);
        }
    }
    let bits: u64 = body.produces.iter().map(|&(tokens, width)| tokens * u64::from(width)).sum();
    work.add(work::WORD_STORE, bits.div_ceil(WORD_BITS) as f64);
    work
}

/// A loop whose words of tokens have names that differ.
fn with_own_names(mut body: Loop, token_words: &[TokenWords]) -> Loop {
    for (number, words) in token_words.iter().enumerate() {
        body.objects[words.object.0 as usize].name = format!("words{number}_");
    }
    body
}

/// The definition of the array of words of tokens.
fn read_words(words: &TokenWords, body: &Loop) -> String {
    let TokenWords { object, port, first, bytes, big } = words;
    let Object { name, width, length, .. } = &body.objects[object.0 as usize];
    let order = if *big { "be" } else { "le" };
    let read = |at: &i64| format!("hr_{order}{}(in{port} + {at})", 8 * bytes);
    let all: Vec<String> = first.iter().map(read).collect();
    format!("    const {} {name}[{length}] = {{{}}};\n", element_type(*width), all.join(", "))
}

/// The definition of the array of what is kept, as it is before the first iteration.
fn declaration(kept: &Kept, body: &Loop, names: &dyn Names) -> String {
    let object = &body.objects[kept.object.0 as usize];
    let element = |index: usize| names.element(object, &index.to_string());
    if kept.in_word == 1 {
        let mut text = format!("  {} {}[{}];\n", element_type(object.width), kept.name, object.length);
        for &index in &kept.indices {
            let _ = writeln!(text, "  {}[{index}] = {};", kept.name, element(index));
        }
        return text;
    }
    let mut text = format!("  uint32_t {}[{}];\n", kept.name, object.length / 4);
    for word in kept.words() {
        let order = if kept.big { "be" } else { "le" };
        let _ = writeln!(text, "  {}[{word}] = hr_{order}32(&{});", kept.name, element(4 * word));
    }
    text
}

/// Stores what is kept after the last iteration.
fn store(kept: &Kept, body: &Loop, names: &dyn Names) -> String {
    let object = &body.objects[kept.object.0 as usize];
    let mut text = String::new();
    for word in kept.words() {
        let element = names.element(object, &(kept.in_word * word).to_string());
        if kept.in_word == 1 {
            let _ = writeln!(text, "  {element} = {}[{word}];", kept.name);
        } else {
            let order = if kept.big { "be" } else { "le" };
            let _ = writeln!(text, "  hr_put_{order}32(&{element}, {}[{word}]);", kept.name);
        }
    }
    text
}

struct IterationNames<'a> {
    names: &'a dyn Names,
    body: &'a Loop,
    kept: &'a [Kept],
    token_words: &'a [TokenWords],
}

impl Names for IterationNames<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("in{port}[{offset}]")
    }
    fn input_bytes(&self, port: u32, offset: i64, _n: u32) -> Option<String> {
        (self.body.consumes[port as usize].1 == 8).then(|| format!("in{port} + {offset}"))
    }
    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        format!("out{port}[{offset}] = {};", as_element(self.body.produces[port as usize].1, value))
    }
    fn output_bytes(&self, port: u32, offset: u64, _n: u32) -> Option<String> {
        (self.body.produces[port as usize].1 == 8).then(|| format!("out{port} + {offset}"))
    }
    fn element(&self, object: &Object, index: &str) -> String {
        let is_read = |words: &TokenWords| self.body.objects[words.object.0 as usize].name == object.name;
        if self.kept.iter().any(|kept| kept.name == object.name) || self.token_words.iter().any(is_read) {
            return format!("{}[{index}]", object.name);
        }
        self.names.element(object, index)
    }
    fn table(&self, table: TableId) -> String {
        self.names.table(table)
    }
    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String {
        self.names.check(condition, index, length, span)
    }
    fn instruction(&self, description: u32, operands: &[String]) -> String {
        self.names.instruction(description, operands)
    }
}
