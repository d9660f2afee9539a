//! Parallel evaluation of GF(2) product recurrences, by powers of the multiplier. A product recurrence `x := (x ^ a) ∘
//! h` over blocks that lie in memory, with carry-less multiplications.
//!
//! ```text
//! x' = (x ^ a1) ∘ h^n  ^  a2 ∘ h^(n-1)  ^ … ^  an ∘ h
//! ```
//!
//! The products on the right do not need each other. Each part of a wide register has its block and its power; what
//! comes of them is added before it is reduced, once for all of a group. A group that is not full begins with blocks of
//! zeros, which add nothing, so that what is left needs no other code. How one product is computed and that it is the
//! right one, is settled and proved by [`carryless`].

use super::blocks::Statement;
use super::loop_frame::{CFunction, LoopNames, OPERATION, Support};
use super::machine::usual_costs;
use super::scalar::element_type;
use super::short_trip;
use super::stitched;
use super::words::NotApplicable;
use super::work::Work;
use headrace_boolean::bilinear::carryless::{Half, Op, Plan, Program};
use headrace_transform::kernel::{Evidence, Loop, Object, ObjectId};
use headrace_transform::passes::distribute_recurrence::{Added, ElementByte, Recurrence, SplitLoop, Tokens};
use headrace_vectorize::products::{self, of_bytes, plan, turns_bits};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Registers of a group.
pub(super) const REGISTERS: usize = products::REGISTERS as usize;

/// Registers that are made of a power at most, where powers are kept.
const MOST_KEYS: usize = 2;

/// Bytes that are kept of a multiplier at most.
pub const POWERS_BYTES: usize = REGISTERS * MOST_KEYS * 64;

/// What is kept of an element that loops multiply by, from call to call: two objects of bytes.
pub struct Memo {
    /// Its powers as [`group`] takes them.
    pub powers: Object,
    /// Which of them are there, as those count who make them; 0: none. Of products, how many registers there are, and sixteen
    /// times how many parts a register has.
    pub known: Object,
}

/// Iterations of the first loop before the recurrence goes over their blocks: these stay in a near cache.
const ITERATIONS: usize = 1024;

/// Bytes of a block.
pub(super) const BYTES: u64 = 16;

/// Features that the functions need, by their names for compilers.
pub(super) fn features(bits: u32) -> BTreeSet<String> {
    products::features(bits).iter().map(|&name| name.to_owned()).collect()
}

/// Operations of a width, by the names that the printed text uses.
pub(super) fn support(bits: u32) -> String {
    let (v, prefix, whole, pointer) = match bits {
        128 => ("__m128i", "_mm", "si128", "__m128i"),
        256 => ("__m256i", "_mm256", "si256", "__m256i"),
        _ => ("__m512i", "_mm512", "si512", "void"),
    };
    let (left, right, multiply) = match bits {
        128 => ("_mm_slli_si128", "_mm_srli_si128", "_mm_clmulepi64_si128"),
        256 => ("_mm256_bslli_epi128", "_mm256_bsrli_epi128", "_mm256_clmulepi64_epi128"),
        _ => ("_mm512_bslli_epi128", "_mm512_bsrli_epi128", "_mm512_clmulepi64_epi128"),
    };
    let all = match bits {
        128 => "(x)",
        256 => "_mm256_broadcastsi128_si256(x)",
        _ => "_mm512_broadcast_i32x4(x)",
    };
    // The XOR of all parts.
    let folded = match bits {
        128 => "(x)",
        256 => "_mm_xor_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1))",
        _ => {
            "_mm_xor_si128(_mm_xor_si128(_mm512_castsi512_si128(x), _mm512_extracti32x4_epi32(x, 1)), _mm_xor_si128(_mm512_extracti32x4_epi32(x, 2), _mm512_extracti32x4_epi32(x, 3)))"
        }
    };
    let mut text = String::from("#include <immintrin.h>\n");
    let mut define = |name: &str, meaning: String| {
        let _ = writeln!(text, "#define HR_CL_{name} {meaning}");
    };
    define(&format!("V{bits}"), v.to_owned());
    define(&format!("LOAD{bits}(p)"), format!("{prefix}_loadu_{whole}((const {pointer} *)(p))"));
    define(&format!("KEEP{bits}(p, a)"), format!("{prefix}_storeu_{whole}(({pointer} *)(p), a)"));
    define(&format!("XOR{bits}(a, b)"), format!("{prefix}_xor_{whole}(a, b)"));
    define(&format!("AND{bits}(a, b)"), format!("{prefix}_and_{whole}(a, b)"));
    define(&format!("MULTIPLY{bits}(a, b, i)"), format!("{multiply}(a, b, i)"));
    define(&format!("LEFT{bits}(a, n)"), format!("{prefix}_slli_epi64(a, n)"));
    define(&format!("RIGHT{bits}(a, n)"), format!("{prefix}_srli_epi64(a, n)"));
    define(&format!("LOW_TO_HIGH{bits}(a)"), format!("{left}(a, 8)"));
    define(&format!("HIGH_TO_LOW{bits}(a)"), format!("{right}(a, 8)"));
    let words = if bits == 512 { "(_MM_PERM_ENUM)0x4e" } else { "0x4e" };
    define(&format!("SWAP{bits}(a)"), format!("{prefix}_shuffle_epi32(a, {words})"));
    define(&format!("SHUFFLE{bits}(a, b)"), format!("{prefix}_shuffle_epi8(a, b)"));
    match bits {
        128 => {}
        256 => define("PUT256(a, x, i)", "_mm256_inserti128_si256(a, x, i)".to_owned()),
        _ => define("PUT512(a, x, i)", "_mm512_inserti32x4(a, x, i)".to_owned()),
    }
    // Blocks that fill a register behind `n` parts of zeros; to the first of them is added what there is so far.
    match bits {
        128 => {}
        256 => define(
            "HEAD256(p, x, n)",
            "_mm256_inserti128_si256(_mm256_setzero_si256(), _mm_xor_si128(HR_CL_LOAD128(p), x), 1)".to_owned(),
        ),
        _ => define(
            "HEAD512(p, x, n)",
            "_mm512_xor_si512(_mm512_maskz_expandloadu_epi64((__mmask8)(0xffu << 2 * (n)), p), _mm512_maskz_broadcast_i64x2((__mmask8)(3u << 2 * (n)), x))".to_owned(),
        ),
    }
    if bits == 512 {
        // The last parts of a register as the first of one. A load from behind its beginning would wait for what lies behind its end.
        define("LAST512(n, x)", "_mm512_maskz_compress_epi64((__mmask8)(0xffu << 2 * (4 - (n))), x)".to_owned());
        for (bits, prefix, set) in [(512, "_mm512", "set1_epi64"), (128, "_mm", "set1_epi64x")] {
            let matrix = format!("{prefix}_{set}((long long)0x8040201008040201u)");
            define(&format!("REVERSE{bits}(a)"), format!("{prefix}_gf2p8affine_epi64_epi8(a, {matrix}, 0)"));
        }
    }
    define(&format!("ALL{bits}(x)"), all.to_owned());
    define(&format!("FOLDED{bits}(x)"), folded.to_owned());
    // The same by fewer instructions, one behind the other.
    match bits {
        128 => define("FOLDED_LATE128(x)", "(x)".to_owned()),
        256 => define("FOLDED_LATE256(x)", "HR_CL_FOLDED256(x)".to_owned()),
        _ => {
            define(
                "HALF512(x)",
                "_mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1))".to_owned(),
            );
            define(
                "FOLDED_LATE512(x)",
                "_mm_xor_si128(_mm256_castsi256_si128(HR_CL_HALF512(x)), _mm256_extracti128_si256(HR_CL_HALF512(x), 1))".to_owned(),
            );
        }
    }
    match bits {
        128 => define("ONLY128(x)", "(x)".to_owned()),
        256 => define("ONLY256(x)", "_mm256_zextsi128_si256(x)".to_owned()),
        _ => define("ONLY512(x)", "_mm512_zextsi128_si512(x)".to_owned()),
    }
    text
}

