//! Expression printing. One node as a C expression.
//!
//! Values are computed in `uint32_t`, `uint64_t` or `u128`, the smallest that holds the width. A printed value is
//! *clean* when the bits above its width are zero; what is not is masked where somebody needs it clean, and only there.
//!
//! What computes with `u128` is printed as calls (`hr_add128`, …): the prelude makes operators of them where the
//! compiler has integers of that size, and functions on two halves where it has none.

use super::Outside;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{NodeId, ObjectId, Op};
use headrace_transform::statements::{Piece, Place};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bits of the type that computes with a width.
pub(super) fn word(width: u32) -> u32 {
    match width {
        ..=32 => 32,
        33..=64 => 64,
        _ => 128,
    }
}

/// The type that computes with a width.
pub(super) fn word_type(width: u32) -> &'static str {
    match word(width) {
        32 => "uint32_t",
        64 => "uint64_t",
        _ => "u128",
    }
}

/// A number as a literal of the type of `word` bits.
pub(super) fn literal(value: u128, word: u32) -> String {
    let digits = |value: u128| if value < 10 { format!("{value}") } else { format!("{value:#x}") };
    match word {
        32 => digits(value) + "u",
        64 => digits(value) + "ull",
        _ => format!("hr_pair128({}ull, {}ull)", digits(value >> 64), digits(value & u128::from(u64::MAX))),
    }
}

/// The operator of an expression that stands outside of brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outer {
    /// There is none.
    Nothing,
    /// One that stands beside `|` without brackets: `|` itself, shifts, casts, products.
    Tight,
    /// One that binds stronger than `|` too, but that compilers warn of beside it: masks and sums.
    Loose,
}

/// A printed expression.
pub(super) struct Text {
    text: String,
    outer: Outer,
    /// Bits of its type; `None` where that may be smaller than what computes with it.
    word: Option<u32>,
    clean: bool,
}

impl Text {
    fn atom(text: String, word: Option<u32>) -> Text {
        Text { text, outer: Outer::Nothing, word, clean: true }
    }

    fn tight(text: String, word: u32, clean: bool) -> Text {
        Text { text, outer: Outer::Tight, word: Some(word), clean }
    }

    fn loose(text: String, word: u32, clean: bool) -> Text {
        Text { text, outer: Outer::Loose, word: Some(word), clean }
    }

    /// A call of what computes with 128 bits.
    fn wide(name: &str, arguments: &[&str], clean: bool) -> Text {
        Text { text: format!("hr_{name}128({})", arguments.join(", ")), outer: Outer::Nothing, word: Some(128), clean }
    }

    fn bracketed(&self) -> String {
        if self.outer == Outer::Nothing { self.text.clone() } else { format!("({})", self.text) }
    }
}

/// Prints nodes; those in `locals` by their names.
pub(super) struct Expressions<'a> {
    pub outside: &'a Outside<'a>,
    pub locals: FxHashMap<NodeId, String>,
    /// What loads read, by the numbers of these; others are called after the numbers.
    pub loaded: FxHashMap<u32, String>,
    /// Objects of which the content at the beginning stands in a copy.
    pub copied: FxHashSet<ObjectId>,
    /// Nodes that may be computed where their index is not less than the length.
    pub guarded: FxHashSet<NodeId>,
}

/// The variable that holds what a load read.
pub(super) fn loaded_name(id: u32) -> String {
    format!("l{id}_")
}

/// The copy of what an object held at the beginning.
pub(super) fn copy_name(name: &str) -> String {
    format!("{name}_0_")
}

