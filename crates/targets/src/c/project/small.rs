//! Projects in C for microcontrollers: the interface of an operation, in front of a network printed small.
//!
//! What `runtime/c/headrace_message.c` does for any operation is printed here for one, with nothing but what that one
//! has: strings are handed to the network where they lie, all those of a call at once, and one run takes them. A run
//! that leaves something is a mistake of the network or a FIFO that is too short, or there is no room for its output;
//! where that can be known before, nothing has happened then.

use super::shape::{self, Function, Parameter, keeps_length, parameters, prototype, streams, withholds};
use super::{answers, build_files, head, identifier, in_source_folder, network_prefix, operation_prefix};
use crate::c::small::{self, CONTEXT, FLOW, Fifo, Lies, Ports};
use crate::c::text::{self, Line, Name, Text, joined, text};
use crate::c::{Options, PlaceTable, QUIET, RUNTIME, names};
use crate::operation::{Lengths, Operation, STRINGS, methods, string_number};
use crate::project::{Files, KnownAnswer, OnOperation, on_all_processors};
use headrace_ir::{Endpoint, Network};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_source::Diagnostic;
use std::cell::RefCell;
use std::fmt::Write as _;

/// What projects ship with beside the headers of every program.
const SHARED: &[(&str, &str)] = &[
    ("src/headrace_message.h", include_str!("../../../../../runtime/c/headrace_message.h")),
    ("src/headrace_small.h", include_str!("../../../../../runtime/c/headrace_small.h")),
    ("src/headrace_small.c", include_str!("../../../../../runtime/c/headrace_small.c")),
];

/// What is not proved of projects, in lines.
const UNPROVED: &[&str] = &[
    "FIFOs have the sizes that they needed while typical messages went through the networks, which is measured, not proved: a",
    "call that needs more returns `HEADRACE_STUCK`, and its message and key are lost.",
];