/// A constant in all parts.
pub(super) fn constant(value: u128, bits: u32) -> String {
    let (high, low) = ((value >> 64) as u64, value as u64);
    format!("HR_CL_ALL{bits}(_mm_set_epi64x((long long){high:#x}u, (long long){low:#x}u))")
}

/// Registers that a program works in.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    /// Their width.
    pub bits: u32,
    /// Whether the machine turns the bits of bytes round by one instruction; all that multiply in wide registers do.
    pub turns_bits: bool,
}

/// What a register holds.
pub(super) struct Value {
    pub bits: u32,
    pub name: String,
    pub value: String,
}

impl Value {
    pub(super) fn constant(&self, text: &mut String) {
        let Value { bits, name, value } = self;
        let _ = writeln!(text, "  const HR_CL_V{bits} {name} = {value};");
    }
}

/// A program as statements; values begin with `prefix`. Gives the names of its results.
fn program(program: &Program, inputs: &[String], registers: Registers, prefix: &str, text: &mut String) -> Vec<String> {
    let mut values = Vec::new();
    let results = values_of(program, inputs, registers, prefix, &mut values);
    values.iter().for_each(|value| value.constant(text));
    results
}

/// The values of a program, whose names begin with `prefix`. Gives the names of its results.
pub(super) fn values_of(
    program: &Program,
    inputs: &[String],
    registers: Registers,
    prefix: &str,
    values: &mut Vec<Value>,
) -> Vec<String> {
    let names = values_behind(program, inputs.to_vec(), program.ops().len(), registers, prefix, values);
    program.outputs().iter().map(|&at| names[at].clone()).collect()
}

/// The values of the first operations of a program, so many; `names` are those of its inputs and of as many operations as
/// need no value any more. Gives the names of all.
pub(super) fn values_behind(
    program: &Program,
    mut names: Vec<String>,
    operations: usize,
    registers: Registers,
    prefix: &str,
    values: &mut Vec<Value>,
) -> Vec<String> {
    let Registers { bits, turns_bits } = registers;
    let done = names.len() - program.n_inputs();
    for op in program.ops().iter().take(operations).skip(done) {
        let of = |at: usize| names[at].as_str();
        let value = match *op {
            Op::Constant(value) => constant(value, bits),
            Op::Xor(a, b) => format!("HR_CL_XOR{bits}({}, {})", of(a), of(b)),
            Op::Multiply(a, i, b, j) => {
                let half = u32::from(i == Half::High) | u32::from(j == Half::High) << 4;
                format!("HR_CL_MULTIPLY{bits}({}, {}, {half:#x})", of(a), of(b))
            }
            Op::ShiftHalvesLeft(a, n) => format!("HR_CL_LEFT{bits}({}, {n})", of(a)),
            Op::ShiftHalvesRight(a, n) => format!("HR_CL_RIGHT{bits}({}, {n})", of(a)),
            Op::LowToHigh(a) => format!("HR_CL_LOW_TO_HIGH{bits}({})", of(a)),
            Op::HighToLow(a) => format!("HR_CL_HIGH_TO_LOW{bits}({})", of(a)),
            Op::SwapHalves(a) => format!("HR_CL_SWAP{bits}({})", of(a)),
            Op::KeepLow(a) => format!("HR_CL_AND{bits}({}, {})", of(a), constant(u128::from(u64::MAX), bits)),
            Op::ReverseBytes(a) => {
                format!("HR_CL_SHUFFLE{bits}({}, {})", of(a), constant(of_bytes(|at| 15 - at as u8), bits))
            }
            Op::ReverseBitsInBytes(a) if turns_bits => format!("HR_CL_REVERSE{bits}({})", of(a)),
            Op::ReverseBitsInBytes(a) => {
                let nibbles = constant(of_bytes(|_| 15), bits);
                let low = constant(of_bytes(|at| (at as u8).reverse_bits()), bits);
                let high = constant(of_bytes(|at| (at as u8).reverse_bits() >> 4), bits);
                format!(
                    "HR_CL_XOR{bits}(HR_CL_SHUFFLE{bits}({low}, HR_CL_AND{bits}({0}, {nibbles})), HR_CL_SHUFFLE{bits}({high}, HR_CL_AND{bits}(HR_CL_RIGHT{bits}({0}, 4), {nibbles})))",
                    of(a)
                )
            }
        };
        let name = format!("{prefix}{}", names.len());
        values.push(Value { bits, name: name.clone(), value });
        names.push(name);
    }
    names
}

