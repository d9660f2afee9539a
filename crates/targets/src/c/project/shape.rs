//! The interface of operations in C: what a manifest says of an operation becomes the functions that C programmers expect.
//!
//! A block cipher has `key` and `blocks`; what processes messages has `init`, `update`, `final`, `message`, the whole of
//! one in a call, `message_helped`, the same with threads, and `many`, many of those, and `key` before them where there
//! is a key; a generator has `generate`. An operation that verifies and gives output has no `init`, `update` and `final`,
//! so that nothing leaves before the verdict, and neither has one that needs its input in one chunk. The work is done by
//! `runtime/c/headrace_message.c` and, for a whole message, `runtime/c/headrace_whole.h`; what is printed here is a table
//! of the ports and thin functions with the parameters that the operation has.

use super::{network_prefix, operation_prefix, set_name};
use crate::c::network::OneShot;
pub(super) use crate::operation::{Function, Parameter, STRINGS, functions, parameters, streams, withholds};
use crate::operation::{Lengths, Operation};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_library::sizes::Sizes;
use std::fmt::Write as _;

/// The headers of a project, by their names without the ending: one for each parameter set, and that of the project, which
/// includes them all, unless it is that of its only set.
pub(crate) fn headers(
    head: &str,
    name: &str,
    title_of_all: &str,
    operations: &[(&OperationSpec, &Network)],
    leaves: &[bool],
) -> Vec<(String, String)> {
    let mut of_sets: Vec<(String, Vec<usize>)> = Vec::new();
    for (at, (spec, _)) in operations.iter().enumerate() {
        let set = set_name(&spec.set);
        match of_sets.iter_mut().find(|(other, _)| *other == set) {
            Some((_, listed)) => listed.push(at),
            None => of_sets.push((set, vec![at])),
        }
    }
    let whole = match &of_sets[..] {
        [(only, _)] if only == name => None,
        _ => Some((name.to_owned(), includes(head, name, title_of_all, of_sets.iter().map(|(set, _)| set.as_str())))),
    };
    let of_sets = of_sets.into_iter().map(|(set, listed)| {
        let own: Vec<(&OperationSpec, &Network)> = listed.iter().map(|&at| operations[at]).collect();
        let leaves: Vec<bool> = listed.iter().map(|&at| leaves[at]).collect();
        let title = own.first().map(|(spec, _)| format!("{}, {}", spec.title, spec.set));
        let title = title.filter(|_| whole.is_some()).unwrap_or_else(|| title_of_all.to_owned());
        let text = header_of(head, &set, &title, &own, Contexts::Fast(&leaves));
        (set, text)
    });
    let of_sets: Vec<(String, String)> = of_sets.collect();
    whole.into_iter().chain(of_sets).collect()
}

/// A header that includes others.
fn includes<'s>(head: &str, name: &str, title: &str, others: impl Iterator<Item = &'s str>) -> String {
    let guard = format!("{}_H", name.to_uppercase());
    let listed: String = others.map(|other| format!("#include \"{other}.h\"\n")).collect();
    format!("{head}/* {}. */\n#ifndef {guard}\n#define {guard}\n\n{listed}\n#endif\n", comment(title))
}

/// The header of a project for microcontrollers, where messages go one by one and without helpers, with the contexts of
/// their networks.
pub(super) fn small_header(
    head: &str,
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    contexts: &[&str],
) -> String {
    header_of(head, name, title, operations, Contexts::Small(contexts))
}

/// The contexts of some operations.
#[derive(Clone, Copy)]
enum Contexts<'a> {
    /// Whether the network of each may leave its automaton.
    Fast(&'a [bool]),
    /// Those of microcontrollers, by the names of their types.
    Small(&'a [&'a str]),
}

impl Contexts<'_> {
    /// The type of the network of an operation, and what stands behind it.
    fn fields(&self, at: usize, spec: &OperationSpec) -> (String, String) {
        match self {
            Contexts::Small(names) => (names[at].to_owned(), super::small::fields(spec)),
            Contexts::Fast(leaves) => {
                let key = match key_room(spec, leaves[at]) {
                    0 => String::new(),
                    room => {
                        format!("    uint8_t key[{room}]; /* leads back to fast code where a message has left it */\n")
                    }
                };
                (network_prefix(spec), format!("    struct headrace_message message;\n{key}"))
            }
        }
    }
}

