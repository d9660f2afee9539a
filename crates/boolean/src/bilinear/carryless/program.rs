//! Straight-line programs over values of 128 bits.

use crate::bilinear::BilinearMap;
use crate::matrix::BitVector;
use std::collections::HashMap;
use std::fmt;

/// A half of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Bits 0 to 63.
    Low,
    /// Bits 64 to 127.
    High,
}

impl Half {
    fn of(self, value: u128) -> u128 {
        match self {
            Half::Low => value as u64 as u128,
            Half::High => value >> 64,
        }
    }
}

/// One operation on values of 128 bits: those that every vector unit with a carry-less multiplier has. Operands are numbers
/// of values: the inputs first, then the operations in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A constant.
    Constant(u128),
    /// The XOR of two values.
    Xor(usize, usize),
    /// The carry-less product of a half of one value and a half of another.
    Multiply(usize, Half, usize, Half),
    /// Each half shifted left by this many bits, less than 64.
    ShiftHalvesLeft(usize, u32),
    /// Each half shifted right by this many bits, less than 64.
    ShiftHalvesRight(usize, u32),
    /// The low half moved to the high one, zeros below.
    LowToHigh(usize),
    /// The high half moved to the low one, zeros above.
    HighToLow(usize),
    /// The halves exchanged.
    SwapHalves(usize),
    /// The low half, zeros above.
    KeepLow(usize),
    /// The 16 bytes the other way round.
    ReverseBytes(usize),
    /// The bits of each byte the other way round.
    ReverseBitsInBytes(usize),
}

impl Op {
    /// What it reads.
    pub fn operands(&self) -> impl Iterator<Item = usize> + use<> {
        let (list, n) = match *self {
            Op::Constant(_) => ([0, 0], 0),
            Op::Xor(a, b) | Op::Multiply(a, _, b, _) => ([a, b], 2),
            Op::ShiftHalvesLeft(a, _)
            | Op::ShiftHalvesRight(a, _)
            | Op::LowToHigh(a)
            | Op::HighToLow(a)
            | Op::SwapHalves(a)
            | Op::KeepLow(a)
            | Op::ReverseBytes(a)
            | Op::ReverseBitsInBytes(a) => ([a, a], 1),
        };
        list.into_iter().take(n)
    }

    /// The same operation on other values.
    fn map(&self, f: impl Fn(usize) -> usize) -> Op {
        match *self {
            Op::Constant(c) => Op::Constant(c),
            Op::Xor(a, b) => Op::Xor(f(a), f(b)),
            Op::Multiply(a, i, b, j) => Op::Multiply(f(a), i, f(b), j),
            Op::ShiftHalvesLeft(a, bits) => Op::ShiftHalvesLeft(f(a), bits),
            Op::ShiftHalvesRight(a, bits) => Op::ShiftHalvesRight(f(a), bits),
            Op::LowToHigh(a) => Op::LowToHigh(f(a)),
            Op::HighToLow(a) => Op::HighToLow(f(a)),
            Op::SwapHalves(a) => Op::SwapHalves(f(a)),
            Op::KeepLow(a) => Op::KeepLow(f(a)),
            Op::ReverseBytes(a) => Op::ReverseBytes(f(a)),
            Op::ReverseBitsInBytes(a) => Op::ReverseBitsInBytes(f(a)),
        }
    }

    /// What it computes.
    fn apply(&self, values: &[u128]) -> u128 {
        let halves = |a: usize, f: &dyn Fn(u64) -> u64| {
            u128::from(f((values[a] >> 64) as u64)) << 64 | u128::from(f(values[a] as u64))
        };
        match *self {
            Op::Constant(c) => c,
            Op::Xor(a, b) => values[a] ^ values[b],
            Op::Multiply(a, i, b, j) => carryless(i.of(values[a]), j.of(values[b])),
            Op::ShiftHalvesLeft(a, bits) => halves(a, &|half| half << bits),
            Op::ShiftHalvesRight(a, bits) => halves(a, &|half| half >> bits),
            Op::LowToHigh(a) => values[a] << 64,
            Op::HighToLow(a) => values[a] >> 64,
            Op::SwapHalves(a) => values[a].rotate_left(64),
            Op::KeepLow(a) => Half::Low.of(values[a]),
            Op::ReverseBytes(a) => values[a].swap_bytes(),
            Op::ReverseBitsInBytes(a) => values[a].reverse_bits().swap_bytes(),
        }
    }
}