/// Whether a plan turns the bytes of the first factor round before all else, and those of the product last: who comes from
/// one product to the next need not.
pub(super) fn turns_bytes(plan: &Plan) -> bool {
    let (before, after) = (&plan.prepare_x, &plan.reduce);
    let last = after.n_inputs() + after.ops().len() - 1;
    let begins = before.ops().first() == Some(&Op::ReverseBytes(0))
        && before.ops().iter().skip(1).all(|op| op.operands().all(|at| at != 0))
        && !before.outputs().contains(&0);
    begins && matches!(after.ops().last(), Some(Op::ReverseBytes(_))) && after.outputs() == [last]
}

/// Prints a loop that was taken apart: `first` runs its independent part, `stitched` whole groups of both parts. The
/// recurrence uses registers of `bits`, 128, 256 or 512. `few` runs few iterations where that can be.
///
/// # Errors
///
/// Why it cannot be: a product that no plan computes, or blocks that do not lie one beside the other.
pub fn recurrence(
    split: &SplitLoop,
    first: &CFunction,
    stitched: Option<&CFunction>,
    few: Option<&CFunction>,
    bits: u32,
    names: &LoopNames,
) -> Result<(CFunction, BTreeSet<String>), NotApplicable> {
    let body = &split.independent;
    let tokens = blocks_of(split)?;
    let plan = plan(&split.recurrence, bits)?;
    let function = names.function;
    let features = features(bits);
    let attribute = attribute(&features);
    let mut text = first.text.clone();
    text.push_str(&over_blocks(&split.recurrence, body, &plan, bits, names, &attribute));
    let mut supports = first.support.clone();
    for bits in BTreeSet::from([128, bits]) {
        supports.push(Support::of_all(support(bits)));
    }
    let mut size = first.size + size_of(&plan);
    let mut evidence = EVIDENCE.to_vec();
    let groups = stitched.map(|stitched| {
        evidence.push(STITCHED);
        text.push_str(&stitched.text);
        supports.extend(stitched.support.iter().cloned());
        size += stitched.size;
        (stitched, stitched::iterations(bits))
    });
    let few = match few {
        None => None,
        Some(few) => {
            text.push_str(&few.text);
            supports.extend(few.support.iter().cloned());
            size += few.size;
            Some((few, short_trip::condition(split, names)?))
        }
    };
    text.push_str(&iterations(split, tokens, first, groups, few, names));
    let cycles = first.cycles + usual_costs().products(plan.multiply.n_multiplications(), bits);
    let function = CFunction { name: function.to_owned(), support: supports, text, cycles, size, ..first.clone() };
    Ok((function.shown_by(evidence), features))
}

/// What both parts in one loop are held to.
const STITCHED: Evidence = Evidence::Test {
    what: "both parts in one loop",
    test: "crates/targets/tests/kernel_library.rs loops_taken_apart_are_stitched_together",
};

/// The blocks of a loop that its recurrence goes over.
///
/// # Errors
///
/// Why they are none that lie one beside the other.
pub(super) fn blocks_of(split: &SplitLoop) -> Result<Tokens, NotApplicable> {
    let body = &split.independent;
    let Added::Tokens(tokens) = split.recurrence.added else {
        return Err(NotApplicable("what is added is the same in each iteration".into()));
    };
    let ports = if tokens.is_output { &body.produces } else { &body.consumes };
    let whole = ports.get(tokens.port).is_some_and(|port| port.0 == BYTES) && tokens.first == 0;
    match whole {
        true => Ok(tokens),
        false => Err(NotApplicable("an iteration has more than the blocks of its recurrence".into())),
    }
}

/// What products are held to.
pub(super) const EVIDENCE: &[Evidence] = &[
    Evidence::Basis { what: "the product against its plan of multiplications", vectors: 128 * 128 },
    Evidence::Identity { what: "((x + a) h + b) h = (x + a) (h h) + b h" },
    Evidence::Test {
        what: "recurrences taken apart",
        test: "crates/targets/tests/kernel_library.rs product_recurrences_are_taken_apart",
    },
];

