//! Printer of modules. Modules: structures, tables, functions, and what the outside calls.

use super::alias::Tags;
use super::code::{Code, Shared};
use super::processor::{attributes, questions};
use super::statement::calls_native;
use super::types::{Structure, bytes, constant, given, memory, result, structure_of, value};
use super::vector::register;
use crate::layout::{Layouts, array_bytes};
use headrace_program::{
    ByteOrder, Function, FunctionId, Interface, Module, RecordId, Table, Type, VariableId, VariableKind, effects,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A text between quotation marks.
pub(super) fn quoted(text: &str) -> String {
    let literal = bytes(text.as_bytes());
    literal[2..literal.len() - 1].to_owned()
}

/// The functions of the interface.
pub(super) fn outside(interface: &Interface) -> Vec<FunctionId> {
    let mut ids = vec![interface.run, interface.lacks_room];
    ids.extend(interface.inputs.iter().map(|port| port.write));
    ids.extend(interface.outputs.iter().flat_map(|port| [port.read, port.waiting]));
    ids.extend(interface.streams.iter().map(|stream| stream.function));
    ids
}

/// A network as a module; names of the outside begin with the prefix.
///
/// It names no machine, or has functions for what machines of an architecture have.
pub(super) fn module(head: &str, module: &Module, prefix: &str, architecture: Option<&'static str>) -> String {
    let layouts = Layouts::of(module);
    let records = (0..module.records.len()).map(|at| RecordId(at as u32));
    let structures: Vec<Structure> = records.map(|id| structure_of(module, &layouts, id)).collect();
    let outside = outside(&module.interface);
    let functions: Vec<String> = (0..module.functions.len())
        .map(|at| {
            // What has a dot in its name is nothing that C could call, or that LLVM takes for a function of its library.
            let dot = if outside.contains(&FunctionId(at as u32)) { "_" } else { "." };
            format!("{prefix}{dot}{}", module.functions[at].name)
        })
        .collect();
    let hosted = effects::reach_host(module);
    let shared = Shared {
        module,
        layouts: &layouts,
        structures: &structures,
        functions: &functions,
        hosted: &hosted,
        prefix,
        orders: RefCell::default(),
        intrinsics: RefCell::default(),
        architecture,
    };
    let about = match architecture {
        None => {
            "It names no machine: clang, llc and opt take the one that they are told, and opt must be told if its first byte of a word is\n\
             ; the most significant."
                .to_owned()
        }
        Some(architecture) => {
            format!("It is for {architecture}, whatever its features: it asks the processor for those that functions need.")
        }
    };
    let mut text = format!(
        "{head}; The network `{}`.\n;\n; {about} {prefix}.h declares what stands here for the outside; its state is {}, of which the outside knows nothing.\n\nsource_filename = \"{}\"\n\n",
        module.name.replace('\n', " "),
        super::types::structure(module, module.interface.context),
        quoted(&module.name)
    );
    structures.iter().for_each(|structure| text.push_str(&structure.text));
    constants(&mut text, module, prefix);
    let mut tags = Tags::default();
    text.push_str(&architecture.map_or(String::new(), |architecture| questions(module, architecture, prefix)));
    for (at, own) in module.functions.iter().enumerate() {
        let id = FunctionId(at as u32);
        let needed = own.features.and_then(|features| module.features.get(features.index()));
        if needed.is_some_and(|set| architecture != Some(set.architecture)) {
            continue;
        }
        text.push_str(&function(&shared, id, outside.contains(&id), &mut tags));
    }
    orders(&mut text, prefix, &shared.orders.borrow());
    let context = layouts.record(module.interface.context);
    let whole = format!("ptr align {} %context", context.alignment);
    let _ = write!(
        text,
        "; Prepares a context.\ndefine void @{prefix}_init(ptr noundef nonnull %context) #0 {{\n  \
         call void @llvm.memset.p0.i64({whole}, i8 0, i64 {0}, i1 false)\n  call void @{1}(ptr %context)\n  ret void\n}}\n\n\
         ; Overwrites a context, which may hold secrets: the store is volatile, so that it is not left out.\n\
         define void @{prefix}_clear(ptr noundef nonnull %context) #0 {{\n  \
         call void @llvm.memset.p0.i64({whole}, i8 0, i64 {0}, i1 true)\n  ret void\n}}\n\n",
        context.bytes,
        functions[module.interface.init.index()]
    );
    text.push_str(
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n\
         declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n",
    );
    for declared in shared.intrinsics.borrow().iter() {
        let _ = writeln!(text, "{declared}");
    }
    if hosted.contains(&true) {
        text.push_str(
            "\n; What the host does: headrace_calls.h.\ndeclare void @headrace_print(ptr, ptr, i32)\n\
             declare void @headrace_print_real(ptr, double, i32)\ndeclare i64 @headrace_native(ptr, ptr, ptr, i32, i32, ...)\n",
        );
    }
    text.push_str("\nattributes #0 = { nounwind }\n");
    for (number, set) in module.features.iter().enumerate() {
        if architecture == Some(set.architecture) {
            let _ = writeln!(text, "attributes #{} = {{ {} }}", FIRST_OF_FEATURES + number, attributes(set));
        }
    }
    let _ = write!(text, "\n{}", tags.text(module));
    text
}

/// The number of the attributes of functions that need the first set of features; there are others before.
const FIRST_OF_FEATURES: usize = 3;

/// The functions that put bytes of words in order, as far as they are called. What order the machine has is asked of a
/// constant, so that whoever compiles for a machine has the answer then.
fn orders(text: &mut String, prefix: &str, called: &BTreeSet<(&str, &str)>) {
    let called = |order: ByteOrder, ty: &'static str| {
        let is_called = called.contains(&(order.name(), ty));
        is_called.then(|| (format!("@{prefix}.{}.{ty}", order.name()), order, ty.to_owned()))
    };
    let both = [ByteOrder::Big, ByteOrder::Little].into_iter();
    let found: Vec<_> = both.flat_map(|order| ["i32", "i64"].map(|ty| called(order, ty))).flatten().collect();
    if found.is_empty() {
        return;
    }
    let mut types: Vec<&str> = found.iter().map(|(.., ty)| ty.as_str()).collect();
    types.sort_unstable();
    types.dedup();
    let _ = write!(
        text,
        "; Its first byte in memory is 1 where the least significant one comes first.\n@{prefix}.order.one = private unnamed_addr constant i32 1, align 4\n\n"
    );
    for (name, order, ty) in &found {
        let (kept, turned) = match order {
            ByteOrder::Little => ("%word", "%turned"),
            ByteOrder::Big => ("%turned", "%word"),
        };
        let _ = write!(
            text,
            "; A word whose {} byte comes first, from one of the machine or to one.\ndefine internal {ty} {name}({ty} %word) #1 {{\n  \
             %first = load i8, ptr @{prefix}.order.one, align 4\n  %little = icmp ne i8 %first, 0\n  \
             %turned = call {ty} @llvm.bswap.{ty}({ty} %word)\n  \
             %ordered = select i1 %little, {ty} {kept}, {ty} {turned}\n  ret {ty} %ordered\n}}\n\n",
            match order {
                ByteOrder::Little => "least significant",
                ByteOrder::Big => "most significant",
            }
        );
    }
    for ty in types {
        let _ = write!(text, "declare {ty} @llvm.bswap.{ty}({ty})\n\n");
    }
    text.push_str("attributes #1 = { alwaysinline nounwind }\n\n");
}

