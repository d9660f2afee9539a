//! Scalar replacement of lists that are read and written at computed indices. Transitions that are repeated and read
//! and write lists of bytes at places that they compute.
//!
//! What is written as a byte and read as one soon after goes through memory, and so does all else, because any byte
//! that comes out may lie anywhere. So such lists are copied to words of the function for the time of many iterations,
//! which nothing else points to, and back. Where a place is a counter and a number, the counter's low bits are the same
//! in each iteration: as long as they are zero nothing is carried beyond them, and the place is a number from one that
//! the whole iteration has. Iterations are put together, which makes the low bits more: when they are all bits of the
//! counter, places are known before. It is known early then which elements that are read have been written just before,
//! and processors guess less about it.

use super::outlined_transitions::Identity;
use super::template::Template;
use super::{KernelNames, Writer};
use crate::c::kernel::{self, Names, element_type};
use headrace_source::Span;
use headrace_transform::control::{self, Repeated};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Effect, Graph, NodeId, Object, ObjectId, Op, TableId, Transition};
use headrace_transform::passes::canonical_form::Canonical;
use headrace_transform::passes::pass::BlockRef;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Bits of elements of the copies.
const WIDE: u32 = 32;

/// Elements that may be copied: the nearest memory holds them beside what else an iteration needs.
const MOST_ELEMENTS: usize = 2048;

/// How often elements are read and written for each one of a list before copies are worth while.
const USES: u64 = 10;

/// Effects of what is put together: as much as the nearest memory holds of instructions beside others.
const MOST_EFFECTS: usize = 1_600;

/// What runs iterations of transitions, by what it does.
#[derive(Default)]
pub(super) struct RepeatedFunctions {
    numbers: FxHashMap<Form, usize>,
    /// The functions, one after another.
    pub text: String,
    /// Their size, in operands.
    pub size: usize,
}

/// What a function of a plan does.
#[derive(PartialEq, Eq, Hash)]
struct Form {
    effects: Identity,
    consumes: Vec<u64>,
    produces: Vec<u64>,
    wide: BTreeSet<ObjectId>,
    /// The element that the counter is, and how many bits of it stay.
    near: Option<(ObjectId, u128, u32)>,
}

/// A way to run iterations of a transition.
struct Plan {
    graph: Graph,
    /// What is run at once.
    transition: Transition,
    /// Iterations of the network's transition that this is.
    n_iterations: u64,
    /// Lists of which there is a copy.
    wide: BTreeSet<ObjectId>,
    /// The counter near which elements of them lie.
    near: Option<Near>,
    /// From how many iterations on of the network's transition this is worth while.
    least_iterations: u64,
}

/// A counter of which low bits stay what they are.
#[derive(Clone, Copy)]
struct Near {
    object: ObjectId,
    index: u128,
    /// What it is when an iteration begins.
    entry: NodeId,
    /// How many bits stay.
    bits: u32,
    /// How many it has, or places are told by.
    width: u32,
}

impl Near {
    /// The number that is added to the counter, or to its low bits, for a place, and how many bits the sum has; `None`
    /// where it may be carried beyond the bits that are zero, and for other places.
    fn distance(self, graph: &Graph, index: NodeId) -> Option<(u32, u128)> {
        let mut node = index;
        if let Op::Concat(parts) = graph.op(node)
            && let [above, low] = parts[..]
            && graph.constant(above) == Some(0)
        {
            node = low;
        }
        let width = graph.width(node);
        let low_bits = |node: NodeId| match *graph.op(node) {
            Op::Extract(whole, 0) => whole,
            _ => node,
        };
        node = low_bits(node);
        let distance = match *graph.op(node) {
            _ if node == self.entry => 0,
            Op::Add(counter, number) if low_bits(counter) == self.entry => graph.constant(number)? & mask(width),
            _ => return None,
        };
        (distance <= mask(self.bits)).then_some((width, distance))
    }
}

