use super::carryless::{Prices, Program, Reduction, best_plan, plans};
use super::*;
use crate::random::Random;

fn number(random: &mut Random) -> u128 {
    u128::from(random.next()) << 64 | u128::from(random.next())
}

/// A product with the given orders and factor, as a map.
fn map_of(modulus: Modulus, orders: Orders, factor: u128) -> BilinearMap {
    let n = modulus.degree();
    let product = Product { orders, modulus, factor, exponent: None };
    BilinearMap::from_u128_map(n, n, n, |x, y| product.at(x, y))
}

const PLAIN: Orders = Orders { x: BitOrder::Identity, y: BitOrder::Identity, out: BitOrder::Identity };

/// NIST SP 800-38D, section 6.3, step by step: bit 0 of a block is the highest bit of its first byte, and blocks are read as
/// little-endian numbers.
fn block_product(x: u128, y: u128) -> u128 {
    let (x, mut v) = (x.swap_bytes(), y.swap_bytes());
    let mut z = 0;
    for i in (0..128).rev() {
        if x >> i & 1 != 0 {
            z ^= v;
        }
        v = if v & 1 != 0 { v >> 1 ^ 0xe1 << 120 } else { v >> 1 };
    }
    z.swap_bytes()
}

#[test]
fn arithmetic_is_that_of_a_ring_and_fields_are_told_from_rings() {
    let mut random = Random::new(1);
    let byte = Modulus::new(8, 0x1b).unwrap();
    assert!(byte.is_irreducible());
    assert_eq!(byte.multiply(0x57, 0x83), 0xc1); // FIPS 197, section 4.2
    assert_eq!((1..256).filter(|low| Modulus::new(8, *low).unwrap().is_irreducible()).count(), 30);
    assert!(Modulus::new(128, 0x87).unwrap().is_irreducible());
    assert!(Modulus::new(64, 0x1b).unwrap().is_irreducible());
    assert!(!Modulus::new(128, 0x88).unwrap().is_irreducible());
    for n in [3, 8, 31, 64, 65, 127, 128] {
        let modulus = Modulus::new(n, (number(&mut random) | 1) & (u128::MAX >> (128 - n))).unwrap();
        for _ in 0..20 {
            let (a, b, c) = (number(&mut random), number(&mut random), number(&mut random));
            assert_eq!(modulus.multiply(a, b), modulus.multiply(b, a));
            assert_eq!(modulus.multiply(a ^ c, b), modulus.multiply(a, b) ^ modulus.multiply(c, b));
            assert_eq!(modulus.multiply(modulus.multiply(a, b), c), modulus.multiply(a, modulus.multiply(b, c)));
            let a = a & modulus.mask();
            assert_eq!(modulus.over_x(modulus.times_x(a)), Some(a));
            assert_eq!(modulus.multiply(a, 2 & modulus.mask()), modulus.times_x(a));
            if let Some(inverse) = modulus.inverse(a) {
                assert_eq!(modulus.multiply(inverse, a), 1);
            }
        }
        let k = 3 * n as i64 / 2;
        let power = modulus.power_of_x(-k).unwrap();
        assert_eq!(modulus.multiply(power, modulus.power_of_x(k).unwrap()), 1);
        let exponent = modulus.exponent_of(power, 2 * n as i64).unwrap();
        assert_eq!(modulus.power_of_x(exponent), Some(power));
        let powers = modulus.powers(3, 5);
        assert_eq!(powers[4], modulus.multiply(powers[1], powers[2]));
    }
    assert_eq!(Modulus::new(8, 0x100), None);
    assert_eq!(Modulus::new(129, 1), None);
}

