//! Benchmark adapter for projects in C. Projects with an interface in C in measurements: the functions of `bench/peers/peer.h`
//! over those of an operation.

use super::project::{operation_prefix, set_name};
use crate::operation::{Function, Parameter, functions, parameters};
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::{PortSpec, Role};
use std::fmt::Write as _;

/// What helps with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Help {
    /// As many threads as are asked for.
    Threads,
    /// The first device. A message of which it does nothing has failed: it would be a measurement of something else.
    Device,
}

impl Help {
    /// The header that declares it.
    fn header(self) -> &'static str {
        match self {
            Help::Threads => "headrace_helpers.h",
            Help::Device => "headrace_device.h",
        }
    }

    /// What a context has of it.
    fn field(self) -> &'static str {
        match self {
            Help::Threads => "unsigned n_threads;",
            Help::Device => "struct headrace_device *device;",
        }
    }

    /// The functions of `peer.h` that stand above all others.
    fn above(self) -> &'static str {
        match self {
            Help::Threads => "",
            Help::Device => {
                "static char problem[256], device[128];\n\nconst char *peer_problem(void)\n{\n    return problem;\n}\n\nconst char *peer_device(void)\n{\n    return device;\n}\n\n"
            }
        }
    }

    /// What opens it.
    fn open(self) -> &'static str {
        match self {
            Help::Threads => "",
            Help::Device => {
                "    context->device = headrace_device_open(NULL, problem, sizeof problem);\n    if (context->device == NULL) {\n        free(context);\n        return NULL;\n    }\n    strncpy(device, headrace_device_name(context->device), sizeof device - 1);\n"
            }
        }
    }

    /// Statements for one message: `strings` are the arguments of the function for a message, each behind a comma, without the
    /// context.
    fn message(self, op: &str, strings: &str) -> String {
        let plain = format!("&context->operation{strings}");
        let helped = format!("&context->operation, &helpers{strings}");
        match self {
            Help::Threads => format!(
                "    if (context->n_threads > 1) {{\n        const struct headrace_helpers helpers = headrace_threads(context->n_threads);\n        \
                 if ({op}_message_helped({helped}) != HEADRACE_OK)\n            return PEER_FAILED;\n    }} else if ({op}_message({plain}) != HEADRACE_OK) {{\n        return PEER_FAILED;\n    }}\n"
            ),
            Help::Device => format!(
                "    const struct headrace_helpers helpers = headrace_device_helpers(context->device);\n    \
                 const uint64_t before = headrace_device_iterations(context->device);\n    \
                 if ({op}_message_helped({helped}) != HEADRACE_OK || headrace_device_iterations(context->device) == before)\n        return PEER_FAILED;\n"
            ),
        }
    }

    /// What closes it.
    fn close(self) -> &'static str {
        match self {
            Help::Threads => "",
            Help::Device => "    headrace_device_close(context->device);\n",
        }
    }
}

