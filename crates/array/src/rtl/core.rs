//! A soft core: one of the array's processors, with its program and what its memory holds at the beginning.
//!
//! Fetch, decoding and execution are one clock cycle. An instruction waits for the cycles that it takes before it does anything (its
//! NOPs, the setup of loops), then for its words and for room, as in the simulator: what it does and when is the same, cycle for cycle.
//! Results are there at once; the code generator has put in the NOPs that a pipeline needs.

use super::encode::{CONTROL, Encoded, kind};
use crate::isa::{Code, Opcode};
use headrace_rtl::{
    BinaryOp, Bits, CompareOp, Expr, Memory, MemoryRead, MemoryWrite, Module, ShiftOp, SignalId, SignalKind, Table,
    TableId, index_bits,
};

/// A module while it is written.
struct Writer {
    m: Module,
    encoded: Encoded,
    bits: u32,
}

impl Writer {
    /// A wire that is a value.
    fn wire(&mut self, name: &str, value: Expr) -> Expr {
        let id = self.m.add(name, value.width, SignalKind::Wire);
        self.m.assign(id, value);
        self.m.get(id)
    }

    /// A table of numbers with at least two indices, and how to look them up.
    fn table(&mut self, name: &str, width: u32, values: impl IntoIterator<Item = u64>) -> (TableId, u32, u32) {
        let values: Vec<Bits> = values.into_iter().map(|value| Bits::new(width, value)).collect();
        let values = if values.is_empty() { vec![Bits::zero(width)] } else { values };
        let index_width = index_bits(values.len() as u64).max(1);
        self.m.tables.push(Table { name: name.into(), index_width, width, values });
        (TableId(self.m.tables.len() as u32 - 1), index_width, width)
    }
}

fn look(table: (TableId, u32, u32), index: Expr) -> Expr {
    Expr::lookup(table.0, index.resized(false, table.1), table.2)
}

/// Any of several bits.
fn any(all: impl IntoIterator<Item = Expr>) -> Expr {
    all.into_iter().fold(Expr::bit(false), Expr::or)
}

/// All of several bits.
fn all(all: impl IntoIterator<Item = Expr>) -> Expr {
    all.into_iter().fold(Expr::bit(true), Expr::and)
}

/// What a field of an instruction says.
struct Field {
    value: Expr,
    is_memory: Expr,
    is_listed: Expr,
    number: Expr,
    kinds: [Expr; 4],
}

