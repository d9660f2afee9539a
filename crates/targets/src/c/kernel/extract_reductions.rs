//! Loops with extracted reductions. A loop that was taken apart into sums and iterations that do not need each other.
//!
//! So many iterations at a time: places of entries by counters, side by side; running sums over them, one XOR after the
//! other, written down; the iterations, which read them as tokens; totals over tokens, in wide registers. Where places
//! come again, sums of the entries of a period are made once a call, and a running sum is one of them and what it was
//! before the period.

use super::expression::literal;
use super::lanes::lanes;
use super::loop_frame::{CFunction, LoopNames, Support};
use super::machine::{Machine, attribute};
use super::scalar::element_type;
use super::sequential::sequential;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Carried, Evidence, Loop, ObjectId};
use headrace_transform::passes::extract_reductions::{BYTES, PERIOD, Period, Place, Reductions, Running, Total};
use std::fmt::Write as _;

/// Iterations of which places are made at a time.
const ITERATIONS: usize = 256;

/// Iterations that follow their sums at a time: so few that a processor does both at once.
const STEP: usize = 32;

/// Iterations of a step, at most.
const MOST_STEP: usize = if STEP > PERIOD { STEP } else { PERIOD };

/// What sums are held to.
const EVIDENCE: &[Evidence] = &[
    Evidence::Identity { what: "sums over iterations in another order, before and behind them" },
    Evidence::Test { what: "sums taken apart", test: "crates/targets/tests/kernel_library.rs sums_are_taken_apart" },
];

/// Prints it: `first` runs the iterations that do not need each other, with what is held for it if it is of so many
/// bits; sums are for a machine.
pub fn with_sums(
    split: &Reductions,
    first: &CFunction,
    held: Option<(u32, usize)>,
    machine: &Machine,
    names: &LoopNames,
) -> CFunction {
    let (body, costs) = (&split.independent, &machine.costs.blocks);
    let first = &first.clone().shown_by(EVIDENCE.iter().cloned());
    let mut made = CFunction { name: names.function.to_owned(), ..first.clone() };
    made.support.push(Support::of_all("#include <immintrin.h>\n"));
    let mut text = Around::default();
    let period = split.running.first().and_then(|one| one.period.as_ref());
    for (k, running) in split.running.iter().enumerate() {
        let function = format!("{}_places{k}", names.function);
        let named = LoopNames { function: &function, ..*names };
        let index = period.map_or(&running.index, |period| &period.others);
        // Places are few for what circuits take before they begin.
        let places = lanes(index, machine, &named).unwrap_or_else(|_| sequential(index, &named));
        made.support.extend(places.support);
        made.text.push_str(&places.text);
        match period {
            Some(period) => {
                made.cycles += places.cycles / PERIOD as f64 + costs.periodic_sum.value;
                periodic_sums(body, running, period, names, &function, &mut text);
            }
            None => {
                made.cycles += places.cycles + costs.running_sum.value;
                running_sums(body, running, k, &function, names, &mut text);
            }
        }
    }
    for (k, total) in split.totals.iter().enumerate() {
        whole(body, total, k, machine, names, &mut text);
    }
    made.cycles += split.totals.len() as f64 * costs.total.value;
    let _ = write!(made.text, "{}static void {}({} *s", attribute(machine), names.function, names.state);
    let (mut arguments, mut next) = (String::new(), String::new());
    for (ports, array, qualifier) in [(&body.consumes, "in", "const "), (&body.produces, "out", "")] {
        for (port, &(n, width)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let written = split.running.iter().position(|running| array == "in" && running.port == port);
            if let Some(k) = written {
                let _ = write!(arguments, ", sums{k}_");
                continue;
            }
            let _ = write!(arguments, ", {array}{port}");
            if array == "out" && port >= split.n_outputs {
                let _ = writeln!(text.begin, "  {} out{port}[{MOST_STEP} * {n}];", element_type(width));
                let _ = writeln!(
                    text.end,
                    "  memset(out{port}, 0, sizeof out{port});\n  __asm__ __volatile__(\"\" : : \"r\"(out{port}) : \"memory\");"
                );
                continue;
            }
            let _ = write!(made.text, ", {qualifier}{} *restrict {array}{port}", element_type(width));
            let _ = write!(next, " {array}{port} += n * {n};");
        }
    }
    let Around { mut begin, places, before, after, mut end } = text;
    if let Some((bits, n)) = held.filter(|(_, n)| *n > 0) {
        let _ = write!(begin, "  HR_V{bits} held_[{n}];\n  {}_held(s, held_);\n", first.name);
        end.push_str(
            "  memset(held_, 0, sizeof held_);\n  __asm__ __volatile__(\"\" : : \"r\"(held_) : \"memory\");\n",
        );
        arguments.insert_str(0, ", held_");
    }
    begin.insert_str(0, &names.names.entered());
    let step = if period.is_some() { format!("{PERIOD} - at_") } else { STEP.to_string() };
    let _ = write!(
        made.text,
        ", size_t iterations)
{{
{begin}  while (iterations) {{
    const size_t all = iterations < {ITERATIONS} ? iterations : {ITERATIONS};
{places}    for (size_t i = 0, n; i < all; i += n) {{
      n = all - i < {step} ? all - i : {step};
{before}      {}(s{arguments}, n);
{after}     {next}
    }}
    iterations -= all;
  }}
{end}}}
",
        first.name
    );
    made
}

