//! Self-checking test benches: known answers from files go through a module, with stalls by chance at every port.
//!
//! A bench takes one message after another, each after a reset. It gives tokens when it likes and takes them when it likes, by a
//! generator of random numbers that begins at `+seed=N`; `+stall=P` is in how many of a hundred cycles it does not. It counts
//! the messages of which all that must come out came out, and nothing else. With `+stall=0 +timing=1` it also measures when blocks come
//! out, and holds that to what the head of the module says.

use super::expression::range;
use crate::hdl::{Message, Stream, first_count, streams_of, token_files};
use headrace_rtl::{Design, Module, Timing};
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
            "        if ({name}_valid && {name}_ready) begin\n{}          {name}_at = {name}_at + 1;\n          idle = 0;\n        end\n        \
             if (!{name}_valid || {name}_ready) begin\n          draw;\n          \
             {name}_valid <= go && {name}_at < {name}_end;\n          \
             if ({name}_at < {name}_end) {name}_data <= {name}_tokens[{name}_at];\n        end\n",
            taken(module, name)
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
        let given = given(module, name);
        let _ = write!(
            step,
            "        if ({name}_valid && {name}_ready) begin\n          idle = 0;\n          if ({name}_at < {name}_end) begin\n{given}            \
             if ({name}_data !== {name}_expected[{name}_at]) begin\n              \
             if (!wrong) $display(\"message %0d: token %0d of {name} is %h and not %h\", message, {name}_at, {name}_data, {name}_expected[{name}_at]);\n              \
             wrong = 1;\n            end\n            {name}_at = {name}_at + 1;\n          end else if (!{name}_more) begin\n            \
             if (!wrong) $display(\"message %0d: {name} has a token more: %h\", message, {name}_data);\n            \
             wrong = 1;\n          end\n        end\n        draw;\n        {name}_ready <= go;\n"
        );
        done.push(format!("{name}_at == {name}_end"));
    }
    let name = &module.name;
    let (timing_declared, timing_begins, timing_told) = timing(module);
    let zero_valid: String = inputs.iter().map(|port| format!("        {}_valid <= 0;\n", port.name)).collect();
    let zero_ready: String = outputs.iter().map(|port| format!("        {}_ready <= 0;\n", port.name)).collect();
    let text = format!(
        "// {head}\n// Known answers through {name}. +seed=N and +stall=PERCENT choose the stalls.\n\n\
         module {name}_tb;\n  localparam MESSAGES = {n};\n\n  reg  clk = 0;\n  reg  rst_n = 0;\n  reg  [31:0] counts [0:{last}];\n\
         {declared}\n  integer stall;\n  integer seed;\n  reg  [31:0] random;\n  reg  go;\n  integer message = 0;\n  integer passed = 0;\n  \
         integer failed = 0;\n  integer idle = 0;\n  integer cycles = 0;\n  integer phase = 0;\n  reg  wrong = 0;\n{timing_declared}\n  \
         {name} dut (\n    {ports}\n  );\n\n  always #5 clk = ~clk;\n\n  initial begin\n    \
         if (!$value$plusargs(\"seed=%d\", seed)) seed = 1;\n    if (!$value$plusargs(\"stall=%d\", stall)) stall = 30;\n    \
         random = seed * 32'd747796405 + 32'd2891336453;\n{timing_read}    $readmemh(\"{folder}kat/counts.hex\", counts);\n{read}  end\n\n  \
         // Whether a port moves: a xorshift generator.\n  task draw;\n    begin\n      random = random ^ (random << 13);\n      \
         random = random ^ (random >> 17);\n      random = random ^ (random << 5);\n      go = random[15:0] % 100 >= stall;\n    \
         end\n  endtask\n\n  always @(posedge clk) begin : step\n    cycles = cycles + 1;\n    case (phase)\n      // A reset before each message.\n      \
         0: if (counts[0] !== 32'd{first}) begin\n        \
         $display(\"the files in {folder}kat are not found from here: operation {operation}: 0 passed, %0d failed\", MESSAGES);\n        \
         $finish;\n      end else if (message >= MESSAGES) begin\n{timing_told}        \
         $display(\"operation {operation}: %0d passed, %0d failed\", passed, failed);\n        $finish;\n      end else begin\n        rst_n <= 0;\n{zero_valid}{zero_ready}        cycles = 0;\n        phase = 1;\n      end\n      1: if (cycles == 3) begin\n        \
         rst_n <= 1;\n        idle = 0;\n        cycles = 0;\n        wrong = 0;\n        {timing_begins}{start}phase = 2;\n      end\n      default: begin\n        idle = idle + 1;\n\
         {step}        // At rest: all came, and nothing comes any more; or nothing comes for too long.\n        \
         if ((idle > 1000 && {done}) || idle > 1000000 || wrong) begin\n          \
         if (!wrong && !({done})) begin\n            $display(\"message %0d: tokens are missing\", message);\n            wrong = 1;\n          end\n          \
         if (wrong) failed = failed + 1; else passed = passed + 1;\n          \
         if (!wrong) $display(\"message %0d: %0d cycles\", message, cycles - idle);\n          message = message + 1;\n          phase = 0;\n        end\n      end\n    endcase\n  end\n{wave}endmodule\n",
        n = messages.len(),
        last = messages.len() * columns,
        first = first_count(messages.len()),
        ports = connected.join(",\n    "),
        done = done.join(" && "),
        wave = wave(module, folder),
        timing_read = if module.timing.is_some() { TIMING_READ } else { "" },
    );
    files.insert(format!("{folder}tb/{name}_tb.v"), text.into_bytes());
    files
}

