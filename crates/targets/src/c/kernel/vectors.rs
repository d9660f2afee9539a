//! Vector loads and stores with strides: deinterleaving and interleaving. Rows of words, as they lie in memory
//! iteration after iteration, and vectors that hold one word of many iterations.
//!
//! Rows of as many words as a vector has, or a multiple, are transposed in squares. Of others, even and odd words are
//! taken apart as often as the number of words of an iteration halves.

use super::machine::{Machine, attribute};
use super::rows::Rows;
use super::transpose::Square;
use super::words::Layout;
use headrace_boolean::circuit::{Gate, Signal};
use std::fmt::Write as _;

/// The type of vectors and what is done with whole ones.
pub(super) fn vector_support(bits: u32, lane: u32) -> String {
    let n = bits / lane;
    let list = |item: &dyn Fn(u32) -> String| (0..n).map(item).collect::<Vec<_>>().join(",");
    let mut text = String::new();
    let name = format!("{bits}x{lane}");
    let _ = writeln!(text, "typedef uint{lane}_t hr_v{name} __attribute__((vector_size({})));", bits / 8);
    let _ = writeln!(text, "typedef int{lane}_t hr_s{name} __attribute__((vector_size({})));", bits / 8);
    let _ = writeln!(text, "#define HR_ALL_{name}(x) ((hr_v{name}){{{}}})", list(&|_| "x".into()));
    let _ = writeln!(text, "#define HR_STEPS_{name}(x) ((hr_v{name}){{{}}})", list(&|i| format!("(x)*{i}u")));
    if n > 1 {
        let pair = |name: &str, item: &dyn Fn(u32) -> u32, text: &mut String| {
            let items = (0..n).map(|i| item(i).to_string()).collect::<Vec<_>>().join(",");
            let _ = writeln!(text, "#define HR_{name}_{bits}x{lane}(a, b) __builtin_shufflevector(a, b, {items})");
        };
        pair("EVEN", &|i| 2 * i, &mut text);
        pair("ODD", &|i| 2 * i + 1, &mut text);
        pair("LOW", &|i| i / 2 + (i % 2) * n, &mut text);
        pair("HIGH", &|i| n / 2 + i / 2 + (i % 2) * n, &mut text);
    }
    if let Some(square) = Square::new(bits, lane) {
        text += &square.support();
    }
    text
}

/// Rotates every lane to the left by so many bytes, by a shuffle of bytes; it needs the types of lanes of both widths.
pub(super) fn byte_rotation(bits: u32, lane: u32, bytes: u32) -> String {
    let n = lane / 8;
    let order: Vec<String> = (0..bits / 8).map(|at| (at / n * n + (at % n + n - bytes) % n).to_string()).collect();
    let (v, b) = (format!("hr_v{bits}x{lane}"), format!("hr_v{bits}x8"));
    format!(
        "#define HR_ROTATE{}_{bits}x{lane}(a) (({v})__builtin_shufflevector(({b})(a), ({b})(a), {}))\n",
        8 * bytes,
        order.join(",")
    )
}

/// The squares that rows of whole vectors are transposed in.
fn squares(layout: &Layout, bits: u32, lane: u32) -> Option<Square> {
    Square::new(bits, lane).filter(|square| layout.words(lane).is_multiple_of(square.side() as u64))
}

/// Instructions that take rows apart, or put them together, where they [`lie_together`].
pub(super) fn merges(layout: &Layout, bits: u32, lane: u32) -> u64 {
    let n_words = layout.words(lane);
    n_words * u64::from(squares(layout, bits, lane).map_or(n_words.ilog2(), Square::steps))
}

/// Whether rows of words are taken apart and put together by whole vectors.
pub(super) fn lie_together(layout: &Layout, lane: u32) -> bool {
    let n_words = layout.words(lane);
    layout.bytes() == n_words * u64::from(lane / 8) && n_words.is_power_of_two() && n_words <= 64
}

