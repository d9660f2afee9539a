//! Search of multiplication algorithms, as plans: how a carry-less product is made of smaller ones. The plans for one product,
//! and their parts.

use super::program::{Builder, Half, Op, Prices, Program};
use crate::bilinear::{BilinearMap, BitOrder, Modulus, Product};

/// How the unreduced product is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiplication {
    /// Every word with every word.
    ByWords,
    /// Three multiplications for two words by two. `prepare_y` also gives the XOR of the words of `y`.
    Karatsuba,
}

/// How it is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// From the top, 64 bits at a time, by multiplying with P's low part.
    Fold,
    /// From the top, by shifting and XORing, one shift for each term of P's low part.
    Shifts,
    /// From the top, by Barrett's quotient: any P.
    Barrett,
    /// From the bottom: multiplies by X^-n. Any P with a constant term.
    Bottom,
}

/// One way to compute a product. All four programs are over values of 128 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is computed.
    pub product: Product,
    /// How it is multiplied.
    pub multiplication: Multiplication,
    /// How it is reduced.
    pub reduction: Reduction,
    /// From `x` to one value.
    pub prepare_x: Program,
    /// From `y` to the one or two values that `multiply` takes after the one of `x`.
    pub prepare_y: Program,
    /// To the unreduced product: one value for degree 64, three for 128. Linear in what comes from `x`: the XOR of the
    /// unreduced products of many pairs, reduced once, is the XOR of their products.
    pub multiply: Program,
    /// From there to the result. Linear.
    pub reduce: Program,
}

impl Plan {
    /// The whole product as one program of two inputs.
    pub fn program(&self) -> Program {
        let mut b = Builder::new(2);
        let mut factors = b.append(&self.prepare_x, &[0]);
        factors.extend(b.append(&self.prepare_y, &[1]));
        let unreduced = b.append(&self.multiply, &factors);
        let out = b.append(&self.reduce, &unreduced);
        b.finish(&out)
    }

    /// What one product costs; without `prepare_y` when `y` stays the same.
    pub fn price(&self, prices: &Prices, y_is_fixed: bool) -> f64 {
        let fixed = if y_is_fixed { 0.0 } else { self.prepare_y.price(prices) };
        let reduced = self.reduce.price(prices) * prices.reductions;
        self.prepare_x.price(prices) + fixed + self.multiply.price(prices) + reduced
    }
}

/// All the plans for a map that is a product modulo a polynomial of degree 64 or 128, cheapest first; each is compared with
/// the map before it is given back. With `y_is_fixed`, what is done to `y` alone counts for nothing.
pub fn plans(map: &BilinearMap, prices: &Prices, y_is_fixed: bool) -> Vec<Plan> {
    let mut plans = sorted_plans(map, prices, y_is_fixed);
    plans.retain(|plan| plan.program().computes(map));
    plans
}

/// The first of [`plans`], without looking at the others.
pub fn best_plan(map: &BilinearMap, prices: &Prices, y_is_fixed: bool) -> Option<Plan> {
    sorted_plans(map, prices, y_is_fixed).into_iter().find(|plan| plan.program().computes(map))
}

fn sorted_plans(map: &BilinearMap, prices: &Prices, y_is_fixed: bool) -> Vec<Plan> {
    let mut plans: Vec<Plan> = map.as_products().iter().flat_map(plans_of).collect();
    plans.sort_by(|a, b| a.price(prices, y_is_fixed).total_cmp(&b.price(prices, y_is_fixed)));
    plans
}

fn plans_of(product: &Product) -> Vec<Plan> {
    let mut plans = Vec::new();
    for multiplication in [Multiplication::ByWords, Multiplication::Karatsuba] {
        for reduction in [Reduction::Fold, Reduction::Shifts, Reduction::Barrett, Reduction::Bottom] {
            for shift in [false, true] {
                plans.extend(plan(product, multiplication, reduction, shift));
            }
        }
    }
    plans
}

