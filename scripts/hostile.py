#!/usr/bin/env python3
"""Runs hostile attempts on a command and holds what happens against tests/hostile/rows.py; see the README there."""

import concurrent.futures
import os
import pathlib
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "hostile"))
import rows  # noqa: E402

SECONDS = 20
MEMORY = 1_500_000_000
NEVER = ["panicked", "stack backtrace", "internal error", "memory allocation of", "RUST_BACKTRACE", "thread 'main'"]
OTHER_USER = 65534


class Endless:
    """Writes without end into a pipe until nobody reads it."""

    def __init__(self, piece):
        self.reading, self.writing = os.pipe()
        self.piece = piece * (65536 // len(piece))
        threading.Thread(target=self.write, daemon=True).start()

    def write(self):
        try:
            while True:
                os.write(self.writing, self.piece)
        except OSError:
            pass
        finally:
            os.close(self.writing)


def prepare(folder, row):
    for name in row.get("folders", []):
        (folder / name).mkdir(parents=True)
    for name, content in row.get("files", {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for name, target in row.get("links", {}).items():
        os.symlink(target, folder / name)
    for name in row.get("fifos", []):
        os.mkfifo(folder / name)
    for name, mode in row.get("modes", {}).items():
        os.chmod(folder / name, mode)


def listing(folder):
    """Names below a folder, with the content of small regular files."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in folders + files:
            path = pathlib.Path(above) / name
            mode = path.lstat().st_mode
            content = path.read_bytes() if stat.S_ISREG(mode) and path.stat().st_size < 1 << 20 else None
            found[str(path.relative_to(folder))] = content
    return found


def limited(row):
    limits = row.get("limits", {})

    def apply():
        # Who runs this in the background may have interruptions ignored.
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        kinds = {"memory": resource.RLIMIT_AS, "file": resource.RLIMIT_FSIZE, "cpu": resource.RLIMIT_CPU,
                 "open": resource.RLIMIT_NOFILE}
        for name, value in limits.items():
            resource.setrlimit(kinds[name], (value, value if name != "cpu" else value + 5))
        if row.get("stdin") == "closed":
            os.close(0)
        if row.get("stdout") == "closed":
            os.close(1)
        if row.get("stderr") == "closed":
            os.close(2)
        if row.get("user"):
            os.setgroups([])
            os.setgid(OTHER_USER)
            os.setuid(OTHER_USER)
        os.umask(row.get("umask", 0o022))

    return apply


def attempt(command, row):
    """What is wrong with what came, as a list of sentences."""
    above = pathlib.Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        return attempt_in(above, command, row)
    finally:
        for path in above.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                os.chmod(path, 0o700)
        shutil.rmtree(above, ignore_errors=True)


def attempt_in(above, command, row):
    folder, temporary, home = above / "work", above / "tmp", above / "home"
    for made in (folder, temporary, home):
        made.mkdir()
    prepare(folder, row)
    if row.get("user"):
        os.chmod(above, 0o755)
        for path in [folder, temporary, home, *folder.rglob("*")]:
            if str(path.relative_to(folder) if path != folder and folder in path.parents else "") not in row.get("foreign", []):
                os.chown(path, OTHER_USER, OTHER_USER, follow_symlinks=False)
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "TMPDIR": str(temporary), "LC_ALL": "C.UTF-8"}
    if "HEADRACE_LIBRARY" in os.environ:
        environment["HEADRACE_LIBRARY"] = os.environ["HEADRACE_LIBRARY"]
    for name, value in row.get("env", {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    before = listing(folder)
    given = row.get("stdin", b"")
    feeding = {"zero": lambda: Endless(b"\0").reading, "text": lambda: Endless(b"AAAA").reading}.get(given)
    stdin = feeding() if feeding else subprocess.PIPE if isinstance(given, bytes) else subprocess.DEVNULL
    stdout = {"full": lambda: os.open("/dev/full", os.O_WRONLY)}.get(row.get("stdout"), lambda: subprocess.PIPE)()
    stderr = {"full": lambda: os.open("/dev/full", os.O_WRONLY)}.get(row.get("stderr"), lambda: subprocess.PIPE)()
    words = [word.replace("{here}", str(folder)) for word in shlex.split(row["command"])]
    began = time.monotonic()
    process = subprocess.Popen([command, *words], cwd=folder, env=environment, stdin=stdin, stdout=stdout, stderr=stderr,
                               preexec_fn=limited(row))
    for number in (stdin, stdout, stderr):
        if isinstance(number, int) and number > 2:
            os.close(number)
    if "signal" in row:
        after, number = row["signal"]
        threading.Timer(after, process.send_signal, [number]).start()
    if row.get("stdout") == "gone":
        process.stdout.close()
        process.stdout = None
    problems = []
    try:
        out, said = process.communicate(given if isinstance(given, bytes) else None, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
        problems.append(f"took more than {SECONDS} s")
    out, said = out or b"", (said or b"").decode(errors="replace")
    seconds = time.monotonic() - began
    status = process.returncode
    expected = row["status"] if isinstance(row["status"], tuple) else (row["status"],)
    if status not in expected:
        problems.append(f"status {status}, expected {row['status']}")
    if row["message"] not in said + out.decode(errors="replace"):
        problems.append(f"does not say {row['message']!r}")
    problems += [f"says {word!r}" for word in NEVER if word in said]
    after = listing(folder)
    new = {name for name in after if name not in before}
    changed = {name for name in before if before[name] is not None and after.get(name) != before[name]}
    if status != 0:
        problems += [f"leaves {name}" for name in sorted(new) if name not in row.get("keeps", [])]
        problems += [f"changes {name}" for name in sorted(changed) if name not in row.get("keeps", [])]
        if out and not row.get("partial"):
            problems.append(f"gives {len(out)} bytes: {out[:40]!r}")
    problems += [f"leaves {name}" for name in sorted(new) if pathlib.Path(name).name.startswith(".headrace-")
                 and pathlib.Path(name).name != ".headrace-files"]
    left = [name for name in listing(temporary) if not name.startswith("headrace/")] if temporary.exists() else []
    if left and row.get("signal", (0, 0))[1] != signal.SIGKILL:
        problems.append(f"leaves in TMPDIR: {left[:3]}")
    for name, content in row.get("makes", {}).items():
        content = content.encode() if isinstance(content, str) else content
        there = folder / name
        if not there.exists():
            problems.append(f"does not make {name}")
        elif content is not None and there.read_bytes() != content:
            problems.append(f"makes {name} of {there.read_bytes()[:40]!r}")
    if problems and said:
        problems.append("said: " + said.strip()[:300])
    return problems, seconds


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: hostile.py HEADRACE [PART-OF-A-COMMAND]")
    command = str(pathlib.Path(sys.argv[1]).resolve())
    wanted = [row for row in rows.ROWS if all(part in row["command"] for part in sys.argv[2:])]
    skipped = [row for row in wanted if row.get("user") and os.geteuid() != 0]
    wanted = [row for row in wanted if row not in skipped]
    failed, began = 0, time.monotonic()
    workers = max(2, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for row, (problems, seconds) in zip(wanted, pool.map(lambda row: attempt(command, row), wanted)):
            if problems:
                failed += 1
                print(f"headrace {row['command']}  [{seconds:.1f} s]")
                for problem in problems:
                    print(f"    {problem}")
            elif os.environ.get("HOSTILE_TIMES") and seconds > 1:
                print(f"{seconds:.1f} s: headrace {row['command'][:100]}")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    if most > MEMORY:
        failed += 1
        print(f"one took {most // 1000000} MB of memory")
    passed = len(wanted) - failed
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped ({time.monotonic() - began:.0f} s, at most {most // 1000000} MB)")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
