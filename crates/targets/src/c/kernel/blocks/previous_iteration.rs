//! Loop-carried reads at distance one, of whole blocks. Blocks that iterations read of the iteration before: in memory
//! they stand before the block of the iteration, but those before the first iteration lie in the context.

use super::{Printer, ports};
use headrace_transform::kernel::ObjectId;
use headrace_vectorize::blocks::{BYTES, Block};
use headrace_vectorize::carried_reads::read_delays;
use std::fmt::Write as _;

impl Printer<'_> {
    /// Whether blocks of the iteration before are read from memory, but for those that come before the first iteration:
    /// these are put into the first register.
    pub(super) fn behind(&self) -> bool {
        let mut whole = ports(&self.plan.body.consumes).into_iter().all(|(_, bytes)| bytes as usize == BYTES);
        for block in &self.plan.blocks {
            whole &= !matches!(block, Block::Load { first, .. } if *first < 0 && *first != -(BYTES as i64));
        }
        whole && self.bits != 256 && !self.plan.is_chained() && !self.many && self.plan.reads_before()
    }

    /// The blocks before the first iteration in registers, and which parts of the first registers come from memory.
    pub(super) fn before_first(&self) -> String {
        let bits = self.bits;
        let mut text = format!("  unsigned behind_ = {};\n", if bits == 512 { "0xfcu" } else { "0" });
        for (port, _) in ports(&self.plan.body.consumes) {
            let mut elements: Vec<(i64, ObjectId, usize)> = read_delays(self.plan.body)
                .into_iter()
                .filter(|(from, ..)| *from as usize == port)
                .map(|(_, at, one)| (at, one.object, one.index))
                .collect();
            elements.sort_unstable();
            let Some(&(_, object, first)) = elements.first() else { continue };
            let in_a_row = elements.len() == BYTES
                && elements.iter().enumerate().all(|(i, one)| *one == (i as i64, object, first + i));
            let from = if in_a_row {
                format!("&{}", self.element((object, first)))
            } else {
                let _ = writeln!(text, "  uint8_t all_before{port}_[{BYTES}] = {{0}};");
                for (at, object, index) in elements {
                    let _ = writeln!(text, "  all_before{port}_[{at}] = {};", self.element((object, index)));
                }
                format!("all_before{port}_")
            };
            let _ = writeln!(text, "  const HR_V{bits} before{port}_ = HR_ALL{bits}({from});");
        }
        text
    }

    /// Tokens of the iteration before the first one: where they stand in the pad, and the element that holds them.
    pub(super) fn delayed(&self, port: usize) -> Vec<(i64, String)> {
        let body = self.plan.body;
        let of_port = read_delays(body).into_iter().filter(|(from, ..)| *from as usize == port);
        of_port
            .map(|(_, offset, one)| {
                let object = &body.objects[one.object.0 as usize];
                (offset, self.names.names.element(object, &one.index.to_string()))
            })
            .collect()
    }
}
