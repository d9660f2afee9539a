//! Bilinear maps over GF(2), and which of them are products of polynomials modulo a fixed one.
//!
//! A map `out(x, y)` that is linear in `x` and linear in `y` is known from what it makes of pairs of unit vectors. It is a
//! product modulo P when, with the right numbering of the bits, `out(X^i, X^j) = c · X^(i+j) mod P` for a fixed `c`. That is
//! recognised without search: the vectors `w_t = out(X^i, X^j)` must depend on `t = i + j` only, and each must be the one
//! before shifted up by one, with P's low part XORed in where the highest bit falls out. The first that falls out *shows* P.
//! Then all is compared. For n = 3, writing vectors highest bit first:
//!
//! ```text
//! w_0 = 001   w_1 = 010   w_2 = 100   w_3 = 011   w_4 = 110
//!                                     └ 100 << 1 = 000, and 011 is there: P = X^3 + X + 1
//! ```
//!
//! Standards number bits in all ways. Four orders ([`BitOrder`]) are tried for each of `x`, `y` and `out`, 64 views in all. A
//! product usually has two: with all three reversed, P becomes its reciprocal and `c` a power of X, as in Montgomery's
//! multiplication; which one is cheaper to compute is for [`carryless`] to say.
//!
//! ```
//! use headrace_boolean::bilinear::{BilinearMap, Modulus};
//! let field = Modulus::new(8, 0x1b).unwrap();
//! let map = BilinearMap::from_u128_map(8, 8, 8, |x, y| field.multiply(x, y));
//! let best = map.as_products()[0];
//! assert_eq!((best.modulus, best.factor), (field, 1));
//! assert_eq!(best.modulus.to_string(), "X^8 + X^4 + X^3 + X + 1");
//! ```

pub mod carryless;
mod polynomial;

pub use polynomial::Modulus;

use crate::matrix::{BitMatrix, BitVector};

/// A map of two vectors to one, linear in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BilinearMap {
    n_x: usize,
    n_y: usize,
    n_out: usize,
    /// `out(e_i, e_j)` at `i * n_y + j`.
    products: Vec<BitVector>,
}

impl BilinearMap {
    /// The map with `out_k = xᵀ · coefficients[k] · y`. None when the matrices differ in size, or there are none.
    pub fn from_coefficients(coefficients: &[BitMatrix]) -> Option<BilinearMap> {
        let first = coefficients.first()?;
        let (n_x, n_y) = (first.n_rows(), first.n_columns());
        if coefficients.iter().any(|m| (m.n_rows(), m.n_columns()) != (n_x, n_y)) {
            return None;
        }
        let products = (0..n_x * n_y)
            .map(|at| BitVector::from_bits(coefficients.iter().map(|m| m.get(at / n_y, at % n_y))))
            .collect();
        Some(BilinearMap { n_x, n_y, n_out: coefficients.len(), products })
    }

    /// The map that agrees with `map` on all pairs of unit vectors. Whether `map` is bilinear is the caller's knowledge.
    pub fn from_map(
        n_x: usize,
        n_y: usize,
        n_out: usize,
        mut map: impl FnMut(&BitVector, &BitVector) -> BitVector,
    ) -> BilinearMap {
        let mut products = Vec::with_capacity(n_x * n_y);
        for i in 0..n_x {
            for j in 0..n_y {
                let product = map(&BitVector::unit(n_x, i), &BitVector::unit(n_y, j));
                products.push(BitVector::from_words(n_out, product.words()));
            }
        }
        BilinearMap { n_x, n_y, n_out, products }
    }

    /// [`BilinearMap::from_map`] for at most 128 bits each.
    pub fn from_u128_map(n_x: usize, n_y: usize, n_out: usize, mut map: impl FnMut(u128, u128) -> u128) -> BilinearMap {
        BilinearMap::from_map(n_x, n_y, n_out, |x, y| BitVector::from_u128(n_out, map(x.to_u128(), y.to_u128())))
    }

    /// The matrices B_k with `out_k = xᵀ · B_k · y`.
    pub fn coefficients(&self) -> Vec<BitMatrix> {
        let entry = |k: usize, i: usize, j: usize| self.products[i * self.n_y + j].get(k);
        (0..self.n_out).map(|k| BitMatrix::from_fn(self.n_x, self.n_y, |i, j| entry(k, i, j))).collect()
    }

    /// The widths of `x`, `y` and `out`.
    pub fn widths(&self) -> (usize, usize, usize) {
        (self.n_x, self.n_y, self.n_out)
    }

