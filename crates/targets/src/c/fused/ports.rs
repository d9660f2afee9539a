//! Buffering at the boundary: ring buffers, and windows on the memory of the caller. Tokens at the boundary.
//!
//! What a transition sees of an input port is a window: in the buffer of the context, or in the memory of the caller
//! while `stream` runs. Tokens in the buffer come first; when it is empty the window moves to the caller's memory.
//! Output goes to the caller's memory as long as nothing waits in the buffer before it.

use super::{Behind, Writer};
use crate::c::kernel::element_type;
use headrace_ir::Port;
use headrace_transform::control::{Holds, Step};
use headrace_transform::kernel::Effect;
use std::fmt::Write as _;

/// Tokens of a buffer at least, where nothing is known of the strings that come and go.
const BUFFER: u64 = 512;

/// Tokens that are written without a call: as many as the strings have that come before most messages.
const FEW: u64 = 32;

/// Whether tokens of a port can be in the memory of the caller.
pub(super) fn streams(port: &Port) -> bool {
    port.ty.width() == 8
}

/// Transitions that come before anything can be waited for, at most.
const MOST_FIRST: usize = 8;

impl Writer<'_> {
    /// The state of a new network: the first one in which something is decided or waited for. What is stored on the way
    /// there, all of it constant, is added to the text.
    fn first_wait(&self, init: &mut String) -> usize {
        let graph = &self.automaton.graph;
        let mut at = 0;
        for _ in 0..MOST_FIRST {
            let state = &self.automaton.states[at];
            let Step::Go { transition, target } = &state.step else { break };
            let is_quiet = transition.consumes.iter().chain(&transition.produces).all(|n| *n == 0);
            let stored = transition.effects.iter().map(|effect| match effect {
                Effect::Store { object, index, value } => {
                    let object = self.automaton.object(*object);
                    let value = graph.constant(*value).filter(|_| object.persistent && object.width <= u64::BITS)?;
                    Some(format!("    s->{}[{}] = {};\n", object.name, graph.constant(*index)?, literal(value)))
                }
                _ => None,
            });
            let Some(stored) = stored.collect::<Option<String>>() else { break };
            if !is_quiet || !state.loops.is_empty() {
                break;
            }
            init.push_str(&stored);
            at = *target;
        }
        at
    }

    /// Where the window of a port is kept, and what is said of it.
    pub(super) fn window(&self, field: &str) -> String {
        format!("{}{field}", if self.whole.is_some() { "w_" } else { "s->" })
    }

    /// Whether so many tokens are there.
    pub(super) fn there(&self, name: &str, tokens: u64) -> String {
        match self.whole {
            Some(_) => format!("(w_in_{name}_there >= {tokens})"),
            None => format!("{}_there_{name}(s, {tokens})", self.prefix),
        }
    }

    /// Where so many tokens go, or null.
    pub(super) fn place_for(&self, name: &str, tokens: u64) -> String {
        match self.whole {
            Some(_) => format!("(w_out_{name}_room >= {tokens} ? w_out_{name} : NULL)"),
            None => format!("{}_room_{name}(s, {tokens})", self.prefix),
        }
    }

    /// Tokens have been put there.
    pub(super) fn made(&self, name: &str, at: &str, tokens: &str) -> String {
        match self.whole {
            Some(_) => format!("w_out_{name} += {tokens}, w_out_{name}_room -= {tokens};"),
            None => format!("{}_made_{name}(s, {at}, {tokens});", self.prefix),
        }
    }

    /// Of each input port: the type of tokens, the name, and how many tokens its buffer has.
    pub(super) fn input_buffers(&self) -> Vec<(&'static str, &str, u64)> {
        let inputs = &self.network.inputs;
        let held = self.held.map(|held| held.inputs.as_slice());
        self.buffers(inputs, self.automaton.most_awaited(inputs.len()), &self.in_bulk().0, held)
    }

    /// The same of each output port.
    pub(super) fn output_buffers(&self) -> Vec<(&'static str, &str, u64)> {
        let outputs = &self.network.outputs;
        let held = self.held.map(|held| held.outputs.as_slice());
        self.buffers(outputs, self.automaton.most_produced(outputs.len()), &self.in_bulk().1, held)
    }

    fn in_bulk(&self) -> (Vec<bool>, Vec<bool>) {
        self.automaton.in_bulk(self.network.inputs.len(), self.network.outputs.len())
    }

    fn buffers<'p>(
        &self,
        ports: &'p [Port],
        most: Vec<u64>,
        in_bulk: &[bool],
        held: Option<&[u64]>,
    ) -> Vec<(&'static str, &'p str, u64)> {
        let size = |at: usize, most: u64| match held.and_then(|held| held.get(at)) {
            // What comes in bulk and not in place goes through its buffer.
            Some(&held) if streams(&ports[at]) || !in_bulk[at] => held.max(most),
            _ => BUFFER.max(2 * most),
        };
        let sizes = most.into_iter().enumerate().map(|(at, most)| size(at, most));
        let named = |port: &'p Port| (element_type(port.ty.width()), port.name.as_str());
        ports.iter().map(named).zip(sizes).map(|((ty, name), size)| (ty, name, size)).collect()
    }

    /// Windows first, then buffers: all that a message touches of a context lies in a few lines of the cache, which the
    /// message itself fills. The memory of the caller is that of one port of each direction.
    pub(super) fn port_fields(&self) -> String {
        let (mut text, mut waiting, mut behind) = (String::new(), String::new(), String::new());
        if self.network.inputs.iter().any(streams) {
            text.push_str("    const uint8_t *caller_in; /* what the caller has beyond a buffer */\n    size_t caller_in_there;\n    uint32_t caller_in_port;\n");
        }
        if self.network.outputs.iter().any(streams) {
            text.push_str("    uint32_t caller_out_port;\n    uint8_t *caller_out; /* room of the caller */\n    size_t caller_out_room;\n");
        }
        for (ty, name, size) in self.input_buffers() {
            let _ = writeln!(text, "    const {ty} *in_{name}; /* the window */");
            let _ = writeln!(waiting, "    size_t in_{name}_there;");
            let _ = writeln!(behind, "    {ty} in_{name}_buffer[{size}];");
        }
        for (ty, name, size) in self.output_buffers() {
            let _ =
                write!(waiting, "    uint32_t out_{name}_first; /* of the buffer */\n    uint32_t out_{name}_there;\n");
            let _ = writeln!(behind, "    {ty} out_{name}_buffer[{size}];");
        }
        if !waiting.is_empty() {
            // All at once, too: whether something waits anywhere.
            let _ = write!(
                text,
                "    HEADRACE_EXTENSION union {{\n    HEADRACE_EXTENSION struct {{\n{waiting}    }};\n    size_t waiting[{}];\n    }};\n",
                self.n_waiting()
            );
        }
        text + &behind
    }

    /// The number of elements of `waiting`, in C.
    pub(super) fn n_waiting(&self) -> String {
        let (inputs, outputs) = (self.network.inputs.len(), self.network.outputs.len());
        format!("{inputs} + {outputs} * (8 / sizeof(size_t))")
    }

    pub(super) fn ports(&self) -> String {
        let inputs = self.input_buffers().into_iter().zip(&self.network.inputs).enumerate();
        let inputs = inputs.map(|(at, (buffer, port))| self.input(at, buffer, streams(port)));
        let outputs = self.output_buffers().into_iter().zip(&self.network.outputs).enumerate();
        let outputs = outputs.map(|(at, (buffer, port))| self.output(at, buffer, streams(port)));
        inputs.chain(outputs).collect()
    }

    fn input(&self, at: usize, (ty, name, size): (&str, &str, u64), streams: bool) -> String {
        let prefix = self.prefix;
        let few = FEW.min(size);
        let (mut text, mut more) = (String::new(), String::new());
        if streams {
            more = format!(
                " ||\n           (s->caller_in_there != 0 && s->caller_in_port == {at} && {prefix}_more_{name}(s, n_tokens))"
            );
            text = format!(
                "/* Makes the window on {name} longer: by what the caller has, through the buffer if something is left there. */
HR_APART static bool {prefix}_more_{name}(struct {prefix} *s, size_t n_tokens) {{
    size_t moved;
    if (s->in_{name}_there == 0) {{
        s->in_{name} = s->caller_in;
        s->in_{name}_there = s->caller_in_there;
        s->caller_in_there = 0;
        return s->in_{name}_there >= n_tokens;
    }}
    if (s->in_{name} < s->in_{name}_buffer || s->in_{name} >= s->in_{name}_buffer + {size}) {{
        return false;
    }}
    memmove(s->in_{name}_buffer, s->in_{name}, s->in_{name}_there);
    s->in_{name} = s->in_{name}_buffer;
    /* As few as are needed: what follows is read where it lies. */
    moved = n_tokens > s->in_{name}_there ? n_tokens - s->in_{name}_there : 0;
    moved = moved < s->caller_in_there ? moved : s->caller_in_there;
    moved = moved < {size} - s->in_{name}_there ? moved : {size} - s->in_{name}_there;
    memcpy(s->in_{name}_buffer + s->in_{name}_there, s->caller_in, moved);
    s->in_{name}_there += moved;
    s->caller_in += moved;
    s->caller_in_there -= moved;
    return s->in_{name}_there >= n_tokens;
}}

"
            );
        }
        let _ = write!(
            text,
            "static inline bool {prefix}_there_{name}(struct {prefix} *s, size_t n_tokens) {{
    return s->in_{name}_there >= n_tokens{more};
}}

