#!/usr/bin/env python3
"""Runs the networks that were published for Orcc with expected values, unchanged, and counts the values that are as expected.

usage: scripts/published.py CORPUS HEADRACE

CORPUS is a copy of https://github.com/orcc/orc-apps. Two tables in Markdown go to standard output: the test benches of its
crypto library with its protocols, and CHStone in CAL. Some of these never end, by design: they are stopped after SECONDS.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

SECONDS = int(os.environ.get("PUBLISHED_SECONDS", "20"))
ENGINES = ["interp", "native"]

# The protocol has no source for what its user types: the amount, and for whom it is.
HTAN = """import Protocols.eBanking.hPINhTAN.hTAN.impl.*;
network Htan() uint(size=8) Amount, String Text ==> :
entities
  source = JointKeysGen(); client = Client(clientID = 100, serverID = 200); server = Server(serverID = 200);
  shown = ClientDisplayer(); told = ServerDisplayer();
structure
  Amount --> client.STD_IN; Text --> client.NSTD_IN;
  source.OP1_Client_PRG_Key --> client.PRG_Key; source.OP2_Server_PRG_Key --> server.PRG_Key;
  source.OP3_HMAC_Key --> client.HMAC_Key; source.OP3_HMAC_Key --> server.HMAC_Key;
  source.OP4_Hash_Size --> client.Hash_Size; source.OP4_Hash_Size --> server.Hash_Size;
  server.Channel_Out --> client.Channel_IN; client.Status_Out --> shown.IP1_Success; server.Status_Out --> told.IP1_Success;
  client.Text_Channel_Out --> server.Text_Channel_IN; client.Numeric_Channel_Out --> server.Numeric_Channel_IN;
end
"""

STONE = """adpcm/decoder/TestDecoder adpcm/encoder/TestEncoder aes/Codec aes/dec/top_AESdec aes/enc/top_AESenc blowfish/TestBlowFish
dfadd/Float64_Add dfdiv/dfdiv dfmul/Top_DF_MUL dfsin/dfsin gsm/Top_GSM mips/MIPS motion/Motion sha/TestSHA""".split()


def run(headrace, roots, network, engine, more=()):
    """What a run printed, and how it ended."""
    command = [headrace, "run", network, "--engine", engine, *more]
    for root in roots:
        command += ["-L", root]
    # Whoever started this may ignore the signal that ends runs.
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        printed, _ = process.communicate(timeout=SECONDS)
        end = f"status {process.returncode}" if process.returncode else "ends"
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate()
        end = "goes on"
    return printed.decode("utf-8", "replace"), end


def golden(printed):
    """How many values the validator of a test bench was to compare, and how many were the same."""
    pairs = re.findall(r"Actual Response vs\. Golden Response = (.*?) \.?vs\.? (.*)", printed)
    pairs += zip(re.findall(r"Actual Response = (.*)", printed), re.findall(r"Golden Response = (.*)", printed))
    return len(pairs), sum(one.strip() == other.strip() for one, other in pairs)


def crypto(corpus, headrace):
    crypto = os.path.join(corpus, "Crypto")
    roots = [os.path.join(crypto, part) for part in
             ["CTL", "Testbeds", "Applications", "Applications/Protocols/eBanking/hPINhTAN"]]
    found = []
    for folder, _, files in os.walk(crypto):
        found += [os.path.join(folder, name) for name in files if re.search(r"(_testbed|^test_.*|SKID3Generic)\.xdf$", name)]
    print("| network | values | as expected, interp | as expected, native |\n| --- | ---: | ---: | ---: |")
    for network in sorted(found):
        name = os.path.relpath(network, crypto)[:-4]
        seen = {engine: run(headrace, roots, network, engine) for engine in ENGINES}
        texts = [seen[engine][0] for engine in ENGINES]
        if any(golden(text)[0] for text in texts):
            n = max(golden(text)[0] for text in texts)
            cells = [f"{golden(seen[engine][0])[1]}, {seen[engine][1]}" for engine in ENGINES]
        else:
            n = "–"
            last = [(text.strip().splitlines() or ["nothing"])[-1] for text in texts]
            cells = [f"`{line.strip()}`, {seen[engine][1]}" for line, engine in zip(last, ENGINES)]
        print(f"| {name} | {n} | {cells[0]} | {cells[1]} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        top, text = pathlib.Path(folder, "Htan.nl"), pathlib.Path(folder, "text")
        top.write_text(HTAN)
        text.write_text("rent\n")
        ports = ["--in", "Amount=int:1,2,3,4", "--in", f"Text={text}"]
        seen = [run(headrace, [folder, *roots], top, engine, ports) for engine in ENGINES]
        cells = [f"`{' '.join(printed.splitlines())}`, {end}" for printed, end in seen]
        print(f"| hTAN_Generic, with the amount 1, 2, 3, 4 and a text | – | {cells[0]} | {cells[1]} |")


def stone(corpus, headrace):
    folder = os.path.join(corpus, "CALHStone", "src")
    roots = [folder, os.path.join(corpus, "System", "src")]
    print("| network | errors that it counts, interp | native | lines alike |\n| --- | ---: | ---: | --- |")
    for name in STONE:
        seen = [run(headrace, roots, os.path.join(folder, name + ".xdf"), engine, ["--orcc-widths"]) for engine in ENGINES]
        cells = []
        for printed, end in seen:
            counted = re.findall(r"(?i)main.?result\s*:=?\s*(-?\d+)", printed)
            cells.append(f"{counted[-1] if counted else '–'}, {end}")
        n = min(len(printed) for printed, _ in seen)
        alike = "yes" if seen[0][0][:n] == seen[1][0][:n] else "no"
        print(f"| {name} | {cells[0]} | {cells[1]} | {alike} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: scripts/published.py CORPUS HEADRACE")
    crypto(*sys.argv[1:])
    print()
    stone(*sys.argv[1:])
