//! Sinking of copies out of loops. Elements that no iteration reads and that become what another one is, written once
//! after all iterations.
//!
//! ```text
//! r := f(r, x); t := r       again and again      =>      r := f(r, x)       again and again, then t := r
//! ```
//!
//! What waits in a FIFO for whoever comes after the loop is such an element, if the loop itself reads the variable that
//! it came from. Without it a loop is one of fewer kinds of carried elements, which more ways of running it know.
//!
//! Result: where there was at least one iteration, the loop that is left and then the copies do what the loop
//! does.

use super::pass::{Form, ITERATIONS, Parts, Pass, boxed, leaves_the_same};
use crate::kernel::evaluate::run_loop;
use crate::kernel::{Carried, Carry, Loop, NodeId, ObjectId, Op};
use rustc_hash::{FxHashMap, FxHashSet};

/// The pass.
pub const PASS: Pass = Pass {
    name: "sink-copies",
    about: "Takes elements out of a loop that become what others are, and copies them after it",
    requires: &[],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| sink_copies(body).map(boxed)),
};

/// Neighbouring elements that become what others are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Of which object.
    pub object: ObjectId,
    /// The first.
    pub first: usize,
    /// Where they are copied from.
    pub from: ObjectId,
    /// The first there.
    pub from_first: usize,
    /// How many.
    pub n: usize,
}

/// A loop and what is left of it.
#[derive(Clone, Debug)]
pub struct SunkCopies {
    /// The loop without them.
    pub body: Loop,
    /// What comes after all iterations.
    pub copied: Vec<Copied>,
}

/// Takes such elements out; `None` if there are none.
pub fn sink_copies(body: &Loop) -> Option<SunkCopies> {
    let graph = &body.graph;
    let (mut read, mut read_somewhere) = (FxHashSet::default(), FxHashSet::default());
    for id in body.needed() {
        if let Op::Entry { object, index } = graph.op(id) {
            match graph.constant(*index) {
                Some(at) => drop(read.insert((*object, at as usize))),
                None => drop(read_somewhere.insert(*object)),
            }
        }
    }
    let is_read = |one: &Carried| read.contains(&(one.object, one.index)) || read_somewhere.contains(&one.object);
    let counts = |one: &Carried| matches!(one.carry, Carry::Counter { .. });
    // Of elements that nobody reads the first one stays.
    let mut kept: FxHashMap<NodeId, &Carried> = FxHashMap::default();
    let mut all: Vec<&Carried> = body.carried.iter().collect();
    all.sort_by_key(|one| (!is_read(one), one.object, one.index));
    let mut gone: Vec<(&Carried, &Carried)> = Vec::new();
    for one in all {
        let from = *kept.entry(one.next).or_insert(one);
        if from != one && !is_read(one) && !counts(one) {
            gone.push((one, from));
        }
    }
    if gone.is_empty() {
        return None;
    }
    gone.sort_by_key(|(one, _)| (one.object, one.index));
    let mut copied: Vec<Copied> = Vec::new();
    for (one, from) in &gone {
        match copied.last_mut() {
            Some(row)
                if (row.object, row.first + row.n) == (one.object, one.index)
                    && (row.from, row.from_first + row.n) == (from.object, from.index) =>
            {
                row.n += 1;
            }
            _ => copied.push(Copied {
                object: one.object,
                first: one.index,
                from: from.object,
                from_first: from.index,
                n: 1,
            }),
        }
    }
    let is_gone = |one: &&Carried| !gone.iter().any(|(gone, _)| gone == one);
    let carried = body.carried.iter().filter(is_gone).cloned().collect();
    Some(SunkCopies { body: Loop { carried, ..body.clone() }, copied })
}