impl Writer<'_> {
    /// Runs what is repeated in a state as often as tokens, room and counters allow, where that is often enough.
    pub(super) fn repeated(&self, repeated: &Repeated, state: usize, functions: &mut RepeatedFunctions) -> Template {
        let Some(plan) = Plan::of(&self.automaton.graph, &self.automaton.objects, repeated.transition) else {
            return Template::default();
        };
        let Some(function) = self.repeated_function(&plan, functions) else { return Template::default() };
        let transition = repeated.transition;
        let room = self.room(&transition.consumes, &transition.produces);
        let mut text = Template::from(room.text);
        text.push_str(&self.bounds(&self.automaton.graph, format!("{}_table", self.prefix), &repeated.trips));
        if plan.n_iterations > 1 {
            let _ = writeln!(text, "            iterations -= iterations % {};", plan.n_iterations);
        }
        let mut enough = format!("iterations >= {}", plan.least_iterations);
        if let Some(Near { object, index, bits, .. }) = plan.near {
            let name = &self.automaton.object(object).name;
            let _ = write!(enough, " && (s->{name}[{index}] & {:#x}u) == 0", mask(bits));
        }
        let call = match plan.n_iterations {
            1 => format!("{function}(s{}{}, iterations)", room.inputs, room.outputs),
            n => format!("{function}(s{}{}, iterations / {n})", room.inputs, room.outputs),
        };
        let _ = write!(text, "            if ({enough}) {{\n                {call};\n{}                ", room.takes);
        text.append(self.go_to(state, ""));
        text.push_str("\n            }\n        }\n");
        text
    }

    /// The name of a function that runs a plan; `None` where not all of it can be printed with copies.
    fn repeated_function(&self, plan: &Plan, functions: &mut RepeatedFunctions) -> Option<String> {
        // Tables that only several iterations have are not there.
        if plan.graph.tables().len() > self.automaton.graph.tables().len() {
            return None;
        }
        let prefix = self.prefix;
        let mut objects = self.automaton.objects.clone();
        for &id in &plan.wide {
            objects[id.0 as usize].width = WIDE;
        }
        let names = WideNames { inner: self.names(Vec::new()), plan, objects: &self.automaton.objects };
        let transition = &plan.transition;
        let effects = headrace_transform::statements::outputs_early(&plan.graph, &transition.effects);
        let statements = kernel::statements(&plan.graph, &objects, &effects, &names, 4);
        let (mut parameters, mut next) = (format!("struct {prefix} *s"), String::new());
        for (n, port) in transition.consumes.iter().zip(&self.network.inputs).filter(|(n, _)| **n > 0) {
            let _ = write!(parameters, ", const {} *in_{}", element_type(port.ty.width()), port.name);
            let _ = writeln!(next, "        in_{} += {n};", port.name);
        }
        for (n, port) in transition.produces.iter().zip(&self.network.outputs).filter(|(n, _)| **n > 0) {
            let _ = write!(parameters, ", {} *out_{}", element_type(port.ty.width()), port.name);
            let _ = writeln!(next, "        out_{} += {n};", port.name);
        }
        let (mut begin, mut end, mut near) = (String::new(), String::new(), String::new());
        for &id in &plan.wide {
            let Object { name, width, length, .. } = self.automaton.object(id);
            let (wide, narrow) = (element_type(WIDE), element_type(*width));
            let each = format!("    for (size_t at_ = 0; at_ < {length}; at_++) {{\n        ");
            let _ =
                write!(begin, "    {wide} wide_{name}[{length}];\n{each}wide_{name}[at_] = s->{name}[at_];\n    }}\n");
            let _ = write!(
                end,
                "{each}s->{name}[at_] = ({narrow})wide_{name}[at_];\n    }}\n    hr_wipe(wide_{name}, sizeof wide_{name});\n"
            );
            for bits in plan.sums(id) {
                let Some(Near { object, index, .. }) = plan.near.filter(|near| near.bits < bits) else { continue };
                let counter = &self.automaton.object(object).name;
                let _ = writeln!(
                    near,
                    "        {wide} *const near{bits}_{name} = wide_{name} + (s->{counter}[{index}] & {:#x}u);",
                    mask(bits)
                );
            }
        }
        let body =
            format!("{begin}    for (; iterations != 0; iterations--) {{\n{near}{statements}{next}    }}\n{end}");
        let n = functions.numbers.len();
        let number = *functions.numbers.entry(plan.form(&self.automaton.objects)).or_insert(n);
        let name = format!("{prefix}_repeated_{number}");
        if number == n {
            functions.size += headrace_transform::statements::size(&plan.graph, &effects);
            let _ = write!(
                functions.text,
                "/* Iterations of a transition; lists that it changes at places which it computes are copied meanwhile. */\nHR_APART static void {name}({parameters}, size_t iterations) {{\n{body}}}\n\n"
            );
        }
        Some(name)
    }
}