/// One plan; none when the parts do not go together. With `shift`, the unreduced product is multiplied by X once.
fn plan(product: &Product, multiplication: Multiplication, reduction: Reduction, shift: bool) -> Option<Plan> {
    let modulus = product.modulus;
    let n = modulus.degree();
    if !(n == 128 || n == 64 && multiplication == Multiplication::ByWords) {
        return None;
    }
    let brings = match reduction {
        Reduction::Bottom => modulus.power_of_x(-(n as i64) + i64::from(shift))?,
        _ => modulus.power_of_x(i64::from(shift))?,
    };
    let missing = modulus.multiply(product.factor, modulus.inverse(brings)?);
    if shift && missing != 1 {
        return None; // Then the whole factor goes into prepare_y, and the shift is for nothing.
    }
    let core = reduction_program(&modulus, reduction, shift)?;
    let multiply = multiply_program(n, multiplication);

    let mut b = Builder::new(1);
    let x = in_order(&mut b, 0, product.orders.x, n);
    let prepare_x = b.finish(&[x]);

    let mut b = Builder::new(1);
    let mut y = in_order(&mut b, 0, product.orders.y, n);
    if missing != 1 {
        // y · missing, by a product with the constant that the reduction turns into it.
        let constant = modulus.multiply(missing, modulus.inverse(brings)?);
        let constant = b.constant(constant);
        let words = multiply_program(n, Multiplication::ByWords);
        let unreduced = b.append(&words, &[y, constant]);
        y = b.append(&core, &unreduced)[0];
    }
    let prepare_y = if multiplication == Multiplication::Karatsuba {
        let swapped = b.op(Op::SwapHalves(y));
        let sum = b.xor(y, swapped);
        b.finish(&[y, sum])
    } else {
        b.finish(&[y])
    };

    let mut b = Builder::new(core.n_inputs());
    let mut inputs: Vec<usize> = (0..core.n_inputs()).collect();
    if multiplication == Multiplication::Karatsuba {
        inputs[1] = b.xor_all(&[1, 0, 2]);
    }
    let reduced = b.append(&core, &inputs)[0];
    let out = in_order(&mut b, reduced, product.orders.out, n);
    let reduce = b.finish(&[out]);
    Some(Plan { product: *product, multiplication, reduction, prepare_x, prepare_y, multiply, reduce })
}

/// `value` of `n` bits with its bits in another order.
fn in_order(b: &mut Builder, mut value: usize, order: BitOrder, n: usize) -> usize {
    if matches!(order, BitOrder::Reversed | BitOrder::ReversedInBytes) {
        value = b.op(Op::ReverseBitsInBytes(value));
    }
    if matches!(order, BitOrder::Reversed | BitOrder::ReversedBytes) {
        value = b.op(Op::ReverseBytes(value));
        if n == 64 {
            value = b.op(Op::HighToLow(value));
        }
    }
    value
}

/// The unreduced product: for degree 64 in one value, for 128 in three, of weights 1, X^64 and X^128; by Karatsuba's identity
/// the one of X^64 still has the two others in it, which one XOR takes out of many sums.
fn multiply_program(n: usize, multiplication: Multiplication) -> Program {
    use Half::{High, Low};
    let (x, y, sum_of_y) = (0, 1, 2);
    if n == 64 {
        let mut b = Builder::new(2);
        let z = b.op(Op::Multiply(x, Low, y, Low));
        return b.finish(&[z]);
    }
    let karatsuba = multiplication == Multiplication::Karatsuba;
    let mut b = Builder::new(if karatsuba { 3 } else { 2 });
    let low = b.op(Op::Multiply(x, Low, y, Low));
    let high = b.op(Op::Multiply(x, High, y, High));
    let middle = if karatsuba {
        let swapped = b.op(Op::SwapHalves(x));
        let sum_of_x = b.xor(x, swapped);
        b.op(Op::Multiply(sum_of_x, Low, sum_of_y, Low))
    } else {
        let one = b.op(Op::Multiply(x, Low, y, High));
        let other = b.op(Op::Multiply(x, High, y, Low));
        b.xor(one, other)
    };
    b.finish(&[low, middle, high])
}