/// Statements that make one vector for each word from rows of words, iteration after iteration: `from` gives a pointer
/// to the byte at a place, `name` the variable of a word. Rows that do not [`lie_together`] are read from the pointer
/// to the first byte.
pub(super) fn load_words(
    layout: &Layout,
    bits: u32,
    lane: u32,
    from: &dyn Fn(u64) -> String,
    name: &dyn Fn(u64) -> String,
    indent: &str,
) -> String {
    let (n_words, n_lanes) = (layout.words(lane), u64::from(bits / lane));
    let (row, word) = (layout.bytes(), u64::from(lane / 8));
    let v = format!("hr_v{bits}x{lane}");
    let mut text = String::new();
    if lie_together(layout, lane) {
        let prefix = name(0);
        if let Some(square) = squares(layout, bits, lane) {
            let side = square.side() as u64;
            for first in (0..n_words).step_by(square.side()) {
                let rows: Vec<String> = (0..side).map(|row| format!("{prefix}t{row}_{first}")).collect();
                for (at, variable) in (0..).map(|i| i * row + first * word).zip(&rows) {
                    let bytes = bits / 8;
                    let _ = writeln!(text, "{indent}{v} {variable}; memcpy(&{variable}, {}, {bytes});", from(at));
                }
                let word = |column: usize| Some(name(first + column as u64));
                square.transposed(rows, &format!("{prefix}t{first}"), &word, indent, &mut text);
            }
            return text;
        }
        let mut stream: Vec<String> = Vec::new();
        for k in 0..n_words {
            let variable = if n_words == 1 { name(0) } else { format!("{prefix}t{k}") };
            let _ = writeln!(
                text,
                "{indent}{v} {variable}; memcpy(&{variable}, {}, {});",
                from(k * n_lanes * word),
                bits / 8
            );
            stream.push(variable);
        }
        let mut streams = vec![(0_u64, stream)];
        let mut step = 1;
        while step < n_words {
            let mut next = Vec::new();
            for (first, stream) in streams {
                for (kind, residue) in [("EVEN", first), ("ODD", first + step)] {
                    let mut half = Vec::new();
                    for (k, pair) in stream.chunks(2).enumerate() {
                        let [a, b] = pair else { continue };
                        let variable =
                            if step * 2 == n_words { name(residue) } else { format!("{prefix}s{step}_{residue}_{k}") };
                        let _ = writeln!(text, "{indent}const {v} {variable} = HR_{kind}_{bits}x{lane}({a}, {b});");
                        half.push(variable);
                    }
                    next.push((residue, half));
                }
            }
            streams = next;
            step *= 2;
        }
        return text;
    }
    if let Some(rows) = Rows::new(layout, bits, lane) {
        return rows.load(&from(0), name, indent);
    }
    let from = from(0);
    for k in 0..n_words {
        let _ = writeln!(text, "{indent}{v} {};", name(k));
    }
    let _ = writeln!(text, "{indent}for (unsigned i = 0; i < {n_lanes}; i++) {{");
    for k in 0..n_words {
        let bytes = word.min(row - k * word);
        let _ = writeln!(
            text,
            "{indent}  {{ uint{lane}_t t = 0; memcpy(&t, {from} + {row} * i + {}, {bytes}); {}[i] = t; }}",
            k * word,
            name(k)
        );
    }
    let _ = writeln!(text, "{indent}}}");
    text
}

/// Rows of words that others are mixed into as they lie in memory: a pointer.
pub(super) struct Mixed(pub String);

/// The other way: rows of words from one vector for each word. Only rows of words that [`lie_together`] are mixed.
pub(super) fn store_words(
    layout: &Layout,
    bits: u32,
    lane: u32,
    to: &dyn Fn(u64) -> String,
    mixed: Option<&Mixed>,
    name: &dyn Fn(u64) -> String,
    indent: &str,
) -> String {
    let (n_words, n_lanes) = (layout.words(lane), u64::from(bits / lane));
    let (row, word) = (layout.bytes(), u64::from(lane / 8));
    let v = format!("hr_v{bits}x{lane}");
    let mut text = String::new();
    if lie_together(layout, lane) {
        let prefix = name(0);
        let vectors = match squares(layout, bits, lane) {
            Some(square) => {
                let words: Vec<String> = (0..n_words).map(name).collect();
                let columns = words.chunks(square.side()).enumerate().map(|(k, words)| {
                    square.transposed(words.to_vec(), &format!("{prefix}m{k}"), &|_| None, indent, &mut text)
                });
                let columns: Vec<Vec<String>> = columns.collect();
                let row = |row: usize| columns.iter().map(move |vectors| vectors[row].clone());
                (0..square.side()).flat_map(row).collect()
            }
            None => interleaved((0..n_words).map(name).collect(), bits, lane, &prefix, indent, &mut text),
        };
        for (k, variable) in vectors.iter().enumerate() {
            let at = k as u64 * n_lanes * word;
            let mut written = variable.clone();
            if let Some(Mixed(from)) = mixed {
                written = format!("{prefix}r{k}");
                let _ = writeln!(text, "{indent}{v} {written}; memcpy(&{written}, {from} + {at}, {});", bits / 8);
                let _ = writeln!(text, "{indent}{written} ^= {variable};");
            }
            let _ = writeln!(text, "{indent}memcpy({}, &{written}, {});", to(at), bits / 8);
        }
        return text;
    }
    if let Some(rows) = Rows::new(layout, bits, lane) {
        return rows.store(&to(0), name, indent);
    }
    let to = to(0);
    let _ = writeln!(text, "{indent}for (unsigned i = 0; i < {n_lanes}; i++) {{");
    for k in 0..n_words {
        let bytes = word.min(row - k * word);
        let _ = writeln!(
            text,
            "{indent}  {{ const uint{lane}_t t = {}[i]; memcpy({to} + {row} * i + {}, &t, {bytes}); }}",
            name(k),
            k * word
        );
    }
    let _ = writeln!(text, "{indent}}}");
    text
}

