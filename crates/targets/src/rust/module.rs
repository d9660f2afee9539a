//! Printer of modules in Rust. Records, tables, and how the outside reaches a network.

use super::expression::constant;
use super::function::{WITH_FEATURES, feature_name, function, zero};
use super::name;
use headrace_program::{FieldType, FunctionId, Interface, Module, Stream, Type, effects};
use std::fmt::Write as _;

/// What machines make that no person would: values that turn out not to be read, conditions that are always so.
const QUIET: &str = "#![allow(\n    clippy::all,\n    clippy::pedantic,\n    dead_code,\n    non_camel_case_types,\n    non_snake_case,\n    \
                     non_upper_case_globals,\n    unreachable_code,\n    unused_assignments,\n    unused_comparisons,\n    \
                     unused_labels,\n    unused_mut,\n    unused_parens,\n    unused_variables\n)]\n";

/// A network as a module of a crate that has `runtime/rust/host.rs` as its module `host`, and `message.rs` as `message`
/// where the network is that of an operation.
pub(super) fn module(head: &str, module: &Module, of_operation: bool) -> String {
    let hosted = effects::reach_host(module);
    let mut text = format!("{head}//! The network `{}`: its whole state is [`Context`].\n\n{QUIET}\n", module.name);
    text.push_str("#[allow(unused_imports)]\nuse crate::host::{Argument, Host, Status};\n\n");
    if !module.texts.is_empty() {
        let texts: Vec<String> = module.texts.iter().map(|text| format!("    {text:?},\n")).collect();
        let _ = write!(text, "static TEXTS: [&str; {}] = [\n{}];\n\n", texts.len(), texts.concat());
    }
    if module.features.iter().any(|features| in_leaf_7(&features.names) != 0) {
        text.push_str(LEAF_7);
    }
    for (number, features) in module.features.iter().enumerate() {
        let asked = features.names.iter().filter(|name| !IN_LEAF_7.iter().any(|(own, _)| own == name));
        let mut asked: Vec<String> = asked.map(|name| format!("{:?}", feature_name(name))).collect();
        if asked.is_empty() {
            asked.push("\"avx2\"".to_owned());
        }
        let leaf = in_leaf_7(&features.names);
        let more = if leaf == 0 { String::new() } else { format!(" && has_in_leaf_7__({leaf:#x})") };
        let _ = write!(
            text,
            "#[cfg({WITH_FEATURES})]\ncpufeatures::new!(features_{number}__, {});\n\n\
             /// Whether the processor has what some functions need.\n#[inline]\nfn has_{number}__() -> bool {{\n    \
             #[cfg({WITH_FEATURES})]\n    return features_{number}__::get(){more};\n    \
             #[cfg(not({WITH_FEATURES}))]\n    return false;\n}}\n\n",
            asked.join(", ")
        );
    }
    for table in &module.tables {
        let _ = write!(
            text,
            "static TABLE_{}: [{}; {}] = [{}\n];\n\n",
            table.name,
            table.element,
            table.values.len(),
            listed(&table.values, table.element)
        );
    }
    for record in &module.records {
        let own = name(&record.name);
        let _ =
            write!(text, "/// {}.\n#[derive(Clone)]\npub(crate) struct {own} {{\n", record.about.replace('[', "\\["));
        let mut zeros = String::new();
        for field in &record.fields {
            let (ty, value) = match field.ty {
                FieldType::Scalar(ty) => (ty.to_string(), zero(ty)),
                FieldType::Array(ty, len) => (format!("[{ty}; {len}]"), format!("[{}; {len}]", zero(ty))),
                FieldType::Record(id) => {
                    let other = name(&module.record(id).name);
                    (other.clone(), format!("{other}::ZERO"))
                }
            };
            let _ = writeln!(text, "    {}: {ty},", name(&field.name));
            let _ = writeln!(zeros, "        {}: {value},", name(&field.name));
        }
        let _ = write!(text, "}}\n\nimpl {own} {{\n    const ZERO: Self = Self {{\n{zeros}    }};\n}}\n\n");
    }
    for at in 0..module.functions.len() {
        text.push_str(&function(module, &hosted, FunctionId(at as u32)));
    }
    text.push_str(&outside(module, &hosted));
    if of_operation {
        text.push_str(&network_of_operation(module));
    }
    text
}