/// How long the functions for a product are.
pub(super) fn size_of(plan: &Plan) -> usize {
    let programs = [&plan.prepare_x, &plan.prepare_y, &plan.multiply, &plan.reduce];
    // Whole products are printed for two widths, and a group has wide ones and one that is not.
    2 * OPERATION * programs.map(|program| program.ops().len()).into_iter().sum::<usize>()
}

pub(super) fn attribute(features: &BTreeSet<String>) -> String {
    let target: Vec<&str> = features.iter().map(String::as_str).collect();
    format!("__attribute__((target(\"{}\")))", target.join(","))
}

/// Prints a recurrence that is gone through once, with what is added in memory, as a function `NAME(s, iterations)`.
///
/// # Errors
///
/// Why it cannot be: there is more in the loop, or a product that no plan computes.
pub fn product_once(split: &SplitLoop, names: &LoopNames) -> Result<(CFunction, BTreeSet<String>), NotApplicable> {
    let (body, recurrence) = (&split.independent, &split.recurrence);
    let Added::Elements(added) = &recurrence.added else {
        return Err(NotApplicable("what is added are tokens".into()));
    };
    if !body.carried.is_empty() || !body.outputs.is_empty() {
        return Err(NotApplicable("an iteration has more than its recurrence".into()));
    }
    let plan = plan(recurrence, 128)?;
    let function = names.function;
    let features = features(128);
    let attribute = attribute(&features);
    let mut text = product(&plan, Registers { bits: 128, turns_bits: false }, function, &attribute);
    let _ = writeln!(
        text,
        "{attribute} static void {function}({} *s, size_t iterations)\n{{\n  (void)iterations;",
        names.state
    );
    let [x, a, h] = [&recurrence.state, added, &recurrence.factor].map(|bytes| loaded(body, bytes, names));
    let _ = writeln!(text, "  const __m128i x = {function}_product128(HR_CL_XOR128({x}, {a}), {h});");
    store_state(body, recurrence, names, &mut text);
    text.push_str("}\n\n");
    let cycles = usual_costs().products(plan.multiply.n_multiplications(), 128);
    let (name, evidence) = (function.to_owned(), EVIDENCE.to_vec());
    let size = size_of(&plan);
    let (support, work) = (vec![Support::of_all(support(128))], Work::default());
    Ok((CFunction { name, support, text, cycles, size, evidence, work }, features))
}

/// An element of which a byte is a part, and its width.
pub(super) fn element(body: &Loop, byte: &ElementByte, names: &LoopNames) -> (String, u32) {
    let object = &body.objects[byte.object.0 as usize];
    (names.names.element(object, &byte.index.to_string()), object.width)
}

/// Sixteen bytes of elements that lie in memory one beside the other, in whatever order: where they begin, and for each
/// byte of memory which of the sixteen lies there, on machines that store the least significant byte first.
fn beside(body: &Loop, bytes: &[ElementByte], names: &LoopNames) -> Option<(String, [u8; BYTES as usize])> {
    let object = bytes.first()?.object;
    let n_bytes = body.objects[object.0 as usize].width as usize / 8;
    let place = |byte: &ElementByte| byte.index * n_bytes + byte.lo as usize / 8;
    let first = bytes.iter().map(place).min()?;
    let mut order = [u8::MAX; BYTES as usize];
    for (at, byte) in bytes.iter().enumerate() {
        if byte.object != object || !byte.lo.is_multiple_of(8) {
            return None;
        }
        *order.get_mut(place(byte) - first)? = u8::try_from(at).ok()?;
    }
    if !first.is_multiple_of(n_bytes) || order.contains(&u8::MAX) {
        return None;
    }
    let (element, _) = element(body, bytes.iter().find(|byte| place(byte) == first)?, names);
    Some((element, order))
}

/// A register with its bytes in another order.
fn reordered(register: &str, order: impl Fn(u8) -> u8) -> String {
    let is = |wanted: &dyn Fn(u8) -> u8| (0..BYTES as u8).all(|at| order(at) == wanted(at));
    match is(&|at| at) {
        true => register.to_owned(),
        false if is(&|at| (at + 8) % 16) => format!("HR_CL_SWAP128({register})"),
        false => format!("HR_CL_SHUFFLE128({register}, {})", constant(of_bytes(|at| order(at as u8)), 128)),
    }
}

/// Bytes of elements as a register. Where they do not lie beside one another they are put together from the elements:
/// not through memory, where a load would wait for many narrow stores.
pub(super) fn loaded(body: &Loop, bytes: &[ElementByte], names: &LoopNames) -> String {
    loaded_so(body, bytes, false, names)
}

/// The same; `turned`: the last byte first.
pub(super) fn loaded_so(body: &Loop, bytes: &[ElementByte], turned: bool, names: &LoopNames) -> String {
    if let Some((first, order)) = beside(body, bytes, names) {
        let place = |at: u8| order.iter().position(|&byte| byte == at).map_or(at, |place| place as u8);
        let object = bytes.first().map(|byte| &body.objects[byte.object.0 as usize]);
        // What stores put there side by side processors hand on to one load of each, not to a load of both.
        let register = match object.filter(|object| object.width == 8) {
            None => format!("HR_CL_LOAD128(&{first})"),
            Some(_) => {
                let half = |at: u32| format!("_mm_loadl_epi64((const __m128i *)(&{first} + {at}))");
                format!("_mm_unpacklo_epi64({}, {})", half(0), half(8))
            }
        };
        return reordered(&register, |at| place(if turned { 15 - at } else { at }));
    }
    let [low, high] = halves(body, bytes, names);
    let register = format!("_mm_set_epi64x((int64_t)({high}), (int64_t)({low}))");
    reordered(&register, |at| if turned { 15 - at } else { at })
}