/// `value · X^bits` of 128 bits, `bits` from 0 to 63, what overflows dropped.
fn shift_left(b: &mut Builder, value: usize, bits: u32) -> usize {
    if bits == 0 {
        return value;
    }
    let halves = b.op(Op::ShiftHalvesLeft(value, bits));
    let carry = b.op(Op::ShiftHalvesRight(value, 64 - bits));
    let carry = b.op(Op::LowToHigh(carry));
    b.xor(halves, carry)
}

/// What `value · X^bits` has from X^128 on, `bits` from 1 to 63.
fn overflow(b: &mut Builder, value: usize, bits: u32) -> usize {
    let halves = b.op(Op::ShiftHalvesRight(value, 64 - bits));
    b.op(Op::HighToLow(halves))
}

/// The reduction of an unreduced product, multiplied by X before if `shift`. None when P does not allow it.
fn reduction_program(modulus: &Modulus, reduction: Reduction, shift: bool) -> Option<Program> {
    if modulus.degree() == 64 {
        return reduction_of_64(modulus, reduction, shift);
    }
    let mut b = Builder::new(3);
    let up = b.op(Op::LowToHigh(1));
    let down = b.op(Op::HighToLow(1));
    let mut low = b.xor(0, up);
    let mut high = b.xor(2, down);
    if shift {
        // The product has 255 bits, so that nothing is lost above.
        let moved = shift_left(&mut b, high, 1);
        let carry = overflow(&mut b, low, 1);
        high = b.xor(moved, carry);
        low = shift_left(&mut b, low, 1);
    }
    let out = match reduction {
        Reduction::Fold => fold(&mut b, modulus, low, high)?,
        Reduction::Shifts => shifts(&mut b, modulus, low, high)?,
        Reduction::Barrett => {
            // q = high ^ (high · μ) / X^128; out = low ^ q · P mod X^128.
            let beyond = product_high(&mut b, high, modulus.barrett());
            let quotient = b.xor(high, beyond);
            let multiple = product_low(&mut b, quotient, modulus.low());
            b.xor(low, multiple)
        }
        Reduction::Bottom => bottom(&mut b, modulus, low, high)?,
    };
    Some(b.finish(&[out]))
}

/// From the top by P's low part of at most 64 bits: first what is at X^192 and above, then what is then at X^128 and above.
fn fold(b: &mut Builder, modulus: &Modulus, low: usize, high: usize) -> Option<usize> {
    if modulus.low() >> 64 != 0 {
        return None;
    }
    let p = b.constant(modulus.low());
    let first = b.op(Op::Multiply(high, Half::High, p, Half::Low));
    let (up, down) = (b.op(Op::LowToHigh(first)), b.op(Op::HighToLow(first)));
    let high = b.xor(high, down);
    let second = b.op(Op::Multiply(high, Half::Low, p, Half::Low));
    Some(b.xor_all(&[low, up, second]))
}

/// From the top by shifts: `high · p` overflows by at most as many bits as p has, and these once more not at all.
fn shifts(b: &mut Builder, modulus: &Modulus, low: usize, high: usize) -> Option<usize> {
    let terms: Vec<u32> = (0..128).filter(|i| modulus.low() >> i & 1 != 0).collect();
    if terms.last().is_some_and(|&highest| highest > 63) {
        return None;
    }
    let mut over = vec![high];
    for &bits in terms.iter().filter(|bits| **bits != 0) {
        let part = overflow(b, high, bits);
        over.push(part);
    }
    let folded = b.xor_all(&over);
    let mut parts = vec![low];
    for &bits in &terms {
        let part = shift_left(b, folded, bits);
        parts.push(part);
    }
    Some(b.xor_all(&parts))
}

