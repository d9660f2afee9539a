//! Cores for buses: AXI4-Stream for strings of any length, and an AXI4-Lite block of registers for keys, nonces, sizes and results.
//!
//! Around the streams of a network stands a module that has each of them at a bus. Its bench is that of the network, with a
//! driver in between that polls and writes registers as software does, so that known answers and stalls are the same.

use super::litex::Wrapper;
use crate::hdl::{Stream, streams_of};
use headrace_ir::Network;
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use headrace_program::names::snake_case;
use headrace_rtl::Design;
use std::fmt::Write as _;

/// The slave, and what is behind registers: modules, a file each.
const RUNTIME: [(&str, &str); 4] = [
    ("headrace_axil", include_str!("../../../../runtime/verilog/headrace_axil.v")),
    ("headrace_axil_in", include_str!("../../../../runtime/verilog/headrace_axil_in.v")),
    ("headrace_axil_bytes", include_str!("../../../../runtime/verilog/headrace_axil_bytes.v")),
    ("headrace_axil_out", include_str!("../../../../runtime/verilog/headrace_axil_out.v")),
];

/// The most registers of one direction: status has a bit for each.
const MOST_REGISTERS: usize = 16;

/// What the first register says: `HDRC`, the first letter in the top bits.
const ID: u32 = 0x4844_5243;

/// The version of the layout of registers.
const LAYOUT: u32 = 1;

/// Bits of an address.
const ADDRESS_BITS: u32 = 8;

/// Where registers are.
const STATUS: u32 = 0x10;
const IN: u32 = 0x40;
const OUT: u32 = 0x80;
const FRAME: u32 = 0xc0;

/// A port of the network at a bus.
struct Port {
    /// As the streams of the design are called.
    name: String,
    /// Bits of a beat.
    bits: u32,
    /// A register, or a stream.
    is_register: bool,
    /// Its number among registers or streams of its direction.
    number: usize,
    /// What a stream is called behind `s_axis` or `m_axis`: nothing, where there is one.
    bus: String,
    /// Bytes that go one by one.
    is_bytes: bool,
}

impl Port {
    fn words(&self) -> u32 {
        self.bits.div_ceil(32)
    }

    /// Bits of `tdata`: whole bytes.
    fn tdata(&self) -> u32 {
        8 * self.bits.div_ceil(8)
    }
}

/// A core at buses.
pub(super) struct Axi {
    /// The module with the streams of the network.
    core: String,
    /// Whether it has a clock.
    is_clocked: bool,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    /// A digest of the design, for software that wants to know what it drives.
    build: u32,
}

/// Whether a port is a register: what there is little of in a message.
fn is_register(spec: &OperationSpec, port: &str) -> bool {
    let role = spec.inputs.iter().chain(&spec.outputs).find(|own| own.name == port).map(|own| own.role);
    !matches!(role, Some(Role::Input | Role::Output | Role::Ad | Role::Entropy))
}

