//! The test of a project: known answers as arrays, run through the interface in whole messages and in pieces.

use super::{KnownAnswer, Recording, operation_prefix};
use crate::c::ctype;
use headrace_ir::{Int, Network, Scalar};
use headrace_library::catalog::{Framing, OperationSpec};
use std::fmt::Write as _;

/// The test of a network: what the recording says goes in, piece by piece as there is room, and what comes out must be
/// what the recording says. Without a recording the network must come to rest without input.
pub(super) fn of_network(head: &str, name: &str, network: &Network, recording: Option<&Recording>) -> String {
    let mut text = format!("{head}#include \"{name}.h\"\n\n#include <stdio.h>\n#include <string.h>\n\n");
    let Some(recording) = recording else {
        let _ = write!(
            text,
            "int main(void) {{\n    static struct {name} context;\n    uint32_t status;\n    \
             {name}_network.init(&context, NULL);\n    status = {name}_network.run(&context, 1000000);\n    \
             printf(\"{name}: %s\\n\", status == HEADRACE_IDLE ? \"comes to rest without input\" : \"FAILED: does not come to rest\");\n    \
             {name}_network.clear(&context);\n    return status != HEADRACE_IDLE;\n}}\n"
        );
        return text;
    };
    for (port, tokens) in network.inputs.iter().zip(&recording.inputs) {
        array(&mut text, &format!("in_{}", port.name), port.ty, tokens);
    }
    for (port, tokens) in network.outputs.iter().zip(&recording.outputs) {
        array(&mut text, &format!("out_{}", port.name), port.ty, tokens);
    }
    let _ = write!(
        text,
        "\nint main(void) {{\n    static struct {name} context;\n    size_t moved;\n    unsigned failed = 0;\n    \
         uint32_t status;\n    {name}_network.init(&context, NULL);\n"
    );
    let sizes = |ty: Scalar, tokens: &[u8]| (ctype::words(ty), tokens.len() / ty.storage_bytes());
    for port in &network.inputs {
        let _ = writeln!(text, "    size_t written_{} = 0;", port.name);
    }
    for (port, tokens) in network.outputs.iter().zip(&recording.outputs) {
        let (words, n_tokens) = sizes(port.ty, tokens);
        let element = ctype::element(port.ty);
        let _ = writeln!(text, "    size_t read_{} = 0;", port.name);
        // One more than there should be, so that too many are seen.
        let _ = writeln!(text, "    static {element} got_{}[{}];", port.name, (n_tokens + 1) * words as usize);
    }
    text.push_str("    do {\n        size_t n;\n        moved = 0;\n");
    for (at, (port, tokens)) in network.inputs.iter().zip(&recording.inputs).enumerate() {
        let (words, n_tokens) = sizes(port.ty, tokens);
        let name_of = &port.name;
        let _ = write!(
            text,
            "        n = {name}_network.write(&context, {at}, in_{name_of} + {words} * written_{name_of}, {n_tokens} - written_{name_of});\n        \
             written_{name_of} += n;\n        moved += n;\n"
        );
    }
    let _ = writeln!(text, "        status = {name}_network.run(&context, 1000000);");
    for (at, (port, tokens)) in network.outputs.iter().zip(&recording.outputs).enumerate() {
        let (words, n_tokens) = sizes(port.ty, tokens);
        let name_of = &port.name;
        let _ = write!(
            text,
            "        n = {name}_network.read(&context, {at}, got_{name_of} + {words} * read_{name_of}, {n_tokens} + 1 - read_{name_of});\n        \
             read_{name_of} += n;\n        moved += n;\n"
        );
    }
    text.push_str("        n = 0;\n    } while (moved != 0 && status == HEADRACE_IDLE);\n    failed += status != HEADRACE_IDLE;\n");
    for (port, tokens) in network.outputs.iter().zip(&recording.outputs) {
        let (words, n_tokens) = sizes(port.ty, tokens);
        let name_of = &port.name;
        let _ = writeln!(
            text,
            "    failed += read_{name_of} != {n_tokens} || memcmp(got_{name_of}, out_{name_of}, {n_tokens} * {words} * sizeof got_{name_of}[0]) != 0;"
        );
    }
    let _ = write!(
        text,
        "    printf(\"{name}: %s\\n\", failed ? \"FAILED\" : \"the streams are those of the interpreter\");\n    \
         {name}_network.clear(&context);\n    return failed != 0;\n}}\n"
    );
    text
}

/// Stored tokens as an array of the elements that the interface takes.
fn array(text: &mut String, label: &str, ty: Scalar, tokens: &[u8]) {
    let bytes = ctype::element_bytes(ty) as usize;
    let signed = ty.as_int().is_some_and(|int| int.signed && int.width <= 64);
    let _ = write!(text, "static const {} {label}[] = {{", ctype::element(ty));
    for element in tokens.chunks_exact(bytes) {
        match (Int::from_le_bytes(element, signed), signed) {
            // The lowest number has no literal.
            (Int::Small(i64::MIN), true) => text.push_str("INT64_MIN,"),
            (value, true) => drop(write!(text, "{value},")),
            (value, false) => drop(write!(text, "{value}u,")),
        }
    }
    // C has no empty arrays.
    text.push_str(if tokens.is_empty() { "0};\n" } else { "};\n" });
}

