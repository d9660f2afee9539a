//! Composite-field inversion. Circuits for permutations of bytes that are inversion in GF(2⁸) between affine maps, by
//! arithmetic in subfields: no stored circuit, a search over representations instead (Canright, «A very compact S-box for AES»,
//! CHES 2005; the split into a linear, a non-linear and a linear part is that of Boyar and Peralta, SEA 2010).
//!
//! Write F for GF(2⁴) inside GF(2⁸), and z = a₁θ¹⁶ + a₀θ with a₁, a₀ in F for some θ outside F. With τ = θ + θ¹⁶ and ν = θ¹⁷
//! the norm N = z¹⁷ = a₁a₀τ² + (a₁ + a₀)²ν lies in F, and 1/z = z¹⁶/N = (a₀/N)θ¹⁶ + (a₁/N)θ: three products in F and an
//! inversion. A product in F takes nine AND gates: F has five linear maps onto GF(2²) up to a factor, any three of them
//! determine a product (evaluation at three points), and a product in GF(2²) is three products of bits (Karatsuba). Those
//! bits are linear forms of the input, for both factors the same nine, and are used again when a₀ and a₁ are multiplied
//! with 1/N. So the circuit is
//!
//! * 18 linear forms of the input, and 4 more that stand for (a₁ + a₀)²ν;
//! * 9 AND gates and sums: N, in four bits;
//! * a table of four bits: nine linear forms of 1/N;
//! * 18 AND gates and sums: the output, with the affine map behind it.
//!
//! θ (120 choices), the three maps (10) and the way in which the bits of the factors are paired (27 for each product) are
//! tried; the affine map before z and the one behind 1/z go into the linear forms.

use crate::affine_equivalence::{Affine, Equivalence, equivalences};
use crate::basis::Basis;
use crate::circuit::simplify::simplify;
use crate::circuit::{Circuit, Gate, Signal};
use crate::linear_layer::push_sums;
use crate::synthesis::synthesise;
use crate::truth_table::Table;
use std::sync::OnceLock;

/// GF(2⁸) modulo x⁸ + x⁴ + x³ + x + 1, by logarithms to the base x + 1.
pub(crate) struct Field {
    power: [u8; 510],
    logarithm: [u16; 256],
}

impl Field {
    pub fn get() -> &'static Field {
        static FIELD: OnceLock<Field> = OnceLock::new();
        FIELD.get_or_init(|| {
            let mut f = Field { power: [0; 510], logarithm: [0; 256] };
            let mut x = 1u8;
            for e in 0..255 {
                f.power[e] = x;
                f.power[e + 255] = x;
                f.logarithm[usize::from(x)] = e as u16;
                x ^= x << 1 ^ if x >> 7 == 1 { 0x1b } else { 0 };
            }
            f
        })
    }

    pub fn product(&self, a: u8, b: u8) -> u8 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power[usize::from(self.logarithm[usize::from(a)] + self.logarithm[usize::from(b)])]
    }

    pub fn to_the(&self, a: u8, e: u32) -> u8 {
        if a == 0 {
            return u8::from(e == 0);
        }
        self.power[(u32::from(self.logarithm[usize::from(a)]) * e % 255) as usize]
    }

    pub fn inverse(&self, a: u8) -> u8 {
        self.to_the(a, 254)
    }

    /// Element `e` of a generator's powers in F.
    pub fn small(&self, e: usize) -> u8 {
        self.power[17 * (e % 15)]
    }

    /// The linear form Tr(uf) from F to GF(2).
    fn form(&self, u: u8, f: u8) -> bool {
        let x = self.product(u, f);
        let s = x ^ self.to_the(x, 2);
        s ^ self.to_the(s, 4) == 1
    }
}

/// How a product in F is made of nine products of bits: for each of three maps and each pairing of bits, the factor of the
/// three products.
struct Multiplication {
    maps: [usize; 3],
    /// `factor[map][pairing][k]` belongs to the product of form `map + 5k` of the first and form `map + 5(k + pairing)` of
    /// the second.
    factor: [[[u8; 3]; 3]; 3],
}

