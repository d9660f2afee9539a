//! Printer of modules in C++. Records, tables, and how the outside reaches a network.

use super::expression::{ctype, item};
use super::function::{array, function};
use super::{literal, name};
use crate::braces::sentence;
use headrace_program::{FieldType, FunctionId, Interface, Module, Stream, Type, effects};
use std::fmt::Write as _;

/// What machines make that no person would: values that turn out not to be read, conditions that are always so.
const QUIET: [&str; 13] = [
    // C++20 says what shifts of signed integers are.
    "-Wshift-overflow",
    "-Wshift-negative-value",
    // It finds some in what is folded, where everything is converted by name.
    "-Wconversion",
    // Intrinsic functions of gcc 12 have operands that nothing reads (PR 105593).
    "-Wuninitialized",
    "-Wmaybe-uninitialized",
    "-Wunused-variable",
    "-Wunused-parameter",
    "-Wunused-but-set-variable",
    "-Wunused-but-set-parameter",
    "-Wunused-function",
    "-Wtype-limits",
    "-Wtautological-compare",
    "-Wself-assign",
];

/// A network as a header; one of an operation is reached by the numbers of its ports.
pub(super) fn network(head: &str, module: &Module, class: &str, of_operation: bool) -> String {
    let hosted = effects::reach_host(module);
    let quiet: String = QUIET.iter().map(|warning| format!("#pragma GCC diagnostic ignored \"{warning}\"\n")).collect();
    let mut text = format!(
        "{head}#pragma once\n\n#include \"support.hpp\"\n\n#if defined(__GNUC__)\n#pragma GCC diagnostic push\n\
         #pragma GCC diagnostic ignored \"-Wpragmas\"\n#pragma GCC diagnostic ignored \"-Wunknown-warning-option\"\n{quiet}#endif\n\n\
         namespace headrace {{\n\n/// The network `{}`. Its state may hold secrets, and is overwritten when it is destroyed.\nclass {class} {{\n",
        module.name
    );
    if !module.texts.is_empty() {
        let texts: Vec<String> =
            module.texts.iter().map(|text| format!("        {{{}, {}}},\n", literal(text), text.len())).collect();
        let _ = write!(
            text,
            "    static constexpr std::array<std::string_view, {}> TEXTS_x{{{{\n{}    }}}};\n\n",
            texts.len(),
            texts.concat()
        );
    }
    for table in &module.tables {
        let _ = write!(
            text,
            "    static constexpr {} TABLE_{}_x{{{}\n    }};\n\n",
            array(table.element, table.values.len() as u32),
            table.name,
            listed(&table.values, table.element)
        );
    }
    for record in &module.records {
        let own = name(&record.name);
        let _ = write!(text, "    /// {}.\n    struct {own} {{\n", sentence(&record.about));
        for field in &record.fields {
            let ty = match field.ty {
                FieldType::Scalar(ty) => ctype(ty).to_owned(),
                FieldType::Array(ty, len) => array(ty, len),
                // A field that is called as its type would hide it.
                FieldType::Record(id) => format!("struct {}", name(&module.record(id).name)),
            };
            let _ = writeln!(text, "        {ty} {};", name(&field.name));
        }
        text.push_str("    };\n\n");
    }
    for (number, features) in module.features.iter().enumerate() {
        let names: Vec<String> = features.names.iter().map(|name| asked(name)).collect();
        let _ = write!(
            text,
            "    /// Whether the processor has what some functions need.\n    static bool has_{number}_x() {{\n\
             #if defined(HEADRACE_SIMD)\n        static const bool known = {};\n        return known;\n\
             #else\n        return false;\n#endif\n    }}\n\n",
            names.join(" && ")
        );
    }
    for at in 0..module.functions.len() {
        text.push_str(&function(module, &hosted, class, FunctionId(at as u32)));
    }
    outside(&mut text, module, &hosted, class);
    if of_operation {
        by_number(&mut text, module, class);
    }
    let record = name(&module.record(module.interface.context).name);
    let _ = write!(
        text,
        "\nprivate:\n    {record} whole_x{{}};\n}};\n\n}}  // namespace headrace\n\n#if defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n"
    );
    text
}

