//! Loop distribution (loop fission): one loop becomes two, one whose iterations are independent of each other and one
//! with all loop-carried dependences.
//!
//! The first makes all tokens; the second has what goes on from iteration to iteration, and reads tokens that the first
//! has made instead of making them again. Example: a stream cipher, and the authenticator of what it enciphers. The
//! first can then run in any of the ways that independent iterations have.
//!
//! Requires: nothing that the first needs goes on from iteration to iteration but by counters and delays, and the
//! second needs none of these. Establishes: [`Loop::is_independent`] of the first; the second has no output ports, and
//! as many input ports more as the loop has output ports: on them come the tokens of these.

use super::pass::{Form, ITERATIONS, Parts, Pass, Property, boxed, leaves_the_same};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::{Carried, Carry, Graph, Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "distribution",
    about: "Makes two loops of one: what makes tokens, and what goes on from iteration to iteration",
    requires: &[Property::Dependent],
    establishes: &[Property::Independent],
    gives_up: &[],
    form: Form::Parts(|body| distribute(body).map(boxed)),
};

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 20_000;

/// A loop as two that run one after the other, over the same tokens.
#[derive(Clone, Debug)]
pub struct Distributed {
    /// What makes the tokens.
    pub independent: Loop,
    /// What goes on from iteration to iteration.
    pub serial: Loop,
    /// Whether that reads tokens which the first makes, and not those of the input. It then runs behind it, else before
    /// it: either order is right where output takes the place of input. A loop that needs both is not distributed.
    pub reads_output: bool,
}

/// Distributes a loop, if it makes tokens without what goes on from iteration to iteration.
pub fn distribute(body: &Loop) -> Option<Distributed> {
    if body.graph.len() > MOST_NODES || body.is_independent() || body.outputs.is_empty() {
        return None;
    }
    let is_serial = |one: &&Carried| one.carry == Carry::True;
    let serial: Vec<Carried> = body.carried.iter().filter(is_serial).cloned().collect();
    let independent =
        Loop { carried: body.carried.iter().filter(|one| !is_serial(one)).cloned().collect(), ..body.clone() };
    let changed =
        |list: &[Carried]| -> FxHashSet<(ObjectId, usize)> { list.iter().map(|one| (one.object, one.index)).collect() };
    let reads = |id: NodeId, elements: &FxHashSet<(ObjectId, usize)>| match body.graph.op(id) {
        Op::Entry { object, index } => match body.graph.constant(*index) {
            Some(at) => elements.contains(&(*object, at as usize)),
            None => elements.iter().any(|element| element.0 == *object),
        },
        Op::Loaded(_) => true,
        _ => false,
    };
    let of_serial = changed(&serial);
    if independent.needed().into_iter().any(|id| reads(id, &of_serial)) {
        return None;
    }
    let made = Made::of(body);
    let roots: Vec<NodeId> = serial.iter().map(|one| one.next).collect();
    let order = made.ordered(&body.graph, &roots);
    let of_independent = changed(&independent.carried);
    if order.iter().any(|&id| made.tokens(id).is_empty() && reads(id, &of_independent)) {
        return None;
    }
    let read: FxHashSet<usize> = order.iter().flat_map(|&id| made.tokens(id)).map(|token| token.0).collect();
    let input = |&id: &NodeId| match body.graph.op(id) {
        Op::Input { port, .. } if made.tokens(id).is_empty() => Some(*port as usize),
        _ => None,
    };
    let from_outside: FxHashSet<usize> = order.iter().filter_map(input).collect();
    if !read.is_empty() && !from_outside.is_empty() {
        return None;
    }
    let ports = |all: &[(u64, u32)], used: &FxHashSet<usize>| -> Vec<(u64, u32)> {
        all.iter().enumerate().map(|(port, &(n, width))| (if used.contains(&port) { n } else { 0 }, width)).collect()
    };
    let mut consumes = ports(&body.consumes, &from_outside);
    let n_inputs = consumes.len();
    consumes.extend(ports(&body.produces, &read));
    let mut graph = Graph::with_tables_of(&body.graph);
    let mut new: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    for id in order {
        let mut parts: Vec<NodeId> = Vec::new();
        for &(port, offset) in made.tokens(id) {
            let width = body.produces[port].1;
            parts.push(graph.input((n_inputs + port) as u32, offset as i64, width));
        }
        parts.reverse();
        let node = if parts.is_empty() { graph.copy(&body.graph, id, &new)? } else { graph.concat(&parts) };
        new.insert(id, node);
    }
    let rest = Loop {
        consumes,
        produces: ports(&body.produces, &FxHashSet::default()),
        outputs: Vec::new(),
        carried: serial,
        counters: Vec::new(),
        ..body.clone()
    };
    let serial = rest.moved(graph, &new)?;
    Some(Distributed { independent: independent.with_own_counters(), serial, reads_output: !read.is_empty() })
}