impl Multiplication {
    fn all() -> &'static [Multiplication] {
        static ALL: OnceLock<Vec<Multiplication>> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut list = Vec::new();
            for i in 0..5 {
                for j in i + 1..5 {
                    for k in j + 1..5 {
                        list.extend(Multiplication::of([i, j, k]));
                    }
                }
            }
            list
        })
    }

    fn of(maps: [usize; 3]) -> Option<Multiplication> {
        let f = Field::get();
        // The subfield GF(4) is 0, 1, w, w².
        let four = [0, f.small(0), f.small(5), f.small(10)];
        let trace = |x: u8| x ^ f.to_the(x, 2) == 1;
        // The map onto GF(4) that belongs to number l.
        let onto = |l: usize, a: u8| {
            let x = f.product(f.small(l), a);
            x ^ f.to_the(x, 4)
        };
        let bits = |g: u8, h: u8, k: usize, pairing: usize| {
            trace(f.product(four[1 + k], g)) && trace(f.product(four[1 + (k + pairing) % 3], h))
        };
        let mut small = [[0u8; 3]; 3];
        for (pairing, slot) in small.iter_mut().enumerate() {
            let factors = (0..64usize).map(|c| [four[c & 3], four[c >> 2 & 3], four[c >> 4]]).find(|m| {
                four.iter().all(|g| {
                    four.iter().all(|h| {
                        let sum = (0..3).fold(0, |s, k| if bits(*g, *h, k, pairing) { s ^ m[k] } else { s });
                        sum == f.product(*g, *h)
                    })
                })
            })?;
            *slot = factors;
        }
        let elements: Vec<u8> = std::iter::once(0).chain((0..15).map(|e| f.small(e))).collect();
        let weights =
            (0..4096usize).map(|c| [elements[c & 15], elements[c >> 4 & 15], elements[c >> 8]]).find(|n| {
                elements.iter().all(|a| {
                    elements.iter().all(|b| {
                        let sum =
                            (0..3).fold(0, |s, i| s ^ f.product(n[i], f.product(onto(maps[i], *a), onto(maps[i], *b))));
                        sum == f.product(*a, *b)
                    })
                })
            })?;
        let factor = std::array::from_fn(|i| {
            std::array::from_fn(|pairing| std::array::from_fn(|k| f.product(weights[i], small[pairing][k])))
        });
        Some(Multiplication { maps, factor })
    }

    /// The exponents of its nine linear forms.
    fn forms(&self) -> [usize; 9] {
        std::array::from_fn(|p| self.maps[p / 3] + 5 * (p % 3))
    }

    /// By what the maps are turned so that they are 0, 1 and 2, or 0, 1 and 3; and which of the two.
    fn turned(&self) -> (usize, usize) {
        for (which, pattern) in PATTERNS.iter().enumerate() {
            for turn in 0..5 {
                if pattern.iter().all(|m| self.maps.contains(&((m + turn) % 5))) {
                    return (turn, which);
                }
            }
        }
        (0, 0)
    }
}

const PATTERNS: [[usize; 3]; 2] = [[0, 1, 2], [0, 1, 3]];
/// The forms by which the norm is given.
const NORM_FORMS: [usize; 4] = [0, 5, 1, 6];

/// For each pattern the circuit from the norm's four forms to all forms e + 5k of its inverse, by exponent.
fn inversion(pattern: usize) -> &'static Circuit {
    static CIRCUITS: OnceLock<[Circuit; 2]> = OnceLock::new();
    let all = CIRCUITS.get_or_init(|| {
        std::array::from_fn(|which| {
            let f = Field::get();
            let mut entries = vec![0u64; 16];
            for n in std::iter::once(0).chain((0..15).map(|e| f.small(e))) {
                let x = NORM_FORMS
                    .iter()
                    .enumerate()
                    .fold(0usize, |x, (i, e)| x | usize::from(f.form(f.small(*e), n)) << i);
                let inverse = f.inverse(n);
                entries[x] = PATTERNS[which]
                    .iter()
                    .flat_map(|m| [*m, m + 5, m + 10])
                    .enumerate()
                    .fold(0, |y, (j, e)| y | u64::from(f.form(f.small(e), inverse)) << j);
            }
            match Table::new(4, 9, &entries) {
                Ok(table) => synthesise(&table, &Basis::TWO_INPUT, 6000),
                Err(_) => Circuit::new(4),
            }
        })
    });
    &all[pattern]
}

/// One way to do it, with how many ones its matrices have.
struct Plan {
    theta: u8,
    multiplication: &'static Multiplication,
    weight: u32,
    norm_pairings: [usize; 3],
    /// For a₀/N and a₁/N.
    output_pairings: [[usize; 3]; 2],
}

struct Problem {
    before: Affine,
    after: Affine,
}

impl Problem {
    /// A linear form of the input and a constant: Tr(u·c) for the coordinate c of z that belongs to θ.
    fn coordinate_form(&self, u: u8, theta: u8, which: usize) -> (u128, bool) {
        let at = |x: u64| {
            let (a1, a0) = coordinates(self.before.apply(x) as u8, theta);
            Field::get().form(u, if which == 1 { a1 } else { a0 })
        };
        affine_form(at)
    }

    /// The form of number `exponent` of the part of the norm that is linear.
    fn norm_form(&self, exponent: usize, theta: u8) -> (u128, bool) {
        let f = Field::get();
        let nu = f.to_the(theta, 17);
        affine_form(|x| {
            let (a1, a0) = coordinates(self.before.apply(x) as u8, theta);
            f.form(f.small(exponent), f.product(nu, f.to_the(a1 ^ a0, 2)))
        })
    }

