//! Gathers from tables. Elements of tables for all lanes at once.

use super::super::scalar::element_type;
use super::super::words::NotApplicable;
use super::Printer;
use headrace_boolean::byte_permute::AffineByte;
use headrace_machines::cost_model::Elements;
use headrace_transform::kernel::{NodeId, ObjectId, Op, TableId};
use headrace_transform::passes::tabulate::affine_of;

/// Bytes of a table of 256 in the places of a mask, at the indices that the bytes of a vector are.
const CHOOSE: &str = "\
#ifndef HR_CHOOSE_512
#define HR_QUARTER_512(t, n) _mm512_loadu_si512((const uint8_t *)(t) + 64 * (n))
#define HR_CHOOSE_512(mask, t, i) _mm512_mask_blend_epi8(_mm512_movepi8_mask(i), \\
  _mm512_maskz_permutex2var_epi8(mask, HR_QUARTER_512(t, 0), i, HR_QUARTER_512(t, 1)), \\
  _mm512_permutex2var_epi8(HR_QUARTER_512(t, 2), i, HR_QUARTER_512(t, 3)))
#endif
";

impl Printer<'_> {
    /// How a node finds an element for each lane; `None` of one that reads no table.
    pub(super) fn way_of_elements(&self, id: NodeId) -> Option<Elements> {
        let graph = &self.words.graph;
        let (table, length) = match graph.op(id) {
            Op::Lookup(table, _) | Op::LookupBytes(table, _) if self.affine(*table).is_some() => {
                return Some(Elements::Mapped);
            }
            Op::Lookup(table, _) | Op::LookupBytes(table, _) => (Some(*table), graph.table(*table).elements.len()),
            Op::Entry { object, .. } => (None, self.words.body.objects[object.0 as usize].length),
            _ => return None,
        };
        let width = table.map_or(graph.width(id), |table| graph.table(table).width);
        if self.is_permuted(length, width) {
            return Some(Elements::Permuted);
        }
        if self.is_shuffled(length, width) {
            return Some(self.way_of_shuffles(table, length));
        }
        let lanes = self.machine.vector_bits / self.lane();
        Some(match table.map(|table| element_type(graph.table(table).width)) {
            Some(kind) if !(self.machine.gather && kind == format!("uint{}_t", self.lane())) => {
                Elements::Alone { lanes }
            }
            _ => Elements::Gathered { lanes },
        })
    }

    /// Elements of an array at places that differ from lane to lane.
    pub(super) fn elements(
        &mut self,
        element: &dyn Fn(&str) -> String,
        array: &str,
        length: usize,
        width: u32,
        (table, index): (Option<TableId>, NodeId),
    ) -> Result<String, NotApplicable> {
        let (bits, lane) = (self.machine.vector_bits, self.lane());
        let v = self.v();
        if self.words.graph.width(index) > lane {
            return Err(NotApplicable("an index is wider than a lane".into()));
        }
        let at = self.vector(index);
        let stored = element_type(width);
        let gathers = self.machine.gather && stored == format!("uint{lane}_t") && matches!(lane, 32 | 64);
        if gathers && length < 1 << 30 {
            let (kind, raw) = (self.raw_type(), if lane == 64 { "long long" } else { "int" });
            self.support("#include <immintrin.h>\n");
            return Ok(match bits {
                512 => {
                    format!("({v})_mm512_i{lane}gather_epi{lane}(({kind}){at}, (const void *)({array}), {})", lane / 8)
                }
                _ => format!(
                    "({v})_mm{bits}_i{lane}gather_epi{lane}((const {raw} *)({array}), ({kind}){at}, {})",
                    lane / 8
                ),
            });
        }
        if self.is_permuted(length, width) {
            self.support("#include <immintrin.h>\n");
            let quarter = |n: usize| match length.saturating_sub(64 * n) {
                0 => "_mm512_setzero_si512()".to_owned(),
                64.. => format!("_mm512_loadu_si512((const uint8_t *)({array}) + {})", 64 * n),
                rest => {
                    let there = (1_u64 << rest) - 1;
                    format!("_mm512_maskz_loadu_epi8({there:#x}ull, (const uint8_t *)({array}) + {})", 64 * n)
                }
            };
            let lowest = format!("{:#x}ull", (0..64).step_by(lane as usize / 8).fold(0_u64, |all, at| all | 1 << at));
            let name = self.computed.index("__m512i", &format!("(__m512i){at}"), &at);
            if length <= 64 {
                return Ok(format!("({v})_mm512_maskz_permutexvar_epi8({lowest}, {name}, {})", quarter(0)));
            }
            let low = format!("_mm512_maskz_permutex2var_epi8({lowest}, {}, {name}, {})", quarter(0), quarter(1));
            if length <= 128 {
                return Ok(format!("({v}){low}"));
            }
            if length == 256 {
                self.support(CHOOSE);
                return Ok(format!("({v})HR_CHOOSE_512({lowest}, {array}, {name})"));
            }
            let high = format!("_mm512_permutex2var_epi8({}, {name}, {})", quarter(2), quarter(3));
            return Ok(format!("({v})_mm512_mask_blend_epi8(_mm512_movepi8_mask({name}), {low}, {high})"));
        }
        if self.is_shuffled(length, width) {
            return Ok(self.shuffled(table, array, length, &at));
        }
        let one = element(&format!("{at}[i]"));
        Ok(self.computed.filled(&v, |name| {
            format!("for (unsigned i = 0; i < {}; i++) {name}[i] = (uint{lane}_t){one};", bits / lane)
        }))
    }

    /// Elements of an object.
    pub(super) fn entry(&mut self, object: ObjectId, index: NodeId) -> Result<String, NotApplicable> {
        let kept = &self.words.body.objects[object.0 as usize];
        let first = self.names.names.element(kept, "0");
        let element = |i: &str| self.names.names.element(kept, i);
        self.elements(&element, &format!("&{first}"), kept.length, kept.width, (None, index))
    }

    /// Elements of a table of 256 bytes at every byte of a vector.
    pub(super) fn elements_of_bytes(&mut self, table: TableId, word: NodeId) -> String {
        if self.affine(table).is_some() {
            return self.mapped(table, word).0;
        }
        let (array, at, v) = (self.names.names.table(table), self.vector(word), self.v());
        if self.machine.vector_bits != 512 {
            return self.shuffled_bytes(Some(table), &array, self.words.graph.table(table).elements.len(), &at);
        }
        self.support("#include <immintrin.h>\n");
        self.support(CHOOSE);
        let name = self.computed.index("__m512i", &format!("(__m512i){at}"), &at);
        format!("({v})HR_CHOOSE_512(~0ull, {array}, {name})")
    }

    /// The affine map that a table is of every byte of a vector, and its constant, which bytes that are zero become.
    pub(super) fn mapped(&mut self, table: TableId, index: NodeId) -> (String, u8) {
        let AffineByte { matrix, constant } = self.affine(table).unwrap_or(AffineByte::IDENTITY);
        self.support("#include <immintrin.h>\n");
        let (x, of_bits) = (self.vector(index), format!("_mm512_set1_epi64((long long){matrix:#018x}ull)"));
        (format!("({})_mm512_gf2p8affine_epi64_epi8((__m512i){x}, {of_bits}, {constant})", self.v()), constant)
    }

    /// The affine map that a table is, where there is an instruction for it.
    pub(super) fn affine(&self, table: TableId) -> Option<AffineByte> {
        let has_it = self.machine.affine && self.machine.vector_bits == 512;
        has_it.then(|| affine_of(self.words.graph.table(table)))?
    }

    /// Whether elements of a table are chosen by permutations of bytes.
    pub(super) fn is_permuted(&self, length: usize, width: u32) -> bool {
        self.machine.byte_permute && self.machine.vector_bits == 512 && length <= 256 && width <= 8
    }
}
