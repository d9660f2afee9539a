//! The test of a project: known answers as arrays, run through the interface in whole messages and in pieces.

use super::{KnownAnswer, operation_prefix};
use headrace_ir::Network;
use headrace_library::catalog::{Framing, OperationSpec};
use std::fmt::Write as _;

/// A network alone has no known answers: the test sees that it starts, comes to rest and reports no error.
pub(super) fn of_network(head: &str, name: &str) -> String {
    format!(
        "{head}#include \"{name}.h\"\n\n#include <stdio.h>\n\nint main(void) {{\n    static struct {name} context;\n    uint32_t status;\n    \
         {name}_network.init(&context, NULL);\n    status = {name}_network.run(&context, 1000000);\n    \
         printf(\"{name}: %s\\n\", status == HEADRACE_TRAPPED ? \"failed\" : \"passed\");\n    \
         {name}_network.clear(&context);\n    return status == HEADRACE_TRAPPED;\n}}\n"
    )
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