impl Expressions<'_> {
    fn width(&self, id: NodeId) -> u32 {
        self.outside.graph.width(id)
    }

    /// A node as a value that is less than 2^width.
    pub fn value(&self, id: NodeId) -> String {
        self.clean(id).text
    }

    /// The same in brackets where it needs some.
    pub fn value_atom(&self, id: NodeId) -> String {
        self.clean(id).bracketed()
    }

    /// A node of one bit as a condition.
    pub fn condition(&self, id: NodeId) -> String {
        if !self.locals.contains_key(&id) {
            match *self.outside.graph.op(id) {
                Op::Equal(a, b) => return self.comparison(a, "==", b),
                Op::Less(a, b) => return self.comparison(a, "<", b),
                Op::Not(a) => return format!("!{}", self.value_atom(a)),
                _ => {}
            }
        }
        self.value(id)
    }

    /// Bits from `lo` on as a value of `bits` bits that may hold more above. Negative `lo`: with so many zeros below those of
    /// the value; then there are at most 64.
    pub fn shifted(&self, id: NodeId, lo: i32, bits: u32) -> String {
        let text = self.node(id);
        let Ok(lo) = u32::try_from(lo) else {
            let low = if text.word == Some(128) { format!("hr_bits128({}, 0)", text.text) } else { text.text };
            return format!("(uint{bits}_t)((uint64_t)({low}) << {})", lo.unsigned_abs());
        };
        if bits == 128 {
            return shifted_right(text, lo).text;
        }
        if text.word == Some(128) {
            return format!("(uint{bits}_t)hr_bits128({}, {lo})", text.text);
        }
        let shifted = if lo == 0 { text.bracketed() } else { format!("({} >> {lo})", text.bracketed()) };
        format!("(uint{bits}_t){shifted}")
    }

    fn comparison(&self, a: NodeId, operator: &str, b: NodeId) -> String {
        if self.width(a).max(self.width(b)) > 64 {
            let name = if operator == "<" { "less" } else { "equal" };
            return format!("hr_{name}128({}, {})", cast(&self.clean(a), 128), cast(&self.clean(b), 128));
        }
        format!("{} {operator} {}", self.value_atom(a), self.value_atom(b))
    }

    /// A count or an index, which is less than 2^64 wherever it matters.
    fn count(&self, id: NodeId) -> Text {
        let text = self.clean(id);
        if text.word != Some(128) {
            return text;
        }
        Text::atom(format!("hr_count({})", text.text), Some(64))
    }

    fn clean(&self, id: NodeId) -> Text {
        let text = self.node(id);
        if text.clean {
            return text;
        }
        let width = self.width(id);
        let ones = literal(mask(width), word(width));
        if word(width) == 128 {
            return Text::wide("and", &[&text.text, &ones], true);
        }
        Text::loose(format!("{} & {ones}", text.bracketed()), word(width), true)
    }

    /// An operand of an operation in `word` bits, clean or not.
    fn raw(&self, id: NodeId, word: u32) -> (String, bool) {
        let text = self.node(id);
        (cast(&text, word), text.clean)
    }

    fn node(&self, id: NodeId) -> Text {
        let text = self.any_node(id);
        // Of pieces, some may be of a smaller type.
        if word(self.width(id)) == 128 && text.word != Some(128) {
            return Text { clean: text.clean, ..Text::atom(cast(&text, 128), Some(128)) };
        }
        text
    }

    fn any_node(&self, id: NodeId) -> Text {
        let (graph, width) = (self.outside.graph, self.width(id));
        let w = word(width);
        if let Some(name) = self.locals.get(&id) {
            return Text::atom(name.clone(), Some(w));
        }
        // The type of tokens, elements and entries of tables.
        let stored = (w == 128).then_some(w);
        let most = |id: &NodeId| graph.bounds(*id).1;
        match graph.op(id) {
            Op::Const(value) => Text::atom(literal(*value, w), Some(w)),
            Op::Input { port, offset } => Text::atom(self.outside.names.input(*port, *offset), stored),
            Op::Loaded(number) => {
                Text::atom(self.loaded.get(number).cloned().unwrap_or_else(|| loaded_name(*number)), Some(w))
            }
            Op::Entry { object, index } => self.entry(id, *object, *index),
            Op::Not(a) => {
                let (text, clean) = self.raw(*a, w);
                if w == 128 {
                    return Text::wide("xor", &[&text, &literal(mask(width), w)], clean);
                }
                if width == w {
                    return Text::tight(format!("~{text}"), w, true);
                }
                Text::loose(format!("{text} ^ {}", literal(mask(width), w)), w, clean)
            }
            Op::And(a, b) => self.bitwise(*a, "&", *b, w, |a, b| a || b),
            Op::Or(a, b) => self.bitwise(*a, "|", *b, w, |a, b| a && b),
            Op::Xor(a, b) => self.bitwise(*a, "^", *b, w, |a, b| a && b),
            Op::Add(a, b) => {
                let fits = most(a).checked_add(most(b)).is_some_and(|sum| sum <= mask(width));
                self.arithmetic(*a, "+", *b, width, fits)
            }
            Op::Sub(a, b) => self.arithmetic(*a, "-", *b, width, graph.bounds(*a).0 >= most(b)),
            Op::Mul(a, b) => {
                let fits = most(a).checked_mul(most(b)).is_some_and(|product| product <= mask(width));
                self.arithmetic(*a, "*", *b, width, fits)
            }
            Op::Divide(a, b) => self.division(*a, "/", "divide", *b, w),
            Op::Remainder(a, b) => self.division(*a, "%", "remainder", *b, w),
            Op::ShiftLeft(a, n) => {
                if most(n) < u128::from(width) {
                    let (text, _) = self.raw(*a, w);
                    let count = self.count(*n);
                    if w == 128 {
                        return Text::wide("shift_left", &[&text, &count.text], width == w);
                    }
                    return Text::tight(format!("{text} << {}", count.bracketed()), w, width == w);
                }
                self.shift("left", *a, *n, width)
            }
            Op::ShiftRight(a, n) => {
                if most(n) < u128::from(width) {
                    let count = self.count(*n);
                    if w == 128 {
                        return Text::wide("shift_right", &[&self.value(*a), &count.text], true);
                    }
                    let text = format!("{} >> {}", self.value_atom(*a), count.bracketed());
                    return Text::tight(text, w, true);
                }
                Text { clean: true, ..self.shift("right", *a, *n, width) }
            }
            Op::ShiftRightSigned(a, n) => self.shift("right_signed", *a, *n, width),
            Op::RotateLeft(a, n) => self.shift("rotate", *a, *n, width),
            Op::Extract(a, lo) => self.extract(*a, *lo, width),
            Op::Concat(parts) => self.concat_parts(parts, width),
            Op::SignExtend(a) => {
                let top = literal(1 << (self.width(*a) - 1), w);
                let text = cast(&self.clean(*a), w);
                if w == 128 {
                    let changed = Text::wide("xor", &[&text, &top], true);
                    return Text::wide("sub", &[&changed.text, &top], width == w);
                }
                Text::loose(format!("({text} ^ {top}) - {top}"), w, width == w)
            }
            Op::Equal(a, b) => flag(self.comparison(*a, "==", *b)),
            Op::Less(a, b) => flag(self.comparison(*a, "<", *b)),
            Op::LessSigned(a, b) => {
                let operand_width = self.width(*a);
                let top = literal(1 << (operand_width - 1), word(operand_width));
                if operand_width > 64 {
                    let changed = |id: NodeId| Text::wide("xor", &[&self.value(id), &top], true).text;
                    return flag(format!("hr_less128({}, {})", changed(*a), changed(*b)));
                }
                flag(format!("({} ^ {top}) < ({} ^ {top})", self.value_atom(*a), self.value_atom(*b)))
            }
            Op::Select(c, a, b) => {
                let condition = self.clean(*c);
                if w == 128 {
                    let (chosen, a, b) = (cast(&condition, w), self.node(*a), self.node(*b));
                    return Text::wide("select", &[&chosen, &a.text, &b.text], a.clean && b.clean);
                }
                let all = format!("(0 - {})", cast(&condition, w));
                if graph.constant(*b) == Some(0) {
                    let (a, clean) = self.raw(*a, w);
                    return Text::loose(format!("{all} & {a}"), w, clean);
                }
                let ((a, a_clean), (b, b_clean)) = (self.raw(*a, w), self.raw(*b, w));
                let text = format!("hr_select{w}({}, {a}, {b})", condition.text);
                Text { text, outer: Outer::Nothing, word: Some(w), clean: a_clean && b_clean }
            }
            Op::Lookup(table, index) => {
                let text = format!("{}[{}]", self.outside.names.table(*table), self.position(*index));
                let length = graph.table(*table).elements.len();
                Text::atom(self.guard(id, text, *index, length), stored)
            }
            Op::LookupBytes(table, a) => {
                let (name, a) = (self.outside.names.table(*table), self.value_atom(*a));
                if w == 128 {
                    let byte = |at: u32| {
                        let byte = cast(&Text::atom(format!("{name}[hr_bits128({a}, {at}) & 255]"), None), w);
                        shifted_left(&byte, at)
                    };
                    return joined((0..width).step_by(8).map(byte).collect());
                }
                let byte = |at: u32| format!("(uint{w}_t){name}[({a} >> {at}) & 255] << {at}");
                let bytes: Vec<String> = (0..width).step_by(8).map(byte).collect();
                Text::tight(bytes.join(" | "), w, true)
            }
            Op::Instruction { description, operands } => {
                let operands: Vec<String> = operands.iter().map(|operand| self.value(*operand)).collect();
                Text::atom(self.outside.names.instruction(*description, &operands), Some(w))
            }
        }
    }

    fn guard(&self, id: NodeId, text: String, index: NodeId, length: usize) -> String {
        if self.guarded.contains(&id) && self.outside.graph.bounds(index).1 >= length as u128 {
            let inside = if self.width(index) > 64 {
                format!("hr_less128({}, {})", self.value(index), literal(length as u128, 128))
            } else {
                format!("{} < {length}", self.value_atom(index))
            };
            let none = if self.width(id) > 64 { literal(0, 128) } else { "0".to_owned() };
            return format!("({inside} ? {text} : {none})");
        }
        text
    }

    fn entry(&self, id: NodeId, object: ObjectId, index: NodeId) -> Text {
        let kept = &self.outside.objects[object.0 as usize];
        if !kept.persistent {
            return Text::atom(literal(0, word(kept.width)), Some(word(kept.width)));
        }
        let text = if self.copied.contains(&object) {
            format!("{}[{}]", copy_name(&kept.name), self.position(index))
        } else if let Some(near) = self.outside.names.element_near(object, index) {
            near
        } else if let Some((first, rest)) = self.behind(index, kept.length) {
            // Compilers put what they add into an address where it stands apart.
            format!("(&{})[{}]", self.outside.names.element(kept, &first.to_string()), self.position(rest))
        } else {
            self.outside.names.element(kept, &self.position(index))
        };
        let stored = (kept.width > 64).then_some(128);
        Text::atom(self.guard(id, text, index, kept.length), stored)
    }

    /// An index that is a constant place in an array and something from there on.
    fn behind(&self, index: NodeId, length: usize) -> Option<(u128, NodeId)> {
        let graph = self.outside.graph;
        // The sum may be of fewer bits than the index.
        let index = match graph.op(index) {
            Op::Concat(parts) if parts.len() == 2 && graph.constant(parts[0]) == Some(0) => parts[1],
            _ => index,
        };
        let Op::Add(a, b) = *graph.op(index) else { return None };
        let (first, rest) = match (graph.constant(a), graph.constant(b)) {
            (Some(first), None) => (first, b),
            (None, Some(first)) => (first, a),
            _ => return None,
        };
        let above = match graph.op(rest) {
            Op::Concat(parts) => {
                parts.iter().take_while(|&&part| graph.constant(part) == Some(0)).map(|&part| graph.width(part)).sum()
            }
            Op::And(a, b) => {
                let ones = graph.constant(*a).or(graph.constant(*b)).unwrap_or(u128::MAX);
                graph.width(rest).saturating_sub(u128::BITS - ones.leading_zeros())
            }
            _ => 0,
        };
        let most = graph.bounds(rest).1.min(mask(graph.width(rest)) >> above);
        let fits = most.checked_add(first).is_some_and(|last| last <= mask(graph.width(index)));
        (fits && first < length as u128).then_some((first, rest))
    }

    /// A node as the index of an array.
    pub fn position(&self, index: NodeId) -> String {
        match self.outside.graph.constant(index) {
            Some(value) => value.to_string(),
            // What is not inside is not read.
            None if self.width(index) > 64 => format!("hr_bits128({}, 0)", self.value(index)),
            None => self.value(index),
        }
    }

    fn bitwise(&self, a: NodeId, operator: &str, b: NodeId, w: u32, clean: impl Fn(bool, bool) -> bool) -> Text {
        let (a, b) = (self.node(a), self.node(b));
        if w == 128 {
            let name = match operator {
                "&" => "and",
                "|" => "or",
                _ => "xor",
            };
            return Text::wide(name, &[&cast(&a, w), &cast(&b, w)], clean(a.clean, b.clean));
        }
        let text = format!("{} {operator} {}", a.bracketed(), b.bracketed());
        // Of two small types, C computes in `int`; both are not negative.
        let known = a.word.is_some() || b.word.is_some();
        let outer = if operator == "|" { Outer::Tight } else { Outer::Loose };
        Text { text, outer, word: known.then_some(w), clean: clean(a.clean, b.clean) }
    }

    fn arithmetic(&self, a: NodeId, operator: &str, b: NodeId, width: u32, fits: bool) -> Text {
        let w = word(width);
        let (a, b) = if fits { (self.clean(a), self.clean(b)) } else { (self.node(a), self.node(b)) };
        if w == 128 {
            let name = match operator {
                "+" => "add",
                "-" => "sub",
                _ => "mul",
            };
            return Text::wide(name, &[&cast(&a, w), &cast(&b, w)], fits || width == w);
        }
        let a_text = if a.word == Some(w) || b.word == Some(w) { a.bracketed() } else { cast(&a, w) };
        let text = format!("{a_text} {operator} {}", b.bracketed());
        let outer = if operator == "*" { Outer::Tight } else { Outer::Loose };
        Text { text, outer, word: Some(w), clean: fits || width == w }
    }

    fn division(&self, a: NodeId, operator: &str, name: &str, b: NodeId, w: u32) -> Text {
        let (dividend, divisor) = (self.clean(a), self.clean(b));
        if w == 128 {
            return Text::wide(name, &[&cast(&dividend, w), &cast(&divisor, w)], true);
        }
        if self.outside.graph.bounds(b).0 > 0 {
            let text = format!("{} {operator} {}", cast(&dividend, w), divisor.bracketed());
            return Text::tight(text, w, true);
        }
        Text::atom(format!("hr_{name}{w}({}, {})", dividend.text, divisor.text), Some(w))
    }

    fn shift(&self, name: &str, a: NodeId, n: NodeId, width: u32) -> Text {
        let w = word(width);
        let count = self.count(n).text;
        let text = format!("hr_{name}{w}({}, {count}, {width})", self.value(a));
        Text { text, outer: Outer::Nothing, word: Some(w), clean: width == w }
    }

    fn extract(&self, a: NodeId, lo: u32, width: u32) -> Text {
        let text = self.node(a);
        let kept = if text.clean { self.outside.graph.bounds(a).1 } else { mask(word(self.width(a))) } >> lo;
        let w = word(width);
        if word(self.width(a)) == 128 {
            let result = if w == 128 {
                shifted_right(text, lo)
            } else {
                Text::tight(format!("(uint{w}_t)hr_bits128({}, {lo})", text.text), w, true)
            };
            return Text { clean: kept & mask(w) <= mask(width), ..result };
        }
        let narrowed = text.word.is_none_or(|word| word > w) && word(self.width(a)) > w;
        let mut result = text;
        if lo > 0 {
            result = Text { text: format!("{} >> {lo}", result.bracketed()), outer: Outer::Tight, ..result };
        }
        if narrowed {
            result = Text::tight(cast(&Text { word: None, ..result }, w), w, true);
        }
        result.clean = (if narrowed { kept & mask(w) } else { kept }) <= mask(width);
        result
    }

    /// Parts one above the other. What is put together of many parts in 128 bits is two words: compilers find words that are
    /// read byte by byte, and the instructions that swap bytes, in those.
    fn concat_parts(&self, parts: &[NodeId], width: u32) -> Text {
        let pieces = self.outside.pieces(parts);
        let mut below = 0;
        let from_below = parts.iter().rev().position(|&part| {
            below += self.width(part);
            below >= 64
        });
        match from_below {
            Some(last) if width > 64 && below == 64 && pieces.len() > 2 => {
                let (high, low) = parts.split_at(parts.len() - 1 - last);
                let word = |parts: &[NodeId], width| cast(&self.concat_parts(parts, width), 64);
                let text = format!("hr_pair128({}, {})", word(high, width - 64), word(low, 64));
                Text::atom(text, Some(128))
            }
            _ => self.concat(&pieces, width),
        }
    }

    fn concat(&self, pieces: &[Piece], width: u32) -> Text {
        let w = word(width);
        let mut texts: Vec<Text> = pieces.iter().map(|piece| self.piece(piece, w)).collect();
        if texts.len() == 1
            && let Some(only) = texts.pop()
        {
            return only;
        }
        // Zeros are no pieces.
        if pieces.is_empty() {
            return Text::atom(literal(0, w), Some(w));
        }
        if w == 128 {
            return joined(texts.iter().map(|text| cast(text, w)).collect());
        }
        let texts: Vec<String> = texts.iter().map(Text::bracketed_for_or).collect();
        Text::tight(texts.join(" | "), w, true)
    }

    fn piece(&self, piece: &Piece, w: u32) -> Text {
        let placed = |text: Text, at: u32| match at {
            0 => text,
            _ if w == 128 => Text::atom(shifted_left(&cast(&text, w), at), Some(w)),
            _ => Text::tight(format!("{} << {at}", cast(&text, w)), w, true),
        };
        match *piece {
            Piece::Const(value) => Text::atom(literal(value, w), Some(w)),
            Piece::Load { place, first, n_bytes, big, at } => {
                let pointer = match place {
                    Place::Port(port) => self.outside.names.input_bytes(port, first, n_bytes).unwrap_or_default(),
                    Place::Object(object) => {
                        let kept = &self.outside.objects[object.0 as usize];
                        format!("&{}", self.outside.names.element(kept, &first.to_string()))
                    }
                };
                let bits = n_bytes * 8;
                let text = format!("hr_{}{bits}({pointer})", if big { "be" } else { "le" });
                placed(Text::atom(text, (bits >= 32).then_some(bits)), at)
            }
            Piece::Swapped { source, lo, n_bits, at } => {
                let inner = self.shifted(source, lo as i32, n_bits);
                let name = if n_bits == 128 { "hr_swap" } else { self.outside.names.swap() };
                placed(Text::atom(format!("{name}{n_bits}({inner})"), Some(n_bits)), at)
            }
            Piece::Moved { source, shift, mask: taken } => self.moved(source, shift, taken, w),
        }
    }

    fn moved(&self, source: NodeId, shift: i32, taken: u128, w: u32) -> Text {
        let text = self.node(source);
        let source_word = word(self.width(source));
        let held = if text.clean { mask(self.width(source)) } else { mask(source_word) };
        let distance = shift.unsigned_abs();
        let (moved, held) = if shift > 0 && w == 128 {
            (Text::atom(shifted_left(&cast(&text, w), distance), Some(w)), held << distance)
        } else if shift <= 0 && source_word == 128 && w == 128 {
            (Text { clean: true, ..shifted_right(text, distance) }, held >> distance)
        } else if shift <= 0 && source_word == 128 {
            let text = format!("(uint{w}_t)hr_bits128({}, {distance})", text.text);
            (Text::tight(text, w, true), (held >> distance) & mask(w))
        } else if shift > 0 {
            let text = format!("{} << {distance}", cast(&text, w));
            (Text::tight(text, w, true), (held << distance) & mask(w))
        } else {
            let shifted = match distance {
                0 => text,
                _ => Text { text: format!("{} >> {distance}", text.bracketed()), outer: Outer::Tight, ..text },
            };
            if source_word > w {
                let text = cast(&Text { word: None, ..shifted }, w);
                (Text::tight(text, w, true), (held >> distance) & mask(w))
            } else {
                (Text { clean: true, ..shifted }, held >> distance)
            }
        };
        if held & !taken == 0 {
            return moved;
        }
        if w == 128 {
            return Text::wide("and", &[&cast(&moved, w), &literal(taken, w)], true);
        }
        Text::loose(format!("{} & {}", moved.bracketed(), literal(taken, w)), w, true)
    }
}

