//! Table look-ups by byte shuffles. Elements of tables of bytes by shuffles, each of which chooses from sixteen bytes:
//! no address depends on an index.
//!
//! Inversion in GF(2⁸) between affine maps is a few shuffles ([`NibbleTables`]), and an affine map is two. Any other
//! table is one shuffle for every sixteen of its elements; the upper bits of an index choose between two of them, and
//! so on.

use super::super::machine::{Machine, attribute};
use super::Printer;
use crate::c::kernel::Support;
use headrace_boolean::byte_permute::AffineByte;
use headrace_boolean::nibble_tables::{NibbleTables, Nibbles};
use headrace_boolean::truth_table::Table;
use headrace_machines::cost_model::Elements;
use headrace_transform::kernel::{NodeId, Op, TableId};
use headrace_transform::passes::tabulate::affine_of;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Bits of a vector of AVX2 that is shuffled.
const BITS: u32 = 256;

/// Elements that a shuffle chooses from.
const CHOICE: usize = 16;

/// Tables of so many elements that the top bit of an index tells from others.
const TOP: usize = 8;

/// Tables of an affine map.
const HALVES: usize = 2;

/// Look-ups of any table that stand in a loop.
const MOST_INLINED: usize = 64;

/// A table as tables of nibbles, if it is one.
fn nibble_tables(elements: &[u128]) -> Option<NibbleTables> {
    let entries: Vec<u64> = elements.iter().map(|&element| u64::try_from(element)).collect::<Result<_, _>>().ok()?;
    NibbleTables::of(&Table::new(8, 8, &entries).ok()?)
}

impl Printer<'_> {
    /// Finds the tables of nibbles among those that are read.
    pub(super) fn find_nibbles(&mut self) {
        let graph = &self.words.graph;
        let read: BTreeSet<TableId> = (self.reachable().into_iter())
            .filter_map(|id| match graph.op(id) {
                Op::Lookup(table, _) | Op::LookupBytes(table, _) => Some(*table),
                _ => None,
            })
            .filter(|_| self.machine.vector_bits == BITS)
            .filter(|&table| self.is_shuffled(graph.table(table).elements.len(), graph.table(table).width))
            .collect();
        let found = read.into_iter().filter_map(|table| Some((table, nibble_tables(&graph.table(table).elements)?)));
        self.nibbles = found.collect();
    }

    /// Whether elements of a table are chosen by shuffles of bytes.
    pub(super) fn is_shuffled(&self, length: usize, width: u32) -> bool {
        let whole = length > 0 && length.is_multiple_of(CHOICE);
        self.machine.byte_shuffle && self.machine.vector_bits <= BITS && whole && length <= 256 && width <= 8
    }

    /// The affine map that a table is, which two shuffles compute.
    fn halves(&self, table: Option<TableId>) -> Option<AffineByte> {
        affine_of(self.words.graph.table(table?)).filter(|_| self.machine.vector_bits == BITS)
    }

    /// Whether so much is looked up that what does it is called: inside of the loop it would not fit the cache of
    /// instructions.
    fn is_called(&self) -> bool {
        let way = |id: &NodeId| self.way_of_elements(*id);
        let long = |id: &NodeId| matches!(way(id), Some(Elements::Shuffled { sixteens }) if sixteens > HALVES);
        self.reachable().iter().filter(|id| long(id)).count() > MOST_INLINED
    }

    /// How they are.
    pub(super) fn way_of_shuffles(&self, table: Option<TableId>, length: usize) -> Elements {
        if self.halves(table).is_some() {
            return Elements::Shuffled { sixteens: HALVES };
        }
        match table.is_some_and(|table| self.nibbles.contains_key(&table)) {
            true => Elements::Nibbles,
            false => Elements::Shuffled { sixteens: length / CHOICE },
        }
    }

    /// Elements of an array or of a constant table by shuffles.
    pub(super) fn shuffled(&mut self, table: Option<TableId>, array: &str, length: usize, index: &str) -> String {
        let text = self.shuffled_bytes(table, array, length, index);
        if self.lane() == 8 { text } else { format!("{text} & {}", self.number(0xff)) }
    }

    /// The same of every byte of a vector.
    pub(super) fn shuffled_bytes(&mut self, table: Option<TableId>, array: &str, length: usize, index: &str) -> String {
        if self.machine.vector_bits != BITS {
            let name = format!("hr_choose_{length}_{}", self.machine.name);
            self.support("#include <arm_neon.h>\n");
            self.support(of_registers(length, &name));
            return format!("({}){name}((const uint8_t *)({array}), (uint8x16_t){index})", self.v());
        }
        self.support("#include <immintrin.h>\n");
        let nibbles = table.and_then(|table| self.nibbles.get(&table));
        if let Some(map) = self.halves(table) {
            let name = format!("{array}_{}", self.machine.name);
            self.needs(Support::of_loop(of_halves(map, self.machine, &name)));
            return format!("({}){name}((__m{BITS}i){index})", self.v());
        }
        let call = match nibbles {
            Some(tables) => {
                let name = format!("{array}_{}", self.machine.name);
                let text = of_nibbles(tables, self.machine, &name);
                self.needs(Support::of_loop(text));
                format!("{name}((__m{BITS}i){index})")
            }
            None => {
                let called = self.is_called();
                let name = format!("hr_{}_{length}_{}", if called { "find" } else { "choose" }, self.machine.name);
                self.support(of_sixteens(length, self.machine, &name, called));
                format!("{name}((const uint8_t *)({array}), (__m{BITS}i){index})")
            }
        };
        format!("({}){call}", self.v())
    }
}