/// The carry-less product of two numbers of 64 bits.
fn carryless(a: u128, b: u128) -> u128 {
    // Unit vectors come often: go through the bits of the one that has fewer.
    let (a, mut rest) = if a.count_ones() < b.count_ones() { (b, a) } else { (a, b) };
    let mut sum = 0;
    while rest != 0 {
        sum ^= a << rest.trailing_zeros();
        rest &= rest - 1;
    }
    sum
}

/// What operations cost, in any unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// A carry-less multiplication.
    pub multiply: f64,
    /// A XOR.
    pub xor: f64,
    /// A shift of both halves.
    pub shift: f64,
    /// Moving halves or bytes.
    pub shuffle: f64,
    /// Turning the bits of bytes round: one instruction with a GF(2) affine unit, some five without.
    pub reverse_bits: f64,
    /// Reductions for one product: less than 1 where the products of many pairs are added before they are reduced.
    pub reductions: f64,
}

impl Default for Prices {
    fn default() -> Prices {
        Prices { multiply: 2.0, xor: 0.5, shift: 1.0, shuffle: 1.0, reverse_bits: 1.0, reductions: 1.0 }
    }
}

/// A list of operations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    n_inputs: usize,
    ops: Vec<Op>,
    outputs: Vec<usize>,
}

/// How a value depends on `x` and `y`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zero,
    Constant,
    LinearInX,
    LinearInY,
    Bilinear,
}

impl Program {
    /// The program that gives its inputs back.
    pub fn identity(n_inputs: usize) -> Program {
        Program { n_inputs, ops: Vec::new(), outputs: (0..n_inputs).collect() }
    }

    /// The number of inputs.
    pub fn n_inputs(&self) -> usize {
        self.n_inputs
    }

    /// The operations. Operation `i` computes value `n_inputs + i`.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Which values come out.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// How many operations there are, without the constants.
    pub fn n_ops(&self) -> usize {
        self.ops.iter().filter(|op| !matches!(op, Op::Constant(_))).count()
    }

    /// How many multiplications there are.
    pub fn n_multiplications(&self) -> usize {
        self.ops.iter().filter(|op| matches!(op, Op::Multiply(..))).count()
    }

    /// What it costs at these prices.
    pub fn price(&self, prices: &Prices) -> f64 {
        let price = |op: &Op| match op {
            Op::Constant(_) => 0.0,
            Op::Xor(..) => prices.xor,
            Op::Multiply(..) => prices.multiply,
            Op::ShiftHalvesLeft(..) | Op::ShiftHalvesRight(..) => prices.shift,
            Op::LowToHigh(_) | Op::HighToLow(_) | Op::SwapHalves(_) | Op::KeepLow(_) | Op::ReverseBytes(_) => {
                prices.shuffle
            }
            Op::ReverseBitsInBytes(_) => prices.reverse_bits,
        };
        self.ops.iter().map(price).sum()
    }

    /// What comes out for these inputs; missing ones are zero.
    pub fn evaluate(&self, inputs: &[u128]) -> Vec<u128> {
        let mut values: Vec<u128> = (0..self.n_inputs).map(|i| inputs.get(i).copied().unwrap_or(0)).collect();
        for op in &self.ops {
            values.push(op.apply(&values));
        }
        self.outputs.iter().map(|&v| values[v]).collect()
    }