impl Text {
    /// As an operand of `|`.
    fn bracketed_for_or(&self) -> String {
        if self.outer == Outer::Loose { self.bracketed() } else { self.text.clone() }
    }
}

fn flag(comparison: String) -> Text {
    Text::tight(format!("(uint32_t)({comparison})"), 32, true)
}

fn cast(text: &Text, w: u32) -> String {
    if text.word == Some(w) {
        return text.bracketed();
    }
    if w == 128 {
        return format!("hr_wide128({})", text.text);
    }
    if text.word == Some(128) {
        return format!("((uint{w}_t)hr_bits128({}, 0))", text.text);
    }
    format!("((uint{w}_t){})", text.bracketed())
}

/// What computes with 128 bits, shifted by a number of bits.
fn shifted_left(text: &str, bits: u32) -> String {
    if bits == 0 { text.to_owned() } else { format!("hr_shift_left128({text}, {bits})") }
}

fn shifted_right(text: Text, bits: u32) -> Text {
    let wide = cast(&text, 128);
    if bits == 0 {
        return Text { clean: text.clean, ..Text::atom(wide, Some(128)) };
    }
    Text::wide("shift_right", &[&wide, &bits.to_string()], text.clean)
}

/// Parts of 128 bits that have no ones at the same places.
fn joined(parts: Vec<String>) -> Text {
    let or = |all: String, part: String| format!("hr_or128({all}, {part})");
    Text::atom(parts.into_iter().reduce(or).unwrap_or_else(|| literal(0, 128)), Some(128))
}
