#!/bin/sh
# Holds cores with the LWC hardware API to the public test bench of the API: scripts/lwc.sh HEADRACE BENCH SET [KAT]...
#
# BENCH is the folder `hardware` of the public repository GMUCERG/LWC, as it is; each KAT a folder with pdi.txt, sdi.txt and do.txt,
# else that of the project. The core of SET runs in five settings of the bench: without stalls, with stalls by chance at all ports, at
# inputs, at the output, and measuring cycles, which go to timing.txt. The bench says [PASS] of files that are empty or end too
# early, too, so messages are counted. Of two mutants it must say [FAIL]: one that takes any tag, one that overlooks its last byte.
set -eu

headrace=$1 bench=$(realpath "$2") set=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options='--std=08 -fsynopsys -frelaxed'
failed=0

# A core and the bench, analysed: FOLDER, then options of the build.
build() {
    folder=$work/$1
    shift
    "$headrace" build "$set" --shape lwc --target vhdl -o "$folder" "$@" >"$folder.log" 2>&1 || { cat "$folder.log" >&2; exit 2; }
    files=$(sed -n 's/^build\/lwc\/analysed: //p' "$folder/Makefile" | tr ' ' '\n' | grep '^rtl/')
    # shellcheck disable=SC2086
    (cd "$folder" && ghdl -a $options "$bench/LWC_config_32.vhd" "$bench/LWC_rtl/NIST_LWAPI_pkg.vhd" $files "$bench/LWC_tb/LWC_TB.vhd" \
        && ghdl -e $options LWC_TB)
}

# What the bench says of the core in FOLDER on the messages of KAT: FOLDER KAT SETTING GENERIC...
passes() {
    folder=$work/$1 kat=$2 setting=$3
    shift 3
    # shellcheck disable=SC2086
    (cd "$folder" && ghdl -r $options LWC_TB "-gG_FNAME_PDI=$kat/pdi.txt" "-gG_FNAME_SDI=$kat/sdi.txt" "-gG_FNAME_DO=$kat/do.txt" \
        -gG_MAX_FAILURES=100 "$@" --ieee-asserts=disable) >"$folder/log" 2>&1 || true
    ran=$(grep -c Testcase "$folder/log" || true)
    wanted=$(grep -c 'STT =' "$kat/do.txt" || true)
    verdict=$(grep -aoE '\[(PASS|FAIL)\] .*' "$folder/log" | tail -1)
    echo "$set, $setting: $ran of $wanted messages, ${verdict:-no verdict}"
    case $verdict in '[PASS]'*) [ "$ran" = "$wanted" ] && [ "$wanted" -gt 0 ] ;; *) false ;; esac
}

# The core with a line of the actors that compare tags changed must fail: NAME SCRIPT, which sed runs.
refuses() {
    name=$1
    for actor in CompareTags CompareTruncatedTags; do
        mkdir -p "$work/$name-library/ctl/parts/message"
        sed "$2" "$root/ctl/parts/message/$actor.cal" >"$work/$name-library/ctl/parts/message/$actor.cal"
        if cmp -s "$root/ctl/parts/message/$actor.cal" "$work/$name-library/ctl/parts/message/$actor.cal"; then
            echo "$actor.cal has nothing that the mutant $name could change" >&2
            exit 2
        fi
    done
    build "$name" -L "$work/$name-library"
    for kat in $kats; do
        if passes "$name" "$kat" "mutant: $name"; then
            echo "the bench does not notice: $name" >&2
            failed=1
        fi
    done
}

build core
kats=
for kat in "${@:-$work/core/kat}"; do kats="$kats $(realpath "$kat")"; done
for kat in $kats; do
    passes core "$kat" 'no stalls' || failed=1
    passes core "$kat" 'stalls at all ports' -gG_TEST_MODE=1 -gG_RANDOM_STALL=true -gG_PDI_STALLS=7 -gG_SDI_STALLS=13 \
        -gG_DO_STALLS=21 "-gG_RANDOM_SEED=${SEED:-1}" || failed=1
    passes core "$kat" 'stalls at inputs' -gG_TEST_MODE=2 -gG_PDI_STALLS=3 -gG_SDI_STALLS=5 || failed=1
    passes core "$kat" 'stalls at the output' -gG_TEST_MODE=3 -gG_DO_STALLS=4 || failed=1
    passes core "$kat" 'cycles measured' -gG_TEST_MODE=4 "-gG_FNAME_TIMING=$PWD/timing-$set.txt" || failed=1
done
if ls "$work"/core/rtl/Compare*.vhd >/dev/null 2>&1; then
    refuses any-tag 's/Verified:\[[^]]*difference = 0[^]]*\]/Verified:[true]/'
    refuses last-byte \
        's/\(foreach int i in 0 .. TAG_BYTES - \)1/\12/; s/difference := difference | (tag\[n_compared\] ^ given)/difference := if n_compared = MOST_BYTES - 1 then difference else difference | (tag[n_compared] ^ given) end/'
fi
exit $failed