/// From the bottom: twice, a multiple of P that clears the lowest word is added, and the word is dropped.
fn bottom(b: &mut Builder, modulus: &Modulus, low: usize, high: usize) -> Option<usize> {
    let inverse = modulus.inverse_modulo_x64()?;
    let step = |b: &mut Builder, low: usize| {
        // Words of weight 1 and X^64 in; of weight X^64 and X^128 out.
        if inverse == 1 {
            let p = b.constant(modulus.low() >> 64);
            let multiple = b.op(Op::Multiply(low, Half::Low, p, Half::Low));
            let swapped = b.op(Op::SwapHalves(low));
            return b.xor(swapped, multiple);
        }
        let inverse = b.constant(u128::from(inverse));
        let p = b.constant(modulus.low());
        let q = b.op(Op::Multiply(low, Half::Low, inverse, Half::Low));
        let beside = b.op(Op::Multiply(q, Half::Low, p, Half::Low));
        let above = b.op(Op::Multiply(q, Half::Low, p, Half::High));
        let cleared = b.xor(low, beside);
        let rest = b.op(Op::HighToLow(cleared));
        let top = b.op(Op::LowToHigh(q));
        b.xor_all(&[rest, above, top])
    };
    let once = step(b, low);
    let twice = step(b, once);
    Some(b.xor(high, twice))
}

/// `(value · constant) / X^128`.
fn product_high(b: &mut Builder, value: usize, constant: u128) -> usize {
    use Half::{High, Low};
    let c = b.constant(constant);
    let (has_low, has_high) = (constant as u64 != 0, constant >> 64 != 0);
    let mut middle = Vec::new();
    if has_low {
        middle.push(b.op(Op::Multiply(value, High, c, Low)));
    }
    if has_high {
        middle.push(b.op(Op::Multiply(value, Low, c, High)));
    }
    if has_low {
        let lowest = b.op(Op::Multiply(value, Low, c, Low));
        middle.push(b.op(Op::HighToLow(lowest)));
    }
    let middle = b.xor_all(&middle);
    let middle = b.op(Op::HighToLow(middle));
    if has_high {
        let highest = b.op(Op::Multiply(value, High, c, High));
        return b.xor(highest, middle);
    }
    middle
}

/// `(value · constant) mod X^128`.
fn product_low(b: &mut Builder, value: usize, constant: u128) -> usize {
    use Half::{High, Low};
    let c = b.constant(constant);
    let mut parts = Vec::new();
    let mut middle = Vec::new();
    if constant as u64 != 0 {
        parts.push(b.op(Op::Multiply(value, Low, c, Low)));
        middle.push(b.op(Op::Multiply(value, High, c, Low)));
    }
    if constant >> 64 != 0 {
        middle.push(b.op(Op::Multiply(value, Low, c, High)));
    }
    let middle = b.xor_all(&middle);
    parts.push(b.op(Op::LowToHigh(middle)));
    b.xor_all(&parts)
}

fn reduction_of_64(modulus: &Modulus, reduction: Reduction, shift: bool) -> Option<Program> {
    use Half::{High, Low};
    let mut b = Builder::new(1);
    let z = if shift { shift_left(&mut b, 0, 1) } else { 0 };
    let p = b.constant(modulus.low());
    let out = match reduction {
        Reduction::Fold => {
            if modulus.second_degree() > 32 {
                return None;
            }
            let first = b.op(Op::Multiply(z, High, p, Low));
            let second = b.op(Op::Multiply(first, High, p, Low));
            b.xor_all(&[z, first, second])
        }
        Reduction::Barrett => {
            let mu = b.constant(modulus.barrett());
            let beyond = b.op(Op::Multiply(z, High, mu, Low));
            let quotient = b.xor(z, beyond);
            let multiple = b.op(Op::Multiply(quotient, High, p, Low));
            b.xor(z, multiple)
        }
        Reduction::Bottom => {
            let inverse = b.constant(u128::from(modulus.inverse_modulo_x64()?));
            let q = b.op(Op::Multiply(z, Low, inverse, Low));
            let multiple = b.op(Op::Multiply(q, Low, p, Low));
            let cleared = b.xor(z, multiple);
            let rest = b.op(Op::HighToLow(cleared));
            b.xor(rest, q)
        }
        Reduction::Shifts => return None,
    };
    let out = b.op(Op::KeepLow(out));
    Some(b.finish(&[out]))
}
