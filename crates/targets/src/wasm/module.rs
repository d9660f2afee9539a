//! Printer of modules. Modules: functions and data, and what the outside calls.

use super::code::{Address, Base, Code, SWAPPED, Shared, value};
use super::memory::{Frame, Memory};
use super::statement::MOST_UNROLLED;
use headrace_program::{FunctionId, Interface, Module, VariableId, VariableKind, effects};
use std::fmt::Write as _;

/// The text of a module. Its memory grows as its wrapper asks for contexts.
pub(super) fn module(head: &str, module: &Module) -> String {
    let memory = Memory::of(module);
    let shared = Shared { module, memory: &memory };
    let interface = &module.interface;
    let context_bytes = memory.layouts.record(interface.context).bytes.next_multiple_of(16);
    let mut text = format!("{head};; The network `{}`.\n(module\n", module.name.replace('\n', " "));
    if effects::reach_host(module).contains(&true) {
        text.push_str(
            "  (import \"host\" \"print\" (func $host.print (param i32 i32)))\n  \
             (import \"host\" \"print_real\" (func $host.print_real (param f64 i32)))\n  \
             (import \"host\" \"native\" (func $host.native (param i32 i32 i32) (result i64)))\n",
        );
    }
    let pages = memory.contexts.div_ceil(1 << 16);
    let _ = write!(
        text,
        "  (memory (export \"memory\") {pages})\n  ;; Arrays of functions lie on a stack of their own, which grows downwards.\n  \
         (global $stack (export \"stack\") (mut i32) (i32.const {}))\n  \
         (global (export \"native\") i32 (i32.const {}))\n  \
         (global (export \"buffer\") i32 (i32.const {}))\n  (global (export \"bufferBytes\") i32 (i32.const {}))\n  \
         (global (export \"contexts\") i32 (i32.const {}))\n  (global (export \"contextBytes\") i32 (i32.const {context_bytes}))\n\n",
        memory.stack_start,
        super::memory::NATIVE,
        memory.buffer,
        super::memory::BUFFER_BYTES,
        memory.contexts
    );
    data(&mut text, module, &memory);
    layout_comments(&mut text, module, &memory);
    let exported = outside(interface);
    for at in 0..module.functions.len() {
        let id = FunctionId(at as u32);
        let own = || if id == interface.run { "run".to_owned() } else { module.function(id).name.clone() };
        text.push_str(&function(&shared, id, exported.contains(&id).then(own)));
    }
    let _ = write!(
        text,
        "  ;; Begins the network of a context.\n  (func (export \"prepare\") (param $context i32)\n    \
         (call ${} (local.get $context))\n  )\n\n  \
         ;; Overwrites a context, which may hold secrets, and what calls left behind.\n  (func (export \"erase\") (param $context i32)\n    \
         (memory.fill (local.get $context) (i32.const 0) (i32.const {context_bytes}))\n    \
         (memory.fill (i32.const {}) (i32.const 0) (i32.const {}))\n  )\n)\n",
        module.function(interface.init).name,
        memory.stack_end,
        memory.contexts - memory.stack_end
    );
    text
}

/// The functions of the interface.
fn outside(interface: &Interface) -> Vec<FunctionId> {
    let mut ids = vec![interface.run, interface.lacks_room];
    ids.extend(interface.inputs.iter().map(|port| port.write));
    ids.extend(interface.outputs.iter().flat_map(|port| [port.read, port.waiting]));
    ids
}

/// Bytes as the text of a segment.
fn bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => drop(write!(text, "\\{byte:02x}")),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => drop(write!(text, "\\{byte:02x}")),
        }
    }
    text
}

