//! GF(2) product recurrences in portable C, by multiplication of integers with holes. A product recurrence `x := (x ^ a) ∘ h` for
//! machines without carry-less multiplications, or whose instructions C cannot ask for.
//!
//! As a network has it, a product is a round for each bit; in a straight line that is more code than all else of a message, and
//! slow. Integers of which only every fourth bit may be set are multiplied without a carry getting into the next one that
//! counts, so sixteen multiplications make half of a carry-less product (Pornin, BearSSL, `ghash_ctmul64`), and the other half is
//! the same on reversed bits. The rest is the plan that machines with such instructions follow, at other prices. No address and
//! no branch depends on an operand.

use super::guarded;
use super::loop_frame::{CFunction, LoopNames, OPERATION};
use super::machine::usual_costs;
use super::recurrence::{BYTES, EVIDENCE, blocks_of, element, halves, iterations, objects_of, size_of};
use super::scalar::element_type;
use super::words::NotApplicable;
use super::work::Work;
use headrace_boolean::bilinear::carryless::{self, Half, Op, Plan, Prices, Program};
use headrace_transform::kernel::Loop;
use headrace_transform::passes::distribute_recurrence::{Added, ElementByte, SplitLoop};
use std::fmt::Write as _;

/// Operations of a carry-less product of two words.
const MULTIPLY: usize = 130;

/// What operations cost in scalar code: halves are words, and moving these is a matter of names.
const PRICES: Prices =
    Prices { multiply: MULTIPLY as f64, xor: 2.0, shift: 2.0, shuffle: 0.0, reverse_bits: 30.0, reductions: 1.0 };