/// The header of some operations.
fn header_of(
    head: &str,
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    contexts: Contexts,
) -> String {
    let is_small = matches!(contexts, Contexts::Small(_));
    let guard = format!("{}_H", name.to_uppercase());
    let mut text = format!(
        "{head}/* {}. What the functions return stands in headrace_message.h. */\n#ifndef {guard}\n#define {guard}\n\n#include \"headrace_message.h\"\n",
        comment(title)
    );
    match contexts {
        Contexts::Small(_) => drop(writeln!(text, "#include \"{name}_networks.h\"")),
        Contexts::Fast(_) => {
            for (spec, _) in operations {
                let _ = writeln!(text, "#include \"{}.h\"", network_prefix(spec));
            }
        }
    }
    text.push_str("\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (at, (spec, network)) in operations.iter().enumerate() {
        let op = operation_prefix(spec);
        let (network_type, fields) = contexts.fields(at, spec);
        let _ = write!(
            text,
            "\n/* --- {op}: {} --- */\n\n/* A context. It may hold secrets until `{op}_clear`. */\nstruct {op}_context {{\n    \
             struct {network_type} network;\n{fields}}};\n",
            comment(&spec.title)
        );
        text.push_str(&constants(spec, &op));
        let functions = if is_small { crate::operation::methods(spec) } else { functions(spec) };
        for function in functions {
            let _ = write!(
                text,
                "\n/* {}{} */\n{};\n",
                if is_small {
                    super::small::describe(spec, network, function, &op)
                } else {
                    describe(spec, function, &op, true)
                },
                errors(spec, function),
                prototype(spec, function, &op)
            );
        }
        let _ = write!(
            text,
            "\n/* Makes a context one like another, from where both go on. */\n\
             void {op}_copy(struct {op}_context *context, const struct {op}_context *from);\n\n\
             /* Wipes the context. */\nvoid {op}_clear(struct {op}_context *context);\n"
        );
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    text
}

fn comment(text: &str) -> String {
    text.replace("*/", "* /")
}

/// The lengths of strings that have one only.
fn constants(spec: &OperationSpec, op: &str) -> String {
    let mut known: Vec<(&str, u64)> = Vec::new();
    for function in functions(spec) {
        for Parameter { name, port, .. } in parameters(spec, function) {
            if let Some(length) = port.sizes.fixed()
                && !known.iter().any(|(other, _)| *other == name)
            {
                known.push((name, length));
            }
        }
    }
    let lines = known
        .iter()
        .map(|(name, length)| format!("#define {}_{}_BYTES {length}u\n", op.to_uppercase(), name.to_uppercase()));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("\n/* Lengths of strings that have one only. */\n{lines}") }
}

/// Whether output is as long as input, but for what modes hold back and padding: such a message can be transformed in place.
pub(super) fn keeps_length(spec: &OperationSpec) -> bool {
    streams(spec) && spec.input(Role::Key).is_some()
}

/// What a function may return beside `HEADRACE_OK`, but for `HEADRACE_STUCK`.
fn errors(spec: &OperationSpec, function: Function) -> String {
    let has = |role: Role| spec.input(role).is_some();
    let keyed = has(Role::Key) || has(Role::Seed);
    let begins = has(Role::Nonce) || has(Role::Iv) || has(Role::SecretNonce) || has(Role::Ad) || has(Role::Seed);
    let limited = spec.input(Role::Input).is_some_and(|port| port.sizes != Sizes::any());
    let is_whole = matches!(function, Function::Message | Function::Helped | Function::Many);
    let ends = is_whole || function == Function::Final;
    let listed = [
        ("KEY_LENGTH", function == Function::Key),
        (
            "STRING_LENGTH",
            (begins && (is_whole || matches!(function, Function::Init | Function::Generate)))
                || (ends && has(Role::TagIn)),
        ),
        ("INPUT_LENGTH", (ends && limited) || function == Function::Generate),
        (
            "ROOM",
            (function == Function::Update && streams(spec))
                || function == Function::Generate
                || (ends && parameters(spec, function).iter().any(|parameter| parameter.port.role.is_output())),
        ),
        (
            "ORDER",
            matches!(function, Function::Update | Function::Final | Function::Blocks)
                || (keyed && (is_whole || matches!(function, Function::Init | Function::Generate))),
        ),
        ("REFUSED", (ends && spec.verifies) || (function == Function::Generate && has(Role::Entropy))),
    ];
    let names: Vec<&str> = listed.iter().filter(|(_, may)| *may).map(|(name, _)| *name).collect();
    if names.is_empty() { String::new() } else { format!("\n   Errors: HEADRACE_{}.", names.join(", HEADRACE_")) }
}