/// A function of the C program on vectors of bytes, `called` or inside of what uses it.
fn function(machine: &Machine, name: &str, arguments: &str, lines: &[String], value: &str, called: bool) -> String {
    // Kernels on trial stand alone, without the names that programs have for this.
    let (kept, kind) = if called { ("__attribute__((noinline))", "static") } else { ("HR_INLINED", "static inline") };
    let mut text = format!("{kept} {}{kind} __m{BITS}i {name}({arguments})\n{{\n", attribute(machine));
    for line in lines {
        let _ = writeln!(text, "  {line};");
    }
    let _ = writeln!(text, "  return {value};\n}}");
    text
}

fn xor(a: &str, b: &str) -> String {
    format!("_mm256_xor_si256({a}, {b})")
}

/// The function that a table of nibbles is.
fn of_nibbles(tables: &NibbleTables, machine: &Machine, name: &str) -> String {
    let mut lines = vec!["const __m256i nibble = _mm256_set1_epi8(15)".to_owned()];
    let table = |table: &Nibbles| {
        let bytes: Vec<String> = table.iter().map(|&byte| (byte as i8).to_string()).collect();
        format!("_mm256_broadcastsi128_si256(_mm_setr_epi8({}))", bytes.join(","))
    };
    let mut define = |name: &str, value: String| lines.push(format!("const __m256i {name} = {value}"));
    for (name, tables) in [("k", &tables.k), ("i", &tables.i), ("output", &tables.output)] {
        define(&format!("{name}0"), table(&tables[0]));
        define(&format!("{name}1"), table(&tables[1]));
    }
    define("inverse", table(&tables.inverse));
    define("quotient", table(&tables.quotient));
    define("low", "_mm256_and_si256(x, nibble)".into());
    define("high", "_mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)".into());
    let chosen = |table: &str, index: &str| format!("_mm256_shuffle_epi8({table}, {index})");
    let both = |table: &str, low: &str, high: &str| {
        xor(&chosen(&format!("{table}0"), low), &chosen(&format!("{table}1"), high))
    };
    define("k", both("k", "low", "high"));
    define("i", both("i", "low", "high"));
    define("j", xor("i", "k"));
    define("q", chosen("quotient", "k"));
    for (name, x, y) in [("u", "i", "j"), ("w", "j", "i")] {
        let sum = xor(&chosen("inverse", x), "q");
        define(name, xor(&chosen("inverse", &sum), y));
    }
    let value = both("output", "u", "w");
    let value = match tables.constant {
        0 => value,
        constant => xor(&value, &format!("_mm256_set1_epi8({})", constant as i8)),
    };
    function(machine, name, "__m256i x", &lines, &value, false)
}