/// Sixteen bytes of elements as two words of 64 bits, the low one first.
pub(super) fn halves(body: &Loop, bytes: &[ElementByte], names: &LoopNames) -> [String; 2] {
    let half = |bytes: &[ElementByte]| {
        let part = |(at, byte): (usize, &ElementByte)| {
            let (element, _) = element(body, byte, names);
            format!("(uint64_t)(uint8_t)({element} >> {}) << {}", byte.lo, 8 * at)
        };
        bytes.iter().enumerate().map(part).collect::<Vec<_>>().join(" | ")
    };
    let (low, high) = bytes.split_at(bytes.len() / 2);
    [half(low), half(high)]
}

/// Elements of the state from the register `x`, as [`store_state_so`].
pub(super) fn store_state(body: &Loop, recurrence: &Recurrence, names: &LoopNames, text: &mut String) {
    store_state_so(body, recurrence, false, names, text);
}

/// Elements of the state from the register `x`, `turned`: with the last byte first. At once where they lie beside one another, else each from all of its
/// bytes.
pub(super) fn store_state_so(body: &Loop, recurrence: &Recurrence, turned: bool, names: &LoopNames, text: &mut String) {
    if let Some((first, order)) = beside(body, &recurrence.state, names) {
        let byte = |place: u8| order[usize::from(place)];
        let x = reordered("x", |place| if turned { 15 - byte(place) } else { byte(place) });
        let _ = writeln!(text, "  _mm_storeu_si128((__m128i *)&{first}, {x});");
        return;
    }
    let x = reordered("x", |at| if turned { 15 - at } else { at });
    let _ = writeln!(text, "  uint8_t x_[16];\n  _mm_storeu_si128((__m128i *)x_, {x});");
    let mut done: Vec<(usize, usize)> = Vec::new();
    for byte in &recurrence.state {
        let key = (byte.object.0 as usize, byte.index);
        if done.contains(&key) {
            continue;
        }
        done.push(key);
        let (place, width) = element(body, byte, names);
        let own =
            recurrence.state.iter().enumerate().filter(|(_, other)| (other.object.0 as usize, other.index) == key);
        let ty = element_type(width);
        let parts: Vec<String> = own.map(|(at, other)| format!("({ty})x_[{at}] << {}", other.lo)).collect();
        let _ = writeln!(text, "  {place} = ({ty})({});", parts.join(" | "));
    }
}

/// A whole product, part by part.
fn product(plan: &Plan, registers: Registers, function: &str, attribute: &str) -> String {
    let bits = registers.bits;
    let mut text = format!(
        "{attribute} static inline HR_CL_V{bits} {function}_product{bits}(HR_CL_V{bits} x, HR_CL_V{bits} y)\n{{\n"
    );
    let results = program(&plan.program(), &["x".into(), "y".into()], registers, "t", &mut text);
    let _ = writeln!(text, "  return {};\n}}\n", results[0]);
    text
}

/// The sum of the products of up to [`REGISTERS`] registers with the powers, reduced. The first is given, `x_`, and begins with
/// so many blocks of zeros; what follows is read where it lies.
fn group(plan: &Plan, bits: u32, function: &str, attribute: &str) -> String {
    let n_sums = plan.multiply.outputs().len();
    let n_keys = plan.prepare_y.outputs().len();
    let mut text = format!(
        "{attribute} static inline __attribute__((always_inline)) __m128i {function}_group(__m128i x, HR_CL_V{bits} x_, const uint8_t *in, size_t zeros, const uint8_t *keys, size_t n)\n{{\n"
    );
    let wide = Registers { bits, turns_bits: turns_bits(bits) };
    for sum in 0..n_sums {
        let _ = writeln!(text, "  HR_CL_V{bits} sum{sum} = HR_CL_ALL{bits}(_mm_setzero_si128());");
    }
    text.push_str("  for (size_t i = 0;;) {\n");
    let mut factors = program(&plan.prepare_x, &["x_".into()], wide, "p", &mut text);
    let key = |key: usize| {
        format!("HR_CL_LOAD{bits}(keys + {} * i + {})", n_keys * bits as usize / 8, key * bits as usize / 8)
    };
    factors.extend((0..n_keys).map(key));
    for (sum, value) in program(&plan.multiply, &factors, wide, "m", &mut text).iter().enumerate() {
        let _ = writeln!(text, "  sum{sum} = HR_CL_XOR{bits}(sum{sum}, {value});");
    }
    let register = bits / 8;
    let _ = writeln!(
        text,
        "    if (++i == n) break;\n    x_ = HR_CL_LOAD{bits}(in + ({register} * i - 16 * zeros));\n  }}"
    );
    let sums: Vec<String> = (0..n_sums).map(|sum| format!("sum{sum}")).collect();
    let mut values = Vec::new();
    let result = reduced(plan, &sums, wide, "keys", &mut values);
    values.iter().for_each(|value| value.constant(&mut text));
    let _ = writeln!(text, "  return {result};\n}}\n");
    text
}

