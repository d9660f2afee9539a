//! Loop vectorisation with a register for each byte of a word: look-ups in tables of late content, in constant time. A
//! loop of words as one of bytes, with a lane of a vector for each iteration.
//!
//! What the context or the key makes of tables lies in tables of bytes that are filled first; elements are chosen from
//! them by permutations of bytes ([`byte_planes`](headrace_transform::passes::byte_planes)), so that no address depends
//! on an index.

use super::lanes::{lanes, lanes_after};
use super::loop_frame::{CFunction, LoopNames, Support};
use super::machine::{Machine, usual_costs};
use super::renamed::Renamed;
use super::sequential::sequential;
use super::tabulated::{TabulatedFunction, constant_tables, fillings, renamed};
use super::translation_validation::{TABLES, tables_agree};
use super::words::NotApplicable;
use headrace_transform::kernel::{Graph, Loop, NodeId, Op};
use headrace_transform::passes::byte_planes::{self, byte_planes};
use headrace_transform::passes::tabulate::{self, Built, Tabulated, built_tables};
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// Bits of a lane.
const BYTE: u32 = 8;

/// Iterations that processors have at work where few are run: their look-ups overlap.
const SIDE_BY_SIDE: u64 = 4;

/// Elements that an operation of vectors copies in the least width, as compilers put copies into vectors.
const COPIED: usize = 2;

