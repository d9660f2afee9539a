#!/usr/bin/env python3
"""Compiles bench/xls by Google XLS, as a peer for `headrace synth`: scripts/peers-xls.py FOLDER (pip install xls-python).

Each FILE.x becomes FOLDER/FILE/FILE.v, one stage with a valid/ready stream at each side. XLS writes a constant array as wires of an
array that are assigned one by one, of which Yosys makes multiplexers; here it is a memory with initial values, as tables of ours and of
the cores by hand are, so that all go through the same pass for tables. Where there is an iverilog, known answers are simulated, two
blocks back to back, and the clock cycles from one to the next are printed: what --cycles of `headrace synth` is to be told.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Of each description what goes in, and what comes out: FIPS 197, appendix B; FIPS 180-4, the message 'abc'.
H0 = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19"
ANSWERS = {
    "aes128": ("2b7e151628aed2a6abf7158809cf4f3c3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    "sha256": (H0 + (b"abc\x80" + bytes(59) + b"\x18").hex(), hashlib.sha256(b"abc").hexdigest()),
}

BENCH = """module bench;
  reg clk = 0, rst = 1;
  integer at = 0, n = 0, last = 0;
  wire valid;
  wire [{out}:0] data;
  {name} dut(.clk(clk), .rst(rst), .{name}__blocks_data({given}), .{name}__blocks_valid(1'b1), .{name}__blocks_ready(),
    .{name}__result_data(data), .{name}__result_valid(valid), .{name}__result_ready(1'b1));
  always #5 clk = ~clk;
  always @(posedge clk) begin
    at <= at + 1;
    if (at == 3) rst <= 0;
    if (valid && !rst) begin
      if (data !== {wanted}) begin $display("wrong: %h", data); $finish; end
      if (n == 2) begin $display("%0d", at - last); $finish; end
      n <= n + 1;
      last <= at;
    end
    if (at > 1000) begin $display("nothing came"); $finish; end
  end
endmodule
"""


def with_memories(verilog):
    """Arrays of constants as memories with initial values."""
    for name in re.findall(r"^  wire \[\d+:0\] (\w+)\[0:\d+\];$", verilog, re.M):
        places = re.findall(rf"^  assign {name}\[(\d+)\] = (\d+'h[0-9a-f_]+);\n", verilog, re.M)
        everywhere = re.findall(rf"^  assign {name}\[", verilog, re.M)
        if not places or len(places) != len(everywhere):
            continue
        verilog = re.sub(rf"^  assign {name}\[.*\n", "", verilog, flags=re.M)
        values = "".join(f"    {name}[{at}] = {value};\n" for at, value in places)
        last = len(places) - 1
        declared = rf"^  wire (\[\d+:0\]) {name}\[0:\d+\];\n"
        verilog = re.sub(declared, lambda m: f"  reg {m[1]} {name}[0:{last}];\n  initial begin\n{values}  end\n", verilog, flags=re.M)
    return verilog


def compiled(path):
    """The Verilog of a description."""
    import xls

    ir = xls.convert_dslx_to_ir(path.read_text(), str(path), path.stem)
    top = re.findall(r"proc (\w+)", ir)[-1]
    package = xls.parse_ir_package(xls.optimize_ir(ir, top))
    suffixes = {f"streaming_channel_{what}_suffix": f"_{what}" for what in ("data", "valid", "ready")}
    result = package.schedule_and_codegen(
        generator="pipeline", pipeline_stages=1, delay_model="unit", module_name=path.stem, top=top, reset="rst",
        reset_active_low=False, reset_asynchronous=False, use_system_verilog=False, flop_inputs=False, flop_outputs=False, **suffixes,
    )
    text = getattr(result, "verilog_text", None) or xls.c_api.xls_schedule_and_codegen_result_get_verilog_text(result)
    return with_memories(text() if callable(text) else text)


def cycles(name, verilog):
    """Clock cycles from a block to the next, as a message."""
    given, wanted = ANSWERS[name]
    hexadecimal = lambda digits: f"{4 * len(digits)}'h{digits}"
    bench = BENCH.format(name=name, out=4 * len(wanted) - 1, given=hexadecimal(given), wanted=hexadecimal(wanted))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "bench.v")
        source.write_text(bench)
        program = str(pathlib.Path(folder, "bench.vvp"))
        subprocess.run(["iverilog", "-g2012", "-s", "bench", "-o", program, str(source), str(verilog)], check=True)
        return subprocess.run(["vvp", "-n", program], check=True, capture_output=True, text=True).stdout.strip()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent.parent / "bench" / "xls"
    for path in sorted(here.glob("*.x")):
        folder = pathlib.Path(sys.argv[1], path.stem)
        folder.mkdir(parents=True, exist_ok=True)
        verilog = folder / f"{path.stem}.v"
        verilog.write_text(compiled(path))
        print(path.stem, "cycles a block:", cycles(path.stem, verilog) if shutil.which("iverilog") else "not simulated")


if __name__ == "__main__":
    main()
