#!/bin/sh
# Measures, stores the results and renews the tables that stand in documents.
# Usage: scripts/bench.sh HEADRACE
set -eu
cd "$(dirname "$0")/.."
headrace=$1
mkdir -p bench/results
for what in aes interpreter check; do
    "$headrace" bench $what --json "bench/results/$what.json"
done
scripts/docs.sh "$headrace"
