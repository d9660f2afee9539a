//! Translation validation: each form of a loop is checked against the loop itself on random inputs. What is made of a
//! loop on its way to vectors, tried against the loop whenever it is printed: words ([`WordLoop`]), and circuits
//! ([`Bits`]) whose tables are compared on all their inputs as well.

use super::bits::{Bits, Part, Source};
use super::words::{Layout, NotApplicable, WordLoop};
use headrace_boolean::circuit::Circuit;
use headrace_boolean::truth_table::{Function, Table};
use headrace_transform::kernel::evaluate::{Environment, Values, World, run_loop};
use headrace_transform::kernel::evidence::{DRAWS, ITERATIONS, agree, drawn};
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Carry, Counter, Evidence, Loop, NodeId, ObjectId};
use headrace_transform::passes::tabulate::Tabulated;

/// What lanes are held to.
pub(super) const LANES: &[Evidence] = &[
    Evidence::Trial { what: "words of tokens against the loop", iterations: DRAWS * ITERATIONS },
    Evidence::Test { what: "lanes", test: "crates/targets/tests/kernel_loops.rs lanes_do_what_loops_mean" },
];

/// What lanes of several messages are held to.
pub(super) const MANY_LANES: &[Evidence] = &[
    Evidence::Trial { what: "words of tokens against an iteration", iterations: DRAWS * ITERATIONS },
    Evidence::Test { what: "lanes of messages", test: "known answers of the project, test/test.c" },
];

/// What tables of functions of bytes are held to.
pub(super) const TABLES: &[Evidence] = &[
    Evidence::Trial { what: "iterations with tables against the loop", iterations: DRAWS * ITERATIONS },
    Evidence::Test { what: "tables", test: "crates/targets/tests/kernel_library.rs functions_of_bytes_become_tables" },
];

/// Holds a loop with tables, filled as its function fills them, to the loop without.
///
/// # Errors
///
/// It means something else.
pub(super) fn tables_agree(body: &Loop, tabulated: &Tabulated) -> Result<(), NotApplicable> {
    let filled = |world: &mut World| {
        for built in &tabulated.built {
            let mut value = Values::new(&tabulated.body.graph, [built.value]);
            for at in 0..tabulated.body.objects[built.object.0 as usize].length {
                world.objects[built.position.0 as usize][0] = at as u128;
                value.compute(&Start(world));
                world.objects[built.object.0 as usize][at] = value.of(built.value);
            }
        }
    };
    match agree(body, &tabulated.body, 1, &|_, _| 0, &filled) {
        true => Ok(()),
        false => Err(NotApplicable("a loop with tables is something else than the loop".into())),
    }
}

/// What circuits are held to.
pub(super) fn of_circuits(bits: &Bits) -> Vec<Evidence> {
    let cases = Some(bits.cases).filter(|&cases| cases > 0);
    let tables = cases.map(|cases| Evidence::Exhaustive { what: "circuits of tables", cases });
    let whole = [
        Evidence::trial("words of tokens against the loop"),
        Evidence::trial("the circuit against the words"),
        Evidence::Test { what: "bits", test: "crates/targets/tests/kernel_loops.rs bits_do_what_loops_mean" },
    ];
    tables.into_iter().chain(whole).collect()
}

/// Shows on every input that a circuit computes a table; as many as there are.
///
/// # Errors
///
/// It does not.
pub(super) fn proved(circuit: &Circuit, table: &Table) -> Result<u64, NotApplicable> {
    let wrong = |_| NotApplicable("the circuit of a table computes something else".into());
    circuit.prove(table).map_err(wrong)?;
    Ok(1 << table.n_inputs())
}

/// An iteration of a loop in words, with arbitrary tokens and elements.
struct Iteration<'a> {
    words: &'a WordLoop<'a>,
    /// As it was before the first iteration.
    world: &'a World,
    counters: &'a [u128],
    number: u64,
}