/// The sums of a group and the product of what comes of the group before, `x`, folded to 128 bits and reduced: that has a
/// product of its own, so that from group to group the processor waits for no more than that and its reduction. Gives the
/// name of the result.
fn reduced(plan: &Plan, sums: &[String], wide: Registers, keys: &str, values: &mut Vec<Value>) -> String {
    let bits = wide.bits;
    let narrow = Registers { bits: 128, ..wide };
    let mut factors = values_of(&plan.prepare_x, &["x".into()], narrow, "pq_", values);
    let n_keys = plan.prepare_y.outputs().len();
    factors.extend((0..n_keys).map(|key| format!("HR_CL_LOAD128({keys} + {})", key * bits as usize / 8)));
    let own = values_of(&plan.multiply, &factors, narrow, "po_", values);
    for (at, (sum, value)) in sums.iter().zip(&own).enumerate() {
        let value = format!("HR_CL_XOR128(HR_CL_FOLDED{bits}({sum}), {value})");
        values.push(Value { bits: 128, name: format!("whole{at}"), value });
    }
    let whole: Vec<String> = (0..sums.len()).map(|sum| format!("whole{sum}")).collect();
    values_of(&plan.reduce, &whole, narrow, "pr_", values)[0].clone()
}

/// The sums of a group reduced, where no one waits for them: all that adds and shifts before the first product is done in whole
/// registers, since fewer are left to be folded to 128 bits behind it. Gives the name of the result.
fn folded_late(reduce: &Program, sums: Vec<String>, wide: Registers, values: &mut Vec<Value>) -> String {
    let (bits, n_inputs) = (wide.bits, reduce.n_inputs());
    let narrow = Registers { bits: 128, ..wide };
    let front = reduce.ops().iter().position(|op| matches!(op, Op::Multiply(..))).unwrap_or(reduce.ops().len());
    let mut names = values_behind(reduce, sums, front, wide, "pw_", values);
    let behind = || reduce.ops()[front..].iter().flat_map(Op::operands).chain(reduce.outputs().iter().copied());
    for (at, name) in names.iter_mut().enumerate().filter(|(at, _)| behind().any(|read| read == *at)) {
        let value = match at.checked_sub(n_inputs).map(|op| reduce.ops()[op]) {
            Some(Op::Constant(value)) => constant(value, 128),
            _ => format!("HR_CL_FOLDED_LATE{bits}({name})"),
        };
        *name = format!("pf_{at}");
        values.push(Value { bits: 128, name: name.clone(), value });
    }
    let names = values_behind(reduce, names, reduce.ops().len(), narrow, "pr_", values);
    names[reduce.outputs()[0]].clone()
}

/// A full group as statements that stand beside others.
pub(super) struct Group {
    /// What stands before the first group.
    pub before: String,
    /// What each group has.
    pub statements: Vec<Statement>,
    /// What stands behind the last group.
    pub after: String,
    /// Features that they need, by their names for compilers.
    pub features: BTreeSet<String>,
    /// Definitions that they use.
    pub support: Vec<Support>,
}

/// The sum of products of [`REGISTERS`] registers of blocks, which are read from `read` on: as [`group`] in a loop, with
/// all powers there.
///
/// # Errors
///
/// Where powers are not kept, or no plan computes the product.
pub(super) fn group_beside(
    split: &SplitLoop,
    bits: u32,
    read: &str,
    names: &LoopNames,
) -> Result<Group, NotApplicable> {
    let (body, recurrence) = (&split.independent, &split.recurrence);
    let plan = plan(recurrence, bits)?;
    let Some(Memo { powers, .. }) = memo(recurrence, body, &plan, names) else {
        return Err(NotApplicable("powers are not kept from call to call".into()));
    };
    let (n_sums, n_keys, bytes) = (plan.multiply.outputs().len(), plan.prepare_y.outputs().len(), bits as usize / 8);
    let wide = Registers { bits, turns_bits: turns_bits(bits) };
    let mut values: Vec<Value> = Vec::new();
    let mut sums: Vec<String> = Vec::new();
    // What comes of the group before is added to its first register, whose products come last: it may take as long as the others do.
    for (turn, at) in (1..REGISTERS).chain([0]).enumerate() {
        let added = format!("added{at}_");
        let load = format!("HR_CL_LOAD{bits}({read} + {})", bytes * at);
        let value = if at == 0 { format!("HR_CL_XOR{bits}({load}, HR_CL_ONLY{bits}(x))") } else { load };
        values.push(Value { bits, name: added.clone(), value });
        let mut factors = values_of(&plan.prepare_x, &[added], wide, &format!("px{at}_"), &mut values);
        factors.extend((0..n_keys).map(|key| format!("HR_CL_LOAD{bits}(keys_ + {})", (n_keys * at + key) * bytes)));
        let products = values_of(&plan.multiply, &factors, wide, &format!("pm{at}_"), &mut values);
        sums = match turn {
            0 => products,
            _ => {
                let pairs = sums.iter().zip(&products).enumerate();
                let added = pairs.map(|(sum, (before, value))| Value {
                    bits,
                    name: format!("sum{turn}_{sum}"),
                    value: format!("HR_CL_XOR{bits}({before}, {value})"),
                });
                values.extend(added);
                (0..n_sums).map(|sum| format!("sum{turn}_{sum}")).collect()
            }
        };
    }
    let result = folded_late(&plan.reduce, sums, wide, &mut values);
    let mut statements: Vec<Statement> = values
        .into_iter()
        .map(|Value { bits, name, value }| Statement {
            text: format!("HR_CL_V{bits} {name} = {value};"),
            register: Some(name),
        })
        .collect();
    statements.push(Statement { text: format!("x = {result};"), register: None });
    let before = format!(
        "  __m128i x = {};\n  const uint8_t *const keys_ = &{};\n",
        loaded(body, &recurrence.state, names),
        names.names.element(&powers, "0")
    );
    let mut after = String::new();
    store_state(body, recurrence, names, &mut after);
    let support = BTreeSet::from([128, bits]).into_iter().map(|bits| Support::of_all(support(bits))).collect();
    Ok(Group { before, statements, after, features: features(bits), support })
}

