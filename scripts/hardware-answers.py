#!/usr/bin/env python3
"""Known answers in simulators, one operation after the other: an operation of each primitive first, then one of each parameter set,
then all others, each in an order that the seed chooses.

usage: scripts/hardware-answers.py HEADRACE PLACE SEED SECONDS DOCUMENT

PLACE is a target of `headrace test --on`: verilog, verilog-actors, verilog-icarus, vhdl. The table of DOCUMENT says which operations have
known answers, and gets what passed; what passed by it is not tried again, so it goes on where it ended, or stopped after SECONDS.
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import time


def operations(headrace, seed):
    """All operations that have projects: primitive, set, name; some names stand there for each size of a cipher."""
    listed = json.loads(subprocess.run([headrace, "list", "primitives", "--json"], capture_output=True, check=True).stdout)
    found = {
        (row["name"], one["set"], one["operation"])
        for row in listed
        if not row["name"].startswith("ctl/parts/")
        for one in row["details"]["operations"]
    }
    found = sorted(found)
    random.Random(seed).shuffle(found)
    return found


def in_order(found):
    """One of each primitive, one of each parameter set, all."""
    left = list(found)
    for kind in (lambda one: one[0], lambda one: one[1], lambda one: one):
        seen = set()
        for one in list(left):
            if kind(one) not in seen:
                seen.add(kind(one))
                left.remove(one)
                yield one


def column(document, place):
    """Of each operation in its first variant, what a document says of it in this place."""
    table = pathlib.Path(document).read_text(encoding="utf-8").split("<!-- generated: known-answers -->")[1]
    head, said = [], {}
    for line in table.split("<!-- end")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "set":
            head = cells
        elif cells[0].startswith("`") and place in head:
            said.setdefault((cells[0].strip("`"), cells[1]), cells[head.index(place)])
    return said


def main():
    headrace, place, seed, seconds, document = sys.argv[1:]
    until = time.monotonic() + float(seconds)
    answers, there = column(document, "interp"), column(document, place)
    found = [one for one in operations(headrace, int(seed)) if answers.get(one[1:], "–") != "–"]
    passed, failed = set(), set()
    for one in in_order(found):
        if there.get(one[1:], "").isdigit():
            passed.add(one)
            continue
        if time.monotonic() > until:
            continue
        command = [headrace, "test", *one[1:], "--on", place, "--jobs", "1", "--timeout", "300", "--into", document]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        said = ended.stdout + ended.stderr
        # Records of some are all longer than what projects hold: then nothing passed.
        if ended.returncode:
            failed.add(one)
            print(said)
        elif re.search(r"^[1-9][0-9]* passed", said, re.M):
            passed.add(one)
        print(f"{one[1]} {one[2]}: {(re.findall(r'[0-9]+ passed, .*', said) or ['no counts'])[-1]}", flush=True)
    counts = [
        f"{len({kind(one) for one in passed})} {name} of {len({kind(one) for one in found})}"
        for name, kind in (
            ("operations", lambda one: one[1:]),
            ("primitives", lambda one: one[0]),
            ("parameter sets", lambda one: one[1]),
        )
    ]
    print(f"{place}: passed in one operation or more: {', '.join(counts)}; {len(failed)} failed")
    sys.exit(len(failed) > 0)


if __name__ == "__main__":
    main()