/// Features that the crate `cpufeatures` finds only where there are registers of 512 bits, and their bits of ECX in leaf 7 of
/// `cpuid`. Those of 256 bits are asked for beside them.
const IN_LEAF_7: [(&str, u32); 3] = [("gfni", 8), ("vaes", 9), ("vpclmulqdq", 10)];

/// The bits of these among some features.
fn in_leaf_7(features: &[String]) -> u32 {
    let bit = |name: &String| IN_LEAF_7.iter().find(|(own, _)| own == name).map_or(0, |(_, bit)| 1 << bit);
    features.iter().map(bit).fold(0, |all, bit| all | bit)
}

/// Asks the processor once: the instruction takes long under a hypervisor.
const LEAF_7: &str = "/// Whether all these bits of ECX are set in leaf 7 of `cpuid`.
#[cfg(all(feature = \"simd\", target_arch = \"x86_64\"))]
#[allow(unsafe_code, unused_unsafe)]
fn has_in_leaf_7__(bits: u32) -> bool {
    use core::arch::x86_64::{__cpuid, __cpuid_count};
    use core::sync::atomic::{AtomicU64, Ordering};
    static KNOWN: AtomicU64 = AtomicU64::new(0);
    let mut known = KNOWN.load(Ordering::Relaxed);
    if known == 0 {
        // SAFETY: every processor of this architecture has the instruction.
        let found = unsafe { if __cpuid(0).eax < 7 { 0 } else { __cpuid_count(7, 0).ecx } };
        known = 1 << 32 | u64::from(found);
        KNOWN.store(known, Ordering::Relaxed);
    }
    known as u32 & bits == bits
}

";

fn listed(values: &[u64], ty: Type) -> String {
    let mut text = String::new();
    let mut column = usize::MAX;
    for &value in values {
        let item = match ty {
            ty if ty.is_int() && !ty.is_signed() => format!("{value:#x}"),
            ty => constant(value, ty),
        };
        if column > 100 {
            text.push_str("\n    ");
            column = 4;
        } else {
            text.push(' ');
        }
        column += item.len() + 2;
        text.push_str(&item);
        text.push(',');
    }
    text
}

fn call(module: &Module, hosted: &[bool], id: FunctionId, arguments: &str) -> String {
    let host = if hosted[id.index()] { ", host" } else { "" };
    format!("self::{}(&mut self.0{arguments}{host})", name(&module.function(id).name))
}

/// What users of the network see.
fn outside(module: &Module, hosted: &[bool]) -> String {
    let Interface { context, init, run, inputs, outputs, .. } = &module.interface;
    let record = name(&module.record(*context).name);
    let host = if hosted[run.index()] { ", host: &mut dyn Host" } else { "" };
    let mut text = format!(
        "/// The whole state of the network. It is cleared when it is dropped.\n#[derive(Clone)]\npub struct Context({record});\n\n\
         impl Default for Context {{\n    fn default() -> Self {{\n        Self::new()\n    }}\n}}\n\n\
         impl Drop for Context {{\n    fn drop(&mut self) {{\n        self.clear();\n    }}\n}}\n\n\
         impl core::fmt::Debug for Context {{\n    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {{\n        \
         f.write_str(\"Context {{ .. }}\")\n    }}\n}}\n\n\
         impl Context {{\n    /// A network that has not yet fired.\n    pub fn new() -> Self {{\n        let mut context = Self({record}::ZERO);\n        \
         self::{}(&mut context.0);\n        context\n    }}\n\n    \
         /// Begins anew, as a new network does; memory may still hold what was, until [`Context::clear`].\n    pub fn restart(&mut self) {{\n        {};\n    }}\n\n    \
         /// Overwrites all state, which may hold secrets; [`Context::restart`] makes it usable again.\n    pub fn clear(&mut self) {{\n        \
         self.0 = {record}::ZERO;\n        core::hint::black_box(&mut self.0);\n    }}\n\n    \
         /// Fires until nothing can fire, or until all instances had their turn `max_rounds` times.\n    \
         pub fn run(&mut self, max_rounds: u64{host}) -> Status {{\n        Status::of({})\n    }}\n",
        name(&module.function(*init).name),
        call(module, hosted, *init, ""),
        call(module, hosted, *run, ", max_rounds"),
    );
    let per_token = |words: u32| if words > 1 { format!(" / {words}") } else { String::new() };
    let several = |words: u32| {
        if words > 1 { format!(", of {words} words each, least significant first") } else { String::new() }
    };
    for port in inputs {
        let _ = write!(
            text,
            "\n    /// Writes tokens{} to the input `{}` and says for how many there was room.\n    \
             pub fn {}(&mut self, tokens: &[{}]) -> usize {{\n        \
             let n_tokens = (tokens.len(){}).min(u32::MAX as usize) as u32;\n        {} as usize\n    }}\n",
            several(port.words),
            port.name,
            name(&module.function(port.write).name),
            port.element,
            per_token(port.words),
            call(module, hosted, port.write, ", tokens, n_tokens"),
        );
    }
    for port in outputs {
        let _ = write!(
            text,
            "\n    /// Takes tokens{} from the output `{}` and says how many there were.\n    \
             pub fn {}(&mut self, tokens: &mut [{}]) -> usize {{\n        \
             let n_tokens = (tokens.len(){}).min(u32::MAX as usize) as u32;\n        {} as usize\n    }}\n",
            several(port.words),
            port.name,
            name(&module.function(port.read).name),
            port.element,
            per_token(port.words),
            call(module, hosted, port.read, ", tokens, n_tokens"),
        );
    }
    text.push_str("}\n\n");
    text
}

