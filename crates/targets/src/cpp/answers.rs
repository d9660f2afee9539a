//! Known-answer tests. The test of a project: known answers of each operation, whole and in pieces; for a network, a recorded
//! run.

use super::expression::ctype;
use super::name;
use super::shape::{class_name, method_name, room};
use crate::operation::{Function, Parameter, is_optional, methods, parameters, streams, string_constant, string_name};
use crate::project::Recording;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_program::{Module, Type, effects};
use std::fmt::Write as _;

/// The test of a parameter set, which includes the header of all of its operations.
pub(super) fn of_operations(head: &str, header: &str, specs: &[&OperationSpec]) -> String {
    let (mut functions, mut calls) = (String::new(), String::new());
    for spec in specs {
        let own = class_name(spec);
        let _ = writeln!(calls, "        answers.report(\"{}\", [&] {{ test_{own}(answers); }});", spec.own_name());
        operation(&mut functions, spec);
    }
    format!(
        "{head}// Known answers, which the file has that is given.\n\n#include \"answer.hpp\"\n\n#include <headrace/{header}>\n\n#include <memory>\n\n\
         using namespace headrace;\nusing test::Answer;\nusing test::Made;\n\n{functions}\
         int main(int argc, char** argv) {{\n    if (argc != 2) {{\n        std::fprintf(stderr, \"usage: %s known_answers.txt\\n\", argv[0]);\n        return 2;\n    }}\n    \
         try {{\n        test::Answers answers(argv[1]);\n{calls}        std::printf(\"%zu known answers\\n\", answers.n_judged());\n        return answers.n_failed() != 0;\n    \
         }} catch (const std::exception& error) {{\n        std::fprintf(stderr, \"%s\\n\", error.what());\n        return 1;\n    }}\n}}\n"
    )
}