    /// `out(e_i, e_j)`, zero outside.
    pub fn unit_product(&self, i: usize, j: usize) -> BitVector {
        let inside = i < self.n_x && j < self.n_y;
        let product = self.products.get(i * self.n_y + j).filter(|_| inside);
        product.cloned().unwrap_or_else(|| BitVector::zero(self.n_out))
    }

    /// `out(x, y)`.
    pub fn at(&self, x: &BitVector, y: &BitVector) -> BitVector {
        let mut sum = BitVector::zero(self.n_out);
        for i in x.ones() {
            for j in y.ones() {
                sum.xor_assign(&self.unit_product(i, j));
            }
        }
        sum
    }

    /// The linear map of `x` that is left when `y` is known.
    pub fn with_y(&self, y: &BitVector) -> BitMatrix {
        BitMatrix::from_map(self.n_x, self.n_out, |x| self.at(x, y))
    }

    /// All the ways in which the map is a product of polynomials, the plainest first: without a factor, then with the power
    /// of X nearest to one, then with the fewest bits reordered. Empty when it is none, or the widths differ or exceed 128.
    pub fn as_products(&self) -> Vec<Product> {
        let n = self.n_x;
        if n == 0 || n > 128 || self.n_y != n || self.n_out != n {
            return Vec::new();
        }
        let products: Vec<u128> = self.products.iter().map(BitVector::to_u128).collect();
        let mut found = Vec::new();
        for x in BitOrder::of_width(n) {
            for y in BitOrder::of_width(n) {
                for out in BitOrder::of_width(n) {
                    let orders = Orders { x, y, out };
                    found.extend(as_product(&products, n, orders));
                }
            }
        }
        found.sort_by_key(|product: &Product| {
            let distance = product.exponent.map_or(u64::MAX, i64::unsigned_abs);
            let orders = [product.orders.x, product.orders.y, product.orders.out];
            (distance, orders.iter().filter(|order| **order != BitOrder::Identity).count(), orders)
        });
        found
    }
}

/// How the bits of a value are numbered as coefficients. Each order undoes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BitOrder {
    /// Bit `i` is the coefficient of X^i.
    Identity,
    /// The other way round: bit `i` is that of X^(n-1-i).
    Reversed,
    /// Bytes in order, the bits in each the other way round: a byte string whose first bit is the highest of its first byte,
    /// read as a little-endian number.
    ReversedInBytes,
    /// Bytes the other way round, the bits in each in order: the same string read as a big-endian number is `Reversed`.
    ReversedBytes,
}

impl BitOrder {
    /// The orders that there are for `n` bits: those of bytes only for whole bytes, and more than one.
    pub fn of_width(n: usize) -> Vec<BitOrder> {
        match n {
            0 | 1 => vec![BitOrder::Identity],
            _ if n.is_multiple_of(8) && n > 8 => {
                vec![BitOrder::Identity, BitOrder::Reversed, BitOrder::ReversedInBytes, BitOrder::ReversedBytes]
            }
            _ => vec![BitOrder::Identity, BitOrder::Reversed],
        }
    }

    /// `value` of `n` bits, 1 to 128, with its bits in this order.
    pub fn apply(self, value: u128, n: usize) -> u128 {
        match self {
            BitOrder::Identity => value,
            BitOrder::Reversed => value.reverse_bits() >> (128 - n),
            BitOrder::ReversedInBytes => value.reverse_bits().swap_bytes(),
            BitOrder::ReversedBytes => value.swap_bytes() >> (128 - n),
        }
    }

    /// Where bit `i` of `n` goes.
    pub fn place(self, i: usize, n: usize) -> usize {
        match self {
            BitOrder::Identity => i,
            BitOrder::Reversed => n - 1 - i,
            BitOrder::ReversedInBytes => i ^ 7,
            BitOrder::ReversedBytes => n - 8 - i / 8 * 8 + i % 8,
        }
    }

    /// The permutation of `n` bits as a matrix.
    pub fn matrix(self, n: usize) -> BitMatrix {
        BitMatrix::from_fn(n, n, |i, j| self.place(j, n) == i)
    }
}

/// The orders of both factors and the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Orders {
    /// Of the first factor.
    pub x: BitOrder,
    /// Of the second.
    pub y: BitOrder,
    /// Of the product.
    pub out: BitOrder,
}

/// `out = factor · x · y mod P`, with the bits of all three in the given orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// How bits are coefficients.
    pub orders: Orders,
    /// P.
    pub modulus: Modulus,
    /// What the product is multiplied by: 1, mostly, or a power of X.
    pub factor: u128,
    /// The exponent of that power, when there is one between -2n and 2n.
    pub exponent: Option<i64>,
}

