//! Printer of modules in Java. Records, tables, and how the outside reaches a network.

use super::expression::{constant, element, scalar, zero};
use super::function::{Functions, Scratch, function, zero_element};
use super::{literal, name};
use crate::braces::sentence;
use headrace_program::{FieldType, FunctionId, Interface, Module, Table, Type, effects};
use std::cell::RefCell;
use std::fmt::Write as _;

/// Most bytes of a literal: class files count them with 16 bits.
pub(super) const LITERAL_BYTES: usize = 60_000;

/// Bytes of code that a method has at most: of larger ones HotSpot compiles none, and 65,535 are the limit of class files.
pub(super) const METHOD_BYTES: u32 = 7500;

/// A network as a class; one of an operation is reached by the numbers of its ports.
pub(super) fn network(head: &str, module: &Module, class: &str, of_operation: bool, most: u32) -> String {
    let hosted = effects::reach_host(module);
    let recursive = effects::recursive(module);
    let mut all = Functions { module, scratch: Scratch::default(), most, reals: RefCell::default() };
    let mut functions = String::new();
    for (at, is_recursive) in recursive.into_iter().enumerate() {
        functions.push_str(&function(&mut all, is_recursive, FunctionId(at as u32)));
    }
    let (visible, implements) = if of_operation { ("", "implements Network ") } else { ("public ", "") };
    let mut text = format!(
        "{head}import java.nio.charset.StandardCharsets;\nimport java.util.Arrays;\nimport java.util.OptionalLong;\n\n\
         /** The network {{@code {}}}. Its state may hold secrets. */\n@SuppressWarnings({{\"cast\", \"divzero\", \"empty\"}})\n{visible}final class {class} {implements}{{\n",
        module.name
    );
    if !module.texts.is_empty() {
        let texts: Vec<String> = module.texts.iter().map(|text| format!("        {},\n", bytes_of(text))).collect();
        let _ = write!(text, "    private static final byte[][] TEXTS__ = {{\n{}    }};\n\n", texts.concat());
    }
    for found in &module.tables {
        table(&mut text, found);
    }
    for record in &module.records {
        let own = name(&record.name);
        let (mut fields, mut zeros, mut copies) = (String::new(), String::new(), String::new());
        for field in &record.fields {
            let of = name(&field.name);
            match field.ty {
                FieldType::Scalar(ty) => {
                    let _ = writeln!(fields, "        {} {of};", scalar(ty));
                    let _ = writeln!(zeros, "            {of} = {};", zero(ty));
                    let _ = writeln!(copies, "            {of} = from__.{of};");
                }
                FieldType::Array(ty, len) => {
                    let _ = writeln!(fields, "        final {0}[] {of} = new {0}[{len}];", element(ty));
                    let _ = writeln!(zeros, "            Arrays.fill({of}, {});", zero_element(ty));
                    let _ = writeln!(copies, "            System.arraycopy(from__.{of}, 0, {of}, 0, {len});");
                }
                FieldType::Record(id) => {
                    let _ = writeln!(fields, "        final {0} {of} = new {0}();", name(&module.record(id).name));
                    let _ = writeln!(zeros, "            {of}.clear();");
                    let _ = writeln!(copies, "            {of}.copy(from__.{of});");
                }
            }
        }
        let copy = match of_operation {
            true => format!("\n        void copy({own} from__) {{\n{copies}        }}\n"),
            false => String::new(),
        };
        let _ = write!(
            text,
            "    /** {}. */\n    private static final class {own} {{\n{fields}\n        void clear() {{\n{zeros}        }}\n{copy}    }}\n\n",
            sentence(&record.about)
        );
    }
    text.push_str(&functions);
    outside(&mut text, module, class, &hosted, &all.scratch);
    if of_operation {
        let _ = write!(
            text,
            "    @Override\n    public {class} copy() {{\n        {class} other__ = new {class}();\n        \
             other__.whole__.copy(whole__);\n        return other__;\n    }}\n\n"
        );
        by_number(&mut text, module);
    }
    for (ty, like) in [("double", "(double)"), ("float", "(float)")] {
        if all.reals.borrow().contains(ty) {
            // Halved with the bit that is lost kept, so that it is rounded once.
            let _ = write!(
                text,
                "    private static {ty} {ty}__(long x) {{\n        return x >= 0 ? {like} x : {like} (x >>> 1 | x & 1) * 2;\n    }}\n\n"
            );
        }
    }
    text.truncate(text.trim_end().len());
    text.push_str("\n}\n");
    text
}

