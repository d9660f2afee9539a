#!/usr/bin/env python3
"""Runs the tests of all crates, as many test programs at once as there are processors.

usage: scripts/crate_tests.py PROFILE

`cargo test` runs one test program after the other, and several of them are one long test of another toolchain. Programs are
started in the order of the packages' sizes, the largest first; what one prints is shown when it ends, as a whole where it failed.
"""

import collections
import json
import os
import subprocess
import sys
import threading
import time

CARGO = os.environ.get("CARGO", "cargo")
FLAGS = ["--locked", "--workspace", "--profile", sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)]


def programs():
    """The test programs and the folders of their packages."""
    command = [CARGO, "test", *FLAGS, "--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if built.returncode:
        sys.exit(built.returncode)
    found = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            found.append((message["executable"], os.path.dirname(message["manifest_path"]), message["target"]["name"]))
    sizes = collections.Counter(folder for _, folder, _ in found)
    return sorted(found, key=lambda program: (-sizes[program[1]], program[1], program[2]))


def run(command, folder, name):
    """Runs one, shows what it printed, and tells whether it passed."""
    began = time.time()
    ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = ended.stdout.decode("utf-8", "replace")
    summary = next((line for line in reversed(text.splitlines()) if line.startswith("test result: ")), "no test result")
    with SHOWN:
        print(f"{time.time() - began:6.1f} s  {os.path.basename(folder)} {name}: {summary.removeprefix('test result: ')}")
        if ended.returncode:
            print(text, flush=True)
    return ended.returncode == 0


SHOWN = threading.Lock()
waiting = collections.deque(programs())
failed = []


def work():
    while True:
        try:
            program, folder, name = waiting.popleft()
        except IndexError:
            return
        if not run([program, "--quiet"], folder, name):
            failed.append(f"{os.path.basename(folder)} {name}")


workers = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
if not run([CARGO, "test", *FLAGS, "--doc", "--quiet"], os.getcwd(), "examples in documentation"):
    failed.append("examples in documentation")
if failed:
    sys.exit("failed: " + ", ".join(failed))
