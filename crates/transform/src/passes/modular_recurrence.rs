//! Recognition of linear recurrences modulo a number: `x := (x + a) · r mod m`, on limbs.
//!
//! Such a loop need not run block after block: with powers of `r` many blocks go on side by side,
//!
//! ```text
//! ((x + a) r + b) r  =  (x + a) r²  +  b r     (mod m)
//! ```
//!
//! and limbs of another width may serve. Example: an authenticator that evaluates a polynomial in a prime field.
//!
//! Nothing depends on how the arithmetic was written. What the loop computes is asked of the loop itself: if `x` and
//! `r` are limbs of so many bits, then `step(x, …) - step(y, …) - (x - y) rᵏ` are multiples of `m` for all `x` and `y`,
//! and the greatest common divisor of some of them is `m`; for another width it is 1. With `x` = 0 the loop then says
//! what it adds. The whole is compared with the loop on random limbs and on those of which all bits are 0 or 1.
//!
//! The loop and the recurrence agree modulo `m`, not in their limbs: [`Residue`] of the object is what allows one to
//! stand for the other.
//!
//! Requires: all that goes on from iteration to iteration is one object, besides counters and delays of others; all `a`
//! are bytes of one port. Result: the loop stays as it is.

use super::pass::{Form, ITERATIONS, Parts, Pass, Property, boxed};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::evidence::{drawn, splitmix64};
use crate::kernel::graph::mask;
use crate::kernel::{Carried, Carry, Loop, NodeId, ObjectId, Op, Residue};
use num_bigint::{BigInt, BigUint};

/// The pass.
pub const PASS: Pass = Pass {
    name: "modular-recurrence",
    about: "Recognises a linear recurrence modulo a number, on limbs",
    requires: &[Property::Dependent],
    establishes: &[],
    gives_up: &[],
    form: Form::Parts(|body| modular_recurrence(body).map(boxed)),
};

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 20_000;

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 16;

/// The widest limb.
const MOST_LIMB_BITS: u32 = 60;

/// What a modulus may be less than a power of two.
const MOST_LESS: u32 = 1 << 16;

/// Pairs of states of which the modulus is the greatest common divisor.
const PAIRS: u64 = 24;

/// Draws on which the recurrence is compared with the loop.
pub const DRAWS: u64 = 48;

/// `x := (x + a) · r`, for each block `a` of an iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModularRecurrence {
    /// What `x` is: limbs, the least significant first.
    pub state: ObjectId,
    /// What `r` is: limbs of the same width, which no iteration changes.
    pub factor: ObjectId,
    /// The modulus and the width of the limbs.
    pub residue: Residue,
    /// The input port of the blocks.
    pub port: usize,
    /// Blocks of an iteration.
    pub blocks: u64,
    /// What each block has beyond its bytes, which are a little-endian number; less than the modulus.
    pub beyond: BigUint,
}

/// The recurrence that a loop is, if it is one.
pub fn modular_recurrence(body: &Loop) -> Option<ModularRecurrence> {
    if body.graph.len() > MOST_NODES || !body.outputs.is_empty() {
        return None;
    }
    let serial: Vec<&Carried> = body.carried.iter().filter(|one| one.carry == Carry::True).collect();
    let state = serial.first()?.object;
    let object = body.objects.get(state.0 as usize)?;
    let is_there = |index| serial.iter().any(|one| one.index == index);
    let is_whole = serial.iter().all(|one| one.object == state) && (0..object.length).all(is_there);
    if !is_whole || !(2..=8).contains(&object.length) || !(16..=64).contains(&object.width) {
        return None;
    }
    let factor = factor_of(body, state, serial.iter().map(|one| one.next))?;
    let mut ports = body.consumes.iter().enumerate().filter(|(_, port)| port.0 > 0);
    let (port, &(tokens, width)) = ports.next()?;
    if width != 8 || tokens % BLOCK_BYTES != 0 || ports.next().is_some() {
        return None;
    }
    let asked = Asked { body, state, factor, port, blocks: tokens / BLOCK_BYTES };
    (8..=object.width.min(MOST_LIMB_BITS)).find_map(|limb_bits| asked.recurrence(limb_bits))
}

/// The one object besides the state that the next state needs, as long and as wide as that.
fn factor_of(body: &Loop, state: ObjectId, roots: impl Iterator<Item = NodeId>) -> Option<ObjectId> {
    let mut factor = None;
    let mut multiplies = false;
    for id in body.graph.reachable(roots) {
        match *body.graph.op(id) {
            Op::Entry { object, index } => {
                body.graph.constant(index)?;
                if object != state && *factor.get_or_insert(object) != object {
                    return None;
                }
            }
            Op::Loaded(_) | Op::Instruction { .. } => return None,
            Op::Mul(..) => multiplies = true,
            _ => {}
        }
    }
    let like = |object: ObjectId| {
        let [own, other] = [state, object].map(|id| &body.objects[id.0 as usize]);
        own.length == other.length && own.width == other.width
    };
    factor.filter(|&factor| multiplies && like(factor))
}