/// The function of AArch64 that chooses from any table of a length: from four registers at once, and what is not there
/// stays as it is.
fn of_registers(length: usize, name: &str) -> String {
    let mut text = format!("HR_INLINED static inline uint8x16_t {name}(const uint8_t *table, uint8x16_t x)\n{{\n");
    let n = length / CHOICE;
    for (group, first) in (0..n).step_by(4).enumerate() {
        let of_group = (n - first).min(4);
        let loads: Vec<String> =
            (first..first + of_group).map(|at| format!("vld1q_u8(table + {})", at * CHOICE)).collect();
        let (kind, loads) = match of_group {
            1 => ("uint8x16_t".to_owned(), loads.concat()),
            _ => (format!("uint8x16x{of_group}_t"), format!("{{{{{}}}}}", loads.join(", "))),
        };
        let _ = writeln!(text, "  const {kind} t{group} = {loads};");
        let _ = match group {
            0 => writeln!(text, "  uint8x16_t y = vqtbl{of_group}q_u8(t0, x);"),
            _ => writeln!(text, "  y = vqtbx{of_group}q_u8(y, t{group}, vsubq_u8(x, vdupq_n_u8({})));", first * CHOICE),
        };
    }
    text + "  return y;\n}\n"
}

/// The function that an affine map of bytes is: what its four lower bits add, and what the upper ones do.
fn of_halves(map: AffineByte, machine: &Machine, name: &str) -> String {
    let table = |shift: u32, constant: u8| {
        let bytes: Vec<String> =
            (0..CHOICE as u8).map(|x| ((map.apply(x << shift) ^ map.constant ^ constant) as i8).to_string()).collect();
        format!("_mm256_broadcastsi128_si256(_mm_setr_epi8({}))", bytes.join(","))
    };
    let lines = [
        "const __m256i nibble = _mm256_set1_epi8(15)".to_owned(),
        "const __m256i low = _mm256_and_si256(x, nibble)".to_owned(),
        "const __m256i high = _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble)".to_owned(),
    ];
    let chosen = |table: &str, index: &str| format!("_mm256_shuffle_epi8({table}, {index})");
    let value = xor(&chosen(&table(0, map.constant), "low"), &chosen(&table(4, 0), "high"));
    function(machine, name, "__m256i x", &lines, &value, false)
}

/// The function that chooses from any table of a length. A shuffle gives zero where the top bit of an index is set: of
/// two tables that this bit tells apart one gives what is chosen and the other zero.
fn of_sixteens(length: usize, machine: &Machine, name: &str, called: bool) -> String {
    let n = length / CHOICE;
    let row = |at: usize| format!("_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table + {at}))");
    let mut lines = Vec::new();
    let shuffled = |at: usize, index: &str| format!("_mm256_shuffle_epi8({}, {index})", row(at));
    let mut chosen: Vec<String> = match n > TOP {
        true => {
            lines.push("const __m256i low = _mm256_and_si256(x, _mm256_set1_epi8(-113))".to_owned());
            lines.push("const __m256i high = _mm256_xor_si256(low, _mm256_set1_epi8(-128))".to_owned());
            let both = |at: usize| match at + TOP < n {
                true => format!("_mm256_or_si256({}, {})", shuffled(at, "low"), shuffled(at + TOP, "high")),
                false => shuffled(at, "low"),
            };
            (0..TOP).map(both).collect()
        }
        false => (0..n).map(|at| shuffled(at, "x")).collect(),
    };
    let mut level = 0;
    while chosen.len() > 1 {
        lines.push(format!("const __m256i bit{level} = _mm256_slli_epi16(x, {})", 3 - level));
        let pairs = chosen.chunks(2).enumerate();
        let next = pairs.map(|(at, pair)| match pair {
            [a, b] => {
                let name = format!("c{level}_{at}");
                lines.push(format!("const __m256i {name} = _mm256_blendv_epi8({a}, {b}, bit{level})"));
                name
            }
            _ => pair.concat(),
        });
        chosen = next.collect();
        level += 1;
    }
    function(machine, name, "const uint8_t *table, __m256i x", &lines, &chosen.concat(), called)
}