/// A question for a feature. Not every compiler has a name for each: the others are bits of leaf 7 of `cpuid`, in EBX or ECX.
fn asked(name: &str) -> String {
    match name {
        "sha" => "has_leaf7(false, 29)".to_owned(),
        "vaes" => "has_leaf7(true, 9)".to_owned(),
        "vpclmulqdq" => "has_leaf7(true, 10)".to_owned(),
        "gfni" => "has_leaf7(true, 8)".to_owned(),
        _ => format!("__builtin_cpu_supports({name:?}) != 0"),
    }
}

fn listed(values: &[u64], ty: Type) -> String {
    let mut text = String::new();
    let mut column = usize::MAX;
    for &value in values {
        let item = item(value, ty);
        if column > 100 {
            text.push_str("\n        ");
            column = 8;
        } else {
            text.push(' ');
        }
        column += item.len() + 2;
        text.push_str(&item);
        text.push(',');
    }
    text
}

fn call(module: &Module, hosted: &[bool], class: &str, id: FunctionId, arguments: &str) -> String {
    let host = if hosted[id.index()] { ", host" } else { "" };
    format!("{class}::{}(whole_x{arguments}{host})", name(&module.function(id).name))
}

/// What users of the network see.
fn outside(text: &mut String, module: &Module, hosted: &[bool], class: &str) {
    let Interface { init, run, inputs, outputs, .. } = &module.interface;
    let host = if hosted[run.index()] { ", Host& host" } else { "" };
    let begin = call(module, hosted, class, *init, "");
    let _ = write!(
        text,
        "public:\n    /// A network that has not yet fired.\n    {class}() {{ {begin}; }}\n    {class}(const {class}&) = default;\n    \
         {class}& operator=(const {class}&) = default;\n    ~{class}() {{ clear(); }}\n\n    \
         /// Begins anew, as a new network does; memory may still hold what was, until `clear`.\n    void restart() {{ {begin}; }}\n\n    \
         /// Overwrites all state, which may hold secrets; `restart` makes it usable again.\n    void clear() noexcept {{ overwrite(whole_x); }}\n\n    \
         /// Fires until nothing can fire, or until all instances had their turn `max_rounds` times.\n    \
         Status run(std::uint64_t max_rounds{host}) {{ return static_cast<Status>({}); }}\n",
        call(module, hosted, class, *run, ", max_rounds"),
    );
    let per_token = |words: u32| if words > 1 { format!(" / {words}") } else { String::new() };
    let several = |words: u32| {
        if words > 1 { format!(", of {words} words each, least significant first") } else { String::new() }
    };
    for port in inputs {
        let _ = write!(
            text,
            "\n    /// Writes tokens{} to the input `{}` and returns for how many there was room.\n    \
             std::size_t {}(std::span<const {}> tokens) {{\n        \
             const auto n_tokens = static_cast<std::uint32_t>(std::min<std::size_t>(tokens.size(){}, UINT32_MAX));\n        return {};\n    }}\n",
            several(port.words),
            port.name,
            name(&module.function(port.write).name),
            ctype(port.element),
            per_token(port.words),
            call(module, hosted, class, port.write, ", tokens, n_tokens"),
        );
    }
    for port in outputs {
        let _ = write!(
            text,
            "\n    /// Takes tokens{} from the output `{}` and returns how many there were.\n    \
             std::size_t {}(std::span<{}> tokens) {{\n        \
             const auto n_tokens = static_cast<std::uint32_t>(std::min<std::size_t>(tokens.size(){}, UINT32_MAX));\n        return {};\n    }}\n",
            several(port.words),
            port.name,
            name(&module.function(port.read).name),
            ctype(port.element),
            per_token(port.words),
            call(module, hosted, class, port.read, ", tokens, n_tokens"),
        );
    }
}

