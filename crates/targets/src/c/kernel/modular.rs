//! Parallel Horner evaluation. A linear recurrence `x := (x + a) · r mod m` over blocks that lie in memory, evaluated with
//! powers of `r` in the lanes of a vector.
//!
//! ```text
//! x' = (…((x + a0) rⁿ + an) rⁿ + …) rⁿ  +  (…(a1 rⁿ + an+1) rⁿ + …) rⁿ⁻¹  +  …  +  (…(an-1 rⁿ + …) r
//! ```
//!
//! Each lane goes over every n-th block and multiplies by `rⁿ`, in the end by what is its own; then the lanes are
//! added; with eight lanes two such sums are under way in turns, with four lanes two groups go into one sum of products, so
//! that they are carried once. Numbers are taken apart into limbs that suit the multiplier: three of 44 bits where it has
//! 64 by 64 bits or 52 by 52 bits with sums, five of 26 bits for products of 32 bits. Limbs are not fully carried in
//! between. Groups that are not full begin with lanes that stay 0. Nothing but the number of blocks decides what is done.

use super::loop_frame::{
    CFunction, LoopNames, Support, counter_bounds, counter_ends, delay_ends, head, last_iteration,
};
use super::machine::{Machine, attribute};
use super::recurrence::Memo;
use super::scalar::element_type;
use super::words::NotApplicable;
use super::work::Work;
use headrace_transform::kernel::{Carried, Carry, Evidence, Loop, ObjectId};
use headrace_transform::passes::modular_recurrence::{self, DRAWS, ModularRecurrence, modular_recurrence};
use headrace_vectorize::residues::{LEAST_BLOCKS, LIMB as WIDE_LIMB, suits};
use num_bigint::BigUint;
use std::fmt::Write as _;

/// Bits of a limb where there are five.
const NARROW_LIMB: u32 = 26;

/// Bytes that are kept of a multiplier from call to call: three registers with a power in each lane, and three with the last
/// one squared. Four lanes need less of it.
pub const POWERS_BYTES: usize = 6 * 64;

/// How powers are kept: the type of them, and what [`Memo::known`] holds when they are there: how many lanes have one.
struct Powers {
    declared: &'static str,
    known: u32,
}

/// Those of eight lanes.
const EIGHT: Powers = Powers { declared: "__m512i p_[6]", known: 8 };

/// Those of four lanes: a row for each limb, with the power of each lane, and behind them the square of the highest.
const FOUR: Powers = Powers { declared: "uint64_t p_[5][5]", known: 4 };

/// How long the function is, whatever its modulus: the same steps on three words, and on vectors of them.
const SIZE: usize = 600;

/// What the printed functions are held to.
const EVIDENCE: &[Evidence] = &[
    Evidence::Trial { what: "the recurrence against the loop, modulo its modulus", iterations: DRAWS },
    Evidence::Identity { what: "((x + a) r + b) r = (x + a) r r + b r" },
    Evidence::Test {
        what: "recurrences with powers",
        test: "crates/targets/tests/kernel_residues.rs recurrences_agree_with_their_loops",
    },
];

