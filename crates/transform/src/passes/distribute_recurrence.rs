//! Loop distribution of a linear recurrence. Takes a linear recurrence out of a loop whose other iterations need not
//! wait for each other.
//!
//! A loop with `x := (x ^ a) ∘ h`, where `a` are tokens of the iteration, `h` is what no iteration changes and `∘` is
//! bilinear, such as a product of polynomials, becomes two: the loop without it, and a [`Recurrence`] over tokens that
//! lie in memory. Then the first is independent, and the second can take many tokens at once, with powers of `h`:
//!
//! ```text
//! ((x ^ a) ∘ h ^ b) ∘ h  =  (x ^ a) ∘ (h ∘ h)  ^  b ∘ h
//! ```
//!
//! Nothing depends on how the product was written. Each bit of the next `x` is followed through XORs, ANDs, choices and
//! shifts: it must be a sum of products of one bit of `x` or `a` with one bit of `h`. Such a map is known from its
//! values on pairs of unit vectors; they are computed, 256 at a time. A token bit adds to the bit of `x` with which it
//! shares all values.
//!
//! In transitions that run once `a` may also be elements, [`Added::Elements`].
//!
//! Requires: all carries that are [`Carry::True`] belong to the recurrence, 128 bits of them; `a` are sixteen bytes of
//! one port or of one object. Establishes: the loop that is left has none.

use super::pass::{Form, ITERATIONS, Parts, Pass, Property, boxed, leaves_the_same};
use crate::kernel::evaluate::{World, run_loop};
use crate::kernel::{Carry, Graph, Loop, NodeId, ObjectId, Op};
use headrace_boolean::bilinear::BilinearMap;
use headrace_boolean::matrix::BitVector;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// The pass.
pub const PASS: Pass = Pass {
    name: "distribute-recurrence",
    about: "Takes a linear recurrence out of a loop whose other iterations are independent",
    requires: &[Property::Dependent],
    establishes: &[Property::Independent],
    gives_up: &[],
    form: Form::Parts(|body| distribute_recurrence(body).map(boxed)),
};

/// Bits of what goes on.
const BITS: usize = 128;

/// Nodes of a loop that is looked at.
const MOST_NODES: usize = 20_000;

/// A byte of an element of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementByte {
    /// The object.
    pub object: ObjectId,
    /// Which element.
    pub index: usize,
    /// The least significant bit of the byte.
    pub lo: u32,
}

/// Sixteen byte tokens of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// Whether they are of an output port.
    pub is_output: bool,
    /// Position of the port in the network.
    pub port: usize,
    /// The first of them, in the iteration.
    pub first: usize,
}

/// What is added to `x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// Tokens of the iteration.
    Tokens(Tokens),
    /// Elements that no iteration changes, in the order of the product's bytes.
    Elements(Vec<ElementByte>),
}

/// `x := (x ^ a) ∘ h`. Byte `i` of a value is the one to which byte `i` of `a` adds.
#[derive(Clone, Debug)]
pub struct Recurrence {
    /// Where the bytes of `x` are.
    pub state: Vec<ElementByte>,
    /// Where the bytes of `h` are.
    pub factor: Vec<ElementByte>,
    /// What `a` is.
    pub added: Added,
    /// The product, of 128 bits by 128; bit `8 i + b` is bit `b` of byte `i`.
    pub product: BilinearMap,
}

/// A loop taken apart.
#[derive(Clone, Debug)]
pub struct SplitLoop {
    /// What is left of it: tokens, and carries that are not [`Carry::True`]. The nodes are those of the loop's graph.
    pub independent: Loop,
    /// What comes after it, over the same iterations.
    pub recurrence: Recurrence,
}