/// Ports by their numbers, for the functions that all operations share.
fn by_number(text: &mut String, module: &Module, class: &str) {
    let mut arms: [String; 4] = Default::default();
    for (at, port) in module.interface.inputs.iter().enumerate() {
        let write = name(&module.function(port.write).name);
        let ty = ctype(port.element);
        if port.element == Type::U8 {
            let _ = writeln!(arms[0], "        case {at}: return {write}(bytes);");
        }
        if port.words == 1 && port.element.is_int() {
            let _ = writeln!(
                arms[1],
                "        case {at}: return {write}(std::array<{ty}, 1>{{static_cast<{ty}>(word)}}) == 1;"
            );
        }
    }
    for (at, port) in module.interface.outputs.iter().enumerate() {
        let read = name(&module.function(port.read).name);
        let ty = ctype(port.element);
        if port.element == Type::U8 {
            let _ = writeln!(arms[2], "        case {at}: return {read}(bytes);");
        }
        if port.words == 1 && port.element.is_int() {
            let _ = write!(
                arms[3],
                "        case {at}: {{\n            std::array<{ty}, 1> word{{}};\n            \
                 if ({read}(word) == 1) {{\n                return static_cast<std::uint32_t>(word[0]);\n            }}\n            return std::nullopt;\n        }}\n"
            );
        }
    }
    let [put, put_word, get, get_word] = arms;
    let function = |signature: &str, arms: &str, none: &str| {
        format!(
            "\n    {signature} {{\n        switch (port) {{\n{arms}        default: return {none};\n        }}\n    }}\n"
        )
    };
    text.push_str("\n    // Ports by their numbers.\n");
    text.push_str(&function("std::size_t put(int port, std::span<const std::uint8_t> bytes)", &put, "0"));
    text.push_str(&function("bool put_word(int port, std::uint32_t word)", &put_word, "false"));
    text.push_str("\n    bool run() { return run(UINT64_MAX) == Status::idle; }\n");
    let lacks_room = name(&module.function(module.interface.lacks_room).name);
    let _ = write!(
        text,
        "\n    /// Whether it would go on if there were more room for output.\n    \
         bool wants_room() {{ return {class}::{lacks_room}(whole_x); }}\n"
    );
    text.push_str(&function("std::size_t get(int port, std::span<std::uint8_t> bytes)", &get, "0"));
    text.push_str(&function("std::optional<std::uint32_t> get_word(int port)", &get_word, "std::nullopt"));
    streams(text, module, class);
}

/// What takes input where it lies: numbers of bytes that were taken, and in the upper half of those that were made.
fn streams(text: &mut String, module: &Module, class: &str) {
    let mut arms = String::new();
    let mut uses_output = false;
    for Stream { input, output, function } in &module.interface.streams {
        let own = name(&module.function(*function).name);
        let (condition, room) = match output {
            Some(output) => (format!("input == {input} && output == {output}"), ", room, length(room)"),
            None => (format!("input == {input}"), ""),
        };
        uses_output |= output.is_some();
        let _ = write!(
            arms,
            "        if ({condition}) {{\n            return {class}::{own}(whole_x, bytes, length(bytes){room});\n        }}\n"
        );
    }
    let unused = |used: bool| if used { "" } else { "[[maybe_unused]] " };
    let (input, rest) = (unused(!arms.is_empty()), unused(uses_output));
    let length = if arms.is_empty() {
        ""
    } else {
        "        const auto length = [](Bytes part) { return static_cast<std::uint32_t>(std::min<std::size_t>(part.size(), UINT32_MAX)); };\n"
    };
    let _ = write!(
        text,
        "\n    std::uint64_t stream({input}int input, {input}std::span<const std::uint8_t> bytes, {rest}int output,\n                         \
         {rest}std::span<std::uint8_t> room) {{\n{}{arms}        return 0;\n    }}\n",
        length.replace("Bytes", "std::span<const std::uint8_t>")
    );
}