/// Values that tokens hold which the loop makes: the tokens of each, port and offset, the one with the lowest bits
/// first.
#[derive(Default)]
struct Made(FxHashMap<NodeId, Vec<(usize, usize)>>);

impl Made {
    fn of(body: &Loop) -> Made {
        let mut made = Made::default();
        // Tokens that are parts of wider values, by where they begin.
        let mut parts: FxHashMap<NodeId, FxHashMap<u32, (usize, usize)>> = FxHashMap::default();
        for &(port, offset, value) in &body.outputs {
            let (token, width) = ((port as usize, offset as usize), body.produces[port as usize].1);
            if width != body.graph.width(value) || body.graph.constant(value).is_some() {
                continue;
            }
            made.0.entry(value).or_insert_with(|| vec![token]);
            if let Op::Extract(whole, lo) = *body.graph.op(value) {
                parts.entry(whole).or_default().entry(lo).or_insert(token);
            }
        }
        for (whole, parts) in parts {
            let (mut tokens, mut at) = (Vec::new(), 0);
            while let Some(&token) = parts.get(&at) {
                tokens.push(token);
                at += body.produces[token.0].1;
            }
            if at == body.graph.width(whole) {
                made.0.entry(whole).or_insert(tokens);
            }
        }
        made
    }

    /// The tokens of a value; none where it is not one that tokens hold.
    fn tokens(&self, id: NodeId) -> &[(usize, usize)] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }

    /// What leads to the roots, operands first; tokens are not asked what made them.
    fn ordered(&self, graph: &Graph, roots: &[NodeId]) -> Vec<NodeId> {
        let mut order = Vec::new();
        let mut done: FxHashSet<NodeId> = FxHashSet::default();
        let mut open: Vec<(NodeId, bool)> = roots.iter().map(|&root| (root, false)).collect();
        while let Some((id, operands_done)) = open.pop() {
            if operands_done {
                order.push(id);
            } else if done.insert(id) {
                open.push((id, true));
                if self.tokens(id).is_empty() {
                    open.extend(graph.op(id).operands().into_iter().map(|operand| (operand, false)));
                }
            }
        }
        order
    }
}

impl Distributed {
    /// Runs the second loop on the tokens of the network and those that the first has made, if it has.
    fn run_serial(&self, world: &mut World) {
        let inputs = [world.inputs.as_slice(), &world.outputs].concat();
        let objects = std::mem::take(&mut world.objects);
        let (consumed, outputs) = (vec![0; inputs.len()], vec![Vec::new(); self.serial.produces.len()]);
        let mut inside = World { inputs, consumed, outputs, objects };
        run_loop(&self.serial, &mut inside, ITERATIONS);
        world.objects = inside.objects;
    }
}

