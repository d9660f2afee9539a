//! Kernels for data-parallel devices: one work item for each iteration. A loop for a device that runs iterations in any
//! number at once: a kernel of which each work item is an iteration.
//!
//! Kernels are printed once for every dialect: what OpenCL C and CUDA write differently are the macros `HR_…` of the
//! texts that stand above them (`runtime/opencl/headrace_kernel.cl`, `runtime/cuda/headrace_kernel.h`). A kernel is
//! given the elements that no iteration changes and where counters began, the words of each port, the number of its
//! first iteration in the loop, and how many iterations it runs. What iterations leave behind is known without running
//! them (`skipped`). Rows of words begin with that of the iteration before the first, for what an iteration takes from
//! there.

use super::expression::literal;
use super::loop_frame::counter_start;
use super::scalar::{element_type, statements, tables_as};
use super::words::{Layout, NotApplicable, WordLoop};
use super::{LoopNames, Names};
use headrace_source::Span;
use headrace_transform::kernel::graph::mask;
use headrace_transform::kernel::{Effect, Evidence, Loop, Object, ObjectId, Op, Table, TableId};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Nodes of a kernel: longer ones take compilers of devices minutes.
const MOST_NODES: usize = 20_000;

/// Nodes of a kernel of which processors do several iterations in a vector.
const MOST_NODES_IN_VECTORS: usize = 4_000;

/// Ports of a loop that runs on devices (`HEADRACE_LOOP_PORTS`).
const MOST_PORTS: usize = 8;

/// Bytes of tables that are copied to where a group of work items reads them fastest.
const MOST_LOCAL: usize = 16 << 10;

/// Bytes that lie where all work items read the same at a time.
const MOST_CONSTANT: usize = 16 << 10;

/// A kernel, and what the host needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Items {
    /// Its name.
    pub name: String,
    /// The definition of `struct NAME_given`, the same for host and device.
    pub given: String,
    /// Statements in C that fill `given` from `s`.
    pub fill: String,
    /// Tables and the kernel.
    pub text: String,
    /// For each pointer of the kernel: the name of the pointer of the loop, the bytes of an iteration, the type of a
    /// word.
    pub ports: Vec<ItemPort>,
    /// Why it does what the loop means.
    pub evidence: Vec<Evidence>,
}

/// A port of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemPort {
    /// The pointer of the loop: `in` or `out` and a number.
    pub name: String,
    /// Whether iterations read it.
    pub is_input: bool,
    /// Bytes of an iteration.
    pub bytes: u64,
    /// The type of its words.
    pub word: String,
}

/// Prints a loop as a kernel of that name.
///
/// # Errors
///
/// Why it cannot be: iterations need each other, or values are wider than what devices compute with.
pub fn items(body: &Loop, names: &LoopNames) -> Result<Items, NotApplicable> {
    let words = match WordLoop::new(body, 32) {
        Ok(words) => words,
        Err(_) => WordLoop::new(body, 64)?,
    };
    let words = words.held()?;
    let reachable = words.reachable();
    if reachable.len() > MOST_NODES {
        return Err(NotApplicable("it is too long for compilers of devices".into()));
    }
    if reachable.iter().any(|&id| words.graph.width(id) > 64) {
        return Err(NotApplicable("devices compute with 64 bits at most".into()));
    }
    Printer { words: &words, names, reachable }.print()
}

struct Printer<'a> {
    words: &'a WordLoop<'a>,
    names: &'a LoopNames<'a>,
    reachable: Vec<headrace_transform::kernel::NodeId>,
}

