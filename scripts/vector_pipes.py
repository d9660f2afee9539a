#!/usr/bin/env python3
"""Instruction throughput and latency of an x86-64 processor with AVX-512: what its pipes do.

Rows of instructions that do not wait for each other, and chains of them, are timed beside a chain of additions, which says how long
a cycle is; the least of many runs counts, for what else runs makes one slower and never faster. Figures of
crates/platform/platforms/avx512-zen5.toml are from here. Needs clang (or CC) and such a processor:

    python3 scripts/vector_pipes.py
"""

import os
import subprocess
import sys
import tempfile

WIDTHS = [("zmm", 64), ("ymm", 32), ("xmm", 16)]
TWO_SOURCES = [
    "vpxorq", "vpaddd", "vpsllvd", "vprolvd", "vpshufb", "vpunpckldq", "vpermb", "vpermi2b", "vpermi2d", "vpmuludq", "vpmulld", "vpmullq",
    "vaesenc", "vaesdec", "vaesenclast",
]
IMMEDIATE = ["vprold", "vpslld"]
LEGACY = ["sha256rnds2 %%xmm0,%%xmm1,", "sha256msg1 %%xmm1,", "sha256msg2 %%xmm1,", "sha1rnds4 $0,%%xmm1,", "sha1nexte %%xmm1,",
          "sha1msg1 %%xmm1,", "sha1msg2 %%xmm1,"]
WORDS = ["rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]
COUNT = 24

HEAD = r"""
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>
static uint8_t memory[1 << 16] __attribute__((aligned(64)));
#define CLOBBERED %s
static double cycle(void) {
  uint64_t sum = 1, step = 3, began = __rdtsc();
  for (int i = 0; i < 300; i++) __asm__ volatile(".rept 24\nadd %%1, %%0\n.endr" : "+r"(sum) : "r"(step));
  return (double)(__rdtsc() - began) / (300 * 24.0);
}
"""

MAIN = r"""
int main(void) {
  for (unsigned n = 0; n < sizeof all / sizeof *all; n++) {
    double best = 1e9;
    for (int run = 0; run < 3000; run++) {
      double before = cycle();
      uint64_t began = __rdtsc();
      all[n].function();
      double took = (double)(__rdtsc() - began), after = cycle();
      // The clock was another, or somebody was in between.
      if (before > 1.02 * after || after > 1.02 * before) continue;
      double each = took / (before < after ? before : after) / (300.0 * all[n].count);
      if (each < best) best = each;
    }
    if (best < 1e9) printf("%-20s %s %.2f\n", all[n].name, all[n].kind, best);
  }
}
"""


def programs():
    """Names, kinds (`between` two that do not wait, or `latency`), texts, and how many instructions each has."""
    for width, size in WIDTHS:
        for name in TWO_SOURCES:
            yield name, width, [f"{name} %%{width}1,%%{width}{n},%%{width}{n}" for n in range(4, 28)], [
                f"{name} %%{width}1,%%{width}4,%%{width}4"] * COUNT
        for name in IMMEDIATE:
            yield name, width, [f"{name} $7,%%{width}{n},%%{width}{n}" for n in range(4, 28)], [
                f"{name} $7,%%{width}4,%%{width}4"] * COUNT
        yield "vpternlogd", width, [f"vpternlogd $0x96,%%{width}1,%%{width}2,%%{width}{n}" for n in range(4, 28)], [
            f"vpternlogd $0x96,%%{width}1,%%{width}2,%%{width}4"] * COUNT
        yield "vgf2p8affineqb", width, [f"vgf2p8affineqb $0,%%{width}1,%%{width}{n},%%{width}{n}" for n in range(4, 28)], [
            f"vgf2p8affineqb $0,%%{width}1,%%{width}4,%%{width}4"] * COUNT
        yield "load", width, [f"vmovdqu64 {size * (n - 4)}(%%rsi),%%{width}{n}" for n in range(4, 28)], []
        yield "store", width, [f"vmovdqu64 %%{width}{n},{size * (n - 4)}(%%rsi)" for n in range(4, 28)], []
    yield "vpgatherdd of 16", "zmm", [
        ("vpxord %%zmm3,%%zmm3,%%zmm3\\n" if n == 4 else "") + f"kxnorw %%k1,%%k1,%%k1\\nvpgatherdd (%%rsi,%%zmm3,4),%%zmm{n}%{{%%k1%}}" for n in range(4, 28)], []
    for text in LEGACY:
        yield text.split()[0], "xmm", [f"{text}%%xmm{2 + n % 14}" for n in range(COUNT)], [f"{text}%%xmm4"] * COUNT
    for name, text in [("xor", "xor %%rdi,%%{}"), ("rol", "rol $5,%%{}"), ("load", "mov 8(%%rsi),%%{}"), ("store", "mov %%{},8(%%rsi)")]:
        yield name, "r64", [text.format(WORDS[n % len(WORDS)]) for n in range(COUNT)], []


def main():
    clobbered = ",".join(f'"{name}"' for name in [f"xmm{n}" for n in range(28)] + WORDS + ["k1", "memory"])
    text, rows = HEAD.replace("%s", clobbered).replace("%%", "%"), []
    for number, (name, width, between, chain) in enumerate(programs()):
        for kind, lines in (("between", between), ("latency", chain)):
            if lines:
                function = f"f{number}_{kind}"
                body = "\\n".join(lines)
                text += f'static void {function}(void) {{ for (int i = 0; i < 300; i++) __asm__ volatile("{body}" :: "S"(memory), "D"(64L) : CLOBBERED); }}\n'
                rows.append(f'{{{function}, "{name} {width}", "{kind}", {len(lines)}}}')
    text += f"static struct {{ void (*function)(void); const char *name, *kind; int count; }} all[] = {{{','.join(rows)}}};\n" + MAIN
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "pipes.c"), os.path.join(folder, "pipes")
        with open(source, "w") as file:
            file.write(text)
        subprocess.run([os.environ.get("CC", "clang"), "-O1", "-march=native", source, "-o", program], check=True)
        return subprocess.run([program]).returncode


if __name__ == "__main__":
    sys.exit(main())