/// A project for operations of parameter sets, each with its network.
///
/// # Errors
///
/// What small C cannot have, with its place.
pub(super) fn of_operations(
    name: &str,
    title: &str,
    operations: &[(&OperationSpec, &Network)],
    known: &[KnownAnswer],
    options: &Options,
    fills: &dyn small::Fills,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    let name = identifier(name);
    let head = head(&options.command);
    let emitted = |(spec, network): &(&OperationSpec, &Network)| {
        let found = fills.of_operation(spec, network);
        on_operation(spec, None);
        found
    };
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for (fills, (spec, _)) in on_all_processors(operations, emitted).into_iter().zip(operations) {
        match fills {
            Ok(fills) => found.push(fills),
            Err(why) => problems.push(Diagnostic::error(
                "unsupported-by-target",
                format!("`{}` cannot be small: {why}", spec.full_name()),
            )),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let networks: Vec<_> = operations.iter().map(|(_, network)| names::with_port_names(network)).collect();
    let described: Vec<Operation> = operations.iter().map(|(spec, network)| Operation::of(spec, network)).collect();
    let members: Vec<small::Member<'_>> = operations
        .iter()
        .zip(&networks)
        .zip(&described)
        .zip(found)
        .map(|((((spec, _), network), operation), found)| small::Member {
            prefix: network_prefix(spec),
            network,
            ports: ports(spec, network, operation, found.held_back),
            fills: found.fifos,
        })
        .collect();
    let places = RefCell::new(PlaceTable::default());
    let diagnostics = RefCell::new(Vec::new());
    let printed = small::print(&members, &name, options, &places, &diagnostics);
    let diagnostics = diagnostics.into_inner();
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let mut functions = String::new();
    let mut stacks = Vec::new();
    let printed_members = printed.members.iter().zip(&members);
    for (((spec, _), operation), (member, given)) in operations.iter().zip(described).zip(printed_members) {
        let writer = Writer {
            ahead: given.ports.in_place.map(|(_, held_back)| held_back),
            op: operation_prefix(spec),
            prefix: network_prefix(spec),
            context: &member.context,
            spec,
            operation,
            fifos: &member.fifos,
        };
        functions.push_str(&writer.functions());
        stacks.push(format!("`{}`: {} bytes of buffers on the stack", spec.own_name(), member.flow_bytes));
    }
    let guard = format!("{}_NETWORKS_H", name.to_uppercase());
    let header = format!(
        "{head}#ifndef {guard}\n#define {guard}\n\n#include \"headrace_small.h\"\n\n#ifdef __cplusplus\nextern \"C\" {{\n#define _Alignas alignas\n#endif\n\n{}#ifdef __cplusplus\n}}\n#undef _Alignas\n#endif\n\n#endif\n",
        printed.declarations
    );
    let source = format!(
        "{head}#include \"{name}.h\"\n#include \"headrace_wide.h\"\n\n#if __STDC_HOSTED__\n#include <math.h>\n#endif\n\n{QUIET}{}{functions}",
        printed.definitions
    );
    let mut files: Files = RUNTIME.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
    files.insert(format!("{name}_networks.h"), header.into_bytes());
    files.insert(format!("{name}.c"), source.into_bytes());
    let mut files = in_source_folder(files);
    files.extend(SHARED.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    let contexts: Vec<&str> = printed.members.iter().map(|member| member.context.as_str()).collect();
    let header = shape::small_header(&head, &name, title, operations, &contexts);
    files.insert(format!("src/{name}.h"), header.into_bytes());
    let test = answers::of_operations(&head, &name, operations, known, answers::Kind::Small);
    files.insert("test/test.c".into(), test.into_bytes());
    let listed: Vec<String> = operations.iter().map(|(spec, _)| format!("`{}`", spec.own_name())).collect();
    let about = format!(
        "{title}: {} in C for microcontrollers. Functions that a program does not call take nothing where it is compiled with\n`-Os -ffunction-sections -fdata-sections` and linked with `--gc-sections`. What a call needs beside its context and what\ncompilers keep of variables:\n\n* {}\n\n{}",
        listed.join(", "),
        stacks.join("\n* "),
        UNPROVED.join("\n")
    );
    stacks.into_iter().chain([UNPROVED.join(" ")]).for_each(|note| options.notes.say(note));
    build_files::add(&mut files, &name, &options.command, &about, None);
    Ok(files)
}

/// Which ports have strings of the caller, and which nobody looks at.
fn ports(spec: &OperationSpec, network: &Network, operation: &Operation, held_back: u64) -> Ports {
    let given = |role: &&(Role, &str, &str)| !role.0.is_output();
    let strings =
        STRINGS.iter().filter(given).filter_map(|(role, ..)| operation.strings[string_number(*role)].as_ref());
    let is_byte =
        |port: &usize| network.inputs[*port].ty == headrace_ir::Scalar::Int(headrace_ir::IntType::unsigned(8));
    let strings = strings.map(|string| string.port).filter(is_byte).collect();
    let wanted = STRINGS
        .iter()
        .filter(|(role, ..)| role.is_output())
        .filter_map(|(role, ..)| operation.strings[string_number(*role)].as_ref())
        .map(|string| string.port)
        .chain(operation.verified);
    let wanted: Vec<usize> = wanted.collect();
    let input = operation.strings[string_number(Role::Input)].as_ref().map(|string| string.port);
    let in_place =
        input.filter(|port| keeps_length(spec) && is_read_once(network, *port)).map(|port| (port, held_back));
    Ports { strings, in_place, dropped: (0..network.outputs.len()).filter(|port| !wanted.contains(port)).collect() }
}

fn is_read_once(network: &Network, port: usize) -> bool {
    let reads = network.connections.iter().filter(|connection| connection.source == Endpoint::Boundary(port));
    reads.count() <= 1
}

/// What a function does: as elsewhere, but that output needs its room before anything happens, and that what is read in
/// more than one place cannot be overwritten.
pub(super) fn describe(spec: &OperationSpec, network: &Network, function: Function, op: &str) -> String {
    let input = spec.input(Role::Input);
    let input = network.inputs.iter().position(|port| input.is_some_and(|known| known.name == port.name));
    let in_place = input.is_none_or(|port| is_read_once(network, port));
    let mut text = shape::describe(spec, function, op, in_place);
    let told = match function {
        _ if !streams(spec) => "",
        Function::Update if keeps_length(spec) => "nothing has happened",
        Function::Final if keeps_length(spec) => {
            "with less than went in and has not come out, nothing has happened; where padding needs more, the message\n   \
             and its key are lost"
        }
        Function::Message if keeps_length(spec) || withholds(spec) => {
            "with less than `in_bytes`, nothing has happened; where padding needs more, the message and its key are lost"
        }
        Function::Update | Function::Final | Function::Message => "the message and its key are lost",
        _ => "",
    };
    if !told.is_empty() {
        let _ = write!(text, "\n   HEADRACE_ROOM: {told}.");
    }
    text
}

/// What a caller keeps beside a network.
pub(super) fn fields(spec: &OperationSpec) -> String {
    let mut text = String::new();
    if counts(spec) {
        text.push_str("    uint64_t input_bytes;\n");
    }
    if keeps_length(spec) {
        text.push_str("    uint32_t inside; /* bytes that went in and have not come out */\n");
    }
    text + "    uint8_t state;\n"
}

/// Whether the length of all input together is bounded, or must be a multiple of something.
fn counts(spec: &OperationSpec) -> bool {
    methods(spec).contains(&Function::Final)
        && spec.input(Role::Input).is_some_and(|port| port.sizes != headrace_library::sizes::Sizes::any())
}

struct Writer<'a> {
    op: String,
    prefix: String,
    /// The type of the context of its network.
    context: &'a str,
    spec: &'a OperationSpec,
    operation: Operation,
    fifos: &'a [Fifo],
    /// Bytes that may come out beyond those that a call gives; none where output does not go where input lies.
    ahead: Option<u64>,
}

/// A number of bytes.
struct Length {
    text: Text,
    /// What it is, where that is known.
    fixed: Option<u64>,
}

impl From<Text> for Length {
    fn from(text: Text) -> Length {
        Length { text, fixed: None }
    }
}

/// The parameter that has the length of a string.
fn length_of(name: &str) -> Name {
    format!("{name}_bytes").into()
}

/// Lines of a function, indented.
#[derive(Default)]
struct Lines(text::Lines);

impl Lines {
    fn add(&mut self, line: impl Into<Text>) {
        self.0.0.push(Line { depth: 1, text: line.into() });
    }

    /// Others, one level deeper.
    fn add_inside(&mut self, lines: Lines) {
        self.0.0.extend(lines.0.0.into_iter().map(|line| Line { depth: line.depth + 1, ..line }));
    }

    /// Leaves with a result where a condition does not hold.
    fn unless(&mut self, condition: impl Into<Text>, result: &str) {
        self.add(text!["if (!(", condition.into(), ")) {"]);
        self.add(text!["    return HEADRACE_", result, ";"]);
        self.add("}");
    }

    /// The same where there is a condition.
    fn unless_none(&mut self, condition: Option<Text>, result: &str) {
        if let Some(condition) = condition {
            self.unless(condition, result);
        }
    }

    /// The same where the network may have been given a part by then: message and key are lost.
    fn stuck_unless(&mut self, condition: &Text) {
        self.add(text!["if (!(", condition, ")) {"]);
        self.add("    context->state = HR_SMALL_NO_KEY;");
        self.add("    return HEADRACE_STUCK;");
        self.add("}");
    }
}

impl Writer<'_> {
    fn functions(&self) -> String {
        let Writer { op, context, .. } = self;
        let mut text = format!("\n/* --- {op} --- */\n\n");
        let _ = write!(
            text,
            "static void {op}_open(struct {context}_flow *f) {{\n    memset(f, 0, offsetof(struct {context}_flow, tokens));\n}}\n"
        );
        let functions = methods(self.spec);
        if functions.iter().any(|function| matches!(function, Function::Init | Function::Message | Function::Generate))
        {
            text.push_str(&self.begin());
        }
        if functions.contains(&Function::Message) {
            text.push_str(&self.end());
        }
        for function in functions {
            let mut lines = Lines::default();
            match function {
                Function::Key => self.key(&mut lines),
                Function::Blocks => self.blocks(&mut lines),
                Function::Generate => self.generate(&mut lines),
                Function::Init => self.init(&mut lines),
                Function::Update => self.update(&mut lines),
                Function::Final => self.last(&mut lines),
                Function::Message => self.message(&mut lines),
                Function::Helped | Function::Many => {}
            }
            let _ = write!(text, "\n{} {{\n{}}}\n", prototype(self.spec, function, op), lines.0);
        }
        let _ = write!(
            text,
            "\nvoid {op}_copy(struct {op}_context *context, const struct {op}_context *from) {{\n    *context = *from;\n}}\n\n\
             void {op}_clear(struct {op}_context *context) {{\n    hr_small_wipe(context, sizeof *context);\n    hr_small_wipe_stack();\n}}\n"
        );
        text
    }

    /// Declares the network and the buffers of a call.
    fn opened(&self, lines: &mut Lines) {
        lines.add(format!("struct {}_flow flow;", self.context));
        lines.add(format!("{}_open(&flow);", self.op));
    }

    fn string(&self, role: Role) -> Option<&crate::operation::StringPort> {
        self.operation.strings[string_number(role)].as_ref()
    }

    /// Whether a length is legal, as a condition; none where it always is. `total`: it is one of 64 bits, of all that has
    /// come.
    fn allows(&self, role: Role, length: &Text, total: bool) -> Option<Text> {
        let string = self.string(role)?;
        let number = |n: u64| if total { text!["UINT64_C(", n, ")"] } else { text![n, "u"] };
        let range = |Lengths { min, max, multiple }: &Lengths| {
            if min == max {
                return Some(text![length, " == ", number(*min)]);
            }
            let mut all = Vec::new();
            if *min > 0 {
                all.push(text![length, " >= ", number(*min)]);
            }
            if total && *max < u64::MAX {
                all.push(text![length, " <= ", number(*max)]);
            } else if !total {
                all.push(text![length, " <= ", number((*max).min(MOST))]);
            }
            if *multiple > 1 {
                all.push(text![length, " % ", number(*multiple), " == 0"]);
            }
            (!all.is_empty()).then(|| joined(&all, " && "))
        };
        let ranges: Option<Vec<Text>> = string.lengths.iter().map(range).collect();
        match ranges?.as_slice() {
            [one] => Some(one.clone()),
            several => Some(joined(&several.iter().map(|one| text!["(", one, ")"]).collect::<Vec<_>>(), " || ")),
        }
    }

    /// FIFOs behind an input port.
    fn behind(&self, port: usize) -> impl Iterator<Item = &Fifo> {
        self.fifos.iter().filter(move |fifo| fifo.source == Endpoint::Boundary(port))
    }

    /// The FIFO before an output port.
    fn before(&self, port: usize) -> Option<&Fifo> {
        self.fifos.iter().find(|fifo| fifo.target == Endpoint::Boundary(port))
    }

    /// Gives a token to a port that controls.
    fn word(&self, lines: &mut Lines, port: Option<usize>, value: impl Into<Text>) {
        let value = value.into();
        let Some(port) = port else { return };
        for fifo in self.behind(port) {
            let (count, tokens) = (fifo.count(), fifo.tokens());
            match fifo.lies {
                Lies::Array(small::Place::Passing, _) => {
                    lines.add(text![tokens, "[0] = ", value, ";"]);
                    lines.add(text![count, " = 1;"]);
                }
                Lies::Array(small::Place::Kept, capacity) => {
                    lines.stuck_unless(&text![count, " < ", capacity, "u"]);
                    lines.add(text![tokens, "[", count, "++] = ", value, ";"]);
                }
                _ => {}
            }
        }
    }

    /// Gives bytes to a port.
    fn bytes(&self, lines: &mut Lines, port: usize, at: &str, n: &Length) {
        let Length { text: n, fixed } = n;
        for fifo in self.behind(port) {
            let (count, tokens) = (fifo.count(), fifo.tokens());
            if let Some(window) = fifo.window() {
                lines.add(text![window, ".at = ", at, ";"]);
                lines.add(text![window, ".n = ", n, ";"]);
            } else if let Lies::Array(_, capacity) = fifo.lies {
                let fits = if *fixed == Some(capacity) {
                    text![count, " == 0"]
                } else {
                    text![n, " <= ", capacity, "u - ", count]
                };
                lines.stuck_unless(&fits);
                lines.add(text!["for (size_t i = 0; i < ", n, "; i++) {"]);
                lines.add(text!["    ", tokens, "[", count, "++] = ", at, "[i];"]);
                lines.add("}");
            } else {
                lines.add(text![tokens, " = ", at, ";"]);
                lines.add(text![count, " = ", n, ";"]);
            }
        }
    }

    /// Gives a string, and its size where its port has one.
    fn give(&self, lines: &mut Lines, role: Role) {
        let Some(string) = self.string(role) else { return };
        let name = name_of_string(role);
        // Whoever calls has seen that the length is legal: one that is the only one is known.
        let n = match string.lengths.as_slice() {
            [Lengths { min, max, .. }] if min == max => Length { text: text![*min, "u"], fixed: Some(*min) },
            _ => text![length_of(name)].into(),
        };
        self.word(lines, string.sizes, text!["HR_SMALL_LAST | (uint32_t)", n.text]);
        self.bytes(lines, string.port, name, &n);
    }

    /// Points a window to the room for a string.
    fn want(&self, lines: &mut Lines, role: Role) {
        let fifo = self.string(role).and_then(|string| self.before(string.port));
        if let Some(fifo) = fifo.filter(|fifo| fifo.lies == Lies::Wanted) {
            let name = name_of_string(role);
            lines.add(text![fifo.tokens(), " = ", name, ";"]);
            lines.add(text![fifo.count(), " = ", name, "_room;"]);
        }
    }

    /// Counts what came out.
    fn count(&self, lines: &mut Lines, role: Role) {
        let fifo = self.string(role).and_then(|string| self.before(string.port));
        let Some(fifo) = fifo.filter(|fifo| fifo.lies == Lies::Wanted) else { return };
        let name = name_of_string(role);
        lines.add(text!["*", name, "_bytes = ", name, "_room - ", fifo.count(), ";"]);
    }

    /// The declarations that all functions with a context have.
    fn declare_context(&self, lines: &mut Lines) {
        lines.add(text!["struct ", self.context, " *const ", CONTEXT, " = &context->network;"]);
    }

    /// Puts declarations before lines that need them.
    fn declared(&self, out: &mut Lines, body: Lines, opens: bool) {
        if body.0.mention(CONTEXT.0) {
            self.declare_context(out);
        }
        if opens {
            self.opened(out);
        }
        if opens && body.0.mention(FLOW.0) {
            out.add(text!["struct ", self.context, "_flow *const ", FLOW, " = &flow;"]);
        }
        out.0.0.extend(body.0.0);
    }

    /// The role strings that come before the input, in their order.
    fn first_strings(&self) -> Vec<Parameter<'_>> {
        parameters(self.spec, Function::Init)
    }

    fn is_optional(&self, role: Role) -> bool {
        crate::operation::is_optional(self.spec, role)
    }

    /// What begins a message: `OP_begin`, which gives its network what comes before the input.
    fn begin(&self) -> String {
        let Writer { op, prefix, operation, .. } = self;
        let keyed = operation.rekey.is_some();
        let seeds = keyed && self.string(Role::Seed).is_some();
        let mut lines = Lines::default();
        if keyed {
            let seeded = if seeds { "seed == NULL && " } else { "" };
            lines.add(text![
                "if (",
                seeded,
                "context->state != HR_SMALL_NEW_KEY && context->state != HR_SMALL_KEYED) {"
            ]);
            lines.add("    return HEADRACE_ORDER;");
            lines.add("}");
        }
        for Parameter { name, port, .. } in self.first_strings() {
            let allowed = self.allows(port.role, &text![length_of(name)], false);
            let allowed = if self.is_optional(port.role) {
                Some(text![name, " == NULL || (", allowed.unwrap_or_else(|| "true".into()), ")"])
            } else {
                allowed
            };
            lines.unless_none(allowed, "STRING_LENGTH");
        }
        match (keyed, seeds) {
            (false, _) => lines.add(text![prefix, "_init(", CONTEXT, ");"]),
            (true, true) => {
                lines.add("if (seed != NULL) {");
                lines.add(text!["    ", prefix, "_init(", CONTEXT, ");"]);
                lines.add("}");
            }
            (true, false) => {}
        }
        if keyed {
            let mut inner = Lines::default();
            self.word(&mut inner, operation.rekey, if seeds { "seed != NULL" } else { "false" });
            lines.add("if (context->state != HR_SMALL_NEW_KEY) {");
            lines.add_inside(inner);
            lines.add("}");
        }
        self.word(&mut lines, operation.decrypt, if operation.decrypts { "true" } else { "false" });
        self.word(&mut lines, operation.reseed, "entropy != NULL");
        for Parameter { name, port, .. } in self.first_strings() {
            if self.is_optional(port.role) {
                let mut inner = Lines::default();
                self.give(&mut inner, port.role);
                lines.add(text!["if (", name, " != NULL) {"]);
                lines.add_inside(inner);
                lines.add("}");
            } else {
                self.give(&mut lines, port.role);
            }
        }
        if counts(self.spec) {
            lines.add("context->input_bytes = 0;");
        }
        if keeps_length(self.spec) {
            lines.add("context->inside = 0;");
        }
        lines.add("context->state = HR_SMALL_OPEN;");
        lines.add("return HEADRACE_OK;");
        let mut listed = vec![text!["struct ", op, "_context *context"], text!["struct ", self.context, "_flow *f"]];
        listed.extend(self.first_strings().iter().map(|parameter| {
            let name = parameter.name;
            text!["const uint8_t *", name, ", size_t ", name, "_bytes"]
        }));
        let mut all = Lines::default();
        all.add(text!["(void)", FLOW, ";"]);
        for Parameter { name, .. } in self.first_strings() {
            if !lines.0.mention(length_of(name).as_str()) {
                all.add(text!["(void)", name, "_bytes;"]);
            }
        }
        if lines.0.mention(CONTEXT.0) {
            self.declare_context(&mut all);
        }
        format!("\nstatic uint32_t {op}_begin({}) {{\n{}{}}}\n", text::listed(&listed), all.0, lines.0)
    }

    /// What ends one: `OP_end`, which lets its network run, and looks at what came out.
    fn end(&self) -> String {
        let Writer { op, prefix, .. } = self;
        let outputs: Vec<Parameter<'_>> =
            parameters(self.spec, Function::Message).into_iter().filter(|one| one.port.role.is_output()).collect();
        let mut lines = Lines::default();
        let verified = self.operation.verified.and_then(|port| self.before(port));
        if let Some(fifo) = verified {
            lines.add("bool verified = false;");
            lines.add(text![fifo.tokens(), " = (uint8_t *)&verified;"]);
            lines.add(text![fifo.count(), " = 1;"]);
        }
        outputs.iter().for_each(|output| self.want(&mut lines, output.port.role));
        lines.add("context->state = HR_SMALL_NO_KEY;");
        let stuck = self.no_room();
        let run = text![prefix, "_run(&context->network, ", FLOW, ")"];
        let mut ended = vec![run];
        ended.extend(verified.map(|fifo| text![fifo.count(), " == 0"]));
        // What always has one length has come whole.
        for output in outputs.iter().filter(|output| output.port.sizes.fixed().is_some()) {
            let fifo = self.string(output.port.role).and_then(|string| self.before(string.port));
            let length = output.port.sizes.fixed().unwrap_or(0);
            ended.extend(fifo.map(|fifo| text![output.name, "_room - ", fifo.count(), " == ", length, "u"]));
        }
        lines.add(text!["if (!(", joined(&ended, " && "), ")) {"]);
        if withholds(self.spec) {
            // Nothing leaves before it is verified.
            for output in &outputs {
                let fifo = self.string(output.port.role).and_then(|string| self.before(string.port));
                if let Some(fifo) = fifo.filter(|fifo| fifo.lies == Lies::Wanted) {
                    let name = output.name;
                    lines.add(text!["    hr_small_wipe(", name, ", ", name, "_room - ", fifo.count(), ");"]);
                }
            }
        }
        lines.add(text!["    return ", stuck, ";"]);
        lines.add("}");
        outputs.iter().for_each(|output| self.count(&mut lines, output.port.role));
        if self.operation.rekey.is_some() {
            lines.add("context->state = HR_SMALL_KEYED;");
        }
        if verified.is_some() {
            lines.add("HEADRACE_PUBLIC(&verified, sizeof verified);");
            lines.add("if (!verified) {");
            if withholds(self.spec) {
                for output in &outputs {
                    let name = output.name;
                    lines.add(text!["    hr_small_wipe(", name, ", *", name, "_bytes);"]);
                    lines.add(text!["    *", name, "_bytes = 0;"]);
                }
            }
            lines.add("    return HEADRACE_REFUSED;");
            lines.add("}");
        }
        lines.add("return HEADRACE_OK;");
        let mut listed = vec![text!["struct ", op, "_context *context"], text!["struct ", self.context, "_flow *f"]];
        listed.extend(outputs.iter().map(|Parameter { name, .. }| {
            text!["uint8_t *", name, ", size_t ", name, "_room, size_t *", name, "_bytes"]
        }));
        format!("\nstatic uint32_t {op}_end({}) {{\n{}}}\n", text::listed(&listed), lines.0)
    }

    /// What is returned where a network stopped: there may have been no room.
    fn no_room(&self) -> Text {
        let output = self.string(Role::Output).and_then(|string| self.before(string.port));
        match output.filter(|fifo| fifo.lies == Lies::Wanted && streams(self.spec)) {
            Some(fifo) => text![fifo.count(), " < ", fifo.burst, "u ? HEADRACE_ROOM : HEADRACE_STUCK"],
            None => "HEADRACE_STUCK".into(),
        }
    }

    fn key(&self, lines: &mut Lines) {
        let operation = &self.operation;
        let core = operation.block_bytes != 0;
        lines.unless_none(self.allows(Role::Key, &"key_bytes".into(), false), "KEY_LENGTH");
        let mut body = Lines::default();
        body.add(text![self.prefix, "_init(", CONTEXT, ");"]);
        body.add("context->state = HR_SMALL_NO_KEY;");
        self.word(&mut body, operation.rekey, "true");
        if core {
            self.word(&mut body, operation.decrypt, if operation.decrypts { "true" } else { "false" });
        }
        self.give(&mut body, Role::Key);
        if core {
            self.word(&mut body, operation.blocks, "0");
        }
        body.add(text!["if (!", self.prefix, "_run(", CONTEXT, ", &flow)) {"]);
        body.add("    return HEADRACE_STUCK;");
        body.add("}");
        body.add(text!["context->state = ", if core { "HR_SMALL_KEYED" } else { "HR_SMALL_NEW_KEY" }, ";"]);
        body.add("return HEADRACE_OK;");
        self.declared(lines, body, true);
    }

    /// The call of `OP_begin`.
    fn call_begin(&self) -> Text {
        let given: String =
            self.first_strings().iter().map(|Parameter { name, .. }| format!(", {name}, {name}_bytes")).collect();
        text![self.op, "_begin(context, &flow", given, ")"]
    }

    /// The call of `OP_end`.
    fn call_end(&self) -> Text {
        let outputs = parameters(self.spec, Function::Message);
        let outputs: String = outputs
            .iter()
            .filter(|one| one.port.role.is_output())
            .map(|Parameter { name, .. }| format!(", {name}, {name}_room, {name}_bytes"))
            .collect();
        text![self.op, "_end(context, &flow", outputs, ")"]
    }

    fn init(&self, lines: &mut Lines) {
        self.opened(lines);
        lines.add(text!["const uint32_t result = ", self.call_begin(), ";"]);
        lines.add(text!["if (result == HEADRACE_OK && !", self.prefix, "_run(&context->network, &flow)) {"]);
        lines.add("    context->state = HR_SMALL_NO_KEY;");
        lines.add("    return HEADRACE_STUCK;");
        lines.add("}");
        lines.add("return result;");
    }

    fn update(&self, lines: &mut Lines) {
        let mut body = Lines::default();
        if streams(self.spec) {
            body.add("*out_bytes = 0;");
        }
        body.unless("context->state == HR_SMALL_OPEN", "ORDER");
        body.unless("in_bytes <= HR_SMALL_MOST", "INPUT_LENGTH");
        if keeps_length(self.spec) {
            body.unless("out_room >= in_bytes + context->inside", "ROOM");
        }
        body.add("if (in_bytes == 0) {");
        body.add("    return HEADRACE_OK;");
        body.add("}");
        if let Some(ahead) = self.ahead {
            // Only so much is read before what comes out goes where it lies.
            body.stuck_unless(&text!["out != in || context->inside <= ", ahead, "u"]);
        }
        let string = self.string(Role::Input);
        self.word(&mut body, string.and_then(|string| string.sizes), "(uint32_t)in_bytes");
        if let Some(string) = string {
            self.bytes(&mut body, string.port, "in", &text!["in_bytes"].into());
        }
        if streams(self.spec) {
            self.want(&mut body, Role::Output);
        }
        if counts(self.spec) {
            body.add("context->input_bytes += in_bytes;");
        }
        body.add(text!["if (!", self.prefix, "_run(&context->network, &flow)) {"]);
        body.add("    context->state = HR_SMALL_NO_KEY;");
        body.add(text!["    return ", if streams(self.spec) { self.no_room() } else { "HEADRACE_STUCK".into() }, ";"]);
        body.add("}");
        if streams(self.spec) {
            self.count(&mut body, Role::Output);
        }
        if keeps_length(self.spec) {
            body.add("context->inside += (uint32_t)(in_bytes - *out_bytes);");
        }
        body.add("return HEADRACE_OK;");
        self.declared(lines, body, true);
    }

    /// What must be before a message can end.
    fn can_end(&self, lines: &mut Lines, inside: &str) {
        if self.string(Role::TagIn).is_some() {
            lines.unless_none(self.allows(Role::TagIn, &"tag_bytes".into(), false), "STRING_LENGTH");
        }
        let outputs = parameters(self.spec, Function::Message);
        for output in outputs.iter().filter(|one| one.port.role.is_output()) {
            let name = output.name;
            if output.port.role == Role::Output && streams(self.spec) {
                if keeps_length(self.spec) || withholds(self.spec) {
                    lines.unless(text![name, "_room >= ", inside], "ROOM");
                }
            } else if output.port.sizes.min() > 0 {
                lines.unless(text![name, "_room >= ", output.port.sizes.min(), "u"], "ROOM");
            }
        }
    }

    /// Empties what counts output.
    fn nothing_came(&self, lines: &mut Lines) {
        for output in parameters(self.spec, Function::Message).iter().filter(|one| one.port.role.is_output()) {
            lines.add(text!["*", output.name, "_bytes = 0;"]);
        }
    }

    fn last(&self, lines: &mut Lines) {
        let mut body = Lines::default();
        self.nothing_came(&mut body);
        body.unless("context->state == HR_SMALL_OPEN", "ORDER");
        if counts(self.spec) {
            body.unless_none(self.allows(Role::Input, &"context->input_bytes".into(), true), "INPUT_LENGTH");
        }
        self.can_end(&mut body, "context->inside");
        self.word(&mut body, self.string(Role::Input).and_then(|string| string.sizes), "HR_SMALL_LAST");
        self.give(&mut body, Role::TagIn);
        body.add(text!["return ", self.call_end(), ";"]);
        self.declared(lines, body, true);
    }

    fn message(&self, lines: &mut Lines) {
        let mut body = Lines::default();
        body.add("uint32_t result;");
        self.nothing_came(&mut body);
        if self.string(Role::Input).is_some() {
            body.unless_none(self.allows(Role::Input, &"in_bytes".into(), false), "INPUT_LENGTH");
        }
        self.can_end(&mut body, "in_bytes");
        body.add(text!["result = ", self.call_begin(), ";"]);
        body.add("if (result != HEADRACE_OK) {");
        body.add("    return result;");
        body.add("}");
        self.give(&mut body, Role::Input);
        self.give(&mut body, Role::TagIn);
        body.add(text!["return ", self.call_end(), ";"]);
        self.declared(lines, body, true);
    }

    fn blocks(&self, lines: &mut Lines) {
        let operation = &self.operation;
        let mut body = Lines::default();
        body.unless("context->state == HR_SMALL_KEYED", "ORDER");
        self.word(&mut body, operation.rekey, "false");
        self.word(&mut body, operation.decrypt, if operation.decrypts { "true" } else { "false" });
        self.word(&mut body, operation.blocks, "n_blocks");
        let n = text!["(size_t)n_blocks * ", operation.block_bytes, "u"];
        if let Some(string) = self.string(Role::Input) {
            self.bytes(&mut body, string.port, "in", &n.clone().into());
        }
        let fifo = self.string(Role::Output).and_then(|string| self.before(string.port));
        if let Some(fifo) = fifo {
            body.add(text![fifo.tokens(), " = out;"]);
            body.add(text![fifo.count(), " = ", n, ";"]);
        }
        let all = fifo.map_or(Text::default(), |fifo| text![" || ", fifo.count(), " != 0"]);
        body.add(text!["if (!", self.prefix, "_run(", CONTEXT, ", ", FLOW, ")", all, ") {"]);
        body.add("    context->state = HR_SMALL_NO_KEY;");
        body.add("    return HEADRACE_STUCK;");
        body.add("}");
        body.add("return HEADRACE_OK;");
        self.declared(lines, body, true);
    }

    fn generate(&self, lines: &mut Lines) {
        let operation = &self.operation;
        let mut body = Lines::default();
        body.add("uint32_t result;");
        body.add("*out_bytes = 0;");
        body.unless(text!["n_words <= ", operation.most_words, "u"], "INPUT_LENGTH");
        let word = self.string(Role::Output).and_then(|string| string.lengths.first()).map_or(1, |one| one.multiple);
        body.unless(text!["n_words <= out_room / ", word, "u"], "ROOM");
        body.add(text!["result = ", self.call_begin(), ";"]);
        body.add("if (result != HEADRACE_OK) {");
        body.add("    return result;");
        body.add("}");
        self.word(&mut body, operation.blocks, "n_words");
        self.want(&mut body, Role::Output);
        let verified = operation.verified.and_then(|port| self.before(port));
        if let Some(fifo) = verified {
            body.add("bool verified = false;");
            body.add(text![fifo.tokens(), " = (uint8_t *)&verified;"]);
            body.add(text![fifo.count(), " = 1;"]);
        }
        body.add("context->state = HR_SMALL_NO_KEY;");
        body.add(text!["if (!", self.prefix, "_run(", CONTEXT, ", ", FLOW, ")) {"]);
        body.add("    return HEADRACE_STUCK;");
        body.add("}");
        self.count(&mut body, Role::Output);
        if operation.rekey.is_some() {
            body.add("context->state = HR_SMALL_KEYED;");
        }
        if verified.is_some() {
            body.add("HEADRACE_PUBLIC(&verified, sizeof verified);");
            body.unless("verified", "REFUSED");
        }
        body.add("return HEADRACE_OK;");
        self.declared(lines, body, true);
    }
}

/// The most bytes of a string that a call takes.
const MOST: u64 = 0x3fff_ffff;

/// The name of a string in signatures.
fn name_of_string(role: Role) -> &'static str {
    STRINGS[string_number(role)].2
}