#[test]
fn every_order_and_factor_is_recognised() {
    let mut random = Random::new(2);
    for n in [3, 8, 16, 32] {
        let modulus = Modulus::new(n, (number(&mut random) | 1) & (u128::MAX >> (128 - n))).unwrap();
        for x in BitOrder::of_width(n) {
            for y in BitOrder::of_width(n) {
                for out in BitOrder::of_width(n) {
                    let orders = Orders { x, y, out };
                    for factor in [1, modulus.power_of_x(-3).unwrap()] {
                        let map = map_of(modulus, orders, factor);
                        let found = map.as_products();
                        assert!(
                            found.iter().any(|p| (p.orders, p.modulus, p.factor) == (orders, modulus, factor)),
                            "{orders:?} {modulus} {factor}"
                        );
                        for product in found {
                            let (a, b) = (number(&mut random) & modulus.mask(), number(&mut random) & modulus.mask());
                            let at = map.at(&BitVector::from_u128(n, a), &BitVector::from_u128(n, b));
                            assert_eq!(product.at(a, b), at.to_u128());
                        }
                        let again = BilinearMap::from_coefficients(&map.coefficients()).unwrap();
                        assert_eq!(again, map);
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_no_product_is_not_taken_for_one() {
    let modulus = Modulus::new(16, 0x2b).unwrap();
    let coefficients = map_of(modulus, PLAIN, 1).coefficients();
    for place in 0..16 * 16 {
        let mut spoilt = coefficients.clone();
        let k = place % 16;
        let (i, j) = (place / 16, place * 7 % 16);
        let turned = !spoilt[k].get(i, j);
        spoilt[k].set(i, j, turned);
        assert!(BilinearMap::from_coefficients(&spoilt).unwrap().as_products().is_empty());
    }
    let and = BilinearMap::from_u128_map(16, 16, 16, |x, y| x & y);
    assert!(and.as_products().is_empty());
    assert!(BilinearMap::from_u128_map(8, 8, 4, |x, y| x & y).as_products().is_empty());
    assert!(BilinearMap::from_coefficients(&[]).is_none());
}

#[test]
fn the_standard_block_product_is_recognised_and_planned() {
    let map = BilinearMap::from_u128_map(128, 128, 128, block_product);
    let products = map.as_products();
    let best = products[0];
    assert_eq!(best.modulus.to_string(), "X^128 + X^7 + X^2 + X + 1");
    assert_eq!(best.factor, 1);
    let in_bytes = BitOrder::ReversedInBytes;
    assert_eq!(best.orders, Orders { x: in_bytes, y: in_bytes, out: in_bytes });
    // The other view: bytes reversed, the reciprocal polynomial, a power of X.
    let other = products.iter().find(|p| p.orders.x == BitOrder::ReversedBytes).unwrap();
    assert_eq!(other.modulus.to_string(), "X^128 + X^127 + X^126 + X^121 + 1");
    assert_eq!(other.exponent, Some(-127));

    // Powers split the recurrence x := (x ^ a) * h.
    let (h, a, b) = (0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e, 12345 << 70, 67890 << 3);
    let powers = best.powers(h, 2).unwrap();
    let serial = block_product(block_product(a, h) ^ b, h);
    assert_eq!(serial, block_product(a, powers[1]) ^ block_product(b, powers[0]));
    assert_eq!(other.powers(h, 2), Some(powers));

    // Where many products share a reduction, the one that multiplies least is cheapest: three times a block.
    let shared = best_plan(&map, &Prices { reductions: 0.1, ..Prices::default() }, true).unwrap();
    assert_eq!(shared.multiply.n_multiplications(), 3);
    assert_eq!(shared.multiply.ops().len(), 5, "sums of sums are left to the reduction");

    let prices = Prices { reverse_bits: 5.0, ..Prices::default() };
    let plans = plans(&map, &prices, true);
    let cheapest = &plans[0];
    assert_eq!(cheapest.reduction, Reduction::Bottom);
    assert_eq!(cheapest.product.orders.x, BitOrder::ReversedBytes);
    assert_eq!(
        cheapest.multiply.n_multiplications() + cheapest.reduce.n_multiplications(),
        5 + usize::from(cheapest.prepare_y.outputs().len() == 1)
    );
    for reduction in [Reduction::Fold, Reduction::Shifts, Reduction::Barrett, Reduction::Bottom] {
        assert!(plans.iter().any(|plan| plan.reduction == reduction), "{reduction:?}");
    }
    assert_eq!(best_plan(&map, &prices, true).as_ref(), Some(cheapest));
    // Many products, reduced once.
    let mut random = Random::new(3);
    for plan in &plans {
        let mut sum = vec![0; plan.multiply.outputs().len()];
        let mut expected = 0;
        for _ in 0..5 {
            let (x, y) = (number(&mut random), number(&mut random));
            let mut factors = plan.prepare_x.evaluate(&[x]);
            factors.extend(plan.prepare_y.evaluate(&[y]));
            let parts = plan.multiply.evaluate(&factors);
            sum.iter_mut().zip(parts).for_each(|(sum, part)| *sum ^= part);
            expected ^= block_product(x, y);
        }
        assert_eq!(plan.reduce.evaluate(&sum), [expected]);
    }
}

#[test]
fn any_polynomial_has_a_plan() {
    let mut random = Random::new(4);
    for n in [64, 128] {
        let mask = u128::MAX >> (128 - n);
        let dense = number(&mut random) & mask;
        for (low, factor) in [(0x1b, 1), (dense | 1, 1), (dense & !1, 1), (0x87, 0x1234_5678), (dense | 1, 0x55)] {
            let modulus = Modulus::new(n, low).unwrap();
            let factor = factor & mask;
            let map = map_of(modulus, PLAIN, factor);
            let plans = plans(&map, &Prices::default(), false);
            assert!(!plans.is_empty(), "{modulus} times {factor:#x}");
            let (x, y) = (number(&mut random) & mask, number(&mut random) & mask);
            for plan in &plans {
                let expected = modulus.multiply(modulus.multiply(x, y), factor);
                assert_eq!(plan.program().evaluate(&[x, y]), [expected], "{plan:?}");
            }
        }
    }
}

#[test]
fn a_wrong_program_is_refused() {
    let modulus = Modulus::new(64, 0x1b).unwrap();
    let map = map_of(modulus, PLAIN, 1);
    let other = map_of(Modulus::new(64, 0x1d).unwrap(), PLAIN, 1);
    let plans = plans(&map, &Prices::default(), false);
    assert!(plans[0].program().computes(&map));
    assert!(!plans[0].program().computes(&other));
    assert!(!Program::identity(2).computes(&map));
}

#[test]
fn constants_are_recognised_with_their_polynomial() {
    let mut random = Random::new(5);
    for n in [8, 32, 128] {
        let mask = u128::MAX >> (128 - n);
        let modulus = Modulus::new(n, (number(&mut random) | 1) & mask).unwrap();
        let element = number(&mut random) & mask | 2;
        for x in BitOrder::of_width(n) {
            for out in BitOrder::of_width(n) {
                let matrix = BitMatrix::from_u128_map(n, n, |v| out.apply(modulus.multiply(x.apply(v, n), element), n));
                let expected = ConstantProduct { x, out, modulus, element };
                assert!(as_constant_products(&matrix).contains(&expected));
                assert_eq!(constant_of(&matrix, &modulus, x, out), Some(element));
                let other = Modulus::new(n, modulus.low() ^ 4).unwrap();
                assert_eq!(constant_of(&matrix, &other, x, out), None);
                let product = map_of(modulus, PLAIN, 1);
                if n == 32 && (x, out) == (BitOrder::Identity, BitOrder::Identity) {
                    assert_eq!(product.with_y(&BitVector::from_u128(n, element)), matrix);
                }
            }
        }
    }
    let spoilt = BitMatrix::from_fn(8, 8, |i, j| (i * j) % 3 == 1);
    assert!(as_constant_products(&spoilt).is_empty());
}