/// Prints a loop that is a linear recurrence modulo a number.
///
/// # Errors
///
/// Why it cannot be: the loop is something else, somebody sees its limbs, or no limbs suit its modulus.
pub fn modular(body: &Loop, machine: &Machine, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    let residue = |one: &Carried| body.objects[one.object.0 as usize].residue;
    if !body.carried.iter().any(|one| residue(one).is_some()) {
        return Err(NotApplicable("nothing in it is a residue".into()));
    }
    let recurrence = modular_recurrence::PASS
        .tried(|| modular_recurrence(body))
        .ok_or_else(|| NotApplicable("it is no recurrence modulo a number".into()))?;
    if body.objects[recurrence.state.0 as usize].residue != Some(recurrence.residue) {
        return Err(NotApplicable("its limbs are seen".into()));
    }
    let limbs = Limbs::of(&recurrence)?;
    let costs = &machine.costs.residues;
    // Lanes are filled with powers that may be there from the call before.
    let memo = names.names.memo(&body.objects[recurrence.factor.0 as usize]);
    let memo = memo.filter(|memo| memo.powers.length == POWERS_BYTES);
    let object = &body.objects[recurrence.state.0 as usize];
    let (n, width) = (object.length, object.width);
    let (lanes, of_block) = match machine.vector_bits {
        512 => (Some(limbs.lanes512(machine)), &costs.lanes512),
        256 if limbs.are_narrow(n) => (Some(limbs.lanes256(machine)), &costs.lanes256),
        _ => (None, &costs.words),
    };
    let (from, to) = (limbs.taken(n, width), limbs.given(n));
    let mut support = [limbs.arithmetic(), limbs.serial(), from.text, to.text].map(Support::of_all).to_vec();
    let mut text = head(body, Some(machine), names);
    text.push_str("  if (iterations == 0) return;\n");
    if body.carried.iter().any(|one| one.carry == Carry::Delay) {
        text.push_str(&last_iteration(body));
    }
    text.push_str(&counter_bounds(body, names.names));
    let element = |object: ObjectId, at: usize| names.names.element(&body.objects[object.0 as usize], &at.to_string());
    let list = |object| (0..n).map(|at| element(object, at)).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        text,
        "  uint64_t e_[{n}] = {{{}}}, x_[3], r_[3];\n  const uint64_t f_[{n}] = {{{}}};\n  const size_t n_ = iterations * {};",
        list(recurrence.state),
        list(recurrence.factor),
        recurrence.blocks
    );
    let state = format!("{}(x_, e_);", from.name);
    let factor = format!("{}(r_, f_);", from.name);
    let serial = format!("{}_serial(x_, r_, in{}, n_);", limbs.name, recurrence.port);
    let result = format!("{}(e_, x_);", to.name);
    match lanes {
        // The lanes' limbs are the loop's.
        Some(lanes) if machine.vector_bits == 256 => {
            let make = format!("{factor} {}_powers(p_, r_);", lanes.name);
            let powers = with_powers(&make, &FOUR, memo.as_ref(), names);
            let _ = writeln!(
                text,
                "  if (n_ < {LEAST_BLOCKS}) {{\n    {state}\n    {factor}\n    {serial}\n    {result}\n  }} else {{\n{powers}    {}(e_, q_, in{}, n_);\n  }}",
                lanes.name, recurrence.port
            );
            support.push(Support::of_all(lanes.text));
        }
        Some(lanes) => {
            let powers = with_powers(&format!("{}_powers(p_, r_);", lanes.name), &EIGHT, memo.as_ref(), names);
            let _ = writeln!(
                text,
                "  {state}\n  {factor}\n  if (n_ < {LEAST_BLOCKS})\n    {serial}\n  else {{\n{powers}    {}(x_, q_, in{}, n_);\n  }}\n  {result}",
                lanes.name, recurrence.port
            );
            support.push(Support::of_all(lanes.text));
        }
        None => {
            let _ = writeln!(text, "  {state}\n  {factor}\n  {serial}\n  {result}");
        }
    }
    for at in 0..n {
        let _ = writeln!(text, "  {} = ({})e_[{at}];", element(recurrence.state, at), element_type(width));
    }
    text.push_str(&counter_ends(body, names.names));
    text.push_str(&delay_ends(body, names.names));
    text.push_str("}\n");
    let cycles = of_block.value * recurrence.blocks as f64;
    let evidence = EVIDENCE.to_vec();
    let work = Work::default();
    Ok(CFunction { name: names.function.to_owned(), support, text, cycles, size: SIZE, evidence, work })
}

/// Declares `q_`, where powers of the multiplier are: those that are kept from call to call, or new ones that `make` makes in `p_`.
fn with_powers(make: &str, kept: &Powers, memo: Option<&Memo>, names: &LoopNames) -> String {
    let Powers { declared, known: lanes_known } = kept;
    let made = match memo {
        None => format!("    {make}"),
        Some(Memo { powers, known }) => {
            let [powers, known] = [powers, known].map(|object| names.names.element(object, "0"));
            format!(
                "    if ({known} == {lanes_known})
      q_ = &{powers};
    else {{
      {make}
      memcpy(&{powers}, p_, sizeof p_);
      {known} = {lanes_known};
    }}"
            )
        }
    };
    format!("    {declared};\n    const uint8_t *q_ = (const uint8_t *)p_;\n{made}\n")
}