/// What a function does, with the lengths that it takes.
pub(super) fn describe(spec: &OperationSpec, function: Function, op: &str, in_place: bool) -> String {
    let sizes = |function: Function| -> String {
        let given = parameters(spec, function).into_iter().filter(|parameter| !parameter.port.role.is_output());
        let listed: Vec<String> =
            given.map(|parameter| format!("`{}` has {}", parameter.name, parameter.port.sizes)).collect();
        if listed.is_empty() { String::new() } else { format!(" {}.", listed.join("; ")) }
    };
    let block = spec.block_bytes.unwrap_or(0);
    // A mode holds back two blocks and a byte at most, and padding adds one block.
    let room = |bytes: &str| match block {
        0 if keeps_length(spec) && function == Function::Message => "; room for `in_bytes` is always enough".to_owned(),
        0 if keeps_length(spec) => "; room for what went in and has not come out is always enough".to_owned(),
        0 => String::new(),
        block => format!("; room for {bytes}{} bytes is always enough", 3 * block),
    };
    let made: Vec<String> = parameters(spec, function)
        .into_iter()
        .filter(|parameter| parameter.port.role.is_output())
        .filter_map(|parameter| {
            parameter.port.sizes.fixed().map(|length| format!("`{}` gets {length} bytes", parameter.name))
        })
        .collect();
    let made = if made.is_empty() { String::new() } else { format!(" {}.", made.join("; ")) };
    let place = |in_place: bool| match in_place {
        true => "`out` is `in` or does not overlap with it",
        false => "`in` and `out` do not overlap",
    };
    let block_place = place(in_place);
    let place = place(in_place && keeps_length(spec));
    let comes = "What comes out goes to `out`, which has room for `out_room` bytes, and is counted in\n   `*out_bytes`";
    match function {
        Function::Key => format!("Takes a key, which is used from the next message on.{}", sizes(function)),
        Function::Blocks => {
            format!("Transforms `n_blocks` blocks of {block} bytes; {block_place}.")
        }
        Function::Generate if spec.input(Role::Entropy).is_some() => format!(
            "Makes `n_words` words. A seed begins anew; without one (NULL) the generator goes on from where it is. Entropy, where\n   there is some (not NULL), is taken in. HEADRACE_REFUSED asks for it.{}",
            sizes(function)
        ),
        Function::Generate => format!("Makes `n_words` words.{}", sizes(function)),
        Function::Init => format!("Begins a message.{}", sizes(function)),
        Function::Update if streams(spec) => {
            format!("Takes a piece of input; {place}. {comes}{}.", room("`in_bytes` and "))
        }
        Function::Update => "Takes a piece of input.".into(),
        Function::Final if spec.verifies => {
            format!("Ends the message; HEADRACE_REFUSED says that it is not authentic.{}", sizes(function))
        }
        Function::Final => {
            let input = spec.input(Role::Input).map_or(String::new(), |port| port.sizes.to_string());
            let room = if streams(spec) { room("") } else { String::new() };
            format!("Ends the message, whose input must have had {input}. The rest comes out{room}.{made}")
        }
        Function::Many => format!(
            "As many whole messages as contexts, which lie one beside the other, each as `{op}_message` takes it: string, length\n   and room of message i stand in place i of the lists. They may have different lengths; no buffers overlap. What each gives goes\n   to `results`; returns the first that is not HEADRACE_OK."
        ),
        Function::Helped => format!(
            "As `{op}_message`, with other threads for long messages (NULL: none); headrace_helpers.h has some."
        ),
        Function::Message if withholds(spec) => format!(
            "A whole message; {place}. HEADRACE_REFUSED says that it is not what `{}` makes: `out`\n   is wiped then and `*out_bytes` is 0.{}",
            spec.inverse.as_deref().unwrap_or(op),
            sizes(function)
        ),
        Function::Message => {
            let room = if streams(spec) { room("`in_bytes` and ") } else { String::new() };
            let place = if streams(spec) { format!("; {place}") } else { String::new() };
            format!("A whole message{place}{room}.{}{made}", sizes(function))
        }
    }
}

