//! Sequential loops: scalar code, carried values in registers. A loop whose iterations run one after the other, each as
//! scalar statements.
//!
//! What goes from iteration to iteration is kept in local arrays, which compilers turn into registers.

use super::loop_frame::{CFunction, LoopNames, head};
use super::scalar::{as_element, element_type, statements_in_order};
use super::{Names, Outside};
use headrace_source::Span;
use headrace_transform::kernel::{Block, Effect, Evidence, Loop, Object, TableId};
use headrace_transform::passes::pass::BlockRef;
use headrace_transform::passes::pipelines::SCALAR_ITERATION;
use headrace_transform::statements::{Iterations, Kept};
use rustc_hash::FxHashSet;
use std::fmt::Write as _;

/// Cycles that an operation is taken for, many of which run at once.
const SCALAR_OPERATION: f64 = 0.3;

/// Bytes of statements from which on compilers are told to leave iterations one by one: putting those side by side
/// takes them minutes, and nothing is gained by it.
const LONG: usize = 60_000;

/// What iterations are held to.
const TESTED: Evidence =
    Evidence::Test { what: "statements", test: "crates/targets/tests/kernel_loops.rs iterations_do_what_loops_mean" };

/// Prints a loop iteration after iteration.
pub fn sequential(body: &Loop, names: &LoopNames) -> CFunction {
    let (block, cycles) = iterations_block(body, names.names, "iterations", false);
    let own = if block.len() > LONG { "HR_SCALAR " } else { "" };
    let text = format!("{own}{}{block}}}\n", head(body, None, names));
    CFunction { name: names.function.to_owned(), support: Vec::new(), text, cycles, evidence: vec![TESTED] }
}

/// Statements that do as many iterations as an expression says and leave pointers behind them, and estimated cycles of
/// an iteration; `by_number`: values are computed in the order of the graph.
pub(super) fn iterations_block(body: &Loop, names: &dyn Names, n_iterations: &str, by_number: bool) -> (String, f64) {
    let Iterations { graph, kept: all_kept, objects, effects } = Iterations::of(body);
    let block = Block { graph, objects, effects, n_indexed: body.objects.len(), filled: Vec::new() };
    let better = SCALAR_ITERATION.on_block(BlockRef::of(&block), &[]);
    let Block { graph, objects, effects, .. } = better.unwrap_or(block);
    let outside = IterationNames { names, body, kept: &all_kept };
    let mut text = String::new();
    for kept in &all_kept {
        text.push_str(&declaration(kept, body, names));
    }
    let statements = statements_in_order(&graph, &objects, &effects, &outside, 2, by_number);
    if statements.len() > LONG {
        text.push_str("  HR_ONE_BY_ONE\n");
    }
    let _ = writeln!(text, "  for (size_t n_ = {n_iterations}; n_ != 0; n_--) {{");
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
    let operations: usize = Effect::needed(&effects, &graph).into_iter().map(|id| printing.reads(id).len()).sum();
    (text, operations as f64 * SCALAR_OPERATION)
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
        if self.kept.iter().any(|kept| kept.name == object.name) {
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
