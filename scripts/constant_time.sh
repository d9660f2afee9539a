#!/bin/sh
# Holds every operation that its manifest declares constant-time against the claim, in machine code.
#
# A project with the operation runs the known answers under valgrind with all secrets counted as undefined, so that every
# branch and every address that depends on one is reported (the method of Langley's ctgrind): built for baseline x86-64 and
# with AVX2, optimised as users have it. Valgrind knows nothing wider; for what stands in tests/walks, a build for AVX-512 is
# walked instead of run (docs/machine-code.md).
#
# Usage: scripts/constant_time.sh HEADRACE TESTKIT [SET…]
#        scripts/constant_time.sh HEADRACE TESTKIT --sample N SEED SECONDS
#            one that is walked and N more operations that the seed chooses, no circuits, none of which begins later than SECONDS
set -u
walks=$(dirname "$0")/../tests/walks

# Lines «SET VARIANT OPERATION…»: all operations of a set and variant together, or one each where a sample is drawn.
claims() {
    "$headrace" list primitives --json | python3 -c '
import json, os, random, sys
walks, wanted = set(os.listdir(sys.argv[1])), sys.argv[2:]
claims = {}
for row in json.load(sys.stdin):
    for operation in row["details"]["operations"]:
        for variant in operation["variants"]:
            if variant["constant_time"]:
                claims.setdefault((operation["set"], variant["name"]), []).append(operation["operation"])
if wanted[:1] == ["--sample"]:
    # A circuit takes minutes under valgrind.
    single = [(at[0], name, at[1]) for at, names in claims.items() for name in names if at[1] != "boolean"]
    walked = [claim for claim in single if "-".join(claim) in walks]
    others = [claim for claim in single if claim not in walked]
    choice = random.Random(int(wanted[2]))
    # Two begin at once, whatever the time: one that is walked is among them.
    chosen = choice.sample(walked, 1) + choice.sample(others, min(int(wanted[1]), len(others)))
    for set_name, name, variant in chosen:
        print(set_name, variant, name)
else:
    for (set_name, variant), names in claims.items():
        if not wanted or set_name in wanted:
            print(set_name, variant, *names)
' "$walks" "$@"
}

# The known answers of the project in a folder under valgrind, built with the given options beside the usual ones.
run() {
    make --no-print-directory -s -C "$1" clean &&
        rm -f "$1/test/test" &&
        make --no-print-directory -s -C "$1" CFLAGS="-O2 -g -DHEADRACE_CONSTANT_TIME $2" test/test &&
        valgrind -q --error-exitcode=9 "$1/test/test"
}

# The functions of the project in a folder, built for AVX-512, by the questions in a file. Questions name functions: those that
# are called in one place stay there.
walk() {
    "${CC:-cc}" -std=c11 -O3 -fno-inline-functions-called-once -march=icelake-server -g -fPIC -shared -DHEADRACE_TAINT_WALK -I"$1/src" "$1"/src/*.c -o "$1/walk.so" &&
        # The file holds options, which have no spaces inside.
        # shellcheck disable=SC2046
        "$testkit" taint "$1/walk.so" $(cat "$2")
}

# One line on one claim, kept below $projects/results as well.
check() { # check SET VARIANT OPERATION…
    if [ -n "$until" ] && [ "$(date +%s)" -ge "$until" ]; then
        : >"$(mktemp "$projects/results/late.XXXXXX")"
        return
    fi
    set_name=$1
    variant=$2
    shift 2
    folder=$(mktemp -d "$projects/project.XXXXXX")
    log=$folder/log
    how=""
    good=yes
    named=""
    for operation in "$@"; do
        named="$named --operation $operation"
    done
    # Names of operations have no spaces inside.
    # shellcheck disable=SC2086
    "$headrace" build "$set_name" --variant "$variant" $named --target c -o "$folder/c" >"$log" 2>&1 || good=no
    for width in $widths; do
        [ $good = no ] || run "$folder/c" "$width" >>"$log" 2>&1 || good=no
        how="$how ${width#-m}"
    done
    answers=$(tail -n 1 "$log")
    for operation in "$@"; do
        questions="$walks/$set_name-$operation-$variant"
        if [ $good = yes ] && [ -f "$questions" ]; then
            walk "$folder/c" "$questions" >>"$log" 2>&1 || good=no
            how="$how avx512"
            : >"$(mktemp "$projects/results/walked.XXXXXX")"
        fi
    done
    [ $# -le 3 ] && what="$*" || what="$# operations"
    if [ $good = yes ]; then
        line="$set_name $variant $what: nothing secret decides a branch or an address ($answers;$how)"
        : >"$(mktemp "$projects/results/good.XXXXXX")"
    else
        line="$set_name $variant $what: FAILED at$how
$(head -n 12 "$log")"
        : >"$(mktemp "$projects/results/wrong.XXXXXX")"
    fi
    printf '%s\n' "$line"
    rm -rf "$folder"
}

count() {
    find "$projects/results" -name "$1.*" | wc -l
}

# As many at once as there are processors: the script calls itself for each claim, with what is settled in the environment.
if [ "${1:-}" = --check ]; then
    shift
    check "$@"
    exit 0
fi
export headrace=$1 testkit=$2 until="" projects widths="-msse2"
shift 2
projects=$(mktemp -d)
trap 'rm -rf "$projects"' EXIT
mkdir "$projects/results"
[ "${1:-}" = --sample ] && until=$(($(date +%s) + $4))
# Only where the processor can run them.
if grep -q '^flags.* avx2' /proc/cpuinfo; then
    widths="$widths -mavx2"
else
    echo "AVX2 builds: not run: this processor has no AVX2"
fi
claims "$@" >"$projects/claims"
xargs -r -P "$(nproc)" -L 1 sh "$0" --check <"$projects/claims"
passed=$(count good)
failed=$(count wrong)
echo "$passed constant-time, $failed not, $(count late) not begun in time; $(count walked) walked as AVX-512"
[ "$passed" != 0 ] && [ "$failed" = 0 ]
