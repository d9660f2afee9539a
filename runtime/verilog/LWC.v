// The ports of the LWC hardware API, around CORE.
// Words are big-endian: the first byte of a string is in the top bits. rst is synchronous, active high.

module LWC (
  input  wire        clk,
  input  wire        rst,
  input  wire [WORD_TOP:0] pdi_data,
  input  wire        pdi_valid,
  output wire        pdi_ready,
  input  wire [31:0] sdi_data,
  input  wire        sdi_valid,
  output wire        sdi_ready,
  output wire [WORD_TOP:0] do_data,
  output wire        do_valid,
  input  wire        do_ready,
  output wire        do_last
);
  CORE core (
    .clk_i(clk),
    .rst_ni(~rst),
    .Pdi_data_i(pdi_data),
    .Pdi_valid_i(pdi_valid),
    .Pdi_ready_o(pdi_ready),
SDI_PORTS
    .Do_data_o({do_last, do_data}),
    .Do_valid_o(do_valid),
    .Do_ready_i(do_ready)
  );
SDI_UNUSED
endmodule
