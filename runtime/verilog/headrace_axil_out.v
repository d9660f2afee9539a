// A register behind a port that gives beats: words of 32 bits are read one after another, the lowest first.
module headrace_axil_out #(
  parameter BITS = 32,
  parameter [15:0] WORDS = 16'd1
) (
  input  wire            aclk,
  input  wire            aresetn,
  input  wire            read_i,
  output wire [31:0]     word_o,
  input  wire [BITS-1:0] data_i,
  input  wire            valid_i,
  output wire            ready_o
);
  reg  [15:0]         at_q;
  wire [32*WORDS-1:0] words;
  wire [32*WORDS-1:0] shifted = words >> {at_q, 5'h0};
  wire                is_last = at_q == WORDS - 16'd1;

  generate
    if (32 * WORDS > BITS) begin : wider
      assign words = {{(32*WORDS-BITS){1'b0}}, data_i};
    end else begin : exact
      assign words = data_i;
    end
    if (WORDS > 1) begin : several
      wire unused = &{1'b0, shifted[32*WORDS-1:32]};
    end
  endgenerate

  assign word_o = shifted[31:0];
  assign ready_o = read_i & is_last;

  always @(posedge aclk or negedge aresetn) begin
    if (!aresetn) at_q <= 16'h0;
    else if (read_i & valid_i) at_q <= is_last ? 16'h0 : at_q + 16'h1;
  end
endmodule
