//! Parallel Horner evaluation. A linear recurrence `x := (x + a) · r mod m` over blocks, evaluated with powers of `r` in the eight
//! lanes of registers of 512 bits.
//!
//! ```text
//! x' = (…(a0 r⁸ + a8) r⁸ + …) r⁸  +  (…(a1 r⁸ + a9) r⁸ + …) r⁷  +  …  +  (…(a7 r⁸ + …) r
//! ```
//!
//! Each lane goes over every eighth block and multiplies by `r⁸`, in the end by what is its own; then the lanes are added.
//! Numbers are three limbs of 44 bits, which suit products of 52 bits by 52 with sums. Limbs are not fully carried in between. A
//! group that is not full begins with lanes that stay 0. Nothing but the number of blocks decides what is done, or where memory is
//! read.

use super::kernel::{KernelCode, Values};
use super::registers::ARCHITECTURE;
use super::value::{Value, or};
use super::{Functions, Fused};
use crate::building::Building;
use headrace_program::{
    BinaryOp, CompareOp, Expr, FeatureSet, FunctionId, Place, Stmt, Type, VariableId, VectorOperand, VectorStmt,
};
use headrace_transform::kernel::Loop;
use headrace_transform::passes::modular_recurrence::ModularRecurrence;
use headrace_vectorize::NotApplicable;
use headrace_vectorize::residues::{LIMB, suits};
use rustc_hash::FxHashMap;

/// What a machine must have, by the names that C compilers give it.
pub(super) const FEATURES: [&str; 6] = ["avx2", "avx512bw", "avx512dq", "avx512f", "avx512ifma", "avx512vl"];

/// Bits of a register.
const BITS: u32 = 512;

/// Numbers of 64 bits in a register.
const LANES: u32 = 8;

/// Bytes of a block.
const BYTES: u32 = 16;

/// Which block of a group a lane has: the order in which pairs of registers give their numbers.
const BLOCK_OF_LANE: [u64; LANES as usize] = [0, 4, 1, 5, 2, 6, 3, 7];

type Limbs = [VariableId; 3];

impl Fused<'_> {
    /// A function that goes over the blocks of so many iterations.
    ///
    /// # Errors
    ///
    /// Why it cannot be: somebody sees the limbs of the loop, or no limbs suit its modulus.
    pub(super) fn residues(
        &self,
        body: &Loop,
        recurrence: &ModularRecurrence,
        building: &mut Building,
        functions: &mut Functions,
    ) -> Result<FunctionId, NotApplicable> {
        let object = &body.objects[recurrence.state.0 as usize];
        if object.residue != Some(recurrence.residue) {
            return Err(NotApplicable("its limbs are seen".into()));
        }
        let (bits, less) = (recurrence.residue.bits, u64::from(recurrence.residue.less));
        suits(recurrence.residue)?;
        let ones = (1u64 << LIMB) - 1;
        let limb = |at: usize| {
            let digits = (&recurrence.beyond >> (at * LIMB as usize)).iter_u64_digits().next().unwrap_or(0);
            digits & if at == 2 { u64::MAX } else { ones }
        };
        let lives = self.fields.objects[recurrence.state.0 as usize].is_some();
        if !lives || self.fields.objects[recurrence.factor.0 as usize].is_none() {
            return Err(NotApplicable("its limbs are kept nowhere".into()));
        }
        let values = Values { graph: &body.graph, objects: &body.objects };
        let mut printer = Residues {
            code: KernelCode::new(self, building, values, None),
            top: bits - 2 * LIMB,
            less,
            fold: less << (3 * LIMB - bits),
            beyond: [0, 1, 2].map(limb),
            constants: FxHashMap::default(),
            before: Vec::new(),
        };
        printer.function(body, recurrence)?;
        let Residues { code, before, .. } = printer;
        let KernelCode { mut f, building, .. } = code;
        f.prepend(before);
        let names = FEATURES.map(str::to_owned).to_vec();
        f.features = Some(building.features(FeatureSet { architecture: ARCHITECTURE, names }));
        let about = "adds blocks to a number and multiplies it, modulo a number, eight blocks at once";
        Ok(functions.add(building, f, "residues", about, None))
    }
}

