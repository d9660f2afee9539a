//! Modules in VHDL-2008: an entity and its architecture a module, tables as functions, processes, memories, instances.

use super::expression::{Printer, constant, inner_type, port_type};
use super::names::{Names, plain};
use crate::hdl::{Statements, Words, block};
use crate::verilog::legalised;
use headrace_rtl::{Bits, Design, Expr, ExprKind, Memory, Module, SignalId, SignalKind, Stmt, Table, Target};
use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

/// A module as a file. `head` says what made it.
pub(super) fn module(design: &Design, module: &Module, head: &str) -> String {
    let has_state = module.has_state(design);
    let module = legalised(module);
    let mut printer = Printer { module: &module, names: Names::of(&module), variables: HashSet::new() };
    let mut out = format!("-- {}\n", head.replace('\n', " "));
    for line in &module.about {
        let _ = writeln!(out, "-- {}", line.replace('\n', " "));
    }
    out.push_str(
        "\nlibrary ieee;\nuse ieee.std_logic_1164.all;\nuse ieee.numeric_std.all;\nuse work.headrace_pkg.all;\n\n",
    );
    let name = plain(&module.name);
    let _ = writeln!(out, "entity {name} is");
    ports(&printer, has_state, &mut out);
    let _ = writeln!(out, "end entity {name};\n\narchitecture rtl of {name} is");
    declarations(&printer, &mut out);
    out.push_str("begin\n");
    for assign in &module.assigns {
        let signal = module.signal(assign.signal);
        let value = outward(&printer, assign.signal, printer.expr(&assign.value));
        let _ = writeln!(out, "  {} <= {value};", printer.names.spelled(&signal.name));
    }
    for instance in &module.instances {
        instantiated(&printer, design, instance, &mut out);
    }
    for process in &module.processes {
        logic(&mut printer, process, &mut out);
    }
    registers(&printer, &mut out);
    for one in &module.memories {
        memory(&printer, one, &mut out);
    }
    let _ = writeln!(out, "end architecture rtl;");
    out
}

/// A value as an output takes it.
fn outward(printer: &Printer<'_>, id: SignalId, value: String) -> String {
    let signal = printer.module.signal(id);
    let is_output = signal.kind == SignalKind::Output && signal.width > 1;
    if is_output { format!("std_logic_vector({value})") } else { value }
}

fn ports(printer: &Printer<'_>, has_state: bool, out: &mut String) {
    let mut lines = Vec::new();
    if has_state {
        lines.push("clk_i : in std_logic".to_owned());
        lines.push("rst_ni : in std_logic".to_owned());
    }
    for (_, port) in printer.module.ports() {
        let direction = if port.kind == SignalKind::Input { "in" } else { "out" };
        lines.push(format!("{} : {direction} {}", printer.names.spelled(&port.name), port_type(port.width)));
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "  port (\n    {}\n  );", lines.join(";\n    "));
    }
}

/// Signals that nothing outside the process that gives them their value reads: variables are enough for them.
fn inner_only(module: &Module) -> HashSet<SignalId> {
    let mut read: Vec<SignalId> = module.ports().map(|(id, _)| id).collect();
    for signal in &module.signals {
        if let SignalKind::Register { next, .. } = signal.kind {
            read.push(next);
        }
    }
    for assign in &module.assigns {
        assign.value.signals(&mut |id| read.push(id));
    }
    for memory in &module.memories {
        read.extend(memory.reads.iter().map(|read| read.address));
        read.extend(memory.writes.iter().flat_map(|write| [write.enable, write.address, write.data]));
    }
    read.extend(module.instances.iter().flat_map(|instance| &instance.connections).map(|one| one.signal));
    let mut inner = HashSet::new();
    for (at, process) in module.processes.iter().enumerate() {
        let mut own = BTreeSet::new();
        driven(&process.body, &mut own);
        for (_, other) in module.processes.iter().enumerate().filter(|(other, _)| *other != at) {
            reads(&other.body, &mut read);
        }
        inner.extend(own);
    }
    read.iter().for_each(|id| {
        inner.remove(id);
    });
    inner
}

