//! The interface of operations in Rust: a type for each, with the methods that its shape asks for.
//!
//! The work is done by `runtime/rust/message.rs`; what is printed here is a table of the ports, and thin methods with the
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

/// The name of the module of an operation.
pub(super) fn module_name(spec: &OperationSpec) -> String {
    let own = name(&identifier(&spec.own_name()).to_lowercase());
    if SHIPPED.contains(&own.as_str()) { format!("{own}__") } else { own }
}

/// Modules that crates have beside those of operations.
const SHIPPED: [&str; 4] = ["host", "message", "rustcrypto", "text"];

/// The name of its type.
pub(super) fn type_name(spec: &OperationSpec) -> String {
    camel_case(&identifier(&spec.own_name()).to_lowercase())
}

/// A module with the type of an operation; that of its network stands beside it.
pub(super) fn operation(head: &str, spec: &OperationSpec, network: &Network) -> String {
    let own = type_name(spec);
    let network_module = format!("{}_network", identifier(&spec.own_name()).to_lowercase());
    let mut text = format!(
        "{head}//! {}.\n\n#[allow(unused_imports)]\nuse crate::message::{{self, Flow, Flows, Lengths, Message, Operation, Port, Result}};\n#[allow(unused_imports)]\nuse crate::text::Room;\nuse crate::{network_module}::Context;\n",
        spec.title
    );
    table(&mut text, spec, network);
    let _ = write!(
        text,
        "\n/// {}. It may hold secrets, which are cleared when it is dropped.\n#[derive(Clone)]\npub struct {own} {{\n    \
         network: Context,\n    message: Message,\n}}\n\n\
         impl Default for {own} {{\n    fn default() -> Self {{\n        Self::new()\n    }}\n}}\n\n\
         impl core::fmt::Debug for {own} {{\n    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {{\n        \
         f.write_str(\"{own} {{ .. }}\")\n    }}\n}}\n\n\
         impl {own} {{\n    /// A context for one message after another.\n    pub fn new() -> Self {{\n        \
         Self {{ network: Context::new(), message: Message::NEW }}\n    }}\n",
        spec.title
    );
    for function in methods(spec) {
        method(&mut text, spec, function);
    }
    let _ = write!(
        text,
        "}}\n\nimpl Flows for {own} {{\n    type Network = Context;\n\n    const OPERATION: &'static Operation = &OPERATION;\n\n    \
         fn flow(&mut self) -> Flow<'_, Self> {{\n        \
         Flow {{ network: &mut self.network, message: &mut self.message }}\n    }}\n}}\n\n\
         #[cfg(feature = \"zeroize\")]\nimpl zeroize::ZeroizeOnDrop for {own} {{}}\n"
    );
    text
}

/// How documentation in Rust spells what it refers to.
const SPELLING: Spelling = Spelling {
    refused: "[`message::Error::Refused`]",
    words: "n_words",
    code: |text| format!("`{text}`"),
    string: |name| string_name(name).to_owned(),
    gives_output: false,
};

fn method(text: &mut String, spec: &OperationSpec, function: Function) {
    let listed = parameters(spec, function);
    let mut signature = vec!["&mut self".to_owned()];
    match function {
        Function::Blocks => signature.extend(["input: &[u8]".to_owned(), "out: &mut [u8]".to_owned()]),
        Function::Generate => signature.push("n_words: u32".to_owned()),
        _ => {}
    }
    let (mut given, mut outputs) = (String::new(), Vec::new());
    let mut rooms = ["Room::default()".to_owned(), "Room::default()".to_owned(), "Room::default()".to_owned()];
    for Parameter { constant: role, name, port } in &listed {
        let own = string_name(name);
        if port.role.is_output() {
            signature.push(format!("{own}: &mut [u8]"));
            let at = match port.role {
                Role::SecretNonceOut => 0,
                Role::Output => 1,
                _ => 2,
            };
            rooms[at] = format!("Room::new({own})");
            outputs.push(format!("rooms[{at}].used"));
            continue;
        }
        let optional = is_optional(spec, port.role);
        signature.push(if optional { format!("{own}: Option<&[u8]>") } else { format!("{own}: &[u8]") });
        let value = if optional { own.to_owned() } else { format!("Some({own})") };
        let _ = writeln!(given, "        strings[message::{role}] = {value};");
    }
    let (result, value) = match outputs.as_slice() {
        [] => ("()".to_owned(), "()".to_owned()),
        [one] => ("usize".to_owned(), one.clone()),
        several => (format!("({})", vec!["usize"; several.len()].join(", ")), format!("({})", several.join(", "))),
    };
    let mutable = if given.is_empty() { "" } else { "mut " };
    let strings = format!("        let {mutable}strings: message::Given<'_> = [None; 9];\n{given}");
    let rooms = format!("        let mut rooms = [{}];\n", rooms.join(", "));
    let (own, body) = match function {
        Function::Key => ("key", "        self.flow().key(key)\n".to_owned()),
        Function::Blocks => ("blocks", "        self.flow().blocks(input, out)\n".to_owned()),
        Function::Init => ("init", format!("{strings}        self.flow().begin(&strings, 0)\n")),
        Function::Update => {
            let out = if streams(spec) { "out" } else { "&mut []" };
            let made = if streams(spec) { "out.used" } else { "()" };
            let body = format!(
                "        let mut out = Room::new({out});\n        self.flow().update(input, &mut out)?;\n        Ok({made})\n"
            );
            ("update", body)
        }
        Function::Generate => {
            let body = format!(
                "{strings}        let mut out = Room::new(out);\n        self.flow().words(n_words, &strings, &mut out)?;\n        Ok(out.used)\n"
            );
            ("generate", body)
        }
        Function::Final => (
            "finalize",
            format!("{strings}{rooms}        self.flow().finalize(&strings, &mut rooms)?;\n        Ok({value})\n"),
        ),
        _ => (
            "message",
            format!("{strings}{rooms}        self.flow().whole(&strings, &mut rooms)?;\n        Ok({value})\n"),
        ),
    };
    let _ = write!(
        text,
        "\n    /// {}\n    pub fn {own}({}) -> Result<{result}> {{\n{body}    }}\n",
        describe(spec, function, &SPELLING),
        signature.join(", ")
    );
}

/// The table that says which ports an operation has.
fn table(text: &mut String, spec: &OperationSpec, network: &Network) {
    let operation = Operation::of(spec, network);
    let shown = |number: Option<usize>| number.map_or("None".to_owned(), |number| format!("Some({number})"));
    let mut strings = String::new();
    for ((_, role, _), string) in STRINGS.iter().zip(&operation.strings) {
        let Some(string) = string else {
            let _ = writeln!(strings, "        None, // {role}");
            continue;
        };
        let lengths: Vec<String> = string.lengths.iter().map(range).collect();
        let _ = writeln!(
            strings,
            "        Some(Port {{ port: {}, sizes: {}, lengths: &[{}] }}), // {role}",
            string.port,
            shown(string.sizes),
            lengths.join(", ")
        );
    }
    let _ = write!(
        text,
        "\nconst OPERATION: Operation = Operation {{\n    strings: [\n{strings}    ],\n    \
         rekey: {},\n    decrypt: {},\n    reseed: {},\n    blocks: {},\n    verified: {},\n    most_words: {},\n    block_bytes: {},\n    decrypts: {},\n    \
         single_chunk: {},\n    withholds: {},\n}};\n",
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
    let max = if *max == u64::MAX { "u64::MAX".into() } else { max.to_string() };
    format!("Lengths {{ min: {min}, max: {max}, multiple: {multiple} }}")
}
