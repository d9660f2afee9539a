//! The interface of operations in C++: a class for each, with the functions that its shape asks for.
//!
//! The work is done by `runtime/cpp/message.hpp`; what is printed here is a table of the ports, and thin functions with the
//! parameters that the operation has.

use super::name;
use crate::descriptions::{Spelling, describe};
use crate::operation::{
    Function, Lengths, Operation, Parameter, STRINGS, is_optional, methods, parameters, streams, string_name,
};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_program::names::{camel_case, identifier};
use std::fmt::Write as _;

/// How documentation in C++ spells what it refers to.
const SPELLING: Spelling = Spelling {
    refused: "`Reason::refused`",
    words: "n_words",
    code: |text| format!("`{text}`"),
    string: |name| string_name(name).to_owned(),
    gives_output: false,
};

/// What the run time calls its own.
const TAKEN: [&str; 7] = ["Argument", "Came", "Error", "Host", "Reason", "Status", "Detail"];

/// The name of the class of an operation.
pub(super) fn class_name(spec: &OperationSpec) -> String {
    let own = camel_case(&identifier(&spec.own_name()).to_lowercase());
    if TAKEN.contains(&own.as_str()) { format!("{own}Operation") } else { own }
}

/// The name of its header, without ending.
pub(super) fn header_name(spec: &OperationSpec) -> String {
    name(&identifier(&spec.own_name()).to_lowercase())
}

/// What a function is called.
pub(super) fn method_name(function: Function) -> &'static str {
    match function {
        Function::Key => "key",
        Function::Blocks => "blocks",
        Function::Generate => "generate",
        Function::Init => "init",
        Function::Update => "update",
        // `final` means something in C++.
        Function::Final => "finish",
        Function::Message | Function::Helped | Function::Many => "message",
    }
}

/// Where an output goes among those that may come at the end.
pub(super) fn room(role: Role) -> &'static str {
    match role {
        Role::SecretNonceOut => "secret_nonce_out",
        Role::Output => "out",
        _ => "tag",
    }
}

/// The header of an operation; that of its network is `network_header`, with the class `network_class`.
pub(super) fn operation(
    head: &str,
    spec: &OperationSpec,
    network: &Network,
    network_header: &str,
    network_class: &str,
) -> String {
    let own = class_name(spec);
    let mut text = format!(
        "{head}#pragma once\n\n#include \"{network_header}.hpp\"\n#include \"message.hpp\"\n\nnamespace headrace {{\n\n\
         /// {}.\n///\n/// It may hold secrets, which are overwritten when it is destroyed. It is large: think before it stands on a stack.\n\
         class {own} {{\npublic:\n    /// A context for one message after another.\n    {own}() = default;\n",
        spec.title
    );
    for function in methods(spec) {
        method(&mut text, spec, function);
    }
    text.push_str("\nprivate:\n");
    table(&mut text, spec, network);
    let _ =
        write!(text, "\n    detail::Flow<{network_class}, OPERATION> flow_{{}};\n}};\n\n}}  // namespace headrace\n");
    text
}

fn method(text: &mut String, spec: &OperationSpec, function: Function) {
    const BYTES: &str = "std::span<const std::uint8_t>";
    const ROOM: &str = "std::span<std::uint8_t>";
    let listed = parameters(spec, function);
    let (mut signature, mut given, mut rooms, mut outputs) = (Vec::new(), String::new(), String::new(), Vec::new());
    if function == Function::Generate {
        signature.push("std::uint32_t n_words".to_owned());
    }
    for Parameter { constant, name, port } in &listed {
        let own = string_name(name);
        if port.role.is_output() {
            signature.push(format!("{ROOM} {own}"));
            let at = room(port.role);
            let _ = writeln!(rooms, "        rooms.{at}.bytes = {own};");
            outputs.push(at);
        } else {
            let optional = is_optional(spec, port.role);
            signature.push(if optional { format!("std::optional<{BYTES}> {own}") } else { format!("{BYTES} {own}") });
            let _ = writeln!(given, "        strings[detail::{constant}] = {own};");
        }
    }
    let strings = format!("        detail::Given strings{{}};\n{given}");
    let rooms = format!("        detail::Rooms rooms{{}};\n{rooms}");
    let (mut result, value) = match outputs.as_slice() {
        [] => ("void", String::new()),
        [one] => ("std::size_t", format!("        return rooms.{one}.used;\n")),
        _ => ("Came", "        return {rooms.secret_nonce_out.used, rooms.out.used, rooms.tag.used};\n".to_owned()),
    };
    let body = match function {
        Function::Key => "        flow_.key(key);\n".to_owned(),
        Function::Blocks => {
            signature = vec![format!("{BYTES} input"), format!("{ROOM} out")];
            "        flow_.blocks(input, out);\n".to_owned()
        }
        Function::Init => format!("{strings}        flow_.begin(strings);\n"),
        Function::Update if streams(spec) => "        return flow_.update(input, out);\n".to_owned(),
        Function::Update => "        flow_.update(input, {});\n".to_owned(),
        Function::Generate => {
            result = "std::size_t";
            format!("{strings}        return flow_.words(n_words, strings, out);\n")
        }
        Function::Final => format!("{strings}{rooms}        flow_.end(strings, rooms);\n{value}"),
        Function::Message | Function::Helped | Function::Many => {
            format!("{strings}{rooms}        flow_.whole(strings, rooms);\n{value}")
        }
    };
    let _ = write!(
        text,
        "\n    /// {}\n    {result} {}({}) {{\n{body}    }}\n",
        describe(spec, function, &SPELLING),
        method_name(function),
        signature.join(", ")
    );
}

/// The table that says which ports an operation has.
fn table(text: &mut String, spec: &OperationSpec, network: &Network) {
    let operation = Operation::of(spec, network);
    let shown = |number: Option<usize>| number.map_or("detail::NONE".to_owned(), |number| number.to_string());
    let mut strings = String::new();
    for ((_, role, _), string) in STRINGS.iter().zip(&operation.strings) {
        let Some(string) = string else {
            let _ = writeln!(strings, "            detail::Port{{}},  // {role}");
            continue;
        };
        let lengths: Vec<String> = string.lengths.iter().map(range).collect();
        let _ = writeln!(
            text,
            "    static constexpr std::array<detail::Lengths, {}> {role}_LENGTHS{{{{{}}}}};",
            lengths.len(),
            lengths.join(", ")
        );
        let _ = writeln!(
            strings,
            "            detail::Port{{{}, {}, {role}_LENGTHS}},  // {role}",
            string.port,
            shown(string.sizes)
        );
    }
    let _ = write!(
        text,
        "    static constexpr detail::Operation OPERATION{{\n        .strings = {{{{\n{strings}        }}}},\n        .rekey = {},\n        .decrypt = {},\n        \
         .reseed = {},\n        .blocks = {},\n        .verified = {},\n        .most_words = {},\n        .block_bytes = {},\n        \
         .decrypts = {},\n        .single_chunk = {},\n        .withholds = {},\n    }};\n",
        shown(operation.rekey),
        shown(operation.decrypt),
        shown(operation.reseed),
        shown(operation.blocks),
        shown(operation.verified),
        operation.most_words,
        operation.block_bytes,
        operation.decrypts,
        operation.single_chunk,
        operation.withholds
    );
}

fn range(Lengths { min, max, multiple }: &Lengths) -> String {
    let max = if *max == u64::MAX { "UINT64_MAX".into() } else { format!("UINT64_C({max})") };
    format!("detail::Lengths{{UINT64_C({min}), {max}, UINT64_C({multiple})}}")
}