impl Axi {
    /// The core of an operation.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub(super) fn of(spec: &OperationSpec, network: &Network, design: &Design) -> Result<Self, String> {
        let top = design.modules.last().ok_or("the design has no module")?;
        let (inputs, outputs) = streams_of(top);
        let ports = |streams: Vec<Stream>, own: &[headrace_ir::Port]| -> Vec<Port> {
            let (mut n_registers, mut n_streams) = (0, 0);
            let all = streams.into_iter().zip(own).map(|(stream, port)| {
                let is_register = is_register(spec, &port.name);
                let n = if is_register { &mut n_registers } else { &mut n_streams };
                *n += 1;
                Port {
                    bus: format!("_{}", snake_case(&stream.name)),
                    is_bytes: stream.width == 8,
                    bits: stream.width,
                    is_register,
                    number: *n - 1,
                    name: stream.name,
                }
            });
            let mut all: Vec<Port> = all.collect();
            if n_streams == 1 {
                all.iter_mut().for_each(|port| port.bus.clear());
            }
            all
        };
        let made = Self {
            core: top.name.clone(),
            is_clocked: top.has_state(design),
            inputs: ports(inputs, &network.inputs),
            outputs: ports(outputs, &network.outputs),
            // FNV-1a.
            build: headrace_rtl::text(design)
                .bytes()
                .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)),
        };
        let most = |ports: &[Port]| ports.iter().filter(|port| port.is_register).count();
        if most(&made.inputs).max(most(&made.outputs)) > MOST_REGISTERS {
            return Err(format!("it has more than {MOST_REGISTERS} ports that are registers"));
        }
        Ok(made)
    }

    /// What the module is called.
    pub(super) fn top(&self) -> String {
        format!("{}_axi", self.core)
    }

    fn registers<'a>(&self, ports: &'a [Port]) -> impl Iterator<Item = &'a Port> {
        ports.iter().filter(|port| port.is_register)
    }

    fn streams<'a>(&self, ports: &'a [Port]) -> impl Iterator<Item = &'a Port> {
        ports.iter().filter(|port| !port.is_register)
    }

    /// Its ports as LiteX has them.
    pub(super) fn litex(&self) -> Wrapper {
        let streams = |ports: &[Port]| -> Vec<(String, u32)> {
            self.streams(ports).map(|port| (port.bus.clone(), port.tdata())).collect()
        };
        Wrapper::of_buses(&streams(&self.inputs), &streams(&self.outputs), ADDRESS_BITS)
    }

    /// The modules of the runtime that it has instances of.
    pub(super) fn runtime(&self) -> Vec<(&'static str, &'static str)> {
        let has = |ports: &[Port], is: fn(&Port) -> bool| self.registers(ports).any(is);
        let needed = [
            true,
            has(&self.inputs, |port| !port.is_bytes),
            has(&self.inputs, |port| port.is_bytes),
            has(&self.outputs, |_| true),
        ];
        RUNTIME.into_iter().zip(needed).filter_map(|(module, needed)| needed.then_some(module)).collect()
    }

    /// The module.
    pub(super) fn module(&self, head: &str) -> String {
        let mut ports = String::new();
        for port in self.streams(&self.inputs) {
            let (bus, last) = (&port.bus, port.tdata() - 1);
            let _ = write!(
                ports,
                "  input  wire [{last}:0] s_axis{bus}_tdata,\n  input  wire s_axis{bus}_tvalid,\n  output wire s_axis{bus}_tready,\n"
            );
        }
        for port in self.streams(&self.outputs) {
            let (bus, last) = (&port.bus, port.tdata() - 1);
            let _ = write!(
                ports,
                "  output wire [{last}:0] m_axis{bus}_tdata,\n  output wire m_axis{bus}_tvalid,\n  input  wire m_axis{bus}_tready,\n  output wire m_axis{bus}_tlast,\n"
            );
        }
        let (mut logic, mut connected) = (String::new(), Vec::new());
        if self.is_clocked {
            connected.extend([".clk_i(aclk)".to_owned(), ".rst_ni(core_resetn)".to_owned()]);
        }
        let connect = |name: &str, [data, valid, ready]: [&str; 3], forth: &str, back: &str| {
            format!(
                ".{name}_data_{forth}({data}),\n    .{name}_valid_{forth}({valid}),\n    .{name}_ready_{back}({ready})"
            )
        };
        let (mut status, mut accepts, mut reads) = (String::new(), String::new(), String::new());
        for port in &self.inputs {
            let Port { name, bits, number, bus, .. } = port;
            if !port.is_register {
                let data = format!("s_axis{bus}_tdata[{}:0]", bits - 1);
                if port.tdata() > *bits {
                    let _ = writeln!(
                        logic,
                        "  wire unused_{name} = &{{1'b0, s_axis{bus}_tdata[{}:{bits}]}};",
                        port.tdata() - 1
                    );
                }
                let (valid, ready) = (format!("s_axis{bus}_tvalid"), format!("s_axis{bus}_tready"));
                connected.push(connect(name, [&data, &valid, &ready], "i", "o"));
                continue;
            }
            let at = IN + 4 * *number as u32;
            let strobes = if port.is_bytes { "    .strobe_i(write_strobe),\n" } else { "" };
            let module = if port.is_bytes {
                "headrace_axil_bytes".to_owned()
            } else {
                format!("headrace_axil_in #(.BITS({bits}), .WORDS({}))", port.words())
            };
            let _ = write!(
                logic,
                "\n  wire {range} {name}_data;\n  wire {name}_valid;\n  wire {name}_ready;\n  wire {name}_room;\n  \
                 wire {name}_write = write & (write_address == 8'h{at:02x}) & strobes_{kind};\n  {module} in_{number} (\n    \
                 .aclk(aclk),\n    .aresetn(core_resetn),\n    .write_i({name}_write),\n    .word_i(write_data),\n{strobes}    \
                 .ready_o({name}_room),\n    .data_o({name}_data),\n    .valid_o({name}_valid),\n    .ready_i({name}_ready)\n  );\n",
                range = format_args!("[{}:0]", bits - 1),
                kind = if port.is_bytes { "bytes" } else { "word" },
            );
            let _ = writeln!(status, "  assign status[{number}] = {name}_room;");
            let _ = writeln!(
                accepts,
                "      8'h{at:02x}: write_error = ~({name}_room & strobes_{});",
                if port.is_bytes { "bytes" } else { "word" }
            );
            let names = [format!("{name}_data"), format!("{name}_valid"), format!("{name}_ready")];
            connected.push(connect(name, [&names[0], &names[1], &names[2]], "i", "o"));
        }
        for port in &self.outputs {
            let Port { name, bits, number, bus, .. } = port;
            if !port.is_register {
                let at = FRAME + 4 * *number as u32;
                let data = if port.tdata() > *bits {
                    let _ = writeln!(logic, "  assign m_axis{bus}_tdata[{}:{bits}] = 0;", port.tdata() - 1);
                    format!("m_axis{bus}_tdata[{}:0]", bits - 1)
                } else {
                    format!("m_axis{bus}_tdata")
                };
                let _ = write!(
                    logic,
                    "\n  // Every so many beats are a packet; 0: none ends.\n  reg [31:0] {name}_frame_q;\n  reg [31:0] {name}_at_q;\n  \
                     assign m_axis{bus}_tlast = {name}_at_q == 32'h1;\n  always @(posedge aclk or negedge core_resetn) begin\n    \
                     if (!core_resetn) begin\n      {name}_frame_q <= 32'h0;\n      {name}_at_q <= 32'h0;\n    end else if (write & (write_address == 8'h{at:02x}) & strobes_word) begin\n      \
                     {name}_frame_q <= write_data;\n      {name}_at_q <= write_data;\n    end else if (m_axis{bus}_tvalid & m_axis{bus}_tready & ({name}_at_q != 32'h0)) begin\n      \
                     {name}_at_q <= m_axis{bus}_tlast ? {name}_frame_q : {name}_at_q - 32'h1;\n    end\n  end\n"
                );
                let _ = writeln!(accepts, "      8'h{at:02x}: write_error = ~strobes_word;");
                let _ = writeln!(reads, "      8'h{at:02x}: read_data = {name}_frame_q;");
                let (valid, ready) = (format!("m_axis{bus}_tvalid"), format!("m_axis{bus}_tready"));
                connected.push(connect(name, [&data, &valid, &ready], "o", "i"));
                continue;
            }
            let at = OUT + 4 * *number as u32;
            let _ = write!(
                logic,
                "\n  wire [{last}:0] {name}_data;\n  wire {name}_valid;\n  wire {name}_ready;\n  wire [31:0] {name}_word;\n  \
                 headrace_axil_out #(.BITS({bits}), .WORDS({words})) out_{number} (\n    .aclk(aclk),\n    .aresetn(core_resetn),\n    \
                 .read_i(read & (read_address == 8'h{at:02x})),\n    .word_o({name}_word),\n    .data_i({name}_data),\n    .valid_i({name}_valid),\n    \
                 .ready_o({name}_ready)\n  );\n",
                last = bits - 1,
                words = port.words(),
            );
            let _ = writeln!(status, "  assign status[{}] = {name}_valid;", 16 + number);
            let _ = write!(
                reads,
                "      8'h{at:02x}: begin\n        read_data = {name}_word;\n        read_error = ~{name}_valid;\n      end\n"
            );
            let names = [format!("{name}_data"), format!("{name}_valid"), format!("{name}_ready")];
            connected.push(connect(name, [&names[0], &names[1], &names[2]], "o", "i"));
        }
        let (n_in, n_out) = (self.registers(&self.inputs).count(), self.registers(&self.outputs).count());
        for (from, n) in [(0, n_in), (16, n_out)] {
            if n < MOST_REGISTERS {
                let _ = writeln!(status, "  assign status[{}:{}] = 0;", from + MOST_REGISTERS - 1, from + n);
            }
        }
        format!(
            "// {head}\n// {core} with AXI4-Stream and an AXI4-Lite control block; the README has its registers. Byte 0 of a stream is in tdata[7:0].\n\n\
             module {top} (\n  input  wire aclk,\n  input  wire aresetn,\n{ports}  input  wire [7:0] s_axil_awaddr,\n  input  wire s_axil_awvalid,\n  \
             output wire s_axil_awready,\n  input  wire [31:0] s_axil_wdata,\n  input  wire [3:0] s_axil_wstrb,\n  input  wire s_axil_wvalid,\n  \
             output wire s_axil_wready,\n  output wire [1:0] s_axil_bresp,\n  output wire s_axil_bvalid,\n  input  wire s_axil_bready,\n  \
             input  wire [7:0] s_axil_araddr,\n  input  wire s_axil_arvalid,\n  output wire s_axil_arready,\n  output wire [31:0] s_axil_rdata,\n  \
             output wire [1:0] s_axil_rresp,\n  output wire s_axil_rvalid,\n  input  wire s_axil_rready\n);\n  \
             wire write;\n  wire [7:0] write_address;\n  wire [31:0] write_data;\n  wire [3:0] write_strobe;\n  reg  write_error;\n  \
             wire read;\n  wire [7:0] read_address;\n  reg  [31:0] read_data;\n  reg  read_error;\n  wire [31:0] status;\n  \
             wire strobes_word = write_strobe == 4'hf;\n{bytes}\n  headrace_axil #(.ADDRESS_BITS(8)) bus (\n    .aclk(aclk),\n    .aresetn(aresetn),\n{axil}    \
             .write_o(write),\n    .write_address_o(write_address),\n    .write_data_o(write_data),\n    .write_strobe_o(write_strobe),\n    \
             .write_error_i(write_error),\n    .read_o(read),\n    .read_address_o(read_address),\n    .read_data_i(read_data),\n    .read_error_i(read_error)\n  );\n\n  \
             // Bit 0 of the control register resets the core for a clock cycle.\n  reg reset_q;\n  always @(posedge aclk or negedge aresetn) begin\n    \
             if (!aresetn) reset_q <= 1'b0;\n    else reset_q <= write & (write_address == 8'h0c) & write_data[0] & strobes_word;\n  end\n  \
             wire core_resetn = aresetn & ~reset_q;\n{unread}{logic}\n{status}\n  always @* begin\n    case (write_address)\n      8'h0c: write_error = ~strobes_word;\n{accepts}      \
             default: write_error = 1'b1;\n    endcase\n  end\n\n  always @* begin\n    read_error = 1'b0;\n    read_data = 32'h0;\n    case (read_address)\n      \
             8'h00: read_data = 32'h{ID:08x};\n      8'h04: read_data = 32'h{LAYOUT:08x};\n      8'h08: read_data = 32'h{build:08x};\n      \
             8'h0c: read_data = 32'h0;\n      8'h{STATUS:02x}: read_data = status;\n{reads}      default: read_error = 1'b1;\n    endcase\n  end\n\n  \
             {core} core (\n    {connected}\n  );\nendmodule\n",
            core = self.core,
            top = self.top(),
            build = self.build,
            axil = AXIL.map(|signal| format!("    .s_axil_{signal}(s_axil_{signal}),\n")).concat(),
            unread = if n_out == 0 { "  wire unused_read = &{1'b0, read};\n" } else { "" },
            bytes = if self.registers(&self.inputs).any(|port| port.is_bytes) {
                "  wire strobes_bytes = write_strobe[0] & (write_strobe[1] | ~write_strobe[2]) & (write_strobe[2] | ~write_strobe[3]);\n"
            } else {
                ""
            },
            connected = connected.join(",\n    "),
        )
    }

    /// What drives it in the bench of the network: a module with the ports of that.
    pub(super) fn driver(&self) -> String {
        let mut ports = vec!["  input  wire clk_i".to_owned(), "  input  wire rst_ni".to_owned()];
        let mut connected = vec!["    .aclk(clk_i)".to_owned(), "    .aresetn(rst_ni)".to_owned()];
        let (mut declared, mut steps) = (String::new(), String::new());
        for port in &self.inputs {
            let Port { name, bits, number, bus, .. } = port;
            let range = if *bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
            ports.push(format!("  input  wire {range}{name}_data_i,\n  input  wire {name}_valid_i"));
            if !port.is_register {
                ports.push(format!("  output wire {name}_ready_o"));
                let filled = format!("{{{}'h0, {name}_data_i}}", port.tdata() - bits);
                let data = if port.tdata() > *bits { filled } else { format!("{name}_data_i") };
                connected.push(format!(
                    "    .s_axis{bus}_tdata({data}),\n    .s_axis{bus}_tvalid({name}_valid_i),\n    .s_axis{bus}_tready({name}_ready_o)"
                ));
                continue;
            }
            ports.push(format!("  output reg  {name}_ready_o"));
            let at = IN + 4 * *number as u32;
            let _ = writeln!(declared, "  initial {name}_ready_o = 0;");
            if port.is_bytes {
                // As many bytes as come one after another, four at most.
                let _ = write!(
                    steps,
                    "        if (status[{number}] && {name}_valid_i) begin\n          word = 0;\n          strobe = 0;\n          {name}_ready_o <= 1;\n          \
                     tries = 0;\n          while (!aborted && tries < 6 && strobe != 4'hf) begin\n            tick;\n            tries = tries + 1;\n            \
                     if ({name}_valid_i && {name}_ready_o) begin\n              case (strobe)\n                4'h0: word[7:0] = {name}_data_i;\n                4'h1: word[15:8] = {name}_data_i;\n                \
                     4'h3: word[23:16] = {name}_data_i;\n                default: word[31:24] = {name}_data_i;\n              endcase\n              strobe = {{strobe[2:0], 1'b1}};\n              \
                     if (strobe == 4'hf) {name}_ready_o <= 0;\n            end else if (tries == 5) begin\n              {name}_ready_o <= 0;\n              tries = 6;\n            end else if (tries == 4) {name}_ready_o <= 0;\n          end\n          \
                     {name}_ready_o <= 0;\n          if (strobe != 0 && !aborted) write(8'h{at:02x}, word, strobe);\n        end\n"
                );
            } else {
                let words: String = (0..port.words())
                    .map(|word| {
                        let (low, high) = (32 * word, (32 * word + 31).min(bits - 1));
                        let part = if *bits == 1 { "beat[0]".to_owned() } else { format!("beat[{high}:{low}]") };
                        let missing = 31 - (high - low);
                        let value = if missing > 0 { format!("{{{missing}'h0, {part}}}") } else { part };
                        format!("          write(8'h{at:02x}, {value}, 4'hf);\n")
                    })
                    .collect();
                let _ = write!(
                    steps,
                    "        if (status[{number}] && {name}_valid_i) begin\n          beat = 0;\n          beat[{last}:0] = {name}_data_i;\n          {name}_ready_o <= 1;\n          \
                     tick;\n          {name}_ready_o <= 0;\n{words}        end\n",
                    last = bits - 1
                );
            }
        }
        for port in &self.outputs {
            let Port { name, bits, number, bus, .. } = port;
            let range = if *bits == 1 { String::new() } else { format!("[{}:0] ", bits - 1) };
            if !port.is_register {
                ports.push(format!(
                    "  output wire {range}{name}_data_o,\n  output wire {name}_valid_o,\n  input  wire {name}_ready_i"
                ));
                let _ = writeln!(declared, "  wire [{}:0] {name}_tdata;\n  wire {name}_tlast;", port.tdata() - 1);
                let _ = writeln!(declared, "  assign {name}_data_o = {name}_tdata[{}:0];", bits - 1);
                connected.push(format!(
                    "    .m_axis{bus}_tdata({name}_tdata),\n    .m_axis{bus}_tvalid({name}_valid_o),\n    .m_axis{bus}_tready({name}_ready_i),\n    .m_axis{bus}_tlast({name}_tlast)"
                ));
                continue;
            }
            ports.push(format!(
                "  output reg  {range}{name}_data_o,\n  output reg  {name}_valid_o,\n  input  wire {name}_ready_i"
            ));
            let at = OUT + 4 * *number as u32;
            let _ = writeln!(declared, "  initial {name}_valid_o = 0;");
            let words: String = (0..port.words())
                .map(|word| {
                    format!("          read(8'h{at:02x});\n          beat[{}:{}] = word;\n", 32 * word + 31, 32 * word)
                })
                .collect();
            let _ = write!(
                steps,
                "        if (status[{}]) begin\n{words}          if (!aborted) begin\n            {name}_data_o <= beat[{last}:0];\n            {name}_valid_o <= 1;\n            \
                 tick;\n            while (!aborted && !({name}_valid_o && {name}_ready_i)) tick;\n            {name}_valid_o <= 0;\n          end\n        end\n",
                16 + number,
                last = bits - 1
            );
        }
        let widest = self.inputs.iter().chain(&self.outputs).map(|port| 32 * port.words()).max().unwrap_or(32);
        format!(
            "\n// Software that drives {top}: it polls the status, writes what there is room for, and reads what is there.\nmodule {top}_driver (\n{ports}\n);\n  \
             reg  [7:0] awaddr = 0;\n  reg  awvalid = 0;\n  wire awready;\n  reg  [31:0] wdata = 0;\n  reg  [3:0] wstrb = 0;\n  reg  wvalid = 0;\n  wire wready;\n  \
             wire [1:0] bresp;\n  wire bvalid;\n  reg  bready = 0;\n  reg  [7:0] araddr = 0;\n  reg  arvalid = 0;\n  wire arready;\n  wire [31:0] rdata;\n  wire [1:0] rresp;\n  \
             wire rvalid;\n  reg  rready = 0;\n  reg  [31:0] word;\n  reg  [31:0] status;\n  reg  [3:0] strobe;\n  reg  [{last}:0] beat;\n  integer tries;\n  reg  aborted;\n{declared}\n  \
             {top} dut (\n{connected},\n{axil}  );\n\n  \
             // A clock cycle. What a reset ends is begun anew.\n  task tick;\n    begin\n      @(posedge clk_i);\n      if (!rst_ni) aborted = 1;\n    end\n  endtask\n\n  \
             task write(input [7:0] address, input [31:0] data, input [3:0] strobes);\n    begin\n      if (!aborted) begin\n      awaddr <= address;\n      awvalid <= 1;\n      wdata <= data;\n      wstrb <= strobes;\n      \
             wvalid <= 1;\n      bready <= 1;\n      tick;\n      while (!aborted && !(awvalid && awready)) tick;\n      awvalid <= 0;\n      wvalid <= 0;\n      \
             tick;\n      while (!aborted && !bvalid) tick;\n      bready <= 0;\n      if (!aborted && bresp != 0) $display(\"a write to %h is refused\", address);\n      end\n    end\n  endtask\n\n  \
             task read(input [7:0] address);\n    begin\n      word = 0;\n      if (!aborted) begin\n      araddr <= address;\n      arvalid <= 1;\n      rready <= 1;\n      tick;\n      \
             while (!aborted && !(arvalid && arready)) tick;\n      arvalid <= 0;\n      tick;\n      while (!aborted && !rvalid) tick;\n      \
             rready <= 0;\n      word = aborted ? 0 : rdata;\n      if (!aborted && rresp != 0) $display(\"a read of %h is refused\", address);\n      end\n    end\n  endtask\n\n  \
             initial begin\n    forever begin\n      @(posedge clk_i);\n      aborted = !rst_ni;\n      if (rst_ni) begin\n        read(8'h00);\n        if (!aborted && word != 32'h{ID:08x}) $display(\"the core is none: %h\", word);\n        \
             read(8'h{STATUS:02x});\n        status = word;\n{steps}      end\n    end\n  end\nendmodule\n",
            top = self.top(),
            ports = ports.join(",\n"),
            connected = connected.join(",\n"),
            last = widest - 1,
            axil = AXIL.map(|signal| format!("    .s_axil_{signal}({signal})")).join(",\n") + "\n",
        )
    }

    /// Its bench for cocotb. `sources` are its files below the folder.
    pub(super) fn cocotb(&self, head: &str, sources: &[String]) -> String {
        let listed = sources.iter().map(|source| format!("\"{source}\"")).collect::<Vec<_>>().join(", ");
        let ports = |ports: &[Port], base: u32| {
            let row = |port: &Port| {
                let address = match port.is_register {
                    true => format!("0x{:02x}", base + 4 * port.number as u32),
                    false => "None".to_owned(),
                };
                let is_bytes = if port.is_bytes { "True" } else { "False" };
                format!("(\"{}\", {address}, \"{}\", {}, {is_bytes})", port.name, port.bus, port.bits)
            };
            ports.iter().map(row).collect::<Vec<_>>().join(", ")
        };
        let text = include_str!("../../../../runtime/verilog/axi_cocotb.py")
            .replace("[SOURCES]", &format!("[{listed}]"))
            .replace("[INPUTS]", &format!("[{}]", ports(&self.inputs, IN)))
            .replace("[OUTPUTS]", &format!("[{}]", ports(&self.outputs, OUT)))
            .replace("IDENTITY = IDENTITY", &format!("IDENTITY = 0x{ID:08X}"))
            .replace("through TOP at", &format!("through {} at", self.top()))
            .replace("FOLDERtest/test_TOP.py", &format!("test/test_{}.py", self.top()))
            .replace("TOP = \"TOP\"", &format!("TOP = \"{}\"", self.top()));
        format!("# {head}\n{text}")
    }

    /// What its README says of buses and registers.
    pub(super) fn readme(&self) -> String {
        let mut text = format!(
            "## `{}` at buses\n\nClock `aclk`, reset `aresetn`: active low, its release synchronous. Byte 0 of a beat is in `tdata[7:0]`. A register is a port of the network\n\
             of which a message takes little; the others are AXI4-Stream.\n\n| stream | port | bits of a beat |\n| --- | --- | --: |\n",
            self.top()
        );
        for (ports, bus) in [(&self.inputs, "s_axis"), (&self.outputs, "m_axis")] {
            for port in self.streams(ports) {
                let _ = writeln!(text, "| `{bus}{}` | `{}` | {} |", port.bus, port.name, port.bits);
            }
        }
        let _ = write!(
            text,
            "\n| address | register | |\n| --- | --- | --- |\n| `00` | ID, read | `{ID:08x}`: HDRC |\n| `04` | layout, read | {LAYOUT}: the one of this table |\n\
             | `08` | build, read | `{:08x}`: a digest of this design |\n| `0c` | control, write | bit 0 resets the core for a clock cycle |\n\
             | `{STATUS:02x}` | status, read | bit k: register in k takes a word; bit 16 + k: register out k has one |\n",
            self.build
        );
        for port in self.registers(&self.inputs) {
            let what = if port.is_bytes {
                "one to four bytes, as strobes say, the lowest first".to_owned()
            } else {
                format!("{} words for a beat of {} bits, the lowest first", port.words(), port.bits)
            };
            let _ = writeln!(
                text,
                "| `{:02x}` | in {}, write: `{}` | {what} |",
                IN + 4 * port.number as u32,
                port.number,
                port.name
            );
        }
        for port in self.registers(&self.outputs) {
            let (at, number, name) = (OUT + 4 * port.number as u32, port.number, &port.name);
            let _ = writeln!(
                text,
                "| `{at:02x}` | out {number}, read: `{name}` | {} words for a beat of {} bits, the lowest first |",
                port.words(),
                port.bits
            );
        }
        for port in self.streams(&self.outputs) {
            let (at, bus) = (FRAME + 4 * port.number as u32, &port.bus);
            let _ = writeln!(
                text,
                "| `{at:02x}` | frame {}, read and write | beats of a packet of `m_axis{bus}`, with `tlast` at the last; 0: none ends |",
                port.number
            );
        }
        text.push_str(
            "\n`test/` has a bench for cocotb: `python3 OPERATION/test/test_NAME.py`.\n\nA word that is written where status has no room, or read where there is none, is answered by SLVERR and does nothing.\nWords must be whole, but for bytes.\n",
        );
        text
    }
}

/// The signals of AXI4-Lite.
const AXIL: [&str; 17] = [
    "awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "wready", "bresp", "bvalid", "bready", "araddr",
    "arvalid", "arready", "rdata", "rresp", "rvalid", "rready",
];