/// Tokens from one on as a word in memory; `big`: with the first of them on top.
fn word_at(tokens: &[u128], layout: &Layout, first_word: u64, bits: u32, big: bool) -> u128 {
    let in_word = u64::from(bits / 8 / layout.token_bytes);
    (0..in_word).fold(0, |word, at| {
        // Behind the last token of an iteration begins the next iteration, or nothing: words there are not looked at.
        let token = tokens.get((first_word * in_word + at) as usize).copied().unwrap_or(0);
        let place = if big { in_word - 1 - at } else { at };
        word | token << (place * u64::from(layout.token_bytes) * 8)
    })
}

impl Iteration<'_> {
    /// Tokens that an iteration has of a port.
    fn tokens<'t>(all: &'t [u128], layout: &Layout, iteration: u64) -> &'t [u128] {
        let n = layout.tokens as usize;
        all.get(iteration as usize * n..(iteration as usize + 1) * n).unwrap_or_default()
    }
}

impl Environment for Iteration<'_> {
    fn input(&self, port: u32, offset: i64) -> u128 {
        let words = self.words;
        if port == words.first_port() {
            return u128::from(self.number == 0);
        }
        match words.inputs.get(port as usize) {
            Some(layout) => {
                let of_iteration = layout.words(words.bits) as i64;
                let (iteration, word) = match offset {
                    ..0 => (self.number.checked_sub(1), offset + of_iteration),
                    _ => (Some(self.number), offset),
                };
                let Some(iteration) = iteration else { return 0 };
                let tokens = Iteration::tokens(&self.world.inputs[port as usize], layout, iteration);
                word_at(tokens, layout, word as u64, words.bits, words.is_big(port as usize))
            }
            None => {
                let counter = port as usize - words.inputs.len();
                let number = &words.body.counters[counter];
                let whole = words.body.graph.width(number.start);
                let now = self.counters[counter].wrapping_add(number.step.wrapping_mul(u128::from(self.number)));
                let lo = offset as u32 * words.bits;
                (now & mask(whole)) >> lo & mask((whole - lo).min(words.bits))
            }
        }
    }

    fn entry(&self, object: ObjectId, index: u128) -> u128 {
        let elements = &self.world.objects[object.0 as usize];
        usize::try_from(index).ok().and_then(|index| elements.get(index)).copied().unwrap_or(0)
    }
}

/// Entries before the first iteration.
struct Start<'a>(&'a World);

impl Environment for Start<'_> {
    fn input(&self, _port: u32, _offset: i64) -> u128 {
        0
    }
    fn entry(&self, object: ObjectId, index: u128) -> u128 {
        self.0.objects[object.0 as usize].get(index as usize).copied().unwrap_or(0)
    }
}

/// Runs iterations whose counters go on by their steps, whatever the loop computes for them: some loops have only a
/// part of it.
fn run_counting(body: &Loop, world: &mut World, iterations: u64) {
    let mut starts = Values::new(&body.graph, body.counters.iter().map(|counter| counter.start));
    starts.compute(&Start(world));
    for iteration in 1..=u128::from(iterations) {
        run_loop(body, world, 1);
        for one in &body.carried {
            let Carry::Counter { counter, lo } = one.carry else { continue };
            let Counter { start, step } = body.counters[counter];
            let now = starts.of(start).wrapping_add(step.wrapping_mul(iteration)) & mask(body.graph.width(start));
            let width = body.objects[one.object.0 as usize].width;
            world.objects[one.object.0 as usize][one.index] = now >> lo & mask(width);
        }
    }
}

/// What the objects behind those of a loop hold where several of its iterations are one that count for themselves: what
/// its own are when each of these begins.
fn set_counters(one: &Loop, world: &mut World) {
    let n = one.objects.len();
    let mut now = world.clone();
    now.objects.truncate(n);
    for later in world.objects[n..].chunks_mut(n.max(1)) {
        run_counting(one, &mut now, 1);
        later.clone_from_slice(&now.objects[..later.len()]);
    }
}