fn bytes(text: &mut String, label: &str, bytes: &[u8]) {
    let _ = write!(text, "static const uint8_t {label}[] = {{");
    for byte in bytes {
        let _ = write!(text, "{byte},");
    }
    // C has no empty arrays.
    text.push_str(if bytes.is_empty() { "0};\n" } else { "};\n" });
}

pub(super) fn of_operations(
    head: &str,
    name: &str,
    operations: &[(&OperationSpec, &Network)],
    answers: &[KnownAnswer],
) -> String {
    let upper = name.to_uppercase();
    let mut text = format!("{head}#include \"{name}.h\"\n\n#include <stdio.h>\n\n");
    for (at, answer) in answers.iter().enumerate() {
        bytes(&mut text, &format!("key_{at}"), &answer.key);
        bytes(&mut text, &format!("iv_{at}"), &answer.iv);
        bytes(&mut text, &format!("in_{at}"), &answer.input);
        bytes(&mut text, &format!("out_{at}"), &answer.output);
    }
    text.push_str(
        "\nstruct answer {\n    const uint8_t *key, *iv, *in, *out;\n    size_t key_bytes, iv_bytes, in_bytes, out_bytes;\n};\n\n\
         static const struct answer *current;\nstatic unsigned passed, failed;\nstatic uint8_t got[1 << 20];\n\n\
         static void judge(const char *operation, uint32_t status, size_t bytes) {\n    \
         if (status == 0 && bytes == current->out_bytes && memcmp(got, current->out, bytes) == 0) {\n        passed++;\n    } else {\n        \
         failed++;\n        printf(\"%s: status %u, %zu bytes\\n\", operation, (unsigned)status, bytes);\n    }\n}\n",
    );
    let mut tested = Vec::new();
    for (position, (spec, _)) in operations.iter().enumerate() {
        let op = operation_prefix(name, spec);
        let mine: Vec<(usize, &KnownAnswer)> =
            answers.iter().enumerate().filter(|(_, answer)| answer.operation == position).collect();
        if mine.is_empty() {
            let _ = writeln!(text, "\n/* There are no known answers for {op} alone. */");
            continue;
        }
        tested.push(op.clone());
        let _ = write!(text, "\nstatic const struct answer {op}_answers[] = {{\n");
        for (at, answer) in &mine {
            let _ = writeln!(
                text,
                "    {{key_{at}, iv_{at}, in_{at}, out_{at}, {}, {}, {}, {}}},",
                answer.key.len(),
                answer.iv.len(),
                answer.input.len(),
                answer.output.len()
            );
        }
        let has_iv = spec.inputs.iter().any(|port| matches!(port.role.name(), "IV" | "Nonce"));
        let iv = if has_iv { ", current->iv, current->iv_bytes" } else { "" };
        let _ = write!(
            text,
            "}};\n\nstatic void test_{op}(void) {{\n    static struct {op}_context context;\n    size_t bytes = 0;\n    \
             for (size_t i = 0; i < {}; i++) {{\n        uint32_t status;\n        current = &{op}_answers[i];\n        \
             status = {op}_key(&context, current->key, current->key_bytes);\n",
            mine.len()
        );
        match (spec.framing, spec.block_bytes) {
            (Framing::Core, Some(block)) => {
                let _ = write!(
                    text,
                    "        if (status == {upper}_OK) {{\n            \
                     status = {op}_blocks(&context, current->in, got, (uint32_t)(current->in_bytes / {block}u));\n            \
                     bytes = current->in_bytes;\n        }}\n        judge(\"{op}\", status, bytes);\n"
                );
            }
            _ => {
                // In one call, then again under the same key in pieces of 1, 2, 3, … bytes.
                let _ = write!(
                    text,
                    "        if (status == {upper}_OK) {{\n            status = {op}_message(&context{iv}, current->in, current->in_bytes, got, sizeof got, &bytes);\n        }}\n        \
                     judge(\"{op}\", status, bytes);\n        if (status == {upper}_OK) {{\n            size_t at = 0, total = 0, piece = 1;\n            \
                     status = {op}_init(&context{iv});\n            while (status == {upper}_OK && at < current->in_bytes) {{\n                \
                     const size_t n = piece < current->in_bytes - at ? piece : current->in_bytes - at;\n                \
                     status = {op}_update(&context, current->in + at, n, got + total, sizeof got - total, &bytes);\n                \
                     at += n;\n                total += bytes;\n                piece++;\n            }}\n            if (status == {upper}_OK) {{\n                \
                     status = {op}_final(&context, got + total, sizeof got - total, &bytes);\n                total += bytes;\n            }}\n            \
                     judge(\"{op}, in pieces\", status, total);\n        }}\n"
                );
            }
        }
        let _ = write!(text, "    }}\n    {op}_clear(&context);\n}}\n");
    }
    text.push_str("\nint main(void) {\n");
    for op in tested {
        let _ = writeln!(text, "    test_{op}();");
    }
    let _ =
        write!(text, "    printf(\"{name}: %u passed, %u failed\\n\", passed, failed);\n    return failed != 0;\n}}\n");
    text
}
