#!/usr/bin/env python3
"""Puts what the public LWC bench said of a core into the table of a document; scripts/lwc.sh calls it.

usage: lwc_table.py DOCUMENT SET BENCH GHDL <SAID

SAID has a line for each run: messages, how many there are, how many of them must be refused, how many ran, setting, verdict. Rows of
other cores stay as they are.
"""

import pathlib
import subprocess
import sys

BEGIN, END = "<!-- generated: public bench -->", "<!-- end of generated -->"
SETTINGS = ["no stalls", "stalls at all ports", "stalls at inputs", "stalls at the output", "cycles measured"]
CONTROLS = ["an answer changed", "mutant: any-tag", "mutant: last-byte"]
HEAD = ["core", "messages", "run", "to be refused", *SETTINGS, *CONTROLS, "bench", "GHDL", "commit"]


def commit():
    """Of what the core was made, as far as git knows."""
    git = ["git", "-C", str(pathlib.Path(__file__).parent)]
    known = subprocess.run([*git, "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ":/crates", ":/ctl"], check=False).returncode
    return f"{known}, changed" if changed else known


def rows(said, name, bench, ghdl):
    """A row for each folder of messages."""
    runs = {}
    for line in said:
        kat, wanted, refused, ran, setting, verdict = line.rstrip("\n").split("\t")
        runs.setdefault(kat, []).append((int(wanted), int(refused), int(ran), setting, verdict))
    for kat, all_runs in runs.items():
        settings = [run for run in all_runs if run[3] in SETTINGS]
        # Those of all settings; the fewest, where they are not the same.
        ran, wanted = min(run[2] for run in settings), settings[0][0]
        verdicts = {run[3]: run[4] for run in all_runs}
        cells = [verdicts.get(setting, "–") for setting in SETTINGS + CONTROLS]
        yield [f"`{name}`", kat, f"{ran} of {wanted}", str(settings[0][1]), *cells, f"`{bench}`", ghdl, f"`{commit()}`"]


def main():
    path, name, bench, ghdl = sys.argv[1:]
    text = pathlib.Path(path).read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    table, after = rest.split(END, 1)
    there = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `")]
    new = list(rows(sys.stdin, name, bench, ghdl))
    there = sorted([row for row in there if row[0] != f"`{name}`"] + new, key=lambda row: row[:2])
    lines = [HEAD, ["---", "---", *["--:"] * 2, *["---"] * (len(HEAD) - 4)], *there]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    pathlib.Path(path).write_text(f"{before}{BEGIN}\n{table}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
