//! C bindings of modules. The header of a module, and the table of its functions for those who handle many networks, in C.

use super::module::c_type;
use crate::layout::Layouts;
use headrace_program::{FunctionId, Interface, Module, effects};
use std::fmt::Write as _;

/// A parameter more where the network prints or calls natives.
fn host(module: &Module, id: FunctionId) -> (&'static str, &'static str) {
    if effects::reach_host(module)[id.index()] {
        (", struct headrace_control *control", ", &own->control")
    } else {
        ("", "")
    }
}

fn words(words: u32) -> String {
    if words > 1 { format!(" Tokens have {words} elements, least significant first.") } else { String::new() }
}

/// The header of a module.
pub(super) fn header(head: &str, module: &Module, prefix: &str) -> String {
    let Interface { context, run, lacks_room, inputs, outputs, .. } = &module.interface;
    let own = |id: FunctionId| format!("{prefix}_{}", module.function(id).name);
    let guard = format!("{}_H", prefix.to_uppercase());
    let n_words = Layouts::of(module).record(*context).bytes.div_ceil(8);
    let mut text = format!(
        "{head}/* The functions of {prefix}.ll: the network `{}`. */\n#ifndef {guard}\n#define {guard}\n\n#include \"headrace_calls.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         /* A context. The module knows what is in `state`; `control` is for what the host does: the functions that take it want\n   \
         that of the same context. */\nstruct {prefix} {{\n    uint64_t state[{n_words}];\n    struct headrace_control control;\n}};\n\n\
         /* Prepares the state. */\nvoid {prefix}_init(uint64_t *state);\n\n\
         /* Overwrites the state, which may hold secrets. */\nvoid {prefix}_clear(uint64_t *state);\n\n\
         /* Fires until nothing can fire, or until all instances had their turn `max_rounds` times. Returns 0 when nothing can fire,\n   \
         1 at the limit, 2 when the host stopped it, 3 when calls nest too deep. */\nuint32_t {}(uint64_t *state, uint64_t max_rounds{});\n\n\
         /* Whether an action that is enabled waits for room, after a run. */\nbool {}(uint64_t *state);\n",
        module.name.replace("*/", "* /"),
        own(*run),
        host(module, *run).0,
        own(*lacks_room)
    );
    for port in inputs {
        let _ = write!(
            text,
            "\n/* Writes tokens to `{}` and returns for how many there was room.{} */\n\
             uint32_t {}(uint64_t *state, const {} *tokens, uint32_t n_tokens{});\n",
            port.name,
            words(port.words),
            own(port.write),
            c_type(port.element),
            host(module, port.write).0
        );
    }
    for port in outputs {
        let _ = write!(
            text,
            "\n/* Takes tokens from `{0}` and returns how many there were.{1} */\n\
             uint32_t {2}(uint64_t *state, {3} *tokens, uint32_t n_tokens{4});\n/* How many there are. */\nuint32_t {5}(uint64_t *state{6});\n",
            port.name,
            words(port.words),
            own(port.read),
            c_type(port.element),
            host(module, port.read).0,
            own(port.waiting),
            host(module, port.waiting).0
        );
    }
    for stream in &module.interface.streams {
        let (about, room) = match stream.output {
            None => (String::new(), ""),
            Some(output) => (
                format!(
                    " tokens of `{}` go to\n   `to`, which does not overlap, and how many is in the upper 32 bits.",
                    outputs[output].name
                ),
                ", uint8_t *to, uint32_t n_to",
            ),
        };
        let _ = write!(
            text,
            "\n/* Fires and takes tokens of `{}` where they lie, as far as it can, and returns how many;{about} */\n\
             uint64_t {}(uint64_t *state, const uint8_t *from, uint32_t n_from{room});\n",
            inputs[stream.input].name,
            own(stream.function)
        );
    }
    let _ = write!(
        text,
        "\n/* The same for those who handle many networks: ports by their numbers. */\nextern const struct headrace_network {prefix}_network;\n\n\
         #ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    );
    text
}

/// The table of the functions of a network, and what stands between it and them.
pub(super) fn table(head: &str, module: &Module, prefix: &str) -> String {
    let Interface { run, inputs, outputs, .. } = &module.interface;
    let own = |id: FunctionId| format!("{prefix}_{}", module.function(id).name);
    let mut text = format!(
        "{head}/* The functions of {prefix}.ll as the table that every network has. */\n#include \"{prefix}.h\"\n\n#include <stdalign.h>\n\n\
         static void init(void *context, const struct headrace_host *host) {{\n    struct {prefix} *const own = context;\n    \
         memset(&own->control, 0, sizeof own->control);\n    own->control.host = host;\n    {prefix}_init(own->state);\n}}\n\n\
         static uint32_t run(void *context, uint64_t max_firings) {{\n    struct {prefix} *const own = context;\n    \
         return headrace_calls_ended(&own->control, {}(own->state, max_firings{}));\n}}\n\n\
         static void clear(void *context) {{\n    struct {prefix} *const own = context;\n    {prefix}_clear(own->state);\n    \
         hr_wipe(&own->control, sizeof own->control);\n}}\n\n\
         static const struct headrace_control *control(const void *context) {{\n    const struct {prefix} *const own = context;\n    return &own->control;\n}}\n",
        own(*run),
        host(module, *run).1
    );
    let ports = [
        ("write", "const void *", inputs.iter().map(|port| port.write).collect::<Vec<_>>()),
        ("read", "void *", outputs.iter().map(|port| port.read).collect()),
    ];
    for (name, pointer, functions) in ports {
        let mut cases = String::new();
        for (at, id) in functions.iter().enumerate() {
            let _ = writeln!(
                cases,
                "    case {at}:\n        return {}(own->state, tokens, n{});",
                own(*id),
                host(module, *id).1
            );
        }
        let body = if cases.is_empty() {
            "    (void)context;\n    (void)port;\n    (void)tokens;\n    (void)n_tokens;\n    return 0;\n".to_owned()
        } else {
            format!(
                "    struct {prefix} *const own = context;\n    const uint32_t n = n_tokens < UINT32_MAX ? (uint32_t)n_tokens : UINT32_MAX;\n    \
                 switch (port) {{\n{cases}    default:\n        return 0;\n    }}\n"
            )
        };
        let _ = write!(
            text,
            "\nstatic size_t {name}(void *context, uint32_t port, {pointer}tokens, size_t n_tokens) {{\n{body}}}\n"
        );
    }
    let has_streams = !module.interface.streams.is_empty();
    if has_streams {
        text.push_str(&stream(module, prefix));
    }
    let stream = if has_streams { "    .stream = stream,\n" } else { "" };
    let _ = write!(
        text,
        "\nconst struct headrace_network {prefix}_network = {{\n    .name = \"{}\",\n    .size = sizeof(struct {prefix}),\n    \
         .alignment = alignof(struct {prefix}),\n    .init = init,\n    .write = write,\n    .read = read,\n    .run = run,\n    \
         .clear = clear,\n    .inspect = headrace_calls_inspect,\n    .firings = headrace_calls_firings,\n    .control = control,\n{stream}}};\n",
        module.name.replace(['"', '\\', '\n'], "_")
    );
    text
}

/// The function of the table that moves input and output of ports of bytes, without copies where the module can.
fn stream(module: &Module, prefix: &str) -> String {
    let mut cases = String::new();
    for stream in &module.interface.streams {
        let name = &module.function(stream.function).name;
        let (condition, room) = match stream.output {
            None => (format!("input == {}u", stream.input), ""),
            Some(output) => {
                (format!("input == {}u && output == {output}u", stream.input), ", out + made, least(*n_out - made)")
            }
        };
        let _ = write!(
            cases,
            "        if ({condition}) {{\n            moved = {prefix}_{name}(own->state, in + taken, least(n_in - taken){room});\n        }}\n"
        );
    }
    let lacks_room = &module.function(module.interface.lacks_room).name;
    format!(
        "\nstatic uint32_t least(size_t n) {{\n    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;\n}}\n\n\
         /* Bytes of input from which on it is worth asking whether they can be taken where they lie. */\n#define LONG 512\n\n\
         static size_t stream(void *context, uint32_t input, const uint8_t *in, size_t n_in, uint32_t output, uint8_t *out,\n                     \
         size_t *n_out, uint32_t *status) {{\n    struct {prefix} *const own = context;\n    size_t taken = 0, made = 0, n;\n    \
         do {{\n        uint64_t moved = 0;\n        n = 0;\n        if (n_in - taken >= LONG) {{\n{cases}        }}\n        \
         taken += (uint32_t)moved;\n        made += (size_t)(moved >> 32);\n        if (moved != 0) {{\n            n = 1;\n            \
         continue;\n        }}\n        if (taken < n_in) {{\n            n = write(context, input, in + taken, n_in - taken);\n            \
         taken += n;\n        }}\n        *status = run(context, UINT64_MAX);\n        if (*status != HEADRACE_IDLE) {{\n            break;\n        }}\n        \
         if (made < *n_out) {{\n            const size_t got = read(context, output, out + made, *n_out - made);\n            made += got;\n            \
         n += got;\n        }}\n        \
         if (taken == n_in && (made < *n_out || *n_out == 0) && !{prefix}_{lacks_room}(own->state)) {{\n            \
         *status = HEADRACE_DRY;\n            break;\n        }}\n    }} while (n != 0);\n    *n_out = made;\n    return taken;\n}}\n"
    )
}
