//! Known-answer tests. The test of a project: known answers of each operation, whole, in pieces and through the JCA; for a
//! network, a recorded run.

use super::expression::element;
use super::network::LITERAL_BYTES;
use super::provider::{Kind, Service, provider_class};
use super::shape::{class_name, method_name};
use super::{literal, name};
use crate::operation::{Function, Parameter, is_optional, methods, parameters, streams, string_constant, string_name};
use crate::project::Recording;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_program::{Module, effects};
use std::fmt::Write as _;

/// The test of a parameter set: a class with a method for each operation.
pub(super) fn of_operations(head: &str, set: &str, specs: &[&OperationSpec], services: &[Service<'_>]) -> String {
    let mut methods = String::new();
    let mut calls = String::new();
    for spec in specs {
        let own = class_name(spec);
        let _ = writeln!(
            calls,
            "        Answer.report({}, test::test{own});",
            literal(&format!("operation {}", spec.own_name()))
        );
        operation(&mut methods, spec);
    }
    if !services.is_empty() {
        let _ = writeln!(calls, "        Answer.report(\"services\", test::testServices);");
        let _ = write!(
            methods,
            "\n    /** What programs reach through the JCA. */\n    public void testServices() throws Exception {{\n        \
             Services test = new Services(new {}());\n",
            provider_class(set)
        );
        for service in services {
            for asked in &service.names {
                let asked = literal(asked);
                let (one, other) = (literal(&service.spec.own_name()), literal(&service.inverse.own_name()));
                let key = service.spec.jca.keys.first().map_or_else(|| asked.clone(), |key| literal(key));
                let _ = match service.kind {
                    Kind::Cipher => writeln!(methods, "        test.cipher({asked}, {key}, {one}, {other});"),
                    Kind::Digest => writeln!(methods, "        test.digest({asked}, {one});"),
                    Kind::Mac => writeln!(methods, "        test.mac({asked}, {one});"),
                    Kind::Random => writeln!(methods, "        test.random({asked});"),
                };
            }
        }
        methods.push_str("    }\n");
    }
    let services = if services.is_empty() { "" } else { "import headrace.test.Services;\n" };
    format!(
        "{head}import headrace.test.Answer;\nimport headrace.test.Made;\n{services}import java.nio.ByteBuffer;\nimport java.util.Arrays;\n\n\
         /** Known answers. */\npublic final class KnownAnswersTest {{\n    \
         /** All of them, for those without Maven. */\n    public static void main(String[] arguments) throws Exception {{\n        \
         KnownAnswersTest test = new KnownAnswersTest();\n{calls}        Answer.finish();\n    }}\n{methods}}}\n"
    )
}

fn operation(text: &mut String, spec: &OperationSpec) {
    let own = class_name(spec);
    let _ = write!(
        text,
        "\n    /** {{@code {}}}. */\n    public void test{own}() throws Exception {{\n        \
         try ({own} context = new {own}()) {{\n            for (Answer answer : Answer.of({})) {{\n",
        spec.own_name(),
        literal(&spec.own_name())
    );
    let methods = methods(spec);
    for function in [Function::Message, Function::Generate, Function::Blocks] {
        if methods.contains(&function) {
            whole(text, spec, function);
        }
    }
    if methods.contains(&Function::Update) {
        pieces(text, spec);
    }
    text.push_str("            }\n        }\n    }\n");
}

/// What a method is given, and the strings that come out of it.
struct Call {
    arguments: Vec<String>,
    outputs: Vec<(&'static str, &'static str)>,
}

fn call(spec: &OperationSpec, function: Function) -> Call {
    let mut call = Call { arguments: Vec::new(), outputs: Vec::new() };
    for Parameter { constant, name, port } in parameters(spec, function) {
        let own = string_name(name);
        if port.role.is_output() {
            call.arguments.push(own.to_owned());
            call.outputs.push((own, constant));
        } else {
            let get = if is_optional(spec, port.role) { "find" } else { "get" };
            call.arguments.push(format!("answer.{get}(\"{constant}\")"));
        }
    }
    call
}

/// An attempt that ends in strings, or in an exception of what it does before.
fn attempt(text: &mut String, spec: &OperationSpec, what: &str, body: &[String], outputs: &[(&str, &str)]) {
    let _ = writeln!(text, "                answer.judge(\"{}{what}\", () -> {{", spec.own_name());
    if spec.input(Role::Key).is_some() {
        let _ = writeln!(text, "                    context.key({});", call(spec, Function::Key).arguments.join(", "));
    }
    for (own, _) in outputs {
        let _ = writeln!(text, "                    ByteBuffer {own} = answer.room();");
    }
    for line in body {
        let _ = writeln!(text, "                    {line}");
    }
    let made: String = outputs.iter().map(|(own, constant)| format!(".with(\"{constant}\", {own})")).collect();
    let _ = writeln!(text, "                    return new Made(){made};\n                }});");
}

fn whole(text: &mut String, spec: &OperationSpec, function: Function) {
    let mut all = call(spec, function);
    match function {
        Function::Generate => all.arguments.insert(0, "answer.words()".to_owned()),
        Function::Blocks => {
            all.arguments = vec![format!("answer.get(\"{}\")", string_constant(Role::Input)), "out".to_owned()];
            all.outputs = vec![("out", string_constant(Role::Output))];
        }
        _ => {}
    }
    if function == Function::Generate {
        // As much as is known of what comes, and no more.
        let body = [
            format!(
                "ByteBuffer out = ByteBuffer.allocate(Math.max(1, answer.get(\"{}\").length));",
                string_constant(Role::Output)
            ),
            format!("context.generate({});", all.arguments.join(", ")),
            format!("return new Made().with(\"{}\", out);", string_constant(Role::Output)),
        ];
        let _ = write!(
            text,
            "                answer.judge(\"{}\", () -> {{\n                    {}\n                }});\n",
            spec.own_name(),
            body.join("\n                    ")
        );
        return;
    }
    let body = [format!("context.{}({});", method_name(function), all.arguments.join(", "))];
    attempt(text, spec, "", &body, &all.outputs);
}

/// Again, in pieces of 1, 2, 3, … bytes.
fn pieces(text: &mut String, spec: &OperationSpec) {
    let last = call(spec, Function::Final);
    let out = if streams(spec) { ", out" } else { "" };
    let body = [
        format!("context.init({});", call(spec, Function::Init).arguments.join(", ")),
        format!("byte[] input = answer.get(\"{}\");", string_constant(Role::Input)),
        "for (int at = 0, piece = 1; at < input.length; at += piece++) {".to_owned(),
        format!("    context.update(input, at, Math.min(piece, input.length - at){out});"),
        "}".to_owned(),
        format!("context.finish({});", last.arguments.join(", ")),
    ];
    attempt(text, spec, ", in pieces", &body, &last.outputs);
}

/// Stored tokens as literals of their digits.
fn digits(tokens: &[u8]) -> String {
    let digits = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let parts: Vec<String> = tokens.chunks(LITERAL_BYTES / 2).map(|bytes| literal(&digits(bytes))).collect();
    parts.join(", ")
}

/// A host that shows nothing and has no natives.
const SILENT: &str = "    private static final Host SILENT = new Host() {
        @Override
        public void print(byte[] bytes, int from, int count) {}

        @Override
        public void printReal(double value, int bits) {}

        @Override
        public java.util.OptionalLong call(String name, Argument[] arguments) {
            return java.util.OptionalLong.empty();
        }
    };

