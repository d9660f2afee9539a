"""Hostile attempts: what is typed where, and what must come of it. README.md says how to read and add rows."""

import signal

ROWS = []


def row(command, status, message="", **around):
    ROWS.append({"command": command, "status": status, "message": message, **around})


K16, K32 = "hex:" + "00" * 16, "hex:" + "00" * 32
I16, N12, T16 = "hex:" + "00" * 16, "hex:" + "00" * 12, "hex:" + "00" * 16
CTR = f"use aes128 ctr --engine interp --key {K16} --iv {I16}"
CBC = f"use aes128 cbc-encrypt --engine interp --key {K16} --iv {I16}"
PAD = f"use aes128 cbc-pad-decrypt --engine interp --key {K16} --iv {I16}"
SHA = "use sha256 hash --engine interp"
CHACHA = f"use chacha20 stream --engine interp --key {K32} --nonce {N12}"
SEAL = f"use chacha20-poly1305 aead-encrypt --engine interp --key {K32} --nonce {N12}"
OPEN = f"use chacha20-poly1305 aead-decrypt --engine interp --key {K32} --nonce {N12}"
GCM = f"use aes128-gcm aead-decrypt --engine interp --key {K16} --nonce {N12}"
CCM = f"use aes128-ccm {{}} --engine interp --key {K16} --nonce hex:00000000000000"
HMAC = f"use hmac-sha256 verify --engine interp --key {K32}"
B64 = "use base64 decode --engine interp"
SMALL = {"memory": 1_500_000_000}

PASS = """actor Pass() uint(size=8) I ==> uint(size=8) O :
    action I:[x] ==> O:[x] end
end
"""
PARAM = """actor Param(uint(size=8) N, int(size=8) S = 0, bool B = true, String T = "t", uint(size=8) L[2] = [1, 2])
    ==> uint(size=8) O :
    bool done := false;
    action ==> O:[N + S + L[0]] guard not done do done := true; end
end
"""
GEN = "actor Gen() ==> uint(size=8) O : action ==> O:[1] end end\n"
ADD = "actor Add() uint(size=8) A, uint(size=8) B ==> uint(size=8) O : action A:[a], B:[b] ==> O:[a + b] end end\n"
NET = """network Net() uint(size=8) I ==> uint(size=8) O :
entities gen = Gen(); add = Add();
structure gen.O --> add.B; I --> add.A; add.O --> O;
end
"""
LOOP = "actor Idle() ==> : action ==> end end\n"
PRINTS = """import std.stdio.*;
actor Prints() ==> :
    uint(size=32) n := 0;
    say: action ==> guard n < 3 do println(n); n := n + 1; end
    go: action ==> guard n >= 3 do n := 3; end
end
"""
PRINTS = PRINTS.replace("import std.stdio.*;\n", "")
DIVIDES = """actor Divides() uint(size=8) I ==> uint(size=8) O :
    action I:[x] ==> O:[100 / x] end
end
"""
CYCLE = """network Cycle() uint(size=8) I ==> uint(size=8) O :
entities add = Add();
structure I --> add.A; add.O --> add.B; add.O --> O;
end
"""
MANIFEST = """title = "T"
shape = "hash"
standard = "S"
[sets.tt]
output = {}
[sets.tt.operations.hash]
network = "{}"
"""
MARK = """title = "Mark"
shape = "mac"
standard = "S"
[sets.mark]
key = 4
tag = { min = 1 }
operations.mac.network = "Mark"
operations.verify.network = "Verify"
"""
LINES = """actor Lines() String T ==> uint(size=8) O :
    action T:[t] ==> O:[1] end
end
"""