/* Appends to the buffer as much as there is room for; the window must be on it. */
HR_APART static size_t {prefix}_append_{name}(struct {prefix} *s, const unsigned char *bytes, size_t n_tokens) {{
    if (s->in_{name}_there == 0) {{
        s->in_{name} = s->in_{name}_buffer;
    }} else if (n_tokens > (size_t)(s->in_{name}_buffer + {size} - s->in_{name}) - s->in_{name}_there) {{
        memmove(s->in_{name}_buffer, s->in_{name}, s->in_{name}_there * sizeof({ty}));
        s->in_{name} = s->in_{name}_buffer;
    }}
    const size_t room = (size_t)(s->in_{name}_buffer + {size} - s->in_{name}) - s->in_{name}_there;
    n_tokens = n_tokens < room ? n_tokens : room;
    memcpy(s->in_{name}_buffer + (s->in_{name} - s->in_{name}_buffer) + s->in_{name}_there, bytes, n_tokens * sizeof({ty}));
    s->in_{name}_there += n_tokens;
    return n_tokens;
}}

/* Most ports get all that they hold at once, and who writes a few tokens mostly knows how many. */
static inline size_t {prefix}_keep_{name}(struct {prefix} *s, const unsigned char *bytes, size_t n_tokens) {{
    if (n_tokens > {few} || s->in_{name}_there != 0) {{
        return {prefix}_append_{name}(s, bytes, n_tokens);
    }}
    s->in_{name} = s->in_{name}_buffer;
    memcpy(s->in_{name}_buffer, bytes, n_tokens * sizeof({ty}));
    s->in_{name}_there = n_tokens;
    return n_tokens;
}}