impl Product {
    /// The product by its definition.
    pub fn at(&self, x: u128, y: u128) -> u128 {
        let n = self.modulus.degree();
        let product = self.modulus.multiply(self.orders.x.apply(x, n), self.orders.y.apply(y, n));
        self.orders.out.apply(self.modulus.multiply(product, self.factor), n)
    }

    /// `y`, `y∘y`, `y∘y∘y`, …, `n_powers` of them, where `∘` is the product itself with its orders and factor: what splits
    /// the recurrence `x := (x ^ a) ∘ y` over lanes, for `((x ∘ y) ^ a) ∘ y = x ∘ (y∘y) ^ a ∘ y`. That needs one order for
    /// all three; none otherwise.
    pub fn powers(&self, y: u128, n_powers: usize) -> Option<Vec<u128>> {
        let Orders { x, y: order, out } = self.orders;
        let next = |power: &u128| Some(self.at(*power, y));
        (x == order && order == out).then(|| std::iter::successors(Some(y), next).take(n_powers).collect())
    }
}

/// P's low part, from vectors each of which should be X times the one before.
fn modulus_of(sequence: &[u128], n: usize) -> Option<Modulus> {
    let mask = u128::MAX >> (128 - n);
    let fallen = sequence.windows(2).find(|pair| pair[0] >> (n - 1) & 1 != 0)?;
    let modulus = Modulus::new(n, (fallen[0] << 1 & mask) ^ fallen[1])?;
    sequence.windows(2).all(|pair| modulus.times_x(pair[0]) == pair[1]).then_some(modulus)
}

fn as_product(products: &[u128], n: usize, orders: Orders) -> Option<Product> {
    let at = |i: usize, j: usize| orders.out.apply(products[orders.x.place(i, n) * n + orders.y.place(j, n)], n);
    // One pair for each sum, along two sides of the square.
    let sequence: Vec<u128> = (0..2 * n - 1).map(|t| at(t.min(n - 1), t - t.min(n - 1))).collect();
    let modulus = modulus_of(&sequence, n)?;
    let factor = sequence[0];
    if (0..n * n).any(|place| at(place / n, place % n) != sequence[place / n + place % n]) {
        return None;
    }
    Some(Product { orders, modulus, factor, exponent: modulus.exponent_of(factor, 2 * n as i64) })
}

/// A linear map that multiplies by a constant: `out = element · x mod P`, with the bits in the given orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConstantProduct {
    /// How the bits of `x` are coefficients.
    pub x: BitOrder,
    /// How those of `out` are.
    pub out: BitOrder,
    /// P.
    pub modulus: Modulus,
    /// The constant.
    pub element: u128,
}

/// All the ways in which `matrix` multiplies by a constant modulo some polynomial. Those without reordering come first.
/// Empty when it does not, when it has more than 128 rows or is not square, and for the identity, which is 1 modulo anything.
pub fn as_constant_products(matrix: &BitMatrix) -> Vec<ConstantProduct> {
    let n = matrix.n_columns();
    if n == 0 || n > 128 || matrix.n_rows() != n {
        return Vec::new();
    }
    let columns: Vec<u128> = matrix.transpose().rows().iter().map(BitVector::to_u128).collect();
    let mut found = Vec::new();
    for x in BitOrder::of_width(n) {
        for out in BitOrder::of_width(n) {
            let sequence: Vec<u128> = (0..n).map(|i| out.apply(columns[x.place(i, n)], n)).collect();
            if let Some(modulus) = modulus_of(&sequence, n) {
                found.push(ConstantProduct { x, out, modulus, element: sequence[0] });
            }
        }
    }
    found
}

/// The constant that `matrix` multiplies by modulo `modulus`, when it does, with the bits in these orders.
pub fn constant_of(matrix: &BitMatrix, modulus: &Modulus, x: BitOrder, out: BitOrder) -> Option<u128> {
    let n = modulus.degree();
    if matrix.n_columns() != n || matrix.n_rows() != n {
        return None;
    }
    let columns: Vec<u128> = matrix.transpose().rows().iter().map(BitVector::to_u128).collect();
    let sequence: Vec<u128> = (0..n).map(|i| out.apply(columns[x.place(i, n)], n)).collect();
    sequence.windows(2).all(|pair| modulus.times_x(pair[0]) == pair[1]).then(|| sequence[0])
}

#[cfg(test)]
mod tests;