/// Where the powers of its multiplier are kept from call to call.
pub(super) fn memo(recurrence: &Recurrence, body: &Loop, plan: &Plan, names: &LoopNames) -> Option<Memo> {
    let factor = recurrence.factor.first().and_then(|byte| body.objects.get(byte.object.0 as usize));
    let fits = plan.prepare_y.outputs().len() <= MOST_KEYS;
    factor.filter(|_| fits).and_then(|factor| names.names.memo(factor))
}

/// Where bytes are: the number of an object, an index and the lowest bit.
pub(super) type Places = Vec<Vec<(usize, usize, u32)>>;

/// The places of bytes in objects that are numbered as they are met, and these objects.
pub(super) fn objects_of<'b>(body: &'b Loop, lists: &[&[ElementByte]]) -> (Places, Vec<&'b Object>) {
    let mut objects: Vec<ObjectId> = Vec::new();
    let mut place = |byte: &ElementByte| {
        let at = objects.iter().position(|known| *known == byte.object).unwrap_or_else(|| {
            objects.push(byte.object);
            objects.len() - 1
        });
        (at, byte.index, byte.lo)
    };
    let places = lists.iter().map(|bytes| bytes.iter().map(&mut place).collect()).collect();
    (places, objects.into_iter().map(|object| &body.objects[object.0 as usize]).collect())
}

/// The recurrence with what it calls: one function for all programs that have the same, where these may share some.
fn over_blocks(
    recurrence: &Recurrence,
    body: &Loop,
    plan: &Plan,
    bits: u32,
    names: &LoopNames,
    attribute: &str,
) -> String {
    let print = |names: &LoopNames, linkage: &str| {
        let mut text = String::new();
        for width in BTreeSet::from([128, bits]) {
            let registers = Registers { bits: width, turns_bits: turns_bits(bits) };
            text.push_str(&product(plan, registers, names.function, attribute));
        }
        text.push_str(&group(plan, bits, names.function, attribute));
        text.push_str(&powers(recurrence, body, plan, bits, names, attribute));
        text + &blocks(recurrence, body, plan, bits, names, attribute, linkage)
    };
    let (places, objects) = objects_of(body, &[&recurrence.state, &recurrence.factor]);
    let memo = memo(recurrence, body, plan, names);
    let kept = memo.iter().flat_map(|Memo { powers, known }| [powers, known]);
    let objects: Vec<&Object> = objects.into_iter().chain(kept).collect();
    let about: Vec<(u32, usize)> = objects.iter().map(|object| (object.width, object.length)).collect();
    let identity = format!("recurrence {bits} {:?} {places:?} {about:?}", recurrence.product);
    let Some(shared) = names.names.shared(&identity, &objects) else { return print(names, "static") };
    let (name, state) = (&shared.name, format!("const struct {}_on", shared.name));
    let text = print(&LoopNames { function: name, state: &state, names: &*shared.names }, "HR_SAME");
    let whole = shared.guarded(&format!("{}{text}", shared.above));
    format!(
        "{whole}static inline void {}_recurrence({} *s, const uint8_t *in, size_t iterations)\n{{\n  const struct {name}_on on = {};\n  {name}_recurrence(&on, in, iterations);\n}}\n",
        names.function, names.state, shared.on
    )
}

/// What makes so many registers of powers, the last ones of `keys`.
fn powers(recurrence: &Recurrence, body: &Loop, plan: &Plan, bits: u32, names: &LoopNames, attribute: &str) -> String {
    let function = names.function;
    let parts = bits as usize / 128;
    let h = loaded(body, &recurrence.factor, names);
    let mut text = format!(
        "{attribute} static void {function}_powers({} *s, uint8_t *keys, size_t n_)\n{{\n{}  const __m128i h = {h};\n  HR_CL_V{bits} power, powers[{REGISTERS}];\n",
        names.state,
        names.names.entered()
    );
    // The lowest powers stand in the last register, the lowest of them in its last part.
    let _ = writeln!(text, "  const __m128i power1 = h;");
    for part in 2..=parts {
        let _ = writeln!(
            text,
            "  const __m128i power{part} = {function}_product128(power{}, power{});",
            part / 2,
            part - part / 2
        );
    }
    match parts {
        1 => text.push_str("  power = h;\n"),
        _ => {
            let _ = writeln!(text, "  power = HR_CL_ALL{bits}(power{parts});");
            for part in 1..parts {
                let _ = writeln!(text, "  power = HR_CL_PUT{bits}(power, power{}, {part});", parts - part);
            }
        }
    }
    let _ = writeln!(
        text,
        // Each step makes as many as there are, so that few products wait for one another.
        "  powers[{last}] = power;\n  __m128i stride = power{parts};\n  for (size_t have = 1; have < n_; have *= 2) {{\n    const HR_CL_V{bits} strides = HR_CL_ALL{bits}(stride);\n    for (size_t i = have; i < 2 * have && i < n_; i++)\n      powers[{last} - i] = {function}_product{bits}(powers[{last} + have - i], strides);\n    stride = {function}_product128(stride, stride);\n  }}\n  for (size_t i = {REGISTERS} - n_; i < {REGISTERS}; i++) {{",
        last = REGISTERS - 1
    );
    let registers = Registers { bits, turns_bits: turns_bits(bits) };
    let keys = program(&plan.prepare_y, &["powers[i]".into()], registers, "k", &mut text);
    for (key, value) in keys.iter().enumerate() {
        let place = format!("keys + {} * i + {}", keys.len() * bits as usize / 8, key * bits as usize / 8);
        let _ = writeln!(text, "    HR_CL_KEEP{bits}({place}, {value});");
    }
    text.push_str("  }\n}\n\n");
    text
}