/// All signals that a block assigns.
fn driven(block: &[Stmt], all: &mut BTreeSet<SignalId>) {
    for statement in block {
        if let Stmt::Assign(target, _) = statement {
            all.insert(target.signal);
        }
        statement.blocks().into_iter().for_each(|block| driven(block, all));
    }
}

/// All signals that a block reads.
fn reads(block: &[Stmt], all: &mut Vec<SignalId>) {
    for statement in block {
        statement.exprs().into_iter().for_each(|value| value.signals(&mut |id| all.push(id)));
        statement.blocks().into_iter().for_each(|block| reads(block, all));
    }
}

fn declarations(printer: &Printer<'_>, out: &mut String) {
    let module = printer.module;
    let inner = inner_only(module);
    for signal in &module.signals {
        for (value, name) in &signal.names {
            let name = printer.names.spelled(name);
            let _ = writeln!(out, "  constant {name} : {} := {};", inner_type(signal.width), choice(value));
        }
    }
    for (at, signal) in module.signals.iter().enumerate() {
        let is_port = matches!(signal.kind, SignalKind::Input | SignalKind::Output);
        if is_port || inner.contains(&SignalId(at as u32)) {
            continue;
        }
        let zero = if signal.width == 1 { "'0'" } else { "(others => '0')" };
        let _ =
            writeln!(out, "  signal {} : {} := {zero};", printer.names.spelled(&signal.name), inner_type(signal.width));
    }
    for memory in &module.memories {
        let name = printer.names.spelled(&memory.name);
        let ty = plain(&format!("{}_type", memory.name));
        let zero = if memory.width == 1 { "'0'" } else { "(others => '0')" };
        let _ = writeln!(
            out,
            "  type {ty} is array (0 to {}) of {};\n  signal {name} : {ty} := (others => {zero});",
            memory.depth - 1,
            inner_type(memory.width)
        );
    }
    for table in &module.tables {
        function(printer, table, out);
    }
}

/// A table as a function of its index.
fn function(printer: &Printer<'_>, table: &Table, out: &mut String) {
    let Table { name, index_width, width, values } = table;
    let name = printer.names.spelled(name);
    let plain_type = |width: u32| if width == 1 { "std_logic" } else { "unsigned" };
    let _ = writeln!(
        out,
        "\n  function {name}(index : {}) return {} is\n    constant place : {} := index;\n  begin\n    case place is",
        plain_type(*index_width),
        plain_type(*width),
        inner_type(*index_width)
    );
    for (at, value) in values.iter().enumerate() {
        let index = choice(&Bits::new(*index_width, at as u64));
        let _ = writeln!(out, "      when {index} => return {};", constant(value));
    }
    let _ =
        writeln!(out, "      when others => return {};\n    end case;\n  end function;", constant(&Bits::zero(*width)));
}

/// A value of a case, whose type the case says.
fn choice(value: &Bits) -> String {
    match value.width() {
        1 => constant(value),
        width => format!("\"{:0>1$}\"", value.value().to_str_radix(2), width as usize),
    }
}

/// What follows the name of an entity: what its ports are connected to, if it has any.
pub(super) fn port_map(lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    format!("\n    port map (\n      {}\n    )", lines.join(",\n      "))
}

fn instantiated(printer: &Printer<'_>, design: &Design, instance: &headrace_rtl::Instance, out: &mut String) {
    let inner = design.module(&instance.module).map(|(_, inner)| inner);
    let clocked = inner.is_some_and(|inner| inner.has_state(design));
    let mut lines: Vec<String> =
        if clocked { vec!["clk_i => clk_i".into(), "rst_ni => rst_ni".into()] } else { Vec::new() };
    let inner_names = inner.map(Names::of);
    for one in &instance.connections {
        let port = inner_names.as_ref().map_or_else(|| one.port.clone(), |names| names.spelled(&one.port));
        let signal = printer.module.signal(one.signal);
        let name = printer.name(one.signal);
        let is_port = matches!(signal.kind, SignalKind::Input | SignalKind::Output);
        let is_input = inner
            .and_then(|inner| inner.find(&one.port).map(|id| inner.signal(id).kind == SignalKind::Input))
            .unwrap_or(true);
        lines.push(match (signal.width == 1 || is_port, is_input) {
            (true, _) => format!("{port} => {name}"),
            (false, true) => format!("{port} => std_logic_vector({name})"),
            (false, false) => format!("unsigned({port}) => {name}"),
        });
    }
    let map = port_map(&lines);
    let _ =
        writeln!(out, "\n  {} : entity work.{}{map};", printer.names.spelled(&instance.name), plain(&instance.module));
}