/// The words of some vectors in turn: halves of them are interleaved as often as their number halves.
fn interleaved(words: Vec<String>, bits: u32, lane: u32, prefix: &str, indent: &str, text: &mut String) -> Vec<String> {
    let mut streams: Vec<Vec<String>> = words.into_iter().map(|word| vec![word]).collect();
    while streams.len() > 1 {
        let half = streams.len() / 2;
        let mut next = Vec::new();
        for residue in 0..half {
            let mut merged = Vec::new();
            for (k, (even, odd)) in streams[residue].iter().zip(&streams[residue + half]).enumerate() {
                for (kind, at) in [("LOW", 2 * k), ("HIGH", 2 * k + 1)] {
                    let v = format!("hr_v{bits}x{lane}");
                    let variable = format!("{prefix}m{half}_{residue}_{at}");
                    let _ = writeln!(text, "{indent}const {v} {variable} = HR_{kind}_{bits}x{lane}({even}, {odd});");
                    merged.push(variable);
                }
            }
            next.push(merged);
        }
        streams = next;
    }
    streams.into_iter().flatten().collect()
}

/// A gate on whole vectors, as an expression; `name` gives the variable of a signal.
pub(super) fn gate_text(gate: &Gate, machine: &Machine, lane: u32, name: &dyn Fn(Signal) -> String) -> String {
    let bits = machine.vector_bits;
    match *gate {
        Gate::Constant(false) => format!("(hr_v{bits}x{lane}){{0}}"),
        Gate::Constant(true) => format!("~(hr_v{bits}x{lane}){{0}}"),
        Gate::Not(a) => format!("~{}", name(a)),
        Gate::And(a, b) => format!("{} & {}", name(a), name(b)),
        Gate::Or(a, b) => format!("{} | {}", name(a), name(b)),
        Gate::Xor(a, b) => format!("{} ^ {}", name(a), name(b)),
        Gate::AndNot(a, b) => format!("{} & ~{}", name(a), name(b)),
        Gate::Lut3(table, a, b, c) => {
            let kind = format!("(__m{bits}i)");
            let width = if bits == 128 { String::new() } else { bits.to_string() };
            format!(
                "(hr_v{bits}x{lane})_mm{width}_ternarylogic_epi64({kind}{}, {kind}{}, {kind}{}, {table})",
                name(a),
                name(b),
                name(c)
            )
        }
    }
}

/// Rows that lie one after the other behind a pointer.
pub(super) fn behind(pointer: &str) -> impl Fn(u64) -> String {
    move |at| format!("{pointer} + {at}")
}

/// Transposes 64 by 64 bits in every lane: halves of the distance change places, then quarters, and so on. Three
/// distances at a time, so that eight vectors stay in registers.
pub(super) fn transposition(machine: &Machine) -> String {
    let (bits, name) = (machine.vector_bits, &machine.name);
    let v = format!("hr_v{bits}x64");
    let swap = if machine.ternary {
        format!(
            "#define HR_SWAP_{name}(a, b, s, m) do {{ \\\n    const {v} p = a, q = b; \\\n    \
             a = ({v})_mm{bits}_ternarylogic_epi64((__m{bits}i)p, (__m{bits}i)(q << s), (__m{bits}i)HR_ALL_{bits}x64(m), 0xe4); \\\n    \
             b = ({v})_mm{bits}_ternarylogic_epi64((__m{bits}i)(p >> s), (__m{bits}i)q, (__m{bits}i)HR_ALL_{bits}x64(m), 0xe4); \\\n  \
             }} while (0)\n"
        )
    } else {
        format!(
            "#define HR_SWAP_{name}(a, b, s, m) do {{ \\\n    \
             const {v} t = ((a >> s) ^ b) & HR_ALL_{bits}x64(m); \\\n    b ^= t; a ^= t << s; \\\n  }} while (0)\n"
        )
    };
    let mut text = format!(
        "{swap}static inline uint64_t hr_gather_bits_{name}(const uint64_t *m)\n{{\n  uint64_t v = 0;\n  \
         for (unsigned b = 0; b < 64; b++) v |= (m[b] & 1) << b;\n  return v;\n}}\n\
         {}__attribute__((noinline)) static void hr_transpose_{name}({v} *x)\n{{\n",
        attribute(machine)
    );
    let masks = |s: u32| {
        let ones = (0..64).filter(|bit| bit & s == 0).fold(0_u64, |mask, bit| mask | 1 << bit);
        format!("{ones:#x}ull")
    };
    // The vectors i, i + step, … i + 7 step.
    for (step, range) in [(8_u32, "i < 8; i++"), (1, "i < 64; i += 8")] {
        let _ = writeln!(text, "  for (unsigned i = 0; {range}) {{");
        for k in 0..8 {
            let _ = writeln!(text, "    {v} a{k} = x[i + {}];", k * step);
        }
        for distance in [4_u32, 2, 1] {
            let s = distance * step;
            for k in (0..8).filter(|k| k & distance == 0) {
                let _ = writeln!(text, "    HR_SWAP_{name}(a{k}, a{}, {s}, {});", k + distance, masks(s));
            }
        }
        for k in 0..8 {
            let _ = writeln!(text, "    x[i + {}] = a{k};", k * step);
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    text
}
