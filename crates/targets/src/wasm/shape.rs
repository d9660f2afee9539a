//! The interface of operations in JavaScript: a class for each, with the methods that its shape asks for, and its types.
//!
//! The work is done by `runtime/wasm/message.js`; what is printed here is a table of the ports, and thin methods. A method that
//! takes one string takes it as it is, one that takes several takes an object; the same holds for what comes out.

use crate::descriptions::{Spelling, describe};
use crate::operation::{Function, Operation, Parameter, STRINGS, is_optional, parameters, string_number};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::manifest::Shape;
use headrace_program::Module;
use headrace_program::language::JAVASCRIPT;
use headrace_program::names::{camel_case, identifier};
use std::fmt::Write as _;

/// How documentation in JavaScript spells what it refers to.
const SPELLING: Spelling = Spelling {
    refused: "an error of code `REFUSED`",
    words: "nWords",
    code: |text| format!("`{text}`"),
    string: string_name,
    gives_output: true,
};

/// The name of the files of an operation.
pub(super) fn file_name(spec: &OperationSpec) -> String {
    let own = identifier(&spec.own_name()).to_lowercase();
    if super::project::ships_with(&own) { own + "_" } else { own }
}

/// The name of its class.
pub(super) fn class_name(spec: &OperationSpec) -> String {
    apart(camel_case(&file_name(spec)))
}

/// What its module, or the index of its package, calls its own things.
const OWN: [&str; 8] = ["Network", "Operation", "OperationError", "code", "hex", "load", "once", "properties"];

fn apart(name: String) -> String {
    if OWN.contains(&name.as_str()) { name + "_" } else { JAVASCRIPT.spelled(&name) }
}

/// The name of the function that processes one message, where the operation at this position processes messages: that of the
/// operation, but of a hash what it is known by.
pub(super) fn function_name(operations: &[&OperationSpec], at: usize) -> Option<String> {
    let spec = operations[at];
    if !crate::operation::methods(spec).contains(&Function::Message) {
        return None;
    }
    let is_known = spec.shape == Shape::Hash && spec.name == "hash";
    let is_taken = operations.iter().any(|other| identifier(&other.own_name()) == identifier(&spec.set));
    let own = identifier(&if is_known && !is_taken { spec.set.clone() } else { spec.own_name() }).to_lowercase();
    let mut name = String::new();
    for part in own.split('_') {
        let meets = |ends: fn(char) -> bool| name.ends_with(ends) && part.starts_with(ends);
        if name.is_empty() {
            name.push_str(part);
        } else if meets(|c| c.is_ascii_digit()) {
            // `sha3-256` is no `sha3256`.
            name.push('_');
            name.push_str(part);
        } else {
            name.push_str(&camel_case(part));
        }
    }
    Some(apart(name))
}

/// `secret_nonce` as `secretNonce`, and no word of the language.
fn string_name(name: &str) -> String {
    if name == "in" {
        return "input".to_owned();
    }
    let camel = camel_case(name);
    camel[..1].to_lowercase() + &camel[1..]
}

/// A string of a method.
pub(super) struct Own<'s> {
    pub(super) name: String,
    /// Its place in the order of strings.
    pub(super) number: usize,
    optional: bool,
    parameter: Parameter<'s>,
}

/// A method of an operation.
pub(super) struct Method<'s> {
    pub(super) function: Function,
    pub(super) name: &'static str,
    pub(super) given: Vec<Own<'s>>,
    pub(super) made: Vec<Own<'s>>,
}

impl Method<'_> {
    /// Strings are arguments, and not properties of one.
    pub(super) fn is_plain(&self) -> bool {
        self.given.is_empty() || self.given.len() == 1 && !self.given[0].optional
    }
}

/// The methods that an operation has.
pub(super) fn methods(spec: &OperationSpec) -> Vec<Method<'_>> {
    let method = |function: Function| {
        let name = match function {
            Function::Key => "key",
            Function::Blocks => "blocks",
            Function::Generate => "generate",
            Function::Init => "init",
            Function::Update => "update",
            Function::Final => "finalize",
            _ => "message",
        };
        // Those of blocks are what messages have.
        let asked = if function == Function::Blocks { Function::Message } else { function };
        let is_own = |role: Role| function != Function::Blocks || matches!(role, Role::Input | Role::Output);
        let all = parameters(spec, asked).into_iter().filter(|parameter| is_own(parameter.port.role));
        let all = all.map(|parameter| Own {
            name: string_name(parameter.name),
            number: string_number(parameter.port.role),
            // Without associated data there is an empty string of it.
            optional: is_optional(spec, parameter.port.role)
                || (parameter.port.role == Role::Ad && parameter.port.sizes.allows(0)),
            parameter,
        });
        let (made, given) = all.partition(|own| own.parameter.port.role.is_output());
        Method { function, name, given, made }
    };
    crate::operation::methods(spec).into_iter().map(method).collect()
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace('\n', " ")
}

