//! Known-answer tests. The test of a project: known answers as arrays, run through the interface in whole messages and in
//! pieces.

use super::answers_of_many;
use super::answers_on_device;
use super::shape::{Function, Parameter, STRINGS, constant, functions, parameters, streams};
use super::{KnownAnswer, Recording, operation_prefix};
use crate::c::ctype;
use headrace_ir::{Int, Network, Scalar};
use headrace_library::catalog::OperationSpec;
use headrace_library::{Class, Role};
use std::fmt::Write as _;

/// The test of a network: what the recording says goes in, piece by piece as there is room, and what comes out must be
/// what the recording says. Without a recording the network must come to rest without input.
pub(crate) fn of_network(head: &str, name: &str, network: &Network, recording: Option<&Recording>) -> String {
    let network = &*crate::c::names::with_port_names(network);
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

/// What a project of operations offers beside single messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Helpers, and many messages at once.
    Plain,
    /// The same, and devices.
    OnDevice,
    /// Nothing.
    Small,
}

pub(crate) fn of_operations(
    head: &str,
    name: &str,
    operations: &[(&OperationSpec, &Network)],
    answers: &[KnownAnswer],
    kind: Kind,
) -> String {
    let on_device = kind == Kind::OnDevice;
    let of_many = |op: &str, spec: &OperationSpec, n: usize| match kind {
        Kind::Small => None,
        Kind::Plain | Kind::OnDevice => answers_of_many::of_operation(op, spec, n),
    };
    let device = on_device.then(|| answers_on_device::harness(name));
    let header = if on_device { "#include \"headrace_device.h\"\n" } else { "" };
    let mut text = format!("{head}#include \"{name}.h\"\n{header}\n#include <stdio.h>\n\n");
    for (at, answer) in answers.iter().enumerate() {
        let given = answer.strings.iter().chain(answer.expected.iter().flatten());
        for (role, string) in given {
            bytes(&mut text, &label(at, *role), string);
        }
    }
    let has_answers = !answers.is_empty();
    if has_answers {
        text.push_str(HARNESS);
        text.push_str(device.as_ref().map_or("", |device| device.above));
    }
    let n_answers = |position| answers.iter().filter(|answer| answer.operation == position).count();
    let any_many = operations.iter().enumerate().any(|(position, (spec, _))| {
        let n = n_answers(position);
        n > 0 && of_many(&operation_prefix(spec), spec, n).is_some()
    });
    if any_many {
        text.push_str(answers_of_many::HARNESS);
    }
    let mut tested = Vec::new();
    let mut above_long = device.as_ref().map(|device| device.above_long);
    for (position, (spec, _)) in operations.iter().enumerate() {
        let op = operation_prefix(spec);
        let mine: Vec<(usize, &KnownAnswer)> =
            answers.iter().enumerate().filter(|(_, answer)| answer.operation == position).collect();
        if mine.is_empty() {
            let _ = writeln!(text, "\n/* There are no known answers for {op} alone. */");
            continue;
        }
        let secrets = spec.inputs.iter().filter(|port| port.class == Class::Secret && !port.role.is_control());
        let secrets: Vec<String> = STRINGS
            .iter()
            .filter(|(role, ..)| secrets.clone().any(|port| port.role == *role))
            .map(|(_, role, _)| format!("[{}] = true", constant(role)))
            .collect();
        let secrets = if secrets.is_empty() { "false".into() } else { secrets.join(", ") };
        let _ = write!(
            text,
            "\nstatic const bool {op}_secrets[HEADRACE_ROLES] = {{{secrets}}};\n\nstatic const struct answer {op}_answers[] = {{\n"
        );
        for (at, answer) in &mine {
            let given: Vec<String> = STRINGS
                .iter()
                .filter_map(|(role, own, _)| {
                    let expected = answer.expected.as_ref();
                    let string = answer.strings.get(role).or_else(|| expected?.get(role))?;
                    Some(format!("[{}] = {{{}, {}}}", constant(own), label(*at, *role), string.len()))
                })
                .collect();
            let given = if given.is_empty() { "{0}".into() } else { given.join(", ") };
            let _ = writeln!(text, "    {{{{{given}}}, {}, {}}},", answer.words, answer.expected.is_none());
        }
        let _ = write!(
            text,
            "}};\n\nstatic void test_{op}(void) {{\n    static struct {op}_context context;\n    \
             for (size_t i = 0; i < {}; i++) {{\n        uint32_t result = HEADRACE_OK;\n        current = &{op}_answers[i];\n        start({op}_secrets);\n",
            mine.len()
        );
        let functions = functions(spec);
        if functions.contains(&Function::Key) {
            let _ = writeln!(text, "        result = {op}_key(&context{});", arguments(spec, Function::Key));
        }
        let once =
            [Function::Message, Function::Blocks, Function::Generate].into_iter().find(|f| functions.contains(f));
        if let Some(function) = once {
            let call = match (function, spec.block_bytes) {
                (Function::Blocks, Some(block)) => format!(
                    "            got_bytes[HEADRACE_OUTPUT] = GIVEN_BYTES(HEADRACE_INPUT);\n            \
                     result = {op}_blocks(&context, GIVEN(HEADRACE_INPUT), got[HEADRACE_OUTPUT], (uint32_t)(GIVEN_BYTES(HEADRACE_INPUT) / {block}u));\n"
                ),
                (Function::Generate, _) => {
                    format!(
                        "            result = {op}_generate(&context, current->words{});\n",
                        arguments(spec, function)
                    )
                }
                _ => format!("            result = {op}_message(&context{});\n", arguments(spec, function)),
            };
            let _ = write!(
                text,
                "        if (result == HEADRACE_OK) {{\n{call}        }}\n        judge(\"{op}\", result);\n"
            );
        }
        if on_device && functions.contains(&Function::Helped) {
            let key = match functions.contains(&Function::Key) {
                true => format!("            result = {op}_key(&context{});\n", arguments(spec, Function::Key)),
                false => String::new(),
            };
            let _ = write!(
                text,
                "        {{\n            start({op}_secrets);\n            result = HEADRACE_OK;\n{key}            if (result == HEADRACE_OK) {{\n                \
                 result = {op}_message_helped(&context, &on_device{});\n            }}\n            judge(\"{op}, on a device\", result);\n        }}\n",
                arguments(spec, Function::Helped)
            );
        }
        if functions.contains(&Function::Update) {
            // Again under the same key, in pieces of 1, 2, 3, … bytes.
            let streamed = streams(spec);
            let (out, add) = if streamed {
                (", got[HEADRACE_OUTPUT] + total, sizeof got[0] - total, &made", "                total += made;\n")
            } else {
                ("", "")
            };
            let counted =
                if streamed { "size_t at = 0, piece = 1, total = 0, made = 0;" } else { "size_t at = 0, piece = 1;" };
            let ending: String = parameters(spec, Function::Final)
                .iter()
                .map(|parameter| match parameter.port.role {
                    Role::Output if streamed => out.to_owned(),
                    _ => argument(parameter),
                })
                .collect();
            let sum = if streamed { "                got_bytes[HEADRACE_OUTPUT] = total + made;\n" } else { "" };
            let again = if functions.contains(&Function::Key) {
                "result == HEADRACE_OK || result == HEADRACE_REFUSED"
            } else {
                "true"
            };
            let _ = write!(
                text,
                "        if ({again}) {{\n            {counted}\n            start({op}_secrets);\n            result = {op}_init(&context{});\n            \
                 while (result == HEADRACE_OK && at < GIVEN_BYTES(HEADRACE_INPUT)) {{\n                \
                 const size_t left = GIVEN_BYTES(HEADRACE_INPUT) - at;\n                const size_t n = piece < left ? piece : left;\n                \
                 result = {op}_update(&context, GIVEN(HEADRACE_INPUT) + at, n{out});\n{add}                at += n;\n                piece++;\n            }}\n            \
                 if (result == HEADRACE_OK) {{\n                result = {op}_final(&context{ending});\n{sum}            }}\n            \
                 judge(\"{op}, in pieces\", result);\n        }}\n",
                arguments(spec, Function::Init)
            );
        }
        let _ = write!(text, "    }}\n    {op}_clear(&context);\n}}\n");
        tested.push(format!("test_{op}();"));
        let first = mine.iter().position(|(_, answer)| answer.expected.is_some());
        if let Some(test) = first.filter(|_| on_device).and_then(|first| answers_on_device::long(&op, spec, first)) {
            text.push_str(above_long.take().unwrap_or(""));
            text.push_str(&test);
            tested.push(format!("long_{op}(device);"));
        }
        if let Some(many) = of_many(&op, spec, mine.len()) {
            text.push_str(&many);
            tested.push(format!("test_{op}_many();"));
        }
        tested.push(format!("report(\"{}\");", spec.own_name()));
    }
    text.push_str("\nint main(void) {\n");
    if !has_answers {
        let _ = write!(text, "    printf(\"{name}: there are no known answers\\n\");\n    return 0;\n}}\n");
        return text;
    }
    text.push_str(device.as_ref().map_or("", |device| device.begin));
    for call in tested {
        let _ = writeln!(text, "    {call}");
    }
    text.push_str(device.as_ref().map_or("", |device| &device.end));
    let _ =
        write!(text, "    printf(\"{name}: %u passed, %u failed\\n\", passed, failed);\n    return failed != 0;\n}}\n");
    text
}