impl Printer<'_> {
    fn print(&self) -> Result<Items, NotApplicable> {
        let (words, name) = (self.words, self.names.function);
        let body = words.body;
        let ports = self.ports();
        if ports.is_empty() || ports.len() > MOST_PORTS {
            return Err(NotApplicable(format!("it has {} ports", ports.len())));
        }
        let (given, bytes) = self.given();
        let own = ItemNames { words, name, local: self.local_tables() };
        let effects: Vec<Effect> =
            (words.written.iter()).map(|&(port, offset, value)| Effect::Output { port, offset, value }).collect();
        let roots: Vec<_> = words.written.iter().map(|one| one.2).collect();
        let global = ItemNames { words, name, local: BTreeSet::new() };
        let mut text = tables_as("HR_TABLE", &words.graph, &roots, &global);
        let space = if bytes <= MOST_CONSTANT && !self.is_indexed() { "HR_GIVEN" } else { "HR_GLOBAL" };
        let _ = write!(text, "HR_KERNEL void {name}({space} const struct {name}_given *HR_RESTRICT s");
        for port in &ports {
            let quality = if port.is_input { "const " } else { "" };
            let _ = write!(text, ",\n    HR_GLOBAL {quality}{} *HR_RESTRICT {}", port.word, port.name);
        }
        text.push_str(",\n    const uint64_t first, const uint32_t n)\n{\n");
        for &table in &own.local {
            let Table { width, elements, .. } = words.graph.table(table);
            let (ty, n, from) = (element_type(*width), elements.len(), global.table(table));
            let _ = writeln!(text, "  HR_NEAR({ty}, {}, {n}u, {from});", own.table(table));
        }
        if !own.local.is_empty() {
            text.push_str("  HR_EACH {\n");
            for &table in &own.local {
                let n = words.graph.table(table).elements.len();
                let _ = writeln!(text, "    HR_BRING({}, {n}u, {});", own.table(table), global.table(table));
            }
            text.push_str("  }\n  HR_TOGETHER;\n");
        }
        let iterations = if self.is_for_vectors() { "HR_ITERATIONS_IN_VECTORS" } else { "HR_ITERATIONS" };
        let _ = write!(
            text,
            "  {iterations}(n) {{\n    const uint32_t row_ = HR_NUMBER + 1u;\n    const uint64_t p_ = first + HR_NUMBER;\n"
        );
        self.pointers(&mut text, &ports);
        self.counters(&mut text);
        text.push_str(&statements(&words.graph, &body.objects, &effects, &own, 2));
        text.push_str("    (void)p_;\n    (void)s;\n  }\n}\n");
        Ok(Items {
            name: name.to_owned(),
            given,
            fill: self.fill(),
            text,
            ports,
            evidence: vec![Evidence::trial("words")],
        })
    }

    fn ports(&self) -> Vec<ItemPort> {
        let words = self.words;
        let port = |letter: &str, is_input: bool, port: usize, layout: &Layout| ItemPort {
            name: format!("{letter}{port}"),
            is_input,
            bytes: layout.bytes(),
            word: if self.is_whole(layout) { format!("uint{}_t", words.bits) } else { "uint8_t".to_owned() },
        };
        let ins = words.inputs.iter().enumerate().filter(|(_, layout)| layout.tokens > 0);
        let outs = words.outputs.iter().enumerate().filter(|(_, layout)| layout.tokens > 0);
        let ins = ins.map(|(at, layout)| port("in", true, at, layout));
        ins.chain(outs.map(|(at, layout)| port("out", false, at, layout))).collect()
    }

    /// Whether an iteration of a port is whole words.
    fn is_whole(&self, layout: &Layout) -> bool {
        layout.bytes().is_multiple_of(u64::from(self.words.bits / 8))
    }

    /// Objects that iterations read.
    fn objects(&self) -> Vec<ObjectId> {
        let graph = &self.words.graph;
        let read = self.reachable.iter().filter_map(|&id| match graph.op(id) {
            Op::Entry { object, .. } => Some(*object),
            _ => None,
        });
        let read: BTreeSet<ObjectId> = read.filter(|object| self.object(*object).lives_on()).collect();
        let mut read: Vec<ObjectId> = read.into_iter().collect();
        // Without holes on any machine.
        read.sort_by_key(|object| std::cmp::Reverse(bytes_of(self.object(*object).width)));
        read
    }

    fn object(&self, object: ObjectId) -> &Object {
        &self.words.body.objects[object.0 as usize]
    }

    /// Whether iterations read elements at places that they compute.
    fn is_indexed(&self) -> bool {
        let graph = &self.words.graph;
        self.reachable.iter().any(|&id| match graph.op(id) {
            Op::Entry { index, .. } => graph.constant(*index).is_none(),
            _ => false,
        })
    }

    /// Whether processors are fast with several iterations in a vector: not where each looks up something of its own,
    /// and not where their compilers would take minutes.
    fn is_for_vectors(&self) -> bool {
        let graph = &self.words.graph;
        let looks_up = |op: &Op| matches!(op, Op::Lookup(..) | Op::LookupBytes(..));
        self.reachable.len() <= MOST_NODES_IN_VECTORS
            && !self.is_indexed()
            && !self.reachable.iter().any(|&id| looks_up(graph.op(id)))
    }

    /// The words that are read of each counter.
    fn counter_words(&self) -> Vec<(usize, BTreeSet<i64>)> {
        let words = self.words;
        let read = words.read();
        let of = |n: usize| {
            let port = words.counter_port(n);
            read.iter().filter(|one| one.0 == port).map(|one| one.1).collect::<BTreeSet<i64>>()
        };
        (0..words.body.counters.len()).map(|n| (n, of(n))).filter(|(_, read)| !read.is_empty()).collect()
    }

    /// The structure of what all iterations are given, and its bytes.
    fn given(&self) -> (String, usize) {
        let mut text = format!("struct {}_given {{\n", self.names.function);
        let mut bytes = 0;
        for (n, _) in self.counter_words() {
            let _ = writeln!(text, "  uint64_t c{n}_[2];");
            bytes += 16;
        }
        for object in self.objects() {
            let Object { name, width, length, .. } = self.object(object);
            let _ = writeln!(text, "  {} {name}[{length}];", element_type(*width));
            bytes += bytes_of(*width) * length;
        }
        if bytes == 0 {
            text.push_str("  uint32_t none; /* C has no empty structures */\n");
        }
        text.push_str("};\n");
        (text, bytes)
    }

    fn fill(&self) -> String {
        let mut text = String::new();
        for (n, _) in self.counter_words() {
            let start = counter_start(self.words.body, n, self.names.names);
            let _ = write!(
                text,
                "  {{\n  {start}    given.c{n}_[0] = (uint64_t)c{n}_;\n    given.c{n}_[1] = (uint64_t)(c{n}_ >> 64);\n  }}\n"
            );
        }
        for object in self.objects() {
            let object = self.object(object);
            let (name, from) = (&object.name, self.names.names.element(object, "0"));
            let _ = writeln!(text, "  memcpy(given.{name}, &{from}, sizeof given.{name});");
        }
        text
    }

    /// Tables that are copied: those that iterations look into, as many as there is room for.
    fn local_tables(&self) -> BTreeSet<TableId> {
        let graph = &self.words.graph;
        let tables = self.reachable.iter().filter_map(|&id| match graph.op(id) {
            Op::Lookup(table, _) | Op::LookupBytes(table, _) => Some(*table),
            _ => None,
        });
        let tables: BTreeSet<TableId> = tables.collect();
        let mut left = MOST_LOCAL;
        let fits = |table: &TableId| {
            let table = graph.table(*table);
            let bytes = bytes_of(table.width) * table.elements.len();
            let fits = bytes <= left;
            left -= if fits { bytes } else { 0 };
            fits
        };
        tables.into_iter().filter(fits).collect()
    }

    /// Where the row of the iteration lies.
    fn pointers(&self, text: &mut String, ports: &[ItemPort]) {
        let word_bytes = u64::from(self.words.bits / 8);
        for ItemPort { name, is_input, bytes, word } in ports {
            let quality = if *is_input { "const " } else { "" };
            let row = if word == "uint8_t" { *bytes } else { bytes / word_bytes };
            let _ = writeln!(text, "    HR_GLOBAL {quality}{word} *const {name}_ = {name} + (uint64_t)row_ * {row}u;");
        }
    }

    /// The words of counters in this iteration: where they began, and the steps of the iterations before.
    fn counters(&self, text: &mut String) {
        let words = self.words;
        if words.read().iter().any(|one| one.0 == words.first_port()) {
            text.push_str("    const uint32_t first_ = (uint32_t)(p_ == 0);\n");
        }
        for (n, read) in self.counter_words() {
            let counter = &words.body.counters[n];
            let width = words.body.graph.width(counter.start);
            let (low, high) = (counter.step as u64, (counter.step >> 64) as u64);
            let steps = match low {
                1 => "p_".to_owned(),
                _ => format!("{} * p_", literal(u128::from(low), 64)),
            };
            let _ = writeln!(text, "    const uint64_t c{n}_low_ = s->c{n}_[0] + {steps};");
            if width > 64 && read.iter().any(|&word| word as u64 * u64::from(words.bits) >= 64) {
                let mut more = String::new();
                if low != 1 {
                    let _ = write!(more, " + hr_mul_high({}, p_)", literal(u128::from(low), 64));
                }
                if high != 0 {
                    let _ = write!(more, " + {} * p_", literal(u128::from(high), 64));
                }
                let _ = writeln!(
                    text,
                    "    const uint64_t c{n}_high_ = s->c{n}_[1]{more} + (uint64_t)(c{n}_low_ < s->c{n}_[0]);"
                );
            }
            for word in read {
                let bit = word as u32 * words.bits;
                let (half, at) = if bit < 64 { ("low", bit) } else { ("high", bit - 64) };
                let taken = (width - bit).min(words.bits);
                let moved = match at {
                    0 => format!("c{n}_{half}_"),
                    _ => format!("(c{n}_{half}_ >> {at})"),
                };
                let ones =
                    if taken < words.bits { format!(" & {}", literal(mask(taken), words.bits)) } else { String::new() };
                let _ = writeln!(text, "    const uint{0}_t c{n}_{word}_ = (uint{0}_t){moved}{ones};", words.bits);
            }
        }
    }
}

