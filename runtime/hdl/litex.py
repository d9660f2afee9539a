"""@module@ for LiteX. @head@"""

import os

from migen import ClockSignal, Instance, ResetSignal

from litex.gen import LiteXModule
from litex.soc.interconnect import @imports@

SOURCES = [
@source_files@]


class @class@(LiteXModule):
    """@about@ In the clock domain `sys`."""

    def __init__(self, platform):
        @endpoints@
        folder = os.path.dirname(os.path.abspath(__file__))
        for source in SOURCES:
            platform.add_source(os.path.join(folder, source))
        self.specials += Instance(
            "@module@",
            @connected@
        )