fn operation(text: &mut String, spec: &OperationSpec) {
    let own = class_name(spec);
    let _ = write!(
        text,
        "static void test_{own}(test::Answers& answers) {{\n    auto context = std::make_unique<{own}>();\n    \
         for (const Answer& answer : answers.of(\"{}\")) {{\n",
        spec.own_name()
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
    text.push_str("    }\n}\n\n");
}

/// What a function is given, and the strings that come out of it: their names, roles, and where lengths are told.
struct Call {
    arguments: Vec<String>,
    /// Which of the arguments is the output, if one is.
    output: Option<usize>,
    outputs: Vec<(&'static str, &'static str, &'static str)>,
}

fn call(spec: &OperationSpec, function: Function) -> Call {
    let mut call = Call { arguments: Vec::new(), output: None, outputs: Vec::new() };
    for Parameter { constant, name, port } in parameters(spec, function) {
        let own = string_name(name);
        if port.role.is_output() {
            if port.role == Role::Output {
                call.output = Some(call.arguments.len());
            }
            call.arguments.push(own.to_owned());
            call.outputs.push((own, constant, room(port.role)));
        } else {
            let get = if is_optional(spec, port.role) { "find" } else { "get" };
            call.arguments.push(format!("answer.{get}(\"{constant}\")"));
        }
    }
    call
}

impl Call {
    /// Takes what a call says of lengths.
    fn told(&self, call: &str) -> String {
        if self.outputs.is_empty() { format!("{call};") } else { format!("const auto n = {call};") }
    }

    /// The strings, with what came of output before.
    fn made(&self, before: &str) -> String {
        let lengths = |at: &str| if self.outputs.len() == 1 { "n".to_owned() } else { format!("n.{at}") };
        let with = self.outputs.iter().map(|(own, constant, at)| {
            let before = if *constant == string_constant(Role::Output) { before } else { "" };
            format!(".with(\"{constant}\", {own}, {before}{})", lengths(at))
        });
        format!("return Made(){};", with.collect::<String>())
    }
}

/// An attempt that ends in strings, or in an error of what it does before.
fn attempt(text: &mut String, spec: &OperationSpec, what: &str, rooms: &[(&str, String)], body: &[String]) {
    let _ = writeln!(text, "        answers.judge(answer, \"{}{what}\", [&] {{", spec.own_name());
    if spec.input(Role::Key).is_some() {
        let _ = writeln!(text, "            context->key({});", call(spec, Function::Key).arguments.join(", "));
    }
    for (own, room) in rooms {
        let _ = writeln!(text, "            auto {own} = {room};");
    }
    for line in body {
        let _ = writeln!(text, "            {line}");
    }
    text.push_str("        });\n");
}

fn rooms(call: &Call) -> Vec<(&'static str, String)> {
    call.outputs.iter().map(|(own, ..)| (*own, "answer.room()".to_owned())).collect()
}

fn whole(text: &mut String, spec: &OperationSpec, function: Function) {
    let mut all = call(spec, function);
    let mut room = rooms(&all);
    match function {
        Function::Generate => {
            all.arguments.insert(0, "answer.words()".to_owned());
            // As much as is known of what comes, and no more.
            let known = format!(
                "test::Bytes(std::max<std::size_t>(1, answer.get(\"{}\").size()))",
                string_constant(Role::Output)
            );
            room = vec![("out", known)];
        }
        Function::Blocks => {
            let input = format!("answer.get(\"{}\")", string_constant(Role::Input));
            let body = [
                format!("context->blocks({input}, out);"),
                format!("return Made().with(\"{}\", out, out.size());", string_constant(Role::Output)),
            ];
            return attempt(text, spec, "", &[("out", format!("test::Bytes({input}.size())"))], &body);
        }
        _ => {}
    }
    let made = all.told(&format!("context->{}({})", method_name(function), all.arguments.join(", ")));
    attempt(text, spec, "", &room, &[made, all.made("")]);
}

/// Again, in pieces of 1, 2, 3, … bytes.
fn pieces(text: &mut String, spec: &OperationSpec) {
    let streamed = streams(spec);
    let mut last = call(spec, Function::Final);
    let room = rooms(&last);
    let (update, before) = if streamed {
        if let Some(at) = last.output {
            last.arguments[at] = "std::span(out).subspan(total)".to_owned();
        }
        ("total += context->update(now, std::span(out).subspan(total));", "total + ")
    } else {
        ("context->update(now);", "")
    };
    let mut body = vec![format!("context->init({});", call(spec, Function::Init).arguments.join(", "))];
    if streamed {
        body.push("std::size_t total = 0;".to_owned());
    }
    body.extend([
        format!("std::span<const std::uint8_t> rest = answer.get(\"{}\");", string_constant(Role::Input)),
        "for (std::size_t piece = 1; !rest.empty(); ++piece) {".to_owned(),
        "    const auto now = rest.first(std::min(rest.size(), piece));".to_owned(),
        format!("    {update}"),
        "    rest = rest.subspan(now.size());".to_owned(),
        "}".to_owned(),
        last.told(&format!("context->finish({})", last.arguments.join(", "))),
        last.made(before),
    ]);
    attempt(text, spec, ", in pieces", &room, &body);
}

/// A host that shows nothing and has no natives.
const SILENT: &str = "static struct Silent final : {space}::Host {
    void print(std::span<const std::uint8_t>) override {}
    void print_real(double, int) override {}
    std::optional<std::int64_t> native(std::string_view, std::span<{space}::Argument>) override { return std::nullopt; }
} silent;

";

/// The test of a network: what went in and what must come out.
pub(super) fn of_network(
    head: &str,
    space: &str,
    class: &str,
    module: &Module,
    recording: Option<&Recording>,
) -> String {
    let header = format!("{}.hpp", space.replace("::", "/"));
    let Some(recording) = recording else {
        return format!(
            "{head}// No run was recorded: its streams would not tell.\n\n#include <{header}>\n\nint main() {{}}\n"
        );
    };
    let elements = |tokens: &[u8], ty: Type| -> String {
        let values = tokens.chunks_exact(ty.bytes() as usize).map(|bytes| {
            super::expression::item(
                ty.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))),
                ty,
            )
        });
        values.collect::<Vec<_>>().join(", ")
    };
    let (silent, host) = match effects::reach_host(module)[module.interface.run.index()] {
        true => (SILENT.replace("{space}", space), ", silent"),
        false => (String::new(), ""),
    };
    let (mut begin, mut write, mut read, mut check) = (String::new(), String::new(), String::new(), String::new());
    for (at, (port, tokens)) in module.interface.inputs.iter().zip(&recording.inputs).enumerate() {
        let (ty, own) = (ctype(port.element), name(&module.function(port.write).name));
        let _ = write!(
            begin,
            "    const std::vector<{ty}> in_{at}{{{}}};\n    std::span<const {ty}> left_{at}(in_{at});\n",
            elements(tokens, port.element)
        );
        let _ = write!(
            write,
            "        n = context->{own}(left_{at});\n        left_{at} = left_{at}.subspan(n * {});\n        moved += n;\n",
            port.words
        );
    }
    for (at, (port, tokens)) in module.interface.outputs.iter().zip(&recording.outputs).enumerate() {
        let (ty, own) = (ctype(port.element), name(&module.function(port.read).name));
        let _ = write!(
            begin,
            "    const std::vector<{ty}> wanted_{at}{{{}}};\n    std::vector<{ty}> out_{at};\n",
            elements(tokens, port.element)
        );
        let _ = write!(
            read,
            "        {{\n            std::array<{ty}, {0}> tokens{{}};\n            n = context->{own}(tokens);\n            \
             out_{at}.insert(out_{at}.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n * {1}));\n            moved += n;\n        }}\n",
            port.words * 64,
            port.words
        );
        let _ = write!(
            check,
            "    if (out_{at} != wanted_{at}) {{\n        std::fprintf(stderr, \"the output {} differs\\n\");\n        return 1;\n    }}\n",
            port.name
        );
    }
    format!(
        "{head}// A run on the interpreter, again.\n\n#include <{header}>\n\n#include <cstdio>\n#include <memory>\n#include <vector>\n\n{silent}int main() {{\n    \
         auto context = std::make_unique<{space}::{class}>();\n{begin}    std::size_t moved = 0;\n    do {{\n        moved = 0;\n        std::size_t n = 0;\n{write}        \
         context->run(UINT64_MAX{host});\n{read}    }} while (moved != 0);\n{check}    return 0;\n}}\n"
    )
}
