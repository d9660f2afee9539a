// AES-128-GCM (SP 800-38D) with nonces of 12 bytes, both directions, as one writes it by hand: what is compared with what is
// generated from ctl.aead.gcm. Ports are those of `headrace build aes128-gcm --shape lwc`: the LWC hardware API, with words of 32
// bits.
//
// Initiation interval: 10 clock cycles a block of 16 bytes, those of the rounds of AES. The multiplier of GHASH takes 13 bits in a
// clock cycle, and thus no longer than the cipher; key stream of the next block is made while this one comes in.
//
// Plaintext goes out before the tag is compared; the status decides. Segments that are not the last of their string are multiples
// of 16 bytes.

`default_nettype none

module aes_gcm (
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
  localparam [2:0] StNonce   = 3'd0;
  localparam [2:0] StAd      = 3'd1;
  localparam [2:0] StText    = 3'd2;
  localparam [2:0] StLengths = 3'd3;
  localparam [2:0] StHeader  = 3'd4;
  localparam [2:0] StTag     = 3'd5;
  localparam [2:0] StStatus  = 3'd6;

  localparam [1:0] KindText = 2'd2;

  // What the cipher makes: the hash subkey, the mask of the tag, key stream.
  localparam [1:0] JobSubkey = 2'd0;
  localparam [1:0] JobMask   = 2'd1;
  localparam [1:0] JobStream = 2'd2;

  wire         rst_n = ~rst;
  wire [127:0] key, block;
  wire [15:0]  bytes;
  wire [4:0]   count;
  wire [1:0]   kind;
  wire         rekey, last, none, decrypt, valid, head_valid, out_ready;
  wire [31:0]  head;

  reg  [2:0]   st_d, st_q;
  reg          decrypt_q, good_q;
  reg          take, out_valid, hashes;
  reg  [127:0] out_words;
  reg  [2:0]   out_count;

  // The cipher.
  reg  [95:0]  nonce_q;
  reg  [31:0]  counter_q;
  reg  [1:0]   job_q, running_q;
  reg          want_q, busy_q;
  reg  [127:0] state_q, round_key_q;
  reg  [7:0]   rcon_q;
  reg  [127:0] subkey_q, mask_q, stream_q;
  reg          stream_valid_q;

  // GHASH.
  reg  [127:0] hash_q;
  reg  [129:0] factor_q;
  reg  [3:0]   digits_q;
  reg          hashing_q, fresh_q;
  reg  [31:0]  ad_bytes_q, text_bytes_q;

  lwc_front u_front (
    .clk_i(clk), .rst_ni(rst_n),
    .pdi_data_i(pdi_data), .pdi_valid_i(pdi_valid), .pdi_ready_o(pdi_ready),
    .sdi_data_i(sdi_data), .sdi_valid_i(sdi_valid), .sdi_ready_o(sdi_ready),
    .key_o(key), .rekey_o(rekey), .rekey_ready_i((st_q == StNonce) & ~valid),
    .block_o(block), .bytes_o(bytes), .count_o(count), .kind_o(kind), .last_o(last), .none_o(none), .decrypt_o(decrypt),
    .valid_o(valid), .take_i(take),
    .head_o(head), .head_valid_o(head_valid), .head_ready_i(out_ready)
  );

  lwc_back u_back (
    .clk_i(clk), .rst_ni(rst_n),
    .words_i(out_words), .count_i(out_count), .last_i(st_q == StStatus), .valid_i(out_valid), .ready_o(out_ready),
    .do_data_o(do_data), .do_valid_o(do_valid), .do_last_o(do_last), .do_ready_i(do_ready)
  );

  // The first byte of a string is in the top bits outside, in the lowest ones of the cipher.
  function [127:0] swapped(input [127:0] x);
    integer n;
    for (n = 0; n < 16; n = n + 1) swapped[8 * n +: 8] = x[8 * (15 - n) +: 8];
  endfunction

  function [7:0] xtime(input [7:0] a);
    xtime = {a[6:4], a[3] ^ a[7], a[2] ^ a[7], a[1], a[0] ^ a[7], a[7]};
  endfunction

  function [31:0] mix_column(input [31:0] a);
    reg [7:0] all;
    begin
      all = a[7:0] ^ a[15:8] ^ a[23:16] ^ a[31:24];
      mix_column = {a[31:24] ^ all ^ xtime(a[31:24] ^ a[7:0]), a[23:16] ^ all ^ xtime(a[23:16] ^ a[31:24]),
                    a[15:8] ^ all ^ xtime(a[15:8] ^ a[23:16]), a[7:0] ^ all ^ xtime(a[7:0] ^ a[15:8])};
    end
  endfunction

  // SubBytes and ShiftRows, MixColumns, KeyExpansion. Round 10 is marked by its round constant.
  wire [127:0] shifted;
  wire [31:0]  word;
  genvar i;
  generate
    for (i = 0; i < 16; i = i + 1) begin : g_sbox
      aes_sbox u_sbox (
        .x_i(state_q[8 * ((i + 4 * (i % 4)) % 16) +: 8]),
        .y_o(shifted[8 * i +: 8])
      );
    end
    for (i = 0; i < 4; i = i + 1) begin : g_key_sbox
      aes_sbox u_sbox (
        .x_i(round_key_q[96 + 8 * ((i + 1) % 4) +: 8]),
        .y_o(word[8 * i +: 8])
      );
    end
  endgenerate
  wire [127:0] mixed = {mix_column(shifted[127:96]), mix_column(shifted[95:64]),
                        mix_column(shifted[63:32]), mix_column(shifted[31:0])};
  wire [31:0]  next_0 = round_key_q[31:0]   ^ word ^ {24'd0, rcon_q};
  wire [31:0]  next_1 = round_key_q[63:32]  ^ next_0;
  wire [31:0]  next_2 = round_key_q[95:64]  ^ next_1;
  wire [31:0]  next_3 = round_key_q[127:96] ^ next_2;
  wire [127:0] next_key = {next_3, next_2, next_1, next_0};
  wire [127:0] made = shifted ^ next_key;

  wire is_last = rcon_q[5] & rcon_q[4];
  wire begins = take & (st_q == StNonce);
  wire uses = take & (st_q == StText) & ~none & (count != 5'd0);
  wire done = busy_q & is_last & ((running_q != JobStream) | ~stream_valid_q | uses);
  wire load = want_q & (~busy_q | done);
  wire step = busy_q & ~is_last;

  // Text against key stream.
  wire [127:0] mask;
  generate
    for (i = 0; i < 16; i = i + 1) begin : g_mask
      assign mask[8 * i +: 8] = {8{bytes[i]}};
    end
  endgenerate
  wire [127:0] text = (block ^ swapped(stream_q)) & mask;

  // A digit of the factor, of 13 bits from the highest powers of x on, which are in the lowest bits: the product so far times x^13,
  // and the subkey times the digit; then once modulo x^128 + x^7 + x^2 + x + 1.
  reg  [140:0] product;
  reg  [127:0] reduced;
  integer n;
  always @* begin : multiply
    product = {128'd0, 13'd0};
    // Bit 140 - n of the product is the coefficient of x^n.
    for (n = 0; n < 13; n = n + 1)
      product = product ^ ({13'd0, subkey_q & {128{factor_q[n]}}} << (n + 1));
    product = product ^ {13'd0, hash_q & {128{~fresh_q}}};
    reduced = product[140:13];
    for (n = 0; n < 13; n = n + 1) begin
      // The coefficient of x^(128 + n) goes to those of x^n, x^(n + 1), x^(n + 2) and x^(n + 7).
      reduced[127 - n] = reduced[127 - n] ^ product[12 - n];
      reduced[126 - n] = reduced[126 - n] ^ product[12 - n];
      reduced[125 - n] = reduced[125 - n] ^ product[12 - n];
      reduced[120 - n] = reduced[120 - n] ^ product[12 - n];
    end
  end

  wire         hash_ends = digits_q == 4'd9;
  wire         hash_ready = ~hashing_q | hash_ends;
  wire [127:0] hash = hashing_q ? reduced : hash_q;
  wire [127:0] lengths = {29'd0, ad_bytes_q, 3'd0, 29'd0, text_bytes_q, 3'd0};
  wire [127:0] hashed = (st_q == StLengths) ? lengths : ((st_q == StText) & ~decrypt_q) ? text : block;
  wire [127:0] tag = hash_q ^ swapped(mask_q);

  always @* begin : control
    st_d = st_q;
    take = 1'b0;
    hashes = 1'b0;
    out_words = {head, 96'd0};
    out_count = 3'd1;
    out_valid = head_valid;
    case (st_q)
      StNonce: begin
        // The subkey is there before a message begins.
        take = valid & ~(want_q & (job_q == JobSubkey)) & ~(busy_q & (running_q == JobSubkey));
        if (take) st_d = StAd;
      end
      StAd: begin
        take = valid & hash_ready;
        hashes = take & ~none;
        if (take & last) st_d = StText;
      end
      StText: if (kind == KindText) begin
        take = valid & hash_ready & out_ready & (stream_valid_q | none);
        hashes = uses;
        if (valid) begin
          out_words = text;
          out_count = {1'b0, count[3:2]} + {2'd0, |count[1:0]} + {count[4], 2'd0};
          out_valid = take;
        end
        if (take & last) st_d = StLengths;
      end
      StLengths: begin
        hashes = hash_ready;
        if (hashes) st_d = decrypt_q ? StTag : StHeader;
      end
      StHeader: begin
        out_words = {32'h83000010, 96'd0};
        out_valid = 1'b1;
        if (out_ready) st_d = StTag;
      end
      StTag: begin
        out_words = tag;
        out_count = 3'd4;
        out_valid = ~hashing_q & ~decrypt_q;
        take = valid & ~hashing_q & decrypt_q;
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
      want_q <= 1'b0;
      busy_q <= 1'b0;
      stream_valid_q <= 1'b0;
      hashing_q <= 1'b0;
    end else begin
      st_q <= st_d;
      // A message ends with key stream under way that nobody needs.
      want_q <= begins | rekey | (want_q & ~(load & (job_q == JobSubkey)) & (st_q != StLengths));
      busy_q <= ~begins & ~rekey & (load | (busy_q & ~done));
      stream_valid_q <= ~begins & ((done & (running_q == JobStream)) | (stream_valid_q & ~uses));
      hashing_q <= hashes | (hashing_q & ~hash_ends);
    end
  end

  // Data need no reset.
  always @(posedge clk) begin
    if (st_q == StTag) good_q <= ~decrypt_q | (tag == block);
    if (begins) decrypt_q <= decrypt;
    if (begins) nonce_q <= block[127:32];
    else if (rekey) nonce_q <= 96'd0;
    if (begins) counter_q <= 32'd1;
    else if (rekey) counter_q <= 32'd0;
    else if (load) counter_q <= counter_q + 32'd1;
    if (begins) job_q <= JobMask;
    else if (rekey) job_q <= JobSubkey;
    else if (load) job_q <= JobStream;
    if (load) running_q <= job_q;
    if (load | step) begin
      state_q <= load ? swapped({nonce_q, counter_q} ^ key) : mixed ^ next_key;
      round_key_q <= load ? swapped(key) : next_key;
      rcon_q <= load ? 8'h01 : xtime(rcon_q);
    end
    if (done & (running_q == JobSubkey)) subkey_q <= swapped(made);
    if (done & (running_q == JobMask)) mask_q <= made;
    if (done & (running_q == JobStream)) stream_q <= made;

    if (begins) {ad_bytes_q, text_bytes_q} <= 64'd0;
    else if (take & (st_q == StAd)) ad_bytes_q <= ad_bytes_q + {27'd0, count};
    else if (take & (st_q == StText)) text_bytes_q <= text_bytes_q + {27'd0, count};

    fresh_q <= hashes;
    digits_q <= hashes ? 4'd0 : digits_q + 4'd1;
    if (begins) hash_q <= 128'd0;
    else if (hashing_q) hash_q <= reduced;
    factor_q <= hashes ? {hash ^ hashed, 2'd0} : {13'd0, factor_q[129:13]};
  end
endmodule

`default_nettype wire