struct Residues<'a, 'b> {
    code: KernelCode<'a, 'b>,
    /// Bits of the last limb.
    top: u32,
    /// What the modulus is less than a power of two, and that as what goes over the last limb is worth in the first.
    less: u64,
    fold: u64,
    /// Limbs of what is added with each block.
    beyond: [u64; 3],
    /// Registers that hold numbers of 64 bits, by these.
    constants: FxHashMap<Vec<u64>, VariableId>,
    before: Vec<Stmt>,
}

impl Residues<'_, '_> {
    fn function(&mut self, body: &Loop, recurrence: &ModularRecurrence) -> Result<(), NotApplicable> {
        let n = self.code.f.scalar_parameter("n_iterations", Type::U32);
        let n = self.code.f.read(n).times(Expr::u32(recurrence.blocks as u32));
        let n = self.code.f.named("n_blocks", n);
        let begin = self.code.begin_of(recurrence.port);
        let cursor = self.code.f.scalar("cursor", Type::U32);
        self.code.f.assign(cursor, begin);
        let blocks = {
            let field = self.code.buffer_of(recurrence.port);
            self.code.field(field)
        };
        let n_limbs = body.objects[recurrence.state.0 as usize].length;
        let limb_bits = recurrence.residue.limb_bits;
        let x_words = self.taken(recurrence.state, n_limbs, limb_bits);
        let r_words = self.taken(recurrence.factor, n_limbs, limb_bits);
        // Lane i gets the power i + 1: of as many lanes as have theirs, the last one multiplies them all for as many more.
        let mut p: Limbs = [0, 1, 2].map(|at| self.all(&r_words[at]));
        for step in 0..3 {
            let last = self.constant(vec![(1 << step) - 1; LANES as usize]);
            let (r, s) = self.chosen(&p, last)?;
            let x = self.multiplied(&p, &r, &s)?;
            let more: Vec<u64> =
                (0..u64::from(LANES)).map(|lane| if lane >> step & 1 == 1 { u64::MAX } else { 0 }).collect();
            let others = self.constant(more.iter().map(|word| !word).collect());
            let more = self.constant(more);
            for at in 0..3 {
                let own = self.of("and", &[x[at], more])?;
                let kept = self.of("and", &[p[at], others])?;
                p[at] = self.of("or", &[own, kept])?;
            }
        }
        let last = self.constant(vec![u64::from(LANES) - 1; LANES as usize]);
        let (r, s) = self.chosen(&p, last)?;
        // The first group, whose first lanes may have no block.
        let absent = Expr::u32(LANES).minus(n.clone().and(Expr::u32(LANES - 1))).and(Expr::u32(LANES - 1));
        let absent = self.code.f.named("absent", absent);
        let row = absent.clone().times(Expr::u32(BITS / 8));
        let rows = |is: fn(u64, u64) -> bool| -> Vec<u64> {
            let lanes = |absent: u64| BLOCK_OF_LANE.map(move |block| if is(block, absent) { u64::MAX } else { 0 });
            (0..u64::from(LANES)).flat_map(lanes).collect()
        };
        let begins = self.row("begins", &rows(|block, absent| block == absent), &row);
        let present = self.row("present", &rows(|block, absent| block >= absent), &row);
        let array = self.code.f.array("first_blocks", Type::U8, LANES * BYTES);
        let first = Place::variable(array);
        let skipped = absent.clone().times(Expr::u32(BYTES));
        let skipped = self.code.f.named("skipped", skipped);
        let there = Expr::u32(LANES * BYTES).minus(skipped.clone());
        let from = self.code.f.read(cursor);
        self.code.f.push(Stmt::Copy {
            target: first.clone(),
            at: skipped,
            source: blocks.clone(),
            from: from.clone(),
            count: there.clone(),
        });
        let beyond = self.beyond;
        let mut x = p;
        for at in 0..3 {
            let all = self.all(&x_words[at]);
            let own = self.of("and", &[all, begins])?;
            let more = self.constant(vec![beyond[at]; LANES as usize]);
            let more = self.of("and", &[more, present])?;
            x[at] = self.of("add64", &[own, more])?;
        }
        let x = self.added(&x, &first, &Expr::u32(0))?;
        // What goes on from group to group has registers of its own.
        let x = x.map(|from| {
            let to = self.code.f.register("sum", BITS);
            self.code.vector(VectorStmt::Move { to, from });
            to
        });
        self.code.f.assign(cursor, from.plus(there));
        let groups = Expr::binary(BinaryOp::Div, n.plus(absent), Expr::u32(LANES)).minus(Expr::u32(1));
        let left = self.code.f.scalar("groups", Type::U32);
        self.code.f.assign(left, groups);
        let now = self.code.f.read(left);
        let outer = self.code.f.take();
        let product = self.multiplied(&x, &r, &s)?;
        let mut next = product;
        for (at, limb) in next.iter_mut().enumerate() {
            let more = self.constant(vec![beyond[at]; LANES as usize]);
            *limb = self.of("add64", &[*limb, more])?;
        }
        let at = self.code.f.read(cursor);
        let next = self.added(&next, &blocks, &at)?;
        for (to, from) in x.into_iter().zip(next) {
            self.code.vector(VectorStmt::Move { to, from });
        }
        self.code.f.assign(cursor, at.plus(Expr::u32(LANES * BYTES)));
        self.code.f.assign(left, now.clone().minus(Expr::u32(1)));
        let block = self.code.f.restore(outer);
        let label = self.code.f.label();
        self.code.f.push(Stmt::While(label, Expr::compare(CompareOp::NotEqual, now, Expr::u32(0)), block));
        // Each lane by its own power.
        let own = self.constant(BLOCK_OF_LANE.map(|block| u64::from(LANES) - 1 - block).to_vec());
        let (r, s) = self.chosen(&p, own)?;
        let x = self.multiplied(&x, &r, &s)?;
        let sums = x.map(|limb| self.sum_of_lanes(limb));
        self.given(sums, recurrence.state, n_limbs, limb_bits);
        Ok(())
    }

