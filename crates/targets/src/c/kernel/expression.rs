//! One node as a C expression.
//!
//! Values are computed in `uint32_t`, `uint64_t` or `u128`, the smallest that holds the width. A printed value is *clean*
//! when the bits above its width are zero; what is not is masked where somebody needs it clean, and only there.

use super::Outside;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{NodeId, ObjectId, Op};
use headrace_transform::statements::{Piece, Place};
use std::collections::{HashMap, HashSet};

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
        _ if value >> 64 == 0 => format!("(u128){}ull", digits(value)),
        _ => format!("((u128){}ull << 64 | {}ull)", digits(value >> 64), digits(value & u128::from(u64::MAX))),
    }
}

/// A printed expression.
pub(super) struct Text {
    text: String,
    /// No operator outside of brackets.
    atom: bool,
    /// Bits of its type; `None` where that may be smaller than what computes with it.
    word: Option<u32>,
    clean: bool,
}

impl Text {
    fn atom(text: String, word: Option<u32>) -> Text {
        Text { text, atom: true, word, clean: true }
    }

    fn operation(text: String, word: u32, clean: bool) -> Text {
        Text { text, atom: false, word: Some(word), clean }
    }

    fn bracketed(&self) -> String {
        if self.atom { self.text.clone() } else { format!("({})", self.text) }
    }
}

