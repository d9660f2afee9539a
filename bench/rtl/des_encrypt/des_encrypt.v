// DES enciphering (FIPS 46-3), a round a clock cycle, as one writes it by hand: what `headrace synth` compares with what is generated
// from ctl.block.des.DesEncrypt. Ports and order of tokens are those of `headrace build des --operation encrypt --wide-ports`.
//
// Latency: 17 clock cycles, from the cycle in which a block is taken to that in which it is given.
// Initiation interval: 16 clock cycles; the next block is taken in the cycle of the last round.
//
// C and D are turned by 28 places in sixteen rounds, so that they are the key again, and no other register keeps it. Vectors are
// numbered as in the standard: bit 1 is the leftmost.

/* verilator lint_off LITENDIAN */
`default_nettype none

module des_encrypt (
  input  wire        clk_i,
  input  wire        rst_ni,
  input  wire        Rekey_data_i,
  input  wire        Rekey_valid_i,
  output wire        Rekey_ready_o,
  input  wire [63:0] Key_data_i,
  input  wire        Key_valid_i,
  output wire        Key_ready_o,
  input  wire [31:0] Blocks_data_i,
  input  wire        Blocks_valid_i,
  output wire        Blocks_ready_o,
  input  wire [63:0] Input_data_i,
  input  wire        Input_valid_i,
  output wire        Input_ready_o,
  output wire [63:0] Output_data_o,
  output wire        Output_valid_o,
  input  wire        Output_ready_i
);
  // What is asked for next. A burst is under way in StBlocks.
  localparam [1:0] StRekey  = 2'd0;
  localparam [1:0] StKey    = 2'd1;
  localparam [1:0] StCount  = 2'd2;
  localparam [1:0] StBlocks = 2'd3;

  // S1 to S8: the value for the six bits B is that in place B, from the right.
  localparam [255:0] S1 = 256'hd0650aa3e739bc5f7b12964d288ec1f487305995bcc66aa318db2fe2417df40e;
  localparam [255:0] S2 = 256'h9fe25309c67c68b5214df43a1ba78ed05ab5906cad1207c9e4832bf67e48d13f;
  localparam [255:0] S3 = 256'hc72e5ab53ce2f14b70839f6809d4a61d18f2b4cbe75c8d21a56f43369e0970da;
  localparam [255:0] S4 = 256'he42872c5be53419f8dd71bac6009f63a9fe4ac1bc52872413a09f66053be8dd7;
  localparam [255:0] S5 = 256'h3e5043a6950cf96fd827ed1a7bc182b4698e903daff3055816db7a47c124bce2;
  localparam [255:0] S6 = 256'hd68b0d617a14e0b7a3fc5892c52f3e498b35b70ee4d31d605896c2792f4af1ac;
  localparam [255:0] S7 = 256'hc23925e0f8065f9a7ea7431c8ddbb4616186fa25c7593ce3ad18904f7eb20bd4;
  localparam [255:0] S8 = 256'hb865533f0d9ac6f0d28eac4971e41b27279ce005be6359ca417b3fa684d8f21d;

  reg  [1:0]  st_d, st_q;
  reg  [31:0] blocks_d, blocks_q;
  reg  [1:28] c_q, d_q;
  reg  [1:32] l_q, r_q;
  reg  [3:0]  round_q;
  reg         busy_q;
  reg  [63:0] out_q;
  reg         out_valid_q;

  wire last  = (round_q == 4'd15);
  wire room  = ~out_valid_q | Output_ready_i;
  wire done  = busy_q & last & room;
  wire want  = (st_q == StBlocks) & (~busy_q | done);
  wire load  = want & Input_valid_i;
  wire step  = busy_q & ~last;
  // C and D are those of the first round again when no block is under way.
  wire rekey = (st_q == StKey) & ~busy_q & Key_valid_i;

  assign Rekey_ready_o  = st_q == StRekey;
  assign Key_ready_o    = (st_q == StKey) & ~busy_q;
  assign Blocks_ready_o = st_q == StCount;
  assign Input_ready_o  = want;
  assign Output_data_o  = out_q;
  assign Output_valid_o = out_valid_q;

  // The first byte is in the lowest bits.
  wire [1:64] key   = {Key_data_i[7:0], Key_data_i[15:8], Key_data_i[23:16], Key_data_i[31:24], Key_data_i[39:32],
        Key_data_i[47:40], Key_data_i[55:48], Key_data_i[63:56]};
  wire [1:64] block = {Input_data_i[7:0], Input_data_i[15:8], Input_data_i[23:16], Input_data_i[31:24], Input_data_i[39:32],
        Input_data_i[47:40], Input_data_i[55:48], Input_data_i[63:56]};

  // PC-1, and IP.
  wire [1:56] cd_0 = {key[57], key[49], key[41], key[33], key[25], key[17], key[9], key[1], key[58], key[50], key[42], key[34],
        key[26], key[18], key[10], key[2], key[59], key[51], key[43], key[35], key[27], key[19], key[11], key[3],
        key[60], key[52], key[44], key[36], key[63], key[55], key[47], key[39], key[31], key[23], key[15], key[7],
        key[62], key[54], key[46], key[38], key[30], key[22], key[14], key[6], key[61], key[53], key[45], key[37],
        key[29], key[21], key[13], key[5], key[28], key[20], key[12], key[4]};
  wire [1:64] lr_0 = {block[58], block[50], block[42], block[34], block[26], block[18], block[10], block[2], block[60], block[52],
        block[44], block[36], block[28], block[20], block[12], block[4], block[62], block[54], block[46], block[38],
        block[30], block[22], block[14], block[6], block[64], block[56], block[48], block[40], block[32], block[24],
        block[16], block[8], block[57], block[49], block[41], block[33], block[25], block[17], block[9], block[1],
        block[59], block[51], block[43], block[35], block[27], block[19], block[11], block[3], block[61], block[53],
        block[45], block[37], block[29], block[21], block[13], block[5], block[63], block[55], block[47], block[39],
        block[31], block[23], block[15], block[7]};

  // The cipher function f.
  wire [1:56] cd     = {c_q, d_q};
  wire [1:48] key_48 = {cd[14], cd[17], cd[11], cd[24], cd[1], cd[5], cd[3], cd[28], cd[15], cd[6], cd[21], cd[10], cd[23], cd[19],
        cd[12], cd[4], cd[26], cd[8], cd[16], cd[7], cd[27], cd[20], cd[13], cd[2], cd[41], cd[52], cd[31], cd[37],
        cd[47], cd[55], cd[30], cd[40], cd[51], cd[45], cd[33], cd[48], cd[44], cd[49], cd[39], cd[56], cd[34],
        cd[53], cd[46], cd[42], cd[50], cd[36], cd[29], cd[32]};
  wire [1:48] chosen = {r_q[32], r_q[1], r_q[2], r_q[3], r_q[4], r_q[5], r_q[4], r_q[5], r_q[6], r_q[7], r_q[8], r_q[9], r_q[8],
        r_q[9], r_q[10], r_q[11], r_q[12], r_q[13], r_q[12], r_q[13], r_q[14], r_q[15], r_q[16], r_q[17], r_q[16],
        r_q[17], r_q[18], r_q[19], r_q[20], r_q[21], r_q[20], r_q[21], r_q[22], r_q[23], r_q[24], r_q[25], r_q[24],
        r_q[25], r_q[26], r_q[27], r_q[28], r_q[29], r_q[28], r_q[29], r_q[30], r_q[31], r_q[32], r_q[1]};
  wire [1:6] b1 = chosen[1:6] ^ key_48[1:6];
  wire [1:6] b2 = chosen[7:12] ^ key_48[7:12];
  wire [1:6] b3 = chosen[13:18] ^ key_48[13:18];
  wire [1:6] b4 = chosen[19:24] ^ key_48[19:24];
  wire [1:6] b5 = chosen[25:30] ^ key_48[25:30];
  wire [1:6] b6 = chosen[31:36] ^ key_48[31:36];
  wire [1:6] b7 = chosen[37:42] ^ key_48[37:42];
  wire [1:6] b8 = chosen[43:48] ^ key_48[43:48];
  wire [1:32] s      = {S1[{b1, 2'd0} +: 4], S2[{b2, 2'd0} +: 4], S3[{b3, 2'd0} +: 4], S4[{b4, 2'd0} +: 4],
                        S5[{b5, 2'd0} +: 4], S6[{b6, 2'd0} +: 4], S7[{b7, 2'd0} +: 4], S8[{b8, 2'd0} +: 4]};
  wire [1:32] f      = {s[16], s[7], s[20], s[21], s[29], s[12], s[28], s[17], s[1], s[15], s[23], s[26], s[5], s[18], s[31], s[10],
        s[2], s[8], s[24], s[14], s[32], s[27], s[3], s[9], s[19], s[13], s[30], s[6], s[22], s[11], s[4], s[25]};
  wire [1:32] r_next = l_q ^ f;

  // The result: IP(-1) of R(16) and L(16).
  wire [1:64] preoutput = {r_next, r_q};
  wire [1:64] result    = {preoutput[40], preoutput[8], preoutput[48], preoutput[16], preoutput[56], preoutput[24], preoutput[64],
        preoutput[32], preoutput[39], preoutput[7], preoutput[47], preoutput[15], preoutput[55], preoutput[23],
        preoutput[63], preoutput[31], preoutput[38], preoutput[6], preoutput[46], preoutput[14], preoutput[54],
        preoutput[22], preoutput[62], preoutput[30], preoutput[37], preoutput[5], preoutput[45], preoutput[13],
        preoutput[53], preoutput[21], preoutput[61], preoutput[29], preoutput[36], preoutput[4], preoutput[44],
        preoutput[12], preoutput[52], preoutput[20], preoutput[60], preoutput[28], preoutput[35], preoutput[3],
        preoutput[43], preoutput[11], preoutput[51], preoutput[19], preoutput[59], preoutput[27], preoutput[34],
        preoutput[2], preoutput[42], preoutput[10], preoutput[50], preoutput[18], preoutput[58], preoutput[26],
        preoutput[33], preoutput[1], preoutput[41], preoutput[9], preoutput[49], preoutput[17], preoutput[57],
        preoutput[25]};

  // By how many places C and D are turned for the round that follows.
  wire one = (round_q == 4'd0) | (round_q == 4'd7) | (round_q == 4'd14) | last;

  always @* begin : control
    st_d = st_q;
    blocks_d = blocks_q;
    case (st_q)
      StRekey: if (Rekey_valid_i) st_d = Rekey_data_i ? StKey : StCount;
      StKey:   if (rekey) st_d = StCount;
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
      round_q <= 4'd0;
      out_valid_q <= 1'b0;
    end else begin
      st_q <= st_d;
      busy_q <= (busy_q & ~done) | load;
      if (step | done) round_q <= round_q + 4'd1;
      out_valid_q <= done | (out_valid_q & ~Output_ready_i);
    end
  end

  // Data need no reset.
  always @(posedge clk_i) begin
    blocks_q <= blocks_d;
    if (rekey) begin
      c_q <= {cd_0[2:28], cd_0[1]};
      d_q <= {cd_0[30:56], cd_0[29]};
    end else if (step | done) begin
      c_q <= one ? {c_q[2:28], c_q[1]} : {c_q[3:28], c_q[1:2]};
      d_q <= one ? {d_q[2:28], d_q[1]} : {d_q[3:28], d_q[1:2]};
    end
    if (load | step) begin
      l_q <= load ? lr_0[1:32] : r_q;
      r_q <= load ? lr_0[33:64] : r_next;
    end
    if (done) out_q <= {result[57:64], result[49:56], result[41:48], result[33:40], result[25:32], result[17:24], result[9:16],
        result[1:8]};
  end
endmodule

`default_nettype wire
