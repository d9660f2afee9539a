//! Epilogue of a block loop: carried values are stored for the next call. What a call leaves for the next one.

use super::{Names, NotApplicable, Printer};
use crate::c::kernel::loop_frame::counter_ends;
use crate::c::kernel::scalar::statements;
use headrace_source::Span;
use headrace_transform::kernel::{Carry, Effect, Object, Op, TableId};
use headrace_vectorize::blocks::{BYTES, Chain};
use std::fmt::Write as _;

/// The last iteration, for what goes on to the next call.
struct LastIteration<'a> {
    names: &'a dyn Names,
}

impl Names for LastIteration<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        format!("last{port}_[{offset}]")
    }
    fn output(&self, _port: u32, _offset: u64, _value: &str) -> String {
        String::new()
    }
    fn check(&self, _condition: &str, _index: &str, _length: usize, _span: Span) -> String {
        String::new()
    }
    fn element(&self, object: &Object, index: &str) -> String {
        self.names.element(object, index)
    }
    fn table(&self, table: TableId) -> String {
        self.names.table(table)
    }
}

impl Printer<'_> {
    /// What is left for the next call.
    pub(super) fn end(&self, text: &mut String) -> Result<(), NotApplicable> {
        let (body, bits) = (self.plan.body, self.bits);
        text.push_str(&counter_ends(body, self.names.names));
        for (k, chain) in self.plan.chains.iter().enumerate() {
            let element = self.names.names.element(&body.objects[chain.object.0 as usize], &chain.first.to_string());
            let _ = writeln!(text, "  HR_STORE{bits}(&{element}, chain{k}_);");
        }
        for (k, words) in self.plan.words.iter().enumerate() {
            for (lane, place) in words.places.iter().enumerate() {
                if let Some(place) = *place {
                    let element = self.element(place);
                    let _ = writeln!(text, "  {element} = (uint32_t)_mm_extract_epi32(words{k}_, {lane});");
                }
            }
        }
        self.powers_end(text);
        for (k, delay) in self.plan.delays.iter().enumerate() {
            let element = self.names.names.element(&body.objects[delay.object.0 as usize], &delay.first.to_string());
            let _ = writeln!(text, "  {{ uint8_t all_[{}]; HR_STORE{bits}(all_, ahead{k}_);", bits / 8);
            let _ = writeln!(text, "    memcpy(&{element}, all_ + 16 * last_, 16); }}");
        }
        let delayed = |one: &&headrace_transform::kernel::Carried| {
            let own =
                |delay: &Chain| delay.object == one.object && (delay.first..delay.first + BYTES).contains(&one.index);
            self.plan.delays.iter().any(own)
        };
        let mut graph = body.graph.clone();
        let mut stores = Vec::new();
        for one in body.carried.iter().filter(|one| one.carry == Carry::Delay && !delayed(one)) {
            let index = graph.number(one.index as u128, 64);
            stores.push(Effect::Store { object: one.object, index, value: one.next });
        }
        let values = graph.reachable(stores.iter().flat_map(Effect::uses));
        if values.into_iter().any(|id| matches!(graph.op(id), Op::Instruction { .. })) {
            return Err(NotApplicable("what instructions give is left for the next call in words".into()));
        }
        if !stores.is_empty() {
            text.push_str(&statements(&graph, &body.objects, &stores, &LastIteration { names: self.names.names }, 1));
        }
        Ok(())
    }
}
