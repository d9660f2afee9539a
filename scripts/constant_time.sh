#!/bin/sh
# Holds every variant that its manifest declares constant-time against the claim: the project of its parameter set runs the
# known answers under valgrind with all secrets counted as undefined, so that every branch and every address that depends on
# one is reported (the method of Langley's ctgrind). Operations are tested with the compiler's optimisation that users have.
# Usage: scripts/constant_time.sh HEADRACE [SET…]
set -u
headrace=$1
shift
projects=$(mktemp -d)
trap 'rm -rf "$projects"' EXIT
passed=0
failed=0
# Parameter set and variant of every operation that claims it, once each.
claims() {
    "$headrace" list primitives --json | python3 -c '
import json, sys
wanted, seen = set(sys.argv[1:]), set()
for row in json.load(sys.stdin):
    for operation in row["details"]["operations"]:
        for variant in operation["variants"]:
            claim = (operation["set"], variant["name"])
            if variant["constant_time"] and claim not in seen and (not wanted or claim[0] in wanted):
                seen.add(claim)
                print(*claim)
' "$@"
}
claims "$@" >"$projects/claims"
while read -r set variant; do
    folder="$projects/$set-$variant"
    if "$headrace" build "$set" --variant "$variant" --claims-constant-time --target c -o "$folder" >"$projects/log" 2>&1 &&
        make --no-print-directory -s -C "$folder" CFLAGS="-O2 -g -DHEADRACE_CONSTANT_TIME" test/test >>"$projects/log" 2>&1 &&
        valgrind -q --error-exitcode=9 "$folder/test/test" >>"$projects/log" 2>&1; then
        passed=$((passed + 1))
        echo "$set $variant: nothing secret decides a branch or an address ($(tail -n 1 "$projects/log"))"
    else
        failed=$((failed + 1))
        echo "$set $variant: FAILED"
        head -n 12 "$projects/log"
    fi
    rm -rf "$folder"
done <"$projects/claims"
echo "$passed constant-time, $failed not"
[ "$failed" = 0 ]
