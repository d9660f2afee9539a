#!/bin/sh
# Programs of others, unchanged: what is accepted, what published test benches and decoders compute. Puts the tables into
# docs/corpus.md, each between the comments with its name.
#
#   scripts/corpus.sh CORPUS HEADRACE TESTKIT
#
# CORPUS is a copy of https://github.com/orcc/orc-apps. ffmpeg with libx264 and libx265, and python3 must be there.
set -eu
[ $# = 3 ] || {
    echo "usage: scripts/corpus.sh CORPUS HEADRACE TESTKIT" >&2
    exit 2
}
here=$(cd "$(dirname "$0")" && pwd)
# A name without a path is looked for in PATH.
absolute() { # absolute COMMAND
    found=$(command -v "$1") || {
        echo "there is no $1" >&2
        exit 2
    }
    echo "$(cd "$(dirname "$found")" && pwd)/$(basename "$found")"
}
corpus=$(cd "$1" && pwd)
headrace=$(absolute "$2")
testkit=$(absolute "$3")
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
"$testkit" corpus "$corpus" --headrace "$headrace" --results "$tables/plain.jsonl" >"$tables/plain"
"$testkit" corpus "$corpus" --headrace "$headrace" --results "$tables/widths.jsonl" --with --orcc-widths >"$tables/widths"
"$here/published.py" "$corpus" "$headrace" >"$tables/both"
sed '/^$/,$d' "$tables/both" >"$tables/crypto"
sed '1,/^$/d' "$tables/both" >"$tables/stone"
"$here/decoders.sh" "$corpus" "$headrace" >"$tables/decoders"
python3 - "$here/../docs/corpus.md" "$tables" <<'PYTHON'
import pathlib, re, sys

page, tables = map(pathlib.Path, sys.argv[1:])
text = page.read_text()
for name in ["plain", "widths", "crypto", "stone", "decoders"]:
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    table = (tables / name).read_text().strip("\n")
    text, n = re.subn(pattern, lambda found: f"{found[1]}\n{table}\n\n{found[2]}", text, flags=re.S)
    assert n == 1, f"{page}: there is no place for {name}"
page.write_text(text)
PYTHON
