// Simulation models of ECP5 cells, as far as synthesis for that device uses them without block memories and multipliers.

`default_nettype none

// A table of four inputs, of which D is the highest bit of the index.
module LUT4 #(
  parameter [15:0] INIT = 16'h0000
) (
  input  wire A,
  input  wire B,
  input  wire C,
  input  wire D,
  output wire Z
);
  wire [3:0] index = {D, C, B, A};
  assign Z = INIT[index];
endmodule

// Chooses between the two tables of a slice.
module PFUMX (
  input  wire ALUT,
  input  wire BLUT,
  input  wire C0,
  output wire Z
);
  assign Z = C0 ? ALUT : BLUT;
endmodule

// Chooses between slices.
module L6MUX21 (
  input  wire D0,
  input  wire D1,
  input  wire SD,
  output wire Z
);
  assign Z = SD ? D1 : D0;
endmodule

// Half of a carry slice: the table decides whether the carry goes through; where it does not, its lower quarter makes one.
module ccu2_half #(
  parameter [15:0] INIT = 16'h0000,
  parameter        INJECT = "YES"
) (
  input  wire carry_i,
  input  wire A,
  input  wire B,
  input  wire C,
  input  wire D,
  output wire S,
  output wire carry_o
);
  wire [3:0] index = {D, C, B, A};
  wire       through = INIT[index];
  wire       made = INIT[{2'b00, B, A}];
  assign S = (INJECT == "YES") ? through : through ^ carry_i;
  assign carry_o = through ? carry_i : (INJECT == "YES") ? 1'b0 : made;
endmodule

// Two positions of a carry chain.
module CCU2C #(
  parameter [15:0] INIT0 = 16'h0000,
  parameter [15:0] INIT1 = 16'h0000,
  parameter        INJECT1_0 = "YES",
  parameter        INJECT1_1 = "YES"
) (
  input  wire CIN,
  input  wire A0,
  input  wire B0,
  input  wire C0,
  input  wire D0,
  input  wire A1,
  input  wire B1,
  input  wire C1,
  input  wire D1,
  output wire S0,
  output wire S1,
  output wire COUT
);
  wire carry;
  ccu2_half #(.INIT(INIT0), .INJECT(INJECT1_0)) half0 (
    .carry_i(CIN), .A(A0), .B(B0), .C(C0), .D(D0), .S(S0), .carry_o(carry)
  );
  ccu2_half #(.INIT(INIT1), .INJECT(INJECT1_1)) half1 (
    .carry_i(carry), .A(A1), .B(B1), .C(C1), .D(D1), .S(S1), .carry_o(COUT)
  );
endmodule

// A register with a set or reset, which waits for the clock or does not.
module TRELLIS_FF #(
  parameter GSR = "ENABLED",
  parameter CEMUX = "1",
  parameter CLKMUX = "CLK",
  parameter LSRMUX = "LSR",
  parameter LSRONDI = "0",
  parameter SRMODE = "LSR_OVER_CE",
  parameter REGSET = "RESET",
  parameter LSRMODE = "LSR"
) (
  input  wire CLK,
  input  wire LSR,
  input  wire CE,
  input  wire DI,
  input  wire M,
  output reg  Q
);
  localparam VALUE = REGSET == "SET";
  wire clock = (CLKMUX == "INV") ? ~CLK : CLK;
  wire enable = (CEMUX == "1") ? 1'b1 : (CEMUX == "0") ? 1'b0 : (CEMUX == "INV") ? ~CE : CE;
  // An input that nothing drives resets nothing.
  wire reset = ((LSRMUX == "INV") ? ~LSR : LSR) === 1'b1;
  wire next = (LSRMODE == "PRLD") ? M : DI;
  initial Q = VALUE;
  generate
    if (SRMODE == "ASYNC") begin : g_asynchronous
      always @(posedge clock or posedge reset) begin
        if (reset) Q <= VALUE;
        else if (enable) Q <= next;
      end
    end else begin : g_synchronous
      always @(posedge clock) begin
        if (reset && (SRMODE == "LSR_OVER_CE" || enable)) Q <= VALUE;
        else if (enable) Q <= next;
      end
    end
  endgenerate
endmodule

// Sixteen words of four bits, written at a clock edge and read in the same cycle.
module TRELLIS_DPR16X4 #(
  parameter        WCKMUX = "WCK",
  parameter        WREMUX = "WRE",
  parameter [63:0] INITVAL = 64'h0
) (
  input  wire [3:0] DI,
  input  wire [3:0] WAD,
  input  wire       WRE,
  input  wire       WCK,
  input  wire [3:0] RAD,
  output wire [3:0] DO
);
  reg [63:0] words;
  wire clock = (WCKMUX == "INV") ? ~WCK : WCK;
  wire enable = (WREMUX == "1") ? 1'b1 : (WREMUX == "0") ? 1'b0 : (WREMUX == "INV") ? ~WRE : WRE;
  initial words = INITVAL;
  always @(posedge clock) if (enable) words[4 * WAD +: 4] <= DI;
  assign DO = words[4 * RAD +: 4];
endmodule

`default_nettype wire
