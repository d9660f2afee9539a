#!/bin/sh
# Known answers of every primitive on every engine and target, natively with each C compiler found here. The tables in the
# documents are those of the interpreter and the first compiler.
# Usage: scripts/matrix.sh HEADRACE
set -u
cd "$(dirname "$0")/.."
headrace=$1
status=0
first=yes
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "native with $compiler: not run: no $compiler"
        continue
    fi
    echo "native with $($compiler --version | head -n 1)"
    if [ $first = yes ]; then
        CC=$compiler "$headrace" test --into README.md --into docs/known-answers.md || status=1
        first=no
    else
        CC=$compiler "$headrace" test --on native || status=1
    fi
done
exit $status
