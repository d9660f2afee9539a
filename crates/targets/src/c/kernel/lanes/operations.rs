//! Legalisation of lane-wise operations. One operation on vectors: each lane computes for its iteration.

use super::super::vectors::{byte_rotation, vector_support};
use super::super::words::NotApplicable;
use super::Printer;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{NodeId, Op};
use headrace_transform::statements::Piece;

impl Printer<'_> {
    pub(super) fn vector(&self, id: NodeId) -> String {
        match self.words.graph.op(id) {
            Op::Const(value) if !self.kept.contains(&id) => self.number(*value),
            _ => self.vectors.get(&id).cloned().unwrap_or_default(),
        }
    }

    pub(super) fn cut(&self, text: String, width: u32) -> String {
        if width < self.lane() { format!("({text}) & {}", self.number(mask(width))) } else { text }
    }

    pub(super) fn node(&mut self, id: NodeId) -> Result<String, NotApplicable> {
        let graph = &self.words.graph;
        let (width, lane) = (graph.width(id), self.lane());
        let v = self.v();
        let s = self.signed();
        let of = |id: &NodeId| self.vector(*id);
        let narrow = |id: &NodeId| graph.width(*id) <= lane;
        let op = graph.op(id);
        if !matches!(op, Op::Extract(..) | Op::Concat(_) | Op::Lookup(..) | Op::Entry { .. })
            && !op.operands().iter().all(narrow)
        {
            return Err(NotApplicable("an operand is wider than a lane".into()));
        }
        let top = |id: &NodeId| self.number(1 << (graph.width(*id) - 1));
        let bounded = |n: &NodeId| graph.bounds(*n).1 < u128::from(width);
        let within = |n: &NodeId| format!("({v})({} < {})", of(n), self.number(u128::from(width)));
        let least = self.number(u128::from(lane - 1));
        Ok(match op {
            Op::Not(a) if width == lane => format!("~{}", of(a)),
            Op::Not(a) => format!("{} ^ {}", of(a), self.number(mask(width))),
            Op::And(a, b) => format!("{} & {}", of(a), of(b)),
            Op::Or(a, b) => format!("{} | {}", of(a), of(b)),
            Op::Xor(a, b) => format!("{} ^ {}", of(a), of(b)),
            Op::Add(a, b) => self.cut(format!("{} + {}", of(a), of(b)), width),
            Op::Sub(a, b) => self.cut(format!("{} - {}", of(a), of(b)), width),
            Op::Mul(a, b) => self.cut(format!("{} * {}", of(a), of(b)), width),
            Op::ShiftLeft(a, n) if bounded(n) => self.cut(format!("{} << {}", of(a), of(n)), width),
            Op::ShiftRight(a, n) if bounded(n) => format!("{} >> {}", of(a), of(n)),
            Op::ShiftLeft(a, n) => self.cut(format!("({} << ({} & {least})) & {}", of(a), of(n), within(n)), width),
            Op::ShiftRight(a, n) => format!("({} >> ({} & {least})) & {}", of(a), of(n), within(n)),
            Op::ShiftRightSigned(a, n) => {
                let up = self.number(u128::from(lane - width));
                let most = self.number(u128::from(width - 1));
                let within = format!("({v})({} < {most})", of(n));
                let count = format!("({s})(({most}) ^ (({} ^ {most}) & {within}))", of(n));
                let text =
                    format!("({v})((({s})({} << {up}) >> {}) >> {count})", of(a), self.signed_number(lane - width));
                self.cut(text, width)
            }
            Op::RotateLeft(a, n) => self.rotation(*a, *n, width),
            Op::Extract(a, lo) => {
                let whole = lo + width == graph.width(*a) || graph.bounds(*a).1 >> lo <= mask(width);
                let text = if *lo == 0 { of(a) } else { format!("{} >> {lo}", of(a)) };
                if whole { text } else { self.cut(text, width) }
            }
            Op::Concat(parts) => self.concat(&self.outside.pieces(parts), width)?,
            Op::SignExtend(a) => match self.compared(id) {
                Some((a, b, sign)) => format!("({v})({} {sign} {})", of(&a), of(&b)),
                None => self.cut(format!("({} ^ {}) - {}", of(a), top(a), top(a)), width),
            },
            Op::Equal(a, b) => format!("({v})({} == {}) & {}", of(a), of(b), self.number(1)),
            Op::Less(a, b) => format!("({v})({} < {}) & {}", of(a), of(b), self.number(1)),
            Op::LessSigned(a, b) => {
                format!("({v})(({} ^ {}) < ({} ^ {})) & {}", of(a), top(a), of(b), top(b), self.number(1))
            }
            Op::Select(c, a, b) => format!("{} ^ (({} ^ {}) & -{})", of(b), of(a), of(b), of(c)),
            Op::LookupBytes(table, word) => {
                let text = self.elements_of_bytes(*table, *word);
                self.cut(text, width)
            }
            Op::Lookup(table, index) if self.affine(*table).is_some() => {
                let (text, constant) = self.mapped(*table, *index);
                if constant == 0 { text } else { self.cut(text, width) }
            }
            Op::Lookup(table, index) => {
                let (length, element) = (graph.table(*table).elements.len(), graph.table(*table).width);
                let name = self.names.names.table(*table);
                return self.elements(&|i| format!("{name}[{i}]"), &name, length, element, (Some(*table), *index));
            }
            Op::Entry { object, index } => return self.entry(*object, *index),
            Op::Divide(..) | Op::Remainder(..) => return Err(NotApplicable("vectors do not divide".into())),
            Op::Const(_) | Op::Input { .. } | Op::Loaded(_) | Op::Instruction { .. } => {
                return Err(NotApplicable("a node has no form in vectors".into()));
            }
        })
    }

    /// What is compared, and how, where a whole lane becomes ones where it is true: as comparisons of vectors give it.
    pub(super) fn compared(&self, id: NodeId) -> Option<(NodeId, NodeId, &'static str)> {
        let graph = &self.words.graph;
        let Op::SignExtend(condition) = *graph.op(id) else { return None };
        let (a, b, sign) = match *graph.op(condition) {
            Op::Equal(a, b) => (a, b, "=="),
            Op::Less(a, b) => (a, b, "<"),
            _ => return None,
        };
        (graph.width(id) == self.lane() && graph.width(a) <= self.lane()).then_some((a, b, sign))
    }

    pub(super) fn signed_number(&self, value: u32) -> String {
        format!("({})({})", self.signed(), self.number(u128::from(value)))
    }

    pub(super) fn rotates(&self) -> bool {
        self.machine.ternary && matches!(self.lane(), 32 | 64)
    }

    pub(super) fn raw(&self, id: &NodeId) -> String {
        format!("({}){}", self.raw_type(), self.vector(*id))
    }

    pub(super) fn raw_type(&self) -> String {
        if self.machine.vector_bits == 128 { "__m128i".into() } else { format!("__m{}i", self.machine.vector_bits) }
    }

    pub(super) fn instruction(&mut self, name: &str, operands: &str) -> String {
        self.support("#include <immintrin.h>\n");
        let bits = if self.machine.vector_bits == 128 { String::new() } else { self.machine.vector_bits.to_string() };
        format!("({})_mm{bits}_{name}_epi{}({operands})", self.v(), self.lane())
    }

    /// A variable with a value rotated to the left.
    pub(super) fn rotated(&mut self, source: NodeId, up: u32) -> String {
        if let Some(name) = self.rotations.get(&(source, up)).cloned() {
            self.computed.reads(&name);
            return name;
        }
        let text = match self.rotates_by_shuffle(up) {
            true => {
                let (bits, lane) = (self.machine.vector_bits, self.lane());
                self.support(vector_support(bits, 8));
                self.support(byte_rotation(bits, lane, up / 8));
                format!("HR_ROTATE{up}_{bits}x{lane}({})", self.vector(source))
            }
            false => {
                let operands = format!("{}, {up}", self.raw(&source));
                self.instruction("rol", &operands)
            }
        };
        let (v, name) = (self.v(), format!("r{}_{up}_", source.0));
        self.computed.rotated(&v, &name, &text, self.vector(source));
        self.rotations.insert((source, up), name.clone());
        name
    }

    pub(super) fn concat(&mut self, pieces: &[Piece], width: u32) -> Result<String, NotApplicable> {
        let lane = self.lane();
        if let Some((source, up, taken)) = self.one_rotation(pieces)
            && width == lane
        {
            // What is zero at the bottom is another rotation, which there may be too, shifted.
            let zeros = taken.trailing_zeros();
            return Ok(match mask(lane) & !mask(zeros) == taken && zeros < up {
                true if zeros == 0 => self.rotated(source, up),
                true => format!("{} << {zeros}", self.rotated(source, up - zeros)),
                false => format!("{} & {}", self.rotated(source, up), self.number(taken)),
            });
        }
        let mut texts = Vec::new();
        for piece in pieces {
            texts.push(match *piece {
                Piece::Const(value) => self.number(value),
                Piece::Load { .. } => return Err(NotApplicable("bytes in memory have no form in vectors".into())),
                Piece::Swapped { source, lo, n_bits, at } => {
                    self.support(vector_support(self.machine.vector_bits, 8));
                    let inner =
                        if lo == 0 { self.vector(source) } else { format!("({} >> {lo})", self.vector(source)) };
                    let bytes = u64::from(lane / 8);
                    let n = u64::from(n_bits / 8);
                    // Bytes above come from a vector of zeros.
                    let total = u64::from(self.machine.vector_bits / 8);
                    let order: Vec<String> = (0..total)
                        .map(|i| match i % bytes {
                            within if within < n => (i - within + (n - 1 - within)).to_string(),
                            _ => total.to_string(),
                        })
                        .collect();
                    let b = format!("hr_v{}x8", self.machine.vector_bits);
                    self.computed.permutes();
                    let text =
                        format!("({})__builtin_shufflevector(({b}){inner}, ({b}){{0}}, {})", self.v(), order.join(","));
                    if at == 0 { text } else { format!("({text} << {at})") }
                }
                Piece::Moved { source, shift, mask: taken } => {
                    let text = match shift {
                        0 => self.vector(source),
                        1.. => format!("({} << {shift})", self.vector(source)),
                        _ => format!("({} >> {})", self.vector(source), -shift),
                    };
                    let from = mask(self.words.graph.width(source));
                    let held = if shift > 0 { (from << shift) & mask(lane) } else { from >> -shift };
                    if held & !taken == 0 { text } else { format!("({text} & {})", self.number(taken)) }
                }
            });
        }
        Ok(texts.join(" | "))
    }
}
