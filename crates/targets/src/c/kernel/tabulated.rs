//! Tabulated loops: T-tables, filled when the loop begins. A loop with tables of what depends on single bytes, some of
//! them filled when it begins, and iterations that need not wait for each other side by side.

use super::lanes::{lanes, lanes_after};
use super::loop_frame::{CFunction, LoopNames, head};
use super::machine::{Machine, usual_costs};
use super::renamed::Renamed;
use super::scalar::{element_type, statements, tables};
use super::sequential::{Block, iterations_block, sequential};
use super::translation_validation::{TABLES, tables_agree};
use super::words::NotApplicable;
use super::work::Work;
use headrace_transform::kernel::evidence::agree;
use headrace_transform::kernel::{Effect, Loop, Object};
use headrace_transform::passes::tabulate::{self, Built, Tabulated, built_tables, tabulate};
use headrace_transform::passes::unroll_and_interleave::{self, unroll_and_interleave};
use std::fmt::Write as _;

/// Bits of tokens of the iterations that stand side by side, and most iterations.
const BITS_TOGETHER: u64 = 256;
const MOST_ITERATIONS: u64 = 4;

/// Nodes of an iteration of which several stand side by side.
const MOST_NODES: usize = 2000;

/// A loop with tables.
pub struct TabulatedFunction {
    /// The function.
    pub function: CFunction,
    /// As many iterations are worth filling the tables; 0 where there are none to fill.
    pub least_iterations: u64,
}

/// Prints a loop with tables.
///
/// # Errors
///
/// Where nothing is gained.
pub fn tabulated(body: &Loop, names: &LoopNames) -> Result<TabulatedFunction, NotApplicable> {
    let found = tabulate::PASS.tried(|| tabulate(body));
    if found.is_none() && !body.is_independent() {
        return Err(NotApplicable("iterations need each other, and nothing depends on single bytes".into()));
    }
    let tabulated = found.unwrap_or_else(|| Tabulated { body: body.clone(), built: Vec::new() });
    tables_agree(body, &tabulated)?;
    let outer = body;
    let own = tabulated.body.objects.get(body.objects.len()..).unwrap_or_default();
    let inside = renamed(names, own);
    let body = &tabulated.body;
    let mut text = constant_tables(&tabulated, &inside);
    // Where it is called, registers are short.
    text.push_str("__attribute__((noinline)) ");
    text.push_str(&head(body, None, names));
    text.push_str(&fillings(&tabulated, &inside));
    let bits: u64 = body.consumes.iter().map(|&(tokens, width)| tokens * u64::from(width)).sum();
    let n = (BITS_TOGETHER / bits.max(1)).clamp(1, MOST_ITERATIONS);
    let Block { text: one, cycles, size, work } = iterations_block(body, &inside, &format!("iterations % {n}"), false);
    let side_by_side = n > 1 && body.is_independent() && body.graph.reachable(body.roots()).len() <= MOST_NODES;
    let together =
        if side_by_side { unroll_and_interleave::PASS.tried(|| unroll_and_interleave(body, n)) } else { None };
    let together = together.filter(|several| agree(body, several, n, &|_, _| 0, &|_| {}));
    let (cycles, size, work) = match together {
        Some(several) => {
            let block = iterations_block(&several, &inside, &format!("iterations / {n}"), true);
            let _ = writeln!(text, "  {{\n{}  }}\n  {{\n{one}  }}\n}}", block.text);
            (usual_costs().scalar_iterations(cycles, n), size + block.size, block.work.of_group(n as f64))
        }
        None => {
            let block = iterations_block(body, &inside, "iterations", false);
            let _ = writeln!(text, "{}}}", block.text);
            (cycles, block.size, work.of_group(1.0))
        }
    };
    let name = names.function.to_owned();
    let evidence = sequential(outer, names).evidence;
    let work = Work { is_carried: !outer.is_independent(), ..work };
    let function = CFunction { name, support: Vec::new(), text, cycles, size, evidence, work };
    let function = function.shown_by(TABLES.iter().cloned());
    Ok(TabulatedFunction { function, least_iterations: least_iterations(&tabulated) })
}