/// Ports by their numbers, for the functions that all operations share.
fn network_of_operation(module: &Module) -> String {
    let mut arms: [String; 4] = Default::default();
    for (at, port) in module.interface.inputs.iter().enumerate() {
        let write = name(&module.function(port.write).name);
        let element = port.element;
        if element == Type::U8 {
            let _ = writeln!(arms[0], "            {at} => self.{write}(bytes),");
        }
        if port.words == 1 && element.is_int() {
            let _ = writeln!(arms[1], "            {at} => self.{write}(&[word as {element}]) == 1,");
        }
    }
    for (at, port) in module.interface.outputs.iter().enumerate() {
        let read = name(&module.function(port.read).name);
        let element = port.element;
        if element == Type::U8 {
            let _ = writeln!(arms[2], "            {at} => self.{read}(bytes),");
        }
        if port.words == 1 && element.is_int() {
            let _ = writeln!(
                arms[3],
                "            {at} => {{\n                let mut word = [0{element}];\n                \
                 (self.{read}(&mut word) == 1).then(|| word[0] as u32)\n            }}"
            );
        }
    }
    let [put, put_word, get, get_word] = arms;
    let stream = streams(module);
    let lacks_room = name(&module.function(module.interface.lacks_room).name);
    format!(
        "impl crate::message::Network for Context {{\n    fn restart(&mut self) {{\n        Context::restart(self);\n    }}\n\n    \
         fn put(&mut self, port: usize, bytes: &[u8]) -> usize {{\n        match port {{\n{put}            _ => 0,\n        }}\n    }}\n\n    \
         fn put_word(&mut self, port: usize, word: u32) -> bool {{\n        match port {{\n{put_word}            _ => false,\n        }}\n    }}\n\n    \
         fn run(&mut self) -> bool {{\n        Context::run(self, u64::MAX) == Status::Idle\n    }}\n\n    \
         fn wants_room(&mut self) -> bool {{\n        self::{lacks_room}(&mut self.0)\n    }}\n\n    \
         fn get(&mut self, port: usize, bytes: &mut [u8]) -> usize {{\n        match port {{\n{get}            _ => 0,\n        }}\n    }}\n\n    \
         fn get_word(&mut self, port: usize) -> Option<u32> {{\n        match port {{\n{get_word}            _ => None,\n        }}\n    }}\n{stream}}}\n"
    )
}

/// What takes input where it lies, if there is something.
fn streams(module: &Module) -> String {
    let mut arms = String::new();
    for Stream { input, output, function } in &module.interface.streams {
        let own = name(&module.function(*function).name);
        let (port, room) = match output {
            Some(output) => (output.to_string(), ", room, length(room)"),
            None => ("_".to_owned(), ""),
        };
        let _ =
            writeln!(arms, "            ({input}, {port}) => self::{own}(&mut self.0, bytes, length(bytes){room}),");
    }
    if arms.is_empty() {
        return arms;
    }
    format!(
        "\n    fn stream(&mut self, input: usize, bytes: &[u8], output: usize, room: &mut [u8]) -> (usize, usize) {{\n        \
         let length = |bytes: &[u8]| bytes.len().min(u32::MAX as usize) as u32;\n        \
         let moved = match (input, output) {{\n{arms}            _ => 0,\n        }};\n        \
         (moved as u32 as usize, (moved >> 32) as usize)\n    }}\n"
    )
}
