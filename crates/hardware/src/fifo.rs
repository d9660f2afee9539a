//! FIFOs: a memory of tokens as a ring, with valid and ready at both ends.
//!
//! Both depend on registers alone, so no path leads through a FIFO within a cycle, and a token takes one cycle through it. One that is
//! direct lets tokens through while it is empty: they take no cycle, and whether there is room still depends on registers alone.
//! One or two tokens lie in registers, which take less logic than a memory.

use headrace_rtl::{Bits, Expr, Memory, MemoryRead, MemoryWrite, Module, SignalId, SignalKind, index_bits};

/// The name of the module for tokens of a width and a capacity.
pub(crate) fn name(width: u32, depth: u64, is_direct: bool) -> String {
    format!("headrace_{}fifo_{width}x{depth}", if is_direct { "direct_" } else { "" })
}

/// The module: the capacity is a power of two.
pub(crate) fn module(width: u32, depth: u64, is_direct: bool) -> Module {
    let mut m = Module::new(name(width, depth, is_direct));
    let (when, latency) = if is_direct { ("this", 0) } else { ("the next", 1) };
    m.about.push(format!(
        "A FIFO of {depth} tokens of {width} bits. A token that goes in can come out in {when} cycle: latency {latency}, initiation \
         interval 1."
    ));
    if depth <= 2 {
        in_registers(&mut m, width, depth, is_direct);
        return m;
    }
    let pointer = index_bits(depth);
    let [push_data, push_valid, push_ready, pop_data, pop_valid, pop_ready] = ports(&mut m, width);
    let push = m.add("push", 1, SignalKind::Wire);
    let pop = m.add("pop", 1, SignalKind::Wire);
    let (head, head_next) = m.add_register("head", Bits::zero(pointer));
    let (tail, tail_next) = m.add_register("tail", Bits::zero(pointer));
    let (count, count_next) = m.add_register("count", Bits::zero(pointer + 1));
    let get = |m: &Module, id| m.get(id);
    let full = get(&m, count).is(depth);
    let empty = get(&m, count).is(0);
    m.assign(push_ready, full.inverted());
    let come = get(&m, push_valid).and(get(&m, push_ready));
    let gone = get(&m, pop_valid).and(get(&m, pop_ready));
    let first = if is_direct {
        // What goes by is neither pushed nor popped.
        let first = m.add("first", width, SignalKind::Wire);
        m.assign(pop_valid, empty.clone().inverted().or(get(&m, push_valid)));
        m.assign(pop_data, Expr::select(empty.clone(), get(&m, push_data), get(&m, first)));
        m.assign(push, come.and(empty.clone().and(gone.clone()).inverted()));
        m.assign(pop, gone.and(empty.inverted()));
        first
    } else {
        m.assign(pop_valid, empty.inverted());
        m.assign(push, come);
        m.assign(pop, gone);
        pop_data
    };
    let value = get(&m, head).plus(get(&m, pop).resized(false, pointer));
    m.assign(head_next, value);
    let value = get(&m, tail).plus(get(&m, push).resized(false, pointer));
    m.assign(tail_next, value);
    let wide = |bit: Expr| bit.resized(false, pointer + 1);
    let value = get(&m, count).plus(wide(get(&m, push))).minus(wide(get(&m, pop)));
    m.assign(count_next, value);
    m.memories.push(Memory {
        name: "tokens".into(),
        width,
        depth: depth as u32,
        reads: vec![MemoryRead { address: head, data: first }],
        writes: vec![MemoryWrite { enable: push, address: tail, data: push_data }],
        about: String::new(),
    });
    m
}

/// Data, valid and ready of tokens that go in, then of those that come out.
fn ports(m: &mut Module, width: u32) -> [SignalId; 6] {
    [
        m.add("data_i", width, SignalKind::Input),
        m.add("valid_i", 1, SignalKind::Input),
        m.add("ready_o", 1, SignalKind::Output),
        m.add("data_o", width, SignalKind::Output),
        m.add("valid_o", 1, SignalKind::Output),
        m.add("ready_i", 1, SignalKind::Input),
    ]
}

/// What is in the module of one or two tokens: the first that comes out lies in front.
fn in_registers(m: &mut Module, width: u32, depth: u64, is_direct: bool) {
    let [push_data, push_valid, push_ready, pop_data, pop_valid, pop_ready] = ports(m, width);
    let bits = index_bits(depth + 1);
    let (count, count_next) = m.add_register("count", Bits::zero(bits));
    let (first, first_next) = m.add_register("first", Bits::zero(width));
    let empty = m.get(count).is(0);
    m.assign(push_ready, m.get(count).is(depth).inverted());
    let (data, valid) = (m.get(push_data), m.get(push_valid));
    let shown = if is_direct {
        (empty.clone().inverted().or(valid.clone()), Expr::select(empty.clone(), data.clone(), m.get(first)))
    } else {
        (empty.clone().inverted(), m.get(first))
    };
    m.assign(pop_valid, shown.0);
    m.assign(pop_data, shown.1);
    let push = m.add("push", 1, SignalKind::Wire);
    let pop = m.add("pop", 1, SignalKind::Wire);
    m.assign(push, valid.and(m.get(push_ready)));
    m.assign(pop, m.get(pop_valid).and(m.get(pop_ready)));
    let wide = |bit: Expr| bit.resized(false, bits);
    let value = m.get(count).plus(wide(m.get(push))).minus(wide(m.get(pop)));
    m.assign(count_next, value);
    // What is kept while there is nothing is never looked at.
    let (moves, next) = if depth == 1 {
        (m.get(push), data)
    } else {
        let (second, second_next) = m.add_register("second", Bits::zero(width));
        let kept = Expr::select(m.get(push), data.clone(), m.get(second));
        m.assign(second_next, kept);
        (m.get(pop).or(empty), Expr::select(m.get(count).is(2), m.get(second), data))
    };
    let value = Expr::select(moves, next, m.get(first));
    m.assign(first_next, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_rtl::{Design, simulate::Simulator};

    #[test]
    fn tokens_come_out_as_they_went_in() {
        for depth in [1, 2, 4] {
            keeps_order(depth, false);
            keeps_order(depth, true);
        }
    }

    fn keeps_order(depth: u64, is_direct: bool) {
        let design = Design { modules: vec![module(8, depth, is_direct)] };
        let mut fifo = Simulator::new(&design).expect("is right");
        let mut wanted = std::collections::VecDeque::new();
        let mut random = 12345u32;
        for step in 0..1000u32 {
            random = random.wrapping_mul(1_103_515_245).wrapping_add(12345);
            let (valid, ready) = (random >> 16 & 1, random >> 17 & 1);
            fifo.set("valid_i", Bits::new(1, valid));
            fifo.set("ready_i", Bits::new(1, ready));
            fifo.set("data_i", Bits::new(8, step));
            fifo.settle();
            let bit = |name: &str| fifo.get(name).is_some_and(|bit| !bit.is_zero());
            assert_eq!(bit("ready_o"), wanted.len() < depth as usize);
            let (push, pop) = (valid == 1 && bit("ready_o"), ready == 1 && bit("valid_o"));
            if push && is_direct {
                wanted.push_back(step);
            }
            assert_eq!(bit("valid_o"), !wanted.is_empty());
            if let Some(&first) = wanted.front() {
                assert_eq!(fifo.get("data_o"), Some(&Bits::new(8, first)));
            }
            if pop {
                wanted.pop_front();
            }
            if push && !is_direct {
                wanted.push_back(step);
            }
            fifo.clock();
        }
    }
}