/// The product of two words, and what it is made of.
const CARRYLESS: &str = "/* Bits of each byte the other way round. */
static inline uint64_t hr_turned64(uint64_t x)
{
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  return (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
}

/* Bytes the other way round. */
static inline uint64_t hr_swapped64(uint64_t x)
{
  uint8_t bytes[8];
  hr_put_le64(bytes, x);
  return hr_be64(bytes);
}

/* The low word of a carry-less product: of every fourth bit at most sixteen are added, which stay below the next one. */
static inline uint64_t hr_carryless_low(uint64_t x, uint64_t y)
{
  const uint64_t every = 0x1111111111111111u;
  uint64_t product = 0;
  for (unsigned i = 0; i < 4; i++) {
    uint64_t part = 0;
    for (unsigned j = 0; j < 4; j++)
      part ^= (x & every << j) * (y & every << ((i - j) & 3));
    product |= part & every << i;
  }
  return product;
}

#ifndef HR_SAME
#define HR_SAME static
#endif
/* The carry-less product of two words. */
HR_SAME void hr_carryless64(uint64_t x, uint64_t y, uint64_t *product)
{
  const uint64_t high = hr_carryless_low(hr_swapped64(hr_turned64(x)), hr_swapped64(hr_turned64(y)));
  product[0] = hr_carryless_low(x, y);
  product[1] = hr_swapped64(hr_turned64(high)) >> 1;
}
";

/// A program as statements on pairs of words, the low one first; gives the name of its result.
fn program(program: &Program, inputs: &[&str], text: &mut String) -> String {
    let mut names: Vec<String> = inputs.iter().map(|&name| name.to_owned()).collect();
    for op in program.ops() {
        let name = format!("t{}", names.len());
        let word = |at: usize, half: usize| format!("{}[{half}]", names[at]);
        let each = |a: usize, f: &dyn Fn(String) -> String| (f(word(a, 0)), f(word(a, 1)));
        let zero = || "0".to_owned();
        let (low, high) = match *op {
            Op::Constant(value) => (format!("{:#x}u", value as u64), format!("{:#x}u", (value >> 64) as u64)),
            Op::Xor(a, b) => {
                let of = |half| format!("{} ^ {}", word(a, half), word(b, half));
                (of(0), of(1))
            }
            Op::Multiply(a, i, b, j) => {
                let half = |half| usize::from(half == Half::High);
                let (a, b) = (word(a, half(i)), word(b, half(j)));
                let _ = writeln!(text, "  uint64_t {name}[2];\n  hr_carryless64({a}, {b}, {name});");
                names.push(name);
                continue;
            }
            Op::ShiftHalvesLeft(a, n) => each(a, &|word| format!("{word} << {n}")),
            Op::ShiftHalvesRight(a, n) => each(a, &|word| format!("{word} >> {n}")),
            Op::LowToHigh(a) => (zero(), word(a, 0)),
            Op::HighToLow(a) => (word(a, 1), zero()),
            Op::SwapHalves(a) => (word(a, 1), word(a, 0)),
            Op::KeepLow(a) => (word(a, 0), zero()),
            Op::ReverseBytes(a) => {
                let of = |half| format!("hr_swapped64({})", word(a, half));
                (of(1), of(0))
            }
            Op::ReverseBitsInBytes(a) => each(a, &|word| format!("hr_turned64({word})")),
        };
        let _ = writeln!(text, "  const uint64_t {name}[2] = {{{low}, {high}}};");
        names.push(name);
    }
    program.outputs().first().map_or_else(String::new, |&at| names[at].clone())
}

/// How a product is computed.
fn plan(split: &SplitLoop) -> Result<Plan, NotApplicable> {
    carryless::best_plan(&split.recurrence.product, &PRICES, false)
        .ok_or_else(|| NotApplicable("no plan computes the product of a recurrence".into()))
}

/// How long it takes.
fn cycles(plan: &Plan) -> f64 {
    usual_costs().scalar(plan.program().price(&PRICES) as usize)
}

/// Sixteen bytes of elements as two words.
fn loaded(body: &Loop, bytes: &[ElementByte], names: &LoopNames) -> String {
    let [low, high] = halves(body, bytes, names);
    format!("{{{low}, {high}}}")
}

/// Stores the bytes of `x` to elements.
fn stored(body: &Loop, bytes: &[ElementByte], names: &LoopNames) -> String {
    let mut text = String::new();
    let mut done: Vec<(usize, usize)> = Vec::new();
    for byte in bytes {
        let key = (byte.object.0 as usize, byte.index);
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let (place, width) = element(body, byte, names);
        let ty = element_type(width);
        let own = bytes.iter().enumerate().filter(|(_, other)| (other.object.0 as usize, other.index) == key);
        let parts = own.map(|(at, other)| format!("({ty})(uint8_t)(x[{}] >> {}) << {}", at / 8, at % 8 * 8, other.lo));
        let _ = writeln!(text, "  {place} = ({ty})({});", parts.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// The function of a product, called as `NAME(x, y, product)`: its name and its text, one for all loops and programs that
/// multiply so.
fn product(split: &SplitLoop, plan: &Plan, names: &LoopNames) -> (String, String) {
    let print = |name: &str, linkage: &str| {
        let mut text = format!("{linkage} void {name}(const uint64_t *x, const uint64_t *y, uint64_t *product)\n{{\n");
        let result = program(&plan.program(), &["x", "y"], &mut text);
        let _ = writeln!(text, "  product[0] = {result}[0];\n  product[1] = {result}[1];\n}}\n");
        text
    };
    match names.names.shared(&format!("portable product {:?}", split.recurrence.product), &[]) {
        Some(shared) => {
            let text = print(&shared.name, "HR_SAME");
            (shared.name.clone(), shared.guarded(&text))
        }
        None => {
            let name = format!("{}_product", names.function);
            let text = print(&name, "static");
            (name, text)
        }
    }
}

/// A function as `print` makes it of its name, its linkage, the names in it and what it calls for a product, one for all
/// programs that have the same.
fn shared(
    split: &SplitLoop,
    plan: &Plan,
    names: &LoopNames,
    suffix: &str,
    print: impl Fn(&LoopNames, &str, &str) -> String,
) -> String {
    let body = &split.independent;
    let added = match &split.recurrence.added {
        Added::Elements(added) => &added[..],
        Added::Tokens(_) => &[],
    };
    let lists = [&split.recurrence.state[..], &split.recurrence.factor, added];
    let (places, objects) = objects_of(body, &lists);
    let about: Vec<(u32, usize)> = objects.iter().map(|object| (object.width, object.length)).collect();
    let identity = format!("portable recurrence{suffix} {:?} {places:?} {about:?}", split.recurrence.product);
    let (product, multiplies) = product(split, plan, names);
    let above = guarded("hr_carryless64", CARRYLESS) + &multiplies;
    let Some(shared) = names.names.shared(&identity, &objects) else {
        return above + &print(names, "static", &product);
    };
    let (name, state) = (&shared.name, format!("const struct {}_on", shared.name));
    let text = print(&LoopNames { function: name, state: &state, names: &*shared.names }, "HR_SAME", &product);
    let whole = shared.guarded(&format!("{}{text}", shared.above));
    let (tokens, given) = if added.is_empty() { (", const uint8_t *in", ", in") } else { ("", "") };
    format!(
        "{above}{whole}static inline void {}{suffix}({} *s{tokens}, size_t iterations)\n{{\n  const struct {name}_on on = {};\n  {name}{suffix}(&on{given}, iterations);\n}}\n",
        names.function, names.state, shared.on
    )
}

/// Prints a recurrence that is gone through once, with what is added in memory, for any machine: `NAME(s, iterations)`.
///
/// # Errors
///
/// Why it cannot be: there is more in the loop, or a product that no plan computes.
pub fn portable_product(split: &SplitLoop, names: &LoopNames) -> Result<CFunction, NotApplicable> {
    let (body, recurrence) = (&split.independent, &split.recurrence);
    let Added::Elements(added) = &recurrence.added else {
        return Err(NotApplicable("what is added are tokens".into()));
    };
    if !body.carried.is_empty() || !body.outputs.is_empty() {
        return Err(NotApplicable("an iteration has more than its recurrence".into()));
    }
    let plan = plan(split)?;
    let print = |names: &LoopNames, linkage: &str, product: &str| {
        let [x, a, h] = [&recurrence.state, added, &recurrence.factor].map(|bytes| loaded(body, bytes, names));
        format!(
            "{linkage} void {}({} *s, size_t iterations)\n{{\n{}  const uint64_t h[2] = {h}, added[2] = {a};\n  uint64_t x[2] = {x};\n  (void)iterations;\n  x[0] ^= added[0];\n  x[1] ^= added[1];\n  {product}(x, h, x);\n{}}}\n\n",
            names.function,
            names.state,
            names.names.entered(),
            stored(body, &recurrence.state, names),
        )
    };
    let text = shared(split, &plan, names, "", print);
    let name = names.function.to_owned();
    Ok(CFunction {
        name,
        support: Vec::new(),
        text,
        cycles: cycles(&plan),
        size: length(&plan),
        evidence: EVIDENCE.to_vec(),
        work: Work::default(),
    })
}

/// Prints a loop that was taken apart for any machine: `first` runs its independent part.
///
/// # Errors
///
/// Why it cannot be: a product that no plan computes, or blocks that do not lie one beside the other.
pub fn portable_recurrence(
    split: &SplitLoop,
    first: &CFunction,
    names: &LoopNames,
) -> Result<CFunction, NotApplicable> {
    let (body, recurrence) = (&split.independent, &split.recurrence);
    let tokens = blocks_of(split)?;
    let plan = plan(split)?;
    let print = |names: &LoopNames, linkage: &str, product: &str| {
        let [x, h] = [&recurrence.state, &recurrence.factor].map(|bytes| loaded(body, bytes, names));
        let function = names.function;
        format!(
            "{linkage} void {function}_recurrence({} *s, const uint8_t *in, size_t iterations)\n{{\n{}  const uint64_t h[2] = {h};\n  uint64_t x[2] = {x};\n  for (; iterations != 0; iterations--, in += {BYTES}) {{\n    x[0] ^= hr_le64(in);\n    x[1] ^= hr_le64(in + 8);\n    {product}(x, h, x);\n  }}\n{}}}\n\n",
            names.state,
            names.names.entered(),
            stored(body, &recurrence.state, names),
        )
    };
    let mut text = first.text.clone();
    text.push_str(&shared(split, &plan, names, "_recurrence", print));
    text.push_str(&iterations(split, tokens, first, None, None, names));
    let function = CFunction {
        name: names.function.to_owned(),
        text,
        cycles: first.cycles + cycles(&plan),
        size: first.size + length(&plan),
        ..first.clone()
    };
    Ok(function.shown_by(EVIDENCE.iter().cloned()))
}

/// How long the functions for a product are.
fn length(plan: &Plan) -> usize {
    size_of(plan) + OPERATION * MULTIPLY
}
