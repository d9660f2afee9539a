"""Messages of kat/ through the core at the ports of the LWC hardware API. `python3 test/test_LWC.py` runs it in Icarus with cocotb 2;
KAT, SIM, MESSAGES and SEED choose another folder of messages, another simulator, how many messages there are, and the stalls."""

import os
import random
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
KAT = FOLDER / os.environ.get("KAT", "kat")
TOP = "LWC"
SOURCES = [SOURCES]


def messages(name):
    """The words of a file, by message; what stands before the first one is the first of it."""
    found = []
    for line in (KAT / f"{name}.txt").read_text().splitlines():
        if line.startswith("#### MsgID="):
            found.append([])
        elif " = " in line and not line.startswith("#"):
            found[-1].append(int(line.split(" = ")[1], 16))
    return found


def keys():
    lines = (KAT / "sdi.txt").read_text().splitlines()
    return [int(line.split(" = ")[1], 16) for line in lines if " = " in line and not line.startswith("#")]


try:
    import cocotb
    from cocotb.clock import Clock
    from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
except ImportError:
    cocotb = None
else:

    async def source(dut, port, words, chance):
        data, valid, ready = (getattr(dut, f"{port}_{signal}") for signal in ("data", "valid", "ready"))
        for word in words:
            while random.random() > chance:
                await RisingEdge(dut.clk)
            data.value = word
            valid.value = 1
            moved = False
            while not moved:
                await ReadOnly()
                moved = bool(int(ready.value))
                await RisingEdge(dut.clk)
            valid.value = 0

    async def sink(dut, wanted, chance):
        """Compares each word with the one that must come, and whether it is said to be the last."""
        for number, message in enumerate(wanted, 1):
            for at, word in enumerate(message):
                moved = False
                while not moved:
                    dut.do_ready.value = int(random.random() < chance)
                    await ReadOnly()
                    moved = bool(int(dut.do_valid.value) and int(dut.do_ready.value))
                    if moved:
                        found, last = int(dut.do_data.value), int(dut.do_last.value)
                        assert found == word, f"message {number}, word {at}: {found:x} and not {word:x}"
                        assert last == int(at + 1 == len(message)), f"message {number}, word {at}"
                    await RisingEdge(dut.clk)

    @cocotb.test()
    async def known_answers(dut):
        random.seed(int(os.environ.get("SEED", "1")))
        cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
        most = int(os.environ.get("MESSAGES", "1000000"))
        given, wanted = messages("pdi")[:most], messages("do")[:most]
        assert len(given) == len(wanted) > 0 and all(wanted)
        dut.pdi_valid.value = dut.sdi_valid.value = dut.do_ready.value = 0
        dut.rst.value = 1
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await RisingEdge(dut.clk)
        for port, words in (("pdi", sum(given, [])), ("sdi", keys())):
            cocotb.start_soon(source(dut, port, words, 0.8))
        await with_timeout(sink(dut, wanted, 0.8), 1000, "ms")
        dut._log.info("%d messages passed", len(wanted))


if __name__ == "__main__":
    from cocotb_tools.runner import get_runner

    runner = get_runner(os.environ.get("SIM", "icarus"))
    build = FOLDER / "build_cocotb"
    runner.build(sources=[FOLDER / source for source in SOURCES], hdl_toplevel=TOP, build_dir=build, timescale=("1ns", "1ps"))
    results = runner.test(hdl_toplevel=TOP, test_module=f"test_{TOP}", test_dir=Path(__file__).resolve().parent, build_dir=build)
    from cocotb_tools.check_results import get_results

    raise SystemExit(get_results(results)[1] != 0)
