//! The interface of operations in Java: a class for each, with the methods that its shape asks for.
//!
//! The work is done by `runtime/java/Flow.java`; what is printed here is a table of the ports, and thin methods with the
//! parameters that the operation has.

use super::name;
use crate::descriptions::{Spelling, describe};
use crate::operation::{Function, Lengths, Operation, Parameter, STRINGS, methods, parameters, streams, string_name};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_program::names::{camel_case, identifier};
use std::fmt::Write as _;

/// How documentation in Java spells what it refers to.
const SPELLING: Spelling = Spelling {
    refused: "{@link MessageException.Reason#REFUSED}",
    words: "words",
    code: |text| format!("{{@code {text}}}"),
    string: |name| string_name(name).to_owned(),
    gives_output: false,
};

/// The name of the class of an operation.
pub(super) fn class_name(spec: &OperationSpec) -> String {
    let own = camel_case(&identifier(&spec.own_name()).to_lowercase());
    if super::runtime::has_class(&own) { format!("{own}Operation") } else { own }
}

/// Where an output goes among those that may come at the end.
pub(super) fn room(role: Role) -> &'static str {
    match role {
        Role::SecretNonceOut => "SECRET_NONCE_ROOM",
        Role::Output => "OUTPUT_ROOM",
        _ => "TAG_ROOM",
    }
}

/// What a method is called.
pub(super) fn method_name(function: Function) -> &'static str {
    match function {
        Function::Key => "key",
        Function::Blocks => "blocks",
        Function::Generate => "generate",
        Function::Init => "init",
        Function::Update => "update",
        // Objects have a method `finalize`.
        Function::Final => "finish",
        Function::Message | Function::Helped | Function::Many => "message",
    }
}

/// The class of an operation; that of its network is `network_class`.
pub(super) fn operation(head: &str, spec: &OperationSpec, network: &Network, network_class: &str) -> String {
    let own = class_name(spec);
    let mut text = format!(
        "{head}import headrace.Operation.Lengths;\nimport headrace.Operation.Port;\nimport java.nio.ByteBuffer;\nimport javax.security.auth.Destroyable;\n\n\
         /**\n * {}.\n *\n * <p>Strings come out in buffers, whose positions then say how many bytes came. It may hold secrets: {{@link #destroy}} \
         overwrites them.\n * No two threads may use one object at a time.\n */\n\
         public final class {own} implements AutoCloseable, Destroyable {{\n",
        spec.title
    );
    table(&mut text, spec, network);
    let _ = write!(
        text,
        "\n    private final Flow flow = flow();\n\n    /** A context for one message after another. */\n    public {own}() {{}}\n\n    \
         static Flow flow() {{\n        return new Flow(OPERATION, new {network_class}());\n    }}\n"
    );
    for function in methods(spec) {
        method(&mut text, spec, function);
    }
    text.push_str(
        "\n    /** Overwrites all state; the object is of no use then. */\n    @Override\n    public void destroy() {\n        flow.destroy();\n    }\n\n    \
         @Override\n    public boolean isDestroyed() {\n        return flow.isDestroyed();\n    }\n\n    \
         @Override\n    public void close() {\n        flow.destroy();\n    }\n}\n",
    );
    text
}

fn method(text: &mut String, spec: &OperationSpec, function: Function) {
    let listed = parameters(spec, function);
    let (mut signature, mut given, mut rooms, mut done) = (Vec::new(), String::new(), String::new(), String::new());
    if function == Function::Generate {
        signature.push("int words".to_owned());
    }
    for Parameter { constant, name: own, port } in &listed {
        let own = string_name(own);
        if port.role.is_output() {
            signature.push(format!("ByteBuffer {own}"));
            let at = room(port.role);
            let _ = writeln!(rooms, "        rooms[Flow.{at}] = new Room({own});");
            let _ = writeln!(done, "        rooms[Flow.{at}].done();");
        } else {
            signature.push(format!("byte[] {own}"));
            let _ = writeln!(given, "        strings[Operation.{constant}] = Span.of({own});");
        }
    }
    let strings = format!("        Span[] strings = Flow.strings();\n{given}");
    let rooms = format!("        Room[] rooms = Flow.rooms();\n{rooms}");
    let body = match function {
        Function::Key => "        flow.key(Span.of(key));\n".to_owned(),
        Function::Blocks => {
            signature = vec!["byte[] input".to_owned(), "ByteBuffer out".to_owned()];
            "        Room room = new Room(out);\n        flow.blocks(Span.of(input), room);\n        room.done();\n"
                .to_owned()
        }
        Function::Init => format!("{strings}        flow.begin(strings, 0);\n"),
        Function::Update => {
            signature = vec!["byte[] input".to_owned(), "int from".to_owned(), "int count".to_owned()];
            if streams(spec) {
                signature.push("ByteBuffer out".to_owned());
                "        Room room = new Room(out);\n        flow.update(new Span(input, from, count), room);\n        room.done();\n"
                    .to_owned()
            } else {
                "        flow.update(new Span(input, from, count), Room.none());\n".to_owned()
            }
        }
        Function::Generate => format!(
            "{strings}        Room room = new Room(out);\n        flow.words(words, strings, room);\n        room.done();\n"
        ),
        Function::Final => format!("{strings}{rooms}        flow.end(strings, rooms);\n{done}"),
        Function::Message | Function::Helped | Function::Many => {
            format!("{strings}{rooms}        flow.whole(strings, rooms);\n{done}")
        }
    };
    let _ = write!(
        text,
        "\n    /** {} */\n    public void {}({}) throws MessageException {{\n{body}    }}\n",
        describe(spec, function, &SPELLING),
        method_name(function),
        signature.join(", ")
    );
}

/// The table that says which ports an operation has.
fn table(text: &mut String, spec: &OperationSpec, network: &Network) {
    let operation = Operation::of(spec, network);
    let shown = |number: Option<usize>| number.map_or("Operation.NONE".to_owned(), |number| number.to_string());
    let mut strings = Vec::new();
    for ((_, role, _), string) in STRINGS.iter().zip(&operation.strings) {
        strings.push(match string {
            None => format!("                /* {role} */ null"),
            Some(string) => {
                let mut arguments = vec![string.port.to_string(), shown(string.sizes)];
                arguments.extend(string.lengths.iter().map(range));
                format!("                /* {role} */ new Port({})", arguments.join(", "))
            }
        });
    }
    let _ = write!(
        text,
        "    static final Operation OPERATION = new Operation(\n            new Port[] {{\n{}\n            }},\n            \
         /* rekey */ {},\n            /* decrypt */ {},\n            /* reseed */ {},\n            /* blocks */ {},\n            \
         /* verified */ {},\n            /* mostWords */ {}L,\n            /* blockBytes */ {},\n            /* decrypts */ {},\n            \
         /* singleChunk */ {},\n            /* withholds */ {});\n",
        strings.join(",\n"),
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
    // No array and no count of bytes is longer.
    let most = i64::MAX.unsigned_abs();
    let max = if *max > most { "Long.MAX_VALUE".into() } else { format!("{max}L") };
    format!("new Lengths({}L, {max}, {}L)", min.min(&most), multiple.min(&most))
}

/// The package of a project, below `headrace`.
pub(super) fn package(text: &str) -> String {
    format!("headrace.{}", name(&identifier(text).to_lowercase()))
}
