//! Self-checking test benches: known answers from files go through a module, with stalls by chance at every port.
//!
//! A bench takes one message after another, each after a reset. It gives tokens when it likes and takes them when it likes, by a
//! generator of random numbers that begins at `+seed=N`; `+stall=P` is in how many of a hundred cycles it does not. It counts
//! the messages of which all that must come out came out, and nothing else.

use super::expression::range;
use crate::hdl::{Message, Stream, first_count, streams_of, token_files};
use headrace_rtl::Design;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The bench of the top module of a design, by the path of its file, with the files that it reads. `folder` is where it lies, `operation` what
/// it says that it tests.
pub(super) fn bench(
    design: &Design,
    head: &str,
    folder: &str,
    operation: &str,
    messages: &[Message],
) -> BTreeMap<String, Vec<u8>> {
    let Some(module) = design.modules.last() else { return BTreeMap::new() };
    let (inputs, outputs) = streams_of(module);
    let mut files = BTreeMap::new();
    let lines = token_files(module, folder, messages, &mut files);
    let n_lines = |name: String| lines.get(&name).copied().unwrap_or(1);
    let mut declared = String::new();
    let mut read = String::new();
    let mut connected = Vec::new();
    if module.has_state(design) {
        connected.extend([".clk_i(clk)", ".rst_ni(rst_n)"].map(str::to_owned));
    }
    let (mut start, mut step) = (String::new(), String::new());
    let mut done = vec!["1'b1".to_owned()];
    let columns = inputs.len() + outputs.len();
    for (at, Stream { name, width }) in inputs.iter().enumerate() {
        let n = n_lines(format!("{name}_in"));
        let range = spaced(*width);
        let _ = write!(
            declared,
            "  reg  {range}{name}_tokens [0:{}];\n  reg  {range}{name}_data = 0;\n  reg  {name}_valid = 0;\n  \
             wire {name}_ready;\n  integer {name}_at = 0;\n  integer {name}_end = 0;\n",
            n - 1
        );
        let _ = writeln!(read, "    $readmemh(\"{folder}kat/{name}_in.hex\", {name}_tokens);");
        for (port, signal) in [("data_i", "data"), ("valid_i", "valid"), ("ready_o", "ready")] {
            connected.push(format!(".{name}_{port}({name}_{signal})"));
        }
        let _ = write!(
            start,
            "{name}_at = {name}_end;\n        {name}_end = {name}_end + counts[message * {columns} + {}];\n        ",
            at + 1
        );
        let _ = write!(
            step,
            "        if ({name}_valid && {name}_ready) begin\n          {name}_at = {name}_at + 1;\n          idle = 0;\n        end\n        \
             if (!{name}_valid || {name}_ready) begin\n          draw;\n          \
             {name}_valid <= go && {name}_at < {name}_end;\n          \
             if ({name}_at < {name}_end) {name}_data <= {name}_tokens[{name}_at];\n        end\n"
        );
    }
    for (at, Stream { name, width }) in outputs.iter().enumerate() {
        let n = n_lines(format!("{name}_out"));
        let range = spaced(*width);
        let _ = write!(
            declared,
            "  reg  {range}{name}_expected [0:{}];\n  wire {range}{name}_data;\n  wire {name}_valid;\n  reg  {name}_ready = 0;\n  \
             integer {name}_at = 0;\n  integer {name}_end = 0;\n  reg  {name}_more = 0;\n",
            n - 1
        );
        let _ = writeln!(read, "    $readmemh(\"{folder}kat/{name}_out.hex\", {name}_expected);");
        for (port, signal) in [("data_o", "data"), ("valid_o", "valid"), ("ready_i", "ready")] {
            connected.push(format!(".{name}_{port}({name}_{signal})"));
        }
        let column = inputs.len() + at + 1;
        let _ = write!(
            start,
            "{name}_at = {name}_end;\n        {name}_end = {name}_end + {{1'b0, counts[message * {columns} + {column}][30:0]}};\n        \
             {name}_more = counts[message * {columns} + {column}][31];\n        "
        );
        let _ = write!(
            step,
            "        if ({name}_valid && {name}_ready) begin\n          idle = 0;\n          if ({name}_at < {name}_end) begin\n            \
             if ({name}_data !== {name}_expected[{name}_at]) begin\n              \
             if (!wrong) $display(\"message %0d: token %0d of {name} is %h and not %h\", message, {name}_at, {name}_data, {name}_expected[{name}_at]);\n              \
             wrong = 1;\n            end\n            {name}_at = {name}_at + 1;\n          end else if (!{name}_more) begin\n            \
             if (!wrong) $display(\"message %0d: {name} has a token more: %h\", message, {name}_data);\n            \
             wrong = 1;\n          end\n        end\n        draw;\n        {name}_ready <= go;\n"
        );
        done.push(format!("{name}_at == {name}_end"));
    }
    let name = &module.name;
    let zero_valid: String = inputs.iter().map(|port| format!("        {}_valid <= 0;\n", port.name)).collect();
    let zero_ready: String = outputs.iter().map(|port| format!("        {}_ready <= 0;\n", port.name)).collect();
    let text = format!(
        "// {head}\n// Known answers through {name}. +seed=N and +stall=PERCENT choose the stalls.\n\n\
         module {name}_tb;\n  localparam MESSAGES = {n};\n\n  reg  clk = 0;\n  reg  rst_n = 0;\n  reg  [31:0] counts [0:{last}];\n\
         {declared}\n  integer stall;\n  integer seed;\n  reg  [31:0] random;\n  reg  go;\n  integer message = 0;\n  integer passed = 0;\n  \
         integer failed = 0;\n  integer idle = 0;\n  integer cycles = 0;\n  integer phase = 0;\n  reg  wrong = 0;\n\n  \
         {name} dut (\n    {ports}\n  );\n\n  always #5 clk = ~clk;\n\n  initial begin\n    \
         if (!$value$plusargs(\"seed=%d\", seed)) seed = 1;\n    if (!$value$plusargs(\"stall=%d\", stall)) stall = 30;\n    \
         random = seed * 32'd747796405 + 32'd2891336453;\n    $readmemh(\"{folder}kat/counts.hex\", counts);\n{read}  end\n\n  \
         // Whether a port moves: a xorshift generator.\n  task draw;\n    begin\n      random = random ^ (random << 13);\n      \
         random = random ^ (random >> 17);\n      random = random ^ (random << 5);\n      go = random[15:0] % 100 >= stall;\n    \
         end\n  endtask\n\n  always @(posedge clk) begin : step\n    cycles = cycles + 1;\n    case (phase)\n      // A reset before each message.\n      \
         0: if (counts[0] !== 32'd{first}) begin\n        \
         $display(\"the files in {folder}kat are not found from here: operation {operation}: 0 passed, %0d failed\", MESSAGES);\n        \
         $finish;\n      end else if (message >= MESSAGES) begin\n        \
         $display(\"operation {operation}: %0d passed, %0d failed\", passed, failed);\n        $finish;\n      end else begin\n        rst_n <= 0;\n{zero_valid}{zero_ready}        cycles = 0;\n        phase = 1;\n      end\n      1: if (cycles == 3) begin\n        \
         rst_n <= 1;\n        idle = 0;\n        cycles = 0;\n        wrong = 0;\n        {start}phase = 2;\n      end\n      default: begin\n        idle = idle + 1;\n\
         {step}        // At rest: all came, and nothing comes any more; or nothing comes for too long.\n        \
         if ((idle > 1000 && {done}) || idle > 1000000 || wrong) begin\n          \
         if (!wrong && !({done})) begin\n            $display(\"message %0d: tokens are missing\", message);\n            wrong = 1;\n          end\n          \
         if (wrong) failed = failed + 1; else passed = passed + 1;\n          \
         if (!wrong) $display(\"message %0d: %0d cycles\", message, cycles - idle);\n          message = message + 1;\n          phase = 0;\n        end\n      end\n    endcase\n  end\nendmodule\n",
        n = messages.len(),
        last = messages.len() * columns,
        first = first_count(messages.len()),
        ports = connected.join(",\n    "),
        done = done.join(" && "),
    );
    files.insert(format!("{folder}tb/{name}_tb.v"), text.into_bytes());
    files
}

fn spaced(width: u32) -> String {
    let range = range(width);
    if range.is_empty() { range } else { format!("{range} ") }
}
