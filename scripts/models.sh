#!/bin/sh
# Model-based tests of what targets offer in the words of their hosts: random sequences of calls beside those that the platform
# has itself, in every language that has such a test and what it needs.
#   models.sh HEADRACE [--seed N] [--sequences N] [--seconds N]
set -u
headrace=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
[ $# -gt 0 ] || set -- --sequences 100000
# As users build them; `make test` has no time to compile fused code but in Rust.
export MODEL_BUILD="${MODEL_BUILD:- }"
cd "$(dirname "$0")/../tests/models"
status=0
for run in */run.sh; do
    echo "=== ${run%/run.sh}"
    sh "$run" "$headrace" "$@"
    # What is not here says so, and ends with 4.
    case $? in 0 | 4) ;; *) status=1 ;; esac
done
echo "=== c, of modules in LLVM IR"
MODEL_LANGUAGE=llvm sh c/run.sh "$headrace" "$@"
case $? in 0 | 4) ;; *) status=1 ;; esac
exit $status
