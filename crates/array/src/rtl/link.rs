//! A link with its FIFO, in which a word takes as long as the simulator says: credits at one end, delayed pulses at the other.
//!
//! A word that is put in a cycle can be taken `latency` cycles after the next one begins, and a word that is taken makes room
//! from the next cycle on. The word itself lies in the memory at once; that it is there is told as many cycles later.

use headrace_rtl::{Bits, Expr, Memory, MemoryRead, MemoryWrite, Module, SignalKind, index_bits};

/// The name of the module of links of a kind.
pub fn name(bits: u32, depth: u64, latency: u64) -> String {
    format!("array_link_{bits}x{depth}_{latency}")
}

/// A link of words of so many bits, whose FIFO holds `depth` of them, in so many cycles.
pub fn module(bits: u32, depth: u64, latency: u64) -> Module {
    let mut m = Module::new(name(bits, depth, latency));
    m.about.push(format!(
        "A link with a FIFO of {depth} words of {bits} bits: a word that is put in a cycle can be taken {} cycles later.",
        latency + 1
    ));
    let places = depth.next_power_of_two().max(2);
    let (pointer, counter) = (index_bits(places), index_bits(depth + 1));
    let data = m.add("data_i", bits, SignalKind::Input);
    let put = m.add("put_i", 1, SignalKind::Input);
    let room = m.add("room_o", 1, SignalKind::Output);
    let first = m.add("data_o", bits, SignalKind::Output);
    let valid = m.add("valid_o", 1, SignalKind::Output);
    let take = m.add("take_i", 1, SignalKind::Input);
    let (head, head_next) = m.add_register("head", Bits::zero(pointer));
    let (tail, tail_next) = m.add_register("tail", Bits::zero(pointer));
    // Words for which there is no room any more, and words that can be taken.
    let (held, held_next) = m.add_register("held", Bits::zero(counter));
    let (there, there_next) = m.add_register("there", Bits::zero(counter));
    // The pulse of a word on its way.
    let mut pulse = m.get(put);
    for at in 0..latency {
        let (stage, next) = m.add_register(&format!("way{at}"), Bits::zero(1));
        m.assign(next, pulse);
        pulse = m.get(stage);
    }
    let full = Expr::compare(headrace_rtl::CompareOp::Equal, m.get(held), Expr::number(counter, depth));
    m.assign(room, full.inverted());
    let some = m.get(there).is(0).inverted();
    m.assign(valid, some);
    let step = |m: &Module, id, by: Expr, width| m.get(id).plus(by.resized(false, width));
    let value = step(&m, head, m.get(take), pointer);
    m.assign(head_next, value);
    let value = step(&m, tail, m.get(put), pointer);
    m.assign(tail_next, value);
    let less = m.get(take).resized(false, counter);
    let value = step(&m, held, m.get(put), counter).minus(less.clone());
    m.assign(held_next, value);
    let value = step(&m, there, pulse, counter).minus(less);
    m.assign(there_next, value);
    m.memories.push(Memory {
        name: "words".into(),
        width: bits,
        depth: places as u32,
        reads: vec![MemoryRead { address: head, data: first }],
        writes: vec![MemoryWrite { enable: put, address: tail, data }],
        about: String::new(),
    });
    m
}