/// What stands around iterations.
#[derive(Default)]
struct Around {
    /// Once a call.
    begin: String,
    /// Before so many iterations as places are made of.
    places: String,
    /// Before each step.
    before: String,
    /// After each step.
    after: String,
    /// Once a call.
    end: String,
}

/// An element of an object.
fn element(body: &Loop, object: ObjectId, index: &str, names: &LoopNames) -> String {
    names.names.element(&body.objects[object.0 as usize], index)
}

/// A sum where it is kept.
fn kept(body: &Loop, sum: &Place, names: &LoopNames) -> String {
    element(body, sum.object, &sum.first.to_string(), names)
}

/// Running sums of the iterations, one beside the other.
fn running_sums(body: &Loop, running: &Running, k: usize, places: &str, names: &LoopNames, text: &mut Around) {
    let ty = element_type(running.index.produces[0].1);
    let entry = element(body, running.list, &format!("at{k}_[i + j]"), names);
    let sum = kept(body, &running.sum, names);
    let _ = writeln!(text.begin, "  __m128i sum{k}_ = _mm_loadu_si128((const __m128i *)&{sum});");
    let _ = writeln!(text.end, "  _mm_storeu_si128((__m128i *)&{sum}, sum{k}_);");
    let _ = writeln!(text.places, "    {ty} at{k}_[{ITERATIONS}];\n    {places}(s, at{k}_, all);");
    let add = format!("        sum{k}_ = _mm_xor_si128(sum{k}_, _mm_loadu_si128((const __m128i *)&{entry}));\n");
    let store = format!("        _mm_storeu_si128((__m128i *)(sums{k}_ + {BYTES} * j), sum{k}_);\n");
    let (first, second) = if running.before { (store, add) } else { (add, store) };
    let _ = write!(
        text.before,
        "      uint8_t sums{k}_[{STEP} * {BYTES}];\n      for (size_t j = 0; j < n; j++) {{\n{first}{second}      }}\n"
    );
}

/// The counter that tells the places of a running sum, and its bits.
fn counter(running: &Running, names: &LoopNames) -> (String, u32) {
    let place = |one: &Carried| {
        let width = running.index.objects[one.object.0 as usize].width;
        (element(&running.index, one.object, &one.index.to_string(), names), width)
    };
    running.index.carried.first().map_or((String::new(), 64), place)
}