/// Takes a loop apart, if there is a recurrence in it.
pub fn distribute_recurrence(body: &Loop) -> Option<SplitLoop> {
    if body.graph.len() > MOST_NODES {
        return None;
    }
    let kept = |one: &&crate::kernel::Carried| one.carry != Carry::True;
    let independent = Loop { carried: body.carried.iter().filter(kept).cloned().collect(), ..body.clone() };
    let mut elements: Vec<(ObjectId, usize, NodeId)> =
        body.carried.iter().filter(|one| !kept(one)).map(|one| (one.object, one.index, one.next)).collect();
    elements.sort_unstable_by_key(|element| (element.0, element.1));
    let state: Vec<ElementByte> = bytes_of(body, elements.iter().map(|element| (element.0, element.1)))?;
    if state.len() * 8 != BITS {
        return None;
    }
    let of_state: FxHashSet<(ObjectId, usize)> = elements.iter().map(|element| (element.0, element.1)).collect();
    let reads_state = |id: NodeId| match body.graph.op(id) {
        Op::Entry { object, index } => match body.graph.constant(*index) {
            Some(at) => of_state.contains(&(*object, at as usize)),
            None => of_state.iter().any(|element| element.0 == *object),
        },
        _ => false,
    };
    if body.graph.reachable(independent.roots()).into_iter().any(reads_state) {
        return None;
    }

    // Tokens that are made are read where they are, not made again.
    let mut made: FxHashMap<NodeId, (usize, usize)> = FxHashMap::default();
    for &(port, offset, value) in &body.outputs {
        if body.graph.constant(value).is_none() {
            made.entry(value).or_insert((port as usize, offset as usize));
        }
    }
    let roots: Vec<NodeId> = elements.iter().map(|element| element.2).collect();
    let order = ordered(&body.graph, &roots, &made);
    let mut tokens: BTreeSet<(bool, usize, usize)> = BTreeSet::new();
    let mut factors: BTreeSet<(ObjectId, usize)> = BTreeSet::new();
    for &id in &order {
        if let Some(&(port, offset)) = made.get(&id) {
            tokens.insert((true, port, offset));
            continue;
        }
        match body.graph.op(id) {
            Op::Input { port, offset } => {
                tokens.insert((false, *port as usize, usize::try_from(*offset).ok()?));
            }
            Op::Entry { object, index } => {
                let at = body.graph.constant(*index)? as usize;
                if body.carried.iter().any(|one| one.object == *object && one.index == at && one.carry != Carry::True) {
                    return None;
                }
                if !of_state.contains(&(*object, at)) {
                    factors.insert((*object, at));
                }
            }
            Op::Loaded(_) => return None,
            _ => {}
        }
    }
    let unchanged = bytes_of(body, factors.into_iter())?;
    let (factor, added) = match unchanged.iter().find(|byte| byte.object != unchanged[0].object) {
        // Of two objects either may be the factor.
        Some(second) if tokens.is_empty() => {
            let (first, second) = (unchanged[0].object, second.object);
            let of = |object| unchanged.iter().filter(|byte| byte.object == object).copied().collect::<Vec<_>>();
            if of(first).len() + of(second).len() < unchanged.len() {
                return None;
            }
            let split = Split { body, state: &state, roots: &roots, order: &order, made: &made };
            let either = [(first, second), (second, first)].into_iter();
            let found = either.map(|(factor, added)| split.with(of(factor), Added::Elements(of(added))));
            return found.flatten().next().map(|recurrence| SplitLoop { independent, recurrence });
        }
        _ => {
            let tokens: Vec<(bool, usize, usize)> = tokens.into_iter().collect();
            let &(is_output, port, first) = tokens.first()?;
            let in_a_row = tokens.iter().enumerate().all(|(at, token)| *token == (is_output, port, first + at));
            let width = if is_output { body.produces.get(port)?.1 } else { body.consumes.get(port)?.1 };
            if tokens.len() * 8 != BITS || !in_a_row || width != 8 {
                return None;
            }
            (unchanged, Added::Tokens(Tokens { is_output, port, first }))
        }
    };
    let split = Split { body, state: &state, roots: &roots, order: &order, made: &made };
    split.with(factor, added).map(|recurrence| SplitLoop { independent, recurrence })
}