fn name_of(function: Function) -> &'static str {
    match function {
        Function::Key => "key",
        Function::Blocks => "blocks",
        Function::Generate => "generate",
        Function::Init => "init",
        Function::Update => "update",
        Function::Final => "final",
        Function::Message => "message",
        Function::Helped => "message_helped",
        Function::Many => "many",
    }
}

pub(super) fn prototype(spec: &OperationSpec, function: Function, op: &str) -> String {
    if function == Function::Many {
        return prototype_of_many(spec, op);
    }
    prototype_as(spec, function, op, &format!("{op}_{}", name_of(function)))
}

/// The same of a function for one message, under another name.
fn prototype_as(spec: &OperationSpec, function: Function, op: &str, name: &str) -> String {
    let mut listed = vec![format!("struct {op}_context *context")];
    for Parameter { name, port, .. } in parameters(spec, function) {
        if port.role.is_output() {
            listed.push(format!("uint8_t *{name}, size_t {name}_room, size_t *{name}_bytes"));
        } else {
            listed.push(format!("const uint8_t *{name}, size_t {name}_bytes"));
        }
    }
    match function {
        Function::Blocks => listed.push("const uint8_t *in, uint8_t *out, uint32_t n_blocks".into()),
        Function::Generate => listed.insert(1, "uint32_t n_words".into()),
        Function::Helped => listed.insert(1, "const struct headrace_helpers *helpers".into()),
        _ => {}
    }
    format!("uint32_t {name}(\n    {})", listed.join(",\n    "))
}

fn prototype_of_many(spec: &OperationSpec, op: &str) -> String {
    let mut listed = vec![format!("struct {op}_context *contexts, size_t count")];
    for Parameter { name, port, .. } in parameters(spec, Function::Many) {
        if port.role.is_output() {
            listed.push(format!("uint8_t *const *{name}, const size_t *{name}_room, size_t *{name}_bytes"));
        } else {
            listed.push(format!("const uint8_t *const *{name}, const size_t *{name}_bytes"));
        }
    }
    listed.push("uint32_t *results".into());
    format!("uint32_t {op}_many(\n    {})", listed.join(",\n    "))
}

/// What is known of the printed network that the functions of an operation call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CalledNetwork<'a> {
    /// Which of the functions stand in its file.
    pub(crate) part: Part,
    /// Whether the network may leave its automaton.
    pub(crate) leaves: bool,
    /// Its functions for whole messages and pieces.
    pub(crate) one_shot: &'a OneShot,
}

impl CalledNetwork<'static> {
    /// A network that has no automaton to leave.
    pub(crate) const PLAIN: Self = Self { part: Part::All, leaves: false, one_shot: &OneShot::NONE };
}

/// Bytes for the key in the context of an operation: where the network may leave its automaton, a key that is given again
/// leads back into it. Longer keys than this are not held.
fn key_room(spec: &OperationSpec, leaves: bool) -> u64 {
    let goes_on = [Role::Seed, Role::Entropy, Role::Blocks].into_iter().any(|role| spec.input(role).is_some());
    let keyed = spec.input(Role::Rekey).and(spec.input(Role::Key)).filter(|_| leaves && !goes_on);
    keyed.map_or(0, |key| key.sizes.max().min(MOST_KEY_BYTES))
}

