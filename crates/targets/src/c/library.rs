//! The shape of a library: what a manifest says of an operation becomes the functions that C programmers expect.
//!
//! A message primitive gets `init`, `next` (another message under the same key), `update`, `final` and `message` (all at
//! once); a core gets `set_key` and `blocks`. Plaintext that is not verified never leaves: what verifies and gives output
//! has no `update`, and `message` wipes the output when the tag is wrong.

use super::names::identifier;
use headrace_ir::{Network, Port};
use headrace_library::catalog::{Framing, OperationSpec};
use headrace_library::sizes::Sizes;
use headrace_library::{PortSpec, Role};

/// A printed shape: the interface for a header, and its implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedShape {
    /// Types and documented prototypes.
    pub interface: String,
    /// Definitions.
    pub implementation: String,
}

/// A byte string in a C signature.
struct Text {
    /// Name of the parameter.
    name: String,
    /// Its length, when only one is legal.
    fixed: Option<u64>,
    /// The port.
    port: PortSpec,
}

impl Text {
    fn parameters(&self, constant: bool) -> String {
        let name = &self.name;
        match (self.fixed, constant) {
            (Some(bytes), true) => format!("const uint8_t {name}[{bytes}]"),
            (Some(bytes), false) => format!("uint8_t {name}[{bytes}]"),
            (None, true) => format!("const uint8_t *{name}, size_t {name}_bytes"),
            (None, false) => format!("uint8_t *{name}, size_t {name}_room, size_t *{name}_bytes"),
        }
    }

    fn arguments(&self, constant: bool) -> String {
        let name = &self.name;
        match (self.fixed, constant) {
            (Some(_), _) => name.clone(),
            (None, true) => format!("{name}, {name}_bytes"),
            (None, false) => format!("{name}, {name}_room, {name}_bytes"),
        }
    }

    fn length(&self) -> String {
        self.fixed.map_or_else(|| format!("{}_bytes", self.name), |bytes| format!("{bytes}u"))
    }
}

fn parameter_name(role: Role) -> &'static str {
    match role {
        Role::Rekey => "rekey",
        Role::Decrypt => "decrypt",
        Role::Key => "key",
        Role::Nonce => "nonce",
        Role::Iv => "iv",
        Role::SecretNonce => "secret_nonce",
        Role::Ad => "ad",
        Role::Seed => "seed",
        Role::Blocks => "n_blocks",
        Role::Input => "in",
        Role::TagIn => "tag",
        Role::SecretNonceOut => "secret_nonce_out",
        Role::Output => "out",
        Role::Tag => "tag_out",
        Role::Verified => "verified",
    }
}

/// Prints the shape of an operation whose network was printed under `net`. Names begin with `prefix`. `None` for parts,
/// which have ports and no shape.
pub fn shape(spec: &OperationSpec, network: &Network, prefix: &str, net: &str) -> Option<PrintedShape> {
    let printer = Printer { spec, network, prefix, net };
    match spec.framing {
        Framing::Core => Some(printer.core()),
        Framing::Message => Some(printer.message()),
        Framing::Generator => Some(printer.generator()),
        Framing::Bare => None,
    }
}

struct Printer<'a> {
    spec: &'a OperationSpec,
    network: &'a Network,
    prefix: &'a str,
    net: &'a str,
}

