#!/bin/sh
# Renews everything in documents that is generated: the table of what works, the picture, the tables of measurements.
# Usage: scripts/docs.sh HEADRACE
set -eu
cd "$(dirname "$0")/.."
headrace=$1
"$headrace" graph 'ctl.block.aes.AesEncrypt(NK = 4)' -o docs/aes.svg
"$headrace" test --into README.md --into docs/known-answers.md
if ls bench/results/*.json >/dev/null 2>&1; then
    set --
    for result in bench/results/*.json; do set -- "$@" --table "$result"; done
    "$headrace" bench "$@" --into docs/measurements.md
fi