/// The functions of `peer.h` over those of the project.
pub fn shim(spec: &OperationSpec, help: Help) -> String {
    let set = set_name(&spec.set);
    let op = operation_prefix(spec);
    // A device serves one message at a time.
    let many = if help == Help::Threads { many(spec, &op) } else { String::new() };
    let extra = if many.is_empty() { String::new() } else { format!("    struct {op}_context many[MANY];\n") };
    let (header, field, above) = (help.header(), help.field(), help.above());
    let mut text = format!(
        "#define _POSIX_C_SOURCE 200112L\n#include \"{set}.h\"\n#include \"{header}\"\n#include \"peer.h\"\n#include <stdlib.h>\n#include <string.h>\n\n\
         {MANY}struct context {{\n    struct {op}_context operation;\n    {field}\n{extra}    uint8_t iv[64];\n    size_t iv_bytes;\n}};\n\n{above}\
         const char *peer_version(void)\n{{\n    return \"{}\";\n}}\n\n",
        env!("CARGO_PKG_VERSION")
    );
    let key = match spec.input(Role::Key) {
        Some(_) => format!(
            "    if ({op}_key(&context->operation, strings->key, strings->key_bytes) != HEADRACE_OK) {{\n        free(context);\n        return NULL;\n    }}\n{}",
            if many.is_empty() {
                String::new()
            } else {
                format!(
                    "    for (size_t i = 0; i < MANY; i++)\n        (void){op}_key(&context->many[i], strings->key, strings->key_bytes);\n"
                )
            }
        ),
        None => String::new(),
    };
    let _ = write!(
        text,
        "void *peer_open(const char *operation, const struct peer_strings *strings)\n{{\n    void *made = NULL;\n    (void)operation;\n    \
         if (strings->iv_bytes > sizeof ((struct context *)0)->iv || posix_memalign(&made, 64, sizeof(struct context)) != 0)\n        return NULL;\n    \
         struct context *context = made;\n    memset(context, 0, sizeof *context);\n    context->iv_bytes = strings->iv_bytes;\n    \
         if (strings->iv_bytes > 0)\n        memcpy(context->iv, strings->iv, strings->iv_bytes);\n{key}{}    return context;\n}}\n\n",
        help.open()
    );
    let _ = write!(
        text,
        "size_t peer_run(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes)\n{{\n    struct context *context = given;\n{}}}\n\n",
        body(spec, &op, help)
    );
    text.push_str(&many);
    if help == Help::Threads {
        text.push_str(&pieces(spec, &op));
        text.push_str(
            "void peer_threads(void *given, unsigned n_threads)\n{\n    struct context *context = given;\n    context->n_threads = n_threads;\n}\n\n",
        );
    }
    let _ = write!(
        text,
        "void peer_close(void *given)\n{{\n    struct context *context = given;\n    {op}_clear(&context->operation);\n{}    free(context);\n}}\n",
        help.close()
    );
    text
}

/// Where a tag goes and what room it has: behind the text, as other libraries put theirs; one of another length behind all room
/// for text.
fn tag(spec: &OperationSpec, out: &str, text_bytes: &str) -> (String, String) {
    match spec.output(Role::Tag).map(|port| &port.sizes) {
        Some(sizes) if !sizes.allows(16) => (format!("{out} + 2 * n_bytes + 16"), sizes.max().to_string()),
        _ => (format!("{out} + {text_bytes}"), "PEER_TAG_BYTES".to_owned()),
    }
}

/// The secret part of a nonce, and its length: none, where there may be none, else the initial block once more.
fn secret_nonce(port: &PortSpec) -> (String, String) {
    match port.sizes.min() {
        0 => nothing(),
        least => ("context->iv".to_owned(), least.to_string()),
    }
}

/// Where it comes out, between text and tag, and its room.
fn secret_nonce_out(out: &str) -> (String, String) {
    (format!("{out} + 2 * n_bytes + 48"), "16".to_owned())
}

fn nothing() -> (String, String) {
    ("NULL".to_owned(), "0".to_owned())
}

/// A string as arguments.
fn given((bytes, length): (String, String), more: &str) -> String {
    format!(", {bytes}, {length}{more}")
}

/// Messages that a call of `many` is given at most.
const MANY: &str = "enum { MANY = 64 };\n\n";

