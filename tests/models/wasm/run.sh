#!/bin/sh
# Random sequences of calls of operations as WebAssembly, held to node:crypto (model.mjs).
#
#   tests/models/wasm/run.sh HEADRACE [--seed N] [--sequences N] [--seconds N]
#
# Each row of `operations` is a package; `--sequences` are for each, `--seconds` for all. The last line says
# «N sequences, M differences».
set -u
here=$(cd "$(dirname "$0")" && pwd)
headrace=$1
shift
seed=1 sequences=1000 seconds=1000000
while [ $# -gt 1 ]; do
    case $1 in
    --seed) seed=$2 ;;
    --sequences) sequences=$2 ;;
    --seconds) seconds=$2 ;;
    *) echo "what is $1?" && exit 2 ;;
    esac
    shift 2
done
[ "$sequences" -gt 0 ] 2>/dev/null || {
    echo "--sequences takes a number from 1: what was not run proves nothing" >&2
    exit 2
}
command -v node >/dev/null 2>&1 || {
    echo "not run: no node"
    exit 4
}
folder=$(mktemp -d) || exit 4
trap 'rm -rf "$folder"' EXIT
trap 'exit 3' INT TERM
until=$(($(date +%s) + seconds))
n=0 differences=0
while read -r set operation class kind name key nonce; do
    case $set in '#'* | '') continue ;; esac
    left=$((until - $(date +%s)))
    [ "$left" -gt 0 ] || break
    project=$folder/$set-$operation
    "$headrace" build "$set" --operation "$operation" ${MODEL_BUILD:---unfused} --target wasm -o "$project" >/dev/null || exit 1
    said=$(node "$here/model.mjs" "$project" "$class" "$kind" "$name" "$key" "$nonce" \
        --seed "$seed" --sequences "$sequences" --seconds "$left" </dev/null)
    [ $? -le 1 ] || exit 1
    echo "$set/$operation, $said"
    last=$(echo "$said" | tail -n 1)
    n=$((n + $(echo "$last" | sed 's/.*: \([0-9]*\) sequences.*/\1/')))
    differences=$((differences + $(echo "$last" | sed 's/.* \([0-9]*\) differences.*/\1/')))
done <"$here/operations"
echo "$n sequences, $differences differences"
[ "$differences" -eq 0 ]
