#!/bin/sh
# Known answers of every primitive on every engine and target, natively with each C compiler found here.
# Usage: scripts/matrix.sh HEADRACE
set -u
headrace=$1
status=0
"$headrace" test --on interp || status=1
for compiler in gcc clang; do
    if command -v $compiler >/dev/null 2>&1; then
        echo "native with $($compiler --version | head -n 1)"
        CC=$compiler "$headrace" test --on native || status=1
    else
        echo "native with $compiler: not run: no $compiler"
    fi
done
exit $status
