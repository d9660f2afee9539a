#!/usr/bin/env python3
"""Runs the tests of all crates, as many test programs at once as there are processors.

usage: scripts/crate_tests.py PROFILE

`cargo test` runs one test program after the other, and several of them are one long test of another toolchain. Programs are
started in the order of the packages' sizes, the largest first; what one prints is shown when it ends, as a whole where it failed.

Programs that compile much with toolchains of their own, for one target or one kind of loops, take turns: a third of them a day,
or those that TARGET_SEED chooses. With CRATES=all the others follow, as long as time is left: none of them begins when
CRATES_SECONDS have passed since TESTS_BEGAN, in seconds since 1970, where building began. Those that were not run are listed.
"""

import collections
import json
import os
import subprocess
import sys
import threading
import time

CARGO = os.environ.get("CARGO", "cargo")
# Programs of `driver`, `testkit` and `targets` that take turns, those of like length one after the other.
TURNS = """
printed lowered whole
kernel_library kernel_loops on_targets
rust_crates java_projects device_projects
cpp_projects llvm_modules openssl_provider
long_inputs printed_llvm printed_hdl
examples npm_packages freestanding
kernel_blocks bench_targets names
hdl_projects several_sets hdl_figures
codesign_projects
""".split()
# CI has an hour, in which tools come before this, and what has begun, lints and samples come behind: it took longer where
# these programs had 1,200 s of their own after building.
BEGAN = int(os.environ.get("TESTS_BEGAN") or time.time())
SECONDS = int(os.environ.get("CRATES_SECONDS") or 1300)
FLAGS = ["--locked", "--workspace", "--profile", sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)]


def programs():
    """The test programs and the folders of their packages: those that are run, and those that are if there is time."""
    command = [CARGO, "test", *FLAGS, "--no-run", "--message-format", "json-render-diagnostics"]
    built = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    if built.returncode:
        sys.exit(built.returncode)
    found = []
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message.get("executable"):
            found.append((message["executable"], os.path.dirname(message["manifest_path"]), message["target"]["name"]))
    turn = int(os.environ.get("TARGET_SEED") or time.time() // (24 * 60 * 60)) % 3
    late = [program for program in found if program[2] in TURNS and TURNS.index(program[2]) % 3 != turn]
    sizes = collections.Counter(folder for _, folder, _ in found)
    first = [program for program in found if program not in late]
    # The next turn comes first.
    late.sort(key=lambda program: (TURNS.index(program[2]) - turn) % 3)
    return sorted(first, key=lambda program: (-sizes[program[1]], program[1], program[2])), late


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
first, late = programs()
waiting = collections.deque(first)
others = collections.deque(late)
until = BEGAN + SECONDS if os.environ.get("CRATES") == "all" else 0
failed = []


def next_one():
    """The next program; None where nothing is left that has its turn or for which there is time."""
    for queue, is_time in ((waiting, True), (others, time.time() < until)):
        try:
            if is_time:
                return queue.popleft()
        except IndexError:
            pass
    return None


def work():
    while (found := next_one()) is not None:
        program, folder, name = found
        if not run([program, "--quiet"], folder, name):
            failed.append(f"{os.path.basename(folder)} {name}")


workers = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
if others:
    print("not run (with CRATES=all there is time for some of them):", " ".join(name for _, _, name in others), flush=True)
if not run([CARGO, "test", *FLAGS, "--doc", "--quiet"], os.getcwd(), "examples in documentation"):
    failed.append("examples in documentation")
if failed:
    sys.exit("failed: " + ", ".join(failed))