/// A process of logic: its signals are variables inside, since what comes later sees what was assigned before.
fn logic(printer: &mut Printer<'_>, process: &headrace_rtl::Process, out: &mut String) {
    let mut own = BTreeSet::new();
    driven(&process.body, &mut own);
    printer.variables = own.iter().copied().collect();
    let _ = writeln!(out, "\n  {} : process (all)", printer.names.spelled(&process.name));
    for &id in &own {
        let _ = writeln!(out, "    variable {} : {};", printer.name(id), inner_type(printer.module.signal(id).width));
    }
    out.push_str("  begin\n");
    block(printer, &process.body, 2, out);
    let inner = inner_only(printer.module);
    for &id in own.iter().filter(|id| !inner.contains(id)) {
        let value = outward(printer, id, printer.name(id));
        let _ = writeln!(out, "    {} <= {value};", printer.names.spelled(&printer.module.signal(id).name));
    }
    out.push_str("  end process;\n");
    printer.variables.clear();
}

const WORDS: Words = Words {
    comment: "--",
    condition: ["if ", " then"],
    else_if: "els",
    otherwise: "else",
    end_if: "end if;",
    case: ["case ", " is"],
    arm: ["when ", " =>"],
    rest: "when others =>",
    end_arm: None,
    end_case: "end case;",
    nothing: Some("null;"),
};

impl Statements for Printer<'_> {
    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn assignment(&self, target: &Target, value: &Expr) -> String {
        let place = match &target.part {
            None => self.name(target.signal),
            Some((at, width)) => self.part(target.signal, at, *width),
        };
        let value = match (value.value(), &target.part) {
            (Some(bits), None) => self.named(self.with_names(target.signal), bits),
            _ => self.expr(value),
        };
        format!("{place} := {value};")
    }

    fn condition(&self, value: &Expr) -> String {
        self.holds(value)
    }

    fn subject(&self, value: &Expr) -> String {
        self.expr(value)
    }

    fn choice(&self, subject: &Expr, value: &Bits) -> String {
        if let ExprKind::Signal(id) = subject.kind {
            let own = self.with_names(id);
            if own.names.iter().any(|(known, _)| known == value) {
                return self.named(own, value);
            }
        }
        choice(value)
    }
}

fn registers(printer: &Printer<'_>, out: &mut String) {
    let mut resets = String::new();
    let mut nexts = String::new();
    for signal in &printer.module.signals {
        let SignalKind::Register { reset, next } = &signal.kind else { continue };
        let name = printer.names.spelled(&signal.name);
        let _ = writeln!(resets, "      {name} <= {};", printer.named(signal, reset));
        let _ = writeln!(nexts, "      {name} <= {};", printer.name(*next));
    }
    if !resets.is_empty() {
        let _ = write!(
            out,
            "\n  process (clk_i, rst_ni)\n  begin\n    if rst_ni = '0' then\n{resets}    elsif rising_edge(clk_i) then\n{nexts}    \
             end if;\n  end process;\n"
        );
    }
}

fn memory(printer: &Printer<'_>, memory: &Memory, out: &mut String) {
    let name = printer.names.spelled(&memory.name);
    let place = |id: SignalId| format!("{name}(to_integer(vec({})))", value_of(printer, id));
    for read in &memory.reads {
        let value = outward(printer, read.data, place(read.address));
        let _ = writeln!(out, "\n  {} <= {value};", printer.name(read.data));
    }
    if memory.writes.is_empty() {
        return;
    }
    out.push_str("\n  process (clk_i)\n  begin\n    if rising_edge(clk_i) then\n");
    for write in &memory.writes {
        let _ = writeln!(
            out,
            "      if {} = '1' then\n        {} <= {};\n      end if;",
            printer.name(write.enable),
            place(write.address),
            value_of(printer, write.data)
        );
    }
    out.push_str("    end if;\n  end process;\n");
}

fn value_of(printer: &Printer<'_>, id: SignalId) -> String {
    printer.expr(&printer.module.get(id))
}