/// A loop whose recurrence is to be found.
struct Split<'a> {
    body: &'a Loop,
    state: &'a [ElementByte],
    /// The next state.
    roots: &'a [NodeId],
    /// What it needs, operands first.
    order: &'a [NodeId],
    /// Tokens that are made.
    made: &'a FxHashMap<NodeId, (usize, usize)>,
}

impl Split<'_> {
    /// The recurrence, if the next state is a product with `factor`.
    fn with(&self, factor: Vec<ElementByte>, what: Added) -> Option<Recurrence> {
        let Split { body, state, roots, order, made } = *self;
        let (first, elements) = match &what {
            Added::Tokens(tokens) => (tokens.first, [].as_slice()),
            Added::Elements(elements) => (0, elements.as_slice()),
        };
        if factor.len() * 8 != BITS || !elements.is_empty() && elements.len() * 8 != BITS {
            return None;
        }
        // Where a bit of the state, of the factor or of the tokens is: its number.
        let place = |bytes: &[ElementByte], object: ObjectId, index: usize, bit: u32| {
            let is = |byte: &ElementByte| (byte.object, byte.index, byte.lo) == (object, index, bit / 8 * 8);
            bytes.iter().position(is).map(|at| at * 8 + (bit % 8) as usize)
        };
        let source = |id: NodeId, bit: u32| -> Option<Source> {
            if let Some(&(_, offset)) = made.get(&id) {
                return Some(Source::Left(BITS + (offset - first) * 8 + bit as usize));
            }
            match body.graph.op(id) {
                Op::Input { offset, .. } => Some(Source::Left(BITS + (*offset as usize - first) * 8 + bit as usize)),
                Op::Entry { object, index } => {
                    let at = body.graph.constant(*index)? as usize;
                    let left = place(state, *object, at, bit);
                    match left.or_else(|| place(elements, *object, at, bit).map(|at| BITS + at)) {
                        Some(left) => Some(Source::Left(left)),
                        None => place(&factor, *object, at, bit).map(Source::Right),
                    }
                }
                _ => None,
            }
        };
        let degrees = follow(&body.graph, order, &|id, bit| source(id, bit).map(Source::degree));
        let is_bilinear = |id: &NodeId| {
            degrees.get(id).is_some_and(|bits| bits.iter().all(|bit| matches!(bit, Degree::Both | Degree::Zero)))
        };
        if !roots.iter().all(is_bilinear) {
            return None;
        }

        // What each bit on the left makes of each bit of the factor.
        let mut products: Vec<Vec<u128>> = vec![Vec::new(); 2 * BITS];
        for right in 0..BITS {
            let values = follow(&body.graph, order, &|id, bit| {
                source(id, bit).map(|source| match source {
                    Source::Left(left) => Units::unit(left),
                    Source::Right(other) if other == right => Units::ONE,
                    Source::Right(_) => Units::ZERO,
                })
            });
            let next: Vec<Units> = roots.iter().filter_map(|root| values.get(root)).flatten().copied().collect();
            for (left, products) in products.iter_mut().enumerate() {
                let product = next.iter().enumerate().filter(|(_, bit)| bit.of(left)).map(|(at, _)| 1 << at);
                products.push(product.sum());
            }
        }
        // Each token bit is added to one bit of the state.
        let of_products: FxHashMap<&[u128], usize> = (0..BITS).map(|at| (products[at].as_slice(), at)).collect();
        let added: Option<Vec<usize>> =
            (BITS..2 * BITS).map(|at| of_products.get(products[at].as_slice()).copied()).collect();
        let added = added?;
        let whole_bytes =
            (0..BITS).all(|at| added[at] == added[at / 8 * 8] + at % 8 && added[at / 8 * 8].is_multiple_of(8));
        if !whole_bytes || added.iter().collect::<FxHashSet<_>>().len() != BITS {
            return None;
        }
        // All in the order of the tokens.
        let in_order = |value: u128| (0..BITS).fold(0, |sum, at| sum | (value >> added[at] & 1) << at);
        let product = BilinearMap::from_u128_map(BITS, BITS, BITS, |x, y| {
            let (x, y) = (x.trailing_zeros() as usize, y.trailing_zeros() as usize);
            in_order(products[added[x]][added[y]])
        });
        let turned = |bytes: &[ElementByte]| (0..BITS / 8).map(|at| bytes[added[8 * at] / 8]).collect();
        Some(Recurrence { state: turned(state), factor: turned(&factor), added: what, product })
    }
}

