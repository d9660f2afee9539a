// A register behind a port that takes beats: words of 32 bits are collected, the first in the lowest bits.
module headrace_axil_in #(
  parameter BITS = 32,
  parameter [15:0] WORDS = 16'd1
) (
  input  wire            aclk,
  input  wire            aresetn,
  input  wire            write_i,
  input  wire [31:0]     word_i,
  output wire            ready_o,
  output wire [BITS-1:0] data_o,
  output wire            valid_o,
  input  wire            ready_i
);
  reg [32*WORDS-1:0] words_q;
  reg [15:0]         left_q;

  assign ready_o = left_q != 16'h0;
  assign valid_o = left_q == 16'h0;
  assign data_o = words_q[BITS-1:0];

  generate
    if (WORDS == 1) begin : one
      always @(posedge aclk or negedge aresetn) begin
        if (!aresetn) words_q <= 32'h0;
        else if (write_i & ready_o) words_q <= word_i;
      end
    end else begin : several
      always @(posedge aclk or negedge aresetn) begin
        if (!aresetn) words_q <= {WORDS{32'h0}};
        else if (write_i & ready_o) words_q <= {word_i, words_q[32*WORDS-1:32]};
      end
    end
    if (32 * WORDS > BITS) begin : wider
      wire unused = &{1'b0, words_q[32*WORDS-1:BITS]};
    end
  endgenerate

  always @(posedge aclk or negedge aresetn) begin
    if (!aresetn) left_q <= WORDS;
    else if (valid_o & ready_i) left_q <= WORDS;
    else if (write_i & ready_o) left_q <= left_q - 16'h1;
  end
endmodule
