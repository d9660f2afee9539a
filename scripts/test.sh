#!/bin/sh
# All tests, step by step: some test programs and targets take turns, by days; with CRATES=all, as in CI, there are all targets, as
# many of the programs as there is time for (scripts/crate_tests.py), and the lints. Ends with a table of what each step took beside
# its budget (scripts/budgets.txt), and a count of each kind. Every step runs even when one before it has failed. A step whose tool
# is missing is «not run», counted and shown.
set -u
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
target=${CARGO_TARGET_DIR:-target}
report=$(mktemp)
aside=$(mktemp -d)
trap '[ -z "${beside_process:-}" ] || kill "$beside_process" 2>/dev/null; rm -rf "$report" "$aside"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
passed=0 failed=0 not_run=0
start=$(date +%s)

# The line of the table that a step has; one about a target stands there for all of them.
column() { # column NUMBER NAME
    awk -v column="$1" -v name="$(echo "$2" | sed 's/ on target [^,]*,/ on a target,/; s/ of target [^,]*,/ of a target,/')" '
        /^#/ { next }
        { line = $0; sub(/^ *[^ ]+ +[^ ]+ +/, "", line) }
        line == name { print $column }' scripts/budgets.txt
}

# Seconds that a sample may take: its line in the table, or SAMPLE_SECONDS for all.
seconds() { # seconds NAME
    echo "${SAMPLE_SECONDS:-$(column 2 "$1")}"
}

step() { # step NAME COMMAND…
    name=$1
    shift
    echo
    echo "=== $name"
    began=$(date +%s)
    status=0
    "$@" || status=$?
    ended "$name" "$status" $(($(date +%s) - began)) "$*"
}

# A step that runs beside those that follow: these leave processors idle. Its text comes when it is waited for, at the end.
beside() { # beside NAME COMMAND…
    beside_name=$1
    shift
    beside_command=$*
    (
        began=$(date +%s)
        status=0
        "$@" >"$aside/text" 2>&1 </dev/null &
        child=$!
        trap 'kill "$child"; exit 143' TERM
        wait "$child" || status=$?
        echo "$status $(($(date +%s) - began))" >"$aside/end"
    ) &
    beside_process=$!
}

wait_beside() {
    [ -n "${beside_process:-}" ] || return 0
    wait "$beside_process"
    beside_process=
    read -r status took <"$aside/end" || status=1 took=0
    echo
    echo "=== $beside_name"
    cat "$aside/text"
    ended "$beside_name" "$status" "$took" "$beside_command"
}

ended() { # ended NAME STATUS SECONDS COMMAND
    name=$1 took=$3
    counts=passed result=passed
    [ "$2" = 0 ] || counts=failed result="FAILED; repeat with: $4"
    budget=$(column 1 "$name")
    if [ -z "$budget" ]; then
        counts=failed result="$result; FAILED for want of a line in scripts/budgets.txt"
    elif [ "$took" -gt "$budget" ]; then
        result="$result, over its budget"
    fi
    case $counts in
    passed) passed=$((passed + 1)) ;;
    failed) failed=$((failed + 1)) ;;
    esac
    printf '%6s s of %5s s  %s: %s\n' "$took" "$budget" "$name" "$result" >>"$report"
}

skip() { # skip NAME WHY
    not_run=$((not_run + 1))
    printf '%6s s of %5s s  %s: not run: %s\n' - "$(column 1 "$1")" "$1" "$2" >>"$report"
}

shuffled() { # shuffled SEED: the words of the input, a line each, in an order that the seed chooses
    python3 -c '
import random, sys
words = sys.stdin.read().split()
random.Random(int(sys.argv[1])).shuffle(words)
print(*words, sep="\n")
' "$1"
}

headrace="$target/checked/headrace"
testkit="$target/checked/headrace-testkit"

if $cargo fmt --version >/dev/null 2>&1; then
    # Files that a macro declares, as the registry of passes does, are not found by themselves.
    step "formatted code" $cargo fmt --all --check -- crates/transform/src/passes/*.rs crates/transform/src/passes/*/mod.rs
else
    skip "formatted code" "no rustfmt"
fi
# Tests are built with the rest: one build keeps more processors busy than two.
step "build" $cargo test --locked --workspace --profile checked --no-run --quiet
if command -v python3 >/dev/null 2>&1; then
    step "tests of the crates" env CARGO="$cargo" TESTS_BEGAN="$start" scripts/crate_tests.py checked
    step "hostile attempts" scripts/hostile.py "$headrace"
else
    step "tests of the crates" $cargo test --locked --workspace --profile checked --quiet --no-fail-fast
    skip "hostile attempts" "no python3"