/// The only running sum, period by period: a step is what is left of one. The sum is kept as it was before the period,
/// to which the iterations add.
fn periodic_sums(body: &Loop, running: &Running, period: &Period, names: &LoopNames, places: &str, text: &mut Around) {
    let ty = element_type(running.index.produces[0].1);
    let entry = |place: &str| element(body, running.list, place, names);
    let sum = kept(body, &running.sum, names);
    let (counter, counter_bits) = counter(running, names);
    let counter_type = element_type(counter_bits);
    let counted = |value: &str| match counter_bits {
        8 | 16 | 32 | 64 | 128 => format!("({counter_type})({value})"),
        bits => format!("({counter_type})(({value}) & {})", literal(mask(bits), bits.next_power_of_two().max(64))),
    };
    let last = PERIOD - 1;
    // Where iterations read the sum before their addition, nothing is the first of them.
    let lead = usize::from(running.before);
    // Sums of entries from the beginning of a period on, but the last one. There are two, so that the last of the next
    // period can be written while this one is read.
    let _ = write!(
        text.begin,
        "  _Alignas(64) uint8_t period_[2][{BYTES} * {}];
  __m128i known_ = _mm_setzero_si128();
",
        PERIOD + lead
    );
    if running.before {
        text.begin.push_str("  _mm_store_si128((__m128i *)period_[0], known_);\n");
    }
    for (at, place) in period.places.iter().enumerate() {
        let _ = write!(
            text.begin,
            "  known_ = _mm_xor_si128(known_, _mm_loadu_si128((const __m128i *)&{}));
  _mm_store_si128((__m128i *)(period_[0] + {}), known_);
",
            entry(&place.to_string()),
            BYTES * (lead + at)
        );
    }
    let before = |sum: &str| {
        format!(
            "if (at_) {sum} = _mm_xor_si128({sum}, _mm_load_si128((const __m128i *)(period_[0] + {BYTES} * (at_ - {}))));",
            1 - lead
        )
    };
    let _ = write!(
        text.begin,
        "  memcpy(period_[1], period_[0], {BYTES} * {known});
  __m128i sum_ = _mm_loadu_si128((const __m128i *)&{sum});
  size_t at_ = {last} - ({open}u - (size_t){counter}) % {PERIOD}u;
  {begun}
  unsigned turn_ = 0;
",
        known = last + lead,
        open = period.open,
        begun = before("sum_"),
    );
    let _ = write!(
        text.places,
        "    {ty} open_[{n}];
    const {counter_type} first_ = {counter};
    const size_t closed_ = (at_ + all) / {PERIOD};
    {counter} = {at_open};
    {places}(s, open_, closed_);
    {counter} = {at_end};
    __m128i next_ = known_;
    if (closed_) next_ = _mm_xor_si128(known_, _mm_loadu_si128((const __m128i *)&{first}));
    _mm_store_si128((__m128i *)(period_[turn_] + {row}), next_);
    size_t begun_ = 0;
",
        n = ITERATIONS / PERIOD + 1,
        at_open = counted(&format!("first_ + ({last} - at_)")),
        at_end = counted("first_ + all"),
        first = entry("open_[0]"),
        row = BYTES * (last + lead),
    );
    let _ = write!(
        text.before,
        "      const uint8_t *const sums0_ = period_[turn_] + {BYTES} * at_;
      _mm_storeu_si128((__m128i *)&{sum}, sum_);
      at_ += n;
      if (at_ == {PERIOD}) {{
        sum_ = _mm_xor_si128(sum_, next_);
        at_ = 0;
        turn_ ^= 1;
        if (++begun_ < closed_) {{
          next_ = _mm_xor_si128(known_, _mm_loadu_si128((const __m128i *)&{next}));
          _mm_store_si128((__m128i *)(period_[turn_] + {row}), next_);
        }}
      }}
",
        next = entry("open_[begun_]"),
        row = BYTES * (last + lead),
    );
    let _ = write!(text.end, "  {}\n  _mm_storeu_si128((__m128i *)&{sum}, sum_);\n", before("sum_"));
}

/// A sum over tokens of all iterations.
fn whole(body: &Loop, total: &Total, k: usize, machine: &Machine, names: &LoopNames, text: &mut Around) {
    let sum = kept(body, &total.sum, names);
    let ports = if total.is_output { &body.produces } else { &body.consumes };
    let row = ports[total.port].0;
    let array = if total.is_output { "out" } else { "in" };
    let wide = machine.vector_bits == 512 && row as usize == BYTES;
    let _ = writeln!(text.begin, "  __m128i total{k}_ = _mm_loadu_si128((const __m128i *)&{sum});");
    let _ = write!(
        text.after,
        "      {{
        const uint8_t *const tokens = {array}{} + {};
        size_t j = 0;
",
        total.port, total.first
    );
    if wide {
        let _ = writeln!(text.begin, "  __m512i wide{k}_ = _mm512_setzero_si512();");
        let _ = writeln!(
            text.after,
            "        for (; j + 8 <= n; j += 8) wide{k}_ = _mm512_ternarylogic_epi64(wide{k}_, _mm512_loadu_si512((const void *)(tokens + 16 * j)), _mm512_loadu_si512((const void *)(tokens + 16 * j + 64)), 0x96);"
        );
        let _ = write!(
            text.end,
            "  total{k}_ = _mm_xor_si128(_mm_xor_si128(total{k}_, _mm512_castsi512_si128(wide{k}_)), _mm512_extracti32x4_epi32(wide{k}_, 1));
  total{k}_ = _mm_xor_si128(total{k}_, _mm_xor_si128(_mm512_extracti32x4_epi32(wide{k}_, 2), _mm512_extracti32x4_epi32(wide{k}_, 3)));
"
        );
    }
    let _ = write!(
        text.after,
        "        for (; j < n; j++) total{k}_ = _mm_xor_si128(total{k}_, _mm_loadu_si128((const __m128i *)(tokens + {row} * j)));
      }}
"
    );
    let _ = writeln!(text.end, "  _mm_storeu_si128((__m128i *)&{sum}, total{k}_);");
}
