//! The interface of operations in C: keyed context, whole blocks or `init`, `update` and `final`, a whole message in one call.
//!
//! The functions of all operations of a kind are the same text over the network's table of functions; what differs (port
//! numbers, lengths) stands in the calls. Tokens go in as there is room for them and out as there is room in the caller's
//! buffer, so no memory is needed beyond the network's own.

use super::{network_prefix, operation_prefix};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::sizes::Sizes;
use std::fmt::Write as _;

/// Status values, and what stands before every operation.
const STATUS: &str = "/* What every function returns. */
enum NAME_status {
    NAME_OK = 0,
    NAME_KEY_LENGTH = 1,   /* the key has a length that is not allowed */
    NAME_IV_LENGTH = 2,    /* the initial block or nonce has */
    NAME_INPUT_LENGTH = 3, /* the input has */
    NAME_ROOM = 4,         /* the output buffer is too small; the message is lost */
    NAME_ORDER = 5,        /* no key yet, or `update` without `init` */
    NAME_STUCK = 6         /* the network stopped: a mistake of the network */
};
";

pub(super) fn header(head: &str, name: &str, title: &str, operations: &[(&OperationSpec, &Network)]) -> String {
    let guard = format!("{}_H", name.to_uppercase());
    let mut text =
        format!("{head}/* {} */\n#ifndef {guard}\n#define {guard}\n\n#include \"headrace.h\"\n", comment(title));
    for (spec, _) in operations {
        let _ = writeln!(text, "#include \"{}.h\"", network_prefix(name, spec));
    }
    text.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    text.push_str(
        &STATUS
            .replace("NAME", &name.to_uppercase())
            .replace(&format!("enum {}_status", name.to_uppercase()), &format!("enum {name}_status")),
    );
    for (spec, _) in operations {
        operation_header(&mut text, name, spec);
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

/// Parameters and arguments for the initial block, where there is one.
fn iv(spec: &OperationSpec) -> Option<(&'static str, &Sizes)> {
    let found = [(Role::Iv, "iv"), (Role::Nonce, "nonce")].into_iter();
    found.filter_map(|(role, name)| Some((name, &spec.input(role)?.sizes))).next()
}

fn operation_header(text: &mut String, name: &str, spec: &OperationSpec) {
    let op = operation_prefix(name, spec);
    let network = network_prefix(name, spec);
    let key_sizes = spec.key_sizes().map_or_else(|| "0 bytes".to_owned(), ToString::to_string);
    let input_sizes = spec.input(Role::Input).map_or_else(String::new, |port| port.sizes.to_string());
    let _ = write!(
        text,
        "\n/* --- {op}: {} --- */\n\n/* A context with its key. It may hold secrets until `{op}_clear`. */\nstruct {op}_context {{\n    \
         struct {network} network;\n    uint8_t key[{}];\n    size_t key_bytes;\n    uint64_t input_bytes;\n    uint32_t state;\n}};\n\n\
         /* Takes a key ({key_sizes}); it is used from the next message on. */\n\
         uint32_t {op}_key(struct {op}_context *context, const uint8_t *key, size_t key_bytes);\n\n",
        comment(&spec.title),
        key_room(spec)
    );
    match (spec.framing, spec.block_bytes) {
        (Framing::Core, Some(block)) => {
            let _ = write!(
                text,
                "/* Transforms `n_blocks` blocks of {block} bytes; `in` and `out` do not overlap. */\n\
                 uint32_t {op}_blocks(struct {op}_context *context, const uint8_t *in, uint8_t *out, uint32_t n_blocks);\n\n"
            );
        }
        _ => {
            let (iv_parameters, iv_text) = match iv(spec) {
                Some((iv, sizes)) => {
                    (format!(", const uint8_t *{iv}, size_t {iv}_bytes"), format!(", with its {iv} ({sizes})"))
                }
                None => (String::new(), String::new()),
            };
            let _ = write!(
                text,
                "/* Begins a message{iv_text}. */\nuint32_t {op}_init(struct {op}_context *context{iv_parameters});\n\n\
                 /* Takes a piece of input. What comes out goes to `out`, which has room for `out_room` bytes, and is counted in\n   \
                 `*out_bytes`; room for `in_bytes` and a block is always enough. */\n\
                 uint32_t {op}_update(struct {op}_context *context, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_room,\n    \
                 size_t *out_bytes);\n\n\
                 /* Ends the message, whose input must have had {input_sizes}. The last output comes as in `update`. */\n\
                 uint32_t {op}_final(struct {op}_context *context, uint8_t *out, size_t out_room, size_t *out_bytes);\n\n\
                 /* A whole message. */\n\
                 uint32_t {op}_message(struct {op}_context *context{iv_parameters}, const uint8_t *in, size_t in_bytes, uint8_t *out,\n    \
                 size_t out_room, size_t *out_bytes);\n\n"
            );
        }
    }
    let _ = writeln!(text, "/* Wipes the context. */\nvoid {op}_clear(struct {op}_context *context);");
}

/// Bytes kept for the key.
fn key_room(spec: &OperationSpec) -> u64 {
    spec.key_sizes().map_or(1, |sizes| sizes.max().clamp(1, 4096))
}

/// A condition that a length is allowed.
fn allowed(sizes: &Sizes, length: &str) -> String {
    match sizes {
        Sizes::OneOf(sizes) => {
            let equal: Vec<String> = sizes.iter().map(|size| format!("{length} == {size}u")).collect();
            if equal.is_empty() { "false".into() } else { equal.join(" || ") }
        }
        Sizes::Range { min, max, multiple } => {
            let mut parts = Vec::new();
            if *min > 0 {
                parts.push(format!("{length} >= {min}u"));
            }
            if *max < u64::MAX {
                parts.push(format!("{length} <= {max}u"));
            }
            if *multiple > 1 {
                parts.push(format!("{length} % {multiple}u == 0"));
            }
            if parts.is_empty() { "true".into() } else { parts.join(" && ") }
        }
    }
}

/// Moves tokens in and out until all of `in` is taken and nothing moves any more.
const PUMP: &str = "
/* Ports are numbers in the order of the network; SIZE_MAX stands for one that there is not. */
static bool put(const struct headrace_network *n, void *c, size_t port, const void *tokens, size_t n_tokens) {
    return n->write(c, (uint32_t)port, tokens, n_tokens) == n_tokens;
}

static uint32_t pump(const struct headrace_network *n, void *c, size_t in_port, const uint8_t *in, size_t in_bytes, size_t out_port,
    size_t size_port, uint8_t *out, size_t out_room, size_t *out_bytes) {
    size_t sent = 0, got = 0;
    for (;;) {
        size_t moved = 0, n_tokens;
        uint32_t sizes[16];
        if (sent < in_bytes) {
            n_tokens = n->write(c, (uint32_t)in_port, in + sent, in_bytes - sent);
            sent += n_tokens;
            moved += n_tokens;
        }
        if (n->run(c, UINT64_MAX) != HEADRACE_IDLE) {
            return UPPER_STUCK;
        }
        if (got < out_room) {
            n_tokens = n->read(c, (uint32_t)out_port, out + got, out_room - got);
            got += n_tokens;
            moved += n_tokens;
        }
        if (size_port != SIZE_MAX) {
            do {
                n_tokens = n->read(c, (uint32_t)size_port, sizes, 16);
                moved += n_tokens;
            } while (n_tokens == 16);
        }
        if (moved == 0) {
            uint8_t more;
            *out_bytes = got;
            if (got == out_room && n->read(c, (uint32_t)out_port, &more, 1) == 1) {
                return UPPER_ROOM;
            }
            return sent == in_bytes ? UPPER_OK : UPPER_STUCK;
        }
    }
}
";

pub(super) fn source(head: &str, name: &str, operations: &[(&OperationSpec, &Network)]) -> String {
    let upper = name.to_uppercase();
    let mut text = format!(
        "{head}#include \"{name}.h\"\n\nenum {{ NO_KEY = 0, NEW_KEY = 1, KEYED = 2, NEW_KEY_OPEN = 3, OPEN = 4 }};\n{}",
        PUMP.replace("UPPER", &upper)
    );
    for (spec, network) in operations {
        operation_source(&mut text, name, &upper, spec, network);
    }
    text
}

fn port(names: impl Iterator<Item = impl AsRef<str>>, wanted: Option<&str>) -> String {
    let mut names = names;
    wanted
        .and_then(|wanted| names.position(|name| name.as_ref() == wanted))
        .map_or("SIZE_MAX".into(), |at| at.to_string())
}

fn operation_source(text: &mut String, name: &str, upper: &str, spec: &OperationSpec, network: &Network) {
    let op = operation_prefix(name, spec);
    let table = format!("&{}_network", network_prefix(name, spec));
    let input = |role: Role| spec.input(role);
    let in_port = |wanted: Option<&str>| port(network.inputs.iter().map(|port| &port.name), wanted);
    let out_port = |wanted: Option<&str>| port(network.outputs.iter().map(|port| &port.name), wanted);
    let data = in_port(input(Role::Input).map(|port| port.name.as_str()));
    let output = spec.output(Role::Output);
    let out = out_port(output.map(|port| port.name.as_str()));
    let out_size = out_port(output.and_then(|port| port.companion.as_deref()));
    let rekey = in_port(input(Role::Rekey).map(|port| port.name.as_str()));
    let key = in_port(input(Role::Key).map(|port| port.name.as_str()));
    let key_size = in_port(input(Role::Key).and_then(|port| port.companion.as_deref()));
    let key_allowed = spec.key_sizes().map_or("key_bytes == 0".into(), |sizes| allowed(sizes, "key_bytes"));
    let key_room = key_room(spec);
    let send_key_size = if key_size == "SIZE_MAX" {
        String::new()
    } else {
        format!(
            "const uint32_t size = 0x80000000u | (uint32_t)context->key_bytes;\n        done = done && put(n, c, {key_size}, &size, 1);\n        "
        )
    };
    // Sending the key and what else comes before the data.
    let begin = format!(
        "    const struct headrace_network *const n = {table};\n    void *const c = &context->network;\n    \
         const uint8_t rekey = context->state == NEW_KEY;\n    bool done = true;\n    done = put(n, c, {rekey}, &rekey, 1);\n    \
         if (rekey) {{\n        {send_key_size}done = done && put(n, c, {key}, context->key, context->key_bytes);\n    }}\n"
    );
    let _ = write!(
        text,
        "\nuint32_t {op}_key(struct {op}_context *context, const uint8_t *key, size_t key_bytes) {{\n    \
         if (!({key_allowed}) || key_bytes > {key_room}u) {{\n        return {upper}_KEY_LENGTH;\n    }}\n    \
         ({table})->init(&context->network, NULL);\n    memset(context->key, 0, sizeof context->key);\n    \
         memcpy(context->key, key, key_bytes);\n    context->key_bytes = key_bytes;\n    context->input_bytes = 0;\n    \
         context->state = NEW_KEY;\n    return {upper}_OK;\n}}\n\n\
         void {op}_clear(struct {op}_context *context) {{\n    volatile uint8_t *const key = context->key;\n    \
         for (size_t i = 0; i < sizeof context->key; i++) {{\n        key[i] = 0;\n    }}\n    \
         ({table})->clear(&context->network);\n    context->state = NO_KEY;\n}}\n"
    );
    if let (Framing::Core, Some(block)) = (spec.framing, spec.block_bytes) {
        let blocks = in_port(input(Role::Blocks).map(|port| port.name.as_str()));
        let _ = write!(
            text,
            "\nuint32_t {op}_blocks(struct {op}_context *context, const uint8_t *in, uint8_t *out, uint32_t n_blocks) {{\n    \
             size_t out_bytes = 0;\n    const size_t bytes = (size_t)n_blocks * {block}u;\n    uint32_t status;\n    \
             if (context->state != NEW_KEY && context->state != KEYED) {{\n        return {upper}_ORDER;\n    }}\n{{\n{begin}    \
             if (!done || !put(n, c, {blocks}, &n_blocks, 1)) {{\n        return {upper}_STUCK;\n    }}\n    context->state = KEYED;\n    \
             status = pump(n, c, {data}, in, bytes, {out}, {out_size}, out, bytes, &out_bytes);\n    }}\n    \
             return status == {upper}_OK && out_bytes != bytes ? {upper}_STUCK : status;\n}}\n"
        );
        return;
    }
    let size_port = in_port(input(Role::Input).and_then(|port| port.companion.as_deref()));
    let input_allowed = input(Role::Input).map_or("true".into(), |port| allowed(&port.sizes, "context->input_bytes"));
    let (parameters, arguments, check, send) = match iv(spec) {
        None => (String::new(), String::new(), String::new(), String::new()),
        Some((iv, sizes)) => {
            let role = if iv == "iv" { Role::Iv } else { Role::Nonce };
            let port = in_port(input(role).map(|port| port.name.as_str()));
            let companion = in_port(input(role).and_then(|port| port.companion.as_deref()));
            let size = if companion == "SIZE_MAX" {
                String::new()
            } else {
                format!(
                    "    {{\n        const uint32_t size = 0x80000000u | (uint32_t){iv}_bytes;\n        done = done && put(n, c, {companion}, &size, 1);\n    }}\n"
                )
            };
            (
                format!(", const uint8_t *{iv}, size_t {iv}_bytes"),
                format!(", {iv}, {iv}_bytes"),
                format!(
                    "    if (!({})) {{\n        return {upper}_IV_LENGTH;\n    }}\n",
                    allowed(sizes, &format!("{iv}_bytes"))
                ),
                format!("{size}    done = done && put(n, c, {port}, {iv}, {iv}_bytes);\n"),
            )
        }
    };
    let _ = write!(
        text,
        "\nuint32_t {op}_init(struct {op}_context *context{parameters}) {{\n{check}    \
         if (context->state != NEW_KEY && context->state != KEYED) {{\n        return {upper}_ORDER;\n    }}\n{{\n{begin}{send}    \
         if (!done) {{\n        return {upper}_STUCK;\n    }}\n    }}\n    context->input_bytes = 0;\n    context->state = OPEN;\n    return {upper}_OK;\n}}\n\n\
         uint32_t {op}_update(struct {op}_context *context, const uint8_t *in, size_t in_bytes, uint8_t *out, size_t out_room,\n    size_t *out_bytes) {{\n    \
         const struct headrace_network *const n = {table};\n    void *const c = &context->network;\n    size_t total = 0;\n    \
         *out_bytes = 0;\n    if (context->state != OPEN) {{\n        return {upper}_ORDER;\n    }}\n    \
         while (in_bytes > 0) {{\n        const uint32_t size = in_bytes < 0x40000000u ? (uint32_t)in_bytes : 0x40000000u;\n        \
         uint32_t status = {upper}_STUCK;\n        size_t got = 0;\n        if (put(n, c, {size_port}, &size, 1)) {{\n            \
         status = pump(n, c, {data}, in, size, {out}, {out_size}, out + total, out_room - total, &got);\n        }}\n        \
         total += got;\n        *out_bytes = total;\n        if (status != {upper}_OK) {{\n            context->state = NO_KEY;\n            return status;\n        }}\n        \
         in += size;\n        in_bytes -= size;\n        context->input_bytes += size;\n    }}\n    return {upper}_OK;\n}}\n\n\
         uint32_t {op}_final(struct {op}_context *context, uint8_t *out, size_t out_room, size_t *out_bytes) {{\n    \
         const struct headrace_network *const n = {table};\n    void *const c = &context->network;\n    const uint32_t last = 0x80000000u;\n    \
         uint32_t status;\n    *out_bytes = 0;\n    if (context->state != OPEN) {{\n        return {upper}_ORDER;\n    }}\n    context->state = NO_KEY;\n    \
         if (!({input_allowed})) {{\n        return {upper}_INPUT_LENGTH;\n    }}\n    if (!put(n, c, {size_port}, &last, 1)) {{\n        return {upper}_STUCK;\n    }}\n    \
         status = pump(n, c, {data}, &(const uint8_t){{0}}, 0, {out}, {out_size}, out, out_room, out_bytes);\n    \
         if (status == {upper}_OK) {{\n        context->state = KEYED;\n    }}\n    return status;\n}}\n\n\
         uint32_t {op}_message(struct {op}_context *context{parameters}, const uint8_t *in, size_t in_bytes, uint8_t *out,\n    size_t out_room, size_t *out_bytes) {{\n    \
         size_t first = 0, rest = 0;\n    uint32_t status = {op}_init(context{arguments});\n    if (status == {upper}_OK) {{\n        \
         status = {op}_update(context, in, in_bytes, out, out_room, &first);\n    }}\n    if (status == {upper}_OK) {{\n        \
         status = {op}_final(context, out + first, out_room - first, &rest);\n    }}\n    *out_bytes = first + rest;\n    return status;\n}}\n"
    );
}
