//! The textual form: a design as text, which [`crate::read`] takes back.
//!
//! ```text
//! module counter # counts what is enabled
//!     input enable_i: 1
//!     output count_o: 4
//!     wire count_d: 4
//!     register count_q: 4 = 4'h0 next count_d
//!     assign count_o = count_q
//!     process count
//!         count_d = count_q
//!         if enable_i
//!             count_d = add(count_q, 4'h1)
//! ```

use crate::{Design, Expr, ExprKind, Module, Signal, SignalId, SignalKind, Stmt, Timing};
use std::fmt::Write as _;

/// The whole design.
pub fn text(design: &Design) -> String {
    let modules: Vec<String> = design.modules.iter().map(module_text).collect();
    modules.join("\n")
}

fn about(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" # {}", text.replace('\n', " ")) }
}

fn module_text(module: &Module) -> String {
    let mut out = format!("module {}\n", module.name);
    for line in &module.about {
        let _ = writeln!(out, "    # {}", line.replace('\n', " "));
    }
    if let Some(Timing { interval, output, input, latency }) = &module.timing {
        let _ = writeln!(out, "    timing {interval} {latency} {} {} {} {}", input.0, input.1, output.0, output.1);
    }
    let name = |id: SignalId| module.signal(id).name.as_str();
    for signal in &module.signals {
        signal_text(module, signal, &mut out);
    }
    for table in &module.tables {
        let values: Vec<String> = table.values.iter().map(|value| format!("{:x}", value.value())).collect();
        let _ =
            writeln!(out, "    table {}: {} -> {} = {}", table.name, table.index_width, table.width, values.join(" "));
    }
    for memory in &module.memories {
        let _ =
            writeln!(out, "    memory {}: {} x {}{}", memory.name, memory.width, memory.depth, about(&memory.about));
        for read in &memory.reads {
            let _ = writeln!(out, "        read {} {}", name(read.address), name(read.data));
        }
        for write in &memory.writes {
            let names = [write.enable, write.address, write.data].map(name);
            let _ = writeln!(out, "        write {}", names.join(" "));
        }
    }
    for instance in &module.instances {
        let _ = writeln!(out, "    instance {}: {}", instance.name, instance.module);
        for connection in &instance.connections {
            let _ = writeln!(out, "        {} = {}", connection.port, name(connection.signal));
        }
    }
    for assign in &module.assigns {
        let _ = writeln!(out, "    assign {} = {}", name(assign.signal), expr(module, &assign.value));
    }
    for process in &module.processes {
        let _ = writeln!(out, "    process {}", process.name);
        block(module, &process.body, 2, &mut out);
    }
    out
}

fn signal_text(module: &Module, signal: &Signal, out: &mut String) {
    let (what, rest) = match &signal.kind {
        SignalKind::Input => ("input", String::new()),
        SignalKind::Output => ("output", String::new()),
        SignalKind::Wire => ("wire", String::new()),
        SignalKind::Register { reset, next } => ("register", format!(" = {reset} next {}", module.signal(*next).name)),
    };
    let _ = writeln!(out, "    {what} {}: {}{rest}{}", signal.name, signal.width, about(&signal.about));
    for (value, name) in &signal.names {
        let _ = writeln!(out, "        value {value} {name}");
    }
}

fn block(module: &Module, statements: &[Stmt], depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    for statement in statements {
        match statement {
            Stmt::Comment(text) => {
                let _ = writeln!(out, "{indent}# {}", text.replace('\n', " "));
            }
            Stmt::Assign(target, value) => {
                let name = &module.signal(target.signal).name;
                let part = target.part.as_ref();
                let part = part.map_or(String::new(), |(at, width)| format!("[{} +: {width}]", expr(module, at)));
                let _ = writeln!(out, "{indent}{name}{part} = {}", expr(module, value));
            }
            Stmt::If(condition, yes, no) => {
                let _ = writeln!(out, "{indent}if {}", expr(module, condition));
                block(module, yes, depth + 1, out);
                if !no.is_empty() {
                    let _ = writeln!(out, "{indent}else");
                    block(module, no, depth + 1, out);
                }
            }
            Stmt::Case(value, arms, rest) => {
                let _ = writeln!(out, "{indent}case {}", expr(module, value));
                for (value, arm) in arms {
                    let _ = writeln!(out, "{indent}    when {value}");
                    block(module, arm, depth + 2, out);
                }
                let _ = writeln!(out, "{indent}    default");
                block(module, rest, depth + 2, out);
            }
        }
    }
}

/// An expression in the textual form.
pub(crate) fn expr(module: &Module, value: &Expr) -> String {
    let all = |parts: &[&Expr]| parts.iter().map(|part| expr(module, part)).collect::<Vec<_>>().join(", ");
    match &value.kind {
        ExprKind::Constant(value) => value.to_string(),
        ExprKind::Signal(id) => module.signal(*id).name.clone(),
        ExprKind::Lookup(table, index) => {
            format!("lookup({}, {})", module.tables[table.index()].name, expr(module, index))
        }
        ExprKind::Unary(op, x) => format!("{}({})", op.name(), expr(module, x)),
        ExprKind::Binary(op, a, b) => format!("{}({})", op.name(), all(&[a, b])),
        ExprKind::Shift(op, a, b) => format!("{}({})", op.name(), all(&[a, b])),
        ExprKind::Compare(op, a, b) => format!("{}({})", op.name(), all(&[a, b])),
        ExprKind::Select(c, a, b) => format!("select({})", all(&[c, a, b])),
        ExprKind::Concat(parts) => format!("concat({})", all(&parts.iter().collect::<Vec<_>>())),
        ExprKind::Slice(x, low) => format!("slice({}, {low}, {})", expr(module, x), value.width),
        ExprKind::Part(signal, low) => {
            format!("part({}, {}, {})", module.signal(*signal).name, expr(module, low), value.width)
        }
        ExprKind::Extend(signed, x) => {
            format!("{}({}, {})", if *signed { "sext" } else { "zext" }, expr(module, x), value.width)
        }
    }
}