"
        );
        text
    }

    fn output(&self, at: usize, (ty, name, size): (&str, &str, u64), streams: bool) -> String {
        let prefix = self.prefix;
        let (mut drain, mut drained, mut room, mut made) =
            (String::new(), String::new(), String::new(), "    (void)at;\n".to_owned());
        if streams {
            drain = format!(
                "/* Moves output that waits to the caller, whose memory is for it. */
static void {prefix}_drain_{name}(struct {prefix} *s) {{
    const size_t n_tokens = s->out_{name}_there < s->caller_out_room ? s->out_{name}_there : s->caller_out_room;
    if (n_tokens != 0) {{
        memcpy(s->caller_out, s->out_{name}_buffer + s->out_{name}_first, n_tokens);
        s->caller_out += n_tokens;
        s->caller_out_room -= n_tokens;
        s->out_{name}_first += (uint32_t)n_tokens;
        s->out_{name}_there -= (uint32_t)n_tokens;
    }}
    if (s->out_{name}_there == 0) {{
        s->out_{name}_first = 0;
    }}
}}

"
            );
            drained = format!(
                "    if (s->caller_out_port == {at}) {{
        {prefix}_drain_{name}(s);
        if (s->out_{name}_there == 0 && s->caller_out_room >= n_tokens) {{
            return s->caller_out;
        }}
    }}
"
            );
            room = format!(
                "        if (s->caller_out_port == {at} && s->caller_out_room >= n_tokens) {{
            return s->caller_out;
        }}
        if (s->caller_out_port == {at} && s->caller_out_room != 0) {{
            return {prefix}_make_room_{name}(s, n_tokens);
        }}
