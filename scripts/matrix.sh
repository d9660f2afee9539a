#!/bin/sh
# Known answers of every primitive on every engine, natively with each C compiler found here, and in projects of every
# target; then random networks on every target. The tables in the documents become those of what is run; what cannot run
# here says so, and its column stays as it was. Goes on where it ended before, as long as nothing but documents has changed:
# what is done stands in MATRIX_DIR (default target/matrix), with results as data and what was said. Targets that are named
# together, with commas, are tried together: control is searched for once for all of them.
# Usage: scripts/matrix.sh HEADRACE TESTKIT [TARGET[,TARGET…]…]
set -u
cd "$(dirname "$0")/.."
headrace=$1
testkit=$2
shift 2
networks=${MATRIX_NETWORKS:-1000}
results=${MATRIX_DIR:-${CARGO_TARGET_DIR:-target}/matrix}
mkdir -p "$results"
# What results depend on.
sources=$(git rev-parse HEAD:crates HEAD:ctl HEAD:std HEAD:runtime 2>/dev/null | tr '\n' ' ')
if [ -z "$sources" ] || ! git diff --quiet HEAD -- crates ctl std runtime 2>/dev/null; then
    sources="changed $(date +%s)"
fi
status=0

once() { # once NAME COMMAND…: unless it passed before
    if [ "$(cat "$results/$1.done" 2>/dev/null)" = "$sources" ]; then
        echo "$1: passed before"
    elif tried "$@"; then
        echo "$sources" >"$results/$1.done"
    fi
}

tried() { # tried NAME COMMAND…: whether it passed
    name=$1
    shift
    echo "$name: begins at $(date +%T)"
    began=$(date +%s)
    "$@" >"$results/$name.log"
    ended=$?
    tail -n 1 "$results/$name.log"
    case $ended in
    0) echo "$name: passed ($(($(date +%s) - began)) s)" ;;
    # A tool is missing, and was named.
    4) echo "$name: not run" ;;
    *)
        status=1
        echo "$name: FAILED; $results/$name.log" ;;
    esac
    return $ended
}

into="--into docs/known-answers.md"
groups=${*:-$("$headrace" list targets --json | python3 -c '
import json, sys
print(*(row["name"] for row in json.load(sys.stdin) if row["details"]["known_answers"]), sep=",")
')}
# What `make test` has samples of, or a third of each day.
once "automata" "$testkit" automata --results "$results/$(echo "$sources" | cksum | cut -d' ' -f1).automata.jsonl" \
    --commit "$(git rev-parse --short=8 HEAD)" --into docs/automata.md
once "automata-random" "$testkit" automata --random 2000
once "crates" env CRATES=all HEADRACE_COMPILERS=all HEADRACE_NAMES=all HEADRACE_WHOLE=all SAMPLE_SECONDS=1000000 scripts/crate_tests.py checked
first=yes
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "native with $compiler: not run: no $compiler"
        continue
    fi
    # The tables are those of the interpreter and the first compiler; its words are divided.
    # shellcheck disable=SC2086
    if [ $first = yes ]; then
        once "engines-$compiler" env CC=$compiler "$headrace" test --on interp,native $into --json "$results/engines.json"
        first=no
    else
        once "engines-$compiler" env CC=$compiler "$headrace" test --on native
    fi
done
for group in $groups; do
    # Not once: a tool that was missing may be here now. What passed before is not tried again.
    # shellcheck disable=SC2086
    tried "projects-$group" "$headrace" test --on "$group" --variant all $into --json "$results/$group.json" \
        --resume "$results/$(echo "$sources" | cksum | cut -d' ' -f1).passed"
done
# Kernels in CUDA as nvcc takes them, which needs no GPU for that: every parameter set, all its operations.
by_nvcc() {
    projects=$(mktemp -d)
    ended=0
    for set in $(scripts/sets.sh "$headrace"); do
        "$headrace" build "$set" --target cuda -o "$projects/$set" >/dev/null &&
            make --no-print-directory -s -j"$(nproc)" -C "$projects/$set" NVCC="$1" CUDA_ARCHITECTURES=sm_75 \
                CFLAGS=-O0 test/test || ended=1
        echo "$set"
        rm -rf "${projects:?}/$set"
    done
    rm -rf "$projects"
    return $ended
}

nvcc=$(command -v nvcc || ls "${CARGO_TARGET_DIR:-target}/nvcc/cuda/bin/nvcc" 2>/dev/null)
if [ -n "$nvcc" ]; then
    once "kernels-nvcc" by_nvcc "$(realpath "$nvcc")"
else
    echo "kernels-nvcc: not run: no nvcc"
fi
for target in $(echo "$groups" | tr , ' '); do
    "$testkit" differential --on list | grep -qx "$target" || continue
    once "networks-$target" "$testkit" differential --on "$target" --cases "$networks"
done
exit $status
