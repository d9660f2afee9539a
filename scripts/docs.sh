#!/bin/sh
# Renews everything in documents that is generated: tables of the library and of what works, pictures, measurements.
# Usage: scripts/docs.sh HEADRACE
set -eu
cd "$(dirname "$0")/.."
headrace=$1
"$headrace" graph 'ctl.block.aes.AesEncrypt(NK = 4)' -o docs/aes.svg
mkdir -p docs/figures
figure() { "$headrace" graph "$2" --depth "$3" -o "docs/figures/$1.svg"; }
figure aes-decrypt 'ctl.block.aes.AesDecrypt(NK = 4)' 9
for mode in cbc.CbcEncrypt cfb.CfbEncrypt ofb.Ofb ctr.Ctr; do
    figure "${mode%.*}" "ctl.mode.$mode(Cipher = ctl.block.aes.AesEncrypt(NK = 4))" 1
done
figure des ctl.block.des.DesEncrypt 9
figure blowfish ctl.block.blowfish.BlowfishEncrypt 9
"$headrace" test --into README.md --into docs/known-answers.md
if ls bench/results/*.json >/dev/null 2>&1; then
    set --
    for result in bench/results/*.json; do
        case $result in
        # Hardware has a document of its own, and so have simulated machines.
        */hardware.json) "$headrace" bench --table "$result" --into docs/hardware.md ;;
        */caesar-hardware.json) "$headrace" bench --table "$result" --into docs/authenticated-hardware.md ;;
        */array.json) "$headrace" bench --table "$result" --into docs/array.md ;;
        */stream.json) "$headrace" bench --table "$result" --into docs/stream-processors.md ;;
        *) set -- "$@" --table "$result" ;;
        esac
    done
    "$headrace" bench "$@" --into docs/measurements.md
    "$headrace" bench --table bench/results/referee.json --into README.md
fi
