//! Modules in Verilog-2005: ports, tables as functions, processes, registers, memories, instances.

use super::expression::{Printer, constant, range};
use super::legal::legalised;
use crate::hdl::{Statements, Words, block};
use headrace_rtl::{Bits, Design, Expr, Memory, Module, Signal, SignalId, SignalKind, Stmt, Table, Target};
use std::collections::HashSet;
use std::fmt::Write as _;

/// A module as a file. `head` says what made it.
pub(super) fn module(design: &Design, module: &Module, head: &str) -> String {
    let has_state = module.has_state(design);
    let module = legalised(module);
    let printer = Printer { module: &module };
    let mut out = format!("// {}\n", head.replace('\n', " "));
    for line in &module.about {
        let _ = writeln!(out, "// {}", line.replace('\n', " "));
    }
    out.push_str(
        "// Bits that a value has by its type and nothing reads are no mistake.\n\
         /* verilator lint_off UNUSED */\n\n`default_nettype none\n\n",
    );
    let _ = writeln!(out, "module {} (", module.name);
    ports(&module, has_state, &mut out);
    out.push_str(");\n");
    names(&module, &mut out);
    declarations(&module, &mut out);
    for table in &module.tables {
        function(table, &mut out);
    }
    for assign in &module.assigns {
        let _ = writeln!(out, "  assign {} = {};", printer.name(assign.signal), printer.root(&assign.value));
    }
    if !module.assigns.is_empty() {
        out.push('\n');
    }
    for instance in &module.instances {
        let inner = design.module(&instance.module);
        let clocked = inner.is_some_and(|(_, inner)| inner.has_state(design));
        let _ = writeln!(out, "  {} {} (", instance.module, instance.name);
        let mut lines: Vec<String> =
            if clocked { vec![".clk_i(clk_i)".into(), ".rst_ni(rst_ni)".into()] } else { Vec::new() };
        let all = instance.connections.iter();
        lines.extend(all.map(|one| format!(".{}({})", one.port, printer.name(one.signal))));
        let _ = writeln!(out, "    {}\n  );\n", lines.join(",\n    "));
    }
    for process in &module.processes {
        let _ = writeln!(out, "  always @* begin : {}", process.name);
        block(&printer, &process.body, 2, &mut out);
        out.push_str("  end\n\n");
    }
    registers(&module, &mut out);
    for one in &module.memories {
        memory(&module, one, &mut out);
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out.push_str("\nendmodule\n\n`default_nettype wire\n");
    out
}

/// Signals that processes assign, which Verilog calls variables.
fn variables(module: &Module) -> HashSet<SignalId> {
    fn of(block: &[Stmt], all: &mut HashSet<SignalId>) {
        for statement in block {
            if let Stmt::Assign(target, _) = statement {
                all.insert(target.signal);
            }
            statement.blocks().into_iter().for_each(|block| of(block, all));
        }
    }
    let mut all = HashSet::new();
    module.processes.iter().for_each(|process| of(&process.body, &mut all));
    all
}

fn ports(module: &Module, has_state: bool, out: &mut String) {
    let variables = variables(module);
    let mut lines = Vec::new();
    if has_state {
        lines.push(("input  wire", String::new(), "clk_i".to_owned()));
        lines.push(("input  wire", String::new(), "rst_ni".to_owned()));
    }
    for (id, port) in module.ports() {
        let kind = match (&port.kind, variables.contains(&id)) {
            (SignalKind::Input, _) => "input  wire",
            (_, true) => "output reg ",
            _ => "output wire",
        };
        lines.push((kind, range(port.width), port.name.clone()));
    }
    let widest = lines.iter().map(|(_, range, _)| range.len()).max().unwrap_or(0);
    let lines: Vec<String> =
        lines.iter().map(|(kind, range, name)| format!("  {kind} {range:widest$} {name}")).collect();
    let _ = writeln!(out, "{}", lines.join(",\n"));
}

/// Names of values as constants.
fn names(module: &Module, out: &mut String) {
    for signal in &module.signals {
        for (value, name) in &signal.names {
            let _ = writeln!(out, "  localparam {}{name} = {};", spaced(signal.width), constant(value));
        }
        if !signal.names.is_empty() {
            out.push('\n');
        }
    }
}

fn spaced(width: u32) -> String {
    let range = range(width);
    if range.is_empty() { range } else { format!("{range} ") }
}

fn declarations(module: &Module, out: &mut String) {
    let variables = variables(module);
    let mut any = false;
    for (at, signal) in module.signals.iter().enumerate() {
        let kind = match signal.kind {
            SignalKind::Input | SignalKind::Output => continue,
            SignalKind::Register { .. } => "reg ",
            SignalKind::Wire if variables.contains(&SignalId(at as u32)) => "reg ",
            SignalKind::Wire => "wire",
        };
        let about = if signal.about.is_empty() { String::new() } else { format!(" // {}", signal.about) };
        let _ = writeln!(out, "  {kind} {}{};{about}", spaced(signal.width), signal.name);
        any = true;
    }
    for memory in &module.memories {
        let _ = writeln!(out, "  reg  {}{} [0:{}];", spaced(memory.width), memory.name, memory.depth - 1);
        any = true;
    }
    if any {
        out.push('\n');
    }
}

/// A table as a function of its index. Verilator would write it out at each call: C++ that takes minutes to compile.
fn function(table: &Table, out: &mut String) {
    let Table { name, index_width, width, values } = table;
    let _ = writeln!(
        out,
        "  function automatic {}{name}(input {}index); // verilator no_inline_task",
        spaced(*width),
        spaced(*index_width)
    );
    out.push_str("    case (index)\n");
    for (at, value) in values.iter().enumerate() {
        let index = constant(&Bits::new(*index_width, at as u64));
        let _ = writeln!(out, "      {index}: {name} = {};", constant(value));
    }
    let _ = writeln!(out, "      default: {name} = {};", constant(&Bits::zero(*width)));
    out.push_str("    endcase\n  endfunction\n\n");
}

const WORDS: Words = Words {
    comment: "//",
    condition: ["if (", ") begin"],
    else_if: "end else ",
    otherwise: "end else begin",
    end_if: "end",
    case: ["case (", ")"],
    arm: ["", ": begin"],
    rest: "default: begin",
    end_arm: Some("end"),
    end_case: "endcase",
    nothing: None,
};

impl Statements for Printer<'_> {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn assignment(&self, target: &Target, value: &Expr) -> String {
        let name = self.name(target.signal);
        let whole = self.module.signal(target.signal).width;
        let place = match &target.part {
            None => name.to_owned(),
            Some((at, width)) => self.part(name, whole, at, *width),
        };
        format!("{place} = {};", self.assigned(target, value))
    }

    fn condition(&self, value: &Expr) -> String {
        self.root(value)
    }

    fn subject(&self, value: &Expr) -> String {
        self.root(value)
    }

    fn choice(&self, subject: &Expr, value: &Bits) -> String {
        self.case(subject, value)
    }
}

