#!/bin/sh
# Prints all parameter sets of the library, sorted.
# Usage: scripts/sets.sh HEADRACE
set -eu
"$1" list primitives --json | python3 -c '
import json, sys
rows = [row["details"]["operations"] for row in json.load(sys.stdin)]
print(*sorted({operation["set"] for operations in rows for operation in operations}))
'