    /// Whether the program of two inputs and one output computes `map`, for every input: see the module's «Proof». Inputs
    /// narrower than 128 bits stand in the low bits with zeros above, and so does the output.
    pub fn computes(&self, map: &BilinearMap) -> bool {
        let (n_x, n_y, n_out) = map.widths();
        if self.n_inputs != 2 || self.outputs.len() != 1 || n_x > 128 || n_y > 128 || n_out > 128 {
            return false;
        }
        let mut kinds = vec![Kind::LinearInX, Kind::LinearInY];
        for op in &self.ops {
            let kind = match *op {
                Op::Constant(0) => Some(Kind::Zero),
                Op::Constant(_) => Some(Kind::Constant),
                Op::Xor(a, b) => match (kinds[a], kinds[b]) {
                    (Kind::Zero, kind) | (kind, Kind::Zero) => Some(kind),
                    (a, b) => (a == b).then_some(a),
                },
                Op::Multiply(a, _, b, _) => match (kinds[a], kinds[b]) {
                    (Kind::Zero, _) | (_, Kind::Zero) => Some(Kind::Zero),
                    (Kind::Constant, kind) | (kind, Kind::Constant) => Some(kind),
                    (Kind::LinearInX, Kind::LinearInY) | (Kind::LinearInY, Kind::LinearInX) => Some(Kind::Bilinear),
                    _ => None,
                },
                _ => op.operands().next().map(|a| kinds[a]),
            };
            let Some(kind) = kind else { return false };
            kinds.push(kind);
        }
        if !matches!(kinds[self.outputs[0]], Kind::Bilinear | Kind::Zero) {
            return false;
        }
        (0..n_x).all(|i| {
            (0..n_y).all(|j| {
                let out = self.evaluate(&[1 << i, 1 << j])[0];
                out == map.unit_product(i, j).to_u128() && BitVector::from_u128(n_out, out).to_u128() == out
            })
        })
    }
}

impl fmt::Display for Program {
    /// One line an operation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let half = |h: Half| if h == Half::Low { "lo" } else { "hi" };
        for (i, op) in self.ops.iter().enumerate() {
            write!(f, "v{} = ", self.n_inputs + i)?;
            match *op {
                Op::Constant(c) => writeln!(f, "{c:#034x}")?,
                Op::Xor(a, b) => writeln!(f, "v{a} ^ v{b}")?,
                Op::Multiply(a, i, b, j) => writeln!(f, "{}(v{a}) * {}(v{b})", half(i), half(j))?,
                Op::ShiftHalvesLeft(a, bits) => writeln!(f, "v{a} <<64 {bits}")?,
                Op::ShiftHalvesRight(a, bits) => writeln!(f, "v{a} >>64 {bits}")?,
                Op::LowToHigh(a) => writeln!(f, "v{a} << 64")?,
                Op::HighToLow(a) => writeln!(f, "v{a} >> 64")?,
                Op::SwapHalves(a) => writeln!(f, "swap(v{a})")?,
                Op::KeepLow(a) => writeln!(f, "lo(v{a})")?,
                Op::ReverseBytes(a) => writeln!(f, "reverse_bytes(v{a})")?,
                Op::ReverseBitsInBytes(a) => writeln!(f, "reverse_bits_in_bytes(v{a})")?,
            }
        }
        let outputs: Vec<String> = self.outputs.iter().map(|v| format!("v{v}")).collect();
        writeln!(f, "out {}", outputs.join(", "))
    }
}

/// A program being written. Equal operations become one.
pub(super) struct Builder {
    program: Program,
    known: HashMap<Op, usize>,
}

impl Builder {
    pub(super) fn new(n_inputs: usize) -> Builder {
        let program = Program { n_inputs, ops: Vec::new(), outputs: Vec::new() };
        Builder { program, known: HashMap::new() }
    }

    pub(super) fn op(&mut self, op: Op) -> usize {
        let Builder { program, known } = self;
        *known.entry(op).or_insert_with(|| {
            program.ops.push(op);
            program.n_inputs + program.ops.len() - 1
        })
    }

    pub(super) fn xor(&mut self, a: usize, b: usize) -> usize {
        self.op(Op::Xor(a, b))
    }

    pub(super) fn xor_all(&mut self, values: &[usize]) -> usize {
        match values {
            [] => self.op(Op::Constant(0)),
            [first, rest @ ..] => rest.iter().fold(*first, |sum, &value| self.xor(sum, value)),
        }
    }

    pub(super) fn constant(&mut self, value: u128) -> usize {
        self.op(Op::Constant(value))
    }

    /// Writes all of `program` here; its outputs.
    pub(super) fn append(&mut self, program: &Program, inputs: &[usize]) -> Vec<usize> {
        let mut places = inputs.to_vec();
        for op in &program.ops {
            let place = self.op(op.map(|v| places[v]));
            places.push(place);
        }
        program.outputs.iter().map(|&v| places[v]).collect()
    }

    pub(super) fn finish(mut self, outputs: &[usize]) -> Program {
        self.program.outputs = outputs.to_vec();
        self.program
    }
}