fn registers(module: &Module, out: &mut String) {
    let mut resets = String::new();
    let mut nexts = String::new();
    for signal in &module.signals {
        let SignalKind::Register { reset, next } = &signal.kind else { continue };
        let _ = writeln!(resets, "      {} <= {};", signal.name, named(signal, reset));
        let _ = writeln!(nexts, "      {} <= {};", signal.name, module.signal(*next).name);
    }
    if resets.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "  always @(posedge clk_i or negedge rst_ni) begin\n    if (!rst_ni) begin\n{resets}    end else begin\n{nexts}    \
         end\n  end\n\n"
    );
}

/// A value of a signal, by its name where it has one.
pub(super) fn named(signal: &Signal, value: &Bits) -> String {
    let name = signal.names.iter().find(|(known, _)| known == value);
    name.map_or_else(|| constant(value), |(_, name)| name.clone())
}

fn memory(module: &Module, memory: &Memory, out: &mut String) {
    let name = |id: SignalId| &module.signal(id).name;
    for read in &memory.reads {
        let _ = writeln!(out, "  assign {} = {}[{}];\n", name(read.data), memory.name, name(read.address));
    }
    if memory.writes.is_empty() {
        return;
    }
    out.push_str("  always @(posedge clk_i) begin\n");
    for write in &memory.writes {
        let _ = writeln!(
            out,
            "    if ({}) begin\n      {}[{}] <= {};\n    end",
            name(write.enable),
            memory.name,
            name(write.address),
            name(write.data)
        );
    }
    out.push_str("  end\n\n");
}
