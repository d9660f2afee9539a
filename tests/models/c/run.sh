#!/bin/sh
# Random sequences of calls of operations in C, held to OpenSSL's EVP (model.c), and what stays on the stack (residue.c).
#
#   tests/models/c/run.sh HEADRACE [--seed N] [--sequences N] [--seconds N] [OPERATION…]
#
# MODEL_LANGUAGE=llvm does so with the same interface over modules of LLVM IR, compiled by CLANG, and longer messages: they take
# and give long pieces where these lie.
#
# Each row of `operations` is a project, built as it is delivered; `--seconds` are for all of them. The last line says
# «N sequences, M differences».
set -u
here=$(cd "$(dirname "$0")" && pwd)
headrace=$1
shift
seed=1 sequences=1000 seconds=1000000 wanted=
while [ $# -gt 0 ]; do
    case $1 in
    --seed) seed=$2 && shift ;;
    --sequences) sequences=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    *) wanted="$wanted $1" ;;
    esac
    shift
done
[ "$sequences" -gt 0 ] 2>/dev/null || {
    echo "--sequences takes a number from 1: what was not run proves nothing" >&2
    exit 2
}
folder=$(mktemp -d) || exit 4
trap 'rm -rf "$folder"' EXIT
trap 'exit 3' INT TERM
language=${MODEL_LANGUAGE:-c}
cc=${CC:-gcc}
[ "$language" = c ] || cc=${CLANG:-clang-19}
command -v "$cc" >/dev/null || {
    echo "not run: no $cc"
    exit 4
}
echo '#include <openssl/evp.h>' | $cc -E - >/dev/null 2>&1 || {
    echo "not run: no headers of OpenSSL"
    exit 4
}
until=$(($(date +%s) + seconds))
n=0 differences=0
while read -r set operation flags; do
    case $set in '#'* | '') continue ;; esac
    [ -z "$wanted" ] || case "$wanted " in *" $set/$operation "*) ;; *) continue ;; esac
    left=$((until - $(date +%s)))
    [ "$left" -gt 0 ] || break
    project=$folder/$set-$operation
    name=$(echo "$set" | tr - _)
    op=${name}_$(echo "$operation" | tr - _)
    "$headrace" build "$set" --operation "$operation" ${MODEL_BUILD:---unfused} --target "$language" -o "$project" >/dev/null || exit 1
    case $language in
    c) sources=$(echo "$project"/src/*.c) most= ;;
    *)
        make -s -C "$project" CLANG="$cc" CFLAGS=-O1 "lib$name.a" || exit 1
        sources=$project/lib$name.a most=-DMOST_BYTES=3000
        ;;
    esac
    # shellcheck disable=SC2086 # flags and sources are several
    $cc -std=c11 -O1 -Wall -Wextra -I"$project/src" -DOP="$op" -DHEADER="\"$name.h\"" $most $flags "$here/model.c" \
        $sources -lcrypto -lm -pthread -o "$project/model" || exit 1
    said=$("$project/model" --seed "$seed" --sequences "$sequences" --seconds "$left" </dev/null)
    status=$?
    echo "$set/$operation, $said"
    [ $status -le 1 ] || exit 1
    last=$(echo "$said" | tail -n 1)
    n=$((n + $(echo "$last" | sed 's/.*: \([0-9]*\) sequences.*/\1/')))
    differences=$((differences + $(echo "$last" | sed 's/.* \([0-9]*\) differences.*/\1/')))
    if [ "$language $set/$operation" = "c aes128/ctr" ]; then
        $cc -std=c11 -O3 -I"$project/src" -DOP="$op" -DHEADER="\"$name.h\"" "$here/residue.c" "$project"/src/*.c \
            -lm -pthread -o "$project/residue" && "$project/residue" || differences=$((differences + 1))
    fi
done <"$here/operations"
echo "$n sequences, $differences differences"
[ "$differences" -eq 0 ]