    // --- registers ---

    /// An operation on registers, in a register of its own.
    fn of(&mut self, name: &str, operands: &[VariableId]) -> Result<VariableId, NotApplicable> {
        let to = self.code.f.register("t", BITS);
        self.code.of_registers(name, BITS, to, operands)?;
        Ok(to)
    }

    /// The same by a constant number of bits.
    fn shifted(&mut self, name: &str, from: VariableId, count: u32) -> Result<VariableId, NotApplicable> {
        let to = self.code.f.register("t", BITS);
        let operands = vec![VectorOperand::Register(from), VectorOperand::Immediate(count as u8)];
        self.code.operation(name, BITS, to, operands)?;
        Ok(to)
    }

    /// A register of these numbers, which is given them before all else.
    fn constant(&mut self, numbers: Vec<u64>) -> VariableId {
        if let Some(&known) = self.constants.get(&numbers) {
            return known;
        }
        let outer = self.code.f.take();
        let to = self.code.f.register("constant", BITS);
        let bytes = numbers.iter().flat_map(|word| word.to_le_bytes()).map(u64::from).collect();
        let table = self.code.building.table("lanes", Type::U8, bytes);
        self.code.vector(VectorStmt::Load { to, place: Place::table(table), index: Expr::u32(0) });
        let statements = self.code.f.restore(outer);
        self.before.extend(statements);
        self.constants.insert(numbers, to);
        to
    }

