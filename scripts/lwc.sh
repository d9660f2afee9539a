#!/bin/sh
# Holds cores with the LWC hardware API to the public test bench of the API: scripts/lwc.sh HEADRACE BENCH SET [KAT]...
#
# BENCH is the folder `hardware` of the public repository GMUCERG/LWC, as it is; each KAT a folder with pdi.txt, sdi.txt and do.txt,
# else that of the project. The core of SET runs in five settings of the bench: without stalls, with stalls by chance at all ports, at
# inputs, at the output, and measuring cycles, which go to timing-SET.txt where TIMING is a folder. The bench says [PASS] of files that
# are empty or end too early, too, so messages are counted. It must say [FAIL] of an answer that is changed, and of two mutants of each
# core that compares tags: one that takes any tag, one that overlooks its last byte.
# With INTO, a document, the rows of SET in its table of cores on the public bench become those of what was run.
set -eu

headrace=$1 bench=$(realpath "$2") set=$3
shift 3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options='--std=08 -fsynopsys -frelaxed'
failed=0

# Actors that compare tags: each has a line for the last byte.
compare='ctl/parts/message/CompareTags ctl/parts/message/CompareTruncatedTags ctl/parts/lwc/BlockResults ctl/parts/tae/BlockDeal
    ctl/aead/ascon/BlockDuplex ctl/aead/cloc/BlockChains ctl/aead/gcm/BlockSequence ctl/aead/icepole/IcepoleBlocks
    ctl/aead/paeq/PaeqBlocks ctl/aead/primates/BlockDuplex'
last_byte='s/\(foreach int i in 0 .. TAG_BYTES - \)1/\12/
s/difference := difference | (tag\[n_compared\] ^ given)/difference := if n_compared = MOST_BYTES - 1 then difference else difference | (tag[n_compared] ^ given) end/
s/| y\[15\]) = 0/) = 0/
s/(ad_sum\[i\] ^ given\[i\])/if i = BLOCK_BYTES - 1 then 0 else ad_sum[i] ^ given[i] end/
s/(byte(s, 24 + i) ^ given\[i\])/if second and i = RATE_BYTES - 1 then 0 else byte(s, 24 + i) ^ given[i] end/
s/z3 != word(given, 3)/(z3 >> 8) != (word(given, 3) >> 8)/
s/(hash\[i\] ^ tag_mask\[i\] ^ given\[i\])/if i = 15 then 0 else hash[i] ^ tag_mask[i] ^ given[i] end/
s/(s\[1\] ^ word(given, 1))/((s[1] ^ word(given, 1)) \& 0xffffffffffffff)/
s/(even\[i\] ^ given\[i\])/if i = 15 then 0 else even[i] ^ given[i] end/
s/s0 != block_row(given)/(if is_last(c) then (s0 >> 8) != (block_row(given) >> 8) else s0 != block_row(given) end)/'
# Those that act on what came out.
decide='ctl/parts/lwc/BlockResponses ctl/parts/message/CompareTags ctl/parts/message/CompareTruncatedTags'
any_tag='s/Verified:\[[^]]*difference = 0[^]]*\]/Verified:[true]/
s/if verified and not misfit then/if not misfit then/'

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
    echo "$set, $(of "$kat"), $setting: $ran of $wanted messages, ${verdict:-no verdict}"
    is_passed=false
    case $verdict in '[PASS]'*) [ "$ran" = "$wanted" ] && [ "$wanted" -gt 0 ] && is_passed=true ;; esac
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(of "$kat")" "$wanted" "$(grep -c 'STT = F' "$kat/do.txt" || true)" "$ran" "$setting" \
        "$(case $verdict in '[PASS]'* | '[FAIL]'*) echo "$verdict" | cut -c2-5 ;; *) echo none ;; esac)" >>"$work/said"
    $is_passed
}

# Whose messages these are.
of() {
    if [ "$1" = "$work/core/kat" ]; then echo project; else basename "$1"; fi
}

# What a design does, without what it says of itself.
design() {
    cat "$work/$1"/rtl/*.vhd | grep -v '^ *--'
}

# The bench must say [FAIL]: FOLDER KAT SETTING.
fails() {
    if passes "$@" || ! grep -aq '\[FAIL\]' "$work/$1/log"; then
        echo "the bench does not notice: $3" >&2
        failed=1
    fi
}

# The core with a line of these actors changed must fail: NAME SCRIPT ACTORS, which sed runs.
refuses() {
    name=$1
    for actor in $3; do
        mkdir -p "$work/$name-library/$(dirname "$actor")"
        sed "$2" "$root/$actor.cal" >"$work/$name-library/$actor.cal"
        if cmp -s "$root/$actor.cal" "$work/$name-library/$actor.cal"; then
            echo "$actor.cal has nothing that the mutant $name could change" >&2
            exit 2
        fi
    done
    build "$name" -L "$work/$name-library"
    design core >"$work/core.design"
    design "$name" >"$work/$name.design"
    if cmp -s "$work/core.design" "$work/$name.design"; then
        echo "the core of $set has nothing that the mutant $name changes" >&2
        exit 2
    fi
    for kat in $kats; do
        fails "$name" "$kat" "mutant: $name"
    done
}

build core
kats=
for kat in "${@:-$work/core/kat}"; do
    if [ "$kat" = project ]; then kat=$work/core/kat; fi
    kats="$kats $(realpath "$kat")"
done
for kat in $kats; do
    passes core "$kat" 'no stalls' || failed=1
    passes core "$kat" 'stalls at all ports' -gG_TEST_MODE=1 -gG_RANDOM_STALL=true -gG_PDI_STALLS=7 -gG_SDI_STALLS=13 \
        -gG_DO_STALLS=21 "-gG_RANDOM_SEED=${SEED:-1}" || failed=1
    passes core "$kat" 'stalls at inputs' -gG_TEST_MODE=2 -gG_PDI_STALLS=3 -gG_SDI_STALLS=5 || failed=1
    passes core "$kat" 'stalls at the output' -gG_TEST_MODE=3 -gG_DO_STALLS=4 || failed=1
    passes core "$kat" 'cycles measured' -gG_TEST_MODE=4 "-gG_FNAME_TIMING=${TIMING:-$work}/timing-$set.txt" || failed=1
    # A digit of the last words that go out.
    changed=$work/changed/$(of "$kat")
    mkdir -p "$changed"
    cp "$kat/pdi.txt" "$kat/sdi.txt" "$changed"
    last=$(grep -n '^DAT = [0-9A-F]' "$kat/do.txt" | tail -1 | cut -d: -f1)
    sed "${last}{s/= 0/= 1/; t; s/= [1-9A-F]/= 0/;}" "$kat/do.txt" >"$changed/do.txt"
    fails core "$changed" 'an answer changed'
done
case $("$headrace" list primitives --json | python3 -c '
import json, sys
rows = [operation for row in json.load(sys.stdin) for operation in row["details"]["operations"]]
print(*{operation["operation"] for operation in rows if operation["set"] == sys.argv[1]})' "$set") in
*aead-decrypt*)
    refuses any-tag "$any_tag" "$decide"
    refuses last-byte "$last_byte" "$compare"
    ;;
esac
if [ -n "${INTO:-}" ]; then
    commit=$(git -C "$bench" rev-parse --short=8 HEAD)
    [ -z "$(git -C "$bench" status --porcelain .)" ] || commit="$commit, changed"
    "$(dirname "$0")/lwc_table.py" "$INTO" "$set" "$commit" "$(ghdl --version | sed -n '1s/^GHDL \([^ ]*\).*/\1/p')" <"$work/said"
fi
exit $failed