    /// What a product of bits with this factor adds to the output.
    fn output_column(&self, theta: u8, which: usize, factor: u8) -> u64 {
        let f = Field::get();
        let base = if which == 0 { f.to_the(theta, 16) } else { theta };
        self.after.apply(u64::from(f.product(factor, base))) ^ self.after.constant
    }

    fn plan(&self, theta: u8, multiplication: &'static Multiplication) -> Plan {
        let f = Field::get();
        let tau = theta ^ f.to_the(theta, 16);
        let (turn, _) = multiplication.turned();
        let mut weight = 0;
        for e in multiplication.forms() {
            for which in [0, 1] {
                weight += 2 * self.coordinate_form(f.small(e), theta, which).0.count_ones();
            }
        }
        let pairing = |cost: &dyn Fn(usize) -> u32| (0..3).map(|p| (cost(p), p)).min().unwrap_or((0, 0));
        let mut norm_pairings = [0; 3];
        let mut output_pairings = [[0; 3]; 2];
        for i in 0..3 {
            let (w, p) = pairing(&|p| {
                let ones = |factor: u8| {
                    NORM_FORMS
                        .iter()
                        .filter(|d| f.form(f.small(**d + 15 - turn), f.product(factor, f.to_the(tau, 2))))
                        .count() as u32
                };
                multiplication.factor[i][p].iter().map(|m| ones(*m)).sum()
            });
            weight += w;
            norm_pairings[i] = p;
            for which in [0, 1] {
                let (w, p) = pairing(&|p| {
                    let column = |m: &u8| self.output_column(theta, which, *m).count_ones();
                    multiplication.factor[i][p].iter().map(column).sum()
                });
                weight += 2 * w;
                output_pairings[which][i] = p;
            }
        }
        for d in NORM_FORMS {
            weight += self.norm_form(d + 15 - turn, theta).0.count_ones();
        }
        Plan { theta, multiplication, weight, norm_pairings, output_pairings }
    }

    fn build(&self, plan: &Plan, work: u64) -> Circuit {
        let f = Field::get();
        let Plan { theta, multiplication, .. } = *plan;
        let tau = theta ^ f.to_the(theta, 16);
        let (turn, pattern) = multiplication.turned();
        let mut circuit = Circuit::new(8);
        let inputs: Vec<Signal> = (0..8).map(Signal::from).collect();
        let exponents = multiplication.forms();
        let mut rows = Vec::with_capacity(22);
        for which in [0, 1] {
            rows.extend(exponents.iter().map(|e| self.coordinate_form(f.small(*e), theta, which)));
        }
        rows.extend(NORM_FORMS.iter().map(|d| self.norm_form(d + 15 - turn, theta)));
        let forms = push_sums(&mut circuit, &inputs, &rows, work);
        let (a, linear) = forms.split_at(18);
        // The norm: nine products and the linear part.
        let mut terms = Vec::with_capacity(13);
        let mut factors = Vec::with_capacity(9);
        for i in 0..3 {
            let p = plan.norm_pairings[i];
            for k in 0..3 {
                terms.push(circuit.push(Gate::And(a[9 + 3 * i + k], a[3 * i + (k + p) % 3])));
                factors.push(f.product(multiplication.factor[i][p][k], f.to_the(tau, 2)));
            }
        }
        terms.extend(linear);
        let rows: Vec<(u128, bool)> = NORM_FORMS
            .iter()
            .enumerate()
            .map(|(j, d)| {
                let mask = factors
                    .iter()
                    .enumerate()
                    .fold(0u128, |m, (i, factor)| m | u128::from(f.form(f.small(d + 15 - turn), *factor)) << i);
                (mask | 1 << (9 + j), false)
            })
            .collect();
        let norm = push_sums(&mut circuit, &terms, &rows, work);
        let inverted = circuit.append(inversion(pattern), &norm);
        // Form e of 1/N is form e - turn of what the circuit inverts.
        let inverse_form = |e: usize| {
            let wanted = (e + 15 - turn) % 15;
            let at = PATTERNS[pattern].iter().position(|m| wanted % 5 == *m).unwrap_or(0);
            inverted.get(3 * at + wanted / 5).copied().unwrap_or(Signal(0))
        };
        let mut products = Vec::with_capacity(18);
        let mut columns = Vec::with_capacity(18);
        for which in [0, 1] {
            for i in 0..3 {
                let p = plan.output_pairings[which][i];
                for k in 0..3 {
                    let e = multiplication.maps[i] + 5 * ((k + p) % 3);
                    products.push(circuit.push(Gate::And(a[9 * which + 3 * i + k], inverse_form(e))));
                    columns.push(self.output_column(theta, which, multiplication.factor[i][p][k]));
                }
            }
        }
        let rows: Vec<(u128, bool)> = (0..8)
            .map(|j| {
                let mask = columns.iter().enumerate().fold(0, |m, (i, c)| m | u128::from(c >> j & 1) << i);
                (mask, self.after.constant >> j & 1 == 1)
            })
            .collect();
        for s in push_sums(&mut circuit, &products, &rows, work) {
            circuit.push_output(s);
        }
        simplify(&circuit)
    }
}