/// The bytes of elements, the least significant one first.
fn bytes_of(body: &Loop, elements: impl Iterator<Item = (ObjectId, usize)>) -> Option<Vec<ElementByte>> {
    let mut bytes = Vec::new();
    for (object, index) in elements {
        let width = body.objects.get(object.0 as usize)?.width;
        if !width.is_multiple_of(8) {
            return None;
        }
        bytes.extend((0..width / 8).map(|byte| ElementByte { object, index, lo: 8 * byte }));
    }
    Some(bytes)
}

/// What roots need, operands first; nothing that `made` needs.
fn ordered(graph: &Graph, roots: &[NodeId], made: &FxHashMap<NodeId, (usize, usize)>) -> Vec<NodeId> {
    let mut order = Vec::new();
    let mut done: FxHashSet<NodeId> = FxHashSet::default();
    let mut open: Vec<(NodeId, bool)> = roots.iter().map(|&root| (root, false)).collect();
    while let Some((id, operands_done)) = open.pop() {
        if operands_done {
            order.push(id);
        } else if done.insert(id) {
            open.push((id, true));
            if !made.contains_key(&id) {
                open.extend(graph.op(id).operands().into_iter().map(|operand| (operand, false)));
            }
        }
    }
    order
}

/// A bit that an iteration begins with.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Of the state, then of the tokens.
    Left(usize),
    /// Of the factor.
    Right(usize),
}

impl Source {
    fn degree(self) -> Degree {
        match self {
            Source::Left(_) => Degree::Left,
            Source::Right(_) => Degree::Right,
        }
    }
}

/// What operations on bits give.
trait Bit: Copy {
    const ZERO: Self;
    const ONE: Self;
    /// What is not followed.
    const UNKNOWN: Self;
    fn xor(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn is_zero(self) -> bool;
}

/// What a bit is a sum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Degree {
    Zero,
    One,
    /// Bits of the left.
    Left,
    /// Bits of the right.
    Right,
    /// Products of one and one.
    Both,
    Other,
}

impl Bit for Degree {
    const ZERO: Self = Degree::Zero;
    const ONE: Self = Degree::One;
    const UNKNOWN: Self = Degree::Other;

    fn xor(self, other: Self) -> Self {
        match (self, other) {
            (Degree::Zero, x) | (x, Degree::Zero) => x,
            (Degree::One, Degree::One) => Degree::Zero,
            (Degree::One, _) => Degree::Other,
            (x, y) if x == y => x,
            _ => Degree::Other,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Degree::Zero, _) | (_, Degree::Zero) => Degree::Zero,
            (Degree::One, x) | (x, Degree::One) => x,
            (Degree::Left, Degree::Right) | (Degree::Right, Degree::Left) => Degree::Both,
            _ => Degree::Other,
        }
    }

    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Degree::Zero, x) | (x, Degree::Zero) => x,
            (Degree::One, _) | (_, Degree::One) => Degree::One,
            _ => Degree::Other,
        }
    }

    fn is_zero(self) -> bool {
        self == Degree::Zero
    }
}

/// A bit for each unit vector of the left side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units([u128; 2]);

impl Units {
    fn unit(at: usize) -> Units {
        let mut units = [0; 2];
        units[at / BITS] = 1 << (at % BITS);
        Units(units)
    }

    fn of(self, at: usize) -> bool {
        self.0[at / BITS] >> (at % BITS) & 1 == 1
    }
}

