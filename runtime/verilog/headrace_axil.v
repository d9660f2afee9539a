// An AXI4-Lite slave with words of 32 bits: accesses one after another, each answered in the next clock cycle. Strobes go to
// whoever is written to; what has no place there says so by an error, which the response carries.

module headrace_axil #(
  parameter ADDRESS_BITS = 8
) (
  input  wire                    aclk,
  input  wire                    aresetn,
  input  wire [ADDRESS_BITS-1:0] s_axil_awaddr,
  input  wire                    s_axil_awvalid,
  output wire                    s_axil_awready,
  input  wire [31:0]             s_axil_wdata,
  input  wire [3:0]              s_axil_wstrb,
  input  wire                    s_axil_wvalid,
  output wire                    s_axil_wready,
  output wire [1:0]              s_axil_bresp,
  output wire                    s_axil_bvalid,
  input  wire                    s_axil_bready,
  input  wire [ADDRESS_BITS-1:0] s_axil_araddr,
  input  wire                    s_axil_arvalid,
  output wire                    s_axil_arready,
  output wire [31:0]             s_axil_rdata,
  output wire [1:0]              s_axil_rresp,
  output wire                    s_axil_rvalid,
  input  wire                    s_axil_rready,
  output wire                    write_o,
  output wire [ADDRESS_BITS-1:0] write_address_o,
  output wire [31:0]             write_data_o,
  output wire [3:0]              write_strobe_o,
  input  wire                    write_error_i,
  output wire                    read_o,
  output wire [ADDRESS_BITS-1:0] read_address_o,
  input  wire [31:0]             read_data_i,
  input  wire                    read_error_i
);
  reg        bvalid_q;
  reg        berror_q;
  reg        rvalid_q;
  reg        rerror_q;
  reg [31:0] rdata_q;

  // Address and data of a write are taken together, when the response before has gone.
  assign write_o = s_axil_awvalid & s_axil_wvalid & (~bvalid_q | s_axil_bready);
  assign s_axil_awready = write_o;
  assign s_axil_wready = write_o;
  assign write_address_o = s_axil_awaddr;
  assign write_data_o = s_axil_wdata;
  assign write_strobe_o = s_axil_wstrb;
  assign s_axil_bvalid = bvalid_q;
  assign s_axil_bresp = {berror_q, 1'b0};

  assign read_o = s_axil_arvalid & (~rvalid_q | s_axil_rready);
  assign s_axil_arready = read_o;
  assign read_address_o = s_axil_araddr;
  assign s_axil_rvalid = rvalid_q;
  assign s_axil_rdata = rdata_q;
  assign s_axil_rresp = {rerror_q, 1'b0};

  always @(posedge aclk or negedge aresetn) begin
    if (!aresetn) begin
      bvalid_q <= 1'b0;
      berror_q <= 1'b0;
      rvalid_q <= 1'b0;
      rerror_q <= 1'b0;
      rdata_q <= 32'h0;
    end else begin
      bvalid_q <= write_o | (bvalid_q & ~s_axil_bready);
      if (write_o) berror_q <= write_error_i;
      rvalid_q <= read_o | (rvalid_q & ~s_axil_rready);
      if (read_o) begin
        rerror_q <= read_error_i;
        rdata_q <= read_data_i;
      end
    end
  end
endmodule

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