/// a₁ and a₀ of z = a₁θ¹⁶ + a₀θ.
fn coordinates(z: u8, theta: u8) -> (u8, u8) {
    let f = Field::get();
    let conjugate = f.to_the(theta, 16);
    let z16 = f.to_the(z, 16);
    let scale = f.inverse(f.to_the(theta ^ conjugate, 2));
    let a1 = f.product(z, conjugate) ^ f.product(z16, theta);
    let a0 = f.product(z, theta) ^ f.product(z16, conjugate);
    (f.product(a1, scale), f.product(a0, scale))
}

/// The mask and constant of an affine form of eight bits.
fn affine_form(at: impl Fn(u64) -> bool) -> (u128, bool) {
    let constant = at(0);
    ((0..8).fold(0, |m, i| m | u128::from(at(1 << i) != constant) << i), constant)
}

/// How much is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// How many of the 1200 representations, the most promising first, are made a circuit.
    pub n_builds: usize,
    /// How many of these, the smallest first, are made again with more care for their sums, and returned.
    pub n_kept: usize,
    /// How much care: the work of `xor_network`.
    pub work: u64,
}

/// The affine maps between which a table is inversion in GF(2⁸), if it is.
pub(crate) fn inversion_between(table: &Table) -> Option<Equivalence> {
    let f = Field::get();
    if table.n_inputs() != 8 || table.n_outputs() != 8 {
        return None;
    }
    let entries: Vec<u64> = (0..=255u8).map(|x| u64::from(f.inverse(x))).collect();
    let inverse = Table::new(8, 8, &entries).ok()?;
    static INVARIANT: OnceLock<u64> = OnceLock::new();
    if *INVARIANT.get_or_init(|| inverse.affine_invariant()) != table.affine_invariant() {
        return None;
    }
    equivalences(&inverse, table, 1).pop()
}

/// Circuits of two-input gates for a table that is inversion in GF(2⁸) between affine maps, the smallest first. None, if the
/// table is something else.
pub fn circuits(table: &Table, search: Search) -> Vec<Circuit> {
    let Some(e) = inversion_between(table) else { return Vec::new() };
    let f = Field::get();
    let problem = Problem { before: e.before, after: e.after };
    let mut plans: Vec<Plan> = Vec::with_capacity(1200);
    // θ and its conjugate give the same.
    for theta in (1..=255u8).filter(|t| *t < f.to_the(*t, 16)) {
        plans.extend(Multiplication::all().iter().map(|m| problem.plan(theta, m)));
    }
    plans.sort_by_key(|p| p.weight);
    let size = |p: &Plan| problem.build(p, 0).counts().total();
    let mut sizes: Vec<(usize, Plan)> = plans.into_iter().take(search.n_builds).map(|p| (size(&p), p)).collect();
    sizes.sort_by_key(|(n, _)| *n);
    let mut built: Vec<Circuit> = sizes
        .iter()
        .take(search.n_kept)
        .map(|(_, p)| problem.build(p, search.work))
        .filter(|c| c.prove(table).is_ok())
        .collect();
    built.sort_by_key(|c| c.counts().total());
    built
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known;

    const SMALL: Search = Search { n_builds: 1, n_kept: 1, work: 0 };

    fn table(name: &str) -> &'static Table {
        &known::all().iter().find(|k| k.name == name).expect("a known function").table
    }

    #[test]
    fn any_three_maps_determine_a_product() {
        assert_eq!(Multiplication::all().len(), 10);
    }

    #[test]
    fn inversion_between_affine_maps_takes_few_gates() {
        for name in ["gf256_inverse", "aes_s", "aes_s_inverse"] {
            let found = circuits(table(name), Search { n_builds: 60, n_kept: 30, work: 2000 });
            assert_eq!(found.len(), 30, "{name}: every plan that is built is right");
            let best = found[0].counts();
            assert!(best.total() <= 140, "{name}: {best:?}");
            assert!(best.and + best.or + best.and_not <= 40, "{name}: {best:?}");
        }
    }

    #[test]
    fn other_permutations_are_left_alone() {
        assert!(circuits(table("whirlpool_s"), SMALL).is_empty());
        assert!(circuits(table("des_s1"), SMALL).is_empty());
    }
}
