//! What multi-buffer loops have in common, whatever they hold messages in: the head of a function, what is gathered before
//! the first iteration and left behind the last, and one iteration as a loop of its own.

use super::loop_frame::{CFunction, LoopNames, counter_bounds, counter_ends, delay_ends};
use super::machine::Needs;
use super::scalar::element_type;
use super::words::{Layout, NotApplicable};
use headrace_transform::kernel::{Graph, Loop, NodeId, ObjectId, Op};
use headrace_transform::passes::canonicalize_loop::needed;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A way to run iterations of many messages.
#[derive(Clone, Debug)]
pub struct Many {
    /// The function; its cycles are those of an iteration of all lanes.
    pub function: CFunction,
    /// Messages at once.
    pub lanes: usize,
    /// What tells it from the other ways to run the loop: the end of its name.
    pub way: String,
    /// Where it can be called.
    pub needs: Needs,
}

impl Many {
    /// Cycles of an iteration of each of so many messages.
    pub fn cycles_for(&self, count: usize) -> f64 {
        self.function.cycles * count.div_ceil(self.lanes) as f64
    }
}

/// What a function does before the first iteration.
pub(super) struct Gathered {
    /// Once.
    pub once: String,
    /// Where `s` is the context of message `i`.
    pub each: String,
}

/// The head of a function: parameters, the opening brace, and for each message pointers `iPORT_` and `oPORT_` to bytes.
pub(super) fn head(body: &Loop, attribute: &str, names: &LoopNames, lanes: usize, gathered: &Gathered) -> String {
    let Gathered { once, each } = gathered;
    let mut text = format!("{attribute}static void {}({} *const *states", names.function, names.state);
    let (mut pointers, mut set) = (String::new(), String::new());
    for (port, &(_, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
        let _ = write!(text, ", const {} *const *in{port}", element_type(width));
        let _ = writeln!(pointers, "  const uint8_t *i{port}_[{lanes}];");
        let _ = writeln!(set, "    i{port}_[i] = (const uint8_t *)in{port}[i < count ? i : 0];");
    }
    for (port, &(_, width)) in body.produces.iter().enumerate().filter(|(_, port)| port.0 > 0) {
        let _ = write!(text, ", {} *const *out{port}", element_type(width));
        let _ = writeln!(pointers, "  uint8_t *o{port}_[{lanes}];");
        let _ = writeln!(set, "    o{port}_[i] = (uint8_t *)out{port}[i < count ? i : 0];");
    }
    let _ = write!(
        text,
        ", size_t count, size_t iterations)\n{{\n{pointers}{once}  for (size_t i = 0; i < {lanes}; i++) {{\n    {} *const s = states[i < count ? i : 0];\n    (void)s;\n{set}{each}  }}\n",
        names.state
    );
    text
}

/// A loop of which an iteration is all that a message needs: elements come as tokens of further ports, and carried ones
/// go.
pub(super) struct OneIteration {
    /// The loop, with independent iterations.
    pub body: Loop,
    /// What stands on the ports after those of the network.
    pub held: Vec<Held>,
    /// How many of [`OneIteration::held`] are carried: they come first, and go out again in the same order.
    pub n_carried: usize,
}

/// Elements of one size that lie together as tokens of a port.
pub(super) struct Held {
    /// Where they come from.
    pub places: Vec<(ObjectId, usize)>,
    /// How they lie as tokens.
    pub layout: Layout,
}

/// What iterations leave in the context `s` of message `i` that no iteration needs: counters, and tokens of the last
/// iteration.
pub(super) fn leftovers(body: &Loop, names: &LoopNames) -> String {
    let mut text = counter_bounds(body, names.names);
    text.push_str(&counter_ends(body, names.names));
    let delays = delay_ends(body, names.names);
    if !delays.is_empty() {
        for (port, &(tokens, width)) in body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let ty = element_type(width);
            let bytes = Layout::new((tokens, width)).bytes();
            let _ = writeln!(
                text,
                "  const {ty} *const last{port}_ = (const {ty} *)(i{port}_[i] + (iterations - 1) * {bytes});"
            );
        }
    }
    text + &delays
}

