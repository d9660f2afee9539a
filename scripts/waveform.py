#!/usr/bin/env python3
"""Draws signals of a waveform (VCD) as a picture (SVG), a column a clock cycle.

    make -C aes-rtl wave STALL=0
    scripts/waveform.py aes-rtl/build/encrypt.vcd docs/waveform.svg --from 40 --cycles 26 \\
        state_name=state dut.cycle_q=cycle Input_valid Input_ready Input_data Output_valid Output_data

A signal is named from the bench downwards; `=LABEL` says what the picture calls it. Signals of more than one bit are boxes with their
values, those whose name ends in `_name` with the text that they hold. Values are those before a rising edge of the clock.
"""

import argparse
import html

LEFT, COLUMN, ROW, HIGH = 120, 50, 30, 16


def read(lines, clock):
    """The values of all signals before each rising edge of the clock, and their widths, by name from below the bench."""
    names, widths, scope, values, edges = {}, {}, [], {}, []
    lines = iter(lines)
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] == "$scope":
            scope.append(words[2])
        elif words[0] == "$upscope":
            scope.pop()
        elif words[0] == "$var":
            names.setdefault(".".join([*scope[1:], words[4]]), words[3])
            widths[words[3]] = int(words[2])
        elif words[0] == "$enddefinitions":
            break
    clock_code, before = names[clock], "0"
    # What changes with the clock comes in the same instant: the values of the instant before are those that the edge sees.
    settled = {}
    for line in lines:
        line = line.strip()
        if line.startswith("#"):
            now = values.get(clock_code)
            if now == "1" and before == "0":
                edges.append(settled)
            before, settled = now, dict(values)
        elif line and line[0] in "01xzXZ":
            values[line[1:]] = line[0].lower()
        elif line and line[0] in "bB":
            bits, code = line[1:].split()
            values[code] = bits.lower()
    return names, widths, edges


def shown(bits, width, is_text):
    """A value as text."""
    if bits is None or set(bits) - set("01"):
        return "x"
    value = int(bits, 2)
    if is_text:
        return value.to_bytes((width + 7) // 8, "big").lstrip(b"\0").decode("ascii", "replace")
    return f"{value:x}"


def picture(rows, n):
    """The picture of rows: a label, whether the signal is one bit, its values."""
    width, height = LEFT + n * COLUMN + 10, 30 + len(rows) * ROW + 8
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="monospace" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for at in range(n + 1):
        x = LEFT + at * COLUMN
        out.append(f'<path d="M{x} 22V{height - 6}" stroke="#ddd"/>')
        if at < n:
            out.append(f'<text x="{x + COLUMN / 2}" y="16" text-anchor="middle" fill="#777">{at}</text>')
    out.append(f'<text x="{LEFT - 8}" y="16" text-anchor="end" fill="#777">clock cycle</text>')
    for number, (label, is_bit, values) in enumerate(rows):
        top = 30 + number * ROW
        low = top + HIGH
        out.append(f'<text x="{LEFT - 8}" y="{low - 4}" text-anchor="end">{html.escape(label)}</text>')
        if is_bit:
            path = []
            for at, value in enumerate(values):
                y = top if value == "1" else low
                path.append(f"{'M' if not path else 'L'}{LEFT + at * COLUMN} {y}H{LEFT + (at + 1) * COLUMN}")
            out.append(f'<path d="{"".join(path)}" fill="none" stroke="#0a6" stroke-width="1.6"/>')
            continue
        at = 0
        while at < len(values):
            end = at
            while end < len(values) and values[end] == values[at]:
                end += 1
            x, length = LEFT + at * COLUMN, (end - at) * COLUMN
            fill = "#eef4ff" if values[at] not in ("x", "") else "#f4f4f4"
            out.append(f'<rect x="{x + 1}" y="{top}" width="{length - 2}" height="{HIGH}" rx="3" fill="{fill}" stroke="#46c"/>')
            room = max(1, int((length - 6) / 6.7))
            text = values[at] if len(values[at]) <= room else values[at][: room - 1] + "…" if room > 2 else values[at][:room]
            out.append(f'<text x="{x + length / 2}" y="{low - 4}" text-anchor="middle">{html.escape(text)}</text>')
            at = end
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("vcd")
    words.add_argument("svg")
    words.add_argument("signals", nargs="+")
    words.add_argument("--clock", default="clk")
    words.add_argument("--from", dest="first", type=int, default=0)
    words.add_argument("--cycles", type=int, default=24)
    said = words.parse_args()
    with open(said.vcd) as file:
        names, widths, edges = read(file, said.clock)
    edges = edges[said.first : said.first + said.cycles]
    rows = []
    for signal in said.signals:
        name, _, label = signal.partition("=")
        code = names.get(name) or words.error(f"{said.vcd} has no signal {name}")
        width = widths[code]
        values = [edge.get(code) for edge in edges]
        if width > 1:
            values = [shown(bits, width, name.endswith("_name")) for bits in values]
        rows.append((label or name, width == 1, values))
    with open(said.svg, "w") as file:
        file.write(picture(rows, len(edges)))


if __name__ == "__main__":
    main()