/// The module of a processor. It is loaded while `load_i` is set, word after word, and runs while `run_i` is.
///
/// # Errors
///
/// Its program has no place in the format of instructions, or an instruction takes no time.
pub fn module(name: &str, about: &str, code: &Code, data_words: u32) -> Result<Module, String> {
    if code.inputs.len() > 8 {
        return Err("it has more than 8 input ports".into());
    }
    let (repeat, generate, jump) = code.setup;
    if repeat == 0 || generate == 0 || jump == 0 {
        return Err("hardware loops, generators and jumps that take no cycle have no place in a clocked design".into());
    }
    let encoded = Encoded::of(code, data_words)?;
    let (a_bits, bits, n_links) = (encoded.address_bits, code.bits, encoded.n_links);
    let most = encoded.literals.iter().copied().max().unwrap_or(0);
    let literal_bits = index_bits(most.saturating_add(1)).max(bits).max(a_bits + 1).min(64);
    let pc_bits = index_bits(encoded.words.len() as u64 + 1).max(1);
    let mut w = Writer { m: Module::new(name), encoded, bits };
    w.m.about.push(about.to_owned());
    let program = w.table("program_memory", w.encoded.width, w.encoded.words.clone());
    let literals = w.table("literals", literal_bits, w.encoded.literals.clone());
    let links = w.table("links", n_links as u32 + 1, w.encoded.links.clone());
    let nops = w.table("nops", 8, w.encoded.modifiers.iter().map(|it| u64::from(it.0)).collect::<Vec<_>>());
    let flags = |it: &(u8, Option<u8>, Option<(u8, bool)>)| {
        let sets = it.1.map_or(0, |flag| 2 | u64::from(flag & 1));
        sets << 3 | it.2.map_or(0, |(flag, is_set)| 4 | u64::from(flag & 1) << 1 | u64::from(is_set))
    };
    let flags = w.table("conditions", 5, w.encoded.modifiers.iter().map(flags).collect::<Vec<_>>());
    let mut memory = code.memory.clone();
    memory.resize(1 << a_bits, 0);
    while memory.len() > 1 && memory.last() == Some(&0) {
        memory.pop();
    }
    let contents = w.table("contents", bits, memory);
    let load = w.m.add("load_i", 1, SignalKind::Input);
    let load_at = w.m.add("load_at_i", a_bits, SignalKind::Input);
    let run = w.m.add("run_i", 1, SignalKind::Input);
    let mut ins = Vec::new();
    for port in 0..code.inputs.len() {
        let data = w.m.add(format!("in{port}_data_i"), bits, SignalKind::Input);
        let valid = w.m.add(format!("in{port}_valid_i"), 1, SignalKind::Input);
        let take = w.m.add(format!("in{port}_take_o"), 1, SignalKind::Output);
        ins.push((data, valid, take));
    }
    let data_out = w.m.add("data_o", bits, SignalKind::Output);
    let mut outs = Vec::new();
    for link in 0..n_links {
        let put = w.m.add(format!("out{link}_put_o"), 1, SignalKind::Output);
        let room = w.m.add(format!("out{link}_room_i"), 1, SignalKind::Input);
        outs.push((put, room));
    }
    let outside = (!code.leaves.is_empty()).then(|| {
        let leave = w.m.add("leave_o", 1, SignalKind::Output);
        let at = w.m.add("leave_at_o", leaf_bits(code), SignalKind::Output);
        (leave, at, w.m.add("leave_room_i", 1, SignalKind::Input))
    });
    // State.
    let (pc, pc_next) = w.m.add_register("pc", Bits::zero(pc_bits));
    let (waited, waited_next) = w.m.add_register("waited", Bits::zero(9));
    let (carry, carry_next) = w.m.add_register("carry", Bits::zero(1));
    let (bypass, bypass_next) = w.m.add_register("bypass", Bits::zero(bits));
    let flag: Vec<(SignalId, SignalId)> =
        (0..2).map(|at| w.m.add_register(&format!("flag{at}"), Bits::zero(1))).collect();
    let (looping, looping_next) = w.m.add_register("looping", Bits::zero(1));
    let (begin, begin_next) = w.m.add_register("loop_begin", Bits::zero(pc_bits));
    let (end, end_next) = w.m.add_register("loop_end", Bits::zero(pc_bits));
    let (left, left_next) = w.m.add_register("loop_left", Bits::zero(literal_bits));
    let numbers = |which: u64| -> Vec<u64> {
        let field = a_bits + 1;
        let fields = w.encoded.words.iter().flat_map(|word| [4, 4 + field, 4 + 2 * field].map(|at| word >> at));
        let marked = fields.map(|it| it & ((1 << field) - 1)).filter(|it| it >> (a_bits - 1) == 3);
        let mut all: Vec<u64> = marked.filter(|it| it >> 4 & 3 == which).map(|it| it & 15).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    let (pointer_numbers, generator_numbers) = (numbers(kind::POINTER), numbers(kind::GENERATOR));
    let registers = |w: &mut Writer, what: &str, numbers: &[u64], width: u32| -> Vec<(u64, SignalId, SignalId)> {
        let mut one = |&number: &u64| {
            let (register, next) = w.m.add_register(&format!("{what}{number}"), Bits::zero(width));
            (number, register, next)
        };
        numbers.iter().map(&mut one).collect()
    };
    let pointers = registers(&mut w, "pointer", &pointer_numbers, bits);
    let generators = registers(&mut w, "generator", &generator_numbers, a_bits);
    // Fetch and decoding.
    let word = look(program, w.m.get(pc));
    let word = w.wire("instruction", word);
    let field = a_bits + 1;
    let operation = word.clone().slice(4 + 3 * field, 4);
    let modifier = word.clone().slice(0, 4);
    let decoded = |w: &mut Writer, name: &str, low: u32| -> Field {
        let value = w.wire(name, word.clone().slice(low, field));
        let marked = value.clone().slice(a_bits, 1);
        let other = value.clone().slice(a_bits - 1, 1);
        let is_other = marked.clone().and(other.clone());
        let kinds = [0, 1, 2, 3].map(|kind| is_other.clone().and(value.clone().slice(4, 2).is(kind)));
        Field {
            is_memory: marked.clone().inverted(),
            is_listed: marked.and(other.inverted()),
            number: value.clone().slice(0, 4),
            kinds,
            value,
        }
    };
    let to = decoded(&mut w, "field_to", 4 + 2 * field);
    let a = decoded(&mut w, "field_a", 4 + field);
    let b = decoded(&mut w, "field_b", 4);
    let is_control = w.wire("is_control", operation.clone().is(CONTROL));
    let [is_repeat, is_generate, is_jump] = [kind::POINTER, kind::GENERATOR, kind::BYPASS]
        .map(|kind| is_control.clone().and(to.kinds[kind as usize].clone()));
    // When it goes.
    let setup =
        |on: &Expr, cycles: u32| Expr::select(on.clone(), Expr::number(9, u64::from(cycles - 1)), Expr::number(9, 0));
    let before = look(nops, modifier.clone()).resized(false, 9);
    let before = before.plus(setup(&is_repeat, repeat)).plus(setup(&is_generate, generate)).plus(setup(&is_jump, jump));
    let before = w.wire("cycles_before", before);
    let has_waited = Expr::compare(CompareOp::Equal, w.m.get(waited), before);
    let condition = w.wire("condition", look(flags, modifier));
    let bit = |at: u32| condition.clone().slice(at, 1);
    let [flag0, flag1] = [w.m.get(flag[0].0), w.m.get(flag[1].0)];
    let chosen = Expr::select(bit(1), flag1, flag0);
    let holds = w.wire("holds", bit(2).inverted().or(Expr::compare(CompareOp::Equal, chosen, bit(0))));
    let port = |field: &Field, at: usize| {
        field.kinds[kind::INPUT as usize].clone().and(field.number.clone().slice(0, 3).is(at as u64))
    };
    let words = all(ins
        .iter()
        .enumerate()
        .map(|(at, (_, valid, _))| port(&a, at).or(port(&b, at)).inverted().or(w.m.get(*valid))));
    let set = look(links, to.value.clone().slice(0, a_bits - 1).resized(false, links.1));
    let set = w.wire("link_set", Expr::select(to.is_listed.clone(), set, Expr::number(n_links as u32 + 1, 0)));
    let mut rooms: Vec<Expr> = outs
        .iter()
        .enumerate()
        .map(|(at, (_, room))| set.clone().slice(at as u32, 1).inverted().or(w.m.get(*room)))
        .collect();
    if let Some((_, _, room)) = outside {
        rooms.push(set.clone().slice(n_links as u32, 1).inverted().or(w.m.get(room)));
    }
    let can = w.wire("can", is_control.clone().or(holds.clone().inverted()).or(words.and(all(rooms))));
    let goes = w.m.get(run).and(has_waited.clone()).and(can);
    let goes = w.wire("goes", goes);
    let executes = goes.clone().and(is_control.clone().inverted()).and(holds.clone());
    let executes = w.wire("executes", executes);
    let waits = w.m.get(run).and(has_waited.inverted());
    let value = Expr::select(goes.clone(), Expr::number(9, 0), w.m.get(waited).plus(waits.resized(false, 9)));
    w.m.assign(waited_next, value);
    // Operands. Where both name one generator, the second is a word further.
    let mut operands = Vec::new();
    let mut reads = Vec::new();
    for (name, it, first) in [("a", &a, None), ("b", &b, Some(&a))] {
        let mut address = it.value.clone().slice(0, a_bits);
        for (number, pointer, _) in &pointers {
            let own = it.kinds[kind::POINTER as usize].clone().and(it.number.clone().is(*number));
            address = Expr::select(own, w.m.get(*pointer).resized(false, a_bits), address);
        }
        for (number, generator, _) in &generators {
            let of = |it: &Field| it.kinds[kind::GENERATOR as usize].clone().and(it.number.clone().is(*number));
            let further = first.map_or(Expr::bit(false), of).resized(false, a_bits);
            address = Expr::select(of(it), w.m.get(*generator).plus(further), address);
        }
        let at = w.m.add(format!("address_{name}"), a_bits, SignalKind::Wire);
        w.m.assign(at, address);
        let data = w.m.add(format!("memory_{name}"), bits, SignalKind::Wire);
        reads.push(MemoryRead { address: at, data });
        let literal = look(literals, it.value.clone().slice(0, a_bits - 1));
        let literal = w.wire(&format!("literal_{name}"), literal);
        let mut value = Expr::select(it.is_listed.clone(), literal.clone().slice(0, bits), w.m.get(data));
        for (at, (data, ..)) in ins.iter().enumerate() {
            value = Expr::select(port(it, at), w.m.get(*data), value);
        }
        let value = Expr::select(it.kinds[kind::BYPASS as usize].clone(), w.m.get(bypass), value);
        operands.push((w.wire(&format!("operand_{name}"), value), literal));
    }
    let [(x, number), (y, length)] = [operands[0].clone(), operands[1].clone()];
    for (at, (_, _, take)) in ins.iter().enumerate() {
        let taken = |it: &Field| port(it, at).and(it.number.clone().slice(3, 1).inverted());
        let value = executes.clone().and(taken(&a).or(taken(&b)));
        w.m.assign(*take, value);
    }
    // The result.
    let (result, carries) = w.result(&operation, &x, &y, carry);
    let result = w.wire("result", result);
    let is = |op: Opcode| operation.clone().is(number_of(op));
    let changes_carry = any([Opcode::Add, Opcode::Addc, Opcode::Sub, Opcode::Subb].map(is));
    let value = Expr::select(executes.clone().and(changes_carry), carries, w.m.get(carry));
    w.m.assign(carry_next, value);
    let value = Expr::select(executes.clone(), result.clone(), w.m.get(bypass));
    w.m.assign(bypass_next, value);
    for (at, (register, next)) in flag.iter().enumerate() {
        let sets = executes.clone().and(bit(4)).and(bit(3).is(at as u64));
        let value = Expr::select(sets, result.clone().is(0).inverted(), w.m.get(*register));
        w.m.assign(*next, value);
    }
    w.m.assign(data_out, result.clone());
    for (at, (put, _)) in outs.iter().enumerate() {
        w.m.assign(*put, executes.clone().and(set.clone().slice(at as u32, 1)));
    }
    if let Some((leave, at, _)) = outside {
        let leaves = executes.clone().and(set.slice(n_links as u32, 1));
        w.m.assign(leave, leaves.clone());
        let width = leaf_bits(code);
        let (position, next) = w.m.add_register("leaf", Bits::zero(width));
        let value = w.m.get(position);
        w.m.assign(at, value.clone());
        let is_last = value.clone().is(code.leaves.len() as u64 - 1);
        let further = Expr::select(is_last, Expr::number(width, 0), value.clone().plus(Expr::number(width, 1)));
        w.m.assign(next, Expr::select(leaves, further, value));
    }
    for (number, register, next) in &pointers {
        let own = executes.clone().and(to.kinds[kind::POINTER as usize].clone()).and(to.number.clone().is(*number));
        let value = Expr::select(own, result.clone(), w.m.get(*register));
        w.m.assign(*next, value);
    }
    let mut write_at = to.value.clone().slice(0, a_bits);
    for (which, register, next) in &generators {
        let of = |it: &Field| it.kinds[kind::GENERATOR as usize].clone().and(it.number.clone().is(*which));
        let used = [&a, &b].map(|it| of(it).resized(false, a_bits)).into_iter().fold(w.m.get(*register), Expr::plus);
        let used = w.wire(&format!("generator{which}_used"), used);
        write_at = Expr::select(of(&to), used.clone(), write_at);
        let after = used.plus(of(&to).resized(false, a_bits));
        let value = Expr::select(executes.clone(), after, w.m.get(*register));
        let set = goes.clone().and(is_generate.clone()).and(to.number.clone().is(*which));
        let value = Expr::select(set, number.clone().slice(0, a_bits), value);
        w.m.assign(*next, value);
    }
    // Data memory.
    let loading = w.m.get(load);
    let writes = to.is_memory.clone().or(to.kinds[kind::GENERATOR as usize].clone());
    let enable = w.m.add("write", 1, SignalKind::Wire);
    w.m.assign(enable, loading.clone().or(executes.clone().and(writes)));
    let address = w.m.add("write_at", a_bits, SignalKind::Wire);
    let value = Expr::select(loading.clone(), w.m.get(load_at), write_at);
    w.m.assign(address, value);
    let stored = w.m.add("write_data", bits, SignalKind::Wire);
    let initial = look_within(contents, w.m.get(load_at), &w.m);
    w.m.assign(stored, Expr::select(loading, initial, result));
    w.m.memories.push(Memory {
        name: "data".into(),
        width: bits,
        depth: 1 << a_bits,
        reads,
        writes: vec![MemoryWrite { enable, address, data: stored }],
        about: "data memory".into(),
    });
    // Where it goes on.
    let one = |width| Expr::number(width, 1);
    let following = w.m.get(pc).plus(one(pc_bits));
    let target = number.clone().resized(false, pc_bits.max(literal_bits)).slice(0, pc_bits);
    let jumps = is_jump.clone().and(holds);
    let next = w.wire("next_pc", Expr::select(jumps, target, following.clone()));
    let at_end = w.m.get(looping).and(Expr::compare(CompareOp::Equal, next.clone(), w.m.get(end)));
    let at_end = w.wire("at_loop_end", at_end.and(is_repeat.clone().inverted()));
    let again = at_end.clone().and(w.m.get(left).is(0).inverted());
    let again = w.wire("again", again);
    let value = Expr::select(again.clone(), w.m.get(begin), next);
    let value = Expr::select(goes.clone(), value, w.m.get(pc));
    w.m.assign(pc_next, value);
    let begins = w.wire("begins_loop", goes.clone().and(is_repeat));
    let ends = goes.clone().and(at_end).and(again.clone().inverted());
    let value = begins.clone().or(w.m.get(looping).and(ends.inverted()));
    w.m.assign(looping_next, value);
    let value = Expr::select(begins.clone(), following.clone(), w.m.get(begin));
    w.m.assign(begin_next, value);
    let behind = following.plus(length.resized(false, pc_bits.max(literal_bits)).slice(0, pc_bits));
    let value = Expr::select(begins.clone(), behind, w.m.get(end));
    w.m.assign(end_next, value);
    let less = w.m.get(left).minus(goes.and(again).resized(false, literal_bits));
    let value = Expr::select(begins, number, less);
    w.m.assign(left_next, value);
    headrace_rtl::drop_unread(&mut w.m);
    Ok(w.m)
}

/// A look-up where what is beyond the end is zero, with an index of any width.
fn look_within(table: (TableId, u32, u32), index: Expr, m: &Module) -> Expr {
    let n = m.tables[table.0.index()].values.len() as u64;
    let inside = match index.width {
        width if n >= 1 << width => Expr::bit(true),
        width => Expr::compare(CompareOp::Less, index.clone(), Expr::number(width, n)),
    };
    let own = if index.width > table.1 { index.slice(0, table.1) } else { index.resized(false, table.1) };
    Expr::select(inside, Expr::lookup(table.0, own, table.2), Expr::number(table.2, 0))
}

/// Bits of the number of a word that leaves.
pub fn leaf_bits(code: &Code) -> u32 {
    index_bits(code.leaves.len() as u64).max(1)
}

fn number_of(op: Opcode) -> u64 {
    Opcode::ALL.iter().position(|(known, _)| *known == op).unwrap_or(0) as u64
}

impl Writer {
    /// The result of an operation, and the carry of those that have one.
    fn result(&mut self, operation: &Expr, x: &Expr, y: &Expr, carry: SignalId) -> (Expr, Expr) {
        let bits = self.bits;
        let wide = |it: &Expr| it.clone().resized(false, bits + 1);
        let is = |op: Opcode| operation.clone().is(number_of(op));
        let with_carry = is(Opcode::Addc).or(is(Opcode::Subb)).and(self.m.get(carry)).resized(false, bits + 1);
        let sum = self.wire("sum", wide(x).plus(wide(y)).plus(with_carry.clone()));
        let difference = self.wire("difference", wide(x).minus(wide(y)).minus(with_carry));
        let product =
            Expr::binary(BinaryOp::Mul, x.clone().resized(false, 2 * bits), y.clone().resized(false, 2 * bits));
        let used: Vec<u64> = self.encoded.words.iter().map(|word| word >> (self.encoded.width - 4)).collect();
        let uses = |op: Opcode| used.contains(&number_of(op));
        // No multiplier where no program multiplies.
        let product = match uses(Opcode::Mul) || uses(Opcode::Mulh) {
            true => self.wire("product", product),
            false => Expr::number(2 * bits, 0),
        };
        let as_bit = |it: Expr| it.resized(false, bits);
        let of = |op: Opcode| match op {
            Opcode::Mov => x.clone(),
            Opcode::Add | Opcode::Addc => sum.clone().slice(0, bits),
            Opcode::Sub | Opcode::Subb => difference.clone().slice(0, bits),
            Opcode::And => x.clone().and(y.clone()),
            Opcode::Or => x.clone().or(y.clone()),
            Opcode::Xor => Expr::binary(BinaryOp::Xor, x.clone(), y.clone()),
            Opcode::Shl => Expr::shift(ShiftOp::Left, x.clone(), y.clone()),
            Opcode::Shr => Expr::shift(ShiftOp::Right, x.clone(), y.clone()),
            Opcode::Asr => Expr::shift(ShiftOp::RightSigned, x.clone(), y.clone()),
            Opcode::Mul => product.clone().slice(0, bits),
            Opcode::Mulh => product.clone().slice(bits, bits),
            Opcode::Eq => as_bit(Expr::compare(CompareOp::Equal, x.clone(), y.clone())),
            Opcode::Lt => as_bit(Expr::compare(CompareOp::Less, x.clone(), y.clone())),
        };
        let others = Opcode::ALL.iter().filter(|(op, _)| *op != Opcode::Mov && uses(*op));
        let result = others.fold(x.clone(), |rest, (op, _)| Expr::select(is(*op), of(*op), rest));
        let borrows = is(Opcode::Sub).or(is(Opcode::Subb));
        let carries = Expr::select(borrows, difference.slice(bits, 1), sum.slice(bits, 1));
        (result, carries)
    }
}