/// Prints a loop with tables that are filled when it begins and read by many lanes at once.
///
/// # Errors
///
/// Where there are none, or lanes cannot be.
pub fn tabulated_lanes(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<TabulatedFunction, NotApplicable> {
    let affine = if machine.affine { tabulate::AFFINE_BYTES.on_loop(body) } else { None };
    let tabulated = tabulate::BUILT
        .tried(|| built_tables(affine.as_ref().unwrap_or(body)))
        .ok_or_else(|| NotApplicable("nothing depends on single bytes and what stays".into()))?;
    tables_agree(body, &tabulated)?;
    let own = tabulated.body.objects.get(body.objects.len()..).unwrap_or_default();
    let inside = renamed(names, own);
    let before = fillings(&tabulated, &inside);
    let outside = LoopNames { names: &inside, ..*names };
    let function = lanes_after(&tabulated.body, machine, &outside, &before)?;
    let text = format!("{}{}", constant_tables(&tabulated, &inside), function.text);
    let function = CFunction { text, ..function }.shown_by(TABLES.iter().cloned());
    Ok(TabulatedFunction { function, least_iterations: least_iterations(&tabulated) })
}

/// Prints a loop whose long functions of single bytes are tables that lie in registers: no address depends on an index.
///
/// # Errors
///
/// Where there are none, the machine cannot choose from so many registers, or lanes cannot be.
pub(super) fn tables_in_registers(
    body: &Loop,
    machine: &Machine,
    names: &LoopNames,
) -> Result<CFunction, NotApplicable> {
    if !machine.chooses_bytes() {
        return Err(NotApplicable("no bytes are chosen from several registers".into()));
    }
    let found = tabulate::BITWISE_WINDOWS.on_loop(body);
    let found = found.ok_or_else(|| NotApplicable("no long functions of single bytes".into()))?;
    let tabulated = Tabulated { body: found, built: Vec::new() };
    tables_agree(body, &tabulated)?;
    let inside = renamed(names, &[]);
    let function = lanes(&tabulated.body, machine, &LoopNames { names: &inside, ..*names })?;
    let text = format!("{}{}", constant_tables(&tabulated, &inside), function.text);
    let cycles = machine.costs.beside_look_ups(function.cycles);
    Ok(CFunction { text, cycles, ..function }.shown_by(TABLES.iter().cloned()))
}

fn least_iterations(tabulated: &Tabulated) -> u64 {
    let length = |built: &Built| tabulated.body.objects[built.object.0 as usize].length as u64;
    tabulated.built.iter().map(length).sum::<u64>() / 16
}

/// Names with tables of the function, and `own` as its local variables.
pub(super) fn renamed<'a>(names: &LoopNames<'a>, own: &'a [Object]) -> Renamed<'a> {
    Renamed { names: names.names, tables: format!("{}_table", names.function), own }
}

/// Definitions of constant tables.
pub(super) fn constant_tables(tabulated: &Tabulated, names: &Renamed) -> String {
    let mut roots = tabulated.body.roots();
    roots.extend(tabulated.built.iter().map(|built| built.value));
    tables(&tabulated.body.graph, &roots, names)
}

/// Statements that fill tables.
pub(super) fn fillings(tabulated: &Tabulated, names: &Renamed) -> String {
    let body = &tabulated.body;
    let mut text = String::new();
    for built in &tabulated.built {
        let object = &body.objects[built.object.0 as usize];
        let position = &body.objects[built.position.0 as usize];
        let mut graph = body.graph.clone();
        let zero = graph.number(0, 64);
        let index = graph.entry(built.position, zero, position.width);
        let store = Effect::Store { object: built.object, index, value: built.value };
        let _ = writeln!(
            text,
            "  {0} {1}[{2}];\n  for (unsigned {3} = 0; {3} < {2}; {3}++) {{",
            element_type(object.width),
            object.name,
            object.length,
            position.name
        );
        text.push_str(&statements(&graph, &body.objects, &[store], names, 2));
        text.push_str("  }\n");
    }
    text
}
