// AES-128 encryption (FIPS 197), a round a clock cycle, as one writes it by hand: what `headrace synth` compares with what is
// generated from ctl.block.aes.AesEncrypt. Ports and order of tokens are those of `headrace build aes128 --operation encrypt
// --wide-ports`.
//
// Latency: 11 clock cycles, from the cycle in which a block is taken to that in which it is given.
// Initiation interval: 10 clock cycles; the next block is taken in the cycle of the last round.
//
// Only the key is kept; round keys are made beside the rounds. The last round, which has no MixColumns, goes to the output
// register and nowhere else, so that no multiplexer chooses between rounds.

`default_nettype none

module aes_encrypt (
  input  wire         clk_i,
  input  wire         rst_ni,
  input  wire         Rekey_data_i,
  input  wire         Rekey_valid_i,
  output wire         Rekey_ready_o,
  input  wire [127:0] Key_data_i,
  input  wire         Key_valid_i,
  output wire         Key_ready_o,
  input  wire [31:0]  Blocks_data_i,
  input  wire         Blocks_valid_i,
  output wire         Blocks_ready_o,
  input  wire [127:0] Input_data_i,
  input  wire         Input_valid_i,
  output wire         Input_ready_o,
  output wire [127:0] Output_data_o,
  output wire         Output_valid_o,
  input  wire         Output_ready_i
);
  // What is asked for next. A burst is under way in StBlocks.
  localparam [1:0] StRekey  = 2'd0;
  localparam [1:0] StKey    = 2'd1;
  localparam [1:0] StCount  = 2'd2;
  localparam [1:0] StBlocks = 2'd3;

  function [7:0] xtime(input [7:0] a);
    xtime = {a[6:4], a[3] ^ a[7], a[2] ^ a[7], a[1], a[0] ^ a[7], a[7]};
  endfunction

  // Byte n of the standard is bits 8n to 8n + 7.
  function [31:0] mix_column(input [31:0] a);
    reg [7:0] all;
    begin
      all = a[7:0] ^ a[15:8] ^ a[23:16] ^ a[31:24];
      mix_column = {a[31:24] ^ all ^ xtime(a[31:24] ^ a[7:0]), a[23:16] ^ all ^ xtime(a[23:16] ^ a[31:24]),
                    a[15:8] ^ all ^ xtime(a[15:8] ^ a[23:16]), a[7:0] ^ all ^ xtime(a[7:0] ^ a[15:8])};
    end
  endfunction

  reg  [1:0]   st_d, st_q;
  reg  [31:0]  blocks_d, blocks_q;
  reg  [127:0] key_q;
  reg  [127:0] state_q;
  reg  [127:0] round_key_q;
  reg  [7:0]   rcon_q;
  reg          busy_d, busy_q;
  reg  [127:0] out_q;
  reg          out_valid_q;

  // Round 10 is marked by its round constant.
  wire last      = rcon_q[5] & rcon_q[4];
  wire room      = ~out_valid_q | Output_ready_i;
  wire done      = busy_q & last & room;
  wire want      = (st_q == StBlocks) & (~busy_q | done);
  wire load      = want & Input_valid_i;
  wire step      = busy_q & ~last;

  assign Rekey_ready_o  = st_q == StRekey;
  assign Key_ready_o    = st_q == StKey;
  assign Blocks_ready_o = st_q == StCount;
  assign Input_ready_o  = want;
  assign Output_data_o  = out_q;
  assign Output_valid_o = out_valid_q;

  // SubBytes and ShiftRows.
  wire [127:0] shifted;
  genvar i;
  generate
    for (i = 0; i < 16; i = i + 1) begin : g_sbox
      aes_sbox u_sbox (
        .x_i(state_q[8 * ((i + 4 * (i % 4)) % 16) +: 8]),
        .y_o(shifted[8 * i +: 8])
      );
    end
  endgenerate

  wire [127:0] mixed = {mix_column(shifted[127:96]), mix_column(shifted[95:64]),
                        mix_column(shifted[63:32]), mix_column(shifted[31:0])};

  // KeyExpansion.
  wire [31:0]  word;
  generate
    for (i = 0; i < 4; i = i + 1) begin : g_key_sbox
      aes_sbox u_sbox (
        .x_i(round_key_q[96 + 8 * ((i + 1) % 4) +: 8]),
        .y_o(word[8 * i +: 8])
      );
    end
  endgenerate
  wire [31:0] next_0 = round_key_q[31:0]   ^ word ^ {24'd0, rcon_q};
  wire [31:0] next_1 = round_key_q[63:32]  ^ next_0;
  wire [31:0] next_2 = round_key_q[95:64]  ^ next_1;
  wire [31:0] next_3 = round_key_q[127:96] ^ next_2;
  wire [127:0] next_key = {next_3, next_2, next_1, next_0};

  always @* begin : control
    st_d = st_q;
    blocks_d = blocks_q;
    busy_d = (busy_q & ~done) | load;
    case (st_q)
      StRekey: if (Rekey_valid_i) st_d = Rekey_data_i ? StKey : StCount;
      StKey:   if (Key_valid_i) st_d = StCount;
      StCount: begin
        blocks_d = Blocks_data_i;
        if (Blocks_valid_i) st_d = (Blocks_data_i == 32'd0) ? StRekey : StBlocks;
      end
      default: if (load) begin
        blocks_d = blocks_q - 32'd1;
        if (blocks_q[31:1] == 31'd0) st_d = StRekey;
      end
    endcase
  end

  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      st_q <= StRekey;
      busy_q <= 1'b0;
      out_valid_q <= 1'b0;
    end else begin
      st_q <= st_d;
      busy_q <= busy_d;
      out_valid_q <= done | (out_valid_q & ~Output_ready_i);
    end
  end

  // Data need no reset.
  always @(posedge clk_i) begin
    blocks_q <= blocks_d;
    if (st_q == StKey) key_q <= Key_data_i;
    if (load | step) begin
      state_q <= load ? Input_data_i ^ key_q : mixed ^ next_key;
      round_key_q <= load ? key_q : next_key;
      rcon_q <= load ? 8'h01 : xtime(rcon_q);
    end
    if (done) out_q <= shifted ^ next_key;
  end
endmodule

`default_nettype wire