/// Prints a loop with a register for each byte.
///
/// # Errors
///
/// Where no table is filled first, bytes are not chosen from registers, or lanes cannot be.
pub fn in_byte_planes(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<TabulatedFunction, NotApplicable> {
    if !machine.chooses_bytes() {
        return Err(NotApplicable("no bytes are chosen from several registers".into()));
    }
    let tabulated = planes_of(body).ok_or_else(|| NotApplicable("no table of late content becomes bytes".into()))?;
    tables_agree(body, &tabulated)?;
    let own = tabulated.body.objects.get(body.objects.len()..).unwrap_or_default();
    let inside = renamed(names, own);
    let filled = Filled::new(&tabulated, machine, names, &inside)?;
    let outside = LoopNames { names: &inside, ..*names };
    let function = lanes_after(&tabulated.body, machine, &outside, &filled.statements)?;
    let text = format!("{}{}{}", constant_tables(&tabulated, &inside), filled.function, function.text);
    let cycles = machine.costs.beside_look_ups(function.cycles);
    // A whole group is computed for however few iterations, and tables are filled before it.
    let group = f64::from(machine.vector_bits / BYTE) * cycles + filled.cycles;
    let alone = usual_costs().scalar_iterations(sequential(body, names).cycles, SIDE_BY_SIDE);
    let least_iterations = (group / alone.max(1.0)).ceil() as u64;
    let support = function.support.iter().chain(&filled.support);
    let support =
        support.enumerate().filter(|&(at, one)| !function.support[..at.min(function.support.len())].contains(one));
    let support = support.map(|(_, one)| one.clone()).collect();
    let size = function.size + filled.size;
    let function = CFunction { text, cycles, support, size, ..function }.shown_by(TABLES.iter().cloned());
    Ok(TabulatedFunction { function, least_iterations })
}

/// A loop of bytes, with what is filled first: what single bytes and the context make, and then the bytes of that.
fn planes_of(body: &Loop) -> Option<Tabulated> {
    let affine = tabulate::AFFINE_BYTES.on_loop(body);
    let body = affine.as_ref().unwrap_or(body);
    let keyed = tabulate::BUILT.tried(|| built_tables(body));
    let Tabulated { body, mut built } = keyed.unwrap_or_else(|| Tabulated { body: body.clone(), built: Vec::new() });
    let planes = byte_planes::PASS.tried(|| byte_planes(&body))?;
    built.extend(planes.built);
    (!built.is_empty()).then_some(Tabulated { body: planes.body, built })
}

/// What fills tables before the first iteration.
struct Filled {
    /// A function that the statements call.
    function: String,
    support: Vec<Support>,
    statements: String,
    cycles: f64,
    size: usize,
}

impl Filled {
    /// Tables whose elements are looked up at places that depend on the context are filled in lanes, by permutations of
    /// bytes like all else here; what stands at known places is copied.
    fn new(
        tabulated: &Tabulated,
        machine: &Machine,
        names: &LoopNames,
        inside: &Renamed,
    ) -> Result<Filled, NotApplicable> {
        let objects = &tabulated.body.objects;
        let (computed, copied): (Vec<Built>, Vec<Built>) =
            tabulated.built.iter().cloned().partition(|built| is_computed(tabulated, built));
        let is_byte = |built: &Built| {
            let [table, position] = [built.object, built.position].map(|object| &objects[object.0 as usize]);
            table.width == BYTE && position.width == BYTE
        };
        let mut filled =
            Filled { function: String::new(), support: Vec::new(), statements: String::new(), cycles: 0.0, size: 0 };
        if !computed.is_empty() {
            if !computed.iter().all(is_byte) {
                return Err(NotApplicable("tables that are computed first are none of 256 bytes".into()));
            }
            let body = filling(tabulated, &computed)
                .ok_or_else(|| NotApplicable("tables that are computed first need each other".into()))?;
            let function = format!("{}_filled", names.function);
            let inside = Renamed { names: names.names, tables: inside.tables.clone(), own: &[] };
            let printed = lanes(&body, machine, &LoopNames { function: &function, names: &inside, ..*names })?;
            let mut call = format!("  {function}(s, places_");
            for built in &computed {
                let table = &objects[built.object.0 as usize];
                let _ = writeln!(filled.statements, "  uint8_t {}[{}];", table.name, table.length);
                let _ = write!(call, ", {}", table.name);
            }
            let n = 1_usize << BYTE;
            let _ = write!(
                filled.statements,
                "  uint8_t places_[{n}];\n  for (unsigned i = 0; i < {n}; i++) places_[i] = (uint8_t)i;\n\
                 {call}, {n});\n"
            );
            filled.cycles += printed.cycles * n as f64;
            filled.function = printed.text;
            filled.support = printed.support;
            filled.size = printed.size;
        }
        let length = |built: &Built| objects[built.object.0 as usize].length;
        filled.cycles += machine.costs.lanes(copied.iter().map(length).sum::<usize>() / COPIED);
        let copies = Tabulated { body: tabulated.body.clone(), built: copied };
        filled.statements.push_str(&fillings(&copies, inside));
        Ok(filled)
    }
}

/// Whether an element of a table is looked up at a place that something else than its own place decides.
fn is_computed(tabulated: &Tabulated, built: &Built) -> bool {
    let graph = &tabulated.body.graph;
    let index = |id: NodeId| match graph.op(id) {
        Op::Entry { index, .. } | Op::Lookup(_, index) => Some(*index),
        _ => None,
    };
    let reads = |id: NodeId| match graph.op(id) {
        Op::Entry { object, .. } => *object != built.position,
        Op::Lookup(..) => true,
        _ => false,
    };
    let indices = graph.reachable([built.value]).into_iter().filter_map(index);
    graph.reachable(indices).into_iter().any(reads)
}

/// A loop whose iterations take places and make elements of tables, a port for each.
fn filling(tabulated: &Tabulated, built: &[Built]) -> Option<Loop> {
    let from = &tabulated.body;
    let mut graph = Graph::with_tables_of(&from.graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for id in from.graph.reachable(built.iter().map(|built| built.value)) {
        let value = match *from.graph.op(id) {
            Op::Entry { object, .. } if built.iter().any(|built| built.position == object) => {
                graph.input(0, 0, from.graph.width(id))
            }
            Op::Entry { object, .. } if tabulated.built.iter().any(|built| built.object == object) => return None,
            _ => graph.copy(&from.graph, id, &new)?,
        };
        new.insert(id, value);
    }
    let outputs = built.iter().enumerate().map(|(port, built)| Some((port as u32, 0, *new.get(&built.value)?)));
    Some(Loop {
        outputs: outputs.collect::<Option<_>>()?,
        graph,
        objects: from.objects.clone(),
        consumes: vec![(1, BYTE)],
        produces: vec![(1, BYTE); built.len()],
        carried: Vec::new(),
        counters: Vec::new(),
    })
}