/// A number of limbs.
pub(crate) fn number(limbs: &[u128], limb_bits: u32) -> BigUint {
    limbs.iter().rev().fold(BigUint::ZERO, |sum, &limb| (sum << limb_bits) + limb)
}

/// Words that look random, the same for the same seed.
pub(crate) struct Drawn(u64);

impl Drawn {
    pub(crate) fn of(seed: u64) -> Self {
        Drawn(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        splitmix64(&mut self.0)
    }

    /// Limbs of so many bits: one in four has all bits equal.
    fn limbs(&mut self, n: usize, bits: u32) -> Vec<u128> {
        (0..n).map(|_| self.at_most(mask(bits))).collect()
    }

    /// A number up to `most`: the least, the largest, or any.
    pub(crate) fn at_most(&mut self, most: u128) -> u128 {
        match self.word() % 8 {
            0 => 0,
            1 => most,
            _ => {
                let wide = u128::from(self.word()) << 64 | u128::from(self.word());
                most.checked_add(1).map_or(wide, |n| wide % n)
            }
        }
    }
}

/// A loop that is asked what it computes.
struct Asked<'a> {
    body: &'a Loop,
    state: ObjectId,
    factor: ObjectId,
    port: usize,
    blocks: u64,
}

impl Asked<'_> {
    /// The limbs after an iteration.
    fn step(&self, x: &[u128], r: &[u128], tokens: &[u128]) -> Vec<u128> {
        let mut world = World {
            inputs: vec![Vec::new(); self.body.consumes.len()],
            consumed: vec![0; self.body.consumes.len()],
            outputs: vec![Vec::new(); self.body.produces.len()],
            objects: self.body.objects.iter().map(|object| vec![0; object.length]).collect(),
        };
        world.inputs[self.port] = tokens.to_vec();
        world.objects[self.state.0 as usize] = x.to_vec();
        world.objects[self.factor.0 as usize] = r.to_vec();
        run_loop(self.body, &mut world, 1);
        world.objects.swap_remove(self.state.0 as usize)
    }

    fn recurrence(&self, limb_bits: u32) -> Option<ModularRecurrence> {
        let n = self.body.objects[self.state.0 as usize].length;
        let n_tokens = (self.blocks * BLOCK_BYTES) as usize;
        let mut drawn = Drawn::of(u64::from(limb_bits));
        let mut modulus = BigUint::ZERO;
        for pair in 0..PAIRS {
            let [x, y, r] = [(); 3].map(|()| drawn.limbs(n, limb_bits));
            let tokens: Vec<u128> = drawn.limbs(n_tokens, 8);
            let [next_x, next_y] = [&x, &y].map(|x| BigInt::from(number(&self.step(x, &r, &tokens), limb_bits)));
            let [x, y, r] = [x, y, r].map(|limbs| BigInt::from(number(&limbs, limb_bits)));
            let multiple = next_x - next_y - (x - y) * r.pow(self.blocks as u32);
            modulus = greatest_common_divisor(modulus, multiple.into_parts().1);
            if pair > 2 && modulus.bits() <= u64::from(limb_bits) * (n as u64 - 1) {
                return None;
            }
        }
        let bits = u32::try_from(modulus.bits()).ok()?;
        let less = u32::try_from((BigUint::from(1u32) << bits) - &modulus).ok().filter(|&less| less <= MOST_LESS)?;
        if bits > limb_bits * n as u32 {
            return None;
        }
        let residue = Residue { limb_bits, bits, less };

        // What is added to zeros: beyond · (r + r² + …).
        let zeros = vec![0; n_tokens];
        let beyond = (0..PAIRS).find_map(|_| {
            let r = drawn.limbs(n, limb_bits);
            let made = number(&self.step(&vec![0; n], &r, &zeros), limb_bits);
            let r = number(&r, limb_bits);
            let powers: BigUint = (1..=self.blocks as u32).map(|exponent| r.pow(exponent)).sum();
            Some(made * (powers % &modulus).modinv(&modulus)? % &modulus)
        })?;
        let found = ModularRecurrence {
            state: self.state,
            factor: self.factor,
            residue,
            port: self.port,
            blocks: self.blocks,
            beyond,
        };
        let agrees = |_| {
            let [x, r] = [(); 2].map(|()| drawn.limbs(n, limb_bits));
            let tokens: Vec<u128> = drawn.limbs(n_tokens, 8);
            let made = number(&self.step(&x, &r, &tokens), limb_bits) % &modulus;
            let (mut meant, r) = (number(&x, limb_bits), number(&r, limb_bits));
            for block in tokens.chunks(BLOCK_BYTES as usize) {
                meant = (meant + number(block, 8) + &found.beyond) * &r % &modulus;
            }
            made == meant
        };
        (0..DRAWS).all(agrees).then_some(found)
    }
}