impl Plan {
    fn of(graph: &Graph, objects: &[Object], transition: &Transition) -> Option<Plan> {
        let wide = changed(graph, objects, transition);
        let n_elements: usize = wide.iter().map(|id| objects[id.0 as usize].length).sum();
        if wide.is_empty() || n_elements > MOST_ELEMENTS {
            return None;
        }
        let uses = |id: &ObjectId| places(graph, transition).filter(|(object, _)| object == id).count() as u64;
        let n_uses = wide.iter().map(uses).sum::<u64>().max(1);
        let least_iterations = (USES * n_elements as u64).div_ceil(n_uses).max(2);
        let one = Plan {
            graph: graph.clone(),
            transition: transition.clone(),
            n_iterations: 1,
            wide,
            near: None,
            least_iterations,
        };
        Some(one.with_several(objects))
    }

    /// What tells its function from those of others.
    fn form(&self, objects: &[Object]) -> Form {
        let Transition { effects, consumes, produces } = &self.transition;
        let block = BlockRef { graph: &self.graph, objects, effects, n_indexed: objects.len(), filled: &[] };
        Form {
            effects: Canonical::of_block(block).into(),
            consumes: consumes.clone(),
            produces: produces.clone(),
            wide: self.wide.clone(),
            near: self.near.map(|near| (near.object, near.index, near.bits)),
        }
    }

    /// As many iterations at once as there may be, until no bit of a counter changes.
    fn with_several(self, objects: &[Object]) -> Plan {
        let mut best = Plan { near: self.nearest(), ..self };
        let one =
            Plan { graph: best.graph.clone(), transition: best.transition.clone(), wide: best.wide.clone(), ..best };
        let mut n_iterations = 1;
        while best.near.is_none_or(|near| near.bits < near.width) && !counters(&one.graph, &one.transition).is_empty() {
            n_iterations *= 2;
            let mut graph = one.graph.clone();
            let Some(transition) = control::together(&mut graph, objects, &one.transition, n_iterations) else { break };
            if transition.effects.len() > MOST_EFFECTS {
                break;
            }
            let plan = Plan { graph, transition, n_iterations, wide: one.wide.clone(), ..one };
            if let Some(near) = plan.nearest() {
                best = Plan { near: Some(near), ..plan };
            }
        }
        best
    }

    /// The counter near which most elements lie, if there are some.
    fn nearest(&self) -> Option<Near> {
        let counters = counters(&self.graph, &self.transition).into_iter().filter(|near| near.bits > 0);
        let n_near = |near: &Near| {
            let of_wide = places(&self.graph, &self.transition).filter(|(object, _)| self.wide.contains(object));
            of_wide.filter(|&(_, index)| near.distance(&self.graph, index).is_some()).count()
        };
        let best = counters.map(|near| (n_near(&near), near)).max_by_key(|(n, _)| *n);
        let (_, mut near) = best.filter(|(n, _)| *n > 0)?;
        // Bits that no place is told by may be what they are.
        let of_wide = places(&self.graph, &self.transition).filter(|(object, _)| self.wide.contains(object));
        let widths = of_wide.filter_map(|(_, index)| Some(near.distance(&self.graph, index)?.0));
        near.width = widths.max()?.min(near.width);
        near.bits = near.bits.min(near.width);
        Some(near)
    }

    /// Of how many bits the sums are near which elements of a list lie.
    fn sums(&self, list: ObjectId) -> BTreeSet<u32> {
        let Some(near) = self.near else { return BTreeSet::new() };
        let of_list = places(&self.graph, &self.transition).filter(|(object, _)| *object == list);
        of_list.filter_map(|(_, index)| Some(near.distance(&self.graph, index)?.0)).collect()
    }
}

/// Elements that a transition reads and writes at places that are not known: its effects, and what it reads before
/// them.
fn places<'a>(graph: &'a Graph, transition: &'a Transition) -> impl Iterator<Item = (ObjectId, NodeId)> + 'a {
    let effects = transition.effects.iter().filter_map(|effect| match effect {
        Effect::Load { object, index, .. } | Effect::Store { object, index, .. } => Some((*object, *index)),
        _ => None,
    });
    let entries = graph.reachable(transition.effects.iter().flat_map(Effect::uses)).into_iter();
    let entries = entries.filter_map(|id| match graph.op(id) {
        Op::Entry { object, index } => Some((*object, *index)),
        _ => None,
    });
    effects.chain(entries).filter(|(_, index)| graph.constant(*index).is_none())
}