"
            );
            made = format!(
                "    if (at == s->caller_out && s->caller_out_port == {at}) {{
        s->caller_out += n_tokens;
        s->caller_out_room -= n_tokens;
        return;
    }}
"
            );
        }
        let _ = writeln!(made, "    s->out_{name}_there += (uint32_t)n_tokens;");
        format!(
            "{drain}HR_APART static {ty} *{prefix}_make_room_{name}(struct {prefix} *s, size_t n_tokens) {{
{drained}    if ({size} - s->out_{name}_first - s->out_{name}_there < n_tokens) {{
        memmove(s->out_{name}_buffer, s->out_{name}_buffer + s->out_{name}_first, s->out_{name}_there * sizeof({ty}));
        s->out_{name}_first = 0;
    }}
    return {size} - s->out_{name}_there < n_tokens ? NULL : s->out_{name}_buffer + s->out_{name}_first + s->out_{name}_there;
}}

/* Where so many tokens go, or null when there is no room. */
static inline {ty} *{prefix}_room_{name}(struct {prefix} *s, size_t n_tokens) {{
    if (s->out_{name}_there == 0) {{
{room}        s->out_{name}_first = 0;
        return s->out_{name}_buffer;
    }}
    return {prefix}_make_room_{name}(s, n_tokens);
}}

/* They have been put there. */
static inline void {prefix}_made_{name}(struct {prefix} *s, const {ty} *at, size_t n_tokens) {{
{made}}}

"
        )
    }

    /// The functions of the table.
    pub(super) fn functions(&self) -> String {
        let prefix = self.prefix;
        let inner = self.behind.map(|behind| behind.inner);
        let mut text = String::new();
        let mut init = String::new();
        if inner.is_some() {
            init.push_str("    s->left = 0;\n");
        }
        if self.has_control() {
            init.push_str("    memset(&s->control, 0, sizeof s->control);\n    s->control.host = host;\n");
        } else {
            init.push_str("    (void)host;\n");
        }
        if self.runs_ahead() {
            init.push_str("    s->ahead = NULL;\n    s->ahead_who = 0;\n");
        }
        for port in &self.network.inputs {
            let name = &port.name;
            let _ = write!(init, "    s->in_{name} = s->in_{name}_buffer;\n    s->in_{name}_there = 0;\n");
        }
        for port in &self.network.outputs {
            let name = &port.name;
            let _ = write!(init, "    s->out_{name}_first = 0;\n    s->out_{name}_there = 0;\n");
        }
        if self.network.inputs.iter().any(streams) {
            init.push_str(
                "    s->caller_in = NULL;\n    s->caller_in_there = 0;\n    s->caller_in_port = UINT32_MAX;\n",
            );
        }
        if self.network.outputs.iter().any(streams) {
            init.push_str(
                "    s->caller_out = NULL;\n    s->caller_out_room = 0;\n    s->caller_out_port = UINT32_MAX;\n",
            );
        }
        let fields = self.automaton.objects.iter().zip(&self.automaton.initial).zip(&self.automaton.holds);
        for ((object, initial), holds) in fields.filter(|((object, _), _)| object.persistent && object.length > 0) {
            // Tokens are written before they are read.
            if !matches!(holds, Holds::Fifo(_)) {
                let _ = writeln!(init, "    memset(s->{0}, 0, sizeof s->{0});", object.name);
            }
            for (at, value) in initial.iter().enumerate().filter(|(_, value)| **value != 0) {
                let value = if object.width > 64 {
                    format!("hr_pair128({:#x}u, {:#x}u)", value >> 64, *value as u64)
                } else {
                    literal(*value)
                };
                let _ = writeln!(init, "    s->{}[{at}] = {value};", object.name);
            }
        }
        let first = self.first_wait(&mut init);
        let _ = write!(
            text,
            "static void {prefix}_any_init(void *context, const struct headrace_host *host) {{
    struct {prefix} *const s = (struct {prefix} *)context;
    s->state = {first};
    s->helpers = NULL;
    s->many = 0;
    s->many_loop = 0;
    s->many_iterations = 0;
{init}}}

