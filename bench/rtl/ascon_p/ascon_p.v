// The Ascon permutation (SP 800-232, section 3), a round a clock cycle, as one writes it by hand: what `headrace synth` compares with
// what is generated from ctl.parts.ascon.AsconP. Ports and order of tokens are those of `headrace build 'ctl.parts.ascon.AsconP()'
// --wide-ports`.
//
// Latency: n + 1 clock cycles for n rounds, from the cycle in which a state is taken to that in which it is given.
// Initiation interval: n clock cycles; the next state is taken in the cycle of the last round.

`default_nettype none

module ascon_p (
  input  wire         clk_i,
  input  wire         rst_ni,
  input  wire [7:0]   Rounds_data_i,
  input  wire         Rounds_valid_i,
  output wire         Rounds_ready_o,
  input  wire [319:0] Input_data_i,
  input  wire         Input_valid_i,
  output wire         Input_ready_o,
  output wire [319:0] Output_data_o,
  output wire         Output_valid_o,
  input  wire         Output_ready_i
);
  function [63:0] ror(input [63:0] x, input integer n);
    ror = (x >> n) | (x << (64 - n));
  endfunction

  // The index of the round, of twelve.
  reg  [3:0]   round_q;
  reg          busy_q;
  reg  [319:0] state_q, out_q;
  reg          out_valid_q;

  wire last = (round_q == 4'd11);
  wire room = ~out_valid_q | Output_ready_i;
  wire done = busy_q & last & room;
  wire load = (~busy_q | done) & Rounds_valid_i & Input_valid_i;
  wire step = busy_q & ~last;

  assign Rounds_ready_o = load;
  assign Input_ready_o  = load;
  assign Output_data_o  = out_q;
  assign Output_valid_o = out_valid_q;

  // The layers for constants, substitution and diffusion.
  wire [63:0] x0 = state_q[63:0];
  wire [63:0] x1 = state_q[127:64];
  wire [63:0] x2 = state_q[191:128] ^ {56'd0, ~round_q, round_q};
  wire [63:0] x3 = state_q[255:192];
  wire [63:0] x4 = state_q[319:256];
  wire [63:0] s0 = (x4 & x1) ^ x3 ^ (x2 & x1) ^ x2 ^ (x1 & x0) ^ x1 ^ x0;
  wire [63:0] s1 = x4 ^ (x3 & x2) ^ (x3 & x1) ^ x3 ^ (x2 & x1) ^ x2 ^ x1 ^ x0;
  wire [63:0] s2 = ~((x4 & x3) ^ x4 ^ x2 ^ x1);
  wire [63:0] s3 = (x4 & x0) ^ x4 ^ (x3 & x0) ^ x3 ^ x2 ^ x1 ^ x0;
  wire [63:0] s4 = (x4 & x1) ^ x4 ^ x3 ^ (x1 & x0) ^ x1;
  wire [319:0] next = {s4 ^ ror(s4, 7) ^ ror(s4, 41), s3 ^ ror(s3, 10) ^ ror(s3, 17), s2 ^ ror(s2, 1) ^ ror(s2, 6),
                       s1 ^ ror(s1, 61) ^ ror(s1, 39), s0 ^ ror(s0, 19) ^ ror(s0, 28)};

  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      busy_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      busy_q <= (busy_q & ~done) | load;
      out_valid_q <= done | (out_valid_q & ~Output_ready_i);
    end
  end

  // Data need no reset.
  always @(posedge clk_i) begin
    if (load | step) begin
      round_q <= load ? 4'd12 - Rounds_data_i[3:0] : round_q + 4'd1;
      state_q <= load ? Input_data_i : next;
    end
    if (done) out_q <= next;
  end
endmodule

`default_nettype wire