/// A function that stands above those that call it.
struct Printed {
    name: String,
    text: String,
}

/// A modulus `2^bits - less` in limbs that suit multipliers, and what is added with each block.
struct Limbs {
    bits: u32,
    less: u32,
    beyond: BigUint,
    /// The limbs of the loop.
    limb_bits: u32,
    /// Beginning of the names of functions, the same for the same text.
    name: String,
}

impl Limbs {
    fn of(recurrence: &ModularRecurrence) -> Result<Limbs, NotApplicable> {
        let residue = recurrence.residue;
        let (bits, less) = (residue.bits, residue.less);
        suits(residue)?;
        // What is added may be written in hexadecimal digits, but names had better be short.
        let digits = format!("{}_{bits}_{less}_{:x}", residue.limb_bits, recurrence.beyond);
        let digest =
            digits.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let name = format!("hr_modular{bits}_{less}_{digest:08x}");
        Ok(Limbs { bits, less, beyond: recurrence.beyond.clone(), limb_bits: residue.limb_bits, name })
    }

    /// Bits of the last of three limbs.
    fn top(&self) -> u32 {
        self.bits - 2 * WIDE_LIMB
    }

    /// Whether the loop, whose numbers have `n` limbs, has five narrow limbs that suit the modulus.
    fn are_narrow(&self, n: usize) -> bool {
        let narrow =
            n == 5 && self.limb_bits == NARROW_LIMB && (4 * NARROW_LIMB + 1..=5 * NARROW_LIMB).contains(&self.bits);
        narrow && self.less << (5 * NARROW_LIMB - self.bits) < 64
    }

    /// Limbs of what is added with each block.
    fn beyond(&self, limb_bits: u32, n: u32) -> Vec<u64> {
        let ones = (BigUint::from(1u32) << limb_bits) - 1u32;
        (0..n).map(|at| u64::try_from((&self.beyond >> (at * limb_bits)) & &ones).unwrap_or(0)).collect()
    }

    /// The product of two numbers in three limbs, and all carries.
    fn arithmetic(&self) -> String {
        let (name, top, less) = (&self.name, self.top(), self.less);
        let fold = less << (3 * WIDE_LIMB - self.bits);
        let (ones, top_ones) = (ones(WIDE_LIMB), ones(top));
        format!(
            "/* Numbers modulo 2^{bits} - {less} in limbs of 44 bits. A product of them; limbs may have some bits more. */
static inline void {name}_multiply(uint64_t x[3], const uint64_t r[3])
{{
  const uint64_t s1 = r[1] * {fold}, s2 = r[2] * {fold};
  const u128 d0 = (u128)x[0] * r[0] + (u128)x[1] * s2 + (u128)x[2] * s1;
  u128 d1 = (u128)x[0] * r[1] + (u128)x[1] * r[0] + (u128)x[2] * s2;
  u128 d2 = (u128)x[0] * r[2] + (u128)x[1] * r[1] + (u128)x[2] * r[0];
  d1 += (uint64_t)(d0 >> 44);
  d2 += (uint64_t)(d1 >> 44);
  x[0] = ((uint64_t)d0 & {ones}) + (uint64_t)(d2 >> {top}) * {less};
  x[1] = ((uint64_t)d1 & {ones}) + (x[0] >> 44);
  x[0] &= {ones};
  x[2] = (uint64_t)d2 & {top_ones};
}}

/* All carries: afterwards no limb has more bits than its own. The first time little is left to be carried on. */
static inline void {name}_carry(uint64_t x[3])
{{
  for (int i = 0; i < 2; i++) {{
    x[1] += x[0] >> 44;
    x[0] &= {ones};
    x[2] += x[1] >> 44;
    x[1] &= {ones};
    x[0] += (x[2] >> {top}) * {less};
    x[2] &= {top_ones};
  }}
}}

",
            bits = self.bits
        )
    }