/// Runs every iteration of every draw; `false` as soon as one says so. `of` is the loop of which so many iterations,
/// that count for themselves, are one here.
fn in_iterations(
    words: &WordLoop,
    of: Option<(&Loop, u64)>,
    mut visit: impl FnMut(&Iteration, &World) -> bool,
) -> bool {
    let body = words.body;
    let mut starts = Values::new(&body.graph, body.counters.iter().map(|counter| counter.start));
    (0..DRAWS).all(|seed| {
        let mut world = drawn(body, ITERATIONS, seed);
        if let Some((one, _)) = of {
            set_counters(one, &mut world);
        }
        starts.compute(&Start(&world));
        let counters: Vec<u128> = body.counters.iter().map(|counter| starts.of(counter.start)).collect();
        let mut after = world.clone();
        let (meant, n) = of.unwrap_or((body, 1));
        run_counting(meant, &mut after, n * ITERATIONS);
        (0..ITERATIONS).all(|number| visit(&Iteration { words, world: &world, counters: &counters, number }, &after))
    })
}

/// Whether words that are written hold the tokens of the loop, which may be several iterations of another.
pub(super) fn words_agree(words: &WordLoop, of: Option<(&Loop, u64)>) -> bool {
    let mut values = Values::new(&words.graph, words.written.iter().map(|one| one.2));
    in_iterations(words, of, |iteration, after| {
        values.compute(iteration);
        words.written.iter().all(|&(port, word, value)| {
            let layout = &words.outputs[port as usize];
            let tokens = Iteration::tokens(&after.outputs[port as usize], layout, iteration.number);
            values.of(value) == word_at(tokens, layout, word, words.bits, false)
        })
    })
}

/// Whether a circuit, and the circuits that it calls, give the bits of values.
pub(super) fn bits_agree(words: &WordLoop, values: &[NodeId], bits: &Bits) -> bool {
    let constants = bits.sources.iter().filter_map(|source| match source {
        Source::Constant { node, .. } => Some(*node),
        _ => None,
    });
    let mut now = Values::new(&words.graph, values.iter().copied().chain(constants));
    let mut inputs = vec![Function::ZERO; bits.sources.len()];
    let mut expected: Vec<Vec<Function>> = bits.outputs.iter().map(|list| vec![Function::ZERO; list.len()]).collect();
    let mut lane = 0;
    let set =
        |function: &mut Function, bit: u128, lane: usize| function.0[lane / 64] |= (bit as u64 & 1) << (lane % 64);
    in_iterations(words, None, |iteration, _| {
        now.compute(iteration);
        for (input, source) in inputs.iter_mut().zip(&bits.sources) {
            match *source {
                Source::Word { port, word, bit } => set(input, iteration.input(port, word) >> bit, lane),
                Source::Constant { node, bit } => set(input, now.of(node) >> bit, lane),
                Source::Table { .. } => {}
            }
        }
        for (list, &value) in expected.iter_mut().zip(values) {
            list.iter_mut().enumerate().for_each(|(bit, function)| set(function, now.of(value) >> bit, lane));
        }
        lane += 1;
        true
    });
    let lanes = Function([mask(lane as u32) as u64, 0, 0, 0]);
    let Some(outputs) = outputs(bits, inputs) else { return false };
    let same = |(&output, expected): (&usize, &Function)| (outputs[output] ^ *expected) & lanes == Function::ZERO;
    bits.outputs.iter().zip(&expected).all(|(list, expected)| list.iter().zip(expected).all(same))
}