/// Bytes of the longest key that a context holds.
const MOST_KEY_BYTES: u64 = 64;

/// Which functions of an operation a source file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of them.
    All,
    /// All but the one for many messages.
    OfOne,
    /// That for many messages alone.
    OfMany,
}

/// Functions of an operation, to be put behind its network.
pub(crate) fn source(spec: &OperationSpec, network: &Network, called: CalledNetwork) -> String {
    let part = called.part;
    let set = set_name(&spec.set);
    let mut text = format!("\n#include \"{set}.h\"\n#include \"headrace_whole.h\"\n");
    let op = operation_prefix(spec);
    if part == Part::All && functions(spec).contains(&Function::Many) {
        let _ = writeln!(text, "#define {}_streams NULL", network_prefix(spec));
    }
    let stored = Stored { storage: "static ", key_room: key_room(spec, called.leaves), calls: &[] };
    table(&mut text, &op, spec, network, stored);
    let wanted = |function: &Function| match part {
        Part::All => true,
        Part::OfOne => *function != Function::Many,
        Part::OfMany => *function == Function::Many,
    };
    for function in functions(spec).into_iter().filter(wanted) {
        body(&mut text, &op, (spec, network), function, called.one_shot);
    }
    if part == Part::OfMany {
        return text;
    }
    let _ = write!(
        text,
        "\nvoid {op}_copy(struct {op}_context *context, const struct {op}_context *from) {{\n    \
         headrace_message_copy(&{op}_operation, &context->message, &context->network, &from->message, &from->network);\n}}\n\n\
         void {op}_clear(struct {op}_context *context) {{\n    \
         headrace_message_clear(&{op}_operation, &context->message, &context->network);\n}}\n"
    );
    text
}

/// The table of an operation alone, for those who handle many by the functions of `headrace_message.h`. What takes whole messages
/// that authenticate, their first pieces and their ends stands behind it.
pub(crate) fn described(spec: &OperationSpec, network: &Network, called: CalledNetwork) -> String {
    let op = operation_prefix(spec);
    let mut calls: Vec<(&str, String)> = Vec::new();
    if let Some(take) = called.one_shot.whole.as_deref().filter(|_| spec.input(Role::Ad).is_some()) {
        calls.push((
            "whole",
            format!("hr_message_whole(&{op}_operation, {take}, message, network, strings, rooms, result)"),
        ));
        let output = "&rooms[HEADRACE_OUTPUT]";
        calls.push((
            "first",
            format!("hr_message_first(&{op}_operation, {take}, message, network, strings, {output}, result)"),
        ));
    }
    if let Some(take) = end_at_once(spec, network, called.one_shot).filter(|_| spec.input(Role::Ad).is_some()) {
        calls.push(("end", format!("hr_message_end(&{op}_operation, {take}, message, network, rooms, result)")));
    }
    let mut text =
        format!("\n#include \"headrace_whole.h\"\n\nextern const struct headrace_operation {op}_operation;\n");
    for (call, _) in &calls {
        let _ = write!(text, "\nstatic headrace_one_call {op}_{call};\n");
    }
    // Providers hold keys themselves.
    let listed: Vec<&str> = calls.iter().map(|(call, _)| *call).collect();
    table(&mut text, &op, spec, network, Stored { storage: "", key_room: 0, calls: &listed });
    for (call, work) in &calls {
        let unused = if *call == "end" { "    (void)strings;\n" } else { "" };
        let _ = write!(
            text,
            "\nstatic bool {op}_{call}(struct headrace_message *message, void *network, const struct headrace_bytes *strings,\n    \
             const struct headrace_room *rooms, uint32_t *result) {{\n{unused}    return {work};\n}}\n"
        );
    }
    text
}

/// The constant of a role in C.
pub(crate) fn constant(role: &str) -> String {
    format!("HEADRACE_{role}")
}

/// What a table says beside the operation.
struct Stored<'a> {
    storage: &'a str,
    key_room: u64,
    /// What functions there are that take much of a message at once, by their fields.
    calls: &'a [&'a str],
}

