//! Matrix transposition by permutations, for rows that are no power of two. Rows of words that lie iteration after
//! iteration, as one vector for each word, and back, where a row is not a power of two words: each vector is chosen
//! from those that lie one after the other, two at a time.
//!
//! Example: rows of three bytes, four lanes. The first vector of bytes is 0, 3, 6 and 9 of the twelve: 0 and 3 are in
//! the first vector in memory, 6 in the second, 9 in the third.

use super::words::Layout;
use std::fmt::Write as _;

/// Vectors that one is chosen from at most.
const MOST_SOURCES: usize = 8;

/// What rows look like in units that are moved: words, or bytes where a row does not end with a word.
pub(super) struct Rows {
    /// Bits of a unit.
    pub unit_bits: u32,
    /// Units of a row, of a word, and of a vector.
    row: usize,
    word: usize,
    vector: usize,
    n_lanes: usize,
    n_words: usize,
    bits: u32,
    lane: u32,
}

/// Where a unit of a vector comes from: the vector and the unit there; `None`: zero.
type Unit = Option<(usize, usize)>;

impl Rows {
    /// `None` where there are too many vectors to choose from.
    pub fn new(layout: &Layout, bits: u32, lane: u32) -> Option<Rows> {
        let whole = layout.bytes().is_multiple_of(u64::from(lane / 8));
        let unit_bits = if whole { lane } else { 8 };
        let rows = Rows {
            unit_bits,
            row: (layout.bytes() / u64::from(unit_bits / 8)) as usize,
            word: (lane / unit_bits) as usize,
            vector: (bits / unit_bits) as usize,
            n_lanes: (bits / lane) as usize,
            n_words: layout.words(lane) as usize,
            bits,
            lane,
        };
        (rows.n_words.max(rows.n_streams()) <= MOST_SOURCES).then_some(rows)
    }

    /// Vectors that the rows of all lanes fill, the last perhaps in part.
    fn n_streams(&self) -> usize {
        (self.row * self.n_lanes).div_ceil(self.vector)
    }

    /// Bytes of a vector of the stream that are there.
    fn bytes_of(&self, stream: usize) -> usize {
        (self.row * self.n_lanes - stream * self.vector).min(self.vector) * self.unit_bits as usize / 8
    }

    /// Permutations of two vectors that it takes, and how they are estimated with `cycles` for each.
    pub fn permutations(&self) -> usize {
        let of = |vectors: Vec<Vec<Unit>>| vectors.iter().map(|units| sources(units).len().max(2) - 1).sum::<usize>();
        of((0..self.n_words).map(|word| self.word_units(word)).collect())
    }

    fn word_units(&self, word: usize) -> Vec<Unit> {
        let unit = |at: usize| {
            let (iteration, inside) = (at / self.word, word * self.word + at % self.word);
            let from = iteration * self.row + inside;
            (inside < self.row).then_some((from / self.vector, from % self.vector))
        };
        (0..self.vector).map(unit).collect()
    }

    fn stream_units(&self, stream: usize) -> Vec<Unit> {
        let unit = |at: usize| {
            let from = stream * self.vector + at;
            let (iteration, inside) = (from / self.row, from % self.row);
            (iteration < self.n_lanes).then_some((inside / self.word, iteration * self.word + inside % self.word))
        };
        (0..self.vector).map(unit).collect()
    }

    fn declare(&self) -> (String, String) {
        (
            format!("hr_u{}x{}", self.bits, self.unit_bits),
            format!(
                "typedef uint{0}_t hr_u{1}x{0} __attribute__((vector_size({2})));",
                self.unit_bits,
                self.bits,
                self.bits / 8
            ),
        )
    }

    /// Statements that make one vector for each word; `name` gives its variable.
    pub fn load(&self, from: &str, name: &dyn Fn(u64) -> String, indent: &str) -> String {
        let (unit, declared) = self.declare();
        let lanes = format!("hr_v{}x{}", self.bits, self.lane);
        let prefix = name(0);
        let mut text = format!("{indent}{declared}\n");
        let mut streams = Vec::new();
        for stream in 0..self.n_streams() {
            let (variable, bytes) = (format!("{prefix}r{stream}"), self.bytes_of(stream));
            let zero = if bytes < self.bits as usize / 8 { " = {0}" } else { "" };
            let at = stream * self.bits as usize / 8;
            let _ = writeln!(text, "{indent}{unit} {variable}{zero}; memcpy(&{variable}, {from} + {at}, {bytes});");
            streams.push(variable);
        }
        for word in 0..self.n_words {
            let value = self.chosen(&self.word_units(word), &streams);
            let _ = writeln!(text, "{indent}const {lanes} {} = ({lanes})({value});", name(word as u64));
        }
        text
    }

    /// Statements that store rows from one vector for each word.
    pub fn store(&self, to: &str, name: &dyn Fn(u64) -> String, indent: &str) -> String {
        let (unit, declared) = self.declare();
        let words: Vec<String> = (0..self.n_words).map(|word| format!("(({unit}){})", name(word as u64))).collect();
        let prefix = name(0);
        let mut text = format!("{indent}{declared}\n");
        for stream in 0..self.n_streams() {
            let (variable, bytes) = (format!("{prefix}r{stream}"), self.bytes_of(stream));
            let value = self.chosen(&self.stream_units(stream), &words);
            let at = stream * self.bits as usize / 8;
            let _ =
                writeln!(text, "{indent}const {unit} {variable} = {value}; memcpy({to} + {at}, &{variable}, {bytes});");
        }
        text
    }

    /// An expression that chooses units.
    fn chosen(&self, units: &[Unit], vectors: &[String]) -> String {
        let used = sources(units);
        let list = |item: &dyn Fn(usize, Unit) -> i64| {
            units.iter().enumerate().map(|(at, unit)| item(at, *unit).to_string()).collect::<Vec<_>>().join(",")
        };
        let Some((&first, others)) = used.split_first() else { return format!("{}^{0}", vectors[0]) };
        let n = self.vector as i64;
        let from = |source: usize| move |unit: Unit| unit.filter(|unit| unit.0 == source).map(|unit| unit.1 as i64);
        let second = others.first().copied().unwrap_or(first);
        let indices = list(&|_, unit| from(first)(unit).or(from(second)(unit).map(|at| at + n)).unwrap_or(-1));
        let mut text = format!("__builtin_shufflevector({}, {}, {indices})", vectors[first], vectors[second]);
        for &source in others.iter().skip(1) {
            let indices = list(&|at, unit| match unit {
                Some(unit) if unit.0 == source => n + unit.1 as i64,
                _ => at as i64,
            });
            text = format!("__builtin_shufflevector({text}, {}, {indices})", vectors[source]);
        }
        if units.contains(&None) {
            let (unit, _) = self.declare();
            let ones = list(&|_, unit| if unit.is_some() { (1_i64 << self.unit_bits.min(32)) - 1 } else { 0 });
            text = format!("({text} & ({unit}){{{ones}}})");
        }
        text
    }
}

/// The vectors that units come from, in order.
fn sources(units: &[Unit]) -> Vec<usize> {
    let mut used: Vec<usize> = units.iter().flatten().map(|unit| unit.0).collect();
    used.sort_unstable();
    used.dedup();
    used
}