/// Lists of narrow elements that a transition both reads and writes at places that are not known.
fn changed(graph: &Graph, objects: &[Object], transition: &Transition) -> BTreeSet<ObjectId> {
    let written: BTreeSet<ObjectId> = (transition.effects.iter())
        .filter_map(|effect| match effect {
            Effect::Store { object, index, .. } if graph.constant(*index).is_none() => Some(*object),
            _ => None,
        })
        .collect();
    let is_narrow = |object: &Object| object.persistent && matches!(object.width, 5..=16);
    let is_read = |id: ObjectId| {
        let n_stores = transition.effects.iter().filter(|effect| matches!(effect, Effect::Store { object, index, .. } if *object == id && graph.constant(*index).is_none())).count();
        places(graph, transition).filter(|(object, _)| *object == id).count() > n_stores
    };
    written.into_iter().filter(|&id| is_narrow(&objects[id.0 as usize]) && is_read(id)).collect()
}

/// Elements at known places to which a transition adds a number, of which low bits stay.
fn counters(graph: &Graph, transition: &Transition) -> Vec<Near> {
    // The last store to an element says what it is after the iteration.
    let mut stores: BTreeMap<(ObjectId, u128), NodeId> = BTreeMap::new();
    let mut elsewhere: BTreeSet<ObjectId> = BTreeSet::new();
    for effect in &transition.effects {
        if let Effect::Store { object, index, value } = effect {
            match graph.constant(*index) {
                Some(at) => {
                    stores.insert((*object, at), *value);
                }
                None => {
                    elsewhere.insert(*object);
                }
            }
        }
    }
    let counters = stores.into_iter().filter(|((object, _), _)| !elsewhere.contains(object));
    let counters = counters.filter_map(|((object, index), next)| {
        // Where it has come round, nothing is added.
        let (entry, step) = match *graph.op(next) {
            Op::Add(entry, step) => (entry, graph.constant(step)?),
            _ => (next, 0),
        };
        let Op::Entry { object: own, index: at } = *graph.op(entry) else { return None };
        let width = graph.width(entry);
        let bits = step.trailing_zeros().min(width);
        let is_own = own == object && graph.constant(at) == Some(index);
        (is_own && width <= 32).then_some(Near { object, index, entry, bits, width })
    });
    counters.collect()
}

/// Names of a transition of which some lists are copies.
struct WideNames<'a> {
    inner: KernelNames<'a>,
    plan: &'a Plan,
    /// As they are in the context.
    objects: &'a [Object],
}

impl Names for WideNames<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        self.inner.input(port, offset)
    }

    fn input_bytes(&self, port: u32, offset: i64, n: u32) -> Option<String> {
        self.inner.input_bytes(port, offset, n)
    }

    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        self.inner.output(port, offset, value)
    }

    fn output_bytes(&self, port: u32, offset: u64, n: u32) -> Option<String> {
        self.inner.output_bytes(port, offset, n)
    }

    fn element(&self, object: &Object, index: &str) -> String {
        if self.plan.wide.iter().any(|id| self.objects[id.0 as usize].name == object.name) {
            return format!("wide_{}[{index}]", object.name);
        }
        self.inner.element(object, index)
    }

    fn element_near(&self, object: ObjectId, index: NodeId) -> Option<String> {
        if !self.plan.wide.contains(&object) {
            return None;
        }
        let near = self.plan.near?;
        let (bits, distance) = near.distance(&self.plan.graph, index)?;
        let name = &self.objects[object.0 as usize].name;
        // Where all bits of the sum are zero the place is known.
        let from = if bits <= near.bits { format!("wide_{name}") } else { format!("near{bits}_{name}") };
        Some(format!("{from}[{distance}]"))
    }

    fn table(&self, table: TableId) -> String {
        self.inner.table(table)
    }

    fn check(&self, condition: &str, index: &str, length: usize, span: Span) -> String {
        self.inner.check(condition, index, length, span)
    }
}