/// The recurrence over blocks.
fn blocks(
    recurrence: &Recurrence,
    body: &Loop,
    plan: &Plan,
    bits: u32,
    names: &LoopNames,
    attribute: &str,
    linkage: &str,
) -> String {
    let function = names.function;
    let parts = bits as usize / 128;
    let whole = REGISTERS * parts;
    let n_keys = plan.prepare_y.outputs().len();
    let mut text = format!(
        "{attribute} {linkage} void {function}_recurrence({} *s, const uint8_t *in, size_t iterations)\n{{\n{}",
        names.state,
        names.names.entered()
    );
    let x = loaded(body, &recurrence.state, names);
    let _ = writeln!(text, "  __m128i x = {x};");
    let _ = writeln!(
        text,
        // Who asks for no iterations gets all powers.
        "  const size_t n_ = iterations - 1 < {whole} ? (iterations + {parts} - 1) / {parts} : {REGISTERS};"
    );
    let memo = memo(recurrence, body, plan, names);
    let bytes = n_keys * bits as usize / 8;
    match &memo {
        Some(Memo { powers, known }) => {
            let [keys, known] = [powers, known].map(|object| names.names.element(object, "0"));
            let _ = writeln!(
                text,
                "  uint8_t *const keys = &{keys};\n  if ({known} >> 4 != {parts} || ({known} & 0xf) < n_) {{\n    {function}_powers(s, keys, n_);\n    {known} = (uint8_t)({} + n_);\n  }}",
                16 * parts
            );
        }
        None => {
            let _ = writeln!(
                text,
                "  HR_CL_V{bits} kept[{}];\n  uint8_t *const keys = (uint8_t *)kept;\n  {function}_powers(s, keys, n_);",
                REGISTERS * n_keys
            );
        }
    }
    let whole_head = format!("head = HR_CL_LOAD{bits}(in);\n");
    let (zeros, head) = match parts {
        1 => ("0".to_owned(), format!("    {whole_head}")),
        _ => (
            format!("n * {parts} - taken"),
            format!(
                "    if (zeros) {{\n      head = HR_CL_HEAD{bits}(in, x, zeros);\n      x = _mm_setzero_si128();\n    }} else {{\n      {whole_head}    }}\n"
            ),
        ),
    };
    let _ = writeln!(
        text,
        "  while (iterations) {{\n    const size_t taken = iterations < {whole} ? iterations : {whole};\n    const size_t n = (taken + {parts} - 1) / {parts}, zeros = {zeros};\n    HR_CL_V{bits} head;\n{head}    x = {function}_group(x, head, in, zeros, keys + {bytes} * ({REGISTERS} - n), n);\n    iterations -= taken;\n    in += 16 * taken;\n  }}"
    );
    store_state(body, recurrence, names, &mut text);
    text.push_str("}\n\n");
    text
}

/// The function that runs both parts, so many iterations at a time.
pub(super) fn iterations(
    split: &SplitLoop,
    tokens: Tokens,
    first: &CFunction,
    groups: Option<(&CFunction, usize)>,
    few: Option<(&CFunction, String)>,
    names: &LoopNames,
) -> String {
    let body = &split.independent;
    let mut parameters = format!("{} *s", names.state);
    let mut arguments = String::from("s");
    let mut next = String::new();
    for (ports, array, qualifier) in [(&body.consumes, "in", "const "), (&body.produces, "out", "")] {
        for (port, &(n, width)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let _ = write!(parameters, ", {qualifier}{} *restrict {array}{port}", element_type(width));
            let _ = write!(arguments, ", {array}{port}");
            let _ = write!(next, " {array}{port} += n * {n};");
        }
    }
    let read = format!("{}{}", if tokens.is_output { "out" } else { "in" }, tokens.port);
    let recurrence = format!("{}_recurrence", names.function);
    parameters.push_str(", size_t iterations");
    // What few iterations go through saves no registers for the others.
    let (own, linkage) = match few {
        None => (names.function.to_owned(), "static"),
        Some(_) => (format!("{}_many", names.function), "__attribute__((noinline)) static"),
    };
    let mut text = format!("{linkage} void {own}({parameters})\n{{\n");
    if let Some((stitched, group)) = groups {
        let stitched = &stitched.name;
        // Products of what comes out are a group behind, which few groups do not gain from.
        let (least, begin, end) = match tokens.is_output {
            true => (
                4 * group,
                format!("    {}({arguments}, n);\n    iterations -= n;{next}\n", first.name),
                format!("    {recurrence}(s, {read} - {}, {group});\n", group * BYTES as usize),
            ),
            false => (2 * group, String::new(), String::new()),
        };
        let _ = write!(
            text,
            "  if (iterations >= {least}) {{\n    size_t n = {group};\n{begin}    {recurrence}(s, {read}, 0);\n    n = iterations / n * n;\n    {stitched}({arguments}, n);\n    iterations -= n;{next}\n{end}  }}\n"
        );
    }
    let _ = write!(
        text,
        "  while (iterations) {{\n    const size_t n = iterations < {ITERATIONS} ? iterations : {ITERATIONS};\n    {}({arguments}, n);\n    {recurrence}(s, {read}, n);\n    iterations -= n;{next}\n  }}\n}}\n",
        first.name
    );
    if let Some((few, condition)) = few {
        let few = &few.name;
        let _ = write!(
            text,
            "static void {}({parameters})\n{{\n  if ({condition})\n    {few}({arguments}, iterations);\n  else\n    {own}({arguments}, iterations);\n}}\n",
            names.function
        );
    }
    text
}
