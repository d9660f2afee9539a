//! Known-answer tests. The test of a crate: known answers of each operation, whole and in pieces; for a network, a recorded
//! run.

use super::NO_LINTS;
use super::shape::{module_name, type_name};
use crate::operation::{
    Function, Parameter, STRINGS, is_optional, methods, parameters, streams, string_name, string_number,
};
use crate::project::{KnownAnswer, Recording};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_program::{Module, effects};
use std::fmt::Write as _;

/// What comes with every test of operations.
const HARNESS: &str = r#"
/// A message and what comes of it: strings in the order in which the methods take and give them.
#[allow(dead_code, reason = "each operation uses the part of it that its shape needs")]
struct Answer {
    strings: [Option<&'static [u8]>; 12],
    words: u32,
    refused: bool,
}

/// Of a tag the first bytes may be all that is known.
const TAG: usize = 11;

#[allow(dead_code, reason = "each operation uses the part of it that its shape needs")]
impl Answer {
    fn get(&self, string: usize) -> &'static [u8] {
        self.strings[string].unwrap_or_default()
    }

    /// How much room every string that comes out has.
    fn room(&self) -> Vec<u8> {
        vec![0xa5; self.strings.iter().flatten().map(|bytes| bytes.len()).max().unwrap_or(0) + 1024]
    }

    fn judge(&self, what: &str, at: usize, got: Result<Vec<(usize, Vec<u8>)>>) {
        match got {
            Err(error) => assert!(self.refused && error != Error::Stuck, "{what} {at}: {error}"),
            Ok(got) => {
                assert!(!self.refused, "{what} {at}: it was not refused");
                for (string, bytes) in got {
                    let Some(wanted) = self.strings[string] else { continue };
                    let n = if string == TAG { wanted.len().min(bytes.len()) } else { bytes.len() };
                    assert_eq!(wanted, &bytes[..n], "{what} {at}");
                }
            }
        }
    }
}
"#;

fn literal(bytes: &[u8]) -> String {
    let mut text = "b\"".to_owned();
    for byte in bytes {
        let _ = write!(text, "\\x{byte:02x}");
    }
    text + "\""
}

/// The test of a parameter set.
pub(super) fn of_operations(
    head: &str,
    crate_name: &str,
    operations: &[(&OperationSpec, &Network)],
    answers: &[KnownAnswer],
) -> String {
    let mut text = format!("{head}//! Known answers.\n\n{NO_LINTS}\nuse {crate_name}::*;\n{HARNESS}");
    for (position, (spec, _)) in operations.iter().enumerate() {
        let mine: Vec<&KnownAnswer> = answers.iter().filter(|answer| answer.operation == position).collect();
        if !mine.is_empty() {
            operation(&mut text, spec, &mine);
        }
    }
    text
}

fn operation(text: &mut String, spec: &OperationSpec, answers: &[&KnownAnswer]) {
    let (module, own) = (module_name(spec), type_name(spec));
    let table = module.to_uppercase();
    let _ = write!(text, "\nstatic {table}: &[Answer] = &[\n");
    for answer in answers {
        let strings: Vec<String> = STRINGS
            .iter()
            .map(|(role, ..)| {
                let expected = answer.expected.as_ref().and_then(|expected| expected.get(role));
                let bytes = answer.strings.get(role).or(expected);
                bytes.map_or("None".to_owned(), |bytes| format!("Some({})", literal(bytes)))
            })
            .collect();
        let _ = writeln!(
            text,
            "    Answer {{ strings: [{}], words: {}, refused: {} }},",
            strings.join(", "),
            answer.words,
            answer.expected.is_none()
        );
    }
    let _ = write!(
        text,
        "];\n\n#[test]\nfn {module}() {{\n    let mut context = Box::new({own}::new());\n    let mut judged = 0;\n    \
         for (at, answer) in {table}.iter().enumerate() {{\n"
    );
    let methods = methods(spec);
    if let Some(function) = [Function::Message, Function::Generate].into_iter().find(|found| methods.contains(found)) {
        whole(text, spec, function);
    }
    if methods.contains(&Function::Blocks) {
        blocks(text, spec);
    }
    if methods.contains(&Function::Update) {
        pieces(text, spec);
    }
    let _ = write!(text, "    }}\n    println!(\"operation {}: {{judged}} passed, 0 failed\");\n}}\n", spec.own_name());
}