static void {prefix}_any_help(void *context, const struct headrace_helpers *helpers) {{
    ((struct {prefix} *)context)->helpers = helpers;
}}

"
        );
        text.push_str(&self.copy());
        // Writing.
        let _ = write!(
            text,
            "static size_t {prefix}_any_write(void *context, uint32_t port, const void *tokens, size_t n_tokens) {{
    struct {prefix} *const s = (struct {prefix} *)context;
    switch (port) {{
"
        );
        for (at, port) in self.network.inputs.iter().enumerate() {
            let name = &port.name;
            let _ = writeln!(text, "    case {at}:");
            if let Some(inner) = inner {
                let _ = write!(
                    text,
                    "        if (s->left != 0 && s->in_{name}_there == 0) {{\n            return {inner}_network.write(&s->scheduled, port, tokens, n_tokens);\n        }}\n"
                );
            }
            let _ = writeln!(text, "        return {prefix}_keep_{name}(s, (const unsigned char *)tokens, n_tokens);");
        }
        text.push_str("    default:\n        return 0;\n    }\n}\n\n");
        // Reading.
        let _ = write!(
            text,
            "static size_t {prefix}_any_read(void *context, uint32_t port, void *tokens, size_t n_tokens) {{
    struct {prefix} *const s = (struct {prefix} *)context;
    size_t taken = 0;
    switch (port) {{
"
        );
        for (at, port) in self.network.outputs.iter().enumerate() {
            let (ty, name) = (element_type(port.ty.width()), &port.name);
            let _ = write!(
                text,
                "    case {at}:
        taken = n_tokens < s->out_{name}_there ? n_tokens : s->out_{name}_there;
        if (taken == 1) {{
            memcpy(tokens, s->out_{name}_buffer + s->out_{name}_first, sizeof({ty}));
        }} else if (taken != 0) {{
            memcpy(tokens, s->out_{name}_buffer + s->out_{name}_first, taken * sizeof({ty}));
        }}
        s->out_{name}_first += (uint32_t)taken;
        s->out_{name}_there -= (uint32_t)taken;
        if (s->out_{name}_there == 0) {{
            s->out_{name}_first = 0;
        }}
"
            );
            if let Some(inner) = inner {
                let _ = write!(
                    text,
                    "        if (s->left != 0 && taken < n_tokens) {{
            taken += {inner}_network.read(&s->scheduled, port, (unsigned char *)tokens + taken * sizeof({ty}), n_tokens - taken);
        }}
"
                );
            }
            text.push_str("        break;\n");
        }
        text.push_str("    default:\n        break;\n    }\n    return taken;\n}\n\n");
        text.push_str(&self.runs());
        text.push_str(&self.run_helped());
        text.push_str(&self.lent());
        text.push_str(&self.stream());
        text.push_str(&self.shown());
        let has_left = self.behind.map_or("NULL".to_owned(), |_| format!("{prefix}_any_has_left"));
        let _ = write!(
            text,
            "const struct headrace_network {prefix}_network = {{
    .name = \"{}\",
    .size = sizeof(struct {prefix}),
    .alignment = _Alignof(struct {prefix}),
    .init = {prefix}_any_init,
    .write = {prefix}_any_write,
    .read = {prefix}_any_read,
    .run = {prefix}_any_run,
    .clear = {prefix}_any_clear,
    .inspect = {prefix}_any_inspect,
    .firings = {prefix}_any_firings,
    .control = {prefix}_any_control,
    .stream = {prefix}_any_stream,
    .help = {prefix}_any_help,
    .has_left = {has_left},
    .copy = {prefix}_any_copy
}};
",
            self.network.name
        );
        text
    }

    /// The functions between which the caller lends its memory to the network.
    pub(super) fn lent(&self) -> String {
        let prefix = self.prefix;
        let (mut begin, mut end) = (String::new(), String::new());
        for (at, port) in self.network.inputs.iter().enumerate().filter(|(_, port)| streams(port)) {
            let name = &port.name;
            let _ = write!(
                begin,
                "    if (input == {at} && s->in_{name}_there == 0) {{\n        s->in_{name} = in;\n        s->in_{name}_there = n_in;\n    }} else if (input == {at}) {{\n        s->caller_in = in;\n        s->caller_in_there = n_in;\n        s->caller_in_port = {at};\n    }}\n"
            );
            // What is left lies in the caller's memory: behind the window, or the window is there. Mostly nothing is.
            let _ = write!(
                end,
                "    if (input == {at} && (s->in_{name}_there != 0 || s->caller_in_there != 0)) {{
        const bool outside = s->caller_in_there == 0 && s->in_{name}_there != 0 && s->in_{name} >= in && s->in_{name} < in + n_in;
        const uint8_t *const rest = outside ? s->in_{name} : s->caller_in;
        const size_t n_rest = outside ? s->in_{name}_there : s->caller_in_there;
        if (outside || s->in_{name}_there == 0) {{
            s->in_{name}_there = 0;
            s->in_{name} = s->in_{name}_buffer;
        }}
        s->caller_in = NULL;
        s->caller_in_there = 0;
        left = n_rest - (n_rest == 0 ? 0 : {prefix}_append_{name}(s, rest, n_rest));
    }} else if (input == {at}) {{
        s->in_{name} = s->in_{name}_buffer;
    }}
"
            );
        }
        for (at, port) in self.network.outputs.iter().enumerate().filter(|(_, port)| streams(port)) {
            let name = &port.name;
            let _ = write!(
                begin,
                "    if (output == {at}) {{\n        s->caller_out = out;\n        s->caller_out_room = n_out;\n        s->caller_out_port = {at};\n        if (s->out_{name}_there != 0) {{\n            {prefix}_drain_{name}(s);\n        }}\n    }}\n"
            );
            let of_left = match self.behind {
                Some(Behind { inner, .. }) => format!(
                    "        if (s->left != 0 && s->out_{name}_there == 0) {{
            *n_out += {inner}_network.read(&s->scheduled, output, s->caller_out, s->caller_out_room);
        }}
"
                ),
                None => String::new(),
            };
            let _ = write!(
                end,
                "    if (output == {at}) {{
        if (s->out_{name}_there != 0) {{
            {prefix}_drain_{name}(s);
        }}
        *n_out -= s->caller_out_room;
{of_left}        s->caller_out = NULL;
        s->caller_out_room = 0;
        s->caller_out_port = UINT32_MAX;
    }}