# --- use: strings that are wrong
for option, value in [
    ("--key", "hex:00"), ("--key", "hex:0"), ("--key", "hex:xx"), ("--key", "file:none"), ("--key", "file:."),
    ("--key", "env:NO_SUCH_NAME"), ("--key", "00"), ("--key", ""), ("--key", "text:"), ("--iv", "hex:00"),
    ("--iv", "hex:" + "00" * 17), ("--nonce", N12), ("--tag", T16), ("--ad", "text:x"), ("--seed", "hex:00"),
    ("--entropy", "hex:00"), ("--secret-nonce", "hex:00"), ("--key", "file:/dev/zero"), ("--iv", "file:/dev/zero"),
    ("--key", "file:/dev/null"),
]:
    given = {"--key": K16, "--iv": I16} | {option: value}
    words = " ".join(f"{name} '{text}'" for name, text in given.items())
    row(f"use aes128 ctr --engine interp {words} --in text:abc --out x", 2, "", limits=SMALL)
row("use aes128 ctr --in text:abc --out x", 2, "needs `Key`")
row("use nothing hash --in text:a", 2)
row("use sha256 nothing --in text:a", 2)
row("use aes encrypt --in text:a", 2)
row(f"{SHA} --variant nothing --in text:a", 2, "no such variant")
row(f"{SHA} --in none", 1, "No such file")
row(f"{SHA} --in .", 1, "is a folder")
row(f"{SHA} --in int:1,2", 2, "byte string")
row(f"{SHA} --in hex:abc", 2, "--in")
row(f"{SHA} --in ''", 2)
row(f"{SHA} --in text:a --out int:", 2)
row(f"{SHA} --in text:a --out ''", 2)
row(f"{SHA} --in text:abc --out hex:", 0, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
row(f"{SHA} --in - --out hex:", 0, "ba7816bf8f01cfea", stdin=b"abc")
row(f"{SHA} --in /dev/null --out hex:", 0, "e3b0c44298fc1c14")
row(f"{SHA} --in /proc/self/stat --out x", 0, makes={"x": None})
row(f"{CBC} --in text:abc --out x", 1, "multiple of 16")
row(f"{CBC} --in - --out x", 1, "multiple of 16", stdin=b"abc")
row(f"{PAD} --in text:abc --out x", 1, "multiple of 16")
row(f"{PAD} --in - --out x", 1, "not", stdin=bytes(32))
row(f"{PAD} --in - --out -", 1, "nothing was written", stdin=bytes(32))
row(f"{PAD} --in - --out hex:", 1, "nothing was written", stdin=bytes(100000))

# --- use: parameters that do not fit
for value, status in [("0", 0), ("4294967295", 0), ("4294967296", 1), ("-1", 1), ("18446744073709551616", 1), ("1.5", 2),
                      ("true", 2), ("\"1\"", 2), ("[1]", 2), ("", 2), ("x", 2), ("1)", 2), ("0x10", 0), ("4294967295 + 1", 2)]:
    row(f"{CHACHA} --set 'COUNTER={value}' --in text:abc --out x", status, "" if status == 0 else "error")
row(f"{CHACHA} --set COUNTER=4294967295 --in hex:{'00' * 64} --out x", 0)
row(f"{CHACHA} --set COUNTER=4294967295 --in hex:{'00' * 65} --out x", 1, "at most 64 bytes")
row(f"{CHACHA} --set COUNTER=4294967295 --in - --out x", 1, "at most 64 bytes", stdin=bytes(65))
row(f"{CHACHA} --set COUNTER=4294967295 --in - --out x", 1, "at most 64 bytes", stdin="zero")
row(f"{CHACHA} --set NONE=1 --in text:abc --out x", 1, "no parameter")
row(f"{CHACHA} --set COUNTER --in text:abc --out x", 2, "PARAM=VALUE")
for value in ["0", "3", "-1", "17", "0x11", "8 + 9", "10000000000000000000000", "x"]:
    row(f"use aes128-gcm aead-encrypt --engine interp --key {K16} --nonce {N12} --set TAG_BYTES={value} --in text:a --out x", (1, 2))
row("use shake256 hash --engine interp --set OUTPUT_BYTES=9999999999 --in text:a --out hex:", 1, "does not fit", limits=SMALL)
row("use shake256 hash --engine interp --set OUTPUT_BYTES=-1 --in text:a --out hex:", 1, "does not fit")
row("use shake256 hash --engine interp --set OUTPUT_BYTES=100000 --in text:a --out x", 0, makes={"x": None})

# --- use: no end, little memory, pipes
row(f"{OPEN} --in - --out x", (1, 137, -signal.SIGTERM, 143), "", stdin="zero", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{OPEN} --tag {T16} --in - --out x", 143, "", stdin="zero", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{PAD} --in - --out x", 143, "", stdin="zero", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{PAD} --in - --out -", 143, "", stdin="zero", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{CCM.format('aead-encrypt')} --in - --out x", (1, 143), "", stdin="zero", limits=SMALL, signal=(3, signal.SIGTERM))
row(f"{CCM.format('aead-decrypt')} --in - --out x", (1, 143), "", stdin="zero", limits=SMALL, signal=(3, signal.SIGTERM))
row(f"{B64} --in - --out x", 143, "", stdin="text", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{B64} --in - --out -", (1, 143), "", stdin="text", limits=SMALL, signal=(3, signal.SIGTERM), stdout="gone")
row(f"use hex decode --engine interp --in - --out x", 143, "", stdin="text", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{HMAC} --tag {K32} --in - --out x", (2, 143), "", stdin="zero", limits=SMALL, signal=(2, signal.SIGTERM))
row(f"{CTR} --in - --out hex:", (1, 143), "", stdin="zero", limits=SMALL, signal=(2, signal.SIGTERM), partial=True)
row(f"{CTR} --in - --out -", (1, 143), "", stdin="zero", stdout="gone", limits=SMALL, signal=(5, signal.SIGTERM))
row(f"{CTR} --in - --out x", 1, "File too large", stdin="zero", limits={"file": 100_000})
row(f"{OPEN} --in - --out x", 1, "File too large", stdin="zero", limits={"file": 100_000})
row(f"{OPEN} --in - --out -", 1, "nothing was written", stdin="zero", limits={"file": 100_000})
row(f"{CCM.format('aead-encrypt')} --in - --out -", 1, "nothing was written", stdin="zero", limits={"file": 100_000})
row(f"{OPEN} --in - --out -", 1, "TMPDIR", stdin="zero", env={"TMPDIR": "/nonexistent"})
row(f"{OPEN} --in - --out -", 1, "TMPDIR", stdin="zero", env={"TMPDIR": "/dev/null"})
row(f"{CTR} --in big --out x", 0, files={"big": bytes(400_000)}, makes={"x": None}, env={"TMPDIR": "/nonexistent"})
row(f"{CTR} --in - --out -", 1, "No space", stdin=bytes(1000), stdout="full")
row(f"{CTR} --in - --out hex:", 1, "No space", stdin=bytes(1000), stdout="full")
row(f"{CTR} --in - --out /dev/full", 1, "No space", stdin=bytes(1000))
row(f"{CTR} --in - --out -", (0, 1), "", stdin=bytes(1000), stdout="closed")
row(f"{CTR} --in - --out x", (0, 1), "", stdin="closed")
row(f"{CTR} --in text:abc --out x", 0, stderr="closed", makes={"x": None})
row(f"{CTR} --in none --out x", 1, stderr="closed")
row(f"{CTR} --in none --out x", 1, stderr="full")

# --- use: what was forged
row(f"{OPEN} --tag {T16} --in text:abc --out x", 1, "nothing was written")
row(f"{OPEN} --tag {T16} --in text:abc --out hex:", 1, "nothing was written")
row(f"{OPEN} --tag {T16} --in text:abc --out -", 1, "nothing was written")
row(f"{OPEN} --in - --out -", 1, "nothing was written", stdin=bytes(100_000))
row(f"{OPEN} --in - --out hex:", 1, "nothing was written", stdin=bytes(100_000))
row(f"{OPEN} --in big --out x", 1, "nothing was written", files={"big": bytes(100_000)})
row(f"{OPEN} --in big --out x", 1, "nothing was written", files={"big": bytes(30_000), "x": "old"})
row(f"{OPEN} --in small --out x", 1, "the tag at its end alone has 16 bytes", files={"small": bytes(15)})
row(f"{OPEN} --in - --out x", 1, "the tag at its end alone has 16 bytes", stdin=bytes(15))
row(f"{OPEN} --in /dev/null --out x", 1, "the tag at its end alone")
row(f"{GCM} --in - --out x", 1, "nothing was written", stdin=bytes(100_000))
row(f"{CCM.format('aead-decrypt')} --in - --out x", 1, "nothing was written", stdin=bytes(60_000))
row(f"{CCM.format('aead-decrypt')} --in - --out -", 1, "nothing was written", stdin=bytes(17))
row(f"{HMAC} --tag {K32} --in text:abc", 1, "not authentic")
row(f"{HMAC} --in text:abc", (1, 2))
row("-L . use mark verify --engine interp --key hex:00000000 --in text:abc --out x", 2, "may have any length",
    files={"own/mark/primitive.toml": MARK}, limits=SMALL)
row("-L . use mark verify --engine interp --key hex:00000000 --in - --out x", 2, "--tag gives it", stdin="zero",
    files={"own/mark/primitive.toml": MARK}, limits=SMALL)
row(f"{B64} --in text:AAA= --out x", 0, makes={"x": b"\0\0"})
row(f"{B64} --in text:AAA --out x", 1, "not well-formed")
row(f"{B64} --in - --out -", 1, "nothing was written", stdin=b"AAAA\n")
row(f"{B64} --in - --out hex:", 1, "nothing was written", stdin=b"AAAA\n")
row(f"{B64} --in - --out x", 1, "base64-mime", stdin=b"AAAA\n")
row(f"{B64} --in - --out x", 1, "nothing was written", stdin=b"A" * 200_001)
row("use hex decode --engine interp --in text:0g --out x", 1, "not well-formed")

# --- use: places of outputs
row(f"{SHA} --in text:abc --out none/x", 1, "No such file")
row(f"{SHA} --in text:abc --out folder", 1, "is a folder", folders=["folder"])
row(f"{SHA} --in text:abc --out x/", 1, "")
row(f"{SHA} --in text:abc --out {'n' * 300}", 1, "too long")
row(f"{SHA} --in text:abc --out link", 0, links={"link": "target"}, makes={"target": None, "link": None})
row(f"{SHA} --in text:abc --out link", 0, links={"link": "{}/target".format(".")}, makes={"target": None})
row(f"{SHA} --in text:abc --out link", 1, "No such file", links={"link": "none/target"})
row(f"{SHA} --in text:abc --out one", 1, "symbolic link", links={"one": "two", "two": "one"})
row(f"{SHA} --in text:abc --out self", 1, "symbolic link", links={"self": "self"})
row(f"{SHA} --in text:abc --out link", 1, "is a folder", folders=["folder"], links={"link": "folder"})
row(f"{SHA} --in text:abc --out link", 0, files={"old": "old"}, links={"link": "old"}, makes={"old": None})
row(f"{SHA} --in x --out x", 0, files={"x": "abc"}, makes={"x": bytes.fromhex(
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")})
row(f"{SHA} --in text:abc --out file/x", 1, "Not a directory", files={"file": ""})
row(f"{SHA} --in text:abc --out locked/x", 1, "ermission", folders=["locked"], modes={"locked": 0o555}, user=True)
row(f"{SHA} --in secret --out x", 1, "ermission", files={"secret": "s"}, modes={"secret": 0}, user=True, foreign=["secret"])
row(f"{SHA} --in text:abc --out x", 0, user=True, makes={"x": None})
row(f"{SHA} --in text:abc --out x", 0, user=True, env={"HOME": "/root", "TMPDIR": "/nonexistent"}, makes={"x": None})
row(f"{SHA} --in text:abc --out x", 0, env={"HOME": None, "TMPDIR": None, "PATH": ""}, makes={"x": None})
row(f"{SHA} --in text:abc --out x", 0, env={"HOME": None, "LC_ALL": "C", "TERM": None}, makes={"x": None})
row(f"{SHA} --in text:abc --out x", (0, 1), limits={"open": 8})
row(f"{SHA} --in text:abc --out x", (0, 1), limits={"memory": 400_000_000})
row(f"{SHA} --in text:abc --out x", (0, 1), limits={"memory": 100_000_000})

# --- signals
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU):
    row(f"{CTR} --in - --out x", 128 + number, stdin="zero", signal=(1, number))
row(f"{CTR} --in - --out x", -signal.SIGKILL, stdin="zero", signal=(1, signal.SIGKILL))
row(f"{OPEN} --in - --out x", -signal.SIGKILL, stdin="zero", signal=(1, signal.SIGKILL))
row(f"{OPEN} --in - --out -", -signal.SIGKILL, stdin="zero", signal=(1.5, signal.SIGKILL))
row(f"{CTR} --in - --out x", -signal.SIGKILL, stdin="zero", files={"x": "old"}, signal=(1, signal.SIGKILL))
row("run Prints.cal --engine interp", 128 + signal.SIGTERM, "0\n1\n2\n", files={"Prints.cal": PRINTS}, partial=True,
    signal=(1.5, signal.SIGTERM))
row("run Prints.cal --engine interp", -signal.SIGKILL, "0\n1\n2\n", files={"Prints.cal": PRINTS}, partial=True,
    signal=(1.5, signal.SIGKILL))
row("run Idle.cal --engine interp", 128 + signal.SIGINT, files={"Idle.cal": LOOP}, signal=(1, signal.SIGINT))
row("run Idle.cal --engine interp --max-firings 10", 0, "limit on firings", files={"Idle.cal": LOOP})

# --- run
row("run None", 1, "no actor or network")
row("run none.cal", 1, "")
row("run . ", (1, 2))
row("run ''", (1, 2))
row("run Pass.cal --engine interp --in I=none", 1, "No such file", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in X=hex:00", 2, "no input `X`", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --out X=x", 2, "no output `X`", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --out O=x --out O=y", 2, "twice", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in I=int:256 --out O=x", 1, "outside the range", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in I=int:-1 --out O=x", 1, "outside the range", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in I=int:x --out O=x", 1, "not an integer", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in I", 2, files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in I=- --in I=-", 2, "only one", files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --in I=text:abc --out O=x", 0, files={"Pass.cal": PASS}, makes={"x": "abc"})
row("run Pass.cal --engine interp --in I=- --out O=x", 1, "File too large", files={"Pass.cal": PASS}, stdin="zero",
    limits={"file": 100_000})
row("run Pass.cal --engine interp --in I=- --out O=x", 143, files={"Pass.cal": PASS}, stdin="zero", limits=SMALL,
    signal=(1.5, signal.SIGTERM))
row("run Lines.cal --engine interp --in T=/dev/zero --out O=x", 1, "at most 65536 bytes", files={"Lines.cal": LINES}, limits=SMALL)
row("run Lines.cal --engine interp --in T=- --out O=x", 1, "at most 65536 bytes", files={"Lines.cal": LINES}, stdin="text",
    limits=SMALL)
row("run Lines.cal --engine interp --in T=- --out O=x", 0, files={"Lines.cal": LINES}, stdin=b"one\n\ntwo", makes={"x": b"\1\1\1"})
row("run Pass.cal --engine interp --order backwards", 2, files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --fifo 0", 2, files={"Pass.cal": PASS})
row("run Pass.cal --engine interp --mapping /dev/zero", 1, "larger", files={"Pass.cal": PASS}, limits=SMALL)
row("run Pass.cal --engine interp --trace none/t.jsonl", 1, files={"Pass.cal": PASS})
row("run /dev/zero", (1, 2), limits=SMALL)
for assignment, status in [("N=1", 0), ("N=255", 0), ("N=256", 1), ("N=-1", 1), ("N=true", 1), ("N=[1]", 1), ("N=1.0", 1),
                           ("N=\"1\"", 1), ("N=99999999999999999999999", 1)]:
    row(f"run Param.cal --engine interp --set '{assignment}' --out O=x", status, files={"Param.cal": PARAM})
for assignment, status in [("S=127", 0), ("S=128", 1), ("S=-128", 0), ("S=-129", 1), ("B=2", 1), ("B=false", 0), ("T=1", 1),
                           ("T=\"x\"", 0), ("L=[1, 2]", 0), ("L=[1, 256]", 1), ("L=[1, 2, 3]", 1), ("L=1", 1), ("X=1", 1)]:
    row(f"run Param.cal --engine interp --set N=1 --set '{assignment}' --out O=x", status, files={"Param.cal": PARAM})
row("run 'Param(N = 256)' -L . --engine interp --out O=x", 1, "does not fit", files={"Param.cal": PARAM})
row("run 'Param(N = 1, S = -129)' -L . --engine interp --out O=x", 1, "does not fit", files={"Param.cal": PARAM})
row("build Param.cal --target c --set N=256 -o p", 1, "does not fit", files={"Param.cal": PARAM})
row("analyze Param.cal --set N=256", 1, "does not fit", files={"Param.cal": PARAM})
row("graph Param.cal --set N=256 -o x.svg", 1, "does not fit", files={"Param.cal": PARAM})
FAN = """network Fan() uint(size=8) I ==> uint(size=8) O, uint(size=8) P :
entities gen = Some(N = {}); add = Add(); pass = Pass();
structure gen.O --> add.B; I --> add.A; add.O --> O; gen.O --> pass.I; pass.O --> P;
end
"""
SOME = """actor Some(uint(size=32) N) ==> uint(size=8) O :
    uint(size=32) n := 0;
    action ==> O:[1] guard n < N do n := n + 1; end
end
"""
for n, status in [(512, 0), (513, 3), (100_000, 3)]:
    row("run Fan.nl --engine interp --out O=x --out P=y", status, "stopped" if status else "",
        files={"Fan.nl": FAN.format(n), "Some.cal": SOME, "Add.cal": ADD, "Pass.cal": PASS})
row("run Fan.nl --engine interp --out O=x --out P=y --keep", 3, "stopped", keeps=["x", "y"], makes={"y": b"\1" * 512},
    files={"Fan.nl": FAN.format(600), "Some.cal": SOME, "Add.cal": ADD, "Pass.cal": PASS})
ALL = {"Gen.cal": GEN, "Add.cal": ADD, "Net.nl": NET, "Cycle.nl": CYCLE, "Divides.cal": DIVIDES}
row("run Net.nl --engine interp --in I=int:1,2,3 --out O=x", 0, "nothing is missing", files=ALL, makes={"x": b"\2\3\4"})
row("run Cycle.nl --engine interp --in I=int:1,2,3 --out O=x", 0, "tokens left over", files=ALL, makes={"x": b""})
row("run Divides.cal --engine interp --in I=int:1,0 --out O=x", 1, "--keep", files=ALL)
row("run Divides.cal --engine interp --in I=int:50,0 --out O=x --keep", 1, "zero", files=ALL, keeps=["x"], makes={"x": b"\2"})
row("run Net.nl --engine interp --in I=none --out O=x", 1, files=ALL)

# --- build, doc, graph, convert, fmt, man
for name in ["file", "full"]:
    row(f"build Pass.cal --target c -o {name}", 1, "", files={"Pass.cal": PASS, "file": "", "full/Makefile": "mine"})
row("build Pass.cal --target c -o .", 1, "--force", files={"Pass.cal": PASS, "Makefile": "mine"})
row("build Pass.cal --target c -o new/folder", 0, files={"Pass.cal": PASS}, makes={"new/folder/Makefile": None})
row("build Pass.cal --target c -o empty", 0, files={"Pass.cal": PASS}, folders=["empty"], makes={"empty/Makefile": None})
row("build Pass.cal --target c -o full --force", 0, files={"Pass.cal": PASS, "full/Makefile": "mine"},
    makes={"full/Makefile": None})
row("build Pass.cal --target c -o full --force", 1, "`Makefile` is a folder", files={"Pass.cal": PASS},
    folders=["full/Makefile"])
for name in ["Makefile", "src"]:
    row("build Pass.cal --target c -o full --force", 1, f"`{name}` is a pipe or a device", files={"Pass.cal": PASS},
        folders=["full"], fifos=[f"full/{name}"])
    row("build Pass.cal --target c -o full --force", 1, f"`{name}` is a symbolic link", files={"Pass.cal": PASS},
        folders=["full", "other"], links={f"full/{name}": "../other"})
row("build Pass.cal --target c -o full --force", 1, "no regular file", files={"Pass.cal": PASS}, folders=["full"],
    fifos=["full/.headrace-files"])
row("build Pass.cal --target c -o full --force", 1, "no regular file", files={"Pass.cal": PASS, "mine": "mine"}, folders=["full"],
    links={"full/.headrace-files": "../mine"})
row("check .", 0, files={"Pass.cal": PASS}, fifos=["Gone.cal", "primitive.toml", "Net.nl", "Net.xdf"])
row("build Pass.cal --target rust -o a/p", 0, files={"Pass.cal": PASS}, folders=["a"], fifos=["Cargo.toml", "a/Cargo.toml"],
    makes={"a/p/Cargo.toml": None})
row("build Pass.cal --target rust -o a/p", 0, files={"Pass.cal": PASS}, folders=["a"], links={"a/Cargo.toml": "/dev/zero"},
    makes={"a/p/Cargo.toml": None}, limits=SMALL)
row("build Pass.cal --target c -o file/x", 1, "", files={"Pass.cal": PASS, "file": ""})
row("build Pass.cal --target c -o link", 1, "", files={"Pass.cal": PASS}, links={"link": "none"})
row("build Pass.cal --target c -o link", 0, files={"Pass.cal": PASS}, folders=["real"], links={"link": "real"},
    makes={"real/Makefile": None})
row("build Pass.cal --target c -o locked/x", 1, "ermission", files={"Pass.cal": PASS}, folders=["locked"],
    modes={"locked": 0o555}, user=True)
row("build Pass.cal --target c -o x", 1, "File too large", files={"Pass.cal": PASS}, limits={"file": 2000})
row("build Pass.cal --target c -o empty", 1, "File too large", files={"Pass.cal": PASS}, folders=["empty"],
    limits={"file": 2000})
row("build Pass.cal --target none -o x", 2, "no target", files={"Pass.cal": PASS})
row("build Pass.cal --target c", 2, "-o DIR", files={"Pass.cal": PASS})
row("build None --target c -o x", 1)
row("graph Pass.cal -o x.gif", 2, ".svg", files={"Pass.cal": PASS})
row("graph Pass.cal -o x.png", 2, ".svg", files={"Pass.cal": PASS})
row("graph Pass.cal -o x.svg", 0, files={"Pass.cal": PASS}, makes={"x.svg": None})
row("graph Pass.cal -o none/x.svg", 1, files={"Pass.cal": PASS})
row("graph Pass.cal -o x.svg", 1, "File too large", files={"Pass.cal": PASS}, limits={"file": 100})
row("graph None -o x.svg", 1)
row("doc -o full", 1, "", files={"full/index.html": "mine"})
row("doc -o file", 1, "", files={"file": ""})
row("convert Net.nl x.xdf", 0, files=ALL, makes={"x.xdf": None})
row("convert Net.nl x.txt", 2, files=ALL)
row("convert none.nl x.xdf", 1)
row("convert Gen.cal x.xdf", 2, files=ALL)
row("convert Net.nl none/x.xdf", 1, files=ALL)
row("convert --expand Net -L . below", 0, files=ALL)
row("convert --expand Net -L . .", (0, 1), files=ALL)
row("fmt none.cal", 1)
row("fmt x.txt", 2, files={"x.txt": ""})
row("fmt Bad.cal", 1, "nothing was changed", files={"Bad.cal": "actor Bad( ==> :"})
row("fmt Pass.cal", 1, "File too large", files={"Pass.cal": PASS.replace("    ", "") + "// c\n" * 3000}, limits={"file": 1000})
row("man -o file", 1, files={"file": ""})
row("man -o none", 0, makes={"none/headrace.1": None})
row("completions bash", 0)
row("completions none", 2)
row("completions bash", 1, "No space", stdout="full")
row("explain none", (1, 2))
row("explain", 0)
row("explain", 1, "No space", stdout="full")
row("explain", (0, 1), stdout="gone")
row("list primitives", 0)
row("list primitives", (0, 1), stdout="closed")
row("list primitives", 1, "No space", stdout="full")
row("list none", 2)

# --- check and manifests
row("check none.cal", 1)
row("check none", 1)
row("check .", 0, files={"Pass.cal": PASS})
row("check Pass.cal", 0, files={"Pass.cal": PASS})
row("check my-pass.cal", (0, 1), files={"my-pass.cal": PASS})
row("check zero.cal", 1, "larger", links={"zero.cal": "/dev/zero"}, limits=SMALL)
row("check zero.xdf", 1, "larger", links={"zero.xdf": "/dev/zero"}, limits=SMALL)
row("check loop.cal", 1, "", links={"loop.cal": "loop.cal"})
row("check Bad.cal", 1, files={"Bad.cal": "\0\0\0"})
row("check Bad.cal", 1, files={"Bad.cal": b"\xff\xfe\0a\0c"})
row("check Bad.cal", 1, files={"Bad.cal": "(" * 100_000})
row("check Bad.cal", 1, files={"Bad.cal": "actor Bad() ==> : int x := " + "(" * 100_000})
row("check Bad.nl", 1, files={"Bad.nl": "network Bad() ==> : entities b = Bad(); structure end"})
row("check Bad.xdf", 1, files={"Bad.xdf": "<XDF" * 10_000})
row("check Empty.cal", 1, files={"Empty.cal": ""})
for output, message in [("\"x\"", "must be a number of bytes"), ("-1", "whole number from 0"), ("9223372036854775807", "whole number from 0"),
                        ("1.5", ""), ("[]", "allows no size"), ("{}", "says nothing"), ("true", ""), ("[32, -1]", "whole number")]:
    row("check .", 1, message, files={"t/primitive.toml": MANIFEST.format(output, "None")})
row("check .", 1, "None", files={"t/primitive.toml": MANIFEST.format("32", "None")})
row("check .", 1, "vectors/none.rsp", files={"t/primitive.toml": MANIFEST.format("32", "ctl.hash.sha2.Sha256")
                                            + "[[vectors]]\nfile = \"none.rsp\"\noperation = \"hash\"\n"})
row("check .", 1, "larger", links={"primitive.toml": "/dev/zero"}, limits=SMALL)
row("-L . list primitives", 1, "larger", links={"primitive.toml": "/dev/zero"}, limits=SMALL)

# --- test
row("test nothing", 2)
row("test sha256 --on nothing", 2)
row("test sha256 --on interp --variant nothing", 2)
row("test sha256 --on interp --vectors /dev/zero", 1, "larger", limits=SMALL)
row("test sha256 --on interp --vectors none", 1, "No such file")
row("test sha256 --on interp --vectors .", 1, "folder")
row("test sha256 --on interp --vectors sha256.rsp", 1, "no records", files={"sha256.rsp": ""}, partial=True)
row("test sha256 --on interp --vectors sha256.rsp", 1, "", files={"sha256.rsp": b"\xff\0" * 100}, partial=True)
row("test tt -L . --on interp", 1, "no known answers", files={"t/primitive.toml": MANIFEST.format("32", "ctl.hash.sha2.Sha256")},
    partial=True)
row("test sha256 --on interp --json none/x.json", 1, "No such file", partial=True)

# --- everything: usage
for command in ["", "none", "use", "run", "build", "graph", "convert", "fmt", "doc", "use sha256", "--none", "run --none"]:
    row(command, 2)
for command in ["--help", "--version", "help run", "use --help"]:
    row(command, 0)