    /// A row of a table of registers.
    fn row(&mut self, like: &str, words: &[u64], index: &Expr) -> VariableId {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes()).map(u64::from).collect();
        let table = self.code.building.table(like, Type::U8, bytes);
        let to = self.code.f.register(like, BITS);
        self.code.vector(VectorStmt::Load { to, place: Place::table(table), index: index.clone() });
        to
    }

    /// A number in all lanes.
    fn all(&mut self, word: &Expr) -> VariableId {
        let narrow = self.code.f.register("word", 128);
        self.code.vector(VectorStmt::Set { to: narrow, low: word.clone(), high: word.clone() });
        self.code.repeated("word", BITS, narrow)
    }

    /// Numbers times a small one, as sums of shifts: products of whole lanes take long.
    fn times(&mut self, value: VariableId, factor: u64) -> Result<VariableId, NotApplicable> {
        let mut sum = None;
        for bit in (0..u64::BITS).filter(|bit| factor >> bit & 1 == 1) {
            let term = if bit == 0 { value } else { self.shifted("left64", value, bit)? };
            sum = Some(match sum {
                None => term,
                Some(before) => self.of("add64", &[before, term])?,
            });
        }
        sum.ok_or_else(|| NotApplicable("the modulus is a power of two".into()))
    }

    /// The powers that lanes choose by an order, and the same as what goes over the last limb is multiplied with.
    fn chosen(&mut self, p: &Limbs, order: VariableId) -> Result<(Limbs, Limbs), NotApplicable> {
        let (mut r, mut s) = (*p, *p);
        for at in 0..3 {
            r[at] = self.of("permute64", &[order, p[at]])?;
            s[at] = self.times(r[at], self.fold)?;
        }
        Ok((r, s))
    }

    /// Products, with carries that are small left in their limbs.
    fn multiplied(&mut self, x: &Limbs, r: &Limbs, s: &Limbs) -> Result<Limbs, NotApplicable> {
        let zero = self.constant(vec![0; LANES as usize]);
        let (mut low, mut high) = ([zero; 3], [zero; 3]);
        for at in 0..3 {
            for i in 0..3 {
                let factor = if i <= at { r[at - i] } else { s[3 + at - i] };
                low[at] = self.of("multiply_add_low52", &[low[at], x[i], factor])?;
                high[at] = self.of("multiply_add_high52", &[high[at], x[i], factor])?;
            }
        }
        let ones = self.constant(vec![(1 << LIMB) - 1; LANES as usize]);
        let top_ones = self.constant(vec![(1 << self.top) - 1; LANES as usize]);
        let mut made = low;
        for at in 0..3 {
            let (bits, mask) = if at == 2 { (self.top, top_ones) } else { (LIMB, ones) };
            made[at] = self.of("and", &[low[at], mask])?;
            let below = self.shifted("right64", low[at], bits)?;
            let above = self.shifted("left64", high[at], 52 - bits)?;
            let carry = self.of("add64", &[below, above])?;
            if at < 2 {
                low[at + 1] = self.of("add64", &[low[at + 1], carry])?;
            } else {
                let folded = self.times(carry, self.less)?;
                made[0] = self.of("add64", &[made[0], folded])?;
            }
        }
        let carry = self.shifted("right64", made[0], LIMB)?;
        made[1] = self.of("add64", &[made[1], carry])?;
        made[0] = self.of("and", &[made[0], ones])?;
        Ok(made)
    }

    /// Numbers and eight blocks.
    fn added(&mut self, x: &Limbs, blocks: &Place, at: &Expr) -> Result<Limbs, NotApplicable> {
        let [a, c] = [0, BITS / 8].map(|offset| {
            let to = self.code.f.register("block", BITS);
            let index = at.clone().plus(Expr::u32(offset));
            self.code.vector(VectorStmt::Load { to, place: blocks.clone(), index });
            to
        });
        let low = self.of("unpack_low64", &[a, c])?;
        let high = self.of("unpack_high64", &[a, c])?;
        let ones = self.constant(vec![(1 << LIMB) - 1; LANES as usize]);
        let below = self.shifted("right64", low, LIMB)?;
        let above = self.shifted("left64", high, 64 - LIMB)?;
        let middle = self.of("or", &[below, above])?;
        let limbs =
            [self.of("and", &[low, ones])?, self.of("and", &[middle, ones])?, self.shifted("right64", high, 24)?];
        let mut sums = *x;
        for at in 0..3 {
            sums[at] = self.of("add64", &[x[at], limbs[at]])?;
        }
        Ok(sums)
    }

    fn sum_of_lanes(&mut self, from: VariableId) -> Expr {
        let array = self.code.f.array("lanes", Type::U8, BITS / 8);
        let place = Place::variable(array);
        self.code.vector(VectorStmt::Store { place: place.clone(), index: Expr::u32(0), from });
        let word =
            |lane: u32| Expr::word(place.clone(), Expr::u32(8 * lane), headrace_program::ByteOrder::Little, Type::U64);
        let sum = (1..LANES).fold(word(0), |sum, lane| sum.plus(word(lane)));
        self.code.f.named("limb", sum)
    }

    // --- limbs of the loop ---

    /// Three limbs from those of the loop, which may have carries in them.
    fn taken(&mut self, object: headrace_transform::kernel::ObjectId, n: usize, limb: u32) -> [Expr; 3] {
        let int = |value: u64| Expr::int(Type::U64, value);
        let mut carry = int(0);
        let mut digits = Vec::new();
        for at in 0..n {
            let element = self.code.element(object, Expr::u32(at as u32)).low.to(Type::U64);
            let sum = self.code.f.named("carry", carry.plus(element));
            if at + 1 == n {
                digits.push(sum.clone());
                carry = int(0);
            } else {
                digits.push(self.code.f.named("digit", sum.clone().and(int((1 << limb) - 1))));
                carry = sum.shifted_right(limb);
            }
        }
        let limbs = self.regrouped(&digits, limb, LIMB, 3);
        let top = limbs[2].clone();
        let first = limbs[0].clone().plus(top.clone().shifted_right(self.top).times(int(self.less)));
        let [a, b, c] = [first, limbs[1].clone(), top.and(int((1 << self.top) - 1))];
        [a, b, c].map(|limb| self.code.f.named("limb", limb))
    }

    /// `n` digits of `to` bits each, of a number in digits of `from` bits; the last of both has what is left.
    fn regrouped(&mut self, digits: &[Expr], from: u32, to: u32, n: u32) -> Vec<Expr> {
        let int = |value: u64| Expr::int(Type::U64, value);
        let mut made = Vec::new();
        for number in 0..n {
            let (lo, hi) = (number * to, (number + 1) * to);
            let is_last = number + 1 == n;
            let mut sum = int(0);
            for (at, digit) in (0..).zip(digits) {
                let begin = at * from;
                let ends = begin + if at as usize + 1 == digits.len() { 64 } else { from };
                if begin >= hi && !is_last || ends <= lo || begin >= lo + 64 {
                    continue;
                }
                let part = match begin.checked_sub(lo) {
                    Some(up) => digit.clone().shifted_left(up),
                    None if lo - begin >= 64 => continue,
                    None => digit.clone().shifted_right(lo - begin),
                };
                sum = or(sum, part);
            }
            let cut = if is_last { sum } else { sum.and(int((1 << to) - 1)) };
            made.push(self.code.f.named("digit", cut));
        }
        made
    }

    /// Stores three limbs as those of the loop.
    fn given(&mut self, x: [Expr; 3], object: headrace_transform::kernel::ObjectId, n: usize, limb: u32) {
        let int = |value: u64| Expr::int(Type::U64, value);
        let ones = (1u64 << LIMB) - 1;
        let mut x = x;
        // The first time little is left to be carried on.
        for _ in 0..2 {
            let [a, b, c] = x;
            let b = self.code.f.named("limb", b.plus(a.clone().shifted_right(LIMB)));
            let a = a.and(int(ones));
            let c = self.code.f.named("limb", c.plus(b.clone().shifted_right(LIMB)));
            let b = b.and(int(ones));
            let over = c.clone().shifted_right(self.top).times(int(self.less));
            let a = self.code.f.named("limb", a.plus(over));
            x = [a, b, c.and(int((1 << self.top) - 1))];
        }
        let width = self.code.object(object).width;
        let ty = super::value::word_type(width);
        for (at, digit) in self.regrouped(&x, LIMB, limb, n as u32).into_iter().enumerate() {
            self.code.store(object, Expr::u32(at as u32), Value::one(digit.to(ty), true));
        }
    }
}