    /// Block after block.
    fn serial(&self) -> String {
        let (name, ones) = (&self.name, ones(WIDE_LIMB));
        let b = self.beyond(WIDE_LIMB, 3);
        format!(
            "static inline void {name}_serial(uint64_t x[3], const uint64_t r[3], const uint8_t *in, size_t n)
{{
  for (; n != 0; n--, in += 16) {{
    const uint64_t low = hr_le64(in), high = hr_le64(in + 8);
    x[0] += (low & {ones}) + {:#x};
    x[1] += ((low >> 44 | high << 20) & {ones}) + {:#x};
    x[2] += (high >> 24) + {:#x};
    {name}_multiply(x, r);
  }}
}}

",
            b[0], b[1], b[2]
        )
    }

    /// Three limbs from those of the loop, elements of so many bits, which may have carries in them: `NAME(x, e)`.
    fn taken(&self, n: usize, width: u32) -> Printed {
        let (limb, name) = (self.limb_bits, format!("{}_from{n}x{width}", self.name));
        // The last element with its carry, where it begins among the bits of the last of three limbs.
        let carries = width + 1 + ((n as u32 - 1) * limb).saturating_sub(2 * WIDE_LIMB);
        let carry = if carries <= 64 { "uint64_t" } else { "u128" };
        let mut text = format!(
            "static inline void {name}(uint64_t x[3], const uint64_t e[{n}])
{{
  uint64_t d[{n}];
  {carry} carry = 0;
  for (int i = 0; i < {}; i++, carry >>= {limb}) {{
    carry += e[i];
    d[i] = (uint64_t)carry & {};
  }}
  carry += e[{}];
",
            n - 1,
            ones(limb),
            n - 1
        );
        for wide in 0..3 {
            let (lo, hi) = (wide * WIDE_LIMB, (wide + 1) * WIDE_LIMB);
            let mut parts: Vec<String> = (0..n as u32 - 1)
                .filter(|at| at * limb < hi && (at + 1) * limb > lo)
                .map(|at| shifted(&format!("d[{at}]"), i64::from(at * limb) - i64::from(lo)))
                .collect();
            // The last one reaches up to the end.
            let last = (n as u32 - 1) * limb;
            if last < hi {
                parts.push(shifted("carry", i64::from(last) - i64::from(lo)));
            }
            let sum = if parts.is_empty() { "0".to_owned() } else { parts.join(" | ") };
            let (ty, ones) =
                if wide == 2 { (carry, String::new()) } else { ("uint64_t", format!(" & {}", ones(WIDE_LIMB))) };
            let target = if wide == 2 { format!("const {carry} top") } else { format!("x[{wide}]") };
            let _ = writeln!(text, "  {target} = ({ty})({sum}){ones};");
        }
        let (top, less) = (self.top(), self.less);
        let _ = writeln!(
            text,
            "  x[0] += (uint64_t)(top >> {top}) * {less};\n  x[2] = (uint64_t)top & {};\n}}\n",
            ones(top)
        );
        Printed { name, text }
    }

    /// The limbs of the loop from three limbs: `NAME(e, x)`.
    fn given(&self, n: usize) -> Printed {
        let (limb, name) = (self.limb_bits, format!("{}_to{n}", self.name));
        let mut text =
            format!("static inline void {name}(uint64_t e[{n}], uint64_t x[3])\n{{\n  {}_carry(x);\n", self.name);
        for at in 0..n as u32 {
            let _ = writeln!(text, "  e[{at}] = {};", digits("x", 3, WIDE_LIMB, at * limb, limb));
        }
        text.push_str("}\n\n");
        Printed { name, text }
    }

    /// Eight lanes with sums of products of 52 bits.
    fn lanes512(&self, machine: &Machine) -> Printed {
        let (name, top) = (format!("{}_lanes512", self.name), self.top());
        let attribute = attribute(machine);
        let folded = times("c", self.less, 512);
        let fold = self.less << (3 * WIDE_LIMB - self.bits);
        let b = self.beyond(WIDE_LIMB, 3);
        let (ones, top_ones) = (ones(WIDE_LIMB), ones(top));
        let mut products = String::new();
        for at in 0..3usize {
            let _ = writeln!(products, "  __m512i lo{at} = _mm512_setzero_si512(), hi{at} = _mm512_setzero_si512();");
            for i in 0..3usize {
                let factor = if i <= at { format!("r[{}]", at - i) } else { format!("s[{}]", 3 + at - i) };
                let _ = writeln!(
                    products,
                    "  lo{at} = _mm512_madd52lo_epu64(lo{at}, x[{i}], {factor});\n  hi{at} = _mm512_madd52hi_epu64(hi{at}, x[{i}], {factor});"
                );
            }
        }
        let text = format!(
            "#include <immintrin.h>
{attribute}static inline __attribute__((always_inline)) void {name}_multiply(__m512i x[3], const __m512i r[3], const __m512i s[3])
{{
{products}  const __m512i ones = _mm512_set1_epi64({ones});
  __m512i c = _mm512_add_epi64(_mm512_srli_epi64(lo0, 44), _mm512_slli_epi64(hi0, 8));
  x[0] = _mm512_and_si512(lo0, ones);
  lo1 = _mm512_add_epi64(lo1, c);
  c = _mm512_add_epi64(_mm512_srli_epi64(lo1, 44), _mm512_slli_epi64(hi1, 8));
  x[1] = _mm512_and_si512(lo1, ones);
  lo2 = _mm512_add_epi64(lo2, c);
  c = _mm512_add_epi64(_mm512_srli_epi64(lo2, {top}), _mm512_slli_epi64(hi2, {high}));
  x[2] = _mm512_and_si512(lo2, _mm512_set1_epi64({top_ones}));
  x[0] = _mm512_add_epi64(x[0], {folded});
  x[1] = _mm512_add_epi64(x[1], _mm512_srli_epi64(x[0], 44));
  x[0] = _mm512_and_si512(x[0], ones);
}}

/* Adds eight blocks, and what is added with each. */
{attribute}static inline __attribute__((always_inline)) void {name}_add(__m512i x[3], const uint8_t *in, __m512i b0, __m512i b1, __m512i b2)
{{
  const __m512i ones = _mm512_set1_epi64({ones});
  const __m512i a = _mm512_loadu_si512((const void *)in), c = _mm512_loadu_si512((const void *)(in + 64));
  const __m512i low = _mm512_unpacklo_epi64(a, c), high = _mm512_unpackhi_epi64(a, c);
  const __m512i middle = _mm512_or_si512(_mm512_srli_epi64(low, 44), _mm512_slli_epi64(high, 20));
  x[0] = _mm512_add_epi64(_mm512_add_epi64(x[0], b0), _mm512_and_si512(low, ones));
  x[1] = _mm512_add_epi64(_mm512_add_epi64(x[1], b1), _mm512_and_si512(middle, ones));
  x[2] = _mm512_add_epi64(_mm512_add_epi64(x[2], b2), _mm512_srli_epi64(high, 24));
}}

/* Lane i gets the power i + 1: of as many lanes as have theirs, the last one multiplies them all for as many more. Behind them
   stands the square of the last one, for groups in turns. */
{attribute}static inline void {name}_powers(__m512i p[6], const uint64_t r_[3])
{{
  static const __mmask8 more[3] = {{0xaa, 0xcc, 0xf0}};
  __m512i x[3], r[3], s[3];
  for (int l = 0; l < 3; l++) p[l] = _mm512_set1_epi64((long long)r_[l]);
  for (int i = 0; i < 3; i++) {{
    for (int l = 0; l < 3; l++) {{
      r[l] = _mm512_permutexvar_epi64(_mm512_set1_epi64((1 << i) - 1), p[l]);
      s[l] = {folded_r};
      x[l] = p[l];
    }}
    {name}_multiply(x, r, s);
    for (int l = 0; l < 3; l++) p[l] = _mm512_mask_mov_epi64(p[l], more[i], x[l]);
  }}
  for (int l = 0; l < 3; l++) {{
    p[3 + l] = r[l] = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), p[l]);
    s[l] = {folded_r};
  }}
  {name}_multiply(p + 3, r, s);
}}

{attribute}static void {name}(uint64_t x_[3], const uint8_t *q, const uint8_t *in, size_t n)
{{
  uint8_t first[128] = {{0}};
  __m512i p[6], x[3], y[3], r[3], s[3], rr[3], ss[3];
  for (int l = 0; l < 6; l++) p[l] = _mm512_loadu_si512((const void *)(q + 64 * l));
  for (int l = 0; l < 3; l++) {{
    r[l] = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), p[l]);
    s[l] = {folded_r};
    rr[l] = p[3 + l];
    ss[l] = {folded_rr};
  }}
  /* Which block of a group a lane has. */
  const __m512i block = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  const size_t absent = (8 - n % 8) % 8;
  const __m512i from = _mm512_set1_epi64((long long)absent);
  const __mmask8 begins = _mm512_cmpeq_epi64_mask(block, from), present = _mm512_cmpge_epi64_mask(block, from);
  for (int l = 0; l < 3; l++) y[l] = _mm512_maskz_set1_epi64(begins, (long long)x_[l]);
  const uint8_t *at = in;
  if (absent) {{
    memcpy(first + 16 * absent, in, 128 - 16 * absent);
    at = first;
  }}
  {name}_add(y, at, _mm512_maskz_set1_epi64(present, {b0}), _mm512_maskz_set1_epi64(present, {b1}), _mm512_maskz_set1_epi64(present, {b2}));
  in += 128 - 16 * absent;
  /* Groups in turns to x and to y, the last one to y: products of the one need not wait for those of the other. */
  const __m512i b0 = _mm512_set1_epi64({b0}), b1 = _mm512_set1_epi64({b1}), b2 = _mm512_set1_epi64({b2});
  size_t groups = (n + absent) / 8 - 1;
  if (groups % 2 != 0) {{
    for (int l = 0; l < 3; l++) x[l] = y[l], y[l] = _mm512_setzero_si512();
    {name}_add(y, in, b0, b1, b2);
    in += 128;
  }} else
    for (int l = 0; l < 3; l++) x[l] = _mm512_setzero_si512();
  for (groups /= 2; groups != 0; groups--, in += 256) {{
    {name}_multiply(x, rr, ss);
    {name}_multiply(y, rr, ss);
    {name}_add(x, in, b0, b1, b2);
    {name}_add(y, in + 128, b0, b1, b2);
  }}
  {name}_multiply(x, r, s);
  for (int l = 0; l < 3; l++) {{
    x[l] = _mm512_add_epi64(x[l], y[l]);
    r[l] = _mm512_permutexvar_epi64(_mm512_set_epi64(0, 4, 1, 5, 2, 6, 3, 7), p[l]);
    s[l] = {folded_r};
  }}
  {name}_multiply(x, r, s);
  for (int l = 0; l < 3; l++) x_[l] = (uint64_t)_mm512_reduce_add_epi64(x[l]);
}}

",
            high = 52 - top,
            b0 = literal(b[0]),
            b1 = literal(b[1]),
            b2 = literal(b[2]),
            folded_r = times("r[l]", fold, 512),
            folded_rr = times("rr[l]", fold, 512),
        );
        Printed { name, text }
    }

    /// Four lanes with products of 32 bits, scheduled for out-of-order execution: products that wait for nothing come first, then those
    /// of the other limbs in the order in which these are carried. Rows of powers have five numbers, 40 bytes.
    fn lanes256(&self, machine: &Machine) -> Printed {
        let (name, base) = (format!("{}_lanes256", self.name), &self.name);
        let attribute = attribute(machine);
        let top = self.bits - 4 * NARROW_LIMB;
        let fold = self.less << (5 * NARROW_LIMB - self.bits);
        let b = self.beyond(NARROW_LIMB, 5);
        // Two chains of carries, so that they need not wait for one another.
        let mut carries = String::new();
        for (from, to) in [(0, 1), (3, 4), (1, 2), (4, 0), (2, 3), (0, 1), (3, 4)] {
            let (bits, mask, value) = match from {
                4 => (top, "top", times("c", self.less, 256)),
                _ => (NARROW_LIMB, "ones", "c".to_owned()),
            };
            let _ = writeln!(
                carries,
                "  c = _mm256_srli_epi64(d[{from}], {bits});\n  d[{from}] = _mm256_and_si256(d[{from}], {mask});\n  d[{to}] = _mm256_add_epi64(d[{to}], {value});"
            );
        }
        let (mut products, mut sums) = (String::new(), String::new());
        for (turn, i) in [2usize, 0, 3, 1, 4].into_iter().enumerate() {
            for at in 0..5usize {
                let factor = if i <= at { format!("r[{}]", at - i) } else { format!("s[{}]", 5 + at - i) };
                let product = format!("_mm256_mul_epu32(x[{i}], {factor})");
                let sum = format!("  d[{at}] = _mm256_add_epi64(d[{at}], {product});\n");
                products.push_str(&if turn == 0 { format!("  d[{at}] = {product};\n") } else { sum.clone() });
                sums.push_str(&sum);
            }
        }
        let narrow: String = (0..5)
            .map(|at| {
                format!("    q[{at}][to[i]] = {};\n", digits("p[i]", 3, WIDE_LIMB, at * NARROW_LIMB, NARROW_LIMB))
            })
            .collect();
        // Bits of what is added with a block are none of the block's own.
        let beyond = |at: usize, limb: &str| match b[at] {
            0 => limb.to_owned(),
            bits => format!("_mm256_add_epi64({limb}, _mm256_and_si256(lanes, _mm256_set1_epi64x({bits:#x})))"),
        };
        let limbs: String = [
            "_mm256_and_si256(low, ones)",
            "_mm256_and_si256(_mm256_srli_epi64(low, 26), ones)",
            "_mm256_and_si256(middle, ones)",
            "_mm256_and_si256(_mm256_srli_epi64(high, 14), ones)",
            "_mm256_srli_epi64(high, 40)",
        ]
        .iter()
        .enumerate()
        .map(|(at, limb)| format!("  y[{at}] = {};\n", beyond(at, limb)))
        .collect();
        let text = format!(
            "#include <immintrin.h>
/* Sums of products: d += x r. */
{attribute}static inline __attribute__((always_inline)) void {name}_add(__m256i d[5], const __m256i x[5], const __m256i r[5], const __m256i s[5])
{{
{sums}}}

{attribute}static inline __attribute__((always_inline)) void {name}_multiply(__m256i d[5], const __m256i x[5], const __m256i r[5], const __m256i s[5])
{{
{products}}}

{attribute}static inline __attribute__((always_inline)) void {name}_carry(__m256i d[5])
{{
  const __m256i ones = _mm256_set1_epi64x({ones}), top = _mm256_set1_epi64x({top_ones});
  __m256i c;
{carries}}}

/* Limbs of four blocks, and of what is added with each in those lanes that have one. */
{attribute}static inline __attribute__((always_inline)) void {name}_take(__m256i y[5], const uint8_t *in, __m256i lanes)
{{
  const __m256i ones = _mm256_set1_epi64x({ones});
  const __m256i a = _mm256_loadu_si256((const __m256i *)in), c = _mm256_loadu_si256((const __m256i *)(in + 32));
  const __m256i low = _mm256_unpacklo_epi64(a, c), high = _mm256_unpackhi_epi64(a, c);
  const __m256i middle = _mm256_or_si256(_mm256_srli_epi64(low, 52), _mm256_slli_epi64(high, 12));
{limbs}}}

/* Each row: powers 4, 2, 3 and 1, as lanes take blocks, then 8. */
{attribute}static void {name}_powers(uint64_t q[5][5], const uint64_t r_[3])
{{
  static const uint8_t to[5] = {{3, 1, 2, 0, 4}};
  uint64_t p[5][3];
  for (int l = 0; l < 3; l++) p[0][l] = r_[l];
  for (int i = 1; i < 5; i++) {{
    const int half = i == 4 ? 3 : (i - 1) / 2;
    for (int l = 0; l < 3; l++) p[i][l] = p[half][l];
    {base}_multiply(p[i], p[i == 4 ? 3 : i / 2]);
  }}
  for (int i = 0; i < 5; i++) {{
    {base}_carry(p[i]);
{narrow}  }}
}}

/* All carries, twice: the first time little is left to be carried on. */
static inline void {name}_settle(uint64_t e[5])
{{
  for (int i = 0; i < 2; i++) {{
    for (int l = 0; l < 4; l++) {{
      e[l + 1] += e[l] >> 26;
      e[l] &= {ones};
    }}
    e[0] += (e[4] >> {top}) * {less};
    e[4] &= {top_ones};
  }}
}}

{attribute}static void {name}(uint64_t e[5], const uint8_t *q, const uint8_t *in, size_t n)
{{
  __m256i x[5], y[5], d[5], r[5], s[5], rr[5], ss[5];
  {name}_settle(e);
  for (int l = 0; l < 5; l++) {{
    r[l] = _mm256_set1_epi64x((long long)hr_le64(q + 40 * l));
    s[l] = {folded};
  }}
  /* Which block of a group a lane has. */
  const __m256i block = _mm256_set_epi64x(3, 1, 2, 0), all = _mm256_set1_epi64x(-1);
  const size_t absent = (4 - n % 4) % 4;
  const __m256i from = _mm256_set1_epi64x((long long)absent);
  const __m256i begins = _mm256_cmpeq_epi64(block, from), present = _mm256_or_si256(begins, _mm256_cmpgt_epi64(block, from));
  if (absent) {{
    uint8_t first[64] = {{0}};
    memcpy(first + 16 * absent, in, 64 - 16 * absent);
    {name}_take(x, first, present);
  }} else
    {name}_take(x, in, all);
  for (int l = 0; l < 5; l++) x[l] = _mm256_add_epi64(x[l], _mm256_and_si256(begins, _mm256_set1_epi64x((long long)e[l])));
  in += 64 - 16 * absent;
  size_t groups = (n + absent) / 4 - 1;
  if (groups % 2 != 0) {{
    {name}_multiply(d, x, r, s);
    {name}_carry(d);
    {name}_take(y, in, all);
    for (int l = 0; l < 5; l++) x[l] = _mm256_add_epi64(d[l], y[l]);
    in += 64;
  }}
  for (int l = 0; l < 5; l++) {{
    rr[l] = _mm256_set1_epi64x((long long)hr_le64(q + 40 * l + 32));
    ss[l] = {folded_rr};
  }}
  /* Two groups at once: x r^8 + y r^4, and the second of them. */
  for (groups /= 2; groups != 0; groups--, in += 128) {{
    {name}_take(y, in, all);
    {name}_multiply(d, y, r, s);
    {name}_add(d, x, rr, ss);
    {name}_carry(d);
    {name}_take(y, in + 64, all);
    for (int l = 0; l < 5; l++) x[l] = _mm256_add_epi64(d[l], y[l]);
  }}
  for (int l = 0; l < 5; l++) {{
    r[l] = _mm256_loadu_si256((const __m256i *)(const void *)(q + 40 * l));
    s[l] = {folded};
  }}
  {name}_multiply(d, x, r, s);
  {name}_carry(d);
  for (int l = 0; l < 5; l++) {{
    uint64_t lane[4];
    _mm256_storeu_si256((__m256i *)(void *)lane, d[l]);
    e[l] = lane[0] + lane[1] + lane[2] + lane[3];
  }}
  {name}_settle(e);
}}

",
            ones = ones(NARROW_LIMB),
            top_ones = ones(top),
            less = self.less,
            folded = times("r[l]", fold, 256),
            folded_rr = times("rr[l]", fold, 256),
        );
        Printed { name, text }
    }
}

/// A vector of 64-bit lanes times a small number, as sums of shifts: products of whole lanes take long. `bits` is the
/// width of the vector.
fn times(value: &str, factor: u32, bits: u32) -> String {
    let terms = (0..u32::BITS).filter(|bit| factor >> bit & 1 == 1).map(|bit| match bit {
        0 => value.to_owned(),
        bit => format!("_mm{bits}_slli_epi64({value}, {bit})"),
    });
    terms.reduce(|a, b| format!("_mm{bits}_add_epi64({a}, {b})")).unwrap_or_else(|| value.to_owned())
}

/// A literal of all ones.
fn ones(bits: u32) -> String {
    literal((1 << bits) - 1)
}

fn literal(value: u64) -> String {
    format!("{value:#x}")
}

/// A value moved to the left, or to the right.
fn shifted(value: &str, by: i64) -> String {
    match by {
        0 => value.to_owned(),
        1.. => format!("{value} << {by}"),
        _ => format!("{value} >> {}", -by),
    }
}

/// `width` bits from `lo` on of a number whose `n` limbs have `limb` bits each.
fn digits(limbs: &str, n: u32, limb: u32, lo: u32, width: u32) -> String {
    let parts: Vec<String> = (0..n)
        .filter(|at| at * limb < lo + width && (at + 1) * limb > lo)
        .map(|at| shifted(&format!("{limbs}[{at}]"), i64::from(at * limb) - i64::from(lo)))
        .collect();
    match parts.len() {
        0 => "0".to_owned(),
        _ => format!("({}) & {}", parts.join(" | "), ones(width)),
    }
}