fi
# They compile everything once more: `make lints` by itself.
if [ "${CRATES:-}" = all ]; then
    if $cargo clippy --version >/dev/null 2>&1; then
        beside "lints" scripts/lints.sh
    else
        skip "lints" "no clippy"
    fi
else
    echo "lints: with CRATES=all, or make lints"
fi
step "the library checks" "$headrace" -L . check ctl std
step "the library is formatted" "$headrace" fmt --check ctl std
step "known answers on the interpreter" "$headrace" test --on interp
# One parameter set after the other in an order that the seed chooses, as far as time goes; `make matrix` has them all.
compiled_answers() {
    until=$(($(date +%s) + $(seconds "known answers in compiled code, a sample")))
    scripts/sets.sh "$headrace" | shuffled "${COMPILED_SEED:-1}" | while read -r set; do
        [ "$(date +%s)" -lt "$until" ] || break
        said=$("$headrace" test "$set" --on native </dev/null 2>&1) || {
            echo "$said"
            exit 1
        }
        echo "$set: $(echo "$said" | tail -n 1)"
    done
}
if command -v python3 >/dev/null 2>&1; then
    step "known answers in compiled code, a sample" compiled_answers
else
    skip "known answers in compiled code, a sample" "no python3"
fi
# Projects with their known answers under the sanitizers of the compiler: a parameter set of each shape, in an order that
# the seed chooses, as far as time goes.
sanitized_projects() {
    projects=$(mktemp -d)
    status=0
    until=$(($(date +%s) + $(seconds "projects in C under sanitizers, a sample")))
    for set in $(echo aes128 aes128-gcm aes128-ccm hmac-sha256 sha3-256 chacha20 base64 lcg32 hash-drbg-sha256 |
        shuffled "${SANITIZED_SEED:-1}"); do
        [ "$(date +%s)" -lt "$until" ] || break
        "$headrace" build $set --target c -o "$projects/$set" &&
            make --no-print-directory -s -j"$(nproc)" -C "$projects/$set" \
                CFLAGS="-O1 -Wpedantic -fsanitize=address,undefined -fno-sanitize-recover=all" test || status=1
        echo "$set"
    done
    rm -rf "$projects"
    return $status
}
if command -v python3 >/dev/null 2>&1; then
    step "projects in C under sanitizers, a sample" sanitized_projects
else
    skip "projects in C under sanitizers, a sample" "no python3"