"
            );
        }
        format!(
            "/* The caller's memory is there from here on. */
static void {prefix}_stream_begin(struct {prefix} *s, uint32_t input, const uint8_t *in, size_t n_in, uint32_t output,
                                  uint8_t *out, size_t n_out) {{
    (void)s;
{begin}}}

/* No longer: how many of `in` were taken; `*n_out` is how many bytes there was room for, then how many were put. */
static size_t {prefix}_stream_end(struct {prefix} *s, uint32_t input, const uint8_t *in, size_t n_in, uint32_t output,
                                  size_t *n_out) {{
    size_t left = 0;
    (void)s;
{end}    return n_in - left;
}}

"
        )
    }

    fn stream(&self) -> String {
        let prefix = self.prefix;
        format!(
            "/* A part of the function for whole messages, which says the ports. */
HR_PART size_t {prefix}_any_stream(void *context, uint32_t input, const uint8_t *in, size_t n_in, uint32_t output,
                                 uint8_t *out, size_t *n_out, uint32_t *status) {{
    struct {prefix} *const s = (struct {prefix} *)context;
    {prefix}_stream_begin(s, input, in, n_in, output, out, *n_out);
    *status = {prefix}_run_helped(s, n_in);
    return {prefix}_stream_end(s, input, in, n_in, output, n_out);
}}

"
        )
    }
}

/// A constant of at most 64 bits; wider ones are put together.
pub(super) fn literal(value: u128) -> String {
    if value > u128::from(u64::MAX) {
        format!("hr_pair128(UINT64_C({:#x}), UINT64_C({:#x}))", value >> 64, value & u128::from(u64::MAX))
    } else {
        format!("UINT64_C({value:#x})")
    }
}