";

/// The test of a network: what went in and what must come out.
pub(super) fn of_network(head: &str, module: &Module, class: &str, recording: Option<&Recording>) -> String {
    let (mut body, mut silent) = (String::new(), "");
    if let Some(recording) = recording {
        let _ = writeln!(body, "        {class} context = new {class}();");
        let (mut moves, mut checks) = (String::new(), String::new());
        for (at, (port, tokens)) in module.interface.inputs.iter().zip(&recording.inputs).enumerate() {
            let (ty, own) = (element(port.element), name(&module.function(port.write).name));
            let _ =
                writeln!(body, "        {ty}[] in_{at} = Streams.{ty}s({});\n        int at_{at} = 0;", digits(tokens));
            let _ = write!(
                moves,
                "            n = context.{own}(in_{at}, at_{at}, (in_{at}.length - at_{at}) / {0});\n            at_{at} += n * {0};\n            moved += n;\n",
                port.words
            );
        }
        let host = if effects::reach_host(module)[module.interface.run.index()] { ", SILENT" } else { "" };
        silent = if host.is_empty() { "" } else { SILENT };
        let _ = writeln!(moves, "            context.run(-1L{host});");
        for (at, (port, tokens)) in module.interface.outputs.iter().zip(&recording.outputs).enumerate() {
            let (ty, own) = (element(port.element), name(&module.function(port.read).name));
            let _ = writeln!(
                body,
                "        {ty}[] wanted_{at} = Streams.{ty}s({0});\n        {ty}[] out_{at} = new {ty}[wanted_{at}.length + {1}];\n        int got_{at} = 0;",
                digits(tokens),
                port.words
            );
            let _ = write!(
                moves,
                "            n = context.{own}(out_{at}, got_{at}, (out_{at}.length - got_{at}) / {0});\n            got_{at} += n * {0};\n            moved += n;\n",
                port.words
            );
            let _ = writeln!(
                checks,
                "        Streams.sure(Arrays.equals(wanted_{at}, Arrays.copyOf(out_{at}, got_{at})), {});",
                literal(&port.name)
            );
        }
        let _ = write!(
            body,
            "        int moved;\n        do {{\n            moved = 0;\n            int n;\n{moves}        }} while (moved != 0);\n{checks}"
        );
    } else {
        body.push_str("        // None was recorded: its streams would not tell.\n");
    }
    format!(
        "{head}import headrace.test.Streams;\nimport java.util.Arrays;\n\n/** A run on the interpreter, again. */\npublic final class RecordedTest {{\n{silent}    \
         /** The run, for those without Maven. */\n    public static void main(String[] arguments) {{\n        new RecordedTest().testRun();\n    }}\n\n    \
         /** The run. */\n    public void testRun() {{\n{body}    }}\n}}\n"
    )
}