impl Parts for Distributed {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("independent", &self.independent), ("serial", &self.serial)]
    }

    fn beside(&self) -> Vec<String> {
        vec![format!("serial runs {} independent", if self.reads_output { "after" } else { "before" })]
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            if !self.reads_output {
                self.run_serial(world);
            }
            run_loop(&self.independent, world, ITERATIONS);
            if self.reads_output {
                self.run_serial(world);
            }
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::evaluate::{World, run_loop};
    use crate::kernel::{Counter, Object};

    /// What a sum is of.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Sum {
        Input,
        Output,
        /// And the output is made with it.
        OutputBefore,
        Both,
    }

    /// Eight bytes an iteration: each XOR a counter, and three times the sum, and all of them, goes on.
    fn masked_and_summed(of: Sum) -> Loop {
        let mut graph = Graph::new();
        let objects = vec![
            Object { name: "counter".into(), width: 8, length: 1, persistent: true, residue: None },
            Object { name: "sum".into(), width: 32, length: 1, persistent: true, residue: None },
        ];
        let zero = graph.number(0, 32);
        let (counter, sum) = (graph.entry(ObjectId(0), zero, 8), graph.entry(ObjectId(1), zero, 32));
        let one = graph.number(1, 8);
        let next_counter = graph.sum(counter, one);
        let three = graph.number(3, 32);
        let mut next = graph.product(sum, three);
        let mut outputs = Vec::new();
        for at in 0..8 {
            let x = graph.input(0, at, 8);
            let mut y = graph.xor(x, counter);
            if of == Sum::OutputBefore {
                let low = graph.extract(sum, 0, 8);
                y = graph.xor(y, low);
            }
            outputs.push((0, at as u64, y));
            for (added, value) in [(of != Sum::Output && of != Sum::OutputBefore, x), (of != Sum::Input, y)] {
                if added {
                    let wide = graph.zero_extend(value, 32);
                    next = graph.sum(next, wide);
                }
            }
        }
        Loop {
            graph,
            objects,
            consumes: vec![(8, 8)],
            produces: vec![(8, 8)],
            outputs,
            carried: vec![
                Carried {
                    object: ObjectId(0),
                    index: 0,
                    next: next_counter,
                    carry: Carry::Counter { counter: 0, lo: 0 },
                },
                Carried { object: ObjectId(1), index: 0, next, carry: Carry::True },
            ],
            counters: vec![Counter { start: counter, step: 1 }],
        }
    }

    fn compare(of: Sum) {
        const ITERATIONS: u64 = 5;
        let body = masked_and_summed(of);
        let input: Vec<u128> = (0..8 * u128::from(ITERATIONS)).map(|at| (at * 37) & 0xff).collect();
        let world = |inputs: Vec<Vec<u128>>| World {
            consumed: vec![0; inputs.len()],
            inputs,
            outputs: vec![Vec::new()],
            objects: vec![vec![250], vec![1]],
        };
        let mut whole = world(vec![input.clone()]);
        run_loop(&body, &mut whole, ITERATIONS);
        let Some(Distributed { independent, serial, reads_output }) = distribute(&body) else { panic!("it is not") };
        assert!(independent.is_independent());
        assert_eq!(reads_output, of == Sum::Output);
        let mut first = world(vec![input.clone()]);
        run_loop(&independent, &mut first, ITERATIONS);
        let mut second = world(vec![input, first.outputs[0].clone()]);
        run_loop(&serial, &mut second, ITERATIONS);
        assert_eq!((&first.outputs, &first.objects[0]), (&whole.outputs, &whole.objects[0]));
        assert_eq!(second.objects[1], whole.objects[1]);
    }

    #[test]
    fn both_loops_do_what_the_loop_does() {
        compare(Sum::Output);
        compare(Sum::Input);
    }

    #[test]
    fn tokens_that_need_what_goes_on_stay_with_it() {
        assert!(distribute(&masked_and_summed(Sum::OutputBefore)).is_none());
    }

    #[test]
    fn what_needs_tokens_from_both_sides_is_one_loop() {
        assert!(distribute(&masked_and_summed(Sum::Both)).is_none());
    }
}