fn given(spec: &OperationSpec, parameter: &Parameter<'_>) -> String {
    let role = parameter.port.role;
    let number = string_number(role);
    if is_optional(spec, role) { format!("answer.strings[{number}]") } else { format!("answer.get({number})") }
}

/// What a method is given, and the strings that come out of it, with their roles.
struct Call {
    arguments: Vec<String>,
    /// Which of the arguments is the output, if one is.
    output: Option<usize>,
    outputs: Vec<(&'static str, Role)>,
}

fn call(spec: &OperationSpec, function: Function) -> Call {
    let mut call = Call { arguments: Vec::new(), output: None, outputs: Vec::new() };
    for parameter in parameters(spec, function) {
        let own = string_name(parameter.name);
        if parameter.port.role.is_output() {
            if parameter.port.role == Role::Output {
                call.output = Some(call.arguments.len());
            }
            call.arguments.push(format!("&mut {own}"));
            call.outputs.push((own, parameter.port.role));
        } else {
            call.arguments.push(given(spec, &parameter));
        }
    }
    call
}

impl Call {
    fn rooms(&self) -> String {
        self.outputs.iter().map(|(own, _)| format!("            let mut {own} = answer.room();\n")).collect()
    }

    /// The lengths that come back, as a pattern.
    fn pattern(&self) -> String {
        let lengths: Vec<String> = self.outputs.iter().map(|(own, _)| format!("n_{own}")).collect();
        match lengths.as_slice() {
            [] => "()".to_owned(),
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        }
    }

    /// The strings, cut to these; `before` says how much of the output came before.
    fn strings(&self, before: &str) -> String {
        let strings = self.outputs.iter().map(|(own, role)| {
            let before = if *role == Role::Output { before } else { "" };
            format!("({}, {own}[..{before}n_{own}].to_vec())", string_number(*role))
        });
        format!("vec![{}]", strings.collect::<Vec<_>>().join(", "))
    }
}

fn key(spec: &OperationSpec) -> String {
    match spec.input(Role::Key) {
        Some(_) => format!("            context.key({})?;\n", call(spec, Function::Key).arguments.join(", ")),
        None => String::new(),
    }
}

/// A block that ends in strings, or in an error of what it does before.
fn attempt(text: &mut String, spec: &OperationSpec, what: &str, rooms: &str, body: &str) {
    let _ = write!(
        text,
        "        let got = (|| {{\n{rooms}{}{body}        }})();\n        answer.judge(\"{}{what}\", at, got);\n        judged += 1;\n",
        key(spec),
        spec.own_name()
    );
}

fn whole(text: &mut String, spec: &OperationSpec, function: Function) {
    let mut all = call(spec, function);
    let mut rooms = all.rooms();
    let method = if function == Function::Generate {
        all.arguments.insert(0, "answer.words".to_owned());
        // As much as is known of what comes, and no more.
        rooms = format!(
            "            let mut out = vec![0xa5; answer.get({}).len().max(1)];\n",
            string_number(Role::Output)
        );
        "generate"
    } else {
        "message"
    };
    let body = format!(
        "            let {} = context.{method}({})?;\n            Ok({})\n",
        all.pattern(),
        all.arguments.join(", "),
        all.strings("")
    );
    attempt(text, spec, "", &rooms, &body);
}

fn blocks(text: &mut String, spec: &OperationSpec) {
    let (input, output) = (string_number(Role::Input), string_number(Role::Output));
    let rooms = format!("            let mut out = vec![0xa5; answer.get({input}).len()];\n");
    let body =
        format!("            context.blocks(answer.get({input}), &mut out)?;\n            Ok(vec![({output}, out)])\n");
    attempt(text, spec, "", &rooms, &body);
}

/// Again, in pieces of 1, 2, 3, … bytes.
fn pieces(text: &mut String, spec: &OperationSpec) {
    let streamed = streams(spec);
    let mut last = call(spec, Function::Final);
    let rooms = last.rooms();
    let (update, total, before) = if streamed {
        if let Some(at) = last.output {
            last.arguments[at] = "&mut out[total..]".to_owned();
        }
        ("total += context.update(now, &mut out[total..])?;", "            let mut total = 0;\n", "total + ")
    } else {
        ("context.update(now)?;", "", "")
    };
    let body = format!(
        "            context.init({})?;\n{total}            let mut rest = answer.get({});\n            let mut piece = 1;\n            \
         while !rest.is_empty() {{\n                let (now, more) = rest.split_at(rest.len().min(piece));\n                \
         {update}\n                rest = more;\n                piece += 1;\n            }}\n            \
         let {} = context.finalize({})?;\n            Ok({})\n",
        call(spec, Function::Init).arguments.join(", "),
        string_number(Role::Input),
        last.pattern(),
        last.arguments.join(", "),
        last.strings(before)
    );
    attempt(text, spec, ", in pieces", &rooms, &body);
}

/// A host that shows nothing and has no natives.
const SILENT: &str = "
struct Silent;

impl Host for Silent {
    fn print(&mut self, _: &[u8]) {}

