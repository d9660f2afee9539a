// A register behind a port that takes bytes, which go out one after another, the lowest first. The strobe says how many there are:
// one, two, three or four, from the lowest on.
module headrace_axil_bytes (
  input  wire        aclk,
  input  wire        aresetn,
  input  wire        write_i,
  input  wire [31:0] word_i,
  input  wire [3:0]  strobe_i,
  output wire        ready_o,
  output wire [7:0]  data_o,
  output wire        valid_o,
  input  wire        ready_i
);
  reg [31:0] word_q;
  reg [3:0]  there_q;

  assign ready_o = ~there_q[0];
  assign valid_o = there_q[0];
  assign data_o = word_q[7:0];

  always @(posedge aclk or negedge aresetn) begin
    if (!aresetn) begin
      word_q <= 32'h0;
      there_q <= 4'h0;
    end else if (write_i & ready_o) begin
      word_q <= word_i;
      there_q <= strobe_i;
    end else if (valid_o & ready_i) begin
      word_q <= {8'h0, word_q[31:8]};
      there_q <= {1'b0, there_q[3:1]};
    end
  end
endmodule
