"""Runs Yosys of the package pyosys, which has it as machine code, as its command would: [-q] SCRIPT, or --version."""

import os
import sys

from pyosys import libyosys

if sys.argv[1:] == ["--version"]:
    print(libyosys.yosys_maybe_version())
else:
    if sys.argv[1] == "-q":
        # The package has no such option. What it complains of comes by the other output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    libyosys.run_pass("script " + sys.argv[-1], libyosys.Design())