/// Bytes of the type of elements of a width.
fn bytes_of(width: u32) -> usize {
    Layout::new((1, width)).token_bytes as usize
}

struct ItemNames<'a> {
    words: &'a WordLoop<'a>,
    name: &'a str,
    local: BTreeSet<TableId>,
}

impl ItemNames<'_> {
    /// The bytes that there are of a word of a row.
    fn bytes_of_word(&self, layout: &Layout, word: u64) -> u64 {
        let word_bytes = u64::from(self.words.bits / 8);
        (layout.bytes() - word * word_bytes).min(word_bytes)
    }
}

impl Names for ItemNames<'_> {
    fn input(&self, port: u32, offset: i64) -> String {
        let words = self.words;
        if port == words.first_port() {
            return "first_".to_owned();
        }
        let Some(layout) = words.inputs.get(port as usize) else {
            return format!("c{}_{offset}_", port as usize - words.inputs.len());
        };
        let (bits, word_bytes) = (words.bits, i64::from(words.bits / 8));
        if layout.bytes().is_multiple_of(word_bytes as u64) {
            return format!("in{port}_[{offset}]");
        }
        // Words of the iteration before end where this one begins.
        let n_words = layout.words(bits) as i64;
        let (word, row) = if offset < 0 { (offset + n_words, -(layout.bytes() as i64)) } else { (offset, 0) };
        let bytes: Vec<String> = (0..self.bytes_of_word(layout, word as u64) as i64)
            .map(|byte| format!("(uint{bits}_t)in{port}_[{}] << {}", row + word * word_bytes + byte, 8 * byte))
            .collect();
        format!("({})", bytes.join(" | "))
    }

    fn output(&self, port: u32, offset: u64, value: &str) -> String {
        let layout = &self.words.outputs[port as usize];
        let word_bytes = u64::from(self.words.bits / 8);
        if layout.bytes().is_multiple_of(word_bytes) {
            return format!("out{port}_[{offset}] = (uint{}_t)({value});", self.words.bits);
        }
        let stores: Vec<String> = (0..self.bytes_of_word(layout, offset))
            .map(|byte| format!("out{port}_[{}] = (uint8_t)(o_ >> {});", offset * word_bytes + byte, 8 * byte))
            .collect();
        format!("{{ const uint{}_t o_ = {value}; {} }}", self.words.bits, stores.join(" "))
    }

    fn element(&self, object: &Object, index: &str) -> String {
        format!("s->{}[{index}]", object.name)
    }

    fn swap(&self) -> &'static str {
        "hr_swap"
    }

    fn table(&self, table: TableId) -> String {
        match self.local.contains(&table) {
            true => format!("t{}_", table.0),
            false => format!("{}_table_{}", self.name, table.0),
        }
    }

    fn check(&self, _condition: &str, _index: &str, _length: usize, _span: Span) -> String {
        // Loops have no checks.
        String::new()
    }
}
