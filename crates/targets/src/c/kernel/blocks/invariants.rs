//! Loop-invariant code motion for block loops. What no iteration changes: computed once a call, in registers as far as
//! that goes.
//!
//! Keys lie in memory as the bytes of a register, or as words of which the bytes are in another order, and are loaded
//! and shuffled as such; what is computed from them with instructions stays in registers. Anything else is computed in
//! words.

use super::super::Names;
use super::super::scalar::statements;
use super::super::words::NotApplicable;
use headrace_instructions::Description;
use headrace_source::Span;
use headrace_transform::kernel::{Effect, NodeId, Object, Op, TableId};
use headrace_vectorize::blocks::{BYTES, Plan};
use headrace_vectorize::packed_loads::PackedLoad;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Text of what is computed once.
pub(super) struct Once<'a> {
    plan: &'a Plan<'a>,
    descriptions: &'a [Description],
    names: &'a dyn Names,
    /// Statements.
    pub text: String,
    /// What they need of the machine.
    pub features: BTreeSet<String>,
    known: FxHashMap<NodeId, String>,
    in_words: Vec<Effect>,
}

/// Values computed in words are written to a list.
struct Words<'a>(&'a dyn Names);

impl Names for Words<'_> {
    fn input(&self, _port: u32, _offset: i64) -> String {
        "0".to_owned()
    }
    fn output(&self, _port: u32, offset: u64, value: &str) -> String {
        format!("once_[{offset}] = {value};")
    }
    fn check(&self, _condition: &str, _index: &str, _length: usize, _span: Span) -> String {
        String::new()
    }
    fn element(&self, object: &Object, index: &str) -> String {
        self.0.element(object, index)
    }
    fn table(&self, table: TableId) -> String {
        self.0.table(table)
    }
}

impl<'a> Once<'a> {
    pub fn new(plan: &'a Plan<'a>, descriptions: &'a [Description], names: &'a dyn Names) -> Once<'a> {
        Once {
            plan,
            descriptions,
            names,
            text: String::new(),
            features: BTreeSet::new(),
            known: FxHashMap::default(),
            in_words: Vec::new(),
        }
    }

    /// The register of 128 bits that holds a value.
    pub fn register(&mut self, id: NodeId) -> String {
        if let Some(known) = self.known.get(&id) {
            return known.clone();
        }
        let value = self.value(id).unwrap_or_else(|| {
            let at = self.in_words.len();
            self.in_words.push(Effect::Output { port: 0, offset: at as u64, value: id });
            // Not through memory, where a load waits for the two stores of a pair of words.
            format!("_mm_set_epi64x((int64_t)hr_bits128(once_[{at}], 64), (int64_t)hr_bits128(once_[{at}], 0))")
        });
        let name = format!("k{}", self.known.len());
        let _ = writeln!(self.text, "  const __m128i {name} = {value};");
        self.known.insert(id, name.clone());
        name
    }

    /// The statements, those in words first.
    pub fn finish(self) -> Result<(String, BTreeSet<String>), NotApplicable> {
        let mut text = String::new();
        let graph = &self.plan.graph;
        let values = graph.reachable(self.in_words.iter().flat_map(Effect::uses));
        if values.into_iter().any(|id| matches!(graph.op(id), Op::Instruction { .. })) {
            return Err(NotApplicable("what instructions give is needed in words".into()));
        }
        if !self.in_words.is_empty() {
            let _ = writeln!(text, "  u128 once_[{}];", self.in_words.len());
            let words = Words(self.names);
            text.push_str(&statements(&self.plan.graph, &self.plan.body.objects, &self.in_words, &words, 1));
        }
        Ok((text + &self.text, self.features))
    }

    fn value(&mut self, id: NodeId) -> Option<String> {
        let graph = &self.plan.graph;
        match graph.op(id).clone() {
            Op::Const(value) => {
                let (high, low) = ((value >> 64) as u64, value as u64);
                Some(format!("_mm_set_epi64x((int64_t){high:#x}ull, (int64_t){low:#x}ull)"))
            }
            Op::Xor(a, b) => Some(format!("_mm_xor_si128({}, {})", self.register(a), self.register(b))),
            Op::And(a, b) => Some(format!("_mm_and_si128({}, {})", self.register(a), self.register(b))),
            Op::Or(a, b) => Some(format!("_mm_or_si128({}, {})", self.register(a), self.register(b))),
            Op::Instruction { description, operands } => {
                let description = self.descriptions.get(description as usize)?;
                let form = description.forms.iter().find(|form| form.bits == 128)?;
                let mut taken = Vec::new();
                for (&operand, described) in operands.iter().zip(&description.operands) {
                    taken.push(match described.immediate {
                        true => graph.constant(operand)?.to_string(),
                        false => self.register(operand),
                    });
                }
                self.features.extend(form.features.iter().cloned());
                Some(format!("{}({})", form.intrinsic, taken.join(", ")))
            }
            Op::Concat(parts) => self.elements(&parts).map(|elements| elements.loaded()),
            _ => None,
        }
    }

    /// A value in all lanes of a register of so many bits. What lies in memory is loaded there by one instruction, which
    /// need not wait for a shuffle of one lane.
    pub fn spread(&mut self, id: NodeId, bits: u32) -> String {
        let elements = match self.plan.graph.op(id) {
            Op::Concat(parts) if bits > 128 && !self.known.contains_key(&id) => self.elements(parts),
            _ => None,
        };
        match elements {
            Some(Elements { first, order: None }) => format!("HR_ALL{bits}(&{first})"),
            Some(Elements { first, order: Some(order) }) => {
                self.features.insert(if bits == 512 { "avx512bw" } else { "avx2" }.to_owned());
                format!("_mm{bits}_shuffle_epi8(HR_ALL{bits}(&{first}), HR_SPREAD{bits}(_mm_set_epi8({order})))")
            }
            None => format!("HR_SPREAD{bits}({})", self.register(id)),
        }
    }

    /// Bytes of neighbouring elements of an object.
    fn elements(&self, parts: &[NodeId]) -> Option<Elements> {
        let objects = &self.plan.body.objects;
        let PackedLoad { object, first, order } = PackedLoad::of(&self.plan.graph, objects, parts)?;
        let first = self.names.element(&objects[object.0 as usize], &first.to_string());
        let highest_first = |order: [u8; BYTES]| {
            let from: Vec<String> = order.iter().rev().map(u8::to_string).collect();
            from.join(", ")
        };
        Some(Elements { first, order: order.map(highest_first) })
    }
}

/// Sixteen bytes in memory.
struct Elements {
    /// The element that they begin with.
    first: String,
    /// Where each of them comes from, as `_mm_set_epi8` takes it; `None`: they lie in their order.
    order: Option<String>,
}

impl Elements {
    /// The expression for a register.
    fn loaded(&self) -> String {
        let load = format!("HR_LOAD128(&{})", self.first);
        match &self.order {
            None => load,
            Some(order) => format!("_mm_shuffle_epi8({load}, _mm_set_epi8({order}))"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::scalar::element_type;

    #[test]
    fn elements_of_whole_bytes_have_no_gaps() {
        for (width, name) in [(8, "uint8_t"), (16, "uint16_t"), (32, "uint32_t"), (64, "uint64_t")] {
            assert_eq!(element_type(width), name);
        }
    }
}
