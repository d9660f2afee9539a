#!/bin/sh
# Checks a model with Spin: check.sh deadlock|overflow MODEL [-DNAME=VALUE...]
# Says what came of it and exits with 0 if what is asked cannot happen, with 1 if it can (then the way there is in
# build/MODEL-deadlock.firings, a line a step), and with 2 if that is not settled.
#   -DEVERY_ORDER  every order of all firings, not only as many as are needed
#   -DMESSAGES=N   overflow: messages that come in
#   -DTOKENS=N     overflow: tokens that come in at inputs that have no messages
# From the environment: SPIN, CC, CFLAGS, DEPTH (steps of the longest way), MEMORY (MiB), TIME (seconds),
# VECTOR (bytes of a state).
set -eu

what=$1
model=$2
shift 2
case $what in
deadlock) asked="deadlock" ;;
overflow) asked="overflow of a FIFO"; set -- -DOVERFLOW "$@" ;;
*) echo "check.sh: deadlock or overflow, not $what" >&2; exit 2 ;;
esac
spin=${SPIN:-spin}
command -v "$spin" >/dev/null 2>&1 || { echo "check.sh: no $spin; it is in the package spin of Debian" >&2; exit 4; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=$here/build/$model-$what
firings=$here/build/$model-$what.firings
mkdir -p "$folder"
cd "$folder"
rm -f ./*.trail "$firings"
"$spin" "$@" -a "$here/$model.pml" >spin.txt 2>&1 || { tail -n 20 spin.txt >&2; exit 2; }
"${CC:-cc}" ${CFLAGS:--O1 -w} -DSAFETY -DCOLLAPSE -DNOREDUCE -DVECTORSZ="${VECTOR:-8192}" -DMEMLIM="${MEMORY:-4096}" \
    -o pan pan.c
ended=0
timeout "${TIME:-3600}" ./pan -m"${DEPTH:-1000000}" >pan.txt 2>&1 || ended=$?
if [ "$ended" = 124 ]; then
    echo "$model: not settled whether $asked is possible: give more TIME than ${TIME:-3600} s" >&2
    exit 2
fi

states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.txt)
if ! grep -q 'errors: [0-9]' pan.txt; then
    cat pan.txt >&2
    exit 2
elif ! grep -q 'errors: 0' pan.txt; then
    # Steps have lines that begin so; everything else is Spin's own.
    "$spin" "$@" -k "$model.pml.trail" -B -T "$here/$model.pml" 2>&1 | sed -n 's/^ *> //p' >"$firings" || true
    if [ "$what" = overflow ]; then
        echo "$model: $asked is possible: $(sed -n 's/.*assertion violated //p' pan.txt | head -n 1)"
    else
        echo "$model: $asked is possible"
    fi
    echo "  $(grep -c '^fire ' "$firings" || true) firings lead there: $firings"
    # What stops it first, then who waits for tokens.
    sed -n '/^rest$/,$p' "$firings" | sed 1d >rest.txt
    { grep -v '^wait ' rest.txt || true; grep '^wait ' rest.txt || true; } | sed 's/^/  /' | head -n 40
    exit 1
elif grep -q 'max search depth too small\|Search not completed\|aborted' pan.txt; then
    echo "$model: not settled whether $asked is possible: give more DEPTH or MEMORY" >&2
    exit 2
fi
echo "$model: no $asked, in any order of firings ($states states)"
