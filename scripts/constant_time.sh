#!/bin/sh
# Holds every variant that its manifest declares constant-time against the claim, in machine code.
#
# The project of its parameter set runs the known answers under valgrind with all secrets counted as undefined, so that every
# branch and every address that depends on one is reported (the method of Langley's ctgrind): built for baseline x86-64 and
# with AVX2, optimised as users have it. Valgrind knows nothing wider; for what stands in tests/walks, a build for AVX-512 is
# walked instead of run (docs/machine-code.md).
#
# Usage: scripts/constant_time.sh HEADRACE TESTKIT [SET…]
#        scripts/constant_time.sh HEADRACE TESTKIT --sample N SEED   as many, chosen by the seed, and those that are walked
set -u
headrace=$1
testkit=$2
shift 2
walks=$(dirname "$0")/../tests/walks
projects=$(mktemp -d)
trap 'rm -rf "$projects"' EXIT
passed=0
failed=0
walked=0
# Parameter set and variant of every operation that claims it, once each.
claims() {
    "$headrace" list primitives --json | python3 -c '
import json, os, random, sys
walks, wanted = sys.argv[1], sys.argv[2:]
claims = []
for row in json.load(sys.stdin):
    for operation in row["details"]["operations"]:
        for variant in operation["variants"]:
            claim = (operation["set"], variant["name"])
            if variant["constant_time"] and claim not in claims:
                claims.append(claim)
if wanted[:1] == ["--sample"]:
    walked = set(os.listdir(walks))
    chosen = random.Random(int(wanted[2])).sample(claims, min(int(wanted[1]), len(claims)))
    claims = [claim for claim in claims if claim in chosen or "-".join(claim) in walked]
elif wanted:
    claims = [claim for claim in claims if claim[0] in wanted]
for claim in claims:
    print(*claim)
' "$walks" "$@"
}
# The known answers under valgrind, built with the given options beside the usual ones.
run() {
    make --no-print-directory -s -C "$1" clean &&
        rm -f "$1/test/test" &&
        make --no-print-directory -s -j"$(nproc)" -C "$1" CFLAGS="-O2 -g -DHEADRACE_CONSTANT_TIME $2" test/test &&
        valgrind -q --error-exitcode=9 "$1/test/test"
}
# The functions of the project, built for AVX-512.
walk() {
    "${CC:-cc}" -std=c11 -O3 -march=icelake-server -g -fPIC -shared -DHEADRACE_TAINT_WALK -I"$1/src" "$1"/src/*.c -o "$1/walk.so" &&
        # The file holds options, which have no spaces inside.
        # shellcheck disable=SC2046
        "$testkit" taint "$1/walk.so" $(cat "$2")
}
# Only where the processor can run them.
widths="-msse2"
if grep -q '^flags.* avx2' /proc/cpuinfo; then
    widths="$widths -mavx2"
else
    echo "AVX2 builds: not run: this processor has no AVX2"
fi
claims "$@" >"$projects/claims"
while read -r set variant; do
    folder="$projects/$set-$variant"
    how=""
    good=yes
    "$headrace" build "$set" --variant "$variant" --claims-constant-time --target c -o "$folder" >"$projects/log" 2>&1 || good=no
    for width in $widths; do
        [ $good = no ] || run "$folder" "$width" >>"$projects/log" 2>&1 || good="no"
        how="$how ${width#-m}"
    done
    answers=$(tail -n 1 "$projects/log")
    if [ $good = yes ] && [ -f "$walks/$set-$variant" ]; then
        walk "$folder" "$walks/$set-$variant" >>"$projects/log" 2>&1 || good=no
        how="$how avx512"
        walked=$((walked + 1))
    fi
    if [ $good = yes ]; then
        passed=$((passed + 1))
        echo "$set $variant: nothing secret decides a branch or an address ($answers;$how)"
    else
        failed=$((failed + 1))
        echo "$set $variant: FAILED at$how"
        head -n 12 "$projects/log"
    fi
    rm -rf "$folder"
done <"$projects/claims"
echo "$passed constant-time, $failed not; $walked walked as AVX-512"
[ "$passed" != 0 ] && [ "$failed" = 0 ]
