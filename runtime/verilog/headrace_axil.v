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
