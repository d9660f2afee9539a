//! Texts of kernels: schedules as tables of units and cycles, kernels and stream programs in the manner of KernelC and StreamC.
//!
//! These are for readers: what KernelC and StreamC (P. Mattson, U. Kapasi, J. Owens, Imagine Programming System Developer's Guide,
//! 2002) look like, not what their compilers took.

use crate::kernel::{Kernel, What, name_of};
use crate::machine::Machine;
use crate::place::{Place, Placed};
use crate::words::{Binary, First, Stream, WordCode, WordId, WordOp};
use std::fmt::Write as _;

/// An operation as an expression of KernelC.
fn expression(code: &WordCode, op: &WordOp, name: &dyn Fn(WordId) -> String) -> String {
    match *op {
        WordOp::Const(value) if value < 1024 => value.to_string(),
        WordOp::Const(value) => format!("0x{value:08x}"),
        WordOp::Cluster => "cid()".into(),
        WordOp::Held(at) => format!("key{at}"),
        WordOp::Given(at) => format!("given{at}"),
        WordOp::Carried(at) => format!("carried{at}"),
        WordOp::Read { stream, word } => format!("in{stream}[{word}]"),
        WordOp::Binary(op, a, b) => {
            let sign = match op {
                Binary::Add => "+",
                Binary::Sub => "-",
                Binary::And => "&",
                Binary::Or => "|",
                Binary::Xor => "^",
                Binary::Shl => "<<",
                Binary::Shr => ">>",
                Binary::Mul => "*",
                Binary::Eq => "==",
                Binary::LtU => "<",
                _ => return format!("{}({}, {})", op.name(), name(a), name(b)),
            };
            format!("{} {sign} {}", name(a), name(b))
        }
        WordOp::Select(c, a, b) => format!("select({}, {}, {})", name(c), name(a), name(b)),
        WordOp::Lookup { table, index } | WordOp::Gather { table, index } => {
            format!("{}[{}]", code.tables[table as usize].name, name(index))
        }
        WordOp::Indexed { table, index } => format!("srf_{}[{}]", code.tables[table as usize].name, name(index)),
        WordOp::Scratchpad { base, index: None } => format!("sp[{base}]"),
        WordOp::Scratchpad { base: 0, index: Some(index) } => format!("sp[{}]", name(index)),
        WordOp::Scratchpad { base, index: Some(index) } => format!("sp[{base} + {}]", name(index)),
        WordOp::Broadcast { value, from } => format!("broadcast({}, {from})", name(value)),
        WordOp::Permute { value, lane } => format!("perm({}, {})", name(lane), name(value)),
    }
}

fn signature(streams: &[Stream], direction: &str, ports: &[String]) -> Vec<String> {
    let of = |(at, stream): (usize, &Stream)| {
        let port = ports.get(stream.port as usize).map_or_else(String::new, |port| format!(" /* {port} */"));
        format!("{direction}stream<uint{}> {}{at}{port}", stream.words, if direction == "i" { "in" } else { "out" })
    };
    streams.iter().enumerate().map(of).collect()
}

/// A kernel in the manner of KernelC. Ports are named in the order of the network.
pub fn kernel_text(name: &str, kernel: &Kernel, machine: &Machine, inputs: &[String], outputs: &[String]) -> String {
    let code = &kernel.placed.code;
    let invariants = code.invariants();
    let mut text = format!("// {}: {}\n", machine.name, machine.about);
    let mut all = signature(&code.inputs, "i", inputs);
    all.extend(signature(&code.outputs, "o", outputs));
    let _ = writeln!(text, "kernel {name}({})\n{{", all.join(", "));
    for (table, place) in code.tables.iter().zip(&kernel.placed.places) {
        let _ = writeln!(text, "    // {}: {} elements of {} bits, {place}", table.name, table.length, table.bits);
    }
    for (at, word) in &kernel.spilled {
        let value = expression(code, code.op(*word), &|id| format!("x{}", id.0));
        let _ = writeln!(text, "    // sp[{at}] = {value}");
    }
    let named = |id: WordId| match code.op(id) {
        op @ (WordOp::Const(_) | WordOp::Held(_) | WordOp::Given(_) | WordOp::Cluster | WordOp::Carried(_)) => {
            expression(code, op, &|id| format!("x{}", id.0))
        }
        _ => format!("x{}", id.0),
    };
    let needed = code.needed();
    let is_leaf = |id: WordId| {
        matches!(
            code.op(id),
            WordOp::Const(_) | WordOp::Held(_) | WordOp::Given(_) | WordOp::Cluster | WordOp::Carried(_)
        )
    };
    for &id in needed.iter().filter(|id| invariants[id.index()] && !is_leaf(**id)) {
        let _ = writeln!(text, "    uint x{} = {};", id.0, expression(code, code.op(id), &named));
    }
    for (at, one) in code.carried.iter().enumerate() {
        let first = match &one.first {
            First::Elements { object, word } => format!("state{object}[{word}]"),
            First::Element { object, index, word: 0 } => format!("state{object}[{index}]"),
            First::Element { object, index, word } => format!("state{object}[{index}] >> {}", 32 * word),
            First::Counter { counter, word } => format!("counter{counter}[{word}] + cid() * step"),
            First::Given(at) => format!("given{at}"),
            First::Nothing => "0".into(),
        };
        let _ = writeln!(text, "    uint carried{at} = {first};");
    }
    let streams = (0..code.inputs.len()).map(|at| format!("in{at}")).collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "    loop_stream({streams}) pipeline({}) {{", kernel.schedule.ii);
    for &id in needed.iter().filter(|id| !invariants[id.index()] && !is_leaf(**id)) {
        let _ = writeln!(text, "        uint x{} = {};", id.0, expression(code, code.op(id), &named));
    }
    for &(stream, word, value) in &code.writes {
        let _ = writeln!(text, "        out{stream}[{word}] << {};", named(value));
    }
    for (at, one) in code.carried.iter().enumerate() {
        let _ = writeln!(text, "        carried{at} = {};", named(one.next));
    }
    text.push_str("    }\n}\n");
    text
}

