//! Known-answer tests. The test of a package: known answers of each operation, or a recorded run of a network, as data. What
//! runs them is `runtime/wasm/known_answers.test.js` and `recorded.test.js`.

use super::shape::{Own, class_name, function_name, methods};
use crate::operation::STRINGS;
use crate::project::{KnownAnswer, Recording};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_program::{Module, Type};
use std::fmt::Write as _;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// What the test of operations reads: for each that has answers its methods and these.
pub(super) fn of_operations(operations: &[(&OperationSpec, &Network)], answers: &[KnownAnswer]) -> String {
    let specs: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    let mut all = Vec::new();
    for (position, (spec, _)) in operations.iter().enumerate() {
        let mine: Vec<String> = answers.iter().filter(|answer| answer.operation == position).map(one).collect();
        if mine.is_empty() {
            continue;
        }
        let listed = |strings: &[Own<'_>]| -> String {
            let pairs: Vec<String> = strings.iter().map(|own| format!("[\"{}\", {}]", own.name, own.number)).collect();
            format!("[{}]", pairs.join(", "))
        };
        let methods: Vec<String> = methods(spec)
            .iter()
            .map(|method| {
                format!(
                    "\"{}\": {{ \"given\": {}, \"made\": {}, \"isPlain\": {} }}",
                    method.name,
                    listed(&method.given),
                    listed(&method.made),
                    method.is_plain()
                )
            })
            .collect();
        all.push(format!(
            "{{ \"name\": \"{}\", \"operation\": \"{}\", \"once\": {},\n  \"methods\": {{\n    {}\n  }},\n  \"answers\": [\n    {}\n  ] }}",
            class_name(spec),
            spec.own_name(),
            function_name(&specs, position).map_or("null".to_owned(), |once| format!("\"{once}\"")),
            methods.join(",\n    "),
            mine.join(",\n    ")
        ));
    }
    format!("[{}]\n", all.join(",\n"))
}

fn one(answer: &KnownAnswer) -> String {
    let strings: Vec<String> = STRINGS
        .iter()
        .enumerate()
        .filter_map(|(number, (role, ..))| {
            let expected = answer.expected.as_ref().and_then(|expected| expected.get(role));
            let bytes = answer.strings.get(role).or(expected)?;
            Some(format!("\"{number}\": \"{}\"", hex(bytes)))
        })
        .collect();
    format!(
        "{{ \"strings\": {{ {} }}, \"words\": {}, \"refused\": {} }}",
        strings.join(", "),
        answer.words,
        answer.expected.is_none()
    )
}

/// What the test of a network reads: what went in and what must come out.
pub(super) fn of_network(module: &Module, recording: Option<&Recording>) -> String {
    let Some(recording) = recording else { return "null\n".to_owned() };
    let stream = |element: Type, words: u32, tokens: &[u8]| -> String {
        let values: Vec<String> = tokens
            .chunks_exact(element.bytes() as usize)
            .map(|bytes| {
                let value = element.extend(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
                if element.is_signed() { format!("\"{}\"", value as i64) } else { format!("\"{value}\"") }
            })
            .collect();
        format!("    {{ \"element\": \"{element}\", \"words\": {words}, \"values\": [{}] }}", values.join(", "))
    };
    let inputs: Vec<String> = module
        .interface
        .inputs
        .iter()
        .zip(&recording.inputs)
        .map(|(port, tokens)| stream(port.element, port.words, tokens))
        .collect();
    let outputs: Vec<String> = module
        .interface
        .outputs
        .iter()
        .zip(&recording.outputs)
        .map(|(port, tokens)| stream(port.element, port.words, tokens))
        .collect();
    format!("{{\n  \"inputs\": [\n{}\n  ],\n  \"outputs\": [\n{}\n  ]\n}}\n", inputs.join(",\n"), outputs.join(",\n"))
}