/// The table that says which ports an operation has.
fn table(text: &mut String, op: &str, spec: &OperationSpec, network: &Network, stored: Stored) {
    let Stored { storage, key_room, calls } = stored;
    let operation = Operation::of(spec, network);
    let number = |port: Option<usize>| port.map_or("HEADRACE_NO_PORT".into(), |port| port.to_string());
    let mut strings = String::new();
    let mut roles = Vec::new();
    for ((_, role, _), string) in STRINGS.iter().zip(&operation.strings) {
        let constant = constant(role);
        let Some(string) = string else {
            let _ = writeln!(strings, "            [{constant}] = {{HEADRACE_NO_PORT, HEADRACE_NO_PORT, 0, NULL}},");
            continue;
        };
        roles.push(format!("1u << {constant}"));
        let list = format!("{op}_{}", constant.to_lowercase());
        let lengths: Vec<String> = string.lengths.iter().map(range).collect();
        let _ = write!(text, "\nstatic const struct headrace_lengths {list}[] = {{{}}};\n", lengths.join(", "));
        let _ = writeln!(
            strings,
            "            [{constant}] = {{{}, {}, {}, {list}}},",
            string.port,
            number(string.sizes),
            lengths.len()
        );
    }
    let _ = write!(
        text,
        "\n{storage}const struct headrace_operation {op}_operation = {{\n    .network = &{}_network,\n    .strings =\n        {{\n{strings}        }},\n    .roles = {},\n    \
         .rekey = {},\n    .decrypt = {},\n    .reseed = {},\n    .blocks = {},\n    .verified = {},\n    .most_words = {}u,\n    .block_bytes = {},\n    .decrypts = {},\n    \
         .single_chunk = {},\n    .withholds = {},\n    .key_at = {},\n    .key_room = {key_room}{}\n}};\n",
        network_prefix(spec),
        if roles.is_empty() { "0".into() } else { roles.join(" | ") },
        number(operation.rekey),
        number(operation.decrypt),
        number(operation.reseed),
        number(operation.blocks),
        number(operation.verified),
        operation.most_words,
        operation.block_bytes,
        operation.decrypts,
        operation.single_chunk,
        operation.withholds,
        match key_room {
            0 => "0".to_owned(),
            _ => format!("offsetof(struct {op}_context, key) - offsetof(struct {op}_context, message)"),
        },
        calls.iter().map(|call| format!(",\n    .{call} = {op}_{call}")).collect::<String>()
    );
}

fn range(Lengths { min, max, multiple }: &Lengths) -> String {
    let max = if *max == u64::MAX { "UINT64_MAX".into() } else { max.to_string() };
    format!("{{{min}, {max}, {multiple}}}")
}

/// The function that takes the end of a message given in pieces, where it is one that gives nothing but its code or digest.
fn end_at_once<'s>(spec: &OperationSpec, network: &Network, one_shot: &'s OneShot) -> Option<&'s str> {
    let comes_out = one_shot.ends.as_ref().filter(|_| !spec.verifies)?;
    let operation = Operation::of(spec, network);
    let output = STRINGS.iter().zip(&operation.strings).find(|(string, _)| string.1 == "OUTPUT");
    let port = output.and_then(|(_, string)| string.as_ref()).map(|string| string.port).filter(|_| streams(spec));
    let is_quiet = port.is_none_or(|port| !comes_out.get(port).copied().unwrap_or(false));
    one_shot.piece.as_deref().filter(|_| is_quiet)
}

