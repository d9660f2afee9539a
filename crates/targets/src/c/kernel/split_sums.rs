//! A loop that was taken apart into sums and passes that do not need each other.
//!
//! So many passes at a time: places of entries by counters, side by side; running sums over them, one XOR after the other,
//! written down; the passes, which read them as tokens; totals over tokens, in wide registers.

use super::frame::{CFunction, LoopNames};
use super::lanes::lanes;
use super::machine::Machine;
use super::passes::passes;
use super::scalar::element_type;
use headrace_transform::kernel::{Loop, ObjectId};
use headrace_transform::passes::split_sums::{BYTES, Place, Running, SplitSums, Total};
use std::fmt::Write as _;

/// Passes at a time: what is written down for them stays in the nearest cache.
const PASSES: usize = 256;

/// Prints it: `first` runs the passes that do not need each other; sums are for a machine.
pub fn with_sums(split: &SplitSums, first: &CFunction, machine: &Machine, names: &LoopNames) -> CFunction {
    let body = &split.independent;
    let mut made = CFunction { name: names.function.to_owned(), ..first.clone() };
    let mut before = String::new();
    for (k, running) in split.running.iter().enumerate() {
        let function = format!("{}_places{k}", names.function);
        let named = LoopNames { function: &function, ..*names };
        // Places are few for what circuits take before they begin.
        let places = lanes(&running.index, machine, &named).unwrap_or_else(|_| passes(&running.index, &named));
        made.support.extend(places.support);
        made.text.push_str(&places.text);
        made.cycles += places.cycles + 2.0;
        before.push_str(&running_sums(body, running, k, &function, names));
    }
    let after: String = split.totals.iter().map(|total| whole(body, total, machine, names)).collect();
    made.cycles += split.totals.len() as f64;
    let _ = write!(made.text, "{}static void {}({} *s", machine.attribute(), names.function, names.state);
    let (mut arguments, mut next) = (String::new(), String::new());
    for (ports, array, qualifier) in [(&body.consumes, "in", "const "), (&body.produces, "out", "")] {
        for (port, &(n, width)) in ports.iter().enumerate().filter(|(_, port)| port.0 > 0) {
            let written = split.running.iter().position(|running| array == "in" && running.port == port);
            if let Some(k) = written {
                let _ = write!(arguments, ", sums{k}_");
                continue;
            }
            let _ = write!(made.text, ", {qualifier}{} *restrict {array}{port}", element_type(width));
            let _ = write!(arguments, ", {array}{port}");
            let _ = write!(next, " {array}{port} += n * {n};");
        }
    }
    let _ = write!(
        made.text,
        ", size_t passes)\n{{\n  while (passes) {{\n    const size_t n = passes < {PASSES} ? passes : {PASSES};\n{before}    {}(s{arguments}, n);\n{after}    passes -= n;{next}\n  }}\n}}\n",
        first.name
    );
    made
}

/// An element of an object.
fn element(body: &Loop, object: ObjectId, index: &str, names: &LoopNames) -> String {
    names.names.element(&body.objects[object.0 as usize], index)
}

/// A sum where it is kept.
fn kept(body: &Loop, sum: &Place, names: &LoopNames) -> String {
    element(body, sum.object, &sum.first.to_string(), names)
}

/// Running sums of the passes, one beside the other.
fn running_sums(body: &Loop, running: &Running, k: usize, places: &str, names: &LoopNames) -> String {
    let ty = element_type(running.index.produces[0].1);
    let sum = kept(body, &running.sum, names);
    let entry = element(body, running.list, &format!("at{k}_[i]"), names);
    format!(
        "    {ty} at{k}_[{PASSES}];\n    uint8_t sums{k}_[{PASSES} * {BYTES}];\n    {places}(s, at{k}_, n);\n    {{\n      __m128i sum = _mm_loadu_si128((const __m128i *)&{sum});\n      for (size_t i = 0; i < n; i++) {{\n        sum = _mm_xor_si128(sum, _mm_loadu_si128((const __m128i *)&{entry}));\n        _mm_storeu_si128((__m128i *)(sums{k}_ + {BYTES} * i), sum);\n      }}\n      _mm_storeu_si128((__m128i *)&{sum}, sum);\n    }}\n"
    )
}

/// A sum over tokens of all passes.
fn whole(body: &Loop, total: &Total, machine: &Machine, names: &LoopNames) -> String {
    let sum = kept(body, &total.sum, names);
    let ports = if total.is_output { &body.produces } else { &body.consumes };
    let row = ports[total.port].0;
    let array = if total.is_output { "out" } else { "in" };
    let mut text = format!(
        "    {{\n      const uint8_t *const tokens = {array}{} + {};\n      __m128i sum = _mm_loadu_si128((const __m128i *)&{sum});\n      size_t i = 0;\n",
        total.port, total.first
    );
    if machine.vector_bits == 512 && row as usize == BYTES {
        text.push_str(
            "      __m512i even = _mm512_setzero_si512(), odd = even;\n      for (; i + 8 <= n; i += 8) {\n        even = _mm512_xor_si512(even, _mm512_loadu_si512((const void *)(tokens + 16 * i)));\n        odd = _mm512_xor_si512(odd, _mm512_loadu_si512((const void *)(tokens + 16 * i + 64)));\n      }\n      even = _mm512_xor_si512(even, odd);\n      sum = _mm_xor_si128(_mm_xor_si128(sum, _mm512_castsi512_si128(even)), _mm512_extracti32x4_epi32(even, 1));\n      sum = _mm_xor_si128(sum, _mm_xor_si128(_mm512_extracti32x4_epi32(even, 2), _mm512_extracti32x4_epi32(even, 3)));\n",
        );
    }
    let _ = writeln!(
        text,
        "      for (; i < n; i++) sum = _mm_xor_si128(sum, _mm_loadu_si128((const __m128i *)(tokens + {row} * i)));\n      _mm_storeu_si128((__m128i *)&{sum}, sum);\n    }}"
    );
    text
}