/// What writes a waveform, in which states have their names.
fn wave(module: &Module, folder: &str) -> String {
    let name = &module.name;
    let mut text = "\n`ifdef WAVE\n".to_owned();
    for signal in module.signals.iter().filter(|signal| !signal.names.is_empty()) {
        let longest = signal.names.iter().map(|(_, name)| name.len()).max().unwrap_or(1);
        let shown = signal.name.trim_end_matches("_q");
        let _ = write!(
            text,
            "  reg [{}:0] {shown}_name;\n  always @(dut.{signal}) begin\n    case (dut.{signal})\n",
            8 * longest - 1,
            signal = signal.name
        );
        for (value, name) in &signal.names {
            let _ = writeln!(text, "      {}: {shown}_name = \"{name}\";", super::expression::constant(value));
        }
        let _ = write!(text, "      default: {shown}_name = \"\";\n    endcase\n  end\n");
    }
    let file = format!("build/{}.vcd", if folder.is_empty() { name.as_str() } else { folder.trim_end_matches('/') });
    let _ = write!(text, "  initial begin\n    $dumpfile(\"{file}\");\n    $dumpvars(0, {name}_tb);\n  end\n`endif\n");
    text
}

/// Whether figures are asserted: `+timing=1`.
const TIMING_READ: &str = "    if (!$value$plusargs(\"timing=%d\", timing)) timing = 0;\n";

/// Blocks that may be under way at once while latency is measured: a power of two.
const UNDER_WAY: usize = 64;

/// What measures when blocks come out: declarations, what begins with a message, and what is said at the end.
fn timing(module: &Module) -> (String, String, String) {
    let Some(Timing { interval, output, input, latency }) = &module.timing else { return Default::default() };
    let declared = format!(
        "\n  // What the head of {name} says, and the least that is measured; 0 where nothing was.\n  \
         localparam INTERVAL = {interval};\n  localparam LATENCY = {latency};\n  integer timing;\n  integer interval = 0;\n  \
         integer latency = 0;\n  integer taken_at [0:{last}];\n  integer given_at = 0;\n  integer beats_in = 0;\n  integer beats_out = 0;\n",
        name = module.name,
        last = UNDER_WAY - 1
    );
    let begins = "beats_in = 0;\n        beats_out = 0;\n        ".to_owned();
    let differs = if module.timing.as_ref().is_some_and(Timing::is_exact) { "!=" } else { "<" };
    let told = [("interval", "!=", "initiation interval", &output.0), ("latency", differs, "latency", &input.0)];
    let told = told.map(|(name, differs, what, port)| {
        let upper = name.to_uppercase();
        format!(
            "        if (timing != 0 && {name} != 0 && {name} {differs} {upper}) begin\n          \
             $display(\"the {what} at {port} is %0d clock cycles and not %0d\", {name}, {upper});\n          failed = failed + 1;\n        end\n"
        )
    });
    (declared, begins, told.concat())
}

/// When the last beat of a block was taken at an input.
fn taken(module: &Module, port: &str) -> String {
    let Some(Timing { input: (_, beats), .. }) = module.timing.as_ref().filter(|timing| timing.input.0 == port) else {
        return String::new();
    };
    format!(
        "          beats_in = beats_in + 1;\n          \
         if (beats_in % {beats} == 0) taken_at[(beats_in / {beats} - 1) % {UNDER_WAY}] = cycles;\n"
    )
}

/// When the first beat of a block was given at an output: how long after the one before, and after it was taken.
fn given(module: &Module, port: &str) -> String {
    let Some(Timing { output: (_, beats), .. }) = module.timing.as_ref().filter(|timing| timing.output.0 == port)
    else {
        return String::new();
    };
    format!(
        "            if (beats_out % {beats} == 0) begin\n              \
         if (beats_out != 0 && (interval == 0 || cycles - given_at < interval)) interval = cycles - given_at;\n              \
         if (latency == 0 || cycles - taken_at[beats_out / {beats} % {UNDER_WAY}] < latency) \
         latency = cycles - taken_at[beats_out / {beats} % {UNDER_WAY}];\n              given_at = cycles;\n            end\n            \
         beats_out = beats_out + 1;\n"
    )
}

fn spaced(width: u32) -> String {
    let range = range(width);
    if range.is_empty() { range } else { format!("{range} ") }
}