/// A function: its strings by role, and the call of the one that does the work.
fn body(
    text: &mut String,
    op: &str,
    (spec, network): (&OperationSpec, &Network),
    function: Function,
    one_shot: &OneShot,
) {
    let listed = parameters(spec, function);
    let table = format!("&{op}_operation");
    let rest = "&context->message, &context->network";
    let context = format!("{table}, {rest}");
    let take = one_shot.whole.as_deref().unwrap_or("NULL");
    let (mut given, mut rooms) = (String::new(), String::new());
    for Parameter { constant: role, name, port } in &listed {
        let constant = constant(role);
        if port.role.is_output() {
            let _ = writeln!(rooms, "        [{constant}] = {{{name}, {name}_room, {name}_bytes}},");
        } else {
            let _ = writeln!(given, "        [{constant}] = {{{name}, {name}_bytes}},");
        }
    }
    let array = |kind: &str, name: &str, lines: &str| {
        // An array without any entry of its own is all zero.
        let lines = if lines.is_empty() { "        {0}\n" } else { lines };
        let kind = if function == Function::Many { format!("{kind}_of_many") } else { kind.to_owned() };
        format!("    const struct headrace_{kind} {name}[HEADRACE_ROLES] = {{\n{lines}    }};\n")
    };
    let strings = array("bytes", "strings", &given);
    let room = listed.iter().find(|parameter| parameter.port.role == Role::Output);
    let room =
        room.map_or("NULL, 0, NULL".into(), |Parameter { name, .. }| format!("{name}, {name}_room, {name}_bytes"));
    let whole = |function: &str, helpers: &str| {
        let rooms = array("room", "rooms", &rooms);
        format!("{strings}{rooms}    return {function}({context}, {helpers}strings, rooms);\n")
    };
    // What is done elsewhere, as a function of its own, and the call of that.
    let apart = |text: &mut String, name: &str, work: &str| {
        let others = format!("{op}_{name}_others");
        let _ = write!(text, "\nHR_ELSEWHERE {} {{\n{work}}}\n", prototype_as(spec, function, op, &others));
        let given = listed.iter().map(|Parameter { name, port, .. }| match port.role.is_output() {
            true => format!(", {name}, {name}_room, {name}_bytes"),
            false => format!(", {name}, {name}_bytes"),
        });
        format!("{others}(context{})", given.collect::<String>())
    };
    let work = match function {
        Function::Key => format!("    return headrace_message_key({context}, key, key_bytes);\n"),
        Function::Blocks => format!("    return headrace_message_blocks({context}, in, out, n_blocks);\n"),
        Function::Init => format!("{strings}    return headrace_message_init({context}, strings);\n"),
        Function::Update => {
            let piece = one_shot.piece.as_ref().map_or(String::new(), |take| {
                format!(
                    "    uint32_t result;\n    if (hr_message_piece({table}, {take}, {rest}, in, in_bytes, &to, &result)) {{\n        return result;\n    }}\n"
                )
            });
            format!(
                "    const struct headrace_room to = {{{room}}};\n{piece}    return headrace_message_update({context}, in, in_bytes, to);\n"
            )
        }
        Function::Generate => format!(
            "{strings}    const struct headrace_room to = {{{room}}};\n    return headrace_message_words({context}, strings, n_words, to);\n"
        ),
        Function::Final => {
            let others = whole("headrace_message_final", "");
            match end_at_once(spec, network, one_shot) {
                None => others,
                Some(take) => format!(
                    "{}    uint32_t result;\n    if (hr_message_end({table}, {take}, {rest}, rooms, &result)) {{\n        return result;\n    }}\n    return {};\n",
                    array("room", "rooms", &rooms),
                    apart(text, "final", &others)
                ),
            }
        }
        Function::Message => {
            // One function for all operations: what is unusual is worth less code than what is usual.
            let others = apart(text, "message", &whole("headrace_message_helped", "NULL, "));
            format!(
                "{strings}{}    uint32_t result;\n    if (hr_message_whole({table}, {take}, {rest}, strings, rooms, &result)) {{\n        return result;\n    }}\n    return {others};\n",
                array("room", "rooms", &rooms)
            )
        }
        Function::Helped => whole("headrace_message_helped", "helpers, "),
        Function::Many => format!(
            "{strings}{}    const struct headrace_contexts all = {{contexts, count, sizeof *contexts, offsetof(struct {op}_context, message)}};\n    return hr_message_many(&{op}_operation, {op}_network_streams, all, strings, rooms, results);\n",
            array("room", "rooms", &rooms)
        ),
    };
    let _ = write!(text, "\n{} {{\n{work}}}\n", prototype(spec, function, op));
}
