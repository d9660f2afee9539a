#!/bin/sh
# Measures cores of authenticated ciphers beside those of a study: scripts/caesar-hardware.sh HEADRACE SEEDS FILE.json [SET]...
# With 0 SEEDS only cycles are measured. What was measured before is kept in FILE.json, and steps whose input is the same are not done again.
set -eu

headrace=$1 seeds=$2 results=$3
shift 3
study=$(dirname "$0")/../bench/caesar.toml
sets=${*:-$(sed -n 's/^set = "\(.*\)"$/\1/p' "$study")}
failed=0

for set in $sets; do
    if [ "$seeds" = 0 ]; then how=--cycles-only; else how="--device ${DEVICES:-ecp5} --seeds $seeds"; fi
    # shellcheck disable=SC2086
    "$headrace" synth "$set" --shape lwc --study "$study" $how --jobs "${JOBS:-1}" --json "$results" --add || failed=1
done
exit $failed