/// The bytes of a text.
fn bytes_of(text: &str) -> String {
    let mut parts = vec![String::new()];
    for c in text.chars() {
        // Six bytes are the most that one takes.
        if parts.last().is_some_and(|part| part.len() + 6 > LITERAL_BYTES) {
            parts.push(String::new());
        }
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    let parts: Vec<String> = parts.iter().map(|part| literal(part)).collect();
    let rest: String = parts[1..].iter().map(|part| format!(".concat({part})")).collect();
    format!("{}{rest}.getBytes(StandardCharsets.UTF_8)", parts[0])
}

/// A table as text in digits: initialisers of arrays are code in Java, and code of a class has little room.
fn table(text: &mut String, table: &Table) {
    let (function, digits) = match table.element {
        Type::Bool => ("booleans", 1),
        Type::U8 | Type::I8 => ("bytes", 2),
        Type::U16 | Type::I16 => ("shorts", 4),
        Type::U32 | Type::I32 => ("ints", 8),
        Type::F32 => ("floats", 8),
        Type::U64 | Type::I64 => ("longs", 16),
        Type::F64 => ("doubles", 16),
    };
    let mut blocks = vec![String::new()];
    for values in table.values.chunks(96 / (digits + 1)) {
        let mask = u64::MAX >> (64 - 4 * digits as u32);
        let items: Vec<String> = values.iter().map(|value| format!("{:0digits$x}", value & mask)).collect();
        let line = format!("        {}\n", items.join(" "));
        if blocks.last().is_some_and(|block| block.len() + line.len() > LITERAL_BYTES) {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push_str(&line);
        }
    }
    let blocks: Vec<String> = blocks.iter().map(|block| format!("\"\"\"\n{block}        \"\"\"")).collect();
    let _ = write!(
        text,
        "    private static final {}[] TABLE_{}__ = Tables.{function}({});\n\n",
        element(table.element),
        table.name,
        blocks.join(", ")
    );
}

/// What users of the network see.
fn outside(text: &mut String, module: &Module, class: &str, hosted: &[bool], scratch: &Scratch) {
    let Interface { context, init, run, inputs, outputs, .. } = &module.interface;
    let record = name(&module.record(*context).name);
    let mut clears = String::new();
    let _ = writeln!(text, "    private final {record} whole__ = new {record}();");
    for (at, &(ty, len)) in scratch.arrays.iter().enumerate() {
        let own = Scratch::name(at);
        let _ = writeln!(text, "    private final {0}[] {own} = new {0}[{len}];", element(ty));
        let _ = writeln!(clears, "        Arrays.fill({own}, {});", zero_element(ty));
    }
    for (class, object) in &scratch.variables {
        let _ = writeln!(text, "    private final {class} {object} = new {class}();");
        let _ = writeln!(clears, "        {object}.clear();");
    }
    let (host, kept) = match hosted[run.index()] {
        true => (", Host host", "        host__ = host;\n"),
        false => ("", ""),
    };
    if hosted.contains(&true) {
        text.push_str("    private Host host__;\n");
    }
    let init = name(&module.function(*init).name);
    let _ = write!(
        text,
        "\n    /** A network that has not yet fired. */\n    public {class}() {{\n        {init}(whole__);\n    }}\n\n    \
         /** Begins anew, as a new network does; memory may still hold what was, until {{@link #clear}}. */\n    public void restart() {{\n        {init}(whole__);\n    }}\n\n    \
         /** Overwrites all state, which may hold secrets; {{@link #restart}} makes it usable again. */\n    public void clear() {{\n        \
         whole__.clear();\n{clears}    }}\n\n    \
         /** Fires until nothing can fire, or until all instances had their turn {{@code maxRounds}} times. */\n    \
         public Status run(long maxRounds{host}) {{\n{kept}        return Status.of({}(whole__, maxRounds));\n    }}\n\n",
        name(&module.function(*run).name)
    );
    let several = |words: u32| {
        if words > 1 { format!(", of {words} words each, least significant first") } else { String::new() }
    };
    for port in inputs {
        let own = name(&module.function(port.write).name);
        let _ = write!(
            text,
            "    /** Writes up to so many tokens{} to the input {{@code {}}} and returns for how many there was room. */\n    \
             public int {own}({}[] tokens, int from, int count) {{\n        return {own}(whole__, tokens, from, count);\n    }}\n\n",
            several(port.words),
            port.name,
            element(port.element)
        );
    }
    for port in outputs {
        let own = name(&module.function(port.read).name);
        let _ = write!(
            text,
            "    /** Takes up to so many tokens{} from the output {{@code {}}} and returns how many there were. */\n    \
             public int {own}({}[] tokens, int from, int count) {{\n        return {own}(whole__, tokens, from, count);\n    }}\n\n",
            several(port.words),
            port.name,
            element(port.element)
        );
    }
}

/// Ports by their numbers, for the methods that all operations share.
fn by_number(text: &mut String, module: &Module) {
    let mut arms: [String; 4] = Default::default();
    let word = |ty: Type| match element(ty) {
        "int" => "word".to_owned(),
        "long" => "word & 0xffffffffL".to_owned(),
        other => format!("({other}) word"),
    };
    for (at, port) in module.interface.inputs.iter().enumerate() {
        let write = name(&module.function(port.write).name);
        let ty = element(port.element);
        if port.element == Type::U8 {
            let _ = writeln!(arms[0], "            case {at} -> {write}(bytes, from, count);");
        }
        if port.words == 1 && port.element.is_int() {
            let value = word(port.element);
            let _ = writeln!(arms[1], "            case {at} -> {write}(new {ty}[] {{{value}}}, 0, 1) == 1;");
        }
    }
    for (at, port) in module.interface.outputs.iter().enumerate() {
        let read = name(&module.function(port.read).name);
        let ty = element(port.element);
        if port.element == Type::U8 {
            let _ = writeln!(arms[2], "            case {at} -> {read}(bytes, from, count);");
        }
        if port.words == 1 && port.element.is_int() {
            let value = constant_mask(port.element);
            let _ = writeln!(
                arms[3],
                "            case {at} -> {{\n                {ty}[] word = new {ty}[1];\n                \
                 yield {read}(word, 0, 1) == 1 ? word[0]{value} : -1;\n            }}"
            );
        }
    }
    let [put, put_word, get, get_word] = arms;
    let _ = write!(
        text,
        "    @Override\n    public int put(int port, byte[] bytes, int from, int count) {{\n        \
         return switch (port) {{\n{put}            default -> 0;\n        }};\n    }}\n\n    \
         @Override\n    public boolean putWord(int port, int word) {{\n        \
         return switch (port) {{\n{put_word}            default -> false;\n        }};\n    }}\n\n    \
         @Override\n    public boolean run() {{\n        return run(-1L) == Status.IDLE;\n    }}\n\n    \
         @Override\n    public int get(int port, byte[] bytes, int from, int count) {{\n        \
         return switch (port) {{\n{get}            default -> 0;\n        }};\n    }}\n\n    \
         @Override\n    public long getWord(int port) {{\n        \
         return switch (port) {{\n{get_word}            default -> -1;\n        }};\n    }}\n\n"
    );
}

/// What makes a `long` without sign of an element.
fn constant_mask(ty: Type) -> String {
    if ty.bits() == 64 { String::new() } else { format!(" & {}", constant(u64::MAX >> (64 - ty.bits()), Type::U64)) }
}