impl Parts for SunkCopies {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("left", &self.body)]
    }

    fn beside(&self) -> Vec<String> {
        let line = |copied: &Copied| {
            let Copied { object, first, from, from_first, n } = *copied;
            let (last, from_last) = (first + n - 1, from_first + n - 1);
            format!("after it: o{}[{first}..={last}] := o{}[{from_first}..={from_last}]", object.0, from.0)
        };
        self.copied.iter().map(line).collect()
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            run_loop(&self.body, world, ITERATIONS);
            for copied in &self.copied {
                let from =
                    world.objects[copied.from.0 as usize].get(copied.from_first..copied.from_first + copied.n)?;
                let from = from.to_vec();
                world.objects[copied.object.0 as usize][copied.first..copied.first + copied.n].copy_from_slice(&from);
            }
            Some(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::evaluate::run_loop;
    use crate::kernel::evidence::drawn;
    use crate::kernel::{Graph, Object};

    const N: usize = 6;

    /// A loop over elements of two objects whose values at the end of an iteration are chosen from a few.
    fn arbitrary(below: &mut dyn FnMut(usize) -> usize) -> Loop {
        let mut graph = Graph::new();
        let places: Vec<(ObjectId, usize)> = (0..2 * N).map(|at| (ObjectId((at / N) as u32), at % N)).collect();
        let mut values: Vec<NodeId> = vec![graph.input(0, 0, 8)];
        for _ in 0..3 {
            let (object, index) = places[below(places.len())];
            let at = graph.number(index as u128, 32);
            let entry = graph.entry(object, at, 8);
            let other = values[below(values.len())];
            values.push(if below(2) == 0 { graph.xor(entry, other) } else { graph.sum(entry, other) });
        }
        let mut carried = Vec::new();
        for &(object, index) in &places {
            if below(3) > 0 {
                let next = values[below(values.len())];
                carried.push(Carried { object, index, next, carry: Carry::True });
            }
        }
        let object =
            |name: &str| Object { name: name.to_owned(), width: 8, length: N, persistent: true, residue: None };
        Loop {
            objects: vec![object("a"), object("b")],
            consumes: vec![(1, 8)],
            produces: vec![(1, 8)],
            outputs: vec![(0, 0, values[below(values.len())])],
            carried,
            counters: Vec::new(),
            graph,
        }
    }

    #[test]
    fn what_is_left_and_then_copies_do_what_loops_do() {
        // Knuth's linear congruential generator.
        let mut state: u64 = 1;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        let mut n_copied = 0;
        for seed in 0..300 {
            let body = arbitrary(&mut below);
            let Some(split) = sink_copies(&body) else { continue };
            let iterations = 1 + seed % 3;
            let mut meant = drawn(&body, iterations, seed);
            let mut made = meant.clone();
            run_loop(&body, &mut meant, iterations);
            run_loop(&split.body, &mut made, iterations);
            for row in &split.copied {
                n_copied += row.n;
                for at in 0..row.n {
                    let value = made.objects[row.from.0 as usize][row.from_first + at];
                    made.objects[row.object.0 as usize][row.first + at] = value;
                }
            }
            assert_eq!((meant.outputs, meant.objects), (made.outputs, made.objects), "{body:?}");
        }
        assert!(n_copied > 300, "{n_copied}");
    }

    #[test]
    fn what_iterations_read_stays() {
        let mut graph = Graph::new();
        let (zero, token) = (graph.number(0, 32), graph.input(0, 0, 8));
        let [a, b] = [0, 1].map(|object| graph.entry(ObjectId(object), zero, 8));
        let (next, out) = (graph.xor(a, token), graph.sum(b, token));
        let object =
            |name: &str| Object { name: name.to_owned(), width: 8, length: 1, persistent: true, residue: None };
        let one = |object: u32| Carried { object: ObjectId(object), index: 0, next, carry: Carry::True };
        let body = Loop {
            objects: vec![object("a"), object("b")],
            consumes: vec![(1, 8)],
            produces: vec![(1, 8)],
            outputs: vec![(0, 0, out)],
            carried: vec![one(0), one(1)],
            counters: Vec::new(),
            graph,
        };
        assert!(sink_copies(&body).is_none());
    }
}