/// Many messages in a call; nothing where an operation does not have it.
fn many(spec: &OperationSpec, op: &str) -> String {
    if spec.framing == Framing::Core || spec.framing == Framing::Generator {
        return String::new();
    }
    let verifies = spec.input(Role::TagIn).is_some();
    let has_output = spec.output(Role::Output).is_some();
    let tag = |out: &str, text_bytes: &str| tag(spec, out, text_bytes);
    // Lists of strings, their lengths, and what is set for each message.
    let (mut lists, mut set, mut arguments) = (String::new(), String::new(), String::new());
    for role in Role::ALL.into_iter().filter(|role| !role.is_control() && *role != Role::Key) {
        let port = if role.is_output() { spec.output(role) } else { spec.input(role) };
        let Some(port) = port else { continue };
        let name = format!("all_{}", port.role.name().replace('-', "_"));
        if role.is_output() {
            let (bytes, room) = match role {
                Role::Output => ("out[i]".to_owned(), "2 * n_bytes + 64".to_owned()),
                Role::Tag if has_output => tag("out[i]", "n_bytes"),
                Role::Tag => ("out[i]".to_owned(), "64".to_owned()),
                Role::SecretNonceOut => secret_nonce_out("out[i]"),
                _ => nothing(),
            };
            let _ = writeln!(lists, "    uint8_t *{name}[MANY];\n    size_t {name}_room[MANY], {name}_bytes[MANY];");
            let _ = writeln!(set, "        {name}[i] = {bytes};\n        {name}_room[i] = {room};");
            let _ = write!(arguments, ", {name}, {name}_room, {name}_bytes");
        } else {
            let (bytes, length) = match role {
                Role::Nonce | Role::Iv => ("context->iv".to_owned(), "context->iv_bytes".to_owned()),
                Role::SecretNonce => secret_nonce(port),
                Role::Input if verifies => ("in[i]".to_owned(), "n_bytes - PEER_TAG_BYTES".to_owned()),
                Role::Input => ("in[i]".to_owned(), "n_bytes".to_owned()),
                Role::TagIn => ("in[i] + n_bytes - PEER_TAG_BYTES".to_owned(), "PEER_TAG_BYTES".to_owned()),
                _ => nothing(),
            };
            let _ = writeln!(lists, "    const uint8_t *{name}[MANY];\n    size_t {name}_bytes[MANY];");
            let _ = writeln!(set, "        {name}[i] = {bytes};\n        {name}_bytes[i] = {length};");
            let _ = write!(arguments, ", {name}, {name}_bytes");
        }
    }
    let made = |role: Role| match spec.output(role) {
        Some(port) => format!(" + all_{}_bytes[0]", port.role.name().replace('-', "_")),
        None => String::new(),
    };
    format!(
        "size_t peer_run_many(void *given, const uint8_t *const *in, uint8_t *const *out, size_t n_bytes, unsigned n_messages)\n{{\n    \
         struct context *context = given;\n    uint32_t results[MANY];\n{lists}    if (n_messages == 0 || n_messages > MANY)\n        return PEER_FAILED;\n    \
         for (size_t i = 0; i < n_messages; i++) {{\n{set}    }}\n    \
         if ({op}_many(context->many, n_messages{arguments}, results) != HEADRACE_OK)\n        return PEER_FAILED;\n    \
         return 0{}{};\n}}\n\n",
        made(Role::Output),
        made(Role::Tag)
    )
}

/// Whether an operation takes a message in pieces.
pub fn takes_pieces(spec: &OperationSpec) -> bool {
    functions(spec).contains(&Function::Update) && spec.framing == Framing::Message
}