/// The ports of a network, as its class takes them.
pub(super) fn ports(module: &Module) -> String {
    let name = |id: headrace_program::FunctionId| &module.function(id).name;
    let mut text = String::from("const INPUTS = [\n");
    for port in &module.interface.inputs {
        let _ = writeln!(
            text,
            "  {{ write: '{}', element: '{}', words: {} }},",
            name(port.write),
            port.element,
            port.words
        );
    }
    text.push_str("];\nconst OUTPUTS = [\n");
    for port in &module.interface.outputs {
        let _ = writeln!(
            text,
            "  {{ read: '{}', waiting: '{}', element: '{}', words: {} }},",
            name(port.read),
            name(port.waiting),
            port.element,
            port.words
        );
    }
    text + "];\n"
}

/// The names of the natives that a module calls, by their numbers.
pub(super) fn natives(module: &Module) -> String {
    let names: Vec<String> = module.natives.iter().map(|native| format!("'{}'", native.name)).collect();
    if names.is_empty() { String::new() } else { format!(", [{}]", names.join(", ")) }
}

/// The module with the class of an operation, and the function that makes one for a message, if there is one; the code of its
/// network lies beside it.
pub(super) fn operation(
    head: &str,
    spec: &OperationSpec,
    once: Option<&str>,
    network: &Network,
    module: &Module,
) -> String {
    let own = class_name(spec);
    let is_keyed = spec.input(Role::Key).is_some();
    let mut imported = vec!["Operation"];
    imported.extend(once.map(|_| "once"));
    if once.is_some() && is_keyed || methods(spec).iter().any(|method| !method.is_plain()) {
        imported.push("properties");
    }
    let mut text = format!(
        "{head}// {}.\n\nimport {{ {} }} from './message.js';\nimport {{ Network, load }} from './network.js';\n\n\
         const code = await load(new URL('./{}.wasm', import.meta.url){});\n\n{}{}\n\
         /** {}. It may hold secrets until `clear`. */\nexport class {own} extends Operation {{\n  constructor() {{\n    \
         super(new Network(code, INPUTS, OUTPUTS), OPERATION);\n  }}\n",
        spec.title.replace('\n', " "),
        imported.join(", "),
        file_name(spec),
        natives(module),
        ports(module),
        table(&Operation::of(spec, network)),
        comment(&spec.title)
    );
    for method in methods(spec) {
        let names: Vec<&str> = method.given.iter().map(|own| own.name.as_str()).collect();
        let (mut signature, taken) = if method.is_plain() {
            (names.join(", "), String::new())
        } else {
            let usual = if method.given.iter().all(|own| own.optional) { " = {}" } else { "" };
            (format!("strings{usual}"), format!("    const {{ {} }} = properties(strings);\n", names.join(", ")))
        };
        let strings: Vec<String> = method.given.iter().map(|own| format!("{}: {}", own.number, own.name)).collect();
        let strings = if strings.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", strings.join(", ")) };
        let made: Vec<String> = method.made.iter().map(|own| format!("{}: made[{}]", own.name, own.number)).collect();
        let whole = |call: &str| match method.made.as_slice() {
            [] => format!("    this.{call}({strings});\n"),
            [one] => format!("    return this.{call}({strings})[{}];\n", one.number),
            _ => format!("    const made = this.{call}({strings});\n    return {{ {} }};\n", made.join(", ")),
        };
        let body = match method.function {
            Function::Key => "    this._key(key);\n".to_owned(),
            Function::Blocks => "    return this._blocks(input);\n".to_owned(),
            Function::Init => format!("    this._begin({strings});\n"),
            Function::Update if method.made.is_empty() => "    this._update(input);\n".to_owned(),
            Function::Update => "    return this._update(input);\n".to_owned(),
            Function::Generate => {
                signature = if signature.is_empty() { "nWords".to_owned() } else { format!("nWords, {signature}") };
                format!("    return this._words(nWords, {strings});\n")
            }
            Function::Final => whole("_finalize"),
            _ => whole("_whole"),
        };
        let _ = write!(
            text,
            "\n  /** {} */\n  {}({signature}) {{\n{taken}{body}  }}\n",
            comment(&describe(spec, method.function, &SPELLING)),
            method.name
        );
    }
    text.push_str("}\n");
    if let Some((once, message)) = once.zip(message(spec)) {
        let body = match is_keyed {
            true => {
                let given = if message.is_plain() { "strings.input" } else { "strings" };
                format!(
                    "strings) {{\n  const {{ key }} = properties(strings);\n  return once({own}, (own) => {{\n    own.key(key);\n    \
                     return own.message({given});\n  }});\n"
                )
            }
            false => {
                let given = if message.is_plain() { "input" } else { "strings" };
                format!("{given}) {{\n  return once({own}, (own) => own.message({given}));\n")
            }
        };
        let _ = write!(text, "\n/** {} */\nexport function {once}({body}}}\n", describe_once(spec));
    }
    text
}

/// The method for a whole message.
fn message(spec: &OperationSpec) -> Option<Method<'_>> {
    methods(spec).into_iter().find(|method| method.function == Function::Message)
}