impl Printer<'_> {
    fn text(&self, port: &PortSpec) -> Text {
        Text { name: parameter_name(port.role).to_owned(), fixed: port.sizes.fixed(), port: port.clone() }
    }

    /// Strings that are given before the input.
    fn heads(&self) -> Vec<Text> {
        self.spec
            .inputs
            .iter()
            .filter(|port| !port.role.is_control() && !matches!(port.role, Role::Input | Role::TagIn))
            .map(|port| self.text(port))
            .collect()
    }

    fn find_port<'n>(ports: &'n [Port], name: &str) -> Option<&'n Port> {
        ports.iter().find(|port| port.name == name)
    }

    /// A function that writes bytes to an input, as tokens of its width, running the network while there is no room.
    fn feed(&self, port: &PortSpec, out: &mut String) {
        let (prefix, net) = (self.prefix, self.net);
        let name = identifier(&port.name);
        let bits = port.bits;
        let head = format!(
            "static int {prefix}_feed_{name}(struct {prefix} *context, const uint8_t *bytes, size_t n_bytes) {{\n"
        );
        let run = format!(
            "        if (done < n && {net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT) {{\n            return HEADRACE_E_RUN;\n        }}\n"
        );
        let body = match bits {
            8 => format!(
                "    const size_t n = n_bytes;\n    size_t done = 0;\n    bool stuck = false;\n    while (done < n) {{\n        const size_t written = {net}_write_{name}(&context->net, bytes + done, n - done);\n        done += written;\n        if (written == 0 && stuck) {{\n            return HEADRACE_E_RUN;\n        }}\n        stuck = written == 0;\n{run}    }}\n    return HEADRACE_OK;\n}}\n\n"
            ),
            _ => {
                let token = match bits {
                    1 => "(uint8_t)(bytes[done / 8u] >> (7u - done % 8u) & 1u)".to_owned(),
                    _ => {
                        let bytes = u64::from(bits / 8).clamp(1, 8);
                        let parts: Vec<String> = (0..bytes)
                            .map(|at| format!("(uint64_t)bytes[{bytes}u * done + {at}u] << {}", 8 * (bytes - 1 - at)))
                            .collect();
                        parts.join(" | ")
                    }
                };
                let ty = Self::find_port(&self.network.inputs, &port.name)
                    .map_or("uint8_t", |port| super::ctype::boundary(port.ty));
                let n = match bits {
                    1 => "8u * n_bytes".to_owned(),
                    _ => format!("n_bytes / {}u", (bits / 8).clamp(1, 8)),
                };
                format!(
                    "    const size_t n = {n};\n    size_t done = 0;\n    bool stuck = false;\n    while (done < n) {{\n        const {ty} token = ({ty})({token});\n        const size_t written = {net}_write_{name}(&context->net, &token, 1);\n        done += written;\n        if (written == 0 && stuck) {{\n            return HEADRACE_E_RUN;\n        }}\n        stuck = written == 0;\n{}    }}\n    return HEADRACE_OK;\n}}\n\n",
                    run.replace("done < n", "written == 0")
                )
            }
        };
        out.push_str(&head);
        out.push_str(&body);
    }

    /// A function that writes one token to a control port.
    fn put(&self, port: &str, out: &mut String) {
        let (prefix, net) = (self.prefix, self.net);
        let name = identifier(port);
        let ty = Self::find_port(&self.network.inputs, port).map_or("uint8_t", |port| super::ctype::boundary(port.ty));
        out.push_str(&format!(
            "static int {prefix}_put_{name}(struct {prefix} *context, uint32_t value) {{\n    const {ty} token = ({ty})value;\n    if ({net}_write_{name}(&context->net, &token, 1) == 1) {{\n        return HEADRACE_OK;\n    }}\n    if ({net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT) {{\n        return HEADRACE_E_RUN;\n    }}\n    return {net}_write_{name}(&context->net, &token, 1) == 1 ? HEADRACE_OK : HEADRACE_E_RUN;\n}}\n\n"
        ));
    }

    /// Statements that send a whole string: chunk tokens where its length can vary, then its bytes.
    fn send(&self, text: &Text) -> String {
        let prefix = self.prefix;
        let feed = identifier(&text.port.name);
        let (name, length) = (&text.name, text.length());
        match &text.port.companion {
            None => format!("    HEADRACE_TRY({prefix}_feed_{feed}(context, {name}, {length}));\n"),
            Some(companion) => {
                let put = identifier(companion);
                format!(
                    "    HEADRACE_TRY({prefix}_put_{put}(context, UINT32_C(0x80000000) | (uint32_t){length}));\n    HEADRACE_TRY({prefix}_feed_{feed}(context, {name}, {length}));\n"
                )
            }
        }
    }

    /// A condition that holds for illegal lengths.
    fn illegal(sizes: &Sizes, length: &str) -> Option<String> {
        match sizes {
            Sizes::OneOf(allowed) => {
                let tests: Vec<String> = allowed.iter().map(|size| format!("{length} != {size}u")).collect();
                Some(tests.join(" && "))
            }
            Sizes::Range { min, max, multiple } => {
                let mut tests = Vec::new();
                if *min > 0 {
                    tests.push(format!("{length} < {min}u"));
                }
                if *max != u64::MAX {
                    tests.push(format!("{length} > UINT64_C({max})"));
                }
                if *multiple > 1 {
                    tests.push(format!("{length} % {multiple}u != 0"));
                }
                (!tests.is_empty()).then(|| tests.join(" || "))
            }
        }
    }

    fn size_checks(&self, texts: &[Text]) -> String {
        let mut out = String::new();
        for text in texts.iter().filter(|text| text.fixed.is_none()) {
            let length = text.length();
            let illegal = Self::illegal(&text.port.sizes, &length);
            let too_long = format!("{length} > 0x7fffffffu");
            let test = illegal.map_or(too_long.clone(), |illegal| format!("{illegal} || {too_long}"));
            out.push_str(&format!("    if ({test}) {{\n        return HEADRACE_E_SIZE;\n    }}\n"));
        }
        out
    }

    fn sizes_note(texts: &[Text]) -> String {
        let mut notes = String::new();
        for text in texts.iter().filter(|text| text.fixed.is_none()) {
            notes.push_str(&format!(" `{}` must have {}.", text.name, text.port.sizes));
        }
        notes
    }

    fn context(&self, fields: &str) -> String {
        let (prefix, net) = (self.prefix, self.net);
        format!(
            "/* {}: the context of one stream of messages. Its fields are not part of the interface. */\nstruct {prefix} {{\n    struct {net} net;\n{fields}}};\n\n",
            super::scheduler::comment(&self.spec.title)
        )
    }

    fn clear(&self, shape: &mut PrintedShape) {
        let prefix = self.prefix;
        shape.interface.push_str(&format!(
            "/* Overwrites the context, which holds the key and traces of the data. */\nvoid {prefix}_clear(struct {prefix} *context);\n\n"
        ));
        shape.implementation.push_str(&format!(
            "void {prefix}_clear(struct {prefix} *context) {{\n    hr_wipe(context, sizeof *context);\n}}\n\n"
        ));
    }

    fn core(&self) -> PrintedShape {
        let (prefix, net) = (self.prefix, self.net);
        let block = self.spec.block_bytes.unwrap_or(1);
        let heads = self.heads();
        let mut shape = PrintedShape { interface: self.context("    bool keyed;\n"), implementation: String::new() };
        let mut functions = String::new();
        let mut send = String::new();
        let mut resend = String::new();
        for port in &self.spec.inputs {
            let name = identifier(&port.name);
            match port.role {
                Role::Rekey => {
                    self.put(&port.name, &mut functions);
                    send.push_str(&format!("    HEADRACE_TRY({prefix}_put_{name}(context, 1));\n"));
                    resend.push_str(&format!("        HEADRACE_TRY({prefix}_put_{name}(context, 0));\n"));
                }
                Role::Decrypt => {
                    self.put(&port.name, &mut functions);
                    let value = u32::from(self.spec.decrypt.unwrap_or(false));
                    let line = format!("HEADRACE_TRY({prefix}_put_{name}(context, {value}));\n");
                    send.push_str(&format!("    {line}"));
                    resend.push_str(&format!("        {line}"));
                }
                Role::Blocks => {
                    self.put(&port.name, &mut functions);
                    send.push_str(&format!("    HEADRACE_TRY({prefix}_put_{name}(context, 0));\n"));
                    resend.push_str(&format!("        HEADRACE_TRY({prefix}_put_{name}(context, (uint32_t)n));\n"));
                }
                Role::Key => {
                    self.feed(port, &mut functions);
                    let text = self.text(port);
                    if let Some(companion) = &port.companion {
                        self.put(companion, &mut functions);
                    }
                    send.push_str(&self.send(&text));
                }
                _ => {}
            }
        }
        let Some(input) = self.spec.input(Role::Input) else { return shape };
        let Some(output) = self.spec.output(Role::Output) else { return shape };
        let parameters: Vec<String> = heads.iter().map(|text| text.parameters(true)).collect();
        let head = format!("int {prefix}_set_key(struct {prefix} *context, {})", parameters.join(", "));
        shape.interface.push_str(&format!(
            "/* Prepares the context for a key.{} Returns 0 or a value of `enum headrace_error`. */\n{head};\n\n",
            Self::sizes_note(&heads)
        ));
        let blocks_head = format!(
            "int {prefix}_blocks(struct {prefix} *context, const uint8_t *in, size_t n_blocks, uint8_t *out)"
        );
        shape.interface.push_str(&format!(
            "/* Transforms `n_blocks` blocks of {block} bytes from `in` to `out`, which do not overlap. Returns 0 or a value of\n   `enum headrace_error`. */\n{blocks_head};\n\n"
        ));
        self.pump(input, output, &mut functions);
        let checks = self.size_checks(&heads);
        functions.push_str(&format!(
            "{head} {{\n{checks}    {net}_init(&context->net, NULL);\n    context->keyed = false;\n{send}    if ({net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT) {{\n        return HEADRACE_E_RUN;\n    }}\n    context->keyed = true;\n    return HEADRACE_OK;\n}}\n\n"
        ));
        functions.push_str(&format!(
            "{blocks_head} {{\n    if (!context->keyed) {{\n        return HEADRACE_E_ORDER;\n    }}\n    while (n_blocks > 0) {{\n        /* A burst is counted in 32 bits. */\n        const size_t n = n_blocks < 0x1000000u ? n_blocks : 0x1000000u;\n        size_t made = 0;\n{resend}        HEADRACE_TRY({prefix}_pump(context, in, {block}u * n, out, {block}u * n, &made));\n        if (made != {block}u * n) {{\n            return HEADRACE_E_RUN;\n        }}\n        in += {block}u * n;\n        out += {block}u * n;\n        n_blocks -= n;\n    }}\n    return HEADRACE_OK;\n}}\n\n"
        ));
        shape.implementation.push_str(&functions);
        self.clear(&mut shape);
        shape
    }

    /// A function that writes input and takes output until neither moves.
    fn pump(&self, input: &PortSpec, output: &PortSpec, out: &mut String) {
        let (prefix, net) = (self.prefix, self.net);
        let (read, write) = (identifier(&output.name), identifier(&input.name));
        let wide = |port: &PortSpec| port.bits != 8;
        let sizes = match &output.companion {
            Some(companion) => {
                let name = identifier(companion);
                format!(
                    "        uint32_t size;\n        while ({net}_read_{name}(&context->net, &size, 1) == 1) {{\n            moved = true;\n            context->ended = (size & UINT32_C(0x80000000)) != 0;\n        }}\n"
                )
            }
            None => String::new(),
        };
        let write_line = if wide(input) {
            format!("{prefix}_some_{write}(context, in + done, n - done)")
        } else {
            format!("n == done ? 0 : {net}_write_{write}(&context->net, in + done, n - done)")
        };
        let read_line = if wide(output) {
            format!("{prefix}_take_{read}(context, out + made, room - made)")
        } else {
            format!("made == room ? 0 : {net}_read_{read}(&context->net, out + made, room - made)")
        };
        if wide(input) {
            self.some(input, out);
        }
        if wide(output) {
            self.take(output, out);
        }
        out.push_str(&format!(
            "static int {prefix}_pump(\n    struct {prefix} *context, const uint8_t *in, size_t n, uint8_t *out, size_t room, size_t *n_out) {{\n    size_t done = 0;\n    size_t made = 0;\n    bool moved = true;\n    while (moved) {{\n        const size_t written = {write_line};\n        done += written;\n        moved = written != 0;\n        if ({net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT) {{\n            return HEADRACE_E_RUN;\n        }}\n{sizes}        const size_t taken = {read_line};\n        made += taken;\n        moved = moved || taken != 0;\n    }}\n    *n_out = made;\n    if ({net}_waiting_{read}(&context->net) != 0) {{\n        return HEADRACE_E_ROOM;\n    }}\n    return done == n ? HEADRACE_OK : HEADRACE_E_RUN;\n}}\n\n"
        ));
    }

    /// Writes as many whole tokens of some other width as there is room for; gives the bytes that they were.
    fn some(&self, port: &PortSpec, out: &mut String) {
        let (prefix, net) = (self.prefix, self.net);
        let name = identifier(&port.name);
        let ty = Self::find_port(&self.network.inputs, &port.name).map_or("uint8_t", |p| super::ctype::boundary(p.ty));
        if port.bits == 1 {
            out.push_str(&format!(
                "static size_t {prefix}_some_{name}(struct {prefix} *context, const uint8_t *bytes, size_t n_bytes) {{\n    size_t done = 0;\n    while (done < 8u * n_bytes) {{\n        const {ty} token = ({ty})(bytes[done / 8u] >> (7u - done % 8u) & 1u);\n        if ({net}_write_{name}(&context->net, &token, 1) == 0) {{\n            if ({net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT || done % 8u == 0) {{\n                break;\n            }}\n            if ({net}_write_{name}(&context->net, &token, 1) == 0) {{\n                break;\n            }}\n        }}\n        done++;\n    }}\n    return done / 8u;\n}}\n\n"
            ));
            return;
        }
        let bytes = u64::from(port.bits / 8).clamp(1, 8);
        let parts: Vec<String> =
            (0..bytes).map(|at| format!("(uint64_t)bytes[done + {at}u] << {}", 8 * (bytes - 1 - at))).collect();
        out.push_str(&format!(
            "static size_t {prefix}_some_{name}(struct {prefix} *context, const uint8_t *bytes, size_t n_bytes) {{\n    size_t done = 0;\n    while (n_bytes - done >= {bytes}u) {{\n        const {ty} token = ({ty})({});\n        if ({net}_write_{name}(&context->net, &token, 1) == 0) {{\n            break;\n        }}\n        done += {bytes}u;\n    }}\n    return done;\n}}\n\n",
            parts.join(" | ")
        ));
    }

    /// Takes as many whole bytes as wait at an output of some other width.
    fn take(&self, port: &PortSpec, out: &mut String) {
        let (prefix, net) = (self.prefix, self.net);
        let name = identifier(&port.name);
        let ty = Self::find_port(&self.network.outputs, &port.name).map_or("uint8_t", |p| super::ctype::boundary(p.ty));
        let body = if port.bits == 1 {
            format!(
                "    while (made < n_bytes && {net}_waiting_{name}(&context->net) >= 8u) {{\n        {ty} tokens[8];\n        uint8_t byte = 0;\n        (void){net}_read_{name}(&context->net, tokens, 8);\n        for (unsigned i = 0; i < 8u; i++) {{\n            byte = (uint8_t)(byte << 1 | (tokens[i] != 0));\n        }}\n        bytes[made++] = byte;\n    }}\n"
            )
        } else {
            let size = u64::from(port.bits / 8).clamp(1, 8);
            let parts: Vec<String> = (0..size)
                .map(|at| format!("        bytes[made + {at}u] = (uint8_t)((uint64_t)token >> {});\n", 8 * (size - 1 - at)))
                .collect();
            format!(
                "    {ty} token;\n    while (n_bytes - made >= {size}u && {net}_read_{name}(&context->net, &token, 1) == 1) {{\n{}        made += {size}u;\n    }}\n",
                parts.concat()
            )
        };
        out.push_str(&format!(
            "static size_t {prefix}_take_{name}(struct {prefix} *context, uint8_t *bytes, size_t n_bytes) {{\n    size_t made = 0;\n{body}    return made;\n}}\n\n"
        ));
    }

    fn message(&self) -> PrintedShape {
        let (prefix, net) = (self.prefix, self.net);
        let spec = self.spec;
        let heads = self.heads();
        let input = spec.input(Role::Input);
        let output = spec.output(Role::Output);
        // Output of variable length streams; a digest comes at the end.
        let streamed = output.filter(|port| port.companion.is_some() && input.is_some());
        let verified = spec.output(Role::Verified);
        let tag_in = spec.input(Role::TagIn).map(|port| self.text(port));
        let ends: Vec<Text> = spec
            .outputs
            .iter()
            .filter(|port| !port.role.is_control() && Some(port.role) != streamed.map(|port| port.role))
            .map(|port| self.text(port))
            .collect();
        let keyed = spec.input(Role::Rekey).is_some();
        let incremental = input.is_some() && !spec.single_chunk && !(verified.is_some() && output.is_some());
        let mut shape = PrintedShape {
            interface: self.context(
                "    uint64_t length; /* input bytes of this message so far */\n    bool keyed;\n    bool open;\n    bool ended;\n",
            ),
            implementation: String::new(),
        };
        let mut functions = String::new();
        for port in &spec.inputs {
            match port.role {
                Role::Rekey | Role::Decrypt | Role::Blocks => self.put(&port.name, &mut functions),
                Role::Verified => {}
                role => {
                    if role != Role::Input || streamed.is_none() {
                        self.feed(port, &mut functions);
                    }
                    if let Some(companion) = &port.companion {
                        self.put(companion, &mut functions);
                    }
                }
            }
        }
        if let (Some(input), Some(output)) = (input, streamed) {
            self.pump(input, output, &mut functions);
        }
        for end in ends.iter().filter(|end| end.port.bits != 8) {
            self.take(&end.port, &mut functions);
        }
        self.beginnings(&heads, keyed, incremental, &mut shape, &mut functions);
        if incremental && let Some(input) = input {
            self.update(input, streamed.is_some(), &mut shape, &mut functions);
        }
        self.ending(input, streamed, tag_in.as_ref(), &ends, incremental, &mut shape, &mut functions);
        self.whole(&heads, input, streamed, tag_in.as_ref(), &ends, incremental, &mut shape, &mut functions);
        let _ = net;
        shape.implementation.push_str(&functions);
        self.clear(&mut shape);
        let _ = prefix;
        shape
    }

    /// `begin` sends what comes before the input; `init` and `next` call it.
    fn beginnings(
        &self,
        heads: &[Text],
        keyed: bool,
        incremental: bool,
        shape: &mut PrintedShape,
        functions: &mut String,
    ) {
        let (prefix, net) = (self.prefix, self.net);
        let list = |texts: &[&Text]| {
            texts.iter().map(|text| format!(", {}", text.parameters(true))).collect::<String>()
        };
        let all: Vec<&Text> = heads.iter().collect();
        let rest: Vec<&Text> = heads.iter().filter(|text| text.port.role != Role::Key).collect();
        let linkage = if incremental { "" } else { "static " };
        for first in [true, false] {
            if !first && !keyed {
                continue;
            }
            let given = if first { &all } else { &rest };
            let name = if first { "init" } else { "next" };
            let head = format!("int {prefix}_{name}(struct {prefix} *context{})", list(given));
            let owned: Vec<Text> = heads
                .iter()
                .filter(|text| first || text.port.role != Role::Key)
                .map(|text| self.text(&text.port))
                .collect();
            if incremental {
                let what = if !first {
                    "Begins another message under the same key, after `final`."
                } else if keyed {
                    "Sets the key and begins a message."
                } else {
                    "Begins a message."
                };
                shape.interface.push_str(&format!(
                    "/* {what}{} Returns 0 or a value of `enum headrace_error`. */\n{head};\n\n",
                    Self::sizes_note(&owned)
                ));
            }
            let mut body = self.size_checks(&owned);
            if first {
                body.push_str(&format!("    {net}_init(&context->net, NULL);\n    context->keyed = false;\n"));
            } else {
                body.push_str("    if (!context->keyed || context->open) {\n        return HEADRACE_E_ORDER;\n    }\n");
            }
            body.push_str("    context->open = false;\n    context->ended = false;\n    context->length = 0;\n");
            for port in &self.spec.inputs {
                match port.role {
                    Role::Rekey => body.push_str(&format!(
                        "    HEADRACE_TRY({prefix}_put_{}(context, {}));\n",
                        identifier(&port.name),
                        u32::from(first)
                    )),
                    Role::Decrypt => body.push_str(&format!(
                        "    HEADRACE_TRY({prefix}_put_{}(context, {}));\n",
                        identifier(&port.name),
                        u32::from(self.spec.decrypt.unwrap_or(false))
                    )),
                    role => {
                        if let Some(text) = given.iter().find(|text| text.port.role == role) {
                            body.push_str(&self.send(text));
                        }
                    }
                }
            }
            body.push_str("    context->keyed = true;\n    context->open = true;\n    return HEADRACE_OK;\n");
            functions.push_str(&format!("{linkage}{head} {{\n{body}}}\n\n"));
            if !incremental && !first {
                // Only `message` is offered: it always begins with a key.
                let cut = functions.rfind(&format!("{linkage}{head} {{\n")).unwrap_or(functions.len());
                functions.truncate(cut);
            }
        }
    }

    fn update(&self, input: &PortSpec, streamed: bool, shape: &mut PrintedShape, functions: &mut String) {
        let prefix = self.prefix;
        let outputs = if streamed { ", uint8_t *out, size_t out_room, size_t *out_bytes" } else { "" };
        let head = format!("int {prefix}_update(struct {prefix} *context, const uint8_t *in, size_t in_bytes{outputs})");
        let room = match (streamed, self.spec.block_bytes) {
            (true, Some(block)) => format!(
                " `*out_bytes` is set to the\n   number of bytes made; room for `in_bytes + {block}` is always enough. The buffers do not overlap."
            ),
            (true, None) => " `*out_bytes` is set to the\n   number of bytes made; the buffers do not overlap.".to_owned(),
            (false, _) => String::new(),
        };
        shape.interface.push_str(&format!(
            "/* Gives the next part of the message.{room} All parts together must have {}.\n   Returns 0 or a value of `enum headrace_error`. */\n{head};\n\n",
            input.sizes
        ));
        let mut body = String::from("    if (!context->open) {\n        return HEADRACE_E_ORDER;\n    }\n");
        if streamed {
            body.push_str("    *out_bytes = 0;\n");
        }
        let max = input.sizes.max();
        if max != u64::MAX {
            body.push_str(&format!(
                "    if (in_bytes > UINT64_C({max}) - context->length) {{\n        return HEADRACE_E_SIZE;\n    }}\n"
            ));
        }
        body.push_str("    while (in_bytes > 0) {\n        const size_t n = in_bytes < 0x40000000u ? in_bytes : 0x40000000u;\n");
        if let Some(companion) = &input.companion {
            body.push_str(&format!(
                "        HEADRACE_TRY({prefix}_put_{}(context, (uint32_t)n));\n",
                identifier(companion)
            ));
        }
        if streamed {
            body.push_str(&format!(
                "        size_t made = 0;\n        const int error = {prefix}_pump(context, in, n, out, out_room, &made);\n        *out_bytes += made;\n        if (error != HEADRACE_OK) {{\n            context->open = false;\n            return error;\n        }}\n        out += made;\n        out_room -= made;\n"
            ));
        } else {
            body.push_str(&format!("        HEADRACE_TRY({prefix}_feed_{}(context, in, n));\n", identifier(&input.name)));
        }
        body.push_str("        context->length += n;\n        in += n;\n        in_bytes -= n;\n    }\n    return HEADRACE_OK;\n");
        functions.push_str(&format!("{head} {{\n{body}}}\n\n"));
    }

    #[allow(clippy::too_many_arguments)]
    fn ending(
        &self,
        input: Option<&PortSpec>,
        streamed: Option<&PortSpec>,
        tag_in: Option<&Text>,
        ends: &[Text],
        incremental: bool,
        shape: &mut PrintedShape,
        functions: &mut String,
    ) {
        let (prefix, net) = (self.prefix, self.net);
        let mut parameters = String::new();
        if let Some(tag) = tag_in {
            parameters.push_str(&format!(", {}", tag.parameters(true)));
        }
        if streamed.is_some() {
            parameters.push_str(", uint8_t *out, size_t out_room, size_t *out_bytes");
        }
        for end in ends {
            parameters.push_str(&format!(", {}", end.parameters(false)));
        }
        let head = format!("int {prefix}_final(struct {prefix} *context{parameters})");
        if incremental {
            let what = if self.spec.verifies { " HEADRACE_E_VERIFY: the message is not authentic." } else { "" };
            let room = match (streamed, self.spec.block_bytes) {
                (Some(_), Some(block)) => format!(" Room for {block} bytes is always enough."),
                _ => String::new(),
            };
            shape.interface.push_str(&format!(
                "/* Ends the message and gives what is left of the output.{room} Returns 0 or a value of `enum headrace_error`.{what} */\n{head};\n\n"
            ));
        }
        let mut body = String::from("    if (!context->open) {\n        return HEADRACE_E_ORDER;\n    }\n");
        let texts: Vec<Text> = tag_in.map(|tag| self.text(&tag.port)).into_iter().collect();
        body.push_str(&self.size_checks(&texts));
        if let Some(input) = input {
            if let Some(illegal) = Self::illegal(&input.sizes, "context->length") {
                body.push_str(&format!("    if ({illegal}) {{\n        return HEADRACE_E_SIZE;\n    }}\n"));
            }
            body.push_str("    context->open = false;\n");
            if let Some(companion) = &input.companion
                && incremental
            {
                body.push_str(&format!(
                    "    HEADRACE_TRY({prefix}_put_{}(context, UINT32_C(0x80000000)));\n",
                    identifier(companion)
                ));
            }
        } else {
            body.push_str("    context->open = false;\n");
        }
        if let Some(tag) = tag_in {
            body.push_str(&self.send(tag));
        }
        if streamed.is_some() {
            body.push_str(&format!(
                "    *out_bytes = 0;\n    HEADRACE_TRY({prefix}_pump(context, NULL, 0, out, out_room, out_bytes));\n    if (!context->ended) {{\n        return HEADRACE_E_RUN;\n    }}\n"
            ));
        } else {
            body.push_str(&format!(
                "    if ({net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT) {{\n        return HEADRACE_E_RUN;\n    }}\n"
            ));
        }
        for end in ends {
            body.push_str(&self.receive(end));
        }
        if let Some(port) = self.spec.output(Role::Verified) {
            let name = identifier(&port.name);
            let ty = Self::find_port(&self.network.outputs, &port.name)
                .map_or("uint8_t", |port| super::ctype::boundary(port.ty));
            body.push_str(&format!(
                "    {ty} verified = 0;\n    if ({net}_read_{name}(&context->net, &verified, 1) != 1) {{\n        return HEADRACE_E_RUN;\n    }}\n    if (verified == 0) {{\n        return HEADRACE_E_VERIFY;\n    }}\n"
            ));
        }
        body.push_str("    return HEADRACE_OK;\n");
        let linkage = if incremental { "" } else { "static " };
        functions.push_str(&format!("{linkage}{head} {{\n{body}}}\n\n"));
    }

    /// Statements that take an output that comes at the end.
    fn receive(&self, end: &Text) -> String {
        let (prefix, net) = (self.prefix, self.net);
        let name = identifier(&end.port.name);
        let read = |room: &str| {
            if end.port.bits == 8 {
                format!("{net}_read_{name}(&context->net, {}, {room})", end.name)
            } else {
                format!("{prefix}_take_{name}(context, {}, {room})", end.name)
            }
        };
        match (end.fixed, &end.port.companion) {
            (Some(bytes), _) => {
                format!("    if ({} != {bytes}u) {{\n        return HEADRACE_E_RUN;\n    }}\n", read(&format!("{bytes}u")))
            }
            (None, Some(companion)) => {
                let size = identifier(companion);
                format!(
                    "    for (;;) {{\n        uint32_t size;\n        if ({net}_read_{size}(&context->net, &size, 1) != 1) {{\n            return HEADRACE_E_RUN;\n        }}\n        if ((size & UINT32_C(0x80000000)) != 0) {{\n            break;\n        }}\n    }}\n    *{0}_bytes = {1};\n    if ({net}_waiting_{name}(&context->net) != 0) {{\n        return HEADRACE_E_ROOM;\n    }}\n",
                    end.name,
                    read(&format!("{}_room", end.name))
                )
            }
            (None, None) => format!(
                "    *{0}_bytes = {1};\n    if ({net}_waiting_{name}(&context->net) != 0) {{\n        return HEADRACE_E_ROOM;\n    }}\n",
                end.name,
                read(&format!("{}_room", end.name))
            ),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn whole(
        &self,
        heads: &[Text],
        input: Option<&PortSpec>,
        streamed: Option<&PortSpec>,
        tag_in: Option<&Text>,
        ends: &[Text],
        incremental: bool,
        shape: &mut PrintedShape,
        functions: &mut String,
    ) {
        let prefix = self.prefix;
        let mut parameters = String::new();
        for text in heads {
            parameters.push_str(&format!(", {}", text.parameters(true)));
        }
        if input.is_some() {
            parameters.push_str(", const uint8_t *in, size_t in_bytes");
        }
        let mut final_arguments = String::new();
        if let Some(tag) = tag_in {
            parameters.push_str(&format!(", {}", tag.parameters(true)));
            final_arguments.push_str(&format!(", {}", tag.arguments(true)));
        }
        if streamed.is_some() {
            parameters.push_str(", uint8_t *out, size_t out_room, size_t *out_bytes");
            final_arguments.push_str(", out + *out_bytes, out_room - *out_bytes, &rest");
        }
        for end in ends {
            parameters.push_str(&format!(", {}", end.parameters(false)));
            final_arguments.push_str(&format!(", {}", end.arguments(false)));
        }
        let head = format!("int {prefix}_message(struct {prefix} *context{parameters})");
        let mut notes = Self::sizes_note(heads);
        if let Some(input) = input {
            notes.push_str(&format!(" `in` must have {}.", input.sizes));
        }
        let withheld = if self.spec.verifies && streamed.is_some() {
            " HEADRACE_E_VERIFY: the message\n   is not authentic, and `out` was wiped."
        } else {
            ""
        };
        shape.interface.push_str(&format!(
            "/* A whole message at once, under a key of its own.{notes} The buffers do not overlap.\n   Returns 0 or a value of `enum headrace_error`.{withheld} */\n{head};\n\n"
        ));
        let head_arguments: String = heads.iter().map(|text| format!(", {}", text.arguments(true))).collect();
        let mut body = String::new();
        if streamed.is_some() {
            body.push_str("    *out_bytes = 0;\n");
        }
        if let Some(input) = input
            && let Some(illegal) = Self::illegal(&input.sizes, "in_bytes")
        {
            body.push_str(&format!("    if ({illegal}) {{\n        return HEADRACE_E_SIZE;\n    }}\n"));
        }
        if !incremental && input.is_some() {
            body.push_str("    if (in_bytes > 0x7fffffffu) {\n        return HEADRACE_E_SIZE;\n    }\n");
        }
        body.push_str(&format!("    HEADRACE_TRY({prefix}_init(context{head_arguments}));\n"));
        if let Some(input) = input {
            if incremental {
                let outputs = if streamed.is_some() { ", out, out_room, out_bytes" } else { "" };
                body.push_str(&format!("    HEADRACE_TRY({prefix}_update(context, in, in_bytes{outputs}));\n"));
            } else {
                if let Some(companion) = &input.companion {
                    body.push_str(&format!(
                        "    HEADRACE_TRY({prefix}_put_{}(context, UINT32_C(0x80000000) | (uint32_t)in_bytes));\n",
                        identifier(companion)
                    ));
                }
                if streamed.is_some() {
                    body.push_str(&format!(
                        "    int error = {prefix}_pump(context, in, in_bytes, out, out_room, out_bytes);\n"
                    ));
                } else {
                    body.push_str(&format!(
                        "    int error = {prefix}_feed_{}(context, in, in_bytes);\n",
                        identifier(&input.name)
                    ));
                }
                body.push_str("    context->length = in_bytes;\n");
            }
        }
        if streamed.is_some() {
            body.push_str("    size_t rest = 0;\n");
        }
        let add = if streamed.is_some() { "    *out_bytes += rest;\n" } else { "" };
        if incremental || input.is_none() {
            body.push_str(&format!(
                "    const int error = {prefix}_final(context{final_arguments});\n{add}    return error;\n"
            ));
        } else {
            let wipe = if self.spec.verifies && streamed.is_some() {
                "    if (error != HEADRACE_OK) {\n        hr_wipe(out, *out_bytes);\n        *out_bytes = 0;\n    }\n"
            } else {
                ""
            };
            body.push_str(&format!(
                "    if (error == HEADRACE_OK) {{\n        error = {prefix}_final(context{final_arguments});\n    }}\n{add}{wipe}    return error;\n"
            ));
        }
        functions.push_str(&format!("{head} {{\n{body}}}\n\n"));
    }

    fn generator(&self) -> PrintedShape {
        let (prefix, net) = (self.prefix, self.net);
        let heads = self.heads();
        let mut shape = PrintedShape { interface: self.context(""), implementation: String::new() };
        let mut functions = String::new();
        let mut send = String::new();
        for port in &self.spec.inputs {
            match port.role {
                Role::Blocks => {
                    self.put(&port.name, &mut functions);
                    send.push_str(&format!(
                        "    HEADRACE_TRY({prefix}_put_{}(context, n_words));\n",
                        identifier(&port.name)
                    ));
                }
                role if role.is_control() => {}
                _ => {
                    self.feed(port, &mut functions);
                    if let Some(companion) = &port.companion {
                        self.put(companion, &mut functions);
                    }
                    send.push_str(&self.send(&self.text(port)));
                }
            }
        }
        let Some(output) = self.spec.output(Role::Output) else { return shape };
        if output.bits != 8 {
            self.take(output, &mut functions);
        }
        let parameters: String = heads.iter().map(|text| format!(", {}", text.parameters(true))).collect();
        let word = u64::from(output.bits).div_ceil(8);
        let head = format!("int {prefix}_generate(struct {prefix} *context{parameters}, uint32_t n_words, uint8_t *out)");
        shape.interface.push_str(&format!(
            "/* Makes `n_words` words of {word} bytes each, big-endian, from a seed.{} Returns 0 or a value of\n   `enum headrace_error`. */\n{head};\n\n",
            Self::sizes_note(&heads)
        ));
        let name = identifier(&output.name);
        let take = if output.bits == 8 {
            format!("{net}_read_{name}(&context->net, out + made, n - made)")
        } else {
            format!("{prefix}_take_{name}(context, out + made, n - made)")
        };
        let checks = self.size_checks(&heads);
        functions.push_str(&format!(
            "{head} {{\n    const size_t n = (size_t)n_words * {word}u;\n    size_t made = 0;\n{checks}    {net}_init(&context->net, NULL);\n{send}    while (made < n) {{\n        if ({net}_run(&context->net, UINT64_MAX) > HEADRACE_LIMIT) {{\n            return HEADRACE_E_RUN;\n        }}\n        const size_t taken = {take};\n        if (taken == 0) {{\n            return HEADRACE_E_RUN;\n        }}\n        made += taken;\n    }}\n    return HEADRACE_OK;\n}}\n\n"
        ));
        shape.implementation.push_str(&functions);
        self.clear(&mut shape);
        shape
    }
}