/// Prints nodes; those in `locals` by their names.
pub(super) struct Expressions<'a> {
    pub outside: &'a Outside<'a>,
    pub locals: HashMap<NodeId, String>,
    /// Objects of which the content at the beginning stands in a copy.
    pub copied: HashSet<ObjectId>,
    /// Nodes that may be computed where their index is not less than the length.
    pub guarded: HashSet<NodeId>,
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

    /// Bits from `lo` on as a value of `bits` bits that may hold more above.
    pub fn shifted(&self, id: NodeId, lo: u32, bits: u32) -> String {
        let text = self.node(id);
        let shifted = if lo == 0 { text.bracketed() } else { format!("({} >> {lo})", text.bracketed()) };
        match bits {
            128 => shifted,
            _ => format!("(uint{bits}_t){shifted}"),
        }
    }

    fn comparison(&self, a: NodeId, operator: &str, b: NodeId) -> String {
        format!("{} {operator} {}", self.value_atom(a), self.value_atom(b))
    }

    fn clean(&self, id: NodeId) -> Text {
        let text = self.node(id);
        if text.clean {
            return text;
        }
        let width = self.width(id);
        let ones = literal(mask(width), word(width));
        Text::operation(format!("{} & {ones}", text.bracketed()), word(width), true)
    }

    /// An operand of an operation in `word` bits, clean or not.
    fn raw(&self, id: NodeId, word: u32) -> (String, bool) {
        let text = self.node(id);
        (cast(&text, word), text.clean)
    }

    fn node(&self, id: NodeId) -> Text {
        let (graph, width) = (self.outside.graph, self.width(id));
        let w = word(width);
        if let Some(name) = self.locals.get(&id) {
            return Text::atom(name.clone(), Some(w));
        }
        let most = |id: &NodeId| graph.bounds(*id).1;
        match graph.op(id) {
            Op::Const(value) => {
                Text { text: literal(*value, w), atom: w < 128 || value >> 64 != 0, word: Some(w), clean: true }
            }
            Op::Input { port, offset } => Text::atom(self.outside.names.input(*port, *offset), None),
            Op::Loaded(number) => Text::atom(loaded_name(*number), Some(w)),
            Op::Entry { object, index } => self.entry(id, *object, *index),
            Op::Not(a) => {
                let (text, clean) = self.raw(*a, w);
                if width == w {
                    return Text::operation(format!("~{text}"), w, true);
                }
                Text::operation(format!("{text} ^ {}", literal(mask(width), w)), w, clean)
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
                    return Text::operation(format!("{text} << {}", self.value_atom(*n)), w, width == w);
                }
                self.shift("left", *a, *n, width)
            }
            Op::ShiftRight(a, n) => {
                if most(n) < u128::from(width) {
                    let text = format!("{} >> {}", self.value_atom(*a), self.value_atom(*n));
                    return Text::operation(text, w, true);
                }
                Text { clean: true, ..self.shift("right", *a, *n, width) }
            }
            Op::ShiftRightSigned(a, n) => self.shift("right_signed", *a, *n, width),
            Op::RotateLeft(a, n) => self.shift("rotate", *a, *n, width),
            Op::Extract(a, lo) => self.extract(*a, *lo, width),
            Op::Concat(parts) => self.concat(&self.outside.pieces(parts), width),
            Op::SignExtend(a) => {
                let top = literal(1 << (self.width(*a) - 1), w);
                let text = self.clean(*a);
                Text::operation(format!("({} ^ {top}) - {top}", cast(&text, w)), w, width == w)
            }
            Op::Equal(a, b) => flag(self.comparison(*a, "==", *b)),
            Op::Less(a, b) => flag(self.comparison(*a, "<", *b)),
            Op::LessSigned(a, b) => {
                let operand_width = self.width(*a);
                let top = literal(1 << (operand_width - 1), word(operand_width));
                flag(format!("({} ^ {top}) < ({} ^ {top})", self.value_atom(*a), self.value_atom(*b)))
            }
            Op::Select(c, a, b) => {
                let condition = self.clean(*c);
                let all = format!("(0 - {})", cast(&condition, w));
                if graph.constant(*b) == Some(0) {
                    let (a, clean) = self.raw(*a, w);
                    return Text::operation(format!("{all} & {a}"), w, clean);
                }
                let ((a, a_clean), (b, b_clean)) = (self.raw(*a, w), self.raw(*b, w));
                let text = format!("hr_select{w}({}, {a}, {b})", condition.text);
                Text { text, atom: true, word: Some(w), clean: a_clean && b_clean }
            }
            Op::Lookup(table, index) => {
                let text = format!("{}[{}]", self.outside.names.table(*table), self.value(*index));
                let length = graph.table(*table).elements.len();
                Text::atom(self.guard(id, text, *index, length), None)
            }
            Op::LookupBytes(table, a) => {
                let (name, a) = (self.outside.names.table(*table), self.value_atom(*a));
                let byte = |at: u32| format!("(uint{w}_t){name}[({a} >> {at}) & 255] << {at}");
                let bytes: Vec<String> = (0..width).step_by(8).map(byte).collect();
                Text::operation(bytes.join(" | "), w, true)
            }
            Op::Instruction { description, operands } => {
                let operands: Vec<String> = operands.iter().map(|operand| self.value(*operand)).collect();
                Text::atom(self.outside.names.instruction(*description, &operands), Some(w))
            }
        }
    }

    fn guard(&self, id: NodeId, text: String, index: NodeId, length: usize) -> String {
        if self.guarded.contains(&id) && self.outside.graph.bounds(index).1 >= length as u128 {
            return format!("({} < {length} ? {text} : 0)", self.value_atom(index));
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
            format!("(&{})[{}]", self.outside.names.element(kept, &first.to_string()), self.value(rest))
        } else {
            self.outside.names.element(kept, &self.position(index))
        };
        Text::atom(self.guard(id, text, index, kept.length), None)
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
            None => self.value(index),
        }
    }

    fn bitwise(&self, a: NodeId, operator: &str, b: NodeId, w: u32, clean: impl Fn(bool, bool) -> bool) -> Text {
        let (a, b) = (self.node(a), self.node(b));
        let text = format!("{} {operator} {}", a.bracketed(), b.bracketed());
        // Of two small types, C computes in `int`; both are not negative.
        let known = a.word.is_some() || b.word.is_some();
        Text { text, atom: false, word: known.then_some(w), clean: clean(a.clean, b.clean) }
    }

    fn arithmetic(&self, a: NodeId, operator: &str, b: NodeId, width: u32, fits: bool) -> Text {
        let w = word(width);
        let (a, b) = if fits { (self.clean(a), self.clean(b)) } else { (self.node(a), self.node(b)) };
        let a_text = if a.word == Some(w) || b.word == Some(w) { a.bracketed() } else { cast(&a, w) };
        Text::operation(format!("{a_text} {operator} {}", b.bracketed()), w, fits || width == w)
    }

    fn division(&self, a: NodeId, operator: &str, name: &str, b: NodeId, w: u32) -> Text {
        let (dividend, divisor) = (self.clean(a), self.clean(b));
        if self.outside.graph.bounds(b).0 > 0 {
            let text = format!("{} {operator} {}", cast(&dividend, w), divisor.bracketed());
            return Text::operation(text, w, true);
        }
        Text::atom(format!("hr_{name}{w}({}, {})", dividend.text, divisor.text), Some(w))
    }

    fn shift(&self, name: &str, a: NodeId, n: NodeId, width: u32) -> Text {
        let w = word(width);
        let count = self.value(n);
        let count = if self.width(n) > 64 { format!("hr_count({count})") } else { count };
        let text = format!("hr_{name}{w}({}, {count}, {width})", self.value(a));
        Text { text, atom: true, word: Some(w), clean: width == w }
    }

    fn extract(&self, a: NodeId, lo: u32, width: u32) -> Text {
        let text = self.node(a);
        let kept = if text.clean { self.outside.graph.bounds(a).1 } else { mask(word(self.width(a))) } >> lo;
        let w = word(width);
        let narrowed = text.word.is_none_or(|word| word > w) && word(self.width(a)) > w;
        let mut result = text;
        if lo > 0 {
            result = Text { text: format!("{} >> {lo}", result.bracketed()), atom: false, ..result };
        }
        if narrowed {
            result = Text::operation(cast(&Text { word: None, ..result }, w), w, true);
        }
        result.clean = (if narrowed { kept & mask(w) } else { kept }) <= mask(width);
        result
    }

    fn concat(&self, pieces: &[Piece], width: u32) -> Text {
        let w = word(width);
        let mut texts: Vec<Text> = pieces.iter().map(|piece| self.piece(piece, w)).collect();
        if texts.len() == 1
            && let Some(only) = texts.pop()
        {
            return only;
        }
        let texts: Vec<String> = texts.iter().map(Text::bracketed_for_or).collect();
        Text::operation(texts.join(" | "), w, true)
    }

    fn piece(&self, piece: &Piece, w: u32) -> Text {
        let placed = |text: Text, at: u32| match at {
            0 => text,
            _ => Text::operation(format!("{} << {at}", cast(&text, w)), w, true),
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
                let inner = self.shifted(source, lo, n_bits);
                let name = if n_bits == 128 { "hr_swap" } else { "__builtin_bswap" };
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
        let (moved, held) = if shift > 0 {
            let text = format!("{} << {distance}", cast(&text, w));
            (Text::operation(text, w, true), (held << distance) & mask(w))
        } else {
            let shifted = match distance {
                0 => text,
                _ => Text { text: format!("{} >> {distance}", text.bracketed()), atom: false, ..text },
            };
            if source_word > w {
                let text = cast(&Text { word: None, ..shifted }, w);
                (Text::operation(text, w, true), (held >> distance) & mask(w))
            } else {
                (Text { clean: true, ..shifted }, held >> distance)
            }
        };
        if held & !taken == 0 {
            return moved;
        }
        Text::operation(format!("{} & {}", moved.bracketed(), literal(taken, w)), w, true)
    }
}

impl Text {
    /// Shifts bind stronger than `|`, but compilers warn of masks and sums that do.
    fn bracketed_for_or(&self) -> String {
        if self.text.contains(['&', '^', '+', '-']) { self.bracketed() } else { self.text.clone() }
    }
}

fn flag(comparison: String) -> Text {
    Text::operation(format!("(uint32_t)({comparison})"), 32, true)
}

fn cast(text: &Text, w: u32) -> String {
    if text.word == Some(w) {
        return text.bracketed();
    }
    let name = if w == 128 { "u128".to_owned() } else { format!("uint{w}_t") };
    format!("(({name}){})", text.bracketed())
}
