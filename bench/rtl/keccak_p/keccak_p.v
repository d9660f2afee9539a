// Keccak-p[1600, n] (FIPS 202, section 3.3), a round a clock cycle, as one writes it by hand: what `headrace synth` compares with what
// is generated from ctl.parts.keccak.KeccakP. Ports and order of tokens are those of `headrace build 'ctl.parts.keccak.KeccakP()'
// --wide-ports`.
//
// Latency: n + 1 clock cycles for n rounds, from the cycle in which a state is taken to that in which it is given.
// Initiation interval: n clock cycles; the next state is taken in the cycle of the last round.

`default_nettype none

module keccak_p (
  input  wire          clk_i,
  input  wire          rst_ni,
  input  wire [7:0]    Rounds_data_i,
  input  wire          Rounds_valid_i,
  output wire          Rounds_ready_o,
  input  wire [1599:0] Input_data_i,
  input  wire          Input_valid_i,
  output wire          Input_ready_o,
  output wire [1599:0] Output_data_o,
  output wire          Output_valid_o,
  input  wire          Output_ready_i
);
  // The bits of a round constant that may be set: 0, 1, 3, 7, 15, 31 and 63.
  function [6:0] iota(input [4:0] round);
    case (round)
      5'd0: iota = 7'b0000001;
      5'd1: iota = 7'b0011010;
      5'd2: iota = 7'b1011110;
      5'd3: iota = 7'b1110000;
      5'd4: iota = 7'b0011111;
      5'd5: iota = 7'b0100001;
      5'd6: iota = 7'b1111001;
      5'd7: iota = 7'b1010101;
      5'd8: iota = 7'b0001110;
      5'd9: iota = 7'b0001100;
      5'd10: iota = 7'b0110101;
      5'd11: iota = 7'b0100110;
      5'd12: iota = 7'b0111111;
      5'd13: iota = 7'b1001111;
      5'd14: iota = 7'b1011101;
      5'd15: iota = 7'b1010011;
      5'd16: iota = 7'b1010010;
      5'd17: iota = 7'b1001000;
      5'd18: iota = 7'b0010110;
      5'd19: iota = 7'b1100110;
      5'd20: iota = 7'b1111001;
      5'd21: iota = 7'b1011000;
      5'd22: iota = 7'b0100001;
      default: iota = 7'b1110100;
    endcase
  endfunction

  function [63:0] rol(input [63:0] a, input integer n);
    rol = (a << n) | (a >> (64 - n));
  endfunction

  // How far lane x + 5y is turned.
  function integer rho(input integer lane);
    case (lane)
      1: rho = 1;
      2: rho = 62;
      3: rho = 28;
      4: rho = 27;
      5: rho = 36;
      6: rho = 44;
      7: rho = 6;
      8: rho = 55;
      9: rho = 20;
      10: rho = 3;
      11: rho = 10;
      12: rho = 43;
      13: rho = 25;
      14: rho = 39;
      15: rho = 41;
      16: rho = 45;
      17: rho = 15;
      18: rho = 21;
      19: rho = 8;
      20: rho = 18;
      21: rho = 2;
      22: rho = 61;
      23: rho = 56;
      24: rho = 14;
      default: rho = 0;
    endcase
  endfunction

  // The index of the round, of 24.
  reg  [4:0]    round_q;
  reg           busy_q;
  reg  [1599:0] state_q, out_q;
  reg           out_valid_q;

  wire last = (round_q == 5'd23);
  wire room = ~out_valid_q | Output_ready_i;
  wire done = busy_q & last & room;
  wire load = (~busy_q | done) & Rounds_valid_i & Input_valid_i;
  wire step = busy_q & ~last;

  assign Rounds_ready_o = load;
  assign Input_ready_o  = load;
  assign Output_data_o  = out_q;
  assign Output_valid_o = out_valid_q;

  wire [319:0]  parity;
  wire [1599:0] moved, next;
  wire [6:0]    constant = iota(round_q);
  genvar x, y;
  generate
    for (x = 0; x < 5; x = x + 1) begin : g_column
      assign parity[64 * x +: 64] = state_q[64 * x +: 64] ^ state_q[64 * (x + 5) +: 64] ^ state_q[64 * (x + 10) +: 64]
                                  ^ state_q[64 * (x + 15) +: 64] ^ state_q[64 * (x + 20) +: 64];
    end
    for (y = 0; y < 5; y = y + 1) begin : g_plane
      for (x = 0; x < 5; x = x + 1) begin : g_lane
        // theta, rho and pi.
        wire [63:0] mixed = state_q[64 * (x + 5 * y) +: 64] ^ parity[64 * ((x + 4) % 5) +: 64]
                          ^ rol(parity[64 * ((x + 1) % 5) +: 64], 1);
        assign moved[64 * (y + 5 * ((2 * x + 3 * y) % 5)) +: 64] = rol(mixed, rho(x + 5 * y));
        // chi and iota.
        if (x == 0 && y == 0) begin : g_first
          assign next[63:0] = moved[63:0] ^ (~moved[127:64] & moved[191:128])
                            ^ {constant[6], 31'd0, constant[5], 15'd0, constant[4], 7'd0, constant[3], 3'd0, constant[2], 1'b0,
                               constant[1:0]};
        end else begin : g_other
          assign next[64 * (x + 5 * y) +: 64] = moved[64 * (x + 5 * y) +: 64]
            ^ (~moved[64 * ((x + 1) % 5 + 5 * y) +: 64] & moved[64 * ((x + 2) % 5 + 5 * y) +: 64]);
        end
      end
    end
  endgenerate

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
      round_q <= load ? 5'd24 - Rounds_data_i[4:0] : round_q + 5'd1;
      state_q <= load ? Input_data_i : next;
    end
    if (done) out_q <= next;
  end
endmodule

`default_nettype wire