/// The schedule of a kernel: a row for each cycle of the interval, a column for each unit; `x12.2` is word 12 of two intervals
/// before.
pub fn listing(kernel: &Kernel, machine: &Machine) -> String {
    let ii = kernel.schedule.ii;
    let mut columns = Vec::new();
    for (kind, (name, unit)) in machine.unit.iter().enumerate() {
        for number in 0..*unit.count {
            columns.push((kind, number, if *unit.count > 1 { format!("{name}{number}") } else { name.clone() }));
        }
    }
    let mut cells: Vec<Vec<String>> = vec![vec![String::new(); columns.len()]; ii];
    for (at, op) in kernel.ops.iter().enumerate() {
        let Some(column) =
            columns.iter().position(|&(kind, number, _)| kind == op.unit && number == kernel.registers.units[at])
        else {
            continue;
        };
        let (cycle, stage) = (kernel.schedule.begins[at] % ii, kernel.schedule.begins[at] / ii);
        let what = match &op.what {
            What::Word(word) => name_of(word).to_owned(),
            What::Move => "move".into(),
            What::Write { stream, word } => format!("out{stream}.{word}"),
        };
        cells[cycle][column] = format!("{what}.{stage}");
    }
    let used: Vec<usize> = (0..columns.len()).filter(|&at| cells.iter().any(|row| !row[at].is_empty())).collect();
    let width = |at: usize| cells.iter().map(|row| row[at].len()).max().unwrap_or(0).max(columns[at].2.len());
    let mut text = String::from("cycle");
    for &at in &used {
        let _ = write!(text, "  {:width$}", columns[at].2, width = width(at));
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (cycle, row) in cells.iter().enumerate() {
        let mut line = format!("{cycle:5}");
        for &at in &used {
            let cell = if row[at].is_empty() { "·" } else { &row[at] };
            let _ = write!(line, "  {cell:width$}", width = width(at));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A stream program in the manner of StreamC: loads, the kernel, and stores of strips of so many records.
pub fn program_text(name: &str, placed: &Placed, strip: u64, inputs: &[String], outputs: &[String]) -> String {
    let code = &placed.code;
    let port = |ports: &[String], stream: &Stream| {
        ports.get(stream.port as usize).cloned().unwrap_or_else(|| format!("port{}", stream.port))
    };
    let mut text = String::from("// Strips are loaded and stored while the kernel runs on others.\n");
    let mut tables: Vec<String> = Vec::new();
    for (table, place) in code.tables.iter().zip(&placed.places) {
        let line = match place {
            Place::Scratchpad { .. } | Place::Spread { .. } => format!("    load_scratchpad({});", table.name),
            Place::StreamRegisters => format!("    stream srf_{0} = load({0});", table.name),
            Place::Memory => continue,
        };
        if !tables.contains(&line) {
            tables.push(line);
        }
    }
    let _ = writeln!(text, "streamprog {name}_stream(int n)\n{{");
    tables.iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    let _ = writeln!(text, "    for (int at = 0; at < n; at += {strip}) {{");
    let mut arguments = Vec::new();
    for (at, stream) in code.inputs.iter().enumerate() {
        let _ = writeln!(
            text,
            "        stream<uint{}> in{at} = load({}, at, min({strip}, n - at));",
            stream.words,
            port(inputs, stream)
        );
        arguments.push(format!("in{at}"));
    }
    for (at, stream) in code.outputs.iter().enumerate() {
        let _ = writeln!(text, "        stream<uint{}> out{at};", stream.words);
        arguments.push(format!("out{at}"));
    }
    let _ = writeln!(text, "        {name}({});", arguments.join(", "));
    for (at, stream) in code.outputs.iter().enumerate() {
        let _ = writeln!(text, "        store(out{at}, {}, at);", port(outputs, stream));
    }
    text.push_str("    }\n}\n");
    text
}
