// The output of the LWC hardware API (GMU, version 1.2, words of 32 bits), as one writes it by hand: up to four words at once go in
// and leave one in a clock cycle.

`default_nettype none

module lwc_back (
  input  wire         clk_i,
  input  wire         rst_ni,
  // Words, the first in the top bits, how many they are, and whether the last one is the last of its message.
  input  wire [127:0] words_i,
  input  wire [2:0]   count_i,
  input  wire         last_i,
  input  wire         valid_i,
  output wire         ready_o,
  output wire [31:0]  do_data_o,
  output wire         do_valid_o,
  output wire         do_last_o,
  input  wire         do_ready_i
);
  reg  [127:0] words_q;
  reg  [2:0]   count_q;
  reg          last_q;

  assign ready_o    = count_q == 3'd0;
  assign do_data_o  = words_q[127:96];
  assign do_valid_o = ~ready_o;
  assign do_last_o  = last_q;

  always @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_q <= 3'd0;
    else if (ready_o) count_q <= valid_i ? count_i : 3'd0;
    else if (do_ready_i) count_q <= count_q - 3'd1;
  end

  // Data need no reset.
  always @(posedge clk_i) begin
    if (ready_o) last_q <= last_i;
    if (ready_o) words_q <= words_i;
    else if (do_ready_i) words_q <= {words_q[95:0], 32'd0};
  end
endmodule

`default_nettype wire