impl Bit for Units {
    const ZERO: Self = Units([0; 2]);
    const ONE: Self = Units([u128::MAX; 2]);
    const UNKNOWN: Self = Units([0; 2]);

    fn xor(self, other: Self) -> Self {
        Units([self.0[0] ^ other.0[0], self.0[1] ^ other.0[1]])
    }

    fn and(self, other: Self) -> Self {
        Units([self.0[0] & other.0[0], self.0[1] & other.0[1]])
    }

    fn or(self, other: Self) -> Self {
        Units([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }

    fn is_zero(self) -> bool {
        self == Units::ZERO
    }
}

/// The bits of nodes, the least significant one first.
fn follow<B: Bit>(
    graph: &Graph,
    order: &[NodeId],
    source: &dyn Fn(NodeId, u32) -> Option<B>,
) -> FxHashMap<NodeId, Vec<B>> {
    let mut known: FxHashMap<NodeId, Vec<B>> = FxHashMap::with_capacity_and_hasher(order.len(), FxBuildHasher);
    for &id in order {
        let width = graph.width(id) as usize;
        let bits = match source(id, 0) {
            Some(_) => (0..width as u32).map(|bit| source(id, bit).unwrap_or(B::UNKNOWN)).collect(),
            None => bits_of(graph, id, width, &known),
        };
        known.insert(id, bits);
    }
    known
}

fn bits_of<B: Bit>(graph: &Graph, id: NodeId, width: usize, known: &FxHashMap<NodeId, Vec<B>>) -> Vec<B> {
    let of = |id: &NodeId| known.get(id).map(Vec::as_slice).unwrap_or_default();
    let unknown = || vec![B::UNKNOWN; width];
    let bit_by_bit = |a: &NodeId, b: &NodeId, f: fn(B, B) -> B| -> Vec<B> {
        of(a).iter().zip(of(b)).map(|(&a, &b)| f(a, b)).collect()
    };
    let shifted = |a: &NodeId, by: i64| -> Vec<B> {
        let bits = of(a);
        let at = |bit: usize| usize::try_from(bit as i64 - by).ok().and_then(|from| bits.get(from)).copied();
        (0..width).map(|bit| at(bit).unwrap_or(B::ZERO)).collect()
    };
    // One bit in all places: what the negative of a number of one bit is.
    let is_one_bit = |a: &NodeId| of(a).iter().skip(1).all(|bit| bit.is_zero());
    let count = |b: &NodeId| graph.constant(*b).map(|count| count.min(1 << 16) as i64);
    match graph.op(id) {
        Op::Const(value) => (0..width).map(|bit| if value >> bit & 1 == 1 { B::ONE } else { B::ZERO }).collect(),
        Op::Not(a) => of(a).iter().map(|bit| bit.xor(B::ONE)).collect(),
        Op::Xor(a, b) => bit_by_bit(a, b, B::xor),
        Op::And(a, b) => bit_by_bit(a, b, B::and),
        Op::Or(a, b) => bit_by_bit(a, b, B::or),
        Op::Select(c, a, b) => {
            let chosen = of(c).first().copied().unwrap_or(B::UNKNOWN);
            of(a).iter().zip(of(b)).map(|(&a, &b)| b.xor(chosen.and(a.xor(b)))).collect()
        }
        Op::ShiftLeft(a, b) => count(b).map_or_else(unknown, |count| shifted(a, count)),
        Op::ShiftRight(a, b) => count(b).map_or_else(unknown, |count| shifted(a, -count)),
        Op::RotateLeft(a, b) => match count(b) {
            Some(count) => {
                let mut bits = of(a).to_vec();
                bits.rotate_right(count as usize % width.max(1));
                bits
            }
            None => unknown(),
        },
        Op::Extract(a, lo) => of(a).iter().skip(*lo as usize).take(width).copied().collect(),
        Op::Concat(parts) => parts.iter().rev().flat_map(&of).copied().collect(),
        Op::SignExtend(a) => {
            let bits = of(a);
            let last = bits.last().copied().unwrap_or(B::UNKNOWN);
            (0..width).map(|bit| bits.get(bit).copied().unwrap_or(last)).collect()
        }
        Op::Sub(a, b) if graph.constant(*a) == Some(0) && is_one_bit(b) => {
            vec![of(b).first().copied().unwrap_or(B::UNKNOWN); width]
        }
        // A number of one bit times a constant.
        Op::Mul(a, b) if graph.constant(*b).is_some() && is_one_bit(a) => {
            let factor = graph.constant(*b).unwrap_or(0);
            let bit = of(a).first().copied().unwrap_or(B::UNKNOWN);
            (0..width).map(|at| if factor >> at & 1 == 1 { bit } else { B::ZERO }).collect()
        }
        _ => unknown(),
    }
}

impl ElementByte {
    /// Bytes in memory, as one number.
    fn read(bytes: &[ElementByte], world: &World) -> Option<u128> {
        let byte = |at: &ElementByte| Some(world.objects.get(at.object.0 as usize)?.get(at.index)? >> at.lo & 0xff);
        bytes.iter().rev().try_fold(0, |all, at| Some(all << 8 | byte(at)?))
    }
}

impl Recurrence {
    /// The next `x`, where `iteration` says which tokens are added.
    fn step(&self, world: &mut World, body: &Loop, iteration: u64) -> Option<()> {
        let added = match &self.added {
            Added::Elements(elements) => ElementByte::read(elements, world)?,
            Added::Tokens(tokens) => {
                let (lists, ports) = match tokens.is_output {
                    true => (&world.outputs, &body.produces),
                    false => (&world.inputs, &body.consumes),
                };
                let first = ports.get(tokens.port)?.0 * iteration + tokens.first as u64;
                let list = lists.get(tokens.port)?.get(first as usize..)?.get(..BITS / 8)?;
                list.iter().rev().fold(0, |all, token| all << 8 | token)
            }
        };
        let x = BitVector::from_u128(BITS, ElementByte::read(&self.state, world)? ^ added);
        let next = self.product.at(&x, &BitVector::from_u128(BITS, ElementByte::read(&self.factor, world)?)).to_u128();
        for (number, at) in self.state.iter().enumerate() {
            let element = world.objects.get_mut(at.object.0 as usize)?.get_mut(at.index)?;
            *element = *element & !(0xff << at.lo) | (next >> (8 * number) & 0xff) << at.lo;
        }
        Some(())
    }
}

impl Parts for SplitLoop {
    fn loops(&self) -> Vec<(&'static str, &Loop)> {
        vec![("independent", &self.independent)]
    }

    fn beside(&self) -> Vec<String> {
        let bytes = |all: &[ElementByte]| {
            let byte = |at: &ElementByte| format!(" o{}[{}].{}", at.object.0, at.index, at.lo);
            all.iter().map(byte).collect::<String>()
        };
        let Recurrence { state, factor, added, product } = &self.recurrence;
        let added = match added {
            Added::Tokens(Tokens { is_output, port, first }) => {
                let last = first + BITS / 8 - 1;
                format!(" {} {port}, tokens {first}..={last}", if *is_output { "output" } else { "input" })
            }
            Added::Elements(elements) => bytes(elements),
        };
        let ones = (0..BITS).map(|i| (0..BITS).filter(|j| !product.unit_product(i, *j).is_zero()).count());
        vec![
            format!("recurrence: x := (x ^ a) * h, with {} pairs of bits whose product is not 0", ones.sum::<usize>()),
            format!("  x:{}", bytes(state)),
            format!("  h:{}", bytes(factor)),
            format!("  a:{added}"),
        ]
    }

    fn agree_with(&self, body: &Loop) -> bool {
        leaves_the_same(body, |world| {
            run_loop(&self.independent, world, ITERATIONS);
            (0..ITERATIONS).try_for_each(|iteration| self.recurrence.step(world, body, iteration))
        })
    }
}