/// Tables and texts.
fn data(text: &mut String, module: &Module, memory: &Memory) {
    for (table, at) in module.tables.iter().zip(&memory.tables) {
        let n = table.element.bytes() as usize;
        let all: Vec<u8> = table.values.iter().flat_map(|value| value.to_le_bytes()[..n].to_vec()).collect();
        let _ = write!(
            text,
            "  ;; {}: {} elements of {}\n  (data (i32.const {at}) \"{}\")\n\n",
            table.name,
            table.values.len(),
            table.element,
            bytes(&all)
        );
    }
    if !module.texts.is_empty() {
        let mut ends = vec![0u32];
        let mut end = 0;
        for text in &module.texts {
            end += text.len() as u32;
            ends.push(end);
        }
        let ends: Vec<u8> = ends.into_iter().flat_map(u32::to_le_bytes).collect();
        let _ = write!(
            text,
            "  ;; Texts that are printed, and where each ends.\n  (data (i32.const {}) \"{}\")\n  (data (i32.const {}) \"{}\")\n\n",
            memory.texts,
            bytes(module.texts.concat().as_bytes()),
            memory.text_ends,
            bytes(&ends)
        );
    }
}

/// Where the fields of records lie, for readers.
fn layout_comments(text: &mut String, module: &Module, memory: &Memory) {
    for (at, record) in module.records.iter().enumerate() {
        let layout = memory.layouts.record(headrace_program::RecordId(at as u32));
        let _ = writeln!(text, "  ;; {}: {}", record.name, record.about.replace('\n', " "));
        for (field, offset) in record.fields.iter().zip(&layout.offsets) {
            let about = if field.about.is_empty() { String::new() } else { format!(": {}", field.about) };
            let _ = writeln!(text, "  ;;   {offset} {}{}", field.name, about.replace('\n', " "));
        }
        text.push('\n');
    }
}

/// A function, and what the outside knows it as.
fn function(shared: &Shared<'_>, id: FunctionId, exported: Option<String>) -> String {
    let function = shared.module.function(id);
    let mut code = Code::new(shared, function);
    let Frame { bytes, arrays } = super::memory::frame(function);
    if bytes > 0 {
        // With less than that, tables would be overwritten.
        let room = format!("(i32.sub (global.get $stack) (i32.const {}))", shared.memory.stack_end);
        code.line(&format!("(if (i32.lt_u {room} (i32.const {bytes})) (then (unreachable)))"));
        code.line(&format!("(global.set $stack (i32.sub (global.get $stack) (i32.const {bytes})))"));
        if u64::from(bytes) <= MOST_UNROLLED {
            code.cleared(Address { base: Base::Short("(global.get $stack)".to_owned()), offset: 0 }, bytes.into());
        } else {
            code.line(&format!("(memory.fill (global.get $stack) (i32.const 0) (i32.const {bytes}))"));
        }
    }
    let mut locals = String::new();
    for (at, variable) in function.variables.iter().enumerate() {
        let own = &variable.name;
        match (arrays[at], variable.kind) {
            (Some((start, ty, len)), _) => {
                let _ = writeln!(locals, "    (local ${own} i32) ;; {len} elements of {ty}");
                code.line(&format!("(local.set ${own} (i32.add (global.get $stack) (i32.const {start})))"));
            }
            (None, VariableKind::Scalar(ty)) if !function.is_parameter(VariableId(at as u32)) => {
                let _ = writeln!(locals, "    (local ${own} {}) ;; {ty}", value(ty));
            }
            _ => {}
        }
    }
    code.block(&function.body);
    if function.result.is_some() {
        // Every path has returned.
        code.line("(unreachable)");
    } else {
        code.leave();
    }
    let parameters: String = function
        .parameters
        .iter()
        .map(|variable| {
            let variable = &function.variables[variable.index()];
            let ty = match variable.kind {
                VariableKind::Scalar(ty) => value(ty),
                _ => "i32",
            };
            format!(" (param ${} {ty})", variable.name)
        })
        .collect();
    let swapped = code.out.contains(SWAPPED).then(|| format!("(local {SWAPPED} i32)"));
    let own_locals: String = code.locals.iter().chain(&swapped).map(|local| format!("    {local}\n")).collect();
    let export = exported.map_or(String::new(), |name| format!(" (export \"{name}\")"));
    let result = function.result.map_or(String::new(), |ty| format!(" (result {})", value(ty)));
    let about = if function.about.is_empty() { &function.name } else { &function.about };
    format!(
        "  ;; {}\n  (func ${}{export}{parameters}{result}\n{locals}{own_locals}{}  )\n\n",
        about.replace('\n', " "),
        function.name,
        code.out
    )
}