/// What the function does that processes one message.
fn describe_once(spec: &OperationSpec) -> String {
    let key = spec.input(Role::Key).map_or(String::new(), |key| format!(" `key` has {}.", key.sizes));
    let whole = describe(spec, Function::Message, &SPELLING);
    comment(&format!("{whole}{key} It has a context of its own, which is cleared."))
}

/// What the function is given and gives, as its README calls it, `sha256(input)`, and the first of what comes out in digits.
pub(super) fn call_once(spec: &OperationSpec, once: &str) -> Option<String> {
    let message = message(spec)?;
    let key = spec.input(Role::Key).map(|_| "key");
    let given: Vec<&str> = key.into_iter().chain(message.given.iter().map(|own| own.name.as_str())).collect();
    let given = given.join(", ");
    let given = if message.is_plain() && key.is_none() { given } else { format!("{{ {given} }}") };
    let made: Vec<&str> = message.made.iter().map(|own| own.name.as_str()).collect();
    let made = match made.as_slice() {
        [] => String::new(),
        [one] => format!("const {one} = "),
        several => format!("const {{ {} }} = ", several.join(", ")),
    };
    let digits = message.made.first().map_or(String::new(), |own| format!("\nconst digits = hex({});", own.name));
    Some(format!("{made}{once}({given});{digits}"))
}

fn typed(own: &Own<'_>) -> String {
    format!("{}{}: Bytes", own.name, if own.optional { "?" } else { "" })
}

/// The type of what comes out.
fn result(method: &Method<'_>) -> String {
    match method.made.as_slice() {
        [] => "void".to_owned(),
        [_] => "Uint8Array".to_owned(),
        several => {
            let listed: Vec<String> = several.iter().map(|own| format!("{}: Uint8Array", own.name)).collect();
            format!("{{ {} }}", listed.join("; "))
        }
    }
}

/// The types of an operation.
pub(super) fn types(head: &str, spec: &OperationSpec, once: Option<&str>) -> String {
    let mut text = format!(
        "{head}import type {{ Bytes }} from './message.js';\n\n/** {}. It may hold secrets until `clear`. */\n\
         export declare class {} {{\n  constructor();\n",
        comment(&spec.title),
        class_name(spec)
    );
    for method in methods(spec) {
        let given: Vec<String> = method.given.iter().map(typed).collect();
        let mut parameters = Vec::new();
        if method.function == Function::Generate {
            parameters.push("nWords: number".to_owned());
        }
        if method.is_plain() {
            parameters.extend(given);
        } else {
            let optional = if method.given.iter().all(|own| own.optional) { "?" } else { "" };
            parameters.push(format!("strings{optional}: {{ {} }}", given.join("; ")));
        }
        let result = result(&method);
        let _ = write!(
            text,
            "\n  /** {} */\n  {}({}): {result};\n",
            comment(&describe(spec, method.function, &SPELLING)),
            method.name,
            parameters.join(", ")
        );
    }
    text.push_str(
        "\n  /** Overwrites the context, which may hold secrets: nothing can be done with it any more. */\n  clear(): void;\n}\n",
    );
    if let Some((once, message)) = once.zip(message(spec)) {
        let mut given: Vec<String> = message.given.iter().map(typed).collect();
        let keyed = spec.input(Role::Key).is_some();
        if keyed {
            given.insert(0, "key: Bytes".to_owned());
        }
        let given = given.join("; ");
        let given = if message.is_plain() && !keyed { given } else { format!("strings: {{ {given} }}") };
        let _ = write!(
            text,
            "\n/** {} */\nexport declare function {once}({given}): {};\n",
            describe_once(spec),
            result(&message)
        );
    }
    text
}

/// The table that says which ports an operation has.
fn table(operation: &Operation) -> String {
    let shown = |port: Option<usize>| port.map_or("null".to_owned(), |port| port.to_string());
    let mut strings = String::new();
    for (string, (_, own, _)) in operation.strings.iter().zip(STRINGS) {
        let Some(string) = string else {
            let _ = writeln!(strings, "    null, // {own}");
            continue;
        };
        let lengths = string.lengths.iter().map(|lengths| {
            // Beyond what arrays and numbers have, nothing bounds a length.
            let max = if lengths.max >= 1 << 53 { "Infinity".to_owned() } else { lengths.max.to_string() };
            format!("[{}, {max}, {}]", lengths.min, lengths.multiple)
        });
        let _ = writeln!(
            strings,
            "    {{ port: {}, sizes: {}, lengths: [{}] }}, // {own}",
            string.port,
            shown(string.sizes),
            lengths.collect::<Vec<_>>().join(", ")
        );
    }
    format!(
        "const OPERATION = {{\n  strings: [\n{strings}  ],\n  rekey: {},\n  decrypt: {},\n  reseed: {},\n  blocks: {},\n  verified: {},\n  \
         mostWords: {},\n  blockBytes: {},\n  decrypts: {},\n  singleChunk: {},\n}};\n",
        shown(operation.rekey),
        shown(operation.decrypt),
        shown(operation.reseed),
        shown(operation.blocks),
        shown(operation.verified),
        operation.most_words,
        operation.block_bytes,
        operation.decrypts,
        operation.single_chunk
    )
}