impl OneIteration {
    /// # Errors
    ///
    /// Elements at places that are not known.
    pub fn new(body: &Loop) -> Result<OneIteration, NotApplicable> {
        let carried = needed(body);
        let mut places: BTreeSet<(ObjectId, usize)> = carried.keys().copied().collect();
        let roots = body.outputs.iter().map(|output| output.2).chain(carried.values().copied());
        let order = body.graph.reachable(roots);
        for &id in &order {
            let Op::Entry { object, index } = body.graph.op(id) else { continue };
            let index = body.graph.constant(*index);
            let index = index.ok_or_else(|| NotApplicable("an element is read at a place that is not known".into()))?;
            places.insert((*object, index as usize));
        }
        let bytes = |object: ObjectId| Layout::new((1, body.objects[object.0 as usize].width)).token_bytes;
        let mut groups: BTreeMap<(bool, u32), Vec<(ObjectId, usize)>> = BTreeMap::new();
        for place in places {
            groups.entry((!carried.contains_key(&place), bytes(place.0))).or_default().push(place);
        }
        let n_carried = groups.keys().filter(|(constant, _)| !constant).count();
        let held: Vec<Held> = groups
            .into_iter()
            .map(|((_, bytes), places)| {
                let layout = Layout::new((places.len() as u64, 8 * bytes));
                Held { places, layout }
            })
            .collect();
        let mut graph = Graph::with_tables_of(&body.graph);
        let first = body.consumes.len();
        let tokens: FxHashMap<(ObjectId, usize), (u32, i64)> = held
            .iter()
            .enumerate()
            .flat_map(|(n, held)| {
                held.places.iter().enumerate().map(move |(at, &place)| (place, ((first + n) as u32, at as i64)))
            })
            .collect();
        let mut known: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in order {
            let (op, width) = (body.graph.op(id), body.graph.width(id));
            let place = match op {
                Op::Entry { object, index } => body.graph.constant(*index).map(|index| (*object, index as usize)),
                _ => None,
            };
            let new = match (op, place.and_then(|place| tokens.get(&place))) {
                (_, Some(&(port, at))) => {
                    let token = graph.input(port, at, held[port as usize - first].layout.width);
                    graph.extract(token, 0, width)
                }
                _ => {
                    let operands: Vec<NodeId> = op.operands().iter().map(|operand| known[operand]).collect();
                    graph.rebuild(op, width, &operands)
                }
            };
            known.insert(id, new);
        }
        let mut outputs: Vec<(u32, u64, NodeId)> =
            body.outputs.iter().map(|&(port, at, value)| (port, at, known[&value])).collect();
        let (mut consumes, mut produces) = (body.consumes.clone(), body.produces.clone());
        consumes.extend(held.iter().map(|held| (held.layout.tokens, held.layout.width)));
        for (n, held) in held[..n_carried].iter().enumerate() {
            let port = (body.produces.len() + n) as u32;
            for (at, place) in held.places.iter().enumerate() {
                let value = graph.zero_extend(known[&carried[place]], held.layout.width);
                outputs.push((port, at as u64, value));
            }
            produces.push((held.layout.tokens, held.layout.width));
        }
        let objects = body.objects.clone();
        let body = Loop { graph, objects, consumes, produces, outputs, carried: Vec::new(), counters: Vec::new() };
        Ok(OneIteration { body, held, n_carried })
    }
}

impl Held {
    /// Elements that lie one beside the other: where the first stands among the tokens, its place, and how many.
    pub fn runs(&self) -> Vec<(usize, (ObjectId, usize), usize)> {
        let mut runs: Vec<(usize, (ObjectId, usize), usize)> = Vec::new();
        for (at, &(object, index)) in self.places.iter().enumerate() {
            match runs.last_mut() {
                Some((_, (last, first), n)) if *last == object && *first + *n == index => *n += 1,
                _ => runs.push((at, (object, index), 1)),
            }
        }
        runs
    }
}
