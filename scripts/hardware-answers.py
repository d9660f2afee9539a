#!/usr/bin/env python3
"""Known answers in simulators, one operation after the other: an operation of each primitive first, then one of each parameter set,
then all others, each in an order that the seed chooses.

usage: scripts/hardware-answers.py HEADRACE PLACE SEED SECONDS [DOCUMENT]

PLACE is a target of `headrace test --on`: verilog, vhdl, verilog-icarus. Stops after SECONDS. With DOCUMENT, its table has what passed, and
operations that passed by it are not tried again: it goes on where it ended.
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import time


def operations(headrace, seed):
    """All operations that have projects, each as a set and a name."""
    listed = json.loads(subprocess.run([headrace, "list", "primitives", "--json"], capture_output=True, check=True).stdout)
    found = [
        (row["name"], one["set"], one["operation"])
        for row in listed
        if not row["name"].startswith("ctl/parts/")
        for one in row["details"]["operations"]
    ]
    random.Random(seed).shuffle(found)
    for known in (lambda one: one[0], lambda one: one[1], lambda one: one):
        seen = set()
        for one in list(found):
            if known(one) not in seen:
                seen.add(known(one))
                found.remove(one)
                yield one[1:]


def passed(document, place):
    """The operations that passed in this place in their first variant, as a document says."""
    there, at = set(), None
    if document is None:
        return there
    table = pathlib.Path(document).read_text(encoding="utf-8").split("<!-- generated: known-answers -->")[1]
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "set":
            at = cells.index(place) if place in cells else None
        elif at is not None and line.startswith("| `") and re.fullmatch(r"[0-9]+|–", cells[at]):
            there.add((cells[0].strip("`"), cells[1]))
    return there


def main():
    headrace, place, seed, seconds, *into = sys.argv[1:]
    document = into[0] if into else None
    until = time.monotonic() + float(seconds)
    done = passed(document, place)
    n_passed = n_failed = n_without = 0
    for name, operation in operations(headrace, int(seed)):
        if time.monotonic() > until:
            break
        if (name, operation) in done:
            n_passed += 1
            continue
        command = [headrace, "test", name, operation, "--on", place, "--jobs", "1", "--timeout", "300"]
        ended = subprocess.run(
            command + (["--into", document] if document else []), capture_output=True, text=True, check=False
        )
        said = ended.stdout + ended.stderr
        last = (said.strip().splitlines() or ["nothing"])[-1]
        if "there are no known answers for" in said:
            n_without += 1
            continue
        if ended.returncode == 0:
            n_passed += 1
        else:
            n_failed += 1
            print(said)
        print(f"{name} {operation}: {last}", flush=True)
    print(f"{n_passed} operations passed, {n_failed} failed, {n_without} without known answers")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