/// What all tests of operations are judged with. Of a tag the record may hold the first bytes only. The strings are copied,
/// so that a test of constant time can count the secret ones as unknown.
const HARNESS: &str = "
struct answer {
    struct headrace_bytes strings[HEADRACE_ROLES]; /* those that go in and those that must come out */
    uint32_t words;
    bool refused;
};

static const struct answer *current;
static unsigned passed, failed;
static uint8_t given[HEADRACE_TAG_IN + 1][1 << 13];
static uint8_t got[HEADRACE_ROLES][1 << 16];
static size_t got_bytes[HEADRACE_ROLES];

#define GIVEN(role) (current->strings[role].bytes == NULL ? NULL : given[role])
#define GIVEN_BYTES(role) current->strings[role].n_bytes

static void start(const bool *secret) {
    for (int role = 0; role <= HEADRACE_TAG_IN; role++) {
        if (GIVEN_BYTES(role) > 0) {
            memcpy(given[role], current->strings[role].bytes, GIVEN_BYTES(role));
        }
        if (secret[role]) {
            HEADRACE_SECRET(given[role], GIVEN_BYTES(role));
        }
    }
    memset(got, 0xa5, sizeof got);
    memset(got_bytes, 0, sizeof got_bytes);
}

static void judge(const char *operation, uint32_t result) {
    bool right;
    HEADRACE_PUBLIC(got, sizeof got);
    right = current->refused ? result != HEADRACE_OK && result != HEADRACE_STUCK : result == HEADRACE_OK;
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        const struct headrace_bytes wanted = current->strings[role];
        if (current->refused) {
            right = right && got_bytes[role] == 0;
        } else if (wanted.bytes != NULL) {
            const bool length = role == HEADRACE_TAG ? got_bytes[role] >= wanted.n_bytes : got_bytes[role] == wanted.n_bytes;
            right = right && length && memcmp(got[role], wanted.bytes, wanted.n_bytes) == 0;
        }
    }
    if (right) {
        passed++;
    } else {
        failed++;
        printf(\"%s: result %u, %zu bytes\\n\", operation, (unsigned)result, got_bytes[HEADRACE_OUTPUT]);
    }
}

/* What came of an operation, whose turn ends. */
static void report(const char *operation) {
    static unsigned passed_before, failed_before;
    printf(\"operation %s: %u passed, %u failed\\n\", operation, passed - passed_before, failed - failed_before);
    passed_before = passed;
    failed_before = failed;
}
";

/// The array of a string of an answer.
fn label(answer: usize, role: Role) -> String {
    let name = STRINGS.iter().find(|(known, ..)| *known == role).map_or("string", |(_, _, name)| name);
    let kind = if role.is_output() { "expected" } else { "given" };
    format!("{kind}_{name}_{answer}")
}

/// The arguments of a function after the context.
fn arguments(spec: &OperationSpec, function: Function) -> String {
    parameters(spec, function).iter().map(argument).collect()
}

fn argument(Parameter { constant: role, port, .. }: &Parameter<'_>) -> String {
    let constant = constant(role);
    if port.role.is_output() {
        format!(", got[{constant}], sizeof got[0], &got_bytes[{constant}]")
    } else {
        format!(", GIVEN({constant}), GIVEN_BYTES({constant})")
    }
}
