"""Known answers through TOP at its buses, driven as software drives it. `python3 FOLDERtest/test_TOP.py` runs it in Icarus with cocotb 2;
SIM, MESSAGES and SEED choose another simulator, how many messages there are, and the stalls."""

import os
import random
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
TOP = "TOP"
SOURCES = [SOURCES]
# Ports: name, address of its register or None, what its stream is called, bits of a beat, whether bytes go one by one.
INPUTS = [INPUTS]
OUTPUTS = [OUTPUTS]
STATUS = 0x10
IDENTITY = IDENTITY


def tokens(name):
    return [int(line, 16) for line in (FOLDER / "kat" / f"{name}.hex").read_text().split()]


def messages(most):
    """What goes in at each input, and what comes out of each output, with whether more may come."""
    counts = tokens("counts")[1:]
    ins = {name: tokens(f"{name}_in") for name, *_ in INPUTS}
    outs = {name: tokens(f"{name}_out") for name, *_ in OUTPUTS}
    n_columns = len(INPUTS) + len(OUTPUTS)
    at = dict.fromkeys([*ins, *outs], 0)
    for first in range(0, min(len(counts), most * n_columns), n_columns):
        row = counts[first : first + n_columns]
        message = ({}, {})
        for (name, *_), count in zip(INPUTS, row):
            message[0][name] = ins[name][at[name] : at[name] + count]
            at[name] += count
        for (name, *_), count in zip(OUTPUTS, row[len(INPUTS) :]):
            n = count & 0x7FFFFFFF
            message[1][name] = (outs[name][at[name] : at[name] + n], count >> 31)
            at[name] += n
        yield message


try:
    import cocotb
    from cocotb.clock import Clock
    from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
except ImportError:
    cocotb = None
else:

    class Core:
        def __init__(self, dut, chance):
            self.dut, self.chance = dut, chance
            self.got = {name: [] for name, *_ in OUTPUTS}

        async def edge(self):
            await RisingEdge(self.dut.aclk)

        async def shaken(self, valid, ready):
            """Waits for the edge at which both are set."""
            while True:
                await ReadOnly()
                moves = int(valid.value) and int(ready.value)
                await self.edge()
                if moves:
                    return

        async def write(self, address, word, strobe=0xF):
            dut = self.dut
            dut.s_axil_awaddr.value, dut.s_axil_wdata.value, dut.s_axil_wstrb.value = address, word, strobe
            dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = dut.s_axil_bready.value = 1
            await self.shaken(dut.s_axil_awvalid, dut.s_axil_awready)
            dut.s_axil_awvalid.value = dut.s_axil_wvalid.value = 0
            await ReadOnly()
            assert int(dut.s_axil_bvalid.value) == 1
            response = int(dut.s_axil_bresp.value)
            await self.edge()
            dut.s_axil_bready.value = 0
            return response

        async def read(self, address):
            dut = self.dut
            dut.s_axil_araddr.value = address
            dut.s_axil_arvalid.value = dut.s_axil_rready.value = 1
            await self.shaken(dut.s_axil_arvalid, dut.s_axil_arready)
            dut.s_axil_arvalid.value = 0
            await ReadOnly()
            assert int(dut.s_axil_rvalid.value) == 1
            word, response = int(dut.s_axil_rdata.value), int(dut.s_axil_rresp.value)
            await self.edge()
            dut.s_axil_rready.value = 0
            return word, response

        def signal(self, side, bus, name):
            return getattr(self.dut, f"{side}_axis{bus}_t{name}")

        async def source(self, bus, beats):
            valid, ready = self.signal("s", bus, "valid"), self.signal("s", bus, "ready")
            for beat in beats:
                while random.random() > self.chance:
                    await self.edge()
                self.signal("s", bus, "data").value = beat
                valid.value = 1
                await self.shaken(valid, ready)
                valid.value = 0

        async def sink(self, name, bus):
            valid, ready = self.signal("m", bus, "valid"), self.signal("m", bus, "ready")
            while True:
                ready.value = int(random.random() < self.chance)
                await ReadOnly()
                if int(valid.value) and int(ready.value):
                    self.got[name].append(int(self.signal("m", bus, "data").value))
                await self.edge()

        async def control(self, given, done):
            left = {name: list(beats) for name, beats in given.items()}
            while any(left.values()) or not done(self.got):
                status, _ = await self.read(STATUS)
                number = 0
                for name, address, _, bits, is_bytes in INPUTS:
                    if address is None:
                        continue
                    if left[name] and status >> number & 1:
                        if is_bytes:
                            n = min(4, len(left[name]))
                            word = int.from_bytes(bytes(left[name][:n]), "little")
                            del left[name][:n]
                            assert await self.write(address, word, (1 << n) - 1) == 0
                        else:
                            beat = left[name].pop(0)
                            for at in range(0, bits, 32):
                                assert await self.write(address, beat >> at & 0xFFFFFFFF) == 0
                    number += 1
                number = 16
                for name, address, _, bits, _ in OUTPUTS:
                    if address is None:
                        continue
                    if status >> number & 1:
                        beat = 0
                        for at in range(0, bits, 32):
                            word, response = await self.read(address)
                            assert response == 0
                            beat |= word << at
                        self.got[name].append(beat)
                    number += 1

    @cocotb.test()
    async def known_answers(dut):
        random.seed(int(os.environ.get("SEED", "1")))
        cocotb.start_soon(Clock(dut.aclk, 10, unit="ns").start())
        for _, address, bus, *_ in INPUTS:
            if address is None:
                getattr(dut, f"s_axis{bus}_tvalid").value = 0
        for signal in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            getattr(dut, f"s_axil_{signal}").value = 0
        n_passed = 0
        for given, wanted in messages(int(os.environ.get("MESSAGES", "8"))):
            dut.aresetn.value = 0
            for _ in range(3):
                await RisingEdge(dut.aclk)
            dut.aresetn.value = 1
            await RisingEdge(dut.aclk)
            core = Core(dut, random.choice([1.0, 0.7, 0.3]))
            assert (await core.read(0))[0] == IDENTITY
            assert (await core.read(0x3C))[1] == 2, "no register is there, and none says so"
            tasks = [cocotb.start_soon(core.source(bus, given[name])) for name, a, bus, *_ in INPUTS if a is None]
            tasks += [cocotb.start_soon(core.sink(name, bus)) for name, a, bus, *_ in OUTPUTS if a is None]
            done = lambda got: all(len(got[name]) >= len(beats) for name, (beats, _) in wanted.items())
            await with_timeout(core.control({n: given[n] for n, a, *_ in INPUTS if a is not None}, done), 10, "ms")
            for name, (beats, more) in wanted.items():
                found = core.got[name]
                assert found[: len(beats)] == beats and (more or len(found) == len(beats)), (name, found, beats)
            for task in tasks:
                task.cancel()
            n_passed += 1
        assert n_passed > 0
        dut._log.info("%d messages passed", n_passed)


if __name__ == "__main__":
    from cocotb_tools.runner import get_runner

    runner = get_runner(os.environ.get("SIM", "icarus"))
    build = FOLDER / "build_cocotb"
    runner.build(sources=[FOLDER / source for source in SOURCES], hdl_toplevel=TOP, build_dir=build, timescale=("1ns", "1ps"))
    results = runner.test(hdl_toplevel=TOP, test_module=f"test_{TOP}", test_dir=Path(__file__).resolve().parent, build_dir=build)
    from cocotb_tools.check_results import get_results

    raise SystemExit(get_results(results)[1] != 0)