/// What the outputs of a circuit are when its calls have been made; `None` where they wait for each other.
fn outputs(bits: &Bits, mut inputs: Vec<Function>) -> Option<Vec<Function>> {
    let of = |part: &Part, asked: &[Function]| {
        let circuit = &bits.tables[part];
        let all = circuit.signals_on(asked);
        circuit.outputs().iter().map(|output| all[output.index()]).collect::<Vec<_>>()
    };
    let mut asked: Vec<Option<Vec<Function>>> = vec![None; bits.calls.len()];
    for _ in 0..=bits.calls.len() + 1 {
        let all = bits.circuit.signals_on(&inputs);
        let outputs: Vec<Function> = bits.circuit.outputs().iter().map(|output| all[output.index()]).collect();
        let mut changed = false;
        for (call, before) in bits.calls.iter().zip(&mut asked) {
            let now = &outputs[call.first_output..call.first_output + call.n_inputs];
            if before.as_deref() == Some(now) {
                continue;
            }
            *before = Some(now.to_vec());
            changed = true;
            let given = of(&call.table, now);
            inputs[call.first_input..call.first_input + given.len()].copy_from_slice(&given);
        }
        if !changed {
            return Some(outputs);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::bits::Outside;
    use super::*;
    use headrace_boolean::circuit::Gate;
    use headrace_transform::kernel::{Carried, Graph, Object, Table as Elements};
    use headrace_transform::passes::unroll_and_interleave::unroll_and_interleave_counted;

    /// Iterations that look up a token's sum with a counter and with what the iteration before looked up.
    fn body() -> Loop {
        let mut graph = Graph::new();
        let elements: Vec<u128> = (0..256).map(|x| ((x * 167 + 41) % 256) ^ (x >> 3)).collect();
        let table = graph.add_table(Elements { name: "box".into(), width: 8, elements: elements.into() });
        let (zero, one) = (graph.number(0, 32), graph.number(1, 8));
        let (counter, before) = (graph.entry(ObjectId(0), zero, 8), graph.entry(ObjectId(1), zero, 8));
        let token = graph.input(0, 0, 8);
        let looked = graph.lookup(table, token);
        let sum = graph.sum(looked, counter);
        let value = graph.xor(sum, before);
        let next = graph.sum(counter, one);
        let object = |name: &str| Object { name: name.into(), width: 8, length: 1, persistent: true, residue: None };
        let carried = |object: u32, next, carry| Carried { object: ObjectId(object), index: 0, next, carry };
        Loop {
            objects: vec![object("counter"), object("before")],
            consumes: vec![(1, 8)],
            produces: vec![(1, 8)],
            outputs: vec![(0, 0, value)],
            carried: vec![carried(0, next, Carry::Counter { counter: 0, lo: 0 }), carried(1, looked, Carry::Delay)],
            counters: vec![Counter { start: counter, step: 1 }],
            graph,
        }
    }

    #[test]
    fn words_that_differ_are_seen() {
        let body = body();
        let mut words = WordLoop::new(&body, 8).expect("words");
        assert!(words_agree(&words, None));
        let value = words.written[0].2;
        words.written[0].2 = words.graph.not(value);
        assert!(!words_agree(&words, None));
        // Two iterations as one have two counters.
        let two = unroll_and_interleave_counted(&body, 2).expect("two iterations");
        assert!(words_agree(&WordLoop::new(&two, 8).expect("words"), Some((&body, 2))));
    }

    #[test]
    fn circuits_that_differ_are_seen() {
        let body = body();
        let words = WordLoop::new(&body, 64).expect("words");
        let values: Vec<NodeId> = words.written.iter().map(|one| one.2).collect();
        for outside in [Outside::CALLED, Outside { total: 0, gates: 0 }] {
            let mut bits = Bits::new(&words, &values, false, outside).expect("a circuit");
            assert_eq!(bits.cases, 256);
            assert!(bits_agree(&words, &values, &bits));
            let output = bits.outputs[0][0];
            let wrong = bits.circuit.push(Gate::Not(bits.circuit.outputs()[output]));
            bits.circuit.set_output(output, wrong);
            assert!(!bits_agree(&words, &values, &bits));
        }
    }

    #[test]
    fn circuits_of_tables_are_compared_on_all_inputs() {
        let table = Table::new(2, 1, &[0, 0, 0, 1]).expect("a table");
        let mut circuit = Circuit::new(2);
        let both = circuit.push(Gate::And(circuit.input(0), circuit.input(1)));
        let any = circuit.push(Gate::Or(circuit.input(0), circuit.input(1)));
        circuit.push_output(both);
        assert_eq!(proved(&circuit, &table), Ok(4));
        circuit.set_output(0, any);
        assert!(proved(&circuit, &table).is_err());
    }
}