/// One message in pieces; nothing where an operation takes it whole only.
fn pieces(spec: &OperationSpec, op: &str) -> String {
    if !takes_pieces(spec) {
        return String::new();
    }
    let has_output = spec.output(Role::Output).is_some();
    let arguments = |function: Function| -> String {
        let argument = |parameter: &Parameter| -> String {
            match parameter.port.role {
                Role::Nonce | Role::Iv => ", context->iv, context->iv_bytes",
                Role::Input => ", in + at, piece",
                Role::Output => ", out + out_bytes, 2 * n_bytes + 64 - out_bytes, &got",
                Role::Tag if has_output => return given(tag(spec, "out", "n_bytes"), ", &tag_bytes"),
                Role::Tag => ", out, 64, &tag_bytes",
                Role::SecretNonce => return given(secret_nonce(parameter.port), ""),
                Role::SecretNonceOut => return given(secret_nonce_out("out"), ", &none_bytes"),
                role if role.is_output() => ", NULL, 0, &none_bytes",
                _ => ", NULL, 0",
            }
            .to_owned()
        };
        parameters(spec, function).iter().map(argument).collect()
    };
    format!(
        "size_t peer_run_pieces(void *given, const uint8_t *in, uint8_t *out, size_t n_bytes, size_t piece_bytes)\n{{\n    \
         struct context *context = given;\n    \
         size_t out_bytes = 0, got = 0, tag_bytes = 0, none_bytes = 0;\n    (void)none_bytes, (void)got, (void)out;\n    \
         if ({op}_init(&context->operation{}) != HEADRACE_OK)\n        return PEER_FAILED;\n    \
         for (size_t at = 0; at < n_bytes; at += piece_bytes) {{\n        \
         const size_t piece = n_bytes - at < piece_bytes ? n_bytes - at : piece_bytes;\n        \
         if ({op}_update(&context->operation{}) != HEADRACE_OK)\n            return PEER_FAILED;\n        out_bytes += got;\n    }}\n    \
         got = 0;\n    if ({op}_final(&context->operation{}) != HEADRACE_OK)\n        return PEER_FAILED;\n    \
         return out_bytes + got + tag_bytes;\n}}\n\n",
        arguments(Function::Init),
        arguments(Function::Update),
        arguments(Function::Final)
    )
}

/// One message, whole.
fn body(spec: &OperationSpec, op: &str, help: Help) -> String {
    if spec.framing == Framing::Core {
        let block = spec.block_bytes.unwrap_or(1);
        return format!(
            "    return {op}_blocks(&context->operation, in, out, (uint32_t)(n_bytes / {block})) == HEADRACE_OK ? n_bytes : PEER_FAILED;\n"
        );
    }
    let verifies = spec.input(Role::TagIn).is_some();
    let text_bytes = if verifies { "n_bytes - PEER_TAG_BYTES" } else { "n_bytes" };
    let has_output = spec.output(Role::Output).is_some();
    let has_tag = spec.output(Role::Tag).is_some();
    let mut arguments = String::new();
    // The functions of a project take strings in the order of the roles; the key was given before.
    for role in Role::ALL.into_iter().filter(|role| !role.is_control() && *role != Role::Key) {
        let port = if role.is_output() { spec.output(role) } else { spec.input(role) };
        if port.is_none() {
            continue;
        }
        let own = match (role, port) {
            (Role::Tag, _) if has_output => given(tag(spec, "out", "out_bytes_expected"), ", &tag_bytes"),
            (Role::SecretNonce, Some(port)) => given(secret_nonce(port), ""),
            (Role::SecretNonceOut, _) => given(secret_nonce_out("out"), ", &none_bytes"),
            _ => String::new(),
        };
        arguments.push_str(match role {
            _ if !own.is_empty() => &own,
            Role::Nonce | Role::Iv => ", context->iv, context->iv_bytes",
            Role::Input => ", in, text_bytes",
            Role::TagIn => ", in + text_bytes, PEER_TAG_BYTES",
            // No result is longer than twice its input and the room behind it.
            Role::Output => ", out, 2 * n_bytes + 64, &out_bytes",
            Role::Tag => ", out, 64, &tag_bytes",
            _ if role.is_output() => ", NULL, 0, &none_bytes",
            _ => ", NULL, 0",
        });
    }
    let mut text = format!("    size_t text_bytes = {text_bytes}, out_bytes = 0, tag_bytes = 0, none_bytes = 0;\n");
    if has_tag && has_output {
        text.push_str("    size_t out_bytes_expected = text_bytes;\n");
    }
    text.push_str("    (void)none_bytes;\n");
    text.push_str(&help.message(op, &arguments));
    text.push_str("    return out_bytes + tag_bytes;\n");
    text
}
