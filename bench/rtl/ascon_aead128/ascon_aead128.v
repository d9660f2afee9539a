// Ascon-AEAD128 (SP 800-232, section 4), both directions, a round a clock cycle, as one writes it by hand: what is compared with
// what is generated from ctl.aead.ascon. Ports are those of `headrace build ascon-aead128 --shape lwc`: the LWC hardware API, with
// words of 32 bits.
//
// Initiation interval: 8 clock cycles a block of 16 bytes. A block enters the state in the first of its rounds, while the next one
// comes in word by word and the one before goes out.
//
// Plaintext goes out before the tag is compared; the status decides. Segments that are not the last of their string are multiples
// of 16 bytes.

`default_nettype none

module ascon_aead128 (
  input  wire        clk,
  input  wire        rst,
  input  wire [31:0] pdi_data,
  input  wire        pdi_valid,
  output wire        pdi_ready,
  input  wire [31:0] sdi_data,
  input  wire        sdi_valid,
  output wire        sdi_ready,
  output wire [31:0] do_data,
  output wire        do_valid,
  input  wire        do_ready,
  output wire        do_last
);
  // What is asked for next.
  localparam [2:0] StNonce  = 3'd0;
  localparam [2:0] StAd     = 3'd1;
  localparam [2:0] StText   = 3'd2;
  localparam [2:0] StHeader = 3'd3;
  localparam [2:0] StTag    = 3'd4;
  localparam [2:0] StStatus = 3'd5;

  localparam [1:0] KindText = 2'd2;

  function [63:0] ror(input [63:0] x, input integer n);
    ror = (x >> n) | (x << (64 - n));
  endfunction

  // Strings have their first byte in the top bits, words of the state in the lowest ones.
  function [63:0] swapped(input [63:0] x);
    swapped = {x[7:0], x[15:8], x[23:16], x[31:24], x[39:32], x[47:40], x[55:48], x[63:56]};
  endfunction

  wire         rst_n = ~rst;
  wire [127:0] key, block;
  wire [15:0]  bytes;
  wire [4:0]   count;
  wire [1:0]   kind;
  wire         last, none, decrypt, valid, head_valid, out_ready;
  wire [31:0]  head;

  reg  [2:0]   st_d, st_q;
  reg  [3:0]   round_q;
  reg          busy_q, twelve_q, separate_q, decrypt_q;
  reg  [63:0]  x0_q, x1_q, x2_q, x3_q, x4_q;
  reg          take, starts, good_q;
  reg  [127:0] out_words;
  reg  [2:0]   out_count;
  reg          out_valid;

  lwc_front #(.PADS(1'b1)) u_front (
    .clk_i(clk), .rst_ni(rst_n),
    .pdi_data_i(pdi_data), .pdi_valid_i(pdi_valid), .pdi_ready_o(pdi_ready),
    .sdi_data_i(sdi_data), .sdi_valid_i(sdi_valid), .sdi_ready_o(sdi_ready),
    .key_o(key), .rekey_o(), .rekey_ready_i((st_q == StNonce) & ~valid),
    .block_o(block), .bytes_o(bytes), .count_o(count), .kind_o(kind), .last_o(last), .none_o(none), .decrypt_o(decrypt),
    .valid_o(valid), .take_i(take),
    .head_o(head), .head_valid_o(head_valid), .head_ready_i(out_ready)
  );

  lwc_back u_back (
    .clk_i(clk), .rst_ni(rst_n),
    .words_i(out_words), .count_i(out_count), .last_i(st_q == StStatus), .valid_i(out_valid), .ready_o(out_ready),
    .do_data_o(do_data), .do_valid_o(do_valid), .do_last_o(do_last), .do_ready_i(do_ready)
  );

  wire [63:0] k0 = swapped(key[127:64]);
  wire [63:0] k1 = swapped(key[63:0]);

  // The first byte of padding, behind the bytes of the block.
  wire [15:0]  pad = {1'b1, bytes[15:1]} & ~bytes;
  wire [127:0] padded, mask, enters;
  genvar i;
  generate
    for (i = 0; i < 16; i = i + 1) begin : g_byte
      assign padded[8 * i +: 8] = block[8 * i +: 8] | {7'd0, pad[i]};
      assign mask[8 * i +: 8] = {8{bytes[i]}};
    end
  endgenerate

  // The block enters: it is added, or takes the place of bytes that it was masked with.
  wire         enter = starts & (st_q != StNonce);
  wire [127:0] rate = {swapped(x0_q), swapped(x1_q)};
  wire         replaces = decrypt_q & (st_q == StText);
  assign enters = enter ? (rate & ~(mask & {128{replaces}})) ^ padded : rate;
  wire         finishes = enter & (st_q == StText) & last;
  wire [63:0]  y0 = swapped(enters[127:64]);
  wire [63:0]  y1 = swapped(enters[63:0]);
  wire [63:0]  y2 = x2_q ^ ({64{finishes}} & k0);
  wire [63:0]  y3 = x3_q ^ ({64{finishes}} & k1);
  wire [63:0]  y4 = x4_q ^ {separate_q & enter & (st_q == StText), 63'd0};

  // A round: the layers for constants, substitution and diffusion.
  wire [3:0]  round = finishes ? 4'd0 : round_q;
  wire [63:0] c2 = y2 ^ {56'd0, ~round, round};
  wire [63:0] s0 = (y4 & y1) ^ y3 ^ (c2 & y1) ^ c2 ^ (y1 & y0) ^ y1 ^ y0;
  wire [63:0] s1 = y4 ^ (y3 & c2) ^ (y3 & y1) ^ y3 ^ (c2 & y1) ^ c2 ^ y1 ^ y0;
  wire [63:0] s2 = ~((y4 & y3) ^ y4 ^ c2 ^ y1);
  wire [63:0] s3 = (y4 & y0) ^ y4 ^ (y3 & y0) ^ y3 ^ c2 ^ y1 ^ y0;
  wire [63:0] s4 = (y4 & y1) ^ y4 ^ y3 ^ (y1 & y0) ^ y1;
  // Behind twelve rounds the key is added: to the first state, and to what is the tag then.
  wire        ends = round_q == 4'd11;
  wire [63:0] add0 = k0 & {64{ends & twelve_q}};
  wire [63:0] add1 = k1 & {64{ends & twelve_q}};
  wire [63:0] n0 = s0 ^ ror(s0, 19) ^ ror(s0, 28);
  wire [63:0] n1 = s1 ^ ror(s1, 61) ^ ror(s1, 39);
  wire [63:0] n2 = s2 ^ ror(s2, 1) ^ ror(s2, 6);
  wire [63:0] n3 = s3 ^ ror(s3, 10) ^ ror(s3, 17) ^ add0;
  wire [63:0] n4 = s4 ^ ror(s4, 7) ^ ror(s4, 41) ^ add1;

  wire [127:0] tag = {swapped(x3_q), swapped(x4_q)};

  always @* begin : control
    st_d = st_q;
    take = 1'b0;
    starts = 1'b0;
    out_words = {head, 96'd0};
    out_count = 3'd1;
    out_valid = head_valid;
    case (st_q)
      StNonce: begin
        take = valid;
        starts = valid;
        if (valid) st_d = StAd;
      end
      StAd: begin
        take = valid & ~busy_q;
        starts = take & ~none;
        if (take & last) st_d = StText;
      end
      StText: if (kind == KindText) begin
        take = valid & ~busy_q & out_ready;
        starts = take;
        if (valid) begin
          out_words = (rate ^ block) & mask;
          out_count = {1'b0, count[3:2]} + {2'd0, |count[1:0]} + {count[4], 2'd0};
          out_valid = take;
        end
        if (take & last) st_d = decrypt_q ? StTag : StHeader;
      end
      StHeader: begin
        out_words = {32'h83000010, 96'd0};
        out_valid = 1'b1;
        if (out_ready) st_d = StTag;
      end
      StTag: begin
        out_words = tag;
        out_count = 3'd4;
        out_valid = ~busy_q & ~decrypt_q;
        take = valid & ~busy_q & decrypt_q;
        if (take | (out_valid & out_ready)) st_d = StStatus;
      end
      default: begin
        out_words = {3'b111, ~good_q, 124'd0};
        out_valid = 1'b1;
        if (out_ready) st_d = StNonce;
      end
    endcase
  end

  always @(posedge clk or negedge rst_n) begin
    if (!rst_n) begin
      st_q <= StNonce;
      busy_q <= 1'b0;
    end else begin
      st_q <= st_d;
      busy_q <= starts | (busy_q & ~ends);
    end
  end

  // Data need no reset.
  always @(posedge clk) begin
    if (st_q == StTag) good_q <= ~decrypt_q | (tag == block);
    if (st_q == StNonce) begin
      decrypt_q <= decrypt;
      separate_q <= 1'b1;
    end else if (enter & (st_q == StText)) separate_q <= 1'b0;
    if (starts) twelve_q <= (st_q == StNonce) | finishes;
    // A block begins with round 4, the ends of a message with round 0.
    if (starts & (st_q == StNonce)) round_q <= 4'd0;
    else if (starts | busy_q) round_q <= ends ? 4'd4 : round + 4'd1;
    if (starts & (st_q == StNonce)) begin
      {x0_q, x1_q, x2_q} <= {64'h00001000808c0001, k0, k1};
      {x3_q, x4_q} <= {swapped(block[127:64]), swapped(block[63:0])};
    end else if (starts | busy_q) {x0_q, x1_q, x2_q, x3_q, x4_q} <= {n0, n1, n2, n3, n4};
  end
endmodule

`default_nettype wire
