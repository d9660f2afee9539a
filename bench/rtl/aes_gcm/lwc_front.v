// The inputs of the LWC hardware API (GMU, version 1.2, words of 32 bits) as blocks of up to 16 bytes, as one writes it by hand:
// nonces, associated data, texts and tags come one after the other through one register.
//
// A word moves in a clock cycle; a block is valid in the cycle after its last word. Segments that are not the last of their string
// are multiples of 16 bytes.

`default_nettype none

module lwc_front #(
  // Strings of whole blocks, unless they are empty, have an empty block behind them, for padding.
  parameter [0:0] PADS = 1'b0
) (
  input  wire         clk_i,
  input  wire         rst_ni,
  input  wire [31:0]  pdi_data_i,
  input  wire         pdi_valid_i,
  output reg          pdi_ready_o,
  input  wire [31:0]  sdi_data_i,
  input  wire         sdi_valid_i,
  output wire         sdi_ready_o,
  // A new key is there from the next cycle on. The core says when it may change.
  output reg  [127:0] key_o,
  output wire         rekey_o,
  input  wire         rekey_ready_i,
  // Blocks: the first byte is in the top bits, and what is no byte of the block is 0.
  output reg  [127:0] block_o,
  output reg  [15:0]  bytes_o,
  output reg  [4:0]   count_o,
  output reg  [1:0]   kind_o,
  output reg          last_o,
  output reg          none_o,
  output reg          decrypt_o,
  output reg          valid_o,
  input  wire         take_i,
  // The header of what answers a segment of text; all blocks before it have been taken.
  output wire [31:0]  head_o,
  output wire         head_valid_o,
  input  wire         head_ready_i
);
  localparam [2:0] StInstruction = 3'd0;
  localparam [2:0] StKey         = 3'd1;
  localparam [2:0] StHeader      = 3'd2;
  localparam [2:0] StData        = 3'd3;
  localparam [2:0] StPad         = 3'd4;

  localparam [1:0] KindNonce = 2'd0;
  localparam [1:0] KindAd    = 2'd1;
  localparam [1:0] KindText  = 2'd2;
  localparam [1:0] KindTag   = 2'd3;

  reg  [2:0]  st_d, st_q;
  reg  [2:0]  key_left_q;
  reg  [15:0] left_q;
  reg  [1:0]  word_q;
  // Of the segment: it is the last of its string, and of its message; something of its string has come.
  reg         end_q, stop_q, some_q;

  wire [3:0]  opcode = pdi_data_i[31:28];
  wire        is_text = (opcode == 4'h4) | (opcode == 4'h5);
  wire        is_empty = pdi_data_i[15:0] == 16'd0;
  wire        ends = left_q[15:2] == 14'd0 | left_q == 16'd4;
  wire        full = word_q == 2'd3;
  wire        pads = PADS & full & end_q & (left_q == 16'd4) & ((kind_o == KindAd) | (kind_o == KindText));
  wire        moves = pdi_valid_i & pdi_ready_o;
  wire [3:0]  there = left_q[15:2] != 14'd0 ? 4'b1111 : left_q[1] ? (left_q[0] ? 4'b1110 : 4'b1100) : 4'b1000;
  wire [31:0] word = pdi_data_i & {{8{there[3]}}, {8{there[2]}}, {8{there[1]}}, {8{there[0]}}};
  wire        key_ends = key_left_q == 3'd0;

  assign sdi_ready_o  = st_q == StKey;
  assign rekey_o      = sdi_valid_i & sdi_ready_o & key_ends;
  assign head_valid_o = (st_q == StHeader) & ~valid_o & pdi_valid_i & is_text;
  assign head_o       = decrypt_o ? {4'h4, 2'b00, {2{pdi_data_i[25]}}, 8'd0, pdi_data_i[15:0]}
                                  : {4'h5, 2'b00, pdi_data_i[25], 9'd0, pdi_data_i[15:0]};

  always @* begin : control
    st_d = st_q;
    pdi_ready_o = 1'b0;
    case (st_q)
      StInstruction: begin
        pdi_ready_o = (opcode != 4'h7) | rekey_ready_i;
        if (moves) begin
          if (opcode == 4'h7) st_d = StKey;
          if (opcode[3:1] == 3'b001) st_d = StHeader;
        end
      end
      StKey: if (rekey_o) st_d = StInstruction;
      StHeader: begin
        pdi_ready_o = ~valid_o & (~is_text | head_ready_i);
        if (moves) st_d = ~is_empty ? StData : pdi_data_i[24] ? StInstruction : StHeader;
      end
      StData: begin
        pdi_ready_o = ~valid_o;
        if (moves & ends) st_d = pads ? StPad : stop_q ? StInstruction : StHeader;
      end
      default: if (~valid_o) st_d = stop_q ? StInstruction : StHeader;
    endcase
  end

  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      st_q <= StInstruction;
      valid_o <= 1'b0;
    end else begin
      st_q <= st_d;
      case (st_q)
        StHeader: valid_o <= (valid_o & ~take_i) | (moves & is_empty & pdi_data_i[25]);
        StData:   valid_o <= (valid_o & ~take_i) | (moves & (full | ends));
        StPad:    valid_o <= ~valid_o | ~take_i;
        default:  valid_o <= valid_o & ~take_i;
      endcase
    end
  end

  // Data need no reset.
  always @(posedge clk_i) begin
    if (st_q == StInstruction) begin
      key_left_q <= 3'd5;
      if (moves) begin
        decrypt_o <= opcode[0];
        end_q <= 1'b1;
      end
    end
    // Instruction and header go through the key, too, and out of it.
    if (sdi_valid_i & sdi_ready_o) begin
      key_o <= {key_o[95:0], sdi_data_i};
      key_left_q <= key_left_q - 3'd1;
    end
    if ((st_q == StHeader) & moves) begin
      case (opcode)
        4'hd:    kind_o <= KindNonce;
        4'h1:    kind_o <= KindAd;
        4'h8:    kind_o <= KindTag;
        default: kind_o <= KindText;
      endcase
      left_q <= pdi_data_i[15:0];
      end_q <= pdi_data_i[25];
      stop_q <= pdi_data_i[24];
      some_q <= ~end_q & some_q | ~is_empty;
    end
    if (~valid_o & (st_q != StData)) begin
      word_q <= 2'd0;
      block_o <= 128'd0;
      bytes_o <= 16'd0;
      count_o <= 5'd0;
      last_o <= 1'b1;
      none_o <= (st_q == StHeader) & (end_q | ~some_q);
    end
    if ((st_q == StData) & moves) begin
      word_q <= ends ? 2'd0 : word_q + 2'd1;
      left_q <= left_q - 16'd4;
      last_o <= ends & end_q & ~pads;
      none_o <= 1'b0;
      count_o <= {3'd0, word_q} * 5'd4 + (there[0] ? 5'd4 : {3'd0, left_q[1:0]});
      if (word_q == 2'd0) {block_o, bytes_o} <= {word, 96'd0, there, 12'd0};
      if (word_q == 2'd1) {block_o[95:64], bytes_o[11:8]} <= {word, there};
      if (word_q == 2'd2) {block_o[63:32], bytes_o[7:4]} <= {word, there};
      if (word_q == 2'd3) {block_o[31:0], bytes_o[3:0]} <= {word, there};
    end
  end
endmodule

`default_nettype wire