/// What a table is called, after `@`: here it must have another name than functions.
pub(super) fn table_name(module: &Module, prefix: &str, table: &Table) -> String {
    let is_taken = module.functions.iter().any(|function| function.name == table.name);
    format!("{prefix}.{}{}", if is_taken { "table." } else { "" }, table.name)
}

/// Tables, texts, and the names of natives.
fn constants(text: &mut String, module: &Module, prefix: &str) {
    for table in &module.tables {
        let values = if table.element.bytes() == 1 {
            bytes(&table.values.iter().map(|&value| value as u8).collect::<Vec<_>>())
        } else {
            let ty = memory(table.element);
            let values: Vec<String> =
                table.values.iter().map(|&value| format!("{ty} {}", constant(value, table.element))).collect();
            format!("[{}]", values.join(", "))
        };
        let _ = write!(
            text,
            "@{} = private unnamed_addr constant [{} x {}] {values}, align {}\n\n",
            table_name(module, prefix, table),
            table.values.len(),
            memory(table.element),
            table.element.bytes()
        );
    }
    if !module.texts.is_empty() {
        let all = module.texts.concat();
        let mut ends = vec!["i32 0".to_owned()];
        let mut end = 0;
        for text in &module.texts {
            end += text.len();
            ends.push(format!("i32 {end}"));
        }
        let _ = write!(
            text,
            "; Texts that are printed, and where each ends.\n@{prefix}.texts = private unnamed_addr constant [{} x i8] {}, align 1\n\
             @{prefix}.text_ends = private unnamed_addr constant [{} x i32] [{}], align 4\n\n",
            all.len(),
            bytes(all.as_bytes()),
            ends.len(),
            ends.join(", ")
        );
    }
    for (at, native) in module.natives.iter().enumerate() {
        let name = format!("{}\0", native.name);
        let _ = write!(
            text,
            "@{prefix}.native.{at} = private unnamed_addr constant [{} x i8] {}, align 1\n\n",
            name.len(),
            bytes(name.as_bytes())
        );
    }
}