fi
# Projects of a target with known answers: one operation after the other in an order that the seed chooses, as far as time
# goes; `make matrix` has them all.
target_answers() { # target_answers TARGET
    until=$(($(date +%s) + $(seconds "projects of target $1, a sample")))
    on=$1
    "$headrace" list primitives --json | python3 -c '
import json, sys
rows = [row["details"]["operations"] for row in json.load(sys.stdin)]
print(*sorted({operation["set"] + "/" + operation["operation"] for operations in rows for operation in operations}))
' | shuffled "${TARGET_SEED:-1}" | while read -r operation; do
        [ "$(date +%s)" -lt "$until" ] || break
        said=$("$headrace" test "${operation%/*}" "${operation#*/}" --on "$on" --variant all </dev/null 2>&1) || {
            case $said in
            # A cipher that is given in many sizes has records for some of them.
            *"there are no known answers for"*) continue ;;
            esac
            echo "$said"
            exit 1
        }
        echo "$operation, $on: $(echo "$said" | tail -n 1)"
        # Verilator compiles each for seconds: it has the first one; `make matrix` has them all.
        [ "$on" != verilog ] || ! command -v iverilog >/dev/null 2>&1 || on=verilog-icarus
    done
}
if command -v python3 >/dev/null 2>&1; then
    # What a target that is not here lacks stands behind the last semicolon of what is said about it.
    lines=$("$headrace" list targets --json | python3 -c '
import json, sys
for row in json.load(sys.stdin):
    # What runs elsewhere is what a target makes here; `make matrix` has it.
    if row["details"]["known_answers"] and row["name"] == row["details"]["target"]:
        print(row["name"], "here" if row["here"] else row["about"].split(";")[-1])
')
    # Targets take turns as the test programs of the crates do.
    turn=$(expr "${TARGET_SEED:-$(($(date +%s) / 86400))}" % 3)
    number=0 not_today=
    while read -r language about <&3; do
        number=$((number + 1))
        if [ "${CRATES:-}" != all ] && [ $((number % 3)) != "$turn" ]; then
            not_today="$not_today $language"
            continue
        fi
        if [ "$about" != here ]; then
            skip "projects and networks on target $language, a sample" "$about"
            continue
        fi
        step "projects of target $language, a sample" target_answers "$language"
        # Of the others, tests of the crates have random networks.
        if "$testkit" differential --on list | grep -qx "$language"; then
            step "random networks on target $language, a sample" "$testkit" differential --on "$language" \
                --seed "${TARGET_SEED:-1}000" --batch 20 --cases 400 \
                --seconds "$(seconds "random networks on target $language, a sample")"
        fi
    done 3<<END
$lines
END
    [ -z "$not_today" ] || echo "targets that are not sampled today (all with CRATES=all):$not_today"
else
    skip "projects and networks on targets, a sample" "no python3"
fi
# What one compiler of C lets pass, another warns of, and warnings are failures.
if command -v clang >/dev/null 2>&1; then
    step "random networks in C with clang, a sample" "$testkit" differential --on c --cc clang \
        --seed "${TARGET_SEED:-1}000" --batch 20 --cases 100 \
        --seconds "$(seconds "random networks in C with clang, a sample")"
else
    skip "random networks in C with clang, a sample" "no clang"
fi
# Projects for AArch64 with their known answers under QEMU: lanes, bits, tables in registers, plain code.
on_aarch64() {
    projects=$(mktemp -d)
    status=0
    for what in chacha20/stream serpent128/ctr des/ecb-encrypt aes128/ctr aes128/ctr/boolean sha256/hash; do
        set -- $(echo "$what" | tr / ' ')
        project="$projects/$1-$2-${3:-standard}"
        # A variant has no spaces inside.
        # shellcheck disable=SC2086
        "$headrace" build "$1" --operation "$2" ${3:+--variant $3} --target c -o "$project" >/dev/null &&
            make --no-print-directory -s -j"$(nproc)" -C "$project" CC=aarch64-linux-gnu-gcc \
                CFLAGS="-O1 -Wall -Wextra -Wpedantic -Werror" test/test || status=1
        said=$(qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max "$project/test/test" 2>&1) || status=1
        echo "$what: $(echo "$said" | tail -n 1)"
    done
    rm -rf "$projects"
    return $status
}
if command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 && command -v qemu-aarch64 >/dev/null 2>&1; then
    step "projects in C on AArch64, under QEMU" on_aarch64
else
    skip "projects in C on AArch64, under QEMU" "no aarch64-linux-gnu-gcc or no qemu-aarch64"
fi
if command -v valgrind >/dev/null 2>&1 && command -v python3 >/dev/null 2>&1; then
    step "constant time of a sample" scripts/constant_time.sh "$headrace" "$testkit" \
        --sample "${CONSTANT_TIME_CLAIMS:-40}" "${CONSTANT_TIME_SEED:-1}" "$(seconds "constant time of a sample")"
else
    skip "constant time of a sample" "no valgrind or no python3"
fi
step "peers on the interpreter" "$testkit" peers --engine interp --messages "${PEER_MESSAGES:-30}" \
    --seconds "$(seconds "peers on the interpreter")"
step "fused code against peers, a sample" "$testkit" peers --engine fused --messages 300 \
    --seconds "$(seconds "fused code against peers, a sample")"
# Random sequences of calls beside what the platform has; one after the other, a second's worth of each.
for language in c rust wasm; do
    name="calls of projects beside the platform's, $language"
    case $language in
    c) echo '#include <openssl/evp.h>' | ${CC:-gcc} -E - >/dev/null 2>&1 || { skip "$name" "no headers of OpenSSL" && continue; } ;;
    wasm) command -v node >/dev/null 2>&1 || { skip "$name" "no node" && continue; } ;;
    esac
    step "$name" tests/models/$language/run.sh "$headrace" --seed "${MODEL_SEED:-1}" --sequences "${MODEL_SEQUENCES:-2000}" \
        --seconds "$(seconds "$name")"
done
step "changed programs" "$testkit" mutate . --cases "${MUTATED_CASES:-60}" --headrace "$headrace" --out "$target/mutated"
step "differential" "$testkit" differential --cases "${DIFFERENTIAL_CASES:-1000}" --seconds "$(seconds "differential")"
step "differential on threads" "$testkit" differential --threads --seed 2000000 --cases "${SANITIZED_CASES:-20}"
step "differential under sanitizers" "$testkit" differential --sanitize --seed 1000000 --cases "${SANITIZED_CASES:-20}" --batch 5 \
    --seconds "$(seconds "differential under sanitizers")"
wait_beside

echo
echo "=== summary"
cat "$report"
echo "$passed steps passed, $failed failed, $not_run not run ($(($(date +%s) - start)) s)"
[ "$failed" = 0 ]