fn greatest_common_divisor(mut a: BigUint, mut b: BigUint) -> BigUint {
    while b != BigUint::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    a
}

impl Parts for ModularRecurrence {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        Vec::new()
    }

    fn beside(&self) -> Vec<String> {
        let ModularRecurrence { state, factor, residue, port, blocks, beyond } = self;
        let Residue { limb_bits, bits, less } = residue;
        vec![
            format!("x := (x + a) * r modulo 2^{bits} - {less}, in limbs of {limb_bits} bits"),
            format!(
                "x: o{}, r: o{}, a: {blocks} blocks of input {port}, each of them {beyond} more",
                state.0, factor.0
            ),
        ]
    }

    /// What both leave has the same residue.
    fn agree_with(&self, body: &Loop) -> bool {
        let Residue { limb_bits, bits, less } = self.residue;
        let modulus = (BigUint::from(1u32) << bits) - less;
        (0..DRAWS).all(|seed| {
            let mut world = drawn(body, ITERATIONS, seed);
            // Numbers in limbs have nothing above them.
            for object in [self.state, self.factor] {
                world.objects[object.0 as usize].iter_mut().for_each(|limb| *limb &= mask(limb_bits));
            }
            let of = |world: &World, object: ObjectId| number(&world.objects[object.0 as usize], limb_bits);
            let (mut x, r) = (of(&world, self.state), of(&world, self.factor));
            for block in world.inputs[self.port].chunks(BLOCK_BYTES as usize) {
                x = (x + number(block, 8) + &self.beyond) * &r % &modulus;
            }
            run_loop(body, &mut world, ITERATIONS);
            of(&world, self.state) % &modulus == x % &modulus
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Graph, Object};

    /// Three limbs of 44 bits modulo 2^132 - 20, a block an iteration.
    fn evaluates(beyond: u128) -> Loop {
        let mut graph = Graph::new();
        let [limb, fold, beyond] = [mask(44), 20, beyond].map(|value| graph.number(value, 128));
        let limbs = |graph: &mut Graph, object: u32| {
            [0, 1, 2].map(|index| {
                let index = graph.number(index, 64);
                let limb = graph.entry(ObjectId(object), index, 64);
                graph.zero_extend(limb, 128)
            })
        };
        let (x, r) = (limbs(&mut graph, 0), limbs(&mut graph, 1));
        let tokens: Vec<NodeId> = (0..16).rev().map(|byte| graph.input(0, byte, 8)).collect();
        let a = graph.concat(&tokens);
        let mut h = [0, 44, 88].map(|lo| {
            let part = graph.shift_right_by(a, lo);
            graph.and(part, limb)
        });
        h[2] = graph.sum(h[2], beyond);
        let h = [0, 1, 2].map(|at| graph.sum(x[at], h[at]));
        let mut d = [0, 1, 2].map(|at| {
            let mut sum = graph.number(0, 128);
            for i in 0..3 {
                let product = graph.product(h[i], r[(3 + at - i) % 3]);
                let product = if i > at { graph.product(product, fold) } else { product };
                sum = graph.sum(sum, product);
            }
            sum
        });
        let mut carry = graph.number(0, 128);
        for limb_of in &mut d {
            let whole = graph.sum(*limb_of, carry);
            (*limb_of, carry) = (graph.and(whole, limb), graph.shift_right_by(whole, 44));
        }
        let carry = graph.product(carry, fold);
        let low = graph.sum(d[0], carry);
        (d[0], d[1]) = (graph.and(low, limb), {
            let carry = graph.shift_right_by(low, 44);
            graph.sum(d[1], carry)
        });
        let object = |name: &str| Object { name: name.into(), width: 64, length: 3, persistent: true, residue: None };
        let carried = (0..3).map(|index| {
            let next = graph.extract(d[index], 0, 64);
            Carried { object: ObjectId(0), index, next, carry: Carry::True }
        });
        Loop {
            objects: vec![object("x"), object("r")],
            consumes: vec![(16, 8)],
            produces: Vec::new(),
            outputs: Vec::new(),
            carried: carried.collect(),
            counters: Vec::new(),
            graph,
        }
    }

    #[test]
    fn the_loop_says_what_its_modulus_is() {
        let found = modular_recurrence(&evaluates(1 << 40)).expect("it is one");
        assert_eq!(found.residue, Residue { limb_bits: 44, bits: 132, less: 20 });
        assert_eq!((found.blocks, found.beyond), (1, BigUint::from(1u32) << 128));
    }

    #[test]
    fn one_bit_more_and_it_is_none() {
        for index in 0..3 {
            let mut body = evaluates(0);
            assert!(modular_recurrence(&body).is_some());
            let one = body.graph.number(1, 64);
            body.carried[index].next = body.graph.xor(body.carried[index].next, one);
            assert_eq!(modular_recurrence(&body), None);
        }
    }
}
