#!/bin/sh
# Measures, stores the results and renews what is generated from them.
# Usage: scripts/bench.sh FOLDER-WITH-COMMANDS
set -eu
cd "$(dirname "$0")/.."
headrace=$1/headrace
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
"$1/headrace-testkit" bench-source "$sources"
mkdir -p bench/results
"$headrace" bench networks --json bench/results/aes.json
"$headrace" bench interpreter --json bench/results/interpreter.json
"$headrace" bench check --sources "$sources" --json bench/results/check.json
"$headrace" bench published --json bench/results/published.json --html bench/results/published.html
"$headrace" bench embedded --json bench/results/embedded.json
"$headrace" bench targets --json bench/results/targets.json
# Of another machine where this one has no GPU.
if command -v nvcc >/dev/null 2>&1 && nvidia-smi -L >/dev/null 2>&1; then
    "$headrace" bench targets --targets opencl,cuda --json bench/results/devices.json
fi
"$headrace" bench threads compile --json bench/results/threads.json
"$headrace" bench referee --json bench/results/referee.json --html bench/results/referee.html
# Short messages and messages in pieces; they are among the rows of the referee, too. Results are kept for each family of processors
# and width of vectors: other code runs on each, and the same code at another speed.
case " $(grep -m 1 -E '^(flags|Features)' /proc/cpuinfo) " in
*" avx512bw "*) family=avx512 ;;
*" avx2 "*) family=avx2 ;;
*) family=$(uname -m) ;;
esac
case $(grep -m 1 vendor_id /proc/cpuinfo) in
*Intel*) family=intel-$family ;;
*AMD*) family=amd-$family ;;
esac
"$headrace" bench sha256 hmac-sha256 aes128-ctr chacha20 aes128-gcm aes256-gcm chacha20-poly1305 --pairs 9 \
    --json "bench/results/pieces-$family.json"
"$headrace" synth --install
scripts/hardware.sh "$headrace" 5 bench/results/hardware.json
# Machines that are simulated: the same results on every processor.
"$headrace" bench array --json bench/results/array.json --into docs/array.md
"$headrace" bench stream --json bench/results/stream.json --into docs/stream-processors.md
scripts/docs.sh "$headrace"
