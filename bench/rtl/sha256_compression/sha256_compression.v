// The compression function of SHA-256 (FIPS 180-4, section 6.2.2), a round a clock cycle, as one writes it by hand: what `headrace
// synth` compares with what is generated from ctl.hash.sha2.Sha2Compression. Ports and order of tokens are those of `headrace build
// 'ctl.hash.sha2.Sha2Compression(WORD_BITS = 32)' --wide-ports`.
//
// Latency: 66 clock cycles, from the cycle in which a block is taken to that in which the next state is given.
// Initiation interval: 65 clock cycles; a block is taken in the cycle of the last sum.
//
// h + K + W is summed a round ahead, so that h has no register of its own, and T1 is what a carry-save adder leaves: a round has two
// carry chains behind one another. What is left of a and e in the last four rounds is d, c, b, a and h, g, f, e of the result:
// two adders are enough for the sums with the state before.

`default_nettype none

module sha256_compression (
  input  wire         clk_i,
  input  wire         rst_ni,
  input  wire [255:0] State_data_i,
  input  wire         State_valid_i,
  output wire         State_ready_o,
  input  wire [511:0] Block_data_i,
  input  wire         Block_valid_i,
  output wire         Block_ready_o,
  output wire [255:0] NextState_data_o,
  output wire         NextState_valid_o,
  input  wire         NextState_ready_i
);
  // K of the round after that whose number is `round`.
  function [31:0] k(input [5:0] round);
    case (round)
      6'd0: k = 32'h428a2f98;
      6'd1: k = 32'h71374491;
      6'd2: k = 32'hb5c0fbcf;
      6'd3: k = 32'he9b5dba5;
      6'd4: k = 32'h3956c25b;
      6'd5: k = 32'h59f111f1;
      6'd6: k = 32'h923f82a4;
      6'd7: k = 32'hab1c5ed5;
      6'd8: k = 32'hd807aa98;
      6'd9: k = 32'h12835b01;
      6'd10: k = 32'h243185be;
      6'd11: k = 32'h550c7dc3;
      6'd12: k = 32'h72be5d74;
      6'd13: k = 32'h80deb1fe;
      6'd14: k = 32'h9bdc06a7;
      6'd15: k = 32'hc19bf174;
      6'd16: k = 32'he49b69c1;
      6'd17: k = 32'hefbe4786;
      6'd18: k = 32'h0fc19dc6;
      6'd19: k = 32'h240ca1cc;
      6'd20: k = 32'h2de92c6f;
      6'd21: k = 32'h4a7484aa;
      6'd22: k = 32'h5cb0a9dc;
      6'd23: k = 32'h76f988da;
      6'd24: k = 32'h983e5152;
      6'd25: k = 32'ha831c66d;
      6'd26: k = 32'hb00327c8;
      6'd27: k = 32'hbf597fc7;
      6'd28: k = 32'hc6e00bf3;
      6'd29: k = 32'hd5a79147;
      6'd30: k = 32'h06ca6351;
      6'd31: k = 32'h14292967;
      6'd32: k = 32'h27b70a85;
      6'd33: k = 32'h2e1b2138;
      6'd34: k = 32'h4d2c6dfc;
      6'd35: k = 32'h53380d13;
      6'd36: k = 32'h650a7354;
      6'd37: k = 32'h766a0abb;
      6'd38: k = 32'h81c2c92e;
      6'd39: k = 32'h92722c85;
      6'd40: k = 32'ha2bfe8a1;
      6'd41: k = 32'ha81a664b;
      6'd42: k = 32'hc24b8b70;
      6'd43: k = 32'hc76c51a3;
      6'd44: k = 32'hd192e819;
      6'd45: k = 32'hd6990624;
      6'd46: k = 32'hf40e3585;
      6'd47: k = 32'h106aa070;
      6'd48: k = 32'h19a4c116;
      6'd49: k = 32'h1e376c08;
      6'd50: k = 32'h2748774c;
      6'd51: k = 32'h34b0bcb5;
      6'd52: k = 32'h391c0cb3;
      6'd53: k = 32'h4ed8aa4a;
      6'd54: k = 32'h5b9cca4f;
      6'd55: k = 32'h682e6ff3;
      6'd56: k = 32'h748f82ee;
      6'd57: k = 32'h78a5636f;
      6'd58: k = 32'h84c87814;
      6'd59: k = 32'h8cc70208;
      6'd60: k = 32'h90befffa;
      6'd61: k = 32'ha4506ceb;
      6'd62: k = 32'hbef9a3f7;
      default: k = 32'hc67178f2;
    endcase
  endfunction

  function [31:0] ror(input [31:0] x, input integer n);
    ror = (x >> n) | (x << (32 - n));
  endfunction

  // Which K is added: 1 to 63 in rounds 1 to 63, then 0.
  reg  [5:0]   index_q;
  // Round 64, and the last sum.
  reg          round_64_q, sum_q;
  reg  [255:0] before_q;
  reg  [31:0]  a_q, b_q, c_q, d_q, e_q, f_q, g_q, hkw_q;
  reg  [511:0] w_q;
  reg  [127:0] out_abcd_q, out_efgh_q;
  reg          out_valid_q;

  wire running = (index_q != 6'd0) | round_64_q;
  // The first sum with the state before overwrites the output.
  wire wait_62 = (index_q == 6'd62) & out_valid_q & ~NextState_ready_i;
  wire load    = ~running & State_valid_i & Block_valid_i;
  wire step    = running & ~wait_62;

  assign State_ready_o     = load;
  assign Block_ready_o     = load;
  assign NextState_data_o  = {out_efgh_q, out_abcd_q};
  assign NextState_valid_o = out_valid_q;

  // The block in words, the first in the lowest bits.
  wire [511:0] words;
  genvar i;
  generate
    for (i = 0; i < 64; i = i + 1) begin : g_words
      assign words[8 * (i ^ 3) +: 8] = Block_data_i[8 * i +: 8];
    end
  endgenerate

  // The message schedule.
  wire [31:0] w1     = w_q[63:32];
  wire [31:0] w14    = w_q[479:448];
  wire [31:0] sigma0 = ror(w1, 7) ^ ror(w1, 18) ^ (w1 >> 3);
  wire [31:0] sigma1 = ror(w14, 17) ^ ror(w14, 19) ^ (w14 >> 10);
  wire [31:0] w16    = (sigma1 + w_q[319:288]) + (sigma0 + w_q[31:0]);

  // The round.
  wire [31:0] sum1  = ror(e_q, 6) ^ ror(e_q, 11) ^ ror(e_q, 25);
  wire [31:0] ch    = (e_q & f_q) | (~e_q & g_q);
  wire [31:0] sum0  = ror(a_q, 2) ^ ror(a_q, 13) ^ ror(a_q, 22);
  wire [31:0] maj   = (a_q & b_q) | (c_q & (a_q | b_q));
  wire [31:0] saved = hkw_q ^ sum1 ^ ch;
  wire [31:0] carry = (hkw_q & sum1) | (ch & (hkw_q | sum1));
  wire [31:0] t1    = saved + {carry[30:0], 1'b0};
  wire [31:0] t2    = sum0 + maj;
  wire [31:0] hkw_d = (load ? State_data_i[255:224] : g_q) + ((load ? words[31:0] : w1) + k(index_q));

  // The sums with the state before.
  reg  [31:0]  before_abcd, before_efgh;
  always @* begin : select
    case ({sum_q, round_64_q, index_q[0]})
      3'b000: {before_efgh, before_abcd} = {before_q[255:224], before_q[127:96]};
      3'b001: {before_efgh, before_abcd} = {before_q[223:192], before_q[95:64]};
      3'b010: {before_efgh, before_abcd} = {before_q[191:160], before_q[63:32]};
      default: {before_efgh, before_abcd} = {before_q[159:128], before_q[31:0]};
    endcase
  end

  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      index_q <= 6'd0;
      round_64_q <= 1'b0;
      sum_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      if (load | (step & ~round_64_q)) index_q <= index_q + 6'd1;
      if (step) round_64_q <= index_q == 6'd63;
      sum_q <= round_64_q;
      out_valid_q <= sum_q | (out_valid_q & ~NextState_ready_i);
    end
  end

  // Data need no reset.
  always @(posedge clk_i) begin
    if (load) before_q <= State_data_i;
    if (load | step) begin
      a_q <= load ? State_data_i[31:0] : t1 + t2;
      b_q <= load ? State_data_i[63:32] : a_q;
      c_q <= load ? State_data_i[95:64] : b_q;
      d_q <= load ? State_data_i[127:96] : c_q;
      e_q <= load ? State_data_i[159:128] : d_q + t1;
      f_q <= load ? State_data_i[191:160] : e_q;
      g_q <= load ? State_data_i[223:192] : f_q;
      hkw_q <= hkw_d;
      w_q <= load ? words : {w16, w_q[511:32]};
    end
    if ((step & (index_q[5:1] == 5'd31)) | round_64_q | sum_q) begin
      out_abcd_q <= {out_abcd_q[95:0], a_q + before_abcd};
      out_efgh_q <= {out_efgh_q[95:0], e_q + before_efgh};
    end
  end
endmodule

`default_nettype wire