    fn print_real(&mut self, _: f64, _: u32) {}

    fn native(&mut self, _: &str, _: &mut [Argument<'_>]) -> Option<i64> {
        None
    }
}
";

/// The test of a network: what went in and what must come out.
pub(super) fn of_network(head: &str, crate_name: &str, module: &Module, recording: Option<&Recording>) -> String {
    let mut text = format!("{head}//! A run on the interpreter, again.\n\n{NO_LINTS}");
    let Some(recording) = recording else {
        text.push_str("\n// None was recorded: its streams would not tell.\n");
        return text;
    };
    let elements = |tokens: &[u8], ty: headrace_program::Type| -> String {
        let values = tokens.chunks_exact(ty.bytes() as usize).map(|bytes| {
            let value = ty.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
            if ty.is_signed() { (value as i64).to_string() } else { value.to_string() }
        });
        values.collect::<Vec<_>>().join(", ")
    };
    let (mut write, mut read, mut check) = (String::new(), String::new(), String::new());
    let (uses, silent, host) = match effects::reach_host(module)[module.interface.run.index()] {
        true => ("{Argument, Context, Host}", SILENT, ", &mut Silent"),
        false => ("Context", "", ""),
    };
    let _ = write!(
        text,
        "\nuse {crate_name}::{uses};\n{silent}\n#[test]\nfn recorded() {{\n    let mut context = Box::new(Context::new());\n"
    );
    for (at, (port, tokens)) in module.interface.inputs.iter().zip(&recording.inputs).enumerate() {
        let _ = writeln!(text, "    let mut in_{at}: &[{}] = &[{}];", port.element, elements(tokens, port.element));
        let own = super::name(&module.function(port.write).name);
        let _ = write!(
            write,
            "        let n = context.{own}(in_{at});\n        in_{at} = &in_{at}[n * {}..];\n        moved += n;\n",
            port.words
        );
    }
    for (at, (port, tokens)) in module.interface.outputs.iter().zip(&recording.outputs).enumerate() {
        let _ = writeln!(text, "    let mut out_{at}: Vec<{}> = Vec::new();", port.element);
        let own = super::name(&module.function(port.read).name);
        let _ = write!(
            read,
            "        let mut tokens = [0; {}];\n        let n = context.{own}(&mut tokens);\n        \
             out_{at}.extend(&tokens[..n * {}]);\n        moved += n;\n",
            port.words * 64,
            port.words
        );
        let _ = writeln!(check, "    assert_eq!(out_{at}, [{}]);", elements(tokens, port.element));
    }
    let _ = write!(
        text,
        "    loop {{\n        let mut moved = 0;\n{write}        context.run(u64::MAX{host});\n{read}        if moved == 0 {{\n            break;\n        }}\n    }}\n{check}}}\n"
    );
    text
}