/// A parameter, with what callers promise.
fn parameter(shared: &Shared<'_>, function: &Function, id: VariableId) -> String {
    let variable = &function.variables[id.index()];
    let own = format!("%{}", variable.name);
    let pointer = |mutable: bool, alignment: u32, n_bytes: u32| {
        let readonly = if mutable { "" } else { " readonly" };
        format!("ptr noalias noundef nonnull{readonly} align {alignment} dereferenceable({n_bytes}) {own}")
    };
    match variable.kind {
        VariableKind::Scalar(ty) => format!("{} noundef {own}.given", given(ty)),
        VariableKind::Record(id) => {
            let layout = shared.layouts.record(id);
            pointer(true, layout.alignment, layout.bytes)
        }
        VariableKind::Reference { element, len, mutable } => {
            pointer(mutable, element.bytes(), array_bytes(element, len))
        }
        // It may be null where there is nothing.
        VariableKind::Slice { mutable, .. } => {
            format!("ptr noalias noundef{} {own}", if mutable { "" } else { " readonly" })
        }
        VariableKind::Array(..) | VariableKind::Vector(_) => format!("ptr {own}"),
    }
}

fn function(shared: &Shared<'_>, id: FunctionId, is_outside: bool, tags: &mut Tags) -> String {
    let function = shared.module.function(id);
    let mut parameters: Vec<String> =
        function.parameters.iter().map(|&variable| parameter(shared, function, variable)).collect();
    if shared.hosted[id.index()] {
        parameters.push("ptr noundef %.host".to_owned());
    }
    let mut code = Code::new(shared, id, tags);
    code.begin("entry");
    let mut starts: Vec<String> = Vec::new();
    for (at, variable) in function.variables.iter().enumerate() {
        let is_parameter = function.is_parameter(VariableId(at as u32));
        let own = &variable.name;
        match variable.kind {
            VariableKind::Scalar(ty) => {
                code.line(&format!("%{own} = alloca {}", value(ty)));
                let start = if is_parameter { format!("%{own}.given") } else { constant(0, ty) };
                starts.push(format!("store {} {start}, ptr %{own}", value(ty)));
            }
            VariableKind::Array(ty, len) => {
                let n_bytes = array_bytes(ty, len);
                code.line(&format!("%{own} = alloca [{len} x {}], align {}", memory(ty), ty.bytes()));
                let start = format!(
                    "call void @llvm.memset.p0.i64(ptr align {} %{own}, i8 0, i64 {n_bytes}, i1 false)",
                    ty.bytes()
                );
                starts.push(start);
            }
            // It is given a value before it is read.
            VariableKind::Vector(bits) => code.line(&format!("%{own} = alloca {}", register(bits))),
            _ => {}
        }
    }
    if calls_native(&function.body) {
        code.line("%.stopped = alloca i32, align 4");
    }
    starts.iter().for_each(|start| code.line(start));
    code.block(&function.body);
    if code.is_live {
        code.line(if function.result.is_some() { "unreachable" } else { "ret void" });
    }
    let linkage = if is_outside { "" } else { "internal " };
    let returned = function.result.map_or("void".to_owned(), result);
    let about = if function.about.is_empty() { &function.name } else { &function.about };
    format!(
        "; {}\ndefine {linkage}{returned} @{}({}) #{} {{\n{}}}\n\n",
        about.replace('\n', " "),
        shared.functions[id.index()],
        parameters.join(", "),
        function.features.map_or(0, |features| FIRST_OF_FEATURES + features.index()),
        code.out
    )
}

/// A type in C.
pub(super) fn c_type(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "bool",
        Type::U8 => "uint8_t",
        Type::U16 => "uint16_t",
        Type::U32 => "uint32_t",
        Type::U64 => "uint64_t",
        Type::I8 => "int8_t",
        Type::I16 => "int16_t",
        Type::I32 => "int32_t",
        Type::I64 => "int64_t",
        Type::F32 => "float",
        Type::F64 => "double",
    }
}
